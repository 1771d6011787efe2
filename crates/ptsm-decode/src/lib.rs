//! Decoders.

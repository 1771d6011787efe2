//! From recordings to trials: the cache, the bound on memory, and who watches.

#![allow(clippy::unwrap_used)]

mod cache;
mod set;
mod together;
mod watched;

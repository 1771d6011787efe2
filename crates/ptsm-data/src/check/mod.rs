//! Whether recordings are whole.

pub(crate) mod scale;

//! What the driver of the checks shares with the crate `lab`: [`shell`], which starts other programs.

pub mod shell;

//! Recordings of the user's own: a BIDS folder, or files listed in a manifest.

mod add;
mod bids;
mod classes;
mod common;
mod files;
mod matrix;
mod numbers;
mod scan;
mod signals;
mod table;
mod words;

pub(crate) use bids::Bids;
pub(crate) use files::Files;

pub use add::{AddOptions, AddReport, EventCode, UnreadableFile, add_folder, add_folder_with};

//! Recordings of the user's own: a BIDS folder, or files listed in a manifest.

mod add;
pub(crate) mod bids;
mod classes;
mod common;
pub(crate) mod files;
mod matrix;
pub(crate) mod notes;
mod numbers;
mod sheet;
mod survey;
mod walk;
mod words;

pub use add::{AddOptions, Added, EventCode, Unreadable, add_folder, add_folder_with};

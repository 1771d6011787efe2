//! Every format, its rules and its damage, against files made here, files of other programs and the fixtures beside the repository.
//!
//! One program for all of them, because linking one for each took most of the time. Tests that measure memory are in `tests/memory`.

#![allow(clippy::unwrap_used)]

mod ant;
#[path = "../shared/ant_made.rs"]
mod ant_made;
mod brainvision;
mod by_hand;
mod cnt;
#[path = "../shared/cnt_made.rs"]
mod cnt_made;
mod edf;
mod edf_damaged;
#[path = "../shared/edf_made.rs"]
mod edf_made;
mod edf_real;
mod edf_write;
mod eeglab;
mod eeglab_rules;
mod fieldtrip;
mod fif;
#[path = "../shared/fif_made.rs"]
mod fif_made;
mod fif_split;
mod fif_write;
mod gdf;
mod gdf_damaged;
#[path = "../shared/gdf_made.rs"]
mod gdf_made;
mod hostile;
mod mat_level5;
mod mat_v73;
mod mat_write;
mod numpy;
mod numpy_damaged;
#[path = "../shared/mod.rs"]
mod shared;
mod triggers;

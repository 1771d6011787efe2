//! Damaged and lying files take a bounded amount of memory. A program of its own, because its allocator counts and what else runs at
//! the same time would be counted with it.

#![allow(clippy::unwrap_used)]

mod allocator;
mod bounds;
#[path = "../formats/by_hand.rs"]
mod by_hand;
#[path = "../shared/cnt_made.rs"]
mod cnt_made;
#[path = "../shared/edf_made.rs"]
mod edf_made;
mod eeglab_damaged;
#[path = "../shared/fif_made.rs"]
mod fif_made;
#[path = "../shared/gdf_made.rs"]
mod gdf_made;
mod mat_damaged;
#[path = "../shared/mod.rs"]
mod shared;

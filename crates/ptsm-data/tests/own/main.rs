//! Recordings of the user's own, from folders and manifests to trials.
#![allow(clippy::unwrap_used)]

mod adding;
mod bids;
mod checking;
mod common;
mod foreign;
mod formats;
mod keeping;
mod manifest;
mod matlab;
mod windows;

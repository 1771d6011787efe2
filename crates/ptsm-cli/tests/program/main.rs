//! Tests of the program as people and scripts meet it: arguments in; exit code, words and files out.
#![allow(clippy::unwrap_used)]

mod bad_arguments;
mod bad_data;
mod bad_places;
mod bad_runs;
mod benchmarking;
mod chance;
#[cfg(unix)]
mod clusters;
mod common;
mod converting;
mod data_quality;
mod disk_full;
mod distillation;
mod downloading;
mod earlier;
#[path = "../../../ptsm-io/tests/shared/edf_made.rs"]
mod edf_made;
mod ensembles;
mod exporting;
mod held_back;
mod honest;
mod keeping;
mod killing;
mod leakage;
mod mirroring;
mod own_arrays;
mod own_recordings;
#[path = "../../../ptsm-data/tests/sets/physionet_made.rs"]
#[allow(dead_code)] // names of channels are all that is used of it
mod physionet_made;
mod presets;
mod reporting;
mod reporting_from_numbers;
mod same_numbers;
#[path = "../../../ptsm-data/tests/download/server.rs"]
mod server;
mod source_only;
mod stopping;
mod tuning;
mod using;

//! Data sets by name, from files in their layouts to trials.

#![allow(clippy::unwrap_used)]

mod bci_iv;
mod bci_iv_gdf;
mod common;
mod contract;
mod damaged;
#[path = "../../../ptsm-io/tests/shared/edf_made.rs"]
mod edf_made;
#[path = "../../../ptsm-io/tests/shared/gdf_made.rs"]
mod gdf_made;
mod kul_aad;
mod openbmi;
mod openbmi_made;
mod physionet_made;
mod physionet_mi;

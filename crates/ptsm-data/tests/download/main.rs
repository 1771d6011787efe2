//! Tests of downloading: a server on this machine that does everything servers and networks do wrong. Each case ends with the
//! right bytes or the right error.
#![allow(clippy::unwrap_used)]

mod checking;
mod common;
mod resuming;
mod server;
mod together;
mod trouble;
mod whole;
mod zenodo;

//! Foreign bytes to recordings and arrays, and back.
//!
//! [`open`] opens a recording of any format it knows: it reads the header, and samples when they are asked for
//! ([`RecordingFile::read`], [`RecordingFile::recording`]). [`npz::read`] opens an archive of arrays. Nothing a file claims is believed before it is
//! checked against the bytes that are there: a damaged or hostile file is an error that says where, never a panic and never a
//! huge allocation. Names and dates of people are not kept, not even on the way. [`atomic`] writes files whole or not at all.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod atomic;
pub mod brainvision;
mod bytes;
pub mod cnt;
mod cursor;
pub mod edf;
pub mod eeglab;
mod error;
pub mod fieldtrip;
pub mod fif;
mod formats;
pub mod gdf;
mod gzip;
mod kind;
mod limit;
pub mod mat;
pub mod npy;
pub mod npz;
mod quiet;
mod recording_file;
mod records;
mod signal_header;
mod stored;
mod text;
mod triggers;
mod unit;

pub use bytes::Bytes;
pub use error::{Error, Place, Result};
pub use formats::{FORMATS, Format, format_of, open};
pub use recording_file::{
    Annotation, Epochs, RawHeader, RecordingFile, Samples, Segment, SignalHeader, SignalKind,
};
pub use text::{read_filled_text, read_text};
pub use triggers::{TriggerDetector, TriggerOnset};
pub use unit::voltage;

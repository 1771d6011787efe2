//! What every reader does with bytes from anywhere: it opens and reads them or says why not. A panic, a hang or a gigabyte is a bug.

use std::path::Path;

use ptsm_io::mat::MatFile;
use ptsm_io::{Bytes, RecordingFile, Place, Result, brainvision, cnt, edf, eeglab, fieldtrip, fif, gdf, npy, npz};

/// EDF and BDF.
pub fn edf(bytes: &[u8]) {
    look(edf::parse(Bytes::from(bytes.to_vec()), &place()));
}

/// GDF.
pub fn gdf(bytes: &[u8]) {
    look(gdf::parse(Bytes::from(bytes.to_vec()), &place()));
}

/// BrainVision: header, markers and samples, divided by lines of `\0`.
pub fn brainvision(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |byte| *byte == 0);
    let header = parts.next().unwrap_or_default();
    let markers = parts.next();
    let samples = parts.next().unwrap_or_default();
    look(brainvision::parse(Path::new("fuzz"), header, markers, Bytes::from(samples.to_vec())));
}

/// EEGLAB: the `.set`, and the same bytes as its `.fdt`.
pub fn eeglab(bytes: &[u8]) {
    look(eeglab::parse(Bytes::from(bytes.to_vec()), Some(Bytes::from(bytes.to_vec())), &place()));
}

/// MATLAB files of both kinds.
pub fn mat(bytes: &[u8]) {
    if let Ok(file) = MatFile::parse(Bytes::from(bytes.to_vec()), &place()) {
        for name in file.names() {
            file.read(&name).ok();
            file.read_some(&name, &|path| path.len() % 2 == 0).ok();
        }
    }
}

/// FieldTrip, in MATLAB files of both kinds.
pub fn fieldtrip(bytes: &[u8]) {
    look(fieldtrip::parse(Bytes::from(bytes.to_vec()), &place()));
}

/// FIF.
pub fn fif(bytes: &[u8]) {
    look(fif::parse(Bytes::from(bytes.to_vec()), &place()));
}

/// Recordings of Neuroscan and of ANT; and the same bytes as events beside one of ANT.
pub fn cnt(bytes: &[u8]) {
    look(cnt::parse(Bytes::from(bytes.to_vec()), &place()));
    let recording = include_bytes!("../../crates/ptsm-io/tests/data/ant.cnt");
    let (recording, events) = (Bytes::from(recording.to_vec()), Bytes::from(bytes.to_vec()));
    look(cnt::parse_with_events(recording, events, &place()));
}

/// One array.
pub fn npy(bytes: &[u8]) {
    npy::parse(bytes, &place()).ok();
}

/// An archive of arrays.
pub fn npz(bytes: &[u8]) {
    if let Ok(mut archive) = npz::parse(Bytes::from(bytes.to_vec()), &place()) {
        for name in archive.names() {
            archive.array(&name).ok();
        }
    }
}

/// Reads what a header promises: the first samples, the last ones, and all of them where they are few.
fn look(opened: Result<RecordingFile>) {
    let Ok(opened) = opened else { return };
    for (i, signal) in opened.signals().iter().enumerate().take(8) {
        let mut some = vec![0.0; signal.samples.min(64)];
        opened.read(&[i], 0, &mut some).ok();
        opened.read(&[i], signal.samples - some.len(), &mut some).ok();
    }
    if opened.length().saturating_mul(opened.main().len()) < 1 << 16 {
        opened.recording(None).ok();
    }
}

fn place() -> Place {
    Place::from(Path::new("fuzz"))
}

//! Real recordings, where they are on this machine: runs of imagined movements of PhysioNet's EEGMMIDB.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use ptsm_io::{Bytes, Place, SignalKind, edf};

use crate::shared;

fn check(path: &Path) {
    let place = Place::from(path);
    let unpacked = Command::new("xz").arg("-dc").arg(path).output().unwrap();
    assert!(unpacked.status.success());
    let opened = edf::parse(Bytes::from(unpacked.stdout), &place).unwrap();
    assert_eq!((opened.format(), opened.signals().len(), opened.rate_hz()), ("EDF+C", 64, 160.0), "{place}");
    assert_eq!(opened.notes(), <[String; 0]>::default(), "{place}");
    assert!(opened.signals().iter().all(|signal| signal.kind == SignalKind::Eeg && signal.microvolts));
    let tasks =
        opened.annotations().iter().filter(|annotation| annotation.text == "T1" || annotation.text == "T2");
    assert_eq!(tasks.clone().count(), 15, "{place}");
    assert!(
        tasks.clone().all(|annotation| annotation.sample.is_some() && annotation.duration_s > 3.0),
        "{place}"
    );

    let recording = opened.recording(None).unwrap();
    assert_eq!(recording.channels.iter().filter(|channel| channel.position.is_some()).count(), 64, "{place}");
    for (i, signal) in opened.signals().iter().enumerate() {
        let [low, high] = signal.range.unwrap();
        let samples = recording.channel(i);
        assert!(samples.iter().all(|&v| (low..=high).contains(&f64::from(v))), "{place}: {}", signal.name);
        assert!(samples.iter().any(|&v| v != samples[0]), "{place}: {}", signal.name);
    }
}

#[test]
fn every_recording_is_read() {
    let Some(root) = shared::beside("data/physionet-mi") else { return };
    if Command::new("xz").arg("--version").output().is_err() {
        eprintln!("skipped: needs `xz`, which unpacks recordings");
        return;
    }
    let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|p| p.is_dir());
    let files: Vec<PathBuf> = folders
        .flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.to_str().unwrap().ends_with(".edf.xz"))
        .collect();
    assert_eq!(files.len(), 120);
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    thread::scope(|scope| {
        for part in files.chunks(files.len().div_ceil(threads)) {
            scope.spawn(|| part.iter().for_each(|path| check(path)));
        }
    });
}

//! What tests of several formats need.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test uses some of it

pub mod damaged;

use std::path::{Path, PathBuf};

use ptsm_io::{Place, RecordingFile, Result};

/// A folder next to the repository; none where it is not on this machine.
pub fn beside(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(folder);
    if !path.exists() {
        eprintln!("skipped: needs ../shared/{folder}");
        return None;
    }
    Some(path)
}

/// What the fixtures of some folder hold: path, and what is expected of it.
pub fn expected(folder: &str) -> Vec<(PathBuf, serde_json::Value)> {
    let Some(root) = beside("datasets/fixtures") else { return vec![] };
    let all: serde_json::Value =
        serde_json::from_slice(&std::fs::read(root.join("expected.json")).unwrap()).unwrap();
    let of = |entry: &serde_json::Value| entry["path"].as_str().unwrap().to_string();
    let found: Vec<_> = all.as_array().unwrap().iter().filter(|e| of(e).starts_with(folder)).collect();
    assert!(!found.is_empty());
    found.into_iter().map(|entry| (root.join(of(entry)), entry.clone())).collect()
}

/// Some place in no file.
pub fn nowhere() -> Place {
    Place::from(Path::new("made.bin"))
}

/// One signal.
pub fn signal(opened: &RecordingFile, signal: usize) -> Vec<f32> {
    let mut samples = vec![0.0; opened.signals()[signal].samples];
    opened.read(&[signal], 0, &mut samples).unwrap();
    samples
}

/// Onset, duration, sample and text of all annotations.
pub fn annotations(opened: &RecordingFile) -> Vec<(f64, f64, Option<usize>, &str)> {
    opened.annotations().iter().map(|m| (m.onset_s, m.duration_s, m.sample, &*m.text)).collect()
}

/// Reads all there is: values or words, never a panic.
pub fn read_all(opened: Result<RecordingFile>) -> bool {
    match opened {
        Ok(opened) => {
            for (i, signal) in opened.signals().iter().enumerate() {
                let mut samples = vec![0.0; signal.samples];
                opened.read(&[i], 0, &mut samples).ok();
                // From the middle on, too.
                let half = signal.samples / 2;
                opened.read(&[i], half, &mut samples[half..]).ok();
            }
            opened.recording(None).ok();
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

/// Numbers that look random and are the same each time (SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Changes a few bytes: more often in the first ones, where headers are, and to such as make other numbers of them.
    pub fn harm(&mut self, bytes: &mut [u8], header: usize) {
        const OTHERS: &[u8] = b"0123456789-+., eE\x00\x14\x15\xff\x7f\x80\x01";
        for _ in 0..1 + self.below(4) {
            let end = if self.below(4) > 0 { header } else { bytes.len() };
            let at = self.below(end);
            bytes[at] = if self.below(2) == 0 { OTHERS[self.below(OTHERS.len())] } else { self.next() as u8 };
        }
    }
}

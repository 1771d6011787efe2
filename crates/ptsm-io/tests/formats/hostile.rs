//! Damage that is the same every time, and what every reader owes a damaged file.

#![allow(dead_code)] // each test uses some of it

use std::path::PathBuf;

use ptsm_io::{Error, RecordingFile};

/// A file of the shared fixtures; none where they are not there.
pub(crate) fn fixture(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/datasets/fixtures").join(name);
    if !path.is_file() {
        eprintln!("skipped: needs ../shared/datasets/fixtures/{name}");
        return None;
    }
    Some(path)
}

/// Small random numbers (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    /// The same bytes with a few of them changed, taken out, doubled or replaced by numbers that are at an edge.
    pub(crate) fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..1 + self.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(16)).min(bytes.len());
            match self.below(6) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.below(256) as u8,
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                4 => {
                    let edges = [
                        0u32,
                        1,
                        0x7fff_ffff,
                        0x8000_0000,
                        0xffff_ffff,
                        0x0000_ffff,
                        0x3f80_0000,
                        0x7fc0_0000,
                    ];
                    let edge = edges[self.below(edges.len())].to_be_bytes();
                    bytes.iter_mut().skip(at / 4 * 4).zip(edge).for_each(|(byte, edge)| *byte = edge);
                }
                _ => {
                    let words = ["-1", "0", "999999999999", "1e308", "nan", "=", ",", "[", "\n"];
                    bytes.splice(at..at, words[self.below(words.len())].bytes());
                }
            }
        }
        bytes
    }
}

/// Whatever opens can be read to its end; whatever does not has words for it.
pub(crate) fn examine(result: Result<RecordingFile, Error>) {
    match result {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(opened) => {
            for i in 0..opened.signals().len().min(4) {
                let samples = opened.signals()[i].samples;
                let mut window = vec![0.0; samples.min(1000)];
                opened.read(&[i], samples - window.len(), &mut window).ok();
            }
            opened.recording(None).ok();
            for annotation in opened.annotations() {
                assert!(annotation.sample.is_none_or(|sample| sample < opened.length()));
            }
        }
    }
}

/// Windows equal the same part of the whole, whichever signals are asked for.
pub(crate) fn windows_equal_the_whole(opened: &RecordingFile) {
    let all: Vec<usize> = (0..opened.signals().len()).collect();
    let n = opened.length();
    let mut whole = vec![0.0; all.len() * n];
    opened.read(&all, 0, &mut whole).unwrap();
    let mut random = Random(7);
    for _ in 0..200 {
        let first = random.below(n);
        let count = 1 + random.below(n - first);
        let picked: Vec<usize> = (0..1 + random.below(all.len())).map(|_| random.below(all.len())).collect();
        let mut window = vec![f32::NAN; picked.len() * count];
        opened.read(&picked, first, &mut window).unwrap();
        for (signal, values) in picked.iter().zip(window.chunks_exact(count)) {
            assert_eq!(values, &whole[signal * n + first..][..count], "signal {signal} from {first}");
        }
    }
}

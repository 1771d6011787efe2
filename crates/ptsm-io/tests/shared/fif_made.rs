//! FIF files made by hand.

#![allow(dead_code, unreachable_pub)] // each test uses some of it

use std::path::Path;

use ptsm_io::{Bytes, Error, RecordingFile, fif};

/// A file of tags, made by hand.
pub struct File(pub Vec<u8>);

impl File {
    pub fn new() -> File {
        File(vec![]).tag(100, 31, &[0; 20]).int(101, -1)
    }

    pub fn tag(mut self, kind: i32, of: u32, bytes: &[u8]) -> File {
        self.0.extend(
            [kind.to_be_bytes(), of.to_be_bytes(), (bytes.len() as i32).to_be_bytes(), [0; 4]].concat(),
        );
        self.0.extend(bytes);
        self
    }

    pub fn int(self, kind: i32, value: i32) -> File {
        self.tag(kind, 3, &value.to_be_bytes())
    }

    pub fn float(self, kind: i32, value: f32) -> File {
        self.tag(kind, 4, &value.to_be_bytes())
    }

    pub fn block(self, block: i32, fill: impl FnOnce(File) -> File) -> File {
        fill(self.int(104, block)).int(105, block)
    }

    /// A channel with a unit and its power of ten.
    pub fn channel(self, kind: i32, scale: f32, unit: i32, power: i32, name: &str) -> File {
        let mut bytes = vec![0; 96];
        let mut put = |at: usize, value: [u8; 4]| bytes[at..at + 4].copy_from_slice(&value);
        put(8, kind.to_be_bytes());
        put(12, 1f32.to_be_bytes());
        put(16, scale.to_be_bytes());
        put(72, unit.to_be_bytes());
        put(76, power.to_be_bytes());
        bytes[80..][..name.len()].copy_from_slice(name.as_bytes());
        self.tag(203, 30, &bytes)
    }

    /// Two channels at 10 Hz: one in volts, one of triggers.
    pub fn info(self) -> File {
        let channels = |file: File| file.channel(2, 1e-6, 107, 0, "C3").channel(3, 1.0, 107, 0, "STI101");
        self.block(101, |file| channels(file.int(200, 2).float(201, 10.0)))
    }

    pub fn end(mut self) -> Vec<u8> {
        let at = self.0.len();
        self = self.tag(108, 0, &[]);
        self.0[at + 12..at + 16].copy_from_slice(&(-1i32).to_be_bytes());
        self.0
    }

    pub fn parse(self) -> Result<RecordingFile, Error> {
        parse(&self.end())
    }
}

pub fn parse(bytes: &[u8]) -> Result<RecordingFile, Error> {
    fif::parse(Bytes::from(bytes.to_vec()), &Path::new("a.fif").into())
}

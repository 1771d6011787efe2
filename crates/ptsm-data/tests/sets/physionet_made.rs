//! Files like PhysioNet's, made by hand.

use std::path::{Path, PathBuf};

use super::edf_made::{self, File, MadeSignal};

/// The 64 channels in the order and spelling of the files.
const CHANNELS: [&str; 64] = [
    "Fc5.", "Fc3.", "Fc1.", "Fcz.", "Fc2.", "Fc4.", "Fc6.", "C5..", "C3..", "C1..", "Cz..", "C2..", "C4..",
    "C6..", "Cp5.", "Cp3.", "Cp1.", "Cpz.", "Cp2.", "Cp4.", "Cp6.", "Fp1.", "Fpz.", "Fp2.", "Af7.", "Af3.",
    "Afz.", "Af4.", "Af8.", "F7..", "F5..", "F3..", "F1..", "Fz..", "F2..", "F4..", "F6..", "F8..", "Ft7.",
    "Ft8.", "T7..", "T8..", "T9..", "T10.", "Tp7.", "Tp8.", "P7..", "P5..", "P3..", "P1..", "Pz..", "P2..",
    "P4..", "P6..", "P8..", "Po7.", "Po3.", "Poz.", "Po4.", "Po8.", "O1..", "Oz..", "O2..", "Iz..",
];

/// A run: its rate, how many seconds, and events as onset, duration and text.
pub(crate) struct Run {
    pub(crate) rate_hz: usize,
    pub(crate) seconds: usize,
    pub(crate) events: Vec<(f64, f64, &'static str)>,
    /// Channels from this one on never change.
    pub(crate) flat_from: usize,
    pub(crate) channels: Vec<&'static str>,
}

impl Run {
    /// Fifteen trials of 4.1 s after rests of 4.2 s, the sides in turn.
    pub(crate) fn usual() -> Run {
        let trial = |i: usize| {
            let onset = i as f64 * 8.3;
            let code = if i.is_multiple_of(2) { "T1" } else { "T2" };
            [(onset, 4.2, "T0"), (onset + 4.2, 4.1, code)]
        };
        Run {
            rate_hz: 160,
            seconds: 125,
            events: (0..15).flat_map(trial).collect(),
            flat_from: 64,
            channels: CHANNELS.to_vec(),
        }
    }

    /// Writes it as `S007R04.edf` into a folder.
    pub(crate) fn save(&self, folder: &Path, subject: u32, run: u32) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join(format!("S{subject:03}R{run:02}.edf"));
        let mut signals: Vec<MadeSignal> =
            self.channels.iter().enumerate().map(|(c, l)| self.signal(c, l)).collect();
        let blocks: Vec<Vec<u8>> = (0..self.seconds).map(|second| self.texts(second)).collect();
        let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
        signals.push(edf_made::texts("EDF Annotations", self.rate_hz, &blocks));
        std::fs::write(&path, File::edf("EDF+C", signals).bytes()).unwrap();
        path
    }

    /// Steps that are different in every channel and at every time.
    fn signal(&self, channel: usize, label: &'static str) -> MadeSignal {
        let value = |at: usize| {
            if channel >= self.flat_from { 7 } else { ((at * (channel + 3) * 37) % 211) as i16 - 105 }
        };
        let record = |second: usize| (0..self.rate_hz).map(|i| value(second * self.rate_hz + i)).collect();
        let records: Vec<Vec<i16>> = (0..self.seconds).map(record).collect();
        edf_made::counts(label, &records.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// The texts of one record.
    fn texts(&self, second: usize) -> Vec<u8> {
        let mut block = format!("+{second}\x14\x14\x00").into_bytes();
        for (onset, duration, text) in &self.events {
            if (*onset).max(0.0) as usize == second {
                block.extend(format!("+{onset:.4}\x15{duration}\x14{text}\x14\x00").bytes());
            }
        }
        block
    }
}

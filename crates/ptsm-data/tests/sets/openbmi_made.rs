//! Files in the structure of OpenBMI, made by hand.

use std::path::Path;

use ptsm_io::mat::{Numbers, Value};

use super::common::{cell, noise, save, text, texts};

pub(crate) const CHANNELS: [&str; 62] = [
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "FC5", "FC1", "FC2", "FC6", "T7", "C3", "Cz", "C4", "T8",
    "TP9", "CP5", "CP1", "CP2", "CP6", "TP10", "P7", "P3", "Pz", "P4", "P8", "PO9", "O1", "Oz", "O2", "PO10",
    "FC3", "FC4", "C5", "C1", "C2", "C6", "CP3", "CPz", "CP4", "P1", "P2", "POz", "FT9", "FTT9h", "TTP7h",
    "TP7", "TPP9h", "FT10", "FTT10h", "TPP8h", "TP8", "TPP10h", "F9", "F10", "AF7", "AF3", "AF4", "AF8",
    "PO3", "PO4",
];

/// One phase.
#[derive(Clone)]
pub(crate) struct Phase {
    pub(crate) seed: u64,
    pub(crate) channels: Vec<&'static str>,
    pub(crate) rate_hz: u16,
    pub(crate) samples: usize,
    /// First samples counted from 0, and class numbers.
    pub(crate) trials: Vec<(usize, u8)>,
    /// Samples of a trial in `smt`.
    pub(crate) length: usize,
    /// What `t` counts from.
    pub(crate) base: usize,
    /// Names of the classes, in the order of their numbers.
    pub(crate) classes: Vec<&'static str>,
    /// Whether numbers are stored in smaller types than MATLAB shows.
    pub(crate) packed: bool,
}

impl Phase {
    /// Two trials of imagined movement, right and left.
    pub(crate) fn imagery(seed: u64) -> Phase {
        Phase {
            seed,
            channels: CHANNELS.to_vec(),
            rate_hz: 1000,
            samples: 12_000,
            trials: vec![(1000, 1), (7000, 2)],
            length: 4000,
            base: 1,
            classes: vec!["right", "left"],
            packed: false,
        }
    }

    /// Sample of a channel.
    pub(crate) fn x(&self) -> Vec<f64> {
        let all = noise(self.seed, self.samples * self.channels.len());
        if self.packed { all.into_iter().map(f64::round).collect() } else { all }
    }

    /// All fields of the published files, in their order.
    pub(crate) fn value(&self) -> Value {
        let (n, c, trials, k) = (self.samples, self.channels.len(), self.trials.len(), self.classes.len());
        let x = self.x();
        let mut smt = vec![];
        for channel in 0..c {
            for &(first, _) in &self.trials {
                smt.extend_from_slice(&x[channel * n + first..][..self.length]);
            }
        }
        let numbers = |dims: &[usize], real| Value::Array {
            dims: dims.to_vec(),
            real,
            imaginary: None,
            logical: false,
        };
        let signal = |dims: &[usize], values: &[f64]| {
            let packed = || Numbers::I8(values.iter().map(|&x| x as i8).collect());
            numbers(dims, if self.packed { packed() } else { Numbers::F64(values.to_vec()) })
        };
        let codes: Vec<u8> = self.trials.iter().map(|&(_, code)| code).collect();
        let t: Vec<i32> = self.trials.iter().map(|&(first, _)| (first + self.base) as i32).collect();
        let logic = codes.iter().flat_map(|&code| (1..=k as u8).map(move |class| u8::from(class == code)));
        let logic = Numbers::U8(logic.collect());
        let names: Vec<&str> = codes.iter().map(|&code| self.classes[code as usize - 1]).collect();
        let table = (1..=k).map(|code| text(&code.to_string())).chain(self.classes.iter().map(|c| text(c)));
        let rest = noise(self.seed + 1, 60 * c);
        let t =
            if self.packed { Numbers::I16(t.iter().map(|&t| t as i16).collect()) } else { Numbers::I32(t) };
        Value::record(vec![
            ("smt", signal(&[self.length, trials, c], &smt)),
            ("x", signal(&[n, c], &x)),
            ("t", numbers(&[1, trials], t)),
            ("fs", numbers(&[1, 1], Numbers::U16(vec![self.rate_hz]))),
            ("y_dec", numbers(&[1, trials], Numbers::U8(codes))),
            ("y_logic", Value::Array { dims: vec![k, trials], real: logic, imaginary: None, logical: true }),
            ("y_class", texts(&names)),
            ("class", cell(&[k, 2], table.collect())),
            ("chan", texts(&self.channels)),
            ("ival", numbers(&[1, self.length], Numbers::U16((1..=self.length as u16).collect()))),
            ("EMG", signal(&[n, 4], &x[..4 * n])),
            ("EMG_index", texts(&["EMG1", "EMG2", "EMG3", "EMG4"])),
            ("pre_rest", signal(&[60, c], &rest)),
            ("post_rest", signal(&[60, c], &rest)),
        ])
    }
}

/// Writes a file with both phases where the publisher has it.
pub(crate) fn save_file(root: &Path, tag: &str, session: u32, subject: u32, phases: [&Value; 2]) {
    let name = format!("session{session}/s{subject}/sess{session:02}_subj{subject:02}_EEG_{tag}.mat");
    let [train, test] = ["train", "test"].map(|phase| format!("EEG_{tag}_{phase}"));
    save(&root.join(name), &[(&train, phases[0]), (&test, phases[1])]);
}

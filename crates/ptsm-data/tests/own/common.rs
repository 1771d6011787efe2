//! Folders of small recordings.

use std::fs;
use std::path::{Path, PathBuf};

use ptsm_data::{LoadedData, Source};
use ptsm_signal::{Pipeline, Scaling};

/// A temporary folder.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, with the folders it is in.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes a recording of ten seconds at 100 Hz as BrainVision; the name has no ending.
    pub(crate) fn recording(&self, name: &str, channels: &[&str], events: &[(usize, &str)]) {
        self.signal(name, channels, events, 100.0, &noise(channels.len(), 1000, hash(name)));
    }

    /// Writes samples `[C, N]`.
    pub(crate) fn signal(
        &self,
        name: &str,
        channels: &[&str],
        events: &[(usize, &str)],
        rate_hz: f64,
        samples: &[f32],
    ) {
        let base = name.rsplit('/').next().unwrap();
        let rows: String =
            channels.iter().enumerate().map(|(i, name)| format!("Ch{}={name},,1,µV\n", i + 1)).collect();
        let (count, interval) = (channels.len(), 1e6 / rate_hz);
        self.write(
            &format!("{name}.vhdr"),
            format!(
                "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nCodepage=UTF-8\nDataFile={base}.eeg\n\
                 MarkerFile={base}.vmrk\nDataFormat=BINARY\nDataOrientation=VECTORIZED\nNumberOfChannels={count}\n\
                 SamplingInterval={interval}\n[Binary Infos]\nBinaryFormat=IEEE_FLOAT_32\n[Channel Infos]\n{rows}"
            ),
        );
        let marks: String = events
            .iter()
            .enumerate()
            .map(|(i, (sample, code))| format!("Mk{}=Stimulus,{code},{},1,0\n", i + 1, sample + 1))
            .collect();
        self.write(
            &format!("{name}.vmrk"),
            format!("Brain Vision Data Exchange Marker File, Version 1.0\n[Common Infos]\nCodepage=UTF-8\n[Marker Infos]\n{marks}"),
        );
        let bytes: Vec<u8> = samples.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.write(&format!("{name}.eeg"), bytes);
    }

    pub(crate) fn source(&self, id: &str, with: &[(&str, &str)]) -> ptsm_data::Result<Source> {
        let with: Vec<_> = with.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Source::parse_with(id, Some(self.root()), &with)
    }

    /// Trials of one second as they are in the files.
    pub(crate) fn load(&self, id: &str, with: &[(&str, &str)]) -> ptsm_data::Result<LoadedData> {
        self.source(id, with)?.load(Some(&plain()), None)
    }

    /// The error and its hint.
    pub(crate) fn refused(&self, id: &str, with: &[(&str, &str)]) -> (String, String) {
        let error = self.load(id, with).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default().to_string())
    }
}

/// One second after the event, nothing else.
pub(crate) fn plain() -> Pipeline {
    Pipeline { window_s: [0.0, 1.0], scaling: Scaling::None, ..Pipeline::default() }
}

/// Numbers like an EEG's: some ten microvolts around nothing.
pub(crate) fn noise(channels: usize, samples: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..channels * samples).map(|_| 30.0 * (next() + next() + next())).collect()
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(1469598103934665603, |h, b| (h ^ u64::from(b)).wrapping_mul(1099511628211))
}

/// Labels of all trials by the names of their classes.
pub(crate) fn labels(loaded: &LoadedData) -> Vec<&str> {
    let layout = loaded.trials.layout();
    loaded.trials.info().iter().map(|trial| layout.classes[trial.label as usize].as_str()).collect()
}

pub(crate) fn channels(loaded: &LoadedData) -> Vec<&str> {
    loaded.trials.layout().channels.iter().map(|channel| channel.name.as_str()).collect()
}

//! A small data set: files of bytes, each of which makes three channels of noise.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use ptsm_data::catalogue::{
    DataSet, DataSetChoice, DataSetFiles, DataSetInfo, Options, RecordingItem, RecordingPart, SignalData,
};
use ptsm_data::download::RemoteFile;
use ptsm_data::{Recordings, Result, Source};
use ptsm_signal::{Band, Channel, Event, FilterKind, Pipeline, Recording, RecordingId, SubjectId};

/// Subjects, and runs of each.
pub(crate) const SUBJECT_COUNT: u32 = 4;
pub(crate) const RUNS: u32 = 2;
/// Memory that each item says it takes.
pub(crate) const MEMORY: u64 = 100;

/// What was done with the data set.
#[derive(Debug, Default)]
pub(crate) struct ReadCounts {
    pub(crate) reads: AtomicUsize,
    now: AtomicU64,
    pub(crate) most: AtomicU64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SmallDataSet {
    pub(crate) seen: Arc<ReadCounts>,
}

const CHOICES: &[DataSetChoice] =
    &[DataSetChoice { name: "gain", default: "1", values: "1|2", about: "how loud" }];

impl DataSet for SmallDataSet {
    fn about(&self) -> DataSetInfo {
        DataSetInfo { id: "small".into(), ..DataSetInfo::default() }
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        CHOICES
    }

    fn task(&self, _: &Options) -> ptsm_signal::TaskDeclaration {
        ptsm_signal::TaskDeclaration::default()
    }

    fn pipeline(&self, _: &Options) -> Result<Pipeline> {
        let band = Band { low_hz: Some(1.0), high_hz: Some(30.0), kind: FilterKind::ZeroPhase { order: 2 } };
        Ok(Pipeline { band: Some(band), rate_hz: Some(50.0), window_s: [0.0, 1.0], ..Pipeline::default() })
    }

    fn find(&self, root: &Path, _: &Options) -> Result<DataSetFiles> {
        let items =
            (1..=SUBJECT_COUNT).flat_map(|s| (1..=RUNS).map(move |r| (s, r))).map(|(subject, run)| {
                RecordingItem {
                    subject: SubjectId(subject),
                    session: 1,
                    run,
                    files: vec![file(root, subject, run)],
                    part: String::new(),
                    memory: MEMORY,
                }
            });
        Ok(DataSetFiles {
            items: items.collect(),
            classes: vec!["left".into(), "right".into()],
            notes: vec!["small".into()],
            ..DataSetFiles::default()
        })
    }

    fn read(&self, item: &RecordingItem, options: &Options, _: &Pipeline) -> Result<Vec<RecordingPart>> {
        self.seen.reads.fetch_add(1, Ordering::SeqCst);
        let now = self.seen.now.fetch_add(item.memory, Ordering::SeqCst) + item.memory;
        self.seen.most.fetch_max(now, Ordering::SeqCst);
        // Long enough that others are at work meanwhile.
        std::thread::sleep(Duration::from_millis(2));
        let bytes = fs::read(&item.files[0]).map_err(|error| ptsm_data::Error::Content {
            path: item.files[0].clone(),
            message: error.to_string(),
            hint: None,
        })?;
        let gain: f32 = options.get("gain").parse().unwrap();
        let seed = blake3::hash(&bytes);
        let seed = u64::from_le_bytes(*seed.as_bytes().first_chunk().unwrap());
        let part = RecordingPart {
            id: RecordingId { subject: item.subject, session: item.session, run: item.run },
            signal: SignalData::Recording(recording(seed, gain)),
            notes: vec![format!("{} bytes", bytes.len())],
        };
        self.seen.now.fetch_sub(item.memory, Ordering::SeqCst);
        Ok(vec![part])
    }

    fn remote(&self, _: &Options) -> Result<Vec<RemoteFile>> {
        Ok(vec![])
    }
}

/// Ten seconds of noise at 100 Hz with a cue every two seconds; the last window does not fit.
fn recording(mut state: u64, gain: f32) -> Recording {
    let mut noise = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        gain * (state >> 40) as f32 / 1e4
    };
    let samples = (0..3 * 1000).map(|_| noise()).collect();
    let event = |i: usize| Event {
        sample: 200 * i + 150,
        code: ["left", "right", "other", "?", "left"][i].into(),
        samples: 0,
    };
    let channels = ["C3", "Cz", "C4"].map(Channel::named).to_vec();
    Recording::new(100.0, channels, samples, (0..5).map(event).collect()).unwrap()
}

pub(crate) fn file(root: &Path, subject: u32, run: u32) -> PathBuf {
    root.join(format!("S{subject}R{run}.raw"))
}

/// Makes a file look as if it had been written some time ago.
pub(crate) fn age(file: &Path, seconds: u64) {
    let open = File::options().write(true).open(file).unwrap();
    open.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

/// Writes all files.
pub(crate) fn write(root: &Path) {
    for (subject, run) in (1..=SUBJECT_COUNT).flat_map(|s| (1..=RUNS).map(move |r| (s, r))) {
        let file = file(root, subject, run);
        fs::write(&file, format!("{subject} {run}")).unwrap();
        age(&file, 1000);
    }
}

pub(crate) fn source(set: &SmallDataSet, root: &Path, with: &[(&str, &str)]) -> Source {
    let with: Vec<_> = with.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    Source::Recordings(Recordings::new(Arc::new(set.clone()), root, &with).unwrap())
}

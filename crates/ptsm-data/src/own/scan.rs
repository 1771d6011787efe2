//! What the headers of all recordings say together: channels everybody has, events, rates.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ptsm_io::RecordingFile;
use ptsm_signal::{Band, FilterKind, Pick, Pipeline, RecordingId};
use rayon::prelude::*;

use super::classes::{Classes, technical};
use super::common::CommonChannels;
use super::signals;
use crate::catalogue::{Options, RecordingItem, RecordingPart, RecordingRemark};
use crate::error::{Error, Result};
use crate::walk::natural;

/// How many event codes a message lists.
const MOST_LISTED: usize = 60;

/// Where the pipeline of one's own recordings comes from.
pub(super) const PIPELINE: &str = "broadband on purpose, since nothing is known of the task: 0.5-45 Hz without delay, 100 Hz, 0-4 s after \
    the event, the reference as recorded. Recordings slower than 100 Hz keep the rate of the slowest and nine tenths of its \
    band; trials that are cut already are only scaled. `[pipeline]` in a manifest or a configuration changes it";

/// An event code over all recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// How often it occurs.
    pub(super) events: usize,
    /// In how many recordings.
    pub(super) recordings: usize,
}

/// What is known of all recordings before any is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DataSetScan {
    /// Channels they share.
    pub(super) common: CommonChannels,
    /// How many of them could be opened.
    pub(super) opened: usize,
    /// Every event code.
    pub(super) codes: BTreeMap<String, Tally>,
    /// About how many bytes each takes in memory.
    memory: Vec<u64>,
    /// The files each was opened from.
    files: Vec<Vec<PathBuf>>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
    /// What the user should know of single recordings.
    pub(super) remarks: Vec<RecordingRemark>,
    /// Which channels are left out, and who has the fewest.
    dropped: Option<String>,
    /// The slowest of the rates.
    slowest_hz: Option<f64>,
    /// From when to when trials reach that are cut already, where all recordings hold such.
    epochs_s: Option<[f64; 2]>,
}

/// One recording as the scan sees it.
struct Facts {
    names: Vec<String>,
    bad: Vec<String>,
    rate_hz: f64,
    memory: u64,
    codes: BTreeMap<String, usize>,
    epochs_s: Option<[f64; 2]>,
    notes: Vec<String>,
    files: Vec<PathBuf>,
}

impl From<RecordingFile> for Facts {
    fn from(file: RecordingFile) -> Facts {
        let electrodes = file.electrodes();
        let bad = electrodes.iter().map(|&at| &file.signals()[at]).filter(|signal| signal.bad);
        let mut codes = BTreeMap::new();
        let epochs = file.epochs().into_iter().flat_map(|epochs| &epochs.codes);
        let events = file.events().iter().map(|event| &event.code).filter(|_| file.epochs().is_none());
        epochs.chain(events).for_each(|code| *codes.entry(code.clone()).or_default() += 1);
        let unstated = signals::unstated(&file).map(String::from);
        Facts {
            bad: bad.map(|signal| signal.name.clone()).collect(),
            names: signals::names(&file),
            rate_hz: file.rate_hz(),
            memory: signals::memory(&file),
            codes,
            epochs_s: signals::window_s(&file),
            notes: file.notes().iter().cloned().chain(unstated).collect(),
            files: file.files().to_vec(),
        }
    }
}

/// The pipeline that suits recordings of which the slowest has this rate, or epochs that reach from when to when.
pub(super) fn suited(slowest_hz: Option<f64>, epochs_s: Option<[f64; 2]>) -> Pipeline {
    if let Some(window_s) = epochs_s {
        return Pipeline { window_s, ..Pipeline::default() };
    }
    let rate = slowest_hz.map_or(100.0, |slowest| slowest.min(100.0));
    let kind = FilterKind::ZeroPhase { order: 4 };
    let (low, high) = ((0.01 * rate).min(0.5), 0.45 * rate);
    let band = Band { low_hz: Some(low), high_hz: Some(high), kind };
    Pipeline { band: Some(band), rate_hz: Some(rate), ..Pipeline::default() }
}

/// Whose recording it is, without the name of a file: that may name a person.
pub(super) fn describe_recording(item: &RecordingItem) -> String {
    format!("{} session {} run {}", item.subject, item.session, item.run)
}

impl DataSetScan {
    /// Opens every recording. One that cannot be opened is passed over: reading it says why.
    pub(super) fn new(
        items: &[RecordingItem],
        open: impl Fn(&RecordingItem) -> Result<RecordingFile> + Sync,
    ) -> DataSetScan {
        let facts: Vec<Option<Facts>> =
            items.par_iter().map(|item| open(item).ok().map(Facts::from)).collect();
        let opened: Vec<(&RecordingItem, &Facts)> =
            items.iter().zip(&facts).filter_map(|(item, facts)| Some((item, facts.as_ref()?))).collect();

        let (mut codes, mut remarks) = (BTreeMap::<String, Tally>::new(), vec![]);
        let mut bad: BTreeMap<&str, usize> = BTreeMap::new();
        for (item, facts) in &opened {
            for (code, count) in &facts.codes {
                let tally = codes.entry(code.clone()).or_default();
                tally.events += count;
                tally.recordings += 1;
            }
            let remark = |text: &String| RecordingRemark {
                subject: item.subject,
                place: describe_recording(item),
                text: text.clone(),
            };
            remarks.extend(facts.notes.iter().map(remark));
            facts.bad.iter().for_each(|name| *bad.entry(name).or_default() += 1);
        }
        let mut notes = vec![];
        if !bad.is_empty() {
            let each: Vec<String> = bad.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            notes
                .push(format!("channels marked as bad are kept, in so many recordings: {}", each.join(", ")));
        }
        // One without any EEG channel is refused when it is read; the others keep what they share.
        let with_eeg: Vec<&(&RecordingItem, &Facts)> =
            opened.iter().filter(|(_, facts)| !facts.names.is_empty()).collect();
        let lists: Vec<&[String]> = with_eeg.iter().map(|(_, facts)| facts.names.as_slice()).collect();
        let common = CommonChannels::new(&lists);
        let dropped = common.poorest().map(|at| {
            let (item, facts) = with_eeg[at];
            format!(
                "only channels that every recording has are used; left out: {} ({} has the fewest, {})",
                common.dropped().join(", "),
                describe_recording(item),
                facts.names.len()
            )
        });
        let same = |a: &[f64; 2], b: &[f64; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        let first = opened.first().and_then(|(_, facts)| facts.epochs_s);
        let all_epochs = |window: &[f64; 2]| {
            opened.iter().all(|(_, facts)| facts.epochs_s.is_some_and(|own| same(&own, window)))
        };
        DataSetScan {
            dropped,
            opened: opened.len(),
            codes,
            memory: facts.iter().map(|facts| facts.as_ref().map_or(0, |facts| facts.memory)).collect(),
            files: facts.iter().map(|f| f.as_ref().map_or_else(Vec::new, |f| f.files.clone())).collect(),
            notes,
            remarks,
            slowest_hz: opened.iter().map(|(_, facts)| facts.rate_hz).min_by(f64::total_cmp),
            epochs_s: first.filter(all_epochs),
            common,
        }
    }

    /// The pipeline that suits recordings of which nothing is known. Where subjects have different channels it names those everybody
    /// has, so that a decoder keeps them.
    pub(super) fn pipeline(&self) -> Pipeline {
        let pick = self.everybody().unwrap_or_default();
        Pipeline { pick, ..suited(self.slowest_hz, self.epochs_s) }
    }

    /// Whether all recordings hold epochs of one window.
    pub(super) fn holds_epochs(&self) -> bool {
        self.epochs_s.is_some()
    }

    /// Reads what a pipeline needs of a recording. Events are called like their classes where those are given.
    pub(super) fn part(
        &self,
        mut file: RecordingFile,
        item: &RecordingItem,
        pipeline: &Pipeline,
        classes: Option<&Classes>,
    ) -> Result<RecordingPart> {
        let refuse = |(message, hint): (String, String)| Error::Content {
            path: item.files.first().cloned().unwrap_or_default(),
            message,
            hint: Some(hint),
        };
        let chosen = signals::chosen(&file, pipeline, &self.common).map_err(refuse)?;
        if chosen.is_empty() {
            return Err(refuse((
                "has no channel that every recording has".into(),
                "pick channels in `[pipeline]`, or leave recordings of another kind out".into(),
            )));
        }
        if let Some(classes) = classes {
            classes.rename(file.events_mut());
            file.codes_mut().iter_mut().for_each(|code| *code = classes.name(code));
        }
        let signal = signals::read(&file, &chosen)?;
        let notes = self.dropped(pipeline).cloned().into_iter().collect();
        let id = RecordingId { subject: item.subject, session: item.session, run: item.run };
        Ok(RecordingPart { id, signal, notes })
    }

    /// What to do where events of a class are not there: choose among those there are.
    pub(super) fn events(&self) -> String {
        match self.listed() {
            none if none.is_empty() => "the recordings hold no event that could begin a trial: see how events were recorded, and that files \
                with events (markers, tables) lie beside their recordings"
                .into(),
            listed => format!("the events are {listed}"),
        }
    }

    /// Event codes that may begin trials, with how often they occur; empty where there is none.
    pub(super) fn listed(&self) -> String {
        let mut usable: Vec<(&String, &Tally)> =
            self.codes.iter().filter(|(code, _)| !technical(code)).collect();
        usable.sort_by(|a, b| natural(a.0, b.0));
        let each = usable.iter().take(MOST_LISTED).map(|(code, tally)| format!("{code} ({})", tally.events));
        let more = usable.len().saturating_sub(MOST_LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", each.collect::<Vec<_>>().join(", "))
    }

    /// What the user should know of channels that are left out.
    fn dropped(&self, pipeline: &Pipeline) -> Option<&String> {
        let unrequested = pipeline.pick == Pick::All || self.everybody().as_ref() == Some(&pipeline.pick);
        self.dropped.as_ref().filter(|_| unrequested)
    }

    /// The channels everybody has, where subjects have different ones.
    fn everybody(&self) -> Option<Pick> {
        let shared = self.common.shared().filter(|shared| !shared.is_empty())?;
        Some(Pick::Names(shared.to_vec()))
    }

    /// Completes items: how much memory each takes, which files it is read from, and what reading it depends on besides them, which
    /// are the channels others have.
    pub(super) fn complete(&self, items: &mut [RecordingItem]) {
        // What is told of channels that are left out is kept with the trials, and is about the others too.
        let part = self.common.shared().map_or_else(String::new, |shared| {
            let text = format!("{}\n{}", shared.join("\n"), self.dropped.as_deref().unwrap_or_default());
            format!("shared channels {}", &blake3::hash(text.as_bytes()).to_hex()[..8])
        });
        for ((item, &memory), files) in items.iter_mut().zip(&self.memory).zip(&self.files) {
            item.memory = memory;
            item.part.clone_from(&part);
            let others: Vec<PathBuf> =
                files.iter().filter(|file| !item.files.contains(file)).cloned().collect();
            item.files.extend(others);
        }
    }
}

/// The last scan, kept for as long as nothing else is chosen.
#[derive(Debug, Default)]
pub(super) struct ScanCache(Mutex<Option<(Options, Arc<DataSetScan>)>>);

impl ScanCache {
    pub(super) fn get(&self, options: &Options) -> Option<Arc<DataSetScan>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(chosen, _)| chosen == options).map(|(_, scan)| scan.clone())
    }

    pub(super) fn put(&self, options: &Options, scan: DataSetScan) -> Arc<DataSetScan> {
        let scan = Arc::new(scan);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((options.clone(), scan.clone()));
        scan
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_io::Epochs;
    use ptsm_io::RawHeader;
    use ptsm_signal::SubjectId;

    use super::super::signals::tests::{made, named};
    use super::*;
    use crate::catalogue::DataSetFiles;

    fn items(n: u32) -> Vec<RecordingItem> {
        let item = |subject| RecordingItem {
            subject: SubjectId(subject),
            session: 1,
            run: 1,
            files: vec![],
            part: String::new(),
            memory: 0,
        };
        (1..=n).map(item).collect()
    }

    fn file(rate_hz: f64, names: &[&str], codes: &[&str]) -> RecordingFile {
        let events: Vec<_> = codes.iter().enumerate().map(|(sample, code)| (sample, *code, 0)).collect();
        let mut file = made(named(names, rate_hz, 10), &events);
        file.signals_mut().iter_mut().for_each(|signal| signal.unit_given = true);
        file
    }

    #[test]
    fn all_headers_are_put_together() {
        let scan = DataSetScan::new(&items(3), |item| match item.subject.0 {
            1 => Ok(file(250.0, &["C3", "Cz"], &["a", "b", "a"])),
            2 => {
                let mut file = file(160.0, &["Cz", "Oz", "C4"], &["a"]);
                file.signals_mut()[1].bad = true;
                Ok(file)
            }
            _ => Err(Error::Cohort { message: "no".into(), hint: None }),
        });
        assert_eq!(scan.common.shared(), Some(&["Cz".to_string()][..]));
        assert_eq!(scan.codes["a"], Tally { events: 3, recordings: 2 });
        assert_eq!(scan.notes, ["channels marked as bad are kept, in so many recordings: Oz (1)"]);
        let all = Pipeline::default();
        let note = scan.dropped(&all).unwrap();
        assert!(
            note.contains("C3, Oz, C4") && note.contains("S01 session 1 run 1 has the fewest, 2"),
            "{note}"
        );
        let picked = Pipeline { pick: Pick::Names(vec!["C3".into()]), ..all };
        assert_eq!(scan.dropped(&picked), None);
        let mut items = items(3);
        scan.complete(&mut items);
        assert_eq!((items[1].memory, items[0].part.len()), (120, 24));
        let pipeline = scan.pipeline();
        assert_eq!((pipeline.rate_hz, pipeline.window_s), (Some(100.0), [0.0, 4.0]));
        assert_eq!(pipeline.pick, Pick::Names(vec!["Cz".into()]));
        assert!(scan.dropped(&pipeline).is_some());
        let band = pipeline.band.unwrap();
        assert_eq!((band.low_hz, band.high_hz), (Some(0.5), Some(45.0)));
        pipeline.check().unwrap();
    }

    #[test]
    fn units_nobody_states_are_reported_once() {
        let scan = DataSetScan::new(&items(2), |_| {
            let mut file = file(100.0, &["C3", "Cz"], &[]);
            file.signals_mut()[1].unit_given = false;
            Ok(file)
        });
        let found = DataSetFiles { remarks: scan.remarks, ..DataSetFiles::default() };
        let notes = found.notes_of(|_| true);
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(
            note.contains("does not say what its EEG is counted in") && note.contains("2 recordings"),
            "{note}"
        );
        let notes = found.notes_of(|subject| subject == SubjectId(2));
        assert!(notes[0].ends_with("(S02 session 1 run 1)"), "{notes:?}");
        assert!(found.notes_of(|_| false).is_empty());
    }

    #[test]
    fn findings_about_the_others_are_part_of_what_is_cached() {
        let part = |more: &[&str]| {
            let names = |n: u32| if n == 1 { vec!["C3", "Cz"] } else { [&["Cz"], more].concat() };
            let scan = DataSetScan::new(&items(2), |item| Ok(file(100.0, &names(item.subject.0), &[])));
            let mut items = items(2);
            scan.complete(&mut items);
            (scan.common.shared().unwrap().to_vec(), items[0].part.clone())
        };
        let ((shared, one), (same, other)) = (part(&["C4"]), part(&["C4", "Oz"]));
        assert!(shared == same && one != other);
    }

    #[test]
    fn slow_recordings_keep_their_rate_and_trials_their_window() {
        let slow = DataSetScan::new(&items(1), |_| Ok(file(50.0, &["C3"], &[])));
        let pipeline = slow.pipeline();
        let edges = pipeline.band.map(|band| (band.low_hz, band.high_hz));
        assert_eq!((pipeline.rate_hz, edges), (Some(50.0), Some((Some(0.5), Some(22.5)))));
        let epochs = DataSetScan::new(&items(2), |_| {
            let epochs = Epochs { samples: 5, start_s: -0.2, codes: vec!["x".into(), "y".into()] };
            Ok(made(RawHeader { epochs: Some(epochs), ..named(&["C3"], 10.0, 10) }, &[(0, "boundary", 0)]))
        });
        assert_eq!(epochs.pipeline(), Pipeline { window_s: [-0.2, 0.3], ..Pipeline::default() });
        assert_eq!(epochs.codes.keys().collect::<Vec<_>>(), ["x", "y"]);
    }
}

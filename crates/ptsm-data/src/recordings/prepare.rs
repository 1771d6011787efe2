//! One item to trials.

use ptsm_signal::{EpochedRecording, Layout, Pipeline, Recording, RecordingId, Trial, Trials};

use super::Recordings;
use crate::arrays::LabelHandling;
use crate::catalogue::{RecordingItem, RecordingPart, SignalData, UNKNOWN};
use crate::error::{Error, Result};
use crate::findings::{RecordingMeasures, Sketch, measure, sketches};
use crate::identity::places;

/// What became of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EpochedItem {
    /// None where the item has no trial.
    pub(super) trials: Option<Trials>,
    /// Where the largest value of each trial is: what subjects are known by.
    pub(super) places: Vec<u64>,
    /// What tells epochs that are there twice.
    pub(super) sketches: Vec<Sketch>,
    /// What was measured in its recordings before anything was done to them.
    pub(super) measured: Vec<RecordingMeasures>,
    /// Windows that reach past the ends of a recording or over a gap.
    pub(super) short: usize,
    /// Trials whose class nobody tells.
    pub(super) unknown: usize,
    /// Trials that overlap spans annotated as bad.
    pub(super) bad: usize,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

/// The classes of the trials, and whether labels are looked at.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(super) classes: Vec<String>,
    pub(super) blind: bool,
}

impl Labels {
    /// What is wanted of classes a data set has.
    pub(crate) fn new(present: &[String], label_handling: LabelHandling<'_>, id: &str) -> Result<Labels> {
        let (classes, blind) = match label_handling {
            LabelHandling::Own => (present.to_vec(), false),
            LabelHandling::Classes(classes) => (classes.to_vec(), false),
            LabelHandling::Unlabelled(classes) => (classes.to_vec(), true),
        };
        match present.iter().find(|class| !blind && !classes.contains(class)) {
            None => Ok(Labels { classes, blind }),
            Some(class) => Err(Error::Source {
                id: id.to_string(),
                message: format!("has class `{class}`, the decoder knows {}", classes.join(", ")),
                hint: Some("choose the classes the decoder was trained on with `--with`".into()),
            }),
        }
    }

    /// The label of a code: none for one that begins no trial.
    fn label(&self, present: &[String], code: &str) -> Option<u32> {
        if self.blind {
            return (code == UNKNOWN || present.iter().any(|class| class == code)).then_some(0);
        }
        self.classes.iter().position(|class| class == code).map(|label| label as u32)
    }
}

impl Recordings {
    /// Reads an item, measures and epochs it.
    pub(super) fn prepare(
        &self,
        item: &RecordingItem,
        present: &[String],
        labels: &Labels,
        pipeline: &Pipeline,
    ) -> Result<EpochedItem> {
        let (parts, measured) = self.read_measured(item, present, pipeline)?.into_iter().unzip();
        Ok(EpochedItem { measured, ..epoch(item, parts, present, labels, pipeline)? })
    }

    /// Reads an item and measures each of its parts as it was recorded.
    pub(crate) fn read_measured(
        &self,
        item: &RecordingItem,
        present: &[String],
        pipeline: &Pipeline,
    ) -> Result<Vec<(RecordingPart, RecordingMeasures)>> {
        let parts = self.set.read(item, &self.options, pipeline)?;
        let measured = |part: RecordingPart| {
            let measured = measure(&part, item, present, pipeline)?;
            Ok((part, measured))
        };
        parts.into_iter().map(measured).collect()
    }
}

/// Epochs the parts of an item; what was measured in them stays empty.
pub(crate) fn epoch(
    item: &RecordingItem,
    parts: Vec<RecordingPart>,
    present: &[String],
    labels: &Labels,
    pipeline: &Pipeline,
) -> Result<EpochedItem> {
    let refuse = |error| Error::Signal { place: item.place(), error };
    let mut all = EpochedItem::default();
    for part in parts {
        let RecordingPart { id, signal, notes } = part;
        all.notes.extend(notes);
        let cut = match signal {
            SignalData::Recording(mut recording) => {
                let bad = bad_spans(&recording, present, labels);
                all.unknown += name_cues(&mut recording, present, labels);
                if recording.events.is_empty() {
                    continue;
                }
                let cues: Vec<_> = labels.classes.iter().map(|c| (c.clone(), c.clone())).collect();
                let cut = pipeline.epoch(&recording, &cues, id).map_err(refuse)?;
                all.bad += overlapping(&cut.trials, pipeline, &bad);
                cut
            }
            SignalData::Epochs { channels, rate_hz, start_s, samples, x, codes } => {
                let layout = Layout {
                    channels,
                    samples,
                    rate_hz,
                    start_s,
                    classes: labels.classes.clone(),
                    task: Default::default(),
                };
                if !pipeline.window_inside(&layout).map_err(refuse)? {
                    return Err(outside(item, pipeline, &layout));
                }
                let (trials, unknown) = epochs(layout, &x, &codes, present, labels, id).map_err(refuse)?;
                all.unknown += unknown;
                EpochedRecording { trials: pipeline.finish(trials).map_err(refuse)?, short: 0 }
            }
        };
        all.short += cut.short;
        all.places.extend(places(&cut.trials));
        all.sketches.extend(sketches(&cut.trials));
        match &mut all.trials {
            None => all.trials = Some(cut.trials),
            Some(trials) => trials.append(&cut.trials).map_err(refuse)?,
        }
    }
    Ok(all)
}

/// Trials that are cut already and do not reach as far as the window.
fn outside(item: &RecordingItem, pipeline: &Pipeline, layout: &Layout) -> Error {
    let [from, to] = pipeline.window_s;
    let (start, end) = (layout.start_s, layout.start_s + layout.samples as f64 / layout.rate_hz);
    Error::Content {
        path: item.file().to_path_buf(),
        message: format!("the window from {from} s to {to} s is not inside the trials, {start} s to {end} s"),
        hint: Some(format!("give a window inside of them: `window_s = [{start}, {end}]` in `[pipeline]`")),
    }
}

/// Spans annotated as bad (`BAD_blink`), in seconds after the first sample. Classes are not among them, whatever they are called.
fn bad_spans(recording: &Recording, present: &[String], labels: &Labels) -> Vec<[f64; 2]> {
    let of_class = |code: &str| labels.label(present, code).is_some();
    let spans = recording.events.iter().filter(|event| is_bad(&event.code) && !of_class(&event.code));
    let seconds = |sample: usize| sample as f64 / recording.rate_hz;
    spans.map(|event| [seconds(event.sample), seconds(event.sample.saturating_add(event.samples))]).collect()
}

/// Whether an annotation says that signals are bad, as MNE takes it: it begins with `BAD`.
fn is_bad(code: &str) -> bool {
    let text = code.strip_prefix("Comment/").unwrap_or(code);
    let (start, rest) = text.split_at_checked(3).unwrap_or((text, ""));
    start.eq_ignore_ascii_case("bad") && !rest.starts_with(|c: char| c.is_alphanumeric())
}

/// How many trials have a sample in one of some spans.
fn overlapping(trials: &Trials, pipeline: &Pipeline, spans: &[[f64; 2]]) -> usize {
    let [from, to] = pipeline.window_s;
    let hit = |trial: &&Trial| {
        let [start, end] = [trial.cue_s + from, trial.cue_s + to];
        spans.iter().any(|[first, last]| *first < end && start < *last)
    };
    trials.info().iter().filter(hit).count()
}

/// Leaves only events that begin a trial, called like the class they count as. Gives how many have no class.
fn name_cues(recording: &mut Recording, present: &[String], labels: &Labels) -> usize {
    let unknown = recording.events.iter().filter(|event| event.code == UNKNOWN && !labels.blind).count();
    recording.events.retain_mut(|event| match labels.label(present, &event.code) {
        None => false,
        Some(label) => {
            event.code.clone_from(&labels.classes[label as usize]);
            true
        }
    });
    unknown
}

/// Trials of known classes, and how many have none.
fn epochs(
    layout: Layout,
    x: &[f32],
    codes: &[String],
    present: &[String],
    labels: &Labels,
    id: RecordingId,
) -> ptsm_signal::Result<(Trials, usize)> {
    let one = layout.channels.len() * layout.samples;
    let (mut kept, mut trials) = (Vec::new(), Vec::new());
    for (i, (signal, code)) in x.chunks_exact(one.max(1)).zip(codes).enumerate() {
        let Some(label) = labels.label(present, code) else { continue };
        kept.extend_from_slice(signal);
        let cue_s = i as f64 * layout.samples as f64 / layout.rate_hz;
        trials.push(Trial { label, subject: id.subject, session: id.session, run: id.run, cue_s });
    }
    let unknown = codes.iter().filter(|code| *code == UNKNOWN && !labels.blind).count();
    Ok((Trials::new(layout, kept, trials)?, unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_of_bad_signals_are_known() {
        for code in ["BAD", "bad", "BAD_blink", "Bad segment", "BAD boundary", "Comment/BAD_muscle"] {
            assert!(is_bad(code), "{code}");
        }
        for code in ["Badminton", "ba", "", "left", "Comment/left", "\u{e9}b\u{e4}d"] {
            assert!(!is_bad(code), "{code}");
        }
    }
}

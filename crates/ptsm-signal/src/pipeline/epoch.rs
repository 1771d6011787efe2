//! From a recording to the trials around its events.

use std::ops::Range;

use super::Pipeline;
use super::chain::{Chain, Group};
use super::cues::Cues;
use super::grid::Grid;
use super::selection::Selection;
use crate::error::{Error, Result};
use crate::lanes::{Isa, LANES};
use crate::recording::Recording;
use crate::trials::{Layout, SubjectId, Trial, Trials, not_a_number};

/// Whose recording it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingId {
    /// The subject.
    pub subject: SubjectId,
    /// The session, counted from 1.
    pub session: u32,
    /// The run inside the session, counted from 1.
    pub run: u32,
}

/// Part of a recording without a gap in it, with the cues in it: their places after resampling, and which trial each begins.
struct Segment {
    range: Range<usize>,
    cues: Vec<(i64, usize)>,
}

impl Segment {
    fn new(range: Range<usize>) -> Segment {
        Segment { range, cues: vec![] }
    }
}

/// The epochs of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochedRecording {
    /// The trials, in the order of their events.
    pub trials: Trials,
    /// Windows that were left out: they (or their baselines) reach past the recording's ends or over a gap, or lie between two gaps
    /// too near to one another for the filter.
    pub short: usize,
}

impl Pipeline {
    /// Cuts a recording into trials, one per event whose code is among `cues`. A cue is an event code and the class it stands
    /// for; several codes may stand for one class, and classes are numbered as they first appear. Alignment is left to
    /// [`Pipeline::align`], once all of a subject's trials are there.
    ///
    /// Filters see the whole recording, so that trials have no edges of their own; where it has gaps, each segment by itself. It is
    /// an error where every segment with a trial is too short for them.
    pub fn epoch(
        &self,
        recording: &Recording,
        cues: &[(String, String)],
        id: RecordingId,
    ) -> Result<EpochedRecording> {
        self.check()?;
        recording.check()?;
        let selection = Selection::new(self, &recording.channels)?;
        let cues = Cues::new(cues)?;
        let found = cues.find(&recording.events)?;

        let chain = Chain::new(self, recording.rate_hz)?;
        let rate_hz = self.rate_hz.unwrap_or(recording.rate_hz);
        let grid = Grid::new(self, rate_hz)?;
        let mut segments: Vec<Segment> = recording.segments().into_iter().map(Segment::new).collect();
        let mut inside = Vec::new();
        let mut too_short = None;
        for &(event, label) in &found {
            let at = segments.partition_point(|segment| segment.range.end <= event.sample);
            let Range { start, end } = segments[at].range;
            let cue = i64::try_from(chain.place(event.sample - start)).unwrap_or(i64::MAX);
            if !grid.fits(cue, chain.length(end - start)) {
                continue;
            }
            match chain.check(end - start) {
                Ok(()) => {
                    segments[at].cues.push((cue, inside.len()));
                    inside.push((event, label));
                }
                Err(error) => too_short = Some(error),
            }
        }
        if let Some(error) = too_short.filter(|_| inside.is_empty()) {
            return Err(error);
        }
        segments.retain(|segment| !segment.cues.is_empty());
        segments.iter().try_for_each(|segment| check_numbers(recording, &selection, &segment.range))?;

        let (channels, samples) = (selection.processed.len(), grid.window.samples);
        let mut x = vec![0.0; inside.len() * channels * samples];
        let reference = selection.reference(&recording.samples, recording.length());
        let isa = Isa::best();
        let mut group = Group::new(chain.room());
        for Segment { range, cues } in &segments {
            let needed_ranges =
                grid.needed_ranges(cues.iter().map(|&(cue, _)| cue), chain.length(range.len()));
            let reference = reference.as_deref().map(|reference| &reference[range.clone()]);
            for (g, picked) in selection.processed.chunks(LANES).enumerate() {
                let own: Vec<&[f32]> =
                    picked.iter().map(|&channel| &recording.channel(channel)[range.clone()]).collect();
                group.load(isa, &own, reference);
                let signal = chain.apply(isa, &mut group, &needed_ranges);
                for &(cue, trial) in cues {
                    let first = trial * channels + g * LANES;
                    grid.copy(signal, cue, &mut x[first * samples..][..picked.len() * samples]);
                }
            }
        }
        let x = self.process_epochs(&selection, x, samples, rate_hz, inside.iter().map(|_| ()))?;

        let layout = Layout {
            channels: selection.channels(&recording.channels),
            samples,
            rate_hz,
            start_s: grid.window.first as f64 / rate_hz,
            classes: cues.classes,
            task: Default::default(),
        };
        let RecordingId { subject, session, run } = id;
        let info = inside.iter().map(|&(event, label)| Trial {
            label,
            subject,
            session,
            run,
            cue_s: event.sample as f64 / recording.rate_hz,
        });
        let trials = Trials::new(layout, x, info.collect())?;
        Ok(EpochedRecording { short: found.len() - trials.len(), trials })
    }
}

/// Refuses samples that are no numbers in the channels that are used: a filter would spread them.
fn check_numbers(recording: &Recording, selection: &Selection, range: &Range<usize>) -> Result<()> {
    for channel in selection.used() {
        let samples = &recording.channel(channel)[range.clone()];
        if let Some(at) = not_a_number(samples) {
            let (name, value) = (&recording.channels[channel].name, samples[at]);
            let time = (range.start + at) as f64 / recording.rate_hz;
            return Err(Error::data(
                format!("channel `{name}`"),
                format!("the sample at {time:.3} s is {value}, not a number"),
            )
            .with_hint("leave the channel out, or interpolate it or crop the recording beforehand"));
        }
    }
    Ok(())
}

//! The filters of a pipeline, designed for one sampling rate: notch, band, resampling.

use std::ops::Range;

use super::{FilterKind, Pipeline};
use crate::error::Result;
use crate::filter::{
    Pass, Resampler, Rows, Sections, WindowFunction, both_ways, butterworth, firwin, forwards, long_enough,
    notch, resample, zero_phase_fir,
};
use crate::lanes::{Isa, LANES, Lanes, interleave};

/// The notch's frequency divided by its width.
const NOTCH_QUALITY: f64 = 30.0;

/// What happens to every channel of a recording.
pub(super) struct Chain {
    steps: Vec<Step>,
    resampler: Option<Resampler>,
}

enum Step {
    ZeroPhase(Sections),
    Causal(Sections),
    Fir(Vec<f64>),
}

impl Chain {
    pub(super) fn new(pipeline: &Pipeline, rate_hz: f64) -> Result<Chain> {
        let mut steps = Vec::new();
        let causal = matches!(&pipeline.band, Some(band) if matches!(band.kind, FilterKind::Causal { .. }));
        let forwards = |sections| if causal { Step::Causal(sections) } else { Step::ZeroPhase(sections) };
        if let Some(frequency) = pipeline.notch_hz {
            steps.push(forwards(notch(frequency, NOTCH_QUALITY, rate_hz)?));
        }
        if let Some(band) = &pipeline.band {
            let pass = match (band.low_hz, band.high_hz) {
                (Some(low), Some(high)) => Some(Pass::Band(low, high)),
                (low, high) => low.map(Pass::High).or(high.map(Pass::Low)),
            };
            if let Some(pass) = pass {
                steps.push(match band.kind {
                    FilterKind::ZeroPhase { order } | FilterKind::Causal { order } => {
                        forwards(butterworth(order, pass, rate_hz)?)
                    }
                    FilterKind::Fir { taps } => {
                        Step::Fir(firwin(taps, pass, WindowFunction::Hamming, rate_hz)?)
                    }
                });
            }
        }
        let resampler = pipeline.rate_hz.map(|to_hz| Resampler::between(rate_hz, to_hz)).transpose()?;
        let resampler = resampler.filter(|resampler| resampler.ratio() != (1, 1));
        Ok(Chain { steps, resampler })
    }

    /// Where an old sample is among the new ones.
    pub(super) fn place(&self, sample: usize) -> usize {
        self.resampler.as_ref().map_or(sample, |resampler| resampler.place(sample))
    }

    /// Samples after resampling.
    pub(super) fn length(&self, samples: usize) -> usize {
        self.resampler.as_ref().map_or(samples, |resampler| resampler.length(samples))
    }

    /// Refuses signals that are too short for a filter.
    pub(super) fn check(&self, samples: usize) -> Result<()> {
        self.steps.iter().try_for_each(|step| long_enough(samples, step.edge(), step.purpose()))
    }

    /// Samples of room that a [`Group`] needs at both ends.
    pub(super) fn room(&self) -> usize {
        self.steps.iter().map(Step::edge).max().unwrap_or(0)
    }

    /// Some channels from beginning to end. Of the resampled signal only the wanted samples are worked out.
    pub(super) fn apply<'g>(&self, isa: Isa, group: &'g mut Group, needed: &[Range<usize>]) -> &'g [Lanes] {
        for step in &self.steps {
            let (signal, spare) = group.with_room(step.edge());
            match step {
                Step::ZeroPhase(sections) => both_ways(isa, sections, signal, step.edge()),
                Step::Causal(sections) => forwards(isa, sections, signal),
                Step::Fir(filter) => {
                    spare.resize(signal.len() - 2 * step.edge());
                    zero_phase_fir(isa, filter, signal, spare.as_mut_slice());
                }
            }
        }
        let Some(resampler) = &self.resampler else { return group.with_room(0).0 };
        // An offset of thousands of microvolts would leak through the anti-aliasing filter and ring at the ends. The first
        // sample rather than the mean stands for it, since it is known to a live stream too.
        let (signal, out) = group.with_room(0);
        let level = signal.first().copied().unwrap_or_default();
        out.resize(resampler.length(signal.len()));
        let out = out.as_mut_slice();
        for range in needed {
            resample(isa, resampler, signal, &level, range.start, &mut out[range.clone()]);
        }
        out
    }
}

impl Step {
    /// Samples it adds at both ends.
    fn edge(&self) -> usize {
        match self {
            Step::ZeroPhase(sections) => sections.edge(),
            Step::Causal(_) => 0,
            Step::Fir(filter) => filter.len() / 2,
        }
    }

    fn purpose(&self) -> &'static str {
        match self {
            Step::ZeroPhase(_) => "filtering forwards and backwards",
            Step::Causal(_) | Step::Fir(_) => "this filter",
        }
    }
}

/// A group of channels on its way through a chain. Its memory serves one group after the other.
pub(super) struct Group {
    /// `[room, n, room]`
    signal: Rows<LANES>,
    room: usize,
    /// For results that cannot take the place of what they are made from.
    spare: Rows<LANES>,
}

impl Group {
    /// Room at both ends for so many samples.
    pub(super) fn new(room: usize) -> Group {
        Group { signal: Rows::default(), room, spare: Rows::default() }
    }

    /// Takes in up to [`LANES`] channels of one length, against the reference where there is one.
    pub(super) fn load(&mut self, isa: Isa, channels: &[&[f32]], reference: Option<&[f64]>) {
        let first = channels.first().copied().unwrap_or_default();
        self.signal.resize(first.len() + 2 * self.room);
        // Lanes that nobody needs carry the first channel once more.
        let all = std::array::from_fn(|l| channels.get(l).copied().unwrap_or(first));
        let (signal, _) = self.with_room(0);
        interleave(isa, all, signal);
        if let Some(reference) = reference {
            for (x, reference) in signal.iter_mut().zip(reference) {
                *x = x.map(|x| x - reference);
            }
        }
    }

    /// The samples with so many at both ends, and the spare ones.
    fn with_room(&mut self, edge: usize) -> (&mut [Lanes], &mut Rows<LANES>) {
        let outside = self.room - edge;
        let signal = self.signal.as_mut_slice();
        let end = signal.len() - outside;
        (&mut signal[outside..end], &mut self.spare)
    }
}

//! The filters of a pipeline, designed for one sampling rate: notch, band, resampling.

use super::{FilterKind, Pipeline};
use crate::error::Result;
use crate::filter::{
    Causal, Pass, Resampler, Sections, Start, Window, butterworth, fir, firwin, notch, zero_phase,
};

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
                    FilterKind::Fir { taps } => Step::Fir(firwin(taps, pass, Window::Hamming, rate_hz)?),
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

    /// One channel from beginning to end.
    pub(super) fn apply(&self, mut signal: Vec<f64>) -> Result<Vec<f64>> {
        for step in &self.steps {
            match step {
                Step::ZeroPhase(sections) => signal = zero_phase(sections, &signal)?,
                Step::Causal(sections) => {
                    Causal::new(sections.clone(), 1, Start::FirstSample).filter(&mut signal)?;
                }
                Step::Fir(filter) => signal = fir(filter, &signal)?,
            }
        }
        if let (Some(resampler), Some(&level)) = (&self.resampler, signal.first()) {
            // An offset of thousands of microvolts would leak through the anti-aliasing filter and ring at the ends. The first
            // sample rather than the mean stands for it, since it is known to a live stream too.
            signal.iter_mut().for_each(|x| *x -= level);
            signal = resampler.apply(&signal);
            signal.iter_mut().for_each(|x| *x += level);
        }
        Ok(signal)
    }
}

//! Trials of which a part is gone.

use ptsm_decode::{Error, FittedDecoder};
use ptsm_eval::Result;
use ptsm_signal::{SubjectId, Subset, Trials};

/// What stands in the place of what is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Nothing: zero, which is the mean of a filtered signal.
    #[default]
    Zero,
    /// The mean of the channel over the trial.
    Mean,
}

/// A part of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovedPart {
    Channel(usize),
    /// In all channels.
    Sample(usize),
}

/// Trials that are changed and decoded together; more would only take memory.
const AT_ONCE: usize = 256;

/// The same trials without some parts, by subject.
pub(crate) fn trials_without(
    trials: &Subset<'_>,
    gone: &dyn Fn(SubjectId) -> Vec<RemovedPart>,
    fill: Fill,
) -> Result<Trials> {
    let layout = trials.layout();
    let mut x: Vec<f32> = trials.signals().flatten().copied().collect();
    let one = layout.channels.len() * layout.samples;
    for (signal, trial) in x.chunks_exact_mut(one).zip(trials.info()) {
        take_away(signal, layout.samples, &gone(trial.subject), fill);
    }
    Ok(trials.with_samples(x).map_err(Error::from)?)
}

/// Class probabilities `[n, K]` of trials without some parts, by subject.
pub(crate) fn probabilities_without(
    fitted: &dyn FittedDecoder,
    trials: &Subset<'_>,
    gone: &dyn Fn(SubjectId) -> Vec<RemovedPart>,
    fill: Fill,
) -> Result<Vec<f64>> {
    let places: Vec<usize> = (0..trials.len()).collect();
    let mut all = Vec::with_capacity(trials.len() * trials.layout().classes.len());
    for group in places.chunks(AT_ONCE) {
        let changed = trials_without(&trials.at(group), gone, fill)?;
        all.extend(fitted.probabilities(&changed.all())?.iter().map(|p| f64::from(*p)));
    }
    Ok(all)
}

/// The probability of each trial's own class without some parts.
pub(crate) fn own_probabilities(
    fitted: &dyn FittedDecoder,
    trials: &Subset<'_>,
    gone: &dyn Fn(SubjectId) -> Vec<RemovedPart>,
    fill: Fill,
) -> Result<Vec<f64>> {
    let all = probabilities_without(fitted, trials, gone, fill)?;
    let classes = trials.layout().classes.len();
    Ok(all.chunks(classes).zip(trials.labels()).map(|(p, label)| p[label as usize]).collect())
}

fn take_away(signal: &mut [f32], samples: usize, parts: &[RemovedPart], fill: Fill) {
    let with: Vec<f32> = signal
        .chunks_exact(samples)
        .map(|row| match fill {
            Fill::Zero => 0.0,
            Fill::Mean => (row.iter().map(|v| f64::from(*v)).sum::<f64>() / samples as f64) as f32,
        })
        .collect();
    for part in parts {
        match *part {
            RemovedPart::Channel(c) => signal[c * samples..][..samples].fill(with[c]),
            RemovedPart::Sample(t) => {
                signal.chunks_exact_mut(samples).zip(&with).for_each(|(row, with)| row[t] = *with);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_replaced() {
        let whole = [1.0, 2.0, 3.0, 5.0, 5.0, 8.0];
        let left = |parts: &[RemovedPart], fill| {
            let mut signal = whole;
            take_away(&mut signal, 3, parts, fill);
            signal
        };
        assert_eq!(left(&[], Fill::Zero), whole);
        assert_eq!(left(&[RemovedPart::Channel(1)], Fill::Zero), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]);
        assert_eq!(left(&[RemovedPart::Channel(1)], Fill::Mean), [1.0, 2.0, 3.0, 6.0, 6.0, 6.0]);
        // The mean is that of the whole trial, whatever else is gone.
        let both = [RemovedPart::Channel(0), RemovedPart::Sample(2)];
        assert_eq!(left(&both, Fill::Mean), [2.0, 2.0, 2.0, 5.0, 5.0, 6.0]);
    }
}

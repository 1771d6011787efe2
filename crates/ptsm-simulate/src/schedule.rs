//! When each trial of a run is, and which class it has. Drawn apart from all signals.

use std::ops::Range;

use rand::RngExt;
use rand::seq::SliceRandom;

use crate::cohort::{Cohort, SimulatedTask};
use crate::random::{Purpose, Streams};

/// Seconds before the first cue, and after the last trial.
const LEAD_S: f64 = 3.0;
/// One stimulus of so many is a target.
const BLOCK: usize = 6;

/// One trial's beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cue {
    /// Its sample.
    pub(crate) sample: usize,
    /// Its class: 0 or 1.
    pub(crate) class: usize,
}

/// A run's trials.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CueSchedule {
    /// Samples of the run.
    pub(crate) length: usize,
    /// In time order.
    pub(crate) cues: Vec<Cue>,
}

/// From one cue to the next: a fixed time and one that is drawn, in seconds.
fn pace(task: SimulatedTask, trial_s: f64) -> (f64, Range<f64>) {
    match task {
        SimulatedTask::Imagery => (trial_s, 1.5..2.5),
        SimulatedTask::Erp => (0.0, 0.2..0.3),
        SimulatedTask::Attention => (trial_s, 0.8..1.2),
    }
}

/// Samples that no run of a cohort exceeds.
pub(crate) fn longest_samples(cohort: &Cohort) -> f64 {
    let (after_s, gap_s) = pace(cohort.task, cohort.window_s()[1]);
    ((2.0 * LEAD_S + f64::from(cohort.trials) * (after_s + gap_s.end)) * cohort.rate_hz).ceil()
}

impl CueSchedule {
    /// The trials of one run.
    pub(crate) fn new(cohort: &Cohort, streams: &Streams) -> CueSchedule {
        let random = &mut streams.stream(Purpose::Schedule, 0);
        let n = cohort.trials as usize;
        let classes = match cohort.task {
            SimulatedTask::Imagery | SimulatedTask::Attention => {
                let first = random.random_range(0..2);
                let mut classes: Vec<usize> = (0..n).map(|i| (first + i) % 2).collect();
                classes.shuffle(random);
                classes
            }
            // A target in each block of six, so targets never come in crowds; what is left over has none.
            SimulatedTask::Erp => {
                let mut classes = vec![0; n];
                for block in classes.chunks_exact_mut(BLOCK) {
                    block[random.random_range(0..BLOCK)] = 1;
                }
                classes
            }
        };
        let [_, trial_s] = cohort.window_s();
        let mut at_s = LEAD_S;
        let cues = classes
            .into_iter()
            .map(|class| {
                let sample = (at_s * cohort.rate_hz).round() as usize;
                let (after_s, gap_s) = pace(cohort.task, trial_s);
                at_s += after_s + random.random_range(gap_s);
                Cue { sample, class }
            })
            .collect();
        CueSchedule { length: ((at_s + LEAD_S) * cohort.rate_hz).ceil() as usize, cues }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(cohort: &Cohort, subject: u32, run: u32) -> Vec<usize> {
        let streams = Streams { seed: cohort.seed, subject, session: 1, run };
        CueSchedule::new(cohort, &streams).cues.iter().map(|c| c.class).collect()
    }

    #[test]
    fn classes_are_balanced_and_shuffled() {
        let cohort = Cohort::default();
        let (one, two) = (classes(&cohort, 1, 1), classes(&cohort, 1, 2));
        assert_eq!(one.iter().sum::<usize>(), 10);
        assert_ne!(one, two);
        assert_ne!(one, classes(&cohort, 2, 1));
        let targets = classes(&Cohort::of(SimulatedTask::Erp), 1, 1);
        assert!(targets.chunks(BLOCK).all(|block| block.iter().sum::<usize>() == 1));
    }

    #[test]
    fn trials_do_not_overlap_except_in_fast_trains() {
        for task in [SimulatedTask::Imagery, SimulatedTask::Attention, SimulatedTask::Erp] {
            let cohort = Cohort::of(task);
            let [_, trial_s] = cohort.window_s();
            let schedule = CueSchedule::new(&cohort, &Streams { seed: 0, subject: 1, session: 1, run: 1 });
            let gaps = schedule.cues.windows(2).map(|w| (w[1].sample - w[0].sample) as f64 / cohort.rate_hz);
            for gap in gaps {
                assert_eq!(gap >= trial_s, task != SimulatedTask::Erp, "{task:?} {gap}");
            }
            assert!(schedule.length as f64 <= longest_samples(&cohort));
            let last = schedule.cues.last().map_or(0, |c| c.sample) as f64;
            assert!(schedule.length as f64 > last + (trial_s + 1.0) * cohort.rate_hz);
        }
    }
}

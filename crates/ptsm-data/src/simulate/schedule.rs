//! When each trial of a run is, and which class it has. Drawn apart from all signals.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::cohort::{Cohort, Task};
use super::random::{Purpose, Streams};

/// Seconds before the first cue, and after the last trial.
const LEAD_S: f64 = 3.0;
/// One stimulus of so many is a target.
const BLOCK: usize = 6;

/// One trial's beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cue {
    /// Its sample.
    pub(super) sample: usize,
    /// Its class: 0 or 1.
    pub(super) class: usize,
}

/// A run's trials.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    /// Samples of the run.
    pub(super) length: usize,
    /// In time order.
    pub(super) cues: Vec<Cue>,
}

impl Schedule {
    /// The trials of one run.
    pub(super) fn new(cohort: &Cohort, streams: &Streams) -> Schedule {
        let random = &mut streams.stream(Purpose::Schedule, 0);
        let n = cohort.trials as usize;
        let classes = match cohort.task {
            Task::Imagery | Task::Attention => {
                let first = random.random_range(0..2);
                let mut classes: Vec<usize> = (0..n).map(|i| (first + i) % 2).collect();
                classes.shuffle(random);
                classes
            }
            // A target in each block of six, so targets never come in crowds; what is left over has none.
            Task::Erp => {
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
                at_s += match cohort.task {
                    Task::Imagery => trial_s + random.random_range(1.5..2.5),
                    Task::Erp => random.random_range(0.2..0.3),
                    Task::Attention => trial_s + random.random_range(0.8..1.2),
                };
                Cue { sample, class }
            })
            .collect();
        Schedule { length: ((at_s + LEAD_S) * cohort.rate_hz).ceil() as usize, cues }
    }
}

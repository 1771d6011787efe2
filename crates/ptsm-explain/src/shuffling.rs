//! Shuffled labels: trials in which there is nothing to learn.

use ptsm_signal::Subset;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The labels of all subjects in another order, shuffled within each subject: subjects keep their share of each class, and nothing else is left.
pub fn shuffled_labels(trials: &Subset<'_>, seed: u64) -> Vec<u32> {
    let mut labels = trials.labels();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for subject in trials.subjects() {
        let places: Vec<usize> =
            trials.info().enumerate().filter(|(_, t)| t.subject == subject).map(|(i, _)| i).collect();
        let mut own: Vec<u32> = places.iter().map(|&i| labels[i]).collect();
        own.shuffle(&mut random);
        places.iter().zip(own).for_each(|(&i, label)| labels[i] = label);
    }
    labels
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, Layout, SubjectId, Trial, Trials};

    use super::*;

    #[test]
    fn everybody_keeps_their_own_labels_in_another_order() {
        let channel = Channel { name: "Cz".into(), unit: Default::default(), position: None };
        let layout = Layout {
            channels: vec![channel],
            samples: 1,
            rate_hz: 1.0,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        // The first subject has four of the first class in twenty, the second sixteen.
        let trial = |i: u32| Trial {
            label: u32::from(!i.is_multiple_of(5)) ^ (i / 20),
            subject: SubjectId(1 + i / 20),
            session: 1,
            run: 1,
            cue_s: f64::from(i),
        };
        let trials = Trials::new(layout, vec![0.0; 40], (0..40).map(trial).collect()).unwrap();
        let labels = shuffled_labels(&trials.all(), 1);
        let ones = |labels: &[u32]| labels.iter().sum::<u32>();
        assert_eq!((ones(&labels[..20]), ones(&labels[20..])), (16, 4));
        assert_ne!(labels, trials.all().labels());
        assert_eq!(labels, shuffled_labels(&trials.all(), 1));
        assert_ne!(labels, shuffled_labels(&trials.all(), 2));
    }
}

//! Changes to training trials that leave their meaning alone (or change it in a known way).
//!
//! An augmentation is one file and one line in [`AUGMENTATIONS`]. Every deep decoder can use every one; settings give each a strength,
//! and 0 switches it off, as it is unless a decoder's own defaults say otherwise. They act on copies of training trials, after the split, and never at test
//! time; the mirrored second view of a test trial is made by the decoder itself.

mod amplitude;
mod channel_dropout;
mod mirror;
mod noise;
mod time_mask;
mod time_shift;

use std::collections::BTreeMap;

use ptsm_signal::Layout;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::mirror::Mirror;
use crate::random::{Purpose, stream};
use crate::settings::nearest;

/// One way to change a trial.
pub struct Augmentation {
    /// What a user types.
    pub name: &'static str,
    /// What it does and what its strength means.
    pub about: &'static str,
    /// The largest strength that makes sense.
    pub most: f64,
    apply: fn(&mut Trial<'_>, strength: f64, rng: &mut ChaCha8Rng),
}

/// Every augmentation, in the order they are applied.
pub const AUGMENTATIONS: &[Augmentation] = &[
    mirror::AUGMENTATION,
    time_shift::AUGMENTATION,
    amplitude::AUGMENTATION,
    channel_dropout::AUGMENTATION,
    time_mask::AUGMENTATION,
    noise::AUGMENTATION,
];

/// A trial on its way into a batch.
struct Trial<'a> {
    /// `[C, T]`
    x: &'a mut [f32],
    label: &'a mut u32,
    samples: usize,
    rate_hz: f64,
    mirror: Option<&'a Mirror>,
    /// As long as the trial, contents undefined.
    spare: &'a mut Vec<f32>,
}

/// Strengths by name; what is not named is off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Augment(BTreeMap<String, f64>);

impl Augment {
    /// One augmentation.
    pub fn only(name: &str, strength: f64) -> Augment {
        Augment(BTreeMap::from([(name.to_string(), strength)]))
    }

    /// All names with strength 0 where nothing else is said: what a configuration file may set.
    pub(crate) fn spelled_out(&self) -> Augment {
        Augment(AUGMENTATIONS.iter().map(|a| (a.name.to_string(), self.strength(a.name))).collect())
    }

    /// The strength of one augmentation.
    pub fn strength(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(0.0)
    }

    /// Refuses unknown names and impossible strengths.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, &strength) in &self.0 {
            let Some(known) = AUGMENTATIONS.iter().find(|a| a.name == name) else {
                let names = || AUGMENTATIONS.iter().map(|a| a.name);
                return Err(Error::Key {
                    key: format!("augment.{name}"),
                    nearest: nearest(name, names()),
                    known: names().map(str::to_string).collect(),
                });
            };
            if !(0.0..=known.most).contains(&strength) {
                let most = known.most;
                return Err(Error::Configuration(format!(
                    "`augment.{name}` must be in 0..={most}, got {strength}"
                )));
            }
        }
        Ok(())
    }

    /// Whether anything is on.
    pub(crate) fn is_on(&self) -> bool {
        self.0.values().any(|&s| s > 0.0)
    }
}

/// Augmentations made ready for trials of one layout.
pub(crate) struct Augmenter {
    chosen: Vec<(&'static Augmentation, f64)>,
    mirror: Option<Mirror>,
    samples: usize,
    rate_hz: f64,
}

impl Augmenter {
    pub(crate) fn new(augment: &Augment, layout: &Layout) -> Result<Augmenter> {
        augment.check()?;
        let chosen: Vec<_> =
            AUGMENTATIONS.iter().map(|a| (a, augment.strength(a.name))).filter(|(_, s)| *s > 0.0).collect();
        let mirror = (augment.strength("mirror") > 0.0).then(|| Mirror::new(layout)).transpose()?;
        Ok(Augmenter { chosen, mirror, samples: layout.samples, rate_hz: layout.rate_hz })
    }

    /// The mirror, where nothing else is on: a trial is then either itself or its image.
    pub(crate) fn only_mirror(&self) -> Option<&Mirror> {
        if self.chosen.len() == 1 { self.mirror.as_ref() } else { None }
    }

    /// What a mirrored trial's classes become: class `k` becomes `classes[k]`. None where no trial is mirrored.
    pub(crate) fn mirrored_classes(&self) -> Option<&[u32]> {
        self.mirror.as_ref().map(|mirror| &mirror.classes[..])
    }

    /// Whether a trial at this place of the run is mirrored.
    pub(crate) fn mirrors(&self, seed: u64, epoch: usize, place: usize) -> bool {
        let first = self.chosen.first().filter(|(a, _)| a.name == mirror::AUGMENTATION.name);
        first.is_some_and(|(_, share)| {
            mirror::chosen(*share, &mut stream(seed, Purpose::Augmentation, epoch, place))
        })
    }

    /// Changes one trial as its place in the run decides.
    pub(crate) fn apply(
        &self,
        x: &mut [f32],
        label: &mut u32,
        seed: u64,
        epoch: usize,
        place: usize,
        spare: &mut Vec<f32>,
    ) {
        let mut rng = stream(seed, Purpose::Augmentation, epoch, place);
        let mut trial = Trial {
            x,
            label,
            samples: self.samples,
            rate_hz: self.rate_hz,
            mirror: self.mirror.as_ref(),
            spare,
        };
        for (augmentation, strength) in &self.chosen {
            (augmentation.apply)(&mut trial, *strength, &mut rng);
        }
    }
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, Paradigm, Symmetry, TaskDeclaration};

    use super::*;

    fn layout() -> Layout {
        Layout {
            channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(),
            samples: 50,
            rate_hz: 100.0,
            start_s: 0.0,
            classes: vec!["left_hand".into(), "right_hand".into()],
            task: TaskDeclaration::of(Paradigm::MotorImagery).swapping("left_hand", "right_hand"),
        }
    }

    fn changed(name: &str, strength: f64, place: usize) -> (Vec<f32>, u32) {
        let augmenter = Augmenter::new(&Augment::only(name, strength), &layout()).unwrap();
        let mut x: Vec<f32> = (0..150).map(|i| 1.0 + i as f32).collect();
        let mut label = 0;
        augmenter.apply(&mut x, &mut label, 7, 3, place, &mut vec![]);
        (x, label)
    }

    #[test]
    fn every_augmentation_changes_trials_and_repeats_itself() {
        let original: Vec<f32> = (0..150).map(|i| 1.0 + i as f32).collect();
        for a in AUGMENTATIONS {
            let strength = a.most.min(0.4);
            let some = (0..20).filter(|&p| changed(a.name, strength, p).0 != original).count();
            assert!(some > 3, "{} changed {some} of 20", a.name);
            for p in 0..20 {
                assert_eq!(changed(a.name, strength, p), changed(a.name, strength, p), "{}", a.name);
                assert!(changed(a.name, strength, p).0.iter().all(|v| v.is_finite()));
            }
            let off = Augmenter::new(&Augment::only(a.name, 0.0), &layout()).unwrap();
            assert!(off.chosen.is_empty());
        }
    }

    #[test]
    fn what_each_one_does() {
        let original: Vec<f32> = (0..150).map(|i| 1.0 + i as f32).collect();
        let (mirrored, label) = changed("mirror", 1.0, 0);
        assert_eq!((&mirrored[..50], &mirrored[50..100]), (&original[100..], &original[50..100]));
        assert_eq!(label, 1);
        for p in 0..20 {
            let (scaled, _) = changed("amplitude", 0.3, p);
            let factor = scaled[0];
            assert!((0.7..=1.3).contains(&factor));
            assert!(scaled.iter().zip(&original).all(|(s, o)| (s / o - factor).abs() < 1e-5));
            let (dropped, _) = changed("channel_dropout", 0.4, p);
            for (d, o) in dropped.chunks(50).zip(original.chunks(50)) {
                assert!(d == o || d.iter().all(|v| *v == 0.0));
            }
            let (masked, _) = changed("time_mask", 0.2, p);
            for t in 0..50 {
                let gone = [0, 50, 100].map(|c| masked[c + t] == 0.0);
                assert!(gone == [true; 3] || gone == [false; 3]);
            }
            assert!(masked[..50].iter().filter(|v| **v == 0.0).count() <= 20);
            let (shifted, _) = changed("time_shift", 0.1, p);
            assert!(shifted.chunks(50).enumerate().all(|(c, row)| {
                row.iter().all(|v| (1.0 + 50.0 * c as f32..=50.0 + 50.0 * c as f32).contains(v))
            }));
            let (noisy, _) = changed("noise", 0.1, p);
            let off = noisy.iter().zip(&original).map(|(a, b)| (a - b).powi(2)).sum::<f32>() / 150.0;
            let deviation = 43.3f32; // of 1..=150
            assert!((0.5..2.0).contains(&(off.sqrt() / (0.1 * deviation))), "{}", off.sqrt());
        }
    }

    /// Names of classes say nothing: `left` and `right` may be frequencies of flicker.
    #[test]
    fn the_mirror_is_meant_where_it_is_declared() {
        let of = |classes: [&str; 2], symmetry: Symmetry| {
            let task = TaskDeclaration { symmetry, ..TaskDeclaration::default() };
            let layout = Layout { classes: classes.map(String::from).to_vec(), task, ..layout() };
            (Mirror::is_meant(&layout), Mirror::new(&layout).map(|mirror| mirror.classes))
        };
        let swapping = |one: &str, other: &str| Symmetry::swapping([(one, other)]).unwrap();
        let (meant, classes) = of(["0", "1"], swapping("0", "1"));
        assert!(meant && classes.unwrap() == [1, 0]);
        // Possible when it is asked for, and on for nobody who does not ask.
        let (meant, classes) = of(["target", "nontarget"], Symmetry::Invariant);
        assert!(!meant && classes.unwrap() == [0, 1]);
        let (meant, refused) = of(["left_hand", "right_hand"], Symmetry::Undeclared);
        assert!(!meant && refused.unwrap_err().hint().unwrap().contains("--symmetry"));
        let (meant, refused) = of(["left", "rest"], swapping("left", "right"));
        assert!(!meant && refused.is_err());
        let numbered = ["ch1", "ch2"].map(Channel::named).to_vec();
        assert!(!Mirror::is_meant(&Layout { channels: numbered, ..layout() }));
    }

    #[test]
    fn unknown_names_and_strengths_are_refused() {
        let error = Augment::only("miror", 0.5).check().unwrap_err();
        assert_eq!(error.hint().unwrap(), "did you mean `mirror`?");
        assert!(Augment::only("noise", f64::NAN).check().is_err());
        assert!(Augment::only("mirror", 1.5).check().is_err());
        let lone = Layout { channels: vec![Channel::named("C3")], ..layout() };
        assert!(Augmenter::new(&Augment::only("mirror", 0.5), &lone).is_err());
        let undeclared = Layout { task: TaskDeclaration::default(), ..layout() };
        assert!(Augmenter::new(&Augment::only("mirror", 0.5), &undeclared).is_err());
    }
}

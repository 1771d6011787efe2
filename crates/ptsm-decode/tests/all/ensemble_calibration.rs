//! The temperature of ensembles: what it is good for, where it stands, and where there is none.

use std::collections::HashMap;
use std::sync::Arc;

use ptsm_decode::ensemble::{Ensemble, FittedEnsemble};
use ptsm_decode::file;
use ptsm_decode::registry::find;
use ptsm_decode::{
    Decoder, Fit, FitSink, FittedDecoder, Job, LogitCalibration, NoWatch, Result, Run, TrainingData, Watch,
    softmax,
};
use ptsm_engine::Cpu;
use ptsm_signal::{Channel, Layout, SubjectId, Subset, Trial, Trials};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use safetensors::SafeTensors;
use serde_json::json;

use super::fitting::*;

/// About a normal number.
fn noise(rng: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// A decoder whose evidence for class 1 is the trial's own, in its sample, with noise that the seed decides; as sure as it should be.
#[derive(Clone)]
struct Noisy {
    layout: Layout,
    seed: u64,
    calibrated: bool,
}

impl Decoder for Noisy {
    fn fit(&self, jobs: &[Job<'_>], _: &Run<'_>, _: &mut dyn Watch, done: &mut FitSink<'_>) -> Result<()> {
        jobs.iter().enumerate().try_for_each(|(i, job)| {
            let fitted = Arc::new(Noisy { seed: job.seed, ..self.clone() });
            done(i, Fit { fitted, seed: job.seed, history: vec![], best_epoch: None, members: vec![] })
        })
    }
}

impl FittedDecoder for Noisy {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        let one = |(&row, signal): (&usize, &[f32])| {
            let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ (row as u64).wrapping_mul(0x9e37_79b9));
            // Of two classes at -1 and 1 with a variance of 1 + 4, the log odds of evidence e are 2 e / 5.
            let evidence = f64::from(signal[0]) + 2.0 * noise(&mut rng);
            softmax(&[0.0, 2.0 * evidence / 5.0]).into_iter().map(|p| p as f32).collect::<Vec<f32>>()
        };
        Ok(trials.rows().iter().zip(trials.signals()).flat_map(one).collect())
    }

    fn calibration(&self) -> Option<LogitCalibration> {
        self.calibrated.then(|| LogitCalibration { temperature: 1.0, offsets: vec![0.0; 2] })
    }

    fn parameters(&self) -> usize {
        0
    }

    fn to_bytes(&self, _: HashMap<String, String>) -> Result<Vec<u8>> {
        Ok(vec![])
    }
}

/// Trials of one sample, -1 or 1 with noise of variance 1.
fn evidence() -> Trials {
    let layout = Layout {
        channels: vec![Channel::named("Cz")],
        samples: 1,
        rate_hz: 1.0,
        start_s: 0.0,
        classes: vec!["a".into(), "b".into()],
        task: Default::default(),
    };
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let trial =
        |i: u32| Trial { label: i % 2, subject: SubjectId(i / 800), session: 1, run: 1, cue_s: f64::from(i) };
    let x = (0..16_000).map(|i| (f64::from(2 * (i % 2) - 1) + noise(&mut rng)) as f32).collect();
    Trials::new(layout, x, (0..16_000).map(trial).collect()).unwrap()
}

/// Mean cross-entropy of probabilities of two classes.
fn loss(p: &[f32], labels: &[u32]) -> f64 {
    let own = p.chunks(2).zip(labels).map(|(p, &label)| -f64::from(p[label as usize]).ln());
    own.sum::<f64>() / labels.len() as f64
}

#[test]
fn members_that_disagree_are_together_as_sure_as_they_should_be() {
    let trials = evidence();
    let data = TrainingData::new(trials.of(&set(0..5)), trials.of(&set(5..10))).unwrap();
    let unseen = trials.of(&set(10..20));
    let cpu = Cpu::new().unwrap();
    let run = Run { device: &(&cpu).into(), identity: "evidence" };
    let fitted = |calibrated: bool, data: &TrainingData<'_>| {
        let member = Noisy { layout: trials.layout().clone(), seed: 0, calibrated };
        let decoder: Box<dyn Decoder> = Box::new(Ensemble::new(Box::new(member), 10).unwrap());
        decoder.fit_seeds(data, &[1], &run, &mut NoWatch).unwrap().remove(0).fitted
    };
    let (plain, calibrated) = (fitted(false, &data), fitted(true, &data));
    let p = |fitted: &dyn FittedDecoder| fitted.probabilities(&unseen).unwrap();
    assert_eq!(plain.calibration(), None);
    let own = calibrated.calibration().unwrap();
    // The mean of ten has a variance of 1 + 4 / 10 and deserves log odds of 2 e / 1.4: a temperature of 1.4 / 5.
    assert!((own.temperature / 0.28 - 1.0).abs() < 0.1, "{own:?}");
    assert_eq!(own.offsets, [0.0; 2]);
    let (before, after) = (loss(&p(&*plain), &unseen.labels()), loss(&p(&*calibrated), &unseen.labels()));
    assert!(after < before - 0.03, "{before} {after}");
    // No decision moves.
    let decisions = |p: Vec<f32>| p.chunks(2).map(|p| p[1] > p[0]).collect::<Vec<_>>();
    assert_eq!(decisions(p(&*plain)), decisions(p(&*calibrated)));
    // Nothing to fit it on, nothing fitted.
    let data = TrainingData::new(trials.of(&set(0..5)), trials.of(&set([]))).unwrap();
    assert_eq!(fitted(true, &data).calibration(), None);
}

/// The temperature of networks is fitted on validation subjects alone, and switched off with that of the members.
#[test]
fn networks_are_calibrated_together_where_each_is() {
    let trials = cohort(10, 24, 0.5, 6);
    let method = find("shallowconvnet").unwrap();
    let of = |calibrate: bool| {
        let mut changes = changes(method, 6);
        changes["ensemble"] = json!(4);
        changes["training"]["calibrate"] = json!(calibrate);
        fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap().remove(0).fitted
    };
    assert_eq!(of(false).calibration(), None);
    let ensemble = of(true);
    let own = ensemble.calibration().unwrap();
    // By hand, from members of a file of which the ensemble's tensor is left out.
    let members = without_temperature(&*ensemble, method.name, &trials);
    assert_eq!(members.calibration(), None);
    let validation = trials.of(&set([8, 9]));
    let log = |p: Vec<f32>| p.into_iter().map(|p| f64::from(p).ln()).collect::<Vec<f64>>();
    let mean = log(members.probabilities(&validation).unwrap());
    let expected = LogitCalibration::fit_temperature(&mean, &validation.labels(), 2);
    assert!((own.temperature / expected.temperature - 1.0).abs() < 1e-3, "{own:?} {expected:?}");
    assert!((own.temperature - 1.0).abs() > 1e-3, "{own:?}");
    let balanced =
        |fitted: &dyn FittedDecoder| loss(&fitted.probabilities(&validation).unwrap(), &validation.labels());
    assert!(balanced(&*ensemble) < balanced(&*members));
}

/// The same decoder as a file of an earlier program has it: with the tensors of its members alone.
fn without_temperature(ensemble: &dyn FittedDecoder, name: &str, trials: &Trials) -> Box<dyn FittedDecoder> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("earlier.safetensors");
    let mut card = card(find(name).unwrap(), trials, 6);
    card.settings["ensemble"] = json!(4);
    file::save(&path, ensemble, &card).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let whole = SafeTensors::deserialize(&bytes).unwrap();
    let kept: Vec<_> = whole.tensors().into_iter().filter(|(name, _)| name.starts_with("members.")).collect();
    assert_eq!(kept.len() + 1, whole.len());
    std::fs::write(&path, safetensors::serialize(kept, metadata.metadata().clone()).unwrap()).unwrap();
    file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap().0
}

#[test]
fn files_keep_the_temperature_and_those_without_load() {
    let trials = cohort(10, 8, 0.4, 2);
    let method = find("eegnet").unwrap();
    let mut changes = changes(method, 2);
    changes["ensemble"] = json!(4);
    let fit = fit_with(&changes, method, &trials, set(1..=7), &[3], None, &mut NoWatch).unwrap().remove(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ensemble.safetensors");
    let mut card = card(method, &trials, 2);
    card.settings["ensemble"] = json!(4);
    file::save(&path, &*fit.fitted, &card).unwrap();
    let (again, _) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
    assert!(fit.fitted.calibration().is_some());
    assert_eq!(again.calibration(), fit.fitted.calibration());
    let p = |fitted: &dyn FittedDecoder| fitted.probabilities(&trials.all()).unwrap();
    assert_eq!(p(&*again), p(&*fit.fitted));
    let earlier = without_temperature(&*fit.fitted, "eegnet", &trials);
    assert_ne!(p(&*earlier), p(&*fit.fitted));
    // What is made of it has the same temperature.
    let randomised = again.with_random_parameters(1).unwrap().unwrap();
    assert_eq!(randomised.calibration(), again.calibration());
    // An ensemble that is put together by hand has none until it is asked for.
    let by_hand = FittedEnsemble::new(vec![again.into()]).unwrap();
    assert_eq!(by_hand.calibration(), None);
    let by_hand = by_hand.calibrated(&trials.of(&set([8, 9]))).unwrap();
    assert!(by_hand.calibration().is_some());
}

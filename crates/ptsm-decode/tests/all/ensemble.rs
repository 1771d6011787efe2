//! Ensembles: what their members say together, their files, and that they go on where they were stopped.

use std::path::Path;
use std::sync::Arc;

use ptsm_decode::ensemble::{self, Ensemble, FittedEnsemble, member_seed};
use ptsm_decode::file;
use ptsm_decode::registry::{METHODS, Method, find};
use ptsm_decode::{
    Adaptation, AdaptationGuard, AdaptationWay, AdaptedDecoder, DecoderOutput, Error, Fit, FittedDecoder,
    NoWatch, OutputClass, Progress, Watch,
};
use ptsm_engine::Cpu;
use ptsm_signal::Trials;
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::fitting::*;

/// The small form of a method with so many members.
fn changes_of(method: &Method, epochs: usize, members: usize) -> Value {
    let mut changes = changes(method, epochs);
    changes["ensemble"] = json!(members);
    changes
}

fn fit_ensemble(method: &Method, trials: &Trials, seeds: &[u64], members: usize) -> Vec<Fit> {
    let changes = changes_of(method, 2, members);
    fit_with(&changes, method, trials, set(1..=7), seeds, None, &mut NoWatch).unwrap()
}

/// The softmax of the mean of log-probabilities at the temperature of a decoder, by hand.
fn by_hand(members: &[Vec<f32>], classes: usize, ensemble: &dyn FittedDecoder) -> Vec<f64> {
    let n = members[0].len();
    let power = 1.0 / (members.len() as f64 * ensemble.calibration().map_or(1.0, |own| own.temperature));
    let geometric = |i: usize| members.iter().map(|p| f64::from(p[i]).powf(power)).product::<f64>();
    let all: Vec<f64> = (0..n).map(geometric).collect();
    all.chunks(classes)
        .flat_map(|p| p.iter().map(|v| v / p.iter().sum::<f64>()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn members_of_every_random_decoder_decode_together() {
    let trials = cohort(10, 8, 0.4, 2);
    for method in METHODS.iter().filter(|method| method.random) {
        let seeds: Vec<u64> =
            [7, 8].into_iter().flat_map(|s| (0..3).map(move |i| member_seed(s, i))).collect();
        let single = fit(method, &trials, set(1..=7), &seeds, 2);
        for (fit, own) in fit_ensemble(method, &trials, &[7, 8], 3).iter().zip(single.chunks(3)) {
            let members: Vec<Vec<f32>> =
                own.iter().map(|f| decoded(method, &*f.fitted, &trials.all())).collect();
            let together = decoded(method, &*fit.fitted, &trials.all());
            for (together, expected) in together.iter().zip(by_hand(&members, 2, &*fit.fitted)) {
                assert!((f64::from(*together) - expected).abs() < 1e-6, "{}", method.name);
            }
            // Calibrated where its members are.
            let calibrated = own.iter().all(|f| f.fitted.calibration().is_some());
            assert_eq!(fit.fitted.calibration().is_some(), calibrated, "{}", method.name);
            // What is told of the fit is told of each member.
            let said: Vec<_> = fit.members.iter().map(|m| (m.seed, m.best_epoch)).collect();
            assert_eq!(said, own.iter().map(|f| (f.seed, f.best_epoch)).collect::<Vec<_>>());
            assert_eq!(fit.history, own.iter().flat_map(|f| f.history.clone()).collect::<Vec<_>>());
            assert_eq!((fit.seed, fit.best_epoch), (own[0].seed, None));
            assert_eq!(fit.fitted.parameters(), own.iter().map(|f| f.fitted.parameters()).sum::<usize>());
            let decoder =
                method.build(method.settings(trials.layout(), &changes_of(method, 2, 3)).unwrap()).unwrap();
            let each = method.build(method.settings(trials.layout(), &changes(method, 2)).unwrap()).unwrap();
            let count = |decoder: &dyn ptsm_decode::Decoder| decoder.parameters(trials.layout()).unwrap();
            assert_eq!(count(&*decoder), count(&*each).map(|n| 3 * n));
            assert_eq!(decoder.learns_from_target(), each.learns_from_target());
        }
    }
}

/// One member is the plain decoder, and its settings and file are those of the plain decoder.
#[test]
fn one_member_is_no_ensemble() {
    let trials = cohort(10, 8, 0.4, 2);
    let method = find("eegnet").unwrap();
    let settings = |changes: &Value| method.settings(trials.layout(), changes).unwrap();
    assert_eq!(settings(&changes_of(method, 2, 1)), settings(&changes(method, 2)));
    let alone = fit(method, &trials, set(1..=7), &[5], 2);
    let one = fit_ensemble(method, &trials, &[5], 1);
    assert!(one[0].members.is_empty());
    assert_eq!(bytes(&*one[0].fitted), bytes(&*alone[0].fitted));
    // The wrapper of one decoder says the same but for rounding.
    let wrapped =
        FittedEnsemble::new(vec![fit(method, &trials, set(1..=7), &[5], 2).remove(0).fitted]).unwrap();
    let p = (
        wrapped.probabilities(&trials.all()).unwrap(),
        alone[0].fitted.probabilities(&trials.all()).unwrap(),
    );
    assert!(p.0.iter().zip(&p.1).all(|(a, b)| (a - b).abs() < 1e-6));
}

fn bytes(fitted: &dyn FittedDecoder) -> Vec<u8> {
    fitted.to_bytes(Default::default()).unwrap()
}

#[test]
fn the_order_of_members_does_not_matter() {
    let trials = cohort(10, 8, 0.4, 2);
    let method = find("shallowconvnet").unwrap();
    let of = |seeds: [u64; 3]| {
        let fits = fit(method, &trials, set(1..=7), &seeds, 2);
        let members = fits.into_iter().map(|fit| fit.fitted).collect();
        FittedEnsemble::new(members).unwrap().probabilities(&trials.all()).unwrap()
    };
    let (one, other) = (of([1, 2, 3]), of([3, 1, 2]));
    assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-6));
}

/// Seeds of ensembles, and of their members: the first is the ensemble's own, and nobody is a member of two.
#[test]
fn ensembles_of_different_seeds_share_no_member() {
    let mut all: Vec<u64> = (0..100).flat_map(|seed| (0..100).map(move |i| member_seed(seed, i))).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 100 * 100);
    assert_eq!([member_seed(3, 0), member_seed(3, 1), member_seed(3, 2)], [3, 4294967299, 8589934595]);
}

#[test]
fn what_cannot_be_an_ensemble_is_refused() {
    let trials = cohort(1, 2, 0.4, 2);
    for method in METHODS {
        let of = |members: Value| method.settings(trials.layout(), &json!({ "ensemble": members }));
        for wrong in [json!(0), json!(-1), json!(2.5), json!("three"), json!(1001), Value::Null] {
            let error = of(wrong).unwrap_err().to_string();
            assert!(error.contains("`ensemble`") && error.contains("from 1"), "{error}");
        }
        assert_eq!(of(json!(1)).unwrap(), method.defaults(trials.layout()).unwrap());
        match of(json!(4)) {
            Ok(settings) => assert!(method.random && ensemble::size(&settings).unwrap() == 4),
            Err(error) => {
                assert!(
                    !method.random && matches!(&error, Error::NothingRandom { members: 4, .. }),
                    "{error}"
                );
                assert!(
                    error.to_string().contains(method.name) && error.hint().unwrap().contains("--ensemble")
                );
                let mut settings = method.defaults(trials.layout()).unwrap();
                settings["ensemble"] = json!(4);
                assert!(matches!(method.build(settings), Err(Error::NothingRandom { .. })));
            }
        }
    }
    let member = find("eegnet").unwrap();
    let member = member.build(member.defaults(trials.layout()).unwrap()).unwrap();
    assert!(Ensemble::new(member, 0).is_err() && FittedEnsemble::new(vec![]).is_err());
}

#[test]
fn one_file_holds_all_members() {
    let trials = cohort(10, 8, 0.4, 2);
    let folder = tempfile::tempdir().unwrap();
    let (path, again_path) =
        (folder.path().join("ensemble.safetensors"), folder.path().join("again.safetensors"));
    let cpu = Cpu::new().unwrap();
    for method in METHODS.iter().filter(|method| method.random) {
        let fit = fit_ensemble(method, &trials, &[3], 3).remove(0);
        let mut card = card(method, &trials, 2);
        card.settings["ensemble"] = json!(3);
        card.provenance.members = fit.members.clone();
        file::save(&path, &*fit.fitted, &card).unwrap();
        let (again, read) = file::load(&path, &(&cpu).into()).unwrap();
        assert_eq!(read, card);
        let of = |fitted: &dyn FittedDecoder| decoded(method, fitted, &trials.all());
        assert_eq!(of(&*again), of(&*fit.fitted), "{}", method.name);
        file::save(&again_path, &*again, &read).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&again_path).unwrap());
    }
}

#[test]
fn damaged_files_are_refused() {
    let trials = cohort(10, 8, 0.4, 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ensemble.safetensors");
    let method = find("eegnet").unwrap();
    let fit = fit_ensemble(method, &trials, &[3], 2).remove(0);
    let saved = |members: usize| {
        let mut card = card(method, &trials, 2);
        card.settings["ensemble"] = json!(members);
        file::save(&path, &*fit.fitted, &card).unwrap();
        std::fs::read(&path).unwrap()
    };
    let refused = || {
        let error = file::load(&path, &(&Cpu::new().unwrap()).into()).err().unwrap().to_string();
        assert!(error.contains("ensemble.safetensors"), "{error}");
        error
    };
    // As many members as the header says, no more and no fewer.
    saved(3);
    assert!(refused().contains("member 3 of 3: lacks the tensor"), "{}", refused());
    let error = {
        saved(1);
        refused()
    };
    assert!(error.contains("members.") && error.contains("does not have"), "{error}");
    let whole = saved(2);
    let text = String::from_utf8_lossy(&whole).into_owned();
    assert!(text.contains(r#""format\":3"#), "programs that know single decoders alone would misread it");
    for length in [0, 5, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        refused();
    }
    // One number that is none, in the last member.
    let mut damaged = whole.clone();
    let last = damaged.len() - 4;
    damaged[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, &damaged).unwrap();
    assert!(refused().contains("not a finite number"), "{}", refused());
    // A name of no member, of the same length.
    let renamed = |from: &[u8], to: &[u8]| {
        let at = whole.windows(from.len()).position(|w| w == from).unwrap();
        let mut bytes = whole.clone();
        bytes[at..at + to.len()].copy_from_slice(to);
        std::fs::write(&path, &bytes).unwrap();
        refused()
    };
    assert!(renamed(b"members.1.", b"members.7.").contains("belongs to none of its 2 members"));
    assert!(renamed(b"members.1.", b"members.x.").contains("belongs to none of its 2 members"));
    assert!(renamed(b"members.1.", b"nembers.1.").contains("belongs to none of its 2 members"));
    assert!(
        renamed(b"\"calibration.log_temperature", b"\"calibration.lag_temperature")
            .contains("`calibration.lag")
    );
}

/// Stops after so many steps.
struct After(usize);

impl Watch for After {
    fn progress(&mut self, progress: &Progress<'_>) {
        assert_eq!(progress.jobs.1, 6, "progress is that of all members");
        self.0 -= 1;
    }

    fn stop(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_stopped_ensemble_continues_from_the_checkpoints_of_its_members() {
    let trials = cohort(10, 8, 0.4, 2);
    for name in ["eegnet", "tsmnet"] {
        let method = find(name).unwrap();
        let changes = changes_of(method, 3, 3);
        let fitted = |checkpoint: Option<&Path>, watch: &mut dyn Watch| {
            fit_with(&changes, method, &trials, set(1..=7), &[1, 2], checkpoint, watch)
        };
        let through = fitted(None, &mut NoWatch).unwrap();
        let steps = through[0].history.len() / 3;
        assert_eq!(steps, 3);
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = folder.path().join("checkpoint.safetensors");
        let mut stops = 0;
        let again = loop {
            // At an odd place each time.
            match fitted(Some(&checkpoint), &mut After(5 + stops)) {
                Ok(fits) => break fits,
                Err(Error::Stopped) => stops += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(stops < 100);
        };
        assert!(stops > 0);
        for (a, b) in through.iter().zip(&again) {
            assert_eq!((&a.history, &a.members), (&b.history, &b.members));
            assert!(bytes(&*a.fitted) == bytes(&*b.fitted), "{name}");
        }
        let settings = method.settings(trials.layout(), &changes).unwrap();
        let files: Vec<_> = [1, 2]
            .into_iter()
            .flat_map(|seed: u64| {
                ensemble::checkpoints(&checkpoint.with_extension(seed.to_string()), &settings)
            })
            .collect();
        assert_eq!(files.len(), 6);
        assert!(files.iter().all(|file| file.exists()), "{files:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6);
    }
}

/// As for networks alone, against differences of what the ensemble says.
#[test]
fn sensitivity_is_the_gradient() {
    let trials = cohort(10, 12, 0.7, 15);
    let places: Vec<usize> = trials.of(&set([10])).rows()[..4].to_vec();
    let unseen = trials.all().at(&places);
    let x: Vec<f32> = unseen.signals().flatten().copied().collect();
    let here = unseen.with_samples(x.clone()).unwrap();
    for (name, mirror) in [("eegnet", 0.0), ("shallowconvnet", 0.5)] {
        let method = find(name).unwrap();
        let mut changes = changes_of(method, 6, 3);
        changes["augment"] = json!({ "mirror": mirror });
        let fit =
            fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap().remove(0);
        let of = |trials: &Trials, answer| fit.fitted.sensitivity(&trials.all(), answer).unwrap().unwrap();
        let p = fit.fitted.probabilities(&unseen).unwrap();
        let size = |v: &[f32]| v.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let one = x.len() / 4;
        for answer in [
            DecoderOutput::LogProbability(OutputClass::Own),
            DecoderOutput::LogProbability(OutputClass::Number(0)),
            DecoderOutput::Logit(OutputClass::Own),
            DecoderOutput::Logit(OutputClass::Number(1)),
        ] {
            let sensitivity = of(&here, answer);
            if let DecoderOutput::LogProbability(class) = answer {
                for ((p, label), said) in p.chunks(2).zip(unseen.labels()).zip(&sensitivity.answers) {
                    let class = if class == OutputClass::Own { label as usize } else { 0 };
                    assert!((p[class].ln() - said).abs() < 1e-4, "{name}");
                }
            }
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let others = (0..3).map(|_| (0..x.len()).map(|_| rng.random_range(-1.0..1.0)).collect());
            for direction in std::iter::once(sensitivity.gradient.clone()).chain(others) {
                let length: Vec<f64> = direction.chunks(one).map(size).collect();
                let step = 3e-3;
                let moved = |sign: f64| {
                    let at = |i: usize| (sign * step / length[i / one] * f64::from(direction[i])) as f32;
                    let x = x.iter().enumerate().map(|(i, x)| x + at(i)).collect();
                    of(&unseen.with_samples(x).unwrap(), answer).answers
                };
                for (i, (up, down)) in moved(1.0).iter().zip(moved(-1.0)).enumerate() {
                    let measured = f64::from(up - down) / (2.0 * step);
                    let (g, d) = (&sensitivity.gradient[i * one..][..one], &direction[i * one..][..one]);
                    let product: f64 = g.iter().zip(d).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
                    let error = (measured - product / length[i]).abs();
                    assert!(error < 0.01 * size(g) + 4e-5, "{name} {answer:?}, trial {i}: {error}");
                }
            }
        }
        // Probabilities follow from the logits.
        let logits = [0, 1].map(|k| of(&here, DecoderOutput::Logit(OutputClass::Number(k))).answers);
        for (i, p) in p.chunks(2).enumerate() {
            assert!((p[1] - 1.0 / (1.0 + (logits[0][i] - logits[1][i]).exp())).abs() < 1e-5);
        }
        for wrong in [DecoderOutput::Logit, DecoderOutput::LogProbability] {
            let error = fit.fitted.sensitivity(&unseen, wrong(OutputClass::Number(2))).unwrap_err();
            assert!(error.to_string().contains("there is no class 2"), "{error}");
        }
    }
    // TSMNet does not say, and neither do several.
    let tsmnet = fit_ensemble(find("tsmnet-spdmbn").unwrap(), &trials, &[1], 2).remove(0).fitted;
    let of = |output| tsmnet.sensitivity(&unseen, output).unwrap();
    assert!(of(DecoderOutput::Logit(OutputClass::Own)).is_none());
    assert!(of(DecoderOutput::LogProbability(OutputClass::Own)).is_none());
    assert!(tsmnet.with_random_parameters(1).unwrap().is_none());
}

#[test]
fn everything_else_is_done_to_each_member_or_refused() {
    let trials = cohort(10, 12, 0.4, 16);
    let own = trials.of(&set([10]));
    let method = find("ptsm").unwrap();
    let fitted = fit_ensemble(method, &trials, &[1], 2).remove(0).fitted;
    let randomised =
        |seed| fitted.with_random_parameters(seed).unwrap().unwrap().probabilities(&own).unwrap();
    assert_eq!(randomised(1), randomised(1));
    assert!(randomised(1) != randomised(2) && randomised(1) != fitted.probabilities(&own).unwrap());
    assert!(fitted.intermediate_values(&own, &["features"]).unwrap().is_none());
    let error = fitted.convert(&own, &own).unwrap_err().to_string();
    assert!(error.contains("ensemble") && error.contains("--ensemble"), "{error}");

    let (calibration, later) = ptsm_decode::calibration_split(&own, 2).unwrap();
    let single: Vec<Arc<dyn FittedDecoder>> = fit(method, &trials, set(1..=7), &[1, member_seed(1, 1)], 2)
        .into_iter()
        .map(|fit| fit.fitted)
        .collect();
    let mut kept = vec![];
    // So little that every answer stays as it was is no gain.
    for (steps, rate, guard) in [(5, 0.05, false), (40, 0.05, true), (1, 1e-6, true)] {
        let how = Adaptation { how: AdaptationWay::Masks, steps, rate, guard, prior: 0.0 };
        let of = |fitted: &dyn FittedDecoder, how: &Adaptation| fitted.adapt(&calibration, how).unwrap();
        let together = of(&*fitted, &how);
        let said = |adapted: &AdaptedDecoder| adapted.fitted.probabilities(&later).unwrap();
        assert_eq!((together.trials, together.guard.is_some()), (calibration.len(), guard));
        if let Some(guard) = together.guard {
            let mean = |of: fn(&AdaptationGuard) -> f64| -> f64 {
                let guards = single.iter().filter_map(|one| one.adapt(&calibration, &how).unwrap().guard);
                guards.map(|guard| of(&guard)).sum::<f64>() / 2.0
            };
            assert!((guard.before_accuracy - mean(|guard| guard.before_accuracy)).abs() < 1e-12);
            assert!((guard.tuned_loss - mean(|guard| guard.tuned_loss)).abs() < 1e-12);
            assert_eq!(guard.kept, guard.tuned_accuracy > guard.before_accuracy);
            kept.push(guard.kept);
        }
        // All members are tuned, or none is.
        if together.guard.is_none_or(|guard| guard.kept) {
            let how = Adaptation { guard: false, ..how };
            let members: Vec<Vec<f32>> = single.iter().map(|one| said(&of(&**one, &how))).collect();
            for (together, expected) in said(&together).iter().zip(by_hand(&members, 2, &*fitted)) {
                assert!((f64::from(*together) - expected).abs() < 1e-6);
            }
            assert_eq!(together.fitted.calibration(), fitted.calibration());
            assert_ne!(said(&together), fitted.probabilities(&later).unwrap());
        } else {
            assert_eq!(said(&together), fitted.probabilities(&later).unwrap());
        }
    }
    assert_eq!(kept, [true, false]);
    // Heads, of each member by its own prior.
    let how = Adaptation::default();
    let said = |fitted: &dyn FittedDecoder| {
        fitted.adapt(&calibration, &how).unwrap().fitted.probabilities(&later).unwrap()
    };
    let members: Vec<Vec<f32>> = single.iter().map(|one| said(&**one)).collect();
    for (together, expected) in said(&*fitted).iter().zip(by_hand(&members, 2, &*fitted)) {
        assert!((f64::from(*together) - expected).abs() < 1e-6);
    }
    // A decoder with nothing to adapt says so.
    let eegnet = fit_ensemble(find("eegnet").unwrap(), &trials, &[1], 2).remove(0).fitted;
    let masks = Adaptation { how: AdaptationWay::Masks, ..Adaptation::default() };
    assert!(eegnet.adapt(&calibration, &masks).is_err());
}

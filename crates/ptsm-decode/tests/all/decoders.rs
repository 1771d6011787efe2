//! What every decoder in the registry must do.

use ptsm_decode::file::{self, ModelCard};
use ptsm_decode::registry::{METHODS, Method, find};
use ptsm_decode::{
    Adaptation, AdaptationWay, DecoderOutput, Error, FittedDecoder, NoWatch, OutputClass, calibration_split,
};
use ptsm_engine::Cpu;
use ptsm_signal::{Channel, Layout, SubjectId, TargetAccess, Trial, Trials};
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::fitting::*;
use super::trainer::{Impatient, tensors};

#[test]
fn every_case_is_of_a_method() {
    let cases: Value = serde_json::from_str(include_str!("../cases.json")).unwrap();
    cases.as_object().unwrap().keys().for_each(|name| assert!(find(name).is_ok(), "{name}"));
    METHODS.iter().for_each(|method| assert!(case(method)["small"].is_object()));
}

/// Every file says what its method is, from which paper, and how it differs.
#[test]
fn every_method_is_described() {
    for (i, method) in METHODS.iter().enumerate() {
        let Method { name, about, paper, differs, .. } = *method;
        assert!([name, about, paper, differs].iter().all(|text| !text.is_empty()), "{name}");
        assert!(METHODS[..i].iter().all(|other| other.name != name), "{name} is there twice");
    }
}

/// A separable problem is learnt, on unseen subjects; decoding is the same alone, together, and after a file.
#[test]
fn every_decoder_keeps_the_contract() {
    let trials = cohort(10, 24, 0.7, 1);
    let unseen = trials.of(&set([10]));
    let folder = tempfile::tempdir().unwrap();
    for method in METHODS {
        let fits = fit(method, &trials, set(1..=7), &[1, 2], 30);
        assert_eq!(fits.iter().map(|f| f.seed).collect::<Vec<_>>(), [1, 2]);
        for fit in &fits {
            let score = accuracy(method, fit, &unseen);
            assert!(score >= 0.95, "{} reaches {score}", method.name);
        }
        let decoder = method.build(method.settings(trials.layout(), &changes(method, 30)).unwrap()).unwrap();
        let stated = decoder.parameters(trials.layout()).unwrap();
        assert_eq!(stated.is_none(), !method.random);
        assert!(stated.is_none_or(|n| n == fits[0].fitted.parameters()), "{}: {stated:?}", method.name);
        let p = decoded(method, &*fits[0].fitted, &unseen);
        assert_eq!(p.len(), 2 * unseen.len());
        for p in p.chunks(2) {
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)) && (p[0] + p[1] - 1.0).abs() < 1e-5);
        }
        // Each trial by itself: others do not matter but by what was seen of them before.
        let adapted_copy = fits[0].fitted.with_target_access(&unseen, method.target_access).unwrap();
        assert_eq!(adapted_copy.is_some(), looks(method, &trials), "{}", method.name);
        let ready = adapted_copy.as_deref().unwrap_or(&*fits[0].fitted);
        for i in 0..unseen.len() {
            let alone = ready.probabilities(&unseen.at(&[i])).unwrap();
            assert_eq!(alone, p[2 * i..2 * i + 2], "{}", method.name);
        }
        // It can do what it declares, and refuses the rest.
        for how in [AdaptationWay::Head, AdaptationWay::Masks, AdaptationWay::All] {
            let adaptation = Adaptation { how, steps: 1, guard: false, ..Adaptation::default() };
            let adapted = fits[0].fitted.adapt(&calibration_split(&unseen, 2).unwrap().0, &adaptation);
            let error = adapted.as_ref().err().map(ToString::to_string);
            assert_eq!(adapted.is_ok(), method.adapts.contains(&how), "{} {how}: {error:?}", method.name);
        }
        let converted = fits[0].fitted.convert(&unseen.at(&[0]), &unseen);
        assert_eq!(converted.is_ok(), method.converts, "{}", method.name);
        let path = folder.path().join(format!("{}.safetensors", method.name));
        let card = card(method, &trials, 30);
        file::save(&path, &*fits[0].fitted, &card).unwrap();
        let (loaded, read) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
        assert_eq!(read, card);
        assert_eq!(decoded(method, &*loaded, &unseen), p);
        assert_eq!(loaded.parameters(), fits[0].fitted.parameters());
        let again = folder.path().join("again.safetensors");
        file::save(&again, &*loaded, &card).unwrap();
        let same = std::fs::read(&path).unwrap() == std::fs::read(&again).unwrap();
        assert!(same, "{} is written differently the second time", method.name);
        // What tells subjects apart is gone; a latent of whoever is shown stays where it converts.
        let head = if method.converts { "subject_head" } else { "subject" };
        assert!(tensors(&path).keys().all(|name| !name.contains(head) && !name.contains("domain")));

        let other = cohort(2, 4, 0.5, 1);
        let layout = Layout { samples: 64, ..other.layout().clone() };
        let short =
            Trials::new(layout, other.to_vec()[..8 * 7 * 64].to_vec(), other.info().to_vec()).unwrap();
        let refused = loaded.probabilities(&short.all()).unwrap_err().to_string();
        assert!(refused.contains("128") && refused.contains("64"), "{refused}");
        let layout = Layout { channels: other.layout().channels[1..].to_vec(), ..other.layout().clone() };
        let fewer =
            Trials::new(layout, other.to_vec()[..8 * 6 * 128].to_vec(), other.info().to_vec()).unwrap();
        let refused = loaded.probabilities(&fewer.all()).unwrap_err().to_string();
        assert!(refused.contains("7 channels") && refused.contains('6'), "{refused}");
    }
}

#[test]
fn classic_decoders_tell_four_classes_apart() {
    let trials = cohort_of(4, 10, 48, 0.8, 9);
    let unseen = trials.of(&set([10]));
    let folder = tempfile::tempdir().unwrap();
    for method in classic() {
        let fits = fit(method, &trials, set(1..=7), &[1], 0);
        let score = accuracy(method, &fits[0], &unseen);
        assert!(score >= 0.9, "{} reaches {score}", method.name);
        let p = fits[0].fitted.probabilities(&unseen).unwrap();
        assert!(p.chunks(4).all(|p| (p.iter().sum::<f32>() - 1.0).abs() < 1e-5));
        let path = folder.path().join(method.name);
        file::save(&path, &*fits[0].fitted, &card(method, &trials, 0)).unwrap();
        let (loaded, _) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
        assert_eq!(loaded.probabilities(&unseen).unwrap(), p, "{}", method.name);
    }
}

/// What a method declares to see is what decides: labels never do, and the others of a subject's trials only where it says so.
#[test]
fn a_method_sees_what_it_declares() {
    let trials = cohort(11, 12, 0.3, 16);
    let (two, unseen) = (trials.of(&set([10, 11])), trials.of(&set([10])));
    // Everybody's labels are the other class's.
    let swapped: Vec<u32> = trials.info().iter().map(|t| 1 - t.label).collect();
    let swapped = trials.relabelled(&swapped).unwrap();
    let noise = cohort(11, 12, 0.0, 17);
    for method in METHODS {
        let fits = fit(method, &trials, set(1..=7), &[1], 2);
        let fitted = &*fits[0].fitted;
        let p = decoded(method, fitted, &two);
        assert_eq!(decoded(method, fitted, &swapped.of(&set([10, 11]))), p, "{}", method.name);
        // One subject is not changed by another.
        assert_eq!(decoded(method, fitted, &unseen), p[..2 * unseen.len()], "{}", method.name);
        let all = unseen.unlabelled();
        let adapted_copy = fitted.adapt_unlabelled(&all).unwrap();
        match method.target_access {
            _ if !looks(method, &trials) => assert!(adapted_copy.is_none(), "{}", method.name),
            TargetAccess::Unlabelled { .. } => {
                // Of others of their trials it makes something else, and of trials it has not seen nothing.
                let adapted_copy = adapted_copy.unwrap();
                assert_eq!(adapted_copy.probabilities(&unseen).unwrap(), p[..2 * unseen.len()]);
                let other = fitted.adapt_unlabelled(&noise.of(&set([10])).unlabelled()).unwrap().unwrap();
                assert_ne!(other.probabilities(&unseen).unwrap(), p[..2 * unseen.len()], "{}", method.name);
                let half =
                    fitted.with_target_access(&unseen, TargetAccess::Unlabelled { fraction: 0.5 }).unwrap();
                let first = unseen.in_time().at(&(0..6).collect::<Vec<_>>()).unlabelled();
                let first = fitted.adapt_unlabelled(&first).unwrap().unwrap();
                let of = |fitted: &dyn FittedDecoder| fitted.probabilities(&unseen).unwrap();
                assert_eq!(of(&*half.unwrap()), of(&*first));
                let unknown = adapted_copy.probabilities(&trials.of(&set([11]))).unwrap_err();
                assert!(unknown.to_string().contains("S11"), "{unknown}");
                assert!(fitted.probabilities(&unseen).is_err() && unknown.hint().is_some());
                assert!(fitted.with_target_access(&unseen, TargetAccess::Nothing).unwrap().is_none());
                let one = fitted.adapt_unlabelled(&unseen.at(&[0]).unlabelled()).err().unwrap();
                assert!(one.to_string().contains("too few"), "{one}");
            }
            other => panic!("{} declares {other}, which nobody hands out", method.name),
        }
    }
}

/// A gradient says how much an answer changes with a small step in any direction; here its own and others.
#[test]
fn gradients_are_what_small_steps_say() {
    let trials = cohort(10, 12, 0.5, 16);
    let places = [0, 1, 2, 3];
    let unseen = trials.of(&set([10])).at(&places);
    let mut differentiable = vec![];
    for method in METHODS {
        let fits = fit(method, &trials, set(1..=7), &[1], 6);
        let adapted_copy = fits[0].fitted.with_target_access(&unseen, method.target_access).unwrap();
        let fitted = adapted_copy.as_deref().unwrap_or(&*fits[0].fitted);
        let of = |trials: &Trials, answer| fitted.sensitivity(&trials.all(), answer).unwrap();
        let x: Vec<f32> = unseen.signals().flatten().copied().collect();
        let here = unseen.with_samples(x.clone()).unwrap();
        for answer in
            [DecoderOutput::LogProbability(OutputClass::Own), DecoderOutput::Logit(OutputClass::Number(1))]
        {
            let Some(sensitivity) = of(&here, answer) else { continue };
            if let DecoderOutput::LogProbability(_) = answer {
                differentiable.push(method.name);
                let p = fitted.probabilities(&unseen).unwrap();
                for ((p, label), said) in p.chunks(2).zip(unseen.labels()).zip(&sensitivity.answers) {
                    assert!((p[label as usize].ln() - said).abs() < 1e-4, "{}", method.name);
                }
            }
            let size = |v: &[f32]| v.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let others = (0..3).map(|_| (0..x.len()).map(|_| rng.random_range(-1.0..1.0)).collect());
            for (way, direction) in std::iter::once(sensitivity.gradient.clone()).chain(others).enumerate() {
                let one = x.len() / places.len();
                let length: Vec<f64> = direction.chunks(one).map(size).collect();
                let step = 3e-3;
                let moved = |sign: f64| {
                    let at = |i: usize| (sign * step / length[i / one] * f64::from(direction[i])) as f32;
                    let x = x.iter().enumerate().map(|(i, x)| x + at(i)).collect();
                    of(&unseen.with_samples(x).unwrap(), answer).unwrap().answers
                };
                for (i, (up, down)) in moved(1.0).iter().zip(moved(-1.0)).enumerate() {
                    let measured = f64::from(up - down) / (2.0 * step);
                    let (g, d) = (&sensitivity.gradient[i * one..][..one], &direction[i * one..][..one]);
                    let product: f64 = g.iter().zip(d).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
                    // The second part is what f32 loses in so small a step.
                    let error = (measured - product / length[i]).abs();
                    let most = 0.01 * size(g) + 2e-5;
                    assert!(error < most, "{} {answer:?}, way {way}, trial {i}: {error}", method.name);
                }
            }
        }
        let wrong = fitted.sensitivity(&unseen, DecoderOutput::Logit(OutputClass::Number(2)));
        assert!(wrong.is_err() || !differentiable.contains(&method.name));
    }
    let networks: Vec<&str> = METHODS.iter().filter(|m| m.differentiable).map(|m| m.name).collect();
    assert_eq!(differentiable, networks);
}

/// What was learnt is gone, what was measured stays; where nothing begins at random nothing can be drawn anew.
#[test]
fn parameters_are_randomised() {
    let trials = cohort(10, 12, 0.7, 16);
    let unseen = trials.of(&set([10]));
    for method in METHODS {
        let fits = fit(method, &trials, set(1..=7), &[1], 3);
        let randomised = |seed| {
            fits[0].fitted.with_random_parameters(seed).unwrap().map(|f| f.probabilities(&unseen).unwrap())
        };
        assert_eq!(randomised(1).is_some(), method.differentiable, "{}", method.name);
        assert_eq!(randomised(1), randomised(1));
        assert!(randomised(1).is_none_or(|p| Some(p) != randomised(2)));
        assert_ne!(randomised(1), Some(decoded(method, &*fits[0].fitted, &unseen)));
    }
}

/// One trial has no variance: a session of one is refused before anything is learnt, wherever it is.
#[test]
fn a_session_of_one_trial_is_refused_where_sessions_are_measured() {
    let trials = cohort(10, 12, 0.3, 18);
    let first_of = |subject: u32| {
        let mut info = trials.info().to_vec();
        for (i, trial) in info.iter_mut().filter(|trial| trial.subject.0 == subject).enumerate() {
            trial.session = if i == 0 { 7 } else { 1 };
        }
        let samples = trials.all().signals().flatten().copied().collect();
        Trials::new(trials.layout().clone(), samples, info).unwrap()
    };
    // A training, a validation and a test subject.
    for subject in [3, 8, 10] {
        let odd = first_of(subject);
        for name in ["tsmnet", "tsmnet-spdmbn"] {
            let method = find(name).unwrap();
            let fits = fit_with(&changes(method, 1), method, &odd, set(1..=7), &[1], None, &mut NoWatch);
            let decoder = method.build(method.defaults(odd.layout()).unwrap()).unwrap();
            let check = decoder.check_subjects(&odd.of(&set([10])), method.target_access);
            let refused = |error: Error| {
                assert!(error.to_string().contains(&format!("S{subject:02} in session 7")), "{error}");
                assert!(error.hint().is_some());
            };
            match (name, subject) {
                ("tsmnet", 10) => {
                    check.map(|()| panic!("S10 cannot be met")).unwrap_or_else(refused);
                    let adapted_copy =
                        fits.unwrap()[0].fitted.with_target_access(&odd.of(&set([10])), method.target_access);
                    adapted_copy.map(|_| panic!("S10 was met")).unwrap_or_else(refused);
                }
                ("tsmnet", _) => fits.map(|_| panic!("{subject} was taken")).unwrap_or_else(refused),
                _ => assert!(fits.is_ok() && check.is_ok()),
            }
        }
    }
}

/// An oddball: one class in six trials.
#[test]
fn rare_classes_are_decoded_too() {
    let trials = cohort(10, 60, 0.7, 10);
    let rare = trials.all().only(|t| t.label == 0 || (t.cue_s as u32) % 5 == 1);
    let uneven = Trials::new(
        trials.layout().clone(),
        rare.signals().flatten().copied().collect(),
        rare.info().copied().collect(),
    )
    .unwrap();
    let unseen = uneven.of(&set([10]));
    assert_eq!(unseen.class_counts(), [30, 6]);
    for method in classic() {
        let fits = fit(method, &uneven, set(1..=7), &[1], 0);
        for class in 0..2 {
            let score = accuracy(method, &fits[0], &unseen.only(|t| t.label == class));
            assert!(score >= 0.8, "{} reaches {score} of class {class}", method.name);
        }
    }
}

#[test]
fn decoders_have_the_numbers_they_state() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let layout = Layout {
        channels: (0..62).map(|c| Channel::named(&format!("X{c}"))).collect(),
        samples: 250,
        rate_hz: 250.0,
        start_s: 0.0,
        classes: vec!["a".into(), "b".into()],
        task: Default::default(),
    };
    let x = (0..24 * 62 * 250).map(|_| rng.random_range(-1.0..1.0f32)).collect();
    let trial = |i: u32| Trial { label: i % 2, subject: SubjectId(1), session: 1, run: 1, cue_s: 0.0 };
    let trials = Trials::new(layout, x, (0..24).map(trial).collect()).unwrap();
    let count = |method: &Method| {
        // So few trials of so many channels can be told apart without noise, which takes all steps there are.
        let quick = case(method)["quick"].take();
        let quick = if quick.is_null() { json!({}) } else { quick };
        let decoder = method.build(method.settings(trials.layout(), &quick).unwrap()).unwrap();
        decoder.parameters(trials.layout()).unwrap().unwrap_or_else(|| {
            let fits = fit_with(&quick, method, &trials, set([1]), &[1], None, &mut NoWatch).unwrap();
            fits[0].fitted.parameters()
        })
    };
    let counts: Vec<(&str, usize)> = METHODS.iter().map(|method| (method.name, count(method))).collect();
    let wrong = METHODS.iter().zip(&counts).filter(|(method, (_, n))| case(method)["parameters"] != *n);
    assert_eq!(wrong.count(), 0, "{counts:?}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let trials = cohort(8, 6, 0.5, 12);
    let refused = |name: &str, changes: Value| {
        let fit = fit_with(&changes, find(name).unwrap(), &trials, set(1..=7), &[1], None, &mut NoWatch);
        let error = fit.err().unwrap_or_else(|| panic!("{name} {changes} is taken"));
        format!("{error}; {}", error.hint().unwrap_or_default())
    };
    for (name, changes, said) in [
        ("cslp-ae", json!({ "augment": { "mirror": 0.5 } }), "augment.mirror"),
        ("cslp-ae", json!({ "network": { "levels": 7 } }), "at least 129 samples, got 128"),
        ("cslp-ae", json!({ "network": { "pair_trials": 0 } }), "pair_trials"),
        ("cslp-ae", json!({ "network": { "readout": "nearest" } }), "nearest"),
        ("cslp-ae", json!({ "training": { "warm_up": 1 } }), "warm_up"),
        ("csp-lda", json!({ "filters": 8 }), "between 1 and 7"),
        ("csp-lda", json!({ "shrinkage": { "fixed": 1.5 } }), "1.5"),
        ("fbcsp-lda", json!({ "bands_hz": [] }), "bands_hz"),
        ("fbcsp-lda", json!({ "bands_hz": [[8.0, 40.0]] }), "40 Hz"),
        ("fbcsp-lda", json!({ "features": 0 }), "features"),
        ("mdm", json!({ "band_hz": [8.0, 400.0] }), "400 Hz"),
        ("mdm", json!({ "covariance": "none" }), "covariance"),
        ("ts-lr", json!({ "inverse_penalty": -1.0 }), "-1"),
        ("ts-lr", json!({ "tolerance": 0.0 }), "tolerance"),
        ("ts-lr", json!({ "inverse_penalti": 1.0 }), "inverse_penalty"),
        ("xdawn-ts", json!({ "filters": 0 }), "between 1 and 7"),
        ("xdawn-ts", json!({ "covariance": "scm" }), "shrinkage estimator"),
        ("slda-erp", json!({ "bin_s": 0.001 }), "0.001 s"),
        ("slda-erp", json!({ "from_s": 1.5, "to_s": 2.5 }), "2.5 s"),
        ("slda-erp", json!({ "shrinkage": "none" }), "use shrinkage"),
        ("sblest", json!({ "delays_samples": [] }), "delays_samples"),
        ("sblest", json!({ "delays_samples": [3], "taps": 1 }), "taps"),
        ("sblest", json!({ "delays_samples": [128] }), "128"),
        ("sblest", json!({ "delays_samples": [0, 1], "folds": 1 }), "folds"),
        ("sblest", json!({ "steps": 0 }), "steps"),
        ("tsmnet", json!({ "network": { "subspace": 41 } }), "between 1 and 40"),
        ("tsmnet", json!({ "network": { "kernel": 256 } }), "128 samples"),
        (
            "tsmnet",
            json!({ "network": { "filters": 512, "outputs": 512, "subspace": 512 } }),
            "numbers at once",
        ),
        ("tsmnet", json!({ "network": { "least_eigenvalue": 0.0 } }), "least_eigenvalue"),
        ("tsmnet", json!({ "training": { "batch_trials": 1 } }), "batch_trials"),
        ("tsmnet", json!({ "training": { "momentum": { "constant": 1.5 } } }), "1.5"),
        ("tsmnet-spdmbn", json!({ "training": { "rat": 1.0 } }), "training.rate"),
    ] {
        let message = refused(name, changes.clone());
        assert!(message.contains(said), "{name} {changes}: {message}");
    }
}

#[test]
fn numbers_of_another_decoder_are_refused() {
    let trials = cohort(8, 6, 0.5, 13);
    let folder = tempfile::tempdir().unwrap();
    let device = (&Cpu::new().unwrap()).into();
    for method in classic() {
        let fits = fit(method, &trials, set(1..=7), &[1], 0);
        for other in METHODS.iter().filter(|other| other.name != method.name) {
            let path = folder.path().join("other");
            file::save(&path, &*fits[0].fitted, &card(other, &trials, 0)).unwrap();
            // Filters that are a part of the other's numbers are all it can have.
            let loaded = file::load(&path, &device);
            assert!(loaded.is_err(), "{} is read as {}", method.name, other.name);
        }
        // The same decoder for trials of another shape.
        let path = folder.path().join("shape");
        let mut card = card(method, &trials, 0);
        card.layout.channels.pop();
        file::save(&path, &*fits[0].fitted, &card).unwrap();
        let error = file::load(&path, &device).err().unwrap().to_string();
        assert!(error.contains("tensor"), "{}: {error}", method.name);
    }
}

#[test]
fn a_delay_is_chosen_by_leaving_subjects_out() {
    let trials = cohort(10, 24, 0.5, 14);
    let method = find("sblest").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let changes = json!({ "delays_samples": [0, 2, 5], "folds": 3 });
    let fits = fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap();
    assert!(accuracy(method, &fits[0], &trials.of(&set([10]))) >= 0.95);
    let settings = method.settings(trials.layout(), &changes).unwrap();
    file::save(&path, &*fits[0].fitted, &ModelCard { settings, ..card(method, &trials, 0) }).unwrap();
    let (loaded, _) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
    let of = |fitted: &dyn FittedDecoder| fitted.probabilities(&trials.all()).unwrap();
    assert_eq!(of(&*loaded), of(&*fits[0].fitted));
}

#[test]
fn classic_decoders_stop_when_requested() {
    let trials = cohort(8, 6, 0.5, 15);
    for method in classic() {
        let mut watch = Impatient::after(0);
        let fit = fit_with(&json!({}), method, &trials, set(1..=7), &[1], None, &mut watch);
        assert!(matches!(fit, Err(Error::Stopped)), "{}", method.name);
    }
}

//! What every decoder in the registry must do, and what the trainer promises.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use ptsm_decode::file::{self, ModelCard, Provenance};
use ptsm_decode::registry::{METHODS, Method, find};
use ptsm_decode::{
    Adaptation, DecoderOutput, EpochRecord, Error, Fit, FittedDecoder, Job, NoWatch, OutputClass, Progress,
    Run, TrainingData, Watch, calibration_split,
};
use ptsm_engine::Cpu;
use ptsm_signal::{
    Channel, Layout, Paradigm, Pipeline, SubjectId, Subset, TargetAccess, TaskDeclaration, Trial, Trials,
};
use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// Subjects whose rhythm over one hand area is weaker than over the other, one way for each class; in the middle a wave after each cue
/// goes up for one class and down for the other.
fn cohort(subjects: u32, each: u32, effect: f32, seed: u64) -> Trials {
    cohort_of(2, subjects, each, effect, seed)
}

/// The same with any number of classes: of more than two each has an area and a time of its own.
fn cohort_of(classes: u32, subjects: u32, each: u32, effect: f32, seed: u64) -> Trials {
    let names = ["left_hand", "right_hand", "feet", "tongue"];
    let layout = Layout {
        // More than the six filters of CSP.
        channels: ["C3", "Cz", "C4", "P3", "P4", "O1", "O2"].map(Channel::named).to_vec(),
        samples: 128,
        rate_hz: 64.0,
        start_s: 0.0,
        classes: names[..classes as usize].iter().map(|name| name.to_string()).collect(),
        task: TaskDeclaration::of(Paradigm::MotorImagery).swapping("left_hand", "right_hand"),
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut x, mut info) = (vec![], vec![]);
    for i in 0..subjects * each {
        let label = i % classes;
        for channel in 0..7 {
            let amplitude = match (channel, label) {
                (0, 0) | (2, 1) | (3, 2) | (4, 3) => 1.0 + effect,
                (0, 1) | (2, 0) => 1.0 - effect,
                _ => 1.0,
            };
            let (up, middle) = [(1.0, 40.0), (-1.0, 40.0), (1.0, 70.0), (-1.0, 70.0)][label as usize];
            let wave = |t: f32| match channel {
                1 => 3.0 * effect * up * (-((t - middle) / 8.0).powi(2)).exp(),
                _ => 0.0,
            };
            let phase: f32 = rng.random_range(0.0..std::f32::consts::TAU);
            x.extend(
                (0..128)
                    .map(|t| t as f32)
                    .map(|t| amplitude * (1.1 * t + phase).sin() + wave(t) + rng.random_range(-0.8..0.8f32)),
            );
        }
        let subject = SubjectId(i / each + 1);
        info.push(Trial { label, subject, session: 1, run: 1, cue_s: f64::from(i) });
    }
    Trials::new(layout, x, info).unwrap()
}

fn set(ids: impl IntoIterator<Item = u32>) -> BTreeSet<SubjectId> {
    ids.into_iter().map(SubjectId).collect()
}

/// What the tests need to know of a method: its line in `cases.json`, where every method must have one.
///
/// - `small`: changes that make it small enough to learn in a second or so;
/// - `parameters`: the numbers it learns from 62 channels, 250 samples at 250 Hz and 2 classes;
/// - `quick`: changes that end a fit on noise early, where it would go on for long;
/// - `mirrors`: whether its trials may be mirrored; they may unless it says `false`.
fn case(method: &Method) -> Value {
    let cases: Value = serde_json::from_str(include_str!("../cases.json")).unwrap();
    let case =
        cases.get(method.name).unwrap_or_else(|| panic!("`{}` has no line in cases.json", method.name));
    case.clone()
}

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

/// Small enough to learn in a second or so.
fn changes(method: &Method, epochs: usize) -> Value {
    let mut changes = case(method)["small"].take();
    if settings(method)["training"].is_object() {
        let rate = changes["training"]["rate"].as_f64().unwrap_or(3e-3);
        changes["training"] = json!({ "epochs": epochs, "rate": rate });
    }
    changes
}

/// A method's defaults for the trials of these tests.
fn settings(method: &Method) -> Value {
    method.defaults(cohort(1, 2, 0.0, 1).layout()).unwrap()
}

fn fit(
    method: &Method,
    trials: &Trials,
    train: BTreeSet<SubjectId>,
    seeds: &[u64],
    epochs: usize,
) -> Vec<Fit> {
    fit_with(&changes(method, epochs), method, trials, train, seeds, None, &mut NoWatch).unwrap()
}

fn fit_with(
    changes: &Value,
    method: &Method,
    trials: &Trials,
    train: BTreeSet<SubjectId>,
    seeds: &[u64],
    checkpoint: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<Vec<Fit>, Error> {
    let cpu = Cpu::new().unwrap();
    let mut data = TrainingData::new(trials.of(&train), trials.of(&set([8, 9])))?;
    let settings = method.settings(trials.layout(), changes)?;
    let decoder = method.build(settings)?;
    if decoder.learns_from_target() {
        // The subjects who are decoded in these tests.
        data = data.with_target(trials.all().only(|t| t.subject.0 >= 10).unlabelled());
    }
    let run = Run { device: &(&cpu).into(), identity: "toy" };
    let path = |seed: &u64| checkpoint.map(|path| path.with_extension(seed.to_string()));
    let jobs = seeds.iter().map(|seed| Job { data: &data, seed: *seed, checkpoint: path(seed) });
    decoder.fit_all(&jobs.collect::<Vec<_>>(), &run, watch)
}

/// What a decoder makes of trials with the target access of its method.
fn decoded(method: &Method, fitted: &dyn FittedDecoder, trials: &Subset<'_>) -> Vec<f32> {
    let adapted_copy = fitted.with_target_access(trials, method.target_access).unwrap();
    adapted_copy.as_deref().unwrap_or(fitted).probabilities(trials).unwrap()
}

fn accuracy(method: &Method, fit: &Fit, trials: &Subset<'_>) -> f64 {
    let p = decoded(method, &*fit.fitted, trials);
    let classes = trials.layout().classes.len();
    let likeliest = |p: &[f32]| (0..classes).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
    let right = p.chunks(classes).zip(trials.labels()).filter(|(p, l)| likeliest(p) == *l as usize).count();
    right as f64 / trials.len() as f64
}

fn card(method: &Method, trials: &Trials, epochs: usize) -> ModelCard {
    ModelCard {
        decoder: method.name.into(),
        settings: method.settings(trials.layout(), &changes(method, epochs)).unwrap(),
        layout: trials.layout().clone(),
        pipeline: Pipeline::default(),
        target_access: method.target_access,
        provenance: Provenance::default(),
    }
}

/// Whether it adapts to unlabelled trials at test time, and not before.
fn looks(method: &Method, trials: &Trials) -> bool {
    let decoder = method.build(method.defaults(trials.layout()).unwrap()).unwrap();
    method.target_access != TargetAccess::Nothing && !decoder.learns_from_target()
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
        let adaptation = Adaptation { steps: 1, guard: false, ..Adaptation::default() };
        let adapted = fits[0].fitted.adapt(&calibration_split(&unseen, 2).unwrap().0, &adaptation);
        assert_eq!(adapted.is_ok(), method.adapts, "{}", method.name);
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

fn classic() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(|method| !method.random)
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

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let trials = cohort(10, 8, 0.4, 2);
    for method in METHODS {
        let of = |fit: &Fit| decoded(method, &*fit.fitted, &trials.all());
        let (first, again) =
            (fit(method, &trials, set(1..=7), &[5], 4), fit(method, &trials, set(1..=7), &[5], 4));
        assert_eq!(of(&first[0]), of(&again[0]), "{}", method.name);
        assert_eq!(first[0].history, again[0].history);
        // Seeds trained together are seeds trained alone.
        let both = fit(method, &trials, set(1..=7), &[4, 5], 4);
        assert_eq!(of(&first[0]), of(&both[1]), "{}", method.name);
        if !method.random {
            assert_eq!(of(&both[0]), of(&both[1]), "{}", method.name);
        } else {
            assert_ne!(of(&both[0]), of(&both[1]), "{}", method.name);
        }
    }
}

/// More jobs than slots, of different size: each is what it is alone.
#[test]
fn jobs_that_take_turns_do_not_touch_each_other() {
    let trials = cohort(10, 12, 0.4, 9);
    let cpu = Cpu::with(2, ptsm_engine::Isa::best()).unwrap();
    let (device, validation) = ((&cpu).into(), trials.of(&set([8, 9])));
    let others = cohort(1, 10, 0.4, 19);
    let run = Run { device: &device, identity: "toy" };
    for method in METHODS {
        let (name, mut changes) = (method.name, changes(method, 6));
        if settings(method)["training"].get("patience").is_some() {
            // They leave their slots at different times.
            changes["training"]["patience"] = json!(2);
            changes["training"]["select"] = json!("accuracy");
        }
        if settings(method)["augment"].is_object() && case(method)["mirrors"] != json!(false) {
            changes["augment"] = json!({ "mirror": 0.5 });
        }
        let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
        let subject_sets = [set(1..=7), set(1..=4), set(2..=7), set(1..=7), set(3..=7)];
        let data = subject_sets.map(|subjects| {
            let data = TrainingData::new(trials.of(&subjects), validation.clone()).unwrap();
            // Targets differ: the subjects that are not trained on, and one of another set.
            let target = trials.all().only(|t| !subjects.contains(&t.subject) && t.subject.0 < 8);
            data.with_target(if target.is_empty() { others.all().unlabelled() } else { target.unlabelled() })
        });
        let seeds = [1, 2, 3, 4, 1];
        let job = |(data, &seed)| Job { data, seed, checkpoint: None };
        let jobs: Vec<Job<'_>> = data.iter().zip(&seeds).map(job).collect();
        let mut ended = vec![];
        let mut fits: Vec<Option<Fit>> = jobs.iter().map(|_| None).collect();
        let mut done = |job: usize, fit: Fit| {
            ended.push(job);
            fits[job] = Some(fit);
            Ok(())
        };
        decoder.fit(&jobs, &run, &mut NoWatch, &mut done).unwrap();
        ended.sort_unstable();
        assert_eq!(ended, [0, 1, 2, 3, 4], "{name}");
        for (job, fit) in jobs.iter().zip(&fits) {
            let fit = fit.as_ref().unwrap();
            assert_eq!(fit.seed, job.seed);
            let alone = decoder.fit_seeds(job.data, &[job.seed], &run, &mut NoWatch).unwrap();
            let of = |fit: &Fit| decoded(method, &*fit.fitted, &trials.all());
            assert_eq!(of(fit), of(&alone[0]), "{name}");
            assert_eq!((&fit.history, fit.best_epoch), (&alone[0].history, alone[0].best_epoch));
        }
        // An error where results are taken ends the rest.
        let mut first = |_: usize, _: Fit| Err(Error::Stopped);
        assert!(matches!(decoder.fit(&jobs, &run, &mut NoWatch, &mut first), Err(Error::Stopped)));
    }
}

/// Labels without meaning must not be decodable in subjects who were not trained on: anything above the band is a leak.
#[test]
fn shuffled_labels_give_chance() {
    let trials = cohort(30, 20, 0.7, 3);
    let mut labels: Vec<u32> = trials.info().iter().map(|t| t.label).collect();
    labels.shuffle(&mut ChaCha8Rng::seed_from_u64(4));
    let shuffled = trials.relabelled(&labels).unwrap();
    let unseen = shuffled.of(&set(10..=30));
    for method in METHODS {
        let fits = fit(method, &shuffled, set(1..=7), &[1], 15);
        let score = accuracy(method, &fits[0], &unseen);
        // 420 trials: four standard errors.
        assert!((score - 0.5).abs() < 4.0 * 0.5 / 420f64.sqrt(), "{} reaches {score}", method.name);
    }
}

/// Fits a small form of it.
fn try_fit(method: &Method, data: &TrainingData<'_>, changes: &Value) -> Result<Fit, Error> {
    let layout = data.train().layout();
    let decoder = method.build(method.settings(layout, changes)?)?;
    let run = Run { device: &(&Cpu::new().unwrap()).into(), identity: "toy" };
    Ok(decoder.fit_seeds(data, &[3], &run, &mut NoWatch)?.remove(0))
}

/// What is not shown cannot be learnt: the labels of the test subjects change nothing, byte for byte.
#[test]
fn labels_of_test_subjects_are_never_trained_on() {
    let trials = cohort(11, 8, 0.4, 21);
    let unseen = set([10, 11]);
    // Somebody else's labels, in a set of their own too.
    let labels =
        trials.info().iter().map(|t| if unseen.contains(&t.subject) { 1 - t.label } else { t.label });
    let turned = trials.relabelled(&labels.collect::<Vec<_>>()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for method in METHODS.iter().filter(|m| m.target_access == TargetAccess::WHOLE) {
        let saved = |of: &Trials, name: &str| {
            let data = TrainingData::new(of.of(&set(1..=7)), of.of(&set([8, 9]))).unwrap();
            let data = data.with_target(of.of(&unseen).unlabelled());
            let fit = try_fit(method, &data, &changes(method, 2)).unwrap();
            let path = folder.path().join(name);
            file::save(&path, &*fit.fitted, &card(method, of, 2)).unwrap();
            std::fs::read(path).unwrap()
        };
        assert!(saved(&trials, "before") == saved(&turned, "after"), "{} reads labels", method.name);
    }
}

#[test]
fn those_who_learn_from_a_target_must_have_one_and_no_others_may() {
    let trials = cohort(10, 8, 0.4, 22);
    let without = || TrainingData::new(trials.of(&set(1..=7)), trials.of(&set([8, 9]))).unwrap();
    let target = trials.of(&set([10])).unlabelled();
    for method in METHODS.iter().filter(|method| method.random) {
        let of = |fit: &Fit| decoded(method, &*fit.fitted, &trials.all());
        let changes = changes(method, 1);
        let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
        let alone = try_fit(method, &without(), &changes);
        let with = try_fit(method, &without().with_target(target.clone()), &changes).unwrap();
        if decoder.learns_from_target() {
            let error = alone.err().unwrap();
            assert!(error.to_string().contains("got none"), "{}: {error}", method.name);
            assert!(error.hint().unwrap().contains("target"));
        } else {
            assert_eq!(of(&alone.unwrap()), of(&with), "{} looks at a target", method.name);
        }
    }
    // Scores stand beside what the name says was seen.
    let turned = json!({ "network": { "domains": "uda" } });
    let refused = try_fit(find("dann-subject").unwrap(), &without(), &turned).err().unwrap().to_string();
    assert!(refused.contains("target access is none"), "{refused}");
    let multi = json!({ "network": { "domains": "uda-multi" }, "training": { "epochs": 2 } });
    try_fit(find("dann").unwrap(), &without().with_target(target), &multi).unwrap();
}

/// Without a reversed gradient the domain head learns for itself: everything else is plain EEGNet, byte for byte.
#[test]
fn a_domain_head_without_reversal_changes_nothing() {
    let trials = cohort(10, 12, 0.4, 23);
    let folder = tempfile::tempdir().unwrap();
    let data = TrainingData::new(trials.of(&set(1..=7)), trials.of(&set([8, 9]))).unwrap();
    let saved = |name: &str, changes: Value| {
        let method = find(name).unwrap();
        let fit = try_fit(method, &data, &changes).unwrap();
        let path = folder.path().join(name);
        file::save(&path, &*fit.fitted, &card(method, &trials, 3)).unwrap();
        (tensors(&path), fit.history)
    };
    let training = json!({ "epochs": 6, "course": "constant", "clip": null, "select": "last" });
    let (plain, _) = saved("eegnet", json!({ "training": training }));
    let still = json!({ "reversal": { "fixed": 0.0 }, "weight": 1.0, "hidden": 16 });
    let (beside, history) = saved("dann-subject", json!({ "training": training, "network": still }));
    assert_eq!(plain, beside);
    let domain = |epoch: &EpochRecord| epoch.losses.iter().find(|(name, _)| name == "domain").unwrap().1;
    let (first, last) = (domain(&history[0]), domain(&history[5]));
    assert!(last < first, "it has not learnt: {first}, {last}");
    let (against, _) = saved("dann-subject", json!({ "training": training }));
    assert_ne!(plain, against);
    assert_eq!(plain.len(), against.len());
}

/// Two classes of points in the plane, and other subjects', moved.
#[test]
fn points_that_have_moved_are_distinguished_by_what_has_not() {
    let layout = Layout {
        channels: ["a", "b"].map(Channel::named).to_vec(),
        samples: 1,
        rate_hz: 1.0,
        start_s: 0.0,
        classes: vec!["left".into(), "right".into()],
        task: Default::default(),
    };
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let (mut x, mut info) = (vec![], vec![]);
    for i in 0..12 * 60 {
        let (label, subject) = (i % 2, SubjectId(i / 60 + 1));
        let side = if label == 0 { -1.0 } else { 1.0 };
        let mut around = |middle: f32| middle + (0..3).map(|_| rng.random_range(-0.5..0.5f32)).sum::<f32>();
        let moved = if subject.0 >= 10 { 2.0 } else { 0.0 };
        x.extend([around(side + moved), around(side)]);
        info.push(Trial { label, subject, session: 1, run: 1, cue_s: f64::from(i) });
    }
    let trials = Trials::new(layout, x, info).unwrap();
    let target = trials.of(&set([10, 11, 12]));
    let data = || TrainingData::new(trials.of(&set(1..=7)), trials.of(&set([8, 9]))).unwrap();
    // A network of points: windows of one sample.
    let points = json!({ "kernel": 1, "separable_kernel": 1, "pools": [1, 1], "dropout": 0.0 });
    let training = json!({ "epochs": 40, "patience": null, "select": "last", "weight_decay": 0.0, "keep_subjects": true });
    let plain =
        try_fit(find("eegnet").unwrap(), &data(), &json!({ "network": points, "training": training }))
            .unwrap();
    // A linear head: one with a hidden layer tells these few points apart again with some seeds.
    let changes = json!({ "network": { "encoder": points, "hidden": null }, "training": training });
    let with_target = data().with_target(target.unlabelled());
    let method = find("dann").unwrap();
    let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
    let run = Run { device: &(&Cpu::new().unwrap()).into(), identity: "toy" };
    let before = accuracy(method, &plain, &target);
    for adapted in decoder.fit_seeds(&with_target, &[1, 2], &run, &mut NoWatch).unwrap() {
        let after = accuracy(method, &adapted, &target);
        assert!(after > before + 0.1 && after > 0.9, "seed {}: from {before} to {after}", adapted.seed);
        assert!(accuracy(method, &adapted, &trials.of(&set([8, 9]))) > 0.9);
        let domain_accuracy = |trials: &Subset<'_>, domain: usize| {
            let logits =
                adapted.fitted.intermediate_values(trials, &["domain_logits"]).unwrap().unwrap().remove(0);
            let right = logits.chunks(2).filter(|l| (l[1] > l[0]) == (domain == 1)).count();
            right as f64 / trials.len() as f64
        };
        let share = (domain_accuracy(&trials.of(&set(1..=7)), 0) + domain_accuracy(&target, 1)) / 2.0;
        assert!(share < 0.6, "seed {}: domains are told apart in {share} of trials", adapted.seed);
    }
}

/// Stops after so many steps, or with the next epoch that ends.
struct Impatient {
    left: usize,
    at_epoch_end: bool,
}

impl Impatient {
    fn after(steps: usize) -> Impatient {
        Impatient { left: steps, at_epoch_end: false }
    }
}

impl Watch for Impatient {
    fn progress(&mut self, progress: &Progress<'_>) {
        self.left = match self.at_epoch_end {
            true => usize::from(progress.ended.is_empty()),
            false => self.left.saturating_sub(1),
        };
    }

    fn stop(&self) -> bool {
        self.left == 0
    }
}

#[test]
fn a_stopped_run_continues_to_the_same_end() {
    for method in METHODS.iter().filter(|method| method.random) {
        let mut changes = changes(method, 8);
        let settings = settings(method);
        // A few steps make an epoch.
        changes["training"]["batch_trials"] = json!(14);
        if settings["training"].get("batch_subjects").is_some() {
            changes["training"]["batch_subjects"] = json!(8);
            changes["training"]["batch_trials"] = json!(8);
        }
        if settings["training"].get("patience").is_some() {
            changes["training"]["patience"] = json!(3);
        }
        if settings["augment"].is_object() {
            changes["augment"] = json!({ "noise": 0.1, "time_shift": 0.05 });
        }
        stops_and_continues(method, changes);
    }
}

fn stops_and_continues(method: &Method, mut changes: Value) {
    let trials = cohort(10, 40, 0.3, 5);
    let through = fit_with(&changes, method, &trials, set(1..=7), &[1, 2], None, &mut NoWatch).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    let mut stops = 0;
    let fits = loop {
        // Every second stop falls on an epoch's end, where the checkpoint is written at once; the others anywhere.
        let mut watch = Impatient { at_epoch_end: stops % 2 == 0, ..Impatient::after(7) };
        match fit_with(&changes, method, &trials, set(1..=7), &[1, 2], Some(&path), &mut watch) {
            Err(Error::Stopped) => stops += 1,
            other => break other.unwrap(),
        }
        assert!(stops < 40);
    };
    assert!(stops >= 3, "{stops}");
    for (a, b) in through.iter().zip(&fits) {
        assert_eq!((&a.history, a.best_epoch), (&b.history, b.best_epoch));
        let of = |fit: &Fit| decoded(method, &*fit.fitted, &trials.all());
        assert_eq!(of(a), of(b));
    }
    // Another run's checkpoint is not continued.
    changes["training"]["rate"] = json!(1e-4);
    let other = fit_with(&changes, method, &trials, set(1..=7), &[1, 2], Some(&path), &mut NoWatch);
    let message = other.err().unwrap().to_string();
    assert!(message.contains("another run"), "{message}");
    std::fs::write(path.with_extension("1"), b"cut").unwrap();
    let other = fit_with(&changes, method, &trials, set(1..=7), &[1, 2], Some(&path), &mut NoWatch);
    assert_eq!(other.err().unwrap().hint().unwrap(), "delete it to begin anew");
}

/// Takes its time, and stops in the middle of the second epoch.
struct Slow(usize);

impl Watch for Slow {
    fn progress(&mut self, _: &Progress<'_>) {
        self.0 -= 1;
        std::thread::sleep(std::time::Duration::from_millis(300));
    }

    fn stop(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn an_epoch_longer_than_a_second_leaves_a_checkpoint() {
    let trials = cohort(10, 40, 0.3, 5);
    let (method, folder) = (find("eegnet").unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("checkpoint");
    let changes = changes(method, 8);
    // Four steps make an epoch.
    let stopped = fit_with(&changes, method, &trials, set(1..=7), &[1], Some(&path), &mut Slow(6));
    assert!(matches!(stopped, Err(Error::Stopped)));
    assert!(path.with_extension("1").exists());
}

fn tensors(path: &Path) -> HashMap<String, (Vec<usize>, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    file.tensors().into_iter().map(|(n, v)| (n, (v.shape().to_vec(), v.data().to_vec()))).collect()
}

#[test]
fn adapting_moves_the_personal_masks_and_nothing_else() {
    let trials = cohort(10, 24, 0.2, 6);
    let folder = tempfile::tempdir().unwrap();
    let method = find("ptsm-paper").unwrap();
    let fits = fit(method, &trials, set(1..=6), &[1], 3);
    let (shots, later) = calibration_split(&trials.of(&set([10])), 3).unwrap();
    // Cues are a second apart and trials longer, so that the first of the 18 others shares samples with the last shot.
    assert_eq!((shots.class_counts(), later.len()), (vec![3, 3], 17));
    let adaptation = Adaptation { guard: false, ..Adaptation::default() };
    let adapted = fits[0].fitted.adapt(&shots, &adaptation).unwrap();
    let card = card(method, &trials, 3);
    let [before, after] = ["before", "after"].map(|n| folder.path().join(n));
    file::save(&before, &*fits[0].fitted, &card).unwrap();
    file::save(&after, &*adapted.fitted, &card).unwrap();
    let (before, after) = (tensors(&before), tensors(&after));
    assert_eq!(before.len(), after.len());
    for (name, values) in &before {
        let same = values == &after[name];
        assert_eq!(same, !name.starts_with("personal."), "{name}");
    }
    // Nothing in the file has one entry for each of the six training subjects.
    for (name, (shape, _)) in &before {
        assert!(!shape.contains(&6), "{name} {shape:?}");
        assert!(!name.contains("subject") && !name.contains("domain"), "{name}");
    }
    // Guarded, the result is either the tuned one or the one that was.
    let guarded = fits[0].fitted.adapt(&shots, &Adaptation::default()).unwrap();
    let p = |f: &dyn FittedDecoder| f.probabilities(&later).unwrap();
    let guard = guarded.guard.unwrap();
    let expected = if guard.kept { p(&*adapted.fitted) } else { p(&*fits[0].fitted) };
    assert_eq!(p(&*guarded.fitted), expected);
    assert_eq!(guard.kept, guard.tuned_accuracy > guard.before_accuracy);
    // A step too small to change any answer gains nothing, whatever it does to the probabilities.
    let slight = fits[0].fitted.adapt(&shots, &Adaptation { steps: 1, rate: 1e-6, guard: true }).unwrap();
    let guard = slight.guard.unwrap();
    assert_eq!((guard.tuned_accuracy, guard.kept), (guard.before_accuracy, false), "{guard:?}");
    assert_ne!(guard.tuned_loss, guard.before_loss);
    assert_eq!(p(&*slight.fitted), p(&*fits[0].fitted));
    // Others have nothing to adapt.
    let eegnet = fit(find("eegnet").unwrap(), &trials, set(1..=7), &[1], 1);
    assert!(eegnet[0].fitted.adapt(&shots, &adaptation).is_err());
}

/// Trials are standardised by the subjects it learns from, and the file has nothing for each of them.
#[test]
fn cslp_ae_keeps_its_standardisation_and_no_subject() {
    let trials = cohort(10, 24, 0.6, 16);
    let (method, folder) = (find("cslp-ae").unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("model");
    for readout in ["logistic", "joint"] {
        let mut changes = changes(method, 30);
        changes["network"]["readout"] = json!(readout);
        let fits = fit_with(&changes, method, &trials, set(1..=6), &[1], None, &mut NoWatch).unwrap();
        assert!(accuracy(method, &fits[0], &trials.of(&set([10]))) >= 0.9, "{readout}");
        let settings = method.settings(trials.layout(), &changes).unwrap();
        file::save(&path, &*fits[0].fitted, &ModelCard { settings, ..card(method, &trials, 30) }).unwrap();
        let tensors = tensors(&path);
        for (name, (shape, _)) in &tensors {
            assert!(!shape.contains(&6), "{name} {shape:?}");
            assert!(!name.contains("subject_head") && !name.contains("contrast"), "{name}");
        }
        let train = trials.of(&set(1..=6));
        let sample = |x: &[f32]| f64::from(x[3 * 128 + 50]);
        let mean = train.signals().map(sample).sum::<f64>() / train.len() as f64;
        let square = train.signals().map(|x| (sample(x) - mean).powi(2)).sum::<f64>() / train.len() as f64;
        for (name, expected) in [("input.mean", mean), ("input.deviation", square.sqrt())] {
            let (shape, bytes) = &tensors[name];
            assert_eq!(shape, &[7, 128]);
            let kept = f32::from_le_bytes(bytes[4 * (3 * 128 + 50)..][..4].try_into().unwrap());
            assert!((f64::from(kept) - expected).abs() < 1e-5, "{name}: {kept}, not {expected}");
        }
        // Losses of every kind fall.
        let mean = |epoch: usize, name: &str| {
            let losses = &fits[0].history[epoch].losses;
            losses.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
        };
        for name in ["subject_permutation", "task_permutation", "task_contrast", "task"] {
            assert!(mean(29, name) < mean(0, name), "{readout} {name}");
        }
    }
}

#[test]
fn trials_are_converted_by_cslp_ae_alone() {
    let trials = cohort(10, 24, 0.6, 17);
    let method = find("cslp-ae").unwrap();
    let fits = fit(method, &trials, set(1..=7), &[1], 30);
    let fitted = &fits[0].fitted;
    let (from, other) = (trials.of(&set([9])), trials.of(&set([10])));
    let made = fitted.convert(&from, &other).unwrap();
    assert_eq!(made.len(), 24 * 7 * 128);
    assert!(made.iter().all(|v| v.is_finite()));
    // Each by itself, whoever stands beside it; by another subject it is another.
    assert_eq!(fitted.convert(&from.at(&[5]), &other).unwrap(), made[5 * 7 * 128..][..7 * 128]);
    assert_ne!(fitted.convert(&from, &trials.of(&set([8]))).unwrap(), made);
    assert!(fitted.convert(&from.at(&[]), &other).unwrap().is_empty());
    let nobody = fitted.convert(&from, &other.at(&[])).unwrap_err().to_string();
    assert!(nobody.contains("no trial of the subject"), "{nobody}");
    for other_method in [find("eegnet").unwrap(), find("csp-lda").unwrap()] {
        assert!(method.converts && !other_method.converts);
        let fits = fit(other_method, &trials, set(1..=7), &[1], 1);
        let refused = fits[0].fitted.convert(&from, &other).unwrap_err().to_string();
        assert!(refused.contains("cannot convert trials"), "{refused}");
    }
}

/// As many trials in a training step as are decoded at once: the two networks are told apart all the same.
#[test]
fn cslp_ae_that_keeps_its_subjects_converts_whatever_its_batch() {
    let trials = cohort(6, 12, 0.6, 18);
    let method = find("cslp-ae").unwrap();
    let mut changes = changes(method, 1);
    changes["network"]["pair_trials"] = json!(16);
    changes["training"]["keep_subjects"] = json!(true);
    let fits = fit_with(&changes, method, &trials, set(1..=4), &[1], None, &mut NoWatch).unwrap();
    let fitted = &fits[0].fitted;
    assert_eq!(fitted.known_subjects(), 4);
    let made = fitted.convert(&trials.of(&set([5])), &trials.of(&set([6]))).unwrap();
    assert_eq!(made.len(), 12 * 7 * 128);
    assert!(made.iter().all(|v| v.is_finite()));
}

#[test]
fn a_subject_table_leaves_its_mean_behind() {
    let trials = cohort(10, 8, 0.5, 7);
    let method = find("ptsm").unwrap();
    let mut changes = changes(method, 3);
    changes["network"]["subject_table"] = json!(true);
    let released = fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap();
    changes["training"]["keep_subjects"] = json!(true);
    let kept = fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap();
    assert!(kept[0].fitted.parameters() > released[0].fitted.parameters());
    let of = |fit: &Fit| fit.fitted.probabilities(&trials.all()).unwrap();
    for (a, b) in of(&released[0]).iter().zip(of(&kept[0])) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn training_data_that_teach_nothing_are_refused() {
    let trials = cohort(4, 6, 0.5, 8);
    let message = |train: Subset<'_>, validation: Subset<'_>| {
        let error = TrainingData::new(train, validation).err().unwrap();
        format!("{error}; {}", error.hint().unwrap())
    };
    let one = trials.of(&set([1]));
    let lefts = trials.all().only(|t| t.label == 0);
    assert!(message(one.at(&[0, 1]), trials.of(&set([2]))).contains("too few"));
    assert!(message(lefts, trials.of(&set([9]))).contains("right_hand"));
    assert!(message(trials.of(&set([1, 2])), trials.of(&set([2, 3]))).contains("S02"));
    let none = fit_with(&json!({}), find("eegnet").unwrap(), &trials, set([1, 2]), &[1], None, &mut NoWatch);
    assert!(none.err().unwrap().to_string().contains("no validation subject"));
    assert!(find("egnet").err().unwrap().hint().unwrap().contains("eegnet"));
}

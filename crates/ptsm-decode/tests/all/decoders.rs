//! What every decoder in the registry must do, and what the trainer promises.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use ptsm_decode::file::{self, Card, Provenance};
use ptsm_decode::registry::{METHODS, Method, find};
use ptsm_decode::{
    Adaptation, Answer, Class, EpochRecord, Error, Fit, Fitted, Job, Lesson, Progress, Run, Unwatched, Watch,
    calibration,
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

/// People whose rhythm over one hand area is weaker than over the other, one way for each class; in the middle a wave after each cue
/// goes up for one class and down for the other.
fn people(subjects: u32, each: u32, effect: f32, seed: u64) -> Trials {
    people_of(2, subjects, each, effect, seed)
}

/// The same with any number of classes: of more than two each has an area and a time of its own.
fn people_of(classes: u32, subjects: u32, each: u32, effect: f32, seed: u64) -> Trials {
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

/// Whether nothing in it is random.
fn is_classic(method: &Method) -> bool {
    ["csp-lda", "fbcsp-lda", "mdm", "ts-lr", "xdawn-ts", "slda-erp", "sblest"].contains(&method.name)
}

/// Small enough to learn in a second or so.
fn changes(method: &Method, epochs: usize) -> Value {
    if is_classic(method) {
        return json!({});
    }
    let mut changes = json!({ "training": { "epochs": epochs, "rate": 3e-3 } });
    let ptsm = json!({ "encoder": [8, 8, 16], "pooled": 4, "shared": [32, 16], "features": 8, "head": 8 });
    if method.name.starts_with("ptsm-dann") {
        changes["network"] = json!({ "encoder": ptsm });
    } else if method.name.starts_with("ptsm") {
        changes["network"] = ptsm;
    }
    if method.name.starts_with("deepconvnet") {
        changes["network"] = json!({ "maps": [8, 8, 16, 16] });
    }
    if method.name == "cslp-ae" {
        // With more levels this toy leaves some seeds where they began.
        changes["training"]["rate"] = json!(1e-3);
        changes["network"] = json!({ "width": 8, "latent": 4, "levels": 2, "pair_trials": 32 });
    }
    if method.name.starts_with("acon") {
        changes["network"] = json!({ "width": 8, "features": 16, "period": 32, "rank": 8, "critic": 16 });
    }
    if method.name == "eegconformer" {
        changes["network"] =
            json!({ "filters": 16, "width": 16, "heads": 4, "depth": 1, "head": [32, 16], "dropout": 0.25 });
    }
    changes
}

fn fit(
    method: &Method,
    trials: &Trials,
    train: BTreeSet<SubjectId>,
    seeds: &[u64],
    epochs: usize,
) -> Vec<Fit> {
    fit_with(&changes(method, epochs), method, trials, train, seeds, None, &mut Unwatched).unwrap()
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
    let mut lesson = Lesson::new(trials.of(&train), trials.of(&set([8, 9])))?;
    let settings = method.settings(trials.layout(), changes)?;
    let decoder = method.build(settings)?;
    if decoder.learns_from_target() {
        // The people who are decoded in these tests.
        lesson = lesson.with_target(trials.all().only(|t| t.subject.0 >= 10).unlabelled());
    }
    let run = Run { device: &(&cpu).into(), identity: "toy" };
    let path = |seed: &u64| checkpoint.map(|path| path.with_extension(seed.to_string()));
    let jobs = seeds.iter().map(|seed| Job { lesson: &lesson, seed: *seed, checkpoint: path(seed) });
    decoder.fit_all(&jobs.collect::<Vec<_>>(), &run, watch)
}

/// What a decoder makes of trials once it has seen of their people what its method may see.
fn decoded(method: &Method, fitted: &dyn Fitted, trials: &Subset<'_>) -> Vec<f32> {
    let met = fitted.introduced(trials, method.target_access).unwrap();
    met.as_deref().unwrap_or(fitted).probabilities(trials).unwrap()
}

fn accuracy(method: &Method, fit: &Fit, trials: &Subset<'_>) -> f64 {
    let p = decoded(method, &*fit.fitted, trials);
    let classes = trials.layout().classes.len();
    let likeliest = |p: &[f32]| (0..classes).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
    let right = p.chunks(classes).zip(trials.labels()).filter(|(p, l)| likeliest(p) == *l as usize).count();
    right as f64 / trials.len() as f64
}

fn card(method: &Method, trials: &Trials, epochs: usize) -> Card {
    Card {
        decoder: method.name.into(),
        settings: method.settings(trials.layout(), &changes(method, epochs)).unwrap(),
        layout: trials.layout().clone(),
        pipeline: Pipeline::default(),
        target_access: method.target_access,
        provenance: Provenance::default(),
    }
}

/// Whether it looks at the people it decodes when it meets them, and not before.
fn looks(method: &Method, trials: &Trials) -> bool {
    let decoder = method.build(method.defaults(trials.layout()).unwrap()).unwrap();
    method.target_access != TargetAccess::Nothing && !decoder.learns_from_target()
}

/// A separable problem is learnt, on people never seen; decoding is the same alone, together, and after a file.
#[test]
fn every_decoder_keeps_the_contract() {
    let trials = people(10, 24, 0.7, 1);
    let stranger = trials.of(&set([10]));
    let folder = tempfile::tempdir().unwrap();
    for method in METHODS {
        let fits = fit(method, &trials, set(1..=7), &[1, 2], 30);
        assert_eq!(fits.iter().map(|f| f.seed).collect::<Vec<_>>(), [1, 2]);
        for fit in &fits {
            let score = accuracy(method, fit, &stranger);
            assert!(score >= 0.95, "{} reaches {score}", method.name);
        }
        let decoder = method.build(method.settings(trials.layout(), &changes(method, 30)).unwrap()).unwrap();
        let stated = decoder.parameters(trials.layout()).unwrap();
        assert_eq!(stated.is_none(), is_classic(method));
        assert!(stated.is_none_or(|n| n == fits[0].fitted.parameters()), "{}: {stated:?}", method.name);
        let p = decoded(method, &*fits[0].fitted, &stranger);
        assert_eq!(p.len(), 2 * stranger.len());
        for p in p.chunks(2) {
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)) && (p[0] + p[1] - 1.0).abs() < 1e-5);
        }
        // Each trial by itself: others do not matter but by what was seen of them before.
        let met = fits[0].fitted.introduced(&stranger, method.target_access).unwrap();
        assert_eq!(met.is_some(), looks(method, &trials), "{}", method.name);
        let ready = met.as_deref().unwrap_or(&*fits[0].fitted);
        for i in 0..stranger.len() {
            let alone = ready.probabilities(&stranger.at(&[i])).unwrap();
            assert_eq!(alone, p[2 * i..2 * i + 2], "{}", method.name);
        }
        let path = folder.path().join(format!("{}.safetensors", method.name));
        let card = card(method, &trials, 30);
        file::save(&path, &*fits[0].fitted, &card).unwrap();
        let (loaded, read) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
        assert_eq!(read, card);
        assert_eq!(decoded(method, &*loaded, &stranger), p);
        assert_eq!(loaded.parameters(), fits[0].fitted.parameters());
        let again = folder.path().join("again.safetensors");
        file::save(&again, &*loaded, &card).unwrap();
        let same = std::fs::read(&path).unwrap() == std::fs::read(&again).unwrap();
        assert!(same, "{} is written differently the second time", method.name);
        // What tells people apart is gone; a latent of whoever is shown stays where it converts.
        let head = if method.converts() { "subject_head" } else { "subject" };
        assert!(tensors(&path).keys().all(|name| !name.contains(head) && !name.contains("domain")));

        let other = people(2, 4, 0.5, 1);
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
    METHODS.iter().filter(|method| is_classic(method))
}

#[test]
fn classic_decoders_tell_four_classes_apart() {
    let trials = people_of(4, 10, 48, 0.8, 9);
    let stranger = trials.of(&set([10]));
    let folder = tempfile::tempdir().unwrap();
    for method in classic() {
        let fits = fit(method, &trials, set(1..=7), &[1], 0);
        let score = accuracy(method, &fits[0], &stranger);
        assert!(score >= 0.9, "{} reaches {score}", method.name);
        let p = fits[0].fitted.probabilities(&stranger).unwrap();
        assert!(p.chunks(4).all(|p| (p.iter().sum::<f32>() - 1.0).abs() < 1e-5));
        let path = folder.path().join(method.name);
        file::save(&path, &*fits[0].fitted, &card(method, &trials, 0)).unwrap();
        let (loaded, _) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
        assert_eq!(loaded.probabilities(&stranger).unwrap(), p, "{}", method.name);
    }
}

/// What a method declares to see is what decides: labels never do, and the others of a person's trials only where it says so.
#[test]
fn a_method_sees_what_it_declares() {
    let trials = people(11, 12, 0.3, 16);
    let (two, stranger) = (trials.of(&set([10, 11])), trials.of(&set([10])));
    // Everybody's labels are the other class's.
    let swapped: Vec<u32> = trials.info().iter().map(|t| 1 - t.label).collect();
    let swapped = trials.relabelled(&swapped).unwrap();
    let noise = people(11, 12, 0.0, 17);
    for method in METHODS {
        let fits = fit(method, &trials, set(1..=7), &[1], 2);
        let fitted = &*fits[0].fitted;
        let p = decoded(method, fitted, &two);
        assert_eq!(decoded(method, fitted, &swapped.of(&set([10, 11]))), p, "{}", method.name);
        // One person is not changed by another.
        assert_eq!(decoded(method, fitted, &stranger), p[..2 * stranger.len()], "{}", method.name);
        let all = stranger.unlabelled();
        let met = fitted.meet(&all).unwrap();
        match method.target_access {
            _ if !looks(method, &trials) => assert!(met.is_none(), "{}", method.name),
            TargetAccess::Unlabelled { .. } => {
                // Of others of their trials it makes something else, and of trials it has not seen nothing.
                let met = met.unwrap();
                assert_eq!(met.probabilities(&stranger).unwrap(), p[..2 * stranger.len()]);
                let other = fitted.meet(&noise.of(&set([10])).unlabelled()).unwrap().unwrap();
                assert_ne!(
                    other.probabilities(&stranger).unwrap(),
                    p[..2 * stranger.len()],
                    "{}",
                    method.name
                );
                let half = fitted.introduced(&stranger, TargetAccess::Unlabelled { fraction: 0.5 }).unwrap();
                let first = stranger.in_time().at(&(0..6).collect::<Vec<_>>()).unlabelled();
                let first = fitted.meet(&first).unwrap().unwrap();
                let of = |fitted: &dyn Fitted| fitted.probabilities(&stranger).unwrap();
                assert_eq!(of(&*half.unwrap()), of(&*first));
                let unknown = met.probabilities(&trials.of(&set([11]))).unwrap_err();
                assert!(unknown.to_string().contains("S11"), "{unknown}");
                assert!(fitted.probabilities(&stranger).is_err() && unknown.hint().is_some());
                assert!(fitted.introduced(&stranger, TargetAccess::Nothing).unwrap().is_none());
                let one = fitted.meet(&stranger.at(&[0]).unlabelled()).err().unwrap();
                assert!(one.to_string().contains("too few"), "{one}");
            }
            other => panic!("{} declares {other}, which nobody hands out", method.name),
        }
    }
}

/// A gradient says how much an answer changes with a small step in any direction; here its own and others.
#[test]
fn gradients_are_what_small_steps_say() {
    let trials = people(10, 12, 0.5, 16);
    let places = [0, 1, 2, 3];
    let stranger = trials.of(&set([10])).at(&places);
    let mut differentiable = vec![];
    for method in METHODS {
        let fits = fit(method, &trials, set(1..=7), &[1], 6);
        let met = fits[0].fitted.introduced(&stranger, method.target_access).unwrap();
        let fitted = met.as_deref().unwrap_or(&*fits[0].fitted);
        let of = |trials: &Trials, answer| fitted.sensitivity(&trials.all(), answer).unwrap();
        let x: Vec<f32> = stranger.signals().flatten().copied().collect();
        let here = stranger.with_samples(x.clone()).unwrap();
        for answer in [Answer::LogProbability(Class::Own), Answer::Logit(Class::Number(1))] {
            let Some(told) = of(&here, answer) else { continue };
            if let Answer::LogProbability(_) = answer {
                differentiable.push(method.name);
                let p = fitted.probabilities(&stranger).unwrap();
                for ((p, label), said) in p.chunks(2).zip(stranger.labels()).zip(&told.answers) {
                    assert!((p[label as usize].ln() - said).abs() < 1e-4, "{}", method.name);
                }
            }
            let size = |v: &[f32]| v.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let others = (0..3).map(|_| (0..x.len()).map(|_| rng.random_range(-1.0..1.0)).collect());
            for (way, direction) in std::iter::once(told.gradient.clone()).chain(others).enumerate() {
                let one = x.len() / places.len();
                let length: Vec<f64> = direction.chunks(one).map(size).collect();
                let step = 3e-3;
                let moved = |sign: f64| {
                    let at = |i: usize| (sign * step / length[i / one] * f64::from(direction[i])) as f32;
                    let x = x.iter().enumerate().map(|(i, x)| x + at(i)).collect();
                    of(&stranger.with_samples(x).unwrap(), answer).unwrap().answers
                };
                for (i, (up, down)) in moved(1.0).iter().zip(moved(-1.0)).enumerate() {
                    let measured = f64::from(up - down) / (2.0 * step);
                    let (g, d) = (&told.gradient[i * one..][..one], &direction[i * one..][..one]);
                    let product: f64 = g.iter().zip(d).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
                    // The second part is what f32 loses in so small a step.
                    let error = (measured - product / length[i]).abs();
                    let most = 0.01 * size(g) + 2e-5;
                    assert!(error < most, "{} {answer:?}, way {way}, trial {i}: {error}", method.name);
                }
            }
        }
        let wrong = fitted.sensitivity(&stranger, Answer::Logit(Class::Number(2)));
        assert!(wrong.is_err() || !differentiable.contains(&method.name));
    }
    let network = |m: &&Method| !is_classic(m) && !m.name.starts_with("tsmnet");
    let networks: Vec<&str> = METHODS.iter().filter(network).map(|m| m.name).collect();
    assert_eq!(differentiable, networks);
}

/// What was learnt is gone, what was measured stays; where nothing begins at random nothing can be drawn anew.
#[test]
fn decoders_are_drawn_anew() {
    let trials = people(10, 12, 0.7, 16);
    let stranger = trials.of(&set([10]));
    for name in ["eegnet", "ptsm", "csp-lda"] {
        let method = find(name).unwrap();
        let fits = fit(method, &trials, set(1..=7), &[1], 3);
        let drawn = |seed| fits[0].fitted.redrawn(seed).unwrap().map(|f| f.probabilities(&stranger).unwrap());
        assert_eq!(drawn(1).is_none(), is_classic(method));
        assert_eq!(drawn(1), drawn(1));
        assert!(drawn(1).is_none_or(|p| Some(p) != drawn(2)));
        let learnt = fits[0].fitted.probabilities(&stranger).unwrap();
        assert_ne!(drawn(1), Some(learnt));
    }
}

/// One trial has no variance: a session of one is refused before anything is learnt, wherever it is.
#[test]
fn a_session_of_one_trial_is_refused_where_sessions_are_measured() {
    let trials = people(10, 12, 0.3, 18);
    let first_of = |subject: u32| {
        let mut info = trials.info().to_vec();
        for (i, trial) in info.iter_mut().filter(|trial| trial.subject.0 == subject).enumerate() {
            trial.session = if i == 0 { 7 } else { 1 };
        }
        let samples = trials.all().signals().flatten().copied().collect();
        Trials::new(trials.layout().clone(), samples, info).unwrap()
    };
    // Somebody who is learnt from, judged by, decoded.
    for subject in [3, 8, 10] {
        let odd = first_of(subject);
        for name in ["tsmnet", "tsmnet-spdmbn"] {
            let method = find(name).unwrap();
            let fits = fit_with(&changes(method, 1), method, &odd, set(1..=7), &[1], None, &mut Unwatched);
            let decoder = method.build(method.defaults(odd.layout()).unwrap()).unwrap();
            let people = decoder.check_people(&odd.of(&set([10])), method.target_access);
            let refused = |error: Error| {
                assert!(error.to_string().contains(&format!("S{subject:02} in session 7")), "{error}");
                assert!(error.hint().is_some());
            };
            match (name, subject) {
                ("tsmnet", 10) => {
                    people.map(|()| panic!("S10 cannot be met")).unwrap_or_else(refused);
                    let met = fits.unwrap()[0].fitted.introduced(&odd.of(&set([10])), method.target_access);
                    met.map(|_| panic!("S10 was met")).unwrap_or_else(refused);
                }
                ("tsmnet", _) => fits.map(|_| panic!("{subject} was taken")).unwrap_or_else(refused),
                _ => assert!(fits.is_ok() && people.is_ok()),
            }
        }
    }
}

/// An oddball: one class in six trials.
#[test]
fn rare_classes_are_decoded_too() {
    let trials = people(10, 60, 0.7, 10);
    let rare = trials.all().only(|t| t.label == 0 || (t.cue_s as u32) % 5 == 1);
    let uneven = Trials::new(
        trials.layout().clone(),
        rare.signals().flatten().copied().collect(),
        rare.info().copied().collect(),
    )
    .unwrap();
    let stranger = uneven.of(&set([10]));
    assert_eq!(stranger.class_counts(), [30, 6]);
    for method in classic() {
        let fits = fit(method, &uneven, set(1..=7), &[1], 0);
        for class in 0..2 {
            let score = accuracy(method, &fits[0], &stranger.only(|t| t.label == class));
            assert!(score >= 0.8, "{} reaches {score} of class {class}", method.name);
        }
    }
}

#[test]
fn classic_decoders_have_the_numbers_they_state() {
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
    let stated = |name| match name {
        "csp-lda" => 372 + 14,
        "fbcsp-lda" => 620 + 22,
        "mdm" => 3906,
        "ts-lr" => 1953 + 1954,
        "xdawn-ts" => 496 + 8 * 250 + 136 + 137,
        "slda-erp" => 62 * 20 * 2 + 2,
        "sblest" => 2 * 1953 + 2,
        other => panic!("{other} is not stated here"),
    };
    for method in classic() {
        // So few trials of so many channels can be told apart without noise, which takes all steps there are.
        let changes = if method.name == "sblest" { json!({ "steps": 3 }) } else { json!({}) };
        let fits = fit_with(&changes, method, &trials, set([1]), &[1], None, &mut Unwatched).unwrap();
        assert_eq!(fits[0].fitted.parameters(), stated(method.name), "{}", method.name);
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let trials = people(8, 6, 0.5, 12);
    let refused = |name: &str, changes: Value| {
        let fit = fit_with(&changes, find(name).unwrap(), &trials, set(1..=7), &[1], None, &mut Unwatched);
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
    let trials = people(8, 6, 0.5, 13);
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
fn a_delay_is_chosen_by_leaving_people_out() {
    let trials = people(10, 24, 0.5, 14);
    let method = find("sblest").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let changes = json!({ "delays_samples": [0, 2, 5], "folds": 3 });
    let fits = fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut Unwatched).unwrap();
    assert!(accuracy(method, &fits[0], &trials.of(&set([10]))) >= 0.95);
    let settings = method.settings(trials.layout(), &changes).unwrap();
    file::save(&path, &*fits[0].fitted, &Card { settings, ..card(method, &trials, 0) }).unwrap();
    let (loaded, _) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
    let of = |fitted: &dyn Fitted| fitted.probabilities(&trials.all()).unwrap();
    assert_eq!(of(&*loaded), of(&*fits[0].fitted));
}

#[test]
fn classic_decoders_stop_when_asked() {
    let trials = people(8, 6, 0.5, 15);
    for method in classic() {
        let mut watch = Impatient { left: 0, epochs: 0 };
        let fit = fit_with(&json!({}), method, &trials, set(1..=7), &[1], None, &mut watch);
        assert!(matches!(fit, Err(Error::Stopped)), "{}", method.name);
    }
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let trials = people(10, 8, 0.4, 2);
    for method in METHODS {
        let of = |fit: &Fit| decoded(method, &*fit.fitted, &trials.all());
        let (first, again) =
            (fit(method, &trials, set(1..=7), &[5], 4), fit(method, &trials, set(1..=7), &[5], 4));
        assert_eq!(of(&first[0]), of(&again[0]), "{}", method.name);
        assert_eq!(first[0].history, again[0].history);
        // Seeds trained together are seeds trained alone.
        let both = fit(method, &trials, set(1..=7), &[4, 5], 4);
        assert_eq!(of(&first[0]), of(&both[1]), "{}", method.name);
        if is_classic(method) {
            assert_eq!(of(&both[0]), of(&both[1]), "{}", method.name);
        } else {
            assert_ne!(of(&both[0]), of(&both[1]), "{}", method.name);
        }
    }
}

/// More jobs than seats, of different size: each is what it is alone.
#[test]
fn jobs_that_take_turns_do_not_touch_each_other() {
    let trials = people(10, 12, 0.4, 9);
    let cpu = Cpu::with(2, ptsm_engine::Isa::best()).unwrap();
    let (device, validation) = ((&cpu).into(), trials.of(&set([8, 9])));
    let others = people(1, 10, 0.4, 19);
    let run = Run { device: &device, identity: "toy" };
    for name in ["eegnet", "ptsm", "csp-lda", "tsmnet", "tsmnet-spdmbn", "dann", "acon", "acon-pseudo"] {
        let method = find(name).unwrap();
        let mut changes = changes(method, 6);
        if name != "csp-lda" && !name.starts_with("tsmnet") {
            // They leave their seats at different times.
            changes["training"]["patience"] = json!(2);
            changes["augment"] = json!({ "mirror": 0.5 });
        }
        let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
        let people = [set(1..=7), set(1..=4), set(2..=7), set(1..=7), set(3..=7)];
        let lessons = people.map(|people| {
            let lesson = Lesson::new(trials.of(&people), validation.clone()).unwrap();
            // Targets differ: whoever is not learnt from, and somebody of another set.
            let target = trials.all().only(|t| !people.contains(&t.subject) && t.subject.0 < 8);
            lesson.with_target(if target.is_empty() {
                others.all().unlabelled()
            } else {
                target.unlabelled()
            })
        });
        let seeds = [1, 2, 3, 4, 1];
        let job = |(lesson, &seed)| Job { lesson, seed, checkpoint: None };
        let jobs: Vec<Job<'_>> = lessons.iter().zip(&seeds).map(job).collect();
        let mut ended = vec![];
        let mut fits: Vec<Option<Fit>> = jobs.iter().map(|_| None).collect();
        let mut done = |job: usize, fit: Fit| {
            ended.push(job);
            fits[job] = Some(fit);
            Ok(())
        };
        decoder.fit(&jobs, &run, &mut Unwatched, &mut done).unwrap();
        ended.sort_unstable();
        assert_eq!(ended, [0, 1, 2, 3, 4], "{name}");
        for (job, fit) in jobs.iter().zip(&fits) {
            let fit = fit.as_ref().unwrap();
            assert_eq!(fit.seed, job.seed);
            let alone = decoder.fit_seeds(job.lesson, &[job.seed], &run, &mut Unwatched).unwrap();
            let of = |fit: &Fit| decoded(method, &*fit.fitted, &trials.all());
            assert_eq!(of(fit), of(&alone[0]), "{name}");
            assert_eq!((&fit.history, fit.best_epoch), (&alone[0].history, alone[0].best_epoch));
        }
        // An error where results are taken ends the rest.
        let mut first = |_: usize, _: Fit| Err(Error::Stopped);
        assert!(matches!(decoder.fit(&jobs, &run, &mut Unwatched, &mut first), Err(Error::Stopped)));
    }
}

/// Labels without meaning must not be decodable in people who were not trained on: anything above the band is a leak.
#[test]
fn shuffled_labels_give_chance() {
    let trials = people(30, 20, 0.7, 3);
    let mut labels: Vec<u32> = trials.info().iter().map(|t| t.label).collect();
    labels.shuffle(&mut ChaCha8Rng::seed_from_u64(4));
    let shuffled = trials.relabelled(&labels).unwrap();
    let strangers = shuffled.of(&set(10..=30));
    for method in METHODS {
        let fits = fit(method, &shuffled, set(1..=7), &[1], 15);
        let score = accuracy(method, &fits[0], &strangers);
        // 420 trials: four standard errors.
        assert!((score - 0.5).abs() < 4.0 * 0.5 / 420f64.sqrt(), "{} reaches {score}", method.name);
    }
}

/// Learns with a lesson, small.
fn learnt(method: &Method, lesson: &Lesson<'_>, changes: &Value) -> Result<Fit, Error> {
    let layout = lesson.train().layout();
    let decoder = method.build(method.settings(layout, changes)?)?;
    let run = Run { device: &(&Cpu::new().unwrap()).into(), identity: "toy" };
    Ok(decoder.fit_seeds(lesson, &[3], &run, &mut Unwatched)?.remove(0))
}

/// What is not shown cannot be learnt from: the labels of the people to be decoded are of no account, byte for byte.
#[test]
fn nobody_learns_from_the_labels_of_those_who_are_decoded() {
    let trials = people(11, 8, 0.4, 21);
    let strangers = set([10, 11]);
    // Somebody else's labels, in a set of their own too.
    let labels =
        trials.info().iter().map(|t| if strangers.contains(&t.subject) { 1 - t.label } else { t.label });
    let turned = trials.relabelled(&labels.collect::<Vec<_>>()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for method in METHODS.iter().filter(|m| m.target_access == TargetAccess::WHOLE) {
        let saved = |of: &Trials, name: &str| {
            let lesson = Lesson::new(of.of(&set(1..=7)), of.of(&set([8, 9]))).unwrap();
            let lesson = lesson.with_target(of.of(&strangers).unlabelled());
            let fit = learnt(method, &lesson, &changes(method, 2)).unwrap();
            let path = folder.path().join(name);
            file::save(&path, &*fit.fitted, &card(method, of, 2)).unwrap();
            std::fs::read(path).unwrap()
        };
        assert!(saved(&trials, "before") == saved(&turned, "after"), "{} reads labels", method.name);
    }
}

#[test]
fn those_who_learn_from_a_target_must_have_one_and_no_others_may() {
    let trials = people(10, 8, 0.4, 22);
    let without = || Lesson::new(trials.of(&set(1..=7)), trials.of(&set([8, 9]))).unwrap();
    let target = trials.of(&set([10])).unlabelled();
    for method in METHODS.iter().filter(|method| !is_classic(method)) {
        let of = |fit: &Fit| decoded(method, &*fit.fitted, &trials.all());
        let changes = changes(method, 1);
        let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
        let alone = learnt(method, &without(), &changes);
        let with = learnt(method, &without().with_target(target.clone()), &changes).unwrap();
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
    let refused = learnt(find("dann-subject").unwrap(), &without(), &turned).err().unwrap().to_string();
    assert!(refused.contains("sees nothing"), "{refused}");
    let multi = json!({ "network": { "domains": "uda-multi" }, "training": { "epochs": 2 } });
    learnt(find("dann").unwrap(), &without().with_target(target), &multi).unwrap();
}

/// Without a reversed gradient the domain head learns for itself: everything else is plain EEGNet, byte for byte.
#[test]
fn a_domain_head_that_nobody_goes_against_changes_nothing() {
    let trials = people(10, 12, 0.4, 23);
    let folder = tempfile::tempdir().unwrap();
    let lesson = Lesson::new(trials.of(&set(1..=7)), trials.of(&set([8, 9]))).unwrap();
    let saved = |name: &str, changes: Value| {
        let method = find(name).unwrap();
        let fit = learnt(method, &lesson, &changes).unwrap();
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

/// Two classes of points in the plane, and other people's, moved.
#[test]
fn points_that_have_moved_are_told_apart_by_what_has_not() {
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
    let lesson = || Lesson::new(trials.of(&set(1..=7)), trials.of(&set([8, 9]))).unwrap();
    // A network of points: windows of one sample.
    let points = json!({ "kernel": 1, "separable_kernel": 1, "pools": [1, 1], "dropout": 0.0 });
    let training = json!({ "epochs": 40, "patience": null, "select": "last", "weight_decay": 0.0, "keep_subjects": true });
    let plain =
        learnt(find("eegnet").unwrap(), &lesson(), &json!({ "network": points, "training": training }))
            .unwrap();
    // A linear head: one with a hidden layer tells these few points apart again with some seeds.
    let changes = json!({ "network": { "encoder": points, "hidden": null }, "training": training });
    let with_target = lesson().with_target(target.unlabelled());
    let method = find("dann").unwrap();
    let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
    let run = Run { device: &(&Cpu::new().unwrap()).into(), identity: "toy" };
    let before = accuracy(method, &plain, &target);
    for adapted in decoder.fit_seeds(&with_target, &[1, 2], &run, &mut Unwatched).unwrap() {
        let after = accuracy(method, &adapted, &target);
        assert!(after > before + 0.1 && after > 0.9, "seed {}: from {before} to {after}", adapted.seed);
        assert!(accuracy(method, &adapted, &trials.of(&set([8, 9]))) > 0.9);
        let guesses = |trials: &Subset<'_>, domain: usize| {
            let logits = adapted.fitted.inner(trials, &["domain_logits"]).unwrap().unwrap().remove(0);
            let right = logits.chunks(2).filter(|l| (l[1] > l[0]) == (domain == 1)).count();
            right as f64 / trials.len() as f64
        };
        let told = (guesses(&trials.of(&set(1..=7)), 0) + guesses(&target, 1)) / 2.0;
        assert!(told < 0.6, "seed {}: domains are told apart in {told} of trials", adapted.seed);
    }
}

/// Stops after so many steps.
struct Impatient {
    left: usize,
    epochs: usize,
}

impl Watch for Impatient {
    fn progress(&mut self, progress: &Progress<'_>) {
        self.left = self.left.saturating_sub(1);
        self.epochs = progress.epoch;
    }

    fn stop(&self) -> bool {
        self.left == 0
    }
}

#[test]
fn a_stopped_run_continues_to_the_same_end() {
    // Batches of people, a ramp and a target, two optimizers.
    for name in ["ptsm", "dann", "acon"] {
        continues(name);
    }
}

fn continues(name: &str) {
    let method = find(name).unwrap();
    let mut changes = changes(method, 8);
    changes["training"]["patience"] = json!(3);
    // Four steps make an epoch.
    changes["training"]["batch_trials"] = json!(8);
    changes["augment"] = json!({ "noise": 0.1, "time_shift": 0.05 });
    stops_and_continues(method, changes);
}

#[test]
fn so_does_a_stopped_tsmnet() {
    for name in ["tsmnet", "tsmnet-spdmbn"] {
        let method = find(name).unwrap();
        let mut changes = changes(method, 8);
        // Two or four steps make an epoch.
        changes["training"]["batch_trials"] = json!(14);
        stops_and_continues(method, changes);
    }
}

fn stops_and_continues(method: &Method, mut changes: Value) {
    let trials = people(10, 40, 0.3, 5);
    let through = fit_with(&changes, method, &trials, set(1..=7), &[1, 2], None, &mut Unwatched).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    let mut stops = 0;
    let fits = loop {
        // The first stop falls on an epoch's end, where the checkpoint is written at once; later ones anywhere.
        let mut watch = Impatient { left: if stops % 2 == 0 { 4 } else { 7 }, epochs: 0 };
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
    let other = fit_with(&changes, method, &trials, set(1..=7), &[1, 2], Some(&path), &mut Unwatched);
    let message = other.err().unwrap().to_string();
    assert!(message.contains("another run"), "{message}");
    std::fs::write(path.with_extension("1"), b"cut").unwrap();
    let other = fit_with(&changes, method, &trials, set(1..=7), &[1, 2], Some(&path), &mut Unwatched);
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
    let trials = people(10, 40, 0.3, 5);
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
    let trials = people(10, 24, 0.2, 6);
    let folder = tempfile::tempdir().unwrap();
    let method = find("ptsm-paper").unwrap();
    let fits = fit(method, &trials, set(1..=6), &[1], 3);
    let (shots, later) = calibration(&trials.of(&set([10])), 3).unwrap();
    // Cues are a second apart and trials longer, so that the first of the 18 others shares samples with the last shot.
    assert_eq!((shots.class_counts(), later.len()), (vec![3, 3], 17));
    let how = Adaptation { guard: false, ..Adaptation::default() };
    let adapted = fits[0].fitted.adapt(&shots, &how).unwrap();
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
    let p = |f: &dyn Fitted| f.probabilities(&later).unwrap();
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
    assert!(eegnet[0].fitted.adapt(&shots, &how).is_err());
}

/// Trials are standardised by the people it learns from, and the file has nothing for each of them.
#[test]
fn cslp_ae_keeps_what_it_standardises_by_and_nobody() {
    let trials = people(10, 24, 0.6, 16);
    let (method, folder) = (find("cslp-ae").unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("model");
    for readout in ["logistic", "joint"] {
        let mut changes = changes(method, 30);
        changes["network"]["readout"] = json!(readout);
        let fits = fit_with(&changes, method, &trials, set(1..=6), &[1], None, &mut Unwatched).unwrap();
        assert!(accuracy(method, &fits[0], &trials.of(&set([10]))) >= 0.9, "{readout}");
        let settings = method.settings(trials.layout(), &changes).unwrap();
        file::save(&path, &*fits[0].fitted, &Card { settings, ..card(method, &trials, 30) }).unwrap();
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
    let trials = people(10, 24, 0.6, 17);
    let method = find("cslp-ae").unwrap();
    let fits = fit(method, &trials, set(1..=7), &[1], 30);
    let fitted = &fits[0].fitted;
    let (from, other) = (trials.of(&set([9])), trials.of(&set([10])));
    let made = fitted.convert(&from, &other).unwrap();
    assert_eq!(made.len(), 24 * 7 * 128);
    assert!(made.iter().all(|v| v.is_finite()));
    // Each by itself, whoever stands beside it; by another person it is another.
    assert_eq!(fitted.convert(&from.at(&[5]), &other).unwrap(), made[5 * 7 * 128..][..7 * 128]);
    assert_ne!(fitted.convert(&from, &trials.of(&set([8]))).unwrap(), made);
    assert!(fitted.convert(&from.at(&[]), &other).unwrap().is_empty());
    let nobody = fitted.convert(&from, &other.at(&[])).unwrap_err().to_string();
    assert!(nobody.contains("no trial of the person"), "{nobody}");
    for other_method in [find("eegnet").unwrap(), find("csp-lda").unwrap()] {
        assert!(method.converts() && !other_method.converts());
        let fits = fit(other_method, &trials, set(1..=7), &[1], 1);
        let refused = fits[0].fitted.convert(&from, &other).unwrap_err().to_string();
        assert!(refused.contains("`cslp-ae` can"), "{refused}");
    }
}

/// As many trials in a training step as are decoded at once: the two networks are told apart all the same.
#[test]
fn cslp_ae_that_keeps_its_subjects_converts_whatever_its_batch() {
    let trials = people(6, 12, 0.6, 18);
    let method = find("cslp-ae").unwrap();
    let mut changes = changes(method, 1);
    changes["network"]["pair_trials"] = json!(16);
    changes["training"]["keep_subjects"] = json!(true);
    let fits = fit_with(&changes, method, &trials, set(1..=4), &[1], None, &mut Unwatched).unwrap();
    let fitted = &fits[0].fitted;
    assert_eq!(fitted.known_subjects(), 4);
    let made = fitted.convert(&trials.of(&set([5])), &trials.of(&set([6]))).unwrap();
    assert_eq!(made.len(), 12 * 7 * 128);
    assert!(made.iter().all(|v| v.is_finite()));
}

#[test]
fn a_subject_table_leaves_its_mean_behind() {
    let trials = people(10, 8, 0.5, 7);
    let method = find("ptsm").unwrap();
    let mut changes = changes(method, 3);
    changes["network"]["subject_table"] = json!(true);
    let released = fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut Unwatched).unwrap();
    changes["training"]["keep_subjects"] = json!(true);
    let kept = fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut Unwatched).unwrap();
    assert!(kept[0].fitted.parameters() > released[0].fitted.parameters());
    let of = |fit: &Fit| fit.fitted.probabilities(&trials.all()).unwrap();
    for (a, b) in of(&released[0]).iter().zip(of(&kept[0])) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn lessons_that_teach_nothing_are_refused() {
    let trials = people(4, 6, 0.5, 8);
    let message = |train: Subset<'_>, validation: Subset<'_>| {
        let error = Lesson::new(train, validation).err().unwrap();
        format!("{error}; {}", error.hint().unwrap())
    };
    let one = trials.of(&set([1]));
    let lefts = trials.all().only(|t| t.label == 0);
    assert!(message(one.at(&[0, 1]), trials.of(&set([2]))).contains("too few"));
    assert!(message(lefts, trials.of(&set([9]))).contains("right_hand"));
    assert!(message(trials.of(&set([1, 2])), trials.of(&set([2, 3]))).contains("S02"));
    let none =
        fit_with(&json!({}), find("eegnet").unwrap(), &trials, set([1, 2]), &[1], None, &mut Unwatched);
    assert!(none.err().unwrap().to_string().contains("no validation subject"));
    assert!(find("egnet").err().unwrap().hint().unwrap().contains("eegnet"));
}

//! Distillation: students of every network that can have a teacher, whom they learn from, and that they go on where they were stopped.

use std::path::Path;

use ptsm_decode::distillation::{self, Distillation};
use ptsm_decode::file;
use ptsm_decode::registry::{METHODS, Method, find};
use ptsm_decode::{Error, Fit, FittedDecoder, NoWatch, Progress, Watch};
use ptsm_engine::Cpu;
use ptsm_signal::Trials;
use safetensors::SafeTensors;
use serde_json::{Value, json};

use super::fitting::*;

/// The small form of a method with so many teachers.
fn changes_of(method: &Method, epochs: usize, teachers: usize) -> Value {
    let mut changes = changes(method, epochs);
    changes["distil"] = json!(teachers);
    changes
}

fn distilled(changes: &Value, method: &Method, trials: &Trials, seeds: &[u64]) -> Vec<Fit> {
    fit_with(changes, method, trials, set(1..=7), seeds, None, &mut NoWatch).unwrap()
}

fn bytes(fitted: &dyn FittedDecoder) -> Vec<u8> {
    fitted.to_bytes(Default::default()).unwrap()
}

fn names(file: &[u8]) -> Vec<String> {
    let mut names: Vec<String> =
        SafeTensors::deserialize(file).unwrap().names().into_iter().map(str::to_string).collect();
    names.sort();
    names
}

/// Every network has a teacher or says why not; what comes of it is a single network like any other.
#[test]
fn every_network_is_distilled_into_one_or_says_why_not() {
    let trials = cohort(10, 8, 0.4, 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("student.safetensors");
    let cpu = Cpu::new().unwrap();
    let mut refusing = vec![];
    for method in METHODS {
        let changes = changes_of(method, 2, 2);
        let settings = match method.settings(trials.layout(), &changes) {
            Ok(settings) => settings,
            Err(error) => {
                assert!(matches!(&error, Error::NoDistillation { .. }), "{}: {error}", method.name);
                let said = error.to_string();
                assert!(said.starts_with(&format!("`{}` cannot be distilled: it", method.name)), "{said}");
                assert!(error.hint().unwrap().contains("leave `--distil` out"));
                if method.takes_common_recipe() {
                    refusing.push(method.name);
                }
                let mut settings = method.defaults(trials.layout()).unwrap();
                settings["distil"] = json!(2);
                assert!(matches!(method.build(settings), Err(Error::NoDistillation { .. })));
                continue;
            }
        };
        let expected = Distillation { members: 2, ..Distillation::default() };
        assert_eq!(Distillation::of(&settings).unwrap(), Some(expected));
        let fits = distilled(&changes, method, &trials, &[7, 8]);
        let alone = distilled(&changes, method, &trials, &[8]);
        let single = fit(method, &trials, set(1..=7), &[7, 8], 2);
        for (own, plain) in fits.iter().zip(&single) {
            assert_eq!((own.seed, own.history.len()), (plain.seed, 2), "{}", method.name);
            assert!(own.best_epoch.is_some() && own.members.is_empty());
            assert_eq!(own.fitted.parameters(), plain.fitted.parameters());
            let (own_bytes, plain_bytes) = (bytes(&*own.fitted), bytes(&*plain.fitted));
            assert_eq!(names(&own_bytes), names(&plain_bytes), "{}", method.name);
            assert_ne!(own_bytes, plain_bytes, "{} has learnt nothing from its teacher", method.name);
            let of = |fit: &Fit, name: &str| {
                fit.history.iter().map(|e| e.losses.iter().find(|(n, _)| n == name).map(|l| l.1)).collect()
            };
            let losses: Vec<Option<f64>> = of(own, "distil");
            assert!(losses.iter().all(|l| l.is_some_and(|l| l > 0.0 && l < 3.0)), "{}", method.name);
            assert!(of(plain, "distil").iter().all(Option::is_none));
            assert_eq!(own.fitted.calibration().is_some(), plain.fitted.calibration().is_some());
            assert_eq!(own.fitted.head_prior().is_some(), plain.fitted.head_prior().is_some());
        }
        assert!(bytes(&*fits[1].fitted) == bytes(&*alone[0].fitted), "{}", method.name);
        let mut card = card(method, &trials, 2);
        card.settings = settings;
        file::save(&path, &*fits[0].fitted, &card).unwrap();
        let (again, read) = file::load(&path, &(&cpu).into()).unwrap();
        assert_eq!(read, card);
        assert_eq!(
            decoded(method, &*again, &trials.all()),
            decoded(method, &*fits[0].fitted, &trials.all()),
            "{}",
            method.name
        );
    }
    assert_eq!(refusing, ["acon", "acon-pseudo", "cslp-ae"]);
}

#[test]
fn settings_stay_as_they_were_where_nothing_is_distilled() {
    let trials = cohort(1, 2, 0.4, 2);
    for method in METHODS {
        for none in [json!(0), json!("none")] {
            let settings = method.settings(trials.layout(), &json!({ "distil": none })).unwrap();
            assert_eq!(settings, method.defaults(trials.layout()).unwrap());
        }
    }
    let eegnet = find("eegnet").unwrap();
    let settings = |changes: Value| eegnet.settings(trials.layout(), &changes);
    let all =
        settings(json!({ "distil": { "weight": 0.3 }, "recipe": "common", "recentring": "stream" })).unwrap();
    assert_eq!(all["distil"], json!({ "members": 5, "weight": 0.3, "temperature": 2.0 }));
    assert_eq!((&all["recipe"], &all["recentring"]), (&json!("common"), &json!("stream")));
    // All settings are changes that lead to themselves.
    assert_eq!(settings(all.clone()).unwrap(), all);
    eegnet.build(all).unwrap();
    let both = settings(json!({ "distil": 5, "ensemble": 3 })).unwrap_err().to_string();
    assert!(both.contains("`ensemble` and `distil`") && both.contains("18 trainings"), "{both}");
    let wrong = settings(json!({ "distil": { "members": 5, "teacher": 1 } })).unwrap_err().to_string();
    assert!(wrong.contains("[distil]") && wrong.contains("teacher"), "{wrong}");
}

/// Teachers and students see the job's subjects and nobody else: what others' trials are changes no byte.
#[test]
fn nobody_else_is_learnt_from() {
    let method = find("shallowconvnet").unwrap();
    let changes = changes_of(method, 2, 2);
    let all = cohort(12, 8, 0.4, 2);
    let few = cohort(9, 8, 0.4, 2);
    assert_eq!(all.of(&set(1..=9)).signals().flatten().count(), few.all().signals().flatten().count());
    let of = |trials: &Trials| bytes(&*distilled(&changes, method, trials, &[1]).remove(0).fitted);
    assert!(of(&all) == of(&few));
    // Of a training subject they do.
    let mut x: Vec<f32> = few.all().signals().flatten().copied().collect();
    x[..few.layout().samples].iter_mut().for_each(|x| *x = -*x);
    assert!(of(&few.all().with_samples(x).unwrap()) != of(&few));
}

/// Mirrored at random, seen from both sides, and with losses that move parts of a network each.
#[test]
fn mirrors_and_routed_losses_are_distilled_too() {
    let trials = cohort(10, 8, 0.7, 2);
    let with = |name: &str, key: &str, value: Value| {
        let method = find(name).unwrap();
        let mut changes = changes_of(method, 2, 2);
        match key.split_once('.') {
            Some((table, key)) => changes[table][key] = value,
            None => changes[key] = value,
        }
        distilled(&changes, method, &trials, &[1]).remove(0)
    };
    for fit in [
        with("eegnet", "augment", json!({ "mirror": 0.5 })),
        with("eegnet", "augment", json!({ "mirror": 0.5, "noise": 0.1 })),
        with("shallowconvnet", "training.symmetry", json!("equivariant")),
        with("ptsm", "network.routed", json!(true)),
    ] {
        let losses = &fit.history[1].losses;
        assert!(losses.iter().any(|(name, value)| name == "distil" && value.is_finite()), "{losses:?}");
    }
}

/// Stops after so many steps; progress only goes forward, and is that of teachers and students.
struct After(usize, usize);

impl Watch for After {
    fn progress(&mut self, progress: &Progress<'_>) {
        assert_eq!(progress.jobs.1, 6, "two teachers and a student of two seeds");
        assert!(progress.step >= self.1 && progress.step <= progress.steps, "{progress:?}");
        assert!(progress.ended.iter().all(|epoch| epoch.seed < 3), "epochs of students alone");
        (self.0, self.1) = (self.0 - 1, progress.step);
    }

    fn stop(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn what_was_stopped_continues_with_teachers_and_students() {
    let trials = cohort(10, 8, 0.4, 2);
    let method = find("eegnet").unwrap();
    let changes = changes_of(method, 3, 2);
    let fitted = |checkpoint: Option<&Path>, watch: &mut dyn Watch| {
        fit_with(&changes, method, &trials, set(1..=7), &[1, 2], checkpoint, watch)
    };
    let through = fitted(None, &mut After(usize::MAX, 0)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("checkpoint.safetensors");
    let students = || [1, 2].map(|seed: u64| checkpoint.with_extension(seed.to_string()).exists());
    let (mut stops, mut in_students) = (0, 0);
    let again = loop {
        match fitted(Some(&checkpoint), &mut After(1 + stops % 2, 0)) {
            Ok(fits) => break fits,
            Err(Error::Stopped) => {
                (stops, in_students) = (stops + 1, in_students + usize::from(students()[0]))
            }
            Err(error) => panic!("{error}"),
        }
        assert!(stops < 100);
    };
    assert!(stops > in_students && in_students > 0, "{stops} {in_students}");
    for (a, b) in through.iter().zip(&again) {
        assert_eq!((&a.history, a.best_epoch), (&b.history, b.best_epoch));
        assert!(bytes(&*a.fitted) == bytes(&*b.fitted));
    }
    let settings = method.settings(trials.layout(), &changes).unwrap();
    let files: Vec<_> = [1, 2]
        .into_iter()
        .flat_map(|seed: u64| {
            distillation::checkpoints(&checkpoint.with_extension(seed.to_string()), &settings)
        })
        .collect();
    assert_eq!(files.len(), 6);
    assert!(files.iter().all(|file| file.exists()), "{files:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6);
    // Other targets are another student: its checkpoint is not taken for this one's.
    let mut other = changes.clone();
    other["distil"] = json!({ "members": 2, "temperature": 3.0 });
    let refused = fit_with(&other, method, &trials, set(1..=7), &[1], Some(&checkpoint), &mut NoWatch);
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("belongs to another run"), "{refused}");
}

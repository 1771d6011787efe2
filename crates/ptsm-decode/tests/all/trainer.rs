//! What the trainer promises: seeds, jobs, stops and checkpoints, no leak; and what adaptation and conversion change.

use std::collections::HashMap;
use std::path::Path;

use ptsm_decode::file::{self, ModelCard};
use ptsm_decode::registry::{METHODS, Method, find};
use ptsm_decode::{
    Adaptation, AdaptationWay, EpochRecord, Error, Fit, FittedDecoder, Job, NoWatch, Progress, Run,
    TrainingData, Watch, calibration_split,
};
use ptsm_engine::Cpu;
use ptsm_signal::{Channel, Layout, SubjectId, Subset, TargetAccess, Trial, Trials};
use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::fitting::*;

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
            changes["training"]["symmetry"] = json!("none");
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
    let training =
        json!({ "epochs": 6, "course": "constant", "clip": null, "select": "last", "weight_decay": 1e-4 });
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
pub(super) struct Impatient {
    left: usize,
    at_epoch_end: bool,
}

impl Impatient {
    pub(super) fn after(steps: usize) -> Impatient {
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

pub(super) fn tensors(path: &Path) -> HashMap<String, (Vec<usize>, Vec<u8>)> {
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
    let masks = Adaptation { how: AdaptationWay::Masks, ..Adaptation::default() };
    let adaptation = Adaptation { guard: false, ..masks.clone() };
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
    let guarded = fits[0].fitted.adapt(&shots, &masks).unwrap();
    let p = |f: &dyn FittedDecoder| f.probabilities(&later).unwrap();
    let guard = guarded.guard.unwrap();
    let expected = if guard.kept { p(&*adapted.fitted) } else { p(&*fits[0].fitted) };
    assert_eq!(p(&*guarded.fitted), expected);
    assert_eq!(guard.kept, guard.tuned_accuracy > guard.before_accuracy);
    // A step too small to change any answer gains nothing, whatever it does to the probabilities.
    let slight = fits[0].fitted.adapt(&shots, &Adaptation { steps: 1, rate: 1e-6, ..masks.clone() }).unwrap();
    let guard = slight.guard.unwrap();
    assert_eq!((guard.tuned_accuracy, guard.kept), (guard.before_accuracy, false), "{guard:?}");
    assert_ne!(guard.tuned_loss, guard.before_loss);
    assert_eq!(p(&*slight.fitted), p(&*fits[0].fitted));
    // Others have no masks.
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

//! Cohorts to learn from, and small fits of every method of the registry.

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_decode::file::{ModelCard, Provenance};
use ptsm_decode::registry::{METHODS, Method};
use ptsm_decode::{Error, Fit, FittedDecoder, Job, NoWatch, Run, TrainingData, Watch};
use ptsm_engine::Cpu;
use ptsm_signal::{
    Channel, Layout, Paradigm, Pipeline, SubjectId, Subset, TargetAccess, TaskDeclaration, Trial, Trials,
};
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// Subjects whose rhythm over one hand area is weaker than over the other, one way for each class; in the middle a wave after each cue
/// goes up for one class and down for the other.
pub(super) fn cohort(subjects: u32, each: u32, effect: f32, seed: u64) -> Trials {
    cohort_of(2, subjects, each, effect, seed)
}

/// The same with any number of classes: of more than two each has an area and a time of its own.
pub(super) fn cohort_of(classes: u32, subjects: u32, each: u32, effect: f32, seed: u64) -> Trials {
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

pub(super) fn set(ids: impl IntoIterator<Item = u32>) -> BTreeSet<SubjectId> {
    ids.into_iter().map(SubjectId).collect()
}

/// What the tests need to know of a method: its line in `cases.json`, where every method must have one.
///
/// - `small`: changes that make it small enough to learn in a second or so;
/// - `parameters`: the numbers it learns from 62 channels, 250 samples at 250 Hz and 2 classes;
/// - `quick`: changes that end a fit on noise early, where it would go on for long;
/// - `mirrors`: whether its trials may be mirrored; they may unless it says `false`.
pub(super) fn case(method: &Method) -> Value {
    let cases: Value = serde_json::from_str(include_str!("../cases.json")).unwrap();
    let case =
        cases.get(method.name).unwrap_or_else(|| panic!("`{}` has no line in cases.json", method.name));
    case.clone()
}

/// Small enough to learn in a second or so.
pub(super) fn changes(method: &Method, epochs: usize) -> Value {
    let mut changes = case(method)["small"].take();
    if settings(method)["training"].is_object() {
        let rate = changes["training"]["rate"].as_f64().unwrap_or(3e-3);
        changes["training"] = json!({ "epochs": epochs, "rate": rate });
    }
    changes
}

/// A method's defaults for the trials of these tests.
pub(super) fn settings(method: &Method) -> Value {
    method.defaults(cohort(1, 2, 0.0, 1).layout()).unwrap()
}

pub(super) fn fit(
    method: &Method,
    trials: &Trials,
    train: BTreeSet<SubjectId>,
    seeds: &[u64],
    epochs: usize,
) -> Vec<Fit> {
    fit_with(&changes(method, epochs), method, trials, train, seeds, None, &mut NoWatch).unwrap()
}

pub(super) fn fit_with(
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
pub(super) fn decoded(method: &Method, fitted: &dyn FittedDecoder, trials: &Subset<'_>) -> Vec<f32> {
    let adapted_copy = fitted.with_target_access(trials, method.target_access).unwrap();
    adapted_copy.as_deref().unwrap_or(fitted).probabilities(trials).unwrap()
}

pub(super) fn accuracy(method: &Method, fit: &Fit, trials: &Subset<'_>) -> f64 {
    let p = decoded(method, &*fit.fitted, trials);
    let classes = trials.layout().classes.len();
    let likeliest = |p: &[f32]| (0..classes).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
    let right = p.chunks(classes).zip(trials.labels()).filter(|(p, l)| likeliest(p) == *l as usize).count();
    right as f64 / trials.len() as f64
}

pub(super) fn card(method: &Method, trials: &Trials, epochs: usize) -> ModelCard {
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
pub(super) fn looks(method: &Method, trials: &Trials) -> bool {
    let decoder = method.build(method.defaults(trials.layout()).unwrap()).unwrap();
    method.target_access != TargetAccess::Nothing && !decoder.learns_from_target()
}

pub(super) fn classic() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(|method| !method.random)
}

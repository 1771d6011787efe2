//! A benchmark that cannot come to its end does not begin.

use std::collections::BTreeMap;
use std::path::Path;

use ptsm_data::Source;
use ptsm_decode::registry::find;
use ptsm_decode::{Error, Progress, Watch};
use ptsm_engine::Cpu;
use ptsm_eval::{
    Benchmark, DecoderEntry, Division, FitScores, Observer, Protocol, Record, Stage, StageTrials,
};
use ptsm_signal::{Pipeline, SubjectId, TargetAccess, Trials};
use serde_json::{Value, json};

fn stage(trials: &Trials, protocol: Protocol, entries: Vec<DecoderEntry>, seeds: Vec<u64>) -> Stage {
    Stage {
        data: "simulated".into(),
        fingerprint: "simulated".into(),
        layout: trials.layout().clone(),
        pipeline: Pipeline::default(),
        trials_access: TargetAccess::Nothing,
        division: Division::Within(protocol),
        transfers: vec![],
        shots: vec![],
        how: Default::default(),
        entries,
        seeds,
        precision: None,
        features: false,
        source_only: vec![],
    }
}

#[test]
fn a_subject_that_cannot_be_decoded_is_reported_before_training() {
    let all = Source::parse("simulated", None).unwrap().load(None, None).unwrap().trials;
    // The last subject has one trial.
    let mut last = 0;
    let some = all.all().only(|trial| trial.subject.0 <= 6);
    let some = some.at(&(0..some.len())
        .filter(|&place| {
            let of_last = some.info().nth(place).unwrap().subject == SubjectId(6);
            last += usize::from(of_last);
            !of_last || last == 1
        })
        .collect::<Vec<_>>());
    let samples = some.signals().flatten().copied().collect();
    let trials = Trials::new(all.layout().clone(), samples, some.info().copied().collect()).unwrap();
    let entries = ["csp-lda", "tsmnet"].map(|name| {
        let settings = find(name).unwrap().settings(trials.layout(), &json!({})).unwrap();
        DecoderEntry { model: name.into(), variant: None, settings }
    });
    let stage = stage(&trials, Protocol::LeaveOneOut, entries.into(), vec![1]);
    let error = stage.items(StageTrials::one(&trials)).unwrap_err();
    assert!(error.to_string().contains("1 trial of S06 in session 1"), "{error}");
    assert!(error.hint().unwrap().contains("leave that subject"));
}

/// Counts fits, and stops after so many steps.
struct Counter {
    groups: Vec<(String, usize)>,
    steps: usize,
    most: usize,
}

impl Watch for Counter {
    fn progress(&mut self, _: &Progress<'_>) {
        self.steps += 1;
    }

    fn stop(&self) -> bool {
        self.steps >= self.most
    }
}

impl Observer for Counter {
    fn begins(&mut self, called: &str, fits: usize, _: (usize, usize)) {
        self.groups.push((called.into(), fits));
    }
}

/// Does a stage in a folder, as far as so many steps.
fn run(
    stage: &Stage,
    trials: &Trials,
    folder: &Path,
    most: usize,
) -> (Counter, Result<(), ptsm_eval::Error>) {
    let mut counter = Counter { groups: vec![], steps: 0, most };
    let device = (&Cpu::new().unwrap()).into();
    let sets = StageTrials::one(trials);
    let done = Benchmark { stage, sets, device: &device, folder, ask: None }.run(&|_| true, &mut counter);
    (counter, done)
}

/// The records of each entry by its name, and how many fits each of its items is made of.
fn records(stage: &Stage, trials: &Trials, folder: &Path) -> BTreeMap<String, (Vec<Record>, usize)> {
    let mut all = BTreeMap::new();
    for item in stage.items(StageTrials::one(trials)).unwrap() {
        let outcome = item.outcome(folder).expect("an outcome of every item");
        let FitScores::Scored { records } = outcome.scores else { panic!("{:?}", outcome.scores) };
        let own = all.entry(stage.entries[item.entry].display_name()).or_insert((vec![], outcome.made_of));
        assert_eq!(own.1, outcome.made_of);
        own.0.extend(records);
    }
    all
}

fn files(folder: &Path) -> Vec<String> {
    let all = std::fs::read_dir(folder.join("items")).unwrap();
    all.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

/// What differs in members and recentring alone is made of the same fits, and its records are those of each decoder run for itself, also where
/// a process was stopped in between.
#[test]
fn fits_are_shared_and_change_no_record() {
    let all = Source::parse("simulated", None).unwrap().load(None, None).unwrap().trials;
    let some = all.all().only(|trial| trial.subject.0 <= 6);
    let some = some.at(&(0..some.len()).step_by(3).collect::<Vec<_>>());
    let samples = some.signals().flatten().copied().collect();
    let trials = Trials::new(all.layout().clone(), samples, some.info().copied().collect()).unwrap();
    let entry = |name: &str, more: Value| {
        let mut changes = json!({ "training": { "epochs": 2, "patience": null } });
        changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let settings = find("eegnet").unwrap().settings(trials.layout(), &changes).unwrap();
        DecoderEntry { model: "eegnet".into(), variant: Some(name.into()), settings }
    };
    let entries = vec![
        entry("single", json!({})),
        entry("three", json!({ "ensemble": 3 })),
        entry("other", json!({ "network": { "dropout": 0.1 } })),
        entry("recentred", json!({ "recentring": "whole" })),
        entry("two, recentred", json!({ "ensemble": 2, "recentring": "stream" })),
    ];
    let of =
        |entries: &[DecoderEntry]| stage(&trials, Protocol::Folds { k: 2 }, entries.to_vec(), vec![1, 2]);
    let folder = tempfile::tempdir().unwrap();
    let whole = of(&entries);
    let (counter, done) = run(&whole, &trials, folder.path(), usize::MAX);
    done.unwrap();
    // Two folds, two seeds, three members; and `other`.
    let expected = [("eegnet, single, and 3 made of the same fits", 12), ("eegnet, other", 4)];
    assert_eq!(counter.groups, expected.map(|(name, fits)| (name.to_string(), fits)));
    let shared = records(&whole, &trials, folder.path());
    let made_of = |name: &str| shared[&format!("eegnet, {name}")].1;
    assert_eq!(["single", "three", "recentred", "two, recentred"].map(made_of), [1, 3, 1, 2]);
    assert!(files(folder.path()).iter().all(|name| name.ends_with(".json")));

    for one in &entries {
        let alone = tempfile::tempdir().unwrap();
        let own = of(std::slice::from_ref(one));
        run(&own, &trials, alone.path(), usize::MAX).1.unwrap();
        let (records, _) = &records(&own, &trials, alone.path())[&one.display_name()];
        assert_eq!(records, &shared[&one.display_name()].0, "{}", one.display_name());
    }

    let again = tempfile::tempdir().unwrap();
    let steps = counter.steps;
    for most in [steps / 5, steps / 4] {
        let (_, stopped) = run(&whole, &trials, again.path(), most);
        assert!(matches!(stopped, Err(ptsm_eval::Error::Decode(Error::Stopped))), "{stopped:?}");
    }
    run(&whole, &trials, again.path(), usize::MAX).1.unwrap();
    assert_eq!(records(&whole, &trials, again.path()), shared);
    assert!(files(again.path()).iter().all(|name| name.ends_with(".json")), "{:?}", files(again.path()));
}

//! The simulated subjects are about as hard to decode as real ones: a changed constant must not make them easy or hopeless unnoticed.

use ptsm_data::Source;
use ptsm_decode::registry::find;
use ptsm_decode::{Progress, Watch};
use ptsm_engine::Cpu;
use ptsm_eval::Protocol;
use ptsm_eval::{Benchmark, DecoderEntry, Division, Observer, Stage, StageTrials, Summary, WorkList};
use serde_json::json;

struct Silent;

impl Watch for Silent {
    fn progress(&mut self, _: &Progress<'_>) {}
}

impl Observer for Silent {
    fn begins(&mut self, _: &str, _: usize, _: (usize, usize)) {}
}

#[test]
fn csp_and_lda_decode_unseen_subjects_as_they_do_in_studies() {
    let loaded = Source::parse("simulated", None).unwrap().load(None, None).unwrap();
    let method = find("csp-lda").unwrap();
    let settings = method.settings(loaded.trials.layout(), &json!({})).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage {
        data: loaded.name.clone(),
        fingerprint: loaded.fingerprint.clone(),
        layout: loaded.trials.layout().clone(),
        pipeline: loaded.pipeline.clone(),
        trials_access: loaded.pipeline.target_access(),
        division: Division::Within(Protocol::Folds { k: 5 }),
        transfers: vec![],
        shots: vec![],
        how: Default::default(),
        entries: vec![DecoderEntry { model: "csp-lda".into(), variant: None, settings }],
        seeds: vec![1],
        precision: None,
        features: false,
        source_only: vec![],
    };
    let sets = StageTrials::one(&loaded.trials);
    let device = (&Cpu::new().unwrap()).into();
    let benchmark = Benchmark { stage: &stage, sets, device: &device, folder: folder.path(), ask: None };
    let list = WorkList { stages: vec![(stage.clone(), stage.items(sets).unwrap())] };
    let run = || {
        benchmark.run(&|_| true, &mut Silent).unwrap();
        list.collect(folder.path())
    };
    let collected = run();
    let summary = &Summary::of(&collected.records).unwrap()[0];
    let accuracy = summary.metric("accuracy").unwrap();
    assert!((0.65..=0.75).contains(&accuracy.mean), "{}", accuracy.mean);
    // Subjects differ, as they do in reality: some cannot be decoded, and hardly any always.
    assert!(accuracy.sd_subjects.unwrap() > 0.08, "{:?}", accuracy.sd_subjects);
    let accuracies = || summary.subjects.iter().map(|s| s.scores["accuracy"]);
    assert!(accuracies().fold(1.0, f64::min) < 0.6 && accuracies().filter(|a| *a > 0.95).count() <= 1);
    // Started again, nothing is left to do.
    assert_eq!((collected.missing, collected.failures.len()), (0, 0));
    assert_eq!(run(), collected);
}

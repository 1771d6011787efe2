//! A benchmark that cannot come to its end does not begin.

use ptsm_data::Source;
use ptsm_decode::registry::find;
use ptsm_eval::Protocol;
use ptsm_eval::{DecoderEntry, Division, Stage, StageTrials};
use ptsm_signal::{Pipeline, SubjectId, TargetAccess, Trials};
use serde_json::json;

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
    let stage = Stage {
        data: "simulated".into(),
        fingerprint: "one trial".into(),
        layout: trials.layout().clone(),
        pipeline: Pipeline::default(),
        trials_access: TargetAccess::Nothing,
        division: Division::Within(Protocol::LeaveOneOut),
        transfers: vec![],
        shots: vec![],
        how: Default::default(),
        entries: entries.into(),
        seeds: vec![1],
        precision: None,
        features: false,
        source_only: vec![],
    };
    let error = stage.items(StageTrials::one(&trials)).unwrap_err();
    assert!(error.to_string().contains("1 trial of S06 in session 1"), "{error}");
    assert!(error.hint().unwrap().contains("leave that subject"));
}

//! A benchmark that cannot come to its end does not begin.
#![allow(clippy::unwrap_used)]

use ptsm_data::{Protocol, Source};
use ptsm_decode::Watch;
use ptsm_decode::registry::find;
use ptsm_engine::Cpu;
use ptsm_eval::{Benchmark, Entry, Observer};
use ptsm_signal::{SubjectId, Trials};
use serde_json::json;

/// Counts the decoders whose fits have begun.
#[derive(Default)]
struct Counting(usize);

impl Watch for Counting {}

impl Observer for Counting {
    fn begins(&mut self, _: &'static str, _: usize, _: (usize, usize)) {
        self.0 += 1;
    }
}

#[test]
fn a_person_who_cannot_be_decoded_is_told_before_anything_is_learnt() {
    let all = Source::parse("simulated", None).unwrap().load(None, None).unwrap().trials;
    // The last person has one trial.
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
        let method = find(name).unwrap();
        Entry { method, settings: method.settings(trials.layout(), &json!({})).unwrap() }
    });
    let folder = tempfile::tempdir().unwrap();
    let benchmark = Benchmark {
        data: "simulated",
        trials: &trials,
        trials_access: Default::default(),
        fingerprint: "one trial",
        protocol: &Protocol::LeaveOneOut,
        entries: &entries,
        seeds: &[1],
        device: &(&Cpu::new().unwrap()).into(),
        folder: folder.path(),
    };
    let mut begun = Counting::default();
    let error = benchmark.run(&mut begun).unwrap_err();
    assert!(error.to_string().contains("1 trial of S06 in session 1"), "{error}");
    assert!(error.hint().unwrap().contains("leave that person"));
    assert_eq!(begun.0, 0);
    assert!(benchmark.records().unwrap().is_empty());
}

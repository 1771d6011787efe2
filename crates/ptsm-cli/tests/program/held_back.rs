//! Validation subjects are held back for decoders that look at them, and for no others; how many is said.

use serde_json::Value;

use crate::common::{Place, QUICK, SMALL, cohort};

fn numbers(trained: &Value, which: &str) -> usize {
    trained[which].as_array().unwrap().len()
}

#[test]
fn a_decoder_that_does_not_look_at_validation_subjects_learns_from_everybody() {
    let place = Place::with_data();
    let trained = place.ptsm("train --json --data a.npz --subjects 1-6 --out a").args(QUICK).succeed().json();
    assert_eq!((numbers(&trained, "train_subjects"), numbers(&trained, "validation_subjects")), (6, 0));
    assert_eq!(trained["trials"], 6 * 16);
    let said = place.ptsm("train --data a.npz --subjects 1-6 --out b").args(QUICK).succeed().stdout;
    assert!(said.contains("trained on 96 trials of 6 subjects; no validation subjects held back"), "{said}");

    // A network does look, and so does a classic decoder that calibrates its probabilities on them.
    let line = "train --data a.npz --subjects 1-6 --set training.epochs=1 --out c";
    let said = place.ptsm(line).args(SMALL).succeed().stdout;
    assert!(said.contains("64 trials of 4 subjects; 2 validation subjects held back (S0"), "{said}");
    let line = "train --json --data a.npz --subjects 1-6 --model sblest --set band_hz=none --out d";
    let trained = place.ptsm(line).succeed().json();
    assert_eq!((numbers(&trained, "train_subjects"), numbers(&trained, "validation_subjects")), (4, 2));

    // One subject is enough to learn from where nobody is held back.
    cohort(1, 16, 0.6).write(&place.path("one.npz"));
    let trained = place.ptsm("train --json --data one.npz --out one").args(QUICK).succeed().json();
    assert_eq!(numbers(&trained, "train_subjects"), 1);
}

#[test]
fn a_benchmark_says_what_each_decoder_learns_from() {
    let place = Place::with_data();
    let line = "benchmark --data a.npz --models csp-lda,eegnet,mdm --set training.epochs=1 --set band_hz=none \
                --protocol kfold:4 --out bench";
    let said = place.ptsm(line).succeed().stderr;
    let part = "csp-lda; mdm trained on 6 subjects in each fold. eegnet trained on 4 subjects in each fold, \
                2 validation subjects held back";
    assert!(said.contains(part), "{said}");
    let mut trials = vec![];
    for name in place.list().iter().filter(|name| name.starts_with("bench/items/")) {
        let outcome: Value = match name.ends_with(".json") {
            true => serde_json::from_slice(&place.read(name)).unwrap(),
            false => continue,
        };
        let model = outcome["records"][0]["model"].as_str().unwrap().to_string();
        trials.push((model, outcome["trials"].as_u64().unwrap()));
    }
    trials.sort();
    trials.dedup();
    let expected = [("csp-lda", 96), ("eegnet", 64), ("mdm", 96)].map(|(name, n)| (name.to_string(), n));
    assert_eq!(trials, expected);
}

/// Whoever names the validation subjects decides that they are not trained on.
#[test]
fn a_split_that_is_named_stays_as_it_is() {
    let place = Place::with_data();
    let line =
        "benchmark --data a.npz --models csp-lda --set band_hz=none --protocol fixed:1-4/5-6/7-8 --out bench";
    let said = place.ptsm(line).succeed().stderr;
    let part = "csp-lda trained on 4 subjects in each fold, 2 validation subjects held back";
    assert!(said.contains(part), "{said}");
}

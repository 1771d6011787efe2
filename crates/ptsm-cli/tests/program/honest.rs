//! Where there is nothing to be found, nothing is found.

use ptsm::io::npy::Array;
use serde_json::Value;

use crate::common::{Place, cohort, random};

/// Above what chance reaches on all trials together, once in a thousand times.
fn above(summary: &Value) -> bool {
    let chance = &summary["chance"];
    let n = chance["pooled_n"].as_u64().unwrap() as f64;
    // 3.09 standard deviations of a fair coin.
    chance["pooled_accuracy"].as_f64().unwrap() > 0.5 + 3.09 * 0.5 / n.sqrt()
}

fn summaries(place: &Place, line: &str) -> Vec<Value> {
    let result = place.ptsm(&format!("benchmark --json --protocol kfold:4 {line}")).succeed().json();
    result["summary"].as_array().unwrap().clone()
}

#[test]
fn subjects_without_any_effect_give_chance() {
    let place = Place::new();
    let cohort = "--subjects 8 --channels C3,Cz,C4,P3,P4 --seed 3";
    place.ptsm(&format!("data simulate --out none --strength 0 {cohort}")).succeed();
    place.ptsm(&format!("data simulate --out strong --strength 2 {cohort}")).succeed();
    let models = "--models csp-lda,eegnet --set training.epochs=5";
    for summary in summaries(&place, &format!("--data none --out a {models}")) {
        assert!(!above(&summary), "{} finds what is not there: {}", summary["model"], summary["chance"]);
    }
    // The same subjects with an effect: the test can fail.
    let strong = summaries(&place, "--data strong --out b --models csp-lda");
    assert!(above(&strong[0]), "{}", strong[0]["chance"]);
}

#[test]
fn shuffled_labels_give_chance() {
    let place = Place::new();
    let good = cohort(8, 24, 0.6);
    let mut random = random(5);
    let mut labels: Vec<u32> = (0..8 * 24).map(|i| i % 2).collect();
    for i in (1..labels.len()).rev() {
        labels.swap(i, (random() * (i + 1) as f64) as usize);
    }
    good.write(&place.path("true.npz"));
    good.with("y", Array::vector(labels)).write(&place.path("shuffled.npz"));
    let models =
        "--models csp-lda,eegnet --set training.epochs=15 --set training.rate=0.003 --set band_hz=none";
    for summary in summaries(&place, &format!("--data shuffled.npz --out a {models}")) {
        assert!(!above(&summary), "{} finds what is not there: {}", summary["model"], summary["chance"]);
    }
    for summary in summaries(&place, &format!("--data true.npz --out b {models}")) {
        assert!(above(&summary), "{} does not find what is there: {}", summary["model"], summary["chance"]);
    }
}

/// The target access stands beside every score: a decoder that was trained on some subjects' unlabelled trials has seen nothing of others.
#[test]
fn scores_state_their_target_access() {
    let place = Place::with_data();
    let line = |rest: &str| format!("train --data a.npz --set training.epochs=2 {rest}");
    for (rest, said, hint) in [
        ("--subjects 1-5 --model dann --out x", "none are named", "--target"),
        (
            "--subjects 1-5 --model eegnet --target 6 --out x",
            "does not use target subjects",
            "leave `--target` out",
        ),
        ("--subjects 1-5 --model dann --target 5-6 --out x", "S05 is both", "labels"),
        ("--model dann --target 99 --out x", "99", ""),
    ] {
        let refused = place.ptsm(&line(rest)).run();
        assert_eq!(refused.code, Some(1), "{rest}");
        assert!(refused.stderr.contains(said) && refused.stderr.contains(hint), "{rest}: {}", refused.stderr);
    }
    let trained =
        place.ptsm(&line("--subjects 1-5 --model dann --target 6-7 --out run --json")).succeed().json();
    assert_eq!(trained["target_trials"], 32);
    let scored = place.ptsm("evaluate run --data a.npz --json").succeed().json();
    let seen = |subject: u64| {
        let records = scored["records"].as_array().unwrap();
        records.iter().find(|r| r["subject"] == subject).map(|r| r["target_access"].clone())
    };
    let (whole, nothing) =
        (serde_json::json!({ "unlabelled": { "fraction": 1.0 } }), serde_json::json!("nothing"));
    assert_eq!(
        [seen(1), seen(6), seen(7), seen(8)],
        [None, Some(whole.clone()), Some(whole.clone()), Some(nothing.clone())]
    );
    for (subjects, access) in [("6", &whole), ("8", &nothing), ("6-8", &whole)] {
        let predicted =
            place.ptsm(&format!("predict run --data a.npz --subjects {subjects} --json")).succeed().json();
        assert_eq!(&predicted["target_access"], access, "{subjects}");
    }
    // An adapted decoder has seen labels, of whomever the decoder it was made from had seen nothing.
    for (subject, unlabelled) in [(8, 0.0), (6, 1.0)] {
        let line = format!("adapt run --data a.npz --subject {subject} --shots 3 --out to-{subject} --json");
        let adapted = place.ptsm(&line).succeed().json();
        let labelled = serde_json::json!({ "labelled": { "per_class": 3, "unlabelled": unlabelled } });
        assert_eq!(adapted["target_access"], labelled);
        let line = format!("evaluate to-{subject} --data a.npz --subjects {subject} --json");
        assert_eq!(place.ptsm(&line).succeed().json()["records"][0]["target_access"], labelled);
        let line = format!("predict to-{subject} --data a.npz --subjects {subject} --json");
        assert_eq!(place.ptsm(&line).succeed().json()["target_access"], labelled);
    }
    // A benchmark hands out the subjects of each fold by itself, without asking.
    let line = "benchmark --json --protocol kfold:4 --data a.npz --models dann,dann-subject --set training.epochs=2 --out bench";
    let records = place.ptsm(line).succeed().json()["records"].clone();
    for record in records.as_array().unwrap() {
        let access = if record["model"] == "dann" { &whole } else { &nothing };
        assert_eq!(&record["target_access"], access, "{record}");
    }
}

//! `ptsm tune`: it finds what is better, looks at nobody else, continues when killed, and its subjects are never tested.

use std::collections::BTreeMap;

use ptsm::io::npy::{Array, Data};

use crate::common::{Case, Place, check, cohort};

/// A decoder that needs milliseconds. The trials have no filter band of their own.
const TUNE: &str = "tune --data a.npz --model csp-lda --set band_hz=none";

/// What a search found: everything that must be the same, to the byte, when it is done again.
fn found(place: &Place, out: &str) -> BTreeMap<String, Vec<u8>> {
    let is_result =
        |name: &str| name.starts_with("trials") || name.ends_with(".toml") || name.ends_with(".jsonl");
    let own =
        place.list().into_iter().filter_map(|name| name.strip_prefix(&format!("{out}/")).map(String::from));
    own.filter(|name| !name.contains('/') && is_result(name))
        .map(|name| (name.clone(), place.read(&format!("{out}/{name}"))))
        .collect()
}

/// The rows of a table, by the names of its columns.
fn rows(place: &Place, file: &str) -> Vec<BTreeMap<String, String>> {
    let text = String::from_utf8(place.read(file)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
    let head = lines.next().unwrap();
    lines.map(|cells| head.iter().cloned().zip(cells).collect()).collect()
}

/// Whose rate is next to nothing learns nothing.
fn eegnet(place: &Place, out: &str) -> crate::common::Test {
    place
        .ptsm("tune --data a.npz --model eegnet --develop 1-6 --try training.rate=1e-9,3e-3,1e-2 --seeds 2")
        .args(["--set", "training.epochs=30", "--set", "training.patience=none", "--out", out])
}

#[test]
fn the_better_setting_is_found_and_written_as_a_configuration() {
    let place = Place::with_data();
    let said = eegnet(&place, "tuned").args(["--json"]).succeed().json();
    let search = &said["searches"][0];
    assert_ne!(search["best"]["settings"]["training.rate"], 1e-9, "{search}");
    assert!(search["best"]["mean"].as_f64().unwrap() > 0.7, "{search}");
    assert_eq!((&search["best"]["budget"], &search["best"]["unit"]), (&30.into(), &"epoch".into()));
    assert_eq!(search["people"], serde_json::json!([1, 2, 3, 4, 5, 6]));

    // Three with ten epochs, the best of them with thirty; three folds and two seeds each.
    let rows = rows(&place, "tuned/trials.csv");
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("rung"), ["1", "1", "1", "2"]);
    assert_eq!(column("budget"), ["10", "10", "10", "30"]);
    assert_eq!(column("training.rate")[..3], ["1e-9", "0.003", "0.01"]);
    assert_eq!(column("fits"), ["6"; 4]);
    assert!(rows.iter().all(|row| row["sd"].parse::<f64>().is_ok() && row["error"].is_empty()));

    let text = String::from_utf8(place.read("tuned/best.toml")).unwrap();
    // What was chosen, and what all candidates had in common.
    for part in ["\n[training]\n", "\nrate = 0.", "\nepochs = 30\n", "\npatience = \"none\"\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("(1-6)") && text.contains("kfold:3") && text.contains("tuned_on = ["), "{text}");
    assert!(place.read("tuned/trials-training.rate.svg").starts_with(b"<svg"));
    // A second time there is nothing to do, and the same is said.
    let before = found(&place, "tuned");
    eegnet(&place, "tuned").succeed();
    assert_eq!(found(&place, "tuned"), before);
}

#[test]
fn nobody_outside_of_the_development_set_is_looked_at() {
    let search = |place: &Place| {
        place.ptsm(TUNE).args("--develop 1-5 --try filters=1,2,4 --folds 5 --out tuned".split(' ')).succeed();
        found(place, "tuned")
    };
    let place = Place::with_data();
    let whole = search(&place);
    assert_eq!(whole.len(), 4, "{:?}", whole.keys());
    // All others have other labels and other signals.
    let arrays = cohort(8, 16, 0.6);
    let Data::F32(mut x) = arrays.get("X").clone().into_data() else { panic!("X is f32") };
    let Data::U32(mut y) = arrays.get("y").clone().into_data() else { panic!("y is u32") };
    let (first, each) = (5 * 16, x.len() / y.len());
    y[first..].iter_mut().for_each(|label| *label = 1 - *label);
    x[first * each..].iter_mut().for_each(|value| *value = 3.0 - 2.0 * *value);
    let spoilt = Place::new();
    let shape = arrays.get("X").shape().to_vec();
    arrays.with("X", Array::new(shape, x).unwrap()).with("y", Array::vector(y)).write(&spoilt.path("a.npz"));
    assert_eq!(search(&spoilt), whole);
}

#[test]
fn a_killed_search_continues_to_the_same_bytes() {
    let place = Place::with_data();
    let started = std::time::Instant::now();
    let said = eegnet(&place, "whole").succeed().stdout;
    let took = started.elapsed();
    for part in [0.3, 0.6, 0.8] {
        let mut child = eegnet(&place, "run").spawn();
        std::thread::sleep(took.mul_f64(part));
        // It may have come to its end, which is as good.
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert_eq!(eegnet(&place, "run").succeed().stdout, said.replace("whole", "run"));
    assert_eq!(found(&place, "run"), found(&place, "whole"));
}

#[test]
fn a_nested_search_tests_everybody_once() {
    let place = Place::with_data();
    let line =
        "--nested kfold:4 --try filters=1,2 --try align=none,euclidean --metric log_loss --out nested --json";
    let said = place.ptsm(TUNE).args(line.split(' ')).succeed().json();
    let mut tested: Vec<u64> =
        said["records"].as_array().unwrap().iter().map(|r| r["subject"].as_u64().unwrap()).collect();
    tested.sort_unstable();
    assert_eq!(tested, (1..=8).collect::<Vec<u64>>());
    let searches = said["searches"].as_array().unwrap();
    assert_eq!(searches.len(), 4);
    for search in searches {
        let list = |name: &str| search[name].as_array().unwrap().clone();
        assert_eq!((list("people").len(), list("tested").len()), (6, 2));
        assert!(list("people").iter().all(|subject| !list("tested").contains(subject)), "{search}");
        assert!(search["score"].as_f64().is_some());
    }
    for fold in 0..4 {
        assert!(
            String::from_utf8(place.read(&format!("nested/fold-{fold}.toml"))).unwrap().contains("filters")
        );
    }
    assert_eq!(String::from_utf8(place.read("nested/results.jsonl")).unwrap().lines().count(), 8);
}

/// With the labels of those who are tested the other way round, a fold chooses the same.
#[test]
fn a_fold_chooses_without_the_subjects_it_tests() {
    let search = |place: &Place| {
        let line = "--nested fixed:1-5/6/7-8 --try filters=1,2,4 --out nested";
        place.ptsm(TUNE).args(line.split(' ')).succeed();
        ["fold-0.toml", "trials.csv", "trials-filters.svg"].map(|name| place.read(&format!("nested/{name}")))
    };
    let place = Place::with_data();
    let arrays = cohort(8, 16, 0.6);
    let Data::U32(mut y) = arrays.get("y").clone().into_data() else { panic!("y is u32") };
    y[6 * 16..].iter_mut().for_each(|label| *label = 1 - *label);
    let spoilt = Place::new();
    arrays.with("y", Array::vector(y)).write(&spoilt.path("a.npz"));
    assert_eq!(search(&spoilt), search(&place));
    assert_ne!(spoilt.read("nested/results.jsonl"), place.read("nested/results.jsonl"));
}

#[test]
fn those_who_were_tuned_on_are_not_tested() {
    let place = Place::with_data();
    place.ptsm(TUNE).args("--develop 1-4 --try filters=1,2 --out tuned".split(' ')).succeed();
    // The same subjects under other numbers and another name.
    let arrays = cohort(8, 16, 0.6);
    let numbers: Vec<u32> = (0..8 * 16).map(|i| 20 - i / 16).collect();
    arrays.with("subject", Array::vector(numbers)).write(&place.path("b.npz"));
    let benchmark = "benchmark --models csp-lda --set band_hz=none --config tuned/best.toml --out bench";
    let refused = |line: &str, hint: &str| {
        let outcome = place.ptsm(&format!("{benchmark} {line}")).run();
        assert_eq!(outcome.code, Some(1), "{line}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains("the settings were tuned on 4 of the test subjects"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(hint), "{}", outcome.stderr);
    };
    refused("--data a.npz --protocol loso", "leave them out: `--subjects 5-8`");
    refused("--data b.npz --protocol kfold:4", "leave them out: `--subjects 13-16`");
    place.ptsm(&format!("{benchmark} --data a.npz --subjects 5-8")).succeed();
    std::fs::remove_dir_all(place.path("bench")).unwrap();
    // They may be trained on.
    place.ptsm(&format!("{benchmark} --data a.npz --protocol fixed:1-4/5/6-8")).succeed();

    place
        .ptsm("train --data a.npz --subjects 5-6 --model csp-lda --set band_hz=none --config tuned/best.toml --out run")
        .succeed();
    let outcome = place.ptsm("evaluate run --data a.npz --subjects 1,7").run();
    assert!(outcome.stderr.contains("trained or tuned on S01"), "{}", outcome.stderr);
    let records = place.ptsm("evaluate run --data b.npz --json").succeed().json();
    let scored: Vec<&serde_json::Value> =
        records["records"].as_array().unwrap().iter().map(|record| &record["subject"]).collect();
    assert_eq!(scored, [13, 14]);
    // What is tuned further knows all of them; in a nested search they would be tested.
    let again = "--config tuned/best.toml --try order=2,4 --out again";
    let outcome = place.ptsm(TUNE).args(again.split(' ')).args(["--nested", "kfold:4"]).run();
    assert!(outcome.stderr.contains("were tuned on"), "{}", outcome.stderr);
}

#[test]
fn wrong_searches_are_refused_with_one_thing_to_do() {
    let place = Place::with_data();
    let cases = [
        Case::line("tune --data a.npz --try filters=1,2 --out t", &["--develop"]),
        Case::line(
            "tune --data a.npz --try filters=1,2 --develop 1-3 --nested loso --out t",
            &["cannot be used with"],
        ),
        Case::line("tune --data a.npz --develop 1-4 --try filters=1 --search some --out t", &["random:30"]),
        Case::new("tune --data a.npz --develop 1-4 --out t", &["nothing is tried"], &["--try"]),
        Case::new("tune --data a.npz --develop 1-4 --try training.rate --out t", &["no `=`"], &["--try"]),
        Case::new(
            "tune --data a.npz --develop 1-4 --try training.rate= --out t",
            &["empty value"],
            &["commas"],
        ),
        Case::new(
            "tune --data a.npz --develop 1-4 --try seed=1,2 --out t",
            &["names no setting"],
            &["pipeline.KEY"],
        ),
        Case::new(
            "tune --data a.npz --develop 1-4 --try training.rte=1,2 --out t",
            &["no key `training.rte`"],
            &["training.rate"],
        ),
        Case::new(
            "tune --data a.npz --develop 1-4 --try training.rate=log:1e-4..1e-2 --out t",
            &["a range"],
            &["random:30"],
        ),
        Case::new(
            "tune --data a.npz --develop 1-4 --try training.rate=log:1..0.1 --search random:3 --out t",
            &["no range"],
            &["smaller one first"],
        ),
        Case::new(
            "tune --data a.npz --develop 1-2 --try training.rate=1,2 --out t",
            &["2 subjects"],
            &["at least 3"],
        ),
        Case::new("tune --data a.npz --develop 1-9 --try training.rate=1,2 --out t", &["no subject 9"], &[]),
        Case::new(
            "tune --data a.npz --develop 1-4 --folds 5 --try training.rate=1,2 --out t",
            &["kfold:5", "at least 5"],
            &[],
        ),
        Case::new(
            "tune --data a.npz --nested kfold:2 --subjects 1-4 --try training.rate=1 --out t",
            &["leaves 2"],
            &[],
        ),
        Case::new(
            "tune --data a.npz --develop 1-4 --subjects 1-8 --try training.rate=1 --out t",
            &["both say"],
            &[],
        ),
        Case::new(
            "tune --data a.npz --develop 1-4 --metric acc --try training.rate=1 --out t",
            &["no metric"],
            &["auc"],
        ),
        Case::new(
            "tune --data a.npz --develop 1-4 --halving 0 --try training.rate=1 --out t",
            &["keeps no candidate"],
            &[],
        ),
        Case::new(
            "tune --data a.npz --develop 1-4 --try training.epochs=3,many --out t",
            &["training.epochs=many"],
            &[],
        ),
    ];
    check(&place, &cases);
}

#[test]
fn a_search_in_which_everything_fails_says_why() {
    let place = Place::with_data();
    // The trials have no such frequencies.
    let line = "tune --data a.npz --model csp-lda --develop 1-4 --try band_hz=[40,50],[45,60] --out tuned";
    let outcome = place.ptsm(line).run();
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("error: every candidate failed; the first: "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("hint: "), "{}", outcome.stderr);
    // One that can be done is enough.
    let line = line.replace("[45,60]", "[8,30]").replace("tuned", "other");
    let said = place.ptsm(&format!("{line} --halving 1 --json")).succeed().json();
    assert_eq!(said["searches"][0]["best"]["settings"]["band_hz"], serde_json::json!([8, 30]));
    assert!(said["searches"][0]["trials"][0]["error"].as_str().unwrap().contains("40 Hz"));
}

//! Files of an earlier version: model files, benchmark folders and numbers of reports are read as they were written.

use std::fs;
use std::path::Path;

use crate::common::Place;

/// A place with a copy of them.
fn place() -> Place {
    let place = Place::new();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/earlier"), &place.path(""));
    place
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn text(place: &Place, name: &str) -> String {
    String::from_utf8(place.read(name)).unwrap()
}

#[test]
fn a_trained_run_scores_as_it_did() {
    let place = place();
    let now = place.ptsm("evaluate run --data cohort --json").succeed().json();
    let then: serde_json::Value = serde_json::from_slice(&place.read("evaluation.json")).unwrap();
    let scores = |document: &serde_json::Value| -> Vec<Vec<f64>> {
        let records = document["records"].as_array().unwrap().iter();
        records
            .map(|record| {
                let scores = ["accuracy", "auc", "log_loss"];
                scores.iter().map(|name| record[*name].as_f64().unwrap()).collect()
            })
            .collect()
    };
    assert_eq!(now["records"].as_array().unwrap().len(), 2);
    for (now, then) in scores(&now).iter().zip(scores(&then)) {
        for (now, then) in now.iter().zip(then) {
            // Other processors round otherwise.
            assert!((now - then).abs() < 1e-4, "{now} was {then}");
        }
    }
}

/// What is done stays done, also with units that are written in today's way.
#[test]
fn a_benchmark_goes_on_without_doing_anything_again() {
    let place = place();
    let items = |place: &Place| -> Vec<(String, Vec<u8>)> {
        let mut found: Vec<_> = fs::read_dir(place.path("bench/items"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
            .collect();
        found.sort();
        found
    };
    let (before, results, table) =
        (items(&place), text(&place, "bench/results.jsonl"), text(&place, "bench/results.csv"));
    assert_eq!(before.len(), 12);
    let status = place.ptsm("status bench").succeed().stdout;
    assert!(status.contains("12 of 12 fits done"), "{status}");
    for line in [
        "collect bench",
        "benchmark --data cohort --models csp-lda,mdm --set band_hz=none --protocol kfold:3 --units s1:s2,all:all --out bench",
    ] {
        place.ptsm(line).succeed();
        assert!(before == items(&place), "{line}: something was done again");
        assert_eq!(
            (text(&place, "bench/results.jsonl"), text(&place, "bench/results.csv")),
            (results.clone(), table.clone())
        );
    }
}

#[test]
fn a_report_is_rendered_from_its_numbers() {
    let place = place();
    let output =
        place.ptsm("report --from report.json --sections short,people,compared --out some.html").succeed();
    assert!(
        output.stdout.contains("Summary; Scores of each subject; Pairwise comparison)"),
        "{}",
        output.stdout
    );
    place.ptsm("report --from report.json --out all.html").succeed();
}

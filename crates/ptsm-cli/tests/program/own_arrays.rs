//! A user's own `.npz` files are taken wherever data are.

use ptsm::io::npy::Array;

use crate::common::{Place, SMALL, cohort};

#[test]
fn every_command_takes_them() {
    let place = Place::with_data();
    place.ptsm("data show a.npz").succeed();
    place
        .ptsm(
            "train --data a.npz --subjects 1-6 --set training.epochs=40 --set training.rate=0.003 --out run",
        )
        .args(SMALL)
        .succeed();
    let scores = place.ptsm("evaluate run --data a.npz --json").succeed().json();
    let subjects: Vec<u64> =
        scores["records"].as_array().unwrap().iter().map(|r| r["subject"].as_u64().unwrap()).collect();
    assert_eq!(subjects, [7, 8], "those it was not trained on");
    let predictions = place.ptsm("predict run --data a.npz --subjects 7").succeed().stdout;
    let lines: Vec<&str> = predictions.lines().collect();
    assert_eq!(lines[0], "subject,session,run,cue_s,predicted,0,1");
    assert_eq!(lines.len(), 1 + 16);
    let sum: f64 = lines[1].split(',').skip(5).map(|p| p.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{}", lines[1]);
    place.ptsm("predict run --data a.npz --subjects 7 --csv p.csv").succeed();
    assert_eq!(String::from_utf8(place.read("p.csv")).unwrap(), predictions);
    // Decoding needs no labels.
    cohort(8, 16, 0.6).without("y").write(&place.path("nobody-knows.npz"));
    let unlabelled = place.ptsm("predict run --data nobody-knows.npz --subjects 7").succeed().stdout;
    assert_eq!(unlabelled, predictions);
    place.ptsm("adapt run --data a.npz --subject 7 --shots 2 --out run7").succeed();
    // An adapted run is scored on that subject's later trials, and on nobody else.
    let after = place.ptsm("evaluate run7 --data a.npz --json").succeed().json();
    let records = after["records"].as_array().unwrap();
    assert_eq!((records.len(), &records[0]["subject"]), (1, &7.into()));
    assert!(records[0]["n"].as_u64().unwrap() <= 12, "{}", records[0]["n"]);
    assert_eq!(records[0]["target_access"]["labelled"]["per_class"], 2);
    place.ptsm("benchmark --data a.npz --models csp-lda --set band_hz=none --out bench").succeed();
}

/// `X`, `y` and `subject` are enough; what is assumed for the rest is said, unless nobody wants to know.
#[test]
fn three_arrays_are_enough() {
    let place = Place::new();
    cohort(8, 16, 0.6).without("channels").without("rate_hz").write(&place.path("bare.npz"));
    let line = "train --data bare.npz --model csp-lda --set band_hz=none --out";
    let output = place.ptsm(&format!("{line} a")).succeed().stderr;
    assert!(
        output.contains("note: no `rate_hz` in bare.npz") && output.contains("note: no `channels`"),
        "{output}"
    );
    assert_eq!(place.ptsm(&format!("{line} b --quiet")).succeed().stderr, "");
}

/// Names instead of numbers, a folder instead of a file, a root instead of the working folder: the same scores.
#[test]
fn names_folders_and_roots() {
    let place = Place::with_data();
    std::fs::create_dir(place.path("folder")).unwrap();
    let names = |of: &dyn Fn(usize) -> String| Array::vector((0..8 * 16).map(of).collect::<Vec<String>>());
    cohort(8, 16, 0.6)
        .with("subject", names(&|i| format!("Alice {}", i / 16)))
        .with("y", names(&|i| ["left", "right"][i % 2].into()))
        .write(&place.path("folder/all.npz"));
    let accuracies = |data: &str, out: &str| -> Vec<f64> {
        let line = format!("benchmark --json --models csp-lda --set band_hz=none {data} --out {out}");
        let result = place.ptsm(&line).succeed().json();
        result["records"].as_array().unwrap().iter().map(|r| r["log_loss"].as_f64().unwrap()).collect()
    };
    let numbers = accuracies("--data a.npz", "a");
    assert_eq!(numbers.len(), 8);
    assert_eq!(accuracies("--data folder", "b"), numbers);
    assert_eq!(accuracies("--data all.npz --root folder", "c"), numbers);
    // Names of people are never kept.
    for file in place.list().iter().filter(|name| name.starts_with("b/") && !name.ends_with('/')) {
        assert!(!String::from_utf8_lossy(&place.read(file)).contains("Alice"), "{file} names a person");
    }
}

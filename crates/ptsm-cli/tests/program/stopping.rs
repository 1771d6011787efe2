//! Ctrl-C and a polite request to end leave a run that continues.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use crate::common::{Outcome, Place, SMALL, Test, wait};

/// Whether a file has something in it, or a folder.
fn has_something(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => std::fs::metadata(path).is_ok_and(|m| m.len() > 0),
    }
}

/// Starts it, sends a signal once a file or a folder has something in it, and waits for the end.
fn stop(test: Test, signal: &str, begun: &Path) -> Outcome {
    let mut child = test.spawn();
    wait(&mut child, "it began", || has_something(begun));
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    Outcome::from(child.wait_with_output().unwrap())
}

#[test]
fn training_continues() {
    let place = Place::with_data();
    let train = |out: &str| {
        place
            .ptsm("train --data a.npz --subjects 1-6 --set training.epochs=150 --set training.patience=none")
            .args(SMALL)
            .args(["--out", out])
    };
    let whole = train("whole").succeed();
    for signal in ["-INT", "-TERM"] {
        let stopped = stop(train("run"), signal, &place.path("run/log.jsonl"));
        assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(130), ""), "{}", stopped.stderr);
        assert_eq!(
            stopped.stderr,
            "stopping; once more stops at once\n\
             stopped; `train` and `benchmark` continue from their last checkpoint when given again\n"
        );
        assert!(!place.path("run/models/seed-1.safetensors").exists(), "it was over before it was stopped");
        assert_eq!(train("run").succeed().stdout, whole.stdout.replace("whole", "run"));
        for file in ["log.jsonl", "models/seed-1.safetensors"] {
            assert!(
                place.read(&format!("run/{file}")) == place.read(&format!("whole/{file}")),
                "{file} differs"
            );
        }
        std::fs::remove_dir_all(place.path("run")).unwrap();
    }
}

#[test]
fn a_benchmark_continues() {
    let place = Place::with_data();
    let benchmark = |out: &str| {
        place
            .ptsm("benchmark --data a.npz --models eegnet --protocol kfold:4 --set training.epochs=20")
            .args(["--set", "training.patience=none", "--out", out])
    };
    let whole = benchmark("whole").succeed();
    let stopped = stop(benchmark("run"), "-INT", &place.path("run/items"));
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("continue from their last checkpoint"), "{}", stopped.stderr);
    let some = place.read("run/results.jsonl").len();
    assert!(some < place.read("whole/results.jsonl").len(), "it was over before it was stopped");
    assert_eq!(benchmark("run").succeed().stdout, whole.stdout);
    assert_eq!(place.read("run/results.jsonl"), place.read("whole/results.jsonl"));
}

//! Killed at random moments without warning, the same command ends with the same numbers.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::{Place, SMALL, Test, random};

/// Starts and kills until `times` kills have hit; a process that came to its end first is handed to `ended`. Gives how many
/// of those killed had something to continue from.
fn kill(
    times: usize,
    start: impl Fn() -> Test,
    continues: impl Fn() -> bool,
    mut ended: impl FnMut(),
) -> usize {
    let mut random = random(7);
    let (mut killed, mut continued) = (0, 0);
    while killed < times {
        let continuing = continues();
        let mut child = start().spawn();
        std::thread::sleep(Duration::from_secs_f64(0.2 + 1.3 * random()));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{:?}", child.wait_with_output());
            ended();
            continue;
        }
        // On Unix this is signal 9.
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
        continued += usize::from(continuing);
    }
    continued
}

#[test]
fn training() {
    let place = Place::with_data();
    let train = |out: &str| {
        place
            .ptsm("train --data a.npz --subjects 1-6 --seeds 2 --set training.epochs=400 --set training.patience=none")
            .args(SMALL)
            .args(["--out", out])
    };
    let whole = train("whole").succeed();
    let scores = |out: &str| place.ptsm(&format!("evaluate {out} --data a.npz --json")).succeed().stdout;
    let check = || {
        assert_eq!(train("run").succeed().stdout, whole.stdout.replace("whole", "run"));
        for file in ["run.toml", "log.jsonl", "models/seed-1.safetensors", "models/seed-2.safetensors"] {
            assert!(
                place.read(&format!("run/{file}")) == place.read(&format!("whole/{file}")),
                "{file} differs"
            );
        }
        assert_eq!(scores("run"), scores("whole"));
    };
    let checkpoint = place.path("run/checkpoint.safetensors");
    let continued = kill(
        20,
        || train("run"),
        || checkpoint.exists(),
        || {
            check();
            std::fs::remove_dir_all(place.path("run")).unwrap();
        },
    );
    assert!(continued >= 5, "only {continued} of 20 killed processes had anything to continue from");
    // What a process leaves that was killed while it wrote.
    std::fs::create_dir_all(place.path("run/models")).unwrap();
    for part in [
        "run/checkpoint.safetensors.1.part",
        "run/models/seed-1.safetensors.1.part",
        "run/.log.jsonl.1-0.partial",
    ] {
        place.write(part, "half of so");
    }
    check();
    let left: Vec<String> = place.list().into_iter().filter(|n| n.starts_with("run/")).collect();
    let parts = [
        "lock",
        "log.jsonl",
        "models/",
        "models/seed-1.safetensors",
        "models/seed-2.safetensors",
        "run.toml",
    ];
    assert_eq!(
        left,
        ["".to_string()]
            .iter()
            .chain(parts.map(String::from).iter())
            .map(|n| format!("run/{n}"))
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_benchmark() {
    let place = Place::with_data();
    let benchmark = |out: &str| {
        place
            .ptsm("benchmark --data a.npz --models eegnet,csp-lda --set band_hz=none --protocol kfold:4 --seeds 2")
            .args(["--set", "training.epochs=60", "--set", "training.patience=none", "--out", out])
    };
    let whole = benchmark("whole").succeed();
    let records = |out: &str| -> BTreeSet<String> {
        let text = String::from_utf8(place.read(&format!("{out}/results.jsonl"))).unwrap();
        let set: BTreeSet<String> = text.lines().map(String::from).collect();
        assert_eq!(set.len(), text.lines().count(), "a record stands twice");
        set
    };
    let check = || {
        assert_eq!(benchmark("run").succeed().stdout, whole.stdout);
        assert_eq!(records("run"), records("whole"));
        assert_eq!(place.read("run/summary.csv"), place.read("whole/summary.csv"));
    };
    let results = place.path("run/results.jsonl");
    let continued = kill(
        5,
        || benchmark("run"),
        || results.exists(),
        || {
            check();
            std::fs::remove_dir_all(place.path("run")).unwrap();
        },
    );
    assert!(continued >= 1, "no killed process had anything to continue from");
    check();
}

//! Killed at random moments without warning, the same command ends with the same numbers.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::common::{Place, SMALL, Test, random};

/// Starts and kills until so many kills have hit, each after a random time between the two given, in seconds. A process that
/// came to its end first is handed to `ended`. Gives how many of those killed had something to continue from.
fn kill(
    times: usize,
    after_s: [f64; 2],
    start: impl Fn() -> Test,
    continues: impl Fn() -> bool,
    mut ended: impl FnMut(),
) -> usize {
    let mut random = random(7);
    let (mut killed, mut continued) = (0, 0);
    while killed < times {
        let continuing = continues();
        let mut child = start().spawn();
        std::thread::sleep(Duration::from_secs_f64(after_s[0] + (after_s[1] - after_s[0]) * random()));
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

/// A run that is trained twice, whole and disturbed.
struct Twice {
    place: Place,
    /// What the undisturbed one said.
    said: String,
}

impl Twice {
    fn new() -> Twice {
        let mut twice = Twice { place: Place::with_data(), said: String::new() };
        twice.said = twice.train("whole").succeed().stdout;
        twice
    }

    fn train(&self, out: &str) -> Test {
        let line = "train --data a.npz --subjects 1-6 --seeds 2 --set training.epochs=400 --set training.patience=none";
        self.place.ptsm(line).args(SMALL).args(["--out", out])
    }

    fn scores(&self, out: &str) -> String {
        self.place.ptsm(&format!("evaluate {out} --data a.npz --json")).succeed().stdout
    }

    /// Lets the disturbed one end and compares.
    fn check(&self) {
        assert_eq!(self.train("run").succeed().stdout, self.said.replace("whole", "run"));
        let files = ["log.jsonl", "models/seed-1.safetensors", "models/seed-2.safetensors", "run.toml"];
        for file in files {
            let same = self.place.read(&format!("run/{file}")) == self.place.read(&format!("whole/{file}"));
            assert!(same, "{file} differs");
        }
        assert_eq!(self.scores("run"), self.scores("whole"));
        let of = |run: &str| -> Vec<String> {
            self.place.list().iter().filter_map(|name| name.strip_prefix(run).map(String::from)).collect()
        };
        assert_eq!(of("run/"), of("whole/"), "something is left over");
    }

    /// Compares, and makes room for another.
    fn check_and_clear(&self) {
        self.check();
        std::fs::remove_dir_all(self.place.path("run")).unwrap();
    }
}

#[test]
fn training() {
    let twice = Twice::new();
    let checkpoint = twice.place.path("run/checkpoint-1.safetensors");
    let continued =
        kill(20, [0.2, 1.5], || twice.train("run"), || checkpoint.exists(), || twice.check_and_clear());
    assert!(continued >= 5, "only {continued} of 20 killed processes had anything to continue from");
    // What a process leaves that was killed while it wrote.
    std::fs::create_dir_all(twice.place.path("run/models")).unwrap();
    for part in
        ["checkpoint-1.safetensors.1.part", "models/seed-1.safetensors.1.part", ".log.jsonl.1-0.partial"]
    {
        twice.place.write(&format!("run/{part}"), "half of so");
    }
    twice.check();
}

/// The moments in which files are being written are short; here they are looked for.
#[test]
fn training_in_its_first_moments_and_while_it_writes() {
    let twice = Twice::new();
    kill(20, [0.0, 0.04], || twice.train("run"), || false, || twice.check_and_clear());
    for _ in 0..4 {
        let mut child = twice.train("run").spawn();
        let part = format!(".{}.part", child.id());
        let writes = || twice.place.list().iter().any(|name| name.ends_with(&part));
        while !writes() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
    }
    twice.check();
}

#[test]
fn a_benchmark() {
    let place = Place::with_data();
    let benchmark = |out: &str| {
        place
            .ptsm("benchmark --data a.npz --models eegnet,csp-lda --set band_hz=none --protocol kfold:4 --seeds 2")
            .args(["--set", "training.epochs=60", "--set", "training.patience=none", "--out", out])
    };
    let began = Instant::now();
    let whole = benchmark("whole").succeed();
    // A busy machine is slower: kills come within the time that it takes here.
    let took = began.elapsed().as_secs_f64();
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
        [0.2 * took, 0.9 * took],
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

//! Killed at random moments without warning, the same command ends with the same numbers.

use std::time::{Duration, Instant};

use crate::common::{Place, SMALL, Test, random};

/// Starts and kills until so many kills have hit, each after a random time between the two given, in seconds; every other time it is
/// counted from the moment at which there is something to continue from, which a busy machine comes to late. A process that came to
/// its end first is handed to `ended`. Gives how many of those killed had something to continue from.
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
        while killed % 2 == 1 && !continues() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
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
struct RepeatedRun {
    place: Place,
    /// What the undisturbed one said.
    said: String,
}

impl RepeatedRun {
    fn new() -> RepeatedRun {
        let mut twice = RepeatedRun { place: Place::with_data(), said: String::new() };
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
    let twice = RepeatedRun::new();
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
    let twice = RepeatedRun::new();
    // Nothing is waited for: there is something to continue from, as far as anybody asks.
    kill(20, [0.0, 0.04], || twice.train("run"), || true, || twice.check_and_clear());
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

/// The processes that a process has started.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let mut found = vec![];
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name, in brackets, may hold anything; the parent is the second word after it.
        let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after.split_whitespace().nth(1) == Some(&parent.to_string()) {
            found.push(id);
        }
    }
    found
}

/// Fifty kills, of the runner or of one of its workers: nothing is lost, nothing stands twice, nothing is torn.
#[cfg(target_os = "linux")]
#[test]
fn a_benchmark_and_its_workers() {
    let place = Place::with_data();
    let benchmark = |out: &str, jobs: &str| {
        place
            .ptsm("benchmark --data a.npz --models eegnet,csp-lda --set band_hz=none --protocol kfold:4 --seeds 2")
            .args(["--set", "training.epochs=60", "--set", "training.patience=none", "--out", out, "--jobs", jobs])
    };
    let whole = benchmark("whole", "1").succeed();
    let began = Instant::now();
    assert_eq!(benchmark("run", "2").succeed().stdout, whole.stdout);
    // A busy machine is slower: kills come within the time that it takes here.
    let took = began.elapsed().as_secs_f64();
    let check = || {
        for file in ["results.jsonl", "summary.csv", "work.json", "benchmark.toml"] {
            assert!(
                place.read(&format!("run/{file}")) == place.read(&format!("whole/{file}")),
                "{file} differs"
            );
        }
        let of = |run: &str| -> Vec<String> {
            place.list().iter().filter_map(|name| name.strip_prefix(run).map(String::from)).collect()
        };
        assert_eq!(of("run/"), of("whole/"), "something is left over");
        std::fs::remove_dir_all(place.path("run")).unwrap();
    };
    check();
    let mut random = random(11);
    let (mut killed, mut workers, mut continued) = (0, 0, 0);
    while killed < 50 {
        let continuing = place.path("run/items").exists();
        let mut runner = benchmark("run", "2").spawn();
        std::thread::sleep(Duration::from_secs_f64(took * random()));
        let under = children(runner.id());
        if random() < 0.5 && !under.is_empty() {
            // A worker is started again, and the runner comes to its end.
            let one = under[(random() * under.len() as f64) as usize % under.len()];
            std::process::Command::new("kill").args(["-9", &one.to_string()]).output().unwrap();
            let ended = crate::common::Outcome::from(runner.wait_with_output().unwrap());
            assert_eq!((ended.code, &ended.stdout), (Some(0), &whole.stdout), "{}", ended.stderr);
            check();
            (killed, workers) = (killed + 1, workers + 1);
            continue;
        }
        if let Some(status) = runner.try_wait().unwrap() {
            assert!(status.success(), "{:?}", runner.wait_with_output());
            check();
            continue;
        }
        runner.kill().unwrap();
        runner.wait().unwrap();
        (killed, continued) = (killed + 1, continued + usize::from(continuing));
    }
    assert!(workers >= 5 && continued >= 3, "{workers} workers killed, {continued} runs continued");
    assert_eq!(benchmark("run", "2").succeed().stdout, whole.stdout);
    check();
}

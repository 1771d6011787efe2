//! A disk without room: a clear error, nothing half-written, and with room again the same numbers.
#![cfg(unix)]

use std::process::Command;

use crate::common::{Outcome, Place, QUICK, SMALL, Test};

/// The program where no file may be longer than so many blocks of 512 bytes.
pub(crate) fn cramped(place: &Place, blocks: usize, line: &str) -> Test {
    let mut shell = Command::new("sh");
    // Without the trap the system would end the program; with it, writing fails as on a full disk.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_ptsm")]);
    Test::through(shell, &place.path("")).args(line.split_whitespace())
}

fn expect(outcome: &Outcome, words: &str, hint: &str) {
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");
    // An error and a hint, and no line besides, but for what is told of the work before.
    let lines: Vec<&str> = outcome.stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
    let begins: Vec<bool> =
        lines.iter().zip(["error: ", "hint: "]).map(|(line, word)| line.starts_with(word)).collect();
    assert_eq!((begins, lines.len()), (vec![true, true], 2), "{}", outcome.stderr);
    let (error, advice) =
        outcome.stderr.split_once("\nhint: ").unwrap_or_else(|| panic!("{}", outcome.stderr));
    assert!(error.contains(words) && advice.contains(hint), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
}

fn has_parts(place: &Place) -> bool {
    place.list().iter().any(|name| name.ends_with(".part") || name.ends_with(".partial"))
}

#[test]
fn not_even_room_to_begin() {
    let place = Place::with_data();
    let before = place.list();
    for (line, file) in [
        ("train --data a.npz --out x", "run.toml"),
        ("benchmark --data a.npz --models csp-lda --set band_hz=none --out x", "benchmark.toml"),
        ("benchmark --data a.npz --models csp-lda --set band_hz=none --jobs 2 --out x", "benchmark.toml"),
        ("data export --data a.npz --out x.npz", "x.npz"),
        ("data export --data a.npz --out x-epo.fif", "x-epo.fif"),
        ("data export --data a.npz --out x.csv", "x.csv"),
    ] {
        expect(&cramped(&place, 0, line).run(), &format!("{file}: cannot write"), "make room");
        assert_eq!(place.list(), before);
    }
}

#[test]
fn training_goes_on_when_there_is_room() {
    let place = Place::with_data();
    let line = "train --data a.npz --subjects 1-6 --set training.epochs=5 --out";
    place.ptsm(&format!("{line} whole")).args(SMALL).succeed();
    // Room for `run.toml` and the log, but not for the weights.
    let outcome = cramped(&place, 20, &format!("{line} run")).args(SMALL).run();
    expect(&outcome, "safetensors: cannot be written", "room");
    assert!(!has_parts(&place), "{:?}", place.list());
    assert!(!place.path("run/models/seed-1.safetensors").exists());
    place.ptsm(&format!("{line} run")).args(SMALL).succeed();
    for file in ["log.jsonl", "models/seed-1.safetensors", "run.toml"] {
        assert!(place.read(&format!("run/{file}")) == place.read(&format!("whole/{file}")), "{file} differs");
    }
}

#[test]
fn a_benchmark_goes_on_when_there_is_room() {
    let place = Place::with_data();
    let line = "benchmark --data a.npz --models csp-lda,mdm --set band_hz=none --protocol kfold:4 --out";
    let whole = place.ptsm(&format!("{line} whole")).succeed();
    // Room for the plan and every single outcome, but not for all records in one file.
    expect(&cramped(&place, 10, &format!("{line} bench")).run(), "results.jsonl: cannot write", "make room");
    assert!(!has_parts(&place), "{:?}", place.list());
    assert!(!place.path("bench/results.jsonl").exists());
    assert_eq!(place.ptsm(&format!("{line} bench")).succeed().stdout, whole.stdout);
    assert_eq!(place.read("bench/results.jsonl"), place.read("whole/results.jsonl"));
}

#[test]
fn a_cohort_is_written_again_when_there_is_room() {
    let place = Place::new();
    let line = "data simulate --subjects 2 --channels C3,Cz,C4 --out s";
    // Room for the settings and the truth, but not for the trials.
    expect(&cramped(&place, 100, line).run(), "npz: cannot write", "make room");
    assert!(!has_parts(&place), "{:?}", place.list());
    assert!(!place.list().iter().any(|name| name.ends_with(".npz")));
    place.ptsm(line).succeed();
    assert_eq!(place.list().iter().filter(|name| name.ends_with(".npz")).count(), 2);
}

/// A device is written to. Replaced by a file, it would be lost to the whole system.
#[cfg(target_os = "linux")]
#[test]
fn a_full_device() {
    use std::fs::File;
    use std::os::unix::fs::FileTypeExt;
    let is_device = || std::fs::metadata("/dev/full").is_ok_and(|m| m.file_type().is_char_device());
    if !is_device() {
        return;
    }
    let place = Place::with_data();
    // A link, so that a mistake replaces the link and not the device.
    std::os::unix::fs::symlink("/dev/full", place.path("full")).unwrap();
    place.ptsm("train --data a.npz --subjects 1-6 --out run").args(QUICK).succeed();
    for line in ["predict run --data a.npz --csv full", "evaluate run --data a.npz --page full"] {
        expect(&place.ptsm(line).run(), "full cannot be written", "make room");
        assert!(place.path("full").is_symlink());
    }
    let to = || File::options().write(true).open("/dev/full").unwrap();
    for line in ["models", "models --json", "completions bash", "predict run --data a.npz"] {
        expect(&place.ptsm(line).stdout(to()).run(), "standard output cannot be written", "make room");
    }
    // Where nobody can be told, the exit code says it.
    for (line, code) in [("train --data none.npz --out x", 1), ("evaluate run --data a.npz --subjects 7", 0)]
    {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" 2> /dev/full", env!("CARGO_BIN_EXE_ptsm")]);
        let outcome = Test::through(shell, &place.path("")).args(line.split(' ')).run();
        assert_eq!(outcome.code, Some(code), "{line}");
    }
    assert!(is_device());
}

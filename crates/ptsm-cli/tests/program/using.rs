//! Help, JSON, completions, colours, pipes, and which setting goes over which.

use crate::common::{Place, QUICK, SMALL};

#[test]
fn help_teaches_with_examples() {
    let place = Place::new();
    for command in [
        "",
        "demo",
        "models",
        "data",
        "data show",
        "data simulate",
        "train",
        "predict",
        "evaluate",
        "adapt",
        "benchmark",
        "convert",
        "completions",
        "doctor",
        "man",
    ] {
        let help = place.ptsm(command).args(["--help"]).succeed();
        assert!(
            help.stdout.contains("Example") && help.stdout.contains("  ptsm "),
            "`{command}`: {}",
            help.stdout
        );
        assert_eq!(help.stderr, "");
    }
    let help = place.ptsm("--help").succeed().stdout;
    assert!(help.contains("Exit codes: 0 done, 1 an error with a hint, 2"), "{help}");
    assert!(place.ptsm("train --help").succeed().stdout.contains("numpy.savez"));
    assert_eq!(place.ptsm("--version").succeed().stdout, format!("ptsm {}\n", env!("CARGO_PKG_VERSION")));
    let nothing = place.ptsm("").run();
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(2), ""));
    assert!(nothing.stderr.contains("Usage: ptsm"), "{}", nothing.stderr);
}

/// One document on standard output, and nothing else.
#[test]
fn json_everywhere() {
    let place = Place::with_data();
    for (line, keys) in [
        ("models", &["models", "augmentations"][..]),
        ("data list", &[]),
        ("doctor", &["version", "threads_available", "instruction_sets", "gpu", "problems"]),
        ("presets paper-table-2", &["title", "about", "data"]),
        ("man --out pages", &["folder", "files"]),
        ("data show a.npz", &["name", "subjects", "layout", "pipeline", "fingerprint"]),
        ("data simulate --subjects 2 --trials 4 --out cohort", &["folder", "cohort", "files"]),
        (
            "train --data a.npz --subjects 1-6 --set training.epochs=2 --out run",
            &["run", "model", "parameters", "fits"],
        ),
        ("predict run --data a.npz", &["model", "classes", "target_access", "trials"]),
        ("predict run --data a.npz --out p.csv", &["trials"]),
        // The names of earlier versions.
        ("predict run --data a.npz --csv p.csv", &["trials"]),
        ("evaluate run --data a.npz --shots 1", &["records", "summary", "few_shot"]),
        (
            "adapt run --data a.npz --subject 7 --shots 1 --out run7",
            &["run", "subject", "target_access", "fits"],
        ),
        (
            "benchmark --data a.npz --models csp-lda --set band_hz=none --out bench",
            &["folder", "records", "summary"],
        ),
    ] {
        let small: &[&str] = if line.starts_with("train") { &SMALL } else { &[] };
        let document = place.ptsm(line).args(small).args(["--json"]).succeed().json();
        for key in keys {
            assert!(!document[key].is_null(), "`{line}` has no `{key}`: {document}");
        }
    }
    assert_eq!(place.ptsm("data list --json").succeed().json()[0]["id"], "simulated");
    // An error is no document.
    assert_eq!(place.ptsm("evaluate nowhere --json --data a.npz").run().stdout, "");
}

/// Data on standard output, words on standard error; without a terminal there is no progress.
#[test]
fn pages_and_quiet() {
    let place = Place::with_data();
    let trained = place
        .ptsm("train --data a.npz --subjects 1-6 --set training.epochs=2 --out run")
        .args(SMALL)
        .succeed();
    // Two epochs are too few to learn anything, of which it warns; nothing else is said.
    assert!(trained.stderr.starts_with("warning: the decoder is not above chance"), "{}", trained.stderr);
    assert_eq!(trained.stderr.lines().count(), 2, "{}", trained.stderr);
    assert!(trained.stdout.contains("next: ptsm evaluate run"), "{}", trained.stdout);
    let plain = place.ptsm("evaluate run --data a.npz").succeed();
    let paged = place.ptsm("evaluate run --data a.npz --out scores.html").succeed();
    assert_eq!(
        (paged.stdout.as_str(), paged.stderr.clone()),
        (plain.stdout.as_str(), format!("page: scores.html\n{}", plain.stderr))
    );
    assert_eq!(place.ptsm("evaluate run --data a.npz --out scores.html --quiet").succeed().stderr, "");
    let page = String::from_utf8(place.read("scores.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"), "{}", &page[..60]);
    assert!(page.contains("<svg") && !page.contains("src=\"http"));
    // Its own script, which the browser knows by its hash, and no other.
    assert!(page.matches("<script").count() == 1 && page.contains("script-src 'sha256-"));
}

#[test]
fn completions_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.ptsm(&format!("completions {shell}")).succeed().stdout;
        assert!(script.contains("benchmark") && script.contains("protocol"), "{shell}");
    }
}

#[test]
fn a_manual_page_for_every_command() {
    let place = Place::new();
    place.ptsm("man --out pages").succeed();
    let page = |name: &str| String::from_utf8(place.read(&format!("pages/{name}"))).unwrap();
    for name in ["ptsm.1", "ptsm-train.1", "ptsm-benchmark.1", "ptsm-data-get.1"] {
        assert!(page(name).starts_with(".ie ") && page(name).contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(page("ptsm-data-get.1").contains("ptsm\\-data\\-get"), "{}", page("ptsm-data-get.1"));
    assert!(!place.path("pages/ptsm-work.1").exists(), "a hidden command has no page");
}

/// What it finds, and what will get in the way as an error.
#[test]
fn doctor_tells_what_gets_in_the_way() {
    let place = Place::new();
    let found = place.ptsm("doctor --threads 1").succeed().stdout;
    for word in ["version", "threads  1 of ", "kernels  portable", "GPU", "cache"] {
        assert!(found.contains(word), "{word}: {found}");
    }
    std::fs::write(place.path("file"), "no folder").unwrap();
    let output = place.ptsm("doctor --cache file/cache").run();
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    assert!(
        output.stdout.contains("cannot be written") && output.stderr.contains("--cache DIR"),
        "{}",
        output.stderr
    );
    let output = place.ptsm("doctor --root nowhere").run();
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("nowhere is no folder"), "{}", output.stderr);
}

/// `-v` says more on standard error, `--log` keeps all of it; the result stays the same.
#[test]
fn details_go_to_standard_error_and_to_a_log() {
    let place = Place::with_data();
    let line = "train --data a.npz --subjects 1-6 --set training.epochs=2 --out";
    let plain = place.ptsm(&format!("{line} plain")).args(SMALL).succeed();
    let output = place.ptsm(&format!("{line} told -v --log run.log")).args(SMALL).succeed();
    assert_eq!(plain.stdout.replace("plain", "told"), output.stdout);
    assert!(output.stderr.contains("INFO") && output.stderr.contains("loaded"), "{}", output.stderr);
    assert!(!output.stderr.contains("DEBUG"), "{}", output.stderr);
    let log = || String::from_utf8(place.read("run.log")).unwrap();
    let first = log();
    for word in ["started", "loaded", "compiled a graph", "epoch=2"] {
        assert!(first.contains(word), "`{word}` is not in the log: {first}");
    }
    // The next run goes on in it, and an error is in it too.
    place.ptsm("evaluate nowhere --data a.npz").env("PTSM_LOG", "run.log").run();
    let both = log();
    assert!(both.starts_with(&first) && both.contains("ERROR") && both.contains("nowhere"), "{both}");
    let refused = place.ptsm(&format!("{line} x --log nowhere/run.log")).run();
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("nowhere/run.log cannot be written"), "{}", refused.stderr);
    assert!(!place.path("x").exists(), "nothing is done without the log that was asked for");
}

#[test]
fn no_color_is_obeyed() {
    let place = Place::new();
    let lines = ["train --help", "trian", "train --out x", "models"];
    let coloured = |line: &str, variables: &[(&str, &str)]| {
        let test = variables.iter().fold(place.ptsm(line), |test, (name, value)| test.env(name, value));
        let outcome = test.run();
        outcome.stdout.contains('\x1b') || outcome.stderr.contains('\x1b')
    };
    for line in lines {
        assert!(!coloured(line, &[]), "{line}: colour without a terminal");
        assert!(
            !coloured(line, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]),
            "{line}: NO_COLOR is not obeyed"
        );
    }
    // Otherwise there is colour to be had: the test can fail.
    assert!(coloured("trian", &[("CLICOLOR_FORCE", "1")]));
}

/// `ptsm ... | head` is no error.
#[test]
fn a_closed_pipe_is_success() {
    let place = Place::with_data();
    place.ptsm("train --data a.npz --subjects 1-6 --out run").args(QUICK).succeed();
    for line in [
        "models",
        "models --json",
        "completions zsh",
        "predict run --data a.npz",
        "evaluate run --data a.npz",
        "--help",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let outcome = place.ptsm(line).stdout(writer).run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{line}");
    }
}

#[test]
fn flags_over_environment_over_file_over_defaults() {
    let place = Place::with_data();
    place.write("my.toml", "model = \"csp-lda\"\nseed = 5\ndata = \"a.npz\"\nsubjects = \"1-6\"\nband_hz = \"none\"\nfilters = 1\n");
    let seed = |out: &str, variable: Option<&str>, more: &str| {
        let test = place.ptsm(&format!("train --config my.toml --out {out} {more}"));
        let test = variable.into_iter().fold(test, |test, seed| test.env("PTSM_SEED", seed));
        test.succeed();
        let run: String = String::from_utf8(place.read(&format!("{out}/run.toml"))).unwrap();
        run.lines().find_map(|line| line.strip_prefix("seeds = ").map(String::from)).unwrap()
    };
    assert_eq!(seed("a", None, ""), "[5]");
    assert_eq!(seed("b", Some("6"), ""), "[6]");
    assert_eq!(seed("c", Some("6"), "--seed 7"), "[7]");
    assert_eq!(seed("d", None, "--set filters=2"), "[5]");
    let run = |out: &str| String::from_utf8(place.read(&format!("{out}/run.toml"))).unwrap();
    assert!(run("a").contains("filters = 1") && run("d").contains("filters = 2"), "{}", run("d"));
    place.ptsm("benchmark --config my.toml --models csp-lda --protocol kfold:3 --out f").succeed();
    let plan = String::from_utf8(place.read("f/benchmark.toml")).unwrap();
    assert!(plan.contains("id = \"a.npz\"") && plan.contains("filters = 1"), "{plan}");
    // What was resolved is there as well, and can be given again as it is.
    let list = String::from_utf8(place.read("f/work.json")).unwrap();
    assert!(list.contains("\"filters\":1") && list.contains("\"seeds\":[5]"), "{list}");
    place.ptsm("benchmark f/benchmark.toml --out g").succeed();
    assert_eq!(place.read("g/results.jsonl"), place.read("f/results.jsonl"));
    place.ptsm("train --out e").args(QUICK).env("PTSM_DATA", "a.npz").succeed();
    assert!(run("e").contains("seeds = [1]"), "{}", run("e"));
}

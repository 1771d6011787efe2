//! Benchmarks that come with the program: the paper's tables, on small simulated subjects who do the same.

use serde_json::Value;

use crate::common::{Case, Place, SMALL, check};

/// Subjects shaped like those of a data set: two sessions of two runs each.
fn place(task: &str, trials: usize) -> Place {
    // A response is short: with fewer samples DeepConvNet's short form could not take it.
    place_at(task, trials, if task == "erp" { 128.0 } else { 64.0 })
}

/// The same at a sampling rate.
fn place_at(task: &str, trials: usize, rate: f64) -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("cohort")).unwrap();
    place.write(
        "cohort/cohort.toml",
        format!(
            "task = \"{task}\"\nsubjects = 4\nsessions = 2\nruns = 2\ntrials = {trials}\nrate_hz = {rate:.1}\nstrength = 2.0\n\
             artifacts = 0.0\nchannels = [\"C3\", \"Cz\", \"C4\", \"Pz\"]\n"
        ),
    );
    place
}

/// The preset as a quick benchmark of these subjects.
fn line(preset: &str) -> String {
    format!(
        "benchmark {preset} --data simulated --root cohort --protocol kfold:2 --seeds 1 --set training.epochs=1 \
         --out bench"
    )
}

/// Settings that make the large decoders small; a setting must be of somebody who takes part.
fn small(preset: &str) -> Vec<&'static str> {
    let ablations = ["paper-table-5", "paper-table-6"].contains(&preset);
    // Of networks that know as little as these, calibration leaves chance: different ones would say the same.
    let others: &[&str] = match ablations {
        true => &["--set", "training.calibrate=false"],
        false => &["--set", "network.width=4", "--set", "network.latent=2"],
    };
    SMALL.iter().chain(others).copied().collect()
}

/// Published values as `method, column, metric`, with the names of ours beside them.
fn published(result: &Value) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = vec![];
    for cell in result["published"].as_array().unwrap() {
        let text = |key: &str| cell[key].as_str().unwrap().to_string();
        let name = [text("method"), text("column"), text("metric")].join(" | ");
        if all.last().is_none_or(|(last, _)| *last != name) {
            all.push((name, vec![]));
        }
        if let Some(model) = cell["model"].as_str() {
            assert!(cell["mean"].as_f64().is_some(), "{cell}");
            all.last_mut().unwrap().1.push(model.to_string());
        }
    }
    all
}

/// Runs a preset to its end. Every published value is in the result, and every decoder of ours beside one.
fn run(preset: &str, place: &Place, groups: usize) -> Value {
    let result = place.ptsm(&line(preset)).args(small(preset)).args(["--json"]).succeed().json();
    let text = place.ptsm(&format!("presets {preset}")).succeed().stdout;
    let file: toml::Table = toml::from_str(&text).unwrap();
    let columns = file["paper"].as_array().unwrap();
    let values: usize = columns.iter().map(|column| column["values"].as_table().unwrap().len()).sum();
    let cells = published(&result);
    assert_eq!(cells.len(), values, "{preset}");
    assert_eq!(result["groups"].as_array().unwrap().len(), groups, "{preset}");
    let about: Vec<&str> = result["about"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
    let lines = file["about"].as_array().unwrap();
    assert!(lines.iter().all(|line| about.contains(&line.as_str().unwrap())), "{preset}");
    assert!(about.iter().any(|line| line.contains("cannot be compared")), "{about:?}");
    let csv = String::from_utf8(place.read("bench/published.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + result["published"].as_array().unwrap().len());
    result
}

const EIGHT: [&str; 8] = ["PTSM", "EEGNet", "DeepConvNet", "DANN", "ACON", "CSLPAE", "TSMNet", "SBLEST"];

/// Ours beside a published value.
fn beside(result: &Value, cell: &str) -> Vec<String> {
    published(result).into_iter().filter(|(name, _)| name == cell).flat_map(|(_, ours)| ours).collect()
}

#[test]
fn table_1_by_session_and_phase_before_and_after_tuning() {
    // DeepConvNet takes no fewer than 441 samples.
    let place = place_at("imagery", 14, 128.0);
    // Four phases and two whole sessions, each without and with trials set aside.
    let result = run("paper-table-1", &place, 12);
    for method in EIGHT {
        let ours = beside(&result, &format!("{method} | session 1, Pre-ACC | accuracy"));
        assert!(ours.len() >= 2, "{method}: {ours:?}: by phase and before tuning");
    }
    // Only PTSM has personal masks.
    let shots = |method: &str| {
        let cells = result["published"].as_array().unwrap().iter();
        cells.filter(|c| c["shots"] == 5 && c["method"] == method && c["model"].is_string()).count()
    };
    assert_eq!((shots("PTSM"), shots("EEGNet")), (4, 0));
    // Said once more, nothing is computed: the words.
    let text = place.ptsm(&line("paper-table-1")).args(small("paper-table-1")).succeed().stdout;
    for said in [
        "PTSM paper, table 1",
        "simulated, trained on all, tested on s1r1\n",
        "simulated, trained on all, tested on s2, the first 5 trials of each class set aside for few-shot adaptation\n",
        "published session 2, Post-ACC",
        "64.37 to 67.62",
        "Pre and Post (A20)",
        "ptsm-paper, 5 shots",
    ] {
        assert!(text.contains(said), "`{said}` is missing in {text}");
    }
    let summary = String::from_utf8(place.read("bench/summary.csv")).unwrap();
    assert!(summary.starts_with("of,model,accuracy %,SD over subjects,"), "{summary}");
}

#[test]
fn table_2_with_the_papers_metrics() {
    let place = place("imagery", 8);
    let result = run("paper-table-2", &place, 1);
    for method in EIGHT {
        assert!(!beside(&result, &format!("{method} | ACC | accuracy")).is_empty(), "{method}");
    }
    assert_eq!(beside(&result, "PTSM | F1 | f1_macro"), ["ptsm-paper", "ptsm"]);
    let compared: Vec<&str> =
        result["comparisons"].as_array().unwrap().iter().map(|c| c["metric"].as_str().unwrap()).collect();
    assert_eq!(compared[0], "accuracy");
    let text = place.ptsm(&line("paper-table-2")).args(small("paper-table-2")).succeed().stdout;
    for said in ["F1 macro %", "SEN %", "SPE %", "Differences of accuracy from ptsm-paper"] {
        assert!(text.contains(said), "`{said}` is missing in {text}");
    }
    assert!(!text.contains("AUC %"), "{text}");
}

#[test]
fn table_3_of_attention() {
    let result = run("paper-table-3", &place("attention", 8), 1);
    assert_eq!(beside(&result, "SBLEST | SPE | specificity"), ["sblest"]);
}

#[test]
fn table_4_balanced_first_and_the_majority_shown() {
    let place = place("erp", 12);
    let result = run("paper-table-4", &place, 1);
    assert_eq!(beside(&result, "EEGNet | ACC | balanced_accuracy"), ["eegnet"]);
    assert_eq!(beside(&result, "EEGNet | ACC | accuracy"), ["eegnet"]);
    let text = place.ptsm(&line("paper-table-4")).args(small("paper-table-4")).succeed().stdout;
    let head = text.lines().find(|line| line.contains("SD over subjects")).unwrap();
    let at = |name: &str| head.find(name).unwrap_or_else(|| panic!("{name} is missing in {head}"));
    assert!(at("balanced %") < at("AUC %") && at("AUC %") < at("accuracy %"), "{head}");
    assert!(text.contains("Always answering the most frequent class: 83.3 % accuracy"), "{text}");
}

#[test]
fn tables_5_and_6_of_ptsm_without_its_parts() {
    for (preset, parts) in
        [("paper-table-5", &["STAP", "PP", "CP"][..]), ("paper-table-6", &["VO", "CO", "MIM", "SR"][..])]
    {
        let place = place("imagery", 8);
        let result = run(preset, &place, 4);
        for part in parts {
            let ours = beside(&result, &format!("w/o {part} | session 1, Pre-ACC | accuracy"));
            assert_eq!(ours, [format!("ptsm-paper, without {part}")], "{preset}");
        }
        // Parts are compared with the whole, each under its name.
        let compared = result["comparisons"].as_array().unwrap();
        assert_eq!(compared[0]["against"], "ptsm-paper");
        assert_eq!(compared[0]["model"], format!("ptsm-paper, without {}", parts[0]));
        // They are different decoders.
        let losses: Vec<f64> = result["records"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|r| r["subject"] == 1 && r["tested"] == "s1r1")
            .map(|r| r["log_loss"].as_f64().unwrap())
            .collect();
        assert_eq!(losses.len(), parts.len() + if preset == "paper-table-5" { 2 } else { 3 });
        let same = (1..losses.len()).filter(|&i| losses[..i].contains(&losses[i])).count();
        // One kind of masks is like the other: alone, they are the same network.
        assert_eq!(same, usize::from(preset == "paper-table-5"), "{losses:?}");
    }
}

#[test]
fn a_copy_does_the_same_and_takes_some_decoders() {
    let place = place("imagery", 8);
    let copy = place.ptsm("presets paper-table-2").succeed().stdout;
    place.write("mine.toml", copy);
    let first = place.ptsm(&format!("{} --models eegnet,sblest", line("paper-table-2"))).succeed().stdout;
    let second = place.ptsm(&format!("{} --models eegnet,sblest", line("mine.toml"))).succeed().stdout;
    assert_eq!(first, second);
    // Who does not take part has a dash.
    let row = first.lines().find(|line| line.trim_start().starts_with("DeepConvNet")).unwrap();
    assert!(row.contains("70.35") && row.contains(" - "), "{row}");
}

#[test]
fn missing_recordings_are_reported() {
    let place = Place::new();
    for (preset, data) in [
        ("paper-table-1", "openbmi-mi"),
        ("paper-table-2", "physionet-mi"),
        ("paper-table-3", "kul-aad"),
        ("paper-table-4", "openbmi-erp"),
        ("paper-table-5", "openbmi-mi"),
        ("paper-table-6", "openbmi-mi"),
    ] {
        for root in ["", "--root ."] {
            let outcome = place.ptsm(&format!("benchmark {preset} {root} --out x")).run();
            assert_eq!(outcome.code, Some(1), "{preset}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(data), "{preset} {root}: {}", outcome.stderr);
            assert!(outcome.stderr.contains("ptsm data get"), "{preset} {root}: {}", outcome.stderr);
        }
        assert!(place.list().is_empty(), "{:?}", place.list());
    }
}

#[test]
fn wrong_names_and_broken_files_are_reported() {
    let place = Place::new();
    let whole = place.ptsm("presets paper-table-3").succeed().stdout;
    place.write("metric.toml", whole.replacen("f1_macro", "f2", 1));
    place.write("key.toml", whole.replacen("seeds = 5", "sneeds = 5", 1));
    place.write("cut.toml", &whole[..whole.len() / 2 - 7]);
    place.write("twice.toml", whole.replacen("kul-aad, 2 s", "kul-aad, 1 s", 1));
    place.write("value.toml", whole.replacen("PTSM = 71.54", "PTSM = \"high\"", 1));
    check(
        &place,
        &[
            Case::new(
                "benchmark paper-table-7 --out x",
                &["no preset and no file `paper-table-7`"],
                &["paper-table-6"],
            ),
            Case::new("presets paper-table-7", &["no preset `paper-table-7`"], &["paper-table-1, "]),
            Case::new("benchmark metric.toml --out x", &["no metric `f2`"], &["balanced_accuracy"]),
            Case::new(
                "benchmark key.toml --out x",
                &["`key.toml` is no benchmark", "sneeds"],
                &["ptsm presets"],
            ),
            Case::new("benchmark cut.toml --out x", &["`cut.toml` is no benchmark"], &["correct that line"]),
            Case::new("benchmark twice.toml --out x", &["`kul-aad, 1 s` is listed twice"], &["`name`"]),
            Case::new(
                "benchmark value.toml --out x",
                &["`value.toml` is no benchmark"],
                &["correct that line"],
            ),
        ],
    );
}

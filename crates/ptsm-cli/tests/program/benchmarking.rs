//! A benchmark as a plan: what is done, by how many, and what is done again.

use std::time::SystemTime;

use ptsm::io::npy::Array;
use serde_json::Value;

use crate::common::{Case, Place, SMALL, Test, check, cohort, cohort_of_seed, wait};

const LINE: &str = "benchmark --data a.npz --set band_hz=none --protocol kfold:4 --out bench";

/// When each outcome was written.
fn outcomes(place: &Place) -> Vec<(String, SystemTime)> {
    let names =
        place.list().into_iter().filter(|name| name.starts_with("bench/items/") && name.ends_with(".json"));
    names.map(|name| (name.clone(), place.path(&name).metadata().unwrap().modified().unwrap())).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn lines(place: &Place, file: &str) -> Vec<Value> {
    String::from_utf8(place.read(file)).unwrap().lines().map(json).collect()
}

#[test]
fn a_changed_plan_does_again_only_what_it_changes() {
    let place = Place::with_data();
    place.ptsm(&format!("{LINE} --models csp-lda,mdm")).succeed();
    let first = outcomes(&place);
    assert_eq!(first.len(), 8);
    // One more decoder, and another setting of one: the other one's outcomes stay.
    place.ptsm(&format!("{LINE} --models csp-lda,mdm,ts-lr --set filters=1")).succeed();
    let second = outcomes(&place);
    assert_eq!(second.len(), 8 + 4 + 4);
    assert!(first.iter().all(|outcome| second.contains(outcome)), "something was done again");
    assert_eq!(lines(&place, "bench/results.jsonl").len(), 3 * 8);
    // Back again: nothing is left to do.
    let again = place.ptsm(&format!("{LINE} --models csp-lda,mdm")).succeed();
    assert_eq!(outcomes(&place), second);
    std::fs::remove_dir_all(place.path("bench")).unwrap();
    assert_eq!(place.ptsm(&format!("{LINE} --models csp-lda,mdm")).succeed().stdout, again.stdout);
}

/// The quick decoder is done while the slow one never will be.
#[test]
fn a_benchmark_at_work_is_collected_as_far_as_it_is() {
    let place = Place::with_data();
    let mut running = place
        .ptsm(LINE)
        .args("--models csp-lda,ptsm --set training.epochs=1000000 --set training.patience=none".split(' '))
        .args(SMALL)
        .spawn();
    let working = || place.path("bench/working").read_dir().is_ok_and(|mut files| files.next().is_some());
    wait(&mut running, "four outcomes", || {
        place.path("bench/items").is_dir() && outcomes(&place).len() == 4 && working()
    });
    // Who is at work goes on to the next fit meanwhile.
    let files =
        || place.list().into_iter().filter(|name| !name.starts_with("bench/working/")).collect::<Vec<_>>();
    let before = files();
    let collected = place.ptsm("collect bench").run();
    let output = place.ptsm("collect bench --json").run();
    let second = place.ptsm(LINE).args(["--models", "csp-lda"]).run();
    let after = files();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(collected.code, Some(0), "{}", collected.stderr);
    let occupant = format!("note: process {} (`ptsm benchmark --data a.npz ", running.id());
    assert!(collected.stderr.starts_with(&occupant), "{}", collected.stderr);
    assert!(
        collected.stderr.contains("is at work: 4 of 8 fits are missing; this is of the others"),
        "{}",
        collected.stderr
    );
    assert!(
        collected.stdout.contains("csp-lda") && !collected.stdout.contains("\nptsm"),
        "{}",
        collected.stdout
    );
    let output = output.json();
    assert_eq!((&output["missing"], output["records"].as_array().unwrap().len()), (&4.into(), 8));
    assert_eq!(before, after, "a file was written beside the benchmark");
    assert_eq!(second.code, Some(1));
    let occupant = format!("error: another process works in bench: process {} (", running.id());
    assert!(second.stderr.contains(&occupant), "{}", second.stderr);
    // Nobody is at work any more: the tables are written, and what is missing is an error again.
    let ended = place.ptsm("collect bench").run();
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("error: 4 of 8 fits are missing\nhint: "), "{}", ended.stderr);
    assert!(place.path("bench/summary.csv").exists());
}

#[test]
fn several_processes_come_to_the_same() {
    let place = Place::with_data();
    let line = "benchmark --data a.npz --models eegnet,csp-lda --set band_hz=none --set training.epochs=4 --protocol kfold:4 --seeds 2 --features";
    let alone = place.ptsm(&format!("{line} --out alone")).succeed();
    let three = place.ptsm(&format!("{line} --out three --jobs 3")).succeed();
    assert_eq!(alone.stdout, three.stdout);
    let files = |out: &str| -> Vec<String> {
        place.list().iter().filter_map(|name| name.strip_prefix(out).map(String::from)).collect()
    };
    assert_eq!(files("alone/"), files("three/"));
    for file in ["results.jsonl", "summary.csv", "features.csv", "work.json"] {
        assert!(
            place.read(&format!("alone/{file}")) == place.read(&format!("three/{file}")),
            "{file} differs"
        );
    }
}

/// Folds of two subjects are compared with exchanged groups, folds of one by their runs; decoders without features say so.
#[test]
fn features_of_every_fold_are_probed() {
    let place = Place::with_data();
    let line = "--data a.npz --models eegnet,csp-lda --set band_hz=none --set training.epochs=4 --features";
    let output = place.ptsm(&format!("benchmark {line} --protocol kfold:4 --out bench")).succeed();
    assert!(
        output.stdout.contains("A-distance") && output.stdout.contains("of any two groups"),
        "{}",
        output.stdout
    );
    let output = json(&place.ptsm("collect bench --json").succeed().stdout);
    let all = output["features"].as_array().unwrap();
    assert_eq!(all.len(), 8);
    for one in all {
        let reading = &one["reading"];
        if one["model"] == "csp-lda" {
            assert!(reading["why"].as_str().unwrap().contains("no features"), "{one}");
            continue;
        }
        let number = |key: &str| reading[key].as_f64().unwrap();
        assert!((-2.0..=2.0).contains(&number("distance")) && number("p") <= 1.0, "{one}");
        assert!(number("person_chance") == 0.5 && number("person") <= 1.0, "{one}");
    }
    let csv = |file: &str| String::from_utf8(place.read(file)).unwrap();
    assert_eq!(csv("bench/features.csv").lines().count(), 9);
    place.ptsm("report --benchmark bench --out page.html").succeed();
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(
        page.contains("Every fold of the benchmark")
            && page.contains("Distance of test subjects from training subjects, every fold")
    );
    // Decoders of different subjects are not put together.
    for (seed, name) in [(2, "b"), (3, "c")] {
        cohort_of_seed(seed, 4, 16, 0.6).write(&place.path(&format!("{name}.npz")));
    }
    place.write(
        "across.toml",
        "across = true\nfeatures = true\nmodels = [\"eegnet\"]\nset.training.epochs = 1\ndata = [{ id = \"a.npz\" }, { id = \"b.npz\" }, { id = \"c.npz\" }]\n",
    );
    let output = place.ptsm("benchmark across.toml --out across").succeed();
    assert!(output.stdout.contains("eegnet, b.npz across:a.npz  1 of 1"), "{}", output.stdout);
    // One subject a fold, without runs to divide: it is reported, and the scores stand.
    place.ptsm(&format!("benchmark {line} --protocol loso --out alone")).succeed();
    let csv = csv("alone/features.csv");
    assert!(csv.contains("groups cannot be left out"), "{csv}");
}

/// Seconds that a processor worked for a command line, whatever else the machine does meanwhile.
#[cfg(unix)]
fn computed_s(place: &Place, line: &str) -> f64 {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "\"$0\" \"$@\" > /dev/null || exit; times", env!("CARGO_BIN_EXE_ptsm")]);
    let output = Test::through(shell, &place.path("")).args(line.split(' ')).succeed().stdout;
    // The shell's own times, then those of what it started: `0m1.25s 0m0.10s`.
    let times = output.lines().nth(1).unwrap_or_else(|| panic!("{output}"));
    let seconds = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
    };
    times.split_whitespace().map(seconds).sum()
}

/// Forty subjects under eight decoders: a page for which one processor works less than ten seconds, and small enough to be sent.
#[cfg(unix)]
#[test]
fn a_large_benchmark_becomes_a_page_soon() {
    let place = Place::new();
    cohort(40, 12, 0.6).write(&place.path("many.npz"));
    place.write(
        "plan.toml",
        "protocol = \"kfold:2\"\ndata = [{ id = \"many.npz\" }]\nmodels = [\"csp-lda\", \"mdm\", \"ts-lr\", \"slda-erp\"]\nset.band_hz = \"none\"\nvariant = [{}, { name = \"aligned\", align = \"euclidean\" }]\n",
    );
    place.ptsm("benchmark plan.toml --out bench").succeed();
    assert_eq!(lines(&place, "bench/results.jsonl").len(), 320);
    let took = computed_s(&place, "report --benchmark bench --out page.html");
    assert!(took > 0.0 && took < 10.0, "{took} s");
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(page.contains("Scores by subject and decoder") && page.contains("S40"));
    assert!(page.len() < 5_000_000, "{}", page.len());
}

#[test]
fn a_fit_that_fails_is_written_down_and_the_others_go_on() {
    let place = Place::with_data();
    let line = "benchmark --data a.npz --models eegnet,csp-lda --set band_hz=none --protocol kfold:4 --out bench --set training.epochs=3";
    let failed = place.ptsm(&format!("{line} --set training.rate=1e30")).run();
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stdout.contains("csp-lda"), "{}", failed.stdout);
    assert!(
        failed.stderr.contains("4 of 8 fits failed; the first: eegnet, a.npz, fold 0, seed 1"),
        "{}",
        failed.stderr
    );
    assert_eq!(lines(&place, "bench/results.jsonl").len(), 8);
    let status = place.ptsm("status bench --json").succeed();
    let status = json(&status.stdout);
    assert_eq!((&status["done"], &status["failed"], &status["missing"]), (&4.into(), &4.into(), &0.into()));
    assert!(status["failures"][0]["error"].as_str().unwrap().contains("not finite"), "{status}");
    // With settings that work they are done.
    place.ptsm(line).succeed();
    assert_eq!(json(&place.ptsm("status bench --json").succeed().stdout)["done"], 8);
}

#[test]
fn what_is_there_is_collected() {
    let place = Place::with_data();
    let whole = place.ptsm(&format!("{LINE} --models csp-lda,mdm")).succeed();
    assert_eq!(place.ptsm("collect bench").succeed().stdout, whole.stdout);
    std::fs::remove_file(place.path(&outcomes(&place)[0].0)).unwrap();
    // One that is not what was written counts as missing, too.
    place.write(&outcomes(&place)[0].0, "{\"key\": \"so");
    let some = place.ptsm("collect bench").run();
    assert!(some.code == Some(1) && some.stderr.contains("2 of 8 fits are missing"), "{}", some.stderr);
    assert_eq!(json(&place.ptsm("status bench --json").succeed().stdout)["missing"], 2);
    assert_eq!(place.ptsm(&format!("{LINE} --models csp-lda,mdm")).succeed().stdout, whole.stdout);
}

/// 8 subjects with 16 trials, 12 of them in the first session.
fn two_sessions(place: &Place) {
    let session: Vec<u32> = (0..8 * 16).map(|i| if i % 16 < 12 { 1 } else { 2 }).collect();
    cohort(8, 16, 0.6).with("session", Array::vector(session)).write(&place.path("two.npz"));
}

#[test]
fn parts_of_recordings_are_trained_on_and_tested() {
    let place = Place::new();
    two_sessions(&place);
    let line =
        "benchmark --data two.npz --models csp-lda --set band_hz=none --protocol kfold:4 --out bench --units";
    place.ptsm(&format!("{line} s1:s1,s1:s2,all:all")).succeed();
    let records = lines(&place, "bench/results.jsonl");
    let trials = |trained_on: Value, tested: Value| -> Vec<u64> {
        let own = records.iter().filter(|r| (&r["learnt"], &r["tested"]) == (&trained_on, &tested));
        own.map(|r| r["n"].as_u64().unwrap()).collect()
    };
    assert_eq!(trials("s1".into(), "s1".into()), [12; 8]);
    assert_eq!(trials("s1".into(), "s2".into()), [4; 8]);
    assert_eq!(trials(Value::Null, Value::Null), [16; 8]);
    // One fit of the first session for both.
    assert_eq!(place.list().iter().filter(|name| name.starts_with("bench/items/")).count() - 1, 8);
    check(
        &place,
        &[
            Case::new(
                "benchmark --data two.npz --models csp-lda --set band_hz=none --out x --units s3->s1",
                &["training subjects", "`s3`"],
                &["data show"],
            ),
            Case::line("benchmark --data two.npz --models csp-lda --out x --units s1", &["`s1`"]),
        ],
    );
}

#[test]
fn variants_and_entries_of_a_file() {
    let place = Place::with_data();
    place.write(
        "plan.toml",
        r#"title = "Two ways"
protocol = "kfold:4"
models = ["csp-lda", "mdm"]
set.band_hz = "none"

[[data]]
id = "a.npz"

[[variant]]

[[variant]]
name = "aligned"
align = "euclidean"

[[entry]]
model = "csp-lda"
name = "one filter"
set.filters = 1
"#,
    );
    let done = place.ptsm("benchmark plan.toml --out bench").succeed();
    for name in ["Two ways", "csp-lda, aligned", "mdm, aligned", "csp-lda, one filter"] {
        assert!(done.stdout.contains(name), "{name}: {}", done.stdout);
    }
    // What a variant is worth is told by the same decoder's plain form.
    assert!(done.stdout.contains("from the same model's first row"), "{}", done.stdout);
    let output = json(&place.ptsm("collect bench --json").succeed().stdout);
    let variants = output["groups"][0]["variants"].as_array().unwrap();
    let pairs: Vec<_> = variants.iter().filter(|pair| pair["metric"] == "accuracy").collect();
    assert_eq!(pairs.len(), 3, "{pairs:?}");
    let mdm = pairs.iter().find(|pair| pair["model"] == "mdm, aligned").unwrap();
    let mean = |name: &str, variant: &Value| {
        let own = |s: &&Value| s["model"] == name && s["variant"] == *variant;
        let summary = output["summary"].as_array().unwrap().iter().find(own).unwrap();
        let metric =
            summary["metrics"].as_array().unwrap().iter().find(|m| m["metric"] == "accuracy").unwrap();
        metric["mean"].as_f64().unwrap()
    };
    let gain = mean("mdm", &"aligned".into()) - mean("mdm", &Value::Null);
    assert_eq!(mdm["against"], "mdm");
    assert!((mdm["difference"].as_f64().unwrap() - gain).abs() < 1e-12, "{gain} and {mdm}");
    let records = lines(&place, "bench/results.jsonl");
    assert_eq!(records.len(), 5 * 8);
    let aligned = |r: &&Value| r["variant"] == "aligned";
    assert!(records.iter().filter(aligned).all(|r| r["target_access"]["unlabelled"]["fraction"] == 1.0));
    // Only some of the decoders, and nothing done again.
    let some = place.ptsm("benchmark plan.toml --models mdm --out bench --json").succeed();
    assert_eq!(json(&some.stdout)["records"].as_array().unwrap().len(), 2 * 8);
    place.write("twice.toml", "models = [\"mdm\"]\nset.band_hz = \"none\"\ndata = [{ id = \"a.npz\" }]\nentry = [{ model = \"mdm\" }]\n");
    place.write("odd.toml", "modles = [\"mdm\"]\n");
    place
        .write("metric.toml", "models = [\"mdm\"]\ndata = [{ id = \"a.npz\" }]\nmetrics = [\"accurracy\"]\n");
    check(
        &place,
        &[
            Case::new("benchmark twice.toml --out x", &["`mdm` takes part twice"], &["`name`"]),
            Case::new("benchmark odd.toml --out x", &["odd.toml", "modles"], &["correct that line"]),
            Case::new("benchmark metric.toml --out x", &["accurracy"], &["balanced_accuracy"]),
            Case::new("benchmark nowhere.toml --out x", &["nowhere.toml"], &["paper-table-2"]),
            Case::new("status a.npz", &["a.npz"], &["benchmark --out"]),
            Case::new("collect nowhere", &["nowhere does not exist"], &["benchmark --out"]),
        ],
    );
}

#[test]
fn one_data_set_is_trained_on_and_another_tested() {
    let place = Place::new();
    cohort(6, 16, 0.6).write(&place.path("a.npz"));
    cohort_of_seed(3, 5, 16, 0.6).cut(4, 128).write(&place.path("b.npz"));
    place.write(
        "plan.toml",
        "across = true\nmodels = [\"csp-lda\"]\nset.band_hz = \"none\"\ndata = [{ id = \"a.npz\" }, { id = \"b.npz\" }]\n",
    );
    let done = place.ptsm("benchmark plan.toml --out bench").succeed();
    assert!(done.stderr.contains("channels in common"), "{}", done.stderr);
    let records = lines(&place, "bench/results.jsonl");
    let of = |data: &str, protocol: &str| {
        records.iter().filter(|r| r["data"] == data && r["protocol"] == protocol).count()
    };
    assert_eq!((of("b.npz", "across:a.npz"), of("a.npz", "across:b.npz"), records.len()), (5, 6, 11));
    // The same subjects under another name are found out.
    std::fs::copy(place.path("a.npz"), place.path("c.npz")).unwrap();
    place.write(
        "same.toml",
        "across = true\nmodels = [\"csp-lda\"]\nset.band_hz = \"none\"\ndata = [{ id = \"a.npz\" }, { id = \"c.npz\" }]\n",
    );
    check(
        &place,
        &[
            Case::new("benchmark same.toml --out x", &["also among the training subjects"], &["leave"]),
            Case::new(
                "benchmark --data a.npz --models csp-lda --across --out x",
                &["one data set"],
                &["second"],
            ),
        ],
    );
}

#[test]
fn few_shots_are_scored_on_the_same_later_trials() {
    let place = Place::with_data();
    let line = "benchmark --data a.npz --models ptsm,csp-lda --set band_hz=none --set training.epochs=2 --protocol kfold:4 --shots 1,3 --out bench";
    place.ptsm(line).args(crate::common::SMALL).succeed();
    let records = lines(&place, "bench/results.jsonl");
    let of = |model: &str, shots: Value| -> Vec<&Value> {
        let own = records.iter().filter(|r| r["model"] == model && r["adapt"]["shots"] == shots);
        own.map(|r| &r["n"]).collect()
    };
    let later = of("csp-lda", 0.into());
    assert_eq!(later.len(), 8);
    for shots in [0, 1, 3] {
        assert_eq!(of("ptsm", shots.into()), later, "{shots}");
    }
    assert!(of("csp-lda", 3.into()).is_empty());
    assert_eq!(of("csp-lda", Value::Null).len(), 8);
}

#[test]
fn a_dry_run_writes_nothing_and_tells_what_it_would_do() {
    let place = Place::with_data();
    let before = place.list();
    let line = "benchmark --data a.npz --models eegnet,csp-lda --set band_hz=none --protocol kfold:4 --seeds 3 --dry-run --out bench";
    let output = json(&place.ptsm(line).args(["--json"]).succeed().stdout);
    assert_eq!((&output["entries"][0]["fits"], &output["entries"][1]["left"]), (&12.into(), &12.into()));
    assert!(output["seconds"].as_f64().unwrap() > 0.0, "{output}");
    assert!(place.ptsm(line).succeed().stdout.contains("12"));
    assert_eq!(place.list(), before);
}

#[test]
fn results_are_for_others_too() {
    let place = Place::with_data();
    place.ptsm(&format!("{LINE} --models csp-lda,mdm --seeds 2")).succeed();
    let text = |file: &str| String::from_utf8(place.read(&format!("bench/{file}"))).unwrap();
    let rows = |file: &str| -> Vec<Vec<String>> {
        text(file).lines().map(|line| line.split(',').map(String::from).collect()).collect()
    };
    let scores = rows("results.csv");
    assert_eq!(
        (scores.len(), scores[0][..2].join(","), scores[1][1].as_str()),
        (1 + 32, "data,model".into(), "csp-lda")
    );
    let frame = rows("moabb.csv");
    assert_eq!(
        frame[0].join(","),
        "score,time,samples,subject,session,channels,n_sessions,dataset,pipeline,cross_subject_mode"
    );
    // A row for each decoder and subject, the mean over both seeds.
    assert_eq!(frame.len(), 1 + 2 * 8);
    let records = lines(&place, "bench/results.jsonl");
    let own = records.iter().filter(|r| r["model"] == "mdm" && r["subject"] == 3);
    let scores: Vec<f64> = own.map(|r| r["auc"].as_f64().unwrap()).collect();
    let row = frame.iter().find(|row| row[8] == "mdm" && row[3] == "3").unwrap();
    assert!((row[0].parse::<f64>().unwrap() - (scores[0] + scores[1]) / 2.0).abs() < 1e-12);
    assert_eq!((row[5].as_str(), row[9].as_str()), ("5", "train"));
    let matrix = json(&text("matrix.json"));
    assert_eq!(matrix[0]["matrix"]["comparisons"].as_array().unwrap().len(), 2);
    assert!(
        text("tables.md").contains("Pairwise comparison by balanced_accuracy: a.npz."),
        "{}",
        text("tables.md")
    );
    assert!(text("tables.tex").contains("\\begin{tabular}") && text("tables.md").contains("| csp-lda |"));
    let provenance = json(&text("provenance.json"));
    assert_eq!(provenance["stages"][0]["layout"]["rate_hz"], 64.0);
    assert_eq!(provenance["stages"][0]["tested_by_fold"].as_object().unwrap().len(), 4);
    assert!(provenance["program"].as_str().unwrap().starts_with("ptsm "), "{provenance}");
}

#[test]
fn files_of_the_user_stay() {
    let place = Place::with_data();
    std::fs::create_dir(place.path("mine")).unwrap();
    let plan = "# Mine.\nmodels = [\"csp-lda\"]\nset.band_hz = \"none\"\nprotocol = \"kfold:4\"\ndata = [{ id = \"a.npz\" }]\n";
    place.write("mine/benchmark.toml", plan);
    check(
        &place,
        &[Case::new(
            "benchmark mine/benchmark.toml --out mine",
            &["not of a benchmark"],
            &["another folder"],
        )],
    );
    assert_eq!(place.read("mine/benchmark.toml"), plan.as_bytes());
    place.ptsm("benchmark mine/benchmark.toml --out bench").succeed();
    let results = place.read("bench/results.jsonl");
    // Without its outcomes nothing can be collected, and nothing is written over.
    std::fs::remove_dir_all(place.path("bench/items")).unwrap();
    check(&place, &[Case::new("collect bench", &["nothing is done yet"], &["again"])]);
    assert_eq!(place.read("bench/results.jsonl"), results);
}

#[test]
fn what_cannot_come_to_an_end_does_not_begin() {
    let place = Place::new();
    two_sessions(&place);
    for name in ["one", "other"] {
        std::fs::create_dir(place.path(name)).unwrap();
        cohort(4, 16, 0.6).write(&place.path(&format!("{name}/c.npz")));
    }
    let file = |more: &str| format!("models = [\"csp-lda\"]\nset.band_hz = \"none\"\n{more}\n");
    place.write("same.toml", file("data = [{ id = \"one/c.npz\" }, { id = \"other/c.npz\" }]"));
    place.write(
        "twice.toml",
        file("data = [{ id = \"two.npz\" }]\nvariant = [{}, { align = \"euclidean\" }]"),
    );
    check(
        &place,
        &[
            Case::new("benchmark same.toml --out x", &["two data sets are called `c.npz`"], &["`name`"]),
            Case::new("benchmark twice.toml --out x", &["`csp-lda` takes part twice"], &["`name`"]),
            Case::new(
                "benchmark --data two.npz --models csp-lda --set band_hz=none --units s1:s9 --out x",
                &["test subjects", "`s9`"],
                &["data show"],
            ),
            Case::new(
                "benchmark --data two.npz --models csp-lda --set band_hz=none --shots 99 --out x",
                &["99 trials"],
                &["fewer"],
            ),
            Case::new(
                "benchmark same.toml --models eegnet,mdm --data two.npz --units s1->s1 --shots 6 --out x",
                &["no trial of S01 is left"],
                &["fewer"],
            ),
        ],
    );
}

/// A setting for all need not fit those who get other trials.
#[test]
fn settings_for_all_fit_somebody() {
    let place = Place::with_data();
    place.write(
        "plan.toml",
        "protocol = \"kfold:4\"\nmodels = [\"eegnet\"]\nset.training.epochs = 1\ndata = [{ id = \"a.npz\" }]\n\n[[entry]]\nmodel = \"csp-lda\"\nalign = \"euclidean\"\nset.band_hz = \"none\"\n",
    );
    place.ptsm("benchmark plan.toml --out bench").succeed();
    assert_eq!(lines(&place, "bench/results.jsonl").len(), 16);
    check(
        &place,
        &[Case::new(
            "benchmark plan.toml --models eegnte --out x",
            &["`eegnte` does not take part"],
            &["of the file"],
        )],
    );
}

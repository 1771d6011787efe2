//! Source-only trials: they are trained on where their subject is, they validate nothing, and nobody is scored on them.

use ptsm::io::npy::{Array, Data};
use serde_json::Value;

use crate::common::{Arrays, Case, Place, QUICK, SMALL, check, cohort, cohort_of_seed, random};
use crate::edf_made::{self, File};
use crate::physionet_made::Run;

/// Trials of each subject.
const EACH: usize = 16;
/// Subjects 1-5 are trained on, 6 is watched, 7 and 8 are tested.
const FIXED: &str = "--protocol fixed:1-5/6/7-8";

/// The same with each subject's trials in two runs.
fn in_runs(arrays: Arrays) -> Arrays {
    let n = arrays.get("y").shape()[0];
    let run = |i: usize| if i % EACH < EACH / 2 { 1 } else { 2 };
    arrays.with("run", Array::vector((0..n).map(run).collect::<Vec<u32>>()))
}

/// Only the trials of some numbers, of every array that has one value or epoch for each.
fn kept(arrays: &Arrays, keep: impl Fn(usize) -> bool) -> Arrays {
    let x = arrays.get("X");
    let (&[n, c, t], Data::F32(values)) = (x.shape(), x.data()) else { panic!("X is f32") };
    let rows: Vec<usize> = (0..n).filter(|&row| keep(row)).collect();
    let epochs = rows.iter().flat_map(|&row| values[row * c * t..][..c * t].to_vec()).collect::<Vec<f32>>();
    let mut some = arrays.clone().with("X", Array::new(vec![rows.len(), c, t], epochs).unwrap());
    for name in ["y", "subject", "run"] {
        let Data::U32(values) = arrays.get(name).data() else { panic!("{name} is u32") };
        some = some.with(name, Array::vector(rows.iter().map(|&row| values[row]).collect::<Vec<u32>>()));
    }
    some
}

/// The same with other numbers of subjects.
fn numbered(arrays: Arrays, number: impl Fn(u32) -> u32) -> Arrays {
    let Data::U32(values) = arrays.get("subject").data().clone() else { panic!("numbers of subjects") };
    arrays.with("subject", Array::vector(values.into_iter().map(number).collect::<Vec<u32>>()))
}

/// The labels of some subjects exchanged and their samples made louder.
fn spoilt(arrays: Arrays, subjects: &[u32]) -> Arrays {
    let x = arrays.get("X").clone();
    let (shape, one) = (x.shape().to_vec(), x.shape()[1] * x.shape()[2]);
    let is_spoilt = |trial: usize| subjects.contains(&((trial / EACH) as u32 + 1));
    let Data::F32(mut values) = x.into_data() else { panic!("X is f32") };
    for (i, value) in values.iter_mut().enumerate().filter(|(i, _)| is_spoilt(i / one)) {
        *value = *value * 30.0 + (i % 7) as f32 * (i / one) as f32;
    }
    let label = |i: usize| ((i % 2 == 1) != is_spoilt(i)) as u32;
    let labels = (0..shape[0]).map(label).collect::<Vec<u32>>();
    arrays.with("X", Array::new(shape, values).unwrap()).with("y", Array::vector(labels))
}

/// An effect with which decoders are neither right nor wrong always.
const EFFECT: f64 = 0.15;

/// A study of eight subjects in `a.npz`, and other trials of the same eight in `b.npz`.
fn study() -> Place {
    let place = Place::new();
    cohort(8, EACH, EFFECT).write(&place.path("a.npz"));
    further().write(&place.path("b.npz"));
    place
}

/// Other trials of the study's subjects.
fn further() -> Arrays {
    cohort_of_seed(2, 8, EACH, EFFECT)
}

/// A benchmark of some decoders, and its results to the byte.
fn results(place: &Place, line: &str, out: &str) -> Vec<u8> {
    place.ptsm(&format!("benchmark {line} --out {out}")).succeed();
    place.read(&format!("{out}/results.jsonl"))
}

/// The files of all fits.
fn fits(place: &Place, folder: &str) -> Vec<Value> {
    let files = place.list().into_iter().filter(|name| name.starts_with(&format!("{folder}/items/")));
    let files = files.filter(|name| name.ends_with(".json"));
    files.map(|name| serde_json::from_slice(&place.read(&name)).unwrap()).collect()
}

/// Whatever is done to source-only trials of validation and test subjects, no score changes; what is done to those of a training
/// subject does.
#[test]
fn source_only_trials_of_validation_and_test_subjects_reach_no_decoder() {
    let place = study();
    let b = further();
    spoilt(b.clone(), &[6, 7, 8]).write(&place.path("held.npz"));
    spoilt(b, &[3]).write(&place.path("trained.npz"));
    let entry = |model: &str, set: &str| format!("[[entry]]\nmodel = \"{model}\"\nset = {{ {set} }}\n");
    let plan = [
        entry("csp-lda", "band_hz = \"none\""),
        entry("eegnet", "training.epochs = 2"),
        entry("dann", "training.epochs = 2"),
    ];
    place.write("plan.toml", plan.concat());
    let of = |file: &str| {
        let line = format!("plan.toml --data a.npz {FIXED} --source-only id={file}.npz,cohort=same");
        let text = String::from_utf8(results(&place, &line, file)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let (plain, held, trained) = (of("b"), of("held"), of("trained"));
    assert_eq!(plain, held);
    assert_eq!(plain.len(), trained.len());
    for model in ["csp-lda", "eegnet", "dann"] {
        let own = |all: &[Value]| all.iter().filter(|r| r["model"] == model).cloned().collect::<Vec<_>>();
        assert_ne!(own(&plain), own(&trained), "{model}");
    }
}

/// The same where each subject is tested by a decoder of all others: the record of whom they are of is as it was.
#[test]
fn leaving_one_out_leaves_out_their_source_only_trials() {
    let place = study();
    spoilt(further(), &[5]).write(&place.path("c.npz"));
    let of = |file: &str| -> Vec<Value> {
        let line = format!(
            "--data a.npz --models csp-lda --set band_hz=none --protocol loso --source-only id={file}.npz,cohort=same"
        );
        let text = String::from_utf8(results(&place, &line, file)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let changed: Vec<u64> = of("b")
        .iter()
        .zip(&of("c"))
        .filter(|(a, b)| a["log_loss"] != b["log_loss"])
        .map(|(a, _)| a["subject"].as_u64().unwrap())
        .collect();
    assert_eq!(changed, [1, 2, 3, 4, 6, 7, 8]);
}

#[test]
fn runs_that_are_taken_out_are_as_those_of_another_file() {
    let place = Place::new();
    let whole = in_runs(cohort(8, EACH, EFFECT));
    let part = |run: usize| kept(&whole, |i| (i % EACH < EACH / 2) == (run == 1));
    std::fs::create_dir(place.path("one")).unwrap();
    std::fs::create_dir(place.path("two")).unwrap();
    whole.write(&place.path("one/a.npz"));
    part(1).write(&place.path("two/a.npz"));
    part(2).write(&place.path("two/b.npz"));
    let decoders = "--models csp-lda,ts-lr --set band_hz=none --protocol kfold:4 --align euclidean";
    let plain = results(&place, &format!("--data two/a.npz {decoders}"), "plain");
    let taken = results(&place, &format!("--data one/a.npz {decoders} --source-only units=r2"), "taken");
    let beside = format!("--data two/a.npz {decoders} --source-only id=two/b.npz,cohort=same");
    assert_eq!(taken, results(&place, &beside, "beside"));
    assert_ne!(taken, plain);
    for line in String::from_utf8(taken).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["n"], EACH / 2, "the other run is not scored: {record}");
    }
    for fit in fits(&place, "taken") {
        assert_eq!((&fit["trials"], &fit["source_only"]), (&(6 * EACH).into(), &(6 * EACH / 2).into()));
    }
    assert!(fits(&place, "plain").iter().all(|fit| fit.get("source_only").is_none()));
}

#[test]
fn other_people_are_trained_on_in_every_fold_and_never_scored() {
    let place = study();
    let line = "benchmark --data a.npz --models csp-lda --set band_hz=none --protocol kfold:4 --source-only id=b.npz,cohort=other,subjects=1-3 --json";
    let said = place.ptsm(&format!("{line} --out bench")).succeed().json();
    let subjects: Vec<u64> =
        said["records"].as_array().unwrap().iter().map(|r| r["subject"].as_u64().unwrap()).collect();
    assert_eq!(subjects.len(), 8);
    assert!(subjects.iter().all(|subject| (1..=8).contains(subject)), "{subjects:?}");
    let used = &said["source_only"][0];
    assert_eq!(used["source_only_trials"], serde_json::json!([3 * EACH, 3 * EACH]));
    assert_eq!(used["trials"], serde_json::json!([9 * EACH, 9 * EACH]));
    assert_eq!((&used["of"][0]["cohort"], &used["of"][0]["trials"]), (&"other".into(), &(3 * EACH).into()));
    let tables = String::from_utf8(place.read("bench/tables.md")).unwrap();
    let sentence = "Source-only trials, a.npz: b.npz, 48 trials of 3 subjects; 48 of the 144 training trials of each fit of csp-lda";
    assert!(tables.contains(sentence), "{tables}");
    let provenance: Value = serde_json::from_slice(&place.read("bench/provenance.json")).unwrap();
    assert_eq!(provenance["stages"][0]["source_only"][0]["name"], "b.npz");
}

/// An outcome belongs to its source-only trials: others are not taken for it, in whatever order they are asked for.
#[test]
fn outcomes_are_kept_apart_and_found_again() {
    let place = study();
    spoilt(further(), &[3]).write(&place.path("c.npz"));
    let line = "--data a.npz --models csp-lda --set band_hz=none --protocol kfold:4";
    let with = |file: &str, more: &str| format!("{line} --source-only id={file},cohort=same{more}");
    let alone = results(&place, line, "alone");
    let all = [
        results(&place, line, "bench"),
        results(&place, &with("b.npz", ""), "bench"),
        results(&place, &with("c.npz", ""), "bench"),
        results(&place, &with("b.npz", ",subjects=1-4"), "bench"),
        results(&place, &with("b.npz", ",classes=0=1,classes=1=0"), "bench"),
    ];
    assert_eq!(all[0], alone);
    for (i, one) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|other| other != one), "{i}");
    }
    assert_eq!(fits(&place, "bench").len(), 4 * all.len());
    // Given again it is what it was, from what is there; what is gone is done again, to the same byte, also by several processes.
    assert_eq!(results(&place, &with("b.npz", ""), "bench"), all[1]);
    assert_eq!(fits(&place, "bench").len(), 4 * all.len());
    assert_eq!(results(&place, &format!("{} --jobs 2", with("b.npz", "")), "jobs"), all[1]);
    let gone = place
        .list()
        .into_iter()
        .find(|name| name.starts_with("jobs/items/") && name.ends_with(".json"))
        .unwrap();
    std::fs::remove_file(place.path(&gone)).unwrap();
    assert_eq!(results(&place, &with("b.npz", ""), "jobs"), all[1]);
}

#[test]
fn a_variant_without_source_only_trials_stands_beside_the_one_with_them() {
    let place = study();
    place.write(
        "plan.toml",
        "models = [\"csp-lda\"]\nprotocol = \"kfold:4\"\nset = { band_hz = \"none\" }\n[[data]]\nid = \"a.npz\"\n[[data.source_only]]\n\
         id = \"b.npz\"\ncohort = \"same\"\n[[variant]]\n[[variant]]\nname = \"study only\"\nsource_only = false\n",
    );
    let said = place.ptsm("benchmark plan.toml --out bench --json").succeed().json();
    assert_eq!(said["source_only"].as_array().unwrap().len(), 1);
    assert_eq!(said["source_only"][0]["models"], serde_json::json!(["csp-lda"]));
    let comparison = &said["comparisons"][0];
    assert!(comparison.to_string().contains("study only"), "{comparison}");
    let line = "--data a.npz --models csp-lda --set band_hz=none --protocol kfold:4";
    let plain = String::from_utf8(results(&place, line, "plain")).unwrap();
    let log_loss = |record: &Value| record["log_loss"].as_f64().unwrap();
    let plain: Vec<f64> = plain.lines().map(|l| log_loss(&serde_json::from_str(l).unwrap())).collect();
    let records = said["records"].as_array().unwrap().iter();
    let without: Vec<f64> = records.filter(|r| r["variant"] == "study only").map(log_loss).collect();
    assert_eq!(plain, without);
}

#[test]
fn a_run_says_what_it_was_trained_on_and_knows_whom() {
    let place = study();
    let quick = QUICK.join(" ");
    let train =
        format!("train --data a.npz --subjects 1-5 {quick} --source-only id=b.npz,cohort=same --json");
    let said = place.ptsm(&format!("{train} --out run")).succeed().json();
    assert_eq!((&said["trials"], &said["source_only_trials"]), (&(10 * EACH).into(), &(5 * EACH).into()));
    assert_eq!(said["train_subjects"], serde_json::json!([1, 2, 3, 4, 5]));
    assert_eq!(said["source_only"][0]["subjects"], serde_json::json!([1, 2, 3, 4, 5]));
    let model = place.read("run/models/seed-1.safetensors");
    let card = String::from_utf8_lossy(&model);
    assert!(card.contains(r#"\"source_only_trials\":80"#), "{}", &card[..900]);
    let text = String::from_utf8(place.read("run/run.toml")).unwrap();
    assert!(text.contains("source_only"), "{text}");
    // Trained on in this file too: whoever is in the run is known in it.
    let refused = place.ptsm("evaluate run --data b.npz --subjects 3").run();
    assert!(refused.stderr.contains("trained on S03"), "{}", refused.stderr);
    let scored = place.ptsm("evaluate run --data b.npz --json").succeed().json();
    assert_eq!(scored["records"].as_array().unwrap().len(), 3);
    // Given again it is finished; with other source-only trials it is another run.
    assert_eq!(place.ptsm(&format!("{train} --out run")).succeed().json(), said);
    let other = train.replace("cohort=same", "cohort=same,subjects=1-2");
    assert_eq!(place.ptsm(&format!("{other} --out run")).run().code, Some(1));
    // In a configuration file it is a table; a network, stopped by subjects of its own.
    place.write("my.toml", "[[source_only]]\nid = \"b.npz\"\ncohort = \"other\"\nsubjects = \"1-2\"\n");
    let small = SMALL.join(" ");
    let line = format!(
        "train --data a.npz --subjects 1-6 --config my.toml {small} --set training.epochs=2 --out net --json"
    );
    let said = place.ptsm(&line).succeed().json();
    assert_eq!(said["validation_subjects"].as_array().unwrap().len(), 2);
    assert_eq!((&said["trials"], &said["source_only_trials"]), (&(6 * EACH).into(), &(2 * EACH).into()));
    let scored = place.ptsm("evaluate net --data b.npz --json").succeed().json();
    let subjects: Vec<u64> =
        scored["records"].as_array().unwrap().iter().map(|r| r["subject"].as_u64().unwrap()).collect();
    assert_eq!(subjects, [3, 4, 5, 6, 7, 8], "those who were trained on are known");
}

#[test]
fn runs_that_were_taken_out_for_training_are_not_scored_later() {
    let place = Place::new();
    in_runs(cohort(8, EACH, EFFECT)).write(&place.path("a.npz"));
    let quick = QUICK.join(" ");
    place
        .ptsm(&format!("train --data a.npz --subjects 1-5 {quick} --source-only units=r2 --out run"))
        .succeed();
    let scored = place.ptsm("evaluate run --data a.npz --json").succeed().json();
    let n: Vec<u64> =
        scored["records"].as_array().unwrap().iter().map(|r| r["n"].as_u64().unwrap()).collect();
    assert_eq!(n, [EACH as u64 / 2; 3]);
}

/// A subject all of whose runs are source-only is not in the study, and not trained on either.
#[test]
fn a_subject_without_other_runs_takes_no_part() {
    let place = Place::new();
    let whole = in_runs(cohort(8, EACH, EFFECT));
    kept(&whole, |i| i / EACH != 7 || i % EACH >= EACH / 2).write(&place.path("a.npz"));
    kept(&whole, |i| i / EACH != 7).write(&place.path("seven.npz"));
    let line = "--models csp-lda --set band_hz=none --protocol kfold:4 --source-only units=r2";
    let eight = results(&place, &format!("--data a.npz {line}"), "eight");
    let eight = String::from_utf8(eight).unwrap().replace("a.npz", "seven.npz");
    let seven = results(&place, &format!("--data seven.npz {line}"), "seven");
    assert_eq!(eight, String::from_utf8(seven).unwrap());
    assert_eq!(eight.lines().count(), 7);
}

#[test]
fn settings_are_tuned_with_source_only_trials() {
    let place = study();
    let line = "tune --data a.npz --develop 1-6 --model csp-lda --set band_hz=none --try filters=1,2 --source-only id=b.npz,cohort=same";
    place.ptsm(&format!("{line} --out tuned")).succeed();
    let used: Vec<u64> =
        fits(&place, "tuned").iter().map(|fit| fit["source_only"].as_u64().unwrap()).collect();
    assert!(!used.is_empty() && used.iter().all(|&n| n == 4 * EACH as u64), "{used:?}");
    // Whoever was trained on there is not tested with what was chosen.
    let line = "benchmark --data b.npz --models csp-lda --config tuned/best.toml --out bench";
    let refused = place.ptsm(line).run();
    assert!(refused.stderr.contains("tuned on 6 of the test subjects"), "{}", refused.stderr);
    place.ptsm(&format!("{line} --protocol fixed:1-5/6/7-8")).succeed();
}

/// A recording of a test subject that stands among the source-only trials under another name is no way in.
#[test]
fn a_source_only_recording_under_two_subjects_is_refused() {
    let place = study();
    let b = further();
    let twice = |i: usize| if i / EACH == 7 { i % EACH } else { i };
    let x = b.get("X");
    let (&[n, c, t], Data::F32(values)) = (x.shape(), x.data()) else { panic!("X is f32") };
    let copied: Vec<f32> = (0..n).flat_map(|i| values[twice(i) * c * t..][..c * t].to_vec()).collect();
    b.clone().with("X", Array::new(vec![n, c, t], copied).unwrap()).write(&place.path("twice.npz"));
    let line = format!("benchmark --data a.npz --models csp-lda --set band_hz=none {FIXED} --out bench");
    let refused = place.ptsm(&format!("{line} --source-only id=twice.npz,cohort=same")).run();
    let says = "the same recording under two subjects; S01 is in the training set and S08 in the test set";
    assert!(refused.code == Some(1) && refused.stderr.contains(says), "{}", refused.stderr);
}

#[test]
fn what_is_ambiguous_or_does_not_fit_is_refused() {
    let place = study();
    let b = further;
    let names = |names: [&str; 2]| Array::vector(names.map(String::from).to_vec());
    b().cut(3, 128).write(&place.path("three.npz"));
    b().with("classes", names(["left", "right"])).write(&place.path("named.npz"));
    b().with("rate_hz", Array::scalar(128.0)).write(&place.path("fast.npz"));
    numbered(b(), |number| number + 100).write(&place.path("others.npz"));
    numbered(b(), |number| number + 4).write(&place.path("some.npz"));
    cohort(8, EACH, EFFECT).write(&place.path("copy.npz"));
    numbered(cohort(8, EACH, EFFECT), |number| 9 - number).write(&place.path("turned.npz"));
    place.write(
        "across.toml",
        "models = [\"csp-lda\"]\nacross = true\n[[data]]\nid = \"a.npz\"\n[[data.source_only]]\nid = \"b.npz\"\n[[data]]\nid = \"b.npz\"\n",
    );
    macro_rules! train {
        ($request:literal) => {
            concat!(
                "train --data a.npz --model csp-lda --set band_hz=none --out run --source-only ",
                $request
            )
        };
    }
    let cases = [
        Case::new(train!("id=b.npz"), &["b.npz", "nothing tells whether"], &["cohort=same", "cohort=other"]),
        Case::new(train!("id=a.npz"), &["all trials of the study itself"], &["units=r12"]),
        Case::new(train!("units=s7"), &["no trial of `s7`"], &["data show"]),
        Case::new(train!("units=s1"), &["no trial of the study is left"], &["fewer"]),
        Case::new(
            train!("id=three.npz,cohort=same"),
            &["lacks 2 of the study's 5 channels: P3, P4", "3 are in both: C3, Cz, C4"],
            &[r#"pipeline.pick=["C3","Cz","C4"]"#],
        ),
        Case::new(
            train!("id=named.npz,cohort=same"),
            &["`left` is none of the study's classes, which are 0, 1"],
            &["classes=left=0", "classes=left=-"],
        ),
        Case::new(
            train!("id=b.npz,cohort=same,classes=feet=0"),
            &["has no class `feet`"],
            &["before the `=`"],
        ),
        Case::new(
            train!("id=fast.npz,cohort=same"),
            &["64 Hz are needed, these have 128 Hz"],
            &["pipeline.rate_hz"],
        ),
        Case::new(train!("id=others.npz,cohort=same"), &["none of its subjects"], &["cohort=other"]),
        Case::new(
            train!("id=some.npz,cohort=same,subjects=8-9"),
            &["S09, who is asked for"],
            &["`subjects`"],
        ),
        Case::new(
            train!("id=copy.npz,cohort=same"),
            &["already in the study: the same recording"],
            &["other runs"],
        ),
        Case::new(train!("id=copy.npz,cohort=other"), &["S01 is S01 of the study"], &["cohort=same"]),
        Case::new(
            train!("id=turned.npz,cohort=same"),
            &["called like S01", "recognised as S08"],
            &["same number"],
        ),
        Case::new(
            train!("id=absent.npz,cohort=same"),
            &["source-only trials of absent.npz", "no such file"],
            &["path"],
        ),
        Case::new("benchmark across.toml --out bench", &["across data sets"], &["`across`"]),
        Case::line(train!("b.npz"), &["`b.npz` begins with no key"]),
    ];
    check(&place, &cases);
    // Those who are in both are trained on, and whoever is not is told.
    let said = place.ptsm(train!("id=some.npz,cohort=same")).succeed();
    assert!(
        said.stderr.contains("4 subjects of some.npz are not among the study's and left out"),
        "{}",
        said.stderr
    );
}

/// Cohorts of one seed are of the same people, cohorts of two of others: nothing needs to be declared.
#[test]
fn who_is_in_simulated_cohorts_is_known() {
    let place = Place::new();
    for (name, seed, sessions) in [("one", 1, 1), ("two", 1, 2), ("others", 2, 1)] {
        std::fs::create_dir(place.path(name)).unwrap();
        let settings = format!("subjects = 4\nsessions = {sessions}\nruns = 1\ntrials = 8\nseed = {seed}\n");
        place.write(&format!("{name}/cohort.toml"), settings);
    }
    let line = "train --data simulated --root one --subjects 1-3 --model ts-lr --align euclidean --json --source-only id=simulated";
    let said = |more: &str, out: &str| place.ptsm(&format!("{line},{more} --out {out}"));
    let same = said("root=two,units=s2", "same").succeed().json();
    let cohort = &same["source_only"][0];
    assert_eq!((&cohort["cohort"], &cohort["subjects"]), (&"same".into(), &serde_json::json!([1, 2, 3])));
    assert_eq!((&same["trials"], &same["source_only_trials"]), (&48.into(), &24.into()));
    let other = said("root=others", "other").succeed().json();
    assert_eq!(
        (&other["source_only"][0]["cohort"], &other["source_only_trials"]),
        (&"other".into(), &32.into())
    );
    let refused = said("root=two", "twice").run();
    assert!(refused.stderr.contains("already in the study"), "{}", refused.stderr);
    let refused = said("root=others,cohort=same", "wrong").run();
    assert!(refused.stderr.contains("are not of the same people"), "{}", refused.stderr);
}

/// A run of a subject as PhysioNet has it, of noise, with four trials.
fn recorded(place: &Place, subject: u32, run: u32, seed: u32) {
    const RATE: usize = 160;
    const SECONDS: usize = 30;
    let mut random = random(u64::from(1000 * seed + 20 * subject + run));
    let mut record = || (0..RATE).map(|_| (100.0 * (random() - 0.5)) as i16).collect::<Vec<i16>>();
    let mut signals = vec![];
    for label in Run::usual().channels {
        let records: Vec<Vec<i16>> = (0..SECONDS).map(|_| record()).collect();
        signals.push(edf_made::counts(label, &records.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    }
    let text = |second: usize| {
        let mut block = format!("+{second}\x14\x14\x00");
        if second % 7 == 1 && second < 28 {
            let code = if second.is_multiple_of(2) { "T1" } else { "T2" };
            block += &format!("+{second}\x154.1\x14{code}\x14\x00");
        }
        block.into_bytes()
    };
    let texts: Vec<Vec<u8>> = (0..SECONDS).map(text).collect();
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    signals.push(edf_made::texts("EDF Annotations", RATE, &texts));
    let path = place.path(&format!("eegmmidb/S{subject:03}R{run:02}.edf"));
    std::fs::write(path, File::edf("EDF+C", signals).bytes()).unwrap();
}

/// Executed beside imagined movement of the same subjects.
#[test]
fn another_task_of_the_same_subjects_is_trained_on() {
    let place = Place::new();
    std::fs::create_dir(place.path("eegmmidb")).unwrap();
    for subject in 1..=5 {
        [3, 4, 8].into_iter().for_each(|run| recorded(&place, subject, run, 1));
    }
    let line = "--data physionet-mi --root eegmmidb --models csp-lda --protocol loso --align euclidean";
    let of = |out: &str| -> Vec<Value> {
        let text = results(&place, &format!("{line} --source-only with=task=execution"), out);
        String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let before = of("before");
    assert!(before.len() == 5 && before.iter().all(|record| record["n"] == 8), "{before:?}");
    for fit in fits(&place, "before") {
        assert_eq!((&fit["trials"], &fit["source_only"]), (&(4 * 12).into(), &(4 * 4).into()));
    }
    // Another recording of what subject 2 did matters to the decoders of all the others.
    recorded(&place, 2, 3, 2);
    let after = of("after");
    let changed = before.iter().zip(&after).filter(|(a, b)| a["log_loss"] != b["log_loss"]);
    assert_eq!(changed.map(|(a, _)| a["subject"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 3, 4, 5]);
    // The same task again is no further data, and other people have other numbers.
    let refused = |request: &str| {
        let outcome = place.ptsm(&format!("benchmark {line} --source-only {request} --out refused")).run();
        assert_eq!(outcome.code, Some(1));
        outcome.stderr
    };
    assert!(refused("with=task=imagery").contains("all trials of the study itself"));
    let said = refused("with=task=execution,cohort=other");
    assert!(said.contains("S01 is S01 of the study"), "{said}");
    let said = refused("with=task=execution,classes=left_hand=left_foot");
    assert!(
        said.contains("`left_foot` is none of the study's classes, which are left_hand, right_hand"),
        "{said}"
    );
}

/// What is declared of one source-only data set must agree with another.
#[test]
fn source_only_data_sets_are_compared_with_each_other() {
    let place = study();
    further().write(&place.path("again.npz"));
    numbered(further(), |number| number + 50).write(&place.path("others.npz"));
    let line = "train --data a.npz --model csp-lda --set band_hz=none --out run --source-only id=b.npz,cohort=same --source-only";
    let refused = |request: &str, says: &str| {
        let outcome = place.ptsm(&format!("{line} {request}")).run();
        assert!(outcome.code == Some(1) && outcome.stderr.contains(says), "{}", outcome.stderr);
    };
    refused("id=again.npz,cohort=same", "already in the source-only trials of b.npz: the same recording");
    // Said to be other people, these are subjects of the study after all.
    refused("id=others.npz,cohort=other", "S51 is S01 of the study");
}

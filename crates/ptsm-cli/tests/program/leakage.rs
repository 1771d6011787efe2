//! Ways to cheat, each tried through the program, each without success. The numbers are those of the usual list of leaks.

use ptsm::decode::registry::METHODS;
use ptsm::io::npy::{Array, Data};
use ptsm::signal::TargetAccess;
use serde_json::Value;
use toml::Table;

use crate::common::{Arrays, Case, Place, check, cohort};

/// All decoders of the registry that see nothing of the subjects they decode.
fn zero_shot() -> impl Iterator<Item = &'static str> {
    let methods = METHODS.iter().filter(|method| method.target_access == TargetAccess::Nothing);
    methods.map(|method| method.name)
}

/// What the tests of the contract know of a method.
fn case(model: &str) -> Value {
    let cases: Value = serde_json::from_str(include_str!("../../../ptsm-decode/tests/cases.json")).unwrap();
    cases[model].clone()
}

/// Settings that make a decoder small, which every method has for the tests of its contract, trained for a moment, on epochs without a
/// filter of their own.
fn small(place: &Place, model: &str) -> Table {
    let mut set: Table = serde_json::from_value(case(model)["small"].clone()).unwrap();
    let models = place.ptsm("models --json").succeed().json()["models"].clone();
    let known = models.as_array().unwrap().iter().find(|known| known["name"] == model).unwrap();
    if known["defaults"].get("training").is_some() {
        let training = set.entry("training").or_insert(Table::new().into()).as_table_mut().unwrap();
        training.insert("epochs".into(), 2.into());
    }
    if known["defaults"].get("band_hz").is_some() {
        set.insert("band_hz".into(), "none".into());
    }
    set
}

/// A plan for these decoders, as a file.
fn plan(place: &Place, models: impl Iterator<Item = &'static str>) {
    let entry = |model: &str| serde_json::json!({ "model": model, "set": small(place, model) });
    let entries: Vec<Value> = models.map(entry).collect();
    let plan = toml::to_string(&serde_json::json!({ "entry": entries })).unwrap();
    place.write("plan.toml", plan);
}

/// Subjects 1-5 are trained on, 6 is watched, 7 and 8 are tested.
const FIXED: &str = "--protocol fixed:1-5/6/7-8";

/// The samples of some subjects changed: louder, and not the same for each channel and trial.
fn disturbed(arrays: Arrays, subjects: &[u32]) -> Arrays {
    let x = arrays.get("X").clone();
    let shape = x.shape().to_vec();
    let one = shape[1] * shape[2];
    let Data::F32(mut values) = x.into_data() else { panic!("X is f32") };
    for (i, value) in values.iter_mut().enumerate() {
        let trial = i / one;
        if subjects.contains(&(trial as u32 / 16 + 1)) {
            *value = *value * 30.0 + (i % 7) as f32 * trial as f32;
        }
    }
    arrays.with("X", Array::new(shape, values).unwrap())
}

/// The labels of some subjects exchanged.
fn exchanged(arrays: Arrays, subjects: &[u32]) -> Arrays {
    let label = |i: u32| if subjects.contains(&(i / 16 + 1)) { 1 - i % 2 } else { i % 2 };
    arrays.with("y", Array::vector((0..8 * 16).map(label).collect::<Vec<u32>>()))
}

fn records(place: &Place, line: &str) -> Vec<Value> {
    place.ptsm(&format!("benchmark --json {FIXED} {line}")).succeed().json()["records"]
        .as_array()
        .unwrap()
        .clone()
}

/// Records of one subject, without the name of the data.
fn of(records: &[Value], subject: u64) -> Vec<Value> {
    let own = records.iter().filter(|r| r["subject"] == subject).cloned();
    own.map(|mut r| {
        r["data"] = Value::Null;
        r
    })
    .collect()
}

#[test]
fn leak_1_nobody_is_on_two_sides() {
    let place = Place::with_data();
    check(
        &place,
        &[
            Case::new(
                "benchmark --data a.npz --models eegnet --out x --protocol fixed:1-5/6/5,7",
                &["S05", "training set", "test set"],
                &["one side"],
            ),
            Case::new(
                "benchmark --data a.npz --models eegnet --out x --protocol fixed:1-5/6-7/7-8",
                &["S07", "validation set", "test set"],
                &["one side"],
            ),
            Case::new(
                "benchmark --data a.npz --models eegnet --out x --protocol fixed:1-6/6/7-8",
                &["S06", "training set", "validation set"],
                &["one side"],
            ),
        ],
    );
    // A decoder that exists is not scored on subjects it was trained on, under whatever number.
    place.ptsm("train --data a.npz --model csp-lda --set band_hz=none --subjects 1-6 --out run").succeed();
    let other: Vec<u32> = (0..8 * 16).map(|i| 20 - i / 16).collect();
    cohort(8, 16, 0.6).with("subject", Array::vector(other)).write(&place.path("renamed.npz"));
    check(
        &place,
        &[Case::new("evaluate run --data renamed.npz --subjects 20", &["S20"], &["other subjects"])],
    );
}

/// Windows of one trial never stand on both sides: subjects are whole, and a subject's few labelled trials share no sample and no long
/// trial with those scored.
#[test]
fn leak_2_windows_of_one_trial_stay_together() {
    let place = Place::new();
    // 16 windows of each subject, half a window apart, two classes in turn.
    let cues: Vec<f64> = (0..8 * 16).map(|i| f64::from(i % 16)).collect();
    cohort(8, 16, 0.6).with("cue_s", Array::vector(cues)).write(&place.path("overlapping.npz"));
    plan(&place, ["csp-lda", "ptsm"].into_iter());
    let overlapping = records(&place, "plan.toml --data overlapping.npz --shots 2 --out x");
    // Trials last 2 s: of 12 later ones the first one begins before the last calibration trial ends.
    let n = |all: &[Value]| of(all, 7).iter().find(|r| r["adapt"]["set_aside"] == 2).unwrap()["n"].clone();
    assert_eq!(n(&overlapping), 11);
    cohort(8, 16, 0.6).write(&place.path("apart.npz"));
    assert_eq!(n(&records(&place, "plan.toml --data apart.npz --shots 2 --out y")), 12);
}

/// 3: statistics of test data; 4: filters or alignment over several subjects; 7: augmentation before the split. Whatever happens to one
/// test subject's signals, another test subject is decoded the same, to the last bit.
#[test]
fn leaks_3_4_and_7_signals_of_test_subjects_change_nothing_for_others() {
    let place = Place::new();
    cohort(8, 16, 0.6).write(&place.path("a.npz"));
    disturbed(cohort(8, 16, 0.6), &[8]).write(&place.path("b.npz"));
    for (i, more) in [
        "",
        "--align euclidean",
        "--align riemannian",
        "--symmetry 0=1 --set augment.mirror=0.5 --set training.symmetry=none --set augment.noise=0.1",
    ]
    .iter()
    .enumerate()
    {
        let mirrored = |model: &&str| !more.contains("mirror") || case(model)["mirrors"] != false;
        plan(&place, zero_shot().filter(mirrored));
        let of_data =
            |name: &str| records(&place, &format!("plan.toml --data {name}.npz --out {name}{i} {more}"));
        let (a, b) = (of_data("a"), of_data("b"));
        assert_eq!(of(&a, 7).len(), zero_shot().filter(mirrored).count());
        assert_eq!(of(&a, 7), of(&b, 7), "{more}");
        // The test can fail: the subject themselves is decoded otherwise.
        assert_ne!(of(&a, 8), of(&b, 8), "{more}");
    }
}

/// Nothing is chosen by test labels: with both classes exchanged in the test subjects, every decoder says the same, so that what was right
/// is wrong.
#[test]
fn leak_5_nothing_is_chosen_by_test_labels() {
    let place = Place::new();
    cohort(8, 16, 0.6).write(&place.path("a.npz"));
    exchanged(cohort(8, 16, 0.6), &[7, 8]).write(&place.path("b.npz"));
    // And one that may learn from the test subjects' signals.
    plan(&place, zero_shot().chain(["dann"]));
    let of_data =
        |name: &str| records(&place, &format!("plan.toml --data {name}.npz --seeds 2 --out {name}"));
    let (a, b) = (of_data("a"), of_data("b"));
    assert_eq!(a.len(), 2 * (zero_shot().count() + 1) * 2);
    for (a, b) in a.iter().zip(&b) {
        assert_eq!((&a["model"], &a["subject"], &a["seed"]), (&b["model"], &b["subject"], &b["seed"]));
        let rows = |r: &Value| r["confusion"].as_array().unwrap().clone();
        let (mut once, other) = (rows(a), rows(b));
        once.reverse();
        assert_eq!(once, other, "{}", a["model"]);
    }
    // The best seed is not what is told: the mean over all of them is.
    let output = place.ptsm("collect a --json").succeed().json();
    for summary in output["summary"].as_array().unwrap() {
        let own =
            a.iter().filter(|r| r["model"] == summary["model"]).map(|r| r["accuracy"].as_f64().unwrap());
        let all: Vec<f64> = own.collect();
        let accuracy =
            summary["metrics"].as_array().unwrap().iter().find(|m| m["metric"] == "accuracy").unwrap();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((accuracy["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{summary}");
    }
}

/// Each trial is decoded alone: in other company, and in another order, it gets the same probabilities.
#[test]
fn leak_6_company_does_not_matter_when_decoding() {
    let place = Place::new();
    let whole = cohort(8, 16, 0.6);
    whole.write(&place.path("a.npz"));
    disturbed(whole, &[8]).write(&place.path("b.npz"));
    for model in zero_shot() {
        place.write("small.toml", toml::to_string(&small(&place, model)).unwrap());
        let train = place.ptsm(&format!(
            "train --data a.npz --model {model} --subjects 1-6 --out {model} --config small.toml"
        ));
        train.succeed();
        let lines = |rest: &str| -> Vec<String> {
            let said = place.ptsm(&format!("predict {model} {rest}")).succeed().stdout;
            said.lines().skip(1).map(String::from).collect()
        };
        let (alone, together, beside) = (
            lines("--data a.npz --subjects 7"),
            lines("--data a.npz --subjects 7-8"),
            lines("--data b.npz --subjects 7-8"),
        );
        assert_eq!(alone.len(), 16);
        assert_eq!(alone[..], together[..16], "{model}");
        assert_eq!(alone[..], beside[..16], "{model}");
        assert_ne!(together[16..], beside[16..], "{model}");
    }
}

//! Left-right mirroring happens where it is declared which classes swap, and nowhere else; what is on is said.

use ptsm::io::npy::Array;

use crate::common::{Place, SMALL, Test, cohort};

/// Flicker of two frequencies at the back of the head, called left and right as the targets on the screen are.
fn ssvep(place: &Place) {
    let (subjects, each) = (8, 16);
    let mut random = crate::common::random(3);
    let mut x = vec![];
    for trial in 0..subjects * each {
        let radians = [0.9, 1.4][trial % 2];
        for channel in 0..5 {
            let amplitude = if channel < 3 { 0.5 } else { 1.5 };
            let phase = std::f64::consts::TAU * random();
            x.extend(
                (0..128).map(|t| {
                    (amplitude * (radians * t as f64 + phase).sin() + 1.6 * (random() - 0.5)) as f32
                }),
            );
        }
    }
    let classes = vec!["left".to_string(), "right".to_string()];
    cohort(subjects, each, 0.0)
        .with("X", Array::new(vec![subjects * each, 5, 128], x).unwrap())
        .with("classes", Array::vector(classes))
        .write(&place.path("ssvep.npz"));
}

fn train(place: &Place, more: &str, out: &str) -> Test {
    let line = format!(
        "train --data ssvep.npz --subjects 1-6 --set training.epochs=40 --set training.rate=0.003 {more} --out {out}"
    );
    place.ptsm(&line).args(SMALL)
}

fn accuracy(place: &Place, run: &str) -> f64 {
    let scores = place.ptsm(&format!("evaluate {run} --data ssvep.npz --json")).succeed().json();
    let records = scores["records"].as_array().unwrap();
    records.iter().map(|r| r["accuracy"].as_f64().unwrap()).sum::<f64>() / records.len() as f64
}

/// Mirrored by the names of its classes, a frequency would be learnt as both.
#[test]
fn classes_that_are_called_left_and_right_are_not_mirrored() {
    let place = Place::new();
    ssvep(&place);
    let said = train(&place, "", "plain").succeed().stdout;
    assert!(said.contains("left-right mirroring: off; nothing declares which classes swap"), "{said}");
    assert!(String::from_utf8(place.read("plain/run.toml")).unwrap().contains("mirror = 0.0"));
    assert!(accuracy(&place, "plain") > 0.95, "{}", accuracy(&place, "plain"));

    // Declared to swap, which is wrong of flicker, they are mirrored, and it harms.
    let said = train(&place, "--paradigm ssvep --symmetry left=right", "swapped").succeed().stdout;
    assert!(said.contains("built in, left=right swap"), "{said}");
    let run: toml::Table =
        toml::from_str(&String::from_utf8(place.read("swapped/run.toml")).unwrap()).unwrap();
    assert_eq!(run["data"]["task"]["paradigm"].as_str(), Some("ssvep"));
    assert_eq!(run["data"]["task"]["symmetry"]["left"].as_str(), Some("right"));
    assert!(accuracy(&place, "swapped") < 0.8, "{}", accuracy(&place, "swapped"));
    // The other declaration is another run.
    let refused = train(&place, "", "swapped").run();
    assert!(refused.stderr.contains("holds another run"), "{}", refused.stderr);
}

#[test]
fn mirroring_without_a_declaration_is_refused() {
    let place = Place::new();
    ssvep(&place);
    for line in [
        "train --data ssvep.npz --set augment.mirror=0.5 --out run",
        "benchmark --data ssvep.npz --models eegnet --protocol kfold:2 --set augment.mirror=0.5 --out run",
    ] {
        let refused = place.ptsm(line).run();
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains("nothing declares which classes swap"), "{}", refused.stderr);
        assert!(refused.stderr.contains("--symmetry left_hand=right_hand"), "{}", refused.stderr);
    }
    for (given, says) in [("left=up", "there is no class `up`"), ("left", "`left` is no pair of classes")] {
        let line = format!("train --data ssvep.npz --symmetry {given} --out run");
        let refused = place.ptsm(&line).run();
        assert!(refused.code != Some(0) && refused.stderr.contains(says), "{}", refused.stderr);
    }
}

/// Files say it themselves, and everything that tells of a decoder tells it.
#[test]
fn what_is_declared_is_reported_everywhere() {
    let place = Place::new();
    let pairs = vec!["0".to_string(), "1".to_string()];
    cohort(8, 16, 0.6)
        .with("paradigm", Array::new(vec![], vec!["motor-imagery".to_string()]).unwrap())
        .with("symmetry", Array::new(vec![1, 2], pairs).unwrap())
        .write(&place.path("hands.npz"));
    let quick = "--set training.epochs=2";
    let run = place
        .ptsm(&format!("train --data hands.npz --subjects 1-6 {quick} --out run --json"))
        .args(SMALL)
        .succeed()
        .json();
    assert_eq!(run["paradigm"], "motor-imagery");
    assert_eq!(
        run["mirroring"],
        serde_json::json!({ "share": 1.0, "built_in": "equivariant", "symmetry": { "0": "1" } })
    );
    let none = place
        .ptsm(&format!("train --data hands.npz --subjects 1-6 {quick} --symmetry none --out none --json"))
        .args(SMALL)
        .succeed()
        .json();
    assert_eq!(none["mirroring"]["share"], 0.0);

    let line = format!(
        "benchmark --data hands.npz --models ptsm,eegnet,csp-lda --protocol kfold:2 {quick} --set band_hz=none"
    );
    let bench = place.ptsm(&format!("{line} --out bench --json")).succeed().json();
    let output = bench["mirroring"].as_array().unwrap();
    let share = |model: &str| &output.iter().find(|t| t["model"] == model).unwrap()["mirroring"]["share"];
    assert_eq!(
        (share("ptsm"), share("eegnet"), share("csp-lda")),
        (&1.0.into(), &0.0.into(), &serde_json::Value::Null)
    );
    let text = place.ptsm("collect bench").succeed().stdout;
    assert!(text.contains("Left-right mirroring, hands.npz: ptsm (built in"), "{text}");

    place.ptsm("report run --data hands.npz --sections card --out page.html").succeed();
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(page.contains("left-right mirroring") && page.contains("0=1 swap"), "no line in the model card");
    // Decoders of shuffled labels are mirrored as the model card declares, though trials for a decoder come without a declaration.
    place.ptsm("explain run --data hands.npz --sections masks --nulls 1 --out nulls.html").succeed();
    let page = String::from_utf8(place.read("nulls.html")).unwrap();
    assert!(page.contains("trained on shuffled labels"), "no masks of shuffled labels");

    let models = place.ptsm("models --json").succeed().json();
    let of = |name: &str| models["models"].as_array().unwrap().iter().find(|m| m["name"] == name).unwrap();
    assert_eq!(of("ptsm")["mirroring"], serde_json::json!({ "declared": 1.0, "undeclared": 0.0 }));
    assert_eq!(of("eegnet")["mirroring"]["declared"], 0.0);
    assert!(of("csp-lda")["mirroring"]["declared"].is_null());
    for (id, says) in [
        ("openbmi-ssvep", "no symmetry is declared: epochs are not mirrored"),
        ("openbmi-mi", "left_hand=right_hand swap"),
        ("physionet-mi", "left_hand=right_hand swap"),
    ] {
        let shown = place.ptsm(&format!("data show {id}")).succeed().stdout;
        assert!(shown.contains(says), "{id}: {shown}");
    }
}

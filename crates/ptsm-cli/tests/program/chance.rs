//! Chance is of the metric that is reported, and what is at chance is said to be.

use ptsm::io::npy::Array;
use serde_json::Value;

use crate::common::{Place, QUICK, SMALL, cohort, random};

/// A rare target, one trial in six: the two hands of other tests, of which one is shown five times as often.
fn rare(place: &Place) {
    let (subjects, each) = (6, 48);
    let mut random = random(11);
    let (mut x, mut y) = (vec![], vec![]);
    for _ in 0..subjects * each {
        let target = random() < 1.0 / 6.0;
        y.push(u32::from(target));
        for channel in 0..5 {
            let strong = (channel == 0) == target && channel < 3;
            let amplitude = if strong { 1.35 } else { 1.0 };
            let phase = std::f64::consts::TAU * random();
            x.extend(
                (0..128)
                    .map(|t| (amplitude * (0.9 * t as f64 + phase).sin() + 2.0 * (random() - 0.5)) as f32),
            );
        }
    }
    let classes = vec!["other".to_string(), "target".to_string()];
    cohort(subjects, each, 0.0)
        .with("X", Array::new(vec![subjects * each, 5, 128], x).unwrap())
        .with("y", Array::vector(y))
        .with("classes", Array::vector(classes))
        .write(&place.path("rare.npz"));
}

fn benchmark(place: &Place, metrics: &str, out: &str) -> (Value, String) {
    let plan = format!(
        "protocol = \"loso\"\nmodels = [\"ts-lr\"]\n{metrics}\n[set]\nband_hz = \"none\"\n[[data]]\nid = \"rare.npz\"\n"
    );
    place.write("plan.toml", plan);
    let result = place.ptsm(&format!("benchmark plan.toml --json --out {out}")).succeed().json();
    let tables = String::from_utf8(place.read(&format!("{out}/tables.md"))).unwrap();
    (result["summary"][0].clone(), tables)
}

#[test]
fn chance_is_of_the_metric_that_is_reported() {
    let place = Place::new();
    rare(&place);
    let (auc, tables) =
        benchmark(&place, "metrics = [\"auc\", \"balanced_accuracy\", \"sensitivity\"]", "auc");
    assert_eq!(auc["chance"]["metric"], "auc");
    assert_eq!((&auc["chance"]["level"], &auc["chance"]["pooled_above"]), (&0.5.into(), &true.into()));
    assert!(tables.contains("Chance level of AUC: 50.0 %"), "{tables}");
    assert!(tables.contains("for the mean over 6 subjects at p < 0.001, all are above"), "{tables}");
    assert!(tables.contains("each tested by AUC at p < 0.05"), "{tables}");
    // Which class SEN is of stands beside it, and in every record.
    assert!(tables.contains("Positive class of SEN: target."), "{tables}");
    assert_eq!(auc["positive_class"], "target");

    // Where nobody names a metric, an uneven task is judged by balanced accuracy, which then stands in front.
    let (plain, tables) = benchmark(&place, "", "plain");
    assert_eq!(plain["chance"]["metric"], "balanced_accuracy");
    assert!(tables.contains("| model | balanced % |"), "{tables}");
    assert!(tables.contains("Chance level of balanced accuracy: 50.0 %"), "{tables}");

    // Accuracy that is asked for is held against the most frequent class, as ever.
    let (accuracy, tables) = benchmark(&place, "metrics = [\"accuracy\"]", "accuracy");
    assert_eq!(accuracy["chance"]["metric"], "accuracy");
    assert!(accuracy["chance"]["level"].as_f64().unwrap() > 0.8);
    assert!(tables.contains("Always answering the most frequent class:"), "{tables}");

    // What has no test says so.
    let (kappa, tables) = benchmark(&place, "metrics = [\"kappa\"]", "kappa");
    assert!(kappa["chance"]["above"].is_null() && kappa["chance"]["level"].is_null());
    assert!(tables.contains("There is no test of kappa against chance"), "{tables}");
    assert!(tables.contains("| - | none |"), "{tables}");
}

/// Trials in which nothing is to be found.
fn noise(place: &Place) {
    let (subjects, each) = (8, 16);
    let mut random = random(5);
    let x: Vec<f32> = (0..subjects * each * 5 * 128).map(|_| (random() - 0.5) as f32).collect();
    cohort(subjects, each, 0.0)
        .with("X", Array::new(vec![subjects * each, 5, 128], x).unwrap())
        .write(&place.path("noise.npz"));
}

const WARNING: &str = "warning: ";
const CAUSES: &str = "likely causes: wrong event codes or windows";

#[test]
fn what_is_at_chance_says_so() {
    let place = Place::new();
    noise(&place);
    cohort(8, 16, 0.9).write(&place.path("good.npz"));

    // Trained: by the validation subjects, which a network has.
    let line = "train --data noise.npz --subjects 1-6 --set training.epochs=1 --out run";
    let output = place.ptsm(line).args(SMALL).succeed();
    assert!(
        output.stderr.contains("warning: the decoder is not above chance on the validation subjects"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains(CAUSES) && output.stderr.contains("ptsm data check"), "{}", output.stderr);
    let output = place.ptsm(&format!("{line} --json")).args(SMALL).succeed().json();
    assert_eq!((&output["at_chance"], &output["fits"][0]["at_chance"]), (&true.into(), &true.into()));
    let good = "train --json --data good.npz --subjects 1-6 --set training.epochs=30 --set training.rate=0.003 --out good";
    let output = place.ptsm(good).args(SMALL).succeed();
    assert_eq!(output.json()["at_chance"], false, "{}", output.stdout);
    assert!(!output.stderr.contains(WARNING), "{}", output.stderr);
    // Nobody was held back: nothing is known yet.
    let output =
        place.ptsm("train --json --data noise.npz --subjects 1-6 --out classic").args(QUICK).succeed().json();
    assert!(output["at_chance"].is_null());

    // Scored and compared.
    let output = place.ptsm("evaluate classic --data noise.npz").succeed();
    assert!(output.stderr.contains("warning: `csp-lda` is not above chance"), "{}", output.stderr);
    let line = "--models csp-lda,mdm --set band_hz=none --protocol kfold:4";
    let output = place.ptsm(&format!("benchmark --json --data noise.npz {line} --out bench")).succeed();
    assert!(output.stderr.contains("warning: none of 2 decoders is above chance"), "{}", output.stderr);
    assert_eq!(output.json()["at_chance"], true);
    let output = place.ptsm(&format!("benchmark --json --data good.npz {line} --out other")).succeed();
    assert!(!output.stderr.contains(WARNING), "{}", output.stderr);
    assert_eq!(output.json()["at_chance"], false);

    // Tuned.
    let line = "--model csp-lda --set band_hz=none --try filters=2,4 --develop 1-8";
    let output = place.ptsm(&format!("tune --json --data noise.npz {line} --out tuned")).succeed();
    assert!(output.stderr.contains("csp-lda trained on 5 to 6 subjects in each fold"), "{}", output.stderr);
    assert!(output.stderr.contains("warning: the best candidate is not above chance"), "{}", output.stderr);
    assert_eq!(output.json()["at_chance"], true);
    let output = place.ptsm(&format!("tune --json --data good.npz {line} --out better")).succeed();
    assert!(!output.stderr.contains(WARNING), "{}", output.stderr);
    assert_eq!(output.json()["at_chance"], false);
}

#[test]
fn a_converter_that_did_not_learn_says_so() {
    let place = Place::new();
    noise(&place);
    let line = "train --data noise.npz --subjects 1-6 --model cslp-ae --set training.epochs=1 --set network.width=8 --set network.latent=4 --set network.pair_trials=8 \
                --set network.levels=2 --out converter";
    let output = place.ptsm(line).succeed();
    assert!(output.stdout.contains("the last epoch is kept"), "{}", output.stdout);
    assert!(output.stderr.contains("warning: the converter is not above chance"), "{}", output.stderr);
}

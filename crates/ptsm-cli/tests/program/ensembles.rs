//! Ensembles: trained, stored in one file, used by every command, and told from single decoders.

use serde_json::{Value, json};

use crate::common::{Case, Place, SMALL, check};

const TRAIN: &str = "train --data a.npz --subjects 1-6 --model eegnet --set training.epochs=3";

/// The probabilities that a run gives to each trial.
fn probabilities(place: &Place, run: &str) -> Vec<Vec<f64>> {
    let said = place.ptsm(&format!("predict {run} --data a.npz --subjects 7-8 --json")).succeed().json();
    let trials = said["trials"].as_array().unwrap().iter();
    trials.map(|trial| serde_json::from_value(trial["probabilities"].clone()).unwrap()).collect()
}

#[test]
fn an_ensemble_is_trained_predicts_and_is_evaluated() {
    let place = Place::with_data();
    let report = place.ptsm(TRAIN).args(["--ensemble", "3", "--out", "run", "--json"]).succeed().json();
    let single = place.ptsm(TRAIN).args(["--out", "single", "--json"]).succeed().json();
    assert_eq!((&report["ensemble"], &single["ensemble"]), (&json!(3), &json!(1)));
    assert_eq!(report["parameters"].as_u64(), single["parameters"].as_u64().map(|n| 3 * n));
    let fits = report["fits"].as_array().unwrap();
    assert_eq!(fits.len(), 1);
    let seeds: Vec<u64> =
        fits[0]["members"].as_array().unwrap().iter().map(|m| m["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 4294967297, 8589934593]);
    assert_eq!(fits[0]["best_epoch"], json!(null));
    assert!(fits[0]["validation_accuracy"].is_number() && single["fits"][0]["members"] == json!([]));
    let models = |run: &str| {
        let begins = format!("{run}/models/");
        place
            .list()
            .into_iter()
            .filter(|name| name.starts_with(&begins) && !name.ends_with('/'))
            .collect::<Vec<_>>()
    };
    assert_eq!(models("run"), ["run/models/seed-1.safetensors"]);
    assert!(!place.list().iter().any(|name| name.contains("checkpoint")));

    // The first member is the single decoder; the validation subjects of all are drawn by the seed of the ensemble.
    let (first, alone) = (&fits[0]["members"][0], &single["fits"][0]);
    for key in ["seed", "best_epoch", "epochs", "validation_accuracy"] {
        assert_eq!(first[key], alone[key], "{key}");
    }
    let (together, alone) = (probabilities(&place, "run"), probabilities(&place, "single"));
    assert_eq!(together.len(), 32);
    assert!(together.iter().all(|p| (p.iter().sum::<f64>() - 1.0).abs() < 1e-6));
    assert_ne!(together, alone);
    assert_eq!(together, probabilities(&place, "run"));

    let text = place.ptsm("evaluate run --data a.npz").succeed().stdout;
    assert!(text.contains("eegnet, ensemble of 3"), "{text}");
    let said = place.ptsm("evaluate run --data a.npz --json").succeed().json();
    assert_eq!(said["summary"][0]["variant"], json!("ensemble of 3"));
    assert_eq!(place.ptsm("predict run --data a.npz --json").succeed().json()["ensemble"], json!(3));
    // Nothing is left to do, and what is said of it stays the same.
    let again = place.ptsm(TRAIN).args(["--ensemble", "3", "--out", "run", "--json"]).succeed();
    assert!(again.stderr.contains("this run is finished"), "{}", again.stderr);
    assert_eq!(again.json(), report);
    // One member is the single decoder, to the byte.
    place.ptsm(TRAIN).args(["--ensemble", "1", "--out", "one"]).succeed();
    for file in ["run.toml", "log.jsonl", "models/seed-1.safetensors"] {
        assert!(place.read(&format!("one/{file}")) == place.read(&format!("single/{file}")), "{file}");
    }
}

/// The file of a single decoder that an earlier version wrote is written again to the byte.
#[test]
fn files_of_single_decoders_are_as_they_were() {
    let place = Place::new();
    let earlier =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/earlier/run/models/seed-1.safetensors");
    let device = (&ptsm::engine::Cpu::new().unwrap()).into();
    let (fitted, card) = ptsm::decode::file::load(&earlier, &device).unwrap();
    ptsm::decode::file::save(&place.path("again.safetensors"), &*fitted, &card).unwrap();
    assert!(place.read("again.safetensors") == std::fs::read(earlier).unwrap());
}

#[test]
fn an_ensemble_is_explained_and_adapted() {
    let place = Place::with_data();
    let line =
        "train --data a.npz --subjects 1-6 --model ptsm --ensemble 2 --set training.epochs=2 --out run";
    place.ptsm(line).args(SMALL).succeed();
    let figures = place.ptsm("explain run --data a.npz --figure list").succeed().stdout;
    assert!(figures.contains("channel-saliency") && !figures.contains("spatial-masks"), "{figures}");
    place
        .ptsm("report run --data a.npz --sections summary,masks,disentanglement,calibration,card --out report.html")
        .succeed();
    let page = String::from_utf8(place.read("report.html")).unwrap();
    assert!(
        page.contains("ensemble of 2")
            && page.contains("members of an ensemble have masks of their own, which differ")
            && page.contains("Calibration is a part of the ensemble")
    );
    let said = place.ptsm("adapt run --data a.npz --subject 7 --shots 2 --out run-7 --json").succeed().json();
    assert_eq!(said["fits"].as_array().map(Vec::len), Some(1), "{said}");
    place.ptsm("predict run-7 --data a.npz --subjects 7").succeed();
}

#[test]
fn a_benchmark_tells_ensembles_from_single_decoders() {
    let place = Place::with_data();
    let line = "benchmark --data a.npz --models eegnet,csp-lda --set training.epochs=2 --set band_hz=none --protocol kfold:2 --json";
    place.ptsm(line).args(["--out", "bench"]).succeed();
    let names = |out: &str, said: &Value| -> Vec<String> {
        let rows = said["summary"].as_array().unwrap().iter();
        let name = |row: &Value| {
            format!(
                "{}{}",
                row["model"].as_str().unwrap(),
                match row["variant"].as_str() {
                    Some(variant) => format!(", {variant}"),
                    None => String::new(),
                }
            )
        };
        assert!(
            !place
                .list()
                .iter()
                .any(|name| name.starts_with(&format!("{out}/items/")) && name.ends_with(".safetensors"))
        );
        rows.map(name).collect()
    };
    // In the same folder: only what is another decoder is fitted.
    let outcomes = || {
        place.list().iter().filter(|name| name.starts_with("bench/items/") && name.ends_with(".json")).count()
    };
    assert_eq!(outcomes(), 4);
    let both = place.ptsm(line).args(["--ensemble", "2", "--out", "bench"]).succeed();
    assert_eq!(outcomes(), 6);
    assert!(
        both.stderr
            .contains("note: nothing in the fit of `csp-lda` is random: it takes part as a single decoder")
    );
    assert_eq!(names("bench", &both.json()), ["eegnet, ensemble of 2", "csp-lda"]);
    place.write(
        "plan.toml",
        "models = ['eegnet', 'csp-lda']\nprotocol = 'kfold:2'\nset.training.epochs = 2\nset.band_hz = 'none'\n[[data]]\nid = 'a.npz'\n\
         [[variant]]\n[[variant]]\nset.ensemble = 2\n",
    );
    let said = place.ptsm("benchmark plan.toml --out bench --json").succeed();
    assert_eq!(outcomes(), 6, "all of it is there");
    assert!(said.stderr.contains("`csp-lda` is left out of"), "{}", said.stderr);
    assert_eq!(names("bench", &said.json()), ["eegnet", "csp-lda", "eegnet, ensemble of 2"]);
}

#[test]
fn what_is_no_ensemble_is_refused() {
    let place = Place::with_data();
    check(
        &place,
        &[
            Case::new(
                "train --data a.npz --model csp-lda --set band_hz=none --ensemble 3 --out run",
                &["nothing in the fit of `csp-lda` is random: 3 members would be the same decoder 3 times"],
                &["leave `--ensemble` out"],
            ),
            Case::new(
                "benchmark --data a.npz --models csp-lda --set band_hz=none --ensemble 3 --out bench",
                &["nothing in the fit of `csp-lda` is random"],
                &["leave `--ensemble` out"],
            ),
            Case::new(
                "train --data a.npz --model eegnet --ensemble 0 --out run",
                &["`ensemble` is 0; give the number of members, from 1"],
                &[],
            ),
        ],
    );
}

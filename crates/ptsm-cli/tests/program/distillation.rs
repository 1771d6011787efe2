//! Distilled networks: one model file each, the settings that lead to it, rows of their own, and what is refused.

use serde_json::{Value, json};

use crate::common::{Case, Place, check};

const TRAIN: &str = "train --data a.npz --subjects 1-6 --model eegnet --set training.epochs=2";

#[test]
fn a_distilled_network_is_a_single_one_with_a_note_of_its_teacher() {
    let place = Place::with_data();
    let train = |flags: &[&str], out: &str| {
        place.ptsm(TRAIN).args(flags).args(["--out", out, "--json"]).succeed().json()
    };
    let report = train(&["--distil", "2", "--set", "distil.weight=0.25"], "run");
    let single = train(&[], "single");
    assert_eq!((&report["distilled_from"], &single["distilled_from"]), (&json!(2), &Value::Null));
    assert_eq!((&report["ensemble"], &report["parameters"]), (&json!(1), &single["parameters"]));
    assert_eq!(report["fits"][0]["epochs"], json!(2));
    let size = |run: &str| place.read(&format!("{run}/models/seed-1.safetensors")).len();
    assert!(size("run").abs_diff(size("single")) < 500, "{} {}", size("run"), size("single"));
    assert!(!place.list().iter().any(|name| name.contains("checkpoint")));
    let lines = String::from_utf8(place.read("run/log.jsonl")).unwrap();
    assert!(lines.lines().count() == 2 && lines.contains("\"distil\""), "{lines}");
    let text = place.ptsm("evaluate run --data a.npz").succeed().stdout;
    assert!(text.contains("eegnet, distilled from 2 (weight 0.25)"), "{text}");
    place.ptsm("report run --data a.npz --sections summary,card --out report.html").succeed();
    assert!(String::from_utf8(place.read("report.html")).unwrap().contains("distilled from 2"));
    place.ptsm("adapt run --data a.npz --subject 7 --shots 2 --out run-7").succeed();
    // In a file, in short; the flag says how many, what the file says of the rest stays.
    place.write("short.toml", "distil = 2\n");
    place.write("full.toml", "[distil]\nmembers = 3\nweight = 0.25\n");
    train(&["--config", "short.toml", "--set", "distil.weight=0.25"], "short");
    train(&["--config", "full.toml", "--distil", "2"], "full");
    // None of it is the network without a teacher, to the byte.
    train(&["--config", "full.toml", "--distil", "0"], "none");
    for (own, other) in [("short", "run"), ("full", "run"), ("none", "single")] {
        for file in ["run.toml", "log.jsonl", "models/seed-1.safetensors"] {
            let read = |run: &str| place.read(&format!("{run}/{file}"));
            assert!(read(own) == read(other), "{own} {file}");
        }
    }
}

#[test]
fn a_benchmark_tells_distilled_networks_from_others() {
    let place = Place::with_data();
    place.write(
        "plan.toml",
        "models = ['eegnet', 'csp-lda']\nprotocol = 'kfold:2'\nset.training.epochs = 2\nset.band_hz = 'none'\n[[data]]\nid = 'a.npz'\n\
         [[variant]]\n[[variant]]\nset.distil = 2\n[[variant]]\nset.ensemble = 2\n",
    );
    let names = |said: &Value| -> Vec<String> {
        let rows = said["summary"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().map(str::to_string);
        rows.map(|row| {
            [text(&row["model"]), text(&row["variant"])].into_iter().flatten().collect::<Vec<_>>().join(", ")
        })
        .collect()
    };
    let said = place.ptsm("benchmark plan.toml --out bench --json").succeed();
    assert!(said.stderr.contains("`csp-lda` is left out of"), "{}", said.stderr);
    assert_eq!(
        names(&said.json()),
        ["eegnet", "csp-lda", "eegnet, distilled from 2", "eegnet, ensemble of 2"]
    );
    assert!(!place.list().iter().any(|name| name.ends_with(".safetensors")), "{:?}", place.list());
    // Beside each other, those that cannot be distilled take part as they are.
    let line = "benchmark --data a.npz --models eegnet,csp-lda --set training.epochs=2 --set band_hz=none --protocol kfold:2 --distil 2 --json";
    let said = place.ptsm(line).args(["--out", "bench"]).succeed();
    assert!(
        said.stderr.contains("note: `csp-lda` cannot be distilled")
            && said.stderr.contains("takes part as it is"),
        "{}",
        said.stderr
    );
    assert_eq!(names(&said.json()), ["eegnet, distilled from 2", "csp-lda"]);
    let planned = place.ptsm(line).args(["--out", "other", "--dry-run"]).succeed();
    assert!(planned.stdout.contains("distilled from 2"), "{}", planned.stdout);
}

#[test]
fn what_cannot_be_distilled_is_refused() {
    let place = Place::with_data();
    check(
        &place,
        &[
            Case::new(
                "train --data a.npz --model csp-lda --set band_hz=none --distil 3 --out run",
                &["`csp-lda` cannot be distilled: it is no network of the common trainer"],
                &["leave `--distil` out"],
            ),
            Case::new(
                "train --data a.npz --model acon-pseudo --distil 3 --out run",
                &["`acon-pseudo` cannot be distilled: its two branches teach each other"],
                &["leave `--distil` out"],
            ),
            Case::new(
                "train --data a.npz --model eegnet --distil 3 --ensemble 2 --out run",
                &["`ensemble` and `distil` are both set", "8 trainings for each seed"],
                &[],
            ),
            Case::new(
                "train --data a.npz --model eegnet --set distil=many --out run",
                &["`distil` is \"many\"; give the number of members"],
                &[],
            ),
        ],
    );
}

//! `ptsm report` and `ptsm explain`: one file, every section that has its inputs, and a word about those that have not.

use serde_json::Value;

use crate::common::{Case, Place, check};

fn text(place: &Place, file: &str) -> String {
    String::from_utf8(place.read(file)).unwrap()
}

fn sections(output: &str) -> Vec<String> {
    let output: Value = serde_json::from_str(output).unwrap();
    output["sections"].as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_string()).collect()
}

/// PTSM after two epochs, with its subject branch.
fn trained(place: &Place) {
    place
        .ptsm("train --data a.npz --subjects 1-5 --model ptsm --seeds 2 --set training.epochs=2 --set training.keep_subjects=true --out run")
        .succeed();
}

/// Has a model's batch norms go over to a new session's own after 20 trials, whatever its validation subjects chose.
fn adapting_by_20_trials(model: &mut [u8]) {
    let start = 8 + u64::from_le_bytes(model[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&model[8..start]).unwrap();
    let at = header["norm_prior.trial_weight"]["data_offsets"][0].as_u64().unwrap() as usize;
    model[start + at..][..4].copy_from_slice(&0.05_f32.to_le_bytes());
}

/// Masks, features and scores of a decoder whose norms are adapted without labels are those of the adapted one.
#[test]
fn adapted_norms_are_explained_too() {
    let place = Place::with_data();
    let line =
        "train --data a.npz --subjects 1-5 --model ptsm --norms whole --set training.epochs=2 --out run";
    place.ptsm(line).succeed();
    let mut model = place.read("run/models/seed-1.safetensors");
    adapting_by_20_trials(&mut model);
    place.write("run/models/seed-1.safetensors", model);
    place.ptsm("evaluate run --data a.npz --out scores.html").succeed();
    assert!(text(&place, "scores.html").contains("Masks"));
    let line = "explain run --data a.npz --nulls 1 --masks masks.npz --out explain.html --json";
    let told = sections(&place.ptsm(line).succeed().stdout);
    assert!(told.iter().any(|s| s == "Masks") && told.iter().any(|s| s == "Sanity checks"), "{told:?}");
    assert!(!place.read("masks.npz").is_empty());
    let line = "report run --data a.npz --sections masks,disentanglement --out report.html --json";
    assert_eq!(sections(&place.ptsm(line).succeed().stdout), ["Masks", "Disentanglement"]);
}

#[test]
fn a_decoder_with_masks_gets_every_section() {
    let place = Place::with_data();
    trained(&place);
    place
        .ptsm("benchmark --data a.npz --models csp-lda,mdm --set band_hz=none --protocol kfold:4 --out bench")
        .succeed();
    let line = "report run --data a.npz --shots 1 --benchmark bench --nulls 1 --out report.html --json";
    let output = place.ptsm(line).succeed();
    let expected = [
        "Summary",
        "Scores of each subject",
        "Confusion matrix",
        "Calibration",
        "Few-shot adaptation",
        "Pairwise comparison",
        "Training curves",
        "Masks",
        "Saliency",
        "Sanity checks",
        "Disentanglement",
        "Failure analysis",
        "Model card",
        // None of these channels is frontal.
        "Missing sections",
    ];
    assert_eq!(sections(&output.stdout), expected);
    let page = text(&place, "report.html");
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    for part in [
        "shuffled labels",
        "before calibration",
        "the subject from the task features",
        "the class from the subject features",
        "Deletion: fused mask, channels",
        "ICC over",
        "Eyes. The eye test needs electrodes in the frontal region",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for link in ["http://", "https://", "src="] {
        let outside =
            page.match_indices(link).filter(|(at, _)| !page[*at..].starts_with("http://www.w3.org/"));
        assert_eq!(outside.count(), 0, "{link}");
    }
    // The same again, to the byte.
    // What was adapted is said.
    assert!(
        page.contains("The head is adapted, by a prior") && !page.contains("The personal masks are adapted")
    );
    let line = "report run --data a.npz --shots 1 --how masks --steps 2 --sections few-shot --out masks.html";
    place.ptsm(line).succeed();
    assert!(text(&place, "masks.html").contains("The personal masks are adapted by the first trials"));
    place.ptsm("report run --data a.npz --shots 1 --benchmark bench --nulls 1 --out again.html").succeed();
    assert!(page == text(&place, "again.html"), "two runs make two pages");
}

#[test]
fn what_lacks_its_inputs_is_reported() {
    let place = Place::with_data();
    place.ptsm("train --data a.npz --subjects 1-5 --model csp-lda --set band_hz=none --out run").succeed();
    let output = place.ptsm("explain run --data a.npz --out explain.html --json").succeed();
    assert_eq!(sections(&output.stdout), ["Saliency", "Sanity checks", "Missing sections"]);
    let page = text(&place, "explain.html");
    for part in ["This decoder has no masks", "no features that can be looked at", "Occlusion of"] {
        assert!(page.contains(part), "{part}");
    }
    place
        .ptsm("benchmark --data a.npz --models csp-lda,mdm --set band_hz=none --protocol kfold:4 --out bench")
        .succeed();
    let output = place.ptsm("report --benchmark bench --out report.html --json").succeed();
    assert_eq!(sections(&output.stdout), ["Pairwise comparison", "Missing sections"]);
    let output =
        place.ptsm("report run --data a.npz --sections people,card --out some.html --json").succeed();
    assert_eq!(sections(&output.stdout), ["Scores of each subject", "Model card"]);
}

#[test]
fn a_section_that_cannot_be_made_costs_itself_alone() {
    let place = Place::with_data();
    place.ptsm("train --data a.npz --subjects 1-5 --model sblest --out run").succeed();
    let output = place.ptsm("report run --data a.npz --out report.html --json").succeed();
    let made = sections(&output.stdout);
    assert!(
        made.contains(&"Scores of each subject".into()) && made.contains(&"Model card".into()),
        "{made:?}"
    );
    // Without a channel its covariance has no full rank.
    assert!(!made.contains(&"Saliency".into()), "{made:?}");
    let page = text(&place, "report.html");
    assert!(page.contains("It could not be computed"), "no reason is told");
}

#[test]
fn an_adapted_decoder_is_that_subjects() {
    let place = Place::with_data();
    trained(&place);
    place.ptsm("adapt run --data a.npz --subject 7 --shots 2 --no-guard --steps 3 --out own").succeed();
    place.ptsm("report own --data a.npz --sections short,few-shot,card --out report.html").succeed();
    let page = text(&place, "report.html");
    for part in ["Adapted to S07 by 2 labelled trials", "adapted to S07", "adapted already"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("has not seen") && !page.contains("holds no number"), "words of another decoder");
}

#[test]
fn one_figure_is_a_file_of_its_own() {
    let place = Place::with_data();
    trained(&place);
    let some = "explain run --data a.npz --sections masks";
    let names = place.ptsm(&format!("{some} --figure list --out x")).succeed().stdout;
    assert!(names.lines().any(|name| name == "temporal-masks"), "{names}");
    assert!(!place.path("x").exists());
    place.ptsm(&format!("{some} --figure temporal-masks --out mask.svg")).succeed();
    assert!(text(&place, "mask.svg").starts_with("<svg"), "{}", &text(&place, "mask.svg")[..80]);
    place.ptsm(&format!("{some} --figure temporal-masks --out mask.png")).succeed();
    assert!(place.read("mask.png").starts_with(b"\x89PNG"));
    place.ptsm(&format!("{some} --masks masks.npz --out x.html")).succeed();
    let mut masks = ptsm::io::npz::read(&place.path("masks.npz")).unwrap();
    // Three subjects with 16 trials each, 5 channels, 128 samples; a mask is a share.
    for (name, shape) in [("common_space", [48, 5]), ("personal_time", [48, 128]), ("fused_time", [48, 128])]
    {
        let array = masks.array(name).unwrap();
        assert_eq!(array.shape(), shape, "{name}");
        assert!(array.into_data().to_f64().unwrap().iter().all(|v| (0.0..=1.0).contains(v)), "{name}");
    }
    assert_eq!(masks.array("subject").unwrap().into_data().to_integers().unwrap()[47], 8);
    let before = place.list();
    check(
        &place,
        &[
            Case::new(
                "explain run --data a.npz --sections masks --figure none --out other.svg",
                &["no figure `none`"],
                &["temporal-masks"],
            ),
            // Before any work: the run is not even looked for.
            Case::new(
                "explain nowhere --data a.npz --figure spatial-maskz --out other.svg",
                &["no figure `spatial-maskz`"],
                &["spatial-masks"],
            ),
            Case::new(
                "explain nowhere --data a.npz --figure spatal-masks --out other.svg",
                &["no figure `spatal-masks`"],
                &["spatial-masks"],
            ),
            Case::new(
                "explain run --data a.npz --sections masks --figure temporal-masks --out mask.pdf",
                &["neither an SVG nor a PNG"],
                &[".svg"],
            ),
            Case::new(
                "explain run --data a.npz --sections maks --out x.html",
                &["no section `maks`"],
                &["masks"],
            ),
            Case::new(
                "explain run --data a.npz --subjects 1,6 --out x.html",
                &["trained on S01"],
                &["name other subjects"],
            ),
            Case::new(
                "explain run --data a.npz --out nowhere/x.html",
                &["nowhere is no folder"],
                &["make the folder"],
            ),
            Case::new("explain run --data a.npz --out run", &["run is a folder"], &["name a file"]),
            Case::new("report --out x.html", &["nothing to report about"], &["--benchmark"]),
            Case::new("report run --out x.html", &["no data is named"], &["--data"]),
            Case::new(
                "report --benchmark run --out x.html",
                &["run holds no benchmark"],
                &["ptsm benchmark"],
            ),
            Case::new(
                "explain nowhere --data a.npz --out x.html",
                &["nowhere does not exist"],
                &["ptsm train"],
            ),
        ],
    );
    assert_eq!(place.list(), before);
}

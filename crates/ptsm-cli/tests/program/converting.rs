//! Trials of one subject as another's, into a file that is data again.

use ptsm::data::arrays::read_trials;
use ptsm::signal::SubjectId;

use crate::common::{Case, Place, QUICK, check};

/// `run` is of CSLP-AE, `quick` of a decoder that cannot convert; both trained on 1-6.
fn trained() -> Place {
    let place = Place::with_data();
    let small = ["width=8", "latent=4", "levels=2", "pair_trials=32"];
    let small = small.iter().flat_map(|s| ["--set".to_string(), format!("network.{s}")]);
    let train = "train --data a.npz --subjects 1-6 --out";
    let epochs = ["--set", "training.epochs=10", "--set", "training.rate=0.003"];
    place.ptsm(&format!("{train} run --model cslp-ae")).args(small).args(epochs).succeed();
    place.ptsm(&format!("{train} quick")).args(QUICK).succeed();
    place
}

#[test]
fn converted_trials_are_data_again() {
    let place = trained();
    let said = place.ptsm("convert run --data a.npz --subjects 7 --as 8 --out b.npz").succeed();
    assert_eq!(said.stdout, "16 trials of S07 converted to S08, who is known by 16 trials: b.npz\n");
    let (given, made) = ["a.npz", "b.npz"].map(|f| read_trials(&place.path(f)).unwrap().trials).into();
    assert_eq!(made.layout(), given.layout());
    let (from, other) = ([SubjectId(7)].into(), [SubjectId(8)].into());
    let (from, other) = (given.of(&from), given.of(&other));
    for (own, made) in from.info().zip(made.info()) {
        assert_eq!(
            (own.label, own.session, own.run, own.cue_s),
            (made.label, made.session, made.run, made.cue_s)
        );
        assert_eq!(made.subject, SubjectId(8));
    }
    // New samples, of the size of recorded ones.
    let power = |x: &[f32]| x.iter().map(|v| f64::from(v * v)).sum::<f64>() / x.len() as f64;
    let (made, own) = (made.to_vec(), from.signals().flatten().copied().collect::<Vec<f32>>());
    assert_ne!(made, own);
    let size = power(&made) / power(&other.signals().flatten().copied().collect::<Vec<f32>>());
    assert!((0.01..4.0).contains(&size), "{size}");
    // A decoder takes them.
    let said = place.ptsm("predict run --data b.npz --subjects 8 --json").succeed().json();
    assert_eq!(said["trials"].as_array().unwrap().len(), 16);
    // It is data to show, and the same command makes the same file.
    assert_eq!(place.ptsm("data show b.npz --json").succeed().json()["name"], "b.npz");
    let first = place.read("b.npz");
    place.ptsm("convert run --data a.npz --subjects 7 --as 8 --out b.npz").succeed();
    assert_eq!(place.read("b.npz"), first);
}

#[test]
fn all_other_subjects_are_converted_and_one_is_known_by_some_trials() {
    let place = trained();
    let said = place.ptsm("convert run --data a.npz --as 8 --trials 5 --out all.npz --json").succeed().json();
    assert_eq!(said["subjects"].as_array().unwrap().len(), 7);
    assert_eq!((&said["trials"], &said["person_trials"], &said["as"]), (&112.into(), &5.into(), &8.into()));
    assert_eq!(said["class_counts"], serde_json::json!([56, 56]));
    let made = read_trials(&place.path("all.npz")).unwrap().trials;
    assert_eq!((made.len(), made.subjects()), (112, [SubjectId(8)].into()));
    // Other trials of the subject, another subject: other samples.
    place.ptsm("convert run --data a.npz --as 8 --trials 6 --out more.npz").succeed();
    assert_ne!(place.read("more.npz"), place.read("all.npz"));
}

#[test]
fn what_cannot_be_converted_is_reported() {
    let place = trained();
    check(
        &place,
        &[
            Case::new(
                "convert quick --data a.npz --as 8 --out b.npz",
                &["`csp-lda` decodes trials and cannot convert them"],
                &["--model cslp-ae"],
            ),
            Case::new(
                "convert run --data a.npz --as 9 --out b.npz",
                &["no subject 9", "1-8"],
                &["choose among"],
            ),
            Case::new(
                "convert run --data a.npz --subjects 12 --as 8 --out b.npz",
                &["no subject 12"],
                &["choose among"],
            ),
            Case::new(
                "convert run --data a.npz --as 8 --trials 0 --out b.npz",
                &["`--trials 0`"],
                &["at least 1"],
            ),
            Case::new("convert run --data a.npz --as 8 --out none/b.npz", &["none"], &[]),
            Case::new("convert nowhere --data a.npz --as 8 --out b.npz", &["nowhere"], &["ptsm train --out"]),
            Case::line("convert run --data a.npz --out b.npz", &["--as"]),
        ],
    );
}

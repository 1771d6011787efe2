//! BCI Competition IV in the files of BNCI Horizon 2020: the fixture, and made ones.

use std::path::{Path, PathBuf};

use ptsm_io::mat::Value;
use ptsm_signal::Pipeline;

use super::common::{
    bare, cell, counts, found, load, noise, notes, paths, refused, save, text, texts, tree, whose, with_field,
};

/// A run: trials begin so many samples after the first, counted from 0, with a class and the expert's mark.
fn run(seed: u64, columns: usize, samples: usize, trials: &[(usize, u32, bool)]) -> Value {
    let column = |of: &dyn Fn(&(usize, u32, bool)) -> f64| {
        let dims = if trials.is_empty() { vec![0, 0] } else { vec![trials.len(), 1] };
        Value::matrix(dims, trials.iter().map(of).collect())
    };
    let names = ["left hand", "right hand", "feet", "tongue"];
    Value::record(vec![
        ("X", Value::matrix(vec![samples, columns], noise(seed, samples * columns))),
        ("trial", column(&|t| t.0 as f64 + 1.0)),
        ("y", column(&|t| f64::from(t.1))),
        ("fs", Value::row(vec![250.0])),
        ("classes", texts(&names[..if columns == 6 { 2 } else { 4 }])),
        ("artifacts", column(&|t| f64::from(u8::from(t.2)))),
        ("gender", text("female")),
        ("age", Value::row(vec![24.0])),
    ])
}

/// Two runs of four classes after two calibration blocks.
fn runs() -> Vec<Value> {
    let trials = [(100, 1, false), (2100, 2, true), (4100, 3, false), (6100, 4, false)];
    vec![
        run(1, 25, 300, &[]),
        run(2, 25, 300, &[]),
        run(3, 25, 8000, &trials),
        run(4, 25, 8000, &trials[..2]),
    ]
}

fn save_runs(root: &Path, name: &str, runs: Vec<Value>) {
    save(&root.join(name), &[("data", &cell(&[1, runs.len()], runs))]);
}

fn folder_of(name: &str, runs: Vec<Value>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save_runs(folder.path(), name, runs);
    folder
}

#[test]
fn the_fixture_has_two_runs_with_trials() {
    let Some(folder) = tree(&[("mat/A01T.mat", "A01T.mat")]) else { return };
    let id = "bci-iv-2a";
    let loaded = load(id, folder.path(), &[], Some(&bare([-2.0, 0.0]))).unwrap();
    assert_eq!(loaded.trials.layout().classes, ["left_hand", "right_hand", "feet", "tongue"]);
    assert_eq!(
        whose(&loaded),
        [(1, 1, 1, "left_hand"), (1, 1, 1, "tongue"), (1, 1, 2, "left_hand"), (1, 1, 2, "tongue")]
    );
    // The window begins with the trial, two seconds before the cue.
    assert!((loaded.trials.signal(0)[0] - 0.126).abs() < 1e-5);
    assert_eq!((loaded.trials.info()[0].cue_s, loaded.trials.info()[2].cue_s), (3.0, 2.0));
    let layout = loaded.trials.layout();
    assert_eq!(
        (layout.channels.len(), &*layout.channels[0].name, &*layout.channels[21].name),
        (22, "Fz", "POz")
    );
    let loaded = load(id, folder.path(), &[("artifacts", "drop")], Some(&bare([-2.0, 0.0]))).unwrap();
    assert_eq!(loaded.trials.len(), 2);
    assert!(
        notes(&loaded).contains("1 trials that an expert annotated as artefacts are left out"),
        "{}",
        notes(&loaded)
    );
    // Four seconds after the cue are not there for the second trial.
    let loaded = load(id, folder.path(), &[], None).unwrap();
    assert_eq!((loaded.trials.len(), loaded.trials.layout().samples), (2, 1000));
    assert_eq!(paths(&found(id, folder.path(), &[])), [Path::new("A01E.mat")]);
}

#[test]
fn sessions_are_chosen_and_runs_counted_among_those_with_trials() {
    let folder = folder_of("A04T.mat", runs()[1..].to_vec());
    save_runs(folder.path(), "deeper/A04E.mat", runs());
    let id = "bci-iv-2a";
    let loaded = load(id, folder.path(), &[], None).unwrap();
    assert_eq!(counts(&loaded), [(4, vec![4, 4, 2, 2])]);
    let runs: Vec<_> = whose(&loaded).into_iter().map(|(_, session, run, _)| (session, run)).collect();
    let expected =
        |session| [(session, 1), (session, 1), (session, 1), (session, 1), (session, 2), (session, 2)];
    assert_eq!(runs, [expected(1), expected(2)].concat());
    assert_eq!(loaded.notes, <[String; 0]>::default());
    for (session, number) in [("T", 1), ("E", 2)] {
        let loaded = load(id, folder.path(), &[("session", session)], None).unwrap();
        assert!(whose(&loaded).iter().all(|(_, session, _, _)| *session == number));
    }
}

#[test]
fn five_sessions_of_2b_are_numbered_in_order() {
    let id = "bci-iv-2b";
    let session = |seed| run(seed, 6, 5000, &[(0, 1, false), (2500, 2, false)]);
    let folder = folder_of("B02T.mat", vec![session(1), session(2), session(3)]);
    save_runs(folder.path(), "B02E.mat", vec![session(4), session(5)]);
    let loaded = load(id, folder.path(), &[], None).unwrap();
    let sessions: Vec<u32> = whose(&loaded).into_iter().map(|(_, session, _, _)| session).collect();
    assert_eq!(sessions, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    assert_eq!(loaded.trials.layout().classes, ["left_hand", "right_hand"]);
    let names: Vec<&str> = loaded.trials.layout().channels.iter().map(|c| &*c.name).collect();
    assert_eq!(names, ["C3", "Cz", "C4"]);
    assert_eq!(loaded.trials.info()[0].cue_s, 3.0);
    assert!(notes(&loaded).contains("taken to come 3 s after the start of a trial"), "{}", notes(&loaded));
    for (session, expected) in [("5", vec![5, 5]), ("2", vec![2, 2]), ("E", vec![4, 4, 5, 5])] {
        let loaded = load(id, folder.path(), &[("session", session)], None).unwrap();
        let sessions: Vec<u32> = whose(&loaded).into_iter().map(|(_, session, _, _)| session).collect();
        assert_eq!(sessions, expected);
    }
    assert!(found("bci-iv-2a", folder.path(), &[]).items.is_empty());
}

#[test]
fn samples_that_are_no_numbers_are_gaps() {
    let mut trial = run(1, 6, 6000, &[(0, 1, false), (2500, 2, false)]);
    let mut x = noise(1, 6 * 6000);
    for channel in 0..6 {
        x[channel * 6000 + 2200..][..100].fill(f64::NAN);
    }
    trial = with_field(&trial, "X", Some(Value::matrix(vec![6000, 6], x.clone())));
    let folder = folder_of("B01T.mat", vec![trial]);
    let loaded = load("bci-iv-2b", folder.path(), &[], None).unwrap();
    assert_eq!(loaded.trials.len(), 2);
    let raw = load("bci-iv-2b", folder.path(), &[], Some(&bare([0.0, 1.0]))).unwrap();
    assert_eq!(raw.trials.signal(1)[0], x[2500 + 750] as f32);
    assert!(notes(&raw).contains("1 sessions with trials, not 3"), "{}", notes(&raw));
    // Windows that reach across the gap or past the start are left out.
    let over = load("bci-iv-2b", folder.path(), &[], Some(&bare([-4.0, 1.0]))).unwrap_err();
    assert!(over.to_string().contains("no trial's window lies inside its recording"), "{over}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let id = "bci-iv-2a";
    let with = |field: &str, value: Option<Value>| {
        let mut runs = runs();
        runs[2] = with_field(&runs[2], field, value);
        folder_of("A01T.mat", runs)
    };
    let four = |numbers: [f64; 4]| Some(Value::matrix(vec![4, 1], numbers.to_vec()));
    for (field, value, says) in [
        (
            "classes",
            Some(texts(&["right hand", "left hand", "feet", "tongue"])),
            "`data{3}.classes` names the classes `right hand`, `left hand`",
        ),
        ("classes", None, "`data{3}` has no field `classes`; it has `X`"),
        ("X", None, "has no field `X`"),
        (
            "X",
            Some(Value::matrix(vec![100, 22], vec![0.0; 2200])),
            "is 100 x 22, not samples by 22 electrodes and 3 signals of the eyes",
        ),
        ("y", four([1.0, 2.0, 3.0, 5.0]), "`data{3}.y` holds class 5; there are 4"),
        ("y", Some(Value::row(vec![1.0])), "has 1 labels for 4 trials"),
        ("trial", four([0.0, 1.0, 2.0, 3.0]), "`data{3}.trial` holds 0, not only whole numbers from 1 on"),
        ("artifacts", Some(Value::row(vec![1.0])), "is 1, not one value for each of 4 trials"),
        ("fs", Some(text("250")), "is the text `250`, not a number"),
    ] {
        let (error, hint) = refused(id, with(field, value).path(), &[]);
        assert!(error.contains("A01T.mat: ") && error.contains(says), "{error}");
        assert!(hint.contains("another data set"), "{hint}");
    }
    // Another spelling is the same, another rate is taken, cues behind the end are told.
    let folder = with("classes", Some(texts(&["Left_Hand", "right hand", "both feet", "Tongue"])));
    assert_eq!(load(id, folder.path(), &[], None).unwrap().trials.len(), 6);
    let folder = with("fs", Some(Value::row(vec![500.0])));
    let loaded =
        load(id, folder.path(), &[], Some(&Pipeline { rate_hz: Some(250.0), ..bare([0.0, 1.0]) })).unwrap();
    assert!(notes(&loaded).contains("500 Hz, not 250 Hz"), "{}", notes(&loaded));
    let folder = with("trial", four([1.0, 2.0, 3.0, 7900.0]));
    let loaded = load(id, folder.path(), &[], None).unwrap();
    assert!(notes(&loaded).contains("1 cues come after the last of 8000 samples"), "{}", notes(&loaded));
    let (error, _) = refused(id, folder_of("A01T.mat", runs()[..2].to_vec()).path(), &[]);
    assert!(error.contains("has no run with trials"), "{error}");
}

#[test]
fn a_file_of_another_data_set_is_refused() {
    let Some(folder) = tree(&[("mat/S1.mat", "A01T.mat")]) else { return };
    let (error, _) = refused("bci-iv-2a", folder.path(), &[]);
    assert!(error.contains("has no variable `data`; it has `trials`"), "{error}");
    // 2b's files have fewer columns.
    let folder = folder_of("B01T.mat", runs());
    let (error, _) = refused("bci-iv-2b", folder.path(), &[]);
    assert!(error.contains("is 8000 x 25, not samples by 3 electrodes"), "{error}");
    let files: Vec<PathBuf> = found("bci-iv-2b", folder.path(), &[]).items[0].files.clone();
    assert_eq!(files, [folder.path().join("B01T.mat")]);
}

//! OpenBMI: the fixture, and made files in the published structure.

use std::path::Path;

use ptsm_io::mat::{Numbers, Value};
use ptsm_signal::{Pick, Pipeline};

use super::common::{bare, cell, found, load, notes, paths, refused, text, texts, tree, whose, with_field};
use super::openbmi_made::{CHANNELS, Phase, save_file};

const ID: &str = "openbmi-mi";
const FIXTURE: &str = "mat/sess01_subj01_EEG_MI.mat";

/// The same phase as offline and online phase of one session.
fn folder(phase: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save_file(folder.path(), "MI", 1, 7, [phase, phase]);
    folder
}

#[test]
fn the_fixture_has_both_phases_with_labels() {
    let Some(folder) = tree(&[(FIXTURE, "session1/s1/sess01_subj01_EEG_MI.mat")]) else { return };
    let loaded = load(ID, folder.path(), &[], Some(&bare([0.0, 0.2]))).unwrap();
    assert_eq!(loaded.trials.layout().classes, ["left_hand", "right_hand"]);
    assert_eq!(
        whose(&loaded),
        [(1, 1, 1, "right_hand"), (1, 1, 1, "left_hand"), (1, 1, 2, "right_hand"), (1, 1, 2, "left_hand")]
    );
    let names: Vec<&str> = loaded.trials.layout().channels.iter().map(|c| &*c.name).collect();
    assert_eq!(names, ["C3", "Cz", "C4", "FTT9h"]);
    // `smt` is what is cut from `x`.
    assert!((loaded.trials.signal(0)[0] + 13.73).abs() < 1e-4);
    assert!((loaded.trials.signal(1)[3 * 200 + 199] - 4.391).abs() < 1e-4);
    let notes = notes(&loaded);
    assert!(notes.contains("`t` counts samples from 1, as the trials in `smt` show"), "{notes}");
    assert!(notes.contains("sess01_subj01_EEG_MI.mat, EEG_MI_train: 4 channels, not 62"), "{notes}");
    assert!(notes.contains("EEG_MI_test: 1/1 trials per class, not 50/50"), "{notes}");
}

#[test]
fn every_layout_is_found() {
    let name = "sess01_subj01_EEG_MI.mat";
    let moabb = "MNE-lee2019_mi-data/gigadb-datasets/live/pub/10.5524/100001_101000/100542/session1/s1";
    for place in [&format!("session1/s1/{name}"), name, &format!("{moabb}/{name}")] {
        let Some(folder) = tree(&[(FIXTURE, place)]) else { return };
        let there = found(ID, folder.path(), &[]);
        let items: Vec<_> = there.items.iter().map(|item| (item.run, &*item.part)).collect();
        assert_eq!(items, [(1, "EEG_MI_train"), (2, "EEG_MI_test")]);
        assert_eq!(there.items[0].files, [folder.path().join(place)]);
        let missing = place.replace("session1", "session2").replace("sess01", "sess02");
        assert_eq!(paths(&there), [Path::new(&missing)]);
        assert_eq!(load(ID, folder.path(), &[], Some(&bare([0.0, 0.2]))).unwrap().trials.len(), 4);
        // The other experiments have files of other names.
        assert!(found("openbmi-erp", folder.path(), &[]).items.is_empty());
    }
}

#[test]
fn phases_and_sessions_are_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let value = Phase::imagery(1).value();
    for session in [1, 2] {
        save_file(folder.path(), "MI", session, 54, [&value, &value]);
    }
    let of = |with: &[(&str, &str)]| -> Vec<(u32, u32)> {
        found(ID, folder.path(), with).items.iter().map(|item| (item.session, item.run)).collect()
    };
    assert_eq!(of(&[]), [(1, 1), (1, 2), (2, 1), (2, 2)]);
    assert_eq!(of(&[("phase", "online")]), [(1, 2), (2, 2)]);
    assert_eq!(of(&[("phase", "offline"), ("session", "2")]), [(2, 1)]);
}

#[test]
fn published_files_go_through_the_default_pipelines() {
    let phase = Phase::imagery(3);
    let folder = folder(&phase.value());
    for (name, channels, samples, start_s) in [("motor", 20, 875, 0.5), ("broadband", 62, 1000, 0.0)] {
        let loaded = load(ID, folder.path(), &[("pipeline", name)], None).unwrap();
        let layout = loaded.trials.layout();
        assert_eq!((layout.channels.len(), layout.samples, layout.start_s), (channels, samples, start_s));
        assert_eq!((loaded.trials.len(), layout.rate_hz), (4, 250.0));
        assert!(notes(&loaded).contains("1/1 trials per class") && !notes(&loaded).contains("channels"));
    }
    // Columns keep their channels.
    let pick = Pick::Names(vec!["PO4".into(), "C3".into()]);
    let loaded = load(ID, folder.path(), &[], Some(&Pipeline { pick, ..bare([0.0, 4.0]) })).unwrap();
    let x = phase.x();
    let channel = |name| CHANNELS.iter().position(|channel| *channel == name).unwrap();
    let at = |name, sample| x[channel(name) * phase.samples + sample] as f32;
    assert_eq!(loaded.trials.signal(0)[..2], [at("PO4", 1000), at("PO4", 1001)]);
    assert_eq!(loaded.trials.signal(1)[4000], at("C3", 7000));
}

#[test]
fn spellers_and_flicker_have_their_own_classes_and_pipelines() {
    let folder = tempfile::tempdir().unwrap();
    let trials: Vec<(usize, u8)> = (0..12).map(|i| (500 + 215 * i, if i % 6 == 2 { 1 } else { 2 })).collect();
    let speller = Phase {
        trials,
        length: 800,
        samples: 5000,
        classes: vec!["target", "nontarget"],
        ..Phase::imagery(5)
    };
    let value = speller.value();
    save_file(folder.path(), "ERP", 1, 2, [&value, &value]);
    let loaded = load("openbmi-erp", folder.path(), &[("phase", "offline")], None).unwrap();
    let layout = loaded.trials.layout();
    assert_eq!(layout.classes, ["target", "nontarget"]);
    assert_eq!((layout.channels.len(), layout.samples, layout.start_s), (32, 100, -0.2));
    assert_eq!(loaded.trials.all().class_counts(), [2, 10]);
    assert!(notes(&loaded).contains("2/10 trials per class, not 330/1650"), "{}", notes(&loaded));
    // The mean before the flash is taken off.
    let before: f32 = loaded.trials.signal(0)[..20].iter().sum();
    assert!(before.abs() < 1e-4, "{before}");

    let trials = (0..4).map(|i| (500 + 5000 * i, i as u8 + 1)).collect();
    let classes = vec!["up", "left", "right", "down"];
    let flicker = Phase { trials, samples: 20_000, classes, ..Phase::imagery(6) }.value();
    save_file(folder.path(), "SSVEP", 2, 2, [&flicker, &flicker]);
    let loaded = load("openbmi-ssvep", folder.path(), &[("phase", "online")], None).unwrap();
    assert_eq!(loaded.trials.layout().classes, ["up", "left", "right", "down"]);
    assert_eq!(loaded.trials.all().labels(), [0, 1, 2, 3]);
    assert_eq!((loaded.trials.layout().channels.len(), loaded.trials.layout().samples), (10, 400));
}

#[test]
fn where_trials_begin_is_read_off_the_data() {
    let whole = |phase: &Phase| {
        let folder = folder(&phase.value());
        load(ID, folder.path(), &[("phase", "offline")], Some(&bare([0.0, 4.0]))).unwrap()
    };
    let from_one = whole(&Phase::imagery(8));
    let from_zero = whole(&Phase { base: 0, ..Phase::imagery(8) });
    assert_eq!(from_one.trials.to_vec(), from_zero.trials.to_vec());
    assert!(notes(&from_zero).contains("`t` counts samples from 0"), "{}", notes(&from_zero));
    let at_first = whole(&Phase { base: 0, trials: vec![(0, 1), (8000, 2)], ..Phase::imagery(8) });
    assert_eq!(at_first.trials.len(), 2);
    // Without trials to compare with MATLAB's way to count is taken.
    let value = Phase::imagery(8).value();
    let other = Value::matrix(vec![4000, 2, 62], vec![0.5; 4000 * 2 * 62]);
    let flat = Value::matrix(vec![4000, 2], vec![0.5; 8000]);
    for (smt, says) in [
        (None, "there is no `smt`"),
        (Some(other), "not in `x` at either place"),
        (Some(flat), "has 2 sizes, not 3"),
    ] {
        let folder = folder(&with_field(&value, "smt", smt));
        let loaded = load(ID, folder.path(), &[("phase", "offline")], Some(&bare([0.0, 4.0]))).unwrap();
        assert_eq!(loaded.trials.to_vec(), from_one.trials.to_vec());
        let notes = notes(&loaded);
        let named = notes.contains("sess01_subj07_EEG_MI.mat, EEG_MI_train: `t` is taken to count");
        assert!(notes.contains(says) && named, "{notes}");
    }
}

#[test]
fn numbers_in_smaller_types_are_the_same() {
    let phase = Phase { packed: true, ..Phase::imagery(9) };
    let folder = folder(&phase.value());
    let loaded = load(ID, folder.path(), &[], Some(&bare([0.0, 4.0]))).unwrap();
    let x = phase.x();
    assert_eq!(loaded.trials.signal(1)[0], x[7000] as f32);
    assert_eq!(loaded.trials.signal(1)[61 * 4000], x[61 * 12_000 + 7000] as f32);
    assert!(notes(&loaded).contains("from 1, as the trials"), "{}", notes(&loaded));
}

#[test]
fn another_rate_is_taken_and_noted() {
    let phase = Phase { rate_hz: 500, ..Phase::imagery(10) };
    let folder = folder(&phase.value());
    let loaded = load(ID, folder.path(), &[], Some(&bare([0.0, 4.0]))).unwrap();
    assert_eq!((loaded.trials.layout().rate_hz, loaded.trials.layout().samples), (500.0, 2000));
    assert!(notes(&loaded).contains("500 Hz, not 1000 Hz"), "{}", notes(&loaded));
}

#[test]
fn what_the_file_says_about_classes_must_agree() {
    let value = Phase::imagery(11).value();
    let table = |cells: [&str; 4]| Some(cell(&[2, 2], cells.iter().map(|one| text(one)).collect()));
    let logic = Value::Array {
        dims: vec![2, 2],
        real: Numbers::U8(vec![0, 1, 0, 1]),
        imaginary: None,
        logical: true,
    };
    for (field, other, says) in [
        // Most other sets have the left hand first.
        ("class", table(["1", "2", "left", "right"]), "calls class 1 the text `left`, not `right`"),
        ("class", table(["1", "3", "right", "left"]), "has the text `3` for a class number"),
        ("class", Some(texts(&["right", "left"])), "is a cell array of 1 x 2, not a cell array of 2 x 2"),
        (
            "y_class",
            Some(texts(&["left", "right"])),
            "calls trial 1 the text `left`, `y_dec` says 1 (`right`)",
        ),
        ("y_class", Some(texts(&["right"])), "has 1 trials, `y_dec` has 2"),
        ("y_logic", Some(logic), "and `y_dec` differ in trial 1"),
        ("y_dec", Some(Value::row(vec![1.0, 3.0])), "holds class 3; there are 2"),
        ("y_dec", Some(Value::row(vec![1.0])), "names 2 trials"),
    ] {
        let value = with_field(&value, field, other);
        let value = if says.starts_with("names") {
            with_field(&with_field(&value, "y_class", None), "y_logic", None)
        } else {
            value
        };
        let folder = folder(&value);
        let (error, hint) = refused(ID, folder.path(), &[]);
        assert!(error.contains("sess01_subj07_EEG_MI.mat: `EEG_MI_t"), "{error}");
        assert!(error.contains(says), "{error}");
        assert!(hint.contains("another data set"), "{hint}");
    }
    // A table in another order of rows says the same, and either of two fields is enough.
    for (field, other) in [
        ("class", table(["2", "1", "Left Hand", "RIGHT"])),
        ("class", None),
        ("y_class", None),
        ("y_logic", None),
    ] {
        let folder = folder(&with_field(&value, field, other));
        let loaded = load(ID, folder.path(), &[("phase", "online")], Some(&bare([0.0, 4.0]))).unwrap();
        assert_eq!(whose(&loaded), [(7, 1, 2, "right_hand"), (7, 1, 2, "left_hand")]);
    }
    let neither = with_field(&with_field(&value, "class", None), "y_class", None);
    let (error, _) = refused(ID, folder(&neither).path(), &[]);
    assert!(error.contains("has no field `class`"), "{error}");
}

#[test]
fn what_is_missing_or_does_not_fit_is_named() {
    let value = Phase::imagery(12).value();
    for field in ["x", "t", "fs", "y_dec", "chan"] {
        let (error, _) = refused(ID, folder(&with_field(&value, field, None)).path(), &[]);
        assert!(error.contains(&format!("has no field `{field}`; it has `smt`")), "{error}");
    }
    for (field, other, says) in [
        (
            "t",
            Value::row(vec![1001.0, 12_001.0]),
            "`EEG_MI_train.t` holds 12001, which is no sample of the 12000",
        ),
        ("t", Value::row(vec![1.5, 2.0]), "holds 1.5"),
        ("t", Value::row(vec![]), "names no trial"),
        ("chan", texts(&CHANNELS[..61]), "is 12000 x 62; `chan` names 61 channels"),
        ("fs", Value::row(vec![0.0]), "is 0, not a sampling rate"),
        ("x", texts(&["a"]), "not a matrix"),
    ] {
        let (error, _) =
            refused(ID, folder(&with_field(&value, field, Some(other))).path(), &[("phase", "offline")]);
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_file_of_another_experiment_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let value = Phase::imagery(13).value();
    let name = folder.path().join("sess01_subj01_EEG_MI.mat");
    super::common::save(&name, &[("EEG_ERP_train", &value), ("EEG_ERP_test", &value)]);
    let (error, hint) = refused(ID, folder.path(), &[]);
    assert!(
        error.contains("has no variable `EEG_MI_t")
            && error.contains("it has `EEG_ERP_train`, `EEG_ERP_test`"),
        "{error}"
    );
    assert!(hint.contains("another data set"), "{hint}");
    super::common::save(&name, &[("EEG_MI_train", &text("hello")), ("EEG_MI_test", &value)]);
    let (error, _) = refused(ID, folder.path(), &[("phase", "offline")]);
    assert!(error.contains("`EEG_MI_train` is the text `hello`, not a struct"), "{error}");
}

#[test]
fn subjects_are_the_same_in_both_sessions() {
    let folder = tempfile::tempdir().unwrap();
    for (session, subject) in [(1, 7), (2, 7), (2, 8)] {
        let phase = Phase::imagery(u64::from(10 * session + subject)).value();
        save_file(folder.path(), "MI", session, subject, [&phase, &phase]);
    }
    let subjects = |session: &str| {
        load(ID, folder.path(), &[("session", session)], Some(&bare([0.0, 0.2]))).unwrap().identities
    };
    let (first, second) = (subjects("1"), subjects("2"));
    let [seven, eight] = [7, 8].map(ptsm_signal::SubjectId);
    assert_ne!(first[&seven].trials, second[&seven].trials);
    assert!(
        second[&seven].is_among(&first[&seven].hashes) && !second[&eight].is_among(&first[&seven].hashes)
    );
}

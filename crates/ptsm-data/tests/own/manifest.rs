//! Manifests: what they say goes over what the files say.

use ptsm_data::SubjectList;
use ptsm_signal::{Pick, Pipeline};

use crate::common::{Place, channels, labels, plain};

const EVENTS: &str = "[events]\nright = [\"Stimulus/S  2\"]\nleft = [\"Stimulus/S  1\", \"Stimulus/S  3\"]\n";

/// Two subjects of one recording each, with events of three kinds.
fn two(more: &str) -> Place {
    let place = Place::new();
    for subject in ["a", "b"] {
        place.recording(
            &format!("d/{subject}"),
            &["C3", "Cz", "C4"],
            &[(100, "S  1"), (300, "S  2"), (500, "S  3"), (700, "S  4")],
        );
    }
    place.write(
        "m.toml",
        format!("{EVENTS}{more}[[recording]]\nfile = \"d/b.vhdr\"\nsubject = 2\n[[recording]]\nfile = \"d/a.vhdr\"\nsubject = 1\n"),
    );
    place
}

#[test]
fn listed_recordings_become_trials() {
    let place =
        two("[pipeline]\nwindow_s = [0.0, 0.5]\nband = \"none\"\nrate_hz = \"none\"\nscaling = \"none\"\n");
    let source = place.source("files:m.toml", &[]).unwrap();
    assert_eq!(source.name(), "files:m.toml");
    let loaded = source.load(None, None).unwrap();
    assert_eq!(loaded.trials.layout().classes, ["right", "left"]);
    assert_eq!(labels(&loaded), ["left", "right", "left", "left", "right", "left"]);
    assert_eq!((loaded.trials.layout().samples, loaded.trials.layout().rate_hz), (50, 100.0));
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    let two: SubjectList = "2".parse().unwrap();
    assert_eq!(source.load(None, Some(&two)).unwrap().trials.len(), 3);
    // Without a pipeline of its own it is the one for recordings nobody knows.
    let place = self::two("");
    let own = place.source("files:m.toml", &[]).unwrap().load(None, None).unwrap();
    assert_eq!((own.pipeline.rate_hz, own.pipeline.window_s), (Some(100.0), [0.0, 4.0]));
    assert_eq!(own.trials.len(), 6);
    assert_ne!(own.fingerprint, loaded.fingerprint);
}

#[test]
fn units_rates_and_names_are_corrected() {
    let place = two("[rename]\nCz = \"FCz\"\n");
    let before = place.load("files:m.toml", &[]).unwrap();
    let text = std::fs::read_to_string(place.at("m.toml")).unwrap();
    place.write(
        "m.toml",
        text.replace(
            "subject = 1\n",
            "subject = 1\nunit = \"mV\"\nrate_hz = 50\nrename = { C4 = \"Pz\", Cz = \"Oz\" }\n",
        ),
    );
    let one: SubjectList = "1".parse().unwrap();
    let pipeline = Pipeline { pick: Pick::Names(vec!["C3".into(), "Oz".into(), "Pz".into()]), ..plain() };
    let after = place.source("files:m.toml", &[]).unwrap().load(Some(&pipeline), Some(&one)).unwrap();
    assert_eq!(channels(&before), ["C3", "FCz", "C4"]);
    assert_eq!(channels(&after), ["C3", "Oz", "Pz"]);
    assert_eq!((after.trials.layout().rate_hz, after.trials.info()[0].cue_s), (50.0, 2.0));
    let scaled: Vec<f32> = before.trials.signal(0)[..50].iter().map(|x| x * 1e3).collect();
    assert_eq!(&after.trials.signal(0)[..50], scaled);
    // Only what both subjects have is left when all are picked.
    let slow = Pipeline { rate_hz: Some(50.0), ..plain() };
    let both = place.source("files:m.toml", &[]).unwrap().load(Some(&slow), None).unwrap();
    assert_eq!((channels(&both), both.trials.len()), (vec!["C3"], 6));
    place.write("m.toml", text.replace("subject = 1\n", "subject = 1\nrename = { Fz = \"Pz\" }\n"));
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(error.contains("a.vhdr: has no channel `Fz`") && hint.contains("C3, FCz, C4"), "{error} {hint}");
    place.write("m.toml", text.replace("Cz =", "Pz ="));
    let notes = place.load("files:m.toml", &[]).unwrap().notes;
    assert!(notes[0].contains("no channel `Pz` to rename (2 recordings"), "{notes:?}");
}

#[test]
fn files_that_are_not_there_are_reported() {
    let place = two("");
    std::fs::remove_file(place.at("d/b.vhdr")).unwrap();
    let loaded = place.load("files:m.toml", &[]).unwrap();
    assert_eq!(loaded.trials.len(), 3);
    assert!(loaded.notes[0].ends_with("1 files of subjects who are there are missing"), "{:?}", loaded.notes);
    std::fs::remove_file(place.at("d/a.vhdr")).unwrap();
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(
        error.contains("none of its 2 recordings is there") && hint.contains("data add"),
        "{error} {hint}"
    );
    let (error, hint) = place.refused("files:n.toml", &[]);
    assert!(error.contains("n.toml: cannot read") && hint.contains("data add DIR"), "{error} {hint}");
}

#[test]
fn mistakes_show_before_anything_is_read() {
    let place = two("[pipeline]\nwindow = [0, 1]\n");
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(
        error.contains("m.toml: there is no key `pipeline.window`") && hint.contains("window_s"),
        "{error} {hint}"
    );
    let place = two("[mat]\nsample = \"y\"\n");
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(
        error.contains("m.toml: line 5: there is no key `sample`") && hint.contains("samples"),
        "{error} {hint}"
    );
    let place = two("none_such = [\"S  9\"]\n");
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(error.contains("no event of any recording stands for class `none_such`"), "{error}");
    assert!(hint.contains("Stimulus/S  4 (2)"), "{hint}");
    let (error, hint) = two("").refused("files:m.toml", &[("task", "x")]);
    assert!(error.contains("no choice `task`") && hint.contains("nothing to choose"), "{error} {hint}");
}

/// A manifest for one recording per name.
fn listed(place: &Place, more: &str, files: &[&str]) {
    let each: String = files
        .iter()
        .enumerate()
        .map(|(i, file)| format!("[[recording]]\nfile = \"{file}\"\nsubject = {}\n", i + 1))
        .collect();
    place.write(
        "m.toml",
        format!("[events]\nleft = [\"Stimulus/S  1\"]\nright = [\"Stimulus/S  2\"]\n{more}{each}"),
    );
}

#[test]
fn issue_19_no_trigger_channel_becomes_an_eeg_channel() {
    let events = [(100, "S  1"), (300, "S  2")];
    let place = Place::new();
    for name in ["a", "b"] {
        place.recording(name, &["TRIGGER", "StimCode", "AUX1"], &events);
    }
    listed(&place, "", &["a.vhdr", "b.vhdr"]);
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(
        error.contains(
            "no channel counts as EEG; it has `TRIGGER` (trigger), `StimCode` (trigger), `AUX1` (other)"
        ),
        "{error}"
    );
    assert!(hint.contains("[rename]") && hint.contains("pick"), "{hint}");
    // The pipeline of its own picks nothing either.
    let error = place.source("files:m.toml", &[]).unwrap().load(None, None).unwrap_err();
    assert!(error.to_string().contains("no channel counts as EEG"), "{error}");
    // What is named is taken, whatever it is taken for; triggers are not.
    let picked = |names: &[&str]| {
        let pick = Pick::Names(names.iter().map(|name| name.to_string()).collect());
        place.source("files:m.toml", &[]).unwrap().load(Some(&Pipeline { pick, ..plain() }), None)
    };
    assert_eq!(channels(&picked(&["AUX1"]).unwrap()), ["AUX1"]);
    let error = picked(&["AUX1", "StimCode"]).unwrap_err();
    assert!(error.to_string().contains("`StimCode` is picked and holds triggers"), "{error}");
    assert!(error.hint().unwrap().contains("take it out of `pick`"));
    // An electrode that is given its name is one.
    listed(&place, "[rename]\nAUX1 = \"Cz\"\n", &["a.vhdr", "b.vhdr"]);
    assert_eq!(channels(&place.load("files:m.toml", &[]).unwrap()), ["Cz"]);
}

#[test]
fn issue_19_triggers_beside_electrodes_are_left_out() {
    let place = Place::new();
    place.recording("a", &["C3", "TRG", "Cz", "Label", "DIN1"], &[(100, "S  1"), (300, "S  2")]);
    place.recording("b", &["C3", "Cz"], &[(100, "S  1"), (300, "S  2")]);
    place.recording("c", &["TTL"], &[(100, "S  1"), (300, "S  2")]);
    listed(&place, "", &["a.vhdr", "b.vhdr"]);
    let loaded = place.load("files:m.toml", &[]).unwrap();
    assert_eq!(channels(&loaded), ["C3", "Cz"]);
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    // One recording without EEG does not take the others' channels away.
    listed(&place, "", &["a.vhdr", "b.vhdr", "c.vhdr"]);
    let (error, _) = place.refused("files:m.toml", &[]);
    assert!(error.contains("c.vhdr: no channel counts as EEG; it has `TTL` (trigger)"), "{error}");
    let two: SubjectList = "1-2".parse().unwrap();
    let loaded = place.source("files:m.toml", &[]).unwrap().load(None, Some(&two)).unwrap();
    assert_eq!(channels(&loaded), ["C3", "Cz"]);
}

#[test]
fn issue_19_columns_of_a_matrix_that_hold_triggers_are_left_out() {
    use ptsm_io::mat::{self, Value};
    let place = Place::new();
    let trigger = |t: usize| match t {
        100..110 => 1.0,
        300..310 => 2.0,
        _ => 0.0,
    };
    let noise = crate::common::noise(2, 1000, 7);
    let column = |c: usize| noise[c * 1000..][..1000].iter().map(|x| f64::from(*x));
    let trig: Vec<f64> = (0..1000).map(trigger).collect();
    let y: Vec<f64> = column(0).chain(column(1)).chain(trig.iter().copied()).collect();
    mat::write(
        &place.at("a.mat"),
        &[("y", &Value::matrix(vec![1000, 3], y)), ("trig", &Value::matrix(vec![1000, 1], trig))],
    )
    .unwrap();
    let write = |names: &str| {
        place.write(
            "m.toml",
            format!(
                "[events]\na = [\"1\"]\nb = [\"2\"]\n[mat]\nsamples = \"y\"\ntriggers = \"trig\"\nrate = 100\nunit = \"uV\"\n\
                 channels = [{names}]\n[[recording]]\nfile = \"a.mat\"\nsubject = 1\n"
            ),
        );
    };
    write("\"C3\", \"Cz\", \"StimCode\"");
    assert_eq!(channels(&place.load("files:m.toml", &[]).unwrap()), ["C3", "Cz"]);
    write("\"Trigger\", \"Label\", \"StimCode\"");
    let (error, _) = place.refused("files:m.toml", &[]);
    assert!(error.contains("no channel counts as EEG; it has `Trigger` (trigger)"), "{error}");
}

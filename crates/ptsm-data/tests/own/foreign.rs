//! Files as others hand them on: without units, without events, empty, cut short, in other encodings.

use ptsm_data::{LoadOptions, add_folder};
use ptsm_io::edf;
use ptsm_io::mat::{self, Value};
use ptsm_signal::{Channel, Event, Recording};

use crate::common::{Place, labels, noise};

/// An EDF file of two channels and two events.
fn edf_file(place: &Place, name: &str) {
    let channels = ["C3", "C4"].map(Channel::named).to_vec();
    let event = |sample, code: &str| Event { sample, code: code.into(), samples: 0 };
    let recording =
        Recording::new(100.0, channels, noise(2, 1000, 3), vec![event(100, "T1"), event(300, "T2")]).unwrap();
    edf::write(&place.at(name), &recording).unwrap();
}

fn manifest(place: &Place, file: &str, more: &str) {
    place.write(
        "m.toml",
        format!("[events]\nleft = [\"T1\"]\nright = [\"T2\"]\n[[recording]]\nfile = \"{file}\"\nsubject = 1\n{more}"),
    );
}

#[test]
fn issue_19_a_blank_unit_is_reported() {
    let place = Place::new();
    edf_file(&place, "a.edf");
    manifest(&place, "a.edf", "");
    let stated = place.load("files:m.toml", &[]).unwrap();
    assert!(stated.notes.is_empty(), "{:?}", stated.notes);
    // Units stand behind labels and transducers of all signals, of which there are three with the annotations.
    let mut bytes = std::fs::read(place.at("a.edf")).unwrap();
    let at = 256 + 3 * 96;
    assert_eq!(&bytes[at..at + 2], b"uV");
    bytes[at..at + 16].fill(b' ');
    place.write("a.edf", bytes);
    let notes = place.load("files:m.toml", &[]).unwrap().notes;
    assert_eq!(
        notes,
        [
            "the file does not say what its EEG is counted in: numbers are taken as they are; `unit` in a manifest or `units` in \
          `channels.tsv` says it (S01 session 1 run 1)"
        ]
    );
    // Who says it is not told.
    manifest(&place, "a.edf", "unit = \"uV\"\n");
    let loaded = place.load("files:m.toml", &[]).unwrap();
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    assert_eq!(loaded.trials.signal(0), stated.trials.signal(0));
}

#[test]
fn issue_19_the_unit_eeglab_does_not_state_is_reported() {
    let place = Place::new();
    let text = |text: &str| Value::Text(vec![text.into()]);
    let number = |number: f64| Value::matrix(vec![1, 1], vec![number]);
    let structs = |fields: &[&str], values: Vec<Value>| Value::Struct {
        dims: vec![1, values.len() / fields.len()],
        fields: fields.iter().map(|name| name.to_string()).collect(),
        values,
    };
    let samples: Vec<f64> = noise(2, 1000, 5).iter().map(|x| f64::from(*x)).collect();
    let events = vec![text("T1"), number(101.0), number(2.0), number(301.0), text("T2"), number(501.0)];
    let set = [
        ("nbchan", number(2.0)),
        ("pnts", number(1000.0)),
        ("trials", number(1.0)),
        ("srate", number(100.0)),
        ("xmin", number(0.0)),
        ("xmax", number(9.99)),
        ("data", Value::matrix(vec![2, 1000], samples)),
        ("chanlocs", structs(&["labels"], vec![text("C3"), text("Cz")])),
        ("event", structs(&["type", "latency"], events)),
    ];
    let set: Vec<(&str, &Value)> = set.iter().map(|(name, value)| (*name, value)).collect();
    mat::write(&place.at("a.set"), &set).unwrap();
    manifest(&place, "a.set", "");
    let loaded = place.load("files:m.toml", &[]).unwrap();
    assert!(loaded.notes[0].contains("microvolts are taken"), "{:?}", loaded.notes);
    assert_eq!(labels(&loaded), ["left", "right"]);
    manifest(&place, "a.set", "unit = \"V\"\n");
    let volts = place.load("files:m.toml", &[]).unwrap();
    assert!(volts.notes.is_empty(), "{:?}", volts.notes);
    assert_eq!(volts.trials.signal(0)[0], 1e6 * loaded.trials.signal(0)[0]);
}

#[test]
fn issue_19_recordings_without_events_are_reported() {
    let place = Place::new();
    place.recording("a", &["C3"], &[]);
    manifest(&place, "a.vhdr", "");
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(error.contains("no event of any recording stands for class `left`"), "{error}");
    assert!(hint.starts_with("the recordings hold no event that could begin a trial"), "{hint}");
    place.recording("a", &["C3"], &[(100, "S  1")]);
    let (_, hint) = place.refused("files:m.toml", &[]);
    assert_eq!(hint, "the events are Stimulus/S  1 (1)");
}

#[test]
fn issue_19_comments_as_mne_exports_them_are_events() {
    let place = Place::new();
    for name in ["d/s1", "d/s2"] {
        place.recording(name, &["C3"], &[]);
        let mark = |i: usize, text: &str| format!("Mk{i}=Comment,{text},{},1,0\n", 50 + 100 * i);
        let marks: String = (1..9).map(|i| mark(i, if i % 2 == 0 { "T1" } else { "T2" })).collect();
        place.write(
            &format!("{name}.vmrk"),
            format!("Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\nMk9=New Segment,,1,1,0\n{marks}"),
        );
    }
    // By either name.
    manifest(&place, "d/s1.vhdr", "");
    assert_eq!(labels(&place.load("files:m.toml", &[]).unwrap())[..3], ["right", "left", "right"]);
    place.write(
        "m.toml",
        "[events]\nleft = [\"Comment/T1\"]\nright = [\"Comment/T2\"]\n[[recording]]\nfile = \"d/s1.vhdr\"\nsubject = 1\n",
    );
    assert_eq!(place.load("files:m.toml", &[]).unwrap().trials.len(), 8);
    // A folder of such recordings has these classes.
    let added = add_folder(&place.at("d"), None, false, &LoadOptions::default()).unwrap();
    let classes: Vec<_> = added.events.iter().map(|code| (&*code.code, code.events, code.class)).collect();
    assert_eq!(classes, [("Comment/T1", 8, true), ("Comment/T2", 8, true)]);
    assert_eq!(place.load("files:d/d.toml", &[]).unwrap().trials.len(), 16);
}

#[test]
fn issue_19_empty_cut_and_foreign_files_say_what_they_are() {
    let place = Place::new();
    edf_file(&place, "whole.edf");
    let whole = std::fs::read(place.at("whole.edf")).unwrap();
    for ending in ["edf", "bdf", "gdf", "vhdr", "ahdr", "set", "fif", "fif.gz", "mat", "cnt"] {
        place.write(&format!("empty/a.{ending}"), "");
        let error = add_folder(&place.at("empty"), None, false, &LoadOptions::default()).unwrap_err();
        assert!(error.to_string().contains(&format!("a.{ending}: is empty: 0 bytes")), "{error}");
        assert!(error.hint().unwrap().contains("copy or download it again"), "{:?}", error.hint());
        std::fs::remove_file(place.at(&format!("empty/a.{ending}"))).unwrap();
    }
    for cut in [100, 600] {
        place.write("cut/a.edf", &whole[..cut]);
        let error = add_folder(&place.at("cut"), None, false, &LoadOptions::default()).unwrap_err();
        assert!(error.hint().unwrap().contains("incomplete or damaged"), "{error} {:?}", error.hint());
    }
    place.write("m.toml", "");
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(error.contains("m.toml: is empty: 0 bytes") && hint.contains("again"), "{error} {hint}");
    place.write("m.toml", b"[events]\nleft = [\"T1\"]\ntitle = \"M\xfcller\"\n");
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(error.contains("m.toml: line 3 is no text in UTF-8 (byte 0xfc)"), "{error}");
    assert!(hint.contains("save it as UTF-8"), "{hint}");
    place.write("a.npz", "");
    let (error, hint) = place.refused("a.npz", &[]);
    assert!(error.contains("a.npz: is empty: 0 bytes") && hint.contains("again"), "{error} {hint}");
    manifest(&place, "empty.edf", "");
    place.write("empty.edf", "");
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(error.contains("empty.edf: is empty: 0 bytes") && hint.contains("again"), "{error} {hint}");
}

#[test]
fn trials_in_spans_annotated_as_bad_are_kept_and_reported() {
    let place = Place::new();
    place.recording("a", &["C3"], &[]);
    let marks = "Mk1=Stimulus,T1,101,1,0\nMk2=Stimulus,T2,301,1,0\nMk3=Comment,BAD_blink,351,20,0\nMk4=Comment,BAD,151,1,0\n\
                 Mk5=Stimulus,T1,601,1,0\nMk6=Comment,bad,701,50,0\n";
    place.write(
        "a.vmrk",
        format!("Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\n{marks}"),
    );
    place.write(
        "m.toml",
        "[events]\nleft = [\"Stimulus/T1\"]\nright = [\"Stimulus/T2\"]\n[[recording]]\nfile = \"a.vhdr\"\nsubject = 1\n",
    );
    let loaded = place.load("files:m.toml", &[]).unwrap();
    assert_eq!(loaded.trials.len(), 3);
    assert_eq!(loaded.notes, ["2 trials overlap annotations that begin with `BAD`: they are kept"]);
}

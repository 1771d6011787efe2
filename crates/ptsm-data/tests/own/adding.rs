//! Manifests that are written for folders.

use std::fs;
use std::path::{Path, PathBuf};

use ptsm_data::{AddReport, LoadOptions, Source, SubjectList, add_folder};
use ptsm_io::mat::{self, Value};
use ptsm_signal::Pipeline;

use crate::common::{Place, noise, plain};

fn add(place: &Place, folder: &str, to: Option<&str>) -> ptsm_data::Result<AddReport> {
    add_folder(&place.at(folder), to.map(|to| place.at(to)).as_deref(), false, &LoadOptions::default())
}

fn shared(inside: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(inside);
    if !path.is_dir() {
        eprintln!("skipped: needs ../shared/{inside}");
        return None;
    }
    Some(path)
}

/// Three subjects, two runs each, and things that are no recordings.
fn folder() -> Place {
    let place = Place::new();
    let events: Vec<(usize, &str)> = (0..8)
        .map(|i| (50 + 100 * i, if i % 2 == 0 { "S  1" } else { "S  2" }))
        .chain([(980, "S 99")])
        .collect();
    for subject in 1..=3 {
        for run in 1..=2 {
            place.recording(&format!("d/S0{subject}/S0{subject}R0{run}"), &["C3", "Cz", "C4"], &events);
        }
    }
    place.write("d/README.txt", "text");
    place.write("d/S03/broken.edf", "nonsense");
    place.write("d/.hidden/S09R01.vhdr", "");
    place
}

#[test]
fn what_is_written_can_be_read() {
    let place = folder();
    let added = add(&place, "d", None).unwrap();
    assert_eq!((added.manifest, added.recordings, added.subjects), (place.at("d/d.toml"), 6, 3));
    let classes: Vec<_> = added.events.iter().map(|c| (&*c.code, c.events, c.recordings, c.class)).collect();
    assert_eq!(
        classes,
        [("Stimulus/S  1", 24, 6, true), ("Stimulus/S  2", 24, 6, true), ("Stimulus/S 99", 6, 6, false)]
    );
    assert_eq!(added.unreadable[0].file, "S03/broken.edf");
    let text = fs::read_to_string(place.at("d/d.toml")).unwrap();
    for part in [
        "\"Stimulus/S  1\" = [\"Stimulus/S  1\"]  # 24 times, in 6 of 6 recordings\n",
        "\n# \"Stimulus/S 99\" = [",
        "window_s = [0.0, 0.8]  # seconds after the event: events are 1 s apart\n",
        "[[recording]]  # 3 channels, 100 Hz, 10 s\nfile = \"S02/S02R01.vhdr\"\nsubject = 2\nsession = 1\nrun = 1\n",
        "# S03/broken.edf: ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    assert_eq!((loaded.trials.len(), loaded.trials.subjects().len()), (48, 3));
    assert_eq!(loaded.trials.layout().classes, ["Stimulus/S  1", "Stimulus/S  2"]);
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    let own = place.source("files:d/d.toml", &[]).unwrap().load(None, None).unwrap();
    assert_eq!(own.pipeline.window_s, [0.0, 0.8]);
}

#[test]
fn a_manifest_elsewhere_finds_its_way() {
    let place = folder();
    fs::create_dir(place.at("lists")).unwrap();
    add(&place, "d", Some("lists/mine.toml")).unwrap();
    assert!(
        fs::read_to_string(place.at("lists/mine.toml")).unwrap().contains("file = \"../d/S01/S01R01.vhdr\"")
    );
    assert_eq!(place.load("files:lists/mine.toml", &[]).unwrap().trials.len(), 48);
}

#[test]
fn nothing_is_written_over_unasked() {
    let place = folder();
    place.write("d/d.toml", "mine");
    let error = add(&place, "d", None).unwrap_err();
    assert!(
        error.to_string().contains("d.toml: is there already") && error.hint().unwrap().contains("--force")
    );
    assert_eq!(fs::read(place.at("d/d.toml")).unwrap(), b"mine");
    let added = add_folder(&place.at("d"), None, true, &LoadOptions::default()).unwrap();
    assert_eq!(added.recordings, 6);
    for (folder, to, says) in [
        ("absent", None, "there is no such folder"),
        ("d", Some("no/m.toml"), "cannot write there"),
        ("d", Some("d"), "is a folder"),
    ] {
        let error = add(&place, folder, to).unwrap_err();
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
    }
    place.write("empty/a.txt", "");
    let error = add(&place, "empty", None).unwrap_err();
    assert!(
        error.to_string().contains("there is no recording in it") && error.hint().unwrap().contains(".edf")
    );
    place.write("bad/a.edf", "nonsense");
    let error = add(&place, "bad", None).unwrap_err();
    assert!(error.to_string().contains("none of its 1 recordings can be read; a.edf: "), "{error}");
    assert!(!place.at("empty/empty.toml").exists() && !place.at("bad/bad.toml").exists());
}

#[test]
fn names_with_quotes_and_blanks_survive() {
    let place = Place::new();
    let events: Vec<(usize, &str)> = (0..6).map(|i| (100 * i, ["say \"a\"", "b=c#d"][i % 2])).collect();
    place.recording("odd \"name\"/x y", &["C3"], &events);
    place.recording("odd \"name\"/z'z", &["C3"], &events);
    let added = add(&place, "odd \"name\"", Some("m.toml")).unwrap();
    assert_eq!((added.recordings, added.subjects), (2, 2));
    let loaded = place.load("files:m.toml", &[]).unwrap();
    assert_eq!(loaded.trials.layout().classes, ["Stimulus/b=c#d", "Stimulus/say \"a\""]);
    assert!(fs::read_to_string(place.at("m.toml")).unwrap().contains("Nothing tells whose a recording is"));
}

#[test]
fn progress_is_reported() {
    let place = folder();
    let heard = std::sync::Mutex::new(vec![]);
    let progress = |done: usize, all: usize| heard.lock().unwrap().push((done, all));
    let options = LoadOptions { progress: Some(&progress), ..LoadOptions::default() };
    add_folder(&place.at("d"), None, false, &options).unwrap();
    let mut heard = heard.into_inner().unwrap();
    heard.sort();
    assert_eq!(heard.last(), Some(&(heard.len(), heard.len())));
    assert!(heard.len() >= 19);
}

/// A matrix of samples as other people save it: channels in rows, volts, a variable of names.
#[test]
fn plain_matrices_are_found_in_matlab_files() {
    let place = Place::new();
    fs::create_dir(place.at("m")).unwrap();
    let (channels, length) = (3, 2000);
    let samples = noise(channels, length, 5);
    let by_sample = (0..length).flat_map(|t| (0..channels).map(move |c| (c, t)));
    let volts: Vec<f64> = by_sample.map(|(c, t)| f64::from(samples[c * length + t]) * 1e-6).collect();
    let mut marks = vec![0.0; length];
    for i in 0..8 {
        marks[100 + 200 * i..120 + 200 * i].fill((i % 2 + 1) as f64);
    }
    let names = Value::Cell {
        dims: vec![1, 3],
        values: ["C3", "Cz", "C4"].map(|n| Value::Text(vec![n.into()])).to_vec(),
    };
    for subject in ["subj1", "subj2"] {
        let variables = [
            ("EEG", &Value::matrix(vec![channels, length], volts.clone())),
            ("stim", &Value::row(marks.clone())),
            ("srate", &Value::row(vec![200.0])),
            ("chans", &names),
        ];
        mat::write(&place.at(&format!("m/{subject}.mat")), &variables).unwrap();
    }
    let added = add(&place, "m", None).unwrap();
    assert_eq!((added.recordings, added.subjects, added.unreadable.len()), (2, 2, 0));
    let text = fs::read_to_string(place.at("m/m.toml")).unwrap();
    for part in [
        "samples = \"EEG\"",
        "rows = \"channels\"",
        "triggers = \"stim\"",
        "rate = \"srate\"",
        "channels = \"chans\"",
        "unit = \"V\"",
    ] {
        assert!(text.contains(&format!("\n{part}\n")), "{part}\n{text}");
    }
    let loaded = place.load("files:m/m.toml", &[]).unwrap();
    assert_eq!((loaded.trials.len(), loaded.trials.layout().rate_hz), (16, 200.0));
    assert_eq!(crate::common::channels(&loaded), ["C3", "Cz", "C4"]);
    let difference = loaded.trials.signal(0)[0] - samples[100];
    assert!(difference.abs() < 1e-3, "{difference}");
}

#[test]
fn files_of_every_format_are_found() {
    let Some(fixtures) = shared("datasets/fixtures") else { return };
    let place = Place::new();
    let added = add_folder(&fixtures, Some(&place.at("all.toml")), false, &LoadOptions::default()).unwrap();
    assert!(added.recordings >= 8, "{added:?}");
    // They have no event in common, so which begin trials is left to whoever edits it.
    let error = Source::parse("files:all.toml", Some(place.root())).unwrap_err();
    assert!(error.to_string().contains("`[events]` names no class"), "{error}");
    let bids = add_folder(&fixtures.join("bids"), Some(&place.at("b.toml")), false, &LoadOptions::default())
        .unwrap();
    assert_eq!((bids.recordings, bids.subjects), (2, 2));
    assert!(bids.notes[0].contains("this is a BIDS folder"), "{:?}", bids.notes);
}

/// Five subjects, 1200 flashes each, 150 of them at what they look at.
#[test]
fn the_speller_is_read_after_a_small_edit() {
    let Some(data) = shared("data/p300-8ch") else { return };
    let place = Place::new();
    let added = add_folder(&data, Some(&place.at("p300.toml")), false, &LoadOptions::default()).unwrap();
    assert_eq!((added.recordings, added.subjects, added.unreadable.len()), (5, 5, 0));
    let codes: Vec<_> = added.events.iter().map(|c| (&*c.code, c.events, c.recordings, c.class)).collect();
    assert_eq!(codes, [("-1", 5250, 5, true), ("1", 750, 5, true)]);
    let text = fs::read_to_string(place.at("p300.toml")).unwrap();
    assert!(text.contains("\n-1 = [\"-1\"]") && text.contains("\n1 = [\"1\"]"), "{text}");
    place.write("p300.toml", text.replace("\n-1 = ", "\nother = ").replace("\n1 = ", "\ntarget = "));
    let source = Source::parse("files:p300.toml", Some(place.root())).unwrap();
    let loaded = source.load(None, None).unwrap();
    assert_eq!((loaded.trials.len(), loaded.trials.layout().channels.len()), (6000, 8));
    assert_eq!(loaded.trials.layout().classes, ["other", "target"]);
    for subject in loaded.trials.subjects() {
        assert_eq!(loaded.trials.of(&[subject].into()).class_counts(), [1050, 150], "{subject}");
    }
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    let one: SubjectList = "3".parse().unwrap();
    let raw = source.load(Some(&Pipeline { window_s: [0.0, 0.8], ..plain() }), Some(&one)).unwrap();
    assert_eq!(
        (raw.trials.len(), raw.trials.layout().rate_hz, raw.trials.layout().samples),
        (1200, 250.0, 200)
    );
}

/// Samples that cannot be read show who reads them.
#[test]
fn a_start_from_what_is_kept_reads_no_matrix() {
    let place = Place::new();
    fs::create_dir(place.at("m")).unwrap();
    let matrix = |length: usize| Value::matrix(vec![length, 2], vec![1.5; 2 * length]);
    let mut marks = vec![0.0; 400];
    (50..350).step_by(100).for_each(|at| marks[at] = 1.0);
    let save = |samples: &Value| {
        let rate = Value::row(vec![100.0]);
        let variables = [("y", samples), ("trig", &Value::row(marks.clone())), ("fs", &rate)];
        mat::write(&place.at("m/s1.mat"), &variables).unwrap();
    };
    save(&matrix(400));
    add(&place, "m", None).unwrap();
    let text = fs::read_to_string(place.at("m/m.toml")).unwrap();
    assert!(text.contains("channels = [\"ch1\", \"ch2\"]"), "{text}");
    let Source::Recordings(recordings) = place.source("files:m/m.toml", &[]).unwrap() else { panic!("none") };
    assert_eq!(recordings.find().unwrap().items[0].memory, 400 * 2 * 16);
    // What is found out from the header alone does not see that the samples are others.
    save(&matrix(300));
    assert_eq!(recordings.set().find(place.root(), recordings.options()).unwrap().items.len(), 1);
    place.source("files:m/m.toml", &[]).unwrap().pipeline().unwrap();
    let (error, hint) = place.refused("files:m/m.toml", &[]);
    assert!(
        error.contains("its triggers are 400 numbers for 300 samples") && hint.contains("triggers"),
        "{error}"
    );
    save(&Value::matrix(vec![400, 3], vec![1.5; 1200]));
    assert!(place.refused("files:m/m.toml", &[]).0.contains("2 names of channels do not fit its 3 channels"));
}

#[test]
fn issue_19_recordings_without_eeg_are_listed_with_a_place_for_names() {
    let place = Place::new();
    let events: Vec<(usize, &str)> =
        (0..8).map(|i| (50 + 100 * i, if i % 2 == 0 { "S  1" } else { "S  2" })).collect();
    place.recording("d/S01", &["AUX 1", "TRG"], &events);
    let added = add(&place, "d", None).unwrap();
    assert!(
        added.notes[0].contains("no channel of 1 of 1 recordings counts as EEG")
            && added.notes[0].contains("S01.vhdr has `AUX 1` (other), `TRG` (trigger)"),
        "{:?}",
        added.notes
    );
    let (error, _) = place.refused("files:d/d.toml", &[]);
    assert!(error.contains("no channel counts as EEG"), "{error}");
    let text = fs::read_to_string(place.at("d/d.toml")).unwrap();
    place.write("d/d.toml", text.replace("# \"CH1\" = \"C3\"", "\"AUX 1\" = \"C3\""));
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    assert_eq!((loaded.trials.len(), &*loaded.trials.layout().channels[0].name), (8, "C3"));
}

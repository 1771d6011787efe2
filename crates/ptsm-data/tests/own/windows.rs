//! One label per recording, windows every so many seconds, and tables of events beside recordings.

use std::fs;

use ptsm_data::check::check;
use ptsm_data::{AddOptions, AddReport, LoadOptions, Source, add_folder_with};

use crate::common::{Place, labels, plain};
use crate::formats::{Fif, fif_from};

/// Three subjects with ten seconds of rest and ten of a task each.
fn rest_and_task() -> Place {
    let place = Place::new();
    for subject in 1..=3 {
        place.recording(&format!("d/S{subject}_rest"), &["C3", "C4"], &[]);
        place.recording(&format!("d/S{subject}_task"), &["C3", "C4"], &[(10, "S  1")]);
    }
    place
}

fn add(place: &Place, known: &AddOptions) -> ptsm_data::Result<AddReport> {
    add_folder_with(&place.at("d"), None, true, known, &LoadOptions::default())
}

fn known(labels: &[(&str, &str)], every_s: Option<f64>, events_from: Option<&str>) -> AddOptions {
    AddOptions {
        labels: labels.iter().map(|(label, pattern)| (label.to_string(), pattern.to_string())).collect(),
        every_s,
        events_from: events_from.map(String::from),
    }
}

#[test]
fn issue_19_one_label_per_recording_from_a_flag_to_epochs() {
    let place = rest_and_task();
    let added = add(&place, &known(&[("rest", "*_rest*"), ("task", "_task")], Some(2.0), None)).unwrap();
    assert_eq!((added.recordings, added.subjects), (6, 3));
    assert_eq!(added.labels, [("rest".to_string(), 3), ("task".into(), 3)]);
    let written = fs::read_to_string(&added.manifest).unwrap();
    for part in [
        "[labels]\nrest = [\"*_rest*\"]\ntask = [\"_task\"]\n",
        "[windows]\nlength_s = 2.0\n",
        "\n#band = [0.5, 45.0]\n",
    ] {
        assert!(written.contains(part), "{part}\n{written}");
    }
    assert!(!written.contains("\nwindow_s") && !written.contains("[events]"), "{written}");
    let source = place.source("files:d/d.toml", &[]).unwrap();
    let loaded = source.load(None, None).unwrap();
    assert_eq!(loaded.trials.layout().classes, ["rest", "task"]);
    assert_eq!((loaded.pipeline.window_s, loaded.trials.len()), ([0.0, 2.0], 3 * 2 * 5));
    assert_eq!(labels(&loaded)[..6], ["rest", "rest", "rest", "rest", "rest", "task"]);
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
    let Source::Recordings(recordings) = source else { panic!("no recordings") };
    let report = check(&recordings, None, false, &LoadOptions::default()).unwrap();
    assert_eq!(report.subjects[0].trials, [5, 5]);
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    // Windows that overlap are told, however that comes about.
    place.write("d/d.toml", written.replace("#every_s = 2.0", "every_s = 1.0"));
    let loaded = place.source("files:d/d.toml", &[]).unwrap().load(None, None).unwrap();
    assert_eq!(loaded.trials.len(), 3 * 2 * 9);
    assert!(loaded.notes.iter().any(|note| note.contains("every 1 s overlap")), "{:?}", loaded.notes);
    place.write("d/d.toml", &written);
    let longer = ptsm_signal::Pipeline { window_s: [0.0, 3.0], ..plain() };
    let loaded = place.source("files:d/d.toml", &[]).unwrap().load(Some(&longer), None).unwrap();
    assert!(
        loaded.notes.iter().any(|note| note.contains("epochs of 3 s every 2 s overlap")),
        "{:?}",
        loaded.notes
    );
}

#[test]
fn a_label_may_have_several_patterns_and_the_manifest_may_lie_elsewhere() {
    let place = rest_and_task();
    fs::create_dir(place.at("lists")).unwrap();
    let given = known(&[("rest", "S1_r*"), ("task", "S*_task.vhdr"), ("rest", "S*_rest.vhdr")], None, None);
    let to = place.at("lists/m.toml");
    let added = add_folder_with(&place.at("d"), Some(&to), false, &given, &LoadOptions::default()).unwrap();
    assert_eq!(added.labels, [("rest".to_string(), 3), ("task".into(), 3)]);
    let written = fs::read_to_string(&to).unwrap();
    let patterns = "\nrest = [\"S1_r*\", \"S*_rest.vhdr\"]\ntask = [\"S*_task.vhdr\"]\n";
    assert!(written.contains(patterns), "{written}");
    let loaded = place.source("files:lists/m.toml", &[]).unwrap().load(None, None).unwrap();
    assert_eq!(loaded.trials.all().class_counts(), [6, 6]);
}

#[test]
fn labels_that_fit_nothing_are_refused() {
    let place = rest_and_task();
    for (known, says, hint) in [
        (
            known(&[("rest", "*_rest*"), ("sleep", "*_sleep*")], None, None),
            "no recording is like the pattern of label `sleep`",
            "--label",
        ),
        (
            known(&[("rest", "*_rest*"), ("all", "*")], None, None),
            "both `rest` and `all`",
            "each file is like one",
        ),
        (known(&[], Some(0.0), None), "windows every 0 s", "--every 2"),
        (
            known(&[], None, Some("*.log")),
            "no recording has a table of events called `*.log`",
            "--events-from",
        ),
    ] {
        let error = add(&place, &known).unwrap_err();
        assert!(error.to_string().contains(says) && error.hint().unwrap().contains(hint), "{error}");
        assert!(!place.at("d/d.toml").exists());
    }
    let some = add(&place, &known(&[("rest", "*_rest*"), ("task", "S1_task")], None, None)).unwrap();
    assert!(
        some.notes.iter().any(|note| note.contains("2 of 6 recordings are like no pattern")),
        "{:?}",
        some.notes
    );
}

#[test]
fn issue_19_segments_of_a_table_become_windows() {
    let place = Place::new();
    place.recording("d/s1", &["C3", "C4"], &[(10, "S  1")]);
    place.write("d/s1_events.tsv", "onset\tduration\ttrial_type\n0.5\t3\trest\n5\t4.2\ttask\n");
    let added = add(&place, &known(&[], Some(1.0), None)).unwrap();
    let codes: Vec<_> = added.events.iter().map(|code| (&*code.code, code.events)).collect();
    assert_eq!(codes, [("rest", 1), ("task", 1)]);
    let written = fs::read_to_string(&added.manifest).unwrap();
    assert!(written.contains("\nevents = \"s1_events.tsv\"\n"), "{written}");
    place.write("d/d.toml", written.replace("# rest = ", "rest = ").replace("# task = ", "task = "));
    let loaded = place.source("files:d/d.toml", &[]).unwrap().load(None, None).unwrap();
    assert_eq!(labels(&loaded), ["rest", "rest", "rest", "task", "task", "task", "task"]);
    assert_eq!((loaded.trials.info()[0].cue_s, loaded.trials.info()[3].cue_s), (0.5, 5.0));
    // Another table is another recording: nothing old is kept.
    place.write("d/s1_events.tsv", "onset\tduration\ttrial_type\n0.5\t2\trest\n5\t4.2\ttask\n");
    let other = place.source("files:d/d.toml", &[]).unwrap().load(None, None).unwrap();
    assert_eq!(other.trials.len(), 6);
    assert_ne!(other.fingerprint, loaded.fingerprint);
    fs::remove_file(place.at("d/s1_events.tsv")).unwrap();
    let (error, _) = place.refused("files:d/d.toml", &[]);
    assert!(error.contains("s1_events.tsv: cannot read"), "{error}");
    // Checked, it is known by its ending alone.
    let Source::Recordings(recordings) = place.source("files:d/d.toml", &[]).unwrap() else { panic!("none") };
    let report = check(&recordings, None, false, &LoadOptions::default()).unwrap();
    let detail = &report.problems[0].cases[0].detail;
    assert!(detail.starts_with("*.tsv: cannot read") && detail.contains("put it where"), "{detail}");
    assert!(!detail.contains("s1"), "{detail}");
}

#[test]
fn issue_19_event_tables_are_found_by_a_pattern() {
    let place = Place::new();
    for subject in 1..=2 {
        place.recording(&format!("d/S{subject}"), &["C3", "C4"], &[]);
        place.write(&format!("d/log-S{subject}.txt"), "sample,code\n100,7\n300,8\n500,7\n700,8\n");
    }
    let added = add(&place, &known(&[], None, Some("log-*.txt"))).unwrap();
    let codes: Vec<_> = added.events.iter().map(|code| (&*code.code, code.events, code.class)).collect();
    assert_eq!(codes, [("7", 4, true), ("8", 4, true)]);
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    assert_eq!(labels(&loaded), ["7", "8", "7", "8", "7", "8", "7", "8"]);
    // Columns of other names are declared.
    place.write("d/log-S1.txt", "when,code,what\n1.0,x,7\n3.0,x,8\n");
    let (error, hint) = place.refused("files:d/d.toml", &[]);
    assert!(error.contains("no columns with the moment") && hint.contains("[columns]"), "{error} {hint}");
    let text = fs::read_to_string(place.at("d/d.toml")).unwrap();
    place.write(
        "d/d.toml",
        text.replace("[events]", "[columns]\nlabel = \"what\"\nonset = \"when\"\n\n[events]")
            .replace("events = \"log-S2.txt\"", "events = \"log-S1.txt\""),
    );
    assert_eq!(labels(&place.load("files:d/d.toml", &[]).unwrap()), ["7", "8", "7", "8"]);
}

/// `mne.write_events` counts samples from when the device was started, so that `raw.first_samp` is in them.
#[test]
fn issue_19_lists_of_mne_count_from_the_first_sample() {
    let place = Place::new();
    place.write("d/s1_raw.fif", fif_from(Some(5000), 1000, 3, None));
    let list: Vec<u8> = [5100, 0, 1, 5150, 1, 0, 5300, 0, 2, 5500, 0, 1, 5700, 0, 2, 9000, 0, 1, 3, 6, 2]
        .iter()
        .flat_map(|number: &i32| number.to_be_bytes())
        .collect();
    let file = Fif(vec![])
        .tag(100, 31, &[0; 20])
        .int(101, -1)
        .int(104, 361)
        .tag(3561, 0x4000_0003, &list)
        .int(105, 361);
    place.write("d/s1-eve.fif", file.0);
    let added = add(&place, &known(&[], None, None)).unwrap();
    assert_eq!((added.recordings, added.unreadable.len()), (1, 0));
    let written = fs::read_to_string(&added.manifest).unwrap();
    assert!(written.contains("\nevents = \"s1-eve.fif\"\n"), "{written}");
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    let cues: Vec<f64> = loaded.trials.info().iter().map(|trial| trial.cue_s).collect();
    assert_eq!((labels(&loaded), cues), (vec!["1", "2", "1", "2"], vec![1.0, 3.0, 5.0, 7.0]));
    assert!(
        loaded.notes.iter().any(|note| note.contains("1 of 5 events of its .fif table lie outside")),
        "{:?}",
        loaded.notes
    );
}

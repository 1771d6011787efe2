//! BIDS folders: one made by other programs, and hand-made ones for every rule.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::common::{Place, channels, labels, plain};
use ptsm_data::arrays::LabelHandling;
use ptsm_data::{Cache, LoadOptions, LoadedData, Source, SubjectList};
use ptsm_signal::{Pick, Pipeline, SubjectId};

const EVENTS: &str = "onset\tduration\ttrial_type\n1\t1\tleft\n4\t1\tright\n";

/// Two subjects, two channels each, with tables.
fn two() -> Place {
    let place = Place::new();
    for label in ["01", "02"] {
        let name = format!("data/sub-{label}/eeg/sub-{label}_task-mi_eeg");
        place.recording(&name, &["C3", "C4"], &[(50, "S  1")]);
        place.write(&format!("data/sub-{label}/eeg/sub-{label}_task-mi_events.tsv"), EVENTS);
    }
    place
}

#[test]
fn the_folder_of_other_programs_is_read() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/datasets/fixtures");
    if !root.join("bids").is_dir() {
        eprintln!("skipped: needs ../shared/datasets/fixtures/bids");
        return;
    }
    let source = Source::parse_with("bids:bids", Some(&root), &[]).unwrap();
    assert_eq!(source.name(), "bids:bids");
    // The two subjects share one channel and differ in their rates; both events last half a second at least.
    let pipeline = Pipeline { window_s: [0.0, 0.5], rate_hz: Some(100.0), ..plain() };
    let loaded = source.load(Some(&pipeline), None).unwrap();
    assert_eq!((channels(&loaded), labels(&loaded)), (vec!["Cz"], vec!["left", "right", "left", "right"]));
    let cues: Vec<_> = loaded.trials.info().iter().map(|t| (t.subject, t.session, t.run, t.cue_s)).collect();
    let (one, two) = (SubjectId(1), SubjectId(2));
    assert_eq!(cues, [(one, 1, 1, 0.5), (one, 1, 1, 1.25), (two, 1, 1, 0.5), (two, 1, 1, 1.252)]);
    assert!(loaded.notes.iter().any(|n| n.contains("left out: C3, C4, Fp1, Oz")), "{:?}", loaded.notes);
    let bad = "channels marked as bad are kept, in so many recordings: C4.. (1), Oz (1)";
    assert!(loaded.notes.iter().any(|n| n == bad), "{:?}", loaded.notes);
    // The inherited rate of 160 Hz is overridden beside the recording of the second subject.
    assert!(!loaded.notes.iter().any(|n| n.contains("eeg.json")), "{:?}", loaded.notes);
    let names = Pick::Names(vec!["Oz".into(), "Fp1".into()]);
    let list: SubjectList = "2".parse().unwrap();
    let picked = source.load(Some(&Pipeline { pick: names, ..pipeline }), Some(&list)).unwrap();
    assert_eq!((channels(&picked), picked.trials.layout().rate_hz), (vec!["Oz", "Fp1"], 100.0));
}

#[test]
fn tables_replace_what_the_file_says_of_events() {
    let place = two();
    let loaded = place.load("bids:data", &[]).unwrap();
    assert_eq!(labels(&loaded), ["left", "right", "left", "right"]);
    assert_eq!(loaded.trials.info()[1].cue_s, 4.0);
    assert_eq!(loaded.trials.layout().classes, ["left", "right"]);
    // Without the tables the marks of the file count.
    for label in ["01", "02"] {
        std::fs::remove_file(place.at(&format!("data/sub-{label}/eeg/sub-{label}_task-mi_events.tsv")))
            .unwrap();
    }
    let loaded = place.load("bids:data", &[]).unwrap();
    assert_eq!(labels(&loaded), ["Stimulus/S  1"; 2]);
    // One table above serves both.
    place.write("data/task-mi_events.tsv", EVENTS);
    assert_eq!(place.load("bids:data", &[]).unwrap().trials.len(), 4);
    // The deepest one alone counts.
    place.write("data/sub-02/sub-02_events.tsv", "onset\tduration\tvalue\n1\t0\tright\n");
    assert_eq!(labels(&place.load("bids:data", &[]).unwrap()), ["left", "right", "right"]);
    place.write("data/task-rest_events.tsv", "onset\n1\n");
    assert_eq!(place.load("bids:data", &[]).unwrap().trials.len(), 3);
}

#[test]
fn classes_are_chosen_by_their_events() {
    let place = two();
    let loaded = place.load("bids:data", &[("classes", "r:right,l:left")]).unwrap();
    assert_eq!((labels(&loaded), loaded.trials.layout().classes.len()), (vec!["l", "r", "l", "r"], 2));
    let loaded = place.load("bids:data", &[("classes", "any:left+right")]).unwrap();
    assert_eq!(labels(&loaded), ["any"; 4]);
    let loaded = place.load("bids:data", &[("classes", "one:l*t,two:r*")]).unwrap();
    assert_eq!(labels(&loaded), ["one", "two", "one", "two"]);
    let (error, hint) = place.refused("bids:data", &[("classes", "l:left,r:rigth")]);
    assert_eq!(error, "data `bids:data`: no event stands for class `r`");
    assert!(hint.contains("left (2), right (2)"), "{hint}");
    let (error, hint) = place.refused("bids:data", &[("classes", "left")]);
    assert!(error.contains("`left` has no event code") && hint.contains("left:T1"), "{error} {hint}");
    let many: String = (0..25).map(|i| format!("{}\t0\te{i}\n", 0.1 * f64::from(i))).collect();
    place.write("data/sub-01/eeg/sub-01_task-mi_events.tsv", format!("onset\tduration\ttrial_type\n{many}"));
    let (error, hint) = place.refused("bids:data", &[]);
    assert!(error.contains("27 kinds of events") && error.contains("e24 (1)"), "{error}");
    assert!(hint.contains("--with classes="));
}

#[test]
fn channels_are_what_their_table_says() {
    let place = two();
    let table = |text: &str| place.write("data/task-mi_channels.tsv", text);
    table("name\ttype\tunits\tstatus\nC4\tEEG\tuV\tbad\nC3\tVEOG\tuV\tgood\n");
    let loaded = place.load("bids:data", &[]).unwrap();
    assert_eq!(channels(&loaded), ["C4"]);
    assert!(
        loaded.notes.iter().any(|n| n.contains("bad are kept") && n.contains("C4 (2)")),
        "{:?}",
        loaded.notes
    );
    let (error, hint) = place.refused("bids:data", &[("bad", "refuse")]);
    assert!(error.contains("marked as bad: C4") && hint.contains("bad=keep"), "{error} {hint}");
    table("name\ttype\tunits\nFz\tEEG\tuV\nCz\tEEG\tuV\n");
    let loaded = place.load("bids:data", &[]).unwrap();
    assert_eq!(channels(&loaded), ["C3", "C4"]);
    assert!(loaded.notes.iter().any(|n| n.contains("names other channels")), "{:?}", loaded.notes);
    let loaded = place.load("bids:data", &[("mismatch", "rename")]).unwrap();
    assert_eq!(channels(&loaded), ["Fz", "Cz"]);
    table("type\nEEG\n");
    assert_eq!(channels(&place.load("bids:data", &[]).unwrap()), ["C3", "C4"]);
}

#[test]
fn only_channels_of_everybody_are_used_in_one_order() {
    let place = two();
    place.recording("data/sub-03/eeg/sub-03_task-mi_eeg", &["C4", "Oz", "C3", "Cz"], &[]);
    place.write("data/sub-03/eeg/sub-03_task-mi_events.tsv", EVENTS);
    let loaded = place.load("bids:data", &[]).unwrap();
    assert_eq!(channels(&loaded), ["C3", "C4"]);
    let note = "only channels that every recording has are used; left out: Oz, Cz (S01 session 1 run 1 has the fewest, 2)";
    assert_eq!(loaded.notes.iter().filter(|n| *n == note).count(), 1, "{:?}", loaded.notes);
    // The samples follow their names.
    let pipeline = Pipeline { pick: Pick::Names(vec!["C3".into()]), ..plain() };
    let picked = place.source("bids:data", &[]).unwrap().load(Some(&pipeline), None).unwrap();
    assert_eq!(picked.trials.signal(4), &loaded.trials.signal(4)[..100]);
    assert!(!picked.notes.iter().any(|n| n.contains("every recording has")));
    place.recording("data/sub-04/eeg/sub-04_task-mi_eeg", &["Pz"], &[]);
    assert!(place.refused("bids:data", &[]).0.contains("no channel that every recording has"));
}

#[test]
fn subjects_sessions_and_runs_are_numbered() {
    let place = Place::new();
    place.write("d/events.tsv", EVENTS);
    for name in [
        "d/sub-b/ses-pre/eeg/sub-b_ses-pre_task-mi_run-1_eeg",
        "d/sub-b/ses-pre/eeg/sub-b_ses-pre_task-mi_run-2_eeg",
        "d/sub-b/ses-post/eeg/sub-b_ses-post_task-mi_run-10_eeg",
        "d/sub-a/ses-pre/eeg/sub-a_ses-pre_task-rest_eeg",
        "d/sub-a/ses-pre/eeg/sub-a_ses-pre_task-mi_split-1_eeg",
        "d/sub-a/ses-pre/eeg/sub-a_ses-pre_task-mi_split-2_eeg",
    ] {
        place.recording(name, &["C3", "C4"], &[]);
    }
    let trials_of = |with: &[(&str, &str)]| {
        let loaded = place.load("bids:d", with).unwrap();
        let mut owners: Vec<_> =
            loaded.trials.info().iter().map(|t| (t.subject.0, t.session, t.run)).collect();
        owners.dedup();
        (owners, loaded.notes)
    };
    let (all, notes) = trials_of(&[]);
    assert_eq!(all, [(1, 2, 1), (1, 2, 2), (1, 2, 3), (2, 1, 10), (2, 2, 1), (2, 2, 2)]);
    assert!(notes.iter().any(|n| n.contains("several tasks are read together: mi, rest")), "{notes:?}");
    assert!(notes.iter().any(|n| n.contains("share a run are numbered on (1 sessions")), "{notes:?}");
    assert_eq!(trials_of(&[("task", "rest")]).0, [(1, 2, 1)]);
    assert_eq!(trials_of(&[("sessions", "post")]).0, [(2, 1, 10)]);
    assert_eq!(trials_of(&[("runs", "2-20")]).0, [(2, 1, 10), (2, 2, 2)]);
    let (error, hint) = place.refused("bids:d", &[("task", "p300")]);
    assert!(error.contains("`task=p300` is not possible") && hint.contains("mi, rest"), "{error} {hint}");
    assert!(
        place
            .refused("bids:d", &[("sessions", "post"), ("runs", "1")])
            .0
            .contains("no recording is of the task")
    );
    assert!(place.refused("bids:d", &[("tasks", "mi")]).1.contains("is `task` meant?"));
    // Numbers that are subjects' own stay.
    let place = two();
    let subjects: Vec<_> = place.load("bids:data", &[]).unwrap().trials.subjects().into_iter().collect();
    assert_eq!(subjects, [SubjectId(1), SubjectId(2)]);
    std::fs::rename(place.at("data/sub-01"), place.at("data/sub-17")).unwrap();
    let subjects: Vec<_> = place.load("bids:data", &[]).unwrap().trials.subjects().into_iter().collect();
    assert_eq!(subjects, [SubjectId(2), SubjectId(17)]);
}

#[test]
fn no_label_of_a_subject_is_in_what_is_loaded() {
    let place = Place::new();
    place.write("d/events.tsv", EVENTS);
    place.write("d/task-mi_eeg.json", r#"{"SamplingFrequency": 999}"#);
    place.write("d/task-mi_channels.tsv", "name\ttype\tstatus\nC3\tEEG\tbad\nX\tEEG\tgood\n");
    for label in ["mueller", "schmidt"] {
        place.recording(&format!("d/sub-{label}/eeg/sub-{label}_task-mi_eeg"), &["C3", "C4"], &[]);
    }
    let loaded = place.load("bids:d", &[]).unwrap();
    assert!(loaded.notes.len() >= 3, "{:?}", loaded.notes);
    let all = format!("{loaded:?}");
    assert!(!all.contains("mueller") && !all.contains("schmidt"), "{all}");
    let Source::Recordings(recordings) = place.source("bids:d", &[]).unwrap() else {
        panic!("no recordings")
    };
    let labels = recordings.set().labels(recordings.options()).unwrap();
    assert_eq!(labels, [(SubjectId(1), "mueller".to_string()), (SubjectId(2), "schmidt".to_string())]);
}

#[test]
fn what_cannot_be_read_is_reported() {
    let place = two();
    place.write("data/sub-01/eeg/sub-01_task-x_eeg.cnt", "x");
    place.write("data/sub-01/eeg/sub-01_task-y_eeg.EDF.gz", "x");
    place.write("data/sub-01/eeg/sub-01_task-z_eeg.eeg", "samples without a header");
    place.write("data/sub-03/eeg/sub-03_task-mi_eeg.edf", "/annex/objects/MD5E-s1--abc.edf\n");
    place.write(
        "data/sub-02/sub-02_scans.tsv",
        "filename\tacq_time\neeg/sub-02_task-mi_eeg.eeg\t0\neeg/sub-02_task-gone_eeg.edf\t0\n",
    );
    place.write("data/derivatives/sub-01/eeg/sub-01_task-mi_eeg.edf", "x");
    place.write("data/sub-01/derivatives/eeg/sub-01_task-mi_eeg.edf", "x");
    place.write("data/sourcedata/sub-09/eeg/sub-09_task-mi_eeg.edf", "x");
    let Source::Recordings(recordings) = place.source("bids:data", &[]).unwrap() else {
        panic!("no recordings")
    };
    let found = recordings.find().unwrap();
    assert_eq!(found.items.len(), 2);
    let missing = [(3, "sub-03/eeg/sub-03_task-mi_eeg.edf"), (2, "sub-02/eeg/sub-02_task-gone_eeg.edf")];
    let missing = missing.map(|(subject, path)| (SubjectId(subject), PathBuf::from(path)));
    assert_eq!(found.missing, missing);
    for part in [
        "3 recordings are of an unsupported kind or have no header: .EDF.gz, .cnt, .eeg",
        "content of 1 recordings is not fetched",
    ] {
        assert!(found.notes.iter().any(|note| note.contains(part)), "{part}: {:?}", found.notes);
    }
    let second = &found.items[1];
    let names: Vec<_> = second.files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "sub-02_task-mi_eeg.vhdr",
            "sub-02_task-mi_events.tsv",
            "sub-02_task-mi_eeg.eeg",
            "sub-02_task-mi_eeg.vmrk"
        ]
    );
    assert_eq!((second.subject, second.memory), (SubjectId(2), 8000));
}

/// Hashes of all subjects that were trained on.
fn known(loaded: &LoadedData) -> BTreeSet<String> {
    loaded.identities.values().flat_map(|identity| identity.hashes.clone()).collect()
}

/// The subjects among them that were trained on.
fn recognised(loaded: &LoadedData, known: &BTreeSet<String>) -> Vec<u32> {
    loaded
        .identities
        .iter()
        .filter(|(_, identity)| identity.is_among(known))
        .map(|(subject, _)| subject.0)
        .collect()
}

#[test]
fn subjects_are_recognised_by_their_labels_in_another_session() {
    let place = Place::new();
    let add = |label: &str, session: &str| {
        let name = format!("data/sub-{label}/ses-{session}/eeg/sub-{label}_ses-{session}_task-mi");
        place.recording(&format!("{name}_eeg"), &["C3", "C4"], &[]);
        place.write(&format!("{name}_events.tsv"), EVENTS);
    };
    ["ben", "eve"].iter().for_each(|label| add(label, "1"));
    let before = known(&place.load("bids:data", &[]).unwrap());
    // They come again, and somebody who changes everybody's number.
    ["ada", "ben", "eve"].iter().for_each(|label| add(label, "2"));
    let later = place.load("bids:data", &[("sessions", "2")]).unwrap();
    assert_eq!(recognised(&later, &before), [2, 3]);
    // A folder called otherwise is another one, unless it says which it is.
    std::fs::rename(place.at("data"), place.at("moved")).unwrap();
    assert!(recognised(&place.load("bids:moved", &[("sessions", "2")]).unwrap(), &before).is_empty());
    place.write("moved/dataset_description.json", r#"{"Name": "Hands"}"#);
    let before = known(&place.load("bids:moved", &[("sessions", "1")]).unwrap());
    std::fs::rename(place.at("moved"), place.at("data")).unwrap();
    assert_eq!(recognised(&place.load("bids:data", &[("sessions", "2")]).unwrap(), &before), [2, 3]);
    assert!(before.iter().all(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit())));
}

#[test]
fn subjects_are_recognised_by_their_recordings_under_any_name() {
    let place = two();
    let before = known(&place.load("bids:data", &[]).unwrap());
    // Samples of the second under another name, beside a header that is the same for both; other events, another window.
    for (name, label) in [("x", "02"), ("y", "none")] {
        place.recording(name, &["C3", "C4"], &[(500, "go"), (700, "go")]);
        let samples = place.at(&format!("data/sub-{label}/eeg/sub-{label}_task-mi_eeg.eeg"));
        std::fs::copy(samples, place.at(&format!("{name}.eeg"))).ok();
    }
    let entry =
        |name: &str, subject: u32| format!("[[recording]]\nfile = \"{name}.vhdr\"\nsubject = {subject}\n");
    let manifest = format!("[events]\ngo = \"*go\"\n{}{}", entry("x", 1), entry("y", 2));
    place.write("m.toml", manifest);
    let shorter = Pipeline { window_s: [0.0, 0.5], ..plain() };
    let loaded = place.source("files:m.toml", &[]).unwrap().load(Some(&shorter), None).unwrap();
    assert_eq!(recognised(&loaded, &before), [1]);
}

/// Without its table a recording would have other events, or none.
#[cfg(unix)]
#[test]
fn tables_that_are_not_fetched_are_reported_where_they_are_needed() {
    for table in ["sub-02/eeg/sub-02_task-mi_events.tsv", "sub-02/eeg/sub-02_task-mi_eeg.json"] {
        let place = two();
        let path = place.at("data").join(table);
        std::fs::remove_file(&path).ok();
        std::os::unix::fs::symlink("../../.git/annex/objects/x", &path).unwrap();
        let (error, hint) = place.refused("bids:data", &[]);
        let said = format!("{table}: content not fetched");
        assert!(error.contains(&said) && hint.contains("datalad get"), "{error} {hint}");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "/annex/objects/MD5E-s1--abc.tsv\n").unwrap();
        assert!(place.refused("bids:data", &[]).0.contains(&said));
        // Whom it is not about can be read.
        let one: SubjectList = "1".parse().unwrap();
        place.source("bids:data", &[]).unwrap().load(Some(&plain()), Some(&one)).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn content_that_is_not_fetched_is_not_a_damaged_file() {
    let place = Place::new();
    place.write("d/sub-01/eeg/x", "");
    std::os::unix::fs::symlink("../../.git/annex/objects/x", place.at("d/sub-01/eeg/sub-01_task-a_eeg.edf"))
        .unwrap();
    let (error, hint) = place.refused("bids:d", &[]);
    assert!(error.contains("content not fetched") && hint.contains("git annex get"), "{error} {hint}");
    // A header whose samples are not there.
    place.recording("d/sub-02/eeg/sub-02_task-a_eeg", &["C3"], &[]);
    let samples = place.at("d/sub-02/eeg/sub-02_task-a_eeg.eeg");
    std::fs::remove_file(&samples).unwrap();
    std::os::unix::fs::symlink("../../.git/annex/objects/y", &samples).unwrap();
    assert!(place.refused("bids:d", &[]).0.contains("2 recordings are links"));
    std::fs::remove_file(&samples).unwrap();
    std::fs::write(&samples, "../../.git/annex/objects/Xx/SHA256E-s1--y.eeg").unwrap();
    assert!(place.refused("bids:d", &[]).0.contains("content not fetched"));
}

#[test]
fn folders_without_recordings_are_refused() {
    let place = Place::new();
    let (error, hint) = place.refused("bids:absent", &[]);
    assert!(
        error.contains("there is no folder") && hint.contains("dataset_description.json"),
        "{error} {hint}"
    );
    place.write("empty/README", "");
    assert!(place.refused("bids:empty", &[]).0.contains("no folder `sub-..`"));
    place.write("bare/sub-01/anat/a.txt", "");
    assert!(place.refused("bids:bare", &[]).0.contains("there is no recording in"));
    place.write("odd/sub-01/eeg/sub-01_eeg.cnt", "");
    let (error, hint) = place.refused("bids:odd", &[]);
    assert!(error.contains("unsupported kind") && hint.contains("data add"), "{error} {hint}");
    place.recording("quiet/sub-01/eeg/sub-01_eeg", &["C3"], &[]);
    assert!(place.refused("bids:quiet", &[]).1.contains("events.tsv"));
}

#[test]
fn fingerprints_follow_the_tables() {
    let place = two();
    let before = place.load("bids:data", &[]).unwrap().fingerprint;
    assert_eq!(place.load("bids:data", &[]).unwrap().fingerprint, before);
    place.write("data/task-mi_channels.tsv", "name\ttype\nC3\tEEG\nC4\tEEG\n");
    assert_ne!(place.load("bids:data", &[]).unwrap().fingerprint, before);
}

#[test]
fn a_damaged_recording_is_named_when_it_is_read() {
    let place = two();
    place.write("data/sub-02/eeg/sub-02_task-mi_eeg.vhdr", "nonsense");
    assert!(place.refused("bids:data", &[]).0.contains("sub-02_task-mi_eeg.vhdr"));
    let one: SubjectList = "1".parse().unwrap();
    let loaded = place.source("bids:data", &[]).unwrap().load(Some(&plain()), Some(&one)).unwrap();
    assert_eq!(loaded.trials.len(), 2);
}

#[test]
fn trials_that_are_cut_already_are_taken_as_they_are() {
    let fixture = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/datasets/fixtures/eeglab/epoched.set");
    if !fixture.is_file() {
        eprintln!("skipped: needs ../shared/datasets/fixtures/eeglab");
        return;
    }
    let place = Place::new();
    for label in ["01", "02"] {
        place.write(
            &format!("d/sub-{label}/eeg/sub-{label}_task-x_eeg.set"),
            std::fs::read(&fixture).unwrap(),
        );
    }
    let loaded = place.source("bids:d", &[]).unwrap().load(None, None).unwrap();
    assert_eq!((loaded.trials.len(), channels(&loaded)), (4, vec!["C3", "Cz", "C4"]));
    let layout = loaded.trials.layout();
    assert_eq!((layout.start_s, layout.samples, layout.rate_hz), (-0.25, 200, 200.0));
    assert_eq!((loaded.pipeline.window_s, loaded.pipeline.band), ([-0.25, 0.75], None));
    // The last sample of the first trial's last channel, before scaling.
    let (error, hint) = place.refused("bids:d", &[]);
    assert!(
        error.contains("the window from 0 s to 1 s is not inside the trials, -0.25 s to 0.75 s"),
        "{error}"
    );
    assert!(hint.contains("window_s = [-0.25, 0.75]"), "{hint}");
    let plain = Pipeline { window_s: [-0.25, 0.75], ..plain() };
    let plain = place.source("bids:d", &[]).unwrap().load(Some(&plain), None).unwrap();
    assert_eq!(plain.trials.signal(0)[2 * 200 + 199], 11.0);
    let Source::Recordings(recordings) = place.source("bids:d", &[]).unwrap() else {
        panic!("no recordings")
    };
    let report = ptsm_data::check::check(&recordings, None, false, &LoadOptions::default()).unwrap();
    assert_eq!(report.subjects[0].trials.iter().sum::<usize>(), 2);
    assert_eq!(report.problems[0].kind, ptsm_data::check::ProblemKind::Doubled);
}

#[test]
fn what_is_kept_follows_the_channels_of_the_others() {
    let place = two();
    let cache = Cache::open(&place.at("cache")).unwrap();
    let options = LoadOptions { cache: Some(&cache), ..LoadOptions::default() };
    let load = || {
        let source = place.source("bids:data", &[]).unwrap();
        source.load_with(Some(&plain()), None, LabelHandling::Own, &options).unwrap()
    };
    assert_eq!((channels(&load()), load().trials.len()), (vec!["C3", "C4"], 4));
    // Somebody comes who lacks a channel: the trials that are kept have too many.
    place.recording("data/sub-03/eeg/sub-03_task-mi_eeg", &["Oz", "C4"], &[]);
    place.write("data/sub-03/eeg/sub-03_task-mi_events.tsv", EVENTS);
    assert_eq!((channels(&load()), load().trials.len()), (vec!["C4"], 6));
}

#[test]
fn a_decoder_keeps_the_channels_everybody_had() {
    let place = two();
    place.recording("data/sub-03/eeg/sub-03_task-mi_eeg", &["Oz", "C4"], &[]);
    place.write("data/sub-03/eeg/sub-03_task-mi_events.tsv", EVENTS);
    let own = place.source("bids:data", &[]).unwrap().load(None, None).unwrap();
    assert_eq!(own.pipeline.pick, Pick::Names(vec!["C4".into()]));
    assert!(own.notes.iter().any(|note| note.contains("left out: C3, Oz")), "{:?}", own.notes);
    std::fs::remove_dir_all(place.at("data/sub-03")).unwrap();
    let later = place.source("bids:data", &[]).unwrap().load(Some(&own.pipeline), None).unwrap();
    assert_eq!(channels(&later), ["C4"]);
}

#[test]
fn issue_19_types_of_channels_decide_what_is_eeg() {
    let place = Place::new();
    let name = "d/sub-01/eeg/sub-01_task-mi";
    place.recording(&format!("{name}_eeg"), &["X1", "TRG", "AUX1"], &[(100, "a"), (300, "b")]);
    place.write(
        &format!("{name}_channels.tsv"),
        "name\ttype\tunits\nX1\tMISC\tuV\nTRG\tTRIG\tuV\nAUX1\tn/a\tuV\n",
    );
    let (error, hint) = place.refused("bids:d", &[]);
    assert!(
        error.contains("no channel counts as EEG; it has `X1` (other), `TRG` (trigger), `AUX1` (other)"),
        "{error}"
    );
    assert!(hint.contains("`type` is `EEG` in `channels.tsv`"), "{hint}");
    place.write(
        &format!("{name}_channels.tsv"),
        "name\ttype\tunits\nX1\tMISC\tuV\nTRG\tTRIG\tuV\nAUX1\tEEG\tuV\n",
    );
    assert_eq!(channels(&place.load("bids:d", &[]).unwrap()), ["AUX1"]);
}

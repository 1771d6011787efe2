//! From what a user types to trials.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ptsm_data::arrays::{read_trials, write_made_trials, write_trials};
use ptsm_data::simulate::Cohort;
use ptsm_data::{
    LoadedData, Source, SubjectIdentity, SubjectList, read_cohort, save_cohort, save_recordings,
};
use ptsm_signal::{Alignment, Pick, Pipeline, Scaling, SubjectId, Trial, Trials};

/// A cohort that takes no time.
fn small() -> Cohort {
    Cohort {
        subjects: 3,
        sessions: 2,
        runs: 1,
        trials: 4,
        channels: ["C3", "Cz", "C4"].map(String::from).to_vec(),
        rate_hz: 64.0,
        ..Cohort::default()
    }
}

fn simulated(cohort: &Cohort) -> Source {
    Source::Simulated { cohort: Box::new(cohort.clone()), note: None }
}

fn load(source: &Source, subjects: &str) -> LoadedData {
    let list: Option<SubjectList> = (!subjects.is_empty()).then(|| subjects.parse().unwrap());
    source.load(None, list.as_ref()).unwrap()
}

#[test]
fn a_cohort_becomes_trials_in_the_order_of_subjects() {
    let cohort = small();
    let all = load(&simulated(&cohort), "");
    let info = all.trials.info();
    assert_eq!(info.len(), 3 * 2 * 4);
    assert!(info.is_sorted_by_key(|t| (t.subject, t.session, t.run)));
    assert_eq!(all.trials.layout().classes, ["left_hand", "right_hand"]);
    assert_eq!((all.name.as_str(), &all.pipeline), ("simulated", &cohort.pipeline()));
    assert_eq!(all.truth, Some(cohort.truth()));
    assert!(all.notes.is_empty(), "{:?}", all.notes);
    // The same again, and the same subjects when fewer are asked for.
    assert_eq!(load(&simulated(&cohort), ""), all);
    let some = load(&simulated(&cohort), "2-3");
    assert_eq!(some.trials.to_vec(), &all.trials.to_vec()[8 * 3 * 256..]);
    assert_eq!(some.fingerprint, all.fingerprint);
}

#[test]
fn fingerprints_follow_data_and_pipeline() {
    let cohort = small();
    let print = |cohort: &Cohort, pipeline: Option<&Pipeline>| {
        simulated(cohort).load(pipeline, None).unwrap().fingerprint
    };
    let plain = print(&cohort, None);
    assert_eq!(plain.len(), 64);
    assert_eq!(plain, print(&cohort, Some(&cohort.pipeline())));
    assert_ne!(plain, print(&Cohort { seed: 1, ..cohort.clone() }, None));
    let other = Pipeline { alignment: Alignment::Euclidean, ..cohort.pipeline() };
    assert_ne!(plain, print(&cohort, Some(&other)));
}

#[test]
fn a_pipeline_is_known_before_samples_are_read() {
    let folder = tempfile::tempdir().unwrap();
    save_cohort(&small(), folder.path()).unwrap();
    let cohort = simulated(&small());
    assert_eq!(cohort.pipeline().unwrap(), cohort.load(None, None).unwrap().pipeline);
    for id in [".", "S001.npz"] {
        let source = Source::parse(id, Some(folder.path())).unwrap();
        let own = source.pipeline().unwrap();
        let loaded = source.load(None, None).unwrap();
        assert_eq!(own, loaded.pipeline);
        assert_eq!(source.load(Some(&own), None).unwrap(), loaded);
    }
    fs::write(folder.path().join("S001.npz"), "no archive").unwrap();
    assert!(Source::parse("S001.npz", Some(folder.path())).unwrap().pipeline().is_err());
}

#[test]
fn a_saved_cohort_is_read_in_both_ways() {
    let cohort = small();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("new/cohort");
    let files = save_cohort(&cohort, &to).unwrap();
    assert_eq!(files, ["S001.npz", "S002.npz", "S003.npz"].map(|name| to.join(name)));
    assert_eq!(read_cohort(&to.join("cohort.toml")).unwrap(), cohort);
    let truth: serde_json::Value = serde_json::from_slice(&fs::read(to.join("truth.json")).unwrap()).unwrap();
    assert_eq!(truth["subjects"].as_array().unwrap().len(), 3);

    let again = load(&Source::parse("simulated", Some(&to)).unwrap(), "");
    let read = load(&Source::parse("cohort", Some(&folder.path().join("new"))).unwrap(), "");
    assert_eq!(read.name, "cohort");
    assert_eq!(read.trials.info(), again.trials.info());
    assert_eq!(read.trials.layout().classes, again.trials.layout().classes);
    assert_eq!(read.trials.layout().rate_hz, 64.0);
    // Files are in microvolts; both are divided by the trial's deviation when they are loaded.
    for (a, b) in read.trials.to_vec().iter().zip(again.trials.to_vec()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn a_smaller_cohort_leaves_nothing_of_a_larger_one() {
    let folder = tempfile::tempdir().unwrap();
    save_cohort(&small(), folder.path()).unwrap();
    save_cohort(&Cohort { subjects: 2, ..small() }, folder.path()).unwrap();
    let source = Source::parse(folder.path().to_str().unwrap(), None).unwrap();
    assert_eq!(load(&source, "").trials.subjects().len(), 2);
}

/// A kill leaves some subjects without a file, and parts of files.
#[test]
fn a_half_written_cohort_is_noted_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    save_cohort(&small(), folder.path()).unwrap();
    let source = Source::parse(folder.path().to_str().unwrap(), None).unwrap();
    assert!(load(&source, "").notes.is_empty());
    fs::remove_file(folder.path().join("S002.npz")).unwrap();
    for name in [".S002.npz.12-3.partial", ".truth.json.12-0.partial", ".mine.partial"] {
        fs::write(folder.path().join(name), "part").unwrap();
    }
    let notes = load(&source, "").notes;
    assert!(notes[0].contains("tells of 3 subjects, but 1 have no file (S02 is the first)"), "{notes:?}");
    save_cohort(&small(), folder.path()).unwrap();
    assert!(load(&source, "").notes.is_empty());
    let hidden = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
    let hidden: Vec<_> = hidden.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert_eq!(hidden, [".mine.partial"]);

    // Killed before the settings were there.
    let early = tempfile::tempdir().unwrap();
    fs::write(early.path().join(".cohort.toml.1-0.partial"), "part").unwrap();
    save_cohort(&small(), early.path()).unwrap();
    assert_eq!(fs::read_dir(early.path()).unwrap().count(), 5);
}

#[test]
fn the_task_decides_how_many_trials_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cohort.toml");
    for (text, trials) in [("task = \"erp\"", 120), ("", 20), ("task = \"erp\"\ntrials = 12", 12)] {
        fs::write(&path, text).unwrap();
        assert_eq!(read_cohort(&path).unwrap().trials, trials, "{text}");
    }
}

#[test]
fn other_folders_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in [("S001.npz", "mine"), ("cohort.toml", "[mine]\n")] {
        fs::write(folder.path().join(name), contents).unwrap();
        let error = save_cohort(&small(), folder.path()).unwrap_err();
        assert!(error.to_string().contains("is not empty and holds no simulated cohort"), "{error}");
        assert!(error.hint().is_some());
    }
    assert_eq!(fs::read(folder.path().join("S001.npz")).unwrap(), b"mine");
    assert!(save_cohort(&small(), &folder.path().join("S001.npz")).is_err());
}

#[test]
fn wrong_settings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (text, says) in [
        ("sujects = 3\n", "unknown field `sujects`"),
        ("subjects = \"x\"\n", "cohort.toml"),
        ("subjects = 0\n", "`subjects` is 0"),
    ] {
        fs::write(folder.path().join("cohort.toml"), text).unwrap();
        let error = Source::parse("simulated", Some(folder.path())).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn arrays_take_what_can_still_be_applied() {
    let folder = tempfile::tempdir().unwrap();
    save_cohort(&small(), folder.path()).unwrap();
    let source = Source::parse("S002.npz", Some(folder.path())).unwrap();
    let plain = source.load(None, None).unwrap();
    assert_eq!((plain.name.as_str(), plain.trials.len(), plain.truth), ("S002.npz", 8, None));
    assert_eq!(plain.pipeline.window_s, [0.0, 4.0]);
    let picked =
        Pipeline { pick: Pick::Names(vec!["C4".into()]), scaling: Scaling::None, ..plain.pipeline.clone() };
    let picked = source.load(Some(&picked), None).unwrap();
    assert_eq!(picked.trials.layout().channels.len(), 1);
    assert_ne!(picked.fingerprint, plain.fingerprint);
    // A window that does not lie inside them is not applied.
    let elsewhere = Pipeline { window_s: [1.0, 9.0], ..plain.pipeline.clone() };
    let kept = source.load(Some(&elsewhere), None).unwrap();
    assert_eq!(kept.pipeline, plain.pipeline);
    assert!(kept.notes[0].contains("from 1 s to 9 s is not inside the trials"), "{:?}", kept.notes);
    let inside = Pipeline { window_s: [1.0, 3.0], ..plain.pipeline.clone() };
    let inside = source.load(Some(&inside), None).unwrap();
    assert_eq!((inside.pipeline.window_s, inside.notes.len()), ([1.0, 3.0], 0));
    // They cannot be filtered any more.
    assert!(source.load(Some(&small().pipeline()), None).unwrap_err().to_string().contains("S002.npz"));
    let absent: SubjectList = "1-2".parse().unwrap();
    let error = source.load(None, Some(&absent)).unwrap_err();
    assert_eq!(error.to_string(), "there is no subject 1; the data have 2");
}

/// Whoever is tested must not have been trained on, whatever number or file they come with.
#[test]
fn the_same_subject_is_recognised_wherever_they_come_from() {
    let cohort = small();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("cohort");
    save_cohort(&cohort, &to).unwrap();
    let of = |id: &str, root: &std::path::Path| load(&Source::parse(id, Some(root)).unwrap(), "").identities;

    let simulated = of("simulated", &to);
    assert_eq!(simulated.keys().copied().collect::<Vec<_>>(), [1, 2, 3].map(SubjectId));
    let hashes = || simulated.values().flat_map(|identity| &identity.hashes);
    assert!(hashes().all(|hash| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit())));
    assert_eq!(hashes().collect::<BTreeSet<_>>().len(), hashes().count());
    let trials = |identities: &BTreeMap<SubjectId, SubjectIdentity>| -> Vec<(SubjectId, String)> {
        identities.iter().map(|(subject, identity)| (*subject, identity.trials.clone())).collect()
    };
    assert_eq!(trials(&of("cohort", folder.path())), trials(&simulated));
    let second = SubjectId(2);
    assert_eq!(trials(&of("S002.npz", &to)), [(second, simulated[&second].trials.clone())]);

    // Renumbered, in reverse order, in volts and under another name.
    let own = read_trials(&to.join("S002.npz")).unwrap().trials;
    let backwards: Vec<usize> = (0..own.len()).rev().collect();
    let subset = own.all().at(&backwards);
    let x = subset.signals().flatten().map(|v| v * 1e-6).collect();
    let info = subset.info().map(|t| Trial { subject: SubjectId(77), ..*t }).collect();
    let other = folder.path().join("someone.npz");
    write_trials(&other, &Trials::new(own.layout().clone(), x, info).unwrap()).unwrap();
    let renumbered = of("someone.npz", folder.path());
    assert_eq!(trials(&renumbered), [(SubjectId(77), simulated[&second].trials.clone())]);
    assert!(renumbered[&SubjectId(77)].is_among(&simulated[&second].hashes));
    assert!(!renumbered[&SubjectId(77)].is_among(&simulated[&SubjectId(3)].hashes));
    // Only one of two sessions, after both were trained on.
    let half = own.all().only(|t| t.session == 2);
    let x = half.signals().flatten().copied().collect();
    let half = Trials::new(own.layout().clone(), x, half.info().copied().collect()).unwrap();
    write_trials(&other, &half).unwrap();
    assert!(of("someone.npz", folder.path())[&second].is_among(&simulated[&second].hashes));
    // Made from somebody's trials, under a new number and with other samples.
    let x = own.to_vec().iter().map(|v| v * v).collect();
    let info = own.info().iter().map(|t| Trial { subject: SubjectId(78), ..*t }).collect();
    let made = Trials::new(own.layout().clone(), x, info).unwrap();
    write_made_trials(&other, &made, &simulated[&second].hashes).unwrap();
    let of_made = of("someone.npz", folder.path());
    assert!(of_made[&SubjectId(78)].is_among(&simulated[&second].hashes));
    assert!(!of_made[&SubjectId(78)].is_among(&simulated[&SubjectId(3)].hashes));
    // The same head, recorded for longer, and another one.
    let changed =
        |cohort: &Cohort| self::simulated(cohort).load(None, None).unwrap().identities[&second].clone();
    let longer = changed(&Cohort { trials: 6, ..cohort.clone() });
    assert!(longer.is_among(&simulated[&second].hashes) && longer.trials != simulated[&second].trials);
    assert!(
        !changed(&Cohort { seed: cohort.seed + 1, ..cohort.clone() }).is_among(&simulated[&second].hashes)
    );
    // Any scaling gives the same.
    let plain = Pipeline { scaling: Scaling::None, ..cohort.pipeline() };
    assert_eq!(self::simulated(&cohort).load(Some(&plain), None).unwrap().identities, simulated);
}

#[test]
fn truth_follows_the_channels_and_samples_of_the_trials() {
    let cohort = Cohort { channels: ["Fp1", "C3", "Cz", "C4"].map(String::from).to_vec(), ..small() };
    let whole = cohort.truth();
    let pipeline = Pipeline {
        pick: Pick::Names(vec!["C4".into(), "C3".into()]),
        window_s: [1.0, 3.0],
        rate_hz: Some(32.0),
        ..cohort.pipeline()
    };
    let loaded = simulated(&cohort).load(Some(&pipeline), None).unwrap();
    let (truth, layout) = (loaded.truth.unwrap(), loaded.trials.layout());
    assert_eq!(truth.channels, [whole.channels[3], whole.channels[1]]);
    for (own, all) in truth.subjects.iter().zip(&whole.subjects) {
        assert_eq!(own.channels, [all.channels[3], all.channels[1]]);
    }
    assert_eq!(truth.times.len(), layout.samples);
    // At two seconds, which is sample 32 here and was 128 there.
    assert_eq!(truth.times[32], whole.times[128]);
    assert_eq!(truth.task_channels(), [true, true]);
    assert_eq!(whole.task_channels(), [false, true, whole.channels[2] >= 0.5, true]);
    assert_eq!(truth.task_times(layout), vec![true; 64]);
    let outside = whole.task_times(load(&simulated(&cohort), "1").trials.layout());
    assert!(!outside[0] && outside[128] && !outside[255]);
}

#[test]
fn a_cohort_written_as_recordings_gives_the_same_trials() {
    let folder = tempfile::tempdir().unwrap();
    let cohort = small();
    let (manifest, files) = save_recordings(&cohort, folder.path()).unwrap();
    assert_eq!(files.len() as u32, cohort.subjects * cohort.sessions * cohort.runs);
    let source = Source::parse(&format!("files:{}", manifest.display()), None).unwrap();
    let read = source.load(None, None).unwrap();
    let made = Source::Simulated { cohort: Box::new(cohort.clone()), note: None }.load(None, None).unwrap();
    assert_eq!(read.pipeline, made.pipeline);
    assert_eq!(read.trials.layout().classes, made.trials.layout().classes);
    assert_eq!(read.trials.info(), made.trials.info());
    // EDF has 16 bits: trials, scaled to a deviation of 1, agree to a few thousandths.
    let (read, made) = (read.trials.to_vec(), made.trials.to_vec());
    let worst = read.iter().zip(&made).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < 0.02, "{worst}");
    // Another cohort takes its place; one as trials too.
    save_recordings(&Cohort { subjects: 2, ..cohort.clone() }, folder.path()).unwrap();
    save_cohort(&cohort, folder.path()).unwrap();
    assert!(!manifest.exists());
}

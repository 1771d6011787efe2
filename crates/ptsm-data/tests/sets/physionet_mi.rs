//! PhysioNet EEGMMIDB: made files in every layout, and the real ones where they are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use ptsm_data::{LoadOptions, LoadedData, Source, SubjectList};
use ptsm_signal::{FilterKind, Pick, Reference, Scaling, SubjectId};

use super::common::{bare, counts, found, load, notes, paths, pipeline, recordings, refused, whose};
use super::physionet_made::Run;

const ID: &str = "physionet-mi";

/// The imagery runs of left and right of some subjects in the publisher's tree.
fn cohort(root: &Path, subjects: &[u32]) {
    for &subject in subjects {
        for run in [4, 8, 12] {
            Run::usual().save(&root.join(format!("S{subject:03}")), subject, run);
        }
    }
}

#[test]
fn runs_become_trials_of_left_and_right() {
    let folder = tempfile::tempdir().unwrap();
    cohort(folder.path(), &[1, 109]);
    let loaded = load(ID, folder.path(), &[], None).unwrap();
    assert_eq!(counts(&loaded), [(1, vec![24, 21]), (109, vec![24, 21])]);
    let layout = loaded.trials.layout();
    assert_eq!(layout.classes, ["left_hand", "right_hand"]);
    assert_eq!(
        (layout.channels.len(), layout.samples, layout.rate_hz, layout.start_s),
        (64, 400, 100.0, 0.0)
    );
    assert_eq!((&*layout.channels[0].name, &*layout.channels[63].name), ("FC5", "Iz"));
    assert_eq!(whose(&loaded)[15], (1, 1, 8, "left_hand"));
    assert_eq!(loaded.notes, <[String; 0]>::default());

    // Samples are those of the file from the cue on.
    let raw = load(ID, folder.path(), &[], Some(&bare([0.0, 4.0]))).unwrap();
    let cue = (4.2f64 * 160.0).round() as usize;
    let value = |at: usize, channel: usize| ((at * (channel + 3) * 37) % 211) as f32 - 105.0;
    let signal = raw.trials.signal(0);
    assert_eq!((signal[0], signal[1], signal[640]), (value(cue, 0), value(cue + 1, 0), value(cue, 1)));
    assert_eq!(signal[63 * 640 + 639], value(cue + 639, 63));
}

#[test]
fn pipelines_are_those_of_the_page() {
    let broadband = pipeline(ID, &[]);
    let band = broadband.band.unwrap();
    assert_eq!((band.low_hz, band.high_hz), (Some(0.5), Some(45.0)));
    assert_eq!(band.kind, FilterKind::ZeroPhase { order: 4 });
    assert_eq!((broadband.rate_hz, broadband.window_s), (Some(100.0), [0.0, 4.0]));
    assert_eq!((&broadband.pick, &broadband.reference), (&Pick::All, &Reference::AsRecorded));
    assert_eq!((broadband.scaling, broadband.notch_hz), (Scaling::TrialDeviation, None));
    let motor = pipeline(ID, &[("pipeline", "motor")]);
    let band = motor.band.unwrap();
    assert_eq!((band.low_hz, band.high_hz), (Some(4.0), Some(40.0)));
    assert_eq!(motor.reference, Reference::Average);
    let folder = tempfile::tempdir().unwrap();
    cohort(folder.path(), &[3]);
    let loaded = load(ID, folder.path(), &[("pipeline", "motor")], None).unwrap();
    let names: Vec<&str> = loaded.trials.layout().channels.iter().map(|c| &*c.name).collect();
    assert_eq!(names.join(" "), "FC5 FC3 FC1 FC2 FC4 FC6 C5 C3 C1 Cz C2 C4 C6 CP5 CP3 CP1 CPz CP2 CP4 CP6");
    // What the pipeline does not use is not read.
    let recordings = recordings(ID, folder.path(), &[]);
    let item = &found(ID, folder.path(), &[]).items[0];
    let part = recordings.set().read(item, recordings.options(), &motor).unwrap().remove(0);
    let ptsm_data::catalogue::SignalData::Recording(recording) = part.signal else { panic!("no recording") };
    assert_eq!(recording.channels.len(), 20);
}

#[test]
fn what_events_mean_depends_on_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for run in 1..=14 {
        Run::usual().save(folder.path(), 5, run);
    }
    let four = load(ID, folder.path(), &[("classes", "4")], Some(&bare([0.0, 1.0]))).unwrap();
    assert_eq!(four.trials.layout().classes, ["left_hand", "right_hand", "hands", "feet"]);
    assert_eq!(counts(&four), [(5, vec![24, 21, 24, 21])]);
    for (_, _, run, class) in whose(&four) {
        assert_eq!(["hands", "feet"].contains(&class), [6, 10, 14].contains(&run), "{run} {class}");
    }
    let with = [("classes", "4"), ("task", "execution")];
    let made = load(ID, folder.path(), &with, Some(&bare([0.0, 1.0]))).unwrap();
    let mut runs: Vec<u32> = whose(&made).into_iter().map(|(_, _, run, _)| run).collect();
    runs.dedup();
    assert_eq!(runs, [3, 5, 7, 9, 11, 13]);
    let two = load(ID, folder.path(), &[("task", "execution")], Some(&bare([0.0, 1.0]))).unwrap();
    assert_eq!(counts(&two), [(5, vec![24, 21])]);
}

#[test]
fn every_layout_is_found_from_every_folder_on_the_way() {
    let tail = "MNE-eegbci-data/files/eegmmidb/1.0.0/S001";
    let folder = tempfile::tempdir().unwrap();
    cohort(&folder.path().join("made"), &[1]);
    let copy = |to: &str, upper: bool| {
        let to = folder.path().join(to);
        std::fs::create_dir_all(&to).unwrap();
        for run in [4, 8, 12] {
            let name = format!("S001R{run:02}.edf");
            let target = to.join(if upper { name.to_uppercase() } else { name.clone() });
            std::fs::copy(folder.path().join("made/S001").join(&name), target).unwrap();
        }
        std::fs::write(to.join("S001R04.edf.event"), "").unwrap();
        to
    };
    let whole = load(ID, &folder.path().join("made"), &[], None).unwrap();
    let mne = copy(&format!("mne_data/{tail}"), false);
    let mut roots: Vec<PathBuf> = mne.ancestors().take(6).map(Path::to_path_buf).collect();
    assert_eq!(roots[5], folder.path().join("mne_data"));
    roots.push(copy("flat", true));
    for root in roots {
        let loaded = load(ID, &root, &[], None).unwrap();
        assert_eq!((&loaded.trials, &loaded.fingerprint), (&whole.trials, &whole.fingerprint), "{root:?}");
    }
    // A link to a subject's folder counts as well.
    #[cfg(unix)]
    {
        std::fs::create_dir(folder.path().join("links")).unwrap();
        std::os::unix::fs::symlink(&mne, folder.path().join("links/S001")).unwrap();
        assert_eq!(load(ID, &folder.path().join("links"), &[], None).unwrap().trials, whole.trials);
    }
    let twice = load(ID, folder.path(), &[], None).unwrap();
    assert_eq!(twice.trials, whole.trials);
    assert!(notes(&twice).contains("there more than once"), "{}", notes(&twice));
}

#[test]
fn subjects_left_out_and_files_missing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    cohort(folder.path(), &[87, 88, 89]);
    std::fs::remove_file(folder.path().join("S087/S087R08.edf")).unwrap();
    let there = found(ID, folder.path(), &[]);
    let runs: Vec<_> = there.items.iter().map(|item| (item.subject.0, item.run)).collect();
    assert_eq!(runs, [(87, 4), (87, 12), (89, 4), (89, 8), (89, 12)]);
    assert_eq!(there.excluded.len(), 1);
    assert_eq!(there.excluded[0].0, SubjectId(88));
    assert!(there.excluded[0].1.contains("128 Hz"));
    assert_eq!(paths(&there), [Path::new("S087/S087R08.edf")]);
    let loaded = load(ID, folder.path(), &[], Some(&bare([0.0, 1.0]))).unwrap();
    assert!(notes(&loaded).contains("left out: S88 (recorded at 128 Hz"), "{}", notes(&loaded));
    let there = found(ID, folder.path(), &[("exclude", "103")]);
    assert_eq!(there.excluded.iter().map(|(s, _)| s.0).collect::<Vec<_>>(), [88, 89]);
    let there = found(ID, folder.path(), &[("exclude", "none")]);
    assert!(there.excluded.is_empty() && there.items.len() == 8);
    let there = found(ID, folder.path(), &[("exclude", "87-88")]);
    assert_eq!(
        there.excluded.iter().map(|(s, why)| (s.0, &**why)).collect::<Vec<_>>(),
        [(87, "asked for"), (88, "asked for")]
    );
}

#[test]
fn ranges_skip_subjects_left_out_and_notes_keep_to_the_requested_ones() {
    let folder = tempfile::tempdir().unwrap();
    cohort(folder.path(), &[86, 87, 88, 89]);
    std::fs::remove_file(folder.path().join("S087/S087R08.edf")).unwrap();
    std::fs::create_dir(folder.path().join("again")).unwrap();
    std::fs::copy(folder.path().join("S086/S086R04.edf"), folder.path().join("again/S086R04.edf")).unwrap();
    let all = recordings(ID, folder.path(), &[]);
    let load = |list: &str| {
        let list: SubjectList = list.parse().unwrap();
        Source::Recordings(all.clone()).load(Some(&bare([0.0, 1.0])), Some(&list))
    };
    let subjects =
        |loaded: &LoadedData| counts(loaded).iter().map(|(subject, _)| *subject).collect::<Vec<_>>();

    let loaded = load("86-89").unwrap();
    assert_eq!(subjects(&loaded), [86, 87, 89]);
    let said = notes(&loaded);
    assert!(said.contains("left out: S88 (recorded at 128 Hz"), "{said}");
    assert!(
        said.contains("1 files of subjects who are there are missing; the first is S087/S087R08.edf"),
        "{said}"
    );
    assert!(said.contains("more than once") && said.contains("S086R04.edf"), "{said}");
    // Nobody was asked for of whom there is anything to say.
    let loaded = load("89").unwrap();
    assert_eq!((subjects(&loaded), notes(&loaded).as_str()), (vec![89], ""));
    // Their files need not be there.
    std::fs::remove_dir_all(folder.path().join("S088")).unwrap();
    assert_eq!(subjects(&load("87-89").unwrap()), [87, 89]);
    assert!(notes(&load("87-89").unwrap()).contains("left out: S88"));
    for (list, says) in [
        ("88", "the data leave out S88 (recorded at 128 Hz"),
        ("87,88,89", "the data leave out S88 (recorded at 128 Hz"),
        ("85-89", "there is no subject 85; the data have 86-87,89"),
        ("86,1", "there is no subject 1;"),
    ] {
        let error = load(list).unwrap_err();
        assert!(error.to_string().starts_with(says) && error.hint().is_some(), "{list}: {error}");
    }
    let list: SubjectList = "89".parse().unwrap();
    let report = ptsm_data::check::check(&all, Some(&list), false, &LoadOptions::default()).unwrap();
    assert!(report.excluded.is_empty() && report.notes.is_empty(), "{report:?}");
    let list: SubjectList = "88-89".parse().unwrap();
    let report = ptsm_data::check::check(&all, Some(&list), false, &LoadOptions::default()).unwrap();
    assert_eq!(report.excluded.len(), 1);
}

#[test]
fn other_rates_are_resampled_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    cohort(folder.path(), &[1]);
    let slow = Run { rate_hz: 128, ..Run::usual() };
    for run in [4, 8, 12] {
        slow.save(&folder.path().join("S088"), 88, run);
    }
    for name in ["broadband", "motor"] {
        let with = [("exclude", "none"), ("pipeline", name)];
        let loaded = load(ID, folder.path(), &with, None).unwrap();
        assert_eq!(counts(&loaded), [(1, vec![24, 21]), (88, vec![24, 21])]);
        assert!(notes(&loaded).contains("S088R04.edf: 128 Hz, not 160 Hz"), "{}", notes(&loaded));
    }
    let (error, hint) = refused(ID, folder.path(), &[("exclude", "none")]);
    assert!(error.contains("S088R") && error.contains("128 Hz"), "{error}");
    assert!(hint.contains("rate_hz"), "{hint}");
}

#[test]
fn what_is_odd_about_a_run_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let usual = Run::usual();
    let events = usual.events.clone();
    let save = |run: Run, number| run.save(folder.path(), 1, number);
    save(Run { events: events[..26].to_vec(), ..Run::usual() }, 4);
    save(Run { seconds: 122, flat_from: 60, ..Run::usual() }, 8);
    save(Run::usual(), 12);
    let loaded = load(ID, folder.path(), &[], None).unwrap();
    let notes = notes(&loaded);
    assert!(notes.contains("S001R04.edf: 13 task trials, not 15"), "{notes}");
    assert!(
        notes.contains("S001R08.edf: 15 of 15 trials hold more than 0.5 s that do not change"),
        "{notes}"
    );
    assert!(notes.contains("the first is `O1` from 4.2 s on"), "{notes}");
    assert!(notes.contains("1 trials reach past the end"), "{notes}");
    assert!(!notes.contains("S001R12"), "{notes}");
    assert_eq!(loaded.trials.len(), 13 + 14 + 15);
}

#[test]
fn files_of_something_else_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let say = |run: Run| {
        run.save(folder.path(), 1, 4);
        let (error, hint) = refused(ID, folder.path(), &[]);
        assert!(error.contains("S001R04.edf"), "{error}");
        (error, hint)
    };
    // A baseline has no task.
    let (error, hint) = say(Run { events: vec![(0.0, 60.0, "T0")], ..Run::usual() });
    assert!(error.contains("has no event `T1` or `T2`; it has `T0`"), "{error}");
    assert!(hint.contains("download it again"), "{hint}");
    // Another recording.
    let mut other = Run::usual();
    other.channels.truncate(63);
    other.channels[5] = "EEG Pz-Oz";
    let (error, _) = say(other);
    assert!(error.contains("has no channel `FC4`: 2 of the 64"), "{error}");
    // No EDF at all.
    std::fs::write(folder.path().join("S001R04.edf"), "not found").unwrap();
    let (error, _) = refused(ID, folder.path(), &[]);
    assert!(error.contains("S001R04.edf"), "{error}");
}

/// The real recordings, unpacked once for all tests; none where they are not on this machine.
fn real() -> Option<PathBuf> {
    static UNPACKED: OnceLock<PathBuf> = OnceLock::new();
    // Each skipped test tells so, which is why these lines are not inside of the lock.
    let unpack = super::common::beside("data/unpack")?;
    if Command::new("xz").arg("--version").output().is_err() {
        eprintln!("skipped: needs `xz`, which unpacks recordings");
        return None;
    }
    let unpacked = UNPACKED.get_or_init(|| {
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("data");
        let done = Command::new(unpack).arg(&to).output().unwrap();
        // Recordings that are there and damaged are no reason to skip a test.
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        to.join("physionet-mi")
    });
    Some(unpacked.clone())
}

#[test]
fn every_real_recording_becomes_fifteen_trials() {
    let Some(root) = real() else { return };
    let there = found(ID, &root, &[]);
    assert_eq!((there.items.len(), there.missing.len(), there.excluded.len()), (120, 0, 0));
    let loaded = load(ID, &root, &[("pipeline", "motor")], None).unwrap();
    assert_eq!(loaded.trials.subjects().len(), 40);
    for (subject, counts) in counts(&loaded) {
        // Seven or eight of a side in each of three runs, all of them whole.
        assert_eq!(counts.iter().sum::<usize>(), 45, "{subject}");
        assert!((21..=24).contains(&counts[0]), "{subject}: {counts:?}");
    }
    let trials = loaded.identities.values().map(|identity| &identity.trials);
    assert_eq!(trials.collect::<std::collections::BTreeSet<_>>().len(), 40);
    // Nothing odd but one electrode that was not measured for a while, in a file that others call damaged.
    assert_eq!(
        loaded.notes,
        [
            "S021R08.edf: 1 of 15 trials hold more than 0.5 s that do not change; the first is `C5` from 38.3 s on"
        ]
    );
    let layout = loaded.trials.layout();
    assert_eq!((layout.channels.len(), layout.samples), (20, 400));
}

#[test]
fn a_real_subject_is_the_same_in_every_layout() {
    let Some(root) = real() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mne = folder.path().join("MNE-eegbci-data/files/eegmmidb/1.0.0/S001");
    let flat = folder.path().join("flat");
    for to in [&mne, &flat] {
        std::fs::create_dir_all(to).unwrap();
        for run in ["04", "08", "12"] {
            let name = format!("S001R{run}.edf");
            std::fs::copy(root.join("S001").join(&name), to.join(&name)).unwrap();
        }
    }
    let one = "1".parse().unwrap();
    let of = |root: &Path| {
        ptsm_data::Source::Recordings(recordings(ID, root, &[])).load(None, Some(&one)).unwrap()
    };
    let plain = of(&root);
    assert_eq!(counts(&plain), [(1, vec![23, 22])]);
    std::fs::rename(&flat, folder.path().join("other")).unwrap();
    for root in [folder.path().join("other"), folder.path().join("MNE-eegbci-data")] {
        assert_eq!(of(&root).trials, plain.trials);
        assert_eq!(of(&root).identities, plain.identities);
    }
}

//! Faults that are planted in recordings are found, and nothing in good ones.

use std::f32::consts::TAU;

use ptsm_data::check::{CheckReport, Problem, ProblemKind, check};
use ptsm_data::{LoadOptions, Source, SubjectList};
use ptsm_signal::SubjectId;

use crate::common::{Place, noise};

const NAMES: [&str; 3] = ["C3", "Cz", "C4"];
const LENGTH: usize = 4000;
const EVENTS: &str =
    "[events]\nleft = [\"Stimulus/S  1\"]\nright = [\"Stimulus/S  2\"]\n[pipeline]\nwindow_s = [0.0, 2.0]\n";

/// Something like an EEG.
fn good(seed: u64) -> Vec<f32> {
    let mut samples = noise(NAMES.len(), LENGTH, seed);
    for (t, x) in samples.iter_mut().enumerate() {
        *x += 10.0 * (TAU * 10.0 * t as f32 / 100.0).sin();
    }
    samples
}

/// Four good subjects, of whom the second was changed, and perhaps more of the manifest.
fn cohort(change: impl Fn(&mut Vec<f32>), more: &str) -> Place {
    cohort_of(good, change, more)
}

fn cohort_of(signal: impl Fn(u64) -> Vec<f32>, change: impl Fn(&mut Vec<f32>), more: &str) -> Place {
    let place = Place::new();
    let mut manifest = EVENTS.to_string();
    for subject in 1..=4 {
        let mut samples = signal(subject);
        if subject == 2 {
            change(&mut samples);
        }
        let events: Vec<(usize, &str)> = (0..8).map(|i| (100 + 450 * i, ["S  1", "S  2"][i % 2])).collect();
        place.signal(&format!("p{subject}"), &NAMES, &events, 100.0, &samples);
        manifest += &format!("[[recording]]\nfile = \"p{subject}.vhdr\"\nsubject = {subject}\n");
    }
    place.write("m.toml", format!("{manifest}{more}"));
    place
}

fn checked(place: &Place) -> CheckReport {
    checked_as(place, "files:m.toml", None, false)
}

fn checked_as(place: &Place, id: &str, subjects: Option<&str>, labels: bool) -> CheckReport {
    let Source::Recordings(recordings) = place.source(id, &[]).unwrap() else { panic!("no recordings") };
    let subjects: Option<SubjectList> = subjects.map(|list| list.parse().unwrap());
    check(&recordings, subjects.as_ref(), labels, &LoadOptions::default()).unwrap()
}

/// The one thing that is wrong, which is of the second subject.
fn only(place: &Place, kind: ProblemKind) -> Problem {
    let report = checked(place);
    assert_eq!(report.problems.len(), 1, "{:#?}", report.problems);
    let problem = report.problems[0].clone();
    assert_eq!((problem.kind, problem.cases.len()), (kind, 1), "{problem:#?}");
    assert_eq!(problem.cases[0].subject, Some(SubjectId(2)));
    assert!(!problem.what.is_empty() && !problem.advice.is_empty());
    assert_eq!(report.subjects.iter().map(|p| p.problems).collect::<Vec<_>>(), [0, 1, 0, 0]);
    assert_eq!(report.damaged(), problem.damage);
    problem
}

#[test]
fn good_recordings_have_no_problem() {
    let place = cohort(|_| (), "");
    let report = checked(&place);
    assert_eq!((report.problems.len(), report.damaged(), report.notes.len()), (0, false, 0), "{report:#?}");
    assert_eq!(
        (report.name.as_str(), &report.classes[..]),
        ("files:m.toml", &["left".to_string(), "right".into()][..])
    );
    let first = &report.subjects[0];
    assert_eq!((first.subject, first.recordings, first.sessions, first.channels), (SubjectId(1), 1, 1, 3));
    assert_eq!((first.seconds, &first.rates_hz[..], &first.trials[..]), (40.0, &[100.0][..], &[4, 4][..]));
    assert_eq!((first.label.as_ref(), first.unknown, first.short), (None, 0, 0));
    let some = checked_as(&place, "files:m.toml", Some("3-4"), false);
    assert_eq!(some.subjects.iter().map(|p| p.subject.0).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn missing_and_unreadable_files_are_damage() {
    let place = cohort(|_| (), "[[recording]]\nfile = \"gone.edf\"\nsubject = 9\n");
    place.write("p2.vhdr", "nonsense");
    let report = checked(&place);
    let kinds: Vec<_> = report.problems.iter().map(|p| (p.kind, p.damage)).collect();
    assert_eq!(kinds, [(ProblemKind::Missing, true), (ProblemKind::Unreadable, true)]);
    assert_eq!(report.problems[0].cases[0].place, "S09");
    assert!(
        report.problems[1].cases[0].detail.starts_with("*.vhdr, ")
            || report.problems[1].cases[0].detail.starts_with("*.vhdr: ")
    );
    let second = &report.subjects[1];
    assert_eq!((second.recordings, second.problems, second.trials.clone()), (0, 1, vec![0, 0]));
    assert!(report.damaged());
}

#[test]
fn samples_that_are_no_numbers_are_damage() {
    let problem = only(&cohort(|x| x[LENGTH + 7] = f32::NAN, ""), ProblemKind::NotNumbers);
    assert!(problem.damage && problem.cases[0].detail == "1 samples of Cz", "{problem:#?}");
}

#[test]
fn the_same_samples_under_two_names_are_damage() {
    let problem = only(&cohort(|x| *x = good(1), ""), ProblemKind::Doubled);
    assert!(problem.damage);
    assert_eq!(problem.cases[0].place, "S02 session 1 run 1");
    assert_eq!(problem.cases[0].detail, "the same as S01 session 1 run 1");
}

#[test]
fn issue_19_nearly_the_same_recording_is_damage_and_loading_tells_it() {
    // No epoch is like another of the same subject, as in an EEG.
    let rough = |seed| noise(NAMES.len(), LENGTH, seed).iter().map(|x| 20.0 * x).collect::<Vec<f32>>();
    // Scaled, moved and smoothed: no sample is the same.
    let place = cohort_of(
        rough,
        |x| {
            let first = rough(1);
            for (i, x) in x.iter_mut().enumerate() {
                *x = 2.0 * (0.9 * first[i] + 0.1 * first[i.saturating_sub(1)]) + 7.0;
            }
        },
        "",
    );
    let problem = only(&place, ProblemKind::Doubled);
    assert!(problem.damage);
    assert_eq!(problem.cases[0].detail, "8 epochs are those of S01, nearly to the sample");
    let loaded = place.load("files:m.toml", &[]).unwrap();
    let pairs: Vec<_> = loaded.duplicates.iter().map(|d| (d.first.0, d.second.0, d.epochs)).collect();
    assert_eq!(pairs, [(1, 2, 8)]);
    assert_eq!(cohort(|_| (), "").load("files:m.toml", &[]).unwrap().duplicates, []);
    // The very same samples under other events are the same recording too.
    let exact = cohort(|x| *x = good(1), "");
    let marks = "Mk1=Stimulus,S  1,701,1,0\nMk2=Stimulus,S  2,1301,1,0\n";
    exact.write(
        "p2.vmrk",
        format!("Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\n{marks}"),
    );
    let loaded = exact.load("files:m.toml", &[]).unwrap();
    assert_eq!(loaded.duplicates.iter().map(|d| (d.first.0, d.second.0)).collect::<Vec<_>>(), [(1, 2)]);
    assert_eq!(
        loaded.findings.iter().map(|problem| problem.kind).collect::<Vec<_>>(),
        [ProblemKind::Doubled]
    );
}

#[test]
fn issue_19_a_trigger_channel_with_the_name_of_an_electrode_is_refused() {
    let place = Place::new();
    let mut manifest = EVENTS.to_string();
    for subject in 1..=3 {
        let mut samples = good(subject);
        let events: Vec<(usize, &str)> = (0..8).map(|i| (100 + 450 * i, ["S  1", "S  2"][i % 2])).collect();
        // Two bits of a pulse, in microvolts as amplifiers save them.
        samples[2 * LENGTH..].fill(0.0);
        for (i, (at, _)) in events.iter().enumerate() {
            samples[2 * LENGTH + at..][..4].fill(if i % 2 == 0 { 0.5 } else { 1.5 });
        }
        place.signal(&format!("p{subject}"), &NAMES, &events, 100.0, &samples);
        manifest += &format!("[[recording]]\nfile = \"p{subject}.vhdr\"\nsubject = {subject}\n");
    }
    place.write("m.toml", &manifest);
    let (error, hint) = place.refused("files:m.toml", &[]);
    assert!(error.contains("channels hold triggers") && error.contains("channel `C4` of S01"), "{error}");
    assert!(hint.contains("pick"), "{hint}");
    let report = checked(&place);
    let trigger = report.problems.iter().find(|problem| problem.kind == ProblemKind::Trigger).unwrap();
    assert!(trigger.damage && trigger.cases[0].detail == "channel `C4`", "{trigger:#?}");
    let picked = EVENTS.replace("[pipeline]", "[pipeline]\npick = { names = [\"C3\", \"Cz\"] }");
    place.write("m.toml", manifest.replace(EVENTS, &picked));
    let loaded = place.source("files:m.toml", &[]).unwrap().load(None, None).unwrap();
    assert_eq!(loaded.trials.len(), 24);
}

#[test]
fn issue_19_loading_tells_what_check_finds_also_from_the_cache() {
    let place = cohort(|x| x.iter_mut().for_each(|x| *x *= 1e-6), "");
    let cache = ptsm_data::Cache::open(&place.at("cache")).unwrap();
    let options = LoadOptions { cache: Some(&cache), ..LoadOptions::default() };
    for _ in 0..2 {
        let source = place.source("files:m.toml", &[]).unwrap();
        let loaded = source.load_with(None, None, ptsm_data::arrays::LabelHandling::Own, &options).unwrap();
        assert_eq!(loaded.findings, checked(&place).problems);
        assert_eq!(loaded.findings[0].kind, ProblemKind::Scale);
    }
}

#[test]
fn odd_scales_are_reported() {
    for (factor, says) in [
        (1e-6, "right for volts"),
        (1e-2, "too small for microvolts"),
        (1e3, "counts of the amplifier"),
        (30.0, "uV, others"),
        (1.0 / 15.0, "uV, others"),
    ] {
        let problem = only(&cohort(|x| x.iter_mut().for_each(|x| *x *= factor), ""), ProblemKind::Scale);
        assert!(!problem.damage && problem.cases[0].detail.contains(says), "{factor} {problem:#?}");
    }
    // A manifest that says the unit mends it.
    let place = cohort(|x| x.iter_mut().for_each(|x| *x *= 1e-6), "");
    let text = std::fs::read_to_string(place.at("m.toml")).unwrap();
    place.write("m.toml", text.replace("subject = 2\n", "subject = 2\nunit = \"V\"\n"));
    assert!(checked(&place).problems.is_empty());
}

#[test]
fn odd_rates_are_reported() {
    let place = cohort(|_| (), "");
    let text = std::fs::read_to_string(place.at("m.toml")).unwrap();
    place.write("m.toml", text.replace("subject = 2\n", "subject = 2\nrate_hz = 128\n"));
    let problem = only(&place, ProblemKind::Rate);
    assert_eq!(problem.cases[0].detail, "128 Hz, 3 of 4 have 100 Hz");
}

#[test]
fn flat_channels_are_reported_with_their_share_of_trial_time() {
    let problem = only(&cohort(|x| x[2 * LENGTH..].fill(3.0), ""), ProblemKind::Flat);
    assert_eq!(problem.cases[0].detail, "C4 (100 %)");
    // One of eight trials.
    let problem = only(&cohort(|x| x[95..310].fill(3.0), ""), ProblemKind::Flat);
    assert_eq!(problem.cases[0].detail, "C3 (12 %)");
}

#[test]
fn stillness_between_trials_is_nobodys_fault() {
    // Trials last from 100 to 300, 550 to 750 and so on.
    let report = checked(&cohort(|x| x[310..540].fill(3.0), ""));
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
}

#[test]
fn clipped_channels_are_reported() {
    let clip = |x: &mut Vec<f32>| {
        // A slow wave that is cut off at both ends.
        for (t, x) in x[LENGTH..2 * LENGTH].iter_mut().enumerate() {
            *x = (*x * 0.1 + 60.0 * (TAU * 0.5 * t as f32 / 100.0).sin()).clamp(-50.0, 50.0);
        }
    };
    let report = checked(&cohort(clip, ""));
    let clipped = report.problems.iter().find(|p| p.kind == ProblemKind::Clipped).unwrap();
    assert!(clipped.cases.len() == 1 && clipped.cases[0].detail.starts_with("Cz ("), "{clipped:#?}");
    assert!(!report.damaged());
}

#[test]
fn lost_signal_is_reported() {
    let lose = |x: &mut Vec<f32>| (0..3).for_each(|c| x[c * LENGTH + 310..c * LENGTH + 410].fill(0.0));
    let problem = only(&cohort(lose, ""), ProblemKind::Zeros);
    assert_eq!(problem.cases[0].detail, "1.0 s, from 3.1 s on");
}

#[test]
fn gaps_and_trials_that_do_not_fit_are_reported() {
    let place = cohort(|_| (), "");
    let marks = std::fs::read_to_string(place.at("p2.vmrk")).unwrap();
    place.write("p2.vmrk", format!("{marks}Mk20=New Segment,,1,1,0,20200101000000000000\nMk21=New Segment,,201,1,0,20200101010000000000\n"));
    let report = checked(&place);
    let found: Vec<_> =
        report.problems.iter().map(|p| (p.kind, &*p.cases[0].detail, p.cases[0].subject)).collect();
    let second = Some(SubjectId(2));
    assert_eq!(found, [(ProblemKind::Gaps, "1 gap", second), (ProblemKind::Short, "1 of 8 trials", second)]);
    assert_eq!((report.subjects[1].short, report.subjects[1].trials.clone()), (1, vec![3, 4]));
}

#[test]
fn events_and_classes_are_counted() {
    let place = cohort(|_| (), "");
    place.write(
        "p2.vmrk",
        "Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\nMk1=Stimulus,S  1,100,1,0\nMk2=Response,R  7,150,1,0\n",
    );
    let problem = only(&place, ProblemKind::NoTrial);
    assert_eq!(problem.cases[0].detail, "no trial of `right`");
    let report = checked(&place);
    let others: Vec<_> = report.other_events.iter().map(|o| (&*o.code, o.events, o.recordings)).collect();
    assert_eq!(others, [("Response/R  7", 1, 1)]);
    let text = std::fs::read_to_string(place.at("m.toml")).unwrap();
    place.write("m.toml", text.replace("[0.0, 2.0]", "[0.0, 20.0]"));
    assert!(checked(&place).problems.iter().any(|p| p.kind == ProblemKind::Overlap && p.cases.len() == 3));
}

#[test]
fn labels_and_files_are_reported_only_on_request() {
    let place = Place::new();
    for (subject, seed) in [("mueller", 1), ("schmidt", 2), ("weber", 1)] {
        let name = format!("d/sub-{subject}/eeg/sub-{subject}_task-x_eeg");
        place.signal(&name, &NAMES, &[(100, "S  1"), (900, "S  2")], 100.0, &good(seed));
    }
    let quiet = checked_as(&place, "bids:d", None, false);
    assert_eq!(quiet.problems[0].kind, ProblemKind::Doubled);
    let text = format!("{quiet:?}");
    assert!(!text.contains("mueller") && !text.contains("weber"), "{text}");
    let report = checked_as(&place, "bids:d", None, true);
    assert_eq!(
        report.subjects.iter().filter_map(|p| p.label.as_deref()).collect::<Vec<_>>(),
        ["mueller", "schmidt", "weber"]
    );
    assert!(report.problems[0].cases[0].place.contains("sub-weber_task-x_eeg.vhdr"));
}

#[test]
fn progress_counts_recordings() {
    let place = cohort(|_| (), "");
    let Source::Recordings(recordings) = place.source("files:m.toml", &[]).unwrap() else {
        panic!("no recordings")
    };
    let heard = std::sync::Mutex::new(vec![]);
    let progress = |done: usize, all: usize| heard.lock().unwrap().push((done, all));
    let options = LoadOptions { progress: Some(&progress), ..LoadOptions::default() };
    check(&recordings, None, false, &options).unwrap();
    let mut heard = heard.into_inner().unwrap();
    heard.sort();
    assert_eq!(heard, [(1, 4), (2, 4), (3, 4), (4, 4)]);
}

#[test]
fn names_of_files_that_are_missing_or_damaged_are_reported_only_on_request() {
    let place = cohort(|_| (), "[[recording]]\nfile = \"p5.vhdr\"\nsubject = 5\n");
    std::fs::remove_file(place.at("p3.eeg")).unwrap();
    for id in ["files:m.toml", "bids:d"] {
        if id == "bids:d" {
            for subject in ["p3", "p4"] {
                let name = format!("d/sub-{subject}/eeg/sub-{subject}_task-x_eeg");
                place.signal(&name, &NAMES, &[(100, "S  1"), (900, "S  2")], 100.0, &good(1));
            }
            std::fs::remove_file(place.at("d/sub-p3/eeg/sub-p3_task-x_eeg.eeg")).unwrap();
            place.write("d/sub-p5/eeg/sub-p5_task-x_eeg.edf", "/annex/objects/MD5E-s1--abc.edf\n");
        }
        let quiet = checked_as(&place, id, None, false);
        let kinds: Vec<_> = quiet.problems.iter().take(2).map(|problem| problem.kind).collect();
        assert_eq!(kinds, [ProblemKind::Missing, ProblemKind::Unreadable]);
        let text = format!("{:?} {:?}", quiet.problems, quiet.notes);
        assert!(!text.contains("p3") && !text.contains("p5"), "{text}");
        assert!(text.contains("*.vhdr: its samples are not there; looked for `*.eeg`"), "{text}");
        let problems = format!("{:?}", checked_as(&place, id, None, true).problems);
        assert!(problems.contains("p5") && problems.contains("p3"), "{problems}");
    }
}

#[test]
fn files_of_subjects_nobody_requested_may_be_missing() {
    let more = "[[recording]]\nfile = \"gone.vhdr\"\nsubject = 1\nrun = 2\n";
    let place = cohort(|_| (), more);
    let missing = |subjects| {
        let report = checked_as(&place, "files:m.toml", subjects, false);
        report.problems.iter().filter(|p| p.kind == ProblemKind::Missing).count()
    };
    assert_eq!((missing(None), missing(Some("1-2")), missing(Some("2-4"))), (1, 1, 0));
    let source = place.source("files:m.toml", &[]).unwrap();
    let notes = |list: &str| source.load(None, Some(&list.parse().unwrap())).unwrap().notes;
    assert!(notes("1")[0].contains("1 files of subjects who are there are missing") && notes("2").is_empty());
}

#[test]
fn a_check_works_with_the_threads_it_is_given_and_stops_on_request() {
    let place = cohort(|_| (), "");
    let Source::Recordings(recordings) = place.source("files:m.toml", &[]).unwrap() else {
        panic!("no recordings")
    };
    let threads = std::sync::Mutex::new(std::collections::BTreeSet::new());
    let progress = |_: usize, _: usize| {
        threads.lock().unwrap().insert(rayon::current_num_threads());
    };
    let options = LoadOptions {
        threads: Some(3),
        memory: Some(1),
        progress: Some(&progress),
        ..LoadOptions::default()
    };
    check(&recordings, None, false, &options).unwrap();
    assert_eq!(threads.into_inner().unwrap(), [3].into());
    let options = LoadOptions { stop: Some(&|| true), ..LoadOptions::default() };
    assert!(matches!(check(&recordings, None, false, &options), Err(ptsm_data::Error::Stopped)));
    let added = ptsm_data::add_folder(place.root(), Some(&place.at("n.toml")), false, &options);
    assert!(matches!(added, Err(ptsm_data::Error::Stopped)));
}

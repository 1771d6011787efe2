//! BCI Competition IV in the competition's GDF files.

use std::path::Path;

use ptsm_io::mat::Value;

use super::common::{bare, found, load, notes, paths, refused, save, whose};
use super::gdf_made::{self, File, MadeSignal};

const RATE: usize = 250;
/// Labels as the files have them: most of them say nothing.
const LABELS: [&str; 25] = [
    "EEG-Fz",
    "EEG-0",
    "EEG-1",
    "EEG-2",
    "EEG-3",
    "EEG-4",
    "EEG-5",
    "EEG-C3",
    "EEG-6",
    "EEG-Cz",
    "EEG-7",
    "EEG-C4",
    "EEG-8",
    "EEG-9",
    "EEG-10",
    "EEG-11",
    "EEG-12",
    "EEG-13",
    "EEG-14",
    "EEG-Pz",
    "EEG-15",
    "EEG-16",
    "EOG-left",
    "EOG-central",
    "EOG-right",
];

/// A sample of a channel.
fn value(channel: usize, at: usize) -> i16 {
    ((at * (channel + 3) * 37) % 211) as i16 - 105
}

/// A file with these events, missing samples where they should be.
fn save_gdf(
    path: &Path,
    labels: &[&'static str],
    seconds: usize,
    events: &[(usize, u16)],
    missing: &[std::ops::Range<usize>],
) {
    let sample = |channel: usize, at: usize| {
        if missing.iter().any(|gap| gap.contains(&at)) { i16::MIN } else { value(channel, at) }
    };
    let signal = |(c, label): (usize, &&'static str)| -> MadeSignal {
        let record = |second: usize| (0..RATE).map(|i| sample(c, second * RATE + i)).collect();
        let records: Vec<Vec<i16>> = (0..seconds).map(record).collect();
        gdf_made::counts(label, &records.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    let mut file = File::new("2.20", labels.iter().enumerate().map(signal).collect());
    let rows: Vec<gdf_made::Row> = events.iter().map(|&(at, code)| (at as u32 + 1, code, 0, 0)).collect();
    file.events = gdf_made::table("2.20", 3, RATE as f32, &rows);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, file.bytes()).unwrap();
}

/// A calibration run and two runs of two trials, 100 missing samples between them.
fn events(cues: [u16; 4]) -> Vec<(usize, u16)> {
    let mut all = vec![(0, 32766), (0, 276)];
    for (run, start) in [(0, 600), (1, 5700)] {
        all.push((start, 32766));
        for trial in 0..2 {
            let at = start + 250 + trial * 2000;
            all.extend([(at, 768), (at + 500, cues[2 * run + trial])]);
        }
    }
    all.push((5700 + 250, 1023));
    all
}

const MISSING: [std::ops::Range<usize>; 2] = [500..600, 5600..5700];
const SECONDS: usize = 43;

fn save_2a(path: &Path, cues: [u16; 4]) {
    save_gdf(path, &LABELS, SECONDS, &events(cues), &MISSING);
}

fn save_labels(path: &Path, labels: &[f64]) {
    save(path, &[("classlabel", &Value::matrix(vec![labels.len(), 1], labels.to_vec()))]);
}

#[test]
fn training_files_tell_their_classes() {
    let folder = tempfile::tempdir().unwrap();
    save_2a(&folder.path().join("BCICIV_2a_gdf/A01T.gdf"), [769, 770, 771, 772]);
    let id = "bci-iv-2a";
    let loaded = load(id, folder.path(), &[], Some(&bare([0.0, 4.0]))).unwrap();
    assert_eq!(
        whose(&loaded),
        [(1, 1, 1, "left_hand"), (1, 1, 1, "right_hand"), (1, 1, 2, "feet"), (1, 1, 2, "tongue")]
    );
    let layout = loaded.trials.layout();
    let names: Vec<&str> = layout.channels.iter().map(|c| &*c.name).collect();
    assert_eq!((names.len(), names[0], names[1], names[21]), (22, "Fz", "FC3", "POz"));
    assert_eq!(loaded.trials.signal(0)[0], f32::from(value(0, 600 + 250 + 500)));
    assert_eq!(loaded.trials.signal(3)[21 * 1000], f32::from(value(21, 5700 + 2250 + 500)));
    // Nothing odd but the other session: the cue comes when it should.
    let missing = Path::new("BCICIV_2a_gdf/A01E.gdf").display();
    let note = format!("1 files of subjects who are there are missing; the first is {missing}");
    assert_eq!(loaded.notes, [note]);
    let usual = load(id, folder.path(), &[("artifacts", "drop")], None).unwrap();
    assert_eq!(whose(&usual).len(), 3);
    assert!(
        notes(&usual).contains("A01T.gdf: 1 trials that an expert annotated as artefacts are left out"),
        "{}",
        notes(&usual)
    );
    assert_eq!(paths(&found(id, folder.path(), &[])), [Path::new("BCICIV_2a_gdf/A01E.gdf")]);
}

#[test]
fn missing_samples_are_never_part_of_a_trial() {
    let folder = tempfile::tempdir().unwrap();
    // A gap inside the first run, between its trials and reaching into the second one's start.
    let gaps = [500..600, 2900..3000, 5600..5700];
    save_gdf(&folder.path().join("A01T.gdf"), &LABELS, SECONDS, &events([769, 770, 771, 772]), &gaps);
    let id = "bci-iv-2a";
    let whole = load(id, folder.path(), &[], Some(&bare([0.0, 4.0]))).unwrap();
    assert_eq!(whole.trials.len(), 4);
    assert_eq!(whole.trials.signal(1)[0], f32::from(value(0, 600 + 2250 + 500)));
    let with_start = load(id, folder.path(), &[], Some(&bare([-2.0, 4.0]))).unwrap();
    assert_eq!(whose(&with_start).iter().map(|t| t.3).collect::<Vec<_>>(), ["left_hand", "feet", "tongue"]);
    assert!(notes(&with_start).contains("1 trials reach past the end"), "{}", notes(&with_start));
    // Filters do not see what is missing: values stay small.
    let filtered = load(id, folder.path(), &[("pipeline", "broadband")], None).unwrap();
    assert_eq!(filtered.trials.len(), 4);
    let largest = filtered.trials.to_vec().into_iter().fold(0.0f32, |a, x| a.max(x.abs()));
    assert!(largest < 20.0, "{largest}");
    // A cue in a gap begins nothing.
    save_gdf(
        &folder.path().join("A01T.gdf"),
        &LABELS,
        SECONDS,
        &events([769, 770, 771, 772]),
        std::slice::from_ref(&(1300..1400)),
    );
    let loaded = load(id, folder.path(), &[], Some(&bare([0.0, 1.0]))).unwrap();
    assert_eq!(loaded.trials.len(), 3);
    assert!(notes(&loaded).contains("A01T.gdf: 1 cues come where samples are missing"), "{}", notes(&loaded));
}

#[test]
fn evaluation_files_take_labels_from_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let id = "bci-iv-2a";
    save_2a(&folder.path().join("A01E.gdf"), [783; 4]);
    // Without labels nothing can be learnt, but decoded.
    let error = load(id, folder.path(), &[], Some(&bare([0.0, 1.0]))).unwrap_err();
    assert!(error.to_string().contains("no recording has a trial of its classes"), "{error}");
    let classes = ["a", "b"].map(String::from);
    let source = ptsm_data::Source::Recordings(super::common::recordings(id, folder.path(), &[]));
    let label_handling = ptsm_data::arrays::LabelHandling::Unlabelled(&classes);
    assert_eq!(source.load_as(Some(&bare([0.0, 1.0])), None, label_handling).unwrap().trials.len(), 4);
    let item = &found(id, folder.path(), &[]).items[0];
    let recordings = super::common::recordings(id, folder.path(), &[]);
    let parts = recordings.set().read(item, recordings.options(), &bare([0.0, 1.0])).unwrap();
    let ptsm_data::catalogue::SignalData::Recording(recording) = &parts[0].signal else {
        panic!("no recording")
    };
    assert_eq!(recording.events[0].code, ptsm_data::catalogue::UNKNOWN);
    assert!(
        parts[0].notes[0].contains("the classes of 4 trials are in a file `A01E.mat`"),
        "{:?}",
        parts[0].notes
    );

    let labels = folder.path().join("true_labels/A01E.mat");
    save_labels(&labels, &[4.0, 3.0, 2.0, 1.0]);
    let there = found(id, folder.path(), &[]);
    assert_eq!(there.items[0].files, [folder.path().join("A01E.gdf"), labels.clone()]);
    let loaded = load(id, folder.path(), &[("artifacts", "drop")], Some(&bare([0.0, 1.0]))).unwrap();
    // Rejected trials are counted: the third is left out with its label.
    assert_eq!(whose(&loaded), [(1, 2, 1, "tongue"), (1, 2, 1, "feet"), (1, 2, 2, "left_hand")]);

    save_labels(&labels, &[4.0, 3.0, 2.0]);
    let (error, _) = refused(id, folder.path(), &[]);
    assert!(error.contains("A01E.mat: holds 3 labels for 4 cues of A01E.gdf"), "{error}");
    save_labels(&labels, &[4.0, 3.0, 2.0, 5.0]);
    let (error, _) = refused(id, folder.path(), &[]);
    assert!(error.contains("`classlabel` is no list of classes 1 to 4"), "{error}");
    save_2a(&folder.path().join("A01E.gdf"), [769, 783, 783, 783]);
    save_labels(&labels, &[4.0, 3.0, 2.0, 1.0]);
    let (error, _) = refused(id, folder.path(), &[]);
    assert!(error.contains("calls trial 1 class 4, the recording class 1"), "{error}");
}

#[test]
fn five_sessions_of_2b_and_when_the_cue_comes() {
    let folder = tempfile::tempdir().unwrap();
    let id = "bci-iv-2b";
    let labels = ["EEG:C3", "EEG:Cz", "EEG:C4", "EOG:ch01", "EOG:ch02", "EOG:ch03"];
    let trial = |delay: usize, cue: u16| [(0, 32766), (250, 768), (250 + delay, cue)];
    save_gdf(&folder.path().join("B0101T.gdf"), &labels, 12, &trial(750, 770), &[]);
    save_gdf(&folder.path().join("B0104E.gdf"), &labels, 12, &trial(750, 783), &[]);
    save_labels(&folder.path().join("labels/B0104E.mat"), &[1.0]);
    let loaded = load(id, folder.path(), &[], None).unwrap();
    assert_eq!(whose(&loaded), [(1, 1, 1, "right_hand"), (1, 4, 1, "left_hand")]);
    assert!(notes(&loaded).contains("the cue comes 3 s after the start of a trial, as GDF files tell"));
    assert_eq!(
        paths(&found(id, folder.path(), &[])),
        ["B0102T.gdf", "B0103T.gdf", "B0105E.gdf"].map(Path::new)
    );
    assert_eq!(found(id, folder.path(), &[("session", "4")]).items.len(), 1);
    save_gdf(&folder.path().join("B0101T.gdf"), &labels, 12, &trial(500, 770), &[]);
    let loaded = load(id, folder.path(), &[], None).unwrap();
    let notes = notes(&loaded);
    assert!(
        notes.contains("B0101T.gdf: the cue comes 2.00 to 2.00 s after the start of a trial, not 3 s"),
        "{notes}"
    );
}

#[test]
fn matlab_files_come_first_where_both_are_there() {
    let Some(folder) = super::common::tree(&[("mat/A01T.mat", "bnci/A01T.mat")]) else { return };
    save_2a(&folder.path().join("gdf/A01T.gdf"), [769, 770, 771, 772]);
    save_2a(&folder.path().join("gdf/A02T.gdf"), [769, 770, 771, 772]);
    save_labels(&folder.path().join("true_labels/A02T.mat"), &[1.0, 2.0, 3.0, 4.0]);
    let there = found("bci-iv-2a", folder.path(), &[("session", "T")]);
    let first: Vec<_> = there.items.iter().map(|item| item.files[0].file_name().unwrap()).collect();
    assert_eq!(first, ["A01T.mat", "A02T.gdf"]);
    assert!(there.notes.iter().any(|note| note.contains("the MATLAB ones are read")), "{:?}", there.notes);
    assert!(there.missing.is_empty());
}

#[test]
fn files_of_something_else_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A01T.gdf");
    let id = "bci-iv-2a";
    save_gdf(&path, &LABELS[..6], 12, &[(0, 768), (500, 769)], &[]);
    let (error, hint) = refused(id, folder.path(), &[]);
    assert!(error.contains("A01T.gdf: has 6 signals, not 22 electrodes and 3 of the eyes"), "{error}");
    assert!(hint.contains("another data set"), "{hint}");
    let mut labels = LABELS;
    labels.swap(0, 7);
    save_gdf(&path, &labels, 12, &[(0, 768), (500, 769)], &[]);
    let (error, _) = refused(id, folder.path(), &[]);
    assert!(error.contains("has `EEG-C3` as signal 1, not `Fz`"), "{error}");
    save_gdf(&path, &LABELS, 12, &[(0, 768)], &[]);
    let (error, _) = refused(id, folder.path(), &[]);
    assert!(error.contains("has no cue"), "{error}");
    let Some(fixtures) = super::common::tree(&[("gdf/v2.20.gdf", "A01T.gdf")]) else { return };
    let (error, _) = refused(id, fixtures.path(), &[]);
    assert!(error.contains("has 3 signals"), "{error}");
}

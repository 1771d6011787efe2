//! KU Leuven auditory attention: the fixtures, and made files in the published structure.

use ptsm_io::mat::{Numbers, Value};
use ptsm_signal::{Pipeline, SubjectId};

use super::common::{bare, found, load, noise, notes, refused, save, text, texts, tree, whose, with_field};

const ID: &str = "kul-aad";

/// A trial as the published files have it.
fn trial(id: u32, ear: &str, experiment: u32, seconds: usize) -> Value {
    let rows = 128 * seconds;
    let eeg = noise(u64::from(id), rows * 64).iter().map(|&x| x as f32).collect();
    let numbers =
        |dims: &[usize], real| Value::Array { dims: dims.to_vec(), real, imaginary: None, logical: false };
    let one = |number: u32| Value::row(vec![f64::from(number)]);
    let channels = numbers(&[1, 64], Numbers::U8((1..=64).collect()));
    let raw = vec![("Channels", channels), ("EegData", numbers(&[rows, 64], Numbers::F32(eeg)))];
    let (track, stimuli) = if ear == "L" { (1, [1, 2]) } else { (2, [1, 2]) };
    let stimuli = stimuli.map(|track| format!("part1_track{track}_dry.wav"));
    Value::record(vec![
        ("RawData", Value::record(raw)),
        ("FileHeader", Value::record(vec![("SampleRate", one(128))])),
        ("TrialID", one(id)),
        ("attended_ear", text(ear)),
        ("stimuli", texts(&[&stimuli[0], &stimuli[1]])),
        ("condition", text("HRTF")),
        ("experiment", one(experiment)),
        ("part", one(1)),
        ("attended_track", one(track)),
        ("repetition", one(0)),
        ("subject", text("S3")),
    ])
}

fn trials() -> Vec<Value> {
    vec![trial(4, "L", 1, 12), trial(2, "R", 2, 11), trial(9, "L", 3, 10)]
}

fn folder_of(variable: &str, trials: Vec<Value>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let cells = Value::Cell { dims: vec![1, trials.len()], values: trials };
    save(&folder.path().join("S3.mat"), &[(variable, &cells)]);
    folder
}

fn header(fields: Vec<(&str, Value)>) -> Option<Value> {
    let rate = [("SampleRate", Value::row(vec![128.0]))];
    Some(Value::record(rate.into_iter().chain(fields).collect()))
}

#[test]
fn the_fixtures_become_windows_of_their_trials() {
    let Some(folder) = tree(&[("mat/S1.mat", "S1.mat"), ("mat/S2.mat", "S2.mat")]) else { return };
    let loaded = load(ID, folder.path(), &[], Some(&bare([0.0, 1.0]))).unwrap();
    assert_eq!(loaded.trials.layout().classes, ["left", "right"]);
    let of = |subject| {
        [(subject, 1, 1, "left"), (subject, 1, 1, "left"), (subject, 1, 2, "right"), (subject, 1, 2, "right")]
    };
    assert_eq!(whose(&loaded), [of(1), of(2)].concat());
    let layout = loaded.trials.layout();
    assert_eq!((layout.channels.len(), layout.samples, layout.rate_hz), (64, 128, 128.0));
    assert_eq!((&*layout.channels[0].name, &*layout.channels[47].name), ("Fp1", "Cz"));
    // Packed and unpacked files hold the same.
    for first in [0, 4] {
        assert!((loaded.trials.signal(first)[0] + 1.103).abs() < 1e-5);
        assert!((loaded.trials.signal(first + 3)[63 * 128 + 127] - 0.092).abs() < 1e-5);
        assert_eq!(loaded.trials.info()[first + 1].cue_s, 1.0);
    }
    assert!(notes(&loaded).contains("S2.mat: says it is of `S1`"), "{}", notes(&loaded));
    let usual = load(ID, folder.path(), &[], None).unwrap();
    assert_eq!((usual.trials.len(), usual.trials.layout().samples), (8, 128));
    let two = load(ID, folder.path(), &[("window", "2")], None).unwrap();
    assert_eq!((two.trials.len(), two.trials.layout().samples), (4, 256));
}

#[test]
fn windows_and_experiments_are_chosen() {
    let folder = folder_of("trials", trials());
    for (window, windows) in [("1", [12, 11, 10]), ("2", [6, 5, 5]), ("5", [2, 2, 2])] {
        for (experiments, kept) in [("12", 2), ("all", 3)] {
            let with = [("window", window), ("experiments", experiments)];
            let loaded = load(ID, folder.path(), &with, None).unwrap();
            assert_eq!(loaded.trials.len(), windows[..kept].iter().sum::<usize>(), "{with:?}");
            // Trials keep their own numbers, so that their windows stay together.
            let mut runs: Vec<_> =
                whose(&loaded).into_iter().map(|(_, _, run, class)| (run, class)).collect();
            runs.dedup();
            assert_eq!(runs, [(4, "left"), (2, "right"), (9, "left")][..kept]);
            assert_eq!(loaded.notes, <[String; 0]>::default());
        }
    }
    let loaded = load(ID, folder.path(), &[("channels", "no-frontal")], None).unwrap();
    assert_eq!(loaded.trials.layout().channels.len(), 45);
    // A decoder's own window counts, without overlap.
    let pipeline = Pipeline { window_s: [0.0, 3.0], ..bare([0.0, 3.0]) };
    let loaded = load(ID, folder.path(), &[], Some(&pipeline)).unwrap();
    assert_eq!(loaded.trials.len(), 4 + 3);
    assert!(notes(&loaded).contains("windows are of 3 s, as the pipeline says, not of 1 s"));
}

#[test]
fn channels_have_the_names_of_the_header_or_the_order_of_the_cap() {
    let mut order: Vec<&str> = "Fp1 AF7 AF3 F1 F3 F5 F7 FT7 FC5 FC3 FC1 C1 C3 C5 T7 TP7 CP5 CP3 CP1 P1 P3 P5 P7 P9 PO7 PO3 O1 Iz Oz \
         POz Pz CPz Fpz Fp2 AF8 AF4 AFz Fz F2 F4 F6 F8 FT8 FC6 FC4 FC2 FCz Cz C2 C4 C6 T8 TP8 CP6 CP4 CP2 P2 P4 P6 P8 P10 PO8 PO4 O2"
        .split(' ')
        .collect();
    let labelled = |labels: &[&str]| {
        let values = labels.iter().flat_map(|label| [text(label), Value::row(vec![1.0])]).collect();
        let fields = vec!["Label".to_string(), "Gain".to_string()];
        let channels = Value::Struct { dims: vec![1, labels.len()], fields, values };
        header(vec![("ChannelCount", Value::row(vec![64.0])), ("Channels", channels)])
    };
    let names = |header: Option<Value>| {
        let folder = folder_of("trials", vec![with_field(&trials()[0], "FileHeader", header)]);
        let loaded = load(ID, folder.path(), &[], Some(&bare([0.0, 1.0]))).unwrap();
        let names: Vec<String> = loaded.trials.layout().channels.iter().map(|c| c.name.clone()).collect();
        (names, notes(&loaded))
    };
    assert_eq!(names(header(vec![])), (order.iter().map(|n| n.to_string()).collect(), String::new()));
    order.reverse();
    assert_eq!(names(labelled(&order)), (order.iter().map(|n| n.to_string()).collect(), String::new()));
    let numbered: Vec<String> = (1..=64).map(|i| format!("A{i}")).collect();
    let (found, notes) = names(labelled(&numbered.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!((&*found[0], &*found[47]), ("Fp1", "Cz"));
    assert!(notes.contains("its labels are not those of the 64 electrodes (`A1`, `A2`, `A3`)"), "{notes}");
}

#[test]
fn preprocessed_files_are_read_at_their_own_rate() {
    let slow: Vec<Value> = trials()
        .iter()
        .map(|trial| {
            let header = Value::record(vec![("SampleRate", Value::row(vec![32.0]))]);
            let trial = with_field(trial, "FileHeader", Some(header));
            let Value::Struct { dims, mut fields, mut values } = trial else { panic!("no struct") };
            fields.push("Envelope".into());
            values.push(Value::record(vec![("AudioData", Value::row(vec![0.0; 9]))]));
            Value::Struct { dims, fields, values }
        })
        .collect();
    let folder = folder_of("preproc_trials", slow);
    let error = load(ID, folder.path(), &[], None).unwrap_err();
    assert!(
        error.to_string().contains("`preproc_trials` has 32 Hz, too few for a band up to 32 Hz"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("--with pipeline=preprocessed"));
    let loaded = load(ID, folder.path(), &[("pipeline", "preprocessed")], None).unwrap();
    assert_eq!((loaded.trials.layout().rate_hz, loaded.trials.layout().samples), (32.0, 32));
    assert_eq!(loaded.trials.len(), 48 + 44);
    assert!(notes(&loaded).contains("as the authors' script preprocessed them"), "{}", notes(&loaded));

    // Published files come first where both are there.
    let raw = folder_of("trials", trials());
    std::fs::create_dir(raw.path().join("preprocessed_data")).unwrap();
    std::fs::copy(folder.path().join("S3.mat"), raw.path().join("preprocessed_data/S3.mat")).unwrap();
    let there = found(ID, raw.path(), &[]);
    assert_eq!(there.items[0].files, [raw.path().join("S3.mat")]);
    assert_eq!(there.doubled, [(SubjectId(3), raw.path().join("S3.mat"))]);
    assert!(there.notes_of(|_| true)[0].contains("1 file is there more than once"));
    assert!(there.notes_of(|subject| subject != SubjectId(3)).is_empty());
}

#[test]
fn other_rates_are_resampled() {
    let header = Value::record(vec![("SampleRate", Value::row(vec![256.0]))]);
    let folder = folder_of("trials", vec![with_field(&trials()[0], "FileHeader", Some(header))]);
    let loaded = load(ID, folder.path(), &[], None).unwrap();
    assert_eq!((loaded.trials.len(), loaded.trials.layout().samples), (6, 128));
}

#[test]
fn what_contradicts_is_noted_or_refused() {
    let with = |field: &str, value: Option<Value>| {
        let mut trials = trials();
        trials[1] = with_field(&trials[1], field, value);
        folder_of("trials", trials)
    };
    for (field, value, says) in [
        ("attended_ear", Some(text("B")), "`trials{2}.attended_ear` is the text `B`, not `L` or `R`"),
        ("attended_ear", None, "`trials{2}` has no field `attended_ear`; it has `RawData`"),
        ("experiment", Some(Value::row(vec![4.0])), "`trials{2}.experiment` is 4, not 1, 2 or 3"),
        ("RawData", None, "has no field `RawData`"),
        (
            "RawData",
            Some(Value::record(vec![("EegData", Value::matrix(vec![64, 256], vec![0.0; 64 * 256]))])),
            "`trials{2}.RawData.EegData` is 64 x 256, not samples by 64 channels",
        ),
        ("FileHeader", Some(Value::record(vec![])), "`trials{2}.FileHeader` has no field `SampleRate`"),
    ] {
        let (error, hint) = refused(ID, with(field, value).path(), &[]);
        assert!(error.contains("S3.mat: ") && error.contains(says), "{error}");
        assert!(!hint.is_empty());
    }
    for (field, value, says) in [
        (
            "attended_track",
            Some(Value::row(vec![1.0])),
            "trial 2: track 1 is at the left ear, `attended_ear` says right",
        ),
        ("condition", Some(text("wet")), "trial 2: condition is `wet`, not `HRTF` or `dry`"),
        ("TrialID", Some(Value::row(vec![4.0])), "trials have no numbers of their own"),
        ("TrialID", None, "trials have no numbers of their own"),
    ] {
        let loaded = load(ID, with(field, value).path(), &[], Some(&bare([0.0, 1.0]))).unwrap();
        assert!(notes(&loaded).contains(says), "{}", notes(&loaded));
        let numbered = whose(&loaded).iter().any(|(_, _, run, _)| *run == 4);
        assert_eq!(numbered, field != "TrialID");
    }
    // Too short for a window, and nothing else.
    let short = trial(2, "R", 2, 0);
    let loaded = load(ID, folder_of("trials", vec![trials()[0].clone(), short]).path(), &[], None).unwrap();
    assert!(notes(&loaded).contains("trial 2: too short for a window"), "{}", notes(&loaded));
}

#[test]
fn a_file_of_another_data_set_is_refused() {
    let Some(folder) = tree(&[("mat/A01T.mat", "S1.mat")]) else { return };
    let (error, hint) = refused(ID, folder.path(), &[]);
    assert!(error.contains("S1.mat: has no variable `trials` or `preproc_trials`; it has `data`"), "{error}");
    assert!(hint.contains("another data set"), "{hint}");
}

#[test]
fn notes_of_a_file_without_a_selected_trial_are_reported() {
    let folder = folder_of("trials", vec![trial(9, "L", 3, 10)]);
    let cells = Value::Cell { dims: vec![1, 3], values: trials() };
    save(&folder.path().join("S4.mat"), &[("trials", &cells)]);
    let loaded = load(ID, folder.path(), &[], Some(&bare([0.0, 1.0]))).unwrap();
    assert!(loaded.trials.subjects().len() == 1 && loaded.trials.len() == 23, "{}", loaded.trials.len());
    let notes = notes(&loaded);
    assert!(notes.contains("S3.mat: no trial is of the experiments that were chosen"), "{notes}");
    assert!(notes.contains("1 recordings have no trial"), "{notes}");
}

#[test]
fn what_the_authors_script_wrote_is_not_taken_for_the_published_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("preprocessed_data")).unwrap();
    let made = folder_of("preproc_trials", trials());
    std::fs::copy(made.path().join("S3.mat"), folder.path().join("preprocessed_data/S3.mat")).unwrap();
    let recordings = super::common::recordings(ID, folder.path(), &[]);
    assert_eq!(found(ID, folder.path(), &[]).items.len(), 1);
    let one = "3".parse().unwrap();
    let download = ptsm_data::download::Download::plan(&recordings, Some(&one)).unwrap();
    assert_eq!(download.files()[0].found, None);
}

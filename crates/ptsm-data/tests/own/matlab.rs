//! MATLAB files as people save them: epochs in any order of dimensions, structs, cells, labels inside of the matrix.

use std::fs;

use ptsm_data::check::check;
use ptsm_data::{AddReport, LoadOptions, Source, add_folder};
use ptsm_io::mat::{self, Value};

use crate::common::{Place, channels, labels, noise, plain};

const EPOCHS: usize = 12;
const CHANNELS: usize = 3;
const SAMPLES: usize = 110;

fn add(place: &Place) -> ptsm_data::Result<AddReport> {
    add_folder(&place.at("d"), None, true, &LoadOptions::default())
}

/// A place with a folder `d`.
fn folder() -> Place {
    let place = Place::new();
    fs::create_dir(place.at("d")).unwrap();
    place
}

/// Epochs `[n, C, T]`.
fn epochs(seed: u64) -> Vec<f32> {
    noise(EPOCHS, CHANNELS * SAMPLES, seed)
}

/// The same as MATLAB has them, in an order of dimensions.
fn array(x: &[f32], order: [char; 3]) -> Value {
    let size = |axis: char| match axis {
        'n' => EPOCHS,
        'c' => CHANNELS,
        _ => SAMPLES,
    };
    let mut numbers = vec![];
    for k in 0..size(order[2]) {
        for j in 0..size(order[1]) {
            for i in 0..size(order[0]) {
                let at = |axis: char| [i, j, k][order.iter().position(|own| *own == axis).unwrap()];
                numbers.push(f64::from(x[(at('n') * CHANNELS + at('c')) * SAMPLES + at('t')]));
            }
        }
    }
    Value::matrix(order.map(size).to_vec(), numbers)
}

fn classes() -> Vec<f64> {
    (0..EPOCHS).map(|at| (at % 2 + 1) as f64).collect()
}

fn text(text: &str) -> Value {
    Value::Text(vec![text.into()])
}

fn cell(values: Vec<Value>) -> Value {
    Value::Cell { dims: vec![1, values.len()], values }
}

fn manifest(place: &Place, mat: &str) {
    place.write(
        "d/d.toml",
        format!(
            "[events]\nleft = [1]\nright = [2]\n[mat]\n{mat}\n[[recording]]\nfile = \"S1.mat\"\nsubject = 1\n"
        ),
    );
}

fn first(loaded: &ptsm_data::LoadedData) -> &[f32] {
    loaded.trials.signal(0)
}

#[test]
fn issue_19_epochs_of_any_order_are_added_checked_and_read() {
    for order in ["nct", "ctn", "tcn", "ntc", "cnt", "tnc"] {
        let order: [char; 3] = order.chars().collect::<Vec<_>>().try_into().unwrap();
        let place = folder();
        for subject in 1..=2 {
            let variables = [
                ("X", &array(&epochs(subject), order)),
                ("y", &Value::matrix(vec![EPOCHS, 1], classes())),
                ("fs", &Value::row(vec![100.0])),
                ("index", &Value::row((0..EPOCHS).map(|at| at as f64).collect())),
            ];
            mat::write(&place.at(&format!("d/S{subject}.mat")), &variables).unwrap();
        }
        let added = add(&place).unwrap();
        let codes: Vec<_> = added.events.iter().map(|code| (&*code.code, code.events)).collect();
        assert_eq!((added.recordings, codes), (2, vec![("1", 12), ("2", 12)]), "{order:?}");
        let written = fs::read_to_string(&added.manifest).unwrap();
        assert!(written.contains("\nlabels = \"y\"\n") && written.contains("\naxes = ["), "{written}");
        // The pipeline is spelled out as far as epochs have one.
        assert!(written.contains("\n#window_s = [0.0, 1.1]\n") && !written.contains("#band"), "{written}");
        let source = place.source("files:d/d.toml", &[]).unwrap();
        let loaded = source.load(Some(&plain()), None).unwrap();
        assert_eq!(loaded.trials.len(), 2 * EPOCHS);
        assert_eq!(labels(&loaded)[..3], ["1", "2", "1"]);
        let expected: Vec<f32> =
            epochs(1)[..CHANNELS * SAMPLES].chunks(SAMPLES).flat_map(|c| &c[..100]).copied().collect();
        assert_eq!(first(&loaded), expected, "{order:?}");
        // Counts of epochs per class.
        let Source::Recordings(recordings) = source else { panic!("no recordings") };
        let report = check(&recordings, None, false, &LoadOptions::default()).unwrap();
        assert_eq!(report.subjects[0].trials, [6, 6], "{order:?}");
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}

#[test]
fn issue_19_dimensions_are_inferred_or_requested() {
    let place = folder();
    let names = cell(["C3", "Cz", "C4"].map(text).to_vec());
    let variables = [
        (
            "EEG",
            &Value::record(vec![
                ("data", array(&epochs(1), ['c', 't', 'n'])),
                ("info", Value::record(vec![("chan", names), ("rate", Value::row(vec![100.0]))])),
            ]),
        ),
        ("labels", &cell((0..EPOCHS).map(|at| text(["left", "right"][at % 2])).collect())),
    ];
    mat::write(&place.at("d/S1.mat"), &variables).unwrap();
    let events = |mat: &str| {
        manifest(&place, mat);
        let text = fs::read_to_string(place.at("d/d.toml")).unwrap();
        place.write("d/d.toml", text.replace("[1]", "\"left\"").replace("[2]", "\"right\""));
    };
    let rest = "samples = \"EEG.data\"\nlabels = \"labels\"\nrate = \"EEG.info.rate\"\nunit = \"uV\"\n";
    // Labels and names of channels say enough.
    events(&format!("{rest}channels = \"EEG.info.chan\"\nstart_s = -0.1\n"));
    let loaded = place.source("files:d/d.toml", &[]).unwrap().load(None, None).unwrap();
    assert_eq!((channels(&loaded), loaded.trials.layout().start_s), (vec!["C3", "Cz", "C4"], -0.1));
    assert_eq!((loaded.trials.len(), loaded.trials.layout().samples), (EPOCHS, SAMPLES));
    assert_eq!(labels(&loaded)[..2], ["left", "right"]);
    // Labels alone do not.
    events(rest);
    let (error, hint) = place.refused("files:d/d.toml", &[]);
    assert!(error.contains("`EEG.data` is 3 x 110 x 12, and it is not said which dimension"), "{error}");
    assert!(hint.contains("axes = [\"channels\", \"time\", \"trials\"]"), "{hint}");
    for (mat, says) in [
        (format!("{rest}axes = [\"channels\", \"time\"]"), "`axes` names 2 dimensions"),
        (
            format!("{rest}axes = [\"time\", \"channels\", \"trials\"]\nchannels = [\"a\", \"b\"]"),
            "2 names of channels do not fit its 110",
        ),
        (format!("{rest}axes = [\"trials\", \"time\", \"channels\"]"), "has 12 labels for 3 epochs"),
        (
            "samples = \"EEG.data\"\naxes = [\"channels\", \"time\", \"trials\"]\nrate = 100".into(),
            "it is not said what its 12 epochs are of; the file has `EEG` (1 x 1 struct of data, info), `EEG.data` (3 x 110 x 12)",
        ),
        (rest.replace("EEG.data", "EEG.dat"), "has no `EEG.dat`: `EEG` has the fields `data`, `info`"),
        (rest.replace("EEG.data", "EGG"), "has no variable `EGG`; it has `EEG`"),
        (rest.replace("EEG.data", "EEG..x"), "`EEG..x` is no place in a MATLAB file"),
    ] {
        events(&mat);
        let (error, hint) = place.refused("files:d/d.toml", &[]);
        assert!(error.contains(says) && !hint.is_empty(), "{mat}\n{error}");
    }
}

/// Two channels and a row of labels below them.
fn with_row(rows: bool) -> (Vec<f32>, Value) {
    let x = noise(2, 1000, 9);
    let mark = |t: usize| if (100..120).contains(&(t % 200)) { (t / 200 % 2 + 1) as f64 } else { 0.0 };
    let number = |c: usize, t: usize| if c < 2 { f64::from(x[c * 1000 + t]) } else { mark(t) };
    let value = match rows {
        true => Value::matrix(
            vec![3, 1000],
            (0..1000).flat_map(|t| (0..3).map(move |c| (c, t))).map(|(c, t)| number(c, t)).collect(),
        ),
        false => Value::matrix(
            vec![1000, 3],
            (0..3).flat_map(|c| (0..1000).map(move |t| (c, t))).map(|(c, t)| number(c, t)).collect(),
        ),
    };
    (x, value)
}

#[test]
fn issue_19_a_row_of_labels_inside_of_the_matrix_is_no_channel() {
    for (rows, triggers) in [(true, "y(3,:)"), (false, "y(:,3)")] {
        let place = folder();
        let (x, y) = with_row(rows);
        let record = Value::record(vec![("y", y), ("srate", Value::row(vec![100.0]))]);
        mat::write(&place.at("d/S1.mat"), &[("session", &record)]).unwrap();
        let added = add(&place).unwrap();
        let written = fs::read_to_string(&added.manifest).unwrap();
        for part in [
            "inside = \"session\"",
            &format!("triggers = \"{triggers}\""),
            "channels = [\"ch1\", \"ch2\"]",
            "rate = \"srate\"",
        ] {
            assert!(written.contains(&format!("\n{part}\n")), "{part}\n{written}");
        }
        let loaded = place.load("files:d/d.toml", &[]).unwrap();
        assert_eq!((labels(&loaded).len(), channels(&loaded)), (5, vec!["ch1", "ch2"]));
        assert_eq!(first(&loaded)[..100], x[100..200]);
        // The last of a dimension is `end`, and the names of all rows may be given.
        let end = if rows { "end,:" } else { ":,end" };
        manifest(
            &place,
            &format!(
                "samples = \"session.y\"\ntriggers = \"session.y({end})\"\nrate = 100\nchannels = [\"C3\", \"C4\", \"label\"]"
            ),
        );
        assert_eq!(channels(&place.load("files:d/d.toml", &[]).unwrap()), ["C3", "C4"]);
    }
}

/// Runs in cells with onsets and labels, as the BCI competitions have them at BNCI, the first without any trial.
#[test]
fn issue_19_cells_of_structs_are_recordings_of_one_file() {
    let place = folder();
    let run = |seed: u64, trials: usize| {
        let x = noise(2, 1000, seed).into_iter().map(f64::from).collect();
        let list = |f: &dyn Fn(usize) -> f64| {
            Value::matrix(vec![trials, usize::from(trials > 0)], (0..trials).map(f).collect())
        };
        Value::record(vec![
            ("X", Value::matrix(vec![1000, 2], x)),
            ("trial", list(&|at| (101 + 200 * at) as f64)),
            ("y", list(&|at| (at % 2 + 1) as f64)),
            ("fs", Value::row(vec![100.0])),
        ])
    };
    mat::write(&place.at("d/A01T.mat"), &[("data", &cell(vec![run(1, 0), run(2, 4), run(3, 4)]))]).unwrap();
    let added = add(&place).unwrap();
    assert_eq!((added.recordings, added.subjects), (2, 1));
    let written = fs::read_to_string(&added.manifest).unwrap();
    for part in [
        "samples = \"X\"",
        "onsets = \"trial\"",
        "labels = \"y\"",
        "mat = { inside = \"data{2}\" }",
        "mat = { inside = \"data{3}\" }",
    ] {
        assert!(written.contains(&format!("\n{part}\n")), "{part}\n{written}");
    }
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    assert_eq!(labels(&loaded), ["1", "2", "1", "2", "1", "2", "1", "2"]);
    assert_eq!(first(&loaded)[..100], noise(2, 1000, 2)[100..200]);
    let runs: Vec<u32> = loaded.trials.info().iter().map(|trial| trial.run).collect();
    assert_eq!(runs, [1, 1, 1, 1, 2, 2, 2, 2]);
    // A recording is of one subject, also by two variables of one file.
    let text = written.replacen("subject = 1", "subject = 2", 1);
    place.write("d/d.toml", text);
    let (error, hint) = place.refused("files:d/d.toml", &[]);
    assert!(
        error.contains("`A01T.mat` is in line")
            && error.contains("of subject")
            && hint.contains("one subject"),
        "{error}"
    );
}

/// Channels x time x classes x blocks, as benchmarks of SSVEP are published.
#[test]
fn a_dimension_of_classes_tells_the_labels() {
    let place = folder();
    let numbers: Vec<f64> = noise(1, 2 * 100 * 3 * 4, 3).into_iter().map(f64::from).collect();
    mat::write(&place.at("d/S1.mat"), &[("data", &Value::matrix(vec![2, 100, 3, 4], numbers))]).unwrap();
    manifest(
        &place,
        "samples = \"data\"\naxes = [\"channels\", \"time\", \"classes\", \"trials\"]\nrate = 100\nunit = \"uV\"",
    );
    let loaded = place.load("files:d/d.toml", &[]).unwrap();
    assert_eq!(labels(&loaded), ["left", "left", "left", "left", "right", "right", "right", "right"]);
    manifest(&place, "samples = \"data\"\nrate = 100");
    let (error, hint) = place.refused("files:d/d.toml", &[]);
    assert!(error.contains("is 2 x 100 x 3 x 4") && hint.contains("\"classes\""), "{error} {hint}");
}

#[test]
fn issue_19_what_is_not_recognised_is_listed_with_a_way_to_npz() {
    let place = folder();
    let variables =
        [("X", &array(&epochs(1), ['n', 'c', 't'])), ("info", &Value::record(vec![("who", text("me"))]))];
    mat::write(&place.at("d/S1.mat"), &variables).unwrap();
    let error = add(&place).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("`X` has three dimensions and no labels") && said.contains("`X` (12 x 3 x 110)"),
        "{said}"
    );
    assert!(said.contains("`info.who` (text)"), "{said}");
    let hint = error.hint().unwrap();
    assert!(hint.contains("scipy.io.loadmat") && hint.contains("numpy.savez(\"trials.npz\""), "{hint}");
}

/// A row of numbers.
fn row(numbers: impl Iterator<Item = usize>) -> Value {
    Value::row(numbers.map(|number| number as f64).collect())
}

/// Numbers of an array of any sizes.
fn numbers(dims: &[usize]) -> Value {
    let values = noise(1, dims.iter().product(), 7).into_iter().map(f64::from).collect();
    Value::matrix(dims.to_vec(), values)
}

#[test]
fn counters_of_samples_and_trials_are_no_onsets() {
    let labels = || row((0..20).map(|at| at % 2 + 1));
    for (name, onsets, rate, is_onsets) in [
        ("t", row(1..2001), Some(100.0), false),
        ("trial", row(1..21), Some(100.0), false),
        ("trial", row(1..21), None, false),
        // Every tenth of a second is a clock, every fifth can be flashes.
        ("pos", row((0..20).map(|at| 1 + 10 * at)), Some(100.0), false),
        ("pos", row((0..20).map(|at| 1 + 20 * at)), Some(100.0), true),
        ("pos", row((0..20).map(|at| 1 + 11 * at)), None, true),
    ] {
        let place = folder();
        let (data, labels) = (numbers(&[3, 2000]), labels());
        let fs_hz = Value::row(rate.into_iter().collect());
        let mut variables = vec![("data", &data), (name, &onsets), ("labels", &labels)];
        variables.extend(rate.map(|_| ("fs", &fs_hz)));
        mat::write(&place.at("d/S1.mat"), &variables).unwrap();
        let added = add(&place).unwrap();
        let written = fs::read_to_string(&added.manifest).unwrap();
        assert_eq!(written.contains("\nonsets = "), is_onsets, "{name} {rate:?}\n{written}");
        let events: usize = added.events.iter().map(|code| code.events).sum();
        assert_eq!(events, if is_onsets { 20 } else { 0 }, "{name} {rate:?}");
    }
}

#[test]
fn what_could_be_another_is_reported_and_remarked() {
    let place = folder();
    let (x, fs_hz) = (numbers(&[20, 200, 20]), Value::row(vec![100.0]));
    let (block, answer) = (row((0..20).map(|at| 1 + at / 5)), row((0..20).map(|at| at % 2)));
    for subject in 1..=2 {
        let variables = [("X", &x), ("block", &block), ("answer", &answer), ("fs", &fs_hz)];
        mat::write(&place.at(&format!("d/S{subject}.mat")), &variables).unwrap();
    }
    let added = add(&place).unwrap();
    let written = fs::read_to_string(&added.manifest).unwrap();
    for line in [
        "axes = [\"channels\", \"time\", \"trials\"]  # or [\"trials\", \"time\", \"channels\"]: more than one fits",
        "labels = \"answer\"  # or \"block\": more than one fits",
    ] {
        assert!(written.contains(&format!("\n{line}\n")), "{line}\n{written}");
    }
    assert_eq!(added.notes.len(), 2, "{:?}", added.notes);
    assert!(
        added.notes[0]
            .starts_with("`axes` of 2 of 2 recordings is not certain: of S1.mat, [\"channels\", \"time\"")
            && added.notes[0].contains("[\"trials\", \"time\", \"channels\"] would fit too"),
        "{:?}",
        added.notes
    );
    assert!(added.notes[1].contains("\"answer\" is taken and \"block\" would fit too"), "{:?}", added.notes);
    // A recording that is unlike the others has its own remark.
    let other = numbers(&[20, 20, 300]);
    mat::write(&place.at("d/S3.mat"), &[("X", &other), ("y", &answer), ("fs", &fs_hz)]).unwrap();
    let written = fs::read_to_string(&add(&place).unwrap().manifest).unwrap();
    assert!(
        written.contains(
            "\n# `axes` [\"trials\", \"channels\", \"time\"] or [\"channels\", \"trials\", \"time\"]: more"
        ),
        "{written}"
    );
    assert!(place.source("files:d/d.toml", &[]).is_ok());
}

#[test]
fn arrays_of_four_dimensions_are_reported_with_an_example() {
    for beside in [None, Some(numbers(&[1, 250]))] {
        let place = folder();
        let data = numbers(&[2, 250, 3, 4]);
        let mut variables = vec![("data", &data)];
        variables.extend(beside.iter().map(|times| ("times", times)));
        mat::write(&place.at("d/S1.mat"), &variables).unwrap();
        let error = add(&place).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("`data` is 2 x 250 x 3 x 4, and it is not said")
                && said.contains("`axes = [\"channels\", \"time\", \"classes\", \"trials\"]`"),
            "{said}"
        );
        assert!(error.hint().unwrap().contains("samples = \"data\""), "{:?}", error.hint());
    }
}

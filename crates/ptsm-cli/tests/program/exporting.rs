//! `data export`: epochs as a decoder sees them, for others and for ourselves.

use ptsm::io::npy::{Array, Data};
use ptsm::io::npz;

use crate::common::{Case, Place, QUICK, check};

const SOURCE: &str = "--data files:cohort/recordings.toml";

/// Recordings of five simulated subjects.
fn place() -> Place {
    let place = Place::new();
    place
        .ptsm("data simulate --out cohort --format edf --subjects 5 --sessions 1 --runs 2 --trials 8 --channels C3,Cz,C4 --rate 100")
        .succeed();
    place
}

/// The arrays of a file by name.
fn arrays(place: &Place, file: &str) -> Vec<(String, Array)> {
    let mut archive = npz::read(&place.path(file)).unwrap();
    let mut names = archive.names();
    names.sort();
    names.into_iter().map(|name| (name.clone(), archive.array(&name).unwrap())).collect()
}

fn array(place: &Place, file: &str, name: &str) -> Array {
    arrays(place, file).into_iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}")).1
}

fn floats(array: Array) -> Vec<f32> {
    let Data::F32(values) = array.into_data() else { panic!("not f32") };
    values
}

fn text(place: &Place, file: &str) -> String {
    String::from_utf8(place.read(file)).unwrap()
}

/// What is read again is the same to the bit, filtered, scaled and aligned once and not twice; subjects stay recognised.
#[test]
fn exported_arrays_are_the_same_when_they_are_read_again() {
    let place = place();
    let output =
        place.ptsm(&format!("data export {SOURCE} --align euclidean --out one.npz --json")).succeed().json();
    assert_eq!(
        (&output["format"], &output["epochs"], &output["samples"]),
        (&"npz".into(), &80.into(), &400.into())
    );
    assert_eq!((&output["subjects"], &output["unit"]), (&serde_json::json!([1, 2, 3, 4, 5]), &"none".into()));
    assert_eq!(output["task"]["paradigm"], "motor-imagery");
    let keys: Vec<String> = arrays(&place, "one.npz").into_iter().map(|(name, _)| name).collect();
    let expected = "X channels classes cue_s paradigm pipeline positions rate_hz recognised_by run session start_s subject symmetry unit y";
    assert_eq!(keys, expected.split(' ').collect::<Vec<_>>());

    place.ptsm("data export --data one.npz --out two.npz").succeed();
    for (name, array) in arrays(&place, "one.npz").into_iter().filter(|(name, _)| name != "recognised_by") {
        assert_eq!(self::array(&place, "two.npz", &name), array, "{name}");
    }
    // Decoders learn the same from both.
    let scores = |data: &str, options: &str, run: &str| {
        place.ptsm(&format!("train {data} {options} --subjects 1-4 --out {run}")).args(QUICK).succeed();
        place.ptsm(&format!("evaluate {run} {data} --subjects 5 --json")).succeed().json()["records"].clone()
    };
    let strip = |mut records: serde_json::Value| {
        records.as_array_mut().unwrap().iter_mut().for_each(|record| record["data"] = "".into());
        records
    };
    let plain = strip(scores(SOURCE, "--align euclidean", "plain"));
    let again = strip(scores("--data one.npz", "", "again"));
    assert_eq!(plain, again);
    assert_eq!(again[0]["target_access"], plain[0]["target_access"]);
    // A decoder of the recordings decodes the exported epochs as they are, and the other way round.
    let crossed = place.ptsm("evaluate plain --data one.npz --subjects 5 --json").succeed().json();
    assert_eq!(strip(crossed["records"].clone()), plain);
    let crossed = place.ptsm(&format!("evaluate again {SOURCE} --subjects 5 --json")).succeed().json();
    assert_eq!(strip(crossed["records"].clone()), plain);
    check(
        &place,
        &[
            Case::new("evaluate plain --data one.npz --subjects 1", &["trained on S01"], &[]),
            Case::new(
                "train --data one.npz --align riemannian --out x",
                &[
                    "one.npz: its trials are prepared already",
                    "`alignment` was \"euclidean\", \"riemannian\" is expected",
                ],
                &["data export"],
            ),
            Case::new(
                "train --data one.npz --set pipeline.window_s=[0,1] --out x",
                &["`window_s` was [0.0,4.0], [0.0,1.0] is expected"],
                &["data export"],
            ),
        ],
    );
}

/// What a trained decoder sees, whatever the data's own pipeline is.
#[test]
fn a_runs_pipeline_is_applied() {
    let place = place();
    let pipeline = "--align riemannian --set pipeline.window_s=[0.5,2]";
    place.ptsm(&format!("train {SOURCE} --subjects 1-4 {pipeline} --out run")).args(QUICK).succeed();
    place.ptsm(&format!("data export {SOURCE} --subjects 5 {pipeline} --out flags.npz")).succeed();
    place.ptsm(&format!("data export {SOURCE} --subjects 5 --run run --out run.npz")).succeed();
    assert_eq!(array(&place, "run.npz", "X").shape(), [16, 3, 150]);
    for (name, array) in arrays(&place, "flags.npz") {
        assert_eq!(self::array(&place, "run.npz", &name), array, "{name}");
    }
}

#[test]
fn tables_have_a_row_for_every_sample() {
    let place = place();
    place.ptsm(&format!("data export {SOURCE} --subjects 2,4 --out one.npz")).succeed();
    let output = place.ptsm(&format!("data export {SOURCE} --subjects 2,4 --out one.csv")).succeed();
    assert_eq!(output.stdout, "32 epochs of 2 subjects, 3 x 400 samples at 100 Hz: one.csv\n");
    let table = text(&place, "one.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("subject,session,run,epoch,label,time_s,C3,Cz,C4"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 32 * 400);
    assert!(rows.iter().all(|row| row.len() == 9 && ["2", "4"].contains(&row[0])));
    // Sample 7 of epoch 20, channel 1.
    let row = &rows[20 * 400 + 7];
    assert_eq!((row[3], row[5]), ("20", "0.07"));
    assert_eq!(row[7].parse::<f32>().unwrap(), floats(array(&place, "one.npz", "X"))[(20 * 3 + 1) * 400 + 7]);
}

#[test]
fn epochs_for_mne_hold_volts_or_say_that_they_do_not() {
    let place = place();
    let raw = "--subjects 1-2 --set pipeline.scaling=none";
    place.ptsm(&format!("data export {SOURCE} {raw} --out raw.npz")).succeed();
    let output = place.ptsm(&format!("data export {SOURCE} {raw} --out raw-epo.fif --json")).succeed();
    assert_eq!((output.stderr.as_str(), &output.json()["unit"]), ("", &"uV".into()));
    let opened = ptsm::io::open(&place.path("raw-epo.fif")).unwrap();
    let epochs = opened.epochs().unwrap();
    assert_eq!((epochs.codes.len(), epochs.samples, epochs.start_s), (32, 400, 0.0));
    assert!(opened.signals().iter().all(|signal| signal.microvolts));
    let x = floats(array(&place, "raw.npz", "X"));
    let mut read = vec![0.0; 3 * 400];
    opened.read(&[0, 1, 2], 31 * 400, &mut read).unwrap();
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6 * b.abs();
    assert!(read.iter().zip(&x[31 * 3 * 400..]).all(near));
    // Scaled epochs are no volts.
    let output = place.ptsm(&format!("data export {SOURCE} --subjects 1 --out scaled.fif")).succeed();
    assert!(output.stderr.contains("note: these epochs were scaled or aligned"), "{}", output.stderr);
    assert!(output.stderr.contains("end in `-epo.fif`"), "{}", output.stderr);
    assert!(!ptsm::io::open(&place.path("scaled.fif")).unwrap().signals()[0].microvolts);
}

/// Neither recordings nor what belongs to them is replaced by what is made of them.
#[test]
fn recordings_that_are_read_are_not_written_over() {
    let place = place();
    place
        .ptsm(&format!(
            "data export {SOURCE} --subjects 1 --set pipeline.scaling=none --out cohort/S01-epo.fif"
        ))
        .succeed();
    place
        .ptsm(&format!(
            "data export {SOURCE} --subjects 2 --set pipeline.scaling=none --out cohort/S02-epo.fif"
        ))
        .succeed();
    let manifest = "[events]\nleft = [1]\nright = [2]\n[[recording]]\nfile = \"S01-epo.fif\"\nsubject = 1\n[[recording]]\nfile = \"S02-epo.fif\"\nsubject = 2\n";
    let codes = ptsm::io::open(&place.path("cohort/S01-epo.fif")).unwrap().epochs().unwrap().codes.clone();
    let other = codes.iter().find(|code| **code != codes[0]).unwrap();
    let manifest = manifest.replace("[1]", &format!("{:?}", codes[0])).replace("[2]", &format!("{other:?}"));
    place.write("cohort/ow.toml", manifest);
    let before = place.read("cohort/S01-epo.fif");
    let replaces = |args: &'static str| Case::new(args, &["a part of the data"], &["another folder"]);
    check(
        &place,
        &[
            replaces("data export --data files:cohort/ow.toml --subjects 2 --out cohort/S01-epo.fif"),
            replaces("data export --data files:cohort/ow.toml --out cohort/../cohort/S01-epo.fif"),
        ],
    );
    assert_eq!(place.read("cohort/S01-epo.fif"), before);
    // Tables of events are data too; what lies beside them may be made anew.
    let file = std::fs::read_dir(place.path("cohort")).unwrap().map(|entry| entry.unwrap().path());
    let file = file.filter(|path| path.extension().is_some_and(|e| e == "edf")).min().unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    place.write("cohort/table.csv", "onset,label\n1,a\n6,b\n11,a\n16,b\n");
    place.write(
        "cohort/tables.toml",
        format!("[events]\na = \"a\"\nb = \"b\"\n[[recording]]\nfile = \"{name}\"\nsubject = 1\nevents = \"table.csv\"\n"),
    );
    check(&place, &[replaces("data export --data files:cohort/tables.toml --out cohort/table.csv")]);
    for _ in 0..2 {
        place.ptsm("data export --data files:cohort/tables.toml --out cohort/new.csv").succeed();
    }
}

/// Numbers that were scaled are no microvolts, and nobody wonders at their size.
#[test]
fn scaled_arrays_have_no_unit() {
    let place = place();
    let unit = |file: &str| match array(&place, file, "unit").into_data() {
        Data::Text(text) => text[0].clone(),
        other => panic!("{other:?}"),
    };
    for (options, says) in [
        ("--set pipeline.scaling=none", "uV"),
        ("--set pipeline.scaling=trial_deviation", "arbitrary"),
        ("--set pipeline.scaling=none --align euclidean", "arbitrary"),
    ] {
        place.ptsm(&format!("data export {SOURCE} {options} --out x.npz")).succeed();
        assert_eq!(unit("x.npz"), says, "{options}");
        place.ptsm("data export --data x.npz --out again.npz").succeed();
        for name in ["X", "unit", "pipeline"] {
            assert_eq!(array(&place, "again.npz", name), array(&place, "x.npz", name), "{options}: {name}");
        }
        let checked = place.ptsm("data check x.npz").succeed();
        assert!(
            checked.stdout.contains("nothing is wrong") && checked.stderr.is_empty(),
            "{options}: {checked:?}"
        );
    }
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let place = Place::with_data();
    std::fs::create_dir(place.path("folder")).unwrap();
    std::fs::copy(place.path("a.npz"), place.path("folder/a.npz")).unwrap();
    check(
        &place,
        &[
            Case::new(
                "data export --data a.npz --out x.txt",
                &["x.txt does not say"],
                &[".npz", ".fif", ".csv"],
            ),
            Case::new("data export --data a.npz --out x", &["x does not say"], &[".npz"]),
            Case::new("data export --out x.npz", &["no data is named"], &["--data"]),
            Case::new("data export --data a.npz --out a.npz", &["a part of the data"], &["another folder"]),
            Case::new(
                "data export --data folder --out folder/x.npz",
                &["a part of the data"],
                &["another folder"],
            ),
            Case::new(
                "data export --data a.npz --set training.epochs=3 --out x.npz",
                &["`--set training.epochs=3` is no setting of the pipeline"],
                &["pipeline.window_s"],
            ),
            Case::new("data export --data a.npz --out nowhere/x.npz", &["nowhere/x.npz"], &["path"]),
            Case::new("data export --data a.npz --subjects 99 --out x.npz", &["there is no subject 99"], &[]),
            Case::new(
                "data export --data a.npz --run none --out x.npz",
                &["none does not exist"],
                &["train"],
            ),
            Case::line(
                "data export --data a.npz --run r --align euclidean --out x.npz",
                &["cannot be used with"],
            ),
            Case::line("data export --data a.npz", &["--out <FILE>"]),
        ],
    );
}

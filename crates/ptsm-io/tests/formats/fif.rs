//! FIF files: those MNE wrote (`data/make_fif.py`), the shared fixture, every rule by hand, and damage.

use std::fs;
use std::path::PathBuf;

use ptsm_io::{RecordingFile, Segment, SignalKind};
use serde_json::Value;

use crate::fif_made::{File, parse};
use crate::hostile::{Random, examine, fixture, windows_equal_the_whole};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn open(name: &str) -> RecordingFile {
    ptsm_io::open(&data(name)).unwrap()
}

fn expected(name: &str) -> Value {
    let mut all: Value = serde_json::from_slice(&fs::read(data("fif.json")).unwrap()).unwrap();
    all[name].take()
}

/// One signal, whole.
fn signal(opened: &RecordingFile, i: usize) -> Vec<f32> {
    let mut values = vec![0.0; opened.length()];
    opened.read(&[i], 0, &mut values).unwrap();
    values
}

fn same(values: &[f32], expected: &[f64], what: &str) {
    assert_eq!(values.len(), expected.len(), "{what}");
    for (t, (value, expected)) in values.iter().zip(expected).enumerate() {
        assert!((f64::from(*value) - expected).abs() < 1e-4, "{what} at {t}: {value}, not {expected}");
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn segment(start_s: f64, first: usize, samples: usize) -> Segment {
    Segment { start_s, first, samples }
}

#[test]
fn recordings_are_what_mne_reads() {
    for name in [
        "short_raw.fif",
        "single_raw.fif",
        "double_raw.fif",
        "int_raw.fif",
        "names_raw.fif",
        "joined_raw.fif",
    ] {
        let (opened, expected) = (open(name), expected(name));
        assert_eq!((opened.rate_hz(), opened.format()), (100.0, "FIF"));
        let names: Vec<&str> = opened.signals().iter().map(|s| &*s.name).collect();
        assert_eq!(serde_json::json!(names), expected["names"], "{name}");
        for (i, s) in opened.signals().iter().enumerate() {
            let kind = match expected["kinds"][i].as_str().unwrap() {
                "eeg" => SignalKind::Eeg,
                "eog" => SignalKind::Eog,
                "ecg" => SignalKind::Ecg,
                "emg" => SignalKind::Emg,
                "stim" => SignalKind::Stimulus,
                _ => SignalKind::Other,
            };
            assert_eq!(s.kind, kind, "{name} {}", s.name);
            assert_eq!(s.microvolts, !matches!(kind, SignalKind::Stimulus | SignalKind::Other));
            assert_eq!(s.bad, expected["bads"].as_array().unwrap().contains(&serde_json::json!(s.name)));
            let values = numbers(&expected["values"][i]);
            same(&signal(&opened, i), &values, &format!("{name} {}", s.name));
        }
        windows_equal_the_whole(&opened);
        let annotations = expected["annotations"].as_array().unwrap();
        if annotations.is_empty() {
            let annotations: Vec<_> =
                opened.annotations().iter().map(|m| [m.sample.unwrap(), m.text.parse().unwrap()]).collect();
            assert_eq!(serde_json::json!(annotations), expected["triggers"], "{name}");
        } else {
            let found = opened.annotations();
            assert_eq!(found.len(), annotations.len());
            for (found, annotation) in found.iter().zip(annotations) {
                assert_eq!(found.sample.unwrap() as u64, annotation[0].as_u64().unwrap(), "{name}");
                assert!((found.duration_s - annotation[1].as_f64().unwrap()).abs() < 1e-6);
                assert!((found.onset_s - found.sample.unwrap() as f64 / 100.0).abs() < 1e-5);
                // MNE leaves letters outside of Latin-1 as numbers.
                let text = annotation[2].as_str().unwrap().replace("&#945;&#946;", "αβ");
                assert_eq!(found.text, text);
            }
        }
    }
}

#[test]
fn places_are_directions_and_ranges_those_of_numbers() {
    let opened = open("short_raw.fif");
    let c3 = &opened.signals()[0];
    let position = c3.position.unwrap();
    assert!((position.x + 0.6).abs() < 1e-6 && position.y.abs() < 1e-6 && (position.z - 0.8).abs() < 1e-6);
    assert!(opened.signals()[1..].iter().all(|s| s.position.is_none()));
    let [low, high] = c3.range.unwrap();
    assert!((low + 6553.6).abs() < 1e-3 && (high - 6553.4).abs() < 1e-3);
    assert_eq!(open("single_raw.fif").signals()[0].range, None);
}

#[test]
fn nobody_is_named() {
    let opened = open("short_raw.fif");
    let shown = format!("{opened:?} {:?} {:?} {:?}", opened.signals(), opened.annotations(), opened.notes());
    let held = fs::read(data("short_raw.fif")).unwrap();
    for name in ["Secret", "Somebody"] {
        assert!(held.windows(name.len()).any(|part| part == name.as_bytes()) && !shown.contains(name));
    }
    assert!(!shown.contains("2001") && !shown.contains("981173106"));
}

#[test]
fn skipped_samples_are_a_gap() {
    let (opened, expected) = (open("skip_raw.fif"), expected("skip_raw.fif"));
    assert_eq!(opened.length(), 60);
    assert_eq!(opened.segments(), [segment(0.0, 0, 30), segment(0.5, 30, 30)]);
    // MNE makes zeros of them.
    let with_zeros = numbers(&expected["values"][0]);
    let without = [&with_zeros[..30], &with_zeros[50..]].concat();
    same(&signal(&opened, 0), &without, "C3");
    windows_equal_the_whole(&opened);
    // The annotation that says so is no event; those of the trigger channel are.
    let annotations: Vec<_> = opened.annotations().iter().map(|m| (m.sample, &*m.text)).collect();
    let expected =
        [(Some(10), "5"), (Some(20), "3"), (Some(22), "7"), (None, "BAD_ACQ_SKIP"), (Some(50), "1")];
    assert_eq!(annotations, expected);
    assert!((opened.annotations()[4].onset_s - 0.7).abs() < 1e-9);
    assert!(opened.notes()[0].contains("`STI 014`"));
    assert_eq!(opened.recording(None).unwrap().breaks, [30]);
}

#[test]
fn joined_recordings_are_parted() {
    let opened = open("joined_raw.fif");
    assert_eq!(opened.segments(), [segment(0.0, 0, 25), segment(0.25, 25, 35)]);
}

#[test]
fn trials_are_what_mne_reads() {
    for name in ["single-epo.fif", "double-epo.fif", "late-epo.fif"] {
        let (opened, expected) = (open(name), expected(name));
        let epochs = opened.epochs().unwrap();
        assert_eq!((epochs.samples, opened.length()), (12, 48));
        assert!((epochs.start_s - expected["start_s"].as_f64().unwrap()).abs() < 1e-9);
        assert_eq!(serde_json::json!(epochs.codes), expected["codes"]);
        for channel in 0..2 {
            let values: Vec<f64> = (0..4).flat_map(|k| numbers(&expected["values"][k][channel])).collect();
            same(&signal(&opened, channel), &values, name);
        }
        windows_equal_the_whole(&opened);
        assert_eq!(opened.segments()[2], segment(3.0, 24, 12));
        let annotations: Vec<_> = opened.annotations().iter().map(|m| m.sample).collect();
        let inside = [Some(5), Some(17), Some(29), Some(41)];
        assert_eq!(annotations, if name == "late-epo.fif" { [None; 4] } else { inside });
    }
}

#[test]
fn the_shared_fixture_has_its_expected_values() {
    let Some(path) = fixture("expected.json") else { return };
    let all: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let entry = all.as_array().unwrap().iter().find(|entry| entry["path"] == "fif/t-epo.fif").unwrap();
    let opened = ptsm_io::open(&fixture("fif/t-epo.fif").unwrap()).unwrap();
    let names: Vec<&str> = opened.signals().iter().map(|s| &*s.name).collect();
    assert_eq!(serde_json::json!(names), entry["ch_names"]);
    assert_eq!(opened.rate_hz(), entry["sfreq"].as_f64().unwrap());
    let epochs = opened.epochs().unwrap();
    assert_eq!(epochs.samples as u64, entry["n_samples"].as_u64().unwrap());
    assert!((epochs.start_s - entry["tmin"].as_f64().unwrap()).abs() < 1e-9);
    assert_eq!(serde_json::json!(epochs.codes), entry["expect"]["labels"]);
    assert_eq!(epochs.codes.len() as u64, entry["n_trials"].as_u64().unwrap());
    same(&signal(&opened, 0)[1..2], &[entry["expect"]["X[0,0,1] uV"].as_f64().unwrap()], "first trial");
    same(
        &signal(&opened, 2)[3 * 11 + 10..],
        &[entry["expect"]["X[3,2,10] uV"].as_f64().unwrap()],
        "last trial",
    );
    assert!(opened.notes().is_empty());
}

fn shorts(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_be_bytes()).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_be_bytes()).collect()
}

#[test]
fn parts_may_differ_in_type_and_gaps_may_count_samples() {
    let opened = File::new()
        .info()
        .block(119, |file| {
            file.int(208, 7)
                .int(301, 3)
                .tag(300, 2, &shorts(&[1, 4, 2, 4]))
                .tag(300, 16, &shorts(&[3, 6]))
                .tag(300, 4, &[])
                .int(301, 2)
                .int(303, 5)
                .tag(300, 5, &[4f64.to_be_bytes(), 9f64.to_be_bytes()].concat())
                .tag(300, 4, &floats(&[5.0, 10.0]))
                .int(301, 1)
        })
        .parse()
        .unwrap();
    same(&signal(&opened, 0), &[1.0, 2.0, 3.0, 4.0, 5.0], "C3");
    assert_eq!(signal(&opened, 1), [4.0, 4.0, 6.0, 9.0, 10.0]);
    assert_eq!(opened.segments(), [segment(0.0, 0, 3), segment(1.0, 3, 2)]);
    windows_equal_the_whole(&opened);
    // What a trigger channel has at the beginning of a segment did not begin there.
    let annotations: Vec<_> = opened.annotations().iter().map(|m| (m.sample, m.onset_s, &*m.text)).collect();
    assert_eq!(annotations, [(Some(2), 0.2, "6"), (Some(4), 1.1, "10")]);
    assert_eq!(opened.signals()[0].range, None);
    assert_eq!(opened.notes().len(), 2, "{:?}", opened.notes());
}

#[test]
fn units_have_powers_of_ten() {
    let opened = File::new()
        .block(101, |file| {
            file.float(201, 10.0)
                .channel(2, 1.0, 107, -6, "uV")
                .channel(2, 1.0, 107, -3, "mV")
                .channel(1, 1.0, 112, -15, "fT")
                .channel(2, 0.5, 117, 0, "CSD")
        })
        .block(102, |file| file.tag(300, 4, &floats(&[1.0, 2.0, 3.0, 4.0])))
        .parse()
        .unwrap();
    let seen: Vec<_> = opened
        .signals()
        .iter()
        .enumerate()
        .map(|(i, s)| (&*s.unit, s.microvolts, signal(&opened, i)[0]))
        .collect();
    assert_eq!(seen, [("uV", true, 1.0), ("mV", true, 2000.0), ("T", false, 3e-15), ("V/m2", false, 2.0)]);
}

#[test]
fn annotations_count_from_their_own_date() {
    let onset = |own: Option<f64>, recording: Option<i32>| {
        let opened = File::new()
            .block(101, |file| {
                let file = file.float(201, 10.0).channel(2, 1e-6, 107, 0, "C3");
                match recording {
                    Some(date) => file.tag(204, 3, &[date.to_be_bytes(), [0; 4]].concat()),
                    None => file,
                }
            })
            .block(3810, |file| {
                let file = file.float(3568, 5.0).float(3569, 5.5).tag(206, 10, b"left");
                match own {
                    Some(date) => file.tag(204, 5, &date.to_be_bytes()),
                    None => file,
                }
            })
            .block(102, |file| file.int(208, 40).tag(300, 4, &floats(&[0.0; 30])))
            .parse()
            .unwrap();
        opened.annotations()[0].onset_s
    };
    assert_eq!(onset(Some(1000.0), Some(1000)), 1.0);
    assert_eq!(onset(Some(1001.5), Some(1000)), 2.5);
    assert_eq!(onset(None, None), 1.0);
    assert_eq!(onset(None, Some(1000)), 5.0);
}

#[test]
fn what_is_not_read_says_so() {
    let refused = |name| ptsm_io::open(&data(name)).unwrap_err();
    let error = refused("complex-epo.fif");
    assert!(error.to_string().contains("complex numbers") && error.hint().is_some(), "{error}");
    let error = refused("average-ave.fif");
    assert!(
        error.to_string().contains("neither a recording nor trials") && error.hint().is_some(),
        "{error}"
    );
    let error = parse(&[0x1f, 0x8b, 8, 0]).unwrap_err();
    assert!(error.to_string().contains("gzip") && error.hint().is_some(), "{error}");
    for (role, says) in [(2, "next part is `a_raw-1.fif`"), (1, "previous part is `a_raw-1.fif`")] {
        let split = File::new().info().block(102, |file| {
            file.tag(300, 2, &shorts(&[0; 4]))
                .block(118, |file| file.int(115, role).tag(118, 10, b"a_raw-1.fif").int(117, 1))
        });
        let error = split.parse().unwrap_err();
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
    }
    // A reference to another file that is no part of the recording is well.
    let other = File::new()
        .info()
        .block(118, |file| file.int(115, 3))
        .block(102, |file| file.tag(300, 2, &shorts(&[0; 4])));
    assert!(other.parse().is_ok());
}

fn epochs(matrix: &[u8], of: u32, events: &[i32]) -> File {
    let events: Vec<u8> = events.iter().flat_map(|v| v.to_be_bytes()).collect();
    File::new().info().block(103, |file| {
        file.block(373, |file| {
            file.block(361, |file| file.tag(3561, 3, &events).tag(206, 10, b"left:1"))
                .int(208, -1)
                .int(209, 0)
                .tag(302, of, matrix)
        })
    })
}

#[test]
fn matrices_that_do_not_fit_are_reported() {
    let matrix = |values: usize, sizes: [i32; 4]| {
        let mut bytes = floats(&vec![1.0; values]);
        sizes.iter().for_each(|size| bytes.extend(size.to_be_bytes()));
        bytes
    };
    const FLOATS: u32 = 0x4000_0004;
    let opened = epochs(&matrix(8, [2, 2, 2, 3]), FLOATS, &[5, 0, 1, 25, 0, 9]).parse().unwrap();
    assert_eq!(opened.epochs().unwrap().codes, ["left", "9"]);
    assert_eq!(opened.segments()[1], segment(2.0, 2, 2));
    let event = [5, 0, 1, 25, 0, 1];
    for (bytes, of, events, says) in [
        (matrix(8, [2, 2, 2, 3]), 4, &event[..], "trials are a matrix"),
        (matrix(0, [2, 2, 2, 3])[..12].to_vec(), FLOATS, &event, "trials are a matrix"),
        (matrix(8, [2, 2, 2, 2]), FLOATS, &event, "3 dimensions, not of 2"),
        (matrix(8, [2, -2, 2, 3]), FLOATS, &event, "a matrix [2, -2, 2] is not possible"),
        (matrix(8, [i32::MAX, i32::MAX, i32::MAX, 3]), FLOATS, &event, "does not take the 32 bytes it has"),
        (matrix(7, [2, 2, 2, 3]), FLOATS, &event, "does not take the 28 bytes"),
        (matrix(8, [4, 1, 2, 3]), FLOATS, &event, "does not fit 2 channels"),
        (matrix(0, [2, 2, 0, 3]), FLOATS, &[], "holds no trial"),
        (matrix(12, [3, 2, 2, 3]), FLOATS, &event, "samples -1 to 0 are not those of a matrix [2, 2, 3]"),
        (
            matrix(8, [2, 2, 2, 3]),
            FLOATS,
            &event[..3],
            "3 numbers of events are not three for each of 2 trials",
        ),
        (matrix(8, [2, 2, 2, 3]), 0x4000_0063, &event, "type 99 are unknown"),
    ] {
        let error = epochs(&bytes, of, events).parse().unwrap_err();
        assert!(error.to_string().starts_with("a.fif") && error.to_string().contains(says), "{error}");
    }
}

#[test]
fn lies_are_reported_with_their_place() {
    let good = || File::new().info().block(102, |file| file.tag(300, 2, &shorts(&[0; 4])));
    assert!(good().parse().unwrap().notes().is_empty());
    // An end that is missing is told.
    assert!(parse(&good().0).unwrap().notes()[0].contains("may be incomplete"));
    // The second tag begins at byte 36; its size is at 44, the place of the next at 48.
    let with = |at: usize, value: i32| {
        let mut bytes = good().end();
        bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
        parse(&bytes).unwrap_err()
    };
    for (at, value, says) in [
        (44, -1, "a.fif, byte 36: tag 101 claims -1 bytes"),
        (44, i32::MIN, "byte 36: tag 101 claims"),
        (44, i32::MAX, "byte 52: 2147483647 bytes are expected here"),
        (48, 36, "byte 36: the tags lead in a circle"),
        (48, 1, "byte 17: 5120 bytes are expected here"),
        (48, -2, "byte 36: the tag after this one is said to be at byte -2"),
        (48, i32::MAX, "is past the end"),
        (0, 99, "does not begin as a FIF file does"),
    ] {
        let error = with(at, value);
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
    }
    let channels = |count, says: &str| {
        let file = File::new()
            .block(101, |file| file.int(200, count).float(201, 10.0).channel(2, 1.0, 107, 0, "C3"));
        let error = file.block(102, |file| file.tag(300, 2, &shorts(&[0; 4]))).parse().unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    };
    channels(i32::MAX, "byte 76: says 2147483647 channels, the file describes 1");
    channels(0, "says 0 channels");
    channels(-1, "not a number of things");
    let mut deep = File::new();
    for _ in 0..100 {
        deep = deep.int(104, 900);
    }
    assert!(deep.parse().unwrap_err().to_string().contains("more than 64 blocks"));
    for (file, says) in [
        (File::new(), "describes no channel"),
        (File::new().info(), "neither a recording nor trials"),
        (File::new().info().block(102, |file| file.tag(300, 2, &[])), "holds no samples"),
        (
            File::new().info().block(102, |file| file.tag(300, 2, &[0; 6])),
            "6 bytes are no whole number of samples",
        ),
        (File::new().info().block(102, |file| file.tag(300, 20, &[0; 16])), "complex"),
        (File::new().info().block(102, |file| file.int(301, -5)), "not a number of things"),
        (File::new().block(101, |file| file.tag(203, 30, &[0; 95])), "described in 96 bytes, not in 95"),
        (
            File::new().block(101, |file| file.channel(2, 0.0, 107, 0, "C3")),
            "`C3` has the impossible scale 0",
        ),
        (File::new().block(101, |file| file.channel(2, 1.0, 107, 99, "C3")), "10 to the power 99"),
        (
            File::new().block(101, |file| file.channel(2, 1.0, 107, 0, "C3").float(201, 0.0)),
            "impossible rate 0 Hz",
        ),
    ] {
        let error = file.parse().unwrap_err();
        assert!(error.to_string().starts_with("a.fif") && error.to_string().contains(says), "{error}");
    }
}

#[test]
fn gaps_of_any_length_take_no_memory() {
    let file = File::new().info().block(102, |file| {
        let file = file.int(208, i32::MAX).tag(300, 2, &shorts(&[0; 4]));
        file.int(301, i32::MAX).int(303, i32::MAX).tag(300, 2, &shorts(&[0; 4]))
    });
    let opened = file.parse().unwrap();
    assert_eq!(opened.length(), 4);
    assert!(opened.segments()[1].start_s > 6e8);
}

#[test]
fn a_noisy_trigger_channel_has_no_events() {
    let values: Vec<i16> = (0..2_200_000).flat_map(|i: i32| [0, (i % 2) as i16]).collect();
    let file = File::new().info().block(102, |file| file.tag(300, 2, &shorts(&values)));
    let opened = file.parse().unwrap();
    assert!(opened.annotations().is_empty() && opened.notes()[0].contains("`STI101` changes too often"));
}

/// All files of this folder, and the shared one.
fn files() -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(data("")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "fif"));
    paths.extend(fixture("fif/t-epo.fif"));
    paths.sort();
    assert!(paths.len() >= 12);
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn cut_short_anywhere() {
    for bytes in files() {
        (0..bytes.len()).for_each(|length| examine(parse(&bytes[..length])));
    }
}

#[test]
fn random_damage() {
    let mut random = Random(2);
    for bytes in files() {
        for _ in 0..3000 {
            examine(parse(&random.damage(&bytes)));
        }
    }
}

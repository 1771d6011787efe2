//! EDF and BDF: the fixtures, and each rule of the formats on bytes made by hand.

use ptsm_io::{Bytes, RecordingFile, SignalKind, edf};

use crate::edf_made::{File, MadeSignal, counts, counts24, texts};
use crate::shared::{annotations, expected, nowhere, signal};

fn opened(file: &File) -> RecordingFile {
    edf::parse(Bytes::from(file.bytes()), &nowhere()).unwrap()
}

#[test]
fn the_fixtures_hold_what_they_should() {
    for (path, entry) in expected("edf/") {
        let opened = edf::open(&path).unwrap();
        let path = path.display();
        assert_eq!(opened.format(), entry["format"], "{path}");
        assert_eq!(opened.notes(), <[String; 0]>::default(), "{path}");
        let names: Vec<&str> = opened.signals().iter().map(|signal| &*signal.name).collect();
        assert_eq!(serde_json::json!(names), entry["ch_names"], "{path}");
        for (i, signal) in opened.signals().iter().enumerate() {
            let own = |one: &str, each: &str| {
                let value = if entry[one].is_null() { &entry[each][i] } else { &entry[one] };
                value.as_f64().unwrap()
            };
            assert_eq!(signal.rate_hz, own("sfreq", "sfreq_per_channel"), "{path}");
            assert_eq!(signal.samples as f64, own("n_samples", "n_samples_per_channel"), "{path}");
            assert!(signal.microvolts);
        }
        let tolerance = entry["tolerance"].as_f64().unwrap_or(1e-4);
        for sample in entry["samples"].as_array().unwrap() {
            let (i, at) = (sample[0].as_u64().unwrap() as usize, sample[1].as_u64().unwrap() as usize);
            // Values stand in the file's unit.
            let factor = if opened.signals()[i].unit == "mV" { 1000.0 } else { 1.0 };
            let (got, expected) = (f64::from(signal(&opened, i)[at]), sample[2].as_f64().unwrap());
            assert!(
                (got / factor - expected).abs() <= tolerance,
                "{path}, signal {i}, sample {at}: {got}, {expected}"
            );
        }
        let got: Vec<_> = opened.annotations().iter().map(|m| (m.onset_s, m.duration_s, &*m.text)).collect();
        let expected: Vec<(f64, f64, &str)> = entry["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| (e[0].as_f64().unwrap(), e[1].as_f64().unwrap(), e[2].as_str().unwrap()))
            .collect();
        assert_eq!(got, expected, "{path}");
        assert!(opened.annotations().iter().all(|annotation| annotation.sample.is_some()));
        if let Some(segments) = entry["segments"].as_array() {
            let got: Vec<_> = opened.segments().iter().map(|s| (s.start_s, s.first, s.samples)).collect();
            let expected: Vec<_> = segments
                .iter()
                .map(|s| {
                    (s[0].as_f64().unwrap(), s[1].as_u64().unwrap() as usize, s[2].as_u64().unwrap() as usize)
                })
                .collect();
            assert_eq!(got, expected);
            assert_eq!(
                opened.annotations().iter().map(|m| m.sample.unwrap()).collect::<Vec<_>>(),
                [50, 225, 350]
            );
            assert_eq!(opened.recording(None).unwrap().breaks, [200]);
        } else {
            assert_eq!(opened.segments().len(), 1);
        }
    }
}

#[test]
fn signals_of_another_rate_stay_apart() {
    for (path, _) in expected("edf/mixed") {
        let opened = edf::open(&path).unwrap();
        assert_eq!((opened.rate_hz(), opened.main(), opened.electrodes()), (100.0, &[0][..], vec![0]));
        assert_eq!(opened.signals()[1].kind, SignalKind::Other);
        let whole = [signal(&opened, 0), signal(&opened, 1)];
        // Both at once, over the border of a record.
        let mut both = vec![0.0; 2 * 30];
        opened.read(&[1, 0], 15, &mut both).unwrap();
        assert_eq!((&both[..30], &both[30..]), (&whole[1][15..45], &whole[0][15..45]));
        assert!(opened.recording(Some(&[0, 1])).unwrap_err().to_string().contains("`Resp` has another rate"));
    }
}

#[test]
fn any_window_is_the_same_part_of_the_whole() {
    let records: Vec<Vec<i16>> = (0..5).map(|r| (0..7).map(|i| r * 100 + i).collect()).collect();
    let records: Vec<&[i16]> = records.iter().map(|r| &**r).collect();
    let opened = opened(&File::edf("", vec![counts("C3", &records), counts("C4", &records)]));
    let whole = signal(&opened, 1);
    assert_eq!(whole[..8], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0]);
    for first in 0..35 {
        for n in 0..=35 - first {
            let mut part = vec![-1.0; 2 * n];
            opened.read(&[1, 0], first, &mut part).unwrap();
            assert_eq!(part, [&whole[first..first + n], &whole[first..first + n]].concat());
        }
        assert!(opened.read(&[0], first, &mut vec![0.0; 36 - first]).is_err());
    }
}

#[test]
fn names_and_dates_are_not_kept() {
    let opened = opened(&File::edf("", vec![counts("C3", &[&[1, 2]])]));
    let all = format!("{opened:?} {:?} {:?} {:?}", opened.signals(), opened.annotations(), opened.notes());
    assert!(
        !all.contains("Harry") && !all.contains("Sony") && !all.contains("1951") && !all.contains("2002")
    );
}

#[test]
fn the_number_of_records_is_what_is_there() {
    let mut file = File::edf("", vec![counts("C3", &[&[1, 2], &[3, 4], &[5, 6]])]);
    assert_eq!(opened(&file).notes().len(), 0);
    for (said, says) in
        [("-1", "does not say"), ("", "does not say"), ("99999999", "99999999"), ("2", "says 2 records; 3")]
    {
        file.records = said.into();
        let opened = opened(&file);
        assert_eq!(opened.length(), 6, "{said}");
        assert_eq!(opened.notes().len(), 1);
        assert!(opened.notes()[0].contains(says), "{:?}", opened.notes());
    }
    file.records = "3".into();
    let mut cut = file.bytes();
    cut.pop();
    let opened = edf::parse(Bytes::from(cut), &nowhere()).unwrap();
    assert_eq!(signal(&opened, 0), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(opened.notes().len(), 2);
}

#[test]
fn numbers_may_have_a_comma_and_ranges_may_fall() {
    let mut file = File::edf(
        "",
        vec![MadeSignal {
            limits: ["-1,5", "1.5", "-3", "3"],
            unit: b"mV",
            ..counts("ECG", &[&[-3, 0, 1, 3]])
        }],
    );
    file.duration = "0,5";
    let got = opened(&file);
    assert_eq!(signal(&got, 0), [-1500.0, 0.0, 500.0, 1500.0]);
    assert_eq!((got.rate_hz(), got.signals()[0].range), (8.0, Some([-1500.0, 1500.0])));
    assert_eq!((got.signals()[0].kind, &*got.signals()[0].unit), (SignalKind::Ecg, "mV"));
    file.signals[0].limits = ["1.5", "-1.5", "-3", "3"];
    let got = opened(&file);
    assert_eq!(signal(&got, 0), [1500.0, 0.0, -500.0, -1500.0]);
    assert_eq!(got.signals()[0].range, Some([-1500.0, 1500.0]));
}

#[test]
fn ranges_that_are_none_leave_numbers_as_they_are() {
    let made = |limits| MadeSignal { limits, ..counts("C3", &[&[-3, 5]]) };
    for limits in [["0", "0", "-8", "7"], ["-100", "100", "0", "0"]] {
        let opened = opened(&File::edf("", vec![made(limits), counts("C4", &[&[1, 2]])]));
        assert_eq!(signal(&opened, 0), [-3.0, 5.0]);
        assert_eq!(signal(&opened, 1), [1.0, 2.0]);
        assert!(opened.notes()[0].contains("no range for `C3`:"), "{:?}", opened.notes());
    }
}

#[test]
fn units_are_scaled_to_microvolts_where_they_are_voltages() {
    for (unit, factor) in [(&b"uV"[..], 1.0), (b"\xb5V", 1.0), (b"mV", 1e3), (b"V", 1e6), (b"nV", 1e-3)] {
        let opened = opened(&File::edf("", vec![MadeSignal { unit, ..counts("C3", &[&[-7, 2]]) }]));
        assert_eq!(signal(&opened, 0), [-7.0 * factor, 2.0 * factor]);
        assert!(opened.signals()[0].microvolts && opened.signals()[0].kind == SignalKind::Eeg);
    }
    let opened =
        opened(&File::edf("", vec![MadeSignal { unit: b"degC", ..counts("Temp rectal", &[&[37]]) }]));
    assert_eq!(signal(&opened, 0), [37.0]);
    let signal = &opened.signals()[0];
    assert_eq!((signal.microvolts, signal.kind, &*signal.unit), (false, SignalKind::Other, "degC"));
}

#[test]
fn labels_are_trimmed_and_empty_signals_left_out() {
    let file = File::edf("", vec![counts("  EEG C3\0", &[&[1], &[2]]), counts("Gone", &[&[], &[]])]);
    let opened = opened(&file);
    assert_eq!((opened.signals().len(), &*opened.signals()[0].name), (1, "EEG C3"));
    assert!(opened.notes()[0].contains("`Gone`"));
}

#[test]
fn annotations_count_from_the_first_sample() {
    // The recording begins 0.5 s after the full second.
    let file = File::edf(
        "EDF+C",
        vec![
            texts(
                "EDF Annotations",
                40,
                &[b"+0.5\x14\x14\0+0.75\x140.25@@C3\x14\0", b"+1.5\x14\x14late@@home\x14"],
            ),
            counts("C3", &[&[0; 8], &[0; 8]]),
            texts(
                "EDF Annotations",
                30,
                &[b"+1.7\x150.5\x14a\x14b\x14\0", b"-1\x14before\x14\0+2.5\x14after\x14\0"],
            ),
        ],
    );
    let opened = opened(&file);
    assert_eq!(opened.signals().len(), 1);
    let got = annotations(&opened);
    assert_eq!(got[0], (-1.5, 0.0, None, "before"));
    assert_eq!(got[1], (0.25, 0.0, Some(2), "0.25"));
    assert_eq!(got[2], (1.0, 0.0, Some(8), "late@@home"));
    let (onset, duration, sample, text) = got[3];
    assert!((onset - 1.2).abs() < 1e-12 && (duration, sample, text) == (0.5, Some(10), "a"));
    assert_eq!((got[4].2, got[4].3), (Some(10), "b"));
    assert_eq!(got[5], (2.0, 0.0, None, "after"));
    assert!(opened.notes()[0].starts_with("2 of 6 annotations"), "{:?}", opened.notes());
    let events = opened.recording(None).unwrap().events;
    assert_eq!(
        events.iter().map(|event| (event.sample, event.samples)).collect::<Vec<_>>(),
        [(2, 0), (8, 0), (10, 4), (10, 4)]
    );
}

#[test]
fn gaps_part_segments_and_hold_no_events() {
    let file = File::edf(
        "EDF+D",
        vec![
            counts("C3", &[&[0; 10], &[1; 10], &[2; 10], &[3; 10]]),
            counts("Resp", &[&[0; 5], &[1; 5], &[2; 5], &[3; 5]]),
            texts(
                "EDF Annotations",
                60,
                &[
                    b"+2\x14\x14\0+2.5\x14in\x14\0+3.96\x14edge\x14\0",
                    // A few hundredths are less than half a sample.
                    b"+3.04\x14\x14\0+4.5\x14gap\x14\0+9.96\x14first\x14\0",
                    b"+10\x14\x14\0+10.3\x14second\x14\0",
                    b"+11.06\x14\x14\0+11.9\x14third\x14\0+12.02\x14last\x14\0+12.1\x14gone\x14\0",
                ],
            ),
        ],
    );
    let opened = opened(&file);
    let segments: Vec<_> = opened.segments().iter().map(|s| (s.first, s.samples)).collect();
    assert_eq!(segments, [(0, 20), (20, 10), (30, 10)]);
    assert_eq!(opened.segments()[1].start_s, 8.0);
    let got: Vec<_> =
        opened.annotations().iter().map(|annotation| (&*annotation.text, annotation.sample)).collect();
    assert_eq!(
        got,
        [
            ("in", Some(5)),
            ("edge", None),
            ("gap", None),
            ("first", Some(20)),
            ("second", Some(23)),
            ("third", Some(38)),
            ("last", None),
            ("gone", None)
        ]
    );
    assert!(opened.notes()[0].contains("4 of 8 annotations"), "{:?}", opened.notes());
    assert_eq!(opened.recording(Some(&[0])).unwrap().breaks, [20, 30]);
}

#[test]
fn records_that_do_not_say_when_they_begin_follow_the_one_before() {
    let silent = texts("EDF Annotations", 12, &[b"+0\x14\x14\0", b"", b"+9\x14\x14\0", b"junk"]);
    let samples = counts("C3", &[&[0; 4], &[0; 4], &[0; 4], &[0; 4]]);
    let opened = opened(&File::edf("EDF+D", vec![samples, silent]));
    let segments: Vec<_> = opened.segments().iter().map(|s| (s.start_s, s.first, s.samples)).collect();
    assert_eq!(segments, [(0.0, 0, 8), (9.0, 8, 8)]);
    assert!(opened.notes()[0].contains("2 of 4 records"), "{:?}", opened.notes());
}

#[test]
fn time_may_run_backwards_in_a_damaged_file() {
    let samples = counts("C3", &[&[0; 4], &[0; 4], &[0; 4]]);
    let lists: [&[u8]; 3] = [b"+0\x14\x14\0", b"+5\x14\x14\0", b"+2\x14\x14\0+2.5\x14x\x14\0"];
    let opened = opened(&File::edf("EDF+D", vec![samples, texts("EDF Annotations", 20, &lists)]));
    assert_eq!(opened.segments().len(), 3);
    assert_eq!(opened.annotations()[0].sample, Some(10));
}

#[test]
fn a_continuous_file_with_gaps_is_noticed() {
    let samples = counts("C3", &[&[0; 4], &[0; 4]]);
    let lists: [&[u8]; 2] = [b"+0\x14\x14\0", b"+5\x14\x14\0"];
    let opened = opened(&File::edf("EDF+C", vec![samples, texts("EDF Annotations", 20, &lists)]));
    assert_eq!(opened.segments().len(), 1);
    assert!(opened.notes()[0].contains("record 1 begins 4 s late"), "{:?}", opened.notes());
}

#[test]
fn triggers_are_the_rises_of_the_low_bits() {
    // Bit 20 says that the amplifier is well; a value that is there at the beginning did not rise.
    let on = 1 << 20;
    let file = File {
        bdf: true,
        variant: "24BIT",
        records: "2".into(),
        duration: "0.5",
        signals: vec![
            counts24("Fp1", &[&[-8_388_608, -1], &[1, 8_388_607]]),
            MadeSignal {
                unit: b"Boolean",
                ..counts24("Status", &[&[3, 3 | on, on, 7], &[7 | on, 65_535 | on, -1, 5]])
            },
        ],
    };
    let opened = opened(&file);
    assert_eq!(opened.format(), "BDF");
    assert_eq!(signal(&opened, 0), [-8_388_608.0, -1.0, 1.0, 8_388_607.0]);
    assert_eq!((opened.signals()[1].kind, opened.signals()[1].microvolts), (SignalKind::Stimulus, false));
    assert_eq!(signal(&opened, 1)[1], (3 | on) as f32);
    // At 8 Hz in the trigger signal, 4 Hz in the others.
    assert_eq!(annotations(&opened), [(0.375, 0.0, Some(2), "7"), (0.625, 0.0, Some(3), "65535")]);
}

#[test]
fn triggers_know_of_gaps() {
    let file = File {
        bdf: true,
        variant: "BDF+D",
        records: "2".into(),
        duration: "1",
        signals: vec![
            counts24("Fp1", &[&[0; 4], &[0; 4]]),
            MadeSignal { unit: b"uV", ..counts24("Status", &[&[0, 0, 0, 0], &[0, 0, 0, 9]]) },
            texts("BDF Annotations", 12, &[b"+0\x14\x14\0", b"+10\x14\x14\0"]),
        ],
    };
    let opened = opened(&file);
    assert_eq!(opened.format(), "BDF+D");
    assert!(!opened.signals()[1].microvolts);
    assert_eq!(annotations(&opened), [(10.75, 0.0, Some(7), "9")]);
}

#[test]
fn what_rose_in_a_gap_is_reported_and_no_event() {
    // Held over the gap, new in the gap, rising after it, another value in the gap.
    let values: [&[i32]; 4] = [&[0, 4, 4, 4], &[4, 4, 0, 0], &[9, 9, 0, 5], &[7, 8, 8, 8]];
    let file = File {
        bdf: true,
        variant: "BDF+D",
        records: "4".into(),
        duration: "1",
        signals: vec![
            counts24("Fp1", &values),
            counts24("Status", &values),
            texts(
                "BDF Annotations",
                12,
                &[b"+0\x14\x14\0", b"+10\x14\x14\0", b"+20\x14\x14\0", b"+30\x14\x14\0"],
            ),
        ],
    };
    let opened = opened(&file);
    let got: Vec<_> =
        opened.annotations().iter().map(|annotation| (&*annotation.text, annotation.sample)).collect();
    assert_eq!(got, [("4", Some(1)), ("5", Some(11)), ("8", Some(13))]);
    assert!(opened.notes()[0].starts_with("2 triggers of `Status` rose in gaps"), "{:?}", opened.notes());
    // Records that follow one another at once are one segment, whatever the file is called.
    let whole = File { variant: "BDF+C", ..file };
    let all = self::opened(&whole);
    let got: Vec<_> = all.annotations().iter().map(|annotation| &*annotation.text).collect();
    assert_eq!(got, ["4", "9", "5", "7", "8"]);
}

#[test]
fn samples_begin_where_the_header_says_it_ends() {
    let file = File::edf("", vec![counts("C3", &[&[1, 2]])]);
    let mut bytes = file.bytes();
    // Longer than it must be.
    bytes[184..192].copy_from_slice(b"516     ");
    bytes.splice(512..512, [9; 4]);
    let opened = edf::parse(Bytes::from(bytes), &nowhere()).unwrap();
    assert_eq!(signal(&opened, 0), [1.0, 2.0]);
    assert_eq!(opened.notes().len(), 1);
    // Nonsense.
    for said in [b"256     ", b"99999999", b"        ", b"512.5   "] {
        let mut bytes = file.bytes();
        bytes[184..192].copy_from_slice(said);
        let opened = edf::parse(Bytes::from(bytes), &nowhere()).unwrap();
        assert_eq!(signal(&opened, 0), [1.0, 2.0]);
        assert!(opened.notes()[0].contains("from byte 512 on"));
    }
}

#[test]
fn annotations_behind_damage_are_reported() {
    let file = |block: &'static [u8]| {
        let eeg = counts("Cz", &[&[1, 2, 3, 4], &[5, 6, 7, 8]]);
        let texts = texts("EDF Annotations", 32, &[b"+0\x14\x14\0+0.5\x14T1\x14\0", block]);
        edf::parse(Bytes::from(File::edf("EDF+C", vec![eeg, texts]).bytes()), &nowhere()).unwrap()
    };
    assert!(file(b"+1\x14\x14\0+1.5\x14T2\x14\0").notes().is_empty());
    // What fills the block is nothing that is lost.
    assert!(file(b"+1\x14\x14\0     ").notes().is_empty());
    let damaged = file(b"+1\x14\x14\0x1.5\x14T2\x14\0");
    assert_eq!(damaged.annotations().len(), 1);
    assert_eq!(
        damaged.notes(),
        ["annotations of 1 records are damaged: those behind the damage are left out"]
    );
}

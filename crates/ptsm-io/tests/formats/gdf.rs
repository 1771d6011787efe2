//! GDF: the fixtures, and each rule of the format on bytes made by hand.

use ptsm_io::{Bytes, RecordingFile, SignalKind, gdf};

use crate::gdf_made::{File, MadeSignal, counts, fraction, table};
use crate::shared::{annotations, expected, nowhere, signal};

fn opened(file: &File) -> RecordingFile {
    gdf::parse(Bytes::from(file.bytes()), &nowhere()).unwrap()
}

#[test]
fn the_fixtures_hold_what_they_should() {
    for (path, entry) in expected("gdf/") {
        let opened = gdf::open(&path).unwrap();
        let path = path.display();
        assert_eq!(opened.format(), entry["format"], "{path}");
        assert_eq!(opened.notes(), <[String; 0]>::default(), "{path}");
        let names: Vec<&str> = opened.signals().iter().map(|signal| &*signal.name).collect();
        assert_eq!(serde_json::json!(names), entry["ch_names"], "{path}");
        assert_eq!(opened.rate_hz(), entry["sfreq"].as_f64().unwrap(), "{path}");
        assert_eq!(opened.length() as u64, entry["n_samples"].as_u64().unwrap(), "{path}");
        let tolerance = entry["tolerance"].as_f64().unwrap();
        for sample in entry["samples"].as_array().unwrap() {
            let (i, at) = (sample[0].as_u64().unwrap() as usize, sample[1].as_u64().unwrap() as usize);
            let (got, expected) = (f64::from(signal(&opened, i)[at]), sample[2].as_f64().unwrap());
            assert!(
                (got - expected).abs() <= tolerance,
                "{path}, signal {i}, sample {at}: {got}, {expected}"
            );
        }
        let events = opened.recording(None).unwrap().events;
        let got: Vec<_> =
            events.iter().map(|event| (event.sample, event.code.clone(), event.samples)).collect();
        let whole = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
        let expected = entry["events_samples"].as_array().unwrap().iter();
        let expected: Vec<_> = expected.map(|e| (whole(&e[0]), e[1].to_string(), whole(&e[2]))).collect();
        assert_eq!(got, expected, "{path}");
        assert_eq!(opened.segments().len(), 1);
    }
}

/// A number as a type stores it.
type Store = fn(f64) -> Vec<u8>;

#[test]
fn every_type_of_samples_is_read() {
    let types: [(u32, Store); 16] = [
        (1, |v| (v as i8).to_le_bytes().into()),
        (2, |v| (v as u8).to_le_bytes().into()),
        (3, |v| (v as i16).to_le_bytes().into()),
        (4, |v| (v as u16).to_le_bytes().into()),
        (5, |v| (v as i32).to_le_bytes().into()),
        (6, |v| (v as u32).to_le_bytes().into()),
        (7, |v| (v as i64).to_le_bytes().into()),
        (8, |v| (v as u64).to_le_bytes().into()),
        (16, |v| (v as f32).to_le_bytes().into()),
        (17, |v| v.to_le_bytes().into()),
        (263, |v| (v as i8).to_le_bytes().into()),
        (271, |v| (v as i16).to_le_bytes().into()),
        (279, |v| (v as i32).to_le_bytes()[..3].into()),
        (287, |v| (v as i32).to_le_bytes().into()),
        (527, |v| (v as u16).to_le_bytes().into()),
        (535, |v| (v as u32).to_le_bytes()[..3].into()),
    ];
    for version in ["1.25", "2.20"] {
        let mut signals = vec![];
        for (kind, store) in types {
            let low = if [2, 4, 6, 8, 527, 535].contains(&kind) { 0.0 } else { -100.0 };
            let block: Vec<u8> = [low, 1.0, 100.0].into_iter().flat_map(store).collect();
            // Two counts a microvolt.
            let limits = [low / 2.0, 50.0, low, 100.0];
            signals.push(MadeSignal {
                kind,
                limits,
                samples: 3,
                records: vec![block],
                ..counts("C3", &[&[]])
            });
        }
        let opened = opened(&File::new(version, signals));
        for (i, (kind, _)) in types.iter().enumerate() {
            let low = opened.signals()[i].range.unwrap()[0] as f32;
            assert_eq!(signal(&opened, i), [low, 0.5, 50.0], "version {version}, type {kind}");
        }
        assert_eq!(opened.notes(), <[String; 0]>::default());
    }
}

#[test]
fn types_and_rates_may_differ_within_a_record() {
    let fast = counts("C3", &[&[1, 2, 3, 4], &[5, 6, 7, 8]]);
    let slow = MadeSignal {
        kind: 17,
        samples: 1,
        limits: [0.0; 4],
        unit: ("", 6048),
        records: vec![36.6_f64.to_le_bytes().into(), 36.7_f64.to_le_bytes().into()],
        ..counts("Temp", &[&[]])
    };
    let opened = opened(&File::new("2.20", vec![slow, fast]));
    assert_eq!((opened.rate_hz(), opened.main()), (4.0, &[1][..]));
    assert_eq!(signal(&opened, 0), [36.6, 36.7]);
    assert_eq!(signal(&opened, 1), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let temperature = &opened.signals()[0];
    assert_eq!(
        (temperature.rate_hz, temperature.kind, temperature.microvolts),
        (1.0, SignalKind::Other, false)
    );
    assert!(opened.notes()[0].contains("no range for `Temp`"), "{:?}", opened.notes());
}

#[test]
fn records_may_hold_one_sample_each() {
    let records: Vec<[i16; 1]> = (0..40).map(|t| [t * 3]).collect();
    let records: Vec<&[i16]> = records.iter().map(|record| &record[..]).collect();
    let mut file = File::new("1.25", vec![counts("C3", &records), counts("C4", &records)]);
    file.duration = fraction(1, 250);
    file.signals[0].limits = [-50.0, 50.0, -100.0, 100.0];
    let opened = opened(&file);
    assert_eq!(opened.rate_hz(), 250.0);
    for (first, n) in [(0, 40), (7, 1), (13, 20), (39, 1)] {
        let mut part = vec![-1.0; 2 * n];
        opened.read(&[1, 0], first, &mut part).unwrap();
        for t in 0..n {
            let value = 3.0 * (first + t) as f32;
            assert_eq!(part[t], value);
            // The first signal has two counts a microvolt, and no more than 100.
            assert!(part[n + t] == value / 2.0 || value > 100.0 && part[n + t].is_nan());
        }
    }
}

#[test]
fn units_are_scaled_to_microvolts() {
    for (version, unit, factor) in [
        ("2.20", ("", 4275), 1.0),
        ("2.20", ("uV", 4274), 1e3),
        ("1.96", ("", 4256), 1e6),
        ("2.20", ("", 4276), 1e-3),
        ("2.20", ("mV", 0), 1e3),
        ("1.25", ("mV", 0), 1e3),
    ] {
        let opened = opened(&File::new(version, vec![MadeSignal { unit, ..counts("C3", &[&[-7, 2]]) }]));
        assert_eq!(signal(&opened, 0), [-7.0 * factor, 2.0 * factor], "{unit:?}");
        assert!(opened.signals()[0].microvolts);
    }
}

#[test]
fn whole_numbers_outside_of_the_digital_range_are_missing() {
    let limits = [-50.0, 50.0, -100.0, 100.0];
    let file = |kind: u32, records: Vec<u8>| {
        let samples = 4;
        File::new(
            "2.20",
            vec![MadeSignal { limits, kind, samples, records: vec![records], ..counts("C3", &[&[]]) }],
        )
    };
    let got = opened(&file(3, [-32768_i16, -100, 100, 101].iter().flat_map(|v| v.to_le_bytes()).collect()));
    let samples = signal(&got, 0);
    assert!(samples[0].is_nan() && samples[3].is_nan());
    // At its ends they are what the range says.
    let [low, high] = got.signals()[0].range.unwrap();
    assert_eq!(samples[1..3], [low as f32, high as f32]);
    // Fractions do not overflow.
    let values = [-300.0_f32, 100.0, 101.0, f32::NAN];
    let got = opened(&file(16, values.iter().flat_map(|v| v.to_le_bytes()).collect()));
    assert_eq!(signal(&got, 0)[..3], [-150.0, 50.0, 50.5]);
    assert!(signal(&got, 0)[3].is_nan());
}

#[test]
fn records_have_lengths_of_many_spellings() {
    for (version, duration, rate_hz) in [
        ("1.25", fraction(1, 250), 500.0),
        ("2.20", fraction(1, 250), 500.0),
        ("2.20", fraction(3, 1), 2.0 / 3.0),
        ("2.51", 0.004_f64.to_le_bytes(), 500.0),
        ("2.51", 1.0_f64.to_le_bytes(), 2.0),
        ("2.51", 0.5_f64.to_le_bytes(), 4.0),
    ] {
        let mut file = File::new(version, vec![counts("C3", &[&[1, 2]])]);
        file.duration = duration;
        let opened = opened(&file);
        assert_eq!(opened.rate_hz(), rate_hz, "{version} {duration:?}");
        assert!(opened.notes().is_empty());
    }
    for below in [0, 1, 250] {
        let mut file = File::new("2.20", vec![counts("C3", &[&[1, 2]])]);
        file.duration = fraction(0, below);
        assert_eq!(opened(&file).rate_hz(), 2.0);
        assert!(opened(&file).notes()[0].contains("1 s is assumed"));
    }
}

#[test]
fn tags_between_header_and_records_are_stepped_over() {
    for version in ["1.25", "2.20"] {
        let mut file = File::new(version, vec![counts("C3", &[&[1, 2]])]);
        file.tags = 3;
        assert_eq!(signal(&opened(&file), 0), [1.0, 2.0]);
        assert!(opened(&file).notes().is_empty());
        // A length of the header that cannot be.
        let mut bytes = file.bytes();
        bytes[184..192].copy_from_slice(&[255; 8]);
        let opened = gdf::parse(Bytes::from(bytes), &nowhere()).unwrap();
        assert!(opened.notes()[0].contains("a header of 1 signals has 512 bytes"), "{:?}", opened.notes());
    }
}

#[test]
fn the_number_of_records_may_be_unknown() {
    let mut file = File::new("2.20", vec![counts("C3", &[&[1, 2], &[8, 9]])]);
    file.records = -1;
    assert_eq!(signal(&opened(&file), 0), [1.0, 2.0, 8.0, 9.0]);
    assert!(opened(&file).notes()[0].contains("does not say how many records"));
    file.records = i64::MAX;
    assert_eq!(opened(&file).length(), 4);
    assert!(opened(&file).notes()[0].contains("2 are there, and no events"));
    // What follows fewer records than are there is no table.
    file.records = 1;
    assert_eq!(signal(&opened(&file), 0), [1.0, 2.0]);
    assert!(opened(&file).annotations().is_empty());
}

#[test]
fn tables_of_events_have_two_layouts_and_four_modes() {
    let rows = [(1, 768, 0, 0), (5, 769, 2, 3), (9, 770, 0, 1)];
    for version in ["1.25", "1.92", "1.94", "1.96", "2.20"] {
        for mode in [1, 3, 5, 7] {
            let mut file = File::new(version, vec![counts("C3", &[&[0; 10]])]);
            file.events = table(version, mode, 10.0, &rows);
            let long = |s| if mode & 2 != 0 { s } else { 0.0 };
            assert_eq!(
                annotations(&opened(&file)),
                [
                    (0.0, 0.0, Some(0), "768"),
                    (0.4, long(0.3), Some(4), "769"),
                    (0.8, long(0.1), Some(8), "770")
                ],
                "version {version}, mode {mode}"
            );
            assert!(opened(&file).notes().is_empty());
        }
    }
}

#[test]
fn events_may_have_a_rate_of_their_own() {
    for version in ["1.25", "2.20"] {
        let mut file = File::new(version, vec![counts("C3", &[&[0; 10]])]);
        // At 20 a second; at none; at one that is none.
        file.events = table(version, 3, 20.0, &[(9, 769, 0, 4)]);
        assert_eq!(annotations(&opened(&file)), [(0.4, 0.2, Some(4), "769")]);
        file.events = table(version, 3, 0.0, &[(9, 769, 0, 4)]);
        assert_eq!(annotations(&opened(&file)), [(0.8, 0.4, Some(8), "769")]);
    }
    let mut file = File::new("2.20", vec![counts("C3", &[&[0; 10]])]);
    file.events = table("2.20", 3, f32::NAN, &[(0, 769, 0, 4), (11, 770, 0, 0)]);
    assert_eq!(annotations(&opened(&file)), [(0.0, 0.4, Some(0), "769"), (1.0, 0.0, None, "770")]);
    assert!(opened(&file).notes()[0].contains("1 of 2 events lie behind the last sample"));
}

#[test]
fn ends_give_the_length_of_what_they_end() {
    let mut file = File::new("2.20", vec![counts("C3", &[&[0; 10]])]);
    let end = |code: u16| code | 0x8000;
    let rows = [
        (8, end(768), 0, 0),
        (2, 768, 0, 0),
        (3, 769, 1, 0),
        (4, 769, 2, 0),
        (6, end(769), 1, 0),
        (9, end(771), 0, 0),
        (1, 770, 0, 5),
        (5, end(770), 0, 0),
        (10, 0x7fff, 1, 1234),
    ];
    file.events = table("2.20", 3, 10.0, &rows);
    let opened = opened(&file);
    let got: Vec<_> =
        opened.recording(None).unwrap().events.into_iter().map(|e| (e.sample, e.code, e.samples)).collect();
    // Nothing of type 771 begins: what would end it is an event of its own.
    let expected = [(0, "770", 5), (1, "768", 6), (2, "769", 3), (3, "769", 0), (8, "33539", 0)];
    assert_eq!(got, expected.map(|(sample, code, samples)| (sample, code.to_string(), samples)));
    assert!(opened.notes()[0].contains("1 rows"), "{:?}", opened.notes());
    // A recording that begins in the middle of an event has its end, which is none of an event that is there.
    file.events =
        table("2.20", 1, 10.0, &[(1, end(769), 0, 0), (2, 769, 0, 0), (4, end(769), 0, 0), (9, 770, 0, 0)]);
    let cut = self::opened(&file);
    let got: Vec<_> =
        cut.recording(None).unwrap().events.into_iter().map(|e| (e.sample, e.code, e.samples)).collect();
    assert_eq!(got, [(1, "769".to_string(), 2), (8, "770".to_string(), 0)]);
    assert!(cut.notes()[0].contains("1 ends of events that never began"), "{:?}", cut.notes());
}

/// What OpenViBE writes: types of its own, all above 0x8000, that begin and end nothing.
#[test]
fn issue_19_types_of_openvibe_are_events() {
    let rows = [
        (1, 0x8001, 0, 0), // the experiment begins
        (2, 0x8005, 0, 0), // a trial begins
        (3, 0x8101, 0, 0), // label 1
        (5, 0x8006, 0, 0), // the trial ends
        (6, 0x8005, 0, 0),
        (7, 0x8102, 0, 0),
        (8, 0x8102, 0, 0),
        (9, 0x8006, 0, 0),
        (10, 0x8002, 0, 0), // the experiment ends
    ];
    let expected: Vec<(Option<usize>, String)> =
        rows.iter().map(|row| (Some(row.0 as usize - 1), row.1.to_string())).collect();
    for version in ["1.25", "2.20"] {
        for mode in [1, 3] {
            let mut file = File::new(version, vec![counts("Oz", &[&[0; 10]])]);
            file.events = table(version, mode, 10.0, &rows);
            let opened = opened(&file);
            let got: Vec<_> = opened
                .annotations()
                .iter()
                .map(|annotation| (annotation.sample, annotation.text.clone()))
                .collect();
            assert_eq!(got, expected, "version {version}, mode {mode}");
            assert!(opened.notes().is_empty(), "{:?}", opened.notes());
            assert!(opened.annotations().iter().all(|annotation| annotation.duration_s == 0.0));
            // A button of the subject that has the number of one of them changes nothing.
            file.events = table(version, mode, 10.0, &[&rows[..], &[(4, 1, 0, 0)]].concat());
            assert_eq!(self::opened(&file).annotations().len(), rows.len() + 1);
        }
    }
    // Durations that the table tells stay.
    let mut file = File::new("2.20", vec![counts("Oz", &[&[0; 10]])]);
    file.events = table("2.20", 3, 10.0, &[(3, 0x8101, 0, 4), (9, 0x8102, 0, 1)]);
    assert_eq!(annotations(&opened(&file)), [(0.2, 0.4, Some(2), "33025"), (0.8, 0.1, Some(8), "33026")]);
}

#[test]
fn pairs_of_begins_and_ends_are_durations_in_every_layout() {
    let end = |code: u16| code | 0x8000;
    let rows = [(1, 768, 0, 0), (3, 769, 0, 0), (6, end(769), 0, 0), (8, end(768), 0, 0), (9, 1023, 0, 0)];
    for version in ["1.25", "2.20"] {
        for mode in [1, 3] {
            let mut file = File::new(version, vec![counts("C3", &[&[0; 10]])]);
            file.events = table(version, mode, 10.0, &rows);
            let opened = opened(&file);
            let got: Vec<_> =
                opened.recording(None).unwrap().events.into_iter().map(|e| (e.code, e.samples)).collect();
            let expected = [("768", 7), ("769", 3), ("1023", 0)];
            assert_eq!(got, expected.map(|(code, samples)| (code.to_string(), samples)));
            assert!(opened.notes().is_empty());
        }
    }
}

#[test]
fn a_segment_event_begins_a_new_segment() {
    let mut file = File::new("1.25", vec![counts("C3", &[&[0; 10]])]);
    file.events =
        table("1.25", 1, 10.0, &[(1, 32766, 0, 0), (5, 32766, 0, 0), (5, 32766, 0, 0), (30, 32766, 0, 0)]);
    let opened = opened(&file);
    let segments: Vec<_> = opened.segments().iter().map(|s| (s.start_s, s.first, s.samples)).collect();
    assert_eq!(segments, [(0.0, 0, 4), (0.4, 4, 6)]);
    assert_eq!(opened.recording(None).unwrap().breaks, [4]);
}

#[test]
fn what_is_no_table_is_no_error() {
    let mut file = File::new("2.20", vec![counts("C3", &[&[0; 10]])]);
    file.events = vec![0; 40];
    let opened = opened(&file);
    assert!(
        opened.annotations().is_empty() && opened.notes()[0].contains("40 bytes"),
        "{:?}",
        opened.notes()
    );
}

#[test]
fn names_and_dates_are_not_kept() {
    let opened = opened(&File::new("2.20", vec![counts("C3", &[&[1, 2]])]));
    let all = format!("{opened:?} {:?} {:?} {:?}", opened.signals(), opened.annotations(), opened.notes());
    assert!(!all.contains("Harry") && !all.contains("1951"));
}

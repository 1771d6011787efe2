//! BrainVision files: the shared fixtures, every rule by hand, and damage.

use std::fs;
use std::path::Path;

use ptsm_io::{Bytes, Error, RecordingFile, Segment, SignalKind, brainvision};

use crate::hostile::{Random, examine, fixture, windows_equal_the_whole};

const FIXTURES: [&str; 4] = [
    "brainvision/int16.vhdr",
    "brainvision/float32.vhdr",
    "brainvision/vectorized.vhdr",
    "bids/sub-02/ses-1/eeg/sub-02_ses-1_task-mi_run-1_eeg.vhdr",
];

#[test]
fn fixtures_have_their_expected_values() {
    let Some(path) = fixture("expected.json") else { return };
    let expected: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let mut seen = 0;
    for entry in expected.as_array().unwrap() {
        let name = entry["path"].as_str().unwrap();
        if !name.starts_with("brainvision/") {
            continue;
        }
        seen += 1;
        let opened = ptsm_io::open(&fixture(name).unwrap()).unwrap();
        let names: Vec<&str> = opened.signals().iter().map(|s| &*s.name).collect();
        assert_eq!(serde_json::json!(names), entry["ch_names"], "{name}");
        assert_eq!(opened.rate_hz(), entry["sfreq"].as_f64().unwrap());
        assert_eq!(opened.length() as u64, entry["n_samples"].as_u64().unwrap());
        assert!(opened.signals().iter().all(|s| s.microvolts && s.kind == SignalKind::Eeg));
        assert!(opened.notes().is_empty(), "{:?}", opened.notes());
        for sample in entry["samples"].as_array().unwrap() {
            let (channel, at) = (sample[0].as_u64().unwrap() as usize, sample[1].as_u64().unwrap() as usize);
            let mut value = [0.0];
            opened.read(&[channel], at, &mut value).unwrap();
            let difference = (f64::from(value[0]) - sample[2].as_f64().unwrap()).abs();
            assert!(difference <= entry["tolerance"].as_f64().unwrap(), "{name} {sample}: {}", value[0]);
        }
        let annotations: Vec<_> =
            opened.annotations().iter().map(|m| (m.sample.unwrap(), &*m.text)).collect();
        assert_eq!(serde_json::json!(annotations), entry["events_samples"]);
        windows_equal_the_whole(&opened);
        // The renamed recording of the BIDS fixture is the same as this one.
        if name.ends_with("float32.vhdr") {
            let renamed = ptsm_io::open(&fixture(FIXTURES[3]).unwrap()).unwrap();
            assert_eq!(renamed.recording(None).unwrap(), opened.recording(None).unwrap());
        }
    }
    assert_eq!(seen, 3);
}

/// A header with two channels; `more` goes behind `[Common Infos]`.
fn header(orientation: &str, format: &str, more: &str) -> String {
    format!(
        "Brain Vision Data Exchange Header File Version 1.0\n[Common infos]\nDataFile=$b.eeg\nMarkerFile=a.vmrk\n\
         DataOrientation={orientation}\nNumberOfChannels=2\nSamplingInterval=3906.25\n{more}\n\
         [Binary Infos]\nBinaryFormat={format}\n[Channel Infos]\nCh1=C3,,0.5,µV\nCh2=C4,,0.001,mV\n[Comment]\n[Binary Infos]\n"
    )
}

fn parse(header: &str, samples: &[u8]) -> Result<RecordingFile, Error> {
    brainvision::parse(Path::new("a.vhdr"), header.as_bytes(), None, Bytes::from(samples.to_vec()))
}

fn values(opened: &RecordingFile) -> Vec<f32> {
    let all: Vec<usize> = (0..opened.signals().len()).collect();
    let mut values = vec![0.0; all.len() * opened.length()];
    opened.read(&all, 0, &mut values).unwrap();
    values
}

#[test]
fn every_number_order_and_orientation_is_read() {
    let rows = [[10, 1], [20, 2], [-30, 3]];
    type Encode = fn(i32) -> Vec<u8>;
    let formats: [(&str, Encode); 5] = [
        ("INT_16", |v| (v as i16).to_le_bytes().to_vec()),
        ("UINT_16", |v| (v as u16).to_le_bytes().to_vec()),
        ("INT_32", |v| v.to_le_bytes().to_vec()),
        ("IEEE_FLOAT_32", |v| (v as f32).to_le_bytes().to_vec()),
        ("ieee_float_64", |v| f64::from(v).to_le_bytes().to_vec()),
    ];
    for (format, encode) in formats {
        let third = if format == "UINT_16" { 65506.0 } else { -30.0 };
        for big in [false, true] {
            for vectorized in [false, true] {
                let encode = |v: i32| {
                    let mut bytes = encode(v);
                    if big {
                        bytes.reverse();
                    }
                    bytes
                };
                let samples: Vec<u8> = if vectorized {
                    (0..2).flat_map(|c| rows.map(|row| row[c])).flat_map(encode).collect()
                } else {
                    rows.into_iter().flatten().flat_map(encode).collect()
                };
                let orientation = if vectorized { "VECTORIZED" } else { "MULTIPLEXED" };
                let order = if big { "YES" } else { "NO" };
                let format = format!("{format}\nUseBigEndianOrder={order}");
                let opened = parse(&header(orientation, &format, "DataPoints=3"), &samples).unwrap();
                assert_eq!(opened.rate_hz(), 256.0);
                assert!(opened.notes().is_empty());
                assert_eq!(
                    values(&opened),
                    [5.0, 10.0, third / 2.0, 1.0, 2.0, 3.0],
                    "{format} {orientation}"
                );
                windows_equal_the_whole(&opened);
            }
        }
    }
}

#[test]
fn text_is_read_in_both_orientations() {
    let text = |orientation: &str, infos: &str| {
        let format = format!("\n[ASCII Infos]\n{infos}");
        header(orientation, &format, "DataFormat=ASCII").replace("BinaryFormat=", "")
    };
    let expected = [0.5, 1.0, -1.5, 10.0, 20.0, 30.0];
    let columns = text("MULTIPLEXED", "SkipLines=1\nSkipColumns=1");
    let opened = parse(&columns, b"t C3 C4\r\n1 1.0 10\r\n2\t2.0\t2e1\r\n3 -3.0, 30\r\n\r\n").unwrap();
    assert_eq!(values(&opened), expected);
    windows_equal_the_whole(&opened);
    let lines = text("VECTORIZED", "DecimalSymbol=,\nSkipColumns=1");
    assert_eq!(values(&parse(&lines, b"C3 1,0 2 -3\nC4 10,0;20;30\n").unwrap()), expected);
    for (header, samples, says) in [
        (&columns, "t C3 C4\n1 1.0 x\n", "a.vhdr, byte 14: `x` is no number"),
        (&columns, "t C3 C4\n1 1.0 2 3\n", "byte 16: one column more than the 2 channels"),
        (&columns, "t C3 C4\n1 1.0\n", "byte 8: the line has 1 numbers instead of 2"),
        (&columns, "t C3 C4\n", "no sample of 2 channels"),
        (&lines, "C3 1 2\nC4 1\n", "byte 7: the line has 1 numbers instead of 2"),
        (&lines, "C3 1 2\n", "1 lines of samples for 2 channels"),
        (&lines, "C3 1 2\nC4 1 2\nC5 1 2\n", "byte 17: one line more"),
    ] {
        let error = parse(header, samples.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{samples}: {error}");
    }
}

#[test]
fn sizes_that_disagree_are_reported() {
    let opened = parse(&header("MULTIPLEXED", "INT_16", "DataPoints=4"), &[0; 13]).unwrap();
    assert_eq!(opened.length(), 3);
    assert_eq!(
        opened.notes(),
        [
            "the header says 4 samples (`DataPoints`), the file holds 3",
            "the last 1 bytes are no whole sample and are left out"
        ]
    );
    for (more, size, says) in [
        ("DataPoints=4", 12, "says 4 samples of 2 channels (`DataPoints`), the file holds 3"),
        (
            "DataPoints=3",
            13,
            "says 3 samples of 2 channels (`DataPoints`), the file holds 3 and 1 bytes more",
        ),
        ("DataPoints=18446744073709551615", 12, "the file holds 3"),
        ("", 13, "13 bytes are no whole number of samples"),
        ("", 3, "3 bytes are no sample of 2 channels"),
    ] {
        let error = parse(&header("VECTORIZED", "INT_16", more), &vec![0; size]).unwrap_err();
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
    }
    assert_eq!(parse(&header("VECTORIZED", "INT_16", ""), &[0; 12]).unwrap().length(), 3);
    assert!(parse(&header("MULTIPLEXED", "INT_16", ""), &[]).is_err());
}

#[test]
fn headers_that_cannot_be_used_say_why() {
    let good = header("MULTIPLEXED", "INT_16", "");
    for (from, to, says) in [
        (
            "SamplingInterval=3906.25",
            "SamplingInterval=0",
            "line 7, `SamplingInterval`: `0` is no number above zero",
        ),
        ("SamplingInterval=3906.25", "SamplingInterval=inf", "no number above zero"),
        ("SamplingInterval=3906.25", "", "the line `SamplingInterval=` is missing in section [Common Infos]"),
        ("DataOrientation=MULTIPLEXED", "DataOrientation=DIAGONAL", "`DIAGONAL` is unknown"),
        ("DataOrientation=MULTIPLEXED", "", "`DataOrientation=` is missing"),
        ("INT_16", "INT_24", "`INT_24` is unknown"),
        ("BinaryFormat=INT_16", "", "`BinaryFormat=` is missing in section [Binary Infos]"),
        ("[Binary Infos]", "DataType=FREQUENCYDOMAIN\n[Binary Infos]", "no samples in time"),
        ("NumberOfChannels=2", "NumberOfChannels=1000000000", "no line `Ch3=`"),
        ("Version 1.0", "Version 7.0", "the first line"),
    ] {
        let error = parse(&good.replacen(from, to, 1), &[0; 12]).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("a.vhdr") && text.contains(says), "{text}");
    }
    let long = good + &"x".repeat(5 << 20);
    assert!(parse(&long, &[0; 12]).unwrap_err().to_string().contains("too many for a header"));
}

#[test]
fn an_ahdr_has_one_hidden_channel() {
    let samples: Vec<u8> = [2i16, 3, 99, 4, 5, 99].iter().flat_map(|v| v.to_le_bytes()).collect();
    let header =
        header("MULTIPLEXED", "INT_16", "").replace("Brain Vision Data Exchange", "Brain Vision V-Amp Data");
    let opened =
        brainvision::parse(Path::new("a.ahdr"), header.as_bytes(), None, Bytes::from(samples)).unwrap();
    assert_eq!(opened.signals().len(), 2);
    assert_eq!(values(&opened), [1.0, 2.0, 3.0, 5.0]);
}

#[test]
fn an_ahdr_is_opened_with_its_samples_and_markers() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text =
        header("MULTIPLEXED", "INT_16", "").replace("Brain Vision Data Exchange", "Brain Vision V-Amp Data");
    fs::write(at("v.ahdr"), text).unwrap();
    let error = ptsm_io::open(&at("v.ahdr")).unwrap_err();
    assert!(error.to_string().contains("its samples are not there") && error.hint().is_some(), "{error}");
    let samples: Vec<u8> = [2i16, 3, 99, 4, 5, 99].iter().flat_map(|v| v.to_le_bytes()).collect();
    fs::write(at("v.eeg"), samples).unwrap();
    for name in ["v.vmrk", "v.amrk"] {
        let title = "Brain Vision V-Amp Data Marker File, Version 1.0\n[Marker Infos]\n";
        fs::write(at(name), format!("{title}Mk1=New Segment,,1,1,0\nMk2=Stimulus,{name},2,1,0\n")).unwrap();
        let opened = ptsm_io::open(&at("v.ahdr")).unwrap();
        assert_eq!(values(&opened), [1.0, 2.0, 3.0, 5.0]);
        let annotations: Vec<_> = opened
            .annotations()
            .iter()
            .map(|annotation| (annotation.sample, annotation.text.clone()))
            .collect();
        assert_eq!(annotations, [(Some(1), format!("Stimulus/{name}"))]);
    }
}

#[test]
fn files_are_found_under_other_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = at("new.vhdr");
    let text = header("MULTIPLEXED", "INT_16", "").replace("$b.eeg", "old.eeg");
    fs::write(&path, &text).unwrap();
    let error = ptsm_io::open(&path).unwrap_err();
    let says = error.to_string();
    assert!(
        says.contains("old.eeg") && says.contains("new.eeg") && says.contains("samples are not there"),
        "{says}"
    );
    assert!(error.hint().unwrap().contains("DataFile"));

    fs::write(at("new.eeg"), [0; 40]).unwrap();
    let opened = ptsm_io::open(&path).unwrap();
    assert_eq!(opened.notes().len(), 2, "{:?}", opened.notes());
    assert!(
        opened.notes()[0].contains("`.eeg` file the header names is not there")
            && opened.notes()[1].contains("no events")
    );

    let title = "Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\n";
    let annotations =
        "Mk1=New Segment,,1,1,0,20200101120000000000\nMk2=New Segment,,5,1,0\nMk3=Stimulus,S  7,6,1,0\n";
    fs::write(at("new.vmrk"), format!("{title}{annotations}")).unwrap();
    fs::write(&path, text.replace("old.eeg", "$b.eeg")).unwrap();
    let opened = ptsm_io::open(&path).unwrap();
    assert_eq!(opened.notes().len(), 1, "{:?}", opened.notes());
    let recording = opened.recording(None).unwrap();
    assert_eq!((recording.breaks, recording.events[0].sample), (vec![4], 5));
    assert_eq!(opened.segments()[1], Segment { start_s: 4.0 / 256.0, first: 4, samples: 6 });
    // Dates are nowhere.
    assert!(!format!("{:?} {:?}", opened.annotations(), opened.notes()).contains("2020"));
}

fn parts(name: &str) -> Option<[Vec<u8>; 3]> {
    let path = fixture(name)?;
    Some(["vhdr", "vmrk", "eeg"].map(|ending| fs::read(path.with_extension(ending)).unwrap()))
}

fn examine_parts([header, markers, samples]: [&[u8]; 3]) {
    examine(brainvision::parse(Path::new("a.vhdr"), header, Some(markers), Bytes::from(samples.to_vec())));
}

#[test]
fn cut_short_anywhere() {
    for name in &FIXTURES[..3] {
        let Some(parts) = parts(name) else { return };
        let [header, markers, samples] = parts.each_ref().map(|part| &**part);
        (0..header.len()).for_each(|length| examine_parts([&header[..length], markers, samples]));
        (0..markers.len()).for_each(|length| examine_parts([header, &markers[..length], samples]));
        (0..samples.len()).for_each(|length| examine_parts([header, markers, &samples[..length]]));
    }
}

#[test]
fn random_damage() {
    let mut random = Random(1);
    for name in &FIXTURES[..3] {
        let Some([header, markers, samples]) = parts(name) else { return };
        for _ in 0..3000 {
            examine_parts([&random.damage(&header), &random.damage(&markers), &samples]);
        }
    }
    let text = header("MULTIPLEXED", "INT_16", "DataFormat=ASCII");
    for _ in 0..3000 {
        let samples = random.damage(b"1.0 2.0\n3 4\n-5e3 6\n");
        examine(parse(&String::from_utf8_lossy(&random.damage(text.as_bytes())), &samples));
    }
}

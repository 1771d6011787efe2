//! What is written as EDF+ is read back.

use std::path::Path;

use ptsm_io::{RecordingFile, edf};
use ptsm_signal::{Channel, Event, Recording, Unit};

use crate::shared::Numbers;

/// A made recording: slow waves and noise, each channel of another size.
fn made(rate_hz: f64, channels: usize, length: usize) -> Recording {
    let mut numbers = Numbers(3);
    let names = ["C3", "Cz", "C4", "Fp1", "Oz", "T10", "EOG left", "AF7"];
    let mut samples = vec![];
    for channel in 0..channels {
        let size = 10_f32.powi(channel as i32 % 8 - 3);
        samples.extend((0..length).map(|t| {
            let noise = numbers.below(1000) as f32 / 1000.0 - 0.5;
            size * ((t as f32 / 20.0).sin() + noise + channel as f32)
        }));
    }
    let channels = (0..channels).map(|i| Channel::named(names[i % names.len()])).collect();
    Recording::new(rate_hz, channels, samples, vec![]).unwrap()
}

fn event(sample: usize, code: &str, samples: usize) -> Event {
    Event { sample, code: code.into(), samples }
}

/// Written, opened again, with the file's bytes.
fn round(recording: &Recording) -> (edf::WrittenEdf, RecordingFile, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.edf");
    let written = edf::write(&path, recording).unwrap();
    let opened = edf::open(&path).unwrap();
    assert_eq!(opened.notes(), <[String; 0]>::default());
    (written, opened, std::fs::read(&path).unwrap())
}

/// The samples of the file that are of the recording are within half a step of it.
fn assert_near(recording: &Recording, written: &edf::WrittenEdf, opened: &RecordingFile) {
    let read = opened.recording(Some(opened.main())).unwrap();
    let kept: Vec<usize> =
        (0..read.length()).filter(|t| !written.padding.iter().any(|padding| padding.contains(t))).collect();
    assert_eq!(kept.len(), recording.length());
    for channel in 0..recording.channels.len() {
        let [low, high] = opened.signals()[channel].range.unwrap();
        let step = (high - low) / 65535.0;
        for (&t, &value) in kept.iter().zip(recording.channel(channel)) {
            let difference = (f64::from(read.channel(channel)[t]) - f64::from(value)).abs();
            let rounding = f64::from(value.abs()) * f64::from(f32::EPSILON) / 2.0;
            assert!(difference <= step / 2.0 * 1.000001 + rounding, "{channel}, {t}: {difference} of {step}");
        }
    }
    assert_eq!(read.channels, recording.channels);
    assert_eq!(read.rate_hz, recording.rate_hz);
}

#[test]
fn samples_are_within_half_a_step() {
    for (rate_hz, channels, length) in [
        (160.0, 8, 1600),
        (250.0, 3, 1001),
        (256.0, 64, 2561),
        (2048.0, 300, 500),
        (99.9, 2, 3333),
        (0.5, 1, 7),
        (1000.0 / 3.0, 2, 1000),
    ] {
        let recording = made(rate_hz, channels, length);
        let (written, opened, _) = round(&recording);
        assert_eq!(opened.format(), "EDF+C");
        assert_near(&recording, &written, &opened);
        assert!(written.padding.len() <= 1, "{written:?}");
        assert_eq!(
            opened.length(),
            length + written.padding.iter().map(|padding| padding.len()).sum::<usize>()
        );
    }
}

#[test]
fn the_range_is_as_narrow_as_the_values() {
    let recording = made(160.0, 8, 1600);
    let (_, opened, _) = round(&recording);
    for (i, signal) in opened.signals().iter().enumerate() {
        let samples = recording.channel(i);
        let min = samples.iter().copied().fold(f32::INFINITY, f32::min);
        let max = samples.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let [low, high] = signal.range.unwrap();
        assert!(low <= f64::from(min) && high >= f64::from(max));
        // Eight characters have room for at least five digits behind a small number's point.
        let slack = (high - low) - f64::from(max - min);
        assert!(slack <= 2e-5_f64.max(2e-5 * high.abs().max(low.abs())), "{i}: {slack}");
    }
}

#[test]
fn padding_is_reported_and_repeats_the_last_value() {
    // 997 is prime: no record but one of 1 or 997 samples divides it, and the latter is too long.
    let recording = made(160.0, 200, 997);
    let (written, opened, _) = round(&recording);
    assert_eq!(written.padding.len(), 1);
    assert_eq!((written.padding[0].start, written.padding[0].end), (997, opened.length()));
    let read = opened.recording(Some(&[3])).unwrap();
    assert!(read.samples[997..].iter().all(|&value| value == read.samples[996]));
}

#[test]
fn events_come_back_with_their_durations() {
    let mut recording = made(250.0, 2, 5000);
    recording.events = vec![
        event(0, "start", 0),
        event(1, "T1", 1025),
        event(1, "also \u{e9}", 3),
        event(333, "Stimulus/S  1", 1),
        event(4999, "T2", 100_000),
    ];
    assert_eq!(round(&recording).1.recording(None).unwrap().events, recording.events);
    // All in one moment: more than one record holds.
    recording.events = (0..3000).map(|i| event(700, &format!("event number {i}"), i)).collect();
    let (_, opened, bytes) = round(&recording);
    assert_eq!(opened.recording(None).unwrap().events, recording.events);
    assert!(bytes.len() < 300_000, "{} bytes", bytes.len());
    // One in each sample, not in order.
    recording.events = (0..5000).rev().map(|i| event(i, &i.to_string(), 0)).collect();
    let (_, opened, _) = round(&recording);
    recording.events.reverse();
    assert_eq!(opened.recording(None).unwrap().events, recording.events);
}

/// EDFlib, on which many programs stand, reads times to 100 ns and refuses records that begin earlier than the one before ends.
#[test]
fn times_are_short_and_those_of_records_exact() {
    for (rate_hz, length, second) in [(100.0 / 3.0, 900, "+0.9"), (512.8, 5128, "+1.25"), (99.9, 9990, "+10")]
    {
        let mut recording = made(rate_hz, 2, length);
        recording.events = (0..length).step_by(7).map(|i| event(i, "T1", i % 50)).collect();
        let (written, opened, bytes) = round(&recording);
        assert_eq!(opened.recording(None).unwrap().events, recording.events);
        // Starts of records are what stands in front of two ends of text.
        let starts: Vec<&str> = bytes
            .windows(3)
            .enumerate()
            .filter(|(_, end)| end == b"\x14\x14\0")
            .map(|(at, _)| {
                let begin = bytes[..at].iter().rposition(|&byte| byte == b'+').unwrap();
                std::str::from_utf8(&bytes[begin..at]).unwrap()
            })
            .collect();
        assert_eq!((starts[0], starts[1]), ("+0", second));
        for (record, start) in starts.iter().enumerate() {
            let decimals = start.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            assert!(decimals <= 7, "{start}");
            let ticks = |seconds: f64| (seconds * 1e7).round() as i64;
            assert_eq!(ticks(start.parse().unwrap()), record as i64 * ticks(written.record_s), "{start}");
        }
    }
}

#[test]
fn breaks_are_kept() {
    for (rate_hz, breaks, length) in [
        (160.0, vec![160, 800], 1000),
        (160.0, vec![7, 21, 28], 61),
        (250.0, vec![1, 2, 3], 10),
        (0.25, vec![3, 5], 8),
    ] {
        let mut recording = made(rate_hz, 3, length).with_breaks(breaks.clone()).unwrap();
        recording.events =
            (0..length).step_by(1 + length / 40).map(|t| event(t, &t.to_string(), 2)).collect();
        let (written, opened, _) = round(&recording);
        assert_eq!(opened.format(), "EDF+D");
        assert_near(&recording, &written, &opened);
        let read = opened.recording(None).unwrap();
        assert_eq!(read.breaks, breaks);
        assert_eq!(read.events, recording.events);
        assert!(written.padding.iter().all(|padding| padding.start == length), "{written:?}");
        let gaps = opened
            .segments()
            .windows(2)
            .map(|pair| pair[1].start_s - pair[0].start_s - pair[0].samples as f64 / rate_hz);
        assert!(gaps.into_iter().all(|gap_s| gap_s >= 1.0));
    }
}

#[test]
fn segments_that_no_record_fits_are_padded() {
    // No record of one sample at 256 Hz has a duration of eight characters.
    let mut recording = made(256.0, 2, 1000).with_breaks(vec![333]).unwrap();
    recording.events = vec![event(332, "before", 0), event(333, "behind", 0), event(999, "last", 0)];
    let (written, opened, _) = round(&recording);
    assert_near(&recording, &written, &opened);
    assert_eq!(written.padding[0].start, 333);
    let read = opened.recording(None).unwrap();
    assert_eq!(read.breaks, [written.padding[0].end]);
    let samples: Vec<usize> = read.events.iter().map(|event| event.sample).collect();
    assert_eq!(samples, [332, written.padding[0].end, written.padding[0].end + 666]);
}

#[test]
fn the_header_says_what_the_format_asks_for() {
    let mut recording = made(160.0, 2, 320);
    recording.channels[1] = Channel { unit: Unit::Arbitrary, ..Channel::named("sixteen letters!") };
    let (written, opened, bytes) = round(&recording);
    assert_eq!(written, edf::WrittenEdf { record_s: 1.0, padding: vec![] });
    let text = |range: std::ops::Range<usize>| std::str::from_utf8(&bytes[range]).unwrap();
    assert_eq!(text(0..8).trim_end(), "0");
    assert_eq!(text(8..88).trim_end(), "X X X X");
    assert_eq!(text(88..168).trim_end(), "Startdate X X X X");
    assert_eq!(text(168..184), "01.01.8500.00.00");
    assert_eq!(text(184..192).trim_end(), "1024");
    assert_eq!(text(192..236).trim_end(), "EDF+C");
    assert_eq!((text(236..244).trim_end(), text(244..252).trim_end(), text(252..256)), ("2", "1", "3   "));
    assert_eq!(text(256..304), "C3              sixteen letters!EDF Annotations ");
    assert_eq!(text(256 + 3 * 96..256 + 3 * 104), "uV                      ");
    assert_eq!(opened.recording(Some(&[0, 1])).unwrap().channels, recording.channels);
    let record = (bytes.len() - 1024) / 2;
    assert!(record <= 61440 && bytes[1024 + 640..].starts_with(b"+0\x14\x14\0"));
    assert!(bytes[1024 + record + 640..].starts_with(b"+1\x14\x14\0"));
}

#[test]
fn records_stay_small() {
    let recording = made(5000.0, 100, 20_000);
    let (written, _, bytes) = round(&recording);
    let records = 20_000.0 / 5000.0 / written.record_s;
    assert!((bytes.len() - 256 * 102) as f64 / records <= 61440.0);
}

#[test]
fn what_cannot_be_written_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.edf");
    let refused = |recording: &Recording, says: &str| {
        let error = edf::write(&path, recording).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.to_string().contains("a.edf") && error.hint().is_some());
        assert!(!Path::new(&path).exists());
    };
    let good = made(160.0, 1, 100);
    let with = |change: &dyn Fn(&mut Recording)| {
        let mut recording = good.clone();
        change(&mut recording);
        recording
    };
    refused(&with(&|r| r.samples[7] = f32::NAN), "NaN at sample 7");
    refused(&with(&|r| r.samples[7] = 1e9), "cannot be written");
    refused(&with(&|r| r.samples.clear()), "without samples");
    refused(&with(&|r| r.channels.clear()), "without samples");
    refused(&with(&|r| r.rate_hz = f64::NAN), "without samples or rate");
    refused(&with(&|r| r.rate_hz = 1e-12), "at 0.000000000001 Hz");
    refused(&with(&|r| r.channels[0].name = "more than sixteen".into()), "no label");
    refused(&with(&|r| r.channels[0].name = "\u{b5}V".into()), "no label");
    refused(&with(&|r| r.channels[0].name = "EDF Annotations".into()), "no label");
    refused(&with(&|r| r.channels[0].name = " C3".into()), "no label");
    refused(&with(&|r| r.events = vec![event(0, "a\x14b", 0)]), "no text");
    refused(&with(&|r| r.events = vec![event(0, "", 0)]), "no text");
    refused(&with(&|r| r.events = vec![event(0, "spike@@C3", 0)]), "no text");
    refused(&with(&|r| r.events = vec![event(100, "late", 0)]), "outside");
    refused(&with(&|r| r.events = vec![event(0, &"long ".repeat(20_000), 0)]), "and the events");
    refused(&with(&|r| r.breaks = vec![100]), "gaps");
    refused(&with(&|r| r.breaks = vec![5, 5]), "gaps");
    edf::write(&path, &good).unwrap();
}

/// Thousands of lengths of records are possible, thousands of events are tried in each.
#[test]
fn what_has_no_room_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = made(160.0, 1, 100_000);
    let text = "x".repeat(40_000);
    recording.events = (0..20_000)
        .map(|i| event(4 * i, "T1", 0))
        .chain([event(99_999, &text, 0), event(99_999, &text, 0)])
        .collect();
    let error = edf::write(&folder.path().join("a.edf"), &recording).unwrap_err();
    assert!(error.to_string().contains("and the events"), "{error}");
}

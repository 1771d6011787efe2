//! Channels of triggers: no electrodes in any format, and events where a file tells no others.

use std::path::Path;

use ptsm_io::{Bytes, Error, RecordingFile, SignalKind, brainvision, edf};

use crate::edf_made::{File, MadeSignal, counts, texts};
use crate::fif_made;

fn edf(signals: Vec<MadeSignal>) -> RecordingFile {
    edf::parse(Bytes::from(File::edf("", signals).bytes()), &Path::new("a.edf").into()).unwrap()
}

fn events(opened: &RecordingFile) -> Vec<(usize, &str)> {
    opened.annotations().iter().map(|annotation| (annotation.sample.unwrap(), &*annotation.text)).collect()
}

/// A raw FIF file at 10 Hz of channels of kinds, samples row by row.
fn fif(channels: &[(i32, &str)], rows: &[&[f32]]) -> Result<RecordingFile, Error> {
    let samples: Vec<u8> = rows.iter().copied().flatten().flat_map(|v| v.to_be_bytes()).collect();
    let describe = |file: fif_made::File| {
        let file = file.int(200, channels.len() as i32).float(201, 10.0);
        channels.iter().fold(file, |file, (kind, name)| file.channel(*kind, 1.0, 107, 0, name))
    };
    fif_made::File::new().block(101, describe).block(102, |file| file.tag(300, 4, &samples)).parse()
}

#[test]
fn issue_19_edf_channels_of_triggers_in_microvolts_are_no_electrodes() {
    for label in ["TRG", "Markers", "Events", "StimCode", "Label", "Target", "TTL", "DIN1"] {
        let opened = edf(vec![counts("Cz", &[&[5, 6, 7, 8]]), counts(label, &[&[0, 2, 0, 1]])]);
        assert_eq!(opened.signals()[1].kind, SignalKind::Stimulus, "{label}");
        assert_eq!(opened.electrodes(), [0]);
        assert_eq!(opened.recording(None).unwrap().channels.len(), 1);
        // Alone it is not taken either.
        let opened = edf(vec![counts(label, &[&[0, 2, 0, 1]]), counts("AUX", &[&[1, 2, 3, 4]])]);
        assert!(opened.electrodes().is_empty());
        let error = opened.recording(None).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("a.edf: no channel counts as EEG; it has `{label}` (trigger), `AUX` (other)")
        );
        assert!(error.hint().is_some());
        // Whoever names it gets it.
        assert_eq!(opened.recording(Some(&[0])).unwrap().samples, [0.0, 2.0, 0.0, 1.0]);
    }
}

#[test]
fn issue_19_misc_and_stimulus_channels_of_fif_are_no_electrodes() {
    let opened =
        fif(&[(502, "MISC 001"), (3, "STI 014"), (2, "TRIGGER")], &[&[1.0, 0.0, 0.0], &[2.0, 5.0, 5.0]]);
    let opened = opened.unwrap();
    let kinds: Vec<SignalKind> = opened.signals().iter().map(|signal| signal.kind).collect();
    assert_eq!(kinds, [SignalKind::Other, SignalKind::Stimulus, SignalKind::Stimulus]);
    let error = opened.recording(None).unwrap_err().to_string();
    assert!(error.contains("`MISC 001` (other), `STI 014` (trigger), `TRIGGER` (trigger)"), "{error}");
}

#[test]
fn issue_19_every_trigger_channel_is_read() {
    let channels = [(2, "Cz"), (3, "DIN1"), (3, "DIN2"), (3, "DIN3"), (3, "DIN4")];
    let rows: [&[f32]; 8] = [
        &[0.0, 0.0, 0.0, 0.0, 1.0],
        &[0.0, 1.0, 0.0, 0.0, 1.0],
        &[0.0, 1.0, 1.0, 0.0, 1.0],
        &[0.0, 0.0, 0.0, 0.0, 1.0],
        &[0.0, 0.0, 1.0, 2.0, 1.0],
        &[0.0, 1.0, 0.0, 0.0, 1.0],
        &[0.0, 0.0, 0.0, 4.0, 1.0],
        &[0.0, 1.0, 1.0, 0.0, 1.0],
    ];
    let opened = fif(&channels, &rows).unwrap();
    let expected = [
        (1, "DIN1"),
        (2, "DIN2"),
        (4, "DIN2"),
        (4, "DIN3/2"),
        (5, "DIN1"),
        (6, "DIN3/4"),
        (7, "DIN1"),
        (7, "DIN2"),
    ];
    assert_eq!(events(&opened), expected);
    assert_eq!(
        opened.notes().last().unwrap(),
        "events come from the trigger channels `DIN1`, `DIN2`, `DIN3`; each is called like its channel"
    );
}

#[test]
fn a_channel_that_sums_up_the_others_is_read_alone() {
    let rows: [&[f32]; 5] = [
        &[0.0, 0.0, 0.0, 0.0],
        &[0.0, 1.0, 0.0, 1.0],
        &[0.0, 0.0, 0.0, 0.0],
        &[0.0, 0.0, 1.0, 2.0],
        &[0.0, 0.0, 0.0, 0.0],
    ];
    // By its name, or by what it holds.
    for sum in ["STI 014", "STI101", "D255"] {
        let opened = fif(&[(2, "Cz"), (3, "DIN1"), (3, "DIN2"), (3, sum)], &rows).unwrap();
        assert_eq!(events(&opened), [(1, "1"), (3, "2")], "{sum}");
        assert!(opened.notes().last().unwrap().ends_with(&format!("trigger channel `{sum}`")));
    }
    // One that holds nothing sums up nothing.
    let rows: Vec<Vec<f32>> = rows.iter().map(|row| vec![row[0], row[1], row[2], 0.0]).collect();
    let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
    let opened = fif(&[(2, "Cz"), (3, "DIN1"), (3, "DIN2"), (3, "STI 014")], &rows).unwrap();
    assert_eq!(events(&opened), [(1, "DIN1"), (3, "DIN2")]);
}

#[test]
fn edf_without_annotations_has_the_events_of_its_trigger_channel() {
    let eeg = || counts("Cz", &[&[5, 6, 7, 8], &[5, 6, 7, 8]]);
    let trigger = || counts("TRG", &[&[0, 2, 2, 0], &[0, 1, 3, 0]]);
    let opened = edf(vec![eeg(), trigger()]);
    assert_eq!(events(&opened), [(1, "2"), (5, "1"), (6, "3")]);
    assert_eq!(opened.notes(), ["events come from the trigger channel `TRG`"]);
    // Codes in volts are codes all the same, and what is no code begins nothing.
    let opened = edf(vec![eeg(), MadeSignal { unit: b"V", ..trigger() }]);
    assert_eq!(events(&opened).len(), 3);
    let analog =
        MadeSignal { limits: ["0", "1", "0", "10"], ..counts("Photodiode", &[&[0, 2, 2, 0], &[0, 1, 3, 0]]) };
    let opened = edf(vec![eeg(), analog]);
    assert!(opened.annotations().is_empty() && opened.notes()[0].contains("other than whole numbers"));
    // Annotations go before triggers.
    let mut file = File::edf("EDF+C", vec![eeg(), trigger()]);
    file.signals.push(texts("EDF Annotations", 20, &[b"+0\x14\x14\0+0.5\x14T1\x14\0", b"+1\x14\x14\0"]));
    let opened = edf::parse(Bytes::from(file.bytes()), &Path::new("a.edf").into()).unwrap();
    assert_eq!(events(&opened), [(2, "T1")]);
}

#[test]
fn brainvision_without_markers_has_the_events_of_its_trigger_channel() {
    let header = b"Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nDataFile=a.eeg\nDataFormat=BINARY\n\
        DataOrientation=VECTORIZED\nNumberOfChannels=2\nSamplingInterval=100000\n[Binary Infos]\nBinaryFormat=IEEE_FLOAT_32\n\
        [Channel Infos]\nCh1=Cz,,1,uV\nCh2=Trigger,,1,uV\n";
    let samples: [f32; 10] = [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 7.0, 0.0, 8.0, 0.0];
    let samples = || Bytes::from(samples.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
    let opened = brainvision::parse(Path::new("a.vhdr"), header, None, samples()).unwrap();
    assert_eq!(events(&opened), [(1, "7"), (3, "8")]);
    assert_eq!(opened.electrodes(), [0]);
    let markers =
        b"Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\nMk1=Comment,T1,3,1,0\n";
    let opened = brainvision::parse(Path::new("a.vhdr"), header, Some(markers), samples()).unwrap();
    assert_eq!(events(&opened), [(2, "Comment/T1")]);
}

//! Epochs written as FIF and read again.
use ptsm_io::{SignalKind, fif};
use ptsm_signal::{Channel, Layout, Position, SubjectId, TaskDeclaration, Trial, Trials, Unit};

const SAMPLES: usize = 5;

fn trials(names: &[&str], classes: &[&str]) -> Trials {
    let channels = names.iter().map(|name| Channel::named(name)).collect::<Vec<_>>();
    let layout = Layout {
        samples: SAMPLES,
        rate_hz: 100.0,
        start_s: -0.02,
        classes: classes.iter().map(|class| class.to_string()).collect(),
        task: TaskDeclaration::default(),
        channels,
    };
    let trial = |i: u32| Trial {
        label: i % classes.len() as u32,
        subject: SubjectId(i / 2 + 1),
        session: 1,
        run: i + 1,
        cue_s: 1.5 * f64::from(i),
    };
    let info: Vec<Trial> = (0..4).map(trial).collect();
    let x = (0..4 * names.len() * SAMPLES).map(|i| (i as f32 * 0.37 - 7.0) * 3.3).collect();
    Trials::new(layout, x, info).unwrap()
}

/// All samples of a file, trial by trial, channel by channel.
fn samples(opened: &ptsm_io::RecordingFile) -> Vec<f32> {
    let channels: Vec<usize> = (0..opened.signals().len()).collect();
    let mut all = vec![];
    for trial in 0..opened.length() / SAMPLES {
        let mut x = vec![0.0; channels.len() * SAMPLES];
        opened.read(&channels, trial * SAMPLES, &mut x).unwrap();
        all.extend(x);
    }
    all
}

#[test]
fn epochs_are_read_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a-epo.fif");
    let given = trials(&["C3", "Cz", "C4"], &["left/hand", "r\u{e9}st: \u{3b1}"]);
    for microvolts in [true, false] {
        fif::write_epochs(&path, &given, microvolts).unwrap();
        let opened = fif::open(&path).unwrap();
        assert_eq!((opened.format(), opened.notes().len(), opened.rate_hz()), ("FIF epochs", 0, 100.0));
        let epochs = opened.epochs().unwrap();
        assert_eq!((epochs.samples, epochs.start_s), (SAMPLES, -0.02));
        let classes = ["left/hand", "r\u{e9}st: \u{3b1}", "left/hand", "r\u{e9}st: \u{3b1}"];
        assert_eq!(epochs.codes, classes);
        for (signal, channel) in opened.signals().iter().zip(&given.layout().channels) {
            assert_eq!((&signal.name, signal.kind), (&channel.name, SignalKind::Eeg));
            assert_eq!((signal.microvolts, &*signal.unit), (microvolts, if microvolts { "V" } else { "" }));
            let distance =
                |a: Position, b: Position| (a.x - b.x).abs() + (a.y - b.y).abs() + (a.z - b.z).abs();
            // Places are read as directions, and the table of electrodes has four digits.
            assert!(distance(signal.position.unwrap(), channel.position.unwrap()) < 1e-3);
        }
        let read = samples(&opened);
        assert_eq!(read.len(), given.to_vec().len());
        for (a, b) in read.iter().zip(given.to_vec()) {
            assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} {b}");
            assert!(microvolts || *a == b, "{a} {b}");
        }
    }
    // The same epochs are the same bytes.
    let bytes = std::fs::read(&path).unwrap();
    fif::write_epochs(&path, &given, false).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let text = String::from_utf8_lossy(&bytes);
    let metadata = r#"[{"subject":1,"session":1,"run":1,"label":"left/hand","cue_s":0.0},{"subject":1,"session":1,"run":2,"label":"r\u00e9st: \u03b1","cue_s":1.5},"#;
    assert!(text.contains(metadata));
}

#[test]
fn long_names_and_unknown_places_survive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a-epo.fif");
    let names = ["an electrode with a long name", "an electrode with a longer name", "Cz", "\u{3b1}"];
    let given = trials(&names, &["a", "b"]);
    assert!(given.layout().channels[0].position.is_none());
    fif::write_epochs(&path, &given, true).unwrap();
    let opened = fif::open(&path).unwrap();
    let read: Vec<&str> = opened.signals().iter().map(|signal| &*signal.name).collect();
    let named: Vec<&str> = given.layout().channels.iter().map(|channel| &*channel.name).collect();
    assert_eq!(read, named);
    assert!(opened.signals()[0].position.is_none() && opened.signals()[2].position.is_some());
    assert_eq!(given.layout().channels[0].unit, Unit::Microvolts);
}

#[test]
fn what_fif_cannot_hold_is_refused_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a-epo.fif");
    let error = fif::write_epochs(&path, &trials(&["C3"], &["a;b", "c"]), true).unwrap_err();
    assert!(error.to_string().contains("class `a;b` cannot be named") && error.hint().is_some(), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

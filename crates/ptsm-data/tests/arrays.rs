//! Users' arrays: what is read, what is refused, and in which words.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use ptsm_data::arrays::{LabelHandling, read, read_folder, read_trials, write_trials};
use ptsm_io::npy::{Array, Data};
use ptsm_io::npz::{self, Compression};
use ptsm_signal::{
    Channel, Layout, Paradigm, Position, SubjectId, Symmetry, TaskDeclaration, Trial, Trials, Unit,
};

/// A file under construction: four trials, two channels, three samples.
struct Builder {
    folder: tempfile::TempDir,
    arrays: Vec<(&'static str, Array)>,
}

impl Builder {
    fn new() -> Builder {
        let x = (0..24).map(|v| v as f32).collect::<Vec<_>>();
        let arrays = vec![
            ("X", Array::new(vec![4, 2, 3], x).unwrap()),
            ("y", Array::vector(vec![0_i64, 1, 1, 0])),
            ("subject", Array::vector(vec![3_i32, 3, 9, 9])),
            ("channels", texts(&["C3", "FCZ"])),
            ("rate_hz", Array::scalar(128.0)),
        ];
        Builder { folder: tempfile::tempdir().unwrap(), arrays }
    }

    fn with(mut self, key: &'static str, array: Array) -> Builder {
        self.arrays.retain(|(name, _)| *name != key);
        self.arrays.push((key, array));
        self
    }

    fn without(mut self, key: &str) -> Builder {
        self.arrays.retain(|(name, _)| *name != key);
        self
    }

    fn save(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        save(&path, &self.arrays);
        path
    }

    /// The error and its hint.
    fn refused(&self) -> (String, String) {
        let error = read_trials(&self.save("mine.npz")).unwrap_err();
        assert!(error.to_string().contains("mine.npz"), "{error}");
        (error.to_string(), error.hint().unwrap_or_default().to_string())
    }
}

fn save(path: &Path, arrays: &[(&'static str, Array)]) {
    let members: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    npz::write(path, &members, Compression::Deflated).unwrap();
}

fn texts(names: &[&str]) -> Array {
    Array::vector(names.iter().map(|name| name.to_string()).collect::<Vec<_>>())
}

fn labels(trials: &Trials) -> Vec<u32> {
    trials.info().iter().map(|t| t.label).collect()
}

fn subjects(trials: &Trials) -> Vec<u32> {
    trials.info().iter().map(|t| t.subject.0).collect()
}

#[test]
fn a_plain_file_becomes_trials() {
    let arrays = read_trials(&Builder::new().save("mine.npz")).unwrap();
    let (trials, layout) = (&arrays.trials, arrays.trials.layout());
    assert_eq!(arrays.notes, Vec::<String>::new());
    assert_eq!(layout.classes, ["0", "1"]);
    assert_eq!((layout.samples, layout.rate_hz, layout.start_s), (3, 128.0, 0.0));
    assert_eq!(layout.channels[1].name, "FCz");
    assert!(layout.channels.iter().all(|c| c.position.is_some() && c.unit == Unit::Arbitrary));
    assert_eq!(trials.signal(1)[0], 6.0);
    assert_eq!(subjects(trials), [3, 3, 9, 9]);
    assert_eq!((trials.info()[0].session, trials.info()[0].run), (1, 1));
    // Without cues trials stay in order.
    assert_eq!(trials.all().at(&[2, 0, 3, 1]).in_time().rows(), [0, 1, 2, 3]);
}

#[test]
fn what_is_missing_is_noted() {
    let builder = Builder::new().without("channels").without("rate_hz");
    let file = builder.save("mine.npz");
    let arrays = read_trials(&file).unwrap();
    assert_eq!(arrays.notes.len(), 2);
    let note = format!("no `rate_hz` in {}: times are counted in samples at 1 Hz", file.display());
    assert_eq!(arrays.notes[0], note);
    assert!(arrays.notes[1].contains("no `channels`"));
    assert_eq!(arrays.trials.layout().rate_hz, 1.0);
    assert_eq!(arrays.trials.layout().channels[1].name, "ch2");
}

/// Without a word of the file nothing is known of its classes but their names.
#[test]
fn a_file_declares_its_paradigm_and_symmetry() {
    let task =
        |builder: Builder| read_trials(&builder.save("mine.npz")).unwrap().trials.layout().task.clone();
    let word = |text: &str| Array::new(vec![], vec![text.to_string()]).unwrap();
    assert_eq!(task(Builder::new()), TaskDeclaration::default());
    let names = || Builder::new().with("classes", texts(&["left", "right"]));
    assert_eq!(task(names()), TaskDeclaration::default());
    let hands = TaskDeclaration::of(Paradigm::MotorImagery).swapping("left", "right");
    let pair = || Array::new(vec![1, 2], vec!["left".to_string(), "right".to_string()]).unwrap();
    assert_eq!(task(names().with("paradigm", word("motor-imagery")).with("symmetry", pair())), hands);
    assert_eq!(
        task(names().with("paradigm", word("motor-imagery")).with("symmetry", word("left=right"))),
        hands
    );
    let numbers = Builder::new().with("symmetry", Array::new(vec![1, 2], vec![0_i64, 1]).unwrap());
    assert_eq!(task(numbers).symmetry.to_string(), "0=1");
    assert_eq!(task(Builder::new().with("symmetry", word("invariant"))).symmetry, Symmetry::Invariant);
    for (builder, says, hint) in [
        (names().with("paradigm", word("imagery")), "there is none of this name", "motor-imagery"),
        (names().with("paradigm", Array::scalar(1.0)), "`paradigm` is ", "motor-imagery"),
        (names().with("symmetry", texts(&["left", "right"])), "of shape [2]", "[[\"left_hand\""),
        (names().with("symmetry", word("left=up")), "there is no class `up`", "left_hand=right_hand"),
        (names().with("symmetry", word("left")), "`left` is no pair", "left_hand=right_hand"),
    ] {
        let (message, advice) = builder.refused();
        assert!(message.contains(says) && advice.contains(hint), "{message}: {advice}");
    }
    let builder = names();
    let (one, other) = (builder.folder.path().join("a.npz"), builder.folder.path().join("b.npz"));
    save(&one, &builder.arrays);
    save(&other, &names().with("symmetry", pair()).arrays);
    let error = read(&[one, other], LabelHandling::Own).unwrap_err().to_string();
    assert!(error.contains("declares paradigm none, symmetry left=right"), "{error}");
}

#[test]
fn other_names_of_the_rate_and_the_channels_are_known() {
    for key in ["sfreq", "fs"] {
        let file = Builder::new().without("rate_hz").with(key, Array::vector(vec![250_i32]));
        assert_eq!(read_trials(&file.save("mine.npz")).unwrap().trials.layout().rate_hz, 250.0);
    }
    let file = Builder::new().without("channels").with("ch_names", texts(&["C3", "C4"]));
    assert!(read_trials(&file.save("mine.npz")).unwrap().notes.is_empty());
}

#[test]
fn labels_of_every_kind() {
    let read = |builder: Builder| {
        let trials = read_trials(&builder.save("mine.npz")).unwrap().trials;
        (labels(&trials), trials.layout().classes.clone())
    };
    let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    let (y, classes) = read(Builder::new().with("y", texts(&["right", "left", "left", "right"])));
    assert_eq!((y, classes), (vec![1, 0, 0, 1], names(&["left", "right"])));
    let (y, classes) = read(Builder::new().with("y", Array::vector(vec![10_i16, 9, 9, -1])));
    assert_eq!((y, classes), (vec![2, 1, 1, 0], names(&["-1", "9", "10"])));
    let (y, classes) = read(Builder::new().with("y", Array::vector(vec![true, false, true, true])));
    assert_eq!((y, classes), (vec![1, 0, 1, 1], names(&["false", "true"])));
    let hands = || Builder::new().with("classes", texts(&["right", "left", "feet"]));
    assert_eq!(read(hands()).0, [0, 1, 1, 0]);
    let (y, classes) = read(hands().with("y", texts(&["right", "left", "feet", "left"])));
    assert_eq!((y, classes), (vec![0, 1, 2, 1], names(&["right", "left", "feet"])));
    // One class, one subject: to be decoded, not trained on, so not refused here.
    let one =
        Builder::new().with("y", Array::vector(vec![5_u8; 4])).with("subject", Array::vector(vec![1_u8; 4]));
    assert_eq!(read(one), (vec![0; 4], names(&["5"])));
}

#[test]
fn names_of_subjects_become_numbers() {
    let builder = Builder::new().with("subject", texts(&["Zoe", "Adam", "Zoe", "Mia"]));
    let trials = read_trials(&builder.save("mine.npz")).unwrap().trials;
    assert_eq!(subjects(&trials), [3, 1, 3, 2]);
    assert!(!format!("{trials:?}").contains("Adam"));
}

#[test]
fn issue_19_voltages_are_kept_in_microvolts() {
    for (unit, factor) in [("V", 1e6), ("mV", 1e3), ("uV", 1.0), ("nV", 1e-3)] {
        let trials =
            read_trials(&Builder::new().with("unit", texts(&[unit])).save("mine.npz")).unwrap().trials;
        assert_eq!(trials.layout().channels[0].unit, Unit::Microvolts);
        assert_eq!(trials.signal(0)[1], factor as f32, "{unit}");
    }
    let large = Array::new(vec![4, 2, 3], vec![1e35_f32; 24]).unwrap();
    let (error, _) = Builder::new().with("X", large).with("unit", texts(&["V"])).refused();
    assert!(error.contains("too large for single precision when counted in microvolts"), "{error}");
}

#[test]
fn mistakes_are_named_with_a_remedy() {
    let float = || Array::vector(vec![0.0_f64; 4]);
    let three = || Array::vector(vec![1_i64; 3]);
    let x = |shape: &[usize]| Array::new(shape.to_vec(), vec![0.0_f32; shape.iter().product()]).unwrap();
    for (builder, says, hint) in [
        (Builder::new().without("X").with("x", x(&[4, 2, 3])), "has no array `X`", "is `x` meant?"),
        (
            Builder::new().without("subject").with("subjects", three()),
            "has no array `subject`",
            "`subjects` meant?",
        ),
        (Builder::new().without("y"), "has no array `y`", "the file has `X`, `channels`"),
        (Builder::new().with("X", x(&[4, 6])), "`X` has the shape [4, 6]", "X[:, None, :]"),
        (Builder::new().with("X", x(&[4, 1, 2, 3])), "`X` has the shape [4, 1, 2, 3]", "squeeze"),
        (Builder::new().with("X", x(&[4, 0, 3])), "`X` has the shape [4, 0, 3]", "trials, channels, samples"),
        (Builder::new().with("X", x(&[0, 2, 3])), "no trials", "at least one"),
        (
            Builder::new().with("X", Array::new(vec![4, 2, 1], vec![String::new(); 8]).unwrap()),
            "`X` is text",
            "float32",
        ),
        (Builder::new().with("y", float()), "`y` is float64; integers or text are needed", "y.astype(int)"),
        (Builder::new().with("y", three()), "`y` has 3 values, `X` has 4 trials", "one value per trial"),
        (
            Builder::new().with("y", Array::new(vec![4, 1], vec![0_i64; 4]).unwrap()),
            "`y` has the shape [4, 1]",
            "y.ravel()",
        ),
        (Builder::new().with("subject", three()), "`subject` has 3 values", "one value per trial"),
        (Builder::new().with("run", three()), "`run` has 3 values", "one value per trial"),
        (
            Builder::new().with("subject", Array::vector(vec![-1_i64, 0, 0, 0])),
            "`subject` of trial 0 is -1",
            "from 1",
        ),
        (Builder::new().with("cue_s", texts(&["a"; 4])), "`cue_s` is text", "floats"),
        (Builder::new().with("cue_s", Array::vector(vec![f64::NAN; 4])), "not a number", "leave"),
        (
            Builder::new().with("channels", texts(&["C3"])),
            "`channels` has 1 names, `X` has 2 channels",
            "per channel",
        ),
        (Builder::new().with("channels", texts(&["C3", "C3"])), "`C3` twice", "of its own"),
        (
            Builder::new().with("channels", texts(&["T3", "t7"])),
            "`T3` and `t7`, which are one electrode",
            "of its own",
        ),
        (Builder::new().with("channels", Array::vector(vec![1_i32, 2])), "`channels` is int32", "dtype=str"),
        (Builder::new().with("rate_hz", Array::scalar(-1.0)), "`rate_hz` is -1", "possible"),
        (Builder::new().with("rate_hz", float()), "`rate_hz` is float64 of shape [4]", "scalar"),
        (
            Builder::new().with("classes", texts(&["left"])),
            "`y` of trial 1 is `1`; the classes are [\"left\"]",
            "from 0",
        ),
        (Builder::new().with("unit", texts(&["tesla"])), "`unit` is", "uV"),
        (Builder::new().with("unit", texts(&["V", "V"])), "`unit` is", "uV"),
        (Builder::new().with("positions", float()), "`positions` is float64 of shape [4]", "x, y, z"),
    ] {
        let (error, remedy) = builder.refused();
        assert!(error.contains(says), "{error} | {says}");
        assert!(remedy.contains(hint), "{error}: {remedy} | {hint}");
    }
}

#[test]
fn values_that_are_no_numbers_are_located() {
    for (value, says) in [
        (f64::NAN, "trial 2, channel `FCz`, sample 1 of `X` is NaN, not a number"),
        (f64::NEG_INFINITY, "sample 1 of `X` is -inf, not a number"),
        (1e300, "sample 1 of `X` is 1e300, too large for single precision"),
    ] {
        let mut x = vec![0.0; 24];
        x[2 * 6 + 3 + 1] = value;
        let (error, hint) = Builder::new().with("X", Array::new(vec![4, 2, 3], x).unwrap()).refused();
        assert!(error.contains(says), "{error}");
        assert!(hint.contains("leave such trials out"));
    }
    // The same in single precision.
    let x = Data::F32(vec![f32::INFINITY; 24]);
    assert!(Builder::new().with("X", Array::new(vec![4, 2, 3], x).unwrap()).refused().0.contains("trial 0"));
}

#[test]
fn what_is_written_is_read_back() {
    let place = Position { x: 0.6, y: 0.0, z: 0.8 };
    for (unit, position) in [(Unit::Microvolts, None), (Unit::Arbitrary, Some(place))] {
        let mut odd = Channel { unit, ..Channel::named("ear left") };
        odd.position = position;
        let layout = Layout {
            channels: vec![Channel { unit, ..Channel::named("C3") }, odd],
            samples: 2,
            rate_hz: 99.5,
            start_s: -0.25,
            classes: vec!["größer".into(), "kleiner".into(), "never seen".into()],
            task: TaskDeclaration::of(Paradigm::Other).swapping("größer", "kleiner"),
        };
        let trial = |label, subject, session, run, cue_s| Trial {
            label,
            subject: SubjectId(subject),
            session,
            run,
            cue_s,
        };
        let trials = vec![trial(1, 7, 2, 3, 1.5), trial(0, 4, 1, 1, 0.1)];
        let x = [1.0, -2.5, f32::MIN_POSITIVE, 1e-45, 0.1, f32::MAX, -0.0, 3.0];
        let trials = Trials::new(layout, x.to_vec(), trials).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        write_trials(&path, &trials).unwrap();
        let back = read_trials(&path).unwrap();
        assert_eq!(back.trials, trials);
        assert!(back.notes.is_empty());
    }
}

#[test]
fn a_folder_is_one_set() {
    let builder = Builder::new().without("rate_hz").with("subject", texts(&["Zoe"; 4]));
    let other = Builder::new()
        .without("rate_hz")
        .with("subject", texts(&["Adam"; 4]))
        .with("y", Array::vector(vec![1_i64, 2, 2, 1]));
    // Read in the order of names: Zoe's first. The same name would be the same subject.
    builder.save("a.npz");
    save(&builder.folder.path().join("b.npz"), &other.arrays);
    std::fs::write(builder.folder.path().join("notes.txt"), "not read").unwrap();
    std::fs::write(builder.folder.path().join(".c.npz.1-0.partial"), "not read").unwrap();
    let arrays = read_folder(builder.folder.path()).unwrap();
    assert_eq!(subjects(&arrays.trials), [2, 2, 2, 2, 1, 1, 1, 1]);
    assert_eq!(arrays.trials.layout().classes, ["0", "1", "2"]);
    assert_eq!(labels(&arrays.trials), [0, 1, 1, 0, 1, 2, 2, 1]);
    assert_eq!(arrays.notes.len(), 1);
    assert!(arrays.notes[0].contains("a.npz and 1 more"), "{:?}", arrays.notes);
}

#[test]
fn files_follow_one_another_in_time() {
    let runs = || Array::vector(vec![1_i64, 1, 2, 2]);
    let cues = || Array::vector(vec![0.0, 5.0, 10.0, 15.0]);
    let one = |builder: Builder| builder.with("subject", Array::vector(vec![3_i64; 4]));
    for with in [(|b: Builder| b) as fn(Builder) -> Builder, |b: Builder| {
        b.with("cue_s", Array::vector(vec![0.0, 5.0, 10.0, 15.0]))
    }] {
        let first = one(with(Builder::new()));
        first.save("a.npz");
        save(&first.folder.path().join("b.npz"), &first.arrays);
        let trials = read_folder(first.folder.path()).unwrap().trials;
        assert_eq!(trials.all().in_time().rows(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(trials.info().iter().map(|t| t.run).collect::<Vec<_>>(), [1, 1, 1, 1, 2, 2, 2, 2]);
    }
    // Runs that go on in the next file; cues that are known are kept.
    let first = one(Builder::new()).with("run", runs());
    first.save("a.npz");
    save(&first.folder.path().join("b.npz"), &first.arrays);
    let trials = read_folder(first.folder.path()).unwrap().trials;
    assert_eq!(trials.all().in_time().rows(), [0, 1, 4, 5, 2, 3, 6, 7]);
    let known = one(Builder::new()).with("cue_s", cues());
    assert_eq!(read_trials(&known.save("a.npz")).unwrap().trials.info()[3].cue_s, 15.0);
    // One file for each subject is the first run of each.
    let first = one(Builder::new());
    first.save("a.npz");
    save(
        &first.folder.path().join("b.npz"),
        &Builder::new().with("subject", Array::vector(vec![4_i64; 4])).arrays,
    );
    let trials = read_folder(first.folder.path()).unwrap().trials;
    assert!(trials.info().iter().all(|t| t.run == 1));
}

#[test]
fn files_that_do_not_fit_together_are_refused() {
    let x = || Array::new(vec![4, 2, 5], vec![0.0_f32; 40]).unwrap();
    for (other, says) in [
        (Builder::new().with("X", x()), "3 samples are needed, these have 5"),
        (
            Builder::new().with("start_s", Array::scalar(0.5)),
            "must begin 0 s after the cue, these begin 0.5 s",
        ),
        (Builder::new().with("subject", texts(&["a"; 4])), "`subject` is text, but integers in"),
        (Builder::new().with("classes", texts(&["a", "b"])), "has `classes` [\"a\", \"b\"], "),
        (Builder::new().with("channels", texts(&["C3", "C4"])), "channel 1 must be `FCz`, these have `C4`"),
    ] {
        let first = Builder::new();
        first.save("a.npz");
        save(&first.folder.path().join("b.npz"), &other.arrays);
        let error = read_folder(first.folder.path()).unwrap_err();
        assert!(error.to_string().contains(says) && error.to_string().contains("b.npz"), "{error}");
    }
    let empty = tempfile::tempdir().unwrap();
    let error = read_folder(empty.path()).unwrap_err();
    assert!(error.to_string().contains("has no `.npz` file") && error.hint().is_some());
    assert!(read_folder(&empty.path().join("absent")).is_err());
}

/// For a decoder that exists: its classes decide the labels, and where nothing is scored no labels are needed.
#[test]
fn a_decoders_classes_are_taken() {
    let classes = ["left", "rest", "right"].map(String::from);
    // The builder's folder lasts as long as the builder.
    let builder = Builder::new().with("y", texts(&["right", "left", "right", "left"]));
    let file = [builder.save("mine.npz")];
    let own = read(&file, LabelHandling::Own).unwrap().trials;
    assert_eq!((labels(&own), own.layout().classes.len()), (vec![1, 0, 1, 0], 2));
    let reordered = read(&file, LabelHandling::Classes(&classes)).unwrap().trials;
    assert_eq!(
        (labels(&reordered), reordered.layout().classes.clone()),
        (vec![2, 0, 2, 0], classes.to_vec())
    );
    let builder = builder.with("y", texts(&["right", "left", "up", "left"]));
    let error =
        read(&[builder.save("foreign.npz")], LabelHandling::Classes(&classes)).unwrap_err().to_string();
    assert!(error.contains("`up`") && error.contains("\"rest\""), "{error}");
    let builder = builder.without("y");
    let bare = read(&[builder.save("bare.npz")], LabelHandling::Unlabelled(&classes)).unwrap().trials;
    assert_eq!((bare.len(), bare.layout().classes.len()), (4, 3));
}

#[test]
fn issue_19_a_channel_of_triggers_is_refused() {
    for name in ["STI 014", "TRIGGER", "StimCode"] {
        let (error, hint) = Builder::new().with("channels", texts(&["C3", name])).refused();
        assert!(error.contains(&format!("channel `{name}` holds triggers by its name")), "{error}");
        assert!(hint.contains("epochs.pick(\"eeg\")"), "{hint}");
    }
}

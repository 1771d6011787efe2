//! Recordings of one's own: listed, checked, trained on.

use ptsm::io::edf;
use ptsm::signal::{Channel, Event, Recording};

use crate::common::{Case, Place, check, random};

/// Writes a minute of three electrodes with ten cues: rhythms over one hand area are weaker, one way for each class. Every recording has a
/// frequency of its own, or two of them would be one recording with other noise.
fn recording(place: &Place, name: &str, seed: u64) {
    let mut random = random(seed);
    let (rate, length) = (100.0, 6000);
    let events: Vec<Event> = (0..10)
        .map(|i| Event { sample: 300 + 550 * i, code: ["T1", "T2"][i % 2].into(), samples: 400 })
        .collect();
    let class = |t: usize| events.iter().rev().find(|e| e.sample <= t).map(|e| &*e.code);
    let mut samples = vec![];
    for channel in 0..3 {
        for t in 0..length {
            let weak = matches!((channel, class(t)), (0, Some("T2")) | (2, Some("T1")));
            let rhythm =
                if weak { 3.0 } else { 20.0 } * ((0.6 + 0.003 * seed as f64) * t as f64 + seed as f64).sin();
            samples.push((rhythm + 20.0 * (random() - 0.5)) as f32);
        }
    }
    let recording =
        Recording::new(rate, ["C3", "Cz", "C4"].map(Channel::named).to_vec(), samples, events).unwrap();
    edf::write(&place.path(name), &recording).unwrap();
}

/// A folder `rec` with two runs of six subjects.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("rec")).unwrap();
    for subject in 1..=6 {
        for run in 1..=2 {
            recording(&place, &format!("rec/S0{subject}R0{run}.edf"), 10 * subject + run);
        }
    }
    place
}

#[test]
fn a_folder_is_added_checked_and_trained_on() {
    let place = place();
    let added = place.ptsm("data add rec").succeed();
    assert!(
        added.stdout.starts_with("rec/rec.toml: 12 recordings of 6 subjects, 2 event codes for classes\n"),
        "{}",
        added.stdout
    );
    for line in ["ptsm data check files:rec/rec.toml", "ptsm train --data files:rec/rec.toml --out run"] {
        assert!(added.stdout.contains(line), "{}", added.stdout);
    }
    let text = String::from_utf8(place.read("rec/rec.toml")).unwrap();
    place.write("rec/rec.toml", text.replace("\nT1 = ", "\nleft = ").replace("\nT2 = ", "\nright = "));

    let checked = place.ptsm("data check files:rec/rec.toml").succeed();
    assert!(
        checked.stdout.contains("files:rec.toml: 6 subjects, 12 recordings, 120 trials\n"),
        "{}",
        checked.stdout
    );
    assert!(checked.stdout.ends_with("\nnothing is wrong\n"), "{}", checked.stdout);
    let shown = place.ptsm("data show files:rec/rec.toml --json").succeed().json();
    assert_eq!(shown["layout"]["classes"], serde_json::json!(["left", "right"]));
    let train = "train --json --data files:rec/rec.toml --model csp-lda --subjects 1-5 --out run";
    place.ptsm(train).succeed();
    let scored = place.ptsm("evaluate run --json --data files:rec/rec.toml").succeed().json();
    let scored = serde_json::to_string(&scored).unwrap();
    assert!(scored.contains("\"accuracy\":1.0"), "{scored}");
}

#[test]
fn results_are_json_too() {
    let place = place();
    place.write("rec/broken.edf", "nonsense");
    let added = place.ptsm("data add rec --out m.toml --json").succeed();
    let json = added.json();
    assert_eq!(
        (&json["recordings"], &json["subjects"], &json["manifest"]),
        (&12.into(), &6.into(), &"m.toml".into())
    );
    assert_eq!(json["unreadable"][0]["file"], "rec/broken.edf");
    assert_eq!(json["events"][0]["code"], "T1");
    assert!(added.stderr.contains("note: not read: rec/broken.edf: "), "{}", added.stderr);
    let json = place.ptsm("data check files:m.toml --json --subjects 2-3").succeed().json();
    assert_eq!(json["people"][1]["trials"], serde_json::json!([10, 10]));
    assert_eq!(json["problems"], serde_json::json!([]));
    // The second time only by force.
    let again = place.ptsm("data add rec --out m.toml").run();
    assert_eq!(again.code, Some(1));
    place.ptsm("data add rec --out m.toml --force").succeed();
}

#[test]
fn damage_is_reported_and_ends_with_one() {
    let place = place();
    place.ptsm("data add rec --out m.toml").succeed();
    std::fs::copy(place.path("rec/S01R01.edf"), place.path("rec/S02R01.edf")).unwrap();
    std::fs::remove_file(place.path("rec/S03R02.edf")).unwrap();
    place.write("rec/S04R01.edf", "nonsense");
    let outcome = place.ptsm("data check files:m.toml").run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    for part in [
        "wrong: files are not there\n  S03\n",
        "wrong: recordings cannot be read\n  S04 session 1 run 1: ",
        "wrong: recordings have the same samples\n  S02 session 1 run 1: the same as S01 session 1 run 1\n",
        "  to do: ",
    ] {
        assert!(outcome.stdout.contains(part), "{part}\n{}", outcome.stdout);
    }
    let error = "error: files:m.toml: files are not there (1), recordings cannot be read (1), recordings have the same samples (1)\nhint: ";
    assert!(outcome.stderr.contains(error), "{}", outcome.stderr);
    assert!(!outcome.stdout.contains(".edf ") && !outcome.stdout.contains("rec/"), "{}", outcome.stdout);
    let named = place.ptsm("data check files:m.toml --labels --threads 1").run();
    assert!(named.stdout.contains("wrong: files are not there\n  rec/S03R02.edf\n"), "{}", named.stdout);
    let json = place.ptsm("data check files:m.toml --json").run();
    assert_eq!(json.code, Some(1));
    assert_eq!(json.json()["problems"][0]["kind"], "missing");
}

#[test]
fn trials_have_nothing_to_check() {
    let place = Place::with_data();
    let checked = place.ptsm("data check a.npz").succeed();
    assert_eq!(
        checked.stdout,
        "a.npz: 128 trials of 8 subjects; they load, nothing is wrong, and epochs have no recording to check\n"
    );
    assert_eq!(place.ptsm("data check a.npz --json").succeed().json()["trials"], 128);
}

#[test]
fn what_cannot_be_added_or_checked() {
    let place = place();
    std::fs::create_dir(place.path("empty")).unwrap();
    std::fs::create_dir_all(place.path("full")).unwrap();
    std::fs::copy(place.path("rec/S01R01.edf"), place.path("full/a.edf")).unwrap();
    place.write("full/full.toml", "mine");
    place.ptsm("data add rec --out m.toml").succeed();
    let text = String::from_utf8(place.read("m.toml")).unwrap();
    place.write("typo.toml", text.replacen("subject = 3", "subjet = 3", 1));
    place.write("events.toml", text.replace("[\"T1\"]", "[\"T9\"]"));
    place.write("key.toml", text.replace("window_s", "window"));
    place.write("gone.toml", text.replace("rec/", "elsewhere/"));
    check(
        &place,
        &[
            Case::new("data add nowhere", &["nowhere", "no such folder"], &["folder of recordings"]),
            Case::new("data add m.toml", &["m.toml", "no such folder"], &["folder of recordings"]),
            Case::new("data add empty", &["empty", "no recording in it"], &[".edf", ".mat"]),
            Case::new("data add full", &["full/full.toml", "there already"], &["--out", "--force"]),
            Case::new("data add rec --out no/m.toml", &["no", "cannot write there"], &["--out"]),
            Case::new("data add rec --out empty", &["empty", "is a folder"], &["name of a file"]),
            Case::line("data add", &["<FOLDER>"]),
            Case::new("data check files:absent.toml", &["absent.toml", "cannot read"], &["data add DIR"]),
            Case::new("data check files:typo.toml", &["typo.toml", "line", "`subjet`"], &["`subject` meant"]),
            Case::new("data check files:events.toml", &["events.toml", "class `T1`"], &["T1 (60), T2 (60)"]),
            Case::new("data check files:key.toml", &["`pipeline.window`"], &["`window_s`"]),
            Case::new("data check files:gone.toml", &["none of its 12", "elsewhere"], &["data add"]),
            Case::new("data check files:m.toml --with x=1", &["no choice `x`"], &["nothing to choose"]),
            Case::new("data check files:m.toml --subjects 9", &["no subject 9"], &["choose among"]),
            Case::new("data check bids:nowhere", &["no folder nowhere"], &["dataset_description.json"]),
            Case::new("data check bids:rec", &["rec", "`sub-..`"], &["dataset_description.json"]),
            Case::new("data check nothing", &["`nothing`"], &["known are"]),
            Case::new("train --out x --data files:typo.toml", &["line", "`subjet`"], &["`subject` meant"]),
            Case::new("train --out x --data bids:rec", &["`sub-..`"], &["dataset_description.json"]),
        ],
    );
    assert_eq!(place.read("full/full.toml"), b"mine");
    #[cfg(target_os = "linux")]
    check(
        &place,
        &[Case::new("data add rec --out /proc/x.toml", &["/proc/x.toml", "cannot write"], &["path"])],
    );
}

#[test]
fn what_was_chosen_for_training_is_kept_for_scoring() {
    let place = Place::new();
    for subject in 1..=6 {
        let folder = format!("study/sub-0{subject}/eeg");
        std::fs::create_dir_all(place.path(&folder)).unwrap();
        recording(&place, &format!("{folder}/sub-0{subject}_task-mi_eeg.edf"), 10 * subject);
    }
    place.write("study/dataset_description.json", "{\"Name\": \"hands\", \"BIDSVersion\": \"1.9.0\"}");
    let train =
        "train --data bids:study --with classes=right:T2,left:T1 --model csp-lda --subjects 1-5 --out run";
    place.ptsm(train).succeed();
    let run = String::from_utf8(place.read("run/run.toml")).unwrap();
    assert!(run.contains("classes = \"right:T2,left:T1\""), "{run}");
    // Without a word the choices of the run are taken, and told.
    for line in ["evaluate run --data bids:study", "predict run --data bids:study --subjects 6"] {
        let done = place.ptsm(line).succeed();
        assert!(done.stderr.contains("trained with classes=right:T2,left:T1"), "{}", done.stderr);
        assert!(!done.stderr.contains("no trial of"), "{}", done.stderr);
    }
    // Others are told, and what is missing with them.
    let done = place.ptsm("evaluate run --data bids:study --with classes=left:T1").succeed();
    assert!(done.stderr.contains("given here: classes=left:T1"), "{}", done.stderr);
    assert!(done.stderr.contains("no trial of `right`"), "{}", done.stderr);
    // A file's choices and a flag's go together.
    place.write("my.toml", "with = [\"classes=right:T2,left:T1\"]");
    let both =
        place.ptsm("train --config my.toml --data bids:study --with task=mi --model csp-lda --out both");
    both.succeed();
    let run = String::from_utf8(place.read("both/run.toml")).unwrap();
    assert!(run.contains("classes = \"right:T2,left:T1\"") && run.contains("task = \"mi\""), "{run}");
}

#[test]
fn issue_19_rest_against_task_needs_no_events() {
    let place = place();
    let line = "data add rec --label rest=*R01.edf --label task=*R02.edf --every 2";
    let added = place.ptsm(line).succeed();
    assert!(
        added.stdout.starts_with(
            "rec/rec.toml: 12 recordings of 6 subjects, one label each: rest (6 recordings), task (6 recordings)\n"
        ),
        "{}",
        added.stdout
    );
    let checked = place.ptsm("data check files:rec/rec.toml").succeed();
    assert!(checked.stdout.contains("12 recordings, 360 trials\n"), "{}", checked.stdout);
    let shown = place.ptsm("data show files:rec/rec.toml --json").succeed().json();
    assert_eq!(shown["layout"]["classes"], serde_json::json!(["rest", "task"]));
    assert_eq!(shown["subjects"][0]["classes"], serde_json::json!([30, 30]));
    check(
        &place,
        &[
            Case::new("data add rec --force --label rest", &["`--label rest`"], &["rest=*_rest.edf"]),
            Case::new("data add rec --force --label a=*R09*", &["label `a`", "no recording"], &["--label"]),
            Case::new("data add rec --force --every 0", &["every 0 s"], &["--every 2"]),
            Case::new("data add rec --force --events-from *.log", &["`*.log`"], &["--events-from"]),
        ],
    );
}

#[test]
fn issue_19_events_of_a_table_are_trained_on() {
    let place = Place::new();
    std::fs::create_dir(place.path("rec")).unwrap();
    for subject in 1..=6 {
        recording(&place, &format!("rec/S0{subject}.edf"), subject);
        let rows: String = (0..10)
            .map(|i| format!("{},{}\n", 3.0 + 5.5 * f64::from(i), ["left", "right"][i as usize % 2]))
            .collect();
        place.write(&format!("rec/S0{subject}_events.csv"), format!("onset,label\n{rows}"));
    }
    place.ptsm("data add rec").succeed();
    place.ptsm("train --data files:rec/rec.toml --model csp-lda --subjects 1-5 --out run").succeed();
    let scored = place.ptsm("evaluate run --json --data files:rec/rec.toml").succeed().json();
    let scored = serde_json::to_string(&scored).unwrap();
    assert!(scored.contains("\"accuracy\":1.0"), "{scored}");
}

#[test]
fn issue_19_the_pipeline_is_explained_where_it_is_written() {
    let place = place();
    let text = place.ptsm("data pipeline").succeed().stdout;
    for key in ptsm::signal::PIPELINE_KEYS {
        assert!(text.contains(&format!("\n{} = ", key.name)), "{text}");
        for command in ["train", "benchmark", "tune", "data add"] {
            let help = place.ptsm(&format!("{command} --help")).succeed().stdout;
            let line = format!("\n  {} = {}\n", key.name, key.example);
            assert!(format!("{help}\n").contains(&line) && help.contains("ptsm data pipeline"), "{help}");
        }
    }
    // It is a configuration itself.
    place.write("own.toml", &text);
    place.ptsm("data add rec").succeed();
    place.ptsm("train --data files:rec/rec.toml --model csp-lda --config own.toml --out own").succeed();
    let own = place.ptsm("data pipeline files:rec/rec.toml --json").succeed().json();
    assert_eq!(own["pipeline"]["band"]["high_hz"], 45.0);
    let manifest = String::from_utf8(place.read("rec/rec.toml")).unwrap();
    for line in [
        "\n#band = [0.5, 45.0]\n",
        "\n#rate_hz = 100.0\n",
        "\n#scaling = \"trial_deviation\"\n",
        "\n# pass band in Hz",
    ] {
        assert!(manifest.contains(line), "{line}\n{manifest}");
    }
    place.write("rec/rec.toml", manifest.replace("#band = [0.5, 45.0]", "band = [8, 30]"));
    let own = place.ptsm("data pipeline files:rec/rec.toml --json").succeed().json();
    assert_eq!(
        (&own["pipeline"]["band"]["low_hz"], &own["pipeline"]["rate_hz"]),
        (&8.0.into(), &100.0.into())
    );
    let train = "train --data files:rec/rec.toml --model csp-lda --out";
    place.ptsm(&format!("{train} a --set pipeline.band=[0.5,40]")).succeed();
    let run = String::from_utf8(place.read("a/run.toml")).unwrap();
    assert!(run.contains("high_hz = 40.0"), "{run}");
    place.write("c.toml", "pipeline.band = [0.5, 30]\n");
    place.ptsm(&format!("{train} b --config c.toml")).succeed();
    assert!(String::from_utf8(place.read("b/run.toml")).unwrap().contains("high_hz = 30.0"));
    place.write(
        "plan.toml",
        "models = [\"csp-lda\"]\nprotocol = \"kfold:2\"\n[[data]]\nid = \"files:rec/rec.toml\"\nset = { pipeline = { band = [2, 30] } }\n",
    );
    place.ptsm("benchmark plan.toml --dry-run --out bench").succeed();
    place.write("wrong.toml", "pipeline.band = [30, 2]\n");
    check(
        &place,
        &[
            Case::new(
                "train --data files:rec/rec.toml --model csp-lda --out x --config wrong.toml",
                &["`pipeline.band`", "empty"],
                &["band = [0.5, 40]"],
            ),
            Case::new(
                "train --data files:rec/rec.toml --model csp-lda --out x --set pipeline.band=40",
                &["`pipeline.band`"],
                &["band = [0.5, 40]"],
            ),
            Case::new(
                "train --data files:rec/rec.toml --model csp-lda --out x --set pipeline.windw_s=[0,1]",
                &["`pipeline.windw_s`"],
                &["is `window_s` meant?", "window_s = [0.0, 4.0]", "ptsm data pipeline"],
            ),
        ],
    );
}

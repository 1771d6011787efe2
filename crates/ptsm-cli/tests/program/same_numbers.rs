//! The same seed gives the same bytes, whoever else is at work.

use crate::common::{Place, QUICK, SMALL};

#[test]
fn training_twice() {
    let place = Place::with_data();
    let train = |more: &str| {
        place
            .ptsm(&format!("train --data a.npz --subjects 1-6 --set training.epochs=12 {more}"))
            .args(SMALL)
            .succeed();
    };
    train("--threads 1 --out one");
    train("--threads 1 --out again");
    train("--threads 2 --out two");
    train("--threads 2 --seeds 3 --out three");
    train("--threads 1 --seed 2 --out other");
    let model = |run: &str| place.read(&format!("{run}/models/seed-1.safetensors"));
    for run in ["again", "two", "three"] {
        assert!(model(run) == model("one"), "the model of `{run}` differs");
    }
    for run in ["again", "two"] {
        assert!(
            place.read(&format!("{run}/log.jsonl")) == place.read("one/log.jsonl"),
            "the log of `{run}` differs"
        );
    }
    // Another seed is another decoder, and it was trained on other subjects.
    assert!(place.read("other/models/seed-2.safetensors") != model("one"));
}

#[test]
fn every_other_command_twice() {
    let place = Place::with_data();
    place.ptsm("train --data a.npz --subjects 1-6 --set training.epochs=3 --out run").args(SMALL).succeed();
    for line in [
        "predict run --data a.npz",
        "evaluate run --data a.npz --shots 1,2 --json",
        "adapt run --data a.npz --subject 7 --shots 2 --out OUT",
        "benchmark --data a.npz --models csp-lda --set band_hz=none --out OUT",
        "data simulate --subjects 2 --trials 4 --out OUT",
    ] {
        let once = |threads: usize| {
            let out = format!("{threads}-{}", line.split(' ').next().unwrap());
            let line = line.replace("OUT", &out);
            place.ptsm(&line).args(["--threads", &threads.to_string()]).succeed().stdout.replace(&out, "OUT")
        };
        assert_eq!(once(1), once(2), "{line}");
    }
    assert!(
        place.read("1-adapt/models/seed-1.safetensors") == place.read("2-adapt/models/seed-1.safetensors")
    );
    assert!(place.read("1-data/S002.npz") == place.read("2-data/S002.npz"));
}

/// A run that is there is not made again; what is damaged is.
#[test]
fn a_finished_run_is_left_alone() {
    let place = Place::with_data();
    let train = || place.ptsm("train --data a.npz --subjects 1-6 --out run").args(QUICK).succeed();
    let first = train();
    let model = place.path("run/models/seed-1.safetensors");
    let made = || std::fs::metadata(&model).unwrap().modified().unwrap();
    let (before, bytes) = (made(), place.read("run/models/seed-1.safetensors"));
    let second = train();
    assert_eq!((second.stdout, made()), (first.stdout.clone(), before));
    assert!(second.stderr.contains("finished"), "{}", second.stderr);
    place.write("run/models/seed-1.safetensors", "damaged");
    assert_eq!(train().stdout, first.stdout);
    assert!(place.read("run/models/seed-1.safetensors") == bytes);
}

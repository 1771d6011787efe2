//! Places that cannot be written to, or that hold something else.

use crate::common::{Case, Place, QUICK, SMALL, check, wait};

#[test]
fn places_that_cannot_be_written() {
    let place = Place::with_data();
    std::fs::create_dir(place.path("foreign")).unwrap();
    place.write("foreign/thesis.txt", "irreplaceable");
    place.ptsm("train --data a.npz --subjects 1-6 --out run").args(QUICK).succeed();
    check(
        &place,
        &[
            Case::new(
                "train --data a.npz --out a.npz",
                &["a.npz", "folder"],
                &["a file stands where a folder"],
            ),
            Case::new(
                "train --data a.npz --out a.npz/x",
                &["a.npz/x", "folder"],
                &["a file stands where a folder"],
            ),
            Case::new("train --data a.npz --out foreign", &["foreign", "not empty"], &["a new folder"]),
            Case::new(
                "benchmark --models csp-lda --data a.npz --out foreign",
                &["not empty"],
                &["a new folder"],
            ),
            Case::new(
                "data simulate --subjects 1 --out foreign",
                &["not empty"],
                &["a new or an empty folder"],
            ),
            Case::new(
                "data simulate --subjects 1 --out a.npz/x",
                &["a.npz/x", "cannot write"],
                &["can be written"],
            ),
            Case::new("demo --out a.npz/x", &["a.npz/x"], &["a file stands where a folder"]),
            Case::new(
                "evaluate run --data a.npz --page no/p.html",
                &["no/p.html", "cannot write"],
                &["path"],
            ),
            Case::new(
                "evaluate run --data a.npz --page a.npz/p",
                &["a.npz/p", "cannot write"],
                &["a file stands"],
            ),
            Case::new(
                "evaluate run --data a.npz --page foreign",
                &["foreign", "cannot write"],
                &["a folder stands"],
            ),
            Case::new("predict run --data a.npz --csv no/p.csv", &["no/p.csv", "cannot write"], &["path"]),
            Case::new(
                "predict run --data a.npz --csv a.npz/p",
                &["a.npz/p", "cannot write"],
                &["a file stands"],
            ),
        ],
    );
    assert_eq!(place.read("foreign/thesis.txt"), b"irreplaceable");
    #[cfg(target_os = "linux")]
    check(
        &place,
        &[
            Case::new("train --data a.npz --out /proc/x", &["/proc/x"], &["path"]),
            Case::new("data simulate --subjects 1 --out /proc/x", &["/proc/x"], &["can be written"]),
            Case::new("predict run --data a.npz --csv /proc/x", &["/proc/x"], &["path"]),
        ],
    );
}

#[test]
fn another_run_is_not_written_over() {
    let place = Place::with_data();
    place.ptsm("train --data a.npz --subjects 1-6 --out run").args(QUICK).succeed();
    let (run, model) = (place.read("run/run.toml"), place.read("run/models/seed-1.safetensors"));
    check(
        &place,
        &[
            Case::new(
                "train --data a.npz --model csp-lda --set band_hz=none --subjects 1-5 --out run",
                &["holds another run", "subjects = ["],
                &["another folder"],
            ),
            Case::new(
                "train --data a.npz --model csp-lda --set band_hz=none --subjects 1-6 --seed 2 --out run",
                &["`seeds = [1]`", "`seeds = [2]`"],
                &["another folder"],
            ),
            Case::new(
                "benchmark --data a.npz --models csp-lda --set band_hz=none --out run",
                &["run holds a trained decoder"],
                &["another folder"],
            ),
        ],
    );
    assert_eq!((place.read("run/run.toml"), place.read("run/models/seed-1.safetensors")), (run, model));
}

#[test]
fn one_process_at_a_time() {
    let place = Place::with_data();
    let train = || place.ptsm("train --data a.npz --set training.epochs=100000 --out run").args(SMALL);
    let mut first = train().spawn();
    wait(&mut first, "run.toml", || place.path("run/run.toml").exists());
    let second = train().run();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.code, Some(1));
    assert_eq!(second.stdout, "");
    // Who it is, what it does, since when.
    let occupant = format!(
        "error: another process works in run: process {} (`ptsm train --data a.npz --set training.epochs=100000 --out run --set ",
        first.id()
    );
    assert!(second.stderr.contains(&occupant), "{}", second.stderr);
    assert!(second.stderr.contains("), begun "), "{}", second.stderr);
    assert!(second.stderr.contains(" s ago\nhint: wait for it"), "{}", second.stderr);
}

/// A folder that a killed process had only begun is taken up, not refused.
#[test]
fn a_begun_folder_is_no_foreign_folder() {
    let place = Place::with_data();
    std::fs::create_dir(place.path("run")).unwrap();
    place.write("run/lock", "");
    place.write("run/.run.toml.99-0.partial", "version = ");
    place.ptsm("train --data a.npz --out run").args(QUICK).succeed();
    assert!(!place.path("run/.run.toml.99-0.partial").exists());
}

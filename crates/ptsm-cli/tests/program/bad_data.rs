//! Data that are missing, damaged or not what they should be.

use ptsm::io::npy::Array;

use crate::common::{Case, Place, SMALL, check, cohort};

#[test]
fn texts_in_another_encoding_are_reported_by_line() {
    let place = Place::with_data();
    place.write("mine.toml", b"seeds = 1\nmodel = \"M\xfcller\"\n");
    let error = &["mine.toml: line 2 is no text in UTF-8 (byte 0xfc)"];
    check(
        &place,
        &[
            Case::new("train --data a.npz --config mine.toml --out x", error, &["save it as UTF-8"]),
            Case::new("benchmark mine.toml --out x", error, &["save it as UTF-8"]),
            Case::new(
                "data export --data a.npz --config mine.toml --out x.npz",
                error,
                &["save it as UTF-8"],
            ),
        ],
    );
}

#[test]
fn nothing_to_read() {
    let place = Place::with_data();
    let whole = place.read("a.npz");
    place.write("cut.npz", &whole[..whole.len() / 2]);
    place.write("garbage.npz", "this is no archive at all ".repeat(20));
    place.write("empty.npz", "");
    place.write("a.edf", "0       ");
    std::fs::create_dir(place.path("folder")).unwrap();
    check(
        &place,
        &[
            Case::new("train --out x", &["no data is named"], &["--data simulated", "FILE.npz"]),
            Case::new("train --out x --data no.npz", &["no.npz", "no such file"], &["path", "--root"]),
            Case::new("train --out x --data a.npz --root nowhere", &["a.npz", "no such file"], &["path"]),
            Case::new("train --out x --data simulate", &["`simulate`"], &["`simulated`"]),
            Case::new(
                "train --out x --data nothing",
                &["`nothing`", "no data set"],
                &["known are", "FILE.npz"],
            ),
            Case::new(
                "train --out x --data folder",
                &["folder", "no `.npz`"],
                &["one `.npz` file per subject"],
            ),
            Case::new("train --out x --data a.edf", &["a.edf", "must be `.npz`"], &["ptsm data add"]),
            Case::new("train --out x --data garbage.npz", &["garbage.npz", "not an NPZ"], &["numpy.savez"]),
            Case::new(
                "train --out x --data empty.npz",
                &["empty.npz", "is empty: 0 bytes"],
                &["copy or download it again"],
            ),
            Case::new("train --out x --data cut.npz", &["cut.npz"], &["incomplete or damaged"]),
            Case::new(
                "train --out x --data physionet-mi",
                &["physionet-mi", "its folder is not known"],
                &["--root DIR", "ptsm data get physionet-mi"],
            ),
            Case::new(
                "train --out x --data physionet-mi --root folder",
                &["physionet-mi", "no recording of it in"],
                &["S001R04.edf", "ptsm data get physionet-mi"],
            ),
            Case::new(
                "train --out x --data physionet-mi --root folder --with class=4",
                &["no choice `class`"],
                &["is `classes` meant?"],
            ),
            Case::new(
                "train --out x --data physionet-mi --root folder --with classes=3",
                &["`classes=3`"],
                &["give one of 2, 4"],
            ),
            Case::new("train --out x --data a.npz --with classes=4", &["no choice `classes`"], &["--with"]),
            Case::new(
                "train --out x --data a.npz --with classes",
                &["`--with classes`"],
                &["--with classes=4"],
            ),
            Case::new("data show no.npz", &["no.npz", "no such file"], &["path"]),
            Case::new("benchmark --out x --models csp-lda --data no.npz", &["no.npz"], &["path"]),
        ],
    );
}

#[test]
fn arrays_that_do_not_fit() {
    let place = Place::new();
    let good = cohort(4, 8, 0.6);
    let n = 4 * 8;
    let text = Array::new(vec![n, 5, 1], vec!["a".to_string(); n * 5]).unwrap();
    let same = |value: u32| Array::vector(vec![value; n]);
    let sample = 3 * 5 * 128 + 128 + 7;
    for (name, arrays) in [
        ("text", good.clone().with("X", text)),
        ("dims", good.clone().with("X", Array::new(vec![5, 128], vec![0f32; 640]).unwrap())),
        ("none", good.clone().with("X", Array::new(vec![0, 5, 128], Vec::<f32>::new()).unwrap())),
        ("nan", good.clone().with_sample(sample, f32::NAN)),
        ("inf", good.clone().with_sample(sample, f32::INFINITY)),
        ("short", good.clone().with("y", Array::vector(vec![0u32; n - 1]))),
        ("half", good.clone().with("y", Array::vector(vec![0.5f64; n]))),
        ("no_y", good.clone().without("y")),
        ("no_subject", good.clone().without("subject")),
        ("label", good.clone().with("labels", same(0)).without("y")),
        ("class", good.clone().with("y", same(1))),
        ("one", good.clone().with("subject", same(1))),
        ("channels", good.clone().with("channels", Array::vector(vec!["C3".to_string()]))),
        ("rate", good.clone().with("rate_hz", Array::scalar(-1.0))),
        ("flat", good.clone().with("X", Array::new(vec![n, 5, 128], vec![0f32; n * 640]).unwrap())),
    ] {
        arrays.write(&place.path(&format!("{name}.npz")));
    }
    check(
        &place,
        &[
            Case::new("train --out x --data text.npz", &["text.npz", "`X` is text"], &["float32"]),
            Case::new(
                "train --out x --data dims.npz",
                &["[5, 128]", "(trials, channels, samples)"],
                &["X[:, None, :]"],
            ),
            Case::new("train --out x --data none.npz", &["none.npz", "no trials"], &["at least one"]),
            Case::new(
                "train --out x --data nan.npz",
                &["trial 3", "`Cz`", "sample 7", "NaN"],
                &["leave such trials out"],
            ),
            Case::new(
                "train --out x --data inf.npz",
                &["trial 3", "`Cz`", "sample 7", "inf"],
                &["leave such trials out"],
            ),
            Case::new(
                "train --out x --data short.npz",
                &["`y` has 31", "32 trials"],
                &["one value per trial"],
            ),
            Case::new("train --out x --data half.npz", &["`y` is float64", "integers"], &["astype(int)"]),
            Case::new("train --out x --data no_y.npz", &["no array `y`"], &["numpy.savez", "`subject`"]),
            Case::new("train --out x --data no_subject.npz", &["no array `subject`"], &["numpy.savez"]),
            Case::new("train --out x --data label.npz", &["no array `y`"], &["`labels`"]),
            Case::new(
                "train --out x --data class.npz",
                &["all trials are of class `1`"],
                &["at least 2 classes"],
            ),
            Case::new(
                "benchmark --out x --models csp-lda --data class.npz",
                &["class `1`"],
                &["at least 2 classes"],
            ),
            Case::new("train --out x --data one.npz", &["at least 2 subjects", "have 1"], &["add subjects"]),
            Case::new("train --out x --data channels.npz", &["channels.npz", "1", "5"], &["name"]),
            Case::new("train --out x --data rate.npz", &["`rate_hz` is -1"], &["possible"]),
            Case::new(
                "train --out x --model csp-lda --set band_hz=none --data flat.npz",
                &["rank 0"],
                &["flat"],
            ),
        ],
    );
}

/// Of two subjects, a network learns from one and holds the other back for validation: the least that works.
#[test]
fn two_subjects_are_enough() {
    let place = Place::new();
    cohort(2, 16, 0.6).write(&place.path("two.npz"));
    let line = "train --json --data two.npz --set training.epochs=1 --out x";
    let trained = place.ptsm(line).args(SMALL).succeed().json();
    assert_eq!(trained["train_subjects"].as_array().unwrap().len(), 1);
    assert_eq!(trained["validation_subjects"].as_array().unwrap().len(), 1);
}

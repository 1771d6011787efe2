//! Trained decoders that are missing, damaged, or asked for what they cannot do.

use ptsm::io::npy::Array;

use crate::common::{Case, Place, QUICK, SMALL, check, cohort};

/// `run` is of PTSM, `eegnet` and `quick` of decoders that do not adapt; all were trained on 1-6.
fn trained() -> Place {
    let place = Place::with_data();
    let train = "train --data a.npz --subjects 1-6 --set training.epochs=2 --out";
    place.ptsm(&format!("{train} run")).args(SMALL).succeed();
    place.ptsm(&format!("{train} eegnet --model eegnet")).succeed();
    place.ptsm("train --data a.npz --subjects 1-6 --out quick").args(QUICK).succeed();
    place
}

fn copy(place: &Place, name: &str, model: &[u8]) {
    std::fs::create_dir_all(place.path(&format!("{name}/models"))).unwrap();
    place.write(&format!("{name}/run.toml"), place.read("run/run.toml"));
    place.write(&format!("{name}/models/seed-1.safetensors"), model);
}

#[test]
fn runs_that_are_no_runs() {
    let place = trained();
    let whole = place.read("run/models/seed-1.safetensors");
    copy(&place, "garbage", b"garbage that is no model");
    copy(&place, "empty", b"");
    copy(&place, "cut", &whole[..whole.len() / 2]);
    let at = whole.windows(12).position(|w| w == br#"\"format\":2"#).unwrap();
    let mut newer = whole.clone();
    newer[at + 11] = b'9';
    copy(&place, "newer", &newer);
    let header = br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    copy(&place, "others", &[&(header.len() as u64).to_le_bytes(), &header[..], &[0; 4]].concat());
    copy(&place, "unfinished", &whole);
    std::fs::remove_file(place.path("unfinished/models/seed-1.safetensors")).unwrap();
    copy(&place, "spoilt", &whole);
    place.write("spoilt/run.toml", "version = ");
    check(
        &place,
        &[
            Case::new("evaluate nowhere --data a.npz", &["nowhere does not exist"], &["ptsm train --out"]),
            Case::new("evaluate a.npz --data a.npz", &["a.npz holds no run"], &["ptsm train --out"]),
            Case::new("predict nowhere --data a.npz", &["nowhere does not exist"], &["ptsm train --out"]),
            Case::new(
                "adapt nowhere --data a.npz --subject 7 --shots 1 --out x",
                &["nowhere"],
                &["ptsm train --out"],
            ),
            Case::new(
                "evaluate unfinished --data a.npz",
                &["not finished", "seed-1"],
                &["ptsm train", "continues"],
            ),
            Case::new("evaluate spoilt --data a.npz", &["run.toml", "line 1"], &["train again"]),
            Case::new("evaluate garbage --data a.npz", &["seed-1.safetensors"], &["damaged", "train again"]),
            Case::new("evaluate empty --data a.npz", &["seed-1.safetensors"], &["damaged", "train again"]),
            Case::new("predict cut --data a.npz", &["seed-1.safetensors"], &["damaged", "train again"]),
            Case::new("evaluate newer --data a.npz", &["format 9", "formats 2 and 3"], &["another version"]),
            Case::new("evaluate others --data a.npz", &["not a ptsm model"], &["train again"]),
            Case::new("evaluate run", &["no data is named"], &["--data"]),
        ],
    );
}

#[test]
fn data_of_another_shape() {
    let place = trained();
    let good = cohort(8, 16, 0.6);
    let others = ["C3", "Cz", "C4", "P3", "O1"].map(String::from).to_vec();
    let labels = |of: fn(u32) -> u32| Array::vector((0..8 * 16).map(of).collect::<Vec<u32>>());
    for (name, arrays) in [
        ("few", good.clone().cut(4, 128)),
        ("names", good.clone().with("channels", Array::vector(others))),
        ("short", good.clone().cut(5, 100)),
        ("rate", good.clone().with("rate_hz", Array::scalar(100.0))),
        ("three", good.clone().with("y", labels(|i| i % 3))),
        ("other", good.clone().with("y", labels(|i| i % 2 + 5))),
    ] {
        arrays.write(&place.path(&format!("{name}.npz")));
    }
    const HINT: &[&str] = &["ptsm data show", "trained on"];
    check(
        &place,
        &[
            Case::new("evaluate run --data few.npz", &["5 channels", "have 4"], HINT),
            Case::new("evaluate run --data names.npz", &["`P4`", "`O1`"], HINT),
            Case::new("evaluate run --data short.npz", &["128 samples", "have 100"], HINT),
            Case::new("predict run --data short.npz", &["128 samples", "have 100"], HINT),
            Case::new("predict quick --data few.npz", &["5 channels", "have 4"], HINT),
            Case::new("evaluate run --data rate.npz", &["64 Hz", "100 Hz"], HINT),
            Case::new("evaluate run --data three.npz", &["class `2`", "\"1\""], &["name the classes"]),
            Case::new("evaluate run --data other.npz", &["\"0\"", "`5`"], &["name the classes"]),
            Case::new("adapt run --data few.npz --subject 7 --shots 1 --out x", &["5 channels"], HINT),
        ],
    );
}

#[test]
fn subjects_it_knows_and_shots_it_cannot_have() {
    let place = trained();
    check(
        &place,
        &[
            Case::new(
                "evaluate run --data a.npz --subjects 1-7",
                &["trained on 6", "S01"],
                &["name other subjects"],
            ),
            Case::new("evaluate run --data a.npz --subjects 40", &["no subject 40"], &["choose"]),
            Case::new(
                "adapt run --data a.npz --subject 1 --shots 1 --out x",
                &["trained on S01"],
                &["unseen"],
            ),
            Case::new(
                "adapt run --data a.npz --subject 99 --shots 1 --out x",
                &["no subject 99"],
                &["choose"],
            ),
            Case::new(
                "adapt run --data a.npz --subject 7 --shots 0 --out x",
                &["`--shots 0`"],
                &["at least 1"],
            ),
            Case::new(
                "adapt run --data a.npz --subject 7 --shots 8 --out x",
                &["none is left to score"],
                &["fewer shots"],
            ),
            Case::new(
                "adapt run --data a.npz --subject 7 --shots 80 --out x",
                &["80", "only 8"],
                &["fewer shots"],
            ),
            Case::new(
                "adapt run --data a.npz --subject 7 --shots 1 --steps 0 --out x",
                &["at least 1 step"],
                &["ptsm"],
            ),
            Case::new(
                "adapt run --data a.npz --subject 7 --shots 1 --rate nan --out x",
                &["rate", "NaN"],
                &["ptsm"],
            ),
            Case::line("adapt run --data a.npz --subject seven --shots 1 --out x", &["seven"]),
            Case::new(
                "adapt eegnet --data a.npz --subject 7 --shots 1 --how masks --out x",
                &["`eegnet`", "masks"],
                &["`--how head`"],
            ),
            Case::new(
                "adapt quick --data a.npz --subject 7 --shots 1 --out x",
                &["`csp-lda`"],
                &["ptsm models"],
            ),
            Case::new(
                "adapt run --data a.npz --subject 7 --shots 1 --out run",
                &["another run"],
                &["another folder"],
            ),
            Case::new("evaluate eegnet --data a.npz --shots 1 --how masks", &["masks"], &["`--how head`"]),
            Case::new("evaluate run --data a.npz --shots 0", &["0", "too few"], &["at least one"]),
            Case::new("evaluate run --data a.npz --shots 1,9", &["9 trials", "only 8"], &["fewer shots"]),
            Case::line("evaluate run --data a.npz --shots few", &["few", "--shots"]),
        ],
    );
}

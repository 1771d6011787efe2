//! Names, settings and numbers that cannot be meant.

use crate::common::{Case, Place, check};

#[test]
fn models_and_settings() {
    let place = Place::with_data();
    place.write("bad.toml", "model = [\n");
    place.write("key.toml", "[training]\nepoch = 3\n");
    place.write("top.toml", "trainig = 3\n");
    place.write("models.toml", "models = [\"eegnet\"]\n");
    place.write("kind.toml", "seeds = \"many\"\n");
    check(
        &place,
        &[
            Case::new(
                "train --data a.npz --out x --model egnet",
                &["no model `egnet`"],
                &["`eegnet`", "ptsm models"],
            ),
            Case::new("train --data a.npz --out x --model zzzzz", &["no model `zzzzz`"], &["`ptsm models`"]),
            Case::new(
                "train --data a.npz --out x --set training.epoch=3",
                &["`training.epoch`"],
                &["`training.epochs`"],
            ),
            Case::new("train --data a.npz --out x --set trainig.epochs=3", &["`trainig`"], &["`training`"]),
            Case::new("train --data a.npz --out x --set zzz=3", &["`zzz`"], &["known here", "training"]),
            Case::new(
                "train --data a.npz --out x --set training.epochs=many",
                &["training", "many"],
                &["--json"],
            ),
            Case::new(
                "train --data a.npz --out x --set training.epochs=-1",
                &["training", "-1"],
                &["--json"],
            ),
            Case::new(
                "train --data a.npz --out x --set training.epochs=0",
                &["`training.epochs`", "0"],
                &["--json"],
            ),
            Case::new(
                "train --data a.npz --out x --set training.rate=-1",
                &["`training.rate`", "-1"],
                &["--json"],
            ),
            Case::new("train --data a.npz --out x --set network.encoder=8", &["network", "8"], &["--json"]),
            Case::new(
                "train --data a.npz --out x --set augment.noise=-1",
                &["`augment.noise`", "-1"],
                &["--json"],
            ),
            Case::new(
                "train --data a.npz --out x --set training.rate=nan",
                &["`training.rate` is NaN"],
                &["finite"],
            ),
            Case::new(
                "train --data a.npz --out x --set training.clip=inf",
                &["`training.clip` is inf"],
                &["finite"],
            ),
            Case::new("train --data a.npz --out x --set training.clip=0", &["clip of 0"], &["--json"]),
            Case::new("train --data a.npz --out x --set training.rate=1e30", &["not finite"], &["--json"]),
            Case::new("train --data a.npz --out x --set network.encoder=[0]", &["encoder", "0"], &["--json"]),
            Case::new(
                "train --data a.npz --out x --set network.encoder=[]",
                &["`encoder`", "0"],
                &["--json"],
            ),
            Case::new(
                "train --data a.npz --out x --set network.pooled=1000",
                &["128 samples", "1000"],
                &["--json"],
            ),
            Case::new("train --data a.npz --out x --set training", &["no `=`"], &["training.epochs=20"]),
            Case::new("train --data a.npz --out x --set =3", &["no key"], &["training.epochs=20"]),
            Case::new(
                "train --data a.npz --out x --set pipeline.foo=3",
                &["`pipeline.foo`"],
                &["known here", "window_s"],
            ),
            Case::new(
                "train --data a.npz --out x --config no.toml",
                &["no.toml", "cannot be read"],
                &["path"],
            ),
            Case::new("train --data a.npz --out x --config .", &["cannot be read"], &["a file is needed"]),
            Case::new(
                "train --data a.npz --out x --config bad.toml",
                &["bad.toml", "line 1"],
                &["correct that line"],
            ),
            Case::new(
                "train --data a.npz --out x --config key.toml",
                &["`training.epoch`"],
                &["`training.epochs`"],
            ),
            Case::new("train --data a.npz --out x --config top.toml", &["`trainig`"], &["`training`"]),
            Case::new("train --data a.npz --out x --config models.toml", &["`models`"], &["`model`"]),
            Case::new("train --data a.npz --out x --config kind.toml", &["`seeds`", "many"], &["--help"]),
            Case::line("train --data a.npz --out x --align sideways", &["sideways", "euclidean"]),
        ],
    );
}

#[test]
fn wrong_subjects_and_numbers() {
    let place = Place::with_data();
    check(
        &place,
        &[
            Case::new(
                "train --data a.npz --out x --subjects 40",
                &["no subject 40", "have 1-8"],
                &["choose"],
            ),
            Case::new(
                "train --data a.npz --out x --subjects 1",
                &["at least 2 subjects", "have 1"],
                &["add subjects"],
            ),
            Case::line("train --data a.npz --out x --subjects 4-x", &["`4-x`", "not a number"]),
            Case::line("train --data a.npz --out x --subjects 9-4", &["empty", "4-9"]),
            Case::new("train --data a.npz --out x --threads 0", &["`--threads 0`"], &["at least 1"]),
            Case::new("train --data a.npz --out x --threads 1000000", &["`--threads 1000000`"], &["at most"]),
            Case::new(
                "train --data a.npz --out x --seeds 1000000000",
                &["1000000000 seeds"],
                &["--seeds 1000"],
            ),
            Case::line("train --data a.npz --out x --threads many", &["many", "--threads"]),
            Case::new("train --data a.npz --out x --seeds 0", &["no seed"], &["`--seeds 1`"]),
            Case::line("train --data a.npz", &["--out"]),
            Case::line("trian --data a.npz", &["trian", "'train'"]),
            Case::line("completions tcsh", &["tcsh", "bash"]),
        ],
    );
}

#[test]
fn benchmarks() {
    let place = Place::with_data();
    check(
        &place,
        &[
            Case::new(
                "benchmark --data a.npz --out x --models eegnet,eegnet",
                &["`eegnet`", "twice"],
                &["once"],
            ),
            Case::new(
                "benchmark --data a.npz --out x --models eegnet,csp",
                &["no model `csp`"],
                &["`csp-lda`"],
            ),
            Case::line("benchmark --data a.npz --out x", &["--models"]),
            Case::line("benchmark --data a.npz --out x --models eegnet --protocol los", &["`los`"]),
            Case::line("benchmark --data a.npz --out x --models eegnet --protocol kfold:1", &["at least 2"]),
            Case::new(
                "benchmark --data a.npz --out x --models eegnet --protocol kfold:20",
                &["`kfold:20`", "20 subjects", "have 8"],
                &["add subjects"],
            ),
            Case::new(
                "benchmark --data a.npz --out x --models eegnet --subjects 1-2",
                &["`loso`", "3 subjects", "have 2"],
                &["add subjects"],
            ),
            Case::new(
                "benchmark --data a.npz --out x --models eegnet --protocol fixed:1-3/4/3,5",
                &["S03", "training set", "test set"],
                &["one side"],
            ),
            Case::new(
                "benchmark --data a.npz --out x --models eegnet --protocol fixed:1-3/4/9",
                &["no subject 9", "have 1-8"],
                &["choose"],
            ),
            Case::new(
                "benchmark --data a.npz --out x --models eegnet,csp-lda --set filtres=3",
                &["`filtres`"],
                &["known here"],
            ),
            Case::new(
                "benchmark --data a.npz --out x --models eegnet --set training.epochs=0",
                &["`training.epochs`", "0"],
                &["--json"],
            ),
        ],
    );
}

#[test]
fn simulations() {
    let place = Place::new();
    place.write("key.toml", "people = 3\n");
    check(
        &place,
        &[
            Case::new("data simulate --out s --channels C3,Q9", &["`Q9`", "no known place"], &["10-10"]),
            Case::new("data simulate --out s --channels C3,C3", &["`C3`", "twice"], &["electrode"]),
            Case::new(
                "data simulate --out s --subjects 0",
                &["`subjects` is 0", "from 1"],
                &["data simulate --help"],
            ),
            Case::new(
                "data simulate --out s --rate 1e12",
                &["`rate_hz`", "64 to 4096"],
                &["data simulate --help"],
            ),
            Case::new(
                "data simulate --out s --strength nan",
                &["`strength`", "from 0"],
                &["data simulate --help"],
            ),
            Case::new(
                "data simulate --out s --task walking",
                &["`walking`"],
                &["`imagery`, `erp` or `attention`"],
            ),
            Case::new(
                "data simulate --out s --config no.toml",
                &["no.toml", "cannot read"],
                &["data simulate --out"],
            ),
            Case::new(
                "data simulate --out s --config key.toml",
                &["key.toml", "`people`"],
                &["mend the line"],
            ),
        ],
    );
}

#[test]
fn precisions_without_a_gpu() {
    let place = Place::with_data();
    check(
        &place,
        &[
            Case::new(
                "train --data a.npz --out x --precision tf32",
                &["`--precision tf32` is for GPUs"],
                &["`--device cuda`"],
            ),
            Case::new(
                "benchmark --data a.npz --out x --models eegnet --device cpu --precision bf16",
                &["`--precision bf16` is for GPUs"],
                &["`--device cuda`"],
            ),
        ],
    );
}

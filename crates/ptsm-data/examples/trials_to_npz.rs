//! Writes the trials of a data set for NumPy, and prints who is trained on and who is tested in each of five folds:
//! `cargo run --release --example trials_to_npz -p ptsm-data -- physionet-mi DATA pipeline=broadband trials.npz`.
#![allow(clippy::print_stdout)]

use std::path::Path;

use ptsm_data::arrays::write_trials;
use ptsm_data::{Protocol, Source};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [id, root, choice, file] = std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(
        |_| "four words are needed: a data set, its folder, a choice such as pipeline=broadband, a file",
    )?;
    let (name, value) = choice.split_once('=').ok_or("a choice has a name and a value")?;
    let source = Source::parse_with(&id, Some(Path::new(&root)), &[(name.into(), value.into())])?;
    let trials = source.load(None, None)?.trials;
    for split in (Protocol::Folds { k: 5 }).splits(&trials.all().subjects(), 1)? {
        let numbers = |people: &std::collections::BTreeSet<ptsm_signal::SubjectId>| {
            people.iter().map(|s| s.0.to_string()).collect::<Vec<_>>().join(" ")
        };
        println!("{} / {}", numbers(split.train_subjects()), numbers(split.test_subjects()));
    }
    Ok(write_trials(Path::new(&file), &trials)?)
}

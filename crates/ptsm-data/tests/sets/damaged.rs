//! Files with a few wrong bytes give trials or words, never a panic.

use std::path::Path;

use ptsm_io::mat::Value;

use super::common::{bare, cell, load, noise, save, texts};
use super::openbmi_made::{Phase, save_file};
use super::physionet_made::Run;

/// Loads a file many times, each time with other bytes changed. Gives how often that worked.
fn harm(id: &str, root: &Path, path: &Path, times: u64) -> u64 {
    let whole = std::fs::read(path).unwrap();
    let mut worked = 0;
    for seed in 0..times {
        let mut bytes = whole.clone();
        let places = noise(seed + 1, 8);
        for pair in places.chunks(2) {
            // More often near the start, where headers are.
            let share = (pair[0].abs() / 20.0).powi(3).min(0.999);
            let at = (share * bytes.len() as f64) as usize;
            bytes[at] = (pair[1].abs() * 12.0) as u8;
        }
        std::fs::write(path, &bytes).unwrap();
        match load(id, root, &[], Some(&bare([0.0, 0.1]))) {
            Ok(_) => worked += 1,
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    worked
}

#[test]
fn wrong_bytes_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let channels = vec!["C3", "Cz", "C4", "Pz"];
    let phase =
        Phase { channels, samples: 600, trials: vec![(100, 1), (300, 2)], length: 200, ..Phase::imagery(1) };
    let value = phase.value();
    save_file(root, "MI", 1, 1, [&value, &value]);
    let worked = harm("openbmi-mi", root, &root.join("session1/s1/sess01_subj01_EEG_MI.mat"), 300);
    assert!((1..300).contains(&worked), "{worked}");

    let run = Value::record(vec![
        ("X", Value::matrix(vec![1000, 6], noise(1, 6000))),
        ("trial", Value::row(vec![1.0, 101.0])),
        ("y", Value::row(vec![1.0, 2.0])),
        ("fs", Value::row(vec![250.0])),
        ("classes", texts(&["left hand", "right hand"])),
        ("artifacts", Value::row(vec![0.0, 1.0])),
    ]);
    save(&root.join("B01T.mat"), &[("data", &cell(&[1, 1], vec![run]))]);
    let worked = harm("bci-iv-2b", root, &root.join("B01T.mat"), 300);
    assert!((1..300).contains(&worked), "{worked}");

    let path = Run { seconds: 12, ..Run::usual() }.save(root, 1, 4);
    let worked = harm("physionet-mi", root, &path, 100);
    assert!((1..100).contains(&worked), "{worked}");
}

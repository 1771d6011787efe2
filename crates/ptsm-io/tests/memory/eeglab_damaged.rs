//! Damaged EEGLAB files are errors: no panic, no memory for samples that are not there.

use std::fs;
use std::path::Path;

use ptsm_io::{Bytes, Place, eeglab};

use crate::allocator::{alone, peak_of};

/// Files of this repository and, where they are, of the shared folder, with the samples beside them.
fn files() -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("tests/data"), here.join("../../../shared/datasets/fixtures/eeglab")];
    if !folders[1].is_dir() {
        eprintln!(
            "skipped: needs ../shared/datasets/fixtures/eeglab; files of this repository are damaged all the same"
        );
    }
    let mut paths: Vec<_> = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "set"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| (fs::read(path).unwrap(), fs::read(path.with_extension("fdt")).ok())).collect()
}

/// Reads all there is. Says whether it was refused.
fn read_all(set: &[u8], fdt: Option<&[u8]>) -> bool {
    let run = || {
        let place = Place::from(Path::new("damaged.set"));
        let fdt = fdt.map(|bytes| Bytes::from(bytes.to_vec()));
        let recording = eeglab::parse(Bytes::from(set.to_vec()), fdt, &place).and_then(|opened| {
            // Whatever a header claims, samples are there.
            let mut to = vec![0.0; opened.main().len()];
            opened.read(opened.main(), opened.length() - 1, &mut to)?;
            opened.recording(None)
        });
        match recording {
            Ok(_) => false,
            Err(error) => {
                assert!(error.to_string().starts_with("damaged.set"), "{error}");
                true
            }
        }
    };
    let (refused, peak) = peak_of(run);
    let length = set.len() + fdt.map_or(0, <[u8]>::len);
    assert!(peak < 3 * 1032 * length + (64 << 20), "{peak} bytes of memory for {length} of file");
    refused
}

#[test]
fn cut_short_anywhere() {
    let _alone = alone();
    for (set, fdt) in files() {
        assert!(!read_all(&set, fdt.as_deref()));
        for length in (0..set.len()).step_by(if set.len() > 10_000 { 7 } else { 1 }) {
            read_all(&set[..length], fdt.as_deref());
        }
        if let Some(fdt) = fdt {
            assert!((0..fdt.len()).step_by(7).all(|length| read_all(&set, Some(&fdt[..length]))));
            assert!(read_all(&set, None));
        }
    }
}

#[test]
fn changed_anywhere() {
    let _alone = alone();
    let mut state = 1_u64;
    let mut roll = |sides: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % sides
    };
    let mut refused = 0;
    for (set, fdt) in files() {
        for _ in 0..2000 {
            let mut damaged = set.clone();
            for _ in 0..=roll(3) {
                let at = roll(set.len());
                match roll(3) {
                    0 => damaged[at] ^= 1 << roll(8),
                    1 => damaged[at] = roll(256) as u8,
                    _ => damaged[at..].iter_mut().take(8).for_each(|byte| *byte = 0xFF),
                }
            }
            refused += usize::from(read_all(&damaged, fdt.as_deref()));
        }
    }
    assert!(refused > 500, "{refused}");
}

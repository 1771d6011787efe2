//! Damaged and lying MATLAB files are errors: no panic, no memory for values that are not there.

use std::fs;
use std::path::{Path, PathBuf};

use ptsm_io::mat::{MatFile, Value};
use ptsm_io::{Bytes, Place};

use crate::allocator::{alone, peak_of};
use crate::by_hand;

/// Files that are refused anyway.
const UNREADABLE: [&str; 2] = ["v73-newest.mat", "v73-circle.mat"];

/// Files of this repository and, where they are, of the shared folder.
fn files() -> Vec<(String, Vec<u8>)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [here.join("tests/data"), here.join("../../../shared/datasets/fixtures/mat")];
    if !folders[1].is_dir() {
        eprintln!(
            "skipped: needs ../shared/datasets/fixtures/mat; files of this repository are damaged all the same"
        );
    }
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .filter(|path| {
            path.extension().is_some_and(|ending| ending == "mat")
                && !UNREADABLE.iter().any(|name| path.ends_with(name))
        })
        .collect();
    paths.sort();
    assert!(paths.len() >= 5);
    paths
        .iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into(), fs::read(path).unwrap()))
        .collect()
}

/// Reads all there is, whole and in part, in not too much memory. Gives the number of variables of which nothing was refused.
fn read_all(bytes: &[u8]) -> usize {
    let (good, peak) = peak_of(|| try_all(bytes));
    // What deflate can make of the bytes, some of it twice, and what is always allowed.
    let most = 3 * 1032 * bytes.len() + (64 << 20);
    assert!(peak < most, "{peak} bytes of memory for {} of file", bytes.len());
    good
}

fn try_all(bytes: &[u8]) -> usize {
    let place = Place::from(Path::new("damaged.mat"));
    let names_the_file =
        |error: &ptsm_io::Error| assert!(error.to_string().starts_with("damaged.mat"), "{error}");
    let file = match MatFile::parse(Bytes::from(bytes.to_vec()), &place) {
        Ok(file) => file,
        Err(error) => {
            names_the_file(&error);
            return 0;
        }
    };
    let mut good = 0;
    for name in file.names() {
        let whole = file.read(&name);
        let part = file.read_some(&name, &|path| path.len() % 2 == 0);
        let sketch = file.read_sizes(&name);
        good += usize::from(whole.is_ok() && part.is_ok());
        for result in [whole, part, sketch] {
            match result {
                Err(error) => names_the_file(&error),
                Ok(value) => look(&value),
            }
        }
    }
    good
}

/// Asks a value all there is to ask.
fn look(value: &Value) {
    value.dims();
    value.vector();
    value.number();
    value.text();
    value.cells().unwrap_or_default().iter().for_each(look);
    if let Value::Struct { fields, values, .. } = value {
        values.iter().for_each(look);
        assert!(fields.iter().all(|field| value.element(value.count(), field).is_none()));
    }
}

#[test]
fn cut_short_anywhere() {
    let _alone = alone();
    for (name, bytes) in files() {
        let whole = read_all(&bytes);
        let step = if bytes.len() > 50_000 { 7 } else { 1 };
        for length in (0..bytes.len()).step_by(step) {
            assert!(read_all(&bytes[..length]) < whole, "{name} cut to {length} bytes");
        }
    }
}

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn changed_anywhere() {
    let _alone = alone();
    let mut dice = Dice(1);
    let mut harmed = 0;
    for (_, bytes) in files() {
        let whole = read_all(&bytes);
        for _ in 0..if bytes.len() > 50_000 { 40 } else { 1000 } {
            let mut damaged = bytes.clone();
            for _ in 0..=dice.roll(4) {
                let at = dice.roll(bytes.len());
                match dice.roll(4) {
                    0 => damaged[at] ^= 1 << dice.roll(8),
                    1 => damaged[at] = dice.roll(256) as u8,
                    2 => damaged[at..].iter_mut().take(8).for_each(|byte| *byte = 0xFF),
                    _ => {
                        let from = dice.roll(bytes.len() - 8);
                        let copied = bytes[from..from + 8].to_vec();
                        damaged.iter_mut().skip(at).zip(copied).for_each(|(to, byte)| *to = byte);
                    }
                }
            }
            harmed += usize::from(read_all(&damaged) < whole);
        }
    }
    assert!(harmed > 100, "{harmed}");
}

#[test]
fn what_is_left_out_takes_no_memory() {
    let _alone = alone();
    use by_hand::{element, file, matrix, packed, small};
    let zeros = matrix(6, 0, &[4 << 20, 1], "", &element(9, &vec![0; 32 << 20]));
    let one = matrix(6, 0, &[1, 1], "", &small(2, &[7]));
    let names = [small(5, &[2, 0, 0, 0]), element(1, b"a\0b\0c\0")].concat();
    let record = matrix(2, 0, &[1, 1], "x", &[names, one.clone(), zeros, one].concat());
    let bytes = Bytes::from(file(&[packed(&record)]));
    let place = Place::from(Path::new("x.mat"));
    let (value, peak) =
        peak_of(|| MatFile::parse(bytes, &place).unwrap().read_some("x", &|path| path != ["b"]).unwrap());
    assert_eq!(value.field("c").unwrap().number(), Some(7.0));
    assert_eq!(value.field("b"), Some(&Value::LeftOut));
    assert!(peak < 1 << 20, "{peak} bytes of memory for fields of a few");
}

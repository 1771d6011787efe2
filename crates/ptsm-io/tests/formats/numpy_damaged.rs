//! Damaged and lying files are errors: no panic, no memory for values that are not there.

use std::fs;
use std::path::{Path, PathBuf};

use ptsm_io::{npy, npz};

fn fixture(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

/// Reads all there is; errors must have words.
fn read_all(path: &Path) {
    if path.extension().unwrap() == "npy" {
        if let Err(error) = npy::read(path) {
            assert!(!error.to_string().is_empty());
        }
    } else if let Ok(mut archive) = npz::read(path) {
        for name in archive.names() {
            archive.array(&name).ok();
        }
    }
}

#[test]
fn cut_short_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one.npy", "version2.npy", "version3.npy", "refused.npz"] {
        let bytes = fixture(name);
        let path = folder.path().join(name);
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            read_all(&path);
            if name.ends_with("npy") {
                assert!(npy::read(&path).is_err(), "{name} cut to {length} bytes");
            }
        }
    }
}

#[test]
fn any_bit_flipped() {
    let folder = tempfile::tempdir().unwrap();
    for (name, step) in [("one.npy", 1), ("version3.npy", 1), ("refused.npz", 1), ("deflated.npz", 37)] {
        let mut bytes = fixture(name);
        let path = folder.path().join(name);
        for bit in (0..8 * bytes.len()).step_by(step) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            read_all(&path);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// A file with a head of its own making.
fn with_head(head: &str, values: &[u8]) -> Vec<u8> {
    let length = (head.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, head.as_bytes(), values].concat()
}

#[test]
fn claims_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let dict = |descr: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
    };
    for (head, says) in [
        (dict("<f4", "(1000000000000,)"), "needs 4000000000000 bytes of values, 8 are there"),
        (dict("<f8", "(4294967296, 4294967296, 2)"), "larger than any memory"),
        (dict("<f8", "(2305843009213693952,)"), "larger than any memory"),
        (dict("<f4", "(3,)"), "needs 12 bytes of values, 8 are there"),
        (dict("<f4", "(1,)"), "needs 4 bytes of values, 8 are there"),
        (dict("<U0", "(1000000000000,)"), "`<U0`"),
        (dict("<U99999999999999999999", "(1,)"), "cannot be read"),
        (dict("<U268435455", "(0,)"), "needs 0 bytes of values, 8 are there"),
        (dict("<f4", "(-2,)"), "no number"),
        (dict("<f4", "2"), "`(` expected"),
        (dict("f4", "(2,)"), "`f4`"),
        (dict("<é4", "(2,)"), "cannot be read"),
        ("{'descr': '<f4'}".into(), "without `descr`"),
        ("{'descr".into(), "without an end"),
        (String::new(), "`{` expected"),
    ] {
        fs::write(&path, with_head(&head, &[0; 8])).unwrap();
        let error = npy::read(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{head}: {error}");
    }
    fs::write(&path, with_head(&dict("<U268435455", "(0,)"), &[])).unwrap();
    assert_eq!(npy::read(&path).unwrap().shape(), [0]);
    fs::write(&path, with_head(&dict("<U1", "(2,)"), &[0xff; 8])).unwrap();
    assert!(npy::read(&path).unwrap_err().to_string().contains("value 0 is not text"));
}

#[test]
fn damage_inside_an_archive_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let mut bytes = fixture("stored.npz");
    // The first array's first value: only the check sum can tell.
    let at = bytes.windows(2).position(|pair| pair == b"}\x20").unwrap();
    let value = at + bytes[at..].iter().position(|&b| b == b'\n').unwrap() + 1;
    bytes[value] ^= 0x40;
    fs::write(&path, &bytes).unwrap();
    let error = npz::read(&path).unwrap().array("i1").unwrap_err();
    assert!(error.to_string().contains("the values are damaged"), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn other_files_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let hint = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        npz::read(&path).unwrap_err().hint().unwrap().to_string()
    };
    assert!(hint(&fixture("one.npy")).contains("single array"));
    assert!(hint(&fixture("stored.npz")[..500]).contains("incomplete"));
    assert!(hint(b"text").contains("numpy.savez"));
    let error = npz::read(&folder.path().join("absent.npz")).unwrap_err();
    assert!(error.to_string().contains("absent.npz: cannot open") && error.hint().is_some());
    assert!(npz::read(folder.path()).is_err());
}

//! Files that NumPy wrote (`lab/python/npy_fixtures.py`) are read, and files of ours are what NumPy writes.

use std::fs;
use std::path::PathBuf;

use ptsm_io::npy::{self, Array, Data};
use ptsm_io::npz::{self, Compression};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

const COUNT: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

#[test]
fn every_type_and_order_is_read() {
    for file in ["stored.npz", "deflated.npz"] {
        let mut archive = npz::read(&fixture(file)).unwrap();
        for kind in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"] {
            for name in [kind.to_string(), format!("big_{kind}")] {
                if name.starts_with("big") && name.ends_with('1') {
                    continue;
                }
                let array = archive.array(&name).unwrap();
                assert_eq!(array.shape(), [2, 3], "{name}");
                assert_eq!(array.data().to_f64().unwrap(), COUNT, "{name}");
                let whole = array.data().to_integers();
                assert_eq!(whole, (!name.contains('f')).then(|| vec![0, 1, 2, 3, 4, 5]), "{name}");
                assert_eq!(array.into_data().into_f32().unwrap(), COUNT.map(|v| v as f32), "{name}");
            }
        }
        let flags = archive.array("bool").unwrap();
        assert_eq!(flags.data(), &Data::Bool(vec![false, true, false, true, false, true]));
        assert_eq!(archive.array("fortran").unwrap().data().to_f64().unwrap(), COUNT);
        let cube = archive.array("cube").unwrap();
        assert_eq!(cube.data().to_f64().unwrap(), (0..24).map(f64::from).collect::<Vec<_>>());
        for name in ["text", "big_text"] {
            let text = archive.array(name).unwrap();
            assert_eq!(text.data(), &Data::Text(["C3", "", "Größe", "𝄞"].map(String::from).to_vec()));
        }
        let bytes = archive.array("bytes").unwrap();
        assert_eq!(bytes.data(), &Data::Text(vec!["left".into(), "right".into()]));
        assert_eq!(archive.array("scalar").unwrap(), Array::scalar(128.0));
        assert_eq!(archive.array("empty").unwrap(), Array::new(vec![0, 3], Vec::<f32>::new()).unwrap());
        assert_eq!(archive.array("one").unwrap(), Array::vector(vec![7_i32]));
    }
}

#[test]
fn every_version_is_read() {
    for name in ["one.npy", "version2.npy", "version3.npy"] {
        let array = npy::read(&fixture(name)).unwrap();
        assert_eq!(array.shape(), [2, 3], "{name}");
        assert_eq!(array.data().to_f64().unwrap(), COUNT, "{name}");
    }
}

#[test]
fn what_cannot_be_read_is_said_and_harms_no_other_array() {
    let mut archive = npz::read(&fixture("refused.npz")).unwrap();
    assert_eq!(archive.names(), ["complex", "good", "object", "structured", "time"]);
    for (name, says, hint) in [
        ("object", "holds Python objects", "allow_pickle"),
        ("structured", "structured array", "each field"),
        ("complex", "`<c8`", "floats"),
        ("time", "`<M8[s]`", "integers"),
    ] {
        let error = archive.array(name).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("refused.npz") && text.contains(name) && text.contains(says), "{text}");
        assert!(error.hint().unwrap().contains(hint), "{error:?}");
    }
    assert_eq!(archive.array("good").unwrap(), Array::vector(vec![0_i32, 1, 2]));
    assert!(archive.array("absent").unwrap_err().to_string().contains("`absent`: is not in the archive"));
}

#[test]
fn arrays_are_written_byte_for_byte_as_numpy_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let count = Array::new(vec![2, 3], COUNT.map(|v| v as f32).to_vec()).unwrap();
    npz::write(&path, &[("one", &count)], Compression::Stored).unwrap();
    let (bytes, numpy) = (fs::read(path).unwrap(), fs::read(fixture("one.npy")).unwrap());
    assert!(bytes.windows(numpy.len()).any(|window| window == numpy));
}

#[test]
fn what_is_written_is_read_back() {
    let mut archive = npz::read(&fixture("stored.npz")).unwrap();
    let names = archive.names();
    let arrays: Vec<Array> = names.iter().map(|name| archive.array(name).unwrap()).collect();
    let members: Vec<(&str, &Array)> = names.iter().map(String::as_str).zip(&arrays).collect();
    let folder = tempfile::tempdir().unwrap();
    for compression in [Compression::Stored, Compression::Deflated] {
        let path = folder.path().join("a.npz");
        npz::write(&path, &members, compression).unwrap();
        let first = fs::read(&path).unwrap();
        npz::write(&path, &members, compression).unwrap();
        assert_eq!(first, fs::read(&path).unwrap(), "same arrays, same bytes");
        let mut archive = npz::read(&path).unwrap();
        assert_eq!(archive.names(), names);
        for (name, array) in &members {
            assert_eq!(&archive.array(name).unwrap(), *array, "{name}");
        }
    }
}

#[test]
fn the_fixtures_of_the_readers_agree() {
    let expected: Vec<f64> = (0..24).map(f64::from).collect();
    for name in ["c.npy", "fortran.npy", "be.npy"] {
        let array = npy::read(&fixture("reader").join(name)).unwrap();
        assert_eq!(array.shape(), [2, 3, 4], "{name}");
        assert_eq!(array.data().to_f64().unwrap(), expected, "{name}");
    }
    for name in ["stored.npz", "deflated.npz"] {
        let array = npz::read(&fixture("reader").join(name)).unwrap().array("X").unwrap();
        assert_eq!(array.shape(), [2, 3, 4], "{name}");
        assert_eq!(array.data().to_f64().unwrap(), expected, "{name}");
    }
}

//! MATLAB files of v7.3, written by h5py as MATLAB does, hold what they should.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use ptsm_io::mat::{MatFile, Numbers, Value};
use ptsm_io::{Bytes, Place};

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn array(dims: &[usize], real: Numbers) -> Value {
    Value::Array { dims: dims.to_vec(), real, imaginary: None, logical: false }
}

fn text(rows: &[&str]) -> Value {
    Value::Text(rows.iter().map(|row| row.to_string()).collect())
}

#[test]
fn the_shared_file_is_read() {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../../shared/datasets/fixtures/mat/v73.mat"].iter().collect();
    if !path.exists() {
        eprintln!("skipped: needs ../shared/datasets/fixtures/mat/v73.mat");
        return;
    }
    let file = MatFile::open(&path).unwrap();
    assert_eq!(file.names(), ["M", "empty", "names", "ok", "s", "st"]);
    let m = file.read("M").unwrap();
    assert_eq!(m.dims(), [60, 100]);
    let numbers = m.vector().unwrap();
    assert_eq!((numbers[0], numbers[1], numbers[5999]), (0.0, 100.0, 5999.0));
    assert_eq!(file.read("s").unwrap().text(), Some("hello"));
    assert!(
        matches!(file.read("ok").unwrap(), Value::Array { real, logical: true, .. } if real.to_f64() == [1.0])
    );
    assert_eq!(file.read("empty").unwrap().dims(), [0, 0]);
    assert_eq!(file.read("st").unwrap().field("fs").unwrap().number(), Some(250.0));
    let names = file.read("names").unwrap();
    assert_eq!(names.dims(), [1, 2]);
    assert_eq!(names.cells().unwrap(), [text(&["Fp1"]), text(&["Cz"])]);
}

#[test]
fn every_kind_of_value() {
    for name in ["v73.mat", "v73-new.mat"] {
        let file = MatFile::open(&own(name)).unwrap();
        let read = |name: &str| file.read(name).unwrap();
        assert_eq!(read("matrix"), array(&[2, 3], Numbers::F64(vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0])));
        let Value::Array { dims, real: Numbers::U16(cube), .. } = read("cube") else { panic!("not U16") };
        assert_eq!((dims, cube[1], cube[2], cube[6], cube[23]), (vec![2, 3, 4], 12, 4, 1, 23));
        assert_eq!(read("single"), array(&[1, 2], Numbers::F32(vec![0.5, -1.25])));
        assert_eq!(read("int64"), array(&[1, 3], Numbers::I64(vec![i64::MIN, i64::MAX, (1 << 53) + 1])));
        assert_eq!(read("uint64"), array(&[1, 2], Numbers::U64(vec![u64::MAX, (1 << 53) + 1])));
        let complex = |dims: &[usize], real, imaginary| Value::Array {
            dims: dims.to_vec(),
            real,
            imaginary: Some(imaginary),
            logical: false,
        };
        let (real, imaginary) = (vec![1.0, 0.0, 3.0, -6.0], vec![2.0, 0.5, -4.0, 0.0]);
        assert_eq!(read("complex"), complex(&[2, 2], Numbers::F64(real), Numbers::F64(imaginary)));
        let (real, imaginary) = (Numbers::F32(vec![1.0]), Numbers::F32(vec![2.0]));
        assert_eq!(read("complex_single"), complex(&[1, 1], real, imaginary));
        let logical = read("logical");
        assert!(matches!(&logical, Value::Array { logical: true, real: Numbers::U8(_), .. }));
        assert_eq!(
            (logical.dims(), logical.vector().unwrap()),
            (vec![2, 3], vec![1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
        );
        assert_eq!(read("empty"), array(&[0, 3], Numbers::I32(vec![])));
        assert_eq!(read("empty_text"), text(&[]));
        assert_eq!(read("empty_cell"), Value::Cell { dims: vec![1, 0], values: vec![] });
        assert_eq!(read("empty_struct"), Value::Struct { dims: vec![0, 0], fields: vec![], values: vec![] });
        assert_eq!(read("names"), text(&["Fp1 ", "Cz  ", "PO10"]));
        assert_eq!(read("unicode"), text(&["µV é 😀"]));
        let cells = read("cells");
        assert_eq!(cells.dims(), [1, 3]);
        assert_eq!(cells.cells().unwrap()[0], text(&["C3"]));
        assert_eq!(cells.cells().unwrap()[1].vector().unwrap(), [1.0, 2.0]);
        let inner = Value::Cell {
            dims: vec![2, 1],
            values: vec![text(&["inner"]), array(&[0, 0], Numbers::F64(vec![]))],
        };
        assert_eq!(cells.cells().unwrap()[2], inner);
        let entries = vec![(1, 0, 2.0), (0, 1, 1.5), (2, 1, -3.0), (2, 2, 4.25)];
        assert_eq!(read("sparse"), Value::Sparse { dims: [3, 3], entries });
        assert_eq!(read("sparse_empty"), Value::Sparse { dims: [3, 2], entries: vec![] });
        assert_eq!(read("handle"), Value::Opaque("function".into()));
        assert_eq!(read("thing"), Value::Opaque("string".into()));
        let records = read("records");
        assert_eq!(records.dims(), [1, 3]);
        assert_eq!(records.element(0, "type").unwrap().text(), Some("left"));
        assert_eq!(records.element(1, "type").unwrap().number(), Some(7.0));
        assert_eq!(records.element(2, "type").unwrap().text(), Some(""));
        assert_eq!(records.element(2, "latency").unwrap().number(), Some(3.5));
        assert!(file.read("#refs#").unwrap_err().to_string().contains("has no variable"));
    }
}

#[test]
fn fields_come_in_matlabs_order_and_only_where_requested() {
    for name in ["v73.mat", "v73-new.mat"] {
        let file = MatFile::open(&own(name)).unwrap();
        let requested = RefCell::new(vec![]);
        let nested = file.read_some("nested", &|path| {
            requested.borrow_mut().push(path.join("."));
            path.last() != Some(&"skip")
        });
        let nested = nested.unwrap();
        assert_eq!(*requested.borrow(), ["z", "z.b", "z.skip", "z.a", "list", "last"]);
        let z = nested.field("z").unwrap();
        assert_eq!(z.field("skip"), Some(&Value::LeftOut));
        assert_eq!(z.field("a").unwrap().text(), Some("deep"));
        assert_eq!(nested.field("list").unwrap().cells().unwrap().len(), 2);
        let records = file.read_some("records", &|path| path == ["latency"]).unwrap();
        assert_eq!(records.element(1, "type"), Some(&Value::LeftOut));
        assert_eq!(records.element(1, "latency").unwrap().number(), Some(2.5));
    }
}

/// A value without its numbers.
fn bare(value: Value) -> Value {
    let all = |values: Vec<Value>| values.into_iter().map(bare).collect();
    match value {
        Value::Array { dims, .. } => Value::Sizes(dims),
        Value::Cell { dims, values } => Value::Cell { dims, values: all(values) },
        Value::Struct { dims, fields, values } => Value::Struct { dims, fields, values: all(values) },
        other => other,
    }
}

#[test]
fn a_sketch_has_everything_but_the_numbers() {
    let mut seen = 0;
    for entry in std::fs::read_dir(own("")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(file) = MatFile::open(&path) else { continue };
        for name in file.names() {
            let Ok(whole) = file.read(&name) else { continue };
            let sketch = file.read_sizes(&name).unwrap();
            assert_eq!(bare(sketch), bare(whole), "{} {name}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
    let nested = MatFile::open(&own("v73.mat")).unwrap().read_sizes("nested").unwrap();
    assert!(format!("{nested:?}").contains("Sizes(["), "{nested:?}");
}

#[test]
fn sizes_that_the_file_cannot_hold_are_refused() {
    let bytes = std::fs::read(own("v73.mat")).unwrap();
    let sizes = [2_u64, 1].map(u64::to_le_bytes).concat();
    let mut refused = vec![];
    for at in 0..bytes.len() - sizes.len() {
        // Wherever a dataset of two values says so, it claims 2^52 now.
        if bytes[at..].starts_with(&sizes) {
            let mut lie = bytes.clone();
            lie[at + 6] = 0x10;
            let Ok(file) = MatFile::parse(Bytes::from(lie), &Place::from(Path::new("lie.mat"))) else {
                continue;
            };
            let errors = file.names().into_iter().filter_map(|name| file.read(&name).err());
            for error in errors.filter(|error| error.to_string().contains("the file cannot hold them")) {
                assert!(error.hint().is_some() && error.to_string().starts_with("lie.mat, array `"));
                refused.push(error.to_string());
            }
        }
    }
    assert!(refused.len() >= 6, "{refused:?}");
}

#[test]
fn formats_of_hdf5_that_are_too_new_are_refused_with_what_to_do() {
    let error = MatFile::open(&own("v73-newest.mat")).unwrap().read("x").unwrap_err();
    assert!(error.to_string().contains("array `x`: cannot be read as HDF5"), "{error}");
    assert!(error.hint().unwrap().contains("save it in MATLAB with `-v7`"));
}

#[test]
fn values_that_hold_themselves_come_to_an_end() {
    let file = MatFile::open(&own("v73-circle.mat")).unwrap();
    for name in ["cell", "struct", "tree"] {
        let error = file.read(name).unwrap_err().to_string();
        assert!(error.contains("more than"), "{error}");
    }
}

//! What is written is read back the same.

use std::path::Path;

use ptsm_io::mat::{self, MatFile, Numbers, Value};

fn round_trip(variables: &[(&str, &Value)]) -> MatFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mat");
    mat::write(&path, variables).unwrap();
    MatFile::open(&path).unwrap()
}

fn array(dims: &[usize], real: Numbers) -> Value {
    Value::Array { dims: dims.to_vec(), real, imaginary: None, logical: false }
}

#[test]
fn every_kind_of_value_comes_back() {
    let text = |rows: &[&str]| Value::Text(rows.iter().map(|row| row.to_string()).collect());
    let empty = |dims: &[usize]| array(dims, Numbers::F64(vec![]));
    let values = [
        ("i8", array(&[1, 3], Numbers::I8(vec![-128, 0, 127]))),
        ("u8", array(&[5, 1], Numbers::U8(vec![0, 1, 2, 254, 255]))),
        ("i16", array(&[1, 1], Numbers::I16(vec![i16::MIN]))),
        ("u16", array(&[1, 2], Numbers::U16(vec![0, u16::MAX]))),
        ("i32", array(&[1, 1], Numbers::I32(vec![i32::MIN]))),
        ("u32", array(&[1, 1], Numbers::U32(vec![u32::MAX]))),
        ("i64", array(&[1, 2], Numbers::I64(vec![i64::MIN, i64::MAX]))),
        ("u64", array(&[1, 1], Numbers::U64(vec![u64::MAX]))),
        ("f32", array(&[1, 3], Numbers::F32(vec![f32::MIN_POSITIVE, f32::INFINITY, -0.5]))),
        ("f64", array(&[2, 1, 3], Numbers::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, f64::MAX]))),
        (
            "complex",
            Value::Array {
                dims: vec![1, 2],
                real: Numbers::F64(vec![1.0, 2.0]),
                imaginary: Some(Numbers::F64(vec![3.0, -4.0])),
                logical: false,
            },
        ),
        (
            "logical",
            Value::Array {
                dims: vec![1, 3],
                real: Numbers::U8(vec![1, 0, 1]),
                imaginary: None,
                logical: true,
            },
        ),
        ("none", empty(&[0, 0])),
        ("no_rows", empty(&[0, 7])),
        ("text", text(&["a µ 😀"])),
        ("rows", text(&["Fp1 ", "PO10"])),
        ("no_text", text(&[])),
        ("blank", text(&[""])),
        ("sparse", Value::Sparse { dims: [3, 4], entries: vec![(2, 0, 1.5), (0, 3, -2.0), (1, 3, 0.25)] }),
        ("no_entries", Value::Sparse { dims: [3, 0], entries: vec![] }),
        (
            "cell",
            Value::Cell {
                dims: vec![1, 2],
                values: vec![text(&["x"]), Value::Cell { dims: vec![0, 0], values: vec![] }],
            },
        ),
        ("no_fields", Value::Struct { dims: vec![1, 1], fields: vec![], values: vec![] }),
        ("no_structs", Value::Struct { dims: vec![0, 0], fields: vec!["a".into()], values: vec![] }),
        (
            "structs",
            Value::Struct {
                dims: vec![1, 2],
                fields: vec!["type".into(), "a_name_of_more_than_thirty_two_letters".into()],
                values: vec![
                    text(&["left"]),
                    Value::row(vec![1.5]),
                    empty(&[0, 0]),
                    Value::record(vec![("deep", Value::row(vec![2.5, 3.5]))]),
                ],
            },
        ),
    ];
    let variables: Vec<(&str, &Value)> = values.iter().map(|(name, value)| (*name, value)).collect();
    let file = round_trip(&variables);
    assert_eq!(file.names(), variables.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, value) in variables {
        assert_eq!(&file.read(name).unwrap(), value, "{name}");
    }
}

#[test]
fn what_others_wrote_comes_back() {
    for name in ["level5.mat", "level5-packed.mat", "v73.mat"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        let file = MatFile::open(&path).unwrap();
        let names = file.names();
        let values: Vec<Value> = names.iter().map(|name| file.read(name).unwrap()).collect();
        let variables: Vec<(&str, &Value)> = names.iter().map(String::as_str).zip(&values).collect();
        let variables: Vec<_> =
            variables.into_iter().filter(|(_, value)| !matches!(value, Value::Opaque(_))).collect();
        assert!(variables.len() > 15);
        let again = round_trip(&variables);
        for (name, value) in variables {
            assert_eq!(&again.read(name).unwrap(), value, "{name}");
        }
    }
}

#[test]
fn the_same_values_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = ["a.mat", "b.mat"].map(|name| {
        let path = folder.path().join(name);
        mat::write(&path, &[("x", &Value::row(vec![1.0, 2.0]))]).unwrap();
        std::fs::read(path).unwrap()
    });
    assert_eq!(bytes[0], bytes[1]);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mat");
    let one = Value::row(vec![1.0]);
    let refused = |name: &str, value: &Value, what: &str| {
        let error = mat::write(&path, &[("fine", &one), (name, value)]).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    };
    refused("a b", &one, "`a b` is no name MATLAB takes");
    refused("", &one, "is no name");
    refused("_a", &one, "is no name");
    refused(&"a".repeat(64), &one, "is no name");
    refused("x", &Value::record(vec![("a.b", one.clone())]), "`a.b` is no name");
    refused("x", &Value::LeftOut, "left out");
    refused(
        "x",
        &Value::record(vec![("f", Value::Opaque("function".into()))]),
        "a function cannot be written",
    );
    refused("x", &Value::matrix(vec![2, 2], vec![1.0]), "[2, 2] does not hold 1 values");
    refused("x", &Value::matrix(vec![1], vec![1.0]), "sizes [1] cannot be written");
    refused("x", &Value::Cell { dims: vec![1, 2], values: vec![] }, "does not hold 0 values");
    refused(
        "x",
        &Value::Sparse { dims: [2, 2], entries: vec![(0, 1, 1.0), (0, 0, 1.0)] },
        "column by column",
    );
    refused("x", &Value::Sparse { dims: [2, 2], entries: vec![(2, 0, 1.0)] }, "must lie inside");
    let deep = (0..100).fold(one.clone(), |inner, _| Value::Cell { dims: vec![1, 1], values: vec![inner] });
    refused("x", &deep, "more than 64 deep");
    assert!(!path.exists(), "nothing is left of a file that could not be written");
}

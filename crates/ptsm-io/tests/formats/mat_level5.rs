//! MATLAB files of level 5, written by SciPy or packed by hand, hold what they should.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use ptsm_io::mat::{MatFile, Numbers, Value};
use ptsm_io::{Bytes, Place};

use crate::by_hand::{element, file, header, matrix, packed, small};

fn own(name: &str) -> MatFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    MatFile::open(&path).unwrap()
}

/// A file that is not part of this repository.
fn shared(name: &str) -> Option<MatFile> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "../../../shared/datasets/fixtures/mat", name].iter().collect();
    if !path.exists() {
        eprintln!("skipped: needs ../shared/datasets/fixtures/mat/{name}");
        return None;
    }
    Some(MatFile::open(&path).unwrap())
}

/// One number of an array by its indices.
fn at(value: &Value, indices: &[usize]) -> f64 {
    let dims = value.dims();
    let offset = indices.iter().zip(&dims).rev().fold(0, |offset, (i, d)| offset * d + i);
    value.vector().unwrap()[offset]
}

fn texts(value: &Value) -> Vec<&str> {
    value.cells().unwrap().iter().map(|cell| cell.text().unwrap()).collect()
}

#[test]
fn openbmi_files_are_read() {
    let Some(file) = shared("sess01_subj01_EEG_MI.mat") else { return };
    assert_eq!(file.names(), ["EEG_MI_train", "EEG_MI_test"]);
    let train = file.read("EEG_MI_train").unwrap();
    let smt = train.field("smt").unwrap();
    assert_eq!(smt.dims(), [200, 2, 4]);
    assert!((at(smt, &[0, 0, 0]) + 13.73).abs() < 1e-9);
    assert!((at(smt, &[199, 1, 3]) - 4.391).abs() < 1e-9);
    assert_eq!(train.field("y_dec").unwrap().vector().unwrap(), [1.0, 2.0]);
    assert_eq!(texts(train.field("chan").unwrap()), ["C3", "Cz", "C4", "FTT9h"]);
    // The trials are cut from the signal where `t`, which counts from 1, says.
    let (x, t) = (train.field("x").unwrap(), train.field("t").unwrap().vector().unwrap());
    for (trial, t) in t.into_iter().enumerate() {
        assert_eq!(at(x, &[t as usize - 1, 2]), at(smt, &[0, trial, 2]));
    }
    let test = file.read_some("EEG_MI_test", &|path| path == ["x"]).unwrap();
    assert!((at(test.field("x").unwrap(), &[599, 3]) + 6.829).abs() < 1e-9);
    assert_eq!(test.field("smt"), Some(&Value::LeftOut));
}

#[test]
fn kul_files_are_read() {
    for name in ["S1.mat", "S2.mat"] {
        let Some(file) = shared(name) else { return };
        let trials = file.read("trials").unwrap();
        let trials = trials.cells().unwrap();
        assert_eq!(trials.len(), 2);
        let eeg = |trial: usize| trials[trial].field("RawData").unwrap().field("EegData").unwrap();
        assert_eq!(eeg(0).dims(), [256, 64]);
        assert!(matches!(eeg(0), Value::Array { real: Numbers::F32(_), .. }));
        if name == "S1.mat" {
            assert_eq!(at(eeg(0), &[0, 0]), -1.1030000448226929);
            assert_eq!(at(eeg(1), &[255, 63]), 0.09200000017881393);
        }
        let ears: Vec<_> = trials.iter().map(|t| t.field("attended_ear").unwrap().text().unwrap()).collect();
        assert_eq!(ears, ["L", "R"]);
        assert_eq!(
            texts(trials[0].field("stimuli").unwrap()),
            ["part1_track1_dry.wav", "part1_track2_dry.wav"]
        );
        let rate = trials[0].field("FileHeader").unwrap().field("SampleRate").unwrap();
        assert_eq!(rate.number(), Some(128.0));
    }
}

#[test]
fn bnci_files_are_read() {
    let Some(file) = shared("A01T.mat") else { return };
    let data = file.read("data").unwrap();
    let runs: Vec<&Value> = data.cells().unwrap().iter().collect();
    assert_eq!(runs.len(), 3);
    assert!(runs[0].field("trial").unwrap().vector().unwrap().is_empty());
    let run = runs[1];
    assert_eq!(run.field("X").unwrap().dims(), [2000, 25]);
    assert!((at(run.field("X").unwrap(), &[250, 0]) - 0.126).abs() < 1e-9);
    assert_eq!(run.field("trial").unwrap().vector().unwrap(), [251.0, 1001.0]);
    assert_eq!(run.field("y").unwrap().vector().unwrap(), [1.0, 4.0]);
    assert_eq!(run.field("artifacts").unwrap().vector().unwrap(), [0.0, 1.0]);
    assert_eq!(texts(run.field("classes").unwrap()), ["left hand", "right hand", "feet", "tongue"]);
}

#[test]
fn numbers_stay_as_small_as_they_are_stored_in_both_byte_orders() {
    for name in ["packed-le.mat", "packed-be.mat"] {
        let Some(file) = shared(name) else { return };
        let Value::Array { dims, real, imaginary: None, logical: false } = file.read("a").unwrap() else {
            panic!("not an array")
        };
        assert_eq!(dims, [2, 3]);
        assert_eq!(real.to_f64(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert!(matches!(real, Numbers::U8(_)), "{real:?}");
        let b = file.read("b").unwrap();
        assert_eq!(b.vector().unwrap(), [-300.0, 7.0]);
        assert!(matches!(b, Value::Array { real: Numbers::I16(_), .. }));
        assert_eq!(file.read("txt").unwrap().text(), Some("Fp1"));
        assert!(
            matches!(file.read("flag").unwrap(), Value::Array { real, logical: true, .. } if real.to_f64() == [1.0])
        );
    }
}

#[test]
fn every_kind_of_value_scipy_writes() {
    for name in ["level5.mat", "level5-packed.mat"] {
        let file = own(name);
        assert_eq!(file.names().len(), 18);
        let read = |name: &str| file.read(name).unwrap();
        let entries = vec![(1, 0, 2.0), (0, 1, 1.5), (2, 1, -3.0), (2, 2, 4.25)];
        assert_eq!(read("sparse"), Value::Sparse { dims: [3, 3], entries });
        assert_eq!(read("sparse_empty"), Value::Sparse { dims: [3, 2], entries: vec![] });
        assert_eq!(
            read("complex"),
            Value::Array {
                dims: vec![2, 2],
                real: Numbers::F64(vec![1.0, 0.0, 3.0, -6.0]),
                imaginary: Some(Numbers::F64(vec![2.0, 0.5, -4.0, 0.0])),
                logical: false,
            }
        );
        let array = |dims: &[usize], real| Value::Array {
            dims: dims.to_vec(),
            real,
            imaginary: None,
            logical: false,
        };
        assert_eq!(read("int64"), array(&[1, 3], Numbers::I64(vec![i64::MIN, i64::MAX, (1 << 53) + 1])));
        assert_eq!(read("uint64"), array(&[1, 2], Numbers::U64(vec![u64::MAX, (1 << 53) + 1])));
        assert_eq!(read("int8"), array(&[1, 2], Numbers::I8(vec![-128, 127])));
        assert_eq!(read("single"), array(&[1, 2], Numbers::F32(vec![0.5, -1.25])));
        assert_eq!(read("empty"), array(&[0, 3], Numbers::F64(vec![])));
        let logical = read("logical");
        assert!(matches!(logical, Value::Array { logical: true, .. }));
        assert_eq!(logical.vector().unwrap(), [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
        let cube = read("cube");
        assert_eq!((cube.dims(), at(&cube, &[1, 2, 3]), at(&cube, &[0, 1, 0])), (vec![2, 3, 4], 23.0, 4.0));
        assert_eq!(read("names"), Value::Text(["Fp1 ", "Cz  ", "PO10"].map(String::from).to_vec()));
        assert_eq!(read("unicode").text(), Some("µV é 😀"));
        assert_eq!(read("empty_text").text(), Some(""));
        let cells = read("cells");
        let cells = cells.cells().unwrap();
        assert_eq!(cells[0].text(), Some("C3"));
        assert_eq!(cells[1].vector().unwrap(), [1.0, 2.0]);
        assert_eq!(cells[2].cells().unwrap()[0].text(), Some("inner"));
        assert_eq!(cells[2].cells().unwrap()[1].dims(), [0, 0]);
        let trials = read("trials");
        assert_eq!(trials.cells().unwrap()[1].field("fs").unwrap().number(), Some(64.0));
        assert_eq!(trials.cells().unwrap()[0].field("ear").unwrap().text(), Some("L"));
        let records = read("records");
        assert_eq!(records.dims(), [1, 3]);
        assert_eq!(records.element(0, "type").unwrap().text(), Some("left"));
        assert_eq!(records.element(1, "type").unwrap().number(), Some(7.0));
        assert_eq!(records.element(1, "latency").unwrap().number(), Some(2.5));
        assert_eq!(records.element(2, "type").unwrap().text(), Some(""));
        assert_eq!(records.element(3, "type"), None);
        assert_eq!(read("object").field("b").unwrap().text(), Some("x"));
        let error = file.read("nothing").unwrap_err();
        assert!(error.to_string().contains("has no variable `nothing`"), "{error}");
        assert!(error.hint().unwrap().contains("`sparse`"));
    }
}

#[test]
fn fields_that_are_not_requested_are_left_out_wherever_they_are() {
    for name in ["level5.mat", "level5-packed.mat"] {
        let file = own(name);
        let requested = RefCell::new(vec![]);
        let nested = file.read_some("nested", &|path| {
            requested.borrow_mut().push(path.join("."));
            path.last() != Some(&"skip")
        });
        let nested = nested.unwrap();
        assert_eq!(*requested.borrow(), ["a", "last", "a.b", "a.b.c", "a.b.c.d", "a.b.c.skip"]);
        let c = nested.field("a").unwrap().field("b").unwrap().field("c").unwrap();
        assert_eq!(c.field("skip"), Some(&Value::LeftOut));
        assert_eq!(c.field("d").unwrap().number(), Some(4.0));
        assert_eq!(nested.field("last").unwrap().text(), Some("end"));
        // Asked once for all elements of an array, with no trace of the array in the path.
        let requested = RefCell::new(vec![]);
        let records = file.read_some("records", &|path| {
            requested.borrow_mut().push(path.join("."));
            path == ["latency"]
        });
        assert_eq!(*requested.borrow(), ["type", "latency"]);
        assert_eq!(records.as_ref().unwrap().element(1, "type"), Some(&Value::LeftOut));
        assert_eq!(records.unwrap().element(1, "latency").unwrap().number(), Some(2.5));
        // The same for structs in cells.
        let trials = file.read_some("trials", &|path| path == ["ear"]).unwrap();
        let second = &trials.cells().unwrap()[1];
        assert_eq!(
            (second.field("fs"), second.field("ear").unwrap().text()),
            (Some(&Value::LeftOut), Some("R"))
        );
    }
}

fn parse(bytes: Vec<u8>) -> ptsm_io::Result<MatFile> {
    MatFile::parse(Bytes::from(bytes), &Place::from(Path::new("x.mat")))
}

#[test]
fn text_comes_in_every_encoding() {
    let utf16: Vec<u8> = "µ😀".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf32: Vec<u8> = "µ😀".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    for (kind, bytes, dims) in [
        (16, "µ😀".as_bytes(), [1, 3]),
        (16, "µ😀".as_bytes(), [1, 6]),
        (17, &utf16, [1, 3]),
        (4, &utf16, [1, 3]),
        (18, &utf32, [1, 3]),
        (18, &utf32, [1, 2]),
        (2, "µ😀".as_bytes(), [1, 6]),
    ] {
        let bytes = file(&[matrix(4, 0, &dims, "s", &element(kind, bytes))]);
        let read = parse(bytes).unwrap().read("s").unwrap();
        assert_eq!(read, Value::Text(vec!["µ😀".into()]), "type {kind} with sizes {dims:?}");
    }
    // Latin-1 bytes, columns first.
    let bytes = file(&[matrix(4, 0, &[2, 2], "s", &element(2, b"a\xB5bV"))]);
    assert_eq!(parse(bytes).unwrap().read("s").unwrap(), Value::Text(vec!["ab".into(), "µV".into()]));
}

#[test]
fn what_has_no_meaning_here_is_opaque_and_harms_nothing_else() {
    let parts = [&b"o"[..], b"MCOS", b"string"].map(|text| element(1, text)).concat();
    let object = [element(6, &[17, 0, 0, 0, 0, 0, 0, 0]), parts, element(14, &[1, 2, 3])].concat();
    let function = matrix(16, 0, &[1, 1], "f", &element(14, b"whatever"));
    let workspace = matrix(9, 0, &[1, 1], "", &small(2, &[1]));
    let record = [small(5, &[2, 0, 0, 0]), element(1, b"f\0n\0")].concat();
    let inner = matrix(16, 0, &[1, 1], "", &element(14, b"whatever"));
    let record = [record, inner, matrix(6, 0, &[1, 1], "", &small(2, &[5]))].concat();
    let bytes = file(&[
        element(14, &object),
        function,
        matrix(2, 0, &[1, 1], "r", &record),
        matrix(6, 0, &[1, 1], "n", &small(2, &[7])),
        workspace,
    ]);
    let file = parse(bytes).unwrap();
    assert_eq!(file.names(), ["o", "f", "r", "n"]);
    assert_eq!(file.read("o").unwrap(), Value::Opaque("string".into()));
    assert_eq!(file.read("f").unwrap(), Value::Opaque("function".into()));
    assert_eq!(file.read("n").unwrap().number(), Some(7.0));
    let record = file.read("r").unwrap();
    assert_eq!(record.field("f").unwrap(), &Value::Opaque("function".into()));
    assert_eq!(record.field("n").unwrap().number(), Some(5.0));
}

#[test]
fn elements_without_bytes_are_empty_arrays() {
    let content = [element(14, &[]), matrix(6, 0, &[1, 1], "", &small(2, &[7])), element(14, &[])].concat();
    let file = parse(file(&[matrix(1, 0, &[1, 3], "c", &content)])).unwrap();
    let cell = file.read("c").unwrap();
    let cells = cell.cells().unwrap();
    assert_eq!(cells[0].dims(), [0, 0]);
    assert_eq!(cells[1].number(), Some(7.0));
    assert_eq!(cells[2].text(), Some(""));
}

#[test]
fn of_variables_with_one_name_the_last_counts() {
    let number = |name, n| matrix(6, 0, &[1, 1], name, &small(2, &[n]));
    let file = parse(file(&[number("a", 1), number("b", 2), packed(&number("a", 3))])).unwrap();
    assert_eq!(file.names(), ["b", "a"]);
    assert_eq!(file.read("a").unwrap().number(), Some(3.0));
}

#[test]
fn other_files_are_refused_with_what_to_do() {
    let refused = |bytes: &[u8], what: &str| {
        let error = parse(bytes.to_vec()).unwrap_err();
        assert!(error.to_string().starts_with("x.mat"), "{error}");
        assert!(error.to_string().contains(what), "{error}");
        assert!(error.hint().is_some(), "{error}");
    };
    refused(b"", "is empty: 0 bytes");
    refused(b"M", "too short");
    refused(&[0, 0, 0, 0, 2, 0, 0, 0], "level 4");
    refused(&[b' '; 500], "not a MATLAB file");
    let mut unknown_version = header();
    unknown_version[124..126].copy_from_slice(&[5, 3]);
    refused(&unknown_version, "unknown version 3.5");
    // A file without variables is none.
    assert!(parse(header()).unwrap().names().is_empty());
}

#[test]
fn lies_are_errors_that_say_where() {
    let huge = [0xFF, 0xFF, 0xFF, 0x7F];
    let lying_tag = |kind: u32| [kind.to_le_bytes(), huge].concat();
    let number = |dims: &[i32], content: &[u8]| matrix(6, 0, dims, "x", content);
    let refused_at = |bytes: Vec<u8>, byte: usize, what: &str| {
        let error = match parse(bytes) {
            Err(error) => error,
            Ok(file) => file.read("x").unwrap_err(),
        };
        let text = error.to_string();
        assert!(text.contains(&format!("byte {byte}: ")) && text.contains(what), "{text}");
        assert!(error.hint().is_some(), "{text}");
    };
    refused_at([header(), lying_tag(14)].concat(), 136, "claims 2147483647 bytes, 0 are left");
    refused_at([header(), lying_tag(15)].concat(), 136, "claims 2147483647 bytes, 0 are left");
    refused_at([header(), lying_tag(3)].concat(), 136, "claims");
    // Numbers that are not there, in a matrix that is large enough or not.
    refused_at(file(&[small(14, &[1])]), 132, "less than eight bytes");
    refused_at(file(&[small(15, &[1, 2, 3, 4])]), 132, "less than eight bytes");
    refused_at(file(&[number(&[1000, 1000], &lying_tag(9))]), 192, "claims 2147483647 bytes");
    refused_at(file(&[number(&[1000, 1000], &element(9, &[0; 8]))]), 192, "[1000, 1000] holds 1 numbers");
    refused_at(
        file(&[number(&[i32::MAX, i32::MAX, i32::MAX], &element(9, &[0; 8]))]),
        200,
        "holds 1 numbers",
    );
    refused_at(file(&[number(&[-1, 1], &element(9, &[0; 8]))]), 168, "a size of -1");
    refused_at(file(&[number(&[1; 65], &element(9, &[0; 8]))]), 160, "at most 256");
    // Cells and structs of which each would take memory.
    refused_at(file(&[matrix(1, 0, &[i32::MAX, 1], "x", &element(14, &[]))]), 184, "sizes [2147483647, 1]");
    let names = [small(5, &[1, 0, 0, 0]), small(1, b"a")].concat();
    refused_at(file(&[matrix(2, 0, &[i32::MAX, 1], "x", &names)]), 200, "sizes [2147483647, 1]");
    refused_at(
        file(&[matrix(2, 0, &[1, 1], "x", &[small(5, &[0; 4]), small(1, b"a")].concat())]),
        200,
        "field names",
    );
    refused_at(file(&[matrix(4, 0, &[i32::MAX, i32::MAX], "x", &element(4, &[0; 8]))]), 184, "more than");
    refused_at(file(&[matrix(99, 0, &[1, 1], "x", &[])]), 184, "class 99");
    // A packed variable that claims more than deflate can make.
    let lie = [14_u32.to_le_bytes(), huge].concat();
    refused_at(file(&[packed(&lie)]), 152, "claims 2147483647 bytes");
    let sparse =
        [element(5, &[9, 0, 0, 0]), element(5, &[0, 0, 0, 0, 1, 0, 0, 0]), element(9, &[0; 8])].concat();
    refused_at(file(&[matrix(5, 0, &[3, 1], "x", &sparse)]), 232, "sparse");
}

#[test]
fn structs_of_any_size_without_fields_take_no_memory() {
    let names = [small(5, &[1, 0, 0, 0]), element(1, &[])].concat();
    let file = parse(file(&[matrix(2, 0, &[i32::MAX, i32::MAX], "x", &names)])).unwrap();
    let Value::Struct { values, fields, .. } = file.read("x").unwrap() else { panic!("not a struct") };
    assert!(values.is_empty() && fields.is_empty());
}

#[test]
fn values_inside_of_values_have_a_limit() {
    let nest = |deep: usize| {
        let mut value = matrix(6, 0, &[1, 1], "", &small(2, &[7]));
        (0..deep).for_each(|_| value = matrix(1, 0, &[1, 1], "", &value));
        parse(file(&[matrix(1, 0, &[1, 1], "x", &value)])).unwrap().read("x")
    };
    nest(63).unwrap();
    let error = nest(1000).unwrap_err();
    assert!(error.to_string().contains("more than 64 deep"), "{error}");
}

#[test]
fn a_packed_variable_of_too_many_values_is_refused_before_it_fills_the_memory() {
    // Five million empty cells in a small file.
    let count = 5_000_000;
    let bytes = file(&[packed(&matrix(1, 0, &[1, count], "x", &element(14, &[]).repeat(count as usize)))]);
    assert!(bytes.len() < 400_000, "{}", bytes.len());
    let error = parse(bytes).unwrap().read("x").unwrap_err();
    assert!(error.to_string().contains("more than 4194304 values"), "{error}");
}

#[test]
fn a_wrong_check_sum_is_found() {
    let mut variable = packed(&matrix(6, 0, &[1, 1], "x", &small(2, &[7])));
    let last = variable.len() - 1;
    variable[last] ^= 1;
    let file = parse(file(&[variable])).unwrap();
    let error = file.read("x").unwrap_err();
    assert!(error.to_string().contains("array `x`") && error.to_string().contains("inflate"), "{error}");
}

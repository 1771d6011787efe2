//! Files of a few megabytes that ask for as much memory as they can: what opening them takes is bounded.

use std::io::Write;
use std::path::Path;

use ptsm_io::mat::{self, Numbers, Value};
use ptsm_io::{Bytes, RecordingFile, Result, brainvision, cnt, edf, eeglab, fif, gdf};

use crate::allocator::{alone, peak_of};
use crate::by_hand;
use crate::cnt_made;
use crate::edf_made::{File, MadeSignal, counts, counts24, texts};
use crate::fif_made;
use crate::gdf_made;
use crate::shared::nowhere;

/// Opens a file and checks what that takes: some memory for a million annotations, and a few times the bytes of the file. A file of 100 MB
/// stays below 1 GB.
fn open(bytes: Vec<u8>, parse: impl FnOnce(Bytes) -> Result<RecordingFile>) -> Result<RecordingFile> {
    let length = bytes.len();
    let (opened, peak) = peak_of(|| parse(Bytes::from(bytes)));
    assert!(peak < (200 << 20) + 8 * length, "{peak} bytes of memory for {length} of file");
    opened
}

fn open_edf(file: &File) -> Result<RecordingFile> {
    open(file.bytes(), |bytes| edf::parse(bytes, &nowhere()))
}

fn says(opened: Result<RecordingFile>, words: &str) {
    let error = opened.unwrap_err();
    assert!(error.to_string().contains(words) && error.hint().is_some(), "{error}");
}

/// So many bytes, again and again the same.
fn filled(with: &[u8], length: usize) -> Vec<u8> {
    with.iter().copied().cycle().take(length).collect()
}

#[test]
fn annotations_of_one_letter() {
    let _alone = alone();
    let block = |count: usize| [b"+0\x14".as_slice(), &filled(b"a\x14", 2 * count), b"\0"].concat();
    let with = |block: &[u8]| {
        let length = block.len().next_multiple_of(2);
        open_edf(&File::edf(
            "EDF+C",
            vec![counts("C3", &[&[1, 2]]), texts("EDF Annotations", length, &[block])],
        ))
    };
    says(with(&block(4 << 20)), "has more than 1048576 annotations");
    says(with(&filled(b"+0\x14a\x14\0", 16 << 20)), "has more than 1048576 annotations");
    assert_eq!(with(&block(1 << 20)).unwrap().annotations().len(), 1 << 20);
}

#[test]
fn a_gap_after_every_record() {
    let _alone = alone();
    let (samples, starts): (Vec<_>, Vec<_>) =
        (0..2 << 20).map(|i| (vec![0, 0], format!("+{}\x14\x14\0", 10 + i % 2 * 10).into_bytes())).unzip();
    let with = |samples: Vec<Vec<u8>>, starts: Vec<Vec<u8>>| {
        let signals = vec![
            MadeSignal { records: samples, ..counts("C3", &[]) },
            MadeSignal { records: starts, ..texts("EDF Annotations", 6, &[]) },
        ];
        open_edf(&File::edf("EDF+D", signals))
    };
    let half = 1 << 20;
    let opened = with(samples[..half].to_vec(), starts[..half].to_vec()).unwrap();
    assert_eq!(opened.segments().len(), half);
    says(with(samples, starts), "has more than 1048576 segments between gaps");
}

#[test]
fn triggers_at_every_other_sample() {
    let _alone = alone();
    let with = |samples: i32| {
        let values: Vec<i32> = (0..samples).map(|i| i % 2).collect();
        let signals = vec![counts24("C3", &[&values]), counts24("Status", &[&values])];
        open_edf(&File { bdf: true, ..File::edf("24BIT", signals) }).unwrap()
    };
    let many = with(4 << 20);
    assert!(many.annotations().is_empty());
    assert!(many.notes()[0].contains("`Status` changes too often"), "{:?}", many.notes());
    assert_eq!(with(1 << 20).annotations().len(), 1 << 19);
}

#[test]
fn a_table_of_events() {
    let _alone = alone();
    let with = |count: usize| {
        let mut file = gdf_made::File::new("1.25", vec![gdf_made::counts("C3", &[&[1, 2]])]);
        file.events = gdf_made::table("1.25", 1, 1.0, &vec![(1, 769, 0, 0); count]);
        open(file.bytes(), |bytes| gdf::parse(bytes, &nowhere()))
    };
    assert_eq!(with(1 << 20).unwrap().annotations().len(), 1 << 20);
    says(with((1 << 20) + 1), "has more than 1048576 events");
}

#[test]
fn a_table_of_keys() {
    let _alone = alone();
    let with = |count: usize| {
        let file = cnt_made::File { table: 1, ..cnt_made::File::new(2, &[[0; 2]; 4]) };
        let file = cnt_made::File { events: vec![(0, 0, 1, 0); count], ..file };
        open(file.bytes(), |bytes| cnt::parse(bytes, &nowhere()))
    };
    assert_eq!(with(1 << 20).unwrap().annotations().len(), 1 << 20);
    says(with((1 << 20) + 1), "has more than 1048576 events");
}

#[test]
fn empty_texts_between_colons() {
    let _alone = alone();
    let with = |block: i32, kind: i32, texts: &[u8]| {
        let file = fif_made::File::new().info();
        let file = file.block(block, |file| file.tag(kind, 10, texts));
        let file = file.block(102, |file| file.tag(300, 2, &[0; 4]));
        open(file.end(), |bytes| fif::parse(bytes, &nowhere()))
    };
    for (block, kind) in [(3810, 206), (359, 3507)] {
        says(with(block, kind, &filled(b":", 8 << 20)), "has more than 1048576 texts in a list");
        with(block, kind, &filled(b":", 1 << 20)).unwrap();
    }
}

#[test]
fn trials_of_one_sample() {
    let _alone = alone();
    let with = |trials: usize| {
        let sizes = [1, 2, trials as i32, 3].map(i32::to_be_bytes).concat();
        let matrix = [filled(&[0], 4 * trials), sizes].concat();
        let file = fif_made::File::new().info();
        let file = file.block(361, |file| file.tag(3561, 3, &filled(&[0], 12 * trials)));
        let file = file.block(373, |file| file.tag(302, 0x4000_0002, &matrix));
        open(file.end(), |bytes| fif::parse(bytes, &nowhere()))
    };
    assert_eq!(with(1 << 20).unwrap().epochs().unwrap().codes.len(), 1 << 20);
    says(with((1 << 20) + 1), "has more than 1048576 trials");
}

#[test]
fn lines_of_one_letter() {
    let _alone = alone();
    let header = "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nDataFormat=BINARY\n\
                  DataOrientation=MULTIPLEXED\nNumberOfChannels=1\nSamplingInterval=1000\n\
                  [Binary Infos]\nBinaryFormat=INT_16\n[Channel Infos]\nCh1=C3,,1,uV\n";
    let title = b"Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\n";
    let with = |lines: &[u8]| {
        let markers = [title, lines].concat();
        open(markers, |markers| {
            let samples = Bytes::from(vec![0; 20]);
            brainvision::parse(Path::new("a.vhdr"), header.as_bytes(), Some(&markers), samples)
        })
    };
    let many = with(&filled(b"=\n", 8 << 20)).unwrap();
    assert!(many.notes()[0].contains("is too long for markers"), "{:?}", many.notes());
    assert_eq!(with(&filled(b"=a,,1\n", 6 << 18)).unwrap().annotations().len(), 1 << 18);
}

#[test]
fn packed_numbers_are_inflated_once() {
    let _alone = alone();
    let (channels, points) = (4, 1 << 20);
    let number = |n: usize| Value::row(vec![n as f64]);
    let data = (0..channels * points).map(|i| (i % 1000) as i16).collect();
    let data = Value::Array {
        dims: vec![channels, points],
        real: Numbers::I16(data),
        imaginary: None,
        logical: false,
    };
    let fields = vec![
        ("nbchan", number(channels)),
        ("pnts", number(points)),
        ("srate", number(100)),
        ("data", data),
        ("trials", number(1)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.set");
    mat::write(&path, &[("EEG", &Value::record(fields))]).unwrap();
    let plain = std::fs::read(&path).unwrap();
    let packed = by_hand::file(&[by_hand::packed(&plain[128..])]);
    let opened = open(packed, |bytes| eeglab::parse(bytes, None, &nowhere())).unwrap();
    let mut to = [0.0; 6];
    let (read, peak) = peak_of(|| opened.read(&[1, 3], points - 3, &mut to));
    read.unwrap();
    let last = channels * (points - 3);
    let expected = [1, 5, 9, 3, 7, 11].map(|i| ((last + i) % 1000) as f32);
    assert_eq!((to, peak < 1 << 16), (expected, true), "{peak} bytes for six samples");
}

#[test]
fn packed_zeros() {
    let _alone = alone();
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    (0..300).for_each(|_| encoder.write_all(&[0; 1 << 20]).unwrap());
    let bytes = encoder.finish().unwrap();
    says(open(bytes, |bytes| fif::parse(bytes, &nowhere())), "becomes larger than");
}

//! FIF files whose tags do not lie one after the other, that are packed, or that are split into several.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use ptsm_io::{RecordingFile, Segment};

use crate::fif_made::{File, parse};
use crate::hostile::{Random, examine, windows_equal_the_whole};

fn shorts(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_be_bytes()).collect()
}

/// A recording of two channels at 10 Hz.
fn raw(values: &[i16]) -> File {
    File::new().info().block(102, |file| file.tag(300, 2, &shorts(values)))
}

fn signal(opened: &RecordingFile, i: usize) -> Vec<f32> {
    let mut values = vec![0.0; opened.length()];
    opened.read(&[i], 0, &mut values).unwrap();
    values.iter().map(|v| v.round()).collect()
}

/// Where the tags of a file begin that lie one after the other.
fn places(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut all) = (0, vec![]);
    while at < bytes.len() {
        all.push(at);
        at += 16 + i32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    all
}

fn put(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 4].copy_from_slice(&(value as i32).to_be_bytes());
}

/// Takes the tag at a place out of the middle of a file, puts it to the end and leads there and back, as programs do that change a
/// file. What stays in its place is of no kind anybody knows.
fn moved(bytes: &mut Vec<u8>, at: usize) {
    let places = places(bytes);
    let i = places.iter().position(|&place| place == at).unwrap();
    let (before, after, end) = (places[i - 1], places[i + 1], bytes.len());
    let tag = bytes[at..after].to_vec();
    put(bytes, at, 9999);
    put(bytes, before + 12, end);
    bytes.extend(tag);
    put(bytes, end + 12, after);
}

/// Writes a directory of some tags to the end of a file.
fn with_directory(bytes: &mut Vec<u8>, places: &[usize]) {
    let at = bytes.len();
    let entry = |&place: &usize| [&bytes[place..place + 12], &(place as i32).to_be_bytes()].concat();
    let entries = [places.iter().flat_map(entry).collect(), vec![0xff; 16]].concat();
    let head = [102, 32, entries.len() as i32, -1].map(i32::to_be_bytes).concat();
    bytes.extend([head, entries].concat());
    // The pointer is the tag at byte 36.
    put(bytes, 52, at);
}

#[test]
fn tags_that_lead_to_the_end_and_back_are_followed() {
    let whole = raw(&[1, 0, 2, 5]).end();
    // The tag that is moved: the rate, a channel, the samples.
    for kind in [201, 203, 300] {
        let at = places(&whole).into_iter().find(|&at| whole[at..at + 4] == i32::to_be_bytes(kind)).unwrap();
        let mut bytes = whole.clone();
        moved(&mut bytes, at);
        let opened = parse(&bytes).unwrap();
        assert_eq!((opened.rate_hz(), opened.signals()[0].name.as_str()), (10.0, "C3"), "{kind}");
        assert_eq!((signal(&opened, 0), signal(&opened, 1)), (vec![1.0, 2.0], vec![0.0, 5.0]));
        assert!(opened.notes().iter().all(|note| !note.contains("incomplete")), "{:?}", opened.notes());
        let mut random = Random(7);
        (0..3000).for_each(|_| examine(parse(&random.damage(&bytes))));
    }
}

#[test]
fn circles_and_tags_inside_of_tags_are_reported() {
    let whole = raw(&[1, 0, 2, 5]).end();
    let places = places(&whole);
    let last = places[places.len() - 1];
    let with = |tag: usize, next: usize| {
        let mut bytes = whole.clone();
        put(&mut bytes, tag + 12, next);
        parse(&bytes).unwrap_err()
    };
    for (tag, next, says) in [
        (last, 36, "the tags lead in a circle"),
        (last, last, "the tags lead in a circle"),
        (36, 36, "the tags lead in a circle"),
        (36, 1, "byte 17: 5120 bytes are expected here"),
    ] {
        let error = with(tag, next);
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
    }
    // A tag in the middle of another one, and back from there: no circle, but bytes of two tags.
    let mut inner = File(vec![]).int(201, 20).0;
    put(&mut inner, 12, places[2]);
    let mut bytes = File::new().tag(999, 0, &inner).info();
    bytes = bytes.block(102, |file| file.tag(300, 2, &shorts(&[1, 2])));
    let mut bytes = bytes.end();
    let end = bytes.len();
    bytes.extend(File(vec![]).int(7, 7).0);
    put(&mut bytes, end - 4, end);
    put(&mut bytes, end + 12, 72);
    let error = parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("circle") || error.to_string().contains("twice"), "{error}");
}

#[test]
fn the_directory_says_which_tags_count() {
    let whole = raw(&[1, 0, 2, 5]).end();
    let all = places(&whole);
    let mut bytes = whole.clone();
    with_directory(&mut bytes, &all);
    assert_eq!(signal(&parse(&bytes).unwrap(), 1), [0.0, 5.0]);
    // The tags themselves lead in a circle: with a directory nobody follows them.
    put(&mut bytes, all[5] + 12, all[2]);
    assert_eq!(signal(&parse(&bytes).unwrap(), 1), [0.0, 5.0]);
    let mut random = Random(3);
    (0..3000).for_each(|_| examine(parse(&random.damage(&bytes))));
    (0..bytes.len()).for_each(|length| examine(parse(&bytes[..length])));
    // A directory that does not fit the file is none.
    let twice: Vec<usize> = all.iter().chain(&all[4..6]).copied().collect();
    let mut lies = whole.clone();
    with_directory(&mut lies, &twice);
    assert_eq!(signal(&parse(&lies).unwrap(), 1), [0.0, 5.0]);
    let mut lies = whole.clone();
    with_directory(&mut lies, &all);
    let end = lies.len();
    put(&mut lies, end - 32 + 8, 1);
    assert_eq!(signal(&parse(&lies).unwrap(), 1), [0.0, 5.0]);
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn packed_files_are_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("A_raw.FIF.gz");
    let bytes = packed(&raw(&[1, 0, 2, 5]).end());
    fs::write(&path, &bytes).unwrap();
    let opened = ptsm_io::open(&path).unwrap();
    assert_eq!((opened.format(), signal(&opened, 0)), ("FIF", vec![1.0, 2.0]));
    assert!(
        ptsm_io::format_of(Path::new(".fif.gz")).is_none() && ptsm_io::format_of(Path::new("a.gz")).is_none()
    );
    for length in 0..bytes.len() {
        assert!(parse(&bytes[..length]).is_err());
    }
    let mut random = Random(5);
    (0..2000).for_each(|_| examine(parse(&random.damage(&bytes))));
    let error = parse(&bytes[..bytes.len() - 9]).unwrap_err();
    assert!(error.to_string().contains("cannot be unpacked") && error.hint().is_some(), "{error}");
    let error = ptsm_io::open(Path::new("a.edf.gz")).unwrap_err();
    assert!(error.to_string().contains("compressed") && error.hint().unwrap().contains("gunzip"), "{error}");
}

/// A part of a recording, with the names of the files before and behind it.
fn part(first: i32, values: &[i16], previous: Option<&str>, next: Option<(&str, i32)>) -> Vec<u8> {
    let refer = |file: File, role: i32, name: &str, number: i32| {
        file.block(118, |file| {
            let file = file.int(115, role);
            let file = if name.is_empty() { file } else { file.tag(118, 10, name.as_bytes()) };
            file.int(117, number)
        })
    };
    let file = File::new().info().block(102, |mut file| {
        if first != 0 {
            file = file.int(208, first);
        }
        if let Some(name) = previous {
            file = refer(file, 1, name, 0);
        }
        file = file.tag(300, 2, &shorts(values));
        match next {
            Some((name, number)) => refer(file, 2, name, number),
            None => file,
        }
    });
    file.end()
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn parts_are_read_as_one_recording() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // With a folder of another computer in the name.
    let one = part(100, &[1, 0, 2, 0], None, Some(("/home/somebody/a_raw-1.fif", 1)));
    let two = part(102, &[3, 0, 4, 7], Some("a_raw.fif"), Some(("a_raw-2.fif", 2)));
    let three = part(105, &[5, 7], Some("a_raw-1.fif"), None);
    let first = write(folder, "a_raw.fif", &one);
    write(folder, "a_raw-1.fif", &two);
    write(folder, "a_raw-2.fif", &three);
    let opened = ptsm_io::open(&first).unwrap();
    assert_eq!(signal(&opened, 0), [1.0, 2.0, 3.0, 4.0, 5.0]);
    windows_equal_the_whole(&opened);
    // The third part begins one sample later than the second one ends.
    let segment = |start_s, first, samples| Segment { start_s, first, samples };
    assert_eq!(opened.segments(), [segment(0.0, 0, 4), segment(0.5, 4, 1)]);
    let annotations: Vec<_> = opened.annotations().iter().map(|m| (m.sample, &*m.text)).collect();
    assert_eq!(annotations, [(Some(3), "7")]);
    let names: Vec<_> =
        opened.files().iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["a_raw.fif", "a_raw-1.fif", "a_raw-2.fif"]);
    // A later part is told.
    for (name, previous) in [("a_raw-1.fif", "`a_raw.fif`"), ("a_raw-2.fif", "`a_raw-1.fif`")] {
        let error = ptsm_io::open(&folder.join(name)).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("is a later part of a split recording"), "{said}");
        assert!(said.contains(previous) && error.hint().unwrap().contains("first part"), "{said}");
    }
    // So is one that is not there.
    fs::remove_file(folder.join("a_raw-2.fif")).unwrap();
    let error = ptsm_io::open(&first).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("a_raw-1.fif: ") && said.contains("`a_raw-2.fif`, is not there"), "{said}");
    assert!(error.hint().is_some() && !said.contains("somebody"));
    // All were renamed.
    write(folder, "b.fif", &one);
    write(folder, "b-1.fif", &two);
    write(folder, "b-2.fif", &three);
    fs::remove_file(folder.join("a_raw-1.fif")).unwrap();
    let opened = ptsm_io::open(&folder.join("b.fif")).unwrap();
    assert_eq!(opened.length(), 5);
    assert!(opened.notes().iter().any(|note| note.contains("`b-1.fif` is read")), "{:?}", opened.notes());
}

#[test]
fn parts_may_have_numbers_only_and_names_of_bids() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (one, two) in [("a.fif", "a-1.fif"), ("s_split-01_meg.fif", "s_split-02_meg.fif")] {
        let first = write(folder, one, &part(0, &[1, 0], None, Some(("", 1))));
        let error = ptsm_io::open(&first).unwrap_err();
        assert!(error.to_string().contains(&format!("`{two}`, is not there")), "{error}");
        write(folder, two, &part(0, &[2, 0], None, None));
        assert_eq!(signal(&ptsm_io::open(&first).unwrap(), 0), [1.0, 2.0]);
    }
}

#[test]
fn parts_that_do_not_fit_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = write(folder, "a.fif", &part(0, &[1, 0], None, Some(("a-1.fif", 1))));
    let info = |rate: f32, kind: i32, scale: f32, name: &str| {
        let file = File::new().block(101, |file| {
            file.float(201, rate).channel(kind, scale, 107, 0, name).channel(3, 1.0, 107, 0, "STI101")
        });
        file.block(102, |file| file.tag(300, 2, &[0; 4])).end()
    };
    for (bytes, says) in [
        (info(20.0, 2, 1e-6, "C3"), "goes on with 20 Hz after 10 Hz"),
        (info(10.0, 2, 1e-6, "C4"), "goes on with channel `C4` in the place of `C3`"),
        (info(10.0, 2, 2e-6, "C3"), "another scale of channel `C3`"),
        (
            File::new().block(101, |file| file.float(201, 10.0).channel(2, 1e-6, 107, 0, "C3")).end(),
            "1 channels after 2",
        ),
        (part(0, &[1, 0], None, Some(("a.fif", 1))), "names `a.fif` as the next part, which comes before it"),
        (part(0, &[1, 0], None, Some(("a-1.fif", 1))), "the next part, `a-1.fif`, is not there"),
        (b"x".to_vec(), "a-1.fif, byte 0: "),
    ] {
        write(folder, "a-1.fif", &bytes);
        let error = ptsm_io::open(&first).unwrap_err();
        assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
        assert!(error.to_string().contains("a-1.fif"), "{error}");
    }
}

/// Trials of two samples, with the sample of each and its value.
fn trials(first: i32, events: &[i32], values: &[f32], next: Option<&str>) -> Vec<u8> {
    let matrix: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    let sizes = [2, 2, values.len() as i32 / 4, 3].map(i32::to_be_bytes).concat();
    let events: Vec<u8> = events.iter().flat_map(|v| v.to_be_bytes()).collect();
    let file = File::new().info().block(373, |file| {
        file.block(361, |file| file.tag(3561, 3, &events).tag(206, 10, b"left:1;right:2"))
            .int(208, first)
            .int(209, first + 1)
            .tag(302, 0x4000_0004, &[matrix, sizes].concat())
    });
    let file = match next {
        Some(name) => file.block(118, |file| file.int(115, 2).tag(118, 10, name.as_bytes()).int(117, 1)),
        None => file,
    };
    file.end()
}

#[test]
fn parts_of_trials_are_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let one =
        trials(-1, &[5, 0, 1, 25, 0, 2], &[1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0], Some("a-epo-1.fif"));
    let two = trials(-1, &[45, 0, 2], &[5.0, 6.0, 9.0, 8.0], None);
    let first = write(folder, "a-epo.fif", &one);
    let second = write(folder, "a-epo-1.fif", &two);
    let opened = ptsm_io::open(&first).unwrap();
    assert_eq!(opened.epochs().unwrap().codes, ["left", "right", "right"]);
    assert_eq!(signal(&opened, 0), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(signal(&opened, 1), [0.0, 0.0, 0.0, 0.0, 9.0, 8.0]);
    windows_equal_the_whole(&opened);
    assert_eq!(opened.segments()[2], Segment { start_s: 4.0, first: 4, samples: 2 });
    assert_eq!(opened.files().len(), 2);
    // A later part of trials does not say what it is; the first part does.
    let error = ptsm_io::open(&second).unwrap_err();
    assert!(error.to_string().contains("later part") && error.to_string().contains("`a-epo.fif`"), "{error}");
    let alone = write(folder, "b-epo-1.fif", &two);
    assert_eq!(ptsm_io::open(&alone).unwrap().epochs().unwrap().codes, ["right"]);
    fs::write(&second, trials(0, &[45, 0, 2], &[5.0, 6.0, 9.0, 8.0], None)).unwrap();
    let error = ptsm_io::open(&first).unwrap_err();
    assert!(error.to_string().contains("are not like those of the first file"), "{error}");
    fs::write(&second, part(0, &[1, 0], None, None)).unwrap();
    let error = ptsm_io::open(&first).unwrap_err();
    assert!(error.to_string().contains("a-epo-1.fif: holds no trials"), "{error}");
}

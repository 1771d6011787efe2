//! What arrives is what is published, and what is there is what arrived.

use std::fs;
use std::fs::FileTimes;

use ptsm_data::download::LOCK_FILE;

use crate::common::{Place, bytes, failure, sha256, statuses};
use crate::server::Manner;

#[test]
fn wrong_bytes_once() {
    let place = Place::new(2, 10_000);
    place.server.answer(|request| if request.nth == 0 { Manner::Wrong } else { Manner::Well });
    place.succeed();
    assert_eq!(place.server.requests().len(), 4);
    assert!(place.server.requests().iter().all(|request| request.from.is_none()), "wrong bytes were kept");
}

#[test]
fn wrong_bytes_always() {
    let place = Place::new(3, 10_000);
    let path = place.published(1);
    place.server.answer(move |request| if request.path == path { Manner::Wrong } else { Manner::Well });
    let report = place.run();
    assert_eq!(statuses(&report), ["downloaded", "failed", "downloaded"]);
    let mut wrong = place.contents[1].clone();
    wrong[5000] ^= 1;
    let (error, hint) = failure(&report);
    for words in
        [sha256(&wrong), sha256(&place.contents[1]), place.set.0[1].url.clone(), "3 downloads".into()]
    {
        assert!(error.contains(&words), "{error}");
    }
    assert!(error.contains("S002R01.edf: ") && hint.contains("PTSM_MIRROR"), "{error}, {hint}");
    assert_eq!(place.server.requests().len(), 2 + 3);
    assert!(fs::read_dir(place.path(1).parent().unwrap()).unwrap().next().is_none(), "{:?}", place.list());
    place.server.answer(|_| Manner::Well);
    place.succeed();
}

/// Wrong bytes in a part: found out at the end, and then all of it is downloaded anew.
#[test]
fn a_part_that_was_damaged_on_disk() {
    let place = Place::new(1, 10_000);
    place.begin(4000);
    let part = place.path(0).with_added_extension("part");
    let mut damaged = place.part(0);
    damaged[7] ^= 1;
    fs::write(part, damaged).unwrap();
    place.succeed();
    assert_eq!(place.server.requests().iter().map(|r| r.from).collect::<Vec<_>>(), [None, Some(4000), None]);
}

#[test]
fn a_file_in_its_place_that_is_damaged_is_replaced() {
    let place = Place::new(2, 10_000);
    place.succeed();
    for damaged in [&place.contents[0][..9999], &bytes(5, 10_000)] {
        fs::write(place.path(0), damaged).unwrap();
        let report = place.succeed();
        assert_eq!(statuses(&report), ["downloaded", "present"]);
        let note = &report.notes[0];
        assert!(note.contains("S001R01.edf was damaged") && note.contains(&sha256(damaged)), "{note}");
    }
    assert_eq!(place.server.requests().len(), 4);
    // What stands there stays until there is something better.
    fs::write(place.path(0), "damaged").unwrap();
    place.server.answer(|_| Manner::Status(404, ""));
    failure(&place.run());
    assert_eq!(fs::read(place.path(0)).unwrap(), b"damaged");
}

/// Changes a file's contents so that its size and when it was written do not tell.
fn change_secretly(place: &Place, file: usize) {
    let path = place.path(file);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, bytes(77, place.contents[file].len())).unwrap();
    let opened = fs::File::options().write(true).open(&path).unwrap();
    opened.set_times(FileTimes::new().set_modified(time)).unwrap();
}

#[test]
fn a_file_that_was_replaced_with_its_old_time_is_checked_again() {
    let place = Place::new(1, 10_000);
    place.succeed();
    assert_eq!(statuses(&place.run()), ["present"]);
    // On other systems nothing tells that it was changed.
    change_secretly(&place, 0);
    assert_eq!(statuses(&place.run()), [if cfg!(unix) { "downloaded" } else { "present" }]);
    // Another checksum than the one it was checked by.
    fs::write(place.path(0), &place.contents[0]).unwrap();
    place.succeed();
    let lock = place.root().join(LOCK_FILE);
    let text = fs::read_to_string(&lock).unwrap().replace(&sha256(&place.contents[0]), &sha256(b"other"));
    fs::write(&lock, text).unwrap();
    change_secretly(&place, 0);
    let report = place.succeed();
    assert_eq!(statuses(&report), ["downloaded"]);
}

#[test]
fn a_file_without_published_checksum_is_reported_when_it_changes() {
    let place = Place::unpublished(1, 10_000);
    place.succeed();
    let changed = bytes(5, 10_001);
    fs::write(place.path(0), &changed).unwrap();
    let (error, hint) = failure(&place.run());
    assert!(error.contains(&sha256(&place.contents[0])) && error.contains(&sha256(&changed)), "{error}");
    assert!(hint.contains("delete it") && hint.contains("S001/S001R01.edf"), "{hint}");
    assert_eq!(fs::read(place.path(0)).unwrap(), changed);
    assert_eq!(place.server.requests().len(), 1);
    // Touched, but the same.
    fs::write(place.path(0), &place.contents[0]).unwrap();
    assert_eq!(statuses(&place.succeed()), ["present"]);
    assert_eq!(place.server.requests().len(), 1);
    // Deleted, and another one is published now: it is taken, and told of.
    fs::remove_file(place.path(0)).unwrap();
    place.server.publish(&place.published(0), &changed);
    let report = place.run();
    assert_eq!(statuses(&report), ["downloaded"]);
    assert!(report.notes[0].contains("has changed since it was first downloaded"), "{:?}", report.notes);
    let report = place.run();
    assert!(statuses(&report) == ["present"] && report.notes.is_empty());
}

#[test]
fn a_lock_file_that_is_damaged_is_begun_anew() {
    let place = Place::new(2, 1000);
    place.succeed();
    fs::write(place.root().join(LOCK_FILE), "{\"files\": ").unwrap();
    let report = place.succeed();
    assert_eq!(statuses(&report), ["present", "present"]);
    assert!(report.notes[0].contains("begun anew"), "{:?}", report.notes);
    assert!(place.succeed().notes.is_empty());
}

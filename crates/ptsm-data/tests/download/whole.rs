//! A server that does everything right.

use std::fs;

use ptsm_data::download::LOCK_FILE;

use crate::common::{Place, sha256, statuses};
use crate::server::Manner;

#[test]
fn all_files_arrive_and_the_next_run_asks_nobody() {
    let place = Place::new(9, 50_000);
    let plan = place.plan(None).unwrap();
    assert!(plan.files().iter().all(|file| file.found.is_none()));
    let report = place.succeed();
    assert_eq!(statuses(&report), ["downloaded"; 9]);
    assert!(report.files.iter().all(|file| file.bytes == 50_000) && report.notes.is_empty());
    assert_eq!((place.server.requests().len(), place.server.sent()), (9, 450_000));
    let report = place.succeed();
    assert_eq!(statuses(&report), ["present"; 9]);
    assert_eq!(place.server.requests().len(), 9, "somebody was asked");
    // Nor without the lock file: then the files are read to check them.
    fs::remove_file(place.root().join(LOCK_FILE)).unwrap();
    assert_eq!(statuses(&place.succeed()), ["present"; 9]);
    assert_eq!(place.server.requests().len(), 9, "somebody was asked");
}

#[test]
fn the_lock_file_says_what_was_checked() {
    let place = Place::new(1, 1000);
    place.succeed();
    let lock: serde_json::Value =
        serde_json::from_slice(&fs::read(place.root().join(LOCK_FILE)).unwrap()).unwrap();
    let entry = &lock["files"]["S001/S001R01.edf"];
    assert_eq!(entry["size"], 1000);
    assert_eq!(entry["sha256"], sha256(&place.contents[0]));
    assert_eq!(entry["url"], place.set.0[0].url);
    assert!(entry["mtime_ns"].as_u64().unwrap() > 1_700_000_000_000_000_000);
}

#[test]
fn only_files_of_the_subjects_requested_are_downloaded() {
    let mut place = Place::new(5, 100);
    place.set.0[4].subject = None;
    let plan = place.plan(Some("2-3")).unwrap();
    let paths: Vec<_> = plan.files().iter().map(|file| file.remote.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["S002/S002R01.edf", "S003/S003R01.edf", "S005/S005R01.edf"]);
    let error = place.plan(Some("2,9")).unwrap_err();
    assert_eq!(error.to_string(), "there is no subject 9; the data have 1-4");
    place.set.0.clear();
    let error = place.plan(None).unwrap_err();
    assert_eq!(error.to_string(), "data `made`: it cannot be downloaded");
    assert_eq!(error.hint(), Some("get it by hand: https://example.org"));
}

#[test]
fn files_in_a_layout_of_the_users_own_are_not_downloaded_again() {
    let place = Place::new(3, 100);
    let mne = place.root().join("MNE-eegbci-data/files/eegmmidb/1.0.0/S001");
    fs::create_dir_all(&mne).unwrap();
    fs::write(mne.join("S001R01.edf"), &place.contents[0]).unwrap();
    fs::write(place.root().join("s002r01.edf"), &place.contents[1]).unwrap();
    let report = place.run();
    assert_eq!(statuses(&report), ["present", "present", "downloaded"]);
    assert_eq!(report.files[0].path, mne.join("S001R01.edf"));
    assert_eq!(place.server.requests().len(), 1);
    assert!(!place.path(0).exists() && !place.path(1).exists());
    // Damaged, it is not replaced: it is the user's own.
    fs::write(mne.join("S001R01.edf"), "short").unwrap();
    let report = place.run();
    assert_eq!(statuses(&report), ["failed", "present", "present"]);
    assert_eq!(fs::read(mne.join("S001R01.edf")).unwrap(), b"short");
}

#[test]
fn names_that_several_files_have_say_nothing() {
    let mut place = Place::new(2, 100);
    for (i, remote) in place.set.0.iter_mut().enumerate() {
        remote.path = format!("{i}/same.edf").into();
    }
    fs::create_dir(place.root().join("other")).unwrap();
    fs::write(place.root().join("other/same.edf"), &place.contents[0]).unwrap();
    assert_eq!(statuses(&place.run()), ["downloaded", "downloaded"]);
}

#[test]
fn so_many_files_at_once_as_requested() {
    for connections in [1, 3] {
        let mut place = Place::new(6, 20_000);
        place.settings.connections = connections;
        place.server.answer(|_| Manner::Slow(1000, 2));
        place.succeed();
        assert_eq!(place.server.most_at_once(), connections);
    }
}

#[test]
fn progress_goes_from_nothing_to_all() {
    let place = Place::new(4, 100_000);
    place.server.answer(|_| Manner::Slow(10_000, 80));
    let (_, seen) = place.run_until(|| false);
    assert!(seen.len() > 3 && seen.is_sorted_by_key(|p| p.bytes) && seen.is_sorted_by_key(|p| p.done));
    let (first, last) = (seen[0], seen[seen.len() - 1]);
    assert!(first.bytes < 400_000 && first.done < 4);
    assert_eq!((last.bytes, last.received, last.done, last.files), (400_000, 400_000, 4, 4));
    assert!(seen.iter().all(|p| p.size.is_none_or(|size| size == 400_000)), "{seen:?}");
    assert_eq!(last.size, Some(400_000));
}

#[test]
fn a_file_whose_length_is_not_stated_before() {
    let place = Place::unpublished(1, 100_000);
    place.server.answer(|_| Manner::Chunked);
    place.succeed();
}

#[test]
fn an_empty_file() {
    let place = Place::new(1, 0);
    place.succeed();
    assert_eq!(statuses(&place.succeed()), ["present"]);
    assert_eq!(place.server.requests().len(), 1);
}

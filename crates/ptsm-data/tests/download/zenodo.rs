//! Zenodo's listing has checksums that nobody else publishes.

use std::fs;

use ptsm_data::download::LOCK_FILE;

use crate::common::{Place, failure, statuses};
use crate::server::Manner;

const LISTING: &str = "/api/records/4004271";

/// Files in a record, without known checksums.
fn record(files: usize) -> Place {
    let mut place = Place::unpublished(files, 10_000);
    for (i, contents) in place.contents.iter().enumerate() {
        let (name, remote) = (format!("S{}.edf", i + 1), &mut place.set.0[i]);
        let path = format!("/records/4004271/files/{name}?download=1");
        place.server.publish(&path, contents);
        remote.url = format!("https://example.org{path}");
        remote.path = name.into();
    }
    place
}

fn publish_listing(place: &Place) {
    let files: Vec<_> = place
        .contents
        .iter()
        .enumerate()
        .map(|(i, contents)| {
            let md5: String = {
                use md5::{Digest, Md5};
                Md5::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect()
            };
            serde_json::json!({ "key": format!("S{}.edf", i + 1), "size": contents.len(), "checksum": format!("md5:{md5}") })
        })
        .collect();
    place.server.publish(LISTING, serde_json::json!({ "files": files }).to_string().as_bytes());
}

fn asked_for_listing(place: &Place) -> usize {
    place.server.requests().iter().filter(|request| request.path == LISTING).count()
}

#[test]
fn its_checksums_are_used_and_requested_once() {
    let place = record(3);
    publish_listing(&place);
    place.server.answer(|request| {
        if request.path != LISTING && request.nth == 0 { Manner::Wrong } else { Manner::Well }
    });
    let report = place.succeed();
    assert!(report.notes.is_empty());
    assert_eq!((asked_for_listing(&place), place.server.requests().len()), (1, 7));
    assert_eq!(statuses(&place.succeed()), ["present"; 3]);
    assert_eq!(place.server.requests().len(), 7, "somebody was asked");
    place.server.answer(|request| if request.path == LISTING { Manner::Well } else { Manner::Wrong });
    fs::remove_file(place.path(1)).unwrap();
    let (error, _) = failure(&place.run());
    assert!(error.contains("its MD5 is "), "{error}");
}

/// Found out when the listing is asked for because of another file.
#[test]
fn a_file_that_was_there_before_is_checked_by_it() {
    let place = record(2);
    publish_listing(&place);
    fs::write(place.path(0), "cut short").unwrap();
    let report = place.succeed();
    assert_eq!(statuses(&report), ["downloaded", "downloaded"]);
    assert!(report.notes[0].contains("S1.edf was damaged"), "{:?}", report.notes);
}

#[test]
fn without_a_listing_it_goes_on_with_a_note() {
    let answers = [
        (Manner::Status(404, ""), "answers 404"),
        (Manner::Status(503, ""), "(4 tries)"),
        (Manner::Page, "no listing"),
    ];
    for (manner, words) in answers {
        let place = record(2);
        place.server.answer(
            move |request| {
                if request.path == LISTING { manner.clone() } else { Manner::Well }
            },
        );
        let report = place.succeed();
        assert!(report.notes.len() == 1 && report.notes[0].contains(words), "{:?}", report.notes);
        let lock = fs::read_to_string(place.root().join(LOCK_FILE)).unwrap();
        assert!(lock.contains("sha256") && !lock.contains("md5"));
    }
}

#[test]
fn a_listing_without_the_file_or_with_nonsense_is_no_listing_of_it() {
    for listing in
        ["{\"files\": [{\"key\": \"other\", \"checksum\": \"md5:00\"}, 7]}", "{}", "[]", "{\"files\": 3}"]
    {
        let place = record(1);
        place.server.publish(LISTING, listing.as_bytes());
        place.succeed();
    }
}

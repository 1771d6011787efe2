//! What has arrived is not asked for again, unless the file is another one.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Place, bytes, failure, statuses};
use crate::server::Manner;

#[test]
fn a_connection_that_drops_again_and_again() {
    for place in [Place::new(2, 100_000), Place::unpublished(2, 100_000)] {
        place.server.answer(|_| Manner::Drop(7000));
        place.succeed();
        // Fifteen times each, and no byte twice.
        assert_eq!(place.server.requests().len(), 2 * 15);
        assert_eq!(place.server.sent(), 200_000);
        let own: Vec<_> = place
            .server
            .requests()
            .into_iter()
            .filter(|request| request.path == place.published(0))
            .collect();
        assert_eq!((own[0].from, &own[0].if_range), (None, &None));
        assert!(own[1..].iter().enumerate().all(|(i, request)| request.from == Some(7000 * (i + 1))));
        assert!(own[1..].iter().all(|request| request.if_range.is_some()));
    }
}

#[test]
fn a_server_that_knows_no_ranges() {
    let place = Place::new(1, 10_000);
    place.server.answer(|request| if request.nth == 0 { Manner::Drop(4000) } else { Manner::Whole });
    place.succeed();
    assert_eq!(place.server.sent(), 14_000);
}

/// It never comes further than the first time, so at some time it must end.
#[test]
fn a_server_that_knows_no_ranges_and_always_drops() {
    let place = Place::new(1, 10_000);
    place.server.answer(|_| Manner::WholeDrop(4000));
    let (error, _) = failure(&place.run());
    assert!(error.contains("the connection was lost") && error.contains("(4 tries)"), "{error}");
    assert_eq!(place.server.requests().len(), 5);
    assert!(!place.path(0).exists());
}

#[test]
fn a_file_that_changes_between_two_tries() {
    for place in [Place::new(1, 10_000), Place::unpublished(1, 10_000)] {
        // Published anew while nobody looked. Not all servers know `If-Range`.
        for manner in [Manner::Well, Manner::AnyRange] {
            place.server.publish(&place.published(0), &bytes(7, 10_000));
            place.begin(4000);
            assert_eq!(place.part(0), bytes(7, 10_000)[..4000]);
            place.server.publish(&place.published(0), &place.contents[0]);
            place.server.answer(move |_| manner.clone());
            place.succeed();
            fs::remove_file(place.path(0)).unwrap();
        }
        let offsets: Vec<_> = place.server.requests().into_iter().map(|request| request.from).collect();
        assert_eq!(offsets, [None, Some(4000), None, Some(4000), None]);
    }
}

#[test]
fn a_file_that_has_become_shorter() {
    for place in [Place::new(1, 3000), Place::unpublished(1, 3000)] {
        place.server.publish(&place.published(0), &bytes(7, 10_000));
        place.begin(4000);
        place.server.publish(&place.published(0), &place.contents[0]);
        // Even where the server looks at the range first and answers that there is nothing.
        place.server.answer(|_| Manner::AnyRange);
        place.succeed();
    }
}

#[test]
fn a_file_that_nothing_is_known_by_is_begun_anew_unless_its_checksum_is_published() {
    for (place, from) in [(Place::new(1, 10_000), Some(4000)), (Place::unpublished(1, 10_000), None)] {
        place.begin(4000);
        let json = place.path(0).with_added_extension("part.json");
        let mut identity: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        identity["etag"] = serde_json::Value::Null;
        fs::write(&json, identity.to_string()).unwrap();
        place.server.answer(|_| Manner::Nameless);
        place.succeed();
        assert_eq!(place.server.requests()[1].from, from);
    }
}

#[test]
fn stopped_and_started_again_it_goes_on() {
    let place = Place::new(3, 300_000);
    place.server.answer(|_| Manner::Slow(10_000, 5));
    let (report, _) = place.run_until(|| place.server.sent() > 200_000);
    assert!(report.stopped && statuses(&report).contains(&"unfinished"), "{report:?}");
    let arrived: u64 = report.files.iter().map(|file| file.bytes).sum();
    assert!(arrived > 100_000, "{arrived}");
    for (i, contents) in place.contents.iter().enumerate() {
        assert!(!place.path(i).exists());
        assert_eq!(place.part(i), contents[..place.part(i).len()]);
    }
    let plan = place.plan(None).unwrap();
    assert_eq!(plan.files().iter().map(|file| file.arrived).sum::<u64>(), arrived);
    let before = place.server.requests().len();
    place.server.answer(|_| Manner::Well);
    place.succeed();
    let missing = place.server.requests()[before..]
        .iter()
        .map(|request| 300_000 - request.from.unwrap())
        .sum::<usize>();
    assert_eq!(missing as u64, 900_000 - arrived);
}

/// A wish to stop is heard while nothing happens, too.
#[test]
fn stopped_while_a_server_is_silent_and_in_a_long_pause() {
    for manner in [Manner::Silence, Manner::Stall(100), Manner::Status(503, "Retry-After: 600")] {
        let mut place = Place::new(1, 1000);
        // Whoever waits for the server to the end waits ten times as long as a busy machine may take here.
        place.settings.stall = Duration::from_secs(600);
        place.server.answer(move |_| manner.clone());
        let began = Instant::now();
        let (report, _) = place.run_until(|| began.elapsed() > Duration::from_millis(300));
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        assert_eq!((statuses(&report), report.stopped), (vec!["unfinished"], true));
        place.server.answer(|_| Manner::Well);
        place.succeed();
    }
}

/// Killed after the last byte, before the file had its name.
#[test]
fn a_part_that_is_whole_is_not_requested() {
    let place = Place::new(1, 10_000);
    place.begin(9000);
    let requests = place.server.requests().len();
    fs::write(place.path(0).with_added_extension("part"), &place.contents[0]).unwrap();
    fs::write(place.path(0).with_added_extension("part.lock"), "").unwrap();
    place.succeed();
    assert_eq!(place.server.requests().len(), requests);
}

#[test]
fn what_a_killed_process_left_beside_a_whole_file_is_taken_away() {
    let place = Place::new(1, 1000);
    place.succeed();
    for extension in ["part", "part.json", "part.lock"] {
        fs::write(place.path(0).with_added_extension(extension), "{}").unwrap();
    }
    assert_eq!(statuses(&place.succeed()), ["present"]);
}

#[test]
fn a_slow_server_is_waited_for() {
    let mut place = Place::new(1, 20_000);
    // Pauses are far shorter than what counts as a stall, also where threads are late.
    place.settings.stall = Duration::from_millis(1000);
    place.server.answer(|_| Manner::Slow(200, 35));
    let began = Instant::now();
    place.succeed();
    assert!(began.elapsed() > 3 * place.settings.stall);
    assert_eq!(place.server.requests().len(), 1);
}

#[test]
fn a_connection_that_stalls_is_left_and_the_file_continued() {
    let place = Place::new(1, 10_000);
    place.server.answer(|request| if request.nth < 2 { Manner::Stall(3000) } else { Manner::Well });
    place.succeed();
    assert_eq!((place.server.requests().len(), place.server.sent()), (3, 10_000));
}

#[test]
fn ranges_survive_a_redirection() {
    let place = Place::new(1, 10_000);
    let (path, contents) = (place.published(0), place.contents[0].clone());
    place.server.publish(&format!("/elsewhere{path}"), &contents);
    let shared = Arc::new(AtomicBool::new(true));
    place.server.answer(move |request| {
        if !request.path.starts_with("/elsewhere") {
            Manner::Redirect("/elsewhere")
        } else if shared.swap(false, Ordering::SeqCst) {
            Manner::Drop(4000)
        } else {
            Manner::Well
        }
    });
    place.succeed();
    assert_eq!(place.server.sent(), 10_000);
}

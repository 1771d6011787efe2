//! Servers that refuse, are busy, are silent or talk nonsense.

use std::fs;
use std::time::{Duration, Instant};

use ptsm_data::download::Settings;

use crate::common::{Place, failure, statuses};
use crate::server::Manner;

#[test]
fn a_busy_server_gets_a_new_request_when_it_says() {
    for (status, header, least) in [
        (503, "Retry-After: 1", Duration::from_millis(990)),
        (429, "Retry-After: 1", Duration::from_millis(990)),
        (503, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", Duration::ZERO),
        (503, "", Duration::ZERO),
        (429, "", Duration::ZERO),
        (500, "", Duration::ZERO),
        (502, "", Duration::ZERO),
        (504, "", Duration::ZERO),
        (408, "", Duration::ZERO),
    ] {
        let place = Place::new(1, 1000);
        place.server.answer(
            move |request| {
                if request.nth == 0 { Manner::Status(status, header) } else { Manner::Well }
            },
        );
        let began = Instant::now();
        place.succeed();
        assert!(began.elapsed() >= least, "{status} {header}: it came back too soon");
        assert_eq!(place.server.requests().len(), 2, "{status} {header}");
    }
}

#[test]
fn a_server_that_stays_busy_is_reported() {
    let place = Place::new(1, 1000);
    place.server.answer(|_| Manner::Status(503, ""));
    let (error, hint) = failure(&place.run());
    assert!(error.contains("S001R01.edf: http://127.0.0.1") && error.contains("answers 503"), "{error}");
    assert!(error.contains("(4 tries)") && hint.contains("give the same command again"), "{error}, {hint}");
    assert_eq!(place.server.requests().len(), 4);
    assert_eq!(place.list(), [""; 0].map(Into::<std::path::PathBuf>::into));
}

#[test]
fn nobody_waits_for_hours() {
    let place = Place::new(1, 1000);
    place.server.answer(|_| Manner::Status(429, "Retry-After: 7200"));
    let (error, hint) = failure(&place.run());
    assert!(error.contains("asks to come back in 7200 s") && hint.contains("again then"), "{error}, {hint}");
    assert_eq!(place.server.requests().len(), 1);
}

#[test]
fn what_is_refused_is_not_requested_again_and_the_others_go_on() {
    for (status, words) in
        [(404, "may have moved"), (410, "may have moved"), (403, "browser"), (401, "browser")]
    {
        let place = Place::new(3, 1000);
        let path = place.published(1);
        place.server.answer(
            move |request| {
                if request.path == path { Manner::Status(status, "") } else { Manner::Well }
            },
        );
        let report = place.run();
        assert_eq!(statuses(&report), ["downloaded", "failed", "downloaded"]);
        let (error, hint) = failure(&report);
        let url = format!("{}{}", place.server.url(), place.published(1));
        assert!(error.contains(&format!("{url}: the server answers {status}")), "{error}");
        assert!(hint.contains(words), "{hint}");
        assert_eq!(place.server.requests().len(), 3);
        assert!(!place.path(1).parent().unwrap().read_dir().unwrap().any(|_| true), "{:?}", place.list());
    }
}

#[test]
fn a_wrong_length() {
    // Too long, once: the connection ends too soon.
    let place = Place::new(1, 10_000);
    place.server.answer(|request| if request.nth == 0 { Manner::Length(500) } else { Manner::Well });
    place.succeed();
    // Always: no answer is ever whole.
    let place = Place::new(1, 10_000);
    place.server.answer(|_| Manner::Length(500));
    let (error, hint) = failure(&place.run());
    assert!(error.contains("connection was lost") || error.contains("cannot continue"), "{error}");
    assert!(hint.contains("again"), "{hint}");
    assert!(!place.path(0).exists());
    // Too short, once: the checksum tells.
    let place = Place::new(1, 10_000);
    place.server.answer(|request| if request.nth == 0 { Manner::Length(-500) } else { Manner::Well });
    place.succeed();
    let place = Place::new(1, 10_000);
    place.server.answer(|_| Manner::Length(-500));
    let (error, _) = failure(&place.run());
    assert!(error.contains("not what is published"), "{error}");
    assert!(!place.path(0).exists());
}

#[test]
fn a_server_that_never_answers() {
    let mut place = Place::new(1, 1000);
    place.settings = Settings { tries: 2, stall: Duration::from_millis(200), ..place.settings };
    place.server.answer(|_| Manner::Silence);
    let (error, _) = failure(&place.run());
    assert!(error.contains("does not answer in time (2 tries)"), "{error}");
    assert_eq!(place.server.requests().len(), 2);
    // A server that answers may be late on a busy machine.
    place.settings.stall = Duration::from_secs(30);
    place.server.answer(|_| Manner::Well);
    place.succeed();
}

#[test]
fn a_server_that_answers_at_the_third_try() {
    let place = Place::new(1, 1000);
    place.server.answer(|request| match request.nth {
        0 => Manner::Silence,
        1 => Manner::Nonsense,
        _ => Manner::Well,
    });
    place.succeed();
}

#[test]
fn a_web_page_is_not_taken_for_a_file() {
    let place = Place::unpublished(1, 1000);
    place.server.answer(|_| Manner::Page);
    let (error, hint) = failure(&place.run());
    assert!(error.contains("a web page comes instead of the file") && hint.contains("browser"), "{error}");
    assert_eq!(place.server.requests().len(), 1);
    assert!(place.list().is_empty());
}

/// Else a data set of a thousand files would take hours to fail.
#[test]
fn where_nothing_can_be_reached_not_every_file_is_attempted() {
    let mut place = Place::new(30, 1000);
    // Nobody listens there any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    place.settings.mirror = Some(format!("http://{gone}"));
    let report = place.run();
    let errors: Vec<String> = report.failed().map(|(_, error)| error.to_string()).collect();
    assert_eq!(errors.len(), 30);
    assert!(errors[0].contains("cannot be reached") && errors[0].contains("(4 tries)"), "{}", errors[0]);
    assert!(errors[29].contains("not tried: no other file"), "{}", errors[29]);
    let attempted = errors.iter().filter(|error| error.contains("tries)")).count();
    assert!((4..=8).contains(&attempted), "{attempted} were tried");
    place.settings.mirror = Some(place.server.url());
    place.succeed();
}

#[test]
fn places_that_cannot_be_written_are_reported() {
    let place = Place::new(2, 1000);
    fs::write(place.root().join("S001"), "a file where a folder should be").unwrap();
    fs::create_dir_all(place.path(1)).unwrap();
    let report = place.run();
    let errors: Vec<String> = report.failed().map(|(_, error)| error.to_string()).collect();
    assert!(errors[0].contains("S001: cannot make the folder"), "{}", errors[0]);
    assert!(errors[1].contains("something that is no file stands in its place"), "{}", errors[1]);
    assert!(place.server.requests().is_empty());
}

#[test]
fn a_mirror_that_is_no_address_is_refused() {
    let mut place = Place::new(1, 1000);
    place.settings.mirror = Some("lab.example.org".into());
    let mut watcher = crate::common::Watcher { stop: || false, seen: vec![] };
    let error = place.plan(None).unwrap().run(&place.settings, &mut watcher).unwrap_err();
    assert_eq!(error.to_string(), "the mirror `lab.example.org` is no address");
}

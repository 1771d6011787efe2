//! Several downloads into one folder at once.

use std::fs;
use std::thread;

use ptsm_data::download::LOCK_FILE;

use crate::common::{Place, statuses};
use crate::server::Manner;

#[test]
fn no_file_is_downloaded_twice_and_none_is_spoilt() {
    let place = Place::new(12, 40_000);
    place.server.answer(|_| Manner::Slow(4000, 2));
    let reports: Vec<_> = thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| place.run())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    place.check();
    assert_eq!(place.server.requests().len(), 12);
    for i in 0..12 {
        let by = reports.iter().filter(|report| statuses(report)[i] == "downloaded").count();
        let there = reports.iter().filter(|report| statuses(report)[i] == "present").count();
        assert_eq!((by, there), (1, 2));
    }
    let lock: serde_json::Value =
        serde_json::from_slice(&fs::read(place.root().join(LOCK_FILE)).unwrap()).unwrap();
    assert_eq!(lock["files"].as_object().unwrap().len(), 12);
}

#[test]
fn one_goes_on_where_the_other_fails() {
    let place = Place::new(2, 40_000);
    place.server.answer(|request| if request.nth < 5 { Manner::Drop(4000) } else { Manner::Well });
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| place.run());
        }
    });
    place.check();
    assert_eq!(place.server.sent(), 80_000);
}

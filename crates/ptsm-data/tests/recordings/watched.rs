//! The bound on memory, progress and the wish to stop.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptsm_data::arrays::LabelHandling;
use ptsm_data::{Error, LoadOptions};

use super::set::{MEMORY, RUNS, SUBJECT_COUNT, SmallDataSet, source, write};

const ITEMS: usize = (SUBJECT_COUNT * RUNS) as usize;

#[test]
fn recordings_in_work_stay_below_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    for (bound, threads, allowed) in [(0, 4, 1), (MEMORY, 4, 1), (3 * MEMORY + 1, 8, 3), (1 << 40, 2, 2)] {
        let set = SmallDataSet::default();
        let options = LoadOptions { memory: Some(bound), threads: Some(threads), ..LoadOptions::default() };
        let source = source(&set, folder.path(), &[]);
        let loaded = source.load_with(None, None, LabelHandling::Own, &options).unwrap();
        assert_eq!(set.seen.reads.load(Ordering::SeqCst), ITEMS);
        let most = set.seen.most.load(Ordering::SeqCst);
        assert!((MEMORY..=allowed * MEMORY).contains(&most), "{most} of {bound}");
        assert_eq!(loaded, source.load(None, None).unwrap());
    }
}

#[test]
fn progress_counts_every_recording_once() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let reported = Mutex::new(vec![]);
    let progress = |done: usize, all: usize| reported.lock().unwrap().push((done, all));
    let options = LoadOptions { progress: Some(&progress), ..LoadOptions::default() };
    source(&SmallDataSet::default(), folder.path(), &[])
        .load_with(None, None, LabelHandling::Own, &options)
        .unwrap();
    let mut reported = reported.into_inner().unwrap();
    reported.sort();
    assert_eq!(reported, (1..=ITEMS).map(|done| (done, ITEMS)).collect::<Vec<_>>());
}

#[test]
fn the_wish_to_stop_is_heard_between_recordings() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let set = SmallDataSet::default();
    let calls = AtomicUsize::new(0);
    let stop = || calls.fetch_add(1, Ordering::SeqCst) >= 3;
    let options = LoadOptions { stop: Some(&stop), threads: Some(1), ..LoadOptions::default() };
    let outcome = source(&set, folder.path(), &[]).load_with(None, None, LabelHandling::Own, &options);
    assert!(matches!(outcome, Err(Error::Stopped)));
    assert_eq!(set.seen.reads.load(Ordering::SeqCst), 3);
}

//! Several processes at once in one folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptsm_data::arrays::LabelHandling;
use ptsm_data::{Cache, LoadOptions};

use super::set::{RUNS, SUBJECT_COUNT, SmallDataSet, age, file, source, write};

/// Names the folder to a process that this test started.
const FOLDER: &str = "PTSM_TEST_TOGETHER";

/// Loads again and again while files change and entries are deleted, and holds every load to one without a cache.
fn hammer(folder: &Path, process: u32) {
    let (data, cache) = (folder.join(format!("data{}", process % 2)), folder.join("cache"));
    for round in 0..15u32 {
        // Room for half of what there is: everybody deletes what others use.
        let limit = if round % 5 == 4 { 30_000 } else { 1 << 30 };
        let cache = Cache::open(&cache).unwrap().with_limit(limit);
        let options = LoadOptions { cache: Some(&cache), ..LoadOptions::default() };
        let source = source(&SmallDataSet::default(), &data, &[]);
        let kept = source.load_with(None, None, LabelHandling::Own, &options).unwrap();
        let plain = source.load(None, None).unwrap();
        assert_eq!(kept.trials, plain.trials);
        assert_eq!(kept.identities, plain.identities);
        assert_eq!(kept.fingerprint, plain.fingerprint);
    }
}

/// Does nothing unless [`processes_do_not_disturb_each_other`] started it.
#[test]
fn one_of_several() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let folder = PathBuf::from(folder);
    std::thread::scope(|scope| {
        for process in 0..2 {
            let folder = &folder;
            scope.spawn(move || hammer(folder, process));
        }
    });
}

#[test]
fn processes_do_not_disturb_each_other() {
    if env::var_os(FOLDER).is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for i in 0..2u32 {
        let data = folder.path().join(format!("data{i}"));
        fs::create_dir(&data).unwrap();
        write(&data);
        // The second folder differs from the first in one subject.
        let path = file(&data, 1, 1);
        fs::write(&path, format!("{i} {i}")).unwrap();
        age(&path, 100);
    }
    let start = || {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "together::one_of_several", "--test-threads=1"]);
        command.env(FOLDER, folder.path()).stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut children: Vec<_> = (0..4).map(|_| start()).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    // What they left is whole: the next load reads nothing.
    let data = folder.path().join("data0");
    let cache = Cache::open(&folder.path().join("cache")).unwrap();
    let options = LoadOptions { cache: Some(&cache), ..LoadOptions::default() };
    let set = SmallDataSet::default();
    source(&set, &data, &[]).load_with(None, None, LabelHandling::Own, &options).unwrap();
    let before = set.seen.reads.load(std::sync::atomic::Ordering::SeqCst);
    assert!(before <= (SUBJECT_COUNT * RUNS) as usize);
    source(&set, &data, &[]).load_with(None, None, LabelHandling::Own, &options).unwrap();
    assert_eq!(set.seen.reads.load(std::sync::atomic::Ordering::SeqCst), before);
    let left = fs::read_dir(folder.path().join("cache/trials")).unwrap();
    let unfinished = left.filter(|entry| entry.as_ref().unwrap().path().extension().unwrap() == "partial");
    assert_eq!(unfinished.count(), 0);
}

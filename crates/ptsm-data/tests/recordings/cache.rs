//! Trials that are kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use ptsm_data::arrays::LabelHandling;
use ptsm_data::{Cache, LoadOptions, LoadedData, SubjectList};
use ptsm_signal::{Alignment, Pipeline};
use tempfile::TempDir;

use super::set::{RUNS, SUBJECT_COUNT, SmallDataSet, file, source, write};

const ITEMS: usize = (SUBJECT_COUNT * RUNS) as usize;

/// A folder with the data set and one for the cache.
struct Bench {
    folder: TempDir,
    set: SmallDataSet,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        let bench = Bench { folder, set: SmallDataSet::default() };
        write(&bench.data());
        bench
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Loads with the cache; also how many items were read.
    fn load(&self) -> (LoadedData, usize) {
        self.load_as(None, LabelHandling::Own, &[], false)
    }

    fn load_as(
        &self,
        pipeline: Option<&Pipeline>,
        label_handling: LabelHandling<'_>,
        with: &[(&str, &str)],
        verify: bool,
    ) -> (LoadedData, usize) {
        let before = self.set.seen.reads.load(Ordering::SeqCst);
        let cache = Cache::open(&self.cache()).unwrap();
        let options = LoadOptions { cache: Some(&cache), verify, ..LoadOptions::default() };
        let source = source(&self.set, &self.data(), with);
        let loaded = source.load_with(pipeline, None, label_handling, &options).unwrap();
        (loaded, self.set.seen.reads.load(Ordering::SeqCst) - before)
    }

    /// Loads without the cache.
    fn plain(&self) -> LoadedData {
        source(&self.set, &self.data(), &[]).load(None, None).unwrap()
    }

    fn entries(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.cache().join("trials")).unwrap();
        let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries
    }
}

#[test]
fn the_second_time_nothing_is_read() {
    let bench = Bench::new();
    let plain = bench.plain();
    assert_eq!(plain.trials.len(), 2 * ITEMS);
    assert!(plain.notes.iter().any(|note| note.contains("have no known class")), "{:?}", plain.notes);
    assert_eq!(bench.load(), (plain.clone(), ITEMS));
    assert_eq!(bench.load(), (plain.clone(), 0));
    // Fewer subjects need fewer entries, and subjects stay who they are.
    let cache = Cache::open(&bench.cache()).unwrap();
    let options = LoadOptions { cache: Some(&cache), ..LoadOptions::default() };
    let some: SubjectList = "2-3".parse().unwrap();
    let source = source(&bench.set, &bench.data(), &[]);
    let some = source.load_with(None, Some(&some), LabelHandling::Own, &options).unwrap();
    assert_eq!(some.trials.len(), 2 * 2 * RUNS as usize);
    assert!(some.identities.iter().all(|(subject, hash)| plain.identities[subject] == *hash));
    assert_eq!(bench.set.seen.reads.load(Ordering::SeqCst), 2 * ITEMS);
}

#[cfg(unix)]
#[test]
fn a_file_that_was_replaced_with_its_old_time_is_noticed() {
    let bench = Bench::new();
    // Long enough ago that its contents are remembered.
    std::thread::sleep(Duration::from_millis(2100));
    let (first, _) = bench.load();
    assert_eq!(bench.load(), (first.clone(), 0));
    let path = file(&bench.data(), 1, 1);
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "9 9").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
    let (second, read) = bench.load();
    assert_eq!(read, 1);
    assert_ne!((&second.trials, &second.fingerprint), (&first.trials, &first.fingerprint));
    assert_eq!(second, bench.plain());
}

#[test]
fn whatever_trials_depend_on_makes_another_entry() {
    let bench = Bench::new();
    let (first, _) = bench.load();
    let own = first.pipeline.clone();
    let classes = ["right", "left"].map(String::from);
    let aligned = Pipeline { alignment: Alignment::Euclidean, ..own.clone() };
    let (loaded, read) = bench.load_as(Some(&aligned), LabelHandling::Own, &[], false);
    assert_eq!((read, &loaded.trials, &loaded.pipeline), (0, &first.trials, &aligned));
    assert_ne!(loaded.fingerprint, first.fingerprint);
    let shorter = Pipeline { window_s: [0.0, 0.5], ..own.clone() };
    for (pipeline, label_handling, with) in [
        (&shorter, LabelHandling::Own, &[][..]),
        (&own, LabelHandling::Classes(&classes), &[]),
        (&own, LabelHandling::Unlabelled(&classes), &[]),
        (&own, LabelHandling::Own, &[("gain", "2")]),
    ] {
        let plain =
            source(&bench.set, &bench.data(), with).load_as(Some(pipeline), None, label_handling).unwrap();
        assert_eq!(bench.load_as(Some(pipeline), label_handling, with, false), (plain.clone(), ITEMS));
        assert_eq!(bench.load_as(Some(pipeline), label_handling, with, false), (plain, 0));
    }
}

#[test]
fn a_file_that_moves_or_is_renumbered_is_not_mixed_up() {
    let bench = Bench::new();
    let (first, _) = bench.load();
    // Two subjects change places.
    for run in 1..=RUNS {
        let (one, other) = (file(&bench.data(), 1, run), file(&bench.data(), 2, run));
        let aside = bench.data().join("aside");
        fs::rename(&one, &aside).unwrap();
        fs::rename(&other, &one).unwrap();
        fs::rename(&aside, &other).unwrap();
    }
    let (second, read) = bench.load();
    assert_eq!((second.clone(), read), (bench.plain(), 2 * RUNS as usize));
    let trials = |loaded: &LoadedData, at: usize| loaded.identities.values().nth(at).unwrap().trials.clone();
    assert_eq!(trials(&second, 0), trials(&first, 1));
}

#[test]
fn damaged_entries_are_made_again() {
    let bench = Bench::new();
    let first = bench.plain();
    bench.load();
    let entries = bench.entries();
    assert_eq!(entries.len(), ITEMS);
    let whole = fs::read(&entries[0]).unwrap();
    let header = u64::from_le_bytes(*whole[24..].first_chunk().unwrap()) as usize;
    let mut bad: Vec<Vec<u8>> = [0, 7, 24, 31, 32, 39, 40, 71, 72, 103, 104, 104 + header / 2, 103 + header]
        .map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            bytes
        })
        .to_vec();
    bad.extend(
        [0, 1, 8, 23, 40, 103, 104, 200, whole.len() - 4, whole.len() - 1].map(|n| whole[..n].to_vec()),
    );
    bad.push([&whole[..], &[0; 4]].concat());
    bad.push(b"something else entirely".repeat(50));
    // A length that cannot be, and another item's entry.
    bad.push([&whole[..24], &[0xff; 16], &whole[40..]].concat());
    bad.push(fs::read(&entries[1]).unwrap());
    for bytes in bad {
        fs::write(&entries[0], &bytes).unwrap();
        assert_eq!(bench.load(), (first.clone(), 1));
        assert_eq!(fs::read(&entries[0]).unwrap(), whole);
    }
    // A folder in its place.
    fs::remove_file(&entries[0]).unwrap();
    fs::create_dir(&entries[0]).unwrap();
    let (loaded, read) = bench.load();
    assert_eq!((&loaded.trials, read), (&first.trials, 1));
    assert!(loaded.notes.last().unwrap().contains("could not be kept"), "{:?}", loaded.notes);
}

#[test]
fn samples_are_compared_on_request_and_after_a_new_start() {
    let bench = Bench::new();
    // Not from the cache: samples that are mapped would change with the file.
    let first = bench.plain();
    bench.load();
    let path = bench.entries().remove(0);
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let verified = || bench.load_as(None, LabelHandling::Own, &[], true);
    assert_eq!(verified(), (first.clone(), 0));
    fs::write(&path, &flipped).unwrap();
    assert_ne!(bench.load().0, first);
    assert_eq!(verified(), (first.clone(), 1));
    // Written before the system was started anew: compared once, then known to be on the disk.
    let earlier = |bytes: &[u8]| [&bytes[..8], &[7; 16], &bytes[24..]].concat();
    fs::write(&path, earlier(&flipped)).unwrap();
    assert_eq!(bench.load(), (first.clone(), 1));
    fs::write(&path, earlier(&whole)).unwrap();
    assert_eq!(bench.load(), (first.clone(), 0));
    assert_eq!(fs::read(&path).unwrap()[8..24], [0; 16]);
    assert_eq!(bench.load(), (first, 0));
}

#[test]
fn where_nothing_can_be_kept_trials_are_there_all_the_same() {
    let bench = Bench::new();
    let plain = bench.plain();
    let blocked = bench.folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    let error = Cache::open(&blocked.join("cache")).unwrap_err();
    assert!(error.to_string().contains("cannot be a folder of kept trials"), "{error}");
    assert!(error.hint().unwrap().contains("--cache"));
    // The folder goes away between opening and writing.
    let cache = Cache::open(&bench.cache()).unwrap();
    fs::remove_dir_all(bench.cache()).unwrap();
    fs::write(bench.cache(), "").unwrap();
    let options = LoadOptions { cache: Some(&cache), ..LoadOptions::default() };
    let loaded =
        source(&bench.set, &bench.data(), &[]).load_with(None, None, LabelHandling::Own, &options).unwrap();
    assert_eq!(loaded.trials, plain.trials);
    let notes: Vec<_> = loaded.notes.iter().filter(|note| note.contains("could not be kept")).collect();
    assert_eq!(notes.len(), 1, "{:?}", loaded.notes);
}

#[test]
fn the_oldest_entries_make_room_and_trials_in_use_stay() {
    let bench = Bench::new();
    let (first, _) = bench.load();
    let entries = bench.entries();
    let size = fs::metadata(&entries[0]).unwrap().len();
    for (i, entry) in entries.iter().enumerate() {
        let open = fs::File::options().write(true).open(entry).unwrap();
        open.set_modified(SystemTime::now() - Duration::from_secs(1000 + i as u64)).unwrap();
    }
    // One subject is asked for with another pipeline: their new entries take the place of the oldest.
    let load = |limit: u64, subjects: &str, pipeline: Option<&Pipeline>| {
        let cache = Cache::open(&bench.cache()).unwrap().with_limit(limit);
        let options = LoadOptions { cache: Some(&cache), ..LoadOptions::default() };
        let subjects: SubjectList = subjects.parse().unwrap();
        let source = source(&bench.set, &bench.data(), &[]);
        source.load_with(pipeline, Some(&subjects), LabelHandling::Own, &options).unwrap()
    };
    load(ITEMS as u64 * (size + 100), "1", None);
    assert_eq!(bench.entries(), entries);
    let other = Pipeline { window_s: [0.0, 0.9], ..first.pipeline.clone() };
    load(ITEMS as u64 * (size + 100), "4", Some(&other));
    assert_eq!(bench.entries().len(), ITEMS);
    let plain = bench.plain();
    // No room at all: everything that was just made is deleted while it is mapped.
    let own = Pipeline { window_s: [0.0, 0.8], ..first.pipeline.clone() };
    let none = load(0, "1-4", Some(&own));
    assert!(bench.entries().is_empty());
    let again = source(&bench.set, &bench.data(), &[]).load(Some(&own), None).unwrap();
    assert_eq!(none.trials, again.trials);
    assert_eq!(first.trials, plain.trials);
}

#[test]
fn a_recording_that_was_just_written_is_kept_but_looked_at_again() {
    let bench = Bench::new();
    let path = file(&bench.data(), 1, 1);
    let rewrite = |text: &str, time: SystemTime| {
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    let now = SystemTime::now() + Duration::from_secs(1);
    rewrite("a b", now);
    let (first, _) = bench.load();
    assert_eq!(bench.load(), (first.clone(), 0));
    // The same length and the same tick of the clock.
    rewrite("c d", now);
    let (second, read) = bench.load();
    assert_eq!(read, 1);
    assert_ne!(second.trials, first.trials);
    assert_eq!(second, bench.plain());
}

/// Names of people and folders have no place in a cache.
#[test]
fn entries_tell_nothing_of_paths() {
    let bench = Bench::new();
    // Contents of files that were just written are not remembered.
    std::thread::sleep(Duration::from_millis(2100));
    bench.load();
    let name = bench.folder.path().file_name().unwrap().to_str().unwrap().to_string();
    let has = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(name.len()).any(|part| part == name.as_bytes())
    };
    assert!(!bench.entries().iter().any(|path| has(path)) && !has(&bench.cache().join("hashes")));
}

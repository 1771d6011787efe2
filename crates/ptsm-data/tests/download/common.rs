//! A data set to download, a folder to download it to, and what came of that.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptsm_data::catalogue::{
    DataSet, DataSetChoice, DataSetFiles, DataSetInfo, Options, RecordingItem, RecordingPart,
};
use ptsm_data::download::{Checksum, RemoteFile};
use ptsm_data::download::{
    Download, DownloadObserver, DownloadProgress, DownloadReport, FileStatus, LOCK_FILE, Settings,
};
use ptsm_data::{Error, Recordings, Result};
use ptsm_signal::{Pipeline, SubjectId};
use sha2::{Digest, Sha256};

use crate::server::{Manner, Server};

/// A data set of whatever files.
#[derive(Clone, Debug)]
pub(crate) struct FixedFiles(pub(crate) Vec<RemoteFile>);

impl DataSet for FixedFiles {
    fn about(&self) -> DataSetInfo {
        DataSetInfo { id: "made".into(), home: "https://example.org".into(), ..DataSetInfo::default() }
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        &[]
    }

    fn task(&self, _: &Options) -> ptsm_signal::TaskDeclaration {
        ptsm_signal::TaskDeclaration::default()
    }

    fn pipeline(&self, _: &Options) -> Result<Pipeline> {
        Ok(Pipeline::default())
    }

    /// All `.edf` files, wherever they are.
    fn find(&self, root: &Path, _: &Options) -> Result<DataSetFiles> {
        let mut items = vec![];
        let mut folders = vec![root.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "edf") {
                    let part = String::new();
                    items.push(RecordingItem {
                        subject: SubjectId(1),
                        session: 1,
                        run: 1,
                        files: vec![path],
                        part,
                        memory: 0,
                    });
                }
            }
        }
        Ok(DataSetFiles { items, ..DataSetFiles::default() })
    }

    fn read(&self, item: &RecordingItem, _: &Options, _: &Pipeline) -> Result<Vec<RecordingPart>> {
        panic!("nobody reads {}", item.place());
    }

    fn remote(&self, _: &Options) -> Result<Vec<RemoteFile>> {
        Ok(self.0.clone())
    }
}

/// Bytes that look random, others for each seed.
pub(crate) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Patience for tests: everything happens in milliseconds.
pub(crate) fn settings(server: &Server) -> Settings {
    Settings {
        mirror: Some(server.url()),
        connect: Duration::from_secs(5),
        stall: Duration::from_millis(1500),
        pause: Duration::from_millis(4),
        longest_pause: Duration::from_millis(20),
        tries: 4,
        ..Settings::default()
    }
}

/// Sees nothing, and stops when it is told to.
pub(crate) struct Watcher<F: Fn() -> bool> {
    pub(crate) stop: F,
    pub(crate) seen: Vec<DownloadProgress>,
}

impl<F: Fn() -> bool> DownloadObserver for Watcher<F> {
    fn progress(&mut self, progress: &DownloadProgress) {
        self.seen.push(*progress);
    }

    fn stop(&self) -> bool {
        (self.stop)()
    }
}

/// A server, files that are published there, and a folder for them.
pub(crate) struct Place {
    pub(crate) server: Server,
    pub(crate) set: FixedFiles,
    pub(crate) settings: Settings,
    /// What each file should be.
    pub(crate) contents: Vec<Vec<u8>>,
    folder: tempfile::TempDir,
}

impl Place {
    /// So many files of so many bytes, with published checksums; one subject has each.
    pub(crate) fn new(files: usize, length: usize) -> Place {
        let server = Server::new();
        let contents: Vec<Vec<u8>> = (0..files).map(|i| bytes(i as u64 + 1, length)).collect();
        let remotes = contents.iter().enumerate().map(|(i, contents)| {
            let path = format!("S{:03}/S{:03}R01.edf", i + 1, i + 1);
            server.publish(&format!("/files/made/1.0.0/{path}"), contents);
            RemoteFile {
                subject: Some(SubjectId(i as u32 + 1)),
                url: format!("https://example.org/files/made/1.0.0/{path}"),
                path: PathBuf::from(path),
                checksum: Checksum::Sha256(sha256(contents)),
            }
        });
        let set = FixedFiles(remotes.collect());
        Place { settings: settings(&server), set, contents, server, folder: tempfile::tempdir().unwrap() }
    }

    /// The same without published checksums.
    pub(crate) fn unpublished(files: usize, length: usize) -> Place {
        let mut place = Place::new(files, length);
        for remote in &mut place.set.0 {
            remote.checksum = Checksum::Unpublished;
        }
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Where a file is published on the server.
    pub(crate) fn published(&self, file: usize) -> String {
        self.set.0[file].url.strip_prefix("https://example.org").unwrap().to_string()
    }

    /// Where a file goes.
    pub(crate) fn path(&self, file: usize) -> PathBuf {
        self.root().join(&self.set.0[file].path)
    }

    pub(crate) fn plan(&self, subjects: Option<&str>) -> Result<Download> {
        let recordings = Recordings::new(Arc::new(self.set.clone()), self.root(), &[])?;
        Download::plan(&recordings, subjects.map(|s| s.parse().unwrap()).as_ref())
    }

    pub(crate) fn run_until(&self, stop: impl Fn() -> bool) -> (DownloadReport, Vec<DownloadProgress>) {
        let mut watcher = Watcher { stop, seen: vec![] };
        let report = self.plan(None).unwrap().run(&self.settings, &mut watcher).unwrap();
        (report, watcher.seen)
    }

    pub(crate) fn run(&self) -> DownloadReport {
        let began = Instant::now();
        let report = self.run_until(|| false).0;
        assert!(began.elapsed() < Duration::from_secs(300), "it took too long");
        report
    }

    /// Runs it; all files must be there in the end, and nothing else.
    pub(crate) fn succeed(&self) -> DownloadReport {
        let report = self.run();
        let failed: Vec<String> = report.failed().map(|(_, error)| error.to_string()).collect();
        assert!(failed.is_empty(), "{failed:?}");
        self.check();
        report
    }

    /// All files are there and right, and nothing is left over.
    pub(crate) fn check(&self) {
        for (i, contents) in self.contents.iter().enumerate() {
            assert!(fs::read(self.path(i)).unwrap() == *contents, "{} is wrong", self.path(i).display());
        }
        let mut expected: Vec<PathBuf> = self.set.0.iter().map(|remote| remote.path.clone()).collect();
        expected.push(LOCK_FILE.into());
        expected.sort();
        assert_eq!(self.list(), expected);
    }

    /// All files below the folder.
    pub(crate) fn list(&self) -> Vec<PathBuf> {
        let (mut files, mut folders) = (vec![], vec![self.root().to_path_buf()]);
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path.strip_prefix(self.root()).unwrap().to_path_buf());
                }
            }
        }
        files.sort();
        files
    }

    /// Downloads so many bytes of the only file and is stopped then.
    pub(crate) fn begin(&self, bytes: usize) {
        self.server.answer(move |_| Manner::Stall(bytes));
        let arrived = || fs::metadata(self.path(0).with_added_extension("part")).map_or(0, |part| part.len());
        let settings = Settings { stall: Duration::from_secs(60), ..self.settings.clone() };
        let mut watcher = Watcher { stop: || arrived() == bytes as u64, seen: vec![] };
        let report = self.plan(None).unwrap().run(&settings, &mut watcher).unwrap();
        assert!(report.stopped);
        self.server.answer(|_| Manner::Well);
    }

    /// The first bytes of a file that has begun.
    pub(crate) fn part(&self, file: usize) -> Vec<u8> {
        fs::read(self.path(file).with_added_extension("part")).unwrap()
    }
}

/// What came of each file, in a word.
pub(crate) fn statuses(report: &DownloadReport) -> Vec<&'static str> {
    let word = |status: &FileStatus| match status {
        FileStatus::Present => "present",
        FileStatus::Downloaded => "downloaded",
        FileStatus::Failed(_) => "failed",
        FileStatus::Unfinished => "unfinished",
    };
    report.files.iter().map(|file| word(&file.status)).collect()
}

/// The only failure: what is wrong and what to do.
pub(crate) fn failure(report: &DownloadReport) -> (String, String) {
    let errors: Vec<&Error> = report.failed().map(|(_, error)| error).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    (errors[0].to_string(), errors[0].hint().unwrap().to_string())
}

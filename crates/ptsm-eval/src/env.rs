//! What work needs from its surroundings: a device, a cache, a way to stop it, and somebody to tell how far it is.
//!
//! The library knows no terminal. Whoever calls it hands over one [`Env`]; a program draws the progress that its [`ProgressSink`] are told, a
//! notebook prints it, a test ignores it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptsm_data::Cache;
use ptsm_decode::{EpochRecord, Progress, Watch};
use ptsm_engine::{Cpu, Device, Isa, Precision};

use crate::benchmark::{FitItem, Observer};
use crate::error::{Error, Result};

/// The surroundings of all work: where it computes, what it keeps, who is told, who may stop it.
///
/// ```
/// use ptsm_eval::Env;
///
/// let env = Env::new()?.without_cache();
/// assert!(!env.is_cancelled());
/// # Ok::<(), ptsm_eval::Error>(())
/// ```
pub struct Env {
    /// Where networks are trained and applied.
    pub device: Device,
    /// What operands of large products are rounded to, here or on the machines that do the work.
    pub precision: Precision,
    /// Threads that read recordings; as many as the machine has without it.
    pub threads: Option<usize>,
    /// Where prepared trials are kept between runs.
    pub cache: CacheFolder,
    /// Bytes that recordings being read may take together.
    pub memory_bytes: Option<u64>,
    /// Whether data in which something is wrong or odd are refused instead of warned about.
    pub strict: bool,
    /// The flag that stops the work.
    pub cancellation: Cancellation,
    events: Arc<dyn ProgressSink>,
    /// Notes about data, each of which is told once.
    noted: Mutex<BTreeSet<String>>,
}

impl Env {
    /// All threads of the processor, the system's cache folder, nobody who listens.
    pub fn new() -> Result<Env> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let cpu = Cpu::with(threads, Isa::best()).map_err(ptsm_decode::Error::from)?;
        Ok(Env::on(Device::Cpu(cpu)))
    }

    /// The same on a device of the caller's.
    pub fn on(device: Device) -> Env {
        Env {
            precision: device.precision(),
            device,
            threads: None,
            cache: CacheFolder::Usual,
            memory_bytes: None,
            strict: false,
            cancellation: Cancellation::default(),
            events: Arc::new(NullProgress),
            noted: Mutex::default(),
        }
    }

    /// Tells events to somebody.
    pub fn with_events(mut self, events: Arc<dyn ProgressSink>) -> Env {
        self.events = events;
        self
    }

    /// Keeps nothing between runs.
    pub fn without_cache(mut self) -> Env {
        self.cache = CacheFolder::Nowhere;
        self
    }

    /// A sentence for the person who waits.
    pub fn note(&self, text: impl AsRef<str>) {
        self.events.note(text.as_ref());
    }

    /// The same, once however often it is said.
    pub fn note_once(&self, text: String) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.insert(text.clone()) {
            self.events.note(&text);
        }
    }

    /// A piece of work begins. It ends when what is returned is dropped.
    pub fn begin(&self, title: &str, steps: Option<usize>) -> Box<dyn ProgressTask> {
        self.events.begin(title, steps)
    }

    /// Work whose length is known only once it has begun, such as reading the recordings of a folder.
    pub fn lazy_progress<'a>(&'a self, title: &'a str) -> LazyProgress<'a> {
        LazyProgress { env: self, title, task: Mutex::default() }
    }

    /// Watches a fit for this environment: its progress is told, and it ends when the work is cancelled.
    pub fn watch_fits<'a>(&'a self, title: &str) -> FitWatch<'a> {
        FitWatch { task: self.begin(title, None), env: self, log: Box::new(|_| ()) }
    }

    /// Whether the work is to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// An error where the work is to end.
    pub fn check_cancelled(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(Error::Decode(ptsm_decode::Error::Stopped)),
            false => Ok(()),
        }
    }
}

/// Where prepared trials are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheFolder {
    /// The system's folder for caches, where it has one.
    #[default]
    Usual,
    /// This folder.
    At(PathBuf),
    /// Nowhere: everything is read anew.
    Nowhere,
}

impl CacheFolder {
    /// The folder; none where nothing is kept.
    pub fn path(&self) -> Option<PathBuf> {
        match self {
            CacheFolder::Usual => Cache::default_folder(),
            CacheFolder::At(folder) => Some(folder.clone()),
            CacheFolder::Nowhere => None,
        }
    }
}

/// A flag that everybody who holds a copy can raise, and that long work looks at.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Raises it; whether it was raised before.
    pub fn cancel(&self) -> bool {
        self.0.swap(true, Ordering::SeqCst)
    }

    /// Whether it is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Somebody who is told what happens.
pub trait ProgressSink: Send + Sync {
    /// A sentence for the person who waits: a note, or a warning about the data.
    fn note(&self, text: &str) {
        let _ = text;
    }

    /// A piece of work begins, of so many steps where they can be counted. It ends when the task is dropped.
    fn begin(&self, title: &str, steps: Option<usize>) -> Box<dyn ProgressTask> {
        let _ = (title, steps);
        Box::new(NullProgress)
    }
}

/// A piece of work that is under way.
pub trait ProgressTask: Send {
    /// So many steps are done.
    fn done(&self, steps: usize) {
        let _ = steps;
    }

    /// A network was trained for one more step.
    fn training(&mut self, progress: &Progress<'_>) {
        let _ = progress;
    }

    /// The next part begins, under another title.
    fn retitle(&mut self, title: &str) {
        let _ = title;
    }
}

/// Nobody listens.
struct NullProgress;

impl ProgressSink for NullProgress {}
impl ProgressTask for NullProgress {}

/// Counted work that says how much it is with its first step. It ends when it is dropped.
pub struct LazyProgress<'a> {
    env: &'a Env,
    title: &'a str,
    task: Mutex<Option<Box<dyn ProgressTask>>>,
}

impl LazyProgress<'_> {
    /// So many of so many are done.
    pub fn at(&self, done: usize, all: usize) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.get_or_insert_with(|| self.env.begin(self.title, Some(all))).done(done);
    }
}

/// What is done with epochs that ended.
type EpochLog<'a> = Box<dyn FnMut(&[EpochRecord]) + 'a>;

/// Watches fits: progress goes to the events, cancellation to the fit, ended epochs to a log.
pub struct FitWatch<'a> {
    task: Box<dyn ProgressTask>,
    env: &'a Env,
    log: EpochLog<'a>,
}

impl<'a> FitWatch<'a> {
    /// The same, with something to do with epochs that ended.
    pub fn logging(mut self, log: impl FnMut(&[EpochRecord]) + 'a) -> FitWatch<'a> {
        self.log = Box::new(log);
        self
    }
}

impl Watch for FitWatch<'_> {
    fn progress(&mut self, progress: &Progress<'_>) {
        if !progress.ended.is_empty() {
            (self.log)(progress.ended);
        }
        self.task.training(progress);
    }

    fn stop(&self) -> bool {
        self.env.is_cancelled()
    }
}

impl Observer for FitWatch<'_> {
    fn begins(&mut self, called: &str, fits: usize, (place, all): (usize, usize)) {
        self.task.retitle(&format!("{}/{all} {called}, {fits} fits", place + 1));
    }

    fn failed(&mut self, called: &str, item: &FitItem, error: &str) {
        let (fold, seed) = (item.fold, item.seed);
        self.env.note(format!("failed: {called}, fold {fold}, seed {seed}: {error}"));
    }
}

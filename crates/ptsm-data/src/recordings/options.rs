//! What loading may use, and who watches it.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::cache::Cache;
use super::memory;
use crate::error::{Error, Result};

/// How data are loaded. The default keeps nothing and tells nobody.
#[derive(Clone, Copy, Default)]
pub struct LoadOptions<'a> {
    /// Where trials of recordings are kept between runs.
    pub cache: Option<&'a Cache>,
    /// Whether every sample that comes from the cache is compared with its checksum.
    pub verify: bool,
    /// Threads to work with; those of the current rayon pool without it.
    pub threads: Option<usize>,
    /// Bytes that recordings in work may take together; half of what is free without it. One is read even where it takes more.
    pub memory: Option<u64>,
    /// Told how many recordings of all are done.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Asked before each recording whether to stop.
    pub stop: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl LoadOptions<'_> {
    /// Does work on as many threads as are wanted.
    pub(crate) fn work<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        let Some(threads) = self.threads else { return work() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|error| Error::Cohort {
            message: format!("{threads} threads cannot be started: {error}"),
            hint: Some("work with fewer threads".into()),
        })?;
        pool.install(work)
    }

    /// Bytes that recordings in work may take together.
    pub(crate) fn bound(&self) -> u64 {
        self.memory.unwrap_or_else(memory::usual_bound)
    }

    /// Refuses to go on where the user asked to stop.
    pub(crate) fn go_on(&self) -> Result<()> {
        if self.stop.is_some_and(|stop| stop()) { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// Counts recordings that are done, and tells.
pub(crate) struct Count<'a> {
    done: AtomicUsize,
    all: usize,
    options: &'a LoadOptions<'a>,
}

impl<'a> Count<'a> {
    pub(crate) fn new(all: usize, options: &'a LoadOptions<'a>) -> Count<'a> {
        Count { done: AtomicUsize::new(0), all, options }
    }

    pub(crate) fn one_more(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(progress) = self.options.progress {
            progress(done, self.all);
        }
    }
}

//! Our side of `bench io`: recordings to trials, once.

use std::fmt;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use ptsm_data::arrays::LabelHandling;
use ptsm_data::{Cache, LoadOptions, Source, SubjectList};
use ptsm_signal::{Pipeline, Scaling};
use serde::{Deserialize, Serialize};

use super::{answer, resident};
use crate::bench::io::{ReaderReady, ReadingResult};

/// What is kept of the trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cached {
    /// Nothing.
    No,
    /// All of them; there are none before.
    Empty,
    /// They are there.
    Full,
    /// They are there, and every sample is looked at.
    Touched,
}

impl fmt::Display for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cached::No => "nothing kept",
            Cached::Empty => "filling the cache",
            Cached::Full => "from the cache",
            Cached::Touched => "from the cache, every sample read",
        })
    }
}

/// What to read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The folder with `physionet-mi`.
    pub(crate) root: PathBuf,
    /// How many subjects, from the first on.
    #[serde(rename = "people")]
    pub(crate) subject_count: usize,
    pub(crate) threads: usize,
    pub(crate) cached: Cached,
    /// The folder of the cache.
    pub(crate) cache: PathBuf,
}

/// `lab reading`: reads the request, waits for a line, works and tells.
pub(crate) fn run() -> Result<()> {
    let (mut lines, mut out) = (io::stdin().lock().lines(), io::stdout().lock());
    let line = lines.next().context("standard input ended before the request")??;
    let request: Request = serde_json::from_str(&line).with_context(|| format!("no request: {line}"))?;
    let root = request.root.join("physionet-mi");
    let source = Source::parse("physionet-mi", Some(&root))?;
    // Microvolts, so that all sides can be compared.
    let pipeline = Pipeline { scaling: Scaling::None, ..source.pipeline()? };
    let subjects: SubjectList = format!("1-{}", request.subject_count).parse()?;
    answer(&mut out, &ReaderReady { ready: true, after_import_rss_mib: resident("VmRSS")? })?;
    lines.next().context("standard input ended before the work")??;

    let (start, cpu) = (Instant::now(), cpu_ms()?);
    let cache = match request.cached {
        Cached::No => None,
        _ => Some(Cache::open(&request.cache)?),
    };
    let options =
        LoadOptions { cache: cache.as_ref(), threads: Some(request.threads), ..LoadOptions::default() };
    let loaded = source.load_with(Some(&pipeline), Some(&subjects), LabelHandling::Own, &options)?;
    let touched = (request.cached == Cached::Touched).then(|| mean(&loaded.trials));
    let ms = 1e3 * start.elapsed().as_secs_f64();
    let whole_cpu_ms = cpu_ms()?;
    let peak_rss_mib = resident("VmHWM")?;
    let mean_uv = touched.unwrap_or_else(|| mean(&loaded.trials));
    answer(
        &mut out,
        &ReadingResult {
            ms,
            cpu_ms: whole_cpu_ms - cpu,
            whole_cpu_ms,
            peak_rss_mib,
            trials: loaded.trials.len(),
            mean_uv,
        },
    )
}

/// The mean of all absolute values.
fn mean(trials: &ptsm_signal::Trials) -> f64 {
    let subset = trials.all();
    let values: usize = subset.signals().map(<[f32]>::len).sum();
    let sum: f64 = subset.signals().map(|x| x.iter().map(|v| f64::from(v.abs())).sum::<f64>()).sum();
    sum / values as f64
}

/// Processor time of this process, in milliseconds.
fn cpu_ms() -> Result<f64> {
    let stat =
        std::fs::read_to_string("/proc/self/stat").context("processor time is measured on Linux only")?;
    let fields: Vec<f64> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().skip(11).take(2).filter_map(|f| f.parse().ok()).collect())
        .unwrap_or_default();
    // Ticks are told in hundredths of a second, whatever the kernel counts in.
    Ok(10.0 * fields.iter().sum::<f64>())
}

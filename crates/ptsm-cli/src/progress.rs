//! What can be seen of long work: a live line on a terminal, and the wish to stop.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptsm_decode::{EpochRecord, Progress, Watch};
use ptsm_eval::{Item, Observer};

use crate::output::{Output, complain};

/// Set when the user asks to stop. A second time ends the program at once.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens to Ctrl-C and to the signal to terminate.
    pub(crate) fn listen() -> anyhow::Result<Stop> {
        let asked = Arc::new(AtomicBool::new(false));
        let flag = asked.clone();
        ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            // Some work, such as reading data, ends before it is looked at again.
            complain("stopping; once more stops at once");
        })
        .context("Ctrl-C cannot be listened to")?;
        Ok(Stop(asked))
    }

    /// For work that nobody needs to be asked to stop.
    pub(crate) fn never() -> Stop {
        Stop(Arc::default())
    }

    /// Asks in the user's place.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// What to do with epochs that ended.
type Log<'a> = Box<dyn FnMut(&[EpochRecord]) + 'a>;

/// A line on a terminal; nothing elsewhere.
pub(crate) fn bar(output: Output, title: &str, length: usize, template: &str) -> ProgressBar {
    let shown = stderr().is_terminal() && !output.is_quiet();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(length as u64), target);
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(title.to_string());
    bar
}

/// Work that is counted: so many of so many, and how long it will take.
pub(crate) fn counting(output: Output, title: &str, length: usize) -> ProgressBar {
    bar(output, title, length, "{prefix} [{bar:24}] {pos} of {len}, {eta} left")
}

/// Watches a fit: the live line, the log, the wish to stop.
pub(crate) struct Live<'a> {
    bar: ProgressBar,
    stop: Stop,
    /// What is being fitted, at the line's beginning.
    title: String,
    log: Log<'a>,
    began: Instant,
    /// Steps that were done before this process began.
    before: Option<usize>,
    /// Validation accuracy and losses of the last epoch.
    last: (String, String),
}

impl<'a> Live<'a> {
    pub(crate) fn new(output: Output, stop: &Stop, title: impl Into<String>) -> Live<'a> {
        let title = title.into();
        let bar = bar(output, &title, 1, "{prefix} [{bar:16}] {wide_msg}");
        Live {
            bar,
            stop: stop.clone(),
            title,
            log: Box::new(|_| ()),
            began: Instant::now(),
            before: None,
            last: Default::default(),
        }
    }

    /// The same, with something to do with epochs that ended.
    pub(crate) fn logging(mut self, log: impl FnMut(&[EpochRecord]) + 'a) -> Live<'a> {
        self.log = Box::new(log);
        self
    }

    pub(crate) fn retitle(&mut self, title: impl Into<String>) {
        self.title = title.into();
        self.bar.set_prefix(self.title.clone());
        self.began = Instant::now();
        self.before = None;
        self.last = Default::default();
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Live<'_> {
    fn progress(&mut self, p: &Progress<'_>) {
        if !p.ended.is_empty() {
            (self.log)(p.ended);
            self.last = describe(p.ended);
        }
        let before = *self.before.get_or_insert(p.step.saturating_sub(1));
        let each = self.began.elapsed().as_secs_f64() / (p.step - before).max(1) as f64;
        let left = Duration::from_secs_f64(each * (p.steps - p.step) as f64);
        self.bar.set_length(p.steps as u64);
        self.bar.set_position(p.step as u64);
        // The losses last: a narrow terminal cuts the line there.
        let (now, losses) = &self.last;
        let done = match p.jobs {
            (_, 1) => String::new(),
            (done, all) => format!("{done}/{all} done  "),
        };
        self.bar.set_message(format!(
            "{done}epoch {}/{}{now}  {:.0} trials/s  {} left at most{losses}",
            (p.epoch + 1).min(p.epochs),
            p.epochs,
            p.trials_per_second,
            crate::words::duration(left)
        ));
    }

    fn stop(&self) -> bool {
        self.stop.asked()
    }
}

/// Validation accuracy, and the losses by name: mean over the seeds still learning.
fn describe(ended: &[EpochRecord]) -> (String, String) {
    let n = ended.len() as f64;
    let accuracies: Option<Vec<f64>> = ended.iter().map(|e| e.validation_accuracy).collect();
    let now = accuracies
        .map_or_else(String::new, |all| format!("  validation {:.1} %", 100.0 * all.iter().sum::<f64>() / n));
    let losses = ended[0].losses.iter().enumerate().map(|(i, (name, _))| {
        let mean = ended.iter().map(|e| e.losses[i].1).sum::<f64>() / n;
        format!("  {name} {mean:.3}")
    });
    (now, losses.collect())
}

/// Watches a benchmark.
pub(crate) struct LiveBenchmark<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) output: Output,
}

impl Watch for LiveBenchmark<'_> {
    fn progress(&mut self, progress: &Progress<'_>) {
        self.live.progress(progress);
    }

    fn stop(&self) -> bool {
        self.live.stop()
    }
}

impl Observer for LiveBenchmark<'_> {
    fn begins(&mut self, called: &str, fits: usize, (place, all): (usize, usize)) {
        self.live.retitle(format!("{}/{all} {called}, {fits} fits", place + 1));
    }

    fn failed(&mut self, called: &str, item: &Item, error: &str) {
        self.live.bar.suspend(|| {
            let (fold, seed) = (item.fold, item.seed);
            self.output.note(format!("failed: {called}, fold {fold}, seed {seed}: {error}"));
        });
    }
}

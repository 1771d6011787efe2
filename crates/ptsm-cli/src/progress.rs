//! What can be seen of long work: a live line on a terminal, and the wish to stop.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptsm::decode::{EpochRecord, Progress};
use ptsm::eval::phrases::duration;
use ptsm::eval::{Cancellation, ProgressSink, ProgressTask};

use crate::log;
use crate::output::{Output, complain};

/// Cancels the work on Ctrl-C and on the signal to terminate. A second time ends the program at once.
pub(crate) fn listen(cancellation: &Cancellation) -> anyhow::Result<()> {
    let flag = cancellation.clone();
    ctrlc::set_handler(move || {
        if flag.cancel() {
            std::process::exit(130);
        }
        // Some work, such as reading data, ends before it is looked at again.
        complain("stopping; once more stops at once");
    })
    .context("Ctrl-C cannot be listened to")
}

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

/// Draws what the library tells: notes as lines, work that is under way as a bar.
pub(crate) struct Terminal {
    output: Output,
}

/// The bars that are drawn, the last one begun within the others.
static SHOWN: Mutex<Vec<ProgressBar>> = Mutex::new(vec![]);

/// Writes to standard error what must not end up inside of a bar.
pub(crate) fn beside_bar(write: impl FnOnce()) {
    match SHOWN.lock().unwrap_or_else(PoisonError::into_inner).last() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

impl Terminal {
    pub(crate) fn new(output: Output) -> Terminal {
        Terminal { output }
    }
}

impl ProgressSink for Terminal {
    fn note(&self, text: &str) {
        tracing::info!(target: log::USER_MESSAGES, "{text}");
        beside_bar(|| self.output.note(text));
    }

    fn begin(&self, title: &str, steps: Option<usize>) -> Box<dyn ProgressTask> {
        let bar = match steps {
            // So many of so many, and how long it will take.
            Some(steps) => bar(self.output, title, steps, "{prefix} [{bar:24}] {pos} of {len}, {eta} left"),
            None => bar(self.output, title, 1, "{prefix} [{bar:16}] {wide_msg}"),
        };
        SHOWN.lock().unwrap_or_else(PoisonError::into_inner).push(bar.clone());
        tracing::info!(steps, "{title}");
        let title = title.to_string();
        Box::new(Line { bar, title, began: Instant::now(), before: None, last: Default::default() })
    }
}

/// The line of one piece of work.
struct Line {
    bar: ProgressBar,
    title: String,
    began: Instant,
    /// Steps that were done before this process began.
    before: Option<usize>,
    /// Validation accuracy and losses of the last epoch.
    last: (String, String),
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        tracing::info!(seconds = self.began.elapsed().as_secs_f64(), "{}: finished", self.title);
        SHOWN.lock().unwrap_or_else(PoisonError::into_inner).pop();
    }
}

impl ProgressTask for Line {
    fn done(&self, steps: usize) {
        self.bar.set_position(steps as u64);
    }

    fn training(&mut self, p: &Progress<'_>) {
        if !p.ended.is_empty() {
            self.last = describe(p.ended);
            for ended in p.ended {
                tracing::debug!(
                    seed = ended.seed,
                    epoch = ended.epoch,
                    losses = ?ended.losses,
                    validation_accuracy = ended.validation_accuracy,
                    "{}",
                    self.title
                );
            }
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
            duration(left)
        ));
    }

    fn retitle(&mut self, title: &str) {
        self.bar.set_prefix(title.to_string());
        self.title = title.to_string();
        self.began = Instant::now();
        self.before = None;
        self.last = Default::default();
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

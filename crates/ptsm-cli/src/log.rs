//! What happens in detail, for whoever looks for a fault: `-v` on standard error, `--log` in a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::exit::fail;
use crate::progress::beside_bar;

/// The target of what the user is told anyway: it belongs into a log file and not once more on standard error.
pub(crate) const USER_MESSAGES: &str = "ptsm::told";

/// Starts both, as far as they are wanted. What is in the file stays: a run that was stopped and goes on has one log.
pub(crate) fn start(verbose: u8, file: Option<&Path>) -> anyhow::Result<()> {
    let level = match verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    if level == LevelFilter::OFF && file.is_none() {
        return Ok(());
    }
    let on_screen = fmt::layer()
        .with_ansi(false)
        .with_timer(fmt::time::uptime())
        .with_writer(|| BesideBar)
        .with_filter(level.and(filter_fn(|about| about.target() != USER_MESSAGES)));
    let in_file = file.map(open).transpose()?.map(|file| {
        fmt::layer().with_ansi(false).with_writer(file).with_filter(level.max(LevelFilter::DEBUG))
    });
    tracing_subscriber::registry().with(on_screen).with(in_file).init();
    let line: Vec<String> = std::env::args().collect();
    tracing::info!(version = ptsm::VERSION, ?line, "started");
    Ok(())
}

fn open(path: &Path) -> anyhow::Result<File> {
    File::options().create(true).append(true).open(path).map_err(|error| {
        fail(
            format!("the log {} cannot be written: {error}", path.display()),
            "name a file in a folder that can be written with `--log` or PTSM_LOG, or leave it out",
        )
    })
}

/// Standard error, without a bar in the way.
struct BesideBar;

impl Write for BesideBar {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Where standard error cannot be written there is nobody left to tell.
        beside_bar(|| drop(io::stderr().write_all(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! What goes to standard output: data, and nothing else. Words about the work go to standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write, stdout};
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use crate::exit::ClosedPipe;

/// Where a command's result goes and in which form.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
}

impl Output {
    pub(crate) fn new(json: bool, quiet: bool) -> Output {
        Output { json, quiet }
    }

    /// The result: text for people, or one JSON document.
    pub(crate) fn result(self, text: impl Display, json: &impl Serialize) -> anyhow::Result<()> {
        if self.json {
            let document =
                serde_json::to_string_pretty(json).context("the result cannot be written as JSON")?;
            return print(&format!("{document}\n"));
        }
        print(&text.to_string())
    }

    /// A line about the work, on standard error.
    pub(crate) fn note(self, text: impl Display) {
        if !self.quiet {
            complain(&text.to_string());
        }
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }
}

/// A line on standard error. Where that cannot be written, as on a full disk, there is nobody left to tell: the exit code says enough.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Standard output; a reader who went away is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(ClosedPipe.into()),
        other => other.context("standard output cannot be written"),
    }
}

/// A file, whole or not at all; a device or a pipe such as `/dev/stdout` is written to.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    ptsm::write_file(path, |to| to.write_all(bytes)).map_err(closed_pipe)
}

/// An error of writing a result; that a reader went away is none.
pub(crate) fn closed_pipe(error: ptsm::Error) -> anyhow::Error {
    let error = anyhow::Error::from(error);
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed) { ClosedPipe.into() } else { error }
}

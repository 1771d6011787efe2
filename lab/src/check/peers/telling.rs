//! What a script tells: lines of JSON, each followed by the doubles it says there are.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::de::DeserializeOwned;

use crate::shell::spelled;

/// A script at work.
pub(super) struct PeerScript {
    name: String,
    child: Child,
    out: BufReader<ChildStdout>,
}

impl PeerScript {
    pub(super) fn start(mut script: Command) -> Result<PeerScript> {
        let name = spelled(&script);
        let starts = || format!("`{name}` cannot be started");
        let mut child = script.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().with_context(starts)?;
        let out = child.stdout.take().with_context(starts)?;
        Ok(PeerScript { name, child, out: BufReader::new(out) })
    }

    /// The next thing and its numbers; nothing at the end of a script that went well.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<(T, Vec<f64>)>> {
        let mut line = String::new();
        if self.out.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            ensure!(status.success(), "`{}` ended with {status}", self.name);
            return Ok(None);
        }
        let head: serde_json::Value = serde_json::from_str(&line).context("a line is not JSON")?;
        let count = head["values"].as_u64().context("a line does not say how many values follow")?;
        let mut bytes = vec![0; 8 * usize::try_from(count)?];
        self.out.read_exact(&mut bytes).with_context(|| format!("`{}` ended too soon", self.name))?;
        let values = bytes.as_chunks().0.iter().map(|&value| f64::from_le_bytes(value)).collect();
        Ok(Some((serde_json::from_value(head).context("a line is not understood")?, values)))
    }
}

impl Drop for PeerScript {
    fn drop(&mut self) {
        // Ended already, or not wanted any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

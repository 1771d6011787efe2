//! A worker as its driver sees it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow, bail};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::case::Entrant;
use crate::protocol::{Framework, Question, Request, WorkerReady};
use crate::{python::Python, shell};

/// The programs that workers are.
pub(crate) struct Launcher {
    pub(crate) ours: PathBuf,
    pub(crate) python: Python,
}

impl Launcher {
    pub(crate) fn command(&self, request: &Request) -> Command {
        if request.framework != Framework::Ptsm {
            return self.python.script("bench_worker.py");
        }
        let mut command = Command::new(&self.ours);
        // The case's threads are all it gets, whatever pool the engine hands work to.
        command.arg("worker").env("RAYON_NUM_THREADS", request.threads.to_string());
        command
    }
}

/// A running worker. It is ended when this is dropped, so that none is left behind by an error.
pub(crate) struct Worker {
    name: String,
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Collects what it complains of; ends with the process.
    complaints: Option<JoinHandle<String>>,
}

impl Worker {
    /// Starts a worker and waits until its case is prepared.
    pub(crate) fn start(command: Command, entrant: &Entrant) -> Result<(Worker, WorkerReady)> {
        let request = &entrant.request;
        let name = format!("{} ({:?} {})", entrant.name, request.model, request.shape).to_lowercase();
        let mut worker = Worker::spawn(command, name)?;
        let ready = worker.ask(request)?;
        Ok((worker, ready))
    }

    /// Starts a worker.
    pub(crate) fn spawn(mut command: Command, name: String) -> Result<Worker> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().with_context(|| format!("`{}` cannot be started", shell::spelled(&command)))?;
        let (Some(questions), Some(answers), Some(mut errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            bail!("`{}` has no standard streams", shell::spelled(&command));
        };
        let complaints = thread::spawn(move || {
            let mut bytes = vec![];
            // What came before a failed read is still worth telling.
            let _ = errors.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let answers = BufReader::new(answers);
        Ok(Worker { name, child, questions, answers, complaints: Some(complaints) })
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Puts a question and waits for its answer.
    pub(crate) fn ask<A: DeserializeOwned>(&mut self, question: &impl Serialize) -> Result<A> {
        let question = serde_json::to_string(question)?;
        let mut answer = String::new();
        let sent = writeln!(self.questions, "{question}").and_then(|()| self.questions.flush());
        if sent.is_err() || self.answers.read_line(&mut answer).unwrap_or(0) == 0 {
            return Err(self.obituary(&question));
        }
        let value: Value = serde_json::from_str(&answer)
            .with_context(|| format!("worker {}: no JSON in answer to {question}: {answer}", self.name))?;
        if let Some(error) = value.get("error") {
            bail!("worker {} failed at {question}: {}", self.name, error.as_str().unwrap_or(&answer));
        }
        serde_json::from_value(value)
            .with_context(|| format!("worker {}: unexpected answer to {question}: {answer}", self.name))
    }

    /// What is known of a worker that ended on its own.
    fn obituary(&mut self, question: &str) -> anyhow::Error {
        let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
        let complaints = self.complaints.take().and_then(|c| c.join().ok()).unwrap_or_default();
        let complaints =
            if complaints.trim().is_empty() { "it said nothing" } else { &shell::tail(&complaints) };
        anyhow!("worker {} died at {question} with {status}: {complaints}", self.name)
    }

    /// Lets the worker end.
    pub(crate) fn quit(mut self) -> Result<()> {
        let question = serde_json::to_string(&Question::Quit(true))?;
        writeln!(self.questions, "{question}").with_context(|| format!("worker {} is gone", self.name))?;
        self.ended()
    }

    /// Waits for a worker that ends by itself.
    pub(crate) fn ended(mut self) -> Result<()> {
        let status = self.child.wait()?;
        if !status.success() {
            bail!("worker {} ended with {status}", self.name);
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::bench::case::{Candidate, training};

    /// A shell script in place of a worker: what it is said to have done wrong.
    fn refused(script: &str) -> String {
        let shape = "4x4x64".parse().unwrap();
        let entrant = &training(Candidate::Eegnet, shape, 1, &[])[0];
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (mut worker, _) = match Worker::start(command, entrant) {
            Ok(started) => started,
            Err(error) => return format!("{error:#}"),
        };
        format!("{:#}", worker.ask::<Value>(&Question::Steps(1)).unwrap_err())
    }

    const READY: &str = r#"read case; echo '{"ready":true,"parameters":1,"prepare_seconds":0}'"#;

    #[test]
    fn a_dead_worker_is_named_with_its_last_words() {
        let early = refused("read case; echo broken >&2; exit 3");
        assert!(early.contains("worker ours (eegnet 4x4x64) died at {\"framework\""), "{early}");
        assert!(early.ends_with("exit status: 3: broken"), "{early}");
        let late = refused(&format!("{READY}; read steps; exit 4"));
        assert!(late.ends_with("died at {\"steps\":1} with exit status: 4: it said nothing"), "{late}");
    }

    #[test]
    fn wrong_answers_are_shown() {
        let failed = refused(&format!("{READY}; read steps; echo '{{\"error\":\"no memory\"}}'"));
        assert!(failed.ends_with("failed at {\"steps\":1}: no memory"), "{failed}");
        let noise = refused("read case; echo hello");
        assert!(noise.contains("no JSON in answer to") && noise.contains("hello"), "{noise}");
        let other = refused("read case; echo '{\"ms\":[]}'");
        assert!(other.contains("unexpected answer"), "{other}");
    }
}

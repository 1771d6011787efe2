//! Our side of a benchmark: one case, one process, driven by JSON lines (see [`crate::protocol`]).

use std::fs;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use serde_json::json;

use crate::protocol::{Framework, Memory, Mode, Question, Request, Times, WorkerReady};

mod data;
pub(crate) mod decoding;
pub(crate) mod gpu;
mod inference;
pub(crate) mod loso;
pub(crate) mod reading;
mod training;

/// Steps before the clock counts, as on the other side.
const WARM_UP: usize = 3;

/// A prepared case.
trait Work {
    /// One step and its milliseconds.
    fn step(&mut self) -> Result<f64>;
    /// Numbers of the network that runs.
    fn parameters(&self) -> usize;
    /// Bytes planned at compile time.
    fn bytes(&self) -> usize;
}

/// `lab worker`: serves one case until told to quit. A failure is answered before it ends the process.
pub(crate) fn run() -> Result<()> {
    let (mut lines, mut out) = (io::stdin().lock().lines(), io::stdout().lock());
    serve(&mut lines, &mut out).inspect_err(|error| {
        // The driver reads this line; if it is gone, nobody is left to tell.
        let _ = answer(&mut out, &json!({ "error": format!("{error:#}") }));
    })
}

fn serve(lines: &mut impl Iterator<Item = io::Result<String>>, out: &mut impl Write) -> Result<()> {
    let at_start = resident("VmRSS");
    let line =
        lines.next().context("standard input ended before the first line, which describes the case")??;
    let request: Request = serde_json::from_str(&line).with_context(|| format!("no case: {line}"))?;
    if request.framework != Framework::Ptsm {
        bail!("this worker runs the framework `ptsm`; bench_worker.py runs the others");
    }
    let start = Instant::now();
    let mut work: Box<dyn Work> = match request.mode {
        Mode::Train => Box::new(training::Training::new(&request)?),
        Mode::Infer => Box::new(inference::Inference::new(&request)?),
    };
    for _ in 0..WARM_UP {
        work.step()?;
    }
    let ready = WorkerReady {
        ready: true,
        parameters: work.parameters(),
        prepare_seconds: start.elapsed().as_secs_f64(),
        program_mib: Some(work.bytes() as f64 / f64::from(1 << 20)),
        details: json!(null),
    };
    answer(out, &ready)?;
    for line in lines {
        let line = line?;
        match serde_json::from_str(&line).with_context(|| format!("unknown command {line}"))? {
            Question::Steps(n) => {
                answer(out, &Times { ms: (0..n).map(|_| work.step()).collect::<Result<_>>()? })?;
            }
            Question::Memory(_) => {
                let after_import_rss_mib = *at_start.as_ref().map_err(|e| anyhow!("{e:#}"))?;
                answer(out, &Memory { peak_rss_mib: resident("VmHWM")?, after_import_rss_mib })?;
            }
            Question::Quit(_) => return Ok(()),
        }
    }
    Ok(())
}

fn answer(out: &mut impl Write, message: &impl Serialize) -> Result<()> {
    writeln!(out, "{}", serde_json::to_string(message)?)?;
    Ok(out.flush()?)
}

/// A memory entry of this process in MiB.
fn resident(key: &str) -> Result<f64> {
    const STATUS: &str = "/proc/self/status";
    let text = fs::read_to_string(STATUS).with_context(|| {
        format!("memory is read from {STATUS}, which this system does not have; it is measured on Linux only")
    })?;
    let entry = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let kib = entry.and_then(|e| e.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    Ok(kib.with_context(|| format!("{STATUS} has no number for {key}"))? / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(model: &str, mode: &str) -> String {
        json!({
            "framework": "ptsm", "model": model, "pool": "each", "batch": 4, "channels": 4, "time": 200,
            "subjects": 3, "classes": 2, "threads": 1, "mode": mode, "replicas": 1,
        })
        .to_string()
    }

    fn answers(text: &str) -> Result<Vec<serde_json::Value>> {
        let mut out = vec![];
        serve(&mut text.lines().map(|line| Ok(line.to_string())), &mut out)?;
        String::from_utf8(out)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    #[test]
    fn refusals_say_what_and_what_to_do() {
        let refused = |text: &str| format!("{:#}", answers(text).unwrap_err());
        assert!(refused("").contains("before the first line"));
        assert!(refused("{}").contains("no case: {}"));
        let eegnet = case("eegnet", "train");
        assert!(refused(&eegnet.replace("\"ptsm\"", "\"eager\"")).contains("bench_worker.py"));
        let large = refused(&eegnet.replace("\"batch\":4", "\"batch\":257"));
        assert!(large.contains("drawn from 256 trials, got a batch of 257"), "{large}");
        let unknown = refused(&format!("{eegnet}\n{{\"stepz\":1}}"));
        assert!(unknown.contains("unknown command {\"stepz\":1}"), "{unknown}");
    }

    #[test]
    fn every_model_trains_and_infers() {
        for model in ["ptsm", "eegnet", "deepconvnet3"] {
            for mode in ["train", "infer"] {
                let text = format!("{}\n{}\n{}", case(model, mode), r#"{"steps":2}"#, r#"{"quit":true}"#);
                let answers = answers(&text).unwrap();
                assert_eq!(answers[0]["ready"], true);
                let ms: Times = serde_json::from_value(answers[1].clone()).unwrap();
                assert!(ms.ms.len() == 2 && ms.ms.iter().all(|ms| *ms > 0.0), "{model} {mode}: {ms:?}");
            }
        }
    }
}

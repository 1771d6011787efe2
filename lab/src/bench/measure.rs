//! Several workers measured in turns, so that whatever else the machine does meets all of them alike.

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use serde::Serialize;

use super::case::Entrant;
use super::others::ProcessorTime;
use super::process::{Launcher, Worker};
use crate::protocol::{Memory, Question, Request, Times, WorkerReady};

/// Threads of the worker before spin for a moment after their work; the next one should not have to share with them.
const PAUSE: Duration = Duration::from_millis(50);

/// A case's results.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome {
    /// Share of the machine's processor time that went to other programs; none where the system does not tell.
    pub(crate) others: Option<f64>,
    /// In the order of the entrants.
    pub(crate) workers: Vec<WorkerResults>,
}

/// One worker's results.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WorkerResults {
    pub(crate) name: String,
    pub(crate) request: Request,
    #[serde(flatten)]
    pub(crate) ready: WorkerReady,
    pub(crate) memory: Memory,
    pub(crate) median_ms: f64,
    pub(crate) quartiles_ms: [f64; 2],
    /// Every time, by round.
    pub(crate) ms: Vec<Vec<f64>>,
}

impl WorkerResults {
    fn new(entrant: Entrant, ready: WorkerReady, memory: Memory, ms: Vec<Vec<f64>>) -> WorkerResults {
        let mut sorted = ms.concat();
        sorted.sort_by(f64::total_cmp);
        WorkerResults {
            name: entrant.name,
            request: entrant.request,
            ready,
            memory,
            median_ms: quantile(&sorted, 0.5),
            quartiles_ms: [0.25, 0.75].map(|q| quantile(&sorted, q)),
            ms,
        }
    }

    /// Trials per second, all replicas.
    pub(crate) fn throughput(&self) -> f64 {
        (self.request.replicas * self.request.shape.batch) as f64 / self.median_ms * 1e3
    }
}

/// Value below which the share `q` lies, between neighbours by proportion; `sorted` must not be empty.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// All entrants are prepared one after the other; then each makes `steps` steps in every round, in an order that alternates.
pub(crate) fn in_turns(
    launcher: &Launcher,
    entrants: Vec<Entrant>,
    rounds: usize,
    steps: usize,
) -> Result<Outcome> {
    let mut workers = vec![];
    for entrant in &entrants {
        workers.push(Worker::start(launcher.command(&entrant.request), entrant)?);
    }
    same_network(&entrants, &workers)?;
    let before = spent(&workers);
    let mut ms: Vec<Vec<Vec<f64>>> = vec![vec![]; workers.len()];
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..workers.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for i in order {
            thread::sleep(PAUSE);
            let times: Times = workers[i].0.ask(&Question::Steps(steps))?;
            if times.ms.len() != steps {
                bail!("worker {} was asked for {steps} steps, timed {}", entrants[i].name, times.ms.len());
            }
            ms[i].push(times.ms);
        }
    }
    let others = spent(&workers).zip(before).map(|(after, before)| after.others_since(before));
    let mut results = vec![];
    for ((entrant, (mut worker, ready)), ms) in entrants.into_iter().zip(workers).zip(ms) {
        let memory = worker.ask(&Question::Memory(true))?;
        worker.quit()?;
        results.push(WorkerResults::new(entrant, ready, memory, ms));
    }
    Ok(Outcome { others, workers: results })
}

fn spent(workers: &[(Worker, WorkerReady)]) -> Option<ProcessorTime> {
    ProcessorTime::now(workers.iter().map(|(worker, _)| worker.id()))
}

/// Networks of different size would make every number of the comparison void.
fn same_network(entrants: &[Entrant], workers: &[(Worker, WorkerReady)]) -> Result<()> {
    let count = |i: usize| workers[i].1.parameters;
    match (0..workers.len()).find(|&i| count(i) != count(0)) {
        None => Ok(()),
        Some(i) => bail!(
            "not the same network: {} has {} parameters, {} has {} ({:?})",
            entrants[0].name,
            count(0),
            entrants[i].name,
            count(i),
            entrants[0].request
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_few_values() {
        let quartiles = |v: &[f64]| [0.25, 0.5, 0.75].map(|q| quantile(v, q));
        assert_eq!(quartiles(&[3.0]), [3.0; 3]);
        assert_eq!(quartiles(&[1.0, 2.0, 3.0, 4.0, 5.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(&[1.0, 2.0]), [1.25, 1.5, 1.75]);
    }
}

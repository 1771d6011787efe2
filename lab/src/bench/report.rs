//! Results: as they are stored and as they are printed.

use serde::Serialize;

use super::case::Candidate;
use super::machine::Machine;
use super::measure::{Outcome, WorkerResults};
use super::table::Table;
use super::work;
use crate::protocol::Shape;

/// The others' share that leaves a comparison worth something; the kernel and the driver take some.
const TOLERABLE: f64 = 0.05;

/// A whole run.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) rounds: usize,
    pub(crate) steps: usize,
    pub(crate) training: Vec<CaseComparison>,
    pub(crate) inference: Vec<CaseComparison>,
    pub(crate) equivariance: Vec<EquivarianceCost>,
    pub(crate) equivariant_inference: Vec<CaseComparison>,
    pub(crate) scaling: Vec<ThreadScaling>,
}

/// One case, all who took part.
#[derive(Serialize)]
pub(crate) struct CaseComparison {
    model: Candidate,
    shape: Shape,
    /// See [`work`]; of a training step only.
    #[serde(skip_serializing_if = "Option::is_none")]
    multiply_adds: Option<u64>,
    /// Ours, of the machine's peak with all threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_peak: Option<f64>,
    #[serde(flatten)]
    outcome: Outcome,
}

impl CaseComparison {
    pub(crate) fn training(
        model: Candidate,
        shape: Shape,
        outcome: Outcome,
        machine: &Machine,
    ) -> CaseComparison {
        let ours = &outcome.workers[0];
        let multiply_adds = work::of_training_step(&ours.request);
        let gflops = 2.0 * multiply_adds as f64 / (ours.median_ms * 1e6);
        let share_of_peak = Some(gflops / machine.peak.all_threads_gflops);
        CaseComparison { model, shape, multiply_adds: Some(multiply_adds), share_of_peak, outcome }
    }

    pub(crate) fn inference(model: Candidate, shape: Shape, outcome: Outcome) -> CaseComparison {
        let shape = Shape { batch: 1, ..shape };
        CaseComparison { model, shape, multiply_adds: None, share_of_peak: None, outcome }
    }

    fn ours(&self) -> &WorkerResults {
        &self.outcome.workers[0]
    }

    /// The fastest of those whose name begins so.
    fn fastest(&self, name: &str) -> Option<&WorkerResults> {
        let all = self.outcome.workers.iter().filter(|w| w.name.starts_with(name));
        all.min_by(|a, b| a.median_ms.total_cmp(&b.median_ms))
    }

    /// How many times longer another takes than ours.
    fn ratio(&self, other: Option<&WorkerResults>) -> String {
        cell(other, |other| format!("{:.2}x", other.median_ms / self.ours().median_ms))
    }

    fn names(&self) -> Vec<String> {
        vec![self.model.to_string(), self.shape.to_string()]
    }
}

/// A training step of the plain network against one of the network that sees each trial from both sides.
#[derive(Serialize)]
pub(crate) struct EquivarianceCost {
    model: Candidate,
    shape: Shape,
    ratio: f64,
    #[serde(flatten)]
    outcome: Outcome,
}

impl EquivarianceCost {
    pub(crate) fn new(model: Candidate, shape: Shape, outcome: Outcome) -> EquivarianceCost {
        let ratio = outcome.workers[1].median_ms / outcome.workers[0].median_ms;
        EquivarianceCost { model, shape, ratio, outcome }
    }
}

/// One replica on one thread against two on two.
#[derive(Serialize)]
pub(crate) struct ThreadScaling {
    model: Candidate,
    shape: Shape,
    trials_per_second: Vec<f64>,
    ratio: f64,
    #[serde(flatten)]
    outcome: Outcome,
}

impl ThreadScaling {
    pub(crate) fn new(model: Candidate, shape: Shape, outcome: Outcome) -> ThreadScaling {
        let trials_per_second: Vec<f64> = outcome.workers.iter().map(WorkerResults::throughput).collect();
        let ratio = trials_per_second[1] / trials_per_second[0];
        ThreadScaling { model, shape, trials_per_second, ratio, outcome }
    }
}

fn cell(measured: Option<&WorkerResults>, text: impl Fn(&WorkerResults) -> String) -> String {
    measured.map_or_else(|| "-".into(), text)
}

/// What others took of the machine.
fn others(outcome: &Outcome) -> String {
    outcome.others.map_or("-".into(), |share| format!("{:.0}%", 100.0 * share))
}

/// Median and interquartile range.
fn time(measured: &WorkerResults) -> String {
    let [low, high] = measured.quartiles_ms;
    let digits = if measured.median_ms < 10.0 { 3 } else { 1 };
    format!("{:.digits$} [{low:.digits$}-{high:.digits$}]", measured.median_ms)
}

fn beside_onnxruntime(cases: &[CaseComparison]) -> Table {
    let mut table = Table::new(2, &["model", "shape", "ours", "onnxruntime", "onnxruntime/ours", "others"]);
    for case in cases {
        let onnx = case.fastest("onnx");
        let mut row = case.names();
        row.extend([time(case.ours()), cell(onnx, time), case.ratio(onnx), others(&case.outcome)]);
        table.row(row);
    }
    table
}

fn memory(measured: &WorkerResults) -> [String; 2] {
    let m = measured.memory;
    [m.peak_rss_mib, m.peak_rss_mib - m.after_import_rss_mib].map(|mib| format!("{mib:.0}"))
}

impl Report {
    pub(crate) fn new(machine: Machine, rounds: usize, steps: usize) -> Report {
        Report {
            machine,
            rounds,
            steps,
            training: vec![],
            inference: vec![],
            equivariance: vec![],
            equivariant_inference: vec![],
            scaling: vec![],
        }
    }

    pub(crate) fn about(&self) -> String {
        let Machine { cpu, instructions, threads, peak, versions } = &self.machine;
        let versions: Vec<String> = versions.iter().map(|(name, v)| format!("{name} {v}")).collect();
        format!(
            "{cpu}, {threads} threads, {instructions}; {}\n\
             measured multiply-add peak, f32: {:.1} GFLOP/s on 1 thread, {:.1} on {}\n\
             {} rounds of {} steps each, in turns; times in ms, median [interquartile range]\n\
             others: share of the machine's processor time that other programs took meanwhile\n",
            versions.join(", "),
            peak.one_thread_gflops,
            peak.all_threads_gflops,
            peak.threads,
            self.rounds,
            self.steps,
        )
    }

    /// What to say where other programs spoiled the comparison.
    pub(crate) fn warning(&self) -> Option<String> {
        let compared = self.training.iter().chain(&self.inference).chain(&self.equivariant_inference);
        let compared = compared.map(|case| &case.outcome).chain(self.equivariance.iter().map(|c| &c.outcome));
        let all = compared.chain(self.scaling.iter().map(|case| &case.outcome));
        let most = all.filter_map(|outcome| outcome.others).fold(0.0, f64::max);
        (most > TOLERABLE).then(|| {
            format!(
                "NOT A FAIR COMPARISON: other programs took up to {:.0}% of the processors. Frameworks whose threads \
                 wait for each other at every operation lose most by it; repeat the run on a quiet machine.",
                100.0 * most
            )
        })
    }

    pub(crate) fn training_table(&self) -> String {
        let header = [
            "model",
            "shape",
            "ours",
            "eager",
            "malloc",
            "compile",
            "eager/ours",
            "compile/ours",
            "of peak",
            "others",
        ];
        let mut table = Table::new(2, &header);
        for case in &self.training {
            let (eager, compile) = (case.fastest("eager"), case.fastest("compile"));
            let malloc = cell(eager, |e| e.name.trim_start_matches("eager ").to_string());
            let share = case.share_of_peak.map_or("-".into(), |s| format!("{:.0}%", 100.0 * s));
            let mut row = case.names();
            row.extend([time(case.ours()), cell(eager, time), malloc, cell(compile, time)]);
            row.extend([case.ratio(eager), case.ratio(compile), share, others(&case.outcome)]);
            table.row(row);
        }
        format!(
            "TRAINING STEP, all losses, {} threads on each side\n{table}\
             eager: the faster of two settings of glibc's allocator, which is named; both are in the JSON.\n\
             of peak: multiply-adds of the plain network, forward and both gradients, against the peak of all threads. \
             Winograd and composed weights need fewer, so the share can be above what the instructions do.\n",
            self.machine.threads
        )
    }

    pub(crate) fn memory_table(&self) -> String {
        let header = [
            "model",
            "shape",
            "ours",
            "own",
            "planned",
            "eager",
            "own",
            "compile",
            "own",
            "eager/ours",
            "compile/ours",
        ];
        let mut table = Table::new(2, &header);
        for case in &self.training {
            let mut row = case.names();
            row.extend(memory(case.ours()));
            row.push(case.ours().ready.program_mib.map_or("-".into(), |mib| format!("{mib:.0}")));
            let peers = [case.fastest("eager"), case.fastest("compile")];
            for peer in peers {
                row.extend(peer.map_or_else(|| ["-".into(), "-".into()], memory));
            }
            let peak = |m: &WorkerResults| m.memory.peak_rss_mib;
            row.extend(peers.map(|p| cell(p, |p| format!("{:.1}x", peak(p) / peak(case.ours())))));
            table.row(row);
        }
        format!(
            "MEMORY of training, MiB: peak resident size; own: without what was there before any work (our program, \
             their libraries); planned: our arrays as compiled\n{table}"
        )
    }

    pub(crate) fn inference_table(&self) -> String {
        format!("INFERENCE of single trials, 1 thread\n{}", beside_onnxruntime(&self.inference))
    }

    pub(crate) fn equivariant_inference_table(&self) -> String {
        let table = beside_onnxruntime(&self.equivariant_inference);
        format!("INFERENCE of single trials by equivariant networks, which see both sides, 1 thread\n{table}")
    }

    pub(crate) fn equivariance_table(&self) -> String {
        let mut table = Table::new(2, &["model", "shape", "plain", "equivariant", "ratio", "others"]);
        for case in &self.equivariance {
            let mut row = vec![case.model.to_string(), case.shape.to_string()];
            row.extend(case.outcome.workers.iter().map(time));
            row.extend([format!("{:.2}x", case.ratio), others(&case.outcome)]);
            table.row(row);
        }
        format!("EQUIVARIANCE, a training step of ours, {} threads\n{table}", self.machine.threads)
    }

    pub(crate) fn scaling_table(&self) -> String {
        if self.machine.threads < 2 {
            return "SCALING over replicas: not measured, it needs 2 threads\n".into();
        }
        if self.scaling.is_empty() {
            return "SCALING over replicas: not measured, it is for ptsm-last and eegnet\n".into();
        }
        let header = ["model", "shape", "1 replica, 1 thread", "2 replicas, 2 threads", "ratio", "others"];
        let mut table = Table::new(2, &header);
        for case in &self.scaling {
            let mut row = vec![case.model.to_string(), case.shape.to_string()];
            row.extend(case.trials_per_second.iter().map(|t| format!("{t:.0}")));
            row.extend([format!("{:.2}x", case.ratio), others(&case.outcome)]);
            table.row(row);
        }
        format!("SCALING over replicas, trials per second of training\n{table}")
    }
}

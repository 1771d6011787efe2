//! A line of `gpu.jsonl`: what our worker and `lab/python/gpu_peers.py` write and the report reads.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use ptsm_decode::{deepconvnet::DeepConvNet, eegnet::EegNet, ptsm::PoolPlacement, ptsm::Ptsm};
use serde::{Deserialize, Serialize};

use crate::protocol::Model;

/// Networks that both sides train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Network {
    /// PTSM that pools after each layer of its encoder.
    PtsmEach,
    /// PTSM that pools after the last one: the default of `ptsm`.
    PtsmLast,
    /// EEGNet-8,2.
    Eegnet,
    /// DeepConvNet, all four blocks.
    #[value(name = "deepconvnet")]
    Deepconvnet,
}

impl Network {
    /// Its configuration.
    pub(crate) fn model(self) -> Model {
        match self {
            Network::PtsmEach => Model::Ptsm(Box::new(Ptsm { pool: PoolPlacement::Each, ..Ptsm::default() })),
            Network::PtsmLast => Model::Ptsm(Box::new(Ptsm { pool: PoolPlacement::Last, ..Ptsm::default() })),
            Network::Eegnet => Model::EegNet(EegNet::default()),
            Network::Deepconvnet => Model::DeepConvNet(DeepConvNet::default()),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Network::PtsmEach => "ptsm-each",
            Network::PtsmLast => "ptsm-last",
            Network::Eegnet => "eegnet",
            Network::Deepconvnet => "deepconvnet",
        })
    }
}

/// Channels and samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trial {
    pub(crate) channels: usize,
    pub(crate) time: usize,
}

impl FromStr for Trial {
    type Err = String;

    fn from_str(text: &str) -> Result<Trial, String> {
        let sizes = text.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>();
        match sizes.as_deref() {
            Ok(&[channels, time]) if channels * time > 0 => Ok(Trial { channels, time }),
            _ => Err("a trial is channels x samples, for example 64x400".into()),
        }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}", self.channels, self.time))
    }
}

/// Who trains, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Trainer {
    /// This workspace.
    Ours,
    /// PyTorch.
    Eager,
    /// PyTorch, the step captured as a CUDA graph.
    Graph,
    /// `torch.compile`.
    Compile,
    /// The same, captured.
    CompileGraph,
}

impl fmt::Display for Trainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Trainer::Ours => "ours",
            Trainer::Eager => "PyTorch eager",
            Trainer::Graph => "PyTorch, captured graph",
            Trainer::Compile => "torch.compile",
            Trainer::CompileGraph => "torch.compile, captured graph",
        })
    }
}

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) network: Network,
    #[serde(flatten)]
    pub(crate) trial: Trial,
    pub(crate) batch: usize,
    /// Networks that train at once.
    pub(crate) replicas: usize,
}

/// Its measured steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Case {
    #[serde(rename = "who")]
    pub(crate) trainer: Trainer,
    #[serde(flatten)]
    pub(crate) work: Work,
    /// Milliseconds per step: the median of rounds of steps, and their quartiles.
    pub(crate) ms: f64,
    pub(crate) quartiles_ms: [f64; 2],
    /// Steps that were timed.
    pub(crate) steps: usize,
    /// Of one network.
    pub(crate) parameters: usize,
    /// Memory of the GPU without the data set.
    pub(crate) mib: f64,
    /// Seconds until the first step was made. Ours: with all kernels compiled before.
    pub(crate) ready_s: f64,
    /// Ours: the same with an empty folder of kernels. Only for the first number of replicas, since they share their kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ready_new_s: Option<f64>,
    /// Ours: kernels in a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kernels: Option<usize>,
}

impl Case {
    /// Trials of all networks in a second.
    pub(crate) fn trials_per_s(&self) -> f64 {
        (self.work.batch * self.work.replicas) as f64 / self.ms * 1e3
    }
}

/// A kernel by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// Its operation.
    pub(crate) kind: String,
    pub(crate) us: f64,
    pub(crate) multiply_adds: u64,
    /// At least, see [`ptsm_engine::ProfileEntry`].
    pub(crate) bytes: u64,
}

/// Leave-one-subject-out through the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Loso {
    pub(crate) network: Network,
    #[serde(rename = "people")]
    pub(crate) subject_count: usize,
    /// Of each.
    pub(crate) trials: usize,
    #[serde(flatten)]
    pub(crate) trial: Trial,
    pub(crate) epochs: usize,
    /// From the start of the program to its end, or to where it was stopped.
    pub(crate) seconds: f64,
    /// Subjects who were scored; fewer than all where it was stopped or failed.
    pub(crate) scored: usize,
    /// Their mean accuracy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accuracy: Option<f64>,
    /// Why not all subjects were scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum Line {
    /// Where it was.
    Machine {
        gpu: String,
        cpu: String,
        /// Seconds until the GPU answered: part of every program's start.
        open_s: f64,
    },
    /// Of PyTorch and what it stands on.
    Versions { versions: BTreeMap<String, String> },
    /// What the chip reached in large copies and products.
    Ceilings { copy_gb_per_s: f64, float32_tflops: f64, tf32_tflops: f64, bf16_tflops: f64 },
    /// A case that was measured.
    Case(Case),
    /// One that was not.
    Failed {
        #[serde(rename = "who")]
        trainer: Trainer,
        #[serde(flatten)]
        work: Work,
        reason: String,
    },
    /// Where a step of ours spends its time.
    Profile {
        #[serde(flatten)]
        work: Work,
        kernels: Vec<Kernel>,
    },
    /// A whole benchmark.
    Loso(Loso),
}

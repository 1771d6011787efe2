//! What the driver of a benchmark and its workers say to each other: JSON lines, the same for ours and for
//! `lab/python/bench_worker.py`, where they are described.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use ptsm_decode::{
    Architecture, Network, TrialShape, deepconvnet::DeepConvNet, eegnet::EegNet, ptsm::PoolPlacement,
    ptsm::Ptsm,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Framework {
    /// This workspace.
    #[value(skip)]
    Ptsm,
    /// PyTorch.
    Eager,
    /// PyTorch with `torch.compile`.
    Compile,
    /// onnxruntime; only infers.
    Onnx,
}

/// A network that all frameworks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModelName {
    /// PTSM or one of its forms.
    Ptsm,
    /// EEGNet-8,2.
    Eegnet,
    /// The first three blocks of DeepConvNet.
    Deepconvnet3,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// A training step on a new batch.
    Train,
    /// Logits of one batch.
    Infer,
}

/// What glibc does with memory that PyTorch frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Malloc {
    /// Big blocks go back to the system.
    Default,
    /// Everything is kept, which spares page faults.
    Keep,
}

/// Batch, channels and samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) batch: usize,
    pub(crate) channels: usize,
    pub(crate) time: usize,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let sizes = text.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>();
        match sizes.as_deref() {
            Ok(&[batch, channels, time]) if batch * channels * time > 0 => {
                Ok(Shape { batch, channels, time })
            }
            _ => Err("a shape is batch x channels x samples, for example 64x62x1000".into()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}x{}", self.batch, self.channels, self.time))
    }
}

/// The first line a worker reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) framework: Framework,
    pub(crate) model: ModelName,
    pub(crate) pool: PoolPlacement,
    #[serde(flatten)]
    pub(crate) shape: Shape,
    pub(crate) subjects: usize,
    pub(crate) classes: usize,
    pub(crate) threads: usize,
    pub(crate) mode: Mode,
    /// Networks trained at once; ours alone knows more than 1.
    pub(crate) replicas: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) malloc: Option<Malloc>,
}

/// A network that is benchmarked, by its configuration.
#[derive(Clone, Debug)]
pub(crate) enum Model {
    Ptsm(Box<Ptsm>),
    EegNet(EegNet),
    DeepConvNet(DeepConvNet),
}

impl Model {
    /// The network for a batch size.
    pub(crate) fn build(&self, shape: TrialShape, batch: usize) -> ptsm_decode::Result<Network> {
        match self {
            Model::Ptsm(config) => config.build(shape.batch(batch)),
            Model::EegNet(config) => config.build(shape.batch(batch)),
            Model::DeepConvNet(config) => config.build(shape.batch(batch)),
        }
    }
}

impl Request {
    /// The network's configuration.
    pub(crate) fn model(&self) -> Model {
        match self.model {
            ModelName::Ptsm => Model::Ptsm(Box::new(Ptsm { pool: self.pool, ..Ptsm::default() })),
            ModelName::Eegnet => Model::EegNet(EegNet::default()),
            ModelName::Deepconvnet3 => {
                Model::DeepConvNet(DeepConvNet { maps: vec![25, 50, 100], ..DeepConvNet::default() })
            }
        }
    }

    /// The trials it is built for.
    pub(crate) fn trials(&self) -> TrialShape {
        TrialShape {
            channels: self.shape.channels,
            time: self.shape.time,
            classes: self.classes,
            subjects: self.subjects,
        }
    }
}

/// The first answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerReady {
    pub(crate) ready: bool,
    pub(crate) parameters: usize,
    pub(crate) prepare_seconds: f64,
    /// Ours: memory planned at compile time, for activations, gradients and optimizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) program_mib: Option<f64>,
    /// Theirs: versions, the optimizer chosen, the error against eager.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) details: Value,
}

/// A later line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Question {
    /// Make and time this many steps.
    Steps(usize),
    /// How much memory was used.
    Memory(bool),
    /// End.
    Quit(bool),
}

/// The answer to [`Question::Steps`]: milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) ms: Vec<f64>,
}

/// The answer to [`Question::Memory`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) peak_rss_mib: f64,
    /// Resident before any work: the framework's libraries, or our program.
    pub(crate) after_import_rss_mib: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_what_the_python_side_reads() {
        let request = Request {
            framework: Framework::Ptsm,
            model: ModelName::Ptsm,
            pool: PoolPlacement::Each,
            shape: "64x62x1000".parse().unwrap(),
            subjects: 84,
            classes: 2,
            threads: 2,
            mode: Mode::Train,
            replicas: 1,
            malloc: None,
        };
        assert_eq!(
            serde_json::to_string(&request).unwrap(),
            r#"{"framework":"ptsm","model":"ptsm","pool":"each","batch":64,"channels":62,"time":1000,"subjects":84,"classes":2,"threads":2,"mode":"train","replicas":1}"#
        );
    }

    #[test]
    fn questions_are_one_key_each() {
        let spelled = |q| serde_json::to_string(&q).unwrap();
        assert_eq!(spelled(Question::Steps(3)), r#"{"steps":3}"#);
        assert_eq!(spelled(Question::Memory(true)), r#"{"memory":true}"#);
        assert_eq!(spelled(Question::Quit(true)), r#"{"quit":true}"#);
    }

    #[test]
    fn a_wrong_shape_is_refused_with_an_example() {
        for wrong in ["64x62", "64x62x1000x1", "0x62x1000", "axbxc", ""] {
            assert!(wrong.parse::<Shape>().unwrap_err().contains("64x62x1000"), "{wrong}");
        }
        assert_eq!("1x2x3".parse::<Shape>().unwrap().to_string(), "1x2x3");
    }
}

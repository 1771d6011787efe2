//! What the driver of a benchmark and its workers say to each other: JSON lines, the same for ours and for
//! `lab/python/bench_worker.py`, where they are described.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use ptsm_decode::{
    Architecture, Mirror, Network, TrialBatch, TrialShape, deepconvnet::DeepConvNet, eegnet::EegNet,
    ptsm::PoolPlacement, ptsm::Ptsm,
};
use ptsm_signal::{Channel, Layout};
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

/// Electrodes of the left and of the right in turns.
const PAIRS: [&str; 64] = [
    "C1", "C2", "C3", "C4", "C5", "C6", "T7", "T8", "FC1", "FC2", "FC3", "FC4", "FC5", "FC6", "FT7", "FT8",
    "CP1", "CP2", "CP3", "CP4", "CP5", "CP6", "TP7", "TP8", "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8",
    "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "AF3", "AF4", "AF7", "AF8", "PO3", "PO4", "PO7", "PO8",
    "Fp1", "Fp2", "O1", "O2", "F9", "F10", "FT9", "FT10", "T9", "T10", "TP9", "TP10", "P9", "P10", "PO9",
    "PO10",
];

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
    /// Whether each trial is also seen in the mirror; theirs knows it when inferring only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) equivariant: bool,
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
    /// The network for some trials at a time.
    pub(crate) fn build(&self, trials: TrialBatch<'_>) -> ptsm_decode::Result<Network> {
        match self {
            Model::Ptsm(config) => config.build(trials),
            Model::EegNet(config) => config.build(trials),
            Model::DeepConvNet(config) => config.build(trials),
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

    /// The network for its batch.
    pub(crate) fn network(&self) -> ptsm_decode::Result<Network> {
        let mirror = self.equivariant.then(|| self.mirror()).transpose()?;
        let trials = TrialBatch { mirror: mirror.as_ref(), ..self.trials().batch(self.shape.batch) };
        self.model().build(trials)
    }

    /// Neighbouring channels are each other's mirror images, as in `peers.Equivariant`, and so are the two classes.
    fn mirror(&self) -> ptsm_decode::Result<Mirror> {
        // The last of an odd number is in the middle.
        let channel = |i: usize| match (PAIRS.get(i), i ^ 1 < self.shape.channels) {
            (Some(name), true) => Channel::named(name),
            (_, false) => Channel::named("Cz"),
            (None, true) => Channel::named("beyond the 64 whose names are known"),
        };
        let mut layout = Layout {
            channels: (0..self.shape.channels).map(channel).collect(),
            samples: self.shape.time,
            rate_hz: 160.0,
            start_s: 0.0,
            classes: (0..self.classes).map(|class| format!("class {class}")).collect(),
            task: Default::default(),
        };
        layout.task.symmetry = "class 0=class 1".parse()?;
        Mirror::new(&layout)
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
            equivariant: false,
            malloc: None,
        };
        assert_eq!(
            serde_json::to_string(&request).unwrap(),
            r#"{"framework":"ptsm","model":"ptsm","pool":"each","batch":64,"channels":62,"time":1000,"subjects":84,"classes":2,"threads":2,"mode":"train","replicas":1}"#
        );
    }

    #[test]
    fn equivariant_networks_exchange_neighbouring_channels() {
        for channels in [20, 7] {
            let text = format!(
                r#"{{"framework":"ptsm","model":"eegnet","pool":"last","batch":1,"channels":{channels},"time":200,"subjects":2,"classes":2,"threads":1,"mode":"infer","replicas":1,"equivariant":true}}"#
            );
            let request: Request = serde_json::from_str(&text).unwrap();
            let trial: Vec<f32> = (0..channels).map(|i| i as f32).collect();
            let mut image = vec![0.0; channels];
            request.mirror().unwrap().signal(&trial, &mut image);
            let partner = |i: usize| if (i ^ 1) < channels { i ^ 1 } else { i };
            assert_eq!(image, (0..channels).map(|i| partner(i) as f32).collect::<Vec<_>>());
            assert!(request.network().is_ok());
        }
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

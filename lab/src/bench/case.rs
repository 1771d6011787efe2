//! What is compared, and who takes part.

use std::fmt;

use clap::ValueEnum;
use ptsm_decode::ptsm::PoolPlacement;
use serde::Serialize;

use crate::protocol::{Framework, Malloc, Mode, ModelName, Request, Shape};

/// Subjects of the training set: those of the largest data set this is meant for.
const SUBJECTS: usize = 84;

/// A network by the name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Candidate {
    /// PTSM, pooled after its last encoder layer.
    PtsmLast,
    /// PTSM, pooled after each encoder layer.
    PtsmEach,
    /// EEGNet-8,2.
    Eegnet,
    /// The first three blocks of DeepConvNet.
    Deepconvnet3,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.to_possible_value();
        f.pad(name.as_ref().map_or("", |v| v.get_name()))
    }
}

impl Candidate {
    fn request(self, framework: Framework, mode: Mode, shape: Shape, threads: usize) -> Request {
        let (model, pool) = match self {
            Candidate::PtsmLast => (ModelName::Ptsm, PoolPlacement::Last),
            Candidate::PtsmEach => (ModelName::Ptsm, PoolPlacement::Each),
            Candidate::Eegnet => (ModelName::Eegnet, PoolPlacement::Last),
            Candidate::Deepconvnet3 => (ModelName::Deepconvnet3, PoolPlacement::Last),
        };
        Request {
            framework,
            model,
            pool,
            shape,
            subjects: SUBJECTS,
            classes: 2,
            threads,
            mode,
            replicas: 1,
            equivariant: false,
            malloc: None,
        }
    }
}

/// One process of a case.
#[derive(Clone, Debug)]
pub(crate) struct Entrant {
    pub(crate) name: String,
    pub(crate) request: Request,
}

/// Training: ours, PyTorch with both settings of the allocator (which is faster depends on the case), compiled PyTorch.
pub(crate) fn training(model: Candidate, shape: Shape, threads: usize, peers: &[Framework]) -> Vec<Entrant> {
    let request = |framework| model.request(framework, Mode::Train, shape, threads);
    let mut all = vec![Entrant { name: "ours".into(), request: request(Framework::Ptsm) }];
    let mut add = |name: &str, framework, malloc| {
        if peers.contains(&framework) {
            let request = Request { malloc: Some(malloc), ..request(framework) };
            all.push(Entrant { name: name.into(), request });
        }
    };
    add("eager keep", Framework::Eager, Malloc::Keep);
    add("eager default", Framework::Eager, Malloc::Default);
    add("compile", Framework::Compile, Malloc::Keep);
    all
}

/// Training steps of the plain network and of the one that sees each trial from both sides; ours alone.
pub(crate) fn equivariance(model: Candidate, shape: Shape, threads: usize) -> Vec<Entrant> {
    let plain = model.request(Framework::Ptsm, Mode::Train, shape, threads);
    let equivariant = Request { equivariant: true, ..plain.clone() };
    vec![
        Entrant { name: "plain".into(), request: plain },
        Entrant { name: "equivariant".into(), request: equivariant },
    ]
}

/// Inference of single trials on one thread, perhaps from both sides: ours and onnxruntime.
pub(crate) fn inference(
    model: Candidate,
    shape: Shape,
    equivariant: bool,
    peers: &[Framework],
) -> Vec<Entrant> {
    let request = |framework| Request {
        equivariant,
        ..model.request(framework, Mode::Infer, Shape { batch: 1, ..shape }, 1)
    };
    let mut all = vec![Entrant { name: "ours".into(), request: request(Framework::Ptsm) }];
    if peers.contains(&Framework::Onnx) {
        all.push(Entrant { name: "onnx".into(), request: request(Framework::Onnx) });
    }
    all
}

/// Scaling over replicas: one on one thread, two on two.
pub(crate) fn scaling(model: Candidate, shape: Shape) -> Vec<Entrant> {
    let entrant = |n| Entrant {
        name: format!("{n} on {n}"),
        request: Request { replicas: n, ..model.request(Framework::Ptsm, Mode::Train, shape, n) },
    };
    vec![entrant(1), entrant(2)]
}

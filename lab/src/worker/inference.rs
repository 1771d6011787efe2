//! Inference: one resident batch to its task logits.

use std::time::Instant;

use anyhow::{Result, ensure};
use ptsm_engine::{Cpu, Feed, Isa, Mode, Parameters, Program, Tensor};

use super::Work;
use super::data::{Data, Random};
use crate::protocol::Request;

pub(super) struct Inference {
    program: Program<f32>,
    parameters: Parameters<f32>,
    data: Data,
    count: usize,
}

impl Inference {
    pub(super) fn new(request: &Request) -> Result<Inference> {
        ensure!(request.replicas == 1, "inference is measured with 1 replica, got {}", request.replicas);
        let cpu = Cpu::with(request.threads, Isa::best())?;
        let network = request.network()?;
        // The subject branch does not run; the peers leave it out of the count too.
        let runs = |t: &&Tensor| t.trainable && !t.name.starts_with("subject");
        Ok(Inference {
            program: Program::new(&network.graph, Mode::Infer, &[network.logits], 1, &cpu)?,
            parameters: Parameters::new(&network.graph, &[1])?,
            data: Data::new(request, request.shape.batch, &mut Random(7)),
            count: network.graph.tensors().iter().filter(runs).map(Tensor::len).sum(),
        })
    }
}

impl Work for Inference {
    fn step(&mut self) -> Result<f64> {
        let start = Instant::now();
        self.program.run(&self.parameters, &[("x", Feed::Shared(&self.data.x))])?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn parameters(&self) -> usize {
        self.count
    }

    fn bytes(&self) -> usize {
        self.program.bytes()
    }
}

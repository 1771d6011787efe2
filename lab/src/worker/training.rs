//! Training steps: gather a batch, all losses, gradients, clipping, Adam.

use std::time::Instant;

use anyhow::{Result, bail};
use ptsm_engine::{Adam, Cpu, Decay, Feed, Isa, Parameters, Step};

use super::Work;
use super::data::{Batches, Data, Random, TRIALS};
use crate::protocol::Request;

const RATE: f64 = 1e-3;

pub(super) struct Training {
    step: Step<f32>,
    parameters: Parameters<f32>,
    data: Data,
    batches: Batches,
    rows: Vec<u32>,
    rates: Vec<f64>,
    active: Vec<bool>,
    count: usize,
    /// Networks without a subject branch take no subjects.
    subjects: bool,
}

impl Training {
    pub(super) fn new(request: &Request) -> Result<Training> {
        let (batch, replicas) = (request.shape.batch, request.replicas);
        if batch > TRIALS {
            bail!("a batch is drawn from {TRIALS} trials, got a batch of {batch}");
        }
        let cpu = Cpu::with(request.threads, Isa::best())?;
        let network = request.network()?;
        let adam = Adam { decay: Decay::Gradient(1e-4), clip: Some(5.0), ..Adam::default() };
        let seeds: Vec<u64> = (1..=replicas as u64).collect();
        Ok(Training {
            step: Step::new(&network.graph, &network.step(adam), replicas, &cpu)?,
            parameters: Parameters::new(&network.graph, &seeds)?,
            data: Data::new(request, TRIALS, &mut Random(7)),
            batches: Batches::new(Random(8), batch),
            rows: vec![0; replicas * batch],
            rates: vec![RATE; replicas],
            active: vec![true; replicas],
            count: network.graph.parameter_count(),
            subjects: network.graph.inputs().iter().any(|i| i.name == "subject"),
        })
    }
}

impl Work for Training {
    fn step(&mut self) -> Result<f64> {
        // The peers' batches are drawn beforehand too; gathering them is part of the step on both sides.
        self.batches.draw(&mut self.rows);
        let Training { step, parameters, data, rows, rates, active, .. } = self;
        let start = Instant::now();
        let feeds = [
            ("x", Feed::Rows { data: &data.x, rows }),
            ("task", Feed::LabelRows { data: &data.task, rows }),
            ("subject", Feed::LabelRows { data: &data.subject, rows }),
        ];
        let feeds = if self.subjects { &feeds[..] } else { &feeds[..2] };
        step.run(parameters, feeds, rates, active)?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    fn parameters(&self) -> usize {
        self.count
    }

    fn bytes(&self) -> usize {
        self.step.bytes()
    }
}

//! A training step: a program with gradients, and an optimizer that applies them.

use std::collections::VecDeque;

use crate::compile::{CompileRequest, Objective};
use crate::cost::ProfileEntry;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::feed::Feed;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::lower::Mode;
use crate::optimizer::{Optimizer, STATES, Update};
use crate::parameters::Parameters;
use crate::program::Program;

/// What a training step computes and moves.
#[derive(Clone, Debug)]
pub struct StepSpec {
    /// Batch statistics and dropout, or frozen ones as few-shot tuning needs.
    pub mode: Mode,
    /// Losses with the tensors each one moves. A tensor moved by several gets the sum of their gradients.
    pub objectives: Vec<Objective>,
    /// Values to be read after the step.
    pub outputs: Vec<Id>,
    /// The optimizer, such as [`Adam`](crate::Adam).
    pub optimizer: Optimizer,
}

/// A compiled training step over R replicas.
pub struct Step<T> {
    program: Program<T>,
    /// Each replica's optimizer, and its next update.
    updates: Vec<Update>,
    /// Updates that each replica has made.
    steps: Vec<u64>,
    /// Who takes part in the steps that were started and not finished, oldest first.
    under_way: VecDeque<Vec<bool>>,
}

impl<T: Real> Step<T> {
    /// Compiles a step for R replicas.
    pub fn new(
        graph: &Graph,
        spec: &StepSpec,
        replicas: usize,
        device: impl Into<Device>,
    ) -> Result<Step<T>> {
        if spec.objectives.is_empty() {
            return Err(Error::Program("a training step needs at least 1 objective".into()));
        }
        let optimizer = spec.optimizer;
        optimizer.check()?;
        let request = CompileRequest { outputs: &spec.outputs, objectives: &spec.objectives, traced: None };
        let program = Program::compile(graph, spec.mode, request, Some(optimizer), replicas, &device.into())?;
        let updates = vec![Update { optimizer, rate: 0.0, before: 0 }; replicas];
        Ok(Step { program, updates, steps: vec![0; replicas], under_way: VecDeque::new() })
    }

    /// Decay of the first moment (Adam's first beta, the momentum of SGD) from the next step of a replica on, for schedules that move it
    /// as they move the rate.
    pub fn set_first_beta(&mut self, replica: usize, beta: f64) -> Result<()> {
        self.check_replica(replica)?;
        let optimizer = self.updates[replica].optimizer.with_momentum(beta);
        optimizer.check()?;
        self.updates[replica].optimizer = optimizer;
        Ok(())
    }

    /// One step of every active replica, each at its own learning rate. A replica whose gradient is not finite keeps
    /// its parameters, and the step ends with an error that names it.
    pub fn run(
        &mut self,
        parameters: &mut Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        rates: &[f64],
        active: &[bool],
    ) -> Result<()> {
        self.rested()?;
        self.begin(parameters, feeds, rates, active)?;
        self.program.executable_mut().synchronize()?;
        self.count_updates(active)
    }

    /// Steps that may be under way at once: a GPU works at one while the next one is prepared.
    pub fn max_in_flight(&self) -> usize {
        self.program.executable().most_in_flight()
    }

    /// Steps that were started and not finished.
    pub fn in_flight(&self) -> usize {
        self.under_way.len()
    }

    fn rested(&self) -> Result<()> {
        if self.under_way.is_empty() {
            return Ok(());
        }
        Err(Error::Program("a step is under way; finish it first".into()))
    }

    /// Begins a step, which [`finish`](Self::finish) ends; on the processor it is done at once.
    pub fn start(
        &mut self,
        parameters: &mut Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        rates: &[f64],
        active: &[bool],
    ) -> Result<()> {
        if self.under_way.len() >= self.max_in_flight() {
            return Err(Error::Program(format!(
                "{} runs are under way; finish one first",
                self.under_way.len()
            )));
        }
        self.begin(parameters, feeds, rates, active)?;
        // What is done already tells how it went.
        if self.program.executable().in_flight() == 0 {
            self.count_updates(active)?;
        }
        self.under_way.push_back(active.to_vec());
        Ok(())
    }

    fn begin(
        &mut self,
        parameters: &mut Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        rates: &[f64],
        active: &[bool],
    ) -> Result<()> {
        self.prepare(parameters, rates, active)?;
        self.program.step(parameters, feeds, &self.updates, active)
    }

    /// Waits for the oldest step that was started: its outputs can be read then.
    pub fn finish(&mut self) -> Result<()> {
        let Some(active) = self.under_way.pop_front() else {
            return Err(Error::Program("no step is under way".into()));
        };
        if self.program.executable().in_flight() == 0 {
            return Ok(());
        }
        self.program.executable_mut().synchronize()?;
        self.count_updates(&active)
    }

    /// Losses, outputs and gradients, without moving anything.
    pub fn backward(
        &mut self,
        parameters: &Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        active: &[bool],
    ) -> Result<()> {
        self.rested()?;
        self.expect("active flags", active.len())?;
        self.program.forward(parameters, feeds, Some(active))
    }

    fn check_replica(&self, replica: usize) -> Result<()> {
        let n = self.steps.len();
        if replica < n {
            Ok(())
        } else {
            Err(Error::Program(format!("there is no replica {replica} of {n}")))
        }
    }

    fn expect(&self, what: &str, n: usize) -> Result<()> {
        let r = self.program.replicas();
        if n == r { Ok(()) } else { Err(Error::Program(format!("{r} replicas need {r} {what}, got {n}"))) }
    }

    /// Makes the next update of each replica.
    fn prepare(&mut self, parameters: &Parameters<T>, rates: &[f64], active: &[bool]) -> Result<()> {
        self.expect("learning rates", rates.len())?;
        self.expect("active flags", active.len())?;
        if let Some(rate) = rates.iter().find(|r| !r.is_finite() || **r < 0.0) {
            return Err(Error::Program(format!("a learning rate must be a number not below 0, got {rate}")));
        }
        self.program.fits(parameters)?;
        // Steps in flight are counted as made: where one is not, finishing it ends in an error.
        let in_flight = self.program.executable().in_flight() > 0;
        for (r, update) in self.updates.iter_mut().enumerate() {
            let ahead = self.under_way.iter().filter(|active| in_flight && active[r]).count();
            (update.rate, update.before) = (rates[r], self.steps[r] + ahead as u64);
        }
        Ok(())
    }

    /// Applies the gradients of the last [`backward`](Self::backward).
    pub fn update(&mut self, parameters: &mut Parameters<T>, rates: &[f64], active: &[bool]) -> Result<()> {
        self.rested()?;
        self.prepare(parameters, rates, active)?;
        self.program.executable_mut().update(parameters, &self.updates, active)?;
        self.count_updates(active)
    }

    /// Counts the updates of a step that has ended; those that were not made are an error.
    fn count_updates(&mut self, active: &[bool]) -> Result<()> {
        let executable = self.program.executable();
        let made = |r: usize| executable.gradient_norm(r).is_finite();
        for (r, steps) in self.steps.iter_mut().enumerate() {
            *steps += u64::from(active[r] && made(r));
        }
        match (0..active.len()).find(|&r| active[r] && !made(r)) {
            None => Ok(()),
            Some(replica) => Err(Error::Gradient { replica, step: self.steps[replica] + 1 }),
        }
    }

    /// An output's values in one replica, by its place in [`StepSpec::outputs`]: as they were before the update, except
    /// for an output that is itself a tensor.
    ///
    /// # Panics
    /// Like a slice, where there is no such replica or output.
    pub fn output<'a>(&'a self, parameters: &'a Parameters<T>, replica: usize, output: usize) -> &'a [T] {
        self.program.output(parameters, replica, output)
    }

    /// The gradient of a tensor after the last backward pass; `None` where the losses do not depend on it.
    pub fn gradient<'a>(
        &'a self,
        parameters: &'a Parameters<T>,
        replica: usize,
        name: &str,
    ) -> Result<Option<&'a [T]>> {
        let executable = self.program.executable();
        let moved = executable.plan().gradients.iter().map(|(tensor, _)| *tensor);
        let mut moved = moved.map(|tensor| &parameters.tensors[tensor].name);
        match moved.position(|moved| moved == name) {
            Some(gradient) => executable.gradient(parameters, replica, gradient),
            None => Ok(None),
        }
    }

    /// Norm of the gradient at the last update of a replica, before clipping.
    pub fn gradient_norm(&self, replica: usize) -> f64 {
        self.program.executable().gradient_norm(replica)
    }

    /// The compiled program, for its size.
    pub fn program(&self) -> &Program<T> {
        &self.program
    }

    /// What each operation takes, longest first; see [`Program::profile`].
    pub fn profile(
        &mut self,
        parameters: &Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
    ) -> Result<Vec<ProfileEntry>> {
        self.program.profile(parameters, feeds)
    }

    /// Bytes of memory the step holds: the program's and the optimizer's.
    pub fn bytes(&self) -> usize {
        self.program.bytes() + self.program.executable().state_bytes()
    }

    /// All that a later continuation needs besides the parameters, for one replica: numbers of steps and runs, moments.
    pub fn checkpoint(&self, replica: usize) -> Result<Checkpoint<T>> {
        self.check_replica(replica)?;
        let moments = self.program.executable().states(replica)?;
        Ok(Checkpoint { steps: self.steps[replica], runs: self.program.runs(replica), moments })
    }

    /// Lengths of the state tensors of each moved tensor.
    fn state_lengths(&self) -> impl Iterator<Item = [usize; STATES]> + '_ {
        let kept = self.updates[0].optimizer.states();
        let lengths = self.program.executable().plan().moved_lengths();
        lengths.map(move |n| std::array::from_fn(|i| if i < kept { n } else { 0 }))
    }

    /// Makes a replica's optimizer what it was at the start, for parameters that are to be moved from there.
    pub fn reset(&mut self, replica: usize) -> Result<()> {
        let moments = self.state_lengths().map(|lengths| lengths.map(|n| vec![T::ZERO; n])).collect();
        self.restore(replica, &Checkpoint { steps: 0, runs: 0, moments })
    }

    /// Continues where a checkpoint was taken.
    pub fn restore(&mut self, replica: usize, from: &Checkpoint<T>) -> Result<()> {
        self.check_replica(replica)?;
        let saved = from.moments.iter().map(|states| states.each_ref().map(Vec::len));
        if !self.state_lengths().eq(saved) {
            return Err(Error::Program("the checkpoint belongs to a step that moves other tensors".into()));
        }
        self.program.executable_mut().set_states(replica, &from.moments)?;
        self.steps[replica] = from.steps;
        self.program.set_runs(replica, from.runs);
        Ok(())
    }
}

/// The state of one replica's optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint<T> {
    /// Updates made.
    pub steps: u64,
    /// Runs made; random numbers depend on it.
    pub runs: u32,
    /// What the optimizer keeps for each moved tensor, in the step's order: of Adam the first and the second moment, of SGD the running sum of
    /// gradients and nothing.
    pub moments: Vec<[Vec<T>; STATES]>,
}

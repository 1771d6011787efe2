//! A training step: a program with gradients, and an optimizer that applies them.

use std::collections::VecDeque;

use rayon::prelude::*;

use crate::cost::Spent;
use crate::cpu::{Buffer, Cpu, buffer};
use crate::cuda::Moved;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::graph::{Graph, Id, Tensor};
use crate::kernels::Isa;
use crate::kernels::Real;
use crate::kernels::rows::Sum;
use crate::kernels::versions::vectorised;
use crate::lower::Mode;
use crate::parameters::{Parameters, Replica, new_stamp};
use crate::program::{Asked, Feed, Objective, Program};

/// How weights are pulled towards zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decay {
    /// Not at all.
    None,
    /// Added to the gradient (classic L2; "Adam").
    Gradient(f64),
    /// Applied to the weights themselves, times the learning rate ("AdamW").
    Decoupled(f64),
}

/// Adam (Kingma and Ba 2015) with either kind of weight decay, after clipping the gradient's norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Decay of the two running moments.
    pub betas: (f64, f64),
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Weight decay.
    pub decay: Decay,
    /// Largest norm of the gradient over all moved tensors together.
    pub clip: Option<f64>,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { betas: (0.9, 0.999), eps: 1e-8, decay: Decay::None, clip: None }
    }
}

impl Adam {
    fn check(&self) -> Result<()> {
        let decay = match self.decay {
            Decay::None => 0.0,
            Decay::Gradient(w) | Decay::Decoupled(w) => w,
        };
        let unit = |b: f64| (0.0..1.0).contains(&b);
        for (name, value, fine) in [
            ("first beta", self.betas.0, unit(self.betas.0)),
            ("second beta", self.betas.1, unit(self.betas.1)),
            ("eps", self.eps, self.eps > 0.0 && self.eps.is_finite()),
            ("weight decay", decay, decay >= 0.0 && decay.is_finite()),
            ("clip", self.clip.unwrap_or(1.0), self.clip.is_none_or(|c| c > 0.0 && c.is_finite())),
        ] {
            if !fine {
                return Err(Error::Program(format!("Adam cannot work with a {name} of {value}")));
            }
        }
        Ok(())
    }
}

/// One replica's next update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    /// The optimizer as it is at this step.
    pub(crate) adam: Adam,
    /// The learning rate.
    pub(crate) rate: f64,
    /// Updates made before.
    pub(crate) before: u64,
}

impl Move {
    /// Rate, factor of the second moment's root and share of the weights that stays.
    pub(crate) fn corrected(&self) -> (f64, f64, f64) {
        let (first, second) = self.adam.betas;
        let steps = i32::try_from(self.before + 1).unwrap_or(i32::MAX);
        let keep = if let Decay::Decoupled(w) = self.adam.decay { 1.0 - self.rate * w } else { 1.0 };
        (self.rate / (1.0 - first.powi(steps)), 1.0 / (1.0 - second.powi(steps)).sqrt(), keep)
    }
}

/// One replica's optimizer.
#[derive(Clone)]
struct State<T> {
    /// First and second moment of each moved tensor.
    moments: Vec<[Buffer<T>; 2]>,
    /// Updates made.
    steps: u64,
    /// Norm of the last gradient, before clipping.
    norm: f64,
    /// Whether it was finite.
    fine: bool,
}

/// What a training step computes and moves.
#[derive(Clone, Debug)]
pub struct StepSpec {
    /// Batch statistics and dropout, or frozen ones as few-shot tuning needs.
    pub mode: Mode,
    /// Losses with the tensors each one moves. A tensor moved by several gets the sum of their gradients.
    pub objectives: Vec<Objective>,
    /// Values to be read after the step.
    pub outputs: Vec<Id>,
    /// The optimizer.
    pub adam: Adam,
}

/// A compiled training step over R replicas.
pub struct Step<T> {
    program: Program<T>,
    /// Of each replica.
    adams: Vec<Adam>,
    states: Vec<State<T>>,
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
        spec.adam.check()?;
        let (outputs, objectives) = (&spec.outputs, &spec.objectives);
        let asked = Asked { outputs, objectives, adam: Some(spec.adam), traced: None };
        let program = Program::compile(graph, spec.mode, &asked, replicas, device.into())?;
        let moments = |t: usize| [0, 1].map(|_| buffer(graph.tensors()[t].len()));
        // A GPU has them.
        let here = program.gradients.iter().filter(|_| program.cpu().is_some());
        let state =
            State { moments: here.map(|(t, _)| moments(*t)).collect(), steps: 0, norm: 0.0, fine: true };
        let adams = vec![spec.adam; replicas];
        Ok(Step { program, adams, states: vec![state; replicas], under_way: VecDeque::new() })
    }

    /// Decay of the first moment from the next step of a replica on, for schedules that move it as they move the rate.
    pub fn set_first_beta(&mut self, replica: usize, beta: f64) -> Result<()> {
        self.known(replica)?;
        let mut adam = self.adams[replica];
        adam.betas.0 = beta;
        adam.check()?;
        self.adams[replica] = adam;
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
        if self.program.cpu().is_some() {
            self.backward(parameters, feeds, active)?;
            return self.update(parameters, rates, active);
        }
        self.rested()?;
        self.start(parameters, feeds, rates, active)?;
        self.finish()
    }

    /// Steps that may be under way at once: a GPU works at one while the next one is prepared.
    pub fn most_under_way(&self) -> usize {
        if self.program.cpu().is_some() { 1 } else { 2 }
    }

    /// Steps that were started and not finished.
    pub fn under_way(&self) -> usize {
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
        self.expect("active flags", active.len())?;
        if self.program.cpu().is_some() {
            self.backward(parameters, feeds, active)?;
            self.update(parameters, rates, active)?;
            self.under_way.push_back(active.to_vec());
            return Ok(());
        }
        self.check_rates(parameters, rates, active)?;
        // Steps under way are counted as made: where one is not, finishing it ends in an error.
        let begun = |r: usize| self.under_way.iter().filter(|active| active[r]).count() as u64;
        let next =
            |r: usize| Move { adam: self.adams[r], rate: rates[r], before: self.states[r].steps + begun(r) };
        let moves: Vec<Move> = (0..active.len()).map(next).collect();
        self.program.forward(parameters, feeds, Some(active), Some(&moves))?;
        (0..active.len()).filter(|r| active[*r]).for_each(|r| parameters.moved(r));
        self.under_way.push_back(active.to_vec());
        Ok(())
    }

    /// Waits for the oldest step that was started: its outputs can be read then.
    pub fn finish(&mut self) -> Result<()> {
        let Some(active) = self.under_way.pop_front() else {
            return Err(Error::Program("no step is under way".into()));
        };
        let Some(engine) = self.program.engine() else { return Ok(()) };
        engine.listen()?;
        self.told(&active)
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
        self.program.forward(parameters, feeds, Some(active), None)
    }

    fn known(&self, replica: usize) -> Result<()> {
        let n = self.states.len();
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

    fn check_rates(&self, parameters: &Parameters<T>, rates: &[f64], active: &[bool]) -> Result<()> {
        self.expect("learning rates", rates.len())?;
        self.expect("active flags", active.len())?;
        self.expect("replicas of parameters", parameters.replicas.len())?;
        if let Some(rate) = rates.iter().find(|r| !r.is_finite() || **r < 0.0) {
            return Err(Error::Program(format!("a learning rate must be a number not below 0, got {rate}")));
        }
        self.program.fits(parameters)
    }

    /// Applies the gradients of the last [`backward`](Self::backward).
    pub fn update(&mut self, parameters: &mut Parameters<T>, rates: &[f64], active: &[bool]) -> Result<()> {
        self.rested()?;
        self.check_rates(parameters, rates, active)?;
        let Step { program, adams, states, .. } = self;
        let next = |r: usize, before: u64| Move { adam: adams[r], rate: rates[r], before };
        if let Some(engine) = program.engine() {
            let moved: Vec<Moved> = (0..states.len())
                .filter(|r| active[*r])
                .map(|r| Moved { replica: r, seed: 0, step: 0, by: Some(next(r, states[r].steps)) })
                .collect();
            let device = engine.device().clone();
            parameters.on(&device, |remote| engine.move_only(&moved, remote))?;
            (0..active.len()).filter(|r| active[*r]).for_each(|r| parameters.moved(r));
            return self.told(active);
        }
        let program = &*program;
        let Some(cpu) = program.cpu() else { return Ok(()) };
        parameters.fetch()?;
        let tensors = &parameters.tensors;
        cpu.enter(|| {
            cpu.each_pair(&mut parameters.replicas, states, |r, own, state| {
                let by = next(r, state.steps);
                state.fine = !active[r] || update((program, cpu), by, tensors, r, own, state);
            });
        });
        self.fine()
    }

    /// What the GPU says it has done to the active replicas.
    fn told(&mut self, active: &[bool]) -> Result<()> {
        for (r, state) in self.states.iter_mut().enumerate() {
            state.fine = true;
            if let (true, Some(engine)) = (active[r], self.program.engine_ref()) {
                state.norm = f64::from(engine.norm(r));
                state.fine = state.norm.is_finite();
                state.steps += u64::from(state.fine);
            }
        }
        self.fine()
    }

    fn fine(&self) -> Result<()> {
        match self.states.iter().position(|s| !s.fine) {
            None => Ok(()),
            Some(r) => Err(Error::Gradient { replica: r, step: self.states[r].steps + 1 }),
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
    ) -> Option<&'a [T]> {
        let tensor = parameters.tensors.iter().position(|t| t.name == name)?;
        let gradient = self.program.gradients.iter().position(|(t, _)| *t == tensor)?;
        self.program.gradient(parameters, replica, gradient)
    }

    /// Norm of the gradient at the last update of a replica, before clipping.
    pub fn gradient_norm(&self, replica: usize) -> f64 {
        self.states[replica].norm
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
    ) -> Result<Vec<Spent>> {
        self.program.profile(parameters, feeds)
    }

    /// Bytes of memory the step holds: the program's and the optimizer's.
    pub fn bytes(&self) -> usize {
        let moments = self.states.iter().flat_map(|s| &s.moments).flatten().map(|m| m.len() * size_of::<T>());
        self.program.bytes() + moments.sum::<usize>()
    }

    /// All that a later continuation needs besides the parameters, for one replica: numbers of steps and runs, moments.
    pub fn checkpoint(&self, replica: usize) -> Result<Checkpoint<T>> {
        self.known(replica)?;
        let state = &self.states[replica];
        let moments = match self.program.engine_ref() {
            None => state.moments.iter().map(|m| m.each_ref().map(|b| b.to_vec())).collect(),
            Some(engine) => {
                let all = engine.moments(replica)?;
                let (mut first, mut second) = all.split_at(all.len() / 2);
                let take = |half: &mut &[f32], n: usize| {
                    let (own, rest) = half.split_at(n);
                    *half = rest;
                    bytemuck::cast_slice(own).to_vec()
                };
                let lengths = self.program.moved_lengths();
                lengths.map(|n| [take(&mut first, n), take(&mut second, n)]).collect()
            }
        };
        Ok(Checkpoint { steps: state.steps, runs: self.program.runs(replica), moments })
    }

    /// Makes a replica's optimizer what it was at the start, for parameters that are to be moved from there.
    pub fn reset(&mut self, replica: usize) -> Result<()> {
        let lengths = self.program.moved_lengths();
        let moments = lengths.map(|n| [vec![T::ZERO; n], vec![T::ZERO; n]]).collect();
        self.restore(replica, &Checkpoint { steps: 0, runs: 0, moments })
    }

    /// Continues where a checkpoint was taken.
    pub fn restore(&mut self, replica: usize, from: &Checkpoint<T>) -> Result<()> {
        self.known(replica)?;
        let lengths: Vec<usize> = self.program.moved_lengths().collect();
        let state = &mut self.states[replica];
        let same = lengths.len() == from.moments.len()
            && lengths.iter().zip(&from.moments).all(|(n, b)| b.iter().all(|b| b.len() == *n));
        if !same {
            return Err(Error::Program("the checkpoint belongs to a step that moves other tensors".into()));
        }
        for (own, saved) in state.moments.iter_mut().zip(&from.moments) {
            for (own, saved) in own.iter_mut().zip(saved) {
                own.copy_from_slice(saved);
            }
        }
        state.steps = from.steps;
        if let Some(engine) = self.program.engine() {
            let half = |i: usize| from.moments.iter().flat_map(move |m| &m[i]);
            let all: Vec<T> = half(0).chain(half(1)).copied().collect();
            engine.set_moments(replica, bytemuck::cast_slice(&all))?;
        }
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
    /// First and second moments of the moved tensors, in the step's order.
    pub moments: Vec<[Vec<T>; 2]>,
}

/// Elements one thread takes at a time.
const PIECE: usize = 1 << 14;

/// False, and nothing done, where the gradient is not finite.
fn update<T: Real>(
    (program, cpu): (&Program<T>, &Cpu),
    by: Move,
    tensors: &[Tensor],
    r: usize,
    own: &mut Replica<T>,
    state: &mut State<T>,
) -> bool {
    let (isa, adam) = (cpu.isa(), by.adam);
    let mut squares = 0.0;
    for (t, at) in &program.gradients {
        if let Some(at) = *at {
            squares += sum_of_squares(isa, &program.read(own, r, at)[..tensors[*t].len()]);
        }
    }
    state.norm = squares.sqrt();
    if !state.norm.is_finite() {
        return false;
    }
    state.steps += 1;
    own.stamp = new_stamp();
    let factor = adam.clip.map_or(1.0, |most| (most / (state.norm + 1e-6)).min(1.0));
    let (first, second) = adam.betas;
    let (rate, root, keep) = by.corrected();
    let rule = Rule {
        factor: T::of(factor),
        l2: T::of(if let Decay::Gradient(w) = adam.decay { w } else { 0.0 }),
        keep: T::of(keep),
        first: T::of(first),
        second: T::of(second),
        one_less_first: T::of(1.0 - first),
        one_less_second: T::of(1.0 - second),
        rate: T::of(rate),
        root: T::of(root),
        eps: T::of(adam.eps),
    };
    for (tensor, at) in &program.updates {
        let mut values = std::mem::replace(&mut own.values_mut()[*tensor], Buffer::new(64));
        let n = values.len();
        values.copy_from_slice(&program.read(own, r, *at)[..n]);
        own.values_mut()[*tensor] = values;
    }
    for ((t, at), moments) in program.gradients.iter().zip(&mut state.moments) {
        let mut values = std::mem::replace(&mut own.values_mut()[*t], Buffer::new(64));
        let gradient = at.map(|at| program.read(own, r, at));
        let [m, v] = moments;
        // A tensor that the losses do not reach stays where it is, as in PyTorch.
        if let Some(g) = gradient {
            if cpu.threads() == 1 {
                rule.apply(isa, &mut values, m, v, g);
            } else {
                let moments = m.par_chunks_mut(PIECE).zip(v.par_chunks_mut(PIECE));
                let pieces = values.par_chunks_mut(PIECE).zip(moments).zip(g.par_chunks(PIECE));
                pieces.for_each(|((p, (m, v)), g)| rule.apply(isa, p, m, v, g));
            }
        }
        if let Some(most) = tensors[*t].max_norm {
            constrain(&mut values, tensors[*t].shape[0], most);
        }
        own.values_mut()[*t] = values;
    }
    true
}

struct Rule<T> {
    factor: T,
    l2: T,
    keep: T,
    first: T,
    second: T,
    one_less_first: T,
    one_less_second: T,
    rate: T,
    root: T,
    eps: T,
}

impl<T: Real> Rule<T> {
    fn apply(&self, isa: Isa, p: &mut [T], m: &mut [T], v: &mut [T], g: &[T]) {
        vectorised(
            isa,
            #[inline(always)]
            || {
                for (((p, m), v), &g) in p.iter_mut().zip(m).zip(v).zip(g) {
                    let g = g * self.factor + self.l2 * *p;
                    *m = *m * self.first + g * self.one_less_first;
                    *v = *v * self.second + g * g * self.one_less_second;
                    *p = *p * self.keep - self.rate * *m / (v.sqrt() * self.root + self.eps);
                }
            },
        );
    }
}

fn sum_of_squares<T: Real>(isa: Isa, x: &[T]) -> f64 {
    // Blocks in the type's own precision, their sums in double.
    x.chunks(1024).map(|x| Sum::Dot(x, x).on(isa).wide()).sum()
}

/// Scales every slice along the first axis that is longer than `most` down to it.
fn constrain<T: Real>(values: &mut [T], slices: usize, most: f64) {
    let n = values.len() / slices;
    for slice in values.chunks_exact_mut(n) {
        let norm = slice.iter().map(|v| v.wide() * v.wide()).sum::<f64>().sqrt();
        if norm > most {
            let factor = T::of(most / norm);
            slice.iter_mut().for_each(|v| *v *= factor);
        }
    }
}

//! The processor as a backend: every replica goes through the list of instructions on its own.

use rayon::prelude::*;

use crate::backend::{Backend, Executable, RunInputs, States};
use crate::cost::ProfileEntry;
use crate::cpu::{Buffer, Cpu, buffer};
use crate::error::Result;
use crate::feed::InputFeed;
use crate::graph::Tensor;
use crate::graph::ops::{Call, count};
use crate::kernels::rows::RowSum;
use crate::kernels::{Isa, Real};
use crate::optimizer::{Optimizer, Piece, STATES, Update};
use crate::parameters::{Parameters, Replica, new_stamp};
use crate::plan::{ExecutionPlan, Instruction, MOST_OPERANDS, MemoryRules, ValueLocation};
use crate::random::Draw;

impl<T: Real> Backend<T> for Cpu {
    fn memory_rules(&self) -> MemoryRules {
        MemoryRules {
            workspace: Box::new(|op, inputs, output| op.workspace(inputs, output)),
            rests: &[],
            most_numbers: usize::MAX,
            keeps_constants: true,
        }
    }

    fn compile(
        &self,
        plan: ExecutionPlan,
        optimizer: Option<Optimizer>,
        replicas: usize,
    ) -> Result<Box<dyn Executable<T>>> {
        let states = optimizer.map_or(0, |optimizer| optimizer.states());
        let state = |n: usize| std::array::from_fn(|i| buffer(if i < states { n } else { 0 }));
        let moved = optimizer.iter().flat_map(|_| plan.moved_lengths());
        let copy = |(place, shape): &(ValueLocation, Vec<usize>)| match place {
            ValueLocation::Tensor(_) => buffer(count(shape)),
            ValueLocation::Slot(_) => Buffer::new(64),
        };
        let one = ReplicaMemory {
            slots: plan.sizes.iter().map(|&n| buffer(n)).collect(),
            tensors: plan.outputs.iter().map(copy).collect(),
            stamp: None,
            states: moved.map(state).collect(),
            norm: 0.0,
        };
        let replicas = (0..replicas).map(|_| (one.clone(), Ok(()))).collect();
        Ok(Box::new(CpuExecutable { cpu: self.clone(), plan, replicas }))
    }
}

/// A plan on the processor.
struct CpuExecutable<T> {
    cpu: Cpu,
    plan: ExecutionPlan,
    /// Each replica's memory, and how its run in progress ended.
    replicas: Vec<(ReplicaMemory<T>, Result<()>)>,
}

/// One replica's memory.
#[derive(Clone)]
struct ReplicaMemory<T> {
    slots: Vec<Buffer<T>>,
    /// By output, copies of those that are themselves tensors.
    tensors: Vec<Buffer<T>>,
    /// The state of the parameters that constant values were made from.
    stamp: Option<u64>,
    /// What the optimizer keeps for each moved tensor.
    states: Vec<[Buffer<T>; STATES]>,
    /// Norm of the last gradient, before clipping.
    norm: f64,
}

/// A value where it is.
fn read<'a, T>(tensors: &'a [Buffer<T>], slots: &'a [Buffer<T>], place: ValueLocation) -> &'a [T] {
    match place {
        ValueLocation::Tensor(t) => &tensors[t],
        ValueLocation::Slot(s) => &slots[s],
    }
}

impl<T: Real> ReplicaMemory<T> {
    /// Puts every input in its place.
    fn fill(
        &mut self,
        cpu: &Cpu,
        plan: &ExecutionPlan,
        inputs: &RunInputs<'_, T>,
        replica: usize,
    ) -> Result<()> {
        plan.inputs.iter().try_for_each(|(input, slot)| {
            InputFeed::find(input, inputs.feeds)?.copy(cpu, replica, &mut self.slots[*slot])
        })
    }

    /// Instructions whose values are not those of the last run.
    fn due<'a>(
        &self,
        plan: &'a ExecutionPlan,
        own: &Replica<T>,
    ) -> impl Iterator<Item = &'a Instruction> + use<'a, T> {
        let known = self.stamp == Some(own.stamp);
        plan.instructions.iter().filter(move |i| !(known && i.constant))
    }

    /// Copies outputs that are tensors.
    fn keep_tensors(&mut self, plan: &ExecutionPlan, own: &Replica<T>) {
        for ((place, _), copy) in plan.outputs.iter().zip(&mut self.tensors) {
            if let ValueLocation::Tensor(t) = place {
                copy.copy_from_slice(&own.values()[*t]);
            }
        }
    }
}

impl<T: Real> Executable<T> for CpuExecutable<T> {
    fn plan(&self) -> &ExecutionPlan {
        &self.plan
    }

    fn operations(&self) -> usize {
        self.plan.instructions.len()
    }

    fn bytes(&self) -> usize {
        let slots = self.replicas.iter().flat_map(|(memory, _)| &memory.slots);
        slots.map(|s| s.len() * size_of::<T>()).sum()
    }

    fn state_bytes(&self) -> usize {
        let states = self.replicas.iter().flat_map(|(memory, _)| &memory.states).flatten();
        states.map(|s| s.len() * size_of::<T>()).sum()
    }

    fn run(&mut self, parameters: &Parameters<T>, inputs: RunInputs<'_, T>) -> Result<()> {
        parameters.fetch()?;
        let CpuExecutable { cpu, plan, replicas } = self;
        let (cpu, plan) = (&*cpu, &*plan);
        let inner = &cpu.inside((0..replicas.len()).filter(|r| inputs.is_active(*r)).count());
        // All inputs of all replicas are checked before any replica runs, so that a refused run leaves no trace.
        cpu.enter(|| {
            cpu.each(replicas, |r, (memory, outcome)| {
                if inputs.is_active(r) {
                    *outcome = memory.fill(inner, plan, &inputs, r);
                }
            });
        });
        // The first in order, not in time, so that errors too are repeatable.
        replicas.iter_mut().try_for_each(|(_, outcome)| std::mem::replace(outcome, Ok(())))?;
        cpu.enter(|| {
            cpu.each(replicas, |r, (memory, _)| {
                if inputs.is_active(r) {
                    let own = &parameters.replicas[r];
                    let draw = Draw { seed: own.seed, step: inputs.runs[r] };
                    for instruction in memory.due(plan, own) {
                        instruction.run(inner, &mut memory.slots, own.values(), draw);
                    }
                    memory.stamp = Some(own.stamp);
                    memory.keep_tensors(plan, own);
                }
            });
        });
        Ok(())
    }

    fn update(&mut self, parameters: &mut Parameters<T>, updates: &[Update], active: &[bool]) -> Result<()> {
        parameters.fetch()?;
        let CpuExecutable { cpu, plan, replicas } = self;
        let (cpu, plan) = (&*cpu, &*plan);
        cpu.enter(|| {
            cpu.each_pair(&mut parameters.replicas, replicas, |r, own, (memory, _)| {
                if active[r] {
                    memory.update(cpu, plan, &updates[r], own);
                    memory.keep_tensors(plan, own);
                }
            });
        });
        Ok(())
    }

    fn step(
        &mut self,
        parameters: &mut Parameters<T>,
        inputs: RunInputs<'_, T>,
        updates: &[Update],
        active: &[bool],
    ) -> Result<()> {
        self.run(parameters, inputs)?;
        self.update(parameters, updates, active)
    }

    fn most_in_flight(&self) -> usize {
        1
    }

    fn in_flight(&self) -> usize {
        0
    }

    fn synchronize(&mut self) -> Result<()> {
        Ok(())
    }

    fn output(&self, replica: usize, output: usize) -> &[T] {
        let ((memory, _), (place, shape)) = (&self.replicas[replica], &self.plan.outputs[output]);
        match place {
            ValueLocation::Tensor(_) => &memory.tensors[output],
            ValueLocation::Slot(slot) => &memory.slots[*slot][..count(shape)],
        }
    }

    fn gradient<'a>(
        &'a self,
        parameters: &'a Parameters<T>,
        replica: usize,
        gradient: usize,
    ) -> Result<Option<&'a [T]>> {
        let (tensor, place) = self.plan.gradients[gradient];
        let Some(place) = place else { return Ok(None) };
        let slots = &self.replicas[replica].0.slots;
        Ok(Some(&read(parameters.values(replica)?, slots, place)[..self.plan.tensors[tensor].len()]))
    }

    fn gradient_norm(&self, replica: usize) -> f64 {
        self.replicas[replica].0.norm
    }

    fn states(&self, replica: usize) -> Result<States<T>> {
        let states = &self.replicas[replica].0.states;
        Ok(states.iter().map(|s| s.each_ref().map(|b| b.to_vec())).collect())
    }

    fn set_states(&mut self, replica: usize, states: &[[Vec<T>; STATES]]) -> Result<()> {
        let own = self.replicas[replica].0.states.iter_mut().flatten();
        own.zip(states.iter().flatten()).for_each(|(own, saved)| own.copy_from_slice(saved));
        Ok(())
    }

    /// Of the first replica, by operation and shape.
    fn profile(&mut self, parameters: &Parameters<T>, inputs: RunInputs<'_, T>) -> Result<Vec<ProfileEntry>> {
        parameters.fetch()?;
        let CpuExecutable { cpu, plan, replicas } = self;
        let (own, (memory, _)) = (&parameters.replicas[0], &mut replicas[0]);
        let draw = Draw { seed: own.seed, step: inputs.runs[0] };
        let mut entries: Vec<ProfileEntry> = vec![];
        cpu.enter(|| -> Result<()> {
            memory.fill(cpu, plan, &inputs, 0)?;
            for instruction in memory.due(plan, own) {
                let start = std::time::Instant::now();
                instruction.run(cpu, &mut memory.slots, own.values(), draw);
                let seconds = start.elapsed().as_secs_f64();
                let kind = instruction.op.name();
                let name = format!("{kind} {:?}", instruction.shape);
                let one = ProfileEntry::new(name, kind, seconds, instruction.cost::<T>());
                match entries.iter_mut().find(|s| s.name == one.name) {
                    Some(all) => all.add(&one),
                    None => entries.push(one),
                }
            }
            memory.stamp = Some(own.stamp);
            Ok(())
        })?;
        Ok(entries)
    }
}

impl Instruction {
    fn run<T: Real>(&self, cpu: &Cpu, slots: &mut [Buffer<T>], tensors: &[Buffer<T>], draw: Draw) {
        let take = |slots: &mut [Buffer<T>], i: usize| std::mem::replace(&mut slots[i], Buffer::new(64));
        let mut out = take(slots, self.slot);
        let mut work = self.work.map(|(slot, _)| take(slots, slot));
        let mut inputs: [&[T]; MOST_OPERANDS] = [&[]; MOST_OPERANDS];
        let mut shapes: [&[usize]; MOST_OPERANDS] = [&[]; MOST_OPERANDS];
        for (i, (place, shape)) in self.inputs.iter().enumerate() {
            let whole: &[T] = match *place {
                ValueLocation::Tensor(t) => &tensors[t],
                ValueLocation::Slot(s) => &slots[s],
            };
            inputs[i] = &whole[..count(shape)];
            shapes[i] = shape;
        }
        self.op.run(Call {
            cpu,
            inputs: &inputs[..self.inputs.len()],
            shapes: &shapes[..self.inputs.len()],
            out: &mut out[..count(&self.shape)],
            shape: &self.shape,
            work: match (&mut work, self.work) {
                (Some(work), Some((_, n))) => &mut work[..n],
                _ => &mut [],
            },
            draw,
        });
        slots[self.slot] = out;
        if let (Some(work), Some((slot, _))) = (work, self.work) {
            slots[slot] = work;
        }
    }
}
/// Elements one thread takes at a time.
const PIECE: usize = 1 << 14;

impl<T: Real> ReplicaMemory<T> {
    /// Moves a replica's parameters and statistics. Nothing is done where the gradient is not finite, as its norm tells.
    fn update(&mut self, cpu: &Cpu, plan: &ExecutionPlan, by: &Update, own: &mut Replica<T>) {
        let (isa, optimizer, scalars) = (cpu.isa(), by.optimizer, by.scalars());
        let mut squares = 0.0;
        for (t, at) in &plan.gradients {
            if let Some(at) = *at {
                let gradient = read(own.values(), &self.slots, at);
                squares += sum_of_squares(isa, &gradient[..plan.tensors[*t].len()]);
            }
        }
        self.norm = squares.sqrt();
        if !self.norm.is_finite() {
            return;
        }
        own.stamp = new_stamp();
        let factor = optimizer.clip().map_or(1.0, |most| (most / (self.norm + 1e-6)).min(1.0));
        let take =
            |own: &mut Replica<T>, t: usize| std::mem::replace(&mut own.values_mut()[t], Buffer::new(64));
        for (tensor, at) in &plan.updates {
            let mut values = take(own, *tensor);
            let n = values.len();
            values.copy_from_slice(&read(own.values(), &self.slots, *at)[..n]);
            own.values_mut()[*tensor] = values;
        }
        for ((t, at), states) in plan.gradients.iter().zip(&mut self.states) {
            let Tensor { max_norm, shape, .. } = &plan.tensors[*t];
            let mut values = take(own, *t);
            // A tensor that the losses do not reach stays where it is, as in PyTorch.
            if let Some(at) = *at {
                let gradient = read(own.values(), &self.slots, at);
                let apply = |values: &mut [T], states: [&mut [T]; STATES], gradient: &[T]| {
                    optimizer.apply(isa, scalars, Piece { values, states, gradient, factor });
                };
                each_piece(cpu, optimizer.states(), &mut values, states, gradient, apply);
            }
            if let Some(most) = *max_norm {
                constrain(&mut values, shape[0], most);
            }
            own.values_mut()[*t] = values;
        }
    }
}

/// Calls `body` for pieces of a tensor, of so many states that the optimizer keeps for it, and of its gradient.
fn each_piece<T: Real>(
    cpu: &Cpu,
    kept: usize,
    values: &mut [T],
    [first, second]: &mut [Buffer<T>; STATES],
    gradient: &[T],
    body: impl Fn(&mut [T], [&mut [T]; STATES], &[T]) + Sync,
) {
    if cpu.threads() == 1 {
        return body(values, [first, second], gradient);
    }
    let pieces = values.par_chunks_mut(PIECE).zip(gradient.par_chunks(PIECE));
    match kept {
        0 => pieces.for_each(|(p, g)| body(p, [&mut [], &mut []], g)),
        1 => pieces.zip(first.par_chunks_mut(PIECE)).for_each(|((p, g), m)| body(p, [m, &mut []], g)),
        _ => {
            let states = first.par_chunks_mut(PIECE).zip(second.par_chunks_mut(PIECE));
            pieces.zip(states).for_each(|((p, g), (m, v))| body(p, [m, v], g));
        }
    }
}

fn sum_of_squares<T: Real>(isa: Isa, x: &[T]) -> f64 {
    // Blocks in the type's own precision, their sums in double.
    x.chunks(1024).map(|x| RowSum::Dot(x, x).on(isa).wide()).sum()
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

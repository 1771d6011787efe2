//! A graph made ready to run: its nodes in order, each with a place in memory that was decided beforehand.

use std::collections::VecDeque;
use std::sync::OnceLock;

use crate::codegen::Precision;
use crate::cost::{Cost, Spent};
use crate::cpu::{Buffer, Cpu, buffer};
use crate::cuda::{Engine, Fed, MOST_NUMBERS, Moved, Wanted};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::gradient::differentiate;
use crate::graph::ops::{Call, Op, count};
use crate::graph::{Graph, Id, Input, Tensor};
use crate::kernels::Real;
use crate::lower::{Mode, constants, lower, prepack};
use crate::parameters::{Parameters, Replica};
use crate::random::Draw;
use crate::step::{Adam, Move};
use crate::table::Table;

/// Where a value is found while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A parameter or statistic.
    Tensor(usize),
    /// One of the program's own buffers.
    Slot(usize),
}

/// The most operands any operation has.
const MOST: usize = 6;

/// One operation with everything it needs to run.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) op: Op,
    pub(crate) inputs: Vec<(Place, Vec<usize>)>,
    pub(crate) slot: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) work: Option<(usize, usize)>,
    /// The value follows from parameters alone: it is made again only when they have changed.
    constant: bool,
}

/// A value handed to a program at a run.
#[derive(Clone, Copy, Debug)]
pub enum Feed<'a, T> {
    /// One value per replica, replicas one after the other: `[R, ..]`.
    Each(&'a [T]),
    /// The same value for every replica.
    Shared(&'a [T]),
    /// Rows of a resident data set `[N, ..]`, picked for each replica: `rows` is `[R, B]`.
    Rows {
        /// The data set.
        data: &'a [T],
        /// Which rows, per replica.
        rows: &'a [u32],
    },
    /// The same from a table, which a GPU gets once and keeps.
    Table {
        /// The data set.
        table: &'a Table<'a, T>,
        /// Which rows, per replica.
        rows: &'a [u32],
    },
    /// Rows from anywhere, `[R, B]` of them.
    Slices(&'a [&'a [T]]),
    /// Labels per replica, `[R, B]`.
    Labels(&'a [u32]),
    /// The same labels for every replica, `[B]`.
    SharedLabels(&'a [u32]),
    /// Labels `[N]` of a resident data set, picked as with `Rows`.
    LabelRows {
        /// The labels of the data set.
        data: &'a [u32],
        /// Which, per replica.
        rows: &'a [u32],
    },
}

/// A loss and the tensors it moves, by name prefix or predicate resolved to indices.
#[derive(Clone, Debug)]
pub struct Objective {
    /// What is minimised, a scalar.
    pub loss: Id,
    /// Which tensors, by their index in the graph.
    pub tensors: Vec<usize>,
}

impl Objective {
    /// A loss that moves every parameter whose name is accepted.
    pub fn new(graph: &Graph, loss: Id, moves: impl Fn(&str) -> bool) -> Objective {
        let tensors = graph.tensors().iter().enumerate();
        let tensors = tensors.filter(|(_, t)| t.trainable && moves(&t.name)).map(|(i, _)| i).collect();
        Objective { loss, tensors }
    }

    fn check(&self, graph: &Graph) -> Result<()> {
        let wrong = |message: String| Err(Error::Program(format!("an objective {message}")));
        if self.tensors.is_empty() {
            return wrong("moves no parameter".into());
        }
        for (i, &t) in self.tensors.iter().enumerate() {
            match graph.tensors().get(t) {
                None => return wrong(format!("moves tensor {t}; there are {}", graph.tensors().len())),
                Some(tensor) if !tensor.trainable => {
                    return wrong(format!("moves the statistic `{}`", tensor.name));
                }
                Some(tensor) if self.tensors[..i].contains(&t) => {
                    return wrong(format!("moves tensor `{}` twice", tensor.name));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// What a program is compiled for.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    /// Values to be read.
    pub(crate) outputs: &'a [Id],
    /// A scalar and the input its gradient is wanted for.
    pub(crate) traced: Option<(Id, &'a str)>,
    /// Losses and what they move.
    pub(crate) objectives: &'a [Objective],
    /// How it is moved.
    pub(crate) adam: Option<Adam>,
}

/// One replica's memory.
struct Memory<T> {
    slots: Vec<Buffer<T>>,
    /// The state of the parameters that constant values were made from.
    stamp: Option<u64>,
    /// How the run in progress ended.
    outcome: Result<()>,
}

/// Where a program runs, and its memory there.
enum Home<T> {
    Cpu(Cpu, Vec<Memory<T>>),
    /// The gradients that were asked for since the last run come back: `[replica][gradient]`.
    Cuda(Box<Engine>, Vec<Vec<OnceLock<Vec<T>>>>),
}

/// A compiled graph. Makes its values for all replicas at once; changes nothing outside itself.
pub struct Program<T> {
    home: Home<T>,
    replicas: usize,
    /// Runs made by each replica: the step that random numbers are drawn for.
    runs: Vec<u32>,
    instructions: Vec<Instruction>,
    inputs: Vec<(Input, usize)>,
    outputs: Vec<(Place, Vec<usize>)>,
    /// Moved tensors and where their gradients are; none where no objective depends on one.
    pub(crate) gradients: Vec<(usize, Option<Place>)>,
    /// Statistics and where their new values are.
    pub(crate) updates: Vec<(usize, Place)>,
    /// The tensors it was compiled for.
    tensors: Vec<Tensor>,
    /// Of those tensors.
    signature: u64,
    /// All inputs the graph has, needed here or not.
    declared: Vec<String>,
}

impl<T: Real> Program<T> {
    /// Compiles what is needed for some values, in one mode, for R replicas.
    pub fn new(
        graph: &Graph,
        mode: Mode,
        outputs: &[Id],
        replicas: usize,
        device: impl Into<Device>,
    ) -> Result<Program<T>> {
        Self::compile(graph, mode, &Asked { outputs, ..Asked::default() }, replicas, device.into())
    }

    /// Compiles what is needed for some values of a network that is applied ([`Mode::Infer`]) and for the gradient of a scalar with
    /// respect to an input. The gradient, of the input's shape, comes after the other outputs.
    pub fn with_gradient(
        graph: &Graph,
        outputs: &[Id],
        of: Id,
        input: &str,
        replicas: usize,
        device: impl Into<Device>,
    ) -> Result<Program<T>> {
        let asked = Asked { outputs, traced: Some((of, input)), ..Asked::default() };
        Self::compile(graph, Mode::Infer, &asked, replicas, device.into())
    }

    pub(crate) fn compile(
        graph: &Graph,
        mode: Mode,
        asked: &Asked<'_>,
        replicas: usize,
        device: Device,
    ) -> Result<Program<T>> {
        let Asked { outputs, traced, objectives, adam } = *asked;
        if replicas == 0 {
            return Err(Error::Program("a program needs at least 1 replica".into()));
        }
        let scalars = traced.iter().map(|(of, _)| *of).chain(objectives.iter().map(|o| o.loss));
        let keep: Vec<Id> = outputs.iter().copied().chain(scalars).collect();
        for &id in &keep {
            graph.check(id)?;
        }
        if keep.is_empty() {
            return Err(Error::Program("there is nothing to compute: no output and no objective".into()));
        }
        let mut lowered = lower(graph, mode, &keep)?;
        // A program that moves nothing meets the same parameters again and again.
        let on_gpu = match &device {
            Device::Cpu(_) => None,
            Device::Cuda(cuda) => Some(cuda.precision()),
        };
        let applies = objectives.is_empty() && on_gpu.is_none();
        // Packed weights have no way back.
        if applies && traced.is_none() {
            lowered = prepack(lowered)?;
        }
        let mut moved: Vec<(usize, Option<Id>)> = vec![];
        for objective in objectives {
            objective.check(graph)?;
            let loss = lowered.at(objective.loss)?;
            let leaves: Vec<Op> = objective.tensors.iter().map(|&t| Op::Tensor(t)).collect();
            let grads = differentiate(&mut lowered.graph, loss, &leaves)?;
            for (&tensor, grad) in objective.tensors.iter().zip(grads) {
                match moved.iter_mut().find(|(t, _)| *t == tensor) {
                    None => moved.push((tensor, grad)),
                    Some((_, sum)) => {
                        *sum = match (*sum, grad) {
                            (Some(a), Some(b)) => Some(lowered.graph.add(a, b)?),
                            (a, b) => a.or(b),
                        }
                    }
                }
            }
        }
        let mut outputs = outputs.iter().map(|&o| lowered.at(o)).collect::<Result<Vec<_>>>()?;
        if let Some((of, input)) = traced {
            let of = lowered.at(of)?;
            let place = graph.inputs().iter().position(|i| i.name == input);
            let leaves: Vec<Op> = place.map(Op::Input).into_iter().collect();
            let gradient = differentiate(&mut lowered.graph, of, &leaves)?.pop().flatten();
            outputs.push(gradient.ok_or_else(|| Error::Input {
                name: input.into(),
                message: "does not lead to the value whose gradient is wanted".into(),
            })?);
        }
        let updates = lowered.updates.clone();
        let kept: Vec<Id> = outputs
            .iter()
            .copied()
            .chain(moved.iter().filter_map(|(_, g)| *g))
            .chain(updates.iter().map(|(_, id)| *id))
            .collect();
        let plan = Plan::new(&lowered.graph, &kept, applies, on_gpu);
        let place = |id: Id| plan.place(&lowered.graph, id);
        let instructions = plan.instructions(&lowered.graph);
        let inputs = plan.inputs(&lowered.graph);
        let outputs: Vec<_> = outputs.iter().map(|&o| (place(o), lowered.graph.shape(o).to_vec())).collect();
        let gradients: Vec<_> = moved.into_iter().map(|(tensor, grad)| (tensor, grad.map(place))).collect();
        let updates: Vec<_> = updates.into_iter().map(|(tensor, id)| (tensor, place(id))).collect();
        let home = match device {
            Device::Cpu(cpu) => {
                let memory = (0..replicas).map(|_| Memory {
                    slots: plan.sizes.iter().map(|&n| buffer(n)).collect(),
                    stamp: None,
                    outcome: Ok(()),
                });
                Home::Cpu(cpu, memory.collect())
            }
            Device::Cuda(cuda) => {
                if size_of::<T>() != size_of::<f32>() {
                    return Err(Error::Device("programs in f64 run on the CPU only".into()));
                }
                let wanted = Wanted {
                    instructions: &instructions,
                    sizes: &plan.sizes,
                    inputs: &inputs,
                    outputs: &outputs,
                    gradients: &gradients,
                    updates: &updates,
                    tensors: graph.tensors(),
                    adam,
                };
                let fetched = vec![vec![OnceLock::new(); gradients.len()]; replicas];
                Home::Cuda(Box::new(Engine::new(&cuda, &wanted, replicas)?), fetched)
            }
        };
        Ok(Program {
            home,
            replicas,
            runs: vec![0; replicas],
            inputs,
            outputs,
            gradients,
            updates,
            tensors: graph.tensors().to_vec(),
            signature: Graph::signature(graph.tensors()),
            declared: graph.inputs().iter().map(|i| i.name.clone()).collect(),
            instructions,
        })
    }

    /// Number of replicas.
    pub fn replicas(&self) -> usize {
        self.replicas
    }

    /// The program's own memory in bytes, all replicas: activations, gradients and workspace.
    pub fn bytes(&self) -> usize {
        match &self.home {
            Home::Cpu(_, memory) => {
                memory.iter().flat_map(|m| &m.slots).map(|s| s.len() * size_of::<T>()).sum()
            }
            Home::Cuda(engine, _) => engine.bytes(),
        }
    }

    /// Number of operations in one run; on a GPU, of kernels.
    pub fn len(&self) -> usize {
        match &self.home {
            Home::Cpu(..) => self.instructions.len(),
            Home::Cuda(engine, _) => engine.len(),
        }
    }

    /// Whether a run does nothing but pass values on.
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// Computes all outputs. Inputs are given by name, each one the program needs exactly once.
    pub fn run(&mut self, parameters: &Parameters<T>, feeds: &[(&str, Feed<'_, T>)]) -> Result<()> {
        self.forward(parameters, feeds, None, None)
    }

    /// The same for some replicas; the outputs of the others stay what they were.
    pub fn run_some(
        &mut self,
        parameters: &Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        active: &[bool],
    ) -> Result<()> {
        if active.len() != self.replicas {
            let (r, n) = (self.replicas, active.len());
            return Err(Error::Program(format!("{r} replicas need {r} active flags, got {n}")));
        }
        self.forward(parameters, feeds, Some(active), None)
    }

    /// On a GPU `moves` moves the parameters too.
    pub(crate) fn forward(
        &mut self,
        parameters: &Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        active: Option<&[bool]>,
        moves: Option<&[Move]>,
    ) -> Result<()> {
        self.fits(parameters)?;
        self.check_feeds(feeds)?;
        let active = |r: usize| active.is_none_or(|a| a[r]);
        let Program { home, instructions, inputs, runs, replicas, .. } = self;
        match home {
            Home::Cpu(cpu, memory) => {
                parameters.fetch()?;
                let (cpu, instructions, inputs, runs) = (&*cpu, &*instructions, &*inputs, &*runs);
                let inner = &cpu.inside((0..memory.len()).filter(|r| active(*r)).count());
                // All inputs of all replicas are checked before any replica runs, so that a refused run leaves no trace.
                cpu.enter(|| {
                    cpu.each(memory, |r, memory| {
                        memory.outcome =
                            if active(r) { fill_all(inner, inputs, feeds, r, memory) } else { Ok(()) };
                    });
                });
                // The first in order, not in time, so that errors too are repeatable.
                memory.iter_mut().try_for_each(|m| std::mem::replace(&mut m.outcome, Ok(())))?;
                let run = |r: usize, memory: &mut Memory<T>| {
                    let own = &parameters.replicas[r];
                    let draw = Draw { seed: own.seed, step: runs[r] };
                    let known = memory.stamp == Some(own.stamp);
                    for instruction in instructions.iter().filter(|i| !(known && i.constant)) {
                        instruction.run(inner, &mut memory.slots, own.values(), draw);
                    }
                    memory.stamp = Some(own.stamp);
                };
                cpu.enter(|| {
                    cpu.each(memory, |r, memory| {
                        if active(r) {
                            run(r, memory);
                        }
                    });
                });
            }
            Home::Cuda(engine, fetched) => {
                let moved: Vec<Moved> = (0..*replicas)
                    .filter(|r| active(*r))
                    .map(|replica| Moved {
                        replica,
                        seed: parameters.replicas[replica].seed,
                        step: runs[replica],
                        by: moves.map(|moves| moves[replica]),
                    })
                    .collect();
                let mut fed = vec![];
                for (input, _) in inputs.iter() {
                    if let Some((_, feed)) = feeds.iter().find(|(n, _)| *n == input.name) {
                        fed.push(fed_with(engine, input, feed, &moved)?);
                    }
                }
                fetched.iter_mut().flatten().for_each(|gradient| *gradient = OnceLock::new());
                let device = engine.device().clone();
                parameters.on(&device, |remote| engine.begin(&moved, &fed, remote))?;
                // A step that moves parameters is waited for by whoever started it.
                if moves.is_none() {
                    while engine.under_way() > 0 {
                        engine.listen()?;
                    }
                }
            }
        }
        for (_, runs) in self.runs.iter_mut().enumerate().filter(|(r, _)| active(*r)) {
            *runs = runs.wrapping_add(1);
        }
        Ok(())
    }

    pub(crate) fn fits(&self, parameters: &Parameters<T>) -> Result<()> {
        let (own, theirs) = (self.replicas, parameters.replicas.len());
        if own != theirs {
            return Err(Error::Program(format!(
                "compiled for {own} replicas, got parameters of {theirs} replicas"
            )));
        }
        if self.signature == parameters.signature {
            return Ok(());
        }
        let (own, theirs) = (&self.tensors, &parameters.tensors);
        if own.len() != theirs.len() {
            return Err(Error::Program(format!(
                "compiled for a network of {} tensors, got parameters of one with {}",
                own.len(),
                theirs.len()
            )));
        }
        let differs = own.iter().zip(theirs).find(|(a, b)| (&a.name, &a.shape) != (&b.name, &b.shape));
        let Some((a, b)) = differs else { return Ok(()) };
        Err(Error::Tensor {
            name: a.name.clone(),
            message: format!(
                "has the shape {:?} here, the parameters given have `{}` {:?}",
                a.shape, b.name, b.shape
            ),
        })
    }

    fn check_feeds(&self, feeds: &[(&str, Feed<'_, T>)]) -> Result<()> {
        for (i, (name, _)) in feeds.iter().enumerate() {
            let wrong = |message: String| Err(Error::Input { name: (*name).into(), message });
            if feeds[..i].iter().any(|(n, _)| n == name) {
                return wrong("is given twice".into());
            }
            if !self.declared.iter().any(|d| d == name) {
                return wrong(format!(
                    "is not an input of this network; it has {}",
                    self.declared.join(", ")
                ));
            }
        }
        for (input, _) in &self.inputs {
            let missing =
                || Error::Input { name: input.name.clone(), message: "is needed and was not given".into() };
            let (_, feed) = feeds.iter().find(|(n, _)| *n == input.name).ok_or_else(missing)?;
            check(input, feed, self.replicas)?;
        }
        Ok(())
    }

    /// An output's values in one replica after a run; `output` counts as they were given to `new`.
    ///
    /// # Panics
    /// Like a slice, where there is no such replica or output.
    pub fn output<'a>(&'a self, parameters: &'a Parameters<T>, replica: usize, output: usize) -> &'a [T] {
        let (place, shape) = &self.outputs[output];
        let n = count(shape);
        match (&self.home, *place) {
            (_, Place::Tensor(t)) => &parameters.lent(replica)[t][..n],
            (Home::Cpu(_, memory), Place::Slot(s)) => &memory[replica].slots[s][..n],
            (Home::Cuda(engine, _), Place::Slot(_)) => {
                engine.output(replica, output, n).map_or(&[], bytemuck::cast_slice)
            }
        }
    }

    /// An output's shape.
    ///
    /// # Panics
    /// Like a slice, where there is no such output.
    pub fn output_shape(&self, output: usize) -> &[usize] {
        &self.outputs[output].1
    }

    /// A value in the memory of the CPU.
    pub(crate) fn read<'a>(&'a self, own: &'a Replica<T>, replica: usize, place: Place) -> &'a [T] {
        match (&self.home, place) {
            (_, Place::Tensor(t)) => &own.values()[t],
            (Home::Cpu(_, memory), Place::Slot(s)) => &memory[replica].slots[s],
            (Home::Cuda(..), Place::Slot(_)) => &[],
        }
    }

    /// The gradient of a moved tensor, by its place in [`gradients`](Self::gradients).
    pub(crate) fn gradient<'a>(
        &'a self,
        parameters: &'a Parameters<T>,
        replica: usize,
        gradient: usize,
    ) -> Option<&'a [T]> {
        let (tensor, place) = self.gradients[gradient];
        let n = self.tensors[tensor].len();
        match (&self.home, place?) {
            (Home::Cuda(engine, fetched), Place::Slot(slot)) => {
                let there = &fetched[replica][gradient];
                if there.get().is_none() {
                    let values = engine.slot(replica, slot, n).ok()?;
                    there.get_or_init(|| bytemuck::cast_slice(&values).to_vec());
                }
                there.get().map(Vec::as_slice)
            }
            (_, place) => Some(&self.read(&parameters.replicas[replica], replica, place)[..n]),
        }
    }

    /// The processor it runs on; none on a GPU.
    pub(crate) fn cpu(&self) -> Option<&Cpu> {
        match &self.home {
            Home::Cpu(cpu, _) => Some(cpu),
            Home::Cuda(..) => None,
        }
    }

    /// The GPU it runs on.
    pub(crate) fn engine(&mut self) -> Option<&mut Engine> {
        match &mut self.home {
            Home::Cpu(..) => None,
            Home::Cuda(engine, _) => Some(engine),
        }
    }

    /// The same, to look at.
    pub(crate) fn engine_ref(&self) -> Option<&Engine> {
        match &self.home {
            Home::Cpu(..) => None,
            Home::Cuda(engine, _) => Some(engine),
        }
    }

    /// Numbers of each moved tensor.
    pub(crate) fn moved_lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.gradients.iter().map(|(t, _)| self.tensors[*t].len())
    }

    /// Runs of a replica so far.
    pub(crate) fn runs(&self, replica: usize) -> u32 {
        self.runs[replica]
    }

    pub(crate) fn set_runs(&mut self, replica: usize, runs: u32) {
        self.runs[replica] = runs;
    }

    /// Runs the first replica and returns what each operation of each shape took, longest first. On a GPU it is all replicas and each
    /// kernel by itself; a step's profile there moves parameters.
    pub fn profile(
        &mut self,
        parameters: &Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
    ) -> Result<Vec<Spent>> {
        self.fits(parameters)?;
        self.check_feeds(feeds)?;
        if let Home::Cuda(..) = self.home {
            // Numbers to work with first.
            self.forward(parameters, feeds, None, None)?;
        }
        let Program { home, instructions, inputs, runs, replicas, .. } = self;
        let (cpu, memory) = match home {
            Home::Cpu(cpu, memory) => (cpu, memory),
            Home::Cuda(engine, _) => {
                let device = engine.device().clone();
                let mut spent = parameters.on(&device, |remote| engine.profile(*replicas, remote))?;
                spent.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
                return Ok(spent);
            }
        };
        parameters.fetch()?;
        let (own, memory, step) = (&parameters.replicas[0], &mut memory[0], runs[0]);
        let mut spent: Vec<Spent> = vec![];
        cpu.enter(|| -> Result<()> {
            fill_all(cpu, inputs, feeds, 0, memory)?;
            for i in instructions.iter().filter(|i| !(memory.stamp == Some(own.stamp) && i.constant)) {
                let start = std::time::Instant::now();
                i.run(cpu, &mut memory.slots, own.values(), Draw { seed: own.seed, step });
                let name = format!("{} {:?}", i.op.name(), i.shape);
                let seconds = start.elapsed().as_secs_f64();
                let one = Spent::new(name, i.op.name(), seconds, i.cost::<T>());
                match spent.iter_mut().find(|s| s.name == one.name) {
                    Some(all) => all.add(&one),
                    None => spent.push(one),
                }
            }
            memory.stamp = Some(own.stamp);
            Ok(())
        })?;
        spent.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        Ok(spent)
    }
}

/// Puts every input in its place.
fn fill_all<T: Real>(
    cpu: &Cpu,
    inputs: &[(Input, usize)],
    feeds: &[(&str, Feed<'_, T>)],
    replica: usize,
    memory: &mut Memory<T>,
) -> Result<()> {
    for (input, slot) in inputs {
        if let Some((_, feed)) = feeds.iter().find(|(n, _)| *n == input.name) {
            fill(cpu, input, feed, replica, &mut memory.slots[*slot])?;
        }
    }
    Ok(())
}

impl Instruction {
    /// The least it costs.
    pub(crate) fn cost<T>(&self) -> Cost {
        let shapes: Vec<&[usize]> = self.inputs.iter().map(|(_, shape)| &shape[..]).collect();
        let numbers = shapes.iter().map(|shape| count(shape)).sum::<usize>() + count(&self.shape);
        Cost::new::<T>(self.op.multiply_adds(&shapes, &self.shape), numbers)
    }

    fn run<T: Real>(&self, cpu: &Cpu, slots: &mut [Buffer<T>], tensors: &[Buffer<T>], draw: Draw) {
        let take = |slots: &mut [Buffer<T>], i: usize| std::mem::replace(&mut slots[i], Buffer::new(64));
        let mut out = take(slots, self.slot);
        let mut work = self.work.map(|(slot, _)| take(slots, slot));
        let mut inputs: [&[T]; MOST] = [&[]; MOST];
        let mut shapes: [&[usize]; MOST] = [&[]; MOST];
        for (i, (place, shape)) in self.inputs.iter().enumerate() {
            let whole: &[T] = match *place {
                Place::Tensor(t) => &tensors[t],
                Place::Slot(s) => &slots[s],
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

fn check<T: Real>(input: &Input, feed: &Feed<'_, T>, replicas: usize) -> Result<()> {
    let wrong = |message: String| Err(Error::Input { name: input.name.clone(), message });
    let size = count(&input.shape);
    let per_row = count(input.shape.get(1..).unwrap_or_default());
    let batch = input.shape.first().copied().unwrap_or(1);
    let whole = |n: usize, copies: usize| {
        if n == size * copies {
            return Ok(());
        }
        wrong(format!(
            "has the shape {:?} for {copies} replicas ({} values), got {n}",
            input.shape,
            size * copies
        ))
    };
    let picked = |n: usize, rows: &[u32]| {
        if rows.len() != batch * replicas {
            return wrong(format!("wants {replicas} x {batch} row numbers, got {}", rows.len()));
        }
        if !n.is_multiple_of(per_row) {
            return wrong(format!(
                "rows have {per_row} values ({:?}), the data set of {n} is no multiple",
                input.shape
            ));
        }
        match rows.iter().find(|r| **r as usize >= n / per_row) {
            Some(r) => wrong(format!("row {r} was asked for, the data set has {}", n / per_row)),
            None => Ok(()),
        }
    };
    let labels = |all: &[u32]| match input.classes {
        None => wrong("is real-valued, got labels".into()),
        Some(k) => match all.iter().find(|l| **l as usize >= k) {
            Some(l) => wrong(format!("label {l} is not below the number of classes, {k}")),
            None => Ok(()),
        },
    };
    if input.classes.is_some()
        && matches!(
            feed,
            Feed::Each(_) | Feed::Shared(_) | Feed::Rows { .. } | Feed::Table { .. } | Feed::Slices(_)
        )
    {
        return wrong("wants labels, got real numbers".into());
    }
    match feed {
        Feed::Each(v) => whole(v.len(), replicas),
        Feed::Shared(v) => whole(v.len(), 1),
        Feed::Rows { data, rows } => picked(data.len(), rows),
        Feed::Table { table, rows } => {
            if table.row_length() != per_row {
                let n = table.row_length();
                return wrong(format!(
                    "rows have {per_row} values ({:?}), those of the table {n}",
                    input.shape
                ));
            }
            picked(table.numbers() * per_row, rows)
        }
        Feed::Slices(rows) => {
            if rows.len() != batch * replicas {
                return wrong(format!("wants {replicas} x {batch} rows, got {}", rows.len()));
            }
            match rows.iter().find(|row| row.len() != per_row) {
                Some(row) => {
                    wrong(format!("rows have {per_row} values ({:?}), one has {}", input.shape, row.len()))
                }
                None => Ok(()),
            }
        }
        Feed::Labels(v) => whole(v.len(), replicas).and_then(|()| labels(v)),
        Feed::SharedLabels(v) => whole(v.len(), 1).and_then(|()| labels(v)),
        Feed::LabelRows { data, rows } => {
            picked(data.len(), rows)?;
            rows.iter().try_for_each(|r| labels(&data[*r as usize * per_row..][..per_row]))
        }
    }
}

fn fill<T: Real>(cpu: &Cpu, input: &Input, feed: &Feed<'_, T>, replica: usize, slot: &mut [T]) -> Result<()> {
    let size = count(&input.shape);
    let batch = input.shape.first().copied().unwrap_or(1);
    let slot = &mut slot[..size];
    let label = |l: u32| T::of(f64::from(l));
    match feed {
        Feed::Each(v) => slot.copy_from_slice(&v[replica * size..][..size]),
        Feed::Shared(v) => slot.copy_from_slice(v),
        Feed::Rows { data, rows } => {
            let (n, rows) = (size / batch, &rows[replica * batch..][..batch]);
            cpu.pieces(slot, n, size, |i, to| to.copy_from_slice(&data[rows[i] as usize * n..][..n]));
        }
        Feed::Slices(rows) => {
            let (n, rows) = (size / batch, &rows[replica * batch..][..batch]);
            cpu.pieces(slot, n, size, |i, to| to.copy_from_slice(rows[i]));
        }
        Feed::Table { table, rows } => {
            let (n, rows) = (size / batch, &rows[replica * batch..][..batch]);
            cpu.pieces(slot, n, size, |i, to| table.copy(rows[i], to));
            return Ok(()); // looked at when the table was made
        }
        Feed::Labels(v) => {
            slot.iter_mut().zip(&v[replica * size..]).for_each(|(s, &l)| *s = label(l));
            return Ok(());
        }
        Feed::SharedLabels(v) => {
            slot.iter_mut().zip(*v).for_each(|(s, &l)| *s = label(l));
            return Ok(());
        }
        Feed::LabelRows { data, rows } => {
            let (n, rows) = (size / batch, &rows[replica * batch..][..batch]);
            for (slot, &r) in slot.chunks_exact_mut(n).zip(rows) {
                slot.iter_mut().zip(&data[r as usize * n..]).for_each(|(s, &l)| *s = label(l));
            }
            return Ok(());
        }
    }
    let bad = crate::kernels::versions::vectorised(
        cpu.isa,
        #[inline(always)]
        || slot.iter().fold(false, |bad, v| bad | !v.finite()),
    );
    if bad { finite(input, slot, replica) } else { Ok(()) }
}

/// What a GPU is fed with: values of the active replicas one after the other, or rows of a table that it has.
fn fed_with<'a, T: Real>(
    engine: &Engine,
    input: &Input,
    feed: &'a Feed<'_, T>,
    active: &[Moved],
) -> Result<Fed<'a>> {
    let size = count(&input.shape);
    let batch = input.shape.first().copied().unwrap_or(1);
    let n = size / batch;
    let of = |r: usize, rows: &'a [u32]| &rows[r * batch..][..batch];
    let all = |one: &mut dyn FnMut(usize, &mut Vec<f32>)| {
        let mut values = Vec::with_capacity(active.len() * size);
        active.iter().for_each(|a| one(a.replica, &mut values));
        values
    };
    let values = match feed {
        Feed::Table { table, rows } => {
            let rows = active.iter().flat_map(|a| of(a.replica, rows)).copied().collect();
            return Ok(Fed::Rows(table.resident(engine.device())?, rows));
        }
        Feed::Each(v) => all(&mut |r, to| to.extend_from_slice(bytemuck::cast_slice(&v[r * size..][..size]))),
        Feed::Shared(v) => {
            finite(input, v, 0)?;
            return Ok(Fed::Same(bytemuck::cast_slice(v).to_vec()));
        }
        Feed::SharedLabels(v) => return Ok(Fed::Same(v.iter().map(|&l| l as f32).collect())),
        Feed::Rows { data, rows } => all(&mut |r, to| {
            for &row in of(r, rows) {
                to.extend_from_slice(bytemuck::cast_slice(&data[row as usize * n..][..n]));
            }
        }),
        Feed::Slices(rows) => all(&mut |r, to| {
            rows[r * batch..][..batch].iter().for_each(|row| to.extend_from_slice(bytemuck::cast_slice(row)));
        }),
        Feed::Labels(v) => all(&mut |r, to| to.extend(v[r * size..][..size].iter().map(|&l| l as f32))),
        Feed::LabelRows { data, rows } => all(&mut |r, to| {
            for &row in of(r, rows) {
                to.extend(data[row as usize * n..][..n].iter().map(|&l| l as f32));
            }
        }),
    };
    for (values, a) in values.chunks(size).zip(active) {
        finite(input, values, a.replica)?;
    }
    Ok(Fed::Values(values))
}

/// Refuses what is not a finite number.
fn finite<T: Real>(input: &Input, values: &[T], replica: usize) -> Result<()> {
    let Some(at) = values.iter().position(|v| !v.finite()) else { return Ok(()) };
    let message =
        format!("value {at} of replica {replica} ({:?}) is {}, not a finite number", input.shape, values[at]);
    Err(Error::Input { name: input.name.clone(), message })
}

/// On a GPU, operations after which a buffer that nobody needs any more is given to another value. What shares memory cannot run at the same
/// time: PTSM takes nearly twice the memory and an eighth less time for one network, a twentieth less for twenty. Less where a network would
/// not fit otherwise.
const REST: [usize; 3] = [250, 24, 0];

/// Which buffer each value lives in. A buffer is reused as soon as its last reader has run.
struct Plan {
    live: Vec<bool>,
    slot: Vec<Option<usize>>,
    work: Vec<Option<(usize, usize)>>,
    sizes: Vec<usize>,
    constant: Vec<bool>,
}

impl Plan {
    /// With `hold`, values that follow from parameters alone keep their buffers.
    fn new(graph: &Graph, kept: &[Id], hold: bool, on_gpu: Option<Precision>) -> Plan {
        let Some(precision) = on_gpu else { return Plan::resting(graph, kept, hold, None, 0) };
        let with = |rest| Plan::resting(graph, kept, hold, Some(precision), rest);
        let fits = |plan: &Plan| plan.sizes.iter().sum::<usize>() <= MOST_NUMBERS;
        let [most @ .., least] = REST;
        most.into_iter().map(with).find(fits).unwrap_or_else(|| with(least))
    }

    /// Buffers are given to others so many operations after their last reader.
    fn resting(graph: &Graph, kept: &[Id], hold: bool, on_gpu: Option<Precision>, rest: usize) -> Plan {
        let n = graph.nodes.len();
        let mut live = vec![false; n];
        let mut last = vec![0usize; n];
        for id in kept {
            live[id.index()] = true;
            last[owner(graph, *id).index()] = usize::MAX;
        }
        for i in (0..n).rev() {
            if live[i] {
                for &p in &graph.nodes[i].inputs {
                    live[p.index()] = true;
                    let o = owner(graph, p).index();
                    last[o] = last[o].max(i);
                }
            }
        }
        let constant = if hold { constants(graph) } else { vec![false; n] };
        for i in (0..n).filter(|&i| constant[i]) {
            last[i] = usize::MAX;
        }
        let mut plan = Plan { live, slot: vec![None; n], work: vec![None; n], sizes: vec![], constant };
        let mut free: Vec<usize> = vec![];
        // Buffers that nobody needs any more and that are not yet given to others.
        let mut resting: VecDeque<(usize, usize)> = VecDeque::new();
        // Inputs are there before the first operation runs.
        for (i, node) in graph.nodes.iter().enumerate() {
            if plan.live[i] && matches!(node.op, Op::Input(_)) {
                plan.slot[i] = Some(plan.take(&mut free, count(&node.shape)));
            }
        }
        let mut ends: Vec<Vec<usize>> = vec![vec![]; n];
        for i in 0..n {
            if plan.live[i] && last[i] != usize::MAX && !graph.nodes[i].op.is_view() {
                ends[last[i].max(i)].push(i);
            }
        }
        for (i, node) in graph.nodes.iter().enumerate() {
            if plan.live[i] && !node.op.is_view() && !matches!(node.op, Op::Tensor(_) | Op::Input(_)) {
                // What is held from run to run must not share with what is made anew in each.
                let reusable = if plan.constant[i] { &mut vec![] } else { &mut free };
                plan.slot[i] = Some(plan.take(reusable, count(&node.shape)));
                let shapes: Vec<&[usize]> = node.inputs.iter().map(|&p| graph.shape(p)).collect();
                let need = match on_gpu {
                    None => node.op.workspace(&shapes, &node.shape),
                    Some(precision) => node.op.cuda_workspace(&shapes, &node.shape, precision),
                };
                if need > 0 {
                    let slot = plan.take(&mut free, need);
                    plan.work[i] = Some((slot, need));
                    resting.push_back((i + rest, slot));
                }
            }
            resting.extend(ends[i].iter().filter_map(|&done| plan.slot[done]).map(|slot| (i + rest, slot)));
            while let Some((_, slot)) = resting.pop_front_if(|(until, _)| *until <= i) {
                free.push(slot);
            }
        }
        plan
    }

    /// The smallest free buffer that is large enough; else the largest, grown; else a new one.
    fn take(&mut self, free: &mut Vec<usize>, need: usize) -> usize {
        let fits = |s: &usize| self.sizes[*s] >= need;
        let best = free
            .iter()
            .copied()
            .filter(fits)
            .min_by_key(|&s| self.sizes[s])
            .or_else(|| free.iter().copied().max_by_key(|&s| self.sizes[s]));
        match best {
            // A buffer many times too large is better left for something that fills it.
            Some(s) if self.sizes[s] <= need.saturating_mul(8).max(1 << 12) => {
                free.retain(|f| *f != s);
                self.sizes[s] = self.sizes[s].max(need);
                s
            }
            _ => {
                self.sizes.push(need);
                self.sizes.len() - 1
            }
        }
    }

    fn place(&self, graph: &Graph, id: Id) -> Place {
        let id = owner(graph, id);
        match (&graph.node(id).op, self.slot[id.index()]) {
            (Op::Tensor(t), _) => Place::Tensor(*t),
            (_, Some(slot)) => Place::Slot(slot),
            (_, None) => unreachable!("only live values are asked for"),
        }
    }

    fn inputs(&self, graph: &Graph) -> Vec<(Input, usize)> {
        let all = graph.nodes.iter().zip(&self.slot);
        all.filter_map(|(node, slot)| match node.op {
            Op::Input(i) => slot.map(|s| (graph.inputs[i].clone(), s)),
            _ => None,
        })
        .collect()
    }

    fn instructions(&self, graph: &Graph) -> Vec<Instruction> {
        let mut all = vec![];
        for (i, node) in graph.nodes.iter().enumerate() {
            let Some(slot) = self.slot[i] else { continue };
            if !self.live[i] || matches!(node.op, Op::Input(_)) {
                continue;
            }
            let inputs: Vec<_> =
                node.inputs.iter().map(|&p| (self.place(graph, p), graph.shape(p).to_vec())).collect();
            assert!(inputs.len() <= MOST, "{} has too many operands", node.op.name());
            all.push(Instruction {
                op: node.op.clone(),
                inputs,
                slot,
                shape: node.shape.clone(),
                work: self.work[i],
                constant: self.constant[i],
            });
        }
        all
    }
}

/// The node whose memory a value is: views belong to what they look at.
fn owner(graph: &Graph, mut id: Id) -> Id {
    while graph.node(id).op.is_view() {
        id = graph.node(id).inputs[0];
    }
    id
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Nothing is allocated: only where values would lie is decided.
    #[test]
    fn buffers_rest_less_where_a_network_would_not_fit() {
        let numbers = |operations: usize, size: usize| {
            let mut graph = Graph::new();
            let mut x = graph.input("x", &[size]).unwrap();
            for _ in 0..operations {
                x = graph.relu(x).unwrap();
            }
            let plan = Plan::new(&graph, &[x], false, Some(Precision::F32));
            plan.sizes.iter().sum::<usize>() / size
        };
        // A fortieth of what can be counted: all rest, or some.
        assert_eq!(numbers(30, MOST_NUMBERS / 40), 31);
        let some = numbers(60, MOST_NUMBERS / 40);
        assert!((20..=30).contains(&some), "{some}");
        // A fifth: none does.
        assert!(numbers(60, MOST_NUMBERS / 5) <= 3);
    }
}

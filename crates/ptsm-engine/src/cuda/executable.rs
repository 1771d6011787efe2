//! A compiled program on a GPU: its kernels, the memory they work in, and the runs that are in flight.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::driver::{DeviceAddress, Event, Kernel, Launch, LaunchGraph, Memory, PinnedBuffer};
use super::remote::{CudaTable, CudaTensors};
use super::works::Layout;
use super::{Cuda, compile};
use crate::backend::{Backend, Executable, RunInputs, States};
use crate::codegen::emit;
use crate::cost::ProfileEntry;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::feed::InputFeed;
use crate::graph::ops::count;
use crate::kernels::{Isa, Real};
use crate::optimizer::{Optimizer, STATES, Scalars, Update};
use crate::parameters::Parameters;
use crate::plan::{ExecutionPlan, MemoryRules, ValueLocation};

/// Operations after which a buffer that nobody needs any more is given to another value. What shares memory cannot run at the same
/// time: PTSM takes nearly twice the memory and an eighth less time for one network, a twentieth less for twenty. Less where a network would
/// not fit otherwise.
const RESTS: &[usize] = &[250, 24, 0];
/// Numbers of a replica that the kernels can count.
const MOST_NUMBERS: usize = i32::MAX as usize / 2;
/// Bytes that a replica's description takes, and that of what an input is fed with.
const REPLICA: usize = 48;
const FEED: usize = 32;
/// Runs that may be in flight at once.
const IN_FLIGHT: usize = 2;

impl<T: Real> Backend<T> for Cuda {
    fn memory_rules(&self) -> MemoryRules {
        let precision = self.precision;
        MemoryRules {
            workspace: Box::new(move |op, inputs, output| op.cuda_workspace(inputs, output, precision)),
            rests: RESTS,
            most_numbers: MOST_NUMBERS,
            keeps_constants: false,
        }
    }

    fn compile(
        &self,
        plan: ExecutionPlan,
        optimizer: Option<Optimizer>,
        replicas: usize,
    ) -> Result<Box<dyn Executable<T>>> {
        if size_of::<T>() != size_of::<f32>() {
            return Err(Error::Device("programs in f64 run on the CPU only".into()));
        }
        Ok(Box::new(CudaExecutable::new(self, plan, optimizer, replicas)?))
    }
}

/// One replica's part of a run.
#[derive(Clone, Copy, Debug)]
struct ActiveReplica {
    replica: usize,
    seed: u64,
    step: u32,
    /// Of its update; of no meaning where nothing is moved.
    scalars: Scalars,
}

/// What an input is fed with.
enum CudaFeed<'a> {
    /// Values of each active replica, one after the other.
    Values(Vec<f32>),
    /// The same for all of them.
    Same(Vec<f32>),
    /// Rows of a table, the numbers of each active replica one after the other.
    Rows(&'a CudaTable, Vec<u32>),
}

/// What goes to the GPU for a run and what comes back: the staging buffers of one run in flight.
struct StagingBuffer {
    out: PinnedBuffer,
    back: PinnedBuffer,
    arrived: Event,
}

/// The list of kernels, the memory they work in, and what was recorded of them.
struct CudaExecutable {
    device: Cuda,
    /// The processor for what is copied and looked at here: the thread of the caller.
    host: Cpu,
    plan: Arc<ExecutionPlan>,
    layout: Layout,
    states: usize,
    replicas: usize,
    kernels: Vec<(Kernel, emit::Kernel)>,
    /// Which ones each has to wait for.
    after: Vec<Vec<usize>>,
    /// What each does.
    names: Vec<String>,
    /// Kernels from here on move parameters.
    moves: usize,
    memory: Memory,
    state: Memory,
    /// Chunks, then what a run is told: replicas, feeds, values handed in. Grows to what a run needs.
    table: Memory,
    replicas_at: usize,
    report: Memory,
    /// This side of the runs in flight, used in turn.
    staging: Vec<StagingBuffer>,
    /// Runs begun and runs waited for.
    begun: usize,
    ended: usize,
    /// First and last kernel, replicas, where the parameters are.
    graphs: HashMap<(usize, usize, usize, DeviceAddress), LaunchGraph>,
    /// The reports of the last run that was waited for.
    reports: Vec<f32>,
    /// Gradients that were asked for since the last run: `[replica][gradient]`.
    gradients: Vec<Vec<OnceLock<Vec<f32>>>>,
}

impl CudaExecutable {
    fn new(
        device: &Cuda,
        plan: ExecutionPlan,
        optimizer: Option<Optimizer>,
        replicas: usize,
    ) -> Result<CudaExecutable> {
        let total: usize = plan.sizes.iter().sum();
        if total > MOST_NUMBERS {
            return Err(Error::Device(format!(
                "a replica of {total} numbers is too large; take a smaller batch"
            )));
        }
        let layout = Layout::new(&plan, optimizer)?;
        let forward = layout.forward(&plan, device.precision);
        let update = optimizer.map_or(vec![], |optimizer| layout.update(&plan, &optimizer));
        let Layout { stride, tensor_stride, state_stride, report_stride, .. } = layout;
        let replicas_at = (layout.chunks.len() * 16).next_multiple_of(64);
        let strides = [stride, tensor_stride, state_stride];
        let list = emit::kernels(&forward, strides, replicas_at, 0);
        let more = emit::kernels(&update, strides, replicas_at, list.len());
        let moves = list.len();
        let mut after = emit::waits(list.iter().map(|(kernel, _)| &kernel.uses));
        // Parameters are moved when all else is done, one kernel after the other.
        for i in 0..more.len() {
            let last =
                (0..moves).filter(|k| i == 0 && !after.iter().any(|after| after.contains(k))).collect();
            after.push(if i == 0 { last } else { vec![moves + i - 1] });
        }
        let (shapes, texts): (Vec<_>, Vec<_>) = list.into_iter().chain(more).unzip();
        let names = texts.iter().map(|text| emit::names(text)).collect();
        let source = optimizer.map(|optimizer| optimizer.cuda_source());
        let kernels = compile::kernels(device, &texts, source)?;
        let float = size_of::<f32>();
        let memory = Memory::new(&device.gpu, replicas * stride * float)
            .map_err(|e| fewer(e, device, (stride + state_stride) * float))?;
        let staged = replicas * (REPLICA + FEED * plan.inputs.len());
        let table = Memory::new(&device.gpu, replicas_at + staged)?;
        table.upload(0, bytemuck::cast_slice(&layout.chunks))?;
        let staging = |_| {
            Ok(StagingBuffer {
                out: PinnedBuffer::new(&device.gpu, staged)?,
                back: PinnedBuffer::new(&device.gpu, replicas * report_stride * float)?,
                arrived: Event::new(&device.gpu)?,
            })
        };
        Ok(CudaExecutable {
            kernels: kernels.into_iter().zip(shapes).collect(),
            after,
            names,
            moves,
            memory,
            state: Memory::new(&device.gpu, replicas * state_stride * float)?,
            table,
            replicas_at,
            states: optimizer.map_or(0, |optimizer| optimizer.states()),
            replicas,
            staging: (0..IN_FLIGHT).map(staging).collect::<Result<_>>()?,
            begun: 0,
            ended: 0,
            report: Memory::new(&device.gpu, replicas * report_stride * float)?,
            graphs: HashMap::new(),
            reports: vec![0.0; replicas * report_stride],
            gradients: vec![vec![OnceLock::new(); plan.gradients.len()]; replicas],
            host: Cpu::with(1, Isa::best())?,
            device: device.clone(),
            plan: Arc::new(plan),
            layout,
        })
    }

    /// Lends the parameters as they are on the GPU.
    fn on_device<T: Real, R>(
        &mut self,
        parameters: &Parameters<T>,
        body: impl FnOnce(&mut CudaExecutable, &CudaTensors) -> Result<R>,
    ) -> Result<R> {
        let (device, replicas) = (self.device.clone(), parameters.replicas.len());
        let room = || CudaTensors::new(&device, &parameters.tensors, replicas);
        parameters.on(room, |tensors| body(self, tensors))
    }

    /// Begins a run of active replicas, which moves their parameters by `updates` where there are some.
    fn begin<T: Real>(
        &mut self,
        parameters: &Parameters<T>,
        inputs: RunInputs<'_, T>,
        updates: Option<&[Update]>,
    ) -> Result<()> {
        let active = (0..self.replicas).filter(|r| inputs.is_active(*r)).map(|replica| ActiveReplica {
            replica,
            seed: parameters.replicas[replica].seed,
            step: inputs.runs[replica],
            scalars: updates.map_or([0.0; 4], |updates| updates[replica].scalars()),
        });
        let active: Vec<ActiveReplica> = active.collect();
        let plan = Arc::clone(&self.plan);
        let needed = plan.inputs.iter();
        let feeds = needed.map(|(input, _)| self.feed(InputFeed::find(input, inputs.feeds)?, &active));
        let feeds = feeds.collect::<Result<Vec<_>>>()?;
        self.gradients.iter_mut().flatten().for_each(|gradient| *gradient = OnceLock::new());
        let moves = updates.is_some() && !active.is_empty();
        self.on_device(parameters, |own, tensors| {
            let to = if moves { own.kernels.len() } else { own.moves };
            own.send(&active, &feeds)?;
            let begun = own.start(0, to, active.len(), tensors.place()).and_then(|()| own.ask_for_report());
            if begun.is_err() {
                // What was sent may still be read; the first error is the one to tell.
                let _ = own.device.gpu.wait();
            }
            begun
        })
    }

    /// What the GPU is fed with: values of the active replicas one after the other, or rows of a table that it has.
    fn feed<'a, T: Real>(&self, feed: InputFeed<'a, T>, active: &[ActiveReplica]) -> Result<CudaFeed<'a>> {
        if let Some(table) = feed.table() {
            let resident = table.resident(|rows, order| {
                let row = table.row_length() * size_of::<T>();
                CudaTable::new(&self.device, rows.iter().map(|row| bytemuck::cast_slice(row)), row, order)
            })?;
            let rows = active.iter().flat_map(|a| feed.rows(a.replica)).copied().collect();
            return Ok(CudaFeed::Rows(resident, rows));
        }
        let n = feed.length();
        let fed = if feed.is_shared() { &active[..active.len().min(1)] } else { active };
        let mut values = vec![0f32; fed.len() * n];
        for (values, a) in values.chunks_mut(n.max(1)).zip(fed) {
            feed.copy(&self.host, a.replica, bytemuck::cast_slice_mut(values))?;
        }
        Ok(if feed.is_shared() { CudaFeed::Same(values) } else { CudaFeed::Values(values) })
    }

    /// Lets the report of what was started come back when it is ready.
    fn ask_for_report(&mut self) -> Result<()> {
        let staging = &mut self.staging[self.begun % IN_FLIGHT];
        self.report.receive(&mut staging.back)?;
        staging.arrived.set()?;
        self.begun += 1;
        Ok(())
    }

    /// Waits for the oldest run in flight; its outputs can be read then.
    fn wait_for_report(&mut self) -> Result<()> {
        if self.begun == self.ended {
            return Ok(());
        }
        let staging = &self.staging[self.ended % IN_FLIGHT];
        self.ended += 1;
        staging.arrived.wait()?;
        let n = size_of_val(&self.reports[..]);
        bytemuck::cast_slice_mut(&mut self.reports).copy_from_slice(&staging.back.bytes()[..n]);
        Ok(())
    }

    /// Tells the GPU who runs with what.
    fn send(&mut self, active: &[ActiveReplica], fed: &[CudaFeed<'_>]) -> Result<()> {
        if self.begun - self.ended == IN_FLIGHT {
            return Err(Error::Program(format!("{IN_FLIGHT} runs are under way; finish one first")));
        }
        let mut staged: Vec<u8> = vec![];
        // Where each active replica's part of an input begins in what is handed in, and how far the parts are apart.
        let mut at = vec![];
        for one in fed {
            staged.resize(staged.len().next_multiple_of(256), 0);
            let from = staged.len();
            let apart = |bytes: usize| bytes / active.len().max(1);
            at.push(match one {
                CudaFeed::Values(values) => {
                    staged.extend_from_slice(bytemuck::cast_slice(values));
                    (from, apart(size_of_val(&values[..])))
                }
                CudaFeed::Same(values) => {
                    staged.extend_from_slice(bytemuck::cast_slice(values));
                    (from, 0)
                }
                CudaFeed::Rows(_, rows) => {
                    staged.extend_from_slice(bytemuck::cast_slice(rows));
                    (from, apart(size_of_val(&rows[..])))
                }
            });
        }
        let inputs = self.plan.inputs.len();
        let feeds_at = self.replicas * REPLICA;
        let staged_at = (feeds_at + self.replicas * inputs * FEED).next_multiple_of(256);
        let all = staged_at + staged.len();
        self.make_room(all)?;
        let base = self.table.place().after(self.replicas_at);
        let (mut replicas, mut feeds) = (vec![], vec![]);
        for (i, one) in active.iter().enumerate() {
            let words = [one.replica as u32, one.seed as u32, (one.seed >> 32) as u32, one.step];
            replicas.extend(words.iter().flat_map(|w| w.to_le_bytes()));
            let numbers = one.scalars.map(|x| x as f32);
            replicas.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
            let own = base.after(feeds_at + i * inputs * FEED);
            let report =
                self.report.place().after(one.replica * self.layout.report_stride * size_of::<f32>());
            replicas.extend([own, report].iter().flat_map(|place| place.to_bytes()));
            for (one, (from, apart)) in fed.iter().zip(&at) {
                let part = base.after(staged_at + from + i * apart);
                feeds.extend(match one {
                    CudaFeed::Rows(table, _) => table.to_bytes(part),
                    _ => {
                        let mut bytes = [0; FEED];
                        bytes[..8].copy_from_slice(&part.to_bytes());
                        bytes
                    }
                });
            }
        }
        let out = &mut self.staging[self.begun % IN_FLIGHT].out;
        for (at, bytes) in [(0, replicas), (feeds_at, feeds), (staged_at, staged)] {
            out.bytes_mut()[at..][..bytes.len()].copy_from_slice(&bytes);
        }
        self.table.send(self.replicas_at, out, all)
    }

    /// Makes what a run is told fit on both sides.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        let staging = &mut self.staging[self.begun % IN_FLIGHT];
        if staging.out.bytes().len() < bytes {
            staging.out = PinnedBuffer::new(&self.device.gpu, bytes)?;
        }
        if self.table.bytes() < self.replicas_at + bytes {
            // The old one is given back when nothing reads it any more; what was recorded of it is of no use then.
            self.table = Memory::new(&self.device.gpu, self.replicas_at + bytes)?;
            self.table.upload(0, bytemuck::cast_slice(&self.layout.chunks))?;
            self.graphs.clear();
        }
        Ok(())
    }

    /// Starts a part of the kernels, recorded at the first time.
    fn start(&mut self, from: usize, to: usize, active: usize, parameters: DeviceAddress) -> Result<()> {
        if from == to || active == 0 {
            return Ok(());
        }
        let key = (from, to, active, parameters);
        if !self.graphs.contains_key(&key) {
            let places = [self.memory.place(), parameters, self.state.place(), self.table.place()];
            let launches = (from..to).map(|i| {
                let (kernel, shape) = &self.kernels[i];
                let after = self.after[i].iter().filter_map(|k| k.checked_sub(from)).collect();
                Launch { kernel, blocks: shape.blocks, threads: shape.threads, after }
            });
            let graph = self.device.gpu.record(launches, active, places)?;
            // Parameters that are gone leave graphs behind; there are few of them at any time.
            if self.graphs.len() >= 64 {
                self.device.gpu.wait()?;
                self.graphs.clear();
            }
            self.graphs.insert(key, graph);
        }
        self.graphs.get(&key).map_or(Ok(()), |graph| self.device.gpu.start(graph))
    }
}

impl<T: Real> Executable<T> for CudaExecutable {
    fn plan(&self) -> &ExecutionPlan {
        &self.plan
    }

    fn operations(&self) -> usize {
        self.kernels.len()
    }

    fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    fn state_bytes(&self) -> usize {
        self.state.bytes()
    }

    fn run(&mut self, parameters: &Parameters<T>, inputs: RunInputs<'_, T>) -> Result<()> {
        self.begin(parameters, inputs, None)?;
        while self.begun > self.ended {
            self.wait_for_report()?;
        }
        Ok(())
    }

    fn update(&mut self, parameters: &mut Parameters<T>, updates: &[Update], active: &[bool]) -> Result<()> {
        let moved = (0..self.replicas).filter(|r| active[*r]);
        let moved = moved.map(|replica| ActiveReplica {
            replica,
            seed: 0,
            step: 0,
            scalars: updates[replica].scalars(),
        });
        let moved: Vec<ActiveReplica> = moved.collect();
        self.on_device(parameters, |own, tensors| {
            own.send(&moved, &[])?;
            own.start(own.moves, own.kernels.len(), moved.len(), tensors.place())?;
            own.ask_for_report()?;
            own.wait_for_report()
        })?;
        moved.iter().for_each(|own| parameters.moved(own.replica));
        Ok(())
    }

    fn step(
        &mut self,
        parameters: &mut Parameters<T>,
        inputs: RunInputs<'_, T>,
        updates: &[Update],
        active: &[bool],
    ) -> Result<()> {
        self.begin(parameters, inputs, Some(updates))?;
        (0..self.replicas).filter(|r| active[*r]).for_each(|r| parameters.moved(r));
        Ok(())
    }

    fn most_in_flight(&self) -> usize {
        IN_FLIGHT
    }

    fn in_flight(&self) -> usize {
        self.begun - self.ended
    }

    fn synchronize(&mut self) -> Result<()> {
        self.wait_for_report()
    }

    fn output(&self, replica: usize, output: usize) -> &[T] {
        let at = replica * self.layout.report_stride + self.layout.outputs[output];
        bytemuck::cast_slice(&self.reports[at..][..count(&self.plan.outputs[output].1)])
    }

    fn gradient<'a>(
        &'a self,
        _: &'a Parameters<T>,
        replica: usize,
        gradient: usize,
    ) -> Result<Option<&'a [T]>> {
        let (tensor, place) = self.plan.gradients[gradient];
        // A gradient that is itself a parameter was refused when the plan was laid out.
        let Some(ValueLocation::Slot(slot)) = place else { return Ok(None) };
        let here = &self.gradients[replica][gradient];
        let values = match here.get() {
            Some(values) => values,
            None => {
                let mut values = vec![0f32; self.plan.tensors[tensor].len()];
                let at = replica * self.layout.stride + self.layout.slots[slot];
                self.memory.download(at * size_of::<f32>(), bytemuck::cast_slice_mut(&mut values))?;
                here.get_or_init(|| values)
            }
        };
        Ok(Some(bytemuck::cast_slice(values)))
    }

    fn gradient_norm(&self, replica: usize) -> f64 {
        f64::from(self.reports[(replica + 1) * self.layout.report_stride - 1])
    }

    /// On the GPU the first states of all moved tensors stand before the second ones.
    fn states(&self, replica: usize) -> Result<States<T>> {
        let Layout { moved, state_stride, .. } = self.layout;
        let mut all = vec![0f32; state_stride];
        let at = replica * state_stride * size_of::<f32>();
        self.state.download(at, bytemuck::cast_slice_mut(&mut all))?;
        let mut from = 0;
        let states = self.plan.moved_lengths().map(|n| {
            let own = std::array::from_fn(|i| {
                let kept = if i < self.states { &all[i * moved + from..][..n] } else { &[] };
                bytemuck::cast_slice(kept).to_vec()
            });
            from += n;
            own
        });
        Ok(states.collect())
    }

    fn set_states(&mut self, replica: usize, states: &[[Vec<T>; STATES]]) -> Result<()> {
        let all: Vec<T> =
            (0..self.states).flat_map(|i| states.iter().flat_map(move |s| &s[i])).copied().collect();
        let at = replica * self.layout.state_stride * size_of::<f32>();
        self.state.upload(at, bytemuck::cast_slice(&all))
    }

    /// Of each kernel by itself, for all replicas.
    fn profile(&mut self, parameters: &Parameters<T>, inputs: RunInputs<'_, T>) -> Result<Vec<ProfileEntry>> {
        // Numbers to work with first.
        self.run(parameters, inputs)?;
        self.on_device(parameters, |own, tensors| {
            let places = [own.memory.place(), tensors.place(), own.state.place(), own.table.place()];
            let mut entries = vec![];
            for ((kernel, shape), name) in own.kernels.iter().zip(&own.names) {
                // A row of the same launches hides what starting one costs.
                let launch = |i: usize| Launch {
                    kernel,
                    blocks: shape.blocks,
                    threads: shape.threads,
                    after: i.checked_sub(1).into_iter().collect(),
                };
                let graph = own.device.gpu.record((0..20).map(launch), own.replicas, places)?;
                let seconds = own.device.gpu.time(&graph, 3)? / 20.0;
                entries.push(ProfileEntry::new(
                    name.clone(),
                    shape.kind,
                    seconds,
                    shape.cost.times(own.replicas),
                ));
            }
            Ok(entries)
        })
    }
}

/// Says how many replicas would fit.
fn fewer(error: Error, device: &Cuda, each: usize) -> Error {
    let fit = device.memory().map_or(0, |(free, _)| free / each.max(1));
    Error::Device(format!("{error}; {fit} replicas would fit"))
}

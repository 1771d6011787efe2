//! A compiled program on a GPU.

use std::collections::HashMap;

use super::driver::{Graph, Kernel, Memory, Place as Address};
use super::emit::{self, Emit, MOST_AXES, Work, number};
use super::remote::{Remote, Resident, offsets};
use super::{Cuda, compile};
use crate::cost::{Cost, Spent};
use crate::error::{Error, Result};
use crate::graph::{Input, Tensor};
use crate::ops::count;
use crate::program::{Instruction, Place};
use crate::step::{Adam, Decay};

/// What a program computes, in the terms of its plan.
pub(crate) struct Wanted<'a> {
    pub(crate) instructions: &'a [Instruction],
    /// Numbers in each slot.
    pub(crate) sizes: &'a [usize],
    pub(crate) inputs: &'a [(Input, usize)],
    pub(crate) outputs: &'a [(Place, Vec<usize>)],
    pub(crate) gradients: &'a [(usize, Option<Place>)],
    pub(crate) updates: &'a [(usize, Place)],
    pub(crate) tensors: &'a [Tensor],
    pub(crate) adam: Option<Adam>,
}

/// One replica's part of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) replica: usize,
    pub(crate) seed: u64,
    pub(crate) step: u32,
    /// The learning rate, and how often the optimizer has moved it before; none to move nothing.
    pub(crate) rate: Option<(f64, u64)>,
}

/// What an input is fed with.
pub(crate) enum Fed<'a> {
    /// Values of each active replica, one after the other.
    Values(Vec<f32>),
    /// The same for all of them.
    Same(Vec<f32>),
    /// Rows of a table, the numbers of each active replica one after the other.
    Rows(&'a Resident, Vec<u32>),
}

/// Numbers of a moved tensor that one block moves.
const CHUNK: usize = 2048;
/// Bytes that a replica's description takes.
const REPLICA: usize = 48;

/// The list of kernels, the memory they work in, and what was recorded of them.
pub(crate) struct Engine {
    device: Cuda,
    kernels: Vec<(Kernel, emit::Kernel)>,
    /// What each does.
    names: Vec<String>,
    /// Kernels from here on move parameters.
    moves: usize,
    memory: Memory,
    stride: usize,
    state: Memory,
    state_stride: usize,
    /// Chunks, then replicas, then feeds.
    table: Memory,
    replicas_at: usize,
    replicas: usize,
    inputs: usize,
    /// What is handed in: grows to what a run needs.
    staged: Option<Memory>,
    report: Memory,
    /// Where each output stands in a replica's report; none for a tensor. The gradient's norm is the last number.
    reported: Vec<Option<usize>>,
    report_stride: usize,
    /// Where slots begin.
    slots: Vec<usize>,
    /// First and last kernel, replicas, where the parameters are.
    graphs: HashMap<(usize, usize, usize, Address), Graph>,
    /// The reports of the last run.
    told: Vec<f32>,
}

impl Engine {
    pub(crate) fn new(device: &Cuda, wanted: &Wanted<'_>, replicas: usize) -> Result<Engine> {
        check(wanted)?;
        let (slots, mut stride) = offsets(wanted.sizes.iter().copied());
        let (tensor_at, tensor_stride) = offsets(wanted.tensors.iter().map(Tensor::len));
        let at = |place: Place| match place {
            Place::Tensor(t) => format!("(p + {})", tensor_at[t]),
            Place::Slot(s) => format!("(m + {})", slots[s]),
        };
        let mut works: Vec<Work> = vec![];
        for (i, (input, slot)) in wanted.inputs.iter().enumerate() {
            let rows = input.shape.first().copied().unwrap_or(1);
            let n = count(&input.shape) / rows;
            let mut emit = Emit {
                shapes: &[],
                shape: &input.shape,
                inputs: &[],
                out: &at(Place::Slot(*slot)),
                work: "",
                kind: "input",
                cost: Cost::new::<f32>(0, 2 * rows * n),
                found: &mut works,
            };
            emit.each(rows * n, rows * n, format!("take(at, own, {i}, {}, {rows}, {n})", emit.out));
        }
        for instruction in wanted.instructions {
            let inputs: Vec<String> = instruction.inputs.iter().map(|(place, _)| at(*place)).collect();
            let shapes: Vec<&[usize]> = instruction.inputs.iter().map(|(_, shape)| &shape[..]).collect();
            let out = at(Place::Slot(instruction.slot));
            let work = instruction.work.map_or(String::new(), |(slot, _)| at(Place::Slot(slot)));
            instruction.op.cuda(&mut Emit {
                shapes: &shapes,
                shape: &instruction.shape,
                inputs: &inputs,
                out: &out,
                work: &work,
                kind: instruction.op.name(),
                cost: instruction.cost::<f32>(),
                found: &mut works,
            });
        }
        let mut report_stride = 0;
        let mut reported = vec![];
        for (place, shape) in wanted.outputs {
            reported.push(match place {
                Place::Tensor(_) => None,
                Place::Slot(_) => {
                    let n = count(shape);
                    let call = format!("copy(at, {}, own.report + {report_stride}, {n})", at(*place));
                    let grid = (n > 1 << 14).then(|| (n.div_ceil(256).min(4096), 256));
                    works.push(Work { call, grid, kind: "output", cost: Cost::new::<f32>(0, 2 * n) });
                    report_stride += n;
                    Some(report_stride - n)
                }
            });
        }
        report_stride += 1;
        let forward = works.len();
        let mut chunks: Vec<[i32; 4]> = vec![];
        let mut moments = 0;
        if let Some(adam) = wanted.adam {
            for (tensor, place) in wanted.gradients {
                let length = wanted.tensors[*tensor].len();
                if let Some(place) = place {
                    let Place::Slot(slot) = *place else {
                        return Err(Error::Device(
                            "a gradient that is itself a parameter cannot be moved".into(),
                        ));
                    };
                    for from in (0..length).step_by(CHUNK) {
                        let all = [
                            slots[slot] + from,
                            tensor_at[*tensor] + from,
                            moments + from,
                            CHUNK.min(length - from),
                        ];
                        chunks.push(all.map(|n| n as i32));
                    }
                }
                moments += length;
            }
            let partial = stride;
            stride += (chunks.len() + 1).next_multiple_of(super::remote::ALIGN);
            works.extend(moving(
                &adam,
                wanted,
                &chunks,
                (partial, report_stride - 1, moments),
                at,
                &tensor_at,
            ));
        }
        let (moments_stride, replicas_at) = (2 * moments, (chunks.len() * 16).next_multiple_of(64));
        let list = emit::kernels(&works[..forward], [stride, tensor_stride, moments_stride], replicas_at, 0);
        let more = emit::kernels(
            &works[forward..],
            [stride, tensor_stride, moments_stride],
            replicas_at,
            list.len(),
        );
        let moves = list.len();
        let (shapes, texts): (Vec<_>, Vec<_>) = list.into_iter().chain(more).unzip();
        let names = texts.iter().map(|text| emit::names(text)).collect();
        let kernels = compile::kernels(&device.gpu, &texts, device.kernels.as_deref())?;
        let float = size_of::<f32>();
        let memory = Memory::new(&device.gpu, replicas * stride * float)
            .map_err(|e| fewer(e, device, (stride + moments_stride) * float))?;
        let table_bytes = replicas_at + replicas * (REPLICA + 16 * wanted.inputs.len());
        let table = Memory::new(&device.gpu, table_bytes)?;
        table.upload(0, bytemuck::cast_slice(&chunks))?;
        Ok(Engine {
            kernels: kernels.into_iter().zip(shapes).collect(),
            names,
            moves,
            memory,
            stride,
            state: Memory::new(&device.gpu, replicas * moments_stride * float)?,
            state_stride: moments_stride,
            table,
            replicas_at,
            replicas,
            inputs: wanted.inputs.len(),
            staged: None,
            report: Memory::new(&device.gpu, replicas * report_stride * float)?,
            reported,
            report_stride,
            slots,
            graphs: HashMap::new(),
            told: vec![0.0; replicas * report_stride],
            device: device.clone(),
        })
    }

    pub(crate) fn device(&self) -> &Cuda {
        &self.device
    }

    /// Bytes on the GPU.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.bytes() + self.state.bytes()
    }

    /// Kernels in a run.
    pub(crate) fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Runs active replicas, and moves their parameters where they have a rate.
    pub(crate) fn run(
        &mut self,
        active: &[Moved],
        fed: &[Fed<'_>],
        parameters: &Remote,
        adam: Option<&Adam>,
    ) -> Result<()> {
        self.feed(active, fed, adam)?;
        self.start(0, self.moves, active.len(), parameters.place())?;
        if active.iter().any(|a| a.rate.is_some()) {
            self.start(self.moves, self.kernels.len(), active.len(), parameters.place())?;
        }
        self.listen()
    }

    /// Moves parameters by the gradients of the last run.
    pub(crate) fn move_only(&mut self, active: &[Moved], parameters: &Remote, adam: &Adam) -> Result<()> {
        self.feed(active, &[], Some(adam))?;
        self.start(self.moves, self.kernels.len(), active.len(), parameters.place())?;
        self.listen()
    }

    fn listen(&mut self) -> Result<()> {
        self.report.download(0, bytemuck::cast_slice_mut(&mut self.told))
    }

    /// An output's values in the last run; none where it is a tensor.
    pub(crate) fn output(&self, replica: usize, output: usize, length: usize) -> Option<&[f32]> {
        let at = self.reported[output]?;
        Some(&self.told[replica * self.report_stride + at..][..length])
    }

    /// The gradient's norm at the last move.
    pub(crate) fn norm(&self, replica: usize) -> f32 {
        self.told[(replica + 1) * self.report_stride - 1]
    }

    /// Values of a slot.
    pub(crate) fn slot(&self, replica: usize, slot: usize, length: usize) -> Result<Vec<f32>> {
        let mut values = vec![0f32; length];
        let at = replica * self.stride + self.slots[slot];
        self.memory.download(at * size_of::<f32>(), bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Both moments of all moved tensors of a replica: first ones, then second ones.
    pub(crate) fn moments(&self, replica: usize) -> Result<Vec<f32>> {
        let mut values = vec![0f32; self.state_stride];
        let at = replica * self.state_stride * size_of::<f32>();
        self.state.download(at, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    pub(crate) fn set_moments(&mut self, replica: usize, values: &[f32]) -> Result<()> {
        self.state.upload(replica * self.state_stride * size_of::<f32>(), bytemuck::cast_slice(values))
    }

    /// Seconds that each kernel takes by itself with so many replicas, and what it does.
    pub(crate) fn profile(&mut self, active: usize, parameters: &Remote) -> Result<Vec<Spent>> {
        let places = [self.memory.place(), parameters.place(), self.state.place(), self.table.place()];
        let mut spent = vec![];
        for ((kernel, shape), name) in self.kernels.iter().zip(&self.names) {
            // A row of the same launches hides what starting one costs.
            let launches = std::iter::repeat_n((kernel, shape.blocks, shape.threads), 20);
            let graph = self.device.gpu.record(launches, active, places)?;
            let seconds = self.device.gpu.time(&graph, 3)? / 20.0;
            spent.push(Spent::new(name.clone(), shape.kind, seconds, shape.cost.times(active)));
        }
        Ok(spent)
    }

    /// Tells the GPU who runs with what.
    fn feed(&mut self, active: &[Moved], fed: &[Fed<'_>], adam: Option<&Adam>) -> Result<()> {
        let mut staged: Vec<u8> = vec![];
        // Where each active replica's part of an input begins in what is handed in, and how far the parts are apart.
        let mut at = vec![];
        for one in fed {
            staged.resize(staged.len().next_multiple_of(256), 0);
            let from = staged.len();
            let apart = |n: usize| n * size_of::<f32>() / active.len().max(1);
            at.push(match one {
                Fed::Values(values) => {
                    staged.extend_from_slice(bytemuck::cast_slice(values));
                    (from, apart(values.len()))
                }
                Fed::Same(values) => {
                    staged.extend_from_slice(bytemuck::cast_slice(values));
                    (from, 0)
                }
                Fed::Rows(_, rows) => {
                    staged.extend_from_slice(bytemuck::cast_slice(rows));
                    (from, apart(rows.len()))
                }
            });
        }
        if self.staged.as_ref().is_none_or(|m| m.bytes() < staged.len()) {
            self.staged = None;
            self.staged = Some(Memory::new(&self.device.gpu, staged.len())?);
        }
        let Some(memory) = &self.staged else { return Ok(()) };
        memory.upload(0, &staged)?;
        let feeds_at = self.replicas_at + self.replicas * REPLICA;
        let (start, mut replicas, mut feeds) = (memory.place(), vec![], vec![]);
        for (i, one) in active.iter().enumerate() {
            let (rate, root, keep) = match (one.rate, adam) {
                (Some((rate, steps)), Some(adam)) => adam.corrected(rate, steps + 1),
                _ => (0.0, 1.0, 1.0),
            };
            let words = [one.replica as u32, one.seed as u32, (one.seed >> 32) as u32, one.step];
            replicas.extend(words.iter().flat_map(|w| w.to_le_bytes()));
            replicas
                .extend([rate as f32, root as f32, keep as f32, 0.0].iter().flat_map(|x| x.to_le_bytes()));
            let own = self.table.place().after(feeds_at + i * self.inputs * 16);
            let report = self.report.place().after(one.replica * self.report_stride * size_of::<f32>());
            replicas.extend([own, report].iter().flat_map(|place| place.to_bytes()));
            for (one, (from, apart)) in fed.iter().zip(&at) {
                let staged = start.after(from + i * apart);
                let [data, rows] = match one {
                    Fed::Rows(table, _) => [table.place().to_bytes(), staged.to_bytes()],
                    _ => [staged.to_bytes(), [0; 8]],
                };
                feeds.extend(data.into_iter().chain(rows));
            }
        }
        self.table.upload(self.replicas_at, &replicas)?;
        self.table.upload(feeds_at, &feeds)
    }

    /// Starts a part of the kernels, recorded at the first time.
    fn start(&mut self, from: usize, to: usize, active: usize, parameters: Address) -> Result<()> {
        if from == to || active == 0 {
            return Ok(());
        }
        let key = (from, to, active, parameters);
        if !self.graphs.contains_key(&key) {
            let places = [self.memory.place(), parameters, self.state.place(), self.table.place()];
            let launches = self.kernels[from..to].iter().map(|(k, shape)| (k, shape.blocks, shape.threads));
            let graph = self.device.gpu.record(launches, active, places)?;
            // Parameters that are gone leave graphs behind; there are few of them at any time.
            if self.graphs.len() >= 64 {
                self.graphs.clear();
            }
            self.graphs.insert(key, graph);
        }
        self.graphs.get(&key).map_or(Ok(()), |graph| self.device.gpu.start(graph))
    }
}

/// What the kernels cannot count.
fn check(wanted: &Wanted<'_>) -> Result<()> {
    for instruction in wanted.instructions {
        let shapes = instruction.inputs.iter().map(|(_, shape)| shape).chain([&instruction.shape]);
        for shape in shapes {
            if shape.len() > MOST_AXES {
                return Err(Error::Device(format!("a value of {shape:?} has more than {MOST_AXES} axes")));
            }
        }
    }
    let total: usize = wanted.sizes.iter().sum();
    if total > i32::MAX as usize / 2 {
        return Err(Error::Device(format!(
            "a replica of {total} numbers is too large; take a smaller batch"
        )));
    }
    Ok(())
}

/// Says how many replicas would fit.
fn fewer(error: Error, device: &Cuda, each: usize) -> Error {
    let fit = device.memory().map_or(0, |(free, _)| free / each.max(1));
    Error::Device(format!("{error}; {fit} replicas would fit"))
}

/// The works of the optimizer.
fn moving(
    adam: &Adam,
    wanted: &Wanted<'_>,
    chunks: &[[i32; 4]],
    (partial, norm, moments): (usize, usize, usize),
    at: impl Fn(Place) -> String,
    tensor_at: &[usize],
) -> Vec<Work> {
    let norm = format!("(own.report + {norm})");
    let mut works = vec![];
    let mut push = |call: String, grid, multiply_adds, numbers| {
        works.push(Work { call, grid, kind: "optimizer", cost: Cost::new::<f32>(multiply_adds, numbers) });
    };
    let moved: usize = chunks.iter().map(|chunk| chunk[3] as usize).sum();
    let blocks = Some((chunks.len(), 256));
    push(format!("squares(chunks, m, m + {partial})"), blocks, moved, moved);
    let call = format!("gradient_norm(at, m + {partial}, {norm}, {})", chunks.len());
    push(call, None, chunks.len(), chunks.len());
    for (tensor, place) in wanted.updates {
        let n = wanted.tensors[*tensor].len();
        let call = format!("replace(at, {norm}, {}, p + {}, {n})", at(*place), tensor_at[*tensor]);
        push(call, None, 0, 2 * n);
    }
    let clip = number(adam.clip.unwrap_or(f64::INFINITY));
    let l2 = number(if let Decay::Gradient(w) = adam.decay { w } else { 0.0 });
    let (first, second) = adam.betas;
    let betas = [first, second, 1.0 - first, 1.0 - second, adam.eps].map(number).join(", ");
    let rule = format!("Rule{{{clip}, {l2}, {betas}}}");
    // A gradient is read; a parameter and both its moments are read and written.
    let call = format!("adam(own, {rule}, chunks, m, p, s, s + {moments}, {norm})");
    push(call, blocks, 4 * moved, 7 * moved);
    for (tensor, _) in wanted.gradients {
        let of = &wanted.tensors[*tensor];
        if let Some(largest) = of.max_norm {
            let (slices, n) = (of.shape[0], of.len() / of.shape[0]);
            let (tensor, largest) = (tensor_at[*tensor], number(largest));
            let call = format!("constrain(at, {norm}, p + {tensor}, {slices}, {n}, {largest})");
            push(call, None, of.len(), 2 * of.len());
        }
    }
    works
}

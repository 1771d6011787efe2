//! A compiled program on a GPU.

use std::collections::HashMap;

use super::driver::{Graph, Kernel, Launch, Memory, Moment, Pinned, Place as Address};

use super::remote::{Remote, Resident, offsets};
use super::{Cuda, compile};
use crate::codegen::emit::{self, Emit, Uses, Work, number};
use crate::cost::{Cost, Spent};
use crate::error::{Error, Result};
use crate::graph::ops::count;
use crate::graph::{Input, Tensor};
use crate::program::{Instruction, Place};
use crate::step::{Adam, Decay, Move};

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
    /// None to move nothing.
    pub(crate) by: Option<Move>,
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
/// Bytes that a replica's description takes, and that of what an input is fed with.
const REPLICA: usize = 48;
const FEED: usize = 32;
/// Runs that may be under way at once.
const UNDER_WAY: usize = 2;

/// The list of kernels, the memory they work in, and what was recorded of them.
pub(crate) struct Engine {
    device: Cuda,
    kernels: Vec<(Kernel, emit::Kernel)>,
    /// Which ones each has to wait for.
    after: Vec<Vec<usize>>,
    /// What each does.
    names: Vec<String>,
    /// Kernels from here on move parameters.
    moves: usize,
    memory: Memory,
    stride: usize,
    state: Memory,
    state_stride: usize,
    /// Chunks, then what a run is told: replicas, feeds, values handed in. Grows to what a run needs.
    table: Memory,
    chunks: Vec<[i32; 4]>,
    replicas_at: usize,
    replicas: usize,
    inputs: usize,
    report: Memory,
    /// This side of the runs that are under way, used in turn.
    letters: Vec<Letter>,
    /// Runs begun and runs listened to.
    begun: usize,
    heard: usize,
    /// Where each output stands in a replica's report; none for a tensor. The gradient's norm is the last number.
    reported: Vec<Option<usize>>,
    report_stride: usize,
    /// Where slots begin.
    slots: Vec<usize>,
    /// First and last kernel, replicas, where the parameters are.
    graphs: HashMap<(usize, usize, usize, Address), Graph>,
    /// The reports of the last run that was listened to.
    told: Vec<f32>,
}

/// What goes to the GPU for a run and what comes back.
struct Letter {
    out: Pinned,
    back: Pinned,
    arrived: Moment,
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
                precision: device.precision,
                uses: Uses { reads: vec![], writes: vec![*slot] },
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
            let slot = |place: &Place| match place {
                Place::Slot(slot) => Some(*slot),
                Place::Tensor(_) => None,
            };
            let uses = Uses {
                reads: instruction.inputs.iter().filter_map(|(place, _)| slot(place)).collect(),
                writes: std::iter::once(instruction.slot).chain(instruction.work.map(|(s, _)| s)).collect(),
            };
            instruction.op.cuda(&mut Emit {
                uses,
                shapes: &shapes,
                shape: &instruction.shape,
                inputs: &inputs,
                out: &out,
                work: &work,
                precision: device.precision,
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
                Place::Slot(slot) => {
                    let n = count(shape);
                    let call = format!("copy(at, {}, own.report + {report_stride}, {n})", at(*place));
                    let grid = (n > 1 << 14).then(|| (n.div_ceil(256).min(4096), 256));
                    let (cost, uses) =
                        (Cost::new::<f32>(0, 2 * n), Uses { reads: vec![*slot], writes: vec![] });
                    works.push(Work {
                        call,
                        grid,
                        kind: "output",
                        cost,
                        uses,
                        shared: true,
                        pointwise: None,
                    });
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
        let mut after = emit::waits(list.iter().map(|(kernel, _)| &kernel.uses));
        // Parameters are moved when all else is done, one kernel after the other.
        for i in 0..more.len() {
            let last =
                (0..moves).filter(|k| i == 0 && !after.iter().any(|after| after.contains(k))).collect();
            after.push(if i == 0 { last } else { vec![moves + i - 1] });
        }
        let (shapes, texts): (Vec<_>, Vec<_>) = list.into_iter().chain(more).unzip();
        let names = texts.iter().map(|text| emit::names(text)).collect();
        let kernels = compile::kernels(device, &texts)?;
        let float = size_of::<f32>();
        let memory = Memory::new(&device.gpu, replicas * stride * float)
            .map_err(|e| fewer(e, device, (stride + moments_stride) * float))?;
        let letter_bytes = replicas * (REPLICA + FEED * wanted.inputs.len());
        let table = Memory::new(&device.gpu, replicas_at + letter_bytes)?;
        table.upload(0, bytemuck::cast_slice(&chunks))?;
        let letter = |_| {
            Ok(Letter {
                out: Pinned::new(&device.gpu, letter_bytes)?,
                back: Pinned::new(&device.gpu, replicas * report_stride * float)?,
                arrived: Moment::new(&device.gpu)?,
            })
        };
        Ok(Engine {
            kernels: kernels.into_iter().zip(shapes).collect(),
            after,
            names,
            moves,
            memory,
            stride,
            state: Memory::new(&device.gpu, replicas * moments_stride * float)?,
            state_stride: moments_stride,
            table,
            chunks,
            replicas_at,
            replicas,
            inputs: wanted.inputs.len(),
            letters: (0..UNDER_WAY).map(letter).collect::<Result<_>>()?,
            begun: 0,
            heard: 0,
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

    /// Begins a run of active replicas, which moves their parameters where they are to be moved. It has ended when it was listened to.
    pub(crate) fn begin(&mut self, active: &[Moved], fed: &[Fed<'_>], parameters: &Remote) -> Result<()> {
        let moves = active.iter().any(|a| a.by.is_some());
        let to = if moves { self.kernels.len() } else { self.moves };
        self.send(active, fed)?;
        let begun = self.start(0, to, active.len(), parameters.place()).and_then(|()| self.ask());
        if begun.is_err() {
            // What was sent may still be read; the first error is the one to tell.
            let _ = self.device.gpu.wait();
        }
        begun
    }

    /// Moves parameters by the gradients of the last run.
    pub(crate) fn move_only(&mut self, active: &[Moved], parameters: &Remote) -> Result<()> {
        self.send(active, &[])?;
        self.start(self.moves, self.kernels.len(), active.len(), parameters.place())?;
        self.ask()?;
        self.listen()
    }

    /// Runs that are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.begun - self.heard
    }

    /// Lets the report of what was started come back when it is ready.
    fn ask(&mut self) -> Result<()> {
        let letter = &mut self.letters[self.begun % UNDER_WAY];
        self.report.receive(&mut letter.back)?;
        letter.arrived.set()?;
        self.begun += 1;
        Ok(())
    }

    /// Waits for the oldest run that is under way; its outputs can be read then.
    pub(crate) fn listen(&mut self) -> Result<()> {
        if self.under_way() == 0 {
            return Ok(());
        }
        let letter = &self.letters[self.heard % UNDER_WAY];
        self.heard += 1;
        letter.arrived.wait()?;
        let n = size_of_val(&self.told[..]);
        bytemuck::cast_slice_mut(&mut self.told).copy_from_slice(&letter.back.bytes()[..n]);
        Ok(())
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
            let launch = |i: usize| Launch {
                kernel,
                blocks: shape.blocks,
                threads: shape.threads,
                after: i.checked_sub(1).into_iter().collect(),
            };
            let graph = self.device.gpu.record((0..20).map(launch), active, places)?;
            let seconds = self.device.gpu.time(&graph, 3)? / 20.0;
            spent.push(Spent::new(name.clone(), shape.kind, seconds, shape.cost.times(active)));
        }
        Ok(spent)
    }

    /// Tells the GPU who runs with what.
    fn send(&mut self, active: &[Moved], fed: &[Fed<'_>]) -> Result<()> {
        if self.under_way() == UNDER_WAY {
            return Err(Error::Program(format!("{UNDER_WAY} runs are under way; finish one first")));
        }
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
        let feeds_at = self.replicas * REPLICA;
        let staged_at = (feeds_at + self.replicas * self.inputs * FEED).next_multiple_of(256);
        let all = staged_at + staged.len();
        self.make_room(all)?;
        let letter = self.table.place().after(self.replicas_at);
        let (mut replicas, mut feeds) = (vec![], vec![]);
        for (i, one) in active.iter().enumerate() {
            let (rate, root, keep) = one.by.map_or((0.0, 1.0, 1.0), |by| by.corrected());
            let first = one.by.map_or(0.0, |by| by.adam.betas.0);
            let words = [one.replica as u32, one.seed as u32, (one.seed >> 32) as u32, one.step];
            replicas.extend(words.iter().flat_map(|w| w.to_le_bytes()));
            let numbers = [rate, root, keep, first].map(|x| x as f32);
            replicas.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
            let own = letter.after(feeds_at + i * self.inputs * FEED);
            let report = self.report.place().after(one.replica * self.report_stride * size_of::<f32>());
            replicas.extend([own, report].iter().flat_map(|place| place.to_bytes()));
            for (one, (from, apart)) in fed.iter().zip(&at) {
                let part = letter.after(staged_at + from + i * apart);
                feeds.extend(match one {
                    Fed::Rows(table, _) => table.to_bytes(part),
                    _ => {
                        let mut bytes = [0; FEED];
                        bytes[..8].copy_from_slice(&part.to_bytes());
                        bytes
                    }
                });
            }
        }
        let out = &mut self.letters[self.begun % UNDER_WAY].out;
        for (at, bytes) in [(0, replicas), (feeds_at, feeds), (staged_at, staged)] {
            out.bytes_mut()[at..][..bytes.len()].copy_from_slice(&bytes);
        }
        self.table.send(self.replicas_at, out, all)
    }

    /// Makes what a run is told fit on both sides.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        let letter = &mut self.letters[self.begun % UNDER_WAY];
        if letter.out.bytes().len() < bytes {
            letter.out = Pinned::new(&self.device.gpu, bytes)?;
        }
        if self.table.bytes() < self.replicas_at + bytes {
            // The old one is given back when nothing reads it any more; what was recorded of it is of no use then.
            self.table = Memory::new(&self.device.gpu, self.replicas_at + bytes)?;
            self.table.upload(0, bytemuck::cast_slice(&self.chunks))?;
            self.graphs.clear();
        }
        Ok(())
    }

    /// Starts a part of the kernels, recorded at the first time.
    fn start(&mut self, from: usize, to: usize, active: usize, parameters: Address) -> Result<()> {
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

/// Numbers of a replica that the kernels can count.
pub(crate) const MOST_NUMBERS: usize = i32::MAX as usize / 2;

/// What the kernels cannot count.
fn check(wanted: &Wanted<'_>) -> Result<()> {
    let total: usize = wanted.sizes.iter().sum();
    if total > MOST_NUMBERS {
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
        let cost = Cost::new::<f32>(multiply_adds, numbers);
        works.push(Work {
            call,
            grid,
            kind: "optimizer",
            cost,
            uses: Uses::default(),
            shared: true,
            pointwise: None,
        });
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
    let second = [adam.betas.1, 1.0 - adam.betas.1, adam.eps].map(number).join(", ");
    let rule = format!("Rule{{{clip}, {l2}, {second}}}");
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

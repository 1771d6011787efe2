//! Small networks as a compiled graph: build once, differentiate, plan, run many replicas at once.
//!
//! A decoder of EEG is small, its shapes are known beforehand, and it is trained hundreds of times over (folds, seeds,
//! ablations). This engine is made for that and for nothing else. This page is the whole of it; ten minutes.
//!
//! # A graph
//!
//! A [`Graph`] is a list of operations with known shapes. Every function on it appends a node and returns its [`Id`]; a
//! misfit is an error that names the operation, the part of the network and both shapes. Nothing is computed yet.
//!
//! ```
//! use ptsm_engine::{Adam, Cpu, Feed, Graph, Init, Mode, Objective, Parameters, Program, Step, StepSpec};
//!
//! let (batch, features, classes) = (8, 3, 2);
//! let mut g = Graph::new();
//! let x = g.input("x", &[batch, features])?;
//! let y = g.labels("y", &[batch], classes)?;
//! let logits = g.scoped("head", |g| {
//!     let weight = g.parameter("weight", &[classes, features], Init::fan_in(features))?; // `head.weight`
//!     let bias = g.parameter("bias", &[classes], Init::Constant(0.0))?;
//!     g.linear(x, weight, Some(bias))
//! })?;
//! let loss = g.cross_entropy(logits, y, 0.0)?;
//!
//! // A training step over two replicas: two networks of one shape with their own seeds, data, learning rates.
//! let cpu = Cpu::new()?;
//! let mut parameters = Parameters::<f32>::new(&g, &[1, 2])?;
//! let spec = StepSpec {
//!     mode: Mode::Train,
//!     objectives: vec![Objective::new(&g, loss, |_name| true)], // a loss and the parameters it moves
//!     outputs: vec![loss],
//!     optimizer: Adam::default().into(),
//! };
//! let mut step = Step::new(&g, &spec, 2, &cpu)?;
//!
//! let data: Vec<f32> = (0..20 * features).map(|i| (i as f32).sin()).collect(); // 20 trials, resident
//! let labels: Vec<u32> = (0..20).map(|i| i % 2).collect();
//! let rows: Vec<u32> = (0..2 * batch as u32).collect(); // 8 trials for each replica
//! for _ in 0..50 {
//!     let feeds = [
//!         ("x", Feed::Rows { data: &data, rows: &rows }),
//!         ("y", Feed::LabelRows { data: &labels, rows: &rows }),
//!     ];
//!     step.run(&mut parameters, &feeds, &[0.1, 0.01], &[true, true])?;
//! }
//! let last = step.output(&parameters, 0, 0)[0];
//!
//! // The same graph, applied: running statistics, no dropout, nothing that only the loss needs.
//! let mut decode = Program::new(&g, Mode::Infer, &[logits], 2, &cpu)?;
//! decode.run(&parameters, &[("x", Feed::Shared(&data[..batch * features]))])?;
//! assert_eq!(decode.output(&parameters, 1, 0).len(), batch * classes);
//! # assert!(last < 0.7);
//! # Ok::<(), ptsm_engine::Error>(())
//! ```
//!
//! A larger one: PTSM, drawn by [`Graph::draw`] from the graph that trains it (`cargo lab draw`). Green is handed in, red is
//! minimised.
//!
#![doc = include_str!("../docs/ptsm.svg")]
//!
//! # How a step runs
//!
//! 1. **Lower** (`lower.rs`). The network as written becomes the network as run, by [`Mode`]: batch norm takes batch or running
//!    statistics, dropout stays or goes. Neighbours join: normalisation, activation, dropout and pooling become one pass
//!    over memory; a temporal and a spatial convolution become one with composed weights, also with a batch norm between
//!    them.
//! 2. **Differentiate** (`gradient.rs`). From the loss backwards, each operation appends the nodes of its gradient. A gradient is
//!    more graph; nothing is recorded while running. Several [`Objective`]s may move different parameters in one step.
//! 3. **Plan** (`plan/`). Nodes nobody reads are dropped. Every other value gets one of the program's buffers, which is reused as
//!    soon as its last reader has run. A step allocates nothing, but for what handing work to other threads takes.
//! 4. **Run** (`processor.rs`, `cuda/`). Each replica goes through the list on its own: own parameters, own rows of the data, own random
//!    stream. Where replicas fill the cores, every core runs its own from end to end; otherwise the work inside an operation is shared.
//!    Pieces of work are cut by shape, never by the number of threads, and random numbers are a function of (seed, stream, step, place):
//!    the same seed gives the same bytes on any number of cores.
//! 5. **Update** (`optimizer/`). [`Adam`] or [`Sgd`] with either kind of weight decay, after clipping, at each replica's own rate; then
//!    max-norm constraints and running statistics.
//!
//! A device is behind two traits (`backend.rs`): `Backend` compiles a plan, `Executable` runs it, moves parameters and hands values back.
//! The processor and NVIDIA GPUs implement both; programs and training steps know nothing else of them. Which module may use which is
//! written down in `modules.toml`; there are no cycles.
//!
//! # Adding an operation
//!
//! One file in `graph/ops/`, its module and one line in the registry of `graph/ops/mod.rs`. An operation is plain data (so that every device
//! can read it) that knows its name, the shape of its result, the nodes of its gradient, its CPU kernel and the call of its CUDA kernel.
//! This is the whole file of the variance over the last axis, `graph/ops/variance.rs`, as it is compiled:
//!
#![doc = "```text"]
#![doc = include_str!("graph/ops/variance.rs")]
#![doc = "```"]
//!
//! The calls in `cuda` name functions of `codegen/text`, here `variance.cu`; a new file is added to the list in `codegen/emit.rs`. The
//! arguments are places in the replica's memory and sizes, all known when a program is compiled:
//!
#![doc = "```text"]
#![doc = include_str!("codegen/text/variance.cu")]
#![doc = "```"]
//!
//! An operation whose numbers are made one by one needs no function: `at.pointwise(at.same(), "sqrtf($0)".into())` is the CUDA side of a
//! square root, and is fused with its neighbours.
//!
//! The registry's lines are `Variance: variance::Variance,` and `VarianceGrad: variance::VarianceGrad,`. A line in `tests/gradients.rs` holds
//! the operation against finite differences in f64, and a GPU against the CPU where there is one; a test there fails for an operation
//! without such a line. From then on everybody can use it:
//!
//! ```
//! use ptsm_engine::{Cpu, Feed, Graph, Mode, Parameters, Program};
//!
//! let mut g = Graph::new();
//! let x = g.input("x", &[2, 3])?;
//! let variance = g.variance(x)?;
//! let mut program = Program::<f64>::new(&g, Mode::Infer, &[variance], 1, &Cpu::new()?)?;
//! let parameters = Parameters::new(&g, &[1])?;
//! program.run(&parameters, &[("x", Feed::Shared(&[1.0, 2.0, 3.0, 4.0, 4.0, 4.0]))])?;
//! assert_eq!(program.output(&parameters, 0, 0), [2.0 / 3.0, 0.0]);
//! # Ok::<(), ptsm_engine::Error>(())
//! ```
//!
//! # Adding an optimizer
//!
//! One file in `optimizer/` with its CUDA function beside it, and one line in `optimizer/mod.rs`, which says what an optimizer has to know;
//! `sgd.rs` and `sgd.cu` are the shortest example.
//!
//! # Where the speed comes from
//!
//! Two register-tiled kernels (`kernels/product.rs`) do all heavy work, on AVX-512, AVX2, NEON or plain arrays, chosen at run
//! time. A convolution reads its input at shifted places instead of copying it out; kernels of 5 and 7 between wide layers take
//! Winograd's way with 2.5 and 1.75 times fewer multiplications. `docs/performance.md` in the repository has the figures.
//! `unsafe` exists in `kernels/` only, and in the calls of the GPU's driver.
//!
//! # On a GPU
//!
//! [`Step::new`] and [`Program::new`] take a [`Cuda`] in place of a [`Cpu`] and mean the same: the same plan, the same random numbers, sums
//! in another order. All active replicas run in one launch of each kernel; a step is recorded once and started by one call. Data that
//! stays there is a [`RowTable`]. [`Cuda::with_precision`] lets large products and convolutions run on tensor cores, their operands rounded to
//! tf32 or bf16; everything else stays f32.

mod backend;
mod codegen;
mod compile;
mod cost;
mod cpu;
mod cuda;
mod device;
mod draw;
mod error;
mod feed;
mod files;
mod gradient;
mod graph;
mod kernels;
mod lower;
mod optimizer;
mod parameters;
mod plan;
mod processor;
mod program;
mod random;
mod schedule;
mod step;
mod table;

pub use codegen::Precision;
pub use compile::Objective;
pub use cost::ProfileEntry;
pub use cpu::Cpu;
pub use cuda::Cuda;
pub use device::Device;
pub use error::{Error, Result};
pub use feed::Feed;
pub use files::replace;
pub use graph::ops::{Op, Padding, Pooling};
pub use graph::{BatchNormSite, Graph, Id, Init, Input, Node, Tensor};
pub use kernels::{Isa, Real};
pub use lower::Mode;
pub use optimizer::{Adam, Decay, Optimizer, Sgd};
pub use parameters::{Parameters, metadata, tensor_names};
pub use program::Program;
pub use schedule::{OneCycle, RateShape, Schedule};
pub use step::{Checkpoint, Step, StepSpec};
pub use table::RowTable;

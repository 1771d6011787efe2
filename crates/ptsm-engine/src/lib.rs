//! Engine.

mod cpu;
mod error;
mod gradient;
mod graph;
mod kernels;
mod lower;
mod ops;
mod parameters;
mod program;
mod random;
mod real;
mod schedule;
mod step;

pub use cpu::{Cpu, Isa};
pub use error::{Error, Result};
pub use graph::{Graph, Id, Init, Input, Node, Tensor};
pub use lower::Mode;
pub use ops::{BinaryKind, Op, Padding, Pooling, UnaryKind};
pub use parameters::{Parameters, metadata};
pub use program::{Feed, Objective, Program};
pub use real::Real;
pub use schedule::{Schedule, Shape};
pub use step::{Adam, Checkpoint, Decay, Step, StepSpec};

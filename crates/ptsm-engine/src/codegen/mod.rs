//! The text of CUDA kernels: what operations and optimizers write, and the functions they call (`text/`). Nothing here needs a GPU.

pub(crate) mod emit;
mod precision;

pub(crate) use emit::{Emit, OperandSource, index, number};
#[cfg(test)]
pub(crate) use emit::{SlotUses, Work};
pub(crate) use precision::Operand;
pub use precision::Precision;

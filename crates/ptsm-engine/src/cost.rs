//! What operations cost at least, and what they took.

use std::iter::Sum;

/// The least that any way to compute something costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Elementary multiply-adds of the plain definition.
    pub(crate) multiply_adds: u64,
    /// Operands read once and results written once.
    pub(crate) bytes: u64,
}

impl Cost {
    /// Of so many multiply-adds on so many numbers.
    pub(crate) fn new<T>(multiply_adds: usize, numbers: usize) -> Cost {
        Cost { multiply_adds: multiply_adds as u64, bytes: (numbers * size_of::<T>()) as u64 }
    }

    /// Of doing the same for so many replicas.
    pub(crate) fn times(self, replicas: usize) -> Cost {
        let n = replicas as u64;
        Cost { multiply_adds: self.multiply_adds * n, bytes: self.bytes * n }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(all: I) -> Cost {
        all.fold(Cost::default(), |a, b| Cost {
            multiply_adds: a.multiply_adds + b.multiply_adds,
            bytes: a.bytes + b.bytes,
        })
    }
}

/// The time that a part of a program took, beside the least it costs: see [`Program::profile`](crate::Program::profile).
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileEntry {
    /// What ran: an operation with the shape of its result, or a kernel's call with its sizes.
    pub name: String,
    /// The operation; of a kernel that does several, `several`.
    pub kind: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// Elementary multiply-adds of the plain definition: of a convolution or a product exact, of other operations one for each
    /// number of the largest operand or the result.
    pub multiply_adds: u64,
    /// Bytes of operands and results, each read or written once; more are moved where they are looked at more than once and no cache
    /// holds them.
    pub bytes: u64,
}

impl ProfileEntry {
    pub(crate) fn new(name: String, kind: &'static str, seconds: f64, cost: Cost) -> ProfileEntry {
        ProfileEntry { name, kind, seconds, multiply_adds: cost.multiply_adds, bytes: cost.bytes }
    }

    /// Takes in what another like it took.
    pub fn add(&mut self, other: &ProfileEntry) {
        self.seconds += other.seconds;
        self.multiply_adds += other.multiply_adds;
        self.bytes += other.bytes;
    }
}

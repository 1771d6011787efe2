//! A convolution that is only ever applied, in two steps: its weights are laid out once, then used again and again.

use super::super::{Call, Operation};
use super::Conv1d;
use crate::codegen::Emit;
use crate::error::Result;
use crate::kernels::Real;
use crate::kernels::product::Strides;

/// A convolution and the shapes of its operands, which its packed weights do not tell; made by [`prepack`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct PackedShapes {
    conv: Conv1d,
    x: [usize; 3],
    weight: [usize; 3],
}

/// `weight -> packed`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackConv(PackedShapes);

/// `(x, packed, bias) -> as `[`Conv1d`]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedConv(PackedShapes);

/// The two steps of a convolution that is only ever applied: laying out its weights, which need not be done again while
/// they stay the same, and the rest.
pub(crate) fn prepack(conv: Conv1d, x: &[usize], weight: &[usize]) -> Option<(PackConv, PackedConv)> {
    let packed = PackedShapes { conv, x: x.try_into().ok()?, weight: weight.try_into().ok()? };
    Some((PackConv(packed), PackedConv(packed)))
}

impl Operation for PackConv {
    fn name(&self) -> &'static str {
        "conv1d weights"
    }

    fn shape(&self, _: &[&[usize]]) -> Result<Vec<usize>, String> {
        Ok(vec![self.0.conv.filter(&self.0.x, &self.0.weight).workspace()])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let filter = self.0.conv.filter(&self.0.x, &self.0.weight);
        let at = Strides { start: 0, output: filter.rows * filter.taps, row: filter.taps, tap: 1 };
        filter.pack(call.cpu.isa, call.inputs[0], at, call.out);
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        unreachable!("weights are laid out for the CPU only, got {}", at.length())
    }
}

impl Operation for PackedConv {
    fn name(&self) -> &'static str {
        "conv1d"
    }

    fn shape(&self, _: &[&[usize]]) -> Result<Vec<usize>, String> {
        let filter = self.0.conv.filter(&self.0.x, &self.0.weight);
        Ok(vec![filter.batch, filter.groups * filter.outputs, filter.places])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let filter = self.0.conv.filter(&self.0.x, &self.0.weight);
        filter.apply(call.cpu, call.inputs[0], call.inputs[1], call.inputs.get(2).copied(), call.out);
    }

    fn multiply_adds(&self, _: &[&[usize]], _: &[usize]) -> usize {
        self.0.conv.filter(&self.0.x, &self.0.weight).work()
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        unreachable!("weights are laid out for the CPU only, got {}", at.length())
    }
}

//! The operations, one file each, and their registry.
//!
//! An operation is plain data (a struct with its options) that knows its name, the shape of its result, which nodes make up its
//! gradient, how much memory it works in, and how the CPU computes it. To add one, write its file, name the module and add
//! one line to [`operations!`] below; differentiation, planning, drawing and the gradient tests follow.

use crate::codegen::{Emit, Precision, number};
use crate::cpu::Cpu;
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::random::Draw;

mod binary;
mod contrast;
mod conv;
mod dropout;
mod gather;
mod lags;
mod layer_norm;
mod layout;
mod loss;
mod mask;
mod matmul;
mod mode;
mod norm;
mod pool;
mod reduce;
mod reorder;
mod softmax;
mod stride;
mod unary;
mod variance;

pub(crate) use mode::BatchNorm;
pub(crate) use unary::UnaryKind;
pub use {conv::Padding, pool::Pooling};
pub(crate) use {
    conv::{Conv1d, prepack},
    lags::LagMoments,
    norm::{Moments, Normalise, RunningStats},
};

/// What an operation knows. Shapes carry no replica dimension: a kernel sees one replica.
pub(crate) trait Operation {
    /// What a user calls it.
    fn name(&self) -> &'static str;

    /// The shape of the result, or why the operands do not fit.
    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String>;

    /// Appends the nodes of the gradient with respect to each wanted input.
    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let message = "is itself part of a gradient; second derivatives are not defined for it";
        Err(at.graph.misfit(self.name(), message.into()))
    }

    /// Elements of memory needed while it runs, besides operands and result.
    fn workspace(&self, _inputs: &[&[usize]], _output: &[usize]) -> usize {
        0
    }

    /// Elementary multiply-adds of the plain definition; of an operation that has none, one for each number it goes over.
    fn multiply_adds(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
        inputs.iter().map(|shape| count(shape)).fold(count(output), usize::max)
    }

    /// Computes the result on the CPU.
    fn run<T: Real>(&self, call: Call<'_, T>);

    /// As [`workspace`](Self::workspace), on a GPU.
    fn cuda_workspace(&self, _inputs: &[&[usize]], _output: &[usize], _precision: Precision) -> usize {
        0
    }

    /// Says how a GPU computes the result.
    fn cuda(&self, at: &mut Emit<'_>);
}

/// The place at which a gradient rule is applied.
pub(crate) struct Backward<'a> {
    /// Where the gradient's nodes go.
    pub(crate) graph: &'a mut Graph,
    /// The operation's operands.
    pub(crate) inputs: &'a [Id],
    /// Its result.
    pub(crate) output: Id,
    /// The gradient of the loss with respect to that result.
    pub(crate) grad: Id,
    /// Operands that require a gradient.
    pub(crate) requires_grad: &'a [bool],
}

/// One run of one operation for one replica.
pub(crate) struct Call<'a, T> {
    pub(crate) cpu: &'a Cpu,
    pub(crate) inputs: &'a [&'a [T]],
    /// Shapes of the inputs.
    pub(crate) shapes: &'a [&'a [usize]],
    pub(crate) out: &'a mut [T],
    /// Shape of the result.
    pub(crate) shape: &'a [usize],
    pub(crate) work: &'a mut [T],
    pub(crate) draw: Draw,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident: $kind:ty,)*) => {
        /// What a node does.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Op {
            /// A parameter or statistic, by its index in the graph.
            Tensor(usize),
            /// A value handed in, by its index in the graph.
            Input(usize),
            /// A number.
            Constant(f64),
            $($(#[$doc])* $variant($kind),)*
        }

        $(impl From<$kind> for Op {
            fn from(op: $kind) -> Op {
                Op::$variant(op)
            }
        })*

        impl Op {
            /// What a user calls the operation.
            pub fn name(&self) -> &'static str {
                match self {
                    Op::Tensor(_) => "tensor",
                    Op::Input(_) => "input",
                    Op::Constant(_) => "constant",
                    $(Op::$variant(op) => op.name(),)*
                }
            }

            pub(crate) fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
                match self {
                    Op::Tensor(_) | Op::Input(_) | Op::Constant(_) => Ok(vec![]),
                    $(Op::$variant(op) => op.shape(inputs),)*
                }
            }

            pub(crate) fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
                match self {
                    Op::Tensor(_) | Op::Input(_) | Op::Constant(_) => Ok(vec![]),
                    $(Op::$variant(op) => op.gradient(at),)*
                }
            }

            pub(crate) fn workspace(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
                match self {
                    Op::Tensor(_) | Op::Input(_) | Op::Constant(_) => 0,
                    $(Op::$variant(op) => op.workspace(inputs, output),)*
                }
            }

            pub(crate) fn cuda_workspace(
                &self,
                inputs: &[&[usize]],
                output: &[usize],
                precision: Precision,
            ) -> usize {
                match self {
                    Op::Tensor(_) | Op::Input(_) | Op::Constant(_) => 0,
                    $(Op::$variant(op) => op.cuda_workspace(inputs, output, precision),)*
                }
            }

            pub(crate) fn multiply_adds(&self, inputs: &[&[usize]], output: &[usize]) -> usize {
                match self {
                    Op::Tensor(_) | Op::Input(_) | Op::Constant(_) => 0,
                    $(Op::$variant(op) => op.multiply_adds(inputs, output),)*
                }
            }

            pub(crate) fn cuda(&self, at: &mut Emit<'_>) {
                match self {
                    Op::Tensor(_) | Op::Input(_) => {}
                    Op::Constant(c) => at.block(format!("fill(at, {}, {}, 1)", number(*c), at.out)),
                    $(Op::$variant(op) => op.cuda(at),)*
                }
            }

            pub(crate) fn run<T: Real>(&self, call: Call<'_, T>) {
                match self {
                    Op::Tensor(_) | Op::Input(_) => {}
                    Op::Constant(c) => call.out.fill(T::of(*c)),
                    $(Op::$variant(op) => op.run(call),)*
                }
            }
        }
    };
}

operations! {
    /// Elementwise function of one value.
    Unary: unary::Unary,
    /// Its gradient.
    UnaryGrad: unary::UnaryGrad,
    /// Elementwise function of two values, with broadcasting.
    Binary: binary::Binary,
    /// Sum over axes.
    Sum: reduce::Sum,
    /// Repeats along axes; the gradient of a sum.
    Expand: reduce::Expand,
    /// The same elements under another shape.
    Reshape: layout::Reshape,
    /// Axes in another order.
    Transpose: layout::Transpose,
    /// A part of an axis.
    Slice: layout::Slice,
    /// A part among zeros; the gradient of a slice.
    Unslice: layout::Unslice,
    /// Two values one after the other along an axis.
    Concat: layout::Concat,
    /// Places along an axis in another order.
    Reorder: reorder::Reorder,
    /// Labels by other names.
    Relabel: reorder::Relabel,
    /// Passes values on, stops or turns gradients.
    Barrier: layout::Barrier,
    /// (Batched) matrix product.
    MatMul: matmul::MatMul,
    /// Convolution along time.
    Conv1d: conv::Conv1d,
    /// Its gradient with respect to the input.
    ConvInput: conv::ConvInput,
    /// Its gradient with respect to the weights.
    ConvWeight: conv::ConvWeight,
    /// Its weights, laid out for the kernels.
    PackConv: conv::PackConv,
    /// A convolution with such weights.
    PackedConv: conv::PackedConv,
    /// Mean and variance of each channel over the batch.
    Moments: norm::Moments,
    /// Normalisation with activation, dropout and pooling in one pass.
    Normalise: norm::Normalise,
    /// Gradients of its scale and shift.
    NormaliseSums: norm::NormaliseSums,
    /// Gradient of its input.
    NormaliseInput: norm::NormaliseInput,
    /// Running statistics after a batch.
    RunningStats: norm::RunningStats,
    /// Normalisation over the last axis.
    LayerNorm: layer_norm::LayerNorm,
    /// Its gradient with respect to the input.
    LayerNormInput: layer_norm::LayerNormInput,
    /// Its gradient with respect to scale and shift.
    LayerNormSums: layer_norm::LayerNormSums,
    /// Random zeros in training.
    Dropout: dropout::Dropout,
    /// Pooling along time.
    Pool: pool::Pool,
    /// Its gradient.
    PoolGrad: pool::PoolGrad,
    /// Softmax over the last axis.
    Softmax: softmax::Softmax,
    /// Its gradient.
    SoftmaxGrad: softmax::SoftmaxGrad,
    /// Cross-entropy of logits.
    CrossEntropy: loss::CrossEntropy,
    /// Its gradient.
    CrossEntropyGrad: loss::CrossEntropyGrad,
    /// Supervised contrastive loss.
    NtXent: contrast::NtXent,
    /// Its gradient.
    NtXentGrad: contrast::NtXentGrad,
    /// A trial weighed by a mask over channels and one over time.
    OuterMask: mask::OuterMask,
    /// Its gradient with respect to a mask.
    OuterMaskGrad: mask::OuterMaskGrad,
    /// Variance over the last axis.
    Variance: variance::Variance,
    /// Its gradient.
    VarianceGrad: variance::VarianceGrad,
    /// Rows of a table by index.
    Gather: gather::Gather,
    /// Its gradient.
    Scatter: gather::Scatter,
    /// Mean products of a signal with shifted copies of itself.
    LagMoments: lags::LagMoments,
    /// Batch normalisation; compiled to moments and normalisation, by mode.
    BatchNorm: mode::BatchNorm,
    /// One value in training, another in inference.
    ByMode: mode::ByMode,
    /// Every channel through every temporal filter; compiled away where it meets a spatial convolution.
    TemporalConv: mode::TemporalConv,
    /// All channels to one.
    SpatialConv: mode::SpatialConv,
}

impl Op {
    /// The result is the first operand's memory under another name.
    pub(crate) fn is_view(&self) -> bool {
        matches!(self, Op::Reshape(_) | Op::Barrier(_))
    }
}

/// Number of elements.
pub(crate) fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The operands of an operation that takes exactly `N`.
pub(crate) fn operands<'a, const N: usize>(inputs: &[&'a [usize]]) -> Result<[&'a [usize]; N], String> {
    inputs.try_into().map_err(|_| format!("takes {N} operands, got {}", inputs.len()))
}

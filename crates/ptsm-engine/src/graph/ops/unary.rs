//! Elementwise functions of one value.

use super::{Backward, Call, Operation, operands};
use crate::codegen::{Emit, number};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::rows::RowChange;
use crate::kernels::versions::vectorised;
use crate::kernels::{Isa, Real};

/// Which function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum UnaryKind {
    /// `x` above zero, `exp(x) - 1` below.
    Elu,
    /// `max(x, 0)`
    Relu,
    /// `x * Phi(x)` with the exact normal distribution function.
    Gelu,
    /// `1 / (1 + exp(-x))`
    Sigmoid,
    /// `x * x`
    Square,
    /// Square root.
    Sqrt,
    /// `1 / x`
    Reciprocal,
    /// Absolute value; derivative 0 at 0.
    Abs,
    /// `exp(x)`
    Exp,
    /// Natural logarithm.
    Ln,
    /// Limited to `low..=high`; derivative 0 outside.
    Clamp {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// `scale * x + offset`
    Affine {
        /// Factor.
        scale: f64,
        /// Summand.
        offset: f64,
    },
}

/// `y = f(x)`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unary(pub(crate) UnaryKind);

/// `(x, grad) -> grad * f'(x)`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnaryGrad(UnaryKind);

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident => $kind:expr;)*) => {
        impl Graph {
            $($(#[$doc])* pub fn $name(&mut self, x: Id) -> Result<Id> {
                self.apply(Unary($kind), &[x])
            })*
        }
    };
}

functions! {
    /// Exponential linear unit.
    elu => UnaryKind::Elu;
    /// Rectified linear unit.
    relu => UnaryKind::Relu;
    /// Gaussian error linear unit.
    gelu => UnaryKind::Gelu;
    /// Logistic function.
    sigmoid => UnaryKind::Sigmoid;
    /// Square.
    square => UnaryKind::Square;
    /// Square root.
    sqrt => UnaryKind::Sqrt;
    /// `1 / x`
    reciprocal => UnaryKind::Reciprocal;
    /// Absolute value.
    abs => UnaryKind::Abs;
    /// Exponential.
    exp => UnaryKind::Exp;
    /// Natural logarithm.
    ln => UnaryKind::Ln;
    /// `-x`
    negate => UnaryKind::Affine { scale: -1.0, offset: 0.0 };
}

impl Graph {
    /// Limits values to a range; no gradient outside.
    pub fn clamp(&mut self, x: Id, low: f64, high: f64) -> Result<Id> {
        self.apply(Unary(UnaryKind::Clamp { low, high }), &[x])
    }

    /// `scale * x + offset`
    pub fn affine(&mut self, x: Id, scale: f64, offset: f64) -> Result<Id> {
        self.apply(Unary(UnaryKind::Affine { scale, offset }), &[x])
    }

    /// `factor * x`
    pub fn scale(&mut self, x: Id, factor: f64) -> Result<Id> {
        self.affine(x, factor, 0.0)
    }
}

#[inline(always)]
fn sigmoid<T: Real>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp())
}

impl UnaryKind {
    /// Replaces each value by the function's.
    pub(crate) fn apply<T: Real>(self, isa: Isa, values: &mut [T]) {
        macro_rules! each {
            (|$x:ident| $body:expr) => {
                vectorised(
                    isa,
                    #[inline(always)]
                    || {
                        for v in values.iter_mut() {
                            let $x = *v;
                            *v = $body;
                        }
                    },
                )
            };
        }
        match self {
            UnaryKind::Elu => RowChange::Elu.on(isa, values),
            UnaryKind::Relu => each!(|x| if x < T::ZERO { T::ZERO } else { x }),
            UnaryKind::Gelu => each!(|x| x * x.normal()),
            UnaryKind::Sigmoid => each!(|x| sigmoid(x)),
            UnaryKind::Square => each!(|x| x * x),
            UnaryKind::Sqrt => each!(|x| x.sqrt()),
            UnaryKind::Reciprocal => each!(|x| T::ONE / x),
            UnaryKind::Abs => each!(|x| x.abs()),
            UnaryKind::Exp => each!(|x| x.exp()),
            UnaryKind::Ln => values.iter_mut().for_each(|v| *v = v.ln()),
            UnaryKind::Clamp { low, high } => {
                let (low, high) = (T::of(low), T::of(high));
                each!(|x| x.larger(low).smaller(high))
            }
            UnaryKind::Affine { scale, offset } => {
                let (scale, offset) = (T::of(scale), T::of(offset));
                each!(|x| x * scale + offset)
            }
        }
    }

    /// The function as CUDA names it.
    pub(crate) fn cuda(self) -> String {
        match self {
            UnaryKind::Elu => "Elu{}".into(),
            UnaryKind::Relu => "Relu{}".into(),
            UnaryKind::Gelu => "Gelu{}".into(),
            UnaryKind::Sigmoid => "Sigmoid{}".into(),
            UnaryKind::Square => "Square{}".into(),
            UnaryKind::Sqrt => "Sqrt{}".into(),
            UnaryKind::Reciprocal => "Reciprocal{}".into(),
            UnaryKind::Abs => "Abs{}".into(),
            UnaryKind::Exp => "Exp{}".into(),
            UnaryKind::Ln => "Ln{}".into(),
            UnaryKind::Clamp { low, high } => format!("Clamp{{{}, {}}}", number(low), number(high)),
            UnaryKind::Affine { scale, offset } => format!("Affine{{{}, {}}}", number(scale), number(offset)),
        }
    }

    /// Multiplies each gradient by the derivative at `x`.
    pub(crate) fn chain<T: Real>(self, isa: Isa, x: &[T], grads: &mut [T]) {
        macro_rules! each {
            (|$x:ident| $body:expr) => {
                vectorised(
                    isa,
                    #[inline(always)]
                    || {
                        for (g, &$x) in grads.iter_mut().zip(x) {
                            *g *= $body;
                        }
                    },
                )
            };
        }
        let half = T::of(0.5);
        match self {
            UnaryKind::Elu => RowChange::EluSlope(x).on(isa, grads),
            UnaryKind::Relu => each!(|x| if x > T::ZERO { T::ONE } else { T::ZERO }),
            UnaryKind::Gelu => {
                let density = T::of(1.0 / (2.0 * std::f64::consts::PI).sqrt());
                each!(|x| x.normal() + x * density * (-half * x * x).exp())
            }
            UnaryKind::Sigmoid => each!(|x| {
                let y = sigmoid(x);
                y * (T::ONE - y)
            }),
            UnaryKind::Square => each!(|x| x + x),
            UnaryKind::Sqrt => each!(|x| half / x.sqrt()),
            UnaryKind::Reciprocal => each!(|x| -(T::ONE / (x * x))),
            UnaryKind::Abs => each!(|x| if x > T::ZERO {
                T::ONE
            } else if x < T::ZERO {
                -T::ONE
            } else {
                T::ZERO
            }),
            UnaryKind::Exp => each!(|x| x.exp()),
            UnaryKind::Ln => each!(|x| T::ONE / x),
            UnaryKind::Clamp { low, high } => {
                let (low, high) = (T::of(low), T::of(high));
                each!(|x| if x > low && x < high { T::ONE } else { T::ZERO })
            }
            UnaryKind::Affine { scale, .. } => {
                let scale = T::of(scale);
                each!(|_x| scale)
            }
        }
    }
}

/// Elements one thread takes at a time.
const PIECE: usize = 1 << 14;

impl Operation for Unary {
    fn name(&self) -> &'static str {
        match self.0 {
            UnaryKind::Elu => "elu",
            UnaryKind::Relu => "relu",
            UnaryKind::Gelu => "gelu",
            UnaryKind::Sigmoid => "sigmoid",
            UnaryKind::Square => "square",
            UnaryKind::Sqrt => "sqrt",
            UnaryKind::Reciprocal => "reciprocal",
            UnaryKind::Abs => "abs",
            UnaryKind::Exp => "exp",
            UnaryKind::Ln => "ln",
            UnaryKind::Clamp { .. } => "clamp",
            UnaryKind::Affine { .. } => "affine",
        }
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x] = operands(inputs)?;
        Ok(x.to_vec())
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        // The derivative of a linear function needs no memory of its argument.
        let grad = match self.0 {
            UnaryKind::Affine { scale, .. } => at.graph.scale(at.grad, scale)?,
            kind => at.graph.apply(UnaryGrad(kind), &[at.inputs[0], at.grad])?,
        };
        Ok(vec![Some(grad)])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (x, isa) = (call.inputs[0], call.cpu.isa);
        call.cpu.pieces(call.out, PIECE, x.len() * 4, |i, out| {
            out.copy_from_slice(&x[i * PIECE..][..out.len()]);
            self.0.apply(isa, out);
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        at.pointwise(at.same(), format!("{}.value($0)", self.0.cuda()));
    }
}

impl Operation for UnaryGrad {
    fn name(&self) -> &'static str {
        "elementwise gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [x, grad] = operands(inputs)?;
        if x != grad {
            return Err(format!("{x:?} and {grad:?} differ"));
        }
        Ok(x.to_vec())
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let (x, grad, isa) = (call.inputs[0], call.inputs[1], call.cpu.isa);
        call.cpu.pieces(call.out, PIECE, x.len() * 4, |i, out| {
            out.copy_from_slice(&grad[i * PIECE..][..out.len()]);
            self.0.chain(isa, &x[i * PIECE..][..out.len()], out);
        });
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        at.pointwise(at.same(), format!("$1 * {}.slope($0)", self.0.cuda()));
    }
}

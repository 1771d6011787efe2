//! Optimizers: what they keep for each tensor they move, and how they move it on the CPU and on a GPU.
//!
//! An optimizer is one file and one line in [`optimizers!`] below. Its file holds a struct with its options, which implements
//! [`UpdateRule`]; the function that its CUDA side calls stands beside it (`adam.rs` and `adam.cu`). Clipping the gradient's norm, max-norm
//! constraints and running statistics are the same for all of them and are done around the rule.

mod adam;
mod sgd;

pub use adam::Adam;
pub use sgd::Sgd;

use crate::error::{Error, Result};
use crate::kernels::{Isa, Real};

/// The most state tensors that an optimizer keeps for each tensor it moves.
pub(crate) const STATES: usize = 2;

/// How weights are pulled towards zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decay {
    /// Not at all.
    None,
    /// Added to the gradient (classic L2; "Adam").
    Gradient(f64),
    /// Applied to the weights themselves, times the learning rate ("AdamW").
    Decoupled(f64),
}

impl Decay {
    /// What is added to the gradient for each unit of a weight.
    fn l2(self) -> f64 {
        if let Decay::Gradient(w) = self { w } else { 0.0 }
    }

    /// The share of a weight that an update at this learning rate keeps.
    fn keep(self, rate: f64) -> f64 {
        if let Decay::Decoupled(w) = self { 1.0 - rate * w } else { 1.0 }
    }

    fn amount(self) -> f64 {
        match self {
            Decay::None => 0.0,
            Decay::Gradient(w) | Decay::Decoupled(w) => w,
        }
    }
}

/// Numbers of an update that change from step to step, in the order in which the rule itself reads them. A GPU gets them as f32 in
/// `Replica::update`.
pub(crate) type Scalars = [f64; 4];

/// A piece of a tensor that is to be moved.
pub(crate) struct Piece<'a, T> {
    /// The weights.
    pub(crate) values: &'a mut [T],
    /// What the optimizer keeps for them; empty beyond [`UpdateRule::states`].
    pub(crate) states: [&'a mut [T]; STATES],
    /// Their gradient.
    pub(crate) gradient: &'a [T],
    /// What the gradient is to be multiplied with, so that its norm is at most [`UpdateRule::clip`].
    pub(crate) factor: f64,
}

/// What an optimizer knows.
pub(crate) trait UpdateRule: Copy {
    /// Source of the CUDA function that [`cuda`](Self::cuda) names.
    const CUDA: &'static str;

    /// State tensors for each moved tensor, zero at the start; at most [`STATES`].
    const STATES: usize;

    /// Refuses options that it cannot work with.
    fn check(&self) -> Result<()>;

    /// Largest norm of the gradient over all moved tensors together.
    fn clip(&self) -> Option<f64>;

    /// The same optimizer with another decay of its running mean of gradients.
    fn with_momentum(self, momentum: f64) -> Self;

    /// The numbers of the next update, after `before` others.
    fn scalars(&self, rate: f64, before: u64) -> Scalars;

    /// Moves weights on the CPU.
    fn apply<T: Real>(&self, isa: Isa, scalars: Scalars, piece: Piece<'_, T>);

    /// The CUDA function that moves weights on a GPU, and the options it is called with. Its parameters are
    /// `(const Replica &own, <options>, const int4 *chunks, const float *m, float *p, float *first, float *second, const float *norm)`:
    /// a chunk holds the places of a gradient in `m`, of its weights in `p` and of its states in `first` and `second`, and their length.
    fn cuda(&self) -> (&'static str, String);
}

/// Refuses an option, by its name, that is not fine.
fn expect(optimizer: &str, options: &[(&str, f64, bool)]) -> Result<()> {
    match options.iter().find(|(_, _, fine)| !fine) {
        None => Ok(()),
        Some((name, value, _)) => {
            Err(Error::Program(format!("{optimizer} cannot work with a {name} of {value}")))
        }
    }
}

macro_rules! optimizers {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// How a training step moves parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Optimizer {
            $($(#[$doc])* $name($name),)*
        }

        $(impl From<$name> for Optimizer {
            fn from(rule: $name) -> Optimizer {
                Optimizer::$name(rule)
            }
        })*

        impl Optimizer {
            pub(crate) fn check(&self) -> Result<()> {
                match self {
                    $(Optimizer::$name(rule) => rule.check(),)*
                }
            }

            /// State tensors for each moved tensor.
            pub(crate) fn states(&self) -> usize {
                match self {
                    $(Optimizer::$name(_) => <$name as UpdateRule>::STATES,)*
                }
            }

            pub(crate) fn clip(&self) -> Option<f64> {
                match self {
                    $(Optimizer::$name(rule) => rule.clip(),)*
                }
            }

            pub(crate) fn with_momentum(self, momentum: f64) -> Optimizer {
                match self {
                    $(Optimizer::$name(rule) => rule.with_momentum(momentum).into(),)*
                }
            }

            pub(crate) fn scalars(&self, rate: f64, before: u64) -> Scalars {
                match self {
                    $(Optimizer::$name(rule) => rule.scalars(rate, before),)*
                }
            }

            pub(crate) fn apply<T: Real>(&self, isa: Isa, scalars: Scalars, piece: Piece<'_, T>) {
                match self {
                    $(Optimizer::$name(rule) => rule.apply(isa, scalars, piece),)*
                }
            }

            pub(crate) fn cuda(&self) -> (&'static str, String) {
                match self {
                    $(Optimizer::$name(rule) => rule.cuda(),)*
                }
            }

            /// Source of the CUDA function.
            pub(crate) fn cuda_source(&self) -> &'static str {
                match self {
                    $(Optimizer::$name(_) => <$name as UpdateRule>::CUDA,)*
                }
            }
        }
    };
}

optimizers! {
    /// Adam, or AdamW with [`Decay::Decoupled`].
    Adam,
    /// Stochastic gradient descent with momentum.
    Sgd,
}

/// One replica's next update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    /// The optimizer as it is at this step.
    pub(crate) optimizer: Optimizer,
    /// The learning rate.
    pub(crate) rate: f64,
    /// Updates made before.
    pub(crate) before: u64,
}

impl Update {
    pub(crate) fn scalars(&self) -> Scalars {
        self.optimizer.scalars(self.rate, self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every function that an optimizer calls on a GPU is in its source.
    #[test]
    fn the_cuda_side_is_there() {
        for optimizer in [Optimizer::from(Adam::default()), Sgd::default().into()] {
            let (function, options) = optimizer.cuda();
            let kind = options.split('{').next().unwrap_or_default();
            let source = optimizer.cuda_source();
            assert!(
                source.contains(&format!("FUNCTION {function}(const Replica &own, {kind} rule,")),
                "{function}"
            );
            let fields = source.split(&format!("struct {kind} {{")).nth(1).and_then(|s| s.split(';').next());
            let fields = fields.map(|fields| fields.matches(',').count());
            assert_eq!(fields, Some(options.matches(',').count()), "{options}");
            assert!(optimizer.states() <= STATES);
        }
    }
}

//! Stochastic gradient descent with momentum, as in PyTorch (Sutskever et al. 2013, without dampening).

use super::{Decay, Piece, Scalars, UpdateRule, expect};
use crate::codegen::number;
use crate::error::Result;
use crate::kernels::versions::vectorised;
use crate::kernels::{Isa, Real};

/// Stochastic gradient descent with momentum and either kind of weight decay, after clipping the gradient's norm:
/// `b = momentum * b + g`, then `p = p - rate * b`, or with Nesterov's momentum `p = p - rate * (g + momentum * b)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// Decay of the running sum of gradients; 0 for none.
    pub momentum: f64,
    /// Whether the step looks ahead by Nesterov's rule.
    pub nesterov: bool,
    /// Weight decay.
    pub decay: Decay,
    /// Largest norm of the gradient over all moved tensors together.
    pub clip: Option<f64>,
}

impl Default for Sgd {
    fn default() -> Sgd {
        Sgd { momentum: 0.9, nesterov: false, decay: Decay::None, clip: None }
    }
}

impl Sgd {
    /// What the gradient and the running sum count for in the step.
    fn weights(&self, momentum: f64) -> [f64; 2] {
        if self.nesterov { [1.0, momentum] } else { [0.0, 1.0] }
    }
}

impl UpdateRule for Sgd {
    const CUDA: &'static str = include_str!("sgd.cu");
    /// The running sum of gradients.
    const STATES: usize = 1;

    fn check(&self) -> Result<()> {
        let (decay, clip) = (self.decay.amount(), self.clip.unwrap_or(1.0));
        expect(
            "SGD",
            &[
                ("momentum", self.momentum, (0.0..1.0).contains(&self.momentum)),
                ("weight decay", decay, decay >= 0.0 && decay.is_finite()),
                ("clip", clip, clip > 0.0 && clip.is_finite()),
            ],
        )
    }

    fn clip(&self) -> Option<f64> {
        self.clip
    }

    fn with_momentum(self, momentum: f64) -> Sgd {
        Sgd { momentum, ..self }
    }

    /// The rates of the gradient and of the running sum, the share of the weights that stays, the momentum.
    fn scalars(&self, rate: f64, _before: u64) -> Scalars {
        let [gradient, sum] = self.weights(self.momentum).map(|weight| rate * weight);
        [gradient, sum, self.decay.keep(rate), self.momentum]
    }

    fn apply<T: Real>(&self, isa: Isa, scalars: Scalars, piece: Piece<'_, T>) {
        let Piece { values, states: [sum, _], gradient, factor } = piece;
        let [of_gradient, of_sum, keep, momentum] = scalars.map(T::of);
        let [factor, l2] = [factor, self.decay.l2()].map(T::of);
        vectorised(
            isa,
            #[inline(always)]
            || {
                for ((p, b), &g) in values.iter_mut().zip(sum).zip(gradient) {
                    let g = g * factor + l2 * *p;
                    *b = *b * momentum + g;
                    *p = *p * keep - (of_gradient * g + of_sum * *b);
                }
            },
        );
    }

    fn cuda(&self) -> (&'static str, String) {
        let options = [self.clip.unwrap_or(f64::INFINITY), self.decay.l2()];
        ("sgd", format!("SgdRule{{{}}}", options.map(number).join(", ")))
    }
}

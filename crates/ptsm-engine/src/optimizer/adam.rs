//! Adam (Kingma and Ba 2015, arXiv:1412.6980) and AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101).

use super::{Decay, Piece, Scalars, UpdateRule, expect};
use crate::codegen::number;
use crate::error::Result;
use crate::kernels::versions::vectorised;
use crate::kernels::{Isa, Real};

/// Adam (Kingma and Ba 2015) with either kind of weight decay, after clipping the gradient's norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Decay of the two running moments.
    pub betas: (f64, f64),
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Weight decay.
    pub decay: Decay,
    /// Largest norm of the gradient over all moved tensors together.
    pub clip: Option<f64>,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { betas: (0.9, 0.999), eps: 1e-8, decay: Decay::None, clip: None }
    }
}

impl UpdateRule for Adam {
    const CUDA: &'static str = include_str!("adam.cu");
    /// The first and the second moment.
    const STATES: usize = 2;

    fn check(&self) -> Result<()> {
        let (decay, clip) = (self.decay.amount(), self.clip.unwrap_or(1.0));
        let unit = |b: f64| (0.0..1.0).contains(&b);
        expect(
            "Adam",
            &[
                ("first beta", self.betas.0, unit(self.betas.0)),
                ("second beta", self.betas.1, unit(self.betas.1)),
                ("eps", self.eps, self.eps > 0.0 && self.eps.is_finite()),
                ("weight decay", decay, decay >= 0.0 && decay.is_finite()),
                ("clip", clip, clip > 0.0 && clip.is_finite()),
            ],
        )
    }

    fn clip(&self) -> Option<f64> {
        self.clip
    }

    fn with_momentum(self, momentum: f64) -> Adam {
        Adam { betas: (momentum, self.betas.1), ..self }
    }

    /// The rate with the first moment's correction, the correction of the second moment's root, the share of the weights that stays, the
    /// first beta.
    fn scalars(&self, rate: f64, before: u64) -> Scalars {
        let (first, second) = self.betas;
        let steps = i32::try_from(before + 1).unwrap_or(i32::MAX);
        let root = 1.0 / (1.0 - second.powi(steps)).sqrt();
        [rate / (1.0 - first.powi(steps)), root, self.decay.keep(rate), first]
    }

    fn apply<T: Real>(&self, isa: Isa, scalars: Scalars, piece: Piece<'_, T>) {
        let Piece { values, states: [m, v], gradient, factor } = piece;
        let [rate, root, keep, first] = scalars.map(T::of);
        let [factor, l2, eps] = [factor, self.decay.l2(), self.eps].map(T::of);
        let second = T::of(self.betas.1);
        let (one_less_first, one_less_second) = (T::of(1.0 - scalars[3]), T::of(1.0 - self.betas.1));
        vectorised(
            isa,
            #[inline(always)]
            || {
                for (((p, m), v), &g) in values.iter_mut().zip(m).zip(v).zip(gradient) {
                    let g = g * factor + l2 * *p;
                    *m = *m * first + g * one_less_first;
                    *v = *v * second + g * g * one_less_second;
                    *p = *p * keep - rate * *m / (v.sqrt() * root + eps);
                }
            },
        );
    }

    fn cuda(&self) -> (&'static str, String) {
        let clip = self.clip.unwrap_or(f64::INFINITY);
        let options = [clip, self.decay.l2(), self.betas.1, 1.0 - self.betas.1, self.eps];
        ("adam", format!("AdamRule{{{}}}", options.map(number).join(", ")))
    }
}

//! The temporal branch: three convolutions, each with batch norm, ReLU and a max pooling by two, then the mean over time.

use ptsm_engine::{Graph, Id, Init, Pooling};

use super::{Acon, layer};
use crate::error::Result;

const NORM_EPS: f64 = 1e-5;
const NORM_MOMENTUM: f64 = 0.1;
/// Kernel of the second and third convolution, with half of it as zeros on both sides.
const KERNEL: usize = 8;

/// Its tensors: both domains go through them.
pub(super) struct TimeBranch {
    /// Weight, and scale, shift and statistics of the norm.
    blocks: Vec<(Id, [Id; 3])>,
    head: [Id; 2],
}

impl TimeBranch {
    pub(super) fn new(g: &mut Graph, acon: &Acon, channels: usize, classes: usize) -> Result<TimeBranch> {
        let wide = acon.width.saturating_mul(2);
        let shapes =
            [[acon.width, channels, acon.kernel], [wide, acon.width, KERNEL], [acon.features, wide, KERNEL]];
        let block = |(i, shape): (usize, [usize; 3])| {
            g.scoped(i.to_string(), |g| -> Result<_> {
                let init = Init::fan_in(shape[1].saturating_mul(shape[2]));
                let weight = g.scoped("conv", |g| g.parameter("weight", &shape, init))?;
                Ok((weight, g.scoped("norm", |g| g.norm_tensors(shape[0]))?))
            })
        };
        let blocks = shapes.into_iter().enumerate().map(block).collect::<Result<_>>()?;
        Ok(TimeBranch { blocks, head: g.scoped("head", |g| layer(g, acon.features, classes))? })
    }

    /// Features `[B, F]` and logits `[B, K]`.
    pub(super) fn apply(&self, g: &mut Graph, acon: &Acon, x: Id) -> Result<(Id, Id)> {
        let mut h = x;
        for (i, &(weight, norm)) in self.blocks.iter().enumerate() {
            h = g.scoped(i.to_string(), |g| -> Result<Id> {
                let (kernel, stride) = if i == 0 { (acon.kernel, acon.stride) } else { (KERNEL, 1) };
                let h = g.strided_conv(h, weight, stride, kernel / 2)?;
                let h = g.batch_norm_by(h, norm, NORM_EPS, NORM_MOMENTUM)?;
                let h = g.relu(h)?;
                let h = pooled(g, h)?;
                Ok(if i == 0 { g.dropout(h, acon.dropout)? } else { h })
            })?;
        }
        let features = g.mean_axes(h, &[2])?;
        let [weight, bias] = self.head;
        Ok((features, g.linear(features, weight, Some(bias))?))
    }
}

/// The larger of two neighbours each, with one sample added on both sides that never is: after ReLU a zero.
fn pooled(g: &mut Graph, h: Id) -> Result<Id> {
    let h = g.pad(h, 2, 1, 1)?;
    Ok(g.pool(h, Pooling::Max { size: 2, stride: 2 })?)
}

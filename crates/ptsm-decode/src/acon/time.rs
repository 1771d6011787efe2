//! The temporal branch: three convolutions, each with batch norm, ReLU and a max pooling by two, then the mean over time.

use ptsm_engine::{Graph, Id, Init, Padding, Pooling};

use super::{Acon, layer};
use crate::error::Result;

const NORM_EPS: f64 = 1e-5;
const NORM_MOMENTUM: f64 = 0.1;
/// Kernel of the second and third convolution, with half of it as zeros on both sides.
const KERNEL: usize = 8;

/// Its tensors: both domains go through them.
pub(super) struct Time {
    /// Weight, and scale, shift and statistics of the norm.
    blocks: Vec<(Id, [Id; 3])>,
    head: [Id; 2],
}

impl Time {
    pub(super) fn new(g: &mut Graph, acon: &Acon, channels: usize, classes: usize) -> Result<Time> {
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
        Ok(Time { blocks, head: g.scoped("head", |g| layer(g, acon.features, classes))? })
    }

    /// Features `[B, F]` and logits `[B, K]`.
    pub(super) fn apply(&self, g: &mut Graph, acon: &Acon, x: Id) -> Result<(Id, Id)> {
        let mut h = x;
        for (i, &(weight, norm)) in self.blocks.iter().enumerate() {
            h = g.scoped(i.to_string(), |g| -> Result<Id> {
                let h = match i {
                    0 => strided(g, h, weight, acon.stride)?,
                    _ => {
                        let padding = Padding::Zeros { left: KERNEL / 2, right: KERNEL / 2 };
                        g.conv1d(h, weight, None, 1, padding)?
                    }
                };
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
    let [batch, channels, _] = *g.shape(h) else { unreachable!("made with three axes") };
    let edge = zeros(g, &[batch, channels, 1])?;
    let h = g.concat(edge, h, 2)?;
    let h = g.concat(h, edge, 2)?;
    Ok(g.pool(h, Pooling::Max { size: 2, stride: 2 })?)
}

/// A convolution with half its kernel as zeros on both sides, at every `stride`-th place.
///
/// The signal is dealt out to `stride` times as many channels, and the kernel with it: the same products, none of them in vain.
fn strided(g: &mut Graph, x: Id, weight: Id, stride: usize) -> Result<Id> {
    let ([batch, channels, time], [outputs, _, taps]) = (shape_of(g, x), shape_of(g, weight));
    let half = taps / 2;
    if stride == 1 {
        return Ok(g.conv1d(x, weight, None, 1, Padding::Zeros { left: half, right: half })?);
    }
    // Out of what is longer than the signal with its zeros nothing comes; the convolution says so.
    let places = (time + 2 * half).saturating_sub(taps) / stride + 1;
    // Zeros in whole steps: the kernel moves by what is too much.
    let left = half.div_ceil(stride);
    let lead = left * stride - half;
    let steps = (lead + taps).div_ceil(stride);
    let blocks = time.div_ceil(stride);
    let deal = |g: &mut Graph, y: Id, rows: usize, n: usize| -> Result<Id> {
        let y = g.reshape(y, &[rows, channels, n, stride])?;
        let y = g.transpose(y, &[0, 1, 3, 2])?;
        Ok(g.reshape(y, &[rows, channels * stride, n])?)
    };
    let x = padded(g, x, 0, blocks * stride - time)?;
    let x = deal(g, x, batch, blocks)?;
    let weight = padded(g, weight, lead, steps * stride - lead - taps)?;
    let weight = deal(g, weight, outputs, steps)?;
    let right = (places + steps - 1).saturating_sub(blocks + left);
    let y = g.conv1d(x, weight, None, 1, Padding::Zeros { left, right })?;
    if shape_of(g, y)[2] == places { Ok(y) } else { Ok(g.slice(y, 2, 0, places)?) }
}

fn shape_of(g: &Graph, x: Id) -> [usize; 3] {
    let [a, b, c] = *g.shape(x) else { unreachable!("made with three axes") };
    [a, b, c]
}

/// With zeros before and after along the last of three axes.
pub(super) fn padded(g: &mut Graph, x: Id, before: usize, after: usize) -> Result<Id> {
    let [a, b, _] = shape_of(g, x);
    let mut padded = x;
    if before > 0 {
        let edge = zeros(g, &[a, b, before])?;
        padded = g.concat(edge, padded, 2)?;
    }
    if after > 0 {
        let edge = zeros(g, &[a, b, after])?;
        padded = g.concat(padded, edge, 2)?;
    }
    Ok(padded)
}

fn zeros(g: &mut Graph, shape: &[usize]) -> Result<Id> {
    let mut x = g.constant(0.0)?;
    for (axis, &n) in shape.iter().enumerate() {
        x = g.repeat(x, axis, n)?;
    }
    Ok(x)
}

//! Convolutions that go on by more than one sample, put together from others without a wasted product.
//!
//! A stride of S deals the samples out to S phases, which are channels of a convolution with `K / S` taps; the transposed convolution
//! collects the phases again.

use super::layout::Unslice;
use super::{Conv1d, Padding};
use crate::error::Result;
use crate::graph::{Graph, Id};

impl Graph {
    /// Zeros before and after, along an axis.
    pub fn pad(&mut self, x: Id, axis: usize, before: usize, after: usize) -> Result<Id> {
        let Some(&length) = self.shape(x).get(axis) else {
            let message = format!("{:?} has no axis {axis}", self.shape(x));
            return Err(self.misfit("pad", message));
        };
        if before == 0 && after == 0 {
            return Ok(x);
        }
        let total = before.saturating_add(length).saturating_add(after);
        self.apply(Unslice { axis, start: before, total }, &[x])
    }

    /// Convolution along time at every `stride`-th place, with `padding` zeros on both sides and without bias.
    ///
    /// # Shapes
    /// x `[B, C, T]`, weight `[O, C, K]` -> `[B, O, (T + 2 * padding - K) / stride + 1]`
    pub fn strided_conv(&mut self, x: Id, weight: Id, stride: usize, padding: usize) -> Result<Id> {
        let (&[b, c, t], &[o, rows, k]) = (self.shape(x), self.shape(weight)) else {
            return Err(self.unfit_stride("strided_conv", x, weight, stride));
        };
        let padded = t.saturating_add(padding.saturating_mul(2));
        if stride == 0 || rows != c || padded < k {
            return Err(self.unfit_stride("strided_conv", x, weight, stride));
        }
        if stride == 1 {
            return self.conv1d(x, weight, None, 1, Padding::Zeros { left: padding, right: padding });
        }
        // Zeros after the last tap make whole strides of them. What no place reaches is left out.
        let taps = k.next_multiple_of(stride);
        let weight = self.pad(weight, 2, 0, taps - k)?;
        let needed = (padded - k) / stride * stride + taps;
        let x = self.pad(x, 2, padding, padding + needed.saturating_sub(padded))?;
        let x = if needed < padded { self.slice(x, 2, 0, needed)? } else { x };
        let x = self.reshape(x, &[b, c, needed / stride, stride])?;
        let x = self.transpose(x, &[0, 1, 3, 2])?;
        let x = self.reshape(x, &[b, c * stride, needed / stride])?;
        let weight = self.reshape(weight, &[o, c, taps / stride, stride])?;
        let weight = self.transpose(weight, &[0, 1, 3, 2])?;
        let weight = self.reshape(weight, &[o, c * stride, taps / stride])?;
        self.conv1d(x, weight, None, 1, Padding::Valid)
    }

    /// The transposed of [`strided_conv`](Self::strided_conv): every sample becomes `stride` of them.
    ///
    /// # Shapes
    /// x `[B, C, T]`, weight `[C, O, K]` -> `[B, O, (T - 1) * stride + K - 2 * padding]`
    pub fn transposed_conv(&mut self, x: Id, weight: Id, stride: usize, padding: usize) -> Result<Id> {
        let (&[b, c, t], &[rows, o, k]) = (self.shape(x), self.shape(weight)) else {
            return Err(self.unfit_stride("transposed_conv", x, weight, stride));
        };
        let fits = stride > 0 && k.is_multiple_of(stride) && rows == c;
        let whole = t.saturating_sub(1).saturating_mul(stride).saturating_add(k);
        if !fits || whole <= padding.saturating_mul(2) {
            return Err(self.unfit_stride("transposed_conv", x, weight, stride));
        }
        let taps = k / stride;
        // [C, O, taps, phases] -> [O, phases, C, taps], the taps in the other order.
        let weight = self.reshape(weight, &[c, o, taps, stride])?;
        let mut turned = self.slice(weight, 2, taps - 1, 1)?;
        for tap in (0..taps - 1).rev() {
            let one = self.slice(weight, 2, tap, 1)?;
            turned = self.concat(turned, one, 2)?;
        }
        let weight = self.transpose(turned, &[1, 3, 0, 2])?;
        let weight = self.reshape(weight, &[o * stride, c, taps])?;
        let phases = Conv1d { groups: 1, left: taps - 1, right: taps - 1 };
        let y = self.apply(phases, &[x, weight])?;
        let y = self.reshape(y, &[b, o, stride, whole / stride])?;
        let y = self.transpose(y, &[0, 1, 3, 2])?;
        let y = self.reshape(y, &[b, o, whole])?;
        if padding == 0 { Ok(y) } else { self.slice(y, 2, padding, whole - 2 * padding) }
    }

    fn unfit_stride(&self, name: &'static str, x: Id, weight: Id, stride: usize) -> crate::error::Error {
        let (x, weight) = (self.shape(x), self.shape(weight));
        self.misfit(name, format!("input {x:?} and weight {weight:?} do not fit a stride of {stride}"))
    }
}

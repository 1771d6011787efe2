//! Trials seen from both sides: what the first convolution of both views shares.
//!
//! A network with hemispheric symmetry works on rows `[2B, C, T]`, the trials and after them their mirror images, whose channels are exchanged
//! in pairs. A convolution of both takes twice the products of one, and needs half of them: with the sums and differences of paired channels
//!
//! ```text
//! W x   = E s + O d        s = [x_l + x_r, x_middle]     E = [(W_l + W_r) / 2, W_middle]
//! W M x = E s - O d        d = x_l - x_r                 O = (W_l - W_r) / 2
//! ```
//!
//! so that both views together cost as many products as one. Exchanging the sides of a trial turns the sign of `d` and nothing else: the two
//! results are exchanged to the bit.

use crate::error::Result;
use crate::graph::ops::{Conv1d, Op};
use crate::graph::{Graph, Id};

/// Rows that are trials and their mirror images, in a graph that is being lowered.
#[derive(Clone, Copy)]
pub(super) struct TwoViews {
    /// The trials as they were recorded, `[B, C, T]`.
    pub(super) trials: Id,
    /// Sums of paired channels, then channels without a partner, `[B, P + M, T]`.
    sums: Id,
    /// Differences of paired channels, `[B, P, T]`.
    differences: Id,
}

/// Channels by what mirroring does to them: `pairs` left ones, their partners, and those that stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChannelPairs {
    /// All channels: left, right, staying.
    order: Vec<usize>,
    pairs: usize,
}

impl ChannelPairs {
    /// Of an order that is its own inverse; none of another one, or where nothing is exchanged.
    fn of(order: &[usize]) -> Option<ChannelPairs> {
        let own_inverse = order.iter().enumerate().all(|(to, &from)| order.get(from) == Some(&to));
        let left: Vec<usize> = (0..order.len()).filter(|&i| i < order[i]).collect();
        if !own_inverse || left.is_empty() {
            return None;
        }
        let right = left.iter().map(|&i| order[i]);
        let staying = (0..order.len()).filter(|&i| i == order[i]);
        Some(ChannelPairs {
            order: left.iter().copied().chain(right).chain(staying).collect(),
            pairs: left.len(),
        })
    }

    /// `[a + b, middle]` and `a - b` of the left and right places of an axis.
    fn parts(&self, g: &mut Graph, x: Id) -> Result<(Id, Id)> {
        let sorted = g.reorder(x, 1, &self.order)?;
        let (left, right) = (g.slice(sorted, 1, 0, self.pairs)?, g.slice(sorted, 1, self.pairs, self.pairs)?);
        let (mut sum, difference) = (g.add(left, right)?, g.sub(left, right)?);
        let staying = self.order.len() - 2 * self.pairs;
        if staying > 0 {
            let middle = g.slice(sorted, 1, 2 * self.pairs, staying)?;
            sum = g.concat(sum, middle, 1)?;
        }
        Ok((sum, difference))
    }

    /// The same of weights `[O, C, K]`, each part halved where it has a partner.
    fn weights(&self, g: &mut Graph, weight: Id) -> Result<(Id, Id)> {
        let (even, odd) = self.parts(g, weight)?;
        let odd = g.scale(odd, 0.5)?;
        let staying = self.order.len() - 2 * self.pairs;
        if staying == 0 {
            return Ok((g.scale(even, 0.5)?, odd));
        }
        let paired = g.slice(even, 1, 0, self.pairs)?;
        let middle = g.slice(even, 1, self.pairs, staying)?;
        let paired = g.scale(paired, 0.5)?;
        Ok((g.concat(paired, middle, 1)?, odd))
    }
}

/// How a node joins trials and their images: the trials, and the pairs of channels; none where it does something else.
pub(super) fn two_views(source: &Graph, rows: Id) -> Option<(Id, ChannelPairs)> {
    let joined = source.node(rows);
    let [trials, image] = joined.inputs[..] else { return None };
    let mirrored = source.node(image);
    let (Op::Concat(concat), Op::Reorder(reorder)) = (&joined.op, &mirrored.op) else { return None };
    let fits = concat.axis() == 0 && reorder.axis() == 1 && mirrored.inputs[..] == [trials];
    let is_signal = source.shape(trials).len() == 3;
    if !(fits && is_signal) {
        return None;
    }
    Some((trials, ChannelPairs::of(reorder.order())?))
}

impl TwoViews {
    /// Of trials in the graph as run.
    pub(super) fn new(g: &mut Graph, trials: Id, pairs: &ChannelPairs) -> Result<TwoViews> {
        let (sums, differences) = pairs.parts(g, trials)?;
        Ok(TwoViews { trials, sums, differences })
    }

    /// A convolution of both views, in one group: `[2B, O, T']`.
    pub(super) fn convolve(
        &self,
        g: &mut Graph,
        pairs: &ChannelPairs,
        conv: Conv1d,
        weight: Id,
        bias: Option<Id>,
    ) -> Result<Id> {
        let (even, odd) = pairs.weights(g, weight)?;
        let operands: Vec<Id> = [self.sums, even].into_iter().chain(bias).collect();
        let same = g.apply(conv, &operands)?;
        let turned = g.apply(conv, &[self.differences, odd])?;
        let (recorded, image) = (g.add(same, turned)?, g.sub(same, turned)?);
        g.concat(recorded, image, 0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_paired_by_an_order_that_is_its_own_inverse() {
        let pairs = ChannelPairs::of(&[3, 1, 4, 0, 2]).unwrap();
        assert_eq!((pairs.order, pairs.pairs), (vec![0, 2, 3, 4, 1], 2));
        assert_eq!(ChannelPairs::of(&[1, 0]).unwrap().pairs, 1);
        assert_eq!(ChannelPairs::of(&[0, 1]), None, "nothing is exchanged");
        assert_eq!(ChannelPairs::of(&[1, 2, 0]), None, "twice it is not the same");
    }
}

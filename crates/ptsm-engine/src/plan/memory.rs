//! The memory planner: which buffer each value lives in, decided before anything runs.

use std::collections::VecDeque;

use super::{Instruction, MOST_OPERANDS, ValueLocation};
use crate::graph::ops::{Op, count};
use crate::graph::{Graph, Id, Input};
use crate::lower::constants;

/// Numbers of workspace that an operation needs, by the shapes of its operands and of its result.
type Workspace = dyn Fn(&Op, &[&[usize]], &[usize]) -> usize;

/// What a device says about its memory.
pub(crate) struct MemoryRules {
    /// Numbers that an operation needs while it runs, besides operands and result.
    pub(crate) workspace: Box<Workspace>,
    /// Operations after which a buffer that nobody needs any more is given to another value, the best number first; 0 is tried last in any
    /// case. What shares memory cannot run at the same time, so a device that runs several operations at once lets buffers rest where they fit.
    pub(crate) rests: &'static [usize],
    /// Numbers that a replica's buffers may hold together for such a rest.
    pub(crate) most_numbers: usize,
    /// Whether values that follow from parameters alone are kept from run to run by a program that moves nothing.
    pub(crate) keeps_constants: bool,
}

/// Which buffer each value lives in. A buffer is reused as soon as its last reader has run.
pub(super) struct Slots {
    live: Vec<bool>,
    slot: Vec<Option<usize>>,
    work: Vec<Option<(usize, usize)>>,
    pub(super) sizes: Vec<usize>,
    constant: Vec<bool>,
}

impl Slots {
    /// With `hold`, values that follow from parameters alone keep their buffers.
    pub(super) fn new(graph: &Graph, kept: &[Id], hold: bool, rules: &MemoryRules) -> Slots {
        let with = |rest| Slots::resting(graph, kept, hold, rules, rest);
        let fits = |slots: &Slots| slots.sizes.iter().sum::<usize>() <= rules.most_numbers;
        let rests = rules.rests.iter().copied();
        rests.filter(|rest| *rest > 0).map(with).find(fits).unwrap_or_else(|| with(0))
    }

    /// Buffers are given to others so many operations after their last reader.
    fn resting(graph: &Graph, kept: &[Id], hold: bool, rules: &MemoryRules, rest: usize) -> Slots {
        let n = graph.nodes.len();
        let mut live = vec![false; n];
        let mut last = vec![0usize; n];
        for id in kept {
            live[id.index()] = true;
            last[owner(graph, *id).index()] = usize::MAX;
        }
        for i in (0..n).rev() {
            if live[i] {
                for &p in &graph.nodes[i].inputs {
                    live[p.index()] = true;
                    let o = owner(graph, p).index();
                    last[o] = last[o].max(i);
                }
            }
        }
        let constant = if hold { constants(graph) } else { vec![false; n] };
        for i in (0..n).filter(|&i| constant[i]) {
            last[i] = usize::MAX;
        }
        let mut slots = Slots { live, slot: vec![None; n], work: vec![None; n], sizes: vec![], constant };
        let mut free: Vec<usize> = vec![];
        // Buffers that nobody needs any more and that are not yet given to others.
        let mut resting: VecDeque<(usize, usize)> = VecDeque::new();
        // Inputs are there before the first operation runs.
        for (i, node) in graph.nodes.iter().enumerate() {
            if slots.live[i] && matches!(node.op, Op::Input(_)) {
                slots.slot[i] = Some(slots.take(&mut free, count(&node.shape)));
            }
        }
        let mut ends: Vec<Vec<usize>> = vec![vec![]; n];
        for i in 0..n {
            if slots.live[i] && last[i] != usize::MAX && !graph.nodes[i].op.is_view() {
                ends[last[i].max(i)].push(i);
            }
        }
        for (i, node) in graph.nodes.iter().enumerate() {
            if slots.live[i] && !node.op.is_view() && !matches!(node.op, Op::Tensor(_) | Op::Input(_)) {
                // What is held from run to run must not share with what is made anew in each.
                let reusable = if slots.constant[i] { &mut vec![] } else { &mut free };
                slots.slot[i] = Some(slots.take(reusable, count(&node.shape)));
                let shapes: Vec<&[usize]> = node.inputs.iter().map(|&p| graph.shape(p)).collect();
                let need = (rules.workspace)(&node.op, &shapes, &node.shape);
                if need > 0 {
                    let slot = slots.take(&mut free, need);
                    slots.work[i] = Some((slot, need));
                    resting.push_back((i + rest, slot));
                }
            }
            resting.extend(ends[i].iter().filter_map(|&done| slots.slot[done]).map(|slot| (i + rest, slot)));
            while let Some((_, slot)) = resting.pop_front_if(|(until, _)| *until <= i) {
                free.push(slot);
            }
        }
        slots
    }

    /// The smallest free buffer that is large enough; else the largest, grown; else a new one.
    fn take(&mut self, free: &mut Vec<usize>, need: usize) -> usize {
        let fits = |s: &usize| self.sizes[*s] >= need;
        let best = free
            .iter()
            .copied()
            .filter(fits)
            .min_by_key(|&s| self.sizes[s])
            .or_else(|| free.iter().copied().max_by_key(|&s| self.sizes[s]));
        match best {
            // A buffer many times too large is better left for something that fills it.
            Some(s) if self.sizes[s] <= need.saturating_mul(8).max(1 << 12) => {
                free.retain(|f| *f != s);
                self.sizes[s] = self.sizes[s].max(need);
                s
            }
            _ => {
                self.sizes.push(need);
                self.sizes.len() - 1
            }
        }
    }

    pub(super) fn place(&self, graph: &Graph, id: Id) -> ValueLocation {
        let id = owner(graph, id);
        match (&graph.node(id).op, self.slot[id.index()]) {
            (Op::Tensor(t), _) => ValueLocation::Tensor(*t),
            (_, Some(slot)) => ValueLocation::Slot(slot),
            (_, None) => unreachable!("only live values are asked for"),
        }
    }

    pub(super) fn inputs(&self, graph: &Graph) -> Vec<(Input, usize)> {
        let all = graph.nodes.iter().zip(&self.slot);
        all.filter_map(|(node, slot)| match node.op {
            Op::Input(i) => slot.map(|s| (graph.inputs[i].clone(), s)),
            _ => None,
        })
        .collect()
    }

    pub(super) fn instructions(&self, graph: &Graph) -> Vec<Instruction> {
        let mut all = vec![];
        for (i, node) in graph.nodes.iter().enumerate() {
            let Some(slot) = self.slot[i] else { continue };
            if !self.live[i] || matches!(node.op, Op::Input(_)) {
                continue;
            }
            let inputs: Vec<_> =
                node.inputs.iter().map(|&p| (self.place(graph, p), graph.shape(p).to_vec())).collect();
            assert!(inputs.len() <= MOST_OPERANDS, "{} has too many operands", node.op.name());
            all.push(Instruction {
                op: node.op.clone(),
                inputs,
                slot,
                shape: node.shape.clone(),
                work: self.work[i],
                constant: self.constant[i],
            });
        }
        all
    }
}

/// The node whose memory a value is: views belong to what they look at.
fn owner(graph: &Graph, mut id: Id) -> Id {
    while graph.node(id).op.is_view() {
        id = graph.node(id).inputs[0];
    }
    id
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MOST_NUMBERS: usize = 1 << 30;

    /// Nothing is allocated: only where values would lie is decided.
    #[test]
    fn buffers_rest_less_where_a_network_would_not_fit() {
        let numbers = |operations: usize, size: usize| {
            let mut graph = Graph::new();
            let mut x = graph.input("x", &[size]).unwrap();
            for _ in 0..operations {
                x = graph.relu(x).unwrap();
            }
            let rules = MemoryRules {
                workspace: Box::new(|_, _, _| 0),
                rests: &[250, 24, 0],
                most_numbers: MOST_NUMBERS,
                keeps_constants: false,
            };
            Slots::new(&graph, &[x], false, &rules).sizes.iter().sum::<usize>() / size
        };
        // A fortieth of what can be counted: all rest, or some.
        assert_eq!(numbers(30, MOST_NUMBERS / 40), 31);
        let some = numbers(60, MOST_NUMBERS / 40);
        assert!((20..=30).contains(&some), "{some}");
        // A fifth: none does.
        assert!(numbers(60, MOST_NUMBERS / 5) <= 3);
    }
}

//! A plan: what a program computes, in which order, and where every value lives. It is the same for all devices; see
//! [`MemoryRules`] for what differs.

mod memory;

use crate::cost::Cost;
use crate::graph::ops::{Op, count};
use crate::graph::{Graph, Id, Input, Tensor};
use memory::Slots;

pub(crate) use memory::MemoryRules;

/// Where a value is found while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueLocation {
    /// A parameter or statistic.
    Tensor(usize),
    /// One of the program's own buffers.
    Slot(usize),
}

/// The most operands any operation has.
pub(crate) const MOST_OPERANDS: usize = 6;

/// One operation with everything it needs to run.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) op: Op,
    pub(crate) inputs: Vec<(ValueLocation, Vec<usize>)>,
    pub(crate) slot: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) work: Option<(usize, usize)>,
    /// The value follows from parameters alone: it is made again only when they have changed.
    pub(crate) constant: bool,
}

impl Instruction {
    /// The least it costs.
    pub(crate) fn cost<T>(&self) -> Cost {
        let shapes: Vec<&[usize]> = self.inputs.iter().map(|(_, shape)| &shape[..]).collect();
        let numbers = shapes.iter().map(|shape| count(shape)).sum::<usize>() + count(&self.shape);
        Cost::new::<T>(self.op.multiply_adds(&shapes, &self.shape), numbers)
    }
}

/// Values of a graph that a plan is to make.
pub(crate) struct PlannedValues<'a> {
    /// Values to be read.
    pub(crate) outputs: &'a [Id],
    /// Moved tensors and their gradients.
    pub(crate) gradients: &'a [(usize, Option<Id>)],
    /// Statistics and their new values.
    pub(crate) updates: &'a [(usize, Id)],
}

/// All that a device needs to know to run a program.
#[derive(Debug)]
pub(crate) struct ExecutionPlan {
    pub(crate) instructions: Vec<Instruction>,
    /// Numbers in each slot.
    pub(crate) sizes: Vec<usize>,
    /// Inputs that are needed, and the slots they go to.
    pub(crate) inputs: Vec<(Input, usize)>,
    /// Where the outputs are, and their shapes.
    pub(crate) outputs: Vec<(ValueLocation, Vec<usize>)>,
    /// Moved tensors and where their gradients are; none where no objective depends on one.
    pub(crate) gradients: Vec<(usize, Option<ValueLocation>)>,
    /// Statistics and where their new values are.
    pub(crate) updates: Vec<(usize, ValueLocation)>,
    /// The tensors of the network.
    pub(crate) tensors: Vec<Tensor>,
}

impl ExecutionPlan {
    /// Plans some values of a graph. With `hold`, values that follow from parameters alone are kept from run to run.
    pub(crate) fn new(
        graph: &Graph,
        values: &PlannedValues<'_>,
        hold: bool,
        rules: &MemoryRules,
    ) -> ExecutionPlan {
        let PlannedValues { outputs, gradients, updates } = values;
        let gradient_ids = gradients.iter().filter_map(|(_, gradient)| *gradient);
        let kept: Vec<Id> =
            outputs.iter().copied().chain(gradient_ids).chain(updates.iter().map(|(_, id)| *id)).collect();
        let slots = Slots::new(graph, &kept, hold, rules);
        let place = |id: Id| slots.place(graph, id);
        ExecutionPlan {
            instructions: slots.instructions(graph),
            inputs: slots.inputs(graph),
            outputs: outputs.iter().map(|&o| (place(o), graph.shape(o).to_vec())).collect(),
            gradients: gradients.iter().map(|(tensor, gradient)| (*tensor, gradient.map(place))).collect(),
            updates: updates.iter().map(|(tensor, id)| (*tensor, place(*id))).collect(),
            tensors: graph.tensors().to_vec(),
            sizes: slots.sizes,
        }
    }

    /// Numbers of each moved tensor.
    pub(crate) fn moved_lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.gradients.iter().map(|(t, _)| self.tensors[*t].len())
    }
}

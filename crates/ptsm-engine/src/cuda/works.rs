//! From a plan to the calls that a GPU makes: inputs, operations, outputs, and the update of parameters.

use super::remote::{ALIGN, offsets};
use crate::codegen::emit::{SlotUses, Work};
use crate::codegen::{Emit, Precision, number};
use crate::cost::Cost;
use crate::error::{Error, Result};
use crate::graph::Tensor;
use crate::graph::ops::count;
use crate::optimizer::Optimizer;
use crate::plan::{ExecutionPlan, ValueLocation};

/// Numbers of a moved tensor that one block moves.
const CHUNK: usize = 2048;

/// Where everything stands in a replica's parts of the memory, in numbers.
pub(super) struct Layout {
    /// Slots, and how long all of them are with the partial sums of the gradient's norm.
    pub(super) slots: Vec<usize>,
    pub(super) stride: usize,
    pub(super) tensors: Vec<usize>,
    pub(super) tensor_stride: usize,
    /// Outputs in a replica's report. The gradient's norm is its last number.
    pub(super) outputs: Vec<usize>,
    pub(super) report_stride: usize,
    /// Pieces of moved tensors: where the gradient, the tensor and its state stand, and how many numbers.
    pub(super) chunks: Vec<[i32; 4]>,
    /// Numbers of all moved tensors, of what the optimizer keeps for them, and where the partial sums stand.
    pub(super) moved: usize,
    pub(super) state_stride: usize,
    partial: usize,
}

impl Layout {
    pub(super) fn new(plan: &ExecutionPlan, optimizer: Option<Optimizer>) -> Result<Layout> {
        let (slots, mut stride) = offsets(plan.sizes.iter().copied());
        let (tensors, tensor_stride) = offsets(plan.tensors.iter().map(Tensor::len));
        let mut report_stride = 0;
        let mut outputs = vec![];
        for (_, shape) in &plan.outputs {
            outputs.push(report_stride);
            report_stride += count(shape);
        }
        let mut chunks = vec![];
        let (mut moved, partial) = (0, stride);
        if optimizer.is_some() {
            for (tensor, place) in &plan.gradients {
                let length = plan.tensors[*tensor].len();
                if let Some(place) = place {
                    let ValueLocation::Slot(slot) = *place else {
                        return Err(Error::Device(
                            "a gradient that is itself a parameter cannot be moved".into(),
                        ));
                    };
                    for from in (0..length).step_by(CHUNK) {
                        let all = [
                            slots[slot] + from,
                            tensors[*tensor] + from,
                            moved + from,
                            CHUNK.min(length - from),
                        ];
                        chunks.push(all.map(|n| n as i32));
                    }
                }
                moved += length;
            }
            stride += (chunks.len() + 1).next_multiple_of(ALIGN);
        }
        let state_stride = moved * optimizer.map_or(0, |optimizer| optimizer.states());
        Ok(Layout {
            slots,
            stride,
            tensors,
            tensor_stride,
            outputs,
            report_stride: report_stride + 1,
            chunks,
            moved,
            state_stride,
            partial,
        })
    }

    /// A value, as the kernels write it.
    fn at(&self, place: ValueLocation) -> String {
        match place {
            ValueLocation::Tensor(t) => format!("(p + {})", self.tensors[t]),
            ValueLocation::Slot(s) => format!("(m + {})", self.slots[s]),
        }
    }

    /// What a run computes.
    pub(super) fn forward(&self, plan: &ExecutionPlan, precision: Precision) -> Vec<Work> {
        let mut works: Vec<Work> = vec![];
        for (i, (input, slot)) in plan.inputs.iter().enumerate() {
            let rows = input.shape.first().copied().unwrap_or(1);
            let n = count(&input.shape) / rows;
            let mut emit = Emit {
                shapes: &[],
                shape: &input.shape,
                inputs: &[],
                out: &self.at(ValueLocation::Slot(*slot)),
                work: "",
                precision,
                uses: SlotUses { reads: vec![], writes: vec![*slot] },
                kind: "input",
                cost: Cost::new::<f32>(0, 2 * rows * n),
                found: &mut works,
            };
            emit.each(rows * n, rows * n, format!("take(at, own, {i}, {}, {rows}, {n})", emit.out));
        }
        for instruction in &plan.instructions {
            let inputs: Vec<String> = instruction.inputs.iter().map(|(place, _)| self.at(*place)).collect();
            let shapes: Vec<&[usize]> = instruction.inputs.iter().map(|(_, shape)| &shape[..]).collect();
            let out = self.at(ValueLocation::Slot(instruction.slot));
            let work = instruction.work.map_or(String::new(), |(slot, _)| self.at(ValueLocation::Slot(slot)));
            let slot = |place: &ValueLocation| match place {
                ValueLocation::Slot(slot) => Some(*slot),
                ValueLocation::Tensor(_) => None,
            };
            let uses = SlotUses {
                reads: instruction.inputs.iter().filter_map(|(place, _)| slot(place)).collect(),
                writes: std::iter::once(instruction.slot).chain(instruction.work.map(|(s, _)| s)).collect(),
            };
            instruction.op.cuda(&mut Emit {
                uses,
                shapes: &shapes,
                shape: &instruction.shape,
                inputs: &inputs,
                out: &out,
                work: &work,
                precision,
                kind: instruction.op.name(),
                cost: instruction.cost::<f32>(),
                found: &mut works,
            });
        }
        works.extend((0..plan.outputs.len()).map(|output| self.report(plan, output)));
        works
    }

    /// Copies an output to the replica's report.
    fn report(&self, plan: &ExecutionPlan, output: usize) -> Work {
        let (place, shape) = &plan.outputs[output];
        let n = count(shape);
        let reads = if let ValueLocation::Slot(slot) = place { vec![*slot] } else { vec![] };
        Work {
            call: format!("copy(at, {}, own.report + {}, {n})", self.at(*place), self.outputs[output]),
            grid: (n > 1 << 14).then(|| (n.div_ceil(256).min(4096), 256)),
            kind: "output",
            cost: Cost::new::<f32>(0, 2 * n),
            uses: SlotUses { reads, writes: vec![] },
            shared: true,
            pointwise: None,
        }
    }

    /// What moves the parameters.
    pub(super) fn update(&self, plan: &ExecutionPlan, optimizer: &Optimizer) -> Vec<Work> {
        let Layout { chunks, partial, .. } = self;
        let norm = format!("(own.report + {})", self.report_stride - 1);
        let mut works = vec![];
        let mut push = |call: String, grid, multiply_adds, numbers| {
            let cost = Cost::new::<f32>(multiply_adds, numbers);
            let uses = SlotUses::default();
            works.push(Work { call, grid, kind: "optimizer", cost, uses, shared: true, pointwise: None });
        };
        let moved: usize = chunks.iter().map(|chunk| chunk[3] as usize).sum();
        let blocks = Some((chunks.len(), 256));
        push(format!("squares(chunks, m, m + {partial})"), blocks, moved, moved);
        let call = format!("gradient_norm(at, m + {partial}, {norm}, {})", chunks.len());
        push(call, None, chunks.len(), chunks.len());
        for (tensor, place) in &plan.updates {
            let n = plan.tensors[*tensor].len();
            let call =
                format!("replace(at, {norm}, {}, p + {}, {n})", self.at(*place), self.tensors[*tensor]);
            push(call, None, 0, 2 * n);
        }
        let (function, rule) = optimizer.cuda();
        let call = format!("{function}(own, {rule}, chunks, m, p, s, s + {}, {norm})", self.moved);
        // A gradient is read; a parameter and its states are read and written.
        let states = optimizer.states();
        push(call, blocks, (2 + states) * moved, (3 + 2 * states) * moved);
        for (tensor, _) in &plan.gradients {
            let of = &plan.tensors[*tensor];
            if let Some(largest) = of.max_norm {
                let (slices, n) = (of.shape[0], of.len() / of.shape[0]);
                let (tensor, largest) = (self.tensors[*tensor], number(largest));
                let call = format!("constrain(at, {norm}, p + {tensor}, {slices}, {n}, {largest})");
                push(call, None, of.len(), 2 * of.len());
            }
        }
        // A tensor that is an output is reported as it is now.
        let outputs = plan.outputs.iter().enumerate();
        let tensors = outputs.filter(|(_, (place, _))| matches!(place, ValueLocation::Tensor(_)));
        works.extend(tensors.map(|(output, _)| self.report(plan, output)));
        works
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::compile::{CompileRequest, Objective, compile};
    use crate::graph::{Graph, Init};
    use crate::lower::Mode;
    use crate::optimizer::{Adam, Sgd};
    use crate::plan::MemoryRules;

    /// What a step of `sum(w^2)` calls, with `w` as its first output; no GPU is needed to say so.
    #[test]
    fn an_optimizer_is_called_between_the_norm_and_the_report_of_tensors() {
        let mut graph = Graph::new();
        let w = graph.parameter("w", &[3], Init::Constant(1.0)).unwrap();
        let square = graph.square(w).unwrap();
        let loss = graph.sum(square).unwrap();
        let objectives = [Objective::new(&graph, loss, |_| true)];
        let request = CompileRequest { outputs: &[w, loss], objectives: &objectives, traced: None };
        let rules = MemoryRules {
            workspace: Box::new(|op, inputs, output| op.cuda_workspace(inputs, output, Precision::F32)),
            rests: &[],
            most_numbers: usize::MAX,
            keeps_constants: false,
        };
        let plan = compile(&graph, Mode::Train, request, &rules).unwrap();
        for (optimizer, states, call) in [
            (Optimizer::from(Sgd::default()), 3, "sgd(own, SgdRule{INFINITE, 0e0f}"),
            (Adam { betas: (0.9, 0.75), ..Adam::default() }.into(), 6, {
                "adam(own, AdamRule{INFINITE, 0e0f, 7.5e-1f, 2.5e-1f, 1e-8f}"
            }),
        ] {
            let layout = Layout::new(&plan, Some(optimizer)).unwrap();
            assert_eq!((layout.moved, layout.state_stride, layout.report_stride), (3, states, 5));
            let calls: Vec<String> =
                layout.update(&plan, &optimizer).into_iter().map(|work| work.call).collect();
            let [squares, norm, update, report] = &calls[..] else { panic!("{calls:?}") };
            assert!(squares.starts_with("squares(chunks, m, "), "{squares}");
            assert!(norm.starts_with("gradient_norm(at, m + "), "{norm}");
            assert_eq!(*update, format!("{call}, chunks, m, p, s, s + 3, (own.report + 4))"));
            assert_eq!(report, "copy(at, (p + 0), own.report + 0, 3)");
            let forward = layout.forward(&plan, Precision::F32);
            let reports = forward.iter().filter(|work| work.kind == "output").map(|work| &work.call[..]);
            assert!(reports.eq(["copy(at, (p + 0), own.report + 0, 3)", &{
                let ValueLocation::Slot(slot) = plan.outputs[1].0 else { panic!("a loss is computed") };
                format!("copy(at, (m + {}), own.report + 3, 1)", layout.slots[slot])
            }]));
        }
    }
}

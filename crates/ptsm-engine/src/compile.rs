//! From a graph to a plan: lowered to a mode, differentiated, planned.

use crate::error::{Error, Result};
use crate::gradient::differentiate;
use crate::graph::ops::Op;
use crate::graph::{Graph, Id};
use crate::lower::{Mode, lower, prepack};
use crate::plan::{ExecutionPlan, MemoryRules, PlannedValues};

/// A loss and the tensors it moves, by name prefix or predicate resolved to indices.
#[derive(Clone, Debug)]
pub struct Objective {
    /// What is minimised, a scalar.
    pub loss: Id,
    /// Which tensors, by their index in the graph.
    pub tensors: Vec<usize>,
}

impl Objective {
    /// A loss that moves every parameter whose name is accepted.
    pub fn new(graph: &Graph, loss: Id, moves: impl Fn(&str) -> bool) -> Objective {
        let tensors = graph.tensors().iter().enumerate();
        let tensors = tensors.filter(|(_, t)| t.trainable && moves(&t.name)).map(|(i, _)| i).collect();
        Objective { loss, tensors }
    }

    fn check(&self, graph: &Graph) -> Result<()> {
        let wrong = |message: String| Err(Error::Program(format!("an objective {message}")));
        if self.tensors.is_empty() {
            return wrong("moves no parameter".into());
        }
        for (i, &t) in self.tensors.iter().enumerate() {
            match graph.tensors().get(t) {
                None => return wrong(format!("moves tensor {t}; there are {}", graph.tensors().len())),
                Some(tensor) if !tensor.trainable => {
                    return wrong(format!("moves the statistic `{}`", tensor.name));
                }
                Some(tensor) if self.tensors[..i].contains(&t) => {
                    return wrong(format!("moves tensor `{}` twice", tensor.name));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// What a program is compiled for.
#[derive(Clone, Copy, Default)]
pub(crate) struct CompileRequest<'a> {
    /// Values to be read.
    pub(crate) outputs: &'a [Id],
    /// A scalar and the input its gradient is wanted for.
    pub(crate) traced: Option<(Id, &'a str)>,
    /// Losses and what they move.
    pub(crate) objectives: &'a [Objective],
}

/// Plans what a program computes, on a device with these rules.
pub(crate) fn compile(
    graph: &Graph,
    mode: Mode,
    request: CompileRequest<'_>,
    rules: &MemoryRules,
) -> Result<ExecutionPlan> {
    let CompileRequest { outputs, traced, objectives } = request;
    let scalars = traced.iter().map(|(of, _)| *of).chain(objectives.iter().map(|o| o.loss));
    let keep: Vec<Id> = outputs.iter().copied().chain(scalars).collect();
    for &id in &keep {
        graph.check(id)?;
    }
    if keep.is_empty() {
        return Err(Error::Program("there is nothing to compute: no output and no objective".into()));
    }
    let mut lowered = lower(graph, mode, &keep)?;
    // A program that moves nothing meets the same parameters again and again.
    let hold = objectives.is_empty() && rules.keeps_constants;
    // Packed weights have no way back.
    if hold && traced.is_none() {
        lowered = prepack(lowered)?;
    }
    let mut moved: Vec<(usize, Option<Id>)> = vec![];
    for objective in objectives {
        objective.check(graph)?;
        let loss = lowered.at(objective.loss)?;
        let leaves: Vec<Op> = objective.tensors.iter().map(|&t| Op::Tensor(t)).collect();
        let grads = differentiate(&mut lowered.graph, loss, &leaves)?;
        for (&tensor, grad) in objective.tensors.iter().zip(grads) {
            match moved.iter_mut().find(|(t, _)| *t == tensor) {
                None => moved.push((tensor, grad)),
                Some((_, sum)) => {
                    *sum = match (*sum, grad) {
                        (Some(a), Some(b)) => Some(lowered.graph.add(a, b)?),
                        (a, b) => a.or(b),
                    }
                }
            }
        }
    }
    let mut outputs = outputs.iter().map(|&o| lowered.at(o)).collect::<Result<Vec<_>>>()?;
    if let Some((of, input)) = traced {
        let of = lowered.at(of)?;
        let place = graph.inputs().iter().position(|i| i.name == input);
        let leaves: Vec<Op> = place.map(Op::Input).into_iter().collect();
        let gradient = differentiate(&mut lowered.graph, of, &leaves)?.pop().flatten();
        outputs.push(gradient.ok_or_else(|| Error::Input {
            name: input.into(),
            message: "does not lead to the value whose gradient is wanted".into(),
        })?);
    }
    let values = PlannedValues { outputs: &outputs, gradients: &moved, updates: &lowered.updates };
    Ok(ExecutionPlan::new(&lowered.graph, &values, hold, rules))
}

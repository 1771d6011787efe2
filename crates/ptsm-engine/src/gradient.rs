//! Reverse-mode differentiation: the gradient of a graph is more graph.

use crate::error::{Error, Result};
use crate::graph::ops::{Backward, Op};
use crate::graph::{Graph, Id};

/// Appends the gradient of a scalar with respect to tensors and inputs; `None` where the scalar does not depend on one.
pub(crate) fn differentiate(graph: &mut Graph, loss: Id, leaves: &[Op]) -> Result<Vec<Option<Id>>> {
    if !graph.shape(loss).is_empty() {
        return Err(Error::Program(format!(
            "a loss must be a scalar, got the shape {:?}",
            graph.shape(loss)
        )));
    }
    let n = loss.index() + 1;
    let mut leads = vec![false; n];
    for (i, node) in graph.nodes[..n].iter().enumerate() {
        leads[i] = match node.op {
            Op::Tensor(_) | Op::Input(_) => leaves.contains(&node.op),
            _ => node.inputs.iter().any(|p| leads[p.index()]),
        };
    }
    let mut grads: Vec<Option<Id>> = vec![None; n];
    graph.enter_scope("");
    grads[loss.index()] = Some(graph.constant(1.0)?);
    for i in (0..n).rev() {
        let Some(grad) = grads[i] else { continue };
        let node = graph.nodes[i].clone();
        if node.inputs.is_empty() || !leads[i] {
            continue;
        }
        let scope = graph.scopes[node.scope as usize].clone();
        graph.enter_scope(&scope);
        let requires_grad: Vec<bool> = node.inputs.iter().map(|p| leads[p.index()]).collect();
        let output = Id(i as u32);
        let parts = node.op.gradient(Backward {
            graph,
            inputs: &node.inputs,
            output,
            grad,
            requires_grad: &requires_grad,
        })?;
        for ((&input, part), requires_grad) in node.inputs.iter().zip(parts).zip(requires_grad) {
            let (Some(part), true) = (part, requires_grad) else { continue };
            grads[input.index()] = Some(match grads[input.index()] {
                None => part,
                Some(sum) => graph.add(sum, part)?,
            });
        }
    }
    let place = |leaf: &Op| graph.nodes[..n].iter().position(|node| node.op == *leaf);
    Ok(leaves.iter().map(|leaf| place(leaf).and_then(|i| grads[i])).collect())
}

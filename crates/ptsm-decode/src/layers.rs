//! Layers that several networks are made of.

use ptsm_engine::{Graph, Id, Init};

use crate::error::Result;

/// A linear layer over the last axis with parameters of its own, started as PyTorch does.
pub fn linear(g: &mut Graph, name: &str, x: Id, outputs: usize) -> Result<Id> {
    let inputs = g.shape(x).last().copied().unwrap_or(1);
    g.scoped(name, |g| {
        let weight = g.parameter("weight", &[outputs, inputs], Init::fan_in(inputs))?;
        let bias = g.parameter("bias", &[outputs], Init::fan_in(inputs))?;
        Ok(g.linear(x, weight, Some(bias))?)
    })
}

/// A parameter called `weight`, perhaps with a largest norm of each of its rows.
pub fn weight(g: &mut Graph, shape: &[usize], init: Init, max_norm: Option<f64>) -> Result<Id> {
    Ok(match max_norm {
        Some(norm) => g.constrained("weight", shape, init, norm)?,
        None => g.parameter("weight", shape, init)?,
    })
}

/// Dot-product attention: every value as a mixture of all, weighted by `softmax(queries keys^T / divisor)`, with dropout of these attention
/// weights where one is given.
///
/// # Shapes
/// queries, keys and values `[.., L, d]` -> `[.., L, d]`
pub fn attention(
    g: &mut Graph,
    [queries, keys, values]: [Id; 3],
    divisor: f64,
    dropout: Option<f64>,
) -> Result<Id> {
    let weights = g.matmul(queries, keys, false, true)?;
    let weights = g.scale(weights, 1.0 / divisor)?;
    let mut weights = g.softmax(weights)?;
    if let Some(p) = dropout {
        weights = g.dropout(weights, p)?;
    }
    Ok(g.matmul(weights, values, false, false)?)
}

/// The losses that have a weight, weighted and added up; none if there is none.
pub fn weighted(g: &mut Graph, losses: &[(f64, Id)]) -> Result<Option<Id>> {
    let mut total = None;
    for &(weight, loss) in losses.iter().filter(|(w, _)| *w != 0.0) {
        let part = if weight == 1.0 { loss } else { g.scale(loss, weight)? };
        total = Some(match total {
            None => part,
            Some(sum) => g.add(sum, part)?,
        });
    }
    Ok(total)
}

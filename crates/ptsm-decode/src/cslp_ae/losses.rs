//! What the latents are held to.

use ptsm_engine::{Graph, Id};

use crate::error::{Error, Result};

/// Norms below this count as this.
const LEAST_NORM: f64 = 1e-8;
/// The contrast's scale starts here and never exceeds the other: CLIP's numbers.
pub(super) const FIRST_SCALE: f64 = 1.0 / 0.07;
pub(super) const MOST_SCALE: f64 = 100.0;

/// Mean squared distance.
pub fn distance(g: &mut Graph, a: Id, b: Id) -> Result<Id> {
    let off = g.sub(a, b)?;
    let off = g.square(off)?;
    Ok(g.mean(off)?)
}

/// Rows scaled to length 1.
fn unit(g: &mut Graph, x: Id) -> Result<Id> {
    let shape = g.shape(x).to_vec();
    let last = shape.len() - 1;
    let squares = g.square(x)?;
    let squares = g.sum_axes(squares, &[last])?;
    let squares = g.clamp(squares, LEAST_NORM * LEAST_NORM, f64::INFINITY)?;
    let norms = g.sqrt(squares)?;
    let norms = g.repeat(norms, last, shape[last])?;
    Ok(g.div(x, norms)?)
}

/// Cross-entropy of finding each row's partner among those of its group: for the first rows among the second, and for the second among the
/// first. The loss is the mean of both. The scale is given by its logarithm.
///
/// # Shapes
/// first and second `[G, N, F]`, labels `[G * N]` (each row's place in its group), log_scale scalar -> two scalars
pub fn contrasts(g: &mut Graph, first: Id, second: Id, labels: Id, log_scale: Id) -> Result<[Id; 2]> {
    let [groups, n, _] = *g.shape(first) else {
        return Err(Error::Configuration(format!(
            "a contrast is of groups [G, N, F], got {:?}",
            g.shape(first)
        )));
    };
    let (first, second) = (unit(g, first)?, unit(g, second)?);
    let log_scale = g.clamp(log_scale, f64::NEG_INFINITY, MOST_SCALE.ln())?;
    let scale = g.exp(log_scale)?;
    let mut one = |a: Id, b: Id| -> Result<Id> {
        let logits = g.matmul(a, b, false, true)?;
        let logits = g.mul(logits, scale)?;
        let logits = g.reshape(logits, &[groups * n, n])?;
        Ok(g.cross_entropy(logits, labels, 0.0)?)
    };
    Ok([one(first, second)?, one(second, first)?])
}

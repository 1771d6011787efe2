//! The losses of PTSM (section 3 of its specification), each a few nodes of a graph.
//!
//! Masks are given as factors: space `[B, C]`, time `[B, T]`. The outer product `M = M_t (x) M_s` is never formed:
//! `cos(M^p, M^c) = cos(M_t^p, M_t^c) cos(M_s^p, M_s^c)`, `mean(M) = mean(M_t) mean(M_s)`.

use ptsm_engine::{Graph, Id, Result};

/// A mask by its two factors.
#[derive(Clone, Copy, Debug)]
pub struct Mask {
    /// Over channels, `[B, C]`.
    pub space: Id,
    /// Over time, `[B, T]`.
    pub time: Id,
}

/// Mean of each trial's mask, `[B]`.
fn mask_mean(g: &mut Graph, mask: Mask) -> Result<Id> {
    let space = g.mean_axes(mask.space, &[1])?;
    let time = g.mean_axes(mask.time, &[1])?;
    g.mul(space, time)
}

/// L_sim: mean cosine between the two masks.
pub fn similarity(g: &mut Graph, personal: Mask, common: Mask) -> Result<Id> {
    let time = g.cosine(personal.time, common.time)?;
    let space = g.cosine(personal.space, common.space)?;
    let both = g.mul(time, space)?;
    g.mean(both)
}

/// L_sparse of one mask: its mean, or literally the sum of its C * T entries.
pub fn mask_sparsity(g: &mut Graph, mask: Mask, literal: bool) -> Result<Id> {
    let mean = mask_mean(g, mask)?;
    let mean = g.mean(mean)?;
    if !literal {
        return Ok(mean);
    }
    let entries = g.shape(mask.space)[1] * g.shape(mask.time)[1];
    g.scale(mean, entries as f64)
}

/// L_size of one mask: mean distance of its mean from `rho`.
pub fn mask_size(g: &mut Graph, mask: Mask, rho: f64) -> Result<Id> {
    let mean = mask_mean(g, mask)?;
    let off = g.affine(mean, 1.0, -rho)?;
    let off = g.abs(off)?;
    g.mean(off)
}

/// L_orth: mean absolute cosine between the two features.
pub fn orthogonality(g: &mut Graph, task: Id, subject: Id) -> Result<Id> {
    let cosine = g.cosine(task, subject)?;
    let cosine = g.abs(cosine)?;
    g.mean(cosine)
}

/// L_cov: size of the cross-covariance against the two covariances: divided by the root of the product of their norms,
/// or literally by the product (which is not scale-free).
pub fn decorrelation(g: &mut Graph, task: Id, subject: Id, literal: bool) -> Result<Id> {
    let cross = g.covariance(task, subject)?;
    let cross = g.frobenius(cross)?;
    let own = g.covariance(task, task)?;
    let own = g.frobenius(own)?;
    let other = g.covariance(subject, subject)?;
    let other = g.frobenius(other)?;
    let mut product = g.mul(own, other)?;
    if !literal {
        product = g.sqrt(product)?;
    }
    g.div(cross, product)
}

/// L_info: minus the retained variance of both features, each capped at 1 and averaged over features; or
/// literally minus the sum, which is unbounded below.
pub fn retention(g: &mut Graph, task: Id, subject: Id, literal: bool) -> Result<Id> {
    let mut parts = vec![];
    for features in [task, subject] {
        let [batch, width] = *g.shape(features) else {
            return g.covariance(features, features); // names the shape that does not fit
        };
        let columns = g.transpose(features, &[1, 0])?;
        let mut variance = g.variance(columns)?;
        variance = g.scale(variance, batch as f64 / (batch as f64 - 1.0))?;
        if !literal {
            variance = g.clamp(variance, f64::NEG_INFINITY, 1.0)?;
        }
        let sum = g.sum(variance)?;
        parts.push(if literal { sum } else { g.scale(sum, 1.0 / width as f64)? });
    }
    let sum = g.add(parts[0], parts[1])?;
    g.negate(sum)
}

/// L_sparse': mean absolute value of both features; or literally the sum over batch and features.
pub fn feature_sparsity(g: &mut Graph, task: Id, subject: Id, literal: bool) -> Result<Id> {
    let mut parts = vec![];
    for features in [task, subject] {
        let size = g.abs(features)?;
        parts.push(if literal { g.sum(size)? } else { g.mean(size)? });
    }
    g.add(parts[0], parts[1])
}

//! What the golden tests share: the deterministic fill of the specifications and comparisons.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test program uses a part

use ptsm_decode::Network;
use ptsm_decode::ptsm::{PoolPlacement, Ptsm};
use ptsm_engine::{Graph, Parameters, Real};

/// `s * sin(0.13 * (i + 1) + 0.9 * k)`
pub fn fill(n: usize, k: usize, s: f64) -> Vec<f64> {
    (0..n).map(|i| s * (0.13 * (i as f64 + 1.0) + 0.9 * k as f64).sin()).collect()
}

/// `sin(0.05 (t+1)(c+1) + 0.3 b) + 0.5 cos(0.11 (t+1) + c + 0.2 b)`
pub fn input(b: usize, c: usize, t: usize) -> Vec<f64> {
    let mut x = vec![];
    for b in 0..b {
        for c in 0..c {
            for t in 0..t {
                let (b, c, t) = (b as f64, c as f64, t as f64 + 1.0);
                x.push((0.05 * t * (c + 1.0) + 0.3 * b).sin() + 0.5 * (0.11 * t + c + 0.2 * b).cos());
            }
        }
    }
    x
}

pub fn narrow<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&x| T::of(x)).collect()
}

/// Fills tensors in the given order, k from 1 on; `value(k, name, n)`.
pub fn set_all<T: Real>(
    graph: &Graph,
    parameters: &mut Parameters<T>,
    names: &[String],
    value: impl Fn(usize, &str, usize) -> Vec<f64>,
) {
    for (i, name) in names.iter().enumerate() {
        let n = graph.tensors().iter().find(|t| t.name == *name).unwrap_or_else(|| panic!("no {name}")).len();
        parameters.set(0, name, &narrow(&value(i + 1, name, n))).unwrap();
    }
}

/// Relative to the larger of the expected value and a floor.
#[track_caller]
pub fn close(what: &str, got: f64, expected: f64, tolerance: f64) {
    let error = (got - expected).abs() / expected.abs().max(1e-6);
    assert!(error <= tolerance, "{what}: got {got:.12}, expected {expected:.12}, off by {error:.1e}");
}

#[track_caller]
pub fn all_close<T: Real>(what: &str, got: &[T], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        close(&format!("{what}[{i}]"), g.wide(), *e, tolerance);
    }
}

pub fn norm<T: Real>(x: &[T]) -> f64 {
    x.iter().map(|x| x.wide() * x.wide()).sum::<f64>().sqrt()
}

/// The configuration of the specification's golden forward pass.
pub fn golden_ptsm(pool: PoolPlacement) -> Ptsm {
    Ptsm {
        spatial_width: 5,
        temporal_width: 4,
        encoder: vec![4, 6, 8],
        pool,
        pooled: 4,
        pool_lengths: (pool == PoolPlacement::Each).then(|| vec![16, 8, 4]),
        shared: [10, 8],
        features: 6,
        head: 5,
        dropout: 0.0,
        ..Ptsm::default()
    }
}

/// The order of the specification: k = 1..38.
pub fn ptsm_names() -> Vec<String> {
    let mut layers = vec![];
    for kind in ["personal", "common"] {
        for part in ["spatial.0", "spatial.1", "temporal.0", "temporal.1"] {
            layers.push(format!("{kind}.{part}"));
        }
    }
    layers.extend((0..3).map(|i| format!("encoder.{i}.conv")));
    let rest = ["shared.0", "shared.1", "task.linear", "subject.linear"];
    layers.extend(
        rest.iter()
            .chain(&["task_head.0", "task_head.1", "subject_head.0", "subject_head.1"])
            .map(|s| s.to_string()),
    );
    layers.iter().flat_map(|l| [format!("{l}.weight"), format!("{l}.bias")]).collect()
}

pub fn ptsm_parameters<T: Real>(network: &Network) -> Parameters<T> {
    let mut parameters = Parameters::new(&network.graph, &[0]).unwrap();
    let names = ptsm_names();
    assert_eq!(names.len(), 38);
    set_all(&network.graph, &mut parameters, &names, |k, name, n| {
        let up = if name.ends_with("bias") { 0.3 } else { 0.0 };
        fill(n, k, 0.3).into_iter().map(|v| v + up).collect()
    });
    parameters
}

/// EEGNet's tensors in the order of its specification: k = 1..6.
pub const EEGNET_NAMES: [&str; 6] = [
    "temporal.weight",
    "spatial.weight",
    "depthwise.weight",
    "pointwise.weight",
    "classifier.weight",
    "classifier.bias",
];

//! Trials and their mirror images: what their convolutions share changes no number.

use ptsm_engine::{Graph, Id, Mode, Padding, Result};

use super::common::{Experiment, assert_same, cpu};

/// Channels 0 and 3, 1 and 4 are exchanged; 2 stays.
const ORDER: [usize; 5] = [3, 4, 2, 0, 1];
const BATCH: usize = 3;
const TIME: usize = 12;

type Build = fn(&mut Graph, Id, &[Id]) -> Result<Id>;

/// What follows two views of trials: a convolution with a bias, one after another, or with a batch norm between the two.
const KINDS: [(&str, &[&[usize]], Build); 4] = [
    ("convolution", &[&[4, 5, 3], &[4]], |g, x, p| g.conv1d(x, p[0], Some(p[1]), 1, Padding::Same)),
    ("time and space", &[&[4, 3], &[4], &[6, 4, 5]], |g, x, p| {
        let h = g.temporal_conv(x, p[0], Some(p[1]), Padding::Valid)?;
        g.spatial_conv(h, p[2], 1)
    }),
    ("time, norm and space", &[&[2, 3], &[4, 1, 5]], |g, x, p| {
        let h = g.temporal_conv(x, p[0], None, Padding::Same)?;
        let h = g.batch_norm(h, 1e-3, 0.1)?;
        g.spatial_conv(h, p[1], 2)
    }),
    // Two convolutions of the same views.
    ("branches", &[&[4, 5, 3], &[4, 5, 3]], |g, x, p| {
        let a = g.conv1d(x, p[0], None, 1, Padding::Valid)?;
        let b = g.conv1d(x, p[1], None, 1, Padding::Valid)?;
        let b = g.elu(b)?;
        g.mul(a, b)
    }),
];

/// With `shared`, rows that are recognised as two views; otherwise the same rows in another way.
fn experiment(kind: &(&str, &'static [&'static [usize]], Build), mode: Mode, shared: bool) -> Experiment {
    Experiment::new(kind.0, mode, kind.1, |g, p| {
        let x = g.input("x", &[BATCH, 5, TIME])?;
        let source = if shared { x } else { g.affine(x, 1.0, 0.0)? };
        let image = g.reorder(source, 1, &ORDER)?;
        let rows = g.concat(x, image, 0)?;
        (kind.2)(g, rows, p)
    })
}

#[test]
fn values_gradients_and_statistics_are_those_of_two_views_one_by_one() {
    for kind in &KINDS {
        for mode in [Mode::Train, Mode::Infer] {
            let shared = experiment(kind, mode, true).check();
            let apart = experiment(kind, mode, false).measure::<f64>(cpu());
            assert_same(&format!("{}, {mode:?}", kind.0), &shared, &apart, 1e-12);
        }
    }
}

/// Multiply-adds of convolutions, forwards and backwards.
fn products(experiment: &Experiment) -> u64 {
    let mut runner = experiment.runner::<f64>(cpu());
    let entries = runner.profile();
    entries.iter().filter(|entry| entry.kind.starts_with("conv")).map(|entry| entry.multiply_adds).sum()
}

/// Of four paired channels and one that stays: sums of three and differences of two, where both views have ten.
#[test]
fn both_views_take_as_many_products_as_one() {
    for kind in [&KINDS[0], &KINDS[1]] {
        let [shared, apart] = [true, false].map(|shared| products(&experiment(kind, Mode::Train, shared)));
        assert!(shared > 0 && shared * 10 <= apart * 5, "{}: {shared} {apart}", kind.0);
    }
}

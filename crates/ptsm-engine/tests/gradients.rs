//! Every differentiable operation's gradient against central finite differences in f64.
//!
//! The pattern: [`Experiment::new`] declares parameters of the given shapes, a closure makes some result of them,
//! and `check` perturbs every entry of every parameter. A new operation needs a row in [`KINDS`] and, where
//! it has options, a test of its own below.
//!
//! Longer than 600 lines because it has a row for every operation there is.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Experiment, assert_same, cpu, distance};
use ptsm_engine::{Feed, Graph, Id, Mode, Padding, Parameters, Pooling, Program, Result};

type Build = fn(&mut Graph, &[Id]) -> Result<Id>;

/// One example of each operation: its name, the shapes of its parameters, how it is built.
const KINDS: &[(&str, &[&[usize]], Build)] = &[
    ("elu", &[&[3, 4]], |g, p| g.elu(p[0])),
    ("relu", &[&[3, 4]], |g, p| g.relu(p[0])),
    ("gelu", &[&[3, 4]], |g, p| g.gelu(p[0])),
    ("sigmoid", &[&[3, 4]], |g, p| g.sigmoid(p[0])),
    ("square", &[&[3, 4]], |g, p| g.square(p[0])),
    ("sqrt", &[&[3, 4]], |g, p| {
        let positive = g.affine(p[0], 0.4, 1.0)?;
        g.sqrt(positive)
    }),
    ("reciprocal", &[&[3, 4]], |g, p| {
        let positive = g.affine(p[0], 0.4, 1.0)?;
        g.reciprocal(positive)
    }),
    ("abs", &[&[3, 4]], |g, p| g.abs(p[0])),
    ("exp", &[&[3, 4]], |g, p| g.exp(p[0])),
    ("ln", &[&[3, 4]], |g, p| {
        let positive = g.affine(p[0], 0.4, 1.0)?;
        g.ln(positive)
    }),
    ("clamp", &[&[3, 4]], |g, p| g.clamp(p[0], -0.5, 0.3)),
    ("affine", &[&[3, 4]], |g, p| g.affine(p[0], -1.7, 0.3)),
    ("add", &[&[3, 4], &[4]], |g, p| g.add(p[0], p[1])),
    ("sub", &[&[3, 4], &[4]], |g, p| g.sub(p[0], p[1])),
    ("mul", &[&[3, 4], &[4]], |g, p| g.mul(p[0], p[1])),
    ("div", &[&[3, 4], &[4]], |g, p| {
        let positive = g.affine(p[1], 0.4, 1.0)?;
        g.div(p[0], positive)
    }),
    ("sum", &[&[3, 4]], |g, p| g.sum_axes(p[0], &[0])),
    ("expand", &[&[3, 4]], |g, p| g.repeat(p[0], 1, 2)),
    ("reshape", &[&[3, 4]], |g, p| g.reshape(p[0], &[2, 6])),
    ("transpose", &[&[3, 4]], |g, p| g.transpose(p[0], &[1, 0])),
    ("slice", &[&[3, 4]], |g, p| g.slice(p[0], 1, 1, 2)),
    ("pad", &[&[3, 4]], |g, p| g.pad(p[0], 1, 1, 2)),
    ("concat", &[&[3, 4], &[3, 2]], |g, p| g.concat(p[0], p[1], 1)),
    ("reorder", &[&[3, 4]], |g, p| g.reorder(p[0], 1, &[2, 0, 3, 1])),
    ("relabel", &[&[3, 4]], |g, p| {
        let labels = g.labels("labels", &[3], 4)?;
        let labels = g.relabel(labels, &[1, 0, 3, 2])?;
        g.cross_entropy(p[0], labels, 0.0)
    }),
    ("matmul", &[&[3, 4], &[4, 2]], |g, p| g.matmul(p[0], p[1], false, false)),
    ("conv1d", &[&[2, 3, 9], &[4, 3, 5], &[4]], |g, p| g.conv1d(p[0], p[1], Some(p[2]), 1, Padding::Same)),
    ("batch_norm", &[&[3, 2, 5]], |g, p| g.batch_norm(p[0], 1e-3, 0.1)),
    ("layer_norm", &[&[3, 5]], |g, p| g.layer_norm(p[0], 1e-3)),
    ("dropout", &[&[3, 20]], |g, p| g.dropout(p[0], 0.5)),
    ("pool", &[&[2, 3, 8]], |g, p| g.pool(p[0], Pooling::Average { size: 3, stride: 2 })),
    ("softmax", &[&[3, 4]], |g, p| g.softmax(p[0])),
    ("cross_entropy", &[&[3, 4]], |g, p| {
        let labels = g.labels("labels", &[3], 4)?;
        g.cross_entropy(p[0], labels, 0.0)
    }),
    ("nt_xent", &[&[5, 4]], |g, p| {
        let labels = g.labels("labels", &[5], 2)?;
        g.nt_xent(p[0], labels, 0.5)
    }),
    ("outer_mask", &[&[2, 3, 4], &[2, 3], &[2, 4]], |g, p| g.outer_mask(p[0], p[1], p[2])),
    ("variance", &[&[2, 3, 5]], |g, p| g.variance(p[0])),
    ("gather", &[&[4, 3]], |g, p| {
        let labels = g.labels("labels", &[6], 4)?;
        g.gather(p[0], labels)
    }),
    ("by_mode", &[&[3, 4], &[3, 4]], |g, p| {
        let squares = g.square(p[0])?;
        g.by_mode(squares, p[1])
    }),
    ("temporal_conv", &[&[2, 3, 9], &[2, 4], &[2]], |g, p| {
        g.temporal_conv(p[0], p[1], Some(p[2]), Padding::Same)
    }),
    ("spatial_conv", &[&[2, 4, 3, 5], &[6, 2, 3]], |g, p| g.spatial_conv(p[0], p[1], 2)),
];

#[test]
fn one_example_of_every_operation() {
    for (name, shapes, build) in KINDS {
        for mode in [Mode::Train, Mode::Infer] {
            let experiment = Experiment::new(*name, mode, shapes, build);
            assert!(experiment.operations().contains(name), "`{name}` is not in its own example");
            experiment.check();
        }
    }
}

/// Operations that no user builds: gradients, and what others are compiled to. Their results are
/// part of the gradients and values of those others.
const INTERNAL: &[&str] = &[
    "UnaryGrad",
    "ConvInput",
    "ConvWeight",
    "PackConv",
    "PackedConv",
    "Moments",
    "Normalise",
    "NormaliseSums",
    "NormaliseInput",
    "RunningStats",
    "LayerNormInput",
    "LayerNormSums",
    "PoolGrad",
    "SoftmaxGrad",
    "CrossEntropyGrad",
    "NtXentGrad",
    "OuterMaskGrad",
    "VarianceGrad",
    "Scatter",
    "LagMoments",
];

/// A new line in the registry must come with a row in [`KINDS`].
#[test]
fn every_registered_operation_has_an_example() {
    let registry = include_str!("../src/graph/ops/mod.rs");
    let (_, registry) = registry.split_once("\noperations! {\n").unwrap();
    let (registry, _) = registry.split_once("\n}\n").unwrap();
    let lines = registry.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let registered: Vec<&str> = lines.map(|line| line.split_once(':').unwrap().0).collect();
    assert!(registered.len() > 30, "the registry was not understood: {registered:?}");
    let mut covered: Vec<String> = INTERNAL.iter().map(|name| name.to_string()).collect();
    // Stops and reversals contradict finite differences on purpose; they have tests of their own.
    covered.push("Barrier".into());
    for (name, shapes, build) in KINDS {
        let experiment = Experiment::new(*name, Mode::Train, shapes, build);
        let nodes = experiment.graph.nodes().filter(|(_, node)| node.op.name() == *name);
        covered
            .extend(nodes.map(|(_, node)| format!("{:?}", node.op).split('(').next().unwrap().to_string()));
    }
    for operation in registered {
        assert!(covered.iter().any(|c| c == operation), "`{operation}` has no row in KINDS");
    }
}

fn train(label: impl Into<String>, shapes: &[&[usize]], build: impl Fn(&mut Graph, &[Id]) -> Result<Id>) {
    Experiment::new(label, Mode::Train, shapes, build).check();
}

#[test]
fn functions_of_one_value_far_from_zero() {
    let all: &[(&str, Build)] = &[
        ("elu", |g, x| g.elu(x[0])),
        ("relu", |g, x| g.relu(x[0])),
        ("gelu", |g, x| g.gelu(x[0])),
        ("sigmoid", |g, x| g.sigmoid(x[0])),
        ("square", |g, x| g.square(x[0])),
        ("abs", |g, x| g.abs(x[0])),
        ("exp", |g, x| g.exp(x[0])),
        ("negate", |g, x| g.negate(x[0])),
        ("scale", |g, x| g.scale(x[0], 0.3)),
        ("clamp to the right", |g, x| g.clamp(x[0], 0.5, f64::INFINITY)),
    ];
    for (name, function) in all {
        // Both branches of the error function lie within this range.
        train(*name, &[&[40]], |g, p| {
            let wide = g.scale(p[0], 5.0)?;
            function(g, &[wide])
        });
    }
}

#[test]
fn derivatives_at_kinks_are_as_documented() {
    let kinks: &[(&str, Build, f64)] = &[
        ("elu", |g, x| g.elu(x[0]), 1.0),
        ("relu", |g, x| g.relu(x[0]), 0.0),
        ("abs", |g, x| g.abs(x[0]), 0.0),
        ("clamp", |g, x| g.clamp(x[0], 0.0, 1.0), 0.0),
    ];
    for (name, function, expected) in kinks {
        let experiment = Experiment::new(*name, Mode::Train, &[&[1]], function);
        let at_zero = experiment.clone().with_values("p0", &[0.0]).measure::<f64>(cpu());
        let above = experiment.with_values("p0", &[0.5]).measure::<f64>(cpu());
        // All of them have slope 1 at 0.5, which gives the weight.
        assert_eq!(at_zero.gradient("p0")[0] / above.gradient("p0")[0], *expected, "{name}");
    }
}

#[test]
fn functions_of_two_values_with_broadcasting() {
    let patterns: &[[&[usize]; 2]] = &[
        [&[2, 3], &[2, 3]],
        [&[2, 3], &[3]],
        [&[2, 3], &[1, 3]],
        [&[2, 3], &[2, 1]],
        [&[2, 3], &[]],
        [&[4, 1], &[1, 5]],
        [&[2, 1, 4], &[3, 1]],
        [&[2, 3, 4], &[1, 3, 1]],
        [&[2, 3, 4], &[2, 1, 4]],
        [&[1, 3, 1, 2], &[2, 1, 4, 1]],
        [&[1], &[]],
        [&[], &[]],
    ];
    let functions: &[(&str, Build)] = &[
        ("add", |g, p| g.add(p[0], p[1])),
        ("sub", |g, p| g.sub(p[0], p[1])),
        ("mul", |g, p| g.mul(p[0], p[1])),
        ("div", |g, p| {
            let positive = g.affine(p[1], 0.4, 1.0)?;
            g.div(p[0], positive)
        }),
    ];
    for (name, function) in functions {
        for [a, b] in patterns {
            train(format!("{name} {a:?} {b:?}"), &[a, b], function);
            train(format!("{name} {b:?} {a:?}"), &[b, a], function);
        }
    }
}

#[test]
fn a_value_used_twice_gets_the_sum_of_both_gradients() {
    train("x * x", &[&[3, 4]], |g, p| g.mul(p[0], p[0]));
    train("x / (x * x + 1) - x", &[&[3, 4]], |g, p| {
        let square = g.square(p[0])?;
        let below = g.affine(square, 1.0, 1.0)?;
        let share = g.div(p[0], below)?;
        g.sub(share, p[0])
    });
    train("x with its own transpose", &[&[3, 3]], |g, p| g.matmul(p[0], p[0], false, true));
    train("x before x", &[&[3, 2]], |g, p| g.concat(p[0], p[0], 1));
}

#[test]
fn sums_and_means_over_every_set_of_axes() {
    let axes: &[&[usize]] = &[&[], &[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[2, 0], &[0, 1, 2]];
    for axes in axes {
        train(format!("sum {axes:?}"), &[&[2, 3, 4]], |g, p| g.sum_axes(p[0], axes));
        train(format!("mean {axes:?}"), &[&[2, 3, 4]], |g, p| g.mean_axes(p[0], axes));
    }
    train("sum of 40", &[&[2, 40]], |g, p| g.sum_axes(p[0], &[1]));
    train("alternating", &[&[2, 3, 2, 3, 2]], |g, p| g.sum_axes(p[0], &[0, 2, 4]));
    train("alternating the other way", &[&[2, 3, 2, 3]], |g, p| g.sum_axes(p[0], &[1, 3]));
    train("sum of all", &[&[2, 3]], |g, p| g.sum(p[0]));
    train("mean of all", &[&[2, 3]], |g, p| g.mean(p[0]));
    train("mean of a number", &[&[]], |g, p| g.mean(p[0]));
}

#[test]
fn compositions_of_reductions() {
    train("cosine", &[&[3, 5], &[3, 5]], |g, p| g.cosine(p[0], p[1]));
    train("covariance", &[&[6, 3], &[6, 2]], |g, p| g.covariance(p[0], p[1]));
    train("covariance with itself", &[&[6, 3]], |g, p| g.covariance(p[0], p[0]));
    train("frobenius", &[&[3, 4]], |g, p| g.frobenius(p[0]));
    train("frobenius of a vector", &[&[4]], |g, p| g.frobenius(p[0]));
    // The root of zero has no slope; the documented floor gives it 0.
    let zero = Experiment::new("frobenius", Mode::Train, &[&[2, 2]], |g, p| g.frobenius(p[0]));
    let zero = zero.with_values("p0", &[0.0; 4]).measure::<f64>(cpu());
    assert_eq!(zero.gradient("p0"), [0.0; 4]);
    for axis in 0..=2 {
        train(format!("repeat {axis}"), &[&[3, 4]], |g, p| g.repeat(p[0], axis, 3));
    }
    train("repeat a number", &[&[]], |g, p| g.repeat(p[0], 0, 3));
}

#[test]
fn shapes_orders_and_parts() {
    train("reshape", &[&[2, 6]], |g, p| g.reshape(p[0], &[3, 1, 4]));
    train("reshape to a number", &[&[1, 1]], |g, p| g.reshape(p[0], &[]));
    train("flatten", &[&[2, 3, 4]], |g, p| g.flatten(p[0]));
    // A reshape shares memory with its operand, which another operation still reads afterwards.
    train("reshape and operand", &[&[2, 3]], |g, p| {
        let squares = g.square(p[0])?;
        let turned = g.reshape(squares, &[3, 2])?;
        let exponential = g.exp(turned)?;
        let product = g.matmul(exponential, squares, false, false)?;
        g.matmul(product, turned, false, false)
    });
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        train(format!("transpose {order:?}"), &[&[2, 3, 4]], |g, p| g.transpose(p[0], &order));
    }
    train("transpose of 4 axes", &[&[2, 3, 2, 4]], |g, p| g.transpose(p[0], &[2, 0, 3, 1]));
    for (axis, start, length) in [(0, 1, 1), (1, 0, 2), (1, 1, 2), (2, 3, 1), (2, 0, 4)] {
        train(format!("slice {axis} {start} {length}"), &[&[2, 3, 4]], |g, p| {
            g.slice(p[0], axis, start, length)
        });
    }
    train("overlapping slices", &[&[5]], |g, p| {
        let (a, b) = (g.slice(p[0], 0, 0, 3)?, g.slice(p[0], 0, 2, 3)?);
        g.mul(a, b)
    });
    for (axis, other) in [(0, [1, 3, 4]), (1, [2, 2, 4]), (2, [2, 3, 1])] {
        train(format!("concat {axis}"), &[&[2, 3, 4], &other], |g, p| g.concat(p[0], p[1], axis));
    }
    for (axis, order) in [(0, &[1, 0][..]), (1, &[2, 0, 1]), (2, &[3, 0, 1, 2])] {
        train(format!("reorder {axis}"), &[&[2, 3, 4]], |g, p| g.reorder(p[0], axis, order));
    }
}

#[test]
fn an_order_and_new_names_mean_what_they_say() {
    let mut g = Graph::new();
    let x = g.input("x", &[2, 3]).unwrap();
    let labels = g.labels("labels", &[4], 3).unwrap();
    let turned = g.reorder(x, 1, &[2, 0, 1]).unwrap();
    let renamed = g.relabel(labels, &[2, 1, 0]).unwrap();
    let mut program = Program::<f64>::new(&g, Mode::Infer, &[turned, renamed], 1, cpu()).unwrap();
    let parameters = Parameters::new(&g, &[1]).unwrap();
    let x = Feed::Shared(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]);
    program.run(&parameters, &[("x", x), ("labels", Feed::Labels(&[0, 1, 2, 0]))]).unwrap();
    assert_eq!(program.output(&parameters, 0, 0), [3.0, 1.0, 2.0, 6.0, 4.0, 5.0]);
    assert_eq!(program.output(&parameters, 0, 1), [2.0, 1.0, 0.0, 2.0]);
}

#[test]
fn a_stopped_gradient_is_absent() {
    let only = Experiment::new("stop", Mode::Train, &[&[3]], |g, p| {
        let squares = g.square(p[0])?;
        g.stop_gradient(squares)
    });
    let gradient = &only.measure::<f64>(cpu()).gradients[0].1;
    assert!(gradient.as_ref().is_none_or(|g| g.iter().all(|v| *v == 0.0)), "{gradient:?}");
    // x * stop(x) has the gradient of one factor only: half of that of x * x.
    let half = Experiment::new("product", Mode::Train, &[&[3]], |g, p| {
        let fixed = g.stop_gradient(p[0])?;
        g.mul(p[0], fixed)
    });
    let whole = Experiment::new("product", Mode::Train, &[&[3]], |g, p| g.square(p[0]));
    let (half, whole) = (half.measure::<f64>(cpu()), whole.measure::<f64>(cpu()));
    assert_eq!(half.result, whole.result);
    for (half, whole) in half.gradient("p0").iter().zip(whole.gradient("p0")) {
        assert!(*half != 0.0 && (2.0 * half - whole).abs() < 1e-15);
    }
}

#[test]
fn a_reversed_gradient_is_minus_the_factor_times_the_plain_one() {
    let build = |factor: Option<f64>| {
        Experiment::new("reverse", Mode::Train, &[&[3, 2], &[3, 2]], move |g, p| {
            let inner = g.square(p[0])?;
            let passed = match factor {
                None => inner,
                Some(factor) => {
                    let factor = g.constant(factor)?;
                    g.reverse_gradient(inner, factor)?
                }
            };
            g.mul(passed, p[1])
        })
        .measure::<f64>(cpu())
    };
    let plain = build(None);
    for factor in [0.0, 0.3, 1.0, 2.5] {
        let turned = build(Some(factor));
        assert_eq!(turned.result, plain.result);
        assert_eq!(turned.gradient("p1"), plain.gradient("p1"), "what comes after is not turned");
        for (turned, plain) in turned.gradient("p0").iter().zip(plain.gradient("p0")) {
            assert!((turned + factor * plain).abs() < 1e-15, "{factor}: {turned} {plain}");
        }
    }
}

#[test]
fn a_reversal_takes_its_factor_from_an_input() {
    let build = |reversed: bool| {
        Experiment::new("ramp", Mode::Train, &[&[4]], move |g, p| {
            let ramp = g.input("ramp", &[])?;
            let nothing = g.scale(ramp, 0.0)?;
            let passed = if reversed { g.reverse_gradient(p[0], ramp)? } else { g.add(p[0], nothing)? };
            let cube = g.square(passed)?;
            g.mul(cube, passed)
        })
        .measure::<f64>(cpu())
    };
    let (turned, plain) = (build(true), build(false));
    let share: Vec<f64> =
        turned.gradient("p0").iter().zip(plain.gradient("p0")).map(|(t, p)| t / p).collect();
    assert!(share.iter().all(|s| (s - share[0]).abs() < 1e-12) && share[0] != 0.0, "{share:?}");
}

#[test]
fn matrix_products_in_every_orientation() {
    // Sizes beyond one register tile, and a single row or column.
    for (m, k, n) in [(2, 3, 4), (1, 5, 1), (9, 2, 3), (3, 2, 26), (34, 1, 2)] {
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let a = if ta { [k, m] } else { [m, k] };
            let b = if tb { [n, k] } else { [k, n] };
            let label = format!("matmul {a:?} {ta} {b:?} {tb}");
            train(label.clone(), &[&a, &b], |g, p| g.matmul(p[0], p[1], ta, tb));
            let (a, b) = ([2, a[0], a[1]], [2, b[0], b[1]]);
            train(format!("batched {label}"), &[&a, &b], |g, p| g.matmul(p[0], p[1], ta, tb));
        }
    }
    train("two batch axes", &[&[2, 3, 2, 4], &[2, 3, 4, 3]], |g, p| g.matmul(p[0], p[1], false, false));
}

#[test]
fn linear_layers() {
    train("linear", &[&[4, 3], &[5, 3]], |g, p| g.linear(p[0], p[1], None));
    train("linear with bias", &[&[4, 3], &[5, 3], &[5]], |g, p| g.linear(p[0], p[1], Some(p[2])));
    train("linear of one row", &[&[3], &[5, 3], &[5]], |g, p| g.linear(p[0], p[1], Some(p[2])));
    train("linear of 4 axes", &[&[2, 1, 2, 3], &[5, 3], &[5]], |g, p| g.linear(p[0], p[1], Some(p[2])));
}

#[test]
fn convolutions() {
    for taps in [1, 2, 5, 7, 16] {
        for (groups, channels, outputs) in [(1, 3, 2), (2, 4, 6), (3, 3, 3), (3, 3, 6)] {
            for padding in [Padding::Same, Padding::Valid] {
                // Same padding allows a signal shorter than the kernel.
                let times: &[usize] = if padding == Padding::Same { &[5, 18] } else { &[taps, taps + 3] };
                for &time in times {
                    let label = format!("conv1d K {taps} groups {groups} {padding:?} T {time}");
                    let (x, w) = ([2, channels, time], [outputs, channels / groups, taps]);
                    train(label.clone(), &[&x, &w], |g, p| g.conv1d(p[0], p[1], None, groups, padding));
                    train(label + " bias", &[&x, &w, &[outputs]], |g, p| {
                        g.conv1d(p[0], p[1], Some(p[2]), groups, padding)
                    });
                }
            }
        }
    }
}

fn terms([a, b, c, d, e]: [usize; 5]) -> impl Iterator<Item = (usize, usize, usize, usize, usize)> {
    (0..a * b * c * d * e)
        .map(move |i| (i / e / d / c / b, i / e / d / c % b, i / e / d % c, i / e % d, i % e))
}

fn short(b: usize, o: usize, i: usize) -> f64 {
    (1.0 + b as f64 + 2.3 * o as f64 + 0.7 * i as f64).sin()
}

#[track_caller]
fn all_near(label: &str, got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{label}");
    assert!(distance(got, expected) < 1e-12, "{label}: {got:?} is not {expected:?}");
}

/// `y[o, i] = sum of w[o, c, k] x[c, i * stride + k - padding]`, and its transposed, term by term.
#[test]
fn strided_and_transposed_convolutions() {
    for (time, taps, stride, padding) in [
        (8, 4, 2, 1),
        (9, 4, 2, 1),
        (7, 2, 2, 0),
        (6, 3, 3, 2),
        (5, 3, 1, 1),
        (9, 5, 3, 2),
        (10, 3, 2, 0),
        (4, 2, 3, 1),
    ] {
        let label = format!("T {time} K {taps} stride {stride} padding {padding}");
        let (batch, channels, outputs) = (2, 3, 4);
        let (x, w) = ([batch, channels, time], [outputs, channels, taps]);
        let name = format!("strided {label}");
        let strided = Experiment::new(&name, Mode::Train, &[&x, &w], |g, p| {
            g.strided_conv(p[0], p[1], stride, padding)
        });
        strided.check();
        let parameters = strided.parameters::<f64>();
        let [x, w] = ["p0", "p1"].map(|name| parameters.get(0, name).unwrap());
        let places = (time + 2 * padding - taps) / stride + 1;
        let mut expected = vec![0.0; batch * outputs * places];
        // The transposed one takes the same weights as [C, O, K], from `outputs` channels to `channels`.
        let long = (places - 1) * stride + taps - 2 * padding;
        let mut back = vec![0.0; batch * channels * long];
        for (b, o, i, c, k) in terms([batch, outputs, places, channels, taps]) {
            let (weight, at) = (w[(o * channels + c) * taps + k], (i * stride + k).wrapping_sub(padding));
            let y = &mut expected[(b * outputs + o) * places + i];
            if at < time {
                *y += weight * x[(b * channels + c) * time + at];
            }
            if at < long {
                back[(b * channels + c) * long + at] += weight * short(b, o, i);
            }
        }
        all_near(&name, &strided.measure::<f64>(cpu()).result, &expected);
        if taps % stride != 0 {
            continue;
        }
        let name = format!("transposed {label}");
        let shape = [batch, outputs, places];
        let transposed =
            Experiment::new(&name, Mode::Train, &[&shape, &[outputs, channels, taps]], |g, p| {
                g.transposed_conv(p[0], p[1], stride, padding)
            });
        let values: Vec<f64> =
            terms([batch, outputs, places, 1, 1]).map(|(b, o, i, ..)| short(b, o, i)).collect();
        let transposed = transposed.with_values("p0", &values).with_values("p1", w);
        transposed.check();
        all_near(&name, &transposed.measure::<f64>(cpu()).result, &back);
    }
}

/// `temporal_conv` out of operations that are checked elsewhere.
fn temporal_by_hand(g: &mut Graph, x: Id, w: Id, bias: Option<Id>, padding: Padding) -> Result<Id> {
    let ([b, c, t], [f, k]) = (shape(g, x), shape(g, w));
    let x = g.reshape(x, &[b * c, 1, t])?;
    let w = g.reshape(w, &[f, 1, k])?;
    let y = g.conv1d(x, w, bias, 1, padding)?;
    let time = g.shape(y)[2];
    let y = g.reshape(y, &[b, c, f, time])?;
    g.transpose(y, &[0, 2, 1, 3])
}

/// `spatial_conv` out of batched matrix products, one per group.
fn spatial_by_hand(g: &mut Graph, h: Id, w: Id, groups: usize) -> Result<Id> {
    let ([b, f, c, t], [o, per_group, _]) = (shape(g, h), shape(g, w));
    let mut result = None;
    for group in 0..groups {
        let h = g.slice(h, 1, group * per_group, per_group)?;
        let h = g.reshape(h, &[b, f / groups * c, t])?;
        let w = g.slice(w, 0, group * (o / groups), o / groups)?;
        let w = g.reshape(w, &[o / groups, per_group * c])?;
        let w = g.repeat(w, 0, b)?;
        let y = g.matmul(w, h, false, false)?;
        result = Some(match result {
            None => y,
            Some(before) => g.concat(before, y, 1)?,
        });
    }
    Ok(result.unwrap())
}

fn shape<const N: usize>(g: &Graph, id: Id) -> [usize; N] {
    g.shape(id).try_into().unwrap()
}

#[test]
fn temporal_and_spatial_convolutions_alone() {
    for padding in [Padding::Same, Padding::Valid] {
        for taps in [1, 2, 5] {
            let shapes: &[&[usize]] = &[&[2, 3, 8], &[4, taps], &[4]];
            for bias in [false, true] {
                let label = format!("temporal {padding:?} {taps} {bias}");
                let shapes = if bias { shapes } else { &shapes[..2] };
                let whole = Experiment::new(&*label, Mode::Train, shapes, |g, p| {
                    g.temporal_conv(p[0], p[1], p.get(2).copied(), padding)
                });
                let by_hand = Experiment::new(&*label, Mode::Train, shapes, |g, p| {
                    temporal_by_hand(g, p[0], p[1], p.get(2).copied(), padding)
                });
                assert_same(&label, &whole.check(), &by_hand.measure::<f64>(cpu()), 1e-12);
            }
        }
    }
    for (groups, outputs) in [(1, 3), (2, 4), (4, 4), (4, 8)] {
        let label = format!("spatial {groups} {outputs}");
        let shapes: &[&[usize]] = &[&[2, 4, 3, 5], &[outputs, 4 / groups, 3]];
        let whole = Experiment::new(&*label, Mode::Train, shapes, |g, p| g.spatial_conv(p[0], p[1], groups));
        let by_hand =
            Experiment::new(&*label, Mode::Train, shapes, |g, p| spatial_by_hand(g, p[0], p[1], groups));
        assert_same(&label, &whole.check(), &by_hand.measure::<f64>(cpu()), 1e-12);
    }
}

#[test]
fn what_stands_between_two_convolutions_keeps_them_apart() {
    train("elu between", &[&[2, 3, 7], &[2, 3], &[4, 2, 3]], |g, p| {
        let h = g.temporal_conv(p[0], p[1], None, Padding::Same)?;
        let h = g.elu(h)?;
        g.spatial_conv(h, p[2], 1)
    });
    train("two groups", &[&[2, 3, 7], &[4, 3], &[4, 2, 3]], |g, p| {
        let h = g.temporal_conv(p[0], p[1], None, Padding::Same)?;
        g.spatial_conv(h, p[2], 2)
    });
    train("two readers", &[&[2, 3, 7], &[2, 3], &[4, 2, 3]], |g, p| {
        let h = g.temporal_conv(p[0], p[1], None, Padding::Same)?;
        let y = g.spatial_conv(h, p[2], 1)?;
        let more = g.sum_axes(h, &[1, 2])?;
        let more = g.reshape(more, &[2, 1, 7])?;
        g.add(y, more)
    });
    // The statistics of what learns cannot be taken beforehand.
    train("norm between, of a parameter", &[&[3, 2, 6], &[2, 3], &[4, 1, 2]], |g, p| {
        let h = g.temporal_conv(p[0], p[1], None, Padding::Same)?;
        let h = g.batch_norm(h, 1e-3, 0.1)?;
        g.spatial_conv(h, p[2], 2)
    });
    train("norm between, with a filter bias", &[&[2, 3], &[4, 1, 2], &[2]], |g, p| {
        let x = g.input("x", &[3, 2, 6])?;
        let h = g.temporal_conv(x, p[0], Some(p[2]), Padding::Same)?;
        let h = g.batch_norm(h, 1e-3, 0.1)?;
        g.spatial_conv(h, p[1], 2)
    });
}

#[test]
fn a_joined_pair_equals_the_two_apart() {
    for padding in [Padding::Same, Padding::Valid] {
        for bias in [false, true] {
            let label = format!("pair {padding:?} {bias}");
            let shapes: &[&[usize]] = &[&[2, 3, 8], &[4, 5], &[3, 4, 3], &[4]];
            let shapes = if bias { shapes } else { &shapes[..3] };
            let joined = Experiment::new(&*label, Mode::Train, shapes, |g, p| {
                let h = g.temporal_conv(p[0], p[1], p.get(3).copied(), padding)?;
                g.spatial_conv(h, p[2], 1)
            });
            let by_hand = Experiment::new(&*label, Mode::Train, shapes, |g, p| {
                let h = temporal_by_hand(g, p[0], p[1], p.get(3).copied(), padding)?;
                spatial_by_hand(g, h, p[2], 1)
            });
            assert_joined(&label, &joined, &["temporal_conv"], &by_hand);
        }
    }
}

/// The joined form has right gradients and equals both the same network kept apart and one built by hand.
fn assert_joined(label: &str, joined: &Experiment, apart: &[&str], by_hand: &Experiment) {
    let kept = joined.clone().keeping(apart);
    let (_, wide) = joined.graph.nodes().find(|(_, node)| node.op.name() == "temporal_conv").unwrap();
    let makes = |experiment: &Experiment| experiment.runner::<f64>(cpu()).makes(&wide.shape);
    assert!(!makes(joined), "{label}: was not joined");
    assert!(makes(&kept), "{label}: was not kept apart");
    let (measured, kept) = (joined.check(), kept.measure::<f64>(cpu()));
    assert_same(label, &measured, &kept, 1e-10);
    assert_same(label, &measured, &by_hand.measure::<f64>(cpu()), 1e-10);
}

#[test]
fn a_pair_joined_through_a_batch_norm_equals_the_three_apart() {
    for mode in [Mode::Train, Mode::Infer] {
        for padding in [Padding::Same, Padding::Valid] {
            for (taps, depth, time) in [(1, 1, 6), (2, 2, 6), (5, 1, 9), (5, 2, 5), (16, 2, 20)] {
                let label = format!("EEGNet {mode:?} {padding:?} K {taps} D {depth} T {time}");
                let shapes: &[&[usize]] = &[&[2, taps], &[2 * depth, 1, 3]];
                let joined = Experiment::new(&*label, mode, shapes, |g, p| {
                    let x = g.input("x", &[3, 3, time])?;
                    let h = g.temporal_conv(x, p[0], None, padding)?;
                    let h = g.batch_norm(h, 1e-3, 0.1)?;
                    g.spatial_conv(h, p[1], 2)
                });
                let by_hand = Experiment::new(&*label, mode, shapes, |g, p| {
                    let x = g.input("x", &[3, 3, time])?;
                    let h = temporal_by_hand(g, x, p[0], None, padding)?;
                    let h = g.batch_norm(h, 1e-3, 0.1)?;
                    spatial_by_hand(g, h, p[1], 2)
                });
                // Without zeros at the edges a large offset of the data would cancel, so training keeps these apart.
                if mode == Mode::Train && padding == Padding::Valid && taps > 1 {
                    assert_same(&label, &joined.check(), &by_hand.measure::<f64>(cpu()), 1e-10);
                    continue;
                }
                assert_joined(&label, &joined, &["temporal_conv"], &by_hand);
                assert_joined(&label, &joined, &["batch_norm"], &by_hand);
            }
        }
    }
}

/// What may follow a batch norm: its name and how it is built.
const AFTER_NORM: &[(&str, Build)] = &[
    ("nothing", |_, x| Ok(x[0])),
    ("elu", |g, x| g.elu(x[0])),
    ("relu", |g, x| g.relu(x[0])),
    ("square", |g, x| g.square(x[0])),
    ("elu, dropout", |g, x| {
        let y = g.elu(x[0])?;
        g.dropout(y, 0.4)
    }),
    ("elu, average", |g, x| {
        let y = g.elu(x[0])?;
        g.pool(y, Pooling::Average { size: 2, stride: 2 })
    }),
    ("elu, max", |g, x| {
        let y = g.elu(x[0])?;
        g.pool(y, Pooling::Max { size: 3, stride: 2 })
    }),
    ("elu, adaptive", |g, x| {
        let y = g.elu(x[0])?;
        g.pool(y, Pooling::Adaptive { length: 2 })
    }),
    ("elu, dropout, average", |g, x| {
        let y = g.elu(x[0])?;
        let y = g.dropout(y, 0.4)?;
        g.pool(y, Pooling::Average { size: 3, stride: 1 })
    }),
    ("elu, dropout, max", |g, x| {
        let y = g.elu(x[0])?;
        let y = g.dropout(y, 0.4)?;
        g.pool(y, Pooling::Max { size: 2, stride: 2 })
    }),
    ("dropout", |g, x| g.dropout(x[0], 0.4)),
    ("max", |g, x| g.pool(x[0], Pooling::Max { size: 2, stride: 1 })),
    ("dropout, elu", |g, x| {
        let y = g.dropout(x[0], 0.4)?;
        g.elu(y)
    }),
    ("elu, square", |g, x| {
        let y = g.elu(x[0])?;
        g.square(y)
    }),
    ("average, dropout, elu", |g, x| {
        let y = g.pool(x[0], Pooling::Average { size: 2, stride: 1 })?;
        let y = g.dropout(y, 0.4)?;
        g.elu(y)
    }),
];

#[test]
fn batch_norm_and_what_follows_it() {
    // On features [B, C] the pooling after it goes along the channels.
    let shapes: &[&[usize]] = &[&[5, 4], &[3, 2, 7], &[2, 2, 3, 4]];
    for mode in [Mode::Train, Mode::Infer] {
        for shape in shapes {
            for (name, after) in AFTER_NORM {
                let label = format!("batch_norm {mode:?} {shape:?} {name}");
                Experiment::new(label, mode, &[shape], |g, p| {
                    let y = g.batch_norm(p[0], 1e-3, 0.1)?;
                    after(g, &[y])
                })
                .check();
            }
        }
    }
}

#[test]
fn what_joined_a_batch_norm_equals_the_same_apart() {
    for mode in [Mode::Train, Mode::Infer] {
        for (name, after) in &AFTER_NORM[1..] {
            let label = format!("chain {mode:?} {name}");
            let joined = Experiment::new(&*label, mode, &[&[3, 2, 150]], |g, p| {
                let y = g.batch_norm(p[0], 1e-3, 0.1)?;
                after(g, &[y])
            });
            let apart = joined.clone().keeping(&["batch_norm"]).measure::<f64>(cpu());
            let joined = joined.measure::<f64>(cpu());
            // In inference dropout is not there, so there is nothing to join.
            if !(mode == Mode::Infer && *name == "dropout") {
                assert!(joined.instructions < apart.instructions, "{label}: was not joined");
            }
            assert_same(&label, &joined, &apart, 1e-12);
        }
    }
}

#[test]
fn dropout_after_a_batch_norm_drops_in_training_only() {
    let build = |mode| {
        Experiment::new("drop", mode, &[&[3, 2, 40]], |g, p| {
            let y = g.batch_norm(p[0], 1e-3, 0.1)?;
            g.dropout(y, 0.5)
        })
    };
    let zeros = |mode| build(mode).measure::<f64>(cpu()).result.iter().filter(|v| **v == 0.0).count();
    assert!((60..180).contains(&zeros(Mode::Train)));
    assert_eq!(zeros(Mode::Infer), 0);
}

#[test]
fn layer_norm() {
    for shape in [&[4, 5][..], &[7], &[2, 3, 4], &[2, 33]] {
        train(format!("layer_norm {shape:?}"), &[shape], |g, p| g.layer_norm(p[0], 1e-3));
    }
}

/// Of every trial's every channel by itself, whatever the mode.
#[test]
fn instance_norm() {
    for shape in [[2, 3, 5], [1, 2, 33], [3, 70, 2]] {
        for mode in [Mode::Train, Mode::Infer] {
            let label = format!("instance_norm {shape:?} {mode:?}");
            let experiment = Experiment::new(&label, mode, &[&shape], |g, p| g.instance_norm(p[0], 1e-3));
            experiment.check();
            let parameters = experiment.parameters::<f64>();
            let [x, scale, shift] = ["p0", "scale", "shift"].map(|name| parameters.get(0, name).unwrap());
            let mut expected = vec![];
            for (row, x) in x.chunks(shape[2]).enumerate() {
                let n = shape[2] as f64;
                let mean = x.iter().sum::<f64>() / n;
                let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
                let channel = row % shape[1];
                let unit = x.iter().map(|x| (x - mean) / (variance + 1e-3).sqrt());
                expected.extend(unit.map(|u| u * scale[channel] + shift[channel]));
            }
            all_near(&label, &experiment.measure::<f64>(cpu()).result, &expected);
        }
    }
}

#[test]
fn dropout_alone() {
    for shape in [&[30][..], &[3, 40], &[2, 2, 2, 9], &[2, 300]] {
        for p in [0.1, 0.5, 0.9] {
            train(format!("dropout {p} {shape:?}"), &[shape], |g, x| g.dropout(x[0], p));
        }
    }
    train("two of one value", &[&[40]], |g, p| {
        let (a, b) = (g.dropout(p[0], 0.5)?, g.dropout(p[0], 0.5)?);
        g.mul(a, b)
    });
}

#[test]
fn pooling_alone() {
    let kinds = [
        Pooling::Average { size: 1, stride: 1 },
        Pooling::Average { size: 3, stride: 3 },
        Pooling::Average { size: 4, stride: 2 },
        Pooling::Average { size: 2, stride: 3 },
        Pooling::Average { size: 11, stride: 1 },
        Pooling::Max { size: 1, stride: 1 },
        Pooling::Max { size: 3, stride: 3 },
        Pooling::Max { size: 4, stride: 2 },
        Pooling::Max { size: 2, stride: 3 },
        Pooling::Adaptive { length: 1 },
        Pooling::Adaptive { length: 4 },
        Pooling::Adaptive { length: 7 },
        Pooling::Adaptive { length: 11 },
    ];
    for pooling in kinds {
        for shape in [&[11][..], &[2, 11], &[2, 3, 11], &[2, 1, 2, 11]] {
            train(format!("{pooling:?} {shape:?}"), &[shape], |g, p| g.pool(p[0], pooling));
        }
    }
}

#[test]
fn softmax() {
    for shape in [&[4][..], &[3, 1], &[3, 4], &[2, 2, 5]] {
        train(format!("softmax {shape:?}"), &[shape], |g, p| {
            let wide = g.scale(p[0], 3.0)?;
            g.softmax(wide)
        });
    }
}

#[test]
fn cross_entropy() {
    for smoothing in [0.0, 0.1, 0.7] {
        for (batch, classes) in [(1, 2), (5, 3), (4, 1)] {
            train(format!("cross_entropy {smoothing} {batch} {classes}"), &[&[batch, classes]], |g, p| {
                let labels = g.labels("labels", &[batch], classes)?;
                g.cross_entropy(p[0], labels, smoothing)
            });
        }
    }
    // Under a factor, so that the gradient that comes from above is not 1.
    train("scaled", &[&[5, 3]], |g, p| {
        let labels = g.labels("labels", &[5], 3)?;
        let loss = g.cross_entropy(p[0], labels, 0.1)?;
        g.exp(loss)
    });
    // Several rows of logits for each label.
    train("repeated labels", &[&[6, 3]], |g, p| {
        let labels = g.labels("labels", &[2], 3)?;
        let labels = g.repeat(labels, 1, 3)?;
        let labels = g.reshape(labels, &[6])?;
        g.cross_entropy(p[0], labels, 0.1)
    });
}

#[test]
fn soft_cross_entropy() {
    for (batch, classes) in [(1, 2), (5, 3), (4, 7)] {
        let label = format!("soft_cross_entropy {batch} {classes}");
        let experiment =
            Experiment::new(label.clone(), Mode::Train, &[&[batch, classes], &[batch, classes]], |g, p| {
                let targets = g.softmax(p[1])?;
                let wide = g.scale(p[0], 3.0)?;
                let loss = g.soft_cross_entropy(wide, targets)?;
                g.scale(loss, 1.7)
            });
        let measured = experiment.check();
        let parameters = experiment.parameters::<f64>();
        let [logits, targets] = ["p0", "p1"].map(|name| parameters.get(0, name).unwrap());
        let shares = |row: &[f64], factor: f64| -> Vec<f64> {
            let sum: f64 = row.iter().map(|x| (factor * x).exp()).sum();
            row.iter().map(|x| (factor * x).exp() / sum).collect()
        };
        let rows = logits.chunks(classes).zip(targets.chunks(classes));
        let plain = rows.map(|(z, q)| {
            let (p, q) = (shares(z, 3.0), shares(q, 1.0));
            -p.iter().zip(&q).map(|(p, q)| q * p.ln()).sum::<f64>()
        });
        let plain = 1.7 * plain.sum::<f64>() / batch as f64;
        assert!((measured.result[0] - plain).abs() < 1e-12, "{label}: {} {plain}", measured.result[0]);
        if common::gpu().is_some() {
            experiment.check_gpu();
        }
    }
    // Of logits that no exponential could take, and of certain targets, it is the cross-entropy against labels.
    let mut g = Graph::new();
    let (z, q) = (g.input("z", &[2, 3]).unwrap(), g.input("q", &[2, 3]).unwrap());
    let labels = g.labels("labels", &[2], 3).unwrap();
    let soft = g.soft_cross_entropy(z, q).unwrap();
    let hard = g.cross_entropy(z, labels, 0.0).unwrap();
    let mut program: Program<f64> = Program::new(&g, Mode::Infer, &[soft, hard], 1, cpu()).unwrap();
    let parameters = Parameters::new(&g, &[0]).unwrap();
    let feeds = [
        ("z", Feed::Each(&[2000.0, -2000.0, 0.0, 1.0, 2.0, -900.0][..])),
        ("q", Feed::Each(&[0.0, 0.0, 1.0, 0.0, 1.0, 0.0][..])),
        ("labels", Feed::Labels(&[2, 1][..])),
    ];
    program.run(&parameters, &feeds).unwrap();
    let [soft, hard] = [0, 1].map(|i| program.output(&parameters, 0, i)[0]);
    assert!(soft.is_finite() && (soft - hard).abs() < 1e-9, "{soft} {hard}");
}

fn contrast(temperature: f64) -> Experiment {
    Experiment::new("nt_xent", Mode::Train, &[&[6, 4]], move |g, p| {
        let labels = g.labels("labels", &[6], 9)?;
        let loss = g.nt_xent(p[0], labels, temperature)?;
        g.scale(loss, 1.7)
    })
}

#[test]
fn nt_xent() {
    for temperature in [0.1, 0.5, 2.0] {
        for labels in [[0, 1, 0, 1, 0, 1], [0, 0, 0, 0, 0, 0], [3, 3, 1, 1, 8, 8]] {
            contrast(temperature).with_labels(&labels).check();
        }
        // The fifth and sixth sample are nobody's partner: they repel but have no term of their own.
        contrast(temperature).with_labels(&[0, 1, 0, 1, 2, 3]).check();
    }
}

#[test]
fn nt_xent_without_any_partners_is_zero() {
    let nobody = contrast(0.5).with_labels(&[0, 1, 2, 3, 4, 5]).check();
    assert_eq!(nobody.result, [0.0]);
    assert_eq!(nobody.gradient("p0"), [0.0; 24]);
}

#[test]
fn masks_variance_and_tables() {
    for (b, c, t) in [(1, 1, 1), (2, 3, 4), (2, 2, 35)] {
        train(format!("outer_mask {t}"), &[&[b, c, t], &[b, c], &[b, t]], |g, p| {
            g.outer_mask(p[0], p[1], p[2])
        });
    }
    for shape in [&[5][..], &[2, 3, 4], &[2, 1], &[3, 37]] {
        train(format!("variance {shape:?}"), &[shape], |g, p| g.variance(p[0]));
    }
    for shape in [&[3][..], &[3, 2], &[3, 2, 2]] {
        let gather = Experiment::new(format!("gather {shape:?}"), Mode::Train, &[shape], |g, p| {
            let labels = g.labels("labels", &[4], 3)?;
            g.gather(p[0], labels)
        });
        // A row that is picked twice and one that is not picked.
        gather.with_labels(&[2, 0, 2, 2]).check();
    }
}

#[test]
fn by_mode_follows_the_mode() {
    let build = |mode| {
        Experiment::new("by_mode", mode, &[&[4], &[4]], |g, p| {
            let (training, inference) = (g.square(p[0])?, g.exp(p[1])?);
            g.by_mode(training, inference)
        })
        .check()
    };
    let moved = |mode| build(mode).gradients.into_iter().map(|(_, g)| g.is_some()).collect::<Vec<_>>();
    assert_eq!(moved(Mode::Train), [true, false]);
    assert_eq!(moved(Mode::Infer), [false, true]);
}

#[test]
fn a_whole_network() {
    for mode in [Mode::Train, Mode::Infer] {
        Experiment::new(
            format!("network {mode:?}"),
            mode,
            &[&[2, 5], &[4, 1, 3], &[4, 1, 4], &[3, 8], &[3]],
            |g, p| {
                let x = g.input("x", &[4, 3, 12])?;
                let h = g.temporal_conv(x, p[0], None, Padding::Same)?;
                let h = g.scoped("first", |g| g.batch_norm(h, 1e-3, 0.1))?;
                let h = g.spatial_conv(h, p[1], 2)?;
                let h = g.scoped("second", |g| g.batch_norm(h, 1e-3, 0.1))?;
                let h = g.elu(h)?;
                let h = g.pool(h, Pooling::Average { size: 3, stride: 3 })?;
                let h = g.dropout(h, 0.25)?;
                let h = g.conv1d(h, p[2], None, 4, Padding::Same)?;
                let h = g.pool(h, Pooling::Average { size: 2, stride: 2 })?;
                let h = g.flatten(h)?;
                let logits = g.linear(h, p[3], Some(p[4]))?;
                let labels = g.labels("labels", &[4], 3)?;
                g.cross_entropy(logits, labels, 0.1)
            },
        )
        .check();
    }
}

#[test]
fn the_checker_notices_a_wrong_gradient() {
    // A turned gradient is a wrong one.
    let wrong = Experiment::new("wrong", Mode::Train, &[&[3]], |g, p| {
        let one = g.constant(1.0)?;
        g.reverse_gradient(p[0], one)
    });
    let caught = std::panic::catch_unwind(|| wrong.check());
    assert!(caught.is_err());
    assert!(distance(&[1.0, 2.0], &[1.0, 2.1]) > 0.04);
}

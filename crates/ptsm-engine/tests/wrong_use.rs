//! Wrong uses: each gives an error, never a panic, and the error names the place and both sides of the mismatch.
//!
//! Longer than 600 lines because it is one list of all that can be used wrongly, with the message of each.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use common::{Random, cpu, to};
use ptsm_engine::{
    Adam, Cpu, Decay, Feed, Graph, Id, Init, Isa, Mode, Objective, Padding, Parameters, Pooling, Program,
    Result, Step, StepSpec, metadata,
};

/// Collects what went wrong with a table, so that one run shows all of it.
#[derive(Default)]
struct RowTable {
    problems: Vec<String>,
}

impl RowTable {
    /// The body must end in an error that contains every one of some words.
    fn refused<T>(&mut self, case: &str, words: &[&str], body: impl FnOnce() -> Result<T>) {
        match catch_unwind(AssertUnwindSafe(body)) {
            Err(_) => self.problems.push(format!("{case}: panicked")),
            Ok(Ok(_)) => self.problems.push(format!("{case}: was accepted")),
            Ok(Err(error)) => {
                let error = error.to_string();
                let lacks: Vec<&&str> = words.iter().filter(|word| !error.contains(**word)).collect();
                if !lacks.is_empty() {
                    self.problems.push(format!("{case}: \"{error}\" lacks {lacks:?}"));
                }
            }
        }
    }

    /// The same for the building of a graph.
    fn unbuildable(&mut self, words: &[&str], body: impl FnOnce(&mut Graph) -> Result<Id>) {
        self.refused(&words.join(" "), words, || body(&mut Graph::new()));
    }

    fn finish(self) {
        assert!(self.problems.is_empty(), "{} problems:\n{}", self.problems.len(), self.problems.join("\n"));
    }
}

/// A value of some shape.
fn some(g: &mut Graph, shape: &[usize]) -> Id {
    let name = format!("value {}", g.tensors().len());
    g.parameter(&name, shape, Init::Constant(0.0)).unwrap()
}

/// Labels of some shape.
fn labels(g: &mut Graph, shape: &[usize], classes: usize) -> Id {
    g.labels("labels", shape, classes).unwrap()
}

type OnTwo = fn(&mut Graph, Id, Id) -> Result<Id>;

#[test]
fn declarations() {
    let mut t = RowTable::default();
    let zero = Init::Constant(0.0);
    t.unbuildable(&["`w`", "twice"], |g| {
        g.parameter("w", &[2], zero)?;
        g.statistic("w", &[2, 3], zero)
    });
    t.unbuildable(&["`encoder.0.w`", "twice"], |g| {
        g.scoped("encoder", |g| {
            g.scoped("0", |g| {
                g.parameter("w", &[2], zero)?;
                g.constrained("w", &[2], zero, 1.0)
            })
        })
    });
    t.unbuildable(&["`scale`", "twice"], |g| {
        let x = some(g, &[2, 3, 4]);
        let y = g.batch_norm(x, 1e-3, 0.1)?;
        g.batch_norm(y, 1e-3, 0.1)
    });
    t.unbuildable(&["`x`", "twice"], |g| {
        g.input("x", &[2])?;
        g.labels("x", &[2], 3)
    });
    t.unbuildable(&["`w`", "[2, 0]"], |g| g.parameter("w", &[2, 0], zero));
    t.unbuildable(&["`w`", "[0]"], |g| g.constrained("w", &[0], zero, 1.0));
    t.unbuildable(&["`w`", "[2, 0]"], |g| g.statistic("w", &[2, 0], Init::Moments));
    t.unbuildable(&["`x`", "[3, 0, 1]"], |g| g.input("x", &[3, 0, 1]));
    t.unbuildable(&["`y`", "[0]"], |g| g.labels("y", &[0], 3));
    t.unbuildable(&["`y`", "class"], |g| g.labels("y", &[4], 0));
    t.finish();
}

#[test]
fn elementwise_and_reductions() {
    let mut t = RowTable::default();
    let binary: [(&str, OnTwo); 4] = [
        ("add", |g, a, b| g.add(a, b)),
        ("sub", |g, a, b| g.sub(a, b)),
        ("mul", |g, a, b| g.mul(a, b)),
        ("div", |g, a, b| g.div(a, b)),
    ];
    for (name, build) in binary {
        t.unbuildable(&[name, "[2, 3]", "[2, 4]"], |g| {
            let (a, b) = (some(g, &[2, 3]), some(g, &[2, 4]));
            build(g, a, b)
        });
        t.unbuildable(&[name, "`encoder.1`", "[2, 3]", "[2]"], |g| {
            g.scoped("encoder.1", |g| {
                let (a, b) = (some(g, &[2, 3]), some(g, &[2]));
                build(g, a, b)
            })
        });
    }
    t.unbuildable(&["sum", "[2, 3]", "axis 2"], |g| {
        let x = some(g, &[2, 3]);
        g.sum_axes(x, &[0, 2])
    });
    t.unbuildable(&["sum", "[2, 3]", "axis 7"], |g| {
        let x = some(g, &[2, 3]);
        g.mean_axes(x, &[7])
    });
    t.unbuildable(&["sum", "[2, 3, 2, 3, 2]", "[1, 3]"], |g| {
        let x = some(g, &[2, 3, 2, 3, 2]);
        g.sum_axes(x, &[1, 3])
    });
    t.unbuildable(&["[4, 3]", "[4, 2]"], |g| {
        let (a, b) = (some(g, &[4, 3]), some(g, &[4, 2]));
        g.cosine(a, b)
    });
    for (a, b) in [([4, 3], [5, 3]), ([1, 3], [1, 3])] {
        t.unbuildable(&["covariance", &format!("{a:?}"), &format!("{b:?}")], |g| {
            let (a, b) = (some(g, &a), some(g, &b));
            g.covariance(a, b)
        });
    }
    t.unbuildable(&["covariance", "[4]", "[4, 3]"], |g| {
        let (a, b) = (some(g, &[4]), some(g, &[4, 3]));
        g.covariance(a, b)
    });
    t.unbuildable(&["repeat", "[2, 3]", "axis 3"], |g| {
        let x = some(g, &[2, 3]);
        g.repeat(x, 3, 2)
    });
    t.unbuildable(&["[2, 0, 3]"], |g| {
        let x = some(g, &[2, 3]);
        g.repeat(x, 1, 0)
    });
    t.finish();
}

#[test]
fn layout() {
    let mut t = RowTable::default();
    for shape in [&[4][..], &[2, 0], &[3, 3], &[]] {
        t.unbuildable(&["reshape", "[2, 3]", &format!("{shape:?}")], |g| {
            let x = some(g, &[2, 3]);
            g.reshape(x, shape)
        });
    }
    for order in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 2], &[]] {
        t.unbuildable(&["transpose", "[2, 3]", &format!("{order:?}")], |g| {
            let x = some(g, &[2, 3]);
            g.transpose(x, order)
        });
    }
    for (axis, start, length) in [(1, 2, 2), (1, 4, 1), (2, 0, 1)] {
        t.unbuildable(&["slice", "[2, 3]", &format!("{start}..{}", start + length)], |g| {
            let x = some(g, &[2, 3]);
            g.slice(x, axis, start, length)
        });
    }
    t.unbuildable(&["slice", "[2, 0]"], |g| {
        let x = some(g, &[2, 3]);
        g.slice(x, 1, 1, 0)
    });
    for (b, axis) in [(&[2, 4][..], 0), (&[3, 3], 1), (&[2, 3, 1], 0), (&[2, 3], 2)] {
        t.unbuildable(&["concat", "[2, 3]", &format!("{b:?}"), &format!("axis {axis}")], |g| {
            let (a, b) = (some(g, &[2, 3]), some(g, b));
            g.concat(a, b, axis)
        });
    }
    for (axis, order) in [(0, &[0, 1, 2][..]), (1, &[0, 1]), (1, &[0, 1, 1]), (1, &[0, 1, 3]), (2, &[0])] {
        t.unbuildable(&["reorder", "[2, 3]", &format!("{order:?}")], |g| {
            let x = some(g, &[2, 3]);
            g.reorder(x, axis, order)
        });
    }
    t.unbuildable(&["relabel", "no labels"], |g| {
        let x = some(g, &[2]);
        g.relabel(x, &[1, 0])
    });
    for to in [&[0][..], &[1, 2], &[0, 1, 2]] {
        t.unbuildable(&["relabel", "2 classes"], |g| {
            let labels = g.labels("labels", &[4], 2)?;
            g.relabel(labels, to)
        });
    }
    t.unbuildable(&["reverse", "[2]"], |g| {
        let (x, factor) = (some(g, &[2, 3]), some(g, &[2]));
        g.reverse_gradient(x, factor)
    });
    t.finish();
}

#[test]
fn products_and_convolutions() {
    let mut t = RowTable::default();
    let products: [(&[usize], &[usize], bool, bool); 7] = [
        (&[2, 3], &[4, 5], false, false),
        (&[2, 3], &[3, 5], false, true),
        (&[2, 3], &[3, 5], true, false),
        (&[2, 3], &[5, 3], true, true),
        (&[3], &[3, 5], false, false),
        (&[2, 2, 3], &[3, 5], false, false),
        (&[2, 2, 3], &[4, 3, 5], false, false),
    ];
    for (a, b, ta, tb) in products {
        t.unbuildable(&["matmul", &format!("{a:?}"), &format!("{b:?}")], |g| {
            let (a, b) = (some(g, a), some(g, b));
            g.matmul(a, b, ta, tb)
        });
    }
    for (x, w) in [(&[4, 3][..], &[5, 4][..]), (&[], &[5, 4]), (&[4, 3], &[3]), (&[4, 3], &[1, 5, 3])] {
        t.unbuildable(&["linear", &format!("{x:?}"), &format!("{w:?}")], |g| {
            let (x, w) = (some(g, x), some(g, w));
            g.linear(x, w, None)
        });
    }
    for bias in [&[4][..], &[1, 5], &[]] {
        t.unbuildable(&["linear", "[5, 3]", &format!("{bias:?}")], |g| {
            let (x, w, bias) = (some(g, &[4, 3]), some(g, &[5, 3]), some(g, bias));
            g.linear(x, w, Some(bias))
        });
    }
    let convolutions: [(&[usize], &[usize], usize); 7] = [
        (&[2, 8], &[4, 2, 3], 1),
        (&[2, 3, 8], &[4, 3], 1),
        (&[2, 3, 8], &[4, 2, 3], 1),
        (&[2, 4, 8], &[4, 4, 3], 2),
        (&[2, 3, 8], &[4, 3, 3], 2),
        (&[2, 4, 8], &[3, 2, 3], 2),
        (&[2, 4, 8], &[4, 4, 3], 0),
    ];
    for (x, w, groups) in convolutions {
        for padding in [Padding::Same, Padding::Valid] {
            t.unbuildable(&["conv1d", &format!("{x:?}"), &format!("{w:?}")], |g| {
                let (x, w) = (some(g, x), some(g, w));
                g.conv1d(x, w, None, groups, padding)
            });
        }
    }
    t.unbuildable(&["conv1d", "[4, 3, 5]", "[3]"], |g| {
        let (x, w, bias) = (some(g, &[2, 3, 8]), some(g, &[4, 3, 5]), some(g, &[3]));
        g.conv1d(x, w, Some(bias), 1, Padding::Same)
    });
    t.unbuildable(&["conv1d", "[2, 3, 4]", "[4, 3, 5]", "4 samples"], |g| {
        let (x, w) = (some(g, &[2, 3, 4]), some(g, &[4, 3, 5]));
        g.conv1d(x, w, None, 1, Padding::Valid)
    });
    t.finish();
}

#[test]
fn temporal_and_spatial_convolutions() {
    let mut t = RowTable::default();
    for (x, w) in [(&[2, 8][..], &[4, 3][..]), (&[2, 3, 8], &[4, 1, 3]), (&[], &[4, 3]), (&[2, 3, 8], &[])] {
        t.unbuildable(&["temporal_conv", &format!("{x:?}"), &format!("{w:?}")], |g| {
            let (x, w) = (some(g, x), some(g, w));
            g.temporal_conv(x, w, None, Padding::Same)
        });
    }
    t.unbuildable(&["temporal_conv", "[4, 3]", "[3]"], |g| {
        let (x, w, bias) = (some(g, &[2, 3, 8]), some(g, &[4, 3]), some(g, &[3]));
        g.temporal_conv(x, w, Some(bias), Padding::Same)
    });
    t.unbuildable(&["temporal_conv", "[2, 3, 8]", "[4, 9]", "8 samples"], |g| {
        let (x, w) = (some(g, &[2, 3, 8]), some(g, &[4, 9]));
        g.temporal_conv(x, w, None, Padding::Valid)
    });
    let spatial: [(&[usize], &[usize], usize); 6] = [
        (&[2, 4, 8], &[4, 4, 3], 1),
        (&[2, 4, 3, 8], &[4, 3], 1),
        (&[2, 4, 3, 8], &[4, 3, 3], 1),
        (&[2, 4, 3, 8], &[4, 4, 2], 1),
        (&[2, 4, 3, 8], &[3, 2, 3], 2),
        (&[2, 4, 3, 8], &[4, 4, 3], 0),
    ];
    for (h, w, groups) in spatial {
        t.unbuildable(
            &["spatial_conv", &format!("{h:?}"), &format!("{w:?}"), &format!("{groups} groups")],
            |g| {
                let (h, w) = (some(g, h), some(g, w));
                g.spatial_conv(h, w, groups)
            },
        );
    }
    t.finish();
}

#[test]
fn layers() {
    let mut t = RowTable::default();
    for shape in [&[3][..], &[]] {
        t.unbuildable(&["batch_norm", &format!("{shape:?}")], |g| {
            let x = some(g, shape);
            g.batch_norm(x, 1e-3, 0.1)
        });
    }
    t.unbuildable(&["layer_norm", "[]"], |g| {
        let x = some(g, &[]);
        g.layer_norm(x, 1e-3)
    });
    for p in [1.0, 1.5, -0.1, f64::NAN, f64::INFINITY] {
        t.unbuildable(&["dropout", &format!("{p}")], |g| {
            let x = some(g, &[2, 3]);
            g.dropout(x, p)
        });
    }
    let poolings = [
        (Pooling::Average { size: 9, stride: 1 }, "9"),
        (Pooling::Max { size: 9, stride: 1 }, "9"),
        (Pooling::Adaptive { length: 9 }, "9"),
        (Pooling::Adaptive { length: 0 }, "0"),
        (Pooling::Average { size: 0, stride: 1 }, "empty"),
        (Pooling::Max { size: 0, stride: 1 }, "empty"),
        (Pooling::Average { size: 2, stride: 0 }, "stride"),
        (Pooling::Max { size: 2, stride: 0 }, "stride"),
    ];
    for (pooling, word) in poolings {
        t.unbuildable(&["pool", "[2, 3, 8]", word], |g| {
            let x = some(g, &[2, 3, 8]);
            g.pool(x, pooling)
        });
    }
    t.unbuildable(&["pool", "scalar"], |g| {
        let x = some(g, &[]);
        g.pool(x, Pooling::Adaptive { length: 1 })
    });
    t.unbuildable(&["softmax", "scalar"], |g| {
        let x = some(g, &[]);
        g.softmax(x)
    });
    t.unbuildable(&["variance", "scalar"], |g| {
        let x = some(g, &[]);
        g.variance(x)
    });
    for (space, time) in [(&[2, 4][..], &[2, 8][..]), (&[2, 3], &[2, 7]), (&[3], &[2, 8]), (&[2, 3], &[1, 8])]
    {
        t.unbuildable(&["outer_mask", "[2, 3, 8]", &format!("{space:?}"), &format!("{time:?}")], |g| {
            let (x, space, time) = (some(g, &[2, 3, 8]), some(g, space), some(g, time));
            g.outer_mask(x, space, time)
        });
    }
    t.unbuildable(&["by_mode", "[2, 3]", "[3, 2]"], |g| {
        let (a, b) = (some(g, &[2, 3]), some(g, &[3, 2]));
        g.by_mode(a, b)
    });
    t.finish();
}

#[test]
fn losses_and_tables() {
    let mut t = RowTable::default();
    for smoothing in [1.0, -0.1, f64::NAN] {
        t.unbuildable(&["cross_entropy", &format!("{smoothing}")], |g| {
            let (logits, labels) = (some(g, &[4, 3]), labels(g, &[4], 3));
            g.cross_entropy(logits, labels, smoothing)
        });
    }
    for (shape, batch) in [(&[4, 3][..], 5), (&[4, 1, 3], 4), (&[3], 3)] {
        t.unbuildable(&["cross_entropy", &format!("{shape:?}"), &format!("[{batch}]")], |g| {
            let (logits, labels) = (some(g, shape), labels(g, &[batch], 3));
            g.cross_entropy(logits, labels, 0.0)
        });
    }
    t.unbuildable(&["cross_entropy", "[4, 3]", "4 classes"], |g| {
        let (logits, labels) = (some(g, &[4, 3]), labels(g, &[4], 4));
        g.cross_entropy(logits, labels, 0.0)
    });
    t.unbuildable(&["cross_entropy", "labels"], |g| {
        let (logits, real) = (some(g, &[4, 3]), g.input("real", &[4])?);
        g.cross_entropy(logits, real, 0.0)
    });
    t.unbuildable(&["cross_entropy", "labels"], |g| {
        let (logits, learned) = (some(g, &[4, 3]), some(g, &[4]));
        g.cross_entropy(logits, learned, 0.0)
    });
    for shape in [&[4, 2][..], &[3, 3], &[4]] {
        t.unbuildable(&["soft_cross_entropy", "[4, 3]", &format!("{shape:?}")], |g| {
            let (logits, targets) = (some(g, &[4, 3]), some(g, shape));
            g.soft_cross_entropy(logits, targets)
        });
    }
    for temperature in [0.0, -1.0, f64::NAN] {
        t.unbuildable(&["nt_xent", &format!("{temperature}")], |g| {
            let (features, labels) = (some(g, &[4, 3]), labels(g, &[4], 3));
            g.nt_xent(features, labels, temperature)
        });
    }
    for (shape, batch) in [(&[4, 3][..], 5), (&[4, 1, 3], 4), (&[1, 3], 1)] {
        t.unbuildable(&["nt_xent", &format!("{shape:?}"), &format!("[{batch}]")], |g| {
            let (features, labels) = (some(g, shape), labels(g, &[batch], 3));
            g.nt_xent(features, labels, 0.5)
        });
    }
    t.unbuildable(&["gather", "3 rows"], |g| {
        let (table, labels) = (some(g, &[3, 2]), labels(g, &[4], 4));
        g.gather(table, labels)
    });
    t.unbuildable(&["gather", "labels"], |g| {
        let (table, real) = (some(g, &[3, 2]), g.input("real", &[4])?);
        g.gather(table, real)
    });
    t.unbuildable(&["gather", "[3, 2]", "[4, 1]"], |g| {
        let (table, labels) = (some(g, &[3, 2]), labels(g, &[4, 1], 3));
        g.gather(table, labels)
    });
    t.finish();
}

/// `y = x w + b`, a loss, and all inputs declared: the network most cases below misuse.
struct Small {
    graph: Graph,
    y: Id,
    loss: Id,
}

fn small() -> Small {
    let mut g = Graph::new();
    let x = g.input("x", &[4, 3]).unwrap();
    let labels = g.labels("labels", &[4], 2).unwrap();
    let w = g.parameter("w", &[2, 3], Init::fan_in(3)).unwrap();
    let b = g.parameter("b", &[2], Init::Constant(0.5)).unwrap();
    let y = g.linear(x, w, Some(b)).unwrap();
    let loss = g.cross_entropy(y, labels, 0.0).unwrap();
    Small { graph: g, y, loss }
}

impl Small {
    fn spec(&self) -> StepSpec {
        let objectives = vec![Objective::new(&self.graph, self.loss, |_| true)];
        StepSpec { mode: Mode::Train, objectives, outputs: vec![self.y], optimizer: Adam::default().into() }
    }

    fn step(&self, replicas: usize) -> Step<f32> {
        Step::new(&self.graph, &self.spec(), replicas, cpu()).unwrap()
    }

    fn parameters(&self, replicas: u64) -> Parameters<f32> {
        Parameters::new(&self.graph, &(0..replicas).collect::<Vec<u64>>()).unwrap()
    }
}

#[test]
fn compilation() {
    let mut t = RowTable::default();
    let net = small();
    let compile = |spec: &StepSpec, replicas| Step::<f32>::new(&net.graph, spec, replicas, cpu());
    t.refused("no threads", &["thread", "0"], || Cpu::with(0, Isa::best()));
    t.refused("no seeds", &["replica"], || Parameters::<f32>::new(&net.graph, &[]));
    t.refused("no replicas", &["replica"], || compile(&net.spec(), 0));
    let program =
        |outputs: &[Id], replicas| Program::<f32>::new(&net.graph, Mode::Infer, outputs, replicas, cpu());
    t.refused("a program of no replicas", &["replica"], || program(&[net.y], 0));
    t.refused("no outputs", &["nothing to compute"], || program(&[], 1));
    t.refused("no objectives", &["objective"], || compile(&StepSpec { objectives: vec![], ..net.spec() }, 1));
    let nothing = Objective::new(&net.graph, net.loss, |_| false);
    t.refused("nothing moved", &["no parameter"], || {
        compile(&StepSpec { objectives: vec![nothing], ..net.spec() }, 1)
    });
    let wide = Objective::new(&net.graph, net.y, |_| true);
    t.refused("a loss of many numbers", &["scalar", "[4, 2]"], || {
        compile(&StepSpec { objectives: vec![wide], ..net.spec() }, 1)
    });
    t.finish();
}

/// A network with a batch norm on a batch of 1, and its loss.
fn lonely(build: impl Fn(&mut Graph) -> Result<Id>) -> (Graph, Id) {
    let mut g = Graph::new();
    let y = g.scoped("encoder.2", build).unwrap();
    let loss = g.sum(y).unwrap();
    (g, loss)
}

#[test]
fn a_batch_of_one_in_a_training_step_with_batch_norm() {
    let mut t = RowTable::default();
    let networks = [
        (
            "features",
            lonely(|g| {
                let x = g.input("x", &[1, 3])?;
                g.batch_norm(x, 1e-3, 0.1)
            }),
        ),
        (
            "signals",
            lonely(|g| {
                let x = g.input("x", &[1, 3, 8])?;
                g.batch_norm(x, 1e-3, 0.1)
            }),
        ),
        (
            "joined",
            lonely(|g| {
                let x = g.input("x", &[1, 3, 8])?;
                let (filters, weight) = (some(g, &[2, 3]), some(g, &[2, 1, 3]));
                let h = g.temporal_conv(x, filters, None, Padding::Same)?;
                let h = g.batch_norm(h, 1e-3, 0.1)?;
                g.spatial_conv(h, weight, 2)
            }),
        ),
    ];
    for (case, (graph, loss)) in networks {
        let spec = |mode| StepSpec {
            mode,
            objectives: vec![Objective::new(&graph, loss, |_| true)],
            outputs: vec![],
            optimizer: Adam::default().into(),
        };
        let compile = |mode| Step::<f32>::new(&graph, &spec(mode), 1, cpu());
        t.refused(case, &["batch_norm", "encoder.2", "at least 2", "got 1"], || compile(Mode::Train));
        compile(Mode::Infer).unwrap_or_else(|e| panic!("{case}: running statistics need no batch: {e}"));
    }
    t.finish();
}

const X: [f32; 24] = [0.25; 24];
const Y: [u32; 8] = [0, 1, 0, 1, 1, 1, 0, 0];

#[test]
fn feeds() {
    let mut t = RowTable::default();
    let (net, rows) = (small(), [0, 1, 2, 3, 7, 6, 5, 4]);
    let mut parameters = net.parameters(2);
    let before = parameters.clone();
    let mut step = net.step(2);
    let (x, y) = (("x", Feed::Each(&X[..])), ("labels", Feed::Labels(&Y[..])));
    let mut refused = |case: &str, words: &[&str], feeds: &[(&str, Feed<'_, f32>)]| {
        t.refused(case, words, || step.run(&mut parameters, feeds, &[0.1; 2], &[true; 2]));
    };
    refused("missing", &["`labels`", "not given"], &[x]);
    refused("missing", &["`x`", "not given"], &[y]);
    refused("none", &["`x`", "not given"], &[]);
    refused("doubled", &["`x`", "twice"], &[x, y, x]);
    refused("misspelt", &["`X`", "it has x, labels"], &[("X", x.1), y]);

    for n in [0, 12, 23] {
        refused("short", &["`x`", "[4, 3]", "24", &n.to_string()], &[("x", Feed::Each(&X[..n])), y]);
    }
    refused("shared, but for each", &["`x`", "[4, 3]", "12", "24"], &[("x", Feed::Shared(&X)), y]);
    refused("labels for one", &["`labels`", "[4]", "8", "4"], &[x, ("labels", Feed::Labels(&Y[..4]))]);
    refused("shared labels for each", &["`labels`", "4", "8"], &[x, ("labels", Feed::SharedLabels(&Y))]);

    let picked = |data, rows| [("x", Feed::Rows { data, rows }), y];
    refused("rows for one", &["`x`", "2 x 4", "4"], &picked(&X, &rows[..4]));
    refused("row out of range", &["`x`", "row 8", "8"], &picked(&X, &[0, 1, 2, 3, 4, 5, 6, 8]));
    refused("no data", &["`x`", "row", "0"], &picked(&[], &rows));
    refused("part of a row", &["`x`", "3", "23"], &picked(&X[..23], &rows));
    let picked = |data, rows| [x, ("labels", Feed::LabelRows { data, rows })];
    refused("label rows for one", &["`labels`", "2 x 4", "4"], &picked(&Y, &rows[..4]));
    refused("label row out of range", &["`labels`", "row 99", "8"], &picked(&Y, &[0, 1, 2, 3, 4, 5, 6, 99]));

    let wrong = [0, 1, 0, 1, 1, 1, 0, 2];
    refused("label", &["`labels`", "label 2", "2"], &[x, ("labels", Feed::Labels(&wrong))]);
    refused("label", &["`labels`", "label 2", "2"], &[x, ("labels", Feed::SharedLabels(&wrong[4..]))]);
    refused("label", &["`labels`", "label 2", "2"], &picked(&wrong, &rows));
    refused(
        "huge",
        &["`labels`", &u32::MAX.to_string()],
        &[x, ("labels", Feed::SharedLabels(&[u32::MAX; 4]))],
    );

    refused("reals for labels", &["`labels`", "labels"], &[x, ("labels", Feed::Each(&X[..8]))]);
    refused("real rows for labels", &["`labels`"], &[x, ("labels", Feed::Rows { data: &X, rows: &rows })]);
    refused("labels for reals", &["`x`", "real"], &[("x", Feed::Labels(&[0; 24])), y]);
    refused(
        "label rows for reals",
        &["`x`", "real"],
        &[("x", Feed::LabelRows { data: &[0; 24], rows: &rows }), y],
    );
    t.finish();
    assert_untouched(&before, &parameters);
}

#[test]
fn values_that_are_not_finite() {
    let mut t = RowTable::default();
    let net = small();
    let mut parameters = net.parameters(2);
    let before = parameters.clone();
    let mut step = net.step(2);
    let y = ("labels", Feed::Labels(&Y[..]));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut x = X;
        x[17] = bad;
        let rows = [0, 1, 2, 3, 0, 1, 5, 3];
        let words = ["`x`", "replica 1", &bad.to_string()];
        let mut refused = |case: &str, words: &[&str], x: Feed<'_, f32>| {
            t.refused(case, words, || step.run(&mut parameters, &[("x", x), y], &[0.1; 2], &[true; 2]));
        };
        refused("each", &["value 5", words[0], words[1], words[2]], Feed::Each(&x));
        refused("shared", &["value 5", "`x`", words[2]], Feed::Shared(&x[12..]));
        refused("rows", &["value 8", words[0], words[1], words[2]], Feed::Rows { data: &x, rows: &rows });
    }
    t.finish();
    assert_untouched(&before, &parameters);
    // A row that nobody asks for may hold anything.
    let mut x = X;
    x[17] = f32::NAN;
    let feeds = [("x", Feed::Rows { data: &x, rows: &[0, 1, 2, 3, 0, 1, 2, 3] }), y];
    step.run(&mut parameters, &feeds, &[0.1; 2], &[true; 2]).unwrap();
}

fn assert_untouched(before: &Parameters<f32>, after: &Parameters<f32>) {
    assert_eq!(before.replicas(), after.replicas());
    for r in 0..before.replicas() {
        for tensor in before.tensors() {
            let bits = |p: &Parameters<f32>| -> Vec<u32> {
                p.get(r, &tensor.name).unwrap().iter().map(|v| v.to_bits()).collect()
            };
            assert_eq!(bits(before), bits(after), "`{}` of replica {r} was touched", tensor.name);
        }
    }
}

#[test]
fn rates_flags_and_replicas() {
    let mut t = RowTable::default();
    let net = small();
    let mut parameters = net.parameters(2);
    let before = parameters.clone();
    let mut step = net.step(2);
    let feeds = [("x", Feed::Shared(&X[..12])), ("labels", Feed::SharedLabels(&Y[..4]))];
    let mut refused = |case: &str, words: &[&str], rates: &[f64], active: &[bool]| {
        t.refused(case, words, || step.run(&mut parameters, &feeds, rates, active));
    };
    refused("one rate", &["2 replicas", "rates", "got 1"], &[0.1], &[true; 2]);
    refused("three flags", &["2 replicas", "active", "got 3"], &[0.1; 2], &[true; 3]);
    refused("no flags", &["2 replicas", "active", "got 0"], &[0.1; 2], &[]);
    for rate in [-0.1, f64::NAN, f64::INFINITY] {
        refused("rate", &["learning rate", &rate.to_string()], &[0.1, rate], &[true; 2]);
    }
    assert_untouched(&before, &parameters);
    for replicas in [1, 3] {
        let words = ["2 replicas", &format!("{replicas} replicas")];
        let mut other = net.parameters(replicas);
        t.refused("other replicas", &words, || step.run(&mut other, &feeds, &[0.1; 2], &[true; 2]));
        t.refused("other replicas", &["2 replicas"], || step.update(&mut other, &[0.1; 2], &[true; 2]));
    }
    t.finish();
}

#[test]
fn parameters_of_another_network() {
    let mut t = RowTable::default();
    let net = small();
    let mut more = small();
    more.graph.parameter("more", &[2], Init::Constant(0.0)).unwrap();
    let mut other = more.parameters(1);
    let feeds = [("x", Feed::Shared(&X[..12])), ("labels", Feed::SharedLabels(&Y[..4]))];
    let mut step = net.step(1);
    t.refused("one tensor more", &["2 tensors", "3"], || step.run(&mut other, &feeds, &[0.1], &[true]));
    t.finish();
}

/// As many tensors, but other ones: larger, smaller, or only named differently.
#[test]
fn parameters_of_another_network_with_as_many_tensors() {
    let mut t = RowTable::default();
    let net = small();
    let feeds = [("x", Feed::Shared(&X[..12])), ("labels", Feed::SharedLabels(&Y[..4]))];
    for (case, name, shape) in [("larger", "w", [5, 3]), ("smaller", "w", [1, 3]), ("renamed", "v", [2, 3])] {
        let mut graph = Graph::new();
        graph.parameter(name, &shape, Init::Constant(0.1)).unwrap();
        graph.parameter("b", &[2], Init::Constant(0.5)).unwrap();
        let mut other = Parameters::<f32>::new(&graph, &[1]).unwrap();
        let mut step = net.step(1);
        t.refused(case, &["`w`"], || step.run(&mut other, &feeds, &[0.1], &[true]));
        let mut program = Program::<f32>::new(&net.graph, Mode::Infer, &[net.y], 1, cpu()).unwrap();
        t.refused(&format!("program, {case}"), &["`w`"], || program.run(&other, &feeds[..1]));
    }
    t.finish();
}

/// A feed that no input of the network has is a misspelling.
#[test]
fn feeds_of_unknown_names() {
    let mut t = RowTable::default();
    let net = small();
    let mut step = net.step(1);
    let mut parameters = net.parameters(1);
    let (x, y) = (("x", Feed::Shared(&X[..12])), ("labels", Feed::SharedLabels(&Y[..4])));
    let unknown = ("wieghts", Feed::Shared(&X[..12]));
    t.refused("unknown", &["`wieghts`"], || step.run(&mut parameters, &[x, y, unknown], &[0.1], &[true]));
    t.finish();
}

#[test]
fn cosine_of_rows_that_only_broadcast() {
    let mut t = RowTable::default();
    for b in [&[4, 1][..], &[1, 3], &[3], &[]] {
        t.unbuildable(&["[4, 3]", &format!("{b:?}")], |g| {
            let (a, b) = (some(g, &[4, 3]), some(g, b));
            g.cosine(a, b)
        });
    }
    t.unbuildable(&["[3]", "[4, 3]"], |g| {
        let (a, b) = (some(g, &[3]), some(g, &[4, 3]));
        g.cosine(a, b)
    });
    t.finish();
}

/// An objective's tensors are public: they may name any index, or one twice.
#[test]
fn objectives_of_unknown_or_doubled_tensors() {
    let mut t = RowTable::default();
    let net = small();
    for (case, tensors) in [("unknown", vec![0, 99]), ("doubled", vec![0, 0])] {
        let objectives = vec![Objective { loss: net.loss, tensors }];
        let spec = StepSpec { objectives, ..net.spec() };
        t.refused(case, &["tensor"], || Step::<f32>::new(&net.graph, &spec, 1, cpu()));
    }
    t.finish();
}

/// A scalar has no first axis along which slices could be measured.
#[test]
fn a_greatest_norm_of_a_scalar() {
    let mut t = RowTable::default();
    t.refused("scalar", &["`w`", "[]"], || {
        let mut g = Graph::new();
        let w = g.constrained("w", &[], Init::Constant(1.0), 0.5)?;
        let loss = g.square(w)?;
        let objectives = vec![Objective::new(&g, loss, |_| true)];
        let spec =
            StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: Adam::default().into() };
        let mut step = Step::<f32>::new(&g, &spec, 1, cpu())?;
        let mut parameters = Parameters::new(&g, &[1])?;
        step.run(&mut parameters, &[], &[0.0], &[true])
    });
    t.finish();
}

/// Sizes whose sum or product is beyond what a machine counts.
#[test]
fn sizes_beyond_counting() {
    let mut t = RowTable::default();
    t.unbuildable(&["slice", "[2, 3]"], |g| {
        let x = some(g, &[2, 3]);
        g.slice(x, 1, usize::MAX, 2)
    });
    t.unbuildable(&["reshape", "[2, 3]"], |g| {
        let x = some(g, &[2, 3]);
        g.reshape(x, &[usize::MAX, 2])
    });
    t.unbuildable(&["`x`"], |g| {
        let x = g.input("x", &[usize::MAX, 2])?;
        g.flatten(x)
    });
    t.finish();
}

/// Nodes belong to the graph that made them.
#[test]
fn nodes_of_another_graph() {
    let mut t = RowTable::default();
    let mut large = small();
    let foreign = large.graph.elu(large.y).unwrap();
    let empty = Graph::new();
    t.refused("built upon", &[], || Graph::new().elu(foreign));
    t.refused("an output", &[], || Program::<f32>::new(&empty, Mode::Infer, &[foreign], 1, cpu()));
    t.finish();
}

#[test]
fn settings_that_make_no_sense() {
    let mut t = RowTable::default();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let word = bad.to_string();
        t.unbuildable(&["batch_norm", &word], |g| {
            let x = some(g, &[4, 3]);
            g.batch_norm(x, bad, 0.1)
        });
        t.unbuildable(&["batch_norm", &word], |g| {
            let x = some(g, &[4, 3]);
            g.batch_norm(x, 1e-3, bad)
        });
        t.unbuildable(&["layer_norm", &word], |g| {
            let x = some(g, &[4, 3]);
            g.layer_norm(x, bad)
        });
        let net = small();
        let plain = Adam::default();
        let mut all = vec![
            Adam { betas: (bad, 0.999), ..plain },
            Adam { betas: (0.9, bad), ..plain },
            Adam { eps: bad, ..plain },
            Adam { decay: Decay::Gradient(bad), ..plain },
            Adam { decay: Decay::Decoupled(bad), ..plain },
        ];
        // An infinite limit is none, which may be said.
        if !bad.is_infinite() {
            t.unbuildable(&["`w`", &word], |g| g.constrained("w", &[2], Init::Constant(0.0), bad));
            all.push(Adam { clip: Some(bad), ..plain });
        }
        for adam in all {
            let spec = StepSpec { optimizer: adam.into(), ..net.spec() };
            t.refused(&format!("{adam:?}"), &[&word], || Step::<f32>::new(&net.graph, &spec, 1, cpu()));
        }
    }
    t.finish();
}

/// A run that is refused has not taken place: dropout goes on as if it had never been asked for.
#[test]
fn a_refused_run_leaves_no_trace() {
    let mut g = Graph::new();
    let x = g.input("x", &[64]).unwrap();
    let w = g.parameter("w", &[64], Init::Constant(1.0)).unwrap();
    let h = g.mul(x, w).unwrap();
    let h = g.dropout(h, 0.5).unwrap();
    let parameters = Parameters::<f32>::new(&g, &[1, 2]).unwrap();
    let draw = |refused: Option<&[f32]>| {
        let mut program = Program::<f32>::new(&g, Mode::Train, &[h], 2, cpu()).unwrap();
        if let Some(values) = refused {
            program.run(&parameters, &[("x", Feed::Each(values))]).unwrap_err();
        }
        program.run(&parameters, &[("x", Feed::Shared(&[1.0; 64]))]).unwrap();
        [0, 1].map(|r| program.output(&parameters, r, 0).to_vec())
    };
    assert_eq!(draw(None), draw(Some(&[1.0; 63])), "after a feed of the wrong size");
    // Only the second replica's feed is bad, and the first must not have run either.
    let bad = [[1.0; 64], [f32::NAN; 64]].concat();
    assert_eq!(draw(None), draw(Some(&bad)), "after a feed that is not finite");
}

/// Labels with more axes than one, picked by rows, are rows of labels.
#[test]
fn rows_of_labels_with_two_axes() {
    let mut g = Graph::new();
    let y = g.labels("y", &[2, 3], 10).unwrap();
    let y = g.scale(y, 1.0).unwrap();
    let parameters = Parameters::<f32>::new(&g, &[1]).unwrap();
    let mut program = Program::<f32>::new(&g, Mode::Infer, &[y], 1, cpu()).unwrap();
    let data = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    let picked = program.run(&parameters, &[("y", Feed::LabelRows { data: &data, rows: &[2, 0] })]);
    // Either they are picked or they are refused.
    if picked.is_ok() {
        assert_eq!(program.output(&parameters, 0, 0), [6.0, 7.0, 8.0, 0.0, 1.0, 2.0]);
    }
}

/// A profile runs on what a step has left behind: the memory of the labels may by then hold a gradient.
#[test]
fn a_profile_after_a_step_with_labels() {
    let mut g = Graph::new();
    let x = g.input("x", &[4, 3]).unwrap();
    let y = g.labels("labels", &[4], 2).unwrap();
    let [first, second] = [("first", 3), ("second", 2)]
        .map(|(name, outputs)| g.parameter(name, &[outputs, 3], Init::Uniform(1.0)).unwrap());
    let h = g.linear(x, first, None).unwrap();
    let h = g.scale(h, 100.0).unwrap();
    let logits = g.linear(h, second, None).unwrap();
    let loss = g.cross_entropy(logits, y, 0.0).unwrap();
    let objectives = vec![Objective::new(&g, loss, |_| true)];
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: Adam::default().into() };
    let mut step = Step::<f32>::new(&g, &spec, 1, cpu()).unwrap();
    let parameters = Parameters::new(&g, &[1]).unwrap();
    let x: Vec<f32> = to(&Random::new(3).reals(12)).iter().map(|v: &f32| v * 50.0).collect();
    let feeds = [("x", Feed::Shared(&x[..])), ("labels", Feed::SharedLabels(&Y[..4]))];
    step.backward(&parameters, &feeds, &[true]).unwrap();
    for _ in 0..3 {
        assert!(!step.profile(&parameters, &feeds).unwrap().is_empty());
    }
}

#[test]
fn tensors_and_checkpoints() {
    let mut t = RowTable::default();
    let net = small();
    let mut p = net.parameters(2);
    let before = p.clone();
    t.refused("get", &["`v`", "w, b"], || p.get(0, "v").map(<[f32]>::len));
    t.refused("get", &["replica 2", "2"], || p.get(2, "w").map(<[f32]>::len));
    t.refused("set", &["`v`", "w, b"], || p.set(0, "v", &[0.0; 6]));
    t.refused("set", &["replica 9", "2"], || p.set(9, "w", &[0.0; 6]));
    t.refused("short", &["`w`", "[2, 3]", "6", "5"], || p.set(1, "w", &[0.0; 5]));
    t.refused("long", &["`w`", "[2, 3]", "6", "7"], || p.set(1, "w", &[0.0; 7]));
    t.refused("none", &["`w`", "[2, 3]", "6", "0"], || p.set(1, "w", &[]));
    for bad in [f32::NAN, f32::INFINITY] {
        t.refused("not finite", &["`b`", "value 1", &bad.to_string()], || p.set(1, "b", &[1.0, bad]));
    }
    t.refused("spread", &["replica 2", "2"], || p.spread(2, &[1]));
    assert_untouched(&before, &p);
    let mut step = net.step(1);
    let mut one = Step::<f32>::new(
        &net.graph,
        &StepSpec {
            objectives: vec![Objective::new(&net.graph, net.loss, |name| name == "b")],
            ..net.spec()
        },
        1,
        cpu(),
    )
    .unwrap();
    t.refused("checkpoint", &["checkpoint", "other tensors"], || {
        step.restore(0, &one.checkpoint(0).unwrap())
    });
    t.refused("checkpoint", &["checkpoint", "other tensors"], || {
        one.restore(0, &step.checkpoint(0).unwrap())
    });
    t.finish();
}

#[test]
fn replicas_that_are_not_there() {
    let mut t = RowTable::default();
    let net = small();
    t.refused("spread to none", &["replica"], || net.parameters(1).spread(0, &[]));
    let mut step = net.step(1);
    let checkpoint = step.checkpoint(0).unwrap();
    t.refused("restore", &["replica 1"], || step.restore(1, &checkpoint));
    t.finish();
}

/// A directory of a test's own that disappears with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ptsm-engine-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn no_metadata() -> HashMap<String, String> {
    HashMap::new()
}

#[test]
fn what_is_saved_is_loaded_bit_for_bit() {
    let folder = Folder::new("round-trip");
    let path = folder.file("model.safetensors");
    let net = small();
    let mut saved = net.parameters(3);
    // Numbers that a detour through text or f64 might not keep.
    let odd = [f32::MIN_POSITIVE / 3.0, -0.0, f32::MAX, 1.0 + f32::EPSILON, 1.0 / 3.0, f32::MIN];
    saved.set(1, "w", &odd).unwrap();
    let about = HashMap::from([
        ("model".to_string(), "small".to_string()),
        ("notes".to_string(), "Übung \"1\"\n{}".to_string()),
    ]);
    saved.save(1, &path, about.clone()).unwrap();
    assert_eq!(folder.files(), ["model.safetensors"], "nothing is left beside it");
    assert_eq!(metadata(&path).unwrap(), about);
    let mut loaded = net.parameters(2);
    let others = loaded.clone();
    loaded.load(0, &path).unwrap();
    for name in ["w", "b"] {
        let bits = |p: &Parameters<f32>, r| -> Vec<u32> {
            p.get(r, name).unwrap().iter().map(|v| v.to_bits()).collect()
        };
        assert_eq!(bits(&saved, 1), bits(&loaded, 0));
        assert_eq!(bits(&others, 1), bits(&loaded, 1), "the other replica is left alone");
    }
    // A second save replaces the first.
    saved.save(2, &path, no_metadata()).unwrap();
    assert_eq!(folder.files(), ["model.safetensors"]);
    assert_eq!(metadata(&path).unwrap(), no_metadata());
    loaded.load(0, &path).unwrap();
    assert_eq!(loaded.get(0, "w").unwrap(), saved.get(2, "w").unwrap());
}

#[test]
fn statistics_are_saved_too() {
    let folder = Folder::new("statistics");
    let path = folder.file("model.safetensors");
    let mut g = Graph::new();
    let x = g.input("x", &[4, 3]).unwrap();
    g.scoped("norm", |g| g.batch_norm(x, 1e-3, 0.1)).unwrap();
    let mut saved = Parameters::<f64>::new(&g, &[1]).unwrap();
    assert_eq!(saved.get(0, "norm.running").unwrap(), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let values = [0.1, 0.2, 0.3, 1.4, 1.5, 1.6];
    saved.set(0, "norm.running", &values).unwrap();
    saved.save(0, &path, no_metadata()).unwrap();
    let mut loaded = Parameters::<f64>::new(&g, &[2]).unwrap();
    loaded.load(0, &path).unwrap();
    assert_eq!(loaded.get(0, "norm.running").unwrap(), values);
}

/// The file format keeps one name for itself; whoever may declare it must be able to load it again.
#[test]
fn a_tensor_with_the_name_of_the_metadata() {
    let folder = Folder::new("reserved");
    let path = folder.file("model");
    let mut g = Graph::new();
    let declared = g.parameter("__metadata__", &[2], Init::Constant(1.0));
    if declared.is_ok() {
        let mut p = Parameters::<f32>::new(&g, &[1]).unwrap();
        if p.save(0, &path, no_metadata()).is_ok() {
            p.load(0, &path).unwrap();
        }
    }
}

/// A file of a network with some tensors.
fn file_of(folder: &Folder, name: &str, tensors: &[(&str, &[usize])]) -> PathBuf {
    let mut g = Graph::new();
    for (name, shape) in tensors {
        g.parameter(name, shape, Init::Constant(1.0)).unwrap();
    }
    let path = folder.file(name);
    Parameters::<f32>::new(&g, &[1]).unwrap().save(0, &path, no_metadata()).unwrap();
    path
}

#[test]
fn files_that_do_not_fit() {
    let mut t = RowTable::default();
    let folder = Folder::new("misfits");
    let net = small();
    let mut p = net.parameters(1);
    let before = p.clone();
    let w: (&str, &[usize]) = ("w", &[2, 3]);
    let b: (&str, &[usize]) = ("b", &[2]);
    let mut refused = |name: &str, words: &[&str], path: &Path| {
        let words: Vec<&str> = words.iter().copied().chain([name]).collect();
        t.refused(name, &words, || p.load(0, path));
    };
    refused("missing", &["cannot be read"], &folder.file("missing"));
    refused("misfits", &["cannot be read"], &folder.0);
    let text = folder.file("text");
    fs::write(&text, "This is a letter, not a network. It is long enough for a header.").unwrap();
    refused("text", &["safetensors"], &text);
    let empty = folder.file("empty");
    fs::write(&empty, "").unwrap();
    refused("empty", &["safetensors"], &empty);
    let turned = file_of(&folder, "turned", &[("w", &[3, 2]), b]);
    refused("turned", &["`w`", "[3, 2]", "[2, 3]"], &turned);
    let larger = file_of(&folder, "larger", &[w, ("b", &[3])]);
    refused("larger", &["`b`", "[3]", "[2]"], &larger);
    let lacking = file_of(&folder, "lacking", &[b]);
    refused("lacking", &["`w`", "lacks", "[2, 3]"], &lacking);
    let extra = file_of(&folder, "extra", &[w, b, ("more", &[1])]);
    refused("extra", &["`more`"], &extra);
    let renamed = file_of(&folder, "renamed", &[("v", &[2, 3]), b]);
    refused("renamed", &["`v`"], &renamed);
    let wide = folder.file("wide");
    Parameters::<f64>::new(&net.graph, &[1]).unwrap().save(0, &wide, no_metadata()).unwrap();
    refused("wide", &["F64", "F32"], &wide);
    let infinite = file_of(&folder, "infinite", &[w, b]);
    let mut bytes = fs::read(&infinite).unwrap();
    let end = bytes.len() - 4;
    bytes[end..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    fs::write(&infinite, bytes).unwrap();
    refused("infinite", &["inf", "finite"], &infinite);
    let good = file_of(&folder, "good", &[w, b]);
    t.refused("replica", &["replica 1", "1"], || p.load(1, &good));
    t.refused("metadata", &["text", "safetensors"], || metadata(&text));
    t.refused("metadata", &["missing", "cannot be read"], || metadata(&folder.file("missing")));
    t.finish();
    assert_untouched(&before, &p);
    p.load(0, &good).unwrap();
    assert_eq!(p.get(0, "w").unwrap(), [1.0; 6]);
}

/// Cut off anywhere, lengthened, or with any byte of its header changed: an error or a whole network.
#[test]
fn damaged_files() {
    let folder = Folder::new("damaged");
    let net = small();
    let whole = fs::read(file_of(&folder, "whole", &[("w", &[2, 3]), ("b", &[2])])).unwrap();
    let path = folder.file("damaged");
    let mut p = net.parameters(1);
    let before = p.clone();
    for n in 0..whole.len() {
        fs::write(&path, &whole[..n]).unwrap();
        assert!(p.load(0, &path).is_err(), "{n} of {} bytes were taken for a network", whole.len());
    }
    fs::write(&path, [&whole[..], &[0; 4]].concat()).unwrap();
    assert!(p.load(0, &path).is_err());
    assert_untouched(&before, &p);
    let header = whole.len() - 8 * size_of::<f32>();
    for at in 0..header {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let mut q = p.clone();
        if q.load(0, &path).is_err() {
            assert_untouched(&before, &q);
        }
    }
}

#[test]
fn a_failed_save_leaves_nothing_behind() {
    let mut t = RowTable::default();
    let folder = Folder::new("failed-saves");
    let p = small().parameters(1);
    let mut refused = |words: &[&str], replica: usize, path: &Path| {
        t.refused(&path.display().to_string(), words, || p.save(replica, path, no_metadata()));
    };
    refused(&["nowhere", "cannot be written"], 0, &folder.file("nowhere").join("model"));
    refused(&["replica 1"], 1, &folder.file("model"));
    refused(&["file name"], 0, Path::new("/"));
    refused(&["file name"], 0, Path::new(".."));
    fs::write(folder.file("a file"), "kept").unwrap();
    refused(&["a file", "cannot be written"], 0, &folder.file("a file").join("model"));
    // A folder in the place of the target: the writing succeeds, the renaming does not.
    fs::create_dir_all(folder.file("a folder").join("inside")).unwrap();
    refused(&["a folder", "cannot be written"], 0, &folder.file("a folder"));
    let locked = folder.file("locked");
    fs::create_dir(&locked).unwrap();
    let may_write = lock(&locked);
    if !may_write {
        refused(&["locked", "cannot be written"], 0, &locked.join("model"));
    }
    t.finish();
    assert_eq!(folder.files(), ["a file", "a folder", "locked"]);
    assert_eq!(fs::read_to_string(folder.file("a file")).unwrap(), "kept");
    assert_eq!(fs::read_dir(&locked).unwrap().count(), 0);
}

/// Takes the right to write into a folder away. True where it makes no difference, as for root.
fn lock(folder: &Path) -> bool {
    let mut permissions = fs::metadata(folder).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(folder, permissions).unwrap();
    let probe = folder.join("probe");
    let written = fs::write(&probe, "").is_ok();
    let _ = fs::remove_file(&probe);
    written
}

/// A save that fails keeps the file it was to replace.
#[test]
fn a_failed_save_keeps_the_old_file() {
    let folder = Folder::new("old-file");
    let path = folder.file("model");
    let p = small().parameters(1);
    p.save(0, &path, no_metadata()).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(p.save(7, &path, no_metadata()).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(folder.files(), ["model"]);
}

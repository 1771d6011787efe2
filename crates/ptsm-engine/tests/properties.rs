//! Random small shapes: results against plain loops, gradients against finite differences, and f32 on every
//! instruction set against f64. Every case follows from its seed, which a failure prints.

#![allow(clippy::unwrap_used)]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{Experiment, ExperimentResult, Random, assert_same, cpu, distance, to};
use ptsm_engine::{Cpu, Feed, Graph, Id, Init, Isa, Mode, Padding, Parameters, Pooling, Program, Result};

/// Runs a property for many seeds; the first failing one is named.
fn for_seeds(cases: u64, property: impl Fn(&mut Random)) {
    for seed in 0..cases {
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| property(&mut Random::new(seed)))) {
            eprintln!("the failing seed is {seed}");
            std::panic::resume_unwind(cause);
        }
    }
}

/// A device for each instruction set; two threads, so that sharing is exercised where shapes are large.
fn every_cpu() -> Vec<Cpu> {
    Isa::available().into_iter().map(|isa| Cpu::with(2, isa).unwrap()).collect()
}

/// f32 on every instruction set, and f64 too, agree with the f64 reference.
fn agrees_everywhere(experiment: &Experiment, reference: &ExperimentResult, devices: &[Cpu]) {
    for device in devices {
        let label = format!("{} on {:?}", experiment.label, device.isa());
        assert_same(&label, &experiment.measure::<f32>(device), reference, 1e-4);
        assert_same(&label, &experiment.measure::<f64>(device), reference, 1e-12);
    }
}

/// A parameter's values in an experiment.
fn values(experiment: &Experiment, name: &str) -> Vec<f64> {
    experiment.parameters::<f64>().get(0, name).unwrap().to_vec()
}

#[derive(Debug, Clone, Copy)]
struct Conv {
    batch: usize,
    channels: usize,
    outputs: usize,
    taps: usize,
    time: usize,
    groups: usize,
    padding: Padding,
    bias: bool,
}

impl Conv {
    fn random(random: &mut Random) -> Conv {
        let groups = random.pick(&[1, 1, 2, 3, 5]);
        let taps = random.within(1, 20);
        let zeros = Padding::Zeros { left: random.within(0, taps - 1), right: random.within(0, taps - 1) };
        let padding = random.pick(&[Padding::Same, Padding::Valid, zeros]);
        let least = if padding == Padding::Same { 1 } else { taps };
        Conv {
            batch: random.within(1, 4),
            channels: groups * random.within(1, 4),
            outputs: groups * random.within(1, 10),
            taps,
            time: least + random.within(0, 60),
            groups,
            padding,
            bias: random.within(0, 1) == 1,
        }
    }

    fn experiment(self) -> Experiment {
        let x = [self.batch, self.channels, self.time];
        let w = [self.outputs, self.channels / self.groups, self.taps];
        let shapes: &[&[usize]] = &[&x, &w, &[self.outputs]];
        let shapes = if self.bias { shapes } else { &shapes[..2] };
        Experiment::new(format!("{self:?}"), Mode::Train, shapes, |g, p| {
            g.conv1d(p[0], p[1], p.get(2).copied(), self.groups, self.padding)
        })
    }

    fn plain(self, x: &[f64], w: &[f64], bias: Option<&[f64]>) -> Vec<f64> {
        let (left, right) = match self.padding {
            Padding::Valid => (0, 0),
            Padding::Same => ((self.taps - 1) / 2, self.taps / 2),
            Padding::Zeros { left, right } => (left, right),
        };
        let per_group = self.channels / self.groups;
        let mut out = vec![];
        for b in 0..self.batch {
            for o in 0..self.outputs {
                let first = o / (self.outputs / self.groups) * per_group;
                for t in 0..self.time + left + right + 1 - self.taps {
                    let mut sum = bias.map_or(0.0, |bias| bias[o]);
                    for c in 0..per_group {
                        for k in 0..self.taps {
                            // Places before the first and after the last sample are zeros.
                            let Some(at) = (t + k).checked_sub(left).filter(|at| *at < self.time) else {
                                continue;
                            };
                            let x = x[(b * self.channels + first + c) * self.time + at];
                            sum += x * w[(o * per_group + c) * self.taps + k];
                        }
                    }
                    out.push(sum);
                }
            }
        }
        out
    }
}

fn check_conv(conv: Conv, random: &mut Random, devices: &[Cpu]) {
    let experiment = conv.experiment();
    let bias = conv.bias.then(|| values(&experiment, "p2"));
    let plain = conv.plain(&values(&experiment, "p0"), &values(&experiment, "p1"), bias.as_deref());
    let measured = experiment.check_some(random, 4);
    let apart = distance(&measured.result, &plain);
    assert!(apart < 1e-13, "{conv:?} differs from plain loops by {apart}");
    agrees_everywhere(&experiment, &measured, devices);
}

#[test]
fn conv1d() {
    let devices = every_cpu();
    for_seeds(200, |random| check_conv(Conv::random(random), random, &devices));
}

/// Kernels of 5 and 7 over many channels take another way in f32: fewer multiplications, several outputs at a time.
#[test]
fn conv1d_of_five_or_seven_taps_and_many_channels() {
    let devices = every_cpu();
    for_seeds(36, |random| {
        // From one channel fewer than that way wants.
        let (taps, least) = random.pick(&[(5, 15), (7, 31)]);
        let conv = Conv {
            batch: random.within(1, 6),
            channels: random.within(least, least + 5),
            outputs: random.within(least, least + 20),
            taps,
            time: random.pick(&[15, 16, 19, 20, 21, 64, 65, 191, 192, 193, 250]),
            groups: 1,
            padding: random.pick(&[Padding::Same, Padding::Valid]),
            bias: random.within(0, 1) == 1,
        };
        check_conv(conv, random, &devices);
    });
}

/// Sizes at which weight gradients are summed in parts and threads share the work.
#[test]
fn conv1d_large() {
    let devices = every_cpu();
    let base = Conv {
        batch: 9,
        channels: 6,
        outputs: 12,
        taps: 16,
        time: 130,
        groups: 1,
        padding: Padding::Same,
        bias: true,
    };
    for_seeds(1, |random| {
        check_conv(base, random, &devices);
        check_conv(
            Conv { groups: 6, taps: 25, padding: Padding::Valid, time: 520, ..base },
            random,
            &devices,
        );
        // A row that is a whole number of 1 KiB, and a trial too large to be taken two at a time.
        check_conv(Conv { batch: 3, channels: 60, outputs: 4, taps: 1, time: 512, ..base }, random, &devices);
    });
}

#[test]
fn matmul() {
    let devices = every_cpu();
    for_seeds(200, |random| {
        let batch = random.pick(&[1, 1, 2, 3]);
        let (m, k, n) = (random.within(1, 40), random.within(1, 20), random.within(1, 60));
        let (ta, tb) = (random.within(0, 1) == 1, random.within(0, 1) == 1);
        let mut a = if ta { vec![k, m] } else { vec![m, k] };
        let mut b = if tb { vec![n, k] } else { vec![k, n] };
        if batch > 1 {
            a.insert(0, batch);
            b.insert(0, batch);
        }
        let label = format!("matmul {a:?} {ta} {b:?} {tb}");
        let experiment =
            Experiment::new(&*label, Mode::Train, &[&a, &b], |g, p| g.matmul(p[0], p[1], ta, tb));
        let (a, b) = (values(&experiment, "p0"), values(&experiment, "p1"));
        let mut plain = vec![];
        for item in 0..batch {
            for i in 0..m {
                for j in 0..n {
                    let left = |p: usize| a[item * m * k + if ta { p * m + i } else { i * k + p }];
                    let right = |p: usize| b[item * k * n + if tb { j * k + p } else { p * n + j }];
                    plain.push((0..k).map(|p| left(p) * right(p)).sum());
                }
            }
        }
        let measured = experiment.check_some(random, 4);
        let apart = distance(&measured.result, &plain);
        assert!(apart < 1e-13, "{label} differs from plain loops by {apart}");
        agrees_everywhere(&experiment, &measured, &devices);
    });
}

/// A large product: several pieces of 32 rows, more columns than one panel.
#[test]
fn matmul_large() {
    let devices = every_cpu();
    for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
        let a = if ta { [70, 101] } else { [101, 70] };
        let b = if tb { [130, 70] } else { [70, 130] };
        let experiment = Experiment::new(format!("large {ta} {tb}"), Mode::Train, &[&a, &b], |g, p| {
            g.matmul(p[0], p[1], ta, tb)
        });
        let measured = experiment.check_some(&mut Random::new(1), 4);
        agrees_everywhere(&experiment, &measured, &devices);
    }
}

fn random_pooling(random: &mut Random, time: usize) -> Pooling {
    let (size, stride) = (random.within(1, time), random.within(1, time));
    match random.within(0, 2) {
        0 => Pooling::Average { size, stride },
        1 => Pooling::Max { size, stride },
        _ => Pooling::Adaptive { length: random.within(1, time) },
    }
}

/// One row pooled by the definition.
fn plain_pool(x: &[f64], pooling: Pooling) -> Vec<f64> {
    let mean = |w: &[f64]| w.iter().sum::<f64>() / w.len() as f64;
    let windows = |size: usize, stride: usize| x.windows(size).step_by(stride);
    match pooling {
        Pooling::Average { size, stride } => windows(size, stride).map(mean).collect(),
        Pooling::Max { size, stride } => {
            windows(size, stride).map(|w| w.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect()
        }
        Pooling::Adaptive { length } => {
            let (l, p) = (x.len() as f64, length as f64);
            let start = |j: usize| (j as f64 * l / p).floor() as usize;
            let end = |j: usize| ((j + 1) as f64 * l / p).ceil() as usize;
            (0..length).map(|j| mean(&x[start(j)..end(j)])).collect()
        }
    }
}

#[test]
fn pool() {
    let devices = every_cpu();
    for_seeds(150, |random| {
        let shape = [random.within(1, 3), random.within(1, 4), random.within(1, 50)];
        let pooling = random_pooling(random, shape[2]);
        let label = format!("{pooling:?} {shape:?}");
        let experiment = Experiment::new(&*label, Mode::Train, &[&shape], |g, p| g.pool(p[0], pooling));
        let x = values(&experiment, "p0");
        let plain: Vec<f64> = x.chunks(shape[2]).flat_map(|row| plain_pool(row, pooling)).collect();
        let measured = experiment.check_some(random, 6);
        let apart = distance(&measured.result, &plain);
        assert!(apart < 1e-13, "{label} differs from plain loops by {apart}");
        agrees_everywhere(&experiment, &measured, &devices);
    });
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    shape: [usize; 3],
    /// Size of a further axis between channels and time; 0 for none.
    height: usize,
    mode: Mode,
    elu: bool,
    drop: bool,
    pooling: Option<Pooling>,
}

impl Chain {
    fn random(random: &mut Random) -> Chain {
        let shape = [random.within(2, 5), random.within(1, 4), random.within(1, 40)];
        let coin = |random: &mut Random| random.within(0, 1) == 1;
        Chain {
            shape,
            height: random.pick(&[0, 0, 1, 2]),
            mode: random.pick(&[Mode::Train, Mode::Infer]),
            elu: coin(random),
            drop: coin(random),
            pooling: coin(random).then(|| random_pooling(random, shape[2])),
        }
    }

    fn shape(self) -> Vec<usize> {
        let [b, c, t] = self.shape;
        if self.height == 0 { vec![b, c, t] } else { vec![b, c, self.height, t] }
    }

    fn build(self, g: &mut Graph, x: Id) -> Result<Id> {
        let mut y = g.batch_norm(x, 1e-3, 0.1)?;
        if self.elu {
            y = g.elu(y)?;
        }
        if self.drop {
            y = g.dropout(y, 0.3)?;
        }
        match self.pooling {
            Some(pooling) => g.pool(y, pooling),
            None => Ok(y),
        }
    }

    fn experiment(self) -> Experiment {
        Experiment::new(format!("{self:?}"), self.mode, &[&self.shape()], |g, p| self.build(g, p[0]))
    }

    /// Result and new statistics by the definition; dropout is not part of it.
    fn plain(self, experiment: &Experiment) -> (Vec<f64>, Vec<f64>) {
        let [x, scale, shift, running] = ["p0", "scale", "shift", "running"].map(|n| values(experiment, n));
        let [b, c, t] = self.shape;
        let rows = self.height.max(1);
        let n = (b * rows * t) as f64;
        let (mut moments, mut after) = (running.clone(), running.clone());
        if self.mode == Mode::Train {
            for channel in 0..c {
                let own = |i: &usize| i / (rows * t) % c == channel;
                let samples: Vec<f64> = (0..x.len()).filter(own).map(|i| x[i]).collect();
                let mean = samples.iter().sum::<f64>() / n;
                let squares = samples.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
                (moments[channel], moments[c + channel]) = (mean, squares / n);
                after[channel] = 0.9 * running[channel] + 0.1 * mean;
                after[c + channel] = 0.9 * running[c + channel] + 0.1 * squares / (n - 1.0);
            }
        }
        let mut out = vec![];
        for (i, row) in x.chunks(t).enumerate() {
            let channel = i / rows % c;
            let unit = |v: &f64| (v - moments[channel]) / (moments[c + channel] + 1e-3).sqrt();
            let elu = |v: f64| if self.elu && v < 0.0 { v.exp() - 1.0 } else { v };
            let row: Vec<f64> = row.iter().map(|v| elu(scale[channel] * unit(v) + shift[channel])).collect();
            out.extend(self.pooling.map_or(row.clone(), |pooling| plain_pool(&row, pooling)));
        }
        (out, after)
    }
}

#[test]
fn batch_norm_chains() {
    let devices = every_cpu();
    for_seeds(200, |random| {
        let chain = Chain::random(random);
        let experiment = chain.experiment();
        let measured = experiment.check_some(random, 4);
        let (result, statistics) = chain.plain(&experiment);
        if !chain.drop || chain.mode == Mode::Infer {
            let apart = distance(&measured.result, &result);
            assert!(apart < 1e-12, "{chain:?} differs from plain loops by {apart}");
        }
        let apart = distance(&measured.statistics[0], &statistics);
        assert!(apart < 1e-13, "{chain:?}: statistics differ from plain loops by {apart}");
        // One sample per channel and little variance magnify the rounding of f32 without bound.
        if chain.shape[0] * chain.shape[2] * chain.height.max(1) >= 8 {
            agrees_everywhere(&experiment, &measured, &devices);
        }
    });
}

/// Temporal and spatial convolution with a batch norm between, joined on every instruction set.
#[test]
fn joined_convolutions() {
    let devices = every_cpu();
    for_seeds(60, |random| {
        let (filters, depth) = (random.within(1, 4), random.within(1, 3));
        let (channels, taps) = (random.within(1, 5), random.within(1, 12));
        let padding = random.pick(&[Padding::Same, Padding::Valid]);
        let x = [random.within(2, 4), channels, taps + random.within(4, 30)];
        let mode = random.pick(&[Mode::Train, Mode::Infer]);
        let label = format!("{mode:?} {x:?} F {filters} D {depth} K {taps} {padding:?}");
        let shapes: &[&[usize]] = &[&[filters, taps], &[filters * depth, 1, channels]];
        let experiment = Experiment::new(&*label, mode, shapes, |g, p| {
            let x = g.input("x", &x)?;
            let h = g.temporal_conv(x, p[0], None, padding)?;
            let h = g.batch_norm(h, 1e-3, 0.1)?;
            g.spatial_conv(h, p[1], filters)
        });
        let measured = experiment.check_some(random, 4);
        let apart = experiment.clone().keeping(&["temporal_conv"]).measure::<f64>(cpu());
        assert_same(&label, &measured, &apart, 1e-10);
        agrees_everywhere(&experiment, &measured, &devices);
    });
}

/// Mean cross-entropy by the definition.
fn plain_cross_entropy(logits: &[f64], classes: usize, labels: &[u32], smoothing: f64) -> f64 {
    let row = |row: &[f64], label: u32| -> f64 {
        let log_sum = row.iter().map(|v| v.exp()).sum::<f64>().ln();
        let target = |k: usize| smoothing / classes as f64 + f64::from(k as u32 == label) * (1.0 - smoothing);
        (0..classes).map(|k| target(k) * (log_sum - row[k])).sum()
    };
    let rows = logits.chunks(classes).zip(labels);
    rows.map(|(logits, label)| row(logits, *label)).sum::<f64>() / labels.len() as f64
}

/// Supervised NT-Xent by the definition.
fn plain_nt_xent(features: &[f64], n: usize, labels: &[u32], temperature: f64) -> f64 {
    let row = |i: usize| &features[i * n..][..n];
    let norm = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>().sqrt();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let similar = |i: usize, j: usize| dot(row(i), row(j)) / norm(row(i)) / norm(row(j)) / temperature;
    let mut terms = vec![];
    for i in 0..labels.len() {
        let others = || (0..labels.len()).filter(move |&j| j != i);
        let partners: Vec<usize> = others().filter(|&j| labels[j] == labels[i]).collect();
        let log_sum = others().map(|j| similar(i, j).exp()).sum::<f64>().ln();
        if !partners.is_empty() {
            let sum: f64 = partners.iter().map(|&j| log_sum - similar(i, j)).sum();
            terms.push(sum / partners.len() as f64);
        }
    }
    if terms.is_empty() { 0.0 } else { terms.iter().sum::<f64>() / terms.len() as f64 }
}

/// The result without the weight that an experiment's loss carries is the operation's own.
#[test]
fn losses() {
    let devices = every_cpu();
    for_seeds(100, |random| {
        let (batch, n) = (random.within(2, 9), random.within(2, 20));
        let smoothing = random.pick(&[0.0, 0.1, 0.5]);
        let labels: Vec<u32> = (0..batch).map(|_| random.within(0, n - 1) as u32).collect();
        let label = format!("cross_entropy [{batch}, {n}] {smoothing} {labels:?}");
        let experiment = Experiment::new(&*label, Mode::Train, &[&[batch, n]], |g, p| {
            let labels = g.labels("labels", &[batch], n)?;
            g.cross_entropy(p[0], labels, smoothing)
        })
        .with_labels(&labels);
        let measured = experiment.check_some(random, 4);
        let plain = plain_cross_entropy(&values(&experiment, "p0"), n, &labels, smoothing);
        assert!((measured.result[0] - plain).abs() < 1e-13, "{label}: {} {plain}", measured.result[0]);
        agrees_everywhere(&experiment, &measured, &devices);

        let temperature = random.pick(&[0.2, 0.5, 1.0]);
        let label = format!("nt_xent [{batch}, {n}] {temperature} {labels:?}");
        let experiment = Experiment::new(&*label, Mode::Train, &[&[batch, n]], |g, p| {
            let labels = g.labels("labels", &[batch], n)?;
            g.nt_xent(p[0], labels, temperature)
        })
        .with_labels(&labels);
        let measured = experiment.check_some(random, 4);
        let plain = plain_nt_xent(&values(&experiment, "p0"), n, &labels, temperature);
        assert!((measured.result[0] - plain).abs() < 1e-12, "{label}: {} {plain}", measured.result[0]);
        agrees_everywhere(&experiment, &measured, &devices);
    });
}

/// Operations along rows, against the definition of one row.
#[test]
fn rows() {
    let devices = every_cpu();
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let variance = |x: &[f64]| x.iter().map(|v| (v - mean(x)).powi(2)).sum::<f64>() / x.len() as f64;
    for_seeds(60, |random| {
        let shape = [random.within(1, 4), random.within(4, 60)];
        let check =
            |label: &str, build: fn(&mut Graph, Id) -> Result<Id>, plain: &dyn Fn(&[f64]) -> Vec<f64>| {
                let label = format!("{label} {shape:?}");
                let experiment = Experiment::new(&*label, Mode::Train, &[&shape], |g, p| build(g, p[0]));
                let plain: Vec<f64> = values(&experiment, "p0").chunks(shape[1]).flat_map(plain).collect();
                let measured = experiment.check_some(&mut Random::new(0), 4);
                let apart = distance(&measured.result, &plain);
                assert!(apart < 1e-12, "{label} differs from its definition by {apart}");
                agrees_everywhere(&experiment, &measured, &devices);
            };
        check("variance", |g, x| g.variance(x), &|x| vec![variance(x)]);
        check("softmax", |g, x| g.softmax(x), &|x| {
            let sum: f64 = x.iter().map(|v| v.exp()).sum();
            x.iter().map(|v| v.exp() / sum).collect()
        });
        check("mean", |g, x| g.mean_axes(x, &[1]), &|x| vec![mean(x)]);
        let wide_gelu = |g: &mut Graph, x: Id| {
            let wide = g.scale(x, 3.0)?;
            g.gelu(wide)
        };
        check("gelu", wide_gelu, &|x| {
            // The normal distribution function by integration of its density from 0 (Simpson's rule).
            let below = |v: f64| {
                let density = |u: f64| (-0.5 * u * u).exp() / (2.0 * std::f64::consts::PI).sqrt();
                let (n, h) = (2000, v / 2000.0);
                let inner = |i: i32| if i % 2 == 0 { 2.0 } else { 4.0 } * density(f64::from(i) * h);
                0.5 + h / 3.0 * (density(0.0) + (1..n).map(inner).sum::<f64>() + density(v))
            };
            x.iter().map(|v| 3.0 * v * below(3.0 * v)).collect()
        });
        let label = format!("layer_norm {shape:?}");
        let experiment = Experiment::new(&*label, Mode::Train, &[&shape], |g, p| g.layer_norm(p[0], 1e-3));
        let [x, scale, shift] = ["p0", "scale", "shift"].map(|n| values(&experiment, n));
        let plain: Vec<f64> = x
            .chunks(shape[1])
            .flat_map(|x| {
                let (mean, deviation) = (mean(x), (variance(x) + 1e-3).sqrt());
                let unit = move |v: &f64| (v - mean) / deviation;
                x.iter()
                    .map(unit)
                    .zip(scale.iter().zip(&shift))
                    .map(|(u, (s, h))| u * s + h)
                    .collect::<Vec<_>>()
            })
            .collect();
        let measured = experiment.check_some(random, 4);
        assert!(distance(&measured.result, &plain) < 1e-12, "{label}");
        agrees_everywhere(&experiment, &measured, &devices);
    });
}

/// What the documentation says of Winograd's form: it rounds two to three times as much as direct summation in f32 (2.1 to 2.3 here).
#[test]
fn winograds_form_rounds_at_most_three_times_as_much_as_direct_sums() {
    let (channels, outputs, time) = (64, 32, 640);
    for taps in [5, 7] {
        let mut random = Random::new(11);
        let x: Vec<f32> = to(&random.reals(channels * time));
        let w: Vec<f32> = to(&random.reals(outputs * channels * taps));
        let half = taps / 2;
        let at =
            |c: usize, t: usize| t.checked_sub(half).filter(|t| *t < time).map_or(0.0, |t| x[c * time + t]);
        let mut graph = Graph::new();
        let input = graph.input("x", &[1, channels, time]).unwrap();
        let weight = graph.parameter("w", &[outputs, channels, taps], Init::Constant(0.0)).unwrap();
        let y = graph.conv1d(input, weight, None, 1, Padding::Same).unwrap();
        for isa in Isa::available() {
            let mut program =
                Program::<f32>::new(&graph, Mode::Infer, &[y], 1, &Cpu::with(1, isa).unwrap()).unwrap();
            let mut parameters = Parameters::new(&graph, &[0]).unwrap();
            parameters.set(0, "w", &w).unwrap();
            program.run(&parameters, &[("x", Feed::Each(&x))]).unwrap();
            let got = program.output(&parameters, 0, 0);
            let (mut direct, mut winograd) = (0.0, 0.0);
            for o in 0..outputs {
                for t in 0..time {
                    let (mut exact, mut narrow) = (0.0f64, 0.0f32);
                    for c in 0..channels {
                        for k in 0..taps {
                            let weight = w[(o * channels + c) * taps + k];
                            exact += f64::from(weight) * f64::from(at(c, t + k));
                            narrow += weight * at(c, t + k);
                        }
                    }
                    direct += (f64::from(narrow) - exact).powi(2);
                    winograd += (f64::from(got[o * time + t]) - exact).powi(2);
                }
            }
            let ratio = (winograd / direct).sqrt();
            assert!(ratio < 3.0, "{isa:?}, {taps} taps: {ratio}");
        }
    }
}

//! The GPU against the CPU, where it differs from the small examples of `gradients.rs`: sizes that take the large kernels, replicas,
//! data sets that stay, steps that are refused. Runs where `PTSM_TEST_GPU` is set (`cargo xtask test --gpu`).

#![allow(clippy::unwrap_used)]

mod common;

use common::{Experiment, Random, assert_same, cpu, gpu, to};
use ptsm_engine::{
    Adam, Cuda, Decay, Device, Feed, Graph, Id, Init, Mode, Objective, Padding, Parameters, Pooling,
    Precision, Program, Result, RowTable, Step, StepSpec,
};

/// The GPU; where there is none, a line that says that the test was skipped.
fn requested_gpu() -> Option<&'static Cuda> {
    let found = gpu();
    if found.is_none() {
        eprintln!("skipped: needs a GPU; PTSM_TEST_GPU is not set");
    }
    found
}

fn compare(label: &str, shapes: &[&[usize]], build: impl Fn(&mut Graph, &[Id]) -> Result<Id>) {
    for mode in [Mode::Train, Mode::Infer] {
        Experiment::new(label, mode, shapes, &build).check_gpu();
    }
}

#[test]
fn large_elementwise_work_and_sums() {
    if requested_gpu().is_none() {
        return;
    }
    compare("elu", &[&[40, 30, 50]], |g, p| g.elu(p[0]));
    compare("broadcast", &[&[40, 30, 50], &[40, 1, 50]], |g, p| g.mul(p[0], p[1]));
    compare("broadcast last", &[&[40, 30, 50], &[30, 1]], |g, p| g.sub(p[0], p[1]));
    compare("transpose", &[&[20, 30, 50]], |g, p| g.transpose(p[0], &[2, 0, 1]));
    compare("slice", &[&[20, 30, 50]], |g, p| g.slice(p[0], 1, 3, 20));
    compare("pad", &[&[20, 30, 50]], |g, p| g.pad(p[0], 2, 3, 4));
    compare("reorder", &[&[20, 30, 50]], |g, p| {
        let order: Vec<usize> = (0..30).map(|i| i * 7 % 30).collect();
        g.reorder(p[0], 1, &order)
    });
    compare("instance_norm", &[&[20, 30, 50]], |g, p| g.instance_norm(p[0], 1e-3));
    compare("strided", &[&[20, 30, 50], &[16, 30, 4]], |g, p| g.strided_conv(p[0], p[1], 2, 1));
    compare("transposed", &[&[20, 30, 50], &[30, 16, 4]], |g, p| g.transposed_conv(p[0], p[1], 2, 1));
    compare("concat", &[&[20, 30, 50], &[20, 11, 50]], |g, p| g.concat(p[0], p[1], 1));
    for axes in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]] {
        compare(&format!("sum {axes:?}"), &[&[40, 30, 50]], |g, p| g.sum_axes(p[0], axes));
        compare(&format!("small sum {axes:?}"), &[&[7, 20, 70]], |g, p| g.sum_axes(p[0], axes));
    }
    compare("dropout", &[&[40, 30, 50]], |g, p| g.dropout(p[0], 0.3));
    compare("variance", &[&[40, 30, 50]], |g, p| g.variance(p[0]));
    compare("outer mask", &[&[20, 30, 50], &[20, 30], &[20, 50]], |g, p| g.outer_mask(p[0], p[1], p[2]));
    compare("softmax", &[&[300, 70]], |g, p| g.softmax(p[0]));
    compare("layer norm", &[&[300, 70]], |g, p| g.layer_norm(p[0], 1e-5));
}

#[test]
fn products_of_every_size() {
    if requested_gpu().is_none() {
        return;
    }
    for [items, m, n, k] in [[1, 64, 256, 2048], [1, 65, 63, 130], [3, 100, 70, 33], [1, 128, 128, 64]] {
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let a = if ta { [items, k, m] } else { [items, m, k] };
            let b = if tb { [items, n, k] } else { [items, k, n] };
            let label = format!("matmul {items} {m} {n} {k} {ta} {tb}");
            compare(&label, &[&a, &b], |g, p| g.matmul(p[0], p[1], ta, tb));
        }
    }
}

#[test]
fn convolutions_of_every_size() {
    if requested_gpu().is_none() {
        return;
    }
    for [batch, channels, time, outputs, taps, groups] in [
        [8, 64, 400, 32, 7, 1],
        [8, 64, 400, 32, 5, 1],
        [8, 32, 100, 64, 5, 1],
        [8, 64, 25, 128, 5, 1],
        [8, 32, 400, 2, 7, 2],
        [6, 22, 301, 25, 10, 1],
        [6, 25, 99, 50, 10, 1],
        [5, 16, 400, 16, 50, 16],
        [5, 64, 400, 16, 1, 1],
        [3, 9, 37, 6, 3, 3],
        [3, 5, 20, 7, 16, 1],
        [3, 5, 40, 7, 17, 1],
    ] {
        for padding in [Padding::Same, Padding::Valid] {
            let label = format!("conv1d {batch} {channels} {time} {outputs} {taps} {groups} {padding:?}");
            let shapes: [&[usize]; 3] =
                [&[batch, channels, time], &[outputs, channels / groups, taps], &[outputs]];
            compare(&label, &shapes, |g, p| g.conv1d(p[0], p[1], Some(p[2]), groups, padding));
        }
    }
}

/// The precisions that tensor cores have, and how far results may be from those in f32, by their norm.
const ROUNDED: [(Precision, f64); 2] = [(Precision::Tf32, 2e-3), (Precision::Bf16, 2e-2)];

/// The norm of a difference by the norm, and the largest difference by the root mean square.
fn apart(there: &[f64], here: &[f64]) -> (f64, f64) {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let pairs = || there.iter().zip(here).map(|(a, b)| a - b);
    let size = norm(&mut here.iter().copied());
    let largest = pairs().fold(0.0f64, |m, d| m.max(d.abs()));
    (norm(&mut pairs()) / size, largest / size * (here.len() as f64).sqrt())
}

/// Compares a product of the first two parameters and its gradients with the CPU's. `all` is whether each of them is large enough for
/// tensor cores.
fn compare_rounded(
    label: &str,
    shapes: &[&[usize]],
    all: bool,
    build: impl Fn(&mut Graph, &[Id]) -> Result<Id>,
) {
    let Some(gpu) = gpu() else { return };
    let experiment = Experiment::new(label, Mode::Train, shapes, &build);
    let exact = experiment.clone().coarse();
    let (here, exact_here) = (experiment.measure::<f32>(cpu()), exact.measure::<f32>(cpu()));
    for (precision, allowed) in ROUNDED {
        let device = gpu.clone().with_precision(precision).unwrap();
        let there = experiment.measure::<f32>(&device);
        let results = [("result", &there.result[..], &here.result[..])];
        let gradients = ["p0", "p1"].map(|name| (name, there.gradient(name), here.gradient(name)));
        for (name, a, b) in results.into_iter().chain(gradients) {
            let (norm, largest) = apart(a, b);
            assert!(norm < allowed, "{label} {precision}: {name} differs by {norm}");
            // One wrong number would not show in the norm of a million. Rounding is spread: its largest is about five of its norm.
            assert!(largest < 10.0 * allowed, "{label} {precision}: a number of {name} differs by {largest}");
            if all {
                assert!(norm > 1e-5, "{label} {precision}: {name} was not rounded, {norm}");
            }
        }
        // Where operands need no rounding, what is left is the order of sums.
        let device = gpu.clone().with_precision(precision).unwrap();
        assert_same(&format!("{label} {precision} exact"), &exact.measure::<f32>(&device), &exact_here, 1e-4);
    }
}

#[test]
fn products_on_tensor_cores() {
    if requested_gpu().is_none() {
        return;
    }
    for [items, m, n, k] in [
        [1, 64, 256, 2048],
        [1, 65, 63, 130],
        [3, 100, 70, 33],
        [1, 128, 128, 64],
        [2, 17, 130, 47],
        [1, 16, 513, 16],
    ] {
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let a = if ta { [items, k, m] } else { [items, m, k] };
            let b = if tb { [items, n, k] } else { [items, k, n] };
            let label = format!("matmul {items} {m} {n} {k} {ta} {tb}");
            compare_rounded(&label, &[&a, &b], true, |g, p| g.matmul(p[0], p[1], ta, tb));
        }
    }
}

fn compare_rounded_conv(sizes: [usize; 6], padding: Padding, all: bool) {
    let [batch, channels, time, outputs, taps, groups] = sizes;
    let label = format!("conv1d {sizes:?} {padding:?}");
    let shapes: [&[usize]; 3] = [&[batch, channels, time], &[outputs, channels / groups, taps], &[outputs]];
    compare_rounded(&label, &shapes, all, |g, p| g.conv1d(p[0], p[1], Some(p[2]), groups, padding));
}

#[test]
fn convolutions_on_tensor_cores() {
    if requested_gpu().is_none() {
        return;
    }
    for sizes in [
        [64, 64, 400, 32, 7, 1],
        [8, 32, 100, 64, 5, 1],
        [8, 64, 25, 128, 5, 1],
        [6, 62, 301, 25, 10, 1],
        [6, 50, 107, 100, 10, 1],
        [5, 100, 32, 200, 10, 1],
        [3, 64, 250, 64, 25, 1],
        [3, 40, 1000, 32, 1, 1],
        [3, 48, 101, 33, 3, 3],
        [7, 9, 333, 17, 4, 1],
        [5, 22, 71, 18, 61, 2],
        [4, 13, 90, 250, 6, 1],
    ] {
        compare_rounded_conv(sizes, Padding::Same, true);
        compare_rounded_conv(sizes, Padding::Valid, true);
    }
    let mut random = Random::new(8);
    for _ in 0..16 {
        let groups = random.pick(&[1, 1, 2]);
        let (channels, outputs) = (groups * random.within(5, 80), groups * random.within(5, 140));
        let taps = random.within(1, 26);
        let sizes = [random.within(1, 9), channels, random.within(taps, taps + 300), outputs, taps, groups];
        compare_rounded_conv(sizes, random.pick(&[Padding::Same, Padding::Valid]), false);
    }
}

/// Losses of a network that is wide enough for tensor cores.
fn train_wide(device: &Device, steps: usize) -> Vec<f32> {
    let (batch, channels, time) = (32, 24, 100);
    let mut g = Graph::new();
    let x = g.input("x", &[batch, channels, time]).unwrap();
    let y = g.labels("y", &[batch], 3).unwrap();
    let w = g.parameter("w", &[32, channels, 5], Init::fan_in(channels * 5)).unwrap();
    let h = g.conv1d(x, w, None, 1, Padding::Same).unwrap();
    let h = g.scoped("norm", |g| g.batch_norm(h, 1e-5, 0.1)).unwrap();
    let h = g.elu(h).unwrap();
    let h = g.pool(h, Pooling::Adaptive { length: 10 }).unwrap();
    let h = g.flatten(h).unwrap();
    let v = g.parameter("v", &[64, 320], Init::fan_in(320)).unwrap();
    let h = g.linear(h, v, None).unwrap();
    let h = g.elu(h).unwrap();
    let u = g.parameter("u", &[3, 64], Init::fan_in(64)).unwrap();
    let logits = g.linear(h, u, None).unwrap();
    let loss = g.cross_entropy(logits, y, 0.0).unwrap();
    let objectives = vec![Objective::new(&g, loss, |_| true)];
    let spec =
        StepSpec { mode: Mode::Train, objectives, outputs: vec![loss], optimizer: Adam::default().into() };
    let mut step = Step::<f32>::new(&g, &spec, 2, device).unwrap();
    let mut parameters = Parameters::new(&g, &[1, 2]).unwrap();
    let data: Vec<f32> = to(&Random::new(4).reals(batch * channels * time));
    let labels: Vec<u32> = (0..batch as u32).map(|i| i % 3).collect();
    let feeds = [("x", Feed::Shared(&data[..])), ("y", Feed::SharedLabels(&labels))];
    let run = |_| {
        step.run(&mut parameters, &feeds, &[1e-3; 2], &[true; 2]).unwrap();
        step.output(&parameters, 1, 0)[0]
    };
    (0..steps).map(run).collect()
}

#[test]
fn a_network_learns_in_every_precision() {
    let Some(gpu) = requested_gpu() else { return };
    let plain = train_wide(&gpu.into(), 40);
    for (precision, allowed) in ROUNDED {
        let device = gpu.clone().with_precision(precision).unwrap();
        assert_eq!(device.precision(), precision);
        let rounded = train_wide(&Device::Cuda(device.clone()), 40);
        assert!(rounded.iter().all(|loss| loss.is_finite()), "{precision}: {rounded:?}");
        assert!(
            (rounded[0] - plain[0]).abs() < allowed as f32 * plain[0],
            "{precision}: {rounded:?} {plain:?}"
        );
        assert_ne!(rounded, plain, "{precision}");
        assert!(rounded[39] < 0.5 * rounded[0], "{precision}: {rounded:?}");
        // The same again is the same to the bit.
        assert_eq!(train_wide(&Device::Cuda(device), 40), rounded, "{precision}");
    }
    // A clone of other precision leaves the GPU as it was.
    assert_eq!(gpu.precision(), Precision::F32);
    assert_eq!(train_wide(&gpu.into(), 40), plain);
}

#[test]
fn batch_norm_with_all_that_follows() {
    if requested_gpu().is_none() {
        return;
    }
    for (i, pooling) in [
        None,
        Some(Pooling::Adaptive { length: 16 }),
        Some(Pooling::Average { size: 8, stride: 8 }),
        Some(Pooling::Average { size: 15, stride: 4 }),
        Some(Pooling::Max { size: 3, stride: 3 }),
        Some(Pooling::Max { size: 4, stride: 2 }),
    ]
    .into_iter()
    .enumerate()
    {
        for drop in [0.0, 0.25, 0.5, 0.3] {
            compare(&format!("batch norm {i} {drop}"), &[&[9, 13, 101]], |g, p| {
                let y = g.batch_norm(p[0], 1e-5, 0.1)?;
                let y = g.elu(y)?;
                let y = g.dropout(y, drop)?;
                pooling.map_or(Ok(y), |pooling| g.pool(y, pooling))
            });
        }
    }
    compare("temporal norm spatial", &[&[4, 5], &[8, 1, 6]], |g, p| {
        let x = g.input("x", &[5, 6, 40])?;
        let h = g.temporal_conv(x, p[0], None, Padding::Same)?;
        let h = g.batch_norm(h, 1e-3, 0.1)?;
        g.spatial_conv(h, p[1], 4)
    });
}

/// A small network with everything that a step has: constraints, running statistics, dropout.
fn network(batch: usize) -> (Graph, Id, Id) {
    let mut g = Graph::new();
    let x = g.input("x", &[batch, 6, 80]).unwrap();
    let y = g.labels("y", &[batch], 3).unwrap();
    let w = g.parameter("w", &[8, 6, 5], Init::fan_in(30)).unwrap();
    let h = g.conv1d(x, w, None, 1, Padding::Same).unwrap();
    let h = g.scoped("norm", |g| g.batch_norm(h, 1e-5, 0.1)).unwrap();
    let h = g.elu(h).unwrap();
    let h = g.dropout(h, 0.5).unwrap();
    let h = g.pool(h, Pooling::Adaptive { length: 10 }).unwrap();
    let h = g.flatten(h).unwrap();
    let v = g.constrained("v", &[3, 80], Init::fan_in(80), 0.25).unwrap();
    let logits = g.linear(h, v, None).unwrap();
    let loss = g.cross_entropy(logits, y, 0.1).unwrap();
    (g, logits, loss)
}

struct Run {
    parameters: Parameters<f32>,
    losses: Vec<Vec<f32>>,
    logits: Vec<Vec<f32>>,
}

/// How trials reach a step.
#[derive(Clone, Copy, PartialEq)]
enum FeedMode {
    Rows,
    Table,
    /// From a table, one step prepared while the one before is under way.
    Ahead,
}

fn finish(step: &mut Step<f32>, parameters: &Parameters<f32>, steps: usize, losses: &mut [Vec<f32>]) {
    step.finish().unwrap();
    let done = losses[0].len();
    for (r, losses) in losses.iter_mut().enumerate().filter(|(r, _)| *r != 1 || done < steps / 2) {
        losses.push(step.output(parameters, r, 0)[0]);
    }
}

/// Trains three replicas, the second one for the first half only, and applies them.
fn train(device: &Device, feeding: FeedMode, steps: usize) -> Run {
    let (batch, trials, replicas) = (12, 40, 3);
    let (g, logits, loss) = network(batch);
    let mut random = Random::new(3);
    let data: Vec<f32> = to(&random.reals(trials * 480));
    let labels: Vec<u32> = (0..trials as u32).map(|i| i % 3).collect();
    let rows: Vec<&[f32]> = data.chunks(480).collect();
    let resident = RowTable::new(rows).unwrap().with_images(&[5, 4, 3, 2, 1, 0]).unwrap();
    let adam = Adam { decay: Decay::Gradient(1e-3), clip: Some(0.5), ..Adam::default() };
    let objectives = vec![Objective::new(&g, loss, |_| true)];
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![loss], optimizer: adam.into() };
    let mut step = Step::<f32>::new(&g, &spec, replicas, device).unwrap();
    let mut parameters = Parameters::new(&g, &[1, 2, 3]).unwrap();
    let mut losses = vec![vec![]; replicas];
    for i in 0..steps {
        let picked: Vec<u32> = (0..replicas * batch).map(|_| random.within(0, trials - 1) as u32).collect();
        let x = if feeding == FeedMode::Rows {
            Feed::Rows { data: &data, rows: &picked }
        } else {
            Feed::Table { table: &resident, rows: &picked }
        };
        let feeds = [("x", x), ("y", Feed::LabelRows { data: &labels, rows: &picked })];
        let active = [true, i < steps / 2, true];
        let most = if feeding == FeedMode::Ahead { step.max_in_flight() } else { 1 };
        while step.in_flight() >= most {
            finish(&mut step, &parameters, steps, &mut losses);
        }
        step.start(&mut parameters, &feeds, &[1e-2, 1e-2, 3e-3], &active).unwrap();
    }
    while step.in_flight() > 0 {
        finish(&mut step, &parameters, steps, &mut losses);
    }
    let mut program = Program::new(&g, Mode::Infer, &[logits], replicas, device).unwrap();
    program.run(&parameters, &[("x", Feed::Shared(&data[..batch * 480]))]).unwrap();
    let logits = (0..replicas).map(|r| program.output(&parameters, r, 0).to_vec()).collect();
    Run { parameters, losses, logits }
}

#[test]
fn replicas_train_and_stop_as_on_the_cpu() {
    let Some(gpu) = requested_gpu() else { return };
    let (here, there) = (train(&cpu().into(), FeedMode::Rows, 50), train(&gpu.into(), FeedMode::Rows, 50));
    for r in 0..3 {
        assert_eq!(here.losses[r].len(), if r == 1 { 25 } else { 50 });
        for (i, (a, b)) in here.losses[r].iter().zip(&there.losses[r]).enumerate() {
            // Sums in another order, grown over the steps.
            assert!(
                (a - b).abs() < 2e-3 * a.abs() * (1.0 + i as f32 / 10.0),
                "replica {r} step {i}: {a} {b}"
            );
        }
        assert_eq!(there.logits[r].len(), here.logits[r].len());
        for tensor in here.parameters.tensors() {
            assert_eq!(there.parameters.get(r, &tensor.name).unwrap().len(), tensor.len());
        }
    }
    // The same again, from a table, waited for or not, is the same to the bit.
    for feeding in [FeedMode::Table, FeedMode::Ahead] {
        let again = train(&gpu.into(), feeding, 50);
        assert_eq!(there.losses, again.losses);
        assert_eq!(there.logits, again.logits);
    }
}

/// Images of rows, and parameters that change their replica, as the trainer uses them.
#[test]
fn images_and_seats_are_those_of_the_cpu() {
    let Some(gpu) = requested_gpu() else { return };
    let (g, logits, loss) = network(12);
    let data: Vec<f32> = to(&Random::new(5).reals(20 * 480));
    let table =
        || RowTable::new(data.chunks(480).collect()).unwrap().with_images(&[5, 4, 3, 2, 1, 0]).unwrap();
    let rows: Vec<u32> = (0..24).map(|i| i * 7 % 40).collect();
    let labels: Vec<u32> = (0..24).map(|i| i % 3).collect();
    let objectives = vec![Objective::new(&g, loss, |_| true)];
    let spec =
        StepSpec { mode: Mode::Train, objectives, outputs: vec![loss], optimizer: Adam::default().into() };
    let run = |device: &Device| {
        let table = table();
        let feeds = [("x", Feed::Table { table: &table, rows: &rows }), ("y", Feed::Labels(&labels))];
        let mut step = Step::<f32>::new(&g, &spec, 2, device).unwrap();
        let mut parameters = Parameters::new(&g, &[1, 2]).unwrap();
        let mut kept = parameters.clone();
        let mut seen = vec![];
        for i in 0..4 {
            step.run(&mut parameters, &feeds, &[1e-2; 2], &[true; 2]).unwrap();
            if i == 1 {
                // The second replica is kept, and a new one takes its seat.
                kept.put(0, &parameters, 1).unwrap();
                parameters.put(1, &Parameters::new(&g, &[9]).unwrap(), 0).unwrap();
                step.reset(1).unwrap();
            }
            seen.extend([0, 1].map(|r| step.output(&parameters, r, 0)[0]));
        }
        let mut program = Program::new(&g, Mode::Infer, &[logits], 2, device).unwrap();
        program
            .run_some(&kept, &[("x", Feed::Table { table: &table, rows: &rows })], &[true, false])
            .unwrap();
        seen.extend_from_slice(program.output(&kept, 0, 0));
        (seen, kept.get(0, "w").unwrap().to_vec())
    };
    let (here, there) = (run(&cpu().into()), run(&gpu.into()));
    for (a, b) in here.0.iter().zip(&there.0).chain(here.1.iter().zip(&there.1)) {
        assert!((a - b).abs() < 2e-3 * (a.abs() + 0.1), "{a} {b}");
    }
    // Another seat begins anew.
    assert_eq!(here.0.len(), 8 + 36);
    assert!(RowTable::new(data.chunks(480).collect()).unwrap().with_images(&[0, 7]).is_err());
}

#[test]
fn the_first_step_is_the_same() {
    let Some(gpu) = requested_gpu() else { return };
    let (here, there) = (train(&cpu().into(), FeedMode::Table, 1), train(&gpu.into(), FeedMode::Table, 1));
    for r in [0, 2] {
        for tensor in here.parameters.tensors() {
            let (a, b) = (here.parameters.get(r, &tensor.name), there.parameters.get(r, &tensor.name));
            for (a, b) in a.unwrap().iter().zip(b.unwrap()) {
                assert!((a - b).abs() < 1e-3 * (a.abs() + 0.1), "{}: {a} {b}", tensor.name);
            }
        }
    }
}

#[test]
fn the_gradient_of_an_input_is_that_of_the_cpu() {
    let Some(gpu) = requested_gpu() else { return };
    let (graph, _, loss) = network(16);
    let parameters = Parameters::<f32>::new(&graph, &[3]).unwrap();
    let x: Vec<f32> =
        (0..graph.inputs()[0].shape.iter().product::<usize>()).map(|i| (0.3 * i as f32).sin()).collect();
    let labels = [0, 1].repeat(8);
    let on = |device: Device| {
        let mut program = Program::with_gradient(&graph, &[loss], loss, "x", 1, device).unwrap();
        program.run(&parameters, &[("x", Feed::Each(&x)), ("y", Feed::Labels(&labels))]).unwrap();
        [0, 1].map(|o| program.output(&parameters, 0, o).iter().map(|v| f64::from(*v)).collect::<Vec<_>>())
    };
    let [there, here] = [on(gpu.into()), on(cpu().into())];
    for (there, here) in there.iter().zip(&here) {
        assert!(apart(there, here).0 < 1e-4);
    }
}

#[test]
fn a_checkpoint_goes_from_one_device_to_the_other() {
    let Some(gpu) = requested_gpu() else { return };
    let (g, _, loss) = network(12);
    let data: Vec<f32> = to(&Random::new(5).reals(12 * 480));
    let labels: Vec<u32> = (0..12).map(|i| i % 3).collect();
    let feeds = [("x", Feed::Each(&data[..])), ("y", Feed::Labels(&labels))];
    let spec = || StepSpec {
        mode: Mode::Train,
        objectives: vec![Objective::new(&g, loss, |_| true)],
        outputs: vec![loss],
        optimizer: Adam::default().into(),
    };
    let mut parameters = Parameters::new(&g, &[7]).unwrap();
    let mut there = Step::<f32>::new(&g, &spec(), 1, gpu).unwrap();
    for _ in 0..5 {
        there.run(&mut parameters, &feeds, &[1e-2], &[true]).unwrap();
    }
    let saved = there.checkpoint(0).unwrap();
    assert_eq!((saved.steps, saved.runs), (5, 5));
    let mut here = Step::<f32>::new(&g, &spec(), 1, cpu()).unwrap();
    here.restore(0, &saved).unwrap();
    let mut copy = parameters.clone();
    here.run(&mut copy, &feeds, &[1e-2], &[true]).unwrap();
    let mut back = Step::<f32>::new(&g, &spec(), 1, gpu).unwrap();
    back.restore(0, &saved).unwrap();
    back.run(&mut parameters, &feeds, &[1e-2], &[true]).unwrap();
    for tensor in copy.tensors() {
        for (a, b) in copy.get(0, &tensor.name).unwrap().iter().zip(parameters.get(0, &tensor.name).unwrap())
        {
            assert!((a - b).abs() < 1e-4 * (a.abs() + 0.1), "{}: {a} {b}", tensor.name);
        }
    }
}

#[test]
fn a_gradient_that_is_not_finite_moves_nothing() {
    let Some(gpu) = requested_gpu() else { return };
    let mut g = Graph::new();
    let x = g.input("x", &[2]).unwrap();
    let w = g.parameter("w", &[2], Init::Constant(1.0)).unwrap();
    let y = g.mul(x, w).unwrap();
    let y = g.exp(y).unwrap();
    let loss = g.sum(y).unwrap();
    let objectives = vec![Objective::new(&g, loss, |_| true)];
    let spec =
        StepSpec { mode: Mode::Train, objectives, outputs: vec![loss], optimizer: Adam::default().into() };
    let mut step = Step::<f32>::new(&g, &spec, 2, gpu).unwrap();
    let mut parameters = Parameters::new(&g, &[1, 2]).unwrap();
    let data = [1.0f32, 2.0, 1.0, 200.0];
    let error = step.run(&mut parameters, &[("x", Feed::Each(&data))], &[0.1; 2], &[true; 2]).unwrap_err();
    assert!(error.to_string().contains("replica 1 is not finite at step 1"), "{error}");
    assert_eq!(parameters.get(1, "w").unwrap(), [1.0, 1.0]);
    assert!(parameters.get(0, "w").unwrap().iter().all(|w| *w < 1.0));
}

#[test]
fn what_is_not_a_number_is_refused() {
    let Some(gpu) = requested_gpu() else { return };
    let (g, logits, _) = network(12);
    let mut program = Program::<f32>::new(&g, Mode::Infer, &[logits], 1, gpu).unwrap();
    let parameters = Parameters::new(&g, &[1]).unwrap();
    let mut data = vec![0.0; 12 * 480];
    data[481] = f32::NAN;
    let error = program.run(&parameters, &[("x", Feed::Each(&data))]).unwrap_err().to_string();
    assert!(error.contains("value 481 of replica 0"), "{error}");
    assert!(Program::<f64>::new(&g, Mode::Infer, &[logits], 1, gpu).is_err());
    assert!(RowTable::new(vec![&data[..480], &data[480..960]]).is_err());
}

#[test]
fn memory_that_is_not_there_is_reported() {
    let Some(gpu) = requested_gpu() else { return };
    let mut g = Graph::new();
    let x = g.input("x", &[1 << 28]).unwrap();
    let y = g.exp(x).unwrap();
    let error = Program::<f32>::new(&g, Mode::Infer, &[y], 1000, gpu).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("replicas would fit"), "{error}");
}

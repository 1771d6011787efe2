//! Training steps: replicas, threads, several steps over one network, checkpoints.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod optimizers;
mod views;

use common::{Random, cpu, to};
use ptsm_engine::{
    Adam, Cpu, Decay, Feed, Graph, Id, Init, Isa, Mode, Objective, Padding, Parameters, Pooling, Program,
    Real, Step, StepSpec,
};

/// Sizes of a small classifier.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    channels: usize,
    time: usize,
    filters: usize,
    taps: usize,
    features: usize,
}

const SMALL: Sizes = Sizes { batch: 4, channels: 3, time: 24, filters: 5, taps: 7, features: 9 };
const CLASSES: usize = 3;

/// An encoder (with batch norm and dropout) and a head, the parameters named after them.
struct Network {
    graph: Graph,
    features: Id,
    logits: Id,
    loss: Id,
}

fn network(sizes: Sizes) -> Network {
    let Sizes { batch, channels, time, filters, taps, features } = sizes;
    let mut graph = Graph::new();
    let x = graph.input("x", &[batch, channels, time]).unwrap();
    let labels = graph.labels("labels", &[batch], CLASSES).unwrap();
    let h = graph.scoped("encoder", |g| {
        let w = g.parameter("conv", &[filters, channels, taps], Init::fan_in(channels * taps)).unwrap();
        let h = g.conv1d(x, w, None, 1, Padding::Same).unwrap();
        let h = g.batch_norm(h, 1e-3, 0.1).unwrap();
        let h = g.elu(h).unwrap();
        let h = g.dropout(h, 0.3).unwrap();
        let h = g.pool(h, Pooling::Average { size: 4, stride: 4 }).unwrap();
        let h = g.flatten(h).unwrap();
        let n = g.shape(h)[1];
        let w = g.parameter("linear", &[features, n], Init::fan_in(n)).unwrap();
        let h = g.linear(h, w, None).unwrap();
        g.dropout(h, 0.2).unwrap()
    });
    let (logits, loss) = graph.scoped("head", |g| {
        let w = g.parameter("weight", &[CLASSES, features], Init::fan_in(features)).unwrap();
        let bias = g.parameter("bias", &[CLASSES], Init::Constant(0.0)).unwrap();
        let logits = g.linear(h, w, Some(bias)).unwrap();
        (logits, g.cross_entropy(logits, labels, 0.1).unwrap())
    });
    Network { graph, features: h, logits, loss }
}

impl Network {
    fn spec(&self, mode: Mode, moves: impl Fn(&str) -> bool) -> StepSpec {
        let objectives = vec![Objective::new(&self.graph, self.loss, moves)];
        StepSpec { mode, objectives, outputs: vec![self.loss], optimizer: Adam::default().into() }
    }
}

/// A resident data set.
struct Set {
    x: Vec<f32>,
    labels: Vec<u32>,
}

impl Set {
    fn new(sizes: Sizes, trials: usize) -> Set {
        let mut random = Random::new(5);
        let x = to(&random.reals(trials * sizes.channels * sizes.time));
        Set { x, labels: (0..trials).map(|i| (i % CLASSES) as u32).collect() }
    }

    fn feeds<'a>(&'a self, rows: &'a [u32]) -> [(&'a str, Feed<'a, f32>); 2] {
        let labels = Feed::LabelRows { data: &self.labels, rows };
        [("x", Feed::Rows { data: &self.x, rows }), ("labels", labels)]
    }
}

/// Every bit of one replica, statistics included.
fn bits<T: Real>(parameters: &Parameters<T>, replica: usize) -> Vec<u64> {
    let tensors = parameters.tensors().iter();
    let values = tensors.flat_map(|t| parameters.get(replica, &t.name).unwrap());
    values.map(|v| v.wide().to_bits()).collect()
}

fn tensor_bits<T: Real>(parameters: &Parameters<T>, replica: usize, name: &str) -> Vec<u64> {
    parameters.get(replica, name).unwrap().iter().map(|v| v.wide().to_bits()).collect()
}

/// The rows of one replica's batch at one step.
fn rows_of(sizes: Sizes, replica: usize, step: usize, trials: usize) -> Vec<u32> {
    (0..sizes.batch).map(|i| ((i * (2 * replica + 1) + 3 * step + replica) % trials) as u32).collect()
}

const TRIALS: usize = 11;
const SEEDS: [u64; 3] = [7, 1 << 40, 3];
const RATES: [f64; 3] = [1e-2, 3e-3, 5e-2];

/// Replica 1 rests in the middle, replica 2 stops early.
fn active(step: usize) -> [bool; 3] {
    [true, step != 1 && step != 2, step < 3]
}

/// Trains three replicas together and returns each one's bits and last loss.
fn train_together(threads: usize) -> Vec<(Vec<u64>, f32)> {
    let (net, set) = (network(SMALL), Set::new(SMALL, TRIALS));
    let device = Cpu::with(threads, Isa::best()).unwrap();
    let mut parameters = Parameters::<f32>::new(&net.graph, &SEEDS).unwrap();
    let mut step = Step::new(&net.graph, &net.spec(Mode::Train, |_| true), 3, &device).unwrap();
    for i in 0..5 {
        let rows: Vec<u32> = (0..3).flat_map(|r| rows_of(SMALL, r, i, TRIALS)).collect();
        step.run(&mut parameters, &set.feeds(&rows), &RATES, &active(i)).unwrap();
    }
    (0..3).map(|r| (bits(&parameters, r), step.output(&parameters, r, 0)[0])).collect()
}

/// Trains one of the three alone, resting when it rested in company.
fn train_alone(replica: usize) -> (Vec<u64>, f32) {
    let (net, set) = (network(SMALL), Set::new(SMALL, TRIALS));
    let mut parameters = Parameters::<f32>::new(&net.graph, &SEEDS[replica..][..1]).unwrap();
    let mut step = Step::new(&net.graph, &net.spec(Mode::Train, |_| true), 1, cpu()).unwrap();
    for i in 0..5 {
        let rows = rows_of(SMALL, replica, i, TRIALS);
        let on = [active(i)[replica]];
        step.run(&mut parameters, &set.feeds(&rows), &RATES[replica..][..1], &on).unwrap();
    }
    (bits(&parameters, 0), step.output(&parameters, 0, 0)[0])
}

#[test]
fn replicas_trained_together_equal_networks_trained_alone() {
    let alone: Vec<_> = (0..3).map(train_alone).collect();
    assert_ne!(alone[0], alone[1]);
    for threads in [1, 2, 3] {
        assert_eq!(train_together(threads), alone, "{threads} threads");
    }
}

#[test]
fn a_replica_that_stops_early_equals_a_network_that_is_left_alone() {
    let (net, set) = (network(SMALL), Set::new(SMALL, TRIALS));
    let mut parameters = Parameters::<f32>::new(&net.graph, &SEEDS[2..]).unwrap();
    let mut step = Step::new(&net.graph, &net.spec(Mode::Train, |_| true), 1, cpu()).unwrap();
    for i in 0..3 {
        let rows = rows_of(SMALL, 2, i, TRIALS);
        step.run(&mut parameters, &set.feeds(&rows), &RATES[2..], &[true]).unwrap();
    }
    assert_eq!(train_together(2)[2].0, bits(&parameters, 0));
}

#[test]
fn an_inactive_replica_keeps_everything() {
    let (net, set) = (network(SMALL), Set::new(SMALL, TRIALS));
    let mut parameters = Parameters::<f32>::new(&net.graph, &[1, 2]).unwrap();
    let mut step = Step::new(&net.graph, &net.spec(Mode::Train, |_| true), 2, cpu()).unwrap();
    let rows: Vec<u32> = (0..8).collect();
    step.run(&mut parameters, &set.feeds(&rows), &[0.1, 0.1], &[true, true]).unwrap();
    let (before, moments) = (bits(&parameters, 1), step.checkpoint(1).unwrap());
    let other = bits(&parameters, 0);
    step.run(&mut parameters, &set.feeds(&rows), &[0.1, 0.1], &[true, false]).unwrap();
    assert_eq!(bits(&parameters, 1), before);
    assert_ne!(bits(&parameters, 0), other);
    let after = step.checkpoint(1).unwrap();
    assert_eq!((after.steps, &after.moments), (moments.steps, &moments.moments));
}

#[test]
fn every_way_to_feed_gives_the_same_bytes() {
    let (net, set) = (network(SMALL), Set::new(SMALL, TRIALS));
    let rows: [u32; 4] = [3, 0, 10, 3];
    let each: Vec<f32> = rows.iter().flat_map(|&r| &set.x[r as usize * 72..][..72]).copied().collect();
    let labels: Vec<u32> = rows.iter().map(|&r| set.labels[r as usize]).collect();
    let twice = |v: &[f32]| [v, v].concat();
    let (both, both_labels, both_rows) =
        (twice(&each), [&labels[..], &labels].concat(), [rows, rows].concat());
    let train = |x: Feed<'_, f32>, labels: Feed<'_, f32>| {
        let mut parameters = Parameters::<f32>::new(&net.graph, &[1, 2]).unwrap();
        let mut step = Step::new(&net.graph, &net.spec(Mode::Train, |_| true), 2, cpu()).unwrap();
        // The order of feeds does not matter either.
        step.run(&mut parameters, &[("labels", labels), ("x", x)], &[0.1, 0.1], &[true; 2]).unwrap();
        [bits(&parameters, 0), bits(&parameters, 1)]
    };
    let picked = train(
        Feed::Rows { data: &set.x, rows: &both_rows },
        Feed::LabelRows { data: &set.labels, rows: &both_rows },
    );
    assert_ne!(picked[0], picked[1]);
    assert_eq!(picked, train(Feed::Each(&both), Feed::Labels(&both_labels)));
    assert_eq!(picked, train(Feed::Shared(&each), Feed::SharedLabels(&labels)));
}

/// Large enough that threads share rows, pieces of parameters and parts of weight gradients.
const LARGE: Sizes = Sizes { batch: 16, channels: 8, time: 256, filters: 16, taps: 16, features: 40 };
/// As in `cpu.rs` and `step.rs`.
const WORTH_SHARING: usize = 1 << 16;
const PIECE: usize = 1 << 14;

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    same_for_any_number_of_threads(LARGE);
    // Kernels of 5 and 7 over many channels have forms of their own.
    same_for_any_number_of_threads(Sizes { channels: 16, taps: 5, ..LARGE });
    same_for_any_number_of_threads(Sizes { channels: 32, filters: 32, taps: 7, time: 128, ..LARGE });
}

fn same_for_any_number_of_threads(sizes: Sizes) {
    let trial = sizes.filters * sizes.time;
    assert!(sizes.batch * trial >= WORTH_SHARING, "elementwise work is not shared");
    assert!(sizes.features * trial / 4 > 2 * PIECE, "updates are not shared");
    let (net, set) = (network(sizes), Set::new(sizes, 20));
    for replicas in [1, 2] {
        let train = |threads: usize| {
            let device = Cpu::with(threads, Isa::best()).unwrap();
            let mut parameters = Parameters::<f32>::new(&net.graph, &SEEDS[..replicas]).unwrap();
            let spec = net.spec(Mode::Train, |_| true);
            let mut step = Step::new(&net.graph, &spec, replicas, &device).unwrap();
            for i in 0..3 {
                let rows: Vec<u32> = (0..replicas).flat_map(|r| rows_of(sizes, r, i, 20)).collect();
                let on = vec![true; replicas];
                step.run(&mut parameters, &set.feeds(&rows), &RATES[..replicas], &on).unwrap();
            }
            (0..replicas).map(|r| bits(&parameters, r)).collect::<Vec<_>>()
        };
        let one = train(1);
        assert_eq!(one, train(2), "{replicas} replicas");
        assert_eq!(one, train(3), "{replicas} replicas");
    }
}

#[test]
fn several_steps_over_one_network_move_what_they_name() {
    let net = network(SMALL);
    let mut graph = net.graph;
    // A discriminator on turned features pulls the encoder the other way.
    let subjects = graph.labels("subjects", &[SMALL.batch], 2).unwrap();
    let turned = graph.reverse_gradient_by(net.features, 0.5);
    let w = graph.parameter("subject.weight", &[2, SMALL.features], Init::fan_in(9)).unwrap();
    let subject_logits = graph.linear(turned, w, None).unwrap();
    let adversary = graph.cross_entropy(subject_logits, subjects, 0.0).unwrap();
    let names: Vec<String> = graph.tensors().iter().map(|t| t.name.clone()).collect();
    let of = |part: &'static str| move |name: &str| name.starts_with(part);
    let spec = |mode, loss, part| StepSpec {
        mode,
        objectives: vec![Objective::new(&graph, loss, of(part))],
        outputs: vec![],
        optimizer: Adam::default().into(),
    };
    let programs = [
        (spec(Mode::Train, net.loss, "encoder"), "encoder", true),
        (spec(Mode::Train, net.loss, "head"), "head", true),
        (spec(Mode::Train, adversary, "encoder"), "encoder", true),
        (spec(Mode::TrainFrozenStats, net.loss, "head"), "head", false),
        (spec(Mode::Infer, net.loss, "head"), "head", false),
        (spec(Mode::Infer, adversary, "subject"), "subject", false),
    ];
    let set = Set::new(SMALL, TRIALS);
    let rows = [0, 4, 5, 9];
    let mut feeds = set.feeds(&rows).to_vec();
    feeds.push(("subjects", Feed::SharedLabels(&[0, 1, 1, 0])));
    let mut parameters = Parameters::<f32>::new(&graph, &[1]).unwrap();
    for (spec, part, trains) in programs {
        let mut step = Step::new(&graph, &spec, 1, cpu()).unwrap();
        let before = parameters.clone();
        let needed = |name: &str| step_needs(&spec, &net.loss, name);
        let feeds: Vec<_> = feeds.iter().filter(|(name, _)| needed(name)).copied().collect();
        step.run(&mut parameters, &feeds, &[1e-2], &[true]).unwrap();
        for name in &names {
            let same = tensor_bits(&before, 0, name) == tensor_bits(&parameters, 0, name);
            let statistic = name.ends_with("running");
            let moves = if statistic { trains } else { name.starts_with(part) };
            assert_eq!(!same, moves, "`{name}` in a step that moves {part} in {:?}", spec.mode);
        }
    }
}

/// The adversary reads subjects, the classifier reads labels, both read x.
fn step_needs(spec: &StepSpec, loss: &Id, name: &str) -> bool {
    let classifies = spec.objectives[0].loss == *loss;
    name == "x" || (name == "labels") == classifies
}

/// A shorthand of these tests.
trait Turned {
    fn reverse_gradient_by(&mut self, x: Id, factor: f64) -> Id;
}

impl Turned for Graph {
    fn reverse_gradient_by(&mut self, x: Id, factor: f64) -> Id {
        let factor = self.constant(factor).unwrap();
        self.reverse_gradient(x, factor).unwrap()
    }
}

#[test]
fn long_slices_are_scaled_to_the_greatest_norm() {
    let mut graph = Graph::new();
    let w = graph.constrained("w", &[3, 1, 2], Init::Constant(0.0), 1.0).unwrap();
    let free = graph.parameter("free", &[2], Init::Constant(9.0)).unwrap();
    let (a, b) = (graph.sum(w).unwrap(), graph.sum(free).unwrap());
    let loss = graph.add(a, b).unwrap();
    let objectives = vec![Objective::new(&graph, loss, |_| true)];
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: Adam::default().into() };
    let mut step = Step::<f64>::new(&graph, &spec, 1, cpu()).unwrap();
    let mut parameters = Parameters::<f64>::new(&graph, &[1]).unwrap();
    // Norms 3, 0.5 and 1 exactly.
    let start = [1.8, -2.4, 0.3, 0.4, 0.0, -1.0];
    parameters.set(0, "w", &start).unwrap();
    step.run(&mut parameters, &[], &[0.0], &[true]).unwrap();
    let after = parameters.get(0, "w").unwrap();
    assert!((after[0] - 0.6).abs() < 1e-15 && (after[1] + 0.8).abs() < 1e-15, "{after:?}");
    assert_eq!(after[2..], start[2..]);
    assert_eq!(parameters.get(0, "free").unwrap(), [9.0, 9.0]);
    // And it holds after steps that push outwards.
    for _ in 0..20 {
        step.run(&mut parameters, &[], &[0.3], &[true]).unwrap();
        for slice in parameters.get(0, "w").unwrap().chunks(2) {
            assert!(slice[0].hypot(slice[1]) <= 1.0 + 1e-12);
        }
    }
}

#[test]
fn a_continued_training_equals_an_unbroken_one() {
    let (net, set) = (network(SMALL), Set::new(SMALL, TRIALS));
    let mut spec = net.spec(Mode::Train, |_| true);
    spec.optimizer = Adam { decay: Decay::Decoupled(0.01), clip: Some(1.0), ..Adam::default() }.into();
    let new_step = || Step::<f32>::new(&net.graph, &spec, 2, cpu()).unwrap();
    let train = |step: &mut Step<f32>, parameters: &mut Parameters<f32>, from: usize, to: usize| {
        for i in from..to {
            let rows: Vec<u32> = (0..2).flat_map(|r| rows_of(SMALL, r, i, TRIALS)).collect();
            step.run(parameters, &set.feeds(&rows), &RATES[..2], &[true; 2]).unwrap();
        }
    };
    let mut parameters = Parameters::<f32>::new(&net.graph, &SEEDS[..2]).unwrap();
    let mut step = new_step();
    train(&mut step, &mut parameters, 0, 3);
    let (saved, checkpoints) = (parameters.clone(), [0, 1].map(|r| step.checkpoint(r).unwrap()));
    assert_eq!(checkpoints[0].steps, 3);
    train(&mut step, &mut parameters, 3, 6);

    let (mut continued, mut again) = (saved.clone(), new_step());
    for (r, checkpoint) in checkpoints.iter().enumerate() {
        again.restore(r, checkpoint).unwrap();
    }
    train(&mut again, &mut continued, 3, 6);
    // Without the checkpoint, moments and dropout start anew.
    let (mut forgetful, mut fresh) = (saved, new_step());
    train(&mut fresh, &mut forgetful, 3, 6);
    for r in 0..2 {
        assert_eq!(bits(&parameters, r), bits(&continued, r));
        assert_eq!(step.checkpoint(r).unwrap(), again.checkpoint(r).unwrap());
        assert_ne!(bits(&parameters, r), bits(&forgetful, r));
    }
}

#[test]
fn a_gradient_that_is_not_finite_moves_nothing_and_names_its_replica() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[2, 3]).unwrap();
    let w = graph.parameter("w", &[3], Init::Constant(1.0)).unwrap();
    let h = graph.mul(x, w).unwrap();
    let h = graph.batch_norm(h, 1e-3, 0.1).unwrap();
    let h = graph.add(h, w).unwrap();
    let h = graph.exp(h).unwrap();
    let loss = graph.sum(h).unwrap();
    let objectives = vec![Objective::new(&graph, loss, |_| true)];
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: Adam::default().into() };
    let mut step = Step::<f32>::new(&graph, &spec, 3, cpu()).unwrap();
    let mut parameters = Parameters::<f32>::new(&graph, &[1, 2, 3]).unwrap();
    let feeds = [("x", Feed::Shared(&[0.1f32, 0.2, 0.3, 0.4, 0.6, 0.5][..]))];
    step.run(&mut parameters, &feeds, &[1e-2; 3], &[true; 3]).unwrap();
    // e^200 is beyond f32.
    parameters.set(1, "w", &[1.0, 200.0, 1.0]).unwrap();
    let before = [0, 1, 2].map(|r| (bits(&parameters, r), step.checkpoint(r).unwrap()));
    let error = step.run(&mut parameters, &feeds, &[1e-2; 3], &[true; 3]).unwrap_err().to_string();
    assert!(error.contains("replica 1") && error.contains("not finite"), "{error}");
    assert_eq!(bits(&parameters, 1), before[1].0);
    let after = step.checkpoint(1).unwrap();
    assert_eq!((after.steps, after.moments), (before[1].1.steps, before[1].1.moments.clone()));
    for r in [0, 2] {
        assert_ne!(bits(&parameters, r), before[r].0, "the others go on");
    }
    // Once it is well again it goes on too.
    parameters.set(1, "w", &[1.0; 3]).unwrap();
    step.run(&mut parameters, &feeds, &[1e-2; 3], &[true; 3]).unwrap();
    assert_ne!(tensor_bits(&parameters, 1, "w"), [1.0f64.to_bits(); 3]);
}

#[test]
fn running_statistics_follow_training_and_rest_in_inference() {
    let (net, set) = (network(SMALL), Set::new(SMALL, TRIALS));
    let rows = [1, 2, 3, 4];
    let name = "encoder.running";
    for (mode, moves) in [(Mode::Train, true), (Mode::Infer, false)] {
        let mut parameters = Parameters::<f32>::new(&net.graph, &[1]).unwrap();
        let mut step = Step::new(&net.graph, &net.spec(mode, |_| true), 1, cpu()).unwrap();
        let before = tensor_bits(&parameters, 0, name);
        step.backward(&parameters, &set.feeds(&rows), &[true]).unwrap();
        assert_eq!(before, tensor_bits(&parameters, 0, name), "a backward pass alone moves nothing");
        step.update(&mut parameters, &[0.0], &[true]).unwrap();
        assert_eq!(before != tensor_bits(&parameters, 0, name), moves, "{mode:?}");
    }
}

#[test]
fn dropout_draws_anew_in_every_step_replica_and_place() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[2, 300]).unwrap();
    let places = [0, 1].map(|_| graph.dropout(x, 0.25).unwrap());
    // The third replica has the seed of the first.
    let parameters = Parameters::<f32>::new(&graph, &[1, 2, 1]).unwrap();
    let mut program = Program::new(&graph, Mode::Train, &places, 3, cpu()).unwrap();
    let mut draws = vec![];
    for _ in 0..2 {
        program.run(&parameters, &[("x", Feed::Shared(&[3.0; 600]))]).unwrap();
        let draw = |replica, place| program.output(&parameters, replica, place).to_vec();
        assert_eq!(draw(0, 0), draw(2, 0), "random numbers follow from the seed alone");
        draws.extend([draw(0, 0), draw(0, 1), draw(1, 0), draw(1, 1)]);
    }
    for (i, draw) in draws.iter().enumerate() {
        assert!(draw.iter().all(|v| *v == 0.0 || *v == 4.0), "what is kept is scaled up");
        let dropped = draw.iter().filter(|v| **v == 0.0).count();
        assert!((110..190).contains(&dropped), "{dropped} of 600");
        assert_ne!(draw[..300], draw[300..], "rows differ");
        assert!(draws[..i].iter().all(|other| other != draw), "draw {i} repeats another");
    }
}

#[test]
fn training_learns() {
    let (net, set) = (network(SMALL), Set::new(SMALL, 6));
    let mut parameters = Parameters::<f32>::new(&net.graph, &[1]).unwrap();
    let mut step = Step::new(&net.graph, &net.spec(Mode::Train, |_| true), 1, cpu()).unwrap();
    let mut losses = vec![];
    for i in 0..150 {
        let rows = rows_of(SMALL, 0, i, 6);
        step.run(&mut parameters, &set.feeds(&rows), &[1e-2], &[true]).unwrap();
        losses.push(step.output(&parameters, 0, 0)[0]);
    }
    let mean = |l: &[f32]| l.iter().sum::<f32>() / l.len() as f32;
    assert!(mean(&losses[130..]) < 0.6 * mean(&losses[..20]), "{:?}", &losses[130..]);
    // Applied without dropout, it knows its data.
    let spec = StepSpec { outputs: vec![net.logits], ..net.spec(Mode::Infer, |_| true) };
    let mut apply = Step::new(&net.graph, &spec, 1, cpu()).unwrap();
    let rows = [0, 1, 2, 3];
    apply.backward(&parameters, &set.feeds(&rows), &[true]).unwrap();
    for (logits, row) in apply.output(&parameters, 0, 0).chunks(CLASSES).zip(rows) {
        let best = (0..CLASSES).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap();
        assert_eq!(best as u32, set.labels[row as usize], "{logits:?}");
    }
}

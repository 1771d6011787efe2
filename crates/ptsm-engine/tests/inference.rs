//! A network that is only applied: what it gives follows from its parameters and inputs, never from earlier runs.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;

use common::{Random, cpu, to};
use ptsm_engine::{
    Adam, Cpu, Feed, Graph, Id, Init, Isa, Mode, Objective, Padding, Parameters, Pooling, Program, Real,
    Step, StepSpec,
};

/// A network over an input `x`, and its result.
struct Network {
    graph: Graph,
    y: Id,
    size: usize,
}

fn network(shape: &[usize], build: impl FnOnce(&mut Graph, Id) -> Id) -> Network {
    let mut graph = Graph::new();
    let x = graph.input("x", shape).unwrap();
    let y = build(&mut graph, x);
    Network { graph, y, size: shape.iter().product() }
}

impl Network {
    fn program<T: Real>(&self, mode: Mode, replicas: usize, cpu: &Cpu) -> Program<T> {
        Program::new(&self.graph, mode, &[self.y], replicas, cpu).unwrap()
    }

    fn parameters<T: Real>(&self, seeds: &[u64]) -> Parameters<T> {
        Parameters::new(&self.graph, seeds).unwrap()
    }

    /// What a program that has never run gives.
    fn fresh<T: Real>(&self, mode: Mode, parameters: &Parameters<T>, x: &[T], cpu: &Cpu) -> Vec<Vec<T>> {
        run(&mut self.program(mode, parameters.replicas(), cpu), parameters, x)
    }

    fn step(&self, replicas: usize) -> Step<f32> {
        let mut graph = self.graph.clone();
        let loss = graph.square(self.y).unwrap();
        let loss = graph.sum(loss).unwrap();
        let objectives = vec![Objective::new(&graph, loss, |_| true)];
        let spec =
            StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: Adam::default().into() };
        Step::new(&graph, &spec, replicas, cpu()).unwrap()
    }
}

fn run<T: Real>(program: &mut Program<T>, parameters: &Parameters<T>, x: &[T]) -> Vec<Vec<T>> {
    program.run(parameters, &[("x", Feed::Shared(x))]).unwrap();
    (0..parameters.replicas()).map(|r| program.output(parameters, r, 0).to_vec()).collect()
}

/// Two layers of convolution, so that weights of the second are met after values of the first are done with.
fn two_layers() -> Network {
    network(&[3, 2, 40], |g, x| {
        let w = g.parameter("first", &[16, 2, 7], Init::fan_in(14)).unwrap();
        let h = g.conv1d(x, w, None, 1, Padding::Same).unwrap();
        let h = g.batch_norm(h, 1e-3, 0.1).unwrap();
        let h = g.elu(h).unwrap();
        let w = g.parameter("second", &[16, 16, 5], Init::fan_in(80)).unwrap();
        let h = g.conv1d(h, w, None, 1, Padding::Same).unwrap();
        let h = g.pool(h, Pooling::Average { size: 4, stride: 4 }).unwrap();
        let w = g.parameter("third", &[16, 1, 3], Init::fan_in(3)).unwrap();
        let h = g.conv1d(h, w, None, 16, Padding::Valid).unwrap();
        let h = g.flatten(h).unwrap();
        let n = g.shape(h)[1];
        let w = g.parameter("head", &[3, n], Init::fan_in(n)).unwrap();
        g.linear(h, w, None).unwrap()
    })
}

/// The path of EEGNet, where a batch norm goes into the weights.
fn joined() -> Network {
    network(&[3, 4, 30], |g, x| {
        let filters = g.parameter("temporal", &[4, 9], Init::fan_in(9)).unwrap();
        let h = g.temporal_conv(x, filters, None, Padding::Same).unwrap();
        let h = g.scoped("first", |g| g.batch_norm(h, 1e-3, 0.1)).unwrap();
        let w = g.parameter("spatial", &[8, 1, 4], Init::fan_in(4)).unwrap();
        let h = g.spatial_conv(h, w, 4).unwrap();
        let h = g.scoped("second", |g| g.batch_norm(h, 1e-3, 0.1)).unwrap();
        let h = g.elu(h).unwrap();
        g.pool(h, Pooling::Max { size: 3, stride: 3 }).unwrap()
    })
}

/// What is made of parameters alone is made once; its memory must not be that of a value made at each run.
#[test]
fn a_value_of_parameters_alone_survives_to_the_next_run() {
    let net = network(&[8], |g, x| {
        let h = g.exp(x).unwrap();
        let w = g.parameter("w", &[8], Init::Constant(0.5)).unwrap();
        let c = g.exp(w).unwrap();
        g.add(h, c).unwrap()
    });
    let parameters = net.parameters::<f64>(&[1]);
    let mut program = net.program(Mode::Infer, 1, cpu());
    let expected = [vec![0.25f64.exp() + 0.5f64.exp(); 8]];
    assert_eq!(run(&mut program, &parameters, &[0.25; 8]), expected, "first run");
    assert_eq!(run(&mut program, &parameters, &[0.25; 8]), expected, "second run");
}

#[test]
fn a_result_does_not_depend_on_earlier_runs() {
    for (case, net) in [("two layers", two_layers()), ("joined", joined())] {
        for mode in [Mode::Infer, Mode::Train] {
            for isa in Isa::available() {
                let device = Cpu::with(1, isa).unwrap();
                let parameters = net.parameters::<f32>(&[1, 2]);
                let mut program = net.program(mode, 2, &device);
                let mut random = Random::new(3);
                for i in 0..4 {
                    let x = to(&random.reals(net.size));
                    let given = run(&mut program, &parameters, &x);
                    let expected = net.fresh(mode, &parameters, &x, &device);
                    assert_eq!(given, expected, "{case}, {mode:?}, {isa:?}, run {i}");
                }
            }
        }
    }
}

/// Every way to change parameters is noticed by a program that has already run.
#[test]
fn changed_parameters_are_noticed() {
    let folder = std::env::temp_dir().join(format!("ptsm-engine-{}-inference", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("model");
    for (case, net) in [("two layers", two_layers()), ("joined", joined())] {
        let x = to::<f32>(&Random::new(4).reals(net.size));
        let mut program = net.program(Mode::Infer, 2, cpu());
        let mut parameters = net.parameters::<f32>(&[1, 2]);
        let mut before = vec![vec![]; 2];
        let mut check = |change: &str, parameters: &Parameters<f32>, changes: [bool; 2]| {
            let given = run(&mut program, parameters, &x);
            let expected = net.fresh(Mode::Infer, parameters, &x, cpu());
            assert_eq!(given, expected, "{case}: after {change}");
            assert_eq!([0, 1].map(|r| given[r] != before[r]), changes, "{case}: after {change}");
            before = given;
        };
        check("the start", &parameters, [true, true]);
        check("nothing", &parameters, [false, false]);
        let name = parameters.tensors()[0].name.clone();
        let n = parameters.get(0, &name).unwrap().len();
        parameters.set(1, &name, &to::<f32>(&Random::new(5).reals(n))).unwrap();
        check("`set`", &parameters, [false, true]);
        let mut step = net.step(2);
        let feeds = [("x", Feed::Shared(&x[..]))];
        step.run(&mut parameters, &feeds, &[0.01; 2], &[true, false]).unwrap();
        check("a step of one replica", &parameters, [true, false]);
        // A step at rate 0 moves the running statistics alone.
        step.run(&mut parameters, &feeds, &[0.0; 2], &[true; 2]).unwrap();
        check("new statistics", &parameters, [true, true]);
        let mut copy = parameters.clone();
        check("a clone", &copy, [false, false]);
        copy.set(0, &name, &vec![0.1; n]).unwrap();
        check("`set` on a clone", &copy, [true, false]);
        check("the original again", &parameters, [true, false]);
        parameters.save(0, &file, HashMap::new()).unwrap();
        parameters.load(1, &file).unwrap();
        check("`load`", &parameters, [false, true]);
        let spread = copy.spread(0, &[7, 8]).unwrap();
        check("`spread`", &spread, [true, true]);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Refused runs in between do no harm.
#[test]
fn a_result_does_not_depend_on_refused_runs() {
    let net = two_layers();
    let parameters = net.parameters::<f32>(&[1]);
    let mut program = net.program(Mode::Infer, 1, cpu());
    let x = to::<f32>(&Random::new(4).reals(net.size));
    let expected = net.fresh(Mode::Infer, &parameters, &x, cpu());
    for bad in [vec![f32::NAN; net.size], vec![0.0; 3]] {
        program.run(&parameters, &[("x", Feed::Shared(&bad))]).unwrap_err();
        assert_eq!(run(&mut program, &parameters, &x), expected);
    }
}

/// Weights laid out beforehand give what weights laid out in a step give.
#[test]
fn an_applied_network_equals_the_same_inside_a_step() {
    for net in [two_layers(), joined()] {
        for isa in Isa::available() {
            let device = Cpu::with(2, isa).unwrap();
            let mut graph = net.graph.clone();
            let loss = graph.sum(net.y).unwrap();
            let objectives = vec![Objective::new(&graph, loss, |_| true)];
            let outputs = vec![net.y];
            let spec = StepSpec { mode: Mode::Infer, objectives, outputs, optimizer: Adam::default().into() };
            let mut step = Step::<f32>::new(&graph, &spec, 1, &device).unwrap();
            let parameters = net.parameters::<f32>(&[6]);
            let x = to::<f32>(&Random::new(4).reals(net.size));
            step.backward(&parameters, &[("x", Feed::Shared(&x))], &[true]).unwrap();
            let expected = step.output(&parameters, 0, 0).to_vec();
            assert_eq!(net.fresh(Mode::Infer, &parameters, &x, &device), [expected], "{isa:?}");
        }
    }
}

#[test]
fn a_profile_leaves_results_alone() {
    let net = two_layers();
    let parameters = net.parameters::<f32>(&[1]);
    let mut program = net.program(Mode::Infer, 1, cpu());
    let x = to::<f32>(&Random::new(4).reals(net.size));
    let expected = run(&mut program, &parameters, &x);
    assert!(!program.profile(&parameters, &[("x", Feed::Shared(&x))]).unwrap().is_empty());
    assert_eq!(run(&mut program, &parameters, &x), expected);
    // With other parameters, whose constants must not stay behind.
    let others = net.parameters::<f32>(&[2]);
    program.profile(&others, &[("x", Feed::Shared(&x))]).unwrap();
    assert_eq!(run(&mut program, &parameters, &x), expected);
}

/// By hand: 2 trials, 3 channels to 4 through 5 taps at 16 places, then 64 numbers to 7.
#[test]
fn a_profile_counts_what_an_operation_costs_at_least() {
    let mut g = Graph::new();
    let x = g.input("x", &[2, 3, 16]).unwrap();
    let weight = g.parameter("conv.weight", &[4, 3, 5], Init::Constant(1.0)).unwrap();
    let h = g.conv1d(x, weight, None, 1, Padding::Same).unwrap();
    let h = g.reshape(h, &[2, 64]).unwrap();
    let weight = g.parameter("linear.weight", &[64, 7], Init::Constant(1.0)).unwrap();
    let y = g.matmul(h, weight, false, false).unwrap();
    let mut program = Program::<f32>::new(&g, Mode::Infer, &[y], 1, cpu()).unwrap();
    let parameters = Parameters::new(&g, &[1]).unwrap();
    let spent = program.profile(&parameters, &[("x", Feed::Shared(&[0.5; 96]))]).unwrap();
    let of = |kind: &str| {
        let one = spent.iter().find(|s| s.kind == kind).unwrap();
        (one.multiply_adds, one.bytes)
    };
    assert_eq!(of("conv1d").0, 2 * 4 * 3 * 5 * 16);
    assert_eq!(of("matmul"), (2 * 64 * 7, 4 * (2 * 64 + 64 * 7 + 2 * 7)));
}

/// Random stacks of layers: whatever the planner reuses, a second run equals a first one.
#[test]
fn random_stacks_run_twice() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let shape = [random.within(1, 3), random.within(1, 6), random.within(20, 60)];
        let net = network(&shape, |g, x| {
            let mut h = x;
            for layer in 0..random.within(1, 6) {
                h = g.scoped(layer.to_string(), |g| some_layer(g, h, &mut random));
            }
            h
        });
        let parameters = net.parameters::<f64>(&[seed]);
        let mut program = net.program(Mode::Infer, 1, cpu());
        let [a, b] = [0, 1].map(|_| random.reals(net.size));
        for x in [&a, &b, &a, &a] {
            let given = run(&mut program, &parameters, x);
            assert_eq!(given, net.fresh(Mode::Infer, &parameters, x, cpu()), "seed {seed}");
        }
    }
}

fn some_layer(g: &mut Graph, h: Id, random: &mut Random) -> Id {
    let [_, c, t] = *g.shape(h) else { panic!("layers keep three axes") };
    let uniform = Init::Uniform(0.5);
    let layer = match random.within(0, 5) {
        0 => g.elu(h),
        1 => g.batch_norm(h, 1e-3, 0.1),
        2 => {
            let outputs = random.within(1, 20);
            let w = g.parameter("w", &[outputs, c, random.pick(&[1, 3, 5])], uniform).unwrap();
            g.conv1d(h, w, None, 1, Padding::Same)
        }
        3 => {
            // A weight that is itself made of parameters.
            let (a, b) =
                (g.parameter("a", &[c, 2], uniform).unwrap(), g.parameter("b", &[2, 3], uniform).unwrap());
            let w = g.matmul(a, b, false, false).unwrap();
            let w = g.sigmoid(w).unwrap();
            let w = g.reshape(w, &[c, 1, 3]).unwrap();
            g.conv1d(h, w, None, c, Padding::Same)
        }
        4 => {
            let a = g.parameter("a", &[c, t], uniform).unwrap();
            let a = g.exp(a).unwrap();
            g.mul(h, a)
        }
        _ => {
            let w = g.parameter("w", &[t, t], uniform).unwrap();
            g.linear(h, w, None)
        }
    };
    layer.unwrap()
}

#[test]
fn the_gradient_of_an_input_is_what_finite_differences_say() {
    for mut network in [two_layers(), joined()] {
        let squares = network.graph.square(network.y).unwrap();
        let sum = network.graph.sum(squares).unwrap();
        let parameters = network.parameters::<f64>(&[7]);
        let mut program = Program::with_gradient(&network.graph, &[sum], sum, "x", 1, cpu()).unwrap();
        let x: Vec<f64> = (0..network.size).map(|i| (0.7 * i as f64).sin()).collect();
        let mut at = |x: &[f64]| {
            program.run(&parameters, &[("x", Feed::Shared(x))]).unwrap();
            let [value, gradient] = [0, 1].map(|o| program.output(&parameters, 0, o).to_vec());
            (value[0], gradient)
        };
        let (_, gradient) = at(&x);
        assert_eq!(gradient.len(), x.len());
        let most = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        for i in 0..x.len() {
            let mut moved = |by: f64| {
                let mut x = x.clone();
                x[i] += by;
                at(&x).0
            };
            let measured = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((measured - gradient[i]).abs() < 1e-7 * most, "{i}: {measured} {}", gradient[i]);
        }
        let wrong = |input| Program::<f64>::with_gradient(&network.graph, &[], sum, input, 1, cpu()).err();
        assert!(wrong("y").unwrap().to_string().contains("does not lead"));
        let whole = Program::<f64>::with_gradient(&network.graph, &[], network.y, "x", 1, cpu()).err();
        assert!(whole.unwrap().to_string().contains("scalar"));
    }
}

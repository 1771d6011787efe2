//! ACON against the golden numbers of its specification, and what each of its steps moves.

use crate::common::{all_close, close, fill, input, set_all};
use ptsm_decode::acon::{Acon, AconLossWeights};
use ptsm_decode::{Architecture, Network, TrialShape};
use ptsm_engine::{Adam, Cpu, Feed, Mode, Parameters, Program, Step};

/// Names in the order of the specification: k = 1..17.
const NAMES: [&str; 17] = [
    "time.0.conv.weight",
    "time.1.conv.weight",
    "time.2.conv.weight",
    "time.head.weight",
    "time.head.bias",
    "frequency.0.weight",
    "frequency.0.bias",
    "frequency.1.weight",
    "frequency.1.bias",
    "critic.0.weight",
    "critic.0.bias",
    "critic.1.weight",
    "critic.1.bias",
    "critic.2.weight",
    "critic.2.bias",
    "frequency.mix.real",
    "frequency.mix.imaginary",
];

const SHAPE: TrialShape = TrialShape { channels: 3, time: 64, classes: 2, subjects: 2 };

fn golden() -> Acon {
    Acon {
        width: 4,
        features: 5,
        kernel: 5,
        stride: 1,
        dropout: 0.0,
        period: 16,
        fft_normalize: false,
        rank: None,
        pooled: 4,
        critic: 6,
        ..Acon::default()
    }
}

fn filled(network: &Network) -> Parameters<f64> {
    let mut parameters = Parameters::new(&network.graph, &[0]).unwrap();
    set_all(&network.graph, &mut parameters, &NAMES.map(String::from), |k, _, n| fill(n, k, 0.3));
    parameters
}

/// Four labelled trials and four of the target.
fn trials() -> Vec<f64> {
    let source = input(4, 3, 64);
    let target = source.iter().map(|x| 1.5 * x + 0.2);
    source.iter().copied().chain(target).collect()
}

const TASK: [u32; 4] = [0, 1, 0, 1];
const DOMAIN: [u32; 8] = [0, 0, 0, 0, 1, 1, 1, 1];

fn feeds(x: &[f64]) -> [(&'static str, Feed<'_, f64>); 3] {
    [("x", Feed::Each(x)), ("task", Feed::Labels(&TASK)), ("domain", Feed::Labels(&DOMAIN))]
}

#[test]
fn the_golden_step() {
    let network = golden().build(SHAPE.batch(8)).unwrap();
    let parameters = filled(&network);
    let x = trials();
    let read = |name: &str| {
        let id = network.value(name).unwrap();
        let mut program = Program::new(&network.graph, Mode::Train, &[id], 1, &Cpu::new().unwrap()).unwrap();
        program.run(&parameters, &feeds(&x)).unwrap();
        program.output(&parameters, 0, 0).to_vec()
    };
    let check = |name: &str, expected: &[f64]| {
        all_close(name, &read(name)[..expected.len()], expected, 1e-8);
    };
    check("features", &[0.8037747253, 0.0, 0.1116512578, 0.8449977816, 0.02007017857]);
    check(
        "source_time",
        &[
            -0.6736431111,
            -0.8199960208,
            -0.7566649365,
            -0.9096490612,
            -0.7346303147,
            -0.8618789811,
            -1.015562166,
            -1.239595855,
        ],
    );
    check("target_time", &[-0.6773755055, -0.8245023101]);
    check("amplitude", &[0.8885026132, 0.2000975058, 0.09224022638, 0.06660534374]);
    check("source_frequency", &[1.221843171, -0.3474976737]);
    check("target_frequency", &[1.339298403, -0.4734138836]);
    check("joint", &[0.2407455511, 0.2807563085, 0.277087954, 0.2014101864]);
    check("critic_logits", &[0.2622372115, 0.2789135241]);
    for (name, expected) in [
        ("critic", 0.6932207721),
        ("domain", 0.6931873558),
        ("task", 0.7095444986),
        ("task_frequency", 0.9687709235),
        ("teach_source", 0.0898338224),
        ("teach_target", 0.1420852512),
        ("entropy_time", 0.6896805508),
        ("entropy_frequency", 0.4125173197),
    ] {
        close(name, read(name)[0], expected, 1e-8);
    }
}

#[test]
fn the_numbers_it_learns_and_the_lengths_it_passes_are_those_stated() {
    let form = |kernel, stride, period, pooled| Acon {
        kernel,
        stride,
        period,
        pooled,
        rank: None,
        ..Acon::default()
    };
    for (acon, channels, classes, all, decodes) in [
        (form(5, 1, 64, 10), 9, 6, 474_607, 200_128 + 774),
        (form(25, 6, 128, 16), 62, 2, 17_078_600, 296_448 + 258),
    ] {
        // Real and imaginary parts are two numbers here.
        let twice = channels * channels * (acon.period / 2 + 1);
        let count = |subjects| {
            let shape = TrialShape { channels, time: 256, classes, subjects };
            acon.clone().build(shape.batch(2)).unwrap().graph.parameter_count()
        };
        assert_eq!((count(5), count(0)), (all + twice, decodes));
    }
    for (acon, time, lengths) in [
        (form(5, 1, 64, 10), 128, [128, 65, 66, 34, 35, 18]),
        (form(15, 3, 400, 30), 750, [250, 126, 127, 64, 65, 33]),
        (form(25, 6, 128, 16), 1000, [167, 84, 85, 43, 44, 23]),
    ] {
        let shape = TrialShape { channels: 4, time, classes: 2, subjects: 0 };
        let network = acon.build(shape.batch(2)).unwrap();
        let along = network.graph.nodes().filter(|(_, node)| matches!(node.op.name(), "conv1d" | "pool"));
        let along: Vec<usize> = along.map(|(_, node)| node.shape[2]).collect();
        // A convolution with a stride may be cut at its end.
        assert_eq!(along[1..], lengths[1..]);
        assert!((lengths[0]..lengths[0] + 2).contains(&along[0]), "{along:?}");
    }
}

/// A convolution at every third place is every third place of a convolution.
#[test]
fn a_stride_leaves_places_out() {
    let features = |acon: Acon, time: usize| {
        let shape = TrialShape { channels: 2, time, classes: 2, subjects: 0 };
        let network = acon.build(shape.batch(3)).unwrap();
        let mut parameters = Parameters::<f64>::new(&network.graph, &[7]).unwrap();
        parameters.set(0, "scale.target", &[0.3, -0.2, 1.7, 0.4]).unwrap();
        let first = network.graph.nodes().find(|(_, node)| node.op.name() == "batch_norm").unwrap();
        let id = first.1.inputs[0];
        let mut program = Program::new(&network.graph, Mode::Infer, &[id], 1, &Cpu::new().unwrap()).unwrap();
        program.run(&parameters, &[("x", Feed::Each(&input(3, 2, time)))]).unwrap();
        let places = program.output_shape(0)[2];
        (program.output(&parameters, 0, 0).to_vec(), places)
    };
    for (kernel, stride, time) in [(15, 3, 100), (8, 2, 64), (25, 6, 101), (3, 4, 50), (4, 3, 47), (7, 7, 70)]
    {
        let form = |stride| Acon { width: 3, kernel, stride, ..Acon::default() };
        let (all, long) = features(form(1), time);
        let (some, short) = features(form(stride), time);
        assert_eq!(short, (long - 1) / stride + 1, "{kernel} {stride} {time}");
        for (row, rows) in some.chunks(short).zip(all.chunks(long)) {
            for (j, got) in row.iter().enumerate() {
                assert!((got - rows[j * stride]).abs() < 1e-12, "{kernel} {stride} {time}: place {j}");
            }
        }
    }
}

#[test]
fn a_tone_is_at_its_frequency_and_nowhere_else() {
    let shape = TrialShape { channels: 2, time: 48, classes: 2, subjects: 1 };
    let network = golden().build(shape.batch(4)).unwrap();
    let mut parameters = Parameters::<f64>::new(&network.graph, &[1]).unwrap();
    let identity: Vec<f64> = (0..4 * 9).map(|i| if matches!(i / 9, 0 | 3) { 1.0 } else { 0.0 }).collect();
    parameters.set(0, "frequency.mix.real", &identity).unwrap();
    parameters.set(0, "frequency.mix.imaginary", &[0.0; 36]).unwrap();
    let amplitude = network.value("amplitude").unwrap();
    let mut program =
        Program::new(&network.graph, Mode::Train, &[amplitude], 1, &Cpu::new().unwrap()).unwrap();
    for bin in 0..=8 {
        let tone = |t: usize| (std::f64::consts::TAU * (bin * t) as f64 / 16.0 + 0.4).cos();
        let x: Vec<f64> = (0..4 * 2 * 48).map(|i| tone(i % 48)).collect();
        program.run(&parameters, &[("x", Feed::Each(&x))]).unwrap();
        for (i, a) in program.output(&parameters, 0, 0).iter().enumerate() {
            // Orthonormal: half of the tone's 4 at this frequency, or all of it where there is no other side.
            let expected = match bin {
                _ if i % 9 != bin => 0.0,
                0 | 8 => 4.0 * 0.4f64.cos(),
                _ => 2.0,
            };
            assert!((a - expected).abs() < 1e-10, "bin {bin}, feature {i}: {a}");
        }
    }
}

#[test]
fn the_discriminator_moves_alone_and_the_others_without_it() {
    let network = golden().build(SHAPE.batch(8)).unwrap();
    let mut parameters = filled(&network);
    let x = trials();
    let names: Vec<String> = network.graph.tensors().iter().map(|t| t.name.clone()).collect();
    let (discriminator, main) = (network.discriminator_steps(Adam::default()), network.step(Adam::default()));
    assert_eq!(discriminator.len(), 1);
    for (spec, own) in [(&discriminator[0], true), (&main, false)] {
        let before = parameters.clone();
        let mut step = Step::new(&network.graph, spec, 1, &Cpu::new().unwrap()).unwrap();
        step.run(&mut parameters, &feeds(&x), &[1e-2], &[true]).unwrap();
        for name in &names {
            let moved = before.get(0, name).unwrap() != parameters.get(0, name).unwrap();
            let fixed = name.starts_with("scale.") || name.ends_with("transform");
            assert_eq!(moved, !fixed && name.starts_with("critic.") == own, "{name}");
        }
    }
}

/// Running statistics follow one domain after the other.
#[test]
fn statistics_follow_both_domains() {
    let network = golden().build(SHAPE.batch(8)).unwrap();
    let mut parameters = filled(&network);
    let mut step =
        Step::new(&network.graph, &network.step(Adam::default()), 1, &Cpu::new().unwrap()).unwrap();
    // Target trials that differ from the labelled ones by an offset alone, behind a kernel that keeps it.
    let weight = vec![0.2; 4 * 3 * 5];
    parameters.set(0, "time.0.conv.weight", &weight).unwrap();
    let x: Vec<f64> = (0..8 * 3 * 64).map(|i| if i < 4 * 3 * 64 { 1.0 } else { 2.0 }).collect();
    step.run(&mut parameters, &feeds(&x), &[1e-2], &[true]).unwrap();
    // Of 64 places 60 see five samples, two four and two three: a mean of 3 * 0.2 * (314 / 64) for labelled trials.
    let mean = 0.6 * 314.0 / 64.0;
    let expected = 0.9 * (0.1 * mean) + 0.1 * (2.0 * mean);
    close("running mean", parameters.get(0, "time.0.norm.running").unwrap()[0], expected, 1e-12);
}

/// Without what binds it to the other branch and to the discriminator, the temporal branch is a plain network.
#[test]
fn the_temporal_branch_alone_is_plain_training() {
    let weights =
        AconLossWeights { frequency: 0.0, domain: 0.0, entropy: 0.0, teach_source: 0.0, teach_target: 0.0 };
    let model = Acon { weights, ..golden() };
    let (whole, plain) = (
        model.build(SHAPE.batch(8)).unwrap(),
        model.build(TrialShape { subjects: 0, ..SHAPE }.batch(4)).unwrap(),
    );
    let x = trials();
    let mut both = filled(&whole);
    let mut alone = Parameters::<f64>::new(&plain.graph, &[0]).unwrap();
    let names: Vec<String> = plain.graph.tensors().iter().map(|t| t.name.clone()).collect();
    for name in &names {
        alone.set(0, name, both.get(0, name).unwrap()).unwrap();
    }
    let cpu = Cpu::new().unwrap();
    let discriminator = &whole.discriminator_steps(Adam::default())[0];
    let mut first = Step::new(&whole.graph, discriminator, 1, &cpu).unwrap();
    let mut main = Step::new(&whole.graph, &whole.step(Adam::default()), 1, &cpu).unwrap();
    let mut step = Step::new(&plain.graph, &plain.step(Adam::default()), 1, &cpu).unwrap();
    for _ in 0..3 {
        first.run(&mut both, &feeds(&x), &[1e-2], &[true]).unwrap();
        main.run(&mut both, &feeds(&x), &[1e-2], &[true]).unwrap();
        let own = [("x", Feed::Each(&x[..4 * 3 * 64])), ("task", Feed::Labels(&TASK[..]))];
        step.run(&mut alone, &own, &[1e-2], &[true]).unwrap();
    }
    for name in names.iter().filter(|name| !name.ends_with("running")) {
        for (a, b) in both.get(0, name).unwrap().iter().zip(alone.get(0, name).unwrap()) {
            assert!((a - b).abs() < 1e-12, "{name}: {a} {b}");
        }
    }
}

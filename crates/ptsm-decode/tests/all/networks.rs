//! Ablations, variants, few-shot tuning, other batch sizes, model files.

use crate::common::{EEGNET_NAMES, close, fill, golden_ptsm, input, norm, ptsm_parameters, set_all};
use ptsm_decode::deepconvnet::DeepConvNet;
use ptsm_decode::eegconformer::EegConformer;
use ptsm_decode::eegnet::EegNet;
use ptsm_decode::ptsm::{Fusion, MaskSelection, PoolPlacement, Ptsm, PtsmLossWeights};
use ptsm_decode::registry::METHODS;
use ptsm_decode::shallowconvnet::ShallowConvNet;
use ptsm_decode::{Architecture, Network, TrialShape};
use ptsm_engine::{Adam, Cpu, Feed, Mode, Parameters, Program, Step};
use ptsm_signal::{Channel, Layout};

const SHAPE: TrialShape = TrialShape { channels: 3, time: 32, classes: 2, subjects: 2 };
const Y: [u32; 4] = [0, 1, 0, 1];
const WHO: [u32; 4] = [0, 0, 1, 1];

fn build(model: Ptsm) -> Network {
    model.build(SHAPE.batch(4)).unwrap()
}

/// A backward pass of the whole step on the golden batch.
fn backward(network: &Network, parameters: &Parameters<f64>, subjects: &[u32]) -> Step<f64> {
    let mut step =
        Step::new(&network.graph, &network.step(Adam::default()), 1, &Cpu::new().unwrap()).unwrap();
    let x = input(4, 3, 32);
    let feeds = [("x", Feed::Each(&x[..])), ("task", Feed::Labels(&Y)), ("subject", Feed::Labels(subjects))];
    step.backward(parameters, &feeds, &[true]).unwrap();
    step
}

fn total(network: &Network, parameters: &Parameters<f64>) -> f64 {
    backward(network, parameters, &WHO).output(parameters, 0, 0)[0]
}

#[test]
fn every_ablation_is_a_configuration() {
    let base = || golden_ptsm(PoolPlacement::Last);
    let weights = |f: fn(&mut PtsmLossWeights)| {
        let mut weights = PtsmLossWeights::default();
        f(&mut weights);
        Ptsm { weights, ..base() }
    };
    let cases: Vec<(&str, Ptsm)> = vec![
        ("full", base()),
        ("w/o STAP", Ptsm { masks: MaskSelection::None, ..base() }),
        ("w/o PP", Ptsm { masks: MaskSelection::Common, ..base() }),
        ("w/o CP", Ptsm { masks: MaskSelection::Personal, ..base() }),
        ("w/o VO", weights(|w| w.orthogonality = 0.0)),
        ("w/o CO", weights(|w| w.decorrelation = 0.0)),
        ("w/o MIM", weights(|w| w.retention = 0.0)),
        ("w/o SR", weights(|w| w.feature_sparsity = 0.0)),
        ("CE only", Ptsm { weights: PtsmLossWeights::cross_entropy_only(), ..base() }),
        ("w/o contrast", weights(|w| w.contrast = 0.0)),
        ("w/o L_subj", weights(|w| w.subject = 0.0)),
        ("pool each", golden_ptsm(PoolPlacement::Each)),
        ("fixed fusion", Ptsm { fusion: Fusion::Fixed { time: 0.5, space: 0.5 }, ..base() }),
        ("literal", Ptsm { literal: true, ..base() }),
        ("routed", Ptsm { routed: true, ..base() }),
        ("subject table", Ptsm { subject_table: true, ..base() }),
    ];
    let mut seen: Vec<(&str, f64)> = vec![];
    for (name, model) in cases {
        let network = build(model);
        let parameters = Parameters::<f64>::new(&network.graph, &[3]).unwrap();
        let loss = total(&network, &parameters);
        assert!(loss.is_finite(), "{name}");
        // Routing moves gradients, a fixed half equals the start of a learnt share, a table starts at zero, and one pair of
        // masks starts like the other: the same loss. Everything else must differ from what stands before it.
        let same = ["fixed fusion", "routed", "subject table", "w/o CP"].contains(&name);
        let before = seen.iter().find(|(_, l)| (l - loss).abs() < 1e-12);
        assert!(same || before.is_none(), "{name} has the loss of {before:?}");
        seen.push((name, loss));
    }
}

#[test]
fn losses_that_an_ablation_drops_are_gone() {
    let names = |masks| {
        build(Ptsm { masks, ..golden_ptsm(PoolPlacement::Last) })
            .losses
            .iter()
            .map(|(n, _)| *n)
            .collect::<Vec<_>>()
    };
    assert!(!names(MaskSelection::None).iter().any(|n| ["sim", "sparse", "size"].contains(n)));
    for masks in [MaskSelection::Personal, MaskSelection::Common] {
        let names = names(masks);
        assert!(!names.contains(&"sim") && names.contains(&"sparse") && names.contains(&"size"));
    }
    // Generators that are not used are not there either.
    let network = build(Ptsm { masks: MaskSelection::Common, ..golden_ptsm(PoolPlacement::Last) });
    assert!(
        !network
            .graph
            .tensors()
            .iter()
            .any(|t| t.name.starts_with("personal.") || t.name.starts_with("fusion."))
    );
}

/// Cross-entropy alone leaves the subject branch without a gradient.
#[test]
fn cross_entropy_only_does_not_reach_the_subject_branch() {
    let network =
        build(Ptsm { weights: PtsmLossWeights::cross_entropy_only(), ..golden_ptsm(PoolPlacement::Last) });
    let parameters = ptsm_parameters::<f64>(&network);
    let step = backward(&network, &parameters, &WHO);
    assert!(step.gradient(&parameters, 0, "subject_head.0.weight").unwrap().is_none());
    assert!(step.gradient(&parameters, 0, "task_head.0.weight").unwrap().is_some());
}

/// With only the two cross-entropies, routing must give the personal masks the gradient of L_subj alone and the common ones
/// that of L_task alone, and everything else the sum.
#[test]
fn routing_keeps_each_loss_out_of_the_other_masks() {
    let weights = |task_only: bool| PtsmLossWeights {
        subject: if task_only { 0.0 } else { 0.7 },
        ..PtsmLossWeights::cross_entropy_only()
    };
    let plain = |task_only| build(Ptsm { weights: weights(task_only), ..golden_ptsm(PoolPlacement::Last) });
    let routed = build(Ptsm { weights: weights(false), routed: true, ..golden_ptsm(PoolPlacement::Last) });
    let (task, both) = (plain(true), plain(false));
    let parameters = ptsm_parameters::<f64>(&both);
    let [task, both, routed] = [&task, &both, &routed].map(|n| backward(n, &parameters, &WHO));
    let gradient =
        |step: &Step<f64>, name: &str| step.gradient(&parameters, 0, name).unwrap().unwrap().to_vec();
    for (name, of) in [
        ("common.spatial.0.weight", Some(true)),
        ("common.temporal.1.weight", Some(true)),
        ("personal.spatial.0.weight", Some(false)),
        ("personal.temporal.1.weight", Some(false)),
        ("encoder.0.conv.weight", None),
        ("fusion.time", None),
    ] {
        let (t, b, r) = (gradient(&task, name), gradient(&both, name), gradient(&routed, name));
        for i in 0..t.len() {
            let expected = match of {
                Some(true) => t[i],
                Some(false) => b[i] - t[i],
                None => b[i],
            };
            assert!(
                (r[i] - expected).abs() < 1e-12 * (1.0 + expected.abs()),
                "{name}[{i}]: {} {expected}",
                r[i]
            );
        }
    }
}

/// An unseen subject gets the mean of the table: setting every subject's bias to the same value must make training and inference
/// masks agree.
#[test]
fn the_subject_table_is_personal_in_training_and_the_mean_afterwards() {
    let network = build(Ptsm { subject_table: true, ..golden_ptsm(PoolPlacement::Last) });
    let mut parameters = ptsm_parameters::<f64>(&network);
    parameters.set(0, "personal.table.space", &[0.5, 1.0, -0.5, 0.1, -1.0, 0.3]).unwrap();
    parameters.set(0, "personal.table.time", &[0.4, -0.8]).unwrap();
    let masks = |parameters: &Parameters<f64>, mode| {
        let ids =
            [network.value("mask.personal.space").unwrap(), network.value("mask.personal.time").unwrap()];
        let mut program = Program::new(&network.graph, mode, &ids, 1, &Cpu::new().unwrap()).unwrap();
        let x = input(4, 3, 32);
        let mut feeds = vec![("x", Feed::Each(&x[..]))];
        if mode == Mode::Train {
            feeds.push(("subject", Feed::Labels(&WHO)));
        }
        program.run(parameters, &feeds).unwrap();
        [0, 1].map(|i| program.output(parameters, 0, i).to_vec())
    };
    let (own, unseen) = (masks(&parameters, Mode::Train), masks(&parameters, Mode::Infer));
    assert!((own[0][0] - unseen[0][0]).abs() > 1e-3 && (own[1][0] - unseen[1][0]).abs() > 1e-3);
    let mean: Vec<f64> = [(0.5 + 0.1) / 2.0, 0.0, (-0.5 + 0.3) / 2.0].into();
    parameters.set(0, "personal.table.space", &[mean.clone(), mean].concat()).unwrap();
    parameters.set(0, "personal.table.time", &[-0.2, -0.2]).unwrap();
    let same = masks(&parameters, Mode::Train);
    for (a, b) in same.iter().flatten().zip(unseen.iter().flatten()) {
        assert!((a - b).abs() < 1e-14);
    }
    assert!(
        backward(&network, &parameters, &WHO)
            .gradient(&parameters, 0, "personal.table.space")
            .unwrap()
            .is_some()
    );
}

#[test]
fn subject_labels_matter_in_training_but_not_for_the_shapes() {
    let network = build(golden_ptsm(PoolPlacement::Last));
    let parameters = ptsm_parameters::<f64>(&network);
    let loss = |subjects: &[u32]| backward(&network, &parameters, subjects).output(&parameters, 0, 0)[0];
    assert_ne!(loss(&[0, 0, 1, 1]), loss(&[1, 0, 1, 0]));
}

#[test]
fn few_shot_leaves_everything_else_bit_identical() {
    let mut network = build(Ptsm { dropout: 0.5, ..golden_ptsm(PoolPlacement::Last) });
    let (spec, _) = network.adaptation_step(Adam::default(), false).unwrap();
    let mut parameters = Parameters::<f32>::new(&network.graph, &[5]).unwrap();
    let before = parameters.clone();
    let cpu = Cpu::new().unwrap();
    let mut step = Step::new(&network.graph, &spec, 1, &cpu).unwrap();
    let x: Vec<f32> = input(4, 3, 32).iter().map(|v| *v as f32).collect();
    let feeds = [("x", Feed::Each(&x[..])), ("shots", Feed::Labels(&Y))];
    let mut losses = vec![];
    for _ in 0..20 {
        step.run(&mut parameters, &feeds, &[1e-2], &[true]).unwrap();
        losses.push(step.output(&parameters, 0, 0)[0]);
    }
    assert!(losses[19] < losses[0], "{losses:?}");
    for tensor in network.graph.tensors() {
        let (b, a) = (before.get(0, &tensor.name).unwrap(), parameters.get(0, &tensor.name).unwrap());
        assert_eq!(b != a, tensor.name.starts_with("personal."), "{}", tensor.name);
    }
    let mut none = build(Ptsm { masks: MaskSelection::None, ..golden_ptsm(PoolPlacement::Last) });
    let message = none.adaptation_step(Adam::default(), false).unwrap_err().to_string();
    assert!(message.contains("personal masks"), "{message}");
}

/// The same trials one by one and together.
#[test]
fn batch_size_does_not_change_decoding() {
    let models: [Box<dyn Architecture>; 7] = [
        Box::new(Ptsm::default()),
        Box::new(Ptsm { pool: PoolPlacement::Each, ..Ptsm::default() }),
        Box::new(EegNet::default()),
        Box::new(DeepConvNet::default()),
        Box::new(DeepConvNet { kernel: 5, pool: 2, crop: Some(200), ..DeepConvNet::default() }),
        Box::new(ShallowConvNet::default()),
        Box::new(EegConformer::default()),
    ];
    let shape = TrialShape { channels: 9, time: 450, classes: 3, subjects: 4 };
    let x: Vec<f32> = input(5, 9, 450).iter().map(|v| *v as f32).collect();
    let cpu = Cpu::new().unwrap();
    for model in models {
        let logits = |batch: usize, x: &[f32]| {
            let network = model.build(shape.batch(batch)).unwrap();
            let parameters = Parameters::new(&network.graph, &[1]).unwrap();
            let mut program = Program::new(&network.graph, Mode::Infer, &[network.logits], 1, &cpu).unwrap();
            program.run(&parameters, &[("x", Feed::Each(x))]).unwrap();
            program.output(&parameters, 0, 0).to_vec()
        };
        let together = logits(5, &x);
        let alone: Vec<f32> = x.chunks(9 * 450).flat_map(|x| logits(1, x)).collect();
        for (a, b) in together.iter().zip(&alone) {
            assert!((a - b).abs() < 2e-6, "{model:?}: {a} {b}");
        }
    }
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let shape = SHAPE;
    let ptsm = |f: fn(&mut Ptsm)| -> Box<dyn Architecture> {
        let mut c = Ptsm::default();
        f(&mut c);
        Box::new(c)
    };
    let eegnet = |f: fn(&mut EegNet)| -> Box<dyn Architecture> {
        let mut c = EegNet::default();
        f(&mut c);
        Box::new(c)
    };
    let deep = |f: fn(&mut DeepConvNet)| -> Box<dyn Architecture> {
        let mut c = DeepConvNet::default();
        f(&mut c);
        Box::new(c)
    };
    let shallow = |f: fn(&mut ShallowConvNet)| -> Box<dyn Architecture> {
        let mut c = ShallowConvNet::default();
        f(&mut c);
        Box::new(c)
    };
    let conformer = |f: fn(&mut EegConformer)| -> Box<dyn Architecture> {
        let mut c = EegConformer::default();
        f(&mut c);
        Box::new(c)
    };
    /// A network, what it is built for, and words of the refusal.
    type Case = (Box<dyn Architecture>, TrialShape, usize, &'static [&'static str]);
    let cases: Vec<Case> = vec![
        (ptsm(|_| ()), TrialShape { time: 8, ..shape }, 4, &["8 samples", "16"]),
        (ptsm(|_| ()), TrialShape { channels: 0, ..shape }, 4, &["channels"]),
        (ptsm(|_| ()), shape, 0, &["batch"]),
        (ptsm(|c| c.dropout = 1.0), shape, 4, &["dropout", "1"]),
        (ptsm(|c| c.dropout = f64::NAN), shape, 4, &["dropout", "NaN"]),
        (ptsm(|c| c.encoder = vec![]), shape, 4, &["encoder"]),
        (ptsm(|c| c.kernel = 0), shape, 4, &["kernel"]),
        (ptsm(|c| c.temperature = 0.0), shape, 4, &["temperature"]),
        (ptsm(|c| c.weights.mask = f64::INFINITY), shape, 4, &["weights", "inf"]),
        (ptsm(|c| c.fusion = Fusion::Fixed { time: 1.5, space: 0.0 }), shape, 4, &["fusion", "1.5"]),
        (ptsm(|c| (c.routed, c.masks) = (true, MaskSelection::Common)), shape, 4, &["routed", "Common"]),
        (
            ptsm(|c| (c.subject_table, c.masks) = (true, MaskSelection::None)),
            shape,
            4,
            &["subject_table", "None"],
        ),
        (ptsm(|c| c.pool_lengths = Some(vec![4; 3])), shape, 4, &["pool_lengths", "each"]),
        (
            ptsm(|c| (c.pool, c.pool_lengths) = (PoolPlacement::Each, Some(vec![4]))),
            shape,
            4,
            &["pool_lengths", "3"],
        ),
        (ptsm(|c| c.rho = f64::NAN), shape, 4, &["rho", "NaN"]),
        (eegnet(|_| ()), TrialShape { time: 20, ..shape }, 4, &["20", "32"]),
        (eegnet(|c| c.filters = 0), shape, 4, &["filters"]),
        (eegnet(|c| c.spatial_norm = Some(0.0)), shape, 4, &["spatial.weight", "norm of 0"]),
        (eegnet(|c| c.classifier_norm = Some(f64::NAN)), shape, 4, &["classifier.weight", "norm of NaN"]),
        (deep(|_| ()), TrialShape { time: 440, ..shape }, 4, &["440", "441"]),
        (deep(|c| c.maps = vec![]), shape, 4, &["maps"]),
        (deep(|c| c.maps[2] = 0), shape, 4, &["maps"]),
        (
            deep(|c| c.maps[0] = usize::MAX),
            TrialShape { time: 441, ..shape },
            4,
            &["temporal.weight", "memory"],
        ),
        (deep(|c| c.crop = Some(440)), TrialShape { time: 1000, ..shape }, 4, &["crop", "440", "441"]),
        (deep(|c| c.crop = Some(530)), TrialShape { time: 601, ..shape }, 4, &["530", "602", "601"]),
        (deep(|c| c.max_norm = Some(-1.0)), TrialShape { time: 500, ..shape }, 4, &["temporal.weight", "-1"]),
        (shallow(|_| ()), TrialShape { time: 98, ..shape }, 4, &["98", "99"]),
        (shallow(|c| c.filters = usize::MAX), TrialShape { time: 99, ..shape }, 4, &["temporal", "memory"]),
        (shallow(|c| c.kernel = usize::MAX), shape, 4, &["samples"]),
        (shallow(|c| c.stride = 0), shape, 4, &["stride"]),
        (shallow(|c| c.head_norm = Some(-2.0)), TrialShape { time: 99, ..shape }, 4, &["head.weight", "-2"]),
        (conformer(|_| ()), TrialShape { time: 98, ..shape }, 4, &["98", "99"]),
        (conformer(|c| c.heads = 7), TrialShape { time: 99, ..shape }, 4, &["heads", "40", "7"]),
        (
            conformer(|c| c.expansion = usize::MAX),
            TrialShape { time: 99, ..shape },
            4,
            &["forward", "memory"],
        ),
        (conformer(|c| c.head = [8, 0]), shape, 4, &["head"]),
        (conformer(|c| c.depth = 1 << 40), shape, 4, &["depth", "256"]),
        (conformer(|c| c.last_dropout = 1.0), shape, 4, &["last_dropout"]),
    ];
    for (model, shape, batch, words) in cases {
        let message = match model.build(shape.batch(batch)) {
            Err(e) => e.to_string(),
            Ok(_) => panic!("{model:?} for {shape:?} was built"),
        };
        assert!(words.iter().all(|w| message.contains(w)), "{message:?} lacks one of {words:?}");
    }
    // One trial is enough to decode, not to train.
    let network = ptsm(|_| ()).build(shape.batch(1)).unwrap();
    let cpu = Cpu::new().unwrap();
    let message = match Step::<f32>::new(&network.graph, &network.step(Adam::default()), 1, &cpu) {
        Err(e) => e.to_string(),
        Ok(_) => panic!("a batch of 1 was trained on"),
    };
    assert!(message.contains("encoder.0.norm") && message.contains("at least 2, got 1"), "{message}");
}

#[test]
fn an_unknown_key_is_refused() {
    let layout = Layout {
        channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(),
        samples: 640,
        rate_hz: 160.0,
        start_s: 0.0,
        classes: vec!["left".into(), "right".into()],
        task: Default::default(),
    };
    for method in METHODS {
        let mut settings = method.defaults(&layout).unwrap();
        let table = if settings["network"].is_object() { &mut settings["network"] } else { &mut settings };
        table["dropuot"] = 0.1.into();
        let message = method.build(settings).err().unwrap().to_string();
        assert!(message.contains("dropuot"), "{}: {message}", method.name);
    }
}

/// Small, with windows of two places: 4 samples from place to place, 13 samples at least.
fn cropped() -> DeepConvNet {
    let net = DeepConvNet { maps: vec![3, 4], kernel: 4, pool: 2, crop: Some(18), ..DeepConvNet::default() };
    assert_eq!(net.least_time(), 13);
    net
}

fn seeded(network: &Network) -> Parameters<f64> {
    let mut parameters = Parameters::new(&network.graph, &[7]).unwrap();
    // Running statistics that are not those of the start.
    for block in 1..=2 {
        let name = format!("norm{block}.running");
        let n = parameters.get(0, &name).unwrap().len();
        let values: Vec<f64> =
            fill(n, block, 0.2).iter().enumerate().map(|(i, v)| v + (i >= n / 2) as u8 as f64).collect();
        parameters.set(0, &name, &values).unwrap();
    }
    parameters
}

fn infer(network: &Network, parameters: &Parameters<f64>, value: ptsm_engine::Id, x: &[f64]) -> Vec<f64> {
    let mut program = Program::new(&network.graph, Mode::Infer, &[value], 1, &Cpu::new().unwrap()).unwrap();
    program.run(parameters, &[("x", Feed::Each(x))]).unwrap();
    program.output(parameters, 0, 0).to_vec()
}

/// The cropped network is the plain one on every window, and its answer is their mean probability.
#[test]
fn cropping_is_the_plain_network_on_every_window() {
    let (channels, time, classes, batch) = (3, 43, 3, 2);
    let shape = |time| TrialShape { channels, time, classes, subjects: 1 };
    let network = cropped().build(shape(time).batch(batch)).unwrap();
    let parameters = seeded(&network);
    let x = input(batch, channels, time);
    let windows = infer(&network, &parameters, network.value("window_logits").unwrap(), &x);
    // 43 - 17 + 1 = 27 windows of 17 samples; the last three are left out.
    assert_eq!(windows.len(), batch * 24 * classes);
    let plain = DeepConvNet { crop: None, ..cropped() }.build(shape(18).batch(1)).unwrap();
    for trial in 0..batch {
        let mut mean = vec![0.0; classes];
        // The dealt order of windows is of no meaning: each must be there once.
        let mut given: Vec<&[f64]> =
            windows[trial * 24 * classes..][..24 * classes].chunks(classes).collect();
        for start in 0..24 {
            let window: Vec<f64> = (0..channels)
                .flat_map(|c| &x[(trial * channels + c) * time + start..][..18])
                .copied()
                .collect();
            let logits = infer(&plain, &parameters, plain.logits, &window);
            let same = |g: &&[f64]| g.iter().zip(&logits).all(|(a, b)| (a - b).abs() < 1e-12);
            let place = given.iter().position(same).unwrap_or_else(|| panic!("window {start} is not there"));
            given.swap_remove(place);
            let sum: f64 = logits.iter().map(|l| l.exp()).sum();
            mean.iter_mut().zip(&logits).for_each(|(m, l)| *m += l.exp() / sum / 24.0);
        }
        let logits = infer(&network, &parameters, network.logits, &x);
        for (got, expected) in logits[trial * classes..].iter().zip(&mean) {
            close("mean probability", got.exp(), *expected, 1e-12);
        }
    }
}

/// Check 3 of the specification: a step that goes nowhere brings long filters down to their limit and leaves the others.
#[test]
fn eegnet_limits_its_norms() {
    let shape = TrialShape { channels: 4, time: 128, classes: 3, subjects: 1 };
    let network = EegNet { dropout: 0.0, ..EegNet::default() }.build(shape.batch(3)).unwrap();
    let mut parameters = Parameters::<f64>::new(&network.graph, &[0]).unwrap();
    let scales = [0.1, 0.1, 0.1, 0.1, 0.02, 0.1];
    set_all(&network.graph, &mut parameters, &EEGNET_NAMES.map(String::from), |k, _, n| {
        fill(n, k, scales[k - 1])
    });
    let mut limited = vec![];
    for (name, row, length, limit) in [("spatial.weight", 5, 3.0, 1.0), ("classifier.weight", 1, 1.0, 0.25)] {
        let mut values = parameters.get(0, name).unwrap().to_vec();
        let n = network.graph.tensors().iter().find(|t| t.name == name).unwrap().shape[1..].iter().product();
        let own = &mut values[row * n..][..n];
        let scale = length / norm(own);
        own.iter_mut().for_each(|v| *v *= scale);
        parameters.set(0, name, &values).unwrap();
        values[row * n..][..n].iter_mut().for_each(|v| *v *= limit / length);
        limited.push((name, row, n, limit, values));
    }
    let before = parameters.clone();
    let x = input(3, 4, 128);
    let feeds = [("x", Feed::Each(&x[..])), ("task", Feed::Labels(&[0, 1, 2]))];
    let mut step =
        Step::new(&network.graph, &network.step(Adam::default()), 1, &Cpu::new().unwrap()).unwrap();
    step.run(&mut parameters, &feeds, &[0.0], &[true]).unwrap();
    for tensor in network.graph.tensors().iter().filter(|t| t.trainable) {
        let got = parameters.get(0, &tensor.name).unwrap();
        match limited.iter().find(|(name, ..)| *name == tensor.name) {
            None => assert_eq!(got, before.get(0, &tensor.name).unwrap(), "{}", tensor.name),
            Some((name, row, n, limit, expected)) => {
                close(name, norm(&got[row * n..][..*n]), *limit, 1e-12);
                for (i, (g, e)) in got.iter().zip(expected).enumerate() {
                    assert!((g - e).abs() < 1e-14, "{name}[{i}]: {g} {e}");
                }
            }
        }
    }
}

/// Checks 4 and 5: the input's scale and the order of its channels do not matter.
#[test]
fn eegnet_does_not_care_for_scale_or_order() {
    let shape = TrialShape { channels: 4, time: 128, classes: 3, subjects: 1 };
    let network = EegNet { dropout: 0.0, ..EegNet::default() }.build(shape.batch(3)).unwrap();
    let mut parameters = Parameters::<f64>::new(&network.graph, &[0]).unwrap();
    let scales = [0.1, 0.1, 0.1, 0.1, 0.02, 0.1];
    set_all(&network.graph, &mut parameters, &EEGNET_NAMES.map(String::from), |k, _, n| {
        fill(n, k, scales[k - 1])
    });
    let logits = |parameters: &Parameters<f64>, mode, x: &[f64]| {
        let cpu = Cpu::new().unwrap();
        let mut program = Program::new(&network.graph, mode, &[network.logits], 1, &cpu).unwrap();
        program.run(parameters, &[("x", Feed::Each(x))]).unwrap();
        program.output(parameters, 0, 0).to_vec()
    };
    let x = input(3, 4, 128);
    let tenfold: Vec<f64> = x.iter().map(|v| 10.0 * v).collect();
    let (one, ten) = (logits(&parameters, Mode::Train, &x), logits(&parameters, Mode::Train, &tenfold));
    let far = one.iter().zip(&ten).map(|(a, b)| ((a - b) / a).abs()).fold(0.0, f64::max);
    assert!(far > 1e-7 && far < 1e-4, "{far:e}");

    let before = logits(&parameters, Mode::Infer, &x);
    let order = [2, 0, 3, 1];
    let turned: Vec<f64> =
        x.chunks(4 * 128).flat_map(|x| order.map(|c| x[c * 128..][..128].to_vec()).concat()).collect();
    let spatial = parameters.get(0, "spatial.weight").unwrap();
    let weights: Vec<f64> = spatial.chunks(4).flat_map(|w| order.map(|c| w[c])).collect();
    parameters.set(0, "spatial.weight", &weights).unwrap();
    for (a, b) in before.iter().zip(logits(&parameters, Mode::Infer, &turned)) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

/// Batch norm takes away what a constant adds.
#[test]
fn shallowconvnet_does_not_see_a_constant_in_training() {
    let shape = TrialShape { channels: 3, time: 200, classes: 2, subjects: 1 };
    let config = ShallowConvNet { dropout: 0.0, ..ShallowConvNet::default() };
    let network = config.build(shape.batch(2)).unwrap();
    let parameters = Parameters::<f64>::new(&network.graph, &[3]).unwrap();
    let logits = |mode, x: &[f64]| {
        let cpu = Cpu::new().unwrap();
        let mut program = Program::new(&network.graph, mode, &[network.logits], 1, &cpu).unwrap();
        program.run(&parameters, &[("x", Feed::Each(x))]).unwrap();
        program.output(&parameters, 0, 0).to_vec()
    };
    let x = input(2, 3, 200);
    let raised: Vec<f64> = x.iter().map(|v| v + 5.0).collect();
    let far = |mode| {
        let (a, b) = (logits(mode, &x), logits(mode, &raised));
        a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    assert!(far(Mode::Train) < 1e-9, "{:e}", far(Mode::Train));
    assert!(far(Mode::Infer) > 1e-3);
}

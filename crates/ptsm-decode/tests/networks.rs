//! Ablations, variants, few-shot tuning, other batch sizes, model files.
#![allow(clippy::unwrap_used)]

mod common;

use common::{golden_ptsm, input, ptsm_parameters};
use ptsm_decode::deepconvnet::DeepConvNet;
use ptsm_decode::eegnet::EegNet;
use ptsm_decode::ptsm::{Fusion, Masks, Pool, Ptsm, Weights, few_shot};
use ptsm_decode::{Model, Network, TrialShape};
use ptsm_engine::{Adam, Cpu, Feed, Mode, Parameters, Program, Step};

const SHAPE: TrialShape = TrialShape { channels: 3, time: 32, classes: 2, subjects: 2 };
const Y: [u32; 4] = [0, 1, 0, 1];
const WHO: [u32; 4] = [0, 0, 1, 1];

fn build(model: Ptsm) -> Network {
    Model::Ptsm(model).build(SHAPE, 4).unwrap()
}

/// A backward pass of the whole step on the golden batch.
fn backward(network: &Network, parameters: &Parameters<f64>, who: &[u32]) -> Step<f64> {
    let mut step =
        Step::new(&network.graph, &network.step(Adam::default()), 1, &Cpu::new().unwrap()).unwrap();
    let x = input(4, 3, 32);
    let feeds = [("x", Feed::Each(&x[..])), ("task", Feed::Labels(&Y)), ("subject", Feed::Labels(who))];
    step.backward(parameters, &feeds, &[true]).unwrap();
    step
}

fn total(network: &Network, parameters: &Parameters<f64>) -> f64 {
    backward(network, parameters, &WHO).output(parameters, 0, 0)[0]
}

#[test]
fn every_ablation_is_a_configuration() {
    let base = || golden_ptsm(Pool::Last);
    let weights = |f: fn(&mut Weights)| {
        let mut weights = Weights::default();
        f(&mut weights);
        Ptsm { weights, ..base() }
    };
    let cases: Vec<(&str, Ptsm)> = vec![
        ("full", base()),
        ("w/o STAP", Ptsm { masks: Masks::None, ..base() }),
        ("w/o PP", Ptsm { masks: Masks::Common, ..base() }),
        ("w/o CP", Ptsm { masks: Masks::Personal, ..base() }),
        ("w/o VO", weights(|w| w.orthogonality = 0.0)),
        ("w/o CO", weights(|w| w.decorrelation = 0.0)),
        ("w/o MIM", weights(|w| w.retention = 0.0)),
        ("w/o SR", weights(|w| w.feature_sparsity = 0.0)),
        ("CE only", Ptsm { weights: Weights::cross_entropy_only(), ..base() }),
        ("w/o contrast", weights(|w| w.contrast = 0.0)),
        ("w/o L_subj", weights(|w| w.subject = 0.0)),
        ("pool each", golden_ptsm(Pool::Each)),
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
        build(Ptsm { masks, ..golden_ptsm(Pool::Last) }).losses.iter().map(|(n, _)| *n).collect::<Vec<_>>()
    };
    assert!(!names(Masks::None).iter().any(|n| ["sim", "sparse", "size"].contains(n)));
    for masks in [Masks::Personal, Masks::Common] {
        let names = names(masks);
        assert!(!names.contains(&"sim") && names.contains(&"sparse") && names.contains(&"size"));
    }
    // Generators that are not used are not there either.
    let network = build(Ptsm { masks: Masks::Common, ..golden_ptsm(Pool::Last) });
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
    let network = build(Ptsm { weights: Weights::cross_entropy_only(), ..golden_ptsm(Pool::Last) });
    let parameters = ptsm_parameters::<f64>(&network);
    let step = backward(&network, &parameters, &WHO);
    assert!(step.gradient(&parameters, 0, "subject_head.0.weight").is_none());
    assert!(step.gradient(&parameters, 0, "task_head.0.weight").is_some());
}

/// With only the two cross-entropies, routing must give the personal masks the gradient of L_subj alone and the common ones
/// that of L_task alone, and everything else the sum.
#[test]
fn routing_keeps_each_loss_out_of_the_other_masks() {
    let weights = |task_only: bool| Weights {
        subject: if task_only { 0.0 } else { 0.7 },
        ..Weights::cross_entropy_only()
    };
    let plain = |task_only| build(Ptsm { weights: weights(task_only), ..golden_ptsm(Pool::Last) });
    let routed = build(Ptsm { weights: weights(false), routed: true, ..golden_ptsm(Pool::Last) });
    let (task, both) = (plain(true), plain(false));
    let parameters = ptsm_parameters::<f64>(&both);
    let [task, both, routed] = [&task, &both, &routed].map(|n| backward(n, &parameters, &WHO));
    let gradient = |step: &Step<f64>, name: &str| step.gradient(&parameters, 0, name).unwrap().to_vec();
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

/// A stranger gets the mean of the table: setting every subject's bias to the same value must make training and inference
/// masks agree.
#[test]
fn the_subject_table_is_personal_in_training_and_the_mean_afterwards() {
    let network = build(Ptsm { subject_table: true, ..golden_ptsm(Pool::Last) });
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
    let (own, stranger) = (masks(&parameters, Mode::Train), masks(&parameters, Mode::Infer));
    assert!((own[0][0] - stranger[0][0]).abs() > 1e-3 && (own[1][0] - stranger[1][0]).abs() > 1e-3);
    let mean: Vec<f64> = [(0.5 + 0.1) / 2.0, 0.0, (-0.5 + 0.3) / 2.0].into();
    parameters.set(0, "personal.table.space", &[mean.clone(), mean].concat()).unwrap();
    parameters.set(0, "personal.table.time", &[-0.2, -0.2]).unwrap();
    let same = masks(&parameters, Mode::Train);
    for (a, b) in same.iter().flatten().zip(stranger.iter().flatten()) {
        assert!((a - b).abs() < 1e-14);
    }
    assert!(backward(&network, &parameters, &WHO).gradient(&parameters, 0, "personal.table.space").is_some());
}

#[test]
fn subject_labels_matter_in_training_but_not_for_the_shapes() {
    let network = build(golden_ptsm(Pool::Last));
    let parameters = ptsm_parameters::<f64>(&network);
    let loss = |who: &[u32]| backward(&network, &parameters, who).output(&parameters, 0, 0)[0];
    assert_ne!(loss(&[0, 0, 1, 1]), loss(&[1, 0, 1, 0]));
}

#[test]
fn few_shot_leaves_everything_else_bit_identical() {
    let network = build(Ptsm { dropout: 0.5, ..golden_ptsm(Pool::Last) });
    let mut parameters = Parameters::<f32>::new(&network.graph, &[5]).unwrap();
    let before = parameters.clone();
    let cpu = Cpu::new().unwrap();
    let mut step = Step::new(&network.graph, &few_shot(&network, Adam::default()).unwrap(), 1, &cpu).unwrap();
    let x: Vec<f32> = input(4, 3, 32).iter().map(|v| *v as f32).collect();
    let feeds = [("x", Feed::Each(&x[..])), ("task", Feed::Labels(&Y))];
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
    let none = build(Ptsm { masks: Masks::None, ..golden_ptsm(Pool::Last) });
    let message = few_shot(&none, Adam::default()).unwrap_err().to_string();
    assert!(message.contains("personal masks"), "{message}");
}

/// The same trials one by one and together.
#[test]
fn batch_size_does_not_change_decoding() {
    let models = [
        Model::Ptsm(Ptsm::default()),
        Model::Ptsm(Ptsm { pool: Pool::Each, ..Ptsm::default() }),
        Model::EegNet(EegNet::default()),
        Model::DeepConvNet(DeepConvNet::default()),
    ];
    let shape = TrialShape { channels: 9, time: 450, classes: 3, subjects: 4 };
    let x: Vec<f32> = input(5, 9, 450).iter().map(|v| *v as f32).collect();
    let cpu = Cpu::new().unwrap();
    for model in models {
        let logits = |batch: usize, x: &[f32]| {
            let network = model.build(shape, batch).unwrap();
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
    let ptsm = |f: fn(&mut Ptsm)| {
        let mut c = Ptsm::default();
        f(&mut c);
        Model::Ptsm(c)
    };
    let eegnet = |f: fn(&mut EegNet)| {
        let mut c = EegNet::default();
        f(&mut c);
        Model::EegNet(c)
    };
    let cases: Vec<(Model, TrialShape, usize, &[&str])> = vec![
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
        (ptsm(|c| (c.routed, c.masks) = (true, Masks::Common)), shape, 4, &["routed", "Common"]),
        (ptsm(|c| (c.subject_table, c.masks) = (true, Masks::None)), shape, 4, &["subject_table", "None"]),
        (ptsm(|c| c.pool_lengths = Some(vec![4; 3])), shape, 4, &["pool_lengths", "each"]),
        (ptsm(|c| (c.pool, c.pool_lengths) = (Pool::Each, Some(vec![4]))), shape, 4, &["pool_lengths", "3"]),
        (ptsm(|c| c.rho = f64::NAN), shape, 4, &["rho", "NaN"]),
        (eegnet(|_| ()), TrialShape { time: 20, ..shape }, 4, &["20", "32"]),
        (eegnet(|c| c.filters = 0), shape, 4, &["filters"]),
    ];
    for (model, shape, batch, words) in cases {
        let message = match model.build(shape, batch) {
            Err(e) => e.to_string(),
            Ok(_) => panic!("{model:?} for {shape:?} was built"),
        };
        assert!(words.iter().all(|w| message.contains(w)), "{message:?} lacks one of {words:?}");
    }
    // One trial is enough to decode, not to train.
    let network = ptsm(|_| ()).build(shape, 1).unwrap();
    let cpu = Cpu::new().unwrap();
    let message = match Step::<f32>::new(&network.graph, &network.step(Adam::default()), 1, &cpu) {
        Err(e) => e.to_string(),
        Ok(_) => panic!("a batch of 1 was trained on"),
    };
    assert!(message.contains("encoder.0.norm") && message.contains("at least 2, got 1"), "{message}");
}

#[test]
fn an_unknown_key_is_refused() {
    let text = r#"{"name":"ptsm","config":{"dropuot":0.1}}"#;
    let message = serde_json::from_str::<Model>(text).unwrap_err().to_string();
    assert!(message.contains("dropuot") && message.contains("dropout"), "{message}");
}

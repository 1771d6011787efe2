//! Two trained steps equal PyTorch's: `golden/two_steps.json`, made by the recipe named in it
//! (`cargo lab golden` makes it again). f64; tensors whose gradient is zero but for rounding, such as a bias in front
//! of a batch norm, are what the absolute tolerance is for.

use crate::common::{all_close, close, fill, golden_ptsm, input, narrow, ptsm_parameters, set_all};
use ptsm_decode::acon::Acon;
use ptsm_decode::dann::{Dann, Domains};
use ptsm_decode::deepconvnet::DeepConvNet;
use ptsm_decode::eegconformer::EegConformer;
use ptsm_decode::eegnet::EegNet;
use ptsm_decode::ptsm::{PoolPlacement, Ptsm, PtsmLossWeights};
use ptsm_decode::{Architecture, Network, TrialShape};
use ptsm_engine::{Adam, Cpu, Decay, Feed, Isa, Mode, Parameters, Program, Real, Step};
use serde_json::Value;

fn case(name: &str) -> Value {
    let file: Value = serde_json::from_str(include_str!("../golden/two_steps.json")).unwrap();
    file["cases"][name].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn optimizer(case: &Value) -> (Adam, f64) {
    let o = &case["hyper"]["optimizer"];
    let decay = number(&o["weight_decay"]);
    let decay = match o["name"].as_str().unwrap() {
        "AdamW" => Decay::Decoupled(decay),
        _ => Decay::Gradient(decay),
    };
    let betas = (number(&o["betas"][0]), number(&o["betas"][1]));
    (Adam { betas, decay, clip: o["clip_norm"].as_f64(), ..Adam::default() }, number(&o["lr"]))
}

fn check(
    name: &str,
    model: &dyn Architecture,
    shape: TrialShape,
    batch: usize,
    fill: impl Fn(&Network) -> Parameters<f64>,
) {
    let case = case(name);
    let network = model.build(shape.batch(batch)).unwrap();
    let mut parameters = fill(&network);
    let (adam, rate) = optimizer(&case);
    let cpu = Cpu::new().unwrap();
    let mut step = Step::new(&network.graph, &network.step(adam), 1, &cpu).unwrap();
    let discriminators = network.discriminator_steps(adam);
    let discriminators = discriminators.iter().map(|spec| Step::new(&network.graph, spec, 1, &cpu).unwrap());
    let mut discriminators: Vec<Step<f64>> = discriminators.collect();
    let labels = |key: &str| -> Vec<u32> {
        case["hyper"]["data"][key]
            .as_array()
            .map_or(vec![], |l| l.iter().map(|v| v.as_u64().unwrap() as u32).collect())
    };
    let (y, subjects, domains) = (labels("labels"), labels("subjects"), labels("domains"));
    let lambda = case["hyper"]["data"]["lambda"].as_f64().map(|lambda| [lambda]);
    let x = input(batch, shape.channels, shape.time);
    let mut feeds = vec![("x", Feed::Each(&x[..])), ("task", Feed::Labels(&y))];
    if !subjects.is_empty() {
        feeds.push(("subject", Feed::Labels(&subjects)));
    }
    if !domains.is_empty() {
        feeds.push(("domain", Feed::Labels(&domains)));
    }
    if let Some(lambda) = &lambda {
        feeds.push(("lambda", Feed::Each(lambda)));
    }
    let steps = case["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    for (i, expected) in steps.iter().enumerate() {
        for discriminator in &mut discriminators {
            discriminator.run(&mut parameters, &feeds, &[rate], &[true]).unwrap();
        }
        step.run(&mut parameters, &feeds, &[rate], &[true]).unwrap();
        close(
            &format!("{name} step {i} total"),
            step.output(&parameters, 0, 0)[0],
            number(&expected["total"]),
            1e-8,
        );
        close(
            &format!("{name} step {i} gradient"),
            step.gradient_norm(0),
            number(&expected["grad_norm"]),
            1e-8,
        );
        for (j, (loss, _)) in network.losses.iter().enumerate() {
            let got = step.output(&parameters, 0, j + 1)[0];
            close(&format!("{name} step {i} {loss}"), got, number(&expected["losses"][loss]), 1e-8);
        }
        assert_eq!(expected["losses"].as_object().unwrap().len(), network.losses.len());
    }
    let state = case["state"].as_object().unwrap();
    let tensors = network.graph.tensors().iter().filter(|t| !FIXED.contains(&t.name.as_str()));
    assert_eq!(state.len(), tensors.count());
    for (tensor, expected) in state {
        let expected = expected["values"].as_array().unwrap();
        let got = parameters.get(0, tensor).unwrap();
        assert_eq!(got.len(), expected.len(), "{tensor}");
        for (i, (g, e)) in got.iter().zip(expected).enumerate() {
            let e = number(e);
            assert!((g - e).abs() <= 1e-8 * e.abs() + 1e-9, "{name} {tensor}[{i}]: got {g}, PyTorch has {e}");
        }
    }
}

/// Tensors that no training moves and PyTorch does not have.
const FIXED: [&str; 3] = ["scale.source", "scale.target", "frequency.transform"];

/// The trained network, applied: its logits in f64 to 1e-8, in f32 to 1e-4 on every path.
fn check_eval(name: &str, model: &dyn Architecture, shape: TrialShape, batch: usize) {
    fn logits<T: Real>(case: &Value, network: &Network, shape: TrialShape, batch: usize, isa: Isa) -> Vec<T> {
        let mut parameters = Parameters::<T>::new(&network.graph, &[0]).unwrap();
        for (tensor, values) in case["state"].as_object().unwrap() {
            let values: Vec<f64> = values["values"].as_array().unwrap().iter().map(number).collect();
            parameters.set(0, tensor, &narrow(&values)).unwrap();
        }
        let x = narrow::<T>(&input(batch, shape.channels, shape.time));
        let cpu = Cpu::with(2, isa).unwrap();
        let mut program = Program::new(&network.graph, Mode::Infer, &[network.logits], 1, &cpu).unwrap();
        program.run(&parameters, &[("x", Feed::Each(&x))]).unwrap();
        program.output(&parameters, 0, 0).to_vec()
    }
    let case = case(name);
    let network = model.build(shape.batch(batch)).unwrap();
    let expected: Vec<f64> = case["eval"].as_array().unwrap().iter().map(number).collect();
    let got = logits::<f64>(&case, &network, shape, batch, Isa::best());
    all_close(&format!("{name} eval"), &got, &expected, 1e-8);
    for isa in Isa::available() {
        let got = logits::<f32>(&case, &network, shape, batch, isa);
        all_close(&format!("{name} eval in f32 on {isa:?}"), &got, &expected, 1e-4);
    }
}

const PTSM: TrialShape = TrialShape { channels: 3, time: 32, classes: 2, subjects: 2 };

#[test]
fn ptsm_last_with_adam() {
    check("ptsm_last", &golden_ptsm(PoolPlacement::Last), PTSM, 4, ptsm_parameters);
}

#[test]
fn ptsm_each_with_adamw_and_a_clip_that_bites() {
    check("ptsm_each", &golden_ptsm(PoolPlacement::Each), PTSM, 4, ptsm_parameters);
}

#[test]
fn ptsm_with_literal_losses() {
    let weights = PtsmLossWeights {
        mask_sparsity: 0.01 / (3.0 * 32.0),
        feature_sparsity: 0.01 / (6.0 * 4.0),
        ..PtsmLossWeights::default()
    };
    let model = Ptsm { literal: true, weights, ..golden_ptsm(PoolPlacement::Last) };
    check("ptsm_literal", &model, PTSM, 4, ptsm_parameters);
}

#[test]
fn eegnet_with_a_max_norm_that_bites() {
    let model = EegNet { dropout: 0.0, ..EegNet::default() };
    let shape = TrialShape { channels: 4, time: 128, classes: 3, subjects: 1 };
    check("eegnet", &model, shape, 3, |network| {
        let scales = [0.1, 2.0, 0.1, 0.1, 0.02, 0.1];
        let mut parameters = Parameters::new(&network.graph, &[0]).unwrap();
        set_all(
            &network.graph,
            &mut parameters,
            &crate::common::EEGNET_NAMES.map(String::from),
            |k, _, n| fill(n, k, scales[k - 1]),
        );
        parameters
    });
}

#[test]
fn dann_with_a_reversed_gradient() {
    let encoder = EegNet { dropout: 0.0, ..EegNet::default() };
    let model = Dann { hidden: Some(5), weight: 1.3, ..Dann::on(encoder, Domains::Uda) };
    let shape = TrialShape { channels: 4, time: 128, classes: 2, subjects: 3 };
    check("dann", &model, shape, 6, |network| filled(network, 0.1));
}

#[test]
fn acon_whose_discriminator_learns_first() {
    let config = Acon {
        width: 4,
        features: 5,
        kernel: 5,
        stride: 2,
        dropout: 0.0,
        period: 16,
        rank: None,
        pooled: 4,
        critic: 6,
        ..Acon::default()
    };
    let shape = TrialShape { channels: 3, time: 60, classes: 2, subjects: 3 };
    let model = config;
    check("acon", &model, shape, 8, |network| {
        let mut parameters = filled(network, 0.3);
        let parts = ["real", "imaginary"].map(|part| format!("frequency.mix.{part}"));
        for (k, name) in parts.iter().enumerate() {
            let n = parameters.get(0, name).unwrap().len();
            parameters.set(0, name, &fill(n, 16 + k, 0.3)).unwrap();
        }
        parameters
    });
    check_eval("acon", &model, shape, 8);
}

/// Everything but norms, in the network's order.
fn filled(network: &Network, scale: f64) -> Parameters<f64> {
    let mut parameters = Parameters::new(&network.graph, &[0]).unwrap();
    let names = network.graph.tensors().iter().map(|t| t.name.clone());
    let names: Vec<String> = names.filter(|n| n.ends_with("weight") || n.ends_with("bias")).collect();
    set_all(&network.graph, &mut parameters, &names, |k, _, n| fill(n, k, scale));
    parameters
}

/// PyTorch slides the network by dilation; here signals are dealt out.
#[test]
fn deepconvnet_over_windows_with_a_max_norm_that_bites() {
    let config = DeepConvNet {
        maps: vec![3, 4],
        kernel: 4,
        pool: 2,
        crop: Some(18),
        dropout: 0.0,
        ..DeepConvNet::default()
    };
    let shape = TrialShape { channels: 3, time: 43, classes: 3, subjects: 1 };
    let model = config;
    check("deepconvnet_cropped", &model, shape, 3, |network| filled(network, 0.5));
    check_eval("deepconvnet_cropped", &model, shape, 3);
}

#[test]
fn eegconformer_with_the_betas_of_its_authors() {
    let config = EegConformer {
        filters: 5,
        kernel: 7,
        pool: 12,
        stride: 6,
        width: 8,
        depth: 2,
        heads: 2,
        expansion: 2,
        head: [7, 5],
        dropout: 0.0,
        last_dropout: 0.0,
        ..EegConformer::default()
    };
    let shape = TrialShape { channels: 3, time: 50, classes: 3, subjects: 1 };
    let model = config;
    check("eegconformer", &model, shape, 4, |network| filled(network, 0.3));
    check_eval("eegconformer", &model, shape, 4);
}

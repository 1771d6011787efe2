//! CSLP-AE's network and losses against the numbers of its specification, in f64.

use crate::common::{all_close, close, fill, input, set_all};
use ptsm_decode::cslp_ae::losses::contrasts;
use ptsm_decode::cslp_ae::{CslpAe, Readout};
use ptsm_decode::{Architecture, Network, TrialShape};
use ptsm_engine::{Adam, Cpu, Feed, Graph, Id, Init, Mode, Parameters, Program, Step};

/// Everything but heads.
fn count(config: CslpAe, channels: usize) -> usize {
    let shape = TrialShape { channels, time: 256, classes: 2, subjects: 5 };
    let network = config.build(shape.batch(2)).unwrap();
    let own = network.graph.tensors().iter().filter(|t| t.trainable && !t.name.contains("head"));
    own.map(|t| t.len()).sum()
}

#[test]
fn parameters_are_as_many_as_the_authors_have() {
    let theirs = CslpAe { width: 256, latent: 64, ..CslpAe::default() };
    assert_eq!(count(theirs.clone(), 30), 10_355_360);
    assert_eq!(count(theirs.clone(), 62), 10_371_776);
    let shape = TrialShape { channels: 30, time: 256, classes: 2, subjects: 0 };
    let network = theirs.build(shape.batch(3)).unwrap();
    for (part, expected) in [
        ("encoder_in.", 337_664),
        ("encoder.", 2_366_464),
        ("encoder_attention.", 1_599_488),
        ("shared.", 329_472),
        ("decoder_in.", 231_168),
        ("decoder_attention.", 1_599_488),
        ("decoder.", 2_366_464),
        ("decoder_out.", 271_390),
        ("subject_out.", 280_128),
        ("task_out.", 280_128),
        ("subject_in.", 182_016),
        ("task_in.", 182_016),
        ("mixed.", 329_472),
    ] {
        let own = network.graph.tensors().iter().filter(|t| t.name.starts_with(part));
        assert_eq!(own.map(|t| t.len()).sum::<usize>(), expected, "{part}");
    }
    for name in ["subject_latents", "task_latents"] {
        assert_eq!(network.graph.shape(network.value(name).unwrap()), [3, 64, 16]);
    }
    assert_eq!(network.graph.shape(network.value("rendered").unwrap()), [3, 30, 256]);
}

const SHAPE: TrialShape = TrialShape { channels: 3, time: 256, classes: 2, subjects: 2 };

fn small() -> CslpAe {
    CslpAe { width: 4, latent: 2, levels: 2, pair_trials: 4, ..CslpAe::default() }
}

/// The order of the specification.
fn names(network: &Network) -> Vec<String> {
    let parts = [
        "encoder_in.",
        "encoder.",
        "encoder_attention.",
        "shared.",
        "decoder_in.",
        "decoder_attention.",
        "decoder.",
        "decoder_out.",
        "subject_out.",
        "subject_in.",
        "task_out.",
        "task_in.",
        "mixed.",
    ];
    let of_part = |part: &&str| {
        let tensors = network.graph.tensors().iter().map(|t| t.name.clone());
        let kept = tensors.filter(|n| n.starts_with(*part) && !n.ends_with("scale") && !n.ends_with("shift"));
        kept.collect::<Vec<_>>()
    };
    parts.iter().flat_map(of_part).collect()
}

fn filled(network: &Network) -> Parameters<f64> {
    let mut parameters = Parameters::new(&network.graph, &[0]).unwrap();
    let names = names(network);
    assert_eq!(names.len(), 93);
    set_all(&network.graph, &mut parameters, &names, |k, _, n| fill(n, k, 0.3));
    parameters
}

fn run(network: &Network, outputs: &[Id], feeds: &[(&str, Feed<'_, f64>)]) -> Vec<Vec<f64>> {
    let parameters = filled(network);
    let mut program = Program::new(&network.graph, Mode::Infer, outputs, 1, &Cpu::new().unwrap()).unwrap();
    program.run(&parameters, feeds).unwrap();
    (0..outputs.len()).map(|i| program.output(&parameters, 0, i).to_vec()).collect()
}

/// The last node of a part of the network.
fn end_of(network: &Network, part: &str) -> Id {
    let of_part = |id: &Id| network.graph.scope_of(*id).starts_with(part);
    network.graph.nodes().map(|(id, _)| id).filter(of_part).last().unwrap()
}

#[test]
fn the_golden_forward_pass() {
    assert_eq!(count(small(), 3), 3177);
    let network = small().build(SHAPE.batch(2)).unwrap();
    let x = input(2, 3, 256);
    let values = ["subject_latents", "task_latents"].map(|name| network.value(name).unwrap());
    let parts = ["encoder_in", "encoder.1", "encoder_attention", "shared"].map(|p| end_of(&network, p));
    let outputs: Vec<Id> = parts.into_iter().chain(values).collect();
    let got = run(&network, &outputs, &[("x", Feed::Each(&x))]);
    let parts = [
        [0.8792322474, 1.014596131, 0.9629157368],
        [-2.532196041, -2.328770925, -1.596619774],
        [-0.6926022597, -0.6767740645, -0.7100507347],
        [-1.077987447, -0.8454221798, -0.9172968551],
    ];
    for (i, expected) in parts.iter().enumerate() {
        all_close(&format!("part {i}"), &got[i][..3], expected, 1e-8);
    }
    let (s, t) = (&got[4], &got[5]);
    assert_eq!((s.len(), t.len()), (2 * 2 * 64, 2 * 2 * 64));
    all_close("s", &s[..4], &[0.03987103756, 0.292206893, 0.151741543, 0.224153152], 1e-8);
    all_close("t", &t[..3], &[-0.07624518039, -0.09055128813, -0.1081099637], 1e-8);
    all_close("t", &t[t.len() - 3..], &[0.9869117438, 0.02672359712, -0.1577810449], 1e-8);

    let rendered = network.value("rendered").unwrap();
    let render = |s: &[f64], t: &[f64]| {
        let feeds = [("subject_latents", Feed::Each(s)), ("task_latents", Feed::Each(t))];
        run(&network, &[rendered], &feeds).remove(0)
    };
    let y = render(s, t);
    all_close("y", &y[..4], &[-0.2020237107, 0.4830523365, 0.3537058733, 0.4389757563], 1e-8);
    let distance = x.iter().zip(&y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>() / x.len() as f64;
    close("distance", distance, 0.6771890273, 1e-8);

    // The other's latents in place of one's own make a difference; exchanged twice they are one's own again.
    let swapped = |x: &[f64]| [&x[x.len() / 2..], &x[..x.len() / 2]].concat();
    let other = render(&swapped(s), t);
    assert!(other.iter().zip(&y).any(|(a, b)| (a - b).abs() > 1e-3));
    assert_eq!(render(&swapped(&swapped(s)), &swapped(&swapped(t))), y);
}

/// Losses of a step, by name.
fn losses(config: CslpAe, x: &[f64], parameters: impl Fn(&Network) -> Parameters<f64>) -> Vec<(String, f64)> {
    let batch = config.batch(2, 2);
    assert_eq!(x.len(), batch * 3 * 256);
    let network = config.build_for_training(SHAPE.batch(batch)).unwrap();
    let parameters = parameters(&network);
    let mut step =
        Step::new(&network.graph, &network.step(Adam::default()), 1, &Cpu::new().unwrap()).unwrap();
    let labels: Vec<u32> = (0..batch as u32).map(|i| i % 2).collect();
    let feeds = [("x", Feed::Each(x)), ("task", Feed::Labels(&labels)), ("subject", Feed::Labels(&labels))];
    step.backward(&parameters, &feeds, &[true]).unwrap();
    let names = network.losses.iter().map(|(name, _)| name.to_string());
    let mut all: Vec<_> =
        names.enumerate().map(|(i, name)| (name, step.output(&parameters, 0, i + 1)[0])).collect();
    let total = step.output(&parameters, 0, 0)[0];
    close("total", total, all.iter().map(|(_, l)| l).sum(), 1e-12);
    all.push(("total".into(), total));
    all
}

fn loss(all: &[(String, f64)], name: &str) -> f64 {
    all.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name} in {all:?}")).1
}

#[test]
fn the_golden_losses_of_exchanged_latents() {
    let x = input(2, 3, 256);
    let second: Vec<f64> = x.iter().map(|x| 0.8 * x + 0.1).collect();
    // Both kinds of pairs are the same trials.
    let batch = [&x[..], &second, &x, &second].concat();
    let all = losses(small(), &batch, filled);
    close("LP_s", loss(&all, "subject_permutation"), 0.5658166881, 1e-8);
    close("LP_t", loss(&all, "task_permutation"), 0.5639523569, 1e-8);
    assert_eq!(all.len(), 6, "{all:?}");
    let joint = losses(CslpAe { readout: Readout::Joint, ..small() }, &batch, filled);
    assert!(loss(&joint, "subject").is_finite() && joint.len() == 7);
}

#[test]
fn a_pair_of_equal_trials_is_plainly_reconstructed() {
    let x = input(2, 3, 256);
    let batch = [&x[..], &x, &x, &x].concat();
    let (exchanged, plain) =
        (losses(small(), &batch, filled), losses(CslpAe { permute: false, ..small() }, &batch, filled));
    for name in ["subject_permutation", "task_permutation"] {
        close(name, loss(&exchanged, name), 0.6771890273, 1e-8);
        close(name, loss(&exchanged, name), loss(&plain, name), 1e-12);
    }
    let none = losses(CslpAe { contrast: false, ..small() }, &batch, filled);
    assert!(none.iter().all(|(name, _)| !name.contains("contrast")), "{none:?}");
}

/// Trials of another length get zeros that no loss asks for and nothing renders.
#[test]
fn lengths_that_cannot_be_halved_are_filled_up() {
    let shape = TrialShape { time: 254, ..SHAPE };
    let network = small().build(shape.batch(2)).unwrap();
    assert_eq!(network.graph.shape(network.value("rendered").unwrap()), [2, 3, 254]);
    assert_eq!(network.graph.shape(network.value("task_latents").unwrap()), [2, 2, 64]);
    let short = TrialShape { time: 4, ..SHAPE };
    let error = small().build(short.batch(2)).unwrap_err().to_string();
    assert!(error.contains("at least 5 samples, got 4"), "{error}");
    assert!(small().build(TrialShape { time: 5, ..SHAPE }.batch(2)).is_ok());
    let deep = CslpAe { levels: 90, ..small() };
    assert!(deep.build(SHAPE.batch(2)).unwrap_err().to_string().contains("levels"));
}

/// What a network is for is said, not guessed from its batch.
#[test]
fn a_training_step_is_requested_by_name() {
    let batch = small().batch(2, 2);
    let model = small();
    let (reads, learns) =
        (model.build(SHAPE.batch(batch)).unwrap(), model.build_for_training(SHAPE.batch(batch)).unwrap());
    assert!(reads.value("rendered").is_some() && reads.value("task_contrast").is_none());
    assert!(learns.value("rendered").is_none() && learns.value("task_contrast").is_some());
    for (shape, batch) in [(SHAPE, batch + 1), (TrialShape { subjects: 0, ..SHAPE }, batch)] {
        let error = model.build_for_training(shape.batch(batch)).unwrap_err().to_string();
        assert!(error.contains("a training step of CSLP-AE takes"), "{error}");
    }
}

/// Heads learn from the half of a step in which what they tell is there equally often.
#[test]
fn heads_learn_from_pairs_of_their_own_kind() {
    let x = input(2, 3, 256);
    let other: Vec<f64> = x.iter().rev().copied().collect();
    let joint = || CslpAe { readout: Readout::Joint, ..small() };
    let all = losses(joint(), &[&x[..], &x, &x, &x].concat(), filled);
    let swapped_subjects = losses(joint(), &[&other[..], &other, &x, &x].concat(), filled);
    let tasks = losses(joint(), &[&x[..], &x, &other, &other].concat(), filled);
    close("task", loss(&swapped_subjects, "task"), loss(&all, "task"), 1e-12);
    close("subject", loss(&tasks, "subject"), loss(&all, "subject"), 1e-12);
    assert!((loss(&tasks, "task") - loss(&all, "task")).abs() > 1e-6);
    assert!((loss(&swapped_subjects, "subject") - loss(&all, "subject")).abs() > 1e-6);
}

fn contrast(first: &[f64], second: &[f64], groups: usize) -> [f64; 2] {
    let mut g = Graph::new();
    let shape = [groups, 4, 3];
    let (a, b) = (g.input("a", &shape).unwrap(), g.input("b", &shape).unwrap());
    let labels = g.labels("labels", &[groups * 4], 4).unwrap();
    let scale = g.parameter("scale", &[], Init::Constant((1.0f64 / 0.07).ln())).unwrap();
    let both = contrasts(&mut g, a, b, labels, scale).unwrap();
    let parameters = Parameters::<f64>::new(&g, &[0]).unwrap();
    let places: Vec<u32> = (0..groups as u32 * 4).map(|i| i % 4).collect();
    let mut program = Program::new(&g, Mode::Infer, &both, 1, &Cpu::new().unwrap()).unwrap();
    let feeds = [("a", Feed::Each(first)), ("b", Feed::Each(second)), ("labels", Feed::Labels(&places))];
    program.run(&parameters, &feeds).unwrap();
    [0, 1].map(|i| program.output(&parameters, 0, i)[0])
}

#[test]
fn the_golden_contrasts() {
    // PyTorch's cross-entropy takes the second axis for the classes: the columns of one group, the rows of several.
    for (groups, expected) in [(1, [6.636789915, 1.214290197]), (2, [4.030572640, 6.475444946])] {
        let n = groups * 12;
        let got = contrast(&fill(n, 1, 1.0), &fill(n, 2, 1.0), groups);
        all_close(&format!("{groups} groups"), &got, &expected, 1e-8);
    }
    // Who all look the same cannot be told apart; nothing at all is no reason to fail.
    for value in [0.7, 0.0] {
        let same = vec![value; 24];
        all_close("equal", &contrast(&same, &same, 2), &[4f64.ln(); 2], 1e-12);
    }
}

//! Optimizers against steps computed by hand, gradients clipped, and losses that share tensors.

use ptsm_engine::{
    Adam, Cpu, Decay, Feed, Graph, Id, Init, Isa, Mode, Objective, Parameters, Sgd, Step, StepSpec,
};

use crate::common::{Random, cpu};
use crate::tensor_bits;

/// `sum(c * (w - t)^2)` for two tensors, so that gradients are known without the engine.
struct Bowl {
    graph: Graph,
    losses: [Id; 2],
}

const LENGTHS: [usize; 2] = [5, 3];

fn bowl() -> Bowl {
    let mut graph = Graph::new();
    let losses = [0, 1].map(|i| {
        let w = graph.parameter(&format!("w{i}"), &[LENGTHS[i]], Init::Uniform(1.0)).unwrap();
        let t = graph.input(&format!("t{i}"), &[LENGTHS[i]]).unwrap();
        let c = graph.input(&format!("c{i}"), &[LENGTHS[i]]).unwrap();
        let d = graph.sub(w, t).unwrap();
        let d = graph.square(d).unwrap();
        let d = graph.mul(d, c).unwrap();
        graph.sum(d).unwrap()
    });
    Bowl { graph, losses }
}

/// Adam for one number at a time, as in the papers, with the conventions of PyTorch.
#[derive(Clone, Default)]
struct Scalar {
    m: f64,
    v: f64,
}

impl Scalar {
    fn update(&mut self, adam: Adam, step: i32, rate: f64, w: f64, gradient: f64) -> f64 {
        let (mut w, mut g) = (w, gradient);
        match adam.decay {
            Decay::None => {}
            Decay::Gradient(l2) => g += l2 * w,
            Decay::Decoupled(decay) => w -= rate * decay * w,
        }
        let (b1, b2) = adam.betas;
        self.m = b1 * self.m + (1.0 - b1) * g;
        self.v = b2 * self.v + (1.0 - b2) * g * g;
        let (m, v) = (self.m / (1.0 - b1.powi(step)), self.v / (1.0 - b2.powi(step)));
        w - rate * m / (v.sqrt() + adam.eps)
    }
}

fn compare_with_scalar_adam(adam: Adam) {
    compare_with_scalar_adam_of(adam, [adam.betas.0; 3]);
}

/// With another first beta at each step.
fn compare_with_scalar_adam_of(mut adam: Adam, first_betas: [f64; 3]) {
    let Bowl { mut graph, losses } = bowl();
    let loss = graph.add(losses[0], losses[1]).unwrap();
    let objectives = vec![Objective::new(&graph, loss, |_| true)];
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: adam.into() };
    let mut step = Step::<f64>::new(&graph, &spec, 1, cpu()).unwrap();
    let mut parameters = Parameters::<f64>::new(&graph, &[4]).unwrap();
    let read = |p: &Parameters<f64>| [p.get(0, "w0").unwrap(), p.get(0, "w1").unwrap()].concat();
    let mut random = Random::new(9);
    let mut own = read(&parameters);
    let mut states = vec![Scalar::default(); own.len()];
    for (i, rate) in [1e-2, 5e-2, 1e-3].into_iter().enumerate() {
        let (t, c) = (random.reals(8), random.reals(8));
        let (t, c) = (t.split_at(LENGTHS[0]), c.split_at(LENGTHS[0]));
        let feeds = [("t0", t.0), ("c0", c.0), ("t1", t.1), ("c1", c.1)].map(|(n, v)| (n, Feed::Shared(v)));
        adam.betas.0 = first_betas[i];
        step.set_first_beta(0, first_betas[i]).unwrap();
        step.run(&mut parameters, &feeds, &[rate], &[true]).unwrap();
        let (t, c) = ([t.0, t.1].concat(), [c.0, c.1].concat());
        let mut gradient: Vec<f64> = (0..8).map(|j| 2.0 * c[j] * (own[j] - t[j])).collect();
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        assert!((step.gradient_norm(0) - norm).abs() < 1e-12, "the norm is the one before clipping");
        if let Some(most) = adam.clip {
            let factor = (most / (norm + 1e-6)).min(1.0);
            gradient.iter_mut().for_each(|g| *g *= factor);
        }
        for (j, state) in states.iter_mut().enumerate() {
            own[j] = state.update(adam, i as i32 + 1, rate, own[j], gradient[j]);
        }
        let theirs = read(&parameters);
        for (own, theirs) in own.iter().zip(&theirs) {
            assert!((own - theirs).abs() < 1e-14, "{adam:?}, step {i}: {own} {theirs}");
        }
    }
}

#[test]
fn adam_equals_a_scalar_one() {
    let plain = Adam::default();
    compare_with_scalar_adam(plain);
    compare_with_scalar_adam(Adam { betas: (0.5, 0.9), eps: 1e-3, ..plain });
    compare_with_scalar_adam_of(plain, [0.95, 0.85, 0.9]);
    compare_with_scalar_adam(Adam { decay: Decay::Gradient(0.1), ..plain });
    compare_with_scalar_adam(Adam { decay: Decay::Decoupled(0.3), ..plain });
}

/// `0.5 * w^2` for each of so many weights that start at 1, so that the gradient is the weight, and one weight after each of three steps.
fn three_steps_of_sgd(sgd: Sgd, weights: usize, device: &Cpu) -> [f64; 3] {
    let mut graph = Graph::new();
    let w = graph.parameter("w", &[weights], Init::Constant(1.0)).unwrap();
    let square = graph.square(w).unwrap();
    let loss = graph.sum(square).unwrap();
    let loss = graph.scale(loss, 0.5).unwrap();
    let objectives = vec![Objective::new(&graph, loss, |_| true)];
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: sgd.into() };
    let mut step = Step::<f64>::new(&graph, &spec, 1, device).unwrap();
    let mut parameters = Parameters::<f64>::new(&graph, &[4]).unwrap();
    [0, 1, 2].map(|i| {
        // A checkpoint has all that the next step needs.
        let checkpoint = step.checkpoint(0).unwrap();
        assert_eq!(checkpoint.moments[0].each_ref().map(Vec::len), [weights, 0], "one state tensor");
        step.reset(0).unwrap();
        step.restore(0, &checkpoint).unwrap();
        step.run(&mut parameters, &[], &[0.1], &[true]).unwrap();
        assert_eq!(step.checkpoint(0).unwrap().steps, i + 1);
        let moved = parameters.get(0, "w").unwrap();
        assert!(moved.iter().all(|w| *w == moved[0]), "all weights are moved");
        moved[0]
    })
}

/// By hand, at a learning rate of 0.1.
#[test]
fn sgd_makes_the_steps_that_a_hand_computes() {
    let plain = Sgd { momentum: 0.0, ..Sgd::default() };
    let clipped = 0.5 / (1.0 + 1e-6);
    for (sgd, weights, expected) in [
        (plain, 40_000, [0.9, 0.81, 0.729]),
        // b = 1, 1.8, 2.34
        (Sgd::default(), 40_000, [0.9, 0.72, 0.486]),
        // b = 1, 1.71, 2.1141; the step is g + 0.9 b
        (Sgd { nesterov: true, ..Sgd::default() }, 40_000, [0.81, 0.5751, 0.327_321]),
        (Sgd { decay: Decay::Gradient(0.5), ..plain }, 1, [0.85, 0.7225, 0.614_125]),
        (Sgd { decay: Decay::Decoupled(0.5), ..plain }, 1, [0.85, 0.7225, 0.614_125]),
        (Sgd { clip: Some(0.5), ..plain }, 1, [1.0 - 0.1 * clipped, 0.9, 0.85]),
    ] {
        for device in [cpu(), &Cpu::with(2, Isa::best()).unwrap()] {
            let found = three_steps_of_sgd(sgd, weights, device);
            for (own, by_hand) in found.iter().zip(expected) {
                assert!((own - by_hand).abs() < 2e-7, "{sgd:?}: {found:?} {expected:?}");
            }
        }
    }
}

#[test]
fn sgd_takes_another_momentum_and_refuses_a_wrong_one() {
    let sgd = Sgd { momentum: 1.5, ..Sgd::default() };
    let Bowl { graph, losses } = bowl();
    let objectives = vec![Objective::new(&graph, losses[0], |name| name == "w0")];
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: sgd.into() };
    let refused = Step::<f64>::new(&graph, &spec, 1, cpu()).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("SGD") && refused.contains("momentum") && refused.contains("1.5"), "{refused}");
    let spec = StepSpec { optimizer: Sgd::default().into(), ..spec };
    let mut step = Step::<f64>::new(&graph, &spec, 1, cpu()).unwrap();
    step.set_first_beta(0, 0.5).unwrap();
    assert!(step.set_first_beta(0, 1.0).is_err());
}

/// An output that is itself a tensor is seen as the step has left it; it can be read whatever becomes of the parameters.
#[test]
fn a_tensor_can_be_an_output() {
    let Bowl { mut graph, losses } = bowl();
    let w = graph.parameter("shown", &[2], Init::Constant(3.0)).unwrap();
    let square = graph.square(w).unwrap();
    let sum = graph.sum(square).unwrap();
    let loss = graph.add(losses[0], sum).unwrap();
    let objectives = vec![Objective::new(&graph, loss, |_| true)];
    let optimizer = Sgd { momentum: 0.0, ..Sgd::default() }.into();
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![w, sum], optimizer };
    let mut step = Step::<f64>::new(&graph, &spec, 2, cpu()).unwrap();
    let mut parameters = Parameters::<f64>::new(&graph, &[4, 5]).unwrap();
    let (zeros, ones) = ([0.0; 5], [1.0; 5]);
    let feeds = [("t0", Feed::Shared(&zeros[..])), ("c0", Feed::Shared(&ones))];
    step.backward(&parameters, &feeds, &[true, true]).unwrap();
    assert_eq!(step.output(&parameters, 0, 0), [3.0, 3.0]);
    step.update(&mut parameters, &[0.25, 0.25], &[true, false]).unwrap();
    assert_eq!(step.output(&parameters, 0, 0), [1.5, 1.5]);
    assert_eq!(step.output(&parameters, 1, 0), [3.0, 3.0]);
    // Other outputs are as they were before the update.
    assert_eq!(step.output(&parameters, 0, 1), [18.0]);
}

#[test]
fn clipping_equals_a_scalar_one() {
    let plain = Adam { eps: 1e-2, ..Adam::default() };
    // Far below the norm, so that it bites; far above, so that it does not.
    for most in [0.05, 1.0, 1e3] {
        compare_with_scalar_adam(Adam { clip: Some(most), ..plain });
        compare_with_scalar_adam(Adam { clip: Some(most), decay: Decay::Gradient(0.1), ..plain });
        compare_with_scalar_adam(Adam { clip: Some(most), decay: Decay::Decoupled(0.1), ..plain });
    }
}

/// Gradients of both tensors for some objectives.
fn gradients_of(graph: &Graph, objectives: Vec<Objective>) -> [Option<Vec<f64>>; 2] {
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: Adam::default().into() };
    let mut step = Step::<f64>::new(graph, &spec, 1, cpu()).unwrap();
    let parameters = Parameters::<f64>::new(graph, &[4]).unwrap();
    let (t, c) = ([0.3, -0.2, 0.9, 0.1, 0.7], [1.0, 2.0, 0.5, -1.0, 3.0]);
    let feeds = [("t0", &t[..]), ("c0", &c[..]), ("t1", &t[..3]), ("c1", &c[..3])];
    let feeds = feeds.map(|(n, v)| (n, Feed::Shared(v)));
    let sides = spec.objectives.iter().any(|o| o.tensors.contains(&1));
    step.backward(&parameters, &feeds[..if sides { 4 } else { 2 }], &[true]).unwrap();
    ["w0", "w1"].map(|name| step.gradient(&parameters, 0, name).unwrap().map(<[f64]>::to_vec))
}

#[test]
fn two_objectives_on_one_tensor_give_the_sum_of_their_gradients() {
    let Bowl { mut graph, losses } = bowl();
    // w0 is pulled by its own bowl and by the product of both.
    let product = graph.mul(losses[0], losses[1]).unwrap();
    let all = |_: &str| true;
    let own = || Objective::new(&graph, losses[0], |name| name == "w0");
    let both = || Objective::new(&graph, product, all);
    let ([a, nothing], [b, b1]) = (gradients_of(&graph, vec![own()]), gradients_of(&graph, vec![both()]));
    assert_eq!(nothing, None);
    let [sum, sum1] = gradients_of(&graph, vec![own(), both()]);
    let (a, b, sum) = (a.unwrap(), b.unwrap(), sum.unwrap());
    assert!(
        a.iter().zip(&b).zip(&sum).all(|((a, b), sum)| (a + b - sum).abs() < 1e-13),
        "{a:?} {b:?} {sum:?}"
    );
    assert_eq!(sum1, b1, "a tensor named once has one gradient");
    let [other, _] = gradients_of(&graph, vec![both(), own()]);
    assert!(other.unwrap().iter().zip(&sum).all(|(a, b)| (a - b).abs() < 1e-13));
}

#[test]
fn a_tensor_that_no_loss_reaches_stays_where_it_is() {
    let Bowl { graph, losses } = bowl();
    let objectives = vec![Objective::new(&graph, losses[0], |_| true)];
    let adam = Adam { decay: Decay::Decoupled(0.5), ..Adam::default() };
    let spec = StepSpec { mode: Mode::Train, objectives, outputs: vec![], optimizer: adam.into() };
    let mut step = Step::<f64>::new(&graph, &spec, 1, cpu()).unwrap();
    let mut parameters = Parameters::<f64>::new(&graph, &[4]).unwrap();
    let before = parameters.clone();
    let feeds = [("t0", Feed::Shared(&[0.5; 5][..])), ("c0", Feed::Shared(&[1.0; 5][..]))];
    step.run(&mut parameters, &feeds, &[0.1], &[true]).unwrap();
    assert_eq!(step.gradient(&parameters, 0, "w1").unwrap(), None);
    assert_eq!(tensor_bits(&before, 0, "w1"), tensor_bits(&parameters, 0, "w1"));
    assert_ne!(tensor_bits(&before, 0, "w0"), tensor_bits(&parameters, 0, "w0"));
}

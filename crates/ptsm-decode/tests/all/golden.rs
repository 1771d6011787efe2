//! Golden numbers of the specifications: f64 to 1e-8, f32 to 1e-4.

use crate::common::{
    all_close, close, fill, golden_ptsm, input, narrow, norm, ptsm_names, ptsm_parameters, set_all,
};
use ptsm_decode::deepconvnet::DeepConvNet;
use ptsm_decode::eegconformer::EegConformer;
use ptsm_decode::eegnet::EegNet;
use ptsm_decode::losses::{self, Mask};
use ptsm_decode::ptsm::{Fusion, PoolPlacement, Ptsm};
use ptsm_decode::registry::find;
use ptsm_decode::shallowconvnet::ShallowConvNet;
use ptsm_decode::{Architecture, Network, TrialShape};
use ptsm_engine::{
    Adam, Cpu, Feed, Graph, Id, Isa, Mode, Objective, Parameters, Program, Real, Step, StepSpec,
};
use ptsm_signal::{Channel, Layout};
use serde::de::DeserializeOwned;

fn shape(channels: usize, time: usize, classes: usize, subjects: usize) -> TrialShape {
    TrialShape { channels, time, classes, subjects }
}

/// The network that a decoder has for trials at a sampling rate when nobody changes anything.
fn shipped<N: DeserializeOwned>(decoder: &str, shape: TrialShape, rate_hz: f64) -> N {
    let names = |letter: char, n: usize| (0..n).map(move |i| format!("{letter}{i}"));
    let layout = Layout {
        channels: names('X', shape.channels).map(|name| Channel::named(&name)).collect(),
        samples: shape.time,
        rate_hz,
        start_s: 0.0,
        classes: names('k', shape.classes).collect(),
        task: Default::default(),
    };
    let settings = find(decoder).unwrap().defaults(&layout).unwrap();
    serde_json::from_value(settings["network"].clone()).unwrap()
}

#[test]
fn parameter_counts() {
    fn count(network: impl Architecture, shape: TrialShape) -> usize {
        network.build(shape.batch(2)).unwrap().graph.parameter_count()
    }
    assert_eq!(count(Ptsm::default(), shape(62, 1000, 2, 53)), 670_167);
    let fixed = Ptsm { fusion: Fusion::Fixed { time: 0.5, space: 0.5 }, ..Ptsm::default() };
    assert_eq!(count(fixed, shape(62, 1000, 2, 53)), 670_165);
    assert_eq!(count(Ptsm::default(), shape(64, 640, 2, 84)), 673_210);
    assert_eq!(count(golden_ptsm(PoolPlacement::Last), shape(3, 32, 2, 2)), 1430);
    let eegnet = |f: fn(&mut EegNet)| {
        let mut c = EegNet::default();
        f(&mut c);
        c
    };
    let ships = |s: TrialShape, rate_hz: f64| count(shipped::<EegNet>("eegnet", s, rate_hz), s);
    assert_eq!(ships(shape(64, 128, 2, 1), 128.0), 2258);
    assert_eq!(count(eegnet(|c| c.kernel = 32), shape(22, 256, 4, 1)), 1716);
    assert_eq!(ships(shape(22, 512, 4, 1), 128.0), 2484);
    assert_eq!(ships(shape(62, 512, 2, 1), 128.0), 2610);
    assert_eq!(ships(shape(62, 1000, 2, 1), 250.0), 3066);
    assert_eq!(count(eegnet(|c| (c.filters, c.pointwise) = (4, 8)), shape(64, 128, 2, 1)), 1066);
    assert_eq!(count(DeepConvNet::default(), shape(22, 1000, 4, 1)), 282_879);
    assert_eq!(count(DeepConvNet::default(), shape(62, 1000, 2, 1)), 305_077);
    assert_eq!(count(DeepConvNet::default(), shape(64, 640, 2, 1)), 304_727);
    assert_eq!(count(DeepConvNet::default(), shape(22, 1125, 4, 1)), 284_479);
    // The Keras form for 128 Hz has 174 127, of which 375 are biases that the batch norms behind them cancel.
    let s = shape(64, 128, 2, 1);
    assert_eq!(count(shipped::<DeepConvNet>("deepconvnet-short", s, 128.0), s), 174_127 - 375);
    let s = shape(22, 1000, 4, 1);
    assert_eq!(count(shipped::<DeepConvNet>("deepconvnet", s, 250.0), s), 282_879);
    assert_eq!(count(ShallowConvNet::default(), shape(22, 1000, 4, 1)), 46_084);
    assert_eq!(count(ShallowConvNet::default(), shape(62, 1000, 2, 1)), 105_202);
    assert_eq!(count(EegConformer::default(), shape(22, 1000, 4, 1)), 789_572);
    assert_eq!(count(EegConformer::default(), shape(62, 1000, 2, 1)), 853_506);
}

/// The parts of the share that personal masks alone tune.
#[test]
fn few_shot_adaptation_changes_the_personal_masks_alone() {
    let mut network = Ptsm::default().build(shape(62, 1000, 2, 53).batch(2)).unwrap();
    let (spec, names) = network.adaptation_step(Adam::default(), false).unwrap();
    assert!(names.iter().all(|name| name.starts_with("personal.")), "{names:?}");
    let tuned: usize = spec.objectives[0].tensors.iter().map(|&t| network.graph.tensors()[t].len()).sum();
    assert_eq!(tuned, 11_135);
}

fn sigmoid(x: Vec<f64>) -> Vec<f64> {
    x.into_iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect()
}

fn losses_in<T: Real>(tolerance: f64) {
    let scaled = |mut t: Vec<f64>| {
        t.iter_mut().enumerate().for_each(|(i, v)| *v *= 1.0 + 0.1 * (i / 3) as f64);
        t
    };
    for factor in [1.0, 10.0] {
        let t: Vec<f64> = scaled(fill(18, 1, 1.0)).iter().map(|v| v * factor).collect();
        let s: Vec<f64> = fill(18, 2, 0.8).iter().map(|v| (v + 0.1) * factor).collect();
        let mut g = Graph::new();
        let named: Vec<(&str, Vec<usize>, Vec<f64>)> = vec![
            ("t", vec![6, 3], t),
            ("s", vec![6, 3], s),
            ("ps", vec![6, 4], sigmoid(fill(24, 3, 2.0))),
            ("pt", vec![6, 5], sigmoid(fill(30, 4, 2.0))),
            ("cs", vec![6, 4], sigmoid(fill(24, 5, 2.0))),
            ("ct", vec![6, 5], sigmoid(fill(30, 6, 2.0))),
        ];
        let ids: Vec<Id> = named.iter().map(|(n, shape, _)| g.input(n, shape).unwrap()).collect();
        let y = g.labels("y", &[6], 2).unwrap();
        let subjects = g.labels("who", &[6], 3).unwrap();
        let [t, s, ps, pt, cs, ct] = ids[..] else { unreachable!() };
        let (p, c) = (Mask { space: ps, time: pt }, Mask { space: cs, time: ct });
        let both = |g: &mut Graph, f: &dyn Fn(&mut Graph, Mask) -> ptsm_engine::Result<Id>| {
            let (a, b) = (f(g, p).unwrap(), f(g, c).unwrap());
            g.add(a, b).unwrap()
        };
        // cos(M^p, M^c) with the outer products formed
        let outer = |g: &mut Graph, m: Mask| {
            let time = g.reshape(m.time, &[6, 5, 1]).unwrap();
            let space = g.reshape(m.space, &[6, 1, 4]).unwrap();
            let full = g.mul(time, space).unwrap();
            g.flatten(full).unwrap()
        };
        let (full_p, full_c) = (outer(&mut g, p), outer(&mut g, c));
        let cosine = g.cosine(full_p, full_c).unwrap();
        let mut expected = vec![
            ("full L_sim", g.mean(cosine).unwrap(), 0.9517020251),
            ("L_sim", losses::similarity(&mut g, p, c).unwrap(), 0.9517020251),
            ("L_sparse literal", both(&mut g, &|g, m| losses::mask_sparsity(g, m, true)), 8.585041318),
            ("L_sparse", both(&mut g, &|g, m| losses::mask_sparsity(g, m, false)), 0.4292520659),
            ("L_size", both(&mut g, &|g, m| losses::mask_size(g, m, 0.5)), 0.6423357333),
            ("L_orth", losses::orthogonality(&mut g, t, s).unwrap(), 0.7416940197),
            ("L_cov", losses::decorrelation(&mut g, t, s, false).unwrap(), 0.8265842430),
            ("contrast 0.5", g.nt_xent(t, y, 0.5).unwrap(), 1.713137282),
            ("contrast 0.1", g.nt_xent(t, y, 0.1).unwrap(), 2.652301892),
            ("contrast subject", g.nt_xent(s, subjects, 0.5).unwrap(), 0.8151542140),
        ];
        let literal = losses::decorrelation(&mut g, t, s, true).unwrap();
        expected.push(("L_cov literal", literal, if factor == 1.0 { 1.316662132 } else { 0.01316662132 }));
        if factor == 1.0 {
            expected.extend([
                ("L_info literal", losses::retention(&mut g, t, s, true).unwrap(), -1.291353998),
                ("L_info", losses::retention(&mut g, t, s, false).unwrap(), -0.4304513327),
                ("L_sparse' literal", losses::feature_sparsity(&mut g, t, s, true).unwrap(), 22.10614110),
                ("L_sparse'", losses::feature_sparsity(&mut g, t, s, false).unwrap(), 1.228118950),
            ]);
        }
        let outputs: Vec<Id> = expected.iter().map(|(_, id, _)| *id).collect();
        let cpu = Cpu::new().unwrap();
        let mut program = Program::<T>::new(&g, Mode::Train, &outputs, 1, &cpu).unwrap();
        let parameters = Parameters::new(&g, &[0]).unwrap();
        let values: Vec<(&str, Vec<T>)> = named.iter().map(|(n, _, v)| (*n, narrow(v))).collect();
        let mut feeds: Vec<(&str, Feed<T>)> = values.iter().map(|(n, v)| (*n, Feed::Each(v))).collect();
        feeds.push(("y", Feed::Labels(&[0, 1, 0, 1, 0, 1])));
        feeds.push(("who", Feed::Labels(&[0, 0, 1, 1, 2, 2])));
        program.run(&parameters, &feeds).unwrap();
        for (i, (name, _, value)) in expected.iter().enumerate() {
            close(name, program.output(&parameters, 0, i)[0].wide(), *value, tolerance);
        }
    }
}

#[test]
fn losses_f64() {
    losses_in::<f64>(1e-8);
}

#[test]
fn losses_f32() {
    losses_in::<f32>(1e-4);
}

const Y: Feed<'static, f64> = Feed::Labels(&[0, 1, 0, 1]);

fn labels<T>(feed: Feed<'static, f64>) -> Feed<'static, T> {
    match feed {
        Feed::Labels(l) => Feed::Labels(l),
        _ => unreachable!(),
    }
}

fn values<T: Real>(network: &Network, parameters: &Parameters<T>, names: &[&str], isa: Isa) -> Vec<Vec<T>> {
    let ids: Vec<Id> =
        std::iter::once(network.logits).chain(names.iter().map(|n| network.value(n).unwrap())).collect();
    let cpu = Cpu::with(2, isa).unwrap();
    let mut program = Program::new(&network.graph, Mode::Infer, &ids, 1, &cpu).unwrap();
    let x = narrow::<T>(&input(4, 3, 32));
    let mut feeds = vec![("x", Feed::Each(&x[..]))];
    if names.iter().any(|n| ["task", "subject"].contains(n)) {
        feeds.push(("task", labels(Y)));
    }
    program.run(parameters, &feeds).unwrap();
    (0..ids.len()).map(|i| program.output(parameters, 0, i).to_vec()).collect()
}

fn ptsm_in<T: Real>(tolerance: f64, isa: Isa) {
    let s = shape(3, 32, 2, 2);
    let network = golden_ptsm(PoolPlacement::Last).build(s.batch(4)).unwrap();
    let parameters = ptsm_parameters::<T>(&network);
    let names = ["mask.personal.space", "mask.personal.time", "subject_logits", "task_features"];
    let v = values(&network, &parameters, &names, isa);
    let logits = [
        0.07661742641,
        0.1237661217,
        0.07662029778,
        0.1237765467,
        0.07662386944,
        0.1237898254,
        0.07662875318,
        0.1238081522,
    ];
    all_close("eval logits", &v[0], &logits, tolerance);
    all_close("M_s^p", &v[1][..3], &[0.5490856496, 0.4274610248, 0.3504450586], tolerance);
    all_close("M_t^p", &v[2][..4], &[0.6688815285, 0.7109479091, 0.7622334631, 0.8176971565], tolerance);
    all_close("subject logits", &v[3][..2], &[1.519136576, 0.734077966], tolerance);
    let features = [0.5629264711, 0.3591055372, 0.1905198234, 0.2586143056, 0.5289285222, 0.7645750115];
    all_close("f_task", &v[4][..6], &features, tolerance);

    let logits = [
        0.04710986132,
        0.09105286834,
        0.0584440835,
        0.1001796498,
        0.04636078672,
        0.1011940246,
        0.05914906601,
        0.1182143038,
    ];
    let gradients = [
        ("personal.spatial.0.weight", 0.000875543393),
        ("personal.temporal.0.weight", 0.004207817322),
        ("fusion.time", 0.001305704367),
        ("fusion.space", 0.0003843310033),
        ("encoder.0.conv.weight", 0.04404978227),
        ("shared.0.weight", 0.3796032329),
        ("task.linear.weight", 0.107687481),
        ("subject.linear.weight", 0.2244330012),
        ("task_head.1.weight", 0.0305876825),
    ];
    ptsm_train::<T>(
        PoolPlacement::Last,
        isa,
        tolerance,
        Some(&logits),
        [0.6932118315, 0.7453193398],
        &gradients,
    );

    let network = golden_ptsm(PoolPlacement::Each).build(s.batch(4)).unwrap();
    let v = values(&network, &ptsm_parameters::<T>(&network), &[], isa);
    all_close("pool each", &v[0][..2], &[0.07660901531, 0.1237350724], tolerance);
    let gradient = [("encoder.0.conv.weight", 0.08775637105)];
    ptsm_train::<T>(PoolPlacement::Each, isa, tolerance, None, [0.6928453204, 0.7492313138], &gradient);
}

/// Train mode without dropout: logits, the two cross-entropies and gradient norms of their sum.
fn ptsm_train<T: Real>(
    pool: PoolPlacement,
    isa: Isa,
    tolerance: f64,
    logits: Option<&[f64]>,
    losses: [f64; 2],
    gradients: &[(&str, f64)],
) {
    let mut network = golden_ptsm(pool).build(shape(3, 32, 2, 2).batch(4)).unwrap();
    let parameters = ptsm_parameters::<T>(&network);
    let [task, subject] = ["task", "subject"].map(|n| network.value(n).unwrap());
    let sum = network.graph.add(task, subject).unwrap();
    let spec = StepSpec {
        mode: Mode::Train,
        objectives: vec![Objective::new(&network.graph, sum, |_| true)],
        outputs: vec![network.logits, task, subject],
        optimizer: Adam::default().into(),
    };
    let cpu = Cpu::with(2, isa).unwrap();
    let mut step = Step::<T>::new(&network.graph, &spec, 1, &cpu).unwrap();
    let x = narrow::<T>(&input(4, 3, 32));
    let feeds = [("x", Feed::Each(&x[..])), ("task", labels(Y)), ("subject", Feed::Labels(&[0, 0, 1, 1]))];
    step.backward(&parameters, &feeds, &[true]).unwrap();
    if let Some(logits) = logits {
        all_close("train logits", step.output(&parameters, 0, 0), logits, tolerance);
    }
    close("L_task", step.output(&parameters, 0, 1)[0].wide(), losses[0], tolerance);
    close("L_subj", step.output(&parameters, 0, 2)[0].wide(), losses[1], tolerance);
    for (name, expected) in gradients {
        close(name, norm(step.gradient(&parameters, 0, name).unwrap().unwrap()), *expected, tolerance);
    }
}

#[test]
fn ptsm_f64() {
    ptsm_in::<f64>(1e-8, Isa::best());
}

#[test]
fn ptsm_f32_on_every_path() {
    for isa in Isa::available() {
        ptsm_in::<f32>(1e-4, isa);
    }
}

/// Runs a plain classifier in both modes against golden logits, losses and gradient norms.
struct Classifier<'a> {
    model: Box<dyn Architecture>,
    shape: TrialShape,
    batch: usize,
    names: &'a [&'a str],
    scales: &'a [f64],
    eval: &'a [f64],
    eval_loss: f64,
    train: &'a [f64],
    train_loss: f64,
    gradients: &'a [(&'a str, f64)],
}

impl Classifier<'_> {
    fn check<T: Real>(&self, tolerance: f64, isa: Isa) {
        let network = self.model.build(self.shape.batch(self.batch)).unwrap();
        let mut parameters = Parameters::<T>::new(&network.graph, &[0]).unwrap();
        let names: Vec<String> = self.names.iter().map(|n| n.to_string()).collect();
        set_all(&network.graph, &mut parameters, &names, |k, _, n| fill(n, k, self.scales[k - 1]));
        let x = narrow::<T>(&input(self.batch, self.shape.channels, self.shape.time));
        let y: Vec<u32> = (0..self.batch as u32).collect();
        let feeds = [("x", Feed::Each(&x[..])), ("task", Feed::Labels(&y))];
        let cpu = Cpu::with(2, isa).unwrap();
        let ids = [network.logits, network.total];
        let mut eval = Program::new(&network.graph, Mode::Infer, &ids, 1, &cpu).unwrap();
        eval.run(&parameters, &feeds).unwrap();
        all_close("eval", eval.output(&parameters, 0, 0), self.eval, tolerance);
        close("eval loss", eval.output(&parameters, 0, 1)[0].wide(), self.eval_loss, tolerance);
        let spec = StepSpec { outputs: ids.to_vec(), ..network.step(Adam::default()) };
        let mut step = Step::new(&network.graph, &spec, 1, &cpu).unwrap();
        step.backward(&parameters, &feeds, &[true]).unwrap();
        all_close("train", step.output(&parameters, 0, 0), self.train, tolerance);
        close("train loss", step.output(&parameters, 0, 1)[0].wide(), self.train_loss, tolerance);
        for (name, expected) in self.gradients {
            let got = norm(step.gradient(&parameters, 0, name).unwrap().unwrap());
            if *expected == 0.0 {
                assert!(got < tolerance, "{name}: {got:e} should vanish");
            } else {
                close(name, got, *expected, tolerance);
            }
        }
    }
}

fn eegnet() -> Classifier<'static> {
    let shape = shape(4, 128, 3, 1);
    Classifier {
        model: Box::new(EegNet { dropout: 0.0, ..shipped("eegnet", shape, 128.0) }),
        shape,
        batch: 3,
        names: &crate::common::EEGNET_NAMES,
        scales: &[0.1, 0.1, 0.1, 0.1, 0.02, 0.1],
        eval: &[
            -0.06848349777,
            -0.05830429,
            -0.04730877803,
            -0.06845877155,
            -0.05832295719,
            -0.04731672868,
            -0.06843212956,
            -0.05834214466,
            -0.04732612756,
        ],
        eval_loss: 1.0986609290,
        train: &[
            -0.07942686153,
            -0.04411601398,
            -0.04911593003,
            -0.07422753715,
            -0.04951712617,
            -0.0494614606,
            -0.0716614541,
            -0.04912586577,
            -0.05237915593,
        ],
        train_loss: 1.1014626618,
        gradients: &[
            ("temporal.weight", 0.02325627351),
            ("temporal_norm.scale", 0.001238437464),
            ("temporal_norm.shift", 0.0),
            ("spatial.weight", 0.1081220815),
            ("spatial_norm.scale", 0.003911591186),
            ("spatial_norm.shift", 0.00334495083),
            ("depthwise.weight", 0.03052027087),
            ("pointwise.weight", 0.2319586741),
            ("separable_norm.scale", 0.01459417155),
            ("separable_norm.shift", 0.007780515274),
            ("classifier.weight", 0.707053681),
            ("classifier.bias", 0.007115579591),
        ],
    }
}

#[test]
fn eegnet_f64() {
    eegnet().check::<f64>(1e-8, Isa::best());
}

#[test]
fn eegnet_f32_on_every_path() {
    for isa in Isa::available() {
        eegnet().check::<f32>(1e-4, isa);
    }
}

fn deepconvnet() -> Classifier<'static> {
    let shape = shape(3, 500, 2, 1);
    Classifier {
        model: Box::new(DeepConvNet { dropout: 0.0, ..shipped("deepconvnet", shape, 250.0) }),
        shape,
        batch: 2,
        names: &[
            "temporal.weight",
            "temporal.bias",
            "spatial.weight",
            "conv2.weight",
            "conv3.weight",
            "conv4.weight",
            "head.weight",
            "head.bias",
        ],
        scales: &[0.1; 8],
        eval: &[0.08719830933, 0.09316182899, 0.0872026607, 0.09294866913],
        eval_loss: 0.6932058446,
        train: &[0.3098881246, 0.5622739047, 0.3858344872, 0.5608819607],
        train_loss: 0.7183650579,
        gradients: &[
            ("temporal.weight", 6.470003277),
            ("temporal.bias", 0.0),
            ("spatial.weight", 118.2638046),
            ("conv2.weight", 11.88160586),
            ("conv3.weight", 13.0200514),
            ("conv4.weight", 48.44669088),
            ("head.weight", 4.012102057),
            ("head.bias", 0.07524613207),
        ],
    }
}

#[test]
fn deepconvnet_f64() {
    deepconvnet().check::<f64>(1e-8, Isa::best());
}

#[test]
fn deepconvnet_f32_on_every_path() {
    for isa in Isa::available() {
        deepconvnet().check::<f32>(1e-4, isa);
    }
}

#[test]
fn deepconvnet_refuses_short_trials() {
    let build = |t| DeepConvNet::default().build(shape(3, t, 2, 1).batch(2));
    let message = build(440).unwrap_err().to_string();
    assert!(message.contains("441") && message.contains("440"), "{message}");
    assert!(message.contains("`deepconvnet-short`") && message.contains("network.kernel=5"), "{message}");
    assert!(build(441).is_ok());
    // The decoder takes no other form by itself, and the one it names takes these trials.
    let s = shape(3, 440, 2, 1);
    for decoder in ["deepconvnet", "deepconvnet-zhang", "deepconvnet-cropped"] {
        let error = shipped::<DeepConvNet>(decoder, s, 250.0).build(s.batch(2)).unwrap_err().to_string();
        assert!(error.contains("`deepconvnet-short`"), "{decoder}: {error}");
    }
    assert!(shipped::<DeepConvNet>("deepconvnet-short", s, 250.0).build(s.batch(2)).is_ok());
    // Long enough for a trial and not for windows.
    let s = shape(3, 520, 2, 1);
    let error =
        shipped::<DeepConvNet>("deepconvnet-cropped", s, 250.0).build(s.batch(2)).unwrap_err().to_string();
    assert!(error.contains("521") && error.contains("`deepconvnet-short`"), "{error}");
}

/// Section 8.4 of the specification.
#[test]
fn ptsm_invariants() {
    let s = shape(3, 32, 2, 2);
    let network = golden_ptsm(PoolPlacement::Last).build(s.batch(4)).unwrap();
    let parameters = ptsm_parameters::<f64>(&network);
    let names = [
        "mask.personal.space",
        "mask.common.space",
        "mask.space",
        "mask.personal.time",
        "mask.common.time",
        "mask.time",
    ];
    let v = values(&network, &parameters, &names, Isa::best());
    for masks in v[1..].chunks(3) {
        for ((p, c), m) in masks[0].iter().zip(&masks[1]).zip(&masks[2]) {
            assert!([p, c, m].iter().all(|v| **v > 0.0 && **v < 1.0));
            assert!(p.min(*c) <= *m && *m <= p.max(*c), "{m} is not between {p} and {c}");
        }
    }
    // a = b = 1: the common generators do not matter.
    let alone = Ptsm { fusion: Fusion::Fixed { time: 1.0, space: 1.0 }, ..golden_ptsm(PoolPlacement::Last) };
    let network = alone.build(s.batch(4)).unwrap();
    let mut parameters = ptsm_parameters::<f64>(&network);
    let before = values(&network, &parameters, &[], Isa::best());
    for name in ptsm_names().iter().filter(|n| n.starts_with("common.")) {
        let zeros = vec![0.0; parameters.get(0, name).unwrap().len()];
        parameters.set(0, name, &zeros).unwrap();
    }
    let after = values(&network, &parameters, &[], Isa::best());
    for (b, a) in before[0].iter().zip(&after[0]) {
        assert!((a - b).abs() < 1e-15);
    }
    // Nothing in, nothing through the masks.
    let cpu = Cpu::new().unwrap();
    let masked = network.value("masked").unwrap();
    let mut program = Program::new(&network.graph, Mode::Infer, &[masked], 1, &cpu).unwrap();
    program.run(&parameters, &[("x", Feed::Each(&[0.0; 4 * 3 * 32]))]).unwrap();
    assert!(program.output(&parameters, 0, 0).iter().all(|v| *v == 0.0));
}

fn shallowconvnet() -> Classifier<'static> {
    let shape = shape(3, 200, 2, 1);
    Classifier {
        model: Box::new(ShallowConvNet { dropout: 0.0, ..shipped("shallowconvnet", shape, 250.0) }),
        shape,
        batch: 2,
        names: &["temporal.weight", "temporal.bias", "spatial.weight", "head.weight", "head.bias"],
        scales: &[0.1, 0.1, 0.1, 0.02, 0.1],
        eval: &[-0.1412493246, 0.687156445, -0.1503601879, 0.6863669237],
        eval_loss: 0.7753219142,
        train: &[-0.09044612547, -0.1378391403, -0.082086264, -0.1181952298],
        train_loss: 0.6905480230,
        gradients: &[
            ("temporal.weight", 0.9673291084),
            ("temporal.bias", 0.0),
            ("spatial.weight", 2.685777962),
            ("head.weight", 0.4761264294),
        ],
    }
}

#[test]
fn shallowconvnet_f64() {
    shallowconvnet().check::<f64>(1e-8, Isa::best());
}

#[test]
fn shallowconvnet_f32_on_every_path() {
    for isa in Isa::available() {
        shallowconvnet().check::<f32>(1e-4, isa);
    }
}

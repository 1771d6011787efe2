//! Whole networks trained on a GPU against the CPU. Runs where `PTSM_TEST_GPU` is set (`cargo xtask test --gpu`).
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use ptsm_decode::acon::Acon;
use ptsm_decode::dann::Dann;
use ptsm_decode::deepconvnet::DeepConvNet;
use ptsm_decode::eegconformer::EegConformer;
use ptsm_decode::eegnet::EegNet;
use ptsm_decode::ptsm::{Pool, Ptsm};
use ptsm_decode::registry::find;
use ptsm_decode::shallowconvnet::ShallowConvNet;
use ptsm_decode::{Fit, Job, Lesson, Model, Run, TrialShape, Unwatched};
use ptsm_engine::{Adam, Cpu, Cuda, Decay, Device, Feed, Isa, Parameters, Real, Step};
use ptsm_signal::{Channel, Layout, SubjectId, Trial, Trials};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// The GPU, or a line that says why nothing was tested.
fn asked() -> Option<Cuda> {
    if std::env::var_os("PTSM_TEST_GPU").is_none() {
        eprintln!("skipped: PTSM_TEST_GPU is not set");
        return None;
    }
    Some(Cuda::new(Some(&std::env::temp_dir().join("ptsm-test-kernels"))).unwrap())
}

fn models() -> [(&'static str, Model); 9] {
    // Every window of a trial is much to compute in double precision: few maps.
    let maps = vec![8, 8, 16, 16];
    let cropped = DeepConvNet { maps, kernel: 5, pool: 2, crop: Some(250), ..DeepConvNet::default() };
    [
        ("ptsm each", Model::Ptsm(Ptsm { pool: Pool::Each, ..Ptsm::default() })),
        ("ptsm last", Model::Ptsm(Ptsm { pool: Pool::Last, ..Ptsm::default() })),
        ("eegnet", Model::EegNet(EegNet::default())),
        ("deepconvnet", Model::DeepConvNet(DeepConvNet::default())),
        ("deepconvnet cropped", Model::DeepConvNet(cropped)),
        ("shallowconvnet", Model::ShallowConvNet(ShallowConvNet::default())),
        ("eegconformer", Model::EegConformer(EegConformer { depth: 2, ..EegConformer::default() })),
        ("dann", Model::Dann(Dann::default())),
        ("acon", Model::Acon(Acon { width: 16, features: 32, ..Acon::default() })),
    ]
}

const CHANNELS: usize = 22;
const TIME: usize = 500;
const BATCH: usize = 32;
const SUBJECTS: usize = 6;

/// The total loss of each step, of two replicas one after the other. Samples are changed by `nudge` of themselves, up or down.
fn losses<T: Real>(model: &Model, device: &Device, steps: usize, nudge: f64) -> Vec<f64> {
    let shape = TrialShape { channels: CHANNELS, time: TIME, classes: 2, subjects: SUBJECTS };
    let network = model.build(shape, BATCH).unwrap();
    let adam = Adam { decay: Decay::Gradient(1e-4), clip: Some(5.0), ..Adam::default() };
    // Critics first: several programs over the same parameters.
    let specs = network.critic_steps(adam).into_iter().chain([network.step(adam)]);
    let made = specs.map(|spec| Step::<T>::new(&network.graph, &spec, 2, device).unwrap());
    let mut all: Vec<Step<T>> = made.collect();
    let mut parameters = Parameters::<T>::new(&network.graph, &[1, 2]).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let trials = 3 * BATCH;
    let x = (0..trials * CHANNELS * TIME).map(|i| {
        let side = if (i * 7919) % 17 < 8 { nudge } else { -nudge };
        T::of(rng.random_range(-1.7..1.7f64) * (1.0 + side))
    });
    let x: Vec<T> = x.collect();
    let label = |i: usize, classes: usize| (i * 7 % 13 % classes) as u32;
    let task: Vec<u32> = (0..trials).map(|i| label(i, 2)).collect();
    let subject: Vec<u32> = (0..trials).map(|i| label(i, SUBJECTS)).collect();
    let domain: Vec<u32> = (0..2 * BATCH).map(|i| u32::from(i % BATCH >= BATCH / 2)).collect();
    let input = |name: &str| network.graph.inputs().iter().find(|input| input.name == name);
    let labelled = input("task").unwrap().shape[0];
    let mut told = vec![];
    for _ in 0..steps {
        let rows: Vec<u32> = (0..2 * BATCH).map(|_| rng.random_range(0..trials as u32)).collect();
        let of_labelled: Vec<u32> = rows.chunks(BATCH).flat_map(|rows| rows[..labelled].to_vec()).collect();
        let lambda = [T::of(0.3), T::of(0.8)];
        let known = [
            ("x", Feed::Rows { data: &x, rows: &rows }),
            ("task", Feed::LabelRows { data: &task, rows: &of_labelled }),
            ("subject", Feed::LabelRows { data: &subject, rows: &rows }),
            ("domain", Feed::Labels(&domain)),
            ("lambda", Feed::Each(&lambda)),
        ];
        let feeds: Vec<_> = known.into_iter().filter(|(name, _)| input(name).is_some()).collect();
        for step in &mut all {
            step.run(&mut parameters, &feeds, &[1e-3; 2], &[true; 2]).unwrap();
        }
        let step = &all[all.len() - 1];
        told.extend([0, 1].map(|r| step.output(&parameters, r, 0)[0].wide()));
    }
    told
}

/// Sums in another order lead a training run astray a little, on any device. How far is measured on the CPU against the same run in double
/// precision: by its instruction sets, which add in different orders, and by samples changed in their last digit. The GPU goes not much
/// further, and nowhere at the beginning.
#[test]
fn fifty_steps_stay_within_the_spread_of_reordered_sums() {
    let Some(gpu) = asked() else { return };
    for (name, model) in models() {
        let cpu = Device::from(&Cpu::new().unwrap());
        let exact = losses::<f64>(&model, &cpu, 50, 0.0);
        let astray = |told: &[f64]| {
            let far = told.iter().zip(&exact).map(|(a, b)| (a - b).abs() / b.abs().max(0.1));
            far.fold(0.0, f64::max)
        };
        let paths = Isa::available().into_iter().map(|isa| Cpu::with(4, isa).unwrap());
        let paths: Vec<Vec<f64>> = paths.map(|cpu| losses::<f32>(&model, &(&cpu).into(), 50, 0.0)).collect();
        let nudged = [1e-7, -1e-7, 2e-7, -2e-7].map(|nudge| losses::<f32>(&model, &cpu, 50, nudge));
        let here = paths.iter().chain(&nudged).map(|told| astray(told)).fold(0.0, f64::max);
        let told = losses::<f32>(&model, &(&gpu).into(), 50, 0.0);
        let there = astray(&told);
        eprintln!("{name}: CPU {here:.1e}, GPU {there:.1e} from double precision after 50 steps");
        assert!(there < 4.0 * here + 1e-4, "{name}: {there:e} from double precision, the CPU {here:e}");
        assert!(there > 0.0);
        for (a, b) in told.iter().zip(&exact).take(10) {
            assert!((a - b).abs() < 2e-4 * b.abs(), "{name}: {a}, not {b}, within five steps");
        }
    }
}

/// Small enough for the checkers of memory and races.
#[test]
fn a_full_step_of_every_network() {
    let Some(gpu) = asked() else { return };
    for (name, model) in models() {
        let (here, there) = (
            losses::<f32>(&model, &(&Cpu::new().unwrap()).into(), 1, 0.0),
            losses::<f32>(&model, &(&gpu).into(), 1, 0.0),
        );
        for (a, b) in here.iter().zip(&there) {
            assert!((a - b).abs() < 1e-4 * a.abs(), "{name}: {a} {b}");
        }
    }
}

/// Rhythms that differ between two classes, in people who differ.
fn people() -> Trials {
    let layout = Layout {
        channels: ["C3", "Cz", "C4", "P3", "P4", "O1", "O2"].map(Channel::named).to_vec(),
        samples: 128,
        rate_hz: 64.0,
        start_s: 0.0,
        classes: vec!["left_hand".into(), "right_hand".into()],
    };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut x, mut info) = (vec![], vec![]);
    for i in 0..240u32 {
        let label = i % 2;
        for channel in 0..7 {
            let amplitude = match (channel, label) {
                (0, 0) | (2, 1) => 1.7,
                (0, 1) | (2, 0) => 0.3,
                _ => 1.0,
            };
            let phase: f32 = rng.random_range(0.0..std::f32::consts::TAU);
            x.extend(
                (0..128).map(|t| amplitude * (1.1 * t as f32 + phase).sin() + rng.random_range(-0.8..0.8f32)),
            );
        }
        let subject = SubjectId(i / 24 + 1);
        info.push(Trial { label, subject, session: 1, run: 1, cue_s: f64::from(i) });
    }
    Trials::new(layout, x, info).unwrap()
}

/// From folds to decoders on the GPU: they learn, leave their seats at different times, and are the same in company and alone.
#[test]
fn folds_are_learnt_at_once() {
    let Some(gpu) = asked() else { return };
    let (trials, device) = (people(), Device::from(&gpu));
    let run = Run { device: &device, identity: "" };
    let set = |ids: &[u32]| ids.iter().map(|i| SubjectId(*i)).collect::<BTreeSet<_>>();
    for (name, mirror) in [("ptsm", 0.5), ("eegnet", 0.0), ("dann", 0.0), ("acon", 0.5)] {
        let method = find(name).unwrap();
        let changes = json!({
            "training": { "epochs": 30, "patience": 8, "rate": 3e-3 },
            "augment": { "mirror": mirror },
        });
        let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
        let lessons: Vec<Lesson<'_>> = (1..=4)
            .map(|out| {
                let train: Vec<u32> = (1..=7).filter(|s| *s != out).collect();
                let lesson = Lesson::new(trials.of(&set(&train)), trials.of(&set(&[8, 9]))).unwrap();
                lesson.with_target(trials.of(&set(&[10])).unlabelled())
            })
            .collect();
        let jobs: Vec<Job<'_>> = lessons
            .iter()
            .flat_map(|lesson| [1, 2].map(|seed| Job { lesson, seed, checkpoint: None }))
            .collect();
        let fits = decoder.fit_all(&jobs, &run, &mut Unwatched).unwrap();
        let stranger = trials.of(&set(&[10]));
        let of = |fit: &Fit| fit.fitted.probabilities(&stranger).unwrap();
        for fit in &fits {
            let p = of(fit);
            let right = p.chunks(2).zip(stranger.labels()).filter(|(p, y)| u32::from(p[1] > p[0]) == *y);
            assert!(right.count() as f64 >= 0.95 * stranger.len() as f64, "{name}");
        }
        let alone = decoder.fit_seeds(&lessons[2], &[2], &run, &mut Unwatched).unwrap();
        assert_eq!(of(&alone[0]), of(&fits[5]), "{name}");
        assert_eq!(alone[0].history, fits[5].history);
    }
}

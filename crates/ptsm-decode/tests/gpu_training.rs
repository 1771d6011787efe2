//! Whole networks trained on a GPU against the CPU. Runs where `PTSM_TEST_GPU` is set (`cargo xtask test --gpu`).
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use ptsm_decode::acon::Acon;
use ptsm_decode::dann::Dann;
use ptsm_decode::deepconvnet::DeepConvNet;
use ptsm_decode::eegconformer::EegConformer;
use ptsm_decode::eegnet::EegNet;
use ptsm_decode::ptsm::{PoolPlacement, Ptsm};
use ptsm_decode::registry::find;
use ptsm_decode::shallowconvnet::ShallowConvNet;
use ptsm_decode::{Architecture, Fit, Job, NoWatch, Run, TrainingData, TrialShape};
use ptsm_engine::{Adam, Checkpoint, Cpu, Cuda, Decay, Device, Feed, Isa, Parameters, Real, Step};
use ptsm_signal::{Channel, Layout, Paradigm, SubjectId, TaskDeclaration, Trial, Trials};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// The GPU, or a line that says why nothing was tested.
fn requested_gpu() -> Option<Cuda> {
    if std::env::var_os("PTSM_TEST_GPU").is_none() {
        eprintln!("skipped: needs a GPU; PTSM_TEST_GPU is not set");
        return None;
    }
    Some(Cuda::new(Some(&std::env::temp_dir().join("ptsm-test-kernels"))).unwrap())
}

fn models() -> [(&'static str, Box<dyn Architecture>); 9] {
    // Every window of a trial is much to compute in double precision: few maps.
    let maps = vec![8, 8, 16, 16];
    let cropped = DeepConvNet { maps, kernel: 5, pool: 2, crop: Some(250), ..DeepConvNet::default() };
    [
        ("ptsm each", Box::new(Ptsm { pool: PoolPlacement::Each, ..Ptsm::default() })),
        ("ptsm last", Box::new(Ptsm { pool: PoolPlacement::Last, ..Ptsm::default() })),
        ("eegnet", Box::new(EegNet::default())),
        ("deepconvnet", Box::new(DeepConvNet::default())),
        ("deepconvnet cropped", Box::new(cropped)),
        ("shallowconvnet", Box::new(ShallowConvNet::default())),
        ("eegconformer", Box::new(EegConformer { depth: 2, ..EegConformer::default() })),
        ("dann", Box::new(Dann::<EegNet>::default())),
        ("acon", Box::new(Acon { width: 16, features: 32, ..Acon::default() })),
    ]
}

const CHANNELS: usize = 22;
const TIME: usize = 500;
const BATCH: usize = 32;
const SUBJECTS: usize = 6;

/// Two replicas of a network that train on the same noise wherever they are.
struct Trajectory<T> {
    /// What a step is fed, and how many trials of a batch have labels.
    inputs: Vec<String>,
    labelled: usize,
    /// Discriminators first, the network last: several programs over the same parameters.
    steps: Vec<Step<T>>,
    parameters: Parameters<T>,
    names: Vec<String>,
    x: Vec<T>,
    task: Vec<u32>,
    subject: Vec<u32>,
    /// The trials of each step.
    rows: Vec<Vec<u32>>,
}

/// One replica between two steps.
struct ReplicaState {
    tensors: Vec<Vec<f64>>,
    optimizers: Vec<Checkpoint<f64>>,
}

/// Every number as another type.
fn cast<A: Real, B: Real>(values: &[A]) -> Vec<B> {
    values.iter().map(|v| B::of(v.wide())).collect()
}

fn moments<A: Real, B: Real>(from: &Checkpoint<A>) -> Checkpoint<B> {
    let moments = from.moments.iter().map(|both| both.each_ref().map(|m| cast(m))).collect();
    Checkpoint { steps: from.steps, runs: from.runs, moments }
}

impl<T: Real> Trajectory<T> {
    /// Samples are changed by `nudge` of themselves, up or down.
    fn new(model: &dyn Architecture, device: &Device, steps: usize, nudge: f64) -> Trajectory<T> {
        let shape = TrialShape { channels: CHANNELS, time: TIME, classes: 2, subjects: SUBJECTS };
        let network = model.build(shape.batch(BATCH)).unwrap();
        let adam = Adam { decay: Decay::Gradient(1e-4), clip: Some(5.0), ..Adam::default() };
        let specs = network.discriminator_steps(adam).into_iter().chain([network.step(adam)]);
        let made = specs.map(|spec| Step::new(&network.graph, &spec, 2, device).unwrap());
        let parameters = Parameters::new(&network.graph, &[1, 2]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let trials = 3 * BATCH;
        let x = (0..trials * CHANNELS * TIME).map(|i| {
            let side = if (i * 7919) % 17 < 8 { nudge } else { -nudge };
            T::of(rng.random_range(-1.7..1.7f64) * (1.0 + side))
        });
        let x = x.collect();
        let label = |classes: usize| move |i: usize| (i * 7 % 13 % classes) as u32;
        let rows = (0..steps).map(|_| (0..2 * BATCH).map(|_| rng.random_range(0..trials as u32)).collect());
        Trajectory {
            steps: made.collect(),
            inputs: network.graph.inputs().iter().map(|input| input.name.clone()).collect(),
            labelled: network.graph.inputs().iter().find(|input| input.name == "task").unwrap().shape[0],
            names: parameters.tensors().iter().map(|t| t.name.clone()).collect(),
            rows: rows.collect(),
            task: (0..trials).map(label(2)).collect(),
            subject: (0..trials).map(label(SUBJECTS)).collect(),
            x,
            parameters,
        }
    }

    /// One step: both total losses.
    fn go(&mut self, step: usize) -> [f64; 2] {
        let rows = &self.rows[step];
        let labelled: Vec<u32> =
            rows.chunks(BATCH).flat_map(|rows| &rows[..self.labelled]).copied().collect();
        let domain: Vec<u32> = (0..2 * BATCH).map(|i| u32::from(i % BATCH >= BATCH / 2)).collect();
        let lambda = [T::of(0.3), T::of(0.8)];
        let mut feeds = vec![
            ("x", Feed::Rows { data: &self.x, rows }),
            ("task", Feed::LabelRows { data: &self.task, rows: &labelled }),
            ("subject", Feed::LabelRows { data: &self.subject, rows }),
            ("domain", Feed::Labels(&domain)),
            ("lambda", Feed::Each(&lambda)),
        ];
        feeds.retain(|(name, _)| self.inputs.iter().any(|input| input == name));
        for step in &mut self.steps {
            step.run(&mut self.parameters, &feeds, &[1e-3; 2], &[true; 2]).unwrap();
        }
        let network = &self.steps[self.steps.len() - 1];
        [0, 1].map(|r| network.output(&self.parameters, r, 0)[0].wide())
    }

    /// The whole gradient of a replica at the last step.
    fn gradient(&self, replica: usize) -> Vec<f64> {
        let of = |step: &Step<T>| -> Vec<f64> {
            let of = |name: &String| step.gradient(&self.parameters, replica, name).unwrap();
            self.names.iter().filter_map(of).flatten().map(|g| g.wide()).collect()
        };
        self.steps.iter().flat_map(of).collect()
    }

    fn states(&self) -> [ReplicaState; 2] {
        [0, 1].map(|r| ReplicaState {
            tensors: self.names.iter().map(|n| cast(self.parameters.get(r, n).unwrap())).collect(),
            optimizers: self.steps.iter().map(|step| moments(&step.checkpoint(r).unwrap())).collect(),
        })
    }

    fn stand(&mut self, at: &[ReplicaState; 2]) {
        for (r, at) in at.iter().enumerate() {
            for (name, values) in self.names.iter().zip(&at.tensors) {
                self.parameters.set(r, name, &cast(values)).unwrap();
            }
            for (step, optimizer) in self.steps.iter_mut().zip(&at.optimizers) {
                step.restore(r, &moments(optimizer)).unwrap();
            }
        }
    }
}

/// The losses of a run, step after step.
fn losses<T: Real>(model: &dyn Architecture, device: &Device, steps: usize, nudge: f64) -> Vec<f64> {
    let mut course = Trajectory::<T>::new(model, device, steps, nudge);
    (0..steps).flat_map(|step| course.go(step)).collect()
}

const STEPS: usize = 50;

/// A run in double precision.
struct Exact {
    losses: Vec<f64>,
    /// Before each step.
    states: Vec<[ReplicaState; 2]>,
    gradients: Vec<[Vec<f64>; 2]>,
}

impl Exact {
    fn of(model: &dyn Architecture, device: &Device) -> Exact {
        let mut course = Trajectory::<f64>::new(model, device, STEPS, 0.0);
        let mut exact = Exact { losses: vec![], states: vec![], gradients: vec![] };
        for step in 0..STEPS {
            exact.states.push(course.states());
            exact.losses.extend(course.go(step));
            exact.gradients.push([0, 1].map(|r| course.gradient(r)));
        }
        exact
    }

    /// How far a run goes astray.
    fn astray(&self, measured: &[f64]) -> f64 {
        let far = measured.iter().zip(&self.losses).map(|(a, b)| (a - b).abs() / b.abs().max(0.1));
        far.fold(0.0, f64::max)
    }

    /// How far the gradients of single steps are from the exact ones, in parts of their length, each step taken from where the exact run
    /// stands: the median over steps and the most.
    fn wrong(&self, model: &dyn Architecture, device: &Device) -> [f64; 2] {
        let mut course = Trajectory::<f32>::new(model, device, STEPS, 0.0);
        let mut wrong = vec![];
        for (step, states) in self.states.iter().enumerate() {
            course.stand(states);
            course.go(step);
            for (r, exact) in self.gradients[step].iter().enumerate() {
                let length = |squares: f64| squares.sqrt();
                let off = course.gradient(r).iter().zip(exact).map(|(a, b)| (a - b) * (a - b)).sum();
                wrong.push(length(off) / length(exact.iter().map(|b| b * b).sum()));
            }
        }
        wrong.sort_by(f64::total_cmp);
        [wrong[wrong.len() / 2], wrong[wrong.len() - 1]]
    }
}

/// The least multiple of the CPU's own error that is no longer an order of sums.
const SAME: f64 = 4.0;

/// Each of fifty steps is as exact on the GPU as on the CPU when it begins where the run in double precision stands; and fifty steps in a
/// row go astray no further.
///
/// Rounding alone leads a run astray in leaps: a unit of a rectifier or of a maximum whose argument is 0 but for rounding takes the other
/// side, and the optimizer amplifies it. How far is measured on the CPU: by its instruction sets, which add in different orders, and by
/// samples changed in their last digit. Not every change meets such a unit: it takes a dozen to see how far they lead.
#[test]
fn fifty_steps_are_as_exact_as_on_the_cpu() {
    let Some(gpu) = requested_gpu() else { return };
    let gpu = Device::from(&gpu);
    for (name, model) in models() {
        let cpu = Device::from(&Cpu::new().unwrap());
        let exact = Exact::of(&*model, &cpu);
        let paths: Vec<Device> =
            Isa::available().iter().map(|isa| (&Cpu::with(8, *isa).unwrap()).into()).collect();

        let here = paths
            .iter()
            .map(|path| exact.wrong(&*model, path))
            .fold([0.0; 2], |most: [f64; 2], own| [0, 1].map(|i| most[i].max(own[i])));
        let there = exact.wrong(&*model, &gpu);
        eprintln!(
            "{name}, single steps: CPU {:.1e} (at most {:.1e}), GPU {:.1e} ({:.1e}) from double precision",
            here[0], here[1], there[0], there[1]
        );
        assert!(there[0] < SAME * here[0], "{name}: steps are wrong by {there:?}, on the CPU by {here:?}");
        assert!(
            there[1] < SAME * here[1] + 1e-4,
            "{name}: a step is wrong by {there:?}, on the CPU by {here:?}"
        );
        assert!(there[0] > 0.0);

        let (model, exact) = (&model, &exact);
        let here = std::thread::scope(|scope| {
            let orders =
                paths.iter().map(|path| scope.spawn(move || losses::<f32>(&**model, path, STEPS, 0.0)));
            let mut runs: Vec<_> = orders.collect();
            runs.extend((1..=12).map(|i| {
                let nudge = f64::from(i) * if i % 2 == 0 { 7e-8 } else { -7e-8 };
                scope.spawn(move || {
                    losses::<f32>(&**model, &(&Cpu::with(1, Isa::best()).unwrap()).into(), STEPS, nudge)
                })
            }));
            runs.into_iter().map(|run| exact.astray(&run.join().unwrap())).fold(0.0, f64::max)
        });
        let measured = losses::<f32>(&**model, &gpu, STEPS, 0.0);
        let there = exact.astray(&measured);
        eprintln!("{name}, fifty steps: CPU at most {here:.1e}, GPU {there:.1e} from double precision");
        assert!(there < SAME * here + 1e-4, "{name}: {there:e} from double precision, the CPU {here:e}");
        for (a, b) in measured.iter().zip(&exact.losses).take(10) {
            assert!((a - b).abs() < 2e-4 * b.abs(), "{name}: {a}, not {b}, within five steps");
        }
    }
}

/// Small enough for the checkers of memory and races.
#[test]
fn a_full_step_of_every_network() {
    let Some(gpu) = requested_gpu() else { return };
    for (name, model) in models() {
        let (here, there) = (
            losses::<f32>(&*model, &(&Cpu::new().unwrap()).into(), 1, 0.0),
            losses::<f32>(&*model, &(&gpu).into(), 1, 0.0),
        );
        for (a, b) in here.iter().zip(&there) {
            assert!((a - b).abs() < 1e-4 * a.abs(), "{name}: {a} {b}");
        }
    }
}

/// Rhythms that differ between two classes, in subjects who differ.
fn cohort() -> Trials {
    let layout = Layout {
        channels: ["C3", "Cz", "C4", "P3", "P4", "O1", "O2"].map(Channel::named).to_vec(),
        samples: 128,
        rate_hz: 64.0,
        start_s: 0.0,
        classes: vec!["left_hand".into(), "right_hand".into()],
        task: TaskDeclaration::of(Paradigm::MotorImagery).swapping("left_hand", "right_hand"),
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

/// From folds to decoders on the GPU: they learn, leave their slots at different times, and are the same in company and alone.
#[test]
fn folds_are_trained_together() {
    let Some(gpu) = requested_gpu() else { return };
    let (trials, device) = (cohort(), Device::from(&gpu));
    let run = Run { device: &device, identity: "" };
    let set = |ids: &[u32]| ids.iter().map(|i| SubjectId(*i)).collect::<BTreeSet<_>>();
    let cases =
        [("ptsm", 0.5, 0), ("eegnet", 0.0, 0), ("eegnet", 0.5, 2), ("dann", 0.0, 0), ("acon", 0.5, 0)];
    for (name, mirror, teachers) in cases {
        let method = find(name).unwrap();
        let changes = json!({
            "training": { "epochs": 30, "patience": 8, "rate": 3e-3, "symmetry": "none" },
            "augment": { "mirror": mirror },
            "distil": teachers,
        });
        let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
        let data: Vec<TrainingData<'_>> = (1..=4)
            .map(|out| {
                let train: Vec<u32> = (1..=7).filter(|s| *s != out).collect();
                let data = TrainingData::new(trials.of(&set(&train)), trials.of(&set(&[8, 9]))).unwrap();
                data.with_target(trials.of(&set(&[10])).unlabelled())
            })
            .collect();
        let jobs: Vec<Job<'_>> =
            data.iter().flat_map(|data| [1, 2].map(|seed| Job { data, seed, checkpoint: None })).collect();
        let fits = decoder.fit_all(&jobs, &run, &mut NoWatch).unwrap();
        let unseen = trials.of(&set(&[10]));
        let of = |fit: &Fit| fit.fitted.probabilities(&unseen).unwrap();
        for fit in &fits {
            let p = of(fit);
            let right = p.chunks(2).zip(unseen.labels()).filter(|(p, y)| u32::from(p[1] > p[0]) == *y);
            assert!(right.count() as f64 >= 0.95 * unseen.len() as f64, "{name}");
        }
        let alone = decoder.fit_seeds(&data[2], &[2], &run, &mut NoWatch).unwrap();
        assert_eq!(of(&alone[0]), of(&fits[5]), "{name}");
        assert_eq!(alone[0].history, fits[5].history);
    }
}

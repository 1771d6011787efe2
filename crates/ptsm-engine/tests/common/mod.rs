//! Shared by the integration tests: repeatable numbers, and small networks that can be measured.

#![allow(dead_code)] // every test file uses its own part

use std::sync::OnceLock;

use ptsm_engine::{
    Adam, Checkpoint, Cpu, Cuda, Device, Feed, Graph, Id, Init, Isa, Mode, Objective, Parameters,
    ProfileEntry, Real, Result, Step, StepSpec,
};

/// Numbers that follow from a seed alone (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        // The first numbers of neighbouring seeds are alike.
        for _ in 0..8 {
            random.bits();
        }
        random
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Uniform between -1 and 1.
    pub(crate) fn real(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub(crate) fn reals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.real()).collect()
    }

    /// A whole number, both ends included.
    pub(crate) fn within(&mut self, low: usize, high: usize) -> usize {
        low + (self.bits() >> 33) as usize % (high - low + 1)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.within(0, from.len() - 1)]
    }
}

/// One thread on the best instruction set: made once, because a device starts threads.
pub(crate) fn cpu() -> &'static Cpu {
    static CPU: OnceLock<Cpu> = OnceLock::new();
    CPU.get_or_init(|| Cpu::with(1, Isa::best()).unwrap())
}

/// The GPU, where `PTSM_TEST_GPU` asks for it; there must be one then.
pub(crate) fn gpu() -> Option<&'static Cuda> {
    static GPU: OnceLock<Option<Cuda>> = OnceLock::new();
    let open =
        || std::env::var_os("PTSM_TEST_GPU").map(|_| Cuda::new(None).unwrap_or_else(|e| panic!("{e}")));
    GPU.get_or_init(open).as_ref()
}

/// Rounds to the type under test.
pub(crate) fn to<T: Real>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&v| T::of(v)).collect()
}

/// What is fed to one input.
#[derive(Clone)]
enum Data {
    Real(Vec<f64>),
    Labels(Vec<u32>),
}

/// A small network with fixed numbers in every tensor and input, and a scalar loss.
///
/// The loss is the sum of the result under fixed random weights, so that every element of the result has a
/// gradient of its own.
#[derive(Clone)]
pub(crate) struct Experiment {
    pub(crate) label: String,
    pub(crate) graph: Graph,
    pub(crate) mode: Mode,
    /// What the closure returned.
    pub(crate) result: Id,
    loss: Id,
    kept: Vec<Id>,
    values: Vec<Vec<f64>>,
    data: Vec<Data>,
}

/// What a run of an [`Experiment`] gave.
#[derive(Clone, Debug)]
pub(crate) struct ExperimentResult {
    pub(crate) loss: f64,
    pub(crate) result: Vec<f64>,
    /// One for each trainable tensor, in the graph's order; `None` where the loss does not depend on it.
    pub(crate) gradients: Vec<(String, Option<Vec<f64>>)>,
    /// Running statistics after an update.
    pub(crate) statistics: Vec<Vec<f64>>,
    /// Operations in one run: tells whether neighbours were joined.
    pub(crate) instructions: usize,
}

impl ExperimentResult {
    pub(crate) fn gradient(&self, name: &str) -> &[f64] {
        let found = self.gradients.iter().find(|(n, _)| n == name);
        found.and_then(|(_, g)| g.as_deref()).unwrap_or_else(|| panic!("no gradient of `{name}`"))
    }
}

impl Experiment {
    /// Parameters `p0`, `p1`, .. of the given shapes become a result of any shape.
    pub(crate) fn new(
        label: impl Into<String>,
        mode: Mode,
        shapes: &[&[usize]],
        build: impl Fn(&mut Graph, &[Id]) -> Result<Id>,
    ) -> Experiment {
        let label = label.into();
        let mut graph = Graph::new();
        let parameters: Vec<Id> = (shapes.iter().enumerate())
            .map(|(i, shape)| graph.parameter(&format!("p{i}"), shape, Init::Constant(0.0)).unwrap())
            .collect();
        let built = build(&mut graph, &parameters);
        let result = built.unwrap_or_else(|e| panic!("{label}: {e}"));
        let shape = graph.shape(result).to_vec();
        let weights = graph.input("weights of the result", &shape).unwrap();
        let weighted = graph.mul(result, weights).unwrap();
        let loss = graph.sum(weighted).unwrap();
        let mut random = Random::new(label.bytes().map(u64::from).sum());
        let values = graph.tensors().iter().map(|t| {
            let mut values = random.reals(t.len());
            if !t.trainable {
                // Running means and variances; the latter must be above zero.
                values[t.len() / 2..].iter_mut().for_each(|v| *v = 1.0 + 0.5 * *v);
            }
            values
        });
        let values = values.collect();
        let data = graph.inputs().iter().map(|input| {
            let n = input.shape.iter().product();
            match input.classes {
                None => Data::Real(random.reals(n)),
                Some(classes) => Data::Labels((0..n).map(|i| (i * 7 % classes) as u32).collect()),
            }
        });
        let data = data.collect();
        Experiment { label, graph, mode, result, loss, kept: vec![], values, data }
    }

    /// Other labels than the default ones.
    pub(crate) fn with_labels(mut self, labels: &[u32]) -> Experiment {
        for data in &mut self.data {
            if let Data::Labels(own) = data {
                own.copy_from_slice(labels);
            }
        }
        self
    }

    /// Other values of one parameter.
    pub(crate) fn with_values(mut self, name: &str, values: &[f64]) -> Experiment {
        let i = self.graph.tensors().iter().position(|t| t.name == name).unwrap();
        self.values[i].copy_from_slice(values);
        self
    }

    /// All numbers in steps of 1/64, which the shortest operands of a GPU hold exactly.
    pub(crate) fn coarse(mut self) -> Experiment {
        let reals = self.data.iter_mut().filter_map(|d| if let Data::Real(v) = d { Some(v) } else { None });
        for v in self.values.iter_mut().chain(reals).flatten() {
            *v = (*v * 64.0).round() / 64.0;
        }
        self
    }

    /// Also reads the results of some operations, which keeps them from being joined with their neighbours.
    pub(crate) fn keeping(mut self, operations: &[&str]) -> Experiment {
        let found = self.graph.nodes().filter(|(_, node)| operations.contains(&node.op.name()));
        let found: Vec<Id> = found.map(|(id, _)| id).collect();
        assert!(!found.is_empty(), "{}: nothing of {operations:?} to keep", self.label);
        self.kept.extend(found);
        self
    }

    /// Names of all operations as the user wrote them.
    pub(crate) fn operations(&self) -> Vec<&'static str> {
        self.graph.nodes().map(|(_, node)| node.op.name()).collect()
    }

    pub(crate) fn parameters<T: Real>(&self) -> Parameters<T> {
        let mut parameters = Parameters::new(&self.graph, &[11]).unwrap();
        for (tensor, values) in self.graph.tensors().iter().zip(&self.values) {
            parameters.set(0, &tensor.name, &to::<T>(values)).unwrap();
        }
        parameters
    }

    pub(crate) fn runner<T: Real>(&self, device: impl Into<Device>) -> Runner<'_, T> {
        let objective = Objective::new(&self.graph, self.loss, |_| true);
        let outputs: Vec<Id> = [self.loss, self.result].iter().chain(&self.kept).copied().collect();
        let spec = StepSpec {
            mode: self.mode,
            objectives: vec![objective],
            outputs,
            optimizer: Adam::default().into(),
        };
        let step = Step::new(&self.graph, &spec, 1, device).unwrap_or_else(|e| panic!("{}: {e}", self.label));
        let start = step.checkpoint(0).unwrap();
        let reals = self.data.iter().map(|d| if let Data::Real(v) = d { to(v) } else { vec![] }).collect();
        Runner { experiment: self, step, start, parameters: self.parameters(), reals }
    }

    pub(crate) fn measure<T: Real>(&self, device: impl Into<Device>) -> ExperimentResult {
        self.runner::<T>(device).measure()
    }

    /// The GPU's numbers are those of the CPU.
    pub(crate) fn check_gpu(&self) {
        if let Some(gpu) = gpu() {
            let (there, here) = (self.measure::<f32>(gpu), self.measure::<f32>(cpu()));
            // A gradient that is 0 but for rounding, of a bias in front of a batch norm, say, has no digits to compare.
            let largest = |g: &Option<Vec<f64>>| g.iter().flatten().fold(0.0f64, |m, v| m.max(v.abs()));
            let most = here.gradients.iter().fold(0.0f64, |m, (_, g)| m.max(largest(g)));
            let [there, kept] = [there, here.clone()].map(|mut measured| {
                let compared = measured.gradients.into_iter().zip(&here.gradients);
                let compared = compared.filter(|(_, (_, g))| largest(g) > 1e-4 * most || g.is_none());
                measured.gradients = compared.map(|(own, _)| own).collect();
                measured
            });
            assert_same(&self.label, &there, &kept, 1e-4);
        }
    }

    /// Compares every entry of every gradient with a finite difference, and the GPU's with the CPU's.
    pub(crate) fn check(&self) -> ExperimentResult {
        self.check_gpu();
        let mut runner = self.runner::<f64>(cpu());
        let measured = runner.measure();
        for (name, gradient) in &measured.gradients {
            let n = runner.parameters.get(0, name).unwrap().len();
            for entry in 0..n {
                let analytic = gradient.as_ref().map_or(0.0, |g| g[entry]);
                runner.compare(name, entry, analytic, measured.loss);
            }
        }
        measured
    }

    /// Compares some entries of every gradient with finite differences.
    pub(crate) fn check_some(&self, random: &mut Random, entries: usize) -> ExperimentResult {
        self.check_gpu();
        let mut runner = self.runner::<f64>(cpu());
        let measured = runner.measure();
        for (name, gradient) in &measured.gradients {
            let gradient = gradient.as_ref().unwrap_or_else(|| panic!("{}: no gradient", self.label));
            for _ in 0..entries {
                let entry = random.within(0, gradient.len() - 1);
                runner.compare(name, entry, gradient[entry], measured.loss);
            }
        }
        measured
    }
}

/// Half the distance between the two points of a difference.
const STEP: f64 = 1e-5;

/// A compiled experiment. Every run starts at the same count of runs, so that dropout draws the same.
pub(crate) struct Runner<'a, T> {
    experiment: &'a Experiment,
    pub(crate) step: Step<T>,
    start: Checkpoint<T>,
    pub(crate) parameters: Parameters<T>,
    reals: Vec<Vec<T>>,
}

fn feeds<'a, T: Real>(experiment: &'a Experiment, reals: &'a [Vec<T>]) -> Vec<(&'a str, Feed<'a, T>)> {
    let values = experiment.data.iter().zip(reals);
    let inputs = experiment.graph.inputs().iter().zip(values);
    let feed = |data: &'a Data, reals: &'a [T]| match data {
        Data::Real(_) => Feed::Shared(reals),
        Data::Labels(labels) => Feed::SharedLabels(labels),
    };
    inputs.map(|(input, (data, reals))| (&*input.name, feed(data, reals))).collect()
}

impl<T: Real> Runner<'_, T> {
    fn run(&mut self) {
        let feeds = feeds(self.experiment, &self.reals);
        self.step.restore(0, &self.start).unwrap();
        let run = self.step.backward(&self.parameters, &feeds, &[true]);
        run.unwrap_or_else(|e| panic!("{}: {e}", self.experiment.label));
    }

    pub(crate) fn loss(&mut self) -> f64 {
        self.run();
        self.step.output(&self.parameters, 0, 0)[0].wide()
    }

    /// Whether a run has a value of this shape.
    pub(crate) fn makes(&mut self, shape: &[usize]) -> bool {
        let shape = format!(" {shape:?}");
        self.profile().iter().any(|s| s.name.ends_with(&shape))
    }

    /// What each operation takes.
    pub(crate) fn profile(&mut self) -> Vec<ProfileEntry> {
        let feeds = feeds(self.experiment, &self.reals);
        self.step.profile(&self.parameters, &feeds).unwrap()
    }

    pub(crate) fn measure(&mut self) -> ExperimentResult {
        let loss = self.loss();
        let wide = |values: &[T]| values.iter().map(|v| v.wide()).collect::<Vec<f64>>();
        let tensors = self.experiment.graph.tensors();
        let gradient = |name: &str| self.step.gradient(&self.parameters, 0, name).unwrap().map(wide);
        let gradients = tensors.iter().filter(|t| t.trainable);
        let gradients = gradients.map(|t| (t.name.clone(), gradient(&t.name))).collect();
        let result = wide(self.step.output(&self.parameters, 0, 1));
        // A rate of 0 moves the statistics only.
        let mut after = self.parameters.clone();
        self.step.update(&mut after, &[0.0], &[true]).unwrap();
        let statistics = tensors.iter().filter(|t| !t.trainable);
        let statistics = statistics.map(|t| wide(after.get(0, &t.name).unwrap())).collect();
        ExperimentResult { loss, result, gradients, statistics, instructions: self.step.program().len() }
    }
}

impl Runner<'_, f64> {
    fn loss_at(&mut self, name: &str, values: &[f64]) -> f64 {
        self.parameters.set(0, name, values).unwrap();
        self.loss()
    }

    fn compare(&mut self, name: &str, entry: usize, analytic: f64, loss: f64) {
        let centre = self.parameters.get(0, name).unwrap().to_vec();
        let mut moved = centre.clone();
        moved[entry] = centre[entry] + STEP;
        let above = self.loss_at(name, &moved);
        moved[entry] = centre[entry] - STEP;
        let below = self.loss_at(name, &moved);
        self.parameters.set(0, name, &centre).unwrap();
        let numeric = (above - below) / (2.0 * STEP);
        // The second term is the rounding of the two losses, magnified by the division.
        let allowed = 1e-6 * analytic.abs().max(numeric.abs()) + 1e-9 * (1.0 + loss.abs());
        assert!(
            (analytic - numeric).abs() <= allowed,
            "{}: gradient of `{name}`[{entry}] is {analytic}, the finite difference is {numeric}",
            self.experiment.label
        );
    }
}

/// The largest distance between two lists, relative to the largest value.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    // What is 0 but for rounding must not be compared with itself.
    let size = b.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
    let apart = a.iter().zip(b).fold(0.0f64, |m, (a, b)| {
        assert!(a.is_finite() && b.is_finite());
        m.max((a - b).abs())
    });
    apart / size
}

/// Results, gradients and statistics of two measurements agree.
pub(crate) fn assert_same(label: &str, a: &ExperimentResult, b: &ExperimentResult, allowed: f64) {
    let apart = distance(&a.result, &b.result);
    assert!(apart <= allowed, "{label}: results differ by {apart}");
    assert_eq!(a.gradients.len(), b.gradients.len(), "{label}");
    for ((name, x), (_, y)) in a.gradients.iter().zip(&b.gradients) {
        match (x, y) {
            (Some(x), Some(y)) => {
                let apart = distance(x, y);
                assert!(apart <= allowed, "{label}: gradients of `{name}` differ by {apart}");
            }
            (None, None) => {}
            _ => panic!("{label}: only one of two has a gradient of `{name}`"),
        }
    }
    for (x, y) in a.statistics.iter().zip(&b.statistics) {
        let apart = distance(x, y);
        assert!(apart <= allowed, "{label}: statistics differ by {apart}");
    }
}

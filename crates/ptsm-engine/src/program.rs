//! A graph made ready to run on a device.

use crate::backend::{Executable, RunInputs};
use crate::compile::{CompileRequest, compile};
use crate::cost::ProfileEntry;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::feed::{self, Feed};
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::lower::Mode;
use crate::optimizer::{Optimizer, Update};
use crate::parameters::Parameters;

/// A compiled graph. Makes its values for all replicas at once; changes nothing outside itself.
pub struct Program<T> {
    executable: Box<dyn Executable<T>>,
    replicas: usize,
    /// Runs made by each replica: the step that random numbers are drawn for.
    runs: Vec<u32>,
    /// Of the tensors it was compiled for.
    signature: u64,
    /// All inputs the graph has, needed here or not.
    declared: Vec<String>,
}

impl<T: Real> Program<T> {
    /// Compiles what is needed for some values, in one mode, for R replicas.
    pub fn new(
        graph: &Graph,
        mode: Mode,
        outputs: &[Id],
        replicas: usize,
        device: impl Into<Device>,
    ) -> Result<Program<T>> {
        let request = CompileRequest { outputs, ..CompileRequest::default() };
        Self::compile(graph, mode, request, None, replicas, &device.into())
    }

    /// Compiles what is needed for some values of a network that is applied ([`Mode::Infer`]) and for the gradient of a scalar with
    /// respect to an input. The gradient, of the input's shape, comes after the other outputs.
    pub fn with_gradient(
        graph: &Graph,
        outputs: &[Id],
        of: Id,
        input: &str,
        replicas: usize,
        device: impl Into<Device>,
    ) -> Result<Program<T>> {
        let request = CompileRequest { outputs, traced: Some((of, input)), ..CompileRequest::default() };
        Self::compile(graph, Mode::Infer, request, None, replicas, &device.into())
    }

    /// The same for what a training step needs too.
    pub(crate) fn compile(
        graph: &Graph,
        mode: Mode,
        request: CompileRequest<'_>,
        optimizer: Option<Optimizer>,
        replicas: usize,
        device: &Device,
    ) -> Result<Program<T>> {
        if replicas == 0 {
            return Err(Error::Program("a program needs at least 1 replica".into()));
        }
        let began = std::time::Instant::now();
        let backend = device.backend::<T>();
        let plan = compile(graph, mode, request, &backend.memory_rules())?;
        let program = Program {
            executable: backend.compile(plan, optimizer, replicas)?,
            replicas,
            runs: vec![0; replicas],
            signature: Graph::signature(graph.tensors()),
            declared: graph.inputs().iter().map(|i| i.name.clone()).collect(),
        };
        tracing::debug!(
            ?mode,
            replicas,
            operations = program.len(),
            bytes = program.bytes(),
            seconds = began.elapsed().as_secs_f64(),
            "compiled a graph"
        );
        Ok(program)
    }

    /// Number of replicas.
    pub fn replicas(&self) -> usize {
        self.replicas
    }

    /// The program's own memory in bytes, all replicas: activations, gradients and workspace.
    pub fn bytes(&self) -> usize {
        self.executable.bytes()
    }

    /// Number of operations in one run; on a GPU, of kernels.
    pub fn len(&self) -> usize {
        self.executable.operations()
    }

    /// Whether a run does nothing but pass values on.
    pub fn is_empty(&self) -> bool {
        self.executable.plan().instructions.is_empty()
    }

    /// Computes all outputs. Inputs are given by name, each one the program needs exactly once.
    pub fn run(&mut self, parameters: &Parameters<T>, feeds: &[(&str, Feed<'_, T>)]) -> Result<()> {
        self.forward(parameters, feeds, None)
    }

    /// The same for some replicas; the outputs of the others stay what they were.
    pub fn run_some(
        &mut self,
        parameters: &Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        active: &[bool],
    ) -> Result<()> {
        if active.len() != self.replicas {
            let (r, n) = (self.replicas, active.len());
            return Err(Error::Program(format!("{r} replicas need {r} active flags, got {n}")));
        }
        self.forward(parameters, feeds, Some(active))
    }

    pub(crate) fn forward(
        &mut self,
        parameters: &Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        active: Option<&[bool]>,
    ) -> Result<()> {
        self.check(parameters, feeds)?;
        self.executable.run(parameters, RunInputs { feeds, active, runs: &self.runs })?;
        self.count_run(active);
        Ok(())
    }

    /// Begins a run that also moves the parameters; see [`Executable::step`].
    pub(crate) fn step(
        &mut self,
        parameters: &mut Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
        updates: &[Update],
        active: &[bool],
    ) -> Result<()> {
        self.check(parameters, feeds)?;
        let inputs = RunInputs { feeds, active: Some(active), runs: &self.runs };
        self.executable.step(parameters, inputs, updates, active)?;
        self.count_run(Some(active));
        Ok(())
    }

    fn count_run(&mut self, active: Option<&[bool]>) {
        let active = |r: usize| active.is_none_or(|active| active[r]);
        for (_, runs) in self.runs.iter_mut().enumerate().filter(|(r, _)| active(*r)) {
            *runs = runs.wrapping_add(1);
        }
    }

    fn check(&self, parameters: &Parameters<T>, feeds: &[(&str, Feed<'_, T>)]) -> Result<()> {
        self.fits(parameters)?;
        let needed = self.executable.plan().inputs.iter().map(|(input, _)| input);
        feed::check(feeds, &self.declared, needed, self.replicas)
    }

    pub(crate) fn fits(&self, parameters: &Parameters<T>) -> Result<()> {
        let (own, theirs) = (self.replicas, parameters.replicas.len());
        if own != theirs {
            return Err(Error::Program(format!(
                "compiled for {own} replicas, got parameters of {theirs} replicas"
            )));
        }
        if self.signature == parameters.signature {
            return Ok(());
        }
        let (own, theirs) = (&self.executable.plan().tensors, &parameters.tensors);
        if own.len() != theirs.len() {
            return Err(Error::Program(format!(
                "compiled for a network of {} tensors, got parameters of one with {}",
                own.len(),
                theirs.len()
            )));
        }
        let differs = own.iter().zip(theirs).find(|(a, b)| (&a.name, &a.shape) != (&b.name, &b.shape));
        let Some((a, b)) = differs else { return Ok(()) };
        Err(Error::Tensor {
            name: a.name.clone(),
            message: format!(
                "has the shape {:?} here, the parameters given have `{}` {:?}",
                a.shape, b.name, b.shape
            ),
        })
    }

    /// An output's values in one replica after a run; `output` counts as they were given to `new`. An output that is itself a tensor is
    /// what the last run of this program saw, or what a training step has moved it to.
    ///
    /// # Panics
    /// Like a slice, where there is no such replica or output.
    pub fn output<'a>(&'a self, _parameters: &'a Parameters<T>, replica: usize, output: usize) -> &'a [T] {
        self.executable.output(replica, output)
    }

    /// An output's shape.
    ///
    /// # Panics
    /// Like a slice, where there is no such output.
    pub fn output_shape(&self, output: usize) -> &[usize] {
        &self.executable.plan().outputs[output].1
    }

    /// What runs it.
    pub(crate) fn executable(&self) -> &dyn Executable<T> {
        &*self.executable
    }

    /// The same, to be changed.
    pub(crate) fn executable_mut(&mut self) -> &mut dyn Executable<T> {
        &mut *self.executable
    }

    /// Runs of a replica so far.
    pub(crate) fn runs(&self, replica: usize) -> u32 {
        self.runs[replica]
    }

    pub(crate) fn set_runs(&mut self, replica: usize, runs: u32) {
        self.runs[replica] = runs;
    }

    /// Runs the first replica and returns what each operation of each shape took, longest first. On a GPU it is all replicas and each
    /// kernel by itself; a step's profile there moves parameters.
    pub fn profile(
        &mut self,
        parameters: &Parameters<T>,
        feeds: &[(&str, Feed<'_, T>)],
    ) -> Result<Vec<ProfileEntry>> {
        self.check(parameters, feeds)?;
        let inputs = RunInputs { feeds, active: None, runs: &self.runs };
        let mut entries = self.executable.profile(parameters, inputs)?;
        entries.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        Ok(entries)
    }
}

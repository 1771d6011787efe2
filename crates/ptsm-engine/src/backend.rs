//! What a device does for the rest of the engine: compile a plan, run it, move parameters, hand values back. The processor
//! (`processor.rs`) and NVIDIA GPUs (`cuda/`) implement it; programs and training steps know nothing else of either.
//!
//! Parameters are brought to a device's memory and back through `DeviceTensors` (`parameters.rs`), data sets through `Table::resident`.

use crate::cost::ProfileEntry;
use crate::error::Result;
use crate::feed::Feed;
use crate::optimizer::{Optimizer, STATES, Update};
use crate::parameters::Parameters;
use crate::plan::{ExecutionPlan, MemoryRules};

/// A device that programs in `T` can be compiled for.
pub(crate) trait Backend<T> {
    /// What a plan for this device has to observe.
    fn memory_rules(&self) -> MemoryRules;

    /// Makes a plan ready to run for R replicas; with an optimizer, also to move their parameters.
    fn compile(
        &self,
        plan: ExecutionPlan,
        optimizer: Option<Optimizer>,
        replicas: usize,
    ) -> Result<Box<dyn Executable<T>>>;
}

/// What a run gets. Feeds are checked, parameters fit.
#[derive(Clone, Copy)]
pub(crate) struct RunInputs<'a, T> {
    pub(crate) feeds: &'a [(&'a str, Feed<'a, T>)],
    /// Replicas that take part; all where nothing is said.
    pub(crate) active: Option<&'a [bool]>,
    /// Runs that each replica has made before: the step that its random numbers are drawn for.
    pub(crate) runs: &'a [u32],
}

impl<T> RunInputs<'_, T> {
    /// Whether a replica takes part.
    pub(crate) fn is_active(&self, replica: usize) -> bool {
        self.active.is_none_or(|active| active[replica])
    }
}

/// State tensors of all moved tensors of one replica, in the plan's order; empty beyond what the optimizer keeps.
pub(crate) type States<T> = Vec<[Vec<T>; STATES]>;

/// A plan on a device, with its memory there.
pub(crate) trait Executable<T>: Send + Sync {
    fn plan(&self) -> &ExecutionPlan;

    /// Operations or kernels in one run.
    fn operations(&self) -> usize;

    /// Bytes of activations, gradients and workspace, all replicas.
    fn bytes(&self) -> usize;

    /// Bytes of the optimizer's state, all replicas.
    fn state_bytes(&self) -> usize;

    /// Computes all values, and waits for them.
    fn run(&mut self, parameters: &Parameters<T>, inputs: RunInputs<'_, T>) -> Result<()>;

    /// Moves the parameters of active replicas by the gradients of the last run, and waits for it. `updates` has one for each replica. A
    /// replica whose gradient is not finite keeps its parameters; its [norm](Self::gradient_norm) tells.
    fn update(&mut self, parameters: &mut Parameters<T>, updates: &[Update], active: &[bool]) -> Result<()>;

    /// Both at once. A device may return before it is done: see [`in_flight`](Self::in_flight).
    fn step(
        &mut self,
        parameters: &mut Parameters<T>,
        inputs: RunInputs<'_, T>,
        updates: &[Update],
        active: &[bool],
    ) -> Result<()>;

    /// Steps that may be in flight at once.
    fn most_in_flight(&self) -> usize;

    /// Steps that were begun and not waited for.
    fn in_flight(&self) -> usize;

    /// Waits for the oldest step in flight; its outputs can be read then.
    fn synchronize(&mut self) -> Result<()>;

    /// An output's values. Those of a tensor are as the last run or update of this program left them.
    fn output(&self, replica: usize, output: usize) -> &[T];

    /// The gradient of a moved tensor, by its place in the plan; none where no loss depends on the tensor.
    fn gradient<'a>(
        &'a self,
        parameters: &'a Parameters<T>,
        replica: usize,
        gradient: usize,
    ) -> Result<Option<&'a [T]>>;

    /// Norm of the gradient at the last update of a replica, before clipping.
    fn gradient_norm(&self, replica: usize) -> f64;

    /// What the optimizer keeps for a replica.
    fn states(&self, replica: usize) -> Result<States<T>>;

    /// Replaces it; the lengths are checked.
    fn set_states(&mut self, replica: usize, states: &[[Vec<T>; STATES]]) -> Result<()>;

    /// What each operation takes, in no order.
    fn profile(&mut self, parameters: &Parameters<T>, inputs: RunInputs<'_, T>) -> Result<Vec<ProfileEntry>>;
}

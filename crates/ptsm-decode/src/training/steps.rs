//! One training step: discriminator steps first, one after the other, then the step of the network.

use ptsm_engine::{Adam, Checkpoint, Device, Feed, Parameters, Result, Step};

use crate::network::Network;

/// All steps over one set of parameters, each with an optimizer of its own.
pub(super) struct Steps {
    discriminators: Vec<Step<f32>>,
    main: Step<f32>,
}

impl Steps {
    pub(super) fn new(network: &Network, adam: Adam, slots: usize, device: &Device) -> Result<Steps> {
        let discriminators = network.discriminator_steps(adam);
        let discriminators = discriminators.iter().map(|spec| Step::new(&network.graph, spec, slots, device));
        Ok(Steps {
            discriminators: discriminators.collect::<Result<_>>()?,
            main: Step::new(&network.graph, &network.step(adam), slots, device)?,
        })
    }

    fn all(&self) -> impl Iterator<Item = &Step<f32>> {
        self.discriminators.iter().chain([&self.main])
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Step<f32>> {
        self.discriminators.iter_mut().chain([&mut self.main])
    }

    pub(super) fn bytes(&self) -> usize {
        self.all().map(Step::bytes).sum()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.main.in_flight()
    }

    pub(super) fn max_in_flight(&self) -> usize {
        self.main.max_in_flight()
    }

    /// Begins all of them; a device makes them in this order, each on what the one before has moved.
    pub(super) fn start(
        &mut self,
        parameters: &mut Parameters<f32>,
        feeds: &[(&str, Feed<'_, f32>)],
        rates: &[f64],
        active: &[bool],
    ) -> Result<()> {
        self.all_mut().try_for_each(|step| step.start(parameters, feeds, rates, active))
    }

    /// Decay of the first moment from the next step on.
    pub(super) fn set_first_beta(&mut self, replica: usize, beta: f64) -> Result<()> {
        self.all_mut().try_for_each(|step| step.set_first_beta(replica, beta))
    }

    /// Waits for the oldest that were begun.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.all_mut().try_for_each(Step::finish)
    }

    /// A loss of the network as it was when it moved.
    pub(super) fn loss(&self, parameters: &Parameters<f32>, replica: usize, loss: usize) -> f64 {
        f64::from(self.main.output(parameters, replica, loss)[0])
    }

    pub(super) fn reset(&mut self, replica: usize) -> Result<()> {
        self.all_mut().try_for_each(|step| step.reset(replica))
    }

    pub(super) fn checkpoint(&self, replica: usize) -> Result<Vec<Checkpoint<f32>>> {
        self.all().map(|step| step.checkpoint(replica)).collect()
    }

    /// Continues where checkpoints of all optimizers were taken.
    pub(super) fn restore(&mut self, replica: usize, from: &[Checkpoint<f32>]) -> Result<()> {
        self.all_mut().zip(from).try_for_each(|(step, from)| step.restore(replica, from))
    }
}

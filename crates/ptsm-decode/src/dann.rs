//! DANN: features that tell the class and not the domain, by turning a domain head's gradient round.
//!
//! Paper: Ganin et al. 2016, JMLR 17(59); subjects as domains: Özdenizci et al. 2020, doi:10.1109/ACCESS.2020.2971600.
//!
//! ```text
//! x [B,C,T] -> encoder -> features [B,F] -> class head  -> logits [B,K]
//!                               \-> reversal -> domain head -> logits [B,domains]   (training only)
//! ```
//!
//! The reversal passes values on and multiplies gradients by `-lambda`. The loss is `CE_class + weight * CE_domain`; classes are asked of
//! trials with labels alone, the mean over domains is over the whole batch.
//!
//! | domains | what they are | target access | usual head, weight, lambda |
//! | --- | --- | --- | --- |
//! | `uda` | the training subjects, the target | transductive | 128 hidden, 1, ramp |
//! | `uda-multi` | each training subject, the target | transductive | linear, 0.03, 1 |
//! | `subject` | each training subject | none | linear, 0.03, 1 |
//!
//! Differs: see [`DANN`].
//!
//! Parameters on EEGNet at C=62, T=512, K=2 while learning: 35 764 with `uda`, 16 231 with the 53 domains of `subject`; 2610
//! remain (held by a test).

use std::fmt::Debug;

use ptsm_engine::{Graph, Id, Objective};
use ptsm_signal::{Layout, TargetAccess};
use serde::{Deserialize, Serialize};

use crate::eegnet::EegNet;
use crate::error::{Error, Result};
use crate::layers::{linear, weighted};
use crate::method::Method;
use crate::network::{Architecture, Batches, Encoder, Network, TrialBatch};
use crate::ptsm::{self, Ptsm};
use crate::settings::positive;
use crate::training::{Recipe, Training};

/// DANN on EEGNet against the target's domain.
pub const DANN: Method = Method {
    name: "dann",
    about: "EEGNet whose features must not tell the training subjects from the test subjects",
    paper: "Ganin et al. 2016",
    differs: DIFFERS,
    target_access: TargetAccess::WHOLE,
    ..Method::network::<Dann<EegNet>>(|layout| on_eegnet(layout, Domains::Uda))
};

/// DANN on EEGNet against the training subjects.
pub const DANN_SUBJECT: Method = Method {
    name: "dann-subject",
    about: "EEGNet whose features must not tell the training subjects from each other",
    paper: "Ganin et al. 2016; Özdenizci et al. 2020",
    doi: "10.1109/ACCESS.2020.2971600",
    differs: DIFFERS,
    ..Method::network::<Dann<EegNet>>(|layout| on_eegnet(layout, Domains::Subject))
};

/// DANN on PTSM's encoder against the target's domain.
pub const PTSM_DANN: Method = Method {
    name: "ptsm-dann",
    about: "the same as `dann` on PTSM's masks and encoder, without its subject branch",
    paper: "Ganin et al. 2016; Jing et al., AAAI 2026",
    differs: DIFFERS,
    target_access: TargetAccess::WHOLE,
    ..Method::network::<Dann<Ptsm>>(|layout| on_ptsm(layout, Domains::Uda))
};

/// DANN on PTSM's encoder against the training subjects.
pub const PTSM_DANN_SUBJECT: Method = Method {
    name: "ptsm-dann-subject",
    about: "the same as `dann-subject` on PTSM's masks and encoder, without its subject branch",
    paper: "Ganin et al. 2016; Jing et al., AAAI 2026",
    differs: DIFFERS,
    ..Method::network::<Dann<Ptsm>>(|layout| on_ptsm(layout, Domains::Subject))
};

const DIFFERS: &str = "An epoch is one pass over the labelled trials, the target's begin anew as often as needed (the paper's port ends with the shorter of the two, which for one subject's trials is a step or two). Source and target go through batch norm together. With `uda-multi` the target subjects are one domain, since they are not told apart. On PTSM's encoder the losses of its masks stay, those of its subject branch go with the branch. \
                       On EEGNet the weight of the domains and their head are those of Kobler et al.'s comparison (0.03, linear) for `subject` and `uda-multi`; the ramp and a head of 128 hidden numbers for `uda`, where the domains' loss is one mean over source and target (the port adds two). \
                       Adam at 1e-3 with an L2 penalty of 1e-4 in place of SGD with a falling rate; 60 epochs at most, 15 without improvement, the epoch of highest validation accuracy; the ramp follows the 60 epochs. Validation subjects are source subjects, and their labels alone choose the epoch. \
                       Networks other than EEGNet and PTSM's are not offered. Temperature and offsets of the probabilities are fitted on the validation subjects afterwards.";

fn on_eegnet(layout: &Layout, domains: Domains) -> Recipe {
    Recipe { training: Training::adversarial(), ..Recipe::new(Dann::on(EegNet::for_layout(layout), domains)) }
}

fn on_ptsm(layout: &Layout, domains: Domains) -> Recipe {
    Recipe {
        training: Training::adversarial(),
        augment: ptsm::mirroring(layout),
        ..Recipe::new(Dann::on(Ptsm::pooled_after_each_layer(), domains))
    }
}

/// What the features must not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domains {
    /// Whether a trial is of a training subject or of the target.
    Uda,
    /// Which training subject a trial is of, or of the target.
    UdaMulti,
    /// Which training subject a trial is of.
    Subject,
}

/// How strongly the encoder goes against the domain head, `lambda`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reversal {
    /// As [`ramp`] says.
    Ramp,
    /// Always as strongly.
    Fixed(f64),
}

/// Configuration of DANN on some encoder; the default is `uda`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dann<E> {
    /// The network whose features are turned against domains.
    pub encoder: E,
    /// What the domains are.
    pub domains: Domains,
    /// Hidden width of the domain head; none for a linear one.
    pub hidden: Option<usize>,
    /// Weight of the domains' loss, `mu`: it slows the domain head down as well.
    pub weight: f64,
    /// Factor of the reversed gradient.
    pub reversal: Reversal,
}

impl<E: Default> Default for Dann<E> {
    fn default() -> Dann<E> {
        Dann::on(E::default(), Domains::Uda)
    }
}

/// `lambda(p) = 2 / (1 + exp(-10 p)) - 1`
pub fn ramp(progress: f64) -> f64 {
    2.0 / (1.0 + (-10.0 * progress).exp()) - 1.0
}

/// The input that the ramp is fed to.
const LAMBDA: &str = "lambda";

impl<E> Dann<E> {
    /// The usual form for some domains.
    pub fn on(encoder: E, domains: Domains) -> Dann<E> {
        match domains {
            Domains::Uda => {
                Dann { encoder, domains, hidden: Some(128), weight: 1.0, reversal: Reversal::Ramp }
            }
            Domains::UdaMulti | Domains::Subject => {
                Dann { encoder, domains, hidden: None, weight: 0.03, reversal: Reversal::Fixed(1.0) }
            }
        }
    }

    fn check(&self) -> Result<()> {
        positive("hidden", self.hidden.unwrap_or(1))?;
        let Reversal::Fixed(fixed) = self.reversal else { return finite("weight", self.weight) };
        finite("weight", self.weight)?;
        finite("reversal", fixed)
    }

    /// The labels of the domains.
    fn labels(&self, g: &mut Graph, trials: TrialBatch<'_>) -> Result<(Id, usize)> {
        let subjects = trials.shape.subjects;
        let (name, domains) = match self.domains {
            Domains::Uda => ("domain", 2),
            Domains::UdaMulti => ("subject", subjects + 1),
            Domains::Subject => ("subject", subjects),
        };
        let labels = g.labels(name, &[trials.size], domains)?;
        Ok((trials.for_rows(g, labels)?, domains))
    }

    /// What turns gradients round, with the inputs it needs.
    fn lambda(&self, g: &mut Graph) -> Result<Id> {
        Ok(match self.reversal {
            Reversal::Ramp => g.input(LAMBDA, &[])?,
            Reversal::Fixed(factor) => g.constant(factor)?,
        })
    }

    fn head(&self, g: &mut Graph, features: Id, domains: usize) -> Result<Id> {
        let Some(hidden) = self.hidden else { return linear(g, "0", features, domains) };
        let h = linear(g, "0", features, hidden)?;
        let h = g.relu(h)?;
        linear(g, "1", h, domains)
    }
}

impl<E: Encoder + Debug + Serialize + Send + Sync> Architecture for Dann<E> {
    fn name(&self) -> &'static str {
        E::ADVERSARIAL_NAME
    }

    fn batches(&self) -> Batches {
        match self.domains {
            Domains::Uda | Domains::UdaMulti => Batches::WithTarget,
            Domains::Subject => Batches::Subjects,
        }
    }

    /// Without training subjects, the encoder and its class head alone.
    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let TrialBatch { shape, size: batch, .. } = trials;
        self.check()?;
        let (mut g, x) = trials.graph()?;
        let learns = shape.subjects > 0;
        let labelled = match self.batches() {
            Batches::WithTarget if learns => batch.div_ceil(2),
            _ => batch,
        };
        let task = g.labels("task", &[labelled], shape.classes)?;
        let trunk = self.encoder.trunk(&mut g, x, shape)?;
        let logits = trials.logits(&mut g, trunk.logits)?;
        let task_loss = g.scoped("loss.task", |g| -> Result<Id> {
            let logits = if labelled == batch { logits } else { g.slice(logits, 0, 0, labelled)? };
            Ok(g.cross_entropy(logits, task, trunk.smoothing)?)
        })?;
        let (mut losses, mut all) = (vec![("task", task_loss)], vec![(1.0, task_loss)]);
        for (name, weight, loss) in trunk.others {
            losses.push((name, loss));
            all.push((weight, loss));
        }
        let mut values = trunk.values;
        values.push(("features", trunk.features));
        let mut ramps = vec![];
        if learns {
            let (labels, domains) = self.labels(&mut g, trials)?;
            let lambda = self.lambda(&mut g)?;
            let (logits, loss) = g.scoped("domain_head", |g| -> Result<_> {
                let turned = g.reverse_gradient(trunk.features, lambda)?;
                let turned = g.by_mode(turned, trunk.features)?;
                let logits = self.head(g, turned, domains)?;
                Ok((logits, g.cross_entropy(logits, labels, 0.0)?))
            })?;
            losses.push(("domain", loss));
            all.push((self.weight, loss));
            values.push(("domain_logits", logits));
            if self.reversal == Reversal::Ramp {
                ramps.push((LAMBDA, ramp as fn(f64) -> f64));
            }
        }
        let total = g.scoped("loss", |g| weighted(g, &all))?;
        let Some(total) = total else { unreachable!("the task's loss has weight 1") };
        let objectives = vec![Objective::new(&g, total, |_| true)];
        let values = trials.recorded(&mut g, values)?;
        let network = Network::new(g, logits, task_loss);
        Ok(Network { total, losses, values, objectives, ramps, ..network })
    }
}

fn finite(name: &str, number: f64) -> Result<()> {
    if number.is_finite() && number >= 0.0 {
        return Ok(());
    }
    Err(Error::Configuration(format!("`{name}` must be a number not below 0, got {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_is_that_of_ganin_et_al() {
        for (part, lambda) in [
            (0.0, 0.0),
            (0.05, 0.2449186624),
            (0.1, 0.4621171573),
            (0.25, 0.8482836400),
            (0.5, 0.9866142982),
            (1.0, 0.9999092043),
        ] {
            assert!((ramp(part) - lambda).abs() < 1e-10, "{part}: {}", ramp(part));
        }
    }

    #[test]
    fn the_numbers_it_learns_are_those_stated() {
        let count = |dann: Dann<EegNet>, subjects: usize| {
            let shape = crate::network::TrialShape { channels: 62, time: 512, classes: 2, subjects };
            dann.build(shape.batch(2)).unwrap().graph.parameter_count()
        };
        let on = |domains| Dann::on(EegNet::default(), domains);
        assert_eq!(count(on(Domains::Uda), 53), 35_764);
        assert_eq!(count(Dann { hidden: None, ..on(Domains::Uda) }, 53), 3124);
        assert_eq!(count(on(Domains::Subject), 53), 16_231);
        assert_eq!(count(on(Domains::UdaMulti), 53), 16_231 + 257);
        assert_eq!(count(on(Domains::Uda), 0), 2610);
    }
}

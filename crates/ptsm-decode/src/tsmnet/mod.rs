//! TSMNet: a network whose last layers work on covariances, normalised for every session of every subject.
//!
//! Paper: Kobler et al. 2022, doi:10.48550/arXiv.2206.01323
//!
//! ```text
//! [C,T] -> temporal conv 4 x 0.1 s, ends reflected -> spatial conv 40 -> covariance over time [40,40]
//!       -> bilinear map W'SW, W orthonormal [20,20] -> eigenvalues at least 1e-4 -> SPD batch norm of the domain
//!       -> matrix logarithm, as a vector [210] -> linear -> [K]
//! ```
//!
//! `tsmnet` has statistics for every domain, a session of a subject. A subject is decoded after their own statistics were found from
//! their trials without labels ([`FittedDecoder::adapt_unlabelled`]); only a mean and a variance are estimated from them.
//! `tsmnet-spdmbn` has one set of statistics, found from the training trials, and sees nothing of a subject.
//!
//! Differs: see [`TSMNET`].
//!
//! Parameters at C=62, K=2, kernel 25: 11287.

mod batches;
mod convolution;
mod fitted;
#[cfg(test)]
mod golden;
mod momentum;
mod network;
mod norm;
mod optimizer;
mod replicas;
mod spectral;
mod weights;

use ptsm_engine::Device;
use ptsm_signal::{Layout, TargetAccess, Unlabelled};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::classic::matrices::Matrices;
use crate::decoder::{Decoder, FitSink, FittedDecoder, Job, Run, Watch};
use crate::error::{Error, Result};
use crate::method::{Method, ModelFile};
use crate::settings::{eeg_rate_hz, from_value, to_value};
use crate::training::{LrSchedule, MOST_EPOCHS, Select, Training, check_parameters};
use fitted::FittedTsmNet;
pub use momentum::Momentum;
use weights::Sizes;

/// TSMNet with statistics for every session of every subject.
pub const TSMNET: Method = Method {
    name: "tsmnet",
    about: "covariances of convolved trials, normalised by each session's own unlabelled trials on their curved space",
    paper: "Kobler et al. 2022",
    doi: "10.48550/arXiv.2206.01323",
    differs: DIFFERS,
    target_access: TargetAccess::WHOLE,
    ..Method::own(
        |layout| to_value(&TsmNet::defaults(layout)),
        |settings| decoder(settings, Normalisation::ByDomain),
        |file, device| load(file, device, Normalisation::ByDomain),
    )
};

/// TSMNet with one set of statistics.
pub const TSMNET_SPDMBN: Method = Method {
    name: "tsmnet-spdmbn",
    about: "the same with one normalisation for all subjects, found from the training trials",
    paper: "Kobler et al. 2022",
    doi: "10.48550/arXiv.2206.01323",
    differs: DIFFERS,
    ..Method::own(
        |layout| to_value(&TsmNet::defaults(layout)),
        |settings| decoder(settings, Normalisation::Globally),
        |file, device| load(file, device, Normalisation::Globally),
    )
};

const DIFFERS: &str = "Validation uses whole subjects, whose statistics are found as at test time, in place of a fifth of each subject's trials. Trials of any unit are multiplied with one number, learnt from the training trials, that gives the middle one the size of EEG in microvolts: the bound on eigenvalues means nothing otherwise. Weights are kept in double precision; the convolutions work in single precision. \
                       Momentum of the statistics for testing follows the paper (0.15 to 0.03 of each batch), where the published code hands over its complement; the statistics that decode are found anew all the same. Rates other than 250 Hz: a kernel of 0.1 s. \
                       The authors decode 4-36 Hz at 250 Hz in microvolts, of OpenBMI 20 channels over the motor cortex from 1 to 3.5 s; which trials are decoded here is up to the pipeline. All 50 epochs are done and that of lowest validation loss is kept, as by them; `recipe = \"common\"` is refused, since its steps are its own.";

fn checked(settings: Value) -> Result<TsmNet> {
    let settings = from_value::<TsmNet>(settings)?;
    settings.check()?;
    Ok(settings)
}

fn decoder(settings: Value, normalised: Normalisation) -> Result<Box<dyn Decoder>> {
    Ok(Box::new(TsmNetDecoder { settings: checked(settings)?, normalised }))
}

fn load(file: &ModelFile<'_>, device: &Device, normalised: Normalisation) -> Result<Box<dyn FittedDecoder>> {
    let settings = checked(file.settings.clone())?;
    let matrices = Matrices::new(file.path, file.bytes);
    Ok(Box::new(FittedTsmNet::load(&matrices, settings, normalised, file.layout, device)?))
}

/// Whose statistics trials are normalised with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Normalisation {
    /// Those of their own session.
    ByDomain,
    /// Those of all training trials.
    Globally,
}

/// Settings of TSMNet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TsmNet {
    /// How large it is.
    pub network: TsmNetStructure,
    /// How it is trained.
    pub training: TsmNetTraining,
}

/// How large the network is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TsmNetStructure {
    /// Temporal filters.
    pub filters: usize,
    /// Their taps.
    pub kernel: usize,
    /// Spatial filters.
    pub outputs: usize,
    /// Side of the matrices that are normalised.
    pub subspace: usize,
    /// The least their eigenvalues may be.
    pub least_eigenvalue: f64,
    /// What the middle training trial is brought to, by one number for all trials: root mean square over channels and time.
    pub amplitude_uv: f64,
}

impl Default for TsmNetStructure {
    fn default() -> TsmNetStructure {
        TsmNetStructure {
            filters: 4,
            kernel: 25,
            outputs: 40,
            subspace: 20,
            least_eigenvalue: 1e-4,
            amplitude_uv: 10.0,
        }
    }
}

/// How the network is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TsmNetTraining {
    /// Epochs, all of which are done.
    pub epochs: usize,
    /// Which epoch is kept.
    pub select: Select,
    /// TsmNetTraining rate, constant.
    pub rate: f64,
    /// Weight decay, of all but the orthonormal matrix.
    pub weight_decay: f64,
    /// Domains (sessions of subjects) in a batch.
    pub batch_domains: usize,
    /// Trials of each of them. Where there is one set of statistics, a batch has as many trials of anybody.
    pub batch_trials: usize,
    /// How fast statistics follow the batches.
    pub momentum: Momentum,
}

impl Default for TsmNetTraining {
    fn default() -> TsmNetTraining {
        TsmNetTraining {
            epochs: 50,
            select: Select::Loss,
            rate: 1e-3,
            weight_decay: 1e-4,
            batch_domains: 5,
            batch_trials: 10,
            momentum: Momentum::Scheduled,
        }
    }
}

impl TsmNetTraining {
    /// What of it the common trainer follows: one rate, and no early end.
    fn common(&self) -> Training {
        let (epochs, select, rate) = (self.epochs, self.select, self.rate);
        Training { epochs, patience: None, select, rate, course: LrSchedule::Constant, ..Training::default() }
    }
}

/// More than anybody wants: a slip of the keyboard.
const MOST_BATCH: usize = 1 << 12;
const MOST_FILTERS: usize = 512;
/// Numbers that a job may hold at once: up to 8 GiB.
const MOST_NUMBERS: usize = 1 << 30;
/// Copies of the network that a job holds: now, best, two moments, gradients.
const COPIES: usize = 5;

impl TsmNet {
    /// The settings for trials when nobody changes them: a temporal kernel of a tenth of a second.
    pub(crate) fn defaults(layout: &Layout) -> TsmNet {
        let mut settings = TsmNet::default();
        if let Some(rate_hz) = eeg_rate_hz(layout) {
            settings.network.kernel = (0.1 * rate_hz).round() as usize;
        }
        // Trials that are shorter than that cannot be reflected.
        settings.network.kernel = settings.network.kernel.min(layout.samples).max(1);
        settings
    }

    /// Refuses settings that no trials can make good.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::Configuration(message));
        let (n, t) = (&self.network, &self.training);
        for (name, value, least, most) in [
            ("network.filters", n.filters, 1, MOST_FILTERS),
            ("network.kernel", n.kernel, 1, 1 << 16),
            ("network.outputs", n.outputs, 1, MOST_FILTERS),
            ("network.subspace", n.subspace, 1, n.outputs),
            ("training.epochs", t.epochs, 1, MOST_EPOCHS),
            ("training.batch_domains", t.batch_domains, 1, MOST_BATCH),
            ("training.batch_trials", t.batch_trials, 2, MOST_BATCH),
        ] {
            if !(least..=most).contains(&value) {
                return wrong(format!("`{name}` must be between {least} and {most}, got {value}"));
            }
        }
        for (name, value) in [
            ("network.least_eigenvalue", n.least_eigenvalue),
            ("network.amplitude_uv", n.amplitude_uv),
            ("training.rate", t.rate),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return wrong(format!("`{name}` must be above 0, got {value}"));
            }
        }
        if !(t.weight_decay.is_finite() && t.weight_decay >= 0.0) {
            return wrong(format!("`training.weight_decay` must be 0 or more, got {}", t.weight_decay));
        }
        match t.momentum {
            Momentum::Constant(share) if !(share > 0.0 && share <= 1.0) => {
                wrong(format!("`training.momentum` must be above 0 and at most 1, got {share}"))
            }
            _ => Ok(()),
        }
    }

    /// How large everything is for some trials.
    fn sizes(&self, layout: &Layout) -> Result<Sizes> {
        let n = &self.network;
        // A reflected end is as long as what is behind the kernel's middle.
        if n.kernel / 2 >= layout.samples {
            return Err(Error::Configuration(format!(
                "`network.kernel` of {} taps is too long for trials of {} samples",
                n.kernel, layout.samples
            )));
        }
        let sizes = Sizes {
            channels: layout.channels.len(),
            samples: layout.samples,
            classes: layout.classes.len(),
            filters: n.filters,
            kernel: n.kernel,
            outputs: n.outputs,
            subspace: n.subspace,
        };
        check_parameters(sizes.parameters())?;
        Ok(sizes)
    }
}

/// Refuses a job that would hold more numbers than fit: the network, what a batch of trials leaves on its way, and so many matrices.
fn check_memory(sizes: &Sizes, batch: usize, matrices: usize) -> Result<()> {
    let on_the_way = convolution::traced(sizes).saturating_mul(batch);
    let side = sizes.subspace * sizes.subspace;
    let numbers = (COPIES * sizes.parameters())
        .saturating_add(on_the_way)
        .saturating_add(side.saturating_mul(matrices));
    if numbers <= MOST_NUMBERS {
        return Ok(());
    }
    Err(Error::Configuration(format!(
        "training would hold {numbers} numbers at once, over {MOST_NUMBERS}; make `network.filters`, `network.outputs`, \
         `network.subspace` or the batch of {batch} trials smaller"
    )))
}

/// TSMNet of one kind, ready to learn.
pub(crate) struct TsmNetDecoder {
    pub(crate) settings: TsmNet,
    pub(crate) normalised: Normalisation,
}

impl Decoder for TsmNetDecoder {
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        replicas::train(self, jobs, run, watch, done)
    }

    fn check_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<()> {
        match self.normalised {
            Normalisation::ByDomain => batches::measurable(subjects.sessions()).map(|_| ()),
            Normalisation::Globally => Ok(()),
        }
    }

    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        Ok(Some(self.settings.sizes(layout)?.parameters()))
    }
}

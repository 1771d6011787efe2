//! EEGNet: compact depthwise-separable CNN.
//!
//! Paper: Lawhern et al. 2018, doi:10.1088/1741-2552/aace8c; the authors' Keras form is the reference.
//!
//! ```text
//! [B,C,T] -> temporal conv k1 (same) -> [B,F1,C,T] -> BN -> spatial depthwise (max-norm 1) -> [B,F1*D,T]
//!         -> BN, ELU, average pool 4, dropout
//!         -> depthwise conv k2 (same), pointwise conv -> [B,F2,T/4] -> BN, ELU, average pool 8, dropout
//!         -> linear (max-norm 0.25) -> [B,K]
//! ```
//!
//! Differs: see [`EEGNET`].
//!
//! Parameters at C=22, T=512, K=4: 2484 (held by a test).

use ptsm_engine::{Graph, Id, Init, Padding, Pooling};
use ptsm_signal::Layout;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::layers::weight;
use crate::method::Method;
use crate::network::{Architecture, Encoder, Network, TrialBatch, TrialShape, Trunk};
use crate::settings::{eeg_rate_hz, positive, probability};
use crate::training::{LrSchedule, Recipe, Select, Training};

/// EEGNet.
pub const EEGNET: Method = Method {
    name: "eegnet",
    about: "compact depthwise-separable network",
    paper: "Lawhern et al. 2018",
    doi: "10.1088/1741-2552/aace8c",
    differs: "Nothing in the function. The engine runs space before time and takes the first batch norm's statistics from the data's lag moments; `[B,F1,C,T]` never exists. \
              Rates other than 128 Hz: kernels of half and an eighth of a second, the latter rounded up, and from 192 Hz on poolings that are as many times longer (125 and 32 taps, 8 and 16 samples at 250 Hz); the authors resample to 128 Hz. \
              Trained as the authors did: Adam at 1e-3 without penalty or clipping, 500 epochs at most, the epoch of lowest validation loss. Training ends after 75 epochs without improvement, where the authors do all 500. \
              Batches of 64 trials have as many of each of eight subjects (the authors' example has 16 of anybody). The loss counts trials, not classes, which the authors weigh in oddball data. Trials are scaled as the pipeline says. \
              Temperature and offsets of the probabilities are fitted on the validation subjects afterwards.",
    ..Method::network::<EegNet>(|layout| Recipe {
        training: published(),
        ..Recipe::new(EegNet::for_layout(layout))
    })
};

/// As Lawhern et al. trained: Adam at one rate without penalty, the epoch of lowest validation loss. They do all 500 epochs; here training
/// ends as that of the MOABB benchmark does, after 75 epochs without a lower loss.
pub(crate) fn published() -> Training {
    Training {
        epochs: 500,
        patience: Some(75),
        select: Select::Loss,
        course: LrSchedule::Constant,
        weight_decay: 0.0,
        clip: None,
        ..Training::default()
    }
}

/// Configuration of EEGNet; the default is EEGNet-8,2 at 128 Hz, trained across subjects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EegNet {
    /// Temporal filters F1.
    pub filters: usize,
    /// Spatial filters per temporal one, D.
    pub depth: usize,
    /// Pointwise filters F2.
    pub pointwise: usize,
    /// First temporal kernel, half the sampling rate.
    pub kernel: usize,
    /// Second temporal kernel, an eighth of the sampling rate.
    pub separable_kernel: usize,
    /// The two poolings.
    pub pools: [usize; 2],
    /// Dropout: 0.25 across subjects, 0.5 within one.
    pub dropout: f64,
    /// Largest norm of a spatial filter; none for no limit.
    pub spatial_norm: Option<f64>,
    /// Largest norm of a class's weights; none for no limit.
    pub classifier_norm: Option<f64>,
    /// Label smoothing.
    pub label_smoothing: f64,
}

impl Default for EegNet {
    fn default() -> EegNet {
        EegNet {
            filters: 8,
            depth: 2,
            pointwise: 16,
            kernel: 64,
            separable_kernel: 16,
            pools: [4, 8],
            dropout: 0.25,
            spatial_norm: Some(1.0),
            classifier_norm: Some(0.25),
            label_smoothing: 0.0,
        }
    }
}

const EPS: f64 = 1e-3;
const MOMENTUM: f64 = 0.01;

impl Architecture for EegNet {
    fn name(&self) -> &'static str {
        "eegnet"
    }

    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let TrialBatch { shape, size: batch, .. } = trials;
        let (mut g, x) = trials.graph()?;
        let labels = g.labels("task", &[batch], shape.classes)?;
        let trunk = self.trunk(&mut g, x, shape)?;
        let network = Network::classifier(trials, g, trunk.logits, labels, self.label_smoothing)?;
        network.with_values(trials, vec![("features", trunk.features)])
    }
}

impl EegNet {
    /// With kernels of half and an eighth of a second and poolings to match; the defaults are for 128 Hz. The second kernel is rounded up: at
    /// 250 Hz everything but the first kernel is then twice as long, as in the published comparisons at that rate.
    pub(crate) fn for_layout(layout: &Layout) -> EegNet {
        let mut config = EegNet::default();
        if let Some(rate_hz) = eeg_rate_hz(layout) {
            let times = (rate_hz / 128.0).round().max(1.0) as usize;
            config.kernel = (rate_hz / 2.0).round() as usize;
            config.separable_kernel = (rate_hz / 8.0).ceil() as usize;
            config.pools = [4 * times, 8 * times];
        }
        config
    }

    fn check(&self, shape: TrialShape) -> Result<()> {
        probability("dropout", self.dropout)?;
        probability("label_smoothing", self.label_smoothing)?;
        for (name, n) in [
            ("filters", self.filters),
            ("depth", self.depth),
            ("pointwise", self.pointwise),
            ("kernel", self.kernel),
            ("separable_kernel", self.separable_kernel),
        ] {
            positive(name, n)?;
        }
        let least = self.pools[0].saturating_mul(self.pools[1]);
        if least == 0 || shape.time < least {
            return Err(Error::Configuration(format!(
                "EEGNet pools by {} and {}: it needs trials of at least {least} samples, got {}",
                self.pools[0], self.pools[1], shape.time
            )));
        }
        Ok(())
    }

    fn pooled(&self, g: &mut Graph, h: Id, size: usize) -> Result<Id> {
        let h = g.elu(h)?;
        let h = g.pool(h, Pooling::Average { size, stride: size })?;
        Ok(g.dropout(h, self.dropout)?)
    }
}

impl Encoder for EegNet {
    const ADVERSARIAL_NAME: &'static str = "dann";

    fn trunk(&self, g: &mut Graph, x: Id, shape: TrialShape) -> Result<Trunk> {
        self.check(shape)?;
        let (f1, maps, f2) = (self.filters, self.filters.saturating_mul(self.depth), self.pointwise);
        let c = shape.channels;
        let h = g.scoped("temporal", |g| -> Result<Id> {
            // Glorot counts a kernel's taps on both sides, here (1, k) of 1 and F1 maps.
            let w = g.parameter(
                "weight",
                &[f1, self.kernel],
                Init::glorot(self.kernel, f1.saturating_mul(self.kernel)),
            )?;
            Ok(g.temporal_conv(x, w, None, Padding::Same)?)
        })?;
        let h = g.scoped("temporal_norm", |g| g.batch_norm(h, EPS, MOMENTUM))?;
        let h = g.scoped("spatial", |g| -> Result<Id> {
            let init = Init::glorot(c, self.depth.saturating_mul(c));
            let w = weight(g, &[maps, c], init, self.spatial_norm)?;
            let w = g.reshape(w, &[maps, 1, c])?;
            Ok(g.spatial_conv(h, w, f1)?)
        })?;
        let h = g.scoped("spatial_norm", |g| g.batch_norm(h, EPS, MOMENTUM))?;
        let h = self.pooled(g, h, self.pools[0])?;
        let h = g.scoped("depthwise", |g| -> Result<Id> {
            let k = self.separable_kernel;
            let w = g.parameter("weight", &[maps, k], Init::glorot(k, k))?;
            let w = g.reshape(w, &[maps, 1, k])?;
            Ok(g.conv1d(h, w, None, maps, Padding::Same)?)
        })?;
        let h = g.scoped("pointwise", |g| -> Result<Id> {
            let w = g.parameter("weight", &[f2, maps], Init::glorot(maps, f2))?;
            let w = g.reshape(w, &[f2, maps, 1])?;
            Ok(g.conv1d(h, w, None, 1, Padding::Valid)?)
        })?;
        let h = g.scoped("separable_norm", |g| g.batch_norm(h, EPS, MOMENTUM))?;
        let h = self.pooled(g, h, self.pools[1])?;
        let features = g.scoped("classifier", |g| g.flatten(h))?;
        let logits = g.scoped("classifier", |g| -> Result<Id> {
            let n = g.shape(features)[1];
            let w = weight(g, &[shape.classes, n], Init::glorot(n, shape.classes), self.classifier_norm)?;
            let b = g.parameter("bias", &[shape.classes], Init::Constant(0.0))?;
            Ok(g.linear(features, w, Some(b))?)
        })?;
        Ok(Trunk { features, logits, smoothing: self.label_smoothing, others: vec![], values: vec![] })
    }
}

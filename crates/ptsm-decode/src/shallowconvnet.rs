//! ShallowConvNet: band power by two convolutions, a square, a mean and a logarithm.
//!
//! Paper: Schirrmeister et al. 2017, doi:10.1002/hbm.23730; braindecode's ShallowFBCSPNet is the reference, 250 Hz.
//!
//! ```text
//! [B,C,T] -> temporal conv 25, spatial conv -> [B,40,T-24] -> BN, square
//!         -> average pool 75, stride 15 -> [B,40,L] -> logarithm, dropout -> linear -> [B,K]
//! ```
//!
//! Differs: see [`SHALLOWCONVNET`].
//!
//! Parameters at C=22, T=1000, K=4: 46 084 (held by a test).

use ptsm_engine::{Id, Init, Padding, Pooling};
use serde::{Deserialize, Serialize};

use crate::deepconvnet;
use crate::error::{Error, Result};
use crate::layers::weight;
use crate::method::Method;
use crate::network::{Architecture, Network, TrialBatch};
use crate::settings::{eeg_rate_hz, positive, probability};
use crate::training::Recipe;

/// ShallowConvNet.
pub const SHALLOWCONVNET: Method = Method {
    name: "shallowconvnet",
    about: "band power by two convolutions, a square, a mean and a logarithm",
    paper: "Schirrmeister et al. 2017",
    doi: "10.1002/hbm.23730",
    differs: "Max-norm constraints (2, head 0.5) as in the original training code; none with `max_norm = null` and `head_norm = null`. The engine runs the first two convolutions as one with composed weights. The mean power is at least 1e-6 before the logarithm, as in the reference. \
              Rates other than 250 Hz: kernel and pooling of the same duration, below 180 Hz of the duration that Lawhern et al. gave them at 128 Hz. On whole trials; the authors cut them into windows. \
              Trained as `deepconvnet`, by the first stage of the authors' early stopping, with the same differences (80 epochs without improvement in place of 160, no second stage, no moving standardisation, probabilities calibrated on the validation subjects).",
    ..Method::network::<ShallowConvNet>(|layout| {
        let config = eeg_rate_hz(layout).map_or_else(ShallowConvNet::default, ShallowConvNet::at_rate);
        Recipe { training: deepconvnet::published(), ..Recipe::new(config) }
    })
};

/// Configuration of ShallowConvNet; the default is for 250 Hz.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShallowConvNet {
    /// Filters of the temporal convolution and of the spatial one.
    pub filters: usize,
    /// Temporal kernel: 100 ms at 250 Hz.
    pub kernel: usize,
    /// Samples that are averaged: 300 ms.
    pub pool: usize,
    /// Samples from one average to the next: 60 ms.
    pub stride: usize,
    /// Dropout in front of the head.
    pub dropout: f64,
    /// Largest norm of a convolution's filter; none for no limit.
    pub max_norm: Option<f64>,
    /// Largest norm of a class's weights; none for no limit.
    pub head_norm: Option<f64>,
    /// Label smoothing.
    pub label_smoothing: f64,
}

impl Default for ShallowConvNet {
    fn default() -> ShallowConvNet {
        ShallowConvNet {
            filters: 40,
            kernel: 25,
            pool: 75,
            stride: 15,
            dropout: 0.5,
            max_norm: Some(2.0),
            head_norm: Some(0.5),
            label_smoothing: 0.0,
        }
    }
}

const EPS: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;
/// Power below this has no logarithm worth the name, and no gradient.
const LEAST_POWER: f64 = 1e-6;

impl ShallowConvNet {
    /// The same durations at another sampling rate: 100, 300 and 60 ms, or what Lawhern et al. made of them for 128 Hz
    /// (kernel 13, pool 35, stride 7) where the rate is nearer to that.
    pub fn at_rate(rate_hz: f64) -> ShallowConvNet {
        let (of_hz, kernel, pool, stride) =
            if rate_hz < 180.0 { (128.0, 13.0, 35.0, 7.0) } else { (250.0, 25.0, 75.0, 15.0) };
        let scaled = |samples: f64| (samples * rate_hz / of_hz).round().max(1.0) as usize;
        ShallowConvNet {
            kernel: scaled(kernel),
            pool: scaled(pool),
            stride: scaled(stride),
            ..ShallowConvNet::default()
        }
    }

    /// The shortest trial it can take.
    pub fn least_time(&self) -> usize {
        self.kernel.saturating_add(self.pool).saturating_sub(1)
    }
}

impl Architecture for ShallowConvNet {
    fn name(&self) -> &'static str {
        "shallowconvnet"
    }

    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let TrialBatch { shape, size: batch, .. } = trials;
        probability("dropout", self.dropout)?;
        probability("label_smoothing", self.label_smoothing)?;
        for (name, n) in
            [("filters", self.filters), ("kernel", self.kernel), ("pool", self.pool), ("stride", self.stride)]
        {
            positive(name, n)?;
        }
        if shape.time < self.least_time() {
            return Err(Error::Configuration(format!(
                "ShallowConvNet with kernel {} and pooling {} needs trials of at least {} samples, got {}; \
                 use a smaller kernel or pool",
                self.kernel,
                self.pool,
                self.least_time(),
                shape.time
            )));
        }
        let (f, k, c) = (self.filters, self.kernel, shape.channels);
        let (mut g, x) = trials.graph()?;
        let labels = g.labels("task", &[batch], shape.classes)?;
        let h = g.scoped("temporal", |g| -> Result<Id> {
            let w = weight(g, &[f, k], Init::glorot(k, f.saturating_mul(k)), self.max_norm)?;
            let b = g.parameter("bias", &[f], Init::Constant(0.0))?;
            Ok(g.temporal_conv(x, w, Some(b), Padding::Valid)?)
        })?;
        let h = g.scoped("spatial", |g| -> Result<Id> {
            let fan = f.saturating_mul(c);
            let w = weight(g, &[f, f, c], Init::glorot(fan, fan), self.max_norm)?;
            Ok(g.spatial_conv(h, w, 1)?)
        })?;
        let h = g.scoped("norm", |g| g.batch_norm(h, EPS, MOMENTUM))?;
        let h = g.square(h)?;
        let h = g.pool(h, Pooling::Average { size: self.pool, stride: self.stride })?;
        let h = g.clamp(h, LEAST_POWER, f64::INFINITY)?;
        let h = g.ln(h)?;
        let h = g.dropout(h, self.dropout)?;
        let features = g.flatten(h)?;
        let logits = g.scoped("head", |g| -> Result<Id> {
            let n = g.shape(features)[1];
            // The reference's head is a convolution over all places at once: Glorot counts its taps on both sides.
            let init = Init::glorot(n, n / f * shape.classes);
            let w = weight(g, &[shape.classes, n], init, self.head_norm)?;
            let b = g.parameter("bias", &[shape.classes], Init::Constant(0.0))?;
            Ok(g.linear(features, w, Some(b))?)
        })?;
        Network::classifier(trials, g, logits, labels, self.label_smoothing)?
            .with_values(trials, vec![("features", features)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_follow_the_rate() {
        let of = |rate| {
            let c = ShallowConvNet::at_rate(rate);
            (c.kernel, c.pool, c.stride)
        };
        assert_eq!(of(250.0), (25, 75, 15));
        assert_eq!(of(128.0), (13, 35, 7));
        assert_eq!(of(500.0), (50, 150, 30));
        assert_eq!(of(1.0), (1, 1, 1));
    }
}

//! DeepConvNet: four blocks of convolution and max pooling.
//!
//! Paper: Schirrmeister et al. 2017, doi:10.1002/hbm.23730; braindecode's Deep4Net is the reference, 250 Hz.
//!
//! ```text
//! [B,C,T] -> temporal conv 10, spatial conv -> [B,25,T-9] -> BN, ELU, max pool 3
//!         -> dropout, conv 10 -> [B,50,..] -> BN, ELU, max pool 3
//!         -> dropout, conv 10 -> [B,100,..] -> BN, ELU, max pool 3
//!         -> dropout, conv 10 -> [B,200,..] -> BN, ELU, max pool 3 -> linear -> [B,K]
//! ```
//!
//! Differs: max-norm constraints (2, head 0.5) as in the original training code; none with `max_norm = null`. The engine
//! runs the first two convolutions as one with composed weights.
//!
//! Parameters at C=22, T=1000, K=4: 282 879 (held by a test).

use ptsm_engine::{Graph, Id, Init, Padding, Pooling};
use serde::{Deserialize, Serialize};

use crate::eegnet::parameter;
use crate::error::{Error, Result};
use crate::network::{Network, TrialShape, positive, probability};

/// Configuration of DeepConvNet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeepConvNet {
    /// Feature maps of the blocks; the first is made by the temporal and spatial convolutions.
    pub maps: Vec<usize>,
    /// Kernel of every convolution: 40 ms at 250 Hz.
    pub kernel: usize,
    /// Size and stride of every max pooling.
    pub pool: usize,
    /// Dropout at the input of blocks 2 and up.
    pub dropout: f64,
    /// Largest norm of a convolution's filter; none for no limit.
    pub max_norm: Option<f64>,
    /// Largest norm of a class's weights; none for no limit.
    pub head_norm: Option<f64>,
    /// Label smoothing.
    pub label_smoothing: f64,
}

impl Default for DeepConvNet {
    fn default() -> DeepConvNet {
        DeepConvNet {
            maps: vec![25, 50, 100, 200],
            kernel: 10,
            pool: 3,
            dropout: 0.5,
            max_norm: Some(2.0),
            head_norm: Some(0.5),
            label_smoothing: 0.0,
        }
    }
}

const EPS: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;

impl DeepConvNet {
    /// The shortest trial all blocks can take.
    pub fn least_time(&self) -> usize {
        self.maps
            .iter()
            .fold(1usize, |t, _| t.saturating_mul(self.pool).saturating_add(self.kernel.saturating_sub(1)))
    }

    /// The network for a batch size.
    pub fn build(&self, shape: TrialShape, batch: usize) -> Result<Network> {
        probability("dropout", self.dropout)?;
        probability("label_smoothing", self.label_smoothing)?;
        for (name, n) in [("maps", self.maps.len()), ("kernel", self.kernel), ("pool", self.pool)] {
            positive(name, n)?;
        }
        if shape.time < self.least_time() {
            return Err(Error::Configuration(format!(
                "DeepConvNet with kernel {} and pooling {} needs trials of at least {} samples, got {}; \
                 resample to a higher rate or use smaller kernels and pools",
                self.kernel,
                self.pool,
                self.least_time(),
                shape.time
            )));
        }
        let (k, c, first) = (self.kernel, shape.channels, self.maps[0]);
        let mut g = Graph::new();
        let x = g.input("x", &[batch, c, shape.time])?;
        let labels = g.labels("task", &[batch], shape.classes)?;
        let h = g.scoped("temporal", |g| -> Result<Id> {
            let w = parameter(g, &[first, k], Init::glorot(k, first * k), self.max_norm)?;
            let b = g.parameter("bias", &[first], Init::Constant(0.0))?;
            Ok(g.temporal_conv(x, w, Some(b), Padding::Valid)?)
        })?;
        let mut h = g.scoped("spatial", |g| -> Result<Id> {
            let w = parameter(g, &[first, first, c], Init::glorot(first * c, first * c), self.max_norm)?;
            Ok(g.spatial_conv(h, w, 1)?)
        })?;
        h = self.pooled(&mut g, h, 1)?;
        for (i, pair) in self.maps.windows(2).enumerate() {
            let (inputs, outputs) = (pair[0], pair[1]);
            h = g.dropout(h, self.dropout)?;
            h = g.scoped(format!("conv{}", i + 2), |g| -> Result<Id> {
                let init = Init::glorot(inputs * k, outputs * k);
                let w = parameter(g, &[outputs, inputs, k], init, self.max_norm)?;
                Ok(g.conv1d(h, w, None, 1, Padding::Valid)?)
            })?;
            h = self.pooled(&mut g, h, i + 2)?;
        }
        let logits = g.scoped("head", |g| -> Result<Id> {
            let h = g.flatten(h)?;
            let n = g.shape(h)[1];
            let w = parameter(
                g,
                &[shape.classes, n],
                Init::glorot(n, n / self.maps[self.maps.len() - 1] * shape.classes),
                self.head_norm,
            )?;
            let b = g.parameter("bias", &[shape.classes], Init::Constant(0.0))?;
            Ok(g.linear(h, w, Some(b))?)
        })?;
        Network::classifier(g, logits, labels, self.label_smoothing)
    }

    fn pooled(&self, g: &mut Graph, h: Id, block: usize) -> Result<Id> {
        let h = g.scoped(format!("norm{block}"), |g| g.batch_norm(h, EPS, MOMENTUM))?;
        let h = g.elu(h)?;
        Ok(g.pool(h, Pooling::Max { size: self.pool, stride: self.pool })?)
    }
}

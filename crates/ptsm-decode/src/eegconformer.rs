//! EEGConformer: a shallow convolution makes tokens of time, self-attention relates them.
//!
//! Paper: Song et al. 2023, doi:10.1109/TNSRE.2022.3230250; the authors' code is the reference, 250 Hz.
//!
//! ```text
//! [B,C,T] -> temporal conv 25, spatial conv -> [B,40,T-24] -> BN, ELU, average pool 75, stride 15, dropout
//!         -> pointwise conv, turned -> tokens [B,L,40], without positional embedding
//! 6 times  x + dropout(attention(LN x))                    10 heads of 4, dropout on the attention weights
//!          x + dropout(linear(dropout(GELU(linear(LN x))))) 40 -> 160 -> 40
//! [B,L*40] -> linear 256, ELU, dropout -> linear 32, ELU, dropout 0.3 -> linear -> [B,K]
//! ```
//!
//! Differs: see [`EEGCONFORMER`].
//!
//! Parameters at C=22, T=1000, K=4: 789 572 (held by a test).

use ptsm_engine::{Graph, Id, Init, Padding, Pooling};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::layers::{attention, linear};
use crate::method::Method;
use crate::network::{Architecture, Network, TrialBatch, TrialShape};
use crate::settings::{eeg_rate_hz, positive, probability};
use crate::shallowconvnet::ShallowConvNet;
use crate::training::{LrSchedule, Recipe, Training};

/// EEGConformer.
pub const EEGCONFORMER: Method = Method {
    name: "eegconformer",
    about: "a shallow convolution makes tokens of time, self-attention relates them",
    paper: "Song et al. 2023",
    doi: "10.1109/TNSRE.2022.3230250",
    differs: "Nothing in the function. Attention is divided by the root of the whole width (40), as in the authors' code, not by that of a head's (4). Rates other than 250 Hz: kernel and pooling as in `shallowconvnet`. \
              Trained as the authors did: Adam at 2e-4 with betas 0.5 and 0.999, batches of 72, no penalty, no clipping. They do 2000 epochs of one subject's trials; here training ends after 150 epochs of all training subjects', or 40 without improvement. \
              They report the best test epoch; here the epoch of highest validation accuracy is kept. They enlarge each batch by as many recombined trials, which is not done here, and standardise all trials by the training trials' mean and deviation; here trials are scaled as the pipeline says. \
              Temperature and offsets of the probabilities are fitted on the validation subjects afterwards.",
    ..Method::network::<EegConformer>(|layout| {
        let config = eeg_rate_hz(layout).map_or_else(EegConformer::default, EegConformer::at_rate);
        let training = Training {
            // The authors take 2000 epochs of one subject's 4 batches; across subjects an epoch is longer.
            epochs: 150,
            patience: Some(40),
            rate: 2e-4,
            course: LrSchedule::Constant,
            weight_decay: 0.0,
            betas: [0.5, 0.999],
            clip: None,
            batch_subjects: 9,
            batch_trials: 8,
            ..Training::default()
        };
        Recipe { training, ..Recipe::new(config) }
    })
};

/// Configuration of EEGConformer; the default is for 250 Hz.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EegConformer {
    /// Filters of the temporal convolution and of the spatial one.
    pub filters: usize,
    /// Temporal kernel: 100 ms at 250 Hz.
    pub kernel: usize,
    /// Samples that are averaged to a token: 300 ms.
    pub pool: usize,
    /// Samples from one token to the next: 60 ms.
    pub stride: usize,
    /// Numbers in a token.
    pub width: usize,
    /// Blocks of attention and feed-forward layers.
    pub depth: usize,
    /// Heads of the attention; the width is a multiple of them.
    pub heads: usize,
    /// Width of the feed-forward layer, as a multiple of a token's.
    pub expansion: usize,
    /// Widths of the two hidden layers of the head.
    pub head: [usize; 2],
    /// Dropout everywhere but in front of the last layer.
    pub dropout: f64,
    /// Dropout in front of the last layer.
    pub last_dropout: f64,
    /// Label smoothing.
    pub label_smoothing: f64,
}

impl Default for EegConformer {
    fn default() -> EegConformer {
        EegConformer {
            filters: 40,
            kernel: 25,
            pool: 75,
            stride: 15,
            width: 40,
            depth: 6,
            heads: 10,
            expansion: 4,
            head: [256, 32],
            dropout: 0.5,
            last_dropout: 0.3,
            label_smoothing: 0.0,
        }
    }
}

const EPS: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;
/// More blocks than anybody stacks: a slip of the keyboard.
const MOST_BLOCKS: usize = 256;

impl EegConformer {
    /// The same durations at another sampling rate, as ShallowConvNet has them.
    pub fn at_rate(rate_hz: f64) -> EegConformer {
        let ShallowConvNet { kernel, pool, stride, .. } = ShallowConvNet::at_rate(rate_hz);
        EegConformer { kernel, pool, stride, ..EegConformer::default() }
    }

    /// The shortest trial it can take.
    pub fn least_time(&self) -> usize {
        self.kernel.saturating_add(self.pool).saturating_sub(1)
    }

    fn check(&self, shape: TrialShape) -> Result<()> {
        for (name, p) in [
            ("dropout", self.dropout),
            ("last_dropout", self.last_dropout),
            ("label_smoothing", self.label_smoothing),
        ] {
            probability(name, p)?;
        }
        for (name, n) in [
            ("filters", self.filters),
            ("kernel", self.kernel),
            ("pool", self.pool),
            ("stride", self.stride),
            ("width", self.width),
            ("heads", self.heads),
            ("expansion", self.expansion),
            ("head", self.head[0].min(self.head[1])),
        ] {
            positive(name, n)?;
        }
        if !self.width.is_multiple_of(self.heads) {
            return Err(Error::Configuration(format!(
                "`width` must be a multiple of `heads`, got {} and {}",
                self.width, self.heads
            )));
        }
        if self.depth > MOST_BLOCKS {
            return Err(Error::Configuration(format!(
                "`depth` must be at most {MOST_BLOCKS}, got {}",
                self.depth
            )));
        }
        if shape.time < self.least_time() {
            return Err(Error::Configuration(format!(
                "EEGConformer with kernel {} and pooling {} needs trials of at least {} samples, got {}; \
                 use a smaller kernel or pool",
                self.kernel,
                self.pool,
                self.least_time(),
                shape.time
            )));
        }
        Ok(())
    }
}

impl Architecture for EegConformer {
    fn name(&self) -> &'static str {
        "eegconformer"
    }

    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let TrialBatch { shape, size: batch, .. } = trials;
        self.check(shape)?;
        let (mut g, x) = trials.graph()?;
        let labels = g.labels("task", &[batch], shape.classes)?;
        let mut h = g.scoped("tokens", |g| self.tokens(g, x))?;
        for block in 0..self.depth {
            h = g.scoped(format!("block{}", block + 1), |g| self.block(g, h))?;
        }
        let (features, logits) = g.scoped("head", |g| -> Result<_> {
            let mut h = g.flatten(h)?;
            let dropouts = [self.dropout, self.last_dropout];
            for (i, (width, p)) in self.head.into_iter().zip(dropouts).enumerate() {
                h = linear(g, &i.to_string(), h, width)?;
                h = g.elu(h)?;
                h = g.dropout(h, p)?;
            }
            Ok((h, linear(g, "2", h, shape.classes)?))
        })?;
        Network::classifier(trials, g, logits, labels, self.label_smoothing)?
            .with_values(trials, vec![("features", features)])
    }
}

impl EegConformer {
    /// `[B, C, T] -> [B, L, width]`
    fn tokens(&self, g: &mut Graph, x: Id) -> Result<Id> {
        let (f, k, c) = (self.filters, self.kernel, g.shape(x)[1]);
        let h = g.scoped("temporal", |g| -> Result<Id> {
            let w = g.parameter("weight", &[f, k], Init::fan_in(k))?;
            let b = g.parameter("bias", &[f], Init::fan_in(k))?;
            Ok(g.temporal_conv(x, w, Some(b), Padding::Valid)?)
        })?;
        let h = g.scoped("spatial", |g| -> Result<Id> {
            let init = Init::fan_in(f.saturating_mul(c));
            let w = g.parameter("weight", &[f, f, c], init)?;
            let b = g.parameter("bias", &[f], init)?;
            let h = g.spatial_conv(h, w, 1)?;
            let b = g.reshape(b, &[f, 1])?;
            Ok(g.add(h, b)?)
        })?;
        let h = g.scoped("norm", |g| g.batch_norm(h, EPS, MOMENTUM))?;
        let h = g.elu(h)?;
        let h = g.pool(h, Pooling::Average { size: self.pool, stride: self.stride })?;
        let h = g.dropout(h, self.dropout)?;
        // A convolution over single places is a linear layer over each.
        let h = g.transpose(h, &[0, 2, 1])?;
        linear(g, "projection", h, self.width)
    }

    /// `[B, L, width]` to the same.
    fn block(&self, g: &mut Graph, x: Id) -> Result<Id> {
        let h = g.scoped("attention_norm", |g| g.layer_norm(x, EPS))?;
        let h = g.scoped("attention", |g| self.attention(g, h))?;
        let h = g.dropout(h, self.dropout)?;
        let x = g.add(h, x)?;
        let h = g.scoped("forward_norm", |g| g.layer_norm(x, EPS))?;
        let h = g.scoped("forward", |g| -> Result<Id> {
            let h = linear(g, "0", h, self.expansion.saturating_mul(self.width))?;
            let h = g.gelu(h)?;
            let h = g.dropout(h, self.dropout)?;
            linear(g, "1", h, self.width)
        })?;
        let h = g.dropout(h, self.dropout)?;
        Ok(g.add(h, x)?)
    }

    /// Every token as a mixture of all, by each head its own.
    fn attention(&self, g: &mut Graph, x: Id) -> Result<Id> {
        let [batch, tokens, width] = *g.shape(x) else { unreachable!("tokens are [B, L, width]") };
        let (heads, each) = (self.heads, width / self.heads);
        let mut split = |name: &str| -> Result<Id> {
            let h = linear(g, name, x, width)?;
            let h = g.reshape(h, &[batch, tokens, heads, each])?;
            Ok(g.transpose(h, &[0, 2, 1, 3])?)
        };
        let tokens_of_heads = [split("queries")?, split("keys")?, split("values")?];
        let h = attention(g, tokens_of_heads, (width as f64).sqrt(), Some(self.dropout))?;
        let h = g.transpose(h, &[0, 2, 1, 3])?;
        let h = g.reshape(h, &[batch, tokens, width])?;
        linear(g, "projection", h, width)
    }
}

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
//! Whole trials, or cropped (`crop`): the network slides over the trial sample by sample, every window of that length is one more
//! example of its trial's class, and the windows' probabilities are averaged. The windows share their work: each pooling keeps all
//! places, which are then dealt to `pool` signals, one for each place to begin at, and those go on as trials of their own.
//!
//! ```text
//! [B,C,T] -> block 1 with a pool of 3 at every sample -> [B,25,3L] -> dealt -> [3B,25,L] -> block 2 .. -> [81B,200,M+h-1]
//!         -> linear over h places -> [81B,K,M]: B trials x N = 81M windows; probabilities averaged -> [B,K]
//! ```
//!
//! Differs: see [`DEEPCONVNET`].
//!
//! Parameters at C=22, T=1000, K=4: 282 879 (held by a test).

use ptsm_engine::{Graph, Id, Init, Objective, Padding, Pooling};
use ptsm_signal::Layout;
use serde::{Deserialize, Serialize};

use crate::eegnet;
use crate::error::{Error, Result};
use crate::layers::weight;
use crate::method::Method;
use crate::network::{Architecture, Network, TrialBatch, TrialShape};
use crate::settings::{positive, probability};
use crate::training::{LrSchedule, Recipe, Select, Training};

/// DeepConvNet on whole trials.
pub const DEEPCONVNET: Method = Method {
    name: "deepconvnet",
    about: "four blocks of convolution and max pooling",
    paper: "Schirrmeister et al. 2017",
    doi: "10.1002/hbm.23730",
    differs: DIFFERS,
    ..Method::network::<DeepConvNet>(|_| Recipe {
        training: published(),
        ..Recipe::new(DeepConvNet::default())
    })
};

/// DeepConvNet for trials that the original cannot take.
pub const DEEPCONVNET_SHORT: Method = Method {
    name: "deepconvnet-short",
    about: "DeepConvNet with kernels of 5 and poolings of 2, for 128 Hz and trials below 441 samples",
    paper: "Schirrmeister et al. 2017; Lawhern et al. 2018",
    doi: "10.1088/1741-2552/aace8c",
    differs: "The form that Lawhern et al. gave DeepConvNet for 128 Hz, at any rate; less the biases in front of batch norms, which cancel, with dropout where the original has it (at the input of blocks 2 to 4, none in front of the head) \
              and with batch norms that average over batches (theirs keep a tenth of the past). Max-norm constraints (2, head 0.5); none with `max_norm = null` and `head_norm = null`. \
              The engine runs the first two convolutions as one with composed weights. Trained as `eegnet`, by the recipe that Lawhern et al. use for all their networks, with the same differences.",
    ..Method::network::<DeepConvNet>(|_| Recipe {
        training: eegnet::published(),
        ..Recipe::new(DeepConvNet::short())
    })
};

/// DeepConvNet on every window of a trial.
pub const DEEPCONVNET_CROPPED: Method = Method {
    name: "deepconvnet-cropped",
    about: "DeepConvNet on every window of a trial, the windows' probabilities averaged",
    paper: "Schirrmeister et al. 2017",
    doi: "10.1002/hbm.23730",
    differs: DIFFERS,
    ..Method::network::<DeepConvNet>(|layout| Recipe {
        training: published(),
        ..Recipe::new(DeepConvNet::cropped_for_layout(layout))
    })
};

/// DeepConvNet trained as Zhang et al. did.
pub const DEEPCONVNET_ZHANG: Method = Method {
    name: "deepconvnet-zhang",
    about: "DeepConvNet trained by the recipe with the best published result across subjects on OpenBMI",
    paper: "Zhang et al. 2021",
    doi: "10.1016/j.neunet.2020.12.013",
    differs: "No max-norm constraints, as theirs. The engine runs the first two convolutions as one with composed weights. Batches of 16 trials have four of each of four subjects, theirs are of anybody. \
              One training for each seed, with one choice of validation subjects; they train six times for each test subject, each time with another sixth of the rest for validation, and take the run of lowest validation loss. \
              Temperature and offsets of the probabilities are fitted on the validation subjects afterwards. They decode 62 channels at 250 Hz, 4 s (1000 samples), no filter, and score the test subject's second session; which trials are decoded and scored here is up to the pipeline and the protocol. \
              Trials below 441 samples are refused, unless `network.kernel=5` and `network.pool=2` are set.",
    ..Method::network::<DeepConvNet>(|_| zhang())
};

const DIFFERS: &str = "Max-norm constraints (2, head 0.5) as in the original training code; none with `max_norm = null` and `head_norm = null`. The engine runs the first two convolutions as one with composed weights. \
                       For 250 Hz; kernels and poolings stay as they are at other rates. Trials below 441 samples (521 in windows of 441) are refused: `deepconvnet-short` takes them, or `network.kernel=5` and `network.pool=2`. \
                       Trained by the first stage of the authors' early stopping: Adam at 1e-3, batches of 64, no penalty, no clipping, 1600 epochs at most, the epoch of fewest wrong decisions on validation subjects (balanced over classes; equal ones by loss). \
                       An epoch is one pass over all training subjects, theirs is of one subject; hence training ends after 80 epochs without improvement in place of 160. Their second stage, which goes on with the validation trials too, is left out: those are of other subjects. \
                       Exponential moving standardisation, which they put before the network, is not part of it; trials are scaled as the pipeline says. `deepconvnet-cropped` takes every window of 2 s (of shorter trials the half, at least 441 samples), \
                       and counts its windows one by one in the loss; their penalty for neighbouring windows that differ is left out. Temperature and offsets of the probabilities are fitted on the validation subjects afterwards.";

/// The first stage of Schirrmeister et al.'s early stopping; ShallowConvNet is trained by it, too. Their 1600 epochs and their patience of
/// 160 are of one subject's trials.
pub(crate) fn published() -> Training {
    Training {
        epochs: 1600,
        patience: Some(80),
        select: Select::Accuracy,
        course: LrSchedule::Constant,
        weight_decay: 0.0,
        clip: None,
        ..Training::default()
    }
}

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
    /// Samples of the windows that a trial is cut into, all of them; none for whole trials.
    pub crop: Option<usize>,
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
            crop: None,
            label_smoothing: 0.0,
        }
    }
}

const EPS: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;
/// Below the smallest share that a window can give a class in f32 and keep a logarithm.
const LEAST_SHARE: f64 = 1e-30;

/// How windows lie in a trial.
struct Windows {
    /// Samples of the trial that are looked at.
    time: usize,
    /// Places that the head looks at.
    places: usize,
    /// Windows in a trial.
    count: usize,
}

impl DeepConvNet {
    /// The form of Lawhern et al. for 128 Hz.
    fn short() -> DeepConvNet {
        DeepConvNet { kernel: 5, pool: 2, ..DeepConvNet::default() }
    }

    fn cropped_for_layout(layout: &Layout) -> DeepConvNet {
        let config = DeepConvNet::default();
        // Two seconds of four in the paper; of shorter trials the half, and never less than the network can take.
        let two_seconds = (2.0 * layout.rate_hz).round() as usize;
        let crop = two_seconds.min(layout.samples / 2).max(config.least_time());
        DeepConvNet { crop: Some(crop), ..config }
    }

    /// The shortest trial all blocks can take.
    pub fn least_time(&self) -> usize {
        self.maps
            .iter()
            .fold(1usize, |t, _| t.saturating_mul(self.pool).saturating_add(self.kernel.saturating_sub(1)))
    }

    /// Samples from one place of the last block to the next.
    pub(crate) fn stride(&self) -> usize {
        self.maps.iter().fold(1usize, |s, _| s.saturating_mul(self.pool))
    }

    /// The windows of a trial. Every block deals its places to `pool` signals of one length, so their number is a multiple of the
    /// whole stride; up to a stride less one of the last windows are left out.
    fn windows(&self, crop: usize, time: usize) -> Result<Windows> {
        let (least, stride) = (self.least_time(), self.stride());
        if crop < least {
            return Err(Error::Configuration(format!(
                "`crop` must be at least {least} samples with kernel {} and pooling {}, got {crop}",
                self.kernel, self.pool
            )));
        }
        let places = (crop - least) / stride + 1;
        // What a window really looks at; a whole trial's last samples fall out of the poolings in the same way.
        let seen = least + (places - 1) * stride;
        let rows = (time + 1).saturating_sub(seen) / stride;
        if rows == 0 {
            return Err(Error::Configuration(format!(
                "windows of {crop} samples need trials of at least {} samples, got {time}; {}",
                seen.saturating_add(stride - 1),
                match crop > least {
                    true => "use a smaller `network.crop`".to_string(),
                    false => self.for_short_trials(),
                }
            )));
        }
        let count = rows * stride;
        Ok(Windows { time: seen - 1 + count, places, count })
    }

    /// What to do about trials that are too short.
    fn for_short_trials(&self) -> String {
        let (short, resample) = (DeepConvNet::short(), "resample to a higher rate (`pipeline.rate_hz`)");
        if self.least_time() <= short.least_time() {
            return format!("{resample}, or use smaller kernels and pools");
        }
        let (kernel, pool, least) = (short.kernel, short.pool, short.least_time());
        match self.crop {
            None => format!(
                "take the decoder `deepconvnet-short` or set `network.kernel={kernel}` and `network.pool={pool}` (at least {least} samples), or {resample}"
            ),
            Some(_) => format!(
                "set `network.kernel={kernel}`, `network.pool={pool}` and a `network.crop` of at least {least} samples, take the decoder `deepconvnet-short` for whole trials, or {resample}"
            ),
        }
    }

    fn check(&self, shape: TrialShape) -> Result<()> {
        probability("dropout", self.dropout)?;
        probability("label_smoothing", self.label_smoothing)?;
        let narrowest = self.maps.iter().copied().min().unwrap_or(0);
        for (name, n) in [("maps", narrowest), ("kernel", self.kernel), ("pool", self.pool)] {
            positive(name, n)?;
        }
        if shape.time < self.least_time() {
            return Err(Error::Configuration(format!(
                "DeepConvNet with kernel {} and pooling {} needs trials of at least {} samples, got {}; {}",
                self.kernel,
                self.pool,
                self.least_time(),
                shape.time,
                self.for_short_trials()
            )));
        }
        Ok(())
    }
}

impl Architecture for DeepConvNet {
    fn name(&self) -> &'static str {
        "deepconvnet"
    }

    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let TrialBatch { shape, size: batch, .. } = trials;
        self.check(shape)?;
        let windows = self.crop.map(|crop| self.windows(crop, shape.time)).transpose()?;
        let (k, c, first) = (self.kernel, shape.channels, self.maps[0]);
        let (mut g, x) = trials.graph()?;
        let labels = g.labels("task", &[batch], shape.classes)?;
        let seen = match &windows {
            Some(windows) if windows.time < shape.time => g.slice(x, 2, 0, windows.time)?,
            _ => x,
        };
        let h = g.scoped("temporal", |g| -> Result<Id> {
            let w = weight(g, &[first, k], Init::glorot(k, first.saturating_mul(k)), self.max_norm)?;
            let b = g.parameter("bias", &[first], Init::Constant(0.0))?;
            Ok(g.temporal_conv(seen, w, Some(b), Padding::Valid)?)
        })?;
        let mut h = g.scoped("spatial", |g| -> Result<Id> {
            let fan = first.saturating_mul(c);
            let w = weight(g, &[first, first, c], Init::glorot(fan, fan), self.max_norm)?;
            Ok(g.spatial_conv(h, w, 1)?)
        })?;
        h = self.pooled(&mut g, h, 1)?;
        for (i, pair) in self.maps.windows(2).enumerate() {
            let (inputs, outputs) = (pair[0], pair[1]);
            h = g.dropout(h, self.dropout)?;
            h = g.scoped(format!("conv{}", i + 2), |g| -> Result<Id> {
                let init = Init::glorot(inputs.saturating_mul(k), outputs.saturating_mul(k));
                let w = weight(g, &[outputs, inputs, k], init, self.max_norm)?;
                Ok(g.conv1d(h, w, None, 1, Padding::Valid)?)
            })?;
            h = self.pooled(&mut g, h, i + 2)?;
        }
        let last = self.maps[self.maps.len() - 1];
        let places = windows.as_ref().map_or(g.shape(h)[2], |w| w.places);
        // Of a trial as a whole; windows have each their own.
        let features = if windows.is_none() { Some(g.flatten(h)?) } else { None };
        let logits = g.scoped("head", |g| -> Result<Id> {
            let n = last * places;
            // The reference's head is a convolution over all places at once: Glorot counts its taps on both sides.
            let init = Init::glorot(n, places * shape.classes);
            let w = weight(g, &[shape.classes, n], init, self.head_norm)?;
            let b = g.parameter("bias", &[shape.classes], Init::Constant(0.0))?;
            if let Some(features) = features {
                return Ok(g.linear(features, w, Some(b))?);
            }
            let w = g.reshape(w, &[shape.classes, last, places])?;
            Ok(g.conv1d(h, w, Some(b), 1, Padding::Valid)?)
        })?;
        match windows {
            None => Network::classifier(trials, g, logits, labels, self.label_smoothing)?
                .with_values(trials, features.map(|features| ("features", features)).into_iter().collect()),
            Some(windows) => self.averaged(trials, g, logits, labels, windows.count),
        }
    }
}

impl DeepConvNet {
    /// Logits of windows `[stride * rows, K, M]`: their mean cross-entropy, and the mean of their probabilities.
    fn averaged(
        &self,
        trials: TrialBatch<'_>,
        mut g: Graph,
        h: Id,
        labels: Id,
        windows: usize,
    ) -> Result<Network> {
        let (batch, rows, classes) = (trials.size, trials.rows(), g.shape(h)[1]);
        let stride = self.stride();
        let each = g.reshape(h, &[stride, rows, classes, windows / stride])?;
        let each = g.transpose(each, &[1, 0, 3, 2])?;
        let each = g.reshape(each, &[rows * windows, classes])?;
        let each = trials.logits(&mut g, each)?;
        let loss = g.scoped("loss", |g| -> Result<Id> {
            let labels = g.repeat(labels, 1, windows)?;
            let labels = g.reshape(labels, &[batch * windows])?;
            Ok(g.cross_entropy(each, labels, self.label_smoothing)?)
        })?;
        let logits = g.scoped("mean", |g| -> Result<Id> {
            let shares = g.softmax(each)?;
            let shares = g.reshape(shares, &[batch, windows, classes])?;
            let shares = g.mean_axes(shares, &[1])?;
            let shares = g.clamp(shares, LEAST_SHARE, f64::INFINITY)?;
            Ok(g.ln(shares)?)
        })?;
        let objectives = vec![Objective::new(&g, loss, |_| true)];
        let values = vec![("window_logits", each)];
        Ok(Network { values, objectives, ..Network::new(g, logits, loss) })
    }

    fn pooled(&self, g: &mut Graph, h: Id, block: usize) -> Result<Id> {
        let h = g.scoped(format!("norm{block}"), |g| g.batch_norm(h, EPS, MOMENTUM))?;
        let h = g.elu(h)?;
        if self.crop.is_none() {
            return Ok(g.pool(h, Pooling::Max { size: self.pool, stride: self.pool })?);
        }
        let h = g.pool(h, Pooling::Max { size: self.pool, stride: 1 })?;
        // [B, F, pool * L] -> [pool * B, F, L]
        let [batch, maps, time] = *g.shape(h) else { unreachable!("a block's output is [B, F, T]") };
        let h = g.reshape(h, &[batch, maps, time / self.pool, self.pool])?;
        let h = g.transpose(h, &[3, 0, 1, 2])?;
        Ok(g.reshape(h, &[self.pool * batch, maps, time / self.pool])?)
    }
}

fn zhang() -> Recipe {
    let config = DeepConvNet { max_norm: None, head_norm: None, ..DeepConvNet::default() };
    let training = Training {
        epochs: 200,
        patience: None,
        select: Select::Loss,
        rate: 0.01,
        // They took braindecode's AdamW of that time with 5e-4. It takes that part of the weights at each step whatever the rate,
        // but lets it fall with the rate's cosine: 5e-4 / 0.01 of the rate.
        weight_decay: 0.05,
        decoupled_decay: true,
        clip: None,
        batch_subjects: 4,
        batch_trials: 4,
        ..Training::default()
    };
    Recipe { training, ..Recipe::new(config) }
}

//! Log power: learnt spatial filters, their log power over the trial, a linear classifier.
//!
//! Paper: the network form of CSP, after Schirrmeister et al. 2017, doi:10.1002/hbm.23730
//!
//! ```text
//! [B,C,T] -> spatial filters [B,F,T] -> square, mean over time [B,F] -> logarithm -> linear -> [B,K]
//! ```

use ptsm_decode::layers::linear;
use ptsm_decode::{Architecture, Method, Network, Recipe, Result, Training, TrialBatch};
use ptsm_engine::{Id, Init, Padding};
use serde::{Deserialize, Serialize};

/// Configuration of the log-power network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogPower {
    /// Spatial filters F.
    pub filters: usize,
}

impl Default for LogPower {
    fn default() -> LogPower {
        LogPower { filters: 6 }
    }
}

impl Architecture for LogPower {
    fn name(&self) -> &'static str {
        "log-power"
    }

    fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
        let shape = trials.shape;
        let (mut g, x) = trials.graph()?;
        let labels = g.labels("task", &[trials.size], shape.classes)?;
        let h = g.scoped("spatial", |g| -> Result<Id> {
            let size = [self.filters, shape.channels, 1];
            let w = g.parameter("weight", &size, Init::fan_in(shape.channels))?;
            Ok(g.conv1d(x, w, None, 1, Padding::Valid)?)
        })?;
        let power = g.square(h)?;
        let power = g.mean_axes(power, &[2])?;
        let power = g.clamp(power, 1e-6, f64::INFINITY)?;
        let features = g.ln(power)?;
        let logits = linear(&mut g, "head", features, shape.classes)?;
        Network::classifier(trials, g, logits, labels, 0.0)?.with_values(trials, vec![("features", features)])
    }
}

/// The log-power network as a method.
pub const LOG_POWER: Method = Method {
    name: "log-power",
    about: "log power of learnt spatial filters, linear classifier",
    paper: "after Schirrmeister et al. 2017",
    doi: "10.1002/hbm.23730",
    differs: "One spatial filter stage without temporal filters or batch norm.",
    ..Method::network::<LogPower>(|_layout| {
        let training = Training { epochs: 40, rate: 1e-2, ..Training::default() };
        Recipe { training, ..Recipe::new(LogPower::default()) }
    })
};

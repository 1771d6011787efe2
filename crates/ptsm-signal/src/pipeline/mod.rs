//! From a recording to trials: one value that says all of it, stored with every model.

mod chain;
mod check;
mod cues;
mod epoch;
mod epochs;
mod finish;
mod grid;
mod keys;
mod ocular;
mod scaling;
mod selection;

use serde::{Deserialize, Serialize};

use crate::access::TargetAccess;
use crate::alignment::Alignment;
use crate::error::Result;
use crate::trials::Trials;

pub use epoch::{EpochedRecording, RecordingId};
pub use keys::{PIPELINE_KEYS, PipelineKey};
pub use ocular::OcularRegression;

/// Which channels to keep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// All of them.
    #[default]
    All,
    /// Those of the frontal region, by where electrodes are; see [`frontal`](crate::frontal).
    Frontal,
    /// These, in this order.
    Names(Vec<String>),
}

/// What potentials are measured against.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// As recorded.
    #[default]
    AsRecorded,
    /// The mean of the picked channels.
    Average,
    /// The mean of these channels, which need not be among the picked ones.
    Channels(Vec<String>),
}

/// How a filter is made and applied.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FilterKind {
    /// Butterworth, forwards and backwards over the recording: no delay, twice the order, not for live use.
    ZeroPhase {
        /// Order of the low-pass prototype.
        order: usize,
    },
    /// Butterworth, forwards only: what a live decoder can do.
    Causal {
        /// Order of the low-pass prototype.
        order: usize,
    },
    /// Windowed sinc (Hamming), its delay of half its length taken out.
    Fir {
        /// Number of coefficients, odd.
        taps: usize,
    },
}

/// A pass band. Without `low_hz` a low-pass, without `high_hz` a high-pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Lower edge.
    pub low_hz: Option<f64>,
    /// Upper edge.
    pub high_hz: Option<f64>,
    /// How.
    pub kind: FilterKind,
}

/// What a trial is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// Nothing: microvolts stay microvolts.
    None,
    /// A fixed number of microvolts.
    By(f64),
    /// The trial's own standard deviation over all its channels and samples: nothing is taken from other trials. A flat trial
    /// stays as it is.
    #[default]
    TrialDeviation,
}

/// Everything between a recording and a decoder, in the order of its fields. The order is fixed: pick, reference, notch, band, resample,
/// window, baseline, ocular regression, the band of each epoch, scaling, and alignment once all of a subject's trials are there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pipeline {
    /// Which channels.
    pub pick: Pick,
    /// Against what.
    pub reference: Reference,
    /// A frequency to take out (mains), by a second-order notch of quality 30: causal where the band is, else with zero phase.
    pub notch_hz: Option<f64>,
    /// The band to keep.
    pub band: Option<Band>,
    /// The rate to resample to. The filter against aliasing is centred: it looks ten samples of the lower rate ahead, even where the
    /// band is causal.
    pub rate_hz: Option<f64>,
    /// The window, in seconds after the cue; the end is not included. Arrays that are trials already are cropped to it where it
    /// lies inside them and keep their own window where it does not.
    pub window_s: [f64; 2],
    /// A window, in seconds after the cue, whose mean is taken off each channel. It may lie outside the trial's own window.
    pub baseline_s: Option<[f64; 2]>,
    /// Ocular regression: what these channels explain of the others, by least squares over the epochs of one recording or, of arrays,
    /// over those of a subject and session, is taken off them. The channels are dropped. It looks at unlabelled epochs of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ocular: Option<OcularRegression>,
    /// A band that each epoch is filtered with by itself, so that its edges are the filter's: what can be done to arrays, alike for
    /// every epoch of recordings and arrays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_band: Option<Band>,
    /// What each trial is divided by.
    pub scaling: Scaling,
    /// Alignment.
    pub alignment: Alignment,
}

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline {
            pick: Pick::All,
            reference: Reference::AsRecorded,
            notch_hz: None,
            band: None,
            rate_hz: None,
            window_s: [0.0, 4.0],
            baseline_s: None,
            ocular: None,
            epoch_band: None,
            scaling: Scaling::TrialDeviation,
            alignment: Alignment::None,
        }
    }
}

impl Pipeline {
    /// Aligns each subject's trials; see [`Alignment::apply`].
    pub fn align(&self, trials: &mut Trials) -> Result<()> {
        self.alignment.apply(trials)
    }

    /// The target access of the pipeline: what its alignment and its ocular regression see. Filters look no farther than one
    /// recording, at samples around the epoch.
    pub fn target_access(&self) -> TargetAccess {
        let ocular = if self.ocular.is_some() { TargetAccess::WHOLE } else { TargetAccess::Nothing };
        self.alignment.target_access().and(ocular)
    }
}

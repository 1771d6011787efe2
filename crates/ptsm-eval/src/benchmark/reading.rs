//! What the features of a fit tell of subjects: measured while the fit is in memory, for it is not kept.

use ptsm_decode::FittedDecoder;
use ptsm_signal::Subset;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Measures the features of a decoder, given its training trials and those of the test subjects.
pub type FeatureReader =
    dyn Fn(&dyn FittedDecoder, &Subset<'_>, &Subset<'_>) -> Result<FeatureFindings> + Sync;

/// What was found in the features of one fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum FeatureFindings {
    /// The features were measured.
    Measured {
        /// Proxy A-distance between training subjects and test subjects: 0 where they cannot be told apart, 2 where they always can.
        distance: f64,
        /// The same between any two such groups of these subjects, the mean over draws; none where one subject is tested, who cannot be
        /// exchanged.
        exchanged: Option<f64>,
        /// How often groups drawn at random are as far apart.
        p: Option<f64>,
        /// The accuracy with which a linear probe tells the test subjects apart; none where there is only one.
        #[serde(rename = "person")]
        subject_accuracy: Option<f64>,
        /// The chance level of that probe.
        #[serde(rename = "person_chance")]
        subject_chance: Option<f64>,
    },
    /// They could not be measured.
    NotMeasured {
        /// Why.
        why: String,
    },
}

/// A reading and the fit it is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoldFeatureFindings {
    /// What the decoder is called.
    pub model: String,
    /// The data.
    pub data: String,
    /// How subjects are divided, or which data set decoders were trained on: `kfold:5`, `across:other`.
    pub protocol: String,
    /// Training sessions and runs, where these are not all.
    #[serde(rename = "learnt")]
    pub trained_on: Option<String>,
    /// The fold.
    pub fold: usize,
    /// The seed.
    pub seed: u64,
    /// How many test subjects the fold has.
    #[serde(rename = "people")]
    pub subject_count: usize,
    /// What was found.
    pub reading: FeatureFindings,
}

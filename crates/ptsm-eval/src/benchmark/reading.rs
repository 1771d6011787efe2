//! What the features of a fit say about people: asked while the fit is at hand, for it is not kept.

use ptsm_decode::FittedDecoder;
use ptsm_signal::Subset;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Asks the features of a decoder, given the trials it has learnt from and those of the people who are tested.
pub type FeatureReader =
    dyn Fn(&dyn FittedDecoder, &Subset<'_>, &Subset<'_>) -> Result<FeatureFindings> + Sync;

/// What was found in the features of one fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum FeatureFindings {
    /// It was asked.
    Made {
        /// Proxy A-distance between people learnt from and people tested: 0 where they cannot be told apart, 2 where they always can.
        distance: f64,
        /// The same between any two such groups of these people, the mean over draws; none where one person is tested, who cannot be
        /// exchanged.
        exchanged: Option<f64>,
        /// How often groups drawn at random are as far apart.
        p: Option<f64>,
        /// How often a linear probe tells which of the tested people a trial is of; none with one.
        person: Option<f64>,
        /// What guessing reaches there.
        person_chance: Option<f64>,
    },
    /// It could not be asked.
    Not {
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
    /// How people are divided, or which data were learnt from: `kfold:5`, `across:other`.
    pub protocol: String,
    /// Sessions and runs learnt from, where not all.
    pub learnt: Option<String>,
    /// The fold.
    pub fold: usize,
    /// The seed.
    pub seed: u64,
    /// How many people are tested in it.
    pub people: usize,
    /// What was found.
    pub reading: FeatureFindings,
}

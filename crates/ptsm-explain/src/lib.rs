//! What a decoder looked at, and whether to believe it.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod agreement;
mod attribution;
mod calibration;
mod deletion;
mod distance;
mod embedding;
mod features;
mod findings;
mod intervals;
mod masks;
mod patterns;
mod probes;
#[cfg(test)]
mod random;
mod randomised;
mod ranks;
mod reading;
mod reliability;
mod removal;
mod shuffling;
mod signals;
mod spectrum;
mod study;

pub use agreement::{Agreement, agreement, agreement_in_time, turned_head};
pub use attribution::{How, Map, Occlusion, Relevance, attribution, maps, occlusion};
pub use calibration::{Bin, Bins, Calibration, Predicted};
pub use deletion::{Areas, Axis, Course, Ranking, Tried, Trying, Way, tried};
pub use distance::{Distance, distance};
pub use embedding::{Embedding, NEIGHBOURS, Picture, embedding, trustworthiness};
pub use features::{Features, Split};
pub use findings::{
    Disentanglement, MaskFindings, ProbabilityFindings, ProbeAnswer, Saliency, SanityCheck, SanityChecks,
    mean_over_seeds,
};
pub use intervals::wilson;
pub use masks::{Masks, masks};
pub use patterns::{Compared, Difference, Region, csp_relevance, difference, region, xdawn_relevance};
pub use probes::{Probe, Probed, Question, Shuffled, Shuffles, linear_probabilities, probe};
pub use randomised::{Look, Randomised, randomised};
pub use ranks::{favours, rank_correlation};
pub use reading::{SUBJECT_FEATURES, TASK_FEATURES, reading};
pub use reliability::{Identified, Intraclass, Stability, identified, stability};
pub use removal::Fill;
pub use shuffling::shuffled_labels;
pub use signals::{BANDS, EXTREME, Signals, signals};
pub use spectrum::{Shared, Spectrum, shared};
pub use study::{ExplainRequest, Explanation, explain, mask_findings, write_masks};

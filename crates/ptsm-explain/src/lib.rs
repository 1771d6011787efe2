//! Explanations of decoders: masks, saliency, probes of features, calibration, and sanity checks of all of them.

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

pub use agreement::{Agreement, agreement, agreement_in_time, rotate_head};
pub use attribution::{AttributionMethod, Occlusion, Relevance, RelevanceMap, attribution, maps, occlusion};
pub use calibration::{Bin, Binning, Calibration, LabelledProbabilities};
pub use deletion::{
    CurveAreas, DeletionDirection, DeletionResult, DeletionSettings, RankedAxis, Ranking, ScoreCurve,
    run_deletion_test,
};
pub use distance::{Distance, distance};
pub use embedding::{Embedding, EmbeddingKind, NEIGHBOURS, embedding, trustworthiness};
pub use features::{Features, TrialSplit};
pub use findings::{
    Disentanglement, EyeCondition, EyeFindings, EyeScores, FrontalDecoder, FrontalSaliency, MaskFindings,
    ProbabilityFindings, ProbeAnswer, Saliency, SanityCheck, SanityChecks, UncalibratedProbabilities,
    mean_over_seeds,
};
pub use intervals::wilson;
pub use masks::{Masks, masks};
pub use patterns::{
    ContrastQuantity, Difference, Region, csp_relevance, difference, region, xdawn_relevance,
};
pub use probes::{
    PermutationSettings, PermutationTest, Probe, ProbeInput, ProbeResult, linear_probabilities, probe,
};
pub use randomised::{ExplainFn, ParameterRandomisation, randomise_parameters};
pub use ranks::{rank_correlation, truth_auc};
pub use reading::{SUBJECT_FEATURES, TASK_FEATURES, read_features};
pub use reliability::{Identification, Intraclass, Stability, identify_subjects, stability};
pub use removal::Fill;
pub use shuffling::shuffled_labels;
pub use signals::{BANDS, EXTREME, Signals, signals};
pub use spectrum::{SharedSpectra, Spectrum, shared_spectra};
pub use study::{ExplainRequest, Explanation, explain, mask_findings, write_masks};

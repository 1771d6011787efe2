//! What explaining a decoder found: values that a page is drawn from and a file can hold.

use serde::{Deserialize, Serialize};

use crate::agreement::Agreement;
use crate::calibration::LabelledProbabilities;
use crate::deletion::DeletionResult;
use crate::distance::Distance;
use crate::embedding::Embedding;
use crate::masks::Masks;
use crate::probes::ProbeResult;
use crate::randomised::ParameterRandomisation;
use crate::reliability::{Identification, Stability};
use crate::spectrum::SharedSpectra;

/// The masks of a decoder in subjects it was not trained on.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaskFindings {
    /// The mean over seeds.
    pub all: Vec<Masks>,
    /// The same of each class's trials, by its name.
    pub by_class: Vec<(String, Vec<Masks>)>,
    /// Each seed by itself. Not written: what is asked of them is [`SanityChecks`].
    #[serde(skip)]
    pub seeds: Vec<Vec<Masks>>,
    /// Of decoders trained on shuffled labels.
    pub nulls: Vec<Vec<Masks>>,
}

/// Saliency: which channels and times the output changes with, in unseen subjects.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saliency {
    /// `integrated gradients`, or `occlusion` of a decoder without gradients.
    #[serde(rename = "how")]
    pub method: String,
    /// Means of sizes over each subject's trials.
    #[serde(rename = "people")]
    pub by_subject: Masks,
    /// For each class, the mean over its trials of what speaks for it, by channel.
    pub signed: Vec<(String, Vec<f64>)>,
    /// How far sums are from what they should add up to, as a share of it: the median over trials. Not a number of occlusion.
    pub residual: f64,
    /// Trials that were explained.
    pub trials: usize,
}

/// One explanation by channels or by times, and the results of its tests.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanityCheck {
    /// `fused mask, channels`
    pub name: String,
    /// Agreement with what is known, by name.
    pub known: Vec<(String, Agreement)>,
    /// The deletion and the insertion test; only of those that were put to them.
    pub removed: Option<[DeletionResult; 2]>,
    /// How alike it is with other seeds, and after parameter randomisation.
    pub randomised: Option<ParameterRandomisation>,
    /// Over seeds; none with one.
    pub seeds: Option<Stability>,
    /// Over two parts of the recordings.
    pub parts: Option<Stability>,
    /// How likely it is higher where the simulation's truth is.
    pub truth: Option<f64>,
}

/// All sanity checks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanityChecks {
    /// One for each explanation, by channels and by times.
    pub tested: Vec<SanityCheck>,
    /// Trials of the deletion test.
    pub trials: usize,
    /// What the parts of recordings are: `sessions`, `runs` or `halves`.
    pub parts: String,
    /// Whether subjects are recognised by their masks from one part to the other.
    pub identified: Option<Identification>,
}

/// One question to the features, asked by a linear and by a nonlinear probe.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeAnswer {
    /// `the class` or `the subject`; files of earlier versions say `the person`.
    pub what: String,
    /// `task features`
    pub of: String,
    /// Whether these features are expected to hold it.
    #[serde(rename = "wanted")]
    pub expected: bool,
    /// What a linear and a nonlinear probe found.
    pub found: [ProbeResult; 2],
}

/// What was found in a decoder's features.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disentanglement {
    /// The probes.
    #[serde(rename = "asked")]
    pub probes: Vec<ProbeAnswer>,
    /// Between training subjects and test subjects, with how many there were of each; none where the former are not at hand.
    pub distance: Option<(Distance, [usize; 2])>,
    /// What task and subject features share; none where the subject's were not kept.
    pub shared: Option<SharedSpectra>,
    /// A picture of the task features in the plane.
    pub picture: Embedding,
    /// The class of each point.
    pub classes: Vec<String>,
    /// The subject of each point.
    #[serde(rename = "people")]
    pub subjects: Vec<String>,
    /// Whether the decoder had a subject branch that was not kept.
    pub left_out: bool,
}

/// The probabilities of a decoder.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbabilityFindings {
    /// Of the test subjects, all seeds one after the other.
    pub scored: LabelledProbabilities,
    /// The same before the decoder's own calibration; none of a decoder that has none, or whose probabilities are changed after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<UncalibratedProbabilities>,
    /// Of a decoder without a calibration of its own, the temperature that calibrates those of the validation subjects, and how many these
    /// are; none where their trials are not at hand.
    pub temperature: Option<(f64, usize)>,
    /// How often each trial is there.
    pub seeds: usize,
}

/// What a decoder's probabilities were before it was calibrated on its validation subjects.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UncalibratedProbabilities {
    /// Of the test subjects, all seeds one after the other.
    pub scored: LabelledProbabilities,
    /// The temperature of each seed.
    pub temperatures: Vec<f64>,
}

/// The mean over decoders of the same masks.
pub fn mean_over_seeds(all: Vec<Vec<Masks>>) -> Vec<Masks> {
    let n = all.len() as f64;
    let mut all = all.into_iter();
    let Some(mut sum) = all.next() else { return vec![] };
    for other in all {
        for (sum, other) in sum.iter_mut().zip(other) {
            for (sum, other) in [(&mut sum.space, other.space), (&mut sum.time, other.time)] {
                for (sum, other) in sum.iter_mut().flatten().zip(other.iter().flatten()) {
                    *sum += other;
                }
            }
        }
    }
    for mask in &mut sum {
        mask.space.iter_mut().chain(&mut mask.time).flatten().for_each(|v| *v /= n);
    }
    sum
}

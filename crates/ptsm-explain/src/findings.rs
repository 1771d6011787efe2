//! What explaining a decoder found: values that a page is drawn from and a file can hold.

use ptsm_eval::{PairedDifference, Summary};
use ptsm_signal::SubjectId;
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

/// What is done to the test subjects' epochs before a decoder, which stays as it is, gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EyeCondition {
    /// Nothing.
    AsTheyAre,
    /// Ocular regression: what frontal channels explain is taken off the others, and the frontal ones are empty.
    Regressed,
    /// The same regression on as many other channels, drawn at random: the mean over several draws.
    RegressedOnOthers,
    /// The frontal channels are empty.
    WithoutFrontal,
    /// As many other channels, drawn at random, are empty: the mean over several draws.
    WithoutOthers,
    /// All channels but the frontal ones are empty.
    OnlyFrontal,
}

impl EyeCondition {
    /// All of them, the epochs as they are first.
    pub const ALL: [EyeCondition; 6] = [
        EyeCondition::AsTheyAre,
        EyeCondition::Regressed,
        EyeCondition::RegressedOnOthers,
        EyeCondition::WithoutFrontal,
        EyeCondition::WithoutOthers,
        EyeCondition::OnlyFrontal,
    ];

    /// In a table: `after ocular regression`.
    pub fn label(self) -> &'static str {
        match self {
            EyeCondition::AsTheyAre => "as they are",
            EyeCondition::Regressed => "after ocular regression",
            EyeCondition::RegressedOnOthers => "after regression on others",
            EyeCondition::WithoutFrontal => "without frontal channels",
            EyeCondition::WithoutOthers => "without as many others",
            EyeCondition::OnlyFrontal => "only frontal channels",
        }
    }
}

/// The scores of a run's decoders under one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EyeScores {
    /// The condition.
    pub condition: EyeCondition,
    /// The scores of each subject and their mean.
    pub summary: Summary,
}

/// A classic decoder that was trained on the frontal channels of training subjects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontalDecoder {
    /// What it can see of them, in a few words.
    pub sees: String,
    /// How many subjects it was trained on.
    pub training_subjects: usize,
    /// Its scores on the frontal channels of the test subjects.
    pub summary: Summary,
}

/// How much of the saliency is on frontal channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontalSaliency {
    /// `integrated gradients` or `occlusion`
    pub method: String,
    /// The subjects.
    pub subjects: Vec<SubjectId>,
    /// For each of them, the frontal channels' share of the sizes of all channels.
    pub shares: Vec<f64>,
}

/// The eye test: how much of a decoder's accuracy on unseen subjects may be of their eyes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EyeFindings {
    /// Names of the frontal channels.
    pub frontal: Vec<String>,
    /// How many channels there are.
    pub channels: usize,
    /// How many of them have no known position, so that nobody can tell whether they are frontal.
    pub unplaced: usize,
    /// The scores of the run's decoders, on the epochs as they are first.
    pub scores: Vec<EyeScores>,
    /// Conditions that could not be scored, and why.
    pub unscored: Vec<(EyeCondition, String)>,
    /// What frontal channels alone can tell.
    pub frontal_decoders: Vec<FrontalDecoder>,
    /// What else could not be computed, and why: a sentence each.
    pub missing: Vec<String>,
    /// The saliency on frontal channels; none where it could not be computed.
    pub saliency: Option<FrontalSaliency>,
    /// Whether each channel is measured against the mean of all, frontal ones among them.
    pub average_reference: bool,
    /// What the pipeline takes out below; none where it takes out nothing.
    pub low_hz: Option<f64>,
    /// How long an epoch is.
    pub epoch_s: f64,
}

impl EyeFindings {
    /// The scores under a condition.
    pub fn scores_of(&self, condition: EyeCondition) -> Option<&Summary> {
        self.scores.iter().find(|scores| scores.condition == condition).map(|scores| &scores.summary)
    }

    /// One condition less another, paired by subject, in the metric that chance is tested in; none where one of them was not scored.
    pub fn difference(&self, condition: EyeCondition, against: EyeCondition) -> Option<PairedDifference> {
        let summaries = [against, condition].map(|condition| self.scores_of(condition).cloned());
        let [Some(against), Some(own)] = summaries else { return None };
        let metric = against.chance.metric().name;
        PairedDifference::against_first(&[against, own], metric).pop()
    }

    /// Each condition less the epochs as they are, with p corrected for how many there are.
    pub fn differences(&self) -> Vec<(EyeCondition, PairedDifference)> {
        let Some(first) = self.scores.first() else { return vec![] };
        let summaries: Vec<Summary> = self.scores.iter().map(|scores| scores.summary.clone()).collect();
        let found = PairedDifference::against_first(&summaries, first.summary.chance.metric().name);
        // What cannot be paired is left out there, so that conditions are told by what they are called.
        let condition = |difference: PairedDifference| {
            let own = |scores: &&EyeScores| scores.summary.display_name() == difference.model;
            let scores = self.scores[1..].iter().find(own)?;
            Some((scores.condition, difference))
        };
        found.into_iter().filter_map(condition).collect()
    }

    /// The frontal channels' share of all channels: their share of the saliency where it is the same everywhere.
    pub fn share_of_channels(&self) -> f64 {
        self.frontal.len() as f64 / self.channels as f64
    }
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

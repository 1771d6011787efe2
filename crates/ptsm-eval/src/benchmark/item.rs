//! One fit of a benchmark: what it is known by, and the file that says what came of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ptsm_decode::AdaptationWay;
use ptsm_decode::distillation::checkpoints;
use ptsm_decode::ensemble;
use ptsm_decode::registry::find;
use ptsm_signal::{SubjectId, TargetAccess};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reading::FeatureFindings;
use super::stage::{Fold, Stage};
use crate::error::{Error, Result};
use crate::record::Record;
use crate::reliability::DecisionBins;
use crate::splits::Units;
use crate::statistics::mean;

/// To be raised when the same fit gives other records than before.
const MEANING: u32 = 1;
/// To be raised when the same tuning with shots gives other records than before. 1: a tie of accuracies leaves the decoder as it was.
/// 2: the head is adapted, not the masks.
const TUNING_MEANING: u32 = 2;
/// To be raised when the same ensemble gives other records than before. 1: it has a temperature of its own.
const ENSEMBLE_MEANING: u32 = 1;
/// The folder of outcomes.
const ITEMS: &str = "items";

/// One fit: a decoder, what it is trained on, the test subjects, a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitItem {
    /// A hash of everything its records depend on: the trials, the subjects, the decoder and its settings, the seed, this program's version.
    pub key: String,
    /// The entry's number in its stage.
    pub entry: usize,
    /// The fold, counted from 0.
    pub fold: usize,
    /// The seed.
    pub seed: u64,
    /// Sessions and runs that are trained on.
    #[serde(rename = "learnt")]
    pub trained_on: Units,
    /// The test subjects.
    pub test: BTreeSet<SubjectId>,
}

/// All that the key stands for.
#[derive(Serialize)]
struct Identity<'a> {
    meaning: u32,
    version: &'static str,
    data: &'a str,
    fingerprint: &'a str,
    trials_access: TargetAccess,
    division: String,
    train: &'a BTreeSet<SubjectId>,
    validation: &'a BTreeSet<SubjectId>,
    test: &'a BTreeSet<SubjectId>,
    #[serde(rename = "learnt")]
    trained_on: &'a Units,
    tested: &'a [Units],
    shots: &'a [usize],
    model: &'a str,
    settings: &'a Value,
    seed: u64,
    precision: Option<&'a str>,
    // Not among what fits without it are known by.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    features: bool,
    // Nor is this: only of fits that are tuned with shots.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuning: Option<u32>,
    // Nor this: only of fits that are adapted in another way than by the head.
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<AdaptationWay>,
    // Only of ensembles.
    #[serde(skip_serializing_if = "Option::is_none")]
    ensemble: Option<u32>,
}

impl FitItem {
    pub(super) fn new(
        stage: &Stage,
        entry: usize,
        (fold, subjects): (usize, &Fold),
        (trained_on, tested): (&Units, &[Units]),
        seed: u64,
    ) -> Result<FitItem> {
        let model = &stage.entries[entry];
        let is_adapted =
            !find(&model.model)?.adaptations(&model.settings)?.is_empty() && !stage.shots.is_empty();
        let identity = Identity {
            meaning: MEANING,
            version: env!("CARGO_PKG_VERSION"),
            data: &stage.data,
            fingerprint: &stage.fingerprint,
            trials_access: stage.trials_access,
            division: stage.division.name(),
            train: subjects.sources.train_subjects(),
            validation: subjects.sources.validation_subjects(),
            test: &subjects.test,
            trained_on,
            tested,
            shots: &stage.shots,
            model: &model.model,
            settings: &model.settings,
            seed,
            precision: stage.precision.as_deref(),
            features: stage.features,
            tuning: is_adapted.then_some(TUNING_MEANING),
            how: (is_adapted && stage.how != AdaptationWay::Head).then_some(stage.how),
            ensemble: (ensemble::size(&model.settings)? > 1).then_some(ENSEMBLE_MEANING),
        };
        let text = serde_json::to_vec(&identity)
            .map_err(|e| Error::plan(format!("settings cannot be hashed: {e}"), "give finite numbers"))?;
        let key = blake3::hash(&text).to_hex()[..32].to_string();
        Ok(FitItem { key, entry, fold, seed, trained_on: trained_on.clone(), test: subjects.test.clone() })
    }

    /// Whether there are scores.
    pub fn is_scored(&self, folder: &Path) -> bool {
        matches!(self.outcome(folder), Some(FitOutcome { scores: FitScores::Scored { .. }, .. }))
    }

    /// Where its outcome is.
    pub fn file(&self, folder: &Path) -> PathBuf {
        folder.join(ITEMS).join(format!("{}.json", self.key))
    }

    /// Where a fit that was cut short continues from.
    pub(super) fn checkpoint(&self, folder: &Path) -> PathBuf {
        folder.join(ITEMS).join(format!("{}.safetensors", self.key))
    }

    /// Takes away what a fit with these settings would continue from: of an ensemble or a teacher one file for each member.
    pub(super) fn remove_checkpoints(&self, folder: &Path, settings: &Value) {
        for checkpoint in checkpoints(&self.checkpoint(folder), settings) {
            let _ = std::fs::remove_file(checkpoint);
        }
    }

    /// What came of it; none where it is still to be done. A file that is not what was written, as after a failing disk, counts as none.
    pub fn outcome(&self, folder: &Path) -> Option<FitOutcome> {
        let outcome: FitOutcome = serde_json::from_slice(&std::fs::read(self.file(folder)).ok()?).ok()?;
        let whole = match &outcome.scores {
            FitScores::Scored { records } => {
                let scored: BTreeSet<SubjectId> = records.iter().map(|r| r.subject).collect();
                scored == self.test
            }
            FitScores::Failed { .. } => true,
        };
        (whole && outcome.key == self.key).then_some(outcome)
    }
}

/// Makes the folder of outcomes and checkpoints where there is none.
pub(super) fn make_room(folder: &Path) -> Result<()> {
    let items = folder.join(ITEMS);
    std::fs::create_dir_all(&items).map_err(Error::file(&items, "written"))
}

/// What came of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitOutcome {
    /// The item's key.
    pub key: String,
    /// Scores or an error.
    #[serde(flatten)]
    pub scores: FitScores,
    /// Its decisions for the test subjects by their probability; none of earlier versions and of what could not be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<DecisionBins>,
    /// How well it decodes its validation subjects; none of a decoder that has none, of earlier versions, and of what could not be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<ValidationScore>,
    /// What its features tell of subjects, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<FeatureFindings>,
    /// Seconds from the beginning of the fits that were done together until this one was ready.
    pub elapsed_s: f64,
    /// How many fits were done together.
    pub together: usize,
    /// How many of those it is made of: of an ensemble as many as it has members. Outcomes of earlier versions count an ensemble as one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub made_of: usize,
    /// Trials that were trained on, without those of validation.
    pub trials: usize,
    /// How many of them are source-only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub source_only: usize,
    /// Version of the program, device and threads.
    pub made_by: String,
}

/// How well a decoder decodes its validation subjects. It was stopped and calibrated by them, so they are no test; but whoever chooses
/// between settings by them has not looked at test subjects.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidationScore {
    /// How many there are.
    pub subjects: usize,
    /// Mean over subjects of the balanced accuracy.
    pub balanced_accuracy: f64,
    /// Mean over subjects of the log loss.
    pub log_loss: f64,
}

impl ValidationScore {
    /// From one record of each subject.
    pub(super) fn of(records: &[Record]) -> ValidationScore {
        let mean = |value: fn(&Record) -> f64| mean(&records.iter().map(value).collect::<Vec<_>>());
        ValidationScore {
            subjects: records.len(),
            balanced_accuracy: mean(|record| record.scores.balanced_accuracy),
            log_loss: mean(|record| record.scores.log_loss),
        }
    }
}

fn one() -> usize {
    1
}

fn is_one(n: &usize) -> bool {
    *n == 1
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// Scores, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FitScores {
    /// One record for each subject, part of the recording and number of shots.
    Scored {
        /// The records.
        records: Vec<Record>,
    },
    /// It could not be done.
    Failed {
        /// Why.
        error: String,
        /// One thing to do.
        hint: Option<String>,
    },
}

impl FitOutcome {
    /// Writes it, whole or not at all.
    pub fn write(&self, item: &FitItem, folder: &Path) -> Result<()> {
        tracing::info!(file = %item.file(folder).display(), "a fit is done");
        let path = item.file(folder);
        let text = serde_json::to_vec(self).map_err(|e| Error::file(&path, "written")(e.into()))?;
        make_room(folder)?;
        Ok(ptsm_io::atomic::replace(&path, &text)?)
    }
}

//! What a run's folder says of it: `run.toml`, and the models beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ptsm_decode::Method;
use ptsm_decode::file::ModelCard;
use ptsm_signal::{Alignment, SubjectId, Subset, TargetAccess, TaskDeclaration};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, ErrorContext, Result};
use crate::folder::{BENCHMARK, Folder, MODELS, RUN};
use crate::input::{PreparedData, TrainingSource};
use crate::settings::without_null;
use crate::source_only::SourceOnlyData;

/// Everything that decides what a run computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFile {
    /// Version of this program.
    pub version: String,
    /// `train`, `adapt` or `benchmark`.
    pub command: String,
    /// One seed per fit.
    pub seeds: Vec<u64>,
    /// How subjects are divided.
    pub protocol: String,
    /// What operands of large products were rounded to on a GPU; none for f32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// The data it was trained on.
    pub data: DataFile,
    /// The subject it was adapted to; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapted: Option<AdaptedFile>,
    /// All settings of every decoder, by name; `"none"` where a value is absent.
    pub models: Vec<DecoderSpec>,
    /// How recordings become trials.
    pub pipeline: Value,
}

impl DataFile {
    /// What reading other data for the decoder depends on.
    pub fn trained_on(&self) -> TrainingSource<'_> {
        TrainingSource { name: &self.name, with: &self.with, source_only: &self.source_only }
    }
}

impl RunFile {
    /// Takes up a folder for it, or makes one.
    pub fn open(&self, path: &Path) -> Result<Folder> {
        let value = serde_json::to_value(self).while_doing(|| "the run cannot be written down".into())?;
        let text = toml::to_string(&without_null(&value))
            .while_doing(|| "the run's settings cannot be written as TOML".into())?;
        Folder::open_run(path, &text)
    }

    /// The training and validation subjects of the decoders among these data, and those their settings were tuned on, whatever their numbers and files are called here.
    pub fn known_subjects(&self, input: &PreparedData) -> BTreeSet<SubjectId> {
        let data = &self.data;
        let known = input
            .identities
            .iter()
            .filter(|(_, identity)| identity.is_among(&data.hashes) || identity.is_among(&data.tuned_on));
        known.map(|(subject, _)| *subject).collect()
    }

    /// What was done with those subjects: `trained`, or `trained or tuned`.
    pub fn involvement(&self) -> &'static str {
        if self.data.tuned_on.is_empty() { "trained" } else { "trained or tuned" }
    }

    /// The target access of some subjects: one part for those whose unlabelled trials the decoders were trained on, one for others, of whom
    /// only the preparation of trials sees anything, and an adaptation their labels. A part without subjects is left out.
    pub fn access<'a>(
        &self,
        card: &ModelCard,
        input: &PreparedData,
        subjects: &Subset<'a>,
    ) -> Vec<(TargetAccess, Subset<'a>)> {
        if self.data.target_hashes.is_empty() {
            return vec![(card.target_access, subjects.clone())];
        }
        let adaptation = Method::adaptation_access(&card.settings).unwrap_or_default();
        let labelled = self.adapted.as_ref().map_or(TargetAccess::Nothing, AdaptedFile::target_access);
        let others = card.pipeline.target_access().and(adaptation).and(labelled);
        let is_target = |subject: &SubjectId| {
            input.identities.get(subject).is_some_and(|identity| identity.is_among(&self.data.target_hashes))
        };
        let parts = [
            (card.target_access, subjects.only(|t| is_target(&t.subject))),
            (others, subjects.only(|t| !is_target(&t.subject))),
        ];
        parts.into_iter().filter(|(_, part)| !part.is_empty()).collect()
    }
}

/// The subject a run was adapted to, and the settings of the adaptation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptedFile {
    /// The subject's number in the data they were adapted with.
    pub subject: SubjectId,
    /// The hash of their trials.
    #[serde(rename = "person")]
    pub trials_hash: String,
    /// Labelled trials of each class.
    pub shots: usize,
    /// How the masks were tuned.
    #[serde(rename = "how")]
    pub adaptation: ptsm_decode::Adaptation,
}

impl AdaptedFile {
    /// What the adaptation saw.
    pub fn target_access(&self) -> TargetAccess {
        TargetAccess::Labelled { per_class: self.shots, unlabelled: 0.0 }
    }
}

/// The data of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// What the data are called.
    pub name: String,
    /// What was chosen about a data set of recordings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, String>,
    /// What is declared about the task.
    #[serde(default, skip_serializing_if = "TaskDeclaration::is_undeclared")]
    pub task: TaskDeclaration,
    /// Of the contents and the pipeline.
    pub fingerprint: String,
    /// How the trials of each subject were aligned.
    pub align: Alignment,
    /// The training subjects; for a benchmark, all subjects that took part.
    pub subjects: BTreeSet<SubjectId>,
    /// The validation subjects (early stopping).
    pub validation: BTreeSet<SubjectId>,
    /// Hashes that all of them are recognised by: numbers and names of files change.
    #[serde(rename = "who")]
    pub hashes: BTreeSet<String>,
    /// Hashes of subjects on whom the settings were tuned.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tuned_on: BTreeSet<String>,
    /// The subjects whose unlabelled trials were trained on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub target: BTreeSet<SubjectId>,
    /// Hashes that those are recognised by.
    #[serde(rename = "target_who", default, skip_serializing_if = "BTreeSet::is_empty")]
    pub target_hashes: BTreeSet<String>,
    /// Trials that were only trained on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_only: Vec<SourceOnlyData>,
}

/// A decoder of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoderSpec {
    /// The decoder's name.
    pub name: String,
    /// All its settings.
    pub settings: Value,
}

/// What a run's folder says it is.
pub fn read(path: &Path) -> Result<RunFile> {
    let file = path.join(RUN);
    if !file.is_file() {
        let what = match path.exists() {
            true if path.join(BENCHMARK).exists() => "is a benchmark's and holds no model",
            true => "holds no run",
            false => "does not exist",
        };
        return Err(Error::request(
            format!("{} {what}", path.display()),
            "`ptsm train --out FOLDER` makes one; give that folder",
        ));
    }
    let text = std::fs::read_to_string(&file).while_doing(|| format!("{} cannot be read", file.display()))?;
    toml::from_str(&text).map_err(|e| {
        Error::request(
            format!("{} is not understood: {}", file.display(), e.to_string().trim_end()),
            "train again into a new folder",
        )
    })
}

/// The model files of a run, in the order of its seeds.
pub fn models(path: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let run = read(path)?;
    let files: Vec<(u64, PathBuf)> = run.seeds.iter().map(|&s| (s, path.join(model_name(s)))).collect();
    if let Some((_, missing)) = files.iter().find(|(_, f)| !f.is_file()) {
        return Err(Error::request(
            format!("{} is not finished: {} is missing", path.display(), missing.display()),
            match run.command.as_str() {
                "adapt" => "start `ptsm adapt` again with the same settings",
                _ => "start `ptsm train` again with the same settings; it continues",
            },
        ));
    }
    Ok(files)
}

/// Where the model of a seed is, seen from the run's folder.
pub fn model_name(seed: u64) -> String {
    format!("{MODELS}/seed-{seed}.safetensors")
}

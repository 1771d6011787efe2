//! Model files: one safetensors file whose metadata says everything that decoding needs.
//!
//! The metadata has one entry, `ptsm`, so that the same model is the same bytes. It is JSON:
//!
//! | key | value |
//! | --- | --- |
//! | `format` | `2`, or `3` of an [ensemble]: its file has the tensors of all members |
//! | `known_subjects` | training subjects the file can tell apart: 0 unless asked for |
//! | `card` | decoder, settings, layout (channels, samples, rate, classes), pipeline, target access, provenance |
//!
//! It identifies no subject: provenance counts subjects and does not name them.

use std::collections::HashMap;
use std::path::Path;

use ptsm_engine::{Device, metadata};
use ptsm_signal::{Layout, Pipeline, TargetAccess};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decoder::{EnsembleMember, FittedDecoder};
use crate::ensemble;
use crate::error::{Error, Result};
use crate::method::ModelFile;
use crate::registry;

/// Of a single decoder, and of an ensemble: programs that know the first alone refuse the second.
const FORMATS: [u32; 2] = [2, 3];
const ENTRY: &str = "ptsm";

/// What a model file says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCard {
    /// The decoder's name in the registry.
    pub decoder: String,
    /// Its settings, all of them.
    pub settings: Value,
    /// The trials it is for.
    pub layout: Layout,
    /// How they are made from recordings.
    pub pipeline: Pipeline,
    /// The target access: what it has seen, or must see, of the test subject.
    pub target_access: TargetAccess,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// How a decoder came to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// Version of this program.
    pub version: String,
    /// Name of the data.
    pub data: String,
    /// Fingerprint of the data and its preparation.
    pub fingerprint: String,
    /// How many training subjects there were.
    pub subjects: usize,
    /// How many validation subjects were held back; 0 for a decoder that does not look at any.
    pub validation_subjects: usize,
    /// How many training trials there were.
    pub trials: usize,
    /// How many of them were source-only: of further runs, tasks or people, trained on and nothing else.
    #[serde(skip_serializing_if = "is_zero")]
    pub source_only_trials: usize,
    /// The seed.
    pub seed: u64,
    /// The epoch that was kept; none of an ensemble.
    pub best_epoch: Option<usize>,
    /// The members of an ensemble.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<EnsembleMember>,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

#[derive(Deserialize)]
struct Version {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    known_subjects: usize,
    card: ModelCard,
}

/// Writes a decoder with its card.
pub fn save(path: &Path, fitted: &dyn FittedDecoder, card: &ModelCard) -> Result<()> {
    let format = FORMATS[usize::from(ensemble::size(&card.settings)? > 1)];
    let header = Header { format, known_subjects: fitted.known_subjects(), card: card.clone() };
    let header = serde_json::to_string(&header)
        .map_err(|e| Error::file(path, format!("cannot be written: its card: {e}")))?;
    fitted.save(path, HashMap::from([(ENTRY.to_string(), header)]))
}

/// Reads a decoder and its card.
pub fn load(path: &Path, device: &Device) -> Result<(Box<dyn FittedDecoder>, ModelCard)> {
    let metadata = metadata(path)?;
    let wrong = |message: String| Error::file(path, message);
    let text = metadata
        .get(ENTRY)
        .ok_or_else(|| wrong(format!("is a safetensors file but not a ptsm model: it lacks `{ENTRY}`")))?;
    let not_understood = |e: serde_json::Error| wrong(format!("`{ENTRY}` is not understood: {e}"));
    let Version { format } = serde_json::from_str(text).map_err(not_understood)?;
    if !FORMATS.contains(&format) {
        let [first, last] = FORMATS;
        return Err(wrong(format!("has format {format}, this program reads formats {first} and {last}")));
    }
    let Header { known_subjects, card, .. } = serde_json::from_str(text).map_err(not_understood)?;
    let bytes = std::fs::read(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    let file =
        ModelFile { path, bytes: &bytes, settings: &card.settings, layout: &card.layout, known_subjects };
    let fitted = registry::find(&card.decoder)?.load(&file, device)?;
    Ok((fitted, card))
}

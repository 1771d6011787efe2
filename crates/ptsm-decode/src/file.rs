//! Model files: one safetensors file whose metadata holds the configuration.
//!
//! | key | value |
//! | --- | --- |
//! | `ptsm.format` | `1` |
//! | `ptsm.model` | JSON: the decoder's name and configuration |
//! | `ptsm.shape` | JSON: channels, time, classes, subjects |

use std::collections::HashMap;
use std::path::Path;

use ptsm_engine::{Parameters, Real, metadata};

use crate::network::{Error, Model, Result, TrialShape};

const FORMAT: &str = "1";

/// Writes one replica of a model.
pub fn save<T: Real>(
    path: &Path,
    model: &Model,
    shape: TrialShape,
    parameters: &Parameters<T>,
    replica: usize,
) -> Result<()> {
    let json = |what: &str, value: serde_json::Result<String>| {
        value.map_err(|e| Error::File {
            path: path.into(),
            message: format!("the {what} cannot be written: {e}"),
        })
    };
    let header = HashMap::from([
        ("ptsm.format".to_string(), FORMAT.to_string()),
        ("ptsm.model".to_string(), json("configuration", serde_json::to_string(model))?),
        ("ptsm.shape".to_string(), json("shape", serde_json::to_string(&shape))?),
    ]);
    Ok(parameters.save(replica, path, header)?)
}

/// Reads a model back: its configuration, its trials' shape and its parameters as the one replica, with a seed for what
/// may follow.
pub fn load<T: Real>(path: &Path, seed: u64) -> Result<(Model, TrialShape, Parameters<T>)> {
    let header = metadata(path)?;
    let wrong = |message: String| Error::File { path: path.into(), message };
    let entry = |key: &str| {
        header
            .get(key)
            .ok_or_else(|| wrong(format!("is a safetensors file but not a ptsm model: it lacks `{key}`")))
    };
    match entry("ptsm.format")?.as_str() {
        FORMAT => {}
        other => return Err(wrong(format!("has format {other}, this program reads format {FORMAT}"))),
    }
    let model: Model = serde_json::from_str(entry("ptsm.model")?)
        .map_err(|e| wrong(format!("`ptsm.model` is not understood: {e}")))?;
    let shape: TrialShape = serde_json::from_str(entry("ptsm.shape")?)
        .map_err(|e| wrong(format!("`ptsm.shape` is not understood: {e}")))?;
    // Parameters do not depend on the batch size; 2 is the least with all losses.
    let network = model.build(shape, 2)?;
    Ok((model, shape, Parameters::from_file(&network.graph, seed, path)?))
}

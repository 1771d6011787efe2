//! Where a run stands, on disk: one safetensors file, written beside and renamed.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use ptsm_engine::{Checkpoint, Parameters, replace};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};

use super::Select;
use super::steps::Steps;
use crate::decoder::EpochRecord;
use crate::error::{Error, Result};

/// Where one job stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobProgress {
    pub(super) learning: bool,
    /// Counted from 1; 0 before the first.
    pub(crate) best_epoch: usize,
    pub(crate) history: Vec<EpochRecord>,
}

impl JobProgress {
    pub(crate) fn new() -> JobProgress {
        JobProgress { learning: true, best_epoch: 0, history: vec![] }
    }

    pub(crate) fn improves(&self, new: &EpochRecord, select: Select) -> bool {
        let Some(best) = self.best_epoch.checked_sub(1).and_then(|i| self.history.get(i)) else {
            return true;
        };
        match select {
            Select::Last => true,
            Select::Loss => new.validation_loss < best.validation_loss,
            Select::Accuracy => {
                new.validation_accuracy > best.validation_accuracy
                    || (new.validation_accuracy == best.validation_accuracy
                        && new.validation_loss < best.validation_loss)
            }
        }
    }
}

/// Everything of a checkpoint that is not a tensor.
#[derive(Serialize, Deserialize)]
pub(super) struct CheckpointHeader {
    /// What the job is: settings, seed, data.
    pub(super) identity: String,
    /// Epochs finished.
    pub(super) epoch: usize,
    #[serde(rename = "standing")]
    pub(super) progress: JobProgress,
}

/// Numbers of steps and runs of one optimizer.
#[derive(Serialize, Deserialize)]
struct Counts {
    steps: u64,
    runs: u32,
}

/// Where the mark of a checkpoint stands in its file.
pub(crate) const MARK: &str = "ptsm.checkpoint";
const COUNTS: &str = "ptsm.counts";
const BEGIN_ANEW: &str = "delete it to begin anew";

/// Checkpoints are written at most this often; the last one of a job always.
pub(crate) const BETWEEN_CHECKPOINTS: Duration = Duration::from_millis(1000);

/// Says that a checkpoint cannot be understood.
pub(crate) fn damaged(path: &Path, message: impl Display) -> Error {
    Error::file_with_hint(path, format!("cannot be continued from: {message}"), BEGIN_ANEW)
}

/// Refuses a checkpoint of another job.
pub(crate) fn expect_own(path: &Path, found: &str, identity: &str) -> Result<()> {
    if found == identity {
        return Ok(());
    }
    let message = "belongs to another run: other settings, seeds or data";
    Err(Error::file_with_hint(path, message, BEGIN_ANEW))
}

/// Writes the state of one replica.
pub(super) fn write(
    path: &Path,
    mark: &CheckpointHeader,
    replica: usize,
    now: &Parameters<f32>,
    best: &Parameters<f32>,
    steps: &[Checkpoint<f32>],
) -> Result<()> {
    let wrong = |message: String| Error::file(path, format!("cannot be written: {message}"));
    let mut views = vec![];
    for tensor in now.tensors() {
        let name = &tensor.name;
        for (state, values) in [("now", now.get(replica, name)?), ("best", best.get(replica, name)?)] {
            views.push((format!("{state}.{name}"), tensor.shape.clone(), values));
        }
    }
    for (s, step) in steps.iter().enumerate() {
        for (i, moments) in step.moments.iter().enumerate() {
            for (which, values) in moments.iter().enumerate() {
                views.push((moment(s, which, i), vec![values.len()], values));
            }
        }
    }
    let views = views
        .into_iter()
        .map(|(name, shape, values)| {
            TensorView::new(Dtype::F32, shape, bytemuck::cast_slice(values)).map(|view| (name, view))
        })
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| wrong(e.to_string()))?;
    let json = |value: serde_json::Result<String>| value.map_err(|e| wrong(e.to_string()));
    let counts: Vec<Counts> = steps.iter().map(|s| Counts { steps: s.steps, runs: s.runs }).collect();
    let header = HashMap::from([
        (MARK.to_string(), json(serde_json::to_string(mark))?),
        (COUNTS.to_string(), json(serde_json::to_string(&counts))?),
    ]);
    let bytes = safetensors::serialize(views, Some(header)).map_err(|e| wrong(e.to_string()))?;
    replace(path, &bytes).map_err(|e| wrong(e.to_string()))
}

/// Brings a replica to where the file says its job stood.
pub(super) fn read(
    path: &Path,
    identity: &str,
    replica: usize,
    now: &mut Parameters<f32>,
    best: &mut Parameters<f32>,
    steps: &mut Steps,
) -> Result<CheckpointHeader> {
    let damaged = |message: String| damaged(path, message);
    let bytes = std::fs::read(path).map_err(|e| Error::file(path, format!("cannot be read: {e}")))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| damaged(e.to_string()))?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| damaged(e.to_string()))?;
    let header = header.metadata().clone().unwrap_or_default();
    let entry = |key: &str| header.get(key).ok_or_else(|| damaged(format!("it lacks `{key}`")));
    let mark: CheckpointHeader = serde_json::from_str(entry(MARK)?).map_err(|e| damaged(e.to_string()))?;
    let counts: Vec<Counts> = serde_json::from_str(entry(COUNTS)?).map_err(|e| damaged(e.to_string()))?;
    expect_own(path, &mark.identity, identity)?;
    let values = |name: &str| -> Result<Vec<f32>> {
        let view = file.tensor(name).map_err(|e| damaged(format!("`{name}`: {e}")))?;
        if view.dtype() != Dtype::F32 {
            return Err(damaged(format!("`{name}` is {}, not F32", view.dtype())));
        }
        // The file's bytes need not be aligned.
        Ok(view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    };
    let names: Vec<String> = now.tensors().iter().map(|t| t.name.clone()).collect();
    for name in &names {
        now.set(replica, name, &values(&format!("now.{name}"))?)?;
        best.set(replica, name, &values(&format!("best.{name}"))?)?;
    }
    let mut states = steps.checkpoint(replica)?;
    if states.len() != counts.len() {
        return Err(damaged(format!("it has {} optimizers, not {}", counts.len(), states.len())));
    }
    for (s, (state, counts)) in states.iter_mut().zip(&counts).enumerate() {
        for (i, moments) in state.moments.iter_mut().enumerate() {
            for (which, own) in moments.iter_mut().enumerate() {
                *own = values(&moment(s, which, i))?;
            }
        }
        (state.steps, state.runs) = (counts.steps, counts.runs);
    }
    steps.restore(replica, &states)?;
    Ok(mark)
}

/// The name of a moment in the file, by optimizer, kind and tensor.
fn moment(step: usize, which: usize, tensor: usize) -> String {
    format!("moment{which}.{step}.{tensor}")
}

//! Where a job stands, on disk: one safetensors file, written beside and renamed.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptsm_engine::{Real, replace};
use safetensors::tensor::{Metadata, TensorView};
use safetensors::{Dtype, SafeTensors};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Select, Training};
use crate::decoder::EpochRecord;
use crate::error::{Error, Result};

/// Where one job stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JobProgress {
    pub(super) learning: bool,
    /// Counted from 1; 0 before the first.
    pub(super) best_epoch: usize,
    pub(super) history: Vec<EpochRecord>,
}

impl JobProgress {
    pub(super) fn new() -> JobProgress {
        JobProgress { learning: true, best_epoch: 0, history: vec![] }
    }

    /// Adds an epoch; answers whether it is the best one so far. After too many that were not, the job does not learn any more.
    pub(super) fn add(&mut self, record: EpochRecord, training: &Training) -> bool {
        let improves = self.improves(&record, training.select);
        self.history.push(record);
        if improves {
            self.best_epoch = self.history.len();
        }
        let waited = self.history.len() - self.best_epoch;
        self.learning = training.patience.is_none_or(|most| waited < most);
        improves
    }

    fn improves(&self, new: &EpochRecord, select: Select) -> bool {
        let Some(best) = self.best_epoch.checked_sub(1).and_then(|i| self.history.get(i)) else {
            return true;
        };
        match select {
            Select::Last => true,
            Select::Loss | Select::CalibratedLoss => new.validation_loss < best.validation_loss,
            Select::Accuracy => {
                new.validation_accuracy > best.validation_accuracy
                    || (new.validation_accuracy == best.validation_accuracy
                        && new.validation_loss < best.validation_loss)
            }
        }
    }
}

/// What every checkpoint says, whatever was trained.
#[derive(Serialize, Deserialize)]
struct CheckpointHeader {
    /// What the job is: settings, seed, data.
    identity: String,
    #[serde(rename = "standing")]
    progress: JobProgress,
}

/// Where the mark of a checkpoint stands in its file.
const MARK: &str = "ptsm.checkpoint";
const BEGIN_ANEW: &str = "delete it to begin anew";

/// Checkpoints are written at most this often; the last one of a job always.
pub(super) const BETWEEN_CHECKPOINTS: Duration = Duration::from_millis(1000);

/// The state of one replica on its way into a file.
#[derive(Default)]
pub(crate) struct Snapshot {
    tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
    notes: Vec<(&'static str, Value)>,
}

impl Snapshot {
    /// Adds a tensor.
    pub(crate) fn put<T: Real>(&mut self, name: impl Into<String>, shape: &[usize], values: &[T]) {
        let bytes = bytemuck::cast_slice(values).to_vec();
        self.tensors.push((name.into(), T::DTYPE, shape.to_vec(), bytes));
    }

    /// Adds something that is not a tensor.
    pub(crate) fn note(&mut self, key: &'static str, value: impl Into<Value>) {
        self.notes.push((key, value.into()));
    }

    pub(super) fn write(self, path: &Path, identity: &str, progress: &JobProgress) -> Result<()> {
        let wrong = |message: String| Error::file(path, format!("cannot be written: {message}"));
        let header = CheckpointHeader { identity: identity.to_string(), progress: progress.clone() };
        let header = serde_json::to_string(&header).map_err(|e| wrong(e.to_string()))?;
        let notes = self.notes.into_iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let entries: HashMap<String, String> = notes.chain([(MARK.to_string(), header)]).collect();
        let views = self.tensors.iter().map(|(name, dtype, shape, bytes)| {
            TensorView::new(*dtype, shape.clone(), bytes).map(|view| (name, view))
        });
        let views = views.collect::<Result<Vec<_>, _>>().map_err(|e| wrong(e.to_string()))?;
        let bytes = safetensors::serialize(views, Some(entries)).map_err(|e| wrong(e.to_string()))?;
        replace(path, &bytes).map_err(|e| wrong(e.to_string()))
    }
}

/// A checkpoint that belongs to the job at hand.
pub(crate) struct CheckpointFile {
    path: PathBuf,
    tensors: Metadata,
    /// The values of all tensors.
    values: Vec<u8>,
    pub(super) progress: JobProgress,
}

impl CheckpointFile {
    /// Reads it; refuses that of another job.
    pub(super) fn read(path: &Path, identity: &str) -> Result<CheckpointFile> {
        let damaged = |message: String| damaged(path, message);
        let bytes = std::fs::read(path).map_err(|e| Error::file(path, format!("cannot be read: {e}")))?;
        let (length, tensors) = SafeTensors::read_metadata(&bytes).map_err(|e| damaged(e.to_string()))?;
        let header = tensors.metadata().as_ref().and_then(|entries| entries.get(MARK));
        let header = header.ok_or_else(|| damaged(format!("it lacks `{MARK}`")))?;
        let header: CheckpointHeader = serde_json::from_str(header).map_err(|e| damaged(e.to_string()))?;
        if header.identity != identity {
            let message = "belongs to another run: other settings, seeds or data";
            return Err(Error::file_with_hint(path, message, BEGIN_ANEW));
        }
        let values = bytes[size_of::<u64>() + length..].to_vec();
        Ok(CheckpointFile { path: path.into(), tensors, values, progress: header.progress })
    }

    /// The values of a tensor.
    pub(crate) fn get<T: Real>(&self, name: &str) -> Result<Vec<T>> {
        let info = self.tensors.info(name).ok_or_else(|| self.damaged(format!("it lacks `{name}`")))?;
        if info.dtype != T::DTYPE {
            return Err(self.damaged(format!("`{name}` is {}, not {}", info.dtype, T::DTYPE)));
        }
        // The file's bytes need not be aligned.
        let bytes = self.values[info.data_offsets.0..info.data_offsets.1].chunks_exact(size_of::<T>());
        Ok(bytes.map(bytemuck::pod_read_unaligned).collect())
    }

    /// What was noted beside the tensors.
    pub(crate) fn note<N: DeserializeOwned>(&self, key: &str) -> Result<N> {
        let wrong = |e: serde_json::Error| self.damaged(format!("`{key}`: {e}"));
        let entry = |key: &str| self.tensors.metadata().as_ref()?.get(key);
        if let Some(note) = entry(key) {
            return serde_json::from_str(note).map_err(wrong);
        }
        // Earlier files have some notes in their header.
        let header = entry(MARK).and_then(|header| serde_json::from_str::<Value>(header).ok());
        let note = header.and_then(|mut header| header.get_mut(key).map(Value::take));
        serde_json::from_value(note.ok_or_else(|| self.damaged(format!("it lacks `{key}`")))?).map_err(wrong)
    }

    /// Says that it cannot be understood.
    pub(crate) fn damaged(&self, message: impl Display) -> Error {
        damaged(&self.path, message)
    }
}

fn damaged(path: &Path, message: impl Display) -> Error {
    Error::file_with_hint(path, format!("cannot be continued from: {message}"), BEGIN_ANEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_found_where_earlier_files_have_them() {
        let (folder, progress) = (tempfile::tempdir().unwrap(), JobProgress::new());
        let path = folder.path().join("checkpoint");
        let mut snapshot = Snapshot::default();
        snapshot.put("now", &[2], &[1.0f32, 2.0]);
        snapshot.note("steps", 7u64);
        snapshot.write(&path, "own", &progress).unwrap();
        let file = CheckpointFile::read(&path, "own").unwrap();
        assert_eq!(
            (file.note::<u64>("steps").unwrap(), file.get::<f32>("now").unwrap()),
            (7, vec![1.0, 2.0])
        );
        assert!(file.get::<f64>("now").unwrap_err().to_string().contains("`now` is F32, not F64"));
        assert!(file.note::<u64>("runs").unwrap_err().to_string().contains("it lacks `runs`"));
        assert!(CheckpointFile::read(&path, "other").is_err());

        let header = serde_json::json!({ "identity": "own", "epoch": 3, "steps": 9, "standing": progress });
        let entries = HashMap::from([(MARK.to_string(), header.to_string())]);
        let none: [(&str, TensorView<'_>); 0] = [];
        std::fs::write(&path, safetensors::serialize(none, Some(entries)).unwrap()).unwrap();
        let file = CheckpointFile::read(&path, "own").unwrap();
        assert_eq!((file.note::<u64>("steps").unwrap(), file.progress), (9, progress));
    }
}

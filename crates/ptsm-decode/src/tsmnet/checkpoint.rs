//! Where a job stands, on disk.

use std::collections::HashMap;
use std::path::Path;

use nalgebra::DMatrix;
use ptsm_engine::metadata;
use serde::{Deserialize, Serialize};

use super::norm::Statistics;
use super::train::State;
use super::weights::{Sizes, Weights};
use crate::classic::matrices::{Matrices, stacked, write as write_matrices};
use crate::error::{Error, Result};
use crate::training::{JobProgress, MARK, damaged, expect_own};

/// Everything of a checkpoint that is not a tensor.
#[derive(Serialize, Deserialize)]
struct CheckpointHeader {
    /// What the job is: settings, seed, data.
    identity: String,
    /// Steps of the optimizer.
    steps: u64,
    #[serde(rename = "standing")]
    progress: JobProgress,
}

/// Writes where a job stands at the end of an epoch.
pub(super) fn write(path: &Path, identity: &str, state: &State) -> Result<()> {
    let mark = CheckpointHeader {
        identity: identity.to_string(),
        steps: state.adam.steps,
        progress: state.progress.clone(),
    };
    let mark =
        serde_json::to_string(&mark).map_err(|e| Error::file(path, format!("cannot be written: {e}")))?;
    let variances = state.statistics.iter().map(|s| s.variance);
    let tensors = vec![
        ("now", state.weights.flat()),
        ("best", state.best.flat()),
        ("first", state.adam.first.flat()),
        ("second", state.adam.second.flat()),
        ("means", stacked(state.statistics.iter().map(|s| &s.mean))),
        ("variances", DMatrix::from_iterator(state.statistics.len(), 1, variances)),
    ];
    write_matrices(path, HashMap::from([(MARK.to_string(), mark)]), &tensors)
}

/// Brings a job to where its file says it stood.
pub(super) fn read(path: &Path, identity: &str, sizes: &Sizes, state: &mut State) -> Result<()> {
    let damaged = |error: String| damaged(path, error);
    let header = metadata(path).map_err(|e| damaged(e.to_string()))?;
    let mark = header.get(MARK).ok_or_else(|| damaged(format!("it lacks `{MARK}`")))?;
    let mark: CheckpointHeader = serde_json::from_str(mark).map_err(|e| damaged(e.to_string()))?;
    expect_own(path, &mark.identity, identity)?;
    let file = Matrices::read(path)?;
    let (all, count, side) = (state.weights.len(), state.statistics.len(), sizes.subspace);
    let sized = |name, rows, columns| file.sized(name, rows, columns).map_err(|e| damaged(e.to_string()));
    let weights = |name| Ok::<_, Error>(Weights::from_flat(sizes, &sized(name, all, 1)?));
    state.weights = weights("now")?;
    state.best = weights("best")?;
    state.adam.first = weights("first")?;
    state.adam.second = weights("second")?;
    state.adam.steps = mark.steps;
    state.progress = mark.progress;
    let (means, variances) = (sized("means", count * side, side)?, sized("variances", count, 1)?);
    let statistics =
        |i: usize| Statistics { mean: means.rows(i * side, side).into_owned(), variance: variances[i] };
    state.statistics = (0..count).map(statistics).collect();
    Ok(())
}

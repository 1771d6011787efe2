//! Verbs that need nothing beside a request: the defaults of what [`ptsm_eval`] can do in more ways.

use std::path::Path;

use ptsm_eval::launch::{self, LaunchResult, Launcher};
use ptsm_eval::tuning::{TuneRequest, search};
use ptsm_eval::{
    BenchmarkResults, DataRequest, Env, Error, Plan, PreparedData, Result, SettingChanges, TaskOverride,
    load_training_data,
};
use ptsm_explain::read_features;

/// Loads data prepared by their own pipeline: filtered, epoched, scaled.
pub fn load(data: &DataRequest, env: &Env) -> Result<PreparedData> {
    load_training_data(data, None, &TaskOverride::default(), &SettingChanges::default(), env)
}

/// Runs a benchmark in this process, or goes on with it. [`ptsm_eval::launch::run`] also starts other processes and Slurm jobs.
pub fn benchmark(plan: &Plan, out: &Path, env: &Env) -> Result<BenchmarkResults> {
    match launch::run(plan, out, &Launcher::InProcess, &read_features, env)? {
        LaunchResult::Finished(results) => Ok(*results),
        LaunchResult::Submitted(_) => {
            Err(Error::request("a benchmark in this process was submitted", "report this"))
        }
    }
}

/// The best settings that a search found, and the configuration file that holds them.
#[derive(Clone, Debug)]
pub struct TunedSettings {
    /// The values of the keys that were tried.
    pub values: Vec<(String, serde_json::Value)>,
    /// Their mean score on subjects kept out of each fit. It was chosen by that, so it is no result.
    pub score: Option<f64>,
}

/// Searches for settings on a development set, and writes `best.toml` into the folder of the request.
pub fn tune(request: &TuneRequest, env: &Env) -> Result<Vec<TunedSettings>> {
    search(request, env, |found| {
        let keys = found.candidates.space.iter().map(|dimension| dimension.key.clone());
        let keys: Vec<String> = keys.collect();
        let best = found.found.iter().map(|one| TunedSettings {
            values: keys.iter().cloned().zip(found.values(&one.best).iter().cloned()).collect(),
            score: one.best.mean(),
        });
        Ok(best.collect())
    })
}

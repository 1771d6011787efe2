//! Work in portions: what one process does from its start to its end.

use std::path::{Path, PathBuf};

use ptsm_data::{map_stored_trials, store_trials};
use ptsm_io::atomic::{replace, unfinished_target};
use ptsm_signal::Trials;
use serde::{Deserialize, Serialize};

use super::slurm::SUBMITTED;
use super::work::Work;
use crate::benchmark::{Division, FitItem, StageTrials, WorkList, WorkMarker};
use crate::env::Env;
use crate::error::{Error, ErrorContext, Result};
use crate::plan::PreparedStage;
use crate::source_only::SourceOnlyTrials;

const TASKS: &str = "tasks.json";
/// The folder of trials that workers share.
const TRIALS: &str = "trials";
/// The part of a stage's trials that are only trained on.
const SOURCE_ONLY: &str = "source-only";
/// The folder of what workers say.
pub(super) const LOGS: &str = "logs";

/// Some fits of one decoder: they train together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FitGroup {
    pub(super) stage: usize,
    /// The keys of the fits.
    pub(super) keys: Vec<String>,
}

/// What is left to do, the fits of each decoder in so many portions or fewer.
pub(super) fn divide(list: &WorkList, folder: &Path, portions: usize) -> Vec<FitGroup> {
    let mut tasks = vec![];
    for (stage, (of, items)) in list.stages.iter().enumerate() {
        for entry in 0..of.entries.len() {
            let left: Vec<_> =
                items.iter().filter(|item| item.entry == entry && !item.is_scored(folder)).collect();
            let size = left.len().div_ceil(portions.max(1)).max(1);
            let task = |some: &[&FitItem]| FitGroup {
                stage,
                keys: some.iter().map(|item| item.key.clone()).collect(),
            };
            tasks.extend(left.chunks(size).map(task));
        }
    }
    tasks
}

pub(super) fn write(folder: &Path, tasks: &[FitGroup]) -> Result<()> {
    let path = folder.join(TASKS);
    let bytes = serde_json::to_vec(tasks).while_doing(|| format!("{} cannot be written", path.display()))?;
    Ok(replace(&path, &bytes)?)
}

pub(super) fn read(folder: &Path) -> Result<Vec<FitGroup>> {
    let path = folder.join(TASKS);
    let cannot = || format!("{} cannot be read", path.display());
    let bytes = std::fs::read(&path).while_doing(cannot)?;
    serde_json::from_slice(&bytes).while_doing(cannot)
}

/// Writes the trials of the stages that tasks need, ready to be mapped: workers share one copy of them.
pub(super) fn share(work: &mut Work<'_>, tasks: &[FitGroup], folder: &Path, env: &Env) -> Result<()> {
    let inner = folder.join(TRIALS);
    std::fs::create_dir_all(&inner).while_doing(|| format!("{} cannot be made", inner.display()))?;
    for stage in 0..work.stages.len() {
        let needed = tasks.iter().any(|task| task.stage == stage);
        if !needed || shared(&work.list, stage, folder, None).is_ok() {
            continue;
        }
        let PreparedStage { stage: known, training, tested, source_only } = work.prepare(stage, env)?;
        store_trials(&file(folder, stage, "learnt"), &name(&known.fingerprint, "learnt"), &training)?;
        if let Some(tested) = tested {
            store_trials(&file(folder, stage, "tested"), &name(&known.fingerprint, "tested"), &tested)?;
        }
        if let Some(further) = source_only {
            let alone = further.alone();
            let alone = alone.with_samples(alone.signals().flatten().copied().collect())?;
            let name = name(&known.fingerprint, SOURCE_ONLY);
            store_trials(&file(folder, stage, SOURCE_ONLY), &name, &alone)?;
        }
    }
    Ok(())
}

/// Maps what was shared; where a folder of this machine is named, a copy in it, so that the network is asked once.
pub(super) fn shared(
    list: &WorkList,
    stage: usize,
    folder: &Path,
    node_cache: Option<&Path>,
) -> Result<SharedTrials> {
    let known = &list.stages[stage].0;
    let map = |part: &str| {
        let path = file(folder, stage, part);
        if let Some(cache) = node_cache {
            return near(&path, cache, &name(&known.fingerprint, part));
        }
        map_stored_trials(&path, &name(&known.fingerprint, part)).ok_or_else(|| {
            Error::request(
                format!("{} is missing or not whole", path.display()),
                "run the benchmark again; it writes the trials anew",
            )
        })
    };
    let across = matches!(known.division, Division::Across { .. });
    let training = map("learnt")?;
    let source_only = match known.source_only.is_empty() {
        true => None,
        false => Some(SourceOnlyTrials::new(&training, &map(SOURCE_ONLY)?)?),
    };
    Ok(SharedTrials { training, tested: if across { Some(map("tested")?) } else { None }, source_only })
}

/// The trials of a stage, mapped.
pub(super) struct SharedTrials {
    training: Trials,
    tested: Option<Trials>,
    source_only: Option<SourceOnlyTrials>,
}

impl SharedTrials {
    /// The trials, as a benchmark takes them.
    pub(super) fn sets(&self) -> StageTrials<'_> {
        let SharedTrials { training, tested, source_only } = self;
        StageTrials { training, tested: tested.as_ref(), source_only: source_only.as_ref() }
    }
}

/// The copy of a file of trials on this machine, made where there is none.
fn near(path: &Path, cache: &Path, name: &str) -> Result<Trials> {
    let hash = fingerprint(name);
    let copy = cache.join(format!("{hash}.trials"));
    if let Some(trials) = map_stored_trials(&copy, name) {
        return Ok(trials);
    }
    let cannot = || format!("{} cannot be copied to {}", path.display(), cache.display());
    std::fs::create_dir_all(cache).while_doing(cannot)?;
    let mut from = std::fs::File::open(path).while_doing(cannot)?;
    // Several tasks may begin at once on one machine: each writes beside and renames.
    ptsm_io::atomic::write_renamed(&copy, |to| std::io::copy(&mut from, to).map(|_| ()))?;
    map_stored_trials(&copy, name).ok_or_else(|| {
        Error::request(
            format!("{} is not whole", path.display()),
            "run the benchmark again; it writes the trials anew",
        )
    })
}

/// Takes away what only work under way needs.
pub(super) fn clear(folder: &Path) {
    WorkMarker::clear(folder);
    // Nothing but what we put there, also what a process left that was killed while it wrote.
    let trials = |name: &str| {
        let whole = unfinished_target(name).unwrap_or(name);
        ["learnt", "tested", SOURCE_ONLY].iter().any(|part| whole.ends_with(&format!("-{part}.trials")))
    };
    let logs = |name: &str| {
        (name.starts_with("task-") && name.ends_with(".log"))
            || ["work.sh", "collect.sh", "collect.log"].contains(&name)
    };
    empty(&folder.join(TRIALS), trials);
    empty(&folder.join(LOGS), logs);
    for name in [TASKS, SUBMITTED] {
        let _ = std::fs::remove_file(folder.join(name));
    }
}

/// Takes files of some names away, and the folder where nothing else is in it.
fn empty(folder: &Path, ours: impl Fn(&str) -> bool) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(&ours) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let _ = std::fs::remove_dir(folder);
}

fn file(folder: &Path, stage: usize, part: &str) -> PathBuf {
    folder.join(TRIALS).join(format!("{stage}-{part}.trials"))
}

/// A name of a file for a name of trials.
fn fingerprint(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex()[..32].to_string()
}

fn name(fingerprint: &str, part: &str) -> String {
    format!("{part} {fingerprint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process can be killed while it writes trials, by whichever process the rest is then done.
    #[test]
    fn what_is_left_of_a_killed_process_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let trials = folder.path().join(TRIALS);
        std::fs::create_dir_all(&trials).unwrap();
        for name in ["0-learnt.trials", ".0-learnt.trials.29748-2.partial", ".1-tested.trials.7-0.partial"] {
            std::fs::write(trials.join(name), "half").unwrap();
        }
        clear(folder.path());
        assert!(!trials.exists());
        // What is somebody else's stays.
        std::fs::create_dir_all(&trials).unwrap();
        for name in ["mine.trials", ".mine.partial"] {
            std::fs::write(trials.join(name), "mine").unwrap();
        }
        clear(folder.path());
        assert_eq!(std::fs::read_dir(&trials).unwrap().count(), 2);
    }
}

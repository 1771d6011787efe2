//! A run's folder: what it is (`run.toml`), what it made, and that nobody else works in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirEntry, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context;
use ptsm_decode::file::Card;
use ptsm_signal::{Alignment, SubjectId, Subset, TargetAccess, TaskDeclaration};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::without_null;
use crate::exit::told;
use crate::input::Input;
use crate::occupant::Occupant;
use crate::output;

/// Everything that decides what a run computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunFile {
    /// Version of this program.
    pub(crate) version: String,
    /// `train`, `adapt` or `benchmark`.
    pub(crate) command: String,
    /// One seed per fit.
    pub(crate) seeds: Vec<u64>,
    /// How people are divided.
    pub(crate) protocol: String,
    /// What operands of large products were rounded to on a GPU; none for f32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) precision: Option<String>,
    pub(crate) data: DataFile,
    /// Whom it was adapted to; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) adapted: Option<AdaptedFile>,
    /// All settings of every decoder, by name; `"none"` where a value is absent.
    pub(crate) models: Vec<ModelFile>,
    /// How recordings become trials.
    pub(crate) pipeline: Value,
}

impl RunFile {
    /// Who of these data the decoders have learnt from, were stopped by or have their settings from, whatever their numbers and files are called here.
    pub(crate) fn seen(&self, input: &Input) -> BTreeSet<SubjectId> {
        let data = &self.data;
        let known = input
            .people
            .iter()
            .filter(|(_, person)| person.is_among(&data.who) || person.is_among(&data.tuned_on));
        known.map(|(subject, _)| *subject).collect()
    }

    /// What was done with those people: `trained`, or `trained or tuned`.
    pub(crate) fn made(&self) -> &'static str {
        if self.data.tuned_on.is_empty() { "trained" } else { "trained or tuned" }
    }

    /// What the decoders have seen of some people: one part for those whose unlabelled trials they learnt from, one for others, of whom
    /// only the preparation of trials sees anything. A part without people is left out.
    pub(crate) fn access<'a>(
        &self,
        card: &Card,
        input: &Input,
        people: &Subset<'a>,
    ) -> Vec<(TargetAccess, Subset<'a>)> {
        if self.data.target_who.is_empty() {
            return vec![(card.target_access, people.clone())];
        }
        let is_target = |subject: &SubjectId| {
            input.people.get(subject).is_some_and(|person| person.is_among(&self.data.target_who))
        };
        let parts = [
            (card.target_access, people.only(|t| is_target(&t.subject))),
            (card.pipeline.target_access(), people.only(|t| !is_target(&t.subject))),
        ];
        parts.into_iter().filter(|(_, part)| !part.is_empty()).collect()
    }
}

/// Whom a run was adapted to, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdaptedFile {
    /// The person's number in the data they were adapted with.
    pub(crate) subject: SubjectId,
    /// The hash of their trials.
    pub(crate) person: String,
    /// Labelled trials of each class.
    pub(crate) shots: usize,
    pub(crate) how: ptsm_decode::Adaptation,
}

/// The data of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataFile {
    pub(crate) name: String,
    /// What was chosen about a data set of recordings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) with: BTreeMap<String, String>,
    /// What is declared about the task.
    #[serde(default, skip_serializing_if = "TaskDeclaration::is_undeclared")]
    pub(crate) task: TaskDeclaration,
    /// Of the contents and the pipeline.
    pub(crate) fingerprint: String,
    pub(crate) align: Alignment,
    /// Who was learnt from; for a benchmark, who took part.
    pub(crate) subjects: BTreeSet<SubjectId>,
    /// Who it was stopped by.
    pub(crate) validation: BTreeSet<SubjectId>,
    /// Hashes that all of them are recognised by: numbers and names of files change.
    pub(crate) who: BTreeSet<String>,
    /// Hashes of people on whom the settings were tuned.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) tuned_on: BTreeSet<String>,
    /// Whose trials were learnt from without labels, and what they are recognised by.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) target: BTreeSet<SubjectId>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) target_who: BTreeSet<String>,
}

/// A decoder of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelFile {
    pub(crate) name: String,
    pub(crate) settings: Value,
}

/// A folder that this process alone works in.
pub(crate) struct Folder {
    path: PathBuf,
    /// Whether it was not there before.
    made: bool,
    /// Whether it stays even where nothing came of the run.
    stays: bool,
    // Held as long as the folder is.
    _lock: File,
}

const RUN: &str = "run.toml";
/// A benchmark's plan with everything that was given; to be given again as it is.
pub(crate) const BENCHMARK: &str = "benchmark.toml";
/// What a search for settings was asked for.
const TUNING: &str = "tune.toml";
/// What came of a benchmark's fits.
const ITEMS: &str = "items";
/// What a benchmark makes of its plan and its outcomes.
const COLLECTED: [&str; 11] = [
    "work.json",
    "tasks.json",
    "results.jsonl",
    "results.csv",
    "summary.csv",
    "published.csv",
    "tables.md",
    "tables.tex",
    "moabb.csv",
    "matrix.json",
    "provenance.json",
];
const LOCK: &str = "lock";
/// Every epoch, one line each.
pub(crate) const LOG: &str = "log.jsonl";
/// The folder of the models.
pub(crate) const MODELS: &str = "models";

impl Folder {
    /// Makes the folder, or takes up a run of the same kind in it.
    pub(crate) fn open(path: &Path, run: &RunFile) -> anyhow::Result<Folder> {
        let text = toml::to_string(&without_null(&serde_json::to_value(run)?))
            .context("the run's settings cannot be written as TOML")?;
        Folder::enter(path, RUN, &text, true)
    }

    /// Makes the folder of a benchmark, or takes one up. Its plan may have changed: what is done is known by what it depends on.
    pub(crate) fn open_benchmark(path: &Path, plan: &str) -> anyhow::Result<Folder> {
        Folder::enter(path, BENCHMARK, plan, false)
    }

    /// Makes the folder of a search for settings, or takes one up; it may have changed as well.
    pub(crate) fn open_tuning(path: &Path, asked: &str) -> anyhow::Result<Folder> {
        Folder::enter(path, TUNING, asked, false)
    }

    /// Takes up a benchmark as it is, unless somebody works in it.
    pub(crate) fn try_lock_benchmark(path: &Path) -> anyhow::Result<Result<Folder, InUse>> {
        Ok(lock(path)?.map(|lock| Folder { path: path.into(), made: false, stays: true, _lock: lock }))
    }

    /// `name` is the file that says what the folder is, `text` what it shall hold; where it is another run's, it is refused if `same` is wanted.
    fn enter(path: &Path, name: &'static str, text: &str, same: bool) -> anyhow::Result<Folder> {
        let cannot = || format!("{} cannot be used as a run's folder", path.display());
        let file = path.join(name);
        let made = !path.exists();
        let begun = file.exists() && (same || is_begun(path, &file));
        if file.exists() && !begun {
            return Err(told(
                format!("{} is not of a benchmark that was begun there", file.display()),
                "give another folder to `--out`: a plan of your own stays where it is",
            ));
        }
        if !begun && !made {
            for (other, what) in [(RUN, "a trained decoder"), (BENCHMARK, "a benchmark")] {
                if path.join(other).exists() {
                    return Err(told(
                        format!("{} holds {what}", path.display()),
                        "give another folder to `--out`",
                    ));
                }
            }
            let mut entries = std::fs::read_dir(path).with_context(cannot)?;
            // A lock and unfinished files are what a run leaves that was killed before it began.
            let own = |e: &DirEntry| e.file_name() == LOCK || is_unfinished(e);
            if entries.any(|e| e.map_or(true, |e| !own(&e))) {
                return Err(told(
                    format!("{} is not empty and holds no run", path.display()),
                    "give a new folder to `--out`",
                ));
            }
        }
        std::fs::create_dir_all(path).with_context(cannot)?;
        let lock = lock(path)?.map_err(|used| used.refusal())?;
        if begun && same {
            let found = std::fs::read_to_string(&file)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            if let Some((found, wanted)) = first_difference(&found, text) {
                return Err(told(
                    format!(
                        "{} holds another run: it has `{found}`, this command wants `{wanted}`",
                        path.display()
                    ),
                    "give another folder to `--out`, or the same settings to continue",
                ));
            }
        }
        // From here on the folder is this run's own, and taken away again should nothing come of it.
        let folder = Folder { path: path.into(), made, stays: begun && !same, _lock: lock };
        folder.clear();
        if !begun || !same {
            output::write(&file, text.as_bytes())?;
        }
        Ok(folder)
    }

    /// Takes away what a killed process left unfinished. Nobody else works here, so none of it is being written.
    pub(crate) fn clear(&self) {
        for folder in [self.path.clone(), self.path.join(MODELS), self.path.join(ITEMS)] {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            for entry in entries.filter(is_unfinished) {
                // One that stays does no harm.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// A file in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A folder in it.
    pub(crate) fn inner(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        Ok(path)
    }
}

impl Drop for Folder {
    /// A run that came to nothing leaves nothing, so that the folder can be given again with other settings. A log without a
    /// checkpoint is nothing: training would begin anew.
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        let empty = |name: &str| self.path.join(name).read_dir().is_ok_and(|mut all| all.next().is_none());
        let worthless = |e: DirEntry| match e.file_name().to_str() {
            Some(LOCK | RUN | LOG | BENCHMARK | TUNING) => true,
            // Without any outcome there is nothing in them.
            Some(name) if COLLECTED.contains(&name) => !self.path.join(ITEMS).exists() || empty(ITEMS),
            Some(name @ (MODELS | ITEMS)) => empty(name),
            _ => false,
        };
        if !self.path.read_dir().is_ok_and(|mut all| all.all(|e| e.is_ok_and(worthless))) {
            return;
        }
        // What stays after all is taken up by the next process.
        for name in [MODELS, ITEMS] {
            let _ = std::fs::remove_dir(self.path.join(name));
        }
        for name in [LOG, RUN, BENCHMARK, TUNING, LOCK].into_iter().chain(COLLECTED) {
            let _ = std::fs::remove_file(self.path.join(name));
        }
        if self.made {
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// What a plan begins with that this program wrote.
pub(crate) const WRITTEN: &str = "# Written by `ptsm benchmark`, to be given to it again.\n";

/// Whether a benchmark was begun in a folder: there is work, or at least a plan that this program wrote.
fn is_begun(path: &Path, plan: &Path) -> bool {
    let written = || std::fs::read_to_string(plan).is_ok_and(|text| text.starts_with(WRITTEN));
    path.join("work.json").exists() || path.join(ITEMS).exists() || written()
}

/// Whether it is the beginning of a file that was never put in its place.
fn is_unfinished(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    (name.starts_with('.') && name.ends_with(".partial"))
        || (name.contains(".safetensors.") && name.ends_with(".part"))
}

/// What a run's folder says it is.
pub(crate) fn read(path: &Path) -> anyhow::Result<RunFile> {
    let file = path.join(RUN);
    if !file.is_file() {
        let what = match path.exists() {
            true if path.join(BENCHMARK).exists() => "is a benchmark's and holds no model",
            true => "holds no run",
            false => "does not exist",
        };
        return Err(told(
            format!("{} {what}", path.display()),
            "`ptsm train --out FOLDER` makes one; give that folder",
        ));
    }
    let text =
        std::fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    toml::from_str(&text).map_err(|e| {
        told(
            format!("{} is not understood: {}", file.display(), e.to_string().trim_end()),
            "train again into a new folder",
        )
    })
}

/// The model files of a run, in the order of its seeds.
pub(crate) fn models(path: &Path) -> anyhow::Result<Vec<(u64, PathBuf)>> {
    let run = read(path)?;
    let files: Vec<(u64, PathBuf)> = run.seeds.iter().map(|&s| (s, path.join(model_name(s)))).collect();
    if let Some((_, missing)) = files.iter().find(|(_, f)| !f.is_file()) {
        return Err(told(
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
pub(crate) fn model_name(seed: u64) -> String {
    format!("{MODELS}/seed-{seed}.safetensors")
}

/// A folder that another process works in.
pub(crate) struct InUse {
    path: PathBuf,
    /// Who it is, where that is known.
    occupant: Option<Occupant>,
}

impl InUse {
    /// Who works there, in words.
    pub(crate) fn who(&self) -> String {
        self.occupant.as_ref().map_or_else(|| "another process".into(), Occupant::to_string)
    }

    /// The error for work that cannot be done beside other work.
    pub(crate) fn refusal(&self) -> anyhow::Error {
        let message = match &self.occupant {
            None => format!("another process works in {}", self.path.display()),
            Some(occupant) => format!("another process works in {}: {occupant}", self.path.display()),
        };
        told(message, "wait for it, or give another folder to `--out`")
    }
}

/// Locks a folder and says in it who has it now.
fn lock(path: &Path) -> anyhow::Result<Result<File, InUse>> {
    let file = path.join(LOCK);
    let cannot = || format!("{} cannot be written to", path.display());
    let mut lock = File::options().create(true).append(true).open(&file).with_context(cannot)?;
    match lock.try_lock() {
        Ok(()) => {
            // Only for the words of an error: on a full disk the lock holds all the same, and what needs room says so itself.
            let _ = Occupant::this().write(&mut lock);
            Ok(Ok(lock))
        }
        Err(TryLockError::WouldBlock) => {
            Ok(Err(InUse { path: path.into(), occupant: Occupant::read(&file) }))
        }
        // Some network file systems have no locks; one process at a time needs none.
        Err(TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => Ok(Ok(lock)),
        Err(TryLockError::Error(e)) => Err(e).with_context(cannot),
    }
}

/// The first line in which two texts differ, both sides.
fn first_difference(found: &str, wanted: &str) -> Option<(String, String)> {
    let (mut a, mut b) = (found.lines(), wanted.lines());
    loop {
        match (a.next(), b.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => {
                let say = |line: Option<&str>| line.unwrap_or("nothing").to_string();
                return Some((say(a), say(b)));
            }
        }
    }
}

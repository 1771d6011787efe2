//! A benchmark as a file: who takes part, on which data, how subjects are divided. Flags on the command line make the same.

mod paper;
mod stages;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::splits::Protocol;
use crate::splits::Transfer;
use ptsm_data::SubjectList;
use ptsm_decode::AdaptationWay;
use ptsm_signal::{Alignment, Paradigm, Symmetry};
use serde::{Deserialize, Serialize};
use toml::Table;

use crate::error::{Error, Result};
use crate::input::{DataRequest, SettingsRequest, SourceOnlyRequest};
use crate::metrics::{METRICS, Metric, metric};
use crate::phrases;
use crate::settings::{self, TUNED_ON};
use crate::summary::Summary;

pub use paper::{PaperColumn, PublishedValue};
pub use stages::{PreparedStage, StagePlan};

/// What is given beside a plan's file, and goes over it.
#[derive(Clone, Debug, Default)]
pub struct PlanOverrides {
    /// Other data, or where they are, or which of their subjects.
    pub data: DataRequest,
    /// Settings of all decoders and of the pipeline, alignment, seeds.
    pub settings: SettingsRequest,
    /// The decoders; of a file, only these.
    pub models: Vec<String>,
    /// How subjects are divided.
    pub protocol: Option<Protocol>,
    /// Learn from each data set and test in every other.
    pub across: bool,
    /// Sessions and runs to learn from and to test.
    pub transfers: Vec<Transfer>,
    /// Labelled trials of each class for few-shot adaptation.
    pub shots: Vec<usize>,
    /// What few-shot adaptation changes.
    pub how: Option<AdaptationWay>,
    /// Measure what the features of every fit tell of subjects.
    pub features: bool,
}

/// Everything about a benchmark that a user decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// What stands above the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What a reader should know: what is ambiguous, and which reading this is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<String>,
    /// How subjects are divided, where a data set says nothing else; `loso` where nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Learn from each data set and test in every other, instead of dividing subjects within each.
    #[serde(skip_serializing_if = "is_false")]
    pub across: bool,
    /// Sessions and runs to learn from and to test, `s1:s2`; everything without any.
    #[serde(rename = "units", skip_serializing_if = "Vec::is_empty")]
    pub transfers: Vec<Transfer>,
    /// Labelled trials of each class to adapt decoders with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shots: Vec<usize>,
    /// What few-shot adaptation changes; the head without it. Decoders that do not have that are scored as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<AdaptationWay>,
    /// Measure what the features of every fit tell of subjects.
    #[serde(skip_serializing_if = "is_false")]
    pub features: bool,
    /// The first seed, and how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How many seeds; one without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<usize>,
    /// The metrics of the tables, the first one also of the comparisons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Hashes of the subjects on whom settings were tuned: none of them is tested.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub tuned_on: BTreeSet<String>,
    /// Decoders, each in every variant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Settings of all decoders that have them, as in a configuration file.
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub set: Table,
    /// The data sets.
    pub data: Vec<DataPlan>,
    /// Ways of preparing trials and setting decoders: every model in every variant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variant: Vec<VariantPlan>,
    /// Further decoders, each in its own way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<EntryPlan>,
    /// What a paper's table says of the same, column by column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paper: Vec<PaperColumn>,
    /// Methods of that table, each with the rows of ours it stands beside: `ptsm`, `ptsm, without STAP`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, Vec<String>>,
}

/// One data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataPlan {
    /// What to read: a name of the catalogue, `bids:DIR`, `files:MANIFEST`, a `.npz` file.
    pub id: String,
    /// What it is called in the results; as the data set where there is none. Tells apart what is read twice with other choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The folder of the recordings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Choices about the data set, `NAME=VALUE`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// Only these subjects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects: Option<SubjectList>,
    /// What subjects do, and which classes swap when left and right are exchanged, over what the data say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paradigm: Option<Paradigm>,
    /// Which classes swap when left and right are exchanged, over what the data say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symmetry: Option<Symmetry>,
    /// How its subjects are divided, over what the plan says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Trials that are only trained on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source_only: Vec<SourceOnlyRequest>,
    /// Settings for these data, `set.pipeline` among them.
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub set: Table,
}

/// One way of preparing trials and setting decoders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VariantPlan {
    /// What it is called; none for the plain one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How the trials of each subject are aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<Alignment>,
    /// `false` to leave out what the data have for training only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_only: Option<bool>,
    /// Settings, over those of the plan and of the data.
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub set: Table,
}

/// One decoder in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EntryPlan {
    /// The decoder's name.
    pub model: String,
    /// What it is called among others; none for the plain one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How the trials of each subject are aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<Alignment>,
    /// `false` to leave out what the data have for training only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_only: Option<bool>,
    /// Settings, over those of the plan and of the data.
    #[serde(skip_serializing_if = "Table::is_empty")]
    pub set: Table,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Plan {
    /// A file or a preset by its name, with what was given besides over it; checked.
    pub fn of(name: Option<&str>, over: &PlanOverrides) -> Result<Plan> {
        let mut plan = match name {
            None => Plan::default(),
            Some(name) => Plan::named(name)?,
        };
        plan.change(over)?;
        plan.check()?;
        Ok(plan)
    }

    fn named(name: &str) -> Result<Plan> {
        match presets::find(name) {
            Some(preset) => Plan::parse(name, preset.text),
            None if Path::new(name).exists() => Plan::read(Path::new(name)),
            None => Err(Error::request(
                format!("there is no preset and no file `{name}`"),
                format!("presets are {}; `ptsm presets NAME` shows one to copy", presets::names()),
            )),
        }
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Plan> {
        Plan::parse(&path.display().to_string(), &settings::text(path)?)
    }

    fn parse(name: &str, text: &str) -> Result<Plan> {
        toml::from_str(text).map_err(|e| {
            Error::request(
                format!("`{name}` is no benchmark: {}", e.to_string().trim_end()),
                "correct that line; `ptsm presets paper-table-2` shows a complete plan",
            )
        })
    }

    /// What was given besides goes over the file.
    fn change(&mut self, args: &PlanOverrides) -> Result<()> {
        let given = &args.settings.changes;
        let source = &args.data;
        if let Some(id) = source.data.clone().or(given.outside("data")?) {
            self.replace_data(id);
        }
        let root = source.root.clone().or(given.outside("root")?);
        let with = [given.outside("with")?.unwrap_or_default(), source.with.clone()].concat();
        let subjects = args.data.subjects.clone().or(given.outside("subjects")?);
        let task = args.settings.task.or(given)?;
        let source_only = args.settings.source_only()?;
        for data in &mut self.data {
            if !source_only.is_empty() {
                data.source_only = source_only.clone();
            }
            data.root = root.clone().or(data.root.take());
            data.with.extend(with.iter().cloned());
            data.subjects = subjects.clone().or(data.subjects.take());
            data.paradigm = task.paradigm.or(data.paradigm);
            data.symmetry = task.symmetry.clone().or(data.symmetry.take());
            if args.protocol.is_some() {
                data.protocol = None;
            }
        }
        self.protocol = args.protocol.clone().or(self.protocol.take());
        self.across |= args.across;
        self.features |= args.features;
        if !args.transfers.is_empty() {
            self.transfers = args.transfers.clone();
        }
        if !args.shots.is_empty() {
            self.shots = args.shots.clone();
            self.shots.sort_unstable();
            self.shots.dedup();
        }
        self.how = args.how.or(self.how);
        self.seed = args.settings.seed.or(given.outside("seed")?).or(self.seed);
        self.seeds = args.settings.seeds.or(given.outside("seeds")?).or(self.seeds);
        let align = args.settings.align.or(given.outside("align")?);
        if let Some(align) = align {
            self.variant.iter_mut().for_each(|variant| variant.align = Some(align));
            self.entry.iter_mut().for_each(|entry| entry.align = Some(align));
            if self.variant.is_empty() {
                self.variant.push(VariantPlan { align: Some(align), ..VariantPlan::default() });
            }
        }
        if let Some(model) = given.outside::<String>("model")?
            && !args.models.contains(&model)
            && !self.entries().iter().any(|entry| entry.model == model)
        {
            return Err(Error::request(
                format!("the settings are for `{model}`, which does not take part"),
                "name it in `--models`, or leave `model` out of the settings",
            ));
        }
        self.tuned_on.extend(given.outside::<BTreeSet<String>>(TUNED_ON)?.unwrap_or_default());
        given.over(&mut self.set)?;
        if !args.models.is_empty() {
            self.choose(&args.models)?;
        }
        Ok(())
    }

    /// Other data than a file's. What a paper says of the file's is no measure then.
    fn replace_data(&mut self, id: String) {
        if self.data.iter().any(|data| data.id != id) && !self.paper.is_empty() {
            let mut of: Vec<&str> = self.data.iter().map(|data| data.id.as_str()).collect();
            of.dedup();
            self.about.push(format!(
                "The published numbers are of {}, ours of {id}: they stand side by side and cannot be compared.",
                of.join(", ")
            ));
        }
        self.data = vec![DataPlan { id, ..DataPlan::default() }];
    }

    /// Some of a file's decoders, or those that are named where it has none.
    fn choose(&mut self, names: &[String]) -> Result<()> {
        if let Some(twice) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            return Err(Error::request(format!("`{}` is named twice", names[twice]), "name each model once"));
        }
        if self.entry.is_empty() {
            self.models = names.to_vec();
            return Ok(());
        }
        let is_there =
            |name: &&String| self.models.contains(name) || self.entry.iter().any(|e| e.model == **name);
        if let Some(other) = names.iter().find(|name| !is_there(name)) {
            return Err(Error::request(
                format!("`{other}` does not take part in this benchmark"),
                "name decoders of the file, or add it there",
            ));
        }
        self.models.retain(|model| names.contains(model));
        self.entry.retain(|entry| names.contains(&entry.model));
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.data.is_empty() || self.data.iter().any(|data| data.id.is_empty()) {
            return Err(Error::request(
                "no data is named",
                "give `--data simulated`, `--data physionet-mi --root DIR` or `--data FILE.npz`; `ptsm data list` has them all",
            ));
        }
        if self.models.is_empty() && self.entry.is_empty() {
            return Err(Error::request(
                "no decoder takes part",
                "give `--models ptsm,eegnet`; `ptsm models` has them all",
            ));
        }
        if self.across && self.data.len() < 2 {
            return Err(Error::request(
                "one data set alone cannot be tested across data sets",
                "name a second one with `[[data]]` in a file, or leave `across` out",
            ));
        }
        if self.across && self.data.iter().any(|data| !data.source_only.is_empty()) {
            return Err(Error::request(
                "source-only trials cannot be trained on across data sets: of whom they are there, nothing tells",
                "leave `across` or `source_only` out",
            ));
        }
        for name in self.metrics.iter().chain(self.paper.iter().map(|column| &column.metric)) {
            if metric(name).is_none() {
                let known: Vec<&str> = METRICS.iter().map(|m| m.name).collect();
                return Err(Error::request(
                    format!("there is no metric `{name}`"),
                    format!("metrics are {}", known.join(", ")),
                ));
            }
        }
        let names: Vec<&str> =
            self.data.iter().map(|data| data.name.as_deref().unwrap_or(&data.id)).collect();
        if let Some(twice) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            return Err(Error::request(
                format!("`{}` is listed twice", names[twice]),
                "give each `[[data]]` a `name` of its own",
            ));
        }
        if (1..self.shots.len()).any(|i| self.shots[..i].contains(&self.shots[i])) {
            return Err(Error::request("a number of shots is listed twice", "give each once"));
        }
        if self.shots.contains(&0) {
            return Err(Error::request("0 shots are always scored", "give numbers from 1"));
        }
        if let (Some(how), []) = (self.how, &self.shots[..]) {
            return Err(Error::request(
                format!("`how = \"{how}\"` says what few-shot adaptation changes, and there are no `shots`"),
                "give them, such as `shots = [1, 5]` or `--shots 1,5`, or leave it out",
            ));
        }
        Ok(())
    }

    /// The metrics of the tables.
    pub fn metrics(&self) -> Vec<&'static Metric> {
        let usual = phrases::USUAL.map(String::from);
        let names = if self.metrics.is_empty() { &usual[..] } else { &self.metrics };
        names.iter().filter_map(|name| metric(name)).collect()
    }

    /// The metrics of a table of some summaries: those named, else the usual ones, the one first that chance is tested by.
    pub fn table_metrics(&self, summaries: &[Summary]) -> Vec<&'static Metric> {
        if self.metrics.is_empty() { phrases::default_metrics(summaries) } else { self.metrics() }
    }

    /// The metric that was named first, which chance is of; none where none was named.
    pub fn leading(&self) -> Option<&'static Metric> {
        self.metrics.first().and_then(|name| metric(name))
    }

    /// The metrics of the comparisons, the one that is shown first.
    pub fn compared(&self) -> Vec<&'static Metric> {
        let mut metrics = self.metrics();
        if self.metrics.is_empty() {
            // Of plain results balanced accuracy, which no frequent class can flatter.
            metrics.sort_by_key(|metric| metric.name != "balanced_accuracy");
        }
        metrics
    }

    /// Every decoder in every way it takes part.
    pub fn entries(&self) -> Vec<EntryPlan> {
        let plain = [VariantPlan::default()];
        let variants = if self.variant.is_empty() { &plain[..] } else { &self.variant };
        let crossed = variants.iter().flat_map(|variant| {
            let VariantPlan { name, align, source_only, set } = variant;
            let entry = |model: &String| EntryPlan {
                model: model.clone(),
                name: name.clone(),
                align: *align,
                source_only: *source_only,
                set: set.clone(),
            };
            self.models.iter().map(entry)
        });
        // An entry with a name of its own keeps to the first variant's trials, unless it says how to align.
        let own = self
            .entry
            .iter()
            .map(|entry| EntryPlan { align: entry.align.or(variants[0].align), ..entry.clone() });
        crossed.chain(own).collect()
    }
}

pub mod presets;

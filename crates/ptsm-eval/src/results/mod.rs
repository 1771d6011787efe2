//! What a benchmark leaves behind: records, summaries, tables, pairwise comparisons, exports for other programs.

mod exports;
mod groups;
mod pairwise;

use std::fmt;
use std::path::{Path, PathBuf};

use ptsm_io::atomic::replace;
use serde::Serialize;
use serde_json::{Value, json};

use crate::benchmark::{CollectedResults, DecoderEntry, FitItem, Stage, WorkList};
use crate::error::{Error, ErrorContext, Result};
use crate::feature_tables;
use crate::fit_tables::{self, NamedFit};
use crate::folder::BENCHMARK;
use crate::phrases;
use crate::plan::Plan;
use crate::record::write_records;
use crate::source_only::SourceOnlyData;
use crate::summary::Summary;
use crate::table::{Column, Table};
use crate::tables::summaries_by;

pub use groups::{PublishedCell, ResultGroup};
pub use pairwise::PairwiseComparison;

/// Everything that is done so far in a benchmark's folder.
#[derive(Debug)]
pub struct BenchmarkResults {
    /// The folder.
    pub folder: PathBuf,
    /// What was planned.
    pub plan: Plan,
    /// What is to be done.
    pub list: WorkList,
    /// What came of it.
    pub collected: CollectedResults,
}

/// Decoders in a pairwise comparison that fits on a terminal.
const MOST_COLUMNS: usize = 16;

impl BenchmarkResults {
    /// Reads what there is in a folder, whoever works at the rest.
    pub fn read(folder: &Path) -> Result<BenchmarkResults> {
        check_is_benchmark(folder)?;
        let (plan, list) = (Plan::read(&folder.join(BENCHMARK))?, WorkList::read(folder)?);
        Ok(BenchmarkResults::of(plan, list, folder))
    }

    /// All of it for a terminal: scores, comparisons, what features say, what the plan says of itself.
    pub fn text(&self, groups: &[ResultGroup], pairwise: &[PairwiseComparison]) -> String {
        let mut text = self.plan.title.as_ref().map_or_else(String::new, |title| format!("{title}\n\n"));
        for (i, group) in groups.iter().enumerate() {
            if i > 0 {
                text.push('\n');
            }
            if groups.len() > 1 {
                text += &format!("{}\n\n", group.title());
            }
            text += &group.text(&self.plan);
        }
        // Two are compared above; many are too wide for a terminal and stand in the files.
        for one in pairwise.iter().filter(|one| (3..=MOST_COLUMNS).contains(&one.matrix.models.len())) {
            text += &format!("\n{}", one.table());
        }
        let features = feature_tables::by_decoder(&self.collected.readings);
        for table in self.calibration().into_iter().chain(features).chain(self.unmatched(groups)) {
            text += &format!("\n{table}");
        }
        let about = self.about();
        for line in &about {
            text += &format!("\n{line}");
        }
        if !about.is_empty() {
            text.push('\n');
        }
        text
    }

    /// How true probabilities are, and scores of validation subjects; none where no fit knows.
    pub fn calibration(&self) -> Option<Table> {
        fit_tables::calibration(&self.collected_fits())
    }

    /// Those that have an outcome, in the order of the list of work.
    fn collected_fits(&self) -> Vec<NamedFit<'_>> {
        let fits = &self.collected.fits;
        self.list.items().filter_map(|(stage, item)| Some((stage, item, fits.get(&item.key)?))).collect()
    }

    /// What came of a list of work.
    pub fn of(plan: Plan, list: WorkList, folder: &Path) -> BenchmarkResults {
        let collected = list.collect(folder);
        BenchmarkResults { folder: folder.into(), plan, list, collected }
    }

    /// Whether there is nothing yet, not even a failure.
    pub fn is_empty(&self) -> bool {
        self.collected.records.is_empty() && self.collected.failures.is_empty()
    }

    /// All fits, done or not.
    pub fn fits(&self) -> usize {
        self.list.items().count()
    }

    /// What stands above them.
    pub fn title(&self) -> &str {
        self.plan.title.as_deref().unwrap_or("Cross-subject decoding")
    }

    /// Summaries in the order in which decoders were asked for.
    pub fn summaries(&self) -> Result<Vec<Summary>> {
        let mut summaries = Summary::led_by(&self.collected.records, self.plan.leading())?;
        let stages = self.list.stages.iter();
        let order: Vec<(&str, Option<&str>)> = stages
            .flat_map(|(stage, _)| stage.entries.iter().map(|e| (e.model.as_str(), e.variant.as_deref())))
            .collect();
        summaries
            .sort_by_key(|s| order.iter().position(|name| *name == (s.model.as_str(), s.variant.as_deref())));
        Ok(summaries)
    }

    /// Results that may stand in one table each.
    pub fn groups(&self) -> Result<Vec<ResultGroup>> {
        Ok(ResultGroup::of(&self.summaries()?, &self.plan.compared()))
    }

    /// Every decoder against every other.
    pub fn pairwise(&self, groups: &[ResultGroup]) -> Result<Vec<PairwiseComparison>> {
        pairwise::of(groups, &self.plan)
    }

    /// Every published value with every one of ours it stands beside.
    pub fn published<'a>(&'a self, groups: &'a [ResultGroup]) -> Vec<PublishedCell<'a>> {
        groups::cells(&self.plan, groups)
    }

    /// Columns of the paper that none of our results stands beside; none where there are none.
    pub fn unmatched(&self, groups: &[ResultGroup]) -> Option<Table> {
        groups::left_over(&self.plan, groups)
    }

    /// What a reader should know: what the plan says, which decoders were trained on source-only trials, and which on mirrored epochs.
    pub fn about(&self) -> Vec<String> {
        let mut lines = self.plan.about.clone();
        lines.extend(self.source_only().iter().map(ToString::to_string));
        for (stage, _) in &self.list.stages {
            let mirrored = stage.entries.iter().filter_map(|entry| {
                Some((entry.display_name(), phrases::mirroring(&entry.settings, &stage.layout)?))
            });
            let mut by_text: Vec<(String, Vec<String>)> = vec![];
            for (called, text) in mirrored {
                match by_text.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, all)) => all.push(called),
                    None => by_text.push((text, vec![called])),
                }
            }
            let each: Vec<String> =
                by_text.iter().map(|(text, all)| format!("{} ({text})", all.join(", "))).collect();
            let line = format!("Left-right mirroring, {}: {}.", stage.data, each.join("; "));
            if !each.is_empty() && !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// Which decoders were trained on source-only trials, and on how many.
    pub fn source_only(&self) -> Vec<SourceOnlySummary> {
        let stages = self.list.stages.iter().filter(|(stage, _)| !stage.source_only.is_empty());
        let of = |(stage, items): &(Stage, Vec<FitItem>)| {
            let fits = items.iter().filter_map(|item| self.collected.fits.get(&item.key));
            let (used, all): (Vec<usize>, Vec<usize>) = fits.map(|fit| (fit.source_only, fit.trials)).unzip();
            let range = |n: &[usize]| Some([*n.iter().min()?, *n.iter().max()?]);
            SourceOnlySummary {
                data: stage.data.clone(),
                models: stage.entries.iter().map(DecoderEntry::display_name).collect(),
                of: stage.source_only.clone(),
                source_only_trials: range(&used),
                trials: range(&all),
            }
        };
        stages.map(of).collect()
    }

    /// Which decoders were trained on mirrored epochs, as data.
    pub fn mirroring(&self) -> Vec<Value> {
        let of = |stage: &Stage, entry: &DecoderEntry| {
            json!({
                "data": stage.data, "model": entry.model, "variant": entry.variant, "paradigm": stage.layout.task.paradigm,
                "mirroring": phrases::mirroring_json(&entry.settings, &stage.layout),
            })
        };
        let stages = self.list.stages.iter();
        stages.flat_map(|(stage, _)| stage.entries.iter().map(move |entry| of(stage, entry))).collect()
    }

    /// Writes records, tables and exports into the folder.
    pub fn write(&self) -> Result<()> {
        let Self { folder, plan, list, collected } = self;
        write_records(&folder.join("results.jsonl"), &collected.records)?;
        let groups = self.groups()?;
        write_file(&folder.join("summary.csv"), self.table(&groups).to_csv().as_bytes())?;
        let pairwise = self.pairwise(&groups)?;
        write_json(&folder.join("matrix.json"), &pairwise)?;
        write_file(&folder.join("tables.md"), self.markdown(&groups, &pairwise).as_bytes())?;
        write_file(&folder.join("tables.tex"), self.latex(&groups, &pairwise).as_bytes())?;
        let fits = fit_tables::by_fit(&self.collected_fits());
        write_file(&folder.join("fits.csv"), fits.to_csv().as_bytes())?;
        if !collected.readings.is_empty() {
            let table = feature_tables::by_fit(&collected.readings);
            write_file(&folder.join("features.csv"), table.to_csv().as_bytes())?;
        }
        if !plan.paper.is_empty() {
            let published = groups::cells_table(&self.published(&groups));
            write_file(&folder.join("published.csv"), published.to_csv().as_bytes())?;
        }
        exports::write(collected, list, plan, folder)
    }

    fn markdown(&self, groups: &[ResultGroup], pairwise: &[PairwiseComparison]) -> String {
        let mut text = format!("# {}\n", self.title());
        for group in groups {
            text += &format!("\n## {}\n", group.title());
            for (_, table) in group.tables(&self.plan) {
                text += &format!("\n{}", table.to_markdown());
            }
        }
        for one in pairwise {
            text += &format!("\n{}", one.table().to_markdown());
        }
        let features = feature_tables::by_decoder(&self.collected.readings);
        for table in self.calibration().into_iter().chain(features) {
            text += &format!("\n{}", table.to_markdown());
        }
        self.about().iter().for_each(|line| text += &format!("\n- {line}"));
        text + "\n"
    }

    fn latex(&self, groups: &[ResultGroup], pairwise: &[PairwiseComparison]) -> String {
        let mut text = String::new();
        let title = self.title();
        for group in groups {
            let caption = format!("{title}: {}", group.title());
            for (_, table) in group.tables(&self.plan) {
                text += &format!("{}\n", table.to_latex(&caption));
            }
        }
        for one in pairwise {
            text += &format!("{}\n", one.table().to_latex(&format!("{title}: pairwise comparison")));
        }
        if let Some(table) = self.calibration() {
            text +=
                &format!("{}\n", table.to_latex(&format!("{title}: calibration and validation subjects")));
        }
        if let Some(table) = feature_tables::by_decoder(&self.collected.readings) {
            text += &format!("{}\n", table.to_latex(&format!("{title}: features of every fold")));
        }
        text
    }

    /// All groups in one table. Where there are several, each row says which it is of.
    fn table(&self, groups: &[ResultGroup]) -> Table {
        // One order of metrics for all of them.
        let all: Vec<Summary> = groups.iter().flat_map(|group| group.summaries.clone()).collect();
        let metrics = self.plan.table_metrics(&all);
        let [first, others @ ..] = groups else { return summaries_by(&[], &metrics) };
        let mut table = summaries_by(&first.summaries, &metrics);
        if others.is_empty() {
            return table;
        }
        table.columns.insert(0, Column::text("of"));
        table.rows.clear();
        for group in groups {
            for mut row in summaries_by(&group.summaries, &metrics).rows {
                row.insert(0, group.title());
                table.rows.push(row);
            }
        }
        table
    }
}

/// Which source-only trials decoders of some data were trained on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceOnlySummary {
    /// What the data are called that they were trained on besides, and tested on.
    pub data: String,
    /// What the decoders are called.
    pub models: Vec<String>,
    /// The source-only trials that are there.
    pub of: Vec<SourceOnlyData>,
    /// The fewest and the most of them that a fit was trained on; none before the first fit.
    pub source_only_trials: Option<[usize; 2]>,
    /// The fewest and the most trials that a fit was trained on, those among them.
    pub trials: Option<[usize; 2]>,
}

/// A sentence for a reader.
impl fmt::Display for SourceOnlySummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of: Vec<String> = self
            .of
            .iter()
            .map(|data| {
                let (trials, subjects) = (data.trials, data.subjects.len());
                format!("{data}, {} of {}", phrases::count(trials, "trial"), phrases::subject_count(subjects))
            })
            .collect();
        write!(f, "Source-only trials, {}: {}; ", self.data, of.join("; "))?;
        let range = |[least, most]: [usize; 2]| match least == most {
            true => most.to_string(),
            false => format!("{least} to {most}"),
        };
        if let (Some(used), Some(all)) = (self.source_only_trials, self.trials) {
            let models = self.models.join(", ");
            write!(f, "{} of the {} training trials of each fit of {models}; ", range(used), range(all))?;
        }
        write!(f, "they neither validate nor are scored.")
    }
}

/// Refuses a folder that holds no benchmark.
pub fn check_is_benchmark(folder: &Path) -> Result<()> {
    if WorkList::is_in(folder) {
        return Ok(());
    }
    let what = if folder.exists() { "holds no benchmark" } else { "does not exist" };
    Err(Error::request(
        format!("{} {what}", folder.display()),
        "`ptsm benchmark --out FOLDER` makes one; give that folder",
    ))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    Ok(replace(path, bytes)?)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let bytes = serde_json::to_vec_pretty(value)
        .while_doing(|| format!("{} cannot be written as JSON", path.display()))?;
    write_file(path, &bytes)
}

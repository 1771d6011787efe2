//! What a search leaves behind, and what it says.

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_data::SubjectList;
use ptsm_io::atomic::replace;
use ptsm_signal::SubjectId;
use serde_json::{Value, json};

use super::TuneRequest;
use super::candidates::CandidateSet;
use crate::chance::ALPHA;
use crate::error::{Error, Result};
use crate::metrics::Metric;
use crate::phrases::{count, metric_label, percent, subject_count};
use crate::record::{Record, write_records};
use crate::settings::TUNED_ON;
use crate::statistics::mean;
use crate::summary::Summary;
use crate::table::{Column, Table};
use crate::tables::summaries;
use crate::tune::{Rung, SearchStrategy, TrialScores, TuningTrial, rank_trials};

/// Candidates that the terminal shows.
const SHOWN: usize = 10;

/// What one search found.
pub struct SearchResult {
    /// The subjects that were tuned on.
    pub subjects: BTreeSet<SubjectId>,
    /// How they were divided.
    pub protocol: String,
    /// The rounds.
    pub rungs: Vec<Rung>,
    /// Every candidate in every round it took part in.
    pub trials: Vec<TuningTrial>,
    /// The best candidate in the last round.
    pub best: TuningTrial,
    /// What the best of as many candidates exceeds by chance, in the mean over subjects, at most once in twenty times; none where the metric
    /// has no test.
    pub needed: Option<f64>,
    /// Who was tested afterwards, in nested searches.
    pub tested: Option<NestedTest>,
}

/// Subjects of a fold whom no search has seen, and their scores.
pub struct NestedTest {
    /// The fold, counted from 0.
    pub fold: usize,
    /// The subjects that were tested.
    pub subjects: BTreeSet<SubjectId>,
    /// Their scores.
    pub records: Vec<Record>,
}

/// All that was found.
pub struct TuningResults<'a> {
    /// What was asked for.
    pub args: &'a TuneRequest,
    /// Everything that was tried.
    pub candidates: &'a CandidateSet<'a>,
    /// What was compared.
    pub metric: &'a Metric,
    /// The seeds of every candidate.
    pub seeds: &'a [u64],
    /// Hashes of the subjects that the given settings had been tuned on before.
    pub before: &'a BTreeSet<String>,
    /// One for each search.
    pub found: Vec<SearchResult>,
}

/// A value as people type it.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// As `--search` takes it.
pub(super) fn display_name(choice: SearchStrategy) -> String {
    match choice {
        SearchStrategy::Grid => "grid".into(),
        SearchStrategy::Random(n) => format!("random:{n}"),
    }
}

/// Nothing could be tested.
pub(super) fn nothing(trials: &[TuningTrial]) -> Error {
    let failed = trials.iter().find_map(|trial| match &trial.tested {
        TrialScores::Failed { error, hint } => Some((error, hint.clone())),
        TrialScores::Scored(_) => None,
    });
    let (error, hint) = failed.map_or(("there was none".to_string(), None), |(e, h)| (e.clone(), h));
    Error::request(
        format!("every candidate failed; the first: {error}"),
        hint.unwrap_or_else(|| "try other values; `ptsm models --json` shows the defaults".into()),
    )
}

impl SearchResult {
    /// Whether the best candidate is not above chance; none where the metric has no test.
    fn at_chance(&self) -> Option<bool> {
        Some(self.best.mean()? <= self.needed?)
    }
}

impl TuningResults<'_> {
    /// Writes configurations, the table of all trials, figures and, of nested searches, the records.
    pub fn write(&self, folder: &Path) -> Result<()> {
        for found in &self.found {
            let name = found.tested.as_ref().map_or("best.toml".into(), |t| format!("fold-{}.toml", t.fold));
            replace(&folder.join(name), self.configuration(found)?.as_bytes())?;
        }
        replace(&folder.join("trials.csv"), self.trials().to_csv().as_bytes())?;
        if self.args.nested.is_some() {
            write_records(&folder.join("results.jsonl"), &self.records())?;
        }
        Ok(())
    }

    /// Scores of the subjects that nested searches tested.
    pub fn records(&self) -> Vec<Record> {
        self.found.iter().filter_map(|found| found.tested.as_ref()).flat_map(|t| t.records.clone()).collect()
    }

    /// A configuration file: what was chosen, and on whom.
    fn configuration(&self, found: &SearchResult) -> Result<String> {
        let mut hashes = self.before.clone();
        for (_, subject) in self.candidates.identities().iter().filter(|(s, _)| found.subjects.contains(s)) {
            hashes.extend(subject.hashes.iter().cloned());
        }
        hashes.extend(self.candidates.source_only_subjects.hashes(&found.subjects).cloned());
        // Everything the candidates had in common, too: the score is of that.
        let mut changes = self.args.settings.changes.of_decoder().put(TUNED_ON, json!(hashes));
        if let Some(align) = self.args.settings.align {
            changes = changes.put("align", json!(align));
        }
        for (dimension, value) in self.candidates.space.iter().zip(self.values(&found.best)) {
            changes = changes.put(&dimension.key, value.clone());
        }
        let subjects: SubjectList = found.subjects.iter().copied().collect();
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        Ok(format!(
            "# Tuned for `{}` by ptsm {}: {} {}{} on subjects held out of each fit. It was chosen by that score, so the score is no result.\n\
             # {}, {} ({subjects}), {} among them, seeds {}; {}, {}, halving {}.\n\
             # Those subjects may be trained on. They must not be tested: `ptsm benchmark` and `ptsm evaluate` refuse them.\n{}",
            self.candidates.model(),
            env!("CARGO_PKG_VERSION"),
            self.metric.name,
            self.score(found.best.mean()),
            found.best.sd().map_or(String::new(), |sd| format!(
                ", SD {} over {} fits",
                self.score(Some(sd)),
                found.best.fits()
            )),
            self.candidates.data_name(),
            subject_count(found.subjects.len()),
            found.protocol,
            seeds.join(", "),
            display_name(self.args.search),
            count(self.candidates.count(), "candidate"),
            self.args.halving,
            changes.to_toml()?
        ))
    }

    /// The values a trial had for the keys that are tried.
    pub fn values(&self, trial: &TuningTrial) -> &[Value] {
        &self.candidates.all[trial.candidate].values
    }

    /// Percent, or digits where less is better.
    fn score(&self, value: Option<f64>) -> String {
        match (value, self.metric.more_is_better) {
            (None, _) => "-".into(),
            (Some(value), true) => format!("{} %", percent(value)),
            (Some(value), false) => format!("{value:.4}"),
        }
    }

    fn budget(&self, found: &SearchResult, trial: &TuningTrial) -> (usize, &'static str) {
        self.candidates.budget(&found.rungs[trial.rung - 1], trial.candidate)
    }

    /// Every trial with all its digits.
    fn trials(&self) -> Table {
        let mut columns = vec![];
        if self.args.nested.is_some() {
            columns.push(Column::number("fold"));
        }
        columns.extend(["candidate", "rung", "budget", "unit"].map(Column::text));
        columns.extend(self.candidates.space.iter().map(|dimension| Column::text(&dimension.key)));
        columns.extend(["metric", "mean", "sd", "fits", "error"].map(Column::text));
        let mut rows = vec![];
        for found in &self.found {
            for trial in &found.trials {
                let (budget, unit) = self.budget(found, trial);
                let number = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
                let mut row: Vec<String> = found.tested.iter().map(|t| t.fold.to_string()).collect();
                row.extend([(trial.candidate + 1).to_string(), trial.rung.to_string()]);
                row.extend([budget.to_string(), unit.to_string()]);
                row.extend(self.values(trial).iter().map(text));
                row.extend([self.metric.name.to_string(), number(trial.mean()), number(trial.sd())]);
                row.extend([trial.fits().to_string(), error(trial).to_string()]);
                rows.push(row);
            }
        }
        Table { columns, rows, note: String::new() }
    }

    /// The best of one search.
    fn leaders(&self, found: &SearchResult) -> Table {
        let best: Vec<&TuningTrial> = rank_trials(&found.trials, self.metric);
        let failed: BTreeSet<usize> =
            found.trials.iter().filter(|t| t.mean().is_none()).map(|t| t.candidate).collect();
        let mut columns: Vec<Column> =
            self.candidates.space.iter().map(|dimension| Column::text(&dimension.key)).collect();
        columns.extend([Column::number(self.metric.short), Column::number("SD"), Column::text("tried with")]);
        let row = |trial: &&TuningTrial| {
            let (budget, unit) = self.budget(found, trial);
            let own = [self.score(trial.mean()), self.score(trial.sd()), count(budget, unit)];
            self.values(trial).iter().map(text).chain(own).collect()
        };
        let mut note = format!(
            "{} of {}; {} among {}, {}. Candidates are chosen by this score, so it is not a result.",
            best.len().min(SHOWN),
            count(self.candidates.count(), "candidate"),
            found.protocol,
            subject_count(found.subjects.len()),
            count(self.seeds.len(), "seed"),
        );
        if !failed.is_empty() {
            note += &format!(" {} failed; `trials.csv` says why.", count(failed.len(), "candidate"));
        }
        Table { columns, rows: best.iter().take(SHOWN).map(row).collect(), note }
    }

    /// What each fold chose, and what it is worth to unseen subjects.
    fn folds(&self) -> Table {
        let mut columns = vec![Column::number("fold"), Column::text("test subjects")];
        columns.extend(self.candidates.space.iter().map(|dimension| Column::text(&dimension.key)));
        columns.extend([Column::number("tuning"), Column::number("test")]);
        let row = |found: &SearchResult| {
            let tested = found.tested.as_ref()?;
            let subjects: SubjectList = tested.subjects.iter().copied().collect();
            let mut row = vec![tested.fold.to_string(), subjects.to_string()];
            row.extend(self.values(&found.best).iter().map(text));
            row.extend([self.score(found.best.mean()), self.score(self.test(tested))]);
            Some(row)
        };
        Table {
            columns,
            rows: self.found.iter().filter_map(row).collect(),
            note: format!(
                "{}. Tuning: score on the source subjects of the fold, divided once more; candidates are chosen by it. Test: score on the test subjects of the fold, whom its search never saw.",
                self.metric.name
            ),
        }
    }

    /// The mean over subjects and seeds.
    fn test(&self, tested: &NestedTest) -> Option<f64> {
        let values: Vec<f64> = tested.records.iter().map(|r| (self.metric.get)(&r.scores)).collect();
        let finite: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        Some(mean(&finite)).filter(|mean| mean.is_finite())
    }

    /// In words: the best candidates, or what each fold chose and what came of it.
    pub fn text(&self) -> Result<String> {
        Ok(match (&self.args.nested, self.found.first()) {
            (None, Some(found)) => format!(
                "{}next: ptsm benchmark --data ... --models {} --config {} --subjects (all others)\n",
                self.leaders(found),
                self.candidates.model(),
                self.args.out.join("best.toml").display()
            ),
            _ => format!("{}\n{}", self.folds(), summaries(&self.summaries()?)),
        })
    }

    /// As data.
    pub fn document(&self) -> Result<Value> {
        let searches: Vec<Value> = self.found.iter().map(|found| self.document_of(found)).collect();
        Ok(json!({
            "folder": self.args.out, "model": self.candidates.model(), "data": self.candidates.data_name(),
            "metric": self.metric.name, "seeds": self.seeds, "searches": searches,
            "records": self.records(), "summary": self.summaries()?, "at_chance": self.at_chance(),
        }))
    }

    /// Summaries of the subjects that nested searches tested.
    pub fn summaries(&self) -> Result<Vec<Summary>> {
        Summary::led_by(&self.records(), Some(self.metric))
    }

    /// Whether no search found anything above chance; none where the metric has no test.
    fn at_chance(&self) -> Option<bool> {
        let all: Option<Vec<bool>> = self.found.iter().map(SearchResult::at_chance).collect();
        all.map(|all| all.iter().all(|at_chance| *at_chance))
    }

    /// A warning where the best candidate knows nothing; none where it does.
    pub fn warning(&self) -> Option<String> {
        let lost: Vec<&SearchResult> =
            self.found.iter().filter(|found| found.at_chance() == Some(true)).collect();
        let first = lost.first()?;
        let which = match self.found.len() {
            1 => "the best candidate".to_string(),
            all => format!("the best candidate of {} of {all} folds", lost.len()),
        };
        Some(format!(
            "{which} is not above chance: {} {}, and more than {} would be needed of the best of {} at p < {ALPHA}",
            metric_label(self.metric),
            self.score(first.best.mean()),
            self.score(first.needed),
            self.candidates.count(),
        ))
    }

    fn document_of(&self, found: &SearchResult) -> Value {
        let trial_document = |trial: &TuningTrial| {
            let (budget, unit) = self.budget(found, trial);
            let keys = self.candidates.space.iter().map(|dimension| dimension.key.clone());
            let settings: serde_json::Map<String, Value> =
                keys.zip(self.values(trial).iter().cloned()).collect();
            json!({
                "candidate": trial.candidate + 1, "rung": trial.rung, "budget": budget, "unit": unit,
                "settings": settings, "mean": trial.mean(), "sd": trial.sd(), "fits": trial.fits(),
                "error": match error(trial) { "" => None, error => Some(error) },
            })
        };
        json!({
            "people": found.subjects, "protocol": found.protocol, "best": trial_document(&found.best),
            "at_chance": found.at_chance(),
            "trials": found.trials.iter().map(trial_document).collect::<Vec<_>>(),
            "fold": found.tested.as_ref().map(|t| t.fold),
            "tested": found.tested.as_ref().map(|t| &t.subjects),
            "score": found.tested.as_ref().and_then(|t| self.test(t)),
        })
    }
}

fn error(trial: &TuningTrial) -> &str {
    match &trial.tested {
        TrialScores::Failed { error, .. } => error,
        TrialScores::Scored(_) => "",
    }
}

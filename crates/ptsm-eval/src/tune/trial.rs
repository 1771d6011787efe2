//! What came of trying a candidate.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::benchmark::{FitItem, FitOutcome, FitScores};
use crate::metrics::Metric;
use crate::record::Record;
use crate::statistics::{deviation, mean};

/// One candidate in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct TuningTrial {
    /// The candidate's number, counted from 0.
    pub candidate: usize,
    /// The round, counted from 1.
    pub rung: usize,
    /// What came of it.
    pub tested: TrialScores,
}

/// Scores of a candidate, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialScores {
    /// One number for each fold and seed: the mean over the subjects who were kept out of the fit.
    Scored(Vec<f64>),
    /// A fit could not be done.
    Failed {
        /// Why.
        error: String,
        /// One thing to do.
        hint: Option<String>,
    },
}

impl TrialScores {
    /// What the outcomes of a candidate's fits say. A subject whose score is undefined is left out of the mean.
    pub fn of(outcomes: &[(&FitItem, FitOutcome)], metric: &Metric) -> TrialScores {
        let mut scores = vec![];
        for (_, outcome) in outcomes {
            match &outcome.scores {
                FitScores::Scored { records } => scores.push(mean_over_subjects(records, metric)),
                FitScores::Failed { error, hint } => {
                    return TrialScores::Failed { error: error.clone(), hint: hint.clone() };
                }
            }
        }
        if scores.is_empty() || scores.iter().any(|score| !score.is_finite()) {
            return TrialScores::Failed {
                error: format!("`{}` is undefined for the held-out subjects", metric.name),
                hint: Some("choose another `--metric`".into()),
            };
        }
        TrialScores::Scored(scores)
    }
}

/// The mean over subjects, each with the mean of their records.
pub(crate) fn mean_over_subjects(records: &[Record], metric: &Metric) -> f64 {
    let mut subjects: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for record in records {
        let value = (metric.get)(&record.scores);
        if value.is_finite() {
            subjects.entry(record.subject).or_default().push(value);
        }
    }
    mean(&subjects.values().map(|own| mean(own)).collect::<Vec<_>>())
}

impl TuningTrial {
    fn scores(&self) -> &[f64] {
        match &self.tested {
            TrialScores::Scored(scores) => scores,
            TrialScores::Failed { .. } => &[],
        }
    }

    /// How many fits were scored.
    pub fn fits(&self) -> usize {
        self.scores().len()
    }

    /// The mean over folds and seeds; none where it could not be tested.
    pub fn mean(&self) -> Option<f64> {
        Some(mean(self.scores())).filter(|mean| mean.is_finite())
    }

    /// The standard deviation over folds and seeds.
    pub fn sd(&self) -> Option<f64> {
        deviation(self.scores())
    }

    /// The better one first; of equals the one that was named first.
    pub(super) fn against(&self, other: &TuningTrial, metric: &Metric) -> Ordering {
        let worst = if metric.more_is_better { f64::NEG_INFINITY } else { f64::INFINITY };
        let [own, theirs] = [self, other].map(|trial| trial.mean().unwrap_or(worst));
        let order = if metric.more_is_better { theirs.total_cmp(&own) } else { own.total_cmp(&theirs) };
        order.then(self.candidate.cmp(&other.candidate))
    }
}

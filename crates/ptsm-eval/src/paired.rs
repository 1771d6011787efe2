//! Two models on the same subjects: is the difference real?
//!
//! The tests are MOABB's. Here they are reported for both sides, because nobody said beforehand which model would be the better one.

use ptsm_signal::TargetAccess;
use serde::Serialize;

use crate::significance::{effect_size, holm, two_sided_p};
use crate::statistics::{Interval, RESAMPLES, bootstrap_interval, mean};
use crate::summary::{BOOTSTRAP_SEED, LEVEL, Summary};

/// One model minus another, subject by subject.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The model.
    pub model: String,
    /// The one it is compared with.
    pub against: String,
    /// The metric.
    pub metric: &'static str,
    /// Subjects both have scored.
    #[serde(rename = "people")]
    pub subject_count: usize,
    /// Mean difference.
    pub difference: f64,
    /// 95 % bootstrap interval of it, over subjects.
    pub interval: Option<Interval>,
    /// Mean difference in parts of the differences' standard deviation.
    pub effect: f64,
    /// The target access of the model, and that of the model it is compared with.
    pub target_access: [TargetAccess; 2],
    /// How often differences as large come by chance, to either side.
    pub p: f64,
    /// The same, considering how many comparisons were made at once (Holm).
    pub p_holm: f64,
}

impl PairedDifference {
    /// Every model of the list against the first one, on a metric. What cannot be paired (other data, no subject in common) is left out.
    pub fn against_first(summaries: &[Summary], metric: &'static str) -> Vec<PairedDifference> {
        let Some((first, others)) = summaries.split_first() else { return vec![] };
        PairedDifference::all(others.iter().map(|other| (other, first)), metric)
    }

    /// Every variant of a model against the first one of the same model, on a metric: what aligning or mirroring is worth to it.
    pub fn against_own(summaries: &[Summary], metric: &'static str) -> Vec<PairedDifference> {
        let own = summaries.iter().enumerate().filter_map(|(i, other)| {
            let first = summaries[..i].iter().find(|s| (&s.model, s.adapt) == (&other.model, other.adapt))?;
            (first.variant != other.variant).then_some((other, first))
        });
        PairedDifference::all(own, metric)
    }

    fn all<'a>(
        pairs: impl Iterator<Item = (&'a Summary, &'a Summary)>,
        metric: &'static str,
    ) -> Vec<PairedDifference> {
        let pair = |(model, against): (&Summary, &Summary)| {
            let differences = differences(model, against, metric)?;
            let p = two_sided_p(&differences);
            Some(PairedDifference {
                model: model.display_name(),
                against: against.display_name(),
                metric,
                subject_count: differences.len(),
                target_access: [model.target_access, against.target_access],
                difference: mean(&differences),
                interval: difference_interval(&differences),
                effect: effect_size(&differences),
                p,
                p_holm: p,
            })
        };
        let mut pairs: Vec<PairedDifference> = pairs.filter_map(pair).collect();
        let adjusted = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>());
        pairs.iter_mut().zip(adjusted).for_each(|(pair, p)| pair.p_holm = p);
        pairs
    }
}

/// One model minus another for all subjects for whom both have a value; none for other data, another protocol or without a subject in common.
pub(crate) fn differences(model: &Summary, against: &Summary, metric: &str) -> Option<Vec<f64>> {
    if (&model.data, &model.protocol) != (&against.data, &against.protocol) {
        return None;
    }
    let value = |s: &Summary, subject| {
        let own = s.subjects.iter().find(|p| p.subject == subject);
        own.and_then(|p| p.scores.get(metric).copied()).filter(|v| v.is_finite())
    };
    let subjects = against.subjects.iter().map(|p| p.subject);
    let both = subjects.filter_map(|subject| Some(value(model, subject)? - value(against, subject)?));
    let differences: Vec<f64> = both.collect();
    (!differences.is_empty()).then_some(differences)
}

/// The interval of a mean difference.
pub(crate) fn difference_interval(differences: &[f64]) -> Option<Interval> {
    bootstrap_interval(differences, LEVEL, RESAMPLES, BOOTSTRAP_SEED)
}

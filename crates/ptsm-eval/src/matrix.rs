//! Pairwise comparison: every model against every other, on one data set or on several.
//!
//! MOABB's procedure: on each data set a one-sided test of the differences of subjects, over data sets Stouffer's method with the root of
//! the number of subjects as weight. Models are paired on the subjects both have scored, where MOABB requires every subject to be scored by all.

use ptsm_signal::TargetAccess;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::metrics::Metric;
use crate::paired::{difference_interval, differences};
use crate::record::FewShot;
use crate::significance::{combined_effect, combined_p, effect_size, holm, one_sided_p};
use crate::statistics::{Interval, mean};
use crate::summary::Summary;

/// Every model against every other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparisonMatrix {
    /// The metric.
    pub metric: String,
    /// Rows and columns, in the order models first appeared.
    pub models: Vec<Contender>,
    /// All ordered pairs that have subjects in common, row by row.
    pub comparisons: Vec<Comparison>,
}

/// A model with its target access. The same model with another target access is another contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contender {
    /// What it is called: the decoder, its variant, the parts of recordings it is about.
    pub model: String,
    /// The target access.
    pub target_access: TargetAccess,
    /// Few-shot tuning.
    pub adapt: Option<FewShot>,
}

/// Is one model better than another?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Place of the model among [`ComparisonMatrix::models`].
    pub row: usize,
    /// Place of the one it is compared with.
    pub column: usize,
    /// The model.
    pub model: String,
    /// The one it is compared with.
    pub against: String,
    /// The target access of the model, and that of the model it is compared with.
    pub target_access: [TargetAccess; 2],
    /// Subjects of all data sets that both have scored.
    #[serde(rename = "people")]
    pub subject_count: usize,
    /// Effects on the data sets, averaged.
    pub effect: f64,
    /// How often the model comes out as far ahead by chance, on all data sets together.
    pub p: f64,
    /// The same, considering that all pairs of the matrix were looked at (Holm). This is the one to claim anything with.
    pub p_holm: f64,
    /// Each data set on its own.
    pub data: Vec<DataSetComparison>,
}

/// One model against another on one data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSetComparison {
    /// The data set.
    pub data: String,
    /// How subjects were split.
    pub protocol: String,
    /// Subjects both have scored.
    #[serde(rename = "people")]
    pub subject_count: usize,
    /// By how much the model is better on average, or worse where negative. Where less of a metric is better, that much less.
    pub difference: f64,
    /// 95 % bootstrap interval of it, over subjects.
    pub interval: Option<Interval>,
    /// Mean difference in parts of the differences' standard deviation.
    pub effect: f64,
    /// How often the model comes out as far ahead by chance.
    pub p: f64,
}

impl ComparisonMatrix {
    /// Compares all models that are summed up. A data set under two protocols is refused, as its subjects would count twice.
    pub fn of(summaries: &[Summary], metric: &Metric) -> Result<ComparisonMatrix> {
        let mut models: Vec<(Contender, Vec<&Summary>)> = vec![];
        for summary in summaries {
            check(summary, summaries)?;
            let own = Contender::of(summary);
            match models.iter_mut().find(|(known, _)| *known == own) {
                Some((_, all)) => all.push(summary),
                None => models.push((own, vec![summary])),
            }
        }
        let mut comparisons = vec![];
        for (column, (against, columns)) in models.iter().enumerate() {
            for (row, (model, rows)) in models.iter().enumerate().take(column) {
                let pairs = rows.iter().flat_map(|a| columns.iter().map(move |b| (*a, *b)));
                let ways: Vec<[DataSetComparison; 2]> =
                    pairs.filter_map(|(a, b)| both_ways(a, b, metric)).collect();
                if ways.is_empty() {
                    continue;
                }
                let (there, back) =
                    ways.into_iter().map(<(DataSetComparison, DataSetComparison)>::from).unzip();
                comparisons.push(Comparison::of([row, column], [model, against], there));
                comparisons.push(Comparison::of([column, row], [against, model], back));
            }
        }
        comparisons.sort_by_key(|c| (c.row, c.column));
        let adjusted = holm(&comparisons.iter().map(|c| c.p).collect::<Vec<_>>());
        comparisons.iter_mut().zip(adjusted).for_each(|(c, p)| c.p_holm = p);
        let models = models.into_iter().map(|(model, _)| model).collect();
        Ok(ComparisonMatrix { metric: metric.name.into(), models, comparisons })
    }

    /// A model against another, by their places among [`ComparisonMatrix::models`]; none where no subject was scored by both.
    pub fn comparison(&self, row: usize, column: usize) -> Option<&Comparison> {
        let place = self.comparisons.binary_search_by_key(&(row, column), |c| (c.row, c.column));
        self.comparisons.get(place.ok()?)
    }

    /// Whether a model is better than another at an error rate of `alpha` for the whole matrix; none where no subject was scored by both.
    pub fn beats(&self, row: usize, column: usize, alpha: f64) -> Option<bool> {
        Some(self.comparison(row, column)?.p_holm <= alpha)
    }
}

impl Contender {
    fn of(summary: &Summary) -> Contender {
        Contender {
            model: summary.display_name(),
            target_access: summary.target_access,
            adapt: summary.adapt,
        }
    }
}

impl Comparison {
    fn of(
        [row, column]: [usize; 2],
        [model, against]: [&Contender; 2],
        data: Vec<DataSetComparison>,
    ) -> Comparison {
        let weighted = |get: fn(&DataSetComparison) -> f64| -> Vec<(f64, usize)> {
            data.iter().map(|one| (get(one), one.subject_count)).collect()
        };
        let p = combined_p(&weighted(|one| one.p));
        Comparison {
            row,
            column,
            model: model.model.clone(),
            against: against.model.clone(),
            target_access: [model.target_access, against.target_access],
            subject_count: data.iter().map(|one| one.subject_count).sum(),
            effect: combined_effect(&weighted(|one| one.effect)),
            p,
            p_holm: p,
            data,
        }
    }
}

/// A model against another on the data set they share, and the other against it.
fn both_ways(model: &Summary, against: &Summary, metric: &Metric) -> Option<[DataSetComparison; 2]> {
    let mut ahead = differences(model, against, metric.name)?;
    if !metric.more_is_better {
        ahead.iter_mut().for_each(|d| *d = -*d);
    }
    let behind: Vec<f64> = ahead.iter().map(|d| -d).collect();
    let interval = difference_interval(&ahead);
    let one = |differences: &[f64], interval| DataSetComparison {
        data: model.data.clone(),
        protocol: model.protocol.clone(),
        subject_count: differences.len(),
        difference: mean(differences),
        interval,
        effect: effect_size(differences),
        p: one_sided_p(differences),
    };
    let reversed = interval.map(|i| Interval { low: -i.high, high: -i.low });
    Some([one(&ahead, interval), one(&behind, reversed)])
}

/// Summaries whose subjects would count twice are refused.
fn check(summary: &Summary, all: &[Summary]) -> Result<()> {
    let data = &summary.data;
    if let Some(other) = all.iter().find(|s| s.data == *data && s.protocol != summary.protocol) {
        let message =
            format!("`{data}` is there under `{}` and under `{}`", summary.protocol, other.protocol);
        return Err(
            Error::summary(&summary.model, message).with_hint("compare models under one protocol at a time")
        );
    }
    let same = |s: &&Summary| s.data == *data && Contender::of(s) == Contender::of(summary);
    if all.iter().filter(same).count() > 1 {
        return Err(Error::summary(&summary.model, format!("it is listed twice on `{data}`"))
            .with_hint("leave one of them out; runs in another precision have the same name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ptsm_signal::SubjectId;

    use super::*;
    use crate::metrics::metric;
    use crate::summary::{Chance, SubjectSummary};

    fn summary(data: &str, model: &str, scores: &[(u32, f64)]) -> Summary {
        let subject = |&(id, value): &(u32, f64)| SubjectSummary {
            subject: SubjectId(id),
            n: 100,
            scores: BTreeMap::from([("accuracy".into(), value), ("log_loss".into(), 1.0 - value)]),
            chance_threshold: Some(0.58),
            above_chance: Some(value > 0.58),
        };
        Summary {
            data: data.into(),
            model: model.into(),
            variant: None,
            trained_on: None,
            tested: None,
            protocol: "loso".into(),
            target_access: TargetAccess::Nothing,
            adapt: None,
            classes: 2,
            positive_class: None,
            seeds: 1,
            records: scores.len(),
            subjects: scores.iter().map(subject).collect(),
            metrics: vec![],
            chance: Chance::default(),
        }
    }

    fn matrix(summaries: &[Summary]) -> ComparisonMatrix {
        ComparisonMatrix::of(summaries, metric("accuracy").unwrap()).unwrap()
    }

    const LOW: &[(u32, f64)] = &[(1, 0.5), (2, 0.6), (3, 0.7), (4, 0.8)];
    const HIGH: &[(u32, f64)] = &[(4, 0.9), (3, 0.75), (2, 0.625), (1, 0.55)];

    #[test]
    fn every_pair_is_there_in_both_directions() {
        let found = matrix(&[summary("a", "x", LOW), summary("a", "y", HIGH), summary("a", "z", LOW)]);
        let places: Vec<_> = found.comparisons.iter().map(|c| (c.row, c.column)).collect();
        assert_eq!(places, [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
        let up = found.comparison(1, 0).unwrap();
        assert_eq!((&*up.model, &*up.against, up.subject_count, up.p), ("y", "x", 4, 1.0 / 16.0));
        // Six comparisons, two of which have the least p.
        assert_eq!(up.p_holm, 6.0 / 16.0);
        let [up, down] = [(1, 0), (0, 1)].map(|(a, b)| found.comparison(a, b).unwrap().data[0].clone());
        assert!((up.difference - 0.05625).abs() < 1e-12 && up.difference == -down.difference);
        assert_eq!((down.p, down.effect), (15.0 / 16.0, -up.effect));
        let [up, down] = [up, down].map(|one| one.interval.unwrap());
        assert_eq!((up.low, up.high), (-down.high, -down.low));
        assert!(up.low > 0.0 && up.low < 0.05625 && up.high > 0.05625);
        assert_eq!(found.beats(1, 0, 0.05), Some(false));
        assert_eq!(found.beats(1, 0, 0.4), Some(true));
        assert_eq!(found.comparison(1, 1), None);
    }

    #[test]
    fn data_sets_are_combined_by_their_subjects() {
        let found = matrix(&[
            summary("a", "x", LOW),
            summary("a", "y", HIGH),
            summary("b", "y", &HIGH[..2]),
            summary("b", "x", LOW),
            summary("c", "y", HIGH),
        ]);
        let c = found.comparison(1, 0).unwrap();
        assert_eq!(
            (c.subject_count, c.data.len(), &*c.data[1].data, c.data[1].subject_count),
            (6, 2, "b", 2)
        );
        assert_eq!((c.data[0].p, c.data[1].p), (1.0 / 16.0, 1.0 / 4.0));
        // scipy.stats.combine_pvalues([1/16, 1/4], "stouffer", weights=[2, 2 ** 0.5])[1]
        assert!((c.p - 0.050292824180722874).abs() < 1e-15, "{}", c.p);
        let effects = (2.0 * c.data[0].effect + 2f64.sqrt() * c.data[1].effect) / (2.0 + 2f64.sqrt());
        assert!((c.effect - effects).abs() < 1e-12);
    }

    #[test]
    fn subjects_that_one_side_lacks_are_left_out() {
        let lacking = [(1, 0.55), (2, f64::NAN), (9, 0.1)];
        let found = matrix(&[summary("a", "x", LOW), summary("a", "y", &lacking), summary("b", "z", LOW)]);
        let c = found.comparison(1, 0).unwrap();
        assert_eq!((c.subject_count, c.p, c.effect, c.data[0].interval), (1, 0.5, f64::INFINITY, None));
        assert_eq!((found.models.len(), found.comparisons.len()), (3, 2));
        assert_eq!(found.beats(2, 0, 0.05), None);
        assert!(serde_json::to_string(&found).unwrap().contains(r#""effect":null"#));
    }

    #[test]
    fn less_is_better_of_a_loss() {
        let both = [summary("a", "x", LOW), summary("a", "y", HIGH)];
        let found = ComparisonMatrix::of(&both, metric("log_loss").unwrap()).unwrap();
        let c = found.comparison(1, 0).unwrap();
        assert!(c.data[0].difference > 0.0 && c.p == 1.0 / 16.0);
    }

    #[test]
    fn another_access_is_another_model() {
        let aligned = Summary { target_access: TargetAccess::WHOLE, ..summary("a", "x", HIGH) };
        let found = matrix(&[summary("a", "x", LOW), aligned]);
        let c = found.comparison(1, 0).unwrap();
        assert_eq!((&*c.model, &*c.against), ("x", "x"));
        assert_eq!(c.target_access, [TargetAccess::WHOLE, TargetAccess::Nothing]);
    }

    #[test]
    fn subjects_never_count_twice() {
        let accuracy = metric("accuracy").unwrap();
        let other = Summary { protocol: "kfold:5".into(), ..summary("a", "y", HIGH) };
        let error = ComparisonMatrix::of(&[summary("a", "x", LOW), other], accuracy).unwrap_err();
        assert!(error.to_string().contains("`a` is there under `loso` and under `kfold:5`"), "{error}");
        let twice =
            ComparisonMatrix::of(&[summary("a", "x", LOW), summary("a", "x", HIGH)], accuracy).unwrap_err();
        assert!(twice.hint().is_some() && twice.to_string().contains("twice on `a`"), "{twice}");
        assert_eq!(matrix(&[]).comparisons, []);
    }
}

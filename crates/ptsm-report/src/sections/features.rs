//! What the features of every fit of a benchmark say of subjects, as a picture.

use ptsm_eval::feature_tables::decoders;
use ptsm_eval::phrases::signed;
use ptsm_eval::{FeatureFindings, FoldFeatureFindings, mean};

use crate::HeatMap;
use crate::colour::ColourRamp;

/// Every fold of every decoder whose features could be read; none where there are no features, or only one fold.
pub(super) fn figure(readings: &[FoldFeatureFindings]) -> Option<HeatMap> {
    let folds = readings.iter().map(|r| r.fold + 1).max().filter(|folds| *folds > 1)?;
    let mut map = HeatMap {
        title: "Distance of test subjects from training subjects, every fold".into(),
        row_label: "decoder".into(),
        column_label: "fold".into(),
        columns: (1..=folds).map(|fold| fold.to_string()).collect(),
        unit: "proxy A-distance, mean over seeds".into(),
        range: Some([0.0, 2.0]),
        ramp: ColourRamp::Sequential,
        reading: "A cell is how well the test subjects of that fold can be told from the training subjects by the decoder's task features: 0 means not at all, 2 means always. A small distance says that the features of both groups are alike, not that the task is in them.".into(),
        ..HeatMap::default()
    };
    for (name, own) in decoders(readings) {
        let distances = |fold: usize| -> Vec<f64> {
            let of_fold = own.iter().filter(|r| r.fold == fold);
            let distance = |r: &&&FoldFeatureFindings| match r.reading {
                FeatureFindings::Measured { distance, .. } => Some(distance),
                FeatureFindings::NotMeasured { .. } => None,
            };
            of_fold.filter_map(|r| distance(&r)).collect()
        };
        let row: Vec<f64> = (0..folds)
            .map(|fold| match distances(fold) {
                all if all.is_empty() => f64::NAN,
                all => mean(&all),
            })
            .collect();
        if row.iter().any(|value| value.is_finite()) {
            map.rows.push(name);
            map.texts.push(row.iter().map(|value| signed(*value)).collect());
            map.values.push(row);
        }
    }
    (!map.rows.is_empty()).then_some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(model: &str, fold: usize, seed: u64, distance: f64) -> FoldFeatureFindings {
        let reading = FeatureFindings::Measured {
            distance,
            exchanged: Some(0.5),
            p: Some(0.4),
            subject_accuracy: None,
            subject_chance: None,
        };
        let (data, protocol) = ("a".into(), "kfold:2".into());
        FoldFeatureFindings {
            model: model.into(),
            data,
            protocol,
            trained_on: None,
            fold,
            seed,
            subject_count: 4,
            reading,
        }
    }

    #[test]
    fn folds_are_means_over_seeds() {
        let not = FeatureFindings::NotMeasured { why: "no features".into() };
        let csp = FoldFeatureFindings { reading: not, ..one("csp-lda", 0, 1, 0.0) };
        let all = [one("ptsm", 0, 1, 0.2), one("ptsm", 0, 2, 0.4), one("ptsm", 1, 1, 1.5), csp];
        let map = figure(&all).unwrap();
        assert_eq!(
            (map.rows, map.values.len(), map.columns),
            (vec!["ptsm".to_string()], 1, vec!["1".into(), "2".into()])
        );
        assert!((map.values[0][0] - 0.3).abs() < 1e-12 && map.values[0][1] == 1.5);
        assert!(figure(&all[..2]).is_none() && figure(&all[3..]).is_none());
    }
}

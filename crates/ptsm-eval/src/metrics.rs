//! The registry of metrics: what help, tables and summaries show.

use crate::scores::Scores;

/// One number of [`Scores`].
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in JSON and on the command line.
    pub name: &'static str,
    /// What a table's head says.
    pub short: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Reads it; NaN where it is undefined.
    pub get: fn(&Scores) -> f64,
}

/// Every metric, in the order users see them.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "accuracy",
        short: "ACC",
        about: "share of trials decoded right",
        more_is_better: true,
        get: |s| s.accuracy,
    },
    Metric {
        name: "balanced_accuracy",
        short: "BAC",
        about: "mean over the classes of the share of their trials decoded right",
        more_is_better: true,
        get: |s| s.balanced_accuracy,
    },
    Metric {
        name: "f1",
        short: "F1",
        about: "F1 of the positive class; with more than two classes the same as f1_macro",
        more_is_better: true,
        get: |s| s.f1,
    },
    Metric {
        name: "f1_macro",
        short: "F1 macro",
        about: "mean over the classes of their F1",
        more_is_better: true,
        get: |s| s.f1_macro,
    },
    Metric {
        name: "f1_weighted",
        short: "F1 weighted",
        about: "mean over the classes of their F1, weighted by their number of trials",
        more_is_better: true,
        get: |s| s.f1_weighted,
    },
    Metric {
        name: "sensitivity",
        short: "SEN",
        about: "share of positive trials decoded right; with more than two classes the mean of each against the rest",
        more_is_better: true,
        get: |s| s.sensitivity,
    },
    Metric {
        name: "specificity",
        short: "SPE",
        about: "share of negative trials decoded right; with more than two classes the mean of each against the rest",
        more_is_better: true,
        get: |s| s.specificity,
    },
    Metric {
        name: "kappa",
        short: "kappa",
        about: "Cohen's kappa: agreement beyond what the class frequencies give by chance",
        more_is_better: true,
        get: |s| s.kappa,
    },
    Metric {
        name: "auc",
        short: "AUC",
        about: "chance that a positive trial is ranked above a negative one; with more than two classes the mean of each \
                against the rest",
        more_is_better: true,
        get: |s| s.auc,
    },
    Metric {
        name: "log_loss",
        short: "log loss",
        about: "mean of -ln of the probability given to the true class",
        more_is_better: false,
        get: |s| s.log_loss,
    },
];

/// A metric by its name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|m| m.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_score_is_a_metric_and_the_other_way_round() {
        let scores = Scores::of(&[0, 1, 1], &[0.9, 0.1, 0.3, 0.7, 0.6, 0.4], 2, 0).unwrap();
        let serde_json::Value::Object(fields) = serde_json::to_value(&scores).unwrap() else {
            unreachable!()
        };
        for m in METRICS {
            assert_eq!(fields[m.name].as_f64(), Some((m.get)(&scores)), "{}", m.name);
        }
        assert_eq!(fields.len(), METRICS.len() + 2, "and n and the confusion matrix");
        assert_eq!(metric("kappa").map(|m| m.short), Some("kappa"));
    }
}

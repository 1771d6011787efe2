//! How true the probabilities of every decoder of a benchmark are, and how well its fits decode their validation subjects.

use std::collections::BTreeMap;

use crate::benchmark::{CollectedFit, FitItem, Stage, ValidationScore};
use crate::phrases::percent;
use crate::reliability::DecisionBins;
use crate::statistics::{deviation, mean};
use crate::table::{Column, Table};

/// A fit with what it is of. Entries that agree in all but their names share the outcome of a fit.
pub type NamedFit<'a> = (&'a Stage, &'a FitItem, &'a CollectedFit);

fn model((stage, item, _): NamedFit<'_>) -> String {
    stage.entries[item.entry].display_name()
}

/// The fits of each decoder on each data set.
fn by_decoder<'a>(fits: &[NamedFit<'a>]) -> Vec<(String, Vec<NamedFit<'a>>)> {
    let several = fits.iter().any(|(stage, ..)| stage.data != fits[0].0.data);
    let mut all: Vec<(String, Vec<NamedFit<'a>>)> = vec![];
    for &fit in fits {
        let name = if several { format!("{}, {}", model(fit), fit.0.data) } else { model(fit) };
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, own)) => own.push(fit),
            None => all.push((name, vec![fit])),
        }
    }
    all
}

/// A line for each decoder: whether its probabilities are true for test subjects, and how well it decodes its validation subjects. None
/// where no fit knows.
pub fn calibration(fits: &[NamedFit<'_>]) -> Option<Table> {
    let known: Vec<NamedFit<'_>> =
        fits.iter().copied().filter(|(_, _, fit)| fit.decisions.is_some()).collect();
    let number = |values: &[f64], show: fn(f64) -> String| match values {
        [] => "-".to_string(),
        values => show(mean(values)),
    };
    let row = |(name, fits): &(String, Vec<NamedFit<'_>>)| {
        let mut by_seed: BTreeMap<u64, DecisionBins> = BTreeMap::new();
        for (_, item, fit) in fits {
            let seed = by_seed.entry(item.seed).or_default();
            fit.decisions.iter().for_each(|decisions| seed.join(decisions));
        }
        let each = |value: fn(&DecisionBins) -> f64| by_seed.values().map(value).collect::<Vec<f64>>();
        let errors = each(DecisionBins::expected_calibration_error);
        let validation: Vec<ValidationScore> = fits.iter().filter_map(|(_, _, fit)| fit.validation).collect();
        let of_validation =
            |value: fn(&ValidationScore) -> f64| validation.iter().map(value).collect::<Vec<_>>();
        vec![
            name.clone(),
            number(&errors, percent),
            deviation(&errors).map_or("-".into(), percent),
            number(&each(DecisionBins::over_confidence), signed_percent),
            number(&of_validation(|v| v.balanced_accuracy), percent),
            number(&of_validation(|v| v.log_loss), |loss| format!("{loss:.3}")),
        ]
    };
    if known.is_empty() {
        return None;
    }
    Some(Table {
        columns: vec![
            Column::text("decoder"),
            Column::number("expected calibration error, points"),
            Column::number("SD over seeds"),
            Column::number("over-confidence, points"),
            Column::number("validation: balanced accuracy %"),
            Column::number("validation: log loss"),
        ],
        rows: by_decoder(&known).iter().map(row).collect(),
        note: "Calibration is of test subjects, all their trials together, in 20 bins of equal width, for each seed. Validation subjects stopped and calibrated the decoder: their scores are \
               too good, but whoever chooses between settings by them has not looked at test subjects."
            .into(),
    })
}

fn signed_percent(value: f64) -> String {
    format!("{:+.1}", 100.0 * value)
}

/// A line for each fit.
pub(crate) fn by_fit(fits: &[NamedFit<'_>]) -> Table {
    let exact = |value: Option<f64>| value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
    let row = |&named: &NamedFit<'_>| {
        let (stage, item, fit) = named;
        vec![
            stage.data.clone(),
            model(named),
            item.fold.to_string(),
            item.seed.to_string(),
            fit.trials.to_string(),
            exact(fit.decisions.as_ref().map(DecisionBins::expected_calibration_error)),
            exact(fit.decisions.as_ref().map(DecisionBins::over_confidence)),
            fit.validation.map_or(String::new(), |v| v.subjects.to_string()),
            exact(fit.validation.map(|v| v.balanced_accuracy)),
            exact(fit.validation.map(|v| v.log_loss)),
        ]
    };
    let names = [
        "data",
        "model",
        "fold",
        "seed",
        "training_trials",
        "expected_calibration_error",
        "over_confidence",
        "validation_subjects",
        "validation_balanced_accuracy",
        "validation_log_loss",
    ];
    Table {
        columns: names.map(Column::text).into(),
        rows: fits.iter().map(row).collect(),
        note: String::new(),
    }
}

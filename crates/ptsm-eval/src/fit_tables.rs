//! How true the probabilities of every decoder of a benchmark are, and how well its fits decode their validation subjects.

use std::collections::BTreeMap;

use crate::benchmark::{CollectedFit, ValidationScore};
use crate::phrases::percent;
use crate::reliability::DecisionBins;
use crate::statistics::{deviation, mean};
use crate::table::{Column, Table};

/// The fits of one decoder on one data set.
struct DecoderFits<'a> {
    name: String,
    fits: Vec<&'a CollectedFit>,
}

fn by_decoder<'a>(fits: &[&'a CollectedFit]) -> Vec<DecoderFits<'a>> {
    let several = fits.iter().any(|fit| fit.data != fits[0].data);
    let mut all: Vec<DecoderFits<'a>> = vec![];
    for &fit in fits {
        let name = if several { format!("{}, {}", fit.model, fit.data) } else { fit.model.clone() };
        match all.iter_mut().find(|own| own.name == name) {
            Some(own) => own.fits.push(fit),
            None => all.push(DecoderFits { name, fits: vec![fit] }),
        }
    }
    all
}

/// A line for each decoder: whether its probabilities are true for test subjects, and how well it decodes its validation subjects. None
/// where no fit knows.
pub fn calibration(fits: &[&CollectedFit]) -> Option<Table> {
    let known: Vec<&CollectedFit> = fits.iter().copied().filter(|fit| fit.decisions.is_some()).collect();
    let number = |values: &[f64], show: fn(f64) -> String| match values {
        [] => "-".to_string(),
        values => show(mean(values)),
    };
    let row = |of: &DecoderFits<'_>| {
        let mut by_seed: BTreeMap<u64, DecisionBins> = BTreeMap::new();
        for fit in &of.fits {
            let seed = by_seed.entry(fit.seed).or_default();
            fit.decisions.iter().for_each(|decisions| seed.join(decisions));
        }
        let each = |value: fn(&DecisionBins) -> f64| by_seed.values().map(value).collect::<Vec<f64>>();
        let errors = each(DecisionBins::expected_calibration_error);
        let validation: Vec<ValidationScore> = of.fits.iter().filter_map(|fit| fit.validation).collect();
        let of_validation =
            |value: fn(&ValidationScore) -> f64| validation.iter().map(value).collect::<Vec<_>>();
        vec![
            of.name.clone(),
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
pub(crate) fn by_fit(fits: &[&CollectedFit]) -> Table {
    let exact = |value: Option<f64>| value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
    let row = |fit: &&CollectedFit| {
        vec![
            fit.data.clone(),
            fit.model.clone(),
            fit.fold.to_string(),
            fit.seed.to_string(),
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

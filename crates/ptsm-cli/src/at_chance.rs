//! What is at chance is said to be, with what may be the cause.

use ptsm::eval::{ALPHA, Summary};

use crate::output::Output;
use ptsm::eval::phrases::{self, value};

/// What is worth looking at where nothing was learnt.
const CAUSES: &str = "likely causes: wrong event codes or windows, too few subjects or trials, wrong units or channels (`ptsm data check` looks at both), \
                      a task that is not in the band that is kept";

/// Warns that something knows nothing.
pub(crate) fn warn(what: &str, output: Output) {
    output.note(format!("warning: {what}\n{CAUSES}"));
}

/// Whether no decoder is above chance, all subjects together; none where there is no test.
pub(crate) fn of_decoders(summaries: &[Summary]) -> Option<bool> {
    let tested: Vec<bool> = summaries.iter().filter_map(|s| s.chance.at_chance()).collect();
    (!tested.is_empty()).then(|| tested.iter().all(|at_chance| *at_chance))
}

/// Warns where that is so, with the metric and what would have been needed.
pub(crate) fn warn_of_decoders(summaries: &[Summary], output: Output) {
    if of_decoders(summaries) != Some(true) {
        return;
    }
    let Some(first) = summaries.iter().find(|s| s.chance.at_chance().is_some()) else { return };
    let chance = &first.chance;
    let metric = chance.metric();
    let decoder = match summaries.len() {
        1 => format!("`{}` is not above chance", first.display_name()),
        n => format!("none of {n} decoders is above chance"),
    };
    let shown = |x: Option<f64>| value(metric.name, x.unwrap_or(f64::NAN));
    let needed = shown(chance.pooled_threshold);
    let reached = match summaries.len() {
        1 => format!(
            "{} % {}",
            shown(chance.pooled_value.or(Some(chance.pooled_accuracy))),
            phrases::metric_label(metric)
        ),
        _ => format!("by {}", phrases::metric_label(metric)),
    };
    warn(
        &format!(
            "{decoder} on {}: {reached}, and more than {needed} % would be needed at p < {ALPHA}",
            first.data
        ),
        output,
    );
}

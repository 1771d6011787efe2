//! Calibration: whether predicted probabilities are the frequencies they say.

use crate::{Column, Figure, LineChart, Point, SectionPart, Series, Table};
use ptsm_explain::{Binning, Calibration, wilson};

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases::{self, percent};

/// Bins with as many trials each, in the usual number.
const BINS: Binning = Binning::EqualMass(10);

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(found) = &m.calibration else { return SectionContent::missing(NO_RUN) };
    let mut shown = vec![("as predicted", found.scored.calibration(BINS))];
    let temperature_note = match found.temperature {
        Some((temperature, subjects)) => {
            shown.push((
                "after temperature scaling",
                found.scored.at(temperature).calibration(BINS),
            ));
            format!(
                "The temperature, {temperature:.2}, was fitted to the validation subjects ({}), who are not scored. A temperature above 1 means that the decoder was over-confident. Temperature scaling changes no decision.{}",
                phrases::subject_count(subjects),
                if (0.02..50.0).contains(&temperature) {
                    ""
                } else {
                    " It lies at the end of the range that is searched: these probabilities say next to nothing."
                }
            )
        }
        None => "No temperature was fitted: the validation subjects are not among these data, or the decoder was trained without any.".into(),
    };
    let curves = shown.iter().map(|(name, calibration)| series(name, calibration, found.seeds)).collect();
    let curve = LineChart::reliability("Reliability diagram", curves);
    SectionContent::new(
        "The reliability diagram puts decisions into bins by their predicted probability, with as many decisions in each bin; of decisions with a probability of 80 %, 80 % \
         should be right. Bars are 95 % intervals. They count a trial once, however many seeds there are, and treat trials as independent, which trials of one subject are not.",
        vec![
            SectionPart::Figure(Figure::new(curve)),
            SectionPart::Table("Calibration".into(), table(&shown)),
            SectionPart::Text(temperature_note),
        ],
    )
}

fn series(name: &str, calibration: &Calibration, seeds: usize) -> Series {
    let bins = calibration.curve.iter().filter(|bin| bin.n > 0);
    let point = |bin: &ptsm_explain::Bin| {
        // A trial that is there with every seed is one trial.
        let interval = wilson(bin.accuracy, bin.n as f64 / seeds as f64);
        Point { x: bin.confidence, y: bin.accuracy, band: Some([interval.low, interval.high]) }
    };
    Series { name: name.into(), points: bins.map(point).collect() }
}

fn table(shown: &[(&str, Calibration)]) -> Table {
    let heads = [
        "expected calibration error, points",
        "maximum calibration error, points",
        "Brier score",
        "log loss",
        "accuracy %",
        "mean probability %",
    ];
    let mut columns = vec![Column::text("probabilities")];
    columns.extend(heads.map(Column::number));
    let row = |(name, c): &(&str, Calibration)| {
        vec![
            name.to_string(),
            percent(c.expected_error),
            percent(c.maximum_error),
            format!("{:.3}", c.brier),
            format!("{:.3}", c.log_loss),
            percent(c.accuracy),
            percent(c.confidence),
        ]
    };
    Table { columns, rows: shown.iter().map(row).collect(), note: "The expected calibration error of a perfectly calibrated decoder is not 0 either: with few trials in a bin, chance alone makes some points.".into() }
}

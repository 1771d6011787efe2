//! Calibration: whether predicted probabilities are the frequencies they say.

use crate::{Column, Figure, LineChart, Point, SectionPart, Series, Table};
use ptsm_explain::{Binning, Calibration, wilson};

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases::{self, percent};

/// Bins with as many trials each, in the usual number.
const BINS: Binning = Binning::EqualMass(10);

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(found) = &m.calibration else { return SectionContent::missing(NO_RUN) };
    let after = found.scored.calibration(BINS);
    let (shown, note) = match (&found.before, found.temperature) {
        (Some(before), _) => {
            let shown = vec![("as predicted", after), ("before calibration", before.scored.calibration(BINS))];
            let temperatures: Vec<String> = before.temperatures.iter().map(|t| format!("{t:.2}")).collect();
            let temperatures = temperatures.join(", ");
            let note = match m.is_ensemble() {
                true => format!(
                    "Calibration is a part of the ensemble: beside that of each member, the mean of their log-probabilities has a temperature ({temperatures} for the seeds), which was \
                     fitted to the validation subjects after training and is stored in the model file. Below 1 it makes the mean as certain as it is right: members that disagree are \
                     less certain together than each of them. It changes no decision. Before it, members are calibrated already."
                ),
                false => format!(
                    "Calibration is a part of the decoder: temperature ({temperatures} for the seeds) and class offsets of its logits were fitted to the validation subjects after training, and are \
                     stored in the model file. A temperature above 1 means that the network was over-confident."
                ),
            };
            (shown, note)
        }
        (None, Some((temperature, subjects))) => {
            let cooled = found.scored.at(temperature).calibration(BINS);
            let note = format!(
                "The temperature, {temperature:.2}, was fitted to the validation subjects ({}), who are not scored. A temperature above 1 means that the decoder was over-confident. Temperature scaling changes no decision.{}",
                phrases::subject_count(subjects),
                if (0.02..50.0).contains(&temperature) {
                    ""
                } else {
                    " It lies at the end of the range that is searched: these probabilities say next to nothing."
                }
            );
            (vec![("as predicted", after), ("after temperature scaling", cooled)], note)
        }
        (None, None) => (
            vec![("as predicted", after)],
            "No temperature was fitted here: the decoder has a calibration of its own that recentring or an adapted head goes on from, the validation subjects are not among these data, or it was trained without any.".into(),
        ),
    };
    let curves = shown.iter().map(|(name, calibration)| series(name, calibration, found.seeds)).collect();
    let curve = LineChart::reliability("Reliability diagram", curves);
    SectionContent::new(
        "The reliability diagram puts decisions into bins by their predicted probability, with as many decisions in each bin; of decisions with a probability of 80 %, 80 % \
         should be right. Bars are 95 % intervals. They count a trial once, however many seeds there are, and treat trials as independent, which trials of one subject are not.",
        vec![
            SectionPart::Figure(Figure::new(curve)),
            SectionPart::Table("Calibration".into(), table(&shown)),
            SectionPart::Text(note),
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

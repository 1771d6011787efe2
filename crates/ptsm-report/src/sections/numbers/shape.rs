//! Whether what was read fits together: sections take it for granted that rows are as long as they should be.

use ptsm_explain::{BANDS, DeletionResult, FrontalSaliency, Masks, ScoreCurve};

use super::super::Material;

/// More epochs than anybody trains.
const MOST_EPOCHS: usize = 1_000_000;
/// More folds than anybody divides subjects into.
const MOST_FOLDS: usize = 100_000;
/// More trials than anybody records.
const MOST_TRIALS: usize = 100_000_000;

/// The first thing that does not fit.
pub(super) fn wrong(m: &Material) -> Option<String> {
    let findings = m.masks.iter().flat_map(|findings| {
        let by_class = findings.by_class.iter().flat_map(|(_, masks)| masks);
        findings.all.iter().chain(by_class).chain(findings.nulls.iter().flatten())
    });
    let mut masks = findings.chain(m.saliency.iter().map(|saliency| &saliency.by_subject));
    let tested = m.sanity_checks.iter().flat_map(|checks| &checks.tested);
    let mut tests = tested.flat_map(|tested| tested.removed.iter().flatten());
    let mut matrices = m.benchmark.iter().flat_map(|benchmark| &benchmark.matrices);
    let mut epochs = m.histories.iter().flat_map(|(_, history)| history);
    let mut readings = m.benchmark.iter().flat_map(|benchmark| &benchmark.readings);
    let groups = m.benchmark.iter().flat_map(|benchmark| &benchmark.groups);
    let eyes = m.eyes.iter().flat_map(|eyes| {
        let alone = eyes.frontal_decoders.iter().map(|decoder| &decoder.summary);
        eyes.scores.iter().map(|scores| &scores.summary).chain(alone)
    });
    let groups = groups.flat_map(|group| &group.summaries);
    let mut summaries = m.summaries.iter().chain(&m.few).chain(groups).chain(eyes);
    let channels = m.layout.as_ref().map_or(0, |layout| layout.channels.len());
    let all = [
        (
            m.layout.as_ref().is_none_or(|layout| {
                layout.rate_hz > 0.0 && layout.samples > 0 && channels > 0 && !layout.classes.is_empty()
            }),
            "trials have no rate, samples, channels or classes",
        ),
        (readings.all(|reading| reading.fold < MOST_FOLDS), "a benchmark has too many folds"),
        (summaries.all(|summary| summary.chance.pooled_n <= MOST_TRIALS), "a subject has too many trials"),
        (
            m.disentanglement.as_ref().is_none_or(|found| {
                let points = found.picture.points.len();
                found.classes.len() == points && found.subjects.len() == points
            }),
            "an embedding has other classes or subjects than points",
        ),
        (
            m.saliency
                .as_ref()
                .is_none_or(|saliency| saliency.signed.iter().all(|(_, map)| map.len() == channels)),
            "the saliency of a class has other channels than the trials",
        ),
        (
            m.truth.as_ref().is_none_or(|truth| truth.channels.len() == channels),
            "the truth of a simulation has other channels than the trials",
        ),
        (
            masks.all(|masks| fits(m, masks)),
            "a mask or an attribution has other channels, times or subjects than its trials",
        ),
        (tests.all(is_even), "a deletion test has courses of several lengths"),
        (
            m.signals.iter().all(|signals| signals.shares.len() == BANDS.len()),
            "a subject's signals have other bands",
        ),
        (
            matrices.all(|(_, matrix)| {
                let n = matrix.models.len();
                matrix.comparisons.iter().all(|c| c.row < n && c.column < n)
            }),
            "a comparison is of no decoder",
        ),
        (
            m.eyes.as_ref().is_none_or(|eyes| {
                let even = |found: &FrontalSaliency| found.subjects.len() == found.shares.len();
                eyes.channels > 0 && eyes.saliency.as_ref().is_none_or(even)
            }),
            "an eye test has no channels, or the saliency of other subjects than it names",
        ),
        (m.calibration.as_ref().is_none_or(|found| found.seeds > 0), "probabilities are of no seed"),
        (epochs.all(|epoch| epoch.epoch <= MOST_EPOCHS), "training has too many epochs"),
    ];
    all.into_iter().find(|(fits, _)| !fits).map(|(_, what)| what.into())
}

fn fits(m: &Material, masks: &Masks) -> bool {
    let Some(layout) = &m.layout else { return false };
    let rows = |rows: &[Vec<f64>], length: usize| {
        rows.len() == masks.subjects.len() && rows.iter().all(|row| row.len() == length)
    };
    rows(&masks.space, layout.channels.len()) && rows(&masks.time, layout.samples)
}

fn is_even(tests: &DeletionResult) -> bool {
    let long = |course: &ScoreCurve| course.balanced_accuracy.len() == tests.shares.len();
    long(&tests.highest) && long(&tests.lowest) && tests.random.iter().all(long)
}

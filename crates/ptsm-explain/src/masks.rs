//! PTSM's masks of each subject.

use ptsm_decode::FittedDecoder;
use ptsm_decode::ptsm::mask_values;
use ptsm_eval::Result;
use ptsm_signal::{SubjectId, Subset};
use serde::{Deserialize, Serialize};

/// One kind of mask, its mean over each subject's trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Masks {
    /// `common`, `personal` or `fused`.
    pub kind: String,
    /// The subjects, in the order of the rows.
    #[serde(rename = "people")]
    pub subjects: Vec<SubjectId>,
    /// `[subject][channel]`
    pub space: Vec<Vec<f64>>,
    /// `[subject][sample]`
    pub time: Vec<Vec<f64>>,
}

impl Masks {
    /// The spatial mask's mean over subjects.
    pub fn space_mean(&self) -> Vec<f64> {
        mean_over(&self.space)
    }

    /// The temporal mask's mean over subjects.
    pub fn time_mean(&self) -> Vec<f64> {
        mean_over(&self.time)
    }
}

fn mean_over(rows: &[Vec<f64>]) -> Vec<f64> {
    let length = rows.first().map_or(0, Vec::len);
    (0..length).map(|i| rows.iter().map(|r| r[i]).sum::<f64>() / rows.len() as f64).collect()
}

/// The masks a decoder has; none for a decoder without.
pub fn masks(fitted: &dyn FittedDecoder, trials: &Subset<'_>) -> Result<Vec<Masks>> {
    let mut found = vec![];
    for (kind, names) in mask_values() {
        let (mut space, mut time, mut subjects) = (vec![], vec![], vec![]);
        for subject in trials.subjects() {
            let own = trials.only(|t| t.subject == subject);
            let Some(values) = fitted.intermediate_values(&own, &names)? else { continue };
            let mut means = values.iter().map(|v| mean_row(v, own.len()));
            space.extend(means.next());
            time.extend(means.next());
            subjects.push(subject);
        }
        if !subjects.is_empty() {
            found.push(Masks { kind: kind.into(), subjects, space, time });
        }
    }
    Ok(found)
}

/// The mean of `n` rows that follow each other.
fn mean_row(values: &[f32], n: usize) -> Vec<f64> {
    let length = values.len() / n.max(1);
    let mut mean = vec![0.0; length];
    for row in values.chunks(length.max(1)) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += f64::from(*v) / n as f64);
    }
    mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_averaged() {
        assert_eq!(mean_row(&[1.0, 2.0, 3.0, 6.0], 2), [2.0, 4.0]);
        assert_eq!(mean_row(&[], 0), [0.0; 0]);
    }
}

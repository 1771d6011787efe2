//! Relevance by channel and by time.

use ptsm_signal::Subset;

use super::maps::RelevanceMap;
use crate::masks::Masks;

/// The saliency of some trials, a row for each trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relevance {
    /// Sums of sizes over time, `[trial][channel]`.
    pub space: Vec<Vec<f64>>,
    /// Sums of sizes over channels, `[trial][sample]`.
    pub time: Vec<Vec<f64>>,
    /// Sums over time with their signs, `[trial][channel]`: above 0 speaks for the class.
    pub signed_space: Vec<Vec<f64>>,
    /// Sums over channels with their signs, `[trial][sample]`.
    pub signed_time: Vec<Vec<f64>>,
    /// How far the sum of a trial's relevance is from the answer to it less the answer to an empty trial, `[trial]`; not a number where
    /// the method does not promise that they are the same.
    pub residual: Vec<f64>,
}

impl Relevance {
    /// Adds a trial.
    pub(super) fn add(&mut self, map: &RelevanceMap, channels: usize) {
        let samples = map.values.len() / channels;
        let [mut space, mut signed_space] = [0, 1].map(|_| vec![0.0; channels]);
        let [mut time, mut signed_time] = [0, 1].map(|_| vec![0.0; samples]);
        for (c, row) in map.values.chunks_exact(samples).enumerate() {
            for (t, value) in row.iter().enumerate() {
                space[c] += value.abs();
                time[t] += value.abs();
                signed_space[c] += value;
                signed_time[t] += value;
            }
        }
        self.push([space, time, signed_space, signed_time], map.residual);
    }

    pub(super) fn push(&mut self, rows: [Vec<f64>; 4], residual: f64) {
        let [space, time, signed_space, signed_time] = rows;
        self.space.push(space);
        self.time.push(time);
        self.signed_space.push(signed_space);
        self.signed_time.push(signed_time);
        self.residual.push(residual);
    }

    /// The means of sizes over each subject's trials, to be drawn and compared as masks are. `trials` are those this is the relevance of.
    pub fn by_subject(&self, kind: &str, trials: &Subset<'_>) -> Masks {
        let mut masks = Masks { kind: kind.into(), subjects: vec![], space: vec![], time: vec![] };
        for subject in trials.subjects() {
            let own: Vec<usize> =
                trials.info().enumerate().filter(|(_, t)| t.subject == subject).map(|(i, _)| i).collect();
            masks.subjects.push(subject);
            masks.space.push(mean_of(&self.space, &own));
            masks.time.push(mean_of(&self.time, &own));
        }
        masks
    }
}

/// The mean of some rows.
fn mean_of(rows: &[Vec<f64>], which: &[usize]) -> Vec<f64> {
    let length = which.first().map_or(0, |&i| rows[i].len());
    let sum = |k: usize| which.iter().map(|&i| rows[i][k]).sum::<f64>();
    (0..length).map(|k| sum(k) / which.len() as f64).collect()
}

//! Few-shot adaptation of a network's head, see [`head_adaptation`](crate::head_adaptation): the prior when it has been trained, and the
//! fit to one subject, which is a part of the prediction graph afterwards.

use ptsm_signal::{SubjectId, Subset};

use super::{
    FEATURE_MEAN, FEATURE_SCALE, FittedNetwork, HEAD_PRIOR, LogitStages, SHIFT_BIAS, SHIFT_SCALE,
    SHIFT_WEIGHT,
};
use crate::decoder::{AdaptedDecoder, calibration_split};
use crate::error::{Error, Result};
use crate::head_adaptation::{HeadInputs, HeadPrior};

/// Labelled trials of each class that source subjects are adapted with when the prior is chosen.
const PLAYED_SHOTS: [usize; 2] = [2, 10];
/// Source subjects who play the new one, at most: more would take longer than they tell.
const MOST_PLAYERS: usize = 16;

impl FittedNetwork {
    /// Logits, and raw features where the network names some.
    fn head_inputs(&self, trials: &Subset<'_>) -> Result<HeadInputs> {
        self.layout.expect(trials.layout())?;
        let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect();
        let labels = trials.labels();
        if self.build(1)?.task_features().is_none() {
            return Ok(HeadInputs { logits: wide(self.logits(trials)?), features: vec![], labels });
        }
        let build = |size: usize| {
            let network = self.build(size)?;
            let features = network.task_features().unwrap_or(network.logits);
            Ok((network.graph, [network.logits, features]))
        };
        let [logits, features] =
            self.predictors.features.values(trials, &self.parameters, &self.device, build)?;
        Ok(HeadInputs { logits: wide(logits), features: wide(features), labels })
    }

    /// The same decoder with a prior for its head, chosen on validation subjects; as it is where there are none.
    pub(super) fn with_head_prior(self, validation: &Subset<'_>) -> Result<FittedNetwork> {
        if validation.is_empty() {
            return Ok(self);
        }
        let classes = self.layout.classes.len();
        let ordered = validation.in_time();
        let mut all = self.head_inputs(&ordered)?;
        let (mean, scale) = normalisation(&all.features, all.labels.len());
        normalise(&mut all.features, &mean, &scale);
        let players: Vec<SubjectId> = ordered.subjects().into_iter().take(MOST_PLAYERS).collect();
        let rounds = |subject: &SubjectId| {
            let own = ordered.only(|trial| trial.subject == *subject);
            let rounds = PLAYED_SHOTS.iter().filter_map(|&shots| {
                let (first, later) = calibration_split(&own, shots).ok()?;
                (!later.is_empty())
                    .then(|| [first, later].map(|part| all.at(&places(&ordered, &part), classes)))
            });
            rounds.map(|[first, later]| (first, later)).collect()
        };
        let plays: Vec<_> = players.iter().map(rounds).collect();
        let HeadPrior { bias, scale: factor, features } = HeadPrior::choose(&plays, classes);
        let prior = [bias, factor, features].map(|v| v as f32);
        let narrow = |values: &[f64]| -> Vec<f32> { values.iter().map(|&v| v as f32).collect() };
        let (mean, scale) = (narrow(&mean), narrow(&scale));
        let mut values: Vec<(&str, &[f32])> = vec![(HEAD_PRIOR, &prior)];
        if !mean.is_empty() {
            values.extend([(FEATURE_MEAN, &mean[..]), (FEATURE_SCALE, &scale[..])]);
        }
        self.with_stages(LogitStages { head_prior: true, ..self.stages }, &values)
    }

    /// What was chosen when it was trained.
    pub(super) fn own_head_prior(&self) -> Result<HeadPrior> {
        let values = self.parameters.get(0, HEAD_PRIOR)?;
        let [bias, scale, features] = [0, 1, 2].map(|i| f64::from(values[i]));
        Ok(HeadPrior { bias, scale, features })
    }
}

/// The head fitted to labelled trials of one subject.
pub(super) fn adapt(network: &FittedNetwork, trials: &Subset<'_>) -> Result<AdaptedDecoder> {
    if !network.stages.head_prior {
        return Err(Error::Configuration(
            "this decoder does not know by how much subjects differ: it was trained without validation subjects, or by an earlier version; train it again with some, or adapt it otherwise (`--how all`, or `masks` where it has some)"
                .into(),
        ));
    }
    let prior = network.own_head_prior()?;
    let classes = network.layout.classes.len();
    let mut inputs = network.head_inputs(trials)?;
    let (mean, scale) = match inputs.features.is_empty() {
        true => (vec![], vec![]),
        false => {
            let wide = |name: &str| -> Result<Vec<f64>> {
                Ok(network.parameters.get(0, name)?.iter().map(|&v| f64::from(v)).collect())
            };
            (wide(FEATURE_MEAN)?, wide(FEATURE_SCALE)?)
        }
    };
    normalise(&mut inputs.features, &mean, &scale);
    let shift = prior.fit(&inputs, classes);
    // The graph has the features as they are: centring and scaling become a part of the weights and offsets.
    let width = mean.len();
    let (mut bias, mut weight) = (shift.bias.clone(), shift.weight.clone());
    for k in 0..classes {
        for f in 0..width {
            weight[k * width + f] *= scale[f];
            bias[k] -= weight[k * width + f] * mean[f];
        }
    }
    let narrow = |values: &[f64]| -> Vec<f32> { values.iter().map(|&v| v as f32).collect() };
    let (bias, weight) = (narrow(&bias), narrow(&weight));
    let factor = [shift.scale as f32];
    let mut values: Vec<(&str, &[f32])> = vec![(SHIFT_SCALE, &factor), (SHIFT_BIAS, &bias)];
    if width > 0 {
        values.push((SHIFT_WEIGHT, &weight));
    }
    let mut adapted = network.with_stages(LogitStages { head_shift: true, ..network.stages }, &values)?;
    // Of one graph for all subjects, which is compiled once.
    adapted.predictors.logits = network.predictors.adapted.clone();
    Ok(AdaptedDecoder { fitted: Box::new(adapted), trials: trials.len(), guard: None })
}

/// Places of a part's trials among all.
fn places(all: &Subset<'_>, part: &Subset<'_>) -> Vec<usize> {
    let place = |row: &usize| all.rows().iter().position(|own| own == row);
    part.rows().iter().filter_map(place).collect()
}

/// Mean of each feature, and what to multiply it with so that all together have a mean square of 1. A feature that never changes counts
/// for nothing.
fn normalisation(features: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let width = features.len().checked_div(n).unwrap_or(0);
    let mut mean = vec![0.0; width];
    features
        .chunks_exact(width.max(1))
        .for_each(|row| mean.iter_mut().zip(row).for_each(|(m, f)| *m += f / n as f64));
    let mut square = vec![0.0; width];
    for row in features.chunks_exact(width.max(1)) {
        for ((s, f), m) in square.iter_mut().zip(row).zip(&mean) {
            *s += (f - m).powi(2) / n as f64;
        }
    }
    let scale = square.iter().map(|&s| if s > 1e-12 { 1.0 / (s * width as f64).sqrt() } else { 0.0 });
    (mean, scale.collect())
}

fn normalise(features: &mut [f64], mean: &[f64], scale: &[f64]) {
    for row in features.chunks_exact_mut(mean.len().max(1)) {
        for ((f, m), s) in row.iter_mut().zip(mean).zip(scale) {
            *f = (*f - m) * s;
        }
    }
}

//! Parameter randomisation: whether an explanation depends on what the decoder learnt.
//!
//! Paper: Adebayo et al. 2018, arXiv:1810.03292. An explanation that looks the same for a decoder with randomised parameters tells of the trials or
//! of the architecture, not of what was learnt. How alike explanations of two trainings are says what can be expected at best.

use ptsm_decode::FittedDecoder;
use ptsm_eval::{Result, mean};
use serde::{Deserialize, Serialize};

use crate::ranks::{rank_correlation, truth_auc};

/// How alike explanations are, by rank correlation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterRandomisation {
    /// Of every two trained decoders.
    pub trained: Vec<f64>,
    /// Of every trained decoder and every one with randomised parameters.
    #[serde(rename = "drawn")]
    pub randomised: Vec<f64>,
}

impl ParameterRandomisation {
    /// Of explanations, each a row of numbers of channels or of times. Pairs in which one is constant are left out.
    pub fn new(trained: &[Vec<f64>], randomised: &[Vec<f64>]) -> ParameterRandomisation {
        let known = |r: f64| Some(r).filter(|r| !r.is_nan());
        let mut pairs = vec![];
        for (i, a) in trained.iter().enumerate() {
            pairs.extend(trained[i + 1..].iter().filter_map(|b| known(rank_correlation(a, b))));
        }
        let across = trained.iter().flat_map(|a| randomised.iter().map(move |b| rank_correlation(a, b)));
        ParameterRandomisation { trained: pairs, randomised: across.filter_map(known).collect() }
    }

    /// Mean over pairs of trained decoders; not a number without such.
    pub fn trained_mean(&self) -> f64 {
        mean(&self.trained)
    }

    /// Mean over pairs of a trained decoder and one with randomised parameters; not a number without such.
    pub fn randomised_mean(&self) -> f64 {
        mean(&self.randomised)
    }

    /// How likely two trained decoders are more alike than a trained one and one with randomised parameters: 1 where the explanation follows what was learnt,
    /// 0.5 where it does not matter. Not a number without pairs of both kinds.
    pub fn separation(&self) -> f64 {
        let both: Vec<f64> = self.trained.iter().chain(&self.randomised).copied().collect();
        let truth: Vec<bool> = (0..both.len()).map(|i| i < self.trained.len()).collect();
        truth_auc(&both, &truth)
    }
}

/// An explanation by channels and by times, of a decoder; none where it has no such.
pub type ExplainFn<'a> = dyn Fn(&dyn FittedDecoder) -> Result<Option<[Vec<f64>; 2]>> + 'a;

/// The same for channels and for times, of decoders that were trained with several seeds. The parameters of each are randomised once, from `seed` on. None where
/// a decoder has no such explanation or nothing to draw anew.
pub fn randomise_parameters(
    fits: &[&dyn FittedDecoder],
    seed: u64,
    look: &ExplainFn<'_>,
) -> Result<Option<[ParameterRandomisation; 2]>> {
    let (mut trained, mut randomised) = ([vec![], vec![]], [vec![], vec![]]);
    for (i, &fitted) in fits.iter().enumerate() {
        let Some(other) = fitted.with_random_parameters(seed.wrapping_add(i as u64))? else {
            return Ok(None);
        };
        for (to, fitted) in [(&mut trained, fitted), (&mut randomised, &*other)] {
            let Some(seen) = look(fitted)? else { return Ok(None) };
            to.iter_mut().zip(seen).for_each(|(to, seen)| to.push(seen));
        }
    }
    Ok(Some([0, 1].map(|axis| ParameterRandomisation::new(&trained[axis], &randomised[axis]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trained_parameters_are_distinguished_from_randomised_ones() {
        let trained = [vec![1.0, 2.0, 3.0, 4.0], vec![1.0, 2.0, 4.0, 3.0], vec![0.1, 0.2, 0.3, 0.4]];
        let randomised = [vec![4.0, 3.0, 2.0, 1.0], vec![1.0, 1.0, 1.0, 1.0]];
        let r = ParameterRandomisation::new(&trained, &randomised);
        // The constant one is left out.
        assert_eq!((r.trained.len(), r.randomised.len()), (3, 3));
        assert!(r.trained_mean() > 0.8 && r.randomised_mean() < -0.8 && r.separation() == 1.0);
        let alone = ParameterRandomisation::new(&trained[..1], &randomised);
        assert!(alone.trained_mean().is_nan() && alone.separation().is_nan());
    }
}

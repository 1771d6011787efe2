//! MDM: minimum distance to mean.
//!
//! Paper: Barachant et al. 2012, doi:10.1109/TBME.2011.2172210; pyRiemann is the reference.
//!
//! ```text
//! [C,T] -> band-pass -> covariance (OAS) -> distance to the Karcher mean of each class -> softmax(-d^2) -> [K]
//! ```
//!
//! Differs: see [`MDM`].
//!
//! Numbers at C=62, K=2: 3906.

use nalgebra::DMatrix;
use ptsm_signal::Layout;
use ptsm_signal::covariance::{Estimator, estimate};
use ptsm_signal::spd::{TangentSpace, karcher_mean};
use serde::{Deserialize, Serialize};

use crate::classic::band::Band;
use crate::classic::decoder::{Classic, Workers};
use crate::classic::matrices::{Matrices, NamedMatrices, stacked};
use crate::decoder::TrainingData;
use crate::error::Result;
use crate::method::Method;
use crate::probabilities::softmax;

/// MDM.
pub const MDM: Method = Method {
    name: "mdm",
    about: "the nearest class mean among covariances, on their curved space",
    paper: "Barachant et al. 2012",
    doi: "10.1109/TBME.2011.2172210",
    differs: "Each trial is filtered by itself, as in `csp-lda`.",
    ..Method::classic::<Mdm>()
};

/// Settings of MDM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mdm {
    /// The band each trial is filtered to; none for as it is.
    pub band_hz: Option<[f64; 2]>,
    /// Order of the Butterworth filter.
    pub order: usize,
    /// How covariances are estimated.
    pub covariance: Estimator,
}

impl Default for Mdm {
    fn default() -> Mdm {
        Mdm { band_hz: Some([8.0, 30.0]), order: 4, covariance: Estimator::Oas }
    }
}

/// MDM after its fit.
#[derive(Clone)]
pub(crate) struct Coefficients {
    band: Band,
    /// The curved space as seen from each class's mean.
    means: Vec<TangentSpace>,
}

impl Mdm {
    fn band(&self, layout: &Layout) -> Result<Band> {
        Band::new(self.band_hz, self.order, layout, "band_hz")
    }

    fn covariance(&self, band: &Band, layout: &Layout, signal: &[f32]) -> Result<DMatrix<f64>> {
        let channels = layout.channels.len();
        Ok(estimate(&band.apply(signal, channels)?, channels, self.covariance))
    }
}

impl Classic for Mdm {
    type Coefficients = Coefficients;

    fn defaults(_: &Layout) -> Mdm {
        Mdm::default()
    }

    fn learn(&self, data: &TrainingData<'_>, workers: &Workers<'_>) -> Result<Coefficients> {
        let (train, layout) = (data.train(), data.train().layout());
        let band = self.band(layout)?;
        let mut means = vec![];
        for class in 0..layout.classes.len() {
            let own = train.only(|trial| trial.label as usize == class);
            let covariances = workers.each(&own, |signal| self.covariance(&band, layout, signal))?;
            means.push(workers.work(|| Ok(TangentSpace::at(karcher_mean(&covariances)?)?))?);
        }
        Ok(Coefficients { band, means })
    }

    fn decide(&self, coefficients: &Coefficients, layout: &Layout, signal: &[f32]) -> Result<Vec<f64>> {
        let covariance = self.covariance(&coefficients.band, layout, signal)?;
        nearest(&coefficients.means, &covariance)
    }

    fn parameters(coefficients: &Coefficients) -> usize {
        coefficients.means.iter().map(TangentSpace::length).sum()
    }

    fn matrices(coefficients: &Coefficients) -> NamedMatrices {
        vec![("means", stacked(coefficients.means.iter().map(TangentSpace::reference)))]
    }

    fn restore(&self, layout: &Layout, file: &Matrices) -> Result<Coefficients> {
        let (channels, classes) = (layout.channels.len(), layout.classes.len());
        let means = file.sized("means", classes * channels, channels)?;
        let mean = |k: usize| Ok(TangentSpace::at(means.rows(k * channels, channels).into_owned())?);
        let means = (0..classes).map(mean).collect::<Result<_>>()?;
        Ok(Coefficients { band: self.band(layout)?, means })
    }
}

/// The probability of every class: the softmax of its negative squared distance.
fn nearest(means: &[TangentSpace], covariance: &DMatrix<f64>) -> Result<Vec<f64>> {
    let far = |mean: &TangentSpace| Ok(-mean.distance(covariance)?.powi(2));
    let far: Vec<f64> = means.iter().map(far).collect::<Result<_>>()?;
    Ok(softmax(&far))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::golden::{close, test_trials, train_trials};

    /// Of class 0 (odd trials) and class 1 (even ones).
    fn means(change: impl Fn(DMatrix<f64>) -> DMatrix<f64>) -> Vec<TangentSpace> {
        let all = train_trials();
        let mean = |odd: usize| {
            let own = all.iter().skip(odd).step_by(2).map(|x| change(estimate(x, 3, Estimator::Oas)));
            TangentSpace::at(karcher_mean(&own.collect::<Vec<_>>()).unwrap()).unwrap()
        };
        vec![mean(1), mean(0)]
    }

    #[test]
    fn distances_and_decisions_are_those_of_pyriemann() {
        let means = means(|c| c);
        let test: Vec<_> = test_trials().iter().map(|x| estimate(x, 3, Estimator::Oas)).collect();
        let far = [means[0].distance(&test[0]).unwrap(), means[1].distance(&test[0]).unwrap()];
        close(&far, &[1.70196633322, 0.22076161522], 1e-10);
        for (i, covariance) in test.iter().enumerate() {
            let p = nearest(&means, covariance).unwrap();
            assert_eq!(p[1] > p[0], i % 2 == 0);
            close(&[p[0] + p[1]], &[1.0], 1e-12);
        }
    }

    #[test]
    fn a_common_mixing_changes_nothing() {
        let mixing = DMatrix::from_row_slice(3, 3, &[2.0, 0.3, -1.0, 0.1, 0.7, 0.4, -0.5, 0.9, 3.0]);
        let mix = |c: DMatrix<f64>| &mixing * c * mixing.transpose();
        let (plain, mixed) = (means(|c| c), means(mix));
        for x in test_trials() {
            let covariance = estimate(&x, 3, Estimator::Oas);
            let (a, b) = (nearest(&plain, &covariance).unwrap(), nearest(&mixed, &mix(covariance)).unwrap());
            close(&a, &b, 1e-9);
        }
    }
}

//! CSP + LDA: the classic decoder of imagined movement.
//!
//! Paper: Blankertz et al. 2008, doi:10.1109/MSP.2008.4408441; MOABB's pipeline is the reference.
//!
//! ```text
//! [C,T] -> band-pass -> covariance (OAS) -> w^T S w of 6 filters -> log -> LDA -> [K]
//! ```
//!
//! Differs: see [`CSP_LDA`].
//!
//! Numbers at C=62, K=2, 6 filters: 372 of CSP and 14 of LDA.

use nalgebra::DMatrix;
use ptsm_signal::covariance::{Estimator, estimate};
use ptsm_signal::{Layout, Subset};
use serde::{Deserialize, Serialize};

use crate::classic::band::Band;
use crate::classic::decoder::{Classic, Workers};
use crate::classic::linear::patterns;
use crate::classic::matrices::{Matrices, NamedMatrices, column};
use crate::classic::{Csp, Lda, Shrinkage};
use crate::decoder::TrainingData;
use crate::error::Result;
use crate::method::Method;

/// CSP + LDA.
pub const CSP_LDA: Method = Method {
    name: "csp-lda",
    about: "log power of common spatial patterns, linear discriminant",
    paper: "Blankertz et al. 2008",
    doi: "10.1109/MSP.2008.4408441",
    differs: "Each trial is filtered by itself, forwards and backwards with odd padding, so that the decoder can stand behind the same broadband trials as a network does; `band_hz = null` leaves the trials as they are. More than two classes: filters of each class against the rest.",
    ..Method::classic::<CspLda>()
};

/// Settings of CSP + LDA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CspLda {
    /// The band each trial is filtered to; none for as it is.
    pub band_hz: Option<[f64; 2]>,
    /// Order of the Butterworth filter.
    pub order: usize,
    /// How covariances are estimated.
    pub covariance: Estimator,
    /// Spatial filters; of each class with more than two.
    pub filters: usize,
    /// Shrinkage of the LDA.
    pub shrinkage: Shrinkage,
}

impl Default for CspLda {
    fn default() -> CspLda {
        CspLda {
            band_hz: Some([8.0, 30.0]),
            order: 4,
            covariance: Estimator::Oas,
            filters: 6,
            shrinkage: Shrinkage::None,
        }
    }
}

/// CSP + LDA after its fit.
#[derive(Clone)]
pub(crate) struct Coefficients {
    band: Band,
    csp: Csp,
    lda: Lda,
}

impl CspLda {
    fn band(&self, layout: &Layout) -> Result<Band> {
        Band::new(self.band_hz, self.order, layout, "band_hz")
    }

    fn covariance(&self, band: &Band, layout: &Layout, signal: &[f32]) -> Result<DMatrix<f64>> {
        let channels = layout.channels.len();
        Ok(estimate(&band.apply(signal, channels)?, channels, self.covariance))
    }
}

impl CspLda {
    /// Where on the head the sources are that CSP's filters listen to, `[F][C]`, each of length 1: covariance times filter (Haufe et al. 2014,
    /// doi:10.1016/j.neuroimage.2013.10.067). Filters are fitted to these trials.
    pub fn patterns(&self, trials: &Subset<'_>) -> Result<Vec<Vec<f64>>> {
        let layout = trials.layout();
        let (band, classes) = (self.band(layout)?, layout.classes.len());
        let each = trials.signals().map(|signal| self.covariance(&band, layout, signal));
        let covariances = each.collect::<Result<Vec<_>>>()?;
        let csp = Csp::fit(&covariances, &trials.labels(), classes, self.filters)?;
        let counts = trials.class_counts();
        // Classes count the same, as they do for the filters.
        let mut mean = covariances[0].scale(0.0);
        for (covariance, label) in covariances.iter().zip(trials.labels()) {
            mean += covariance / (classes * counts[label as usize]) as f64;
        }
        Ok(patterns(&csp.filters, &mean))
    }
}

impl Classic for CspLda {
    type Coefficients = Coefficients;

    fn defaults(layout: &Layout) -> CspLda {
        let plain = CspLda::default();
        CspLda { filters: plain.filters.min(layout.channels.len()), ..plain }
    }

    fn check(&self) -> Result<()> {
        self.shrinkage.check()
    }

    fn learn(&self, data: &TrainingData<'_>, workers: &Workers<'_>) -> Result<Coefficients> {
        let (train, layout) = (data.train(), data.train().layout());
        let band = self.band(layout)?;
        let covariances = workers.each(train, |signal| self.covariance(&band, layout, signal))?;
        let (labels, classes) = (train.labels(), layout.classes.len());
        let csp = Csp::fit(&covariances, &labels, classes, self.filters)?;
        let rows: Vec<_> =
            covariances.iter().map(|c| Ok(csp.features(c)?.transpose())).collect::<Result<_>>()?;
        let lda = Lda::fit(&DMatrix::from_rows(&rows), &labels, classes, self.shrinkage)?;
        Ok(Coefficients { band, csp, lda })
    }

    fn decide(&self, coefficients: &Coefficients, layout: &Layout, signal: &[f32]) -> Result<Vec<f64>> {
        let features = coefficients.csp.features(&self.covariance(&coefficients.band, layout, signal)?)?;
        Ok(coefficients.lda.probabilities(features.as_slice())?.as_slice().to_vec())
    }

    fn parameters(coefficients: &Coefficients) -> usize {
        coefficients.csp.filters.len() + coefficients.lda.weights.len() + coefficients.lda.biases.len()
    }

    fn matrices(coefficients: &Coefficients) -> NamedMatrices {
        let csp = &coefficients.csp;
        let mut all =
            vec![("csp.filters", csp.filters.clone()), ("csp.eigenvalues", column(&csp.eigenvalues))];
        all.extend(coefficients.lda.matrices());
        all
    }

    fn restore(&self, layout: &Layout, file: &Matrices) -> Result<Coefficients> {
        let (channels, classes) = (layout.channels.len(), layout.classes.len());
        let turns = if classes == 2 { 1 } else { classes };
        let filters = file.sized("csp.filters", turns * self.filters, channels)?;
        let eigenvalues = file.vector("csp.eigenvalues", filters.nrows())?;
        let lda = Lda::restore(file, classes, filters.nrows())?;
        Ok(Coefficients { band: self.band(layout)?, csp: Csp { filters, eigenvalues }, lda })
    }
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, SubjectId, Trial, Trials};

    use super::*;

    /// Filters mix all channels to leave the other sources out; patterns are where a source really is.
    #[test]
    fn patterns_are_the_columns_of_the_mixture() {
        let mixture = [[1.0, 0.2, 0.1], [0.5, 1.0, 0.2], [0.0, 0.3, 1.0]];
        let layout = Layout {
            channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(),
            samples: 100,
            rate_hz: 100.0,
            start_s: 0.0,
            classes: ["left", "right"].map(String::from).to_vec(),
            task: Default::default(),
        };
        let (mut x, mut info) = (vec![], vec![]);
        for label in [0, 1, 1] {
            // Each class has a source of its own that is strong; sources have nothing in common.
            let amplitude = [3.0 - 2.0 * f64::from(label), 1.5, 0.5 + 2.0 * f64::from(label)];
            for row in mixture {
                let source = |s: usize, t: f64| {
                    amplitude[s] * (std::f64::consts::TAU * (7.0 + s as f64) * t / 100.0).sin()
                };
                x.extend(
                    (0..100).map(|t| (0..3).map(|s| row[s] * source(s, f64::from(t))).sum::<f64>() as f32),
                );
            }
            info.push(Trial { label, subject: SubjectId(1), session: 1, run: 1, cue_s: 0.0 });
        }
        let trials = Trials::new(layout, x, info).unwrap();
        let settings = CspLda { band_hz: None, covariance: Estimator::Scm, filters: 2, ..CspLda::default() };
        let mut found = settings.patterns(&trials.all()).unwrap();
        found.sort_by(|a, b| b[0].abs().total_cmp(&a[0].abs()));
        for (pattern, source) in found.iter().zip([0, 2]) {
            let column = mixture.map(|row| row[source]);
            let length = column.iter().map(|v| v * v).sum::<f64>().sqrt();
            let along: f64 = pattern.iter().zip(column).map(|(p, c)| p * c / length).sum();
            assert!((along.abs() - 1.0).abs() < 1e-6, "{pattern:?}");
        }
    }
}

//! Tangent space + logistic regression.
//!
//! Paper: Barachant et al. 2013, doi:10.1016/j.neucom.2012.12.039; MOABB's pipeline is the reference.
//!
//! ```text
//! [C,T] -> band-pass -> covariance (OAS) -> log(G^-1/2 S G^-1/2), G the Karcher mean of all -> logistic regression -> [K]
//! ```
//!
//! Differs: see [`TS_LR`].
//!
//! Numbers at C=62, K=2: 1953 of the reference and 1954 of the regression.

use nalgebra::DMatrix;
use ptsm_signal::Layout;
use ptsm_signal::covariance::{Estimator, estimate};
use serde::{Deserialize, Serialize};

use crate::classic::band::Band;
use crate::classic::decoder::{Classic, Workers};
use crate::classic::matrices::{Matrices, NamedMatrices};
use crate::classic::{Regularisation, Tangent};
use crate::decoder::TrainingData;
use crate::error::Result;
use crate::method::Method;

/// Tangent space + logistic regression.
pub const TS_LR: Method = Method {
    name: "ts-lr",
    about: "covariances in their tangent space, logistic regression",
    paper: "Barachant et al. 2013",
    doi: "10.1016/j.neucom.2012.12.039",
    differs: "Each trial is filtered by itself, as in `csp-lda`.",
    ..Method::classic::<TsLr>()
};

/// Settings of tangent space + logistic regression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TsLr {
    /// The band each trial is filtered to; none for as it is.
    pub band_hz: Option<[f64; 2]>,
    /// Order of the Butterworth filter.
    pub order: usize,
    /// How covariances are estimated.
    pub covariance: Estimator,
    /// What the losses weigh against the penalty, scikit-learn's `C`.
    pub inverse_penalty: f64,
    /// Whether classes weigh the same however many trials they have.
    pub balanced: bool,
    /// The largest entry of the gradient at which the regression ends, as a share of the trials' weight.
    pub tolerance: f64,
}

impl Default for TsLr {
    fn default() -> TsLr {
        TsLr {
            band_hz: Some([8.0, 30.0]),
            order: 4,
            covariance: Estimator::Oas,
            inverse_penalty: 1.0,
            balanced: false,
            tolerance: 1e-8,
        }
    }
}

/// Tangent space + logistic regression after its fit.
#[derive(Clone)]
pub(crate) struct Coefficients {
    band: Band,
    tangent: Tangent,
}

impl TsLr {
    fn band(&self, layout: &Layout) -> Result<Band> {
        Band::new(self.band_hz, self.order, layout, "band_hz")
    }

    fn covariance(&self, band: &Band, layout: &Layout, signal: &[f32]) -> Result<DMatrix<f64>> {
        let channels = layout.channels.len();
        Ok(estimate(&band.apply(signal, channels)?, channels, self.covariance))
    }

    fn regularisation(&self) -> Regularisation {
        let TsLr { inverse_penalty, balanced, tolerance, .. } = *self;
        Regularisation { inverse_penalty, balanced, tolerance }
    }
}

impl Classic for TsLr {
    type Coefficients = Coefficients;

    fn defaults(_: &Layout) -> TsLr {
        TsLr::default()
    }

    fn check(&self) -> Result<()> {
        self.regularisation().check()
    }

    fn learn(&self, data: &TrainingData<'_>, workers: &Workers<'_>) -> Result<Coefficients> {
        let (train, layout) = (data.train(), data.train().layout());
        let band = self.band(layout)?;
        let covariances = workers.each(train, |signal| self.covariance(&band, layout, signal))?;
        let (labels, classes) = (train.labels(), layout.classes.len());
        let tangent = workers.work(|| Tangent::fit(&covariances, &labels, classes, self.regularisation()))?;
        Ok(Coefficients { band, tangent })
    }

    fn decide(&self, coefficients: &Coefficients, layout: &Layout, signal: &[f32]) -> Result<Vec<f64>> {
        coefficients.tangent.probabilities(&self.covariance(&coefficients.band, layout, signal)?)
    }

    fn parameters(coefficients: &Coefficients) -> usize {
        coefficients.tangent.parameters()
    }

    fn matrices(coefficients: &Coefficients) -> NamedMatrices {
        coefficients.tangent.matrices()
    }

    fn restore(&self, layout: &Layout, file: &Matrices) -> Result<Coefficients> {
        let tangent = Tangent::restore(file, layout.classes.len(), layout.channels.len())?;
        Ok(Coefficients { band: self.band(layout)?, tangent })
    }
}

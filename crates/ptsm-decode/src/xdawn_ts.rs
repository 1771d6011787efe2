//! xDAWN + tangent space: for responses to events.
//!
//! Papers: Rivet et al. 2009, doi:10.1109/TBME.2009.2012869 (filters); Barachant & Congedo 2014, arXiv:1409.0107 (covariances
//! with templates). pyRiemann is the reference.
//!
//! ```text
//! [C,T] -> 4 filters of each class -> [4K,T], the classes' filtered mean responses on top -> [8K,T]
//!       -> covariance (OAS) -> tangent space at the Karcher mean -> logistic regression, classes balanced -> [K]
//! ```
//!
//! Differs: see [`XDAWN_TS`].
//!
//! Numbers at C=62, T=1000, K=2: 496 of the filters, 8000 of the templates, 136 of the reference and 137 of the regression.

use nalgebra::DMatrix;
use ptsm_engine::Cpu;
use ptsm_signal::covariance::Estimator;
use ptsm_signal::{Layout, Subset};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::classic::band::Band;
use crate::classic::decoder::{Classic, Workers};
use crate::classic::linear::patterns;
use crate::classic::matrices::{Matrices, NamedMatrices};
use crate::classic::{Regularisation, Tangent, TrialMoments, Xdawn};
use crate::decoder::TrainingData;
use crate::error::Result;
use crate::method::Method;

/// xDAWN + tangent space.
pub const XDAWN_TS: Method = Method {
    name: "xdawn-ts",
    about: "for responses to events: covariances with the classes' mean responses, tangent space",
    paper: "Rivet et al. 2009; Barachant & Congedo 2014",
    doi: "10.1109/TBME.2009.2012869",
    differs: "A logistic regression where MOABB has a support vector machine with a small grid.",
    ..Method::classic::<XdawnTs>()
};

/// Settings of xDAWN + tangent space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XdawnTs {
    /// The band each trial is filtered to; none for as it is.
    pub band_hz: Option<[f64; 2]>,
    /// Order of the Butterworth filter.
    pub order: usize,
    /// Spatial filters of each class.
    pub filters: usize,
    /// Whether trials are filtered too. Unfiltered they stand below the templates with all their channels.
    pub filter_trials: bool,
    /// How covariances are estimated. Templates resemble each other: a shrinkage estimator is needed where they are many.
    pub covariance: Estimator,
    /// What the losses weigh against the penalty, scikit-learn's `C`.
    pub inverse_penalty: f64,
    /// Whether classes weigh the same however many trials they have.
    pub balanced: bool,
    /// The largest entry of the gradient at which the regression ends, as a share of the trials' weight.
    pub tolerance: f64,
}

impl Default for XdawnTs {
    fn default() -> XdawnTs {
        XdawnTs {
            band_hz: None,
            order: 4,
            filters: 4,
            filter_trials: true,
            covariance: Estimator::Oas,
            inverse_penalty: 1.0,
            balanced: true,
            tolerance: 1e-8,
        }
    }
}

/// xDAWN + tangent space after its fit.
#[derive(Clone)]
pub(crate) struct Coefficients {
    band: Band,
    xdawn: Xdawn,
    tangent: Tangent,
}

/// Trials whose sums one thread adds up: always the same ones, so that sums do not depend on the threads.
const PIECE: usize = 64;

impl XdawnTs {
    fn band(&self, layout: &Layout) -> Result<Band> {
        Band::new(self.band_hz, self.order, layout, "band_hz")
    }

    fn regularisation(&self) -> Regularisation {
        let XdawnTs { inverse_penalty, balanced, tolerance, .. } = *self;
        Regularisation { inverse_penalty, balanced, tolerance }
    }

    fn covariance(
        &self,
        band: &Band,
        xdawn: &Xdawn,
        layout: &Layout,
        signal: &[f32],
    ) -> Result<DMatrix<f64>> {
        let signal = band.apply(signal, layout.channels.len())?;
        Ok(xdawn.covariance(&signal, self.filter_trials, self.covariance))
    }

    /// Where on the head the sources are that xDAWN's filters listen to, `[K F][C]`, a class after the other, each of length 1: covariance times
    /// filter (Haufe et al. 2014, doi:10.1016/j.neuroimage.2013.10.067). Filters are fitted to these trials.
    pub fn patterns(&self, trials: &Subset<'_>) -> Result<Vec<Vec<f64>>> {
        let cpu = Cpu::new()?;
        let device = (&cpu).into();
        let band = self.band(trials.layout())?;
        let moments = self.moments(trials, &band, &Workers::new(&device, &|| false))?;
        let xdawn = Xdawn::fit(&moments, self.filters)?;
        Ok(patterns(&xdawn.filters, &moments.covariance()))
    }

    fn moments(&self, train: &Subset<'_>, band: &Band, workers: &Workers<'_>) -> Result<TrialMoments> {
        let layout = train.layout();
        let channels = layout.channels.len();
        let empty = || TrialMoments::new(layout.classes.len(), channels, layout.samples);
        let trials: Vec<_> = train.signals().zip(train.labels()).collect();
        let mut all = empty();
        for some in trials.chunks(8 * PIECE) {
            let parts = workers.work(|| {
                let part = |trials: &[(&[f32], u32)]| {
                    let mut part = empty();
                    for (signal, label) in trials {
                        part.add(&band.apply(signal, channels)?, *label)?;
                    }
                    Ok(part)
                };
                some.par_chunks(PIECE).map(part).collect::<Result<Vec<_>>>()
            })?;
            parts.iter().for_each(|part| all.join(part));
        }
        Ok(all)
    }
}

impl Classic for XdawnTs {
    type Coefficients = Coefficients;

    fn defaults(layout: &Layout) -> XdawnTs {
        let plain = XdawnTs::default();
        XdawnTs { filters: plain.filters.min(layout.channels.len()), ..plain }
    }

    fn check(&self) -> Result<()> {
        self.regularisation().check()
    }

    fn learn(&self, data: &TrainingData<'_>, workers: &Workers<'_>) -> Result<Coefficients> {
        let (train, layout) = (data.train(), data.train().layout());
        let band = self.band(layout)?;
        let xdawn = Xdawn::fit(&self.moments(train, &band, workers)?, self.filters)?;
        let covariances = workers.each(train, |signal| self.covariance(&band, &xdawn, layout, signal))?;
        let (labels, classes) = (train.labels(), layout.classes.len());
        let tangent = workers.work(|| Tangent::fit(&covariances, &labels, classes, self.regularisation()))?;
        Ok(Coefficients { band, xdawn, tangent })
    }

    fn decide(&self, coefficients: &Coefficients, layout: &Layout, signal: &[f32]) -> Result<Vec<f64>> {
        coefficients.tangent.probabilities(&self.covariance(
            &coefficients.band,
            &coefficients.xdawn,
            layout,
            signal,
        )?)
    }

    fn parameters(coefficients: &Coefficients) -> usize {
        coefficients.xdawn.filters.len()
            + coefficients.xdawn.templates.len()
            + coefficients.tangent.parameters()
    }

    fn matrices(coefficients: &Coefficients) -> NamedMatrices {
        let Xdawn { filters, templates } = &coefficients.xdawn;
        let mut all = vec![("xdawn.filters", filters.clone()), ("xdawn.templates", templates.clone())];
        all.extend(coefficients.tangent.matrices());
        all
    }

    fn restore(&self, layout: &Layout, file: &Matrices) -> Result<Coefficients> {
        let (channels, classes) = (layout.channels.len(), layout.classes.len());
        let filters = file.sized("xdawn.filters", classes * self.filters, channels)?;
        let templates = file.sized("xdawn.templates", filters.nrows(), layout.samples)?;
        let xdawn = Xdawn { filters, templates };
        let tangent = Tangent::restore(file, classes, xdawn.rows(self.filter_trials))?;
        Ok(Coefficients { band: self.band(layout)?, xdawn, tangent })
    }
}

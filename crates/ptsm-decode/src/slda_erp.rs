//! Shrinkage LDA on time bins: the plain decoder of responses to events.
//!
//! Paper: Blankertz et al. 2011, doi:10.1016/j.neuroimage.2010.06.048; scikit-learn's LDA with `shrinkage="auto"` is the reference.
//!
//! ```text
//! [C,T] -> mean of each channel in bins of 50 ms -> [C bins] -> LDA (Ledoit-Wolf) -> [K]
//! ```
//!
//! Differs: see [`SLDA_ERP`].
//!
//! Numbers at C=62, 1 s, K=2: 2482.

use ptsm_signal::Layout;
use serde::{Deserialize, Serialize};

use crate::classic::band::Band;
use crate::classic::decoder::{Classic, Workers, rows};
use crate::classic::matrices::{Matrices, NamedMatrices};
use crate::classic::{Lda, Shrinkage, TimeBins};
use crate::decoder::TrainingData;
use crate::error::Result;
use crate::method::Method;

/// Shrinkage LDA on time bins.
pub const SLDA_ERP: Method = Method {
    name: "slda-erp",
    about: "for responses to events: means of time bins, linear discriminant with shrinkage",
    paper: "Blankertz et al. 2011",
    doi: "10.1016/j.neuroimage.2010.06.048",
    differs: "Bins of equal width over the whole window, where the paper places a few by hand.",
    ..Method::classic::<SldaErp>()
};

/// Settings of shrinkage LDA on time bins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SldaErp {
    /// The band each trial is filtered to; none for as it is.
    pub band_hz: Option<[f64; 2]>,
    /// Order of the Butterworth filter.
    pub order: usize,
    /// When the first bin begins, in seconds after the cue; none for the trial's begin.
    pub from_s: Option<f64>,
    /// When the last bin ends at the latest; none for the trial's end.
    pub to_s: Option<f64>,
    /// How long a bin is.
    pub bin_s: f64,
    /// Shrinkage of the LDA.
    pub shrinkage: Shrinkage,
}

impl Default for SldaErp {
    fn default() -> SldaErp {
        SldaErp { band_hz: None, order: 4, from_s: None, to_s: None, bin_s: 0.05, shrinkage: Shrinkage::Auto }
    }
}

/// Shrinkage LDA on time bins after its fit.
#[derive(Clone)]
pub(crate) struct Coefficients {
    band: Band,
    bins: TimeBins,
    lda: Lda,
}

impl SldaErp {
    fn band(&self, layout: &Layout) -> Result<Band> {
        Band::new(self.band_hz, self.order, layout, "band_hz")
    }

    fn bins(&self, layout: &Layout) -> Result<TimeBins> {
        TimeBins::new(layout, self.from_s, self.to_s, self.bin_s)
    }
}

impl Classic for SldaErp {
    type Coefficients = Coefficients;

    fn defaults(layout: &Layout) -> SldaErp {
        let plain = SldaErp::default();
        // A bin holds a sample at least, and no more than the trial.
        let (sample_s, trial_s) = (1.0 / layout.rate_hz, layout.samples as f64 / layout.rate_hz);
        // What was before the event does not tell about it.
        let after = layout.start_s < 0.0 && trial_s + layout.start_s >= plain.bin_s.max(sample_s);
        SldaErp { from_s: after.then_some(0.0), bin_s: plain.bin_s.max(sample_s).min(trial_s), ..plain }
    }

    fn check(&self) -> Result<()> {
        self.shrinkage.check()
    }

    fn learn(&self, data: &TrainingData<'_>, workers: &Workers<'_>) -> Result<Coefficients> {
        let (train, layout) = (data.train(), data.train().layout());
        let (band, bins) = (self.band(layout)?, self.bins(layout)?);
        let channels = layout.channels.len();
        let features =
            workers.each(train, |signal| Ok(bins.features(&band.apply(signal, channels)?, channels)))?;
        let (labels, classes) = (train.labels(), layout.classes.len());
        let lda = workers.work(|| Lda::fit(&rows(&features), &labels, classes, self.shrinkage))?;
        Ok(Coefficients { band, bins, lda })
    }

    fn decide(&self, coefficients: &Coefficients, layout: &Layout, signal: &[f32]) -> Result<Vec<f64>> {
        let channels = layout.channels.len();
        let features = coefficients.bins.features(&coefficients.band.apply(signal, channels)?, channels);
        Ok(coefficients.lda.probabilities(&features)?.as_slice().to_vec())
    }

    fn parameters(coefficients: &Coefficients) -> usize {
        coefficients.lda.weights.len() + coefficients.lda.biases.len()
    }

    fn matrices(coefficients: &Coefficients) -> NamedMatrices {
        coefficients.lda.matrices()
    }

    fn restore(&self, layout: &Layout, file: &Matrices) -> Result<Coefficients> {
        let bins = self.bins(layout)?;
        let lda = Lda::restore(file, layout.classes.len(), bins.length(layout.channels.len()))?;
        Ok(Coefficients { band: self.band(layout)?, bins, lda })
    }
}

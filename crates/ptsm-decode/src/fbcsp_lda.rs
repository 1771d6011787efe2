//! FBCSP + LDA: common spatial patterns in several bands, the most informative features kept.
//!
//! Papers: Ang et al. 2008, doi:10.1109/IJCNN.2008.4634130; Ang et al. 2012, doi:10.3389/fnins.2012.00039
//!
//! ```text
//! [C,T] -> 9 bands of 4 Hz -> covariance (OAS) -> w^T S w of 4 filters each -> log -> 36 features
//!       -> the 10 of highest mutual information with the class -> LDA -> [K]
//! ```
//!
//! Differs: see [`FBCSP_LDA`].
//!
//! Numbers at C=62, K=2: 620 of CSP and 22 of LDA.

use nalgebra::{DMatrix, DVector};
use ptsm_signal::Layout;
use ptsm_signal::covariance::{Estimator, estimate};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::classic::band::Band;
use crate::classic::decoder::{Classic, Workers, rows};
use crate::classic::matrices::{Matrices, NamedMatrices, column};
use crate::classic::{Csp, Lda, Shrinkage, mutual_information};
use crate::decoder::TrainingData;
use crate::error::{Error, Result};
use crate::method::Method;

/// FBCSP + LDA.
pub const FBCSP_LDA: Method = Method {
    name: "fbcsp-lda",
    about: "the same in several bands, the most informative features kept",
    paper: "Ang et al. 2012",
    doi: "10.3389/fnins.2012.00039",
    differs: "Butterworth filters over each trial by itself, forwards and backwards (the paper: Chebyshev over the recording); the 10 best features as in MOABB (the paper: 4 and their partners); LDA (the paper: a Parzen window). More than two classes: filters of each class against the rest.",
    ..Method::classic::<FbcspLda>()
};

/// Settings of FBCSP + LDA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FbcspLda {
    /// The bands.
    pub bands_hz: Vec<[f64; 2]>,
    /// Order of the Butterworth filters.
    pub order: usize,
    /// How covariances are estimated.
    pub covariance: Estimator,
    /// Spatial filters in each band; of each class with more than two.
    pub filters: usize,
    /// Features that are kept.
    pub features: usize,
    /// Shrinkage of the LDA.
    pub shrinkage: Shrinkage,
}

impl Default for FbcspLda {
    fn default() -> FbcspLda {
        FbcspLda {
            bands_hz: (1..10).map(|i| [4.0 * f64::from(i), 4.0 * f64::from(i + 1)]).collect(),
            order: 4,
            covariance: Estimator::Oas,
            filters: 4,
            features: 10,
            shrinkage: Shrinkage::None,
        }
    }
}

/// The features kept of one band.
#[derive(Clone)]
struct BandFeatures {
    band: Band,
    csp: Csp,
}

/// FBCSP + LDA after its fit.
#[derive(Clone)]
pub(crate) struct Coefficients {
    /// One for each band; bands of which nothing was kept have no filter.
    parts: Vec<BandFeatures>,
    lda: Lda,
}

impl FbcspLda {
    fn bands(&self, layout: &Layout) -> Result<Vec<Band>> {
        let band = |band: &[f64; 2]| Band::new(Some(*band), self.order, layout, "bands_hz");
        self.bands_hz.iter().map(band).collect()
    }

    fn covariance(&self, band: &Band, layout: &Layout, signal: &[f32]) -> Result<DMatrix<f64>> {
        let channels = layout.channels.len();
        Ok(estimate(&band.apply(signal, channels)?, channels, self.covariance))
    }
}

/// The places of the `count` largest, in ascending order; of equal ones the first.
fn largest(values: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order.truncate(count);
    order.sort_unstable();
    order
}

impl Classic for FbcspLda {
    type Coefficients = Coefficients;

    fn defaults(layout: &Layout) -> FbcspLda {
        let mut plain = FbcspLda::default();
        plain.filters = plain.filters.min(layout.channels.len());
        // A rate too low for all bands is refused when it is used.
        if plain.bands_hz[0][1] < 0.5 * layout.rate_hz {
            plain.bands_hz.retain(|band| band[1] < 0.5 * layout.rate_hz);
        }
        plain
    }

    fn check(&self) -> Result<()> {
        if self.bands_hz.is_empty() || self.features == 0 {
            return Err(Error::Configuration("`bands_hz` and `features` must not be empty".into()));
        }
        self.shrinkage.check()
    }

    fn learn(&self, data: &TrainingData<'_>, workers: &Workers<'_>) -> Result<Coefficients> {
        let (train, layout) = (data.train(), data.train().layout());
        let (labels, classes) = (train.labels(), layout.classes.len());
        let (mut parts, mut columns) = (vec![], vec![]);
        for band in self.bands(layout)? {
            let covariances = workers.each(train, |signal| self.covariance(&band, layout, signal))?;
            let csp = Csp::fit(&covariances, &labels, classes, self.filters)?;
            let features = covariances.iter().map(|c| Ok(csp.features(c)?.as_slice().to_vec()));
            let features = rows(&features.collect::<Result<Vec<_>>>()?);
            columns.extend(features.column_iter().map(|column| column.as_slice().to_vec()));
            parts.push(BandFeatures { band, csp });
        }
        let information = workers.work(|| {
            columns.par_iter().map(|c| mutual_information(c, &labels, classes)).collect::<Result<Vec<_>>>()
        })?;
        let kept = largest(&information, self.features);
        let mut first = 0;
        for part in &mut parts {
            let count = part.csp.eigenvalues.len();
            let own: Vec<usize> =
                kept.iter().filter(|&&k| (first..first + count).contains(&k)).map(|k| k - first).collect();
            first += count;
            let Csp { filters, eigenvalues } = &part.csp;
            part.csp = Csp { filters: filters.select_rows(&own), eigenvalues: eigenvalues.select_rows(&own) };
        }
        let features = DMatrix::from_columns(
            &kept.iter().map(|&k| DVector::from_column_slice(&columns[k])).collect::<Vec<_>>(),
        );
        let lda = Lda::fit(&features, &labels, classes, self.shrinkage)?;
        Ok(Coefficients { parts, lda })
    }

    fn decide(&self, coefficients: &Coefficients, layout: &Layout, signal: &[f32]) -> Result<Vec<f64>> {
        let mut features = vec![];
        for part in coefficients.parts.iter().filter(|part| !part.csp.eigenvalues.is_empty()) {
            let covariance = self.covariance(&part.band, layout, signal)?;
            features.extend(part.csp.features(&covariance)?.iter());
        }
        Ok(coefficients.lda.probabilities(&features)?.as_slice().to_vec())
    }

    fn parameters(coefficients: &Coefficients) -> usize {
        let filters: usize = coefficients.parts.iter().map(|part| part.csp.filters.len()).sum();
        filters + coefficients.lda.weights.len() + coefficients.lda.biases.len()
    }

    fn matrices(coefficients: &Coefficients) -> NamedMatrices {
        let rows: Vec<_> = coefficients.parts.iter().flat_map(|part| part.csp.filters.row_iter()).collect();
        let parts = coefficients.parts.iter();
        let bands =
            parts.clone().enumerate().flat_map(|(i, part)| vec![i as f64; part.csp.eigenvalues.len()]);
        let shares = parts.flat_map(|part| part.csp.eigenvalues.iter().copied());
        let vector = |values: Vec<f64>| column(&DVector::from_vec(values));
        let mut all = vec![
            ("csp.filters", DMatrix::from_rows(&rows)),
            ("csp.eigenvalues", vector(shares.collect())),
            ("csp.bands", vector(bands.collect())),
        ];
        all.extend(coefficients.lda.matrices());
        all
    }

    fn restore(&self, layout: &Layout, file: &Matrices) -> Result<Coefficients> {
        let (channels, classes) = (layout.channels.len(), layout.classes.len());
        let all = self.bands_hz.len() * self.filters * if classes == 2 { 1 } else { classes };
        let filters = file.sized("csp.filters", self.features.min(all), channels)?;
        let eigenvalues = file.vector("csp.eigenvalues", filters.nrows())?;
        let places = file.vector("csp.bands", filters.nrows())?;
        let bands = self.bands(layout)?;
        let in_order = places.as_slice().is_sorted();
        if !in_order || places.iter().any(|p| !(0..bands.len()).any(|i| i as f64 == *p)) {
            return Err(file.wrong(format!("tensor `csp.bands` names none of {} bands", bands.len())));
        }
        let part = |(i, band)| {
            let own: Vec<usize> = (0..places.len()).filter(|&p| places[p] == i as f64).collect();
            let csp = Csp { filters: filters.select_rows(&own), eigenvalues: eigenvalues.select_rows(&own) };
            BandFeatures { band, csp }
        };
        let parts = bands.into_iter().enumerate().map(part).collect();
        Ok(Coefficients { parts, lda: Lda::restore(file, classes, filters.nrows())? })
    }
}

#[cfg(test)]
mod tests {
    use super::largest;

    #[test]
    fn the_largest_keep_their_order() {
        assert_eq!(largest(&[0.1, 0.5, 0.3, 0.5, 0.2], 3), [1, 2, 3]);
        assert_eq!(largest(&[1.0, 1.0, 1.0], 2), [0, 1]);
        assert_eq!(largest(&[2.0], 5), [0]);
    }
}

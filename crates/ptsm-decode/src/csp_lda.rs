//! CSP + LDA: the classic decoder of imagined movement.
//!
//! Paper: Blankertz et al. 2008, doi:10.1109/MSP.2008.4408441; MOABB's pipeline is the reference.
//!
//! ```text
//! [C,T] -> band-pass -> covariance (OAS) -> w^T S w of 6 filters -> log -> LDA -> [K]
//! ```
//!
//! Differs: each trial is filtered by itself, forwards and backwards with odd padding, so that the decoder can stand behind
//! the same broadband trials as a network does; `band_hz = null` leaves the trials as they are. More than two classes: filters
//! of each class against the rest.
//!
//! Numbers at C=62, K=2, 6 filters: 372 of CSP and 14 of LDA.

use std::collections::HashMap;
use std::path::Path;

use nalgebra::{DMatrix, DVector};
use ptsm_engine::replace;
use ptsm_signal::covariance::{Estimator, estimate};
use ptsm_signal::filter::{Pass, Sections, butterworth, zero_phase};
use ptsm_signal::{Layout, Subset};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};

use crate::classic::{Csp, Lda, Shrinkage};
use crate::decoder::{Decoder, Done, Fitted, Job, Lesson, Run, Watch, fit_plainly};
use crate::error::{Error, Result};

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

impl CspLda {
    fn band(&self, layout: &Layout) -> Result<Option<Sections>> {
        let Some([low, high]) = self.band_hz else { return Ok(None) };
        let sections = butterworth(self.order, Pass::Band(low, high), layout.rate_hz);
        Ok(Some(sections.map_err(|e| {
            e.with_hint("give the trials' true rate, or set `band_hz` to a band below half of it or to null")
        })?))
    }

    fn covariance(&self, band: Option<&Sections>, signal: &[f32], channels: usize) -> Result<DMatrix<f64>> {
        let Some(band) = band else { return Ok(estimate(signal, channels, self.covariance)) };
        let mut filtered = Vec::with_capacity(signal.len());
        for row in signal.chunks(signal.len() / channels) {
            let row: Vec<f64> = row.iter().map(|v| f64::from(*v)).collect();
            filtered.extend(zero_phase(band, &row)?);
        }
        Ok(estimate(&filtered, channels, self.covariance))
    }
}

impl Decoder for CspLda {
    fn fit(&self, jobs: &[Job<'_>], _: &Run<'_>, watch: &mut dyn Watch, done: &mut Done<'_>) -> Result<()> {
        fit_plainly(jobs, done, |lesson| self.learn(lesson, watch))
    }
}

impl CspLda {
    fn learn(&self, lesson: &Lesson<'_>, watch: &dyn Watch) -> Result<FittedCspLda> {
        let train = lesson.train();
        let layout = train.layout();
        let (channels, classes) = (layout.channels.len(), layout.classes.len());
        let band = self.band(layout)?;
        let mut covariances = Vec::with_capacity(train.len());
        for signal in train.signals() {
            if watch.stop() {
                return Err(Error::Stopped);
            }
            covariances.push(self.covariance(band.as_ref(), signal, channels)?);
        }
        let labels = train.labels();
        let csp = Csp::fit(&covariances, &labels, classes, self.filters)?;
        let mut rows = vec![];
        for covariance in &covariances {
            rows.push(csp.features(covariance)?.transpose());
        }
        let lda = Lda::fit(&DMatrix::from_rows(&rows), &labels, classes, self.shrinkage)?;
        Ok(FittedCspLda { settings: self.clone(), layout: layout.clone(), band, csp, lda })
    }
}

/// CSP + LDA after its fit.
#[derive(Clone)]
pub(crate) struct FittedCspLda {
    settings: CspLda,
    layout: Layout,
    band: Option<Sections>,
    csp: Csp,
    lda: Lda,
}

const TENSORS: [&str; 4] = ["csp.filters", "csp.eigenvalues", "lda.weights", "lda.biases"];

impl FittedCspLda {
    pub(crate) fn load(path: &Path, settings: CspLda, layout: &Layout) -> Result<FittedCspLda> {
        let wrong = |message: String| Error::file(path, message);
        let bytes = std::fs::read(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
        let file = SafeTensors::deserialize(&bytes)
            .map_err(|e| wrong(format!("is not a whole safetensors file ({e})")))?;
        let matrix = |name: &str| -> Result<DMatrix<f64>> {
            let view = file.tensor(name).map_err(|_| wrong(format!("lacks the tensor `{name}`")))?;
            let &[rows, columns] = view.shape() else {
                return Err(wrong(format!("tensor `{name}` is {:?}, not a matrix", view.shape())));
            };
            if view.dtype() != Dtype::F64 {
                return Err(wrong(format!("tensor `{name}` is {}, not F64", view.dtype())));
            }
            let values = view.data().chunks_exact(8);
            let values: Vec<f64> = values
                .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
                .collect();
            if values.iter().any(|v| !v.is_finite()) {
                return Err(wrong(format!("tensor `{name}` has values that are not numbers")));
            }
            Ok(DMatrix::from_row_slice(rows, columns, &values))
        };
        let [filters, eigenvalues, weights, biases] = TENSORS.map(matrix);
        let (filters, weights, biases) = (filters?, weights?, biases?);
        let (channels, classes) = (layout.channels.len(), layout.classes.len());
        if filters.ncols() != channels
            || weights.shape() != (classes, filters.nrows())
            || biases.shape() != (classes, 1)
        {
            return Err(wrong(format!("its tensors do not fit {channels} channels and {classes} classes")));
        }
        let column = |m: DMatrix<f64>| DVector::from_column_slice(m.as_slice());
        Ok(FittedCspLda {
            band: settings.band(layout)?,
            settings,
            layout: layout.clone(),
            csp: Csp { filters, eigenvalues: column(eigenvalues?) },
            lda: Lda { weights, biases: column(biases) },
        })
    }
}

impl Fitted for FittedCspLda {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        self.layout.expect(trials.layout())?;
        let mut all = vec![];
        for signal in trials.signals() {
            let channels = self.layout.channels.len();
            let covariance = self.settings.covariance(self.band.as_ref(), signal, channels)?;
            let p = self.lda.probabilities(self.csp.features(&covariance)?.as_slice())?;
            all.extend(p.iter().map(|p| *p as f32));
        }
        Ok(all)
    }

    fn parameters(&self) -> usize {
        self.csp.filters.len() + self.lda.weights.len() + self.lda.biases.len()
    }

    fn save(&self, path: &Path, header: HashMap<String, String>) -> Result<()> {
        let wrong = |message: String| Error::file(path, format!("cannot be written: {message}"));
        let column = |v: &DVector<f64>| DMatrix::from_column_slice(v.len(), 1, v.as_slice());
        let matrices = [
            self.csp.filters.clone(),
            column(&self.csp.eigenvalues),
            self.lda.weights.clone(),
            column(&self.lda.biases),
        ];
        // Rows first on disk, columns first in memory.
        let bytes = matrices
            .each_ref()
            .map(|m| m.transpose().iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        let views = (0..TENSORS.len()).map(|i| {
            let shape = vec![matrices[i].nrows(), matrices[i].ncols()];
            TensorView::new(Dtype::F64, shape, &bytes[i]).map(|view| (TENSORS[i], view))
        });
        let views = views.collect::<Result<Vec<_>, _>>().map_err(|e| wrong(e.to_string()))?;
        let bytes = safetensors::serialize(views, Some(header)).map_err(|e| wrong(e.to_string()))?;
        replace(path, &bytes).map_err(|e| wrong(e.to_string()))
    }
}

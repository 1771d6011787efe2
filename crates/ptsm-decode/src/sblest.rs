//! SBLEST: sparse Bayesian learning of filters and classifier together.
//!
//! Paper: Wang et al. 2023, doi:10.1109/TPAMI.2023.3299568; the authors' code is the reference.
//!
//! ```text
//! [C,T] -> band-pass -> channels and delayed copies [n,T] -> X X^T / trace -> whitened by the training mean -> log -> <., W> -> sign
//! ```
//!
//! Differs: see [`SBLEST`].
//!
//! A delay is chosen among several by leaving subjects out. With 62 channels two taps take hours; one is the default.
//!
//! Numbers at C=62, K=2, one tap: 1953 of W, as many of the whitening, a threshold and a slope.

use std::collections::BTreeSet;

use nalgebra::{DMatrix, DVector};
use ptsm_signal::spd::upper;
use ptsm_signal::{Layout, SubjectId, Subset};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::classic::band::Band;
use crate::classic::calibration::threshold;
use crate::classic::decoder::{Classic, Workers, rows};
use crate::classic::linear::class_counts;
use crate::classic::matrices::{Matrices, NamedMatrices, column};
use crate::classic::{SparseEvidence, SparseFeatures, normalised};
use crate::decoder::TrainingData;
use crate::error::{Error, Result};
use crate::method::Method;
use crate::probabilities::{Ties, inverse_temperature, softmax};

/// SBLEST.
pub const SBLEST: Method = Method {
    name: "sblest",
    about: "filters and classifier together by sparse Bayesian learning on covariances",
    paper: "Wang et al. 2023",
    doi: "10.1109/TPAMI.2023.3299568",
    differs: "Trials are filtered by themselves, as in `csp-lda`. Training subjects are pooled; the paper trains and tests on one subject. Where there are more than two classes, each is decoded against the rest and the highest score decides. Classes of unequal size move the threshold of each score to where training trials are told apart best, classes weighing the same; the paper assumes equal ones and has none. The method gives no probabilities: here they are the softmax of the scores times a slope, which is fitted to the validation subjects (without any, to the training subjects) and which leaves decisions as they are.",
    ..Method::classic::<Sblest>()
};

/// Settings of SBLEST.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sblest {
    /// The band each trial is filtered to; none for as it is.
    pub band_hz: Option<[f64; 2]>,
    /// Order of the Butterworth filter.
    pub order: usize,
    /// Delays to choose from; 0 is for no delayed copy.
    pub delays_samples: Vec<usize>,
    /// Copies of each channel where there is a delay, the first without.
    pub taps: usize,
    /// Parts the training subjects are left out in, to choose among several delays.
    pub folds: usize,
    /// The relative change of the loss at which learning ends.
    pub tolerance: f64,
    /// Most steps.
    pub steps: usize,
}

impl Default for Sblest {
    fn default() -> Sblest {
        Sblest {
            band_hz: Some([8.0, 30.0]),
            order: 4,
            delays_samples: vec![0],
            taps: 2,
            folds: 10,
            tolerance: 2e-4,
            steps: 5000,
        }
    }
}

/// Scores of trials.
#[derive(Clone)]
struct Scores {
    features: SparseFeatures,
    /// `[R, h]`: one row of two classes, one of each of more.
    weights: DMatrix<f64>,
    /// `[R]`.
    thresholds: DVector<f64>,
}

/// SBLEST after its fit.
#[derive(Clone)]
pub(crate) struct Coefficients {
    band: Band,
    scores: Scores,
    slope: f64,
}

impl Scores {
    fn of(&self, moment: &DMatrix<f64>) -> Result<DVector<f64>> {
        let scores = &self.weights * DVector::from_vec(self.features.vector(moment)?) - &self.thresholds;
        // The score of class 1 speaks against class 0.
        Ok(if scores.len() == 1 { DVector::from_vec(vec![-scores[0], scores[0]]) } else { scores })
    }
}

impl Sblest {
    fn band(&self, layout: &Layout) -> Result<Band> {
        Band::new(self.band_hz, self.order, layout, "band_hz")
    }

    fn taps(&self, delay: usize) -> usize {
        if delay == 0 { 1 } else { self.taps }
    }

    fn moment(&self, band: &Band, layout: &Layout, signal: &[f32], delay: usize) -> Result<DMatrix<f64>> {
        let channels = layout.channels.len();
        let mut signal = band.apply(signal, channels)?;
        for row in signal.chunks_exact_mut(layout.samples) {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            row.iter_mut().for_each(|v| *v -= mean);
        }
        normalised(&signal, channels, self.taps(delay), delay)
    }

    fn scores(
        &self,
        moments: &[&DMatrix<f64>],
        labels: &[u32],
        classes: usize,
        delay: usize,
        workers: &Workers<'_>,
    ) -> Result<Scores> {
        let counts = class_counts(moments.len(), labels, classes)?;
        let features = SparseFeatures::fit(moments, self.taps(delay), delay)?;
        let (vectors, evidence) = workers.work(|| {
            let vectors: Vec<_> = moments.par_iter().map(|m| features.vector(m)).collect::<Result<_>>()?;
            let vectors = rows(&vectors);
            Ok((vectors.clone(), SparseEvidence::new(vectors, features.size())?))
        })?;
        let turns = if classes == 2 { 1..2 } else { 0..classes };
        let uneven = counts.iter().any(|&n| n != counts[0]);
        let (mut weights, mut thresholds) = (vec![], vec![]);
        for class in turns {
            let own: Vec<bool> = labels.iter().map(|&l| l as usize == class).collect();
            let target = evidence.target(own.iter().map(|&own| if own { 1.0 } else { -1.0 }).collect())?;
            let step =
                evidence.learn(self.tolerance, self.steps, |s| workers.work(|| evidence.step(s, &target)))?;
            let vector = DVector::from_vec(upper(&step.weights));
            let scores = &vectors * &vector;
            thresholds.push(if uneven { threshold(scores.as_slice(), &own) } else { 0.0 });
            weights.push(vector.transpose());
        }
        Ok(Scores { features, weights: DMatrix::from_rows(&weights), thresholds: thresholds.into() })
    }

    /// Of how many left-out trials the highest score is right.
    fn right(
        &self,
        moments: &[DMatrix<f64>],
        train: &Subset<'_>,
        delay: usize,
        workers: &Workers<'_>,
    ) -> Result<usize> {
        let (labels, classes) = (train.labels(), train.layout().classes.len());
        let mut right = 0;
        for out in folds(train, self.folds) {
            let (kept, left): (Vec<usize>, Vec<usize>) = (0..labels.len()).partition(|&i| !out[i]);
            let own: Vec<u32> = kept.iter().map(|&i| labels[i]).collect();
            let some: Vec<&DMatrix<f64>> = kept.iter().map(|&i| &moments[i]).collect();
            let scores = self.scores(&some, &own, classes, delay, workers)?;
            for i in left {
                right += usize::from(scores.of(&moments[i])?.imax() == labels[i] as usize);
            }
        }
        Ok(right)
    }
}

/// Who is left out in each part: whole subjects, or, where there is one subject only, trials at regular intervals.
fn folds(train: &Subset<'_>, folds: usize) -> Vec<Vec<bool>> {
    let subjects: BTreeSet<SubjectId> = train.subjects();
    let group: Vec<usize> = match subjects.len() {
        1 => (0..train.len()).collect(),
        _ => train.info().map(|t| subjects.range(..t.subject).count()).collect(),
    };
    let groups = group.iter().max().map_or(0, |most| most + 1);
    let folds = folds.min(groups);
    (0..folds).map(|fold| group.iter().map(|g| g % folds == fold).collect()).collect()
}

impl Classic for Sblest {
    type Coefficients = Coefficients;

    // They decide the slope of its probabilities, which training trials would make too steep.
    const USES_VALIDATION: bool = true;

    fn defaults(_: &Layout) -> Sblest {
        Sblest::default()
    }

    fn check(&self) -> Result<()> {
        let wrong = |message: &str| Err(Error::Configuration(message.into()));
        if self.delays_samples.is_empty() {
            return wrong("`delays_samples` must have a delay; 0 is for none");
        }
        if self.taps < 2 && self.delays_samples.iter().any(|&d| d > 0) {
            return wrong("`taps` must be at least 2 where there is a delay");
        }
        if self.delays_samples.len() > 1 && self.folds < 2 {
            return wrong("`folds` must be at least 2 to choose among delays");
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 || self.steps == 0 {
            return wrong("`tolerance` must not be negative, and there must be a step in `steps`");
        }
        Ok(())
    }

    fn learn(&self, data: &TrainingData<'_>, workers: &Workers<'_>) -> Result<Coefficients> {
        let (train, layout) = (data.train(), data.train().layout());
        let late = |delay: usize| delay.saturating_mul(self.taps.saturating_sub(1));
        if let Some(long) = self.delays_samples.iter().find(|&&d| late(d) >= layout.samples) {
            let samples = layout.samples;
            return Err(Error::Configuration(format!(
                "a delay of {long} samples leaves nothing of trials of {samples} samples"
            )));
        }
        let band = self.band(layout)?;
        let moments = |trials: &Subset<'_>, delay: usize| {
            workers.each(trials, |signal| self.moment(&band, layout, signal, delay))
        };
        let mut best = (0, self.delays_samples[0]);
        if self.delays_samples.len() > 1 {
            for &delay in &self.delays_samples {
                let right = self.right(&moments(train, delay)?, train, delay, workers)?;
                if right > best.0 {
                    best = (right, delay);
                }
            }
        }
        let (_, delay) = best;
        let own = moments(train, delay)?;
        let all: Vec<&DMatrix<f64>> = own.iter().collect();
        let scores = self.scores(&all, &train.labels(), layout.classes.len(), delay, workers)?;
        let others = data.validation();
        let (judge, moments) =
            if others.is_empty() { (train, own) } else { (others, moments(others, delay)?) };
        let trial_scores = workers
            .work(|| moments.par_iter().map(|m| scores.of(m)).collect::<Result<Vec<DVector<f64>>>>())?;
        let labels = judge.labels();
        let trials =
            trial_scores.iter().zip(&labels).map(|(scores, &label)| (scores.as_slice(), label as usize));
        Ok(Coefficients { band, scores, slope: inverse_temperature(trials, Ties::LeastCertain) })
    }

    fn decide(&self, coefficients: &Coefficients, layout: &Layout, signal: &[f32]) -> Result<Vec<f64>> {
        let moment = self.moment(&coefficients.band, layout, signal, coefficients.scores.features.delay)?;
        let scores = coefficients.scores.of(&moment)? * coefficients.slope;
        Ok(softmax(scores.as_slice()))
    }

    fn parameters(coefficients: &Coefficients) -> usize {
        let Scores { features, weights, thresholds } = &coefficients.scores;
        let (rows, rank) = features.whitening.shape();
        let whitening = if rows == rank { rows * (rows + 1) / 2 } else { rows * rank };
        weights.len() + whitening + thresholds.len() + 1
    }

    fn matrices(coefficients: &Coefficients) -> NamedMatrices {
        let Scores { features, weights, thresholds } = &coefficients.scores;
        let one = |value: f64| DMatrix::from_element(1, 1, value);
        vec![
            ("delay_samples", one(features.delay as f64)),
            ("whitening", features.whitening.clone()),
            ("weights", weights.clone()),
            ("thresholds", column(thresholds)),
            ("slope", one(coefficients.slope)),
        ]
    }

    fn restore(&self, layout: &Layout, file: &Matrices) -> Result<Coefficients> {
        let stored = file.sized("delay_samples", 1, 1)?[0];
        let delay = self.delays_samples.iter().copied().find(|&d| d as f64 == stored).ok_or_else(|| {
            file.wrong(format!("a delay of {stored} samples is none of {:?}", self.delays_samples))
        })?;
        let taps = self.taps(delay);
        let whitening = file.any("whitening")?;
        if whitening.nrows() != taps * layout.channels.len() || whitening.is_empty() {
            let (rows, channels) = (whitening.nrows(), layout.channels.len());
            return Err(file.wrong(format!("tensor `whitening` has {rows} rows for {channels} channels")));
        }
        let features = SparseFeatures { taps, delay, whitening };
        let rows = if layout.classes.len() == 2 { 1 } else { layout.classes.len() };
        let weights = file.sized("weights", rows, features.length())?;
        let thresholds = file.vector("thresholds", rows)?;
        let slope = file.sized("slope", 1, 1)?[0];
        Ok(Coefficients { band: self.band(layout)?, scores: Scores { features, weights, thresholds }, slope })
    }
}

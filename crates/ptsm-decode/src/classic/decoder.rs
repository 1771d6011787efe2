//! What all classic decoders have in common as decoders: settings, fitted parameters, a file.

use std::collections::HashMap;
use std::sync::Arc;

use nalgebra::DMatrix;
use ptsm_engine::Device;
use ptsm_signal::{Layout, Subset};
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::matrices::{self, Matrices, NamedMatrices};
use crate::decoder::{Decoder, Fit, FitSink, FittedDecoder, Job, Run, TrainingData, Watch};
use crate::error::{Error, Result};

/// Settings of a decoder in which nothing is random.
pub(crate) trait Classic: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What it learns, with whatever decoding derives from that once.
    type Coefficients: Clone + Send + Sync + 'static;

    /// Whether it looks at validation subjects.
    const USES_VALIDATION: bool = false;

    /// The settings for trials when nobody changes them.
    fn defaults(layout: &Layout) -> Self;

    /// Refuses settings that no trials can make good.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Fits the decoder to training subjects.
    fn learn(&self, data: &TrainingData<'_>, workers: &Workers<'_>) -> Result<Self::Coefficients>;

    /// The probability of every class from one trial `[C, T]`.
    fn decide(&self, coefficients: &Self::Coefficients, layout: &Layout, signal: &[f32]) -> Result<Vec<f64>>;

    /// Number of fitted parameters.
    fn parameters(coefficients: &Self::Coefficients) -> usize;

    /// What goes into a file.
    fn matrices(coefficients: &Self::Coefficients) -> NamedMatrices;

    /// The fitted parameters, from their file.
    fn restore(&self, layout: &Layout, file: &Matrices) -> Result<Self::Coefficients>;
}

/// Threads to work with, and somebody who may stop the work.
pub(crate) struct Workers<'a> {
    device: &'a Device,
    stop: &'a dyn Fn() -> bool,
}

/// Trials between two questions whether to stop.
const PIECE: usize = 64;

impl<'a> Workers<'a> {
    pub(crate) fn new(device: &'a Device, stop: &'a dyn Fn() -> bool) -> Workers<'a> {
        Workers { device, stop }
    }

    /// Does something on the threads, unless it is to stop.
    pub(crate) fn work<R: Send>(&self, body: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        if (self.stop)() { Err(Error::Stopped) } else { self.device.enter(body) }
    }

    /// Does something with each trial, several at once; results are in the order of the trials.
    pub(crate) fn each<R: Send>(
        &self,
        trials: &Subset<'_>,
        body: impl Fn(&[f32]) -> Result<R> + Send + Sync,
    ) -> Result<Vec<R>> {
        let signals: Vec<&[f32]> = trials.signals().collect();
        let mut all = Vec::with_capacity(signals.len());
        for piece in signals.chunks(PIECE) {
            let done = self.work(|| piece.par_iter().map(|s| body(s)).collect::<Result<Vec<R>>>())?;
            all.extend(done);
        }
        Ok(all)
    }
}

/// Rows of features of equal length, as a matrix `[n, F]`.
pub(crate) fn rows(features: &[Vec<f64>]) -> DMatrix<f64> {
    let columns = features.first().map_or(0, Vec::len);
    DMatrix::from_row_iterator(features.len(), columns, features.iter().flatten().copied())
}

impl<C: Classic> Decoder for C {
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        let stop = || watch.stop();
        // Nothing here is random: what is fitted to one training set serves all its seeds.
        let mut last: Option<(&TrainingData<'_>, FittedClassic<C>)> = None;
        for (i, job) in jobs.iter().enumerate() {
            let fitted = match last {
                Some((data, fitted)) if std::ptr::eq(data, job.data) => fitted,
                _ => FittedClassic {
                    coefficients: self.learn(job.data, &Workers::new(run.device, &stop))?,
                    settings: self.clone(),
                    layout: job.data.train().layout().clone(),
                    device: run.device.clone(),
                },
            };
            let own = Arc::new(fitted.clone());
            last = Some((job.data, fitted));
            done(i, Fit { fitted: own, seed: job.seed, history: vec![], best_epoch: None, members: vec![] })?;
        }
        Ok(())
    }

    fn uses_validation(&self) -> bool {
        C::USES_VALIDATION
    }
}

/// A classic decoder after its fit.
#[derive(Clone)]
pub(crate) struct FittedClassic<C: Classic> {
    settings: C,
    layout: Layout,
    coefficients: C::Coefficients,
    device: Device,
}

impl<C: Classic> FittedClassic<C> {
    pub(crate) fn load(
        matrices: &Matrices<'_>,
        settings: C,
        layout: &Layout,
        device: &Device,
    ) -> Result<Self> {
        let coefficients = settings.restore(layout, matrices)?;
        Ok(FittedClassic { settings, layout: layout.clone(), coefficients, device: device.clone() })
    }
}

impl<C: Classic> FittedDecoder for FittedClassic<C> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        self.layout.expect(trials.layout())?;
        let decide = |signal: &[f32]| self.settings.decide(&self.coefficients, &self.layout, signal);
        let all = Workers::new(&self.device, &|| false).each(trials, decide)?;
        Ok(all.iter().flatten().map(|p| *p as f32).collect())
    }

    fn parameters(&self) -> usize {
        C::parameters(&self.coefficients)
    }

    fn to_bytes(&self, header: HashMap<String, String>) -> Result<Vec<u8>> {
        matrices::to_bytes(header, &C::matrices(&self.coefficients))
    }
}

//! Saliency of a decoder: which channels and times its output changes with.

use ptsm_decode::{DecoderOutput, FittedDecoder, OutputClass};
use ptsm_eval::Result;
use ptsm_signal::Subset;

use super::Study;
use crate::attribution::{AttributionMethod, Occlusion, Relevance, attribution, occlusion};
use crate::findings::Saliency;
use crate::removal::Fill;

impl Study<'_> {
    pub(super) fn relevance(
        &self,
        fitted: &dyn FittedDecoder,
        trials: &Subset<'_>,
    ) -> Result<(&'static str, Relevance)> {
        let by_gradient = attribution(
            fitted,
            trials,
            DecoderOutput::LogProbability(OutputClass::Own),
            &AttributionMethod::default(),
        )?;
        Ok(match by_gradient {
            Some(relevance) => ("integrated gradients", relevance),
            None => {
                let window_samples = ((trials.layout().rate_hz / 10.0).round() as usize).max(1);
                ("occlusion", occlusion(fitted, trials, &Occlusion { window_samples, fill: Fill::Zero })?)
            }
        })
    }

    /// The saliency of the first decoder.
    pub(super) fn saliency(&self, few: &Subset<'_>) -> Result<Saliency> {
        let (method, relevance) = self.relevance(self.first(), few)?;
        let labels = few.labels();
        let class = |(label, name): (u32, &String)| {
            let rows = relevance.signed_space.iter().zip(&labels).filter(|(_, own)| **own == label);
            let rows: Vec<Vec<f64>> = rows.map(|(row, _)| row.clone()).collect();
            (!rows.is_empty()).then(|| (name.clone(), mean_of(&rows)))
        };
        let mut missed: Vec<f64> = relevance
            .residual
            .iter()
            .zip(&relevance.signed_space)
            .map(|(residual, row)| (residual / (row.iter().sum::<f64>() + residual)).abs())
            .collect();
        missed.sort_by(f64::total_cmp);
        Ok(Saliency {
            method: method.into(),
            by_subject: relevance.by_subject(method, few),
            signed: (0..).zip(&few.layout().classes).filter_map(class).collect(),
            residual: missed.get(missed.len() / 2).copied().unwrap_or(f64::NAN),
            trials: few.len(),
        })
    }
}

fn mean_of(rows: &[Vec<f64>]) -> Vec<f64> {
    let column = |i: usize| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64;
    (0..rows.first().map_or(0, Vec::len)).map(column).collect()
}

//! Trials of one subject rendered as another's, by networks that keep subject and task apart.

use ptsm_engine::{Feed, Mode, Program};
use ptsm_signal::Subset;

use super::FittedNetwork;
use crate::decoder::{FittedDecoder, cannot_convert};
use crate::error::{Error, Result};
use crate::training::INFERENCE_BATCH;

/// The task of each trial with the subject of the others, whose latents are averaged.
pub(super) fn convert(fitted: &FittedNetwork, trials: &Subset<'_>, like: &Subset<'_>) -> Result<Vec<f32>> {
    let network = fitted.build(INFERENCE_BATCH)?;
    let Some(rendered) = network.value("rendered") else {
        return Err(cannot_convert());
    };
    if like.is_empty() {
        return Err(Error::trials(
            "there is no trial of the subject to convert to",
            "give at least one; the mean over several is steadier",
        ));
    }
    let latents = |of: &Subset<'_>, name: &str| -> Result<Vec<f32>> {
        Ok(fitted.intermediate_values(of, &[name])?.ok_or_else(cannot_convert)?.concat())
    };
    let (subjects, tasks) = (latents(like, "subject_latents")?, latents(trials, "task_latents")?);
    let one = subjects.len() / like.len();
    let mut mean = vec![0.0f64; one];
    for own in subjects.chunks_exact(one) {
        mean.iter_mut().zip(own).for_each(|(m, v)| *m += f64::from(*v) / like.len() as f64);
    }
    let mean: Vec<f32> = mean.iter().map(|m| *m as f32).collect();
    let subject = mean.repeat(INFERENCE_BATCH);
    let mut program: Program<f32> =
        Program::new(&network.graph, Mode::Infer, &[rendered], 1, &fitted.device)?;
    let mut all = vec![];
    for tasks in tasks.chunks(INFERENCE_BATCH * one) {
        let row_length = tasks.len() / one;
        let mut padded = tasks.to_vec();
        padded.resize(INFERENCE_BATCH * one, 0.0);
        let feeds =
            [("subject_latents", Feed::Each(&subject[..])), ("task_latents", Feed::Each(&padded[..]))];
        program.run(&fitted.parameters, &feeds)?;
        let values = program.output(&fitted.parameters, 0, 0);
        all.extend_from_slice(&values[..values.len() / INFERENCE_BATCH * row_length]);
    }
    Ok(all)
}

//! How a network's answer changes with its input.

use ptsm_engine::{Feed, Program};
use ptsm_signal::Subset;

use super::FittedNetwork;
use crate::decoder::{DecoderOutput, OutputClass, Sensitivity};
use crate::error::{Error, Result};
use crate::probabilities::log_sum_exp;
use crate::training::{INFERENCE_BATCH, padded, signals};

pub(super) fn of_network(
    network: &FittedNetwork,
    trials: &Subset<'_>,
    of: DecoderOutput,
) -> Result<Sensitivity> {
    let layout = &network.layout;
    layout.expect(trials.layout())?;
    let classes = layout.classes.len();
    let chosen: Vec<usize> = match of.class() {
        OutputClass::Own => trials.labels().iter().map(|&l| l as usize).collect(),
        OutputClass::Number(class) if class < classes => vec![class; trials.len()],
        OutputClass::Number(class) => {
            let message = format!("there is no class {class}; the trials have {classes}, counted from 0");
            return Err(Error::Configuration(message));
        }
    };
    let built = network.build(INFERENCE_BATCH)?;
    let (mut g, logits) = (built.graph, built.logits);
    // The gradient of a log-probability is that of the logits weighed by what is chosen less what is probable. A trial's answer follows
    // from that trial alone, so one gradient of the sum has those of all.
    let mut weights = g.input("chosen", &[INFERENCE_BATCH, classes])?;
    if let DecoderOutput::LogProbability(_) = of {
        let probable = g.softmax(logits)?;
        let probable = g.stop_gradient(probable)?;
        weights = g.sub(weights, probable)?;
    }
    let weighed = g.mul(weights, logits)?;
    let sum = g.sum(weighed)?;
    let mut program: Program<f32> = Program::with_gradient(&g, &[logits], sum, "x", 1, &network.device)?;
    let one = layout.channels.len() * layout.samples;
    let (mut answers, mut gradient) = (vec![], Vec::with_capacity(trials.len() * one));
    for (rows, chosen) in trials.rows().chunks(INFERENCE_BATCH).zip(chosen.chunks(INFERENCE_BATCH)) {
        let mut weights = vec![0.0; INFERENCE_BATCH * classes];
        chosen.iter().enumerate().for_each(|(i, &class)| weights[i * classes + class] = 1.0);
        let slices = signals(trials.set(), &padded(rows));
        program
            .run(&network.parameters, &[("x", Feed::Slices(&slices)), ("chosen", Feed::Each(&weights))])?;
        let logits = program.output(&network.parameters, 0, 0).chunks(classes);
        answers.extend(logits.zip(chosen).map(|(logits, &class)| answer(of, logits, class) as f32));
        gradient.extend_from_slice(&program.output(&network.parameters, 0, 1)[..rows.len() * one]);
    }
    Ok(Sensitivity { answers, gradient })
}

fn answer(of: DecoderOutput, logits: &[f32], class: usize) -> f64 {
    let logits: Vec<f64> = logits.iter().map(|&l| f64::from(l)).collect();
    match of {
        DecoderOutput::Logit(_) => logits[class],
        DecoderOutput::LogProbability(_) => logits[class] - log_sum_exp(&logits),
    }
}

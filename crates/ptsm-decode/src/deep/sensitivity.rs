//! How a network's answer changes with its input.

use ptsm_engine::{Feed, Program};
use ptsm_signal::Subset;

use super::FittedNetwork;
use crate::augment::mirror::Mirror;
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
    let own = view(network, trials, of, &chosen, None)?;
    let Some(mirror) = &network.mirror else {
        let answers = own.answers.iter().map(|a| *a as f32).collect();
        return Ok(Sensitivity { answers, gradient: own.gradient });
    };
    let partners: Vec<usize> = chosen.iter().map(|&class| mirror.classes[class] as usize).collect();
    let image = view(network, trials, of, &partners, Some(mirror))?;
    Ok(both(of, mirror, layout.samples, &own, &image))
}

/// What one look at each trial says.
struct View {
    answers: Vec<f64>,
    gradient: Vec<f32>,
}

/// Of the mirrored trials where there is a mirror; the gradient is then with respect to those.
fn view(
    network: &FittedNetwork,
    trials: &Subset<'_>,
    of: DecoderOutput,
    chosen: &[usize],
    mirrored: Option<&Mirror>,
) -> Result<View> {
    let built = network.build(INFERENCE_BATCH)?;
    let (mut g, logits) = (built.graph, built.logits);
    let classes = network.layout.classes.len();
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
    let one = network.layout.channels.len() * network.layout.samples;
    let mut view = View { answers: vec![], gradient: Vec::with_capacity(trials.len() * one) };
    let mut images = vec![0.0; if mirrored.is_some() { INFERENCE_BATCH * one } else { 0 }];
    for (rows, chosen) in trials.rows().chunks(INFERENCE_BATCH).zip(chosen.chunks(INFERENCE_BATCH)) {
        let mut weights = vec![0.0; INFERENCE_BATCH * classes];
        chosen.iter().enumerate().for_each(|(i, &class)| weights[i * classes + class] = 1.0);
        let mut slices = signals(trials.set(), &padded(rows));
        if let Some(mirror) = mirrored {
            slices.iter().zip(images.chunks_exact_mut(one)).for_each(|(from, to)| mirror.signal(from, to));
            slices = images.chunks_exact(one).collect();
        }
        let feeds = [("x", Feed::Slices(&slices)), ("chosen", Feed::Each(&weights))];
        program.run(&network.parameters, &feeds)?;
        let logits = program.output(&network.parameters, 0, 0).chunks(classes);
        view.answers.extend(logits.zip(chosen).map(|(logits, &class)| answer(of, logits, class)));
        view.gradient.extend_from_slice(&program.output(&network.parameters, 0, 1)[..rows.len() * one]);
    }
    Ok(view)
}

fn answer(of: DecoderOutput, logits: &[f32], class: usize) -> f64 {
    let logits: Vec<f64> = logits.iter().map(|&l| f64::from(l)).collect();
    match of {
        DecoderOutput::Logit(_) => logits[class],
        DecoderOutput::LogProbability(_) => logits[class] - log_sum_exp(&logits),
    }
}

/// What a network that looks at a trial and at its mirror image says: probabilities are averaged.
fn both(of: DecoderOutput, mirror: &Mirror, samples: usize, own: &View, image: &View) -> Sensitivity {
    let one = mirror.channels.len() * samples;
    let mut gradient = vec![0.0; own.gradient.len()];
    let mut answers = Vec::with_capacity(own.answers.len());
    for (i, (&a, &b)) in own.answers.iter().zip(&image.answers).enumerate() {
        let (answer, share) = match of {
            DecoderOutput::Logit(_) => (0.5 * (a + b), 0.5),
            DecoderOutput::LogProbability(_) => {
                let sum = log_sum_exp(&[a, b]);
                (sum - std::f64::consts::LN_2, (a - sum).exp())
            }
        };
        answers.push(answer as f32);
        let all = &mut gradient[i * one..][..one];
        for (to, g) in all.iter_mut().zip(&own.gradient[i * one..]) {
            *to = share as f32 * g;
        }
        // Channel c of the image is channel `channels[c]` of the trial.
        let image = image.gradient[i * one..][..one].chunks_exact(samples);
        for (&channel, row) in mirror.channels.iter().zip(image) {
            let to = &mut all[channel * samples..][..samples];
            to.iter_mut().zip(row).for_each(|(to, g)| *to += (1.0 - share) as f32 * g);
        }
    }
    Sensitivity { answers, gradient }
}

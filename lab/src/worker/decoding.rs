//! Our side of `bench decoders`: one decoder is fitted to subjects and decodes them, again and again.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ptsm_data::arrays::read_trials;
use ptsm_decode::registry::find;
use ptsm_decode::{FittedDecoder, NoWatch, Run, TrainingData};
use ptsm_engine::{Cpu, Isa};
use ptsm_signal::{SubjectId, Subset};

use super::answer;
use crate::bench::decoders::{FirstFit, Request, TurnTimes};

/// How long a turn repeats what is quick.
const TURN: Duration = Duration::from_millis(250);

/// `lab decoding`: reads the request, learns once, then takes a turn for each line.
pub(crate) fn run() -> Result<()> {
    let (mut lines, mut out) = (io::stdin().lock().lines(), io::stdout().lock());
    let line = lines.next().context("standard input ended before the request")??;
    let request: Request = serde_json::from_str(&line).with_context(|| format!("no request: {line}"))?;
    let trials = read_trials(&request.data)?.trials;
    let method = find(&request.decoder)?;
    let decoder = method.build(request.settings.clone())?;
    let cpu = Cpu::with(request.threads, Isa::best())?;
    let device = (&cpu).into();
    let run = Run { device: &device, identity: "bench" };
    let of = |subjects: &BTreeSet<u32>| trials.all().only(|t| subjects.contains(&t.subject.0));
    let mut data = TrainingData::new(of(&request.train), of(&request.validation))?;
    if decoder.learns_from_target() {
        data = data.with_target(of(&request.test).unlabelled());
    }
    // Unlabelled adaptation is done whenever trials are decoded.
    let decode = |fitted: &dyn FittedDecoder, trials: &Subset<'_>| -> Result<Vec<f32>> {
        let adapted = fitted.with_target_access(trials, method.target_access)?;
        Ok(adapted.as_deref().unwrap_or(fitted).probabilities(trials)?)
    };
    let learn = || -> Result<Arc<dyn FittedDecoder>> {
        let mut fits = decoder.fit_seeds(&data, &[1], &run, &mut NoWatch)?;
        Ok(fits.remove(0).fitted)
    };
    let fitted = learn()?;
    let test = of(&request.test);
    let accuracy = accuracy(&decode(&*fitted, &test)?, &test);
    let parameters = Some(fitted.parameters());
    answer(
        &mut out,
        &FirstFit { peer: Some("ptsm".into()), why: None, accuracy: Some(accuracy), parameters },
    )?;
    for line in lines {
        if line?.contains("quit") {
            break;
        }
        let all = trials.all();
        let turn = TurnTimes {
            fit_ms: repeated(|| learn().map(drop))?,
            predict_ms: repeated(|| decode(&*fitted, &all).map(drop))?,
        };
        answer(&mut out, &turn)?;
    }
    Ok(())
}

/// The share of trials whose likeliest class is theirs.
fn accuracy(probabilities: &[f32], test: &Subset<'_>) -> f64 {
    let classes = test.layout().classes.len();
    let likeliest = |p: &[f32]| (0..p.len()).max_by(|&a, &b| p[a].total_cmp(&p[b]));
    let labels = test.labels();
    let right =
        probabilities.chunks(classes).zip(&labels).filter(|(p, l)| likeliest(p) == Some(**l as usize));
    right.count() as f64 / labels.len().max(1) as f64
}

/// Times in milliseconds of what is done until the turn is over, at least once.
fn repeated(mut work: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    let begin = Instant::now();
    let mut ms = vec![];
    while ms.is_empty() || begin.elapsed() < TURN {
        let start = Instant::now();
        work()?;
        ms.push(1e3 * start.elapsed().as_secs_f64());
    }
    Ok(ms)
}

/// Numbers of subjects as the request has them.
pub(crate) fn numbers(subjects: impl IntoIterator<Item = SubjectId>) -> BTreeSet<u32> {
    subjects.into_iter().map(|subject| subject.0).collect()
}

//! `cargo lab maps`: whether the tests of explanations tell a good map from a random one, on simulated subjects whose truth is known.
//!
//! Good maps are the truth with some noise on it. Random ones are the same values elsewhere: on any other channels or times (shuffled), or moved
//! together, over a head that was turned or along the trial, so that they stay as smooth as true ones. Each test gives every map a number; the
//! area under the curve says how well that number tells good maps from those of either kind.

use anyhow::{Context, Result};
use clap::Args;
use ptsm_data::Source;
use ptsm_data::simulate::Cohort;
use ptsm_decode::csp_lda::CspLda;
use ptsm_decode::registry::find;
use ptsm_decode::{DecoderOutput, FittedDecoder, NoWatch, OutputClass, Run, TrainingData};
use ptsm_engine::Cpu;
use ptsm_eval::Split;
use ptsm_explain::{
    AttributionMethod, ContrastQuantity, DeletionDirection, DeletionSettings, RankedAxis, Ranking, agreement,
    agreement_in_time, attribution, csp_relevance, difference, masks, rotate_head, run_deletion_test,
    truth_auc,
};
use ptsm_signal::Subset;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

#[derive(Args)]
pub(crate) struct Options {
    /// Subjects; the last third is never trained on.
    #[arg(long, default_value_t = 24)]
    subjects: u32,
    /// Maps of each kind.
    #[arg(long, default_value_t = 16)]
    maps: usize,
    /// Noise on good maps, as a share of the largest true effect.
    #[arg(long, default_value_t = 0.3)]
    noise: f64,
    /// Epochs at most.
    #[arg(long, default_value_t = 40)]
    epochs: usize,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let cohort = Cohort { subjects: options.subjects, ..Cohort::default() };
    let loaded = Source::Simulated { cohort: Box::new(cohort.clone()), note: None }.load(None, None)?;
    let trials = &loaded.trials;
    let truth = loaded.truth.as_ref().context("simulated subjects without a truth")?;
    let (known, unseen) =
        trials.subjects().into_iter().partition(|s| s.0 <= options.subjects - options.subjects / 3);
    let sources = Split::for_training(&known, 1)?;
    let data = TrainingData::new(sources.train(trials), sources.validation(trials))?;
    let test = trials.of(&unseen);
    // About 120 trials, evenly over all.
    let few = test.at(&(0..test.len()).step_by((test.len() / 120).max(1)).collect::<Vec<_>>());
    println!(
        "{} simulated subjects (default cohort), the last third unseen; {} maps of each kind, noise of {} of the largest effect. Area under the curve: 1 where a test always tells the good map, 0.5 at the chance level; first against shuffled maps, then against moved ones.\n",
        options.subjects, options.maps, options.noise
    );
    println!(
        "| decoder | accuracy % | of | deletion | insertion | agreement with the classes' difference | with CSP patterns |"
    );
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: |");
    let mut own = String::new();
    for name in ["ptsm", "eegnet", "csp-lda"] {
        let method = find(name)?;
        let changes = match name {
            "csp-lda" => json!({}),
            _ => json!({ "training": { "epochs": options.epochs, "patience": 15 } }),
        };
        let decoder = method.build(method.settings(trials.layout(), &changes)?)?;
        let cpu = Cpu::new()?;
        let run = Run { device: &(&cpu).into(), identity: "" };
        let fits = decoder.fit_seeds(&data, &[1], &run, &mut NoWatch)?;
        let fitted = &*fits[0].fitted;
        let accuracy = accuracy(fitted, &test)?;
        for (axis, what) in [(RankedAxis::Channels, "channels"), (RankedAxis::Times, "times")] {
            let (effect, task) = match axis {
                RankedAxis::Channels => (truth.channels.clone(), truth.task_channels()),
                RankedAxis::Times => (truth.times.clone(), truth.task_times(trials.layout())),
            };
            let row = separation(fitted, &test, &few, axis, &effect, options)?;
            println!("| {name} | {accuracy:.1} | {what} | {} |", row.join(" | "));
            for (kind, values) in explanations(fitted, &few, axis)? {
                own += &format!("| {name} | {what} | {kind} | {:.2} |\n", truth_auc(&values, &task));
            }
        }
    }
    println!("\n| decoder | of | explanation | truth favoured |\n| --- | --- | --- | ---: |\n{own}");
    Ok(())
}

fn accuracy(fitted: &dyn FittedDecoder, test: &Subset<'_>) -> Result<f64> {
    let classes = test.layout().classes.len();
    let p = fitted.probabilities(test)?;
    let right = p
        .chunks(classes)
        .zip(test.labels())
        .filter(|(p, label)| p.iter().all(|other| p[*label as usize] >= *other));
    Ok(100.0 * right.count() as f64 / test.len() as f64)
}

/// How well each test tells good maps from random ones.
fn separation(
    fitted: &dyn FittedDecoder,
    test: &Subset<'_>,
    few: &Subset<'_>,
    axis: RankedAxis,
    effect: &[f64],
    options: &Options,
) -> Result<Vec<String>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let layout = test.layout();
    let signal = difference(test, ContrastQuantity::Power)?;
    let csp = csp_relevance(test, &CspLda::default())?;
    let mut scores: [Vec<f64>; 4] = Default::default();
    for i in 0..3 * options.maps {
        let mut map: Vec<f64> =
            effect.iter().map(|v| v + options.noise * (random.random::<f64>() - 0.5)).collect();
        match i / options.maps {
            0 => {}
            1 => map.shuffle(&mut random),
            _ => map = moved(&map, axis, test, &mut random)?,
        }
        let ranking = Ranking::Same(map.clone());
        for (way, scores) in
            [DeletionDirection::Deletion, DeletionDirection::Insertion].into_iter().zip(&mut scores)
        {
            let settings = DeletionSettings { orders: 1, ..DeletionSettings::new(axis, way) };
            scores.push(run_deletion_test(fitted, few, &ranking, &settings)?.log_loss.between);
        }
        let (known, patterns) = match axis {
            RankedAxis::Channels => (
                agreement(&map, &signal.space(), &layout.channels, 1, 1),
                Some(agreement(&map, &csp, &layout.channels, 1, 1)),
            ),
            RankedAxis::Times => (agreement_in_time(&map, &signal.time(), 1, 1), None),
        };
        scores[2].push(known.rank_correlation);
        scores[3].extend(patterns.map(|found| found.rank_correlation));
    }
    let cell = |scores: &Vec<f64>| {
        let [good, shuffled, moved] = [0, 1, 2].map(|kind| scores.chunks(options.maps).nth(kind));
        let against = |other: &[f64], good: &[f64]| {
            let is_good: Vec<bool> = (0..good.len() + other.len()).map(|i| i < good.len()).collect();
            truth_auc(&[good, other].concat(), &is_good)
        };
        match (good, shuffled, moved) {
            (Some(good), Some(shuffled), Some(moved)) => {
                format!("{:.2} / {:.2}", against(shuffled, good), against(moved, good))
            }
            _ => "-".into(),
        }
    };
    Ok(scores.iter().map(cell).collect())
}

/// The same map elsewhere: on a head that was turned, or later in the trial by an eighth of it or more, what leaves coming in again.
fn moved(map: &[f64], axis: RankedAxis, test: &Subset<'_>, random: &mut ChaCha8Rng) -> Result<Vec<f64>> {
    if axis == RankedAxis::Times {
        let least = map.len() / 8;
        let mut later = map.to_vec();
        later.rotate_right(random.random_range(least..=map.len() - least));
        return Ok(later);
    }
    let places = test.layout().channels.iter().map(|channel| channel.position);
    let places: Vec<_> = places.collect::<Option<_>>().context("simulated channels have places")?;
    Ok(rotate_head(&places, random).into_iter().map(|from| map[from]).collect())
}

/// The decoder's own masks and attributions.
fn explanations(
    fitted: &dyn FittedDecoder,
    few: &Subset<'_>,
    axis: RankedAxis,
) -> Result<Vec<(String, Vec<f64>)>> {
    let mut all =
        masks(fitted, few)?.into_iter().map(|mask| (format!("{} mask", mask.kind), mask)).collect::<Vec<_>>();
    let answer = DecoderOutput::LogProbability(OutputClass::Own);
    if let Some(found) = attribution(fitted, few, answer, &AttributionMethod::default())? {
        all.push(("integrated gradients".into(), found.by_subject("integrated gradients", few)));
    }
    let values = |mask: &ptsm_explain::Masks| match axis {
        RankedAxis::Channels => mask.space_mean(),
        RankedAxis::Times => mask.time_mean(),
    };
    Ok(all.iter().map(|(name, mask)| (name.clone(), values(mask))).collect())
}

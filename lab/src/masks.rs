//! `cargo lab masks`: what PTSM's masks and their losses do, on simulated subjects whose truth is known.
//!
//! The paper says that the common mask finds what carries the task, and names its mask losses similarity, sparsity and size. Here
//! PTSM is trained with and without each, and its masks are read in unseen subjects.

use anyhow::Result;
use clap::Args;
use ptsm_data::Source;
use ptsm_data::simulate::{Cohort, Truth};
use ptsm_decode::registry::find;
use ptsm_decode::{FittedDecoder, NoWatch, Run, TrainingData};
use ptsm_engine::Cpu;
use ptsm_eval::Split;
use ptsm_eval::{deviation, mean};
use ptsm_explain::{Masks, masks, rank_correlation, truth_auc};
use ptsm_signal::{Subset, Trials};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

#[derive(Args)]
pub(crate) struct Options {
    /// Subjects; the last third is never trained on.
    #[arg(long, default_value_t = 24)]
    subjects: u32,
    /// Seeds of every variant.
    #[arg(long, default_value_t = 4)]
    seeds: u64,
    /// Epochs at most.
    #[arg(long, default_value_t = 40)]
    epochs: usize,
}

/// One configuration of training, and what it is compared for.
struct Variant {
    name: &'static str,
    network: Value,
    shuffled: bool,
    /// Learning rate; next to none for the network as it starts.
    rate: f64,
}

fn variants() -> Vec<Variant> {
    let of = |name, network| Variant { name, network, shuffled: false, rate: 1e-3 };
    let weights = |w: Value| json!({ "weights": w });
    let only = |similarity: f64, sparsity: f64, size: f64| {
        weights(
            json!({ "mask": 1.0, "similarity": similarity, "mask_sparsity": sparsity, "mask_size": size }),
        )
    };
    vec![
        of("as released", json!({})),
        Variant { rate: 1e-12, ..of("untrained", json!({})) },
        Variant { shuffled: true, ..of("shuffled labels", json!({})) },
        of("no mask loss", weights(json!({ "mask": 0.0 }))),
        of("similarity alone, weight 1", only(1.0, 0.0, 0.0)),
        of("sparsity alone, weight 1", only(0.0, 1.0, 0.0)),
        of("size alone, weight 1", only(0.0, 0.0, 1.0)),
        of("routed gradients", json!({ "routed": true })),
        of(
            "cross-entropy only",
            weights(json!({ "subject": 0.0, "decouple": 0.0, "mask": 0.0, "contrast": 0.0 })),
        ),
        of("no masks", json!({ "masks": "none" })),
    ]
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let cohort = Cohort { subjects: options.subjects, ..Cohort::default() };
    let loaded = Source::Simulated { cohort: Box::new(cohort.clone()), note: None }.load(None, None)?;
    let truth = cohort.truth();
    println!(
        "{} simulated subjects (default cohort, seed {}), the last third unseen; {} seeds, at most {} epochs; mean and SD over seeds.",
        options.subjects, cohort.seed, options.seeds, options.epochs
    );
    println!("Space and time as common / personal. Read in the unseen subjects.\n");
    println!(
        "| PTSM | accuracy % | cosine | mean mask | rank correlation with true channels | true channels favoured | true times favoured |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for variant in variants() {
        let row = measure(&variant, &loaded.trials, &truth, options)?;
        println!("| {} | {} |", variant.name, row.join(" | "));
    }
    Ok(())
}

fn measure(variant: &Variant, trials: &Trials, truth: &Truth, options: &Options) -> Result<Vec<String>> {
    let shuffled = variant.shuffled.then(|| {
        let mut labels: Vec<u32> = trials.info().iter().map(|t| t.label).collect();
        labels.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
        trials.relabelled(&labels)
    });
    let shuffled = shuffled.transpose()?;
    let labelled = shuffled.as_ref().unwrap_or(trials);
    let (known, unseen) =
        trials.subjects().into_iter().partition(|s| s.0 <= options.subjects - options.subjects / 3);
    let sources = Split::for_training(&known, 1)?;
    let data = TrainingData::new(sources.train(labelled), sources.validation(labelled))?;
    let method = find("ptsm")?;
    let changes = json!({
        "network": variant.network,
        "training": { "epochs": options.epochs, "patience": 15, "rate": variant.rate },
    });
    let decoder = method.build(method.settings(trials.layout(), &changes)?)?;
    let (cpu, seeds) = (Cpu::new()?, (1..=options.seeds).collect::<Vec<_>>());
    let run = Run { device: &(&cpu).into(), identity: "" };
    let fits = decoder.fit_seeds(&data, &seeds, &run, &mut NoWatch)?;
    let test = trials.of(&unseen);
    let mut columns: Vec<Vec<Vec<f64>>> = vec![vec![]; 6];
    for fit in &fits {
        let row = read(&*fit.fitted, &test, truth)?;
        columns.iter_mut().zip(row).for_each(|(column, values)| column.push(values));
    }
    let digits = [1, 3, 2, 2, 2, 2];
    Ok(columns.iter().zip(digits).map(|(seeds, digits)| cell(seeds, digits)).collect())
}

/// Accuracy; cosine; and, for the common and the personal mask, their mean, rank correlation and favour of channels, favour of times.
fn read(fitted: &dyn FittedDecoder, test: &Subset<'_>, truth: &Truth) -> Result<Vec<Vec<f64>>> {
    let p = fitted.probabilities(test)?;
    let right = p.chunks(2).zip(test.labels()).filter(|(p, y)| u32::from(p[1] > p[0]) == *y).count();
    let found: Vec<Masks> = masks(fitted, test)?.into_iter().filter(|m| m.kind != "fused").collect();
    let each = |f: &dyn Fn(&Masks) -> f64| found.iter().map(f).collect::<Vec<f64>>();
    let (task, inside) = (truth.task_channels(), truth.task_times(test.layout()));
    Ok(vec![
        vec![100.0 * right as f64 / test.len() as f64],
        cosine(fitted, test)?.into_iter().collect(),
        each(&|m| mean(&m.space_mean()) * mean(&m.time_mean())),
        each(&|m| rank_correlation(&m.space_mean(), &truth.channels)),
        each(&|m| truth_auc(&m.space_mean(), &task)),
        each(&|m| truth_auc(&m.time_mean(), &inside)),
    ])
}

/// L_sim: the mean over trials of the cosine of the two whole masks, which is the product of their factors' cosines.
fn cosine(fitted: &dyn FittedDecoder, test: &Subset<'_>) -> Result<Option<f64>> {
    let names = ["mask.personal.space", "mask.common.space", "mask.personal.time", "mask.common.time"];
    let Some(values) = fitted.intermediate_values(test, &names)? else { return Ok(None) };
    let n = test.len();
    let of = |a: &[f32], b: &[f32], i: usize| {
        let length = a.len() / n;
        let (a, b) = (&a[i * length..][..length], &b[i * length..][..length]);
        let dot =
            |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let each = (0..n).map(|i| of(&values[0], &values[1], i) * of(&values[2], &values[3], i));
    Ok(Some(each.sum::<f64>() / n as f64))
}

/// `0.71 (0.02) / 0.52 (0.03)`: mean and SD over seeds of each number.
fn cell(seeds: &[Vec<f64>], digits: usize) -> String {
    let each = (0..seeds[0].len()).map(|i| {
        let all: Vec<f64> = seeds.iter().map(|s| s[i]).collect();
        let spread = deviation(&all).map_or_else(|| "-".to_string(), |sd| format!("{sd:.digits$}"));
        format!("{:.digits$} ({spread})", mean(&all))
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() { "-".into() } else { each.join(" / ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every variant can be trained and read; nothing is said about what comes out.
    #[test]
    fn every_variant_is_measured() {
        let cohort = Cohort { subjects: 6, sessions: 1, runs: 1, trials: 8, ..Cohort::default() };
        let source = Source::Simulated { cohort: Box::new(cohort.clone()), note: None };
        let trials = source.load(None, None).unwrap().trials;
        let options = Options { subjects: 6, seeds: 1, epochs: 1 };
        for variant in variants() {
            let row = measure(&variant, &trials, &cohort.truth(), &options).unwrap();
            assert_eq!(row.len(), 6);
            assert_eq!(row[1] == "-", variant.name == "no masks", "{}: {row:?}", variant.name);
        }
    }
}

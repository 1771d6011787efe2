//! A demonstration that needs no data: a simulated cohort, three decoders, unseen subjects decoded, one of them adapted to, a page.

use std::time::Instant;

use ptsm_data::Source;
use ptsm_data::simulate::Cohort;
use ptsm_decode::registry::find;
use ptsm_decode::{Adaptation, EpochRecord, Fit, Run, TrainingData};
use ptsm_eval::phrases::{count, duration, percent, subject_count};
use ptsm_eval::{Env, Record, RecordContext, Result, Split, Summary, learning_curve, score};
use ptsm_explain::{MaskFindings, masks, mean_over_seeds};
use ptsm_report::sections::Material;
use ptsm_signal::{SubjectId, Subset, TargetAccess, Trials};
use serde_json::{Value, json};

/// Subjects, of whom the last are unseen: nothing is trained on them.
const SUBJECTS: u32 = 20;
const UNSEEN: u32 = 6;
/// Seeds of every network: as many as train at once on two cores.
const SEEDS: u64 = 2;
const SHOTS: [usize; 5] = [1, 2, 5, 10, 20];

/// A decoder of the demonstration after its fit.
struct DemoDecoder {
    name: &'static str,
    fits: Vec<Fit>,
    records: Vec<Record>,
}

/// What the demonstration came to.
pub struct DemoReport {
    /// Each unseen subject under each decoder.
    pub records: Vec<Record>,
    /// One for each decoder.
    pub summaries: Vec<Summary>,
    /// Scores after few-shot adaptation.
    pub few_shot_records: Vec<Record>,
    /// One for each number of shots.
    pub few_shot: Vec<Summary>,
    /// A sentence on what adapting to one subject gave.
    pub adapted: String,
    /// What its page is made of.
    pub material: Material,
}

/// Runs the demonstration: about a minute on two cores.
pub fn demo(seed: u64, env: &Env) -> Result<DemoReport> {
    let say = |text: String| env.note(&text);
    let cohort = Cohort { subjects: SUBJECTS, seed, ..Cohort::default() };
    say(format!("simulating {SUBJECTS} subjects who imagine moving their left or right hand"));
    let source = Source::Simulated { cohort: Box::new(cohort), note: None };
    let loaded = source.load(None, None)?;
    let trials = &loaded.trials;
    let unseen = trials.subjects().into_iter().filter(|s| s.0 > SUBJECTS - UNSEEN).collect();
    let known = trials.subjects().difference(&unseen).copied().collect();
    let sources = Split::for_training(&known, seed)?;
    let split = Split::of(sources, unseen)?;
    say(format!(
        "training on {} of {}; {} more are validation subjects, on whom `csp-lda` is trained too; {} are test subjects, on whom nothing is trained",
        count(split.train(trials).len(), "trial"),
        subject_count(split.train_subjects().len()),
        split.validation_subjects().len(),
        split.test_subjects().len()
    ));

    let mut shown = vec![];
    for name in ["ptsm", "eegnet", "csp-lda"] {
        shown.push(fit(name, seed, trials, &split, &loaded.fingerprint, env)?);
    }
    let records: Vec<Record> = shown.iter().flat_map(|s| s.records.clone()).collect();
    let mut summaries = Summary::of(&records)?;
    summaries.sort_by_key(|s| shown.iter().position(|m| m.name == s.model));

    say(format!("adapting ptsm to each test subject with {SHOTS:?} labelled trials of each class"));
    let ptsm = &shown[0];
    let test = split.test(trials);
    let (curve, adapted) = adapt(ptsm, &test, env)?;
    let few = Summary::of(&curve)?;

    let all_masks = ptsm.fits.iter().map(|f| masks(&*f.fitted, &test)).collect::<Result<Vec<_>, _>>()?;
    let masks = MaskFindings { all: mean_over_seeds(all_masks), ..MaskFindings::default() };
    let histories: Vec<(String, Vec<EpochRecord>)> = shown
        .iter()
        .map(|s| (s.name.to_string(), s.fits.iter().flat_map(|f| f.history.clone()).collect()))
        .collect();
    let truth = loaded.truth.clone();
    let material = Material {
        title: "Cross-subject decoding of a simulated cohort".into(),
        subtitle: format!(
            "Imagined movement of the left or right hand: trained on {}, {} unseen test subjects decoded zero-shot",
            subject_count(split.train_subjects().len()),
            split.test_subjects().len()
        ),
        notice: "These subjects are simulated: dipoles in a three-sphere head. Subjects differ, and in some the effect is absent. \
                 The numbers show how the program works, not how well it decodes real people."
            .into(),
        layout: Some(trials.layout().clone()),
        records: records.clone(),
        summaries: summaries.clone(),
        few: few.clone(),
        few_guarded: false,
        few_how: Some(Adaptation::default().how),
        adapted: Some(adapted.clone()),
        histories,
        masks: Some(masks),
        truth,
        signals: ptsm_explain::signals(&test),
        footer: format!("ptsm {} demo --seed {}", env!("CARGO_PKG_VERSION"), seed),
        ..Material::default()
    };
    Ok(DemoReport { records, summaries, few_shot_records: curve, few_shot: few, adapted, material })
}

/// Settings for a minute's work: the common recipe with fewer epochs. Both networks are trained with left-right mirroring at random, which
/// takes half as long as equivariance, so that the networks are compared and not their data or recipes.
fn changes(name: &str) -> Value {
    match name {
        "csp-lda" => json!({}),
        _ => json!({
            "recipe": "common",
            "training": { "epochs": 30, "patience": 10, "symmetry": "none" },
            "augment": { "mirror": 0.5 },
        }),
    }
}

fn fit(
    name: &'static str,
    seed: u64,
    trials: &Trials,
    split: &Split,
    identity: &str,
    env: &Env,
) -> Result<DemoDecoder> {
    let began = Instant::now();
    let method = find(name)?;
    let decoder = method.build(method.settings(trials.layout(), &changes(name))?)?;
    // What is not random needs no second seed.
    let n = if name == "csp-lda" { 1 } else { SEEDS };
    let seeds: Vec<u64> = (0..n).map(|i| seed.wrapping_add(i)).collect();
    let run = Run { device: &env.device, identity };
    let mut fitting = env.watch_fits(name);
    let all = split.sources().without_validation();
    let sources = if decoder.uses_validation() { split.sources() } else { &all };
    let data = TrainingData::new(sources.train(trials), sources.validation(trials))?;
    let fits = decoder.fit_seeds(&data, &seeds, &run, &mut fitting)?;
    drop(fitting);
    let mut records = vec![];
    for fit in &fits {
        records.extend(score(&*fit.fitted, &split.test(trials), &context(name, fit.seed))?);
    }
    let all: Vec<f64> = records.iter().map(|r| r.scores.accuracy).collect();
    env.note(format!(
        "{name}: {} parameters, {} % accuracy on unseen subjects, {}",
        fits[0].fitted.parameters(),
        percent(ptsm_eval::mean(&all)),
        duration(began.elapsed())
    ));
    Ok(DemoDecoder { name, fits, records })
}

fn context(name: &str, seed: u64) -> RecordContext {
    RecordContext::trained_on_others("simulated", name, TargetAccess::Nothing, seed)
}

/// The few-shot learning curve of every test subject with the first seed, and the adaptation to the first of them in words.
fn adapt(ptsm: &DemoDecoder, test: &Subset<'_>, env: &Env) -> Result<(Vec<Record>, String)> {
    let fit = &ptsm.fits[0];
    let context = context("ptsm", fit.seed);
    let of = |subject: SubjectId| test.only(|t| t.subject == subject);
    let mut all = vec![];
    for subject in test.subjects() {
        env.check_cancelled()?;
        let adaptation = Adaptation::default();
        all.extend(learning_curve(&*fit.fitted, &of(subject), &SHOTS, &adaptation, &context)?.records);
    }
    let Some(&first) = test.subjects().first() else { return Ok((all, String::new())) };
    let curve = learning_curve(&*fit.fitted, &of(first), &[5], &Adaptation::default(), &context)?;
    let (before, after) = (&curve.records[0].scores, &curve.records[1].scores);
    let prior = fit.fitted.head_prior().unwrap_or_default();
    let note = format!(
        "{first} adapted with 5 trials of each class: {} % before, {} % after on {} later trials ({}).",
        percent(before.accuracy),
        percent(after.accuracy),
        after.n,
        if prior.keeps_all() {
            "the validation subjects gained nothing from such an adaptation, so the decoder stays as it was"
        } else {
            "the head is adapted as far as the validation subjects gained from it"
        }
    );
    Ok((all, note))
}

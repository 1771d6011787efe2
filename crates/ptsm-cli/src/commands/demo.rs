//! `ptsm demo`: simulates a cohort, trains decoders on some of its subjects and decodes the others, who are unseen.

use std::time::Instant;

use anyhow::Context as _;
use ptsm::data::Source;
use ptsm::data::simulate::Cohort;
use ptsm::decode::registry::find;
use ptsm::decode::{Adaptation, EpochRecord, Fit, Run, TrainingData};
use ptsm::eval::{Record, RecordContext, Split, Summary, learning_curve, score};
use ptsm::explanation::{MaskFindings, masks, mean_over_seeds};
use ptsm::signal::{SubjectId, Subset, TargetAccess, Trials};
use serde_json::{Value, json};

use super::Session;
use crate::args::DemoArgs;
use crate::at_chance;
use crate::output;
use ptsm::eval::phrases::{count, duration, percent, subject_count};
use ptsm::eval::tables::summaries as table_of;
use ptsm::pages::sections::{self, Material};

/// Subjects, of whom the last are unseen: nothing is trained on them.
const SUBJECTS: u32 = 20;
const UNSEEN: u32 = 6;
/// Seeds of every network: as many as train at once on two cores.
const SEEDS: u64 = 2;
const SHOTS: [usize; 5] = [1, 2, 5, 10, 20];

/// A decoder of the demonstration after its fit.
struct Shown {
    name: &'static str,
    fits: Vec<Fit>,
    records: Vec<Record>,
}

pub(super) fn run(args: &DemoArgs, session: &Session) -> anyhow::Result<()> {
    let start = Instant::now();
    let say = |text: String| session.output.note(text);
    std::fs::create_dir_all(&args.out).with_context(|| format!("{} cannot be made", args.out.display()))?;
    let cohort = Cohort { subjects: SUBJECTS, seed: args.seed, ..Cohort::default() };
    say(format!("simulating {SUBJECTS} subjects who imagine moving their left or right hand"));
    let source = Source::Simulated { cohort: Box::new(cohort), note: None };
    let loaded = source.load(None, None)?;
    let trials = &loaded.trials;
    let unseen = trials.subjects().into_iter().filter(|s| s.0 > SUBJECTS - UNSEEN).collect();
    let known = trials.subjects().difference(&unseen).copied().collect();
    let sources = Split::for_training(&known, args.seed)?;
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
        shown.push(fit(name, args.seed, trials, &split, &loaded.fingerprint, session)?);
    }
    let records: Vec<Record> = shown.iter().flat_map(|s| s.records.clone()).collect();
    let mut summaries = Summary::of(&records)?;
    summaries.sort_by_key(|s| shown.iter().position(|m| m.name == s.model));

    say(format!("adapting ptsm to each test subject with {SHOTS:?} labelled trials of each class"));
    let ptsm = &shown[0];
    let test = split.test(trials);
    let (curve, adapted) = adapt(ptsm, &test, session)?;
    let few = Summary::of(&curve)?;

    let all_masks = ptsm.fits.iter().map(|f| masks(&*f.fitted, &test)).collect::<Result<Vec<_>, _>>()?;
    let looked = MaskFindings { all: mean_over_seeds(all_masks), ..MaskFindings::default() };
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
        adapted: Some(adapted.clone()),
        histories,
        looked: Some(looked),
        truth,
        signals: ptsm::explanation::signals(&test),
        footer: format!("ptsm {} demo --seed {}", env!("CARGO_PKG_VERSION"), args.seed),
        ..Material::default()
    };
    let page = sections::build(&material, &sections::chosen(&[], false)?, false);
    let html = args.out.join("demo.html");
    output::write(&html, page.html().as_bytes())?;
    for (name, svg) in sections::figures(&page) {
        output::write(&args.out.join(format!("{name}.svg")), svg.as_bytes())?;
    }
    let results = args.out.join("results.jsonl");
    output::write(&results, &lines(records.iter().chain(&curve))?)?;

    let table = table_of(&summaries);
    let text = format!(
        "{table}\n{adapted}\n\npage: {}\nall scores: {}\ntook {}\n",
        html.display(),
        results.display(),
        duration(start.elapsed())
    );
    session.output.result(
        text,
        &json!({
            "page": html,
            "results": results,
            "summary": summaries,
            "few_shot": few,
            "at_chance": at_chance::of_decoders(&summaries),
            "seconds": start.elapsed().as_secs_f64(),
        }),
    )?;
    at_chance::warn_of_decoders(&summaries, session.output);
    Ok(())
}

/// Settings for a minute's work: fewer epochs. Both networks are trained with left-right mirroring, so that the networks are compared and not their
/// data.
fn changes(name: &str) -> Value {
    match name {
        "csp-lda" => json!({}),
        _ => json!({ "training": { "epochs": 30, "patience": 10 }, "augment": { "mirror": 0.5 } }),
    }
}

fn fit(
    name: &'static str,
    seed: u64,
    trials: &Trials,
    split: &Split,
    identity: &str,
    session: &Session,
) -> anyhow::Result<Shown> {
    let began = Instant::now();
    let method = find(name)?;
    let decoder = method.build(method.settings(trials.layout(), &changes(name))?)?;
    // What is not random needs no second seed.
    let n = if name == "csp-lda" { 1 } else { SEEDS };
    let seeds: Vec<u64> = (0..n).map(|i| seed.wrapping_add(i)).collect();
    let run = Run { device: &session.env.device, identity };
    let mut fitting = session.env.watch_fits(name);
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
    session.output.note(format!(
        "{name}: {} parameters, {} % accuracy on unseen subjects, {}",
        fits[0].fitted.parameters(),
        percent(ptsm::eval::mean(&all)),
        duration(began.elapsed())
    ));
    Ok(Shown { name, fits, records })
}

fn context(name: &str, seed: u64) -> RecordContext {
    RecordContext::trained_on_others("simulated", name, TargetAccess::Nothing, seed)
}

/// The few-shot learning curve of every test subject with the first seed, and the guarded adaptation to the first of them in words.
///
/// The curve is without the guard: asking it at every point would adapt forty decoders for forty trials.
fn adapt(ptsm: &Shown, test: &Subset<'_>, session: &Session) -> anyhow::Result<(Vec<Record>, String)> {
    let fit = &ptsm.fits[0];
    let context = context("ptsm", fit.seed);
    let of = |subject: SubjectId| test.only(|t| t.subject == subject);
    let mut all = vec![];
    for subject in test.subjects() {
        session.env.check_cancelled()?;
        let how = Adaptation { guard: false, ..Adaptation::default() };
        all.extend(learning_curve(&*fit.fitted, &of(subject), &SHOTS, &how, &context)?.records);
    }
    let Some(&first) = test.subjects().first() else { return Ok((all, String::new())) };
    let curve = learning_curve(&*fit.fitted, &of(first), &[5], &Adaptation::default(), &context)?;
    let (before, after) = (&curve.records[0].scores, &curve.records[1].scores);
    let kept = curve.adapted[0].1.guard.is_none_or(|g| g.kept);
    let told = format!(
        "{first} adapted with 5 trials of each class: {} % before, {} % after on {} later trials ({}).",
        percent(before.accuracy),
        percent(after.accuracy),
        after.n,
        if kept {
            "leave-one-out on the 10 found a gain, so the adapted masks are kept"
        } else {
            "leave-one-out on the 10 found no gain, so the decoder stays as it was"
        }
    );
    Ok((all, told))
}

fn lines<'a>(records: impl Iterator<Item = &'a Record>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = vec![];
    for record in records {
        serde_json::to_writer(&mut bytes, record)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

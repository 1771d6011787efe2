//! `ptsm evaluate`

use std::collections::BTreeSet;

use ptsm_decode::{Adaptation, EpochRecord};
use ptsm_eval::{Context, Record, Summary, learning_curve, masks, score};
use ptsm_report::{Column, Page, Table};
use ptsm_signal::{SubjectId, Subset};
use serde_json::json;

use super::{Session, Trained};
use crate::args::EvaluateArgs;
use crate::exit::told;
use crate::folder::{self, RunFile};
use crate::input::{Input, for_model};
use crate::output;
use crate::page::{self, Material};
use crate::progress;
use crate::words::{self, percent};

pub(super) fn run(args: &EvaluateArgs, session: &Session) -> anyhow::Result<()> {
    let run = folder::read(&args.run)?;
    let trained = Trained::load(&args.run, &session.cpu)?;
    let input = for_model(&args.data, &trained.card, true, session.output)?;
    if !args.shots.is_empty() {
        super::adapts(&trained.card)?;
    }
    let strangers = strangers(&run, &input, args.data.subjects.is_some())?;
    let people = input.trials.of(&strangers);
    let context = |seed: u64| Context {
        data: input.name.clone(),
        model: trained.card.decoder.clone(),
        protocol: "trained on others".into(),
        target_access: trained.card.target_access,
        fold: 0,
        seed,
    };
    let mut records = vec![];
    for (seed, fitted) in &trained.decoders {
        records.extend(score(&**fitted, &people, &context(*seed))?);
    }
    let mut curve = vec![];
    if !args.shots.is_empty() {
        let bar = progress::counting(session.output, "adapting", trained.decoders.len() * strangers.len());
        let how = Adaptation::from(&args.tuning);
        for (seed, fitted) in &trained.decoders {
            for &subject in &strangers {
                if session.stop.asked() {
                    return Err(ptsm_decode::Error::Stopped.into());
                }
                bar.inc(1);
                let person = people.only(|t| t.subject == subject);
                curve.extend(learning_curve(&**fitted, &person, &args.shots, &how, &context(*seed))?.records);
            }
        }
    }
    let summaries = Summary::of(&records)?;
    let few = Summary::of(&curve)?;
    if let Some(path) = &args.page {
        let page = page(args, &trained, &input, &people, &summaries, &few)?;
        output::write(path, page.html().as_bytes())?;
        session.output.note(format!("page: {}", path.display()));
    }
    let mut text = format!("{}\n{}", by_subject(&records), words::summaries(&summaries));
    if !few.is_empty() {
        text += &format!("\n{}", words::summaries(&few));
    }
    session.output.result(
        text,
        &json!({ "records": records, "summary": summaries, "few_shot": { "records": curve, "summary": few } }),
    )
}

fn page(
    args: &EvaluateArgs,
    trained: &Trained,
    input: &Input,
    people: &Subset<'_>,
    summaries: &[Summary],
    few: &[Summary],
) -> anyhow::Result<Page> {
    let card = &trained.card;
    let each = trained.decoders.iter().map(|(_, fitted)| masks(&**fitted, people));
    let each = each.collect::<Result<Vec<_>, _>>()?;
    // An adapted run has no log; its page has no curve of learning.
    let log = std::fs::read_to_string(args.run.join("log.jsonl")).unwrap_or_default();
    let history: Vec<EpochRecord> = log.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let notice = if input.truth.is_some() { "These people are simulated." } else { "" };
    Ok(page::build(&Material {
        title: format!("{} on {}", card.decoder, input.name),
        subtitle: format!(
            "Trained on {}, scored on {} it has never met",
            words::people(card.provenance.subjects),
            words::people(people.subjects().len())
        ),
        notice: notice.into(),
        layout: &card.layout,
        summaries,
        few,
        few_guarded: !args.tuning.no_guard,
        adapted: None,
        histories: &[(card.decoder.clone(), history)],
        masks: &page::mean_over_seeds(each),
        truth: input.truth.as_ref(),
        footer: format!("ptsm {} evaluate; data {}", env!("CARGO_PKG_VERSION"), input.fingerprint),
    }))
}

/// Everybody the decoder has not learnt from. Asking for others by name is refused, not obeyed.
fn strangers(run: &RunFile, input: &Input, named: bool) -> anyhow::Result<BTreeSet<SubjectId>> {
    let present = input.trials.subjects();
    let seen = run.seen(input);
    if named && let Some(first) = seen.first() {
        return Err(told(
            match seen.len() {
                1 => format!("the decoder was trained on {first}"),
                n => format!("the decoder was trained on {n} of those asked for, {first} among them"),
            },
            "name other people, or nobody to score all it was not trained on",
        ));
    }
    let strangers: BTreeSet<SubjectId> = present.difference(&seen).copied().collect();
    if strangers.is_empty() {
        return Err(told(
            "the decoder was trained on everybody in these data",
            "train on some of them with `--subjects`, or use `ptsm benchmark`",
        ));
    }
    Ok(strangers)
}

/// A row per person, the mean over seeds.
fn by_subject(records: &[Record]) -> Table {
    let people: BTreeSet<SubjectId> = records.iter().map(|r| r.subject).collect();
    let rows = people.into_iter().map(|subject| {
        let own: Vec<&Record> = records.iter().filter(|r| r.subject == subject).collect();
        let mean =
            |of: fn(&Record) -> f64| percent(own.iter().map(|r| of(r)).sum::<f64>() / own.len() as f64);
        vec![
            subject.to_string(),
            own[0].scores.n.to_string(),
            mean(|r| r.scores.accuracy),
            mean(|r| r.scores.balanced_accuracy),
            mean(|r| r.scores.sensitivity),
            mean(|r| r.scores.specificity),
            mean(|r| r.scores.kappa),
            mean(|r| r.scores.auc),
        ]
    });
    let mut columns = vec![Column::text("subject")];
    columns.extend(
        ["trials", "accuracy %", "balanced %", "sensitivity %", "specificity %", "kappa %", "AUC %"]
            .map(Column::number),
    );
    Table { columns, rows: rows.collect(), note: String::new() }
}

//! `ptsm evaluate`

use std::collections::BTreeSet;

use ptsm_decode::registry::find;
use ptsm_decode::{Adaptation, EpochRecord, calibration};
use ptsm_eval::{Context, METRICS, Metric, Summary, learning_curve, score};
use ptsm_explain::masks;
use ptsm_report::{Column, Page, Table};
use ptsm_signal::{SubjectId, Subset, TargetAccess};
use serde_json::json;

use super::{Session, Trained};
use crate::args::EvaluateArgs;
use crate::exit::told;
use crate::folder::{self, AdaptedFile, RunFile};
use crate::input::{Input, for_model};
use crate::output;
use crate::page::{self, Material};
use crate::progress;
use crate::words::{self, percent};

pub(super) fn run(args: &EvaluateArgs, session: &Session) -> anyhow::Result<()> {
    let run = folder::read(&args.run)?;
    let trained = Trained::load(&args.run, &session.device)?;
    let input = for_model(&args.data, &run.data, &trained.card, true, session)?;
    let people = match &run.adapted {
        None => input.trials.of(&strangers(&run, &input, args.data.subjects.is_some())?),
        Some(adapted) => adapted_to(adapted, &input)?,
    };
    let shots = shots(args, &run, &trained, &people)?;
    let shown = find(&trained.card.decoder)?.target_access;
    let context = |seed: u64, target_access: TargetAccess| Context {
        data: input.name.clone(),
        model: trained.card.decoder.clone(),
        protocol: "trained on others".into(),
        variant: None,
        learnt: None,
        tested: None,
        target_access,
        shown,
        fold: 0,
        seed,
        precision: run.precision.clone(),
    };
    let mut records = vec![];
    for (seed, fitted) in &trained.decoders {
        for (access, part) in run.access(&trained.card, &input, &people) {
            records.extend(score(&**fitted, &part, &context(*seed, access))?);
        }
    }
    let mut curve = vec![];
    if !shots.is_empty() {
        let subjects = people.subjects();
        let bar = progress::counting(session.output, "adapting", trained.decoders.len() * subjects.len());
        let how = Adaptation::from(&args.tuning);
        for (seed, fitted) in &trained.decoders {
            for &subject in &subjects {
                if session.stop.asked() {
                    return Err(ptsm_decode::Error::Stopped.into());
                }
                let person = people.only(|t| t.subject == subject);
                let context = context(*seed, trained.card.target_access);
                curve.extend(learning_curve(&**fitted, &person, &shots, &how, &context)?.records);
                bar.inc(1);
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
    let mut text = format!(
        "{}\n{}",
        summaries.iter().map(by_subject).map(|t| t.to_string()).collect::<String>(),
        words::summaries(&summaries)
    );
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
            "Trained on {}, scored on {} whose labels it has never seen",
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

/// The numbers of shots, each once and in order, refused before hours of work where somebody has too few trials.
fn shots(
    args: &EvaluateArgs,
    run: &RunFile,
    trained: &Trained,
    people: &Subset<'_>,
) -> anyhow::Result<Vec<usize>> {
    if args.shots.contains(&0) {
        return Err(told(
            "0 shots are too few to adapt to; the decoder as it is is scored anyway",
            "give at least one",
        ));
    }
    let shots: BTreeSet<usize> = args.shots.iter().copied().collect();
    let Some(&most) = shots.last() else { return Ok(vec![]) };
    super::adapts(&trained.card)?;
    if let Some(adapted) = &run.adapted {
        return Err(told(
            format!("{} is adapted to {} already", args.run.display(), adapted.subject),
            "give the run it was made from",
        ));
    }
    for subject in people.subjects() {
        let (_, later) = calibration(&people.only(|t| t.subject == subject), most)?;
        if later.is_empty() {
            return Err(told(
                format!("{most} shots take all trials of {subject}; none is left to score"),
                "ask for fewer shots",
            ));
        }
    }
    Ok(shots.into_iter().collect())
}

/// The trials of the person a run was adapted to that are later than those it was adapted with. Nobody else: for them it is another
/// decoder, whose scores would stand beside the wrong access.
fn adapted_to<'a>(adapted: &AdaptedFile, input: &'a Input) -> anyhow::Result<Subset<'a>> {
    let own = input.people.iter().find(|(_, person)| person.trials == adapted.person);
    let Some((&subject, _)) = own else {
        return Err(told(
            format!("this run is adapted to {}, whose trials these are not", adapted.subject),
            "give the data it was adapted with, or the run it was made from",
        ));
    };
    Ok(calibration(&input.trials.of(&[subject].into()), adapted.shots)?.1)
}

/// Everybody the decoder has not learnt from. Asking for others by name is refused, not obeyed.
fn strangers(run: &RunFile, input: &Input, named: bool) -> anyhow::Result<BTreeSet<SubjectId>> {
    let present = input.trials.subjects();
    let (seen, made) = (run.seen(input), run.made());
    if named && let Some(first) = seen.first() {
        return Err(told(
            match seen.len() {
                1 => format!("the decoder was {made} on {first}"),
                n => format!("the decoder was {made} on {n} of those asked for, {first} among them"),
            },
            format!("name other people, or nobody to score all it was not {made} on"),
        ));
    }
    let strangers: BTreeSet<SubjectId> = present.difference(&seen).copied().collect();
    if strangers.is_empty() {
        return Err(told(
            format!("the decoder was {made} on everybody in these data"),
            "train on some of them with `--subjects`, or use `ptsm benchmark`",
        ));
    }
    Ok(strangers)
}

/// A row per person, the mean over seeds of every metric.
fn by_subject(summary: &Summary) -> Table {
    let mut columns = vec![Column::text("subject"), Column::number("trials")];
    columns.extend(METRICS.iter().map(|m| {
        Column::number(if m.more_is_better { format!("{} %", m.short) } else { m.short.to_string() })
    }));
    let rows = summary.subjects.iter().map(|person| {
        let value = |m: &Metric| person.scores.get(m.name).copied().unwrap_or(f64::NAN);
        let cell = |m: &Metric| match m.more_is_better {
            true => percent(value(m)),
            false => format!("{:.3}", value(m)),
        };
        [person.subject.to_string(), person.n.to_string()]
            .into_iter()
            .chain(METRICS.iter().map(cell))
            .collect()
    });
    Table { columns, rows: rows.collect(), note: String::new() }
}

//! `ptsm data check`

use std::fmt::Write;

use ptsm::data::arrays::LabelHandling;
use ptsm::data::check::{CheckReport, Problem, check};
use ptsm::data::{LoadOptions, Recordings, Source};
use ptsm::eval::{Column, Table};
use serde_json::json;

use crate::args::CheckArgs;
use crate::commands::Session;
use crate::exit::fail;
use ptsm::eval::load;
use ptsm::eval::parse_pairs;
use ptsm::eval::phrases::{count, subject_count};

/// How many places of a problem, and how many event codes, are told one by one.
const LISTED: usize = 10;

pub(super) fn run(args: &CheckArgs, session: &Session) -> anyhow::Result<()> {
    match Source::parse_with(&args.id, args.root.as_deref(), &parse_pairs(&args.with)?)? {
        Source::Recordings(recordings) => recorded(&recordings, args, session),
        source => trials(&source, args, session),
    }
}

fn recorded(recordings: &Recordings, args: &CheckArgs, session: &Session) -> anyhow::Result<()> {
    let counting = session.env.lazy_progress("checking");
    let progress = |done: usize, all: usize| counting.at(done, all);
    let options = LoadOptions {
        threads: session.env.threads,
        memory: session.env.memory_bytes,
        progress: Some(&progress),
        ..LoadOptions::default()
    };
    let report = check(recordings, args.subjects.as_ref(), args.labels, &options);
    drop(counting);
    let report = report?;
    for note in &report.notes {
        session.output.note(format!("note: {note}"));
    }
    session.output.result(text(&report), &report)?;
    if !report.damaged() {
        return Ok(());
    }
    let damage = report.problems.iter().filter(|problem| problem.damage);
    let what: Vec<String> = damage.clone().map(|p| format!("{} ({})", p.what, p.cases.len())).collect();
    let advice = damage.map(|p| &*p.advice).next().unwrap_or_default();
    Err(fail(format!("{}: {}", report.name, what.join(", ")), advice))
}

/// Trials that are epochs already: what is wrong is told while they are loaded.
fn trials(source: &Source, args: &CheckArgs, session: &Session) -> anyhow::Result<()> {
    let loaded = load(source, None, args.subjects.as_ref(), LabelHandling::Own, &session.env)?;
    let subjects = loaded.trials.subjects().len();
    let verdict = match loaded.findings.is_empty() && loaded.duplicates.is_empty() {
        true => "they load, nothing is wrong, and epochs have no recording to check",
        false => "they load; the warnings say what is wrong",
    };
    session.output.result(
        format!(
            "{}: {} of {}; {verdict}\n",
            loaded.name,
            count(loaded.trials.len(), "trial"),
            subject_count(subjects)
        ),
        &json!({
            "name": loaded.name,
            "trials": loaded.trials.len(),
            "subjects": subjects,
            "problems": loaded.findings,
            "duplicates": loaded.duplicates,
            "notes": loaded.notes,
        }),
    )?;
    match loaded.duplicates.first() {
        None => Ok(()),
        Some(duplicate) => {
            Err(fail(format!("{}: {duplicate}", loaded.name), "leave one of them out with `--subjects`"))
        }
    }
}

fn text(report: &CheckReport) -> String {
    let mut text = format!("{}{}", table(report), events(report));
    for (subject, why) in &report.excluded {
        let _ = writeln!(text, "left out: {subject}, {why}");
    }
    for problem in &report.problems {
        text += &describe(problem);
    }
    if report.problems.is_empty() {
        text += "\nnothing is wrong\n";
    }
    text
}

fn table(report: &CheckReport) -> Table {
    let labels = report.subjects.iter().any(|subject| subject.label.is_some());
    let mut columns = vec![Column::text("subject")];
    if labels {
        columns.push(Column::text("label"));
    }
    columns.extend(["sessions", "recordings", "minutes", "Hz", "channels"].map(Column::number));
    columns.extend(report.classes.iter().map(Column::number));
    columns.push(Column::number("problems"));
    let rows = report.subjects.iter().map(|subject| {
        let mut row = vec![subject.subject.to_string()];
        if labels {
            row.push(subject.label.clone().unwrap_or_default());
        }
        let rates: Vec<String> = subject.rates_hz.iter().map(ToString::to_string).collect();
        row.extend([
            subject.sessions.to_string(),
            subject.recordings.to_string(),
            format!("{:.1}", subject.seconds / 60.0),
            rates.join(" "),
            subject.channels.to_string(),
        ]);
        row.extend(subject.trials.iter().map(ToString::to_string));
        row.push(subject.problems.to_string());
        row
    });
    let rows = rows.collect();
    let trials: usize = report.subjects.iter().flat_map(|subject| &subject.trials).sum();
    let recordings: usize = report.subjects.iter().map(|subject| subject.recordings).sum();
    let note = format!(
        "{}: {}, {}, {}",
        report.name,
        subject_count(report.subjects.len()),
        count(recordings, "recording"),
        count(trials, "trial")
    );
    Table { columns, rows, note }
}

/// Events that begin no trial.
fn events(report: &CheckReport) -> String {
    if report.other_events.is_empty() {
        return String::new();
    }
    let each =
        report.other_events.iter().take(LISTED).map(|other| format!("{} ({})", other.code, other.events));
    let more = report.other_events.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("events that begin no trial: {}{more}\n", each.collect::<Vec<_>>().join(", "))
}

fn describe(problem: &Problem) -> String {
    let mut text = format!("\n{}: {}\n", if problem.damage { "wrong" } else { "look" }, problem.what);
    for case in problem.cases.iter().take(LISTED) {
        let detail = if case.detail.is_empty() { String::new() } else { format!(": {}", case.detail) };
        let _ = writeln!(text, "  {}{detail}", case.place);
    }
    if problem.cases.len() > LISTED {
        let _ = writeln!(text, "  and {} more; `--json` has all", problem.cases.len() - LISTED);
    }
    let _ = writeln!(text, "  to do: {}", problem.advice);
    text
}

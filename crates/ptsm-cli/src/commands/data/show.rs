//! `ptsm data show`

use std::collections::BTreeSet;
use std::path::Path;

use ptsm::data::arrays::LabelHandling;
use ptsm::data::catalogue::{DATA_SETS, DataSet, Options};
use ptsm::data::{LoadedData, Source};
use ptsm::eval::{Column, Table};
use ptsm::signal::Symmetry;
use serde_json::{Value, json};

use crate::commands::Session;
use ptsm::eval::load;
use ptsm::eval::parse_pairs;
use ptsm::eval::phrases::describe_trials;

pub(super) fn run(id: &str, root: Option<&Path>, with: &[String], session: &Session) -> anyhow::Result<()> {
    let with = parse_pairs(with)?;
    // What is known of a data set by its name needs no recording.
    if let (Some(set), None) = (DATA_SETS.iter().find(|set| set.about().id == id), root) {
        let options = Options::new(id, set.choices(), &with)?;
        let (text, json) = described(*set, &options)?;
        return session
            .output
            .result(format!("{text}\n`--root DIR` shows the subjects in a folder.\n"), &json);
    }
    let source = Source::parse_with(id, root, &with)?;
    let loaded = load(&source, None, None, LabelHandling::Own, &session.env)?;
    let (mut text, mut json) = (String::new(), json!({}));
    if let Source::Recordings(recordings) = &source {
        (text, json) = described(recordings.set(), recordings.options())?;
        text.push('\n');
    }
    let (table, subjects) = subjects(&loaded);
    text += &table;
    let own = json!({
        "name": loaded.name,
        "subjects": subjects,
        "layout": loaded.trials.layout(),
        "pipeline": loaded.pipeline,
        "fingerprint": loaded.fingerprint,
        "notes": loaded.notes,
    });
    if let (Value::Object(json), Value::Object(own)) = (&mut json, own) {
        json.extend(own);
    }
    session.output.result(text, &json)
}

/// What should be known of a data set and what can be chosen about it.
fn described(set: &dyn DataSet, options: &Options) -> anyhow::Result<(String, Value)> {
    let about = set.about();
    let mut text = format!("{}: {}\n", about.id, about.title);
    let mut say = |what: &str, words: &str| {
        if !words.is_empty() {
            text += &format!("  {what:<10} {words}\n");
        }
    };
    if about.subject_count > 0 {
        say("subjects", &about.subject_count.to_string());
    }
    say("licence", &about.licence);
    say("cite", &about.citation);
    say("home", &about.home);
    for (i, (code, meaning)) in about.events.iter().enumerate() {
        say(if i == 0 { "events" } else { "" }, &format!("{code}  {meaning}"));
    }
    let task = set.task(options);
    say("paradigm", &task.paradigm.map_or("not declared".into(), |paradigm| paradigm.to_string()));
    say(
        "mirroring",
        &match &task.symmetry {
            Symmetry::Undeclared => "no symmetry is declared: epochs are not mirrored".to_string(),
            Symmetry::Invariant => "classes stay when left and right are exchanged".into(),
            swaps => format!("{swaps} swap when left and right are exchanged"),
        },
    );
    say("pipeline", &about.pipeline);
    for (i, caution) in about.cautions.iter().enumerate() {
        say(if i == 0 { "beware" } else { "" }, caution);
    }
    if !set.choices().is_empty() {
        let row = |c: &ptsm::data::catalogue::DataSetChoice| {
            let now = Some(options.get(c.name)).filter(|value| !value.is_empty()).unwrap_or("-");
            [c.name, now, c.values, c.about].map(String::from).to_vec()
        };
        let columns = ["--with", "now", "values", "what it means"].map(Column::text).to_vec();
        text += &format!(
            "\n{}",
            Table { columns, rows: set.choices().iter().map(row).collect(), note: String::new() }
        );
    }
    let choices: Vec<_> = set
        .choices()
        .iter()
        .map(|c| json!({ "name": c.name, "default": c.default, "values": c.values, "about": c.about, "now": options.get(c.name) }))
        .collect();
    // What suits a folder shows only when it is looked at.
    let pipeline = set.pipeline(options).ok();
    Ok((text, json!({ "about": about, "task": task, "choices": choices, "pipeline": pipeline })))
}

/// A line per subject, and what their trials are like.
fn subjects(loaded: &LoadedData) -> (String, Vec<Value>) {
    let layout = loaded.trials.layout();
    let subjects = loaded.trials.subjects();
    let mut columns = vec![Column::text("subject"), Column::number("sessions"), Column::number("trials")];
    columns.extend(layout.classes.iter().map(Column::number));
    let (mut rows, mut documents) = (vec![], vec![]);
    for &subject in &subjects {
        let own = loaded.trials.of(&[subject].into());
        let sessions: BTreeSet<u32> = own.info().map(|t| t.session).collect();
        let counts = own.class_counts();
        documents.push(
            json!({ "subject": subject, "sessions": sessions.len(), "trials": own.len(), "classes": counts }),
        );
        let mut row = vec![subject.to_string(), sessions.len().to_string(), own.len().to_string()];
        row.extend(counts.iter().map(ToString::to_string));
        rows.push(row);
    }
    let note = describe_trials(&loaded.name, &loaded.trials);
    (format!("{}{note}\n", Table { columns, rows, note: String::new() }), documents)
}

//! The model card: what a decoder is for, where it comes from, what it must not be used for.

use crate::{Column, SectionPart, Table};
use ptsm_decode::registry::find;
use serde_json::Value;

use super::{DecoderOrigin, Material, NO_RUN, SectionContent};
use ptsm_eval::phrases;

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(made) = &m.made else { return SectionContent::missing(NO_RUN) };
    let rows = facts(made);
    let table = |rows: Vec<[String; 2]>, head: &str| Table {
        columns: vec![Column::text(head), Column::text("value")],
        rows: rows.into_iter().map(Vec::from).collect(),
        note: String::new(),
    };
    let mut settings = vec![];
    flat("", &made.card.settings, &mut settings);
    let text = |text: &str| SectionPart::Text(text.into());
    SectionContent::new(
        "What this decoder is, what it learnt from, what it may be used for, and what it knows about the people it learnt from.",
        vec![
            SectionPart::Table("What it is".into(), table(rows, "of the decoder")),
            text(
                "Intended use. Research on decoding EEG across people: offline analysis, comparison of methods, prototypes of brain-computer \
                 interfaces with volunteers who can stop at any time.",
            ),
            text(
                "Not intended. Diagnosis or treatment; any decision about a person; control of anything that can hurt; reading of states a \
                 person has not agreed to have read. It knows only its classes and will name one of them for any signal, also for noise.",
            ),
            text(
                "Limits. Scores of this page hold for people, amplifiers, electrodes and instructions like those it was tested with. People differ \
                 far more than decoders do, and for some it is no better than guessing. What it decodes may be something that only goes along with \
                 the task, such as eye movements.",
            ),
            SectionPart::Text(privacy(made)),
            SectionPart::Table("All settings".into(), table(settings, "setting")),
        ],
    )
}

fn facts(made: &DecoderOrigin) -> Vec<[String; 2]> {
    let card = &made.card;
    let from = &card.provenance;
    let layout = &card.layout;
    let mut rows = vec![
        ["decoder".into(), card.decoder.clone()],
        ["classes".into(), layout.classes.join(", ")],
        ["numbers learnt".into(), made.parameters.to_string()],
        ["seeds".into(), made.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")],
        ["data".into(), from.data.clone()],
        ["fingerprint of the data".into(), from.fingerprint.clone()],
        [
            "licence of the data".into(),
            made.licence
                .clone()
                .unwrap_or_else(|| "not known to this program: ask whoever gave you the data".into()),
        ],
        [
            "learnt from".into(),
            format!("{}, {}", phrases::subject_count(from.subjects), phrases::count(from.trials, "trial")),
        ],
        [
            "validation subjects held back".into(),
            match from.validation_subjects {
                0 => "none".into(),
                n => n.to_string(),
            },
        ],
        [
            "trials".into(),
            format!(
                "{} channels, {} samples at {} Hz from {} s after the cue",
                layout.channels.len(),
                layout.samples,
                layout.rate_hz,
                layout.start_s
            ),
        ],
        ["channels".into(), layout.channels.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(" ")],
        [
            "paradigm".into(),
            layout.task.paradigm.map_or("not declared".into(), |paradigm| paradigm.to_string()),
        ],
        [
            "left-right mirroring".into(),
            phrases::mirroring(&card.settings, layout).unwrap_or_else(|| "none".into()),
        ],
        ["seen of a new person".into(), card.target_access.to_string()],
        ["made by".into(), format!("ptsm {}", from.version)],
    ];
    if let Ok(method) = find(&card.decoder) {
        rows.insert(1, ["what it is".into(), method.about.into()]);
        let doi = if method.doi.is_empty() { String::new() } else { format!(", doi:{}", method.doi) };
        rows.insert(2, ["paper".into(), format!("{}{doi}", method.paper)]);
    }
    if let Some(adapted) = &made.adapted {
        rows.push([
            "adapted to".into(),
            format!("{} with {} of each class", adapted.subject, phrases::count(adapted.shots, "trial")),
        ]);
    }
    rows
}

fn privacy(made: &DecoderOrigin) -> String {
    if let Some(adapted) = &made.adapted {
        return format!(
            "Privacy. This model was tuned to {} by {} labelled trials of each class: its personal masks are that person's. Treat the file as that person's data; \
             the run it was made from is the one to give away.",
            adapted.subject, adapted.shots
        );
    }
    match made.known_subjects {
        0 => "Privacy. The model file holds no number that belongs to one of the people it learnt from: what told them apart in training was left \
              out. `run.toml` beside it names them by hashes of their recordings, so that nobody is tested by accident who was learnt from: leave it out when the \
              model is given away. That a person took part may still be guessed from how well the model fits them; this page does not measure it."
            .into(),
        n => format!(
            "Privacy. The model file still holds what tells {} apart whom it learnt from (`training.keep_subjects`): do not give it away. \
             Trained without that setting it holds nothing of the kind.",
            phrases::subject_count(n)
        ),
    }
}

/// Settings by their whole name.
fn flat(name: &str, value: &Value, rows: &mut Vec<[String; 2]>) {
    match value {
        Value::Object(all) => {
            for (key, value) in all {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flat(&name, value, rows);
            }
        }
        Value::Null => rows.push([name.into(), "none".into()]),
        other => rows.push([name.into(), other.to_string()]),
    }
}

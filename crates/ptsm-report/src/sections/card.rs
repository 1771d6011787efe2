//! The model card: what a decoder is for, where it comes from, what it must not be used for.

use crate::{Column, SectionPart, Table};
use ptsm_decode::registry::find;
use serde_json::Value;

use super::{DecoderOrigin, Material, NO_RUN, SectionContent};
use ptsm_eval::phrases;

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(origin) = &m.origin else { return SectionContent::missing(NO_RUN) };
    let rows = facts(origin);
    let table = |rows: Vec<[String; 2]>, head: &str| Table {
        columns: vec![Column::text(head), Column::text("value")],
        rows: rows.into_iter().map(Vec::from).collect(),
        note: String::new(),
    };
    let mut settings = vec![];
    flat("", &origin.card.settings, &mut settings);
    let text = |text: &str| SectionPart::Text(text.into());
    SectionContent::new(
        "The model card says what this decoder is, what it was trained on, what it may be used for, and what its file tells about the training subjects.",
        vec![
            SectionPart::Table("The decoder".into(), table(rows, "property")),
            text(
                "Intended use. Research on cross-subject EEG decoding: offline analysis, comparison of methods, prototypes of brain-computer \
                 interfaces with volunteers who can stop at any time.",
            ),
            text(
                "Not intended. Diagnosis or treatment; any decision about a person; control of anything that can hurt; decoding of states that a \
                 person has not agreed to have decoded. The decoder knows only its classes and names one of them for any signal, also for noise.",
            ),
            text(
                "Limits. The scores of this page hold for subjects, amplifiers, electrodes and instructions like those of the test. Subjects differ \
                 far more than decoders do, and in some the decoder is no better than the chance level. What it decodes may be something that only accompanies \
                 the task, such as eye movements.",
            ),
            SectionPart::Text(privacy(origin)),
            SectionPart::Table("All settings".into(), table(settings, "setting")),
        ],
    )
}

fn facts(origin: &DecoderOrigin) -> Vec<[String; 2]> {
    let card = &origin.card;
    let from = &card.provenance;
    let layout = &card.layout;
    let mut rows = vec![
        ["decoder".into(), card.decoder.clone()],
        ["classes".into(), layout.classes.join(", ")],
        ["parameters".into(), origin.parameters.to_string()],
        ["seeds".into(), origin.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")],
        ["data".into(), from.data.clone()],
        ["fingerprint of the data".into(), from.fingerprint.clone()],
        [
            "licence of the data".into(),
            origin
                .licence
                .clone()
                .unwrap_or_else(|| "not known to this program: ask whoever gave you the data".into()),
        ],
        [
            "training subjects".into(),
            match (phrases::subject_count(from.subjects), phrases::count(from.trials, "trial")) {
                (subjects, trials) if from.source_only_trials == 0 => format!("{subjects}, {trials}"),
                (subjects, trials) => {
                    format!("{subjects}, {trials}, {} of them source-only", from.source_only_trials)
                }
            },
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
        ["target access".into(), card.target_access.to_string()],
        ["made by".into(), format!("ptsm {}", from.version)],
    ];
    if let Ok(method) = find(&card.decoder) {
        rows.insert(1, ["description".into(), method.about.into()]);
        let doi = if method.doi.is_empty() { String::new() } else { format!(", doi:{}", method.doi) };
        rows.insert(2, ["paper".into(), format!("{}{doi}", method.paper)]);
    }
    if let Some(members) = phrases::ensemble(&card.settings) {
        rows.insert(
            1,
            ["members".into(), format!("{members}, which decode together; the parameters are those of all")],
        );
    }
    if let Some(distilled) = phrases::distillation(&card.settings) {
        rows.insert(
            1,
            [
                "teacher".into(),
                format!("{distilled} networks of the same settings, which the file does not hold"),
            ],
        );
    }
    if let Some(adapted) = &origin.adapted {
        rows.push([
            "adapted to".into(),
            format!("{} with {} of each class", adapted.subject, phrases::count(adapted.shots, "trial")),
        ]);
    }
    rows
}

fn privacy(origin: &DecoderOrigin) -> String {
    if let Some(adapted) = &origin.adapted {
        return format!(
            "Privacy. This model was adapted to {} by {} labelled trials of each class: what was adapted (head, masks or everything) is fitted to this subject. Treat the file as this subject's data; \
             the run it was made from is the one to give away.",
            adapted.subject, adapted.shots
        );
    }
    match origin.known_subjects {
        0 => "Privacy. The model file holds no number that belongs to a single training subject: the part of the network that told them apart in training was left \
              out. `run.toml` beside it identifies them by hashes of their recordings, so that no training subject is scored as a test subject by accident: leave it out when the \
              model is given away. Whether somebody was a training subject may still be inferred from how well the model fits them (membership inference); this page does not measure that."
            .into(),
        n => format!(
            "Privacy. The model file still holds the part of the network that tells the training subjects ({}) apart (`training.keep_subjects`): do not give it away. \
             Trained without that setting, the file does not hold it.",
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

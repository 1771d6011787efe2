//! Numbers, names and sentences as people read them, without any layout.

use ptsm_decode::distillation::Distillation;
use ptsm_decode::norms::NormTrials;
use ptsm_decode::recentring::{Recentring, RecentringTrials};
use std::collections::BTreeSet;
use std::time::Duration;

use ptsm_decode::Mirror;
use ptsm_signal::{Layout, SubjectId, Symmetry, TargetAccess, Trials};
use serde_json::{Value, json};

use crate::benchmark::TrainingSubjects;
use crate::metrics::{Metric, metric};
use crate::summary::Summary;

/// `1 h 02 min`, `3 min 20 s`, `7 s`
pub fn duration(d: Duration) -> String {
    let s = d.as_secs();
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

/// A fraction in percent with one digit; a dash where there is none.
pub fn percent(value: f64) -> String {
    if value.is_finite() { format!("{:.1}", 100.0 * value) } else { "-".into() }
}

/// A number with its sign and two digits; a dash where there is none.
pub fn signed(value: f64) -> String {
    if value.is_finite() { format!("{value:+.2}") } else { "-".into() }
}

/// A metric's value: shares in percent, others as they are; a dash where there is none.
pub fn value(metric: &str, value: f64) -> String {
    match metric {
        _ if !value.is_finite() => "-".into(),
        "kappa" | "log_loss" => format!("{value:.3}"),
        _ => percent(value),
    }
}

/// `1 subject`, `2 subjects`
pub fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `1 subject`, `2 subjects`
pub fn subject_count(n: usize) -> String {
    count(n, "subject")
}

/// `S03, S07`
pub fn ids(subjects: &BTreeSet<SubjectId>) -> String {
    subjects.iter().map(SubjectId::to_string).collect::<Vec<_>>().join(", ")
}

/// How many subjects decoders train on in each fold, and how many are held back for validation; decoders alike stand together.
pub fn held_back_note(decoders: &[TrainingSubjects]) -> String {
    let range = |[least, most]: [usize; 2], what: &str| match least == most {
        true => count(most, what),
        false => format!("{least} to {}", count(most, what)),
    };
    let mut notes: Vec<(String, Vec<&str>)> = vec![];
    for decoder in decoders {
        let mut note = format!("trained on {} in each fold", range(decoder.train, "subject"));
        if decoder.validation[1] > 0 {
            note += &format!(", {} held back", range(decoder.validation, "validation subject"));
        }
        match notes.iter_mut().find(|(other, _)| *other == note) {
            Some((_, names)) => names.push(&decoder.entry),
            None => notes.push((note, vec![&decoder.entry])),
        }
    }
    notes.iter().map(|(note, names)| format!("{} {note}", names.join("; "))).collect::<Vec<_>>().join(". ")
}

/// Whether a decoder of these settings learns from mirrored epochs, and which classes swap; none for a decoder that cannot.
pub fn mirroring(settings: &Value, layout: &Layout) -> Option<String> {
    let share = mirrored_share(settings)?;
    let symmetry = &layout.task.symmetry;
    let what = match symmetry {
        Symmetry::Swaps(_) => format!("{symmetry} swap"),
        Symmetry::Invariant | Symmetry::Undeclared => "classes stay".into(),
    };
    Some(match symmetry {
        _ if built_in_symmetry(settings).is_some() => {
            format!("built in, {what}; every epoch is seen from both sides, in training and afterwards")
        }
        _ if share > 0.0 => {
            format!("{} % of the training epochs, {what}; predictions average both views", percent(share))
        }
        Symmetry::Undeclared => "off; nothing declares which classes swap (`--symmetry`)".into(),
        Symmetry::Swaps(_) | Symmetry::Invariant => match Mirror::new(layout) {
            Ok(_) => "off".into(),
            Err(why) => format!("off; {why}"),
        },
    })
}

/// The share of training epochs that are seen in the mirror, all of them where the symmetry is built in; none for a decoder that has no such
/// setting.
pub fn mirrored_share(settings: &Value) -> Option<f64> {
    let share = settings.pointer("/augment/mirror").and_then(Value::as_f64)?;
    Some(if built_in_symmetry(settings).is_some() { 1.0 } else { share })
}

/// `equivariant` or `invariant`, for a network in which the symmetry is built.
pub fn built_in_symmetry(settings: &Value) -> Option<&str> {
    settings.pointer("/training/symmetry").and_then(Value::as_str).filter(|symmetry| *symmetry != "none")
}

/// The same as data.
pub fn mirroring_json(settings: &Value, layout: &Layout) -> Value {
    match mirrored_share(settings) {
        None => Value::Null,
        Some(share) => json!({
            "share": share, "built_in": built_in_symmetry(settings), "symmetry": layout.task.symmetry,
        }),
    }
}

/// A model's name among others; with its target access where it is listed twice, as for subjects whose unlabelled trials it has seen and for others.
pub fn display_name(summary: &Summary, among: &[Summary]) -> String {
    distinct_name(summary, among, summary.display_name())
}

fn distinct_name(summary: &Summary, among: &[Summary], name: String) -> String {
    let twice = among
        .iter()
        .any(|s| s.display_name() == summary.display_name() && s.target_access != summary.target_access);
    match (twice, summary.target_access) {
        (false, _) => name,
        (true, TargetAccess::Nothing) => format!("{name}, unseen"),
        (true, _) => format!("{name}, seen"),
    }
}

/// `ensemble of 3`, from all settings of a decoder; none of a single one.
pub fn ensemble(settings: &Value) -> Option<String> {
    let members = ptsm_decode::ensemble::size(settings).ok()?;
    (members > 1).then(|| format!("ensemble of {members}"))
}

/// `distilled from 5`, from all settings of a decoder, with what is not usual about it; none of one that learns from labels alone.
pub fn distillation(settings: &Value) -> Option<String> {
    let Distillation { members, weight, temperature } = Distillation::of(settings).ok()??;
    let usual = Distillation::default();
    let numbers = [("weight", weight, usual.weight), ("temperature", temperature, usual.temperature)];
    let unusual = numbers.iter().filter(|(_, value, usual)| value != usual);
    let unusual: Vec<String> = unusual.map(|(name, value, _)| format!("{name} {value}")).collect();
    let unusual = if unusual.is_empty() { String::new() } else { format!(" ({})", unusual.join(", ")) };
    Some(format!("distilled from {members}{unusual}"))
}

/// `recentred`, from all settings of a decoder; none of one that is not.
pub fn recentring(settings: &Value) -> Option<String> {
    let recentring = Recentring::of(settings).ok()??;
    let trials = match recentring.trials {
        RecentringTrials::Whole => "recentred",
        RecentringTrials::Stream => "recentred as a stream",
    };
    Some(match recentring.frequencies {
        None => trials.to_string(),
        Some(all) => format!("{trials} to {}", all.iter().map(f64::to_string).collect::<Vec<_>>().join(":")),
    })
}

/// `norms adapted`, from all settings of a decoder; none of one whose batch norms stay as they are.
pub fn norms(settings: &Value) -> Option<String> {
    let trials = NormTrials::of(settings).ok()??;
    Some(match trials {
        NormTrials::Whole => "norms adapted".into(),
        NormTrials::Stream => "norms adapted as a stream".into(),
    })
}

/// What tells a decoder from the single one, by all its settings: `ensemble of 3, norms adapted, recentred`.
pub fn variant(settings: &Value) -> Option<String> {
    let parts = [ensemble(settings), distillation(settings), norms(settings), recentring(settings)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A model with its variant, as it is called in tables.
pub fn with_variant(model: &str, variant: Option<&str>) -> String {
    variant.map_or_else(|| model.to_string(), |variant| format!("{model}, {variant}"))
}

/// A row's name: the model with its variant and what it was tuned with, and, where rows differ in them, the parts of recordings.
pub fn name(summary: &Summary, among: &[Summary]) -> String {
    let parts = |s: &Summary| (s.trained_on.clone(), s.tested.clone());
    let name = if among.iter().all(|s| parts(s) == parts(summary)) {
        Summary { trained_on: None, tested: None, ..summary.clone() }.display_name()
    } else {
        summary.display_name()
    };
    match summary.adapt {
        Some(few) => format!("{name}, {}", count(few.shots, "shot")),
        None => distinct_name(summary, among, name),
    }
}

/// The same, the one first that chance is tested by.
pub fn default_metrics(summaries: &[Summary]) -> Vec<&'static Metric> {
    let mut metrics: Vec<_> = USUAL.iter().filter_map(|name| metric(name)).collect();
    if let [first, others @ ..] = summaries {
        let leading = first.chance.metric();
        if others.iter().all(|s| s.chance.metric().name == leading.name) {
            metrics.retain(|metric| metric.name != leading.name);
            metrics.insert(0, leading);
        }
    }
    metrics
}

/// A metric's name in a sentence.
pub fn metric_label(metric: &Metric) -> String {
    match metric.name {
        "auc" => "AUC".into(),
        name => name.replace('_', " "),
    }
}

/// The metrics of a table, where nobody asks for others.
pub const USUAL: [&str; 3] = ["accuracy", "balanced_accuracy", "auc"];

/// What trials there are, and their channels on a second line.
pub fn describe_trials(name: &str, trials: &Trials) -> String {
    let layout = trials.layout();
    let names: Vec<&str> = layout.channels.iter().map(|channel| channel.name.as_str()).collect();
    format!(
        "{name}: {}, {}, {} x {} samples, {} to {} s at {} Hz\nchannels: {}",
        subject_count(trials.subjects().len()),
        count(trials.len(), "trial"),
        names.len(),
        layout.samples,
        layout.start_s,
        layout.start_s + layout.samples as f64 / layout.rate_hz,
        layout.rate_hz,
        names.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders_that_hold_the_same_back_stand_together() {
        let of = |entry: &str, train, validation| TrainingSubjects { entry: entry.into(), train, validation };
        let all = [
            of("ptsm", [13, 14], [2, 2]),
            of("csp-lda", [15, 16], [0, 0]),
            of("eegnet, small", [13, 14], [2, 2]),
            of("mdm", [1, 1], [0, 0]),
        ];
        assert_eq!(
            held_back_note(&all),
            "ptsm; eegnet, small trained on 13 to 14 subjects in each fold, 2 validation subjects held back. \
             csp-lda trained on 15 to 16 subjects in each fold. mdm trained on 1 subject in each fold"
        );
    }
}

//! What the features of every fit of a benchmark tell of subjects, in tables.

use crate::benchmark::{FeatureFindings, FoldFeatureFindings};
use crate::phrases::{percent, signed};
use crate::statistics::mean;
use crate::table::{Column, Table};

/// More groups apart than this often by chance is taken for chance.
const ALPHA: f64 = 0.05;

/// The decoders, in the order they come in, and what tells readings of one from another's.
pub fn decoders(readings: &[FoldFeatureFindings]) -> Vec<(String, Vec<&FoldFeatureFindings>)> {
    let of = |r: &FoldFeatureFindings| (r.data.clone(), r.protocol.clone());
    let several = readings.iter().any(|r| of(r) != of(&readings[0]));
    let mut all: Vec<(String, Vec<&FoldFeatureFindings>)> = vec![];
    for reading in readings {
        let mut name = reading.model.clone();
        if several {
            name += &format!(", {} {}", reading.data, reading.protocol);
        }
        if let Some(units) = &reading.trained_on {
            name += &format!(", trained on {units}");
        }
        // A single test subject is told from others by its runs, which is another question.
        if reading.subject_count == 1 && readings.iter().any(|other| other.subject_count > 1) {
            name += ", one test subject";
        }
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, own)) => own.push(reading),
            None => all.push((name, vec![reading])),
        }
    }
    all
}

/// A line for each decoder: means over its folds and seeds. None where nothing was measured.
pub fn by_decoder(readings: &[FoldFeatureFindings]) -> Option<Table> {
    if readings.is_empty() {
        return None;
    }
    let some = |values: &[f64]| if values.is_empty() { f64::NAN } else { mean(values) };
    let row = |(name, own): &(String, Vec<&FoldFeatureFindings>)| {
        let mut all: [Vec<f64>; 5] = Default::default();
        for one in own {
            if let FeatureFindings::Measured { distance, exchanged, p, subject_accuracy, subject_chance } =
                &one.reading
            {
                let found = [&Some(*distance), exchanged, p, subject_accuracy, subject_chance];
                all.iter_mut().zip(found).for_each(|(list, value)| list.extend(value));
            }
        }
        let [distances, others, ps, accuracies, chances] = all;
        let range =
            distances.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], d| [a.min(*d), b.max(*d)]);
        let apart = ps.iter().filter(|p| **p <= ALPHA).count();
        vec![
            name.clone(),
            format!("{} of {}", distances.len(), own.len()),
            signed(some(&distances)),
            if distances.is_empty() {
                "-".into()
            } else {
                format!("{} to {}", signed(range[0]), signed(range[1]))
            },
            signed(some(&others)),
            if ps.is_empty() { "-".into() } else { format!("{apart} of {}", ps.len()) },
            percent(some(&accuracies)),
            percent(some(&chances)),
        ]
    };
    Some(Table {
        columns: vec![
            Column::text("decoder"),
            Column::text("fits measured"),
            Column::number("A-distance"),
            Column::text("least to most"),
            Column::number("of any two groups"),
            Column::text("further apart than those"),
            Column::number("subject probe %"),
            Column::number("chance level %"),
        ],
        rows: decoders(readings).iter().map(row).collect(),
        note: note(readings),
    })
}

/// Explains the numbers. A single test subject cannot be exchanged with another.
fn note(readings: &[FoldFeatureFindings]) -> String {
    let mut note = "Proxy A-distance of the task features between training subjects and test subjects, fit by fit: 0 where a linear classifier cannot tell them apart, 2 where it always can.".to_string();
    if readings.iter().any(|r| r.subject_count > 1) {
        note += " The classifier is tested on subjects it was not fitted to. Subjects differ, so any two groups of subjects are apart; a fit counts as further apart where its distance exceeds that of each of 20 pairs of groups drawn at random (p <= 0.05). The subject probe is a linear classifier that tells the test subjects apart by their task features; it is fitted to the first half of their trials and tested on the second.";
    }
    if readings.iter().any(|r| r.subject_count == 1) {
        note += " Where there is one test subject, the classifier was fitted to other runs of that subject: the distance says how far the subject is from all others, and it is large for every subject.";
    }
    let mut reasons: Vec<&str> = readings.iter().filter_map(|r| reason(r)).collect();
    reasons.sort_unstable();
    reasons.dedup();
    if !reasons.is_empty() {
        note += &format!(" Not measured: {}.", reasons.join("; "));
    }
    note
}

/// Why a fit was not measured.
fn reason(reading: &FoldFeatureFindings) -> Option<&str> {
    match &reading.reading {
        FeatureFindings::NotMeasured { why } => Some(why),
        FeatureFindings::Measured { .. } => None,
    }
}

/// A line for each fit, numbers in full.
pub fn by_fit(readings: &[FoldFeatureFindings]) -> Table {
    let names = [
        "data",
        "protocol",
        "model",
        "learnt",
        "fold",
        "seed",
        "people",
        "distance",
        "exchanged",
        "p",
        "person",
        "person_chance",
        "why_not",
    ];
    let row = |r: &FoldFeatureFindings| {
        let mut row = vec![
            r.data.clone(),
            r.protocol.clone(),
            r.model.clone(),
            r.trained_on.clone().unwrap_or_else(|| "all".into()),
            r.fold.to_string(),
            r.seed.to_string(),
            r.subject_count.to_string(),
        ];
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        match &r.reading {
            FeatureFindings::Measured { distance, exchanged, p, subject_accuracy, subject_chance } => {
                row.extend([Some(*distance), *exchanged, *p, *subject_accuracy, *subject_chance].map(number));
                row.push(String::new());
            }
            FeatureFindings::NotMeasured { why } => {
                row.extend([const { String::new() }; 5]);
                row.push(why.clone());
            }
        }
        row
    };
    Table {
        columns: names.map(Column::text).into(),
        rows: readings.iter().map(row).collect(),
        note: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(model: &str, fold: usize, seed: u64, distance: f64) -> FoldFeatureFindings {
        let reading = FeatureFindings::Measured {
            distance,
            exchanged: Some(0.5),
            p: Some(if distance > 1.0 { 0.05 } else { 0.4 }),
            subject_accuracy: Some(0.75),
            subject_chance: Some(0.25),
        };
        FoldFeatureFindings {
            model: model.into(),
            data: "a".into(),
            protocol: "kfold:2".into(),
            trained_on: None,
            fold,
            seed,
            subject_count: 4,
            reading,
        }
    }

    #[test]
    fn folds_are_means_over_seeds_and_what_was_not_measured_says_why() {
        let not = FeatureFindings::NotMeasured { why: "no features".into() };
        let csp = FoldFeatureFindings { reading: not, ..one("csp-lda", 0, 1, 0.0) };
        let all = [one("ptsm", 0, 1, 0.2), one("ptsm", 0, 2, 0.4), one("ptsm", 1, 1, 1.5), csp];
        let table = by_decoder(&all).unwrap();
        assert_eq!(
            table.rows[0],
            ["ptsm", "3 of 3", "+0.70", "+0.20 to +1.50", "+0.50", "1 of 3", "75.0", "25.0"]
        );
        assert_eq!(table.rows[1], ["csp-lda", "0 of 1", "-", "-", "-", "-", "-", "-"]);
        assert!(
            table.note.contains("20 pairs of groups") && table.note.ends_with(" Not measured: no features.")
        );
        assert!(!table.note.contains("other runs"));
        assert_eq!(by_fit(&all).rows[3][12], "no features");
    }
}

//! What trials are of, and events of a recording.

use super::trials::Trials;
use crate::error::Result;
use crate::limit::MOST;
use crate::mat::{FieldDetail, MatFile, Value};
use crate::recording_file::Annotation;

/// The first column of `trialinfo`, a text for each trial; empty where there is none.
pub(super) fn codes(record: &Value, count: usize, notes: &mut Vec<String>) -> Vec<String> {
    let info = record.field("trialinfo");
    let column = info.and_then(|info| {
        let [rows, columns] = info.dims()[..] else { return None };
        // One row of as many numbers as there are trials is meant as a column.
        let numbers = info.vector()?;
        match (rows, columns) {
            (rows, 1..) if rows == count => Some(numbers.get(..count)?.to_vec()),
            (1, columns) if columns == count && numbers.len() == count => Some(numbers),
            _ => None,
        }
    });
    match column {
        Some(column) => {
            column.into_iter().map(|n| if n.is_nan() { String::new() } else { n.to_string() }).collect()
        }
        None => {
            if count > 1 {
                let why = match info {
                    None => "there is no `trialinfo`".to_string(),
                    Some(Value::Opaque(class)) => format!("`trialinfo` is a {class}, not numbers"),
                    Some(info) => format!("`trialinfo` has the sizes {:?}", info.dims()),
                };
                notes.push(format!("{why}: it is not said what the {count} trials are of"));
            }
            vec![String::new(); count]
        }
    }
}

/// Events of a variable `event` beside the recording: each with a sample, counted from 1, and a value, or a type where it has none.
pub(super) fn read(
    file: &MatFile,
    record: &Value,
    trials: &Trials,
    notes: &mut Vec<String>,
) -> Result<Vec<Annotation>> {
    let names = file.names();
    let Some(name) = ["event", "events"].into_iter().find(|name| names.iter().any(|known| known == name))
    else {
        return Ok(vec![]);
    };
    let want = |path: &[&str]| match path {
        [] | ["type" | "value" | "sample" | "duration"] => FieldDetail::Whole,
        _ => FieldDetail::Nothing,
    };
    let (list, _) = file.survey(name, &want)?;
    if list.count() > MOST || list.element(0, "sample").is_none() {
        notes.push(format!("`{name}` is no list of events"));
        return Ok(vec![]);
    }
    // Which sample of the original recording is the first one here.
    let begin = record.field("sampleinfo").and_then(Value::vector).and_then(|info| info.first().copied());
    let begin = begin.filter(|begin| begin.is_finite()).unwrap_or(1.0);
    let (mut annotations, mut without) = (vec![], 0);
    for i in 0..list.count() {
        let label = |name: &str| list.element(i, name).and_then(Value::label).filter(|text| !text.is_empty());
        let sample = list.element(i, "sample").and_then(Value::number).filter(|sample| sample.is_finite());
        let (Some(text), Some(sample)) = (label("value").or_else(|| label("type")), sample) else {
            without += 1;
            continue;
        };
        let at = (sample - begin).round();
        let duration = list.element(i, "duration").and_then(Value::number);
        annotations.push(Annotation {
            onset_s: at / trials.rate_hz,
            duration_s: duration.filter(|d| (0.0..1e15).contains(d)).unwrap_or(0.0) / trials.rate_hz,
            sample: (0.0..trials.samples as f64).contains(&at).then_some(at as usize),
            text,
        });
    }
    if without > 0 {
        notes.push(format!(
            "{without} of {} events have no value or no sample and are left out",
            list.count()
        ));
    }
    Ok(annotations)
}

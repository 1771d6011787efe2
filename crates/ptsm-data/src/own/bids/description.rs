//! `eeg.json` and `coordsystem.json`: what is said of a recording besides its samples.

use std::path::Path;

use ptsm_io::RecordingFile;
use serde_json::{Map, Value};

/// Descriptions from the root down, as one: deeper values win. What cannot be read says nothing.
pub(super) fn merged<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Map<String, Value> {
    let mut all = Map::new();
    for path in paths {
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if let Ok(Value::Object(own)) = serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            all.extend(own);
        }
    }
    all
}

/// Holds a recording against its description. Gives what the user should know.
pub(super) fn apply(file: &mut RecordingFile, about: &Map<String, Value>) -> Vec<String> {
    let number = |key: &str| about.get(key).and_then(Value::as_f64);
    let mut notes = vec![];
    if let Some(rate) = number("SamplingFrequency")
        && (rate - file.rate_hz()).abs() > 1e-3 * file.rate_hz()
    {
        notes.push(format!(
            "its `eeg.json` says {rate} Hz, the recording {} Hz, which is taken",
            file.rate_hz()
        ));
    }
    let kind = about.get("RecordingType").and_then(Value::as_str).unwrap_or_default();
    let whole = file.segments().len() == 1 && file.epochs().is_none();
    match kind {
        "epoched" if whole => {
            let each = number("EpochLength").map_or(0.0, |length| (length * file.rate_hz()).round());
            let each = if each >= 1.0 { each as usize } else { 0 };
            if each > 0 && file.length().is_multiple_of(each) {
                file.set_breaks((0..file.length()).step_by(each).collect());
            } else {
                notes.push("its `eeg.json` says that it is made of pieces, but not where they end".into());
            }
        }
        "discontinuous" if whole => {
            notes.push("its `eeg.json` says that it has gaps, but nothing tells where they are".into());
        }
        _ => {}
    }
    notes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::super::super::signals::tests::{made, named};
    use super::*;
    use ptsm_io::Segment;

    fn file() -> RecordingFile {
        made(named(&["C3"], 100.0, 400), &[])
    }

    fn notes(file: &mut RecordingFile, about: Value) -> Vec<String> {
        apply(file, about.as_object().unwrap())
    }

    #[test]
    fn the_recording_wins_and_differences_are_reported() {
        assert!(
            notes(&mut file(), json!({"SamplingFrequency": 100.01, "PowerLineFrequency": "n/a"})).is_empty()
        );
        let said = notes(&mut file(), json!({"SamplingFrequency": 500}));
        assert_eq!(said, ["its `eeg.json` says 500 Hz, the recording 100 Hz, which is taken"]);
        assert!(notes(&mut file(), json!({"RecordingType": "discontinuous"}))[0].contains("gaps"));
        assert!(
            notes(&mut file(), json!({"RecordingType": "epoched", "EpochLength": 1.5}))[0].contains("pieces")
        );
    }

    #[test]
    fn pieces_of_a_known_length_have_breaks_between_them() {
        let mut file = file();
        assert!(notes(&mut file, json!({"RecordingType": "epoched", "EpochLength": 1})).is_empty());
        assert_eq!(file.segments().len(), 4);
        assert_eq!(file.segments()[3], Segment { start_s: 3.0, first: 300, samples: 100 });
    }

    #[test]
    fn deeper_values_win_and_damaged_files_say_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, text) in [("a", r#"{"x": 1, "y": 1}"#), ("b", "{ broken"), ("c", "\u{feff}{\"x\": 2}")] {
            std::fs::write(at(name), text).unwrap();
        }
        let all = merged([at("a"), at("b"), at("c"), at("absent")].iter().map(|path| path.as_path()));
        assert_eq!(Value::Object(all), json!({"x": 2, "y": 1}));
    }
}

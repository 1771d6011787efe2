//! Events of a table beside a recording: CSV or TSV with columns of usual names, or a list of MNE (`-eve.fif`, `.eve`).

use std::path::Path;

use ptsm_io::RecordingFile;
use ptsm_io::fif::{is_event_list, read_event_list};
use ptsm_signal::Event;
use serde::Deserialize;

use super::super::classes::technical;
use super::super::table::{Row, TextTable};
use crate::error::{Error, Result};

/// Names of columns, where they are not the usual ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct Columns {
    /// Seconds after the first sample.
    onset: Option<String>,
    /// Samples, counted from 0.
    sample: Option<String>,
    /// Samples, counted from 1.
    latency: Option<String>,
    /// Seconds.
    duration: Option<String>,
    /// What the event is of.
    label: Option<String>,
}

/// Usual names, in lower case, the first that is there being taken.
const ONSET: [&str; 8] = ["onset", "onset_s", "onset_sec", "time", "time_s", "start", "start_s", "t"];
const SAMPLE: [&str; 5] = ["sample", "samples", "sample_index", "onset_sample", "sample_number"];
const LATENCY: [&str; 2] = ["latency", "position"];
const DURATION: [&str; 4] = ["duration", "duration_s", "duration_sec", "dur"];
const LABEL: [&str; 17] = [
    "trial_type",
    "label",
    "class",
    "condition",
    "description",
    "event_type",
    "stimulus",
    "stim_type",
    "type",
    "value",
    "code",
    "event",
    "event_id",
    "marker",
    "trigger",
    "annotation",
    "y",
];

/// How many of the names of labels are never those of measurements.
const SURE: usize = 9;

/// How the moment of an event is written.
enum Moment {
    Seconds(usize),
    /// Samples, counted from this number.
    Samples(usize, f64),
}

/// Which column is what.
struct ColumnRoles {
    moment: Moment,
    duration: Option<usize>,
    label: usize,
}

impl Columns {
    /// Which column of a table is what. What is missing is told with all there are.
    fn of(&self, table: &TextTable) -> Result<ColumnRoles, (String, String)> {
        let there = || format!("its columns are {}", table.columns().join(", "));
        let said = |name: &Option<String>| -> Result<Option<usize>, (String, String)> {
            let Some(name) = name else { return Ok(None) };
            match table.column(name) {
                Some(at) => Ok(Some(at)),
                None => Err((format!("has no column `{name}`"), there())),
            }
        };
        let usual = |names: &[&str]| names.iter().find_map(|name| table.column(name));
        let onset = said(&self.onset)?.map(Moment::Seconds);
        let sample = said(&self.sample)?.map(|at| Moment::Samples(at, 0.0));
        let latency = said(&self.latency)?.map(|at| Moment::Samples(at, 1.0));
        let moment = onset
            .or(sample)
            .or(latency)
            .or_else(|| usual(&ONSET).map(Moment::Seconds))
            .or_else(|| usual(&SAMPLE).map(|at| Moment::Samples(at, 0.0)))
            // As EEGLAB exports them.
            .or_else(|| usual(&LATENCY).map(|at| Moment::Samples(at, 1.0)));
        let (Some(moment), Some(label)) = (moment, said(&self.label)?.or_else(|| usual(&LABEL))) else {
            let message = "has no columns with the moment and the label of events".to_string();
            let hint = format!(
                "{}; say which are which: `[columns]` with `onset = \"NAME\"` (seconds), `sample` (from 0) or `latency` (samples from 1), and \
                 `label = \"NAME\"`",
                there()
            );
            return Err((message, hint));
        };
        Ok(ColumnRoles { moment, duration: said(&self.duration)?.or_else(|| usual(&DURATION)), label })
    }
}

/// Whether a table has the columns of events. `surely` are only those that no table of other measurements has: `time` and `value` could
/// be anything.
pub(in super::super) fn is_event_table(path: &Path, surely: bool) -> bool {
    if is_event_list(path) {
        return true;
    }
    let Ok(table) = TextTable::read_any(path) else { return false };
    let has = |names: &[&str]| names.iter().any(|name| table.column(name).is_some());
    let sure = || has(&["onset", "sample", "latency"]) && has(&LABEL[..SURE]);
    Columns::default().of(&table).is_ok() && (!surely || sure())
}

/// Puts the events of a table in the place of the file's own. Annotations of breaks and bad segments stay. Gives what the user should know.
pub(in super::super) fn replace(file: &mut RecordingFile, path: &Path, columns: &Columns) -> Result<()> {
    let refuse = |(message, hint): (String, String)| Error::Content {
        path: path.to_path_buf(),
        message,
        hint: Some(hint),
    };
    if file.epochs().is_some() {
        return Err(refuse((
            "is a table of events for a file of epochs, which have labels of their own".into(),
            "leave `events` out of this `[[recording]]`".into(),
        )));
    }
    let mut events: Vec<Event> =
        file.events().iter().filter(|event| technical(&event.code)).cloned().collect();
    let kept = events.len();
    let listed = match is_event_list(path) {
        true => listed(file, path, &mut events)?,
        false => {
            let table = TextTable::read_any(path)?;
            let meaning = columns.of(&table).map_err(refuse)?;
            tabled(file, &table, &meaning, &mut events).map_err(refuse)?
        }
    };
    let outside = listed - (events.len() - kept);
    if outside > 0 {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Names of files may name people: only what they end in is told.
        let ending = name.rsplit('.').next().unwrap_or_default();
        file.add_note(format!(
            "{outside} of {listed} events of its .{ending} table lie outside of the recording and are not used"
        ));
    }
    events.sort_by_key(|event| event.sample);
    *file.events_mut() = events;
    Ok(())
}

/// Events of a list of MNE; gives how many it has.
fn listed(file: &RecordingFile, path: &Path, events: &mut Vec<Event>) -> Result<usize> {
    let list = read_event_list(path)?;
    for event in &list {
        let onset_s = event.sample.saturating_sub(file.first_sample()) as f64 / file.rate_hz();
        if let Some(sample) = file.sample_at(onset_s) {
            events.push(Event { sample, code: event.value.to_string(), samples: 0 });
        }
    }
    Ok(list.len())
}

/// Events of a table; gives how many it has.
fn tabled(
    file: &RecordingFile,
    table: &TextTable,
    meaning: &ColumnRoles,
    events: &mut Vec<Event>,
) -> Result<usize, (String, String)> {
    for (at, row) in table.rows().enumerate() {
        let number = |column: usize| -> Result<Option<f64>, (String, String)> {
            let Some(text) = row.at(column) else { return Ok(None) };
            number(text).map(Some).ok_or_else(|| {
                (format!("row {}: `{text}` is no number", at + 1), "numbers are written 1.25".into())
            })
        };
        let onset_s = match meaning.moment {
            Moment::Seconds(column) => number(column)?,
            Moment::Samples(column, first) => number(column)?.map(|sample| (sample - first) / file.rate_hz()),
        };
        let Some(sample) = onset_s.and_then(|onset_s| file.sample_at(onset_s)) else { continue };
        let duration_s = meaning.duration.map(number).transpose()?.flatten().unwrap_or(0.0).max(0.0);
        let samples = file.samples_of(sample, duration_s);
        events.push(Event { sample, code: code(row, meaning.label), samples });
    }
    Ok(table.rows().count())
}

/// A number with a point, or with a comma where the cell has no point.
fn number(text: &str) -> Option<f64> {
    let read = text.parse().or_else(|_| text.replace(',', ".").parse());
    read.ok().filter(|number: &f64| number.is_finite())
}

/// What an event is of. Programs write whole numbers as `1.0`.
fn code(row: Row<'_>, column: usize) -> String {
    let text = row.at(column).unwrap_or("n/a");
    match text.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && text.contains('.') => number.to_string(),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::super::signals::tests::{made, named};
    use super::*;

    fn events(name: &str, text: &str, columns: &str) -> Result<Vec<(usize, String, usize)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut file = made(named(&["C3"], 10.0, 100), &[(3, "T9", 0), (4, "BAD_x", 0)]);
        replace(&mut file, &path, &toml::from_str(columns).unwrap())?;
        Ok(file
            .events()
            .iter()
            .map(|e| (e.sample, e.code.clone(), e.samples))
            .filter(|(_, code, _)| code != "BAD_x")
            .collect())
    }

    #[test]
    fn issue_19_tables_of_usual_columns_are_understood() {
        let expected = [(5, "left".to_string(), 10), (20, "right".into(), 0)];
        for (name, text, columns) in [
            ("a.tsv", "onset\tduration\ttrial_type\n0.5\t1\tleft\n2\tn/a\tright\n", ""),
            ("a.csv", "Label,Onset,Duration\nleft,0.5,1\nright,2,\n", ""),
            ("a.csv", "label;time;duration\nleft;0,5;1,0\nright;2,0;\n", ""),
            ("a.csv", "sample,\"label\",duration\n5,\"left\",1\n20,\"right\",0\n", ""),
            ("a.csv", "latency,type,duration\n6,left,1\n21,right,0\n", ""),
            ("a.csv", "when,what,dur\n0.5,left,1\n2,right,0\n", "onset = \"when\"\nlabel = \"what\""),
            ("a.csv", "time,what,dur\n5,left,1\n20,right,0\n", "sample = \"time\"\nlabel = \"what\""),
        ] {
            assert_eq!(events(name, text, columns).unwrap(), expected, "{text}");
        }
        let numbers = events("a.csv", "onset,value\n0,1.0\n1,2.0\n99,1\n", "").unwrap();
        assert_eq!(numbers, [(0, "1".to_string(), 0), (10, "2".into(), 0)]);
        assert_eq!(
            events("a.eve", "5 0 1\n20 0 2\n", "").unwrap(),
            [(5, "1".into(), 0), (20, "2".into(), 0)]
        );
    }

    #[test]
    fn events_end_with_the_recording() {
        let text = "onset,duration,label\n2,1e300,a\n9.9,5,b\n3,-1,c\n";
        let expected = [(20, "a".to_string(), 80), (30, "c".into(), 0), (99, "b".into(), 1)];
        assert_eq!(events("a.csv", text, "").unwrap(), expected);
    }

    #[test]
    fn tables_without_a_moment_or_a_label_are_reported() {
        for (text, columns, says, hints) in [
            (
                "a,b\n1,2\n",
                "",
                "no columns with the moment",
                "its columns are a, b; say which are which: `[columns]`",
            ),
            ("onset,b\n1,2\n", "", "no columns with the moment", "`label = \"NAME\"`"),
            ("onset,label\n1,2\n", "onset = \"when\"", "has no column `when`", "onset, label"),
            ("onset,label\nx,2\n", "", "row 1: `x` is no number", "1.25"),
        ] {
            let error = events("a.csv", text, columns).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.hint().unwrap().contains(hints), "{:?}", error.hint());
        }
    }
}

//! `events.tsv`: what happened when.

use ptsm_io::RecordingFile;
use ptsm_signal::Event;

use super::super::classes::technical;
use super::super::table::TextTable;

/// Puts a table's events in the place of the file's own. Annotations of breaks and bad segments stay. Gives what the user should know.
pub(super) fn replace(file: &mut RecordingFile, table: &TextTable) -> Vec<String> {
    if !table.has("onset") {
        return vec!["its `events.tsv` has no column `onset` and is not used".into()];
    }
    let mut outside = 0;
    let mut events: Vec<Event> =
        file.events().iter().filter(|event| technical(&event.code)).cloned().collect();
    for row in table.rows() {
        let label = row.get("trial_type").or_else(|| row.get("value")).unwrap_or("n/a");
        let Some(sample) = row.number("onset").and_then(|onset| file.sample_at(onset)) else {
            outside += 1;
            continue;
        };
        let duration = row.number("duration").unwrap_or(0.0).max(0.0);
        let samples = file.samples_of(sample, duration);
        events.push(Event { sample, code: label.to_string(), samples });
    }
    events.sort_by_key(|event| event.sample);
    *file.events_mut() = events;
    if outside == 0 {
        return vec![];
    }
    vec!["its `events.tsv` has events outside of the recording, which are not used".into()]
}

#[cfg(test)]
mod tests {
    use super::super::super::signals::tests::{made, named};
    use super::*;

    #[test]
    fn the_table_replaces_what_the_file_says() {
        let events = [(0, "boundary", 0), (3, "T1", 0), (7, "BAD_blink", 0)];
        let mut file = made(named(&["C3"], 10.0, 40), &events);
        let table = TextTable::parse(
            "onset\tduration\ttrial_type\tvalue\tsample\n2.0\t1\tright\t2\t99\n3.0\t1e300\tlong\t3\t0\n0.5\tn/a\tn/a\t7\t0\n-1\t0\tleft\t1\t0\n\
             4.0\t0\tleft\t1\t0\nx\t0\tleft\t1\t0\n1\t0\tn/a\tn/a\t0\n",
        );
        let notes = replace(&mut file, &table);
        let all: Vec<_> = file.events().iter().map(|e| (e.sample, &*e.code, e.samples)).collect();
        assert_eq!(
            all,
            [
                (0, "boundary", 0),
                (5, "7", 0),
                (7, "BAD_blink", 0),
                (10, "n/a", 0),
                (20, "right", 10),
                (30, "long", 10)
            ]
        );
        assert!(notes[0].contains("outside of the recording"), "{notes:?}");
        let notes = replace(&mut file, &TextTable::parse("time\n1\n"));
        assert!(notes[0].contains("no column `onset`") && file.events().len() == 6);
    }
}

//! `channels.tsv`: what each signal is.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_io::SignalKind;
use ptsm_signal::normalise;

use super::super::raw_header::{ChannelHeader, microvolts};
use super::table::{Row, TextTable};

/// Corrects what a file says of its signals. Rows are found by name, whatever their order. Where names differ the file's are
/// kept, unless `rename` says that rows are in the file's order. Gives what the user should know.
pub(super) fn apply(columns: &mut [ChannelHeader], table: &TextTable, rename: bool) -> Vec<String> {
    if !table.has("name") {
        return vec!["its `channels.tsv` has no column `name` and is not used".into()];
    }
    let rows: Vec<Row<'_>> = table.rows().collect();
    let listed: BTreeSet<String> = rows.iter().filter_map(|row| row.get("name")).map(normalise).collect();
    let own: BTreeSet<String> = columns.iter().map(|column| normalise(&column.name)).collect();
    if rename && listed != own && rows.len() == columns.len() {
        for (column, row) in columns.iter_mut().zip(&rows) {
            if let Some(name) = row.get("name") {
                column.rename(name);
            }
            correct(column, *row);
        }
        return vec!["its signals are renamed by their order in `channels.tsv`".into()];
    }
    // Of rows of one name the first counts.
    let named = rows.iter().rev().filter_map(|&row| Some((normalise(row.get("name")?), row)));
    let by_name: BTreeMap<String, Row<'_>> = named.collect();
    for column in columns.iter_mut() {
        if let Some(row) = by_name.get(&normalise(&column.name)) {
            correct(column, *row);
        }
    }
    match listed == own {
        true => vec![],
        false if rows.len() == columns.len() => vec![
            "its `channels.tsv` names other channels than the recording, whose names are kept; `--with mismatch=rename` takes the table's".into(),
        ],
        false => vec![format!(
            "its `channels.tsv` lists {} channels, the recording has {}; they are matched by name",
            rows.len(),
            columns.len()
        )],
    }
}

fn correct(column: &mut ChannelHeader, row: Row<'_>) {
    if let Some(kind) = row.get("type") {
        column.is_of(kind_of(kind));
    }
    if let Some(status) = row.get("status") {
        column.bad = status.eq_ignore_ascii_case("bad");
    }
    if let Some((unit, size)) = row.get("units").and_then(|unit| Some((unit, microvolts(unit)?))) {
        if column.unit.is_empty() && !column.microvolts {
            column.in_unit(unit);
        }
        // Where microvolts are only taken for granted, the table may bear it out, but tables of EEGLAB's files often say volts.
        column.stated |= column.microvolts && size == 1.0;
    }
}

fn kind_of(text: &str) -> SignalKind {
    match &*text.to_uppercase() {
        "EEG" => SignalKind::Eeg,
        "EOG" | "VEOG" | "HEOG" => SignalKind::Eog,
        "ECG" | "EKG" => SignalKind::Ecg,
        "EMG" => SignalKind::Emg,
        text => SignalKind::of_name(text)
            .filter(|kind| *kind == SignalKind::Stimulus)
            .unwrap_or(SignalKind::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &[&str]) -> Vec<ChannelHeader> {
        names
            .iter()
            .map(|name| ChannelHeader { unit: "uV".into(), microvolts: true, ..ChannelHeader::new(*name) })
            .collect()
    }

    #[test]
    fn rows_are_found_by_name() {
        let mut signals = columns(&["C3..", "EXG1", "Cz"]);
        let table = TextTable::parse(
            "name\ttype\tunits\tstatus\nCz\teeg\tuV\tBAD\nEXG1\tveog\tuV\tgood\nC3\tEEG\tV\tn/a\n",
        );
        assert!(apply(&mut signals, &table, true).is_empty());
        assert_eq!(
            signals.iter().map(|s| (s.kind, s.bad)).collect::<Vec<_>>(),
            [(SignalKind::Eeg, false), (SignalKind::Eog, false), (SignalKind::Eeg, true)]
        );
        // The file names a unit, so the table's is not needed.
        assert_eq!(signals[0].factor, 1.0);
    }

    #[test]
    fn other_names_are_taken_only_when_asked_for() {
        let table = TextTable::parse("name\ttype\nC3\tEEG\nC4\tMISC\n");
        let mut signals = columns(&["A1x", "A2x"]);
        assert!(apply(&mut signals, &table, false)[0].contains("mismatch=rename"));
        assert_eq!((&*signals[0].name, signals[1].kind), ("A1x", SignalKind::Eeg));
        assert!(apply(&mut signals, &table, true)[0].contains("renamed"));
        assert_eq!((&*signals[0].name, signals[1].kind), ("C3", SignalKind::Other));
        let mut signals = columns(&["C4", "Cz", "C3"]);
        assert!(apply(&mut signals, &table, true)[0].contains("lists 2 channels, the recording has 3"));
        assert_eq!((&*signals[0].name, signals[0].kind), ("C4", SignalKind::Other));
        assert!(
            apply(&mut signals, &TextTable::parse("channel\nC3\n"), true)[0].contains("no column `name`")
        );
    }

    #[test]
    fn the_type_of_the_table_makes_a_channel_eeg() {
        let mut signals = vec![
            ChannelHeader { unit: "mV".into(), ..ChannelHeader::new("Label") },
            ChannelHeader { kind: SignalKind::Other, ..ChannelHeader::new("x") },
            ChannelHeader::new("C3"),
        ];
        assert_eq!(signals[0].kind, SignalKind::Stimulus);
        apply(&mut signals, &TextTable::parse("name\ttype\nLabel\tEEG\nx\teeg\nC3\tTRIG\n"), false);
        assert_eq!(
            signals.iter().map(|s| s.kind).collect::<Vec<_>>(),
            [SignalKind::Eeg, SignalKind::Eeg, SignalKind::Stimulus]
        );
        assert_eq!((signals[0].factor, signals[0].microvolts), (1e3, true));
    }

    #[test]
    fn units_the_file_does_not_name_come_from_the_table() {
        let mut signals = vec![ChannelHeader::new("C3"), ChannelHeader::new("Cz")];
        apply(&mut signals, &TextTable::parse("name\tunits\nC3\tmV\nCz\tn/a\n"), false);
        assert_eq!((signals[0].factor, signals[0].microvolts, signals[1].microvolts), (1e3, true, false));
    }
}

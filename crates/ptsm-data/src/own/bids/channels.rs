//! `channels.tsv`: what each signal is.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_io::{SignalHeader, SignalKind, voltage};
use ptsm_signal::normalise;

use super::super::table::{Row, TextTable};

/// Corrects what a file says of its signals. Rows are found by name, whatever their order. Where names differ the file's are
/// kept, unless `rename` says that rows are in the file's order. Gives what the user should know.
pub(super) fn apply(signals: &mut [SignalHeader], table: &TextTable, rename: bool) -> Vec<String> {
    if !table.has("name") {
        return vec!["its `channels.tsv` has no column `name` and is not used".into()];
    }
    let rows: Vec<Row<'_>> = table.rows().collect();
    let listed: BTreeSet<String> = rows.iter().filter_map(|row| row.get("name")).map(normalise).collect();
    let own: BTreeSet<String> = signals.iter().map(|signal| normalise(&signal.name)).collect();
    if rename && listed != own && rows.len() == signals.len() {
        for (signal, row) in signals.iter_mut().zip(&rows) {
            if let Some(name) = row.get("name") {
                signal.rename(name);
            }
            correct(signal, *row);
        }
        return vec!["its signals are renamed by their order in `channels.tsv`".into()];
    }
    // Of rows of one name the first counts.
    let named = rows.iter().rev().filter_map(|&row| Some((normalise(row.get("name")?), row)));
    let by_name: BTreeMap<String, Row<'_>> = named.collect();
    for signal in signals.iter_mut() {
        if let Some(row) = by_name.get(&normalise(&signal.name)) {
            correct(signal, *row);
        }
    }
    match listed == own {
        true => vec![],
        false if rows.len() == signals.len() => vec![
            "its `channels.tsv` names other channels than the recording, whose names are kept; `--with mismatch=rename` takes the table's".into(),
        ],
        false => vec![format!(
            "its `channels.tsv` lists {} channels, the recording has {}; they are matched by name",
            rows.len(),
            signals.len()
        )],
    }
}

fn correct(signal: &mut SignalHeader, row: Row<'_>) {
    if let Some(kind) = row.get("type") {
        signal.set_kind(kind_of(kind));
    }
    if let Some(status) = row.get("status") {
        signal.bad = status.eq_ignore_ascii_case("bad");
    }
    if let Some((unit, size)) = row.get("units").and_then(|unit| Some((unit, voltage(unit)?.1))) {
        if signal.unit.is_empty() && !signal.microvolts {
            signal.set_unit(unit);
        }
        // Where microvolts are only taken for granted, the table may bear it out, but tables of EEGLAB's files often say volts.
        signal.unit_given |= signal.microvolts && size == 1.0;
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

    fn named(name: &str) -> SignalHeader {
        SignalHeader::named(name, 1.0, 0)
    }

    fn counted(names: &[&str]) -> Vec<SignalHeader> {
        names.iter().map(|name| SignalHeader::new(*name, 1.0, 0)).collect()
    }

    #[test]
    fn rows_are_found_by_name() {
        let mut signals = counted(&["C3..", "EXG1", "Cz"]);
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
    fn other_names_are_taken_only_when_requested() {
        let table = TextTable::parse("name\ttype\nC3\tEEG\nC4\tMISC\n");
        let mut signals = counted(&["A1x", "A2x"]);
        assert!(apply(&mut signals, &table, false)[0].contains("mismatch=rename"));
        assert_eq!((&*signals[0].name, signals[1].kind), ("A1x", SignalKind::Eeg));
        assert!(apply(&mut signals, &table, true)[0].contains("renamed"));
        assert_eq!((&*signals[0].name, signals[1].kind), ("C3", SignalKind::Other));
        let mut signals = counted(&["C4", "Cz", "C3"]);
        assert!(apply(&mut signals, &table, true)[0].contains("lists 2 channels, the recording has 3"));
        assert_eq!((&*signals[0].name, signals[0].kind), ("C4", SignalKind::Other));
        assert!(
            apply(&mut signals, &TextTable::parse("channel\nC3\n"), true)[0].contains("no column `name`")
        );
    }

    #[test]
    fn the_type_of_the_table_makes_a_channel_eeg() {
        let mut signals = vec![
            SignalHeader { unit: "mV".into(), ..named("Label") },
            SignalHeader { kind: SignalKind::Other, ..named("x") },
            named("C3"),
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
        let mut signals = vec![named("C3"), named("Cz")];
        apply(&mut signals, &TextTable::parse("name\tunits\nC3\tmV\nCz\tn/a\n"), false);
        assert_eq!((signals[0].factor, signals[0].microvolts, signals[1].microvolts), (1e3, true, false));
    }
}

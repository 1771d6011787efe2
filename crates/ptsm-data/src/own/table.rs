//! Tables of text (TSV, CSV): the one reader of the workspace.
//!
//! It is written by hand because tables are: the `csv` crate takes a quote behind a blank (`a, "b, c"`) for a letter, and all lines behind
//! one that is never closed for its cell, so that their events would be lost without a word. Here a quote ends with its line.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result};

/// A table with named columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextTable {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Reads a table of a BIDS folder: columns are separated by tabs, quotes are letters.
    pub(super) fn read_bids(path: &Path) -> Result<TextTable> {
        Ok(TextTable::parse(&decoded(path)?))
    }

    /// Reads a file whose columns are separated by tabs, semicolons or commas, whichever its first line has.
    pub(super) fn read_any(path: &Path) -> Result<TextTable> {
        Ok(TextTable::of(&decoded(path)?, |head| {
            let between = ['\t', ';', ','].into_iter().find(|&sign| head.contains(sign)).unwrap_or('\t');
            move |line: &str| cells(line, between)
        }))
    }

    /// Names of the columns.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Where a column is, whether its name is in capitals or not.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.eq_ignore_ascii_case(name))
    }

    /// The text of a table of a BIDS folder.
    pub(super) fn parse(text: &str) -> TextTable {
        TextTable::of(text, |_| |line: &str| line.split('\t').map(|cell| cell.trim().to_string()).collect())
    }

    /// Text with a line of column names first, which tells how lines are taken apart. Blank lines, blanks around cells, a byte order mark
    /// and either kind of line end do no harm; rows that are too short have no value in the last columns.
    fn of<F: Fn(&str) -> Vec<String>>(text: &str, cells: impl Fn(&str) -> F) -> TextTable {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let Some(head) = lines.next() else { return TextTable::default() };
        let cells = cells(head);
        TextTable { columns: cells(head), rows: lines.map(cells).collect() }
    }

    /// Whether there is a column of this name.
    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// All rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { columns: &self.columns, cells })
    }
}

/// What to do about a table that cannot be read.
fn unread(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => {
            "put it where it is named, or name the one that is there; in a manifest, `events` starts at the manifest's folder"
        }
        _ => "check who may read it",
    }
}

/// The text of a file.
fn decoded(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|error| Error::Content {
        path: path.to_path_buf(),
        message: format!("cannot read: {error}"),
        hint: Some(unread(error.kind()).into()),
    })?;
    let refuse = |message: &str, hint: &str| {
        Err(Error::Content { path: path.to_path_buf(), message: message.into(), hint: Some(hint.into()) })
    };
    if bytes.is_empty() {
        return refuse(
            "is empty: 0 bytes",
            "copy or download it again, or take it away: it is read where it is there",
        );
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return refuse("is text in UTF-16, not in UTF-8", "save it as UTF-8, columns separated by tabs");
    }
    // Tables of other encodings are mostly Latin-1, in which every byte is a letter: units are in \xb5V.
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().map(|&b| char::from(b)).collect());
    Ok(text)
}

/// The cells of a line. Between quotes a separator is a letter, and two quotes are one.
fn cells(line: &str, between: char) -> Vec<String> {
    let (mut all, mut cell, mut quoted) = (vec![], String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            letter if letter == between && !quoted => all.push(std::mem::take(&mut cell).trim().to_string()),
            letter => cell.push(letter),
        }
    }
    all.push(cell.trim().to_string());
    all
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    columns: &'a [String],
    cells: &'a [String],
}

impl<'a> Row<'a> {
    /// The value of a column; none where it is missing, `n/a` or blank.
    pub(super) fn get(self, column: &str) -> Option<&'a str> {
        self.at(self.columns.iter().position(|name| name == column)?)
    }

    /// The value of a column by its place.
    pub(super) fn at(self, column: usize) -> Option<&'a str> {
        let cell = self.cells.get(column)?;
        (!cell.is_empty() && !cell.eq_ignore_ascii_case("n/a")).then_some(cell)
    }

    /// The value of a column as a finite number.
    pub(super) fn number(self, column: &str) -> Option<f64> {
        self.get(column)?.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tables_of_any_editor_are_read() {
        let table =
            TextTable::parse("\u{feff}onset\tduration\ttrial_type\r\n0.5 \t n/a\tleft hand\r\n\r\n-1\t2\r\n");
        assert!(table.has("onset") && !table.has("value"));
        let rows: Vec<Row<'_>> = table.rows().collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].number("onset"), rows[0].get("duration")), (Some(0.5), None));
        assert_eq!(rows[0].get("trial_type"), Some("left hand"));
        assert_eq!((rows[1].number("onset"), rows[1].get("trial_type")), (Some(-1.0), None));
        assert_eq!(TextTable::parse(""), TextTable::default());
        assert_eq!(TextTable::parse("a\nNaN\ninf\n").rows().filter_map(|row| row.number("a")).count(), 0);
    }

    #[test]
    fn separators_and_quotes_are_understood() {
        assert_eq!(cells("a, \"b, \"\"c\"\"\" ,,d", ','), ["a", "b, \"c\"", "", "d"]);
        assert_eq!(cells("1,5;x", ';'), ["1,5", "x"]);
        // A quote that is not closed ends with its line.
        assert_eq!(cells("a,\"5 inch,b", ','), ["a", "5 inch,b"]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        for text in ["\u{feff}Onset;b\n1;x\n", "onset\tb\n1\tx\n", "onset,b\r\n\r\n1,x\r\n"] {
            std::fs::write(&path, text).unwrap();
            let table = TextTable::read_any(&path).unwrap();
            assert_eq!((table.column("ONSET"), table.columns()[1].as_str()), (Some(0), "b"));
            assert_eq!(table.rows().next().unwrap().at(1), Some("x"));
        }
    }

    #[test]
    fn encodings_of_tables_are_distinguished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("channels.tsv");
        std::fs::write(&path, b"name\tunits\nC3\t\xb5V\n").unwrap();
        assert_eq!(TextTable::read_bids(&path).unwrap().rows().next().unwrap().get("units"), Some("\u{b5}V"));
        for (bytes, says) in [(&b""[..], "is empty: 0 bytes"), (b"\xff\xfen\0", "UTF-16")] {
            std::fs::write(&path, bytes).unwrap();
            let error = TextTable::read_bids(&path).unwrap_err();
            assert!(error.to_string().contains(says) && error.hint().is_some(), "{error}");
        }
    }

    #[test]
    fn a_table_that_is_not_there_is_named() {
        let error = TextTable::read_bids(Path::new("absent/events.tsv")).unwrap_err();
        assert!(error.to_string().contains("events.tsv: cannot read"), "{error}");
        assert!(error.hint().unwrap().contains("put it where it is named"), "{:?}", error.hint());
        // A folder is there, and cannot be read as a table.
        let folder = tempfile::tempdir().unwrap();
        let error = TextTable::read_bids(folder.path()).unwrap_err();
        assert_eq!(error.hint(), Some("check who may read it"));
    }
}

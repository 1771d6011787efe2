//! A table of text cells: as CSV, as plain text for a terminal, as Markdown and as LaTeX.

mod markup;
mod terminal;

use serde::{Deserialize, Serialize};

pub use terminal::width;

/// On which side a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// The head of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name.
    pub header: String,
    /// The side of its cells.
    pub align: Align,
}

impl Column {
    /// A column of words.
    pub fn text(header: impl Into<String>) -> Column {
        Column { header: header.into(), align: Align::Left }
    }

    /// A column of numbers.
    pub fn number(header: impl Into<String>) -> Column {
        Column { header: header.into(), align: Align::Right }
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows; a short row is filled with empty cells, what is beyond the last column is not shown.
    pub rows: Vec<Vec<String>>,
    /// One sentence under it, or nothing.
    pub note: String,
}

impl Table {
    /// The cells of a row, one for each column.
    pub fn cells<'a>(&'a self, row: &'a [String]) -> impl Iterator<Item = (&'a Column, &'a str)> {
        self.columns
            .iter()
            .enumerate()
            .map(|(index, column)| (column, row.get(index).map_or("", String::as_str)))
    }

    /// The table as CSV (RFC 4180, lines end with a plain line feed).
    pub fn to_csv(&self) -> String {
        let mut text = line(self.columns.iter().map(|column| column.header.as_str()));
        for row in &self.rows {
            text += &line(self.cells(row).map(|(_, cell)| cell));
        }
        text
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.map(csv_cell).collect::<Vec<_>>().join(",") + "\n"
}

/// A text as a cell of CSV: in quotes where it would be taken for several.
pub fn csv_cell(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_needs_it_and_fills_short_rows() {
        let table = Table {
            columns: vec![Column::text("who"), Column::number("score, %")],
            rows: vec![vec!["a \"b\"".into(), "1".into()], vec!["<script>".into()]],
            note: String::new(),
        };
        assert_eq!(table.to_csv(), "who,\"score, %\"\n\"a \"\"b\"\"\",1\n<script>,\n");
    }
}

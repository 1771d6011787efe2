//! A table of text cells: as HTML, as CSV and, in [`crate::terminal`], as plain text.

use serde::{Deserialize, Serialize};

use crate::svg::escape;

/// Rows shown on a page; a longer table shows every few rows, its CSV all.
const MOST_ROWS: usize = 130;

/// The last rows of a longer table, which it always shows: means and their intervals stand there.
const LAST_ROWS: usize = 3;

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
    pub(crate) fn cells<'a>(&'a self, row: &'a [String]) -> impl Iterator<Item = (&'a Column, &'a str)> {
        self.columns
            .iter()
            .enumerate()
            .map(|(index, column)| (column, row.get(index).map_or("", String::as_str)))
    }

    /// The table as HTML; the first cell of a row is its heading.
    pub fn html(&self, caption: &str) -> String {
        let head: String = self
            .columns
            .iter()
            .map(|column| format!("<th scope=\"col\"{}>{}</th>", class(column), escape(&column.header)))
            .collect();
        let every = self.rows.len().div_ceil(MOST_ROWS).max(1);
        let mut body = String::new();
        // The first and the last rows always: they are the ends of a course, and where means stand.
        let kept = if every > 1 { LAST_ROWS } else { 0 };
        let shown = |index: usize| index.is_multiple_of(every) || index + kept >= self.rows.len();
        for (_, row) in self.rows.iter().enumerate().filter(|(index, _)| shown(*index)) {
            body.push_str("<tr>");
            for (index, (column, cell)) in self.cells(row).enumerate() {
                let cell = escape(cell);
                match index {
                    0 => body += &format!("<th scope=\"row\"{}>{cell}</th>", class(column)),
                    _ => body += &format!("<td{}>{cell}</td>", class(column)),
                }
            }
            body.push_str("</tr>");
        }
        let mut thinned = String::new();
        if every > 1 {
            let count = self.rows.len();
            thinned = format!(
                "<p class=\"note thinned\">One row in {every} is shown, and the last {kept}; the CSV file has all {count}.</p>"
            );
        }
        let note = match self.note.is_empty() {
            true => String::new(),
            false => format!("<p class=\"note\">{}</p>", escape(&self.note)),
        };
        let mark = if every > 1 { " data-thinned=\"\"" } else { "" };
        let caption = escape(caption);
        format!(
            "<div class=\"scroll\" role=\"group\" aria-label=\"{caption}\" tabindex=\"0\"{mark}><table>\
             <caption class=\"unseen\">{caption}</caption><thead><tr>{head}</tr></thead>\
             <tbody>{body}</tbody></table></div>{note}{thinned}"
        )
    }

    /// The table as CSV (RFC 4180, lines end with a plain line feed).
    pub fn to_csv(&self) -> String {
        let mut text = line(self.columns.iter().map(|column| column.header.as_str()));
        for row in &self.rows {
            text += &line(self.cells(row).map(|(_, cell)| cell));
        }
        text
    }

    /// A link that saves the CSV; the file is inside the link.
    pub fn csv_link(&self, name: &str) -> String {
        let file: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .take(60)
            .collect();
        let words: Vec<&str> = file.split('-').filter(|word| !word.is_empty()).collect();
        let file = if words.is_empty() { "table".into() } else { words.join("-") };
        format!(
            "<a class=\"csv\" download=\"{file}.csv\" href=\"data:text/csv;charset=utf-8,{}\">Save as CSV\
             <span class=\"unseen\">: {}</span></a>",
            percent(&self.to_csv()),
            escape(name)
        )
    }
}

fn class(column: &Column) -> &'static str {
    match column.align {
        Align::Left => "",
        Align::Right => " class=\"number\"",
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = cells
        .map(|cell| {
            if cell.contains(['"', ',', '\n', '\r']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.to_string()
            }
        })
        .collect();
    quoted.join(",") + "\n"
}

/// Text for the body of a data link: safe in a URL and in a quoted attribute.
fn percent(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~,:;/()*!".contains(&byte) {
            safe.push(byte as char);
        } else {
            safe += &format!("%{byte:02X}");
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            columns: vec![Column::text("who"), Column::number("score, %")],
            rows: vec![vec!["a \"b\"".into(), "1".into()], vec!["<script>".into()]],
            note: String::new(),
        }
    }

    #[test]
    fn csv_quotes_what_needs_it_and_fills_short_rows() {
        assert_eq!(table().to_csv(), "who,\"score, %\"\n\"a \"\"b\"\"\",1\n<script>,\n");
    }

    #[test]
    fn links_and_cells_are_escaped() {
        let link = table().csv_link("A <b> \"c\"");
        assert!(link.contains("download=\"a-b-c.csv\""));
        assert!(
            link.contains("who,%22score,%20%25%22%0A%22a%20%22%22b%22%22%22,1%0A%3Cscript%3E,%0A"),
            "{link}"
        );
        assert!(table().html("x").contains("&lt;script&gt;"));
    }

    #[test]
    fn long_tables_are_thinned_on_the_page_only() {
        let long = Table { rows: vec![vec!["x".into(), "1".into()]; 640], ..table() };
        let html = long.html("long");
        assert_eq!(html.matches("<tr>").count() - 1, 128 + 3);
        assert!(html.contains("One row in 5 is shown, and the last 3; the CSV file has all 640."));
        assert_eq!(long.to_csv().lines().count(), 641);
    }

    #[test]
    fn the_last_rows_are_always_shown() {
        for count in 1..400 {
            let rows = (0..count).map(|index| vec![format!("row {index}")]).collect();
            let html = Table { rows, ..table() }.html("t");
            for index in (0..count).rev().take(LAST_ROWS).chain([0]) {
                assert_eq!(html.matches(&format!(">row {index}<")).count(), 1, "{index} of {count}");
            }
            assert!(html.matches("<tr>").count() <= 1 + MOST_ROWS + LAST_ROWS);
        }
    }
}

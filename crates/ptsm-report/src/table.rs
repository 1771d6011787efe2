//! A table of text cells as HTML, with a link that saves it as CSV.

use ptsm_eval::{Align, Column, Table};

use crate::svg::escape;

/// Rows shown on a page; a longer table shows every few rows, its CSV all.
const MOST_ROWS: usize = 130;

/// The last rows of a longer table, which it always shows: means and their intervals stand there.
const LAST_ROWS: usize = 3;

/// The table as HTML; the first cell of a row is its heading.
pub(crate) fn table_html(table: &Table, caption: &str) -> String {
    let head: String = table
        .columns
        .iter()
        .map(|column| format!("<th scope=\"col\"{}>{}</th>", class(column), escape(&column.header)))
        .collect();
    let every = table.rows.len().div_ceil(MOST_ROWS).max(1);
    let mut body = String::new();
    // The first and the last rows always: they are the ends of a course, and where means stand.
    let kept = if every > 1 { LAST_ROWS } else { 0 };
    let shown = |index: usize| index.is_multiple_of(every) || index + kept >= table.rows.len();
    for (_, row) in table.rows.iter().enumerate().filter(|(index, _)| shown(*index)) {
        body.push_str("<tr>");
        for (index, (column, cell)) in table.cells(row).enumerate() {
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
        let count = table.rows.len();
        thinned = format!(
            "<p class=\"note thinned\">One row in {every} is shown, and the last {kept}; the CSV file has all {count}.</p>"
        );
    }
    let note = match table.note.is_empty() {
        true => String::new(),
        false => format!("<p class=\"note\">{}</p>", escape(&table.note)),
    };
    let mark = if every > 1 { " data-thinned=\"\"" } else { "" };
    let caption = escape(caption);
    format!(
        "<div class=\"scroll\" role=\"group\" aria-label=\"{caption}\" tabindex=\"0\"{mark}><table>\
         <caption class=\"unseen\">{caption}</caption><thead><tr>{head}</tr></thead>\
         <tbody>{body}</tbody></table></div>{note}{thinned}"
    )
}

/// A link that saves the CSV; the file is inside the link.
pub(crate) fn csv_link(table: &Table, name: &str) -> String {
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
        percent(&table.to_csv()),
        escape(name)
    )
}

fn class(column: &Column) -> &'static str {
    match column.align {
        Align::Left => "",
        Align::Right => " class=\"number\"",
    }
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
    fn links_and_cells_are_escaped() {
        let link = csv_link(&table(), "A <b> \"c\"");
        assert!(link.contains("download=\"a-b-c.csv\""));
        assert!(
            link.contains("who,%22score,%20%25%22%0A%22a%20%22%22b%22%22%22,1%0A%3Cscript%3E,%0A"),
            "{link}"
        );
        assert!(table_html(&table(), "x").contains("&lt;script&gt;"));
    }

    #[test]
    fn long_tables_are_thinned_on_the_page_only() {
        let long = Table { rows: vec![vec!["x".into(), "1".into()]; 640], ..table() };
        let html = table_html(&long, "long");
        assert_eq!(html.matches("<tr>").count() - 1, 128 + 3);
        assert!(html.contains("One row in 5 is shown, and the last 3; the CSV file has all 640."));
        assert_eq!(long.to_csv().lines().count(), 641);
    }

    #[test]
    fn the_last_rows_are_always_shown() {
        for count in 1..400 {
            let rows = (0..count).map(|index| vec![format!("row {index}")]).collect();
            let html = table_html(&Table { rows, ..table() }, "t");
            for index in (0..count).rev().take(LAST_ROWS).chain([0]) {
                assert_eq!(html.matches(&format!(">row {index}<")).count(), 1, "{index} of {count}");
            }
            assert!(html.matches("<tr>").count() <= 1 + MOST_ROWS + LAST_ROWS);
        }
    }
}

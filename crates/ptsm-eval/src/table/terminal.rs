//! Plain text for a terminal: aligned tables. No colour, no control characters.

use std::fmt;

use super::{Align, Table};

/// Columns a text takes in a terminal: wide East Asian characters two, combining marks none.
pub fn width(text: &str) -> usize {
    text.chars().map(character_width).sum()
}

fn character_width(character: char) -> usize {
    match u32::from(character) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60 => 2,
        0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// A name from a file could move the cursor or change colours; it must not.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

impl fmt::Display for Table {
    /// Aligned columns under their headers; the note last. Every line ends with a line feed, none with a space.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<String> = self.columns.iter().map(|column| printable(&column.header)).collect();
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| self.cells(row).map(|(_, cell)| printable(cell)).collect()).collect();
        let widths: Vec<usize> = (0..headers.len())
            .map(|index| rows.iter().chain([&headers]).map(|row| width(&row[index])).max().unwrap_or(0))
            .collect();
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        for row in [&headers, &rule].into_iter().chain(&rows) {
            let mut line = String::new();
            for ((cell, column), full_width) in row.iter().zip(&self.columns).zip(&widths) {
                let pad = " ".repeat(full_width.saturating_sub(width(cell)));
                match column.align {
                    Align::Left => line += &format!("{cell}{pad}  "),
                    Align::Right => line += &format!("{pad}{cell}  "),
                }
            }
            writeln!(formatter, "{}", line.trim_end())?;
        }
        if !self.note.is_empty() {
            writeln!(formatter, "{}", printable(&self.note))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    #[test]
    fn columns_line_up() {
        let table = Table {
            columns: vec![Column::text("subject"), Column::number("accuracy")],
            rows: vec![
                vec!["S01".into(), "0.91".into()],
                vec!["名前".into(), "0.5".into()],
                vec!["e\u{301}".into()],
            ],
            note: "chance is 0.5".into(),
        };
        let expected = "subject  accuracy\n───────  ────────\nS01          0.91\n名前          0.5\ne\u{301}\nchance is 0.5\n";
        assert_eq!(table.to_string(), expected);
        assert_eq!(Table::default().to_string(), "\n\n");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        let table = Table { columns: vec![Column::text("\u{1b}[31mred")], ..Table::default() };
        assert!(!table.to_string().contains('\u{1b}'));
    }
}

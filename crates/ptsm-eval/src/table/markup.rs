//! Tables for other people's documents: Markdown and LaTeX.

use super::{Align, Table};

impl Table {
    /// The table as Markdown, its note below.
    pub fn to_markdown(&self) -> String {
        let cell = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ");
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = row(self.columns.iter().map(|c| cell(&c.header)).collect());
        let rule = |align: Align| if align == Align::Right { "---:" } else { "---" };
        text += &row(self.columns.iter().map(|c| rule(c.align).to_string()).collect());
        for own in &self.rows {
            text += &row(self.cells(own).map(|(_, text)| cell(text)).collect());
        }
        if !self.note.is_empty() {
            text += &format!("\n{}\n", self.note);
        }
        text
    }

    /// The table as LaTeX for the package `booktabs`, with a caption and its note below.
    pub fn to_latex(&self, caption: &str) -> String {
        let sides: String =
            self.columns.iter().map(|c| if c.align == Align::Right { 'r' } else { 'l' }).collect();
        let row = |cells: Vec<String>| format!("    {} \\\\\n", cells.join(" & "));
        let mut text = format!(
            "\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\begin{{tabular}}{{{sides}}}\n    \\toprule\n",
            latex(caption)
        );
        text += &row(self.columns.iter().map(|c| latex(&c.header)).collect());
        text += "    \\midrule\n";
        for own in &self.rows {
            text += &row(self.cells(own).map(|(_, text)| latex(text)).collect());
        }
        text += "    \\bottomrule\n  \\end{tabular}\n";
        if !self.note.is_empty() {
            text += &format!("  \\par\\smallskip\\footnotesize {}\n", latex(&self.note));
        }
        text + "\\end{table}\n"
    }
}

/// Text with everything escaped that LaTeX takes for more than a letter.
fn latex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::table::{Column, Table};

    fn table() -> Table {
        Table {
            columns: vec![Column::text("model"), Column::number("accuracy %")],
            rows: vec![vec!["ptsm, a|b".into(), "80.1".into()], vec!["p_300 < x".into()]],
            note: "50 % is chance.".into(),
        }
    }

    #[test]
    fn markdown() {
        assert_eq!(
            table().to_markdown(),
            "| model | accuracy % |\n| --- | ---: |\n| ptsm, a\\|b | 80.1 |\n| p_300 < x |  |\n\n50 % is chance.\n"
        );
    }

    #[test]
    fn latex() {
        let text = table().to_latex("Means & spreads");
        for part in [
            "\\caption{Means \\& spreads}",
            "{tabular}{lr}",
            "    model & accuracy \\% \\\\\n",
            "    p\\_300 \\textless{} x &  \\\\\n",
            "50 \\% is chance.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }
}

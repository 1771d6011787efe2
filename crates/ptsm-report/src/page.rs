//! A page: sections of figures, tables, facts and text, as one HTML file.

use sha2::{Digest, Sha256};

use ptsm_eval::Table;

use crate::colour;
use crate::drawing::Figure;
use crate::svg::{FIGURE_RULES, escape};
use crate::table::{csv_link, table_html};

const PAGE_RULES: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// One number worth reading first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fact {
    /// What it is.
    pub label: String,
    /// The number, with its unit.
    pub value: String,
    /// What it means or how sure it is; may be empty.
    pub note: String,
}

/// A piece of a section.
pub enum SectionPart {
    /// A figure with its table.
    Figure(Figure),
    /// A table and its name.
    Table(String, Table),
    /// A paragraph.
    Text(String),
    /// Numbers to read first.
    Facts(Vec<Fact>),
    /// Why there is nothing here.
    Absent(String),
}

/// A part of a page under one heading.
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// One sentence on what it shows and how to read it.
    pub lead: String,
    /// Its content.
    pub parts: Vec<SectionPart>,
}

impl Section {
    /// A section that cannot be shown, and why: what is missing and how to get it.
    pub fn absent(heading: impl Into<String>, why: impl Into<String>) -> Section {
        Section { heading: heading.into(), lead: String::new(), parts: vec![SectionPart::Absent(why.into())] }
    }
}

/// A page.
#[derive(Default)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// One sentence under the title.
    pub subtitle: String,
    /// What a reader must know before any number, such as that subjects are simulated; may be empty.
    pub notice: String,
    /// Its content.
    pub sections: Vec<Section>,
    /// Where it comes from: command, version, date; may be empty.
    pub footer: String,
}

impl Page {
    /// The page as one HTML file, well-formed as XML too. It can be read without its script; it needs no network, and forbids the
    /// browser every connection and every script but its own.
    pub fn html(&self) -> String {
        let mut figures = 0;
        let body: String = self
            .sections
            .iter()
            .enumerate()
            .map(|(index, section)| {
                format!(
                    "<section aria-labelledby=\"section-{index}\"><h2 id=\"section-{index}\">{}</h2>{}{}</section>",
                    escape(&section.heading),
                    paragraph("lead", &section.lead),
                    parts(&section.parts, &mut figures)
                )
            })
            .collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
             <meta name=\"color-scheme\" content=\"light dark\"/>\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\"/>\
             <title>{title}</title><style>{}{FIGURE_RULES}{PAGE_RULES}</style></head>\n\
             <body><a class=\"skip\" href=\"#content\">Skip to the content</a>\n\
             <header><h1>{title}</h1>{}{}{}</header>\n<main id=\"content\" tabindex=\"-1\">{body}</main>\n{}\n\
             <script>{SCRIPT}</script></body></html>\n",
            base64(&Sha256::digest(SCRIPT)),
            colour::rules(),
            paragraph("subtitle", &self.subtitle),
            paragraph("notice", &self.notice),
            self.contents(),
            if self.footer.is_empty() {
                String::new()
            } else {
                format!("<footer>{}</footer>", escape(&self.footer))
            },
            title = escape(&self.title),
        )
    }

    /// Links to the sections, where there are enough to get lost in.
    fn contents(&self) -> String {
        if self.sections.len() < 4 {
            return String::new();
        }
        let links: String = self
            .sections
            .iter()
            .enumerate()
            .map(|(index, section)| {
                format!("<li><a href=\"#section-{index}\">{}</a></li>", escape(&section.heading))
            })
            .collect();
        format!("<nav aria-label=\"Sections\"><ul>{links}</ul></nav>")
    }
}

fn paragraph(class: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p class=\"{class}\">{}</p>", escape(text)) }
}

/// Figures that follow each other stand side by side where the page is wide enough.
fn parts(parts: &[SectionPart], figures: &mut usize) -> String {
    let mut html = String::new();
    for group in
        parts.chunk_by(|one, next| matches!((one, next), (SectionPart::Figure(_), SectionPart::Figure(_))))
    {
        if matches!(group, [SectionPart::Figure(_), ..]) {
            html += if group.len() > 1 { "<div class=\"figures\">" } else { "<div class=\"figures one\">" };
        }
        for part in group {
            match part {
                SectionPart::Figure(content) => {
                    *figures += 1;
                    html += &figure(content, *figures);
                }
                SectionPart::Table(name, table) => {
                    html += &format!(
                        "<div class=\"card\"><h3>{}</h3>{}{}</div>",
                        escape(name),
                        table_html(table, name),
                        csv_link(table, name)
                    );
                }
                SectionPart::Text(text) => html += &paragraph("text", text),
                SectionPart::Facts(list) => html += &facts(list),
                SectionPart::Absent(why) => {
                    html += &format!("<p class=\"absent\"><b>Not in this report.</b> {}</p>", escape(why));
                }
            }
        }
        if matches!(group, [SectionPart::Figure(_), ..]) {
            html += "</div>";
        }
    }
    html
}

fn figure(figure: &Figure, number: usize) -> String {
    let title = figure.drawing.title();
    let table = figure.drawing.table();
    format!(
        "<figure class=\"card\">{}<figcaption><p>{}</p><p class=\"caution\"><b>Careful:</b> {}</p></figcaption>\
         <details><summary>Show the numbers<span class=\"unseen\">: {}</span></summary>{}{}</details></figure>",
        figure.drawing.svg(&format!("figure-{number}")),
        escape(&figure.reading),
        escape(&figure.caution),
        escape(title),
        table_html(&table, title),
        csv_link(&table, title)
    )
}

fn facts(facts: &[Fact]) -> String {
    let list: String = facts
        .iter()
        .map(|fact| {
            let note = if fact.note.is_empty() {
                String::new()
            } else {
                format!("<dd class=\"note\">{}</dd>", escape(&fact.note))
            };
            format!("<div><dt>{}</dt><dd>{}</dd>{note}</div>", escape(&fact.label), escape(&fact.value))
        })
        .collect();
    if list.is_empty() { list } else { format!("<dl class=\"facts\">{list}</dl>") }
}

/// Bytes as base64 (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let sign = SIGNS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place > three.len() { '=' } else { sign as char });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_fills_the_end() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}

//! Text of headers and markers: code pages, sections, entries.

use std::borrow::Cow;

use crate::error::{Error, Place, Result};

/// An entry of a section, `key=value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    section: &'a str,
    pub(super) key: &'a str,
    pub(super) value: &'a str,
    /// Its line, counted from 1.
    pub(super) line: usize,
}

impl Entry<'_> {
    /// What does not fit here.
    pub(super) fn error(&self, place: &Place, message: impl AsRef<str>) -> Error {
        Error::format(place, format!("line {}, `{}`: {}", self.line, self.key, message.as_ref()))
    }

    /// Its value as a number above zero; a decimal comma is accepted.
    pub(super) fn positive(&self, place: &Place) -> Result<f64> {
        let number: Option<f64> = self.value.replace(',', ".").parse().ok();
        number
            .filter(|number| number.is_finite() && *number > 0.0)
            .ok_or_else(|| self.error(place, format!("`{}` is no number above zero", self.value)))
    }

    /// Its value as a whole number.
    pub(super) fn count(&self, place: &Place) -> Result<usize> {
        self.value.parse().map_err(|_| self.error(place, format!("`{}` is no whole number", self.value)))
    }
}

/// The entries of a file. Sections and keys are the same in any case.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    /// The line that says what the file is.
    pub(super) title: &'a str,
    entries: Vec<Entry<'a>>,
}

impl<'a> Entries<'a> {
    /// Everything before the free text that `[Comment]` opens.
    pub(super) fn of(text: &'a str) -> Entries<'a> {
        let mut section = "";
        let mut entries = vec![];
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.starts_with(';') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name.trim();
                if section.eq_ignore_ascii_case("Comment") {
                    break;
                }
            } else if let Some((key, value)) = line.split_once('=') {
                entries.push(Entry { section, key: key.trim(), value: value.trim(), line: i + 1 });
            }
        }
        Entries { title: text.lines().next().unwrap_or_default().trim(), entries }
    }

    /// All entries of a section.
    pub(super) fn section(&self, name: &str) -> impl Iterator<Item = Entry<'a>> {
        self.entries.iter().filter(move |entry| entry.section.eq_ignore_ascii_case(name)).copied()
    }

    /// One entry; the first where there are several, none where it is empty.
    pub(super) fn get(&self, section: &str, key: &str) -> Option<Entry<'a>> {
        self.section(section)
            .find(|entry| entry.key.eq_ignore_ascii_case(key))
            .filter(|e| !e.value.is_empty())
    }

    /// Whether the first line is that of a file of this kind: `Header` or `Marker`. Blanks and commas in it vary.
    pub(super) fn is(&self, kind: &str) -> bool {
        let title: String = self.title.chars().filter(|c| !c.is_whitespace() && *c != ',').collect();
        let title = title.to_ascii_lowercase();
        let Some((_, title)) = title.split_once("brainvision") else { return false };
        let without = |text: &'_ str, word: &str| text.strip_prefix(word).unwrap_or(text).to_string();
        let title = without(&without(title, "core"), "v-amp");
        let Some(title) = title.strip_prefix("data") else { return false };
        let title = without(title, "exchange");
        let version = title
            .strip_prefix(&*kind.to_ascii_lowercase())
            .and_then(|title| title.strip_prefix("fileversion"));
        version.is_some_and(|version| version.starts_with("1.0") || version.starts_with("2.0"))
    }
}

/// Text in the code page it names; without one UTF-8, or where it is none Windows-1252, which is Latin-1 and more.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if code_page(bytes).is_some_and(|page| page.eq_ignore_ascii_case(b"ANSI")) {
        return windows_1252(bytes);
    }
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => windows_1252(bytes),
    }
}

/// The value of the line `Codepage=`.
fn code_page(bytes: &[u8]) -> Option<&[u8]> {
    bytes.split(|&byte| byte == b'\n').find_map(|line| {
        let line = line.trim_ascii();
        let at = line.iter().position(|&byte| byte == b'=')?;
        line[..at].trim_ascii().eq_ignore_ascii_case(b"Codepage").then(|| line[at + 1..].trim_ascii())
    })
}

/// Every byte is a letter of this code page.
fn windows_1252(bytes: &[u8]) -> Cow<'_, str> {
    encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0
}

/// Text whose commas are written `\1`.
pub(super) fn unescape(text: &str) -> String {
    text.replace("\\1", ",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_pages_are_followed() {
        assert_eq!(decode("Codepage=UTF-8\nµV".as_bytes()), "Codepage=UTF-8\nµV");
        assert_eq!(decode(b"\xef\xbb\xbf\xc2\xb5V"), "µV");
        assert_eq!(decode(b"codepage = ansi\r\n\xb5V \x80"), "codepage = ansi\r\nµV €");
        assert_eq!(decode(b"Codepage=ANSI\n\xc2\xb5V"), "Codepage=ANSI\nÂµV");
        assert_eq!(decode(b"\xb5V"), "µV");
        assert_eq!(decode(b"Codepage=UTF-8\n\xb5V"), "Codepage=UTF-8\nµV");
    }

    #[test]
    fn entries_end_where_free_text_begins() {
        let text = "title\n; A=0\n[One]\nA = 1 \n a=2\nB=\n[two]\nA=3=4\n[Comment]\nB=5\n[One]\nC=6";
        let entries = Entries::of(text);
        assert_eq!(entries.title, "title");
        let a = entries.get("ONE", "a").unwrap();
        assert_eq!((a.value, a.line), ("1", 4));
        assert_eq!(entries.section("one").count(), 3);
        assert_eq!(entries.get("Two", "A").unwrap().value, "3=4");
        assert!(entries.get("One", "B").is_none() && entries.get("One", "C").is_none());
    }

    #[test]
    fn first_lines_vary() {
        let is = |title, kind| Entries::of(title).is(kind);
        for title in [
            "Brain Vision Data Exchange Header File Version 1.0",
            "Brain Vision Data Exchange Header File, Version 2.0",
            "BrainVision Data Exchange Header File Version 1.0",
            "Brain Vision Core Data Header File Version 1.0",
            "Brain Vision Core Data Exchange Header File, Version 1.0",
            "Brain Vision V-Amp Data Header File Version 1.0",
        ] {
            assert!(is(title, "Header") && !is(title, "Marker"), "{title}");
        }
        assert!(is("Brain Vision Data Exchange Marker File, Version 1.0", "Marker"));
        for title in
            ["", "Brain Vision Data Exchange Header File Version 3.0", "Brain Vision", "[Common Infos]"]
        {
            assert!(!is(title, "Header"), "{title}");
        }
    }
}

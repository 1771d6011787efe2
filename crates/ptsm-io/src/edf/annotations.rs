//! Texts about moments, which EDF+ keeps in place of samples: lists of them in each record.
//!
//!   `+12.5` 0x15 `4.1` 0x14 `T1` 0x14 0x00
//!
//! is `T1` at 12.5 s for 4.1 s. The first of each record has no text: it says when the record begins.

use std::collections::HashSet;

use super::header::decimal;
use crate::cursor::latin1;
use crate::error::{Place, Result};
use crate::limit::few_enough;
use crate::recording_file::Annotation;
use crate::records::{Field, Records};

const END_OF_TEXT: u8 = 0x14;
const DURATION: u8 = 0x15;

/// All annotations of a file.
pub(super) struct Annotations {
    /// When each record begins, in seconds after the start the header tells; none where the record does not say. Empty where nothing
    /// is annotated.
    pub(super) starts_s: Vec<Option<f64>>,
    /// With onsets after the same moment and without samples.
    pub(super) annotations: Vec<Annotation>,
    /// Blocks that hold texts behind what is none.
    pub(super) damaged: usize,
}

impl Annotations {
    /// Reads the annotation signals. `labels` are the names of the others.
    pub(super) fn read(
        records: &Records,
        signals: &[Field],
        labels: &HashSet<&str>,
        place: &Place,
    ) -> Result<Annotations> {
        let starts = if signals.is_empty() { 0 } else { records.count };
        let mut all = Annotations { starts_s: Vec::with_capacity(starts), annotations: vec![], damaged: 0 };
        for (i, signal) in signals.iter().enumerate() {
            for block in records.parts(signal) {
                let mut lists = Lists { block, unread: &[] };
                let first = lists.next();
                if i == 0 {
                    all.starts_s.push(first.as_ref().and_then(List::start_s));
                }
                for annotation in
                    first.into_iter().chain(lists.by_ref()).flat_map(|list| list.annotations(labels))
                {
                    few_enough(all.annotations.len() + 1, "annotations", place)?;
                    all.annotations.push(annotation);
                }
                all.damaged += usize::from(lists.unread.contains(&END_OF_TEXT));
            }
        }
        Ok(all)
    }
}

/// The lists of one block, up to the first byte that cannot begin one.
struct Lists<'a> {
    block: &'a [u8],
    /// What is behind that byte, once it is met.
    unread: &'a [u8],
}

/// Texts about one moment.
struct List<'a> {
    onset_s: f64,
    duration_s: f64,
    texts: &'a [u8],
}

impl<'a> Iterator for Lists<'a> {
    type Item = List<'a>;

    fn next(&mut self) -> Option<List<'a>> {
        let block = std::mem::take(&mut self.block);
        let length = block.iter().position(|&byte| byte == 0).unwrap_or(block.len());
        let Some(list) = List::read(&block[..length]) else {
            if !block.is_empty() {
                self.unread = block;
            }
            return None;
        };
        self.block = block.get(length + 1..).unwrap_or_default();
        Some(list)
    }
}

impl<'a> List<'a> {
    fn read(bytes: &'a [u8]) -> Option<List<'a>> {
        let head = bytes.iter().position(|&byte| byte == END_OF_TEXT)?;
        let mut times = bytes[..head].splitn(2, |&byte| byte == DURATION);
        let onset = times.next().filter(|onset| onset.starts_with(b"+") || onset.starts_with(b"-"));
        let onset_s = onset.and_then(seconds)?;
        // A duration that is none is as good as not told.
        let duration_s = times.next().and_then(seconds).unwrap_or(0.0).max(0.0);
        Some(List { onset_s, duration_s, texts: &bytes[head + 1..] })
    }

    /// When the record begins, if this is its first list: one whose first text is empty.
    fn start_s(&self) -> Option<f64> {
        self.texts.starts_with(&[END_OF_TEXT]).then_some(self.onset_s)
    }

    /// Each text is one annotation; empty ones say nothing.
    fn annotations(self, labels: &HashSet<&str>) -> impl Iterator<Item = Annotation> {
        let ended = self.texts.iter().rposition(|&byte| byte == END_OF_TEXT).unwrap_or(0);
        let texts = self.texts[..ended].split(|&byte| byte == END_OF_TEXT).filter(|text| !text.is_empty());
        texts.map(move |text| {
            let text = std::str::from_utf8(text).map_or_else(|_| latin1(text), String::from);
            let about = text.rsplit_once("@@").filter(|(_, label)| labels.contains(label));
            let text = about.map_or(&*text, |(text, _)| text).to_string();
            Annotation { onset_s: self.onset_s, duration_s: self.duration_s, sample: None, text }
        })
    }
}

/// A number of digits and at most one point, of less than 30000 years.
fn seconds(text: &[u8]) -> Option<f64> {
    let plain = |byte: &u8| byte.is_ascii_digit() || b"+-.,".contains(byte);
    let text = std::str::from_utf8(text).ok().filter(|_| text.iter().all(plain))?;
    decimal(text).filter(|seconds| seconds.abs() < 1e12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(block: &[u8]) -> Vec<(f64, f64, String)> {
        let labels = HashSet::from(["C3", "EEG Cz"]);
        let annotations = Lists { block, unread: &[] }.flat_map(|list| list.annotations(&labels));
        annotations.map(|annotation| (annotation.onset_s, annotation.duration_s, annotation.text)).collect()
    }

    #[test]
    fn lists_follow_one_another() {
        let block = b"+0\x14\x14\0+1.5\x152\x14T1\x14\0-0.25\x14before\x14also\x14\0\0\0\0";
        assert_eq!(
            annotations(block),
            [(1.5, 2.0, "T1".into()), (-0.25, 0.0, "before".into()), (-0.25, 0.0, "also".into())]
        );
        assert_eq!(Lists { block, unread: &[] }.next().unwrap().start_s(), Some(0.0));
        // A record's beginning may carry texts too.
        assert_eq!(annotations(b"+3\x14\x14T2\x14\0"), [(3.0, 0.0, "T2".into())]);
        // Nothing behind a list without an end is lost but the text without one.
        assert_eq!(annotations(b"+3\x14T2\x14half"), [(3.0, 0.0, "T2".into())]);
    }

    #[test]
    fn nothing_is_read_behind_what_cannot_begin_a_list() {
        for block in [
            &b"3\x14T1\x14\0+4\x14T2\x14\0"[..],
            b"\0+4\x14T2\x14\0",
            b"+x\x14T1\x14\0",
            b"+\x14a\x14\0",
            b"+3 T1",
        ] {
            assert_eq!(annotations(block), [], "{block:?}");
            let mut lists = Lists { block, unread: &[] };
            assert_eq!((lists.by_ref().count(), lists.next().is_none()), (0, true));
            assert_eq!(lists.unread.contains(&END_OF_TEXT), block.contains(&END_OF_TEXT));
        }
        assert_eq!(annotations(b"+inf\x14T1\x14\0"), []);
        assert_eq!(annotations(b"+1e5\x14T1\x14\0"), []);
        assert_eq!(annotations(b"+1,5\x15x\x14T1\x14\0"), [(1.5, 0.0, "T1".into())]);
    }

    #[test]
    fn texts_are_utf8_and_may_name_a_signal() {
        assert_eq!(annotations("+1\x14\u{e9}\x14\0".as_bytes())[0].2, "\u{e9}");
        assert_eq!(annotations(b"+1\x14\xe9\x14\0")[0].2, "\u{e9}");
        assert_eq!(annotations(b"+1\x14spike@@EEG Cz\x14\0")[0].2, "spike");
        assert_eq!(annotations(b"+1\x14me@@home\x14\0")[0].2, "me@@home");
    }
}

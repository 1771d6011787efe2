//! The marker file: what happened when, and where the recording was interrupted.

use super::text::{Entries, decode, unescape};
use crate::limit::MOST;
use crate::recording_file::{Annotation, Segment};

/// Longer files of markers are none: this is more than a million of them.
const LONGEST: usize = 64 << 20;

/// What the marker file says.
#[derive(Debug, Default)]
pub(super) struct Markers {
    pub(super) annotations: Vec<Annotation>,
    pub(super) segments: Vec<Segment>,
    pub(super) notes: Vec<String>,
}

/// Reads markers of a recording of `length` samples. Damaged lines are left out with a note: the samples are good without them.
///
/// Markers count samples and know nothing of the time that passed in gaps; so do the seconds of annotations and segments. The dates
/// that `New Segment` markers carry are not looked at.
pub(super) fn read(name: &str, bytes: &[u8], rate_hz: f64, length: usize) -> Markers {
    let mut markers = Markers::default();
    // Each line may be an entry, and each entry an annotation.
    if bytes.len() > LONGEST || bytes.iter().filter(|&&byte| byte == b'\n').count() > MOST {
        markers.notes.push(format!("`{name}` is too long for markers; none are read"));
        return markers;
    }
    let text = decode(bytes);
    let entries = Entries::of(&text);
    if !entries.is("Marker") {
        markers.notes.push(format!("the first line of `{name}` is not that of a BrainVision marker file"));
    }
    let mut breaks = vec![];
    let (mut damaged, mut outside) = (vec![], 0);
    for entry in entries.section("Marker Infos") {
        let Some(marker) = Marker::of(entry.value) else {
            damaged.push(entry.line);
            continue;
        };
        let sample = usize::try_from(marker.first).ok().filter(|&sample| sample < length);
        if marker.kind.eq_ignore_ascii_case("New Segment") {
            breaks.extend(sample);
            continue;
        }
        outside += usize::from(sample.is_none());
        let (onset_s, duration_s) = (marker.first as f64 / rate_hz, marker.samples as f64 / rate_hz);
        markers.annotations.push(Annotation { onset_s, duration_s, sample, text: marker.text() });
    }
    if let Some(line) = damaged.first() {
        markers
            .notes
            .push(format!("{} damaged lines of `{name}` are left out, first line {line}", damaged.len()));
    }
    if outside > 0 {
        markers.notes.push(format!("{outside} markers of `{name}` lie outside of the {length} samples"));
    }
    markers.segments = Segment::between(breaks, rate_hz, length);
    markers
}

/// One line, without its channel and date.
struct Marker {
    kind: String,
    description: String,
    /// Counted from 0; the file counts from 1.
    first: i64,
    samples: u64,
}

impl Marker {
    /// `type,description,position,length,channel,date`.
    fn of(value: &str) -> Option<Marker> {
        let mut fields = value.split(',');
        let (kind, description) = (unescape(fields.next()?), unescape(fields.next()?));
        let position: i64 = fields.next()?.trim().parse().ok()?;
        let samples = fields.next().and_then(|field| field.trim().parse().ok()).unwrap_or(0);
        Some(Marker { kind, description, first: position.checked_sub(1)?, samples })
    }

    /// `type/description`, or the one that is not empty.
    fn text(self) -> String {
        match (&*self.kind, &*self.description) {
            (_, "") => self.kind,
            ("", _) => self.description,
            (kind, description) => format!("{kind}/{description}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &str = "Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\n";

    fn of(lines: &str) -> Markers {
        read("a.vmrk", format!("{TITLE}{lines}").as_bytes(), 100.0, 1000)
    }

    #[test]
    fn types_and_descriptions_make_texts() {
        let markers = of("Mk1=New Segment,,1,1,0,20200101120000000000\nMk2=Stimulus,S  1,51,5,0\n\
                          Mk3=SyncStatus,,101,1,0\nMk4=,note,102,,3\nMk5=Comment,a\\1b,1001,1,0\nMk6=Comment,c,0,x,0");
        let annotations: Vec<_> =
            markers.annotations.iter().map(|m| (&*m.text, m.sample, m.onset_s, m.duration_s)).collect();
        assert_eq!(
            annotations,
            [
                ("Stimulus/S  1", Some(50), 0.5, 0.05),
                ("SyncStatus", Some(100), 1.0, 0.01),
                ("note", Some(101), 1.01, 0.0),
                ("Comment/a,b", None, 10.0, 0.01),
                ("Comment/c", None, -0.01, 0.0),
            ]
        );
        assert_eq!(markers.notes, ["2 markers of `a.vmrk` lie outside of the 1000 samples"]);
        assert_eq!(markers.segments, [Segment { start_s: 0.0, first: 0, samples: 1000 }]);
    }

    #[test]
    fn later_segments_are_gaps() {
        let markers = of(
            "Mk1=New Segment,,1,1,0,20200101120000000000\nMk2=new segment,,701,1,0,20200101130000000000\n\
                          Mk3=New Segment,b,201,1,0\nMk4=New Segment,,201,1,0\nMk5=New Segment,,1001,1,0",
        );
        let segment = |start_s, first, samples| Segment { start_s, first, samples };
        let expected = [segment(0.0, 0, 200), segment(2.0, 200, 500), segment(7.0, 700, 300)];
        assert_eq!(markers.segments, expected);
        assert!(markers.annotations.is_empty());
    }

    #[test]
    fn damaged_lines_are_reported() {
        let markers =
            of("Mk1=Stimulus,S  1,x,1,0\nMk2=\nMk3=Stimulus,S  1,2,1,0\nMk4=a,b,-9223372036854775808,1");
        assert_eq!(markers.annotations.len(), 1);
        assert_eq!(markers.notes, ["3 damaged lines of `a.vmrk` are left out, first line 3"]);
        let markers = read("b.vmrk", b"[Marker Infos]\nMk1=a,b,1,1,0", 100.0, 10);
        assert_eq!((markers.annotations.len(), markers.notes.len()), (1, 1));
        assert!(markers.notes[0].contains("first line of `b.vmrk`"));
    }
}

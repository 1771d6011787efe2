//! What happened when: annotations. Where there are none, changes of trigger channels are read in their place.

use super::contents::Contents;
use super::raw::RawRecording;
use crate::recording_file::{Annotation, Segment};

/// The annotations of a raw recording. Their seconds count from the recording's date, which is before the first sample, or where
/// only the recording has a date from the first sample itself. Dates are compared and forgotten.
pub(super) fn annotated(contents: &Contents, raw: &RawRecording, notes: &mut Vec<String>) -> Vec<Annotation> {
    let found = &contents.annotations;
    let (starts, ends, texts) = (found.starts_s.len(), found.ends_s.len(), found.texts.len());
    if starts != ends || starts != texts {
        if starts + ends + texts > 0 {
            notes.push(format!(
                "the annotations are damaged ({starts} starts, {ends} ends, {texts} texts) and left out"
            ));
        }
        return vec![];
    }
    let before_s = match (found.date_s, contents.date_s) {
        (Some(own), Some(recording)) => raw.start_s - (own - recording),
        (None, Some(_)) => 0.0,
        (_, None) => raw.start_s,
    };
    let times = found.starts_s.iter().zip(&found.ends_s).zip(&found.texts);
    let annotation = |((start_s, end_s), text): ((&f64, &f64), &String)| {
        let onset_s = start_s - before_s;
        let sample = sample(&raw.segments, onset_s, contents.rate_hz);
        Annotation { onset_s, duration_s: (end_s - start_s).max(0.0), sample, text: text.clone() }
    };
    let annotations: Vec<Annotation> = times.map(annotation).collect();
    match annotations.iter().filter(|annotation| is_event(annotation) && annotation.sample.is_none()).count()
    {
        0 => {}
        outside => notes.push(format!(
            "{outside} of {} annotations lie in gaps or outside: they become no events",
            annotations.len()
        )),
    }
    annotations
}

/// The sample of a moment; none in gaps and outside.
fn sample(segments: &[Segment], onset_s: f64, rate_hz: f64) -> Option<usize> {
    // Half a sample early is still the first.
    let after = segments.partition_point(|segment| segment.start_s - 0.5 / rate_hz <= onset_s);
    let segment = segments.get(after.checked_sub(1)?)?;
    let offset = ((onset_s - segment.start_s) * rate_hz).round().max(0.0);
    (offset < segment.samples as f64).then(|| segment.first + offset as usize)
}

/// Whether an annotation is an event. Others are about the signal: spans to leave out, and places where recordings were joined.
pub(super) fn is_event(annotation: &Annotation) -> bool {
    !starts_with(annotation, "BAD") && !starts_with(annotation, "EDGE")
}

fn starts_with(annotation: &Annotation, word: &str) -> bool {
    annotation.text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Segments that also end where recordings were joined, which MNE marks `EDGE boundary`.
pub(super) fn parted(segments: &[Segment], annotations: &[Annotation], rate_hz: f64) -> Vec<Segment> {
    let mut joints: Vec<usize> =
        annotations.iter().filter(|m| starts_with(m, "EDGE")).filter_map(|m| m.sample).collect();
    joints.sort_unstable();
    joints.dedup();
    let mut parted = vec![];
    for segment in segments {
        let mut rest = *segment;
        let from = joints.partition_point(|&joint| joint <= segment.first);
        for joint in joints[from..].iter().take_while(|&&joint| joint < segment.first + segment.samples) {
            let samples = joint - rest.first;
            parted.push(Segment { samples, ..rest });
            let start_s = segment.start_s + (joint - segment.first) as f64 / rate_hz;
            rest = Segment { start_s, first: *joint, samples: rest.samples - samples };
        }
        parted.push(rest);
    }
    parted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joints_part_segments() {
        let segment = |start_s, first, samples| Segment { start_s, first, samples };
        let annotation =
            |sample, text: &str| Annotation { onset_s: 0.0, duration_s: 0.0, sample, text: text.into() };
        let annotations = [
            annotation(Some(120), "EDGE boundary"),
            annotation(Some(100), "EDGE boundary"),
            annotation(Some(40), "edge boundary"),
            annotation(Some(50), "BAD boundary"),
            annotation(Some(120), "EDGE boundary"),
            annotation(None, "EDGE boundary"),
            annotation(Some(0), "EDGE boundary"),
        ];
        let segments = [segment(0.0, 0, 100), segment(3.0, 100, 50)];
        let expected =
            [segment(0.0, 0, 40), segment(0.4, 40, 60), segment(3.0, 100, 20), segment(3.2, 120, 30)];
        assert_eq!(parted(&segments, &annotations, 100.0), expected);
        assert!(
            is_event(&annotation(None, "left"))
                && !is_event(&annotation(None, "bad_x"))
                && is_event(&annotation(None, "ed"))
        );
    }

    #[test]
    fn moments_have_samples_outside_of_gaps() {
        let segment = |start_s, first, samples| Segment { start_s, first, samples };
        let segments = [segment(0.0, 0, 100), segment(3.0, 100, 50)];
        let at = |onset_s| sample(&segments, onset_s, 100.0);
        assert_eq!(
            [at(-0.006), at(-0.004), at(0.0), at(0.994), at(0.996)],
            [None, Some(0), Some(0), Some(99), None]
        );
        assert_eq!(
            [at(2.99), at(2.996), at(3.1), at(3.494), at(3.5)],
            [None, Some(100), Some(110), Some(149), None]
        );
        assert_eq!([at(f64::NAN), at(f64::INFINITY), at(1e300)], [None; 3]);
    }
}

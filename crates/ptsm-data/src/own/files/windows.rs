//! Windows every so many seconds: of recordings that have one label, and inside of segments that are annotated.

use ptsm_io::RecordingFile;
use ptsm_signal::Event;
use serde::Deserialize;

use super::super::classes::{Classes, technical};

/// How windows follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Windows {
    /// How long each is.
    pub(super) length_s: f64,
    /// From the start of one to the start of the next; without it they touch and do not overlap.
    pub(super) every_s: Option<f64>,
    /// How long a segment is whose event states no duration.
    pub(super) segment_s: Option<f64>,
}

/// Windows of recordings with one label, where nobody says how long they are.
pub(super) const USUAL: Windows = Windows { length_s: 4.0, every_s: None, segment_s: None };

impl Windows {
    /// From one to the next.
    pub(super) fn every_s(&self) -> f64 {
        self.every_s.unwrap_or(self.length_s)
    }

    /// What cannot be, with what to do.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        let settings =
            [("length_s", Some(self.length_s)), ("every_s", self.every_s), ("segment_s", self.segment_s)];
        for (key, value) in settings {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value > 0.0 && *value < 1e6)) {
                let message = format!("`[windows]`: `{key} = {value}` is not possible");
                return Err((message, format!("give seconds, such as `{key} = 2.0`")));
            }
        }
        Ok(())
    }

    /// What the user should know where epochs of a pipeline overlap.
    pub(super) fn overlap(&self, window_s: [f64; 2]) -> Option<String> {
        let length_s = window_s[1] - window_s[0];
        (length_s > self.every_s() + 1e-9).then(|| {
            format!(
                "epochs of {length_s} s every {} s overlap: neighbours share samples, so there are fewer independent epochs than it seems, and \
                 chance thresholds, which take epochs to be independent, are too low",
                self.every_s()
            )
        })
    }

    /// Where windows begin in some samples from `first` on.
    fn starts(&self, first: usize, samples: usize, rate_hz: f64) -> impl Iterator<Item = usize> {
        let (length, every) = (self.length_s * rate_hz, (self.every_s() * rate_hz).max(1.0));
        // Rounded one by one: windows of a third of a second drift otherwise.
        let start = move |at: usize| (at as f64 * every).round();
        let fits = move |start: &f64| start + length.round() <= samples as f64;
        (0..samples).map(start).take_while(fits).map(move |start| first + start as usize)
    }

    /// Makes windows of a whole recording events of one label. Epochs are all of it.
    pub(super) fn label(&self, file: &mut RecordingFile, label: &str) {
        if file.epochs().is_some() {
            file.codes_mut().iter_mut().for_each(|code| *code = label.to_string());
            return;
        }
        let mut events: Vec<Event> =
            file.events().iter().filter(|event| technical(&event.code)).cloned().collect();
        for segment in file.segments() {
            let starts = self.starts(segment.first, segment.samples, file.rate_hz());
            events.extend(starts.map(|sample| Event { sample, code: label.to_string(), samples: 0 }));
        }
        if events.iter().all(|event| event.code != label) {
            file.add_note(format!("is shorter than a window of {} s: no epoch of `{label}`", self.length_s));
        }
        events.sort_by_key(|event| event.sample);
        *file.events_mut() = events;
    }

    /// Makes windows of each segment of a class, which lasts as long as its event says.
    pub(super) fn segments(&self, file: &mut RecordingFile, classes: &Classes) {
        if file.epochs().is_some() {
            return;
        }
        let all = file.events().iter().map(|event| event.code.clone()).collect();
        let (mut events, mut without) = (vec![], 0);
        for event in file.events() {
            if classes.of_among(&event.code, &all).is_none() {
                events.push(event.clone());
                continue;
            }
            let said = self.segment_s.map(|segment_s| (segment_s * file.rate_hz()).round() as usize);
            let samples = if event.samples > 0 { event.samples } else { said.unwrap_or(0) };
            without += usize::from(samples == 0);
            // A segment ends with the recording, or where a gap begins.
            let segment =
                file.segments().iter().find(|s| (s.first..s.first + s.samples).contains(&event.sample));
            let left = segment.map_or(0, |segment| segment.first + segment.samples - event.sample);
            let starts = self.starts(event.sample, samples.min(left), file.rate_hz());
            events.extend(starts.map(|sample| Event { sample, code: event.code.clone(), samples: 0 }));
        }
        if without > 0 {
            file.add_note(format!(
                "{without} events of a class state no duration, so they have no windows: `segment_s` in `[windows]` gives one"
            ));
        }
        events.sort_by_key(|event| event.sample);
        *file.events_mut() = events;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_io::{RawHeader, Segment};

    use super::super::super::signals::tests::{made, named};
    use super::*;

    fn file(events: &[(usize, &str, usize)]) -> RecordingFile {
        made(named(&["C3"], 10.0, 100), events)
    }

    fn windows(text: &str) -> Windows {
        toml::from_str(text).unwrap()
    }

    fn at(file: &RecordingFile, code: &str) -> Vec<usize> {
        file.events().iter().filter(|event| event.code == code).map(|event| event.sample).collect()
    }

    #[test]
    fn issue_19_a_recording_of_one_label_becomes_windows() {
        let two = windows("length_s = 2");
        let mut one = file(&[(3, "T1", 0), (5, "BAD_blink", 4)]);
        two.label(&mut one, "rest");
        assert_eq!(
            (at(&one, "rest"), at(&one, "T1").len(), at(&one, "BAD_blink").len()),
            (vec![0, 20, 40, 60, 80], 0, 1)
        );
        // No window reaches over a gap.
        let segments = vec![
            Segment { start_s: 0.0, first: 0, samples: 35 },
            Segment { start_s: 9.0, first: 35, samples: 65 },
        ];
        let mut gap = made(RawHeader { segments, ..named(&["C3"], 10.0, 100) }, &[]);
        two.label(&mut gap, "rest");
        assert_eq!(at(&gap, "rest"), [0, 35, 55, 75]);
        let mut overlapping = file(&[]);
        let half = windows("length_s = 2\nevery_s = 1");
        half.label(&mut overlapping, "rest");
        assert_eq!(at(&overlapping, "rest").len(), 9);
        let whole = [0.0, 2.0];
        assert!(two.overlap(whole).is_none() && half.overlap(whole).unwrap().contains("overlap"));
        assert!(two.overlap([0.0, 3.0]).is_some() && half.overlap([0.5, 1.5]).is_none());
        let mut short = file(&[]);
        windows("length_s = 11").label(&mut short, "rest");
        assert!(short.events().is_empty() && short.notes()[0].contains("shorter than a window"));
        // Windows that are no whole number of samples do not drift.
        let mut third = file(&[]);
        windows("length_s = 0.333333333").label(&mut third, "rest");
        assert_eq!(at(&third, "rest")[..4], [0, 3, 7, 10]);
    }

    #[test]
    fn issue_19_segments_become_windows() {
        let classes = Classes::parse("a:A,b:B").unwrap();
        let mut marked = file(&[(0, "A", 25), (30, "B", 5), (40, "B", 20), (70, "C", 30), (90, "A", 50)]);
        windows("length_s = 1").segments(&mut marked, &classes);
        assert_eq!(
            (at(&marked, "A"), at(&marked, "B"), at(&marked, "C")),
            (vec![0, 10, 90], vec![40, 50], vec![70])
        );
        let mut bare = file(&[(0, "A", 0), (50, "B", 0)]);
        windows("length_s = 1").segments(&mut bare, &classes);
        assert!(
            bare.events().is_empty() && bare.notes()[0].contains("2 events of a class state no duration")
        );
        let mut bare = file(&[(0, "A", 0), (50, "B", 0)]);
        windows("length_s = 1\nsegment_s = 3").segments(&mut bare, &classes);
        assert_eq!((at(&bare, "A"), at(&bare, "B")), (vec![0, 10, 20], vec![50, 60, 70]));
    }

    #[test]
    fn windows_that_cannot_be_are_reported() {
        for text in [
            "length_s = 0",
            "length_s = -1",
            "length_s = nan",
            "length_s = 2\nevery_s = 0",
            "length_s = 2\nsegment_s = inf",
        ] {
            let (message, hint) = windows(text).check().unwrap_err();
            assert!(message.contains("is not possible") && hint.contains("give seconds"), "{message}");
        }
        windows("length_s = 2").check().unwrap();
    }
}

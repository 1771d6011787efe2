//! Which event codes may begin trials.

use std::collections::BTreeMap;

use super::super::classes::usable;
use super::look::InspectedRecording;
use crate::walk::natural;

/// More codes than this are no classes.
const MOST_CLASSES: usize = 20;
/// A code of trials occurs so often in a recording, at least.
const FEWEST: usize = 2;

/// An event code over all recordings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct EventCode {
    /// As it is in the files.
    pub code: String,
    /// How often it occurs.
    pub events: usize,
    /// In how many recordings.
    pub recordings: usize,
    /// Whether it is a class in the manifest, until somebody changes that.
    pub class: bool,
    /// What it usually means; empty where that is not known.
    pub meaning: String,
}

/// What codes of GDF files mean, and whether they begin trials: its table of events, as the BCI competitions used it.
const GDF: &[(&str, &str, bool)] = &[
    ("276", "eyes open", false),
    ("277", "eyes closed", false),
    ("768", "start of a trial", false),
    ("769", "cue: left hand", true),
    ("770", "cue: right hand", true),
    ("771", "cue: feet", true),
    ("772", "cue: tongue", true),
    ("781", "feedback", false),
    ("783", "cue that is not told", false),
    ("785", "beep", false),
    ("786", "cross on the screen", false),
    ("1023", "trial rejected by hand", false),
    ("1072", "eye movements", false),
    ("32766", "start of a run", false),
];

/// All codes, in the order of their names. Those that occur in most recordings, more than once in each, are classes.
pub(super) fn codes(looks: &[(&str, &InspectedRecording)]) -> Vec<EventCode> {
    let mut all: BTreeMap<&str, (usize, usize, bool)> = BTreeMap::new();
    for (path, look) in looks {
        let mut own: BTreeMap<&str, usize> = BTreeMap::new();
        look.events.iter().for_each(|event| *own.entry(&event.code).or_default() += 1);
        for (code, count) in own {
            let (events, recordings, gdf) = all.entry(code).or_default();
            *events += count;
            *recordings += 1;
            *gdf |= path.to_lowercase().ends_with(".gdf");
        }
    }
    let usable = usable(all.keys().copied());
    let with_events = looks.iter().filter(|(_, look)| !look.events.is_empty()).count();
    let mut codes: Vec<EventCode> = all
        .into_iter()
        .map(|(code, (events, recordings, gdf))| {
            let known = GDF.iter().find(|(known, ..)| gdf && *known == code);
            let often = 2 * recordings > with_events && events >= FEWEST * recordings;
            let likely = often && usable.contains(&code);
            EventCode {
                code: code.to_string(),
                events,
                recordings,
                class: likely && known.is_none_or(|(.., begins)| *begins),
                meaning: known.map(|(_, meaning, _)| meaning.to_string()).unwrap_or_default(),
            }
        })
        .collect();
    codes.sort_by(|a, b| natural(&a.code, &b.code));
    if codes.iter().filter(|code| code.class).count() > MOST_CLASSES {
        codes.iter_mut().for_each(|code| code.class = false);
    }
    codes
}

/// Seconds between events that begin trials, typically; none where there are not two in a recording.
pub(super) fn apart_s(looks: &[(&str, &InspectedRecording)], codes: &[EventCode]) -> Option<f64> {
    let begins = |code: &str| codes.iter().any(|known| known.class && known.code == code);
    let mut gaps = vec![];
    for (_, look) in looks.iter().filter(|(_, look)| !look.epochs) {
        let Some(rate) = look.rate_hz else { continue };
        let samples: Vec<usize> =
            look.events.iter().filter(|event| begins(&event.code)).map(|event| event.sample).collect();
        gaps.extend(
            samples.windows(2).filter(|pair| pair[1] > pair[0]).map(|pair| (pair[1] - pair[0]) as f64 / rate),
        );
    }
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_signal::Event;

    use super::*;

    fn look(codes: &[&str]) -> InspectedRecording {
        let event =
            |(at, code): (usize, &&str)| Event { sample: 500 * at, code: code.to_string(), samples: 0 };
        InspectedRecording {
            rate_hz: Some(100.0),
            channels: vec!["C3".into()],
            length: 10_000,
            events: codes.iter().enumerate().map(event).collect(),
            epochs: false,
            window_s: None,
            mat: None,
            doubts: vec![],
            no_eeg: None,
            others: vec![],
        }
    }

    #[test]
    fn codes_of_most_recordings_are_classes() {
        let one = look(&["New Segment/", "T1", "T2", "T1", "T2", "T2", "start", "odd"]);
        let two = look(&["T1", "T1", "T2", "T2", "start"]);
        let silent = look(&[]);
        let looks = [("a.edf", &one), ("b.edf", &two), ("c.edf", &silent)];
        let codes = codes(&looks);
        let classes: Vec<_> =
            codes.iter().filter(|c| c.class).map(|c| (&*c.code, c.events, c.recordings)).collect();
        assert_eq!(classes, [("T1", 4, 2), ("T2", 5, 2)]);
        assert_eq!(codes.len(), 5);
        assert_eq!(apart_s(&looks, &codes), Some(5.0));
        assert_eq!(apart_s(&[("c.edf", &silent)], &codes), None);
    }

    #[test]
    fn codes_of_the_competitions_are_known() {
        let one = look(&["768", "769", "768", "770", "769", "770", "1023", "1023"]);
        let known = codes(&[("A01T.gdf", &one)]);
        let classes: Vec<_> = known.iter().filter(|c| c.class).map(|c| &*c.meaning).collect();
        assert_eq!(classes, ["cue: left hand", "cue: right hand"]);
        assert!(codes(&[("A01T.edf", &one)]).iter().all(|c| c.class && c.meaning.is_empty()));
    }

    #[test]
    fn too_many_codes_are_no_classes() {
        let names: Vec<String> = (0..60).map(|i| format!("e{}", i % 30)).collect();
        let one = look(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(codes(&[("a.edf", &one)]).iter().all(|code| !code.class));
    }
}

//! Which events begin a trial, and of which class.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::recording::Event;

/// Event codes with their classes.
pub(super) struct Cues<'a> {
    /// In order of first appearance.
    pub(super) classes: Vec<String>,
    codes: Vec<(&'a str, u32)>,
}

impl<'a> Cues<'a> {
    pub(super) fn new(cues: &'a [(String, String)]) -> Result<Cues<'a>> {
        let (mut classes, mut codes) = (Vec::<String>::new(), Vec::<(&str, u32)>::new());
        for (code, class) in cues {
            let label = classes.iter().position(|known| known == class).unwrap_or_else(|| {
                classes.push(class.clone());
                classes.len() - 1
            }) as u32;
            match codes.iter().find(|(known, _)| known == code) {
                Some((_, other)) if *other != label => {
                    let other = &classes[*other as usize];
                    return Err(Error::pipeline(format!(
                        "event `{code}` stands for both `{other}` and `{class}`"
                    )));
                }
                Some(_) => {}
                None => codes.push((code, label)),
            }
        }
        Ok(Cues { classes, codes })
    }

    /// The events that begin a trial, each with its label; at least one.
    pub(super) fn find<'e>(&self, events: &'e [Event]) -> Result<Vec<(&'e Event, u32)>> {
        let label = |event: &Event| self.codes.iter().find(|(code, _)| *code == event.code).map(|&(_, l)| l);
        let found: Vec<_> = events.iter().filter_map(|event| Some((event, label(event)?))).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let codes = quoted(self.codes.iter().map(|&(code, _)| code));
        let present = quoted(events.iter().map(|event| &*event.code).collect::<BTreeSet<_>>());
        let message = format!("none of its events is one of {codes}");
        Err(Error::data("recording", message).with_hint(if present.is_empty() {
            "it has no events at all".to_string()
        } else {
            format!("its events are {present}")
        }))
    }
}

fn quoted<'a>(codes: impl IntoIterator<Item = &'a str>) -> String {
    codes.into_iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cues(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(code, class)| (code.to_string(), class.to_string())).collect()
    }

    fn events(codes: &[&str]) -> Vec<Event> {
        let event = |(sample, code): (usize, &&str)| Event { sample, code: code.to_string(), samples: 0 };
        codes.iter().enumerate().map(event).collect()
    }

    #[test]
    fn classes_are_numbered_as_they_appear_and_codes_may_share_one() {
        let cues = cues(&[("T2", "right"), ("T1", "left"), ("T4", "right")]);
        let cues = Cues::new(&cues).unwrap();
        assert_eq!(cues.classes, ["right", "left"]);
        let events = events(&["T0", "T1", "T2", "T4"]);
        let labels: Vec<_> =
            cues.find(&events).unwrap().iter().map(|(e, label)| (e.sample, *label)).collect();
        assert_eq!(labels, [(1, 1), (2, 0), (3, 0)]);
    }

    #[test]
    fn no_event_at_all_says_which_there_are() {
        let requested = cues(&[("T1", "left")]);
        let error = Cues::new(&requested).unwrap().find(&events(&["769", "770", "769"])).unwrap_err();
        assert!(error.to_string().contains("`T1`"), "{error}");
        assert_eq!(error.hint(), Some("its events are `769`, `770`"));
        assert!(Cues::new(&requested).unwrap().find(&[]).unwrap_err().hint().unwrap().contains("no events"));
        assert!(Cues::new(&cues(&[("T1", "left"), ("T1", "right")])).is_err());
    }
}

//! Which recordings of a folder, and which of their events.

use std::collections::BTreeSet;

use super::super::classes::{Classes, usable};
use super::super::numbers::number;
use super::super::scan::DataSetScan;
use crate::catalogue::{DataSetChoice, Options};
use crate::error::{Error, Result};
use crate::walk::natural;

/// More classes than this are no classes but labels of single events.
const MOST_CLASSES: usize = 20;

/// What can be chosen.
pub(super) const CHOICES: &[DataSetChoice] = &[
    DataSetChoice { name: "task", default: "", values: "LIST", about: "only these tasks; all without it" },
    DataSetChoice {
        name: "classes",
        default: "",
        values: "CLASS:EVENT,..",
        about: "classes and the events that begin their trials, `left:T1,right:T2+T3`; `*` in an event stands for any text; every event is a class \
            without it",
    },
    DataSetChoice {
        name: "sessions",
        default: "",
        values: "LIST",
        about: "only these sessions, `1-2` or `pre,post`; all without it",
    },
    DataSetChoice {
        name: "runs",
        default: "",
        values: "LIST",
        about: "only these runs, `1-3`; all without it",
    },
    DataSetChoice {
        name: "bad",
        default: "keep",
        values: "keep|refuse",
        about: "channels marked as bad are kept, since all subjects need the same ones, or are an error",
    },
    DataSetChoice {
        name: "mismatch",
        default: "keep",
        values: "keep|rename",
        about: "where `channels.tsv` names other channels than the recording: the recording's names, or the table's in its order",
    },
];

/// A list of labels as a user gives it; empty means all.
pub(super) struct LabelChoice<'a> {
    name: &'a str,
    list: &'a str,
}

impl<'a> LabelChoice<'a> {
    pub(super) fn new(options: &'a Options, name: &'a str) -> LabelChoice<'a> {
        LabelChoice { name, list: options.get(name) }
    }

    fn parts(&self) -> impl Iterator<Item = &'a str> {
        self.list.split(',').map(str::trim).filter(|part| !part.is_empty())
    }

    /// Whether a label is wanted.
    pub(super) fn has(&self, label: &str) -> bool {
        self.parts().next().is_none() || self.parts().any(|part| is(part, label))
    }

    /// Refuses labels that nothing is called.
    pub(super) fn check(&self, id: &str, present: &BTreeSet<&str>) -> Result<()> {
        match self.parts().find(|part| !present.iter().any(|label| is(part, label))) {
            None => Ok(()),
            Some(part) => {
                let known: Vec<&str> = present.iter().copied().collect();
                Err(Options::refuse(id, self.name, part, format!("there are {}", known.join(", "))))
            }
        }
    }
}

/// Whether a label is what was typed: the same text, the same number, or a number of a range.
fn is(typed: &str, label: &str) -> bool {
    let same = |number: u32| self::number(label) == Some(number);
    let within = |first: u32, last: u32| self::number(label).is_some_and(|n| (first..=last).contains(&n));
    typed == label
        || number(typed).is_some_and(same)
        || typed
            .split_once('-')
            .and_then(|(first, last)| Some(within(number(first)?, number(last)?)))
            .unwrap_or(false)
}

/// The classes that are asked for; none where every event is one.
pub(super) fn requested_classes(id: &str, options: &Options) -> Result<Option<Classes>> {
    match options.get("classes") {
        "" => Ok(None),
        text => Classes::parse(text).map(Some).map_err(|message| Error::Source {
            id: id.to_string(),
            message: format!("`classes={text}`: {message}"),
            hint: Some(
                "write `--with classes=left:T1,right:T2`; several events of a class are joined by `+`".into(),
            ),
        }),
    }
}

/// Names of the classes that events stand for.
pub(super) fn names(id: &str, given: Option<&Classes>, scan: &DataSetScan) -> Result<Vec<String>> {
    let refuse =
        |message: String, hint: String| Err(Error::Source { id: id.to_string(), message, hint: Some(hint) });
    let mut usable = usable(scan.codes.keys().map(String::as_str));
    usable.sort_by(|a, b| natural(a, b));
    if scan.opened == 0 {
        // Reading says why.
        return Ok(given.map(|classes| classes.names().to_vec()).unwrap_or_default());
    }
    if usable.is_empty() {
        return refuse(
            "no recording has an event".into(),
            "trials begin at events: an `events.tsv` beside each recording lists them".into(),
        );
    }
    match given {
        None if usable.len() > MOST_CLASSES => refuse(
            format!("there are {} kinds of events, too many to be classes: {}", usable.len(), scan.listed()),
            "say which begin trials: `--with classes=left:T1,right:T2`".into(),
        ),
        None => Ok(usable.into_iter().map(String::from).collect()),
        Some(classes) => match classes.absent(scan.codes.keys().map(String::as_str)).first() {
            Some(class) => refuse(
                format!("no event stands for class `{class}`"),
                format!("{}; `--with classes=CLASS:EVENT,..`", scan.events()),
            ),
            None => Ok(classes.names().to_vec()),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::super::scan::Tally;
    use super::*;

    fn scan(codes: &[&str]) -> DataSetScan {
        let tally = Tally { events: 3, recordings: 1 };
        let codes = codes.iter().map(|code| (code.to_string(), tally)).collect();
        let mut scan = DataSetScan::default();
        (scan.codes, scan.opened) = (codes, 1);
        scan
    }

    #[test]
    fn labels_are_found_as_text_number_or_range() {
        for (typed, label, found) in [
            ("01", "01", true),
            ("1", "01", true),
            ("1-3", "02", true),
            ("1-3", "04", false),
            ("pre", "pre", true),
            ("pre-post", "pre", false),
            ("2", "pre", false),
        ] {
            assert_eq!(is(typed, label), found, "{typed} {label}");
        }
    }

    #[test]
    fn every_event_is_a_class_unless_there_are_too_many() {
        let few = scan(&["right", "left", "boundary", "BAD_x"]);
        assert_eq!(names("x", None, &few).unwrap(), ["left", "right"]);
        let many: Vec<String> = (0..90).map(|i| format!("e{i}")).collect();
        let many = scan(&many.iter().map(String::as_str).collect::<Vec<_>>());
        let error = names("x", None, &many).unwrap_err();
        assert!(
            error.to_string().contains("90 kinds of events") && error.to_string().contains("e9 (3), e10"),
            "{error}"
        );
        assert!(error.to_string().contains("and 30 more") && error.hint().unwrap().contains("classes="));
        assert!(
            names("x", None, &scan(&["boundary"]))
                .unwrap_err()
                .to_string()
                .contains("no recording has an event")
        );
    }

    #[test]
    fn classes_without_events_are_refused_with_the_events_there_are() {
        let codes = scan(&["T0", "T1", "T2"]);
        let classes = |text| Classes::parse(text).unwrap();
        assert_eq!(names("x", Some(&classes("r:T2,l:T1")), &codes).unwrap(), ["r", "l"]);
        let error = names("x", Some(&classes("l:T1,r:T3")), &codes).unwrap_err();
        assert_eq!(error.to_string(), "data `x`: no event stands for class `r`");
        assert!(error.hint().unwrap().contains("T0 (3), T1 (3), T2 (3)"));
    }
}

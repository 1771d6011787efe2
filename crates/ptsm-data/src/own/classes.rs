//! Which events begin a trial, and of which class.

use std::collections::BTreeSet;

use ptsm_signal::Event;

use crate::catalogue::UNKNOWN;

/// Classes with the codes that stand for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Classes {
    names: Vec<String>,
    /// A code, or a pattern in which `*` stands for any text, and the class it stands for.
    codes: Vec<(String, usize)>,
}

impl Classes {
    /// Class names with their codes. A code of two classes, a class twice or one without codes is refused.
    pub(super) fn new(classes: impl IntoIterator<Item = (String, Vec<String>)>) -> Result<Classes, String> {
        let mut all = Classes::default();
        for (class, codes) in classes {
            if class.is_empty() {
                return Err("a class has no name".into());
            }
            if class == UNKNOWN {
                return Err(format!("a class cannot be called `{UNKNOWN}`"));
            }
            if all.names.contains(&class) {
                return Err(format!("class `{class}` is there twice"));
            }
            if codes.is_empty() || codes.iter().any(String::is_empty) {
                return Err(format!("class `{class}` has no event code"));
            }
            for code in codes {
                if let Some((_, other)) = all.codes.iter().find(|(known, _)| *known == code) {
                    let other = all.names.get(*other).unwrap_or(&class);
                    return Err(format!("event `{code}` stands for both `{other}` and `{class}`"));
                }
                all.codes.push((code, all.names.len()));
            }
            all.names.push(class);
        }
        Ok(all)
    }

    /// The same with labels that no class has yet: each is a code of the class of its name, or a class of its own.
    pub(super) fn with_labels<'a>(
        mut self,
        labels: impl Iterator<Item = &'a str>,
    ) -> Result<Classes, String> {
        for label in labels {
            if self.of(label).is_some() {
                continue;
            }
            match self.names.iter().position(|name| name == label) {
                Some(class) => self.codes.push((label.to_string(), class)),
                None => {
                    let own = Classes::new([(label.to_string(), vec![label.to_string()])])?;
                    self.codes.push((label.to_string(), self.names.len()));
                    self.names.extend(own.names);
                }
            }
        }
        Ok(self)
    }

    /// `left:T1,right:T2+T3`: classes with their codes.
    pub(super) fn parse(text: &str) -> Result<Classes, String> {
        let class = |part: &str| match part.split_once(':') {
            Some((class, codes)) => {
                Ok((class.trim().to_string(), codes.split('+').map(|code| code.trim().to_string()).collect()))
            }
            None => Err(format!("`{}` has no event code", part.trim())),
        };
        Classes::new(text.split(',').map(class).collect::<Result<Vec<_>, String>>()?)
    }

    /// Names, in the order of their labels.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The class an event's code stands for. A code that is named goes before a pattern.
    pub(super) fn of(&self, code: &str) -> Option<&str> {
        let named = self.codes.iter().find(|(known, _)| known == code);
        let found = named.or_else(|| self.codes.iter().find(|(pattern, _)| matches(pattern, code)));
        found.and_then(|(_, class)| self.names.get(*class)).map(String::as_str)
    }

    /// The same among all codes of a recording: `T1` also stands for `Comment/T1`, which MNE makes of it in BrainVision files, unless
    /// there is an event `T1` as well.
    pub(super) fn of_among(&self, code: &str, all: &BTreeSet<String>) -> Option<&str> {
        let spoken = || comment(code).filter(|text| !all.contains(*text)).and_then(|text| self.of(text));
        self.of(code).or_else(spoken)
    }

    /// Classes that none of these codes stands for.
    pub(super) fn absent<'a>(&self, codes: impl Iterator<Item = &'a str>) -> Vec<&str> {
        let all: BTreeSet<String> = codes.map(String::from).collect();
        let present: BTreeSet<&str> = all.iter().filter_map(|code| self.of_among(code, &all)).collect();
        self.names.iter().map(String::as_str).filter(|name| !present.contains(name)).collect()
    }

    /// What an event is called once classes are known: its class, or its code, told apart from a class of the same name.
    pub(super) fn name(&self, code: &str) -> String {
        self.called(code, self.of(code))
    }

    fn called(&self, code: &str, class: Option<&str>) -> String {
        match class {
            Some(class) => class.to_string(),
            None if code == UNKNOWN || self.names.iter().any(|name| name == code) => {
                format!("{code} (of no class)")
            }
            None => code.to_string(),
        }
    }

    /// Calls events like their classes.
    pub(super) fn rename(&self, events: &mut [Event]) {
        let all: BTreeSet<String> = events.iter().map(|event| event.code.clone()).collect();
        events.iter_mut().for_each(|event| {
            event.code = self.called(&event.code, self.of_among(&event.code, &all));
        });
    }
}

/// What a comment of a BrainVision file says. People's remarks are such, and all annotations MNE exports.
pub(super) fn comment(code: &str) -> Option<&str> {
    let (kind, text) = code.split_at_checked("Comment/".len())?;
    kind.eq_ignore_ascii_case("Comment/").then_some(text)
}

/// Codes that may begin trials: all but those of programs, and comments only where there is nothing else.
pub(super) fn usable<'a>(codes: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut codes: Vec<&str> = codes.filter(|code| !technical(code)).collect();
    if codes.iter().any(|code| comment(code).is_none()) {
        codes.retain(|code| comment(code).is_none());
    }
    codes
}

/// Whether a text is like a pattern in which `*` stands for any text.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Codes that recorders and programs write for themselves: they begin no trial.
pub(super) fn technical(code: &str) -> bool {
    let lower = comment(code).unwrap_or(code).trim().to_lowercase();
    let beginnings =
        ["new segment", "boundary", "bad_", "bad ", "edge boundary", "edge_boundary", "syncstatus"];
    ["", "n/a", "bad", "-99"].contains(&&*lower) || beginnings.iter().any(|start| lower.starts_with(start))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn several_codes_may_stand_for_a_class() {
        let classes = Classes::parse("left: T1 ,right:T2+Stimulus/S  3,any:go/*/1").unwrap();
        assert_eq!(classes.names(), ["left", "right", "any"]);
        for (code, class) in [
            ("T1", Some("left")),
            ("T2", Some("right")),
            ("Stimulus/S  3", Some("right")),
            ("T3", None),
            ("go/x/1", Some("any")),
            ("go/x/12", None),
            ("t1", None),
        ] {
            assert_eq!(classes.of(code), class, "{code}");
        }
        assert_eq!(classes.absent(["T1", "T9"].into_iter()), ["right", "any"]);
        assert_eq!(
            ["T1", "left", "T9", "?"].map(|code| classes.name(code)),
            ["left", "left (of no class)", "T9", "? (of no class)"]
        );
    }

    #[test]
    fn comments_are_found_by_what_they_say() {
        let classes = Classes::parse("left:T1,right:Comment/T2").unwrap();
        let renamed = |codes: &[&str]| {
            let event = |code: &&str| Event { sample: 0, code: code.to_string(), samples: 0 };
            let mut events: Vec<Event> = codes.iter().map(event).collect();
            classes.rename(&mut events);
            events.into_iter().map(|event| event.code).collect::<Vec<_>>()
        };
        assert_eq!(renamed(&["Comment/T1", "Comment/T2", "T2"]), ["left", "right", "T2"]);
        // Where both are there, each is what it is.
        assert_eq!(renamed(&["Comment/T1", "T1"]), ["Comment/T1", "left"]);
        assert_eq!(renamed(&["Stimulus/T1"]), ["Stimulus/T1"]);
        assert!(classes.absent(["Comment/T1", "Comment/T2"].into_iter()).is_empty());
        assert_eq!(classes.absent(["Comment/T1", "Comment/T3"].into_iter()), ["right"]);
        assert_eq!(usable(["Comment/T1", "boundary"].into_iter()), ["Comment/T1"]);
        assert_eq!(usable(["Comment/blink", "Stimulus/S  1"].into_iter()), ["Stimulus/S  1"]);
    }

    #[test]
    fn labels_of_recordings_are_classes() {
        let classes =
            Classes::parse("task:T1,rest:T0").unwrap().with_labels(["rest", "T1", "sleep"].into_iter());
        let classes = classes.unwrap();
        assert_eq!(classes.names(), ["task", "rest", "sleep"]);
        assert_eq!(
            ["rest", "T0", "T1", "sleep"].map(|code| classes.of(code).unwrap()),
            ["rest", "rest", "task", "sleep"]
        );
        assert!(Classes::default().with_labels(["?"].into_iter()).is_err());
    }

    #[test]
    fn codes_that_are_named_go_before_patterns() {
        let classes = Classes::parse("all:*,left:T1").unwrap();
        assert_eq!((classes.of("T1"), classes.of("T2")), (Some("left"), Some("all")));
        assert!(matches("a*b*c", "abc") && matches("*", "") && matches("a*a", "aa"));
        assert!(!matches("a*a", "a") && !matches("a*b*c", "acb") && !matches("", "a") && matches("", ""));
    }

    #[test]
    fn classes_that_cannot_be_are_refused() {
        for (text, says) in [
            ("left", "`left` has no event code"),
            ("left:", "`left` has no event code"),
            ("left:T1+", "`left` has no event code"),
            (":T1", "no name"),
            ("a:T1,b:T1", "`T1` stands for both `a` and `b`"),
            ("a:T1+T1", "`T1` stands for both `a` and `a`"),
            ("a:T1,a:T2", "`a` is there twice"),
            ("?:T1", "cannot be called"),
            ("", "`` has no event code"),
        ] {
            assert!(Classes::parse(text).unwrap_err().contains(says), "{text}");
        }
    }

    #[test]
    fn marks_of_programs_begin_no_trial() {
        for code in ["New Segment/", "boundary", "BAD_blink", "EDGE boundary", "n/a", "", "Comment/BAD_blink"]
        {
            assert!(technical(code), "{code}");
        }
        assert!(!technical("T1") && !technical("Badminton") && !technical("left"));
    }
}

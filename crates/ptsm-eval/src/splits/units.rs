//! Parts of what was recorded of a subject: sessions, and runs inside of them.

use std::fmt;
use std::str::FromStr;

use ptsm_signal::Trial;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Some sessions and runs, whoever's. Typed and printed as `all`, `s1`, `r2`, `s1r2` (run 2 of session 1), or several of them, `s1+s2r1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Units(Vec<Unit>);

/// A session, a run of every session, or a run of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Unit {
    session: Option<u32>,
    run: Option<u32>,
}

impl Units {
    /// Everything.
    pub const ALL: Units = Units(vec![]);

    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a trial is of one of them.
    pub fn contains(&self, trial: &Trial) -> bool {
        let fits = |expected: Option<u32>, is: u32| expected.is_none_or(|expected| expected == is);
        self.is_all() || self.0.iter().any(|u| fits(u.session, trial.session) && fits(u.run, trial.run))
    }

    /// The session, where all is of one.
    pub fn session(&self) -> Option<u32> {
        let first = self.0.first()?.session;
        first.filter(|_| self.0.iter().all(|unit| unit.session == first))
    }
}

impl FromStr for Units {
    type Err = Error;

    fn from_str(text: &str) -> Result<Units> {
        if text.trim() == "all" {
            return Ok(Units::ALL);
        }
        let unit = |part: &str| {
            let (session, run) = match part.split_once('r') {
                Some((session, run)) => (session, Some(run)),
                None => (part, None),
            };
            let number = |text: &str| text.parse::<u32>().ok();
            let session = match session {
                "" => None,
                session => Some(session.strip_prefix('s').and_then(number)?),
            };
            let run = match run {
                None => None,
                Some(run) => Some(number(run)?),
            };
            (session.is_some() || run.is_some()).then_some(Unit { session, run })
        };
        let units: Option<Vec<Unit>> = text.split('+').map(|part| unit(part.trim())).collect();
        let mut units = units.ok_or_else(|| Error::Units { text: text.to_string() })?;
        units.sort_unstable();
        units.dedup();
        Ok(Units(units))
    }
}

impl TryFrom<String> for Units {
    type Error = Error;

    fn try_from(text: String) -> Result<Units> {
        text.parse()
    }
}

impl From<Units> for String {
    fn from(units: Units) -> String {
        units.to_string()
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all() {
            return f.pad("all");
        }
        let name = |unit: &Unit| {
            let session = unit.session.map_or(String::new(), |s| format!("s{s}"));
            let run = unit.run.map_or(String::new(), |r| format!("r{r}"));
            session + &run
        };
        f.pad(&self.0.iter().map(name).collect::<Vec<_>>().join("+"))
    }
}

/// Units to learn from and units to score: one field of the matrix. Typed and printed as `s1:s2`; the arrow of earlier versions, `s1->s2`, is read too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Transfer {
    /// Sessions and runs of the source subjects (training and validation).
    pub trained_on: Units,
    /// Sessions and runs of the test subjects.
    pub tested: Units,
}

impl FromStr for Transfer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Transfer> {
        let (trained_on, tested) = text
            .split_once("->")
            .or(text.split_once(':'))
            .ok_or_else(|| Error::Transfer { text: text.to_string() })?;
        Ok(Transfer { trained_on: trained_on.parse()?, tested: tested.parse()? })
    }
}

impl TryFrom<String> for Transfer {
    type Error = Error;

    fn try_from(text: String) -> Result<Transfer> {
        text.parse()
    }
}

impl From<Transfer> for String {
    fn from(transfer: Transfer) -> String {
        transfer.to_string()
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.trained_on, self.tested))
    }
}

#[cfg(test)]
mod tests {
    use ptsm_signal::SubjectId;

    use super::*;

    #[test]
    fn typed_and_printed_alike() {
        for text in ["all", "s1", "r2", "s1r2", "s1+s2r1"] {
            assert_eq!(text.parse::<Units>().unwrap().to_string(), text);
        }
        assert_eq!("s2 + s1 + s2".parse::<Units>().unwrap().to_string(), "s1+s2");
        for text in ["s1:all", "s1->all"] {
            assert_eq!(text.parse::<Transfer>().unwrap().to_string(), "s1:all");
        }
        for text in ["", "s", "1", "s1r", "r", "x2", "s1,s2", "s-1", "offline"] {
            let error = text.parse::<Units>().unwrap_err();
            assert!(error.hint().is_some(), "{error}");
        }
        assert!("s1".parse::<Transfer>().is_err());
    }

    #[test]
    fn trials_are_of_their_session_and_run() {
        let trial = |session, run| Trial { label: 0, subject: SubjectId(1), session, run, cue_s: 0.0 };
        let holds = |text: &str, session, run| text.parse::<Units>().unwrap().contains(&trial(session, run));
        assert!(holds("all", 7, 9) && holds("s1", 1, 4) && holds("r2", 5, 2) && holds("s1+s2r1", 2, 1));
        assert!(!holds("s1", 2, 1) && !holds("r2", 2, 1) && !holds("s1+s2r1", 2, 2));
    }

    #[test]
    fn units_of_one_session_know_it() {
        let session = |text: &str| text.parse::<Units>().unwrap().session();
        assert_eq!(
            (session("s2r1+s2r2"), session("s1+s2"), session("r1"), session("all")),
            (Some(2), None, None, None)
        );
    }

    #[test]
    fn a_transfer_names_both_sides() {
        assert_eq!("s1:s2".parse::<Transfer>().unwrap(), "s1->s2".parse().unwrap());
        for lacking in ["s1", "s1>s2", "all"] {
            let error = lacking.parse::<Transfer>().unwrap_err();
            assert!(error.to_string().contains("write TRAIN:TEST"), "{error}");
            assert!(error.hint().is_some());
        }
        assert!("s1:x".parse::<Transfer>().unwrap_err().to_string().contains("`x` names no sessions"));
    }
}

//! Lists of subjects as people type them: `1-30,35`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use ptsm_signal::SubjectId;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Some subjects. Kept as ranges, so that `1-4000000000` takes no more room than `1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SubjectList {
    /// First and last number of each range; sorted, with gaps between them.
    ranges: Vec<(u32, u32)>,
}

impl SubjectList {
    /// Whether a subject is in the list.
    pub fn contains(&self, subject: SubjectId) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).contains(&subject.0))
    }

    /// The listed subjects among those present. One that is not present is an error that names it.
    pub fn choose(&self, present: &BTreeSet<SubjectId>) -> Result<BTreeSet<SubjectId>> {
        let missing = self.without(present);
        if !missing.ranges.is_empty() {
            return Err(Error::UnknownSubjects { missing, present: present.iter().copied().collect() });
        }
        Ok(present.iter().copied().filter(|&s| self.contains(s)).collect())
    }

    /// The list without some subjects.
    fn without(&self, subjects: &BTreeSet<SubjectId>) -> SubjectList {
        let mut ranges = Vec::new();
        for &(first, last) in &self.ranges {
            // Wider than the numbers themselves: one past the last may be 2^32.
            let mut next = u64::from(first);
            for subject in subjects.range(SubjectId(first)..=SubjectId(last)) {
                if next < u64::from(subject.0) {
                    ranges.push((next as u32, subject.0 - 1));
                }
                next = u64::from(subject.0) + 1;
            }
            if next <= u64::from(last) {
                ranges.push((next as u32, last));
            }
        }
        SubjectList { ranges }
    }

    fn from_ranges(mut ranges: Vec<(u32, u32)>) -> SubjectList {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(range) if first <= range.1.saturating_add(1) => range.1 = range.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        SubjectList { ranges: merged }
    }
}

impl FromIterator<SubjectId> for SubjectList {
    fn from_iter<I: IntoIterator<Item = SubjectId>>(subjects: I) -> SubjectList {
        SubjectList::from_ranges(subjects.into_iter().map(|s| (s.0, s.0)).collect())
    }
}

impl FromStr for SubjectList {
    type Err = Error;

    fn from_str(text: &str) -> Result<SubjectList> {
        let refuse = |message: String| Error::Subjects { text: text.to_string(), message };
        // Subjects are printed as `S03`; what is printed can be typed.
        let number = |given: &str| {
            let given = given.trim();
            let digits = given.strip_prefix(['S', 's']).unwrap_or(given);
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(refuse(format!("`{given}` is not a number")));
            }
            digits.parse::<u32>().map_err(|_| refuse(format!("`{given}` is larger than {}", u32::MAX)))
        };
        let ranges = text
            .split(',')
            .map(|part| {
                let (first, last) = match part.split_once('-') {
                    Some((first, last)) => (number(first)?, number(last)?),
                    None => (number(part)?, number(part)?),
                };
                if last < first {
                    return Err(refuse(format!(
                        "the range {first}-{last} is empty; did you mean {last}-{first}?"
                    )));
                }
                Ok((first, last))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(SubjectList::from_ranges(ranges))
    }
}

impl TryFrom<String> for SubjectList {
    type Error = Error;

    fn try_from(text: String) -> Result<SubjectList> {
        text.parse()
    }
}

impl From<SubjectList> for String {
    fn from(list: SubjectList) -> String {
        list.to_string()
    }
}

impl fmt::Display for SubjectList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ranges.is_empty() {
            return f.pad("nobody");
        }
        let parts: Vec<String> = self
            .ranges
            .iter()
            .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
            .collect();
        f.pad(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn list(text: &str) -> SubjectList {
        text.parse().unwrap()
    }

    fn set(numbers: impl IntoIterator<Item = u32>) -> BTreeSet<SubjectId> {
        numbers.into_iter().map(SubjectId).collect()
    }

    #[test]
    fn what_is_typed_is_printed_in_one_form() {
        for (typed, printed) in [
            ("1-30,35", "1-30,35"),
            ("35, 1-30", "1-30,35"),
            ("1,2,3", "1-3"),
            ("4-6,1-3", "1-6"),
            ("S03,s04", "3-4"),
            ("0", "0"),
            ("1-9,4", "1-9"),
            ("4294967295,1", "1,4294967295"),
        ] {
            assert_eq!(list(typed).to_string(), printed);
            assert_eq!(list(printed), list(typed));
        }
    }

    #[test]
    fn wrong_lists_say_what_is_wrong() {
        for (typed, says) in [
            ("", "`` is not a number"),
            ("1,,2", "`` is not a number"),
            ("5-1", "did you mean 1-5"),
            ("1-", "`` is not a number"),
            ("-3", "`` is not a number"),
            ("a", "`a` is not a number"),
            ("+1", "`+1` is not a number"),
            ("1-2-3", "`2-3` is not a number"),
            ("4294967296", "larger than 4294967295"),
        ] {
            let error = typed.parse::<SubjectList>().unwrap_err();
            assert!(error.to_string().contains(says), "{typed}: {error}");
            assert!(error.hint().unwrap().contains("1-30,35"));
        }
    }

    #[test]
    fn absent_subjects_are_named() {
        let present = set(1..=9);
        assert_eq!(list("2-3,9").choose(&present).unwrap(), set([2, 3, 9]));
        let error = list("0-2,8-12,20").choose(&present).unwrap_err().to_string();
        assert_eq!(error, "there is no subject 0,10-12,20; the data have 1-9");
        let error = list("1-4294967295").choose(&set([5, u32::MAX])).unwrap_err().to_string();
        assert_eq!(error, "there is no subject 1-4,6-4294967294; the data have 5,4294967295");
        assert!(list("1").choose(&set([])).unwrap_err().to_string().ends_with("the data have nobody"));
    }
}

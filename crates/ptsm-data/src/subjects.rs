//! Lists of subjects as people type them: `1-30,35`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use ptsm_signal::SubjectId;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Some subjects. Kept as ranges, so that `1-4000000000` takes no more room than `1`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SubjectList {
    /// First and last number of each range; sorted, with gaps between them.
    ranges: Vec<(u32, u32)>,
    /// Those who were named one by one and not only as part of a range.
    named: BTreeSet<SubjectId>,
}

/// Lists are equal when the same subjects are in them, however they were typed.
impl PartialEq for SubjectList {
    fn eq(&self, other: &SubjectList) -> bool {
        self.ranges == other.ranges
    }
}

impl Eq for SubjectList {}

impl SubjectList {
    /// Whether a subject is in the list.
    pub fn contains(&self, subject: SubjectId) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).contains(&subject.0))
    }

    /// The listed subjects among those present. One that is not present is an error that names it.
    pub fn choose(&self, present: &BTreeSet<SubjectId>) -> Result<BTreeSet<SubjectId>> {
        let missing = self.without(present);
        if !missing.ranges.is_empty() {
            let present: SubjectList = present.iter().copied().collect();
            return Err(Error::UnknownSubjects {
                missing: missing.to_string(),
                present: present.to_string(),
            });
        }
        Ok(present.iter().copied().filter(|&s| self.contains(s)).collect())
    }

    /// The list without the subjects that the data leave out on purpose. One of them who is named, rather than part of a range, is an
    /// error that says why they are left out; so is a list of nobody else.
    pub fn skipping(&self, excluded: &[(SubjectId, String)]) -> Result<SubjectList> {
        let listed: Vec<_> =
            excluded.iter().filter(|(subject, _)| self.contains(*subject)).cloned().collect();
        let named: Vec<_> =
            listed.iter().filter(|(subject, _)| self.named.contains(subject)).cloned().collect();
        if !named.is_empty() {
            return Err(Error::ExcludedSubjects { excluded: named });
        }
        let rest = self.without(&listed.iter().map(|(subject, _)| *subject).collect());
        if rest.ranges.is_empty() && !listed.is_empty() {
            return Err(Error::ExcludedSubjects { excluded: listed });
        }
        Ok(rest)
    }

    /// The subjects of both lists.
    pub fn union(&self, other: &SubjectList) -> SubjectList {
        let ranges = self.ranges.iter().chain(&other.ranges).copied().collect();
        SubjectList { named: &self.named | &other.named, ..SubjectList::from_ranges(ranges) }
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
        SubjectList { ranges, named: self.named.difference(subjects).copied().collect() }
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
        SubjectList { ranges: merged, named: BTreeSet::new() }
    }
}

/// The subjects asked for, or everybody.
pub(crate) fn choose(
    present: BTreeSet<SubjectId>,
    subjects: Option<&SubjectList>,
) -> Result<BTreeSet<SubjectId>> {
    match subjects {
        Some(list) => list.choose(&present),
        None => Ok(present),
    }
}

impl FromIterator<SubjectId> for SubjectList {
    fn from_iter<I: IntoIterator<Item = SubjectId>>(subjects: I) -> SubjectList {
        let named: BTreeSet<SubjectId> = subjects.into_iter().collect();
        let ranges = named.iter().map(|s| (s.0, s.0)).collect();
        SubjectList { named, ..SubjectList::from_ranges(ranges) }
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
        let named = ranges.iter().filter(|(first, last)| first == last).map(|(first, _)| SubjectId(*first));
        let named = named.collect();
        Ok(SubjectList { named, ..SubjectList::from_ranges(ranges) })
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
            return f.pad("no subject");
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
        assert!(list("1").choose(&set([])).unwrap_err().to_string().ends_with("the data have no subject"));
    }

    #[test]
    fn ranges_skip_who_is_left_out_and_names_do_not() {
        let excluded = [(SubjectId(88), "slow".to_string()), (SubjectId(92), "odd".to_string())];
        let skipping = |text: &str| list(text).skipping(&excluded);
        assert_eq!(skipping("80-90").unwrap().to_string(), "80-87,89-90");
        assert_eq!(skipping("1-3").unwrap(), list("1-3"));
        // Still named: what is absent is told as before.
        assert!(skipping("80-90,200").unwrap().choose(&set(80..=90)).is_err());
        for (typed, says) in [
            ("88", "the data leave out S88 (slow)"),
            ("87,88,92,93", "the data leave out S88 (slow), S92 (odd)"),
            ("80-90,88", "the data leave out S88 (slow)"),
            ("88-88", "the data leave out S88 (slow)"),
        ] {
            let error = skipping(typed).unwrap_err();
            assert_eq!(error.to_string(), says, "{typed}");
            assert!(error.hint().unwrap().contains("range"), "{error}");
        }
        let both = [(SubjectId(1), "a".to_string()), (SubjectId(2), "b".to_string())];
        assert!(list("1-2").skipping(&both).is_err(), "nobody is left");
        assert!(list("1-5").union(&list("88")).skipping(&excluded).is_err());
        assert_eq!(list("1-5").union(&list("80-90")).skipping(&excluded).unwrap(), list("1-5,80-87,89-90"));
    }
}

//! Which runs of which subjects are wanted.

use ptsm_signal::SubjectId;

use super::ID;
use crate::catalogue::Options;
use crate::error::Result;
use crate::subjects::SubjectList;

/// Subjects that most leave out, which leaves 105.
const LEAVES_105: [u32; 4] = [88, 92, 100, 104];
/// Subjects left out besides by some, which leaves 103.
const LEAVES_103: [u32; 2] = [38, 89];

/// What was chosen.
pub(super) struct RunSelection {
    /// By their numbers, ascending.
    pub(super) runs: Vec<u32>,
    pub(super) classes: Vec<String>,
    excluded: ExcludedSubjects,
}

enum ExcludedSubjects {
    Known(Vec<u32>),
    Listed(SubjectList),
}

impl RunSelection {
    pub(super) fn new(options: &Options) -> Result<RunSelection> {
        let four = options.get("classes") == "4";
        let runs: &[u32] = match (options.get("task"), four) {
            ("execution", false) => &[3, 7, 11],
            ("execution", true) => &[3, 5, 7, 9, 11, 13],
            (_, false) => &[4, 8, 12],
            (_, true) => &[4, 6, 8, 10, 12, 14],
        };
        let classes = ["left_hand", "right_hand", "hands", "feet"];
        let classes = classes[..if four { 4 } else { 2 }].iter().map(|class| class.to_string()).collect();
        let excluded = match options.get("exclude") {
            "default" | "105" => ExcludedSubjects::Known(LEAVES_105.to_vec()),
            "103" => ExcludedSubjects::Known([&LEAVES_105[..], &LEAVES_103].concat()),
            "none" | "" => ExcludedSubjects::Known(vec![]),
            list => ExcludedSubjects::Listed(list.parse().map_err(|_| {
                let hint = "give `default`, `none`, `105`, `103` or numbers and ranges such as `88,92`";
                Options::refuse(ID, "exclude", list, hint)
            })?),
        };
        Ok(RunSelection { runs: runs.to_vec(), classes, excluded })
    }

    /// Why a subject is left out; none for those who are not.
    pub(super) fn excluded(&self, subject: u32) -> Option<&'static str> {
        match &self.excluded {
            ExcludedSubjects::Listed(list) => list.contains(SubjectId(subject)).then_some("asked for"),
            ExcludedSubjects::Known(known) => known.contains(&subject).then_some(match subject {
                88 | 92 | 100 => "recorded at 128 Hz with other timing",
                104 => "wrong annotations",
                _ => "said to be annotated wrongly",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::CHOICES;
    use super::*;

    fn chosen(given: &[(&str, &str)]) -> Result<RunSelection> {
        let given: Vec<_> = given.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        RunSelection::new(&Options::new(ID, CHOICES, &given)?)
    }

    fn left(chosen: &RunSelection) -> Vec<u32> {
        (1..=109).filter(|&subject| chosen.excluded(subject).is_some()).collect()
    }

    #[test]
    fn runs_follow_task_and_classes() {
        for (classes, task, runs) in [
            ("2", "imagery", &[4, 8, 12][..]),
            ("4", "imagery", &[4, 6, 8, 10, 12, 14]),
            ("2", "execution", &[3, 7, 11]),
            ("4", "execution", &[3, 5, 7, 9, 11, 13]),
        ] {
            let chosen = chosen(&[("classes", classes), ("task", task)]).unwrap();
            assert_eq!(chosen.runs, runs);
            assert_eq!(chosen.classes.len().to_string(), classes);
        }
    }

    #[test]
    fn subjects_are_left_out_by_known_lists_or_ones_own() {
        assert_eq!(left(&chosen(&[]).unwrap()), [88, 92, 100, 104]);
        assert_eq!(left(&chosen(&[("exclude", "105")]).unwrap()), [88, 92, 100, 104]);
        assert_eq!(left(&chosen(&[("exclude", "103")]).unwrap()), [38, 88, 89, 92, 100, 104]);
        assert!(left(&chosen(&[("exclude", "none")]).unwrap()).is_empty());
        assert!(left(&chosen(&[("exclude", "")]).unwrap()).is_empty());
        assert_eq!(left(&chosen(&[("exclude", "1-3,S105")]).unwrap()), [1, 2, 3, 105]);
        let error = chosen(&[("exclude", "nobody")]).err().unwrap();
        assert!(error.to_string().contains("`exclude=nobody`"), "{error}");
        assert!(error.hint().unwrap().contains("`88,92`"));
    }
}

//! Whether two sources are of the same people.

use serde::{Deserialize, Serialize};

use super::Source;
use crate::catalogue::DATA_SETS;

/// Whose recordings those of another source are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CohortRelation {
    /// The same people: a number or a label means the same person in both.
    Same,
    /// Other people, none of whom is in both.
    Other,
}

impl Source {
    /// Whether another source has the same subjects, as far as the sources themselves tell; none where only their user can know. Data
    /// sets of the catalogue are of the same people where they are of one study, simulated cohorts where they are of one seed; what is
    /// the user's own is of the same people where it is the same folder or file.
    pub fn cohort_relation(&self, other: &Source) -> Option<CohortRelation> {
        let ((own, own_known), (others, others_known)) = (self.cohort_name(), other.cohort_name());
        match own == others {
            true => Some(CohortRelation::Same),
            false => (own_known && others_known).then_some(CohortRelation::Other),
        }
    }

    /// What tells its people from others, and whether that is known to this program: another name then means other people.
    fn cohort_name(&self) -> (String, bool) {
        let place = |path: &std::path::Path| {
            let whole = path.canonicalize();
            format!("{}", whole.as_deref().unwrap_or(path).display())
        };
        match self {
            Source::Simulated { cohort, .. } => (format!("simulated {}", cohort.seed), true),
            Source::File(path) | Source::Folder(path) => (place(path), false),
            Source::Recordings(recordings) => {
                let id = recordings.set().about().id;
                if DATA_SETS.iter().any(|set| set.about().id == id) {
                    return (recordings.set().study(), true);
                }
                // A manifest is a file in its folder; the same folder in the Brain Imaging Data Structure can be typed in many ways.
                let name = if id.starts_with("files:") { id.as_str() } else { "bids" };
                (format!("{name} {}", place(recordings.root())), false)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;
    use ptsm_simulate::Cohort;

    fn known(id: &str, root: &Path, with: &[(&str, &str)]) -> Source {
        let with: Vec<_> = with.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Source::parse_with(id, Some(root), &with).unwrap()
    }

    #[test]
    fn who_is_in_two_sources_is_known_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        for name in ["a.npz", "b.npz"] {
            std::fs::write(at.join(name), "").unwrap();
        }
        let simulated =
            |seed| Source::Simulated { cohort: Box::new(Cohort { seed, ..Cohort::default() }), note: None };
        let (same, other) = (Some(CohortRelation::Same), Some(CohortRelation::Other));
        let imagery = known("physionet-mi", at, &[]);
        for (first, second, relation) in [
            (&imagery, &known("physionet-mi", Path::new("elsewhere"), &[("task", "execution")]), same),
            (&imagery, &known("openbmi-mi", at, &[]), other),
            (&known("openbmi-erp", at, &[]), &known("openbmi-mi", at, &[]), same),
            (&simulated(1), &simulated(1), same),
            (&simulated(1), &simulated(2), other),
            (&imagery, &simulated(1), other),
            (&known("a.npz", at, &[]), &known("./a.npz", at, &[]), same),
            (&known("a.npz", at, &[]), &known("b.npz", at, &[]), None),
            (&known("a.npz", at, &[]), &imagery, None),
        ] {
            assert_eq!(first.cohort_relation(second), relation, "{first:?} {second:?}");
            assert_eq!(second.cohort_relation(first), relation);
        }
    }
}

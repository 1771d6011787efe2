//! Which trials are source-only: what a user says of them.

mod load;
mod subjects;

pub use load::SourceOnlyInput;
pub(crate) use load::{Study, separate};
pub use subjects::SourceOnlySubjects;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::str::FromStr;

use ptsm_data::{CohortRelation, SubjectList};
use serde::{Deserialize, Serialize};

use super::DataRequest;
use crate::error::{Error, Result};
use crate::splits::Units;

/// What a class is called that is left out.
const LEFT_OUT: &str = "-";
/// The keys of a request, as they are typed.
const KEYS: [&str; 7] = ["id", "root", "with", "subjects", "units", "classes", "cohort"];

/// Trials that are trained on and nothing else: `[[source_only]]` in a configuration file, `[[data.source_only]]` in a plan, and
/// `--source-only id=physionet-mi,with=task=execution` on the command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceOnlyRequest {
    /// What to read; the study's own data without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The folder of the recordings; the study's, where they are of the same data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Choices about the data set, `NAME=VALUE`; over the study's, where they are of the same data set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// Only these subjects, by their numbers in these data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subjects: Option<SubjectList>,
    /// Only these sessions and runs. Where nothing else is named they are taken out of the study, which neither trains on them in another
    /// way nor tests them.
    #[serde(skip_serializing_if = "Units::is_all")]
    pub units: Units,
    /// The study's class for each class of another name; `-` leaves a class out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, String>,
    /// Whether the subjects are those of the study; needed where the data do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cohort: Option<CohortRelation>,
}

impl SourceOnlyRequest {
    /// Where the trials are, seen from the study: what is not said is as there, where it is the same data set.
    fn data(&self, study: &DataRequest) -> DataRequest {
        let is_same = self.id.is_none() || self.id == study.data;
        let (root, with) = match is_same {
            // The last one of a name counts.
            true => (study.root.clone(), [study.with.clone(), self.with.clone()].concat()),
            false => (None, self.with.clone()),
        };
        DataRequest {
            data: self.id.clone().or_else(|| study.data.clone()),
            root: self.root.clone().or(root),
            with,
            subjects: self.subjects.clone(),
        }
    }
}

impl FromStr for SourceOnlyRequest {
    type Err = Error;

    /// Keys and values, `KEY=VALUE,..`; `with` and `classes` may be repeated.
    fn from_str(text: &str) -> Result<SourceOnlyRequest> {
        let refuse = |message: String| {
            Error::request(
                format!("source-only `{text}`: {message}"),
                "write `with=task=execution`, `units=r12` or `id=FILE.npz,cohort=other,classes=left_fist=left_hand`; keys are id, root, with, \
                 subjects, units, classes, cohort",
            )
        };
        let mut parts: Vec<(&str, String)> = vec![];
        for part in text.split(',') {
            let key =
                part.split_once('=').and_then(|(key, _)| KEYS.iter().find(|known| **known == key.trim()));
            match (key, parts.last_mut()) {
                (Some(key), _) => {
                    parts.push((key, part.split_once('=').map_or("", |(_, value)| value).into()))
                }
                // A comma inside of a value, as in a list of subjects.
                (None, Some((_, value))) => *value += &format!(",{part}"),
                (None, None) => return Err(refuse(format!("`{part}` begins with no key"))),
            }
        }
        let mut request = SourceOnlyRequest::default();
        let mut seen = BTreeSet::new();
        for (key, value) in parts {
            let value = value.trim();
            if !seen.insert(key) && !["with", "classes"].contains(&key) {
                return Err(refuse(format!("`{key}` stands there twice")));
            }
            if value.is_empty() {
                return Err(refuse(format!("`{key}` has no value")));
            }
            match key {
                "id" => request.id = Some(value.into()),
                "root" => request.root = Some(value.into()),
                "with" => request.with.push(value.into()),
                "subjects" => request.subjects = Some(value.parse()?),
                "units" => request.units = value.parse()?,
                "cohort" => {
                    request.cohort = Some(match value {
                        "same" => CohortRelation::Same,
                        "other" => CohortRelation::Other,
                        _ => return Err(refuse(format!("`cohort` is `same` or `other`, not `{value}`"))),
                    });
                }
                _ => {
                    let (from, to) = value
                        .split_once('=')
                        .ok_or_else(|| refuse(format!("`classes={value}` has no `=` between two names")))?;
                    if request.classes.insert(from.trim().into(), to.trim().into()).is_some() {
                        return Err(refuse(format!("the class `{}` stands there twice", from.trim())));
                    }
                }
            }
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_typed_as_keys_and_values() {
        let request: SourceOnlyRequest =
            "id=a,b.npz,subjects=1-3,5,with=task=execution,with=classes=2,units=s1r2+r3,\
                                          classes=left_fist=left_hand,classes=rest=-,cohort=other"
                .parse()
                .unwrap();
        let pair = |(a, b): (&str, &str)| (a.to_string(), b.to_string());
        assert_eq!(
            request,
            SourceOnlyRequest {
                id: Some("a,b.npz".into()),
                root: None,
                with: vec!["task=execution".into(), "classes=2".into()],
                subjects: Some("1-3,5".parse().unwrap()),
                units: "s1r2+r3".parse().unwrap(),
                classes: [("left_fist", "left_hand"), ("rest", "-")].map(pair).into(),
                cohort: Some(CohortRelation::Other),
            }
        );
        let file = "[[source_only]]\nwith = [\"task=execution\"]\ncohort = \"same\"\nclasses = { a = \"b\" }";
        let file: BTreeMap<String, Vec<SourceOnlyRequest>> = toml::from_str(file).unwrap();
        let typed = "with=task=execution,cohort=same,classes=a=b".parse().unwrap();
        assert_eq!(file["source_only"], [typed]);
    }

    #[test]
    fn what_is_no_request_says_why() {
        for (text, says) in [
            ("", "begins with no key"),
            ("physionet-mi", "`physionet-mi` begins with no key"),
            ("id=a,id=b", "`id` stands there twice"),
            ("units=", "`units` has no value"),
            ("cohort=mine", "`same` or `other`, not `mine`"),
            ("classes=left", "has no `=`"),
            ("classes=a=b,classes=a=c", "`a` stands there twice"),
            ("units=x", "names no sessions and runs"),
            ("subjects=x", "`x` is not a number"),
        ] {
            let error = text.parse::<SourceOnlyRequest>().unwrap_err();
            assert!(error.to_string().contains(says), "{text}: {error}");
            assert!(error.hint().is_some(), "{text}");
        }
    }

    #[test]
    fn the_same_data_set_is_where_the_study_is() {
        let study = DataRequest {
            data: Some("physionet-mi".into()),
            root: Some("here".into()),
            with: vec!["exclude=103".into()],
            subjects: Some("1-3".parse().unwrap()),
        };
        let of = |text: &str| text.parse::<SourceOnlyRequest>().unwrap().data(&study);
        let own = of("with=task=execution");
        assert_eq!((own.root.clone(), own.subjects.clone()), (Some("here".into()), None));
        assert_eq!(own.with, ["exclude=103", "task=execution"]);
        assert_eq!(of("id=physionet-mi,with=task=execution"), own);
        assert_eq!(of("id=b.npz"), DataRequest::named("b.npz"));
    }
}

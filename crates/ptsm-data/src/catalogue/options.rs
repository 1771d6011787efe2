//! What can be chosen about a data set.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use ptsm_signal::nearest::suggestion;

/// Something to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSetChoice {
    /// What is typed before the `=`.
    pub name: &'static str,
    /// What is taken without it; empty for nothing.
    pub default: &'static str,
    /// How values look: `2|4`, `LIST`.
    pub values: &'static str,
    /// What it means, in one line.
    pub about: &'static str,
}

/// What was chosen: every choice has a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Defaults with what a user gave. Where `values` lists them (`2|4`), only those are taken.
    pub fn new(id: &str, choices: &[DataSetChoice], given: &[(String, String)]) -> Result<Options> {
        let mut chosen: BTreeMap<String, String> =
            choices.iter().map(|c| (c.name.to_string(), c.default.to_string())).collect();
        for (name, value) in given {
            let Some(choice) = choices.iter().find(|choice| choice.name == name) else {
                return Err(unknown(id, choices, name));
            };
            let listed: Vec<&str> = choice.values.split('|').collect();
            if listed.len() > 1 && !listed.contains(&&**value) {
                return Err(Options::refuse(id, name, value, format!("give one of {}", listed.join(", "))));
            }
            chosen.insert(name.clone(), value.clone());
        }
        Ok(Options(chosen))
    }

    /// The value of a choice.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// All of them by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// A value that cannot be worked with.
    pub fn refuse(id: &str, name: &str, value: &str, hint: impl Into<String>) -> Error {
        Error::Source {
            id: id.to_string(),
            message: format!("`{name}={value}` is not possible"),
            hint: Some(hint.into()),
        }
    }
}

fn unknown(id: &str, choices: &[DataSetChoice], name: &str) -> Error {
    let meant = suggestion(name, choices.iter().map(|choice| (choice.name, choice.name)));
    let all: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
    let known = if all.is_empty() {
        "there is nothing to choose".into()
    } else {
        format!("known are {}", all.join(", "))
    };
    Error::Source {
        id: id.to_string(),
        message: format!("there is no choice `{name}`"),
        hint: Some(format!("{meant}{known}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const CHOICES: &[DataSetChoice] = &[
        DataSetChoice { name: "classes", default: "2", values: "2|4", about: "how many" },
        DataSetChoice { name: "exclude", default: "", values: "LIST", about: "whom" },
    ];

    fn options(given: &[(&str, &str)]) -> Result<Options> {
        let given: Vec<_> = given.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Options::new("some", CHOICES, &given)
    }

    #[test]
    fn defaults_are_replaced_by_what_is_given() {
        assert_eq!(options(&[]).unwrap().get("classes"), "2");
        let chosen = options(&[("classes", "4"), ("exclude", "1-3")]).unwrap();
        assert_eq!(chosen.iter().collect::<Vec<_>>(), [("classes", "4"), ("exclude", "1-3")]);
    }

    #[test]
    fn unknown_names_and_values_are_refused() {
        let error = options(&[("clases", "4")]).unwrap_err();
        assert_eq!(error.to_string(), "data `some`: there is no choice `clases`");
        assert_eq!(error.hint(), Some("is `classes` meant? known are classes, exclude"));
        let error = options(&[("classes", "3")]).unwrap_err();
        assert!(error.to_string().contains("`classes=3`") && error.hint() == Some("give one of 2, 4"));
    }
}

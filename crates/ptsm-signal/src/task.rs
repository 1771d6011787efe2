//! What is declared about the task of a data set. None of it is guessed from the names of classes: `left` may be an imagined hand, a
//! talker, or the left one of four flickering targets.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What subjects do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paradigm {
    /// Imagined movement.
    MotorImagery,
    /// Executed movement.
    MotorExecution,
    /// Responses to events: P300 spellers, error potentials.
    Erp,
    /// Steady-state responses to flicker.
    Ssvep,
    /// Attention to one of several talkers.
    AuditoryAttention,
    /// Anything else: mental arithmetic, rest, sleep.
    Other,
}

impl Paradigm {
    /// Every paradigm.
    pub const ALL: [Paradigm; 6] = [
        Paradigm::MotorImagery,
        Paradigm::MotorExecution,
        Paradigm::Erp,
        Paradigm::Ssvep,
        Paradigm::AuditoryAttention,
        Paradigm::Other,
    ];

    /// What is typed: `motor-imagery`.
    pub fn name(self) -> &'static str {
        match self {
            Paradigm::MotorImagery => "motor-imagery",
            Paradigm::MotorExecution => "motor-execution",
            Paradigm::Erp => "erp",
            Paradigm::Ssvep => "ssvep",
            Paradigm::AuditoryAttention => "auditory-attention",
            Paradigm::Other => "other",
        }
    }
}

impl fmt::Display for Paradigm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Paradigm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Paradigm> {
        Paradigm::ALL.into_iter().find(|paradigm| paradigm.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Paradigm::ALL.into_iter().map(Paradigm::name).collect();
            Error::data(format!("paradigm `{text}`"), "there is none of this name")
                .with_hint(format!("paradigms are {}", names.join(", ")))
        })
    }
}

/// What an epoch of a class becomes when the two sides of the head are exchanged.
///
/// As text: `left_hand=right_hand` (several pairs with commas between them), `invariant` or `none`. In TOML and JSON pairs are a
/// table, `{ left_hand = "right_hand" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SymmetryText", into = "SymmetryText")]
pub enum Symmetry {
    /// Nobody says: mirroring is not possible.
    #[default]
    Undeclared,
    /// An epoch of the same class, whichever it is.
    Invariant,
    /// An epoch of the partner for the classes of a pair, of the same class for all others. No class is in two pairs.
    Swaps(BTreeMap<String, String>),
}

/// A symmetry in a file.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a symmetry is `{ left_hand = \"right_hand\" }`, `\"invariant\"` or `\"none\"`"
)]
enum SymmetryText {
    Word(String),
    Pairs(BTreeMap<String, String>),
}

const INVARIANT: &str = "invariant";
const NONE: &str = "none";

impl TryFrom<SymmetryText> for Symmetry {
    type Error = Error;

    fn try_from(written: SymmetryText) -> Result<Symmetry> {
        match written {
            SymmetryText::Word(word) => word.parse(),
            SymmetryText::Pairs(pairs) => Symmetry::swapping(pairs),
        }
    }
}

impl From<Symmetry> for SymmetryText {
    fn from(symmetry: Symmetry) -> SymmetryText {
        match symmetry {
            Symmetry::Swaps(pairs) => SymmetryText::Pairs(pairs),
            other => SymmetryText::Word(other.to_string()),
        }
    }
}

impl FromStr for Symmetry {
    type Err = Error;

    fn from_str(text: &str) -> Result<Symmetry> {
        match text.trim() {
            NONE => Ok(Symmetry::Undeclared),
            INVARIANT => Ok(Symmetry::Invariant),
            pairs => {
                let pairs = pairs.split(',').map(|pair| match pair.split_once('=') {
                    Some((one, other)) => Ok((one.trim().to_string(), other.trim().to_string())),
                    None => Err(wrong(format!("`{pair}` is no pair of classes"))),
                });
                Symmetry::swapping(pairs.collect::<Result<Vec<_>>>()?)
            }
        }
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Symmetry::Undeclared => f.write_str(NONE),
            Symmetry::Invariant => f.write_str(INVARIANT),
            Symmetry::Swaps(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(one, other)| format!("{one}={other}")).collect();
                f.write_str(&pairs.join(","))
            }
        }
    }
}

impl Symmetry {
    /// Pairs of classes that become each other.
    pub fn swapping(
        pairs: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Result<Symmetry> {
        let mut swaps: BTreeMap<String, String> = BTreeMap::new();
        for (one, other) in pairs {
            let (one, other) = (one.into(), other.into());
            if one.is_empty() || other.is_empty() || one == other {
                return Err(wrong(format!("`{one}={other}` does not name two classes")));
            }
            // A pair may be told from both sides.
            if swaps.get(&other) == Some(&one) || swaps.get(&one) == Some(&other) {
                continue;
            }
            let is_taken = |class: &String| swaps.iter().any(|(a, b)| a == class || b == class);
            if let Some(twice) = [&one, &other].into_iter().find(|class| is_taken(class)) {
                return Err(wrong(format!("`{twice}` is in two pairs")));
            }
            swaps.insert(one, other);
        }
        if swaps.is_empty() {
            return Err(wrong("no pair of classes is named".into()));
        }
        Ok(Symmetry::Swaps(swaps))
    }

    /// Whether it is not declared what mirroring means.
    pub fn is_undeclared(&self) -> bool {
        *self == Symmetry::Undeclared
    }

    /// For each class its place after mirroring; none where nothing is declared. Every class of a pair must be there.
    pub fn permutation(&self, classes: &[String]) -> Result<Option<Vec<u32>>> {
        let mut places: Vec<u32> = (0..classes.len() as u32).collect();
        let pairs = match self {
            Symmetry::Undeclared => return Ok(None),
            Symmetry::Invariant => return Ok(Some(places)),
            Symmetry::Swaps(pairs) => pairs,
        };
        for (one, other) in pairs {
            let place = |name: &String| {
                classes.iter().position(|class| class == name).ok_or_else(|| {
                    Error::data(
                        format!("symmetry `{one}={other}`"),
                        format!("there is no class `{name}`; the classes are {}", classes.join(", ")),
                    )
                    .with_hint(format!("{EXAMPLE}, with classes that are there"))
                })
            };
            let (one, other) = (place(one)?, place(other)?);
            places.swap(one, other);
        }
        Ok(Some(places))
    }

    /// The same where only some of a data set's classes are used: pairs of which both are there. Undeclared where one is there
    /// without its partner, because what it would become is none of the classes.
    pub fn among(&self, classes: &[String]) -> Symmetry {
        let Symmetry::Swaps(pairs) = self else { return self.clone() };
        let there = |class: &String| classes.contains(class);
        if pairs.iter().any(|(one, other)| there(one) != there(other)) {
            return Symmetry::Undeclared;
        }
        let both = pairs.iter().filter(|(one, _)| there(one));
        let both: BTreeMap<String, String> = both.map(|(one, other)| (one.clone(), other.clone())).collect();
        if both.is_empty() { Symmetry::Undeclared } else { Symmetry::Swaps(both) }
    }
}

const EXAMPLE: &str = "write `left_hand=right_hand` for classes that swap when left and right are exchanged";

fn wrong(message: String) -> Error {
    Error::data("symmetry", message)
        .with_hint(format!("{EXAMPLE}, `invariant` where none changes, `none` to leave it undeclared"))
}

/// What a data set or its user declares about the task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskDeclaration {
    /// What subjects do, where that is declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paradigm: Option<Paradigm>,
    /// What mirroring does to the classes.
    #[serde(skip_serializing_if = "Symmetry::is_undeclared")]
    pub symmetry: Symmetry,
}

impl TaskDeclaration {
    /// A paradigm without a symmetry.
    pub fn of(paradigm: Paradigm) -> TaskDeclaration {
        TaskDeclaration { paradigm: Some(paradigm), symmetry: Symmetry::Undeclared }
    }

    /// The same with one more pair of classes that swap, neither of them in a pair already.
    pub fn swapping(self, one: &str, other: &str) -> TaskDeclaration {
        let mut pairs = match self.symmetry {
            Symmetry::Swaps(pairs) => pairs,
            Symmetry::Undeclared | Symmetry::Invariant => BTreeMap::new(),
        };
        pairs.insert(one.to_string(), other.to_string());
        TaskDeclaration { symmetry: Symmetry::Swaps(pairs), ..self }
    }

    /// Whether nothing is declared.
    pub fn is_undeclared(&self) -> bool {
        *self == TaskDeclaration::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn pairs_swap_and_others_stay() {
        let hands: Symmetry = "left_hand=right_hand".parse().unwrap();
        let four = classes(&["feet", "left_hand", "tongue", "right_hand"]);
        assert_eq!(hands.permutation(&four).unwrap(), Some(vec![0, 3, 2, 1]));
        assert_eq!(Symmetry::Invariant.permutation(&four).unwrap(), Some(vec![0, 1, 2, 3]));
        assert_eq!(Symmetry::Undeclared.permutation(&four).unwrap(), None);
        let error = hands.permutation(&classes(&["left_hand", "feet"])).unwrap_err();
        assert!(error.to_string().contains("there is no class `right_hand`"), "{error}");
    }

    #[test]
    fn of_some_classes_only_whole_pairs_are_left() {
        let hands: Symmetry = "left_hand=right_hand,left_foot=right_foot".parse().unwrap();
        let of = |names: &[&str]| hands.among(&classes(names)).to_string();
        assert_eq!(of(&["left_hand", "right_hand", "rest"]), "left_hand=right_hand");
        assert_eq!(of(&["left_hand", "rest"]), "none");
        assert_eq!(of(&["left_hand", "right_hand", "left_foot"]), "none");
        assert_eq!(of(&["rest", "task"]), "none");
        assert_eq!(Symmetry::Invariant.among(&classes(&["a"])), Symmetry::Invariant);
    }

    #[test]
    fn text_and_files_say_the_same() {
        for (text, json) in [
            ("none", "\"none\""),
            ("invariant", "\"invariant\""),
            ("a=b,left hand=right hand", r#"{"a":"b","left hand":"right hand"}"#),
        ] {
            let symmetry: Symmetry = text.parse().unwrap();
            assert_eq!(symmetry.to_string(), text);
            assert_eq!(serde_json::to_string(&symmetry).unwrap(), json);
            assert_eq!(serde_json::from_str::<Symmetry>(json).unwrap(), symmetry);
        }
        let both: Symmetry = "a=b, b=a".parse().unwrap();
        assert_eq!(both.to_string(), "a=b");
        for text in ["", "a", "a=", "=b", "a=a", "a=b,b=c", "a=b,c=a", "invariant,a=b"] {
            let error = text.parse::<Symmetry>().unwrap_err();
            assert!(error.hint().unwrap().contains("left_hand=right_hand"), "{text}: {error}");
        }
        for paradigm in Paradigm::ALL {
            assert_eq!(paradigm.name().parse::<Paradigm>().unwrap(), paradigm);
            assert_eq!(serde_json::to_string(&paradigm).unwrap(), format!("\"{paradigm}\""));
        }
        assert!("imagery".parse::<Paradigm>().unwrap_err().hint().unwrap().contains("motor-imagery"));
    }
}

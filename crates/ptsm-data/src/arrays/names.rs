//! Columns that name something, by number or by text.

use std::collections::BTreeSet;

use ptsm_io::npy::Data;

/// A column of names. Which kind it is must be the same in all files of a set.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Names {
    Flags(Vec<bool>),
    Numbers(Vec<i64>),
    Texts(Vec<String>),
}

/// A name itself; numbers are in numerical order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Flag(bool),
    Number(i64),
    Text(String),
}

impl Names {
    /// None for values that name nothing, such as fractions.
    pub(super) fn from(data: Data) -> Option<Names> {
        match data {
            Data::Bool(flags) => Some(Names::Flags(flags)),
            Data::Text(texts) => Some(Names::Texts(texts)),
            numbers => numbers.to_integers().map(Names::Numbers),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Names::Flags(flags) => flags.len(),
            Names::Numbers(numbers) => numbers.len(),
            Names::Texts(texts) => texts.len(),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Names::Flags(_) => "booleans",
            Names::Numbers(_) => "integers",
            Names::Texts(_) => "text",
        }
    }

    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = Name> + '_> {
        match self {
            Names::Flags(flags) => Box::new(flags.iter().map(|&v| Name::Flag(v))),
            Names::Numbers(numbers) => Box::new(numbers.iter().map(|&v| Name::Number(v))),
            Names::Texts(texts) => Box::new(texts.iter().map(|v| Name::Text(v.clone()))),
        }
    }
}

impl Name {
    /// As a class is called.
    pub(super) fn words(&self) -> String {
        match self {
            Name::Flag(flag) => flag.to_string(),
            Name::Number(number) => number.to_string(),
            Name::Text(text) => text.clone(),
        }
    }
}

/// All distinct names of some columns, sorted.
pub(super) fn distinct<'a>(columns: impl Iterator<Item = &'a Names>) -> Vec<Name> {
    columns.flat_map(Names::iter).collect::<BTreeSet<_>>().into_iter().collect()
}

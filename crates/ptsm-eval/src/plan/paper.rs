//! What a paper says of the same.

use std::collections::BTreeMap;
use std::fmt;

use crate::splits::Transfer;
use serde::{Deserialize, Serialize};

/// One column of a paper's table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaperColumn {
    /// What it is called there.
    pub column: String,
    /// The metric it stands beside here.
    pub metric: String,
    /// The data it stands beside; all without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The sessions and runs it stands beside; all without it.
    #[serde(rename = "units", skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// With how many labelled trials of each class decoders were tuned; without it nothing was, nor set aside for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shots: Option<usize>,
    /// What each method reached, in percent.
    pub values: BTreeMap<String, PublishedValue>,
}

/// A published value, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PublishedValue {
    /// The value.
    Value(f64),
    /// The lowest and the highest of several columns, where no more is known.
    Between([f64; 2]),
}

impl fmt::Display for PublishedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishedValue::Value(value) => f.pad(&format!("{value:.2}")),
            PublishedValue::Between([low, high]) => f.pad(&format!("{low:.2} to {high:.2}")),
        }
    }
}

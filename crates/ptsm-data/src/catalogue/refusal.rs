//! Words for files that are not what their names say.

use std::path::Path;

use crate::error::Error;

/// A file that is not what it should be.
pub(super) fn refuse(path: &Path, message: impl Into<String>) -> Error {
    let hint =
        "it may be a file of another data set or only part of one; download it again or take it away".into();
    Error::Content { path: path.to_path_buf(), message: message.into(), hint: Some(hint) }
}

/// Names for a message, not too many of them.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    const MOST: usize = 12;
    if names.is_empty() {
        return "none".into();
    }
    let quoted = |name: &T| format!("`{}`", shortened(name.as_ref()));
    let mut all: Vec<String> = names.iter().take(MOST).map(quoted).collect();
    if names.len() > MOST {
        all.push("more".into());
    }
    all.join(", ")
}

/// Foreign text for a message, not too long.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        return text.to_string();
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}

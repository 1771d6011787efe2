//! The page of the documentation that results are put into.

use std::fs;

use anyhow::{Context, Result};

use crate::shell;

const PAGE: &str = "docs/performance.md";

/// Puts text between two marks of the page; what stands around them is written by hand.
pub(crate) fn put(marks: [&str; 2], text: &str) -> Result<()> {
    let path = shell::root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("{PAGE} cannot be read"))?;
    let page = between(&page, marks, text)
        .with_context(|| format!("{PAGE} has no `{}` and `{}`", marks[0], marks[1]))?;
    fs::write(&path, page).with_context(|| format!("{PAGE} cannot be written"))
}

fn between(page: &str, [begin, end]: [&str; 2], text: &str) -> Option<String> {
    let (head, rest) = page.split_once(begin)?;
    let (_, tail) = rest.split_once(end)?;
    Some(format!("{head}{begin}\n\n{text}\n{end}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let marks = ["<!-- a -->", "<!-- /a -->"];
        let page = "head\n<!-- a -->\nold\n<!-- /a -->\ntail";
        let new = between(page, marks, "new").unwrap();
        assert_eq!(new, "head\n<!-- a -->\n\nnew\n<!-- /a -->\ntail");
        assert_eq!(between(&new, marks, "new"), Some(new.clone()));
        assert_eq!(between("no marks", marks, "new"), None);
    }
}

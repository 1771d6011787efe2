//! What the sources keep to besides the map: no file is long without a reason, the program stays thin, and a public type's
//! name means one thing in the whole workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::modules::{after_item, closing, tests_only, word};
use super::read;
use crate::shell::relative;
use crate::tokens::{Token, tokens};
use crate::unsafe_code::sources;

/// Lines of a file that need no reason.
const FILE_LINES: usize = 600;
/// What the reason of a longer file begins with, and the lines among which it stands.
const REASON: (&str, usize) = ("Longer than 600 lines because", 12);
/// The program, and its lines without tests.
const PROGRAM: (&str, usize) = ("crates/ptsm-cli/src", 3_500);
/// Names that each crate may have for itself.
const OF_EACH_CRATE: [&str; 2] = ["Error", "Result"];

/// What does not hold in the workspace.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut wrong = vec![];
    let mut program = 0;
    let mut types = BTreeMap::new();
    for file in sources(root)? {
        let text = read(&file)?;
        wrong.extend(too_long(&relative(&file), &text));
        let place = file.strip_prefix(root).unwrap_or(&file);
        if place.starts_with(PROGRAM.0) {
            program += lines_without_tests(&text);
        }
        if is_source_of_a_crate(place) {
            note_public_types(place, &text, &mut types);
        }
    }
    if program > PROGRAM.1 {
        wrong.push(format!(
            "{} has {program} lines without tests; a thin program has at most {}, and the rest belongs to a library",
            PROGRAM.0, PROGRAM.1
        ));
    }
    wrong.extend(shared_names(&types));
    Ok(wrong)
}

/// A long file that does not say why.
fn too_long(name: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let explained = text.lines().take(REASON.1).any(|line| line.contains(REASON.0));
    (lines > FILE_LINES && !explained).then(|| {
        format!("{name}:1: {lines} lines; divide the file, or say \"{} ..\" in its first lines", REASON.0)
    })
}

/// Lines of a source that are not in items for tests only.
fn lines_without_tests(text: &str) -> usize {
    let tokens = tokens(text);
    let tested: usize = test_items(&tokens).iter().map(|(from, to)| to - from + 1).sum();
    text.lines().count().saturating_sub(tested)
}

/// The first and last line of each item for tests only, with the attribute in front of it.
fn test_items(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let mut found = vec![];
    let mut at = 0;
    while at < tokens.len() {
        let attribute = word(tokens, at) == "#" && word(tokens, at + 1) == "[";
        let end = if attribute { closing(tokens, at) } else { at + 1 };
        if attribute && tests_only(&tokens[at..end]) {
            let after = after_item(tokens, end).max(end + 1).min(tokens.len());
            found.push((tokens[at].line, tokens[after - 1].line));
            at = after;
        } else {
            at = end;
        }
    }
    found
}

fn is_source_of_a_crate(place: &Path) -> bool {
    let mut parts = place.components().map(|part| part.as_os_str());
    parts.next().is_some_and(|first| first == "crates") && parts.nth(1).is_some_and(|third| third == "src")
}

/// Files and lines that declare each public type.
type Declarations = BTreeMap<String, Vec<(PathBuf, usize)>>;

fn note_public_types(place: &Path, text: &str, types: &mut Declarations) {
    let tokens = tokens(text);
    let tested = test_items(&tokens);
    for at in 0..tokens.len() {
        // An unsafe trait is a trait.
        let kind_at = if word(&tokens, at + 1) == "unsafe" { at + 2 } else { at + 1 };
        let kind = word(&tokens, kind_at);
        let line = tokens[at].line;
        let declares = word(&tokens, at) == "pub"
            && ["struct", "enum", "trait", "type", "union"].contains(&kind)
            && !tested.iter().any(|(from, to)| (*from..=*to).contains(&line));
        if declares {
            types.entry(word(&tokens, kind_at + 1).into()).or_default().push((place.into(), line));
        }
    }
}

/// Names that two public types have.
fn shared_names(types: &Declarations) -> Vec<String> {
    let crates = |at: &[(PathBuf, usize)]| {
        at.iter().map(|(file, _)| file.iter().nth(1)).collect::<BTreeSet<_>>().len()
    };
    let shared = types.iter().filter(|(name, at)| {
        let of_each = OF_EACH_CRATE.contains(&name.as_str()) && crates(at) == at.len();
        at.len() > 1 && !of_each
    });
    shared
        .map(|(name, at)| {
            let places: Vec<String> =
                at.iter().map(|(file, line)| format!("{}:{line}", file.display())).collect();
            format!("the public type `{name}` is declared in {}; one name, one meaning", places.join(" and "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_needs_a_reason() {
        let long = "fn f() {}\n".repeat(601);
        assert!(too_long("a.rs", &long).unwrap().starts_with("a.rs:1: 601 lines"));
        assert_eq!(too_long("a.rs", &"fn f() {}\n".repeat(600)), None);
        let explained = format!("//! A table.\n//!\n//! {} it is one table.\n{long}", REASON.0);
        assert_eq!(too_long("a.rs", &explained), None);
    }

    #[test]
    fn tests_do_not_count_as_lines_of_the_program() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {\n    }\n}\nfn c() {}\n";
        assert_eq!(lines_without_tests(text), 3);
        assert_eq!(lines_without_tests("fn a() {\n}\n"), 2);
    }

    #[test]
    fn a_public_name_stands_for_one_type() {
        let mut types = Declarations::new();
        let first =
            "pub unsafe trait Split {}\npub type Result<T> = X<T>;\npub(crate) struct Own;\nstruct Hidden;";
        let second = "\npub enum Split { A }\npub type Result<T> = Y<T>;\npub struct Own;\n#[cfg(test)]\nmod tests {\n    pub struct Split;\n}";
        note_public_types(Path::new("crates/a/src/lib.rs"), first, &mut types);
        note_public_types(Path::new("crates/b/src/lib.rs"), second, &mut types);
        let wrong = shared_names(&types);
        assert_eq!(
            wrong,
            [
                "the public type `Split` is declared in crates/a/src/lib.rs:1 and crates/b/src/lib.rs:2; one name, one meaning"
            ]
        );
    }

    #[test]
    fn only_sources_of_crates_declare_public_types() {
        assert!(is_source_of_a_crate(Path::new("crates/ptsm-io/src/a/b.rs")));
        assert!(!is_source_of_a_crate(Path::new("crates/ptsm-io/tests/a.rs")));
        assert!(!is_source_of_a_crate(Path::new("lab/src/a.rs")));
    }
}

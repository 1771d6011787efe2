//! The keyword `unsafe` outside the kernels. The compiler's lint can be switched off anywhere; this cannot.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell;

/// Folders and files, seen from the workspace, that may use the keyword.
pub(super) const ALLOWED: [&str; 6] = [
    "crates/ptsm-engine/src/kernels",
    // Calls into NVIDIA's libraries.
    "crates/ptsm-engine/src/cuda/driver.rs",
    // Several channels at once with what the processor has.
    "crates/ptsm-signal/src/filter/lanes.rs",
    // A mapped file is borrowed from the system.
    "crates/ptsm-io/src/bytes.rs",
    // A counting allocator is an implementation of an unsafe trait.
    "crates/ptsm-engine/tests/allocation.rs",
    "crates/ptsm-io/tests/memory/mod.rs",
];

pub(super) fn check() -> Result<()> {
    let root = shell::root();
    let mut found = vec![];
    for file in sources(&root)? {
        let place = file.strip_prefix(&root).unwrap_or(&file);
        if ALLOWED.iter().any(|allowed| place.starts_with(allowed)) {
            continue;
        }
        let text =
            fs::read_to_string(&file).with_context(|| format!("{} cannot be read", place.display()))?;
        found.extend(lines_with_keyword(&text).into_iter().map(|l| format!("{}:{l}", place.display())));
    }
    if !found.is_empty() {
        bail!("`unsafe` outside {}; move it there or do without: {}", ALLOWED.join(", "), found.join(", "));
    }
    Ok(())
}

/// Every Rust file of the workspace.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![];
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("{} cannot be listed", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = entry.file_name();
            let built = path == root.join("target") || path == shell::target();
            if kind.is_dir() && !built && !name.to_string_lossy().starts_with('.') {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Numbers of the lines with the keyword, comments and literals aside.
fn lines_with_keyword(source: &str) -> Vec<usize> {
    let mut found = vec![];
    let (mut rest, mut line) = (source, 1);
    while let Some(c) = rest.chars().next() {
        let (length, code) = match c {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => (block_comment(rest), false),
            '"' => (text(rest), false),
            '\'' => (character(rest), false),
            _ if c == '_' || c.is_alphabetic() => {
                let word = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
                match raw_text(rest, word) {
                    Some(length) => (length, false),
                    None => (word, true),
                }
            }
            _ => (c.len_utf8(), false),
        };
        let (piece, after) = rest.split_at(length);
        if code && piece == "unsafe" {
            found.push(line);
        }
        line += piece.matches('\n').count();
        rest = after;
    }
    found
}

/// Length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of a string with escapes.
fn text(rest: &str) -> usize {
    let mut escaped = true; // the opening quote
    for (at, c) in rest.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// Length of a raw string whose prefix is the word at the beginning, if it is one: `r"`, `br#"`.
fn raw_text(rest: &str, word: usize) -> Option<usize> {
    if !matches!(&rest[..word], "r" | "br" | "cr") {
        return None;
    }
    let hashes = rest[word..].bytes().take_while(|b| *b == b'#').count();
    let inside = rest[word + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(word + hashes + 1 + length)
}

/// Length of a character; of a lifetime only the mark.
fn character(rest: &str) -> usize {
    let mut inside = rest[1..].char_indices();
    match inside.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(rest.len(), |at| 3 + at + 1),
        Some(_) => match inside.next() {
            Some((at, '\'')) => 1 + at + 1,
            _ => 1,
        },
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keyword_is_found_in_code() {
        assert_eq!(lines_with_keyword("fn f() {\n    unsafe { g() }\n}\nunsafe impl A for B {}"), [2, 4]);
        assert_eq!(
            lines_with_keyword("#[unsafe(no_mangle)]\nfn f<'a>(c: char) { c == '\"'; unsafe {} }"),
            [1, 2]
        );
        assert_eq!(lines_with_keyword("let s = r\"\\\"; unsafe {}"), [1]);
        assert_eq!(lines_with_keyword("let c = ['\\'', '\\\\', 'x']; unsafe {}"), [1]);
        assert_eq!(lines_with_keyword("/* a /* b */ c */ unsafe {}"), [1]);
    }

    #[test]
    fn words_around_comments_and_literals_are_not_the_keyword() {
        for harmless in [
            "// unsafe",
            "/// `unsafe`\nfn f() {}",
            "/* unsafe /* unsafe */ unsafe */",
            "#![allow(unsafe_code)]",
            "let s = \"unsafe \\\" unsafe\";",
            "let s = r#\"unsafe \" unsafe\"#;",
            "let s = b\"unsafe\";",
            "fn not_unsafe() {}",
        ] {
            assert!(lines_with_keyword(harmless).is_empty(), "{harmless}");
        }
    }
}

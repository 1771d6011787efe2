//! The keyword `unsafe` outside the kernels. The compiler's lint can be switched off anywhere; this cannot.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell;
use crate::tokens::tokens;

/// Folders and files, seen from the workspace, that may use the keyword.
pub(crate) const ALLOWED: [&str; 6] = [
    "crates/ptsm-engine/src/kernels",
    // Calls into NVIDIA's libraries.
    "crates/ptsm-engine/src/cuda/driver.rs",
    // Several channels at once with what the processor has.
    "crates/ptsm-signal/src/lanes.rs",
    // A mapped file is borrowed from the system.
    "crates/ptsm-io/src/bytes.rs",
    // A counting allocator is an implementation of an unsafe trait.
    "crates/ptsm-engine/tests/allocation.rs",
    "crates/ptsm-io/tests/memory/allocator.rs",
];

pub(crate) fn check() -> Result<()> {
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
pub(crate) fn sources(root: &Path) -> Result<Vec<PathBuf>> {
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
    tokens(source).iter().filter(|token| token.text == "unsafe").map(|token| token.line).collect()
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

//! Which top module of a crate uses which, read from its sources, against the crate's `modules.toml`.
//!
//! A line `name = ["other", ...]` of that file allows the module `name` of `src/` to use `crate::other`, directly or by a name
//! that the crate's root re-exports from it. The root itself may use everything; a name that the root defines belongs to no
//! module.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Edges, cycle, read};
use crate::shell::relative;
use crate::tokens::{Token, tokens};

/// One use of a module by another.
#[derive(Debug)]
struct ModuleUse {
    from: String,
    to: String,
    file: PathBuf,
    line: usize,
}

/// The top modules of a crate and how they use each other.
#[derive(Default)]
struct Sources {
    modules: Vec<String>,
    uses: Vec<ModuleUse>,
}

/// What differs between a crate's sources and its `modules.toml`.
pub(super) fn check(folder: &Path) -> Result<Vec<String>> {
    let list = folder.join("modules.toml");
    let name = relative(&list);
    let allowed = listed(&read(&list)?);
    let sources = Sources::read(folder)?;
    let mut wrong = vec![];
    for (module, (line, others)) in &allowed {
        for listed in others.iter().chain([module]).filter(|listed| !sources.modules.contains(listed)) {
            wrong.push(format!("{name}:{line}: the crate has no top module `{listed}`"));
        }
    }
    for module in sources.modules.iter().filter(|module| !allowed.contains_key(*module)) {
        wrong.push(format!("{name}:1: the top module `{module}` has no line"));
    }
    for ModuleUse { from, to, file, line } in &sources.uses {
        if !allowed.get(from).is_some_and(|(_, others)| others.contains(to)) {
            wrong.push(format!(
                "{}:{line}: `{from}` uses `{to}`, which {name} does not allow",
                relative(file)
            ));
        }
    }
    let edges: Edges =
        allowed.iter().map(|(from, (_, to))| (from.clone(), to.iter().cloned().collect())).collect();
    wrong.extend(cycle(&edges).map(|way| {
        let line = way.first().and_then(|first| allowed.get(first)).map_or(1, |(line, _)| *line);
        format!("{name}:{line}: the allowed uses form a cycle: {}", way.join(" -> "))
    }));
    Ok(wrong)
}

/// Writes a crate's `modules.toml` as its sources are.
pub(super) fn write(folder: &Path) -> Result<()> {
    let list = folder.join("modules.toml");
    let sources = Sources::read(folder)?;
    let mut edges: Edges =
        sources.modules.iter().map(|module| (module.clone(), Default::default())).collect();
    for one in sources.uses {
        edges.entry(one.from).or_default().insert(one.to);
    }
    let mut text =
        String::from("# Which top modules of `src` each of them may use; `cargo xtask test map` holds it.\n");
    for (from, to) in edges {
        let to: Vec<String> = to.iter().map(|name| format!("\"{name}\"")).collect();
        text += &format!("{from} = [{}]\n", to.join(", "));
    }
    fs::write(&list, text).with_context(|| format!("{} cannot be written", relative(&list)))
}

/// The lines of a `modules.toml`: by module its line and the modules it may use. Lists may go over several lines.
fn listed(text: &str) -> BTreeMap<String, (usize, Vec<String>)> {
    let mut found = BTreeMap::new();
    let mut current = String::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let list = match line.split_once('=') {
            Some((name, list)) => {
                current = name.trim().to_string();
                found.insert(current.clone(), (at + 1, vec![]));
                list
            }
            None => line,
        };
        if let Some((_, others)) = found.get_mut(&current) {
            others.extend(list.split('"').skip(1).step_by(2).map(str::to_string));
        }
    }
    found
}

impl Sources {
    fn read(folder: &Path) -> Result<Sources> {
        let mut sources = Sources::default();
        for root in ["lib.rs", "main.rs"] {
            let file = folder.join("src").join(root);
            if file.exists() {
                let mut reader = Reader { top: vec![], reexports: BTreeMap::new(), found: vec![] };
                reader.file(&file, &folder.join("src"), &[])?;
                sources.add(reader);
            }
        }
        sources.modules.sort();
        sources.modules.dedup();
        Ok(sources)
    }

    fn add(&mut self, reader: Reader) {
        for ModuleUse { from, to, file, line } in reader.found {
            let module = if reader.top.contains(&to) { Some(&to) } else { reader.reexports.get(&to) };
            if let Some(to) = module.filter(|to| **to != from && reader.top.contains(to)) {
                self.uses.push(ModuleUse { from, to: to.clone(), file, line });
            }
        }
        self.modules.extend(reader.top);
    }
}

/// Walks through the modules of a crate, from its root.
struct Reader {
    /// Top modules.
    top: Vec<String>,
    /// What the root re-exports under a name, and the module it is from.
    reexports: BTreeMap<String, String>,
    /// Names of the root that modules use.
    found: Vec<ModuleUse>,
}

impl Reader {
    /// Reads a file that is the module `path`, whose own modules are in `folder`.
    fn file(&mut self, file: &Path, folder: &Path, path: &[String]) -> Result<()> {
        let text = read(file)?;
        let tokens = tokens(&text);
        let mut here = path.to_vec();
        // Braces that are open, and which of them are of modules in the text.
        let (mut depth, mut inline) = (0, vec![]);
        let (mut test, mut elsewhere) = (false, None);
        let mut at = 0;
        while at < tokens.len() {
            let is = |offset: usize, text: &str| word(&tokens, at + offset) == text;
            if is(0, "#") && (is(1, "[") || is(1, "!") && is(2, "[")) {
                let end = closing(&tokens, at);
                let attribute = &tokens[at..end];
                let inner = is(1, "!");
                at = end;
                match (tests_only(attribute), inner) {
                    (true, true) => return Ok(()),
                    (true, false) => test = true,
                    _ => elsewhere = path_of(attribute).or(elsewhere),
                }
                continue;
            }
            if test {
                (test, elsewhere) = (false, None);
                at = after_item(&tokens, at);
                continue;
            }
            match word(&tokens, at) {
                "mod" if is(2, ";") || is(2, "{") => {
                    let name = word(&tokens, at + 1).to_string();
                    if here.is_empty() {
                        self.top.push(name.clone());
                    }
                    here.push(name.clone());
                    if is(2, "{") {
                        inline.push(depth);
                        depth += 1;
                    } else {
                        let nested: PathBuf = here[path.len()..here.len() - 1].iter().collect();
                        self.module(&folder.join(nested), &name, elsewhere.take(), &here)?;
                        here.pop();
                    }
                    at += 2;
                }
                "use" if here.is_empty() => self.reexport(&tokens, at + 1),
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if inline.last() == Some(&depth) {
                        inline.pop();
                        here.pop();
                    }
                }
                "crate" if is(1, ":") && is(2, ":") => self.used(&tokens, at + 3, &here, file),
                "super" if is(1, ":") && is(2, ":") => {
                    let mut levels = 1;
                    while word(&tokens, at + 3) == "super" && word(&tokens, at + 4) == ":" {
                        (levels, at) = (levels + 1, at + 3);
                    }
                    if levels == here.len() {
                        self.used(&tokens, at + 3, &here, file);
                    }
                }
                _ => {}
            }
            elsewhere = None;
            at += 1;
        }
        Ok(())
    }

    /// Reads the file of a module that is declared with `mod name;`.
    fn module(
        &mut self,
        folder: &Path,
        name: &str,
        elsewhere: Option<String>,
        path: &[String],
    ) -> Result<()> {
        let inside = folder.join(name);
        let beside = folder.join(format!("{name}.rs"));
        match elsewhere {
            // Such a file's own modules are beside it.
            Some(given) => {
                let file = folder.join(given);
                let folder = file.parent().unwrap_or(folder).to_path_buf();
                self.file(&file, &folder, path)
            }
            None if beside.exists() => self.file(&beside, &inside, path),
            None => self.file(&inside.join("mod.rs"), &inside, path),
        }
    }

    /// Notes what follows `crate::` in a module: a name, or several in braces.
    fn used(&mut self, tokens: &[Token<'_>], at: usize, here: &[String], file: &Path) {
        let Some(from) = here.first() else { return };
        for Token { text, line } in heads(tokens, at) {
            self.found.push(ModuleUse { from: from.clone(), to: text.into(), file: file.into(), line });
        }
    }

    /// Notes the names that a `use` of the root makes known, and the module each is from.
    fn reexport(&mut self, tokens: &[Token<'_>], at: usize) {
        let end = (at..tokens.len()).find(|&i| tokens[i].text == ";").unwrap_or(tokens.len());
        let own = |i: usize| matches!(word(tokens, i), "crate" | "self") && word(tokens, i + 1) == ":";
        let at = if own(at) { at + 3 } else { at };
        for head in heads(tokens, at) {
            // The last name of every path, or what it is called instead.
            let begin = tokens[at..end].iter().position(|token| *token == head).map_or(at, |i| at + i);
            let stop = after_path(tokens, begin, end);
            for i in begin..stop {
                let last = matches!(word(tokens, i + 1), "," | ";" | "}");
                if last && word(tokens, i) != "}" {
                    self.reexports.insert(word(tokens, i).into(), head.text.into());
                }
            }
        }
    }
}

pub(super) fn word<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

/// The first names of a path or of every path in braces.
fn heads<'a>(tokens: &[Token<'a>], at: usize) -> Vec<Token<'a>> {
    if word(tokens, at) != "{" {
        return tokens.get(at).copied().into_iter().collect();
    }
    let end = closing(tokens, at);
    let mut found = vec![];
    let mut i = at + 1;
    while i < end.saturating_sub(1) {
        found.push(tokens[i]);
        i = after_path(tokens, i, end - 1) + 1;
    }
    found
}

/// Where a path in a list ends: at the comma behind it.
fn after_path(tokens: &[Token<'_>], from: usize, end: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().take(end).skip(from) {
        match token.text {
            "{" => depth += 1,
            "}" if depth == 0 => return i,
            "}" => depth -= 1,
            "," if depth == 0 => return i,
            _ => {}
        }
    }
    end
}

/// Behind the bracket that closes the first one from here on.
pub(super) fn closing(tokens: &[Token<'_>], from: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(from) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Whether an attribute keeps what follows to tests.
pub(super) fn tests_only(attribute: &[Token<'_>]) -> bool {
    let has = |text: &str| attribute.iter().any(|token| token.text == text);
    has("test") && !has("not") && (has("cfg") || attribute.len() == 4)
}

/// The file that `#[path = "..."]` names.
fn path_of(attribute: &[Token<'_>]) -> Option<String> {
    let named = word(attribute, 2) == "path" && word(attribute, 3) == "=";
    named.then(|| word(attribute, 4).trim_matches('"').to_string())
}

/// Behind an item, or a field or statement: what an attribute stands in front of.
pub(super) fn after_item(tokens: &[Token<'_>], from: usize) -> usize {
    const ITEMS: [&str; 14] = [
        "pub",
        "mod",
        "fn",
        "use",
        "struct",
        "enum",
        "impl",
        "trait",
        "const",
        "static",
        "type",
        "unsafe",
        "async",
        "macro_rules",
    ];
    let item = ITEMS.contains(&word(tokens, from));
    let mut at = from;
    while at < tokens.len() {
        match tokens[at].text {
            "{" => return closing(tokens, at),
            "(" | "[" => at = closing(tokens, at),
            ";" => return at + 1,
            "," if !item => return at + 1,
            "}" | ")" | "]" => return at,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A crate on disk, gone when dropped.
    struct TemporaryCrate(PathBuf);

    impl TemporaryCrate {
        fn new(files: &[(&str, &str)]) -> TemporaryCrate {
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let folder = std::env::temp_dir().join(format!("xtask-map-{}-{number}", std::process::id()));
            for (name, text) in files {
                let file = folder.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            TemporaryCrate(folder)
        }

        /// What is wrong with it, with names of files seen from the crate.
        fn check(&self) -> Vec<String> {
            let folder = format!("{}/", self.0.display());
            check(&self.0).unwrap().iter().map(|line| line.replace(&folder, "")).collect()
        }
    }

    impl Drop for TemporaryCrate {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const ROOT: (&str, &str) =
        ("src/lib.rs", "mod low;\npub mod high;\npub use low::{inner::{Deep, Other as Renamed}, Low};\n");

    #[test]
    fn listed_uses_pass() {
        let files = [
            ROOT,
            ("modules.toml", "# Which.\nlow = []\nhigh = [\n    \"low\", # why\n]\n"),
            ("src/low.rs", "mod inner;\npub struct Low;\n"),
            ("src/low/inner.rs", "use super::Low;\nuse crate::low::Low as L;\n"),
            (
                "src/high/mod.rs",
                "use crate::low::Low;\nuse super::low;\nuse crate::high::x;\nuse crate::{Renamed};\n",
            ),
        ];
        assert_eq!(TemporaryCrate::new(&files).check(), [""; 0]);
    }

    #[test]
    fn an_unlisted_edge_names_file_line_and_edge() {
        let files = [
            ROOT,
            ("modules.toml", "low = []\nhigh = []\n"),
            ("src/low.rs", "mod inner;\n// crate::high in a comment\nconst S: &str = \"crate::high\";\n"),
            ("src/low/inner.rs", "\nfn f() { super::super::high::g() }\n"),
            (
                "src/high.rs",
                "use std::{\n    fmt, io};\nuse crate::{\n    high::x,\n    Renamed,\n};\nmod a { use super::super::low; }\n",
            ),
        ];
        assert_eq!(
            TemporaryCrate::new(&files).check(),
            [
                "src/low/inner.rs:2: `low` uses `high`, which modules.toml does not allow",
                "src/high.rs:5: `high` uses `low`, which modules.toml does not allow",
                "src/high.rs:7: `high` uses `low`, which modules.toml does not allow",
            ]
        );
    }

    #[test]
    fn tests_may_use_anything() {
        let files = [
            ROOT,
            ("modules.toml", "low = []\nhigh = [\"low\"]\n"),
            (
                "src/low.rs",
                "#[cfg(test)]\nmod common;\n#[cfg(test)]\nuse crate::high::A;\nstruct S {\n    #[cfg(test)]\n    b: crate::high::B,\n    c: u8,\n}\n\
                 #[cfg(all(test, unix))]\npub(crate) fn f<A, B>(a: [u8; 2]) { crate::high::g() }\n#[test]\nfn g() { crate::high::h() }\n\
                 #[cfg(test)]\n#[allow(unused)]\nmod tests {\n    use crate::high::X;\n}\n#[cfg(not(test))]\nuse crate::high::N;\n",
            ),
            ("src/low/common.rs", "use crate::high::X;\n"),
            ("src/high.rs", "#![cfg(test)]\nuse crate::low::X;\n"),
        ];
        assert_eq!(
            TemporaryCrate::new(&files).check(),
            ["src/low.rs:20: `low` uses `high`, which modules.toml does not allow"]
        );
    }

    #[test]
    fn a_cycle_of_listed_edges_is_refused() {
        let files = [
            ROOT,
            ("modules.toml", "low = [\"high\"]\nhigh = [\"low\"]\n"),
            ("src/low.rs", ""),
            ("src/high.rs", ""),
        ];
        assert_eq!(
            TemporaryCrate::new(&files).check(),
            ["modules.toml:2: the allowed uses form a cycle: high -> low -> high"]
        );
    }

    #[test]
    fn the_list_has_every_module_and_no_other() {
        let files = [ROOT, ("modules.toml", "low = [\"middle\"]\n"), ("src/low.rs", ""), ("src/high.rs", "")];
        assert_eq!(
            TemporaryCrate::new(&files).check(),
            [
                "modules.toml:1: the crate has no top module `middle`",
                "modules.toml:1: the top module `high` has no line"
            ]
        );
    }

    #[test]
    fn an_empty_list_is_written_from_the_sources() {
        let files = [ROOT, ("modules.toml", ""), ("src/low.rs", ""), ("src/high.rs", "use crate::Low;\n")];
        let made_up = TemporaryCrate::new(&files);
        write(&made_up.0).unwrap();
        assert_eq!(made_up.check(), [""; 0]);
        let written = fs::read_to_string(made_up.0.join("modules.toml")).unwrap();
        assert!(written.ends_with("high = [\"low\"]\nlow = []\n"), "{written}");
    }
}

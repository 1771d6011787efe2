//! Which crate may use which, and which module of a crate may use which: the map in `docs/architecture.md` and the file
//! `modules.toml` of each crate that has one, held against the sources.
//!
//! Nothing is compiled: manifests and sources are read. Tests may use anything, so dev-dependencies and code under
//! `#[cfg(test)]` are left out. What sources keep to besides, such as their length, is in [`limits`].

mod limits;
mod modules;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell::{relative, root};

/// What may use what, by name.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// Checks the workspace; `write` first renews every `modules.toml` from the sources.
pub(crate) fn check(write: bool) -> Result<()> {
    let root = root();
    let crates = crates(&root)?;
    let table = root.join("docs/architecture.md");
    let mut wrong = table::check(&table, &read(&table)?, &crates);
    let mut with_modules = 0;
    for one in crates.iter().filter(|one| one.folder.join("modules.toml").exists()) {
        with_modules += 1;
        if write {
            modules::write(&one.folder)?;
        }
        wrong.extend(modules::check(&one.folder)?);
    }
    if !wrong.is_empty() {
        bail!("{} uses are not on the map:\n{}", wrong.len(), wrong.join("\n"));
    }
    let over = limits::check(&root)?;
    if !over.is_empty() {
        bail!("{} limits of the sources do not hold:\n{}", over.len(), over.join("\n"));
    }
    println!("{} crates and the modules of {with_modules} of them are as the map says", crates.len());
    Ok(())
}

/// A crate of the workspace.
struct Crate {
    name: String,
    folder: PathBuf,
    /// Everything it depends on, but for its tests, with the line of the manifest.
    dependencies: Vec<(String, usize)>,
}

/// All crates of the workspace, by name.
fn crates(root: &Path) -> Result<Vec<Crate>> {
    let mut found = vec![];
    for parent in [root.to_path_buf(), root.join("crates"), root.join("bindings")] {
        for folder in fs::read_dir(parent).into_iter().flatten() {
            let folder = folder?.path();
            let manifest = folder.join("Cargo.toml");
            if let Ok(text) = fs::read_to_string(&manifest) {
                found.extend(read_manifest(&text, folder));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// What a manifest says; nothing where it is a workspace of its own, as that of the fuzzer's targets is.
fn read_manifest(text: &str, folder: PathBuf) -> Option<Crate> {
    let (mut name, mut dependencies, mut section) = (None, vec![], String::new());
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[').and_then(|l| l.split(']').next()) {
            section = header.to_string();
            if let Some((_, one)) = section.split_once("dependencies.").filter(|_| depends(&section)) {
                dependencies.push((one.to_string(), at + 1));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { continue };
        let key = key.trim().split('.').next().unwrap_or_default();
        if section == "package" && key == "name" {
            name = Some(value.trim().trim_matches('"').to_string());
        } else if section.ends_with("dependencies") && depends(&section) {
            dependencies.push((key.to_string(), at + 1));
        }
    }
    let own_workspace = text.lines().any(|line| line.trim() == "[workspace]");
    name.filter(|_| !own_workspace).map(|name| Crate { name, folder, dependencies })
}

/// Whether a section of a manifest names what the crate itself needs, as opposed to its tests.
fn depends(section: &str) -> bool {
    section.contains("dependencies") && !section.contains("dev-dependencies")
}

/// A way from a name back to itself, if there is one.
fn cycle(edges: &Edges) -> Option<Vec<String>> {
    fn follow<'a>(edges: &'a Edges, way: &mut Vec<&'a str>, done: &mut BTreeSet<&'a str>) -> bool {
        let Some(&last) = way.last() else { return false };
        for next in edges.get(last).into_iter().flatten() {
            if let Some(at) = way.iter().position(|name| name == next) {
                way.drain(..at);
                way.push(next);
                return true;
            }
            if !done.contains(next.as_str()) {
                way.push(next);
                if follow(edges, way, done) {
                    return true;
                }
            }
        }
        done.insert(last);
        way.pop();
        false
    }
    let mut done = BTreeSet::new();
    edges.keys().find_map(|start| {
        let mut way = vec![start.as_str()];
        let found = !done.contains(start.as_str()) && follow(edges, &mut way, &mut done);
        found.then(|| way.iter().map(ToString::to_string).collect())
    })
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", relative(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn edges(list: &[(&str, &[&str])]) -> Edges {
        list.iter()
            .map(|(from, to)| (from.to_string(), to.iter().map(ToString::to_string).collect()))
            .collect()
    }

    #[test]
    fn a_cycle_is_reported_from_its_beginning_to_its_beginning() {
        let straight = [("a", &["b", "c"][..]), ("b", &["c"]), ("c", &[])];
        assert_eq!(cycle(&edges(&straight)), None);
        let round = [("a", &["b"][..]), ("b", &["c"]), ("c", &["d"]), ("d", &["b"])];
        assert_eq!(cycle(&edges(&round)).unwrap(), ["b", "c", "d", "b"]);
        assert_eq!(cycle(&edges(&[("a", &["a"])])).unwrap(), ["a", "a"]);
    }

    #[test]
    fn a_manifest_tells_what_the_crate_needs_but_not_its_tests() {
        let text = "[package]\nname = \"one\"\n\n[dependencies]\ntwo.workspace = true\nthree = { path = \"..\" }\n# four = 1\n\
                    [dev-dependencies]\nfive = \"1\"\n[target.'cfg(unix)'.dependencies]\nsix = \"1\"\n[dependencies.seven]\nversion = \"1\"\n";
        let one = read_manifest(text, "one".into()).unwrap();
        let names: Vec<_> = one.dependencies.iter().map(|(name, line)| (name.as_str(), *line)).collect();
        assert_eq!(
            (one.name.as_str(), names),
            ("one", vec![("two", 5), ("three", 6), ("six", 11), ("seven", 12)])
        );
        assert!(read_manifest("[package]\nname = \"fuzz\"\n[workspace]\n", "fuzz".into()).is_none());
    }
}

//! The table of crates in `docs/architecture.md`: a row is a crate, its one job, and the crates of the workspace that it may use.

use std::path::Path;

use super::{Crate, Edges, cycle};
use crate::shell::relative;

/// What a row says of a crate that is not there yet; the row need then not be true.
const PLANNED: &str = "planned:";

/// A row of the table.
struct Row {
    name: String,
    /// Crates it may use; none stands for all.
    uses: Option<Vec<String>>,
    planned: bool,
    line: usize,
}

/// What differs between the table and the manifests.
pub(super) fn check(file: &Path, text: &str, crates: &[Crate]) -> Vec<String> {
    let page = relative(file);
    let rows = rows(text);
    let is_there = |name: &str| crates.iter().any(|one| one.name == name);
    let mut wrong = vec![];
    for row in &rows {
        if row.planned == is_there(&row.name) {
            let what = if row.planned { "is there now, not planned" } else { "is not in the workspace" };
            wrong.push(format!("{page}:{}: `{}` {what}", row.line, row.name));
        }
    }
    for one in crates {
        let manifest = relative(&one.folder.join("Cargo.toml"));
        let Some(row) = rows.iter().find(|row| row.name == one.name) else {
            wrong.push(format!("{manifest}:1: `{}` has no row in {page}", one.name));
            continue;
        };
        for (other, line) in one.dependencies.iter().filter(|(other, _)| is_there(other)) {
            if row.uses.as_ref().is_some_and(|uses| !uses.contains(other)) {
                wrong.push(format!(
                    "{manifest}:{line}: `{}` uses `{other}`, which {page}:{} does not allow",
                    one.name, row.line
                ));
            }
        }
    }
    let edges: Edges =
        rows.iter().map(|row| (row.name.clone(), row.uses.iter().flatten().cloned().collect())).collect();
    wrong.extend(
        cycle(&edges).map(|way| format!("{page}: the allowed uses form a cycle: {}", way.join(" -> "))),
    );
    wrong
}

/// Rows whose first cell is a name in backticks and whose last one is a list of such, `all` or `-`.
fn rows(text: &str) -> Vec<Row> {
    let mut found = vec![];
    for (at, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let [name, job, uses] = cells[..] else { continue };
        if let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
            let names = || uses.split('`').skip(1).step_by(2).map(str::to_string).collect();
            found.push(Row {
                name: name.into(),
                uses: (uses != "all").then(names),
                planned: job.starts_with(PLANNED),
                line: at + 1,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| crate | its one job | may use |
| --- | --- | --- |
| `low` | something | - |
| `high` | something more | `low` |
| `top` | everything | all |
| `later` | planned: something else | `high` |
";

    fn check_with(uses: &[(&str, &[&str])]) -> Vec<String> {
        let one = |(name, uses): &(&str, &[&str])| Crate {
            name: name.to_string(),
            folder: name.into(),
            dependencies: uses.iter().enumerate().map(|(at, other)| (other.to_string(), at + 10)).collect(),
        };
        check(Path::new("page.md"), PAGE, &uses.iter().map(one).collect::<Vec<_>>())
    }

    #[test]
    fn allowed_uses_pass() {
        let uses = [("low", &["anyhow"][..]), ("high", &["low", "anyhow"]), ("top", &["low", "high"])];
        assert_eq!(check_with(&uses), [""; 0]);
    }

    #[test]
    fn an_unlisted_edge_names_file_line_and_edge() {
        let wrong = check_with(&[("low", &["anyhow", "high"]), ("high", &[]), ("top", &[])]);
        assert_eq!(wrong, ["low/Cargo.toml:11: `low` uses `high`, which page.md:3 does not allow"]);
    }

    #[test]
    fn rows_and_crates_are_the_same() {
        let wrong = check_with(&[("low", &[]), ("high", &[]), ("later", &[]), ("new", &[])]);
        assert_eq!(
            wrong,
            [
                "page.md:5: `top` is not in the workspace",
                "page.md:6: `later` is there now, not planned",
                "new/Cargo.toml:1: `new` has no row in page.md"
            ]
        );
    }
}

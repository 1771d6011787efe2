//! What must hold whenever the program refuses to do something.

use super::Place;

/// A command line that is refused.
pub(crate) struct Case {
    /// Arguments, separated by spaces.
    pub(crate) line: &'static str,
    /// The exit code.
    pub(crate) code: i32,
    /// Words of the error.
    pub(crate) error: &'static [&'static str],
    /// Words of the `hint:` line; what `clap` refuses has none.
    pub(crate) hint: &'static [&'static str],
}

impl Case {
    /// Refused by the program itself.
    pub(crate) const fn new(
        line: &'static str,
        error: &'static [&'static str],
        hint: &'static [&'static str],
    ) -> Case {
        Case { line, code: 1, error, hint }
    }

    /// Refused as a command line.
    pub(crate) const fn line(line: &'static str, error: &'static [&'static str]) -> Case {
        Case { line, code: 2, error, hint: &[] }
    }
}

/// Runs all cases and says about all that do not hold what does not.
pub(crate) fn check(place: &Place, cases: &[Case]) {
    let before = place.list();
    let wrong: Vec<String> = cases.iter().flat_map(|case| faults(place, case, &before)).collect();
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

fn faults(place: &Place, case: &Case, before: &[String]) -> Vec<String> {
    let outcome = place.ptsm(case.line).run();
    let mut faults = vec![];
    let mut demand = |holds: bool, what: String| {
        if !holds {
            faults.push(format!("ptsm {}\n  {what}\n  it said: {}", case.line, outcome.stderr.trim_end()));
        }
    };
    demand(outcome.code == Some(case.code), format!("exit code {:?}, not {}", outcome.code, case.code));
    demand(outcome.stdout.is_empty(), format!("standard output: {}", outcome.stdout));
    let (error, hint) = outcome.stderr.split_once("\nhint: ").unwrap_or((&outcome.stderr, ""));
    // Notes about the data and warnings may come first.
    let aside = ["note: ", "warning: ", "  to do: "];
    let first = error.lines().find(|line| !aside.iter().any(|start| line.starts_with(start)));
    demand(first.is_some_and(|l| l.starts_with("error: ")), "does not begin with `error: `".into());
    for words in case.error {
        demand(error.contains(words), format!("the error lacks `{words}`"));
    }
    for words in case.hint {
        demand(hint.contains(words), format!("the hint lacks `{words}`"));
    }
    demand(
        case.code != 1 || (!hint.is_empty() && hint.lines().count() == 1),
        "the hint is not one line".into(),
    );
    for word in ["panicked", "RUST_BACKTRACE"] {
        demand(!outcome.stderr.contains(word), format!("says `{word}`"));
    }
    let after = place.list();
    let left: Vec<_> = after.iter().filter(|name| !before.contains(name)).collect();
    let gone: Vec<_> = before.iter().filter(|name| !after.contains(name)).collect();
    demand(left.is_empty(), format!("left behind: {left:?}"));
    demand(gone.is_empty(), format!("took away: {gone:?}"));
    faults
}

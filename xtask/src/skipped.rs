//! Tests that could not run, counted.
//!
//! The convention: a test that lacks something outside the repository prints one line that begins with `skipped: needs`, such as
//! `skipped: needs ../shared/data` or `skipped: needs a GPU`, and passes. The standard harness shows the output of tests that
//! pass with `--show-output`; what else they print is kept from the reader.

use std::collections::BTreeMap;
use std::fmt;

/// How a line that tells of a test that could not run begins.
const BEGINS: &str = "skipped: ";

/// What tests that could not run lack, and how many lack it.
#[derive(Default)]
pub(crate) struct SkippedTests {
    lacking: BTreeMap<String, usize>,
}

impl SkippedTests {
    /// Counts a line of a program's output, if it is one that tells of a test that could not run.
    pub(crate) fn count(&mut self, line: &str) {
        let Some(reason) = line.trim_start().strip_prefix(BEGINS) else { return };
        let reason = reason.strip_prefix("needs ").unwrap_or(reason);
        let kind = match reason {
            shared if shared.contains("shared") => "../shared",
            gpu if gpu.contains("GPU") => "a GPU",
            other => other,
        };
        *self.lacking.entry(kind.into()).or_default() += 1;
    }

    /// Reads the output of `cargo test -- --show-output` line by line.
    pub(crate) fn of_tests(&mut self) -> TestOutput<'_> {
        TestOutput { skipped: self, passed: false }
    }
}

impl fmt::Display for SkippedTests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<String> =
            self.lacking.iter().map(|(kind, count)| format!("{count} for lack of {kind}")).collect();
        match kinds.is_empty() {
            true => write!(f, "== skipped: no test"),
            false => {
                let count: usize = self.lacking.values().sum();
                let tests = if count == 1 { "test" } else { "tests" };
                write!(f, "== skipped: {count} {tests}, {}", kinds.join(", "))
            }
        }
    }
}

/// The output of a test harness, of which the part that tests printed who passed is only searched for skipped ones.
pub(crate) struct TestOutput<'a> {
    skipped: &'a mut SkippedTests,
    /// Whether lines are now of tests that passed.
    passed: bool,
}

impl TestOutput<'_> {
    /// Whether a reader wants to see the next line.
    pub(crate) fn shows(&mut self, line: &str) -> bool {
        self.skipped.count(line);
        self.passed = match line {
            "successes:" => true,
            "failures:" => false,
            line if line.starts_with("test result: ") => false,
            _ => self.passed,
        };
        !self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 4 tests
test a ... ok
test b ... ok
test c ... ok
test d ... FAILED

successes:

---- a stdout ----
some number: 3

---- b stdout ----
skipped: needs ../shared/data/edf

---- c stdout ----
skipped: needs a GPU; PTSM_TEST_GPU is not set


successes:
    a
    b
    c

failures:

---- d stdout ----
why it failed

failures:
    d

test result: FAILED. 3 passed; 1 failed";

    #[test]
    fn skipped_tests_are_counted_and_what_passed_stays_quiet() {
        let mut skipped = SkippedTests::default();
        let mut output = skipped.of_tests();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| output.shows(line)).collect();
        assert!(shown.contains(&"why it failed") && shown.contains(&"test a ... ok"), "{shown:?}");
        assert!(!shown.contains(&"some number: 3") && !shown.contains(&"    a"), "{shown:?}");
        assert!(shown.last().unwrap().starts_with("test result: FAILED"));
        let line = skipped.to_string();
        assert_eq!(line, "== skipped: 2 tests, 1 for lack of ../shared, 1 for lack of a GPU");
    }

    #[test]
    fn other_reasons_stand_for_themselves() {
        let mut skipped = SkippedTests::default();
        assert_eq!(skipped.to_string(), "== skipped: no test");
        skipped.count("skipped: needs valgrind");
        skipped.count("test that_is_skipped ... ok");
        assert_eq!(skipped.to_string(), "== skipped: 1 test, 1 for lack of valgrind");
    }
}

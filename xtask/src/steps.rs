//! `cargo xtask test`: everything that has to hold, one step after the other. The first failure ends it; a table of the steps
//! and a count of the tests that could not run close it.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, root, spelled, stream, stream_lines, target};
use crate::skipped::SkippedTests;
use crate::{kernels, map, unsafe_code};

/// What was asked for on the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Only these steps; all where there are none.
    steps: Vec<String>,
    /// Only the engine on a GPU against the CPU.
    gpu: bool,
    /// Renew what steps compare with, instead of comparing.
    pub(crate) write: bool,
    /// Renew the numbers that the pages are drawn from as well.
    fixture: bool,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        for &word in words {
            match word {
                "--gpu" => options.gpu = true,
                "--write" => options.write = true,
                "--fixture" => options.fixture = true,
                name if STEPS.iter().any(|step| step.name == name) => options.steps.push(name.into()),
                other => {
                    let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
                    bail!("there is no step or option `{other}`; the steps are {}", names.join(", "))
                }
            }
        }
        if options.gpu && words.len() > 1 {
            bail!("`--gpu` stands alone");
        }
        if options.write && options.steps.is_empty() || options.fixture && !options.write {
            bail!("`--write` needs a step that renews something, `--fixture` needs `--write`");
        }
        Ok(options)
    }
}

/// One check.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) says: &'static str,
    /// Whether it runs the released program.
    needs_program: bool,
    run: fn(&Options, &mut SkippedTests) -> Result<()>,
}

/// All steps: those that need no compiler first, those that need the released program last.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "fmt", says: "the source is formatted", needs_program: false, run: fmt },
    Step {
        name: "map",
        says: "crates and their modules use each other as docs/architecture.md and modules.toml allow; files are short, public names mean one thing",
        needs_program: false,
        run: |options, _| map::check(options.write),
    },
    Step {
        name: "unsafe",
        says: "the keyword `unsafe` stays where it is allowed",
        needs_program: false,
        run: |_, _| unsafe_code::check(),
    },
    Step {
        name: "clippy",
        says: "no warnings from the compiler and clippy",
        needs_program: false,
        run: clippy,
    },
    Step {
        name: "test",
        says: "unit, integration and documentation tests",
        needs_program: false,
        run: tests,
    },
    Step { name: "doc", says: "the documentation has no warnings", needs_program: false, run: doc },
    Step {
        name: "kernels",
        says: "the engine's kernels make no memory errors (address sanitizer, valgrind)",
        needs_program: false,
        run: |_, _| kernels::check(),
    },
    Step {
        name: "peers",
        says: "files, trials, decoders and statistics are what MNE, SciPy, pyRiemann, MOABB and others make of them",
        needs_program: true,
        run: |_, skipped| lab(&["peers"], skipped),
    },
    Step {
        name: "slurm",
        says: "a benchmark through a real Slurm, with tasks killed and a node drained, equals one process's",
        needs_program: true,
        run: |_, skipped| lab(&["slurm"], skipped),
    },
    Step {
        name: "demo",
        says: "`ptsm demo` decodes unseen subjects above chance, in its time and memory",
        needs_program: true,
        run: |_, skipped| lab(&["demo"], skipped),
    },
    Step {
        name: "pages",
        says: "the report's pages in a real browser: pictures, accessibility, nothing on the console",
        needs_program: true,
        run: |options, skipped| {
            let flags = [(options.write, "--write"), (options.fixture, "--fixture")];
            let flags = flags.iter().filter(|flag| flag.0).map(|flag| flag.1);
            lab(&["pages"].into_iter().chain(flags).collect::<Vec<_>>(), skipped)
        },
    },
];

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut skipped = SkippedTests::default();
    if options.gpu {
        return lab(&["gpu"], &mut skipped);
    }
    let chosen = |step: &&Step| options.steps.is_empty() || options.steps.iter().any(|s| s == step.name);
    let mut summary = vec![];
    let mut failure = None;
    let mut release = None;
    for step in STEPS.iter().filter(chosen) {
        if step.name == "test" && STEPS.iter().filter(chosen).any(|step| step.needs_program) {
            release = ReleaseBuild::begin();
        }
        println!("== {}: {}", step.name, step.says);
        let start = Instant::now();
        let result = (step.run)(options, &mut skipped);
        summary.push((step.name, result.is_ok(), start.elapsed()));
        if let Err(error) = result {
            let again = format!("cargo xtask test {}", step.name);
            failure = Some(error.context(format!("step `{}` failed; repeat it with `{again}`", step.name)));
            break;
        }
    }
    drop(release);
    println!("\n{}{skipped}", table(&summary));
    failure.map_or(Ok(()), Err)
}

/// A build of the released program beside the tests, with what they leave of the processor: linking and the longest tests
/// use one core. The step that needs the program builds it again, which waits for this build and says what may be wrong.
struct ReleaseBuild(Child);

impl ReleaseBuild {
    /// Begins it; none where it cannot be begun, and then the first step that needs the program builds it.
    fn begin() -> Option<ReleaseBuild> {
        // What names a program that is there already; see `lab check`.
        if std::env::var_os("PTSM_PROGRAM").is_some() {
            return None;
        }
        let build = cargo("build --release --locked --quiet -p ptsm-cli".split(' '));
        let mut gentle = Command::new("nice");
        gentle.args(["-n", "19"]).arg(build.get_program()).args(build.get_args()).current_dir(root());
        gentle.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        gentle.spawn().ok().map(ReleaseBuild)
    }
}

impl Drop for ReleaseBuild {
    fn drop(&mut self) {
        // Cargo leaves its compilers behind when it is killed.
        let _ = Command::new("pkill").args(["-P", &self.0.id().to_string()]).status();
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One line for each step that ran, and one for all.
fn table(steps: &[(&str, bool, Duration)]) -> String {
    let line = |&(name, passed, took): &(&str, bool, Duration)| {
        let result = if passed { "passed" } else { "FAILED" };
        format!("== {name:<10}{result}{:>9.1} s\n", took.as_secs_f64())
    };
    let all = ("all", steps.iter().all(|step| step.1), steps.iter().map(|step| step.2).sum());
    steps.iter().chain([&all]).map(line).collect()
}

fn fmt(_: &Options, _: &mut SkippedTests) -> Result<()> {
    stream(&mut cargo(["fmt", "--all", "--check"]))
}

fn clippy(_: &Options, _: &mut SkippedTests) -> Result<()> {
    stream(&mut cargo("clippy --workspace --all-targets --locked -- -D warnings".split(' ')))
}

fn tests(_: &Options, skipped: &mut SkippedTests) -> Result<()> {
    // Only shown output tells of tests that could not run; the rest of it is kept from the reader.
    let mut output = skipped.of_tests();
    stream_lines(&mut cargo("test --workspace --locked -- --show-output".split(' ')), |line| {
        if output.shows(line) {
            println!("{line}");
        }
    })
}

fn doc(_: &Options, _: &mut SkippedTests) -> Result<()> {
    stream(cargo(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-Dwarnings"))
}

/// A check that needs crates of the workspace, in the crate `lab`.
fn lab(arguments: &[&str], skipped: &mut SkippedTests) -> Result<()> {
    // Built as the tests are, with the features of the whole workspace, so that next to nothing is compiled for it.
    let mut build = cargo(["build", "--workspace", "--locked", "--bin", "lab"]);
    stream(&mut build).with_context(|| format!("`{}` failed", spelled(&build)))?;
    let program = target().join("debug").join(format!("lab{}", std::env::consts::EXE_SUFFIX));
    stream_lines(Command::new(program).arg("check").args(arguments), |line| {
        skipped.count(line);
        println!("{line}");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_understood_or_refused() {
        let parsed = Options::parse(&["pages", "--write"]).unwrap();
        assert_eq!(parsed, Options { steps: vec!["pages".into()], write: true, ..Options::default() });
        assert_eq!(Options::parse(&[]).unwrap(), Options::default());
        for wrong in [&["page"][..], &["--gpu", "fmt"], &["--write"], &["pages", "--fixture"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_table_has_a_line_for_each_step_and_one_for_all() {
        let seconds = Duration::from_secs;
        let table = table(&[("fmt", true, seconds(2)), ("clippy", false, seconds(61))]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "== fmt       passed      2.0 s",
                "== clippy    FAILED     61.0 s",
                "== all       FAILED     63.0 s"
            ]
        );
    }
}

//! `cargo xtask test`: everything that has to hold, one step after the other. The first failure ends it.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::shell::{cargo, spelled, stream};

mod built;
mod demo;
mod gpu;
mod memory;
mod pages;
mod peers;
#[cfg(target_os = "linux")]
mod slurm;
mod unsafe_code;

#[derive(Args)]
pub(crate) struct Options {
    /// Only these steps; all without any.
    #[arg(value_enum)]
    steps: Vec<Step>,
    /// The engine on a GPU against the CPU, and nothing else. Builds a folder to carry where there is none.
    #[arg(long, conflicts_with = "steps")]
    gpu: bool,
    /// Renew the committed pictures of the pages instead of comparing with them.
    #[arg(long, requires = "steps")]
    write: bool,
    /// Renew the numbers that the pages are drawn from as well; takes minutes.
    #[arg(long, requires = "write")]
    fixture: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The source is formatted.
    Fmt,
    /// The keyword `unsafe` stays in the engine's kernels.
    Unsafe,
    /// No warnings from the compiler and clippy.
    Clippy,
    /// Unit, integration and documentation tests.
    Test,
    /// The documentation has no warnings.
    Doc,
    /// The engine's kernels make no memory errors.
    Kernels,
    /// Files, trials and classic decoders are what independent libraries make of them.
    Peers,
    /// A benchmark through a real Slurm on this machine, installed where it is missing, with tasks killed and a node drained.
    Slurm,
    /// `ptsm demo` decodes strangers above chance, in its time and memory.
    Demo,
    /// The report's pages in a real browser, installed where it is missing: pictures, accessibility, nothing on the console.
    Pages,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.gpu {
        return gpu::check();
    }
    let chosen = |step: &&Step| options.steps.is_empty() || options.steps.contains(step);
    let all = Instant::now();
    for step in Step::value_variants().iter().filter(chosen) {
        let name = step.name();
        println!("== {name}: {}", step.says());
        let start = Instant::now();
        step.run(options)
            .with_context(|| format!("step `{name}` failed; repeat it with `{}`", step.again()))?;
        println!("== {name}: passed in {:.1} s", start.elapsed().as_secs_f64());
    }
    println!("== everything passed in {:.1} s", all.elapsed().as_secs_f64());
    Ok(())
}

impl Step {
    fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
    }

    /// The command, where one command is all there is to a step.
    fn command(self) -> Option<Command> {
        Some(match self {
            Step::Fmt => cargo(["fmt", "--all", "--check"]),
            Step::Clippy => {
                cargo("clippy --workspace --all-targets --locked -- -D warnings".split_whitespace())
            }
            Step::Test => cargo(["test", "--workspace", "--locked"]),
            Step::Doc => {
                let mut doc = cargo(["doc", "--workspace", "--no-deps", "--locked"]);
                doc.env("RUSTDOCFLAGS", "-Dwarnings");
                doc
            }
            Step::Unsafe | Step::Kernels | Step::Peers | Step::Slurm | Step::Demo | Step::Pages => {
                return None;
            }
        })
    }

    fn says(self) -> String {
        match self {
            Step::Unsafe => format!("the keyword stays in {}", unsafe_code::ALLOWED.join(", ")),
            Step::Kernels => "the kernels' unit tests under an address sanitizer and valgrind".into(),
            Step::Peers => {
                "files, trials, decoders and statistics are what MNE, SciPy, pyRiemann, MOABB and others make of them".into()
            }
            Step::Slurm => "a real Slurm on this machine loses tasks of a benchmark and comes to what one process does".into(),
            Step::Demo => "`ptsm demo` decodes strangers above chance, in its time and memory".into(),
            Step::Pages => "the report's pages in a real browser look as they did and can be used by everybody".into(),
            _ => self.again(),
        }
    }

    fn again(self) -> String {
        self.command().map_or_else(|| format!("cargo xtask test {}", self.name()), |c| spelled(&c))
    }

    fn run(self, options: &Options) -> Result<()> {
        match (self, self.command()) {
            (Step::Unsafe, _) => unsafe_code::check(),
            (Step::Kernels, _) => memory::check(),
            (Step::Peers, _) => peers::check(),
            #[cfg(target_os = "linux")]
            (Step::Slurm, _) => slurm::check(),
            #[cfg(not(target_os = "linux"))]
            (Step::Slurm, _) => {
                println!("left out: Slurm runs on Linux");
                Ok(())
            }
            (Step::Demo, _) => demo::check(),
            (Step::Pages, _) => pages::check(options.write, options.fixture),
            (_, Some(mut command)) => stream(&mut command),
            (_, None) => Ok(()),
        }
    }
}

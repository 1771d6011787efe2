//! Steps of `cargo xtask test` that need crates of the workspace or the released program.

use anyhow::Result;
use clap::Subcommand;

pub(crate) mod built;
mod demo;
mod gpu;
mod pages;
mod peers;
#[cfg(target_os = "linux")]
mod slurm;

#[derive(Subcommand)]
pub(crate) enum Check {
    /// Files, trials and classic decoders are what independent libraries make of them.
    Peers,
    /// A benchmark through a real Slurm on this machine, installed where it is missing, with tasks killed and a node drained.
    Slurm,
    /// `ptsm demo` decodes unseen subjects above chance, in its time and memory.
    Demo,
    /// The report's pages in a real browser, installed where it is missing: pictures, accessibility, nothing on the console.
    Pages {
        /// Renew the committed pictures of the pages instead of comparing with them.
        #[arg(long)]
        write: bool,
        /// Renew the numbers that the pages are drawn from as well; takes minutes.
        #[arg(long, requires = "write")]
        fixture: bool,
    },
    /// The engine on a GPU against the CPU. Builds a folder to carry where there is none.
    Gpu,
}

impl Check {
    pub(crate) fn run(self) -> Result<()> {
        match self {
            Check::Peers => peers::check(),
            #[cfg(target_os = "linux")]
            Check::Slurm => slurm::check(),
            #[cfg(not(target_os = "linux"))]
            Check::Slurm => {
                println!("skipped: needs Linux, on which Slurm runs");
                Ok(())
            }
            Check::Demo => demo::check(),
            Check::Pages { write, fixture } => pages::check(write, fixture),
            Check::Gpu => gpu::check(),
        }
    }
}

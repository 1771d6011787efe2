//! A real Slurm on this one machine, and what has to hold with it.

use std::time::Instant;

use anyhow::Result;

mod benchmark;
mod cluster;
mod configuration;
mod install;
mod processes;
mod program;
mod self_test;
mod still;
mod stopper;
mod task;

use super::built;
use cluster::Cluster;
use program::Program;

pub(super) fn check() -> Result<()> {
    let path = built::ptsm()?;
    let start = Instant::now();
    Cluster::during(|cluster| {
        println!("Slurm takes jobs after {:.1} s", start.elapsed().as_secs_f64());
        self_test::check(cluster)?;
        benchmark::check(cluster, &Program { cluster, path })
    })
}

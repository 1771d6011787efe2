//! `ptsm doctor`

use std::path::{Path, PathBuf};

use ptsm::eval::phrases::count;
use ptsm::{GpuState, SystemReport, inspect_system};

use super::Session;
use crate::exit::fail;

pub(super) fn run(root: Option<&Path>, session: &Session) -> anyhow::Result<()> {
    let roots: Vec<PathBuf> = root.map(Path::to_path_buf).into_iter().collect();
    let report = inspect_system(&session.env, &roots);
    session.output.result(text(&report), &report)?;
    match &report.problems[..] {
        [] => Ok(()),
        [first, ..] => Err(fail(
            format!("{} found", count(report.problems.len(), "problem")),
            format!("the first: {first}"),
        )),
    }
}

fn text(report: &SystemReport) -> String {
    let mut lines = vec![
        ("version", report.version.to_string()),
        ("system", report.system.clone()),
        ("threads", format!("{} of {}", report.threads_used, report.threads_available)),
        ("kernels", report.instruction_sets.join(", ")),
        ("GPU", gpu(&report.gpu)),
        (
            "cache",
            report.cache.as_ref().map_or("none".into(), |cache| {
                let writable = if cache.writable { "" } else { ", cannot be written" };
                let files = count(cache.files, "file");
                format!("{} ({files}, {} MB{writable})", cache.folder.display(), cache.bytes / 1_000_000)
            }),
        ),
        ("Slurm", if report.slurm { "sbatch was found".into() } else { "no".into() }),
    ];
    lines.extend(report.data_sets.iter().map(|set| {
        let missing = if set.missing == 0 {
            String::new()
        } else {
            format!(", {} missing", count(set.missing, "file"))
        };
        let subjects = format!("{} of {}", set.subjects, count(set.all_subjects, "subject"));
        ("data", format!("{} in {}, by file names: {subjects}{missing}", set.id, set.root.display()))
    }));
    if report.data_sets.is_empty() {
        let roots: Vec<String> = report.roots.iter().map(|root| root.display().to_string()).collect();
        let nothing = match roots.is_empty() {
            true => "no folder to look into; `--root DIR` names one, `ptsm data get` downloads".into(),
            false => format!("no data set of `ptsm data list` in {}", roots.join(", ")),
        };
        lines.push(("data", nothing));
    }
    lines.extend(report.problems.iter().map(|problem| ("problem", problem.clone())));
    lines.iter().map(|(what, words)| format!("{what:<8} {words}\n")).collect()
}

fn gpu(state: &GpuState) -> String {
    match state {
        GpuState::Unusable { reason, .. } => format!("not used: {reason}"),
        GpuState::Usable { name, count, free_bytes, total_bytes, driver_cuda } => {
            let mut text = name.clone();
            if let (Some(free), Some(all)) = (free_bytes, total_bytes) {
                text += &format!(", {} of {} GiB free", free >> 30, all >> 30);
            }
            if let Some((major, minor)) = driver_cuda {
                text += &format!(", driver for CUDA {major}.{minor}");
            }
            if *count > 1 {
                text += &format!(", the first of {count}");
            }
            text
        }
    }
}

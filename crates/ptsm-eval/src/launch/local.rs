//! Several processes on this machine, each with one task after the other.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ptsm_engine::Device;

use super::tasks;
use super::work::Work;
use crate::benchmark::{FitStatus, WorkList};
use crate::env::{CacheFolder, Env};
use crate::error::{Error, ErrorContext, Result};

/// How often a task may end without having done anything before it is given up.
const ATTEMPTS: usize = 3;
/// How long the others are left alone between two looks at them.
const PAUSE: Duration = Duration::from_millis(20);

/// A task that is under way.
struct RunningTask {
    task: usize,
    child: Child,
    /// Fits of it that were left when it began.
    left: usize,
}

pub(super) fn run(work: &mut Work<'_>, program: &Path, jobs: usize, folder: &Path, env: &Env) -> Result<()> {
    let tasks = tasks::divide(&work.list, folder, jobs);
    if tasks.is_empty() {
        return Ok(());
    }
    tasks::share(work, &tasks, folder, env)?;
    tasks::write(folder, &tasks)?;
    let list = &work.list;
    let logs = folder.join(tasks::LOGS);
    std::fs::create_dir_all(&logs).while_doing(|| format!("{} cannot be made", logs.display()))?;
    let progress = env.begin("fits", Some(list.items().count()));
    let mut waiting: Vec<(usize, usize)> = (0..tasks.len()).rev().map(|task| (task, 0)).collect();
    let mut running: Vec<(RunningTask, usize)> = vec![];
    let mut given_up = vec![];
    let mut stop_requested = false;
    let left = |task: usize| {
        let items = &list.stages[tasks[task].stage].1;
        items.iter().filter(|i| tasks[task].keys.contains(&i.key) && !i.is_scored(folder)).count()
    };
    while !(waiting.is_empty() && running.is_empty()) {
        while !env.is_cancelled() && running.len() < jobs {
            let Some((task, attempt)) = waiting.pop() else { break };
            let child = start(program, task, jobs, folder, env, &log(&logs, task))?;
            running.push((RunningTask { task, child, left: left(task) }, attempt));
        }
        if running.is_empty() {
            break;
        }
        if env.is_cancelled() && !stop_requested {
            stop_requested = true;
            running.iter_mut().for_each(|(one, _)| ask_to_stop(&mut one.child));
        }
        std::thread::sleep(PAUSE);
        let mut still = vec![];
        for (mut one, attempt) in running {
            let Some(status) = one.child.try_wait().while_doing(|| "a worker cannot be waited for".into())?
            else {
                still.push((one, attempt));
                continue;
            };
            progress.done(done(list, folder));
            let now = left(one.task);
            // Fits that failed are done with; a worker that ended well has tried them all.
            if status.success() || now == 0 || env.is_cancelled() {
                continue;
            }
            let attempt = if now < one.left { 0 } else { attempt + 1 };
            if attempt < ATTEMPTS {
                waiting.push((one.task, attempt));
            } else {
                given_up.push(one.task);
            }
        }
        running = still;
    }
    drop(progress);
    if env.is_cancelled() {
        return Err(ptsm_decode::Error::Stopped.into());
    }
    if let Some(&task) = given_up.first() {
        let said = std::fs::read_to_string(log(&logs, task)).unwrap_or_default();
        let (error, hint) = complaint(&said);
        return Err(Error::request(
            format!(
                "{} of {} tasks could not be done; task {task} ended with: {error}",
                given_up.len(),
                tasks.len(),
            ),
            hint.unwrap_or_else(|| {
                format!("see {}; the same command continues when it is run again", logs.display())
            }),
        ));
    }
    Ok(())
}

/// What a worker ended with, and what it said to do about it, without the words that begin its lines.
fn complaint(said: &str) -> (String, Option<String>) {
    let (said, hint) = match said.trim().rsplit_once("\nhint: ") {
        Some((said, hint)) => (said, Some(hint.to_string())),
        None => (said.trim(), None),
    };
    let error = match said.rsplit_once("error: ") {
        Some((before, error)) if before.is_empty() || before.ends_with('\n') => error,
        _ => said,
    };
    (if error.is_empty() { "no word".into() } else { error.to_string() }, hint)
}

/// Fits that are scored or failed.
fn done(list: &WorkList, folder: &Path) -> usize {
    let standing = list.fit_statuses(folder);
    standing.iter().filter(|s| matches!(s, FitStatus::Done | FitStatus::Failed)).count()
}

fn log(logs: &Path, task: usize) -> PathBuf {
    logs.join(format!("task-{task}.log"))
}

/// A terminal tells everybody; a signal to this process alone does not. Anything said through the pipe means it.
fn ask_to_stop(worker: &mut Child) {
    // One that has ended already does not mind.
    let _ = worker.stdin.as_mut().map(|pipe| pipe.write_all(b"stop"));
}

/// Starts a worker with its share of the threads. It ends when this process does.
fn start(program: &Path, task: usize, jobs: usize, folder: &Path, env: &Env, log: &Path) -> Result<Child> {
    let threads = (env.device.threads() / jobs).max(1);
    let said = File::create(log).while_doing(|| format!("{} cannot be written", log.display()))?;
    let mut command = Command::new(program);
    command
        .arg("work")
        .arg(folder)
        .args(["--task", &task.to_string(), "--leashed", "--quiet"])
        .args(["--threads", &threads.to_string()])
        .args(["--device", device_name(&env.device)])
        .args(["--precision", &env.device.precision().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(said);
    if let Device::Cuda(cuda) = &env.device {
        let seen = std::env::var("CUDA_VISIBLE_DEVICES").ok();
        if let Some(gpu) = gpu(task, cuda.count(), seen.as_deref()) {
            command.env("CUDA_VISIBLE_DEVICES", gpu);
        }
    }
    match &env.cache {
        CacheFolder::Usual => {}
        CacheFolder::At(folder) => drop(command.arg("--cache").arg(folder)),
        CacheFolder::Nowhere => drop(command.args(["--cache", "none"])),
    }
    command.spawn().while_doing(|| "a worker cannot be started".into())
}

/// The device as `--device` names it.
fn device_name(device: &Device) -> &'static str {
    match device {
        Device::Cpu(_) => "cpu",
        Device::Cuda(_) => "cuda",
    }
}

/// The GPU of a task where there are several: each task has one, in turn.
fn gpu(task: usize, count: usize, seen: Option<&str>) -> Option<String> {
    if count < 2 {
        return None;
    }
    let named: Vec<&str> = seen.into_iter().flat_map(|list| list.split(',')).map(str::trim).collect();
    Some(match named.is_empty() {
        true => (task % count).to_string(),
        false => named[task % count.min(named.len())].to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::{complaint, gpu};

    #[test]
    fn a_workers_last_words_are_one_error_and_one_hint() {
        let said = "note: small\nerror: items/a.json: cannot write: No space left on device\nhint: make room on the disk\n";
        let (error, hint) = complaint(said);
        assert_eq!(error, "items/a.json: cannot write: No space left on device");
        assert_eq!(hint.as_deref(), Some("make room on the disk"));
        assert_eq!(complaint("error: x\n"), ("x".into(), None));
        assert_eq!(complaint("memory allocation of 8 bytes failed").0, "memory allocation of 8 bytes failed");
        assert_eq!(complaint(" \n"), ("no word".into(), None));
    }

    #[test]
    fn tasks_take_turns_on_gpus() {
        assert_eq!(gpu(3, 1, None), None);
        let of = |count, seen| (0..4).filter_map(|task| gpu(task, count, seen)).collect::<Vec<_>>();
        assert_eq!(of(3, None), ["0", "1", "2", "0"]);
        assert_eq!(of(2, Some("5, 7")), ["5", "7", "5", "7"]);
    }
}

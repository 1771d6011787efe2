//! Holds work where it is, so that a state that a test wants to see does not pass by.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use anyhow::{Context, Result};

use super::processes::signal;
use super::task::Task;

/// How often it is looked for work that has begun: much less than any fit takes.
const PAUSE: Duration = Duration::from_millis(5);

/// Stops processes of a benchmark as soon as their fits have begun, until they may go on.
pub(super) struct Stopper {
    /// Processes that were stopped, by the task that they do.
    stopped: Arc<Mutex<BTreeMap<u32, String>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stopper {
    /// Begins to stop the tasks of the benchmark in `folder` that are `selected`. The folder need not be there yet.
    pub(super) fn begin(folder: PathBuf, selected: fn(u32) -> bool) -> Stopper {
        let (stopped, over) = (Arc::<Mutex<BTreeMap<u32, String>>>::default(), Arc::<AtomicBool>::default());
        let (known, end) = (stopped.clone(), over.clone());
        let look = move || {
            while !end.load(Ordering::SeqCst) {
                for (task, process) in working(&folder) {
                    let mut known = held(&known);
                    // One that has just ended cannot be stopped any more.
                    if selected(task) && !known.contains_key(&task) && signal(&process, "STOP").is_ok() {
                        known.insert(task, process);
                    }
                }
                sleep(PAUSE);
            }
        };
        Stopper { stopped, over, thread: Some(spawn(look)) }
    }

    /// Whether a task runs and is stopped.
    pub(super) fn has(&self, task: &Task) -> bool {
        task.runs() && task.index.is_some_and(|index| held(&self.stopped).contains_key(&index))
    }

    /// How many were stopped.
    pub(super) fn count(&self) -> usize {
        held(&self.stopped).len()
    }

    /// Kills one that is stopped.
    pub(super) fn kill(&self, task: &Task) -> Result<()> {
        let process = task.index.and_then(|index| held(&self.stopped).get(&index).cloned());
        signal(&process.with_context(|| format!("{task} is not stopped"))?, "KILL")
    }

    /// Stops no more, and lets all go on.
    pub(super) fn go_on(self) {}
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = self.thread.take().map(JoinHandle::join);
        // Those that were killed meanwhile do not mind.
        held(&self.stopped).values().for_each(|process| drop(signal(process, "CONT")));
    }
}

/// The tasks whose fits have begun, each with the number of the process that does it: every process at work says so in a file that has
/// its number in its name.
fn working(folder: &Path) -> Vec<(u32, String)> {
    let files = fs::read_dir(folder.join("working")).into_iter().flatten().flatten();
    let processes = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        Some(name.rsplit_once('-')?.1.to_string())
    });
    processes.filter_map(|process| Some((task_of(&process, folder)?, process))).collect()
}

/// The task that a process does for the benchmark in `folder`.
fn task_of(process: &str, folder: &Path) -> Option<u32> {
    let line = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let words: Vec<&[u8]> = line.split(|&b| b == 0).collect();
    let at = words.windows(2).position(|pair| pair == [b"work", folder.as_os_str().as_encoded_bytes()])?;
    let [option, task] = words.get(at + 2..at + 4)? else { return None };
    (*option == b"--task").then(|| str::from_utf8(task).ok()?.parse().ok())?
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    /// A process that looks like the worker of a task, and says in the folder that it has begun.
    fn worker(folder: &Path, task: u32) -> Child {
        let child = Command::new("sh")
            .args(["-c", "while :; do sleep 0.01; done", "ptsm", "work"])
            .arg(folder)
            .args(["--task", &task.to_string()])
            .spawn()
            .unwrap();
        fs::write(folder.join("working").join(format!("key-{}", child.id())), "").unwrap();
        child
    }

    /// `T` for one that is stopped.
    fn state(child: &Child) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().next().unwrap().to_string()
    }

    #[test]
    fn what_has_begun_stays_where_it_is_until_it_may_go_on() {
        let folder = std::env::temp_dir().join(format!("ptsm-stopper-{}", std::process::id()));
        fs::create_dir_all(folder.join("working")).unwrap();
        let stopper = Stopper::begin(folder.clone(), |task| task >= 2);
        let (mut quick, mut slow) = (worker(&folder, 1), worker(&folder, 3));
        while stopper.count() == 0 || state(&slow) != "T" {
            sleep(PAUSE);
        }
        assert_ne!(state(&quick), "T");
        assert_eq!(stopper.count(), 1);
        stopper.go_on();
        while state(&slow) == "T" {
            sleep(PAUSE);
        }
        for child in [&mut quick, &mut slow] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        fs::remove_dir_all(folder).unwrap();
    }
}

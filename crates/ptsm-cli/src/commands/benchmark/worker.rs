//! `ptsm work`: one task of a benchmark, in a process of its own.

use std::collections::BTreeSet;
use std::io::Read;

use ptsm_eval::{Benchmark, Sets, WorkList};

use super::tasks;
use crate::args::WorkArgs;
use crate::commands::Session;
use crate::exit::told;
use crate::progress::{Live, LiveBenchmark, Stop};

pub(crate) fn run(args: &WorkArgs, session: &Session) -> anyhow::Result<()> {
    if args.leashed {
        leash(session.stop.clone());
    }
    let folder = &args.folder;
    let list = WorkList::read(folder)?;
    let all = tasks::read(folder)?;
    let Some(task) = all.get(args.task).filter(|task| task.stage < list.stages.len()) else {
        return Err(told(
            format!("{} has no task {}", folder.display(), args.task),
            "give the benchmark again; it divides the work anew",
        ));
    };
    let (stage, items) = &list.stages[task.stage];
    let keys: BTreeSet<&str> = task.keys.iter().map(String::as_str).collect();
    if items.iter().filter(|item| keys.contains(item.key.as_str())).count() < keys.len() {
        return Err(told(
            format!("task {} is of another list of work", args.task),
            "give the benchmark again; it divides the work anew",
        ));
    }
    if stage.precision != session.device.precision().noted() {
        return Err(told(
            "this device does not compute as exactly as the list of work asks for",
            "give the same `--precision` as to the benchmark",
        ));
    }
    let (learnt, tested) = tasks::shared(&list, task.stage, folder, args.node_cache.as_deref())?;
    let sets = Sets { learnt: &learnt, tested: tested.as_ref() };
    let known: BTreeSet<String> = stage.items(sets)?.into_iter().map(|item| item.key).collect();
    if !keys.iter().all(|key| known.contains(*key)) {
        return Err(told(
            "the list of work was made by another version of this program, or changed since",
            "give the benchmark again; it makes the list anew",
        ));
    }
    let benchmark =
        Benchmark { stage, sets, device: &session.device, folder, ask: Some(&ptsm_explain::reading) };
    let live = Live::new(session.output, &session.stop, format!("task {}", args.task));
    benchmark
        .run(&|item| keys.contains(item.key.as_str()), &mut LiveBenchmark { live, output: session.output })?;
    Ok(())
}

/// Ends this process when whoever started it is gone: the pipe to it is closed then, also by a kill. What comes through it is the wish to stop.
fn leash(stop: Stop) {
    std::thread::spawn(move || {
        let mut words = [0; 64];
        while std::io::stdin().read(&mut words).is_ok_and(|n| n > 0) {
            stop.ask();
        }
        std::process::exit(130);
    });
}

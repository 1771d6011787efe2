//! The cluster does what scenarios count on: arrays, dependent jobs, tasks that are killed, nodes that are drained.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use anyhow::{Context, Result, ensure};

use super::cluster::Cluster;
use super::configuration::{NODE_CPUS, NODES};
use super::task::Task;

/// Tasks that say where they are and go on until somebody lets them.
const SCRIPT: &str = r#"#!/bin/sh
echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURMD_NODENAME"
while [ ! -e go ]; do sleep 0.1; done
exit $((SLURM_ARRAY_TASK_ID == 3 ? 5 : 0))
"#;

pub(super) fn check(cluster: &Cluster) -> Result<()> {
    fs::write(cluster.folder().join("task.sh"), SCRIPT)?;
    let job = cluster.submit(["--array=0-3", "--output=%A_%a.out", "task.sh"])?;
    let after = |dependency_kind: &str| {
        let dependency = format!("--dependency={dependency_kind}:{job}");
        cluster.submit([&dependency, "--output=%x.out", "--job-name", dependency_kind, "--wrap", "echo done"])
    };
    let (afterany, afterok) = (after("afterany")?, after("afterok")?);
    let tasks = all_run(cluster, job)?;
    for node in NODES {
        ensure!(
            tasks.iter().filter(|t| t.node == node).count() == NODE_CPUS,
            "{node} is not full: {tasks:?}"
        );
    }

    // A node that is drained keeps what it runs and takes nothing more.
    cluster.drain(NODES[1])?;
    cluster.wait_for_node(NODES[1], "draining")?;
    cluster.cancel(&tasks[1])?;
    cluster.wait_for("the killed task ends", || Ok(cluster.tasks_of(job)?[1].ended().then_some(())))?;
    fs::write(cluster.folder().join("go"), "")?;
    let tasks = cluster.wait_for_end(job)?;
    for (task, state) in tasks.iter().zip(["COMPLETED", "CANCELLED", "COMPLETED", "FAILED"]) {
        ensure!(task.state == state, "{task} is {} instead of {state}", task.state);
    }
    ensure!(tasks[1].exit.signal() == Some(15), "the killed task ended with {}", tasks[1].exit);
    ensure!(tasks[3].exit.code() == Some(5), "the task that failed ended with {}", tasks[3].exit);
    for task in &tasks {
        let output = read(cluster, &format!("{task}.out"))?;
        let index = task.index.context("a task without an index")?;
        ensure!(output.starts_with(&format!("{job} {index} {}\n", task.node)), "{task} wrote {output}");
    }
    println!("of 4 tasks of an array 1 was killed and 1 failed");

    let done = cluster.wait_for_end(afterany)?;
    ensure!(done[0].state == "COMPLETED" && done[0].node == NODES[0], "afterany came out as {done:?}");
    ensure!(read(cluster, "afterany.out")? == "done\n");
    cluster.wait_for("the job after success knows that it never runs", || {
        let waits = cluster.tasks_of(afterok)?;
        Ok(waits.iter().all(|t| t.reason == "DependencyNeverSatisfied").then_some(()))
    })?;
    println!("the job after any end ran on the other node, the job after success waits for ever");

    cluster.wait_for_node(NODES[1], "drained")?;
    let wanting = cluster.submit(["--nodelist", NODES[1], "--output=/dev/null", "--wrap", "true"])?;
    cluster.wait_for("a job waits for the drained node", || {
        let waits = cluster.tasks_of(wanting)?;
        Ok(waits.iter().all(|t| t.reason.starts_with("ReqNodeNotAvail")).then_some(()))
    })?;
    cluster.resume(NODES[1])?;
    let ran = cluster.wait_for_end(wanting)?;
    ensure!(ran[0].state == "COMPLETED" && ran[0].node == NODES[1], "after the drain it came out as {ran:?}");
    println!("a job waited for the drained node and ran when it was back");
    Ok(())
}

/// Waits until every task has said where it is: Slurm calls a task running before its script has begun.
fn all_run(cluster: &Cluster, job: u32) -> Result<Vec<Task>> {
    cluster.wait_for("all tasks run", || {
        let tasks = cluster.tasks_of(job)?;
        let spoke = |task: &Task| read(cluster, &format!("{task}.out")).is_ok_and(|o| o.ends_with('\n'));
        Ok(tasks.iter().all(|task| task.runs() && spoke(task)).then_some(tasks))
    })
}

fn read(cluster: &Cluster, name: &str) -> Result<String> {
    fs::read_to_string(cluster.folder().join(name)).with_context(|| format!("the output `{name}`"))
}

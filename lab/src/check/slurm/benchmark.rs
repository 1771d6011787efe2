//! A benchmark through Slurm, with tasks killed, a node drained and everything cancelled on the way, comes to what one process does.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;

use anyhow::{Context, Result, ensure};

use super::cluster::Cluster;
use super::configuration::{NODE_CPUS, NODES};
use super::program::{Job, Program};
use super::stopper::Stopper;
use super::task::Task;

/// Fits of each decoder, and tasks of each: 3 folds with 2 seeds.
const FITS: usize = 6;

/// What one process did.
const LOCAL: &str = "local";

pub(super) fn check(cluster: &Cluster, program: &Program) -> Result<()> {
    program.run([
        "data",
        "simulate",
        "--out",
        "cohort",
        "--subjects",
        "6",
        "--trials",
        "20",
        "--seed",
        "3",
    ])?;
    program.benchmark(LOCAL, &["--jobs", "1"])?;
    println!("one process has done it");
    a_task_is_killed_and_a_node_drained(cluster, program)?;
    everything_is_cancelled_and_given_again(cluster, program)
}

fn a_task_is_killed_and_a_node_drained(cluster: &Cluster, program: &Program) -> Result<()> {
    // A name that a shell, or Slurm, could misread.
    let out = "it's 5%a";
    let options = ["--sbatch", "-p all --cpus-per-task=1", "--node-cache", "near"];
    // Every network stops as soon as its training has begun, so that the state that is wanted stays, however fast or slow the machine
    // is: both nodes are full of networks, and more wait.
    let stopper = Stopper::begin(program.folder(out), is_network);
    let first = submit(program, out, &options)?;
    ensure!(first.tasks == 2 * FITS, "{} tasks instead of {}", first.tasks, 2 * FITS);
    let refused = program.benchmark(out, &["--jobs", "1"]).err().context("it was taken twice")?.to_string();
    ensure!(refused.contains(&format!("job {} (", first.array)), "the second time it said: {refused}");

    let tasks = cluster.wait_for("networks are trained on both nodes and more wait", || {
        let tasks = cluster.tasks_of(first.array)?;
        let trained = |node: &str| tasks.iter().filter(|t| t.node == node && stopper.has(t)).count();
        Ok(NODES.iter().all(|node| trained(node) == NODE_CPUS).then_some(tasks))
    })?;
    let status = program.status(out)?;
    ensure!(
        status.running == NODES.len() * NODE_CPUS && status.missing > 0,
        "with all nodes full: {status:?}"
    );
    let task =
        tasks.iter().rfind(|t| t.node == NODES[1] && stopper.has(t)).context("nobody to kill")?.clone();
    stopper.kill(&task)?;
    cluster.drain(NODES[1])?;
    let kept = on_drained(cluster, first.array)?;
    println!("task {task} was killed, {} is drained", NODES[1]);
    stopper.go_on();
    cluster.wait_for_node(NODES[1], "drained")?;
    ensure!(on_drained(cluster, first.array)? == kept, "the drained node was given more tasks");
    cluster.resume(NODES[1])?;

    let ended = cluster.wait_for_end(first.array)?;
    for one in &ended {
        let killed = one.index == task.index;
        let well = if killed { one.exit.signal() == Some(9) } else { one.state == "COMPLETED" };
        ensure!(well, "{one} is {} ({}); only {task} was killed", one.state, one.exit);
    }
    done(cluster, first.collects)?;
    let next: Vec<Task> = cluster.tasks()?.into_iter().filter(|t| t.job > first.collects).collect();
    let [array, collects] = jobs(&next)[..] else { anyhow::bail!("it went on with {next:?}") };
    let again = next.iter().filter(|t| t.job == array).count();
    ensure!(again == 1, "{again} tasks were submitted again, and 1 was killed");
    done(cluster, array)?;
    done(cluster, collects)?;
    ensure!(cluster.tasks()?.iter().all(|t| t.job <= collects), "there are more jobs than needed");
    let copies = program.files("near")?;
    ensure!(copies.len() == 1 && copies.iter().all(|f| f.ends_with(".trials")), "copies: {copies:?}");
    program.must_equal(LOCAL, out)?;
    println!("its fit was submitted again by itself; the results are those of one process");
    Ok(())
}

fn everything_is_cancelled_and_given_again(cluster: &Cluster, program: &Program) -> Result<()> {
    let out = "again";
    let options = ["--sbatch", "--export=NONE"];
    let stopper = Stopper::begin(program.folder(out), is_network);
    let first = submit(program, out, &options)?;
    cluster.wait_for("some fits are done and some under way", || {
        let status = program.status(out)?;
        Ok((status.done > 0 && status.running > 0 && stopper.count() > 0).then_some(()))
    })?;
    cluster.call("scancel", [first.collects.to_string(), first.array.to_string()])?;
    // They are asked to end, and can hear it.
    stopper.go_on();
    cluster.wait_for_end(first.array)?;
    cluster.wait_for_end(first.collects)?;
    let status = program.status(out)?;
    ensure!(status.running == 0 && status.missing > 0, "after the end of all jobs: {status:?}");
    // Slurm forgets jobs after a while; this one forgets none, but knows none of these numbers either.
    program.rename_jobs(out, &first, 900_000)?;
    let second = submit(program, out, &options)?;
    let tasks = cluster.tasks_of(second.array)?.len();
    ensure!(
        tasks == status.missing && second.tasks == tasks,
        "{tasks} tasks for {} fits that were missing",
        status.missing
    );
    done(cluster, second.array)?;
    done(cluster, second.collects)?;
    program.must_equal(LOCAL, out)?;
    println!("cancelled and given again, the {tasks} of {} fits that were missing were done", 2 * FITS);
    Ok(())
}

/// Whether a task trains a network: the classic decoder's come first and take no time.
fn is_network(task: u32) -> bool {
    task >= FITS as u32
}

fn submit(program: &Program, out: &str, options: &[&str]) -> Result<Job> {
    let jobs = FITS.to_string();
    let answer = program.benchmark(out, &[&["--launcher", "slurm", "--jobs", &jobs], options].concat())?;
    Job::parse(&answer)
}

/// Waits until a job has ended well.
fn done(cluster: &Cluster, job: u32) -> Result<()> {
    let tasks = cluster.wait_for_end(job)?;
    ensure!(tasks.iter().all(|t| t.state == "COMPLETED"), "job {job} came out as {tasks:?}");
    Ok(())
}

/// The tasks of a job that are or were on the node to be drained.
fn on_drained(cluster: &Cluster, job: u32) -> Result<BTreeSet<Option<u32>>> {
    let tasks = cluster.tasks_of(job)?;
    Ok(tasks.iter().filter(|t| t.node == NODES[1]).map(|t| t.index).collect())
}

/// The numbers of all jobs, in their order.
fn jobs(tasks: &[Task]) -> Vec<u32> {
    tasks.iter().map(|t| t.job).collect::<BTreeSet<u32>>().into_iter().collect()
}

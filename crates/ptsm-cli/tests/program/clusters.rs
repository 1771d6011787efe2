//! `--launcher slurm` where Slurm is missing, refuses or does not answer. What stands for Slurm here are scripts that say one thing; a real
//! one is in `cargo xtask test slurm`.

use std::os::unix::fs::PermissionsExt;

use crate::common::{Outcome, Place};

const LINE: &str = "benchmark --data a.npz --models csp-lda --set band_hz=none --protocol kfold:4 --out bench --launcher slurm --jobs 2";

/// A place with these programs and no others.
fn place(programs: &[(&str, &str)]) -> Place {
    let place = Place::with_data();
    std::fs::create_dir(place.path("bin")).unwrap();
    for (name, script) in programs {
        let name = format!("bin/{name}");
        place.write(&name, format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(place.path(&name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    place
}

fn run(place: &Place, line: &str) -> Outcome {
    place.ptsm(line).env("PATH", place.path("bin").to_str().unwrap()).run()
}

/// It is refused with these words in the error and in the hint, and everything is as before.
fn refused(place: &Place, line: &str, error: &[&str], hint: &str) {
    let before = place.list();
    let outcome = run(place, line);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{}", outcome.stderr);
    let (said, hinted) = outcome.stderr.split_once("\nhint: ").unwrap();
    assert!(error.iter().all(|words| said.contains(words)), "{said}");
    assert!(hinted.contains(hint) && hinted.lines().count() == 1, "{hinted}");
    assert_eq!(place.list(), before);
}

/// What a benchmark leaves whose jobs 7 and 8 were submitted.
fn submitted(squeue: &str) -> Place {
    let answer = "case \"$*\" in *--version*) ;; *--array*) echo 7;; *) echo '8;cluster';; esac";
    let place = place(&[("sbatch", answer), ("squeue", squeue)]);
    let output = run(&place, &format!("{LINE} --json")).json();
    assert_eq!(
        (&output["array"], &output["collects"], &output["tasks"]),
        (&"7".into(), &"8".into(), &2.into())
    );
    place
}

#[test]
fn a_machine_without_slurm_is_reported() {
    let hint = "a machine of the cluster";
    refused(&place(&[]), LINE, &["`sbatch` cannot be started"], hint);
    // Before any data are read.
    refused(&place(&[]), &LINE.replace("a.npz", "none.npz"), &["`sbatch` cannot be started"], hint);
}

#[test]
fn a_job_that_slurm_refuses_leaves_nothing() {
    let refuses = |what: &str| format!("case \"$*\" in *--version*) exit 0;; {what} esac");
    let partition = refuses("*) echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1;;");
    let said = ["`sbatch` refused: sbatch: error: invalid partition specified: gpu"];
    let options = format!("{LINE} --sbatch --partition=gpu");
    refused(&place(&[("sbatch", &partition)]), &options, &said, "`--sbatch`");

    let nonsense = refuses("*) echo welcome; echo to the cluster;;");
    refused(&place(&[("sbatch", &nonsense)]), LINE, &["`to the cluster`", "no number of a job"], "`squeue`");
    refused(&place(&[("sbatch", "")]), LINE, &["no number of a job"], "`squeue`");
    refused(&place(&[]), &format!("{LINE} --sbatch --array=0-9"), &["`--array=0-9`"], "`--jobs`");
}

#[test]
fn an_array_that_nobody_would_collect_is_cancelled() {
    let array_only =
        "case \"$*\" in *--version*) ;; *--array*) echo 7;; *) echo 'no more jobs' >&2; exit 1;; esac";
    let cancels = "echo \"$@\" > cancelled";
    let both = place(&[("sbatch", array_only), ("scancel", cancels)]);
    both.write("cancelled", "");
    refused(&both, LINE, &["no more jobs"], "`--sbatch`");
    assert_eq!(both.read("cancelled"), b"7\n");
    // It is said where that cannot be done either.
    refused(&place(&[("sbatch", array_only)]), LINE, &["no more jobs", "job 7"], "scancel 7");
}

#[test]
fn a_benchmark_in_the_queue_is_left_alone() {
    let queued = submitted("echo '7 RUNNING'; echo '8 PENDING'");
    let words = ["job 7 (RUNNING)", "still in the queue"];
    refused(&queued, LINE, &words, "scancel 8 7");
    // Neither may this machine do the same work, nor another plan take its place.
    let local = LINE.split(" --launcher").next().unwrap();
    refused(&queued, local, &words, "scancel 8 7");
    refused(&queued, &local.replace("csp-lda", "mdm"), &words, "scancel 8 7");
    // Jobs of others are none of ours.
    let others = submitted("echo 'CLUSTER: far'; echo '77 RUNNING'");
    assert_eq!(run(&others, local).code, Some(0));
}

#[test]
fn jobs_that_slurm_forgot_are_over_and_jobs_it_cannot_tell_of_are_not() {
    let local = LINE.split(" --launcher").next().unwrap();
    let silent =
        "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1";
    let words = ["slurm.json", "job 7 or 8", "Unable to contact"];
    let place = submitted(silent);
    refused(&place, LINE, &words, "when Slurm answers");
    refused(&place, local, &words, "when Slurm answers");
    let forgotten = submitted("echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    assert_eq!(run(&forgotten, LINE).code, Some(0));
    let done = run(&forgotten, local);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    // Of what was submitted nothing is left when everything is done.
    let left = forgotten.list();
    for name in ["slurm.json", "tasks.json", "logs/", "trials/"] {
        assert!(!left.contains(&format!("bench/{name}")), "{left:?}");
    }
}

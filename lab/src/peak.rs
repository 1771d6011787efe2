//! The machine's multiply-add peak, measured: chains of multiply-adds in registers, nothing read from memory.
//!
//! `cargo lab bench engine` builds this with `-C target-cpu=native`, for the compiler can then use the widest vectors
//! in plain safe code. Built otherwise it measures what a plain build reaches.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use anyhow::Result;
use serde::{Deserialize, Serialize};

/// Independent chains: 12 vectors of 16 values, enough to hide the latency of two multiply-adds begun per cycle.
const CHAINS: usize = 12 * 16;

/// Multiply-adds between reading a value and writing it back: so many that memory has no part in the time, so few that the
/// processor looks ahead over enough chains.
const LINKS: usize = 8;

/// Rounds in one measurement: some milliseconds, which others on the machine may leave undisturbed.
const ROUNDS: usize = 1 << 17;

/// Measurements made; the best counts.
const REPEATS: usize = 200;

/// What was measured, 2 operations per multiply-add.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Peak {
    pub(crate) threads: usize,
    pub(crate) one_thread_gflops: f64,
    pub(crate) all_threads_gflops: f64,
}

/// `lab peak`: the measurement as a line of JSON.
pub(crate) fn run() -> Result<()> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let peak = Peak { threads, one_thread_gflops: best(1), all_threads_gflops: best(threads) };
    println!("{}", serde_json::to_string(&peak)?);
    Ok(())
}

fn best(threads: usize) -> f64 {
    (0..REPEATS).map(|_| together(threads)).fold(0.0, f64::max)
}

/// All threads do the same work; the time is from the first one's start to the last one's end.
fn together(threads: usize) -> f64 {
    let start = Barrier::new(threads);
    let work = || {
        start.wait();
        alone()
    };
    let times: Vec<(Instant, Instant)> = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let (Some(first), Some(last)) = (times.iter().map(|t| t.0).min(), times.iter().map(|t| t.1).max()) else {
        return 0.0;
    };
    (2 * times.len() * ROUNDS * LINKS * CHAINS) as f64 / (last - first).as_secs_f64() / 1e9
}

fn alone() -> (Instant, Instant) {
    // Hidden from the compiler, which would otherwise work the chains out beforehand.
    let (factor, addend) = (black_box(0.999f32), black_box(0.001f32));
    let mut chains = [1.0f32; CHAINS];
    let start = Instant::now();
    lengthen(&mut chains, factor, addend);
    black_box(&chains);
    (start, Instant::now())
}

/// A loop over neighbours with nothing else in it is what compilers vectorise best; arrays of explicit accumulators came
/// out 80 times slower on one of the processors tried.
#[inline(never)]
fn lengthen(chains: &mut [f32; CHAINS], factor: f32, addend: f32) {
    for _ in 0..ROUNDS {
        for chain in chains.iter_mut() {
            for _ in 0..LINKS {
                // Without the instruction `mul_add` is a call of some hundred cycles.
                *chain = if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                    chain.mul_add(factor, addend)
                } else {
                    *chain * factor + addend
                };
            }
        }
    }
}

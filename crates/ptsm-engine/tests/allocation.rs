//! A step in a long training allocates nothing: memory was planned when it was compiled.
//!
//! One test only, because one of the counters sees every thread of the process; the other, which must stay at zero, sees the
//! thread of the test alone, since the test harness allocates when it pleases.

#![allow(clippy::unwrap_used)]
#![allow(unsafe_code)] // an allocator is an unsafe trait

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Random, to};
use ptsm_engine::{
    Adam, Cpu, Decay, Feed, Graph, Init, Isa, Mode, Objective, Padding, Parameters, Pooling, Step, StepSpec,
};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static HERE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes, Ordering::Relaxed);
    // A thread that is ending has no place to count in any more.
    let _ = HERE.try_with(|here| here.set((here.get().0 + 1, here.get().1 + bytes)));
}

/// Allocations and bytes so far, of this thread or of all.
fn counted(threads: usize) -> (usize, usize) {
    if threads == 1 {
        return HERE.get();
    }
    (ALLOCATIONS.load(Ordering::SeqCst), BYTES.load(Ordering::SeqCst))
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are the callee's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A network with every kind of workspace: convolutions of all forms, normalisation, pooling, both losses.
fn network(batch: usize, time: usize) -> (Graph, StepSpec) {
    let mut g = Graph::new();
    let x = g.input("x", &[batch, 4, time]).unwrap();
    let labels = g.labels("labels", &[batch], 3).unwrap();
    let h = g.parameter("temporal", &[4, 9], Init::fan_in(9)).unwrap();
    let h = g.temporal_conv(x, h, None, Padding::Same).unwrap();
    let h = g.scoped("first", |g| g.batch_norm(h, 1e-3, 0.1)).unwrap();
    let w = g.constrained("spatial", &[16, 1, 4], Init::fan_in(4), 1.0).unwrap();
    let h = g.spatial_conv(h, w, 4).unwrap();
    let h = g.scoped("second", |g| g.batch_norm(h, 1e-3, 0.1)).unwrap();
    let h = g.elu(h).unwrap();
    let h = g.dropout(h, 0.25).unwrap();
    let h = g.pool(h, Pooling::Max { size: 4, stride: 4 }).unwrap();
    let w = g.parameter("direct", &[16, 4, 7], Init::fan_in(28)).unwrap();
    let h = g.conv1d(h, w, None, 4, Padding::Same).unwrap();
    let w = g.parameter("winograd", &[16, 16, 5], Init::fan_in(80)).unwrap();
    let h = g.conv1d(h, w, None, 1, Padding::Same).unwrap();
    let h = g.scoped("third", |g| g.layer_norm(h, 1e-3)).unwrap();
    let h = g.flatten(h).unwrap();
    let contrast = g.nt_xent(h, labels, 0.5).unwrap();
    let n = g.shape(h)[1];
    let w = g.parameter("head", &[3, n], Init::fan_in(n)).unwrap();
    let bias = g.parameter("bias", &[3], Init::Constant(0.0)).unwrap();
    let logits = g.linear(h, w, Some(bias)).unwrap();
    let entropy = g.cross_entropy(logits, labels, 0.1).unwrap();
    let loss = g.add(entropy, contrast).unwrap();
    let objectives = vec![Objective::new(&g, loss, |_| true)];
    let adam = Adam { decay: Decay::Decoupled(0.01), clip: Some(1.0), ..Adam::default() };
    (g, StepSpec { mode: Mode::Train, objectives, outputs: vec![loss], optimizer: adam.into() })
}

/// Allocations and bytes of each of some later steps.
fn steady(threads: usize, replicas: usize, batch: usize, time: usize) -> Vec<(usize, usize)> {
    let (graph, spec) = network(batch, time);
    let device = Cpu::with(threads, Isa::best()).unwrap();
    let mut step = Step::<f32>::new(&graph, &spec, replicas, &device).unwrap();
    let seeds: Vec<u64> = (0..replicas as u64).collect();
    let mut parameters = Parameters::new(&graph, &seeds).unwrap();
    let data: Vec<f32> = to(&Random::new(1).reals(2 * batch * 4 * time));
    let labels: Vec<u32> = (0..2 * batch as u32).map(|i| i % 3).collect();
    let rows: Vec<u32> = (0..(replicas * batch) as u32).map(|i| i % (2 * batch as u32)).collect();
    let feeds = [
        ("x", Feed::Rows { data: &data, rows: &rows }),
        ("labels", Feed::LabelRows { data: &labels, rows: &rows }),
    ];
    let (rates, active) = (vec![1e-3; replicas], vec![true; replicas]);
    let mut steps = Vec::with_capacity(STEPS);
    for i in 0..WARM_UP + STEPS {
        let before = counted(threads);
        step.run(&mut parameters, &feeds, &rates, &active).unwrap();
        let after = counted(threads);
        if i >= WARM_UP {
            steps.push((after.0 - before.0, after.1 - before.1));
        }
    }
    steps
}

/// Scratch memory grows in the first steps; the queues of the threads too.
const WARM_UP: usize = 3;
const STEPS: usize = 5;

#[test]
fn a_steady_step_allocates_nothing() {
    let mut found = vec![];
    for replicas in [1, 3] {
        let counted = steady(1, replicas, 4, 64);
        if counted != [(0, 0); STEPS] {
            found.push(format!("1 thread, {replicas} replicas: (allocations, bytes) {counted:?}"));
        }
    }
    // Whoever asks for one thread gets one: the process-wide pool of the thread library is not even started.
    if rayon::ThreadPoolBuilder::new().num_threads(1).build_global().is_err() {
        found.push("a device of 1 thread ran on the process-wide thread pool".into());
    }
    // Handing work to other threads takes memory for the handing over, whatever the sizes of tensors: a few
    // kilobytes, where the activations of the larger step are hundreds.
    for replicas in [1, 3] {
        for (batch, time) in [(4, 64), (16, 1024)] {
            let counted = steady(2, replicas, batch, time);
            // Which thread takes which work is chance, so scratch memory may still grow in one of the steps.
            let least = counted.iter().min_by_key(|(_, bytes)| *bytes).unwrap();
            if least.0 > 16 || least.1 > 8 << 10 {
                let shape = [batch, 4, time];
                found.push(format!(
                    "2 threads, {replicas} replicas, {shape:?}: (allocations, bytes) {counted:?}"
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

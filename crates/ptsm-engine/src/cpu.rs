//! The CPU as a device: its threads and its scratch memory.

use std::cell::RefCell;
use std::sync::Arc;

use aligned_vec::{AVec, ConstAlign};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernels::{Isa, Real};

/// Below this many elementary operations, waking a second thread costs more than it saves.
const WORTH_SHARING: usize = 1 << 16;

/// The processor a program runs on. Cheap to clone; clones share their threads.
#[derive(Clone)]
pub struct Cpu {
    pub(crate) isa: Isa,
    threads: usize,
    /// None with one thread, which is the caller's.
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl std::fmt::Debug for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cpu({} threads, {:?})", self.threads, self.isa)
    }
}

impl Cpu {
    /// All cores, best instruction set.
    pub fn new() -> Result<Cpu> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Cpu::with(threads, Isa::best())
    }

    /// A number of threads and one of [`Isa::available`].
    pub fn with(threads: usize, isa: Isa) -> Result<Cpu> {
        if threads == 0 {
            return Err(Error::Program("a device needs at least 1 thread, got 0".into()));
        }
        if !Isa::available().contains(&isa) {
            let all = Isa::available();
            return Err(Error::Program(format!("this machine has no {isa:?}; it has {all:?}")));
        }
        if threads == 1 {
            return Ok(Cpu { isa, threads, pool: None });
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("ptsm-{i}"))
            .build()
            .map_err(|e| Error::Program(format!("cannot start {threads} threads: {e}")))?;
        Ok(Cpu { isa, threads, pool: Some(Arc::new(pool)) })
    }

    /// Threads this device works with.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Runs `body` on the device's threads; with one thread, here and now.
    pub fn enter<R: Send>(&self, body: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(body),
            None => body(),
        }
    }

    /// The device as one of `replicas` sees it that run at once: where they keep all threads busy by themselves, each stays
    /// on its own, and no thread waits inside a step.
    pub(crate) fn inside(&self, replicas: usize) -> Cpu {
        let alone = replicas > 1 && (replicas.is_multiple_of(self.threads) || replicas >= 4 * self.threads);
        if alone { Cpu { isa: self.isa, threads: 1, pool: None } } else { self.clone() }
    }

    /// Calls `body` for each replica, at once where there are threads for it. Only inside [`enter`](Self::enter).
    pub(crate) fn each<A: Send>(&self, replicas: &mut [A], body: impl Fn(usize, &mut A) + Sync + Send) {
        if self.threads == 1 || replicas.len() == 1 {
            replicas.iter_mut().enumerate().for_each(|(i, a)| body(i, a));
        } else {
            replicas.par_iter_mut().enumerate().for_each(|(i, a)| body(i, a));
        }
    }

    /// The same with two things per replica.
    pub(crate) fn each_pair<A: Send, B: Send>(
        &self,
        a: &mut [A],
        b: &mut [B],
        body: impl Fn(usize, &mut A, &mut B) + Sync + Send,
    ) {
        if self.threads == 1 || a.len() == 1 {
            a.iter_mut().zip(b).enumerate().for_each(|(i, (a, b))| body(i, a, b));
        } else {
            a.par_iter_mut().zip(b).enumerate().for_each(|(i, (a, b))| body(i, a, b));
        }
    }

    /// Calls `body` for each piece of `data`, at once where that pays. The pieces never depend on the number
    /// of threads, so neither do the results.
    ///
    /// `work` is the number of elementary operations in all.
    pub(crate) fn pieces<T: Send>(
        &self,
        data: &mut [T],
        piece: usize,
        work: usize,
        body: impl Fn(usize, &mut [T]) + Sync + Send,
    ) {
        if self.threads == 1 || work < WORTH_SHARING {
            data.chunks_mut(piece.max(1)).enumerate().for_each(|(i, c)| body(i, c));
        } else {
            data.par_chunks_mut(piece.max(1)).enumerate().for_each(|(i, c)| body(i, c));
        }
    }
}

/// Memory aligned to cache lines.
pub(crate) type Buffer<T> = AVec<T, ConstAlign<64>>;

pub(crate) fn buffer<T: Real>(length: usize) -> Buffer<T> {
    AVec::from_iter(64, std::iter::repeat_n(T::ZERO, length))
}

thread_local! {
    static SCRATCH: RefCell<Buffer<f64>> = RefCell::new(AVec::new(64));
}

/// Lends `length` elements of this thread's scratch memory, contents undefined. It grows on first use and is
/// kept, so that a step allocates nothing. `body` must not hand work to other threads (they would
/// come back here for the same memory) and does not nest.
pub(crate) fn scratch<T: Real, R>(length: usize, body: impl FnOnce(&mut [T]) -> R) -> R {
    SCRATCH.with_borrow_mut(|memory| {
        let wide = (length * size_of::<T>()).div_ceil(size_of::<f64>());
        if memory.len() < wide {
            memory.resize(wide, 0.0);
        }
        body(&mut bytemuck::cast_slice_mut::<f64, T>(memory)[..length])
    })
}

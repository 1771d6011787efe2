//! How much memory a test takes.

#![allow(dead_code, unreachable_pub, unsafe_code)] // each test uses some; an allocator cannot be written without

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counting.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the promises of `dealloc`, and the memory came from the system.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that are allocated now.
pub fn now() -> usize {
    NOW.load(Relaxed)
}

/// The most bytes that were allocated at once since the last [`forget_peak`].
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Begins anew.
pub fn forget_peak() {
    PEAK.store(now(), Relaxed);
}

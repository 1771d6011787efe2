//! Vectors of one instruction set behind one trait, so that a kernel is written once.

use crate::real::Real;

/// One vector register of `T`.
///
/// # Safety
/// Every method may be called only where the instruction set of the implementation is available; the
/// callers are `#[target_feature]` functions reached through [`crate::cpu::Isa`], which is made by
/// detection. `load` and `store` touch `WIDTH` elements from `p`, `load_part` the first `n`.
pub(crate) trait Lanes<T: Real>: Copy {
    /// Elements in a vector.
    const WIDTH: usize;
    /// Output rows of the product tile: `ROWS * 3` accumulators must fit the register file.
    const ROWS: usize;
    /// Rows of the dot tile: `DOT_ROWS * 6` accumulators must fit.
    const DOT_ROWS: usize;
    unsafe fn splat(x: T) -> Self;
    unsafe fn load(p: *const T) -> Self;
    unsafe fn store(self, p: *mut T);
    unsafe fn load_part(p: *const T, n: usize) -> Self;
    unsafe fn store_part(self, p: *mut T, n: usize);
    /// `self * x + acc`
    unsafe fn fma(self, x: Self, acc: Self) -> Self;
    unsafe fn sum(self) -> T;
}

/// Plain arrays: the portable path, and f64 on every machine.
#[derive(Clone, Copy)]
pub(crate) struct Plain<T>([T; 8]);

impl<T: Real> Lanes<T> for Plain<T> {
    const WIDTH: usize = 8;
    const ROWS: usize = 4;
    const DOT_ROWS: usize = 2;
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Plain([x; 8])
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> Self {
        // SAFETY: the caller grants WIDTH = 8 readable elements; an array of T has T's alignment.
        Plain(unsafe { p.cast::<[T; 8]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T) {
        // SAFETY: as for `load`, writable.
        unsafe { p.cast::<[T; 8]>().write(self.0) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const T, n: usize) -> Self {
        let mut a = [T::ZERO; 8];
        for (i, a) in a.iter_mut().enumerate().take(n) {
            // SAFETY: i < n, and the caller grants n readable elements.
            *a = unsafe { *p.add(i) };
        }
        Plain(a)
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut T, n: usize) {
        for (i, &a) in self.0.iter().enumerate().take(n) {
            // SAFETY: i < n, and the caller grants n writable elements.
            unsafe { *p.add(i) = a };
        }
    }
    #[inline(always)]
    unsafe fn fma(self, x: Self, acc: Self) -> Self {
        let mut out = acc.0;
        for i in 0..8 {
            out[i] += self.0[i] * x.0[i];
        }
        Plain(out)
    }
    #[inline(always)]
    unsafe fn sum(self) -> T {
        let a = self.0;
        ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// AVX2 with FMA: 8 f32, 16 registers.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256);

    /// All ones in the first n of 8 lanes: read at 8 - n.
    static MASK: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

    // SAFETY (the blocks of both implementations): the trait's contract grants the instruction set and
    // the memory; all loads and stores are the unaligned forms.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes<f32> for Avx2 {
        const WIDTH: usize = 8;
        const ROWS: usize = 4;
        const DOT_ROWS: usize = 2;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            Avx2(unsafe { _mm256_set1_ps(x) })
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            Avx2(unsafe { _mm256_loadu_ps(p) })
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            unsafe { _mm256_storeu_ps(p, self.0) }
        }
        #[inline(always)]
        unsafe fn load_part(p: *const f32, n: usize) -> Self {
            // A masked-out lane is not read, so p need not have 8 elements; n <= 8 keeps MASK in bounds.
            let mask = unsafe { _mm256_loadu_si256(MASK.as_ptr().add(8 - n.min(8)).cast()) };
            Avx2(unsafe { _mm256_maskload_ps(p, mask) })
        }
        #[inline(always)]
        unsafe fn store_part(self, p: *mut f32, n: usize) {
            let mask = unsafe { _mm256_loadu_si256(MASK.as_ptr().add(8 - n.min(8)).cast()) };
            unsafe { _mm256_maskstore_ps(p, mask, self.0) }
        }
        #[inline(always)]
        unsafe fn fma(self, x: Self, acc: Self) -> Self {
            Avx2(unsafe { _mm256_fmadd_ps(self.0, x.0, acc.0) })
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            unsafe {
                let x = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
                let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
                _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps::<1>(x, x)))
            }
        }
    }

    /// AVX-512: 16 f32, 32 registers.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512);

    #[allow(clippy::undocumented_unsafe_blocks)] // as above
    impl Lanes<f32> for Avx512 {
        const WIDTH: usize = 16;
        const ROWS: usize = 8;
        const DOT_ROWS: usize = 4;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            Avx512(unsafe { _mm512_set1_ps(x) })
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            Avx512(unsafe { _mm512_loadu_ps(p) })
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            unsafe { _mm512_storeu_ps(p, self.0) }
        }
        #[inline(always)]
        unsafe fn load_part(p: *const f32, n: usize) -> Self {
            // A masked-out lane is not read.
            Avx512(unsafe { _mm512_maskz_loadu_ps(((1u32 << n) - 1) as u16, p) })
        }
        #[inline(always)]
        unsafe fn store_part(self, p: *mut f32, n: usize) {
            unsafe { _mm512_mask_storeu_ps(p, ((1u32 << n) - 1) as u16, self.0) }
        }
        #[inline(always)]
        unsafe fn fma(self, x: Self, acc: Self) -> Self {
            Avx512(unsafe { _mm512_fmadd_ps(self.0, x.0, acc.0) })
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            unsafe { _mm512_reduce_add_ps(self.0) }
        }
    }
}

#[cfg(target_arch = "aarch64")]
pub(crate) mod arm {
    use super::Lanes;
    use std::arch::aarch64::*;

    /// NEON: 4 f32, 32 registers.
    #[derive(Clone, Copy)]
    pub(crate) struct Neon(float32x4_t);

    // SAFETY: the trait's contract grants the memory; NEON is part of every aarch64 target.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes<f32> for Neon {
        const WIDTH: usize = 4;
        const ROWS: usize = 8;
        const DOT_ROWS: usize = 4;
        #[inline(always)]
        unsafe fn splat(x: f32) -> Self {
            Neon(unsafe { vdupq_n_f32(x) })
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> Self {
            Neon(unsafe { vld1q_f32(p) })
        }
        #[inline(always)]
        unsafe fn store(self, p: *mut f32) {
            unsafe { vst1q_f32(p, self.0) }
        }
        #[inline(always)]
        unsafe fn load_part(p: *const f32, n: usize) -> Self {
            let mut a = [0.0f32; 4];
            for (i, a) in a.iter_mut().enumerate().take(n) {
                *a = unsafe { *p.add(i) };
            }
            unsafe { Self::load(a.as_ptr()) }
        }
        #[inline(always)]
        unsafe fn store_part(self, p: *mut f32, n: usize) {
            let mut a = [0.0f32; 4];
            unsafe { self.store(a.as_mut_ptr()) };
            for (i, &a) in a.iter().enumerate().take(n) {
                unsafe { *p.add(i) = a };
            }
        }
        #[inline(always)]
        unsafe fn fma(self, x: Self, acc: Self) -> Self {
            Neon(unsafe { vfmaq_f32(acc.0, self.0, x.0) })
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            unsafe { vaddvq_f32(self.0) }
        }
    }
}

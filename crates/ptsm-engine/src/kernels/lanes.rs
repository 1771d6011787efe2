//! Vectors of one instruction set behind one trait, so that a kernel is written once.
//!
//! Longer than 600 lines because the same methods are written out for four instruction sets, and are best read beside each other.

use crate::kernels::Real;

/// One vector register of `T`.
///
/// # Safety
/// Every method may be called only where the instruction set of the implementation is available; the
/// callers are `#[target_feature]` functions reached through [`crate::kernels::Isa`], which is made by
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
    unsafe fn plus(self, x: Self) -> Self;
    unsafe fn times(self, x: Self) -> Self;
    unsafe fn sum(self) -> T;
    /// The sums of four vectors.
    #[inline(always)]
    unsafe fn sums(four: [Self; 4]) -> [T; 4] {
        // SAFETY: passed on.
        four.map(|v| unsafe { v.sum() })
    }
    /// Elements 0, 4, 8.. of `4 * WIDTH` neighbours, elements 1, 5, 9.. and so on.
    #[inline(always)]
    unsafe fn split(p: *const T) -> [Self; 4] {
        let mut parts = [[T::ZERO; 16]; 4];
        for i in 0..4 * Self::WIDTH {
            // SAFETY: the caller grants 4 * WIDTH elements; WIDTH <= 16.
            parts[i % 4][i / 4] = unsafe { *p.add(i) };
        }
        // SAFETY: 16 elements are at least WIDTH.
        parts.map(|part| unsafe { Self::load(part.as_ptr()) })
    }
    /// The way back from `split`.
    #[inline(always)]
    unsafe fn join(four: [Self; 4], p: *mut T) {
        let mut parts = [[T::ZERO; 16]; 4];
        for (part, v) in parts.iter_mut().zip(four) {
            // SAFETY: 16 elements are at least WIDTH.
            unsafe { v.store(part.as_mut_ptr()) };
        }
        for i in 0..4 * Self::WIDTH {
            // SAFETY: the caller grants 4 * WIDTH elements.
            unsafe { *p.add(i) = parts[i % 4][i / 4] };
        }
    }
    /// As `split`, into even and odd elements of `2 * WIDTH` neighbours.
    #[inline(always)]
    unsafe fn split_two(p: *const T) -> [Self; 2] {
        let mut parts = [[T::ZERO; 16]; 2];
        for i in 0..2 * Self::WIDTH {
            // SAFETY: the caller grants 2 * WIDTH elements; WIDTH <= 16.
            parts[i % 2][i / 2] = unsafe { *p.add(i) };
        }
        // SAFETY: 16 elements are at least WIDTH.
        parts.map(|part| unsafe { Self::load(part.as_ptr()) })
    }
    /// The way back from `split_two`.
    #[inline(always)]
    unsafe fn join_two(two: [Self; 2], p: *mut T) {
        let mut parts = [[T::ZERO; 16]; 2];
        for (part, v) in parts.iter_mut().zip(two) {
            // SAFETY: 16 elements are at least WIDTH.
            unsafe { v.store(part.as_mut_ptr()) };
        }
        for i in 0..2 * Self::WIDTH {
            // SAFETY: the caller grants 2 * WIDTH elements.
            unsafe { *p.add(i) = parts[i % 2][i / 2] };
        }
    }
    unsafe fn exp(self) -> Self;
    /// `self` where above zero, `other` elsewhere.
    unsafe fn where_positive(self, above: Self, other: Self) -> Self;
    /// Zero in the lanes `i` where `(words[i] >> shift) & mask < below`; words below 2^31 after masking.
    unsafe fn unless(self, words: *const u32, shift: u32, mask: u32, below: u32) -> Self;
}

/// Plain arrays: the portable path, and f64 on every machine.
#[derive(Clone, Copy)]
pub(crate) struct PortableLanes<T>([T; 8]);

impl<T: Real> Lanes<T> for PortableLanes<T> {
    const WIDTH: usize = 8;
    const ROWS: usize = 4;
    const DOT_ROWS: usize = 2;
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        PortableLanes([x; 8])
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> Self {
        // SAFETY: the caller grants WIDTH = 8 readable elements; an array of T has T's alignment.
        PortableLanes(unsafe { p.cast::<[T; 8]>().read() })
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
        PortableLanes(a)
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
        PortableLanes(std::array::from_fn(|i| acc.0[i] + self.0[i] * x.0[i]))
    }
    #[inline(always)]
    unsafe fn plus(self, x: Self) -> Self {
        PortableLanes(std::array::from_fn(|i| self.0[i] + x.0[i]))
    }
    #[inline(always)]
    unsafe fn times(self, x: Self) -> Self {
        PortableLanes(std::array::from_fn(|i| self.0[i] * x.0[i]))
    }
    #[inline(always)]
    unsafe fn sum(self) -> T {
        let a = self.0;
        ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
    }
    #[inline(always)]
    unsafe fn exp(self) -> Self {
        PortableLanes(self.0.map(T::exp))
    }
    #[inline(always)]
    unsafe fn where_positive(self, above: Self, other: Self) -> Self {
        PortableLanes(std::array::from_fn(|i| if self.0[i] > T::ZERO { above.0[i] } else { other.0[i] }))
    }
    #[inline(always)]
    unsafe fn unless(self, words: *const u32, shift: u32, mask: u32, below: u32) -> Self {
        // SAFETY: the caller grants WIDTH words.
        let words = unsafe { words.cast::<[u32; 8]>().read() };
        PortableLanes(std::array::from_fn(|i| {
            if (words[i] >> shift) & mask < below { T::ZERO } else { self.0[i] }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `split` takes every fourth element, `join` undoes it.
    unsafe fn round_trip<L: Lanes<f32>>() {
        let x: Vec<f32> = (0..4 * L::WIDTH).map(|i| i as f32).collect();
        let mut back = vec![0.0; x.len()];
        // SAFETY: the vectors hold 4 * WIDTH elements; the caller grants the instruction set.
        unsafe {
            let parts = L::split(x.as_ptr());
            for (p, part) in parts.into_iter().enumerate() {
                let mut lane = vec![0.0; L::WIDTH];
                part.store(lane.as_mut_ptr());
                assert!(
                    lane.iter().enumerate().all(|(i, v)| *v == (4 * i + p) as f32),
                    "phase {p}: {lane:?}"
                );
            }
            L::join(parts, back.as_mut_ptr());
        }
        assert_eq!(x, back);
        let mut back = vec![0.0; 2 * L::WIDTH];
        // SAFETY: as above, 2 * WIDTH.
        unsafe {
            let parts = L::split_two(x.as_ptr());
            for (p, part) in parts.into_iter().enumerate() {
                let mut lane = vec![0.0; L::WIDTH];
                part.store(lane.as_mut_ptr());
                assert!(
                    lane.iter().enumerate().all(|(i, v)| *v == (2 * i + p) as f32),
                    "phase {p}: {lane:?}"
                );
            }
            L::join_two(parts, back.as_mut_ptr());
        }
        assert_eq!(x[..2 * L::WIDTH], back);
    }

    #[test]
    fn phases_come_apart_and_together_on_every_path() {
        for isa in crate::kernels::Isa::available() {
            // SAFETY: only what was detected is run; none of these needs an enclosing target feature to be correct.
            unsafe {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    crate::kernels::Isa::Avx2 => round_trip::<x86::Avx2>(),
                    #[cfg(target_arch = "x86_64")]
                    crate::kernels::Isa::Avx512 => round_trip::<x86::Avx512>(),
                    #[cfg(target_arch = "aarch64")]
                    crate::kernels::Isa::Neon => round_trip::<arm::Neon>(),
                    _ => round_trip::<PortableLanes<f32>>(),
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    /// ln 2 in two parts; the first has few bits, so that its multiples are exact.
    #[allow(clippy::excessive_precision)] // exact as written
    const LN2_HIGH: f32 = 0.693_359_375;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    /// Taylor's terms of the exponential, the highest first.
    const TERMS: [f32; 7] = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];

    /// AVX2 with FMA: 8 f32, 16 registers.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256);

    /// Transposes the 4 by 4 block in each half of four registers; its own inverse.
    #[inline(always)]
    unsafe fn transpose_halves(x: [__m256; 4]) -> [__m256; 4] {
        // SAFETY: only called where AVX2 is available.
        unsafe {
            let low = |a, b| {
                (_mm256_castps_pd(_mm256_unpacklo_ps(a, b)), _mm256_castps_pd(_mm256_unpackhi_ps(a, b)))
            };
            let ((t0, t1), (t2, t3)) = (low(x[0], x[1]), low(x[2], x[3]));
            [
                _mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2)),
                _mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2)),
                _mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3)),
                _mm256_castpd_ps(_mm256_unpackhi_pd(t1, t3)),
            ]
        }
    }

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
        unsafe fn plus(self, x: Self) -> Self {
            Avx2(unsafe { _mm256_add_ps(self.0, x.0) })
        }
        #[inline(always)]
        unsafe fn times(self, x: Self) -> Self {
            Avx2(unsafe { _mm256_mul_ps(self.0, x.0) })
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            unsafe {
                let x = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
                let x = _mm_add_ps(x, _mm_movehl_ps(x, x));
                _mm_cvtss_f32(_mm_add_ss(x, _mm_shuffle_ps::<1>(x, x)))
            }
        }
        #[inline(always)]
        unsafe fn split(p: *const f32) -> [Self; 4] {
            unsafe {
                let x: [__m256; 4] = std::array::from_fn(|i| _mm256_loadu_ps(p.add(8 * i)));
                // Halves of groups of 4: register i gets groups i and i + 4.
                let halves = [
                    _mm256_permute2f128_ps::<0x20>(x[0], x[2]),
                    _mm256_permute2f128_ps::<0x31>(x[0], x[2]),
                    _mm256_permute2f128_ps::<0x20>(x[1], x[3]),
                    _mm256_permute2f128_ps::<0x31>(x[1], x[3]),
                ];
                transpose_halves(halves).map(Avx2)
            }
        }
        #[inline(always)]
        unsafe fn join(four: [Self; 4], p: *mut f32) {
            unsafe {
                let [q0, q1, q2, q3] = transpose_halves(four.map(|v| v.0));
                let x = [
                    _mm256_permute2f128_ps::<0x20>(q0, q1),
                    _mm256_permute2f128_ps::<0x20>(q2, q3),
                    _mm256_permute2f128_ps::<0x31>(q0, q1),
                    _mm256_permute2f128_ps::<0x31>(q2, q3),
                ];
                for (i, x) in x.into_iter().enumerate() {
                    _mm256_storeu_ps(p.add(8 * i), x);
                }
            }
        }
        #[inline(always)]
        unsafe fn split_two(p: *const f32) -> [Self; 2] {
            unsafe {
                let (a, b) = (_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8)));
                // Even and odd within halves, then the middle pairs exchanged.
                let order = |x| _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(x)));
                [
                    Avx2(order(_mm256_shuffle_ps::<0b10_00_10_00>(a, b))),
                    Avx2(order(_mm256_shuffle_ps::<0b11_01_11_01>(a, b))),
                ]
            }
        }
        #[inline(always)]
        unsafe fn join_two(two: [Self; 2], p: *mut f32) {
            unsafe {
                let (low, high) =
                    (_mm256_unpacklo_ps(two[0].0, two[1].0), _mm256_unpackhi_ps(two[0].0, two[1].0));
                _mm256_storeu_ps(p, _mm256_permute2f128_ps::<0x20>(low, high));
                _mm256_storeu_ps(p.add(8), _mm256_permute2f128_ps::<0x31>(low, high));
            }
        }
        #[inline(always)]
        unsafe fn exp(self) -> Self {
            // As `Real::exp`, with fused multiply-adds.
            unsafe {
                let set = |x: f32| _mm256_set1_ps(x);
                // The operand order lets a NaN through.
                let x = _mm256_max_ps(set(-87.33), _mm256_min_ps(set(88.72), self.0));
                let n = _mm256_round_ps::<NEAREST>(_mm256_mul_ps(x, set(std::f32::consts::LOG2_E)));
                let r = _mm256_fnmadd_ps(n, set(LN2_HIGH), x);
                let r = _mm256_fnmadd_ps(n, set(LN2_LOW), r);
                let mut p = set(TERMS[0]);
                for term in &TERMS[1..] {
                    p = _mm256_fmadd_ps(p, r, set(*term));
                }
                let whole = _mm256_cvtps_epi32(n);
                let half = _mm256_srai_epi32::<1>(whole);
                let rest = _mm256_sub_epi32(whole, half);
                let power = |n| {
                    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(n, _mm256_set1_epi32(127))))
                };
                Avx2(_mm256_mul_ps(_mm256_mul_ps(p, power(half)), power(rest)))
            }
        }
        #[inline(always)]
        unsafe fn where_positive(self, above: Self, other: Self) -> Self {
            unsafe {
                let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, _mm256_setzero_ps());
                Avx2(_mm256_blendv_ps(other.0, above.0, positive))
            }
        }
        #[inline(always)]
        unsafe fn unless(self, words: *const u32, shift: u32, mask: u32, below: u32) -> Self {
            unsafe {
                let words =
                    _mm256_srl_epi32(_mm256_loadu_si256(words.cast()), _mm_cvtsi32_si128(shift as i32));
                let words = _mm256_and_si256(words, _mm256_set1_epi32(mask as i32));
                let zero = _mm256_cmpgt_epi32(_mm256_set1_epi32(below as i32), words);
                Avx2(_mm256_andnot_ps(_mm256_castsi256_ps(zero), self.0))
            }
        }
    }

    /// Transposes the 4 by 4 block in each quarter of four registers; its own inverse.
    #[inline(always)]
    unsafe fn transpose(x: [__m512; 4]) -> [__m512; 4] {
        // SAFETY: only called where AVX-512 is available.
        unsafe {
            let low = |a, b| {
                (_mm512_castps_pd(_mm512_unpacklo_ps(a, b)), _mm512_castps_pd(_mm512_unpackhi_ps(a, b)))
            };
            let ((t0, t1), (t2, t3)) = (low(x[0], x[1]), low(x[2], x[3]));
            [
                _mm512_castpd_ps(_mm512_unpacklo_pd(t0, t2)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(t0, t2)),
                _mm512_castpd_ps(_mm512_unpacklo_pd(t1, t3)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(t1, t3)),
            ]
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
        unsafe fn plus(self, x: Self) -> Self {
            Avx512(unsafe { _mm512_add_ps(self.0, x.0) })
        }
        #[inline(always)]
        unsafe fn times(self, x: Self) -> Self {
            Avx512(unsafe { _mm512_mul_ps(self.0, x.0) })
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            unsafe { _mm512_reduce_add_ps(self.0) }
        }
        #[inline(always)]
        unsafe fn sums(four: [Self; 4]) -> [f32; 4] {
            // Transposing while adding: 13 instructions for four sums.
            unsafe {
                let [a, b, c, d] = four.map(|v| v.0);
                let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
                let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
                let (ab, cd) = (_mm512_castps_pd(ab), _mm512_castps_pd(cd));
                let low = _mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd));
                let abcd = _mm512_add_ps(low, _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
                let half = _mm256_add_ps(_mm512_castps512_ps256(abcd), _mm512_extractf32x8_ps::<1>(abcd));
                let quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps::<1>(half));
                let mut out = [0.0; 4];
                _mm_storeu_ps(out.as_mut_ptr(), quarter);
                out
            }
        }
        #[inline(always)]
        unsafe fn split(p: *const f32) -> [Self; 4] {
            unsafe {
                let x: [__m512; 4] = std::array::from_fn(|i| _mm512_loadu_ps(p.add(16 * i)));
                // Quarters 0..4 of each register to registers 0..4, so that a register holds every fourth group of 4.
                let a = _mm512_shuffle_f32x4::<0b10_00_10_00>(x[0], x[1]);
                let b = _mm512_shuffle_f32x4::<0b11_01_11_01>(x[0], x[1]);
                let c = _mm512_shuffle_f32x4::<0b10_00_10_00>(x[2], x[3]);
                let d = _mm512_shuffle_f32x4::<0b11_01_11_01>(x[2], x[3]);
                let quarters = [
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(a, c),
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(b, d),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(a, c),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(b, d),
                ];
                transpose(quarters).map(Avx512)
            }
        }
        #[inline(always)]
        unsafe fn join(four: [Self; 4], p: *mut f32) {
            unsafe {
                let [q0, q1, q2, q3] = transpose(four.map(|v| v.0));
                let a = _mm512_shuffle_f32x4::<0b01_00_01_00>(q0, q1);
                let b = _mm512_shuffle_f32x4::<0b11_10_11_10>(q0, q1);
                let c = _mm512_shuffle_f32x4::<0b01_00_01_00>(q2, q3);
                let d = _mm512_shuffle_f32x4::<0b11_10_11_10>(q2, q3);
                let x = [
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(a, c),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(a, c),
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(b, d),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(b, d),
                ];
                for (i, x) in x.into_iter().enumerate() {
                    _mm512_storeu_ps(p.add(16 * i), x);
                }
            }
        }
        #[inline(always)]
        unsafe fn split_two(p: *const f32) -> [Self; 2] {
            unsafe {
                let (a, b) = (_mm512_loadu_ps(p), _mm512_loadu_ps(p.add(16)));
                let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
                let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
                [Avx512(_mm512_permutex2var_ps(a, even, b)), Avx512(_mm512_permutex2var_ps(a, odd, b))]
            }
        }
        #[inline(always)]
        unsafe fn join_two(two: [Self; 2], p: *mut f32) {
            unsafe {
                let low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
                let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
                _mm512_storeu_ps(p, _mm512_permutex2var_ps(two[0].0, low, two[1].0));
                _mm512_storeu_ps(p.add(16), _mm512_permutex2var_ps(two[0].0, high, two[1].0));
            }
        }
        #[inline(always)]
        unsafe fn exp(self) -> Self {
            // `scalef` multiplies by 2^n and rounds to 0 or infinity by itself; the limits only keep the polynomial small. Their
            // operand order lets a NaN through.
            unsafe {
                let set = |x: f32| _mm512_set1_ps(x);
                let x = _mm512_max_ps(set(-200.0), _mm512_min_ps(set(200.0), self.0));
                let n = _mm512_roundscale_ps::<NEAREST>(_mm512_mul_ps(x, set(std::f32::consts::LOG2_E)));
                let r = _mm512_fnmadd_ps(n, set(LN2_HIGH), x);
                let r = _mm512_fnmadd_ps(n, set(LN2_LOW), r);
                let mut p = set(TERMS[0]);
                for term in &TERMS[1..] {
                    p = _mm512_fmadd_ps(p, r, set(*term));
                }
                Avx512(_mm512_scalef_ps(p, n))
            }
        }
        #[inline(always)]
        unsafe fn where_positive(self, above: Self, other: Self) -> Self {
            unsafe {
                let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, _mm512_setzero_ps());
                Avx512(_mm512_mask_blend_ps(positive, other.0, above.0))
            }
        }
        #[inline(always)]
        unsafe fn unless(self, words: *const u32, shift: u32, mask: u32, below: u32) -> Self {
            unsafe {
                let words =
                    _mm512_srl_epi32(_mm512_loadu_si512(words.cast()), _mm_cvtsi32_si128(shift as i32));
                let words = _mm512_and_si512(words, _mm512_set1_epi32(mask as i32));
                let keep = _mm512_cmpge_epu32_mask(words, _mm512_set1_epi32(below as i32));
                Avx512(_mm512_maskz_mov_ps(keep, self.0))
            }
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
        unsafe fn plus(self, x: Self) -> Self {
            Neon(unsafe { vaddq_f32(self.0, x.0) })
        }
        #[inline(always)]
        unsafe fn times(self, x: Self) -> Self {
            Neon(unsafe { vmulq_f32(self.0, x.0) })
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            unsafe { vaddvq_f32(self.0) }
        }
        #[inline(always)]
        unsafe fn split(p: *const f32) -> [Self; 4] {
            unsafe {
                let float32x4x4_t(a, b, c, d) = vld4q_f32(p);
                [Neon(a), Neon(b), Neon(c), Neon(d)]
            }
        }
        #[inline(always)]
        unsafe fn join(four: [Self; 4], p: *mut f32) {
            unsafe { vst4q_f32(p, float32x4x4_t(four[0].0, four[1].0, four[2].0, four[3].0)) }
        }
        #[inline(always)]
        unsafe fn exp(self) -> Self {
            let mut a = [0.0f32; 4];
            unsafe { self.store(a.as_mut_ptr()) };
            unsafe { Self::load(a.map(crate::kernels::Real::exp).as_ptr()) }
        }
        #[inline(always)]
        unsafe fn where_positive(self, above: Self, other: Self) -> Self {
            unsafe { Neon(vbslq_f32(vcgtq_f32(self.0, vdupq_n_f32(0.0)), above.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn unless(self, words: *const u32, shift: u32, mask: u32, below: u32) -> Self {
            unsafe {
                let words = vshlq_u32(vld1q_u32(words), vdupq_n_s32(-(shift as i32)));
                let keep = vcgeq_u32(vandq_u32(words, vdupq_n_u32(mask)), vdupq_n_u32(below));
                Neon(vreinterpretq_f32_u32(vandq_u32(keep, vreinterpretq_u32_f32(self.0))))
            }
        }
    }
}

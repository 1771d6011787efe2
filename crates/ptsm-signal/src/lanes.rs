//! Eight channels at once, with the widest vectors the processor has.
//!
//! Kernels are plain code over `[f64; L]`, compiled once for each instruction set; the compiler makes vectors of the lanes. Products
//! and sums are never fused, so every instruction set, and one channel alone, gives the same bytes.
#![allow(unsafe_code)] // calling a version that was compiled for what detection found

/// Channels in a group: one vector of AVX-512, two of AVX2, four of others.
pub(crate) const LANES: usize = 8;

/// Samples of a group of channels at one moment.
pub(crate) type Lanes = [f64; LANES];

/// Instructions this processor has. It can be made by detection only, which is what calls rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Isa(Kind);

/// The sets of instructions that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Plain,
}

impl Isa {
    /// Which instructions these are.
    pub(crate) fn kind(self) -> Kind {
        self.0
    }

    /// What every processor of the family has.
    pub(crate) fn plain() -> Isa {
        Isa(Kind::Plain)
    }

    /// The widest there is here.
    pub(crate) fn best() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                return Isa(Kind::Avx512);
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                return Isa(Kind::Avx2);
            }
        }
        Isa::plain()
    }

    /// Everything there is here.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Isa> {
        let mut all = vec![Isa::plain()];
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx2") {
                all.push(Isa(Kind::Avx2));
            }
            if std::arch::is_x86_feature_detected!("avx512f") {
                all.push(Isa(Kind::Avx512));
            }
        }
        all
    }
}

/// Makes `fn name(isa, ..)` out of a kernel: one copy per instruction set.
macro_rules! versions {
    ($($(#[$about:meta])* fn $name:ident $([$lanes:ident])? ($($arg:ident: $kind:ty),*) = $kernel:expr;)*) => {$(
        $(#[$about])*
        pub(crate) fn $name$(<const $lanes: usize>)?(isa: $crate::lanes::Isa, $($arg: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            fn avx512$(<const $lanes: usize>)?($($arg: $kind),*) {
                $kernel($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2$(<const $lanes: usize>)?($($arg: $kind),*) {
                $kernel($($arg),*)
            }
            match isa.kind() {
                // SAFETY: this value exists only where detection found AVX-512F.
                #[cfg(target_arch = "x86_64")]
                $crate::lanes::Kind::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: this value exists only where detection found AVX2.
                #[cfg(target_arch = "x86_64")]
                $crate::lanes::Kind::Avx2 => unsafe { avx2($($arg),*) },
                $crate::lanes::Kind::Plain => $kernel($($arg),*),
            }
        }
    )*};
}
pub(crate) use versions;

versions! {
    /// Divides values.
    fn divide(values: &mut [f32], by: f64) = quotients;
}

#[inline(always)]
fn quotients(values: &mut [f32], by: f64) {
    values.iter_mut().for_each(|x| *x = (f64::from(*x) / by) as f32);
}

/// Puts channels side by side.
pub(crate) fn interleave(isa: Isa, channels: [&[f32]; LANES], out: &mut [Lanes]) {
    let channels = channels.map(|channel| &channel[..out.len()]);
    let (tiles, _) = out.as_chunks_mut::<LANES>();
    let turned = tiles.len() * LANES;
    match isa.0 {
        Kind::Plain => {
            for (tile, out) in tiles.iter_mut().enumerate() {
                for (l, channel) in channels.iter().enumerate() {
                    for t in 0..LANES {
                        out[t][l] = f64::from(channel[tile * LANES + t]);
                    }
                }
            }
        }
        // SAFETY: these values exist only where detection found AVX2 or AVX-512F, which includes it.
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 | Kind::Avx512 => unsafe { x86::turn(channels, tiles) },
    }
    for (t, out) in out.iter_mut().enumerate().skip(turned) {
        *out = channels.map(|channel| f64::from(channel[t]));
    }
}

/// What compilers do not find: of the plain loop they make scatters, at twice the time of single stores.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, Lanes};

    /// Rows of channels become columns, eight samples at a time.
    #[target_feature(enable = "avx2")]
    pub(super) fn turn(channels: [&[f32]; LANES], out: &mut [[Lanes; LANES]]) {
        let mut channels = channels.map(|channel| channel.as_chunks::<LANES>().0.iter());
        for out in out {
            let mut rows = [_mm256_setzero_ps(); LANES];
            for (row, channel) in rows.iter_mut().zip(&mut channels) {
                if let Some(samples) = channel.next() {
                    // SAFETY: there are eight samples.
                    *row = unsafe { _mm256_loadu_ps(samples.as_ptr()) };
                }
            }
            let [a, b, c, d, e, f, g, h] = rows;
            let pairs = |a, b| (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let fours = |a, b| (_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b));
            let ((ab, ab2), (cd, cd2)) = (pairs(a, b), pairs(c, d));
            let ((ef, ef2), (gh, gh2)) = (pairs(e, f), pairs(g, h));
            // Of each: samples t (low half) and t + 4 (high half) of four channels.
            let ((low0, low1), (low2, low3)) = (fours(ab, cd), fours(ab2, cd2));
            let ((high0, high1), (high2, high3)) = (fours(ef, gh), fours(ef2, gh2));
            let (early, late) = out.split_at_mut(LANES / 2);
            for ((early, late), (low, high)) in
                early.iter_mut().zip(late).zip([(low0, high0), (low1, high1), (low2, high2), (low3, high3)])
            {
                store(early, _mm256_castps256_ps128(low), _mm256_castps256_ps128(high));
                store(late, _mm256_extractf128_ps::<1>(low), _mm256_extractf128_ps::<1>(high));
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn store(to: &mut Lanes, low: __m128, high: __m128) {
        // SAFETY: there is room for eight values.
        unsafe {
            _mm256_storeu_pd(to.as_mut_ptr(), _mm256_cvtps_pd(low));
            _mm256_storeu_pd(to.as_mut_ptr().add(LANES / 2), _mm256_cvtps_pd(high));
        }
    }
}

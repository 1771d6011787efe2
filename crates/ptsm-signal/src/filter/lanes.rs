//! Eight channels at once, with the widest vectors the processor has.
//!
//! Kernels are plain code over `[f64; L]`, compiled once for each instruction set; the compiler makes vectors of the lanes. Products
//! and sums are never fused, so every instruction set, and one channel alone, gives the same bytes.
#![allow(unsafe_code)] // calling a version that was compiled for what detection found

use super::sections::{Direction, State};
use super::{Resampler, Sections, fir};
use crate::eigen;

/// Channels in a group: one vector of AVX-512, two of AVX2, four of others.
pub(crate) const LANES: usize = 8;

/// Samples of a group of channels at one moment.
pub(crate) type Lanes = [f64; LANES];

/// Instructions this processor has. It can be made by detection only, which is what calls rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Isa(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Plain,
}

impl Isa {
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
        pub(crate) fn $name$(<const $lanes: usize>)?(isa: Isa, $($arg: $kind),*) {
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
            match isa.0 {
                // SAFETY: this value exists only where detection found AVX-512F.
                #[cfg(target_arch = "x86_64")]
                Kind::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: this value exists only where detection found AVX2.
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => unsafe { avx2($($arg),*) },
                Kind::Plain => $kernel($($arg),*),
            }
        }
    )*};
}

versions! {
    /// Filters channels in place and carries their states on.
    fn run[L](sections: &Sections, signal: &mut [[f64; L]], state: &mut [State<L>], direction: Direction) = Sections::run;

    /// Applies a filter to channels that reach half its length past the results at each end.
    fn centred[L](filter: &[f64], signal: &[[f64; L]], out: &mut [[f64; L]]) = fir::slide;

    /// Samples at the new rate, from `first` on.
    fn resample[L](resampler: &Resampler, signal: &[[f64; L]], level: &[f64; L], first: usize, out: &mut [[f64; L]]) = Resampler::fill;

    /// Makes a symmetric matrix tridiagonal.
    fn reduce(columns: &mut [f64], size: usize, stride: usize, diagonal: &mut [f64], beside: &mut [f64], factors: &mut [f64]) = eigen::reduce;

    /// The turn that made it so.
    fn unfold(columns: &[f64], size: usize, stride: usize, factors: &[f64], vectors: &mut [f64]) = eigen::unfold;

    /// A step towards the diagonal of several matrices.
    fn sweep(all: &mut eigen::Beside) = eigen::sweep;

    /// Rotates columns.
    fn rotate(columns: &mut [f64], stride: usize, last: usize, turns: &[[f64; 2]]) = eigen::rotate;

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

#[cfg(test)]
mod tests {
    use super::super::{
        Causal, Pass, Start, Window, both_ways, butterworth, firwin, forwards, without_delay, zero_phase,
    };
    use super::*;
    use std::array::from_fn;

    const SAMPLES: usize = 541;

    /// Channels that need no generator, each with an offset.
    fn channels() -> Vec<Vec<f32>> {
        let value = |c: usize, t: usize| {
            let (c, t) = (c as f32, t as f32);
            300.0 * c + (t * t * 0.013 + c).sin() * 40.0 + (t * 0.31).cos() * (1.0 + c)
        };
        (0..LANES).map(|c| (0..SAMPLES).map(|t| value(c, t)).collect()).collect()
    }

    /// The same side by side with room at both ends.
    fn group(isa: Isa, room: usize) -> Vec<Lanes> {
        let channels = channels();
        let mut all = vec![[f64::NAN; LANES]; SAMPLES + 2 * room];
        interleave(isa, from_fn(|l| &*channels[l]), &mut all[room..][..SAMPLES]);
        all
    }

    /// Compares bits with what each channel gives by itself.
    #[track_caller]
    fn same(got: &[Lanes], alone: impl Fn(&[f64]) -> Vec<f64>) {
        for (l, channel) in channels().iter().enumerate() {
            let channel: Vec<f64> = channel.iter().map(|&x| f64::from(x)).collect();
            let bits: Vec<u64> = got.iter().map(|x| x[l].to_bits()).collect();
            let want: Vec<u64> = alone(&channel).iter().map(|x| x.to_bits()).collect();
            assert_eq!(bits, want, "channel {l}");
        }
    }

    #[test]
    fn channels_come_side_by_side() {
        Isa::all().into_iter().for_each(|isa| same(&group(isa, 0), <[f64]>::to_vec));
    }

    #[test]
    fn recursive_filters_give_the_bytes_of_one_channel() {
        for isa in Isa::all() {
            for order in [1, 2, 3, 4, 5, 7, 8] {
                for pass in [Pass::Band(1.0, 40.0), Pass::High(0.5)] {
                    let sections = butterworth(order, pass, 160.0).unwrap();
                    let edge = sections.edge();
                    let mut both = group(isa, edge);
                    both_ways(isa, &sections, &mut both, edge);
                    same(&both[edge..][..SAMPLES], |x| zero_phase(&sections, x).unwrap());
                    let mut one_way = group(isa, 0);
                    forwards(isa, &sections, &mut one_way);
                    same(&one_way, |x| {
                        let mut x = x.to_vec();
                        Causal::new(sections.clone(), 1, Start::FirstSample).filter(&mut x).unwrap();
                        x
                    });
                }
            }
        }
    }

    #[test]
    fn windowed_sincs_give_the_bytes_of_one_channel() {
        for isa in Isa::all() {
            for taps in [1, 3, 101, 2 * SAMPLES - 1] {
                let filter = firwin(taps, Pass::Low(30.0), Window::Hamming, 160.0).unwrap();
                let (mut all, mut spare) = (group(isa, taps / 2), vec![[0.0; LANES]; SAMPLES]);
                without_delay(isa, &filter, &mut all, &mut spare);
                same(&all[taps / 2..][..SAMPLES], |x| fir::fir(&filter, x).unwrap());
            }
        }
    }

    #[test]
    fn any_samples_of_a_new_rate_are_those_of_all() {
        for isa in Isa::all() {
            for (up, down) in [(5, 8), (1, 4), (5, 4), (7, 1), (25, 128), (1, 3000)] {
                let resampler = Resampler::new(up, down).unwrap();
                let (signal, length) = (group(isa, 0), resampler.length(SAMPLES));
                for first in [0, 1, length / 3, length - 1] {
                    let mut out = vec![[0.0; LANES]; length - first];
                    resample(isa, &resampler, &signal, &[0.0; LANES], first, &mut out);
                    same(&out, |x| resampler.apply(x).split_off(first));
                }
                let level = signal[0];
                let mut out = vec![[0.0; LANES]; length];
                resample(isa, &resampler, &signal, &level, 0, &mut out);
                same(&out, |x| {
                    let less: Vec<f64> = x.iter().map(|v| v - x[0]).collect();
                    resampler.apply(&less).iter().map(|v| v + x[0]).collect()
                });
            }
        }
    }

    #[test]
    fn quotients_are_rounded_once() {
        let values = channels().concat();
        let want: Vec<f32> = values.iter().map(|&x| (f64::from(x) / 7.3) as f32).collect();
        for isa in Isa::all() {
            let mut out = values.clone();
            divide(isa, &mut out, 7.3);
            assert_eq!(out, want);
        }
    }
}

//! The kernels of filters, compiled for each instruction set.
#![allow(unsafe_code)] // calling a version that was compiled for what detection found

use super::sections::{Direction, State};
use super::{Resampler, Sections, fir};
use crate::lanes::versions;

versions! {
    /// Filters channels in place and carries their states on.
    fn run[L](sections: &Sections, signal: &mut [[f64; L]], state: &mut [State<L>], direction: Direction) = Sections::run;

    /// Applies a filter to channels that reach half its length past the results at each end.
    fn centred[L](filter: &[f64], signal: &[[f64; L]], out: &mut [[f64; L]]) = fir::slide;

    /// Samples at the new rate, from `first` on.
    fn resample[L](resampler: &Resampler, signal: &[[f64; L]], level: &[f64; L], first: usize, out: &mut [[f64; L]]) = Resampler::fill;
}

#[cfg(test)]
mod tests {
    use super::super::{
        CausalFilter, FilterStart, Pass, WindowFunction, both_ways, butterworth, firwin, forwards,
        zero_phase, zero_phase_fir,
    };
    use super::*;
    use crate::lanes::{Isa, LANES, Lanes, divide, interleave};
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
                        CausalFilter::new(sections.clone(), 1, FilterStart::FirstSample)
                            .filter(&mut x)
                            .unwrap();
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
                let filter = firwin(taps, Pass::Low(30.0), WindowFunction::Hamming, 160.0).unwrap();
                let (mut all, mut spare) = (group(isa, taps / 2), vec![[0.0; LANES]; SAMPLES]);
                zero_phase_fir(isa, &filter, &mut all, &mut spare);
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

//! What a subject's signals are like, whatever a decoder makes of them: where their power is, and how many trials have artefacts.

use std::f64::consts::PI;

use nalgebra::DMatrix;
use ptsm_signal::{SubjectId, Subset};
use serde::{Deserialize, Serialize};

/// The usual bands of EEG and where they lie, in hertz.
pub const BANDS: [(&str, [f64; 2]); 5] = [
    ("delta", [1.0, 4.0]),
    ("theta", [4.0, 8.0]),
    ("alpha", [8.0, 13.0]),
    ("beta", [13.0, 30.0]),
    ("gamma", [30.0, 45.0]),
];

/// A sample so many robust standard deviations away from the channel's median is no ordinary EEG: of normal values one in a
/// billion is.
pub const EXTREME: f64 = 6.0;

/// One subject's signals as the decoder gets them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signals {
    /// Whose.
    pub subject: SubjectId,
    /// How many trials there are.
    pub trials: usize,
    /// Share of the power between the lowest and the highest band that each of [`BANDS`] has, the mean over channels and trials; not a number
    /// where no frequency of a trial lies in the band.
    pub shares: Vec<f64>,
    /// Share of trials with a sample beyond [`EXTREME`].
    pub extreme: f64,
}

/// The signals of all subjects, in the order of their numbers. Scaling of trials cancels out: all of it is relative.
pub fn signals(subjects: &Subset<'_>) -> Vec<Signals> {
    let layout = subjects.layout();
    let bins = bins(layout.samples, layout.rate_hz);
    let table = table(layout.samples, &bins);
    let of = |subject| {
        let own = subjects.only(|t| t.subject == subject);
        Signals {
            subject,
            trials: own.len(),
            shares: shares(&own, &table, &bins, layout.rate_hz / layout.samples as f64),
            extreme: extreme(&own),
        }
    };
    subjects.subjects().into_iter().map(of).collect()
}

/// The frequencies of a trial's spectrum that lie in a band, as numbers of waves in it.
fn bins(samples: usize, rate_hz: f64) -> Vec<usize> {
    let (low, high) = (BANDS[0].1[0], BANDS[BANDS.len() - 1].1[1]);
    let waves = |hz: f64| hz * samples as f64 / rate_hz;
    (1..samples / 2).filter(|&k| (k as f64) >= waves(low) && (k as f64) < waves(high)).collect()
}

/// Cosines and sines of each of them under a Hann window, `[T, 2 F]`.
fn table(samples: usize, bins: &[usize]) -> DMatrix<f64> {
    DMatrix::from_fn(samples, 2 * bins.len(), |t, column| {
        let at = 2.0 * PI * t as f64 / samples as f64;
        let wave = bins[column / 2] as f64 * at;
        let hann = 0.5 - 0.5 * at.cos();
        hann * if column % 2 == 0 { wave.cos() } else { wave.sin() }
    })
}

fn shares(own: &Subset<'_>, table: &DMatrix<f64>, bins: &[usize], hz_per_bin: f64) -> Vec<f64> {
    let samples = table.nrows();
    let mut power = vec![0.0; bins.len()];
    for signal in own.signals() {
        let channels = signal.len() / samples;
        // Columns are channels: `[T, C]` as it lies in memory. Without its mean no channel leaks into the lowest band.
        let mut x = DMatrix::from_iterator(samples, channels, signal.iter().map(|v| f64::from(*v)));
        for mut channel in x.column_iter_mut() {
            let mean = channel.mean();
            channel.add_scalar_mut(-mean);
        }
        let waves = table.tr_mul(&x);
        for channel in waves.column_iter() {
            for (bin, power) in power.iter_mut().enumerate() {
                *power += channel[2 * bin].powi(2) + channel[2 * bin + 1].powi(2);
            }
        }
    }
    let total: f64 = power.iter().sum();
    let share = |[low, high]: [f64; 2]| {
        let inside = bins.iter().zip(&power).filter(|(k, _)| {
            let hz = **k as f64 * hz_per_bin;
            (low..high).contains(&hz)
        });
        let (mut any, mut sum) = (false, 0.0);
        inside.for_each(|(_, power)| (any, sum) = (true, sum + power));
        if any && total > 0.0 { sum / total } else { f64::NAN }
    };
    BANDS.iter().map(|(_, band)| share(*band)).collect()
}

/// The share of trials with a sample far away from its channel's median.
fn extreme(own: &Subset<'_>) -> f64 {
    let samples = own.layout().samples;
    let mut beyond = vec![false; own.len()];
    for channel in 0..own.layout().channels.len() {
        let at = channel * samples..(channel + 1) * samples;
        // Every seventh sample tells the median and its spread as well as all of them.
        let mut some: Vec<f32> =
            own.signals().flat_map(|s| s[at.clone()].iter().step_by(7).copied()).collect();
        let Some(middle) = median(&mut some) else { return f64::NAN };
        some.iter_mut().for_each(|v| *v = (*v - middle).abs());
        let Some(spread) = median(&mut some) else { return f64::NAN };
        let limit = EXTREME as f32 * 1.4826 * spread;
        for (beyond, signal) in beyond.iter_mut().zip(own.signals()) {
            *beyond |= signal[at.clone()].iter().any(|v| (v - middle).abs() > limit);
        }
    }
    beyond.iter().filter(|beyond| **beyond).count() as f64 / own.len() as f64
}

fn median(values: &mut [f32]) -> Option<f32> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, f32::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, Layout, Trial, Trials};

    use super::*;

    /// Two trials of one subject: a sine of this frequency, and noise; the second trial may jump.
    fn trials(hz: f64, jump: f32) -> Trials {
        let (samples, rate) = (320, 160.0);
        let layout = Layout {
            channels: vec![Channel { name: "Cz".into(), unit: Default::default(), position: None }],
            samples,
            rate_hz: rate,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        let wave = |t: usize| (2.0 * PI * hz * t as f64 / rate).sin() as f32;
        let mut x: Vec<f32> = (0..2 * samples).map(|i| wave(i % samples) + 3.0).collect();
        x[500] += jump;
        let trial = |label| Trial { label, subject: SubjectId(4), session: 1, run: 1, cue_s: 0.0 };
        Trials::new(layout, x, vec![trial(0), trial(1)]).unwrap()
    }

    #[test]
    fn a_sine_is_in_its_band() {
        for (hz, band) in [(2.0, 0), (6.0, 1), (10.0, 2), (20.0, 3), (40.0, 4)] {
            let found = signals(&trials(hz, 0.0).all());
            assert_eq!((found.len(), found[0].subject, found[0].trials), (1, SubjectId(4), 2));
            assert!(found[0].shares[band] > 0.99, "{hz} Hz: {:?}", found[0].shares);
            assert!((found[0].shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_jump_makes_one_trial_of_two_extreme() {
        assert_eq!(signals(&trials(10.0, 0.0).all())[0].extreme, 0.0);
        assert_eq!(signals(&trials(10.0, 50.0).all())[0].extreme, 0.5);
    }
}

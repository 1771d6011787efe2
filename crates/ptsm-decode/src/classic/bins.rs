//! The course of a response in coarse steps: means of each channel over windows after the cue.

use ptsm_signal::Layout;

use crate::error::{Error, Result};

/// Windows of a trial, in samples.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeBins {
    /// Where each begins, and the last ends.
    edges: Vec<usize>,
}

impl TimeBins {
    /// Windows of `bin_s` seconds one after the other, between two moments after the cue; what does not fill a window is left out. Where
    /// a window is not a whole number of samples, some have one more than others.
    pub fn new(layout: &Layout, from_s: Option<f64>, to_s: Option<f64>, bin_s: f64) -> Result<TimeBins> {
        let end_s = layout.start_s + layout.samples as f64 / layout.rate_hz;
        let (from_s, to_s) = (from_s.unwrap_or(layout.start_s), to_s.unwrap_or(end_s));
        let sample = |s: f64| ((s - layout.start_s) * layout.rate_hz).round();
        let (first, last, each) = (sample(from_s), sample(to_s), bin_s * layout.rate_hz);
        if !(0.0 <= first && first < last && last <= layout.samples as f64) {
            return Err(Error::Configuration(format!(
                "features from {from_s} s to {to_s} s do not lie in trials from {} s to {end_s} s after the cue",
                layout.start_s
            )));
        }
        if !(1.0 <= each && each <= last - first) {
            return Err(Error::Configuration(format!(
                "a bin of {bin_s} s does not fit between one sample at {} Hz and the {} s there are",
                layout.rate_hz,
                to_s - from_s
            )));
        }
        // Rounding must not lose the last one.
        let count = ((last - first) / each + 1e-9).floor() as usize;
        Ok(TimeBins { edges: (0..=count).map(|k| (first + k as f64 * each).round() as usize).collect() })
    }

    /// Number of features: bins of all channels.
    pub fn length(&self, channels: usize) -> usize {
        channels * (self.edges.len() - 1)
    }

    /// The mean of each channel in each bin, `[C, bins]`, from a trial `[C, T]`.
    pub fn features<S: Copy + Into<f64>>(&self, signal: &[S], channels: usize) -> Vec<f64> {
        let mean = |bin: &[S]| bin.iter().map(|&v| v.into()).sum::<f64>() / bin.len() as f64;
        signal
            .chunks_exact(signal.len() / channels)
            .flat_map(|row| self.edges.windows(2).map(move |edge| mean(&row[edge[0]..edge[1]])))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use ptsm_signal::Channel;

    use super::*;

    fn layout() -> Layout {
        let channels = ["C3", "C4"].map(Channel::named).to_vec();
        Layout {
            channels,
            samples: 10,
            rate_hz: 10.0,
            start_s: -0.2,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        }
    }

    #[test]
    fn bins_are_means_of_whole_windows() {
        let signal: Vec<f32> = (0..20).map(|i| i as f32).collect();
        let all = TimeBins::new(&layout(), None, None, 0.3).unwrap();
        assert_eq!(all.features(&signal, 2), [1.0, 4.0, 7.0, 11.0, 14.0, 17.0]);
        assert_eq!(all.length(2), 6);
        let odd = TimeBins::new(&layout(), None, None, 0.25).unwrap();
        assert_eq!(odd.features(&signal, 2), [1.0, 3.5, 6.0, 8.5, 11.0, 13.5, 16.0, 18.5]);
        let after = TimeBins::new(&layout(), Some(0.0), Some(0.4), 0.2).unwrap();
        assert_eq!(after.features(&signal, 2), [2.5, 4.5, 12.5, 14.5]);
    }

    #[test]
    fn windows_outside_the_trial_are_refused() {
        let refused = |from, to, bin| TimeBins::new(&layout(), from, to, bin).unwrap_err().to_string();
        assert!(refused(Some(-0.5), None, 0.1).contains("-0.5 s"));
        assert!(refused(None, Some(0.9), 0.1).contains("0.9 s"));
        assert!(refused(Some(0.5), Some(0.5), 0.1).contains("0.5 s"));
        assert!(refused(None, None, 0.01).contains("0.01 s") && refused(None, None, 2.0).contains("2 s"));
        assert!(refused(None, None, f64::NAN).contains("NaN"));
    }
}

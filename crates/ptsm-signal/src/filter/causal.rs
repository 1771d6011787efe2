//! Filtering as samples come, with a state that is carried on, as `scipy.signal.sosfilt` does.

use super::Sections;
use super::sections::{Direction, State};
use super::versions;
use crate::error::{Error, Result};
use crate::lanes::Isa;

/// What a causal filter assumes before the first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterStart {
    /// Silence.
    Zero,
    /// That the first sample had been there for ever, so that an offset makes no transient.
    FirstSample,
}

/// A causal filter of some channels. Chunk by chunk it gives the same bytes as all at once.
#[derive(Clone, Debug)]
pub struct CausalFilter {
    sections: Sections,
    start: FilterStart,
    /// `[channel][section]`; empty before the first sample.
    state: Vec<State<1>>,
    channels: usize,
}

impl CausalFilter {
    /// A filter in its initial state.
    pub fn new(sections: Sections, channels: usize, start: FilterStart) -> CausalFilter {
        CausalFilter { sections, start, state: Vec::new(), channels }
    }

    /// Forgets all that came before.
    pub fn reset(&mut self) {
        self.state.clear();
    }

    /// Filters the next samples in place.
    ///
    /// # Shapes
    /// `chunk` is `[C, n]`, one channel after the other; n may differ from chunk to chunk.
    pub fn filter(&mut self, chunk: &mut [f64]) -> Result<()> {
        if self.channels == 0 || !chunk.len().is_multiple_of(self.channels) {
            let (n, channels) = (chunk.len(), self.channels);
            return Err(Error::data("chunk", format!("{n} samples cannot belong to {channels} channels")));
        }
        let samples = chunk.len() / self.channels;
        if samples == 0 {
            return Ok(());
        }
        if self.state.is_empty() {
            for channel in chunk.chunks_exact(samples) {
                let level = if self.start == FilterStart::Zero { 0.0 } else { channel[0] };
                self.state.extend(self.sections.settled(&[level]));
            }
        }
        let states = self.state.chunks_exact_mut(self.sections.as_slice().len());
        for (channel, state) in chunk.chunks_exact_mut(samples).zip(states) {
            self.sections.run(channel.as_chunks_mut::<1>().0, state, Direction::Forwards);
        }
        Ok(())
    }
}

/// Filters channels from their first sample on, as if it had been there for ever.
pub(crate) fn forwards<const L: usize>(isa: Isa, sections: &Sections, signal: &mut [[f64; L]]) {
    let Some(first) = signal.first() else { return };
    let mut state = sections.settled(first);
    versions::run(isa, sections, signal, &mut state, Direction::Forwards);
}

#[cfg(test)]
mod tests {
    use super::super::{Pass, butterworth};
    use super::*;

    /// Two channels of noise that need no generator, with an offset.
    fn noise(samples: usize) -> Vec<f64> {
        let value = |i: usize| 100.0 + ((i * i) as f64 * 0.7).sin() * ((i as f64) * 0.31).cos();
        (0..2 * samples).map(value).collect()
    }

    #[test]
    fn chunks_give_the_bytes_of_the_whole() {
        for (order, pass) in [(1, Pass::High(0.5)), (4, Pass::Band(8.0, 30.0)), (7, Pass::Low(40.0))] {
            for start in [FilterStart::Zero, FilterStart::FirstSample] {
                let mut filter = CausalFilter::new(butterworth(order, pass, 250.0).unwrap(), 2, start);
                let signal = noise(500);
                let mut whole = signal.clone();
                filter.filter(&mut whole).unwrap();
                filter.reset();
                let (mut at, mut pieces) = (0, [Vec::new(), Vec::new()]);
                for n in [1, 0, 2, 3, 7, 64, 100, 323] {
                    let mut chunk = [&signal[at..at + n], &signal[500 + at..500 + at + n]].concat();
                    filter.filter(&mut chunk).unwrap();
                    pieces[0].extend_from_slice(&chunk[..n]);
                    pieces[1].extend_from_slice(&chunk[n..]);
                    at += n;
                }
                assert_eq!(pieces.concat(), whole);
            }
        }
    }

    #[test]
    fn an_offset_makes_no_transient_when_the_filter_starts_from_it() {
        let sections = butterworth(4, Pass::Band(8.0, 30.0), 160.0).unwrap();
        let mut constant = vec![250.0; 50];
        CausalFilter::new(sections.clone(), 1, FilterStart::FirstSample).filter(&mut constant).unwrap();
        assert!(constant.iter().all(|v| v.abs() < 1e-9));
        let mut constant = vec![250.0; 50];
        CausalFilter::new(sections, 1, FilterStart::Zero).filter(&mut constant).unwrap();
        assert!(constant.iter().any(|v| v.abs() > 10.0));
    }

    #[test]
    fn samples_of_no_whole_channel_are_refused() {
        let sections = butterworth(2, Pass::Low(30.0), 160.0).unwrap();
        assert!(CausalFilter::new(sections.clone(), 2, FilterStart::Zero).filter(&mut [0.0; 3]).is_err());
        assert!(CausalFilter::new(sections, 0, FilterStart::Zero).filter(&mut []).is_err());
    }
}

//! A continuous recording. It has no room for names and dates of people.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::montage::Channel;

/// Something that happened while recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// First sample it belongs to.
    pub sample: usize,
    /// What it means: a class, `T1`.
    pub code: String,
    /// How long it lasts; 0 where only its beginning is known.
    pub samples: usize,
}

/// Samples of some channels with the events among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Samples per second.
    pub rate_hz: f64,
    /// Electrodes and other signals.
    pub channels: Vec<Channel>,
    /// `[C, N]`, one channel after the other.
    pub samples: Vec<f32>,
    /// In time order.
    pub events: Vec<Event>,
    /// First samples after a gap, ascending: nothing is filtered or cut across them.
    pub breaks: Vec<usize>,
}

impl Recording {
    /// Checks that the parts fit.
    pub fn new(
        rate_hz: f64,
        channels: Vec<Channel>,
        samples: Vec<f32>,
        events: Vec<Event>,
    ) -> Result<Recording> {
        let recording = Recording { rate_hz, channels, samples, events, breaks: vec![] };
        recording.check()?;
        Ok(recording)
    }

    /// The same with gaps in front of some samples.
    pub fn with_breaks(self, breaks: Vec<usize>) -> Result<Recording> {
        let recording = Recording { breaks, ..self };
        recording.check()?;
        Ok(recording)
    }

    /// Whether the parts fit: they may have been changed since.
    pub(crate) fn check(&self) -> Result<()> {
        let Recording { rate_hz, channels, samples, events, breaks } = self;
        if !(rate_hz.is_finite() && *rate_hz > 0.0) {
            return Err(Error::data("recording", format!("a sampling rate of {rate_hz} Hz is not possible")));
        }
        if channels.is_empty() || !samples.len().is_multiple_of(channels.len()) {
            let (n, c) = (samples.len(), channels.len());
            return Err(Error::data("recording", format!("{n} samples cannot belong to {c} channels")));
        }
        let length = samples.len() / channels.len();
        if let Some(event) = events.iter().find(|e| e.sample >= length) {
            let (code, sample) = (&event.code, event.sample);
            return Err(Error::data(
                format!("event `{code}`"),
                format!("begins at sample {sample} of {length}"),
            ));
        }
        if !breaks.is_sorted_by(|a, b| a < b)
            || breaks.first() == Some(&0)
            || breaks.last().is_some_and(|&b| b >= length)
        {
            return Err(Error::data(
                "recording",
                format!("gaps in front of samples {breaks:?} of {length} are not possible"),
            ));
        }
        Ok(())
    }

    /// The segments without a gap, as ranges of samples.
    pub fn segments(&self) -> Vec<Range<usize>> {
        let starts = std::iter::once(0).chain(self.breaks.iter().copied());
        let ends = self.breaks.iter().copied().chain(std::iter::once(self.length()));
        starts.zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Samples per channel, N.
    pub fn length(&self) -> usize {
        self.samples.len() / self.channels.len()
    }

    /// One channel's samples.
    pub fn channel(&self, channel: usize) -> &[f32] {
        let n = self.length();
        &self.samples[channel * n..][..n]
    }
}

//! Trials: one matrix `[C, T]` each.

use crate::cursor::DAMAGED;
use crate::eeglab::samples;
use crate::error::{Error, Place, Result};
use crate::limit::few_enough;
use crate::mat::{MatFile, Outline, Value};
use crate::recording_file::Samples;

/// More than any amplifier has.
const MOST_CHANNELS: usize = 1 << 16;

/// Trials of one length, or a single one.
pub(super) struct Trials {
    matrices: Vec<Box<dyn Samples>>,
    pub(super) channels: usize,
    /// Samples of each.
    pub(super) samples: usize,
    pub(super) rate_hz: f64,
    /// The first sample, in seconds after the cue.
    pub(super) start_s: f64,
    /// What the numbers of each channel are multiplied by.
    factors: Vec<f32>,
}

impl Trials {
    pub(super) fn new(
        record: &Value,
        outlines: Vec<Outline>,
        file: &MatFile,
        place: &Place,
    ) -> Result<Trials> {
        let refuse = |message: String, hint: &str| Err(Error::format(place, message).with_hint(hint));
        const RAW: &str = "save what `ft_preprocessing` makes, or make it of this: \
                           ft_checkdata(data, 'datatype', 'raw')";
        let Some(cells) = record.field("trial").and_then(Value::cells) else {
            return refuse("`trial` is no cell array of trials".into(), RAW);
        };
        few_enough(cells.len(), "trials", place)?;
        let [first, ..] = &outlines[..] else {
            return refuse("holds no samples: `trial` is empty".into(), "save the recording with its data");
        };
        if cells.len() != outlines.len() {
            let empty = cells.len() - outlines.len().min(cells.len());
            return refuse(format!("{empty} of {} trials hold no samples", cells.len()), "leave them out");
        }
        let &[channels, samples] = &first.dims[..] else {
            return refuse(format!("a trial has the sizes {:?}; two are expected", first.dims), RAW);
        };
        if channels == 0 || samples == 0 || channels > MOST_CHANNELS {
            return refuse(format!("a trial has {samples} samples of {channels} channels"), RAW);
        }
        if let Some(other) =
            outlines.iter().find(|outline| outline.dims.len() != 2 || outline.dims[0] != channels)
        {
            let message = format!("a trial has the sizes {:?}, the first one {:?}", other.dims, first.dims);
            return refuse(message, DAMAGED);
        }
        let lengths = || outlines.iter().map(|outline| outline.dims[1]);
        if lengths().any(|length| length != samples) {
            let (least, most) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
            let message =
                format!("its {} trials have {least} to {most} samples: not one length", cells.len());
            return refuse(
                message,
                "cut them to one length (`ft_redefinetrial` with `cfg.toilim`), or save the continuous recording",
            );
        }
        let times = starts(record, samples, cells.len(), place)?;
        let rate_hz = [record.field("fsample"), record.field("hdr").and_then(|hdr| hdr.field("Fs"))]
            .into_iter()
            .find_map(|field| field.and_then(Value::number))
            .or_else(|| times.first().and_then(|time| time.rate_hz(samples)));
        let Some(rate_hz) = rate_hz.filter(|rate| rate.is_finite() && *rate > 0.0) else {
            return refuse(
                "does not say how many samples a second has: `fsample`".into(),
                "set `data.fsample` and save it again",
            );
        };
        let start_s = times.first().map_or(0.0, |time| time.first_s);
        if let Some(other) = times.iter().find(|time| (time.first_s - start_s).abs() * rate_hz > 0.5) {
            let message = format!(
                "its trials begin at different times after the cue: {start_s} s and {} s",
                other.first_s
            );
            return refuse(message, "cut them to one window (`ft_redefinetrial` with `cfg.toilim`)");
        }
        let matrices = outlines.into_iter().map(|outline| samples::of(outline, file, place)).collect();
        Ok(Trials { matrices, channels, samples, rate_hz, start_s, factors: vec![1.0; channels] })
    }

    pub(super) fn count(&self) -> usize {
        self.matrices.len()
    }

    pub(super) fn is_epoched(&self) -> bool {
        self.count() > 1
    }

    /// Samples of all trials.
    pub(super) fn length(&self) -> usize {
        self.samples.saturating_mul(self.count())
    }

    /// The same with other factors, one for each channel.
    pub(super) fn scaled(self, factors: Vec<f32>) -> Trials {
        Trials { factors, ..self }
    }
}

/// The times of a trial.
struct Time {
    first_s: f64,
    last_s: f64,
}

impl Time {
    /// Samples per second, of so many samples.
    fn rate_hz(&self, samples: usize) -> Option<f64> {
        let rate_hz = (samples.checked_sub(1)?) as f64 / (self.last_s - self.first_s);
        let whole_hz = rate_hz.round();
        Some(if (rate_hz - whole_hz).abs() <= 1e-6 * rate_hz { whole_hz } else { rate_hz })
    }
}

/// First and last time of each trial; one of all where the file has one.
fn starts(record: &Value, samples: usize, count: usize, place: &Place) -> Result<Vec<Time>> {
    let refuse = |message: String| {
        Err(Error::format(place, message)
            .with_hint("`time` is a cell array with the seconds of each trial's samples"))
    };
    let time = match record.field("time") {
        Some(Value::Cell { values, .. }) if values.len() == count => values,
        Some(value) if value.cells().is_none() && value.count() == samples => std::slice::from_ref(value),
        _ => return refuse(format!("`time` does not fit {count} trials")),
    };
    let mut times = vec![];
    for time in time {
        match time.vector().as_deref() {
            Some(seconds @ [first_s, .., last_s]) | Some(seconds @ [first_s @ last_s])
                if seconds.len() == samples && first_s.is_finite() && last_s.is_finite() =>
            {
                times.push(Time { first_s: *first_s, last_s: *last_s });
            }
            _ => return refuse(format!("`time` does not fit trials of {samples} samples")),
        }
    }
    Ok(times)
}

impl Samples for Trials {
    fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> Result<()> {
        let n = to.len() / signals.len();
        let mut done = 0;
        let mut part = vec![];
        while done < n {
            let (trial, t) = ((first + done) / self.samples, (first + done) % self.samples);
            let count = (self.samples - t).min(n - done);
            part.resize(count * signals.len(), 0.0);
            self.matrices[trial].read(signals, t, &mut part)?;
            for ((row, from), &signal) in to.chunks_exact_mut(n).zip(part.chunks_exact(count)).zip(signals) {
                let factor = self.factors[signal];
                row[done..][..count].iter_mut().zip(from).for_each(|(to, from)| *to = from * factor);
            }
            done += count;
        }
        Ok(())
    }
}

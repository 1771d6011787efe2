//! What can still be done to arrays that are trials already.

use super::Pipeline;
use super::grid::{Grid, Span};
use super::selection::{Selection, against};
use crate::error::{Error, Result};
use crate::trials::{Layout, Trials};

impl Pipeline {
    /// Applies to trials what does not need the recording around them: pick, reference, window, baseline, ocular regression (over
    /// all trials of a subject and session), the band of each epoch and scaling. Trials are cropped to `window_s` where it lies
    /// inside them, and keep their own window where it does not. A notch, a band or another rate is refused: at the edges of a
    /// trial filters see nothing. Who accepts that says `epoch_band`.
    pub fn finish(&self, trials: Trials) -> Result<Trials> {
        self.check()?;
        let layout = trials.layout();
        self.refuse_filters(layout)?;
        let selection = Selection::new(self, &layout.channels)?;
        let length = layout.samples;
        let cue = (-layout.start_s * layout.rate_hz).round() as i64;
        let grid = self.grid_inside(layout, cue)?;

        let (channels, samples) = (selection.processed.len(), grid.window.samples);
        let mut x = vec![0.0; trials.len() * channels * samples];
        for (row, out) in x.chunks_exact_mut(channels * samples).enumerate() {
            let signal = trials.signal(row);
            let reference = selection.reference(signal, length);
            for (&channel, out) in selection.processed.iter().zip(out.chunks_exact_mut(samples)) {
                let channel = against(&signal[channel * length..][..length], reference.as_deref());
                grid.copy(channel.as_chunks::<1>().0, cue, out);
            }
        }
        let domains = trials.info().iter().map(|trial| (trial.subject, trial.session));
        let x = self.process_epochs(&selection, x, samples, layout.rate_hz, domains)?;
        // The first sample need not be a whole number of samples away from the cue.
        let remainder = layout.start_s * layout.rate_hz + cue as f64;
        let layout = Layout {
            channels: selection.channels(&layout.channels),
            samples,
            start_s: (grid.window.first as f64 + remainder) / layout.rate_hz,
            ..layout.clone()
        };
        Trials::new(layout, x, trials.info().to_vec())
    }

    /// Whether the window lies inside trials like these, so that [`Pipeline::finish`] crops them to it.
    pub fn window_inside(&self, layout: &Layout) -> Result<bool> {
        let cue = (-layout.start_s * layout.rate_hz).round() as i64;
        Ok(Grid::new(self, layout.rate_hz)?.window.place(cue, layout.samples).is_some())
    }

    fn refuse_filters(&self, layout: &Layout) -> Result<()> {
        let rate = self.rate_hz.filter(|rate| (rate - layout.rate_hz).abs() > 1e-6 * layout.rate_hz);
        let what = match (self.notch_hz, self.band, rate) {
            (Some(_), _, _) => "notch filter".to_string(),
            (_, Some(_), _) => "band filter".to_string(),
            (_, _, Some(rate)) => format!("change of rate from {} Hz to {rate} Hz", layout.rate_hz),
            (None, None, None) => return Ok(()),
        };
        Err(Error::pipeline(format!("a {what} cannot be applied to epochs")).with_hint(
            "filter and resample the recording before epoching it, and leave `notch_hz`, `band` and `rate_hz` out here; `epoch_band` \
             filters each epoch by itself, edges and all",
        ))
    }

    /// The window that is left of the trials, and the baseline, which must lie inside them.
    fn grid_inside(&self, layout: &Layout, cue: i64) -> Result<Grid> {
        let mut grid = Grid::new(self, layout.rate_hz)?;
        if grid.window.place(cue, layout.samples).is_none() {
            grid.window = Span { first: cue.saturating_neg(), samples: layout.samples };
        }
        if grid.fits(cue, layout.samples) {
            return Ok(grid);
        }
        let (start, end) = (layout.start_s, layout.start_s + layout.samples as f64 / layout.rate_hz);
        let [from, to] = self.baseline_s.unwrap_or(self.window_s);
        Err(Error::pipeline(format!(
            "the baseline from {from} s to {to} s is not inside the trials, {start} s to {end} s"
        ))
        .with_hint("choose a baseline inside the trials, or none"))
    }
}

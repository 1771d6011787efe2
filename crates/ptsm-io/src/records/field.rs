//! What a header says about one signal.

use super::{Lane, Ranges, Scale, Value};
use crate::kind::kind_of;
use crate::recording_file::{SignalHeader, SignalKind};
use crate::unit::voltage;

/// One signal of a file of records.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) label: String,
    /// What the file counts in; empty where it says nothing.
    pub(crate) unit: String,
    pub(crate) ranges: Ranges,
    /// How one sample is stored.
    pub(crate) value: Value,
    /// Samples per record.
    pub(crate) samples: usize,
    /// Its first byte in a record.
    pub(crate) offset: usize,
}

impl Field {
    /// Where the field after it begins. Too large for any file where a number is absurd.
    pub(crate) fn end(&self) -> usize {
        self.offset.saturating_add(self.samples.saturating_mul(self.value.width()))
    }

    /// How many of the unit samples come in are in one of the file's unit, and whether those are microvolts. Triggers are no
    /// voltage, whatever the file says.
    fn factor(&self) -> (f64, bool) {
        match voltage(&self.unit) {
            Some((_, factor)) if kind_of(&self.label, &self.unit) != SignalKind::Stimulus => (factor, true),
            _ => (1.0, false),
        }
    }

    /// The signal, of so many records of a length.
    pub(crate) fn signal(&self, records: usize, record_s: f64) -> SignalHeader {
        let (factor, microvolts) = self.factor();
        SignalHeader {
            kind: kind_of(&self.label, &self.unit),
            unit: voltage(&self.unit).map_or(&*self.unit, |(name, _)| name).to_string(),
            microvolts,
            range: self.ranges.values(factor),
            ..SignalHeader::new(&*self.label, rate_hz(self.samples, record_s), records * self.samples)
        }
    }

    /// Where its samples lie. `strict`: whole numbers outside of the digital range are missing.
    pub(crate) fn lane(&self, strict: bool) -> Lane {
        let (factor, _) = self.factor();
        let scale = match self.ranges.scale(factor) {
            Some(scale) if strict && self.value.whole() => scale.within(self.ranges.digital),
            Some(scale) => scale,
            None => Scale::plain(factor),
        };
        Lane { offset: self.offset, samples: self.samples, value: self.value, scale }
    }
}

/// Samples per second. 7 samples in 0.07 s are 100 Hz, not the next number below.
pub(crate) fn rate_hz(samples: usize, record_s: f64) -> f64 {
    let rate_hz = samples as f64 / record_s;
    let whole_hz = rate_hz.round();
    if (rate_hz - whole_hz).abs() <= 1e-12 * rate_hz { whole_hz } else { rate_hz }
}

/// Leaves signals without samples out and says what is odd about the others.
pub(crate) fn sort_out(fields: &mut Vec<Field>, notes: &mut Vec<String>) {
    let mut empty = vec![];
    fields.retain(|field| {
        if field.samples == 0 {
            empty.push(field.label.clone());
        }
        field.samples > 0
    });
    if !empty.is_empty() {
        notes.push(format!("{} without samples: left out", few(empty.iter().map(|label| &**label))));
    }
    let unscaled: Vec<&str> =
        fields.iter().filter(|field| field.ranges.scale(1.0).is_none()).map(|field| &*field.label).collect();
    if !unscaled.is_empty() {
        let names = few(unscaled.into_iter());
        notes.push(format!("the header gives no range for {names}: samples are the stored numbers"));
    }
}

/// A few names for a note: `C3`, `C4` and 12 more.
fn few<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 3;
    let more = names.len().saturating_sub(SHOWN);
    let shown: Vec<String> = names.take(SHOWN).map(|name| format!("`{name}`")).collect();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rates_are_whole() {
        assert_ne!(std::hint::black_box(7.0) / 0.07, 100.0);
        assert_eq!(rate_hz(7, 0.07), 100.0);
        assert_eq!(rate_hz(160, 1.0), 160.0);
        assert_eq!(rate_hz(1000, 3.0), 1000.0 / 3.0);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(few(["a"].into_iter()), "`a`");
        assert_eq!(few(["a", "b", "c", "d", "e"].into_iter()), "`a`, `b`, `c` and 2 more");
    }
}

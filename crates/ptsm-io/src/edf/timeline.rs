//! Which moment is which sample.

use super::annotations::Annotations;
use super::header::Head;
use crate::error::{Place, Result};
use crate::limit::few_enough;
use crate::recording_file::{Annotation, Segment, SignalHeader, main_of};

/// Segments of records that follow one another.
pub(super) struct Timeline {
    /// When the first sample was, on the clock of the annotations.
    pub(super) zero_s: f64,
    /// In the file's order, at the rate most signals have.
    pub(super) segments: Vec<Segment>,
    /// The same by their beginnings: a damaged file may go back in time.
    by_start: Vec<Segment>,
    rate_hz: f64,
    /// Samples of a record at that rate.
    per_record: usize,
    record_s: f64,
}

impl Timeline {
    pub(super) fn new(
        head: &Head,
        signals: &[SignalHeader],
        annotations: &Annotations,
        place: &Place,
        notes: &mut Vec<String>,
    ) -> Result<Timeline> {
        let &Head { records, record_s, gaps, .. } = head;
        let main = main_of(signals).first().map(|&i| &signals[i]);
        let (rate_hz, per_record) = main.map_or((1.0, 0), |main| (main.rate_hz, main.samples / records));
        let starts_s = &annotations.starts_s;
        let zero_s = starts_s.first().copied().flatten().unwrap_or(0.0);
        let start_s = |record: usize| starts_s.get(record).copied().flatten().map(|start_s| start_s - zero_s);

        let mut segments = vec![];
        if gaps {
            let silent = (0..records).filter(|&record| start_s(record).is_none()).count();
            if silent > 0 {
                notes.push(format!(
                    "{silent} of {records} records do not say when they begin: as if they followed at once"
                ));
            }
            let mut next_s = 0.0;
            for record in 0..records {
                let start_s = start_s(record).unwrap_or(next_s);
                match segments.last_mut() {
                    Some(Segment { samples, .. }) if (start_s - next_s).abs() < 0.5 / rate_hz => {
                        *samples += per_record;
                    }
                    _ => {
                        few_enough(segments.len() + 1, "segments between gaps", place)?;
                        segments.push(Segment { start_s, first: record * per_record, samples: per_record });
                    }
                }
                next_s = start_s + record_s;
            }
        } else {
            segments.push(Segment { start_s: 0.0, first: 0, samples: records * per_record });
            // Times are written to the millisecond by some.
            let tolerance_s = (1.0 / rate_hz).max(0.001);
            let late_s = |record: usize| start_s(record).map(|start_s| start_s - record as f64 * record_s);
            if let Some((record, late_s)) = (0..records)
                .filter_map(|record| Some((record, late_s(record)?)))
                .find(|(_, late_s)| late_s.abs() > tolerance_s)
            {
                notes.push(format!(
                    "record {record} begins {late_s} s late in a file without gaps: annotations may be off"
                ));
            }
        }
        let mut by_start = segments.clone();
        by_start.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        Ok(Timeline { zero_s, segments, by_start, rate_hz, per_record, record_s })
    }

    /// Whether a record is the first of a segment.
    pub(super) fn begins(&self, record: usize) -> bool {
        self.segments.binary_search_by_key(&(record * self.per_record), |segment| segment.first).is_ok()
    }

    /// When a moment in a record was, in seconds after the first sample.
    pub(super) fn time_s(&self, record: usize, offset_s: f64) -> f64 {
        let first = record * self.per_record;
        let place = self.segments.partition_point(|segment| segment.first <= first);
        let (start_s, before) =
            place.checked_sub(1).map_or((0.0, 0), |i| (self.segments[i].start_s, self.segments[i].first));
        let records = (first - before).checked_div(self.per_record).unwrap_or(0);
        start_s + records as f64 * self.record_s + offset_s
    }

    /// Gives annotations their samples.
    pub(super) fn place(&self, annotations: &mut [Annotation], notes: &mut Vec<String>) {
        annotations.iter_mut().for_each(|annotation| annotation.sample = self.sample_at(annotation.onset_s));
        let outside = annotations.iter().filter(|annotation| annotation.sample.is_none()).count();
        if outside > 0 {
            notes.push(format!(
                "{outside} of {} annotations lie in gaps or outside: they become no events",
                annotations.len()
            ));
        }
    }

    /// The sample nearest to a moment; none outside of all segments.
    fn sample_at(&self, time_s: f64) -> Option<usize> {
        let half_s = 0.5 / self.rate_hz;
        let place = self.by_start.partition_point(|segment| segment.start_s - half_s <= time_s);
        let segment = &self.by_start[place.checked_sub(1)?];
        let offset = ((time_s - segment.start_s) * self.rate_hz).round().max(0.0) as usize;
        (offset < segment.samples).then_some(segment.first + offset)
    }
}

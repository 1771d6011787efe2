//! How long records are.

use std::ops::Range;

use super::MOST_RECORD_BYTES;
use super::number::{nearest, rounded};
use crate::records::rate_hz as rate_of;

/// Records of a length that can be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// Samples of each channel.
    pub(super) samples: usize,
    /// Seconds, as the header has them.
    pub(super) duration: String,
    pub(super) record_s: f64,
    /// What the annotations of a record may take.
    pub(super) most_block_bytes: usize,
}

impl Plan {
    /// Records of a segment.
    pub(super) fn records(&self, segment: &Range<usize>) -> usize {
        segment.len().div_ceil(self.samples)
    }

    /// Samples of the file that are in no segment.
    pub(super) fn padding(&self, segments: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut next = 0;
        let padding = segments.iter().map(|segment| {
            let end = next + segment.len();
            next += self.records(segment) * self.samples;
            end..next
        });
        padding.filter(|padding| !padding.is_empty()).collect()
    }
}

/// Records whose number the header has room for.
const MOST_RECORDS: usize = 99_999_999;

/// Records shorter than this and smaller than that are mostly about themselves.
const SHORT_S: f64 = 0.1;
const SMALL_BYTES: usize = 4096;

/// Lengths of records at which the rate is exact, best first: those at which the rate reads back to the bit; then those without
/// padding, with padding at the end only, and so on; then those near a second.
pub(super) fn plans(rate_hz: f64, segments: &[Range<usize>], channels: usize) -> Vec<Plan> {
    let last = segments.last().map_or(0, |segment| segment.len());
    let before_gaps = &segments[..segments.len().saturating_sub(1)];
    let length = segments.last().map_or(0, |segment| segment.end);
    let most_samples = MOST_RECORD_BYTES / (2 * channels);
    let mut plans = vec![];
    for samples in 1..=most_samples {
        let exact_s = samples as f64 / rate_hz;
        // Most numbers are too far from any of eight characters; to see that takes no text.
        let off_hz = samples as f64 / rounded(exact_s) - rate_hz;
        if off_hz.abs() > 1e-8 * rate_hz || length / samples + segments.len() > MOST_RECORDS {
            continue;
        }
        let Some(duration) = nearest(exact_s) else { continue };
        let Ok(record_s) = duration.parse::<f64>() else { continue };
        let read_hz = rate_of(samples, record_s);
        if (read_hz - rate_hz).abs() > 1e-9 * rate_hz || record_s == 0.0 {
            continue;
        }
        let sample_bytes = 2 * channels * samples;
        let fits = before_gaps.iter().all(|segment| segment.len().is_multiple_of(samples));
        let long = record_s >= SHORT_S || sample_bytes >= SMALL_BYTES;
        let tier = match (fits, last.is_multiple_of(samples), long) {
            (true, true, true) => 0,
            (true, false, true) => 1,
            (true, _, false) => 2,
            (false, ..) => 3,
        };
        let distance_s = (record_s - if tier == 3 { SHORT_S } else { 1.0 }).abs();
        let most_block_bytes = MOST_RECORD_BYTES - sample_bytes;
        let plan = Plan { samples, duration, record_s, most_block_bytes };
        plans.push(((read_hz != rate_hz, tier), distance_s, plan));
    }
    plans.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    plans.into_iter().map(|(_, _, plan)| plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(rate_hz: f64, lengths: &[usize], channels: usize) -> Option<(usize, String)> {
        let mut first = 0;
        let segments: Vec<_> = lengths
            .iter()
            .map(|length| {
                first += length;
                first - length..first
            })
            .collect();
        plans(rate_hz, &segments, channels).into_iter().next().map(|plan| (plan.samples, plan.duration))
    }

    #[test]
    fn records_last_a_second_where_they_can() {
        assert_eq!(best(160.0, &[19680], 64), Some((160, "1".into())));
        // No padding if a divisor will do; 1001 is 7 * 11 * 13.
        assert_eq!(best(160.0, &[1001], 64), Some((143, "0.89375".into())));
        assert_eq!(best(160.0, &[997 * 160 + 1], 64), Some((160, "1".into())));
        // 2048 samples of 256 channels are too many bytes for one record.
        assert_eq!(best(2048.0, &[20480], 256), Some((64, "0.03125".into())));
        assert_eq!(best(0.5, &[10], 1), Some((1, "2".into())));
    }

    #[test]
    fn odd_rates_are_exact_or_refused() {
        assert_eq!(best(1000.0 / 3.0, &[10_000], 2), Some((250, "0.75".into())));
        assert_eq!(best(99.9, &[10_000], 2), Some((999, "10".into())));
        // Any number is nearly a fraction, if the fraction may be long.
        let odd_hz = 100.0 * std::f64::consts::PI;
        assert_eq!(best(odd_hz, &[10_000], 2), Some((263, "0.837155".into())));
        assert_eq!(best(odd_hz, &[10_000], 200), None);
    }

    #[test]
    fn records_fit_in_between_gaps_where_they_can() {
        assert_eq!(best(160.0, &[320, 480, 100], 4), Some((20, "0.125".into())));
        assert_eq!(best(160.0, &[320, 480, 101], 4), Some((160, "1".into())));
        assert_eq!(best(160.0, &[21, 14, 3], 4), Some((7, "0.04375".into())));
        // At 256 Hz no record of one sample has a duration of eight characters.
        let (samples, _) = best(256.0, &[1025, 3], 4).unwrap();
        assert!(samples > 1 && samples < 30);
    }
}

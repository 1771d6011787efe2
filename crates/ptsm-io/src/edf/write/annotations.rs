//! Events as annotations: which record holds which.

use std::ops::Range;

use ptsm_signal::Recording;

use super::number::plain;
use super::plan::Plan;

/// Decimal places of a time. Some readers drop all that follow, and take records that begin 100 ns early for a gap.
const PLACES: usize = 7;

/// When records begin and what is said in them.
pub(super) struct Schedule {
    /// What each record says of its own beginning.
    starts: Vec<String>,
    /// Events in time order, each with the record that holds it.
    lists: Vec<(usize, String)>,
    /// Bytes of the annotations of each record, an even number.
    pub(super) block_bytes: usize,
}

impl Schedule {
    /// The smallest blocks into which all events fit: each event in the record in which it begins, or else in the next with room. None
    /// where records would become too large.
    pub(super) fn of(recording: &Recording, segments: &[Range<usize>], plan: &Plan) -> Option<Schedule> {
        let rate_hz = recording.rate_hz;
        let records: usize = segments.iter().map(|segment| plan.records(segment)).sum();
        let mut starts = Vec::with_capacity(records);
        let mut lists = Vec::with_capacity(recording.events.len());
        let mut events: Vec<_> = recording.events.iter().collect();
        events.sort_by_key(|event| event.sample);
        let mut events = events.into_iter().peekable();
        let mut start_s = 0.0;
        for segment in segments {
            let before = starts.len();
            let time_s = |samples: usize| start_s + samples as f64 / rate_hz;
            let begin = |record: usize| plain(start_s + record as f64 * plan.record_s, PLACES);
            starts.extend((0..plan.records(segment)).map(|record| format!("+{}\x14\x14\0", begin(record))));
            while let Some(event) = events.next_if(|event| event.sample < segment.end) {
                let offset = event.sample - segment.start;
                let duration = match event.samples {
                    0 => String::new(),
                    samples => format!("\x15{}", plain(samples as f64 / rate_hz, PLACES)),
                };
                let onset = plain(time_s(offset), PLACES);
                let list = format!("+{onset}{duration}\x14{}\x14\0", event.code);
                lists.push((before + offset / plan.samples, list));
            }
            // A gap is longer than a second and than a sample.
            start_s = (time_s(plan.records(segment) * plan.samples) + (1.0 / rate_hz).max(1.0)).ceil();
        }
        let longest = |texts: &mut dyn Iterator<Item = &String>| texts.map(String::len).max().unwrap_or(0);
        let start_bytes = longest(&mut starts.iter());
        let mut low = start_bytes + longest(&mut lists.iter().map(|(_, list)| list));
        let mut high = plan.most_block_bytes / 2 * 2;
        let fits = |block_bytes: usize| places(&lists, block_bytes.checked_sub(start_bytes)?, records);
        if low > high {
            return None;
        }
        fits(high)?;
        while low < high {
            let middle = low.midpoint(high);
            if fits(middle).is_some() { high = middle } else { low = middle + 1 }
        }
        let block_bytes = high.next_multiple_of(2);
        let places = fits(block_bytes)?;
        lists.iter_mut().zip(places).for_each(|((record, _), place)| *record = place);
        Some(Schedule { starts, lists, block_bytes })
    }

    pub(super) fn records(&self) -> usize {
        self.starts.len()
    }

    /// The annotations of each record, filled up with zeros.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Vec<u8>> {
        let mut lists = self.lists.iter().peekable();
        self.starts.iter().enumerate().map(move |(record, start)| {
            let mut block = start.clone().into_bytes();
            while let Some((_, list)) = lists.next_if(|(place, _)| *place == record) {
                block.extend(list.as_bytes());
            }
            block.resize(self.block_bytes, 0);
            block
        })
    }
}

/// The record for each list, with this much room in each; none where the last record is full.
fn places(lists: &[(usize, String)], room: usize, records: usize) -> Option<Vec<usize>> {
    let (mut record, mut used) = (0, 0);
    let mut places = Vec::with_capacity(lists.len());
    for (begins, list) in lists {
        if *begins > record {
            (record, used) = (*begins, 0);
        }
        if used + list.len() > room {
            (record, used) = (record + 1, 0);
        }
        used += list.len();
        if record >= records || used > room {
            return None;
        }
        places.push(record);
    }
    Some(places)
}

//! Triggers: a sample, and a code of eight letters.

use super::header::Head;
use super::riff::Chunk;
use crate::cursor::{Cursor, latin1};
use crate::error::{Place, Result};
use crate::limit::few_enough;
use crate::opened::Mark;

/// The code that says that samples are missing in front of it.
const GAP: &str = "__";

/// All triggers, and the samples in front of which others are missing.
pub(super) fn read(file: &Chunk, head: &Head, place: &Place) -> Result<(Vec<Mark>, Vec<usize>)> {
    let (mut marks, mut breaks) = (vec![], vec![]);
    let Some(chunk) = file.find(b"evt ")? else { return Ok((marks, breaks)) };
    let each = if file.wide { 16 } else { 12 };
    few_enough(chunk.data().len() / each, "events", place)?;
    for event in chunk.data().chunks_exact(each) {
        let mut cursor = Cursor::new(event, place);
        let sample = if file.wide { cursor.u64()? } else { u64::from(cursor.u32()?) };
        let code = cursor.take(8)?;
        let code = latin1(code.split(|&byte| byte == 0).next().unwrap_or_default());
        let inside = usize::try_from(sample).ok().filter(|_| sample < head.samples);
        if code == GAP {
            breaks.extend(inside);
        } else if !code.is_empty() {
            let onset_s = sample as f64 / head.rate_hz;
            marks.push(Mark { onset_s, duration_s: 0.0, sample: inside, text: code });
        }
    }
    Ok((marks, breaks))
}

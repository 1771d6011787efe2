//! Triggers of BDF: the low 16 bits of a signal named `Status`. The others are about the amplifier.

use crate::records::{Field, Records, i24};

/// A trigger that rises.
pub(super) struct Trigger {
    pub(super) record: usize,
    /// Its sample in the record.
    pub(super) sample: usize,
    /// Its new value.
    pub(super) value: u16,
}

/// Where the triggers rise. What is set from the first sample on did not rise.
pub(super) fn rises<'a>(records: &'a Records, field: &'a Field) -> impl Iterator<Item = Trigger> + 'a {
    let mut before = u16::MAX;
    let blocks = records.parts(field).enumerate();
    let samples = blocks.flat_map(|(record, block)| {
        let values = block.as_chunks().0.iter().map(|&stored| i24(stored) as u16);
        values.enumerate().map(move |(sample, value)| Trigger { record, sample, value })
    });
    samples.filter(move |trigger| {
        let rises = trigger.value > before;
        before = trigger.value;
        rises
    })
}

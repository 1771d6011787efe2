//! Triggers of BDF: the low 16 bits of a signal named `Status`. The others are about the amplifier.

use crate::limit::MOST;
use crate::records::{Field, Records, i24};
use crate::triggers::{TriggerDetector, TriggerOnset};

/// A trigger that rises.
pub(super) struct Trigger {
    pub(super) record: usize,
    /// Its sample in the record.
    pub(super) sample: usize,
    /// Its new value.
    pub(super) value: u16,
}

/// What is found in the signal.
#[derive(Default)]
pub(super) struct Triggers {
    pub(super) rises: Vec<Trigger>,
    pub(super) notes: Vec<String>,
}

/// Where the triggers rise. `begins` says whether a record is the first after a gap.
///
/// What is set from the first sample of the file on did not rise: many amplifiers rest at a value above 0. The same holds after a gap.
/// A value that is new there rose in the gap, nobody knows when; an event at the first sample would be at a made-up time, so it is
/// told in a note only.
pub(super) fn read(records: &Records, field: &Field, begins: impl Fn(usize) -> bool) -> Triggers {
    let mut found = Triggers::default();
    let (mut detector, mut in_gaps) = (TriggerDetector::new(TriggerOnset::Rise), 0);
    for (record, block) in records.parts(field).enumerate() {
        let after_gap = record > 0 && begins(record);
        for (sample, &stored) in block.as_chunks().0.iter().enumerate() {
            let value = i24(stored) as u16;
            let rises = detector.begins(f64::from(value));
            if rises && after_gap && sample == 0 {
                in_gaps += 1;
            } else if rises {
                if found.rises.len() == MOST {
                    let note = "`Status` changes too often for a signal of triggers: they become no events";
                    return Triggers { notes: vec![note.into()], ..Triggers::default() };
                }
                found.rises.push(Trigger { record, sample, value });
            }
        }
    }
    if in_gaps > 0 {
        found.notes.push(format!(
            "{in_gaps} triggers of `Status` rose in gaps, at unknown times: they become no events"
        ));
    }
    found
}

//! Channels of data sets, and which of them a pipeline uses.

use std::collections::BTreeSet;

use ptsm_signal::{Channel, Pick, Pipeline};

/// The 64 channels of PhysioNet's EEGMMIDB, in the order of its files.
pub(super) const EEGMMIDB: [&str; 64] = [
    "FC5", "FC3", "FC1", "FCz", "FC2", "FC4", "FC6", "C5", "C3", "C1", "Cz", "C2", "C4", "C6", "CP5", "CP3",
    "CP1", "CPz", "CP2", "CP4", "CP6", "Fp1", "Fpz", "Fp2", "AF7", "AF3", "AFz", "AF4", "AF8", "F7", "F5",
    "F3", "F1", "Fz", "F2", "F4", "F6", "F8", "FT7", "FT8", "T7", "T8", "T9", "T10", "TP7", "TP8", "P7",
    "P5", "P3", "P1", "Pz", "P2", "P4", "P6", "P8", "PO7", "PO3", "POz", "PO4", "PO8", "O1", "Oz", "O2",
    "Iz",
];

/// The 62 channels of OpenBMI, in the order of its files.
pub(super) const OPENBMI: [&str; 62] = [
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "FC5", "FC1", "FC2", "FC6", "T7", "C3", "Cz", "C4", "T8",
    "TP9", "CP5", "CP1", "CP2", "CP6", "TP10", "P7", "P3", "Pz", "P4", "P8", "PO9", "O1", "Oz", "O2", "PO10",
    "FC3", "FC4", "C5", "C1", "C2", "C6", "CP3", "CPz", "CP4", "P1", "P2", "POz", "FT9", "FTT9h", "TTP7h",
    "TP7", "TPP9h", "FT10", "FTT10h", "TPP8h", "TP8", "TPP10h", "F9", "F10", "AF7", "AF3", "AF4", "AF8",
    "PO3", "PO4",
];

/// The 64 channels of a BioSemi cap, in the order of the amplifier.
pub(super) const BIOSEMI: [&str; 64] = [
    "Fp1", "AF7", "AF3", "F1", "F3", "F5", "F7", "FT7", "FC5", "FC3", "FC1", "C1", "C3", "C5", "T7", "TP7",
    "CP5", "CP3", "CP1", "P1", "P3", "P5", "P7", "P9", "PO7", "PO3", "O1", "Iz", "Oz", "POz", "Pz", "CPz",
    "Fpz", "Fp2", "AF8", "AF4", "AFz", "Fz", "F2", "F4", "F6", "F8", "FT8", "FC6", "FC4", "FC2", "FCz", "Cz",
    "C2", "C4", "C6", "T8", "TP8", "CP6", "CP4", "CP2", "P2", "P4", "P6", "P8", "P10", "PO8", "PO4", "O2",
];

/// The 20 channels over the motor cortex that Lee et al. 2019 use for imagined movement.
pub(super) const MOTOR: [&str; 20] = [
    "FC5", "FC3", "FC1", "FC2", "FC4", "FC6", "C5", "C3", "C1", "Cz", "C2", "C4", "C6", "CP5", "CP3", "CP1",
    "CPz", "CP2", "CP4", "CP6",
];

/// Channels as names a pipeline picks.
pub(super) fn pick(names: &[&str]) -> Pick {
    Pick::Names(names.iter().map(|name| name.to_string()).collect())
}

/// Places of the channels a pipeline uses. Where it asks for one that is not there these are all places, so that the refusal
/// can tell what there is.
pub(super) fn used(pipeline: &Pipeline, channels: &[Channel]) -> Vec<usize> {
    let named = pipeline.named_channels(channels.iter().map(|channel| &*channel.name));
    let places = named.and_then(|places| places.into_iter().collect::<Option<BTreeSet<usize>>>());
    places.map_or_else(|| (0..channels.len()).collect(), |places| places.into_iter().collect())
}

/// What is different between the channels a file has and those it should have, in the same order; none where nothing is.
pub(super) fn difference(found: &[Channel], expected: &[&str]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} channels, not {}", found.len(), expected.len()));
    }
    let other = found.iter().zip(expected).position(|(found, expected)| found.name != *expected)?;
    Some(format!("channel {} is `{}`, not `{}`", other + 1, found[other].name, expected[other]))
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Reference, normalise};

    use super::*;

    #[test]
    fn every_known_channel_has_a_place_on_the_head_and_is_named_once() {
        for names in [&EEGMMIDB[..], &OPENBMI, &BIOSEMI, &MOTOR] {
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
            for name in names {
                assert!(ptsm_signal::position(name).is_some(), "{name}");
                assert_eq!(normalise(name), *name);
            }
        }
        for name in MOTOR {
            assert!(EEGMMIDB.contains(&name) && OPENBMI.contains(&name), "{name}");
        }
        // The authors' numbers 8-11, 13-15, 18-21, 33-41, counted from 1; of the BioSemi cap Cz is the 48th.
        let places = (8..=11).chain(13..=15).chain(18..=21).chain(33..=41);
        let authors: BTreeSet<_> = places.map(|place: usize| OPENBMI[place - 1]).collect();
        assert_eq!(authors, MOTOR.into_iter().collect());
        assert_eq!(BIOSEMI[47], "Cz");
    }

    #[test]
    fn only_what_a_pipeline_uses_is_read() {
        let channels = ["Fz", "C3", "Cz", "C4"].map(Channel::named);
        let of = |names: &[&str], reference| {
            used(&Pipeline { pick: pick(names), reference, ..Pipeline::default() }, &channels)
        };
        assert_eq!(of(&["c4", "C3"], Reference::Average), [1, 3]);
        assert_eq!(of(&["C4"], Reference::Channels(vec!["Fz".into()])), [0, 3]);
        assert_eq!(of(&["C4", "Oz"], Reference::AsRecorded), [0, 1, 2, 3]);
        assert_eq!(used(&Pipeline::default(), &channels), [0, 1, 2, 3]);
    }
}

//! Channels that every recording has: a decoder needs the same ones of everybody.

use std::collections::{BTreeMap, BTreeSet};

/// What the channels of several recordings have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CommonChannels {
    /// None where all have the same channels in the same order.
    shared: Option<Vec<String>>,
    /// Channels that some have and others lack.
    dropped: Vec<String>,
    /// Which recording has the fewest.
    poorest: Option<usize>,
}

impl CommonChannels {
    /// Compares the names of some recordings' channels.
    pub(super) fn new(lists: &[&[String]]) -> CommonChannels {
        let Some((first, others)) = lists.split_first() else { return CommonChannels::default() };
        if others.iter().all(|list| list == first) {
            return CommonChannels::default();
        }
        let sets: Vec<BTreeSet<&str>> =
            lists.iter().map(|list| list.iter().map(String::as_str).collect()).collect();
        let mut having: BTreeMap<&str, usize> = BTreeMap::new();
        sets.iter().flatten().for_each(|name| *having.entry(name).or_default() += 1);
        let (mut shared, mut dropped, mut seen) = (vec![], vec![], BTreeSet::new());
        for name in lists.iter().copied().flatten().filter(|name| seen.insert(name.as_str())) {
            let everywhere = having.get(name.as_str()) == Some(&lists.len());
            if everywhere { &mut shared } else { &mut dropped }.push(name.clone());
        }
        let poorest = (0..sets.len()).min_by_key(|&at| sets[at].len()).filter(|_| !dropped.is_empty());
        CommonChannels { shared: Some(shared), dropped, poorest }
    }

    /// The channels all have, in the order of the first; none where nothing needs to be chosen.
    pub(super) fn shared(&self) -> Option<&[String]> {
        self.shared.as_deref()
    }

    /// Channels that are not in every recording.
    pub(super) fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// Which recording has the fewest channels.
    pub(super) fn poorest(&self) -> Option<usize> {
        self.poorest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(lists: &[&[&str]]) -> CommonChannels {
        let lists: Vec<Vec<String>> =
            lists.iter().map(|list| list.iter().map(|name| name.to_string()).collect()).collect();
        CommonChannels::new(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn what_all_have_is_kept_in_the_order_of_the_first() {
        assert_eq!(common(&[&["C3", "Cz"], &["C3", "Cz"]]), CommonChannels::default());
        let other_order = common(&[&["C3", "Cz"], &["Cz", "C3"]]);
        assert_eq!(other_order.shared().map(<[_]>::len), Some(2));
        assert!(other_order.dropped().is_empty() && other_order.poorest().is_none());
        let some = common(&[&["C3", "Cz", "C4"], &["C4", "C3", "Oz", "Pz"], &["C3", "C4"]]);
        assert_eq!(some.shared(), Some(&["C3".to_string(), "C4".to_string()][..]));
        assert_eq!((some.dropped(), some.poorest()), (&["Cz", "Oz", "Pz"].map(String::from)[..], Some(2)));
        assert_eq!(common(&[&["C3"], &["C4"]]).shared(), Some(&[][..]));
        assert_eq!(common(&[]), CommonChannels::default());
    }
}

//! Which channels are used, and against what.

use std::collections::BTreeSet;

use super::{OcularRegression, Pick, Pipeline, Reference};
use crate::error::{Error, Result};
use crate::montage::{Channel, frontal, normalise};

/// Places of the channels that are kept, of those they are regressed on and of those that are the reference.
pub(super) struct Selection {
    /// The channels of the epochs, then those that ocular regression regresses on.
    pub(super) processed: Vec<usize>,
    /// How many of the processed ones are kept.
    pub(super) kept: usize,
    reference: Vec<usize>,
}

impl Selection {
    pub(super) fn new(pipeline: &Pipeline, channels: &[Channel]) -> Result<Selection> {
        let picked = match &pipeline.pick {
            Pick::All => (0..channels.len()).collect(),
            Pick::Frontal => frontal_channels(channels)?,
            Pick::Names(names) => places(names, channels)?,
        };
        let reference = match &pipeline.reference {
            Reference::AsRecorded => Vec::new(),
            Reference::Average => picked.clone(),
            Reference::Channels(names) => places(names, channels)?,
        };
        if picked.len() == 1 && picked == reference {
            let name = &channels[picked[0]].name;
            return Err(Error::pipeline(format!("channel `{name}` against itself is nothing"))
                .with_hint("pick more channels or keep the recorded reference"));
        }
        let regressors = match &pipeline.ocular {
            None => Vec::new(),
            Some(OcularRegression::Frontal) => frontal_channels(channels)?,
            Some(OcularRegression::Channels(names)) => places(names, channels)?,
        };
        let mut processed: Vec<usize> = picked.into_iter().filter(|c| !regressors.contains(c)).collect();
        let kept = processed.len();
        if kept == 0 {
            return Err(Error::pipeline(
                "ocular regression drops the channels it regresses on, which are all",
            )
            .with_hint("pick other channels besides, or leave `ocular` out"));
        }
        processed.extend(regressors);
        Ok(Selection { processed, kept, reference })
    }

    /// The channels that are kept, themselves.
    pub(super) fn channels(&self, channels: &[Channel]) -> Vec<Channel> {
        self.processed[..self.kept].iter().map(|&c| channels[c].clone()).collect()
    }

    /// Every channel that is needed, once.
    pub(super) fn used(&self) -> BTreeSet<usize> {
        self.processed.iter().chain(&self.reference).copied().collect()
    }

    /// The mean of the reference channels; none where potentials stay as recorded.
    ///
    /// # Shapes
    /// `signal` is `[C, samples]` with all channels.
    pub(super) fn reference(&self, signal: &[f32], samples: usize) -> Option<Vec<f64>> {
        if self.reference.is_empty() {
            return None;
        }
        let mut mean = vec![0.0; samples];
        for &channel in &self.reference {
            for (sum, &x) in mean.iter_mut().zip(&signal[channel * samples..][..samples]) {
                *sum += f64::from(x);
            }
        }
        let count = self.reference.len() as f64;
        mean.iter_mut().for_each(|sum| *sum /= count);
        Some(mean)
    }
}

impl Pipeline {
    /// Where each channel that the pipeline names, those that are picked and then those of the reference and of ocular regression, is
    /// among channels of these names in any spelling; of several of one name the first counts. Nothing where it picks all or a region,
    /// which is told by positions: then every channel is needed.
    pub fn named_channels<'a>(
        &self,
        channels: impl IntoIterator<Item = &'a str>,
    ) -> Option<Vec<Option<usize>>> {
        let Pick::Names(picked) = &self.pick else { return None };
        let reference: &[String] = match &self.reference {
            Reference::Channels(names) => names,
            Reference::AsRecorded | Reference::Average => &[],
        };
        let ocular: &[String] = match &self.ocular {
            Some(OcularRegression::Frontal) => return None,
            Some(OcularRegression::Channels(names)) => names,
            None => &[],
        };
        let known: Vec<String> = channels.into_iter().map(normalise).collect();
        let place = |name: &String| {
            let name = normalise(name);
            known.iter().position(|known| *known == name)
        };
        Some(picked.iter().chain(reference).chain(ocular).map(place).collect())
    }
}

/// One channel against the reference.
pub(super) fn against(channel: &[f32], reference: Option<&[f64]>) -> Vec<f64> {
    match reference {
        None => channel.iter().map(|&x| f64::from(x)).collect(),
        Some(reference) => channel.iter().zip(reference).map(|(&x, r)| f64::from(x) - r).collect(),
    }
}

/// The channels of the frontal region; at least one.
fn frontal_channels(channels: &[Channel]) -> Result<Vec<usize>> {
    let found = frontal(channels);
    if found.is_empty() {
        return Err(Error::pipeline("no channel is in the frontal region")
            .with_hint("it is told by electrode positions (`Fp1`, `AF7`, `F8`); name the channels instead"));
    }
    Ok(found)
}

fn places(names: &[String], channels: &[Channel]) -> Result<Vec<usize>> {
    let known: Vec<String> = channels.iter().map(|c| normalise(&c.name)).collect();
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(normalise(name))) {
        return Err(Error::pipeline(format!("channel `{name}` is asked for twice"))
            .with_hint("name each channel once; old and new names (`T3`, `T7`) count as the same"));
    }
    names
        .iter()
        .map(|name| {
            let normalised = normalise(name);
            let mut found = (0..known.len()).filter(|&i| known[i] == normalised);
            match (found.next(), found.next()) {
                (Some(place), None) => Ok(place),
                (None, _) => Err(Error::data(format!("channel `{name}`"), "is not there")
                    .with_hint(format!("the channels are {}", known.join(", ")))),
                _ => Err(Error::data(format!("channel `{name}`"), "is there more than once")
                    .with_hint("give every channel its own name")),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(pick: Pick, reference: Reference, channels: &[&str]) -> Result<Selection> {
        let channels: Vec<_> = channels.iter().map(|name| Channel::named(name)).collect();
        Selection::new(&Pipeline { pick, reference, ..Pipeline::default() }, &channels)
    }

    #[test]
    fn channels_are_found_by_any_spelling_in_the_order_requested() {
        let pick = Pick::Names(vec!["CZ".into(), "c3..".into()]);
        let reference = Reference::Channels(vec!["M1".into()]);
        let selection = select(pick, reference, &["C3", "M1", "Cz", "C4"]).unwrap();
        assert_eq!((&selection.processed[..], selection.kept), (&[2, 0][..], 2));
        assert_eq!(selection.used().into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        let signal = [1.0, 2.0, 10.0, 20.0, 5.0, 6.0, 0.0, 0.0];
        assert_eq!(selection.reference(&signal, 2).unwrap(), [10.0, 20.0]);
        assert_eq!(against(&signal[..2], Some(&[10.0, 20.0])), [-9.0, -18.0]);
    }

    #[test]
    fn missing_and_ambiguous_channels_are_named() {
        let pick = |name: &str| Pick::Names(vec![name.into()]);
        let error = select(pick("Oz"), Reference::AsRecorded, &["C3", "C4"]).err().unwrap();
        assert!(error.to_string().contains("`Oz`") && error.hint().unwrap().contains("C3, C4"));
        assert!(select(pick("C3"), Reference::AsRecorded, &["C3", "c3"]).is_err());
        assert!(select(pick("C3"), Reference::Average, &["C3", "C4"]).is_err());
        let twice = Pick::Names(vec!["T7".into(), "C3".into(), "T3".into()]);
        let error = select(twice, Reference::AsRecorded, &["C3", "T7"]).err().unwrap();
        assert!(error.to_string().contains("`T3` is asked for twice") && error.hint().is_some());
    }
}

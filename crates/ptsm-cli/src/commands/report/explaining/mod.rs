//! What the page's sections about a decoder are made of: everything that is computed, with progress, and only what is asked for.

mod believing;
mod features;
mod looking;

use std::collections::{BTreeMap, BTreeSet};

use indicatif::ProgressBar;
use ptsm_decode::registry::find;
use ptsm_decode::{FittedDecoder, Run, TrainingData};
use ptsm_explain::{Masks, Predicted, masks, shuffled_labels};
use ptsm_signal::{SubjectId, Subset};

use super::super::Session;
use super::super::evaluate::Asked;
use crate::exit::told;
use crate::progress::{self, Live};
use crate::report::{Apart, Believed, Kind, Looked, Rests, Trusted};

/// Trials that attributions and deletion tests look at, over all people; more take minutes and say the same.
const TRIALS: usize = 240;
/// Any number will do, as long as the same run gives the same page.
const SEED: u64 = 2024;
/// Steps of the progress, as many as there are at most.
const STEPS: usize = 14;

#[derive(Default)]
pub(super) struct Explanation {
    pub(super) looked: Option<Looked>,
    pub(super) rests: Option<Rests>,
    pub(super) believed: Option<Believed>,
    pub(super) apart: Option<Apart>,
    pub(super) trusted: Option<Trusted>,
    /// Sections that could not be made, and why.
    pub(super) failed: Vec<(String, String)>,
}

impl Explanation {
    /// What cannot be computed of these people or this decoder costs its section, not the page. A wish to stop ends everything.
    fn kept<T>(&mut self, section: &str, made: anyhow::Result<T>) -> anyhow::Result<Option<T>> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) if matches!(error.downcast_ref(), Some(ptsm_decode::Error::Stopped)) => Err(error),
            Err(error) => {
                self.failed.push((section.into(), format!("It could not be computed: {error:#}.")));
                Ok(None)
            }
        }
    }
}

/// What is to be explained.
pub(super) struct Explaining<'a> {
    pub(super) asked: &'a Asked,
    /// People it has not learnt from.
    pub(super) people: &'a Subset<'a>,
    /// Decoders to train on shuffled labels.
    pub(super) nulls: usize,
    pub(super) session: &'a Session,
    pub(super) kinds: &'a [&'static Kind],
    /// The decoders, one for each seed, as they are once they have met these people.
    decoders: Vec<Met<'a>>,
}

/// A decoder as it is, or once it has met people.
enum Met<'a> {
    As(&'a dyn FittedDecoder),
    After(Box<dyn FittedDecoder>),
}

impl Met<'_> {
    fn get(&self) -> &dyn FittedDecoder {
        match self {
            Met::As(fitted) => *fitted,
            Met::After(fitted) => &**fitted,
        }
    }
}

impl<'a> Explaining<'a> {
    pub(super) fn new(
        asked: &'a Asked,
        people: &'a Subset<'a>,
        nulls: usize,
        kinds: &'a [&'static Kind],
        session: &'a Session,
    ) -> anyhow::Result<Explaining<'a>> {
        let decoders = met(asked, people)?;
        Ok(Explaining { asked, people, nulls, session, kinds, decoders })
    }

    pub(super) fn run(&self) -> anyhow::Result<Explanation> {
        let wants = |name: &str| self.kinds.iter().any(|kind| kind.name == name);
        let (masks, rests, believed) = (wants("masks"), wants("attribution"), wants("validity"));
        let mut found = Explanation::default();
        let few = some(self.people, TRIALS);
        if masks || believed {
            let looked = self.asked.looked(self.people)?;
            // What has no masks has no null of them.
            let nulls = if masks && !looked.all.is_empty() { self.null_masks()? } else { vec![] };
            found.looked = Some(Looked { nulls, ..looked });
        }
        let bar = progress::counting(self.session.output, "explaining", STEPS);
        if rests || believed {
            let made = self.rests(&few);
            found.rests = found.kept("attribution", made)?;
            self.step(&bar)?;
        }
        if believed {
            let made = self.believed(&found, &few, &bar);
            found.believed = found.kept("validity", made)?;
        }
        if wants("subspaces") {
            let made = self.apart();
            found.apart = found.kept("subspaces", made)?.flatten();
            self.step(&bar)?;
        }
        if wants("calibration") {
            let made = self.trusted();
            found.trusted = found.kept("calibration", made)?;
        }
        bar.finish_and_clear();
        Ok(found)
    }

    fn step(&self, bar: &ProgressBar) -> anyhow::Result<()> {
        bar.inc(1);
        if self.session.stop.asked() {
            return Err(ptsm_decode::Error::Stopped.into());
        }
        Ok(())
    }

    /// The decoder of the first seed, which stands for all where one is enough.
    fn first(&self) -> &dyn FittedDecoder {
        self.decoders[0].get()
    }

    /// The people it learnt from, and those it was stopped by, as far as they are among these data.
    fn known(&self) -> [Subset<'_>; 2] {
        let (input, data) = (&self.asked.input, &self.asked.run.data);
        let seen: BTreeSet<SubjectId> = input
            .people
            .iter()
            .filter(|(_, person)| person.is_among(&data.who))
            .map(|(subject, _)| *subject)
            .collect();
        // Who was only stopped by is known by number, which means the same people in the same data alone.
        let validation: BTreeSet<SubjectId> = match input.name == data.name {
            true => seen.intersection(&data.validation).copied().collect(),
            false => BTreeSet::new(),
        };
        let learnt = seen.difference(&validation).copied().collect();
        [input.trials.of(&learnt), input.trials.of(&validation)]
    }

    /// Masks of decoders that learnt from the same people with their labels shuffled, each person's among themselves.
    fn null_masks(&self) -> anyhow::Result<Vec<Vec<Masks>>> {
        let mut found = vec![];
        if self.nulls == 0 {
            return Ok(found);
        }
        let [learnt, validation] = self.known();
        let card = &self.asked.trained.card;
        let decoder = find(&card.decoder)?.build(card.settings.clone())?;
        if learnt.is_empty() || (validation.is_empty() && decoder.uses_validation()) {
            return Err(told(
                "the people this decoder learnt from are not among these data, so that it cannot be trained on their shuffled labels",
                "give the data it was trained with, or leave `--nulls` out",
            ));
        }
        let trials = &self.asked.input.trials;
        for i in 0..self.nulls as u64 {
            let shuffled = trials.relabelled(&shuffled_labels(&trials.all(), SEED + i))?;
            let mut lesson =
                TrainingData::new(shuffled.of(&learnt.subjects()), shuffled.of(&validation.subjects()))?;
            if decoder.learns_from_target() {
                lesson = lesson.with_target(self.people.unlabelled());
            }
            let run = Run { device: &self.session.device, identity: &self.asked.input.fingerprint };
            let mut live = Live::new(self.session.output, &self.session.stop, "shuffled labels");
            let fits = decoder.fit_seeds(&lesson, &[SEED + i], &run, &mut live)?;
            found.push(masks(&*fits[0].fitted, self.people)?);
        }
        Ok(found)
    }

    /// The probabilities of everybody with every seed, and the temperature of the validation people.
    fn trusted(&self) -> anyhow::Result<Trusted> {
        let predicted = |people: &Subset<'_>| -> anyhow::Result<Predicted> {
            let (mut probabilities, mut labels) = (vec![], vec![]);
            for fitted in met(self.asked, people)? {
                probabilities.extend(fitted.get().probabilities(people)?);
                labels.extend(people.labels());
            }
            Ok(Predicted::new(&probabilities, &labels, people.layout().classes.len())?)
        };
        let [_, validation] = self.known();
        let temperature = match validation.is_empty() {
            true => None,
            false => Some((predicted(&validation)?.temperature(), validation.subjects().len())),
        };
        Ok(Trusted { scored: predicted(self.people)?, temperature, seeds: self.decoders.len() })
    }
}

/// The decoders of a run, each as it is once it has met people where it may look at them.
fn met<'a>(asked: &'a Asked, people: &Subset<'_>) -> anyhow::Result<Vec<Met<'a>>> {
    let access = find(&asked.trained.card.decoder)?.target_access;
    let one = |(_, fitted): &'a (u64, Box<dyn FittedDecoder>)| -> anyhow::Result<Met<'a>> {
        Ok(fitted.with_target_access(people, access)?.map_or(Met::As(&**fitted), Met::After))
    };
    asked.trained.decoders.iter().map(one).collect()
}

/// About so many trials: the first ones of each class of each person, as many of each, where there are as many.
fn some<'a>(people: &Subset<'a>, most: usize) -> Subset<'a> {
    let groups = people.subjects().len() * people.layout().classes.len();
    let each = (most / groups.max(1)).max(1);
    let mut taken = BTreeMap::<(SubjectId, u32), usize>::new();
    let mut places = vec![];
    for (i, trial) in people.info().enumerate() {
        let n = taken.entry((trial.subject, trial.label)).or_default();
        if *n < each {
            *n += 1;
            places.push(i);
        }
    }
    people.at(&places)
}

//! Whose source-only trials are, and what contradicts it.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_data::{CohortRelation, LoadedData};
use ptsm_signal::SubjectId;

use super::SourceOnlyRequest;
use crate::error::{Error, Result};

/// What the subjects of source-only trials are recognised by.
#[derive(Clone, Debug, Default)]
pub struct SourceOnlySubjects {
    /// By their numbers in the study. Other people have numbers that no subject has.
    hashes: BTreeMap<SubjectId, BTreeSet<String>>,
    /// People who are not in the study.
    others: BTreeSet<SubjectId>,
}

impl SourceOnlySubjects {
    /// Subjects of some data, by their numbers in the study.
    pub(super) fn add(
        &mut self,
        loaded: &LoadedData,
        numbers: &BTreeMap<SubjectId, SubjectId>,
        study: &BTreeSet<SubjectId>,
    ) {
        for (subject, &number) in numbers {
            let own = loaded.identities.get(subject).map(|identity| identity.hashes.clone());
            self.hashes.entry(number).or_default().extend(own.unwrap_or_default());
            if !study.contains(&number) {
                self.others.insert(number);
            }
        }
    }

    /// What everybody is recognised by whose source-only trials may be trained on with these subjects of the study.
    pub fn hashes<'a>(&'a self, subjects: &'a BTreeSet<SubjectId>) -> impl Iterator<Item = &'a String> {
        let own = self.hashes.iter().filter(|(s, _)| subjects.contains(s) || self.others.contains(s));
        own.flat_map(|(_, hashes)| hashes)
    }
}

/// Who is known by which hash: subjects of the study, and people of source-only data.
pub(super) struct KnownSubjects {
    by_hash: BTreeMap<String, SubjectId>,
    study: BTreeSet<SubjectId>,
    /// The next number that nobody has.
    next: Option<u32>,
}

impl KnownSubjects {
    pub(super) fn of(study: &LoadedData) -> KnownSubjects {
        let subjects = study.trials.subjects();
        let everybody = study.identities.keys().chain(&subjects).max();
        let next = everybody.map_or(Some(1), |subject| subject.0.checked_add(1));
        let mut known = KnownSubjects { by_hash: BTreeMap::new(), study: subjects, next };
        study.identities.keys().for_each(|&subject| known.learn(study, subject, subject));
        known
    }

    fn learn(&mut self, data: &LoadedData, subject: SubjectId, number: SubjectId) {
        let identity = data.identities.get(&subject);
        let hashes = identity.into_iter().flat_map(|identity| &identity.hashes);
        self.by_hash.extend(hashes.map(|hash| (hash.clone(), number)));
    }

    /// Who a subject of some data is by their hashes.
    fn recognised(&self, data: &LoadedData, subject: SubjectId) -> BTreeSet<SubjectId> {
        let identity = data.identities.get(&subject);
        let hashes = identity.into_iter().flat_map(|identity| &identity.hashes);
        hashes.filter_map(|hash| self.by_hash.get(hash).copied()).collect()
    }

    /// A number in the study for every subject whose source-only trials may be trained on.
    pub(super) fn number(
        &mut self,
        request: &SourceOnlyRequest,
        study: &LoadedData,
        loaded: &LoadedData,
        relation: CohortRelation,
    ) -> Result<BTreeMap<SubjectId, SubjectId>> {
        let present = loaded.trials.subjects();
        let alike: BTreeMap<SubjectId, SubjectId> = study
            .called_alike(loaded)
            .into_iter()
            .filter(|(there, here)| present.contains(there) && self.study.contains(here))
            .collect();
        let numbers = match relation {
            CohortRelation::Same => self.same(request, loaded, alike)?,
            CohortRelation::Other => self.others(loaded, &present)?,
        };
        numbers.iter().for_each(|(&subject, &number)| self.learn(loaded, subject, number));
        Ok(numbers)
    }

    fn same(
        &self,
        request: &SourceOnlyRequest,
        loaded: &LoadedData,
        alike: BTreeMap<SubjectId, SubjectId>,
    ) -> Result<BTreeMap<SubjectId, SubjectId>> {
        if alike.is_empty() {
            return Err(Error::request(
                "none of its subjects has a number or name of the study's subjects",
                "call subjects alike in both, or give `cohort=other` where these are other people",
            ));
        }
        let present = loaded.trials.subjects();
        if let (Some(_), Some(subject)) = (&request.subjects, present.iter().find(|s| !alike.contains_key(s)))
        {
            return Err(Error::request(
                format!("{subject}, who is asked for, is not among the study's subjects"),
                "name subjects of the study, or leave `subjects` out: all who are in both are then taken",
            ));
        }
        for subject in &present {
            let recognised = self.recognised(loaded, *subject);
            let own = alike.get(subject);
            // Whoever is left out is of no concern.
            if let Some(other) = recognised.iter().find(|other| own.is_some_and(|own| own != *other)) {
                return Err(Error::request(
                    format!(
                        "{subject} is called like {} of the study, but is recognised as {other}",
                        own.map_or(String::new(), SubjectId::to_string)
                    ),
                    "give each person the same number in both, or leave that subject out with `subjects`",
                ));
            }
        }
        Ok(alike)
    }

    fn others(
        &mut self,
        loaded: &LoadedData,
        present: &BTreeSet<SubjectId>,
    ) -> Result<BTreeMap<SubjectId, SubjectId>> {
        let mut numbers = BTreeMap::new();
        for &subject in present {
            let recognised = self.recognised(loaded, subject);
            if let Some(own) = recognised.intersection(&self.study).next() {
                return Err(Error::request(
                    format!("{subject} is {own} of the study, and not another person"),
                    "give `cohort=same`, or leave that subject out with `subjects`; files that are only called alike need names of their own",
                ));
            }
            // The same person in another of the source-only data sets.
            let number = match recognised.first() {
                Some(&known) => known,
                None => self.free()?,
            };
            numbers.insert(subject, number);
        }
        Ok(numbers)
    }

    fn free(&mut self) -> Result<SubjectId> {
        let number = self.next.ok_or_else(|| {
            Error::request("no number is left for subjects of other data", "number subjects from 1")
        })?;
        self.next = number.checked_add(1);
        Ok(SubjectId(number))
    }
}

//! Probes of a decoder's features.

use ptsm_eval::Result;
use ptsm_signal::{SubjectId, Subset};

use super::{SEED, Study, adapted_unlabelled};
use crate::distance::distance;
use crate::embedding::{EmbeddingKind, embedding};
use crate::features::{Features, TrialSplit};
use crate::findings::{Disentanglement, ProbeAnswer};
use crate::probes::{PermutationSettings, Probe, ProbeInput, probe};
use crate::reading::{SUBJECT_FEATURES, TASK_FEATURES};
use crate::spectrum::shared_spectra;

/// Draws where each is a fit.
const FITS: usize = 200;
/// Points of a picture.
const POINTS: usize = 600;

impl Study<'_> {
    /// Disentanglement of the features of the first decoder; none of a decoder without features.
    pub(super) fn disentanglement(&self) -> Result<Option<Disentanglement>> {
        let test = self.subjects.in_time();
        let of = |trials: &Subset<'_>, names: &[&str]| Features::of(self.first(), trials, names);
        let Some(task) = of(&test, &TASK_FEATURES)? else { return Ok(None) };
        let subject = of(&test, &SUBJECT_FEATURES)?;
        // PTSM's alone are left out of a model that is kept; others have them, or never had any.
        let left_out = subject.is_none() && of(&test, &TASK_FEATURES[..1])?.is_some();
        let subjects: Vec<u32> = test.info().map(|t| t.subject.0).collect();
        let labels = test.labels();
        let mut test_half: Vec<u32> = test.subjects().iter().map(|s| s.0).collect();
        test_half = test_half.into_iter().step_by(2).collect();
        let (by_subject, by_time) =
            (TrialSplit::by_group(&subjects, &test_half), TrialSplit::by_time(&subjects, 0.5));
        let shuffles = PermutationSettings { draws: FITS, seed: SEED };
        let several = test.subjects().len() > 1;
        let mut probes = vec![];
        let sets = [
            ("task features", Some(&task), [true, false]),
            ("subject features", subject.as_ref(), [false, true]),
        ];
        for (name, features, [class, identity]) in sets {
            let Some(features) = features.filter(|_| several) else { continue };
            let ask = |labels: &[u32], blocks: &[u32], split: &TrialSplit| -> Result<_> {
                let question = ProbeInput { features, labels, groups: &subjects, blocks };
                Ok([
                    probe(&question, split, Probe::Linear, shuffles)?,
                    probe(&question, split, Probe::Nonlinear, shuffles)?,
                ])
            };
            let found = ask(&labels, &subjects, &by_subject)?;
            probes.push(ProbeAnswer { what: "the class".into(), of: name.into(), expected: class, found });
            let found = ask(&subjects, &labels, &by_time)?;
            probes.push(ProbeAnswer {
                what: "the subject".into(),
                of: name.into(),
                expected: identity,
                found,
            });
        }
        let [train, _] = self.training_and_validation();
        let distance = if train.subjects().len() > 1 && several {
            // The first decoder is adapted to the test subjects.
            let adapted = adapted_unlabelled(self.evaluation, &train)?;
            let source = Features::of(adapted[0].get(), &train, &TASK_FEATURES)?;
            let groups: Vec<u32> = train.info().map(|t| t.subject.0).collect();
            let sizes = [train.subjects().len(), test.subjects().len()];
            match source {
                Some(source) => {
                    Some((distance((&source, &groups), (&task, &subjects), 5, FITS / 10, SEED)?, sizes))
                }
                None => None,
            }
        } else {
            None
        };
        let picture = embedding(&task, EmbeddingKind::Neighbours, POINTS)?;
        let classes = &test.layout().classes;
        Ok(Some(Disentanglement {
            probes,
            distance,
            shared: subject
                .as_ref()
                .map(|subject| shared_spectra(&task, subject, &subjects, shuffles))
                .transpose()?,
            classes: picture.trials.iter().map(|&i| classes[labels[i] as usize].clone()).collect(),
            subjects: picture.trials.iter().map(|&i| SubjectId(subjects[i]).to_string()).collect(),
            picture,
            left_out,
        }))
    }
}

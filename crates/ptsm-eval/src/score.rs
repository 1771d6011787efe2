//! From a fitted decoder and unseen subjects to records.

use ptsm_decode::{Adaptation, AdaptedDecoder, FittedDecoder, calibration_split};
use ptsm_signal::{Subset, TargetAccess};

use crate::error::Result;
use crate::record::{FewShot, Record};
use crate::reliability::DecisionBins;
use crate::scores::{Scores, positive_class};
use crate::splits::Units;

/// What all records of one decoder have in common.
#[derive(Clone, Debug)]
pub struct RecordContext {
    /// The data set.
    pub data: String,
    /// The decoder.
    pub model: String,
    /// What tells it from the same decoder with other settings or other trials.
    pub variant: Option<String>,
    /// How subjects were split.
    pub protocol: String,
    /// The sessions and runs that were trained on; none for all.
    pub trained_on: Option<Units>,
    /// The sessions and runs that are scored; none for all.
    pub tested: Option<Units>,
    /// The target access.
    pub target_access: TargetAccess,
    /// The part of it that is shown to the decoder itself before it decodes them.
    pub shown: TargetAccess,
    /// The fold, counted from 0.
    pub fold: usize,
    /// The seed.
    pub seed: u64,
    /// What operands of large products were rounded to on a GPU when it was trained; none for f32.
    pub precision: Option<String>,
}

impl RecordContext {
    /// A decoder that was trained on other subjects, on all sessions and runs, with one seed.
    pub fn trained_on_others(
        data: &str,
        model: &str,
        target_access: TargetAccess,
        seed: u64,
    ) -> RecordContext {
        RecordContext {
            data: data.into(),
            model: model.into(),
            variant: None,
            protocol: "trained on others".into(),
            trained_on: None,
            tested: None,
            target_access,
            shown: TargetAccess::Nothing,
            fold: 0,
            seed,
            precision: None,
        }
    }
}

/// One record per subject. A decoder that wants to see a subject's trials without labels first is shown what the context says.
pub fn score(
    fitted: &dyn FittedDecoder,
    subjects: &Subset<'_>,
    context: &RecordContext,
) -> Result<Vec<Record>> {
    score_into(fitted, subjects, context, &mut DecisionBins::default())
}

/// The same, with the decisions counted by their probability.
pub(crate) fn score_into(
    fitted: &dyn FittedDecoder,
    subjects: &Subset<'_>,
    context: &RecordContext,
    decisions: &mut DecisionBins,
) -> Result<Vec<Record>> {
    let one = |subject| {
        let trials = subjects.only(|t| t.subject == subject);
        let adapted = fitted.with_target_access(&trials, context.shown)?;
        let decoder = adapted.as_deref().unwrap_or(fitted);
        let probabilities = decoder.probabilities(&trials)?;
        let record = record(&trials, &probabilities, context, None)?;
        decisions.add(&trials.labels(), &probabilities, trials.layout().classes.len());
        Ok(record)
    };
    subjects.subjects().into_iter().map(one).collect()
}

/// The record of trials of one subject.
fn of_one(
    fitted: &dyn FittedDecoder,
    trials: &Subset<'_>,
    context: &RecordContext,
    adapt: Option<FewShot>,
) -> Result<Record> {
    record(trials, &fitted.probabilities(trials)?, context, adapt)
}

/// The same from what was decoded.
fn record(
    trials: &Subset<'_>,
    probabilities: &[f32],
    context: &RecordContext,
    adapt: Option<FewShot>,
) -> Result<Record> {
    let subject = trials.info().next().map(|t| t.subject).ok_or_else(|| {
        crate::Error::scores("no trial is left to score")
            .with_hint("choose subjects with more trials, or fewer shots")
    })?;
    let classes = &trials.layout().classes;
    let positive = positive_class(classes);
    let scores = Scores::of(&trials.labels(), probabilities, classes.len(), positive)?;
    Ok(Record {
        data: context.data.clone(),
        model: context.model.clone(),
        variant: context.variant.clone(),
        protocol: context.protocol.clone(),
        trained_on: context.trained_on.clone(),
        tested: context.tested.clone(),
        target_access: context.target_access,
        subject,
        session: None,
        fold: context.fold,
        seed: context.seed,
        precision: context.precision.clone(),
        adapt,
        positive_class: (classes.len() == 2).then(|| classes[positive].clone()),
        scores,
    })
}

/// One subject's few-shot curve.
pub struct FewShotCurve {
    /// A record for 0 shots and for each number asked for, all on the same later trials.
    pub records: Vec<Record>,
    /// What tuning with each number of shots gave.
    pub adapted: Vec<(usize, AdaptedDecoder)>,
}

/// Adapts a decoder to one subject with ever more labelled trials. The trials of the largest number of shots are set aside; the later
/// ones are scored for every number.
pub fn learning_curve(
    fitted: &dyn FittedDecoder,
    subject_trials: &Subset<'_>,
    shots: &[usize],
    adaptation: &Adaptation,
    context: &RecordContext,
) -> Result<FewShotCurve> {
    let most = shots.iter().copied().max().unwrap_or(0);
    let (_, later) = calibration_split(subject_trials, most)?;
    let part = |shots| Some(FewShot { shots, set_aside: most });
    let mut curve =
        FewShotCurve { records: vec![of_one(fitted, &later, context, part(0))?], adapted: vec![] };
    for &k in shots {
        let (first, _) = calibration_split(subject_trials, k)?;
        let adapted = fitted.adapt(&first, adaptation)?;
        let seen = TargetAccess::Labelled { per_class: k, unlabelled: 0.0 };
        let context = RecordContext { target_access: context.target_access.and(seen), ..context.clone() };
        curve.records.push(of_one(&*adapted.fitted, &later, &context, part(k))?);
        curve.adapted.push((k, adapted));
    }
    Ok(curve)
}

/// The record that a decoder without anything to tune has in the place of a curve: no shots, on the trials that others are scored on.
pub(crate) fn unadapted(
    fitted: &dyn FittedDecoder,
    subject_trials: &Subset<'_>,
    shots: &[usize],
    context: &RecordContext,
) -> Result<Record> {
    let most = shots.iter().copied().max().unwrap_or(0);
    let (_, later) = calibration_split(subject_trials, most)?;
    let adapted = fitted.with_target_access(subject_trials, context.shown)?;
    let few = Some(FewShot { shots: 0, set_aside: most });
    of_one(adapted.as_deref().unwrap_or(fitted), &later, context, few)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ptsm_signal::{Channel, Layout, SubjectId, Trial, Trials, Unlabelled};

    use super::*;

    /// Decodes everything as the first class, and as the second after unlabelled adaptation to one subject's first trials, so many of them.
    struct Curious {
        layout: Layout,
        adapted: bool,
        wants: usize,
    }

    impl FittedDecoder for Curious {
        fn layout(&self) -> &Layout {
            &self.layout
        }

        fn probabilities(&self, trials: &Subset<'_>) -> ptsm_decode::Result<Vec<f32>> {
            let one = if self.adapted { [0.0, 1.0] } else { [1.0, 0.0] };
            Ok(one.repeat(trials.len()))
        }

        fn adapt_unlabelled(
            &self,
            subjects: &Unlabelled<'_>,
        ) -> ptsm_decode::Result<Option<Box<dyn FittedDecoder>>> {
            let sessions: Vec<_> = subjects.sessions().collect();
            assert_eq!(sessions, vec![sessions[0]; self.wants]);
            Ok(Some(Box::new(Curious { adapted: true, layout: self.layout.clone(), wants: self.wants })))
        }

        fn parameters(&self) -> usize {
            0
        }

        fn to_bytes(&self, _: HashMap<String, String>) -> ptsm_decode::Result<Vec<u8>> {
            Ok(vec![])
        }
    }

    #[test]
    fn a_decoder_is_shown_what_the_context_says() {
        let layout = Layout {
            channels: vec![Channel::named("Cz")],
            samples: 1,
            rate_hz: 1.0,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        let trial = |i: u32| Trial {
            label: u32::from(i.is_multiple_of(4)),
            subject: SubjectId(i / 8),
            session: 1,
            run: 1,
            cue_s: f64::from(i),
        };
        let trials = Trials::new(layout.clone(), vec![0.0; 16], (0..16).map(trial).collect()).unwrap();
        let accuracy = |shown: TargetAccess, wants: usize| {
            let context = RecordContext {
                data: "toy".into(),
                model: "curious".into(),
                variant: None,
                protocol: "none".into(),
                trained_on: None,
                tested: None,
                target_access: shown,
                shown,
                fold: 0,
                seed: 1,
                precision: None,
            };
            let fitted = Curious { layout: layout.clone(), adapted: false, wants };
            let records = score(&fitted, &trials.all(), &context).unwrap();
            records.iter().map(|r| r.scores.accuracy).collect::<Vec<_>>()
        };
        assert_eq!(accuracy(TargetAccess::Nothing, 0), [0.75; 2]);
        assert_eq!(accuracy(TargetAccess::WHOLE, 8), [0.25; 2]);
        assert_eq!(accuracy(TargetAccess::Unlabelled { fraction: 0.5 }, 4), [0.25; 2]);
    }
}

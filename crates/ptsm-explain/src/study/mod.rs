//! Everything that is computed to explain a decoder: only what is asked for, with progress, on subjects it was not trained on.

mod arrays;
mod eyes;
mod features;
mod saliency;
mod sanity;

use std::collections::{BTreeMap, BTreeSet};

use ptsm_decode::recentring::Recentring;
use ptsm_decode::registry::find;
use ptsm_decode::{AdaptationWay, FittedDecoder, Run, TrainingData, ensemble};
use ptsm_eval::{Env, Error, Evaluation, ProgressTask, Result};
use ptsm_signal::{SubjectId, Subset, TargetAccess};

use crate::calibration::LabelledProbabilities;
use crate::findings::{
    Disentanglement, EyeFindings, MaskFindings, ProbabilityFindings, Saliency, SanityChecks,
    UncalibratedProbabilities, mean_over_seeds,
};
use crate::masks::{Masks, masks};
use crate::shuffling::shuffled_labels;

pub use arrays::write_masks;

/// Trials that saliency and deletion tests use, over all subjects; more take minutes and say the same.
const TRIALS: usize = 240;
/// Any number will do, as long as the same run gives the same page.
const SEED: u64 = 2024;
/// Steps of the progress, as many as there are at most.
const STEPS: usize = 15;

/// What is asked about a decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExplainRequest {
    /// The masks.
    pub masks: bool,
    /// Saliency.
    pub saliency: bool,
    /// Sanity checks of both.
    pub sanity_checks: bool,
    /// Whether features of the task and of the subject are apart.
    pub disentanglement: bool,
    /// Whether probabilities are true.
    pub calibration: bool,
    /// How much of the accuracy may be of the eyes.
    pub eyes: bool,
    /// Decoders to train on shuffled labels, whose masks are the null.
    pub nulls: usize,
}

/// What was found; what was not asked for is not there.
#[derive(Default)]
pub struct Explanation {
    /// The masks.
    pub masks: Option<MaskFindings>,
    /// Saliency.
    pub saliency: Option<Saliency>,
    /// Sanity checks of both.
    pub sanity_checks: Option<SanityChecks>,
    /// Whether features of the task and of the subject are apart; none of a decoder without features.
    pub disentanglement: Option<Disentanglement>,
    /// Whether probabilities are true.
    pub calibration: Option<ProbabilityFindings>,
    /// How much of the accuracy may be of the eyes.
    pub eyes: Option<EyeFindings>,
    /// What could not be computed, by its name, and why.
    pub failed: Vec<(&'static str, String)>,
}

impl Explanation {
    /// What cannot be computed of these subjects or this decoder costs its part, not everything. A wish to stop ends everything.
    fn available<T>(&mut self, part: &'static str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(result) => Ok(Some(result)),
            Err(error) if error.is_cancelled() => Err(error),
            Err(error) => {
                self.failed.push((part, format!("It could not be computed: {error}.")));
                Ok(None)
            }
        }
    }
}

/// Explains the decoders of a run on some subjects of its data.
pub fn explain(
    evaluation: &Evaluation,
    subjects: &Subset<'_>,
    request: &ExplainRequest,
    env: &Env,
) -> Result<Explanation> {
    let decoders = adapted_unlabelled(evaluation, subjects)?;
    Study { evaluation, subjects, request, env, decoders }.run()
}

/// The masks of a run: of all trials, of each class, with each seed. Decoders that are adapted without labels are adapted to all trials.
pub fn mask_findings(evaluation: &Evaluation, subjects: &Subset<'_>) -> Result<MaskFindings> {
    masks_of(&adapted_unlabelled(evaluation, subjects)?, evaluation, subjects)
}

fn masks_of(
    decoders: &[StudiedDecoder<'_>],
    evaluation: &Evaluation,
    subjects: &Subset<'_>,
) -> Result<MaskFindings> {
    let of = |trials: &Subset<'_>| -> Result<Vec<Vec<Masks>>> {
        decoders.iter().map(|fitted| masks(fitted.get(), trials)).collect()
    };
    let seeds = of(subjects)?;
    let mut by_class = vec![];
    for (class, name) in (0..).zip(&evaluation.run.card.layout.classes) {
        let own = subjects.only(|t| t.label == class);
        if !own.is_empty() {
            by_class.push((name.clone(), mean_over_seeds(of(&own)?)));
        }
    }
    Ok(MaskFindings { all: mean_over_seeds(seeds.clone()), by_class, seeds, nulls: vec![] })
}

/// What is to be explained.
struct Study<'a> {
    evaluation: &'a Evaluation,
    /// Subjects the decoder was not trained on.
    subjects: &'a Subset<'a>,
    request: &'a ExplainRequest,
    env: &'a Env,
    /// The decoders, one for each seed, as they are after unlabelled adaptation to these subjects.
    decoders: Vec<StudiedDecoder<'a>>,
}

/// Progress that looks at the wish to stop.
struct Steps<'a> {
    task: Box<dyn ProgressTask>,
    done: usize,
    env: &'a Env,
}

impl Steps<'_> {
    fn next(&mut self) -> Result<()> {
        self.done += 1;
        self.task.done(self.done);
        self.env.check_cancelled()
    }
}

/// A decoder as it is, or after unlabelled adaptation to the test subjects.
enum StudiedDecoder<'a> {
    As(&'a dyn FittedDecoder),
    After(Box<dyn FittedDecoder>),
}

impl StudiedDecoder<'_> {
    fn get(&self) -> &dyn FittedDecoder {
        match self {
            StudiedDecoder::As(fitted) => *fitted,
            StudiedDecoder::After(fitted) => &**fitted,
        }
    }
}

impl<'a> Study<'a> {
    fn run(&self) -> Result<Explanation> {
        let wants = self.request;
        let mut found = Explanation::default();
        let few = some(self.subjects, TRIALS);
        if wants.masks || wants.sanity_checks {
            let findings = masks_of(&self.decoders, self.evaluation, self.subjects)?;
            // What has no masks has no null of them.
            let nulls = if wants.masks && !findings.all.is_empty() { self.null_masks()? } else { vec![] };
            found.masks = Some(MaskFindings { nulls, ..findings });
        }
        let mut steps = Steps { task: self.env.begin("explaining", Some(STEPS)), done: 0, env: self.env };
        if wants.saliency || wants.sanity_checks {
            let result = self.saliency(&few);
            found.saliency = found.available("saliency", result)?;
            steps.next()?;
        }
        if wants.sanity_checks {
            let result = self.sanity_checks(&found, &few, &mut steps);
            found.sanity_checks = found.available("sanity-checks", result)?;
        }
        if wants.disentanglement {
            let result = self.disentanglement();
            found.disentanglement = found.available("disentanglement", result)?.flatten();
            steps.next()?;
        }
        if wants.calibration {
            let result = self.calibration();
            found.calibration = found.available("calibration", result)?;
        }
        if wants.eyes {
            let result = self.eyes(found.saliency.as_ref(), &few);
            match found.available("eyes", result)? {
                Some(Ok(eyes)) => found.eyes = Some(eyes),
                Some(Err(why)) => found.failed.push(("eyes", why)),
                None => {}
            }
            steps.next()?;
        }
        Ok(found)
    }

    /// The decoder of the first seed, which stands for all where one is enough.
    fn first(&self) -> &dyn FittedDecoder {
        self.decoders[0].get()
    }

    /// The training subjects and the validation subjects, as far as they are among these data.
    fn training_and_validation(&self) -> [Subset<'_>; 2] {
        let (input, data) = (&self.evaluation.data, &self.evaluation.run.file.data);
        let seen: BTreeSet<SubjectId> = input
            .identities
            .iter()
            .filter(|(_, identity)| identity.is_among(&data.hashes))
            .map(|(subject, _)| *subject)
            .collect();
        // Validation subjects are known by number alone, which means the same subjects only in the same data.
        let validation: BTreeSet<SubjectId> = match input.name == data.name {
            true => seen.intersection(&data.validation).copied().collect(),
            false => BTreeSet::new(),
        };
        let train = seen.difference(&validation).copied().collect();
        [input.trials.of(&train), input.trials.of(&validation)]
    }

    /// Masks of decoders trained on the same subjects with labels shuffled within each subject. What the trials declare about the task is
    /// what the model card declares, so that they are mirrored as the first decoder's were.
    fn null_masks(&self) -> Result<Vec<Vec<Masks>>> {
        let mut found = vec![];
        if self.request.nulls == 0 {
            return Ok(found);
        }
        if !self.evaluation.run.file.data.source_only.is_empty() {
            return Err(Error::request(
                "this decoder was also trained on source-only trials, which a decoder of shuffled labels would lack",
                "leave `--nulls` out",
            ));
        }
        let [train, validation] = self.training_and_validation();
        let card = &self.evaluation.run.card;
        let decoder = find(&card.decoder)?.build(card.settings.clone())?;
        if train.is_empty() || (validation.is_empty() && decoder.uses_validation()) {
            return Err(Error::request(
                "the training subjects of this decoder are not among these data, so that no decoder can be trained on their shuffled labels",
                "give the data it was trained with, or leave `--nulls` out",
            ));
        }
        let trials = &self.evaluation.data.trials;
        let access = unlabelled_access(self.evaluation)?;
        for i in 0..self.request.nulls as u64 {
            let shuffled = trials.relabelled(&shuffled_labels(&trials.all(), SEED + i))?;
            let mut data =
                TrainingData::new(shuffled.of(&train.subjects()), shuffled.of(&validation.subjects()))?;
            if decoder.learns_from_target() {
                data = data.with_target(self.subjects.unlabelled());
            }
            let run = Run { device: &self.env.device, identity: &self.evaluation.data.fingerprint };
            let mut fitting = self.env.watch_fits("shuffled labels");
            let fits = decoder.fit_seeds(&data, &[SEED + i], &run, &mut fitting)?;
            let fitted = &*fits[0].fitted;
            let adapted = fitted.with_target_access(self.subjects, access)?;
            found.push(masks(adapted.as_deref().unwrap_or(fitted), self.subjects)?);
        }
        Ok(found)
    }

    /// The probabilities of all test subjects with every seed, and what they were before calibration; of decoders without one, the
    /// temperature of the validation subjects.
    fn calibration(&self) -> Result<ProbabilityFindings> {
        let predicted = |trials: &Subset<'_>| -> Result<LabelledProbabilities> {
            let (mut probabilities, mut labels) = (vec![], vec![]);
            for fitted in adapted_unlabelled(self.evaluation, trials)? {
                probabilities.extend(fitted.get().probabilities(trials)?);
                labels.extend(trials.labels());
            }
            LabelledProbabilities::new(&probabilities, &labels, trials.layout().classes.len())
        };
        let scored = predicted(self.subjects)?;
        let before = self.before_calibration(&scored)?;
        let [_, validation] = self.training_and_validation();
        let temperature = match validation.is_empty() || self.first().calibration().is_some() {
            true => None,
            false => Some((predicted(&validation)?.temperature(), validation.subjects().len())),
        };
        Ok(ProbabilityFindings { scored, before, temperature, seeds: self.decoders.len() })
    }

    /// Probabilities of all seeds before the calibration of each. Recentred ones, and those of a network whose head was adapted, are changed
    /// after it, which cannot be undone by it.
    fn before_calibration(&self, after: &LabelledProbabilities) -> Result<Option<UncalibratedProbabilities>> {
        let calibrations: Option<Vec<_>> = self.decoders.iter().map(|one| one.get().calibration()).collect();
        let Some(calibrations) = calibrations else { return Ok(None) };
        let (run, settings) = (&self.evaluation.run.file, &self.evaluation.run.card.settings);
        let by_head = run.adapted.as_ref().is_some_and(|to| to.adaptation.how == AdaptationWay::Head);
        // An ensemble's own calibration comes after the heads of its members.
        if Recentring::of(settings)?.is_some() || by_head && ensemble::size(settings)? == 1 {
            return Ok(None);
        }
        let temperatures = calibrations.iter().map(|calibration| calibration.temperature).collect();
        Ok(Some(UncalibratedProbabilities { scored: after.before(&calibrations)?, temperatures }))
    }
}

/// The decoders of a run, each after unlabelled adaptation to these trials where its target access allows it.
fn adapted_unlabelled<'a>(
    evaluation: &'a Evaluation,
    trials: &Subset<'_>,
) -> Result<Vec<StudiedDecoder<'a>>> {
    let access = unlabelled_access(evaluation)?;
    let one = |(_, fitted): &'a (u64, Box<dyn FittedDecoder>)| -> Result<StudiedDecoder<'a>> {
        Ok(fitted
            .with_target_access(trials, access)?
            .map_or(StudiedDecoder::As(&**fitted), StudiedDecoder::After))
    };
    evaluation.run.decoders.iter().map(one).collect()
}

/// What the decoders of a run see of a subject without labels.
fn unlabelled_access(evaluation: &Evaluation) -> Result<TargetAccess> {
    let card = &evaluation.run.card;
    Ok(find(&card.decoder)?.target_access_with(&card.settings)?)
}

/// About so many trials: the first ones of each class of each subject, as many of each, where there are as many.
fn some<'a>(trials: &Subset<'a>, most: usize) -> Subset<'a> {
    let groups = trials.subjects().len() * trials.layout().classes.len();
    let each = (most / groups.max(1)).max(1);
    let mut taken = BTreeMap::<(SubjectId, u32), usize>::new();
    let mut places = vec![];
    for (i, trial) in trials.info().enumerate() {
        let n = taken.entry((trial.subject, trial.label)).or_default();
        if *n < each {
            *n += 1;
            places.push(i);
        }
    }
    trials.at(&places)
}

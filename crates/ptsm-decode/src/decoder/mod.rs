//! The one trait of all decoders, deep and classic.

mod adaptation;
mod sensitivity;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptsm_engine::{Device, replace};
use ptsm_signal::{Layout, Subset, TargetAccess, Unlabelled};

use crate::calibration::LogitCalibration;
use crate::error::{Error, Result};
use crate::head_adaptation::HeadPrior;
pub use adaptation::{Adaptation, AdaptationGuard, AdaptationWay, AdaptedDecoder, calibration_split};
pub use sensitivity::{DecoderOutput, OutputClass, Sensitivity};

/// A decoder with its settings, ready to learn.
pub trait Decoder: Send + Sync {
    /// Fits it once per job. Each result is handed over when it is ready, in any order, with the number of its job. How many
    /// jobs are done at once is the decoder's own affair: networks train as many as the device has room for.
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()>;

    /// Whether it learns from unlabelled trials of the test (target) subjects: its training data then have a target.
    fn learns_from_target(&self) -> bool {
        false
    }

    /// Whether it looks at validation subjects while it learns: to choose an epoch, to be scored after each, to calibrate probabilities. Where
    /// it does not, holding some back would only leave less to learn from, and its training data have none.
    fn uses_validation(&self) -> bool {
        true
    }

    /// Refuses trials that it could not be adapted to ([`FittedDecoder::adapt_unlabelled`]), so that this is known before the fit.
    fn check_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<()> {
        let _ = subjects;
        Ok(())
    }

    /// Numbers it learns from trials of a layout and keeps; none where the trials decide how many.
    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        let _ = layout;
        Ok(None)
    }
}

/// Takes what a job has led to. An error ends the other jobs.
pub type FitSink<'a> = dyn FnMut(usize, Fit) -> Result<()> + 'a;

impl dyn Decoder {
    /// Fits it to the same training data with some seeds, and answers when all are ready, in their order.
    pub fn fit_seeds(
        &self,
        data: &TrainingData<'_>,
        seeds: &[u64],
        run: &Run<'_>,
        watch: &mut dyn Watch,
    ) -> Result<Vec<Fit>> {
        let jobs: Vec<Job<'_>> = seeds.iter().map(|&seed| Job { data, seed, checkpoint: None }).collect();
        self.fit_all(&jobs, run, watch)
    }

    /// Refuses test subjects that it could not be adapted to under this access ([`FittedDecoder::adapt_unlabelled`]).
    pub fn check_subjects(&self, subjects: &Subset<'_>, access: TargetAccess) -> Result<()> {
        unlabelled_part(subjects, access).map_or(Ok(()), |subjects| self.check_unlabelled(&subjects))
    }

    /// Does all jobs and answers in their order.
    pub fn fit_all(&self, jobs: &[Job<'_>], run: &Run<'_>, watch: &mut dyn Watch) -> Result<Vec<Fit>> {
        let mut fits: Vec<Option<Fit>> = jobs.iter().map(|_| None).collect();
        self.fit(jobs, run, watch, &mut |job, fit| {
            fits[job] = Some(fit);
            Ok(())
        })?;
        let ended = |(job, fit): (usize, Option<Fit>)| {
            fit.ok_or_else(|| {
                let (seed, of) = (jobs[job].seed, jobs.len());
                Error::Configuration(format!("job {} of {of} (seed {seed}) ended without a decoder", job + 1))
            })
        };
        fits.into_iter().enumerate().map(ended).collect()
    }
}

/// A fitted decoder.
pub trait FittedDecoder: Send + Sync {
    /// The trials it is for.
    fn layout(&self) -> &Layout;

    /// Class probabilities `[n, K]`, each trial by itself.
    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>>;

    /// Unlabelled adaptation: what the decoder becomes once it has seen unlabelled trials of subjects, each session by itself; none for one that does not adapt.
    /// Whoever hands out data calls `with_target_access`, which calls this where the method may look.
    fn adapt_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<Option<Box<dyn FittedDecoder>>> {
        let _ = subjects;
        Ok(None)
    }

    /// The temperature and the offsets that its probabilities have gone through; none where they were not calibrated.
    fn calibration(&self) -> Option<LogitCalibration> {
        None
    }

    /// Number of its parameters.
    fn parameters(&self) -> usize;

    /// Training subjects it can still tell apart.
    fn known_subjects(&self) -> usize {
        0
    }

    /// Its model file: safetensors with this header.
    fn to_bytes(&self, header: HashMap<String, String>) -> Result<Vec<u8>>;

    /// Writes its model file, whole or not at all.
    fn save(&self, path: &Path, header: HashMap<String, String>) -> Result<()> {
        replace(path, &self.to_bytes(header)?)
            .map_err(|e| Error::file(path, format!("cannot be written: {e}")))
    }

    /// Few-shot adaptation: adapts a copy to one subject by a few labelled trials.
    fn adapt(&self, calibration: &Subset<'_>, adaptation: &Adaptation) -> Result<AdaptedDecoder> {
        let _ = (calibration, adaptation);
        Err(Error::Configuration(
            "this decoder has nothing to adapt; `ptsm models` says which have (\"few-shot\")".into(),
        ))
    }

    /// By how much the heads of subjects differ, as chosen on source subjects; none where it was not.
    fn head_prior(&self) -> Option<HeadPrior> {
        None
    }

    /// How many trials the source's batch-norm statistics count as beside those of a subject ([`norms`](mod@crate::norms)), as chosen on source
    /// subjects; infinity where they stay as they are, none of a decoder whose norms are not adapted.
    fn norm_prior(&self) -> Option<f64> {
        None
    }

    /// The trials as they might look if they were of the subject whose other trials are given, `[n, C, T]`, in the unit of those trials.
    fn convert(&self, trials: &Subset<'_>, like: &Subset<'_>) -> Result<Vec<f32>> {
        let _ = (trials, like);
        Err(cannot_convert())
    }

    /// Values inside the decoder by name (masks, features), one `[n, ..]` per name in order; none where it has no such value.
    fn intermediate_values(&self, trials: &Subset<'_>, names: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
        let _ = (trials, names);
        Ok(None)
    }

    /// How an answer to each trial changes with every sample of that trial; none for a decoder that does not say (the classic ones, TSMNet).
    fn sensitivity(&self, trials: &Subset<'_>, of: DecoderOutput) -> Result<Option<Sensitivity>> {
        let _ = (trials, of);
        Ok(None)
    }

    /// The same decoder with its parameters randomised, as before a training with this seed: what knows nothing should look different.
    /// None where nothing begins at random (the classic ones) or the statistics of sessions it was adapted to would not fit any more (TSMNet).
    fn with_random_parameters(&self, seed: u64) -> Result<Option<Box<dyn FittedDecoder>>> {
        let _ = seed;
        Ok(None)
    }
}

/// What a decoder says that does not convert trials.
pub(crate) fn cannot_convert() -> Error {
    Error::Configuration(
        "this decoder cannot convert trials; `ptsm models --json` says which can (`converts`)".into(),
    )
}

impl dyn FittedDecoder + '_ {
    /// What it becomes once it has seen of some subjects what its method may see of them; none where that is nothing, or where it does not
    /// look.
    pub fn with_target_access(
        &self,
        subjects: &Subset<'_>,
        access: TargetAccess,
    ) -> Result<Option<Box<dyn FittedDecoder>>> {
        unlabelled_part(subjects, access).map_or(Ok(None), |subjects| self.adapt_unlabelled(&subjects))
    }
}

/// What a decoder is shown of subjects before it decodes them: of a part, the first trials of each session.
fn unlabelled_part<'a>(subjects: &Subset<'a>, access: TargetAccess) -> Option<Unlabelled<'a>> {
    match access {
        TargetAccess::Unlabelled { fraction } => Some(subjects.first_of_sessions(fraction).unlabelled()),
        _ => None,
    }
}

/// What a decoder is fitted to: trials of training subjects, and of validation subjects for early stopping.
pub struct TrainingData<'a> {
    train: Subset<'a>,
    validation: Subset<'a>,
    target: Option<Unlabelled<'a>>,
}

impl<'a> TrainingData<'a> {
    /// Checks that the data can be trained on: two classes, enough trials, no subject on both sides.
    pub fn new(train: Subset<'a>, validation: Subset<'a>) -> Result<TrainingData<'a>> {
        let classes = &train.layout().classes;
        let counts = train.class_counts();
        if train.len() < 4 {
            return Err(Error::trials(
                format!("{} trials are too few to learn from", train.len()),
                "at least 4 are needed, of at least 2 classes",
            ));
        }
        if let Some(absent) = counts.iter().position(|&n| n == 0) {
            return Err(Error::trials(
                format!("no training trial is of class `{}`; the counts are {counts:?}", classes[absent]),
                "give subjects whose trials have all classes, or data with fewer classes",
            ));
        }
        if classes.len() < 2 {
            return Err(Error::trials(
                format!("all trials are of class `{}`", classes[0]),
                "a decoder needs at least 2 classes to tell apart",
            ));
        }
        if let Some(both) = train.subjects().intersection(&validation.subjects()).next() {
            return Err(Error::trials(
                format!("{both} is both in training and in validation"),
                "validation is whole subjects that training never sees",
            ));
        }
        Ok(TrainingData { train, validation, target: None })
    }

    /// The same with the unlabelled trials of the test subjects.
    pub fn with_target(self, target: Unlabelled<'a>) -> TrainingData<'a> {
        TrainingData { target: Some(target), ..self }
    }

    /// Trials of the training subjects.
    pub fn train(&self) -> &Subset<'a> {
        &self.train
    }

    /// Trials of the validation subjects.
    pub fn validation(&self) -> &Subset<'a> {
        &self.validation
    }

    /// Their trials without labels, where the decoder learns from them.
    pub fn target(&self) -> Option<&Unlabelled<'a>> {
        self.target.as_ref()
    }
}

/// One fit that is wanted.
pub struct Job<'a> {
    /// What to learn from.
    pub data: &'a TrainingData<'a>,
    /// Decides everything random.
    pub seed: u64,
    /// A file to continue from and to write what has been done to.
    pub checkpoint: Option<PathBuf>,
}

/// How a decoder is fitted: everything that is not what it learns from.
pub struct Run<'a> {
    /// Where to work.
    pub device: &'a Device,
    /// What checkpoints belong to, besides the settings: a fingerprint of the data.
    pub identity: &'a str,
}

/// One decoder fitted, and how that went. Several decoders can be made of one fit ([`Composition`](crate::Composition)).
#[derive(Clone)]
pub struct Fit {
    /// The decoder.
    pub fitted: Arc<dyn FittedDecoder>,
    /// The seed it was fitted with.
    pub seed: u64,
    /// Every epoch in order; none for decoders without.
    pub history: Vec<EpochRecord>,
    /// The epoch that was kept, counted from 1; none of an ensemble, each of whose members kept its own.
    pub best_epoch: Option<usize>,
    /// The members of an ensemble; none of a single decoder.
    pub members: Vec<EnsembleMember>,
}

/// One of the decoders that decode together as an ensemble, and how its fit went.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnsembleMember {
    /// The seed it was fitted with.
    pub seed: u64,
    /// The epoch that was kept, counted from 1; none of a decoder without epochs.
    pub best_epoch: Option<usize>,
}

/// One epoch of one seed.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// The seed.
    pub seed: u64,
    /// Mean over the epoch's steps of the total loss and of its parts, by name.
    pub losses: Vec<(String, f64)>,
    /// Balanced accuracy on the validation subjects; none without such.
    pub validation_accuracy: Option<f64>,
    /// Cross-entropy on the validation subjects, at the epoch's own best temperature where that chooses the epoch; none without such.
    pub validation_loss: Option<f64>,
    /// The learning rate at the epoch's end.
    pub rate: f64,
}

/// How far the jobs have come.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Steps done, over all jobs; one that ends early counts as done to its end.
    pub step: usize,
    /// Steps of all jobs.
    pub steps: usize,
    /// Epochs finished by the job under way that has come least far.
    pub epoch: usize,
    /// Epochs at most.
    pub epochs: usize,
    /// Jobs that have ended, and all of them.
    pub jobs: (usize, usize),
    /// Trials per second, over all jobs, since this process began.
    pub trials_per_second: f64,
    /// What has just ended: the last epoch of one job or more.
    pub ended: &'a [EpochRecord],
}

/// Someone who watches a fit and may stop it.
pub trait Watch {
    /// After every step; [`Progress::ended`] is filled after the last of an epoch.
    fn progress(&mut self, progress: &Progress<'_>) {
        let _ = progress;
    }

    /// Whether to stop now. The fit then ends with [`Error::Stopped`]; what was done since the last checkpoint is done again.
    fn stop(&self) -> bool {
        false
    }
}

/// Watches nothing.
pub struct NoWatch;

impl Watch for NoWatch {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ptsm_engine::Cpu;
    use ptsm_signal::{Channel, SubjectId, Trial, Trials};

    use super::*;

    /// Hands over every fit but that of the first job.
    struct Forgetful;

    impl Decoder for Forgetful {
        fn fit(
            &self,
            jobs: &[Job<'_>],
            _: &Run<'_>,
            _: &mut dyn Watch,
            done: &mut FitSink<'_>,
        ) -> Result<()> {
            (1..jobs.len()).try_for_each(|i| {
                let fitted = Arc::new(Coin(jobs[i].data.train().layout().clone()));
                done(
                    i,
                    Fit { fitted, seed: jobs[i].seed, history: vec![], best_epoch: None, members: vec![] },
                )
            })
        }
    }

    struct Coin(Layout);

    impl FittedDecoder for Coin {
        fn layout(&self) -> &Layout {
            &self.0
        }

        fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
            Ok(vec![0.5; 2 * trials.len()])
        }

        fn parameters(&self) -> usize {
            0
        }

        fn to_bytes(&self, _: HashMap<String, String>) -> Result<Vec<u8>> {
            Ok(vec![])
        }
    }

    #[test]
    fn a_missing_fit_is_an_error_and_does_not_move_the_others() {
        let layout = Layout {
            channels: vec![Channel::named("Cz")],
            samples: 1,
            rate_hz: 1.0,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        let trial =
            |i: u32| Trial { label: i % 2, subject: SubjectId(i / 4), session: 1, run: 1, cue_s: 0.0 };
        let trials = Trials::new(layout, vec![0.0; 8], (0..8).map(trial).collect()).unwrap();
        let of = |id: u32| trials.of(&BTreeSet::from([SubjectId(id)]));
        let data = TrainingData::new(of(0), of(1)).unwrap();
        let device = (&Cpu::new().unwrap()).into();
        let run = Run { device: &device, identity: "" };
        let decoder: &dyn Decoder = &Forgetful;
        let error = decoder.fit_seeds(&data, &[7, 8], &run, &mut NoWatch).err().unwrap();
        assert!(error.to_string().contains("job 1 of 2 (seed 7)"), "{error}");
    }
}

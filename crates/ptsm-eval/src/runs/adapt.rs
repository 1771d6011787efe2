//! Few-shot adaptation of a run to one subject.

use std::path::PathBuf;

use ptsm_data::SubjectList;
use ptsm_decode::file::{self, ModelCard};
use ptsm_decode::{Adaptation, AdaptationGuard, calibration_split};
use ptsm_signal::{SubjectId, TargetAccess};

use super::file::{AdaptedFile, model_name};
use super::trained::TrainedRun;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::folder::MODELS;
use crate::input::DataRequest;
use crate::phrases;
use crate::record::Record;
use crate::score::{RecordContext, learning_curve};

/// Which run is adapted to which subject.
#[derive(Clone, Debug)]
pub struct AdaptRequest {
    /// The run's folder.
    pub run: PathBuf,
    /// The data.
    pub data: DataRequest,
    /// The subject's number in them.
    pub subject: u32,
    /// Labelled trials of each class.
    pub shots: usize,
    /// How the masks are tuned.
    pub adaptation: Adaptation,
    /// The folder of the adapted run.
    pub out: PathBuf,
}

impl AdaptRequest {
    /// One labelled trial of each class, with the defaults of the method.
    pub fn new(
        run: impl Into<PathBuf>,
        data: DataRequest,
        subject: u32,
        out: impl Into<PathBuf>,
    ) -> AdaptRequest {
        AdaptRequest {
            run: run.into(),
            data,
            subject,
            shots: 1,
            adaptation: Adaptation::default(),
            out: out.into(),
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct AdaptReport {
    /// The target access of the adapted decoders.
    pub target_access: TargetAccess,
    /// One for each seed.
    pub fits: Vec<AdaptedFit>,
}

/// One decoder, before and after.
#[derive(Clone, Debug)]
pub struct AdaptedFit {
    /// Its seed.
    pub seed: u64,
    /// The file of the adapted decoder.
    pub model: PathBuf,
    /// Trials it was adapted with.
    pub calibration_trials: usize,
    /// What leave-one-out on those said; none without it.
    pub guard: Option<AdaptationGuard>,
    /// Scores of the later trials as it was.
    pub before: Record,
    /// Scores of the later trials as it is now.
    pub after: Record,
}

/// Adapts every decoder of a run to one subject by a few labelled trials, and scores it on the later ones.
pub fn adapt(args: &AdaptRequest, env: &Env) -> Result<AdaptReport> {
    let trained = TrainedRun::load(&args.run, &env.device)?;
    let subjects: SubjectList = args.subject.to_string().parse()?;
    let input = trained.prepare(&DataRequest { subjects: Some(subjects), ..args.data.clone() }, true, env)?;
    let trials = input.trials.all();
    if args.shots == 0 {
        return Err(Error::request("`--shots 0` leaves nothing to adapt to", "give at least 1"));
    }
    trained.check_adapts(args.adaptation.how)?;
    let id = SubjectId(args.subject);
    if trained.file.known_subjects(&input).contains(&id) {
        return Err(Error::request(
            format!(
                "the decoder was {} on {id}; scores before and after would mean nothing",
                trained.file.involvement()
            ),
            "name an unseen subject",
        ));
    }
    trained.check_unadapted("adapt the run it was made from")?;
    let (_, later) = calibration_split(&trials, args.shots)?;
    if later.is_empty() {
        return Err(Error::request(
            format!("{} shots take all trials; none is left to score", args.shots),
            "ask for fewer shots",
        ));
    }
    let adaptation = args.adaptation.clone();
    let parts = trained.file.access(&trained.card, &input, &trials);
    let access_before = parts.into_iter().fold(TargetAccess::Nothing, |all, (access, _)| all.and(access));
    let mut adapted_run = trained.file.clone();
    adapted_run.command = "adapt".into();
    let adapted_to = AdaptedFile {
        subject: id,
        trials_hash: input
            .identities
            .get(&id)
            .map(|trials_hash| trials_hash.trials.clone())
            .unwrap_or_default(),
        shots: args.shots,
        adaptation: adaptation.clone(),
    };
    let seen = adapted_to.target_access();
    adapted_run.adapted = Some(adapted_to);
    let folder = adapted_run.open(&args.out)?;
    folder.lock_note().into_iter().for_each(|note| env.note_once(note));
    folder.inner(MODELS)?;
    let mut fits = vec![];
    for (seed, fitted) in &trained.decoders {
        env.check_cancelled()?;
        let context = RecordContext {
            variant: phrases::variant(&trained.card.settings),
            precision: trained.file.precision.clone(),
            ..RecordContext::trained_on_others(&input.name, &trained.card.decoder, access_before, *seed)
        };
        let curve = learning_curve(&**fitted, &trials, &[args.shots], &adaptation, &context)?;
        let [before, after] = &curve.records[..] else {
            return Err(Error::request("adaptation gave no score", "report this"));
        };
        let (_, adapted) = &curve.adapted[0];
        let card = ModelCard { target_access: trained.card.target_access.and(seen), ..trained.card.clone() };
        file::save(&folder.join(&model_name(*seed)), &*adapted.fitted, &card)?;
        fits.push(AdaptedFit {
            seed: *seed,
            model: args.out.join(model_name(*seed)),
            calibration_trials: adapted.trials,
            guard: adapted.guard,
            before: before.clone(),
            after: after.clone(),
        });
    }
    Ok(AdaptReport { target_access: access_before.and(seen), fits })
}

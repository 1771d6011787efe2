//! The eye test: what decoders lose without what eyes leave in frontal channels, and what those channels tell by themselves.
//!
//! Eyes that follow a cue tell where it was. Nothing here tells eyes from the frontal brain: every number is of frontal channels, and what is lost
//! without them is an upper bound of what eyes give.

use std::collections::BTreeMap;

use ptsm_decode::registry::find;
use ptsm_decode::{Run, TrainingData};
use ptsm_eval::{Record, RecordContext, Result, Summary, phrases, score};
use ptsm_signal::{
    Alignment, Layout, OcularRegression, Pipeline, Reference, Scaling, SubjectId, Subset, Symmetry,
    TargetAccess, TaskDeclaration, Trials, frontal,
};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::{SEED, Study};
use crate::deletion::is_of_signals;
use crate::findings::{EyeCondition, EyeFindings, EyeScores, FrontalDecoder, FrontalSaliency, Saliency};
use crate::removal::{Fill, RemovedPart, trials_without};

/// Draws of channels that take the place of the frontal ones.
const DRAWS: usize = 5;
/// How long a time bin of frontal potentials is at least: eyes are slower than the brain's responses.
const BIN_S: f64 = 0.1;
/// Bins of all frontal channels at most: their discriminant takes a matrix of so many rows.
const MOST_BINS: f64 = 600.0;

impl Study<'_> {
    /// The eye test of these subjects, or why there can be none. `saliency` is that of some trials where it was computed already, `few` are
    /// those trials.
    pub(super) fn eyes(
        &self,
        saliency: Option<&Saliency>,
        few: &Subset<'_>,
    ) -> Result<std::result::Result<EyeFindings, String>> {
        let layout = self.subjects.layout();
        let pipeline = &self.evaluation.data.pipeline;
        let places = match frontal_places(layout, pipeline) {
            Ok(places) => places,
            Err(why) => return Ok(Err(why)),
        };
        let (mut scores, mut unscored) = (vec![], vec![]);
        for condition in EyeCondition::ALL {
            match self.scores_under(condition, &places) {
                Ok(Ok(summary)) => scores.push(EyeScores { condition, summary }),
                Ok(Err(why)) => unscored.push((condition, why)),
                // A decoder may refuse epochs with empty channels; what it makes of whole ones is needed.
                Err(error) if condition != EyeCondition::AsTheyAre && is_of_signals(&error) => {
                    unscored.push((condition, error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        let (frontal_decoders, mut missing) = self.frontal_decoders(&places)?;
        let saliency = match self.frontal_saliency(saliency, few, &places) {
            Ok(saliency) => Some(saliency),
            Err(error) if is_of_signals(&error) => {
                missing.push(format!("The saliency on frontal channels could not be computed: {error}."));
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Ok(EyeFindings {
            frontal: places.iter().map(|&c| layout.channels[c].name.clone()).collect(),
            channels: layout.channels.len(),
            unplaced: layout.channels.iter().filter(|channel| channel.position.is_none()).count(),
            scores,
            unscored,
            frontal_decoders,
            missing,
            saliency,
            average_reference: pipeline.reference == Reference::Average,
            low_hz: [pipeline.band, pipeline.epoch_band]
                .into_iter()
                .flatten()
                .filter_map(|band| band.low_hz)
                .reduce(f64::max),
            epoch_s: layout.samples as f64 / layout.rate_hz,
        }))
    }

    /// The frontal channels' share of the saliency in each subject.
    fn frontal_saliency(
        &self,
        saliency: Option<&Saliency>,
        few: &Subset<'_>,
        places: &[usize],
    ) -> Result<FrontalSaliency> {
        let (method, of) = match saliency {
            Some(found) => (found.method.clone(), found.by_subject.clone()),
            None => {
                let (method, relevance) = self.relevance(self.first(), few)?;
                (method.to_string(), relevance.by_subject(method, few))
            }
        };
        let shares = of.space.iter().map(|row| share_on(places, row)).collect();
        Ok(FrontalSaliency { method, subjects: of.subjects, shares })
    }

    /// The scores of the run's decoders under one condition, or why there are none.
    fn scores_under(
        &self,
        condition: EyeCondition,
        places: &[usize],
    ) -> Result<std::result::Result<Summary, String>> {
        let channels = self.subjects.layout().channels.len();
        let others: Vec<usize> = (0..channels).filter(|c| !places.contains(c)).collect();
        let drawn = matches!(condition, EyeCondition::WithoutOthers | EyeCondition::RegressedOnOthers);
        if drawn && others.len() <= places.len() {
            return Ok(Err(format!(
                "{} of {channels} channels are frontal, so that there are not as many others to draw from",
                places.len()
            )));
        }
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        let mut draw = || {
            let mut drawn = others.clone();
            drawn.shuffle(&mut random);
            drawn.truncate(places.len());
            drawn
        };
        // Which channels it is about: of those that are drawn several times.
        let about: Vec<Vec<usize>> = match condition {
            EyeCondition::AsTheyAre => vec![vec![]],
            EyeCondition::Regressed | EyeCondition::WithoutFrontal => vec![places.to_vec()],
            EyeCondition::RegressedOnOthers | EyeCondition::WithoutOthers => {
                (0..DRAWS).map(|_| draw()).collect()
            }
            EyeCondition::OnlyFrontal => vec![others.clone()],
        };
        let run = &self.evaluation.run;
        let shown = find(&run.card.decoder)?.target_access_with(&run.card.settings)?;
        let regression = match condition {
            EyeCondition::Regressed | EyeCondition::RegressedOnOthers => TargetAccess::WHOLE,
            _ => TargetAccess::Nothing,
        };
        let mut records: Vec<Record> = vec![];
        for (fold, about) in about.iter().enumerate() {
            // Subject by subject, so that not all their epochs are there twice.
            for subject in self.subjects.subjects() {
                self.env.check_cancelled()?;
                let own = self.subjects.only(|t| t.subject == subject);
                let changed = match condition {
                    EyeCondition::AsTheyAre => None,
                    EyeCondition::Regressed | EyeCondition::RegressedOnOthers => {
                        Some(regressed(&own, about)?)
                    }
                    _ => {
                        let gone = |_: SubjectId| about.iter().map(|&c| RemovedPart::Channel(c)).collect();
                        Some(trials_without(&own, &gone, Fill::Zero)?)
                    }
                };
                let epochs = changed.as_ref().map_or(own, Trials::all);
                for (seed, fitted) in &run.decoders {
                    let access = run.card.target_access.and(regression);
                    let context = RecordContext {
                        variant: Some(condition.label().into()),
                        shown,
                        fold,
                        ..RecordContext::trained_on_others(
                            &self.evaluation.data.name,
                            &run.card.decoder,
                            access,
                            *seed,
                        )
                    };
                    records.extend(score(&**fitted, &epochs, &context)?);
                }
            }
        }
        Ok(Summary::of(&records)?.into_iter().next().ok_or_else(|| "no subject has trials".into()))
    }

    /// Decoders of frontal channels alone, and what could not be trained.
    ///
    /// Two that see different things and are fitted in seconds: means of time bins have the sign of a potential, by which a look to the left
    /// differs from one to the right; covariances do not have it, but see power, as of blinks, muscles and frontal rhythms.
    fn frontal_decoders(&self, places: &[usize]) -> Result<(Vec<FrontalDecoder>, Vec<String>)> {
        let [train, _] = self.training_and_validation();
        let (mut found, mut missing) = (vec![], vec![]);
        if train.is_empty() {
            missing.push(
                "No decoder was trained on frontal channels alone: the training subjects of this run are not among these data. Give the data it \
                 was trained with, and name the test subjects with `--subjects`."
                    .into(),
            );
            return Ok((found, missing));
        }
        let (train, test) =
            (only_channels(&balanced(&train), places)?, only_channels(self.subjects, places)?);
        let layout = train.layout();
        let duration = layout.samples as f64 / layout.rate_hz;
        let bin_s = BIN_S.max(duration * places.len() as f64 / MOST_BINS).min(duration);
        let chosen: [(&str, &str, Value); 2] = [
            ("slda-erp", "potentials over time, with their sign", json!({ "bin_s": bin_s })),
            ("ts-lr", "power and covariance", json!({ "band_hz": null })),
        ];
        for (name, sees, changes) in chosen {
            match self.frontal_decoder(name, &changes, &train, &test) {
                Ok(summary) => found.push(FrontalDecoder {
                    sees: sees.into(),
                    training_subjects: train.subjects().len(),
                    summary,
                }),
                Err(error) if is_of_signals(&error) => {
                    missing.push(format!(
                        "{name} could not be trained on frontal channels, or could not decode them: {error}."
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((found, missing))
    }

    fn frontal_decoder(&self, name: &str, changes: &Value, train: &Trials, test: &Trials) -> Result<Summary> {
        let method = find(name)?;
        let decoder = method.build(method.settings(train.layout(), changes)?)?;
        let data = TrainingData::new(train.all(), train.all().at(&[]))?;
        let run = Run { device: &self.env.device, identity: &self.evaluation.data.fingerprint };
        let mut fitting = self.env.watch_fits("frontal channels");
        let fits = decoder.fit_seeds(&data, &[SEED], &run, &mut fitting)?;
        let access = self.evaluation.data.access();
        let context = RecordContext {
            variant: Some("frontal".into()),
            ..RecordContext::trained_on_others(&self.evaluation.data.name, name, access, SEED)
        };
        let records = score(&*fits[0].fitted, &test.all(), &context)?;
        let summary = Summary::of(&records)?.into_iter().next();
        Ok(summary.expect("subjects that are explained have trials"))
    }
}

/// Places of the frontal channels, or why an eye test would say nothing.
fn frontal_places(layout: &Layout, pipeline: &Pipeline) -> std::result::Result<Vec<usize>, String> {
    if pipeline.alignment != Alignment::None {
        return Err(
            "The eye test needs channels that are electrodes: these epochs are aligned (whitened), so that each channel is a mixture of all and \
             none is frontal. A decoder that is trained without alignment (`ptsm train --align none`) can be tested."
                .into(),
        );
    }
    let channels = &layout.channels;
    let places = frontal(channels);
    let unplaced = channels.iter().filter(|channel| channel.position.is_none()).count();
    match places.len() {
        0 if pipeline.ocular.is_some() => Err(
            "The pipeline of this run has ocular regression (`pipeline.ocular`), which has taken what frontal channels explain off the others and \
             dropped them: the decoder never saw them, and no eye test is left to do."
                .into(),
        ),
        0 if unplaced > 0 => Err(format!(
            "The eye test needs electrodes in the frontal region: none of these {} is known to be there, and {unplaced} of them have no known \
             position. Give positions, or names of the 10-05 system (`positions` or `channels` of an `.npz` file).",
            phrases::count(channels.len(), "channel")
        )),
        0 => Err(format!(
            "The eye test needs electrodes in the frontal region (Fp1, Fpz, Fp2, AF7, AF3, AFz, AF4, AF8, F7 to F10): none of these {} is there. \
             Record or pick (`pipeline.pick`) one of them.",
            phrases::count(channels.len(), "channel")
        )),
        n if n == channels.len() => Err(format!(
            "The eye test compares frontal channels with others: all {} are frontal. Pick others besides (`pipeline.pick`).",
            phrases::count(n, "channel")
        )),
        _ => Ok(places),
    }
}

/// Epochs after ocular regression on some channels over each subject and session, as the pipeline does it (`pipeline.ocular`). Those channels, which
/// it explains altogether, are empty.
fn regressed(epochs: &Subset<'_>, places: &[usize]) -> Result<Trials> {
    let layout = epochs.layout();
    let samples = layout.samples;
    let whole: Vec<f32> = epochs.signals().flatten().copied().collect();
    let pipeline = Pipeline {
        // Their own window, of which nothing is cropped.
        window_s: [layout.start_s, layout.start_s + samples as f64 / layout.rate_hz],
        ocular: Some(OcularRegression::Channels(
            places.iter().map(|&c| layout.channels[c].name.clone()).collect(),
        )),
        scaling: Scaling::None,
        ..Pipeline::default()
    };
    let signals = |error| ptsm_decode::Error::from(error);
    let others = pipeline.finish(epochs.with_samples(whole).map_err(signals)?).map_err(signals)?;
    let mut x = vec![0.0; epochs.len() * layout.channels.len() * samples];
    for (row, to) in x.chunks_exact_mut(layout.channels.len() * samples).enumerate() {
        let rows = (0..layout.channels.len()).filter(|c| !places.contains(c));
        for (c, from) in rows.zip(others.signal(row).chunks_exact(samples)) {
            to[c * samples..][..samples].copy_from_slice(from);
        }
    }
    Ok(epochs.with_samples(x).map_err(signals)?)
}

/// The same epochs with some channels only. Nothing is declared about mirroring: of a pair one side may be missing.
fn only_channels(epochs: &Subset<'_>, places: &[usize]) -> Result<Trials> {
    let own = epochs.layout();
    let layout = Layout {
        channels: places.iter().map(|&c| own.channels[c].clone()).collect(),
        task: TaskDeclaration { symmetry: Symmetry::Undeclared, ..own.task.clone() },
        ..own.clone()
    };
    let rows = |signal| places.iter().flat_map(move |&c| channel(signal, c, own.samples));
    let x: Vec<f32> = epochs.signals().flat_map(rows).copied().collect();
    Ok(Trials::new(layout, x, epochs.info().copied().collect()).map_err(ptsm_decode::Error::from)?)
}

fn channel(signal: &[f32], c: usize, samples: usize) -> &[f32] {
    &signal[c * samples..][..samples]
}

/// As many trials of each class as the rarest has, for each subject, spread over the recording: the discriminant would otherwise answer the most
/// frequent class, whatever it sees.
fn balanced<'a>(trials: &Subset<'a>) -> Subset<'a> {
    let mut groups = BTreeMap::<SubjectId, BTreeMap<u32, Vec<usize>>>::new();
    for (i, trial) in trials.info().enumerate() {
        groups.entry(trial.subject).or_default().entry(trial.label).or_default().push(i);
    }
    let mut kept = vec![];
    for classes in groups.values() {
        let least = classes.values().map(Vec::len).min().unwrap_or(0);
        for places in classes.values() {
            kept.extend((0..least).map(|i| places[i * places.len() / least]));
        }
    }
    kept.sort_unstable();
    trials.at(&kept)
}

/// The share of some channels of the sum over all; not a number where that is nothing.
fn share_on(places: &[usize], row: &[f64]) -> f64 {
    places.iter().map(|&c| row[c]).sum::<f64>() / row.iter().sum::<f64>()
}

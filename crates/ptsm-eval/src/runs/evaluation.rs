//! A run on data: the subjects it may be scored on, and the scores.

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_data::SubjectList;
use ptsm_decode::registry::find;
use ptsm_decode::{Adaptation, AdaptationWay, calibration_split};
use ptsm_signal::{SubjectId, Subset, TargetAccess};

use super::file::{AdaptedFile, RunFile};
use super::trained::TrainedRun;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::input::{DataRequest, PreparedData};
use crate::phrases;
use crate::record::Record;
use crate::score::{RecordContext, learning_curve, score};

/// A run, and labelled trials for it.
pub struct Evaluation {
    /// The decoders.
    pub run: TrainedRun,
    /// The trials.
    pub data: PreparedData,
}

impl Evaluation {
    /// Loads a run and trials for it.
    pub fn load(run: &Path, data: &DataRequest, env: &Env) -> Result<Evaluation> {
        let run = TrainedRun::load(run, &env.device)?;
        let data = run.prepare(data, true, env)?;
        Ok(Evaluation { run, data })
    }

    /// Who is scored: those it was not trained on; of an adapted run the later trials of the subject it is adapted to.
    pub fn scored_subjects(&self, named: bool) -> Result<Subset<'_>> {
        match &self.run.file.adapted {
            None => Ok(self.data.trials.of(&unseen(&self.run.file, &self.data, named)?)),
            Some(adapted) => adapted_to(adapted, &self.data),
        }
    }

    /// The same where the trials of all subjects are at hand and some may be named.
    pub fn select_subjects(&self, named: Option<&SubjectList>) -> Result<Subset<'_>> {
        let allowed = self.scored_subjects(false)?;
        let Some(named) = named else { return Ok(allowed) };
        let selected = self.data.choose(named)?;
        if let Some(other) = selected.difference(&allowed.subjects()).next() {
            return Err(Error::request(
                format!(
                    "the decoder was {} on {other}, or is adapted to another subject",
                    self.run.file.involvement()
                ),
                "name other subjects, or leave `--subjects` out to score all that may be scored",
            ));
        }
        Ok(allowed.only(|t| selected.contains(&t.subject)))
    }

    fn context(&self, seed: u64, target_access: TargetAccess) -> Result<RecordContext> {
        Ok(RecordContext {
            shown: find(&self.run.card.decoder)?.target_access_with(&self.run.card.settings)?,
            variant: phrases::variant(&self.run.card.settings),
            precision: self.run.file.precision.clone(),
            ..RecordContext::trained_on_others(&self.data.name, &self.run.card.decoder, target_access, seed)
        })
    }

    /// Everybody's scores with every seed.
    pub fn records(&self, trials: &Subset<'_>) -> Result<Vec<Record>> {
        let mut records = vec![];
        for (seed, fitted) in &self.run.decoders {
            for (access, part) in self.run.file.access(&self.run.card, &self.data, trials) {
                records.extend(score(&**fitted, &part, &self.context(*seed, access)?)?);
            }
        }
        Ok(records)
    }

    /// Scores of all subjects after few-shot adaptation with so many trials of each class.
    pub fn curve(
        &self,
        trials: &Subset<'_>,
        shots: &[usize],
        adaptation: &Adaptation,
        env: &Env,
    ) -> Result<Vec<Record>> {
        let mut curve = vec![];
        if shots.is_empty() {
            return Ok(curve);
        }
        let subjects = trials.subjects();
        let decoders = &self.run.decoders;
        let progress = env.begin("adapting", Some(decoders.len() * subjects.len()));
        let mut done = 0;
        for (seed, fitted) in decoders {
            for &subject in &subjects {
                env.check_cancelled()?;
                let own = trials.only(|t| t.subject == subject);
                let context = self.context(*seed, self.run.card.target_access)?;
                curve.extend(learning_curve(&**fitted, &own, shots, adaptation, &context)?.records);
                done += 1;
                progress.done(done);
            }
        }
        Ok(curve)
    }

    /// The numbers of shots, each once and in order, refused before hours of work where somebody has too few trials.
    pub fn shots(&self, shots: &[usize], how: AdaptationWay, trials: &Subset<'_>) -> Result<Vec<usize>> {
        if shots.contains(&0) {
            return Err(Error::request(
                "0 shots are too few to adapt to; the unadapted decoder is scored anyway",
                "give at least one",
            ));
        }
        let shots: BTreeSet<usize> = shots.iter().copied().collect();
        let Some(&most) = shots.last() else { return Ok(vec![]) };
        self.run.check_adapts(how)?;
        self.run.check_unadapted("give the run it was made from")?;
        for subject in trials.subjects() {
            let (_, later) = calibration_split(&trials.only(|t| t.subject == subject), most)?;
            if later.is_empty() {
                return Err(Error::request(
                    format!("{most} shots take all trials of {subject}; none is left to score"),
                    "ask for fewer shots",
                ));
            }
        }
        Ok(shots.into_iter().collect())
    }
}

/// The trials of the subject a run was adapted to that are later than those it was adapted with. Nobody else: for them it is another
/// decoder, whose scores would stand beside the wrong access.
fn adapted_to<'a>(adapted: &AdaptedFile, data: &'a PreparedData) -> Result<Subset<'a>> {
    let own = data.identities.iter().find(|(_, identity)| identity.trials == adapted.trials_hash);
    let Some((&subject, _)) = own else {
        return Err(Error::request(
            format!("this run is adapted to {}, whose trials these are not", adapted.subject),
            "give the data it was adapted with, or the run it was made from",
        ));
    };
    Ok(calibration_split(&data.trials.of(&[subject].into()), adapted.shots)?.1)
}

/// All subjects the decoder was not trained on. Others that are asked for by name are refused.
fn unseen(run: &RunFile, data: &PreparedData, named: bool) -> Result<BTreeSet<SubjectId>> {
    let present = data.trials.subjects();
    let (seen, made) = (run.known_subjects(data), run.involvement());
    if named && let Some(first) = seen.first() {
        return Err(Error::request(
            match seen.len() {
                1 => format!("the decoder was {made} on {first}"),
                n => format!("the decoder was {made} on {n} of those asked for, {first} among them"),
            },
            format!("name other subjects, or leave `--subjects` out to score all it was not {made} on"),
        ));
    }
    let unseen: BTreeSet<SubjectId> = present.difference(&seen).copied().collect();
    if unseen.is_empty() {
        return Err(Error::request(
            format!("the decoder was {made} on all subjects of these data"),
            "train on some of them with `--subjects`, or use `ptsm benchmark`",
        ));
    }
    Ok(unseen)
}

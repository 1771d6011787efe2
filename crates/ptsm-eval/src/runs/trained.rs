//! A run's decoders.

use std::path::{Path, PathBuf};

use ptsm_decode::file::{self, ModelCard};
use ptsm_decode::registry::find;
use ptsm_decode::{AdaptationWay, EpochRecord, FittedDecoder};
use ptsm_engine::Device;

use super::file::{RunFile, models, read};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::folder::LOG;
use crate::input::{DataRequest, PreparedData, load_for_decoder};

/// The decoders of a run, one for each seed, with what they share.
pub struct TrainedRun {
    /// The folder.
    pub path: PathBuf,
    /// What the folder says of the run.
    pub file: RunFile,
    /// The decoders with their seeds.
    pub decoders: Vec<(u64, Box<dyn FittedDecoder>)>,
    /// The model card they share.
    pub card: ModelCard,
}

impl TrainedRun {
    /// Loads all decoders of a run's folder.
    pub fn load(path: &Path, device: &Device) -> Result<TrainedRun> {
        let file = read(path)?;
        let mut decoders = vec![];
        let mut shared = None;
        for (seed, model) in models(path)? {
            let (fitted, card) = file::load(&model, device).map_err(|e| match e.hint() {
                Some(_) => e.into(),
                None => Error::request(
                    e.to_string(),
                    "the model is damaged or of another version; copy it again or train again",
                ),
            })?;
            decoders.push((seed, fitted));
            shared.get_or_insert(card);
        }
        let card = shared
            .ok_or_else(|| Error::request(format!("{} holds no model", path.display()), "train again"))?;
        Ok(TrainedRun { path: path.into(), file, decoders, card })
    }

    /// Trials for these decoders, prepared as those they were trained on. Labels are for scoring.
    pub fn prepare(&self, data: &DataRequest, labelled: bool, env: &Env) -> Result<PreparedData> {
        load_for_decoder(data, self.file.data.trained_on(), &self.card, labelled, env)
    }

    /// Refuses decoders that cannot be adapted in this way.
    pub fn check_adapts(&self, how: AdaptationWay) -> Result<()> {
        let method = find(&self.card.decoder)?;
        let ways = method.adaptations(&self.card.settings)?;
        if ways.contains(&how) {
            return Ok(());
        }
        let name = method.name;
        let others: Vec<String> = ways.iter().map(|way| format!("`--how {way}`")).collect();
        Err(match (how, &others[..]) {
            (_, []) if !method.adapts.is_empty() => Error::request(
                format!("this `{name}` is adapted without labels, and not by some"),
                "train it without `recentring` and `norms`",
            ),
            (_, []) => Error::request(
                format!("`{name}` cannot be adapted by labelled trials"),
                "`ptsm models` shows which decoders support few-shot adaptation",
            ),
            (how, others) => Error::request(
                format!("`{name}` has no {how} to adapt"),
                format!("give {}", others.join(" or ")),
            ),
        })
    }

    /// Refuses a run that is adapted to somebody already.
    pub fn check_unadapted(&self, hint: &str) -> Result<()> {
        match &self.file.adapted {
            None => Ok(()),
            Some(adapted) => Err(Error::request(
                format!("{} is adapted to {} already", self.path.display(), adapted.subject),
                hint,
            )),
        }
    }

    /// Every epoch of training by decoder. An adapted run has no log.
    pub fn histories(&self, env: &Env) -> Result<Vec<(String, Vec<EpochRecord>)>> {
        let path = self.path.join(LOG);
        let log = match std::fs::read_to_string(&path) {
            Ok(log) => log,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::file(&path, "read")(error)),
        };
        let read: Vec<Option<EpochRecord>> =
            log.lines().map(|line| serde_json::from_str(line).ok()).collect();
        let lost = read.iter().filter(|line| line.is_none()).count();
        if lost > 0 {
            env.note(format!(
                "note: {lost} of {} lines of {} are no epochs and are left out",
                read.len(),
                path.display()
            ));
        }
        Ok(vec![(self.card.decoder.clone(), read.into_iter().flatten().collect())])
    }
}

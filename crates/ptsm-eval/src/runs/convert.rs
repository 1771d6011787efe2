//! Trials of some subjects rendered as those of another.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ptsm_data::SubjectList;
use ptsm_data::arrays::write_made_trials;
use ptsm_decode::registry::find;
use ptsm_signal::{SubjectId, Trial, Trials};

use super::trained::TrainedRun;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::input::DataRequest;

/// What is rendered as whose.
#[derive(Clone, Debug)]
pub struct ConvertRequest {
    /// The folder of a run that can convert.
    pub run: PathBuf,
    /// The data, and whose trials are converted.
    pub data: DataRequest,
    /// The subject they are rendered as.
    pub like: u32,
    /// Know that subject by so many trials, the first in time; by all without it.
    pub trials: Option<usize>,
    /// The `.npz` file to write.
    pub out: PathBuf,
}

/// What was rendered.
pub struct Conversion {
    /// The decoder's name.
    pub model: String,
    /// The seed of the decoder that converted.
    pub seed: u64,
    /// What the data are called.
    pub data: String,
    /// Whose trials were converted.
    pub subjects: BTreeSet<SubjectId>,
    /// The subject they are rendered as.
    pub like: SubjectId,
    /// Trials that subject was known by.
    pub known_by: usize,
    /// The rendered trials.
    pub trials: Trials,
}

/// Renders trials and writes them.
pub fn convert(args: &ConvertRequest, env: &Env) -> Result<Conversion> {
    let run = TrainedRun::load(&args.run, &env.device)?;
    let decoder = &run.card.decoder;
    if !find(decoder)?.converts {
        return Err(Error::request(
            format!("`{decoder}` decodes trials and cannot convert them"),
            "train with `--model cslp-ae`, which can",
        ));
    }
    if args.trials == Some(0) {
        return Err(Error::request(
            "`--trials 0` leaves no trial of the subject to convert to",
            "give at least 1",
        ));
    }
    let other = SubjectId(args.like);
    let subjects = args.data.subjects.as_ref().map(|list| list.union(&SubjectList::from_iter([other])));
    let data = DataRequest { subjects, ..args.data.clone() };
    let input = run.prepare(&data, true, env)?;
    let present = input.trials.subjects();
    if !present.contains(&other) {
        // Named as any other subject who is not there.
        input.choose(&SubjectList::from_iter([other]))?;
    }
    let converted_subjects: BTreeSet<SubjectId> = match &args.data.subjects {
        None => present.iter().copied().filter(|&subject| subject != other).collect(),
        Some(list) => input.choose(list)?,
    };
    let from = input.trials.of(&converted_subjects);
    if from.is_empty() {
        return Err(Error::request(
            format!("there is no subject but {other} to convert from"),
            "name subjects with `--subjects`; a subject converted to itself is a reconstruction",
        ));
    }
    let known_trials = input.trials.of(&BTreeSet::from([other])).in_time();
    let known: Vec<usize> = (0..known_trials.len().min(args.trials.unwrap_or(usize::MAX))).collect();
    let known_trials = known_trials.at(&known);
    let (seed, fitted) = &run.decoders[0];
    if run.decoders.len() > 1 {
        env.note(format!("note: the run has several seeds; seed {seed} converts"));
    }
    let converted = fitted.convert(&from, &known_trials)?;
    let info: Vec<Trial> = from.info().map(|trial| Trial { subject: other, ..*trial }).collect();
    let trials = Trials::new(from.layout().clone(), converted, info)?;
    // A decoder that is trained on the file has been trained on all of them.
    let identities =
        converted_subjects.iter().chain([&other]).filter_map(|subject| input.identities.get(subject));
    let made_from = identities.flat_map(|identity| identity.hashes.iter().cloned()).collect();
    write_made_trials(&args.out, &trials, &made_from)?;
    Ok(Conversion {
        model: decoder.clone(),
        seed: *seed,
        data: input.name.clone(),
        subjects: converted_subjects,
        like: other,
        known_by: known_trials.len(),
        trials,
    })
}

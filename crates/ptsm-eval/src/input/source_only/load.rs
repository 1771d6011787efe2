//! Reads source-only trials and prepares them as the study. What is ambiguous is refused: a trial of a test subject that is trained on
//! makes every score too good.

use std::collections::BTreeMap;

use ptsm_data::arrays::LabelHandling;
use ptsm_data::{CohortRelation, Duplicate, LoadedData, Source, SubjectList};
use ptsm_signal::{Layout, Pick, Pipeline, Reference, Scaling, SubjectId, Trial, Trials};

use super::subjects::{KnownSubjects, SourceOnlySubjects};
use super::{LEFT_OUT, SourceOnlyRequest};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::input::{DataRequest, choices, load};
use crate::phrases::{count, subject_count};
use crate::source_only::{SourceOnlyData, SourceOnlyTrials};

/// Source-only trials, and what should be known of them.
pub struct SourceOnlyInput {
    /// The trials, after those of the study.
    pub trials: SourceOnlyTrials,
    /// What was asked for and found, one for each request.
    pub data: Vec<SourceOnlyData>,
    /// Subjects with a source-only recording in common, by their numbers in the study.
    pub duplicates: Vec<Duplicate>,
    /// Whose trials they are.
    pub subjects: SourceOnlySubjects,
}

impl SourceOnlyInput {
    fn of(study: &LoadedData, read: Vec<Further>) -> Result<SourceOnlyInput> {
        let mut joined = study.trials.all().at(&[]).with_samples(vec![])?;
        let mut subjects = SourceOnlySubjects::default();
        for Further { loaded, numbers, trials, .. } in &read {
            joined.append(trials)?;
            subjects.add(loaded, numbers, &study.trials.subjects());
        }
        Ok(SourceOnlyInput {
            trials: SourceOnlyTrials::new(&study.trials, &joined)?,
            duplicates: read.iter().flat_map(Further::duplicates).collect(),
            data: read.into_iter().map(|further| further.data).collect(),
            subjects,
        })
    }

    /// What tells a study with these source-only trials from all others.
    fn fingerprint(&self, study: &str) -> String {
        let data = self.data.iter().map(|data| format!("{} {:?}", data.fingerprint, data.classes));
        let trials = self.trials.alone();
        let trials = trials.info().map(|t| format!("{} {} {} {}", t.label, t.subject.0, t.session, t.run));
        let (data, trials): (Vec<String>, Vec<String>) = (data.collect(), trials.collect());
        hash(&[study, "source-only", &data.join("\n"), &trials.join("\n")])
    }
}

/// A study whose trials are not aligned yet, and where they are from.
pub(crate) struct Study<'a> {
    pub(crate) loaded: LoadedData,
    pub(crate) data: &'a DataRequest,
}

/// The trials of one request.
struct Further {
    /// As they were read.
    loaded: LoadedData,
    /// For each subject the number in the study.
    numbers: BTreeMap<SubjectId, SubjectId>,
    /// As they are trained on.
    trials: Trials,
    data: SourceOnlyData,
}

impl Further {
    /// Subjects of these data with a recording in common, by their numbers in the study.
    fn duplicates(&self) -> Vec<Duplicate> {
        let number = |subject: &SubjectId| self.numbers.get(subject).copied();
        let all = self.loaded.duplicates.iter();
        all.filter_map(|d| Some(Duplicate { first: number(&d.first)?, second: number(&d.second)?, ..*d }))
            .collect()
    }
}

/// Takes the source-only trials of the study's own data out of it, reads those of other data, and aligns each of them by itself. Where
/// they are not to be trained on, only the former is done.
pub(crate) fn separate(
    study: Study<'_>,
    requests: &[SourceOnlyRequest],
    trains: bool,
    env: &Env,
) -> Result<(LoadedData, Option<SourceOnlyInput>)> {
    let Study { loaded: whole, data } = study;
    if requests.is_empty() {
        return Ok((whole, None));
    }
    let source = data.source()?;
    let mut sources = vec![];
    for request in requests {
        sources.push(request.data(data).source().map_err(|error| within(request, data, error))?);
    }
    // Parts of the study's own trials, and not those of subjects that are not in it.
    let is_own = |request: &SourceOnlyRequest, other: &Source| {
        *other == source && !(request.units.is_all() && request.subjects.is_some())
    };
    let is_own: Vec<bool> =
        requests.iter().zip(&sources).map(|(request, other)| is_own(request, other)).collect();
    let own: Vec<&SourceOnlyRequest> =
        requests.iter().zip(&is_own).filter(|(_, is_own)| **is_own).map(|(request, _)| request).collect();
    let mut study = taken_out(&whole, &own)?;
    if !own.is_empty() {
        let units: Vec<String> = own.iter().map(|request| request.units.to_string()).collect();
        study.fingerprint = hash(&[&study.fingerprint, "without", &units.join("+")]);
    }
    if !trains {
        return Ok((study, None));
    }
    let mut reading = Reading {
        whole: &whole,
        study: &study,
        source: &source,
        env,
        known: KnownSubjects::of(&study),
        read: vec![],
    };
    for ((request, other), is_own) in requests.iter().zip(&sources).zip(is_own) {
        reading.add(request, other, is_own).map_err(|error| within(request, data, error))?;
    }
    let read = reading.read;
    study.align()?;
    let input = SourceOnlyInput::of(&study, read)?;
    study.fingerprint = input.fingerprint(&study.fingerprint);
    Ok((study, Some(input)))
}

/// Source-only trials that are read one request after the other, each checked against the study and those before it.
struct Reading<'a> {
    /// The study with the trials that are taken out of it.
    whole: &'a LoadedData,
    study: &'a LoadedData,
    source: &'a Source,
    env: &'a Env,
    known: KnownSubjects,
    read: Vec<Further>,
}

impl Reading<'_> {
    fn add(&mut self, request: &SourceOnlyRequest, other: &Source, is_own: bool) -> Result<()> {
        let relation = relation(request, self.source, other)?;
        let loaded = match is_own {
            true => part(self.whole, request)?,
            false => part(&self.read(request, other)?, request)?,
        };
        let numbers = self.known.number(request, self.study, &loaded, relation)?;
        let left = loaded.trials.subjects().len() - numbers.len();
        if left > 0 {
            self.env.note_once(format!(
                "note: source-only: {} of {} {} not among the study's and left out",
                subject_count(left),
                loaded.name,
                if left == 1 { "is" } else { "are" },
            ));
        }
        let loaded = loaded.only(|t| numbers.contains_key(&t.subject))?;
        check_unlike((&loaded, &numbers), (self.study, None))?;
        for before in &self.read {
            check_unlike((&loaded, &numbers), (&before.loaded, Some(&before.numbers)))?;
        }
        // Sessions of their own: not the study's, nor those of source-only trials before them.
        let before = self.read.iter().map(|before| &before.trials).chain([&self.whole.trials]);
        let sessions = before.flat_map(Trials::info).map(|t| t.session).max().unwrap_or(0);
        let trials = as_of_study(&loaded, &numbers, self.study.trials.layout(), &request.classes, sessions)?;
        let data = SourceOnlyData {
            name: loaded.name.clone(),
            with: differing(other, self.source),
            units: request.units.clone(),
            classes: request.classes.clone(),
            cohort: relation,
            taken_out: is_own,
            fingerprint: loaded.fingerprint.clone(),
            subjects: match relation {
                CohortRelation::Same => numbers.values().copied().collect(),
                CohortRelation::Other => numbers.keys().copied().collect(),
            },
            trials: trials.len(),
        };
        let when = match relation {
            CohortRelation::Same => "where their subject is trained on",
            CohortRelation::Other => "in every fold",
        };
        self.env.note_once(format!(
            "note: source-only: {} of {} of {data} are trained on {when}, and neither validate nor are scored",
            count(data.trials, "trial"),
            subject_count(numbers.len()),
        ));
        self.read.push(Further { loaded, numbers, trials, data });
        Ok(())
    }

    /// Reads other data, prepared as the study, with the study's channels in the study's order.
    fn read(&self, request: &SourceOnlyRequest, other: &Source) -> Result<LoadedData> {
        let Reading { study, source, env, .. } = self;
        let names = |loaded: &LoadedData| -> Vec<String> {
            loaded.trials.layout().channels.iter().map(|channel| channel.name.clone()).collect()
        };
        let of = |pipeline: &Pipeline, subjects: Option<&SubjectList>| {
            load(other, Some(pipeline), subjects, LabelHandling::Own, env)
        };
        let by = |pipeline: &Pipeline| -> Result<LoadedData> {
            if request.subjects.is_none() && source.cohort_relation(other) == Some(CohortRelation::Same) {
                // Nobody else could be trained on. Who is missing there is found missing below.
                let list: SubjectList = study.trials.subjects().into_iter().collect();
                match of(pipeline, Some(&list)) {
                    Err(Error::Data(
                        ptsm_data::Error::UnknownSubjects { .. } | ptsm_data::Error::ExcludedSubjects { .. },
                    )) => {}
                    read => return read,
                }
            }
            of(pipeline, request.subjects.as_ref())
        };
        let needed = names(study);
        let (has, refused) = match by(&study.pipeline) {
            Ok(loaded) if names(&loaded) == needed => return Ok(loaded),
            Ok(loaded) => (names(&loaded), None),
            Err(error) if error.is_cancelled() => return Err(error),
            Err(error) => {
                // Perhaps a channel is missing; all of those are told then.
                let open =
                    Pipeline { pick: Pick::All, reference: Reference::AsRecorded, ..study.pipeline.clone() };
                match by(&open) {
                    Ok(loaded) => (names(&loaded), Some(error)),
                    Err(_) => return Err(error),
                }
            }
        };
        let (both, missing): (Vec<&String>, Vec<&String>) =
            needed.iter().partition(|name| has.contains(name));
        let listed = |names: &[&String], between: &str, around: &str| {
            names.iter().map(|name| format!("{around}{name}{around}")).collect::<Vec<_>>().join(between)
        };
        if missing.is_empty() {
            return match refused {
                Some(error) => Err(error),
                None => by(&Pipeline { pick: Pick::Names(needed), ..study.pipeline.clone() }),
            };
        }
        Err(Error::request(
            format!(
                "it lacks {} of the study's {}: {}; {}",
                missing.len(),
                count(needed.len(), "channel"),
                listed(&missing, ", ", ""),
                match both.len() {
                    0 => "none is in both".to_string(),
                    n => format!("{n} are in both: {}", listed(&both, ", ", "")),
                }
            ),
            match both.len() {
                0 => "names must be alike; `ptsm data show` lists them".to_string(),
                _ => format!(
                    "prepare the study with the channels of both: `--set 'pipeline.pick=[{}]'`",
                    listed(&both, ",", "\"")
                ),
            },
        ))
    }
}

/// The study without the sessions and runs that are source-only.
fn taken_out(whole: &LoadedData, own: &[&SourceOnlyRequest]) -> Result<LoadedData> {
    if own.is_empty() {
        return Ok(whole.clone());
    }
    if own.iter().any(|request| request.units.is_all()) {
        return Err(Error::request(
            "source-only trials: these are all trials of the study itself",
            "name the sessions and runs that are only trained on (`units=r12`), another choice about the data (`with=task=execution`) or other data (`id=..`)",
        ));
    }
    let times = |trial: &Trial| own.iter().filter(|request| request.units.contains(trial)).count();
    if let Some(trial) = whole.trials.info().iter().find(|trial| times(trial) > 1) {
        return Err(Error::request(
            format!(
                "source-only trials: run {} of session {} is named more than once",
                trial.run, trial.session
            ),
            "name each session and run in one `units` only",
        ));
    }
    let mut study = whole.only(|trial| times(trial) == 0)?;
    if study.trials.is_empty() {
        return Err(Error::request(
            "source-only trials: no trial of the study is left beside them",
            "name fewer sessions and runs with `units`; `ptsm data show` lists them",
        ));
    }
    // Whoever has no other trial is none of its subjects.
    let left = study.trials.subjects();
    study.identities.retain(|subject, _| left.contains(subject));
    Ok(study)
}

/// The sessions, runs and subjects that were asked for.
fn part(loaded: &LoadedData, request: &SourceOnlyRequest) -> Result<LoadedData> {
    let subjects = match &request.subjects {
        Some(list) => list.skipping(&loaded.excluded)?.choose(&loaded.trials.subjects())?,
        None => loaded.trials.subjects(),
    };
    let part = loaded.only(|t| request.units.contains(t) && subjects.contains(&t.subject))?;
    if part.trials.is_empty() {
        return Err(Error::request(
            format!("there is no trial of `{}`", request.units),
            "name sessions and runs the data have; `ptsm data show` lists them",
        ));
    }
    Ok(part)
}

/// What was chosen about a data set, as far as it is not as in the study, where that is the same data set.
fn differing(other: &Source, study: &Source) -> BTreeMap<String, String> {
    let own = if other.name() == study.name() { choices(study) } else { BTreeMap::new() };
    choices(other).into_iter().filter(|(name, value)| own.get(name) != Some(value)).collect()
}

/// Whether the subjects are those of the study: what the user says and what the data tell.
fn relation(request: &SourceOnlyRequest, study: &Source, other: &Source) -> Result<CohortRelation> {
    match (request.cohort, study.cohort_relation(other)) {
        (Some(CohortRelation::Same), Some(CohortRelation::Other)) => Err(Error::request(
            format!("{} and {} are not of the same people", other.name(), study.name()),
            "leave `cohort` out: it is known that these are other people",
        )),
        (Some(said), _) => Ok(said),
        (None, Some(known)) => Ok(known),
        (None, None) => Err(Error::request(
            format!("nothing tells whether its subjects are those of {}", study.name()),
            "give `cohort=same` where a number or name means the same person in both (their trials are then trained on only where that subject is), \
             `cohort=other` where nobody is in both",
        )),
    }
}

/// Source-only trials, with the numbers of their subjects in the study.
type Numbered<'a> = (&'a LoadedData, &'a BTreeMap<SubjectId, SubjectId>);

/// Refuses trials that are those of others: of the study, where no numbers are given, or of source-only data before them.
fn check_unlike(
    (loaded, numbers): Numbered<'_>,
    (before, their_numbers): (&LoadedData, Option<&BTreeMap<SubjectId, SubjectId>>),
) -> Result<()> {
    let shape = |data: &LoadedData| (data.trials.layout().channels.len(), data.trials.layout().samples);
    // What cannot be compared is refused for that, later.
    if shape(loaded) != shape(before) {
        return Ok(());
    }
    let found = before.duplicates_in(loaded).into_iter().next();
    let Some(Duplicate { first, second, epochs }) = found else { return Ok(()) };
    let (whose, beside) = match their_numbers {
        None => (Some(&first), "the study".to_string()),
        Some(numbers) => (numbers.get(&first), format!("the source-only trials of {}", before.name)),
    };
    Err(match whose == numbers.get(&second) {
        true => Error::request(
            format!("{second} has {epochs} epochs that are already in {beside}: the same recording"),
            "name other runs, tasks or data: a trial that is there twice is trained on twice",
        ),
        false => Error::request(
            format!(
                "{second} has {epochs} epochs in common with {first} of {beside}: one recording under two subjects"
            ),
            "leave one of them out with `subjects`",
        ),
    })
}

/// The trials aligned by themselves, with the study's layout, classes and numbers of subjects, in sessions that come after `sessions`.
fn as_of_study(
    loaded: &LoadedData,
    numbers: &BTreeMap<SubjectId, SubjectId>,
    study: &Layout,
    mapping: &BTreeMap<String, String>,
    sessions: u32,
) -> Result<Trials> {
    let own = loaded.trials.layout();
    study.expect(&Layout { classes: study.classes.clone(), ..own.clone() }).map_err(|error| {
        let hint = error.hint().unwrap_or(
            "prepare both alike: `--set pipeline.rate_hz=..` and `--set pipeline.window_s=..` hold for the study and for source-only trials",
        );
        Error::request(error.to_string(), hint)
    })?;
    let scaled = loaded.pipeline.scaling == Scaling::TrialDeviation;
    let mut channels = own.channels.iter().zip(&study.channels);
    if let Some((channel, _)) = channels.find(|(a, b)| a.unit != b.unit && !scaled) {
        return Err(Error::request(
            format!("channel `{}` is not in the unit it has in the study", channel.name),
            "say the `unit` of arrays, or divide each trial by its own deviation, as `pipeline.scaling` does where nothing else is said",
        ));
    }
    let labels = labels(&loaded.trials, &study.classes, mapping)?;
    let mut aligned = loaded.only(|trial| labels[trial.label as usize].is_some())?;
    if aligned.trials.is_empty() {
        return Err(Error::request("all its trials are of classes that are left out", "keep a class"));
    }
    aligned.align()?;
    let (mut x, mut info) = (vec![], vec![]);
    for (row, trial) in aligned.trials.info().iter().enumerate() {
        let Some(label) = labels[trial.label as usize] else { continue };
        let session = sessions.checked_add(trial.session).ok_or_else(|| {
            Error::request("sessions have numbers that are too large", "number sessions from 1")
        })?;
        x.extend_from_slice(aligned.trials.signal(row));
        info.push(Trial { label, subject: numbers[&trial.subject], session, ..*trial });
    }
    Ok(Trials::new(study.clone(), x, info)?)
}

/// The study's label for each class of the trials; none for classes that are left out.
fn labels(trials: &Trials, study: &[String], mapping: &BTreeMap<String, String>) -> Result<Vec<Option<u32>>> {
    let own = &trials.layout().classes;
    if let Some(unknown) = mapping.keys().find(|name| !own.contains(name)) {
        return Err(Error::request(
            format!("it has no class `{unknown}`; it has {}", own.join(", ")),
            "name classes of these data before the `=`, classes of the study after it",
        ));
    }
    let counts = trials.all().class_counts();
    let label = |(name, n): (&String, usize)| {
        let meant = mapping.get(name).unwrap_or(name);
        if meant == LEFT_OUT || (n == 0 && !mapping.contains_key(name)) {
            return Ok(None);
        }
        match study.iter().position(|class| class == meant) {
            Some(place) => Ok(Some(place as u32)),
            None => Err(Error::request(
                format!("`{meant}` is none of the study's classes, which are {}", study.join(", ")),
                format!(
                    "say which class it is, `classes={name}={}`, or leave it out, `classes={name}={LEFT_OUT}`",
                    study[0]
                ),
            )),
        }
    };
    own.iter().zip(counts).map(label).collect()
}

/// An error with what was asked for.
fn within(request: &SourceOnlyRequest, study: &DataRequest, error: Error) -> Error {
    if error.is_cancelled() {
        return error;
    }
    let of = request.id.as_ref().or(study.data.as_ref()).map_or("the study", String::as_str);
    let hint = error.hint().unwrap_or_else(|| "`ptsm data check` tells what is in these data".into());
    Error::request(format!("source-only trials of {of}: {error}"), hint)
}

/// Parts are hashed one by one first, so that they cannot run into each other.
fn hash(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| {
        hasher.update(blake3::hash(part.as_bytes()).as_bytes());
    });
    hasher.finalize().to_hex().to_string()
}

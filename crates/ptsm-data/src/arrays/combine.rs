//! Several files as one set of trials: names become numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ptsm_signal::{Layout, Pipeline, SubjectId, TaskDeclaration, Trial, Trials};

use super::file::{File, RATE_UNKNOWN_HZ};
use super::names::{Name, Names, distinct};
use super::{Arrays, LabelHandling};
use crate::error::{Error, Result};

/// Joins files. There is at least one.
pub(super) fn combine(files: Vec<File>, label_handling: LabelHandling<'_>) -> Result<Arrays> {
    alike(&files, "y", |f| f.y.as_ref())?;
    alike(&files, "subject", |f| Some(&f.subject))?;
    alike(&files, "session", |f| f.session.as_ref())?;
    alike(&files, "run", |f| f.run.as_ref())?;
    let classes = Classes::of(&files, label_handling)?;
    let subjects = distinct(files.iter().map(|f| &f.subject));
    let sessions = distinct(files.iter().filter_map(|f| f.session.as_ref()));
    let runs = distinct(files.iter().filter_map(|f| f.run.as_ref()));
    let notes = notes(&files);
    let task = task(&files, label_handling)?;
    let prepared = prepared(&files)?;

    let first = files.first().map(|file| file.path.clone()).unwrap_or_default();
    let mut all: Option<Trials> = None;
    let mut labels = BTreeMap::new();
    let mut made_from: BTreeMap<SubjectId, BTreeSet<String>> = BTreeMap::new();
    let mut last_runs: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut before = 0;
    for file in files {
        let label = classes.labels(&file)?;
        let subject = numbered(&file.path, "subject", &file.subject, &subjects)?;
        let words = file.subject.iter().map(|name| name.words());
        labels.extend(subject.iter().map(|&number| SubjectId(number)).zip(words));
        if !file.made_from.is_empty() {
            let numbers: BTreeSet<u32> = subject.iter().copied().collect();
            for number in numbers {
                made_from.entry(SubjectId(number)).or_default().extend(file.made_from.iter().cloned());
            }
        }
        for (subject, hash) in &file.recognised_by {
            made_from.entry(*subject).or_default().insert(hash.clone());
        }
        let session = match &file.session {
            Some(session) => numbered(&file.path, "session", session, &sessions)?,
            None => vec![1; file.trials()],
        };
        // A file that does not tell its runs is one run, which comes after those of the files before it.
        let own_run =
            |i: usize| last_runs.get(&(subject[i], session[i])).map_or(1, |last| last.saturating_add(1));
        let run = match &file.run {
            Some(run) => numbered(&file.path, "run", run, &runs)?,
            None => (0..file.trials()).map(own_run).collect(),
        };
        for i in 0..file.trials() {
            let last = last_runs.entry((subject[i], session[i])).or_default();
            *last = run[i].max(*last);
        }
        let rate_hz = file.rate_hz.unwrap_or(RATE_UNKNOWN_HZ);
        let length_s = file.samples as f64 / rate_hz;
        let trials = (0..file.trials())
            .map(|i| Trial {
                label: label[i],
                subject: SubjectId(subject[i]),
                session: session[i],
                run: run[i],
                // Not known, but in order, also where a run goes on in the next file.
                cue_s: file.cue_s.as_ref().map_or((before + i) as f64 * length_s, |cues| cues[i]),
            })
            .collect();
        before += file.trials();
        let layout = Layout {
            channels: file.channels,
            samples: file.samples,
            rate_hz,
            start_s: file.start_s,
            classes: classes.target.clone(),
            task: task.clone(),
        };
        let place = file.path.display().to_string();
        let refuse = |error| Error::Signal { place: place.clone(), error };
        let trials = Trials::new(layout, file.x, trials).map_err(refuse)?;
        match &mut all {
            None => all = Some(trials),
            Some(all) => all.append(&trials).map_err(refuse)?,
        }
    }
    let trials = all.ok_or_else(|| Error::Source {
        id: String::new(),
        message: "no file was given".into(),
        hint: None,
    })?;
    let declared = trials.layout().task.clone();
    let trials = trials.with_task(declared).map_err(|error| Error::Content {
        path: first,
        message: error.to_string(),
        hint: error.hint().map(String::from),
    })?;
    Ok(Arrays { trials, notes, labels, prepared, made_from })
}

/// What was done to the trials already, in all files the same.
fn prepared(files: &[File]) -> Result<Option<Pipeline>> {
    match files.windows(2).find(|pair| pair[0].prepared != pair[1].prepared) {
        None => Ok(files.first().and_then(|file| file.prepared.clone())),
        Some(pair) => Err(Error::Content {
            path: pair[1].path.clone(),
            message: format!(
                "its trials were prepared in another way than those of {}",
                pair[0].path.display()
            ),
            hint: Some("export all of them with the same pipeline".into()),
        }),
    }
}

/// What the files declare about the task, all of them the same. For a decoder that exists nothing is declared here: its model card
/// says it, and whoever loads trials for the decoder declares that.
fn task(files: &[File], label_handling: LabelHandling<'_>) -> Result<TaskDeclaration> {
    if let Some(pair) = files.windows(2).find(|pair| pair[0].task != pair[1].task) {
        let said = |file: &File| {
            let TaskDeclaration { paradigm, symmetry } = &file.task;
            let paradigm = paradigm.map_or("none".into(), |paradigm| paradigm.to_string());
            format!("paradigm {paradigm}, symmetry {symmetry}")
        };
        return Err(Error::Content {
            path: pair[1].path.clone(),
            message: format!(
                "declares {}, {} declares {}",
                said(&pair[1]),
                pair[0].path.display(),
                said(&pair[0])
            ),
            hint: Some(
                "save the same `paradigm` and `symmetry` in every file, or leave them out of all".into(),
            ),
        });
    }
    Ok(match (label_handling, files.first()) {
        (LabelHandling::Own, Some(file)) => file.task.clone(),
        _ => TaskDeclaration::default(),
    })
}

/// Refuses columns that are text in one file and numbers in another: they cannot be compared.
fn alike(files: &[File], key: &str, column: impl Fn(&File) -> Option<&Names>) -> Result<()> {
    let mut kinds = files.iter().filter_map(|f| Some((f, column(f)?.kind())));
    let Some((first, kind)) = kinds.next() else { return Ok(()) };
    match kinds.find(|(_, other)| *other != kind) {
        None => Ok(()),
        Some((file, other)) => Err(Error::Content {
            path: file.path.clone(),
            message: format!("`{key}` is {other}, but {kind} in {}", first.path.display()),
            hint: Some("save the same kind in every file".into()),
        }),
    }
}

/// Numbers for names: integers stay as they are, text counts from 1 in sorted order.
fn numbered(path: &Path, key: &str, names: &Names, all: &[Name]) -> Result<Vec<u32>> {
    let number = |(trial, name): (usize, Name)| match name {
        Name::Number(number) => u32::try_from(number).map_err(|_| Error::Content {
            path: path.to_path_buf(),
            message: format!(
                "`{key}` of trial {trial} is {number}; numbers from 0 to {} are possible",
                u32::MAX
            ),
            hint: Some("number them from 1".into()),
        }),
        Name::Flag(_) | Name::Text(_) => {
            let place = all.iter().position(|other| *other == name).unwrap_or(0);
            Ok(place as u32 + 1)
        }
    };
    names.iter().enumerate().map(number).collect()
}

/// Names of the classes, and how `y` names them.
struct Classes {
    names: Vec<String>,
    /// The values of `y`, in the order of the names; none where `y` are indices.
    values: Option<Vec<Name>>,
    /// For each of the names its place among the classes that are wanted.
    places: Vec<u32>,
    /// The classes the trials get.
    target: Vec<String>,
}

impl Classes {
    fn of(files: &[File], label_handling: LabelHandling<'_>) -> Result<Classes> {
        let mut own = Classes::own(files)?;
        match label_handling {
            LabelHandling::Own => {}
            LabelHandling::Unlabelled(classes) => own.target = classes.to_vec(),
            LabelHandling::Classes(classes) => {
                let place = |name: &String| match classes.iter().position(|c| c == name) {
                    Some(place) => Ok(place as u32),
                    None => Err(Error::Content {
                        path: files[0].path.clone(),
                        message: format!("has the class `{name}`; the decoder knows {classes:?}"),
                        hint: Some("name the classes as the decoder's training data did".into()),
                    }),
                };
                own.places = own.names.iter().map(place).collect::<Result<_>>()?;
                own.target = classes.to_vec();
            }
        }
        Ok(own)
    }

    fn own(files: &[File]) -> Result<Classes> {
        let differ = |a: &File, b: &File| {
            let said =
                |f: &File| f.classes.as_ref().map_or("no `classes`".into(), |c| format!("`classes` {c:?}"));
            Error::Content {
                path: b.path.clone(),
                message: format!("has {}, {} has {}", said(b), a.path.display(), said(a)),
                hint: Some("save the same `classes` in every file, or leave them out of all".into()),
            }
        };
        if let Some(pair) = files.windows(2).find(|pair| pair[0].classes != pair[1].classes) {
            return Err(differ(&pair[0], &pair[1]));
        }
        let values = distinct(files.iter().filter_map(|f| f.y.as_ref()));
        let (names, values): (Vec<String>, _) = match files.first().and_then(|f| f.classes.clone()) {
            None => (values.iter().map(Name::words).collect(), Some(values)),
            Some(names) => {
                let textual = values.iter().any(|v| matches!(v, Name::Text(_)));
                let values = textual.then(|| names.iter().cloned().map(Name::Text).collect());
                (names, values)
            }
        };
        Ok(Classes { places: (0..names.len() as u32).collect(), target: names.clone(), names, values })
    }

    fn labels(&self, file: &File) -> Result<Vec<u32>> {
        let label = |(trial, name): (usize, Name)| {
            let index = match (&self.values, &name) {
                (Some(values), name) => values.iter().position(|value| value == name),
                (None, Name::Number(number)) => usize::try_from(*number).ok(),
                (None, Name::Flag(flag)) => Some(usize::from(*flag)),
                (None, Name::Text(_)) => None,
            };
            match index {
                Some(index) if index < self.names.len() => Ok(self.places[index]),
                _ => Err(Error::Content {
                    path: file.path.clone(),
                    message: format!(
                        "`y` of trial {trial} is `{}`; the classes are {:?}",
                        name.words(),
                        self.names
                    ),
                    hint: Some("`y` counts `classes` from 0; or leave `classes` out".into()),
                }),
            }
        };
        match &file.y {
            Some(y) => y.iter().enumerate().map(label).collect(),
            None => Ok(vec![0; file.trials()]),
        }
    }
}

/// What the files do not say.
fn notes(files: &[File]) -> Vec<String> {
    let about = |key: &str, lacks: &dyn Fn(&File) -> bool, so: &str| {
        let mut lacking = files.iter().filter(|f| lacks(f));
        let first = lacking.next()?.path.display().to_string();
        let others = match lacking.count() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        Some(format!("no `{key}` in {first}{others}: {so}"))
    };
    let rate = about("rate_hz", &|f| f.rate_hz.is_none(), "times are counted in samples at 1 Hz");
    let channels = about(
        "channels",
        &|f| !f.named,
        "channels are called `ch1`, `ch2`, .., and their places on the head are not known",
    );
    [rate, channels].into_iter().flatten().collect()
}

//! A manifest as a person writes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptsm_signal::{Paradigm, Symmetry, TaskDeclaration};
use serde::Deserialize;
use toml::Spanned;

use super::super::classes::{Classes, matches};
use super::super::matrix::Variables;
use super::super::words::Words;
use super::events::Columns;
use super::windows::{USUAL, Windows};
use crate::error::{Error, Result};
use ptsm_io::voltage;
use ptsm_signal::nearest;

/// What a manifest says. All in it fits together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Manifest {
    pub(super) title: String,
    pub(super) licence: String,
    pub(super) citation: String,
    pub(super) classes: Classes,
    pub(super) task: TaskDeclaration,
    pub(super) pipeline: toml::Table,
    /// Other names for channels, for all recordings.
    pub(super) rename: BTreeMap<String, String>,
    /// How windows follow one another; given wherever a recording has one label.
    pub(super) windows: Option<Windows>,
    /// Whether segments that are annotated become windows too: somebody asks for windows.
    pub(super) in_segments: bool,
    /// Columns of tables of events.
    pub(super) columns: Columns,
    /// In the order of people, sessions and runs.
    pub(super) recordings: Vec<Entry>,
}

/// One recording.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) subject: u32,
    pub(super) session: u32,
    pub(super) run: u32,
    pub(super) rate_hz: Option<f64>,
    pub(super) unit: Option<String>,
    /// Other names for its channels.
    pub(super) rename: BTreeMap<String, String>,
    /// Where it is a MATLAB file.
    pub(super) mat: Option<Variables>,
    /// What all of it is of.
    pub(super) label: Option<String>,
    /// A table of its events.
    pub(super) events: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default)]
    title: String,
    #[serde(default)]
    licence: String,
    #[serde(default)]
    citation: String,
    paradigm: Option<Paradigm>,
    #[serde(default)]
    symmetry: Symmetry,
    #[serde(default)]
    events: BTreeMap<String, Spanned<Words>>,
    #[serde(default)]
    pipeline: toml::Table,
    #[serde(default)]
    rename: BTreeMap<String, String>,
    #[serde(default)]
    mat: Variables,
    #[serde(default)]
    labels: BTreeMap<String, Spanned<Words>>,
    windows: Option<Windows>,
    #[serde(default)]
    columns: Columns,
    #[serde(default)]
    recording: Vec<Spanned<Lines>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    file: String,
    subject: u32,
    session: Option<u32>,
    run: Option<u32>,
    rate_hz: Option<f64>,
    unit: Option<String>,
    #[serde(default)]
    rename: BTreeMap<String, String>,
    #[serde(default)]
    mat: Variables,
    label: Option<Words>,
    events: Option<String>,
}

/// Reads a manifest.
pub(super) fn read(path: &Path) -> Result<Manifest> {
    let text = ptsm_io::read_filled_text(path).map_err(|error| match error {
        ptsm_io::Error::System { error, .. } => Error::Content {
            path: path.to_path_buf(),
            message: format!("cannot read: {error}"),
            hint: Some("`ptsm data add DIR` writes a manifest for a folder of recordings".into()),
        },
        // Empty, or no text.
        other => Error::from(other),
    })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Manifest> {
    let refuse = |message: String, hint: &str| Error::Content {
        path: path.to_path_buf(),
        message,
        hint: Some(hint.into()),
    };
    let line = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let read: Text = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(String::new, |span| format!("line {}: ", line(span.start)));
        let (message, hint) = plain(error.message());
        refuse(format!("{place}{message}"), &hint)
    })?;

    // Classes are numbered in the order they are written in.
    let ordered = |table: BTreeMap<String, Spanned<Words>>| {
        let mut all: Vec<(String, Spanned<Words>)> = table.into_iter().collect();
        all.sort_by_key(|(_, words)| words.span().start);
        all.into_iter().map(|(name, words)| (name, words.into_inner().list())).collect::<Vec<_>>()
    };
    let classes = Classes::new(ordered(read.events)).map_err(|message| {
        refuse(format!("`[events]`: {message}"), "write `left_hand = [\"T1\"]`, each code in one class")
    })?;
    let labels = ordered(read.labels);
    if read.recording.is_empty() {
        return Err(refuse("lists no recording".into(), "add `[[recording]]` with `file` and `subject`"));
    }
    if let Some(windows) = &read.windows {
        windows.check().map_err(|(message, hint)| refuse(message, &hint))?;
    }
    let numbered =
        read.recording.into_iter().map(|lines| (line(lines.span().start), lines.into_inner())).collect();
    let recordings = entries(path.parent().unwrap_or(Path::new("")), numbered, &read.mat, &labels)
        .map_err(|(at, message, hint)| refuse(format!("line {at}: {message}"), &hint))?;
    // Labels of patterns in their order, then those of single recordings.
    let named = labels
        .iter()
        .map(|(label, _)| label)
        .filter(|label| recordings.iter().any(|e| e.label.as_ref() == Some(label)));
    let all = named.chain(recordings.iter().filter_map(|entry| entry.label.as_ref())).map(String::as_str);
    let classes = classes.with_labels(all).map_err(|message| {
        refuse(format!("`label`: {message}"), "give it another name, such as `label = \"rest\"`")
    })?;
    if classes.names().is_empty() {
        return Err(refuse(
            "`[events]` names no class".into(),
            "write `left_hand = [\"T1\"]` below `[events]` for each class, or `label = \"rest\"` in each `[[recording]]` that is of one class",
        ));
    }
    let in_segments = read.windows.is_some();
    let windows = read.windows.or_else(|| {
        let labelled = recordings.iter().any(|entry| entry.label.is_some());
        labelled.then(|| Windows { length_s: length_s(&read.pipeline).unwrap_or(USUAL.length_s), ..USUAL })
    });
    read.symmetry.permutation(classes.names()).map_err(|error| {
        let hint = error.hint().unwrap_or_default().to_string();
        refuse(error.to_string(), &hint)
    })?;
    Ok(Manifest {
        title: read.title,
        licence: read.licence,
        citation: read.citation,
        classes,
        task: TaskDeclaration { paradigm: read.paradigm, symmetry: read.symmetry },
        pipeline: read.pipeline,
        rename: read.rename,
        windows,
        in_segments,
        columns: read.columns,
        recordings,
    })
}

/// How long the window of a pipeline is, where it says so.
fn length_s(pipeline: &toml::Table) -> Option<f64> {
    let number = |value: &toml::Value| value.as_float().or(value.as_integer().map(|whole| whole as f64));
    let edges: Vec<f64> = pipeline.get("window_s")?.as_array()?.iter().filter_map(number).collect();
    match edges[..] {
        [start, end] if end > start => Some(end - start),
        _ => None,
    }
}

/// The label whose pattern a file is like, with its folders or by its name alone: folders in front depend on where the manifest is. A pattern
/// without `*` may stand anywhere.
pub(in super::super) fn labelled(
    file: &str,
    labels: &[(String, Vec<String>)],
) -> Result<Option<String>, (String, String)> {
    let bare = file.rsplit('/').next().unwrap_or(file);
    let like = |pattern: &String| match pattern.contains('*') {
        true => matches(pattern, file) || matches(pattern, bare),
        false => file.contains(pattern.as_str()),
    };
    let mut found = labels.iter().filter(|(_, patterns)| patterns.iter().any(like));
    match (found.next(), found.next()) {
        (Some((one, _)), Some((other, _))) => Err((
            format!("`[labels]`: `{file}` is like patterns of both `{one}` and `{other}`"),
            "make patterns that fit one each, or write `label` in the `[[recording]]`".into(),
        )),
        (found, _) => Ok(found.map(|(label, _)| label.clone())),
    }
}

/// Recordings with the lines they are in. What does not fit is told with its line and what to do.
fn entries(
    folder: &Path,
    lines: Vec<(usize, Lines)>,
    mat: &Variables,
    labels: &[(String, Vec<String>)],
) -> Result<Vec<Entry>, (usize, String, String)> {
    let mut entries: Vec<Entry> = vec![];
    let mut files: BTreeMap<(PathBuf, Option<String>), (usize, u32)> = BTreeMap::new();
    let mut runs: BTreeMap<(u32, u32, u32), usize> = BTreeMap::new();
    // Runs that are said go before runs that are counted.
    let (said, counted): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(_, lines)| lines.run.is_some());
    for (at, lines) in said.into_iter().chain(counted) {
        let wrong = |message: String, hint: &str| Err((at, message, hint.to_string()));
        let file = &lines.file;
        if file.is_empty() {
            return wrong("`file` is empty".into(), "give the path of a recording, from the manifest on");
        }
        if let Some(rate) = lines.rate_hz.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
            return wrong(
                format!("`rate_hz = {rate}` is not possible"),
                "give samples per second, or leave it out",
            );
        }
        let mat = lines.mat.or(mat);
        if let Some(unit) = lines.unit.iter().chain(&mat.unit).find(|unit| voltage(unit).is_none()) {
            return wrong(format!("unit `{unit}` is not known"), "give `V`, `mV`, `uV` or `nV`");
        }
        let (subject, session) = (lines.subject, lines.session.unwrap_or(1));
        let free = |run: &u32| !runs.contains_key(&(subject, session, *run));
        let run = lines.run.unwrap_or_else(|| (1..).find(free).unwrap_or(u32::MAX));
        if let Some(other) = runs.insert((subject, session, run), at) {
            return wrong(
                format!("subject {subject}, session {session}, run {run} is in line {other} already"),
                "give it another `run`, or leave `run` out to count on",
            );
        }
        let path = folder.join(file);
        let matlab = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mat"));
        // A MATLAB file may hold several recordings of somebody.
        let source = (path.clone(), mat.source().filter(|_| matlab));
        if let Some((other, _)) = files.insert(source, (at, subject)) {
            return wrong(
                format!("`{file}` is in line {other} already"),
                "list each file once: one recording cannot be of two subjects",
            );
        }
        let others = files.iter().filter(|((known, _), _)| *known == path);
        if let Some((_, (other, whose))) = others.into_iter().find(|(_, (_, whose))| *whose != subject) {
            return wrong(
                format!("`{file}` is in line {other} already, as a recording of subject {whose}"),
                "one file is of one subject; save those of others as files of their own",
            );
        }
        if !matlab && ptsm_io::format_of(&path).is_none() {
            let known: Vec<&str> =
                ptsm_io::FORMATS.iter().flat_map(|format| format.endings).copied().collect();
            let hint = format!("names of recordings end in .{}", known.join(", ."));
            return wrong(format!("`{file}` is no recording"), &hint);
        }
        let by_name = labelled(file, labels).map_err(|(message, hint)| (at, message, hint))?;
        let Lines { rate_hz, unit, rename, label, events, .. } = lines;
        let label = match label {
            Some(Words::Many(_)) => {
                return wrong("`label` is a list".into(), "a recording has one label: `label = \"rest\"`");
            }
            Some(Words::One(label)) => Some(label),
            None => by_name,
        };
        if label.is_some() && events.is_some() {
            return wrong(
                "has both `label` and `events`".into(),
                "a recording is of one class, or has events: keep one of them",
            );
        }
        entries.push(Entry {
            path,
            subject,
            session,
            run,
            rate_hz,
            unit,
            rename,
            mat: matlab.then_some(mat),
            label,
            events: events.map(|events| folder.join(events)),
        });
    }
    entries.sort_by_key(|entry| (entry.subject, entry.session, entry.run));
    Ok(entries)
}

/// What a parser says, in words of manifests, and what to do about it.
fn plain(message: &str) -> (String, String) {
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(String::from).collect() };
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let names = quoted(rest);
        if let Some((wrong, known)) = names.split_first() {
            return (format!("there is no key `{wrong}`"), suggestion(wrong, known));
        }
    }
    if message.starts_with("missing field") {
        let name = quoted(message).join("");
        let hint = format!("every `[[recording]]` needs `file` and `subject`; add `{name}`");
        return (format!("`{name}` is missing"), hint);
    }
    (
        message.replace('\n', " "),
        "mend the line; `ptsm data add DIR` writes a manifest to compare with".into(),
    )
}

/// The key that was most likely meant, and all there are.
fn suggestion(wrong: &str, known: &[String]) -> String {
    let meant = nearest::suggestion(wrong, known.iter().map(|name| (name.as_str(), name.as_str())));
    format!("{meant}known here are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HEAD: &str = "[events]\nright = [\"T2\"]\nleft = \"T1\"\n";

    fn read(text: &str) -> Result<Manifest> {
        parse(Path::new("folder/m.toml"), text)
    }

    #[test]
    fn a_manifest_says_what_is_where() {
        let manifest = read(&format!(
            "title = \"mine\"\nparadigm = \"motor-imagery\"\nsymmetry = {{ left = \"right\" }}\n{HEAD}[mat]\nsamples = \"y\"\n[[recording]]\nfile = \"b.edf\"\nsubject = 2\nsession = 3\nrun = 2\n\
             unit = \"V\"\nrename = {{ x = \"C3\" }}\n[[recording]]\nfile = \"a.mat\"\nsubject = 1\nrate_hz = 250\n[[recording]]\n\
             file = \"c.EDF\"\nsubject = 1\n[[recording]]\nfile = \"d.edf\"\nsubject = 1\nrun = 1\n"
        ))
        .unwrap();
        assert_eq!(manifest.task, TaskDeclaration::of(Paradigm::MotorImagery).swapping("left", "right"));
        // Classes keep the order they are written in.
        assert_eq!(manifest.classes.names(), ["right", "left"]);
        let owners: Vec<_> = manifest.recordings.iter().map(|e| (e.subject, e.session, e.run)).collect();
        assert_eq!(owners, [(1, 1, 1), (1, 1, 2), (1, 1, 3), (2, 3, 2)]);
        let [d, a, c, b] = &manifest.recordings[..] else { panic!("not four") };
        assert_eq!((d.path.as_path(), a.rate_hz), (Path::new("folder/d.edf"), Some(250.0)));
        assert_eq!(a.mat.as_ref().unwrap().samples.as_deref(), Some("y"));
        assert_eq!((&c.mat, b.unit.as_deref(), &*b.rename["x"]), (&None, Some("V"), "C3"));
    }

    #[test]
    fn issue_19_recordings_may_have_one_label_each() {
        let files = |names: &[&str]| -> String {
            names.iter().map(|name| format!("[[recording]]\nfile = \"{name}\"\nsubject = 1\n")).collect()
        };
        let manifest = read(&format!(
            "[labels]\nrest = \"_1.\"\ntask = [\"*_2.edf\", \"m*\", \"x/a*\"]\n{}",
            files(&["a_1.edf", "a_2.edf", "m.edf", "y/m.edf", "x/a.edf"])
        ))
        .unwrap();
        assert_eq!(manifest.classes.names(), ["rest", "task"]);
        let labels: Vec<_> =
            manifest.recordings.iter().map(|entry| entry.label.as_deref().unwrap()).collect();
        assert_eq!(labels, ["rest", "task", "task", "task", "task"]);
        assert_eq!(manifest.windows, Some(USUAL));
        // Beside events, and over a pattern.
        let manifest = read(&format!("{HEAD}[labels]\nrest = \"a*\"\n[pipeline]\nwindow_s = [0, 1.5]\n{}label = \"sleep\"\nevents = \"x.tsv\"\n", files(&["b.edf", "a.edf"])).replace("\nevents = \"x.tsv\"", "")).unwrap();
        assert_eq!(manifest.classes.names(), ["right", "left", "sleep"]);
        assert_eq!(manifest.windows.map(|windows| windows.length_s), Some(1.5));
        let manifest =
            read(&format!("{HEAD}[columns]\nonset = \"when\"\n{}events = \"e/x.tsv\"\n", files(&["b.edf"])))
                .unwrap();
        assert_eq!(manifest.recordings[0].events.as_deref(), Some(Path::new("folder/e/x.tsv")));
        assert_eq!(manifest.windows, None);
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_a_remedy() {
        let one = |lines: &str| format!("{HEAD}[[recording]]\nfile = \"a.edf\"\nsubject = 1\n{lines}");
        for (text, says, hint) in [
            ("titel = \"x\"\n".into(), "line 1: there is no key `titel`", "is `title` meant?"),
            (one("sesion = 2\n"), "line 7: there is no key `sesion`", "is `session` meant?"),
            (one("subject = 2\n"), "line 7: duplicate key", "mend the line"),
            (one("[mat]\nsample = 1\n"), "line 8: there is no key `sample`", "is `samples` meant?"),
            (
                format!("{HEAD}[[recording]]\nfile = \"a.edf\"\n"),
                "line 4: `subject` is missing",
                "add `subject`",
            ),
            (one("session = \"x\"\n"), "line 7: invalid type: string \"x\"", "mend the line"),
            (one("session = -1\n"), "line 7: invalid value", "mend the line"),
            (one("rate_hz = 0\n"), "line 4: `rate_hz = 0` is not possible", "samples per second"),
            (one("rate_hz = nan\n"), "line 4: `rate_hz = NaN` is not possible", "samples per second"),
            (one("unit = \"volts?\"\n"), "line 4: unit `volts?` is not known", "`uV`"),
            (
                one("[[recording]]\nfile = \"a.edf\"\nsubject = 2\n"),
                "line 7: `a.edf` is in line 4 already",
                "once",
            ),
            (
                one("run = 1\n[[recording]]\nfile = \"b.edf\"\nsubject = 1\nrun = 1\n"),
                "line 8: subject 1, session 1, run 1 is in line 4 already",
                "another `run`",
            ),
            (
                one("[[recording]]\nfile = \"b.txt\"\nsubject = 1\n"),
                "line 7: `b.txt` is no recording",
                ".edf",
            ),
            (one("[[recording]]\nfile = \"\"\nsubject = 1\n"), "line 7: `file` is empty", "path"),
            (HEAD.into(), "lists no recording", "[[recording]]"),
            (one("[windows]\nlength_s = 0\n"), "`length_s = 0` is not possible", "length_s = 2.0"),
            (one("[windows]\nlength = 1\n"), "line 8: there is no key `length`", "is `length_s` meant?"),
            (one("label = [\"a\", \"b\"]\n"), "line 4: `label` is a list", "one label"),
            (one("label = \"?\"\n"), "`label`: a class cannot be called", "another name"),
            (one("label = \"a\"\nevents = \"a.csv\"\n"), "line 4: has both `label` and `events`", "keep one"),
            (
                one("[labels]\nx = \"a\"\ny = \"*.edf\"\n"),
                "line 4: `[labels]`: `a.edf` is like patterns of both `x` and `y`",
                "one each",
            ),
            (
                "[[recording]]\nfile = \"a.edf\"\nsubject = 1\n".into(),
                "`[events]` names no class",
                "left_hand",
            ),
            (
                "[events]\na = [\"T1\"]\nb = [\"T1\"]\n".into(),
                "`T1` stands for both `a` and `b`",
                "one class",
            ),
            (
                format!("symmetry = {{ left = \"rigth\" }}\n{}", one("")),
                "symmetry `left=rigth`: there is no class `rigth`",
                "left_hand=right_hand",
            ),
            (format!("symmetry = 3\n{}", one("")), "line 1: a symmetry is `{ left_hand", "mend the line"),
            (format!("paradigm = \"imagery\"\n{}", one("")), "line 1: unknown variant `imagery`", "mend"),
            ("[events]\na = []\n".into(), "class `a` has no event code", "left_hand"),
            ("[events]\na = true\n".into(), "line 2: invalid type: boolean", "mend the line"),
            ("events\n".into(), "line 1: ", "mend the line"),
        ] {
            let error = read(&text).unwrap_err();
            let said = error.to_string();
            assert!(said.starts_with("folder/m.toml: ") && said.contains(says), "{text}\n{error}");
            assert!(error.hint().unwrap().contains(hint), "{text}\n{:?}", error.hint());
        }
    }
}

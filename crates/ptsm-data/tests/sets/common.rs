//! What tests of several data sets need.

use std::path::{Path, PathBuf};

use ptsm_data::catalogue::DataSetFiles;
use ptsm_data::{Error, LoadedData, Recordings, Source};
use ptsm_io::mat::Value;
use ptsm_signal::{Pipeline, Scaling, SubjectId};

/// A folder next to the repository; none where it is not on this machine.
pub(crate) fn beside(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(folder);
    if !path.exists() {
        eprintln!("skipped: needs ../shared/{folder}");
        return None;
    }
    Some(path)
}

/// A folder with copies of fixtures, each at a path of its own.
pub(crate) fn tree(copies: &[(&str, &str)]) -> Option<tempfile::TempDir> {
    let fixtures = beside("datasets/fixtures")?;
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in copies {
        let to = folder.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(fixtures.join(from), to).unwrap();
    }
    Some(folder)
}

pub(crate) fn recordings(id: &str, root: &Path, with: &[(&str, &str)]) -> Recordings {
    let with: Vec<_> = with.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    match Source::parse_with(id, Some(root), &with).unwrap() {
        Source::Recordings(recordings) => recordings,
        other => panic!("{other:?}"),
    }
}

/// What is there, also where that is nothing.
pub(crate) fn found(id: &str, root: &Path, with: &[(&str, &str)]) -> DataSetFiles {
    let recordings = recordings(id, root, with);
    recordings.set().find(root, recordings.options()).unwrap()
}

/// Paths of what is missing.
pub(crate) fn paths(found: &DataSetFiles) -> Vec<&Path> {
    found.missing.iter().map(|(_, path)| path.as_path()).collect()
}

/// The default pipeline of what was chosen.
pub(crate) fn pipeline(id: &str, with: &[(&str, &str)]) -> Pipeline {
    let recordings = recordings(id, Path::new("."), with);
    recordings.set().pipeline(recordings.options()).unwrap()
}

pub(crate) fn load(
    id: &str,
    root: &Path,
    with: &[(&str, &str)],
    pipeline: Option<&Pipeline>,
) -> Result<LoadedData, Error> {
    Source::Recordings(recordings(id, root, with)).load(pipeline, None)
}

/// The words of a refusal and its hint.
pub(crate) fn refused(id: &str, root: &Path, with: &[(&str, &str)]) -> (String, String) {
    let error = load(id, root, with, Some(&bare([0.0, 0.1]))).unwrap_err();
    let hint = error.hint().unwrap_or_else(|| panic!("no hint: {error}"));
    (error.to_string(), hint.to_string())
}

/// Samples as they are.
pub(crate) fn bare(window_s: [f64; 2]) -> Pipeline {
    Pipeline { window_s, scaling: Scaling::None, ..Pipeline::default() }
}

/// Everybody's number of trials per class.
pub(crate) fn counts(loaded: &LoadedData) -> Vec<(u32, Vec<usize>)> {
    let trials = &loaded.trials;
    let of = |subject: SubjectId| (subject.0, trials.of(&[subject].into()).class_counts());
    trials.subjects().into_iter().map(of).collect()
}

/// Whose the trials are: subject, session, run, class.
pub(crate) fn whose(loaded: &LoadedData) -> Vec<(u32, u32, u32, &str)> {
    let classes = &loaded.trials.layout().classes;
    let of = |t: &ptsm_signal::Trial| (t.subject.0, t.session, t.run, &*classes[t.label as usize]);
    loaded.trials.info().iter().map(of).collect()
}

pub(crate) fn notes(loaded: &LoadedData) -> String {
    loaded.notes.join("\n")
}

/// Numbers that look random and are the same each time, about as large as an EEG.
pub(crate) fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 40) as f64 / f64::from(1 << 24) - 0.5) * 40.0
    };
    (0..count).map(|_| (next() * 8.0).round() / 8.0).collect()
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(vec![text.into()])
}

pub(crate) fn cell(dims: &[usize], values: Vec<Value>) -> Value {
    Value::Cell { dims: dims.to_vec(), values }
}

pub(crate) fn texts(texts: &[&str]) -> Value {
    cell(&[1, texts.len()], texts.iter().map(|one| text(one)).collect())
}

/// A struct with one of its fields replaced, or without it.
pub(crate) fn with_field(record: &Value, name: &str, value: Option<Value>) -> Value {
    let Value::Struct { dims, fields, values } = record.clone() else { panic!("no struct") };
    let pairs = fields.into_iter().zip(values);
    let changed = pairs.filter_map(|(field, old)| match (field == name, &value) {
        (true, None) => None,
        (true, Some(new)) => Some((field, new.clone())),
        (false, _) => Some((field, old)),
    });
    let (fields, values) = changed.unzip();
    Value::Struct { dims, fields, values }
}

/// Writes a file with one or several variables, folders too.
pub(crate) fn save(path: &Path, variables: &[(&str, &Value)]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    ptsm_io::mat::write(path, variables).unwrap();
}

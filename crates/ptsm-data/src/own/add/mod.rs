//! A manifest for a folder of recordings: what is in it, whose it is, and which events there are.

mod codes;
mod inference;
mod look;
mod matlab;
mod tables;
mod write;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use rayon::prelude::*;

pub use codes::EventCode;

use super::files::text::labelled;
use crate::error::{Error, Result};
use crate::recordings::options::Count;
use crate::recordings::{LoadOptions, memory};
use crate::walk::{WalkOrder, name, walk};
use look::{AmbiguousKey, InspectedRecording, look};
use write::{ManifestEntry, Plan};

/// Folders are looked into so deep.
const DEEPEST: usize = 16;

/// What was found in a folder and written to a manifest.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct AddReport {
    /// The manifest.
    pub manifest: PathBuf,
    /// How many recordings it lists.
    pub recordings: usize,
    /// How many subjects they are of.
    pub subjects: usize,
    /// Every event code.
    pub events: Vec<EventCode>,
    /// Labels of whole recordings, each with how many there are.
    pub labels: Vec<(String, usize)>,
    /// Files that look like recordings and cannot be read.
    pub unreadable: Vec<UnreadableFile>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct UnreadableFile {
    /// From the manifest's folder on.
    pub file: String,
    /// Why.
    pub error: String,
}

/// What is known of a folder's recordings before they are looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddOptions {
    /// One label for each recording: labels, and patterns of the files they are for, in which `*` stands for any text.
    pub labels: Vec<(String, String)>,
    /// Windows of so many seconds, one after the other: of recordings with a label, or inside of annotated segments.
    pub every_s: Option<f64>,
    /// Where tables of events lie: the name of a file, in which `*` stands for a recording's name without its ending; `none` for
    /// nowhere. Without it usual names are looked for.
    pub events_from: Option<String>,
}

/// Writes a manifest for the recordings in a folder, without another place to `NAME.toml` inside of it. An existing manifest is
/// written over only by force. Progress counts files that were looked at.
pub fn add_folder(
    folder: &Path,
    to: Option<&Path>,
    force: bool,
    options: &LoadOptions<'_>,
) -> Result<AddReport> {
    add_folder_with(folder, to, force, &AddOptions::default(), options)
}

/// The same of recordings of which something is known.
pub fn add_folder_with(
    folder: &Path,
    to: Option<&Path>,
    force: bool,
    known: &AddOptions,
    options: &LoadOptions<'_>,
) -> Result<AddReport> {
    options.work(|| add_here(folder, to, force, known, options))
}

fn add_here(
    folder: &Path,
    to: Option<&Path>,
    force: bool,
    known: &AddOptions,
    options: &LoadOptions<'_>,
) -> Result<AddReport> {
    let refuse = |path: &Path, message: String, hint: &str| Error::Content {
        path: path.to_path_buf(),
        message,
        hint: Some(hint.to_string()),
    };
    if let Some(every_s) = known.every_s.filter(|every_s| !(every_s.is_finite() && *every_s > 0.0)) {
        let message = format!("windows every {every_s} s are not possible");
        return Err(refuse(folder, message, "give seconds: `--every 2`"));
    }
    if !folder.is_dir() {
        return Err(refuse(folder, "there is no such folder".into(), "give a folder of recordings"));
    }
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    let title = name(&whole);
    let manifest = to.map_or_else(|| folder.join(format!("{title}.toml")), Path::to_path_buf);
    if manifest.is_dir() {
        return Err(refuse(&manifest, "is a folder".into(), "give the name of a file with `--out`"));
    }
    if manifest.exists() && !force {
        let hint = "give another name with `--out`, or `--force` to write over it";
        return Err(refuse(&manifest, "is there already".into(), hint));
    }
    let home = manifest.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let home = home.canonicalize().map_err(|error| {
        refuse(home, format!("cannot write there: {error}"), "give a folder that is there with `--out`")
    })?;

    let walked = walk(&whole, DEEPEST, WalkOrder::DepthFirst, usize::MAX);
    let count = Count::new(walked.files.len(), options);
    let one = |path: &PathBuf| {
        options.go_on()?;
        let looked = look(path, tables::beside(path, known.events_from.as_deref()).as_deref());
        count.one_more();
        Ok((path.strip_prefix(&whole).unwrap_or(path).to_str().map_or_else(String::new, slashes), looked))
    };
    let needs: Vec<u64> = walked.files.iter().map(|path| look::memory(path)).collect();
    let mut looked: Vec<(String, Option<Result<Vec<InspectedRecording>>>)> = vec![];
    for part in memory::parts(&needs, options.bound()) {
        looked.append(&mut walked.files[part].par_iter().map(one).collect::<Result<Vec<_>>>()?);
    }
    let from_home = |inner: &str| between(&home, &whole.join(inner));
    // Later parts of split recordings are no recordings.
    let read_with: BTreeSet<PathBuf> = looked
        .iter()
        .filter_map(|(_, look)| look.as_ref()?.as_ref().ok())
        .flatten()
        .flat_map(|look| look.others.clone())
        .collect();
    let (mut read, mut unreadable, mut advice) = (vec![], vec![], None);
    for (inner, looked) in looked {
        match looked {
            _ if read_with.contains(&whole.join(&inner)) => {}
            Some(Ok(looks)) if !inner.is_empty() => {
                read.extend(looks.into_iter().map(|look| (inner.clone(), look)));
            }
            Some(Ok(_)) => unreadable.push((String::new(), "its name is no text".to_string())),
            Some(Err(error)) => {
                advice = advice.or_else(|| error.hint().map(String::from));
                unreadable.push((from_home(&inner), reason(&error, &whole.join(&inner))));
            }
            None => {}
        }
    }
    unreadable.extend(walked.closed.iter().map(|(path, error)| (between(&home, path), error.to_string())));
    if read.is_empty() {
        let endings: Vec<&str> = ptsm_io::FORMATS.iter().flat_map(|format| format.endings).copied().collect();
        let hint = format!(
            "recordings end in .{}; .mat where they are of FieldTrip or hold a plain matrix",
            endings.join(", .")
        );
        let (message, hint) = match unreadable.first() {
            None => ("there is no recording in it".to_string(), hint),
            // What the names end in is not what is wrong with them.
            Some((file, why)) => (
                format!("none of its {} recordings can be read; {file}: {why}", unreadable.len()),
                advice.unwrap_or_else(|| "copy or download them again".into()),
            ),
        };
        return Err(refuse(folder, message, &hint));
    }

    let patterns = by_label(&known.labels);
    let mut labels: Vec<(String, usize)> = patterns.iter().map(|(label, _)| (label.clone(), 0)).collect();
    let (mut bare, mut from_tables) = (0, vec![]);
    for (path, look) in &mut read {
        let label = labelled(&from_home(path), &patterns).map_err(|(message, _)| {
            refuse(folder, message, "give patterns of which each file is like one")
        })?;
        match labels.iter_mut().find(|(own, _)| Some(own) == label.as_ref()) {
            // Its own events begin no epoch.
            Some((_, count)) => (*count, look.events) = (*count + 1, vec![]),
            None => bare += 1,
        }
        let table = tables::beside(&whole.join(&*path), known.events_from.as_deref());
        let table = table.filter(|_| label.is_none() && !look.epochs);
        from_tables.push(table.map(|table| between(&home, &table)));
    }
    if let Some((label, _)) = labels.iter().find(|(_, count)| *count == 0) {
        let first = from_home(&read[0].0);
        let message = format!(
            "no recording is like the pattern of label `{label}`; {first} is the first of {}",
            read.len()
        );
        return Err(refuse(folder, message, "`*` stands for any text: `--label 'rest=*_rest.edf'`"));
    }
    let without = from_tables.iter().filter(|table| table.is_none()).count();
    if let Some(pattern) =
        known.events_from.as_ref().filter(|pattern| **pattern != "none" && without == read.len())
    {
        let message = format!("no recording has a table of events called `{pattern}`");
        return Err(refuse(
            folder,
            message,
            "`*` stands for a recording's name without its ending: `--events-from '*_events.csv'`",
        ));
    }
    let paths: Vec<String> = read.iter().map(|(path, _)| path.clone()).collect();
    let (whose, numbering) = inference::infer_owners(&paths);
    let looks: Vec<(&str, &InspectedRecording)> =
        read.iter().map(|(path, look)| (path.as_str(), look)).collect();
    let events = codes::codes(&looks);
    let first_table = from_tables.iter().flatten().next().cloned();
    let each = read.iter().zip(&whose).zip(from_tables);
    let mut recordings: Vec<_> = each
        .map(|(((path, look), whose), events)| ManifestEntry {
            file: from_home(path),
            whose: *whose,
            look,
            events,
        })
        .collect();
    recordings.sort_by_key(|ManifestEntry { whose, .. }| (whose.subject, whose.session, whose.run));
    let plan = Plan {
        manifest: &manifest.display().to_string(),
        title: &title,
        recordings,
        numbering,
        codes: &events,
        apart_s: codes::apart_s(&looks, &events),
        unreadable: &unreadable,
        labels: &patterns,
        every_s: known.every_s,
    };
    ptsm_io::atomic::replace(&manifest, plan.text().as_bytes())?;
    let mut notes = vec![];
    if whole.join("dataset_description.json").is_file() {
        let folder = folder.display();
        notes.push(format!("this is a BIDS folder: `--data bids:{folder}` reads it with its own tables"));
    }
    if let Some(table) = first_table {
        notes.push(format!(
            "events of {} of {} recordings come from tables beside them, {table} is the first; `--events-from none` takes those in the files",
            read.len() - without,
            read.len()
        ));
    }
    if bare > 0 && !labels.is_empty() {
        notes.push(format!("{bare} of {} recordings are like no pattern and have no label", read.len()));
    }
    if without > 0 && known.events_from.as_ref().is_some_and(|pattern| pattern != "none") {
        notes.push(format!("{without} of {} recordings have no such table of events", read.len()));
    }
    for key in ["axes", "labels", "triggers", "onsets"] {
        let doubt = |look: &InspectedRecording| look.doubts.iter().find(|doubt| doubt.key == key).cloned();
        let doubted: Vec<(&String, AmbiguousKey)> =
            read.iter().filter_map(|(path, look)| Some((path, doubt(look)?))).collect();
        notes.extend(doubted.first().map(|(path, doubt)| doubt.note(path, doubted.len(), read.len())));
    }
    let without: Vec<(&String, &String)> =
        read.iter().filter_map(|(path, look)| Some((path, look.no_eeg.as_ref()?))).collect();
    if let Some((path, kinds)) = without.first() {
        notes.push(format!(
            "no channel of {} of {} recordings counts as EEG: `[rename]` in the manifest gives electrodes their names; {path} has {kinds}",
            without.len(),
            read.len()
        ));
    }
    let subjects: BTreeSet<u32> = whose.iter().map(|whose| whose.subject).collect();
    Ok(AddReport {
        recordings: read.len(),
        subjects: subjects.len(),
        events,
        labels,
        unreadable: unreadable.into_iter().map(|(file, error)| UnreadableFile { file, error }).collect(),
        notes,
        manifest,
    })
}

/// The patterns of each label, in the order in which labels were first named.
fn by_label(pairs: &[(String, String)]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = vec![];
    for (label, pattern) in pairs {
        match all.iter_mut().find(|(known, _)| known == label) {
            Some((_, patterns)) => patterns.push(pattern.clone()),
            None => all.push((label.clone(), vec![pattern.clone()])),
        }
    }
    all
}

/// Why a file cannot be read, without its path in front.
fn reason(error: &Error, path: &Path) -> String {
    let said = error.to_string();
    let short =
        said.strip_prefix(&path.display().to_string()).map(|rest| rest.trim_start_matches([':', ',', ' ']));
    short.unwrap_or(&said).to_string()
}

/// The way from a folder to a file, with `/` between its parts. Both are whole paths.
fn between(folder: &Path, file: &Path) -> String {
    let shared = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    // Where nothing is shared, not even the drive, there is no way.
    if shared == 0 {
        return slashes(&file.to_string_lossy());
    }
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(file.components().skip(shared)).collect();
    slashes(&way.to_string_lossy())
}

fn slashes(path: &str) -> String {
    if cfg!(windows) { path.replace('\\', "/") } else { path.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_file_starts_at_the_manifest() {
        for (folder, file, way) in [
            ("/data/a", "/data/a/b/c.edf", "b/c.edf"),
            ("/data/a", "/data/c.edf", "../c.edf"),
            ("/home/me", "/data/c.edf", "../../data/c.edf"),
        ] {
            assert_eq!(between(Path::new(folder), Path::new(file)), way);
        }
    }
}

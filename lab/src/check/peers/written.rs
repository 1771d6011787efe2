//! Files written here, read by others.
//!
//! The other side makes arrays, recordings as arrays, and MATLAB files; they are read, written again, and compared over there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use ptsm_io::mat::{self, MatFile};
use ptsm_io::npy::{Array, Data};
use ptsm_io::npz::{self, Archive, Compression};
use ptsm_io::{Error, edf, fif};
use ptsm_signal::{Channel, Event, Layout, Recording, SubjectId, TaskDeclaration, Trial, Trials, Unit};
use serde::Deserialize;

use super::PeerTally;
use super::telling::PeerScript;
use crate::python::Python;
use crate::shell;

/// What the other side found in a file.
#[derive(Deserialize)]
struct FileComparison {
    title: String,
    file: PathBuf,
    /// What is not as it should be.
    wrong: Option<String>,
}

/// Expects MATLAB files in `folder`, as [`super::matlab::check`] leaves them there.
pub(super) fn check(python: &Python, folder: &Path, held: &mut PeerTally) -> Result<()> {
    let mut script = python.script("make.py");
    shell::stream(script.arg(folder).arg("written"))?;
    for path in files(&folder.join("written"), "npz")? {
        written(&path).with_context(|| shell::relative(&path))?;
    }
    for path in files(&folder.join("mat"), "mat")? {
        variables(&path, &folder.join("written")).with_context(|| shell::relative(&path))?;
    }
    let mut script = python.script("check_written.py");
    script.arg(folder);
    let mut telling = PeerScript::start(script)?;
    let before = held.right;
    while let Some((FileComparison { title, file, wrong }, _)) = telling.next()? {
        held.add(&title, &file, wrong.map_or(Ok(()), |wrong| Err(anyhow!(wrong))));
    }
    println!("{} comparisons of files written here with what others read in them", held.right - before);
    Ok(())
}

/// Files with this ending, by name.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let unread = || format!("{} cannot be read", shell::relative(folder));
    let entries = fs::read_dir(folder).with_context(unread)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    let mut paths: Vec<_> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    paths.sort();
    Ok(paths)
}

/// Writes an archive's arrays again, and where they are a recording that as EDF and, cut into epochs, as FIF.
fn written(path: &Path) -> Result<()> {
    let mut archive = npz::read(path)?;
    let arrays = archive.names().into_iter().map(|name| Ok((archive.array(&name)?, name)));
    let arrays = arrays.collect::<Result<Vec<_>, Error>>()?;
    let named: Vec<_> = arrays.iter().map(|(array, name)| (&**name, array)).collect();
    npz::write(&path.with_extension("npz-stored"), &named, Compression::Stored)?;
    npz::write(&path.with_extension("npz-deflated"), &named, Compression::Deflated)?;
    if archive.has("rate_hz") {
        let recording = recording(&mut archive)?;
        let epochs = epochs(&recording)?;
        // Once as microvolts, once as numbers without a unit.
        fif::write_epochs(&path.with_extension("volts-epo.fif"), &epochs, true)?;
        fif::write_epochs(&path.with_extension("plain-epo.fif"), &epochs, false)?;
        let written = edf::write(&path.with_extension("edf"), &recording)?;
        let ends = written.padding.iter().flat_map(|range| [range.start as u64, range.end as u64]);
        let padding = Array::vector(ends.collect::<Vec<_>>());
        npz::write(&path.with_extension("padding"), &[("padding", &padding)], Compression::Stored)?;
    }
    Ok(())
}

fn recording(archive: &mut Archive) -> Result<Recording> {
    let mut numbers = |name: &str| archive.array(name)?.data().to_f64().with_context(|| format!("`{name}`"));
    let samples = numbers("samples")?.into_iter().map(|value| value as f32).collect();
    let rate_hz = numbers("rate_hz")?[0];
    let places = |values: Vec<f64>| values.into_iter().map(|value| value as usize);
    let (at, lasts) = (places(numbers("at")?), places(numbers("lasts")?));
    let breaks = places(numbers("breaks")?).collect();
    let microvolts = numbers("microvolts")?;
    let mut texts = |name: &str| match archive.array(name)?.into_data() {
        Data::Text(texts) => Ok(texts),
        _ => Err(anyhow!("`{name}` is no text")),
    };
    let channels = texts("names")?.into_iter().zip(microvolts).map(|(name, microvolts)| {
        let unit = if microvolts == 0.0 { Unit::Arbitrary } else { Unit::Microvolts };
        Channel { name, position: None, unit }
    });
    let events = at.zip(lasts).zip(texts("texts")?);
    let events = events.map(|((sample, samples), code)| Event { sample, code, samples });
    Ok(Recording::new(rate_hz, channels.collect(), samples, events.collect())?.with_breaks(breaks)?)
}

/// Samples of each of the epochs that a recording is cut into.
const EPOCH: usize = 40;

/// A recording cut into epochs, of two classes in turn and of three subjects.
fn epochs(recording: &Recording) -> Result<Trials> {
    let length = recording.samples.len() / recording.channels.len();
    let count = length / EPOCH;
    let layout = Layout {
        channels: recording.channels.clone(),
        samples: EPOCH,
        rate_hz: recording.rate_hz,
        start_s: -3.0 / recording.rate_hz,
        classes: vec!["left/hand".into(), "r\u{e9}st: \u{3b1}".into()],
        task: TaskDeclaration::default(),
    };
    let channels = || recording.samples.chunks(length);
    let x = (0..count).flat_map(|i| channels().flat_map(move |channel| &channel[i * EPOCH..][..EPOCH]));
    let trial = |i: usize| Trial {
        label: (i % 2) as u32,
        subject: SubjectId((3 * i / count) as u32 + 1),
        session: 1,
        run: (i % 3) as u32 + 1,
        cue_s: i as f64 / 3.0,
    };
    Ok(Trials::new(layout, x.copied().collect(), (0..count).map(trial).collect())?)
}

/// Writes the variables of a file again.
fn variables(path: &Path, folder: &Path) -> Result<()> {
    let file = MatFile::open(path)?;
    let values = file.names().into_iter().map(|name| Ok((file.read(&name)?, name)));
    let values = values.collect::<Result<Vec<_>, Error>>()?;
    let named: Vec<_> = values.iter().map(|(value, name)| (&**name, value)).collect();
    mat::write(&folder.join(path.file_name().unwrap_or_default()), &named)?;
    Ok(())
}

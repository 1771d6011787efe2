//! Trials to a `.npz` file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ptsm_io::npy::Array;
use ptsm_io::npz::{self, Compression};
use ptsm_signal::{Alignment, Channel, Pipeline, Scaling, SubjectId, Symmetry, Trial, Trials, Unit};

use crate::error::{Error, Result};
use crate::identity::SubjectIdentity;

/// Writes trials so that [`read_trials`](super::read_trials) gives the same ones back, and NumPy can read them too.
pub fn write_trials(path: &Path, trials: &Trials) -> Result<()> {
    write(path, trials, false, vec![])
}

/// The same of trials as a decoder sees them: read again, nothing is done to them a second time, and subjects stay recognised.
pub fn write_prepared_trials(
    path: &Path,
    trials: &Trials,
    pipeline: &Pipeline,
    identities: &BTreeMap<SubjectId, SubjectIdentity>,
) -> Result<()> {
    let done = serde_json::to_string(pipeline).map_err(|error| Error::Content {
        path: path.to_path_buf(),
        message: format!("the pipeline cannot be written: {error}"),
        hint: None,
    })?;
    let subjects = trials.subjects();
    let known = identities.iter().filter(|(subject, _)| subjects.contains(subject));
    let pairs: Vec<String> = known
        .flat_map(|(subject, identity)| {
            identity.hashes.iter().map(|hash| [subject.0.to_string(), hash.clone()])
        })
        .flatten()
        .collect();
    let recognised_by = Array::new(vec![pairs.len() / 2, 2], pairs)?;
    let mut others = vec![("pipeline", text(done)?), ("recognised_by", recognised_by)];
    // Others cannot tell places from names.
    if trials.layout().channels.iter().any(|channel| channel.position.is_some()) {
        others.push(("positions", positions(&trials.layout().channels)?));
    }
    // What was divided or whitened is no voltage any more, whatever its channels were measured in.
    let scaled = pipeline.scaling != Scaling::None || pipeline.alignment != Alignment::None;
    write(path, trials, scaled, others)
}

/// The same of trials that were made from those of subjects who are recognised by these hashes: a decoder that is trained on the file has been trained on
/// them.
pub fn write_made_trials(path: &Path, trials: &Trials, made_from: &BTreeSet<String>) -> Result<()> {
    let made_from = Array::vector(made_from.iter().cloned().collect::<Vec<_>>());
    write(path, trials, false, vec![("made_from", made_from)])
}

/// Writes trials and what else is to be known of them. Scaled ones have no unit.
fn write(path: &Path, trials: &Trials, scaled: bool, others: Vec<(&'static str, Array)>) -> Result<()> {
    let layout = trials.layout();
    let shape = vec![trials.len(), layout.channels.len(), layout.samples];
    let info = trials.info();
    let column = |value: fn(&Trial) -> u32| Array::vector(info.iter().map(value).collect::<Vec<u32>>());
    let microvolts = layout.channels.iter().all(|c| c.unit == Unit::Microvolts);
    if !scaled && !microvolts && layout.channels.iter().any(|c| c.unit == Unit::Microvolts) {
        return Err(Error::Content {
            path: path.to_path_buf(),
            message: "channels of different units cannot be kept in one array".into(),
            hint: Some("pick the channels measured in microvolts".into()),
        });
    }
    let unit = if microvolts && !scaled { "uV" } else { "arbitrary" };
    let mut arrays = vec![
        ("X", Array::new(shape, trials.to_vec())?),
        ("y", column(|t| t.label)),
        ("subject", column(|t| t.subject.0)),
        ("session", column(|t| t.session)),
        ("run", column(|t| t.run)),
        ("cue_s", Array::vector(info.iter().map(|t| t.cue_s).collect::<Vec<f64>>())),
        ("channels", Array::vector(layout.channels.iter().map(|c| c.name.clone()).collect::<Vec<_>>())),
        ("rate_hz", Array::scalar(layout.rate_hz)),
        ("start_s", Array::scalar(layout.start_s)),
        ("classes", Array::vector(layout.classes.clone())),
        ("unit", text(unit)?),
    ];
    if let Some(paradigm) = layout.task.paradigm {
        arrays.push(("paradigm", text(paradigm)?));
    }
    if !layout.task.symmetry.is_undeclared() {
        arrays.push(("symmetry", symmetry(&layout.task.symmetry)?));
    }
    let own = layout.channels.iter().any(|c| c.position != Channel::named(&c.name).position);
    if own && !others.iter().any(|(name, _)| *name == "positions") {
        arrays.push(("positions", positions(&layout.channels)?));
    }
    arrays.extend(others.into_iter().filter(|(_, array)| !array.shape().contains(&0)));
    let members: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    Ok(npz::write(path, &members, Compression::Stored)?)
}

/// Where channels are on the unit sphere; no numbers where nobody knows.
fn positions(channels: &[Channel]) -> Result<Array> {
    let places = channels.iter().flat_map(|c| c.position.map_or([f64::NAN; 3], |p| [p.x, p.y, p.z]));
    Ok(Array::new(vec![channels.len(), 3], places.collect::<Vec<f64>>())?)
}

fn text(text: impl ToString) -> Result<Array> {
    Ok(Array::new(Vec::new(), vec![text.to_string()])?)
}

/// Pairs as they are: names of classes may hold commas.
fn symmetry(symmetry: &Symmetry) -> Result<Array> {
    match symmetry {
        Symmetry::Swaps(pairs) => {
            let names: Vec<String> = pairs.iter().flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
            Ok(Array::new(vec![pairs.len(), 2], names)?)
        }
        other => text(other),
    }
}

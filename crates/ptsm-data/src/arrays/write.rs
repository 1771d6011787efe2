//! Trials to a `.npz` file.

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_io::npy::Array;
use ptsm_io::npz::{self, Compression};
use ptsm_signal::{Channel, Symmetry, Trial, Trials, Unit};

use crate::error::{Error, Result};

/// Writes trials so that [`read_trials`](super::read_trials) gives the same ones back, and NumPy can read them too.
pub fn write_trials(path: &Path, trials: &Trials) -> Result<()> {
    write_made_trials(path, trials, &BTreeSet::new())
}

/// The same of trials that were made from those of people who are recognised by these hashes: whoever learns from the file has learnt from
/// them.
pub fn write_made_trials(path: &Path, trials: &Trials, made_from: &BTreeSet<String>) -> Result<()> {
    let layout = trials.layout();
    let shape = vec![trials.len(), layout.channels.len(), layout.samples];
    let info = trials.info();
    let column = |value: fn(&Trial) -> u32| Array::vector(info.iter().map(value).collect::<Vec<u32>>());
    let microvolts = layout.channels.iter().all(|c| c.unit == Unit::Microvolts);
    if !microvolts && layout.channels.iter().any(|c| c.unit == Unit::Microvolts) {
        return Err(Error::Content {
            path: path.to_path_buf(),
            message: "channels of different units cannot be kept in one array".into(),
            hint: Some("pick the channels measured in microvolts".into()),
        });
    }
    let unit = if microvolts { "uV" } else { "arbitrary" };
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
    if layout.channels.iter().any(|c| c.position != Channel::named(&c.name).position) {
        let unknown = [f64::NAN; 3];
        let places = layout.channels.iter().flat_map(|c| c.position.map_or(unknown, |p| [p.x, p.y, p.z]));
        arrays.push(("positions", Array::new(vec![layout.channels.len(), 3], places.collect::<Vec<f64>>())?));
    }
    if !made_from.is_empty() {
        arrays.push(("made_from", Array::vector(made_from.iter().cloned().collect::<Vec<_>>())));
    }
    let members: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    Ok(npz::write(path, &members, Compression::Stored)?)
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

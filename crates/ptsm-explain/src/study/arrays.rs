//! Masks of every trial as arrays, for other programs.

use std::path::Path;

use ptsm_decode::ptsm::mask_values;
use ptsm_io::npy::Array;
use ptsm_io::npz::{self, Compression};
use ptsm_signal::Subset;

use ptsm_eval::{Error, Evaluation, Result};

use super::adapted_unlabelled;

/// Writes the masks of a run's first decoder, `[n, C]` and `[n, T]`, with whose each trial is and what it means.
pub fn write_masks(evaluation: &Evaluation, subjects: &Subset<'_>, path: &Path) -> Result<()> {
    let decoders = adapted_unlabelled(evaluation, subjects)?;
    let fitted = decoders[0].get();
    let mut arrays: Vec<(String, Array)> = vec![];
    let names = mask_values()
        .into_iter()
        .flat_map(|(kind, [space, time])| [(format!("{kind}_space"), space), (format!("{kind}_time"), time)]);
    for (name, value) in names {
        if let Some(values) = fitted.intermediate_values(subjects, &[value])?.and_then(|mut all| all.pop()) {
            arrays.push((name, Array::new(vec![subjects.len(), values.len() / subjects.len()], values)?));
        }
    }
    if arrays.is_empty() {
        return Err(Error::request(
            "this decoder has no masks",
            "leave `--masks` out, or train `ptsm`, `ptsm-paper` or one of their adversarial forms, without `--ensemble`",
        ));
    }
    let layout = subjects.layout();
    let channels: Vec<String> = layout.channels.iter().map(|channel| channel.name.clone()).collect();
    let numbers =
        |of: fn(&ptsm_signal::Trial) -> u32| Array::vector(subjects.info().map(of).collect::<Vec<u32>>());
    let described: [(&str, Array); 7] = [
        ("y", numbers(|t| t.label)),
        ("subject", numbers(|t| t.subject.0)),
        ("session", numbers(|t| t.session)),
        ("run", numbers(|t| t.run)),
        ("channels", Array::vector(channels)),
        ("classes", Array::vector(layout.classes.clone())),
        ("times_s", Array::vector(layout.times_s().collect::<Vec<f64>>())),
    ];
    let arrays = arrays.iter().map(|(name, array)| (name.as_str(), array));
    let arrays: Vec<(&str, &Array)> =
        arrays.chain(described.iter().map(|(name, array)| (*name, array))).collect();
    Ok(npz::write(path, &arrays, Compression::Deflated)?)
}

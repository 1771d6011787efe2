//! Where trials begin.

use ptsm_io::mat::Value;

use crate::catalogue::matlab::{Record, Samples};
use crate::error::Result;

/// What is found in the files that are published.
pub(super) const USUAL: &str = "`t` counts samples from 1, as the trials in `smt` show";

/// The first sample of each trial, counted from 0, and how that was found out.
pub(super) fn onsets(record: &Record<'_>, x: Samples<'_>) -> Result<(Vec<usize>, String)> {
    let value = record.get("t")?;
    let numbers = value.vector().unwrap_or_default();
    let whole = |&number: &f64| number.fract() == 0.0 && number >= 0.0 && number <= x.rows as f64;
    if let Some(other) = numbers.iter().find(|number| !whole(number)) {
        return Err(record.refuse("t", format!("holds {other}, which is no sample of the {} of `x`", x.rows)));
    }
    let places: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
    if places.is_empty() {
        return Err(record.refuse("t", "names no trial"));
    }
    let (base, why) = base(record.find("smt"), x, &places);
    let onsets: Option<Vec<usize>> =
        places.iter().map(|&place| place.checked_sub(base).filter(|&onset| onset < x.rows)).collect();
    match onsets {
        Some(onsets) => Ok((onsets, why)),
        None => {
            let message = format!("does not fit the {} samples of `x`, counted from {base}", x.rows);
            Err(record.refuse("t", message))
        }
    }
}

/// What positions are counted from: the trials in `smt` are cut from `x`, so they tell. MATLAB counts from 1.
fn base(smt: Option<&Value>, x: Samples<'_>, places: &[usize]) -> (usize, String) {
    let Some(Value::Array { dims, real, imaginary: None, .. }) = smt else {
        return (1, "`t` is taken to count samples from 1: there is no `smt` to compare with".into());
    };
    let &[samples, trials, channels] = &dims[..] else {
        return (1, format!("`t` is taken to count samples from 1: `smt` has {} sizes, not 3", dims.len()));
    };
    let fits = samples > 0 && channels > 0 && trials == places.len() && channels == x.columns;
    if !fits || samples.saturating_mul(trials).saturating_mul(channels) != real.len() {
        return (
            1,
            format!(
                "`t` is taken to count samples from 1: `smt` of {samples} x {trials} x {channels} does not fit `x`"
            ),
        );
    }
    // The first and the last trial in the first and the last channel are enough: noise is nowhere the same twice.
    let same = |base: usize, trial: usize, channel: usize| {
        let start = samples * (trial + trials * channel);
        let cut = real.part_f32(start..start + samples);
        places[trial].checked_sub(base).is_some_and(|first| x.part(channel, first, samples) == cut)
    };
    let fits = |base| {
        [0, trials - 1].into_iter().all(|trial| [0, channels - 1].into_iter().all(|c| same(base, trial, c)))
    };
    match (fits(1), fits(0)) {
        (true, _) => (1, USUAL.into()),
        (false, true) => (0, "`t` counts samples from 0, as the trials in `smt` show".into()),
        (false, false) => (
            1,
            "`t` is taken to count samples from 1: the trials in `smt` are not in `x` at either place".into(),
        ),
    }
}

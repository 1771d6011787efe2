//! Epochs for MNE.

use std::path::Path;

use ptsm_eval::{Env, Result};
use ptsm_io::fif::write_epochs;
use ptsm_signal::Trials;

/// How far the first sample may be from a whole number of samples after the cue and still be there, in samples.
const WHOLE: f64 = 1e-3;

pub(super) fn write(path: &Path, trials: &Trials, scaled: bool, env: &Env) -> Result<()> {
    let layout = trials.layout();
    write_epochs(path, trials, !scaled)?;
    // Only of a file that is there.
    if scaled {
        env.note(
            "note: these epochs were scaled or aligned, or their unit is not known: MNE gets the numbers as they are, not volts \
             (`--set pipeline.scaling=none` leaves them unscaled)",
        );
    }
    let first = layout.start_s * layout.rate_hz;
    if (first - first.round()).abs() > WHOLE {
        env.note(format!(
            "note: epochs begin {} s after the cue, in the file {} s: it counts whole samples",
            layout.start_s,
            first.round() / layout.rate_hz
        ));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !["-epo.fif", "_epo.fif"].iter().any(|ending| name.ends_with(ending)) {
        env.note("note: MNE wants names of epochs to end in `-epo.fif` and warns otherwise");
    }
    Ok(())
}

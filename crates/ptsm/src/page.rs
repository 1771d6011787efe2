//! Pages about a run.
use crate::commands::Trained;
use ptsm_eval::Summary;
use ptsm_report::Page;
use ptsm_signal::Subset;
use std::path::Path;
pub(crate) fn of_run(
    _run: &Path,
    _t: &Trained,
    _people: &Subset<'_>,
    _s: &[Summary],
    _few: &[Summary],
) -> anyhow::Result<Page> {
    Ok(Page::default())
}

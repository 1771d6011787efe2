//! `ptsm demo`
use super::Session;
use crate::args::DemoArgs;
pub(super) fn run(_args: &DemoArgs, _session: &Session) -> anyhow::Result<()> {
    Ok(())
}

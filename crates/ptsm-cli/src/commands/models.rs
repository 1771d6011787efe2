//! `ptsm models`

use super::Session;

pub(super) fn run(session: &Session) -> anyhow::Result<()> {
    let list = ptsm::list_decoders()?;
    session.output.result(format!("{}\n{}", list.decoders, list.augmentations), &list.document)
}

//! `ptsm tune`

use ptsm::eval::Result;
use ptsm::eval::tuning::{TuneRequest, search};
use ptsm::pages::tuning_figures;

use super::Session;
use crate::args::TuneArgs;
use crate::at_chance;
use crate::output;

pub(super) fn run(args: &TuneArgs, session: &Session) -> anyhow::Result<()> {
    let request = TuneRequest {
        data: args.data.request(),
        settings: args.settings.request()?,
        model: args.model.clone(),
        tries: args.tries.clone(),
        search: args.search,
        halving: args.halving,
        develop: args.develop.clone(),
        nested: args.nested.clone(),
        folds: args.folds,
        metric: args.metric.clone(),
        out: args.out.clone(),
    };
    let (figures, text, document, warning) = search(&request, &session.env, |found| -> Result<_> {
        Ok((tuning_figures(found), found.text()?, found.document()?, found.warning()))
    })?;
    for (name, drawing) in figures {
        output::write(&args.out.join(name), drawing.as_bytes())?;
    }
    session.output.result(text, &document)?;
    if let Some(warning) = warning {
        at_chance::warn(&warning, session.output);
    }
    Ok(())
}

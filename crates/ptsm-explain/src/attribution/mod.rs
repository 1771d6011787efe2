//! What a decoder's answer to each trial rests on: by its gradient, or by what is lost without a part of the trial.

mod legendre;
mod maps;
mod occlusion;
mod relevance;

pub use maps::{AttributionMethod, RelevanceMap, maps};
pub use occlusion::{Occlusion, occlusion};
pub use relevance::Relevance;

use ptsm_decode::{DecoderOutput, FittedDecoder};
use ptsm_eval::Result;
use ptsm_signal::Subset;

/// What the answer to each trial rests on, by the decoder's gradient; none for a decoder that has none ([`occlusion`] works for all).
pub fn attribution(
    fitted: &dyn FittedDecoder,
    trials: &Subset<'_>,
    of: DecoderOutput,
    how: &AttributionMethod,
) -> Result<Option<Relevance>> {
    let mut relevance = Relevance::default();
    let channels = trials.layout().channels.len();
    let done = maps(fitted, trials, of, how, &mut |map| relevance.add(&map, channels))?;
    Ok(done.then_some(relevance))
}

//! Saliency (attribution): which channels and times a decoder's output depends on, by its gradient or by occlusion.

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

/// Saliency of each trial by the decoder's gradient; none for a decoder that has none ([`occlusion`] works for all).
pub fn attribution(
    fitted: &dyn FittedDecoder,
    trials: &Subset<'_>,
    of: DecoderOutput,
    method: &AttributionMethod,
) -> Result<Option<Relevance>> {
    let mut relevance = Relevance::default();
    let channels = trials.layout().channels.len();
    let done = maps(fitted, trials, of, method, &mut |map| relevance.add(&map, channels))?;
    Ok(done.then_some(relevance))
}

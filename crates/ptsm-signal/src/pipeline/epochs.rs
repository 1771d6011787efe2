//! What is done to epochs once they are cut: ocular regression, the band of each epoch, scaling.

use std::collections::BTreeMap;

use super::chain::{Chain, Group};
use super::ocular::regress;
use super::selection::Selection;
use super::{Band, Pipeline};
use crate::error::Result;
use crate::lanes::{Isa, LANES};

impl Pipeline {
    /// The same for epochs of recordings and for arrays. `domains` says for each epoch which others it is regressed with.
    ///
    /// # Shapes
    /// `x` is `[n, C + R, T]` with the R channels that are regressed on last; the result is `[n, C, T]`.
    pub(super) fn process_epochs<D: Ord>(
        &self,
        selection: &Selection,
        mut x: Vec<f32>,
        samples: usize,
        rate_hz: f64,
        domains: impl Iterator<Item = D>,
    ) -> Result<Vec<f32>> {
        let (channels, regressors) = (selection.kept, selection.processed.len() - selection.kept);
        if regressors > 0 && !x.is_empty() {
            let all = (channels + regressors) * samples;
            let mut together: BTreeMap<D, Vec<&mut [f32]>> = BTreeMap::new();
            for (epoch, domain) in x.chunks_exact_mut(all).zip(domains) {
                together.entry(domain).or_default().push(epoch);
            }
            together.values_mut().try_for_each(|epochs| regress(epochs, channels, regressors))?;
            for epoch in 0..x.len() / all {
                let kept = channels * samples;
                x.copy_within(epoch * all..epoch * all + kept, epoch * kept);
            }
            x.truncate(x.len() / all * channels * samples);
        }
        if let Some(band) = self.epoch_band {
            filter_each(&mut x, band, channels, samples, rate_hz)?;
        }
        self.scaling.apply(&mut x, channels * samples);
        Ok(x)
    }
}

/// Filters each channel of each epoch by itself, as a recording of that length would be.
fn filter_each(x: &mut [f32], band: Band, channels: usize, samples: usize, rate_hz: f64) -> Result<()> {
    let chain = Chain::new(&Pipeline { band: Some(band), ..Pipeline::default() }, rate_hz)?;
    chain.check(samples)?;
    let (isa, mut group) = (Isa::best(), Group::new(chain.room()));
    for epoch in x.chunks_exact_mut(channels * samples) {
        for some in epoch.chunks_mut(LANES * samples) {
            let own: Vec<&[f32]> = some.chunks_exact(samples).collect();
            group.load(isa, &own, None);
            let filtered = chain.apply(isa, &mut group, &[]);
            for (l, row) in some.chunks_exact_mut(samples).enumerate() {
                row.iter_mut().zip(filtered).for_each(|(x, lanes)| *x = lanes[l] as f32);
            }
        }
    }
    Ok(())
}

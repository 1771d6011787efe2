//! TSMNet after its fit, and after unlabelled adaptation to sessions.

use std::collections::{BTreeMap, HashMap};

use nalgebra::DMatrix;
use ptsm_engine::Device;
use ptsm_signal::{Layout, Subset, Unlabelled};

use super::batches::{Domain, domains, measurable, of_each};
use super::network::Network;
use super::norm::Statistics;
use super::weights::{NAMES, Sizes, Weights};
use super::{Normalisation, TsmNet};
use crate::classic::matrices::{self, Matrices};
use crate::decoder::FittedDecoder;
use crate::error::{Error, Result};
use crate::probabilities::softmax;

/// A trained TSMNet.
#[derive(Clone)]
pub(crate) struct FittedTsmNet {
    pub(super) settings: TsmNet,
    pub(super) layout: Layout,
    pub(super) sizes: Sizes,
    pub(super) weights: Weights,
    /// What samples are multiplied with.
    pub(super) gain: f64,
    pub(super) statistics: NormalisationStatistics,
    pub(super) device: Device,
}

/// Statistics to normalise with.
#[derive(Clone)]
pub(super) enum NormalisationStatistics {
    /// Of all training trials.
    Training(Statistics),
    /// Of the sessions it was adapted to; none in a file.
    Sessions(BTreeMap<Domain, Statistics>),
}

impl FittedTsmNet {
    /// Reads it back from a file whose header has been understood.
    pub(crate) fn load(
        file: &Matrices<'_>,
        settings: TsmNet,
        normalised: Normalisation,
        layout: &Layout,
        device: &Device,
    ) -> Result<FittedTsmNet> {
        let sizes = settings.sizes(layout)?;
        let mut weights = Weights::zeros(&sizes);
        for ((weights, name), (rows, columns)) in weights.0.iter_mut().zip(NAMES).zip(sizes.shapes()) {
            *weights = file.sized(name, rows, columns)?;
        }
        let statistics = match normalised {
            Normalisation::ByDomain => NormalisationStatistics::Sessions(BTreeMap::new()),
            Normalisation::Globally => NormalisationStatistics::Training(Statistics {
                mean: file.sized("norm.mean", sizes.subspace, sizes.subspace)?,
                variance: file.sized("norm.variance", 1, 1)?[0],
            }),
        };
        let gain = file.sized("gain", 1, 1)?[0];
        let (layout, device) = (layout.clone(), device.clone());
        Ok(FittedTsmNet { settings, layout, sizes, weights, gain, statistics, device })
    }

    fn network(&self) -> Network<'_, f32> {
        let least = self.settings.network.least_eigenvalue;
        Network::new(&self.sizes, &self.weights, self.gain, least, &self.device)
    }

    /// What trials are normalised with.
    fn statistics(&self, domain: Domain) -> Result<&Statistics> {
        match &self.statistics {
            NormalisationStatistics::Training(statistics) => Ok(statistics),
            NormalisationStatistics::Sessions(statistics) => statistics.get(&domain).ok_or_else(|| {
                let (subject, session) = domain;
                Error::trials(
                    format!("`tsmnet` has not been adapted to {subject} in session {session}"),
                    "adapt it to the unlabelled trials of a session before it decodes any of them; `tsmnet-spdmbn` needs none",
                )
            }),
        }
    }
}

impl FittedDecoder for FittedTsmNet {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        self.layout.expect(trials.layout())?;
        let network = self.network();
        let signals: Vec<&[f32]> = trials.signals().collect();
        let mut all = vec![0.0; trials.len() * self.sizes.classes];
        let mut normalisers = vec![];
        for (domain, places) in domains(of_each(trials)) {
            normalisers.push((self.statistics(domain)?.normaliser(self.weights.scale())?, places));
        }
        let matrices = self.device.enter(|| network.matrices(&signals))?;
        for (normaliser, places) in &normalisers {
            for &place in places {
                let p = softmax(&network.logits(&matrices[place], normaliser)?);
                let own = &mut all[place * p.len()..(place + 1) * p.len()];
                own.iter_mut().zip(p).for_each(|(to, p)| *to = p as f32);
            }
        }
        Ok(all)
    }

    fn adapt_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<Option<Box<dyn FittedDecoder>>> {
        let NormalisationStatistics::Sessions(statistics) = &self.statistics else { return Ok(None) };
        self.layout.expect(subjects.layout())?;
        let sessions = measurable(subjects.sessions())?;
        let network = self.network();
        let signals: Vec<&[f32]> = subjects.signals().collect();
        let matrices = self.device.enter(|| network.matrices(&signals))?;
        let mut statistics = statistics.clone();
        for (domain, places) in sessions {
            let own: Vec<DMatrix<f64>> = places.iter().map(|&place| matrices[place].clone()).collect();
            statistics.insert(domain, self.device.enter(|| Statistics::of(&own))?);
        }
        Ok(Some(Box::new(FittedTsmNet {
            statistics: NormalisationStatistics::Sessions(statistics),
            ..self.clone()
        })))
    }

    fn parameters(&self) -> usize {
        self.weights.len()
    }

    /// Statistics of sessions it was adapted to stay out of the file.
    fn to_bytes(&self, header: HashMap<String, String>) -> Result<Vec<u8>> {
        let mut tensors: Vec<_> = NAMES.into_iter().zip(self.weights.0.iter().cloned()).collect();
        tensors.push(("gain", DMatrix::from_element(1, 1, self.gain)));
        if let NormalisationStatistics::Training(statistics) = &self.statistics {
            tensors.push(("norm.mean", statistics.mean.clone()));
            tensors.push(("norm.variance", DMatrix::from_element(1, 1, statistics.variance)));
        }
        matrices::to_bytes(header, &tensors)
    }
}

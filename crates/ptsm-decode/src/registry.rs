//! Every decoder a user can name. A new one is its file and its line here.

use std::path::Path;

use ptsm_engine::Device;
use ptsm_signal::{Layout, TargetAccess};
use serde_json::Value;

use crate::augment::Augment;
use crate::augment::mirror::Mirror;
use crate::classic::decoder::{Classic, FittedClassic};
use crate::csp_lda::CspLda;
use crate::decoder::{Decoder, Fitted};
use crate::deep::{Deep, FittedNetwork};
use crate::deepconvnet::DeepConvNet;
use crate::eegnet::EegNet;
use crate::error::{Error, Result};
use crate::fbcsp_lda::FbcspLda;
use crate::file::Card;
use crate::mdm::Mdm;
use crate::network::Model;
use crate::ptsm::{Pool, Ptsm};
use crate::sblest::Sblest;
use crate::settings::{from_value, merge, nearest, to_value};
use crate::slda_erp::SldaErp;
use crate::training::Training;
use crate::ts_lr::TsLr;
use crate::xdawn_ts::XdawnTs;

/// A decoder by name.
pub struct Method {
    /// What a user types.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The paper.
    pub paper: &'static str,
    /// Where the paper is; empty where it has no such number.
    pub doi: &'static str,
    /// What it sees of the person it decodes, before any alignment.
    pub target_access: TargetAccess,
    /// Whether a few labelled trials of a person can tune it.
    pub adapts: bool,
    kind: Kind,
}

/// How settings become a decoder.
enum Kind {
    /// A network of this name, with its settings for a layout.
    Deep { network: &'static str, defaults: fn(&Layout) -> Deep },
    /// A classic method: its settings for a layout, and what is made of settings.
    Classic {
        defaults: fn(&Layout) -> Result<Value>,
        build: fn(Value) -> Result<Box<dyn Decoder>>,
        load: fn(&Path, &Card, &Device) -> Result<Box<dyn Fitted>>,
    },
}

fn checked<C: Classic>(settings: Value) -> Result<C> {
    let settings = from_value::<C>(settings)?;
    settings.check()?;
    Ok(settings)
}

const fn classic<C: Classic>() -> Kind {
    Kind::Classic {
        defaults: |layout| to_value(&C::defaults(layout)),
        build: |settings| Ok(Box::new(checked::<C>(settings)?)),
        load: |path, card, device| {
            let settings = checked::<C>(card.settings.clone())?;
            Ok(Box::new(FittedClassic::load(path, settings, &card.layout, device)?))
        },
    }
}

/// Every decoder, in the order users see them.
pub const METHODS: &[Method] = &[
    Method {
        name: "ptsm",
        about: "PTSM, this project's reading: pooled after each layer; mirrored trials too where classes are left and right",
        paper: "Jing et al., AAAI 2026",
        doi: "",
        target_access: TargetAccess::Nothing,
        adapts: true,
        kind: Kind::Deep { network: "ptsm", defaults: ptsm },
    },
    Method {
        name: "ptsm-paper",
        about: "PTSM to the letter where the paper is definite: literal losses, pooled once, no augmentation",
        paper: "Jing et al., AAAI 2026",
        doi: "",
        target_access: TargetAccess::Nothing,
        adapts: true,
        kind: Kind::Deep { network: "ptsm", defaults: ptsm_paper },
    },
    Method {
        name: "eegnet",
        about: "compact depthwise-separable network",
        paper: "Lawhern et al. 2018",
        doi: "10.1088/1741-2552/aace8c",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "eegnet", defaults: eegnet },
    },
    Method {
        name: "deepconvnet",
        about: "four blocks of convolution and max pooling",
        paper: "Schirrmeister et al. 2017",
        doi: "10.1002/hbm.23730",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "deepconvnet", defaults: deepconvnet },
    },
    Method {
        name: "csp-lda",
        about: "log power of common spatial patterns, linear discriminant",
        paper: "Blankertz et al. 2008",
        doi: "10.1109/MSP.2008.4408441",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: classic::<CspLda>(),
    },
    Method {
        name: "fbcsp-lda",
        about: "the same in several bands, the most informative features kept",
        paper: "Ang et al. 2012",
        doi: "10.3389/fnins.2012.00039",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: classic::<FbcspLda>(),
    },
    Method {
        name: "mdm",
        about: "the nearest class mean among covariances, on their curved space",
        paper: "Barachant et al. 2012",
        doi: "10.1109/TBME.2011.2172210",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: classic::<Mdm>(),
    },
    Method {
        name: "ts-lr",
        about: "covariances in their tangent space, logistic regression",
        paper: "Barachant et al. 2013",
        doi: "10.1016/j.neucom.2012.12.039",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: classic::<TsLr>(),
    },
    Method {
        name: "xdawn-ts",
        about: "for responses to events: covariances with the classes' mean responses, tangent space",
        paper: "Rivet et al. 2009; Barachant & Congedo 2014",
        doi: "10.1109/TBME.2009.2012869",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: classic::<XdawnTs>(),
    },
    Method {
        name: "slda-erp",
        about: "for responses to events: means of time bins, linear discriminant with shrinkage",
        paper: "Blankertz et al. 2011",
        doi: "10.1016/j.neuroimage.2010.06.048",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: classic::<SldaErp>(),
    },
    Method {
        name: "sblest",
        about: "filters and classifier together by sparse Bayesian learning on covariances",
        paper: "Wang et al. 2023",
        doi: "10.1109/TPAMI.2023.3299568",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: classic::<Sblest>(),
    },
];

/// A decoder by name; a mistyped one names the nearest.
pub fn find(name: &str) -> Result<&'static Method> {
    METHODS.iter().find(|m| m.name == name).ok_or_else(|| Error::Name {
        name: name.into(),
        nearest: nearest(name, METHODS.iter().map(|m| m.name)),
    })
}

impl Method {
    /// All settings with the values they have when nobody changes them.
    pub fn defaults(&self, layout: &Layout) -> Result<Value> {
        match &self.kind {
            Kind::Deep { defaults, .. } => defaults(layout).settings(),
            Kind::Classic { defaults, .. } => defaults(layout),
        }
    }

    /// The defaults with some changes laid over them.
    pub fn settings(&self, layout: &Layout, changes: &Value) -> Result<Value> {
        merge(&self.defaults(layout)?, changes)
    }

    /// A decoder from settings that have all keys.
    pub fn build(&self, settings: Value) -> Result<Box<dyn Decoder>> {
        match &self.kind {
            Kind::Deep { network, .. } => Ok(Box::new(Deep::from_settings(network, settings)?)),
            Kind::Classic { build, .. } => build(settings),
        }
    }

    /// A fitted decoder from its file.
    pub(crate) fn load(
        &self,
        path: &Path,
        card: &Card,
        subjects: usize,
        device: &Device,
    ) -> Result<Box<dyn Fitted>> {
        match &self.kind {
            Kind::Deep { network, .. } => {
                let deep = Deep::from_settings(network, card.settings.clone())?;
                Ok(Box::new(FittedNetwork::load(path, deep, &card.layout, subjects, device)?))
            }
            Kind::Classic { load, .. } => load(path, card, device),
        }
    }
}

fn plain(model: Model) -> Deep {
    Deep { model, training: Training::default(), augment: Augment::default() }
}

fn ptsm(layout: &Layout) -> Deep {
    let model = Model::Ptsm(Ptsm { pool: Pool::Each, ..Ptsm::default() });
    // Only where names of classes and channels say what the mirror image means: of `0` and `1` nobody knows.
    let augment = if Mirror::is_meant(layout) { Augment::only("mirror", 0.5) } else { Augment::default() };
    Deep { augment, ..plain(model) }
}

fn ptsm_paper(layout: &Layout) -> Deep {
    let training = Training::default();
    let mut ptsm = Ptsm { literal: true, ..Ptsm::default() };
    // The paper's sums, weighed so that they do not grow with the size of the trial and of the batch.
    let entries = layout.channels.len() * layout.samples;
    let batch = training.batch_subjects * training.batch_trials;
    ptsm.weights.mask_sparsity /= entries as f64;
    ptsm.weights.feature_sparsity /= (ptsm.features * batch) as f64;
    Deep { training, ..plain(Model::Ptsm(ptsm)) }
}

fn eegnet(layout: &Layout) -> Deep {
    let mut config = EegNet::default();
    // Half and an eighth of a second; the defaults are for 128 Hz. Below 32 Hz the rate is not one of EEG.
    if layout.rate_hz >= 32.0 {
        let times = (layout.rate_hz / 128.0).round().max(1.0) as usize;
        config.kernel = (layout.rate_hz / 2.0).round() as usize;
        config.separable_kernel = (layout.rate_hz / 8.0).round() as usize;
        config.pools = [4 * times, 8 * times];
    }
    plain(Model::EegNet(config))
}

fn deepconvnet(layout: &Layout) -> Deep {
    let mut config = DeepConvNet::default();
    // The form of Lawhern et al. for 128 Hz where the original does not fit.
    if layout.samples < config.least_time() {
        (config.kernel, config.pool) = (5, 2);
    }
    plain(Model::DeepConvNet(config))
}

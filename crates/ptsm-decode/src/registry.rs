//! Every decoder a user can name. A new one is its file and its line here.

use std::path::Path;

use ptsm_engine::Device;
use ptsm_signal::{Layout, TargetAccess};
use serde_json::Value;

use crate::acon::{Acon, Target};
use crate::augment::Augment;
use crate::augment::mirror::Mirror;
use crate::classic::decoder::{Classic, FittedClassic};
use crate::cslp_ae::CslpAe;
use crate::csp_lda::CspLda;
use crate::dann::{Dann, Domains};
use crate::decoder::{Decoder, Fitted};
use crate::deep::{Deep, FittedNetwork};
use crate::deepconvnet::DeepConvNet;
use crate::eegconformer::EegConformer;
use crate::eegnet::EegNet;
use crate::error::{Error, Result};
use crate::fbcsp_lda::FbcspLda;
use crate::file::Card;
use crate::mdm::Mdm;
use crate::network::Model;
use crate::ptsm::{Pool, Ptsm};
use crate::sblest::Sblest;
use crate::settings::{from_value, merge, nearest, to_value};
use crate::shallowconvnet::ShallowConvNet;
use crate::slda_erp::SldaErp;
use crate::training::{Course, Select, Training};
use crate::ts_lr::TsLr;
use crate::tsmnet::{FittedTsmNet, Normalised, TsmNet, Untrained};
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
    /// A method with a fit of its own: its settings for a layout, and what is made of settings.
    Own {
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
    Kind::Own {
        defaults: |layout| to_value(&C::defaults(layout)),
        build: |settings| Ok(Box::new(checked::<C>(settings)?)),
        load: |path, card, device| {
            let settings = checked::<C>(card.settings.clone())?;
            Ok(Box::new(FittedClassic::load(path, settings, &card.layout, device)?))
        },
    }
}

fn tsmnet(settings: Value) -> Result<TsmNet> {
    let settings = from_value::<TsmNet>(settings)?;
    settings.check()?;
    Ok(settings)
}

/// TSMNet, normalised in one of two ways.
macro_rules! tsmnet {
    ($normalised:expr) => {
        Kind::Own {
            defaults: |layout| to_value(&TsmNet::defaults(layout)),
            build: |settings| {
                Ok(Box::new(Untrained { settings: tsmnet(settings)?, normalised: $normalised }))
            },
            load: |path, card, device| {
                let settings = tsmnet(card.settings.clone())?;
                Ok(Box::new(FittedTsmNet::load(path, settings, $normalised, &card.layout, device)?))
            },
        }
    };
}

/// Every decoder, in the order users see them.
pub const METHODS: &[Method] = &[
    Method {
        name: "ptsm",
        about: "PTSM, this project's reading: pooled after each layer; left-right mirroring where the data declare which classes swap",
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
        name: "deepconvnet-cropped",
        about: "the same on every window of a trial, the windows' probabilities averaged",
        paper: "Schirrmeister et al. 2017",
        doi: "10.1002/hbm.23730",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "deepconvnet", defaults: deepconvnet_cropped },
    },
    Method {
        name: "deepconvnet-zhang",
        about: "DeepConvNet trained by the recipe with the best published result across subjects on OpenBMI",
        paper: "Zhang et al. 2021",
        doi: "10.1016/j.neunet.2020.12.013",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "deepconvnet", defaults: deepconvnet_zhang },
    },
    Method {
        name: "shallowconvnet",
        about: "band power by two convolutions, a square, a mean and a logarithm",
        paper: "Schirrmeister et al. 2017",
        doi: "10.1002/hbm.23730",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "shallowconvnet", defaults: shallowconvnet },
    },
    Method {
        name: "eegconformer",
        about: "a shallow convolution makes tokens of time, self-attention relates them",
        paper: "Song et al. 2023",
        doi: "10.1109/TNSRE.2022.3230250",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "eegconformer", defaults: eegconformer },
    },
    Method {
        name: "dann",
        about: "EEGNet whose features must not tell the training subjects from the people to be decoded",
        paper: "Ganin et al. 2016",
        doi: "",
        target_access: TargetAccess::WHOLE,
        adapts: false,
        kind: Kind::Deep { network: "dann", defaults: |layout| dann(layout, Domains::Uda) },
    },
    Method {
        name: "dann-subject",
        about: "EEGNet whose features must not tell the training subjects from each other",
        paper: "Ganin et al. 2016; Özdenizci et al. 2020",
        doi: "10.1109/ACCESS.2020.2971600",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "dann", defaults: |layout| dann(layout, Domains::Subject) },
    },
    Method {
        name: "ptsm-dann",
        about: "the same as `dann` on PTSM's masks and encoder, without its subject branch",
        paper: "Ganin et al. 2016; Jing et al., AAAI 2026",
        doi: "",
        target_access: TargetAccess::WHOLE,
        adapts: false,
        kind: Kind::Deep { network: "ptsm-dann", defaults: |layout| ptsm_dann(layout, Domains::Uda) },
    },
    Method {
        name: "ptsm-dann-subject",
        about: "the same as `dann-subject` on PTSM's masks and encoder, without its subject branch",
        paper: "Ganin et al. 2016; Jing et al., AAAI 2026",
        doi: "",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "ptsm-dann", defaults: |layout| ptsm_dann(layout, Domains::Subject) },
    },
    Method {
        name: "acon",
        about: "a temporal and a frequency branch that teach each other, against a critic that tells the target from the rest",
        paper: "Liu et al., NeurIPS 2024",
        doi: "",
        target_access: TargetAccess::WHOLE,
        adapts: false,
        kind: Kind::Deep { network: "acon", defaults: |layout| acon(layout, Target::Given) },
    },
    Method {
        name: "acon-pseudo",
        about: "the same where a third of the training subjects plays the target; not a form of its authors",
        paper: "Liu et al., NeurIPS 2024",
        doi: "",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "acon", defaults: |layout| acon(layout, Target::Pretended) },
    },
    Method {
        name: "tsmnet",
        about: "covariances of convolved trials, normalised by each session's own unlabelled trials on their curved space",
        paper: "Kobler et al. 2022",
        doi: "10.48550/arXiv.2206.01323",
        target_access: TargetAccess::WHOLE,
        adapts: false,
        kind: tsmnet!(Normalised::ByDomain),
    },
    Method {
        name: "tsmnet-spdmbn",
        about: "the same with one normalisation for everybody, found from the training trials",
        paper: "Kobler et al. 2022",
        doi: "10.48550/arXiv.2206.01323",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: tsmnet!(Normalised::Globally),
    },
    Method {
        name: "cslp-ae",
        about: "an autoencoder that keeps person and task apart, a small one (64 channels inside, not 256); linear on its task latents; converts",
        paper: "Nørskov et al., NeurIPS 2023",
        doi: "10.48550/arXiv.2311.07788",
        target_access: TargetAccess::Nothing,
        adapts: false,
        kind: Kind::Deep { network: "cslpae", defaults: cslp_ae },
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
            Kind::Own { defaults, .. } => defaults(layout),
        }
    }

    /// The defaults with some changes laid over them.
    pub fn settings(&self, layout: &Layout, changes: &Value) -> Result<Value> {
        merge(&self.defaults(layout)?, changes)
    }

    /// Whether it can render trials of one person as another's.
    pub fn converts(&self) -> bool {
        matches!(self.kind, Kind::Deep { network: "cslpae", .. })
    }

    /// A decoder from settings that have all keys.
    pub fn build(&self, settings: Value) -> Result<Box<dyn Decoder>> {
        let decoder: Box<dyn Decoder> = match &self.kind {
            Kind::Deep { network, .. } => Box::new(Deep::from_settings(network, settings)?),
            Kind::Own { build, .. } => build(settings)?,
        };
        // Its scores stand beside what the name promises.
        if decoder.learns_from_target() && self.target_access == TargetAccess::Nothing {
            return Err(Error::Configuration(format!(
                "with these settings `{}` would learn from the people it decodes, and it is the form that sees nothing of them; leave `network.domains` or `network.target` as it is, or take the other form",
                self.name
            )));
        }
        let deep = matches!(self.kind, Kind::Deep { .. });
        if deep && !decoder.learns_from_target() && self.target_access != TargetAccess::Nothing {
            return Err(Error::Configuration(format!(
                "with these settings `{}` would see nothing of the people it decodes, and its scores say that it did; take the form that sees nothing (`ptsm models`)",
                self.name
            )));
        }
        Ok(decoder)
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
            Kind::Own { load, .. } => load(path, card, device),
        }
    }
}

fn plain(model: Model) -> Deep {
    Deep { model, training: Training::default(), augment: Augment::default() }
}

fn ptsm(layout: &Layout) -> Deep {
    let model = Model::Ptsm(Ptsm { pool: Pool::Each, ..Ptsm::default() });
    // Only where it is declared which classes swap: `left` may also be a flickering target or a word.
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

/// Below this the rate is not one of EEG.
const LEAST_RATE_HZ: f64 = 32.0;

fn eegnet(layout: &Layout) -> Deep {
    plain(Model::EegNet(eegnet_for(layout)))
}

fn eegnet_for(layout: &Layout) -> EegNet {
    let mut config = EegNet::default();
    // Half and an eighth of a second; the defaults are for 128 Hz.
    if layout.rate_hz >= LEAST_RATE_HZ {
        let times = (layout.rate_hz / 128.0).round().max(1.0) as usize;
        config.kernel = (layout.rate_hz / 2.0).round() as usize;
        config.separable_kernel = (layout.rate_hz / 8.0).round() as usize;
        config.pools = [4 * times, 8 * times];
    }
    config
}

/// DeepConvNet that fits: the form of Lawhern et al. for 128 Hz where the original does not.
fn deepconvnet_for(layout: &Layout) -> DeepConvNet {
    deepconvnet_of(layout, DeepConvNet::default().least_time())
}

/// The same where the original needs so many samples.
fn deepconvnet_of(layout: &Layout, needed: usize) -> DeepConvNet {
    let config = DeepConvNet::default();
    if layout.samples < needed {
        return DeepConvNet { kernel: 5, pool: 2, ..config };
    }
    config
}

fn deepconvnet(layout: &Layout) -> Deep {
    plain(Model::DeepConvNet(deepconvnet_for(layout)))
}

fn deepconvnet_cropped(layout: &Layout) -> Deep {
    // A window and the step to the next one.
    let original = DeepConvNet::default();
    let config = deepconvnet_of(layout, original.least_time() + original.stride() - 1);
    // Two seconds of four in the paper; of shorter trials the half, and never less than the network can take.
    let two_seconds = (2.0 * layout.rate_hz).round() as usize;
    let crop = two_seconds.min(layout.samples / 2).max(config.least_time());
    plain(Model::DeepConvNet(DeepConvNet { crop: Some(crop), ..config }))
}

fn deepconvnet_zhang(layout: &Layout) -> Deep {
    let model = DeepConvNet { max_norm: None, head_norm: None, ..deepconvnet_for(layout) };
    let training = Training {
        epochs: 200,
        patience: None,
        select: Select::Loss,
        rate: 0.01,
        // They took braindecode's AdamW of that time with 5e-4. It takes that part of the weights at each step whatever the rate,
        // but lets it fall with the rate's cosine: 5e-4 / 0.01 of the rate.
        weight_decay: 0.05,
        decoupled_decay: true,
        clip: None,
        batch_subjects: 4,
        batch_trials: 4,
        ..Training::default()
    };
    Deep { training, ..plain(Model::DeepConvNet(model)) }
}

fn shallowconvnet(layout: &Layout) -> Deep {
    let rated = layout.rate_hz >= LEAST_RATE_HZ;
    let config = if rated { ShallowConvNet::at_rate(layout.rate_hz) } else { ShallowConvNet::default() };
    plain(Model::ShallowConvNet(config))
}

fn eegconformer(layout: &Layout) -> Deep {
    let rated = layout.rate_hz >= LEAST_RATE_HZ;
    let config = if rated { EegConformer::at_rate(layout.rate_hz) } else { EegConformer::default() };
    let training = Training {
        // The authors take 2000 epochs of one person's 4 batches; across people an epoch is longer.
        epochs: 150,
        patience: Some(40),
        rate: 2e-4,
        weight_decay: 0.0,
        betas: [0.5, 0.999],
        clip: None,
        batch_subjects: 9,
        batch_trials: 8,
        ..Training::default()
    };
    Deep { training, ..plain(Model::EegConformer(config)) }
}

/// Adam at one rate and no limit of the gradient: the domain head is not to slow the encoder down.
fn adversarial() -> Training {
    Training { course: Course::Constant, clip: None, ..Training::default() }
}

fn dann(layout: &Layout, domains: Domains) -> Deep {
    Deep { training: adversarial(), ..plain(Model::Dann(Dann::on(eegnet_for(layout), domains))) }
}

fn ptsm_dann(layout: &Layout, domains: Domains) -> Deep {
    let encoder = Ptsm { pool: Pool::Each, ..Ptsm::default() };
    Deep { training: adversarial(), model: Model::PtsmDann(Dann::on(encoder, domains)), ..ptsm(layout) }
}

fn cslp_ae(layout: &Layout) -> Deep {
    let mut config = CslpAe::default();
    // At least two places must be left.
    while config.levels > 1 && layout.samples <= 1 << config.levels {
        config.levels -= 1;
    }
    let training = Training {
        // The authors take 200 and the last state. The head that learns along says too little about the latents to choose by.
        epochs: 100,
        patience: None,
        select: Select::Last,
        // Theirs is 1e-4 for many more steps.
        rate: 5e-4,
        course: Course::OneCycle,
        weight_decay: 0.0,
        clip: None,
        ..Training::default()
    };
    Deep { training, ..plain(Model::CslpAe(config)) }
}

/// Adam at one rate for 50 epochs, as its authors do; batches of 32 labelled trials and as many of the target.
fn acon(layout: &Layout, target: Target) -> Deep {
    let rated = layout.rate_hz >= LEAST_RATE_HZ;
    let config = if rated { Acon::at_rate(layout.rate_hz) } else { Acon::default() };
    let period = config.period.min(layout.samples).max(2);
    let training = Training { epochs: 50, batch_subjects: 8, batch_trials: 4, ..adversarial() };
    Deep { training, ..plain(Model::Acon(Acon { target, period, ..config })) }
}

#[cfg(test)]
mod tests {
    use ptsm_signal::Channel;
    use serde_json::json;

    use super::*;

    fn layout(samples: usize, rate_hz: f64) -> Layout {
        Layout {
            channels: vec![Channel::named("C3"), Channel::named("C4")],
            samples,
            rate_hz,
            start_s: 0.0,
            classes: vec!["left_hand".into(), "right_hand".into()],
            task: Default::default(),
        }
    }

    #[test]
    fn networks_follow_the_sampling_rate() {
        let network = |name: &str, samples, rate_hz| {
            find(name).unwrap().defaults(&layout(samples, rate_hz)).unwrap()["network"].clone()
        };
        for name in ["shallowconvnet", "eegconformer"] {
            for (samples, rate_hz, kernel, pool, stride) in
                [(1000, 250.0, 25, 75, 15), (512, 128.0, 13, 35, 7), (200, 1.0, 25, 75, 15)]
            {
                let n = network(name, samples, rate_hz);
                assert_eq!(
                    [&n["kernel"], &n["pool"], &n["stride"]],
                    [kernel, pool, stride],
                    "{name} {rate_hz}"
                );
            }
        }
        // Two seconds of four, the half of less, never less than the blocks can take.
        assert_eq!(network("deepconvnet-cropped", 1000, 250.0)["crop"], 500);
        assert_eq!(network("deepconvnet-cropped", 950, 250.0)["crop"], 475);
        assert_eq!(network("deepconvnet-cropped", 640, 160.0)["crop"], 441);
        let close = network("deepconvnet-cropped", 520, 250.0);
        assert_eq!([&close["kernel"], &close["pool"], &close["crop"]], [5, 2, 260]);
        assert_eq!(network("deepconvnet-cropped", 521, 250.0)["crop"], 441);
        let short = network("deepconvnet-cropped", 256, 128.0);
        assert_eq!([&short["kernel"], &short["pool"], &short["crop"]], [5, 2, 128]);
        assert_eq!(network("deepconvnet", 1000, 250.0)["crop"], Value::Null);
    }

    #[test]
    fn the_recipe_of_zhang_et_al_is_what_they_did() {
        let settings = find("deepconvnet-zhang").unwrap().defaults(&layout(1000, 250.0)).unwrap();
        let training = &settings["training"];
        // A step takes 1 - rate * decay of the weights: at the first rate, 5e-4 of them.
        let (rate, decay) = (training["rate"].as_f64().unwrap(), training["weight_decay"].as_f64().unwrap());
        assert!((rate * decay - 5e-4).abs() < 1e-12 && training["decoupled_decay"] == true);
        let batch = training["batch_subjects"].as_u64().unwrap() * training["batch_trials"].as_u64().unwrap();
        assert_eq!((batch, &training["epochs"], &training["select"]), (16, &json!(200), &json!("loss")));
        let network = &settings["network"];
        assert_eq!([&network["max_norm"], &network["head_norm"], &network["crop"]], [&Value::Null; 3]);
        assert_eq!((&network["kernel"], &network["pool"]), (&json!(10), &json!(3)));
    }
}

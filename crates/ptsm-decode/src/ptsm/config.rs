//! Configuration of PTSM.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::settings::{positive, probability};
use crate::shallowconvnet::ShallowConvNet;

/// Where the encoder pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolPlacement {
    /// Once, after the last layer: a receptive field of 13 samples.
    Last,
    /// After every layer, to about a quarter each time.
    Each,
}

/// Which masks weigh the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MaskSelection {
    /// Personal and common ones, fused.
    Both,
    /// Personal ones alone ("w/o CP").
    Personal,
    /// Common ones alone ("w/o PP").
    Common,
    /// None ("w/o STAP").
    None,
}

/// How personal and common masks are mixed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fusion {
    /// By learnable scalars through a sigmoid, 0.5 at the start.
    Learnable,
    /// By the fixed share of the personal mask, in time and in space.
    Fixed {
        /// Share in time, `a`.
        time: f64,
        /// Share in space, `b`.
        space: f64,
    },
}

/// Weights of the losses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PtsmLossWeights {
    /// l_subj
    pub subject: f64,
    /// l_decouple, over the four that follow.
    pub decouple: f64,
    /// l_orth
    pub orthogonality: f64,
    /// l_cov
    pub decorrelation: f64,
    /// l_info
    pub retention: f64,
    /// l_sparse'
    pub feature_sparsity: f64,
    /// l_mask, over the three that follow.
    pub mask: f64,
    /// l_sim
    pub similarity: f64,
    /// l_sparse
    pub mask_sparsity: f64,
    /// l_size
    pub mask_size: f64,
    /// l_contrast, over the two that follow.
    pub contrast: f64,
    /// l_ct
    pub contrast_task: f64,
    /// l_cs
    pub contrast_subject: f64,
}

impl Default for PtsmLossWeights {
    fn default() -> PtsmLossWeights {
        PtsmLossWeights {
            subject: 0.1,
            decouple: 0.1,
            orthogonality: 1.0,
            decorrelation: 1.0,
            retention: 0.1,
            feature_sparsity: 0.01,
            mask: 0.1,
            similarity: 1.0,
            mask_sparsity: 0.01,
            mask_size: 1.0,
            contrast: 0.1,
            contrast_task: 1.0,
            contrast_subject: 0.1,
        }
    }
}

impl PtsmLossWeights {
    /// The task's cross-entropy and nothing else.
    pub fn cross_entropy_only() -> PtsmLossWeights {
        PtsmLossWeights {
            subject: 0.0,
            decouple: 0.0,
            mask: 0.0,
            contrast: 0.0,
            ..PtsmLossWeights::default()
        }
    }

    fn all(&self) -> [f64; 13] {
        let w = self;
        [
            w.subject,
            w.decouple,
            w.orthogonality,
            w.decorrelation,
            w.retention,
            w.feature_sparsity,
            w.mask,
            w.similarity,
            w.mask_sparsity,
            w.mask_size,
            w.contrast,
            w.contrast_task,
            w.contrast_subject,
        ]
    }
}

/// The branch of the encoder that sees the power of rhythms, wherever in the trial they rise and fall: filters in time and space, their
/// squares, means over windows, logarithms. What the encoder's layers see is locked to the cue; imagined movement mostly is not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PowerBranch {
    /// Filters.
    pub filters: usize,
    /// Their length in samples.
    pub kernel: usize,
    /// Samples of a window.
    pub window: usize,
    /// Samples from one window to the next.
    pub stride: usize,
    /// Where it joins the rest.
    pub joins: PowerJoin,
    /// Largest norm of a filter; none for no limit.
    pub max_norm: Option<f64>,
    /// Largest norm of a class's weights, where it joins with logits.
    pub head_norm: Option<f64>,
}

/// Where the power branch joins the rest of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerJoin {
    /// Beside the encoder's output, before the shared layers.
    #[default]
    Shared,
    /// At the end: a linear head of its own, whose logits are added.
    Logits,
}

impl Default for PowerBranch {
    fn default() -> PowerBranch {
        PowerBranch::of(ShallowConvNet::default())
    }
}

impl PowerBranch {
    /// The durations of ShallowConvNet: filters of 100 ms, windows of 300 ms every 60 ms.
    fn of(shallow: ShallowConvNet) -> PowerBranch {
        PowerBranch {
            filters: shallow.filters,
            kernel: shallow.kernel,
            window: shallow.pool,
            stride: shallow.stride,
            joins: PowerJoin::default(),
            max_norm: None,
            head_norm: None,
        }
    }
}

/// Configuration of PTSM; the default is the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ptsm {
    /// Which masks there are.
    pub masks: MaskSelection,
    /// How they are mixed.
    pub fusion: Fusion,
    /// Hidden width of the spatial mask generators.
    pub spatial_width: usize,
    /// Hidden channels of the temporal mask generators.
    pub temporal_width: usize,
    /// Kernel of the temporal mask generators.
    pub temporal_kernel: usize,
    /// Channels of the encoder's layers.
    pub encoder: Vec<usize>,
    /// Kernel of the encoder's layers.
    pub kernel: usize,
    /// Where the encoder pools.
    pub pool: PoolPlacement,
    /// Places left in time, T'.
    pub pooled: usize,
    /// With `pool = "each"`: lengths after the layers, instead of `max(T', ceil(T / 4^i))` with T' at the end.
    pub pool_lengths: Option<Vec<usize>>,
    /// The encoder's branch for the power of rhythms; none for the paper's encoder.
    pub power: Option<PowerBranch>,
    /// Widths of the shared layers.
    pub shared: [usize; 2],
    /// Width of the task and subject features.
    pub features: usize,
    /// Hidden width of the heads.
    pub head: usize,
    /// Dropout of encoder, shared layers and heads.
    pub dropout: f64,
    /// Weights of the losses.
    pub weights: PtsmLossWeights,
    /// The paper's forms of L_sparse, L_cov, L_info and L_sparse'; their weights then want rescaling.
    pub literal: bool,
    /// Target mean of the masks.
    pub rho: f64,
    /// Temperature of the contrastive losses.
    pub temperature: f64,
    /// Label smoothing of the task's cross-entropy.
    pub label_smoothing: f64,
    /// Keep the gradient of L_task out of the personal masks and that of L_subj out of the common ones.
    pub routed: bool,
    /// Give each training subject an additive bias of its personal masks; unseen subjects get the mean.
    pub subject_table: bool,
}

impl Default for Ptsm {
    fn default() -> Ptsm {
        Ptsm {
            masks: MaskSelection::Both,
            fusion: Fusion::Learnable,
            spatial_width: 32,
            temporal_width: 16,
            temporal_kernel: 7,
            encoder: vec![32, 64, 128],
            kernel: 5,
            pool: PoolPlacement::Last,
            pooled: 16,
            pool_lengths: None,
            power: None,
            shared: [256, 128],
            features: 64,
            head: 64,
            dropout: 0.5,
            weights: PtsmLossWeights::default(),
            literal: false,
            rho: 0.5,
            temperature: 0.1,
            label_smoothing: 0.0,
            routed: false,
            subject_table: false,
        }
    }
}

impl Ptsm {
    /// The reference with pooling after every layer.
    pub(crate) fn pooled_after_each_layer() -> Ptsm {
        Ptsm { pool: PoolPlacement::Each, ..Ptsm::default() }
    }

    /// Refuses what no trials can make good.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::Configuration(message));
        probability("dropout", self.dropout)?;
        probability("label_smoothing", self.label_smoothing)?;
        for (name, n) in [
            ("spatial_width", self.spatial_width),
            ("temporal_width", self.temporal_width),
            ("temporal_kernel", self.temporal_kernel),
            ("encoder", self.encoder.len()),
            ("kernel", self.kernel),
            ("pooled", self.pooled),
            ("features", self.features),
            ("head", self.head),
            ("power.filters", self.power.map_or(1, |power| power.filters)),
            ("power.kernel", self.power.map_or(1, |power| power.kernel)),
            ("power.window", self.power.map_or(1, |power| power.window)),
            ("power.stride", self.power.map_or(1, |power| power.stride)),
        ] {
            positive(name, n)?;
        }
        if let Some(w) = self.weights.all().iter().find(|w| !w.is_finite()) {
            return wrong(format!("`weights` must be finite numbers, got {w}"));
        }
        if let Fusion::Fixed { time, space } = self.fusion
            && !((0.0..=1.0).contains(&time) && (0.0..=1.0).contains(&space))
        {
            return wrong(format!("`fusion` shares must be in 0..=1, got time {time}, space {space}"));
        }
        if self.subject_table && matches!(self.masks, MaskSelection::None | MaskSelection::Common) {
            return wrong(format!("`subject_table` needs personal masks, got masks = {:?}", self.masks));
        }
        if self.routed && self.masks != MaskSelection::Both {
            return wrong(format!("`routed` needs both kinds of masks, got masks = {:?}", self.masks));
        }
        if !self.rho.is_finite() {
            return wrong(format!("`rho` must be a finite number, got {}", self.rho));
        }
        if self.pool == PoolPlacement::Last && self.pool_lengths.is_some() {
            return wrong("`pool_lengths` is for `pool = \"each\"`".into());
        }
        if self.pool_lengths.as_ref().is_some_and(|l| l.len() != self.encoder.len()) {
            return wrong(format!(
                "`pool_lengths` needs one length per encoder layer, {}",
                self.encoder.len()
            ));
        }
        Ok(())
    }
}

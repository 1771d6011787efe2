//! Decoders of EEG trials, deep and classic, behind one trait.
//!
//! A user names a [`Method`] of the [`registry`]; its settings are defaults for the trials at hand with changes laid over them. Built, it is a
//! [`Decoder`]: it is fitted to [`TrainingData`] (training subjects, and validation subjects for early stopping) once per seed and gives
//! [`FittedDecoder`]s, which turn trials of unseen subjects into class probabilities, can be saved ([`mod@file`]), and, where they have
//! personal masks, be adapted to one subject by a few labelled trials.
//!
//! A method is its file, its `pub mod` line below, its line in [`METHODS`](registry::METHODS), a line of `modules.toml` (written by
//! `cargo xtask test map --write`) and a case in `tests/cases.json`. The file of a network implements [`Architecture`] for its configuration, which builds
//! a [`Network`] for a [`TrialShape`] and a batch size: the graph with its losses, which values it offers, and what moves which parameter. The
//! page `docs/add-a-decoder.md` of the repository shows it from beginning to end. Training steps, few-shot tuning and inference are compiled from that one value. Parameters
//! do not depend on the batch size, so a network trained on batches of 64 is applied to single trials by building it again with a batch of 1. One
//! trainer ([`Training`]) serves all networks, and every network can use every [augmentation](augment).
//!
//! ```
//! use ptsm_decode::{Architecture, TrialShape, eegnet::EegNet};
//! use ptsm_engine::{Adam, Cpu, Feed, Mode, Parameters, Program, Step};
//!
//! let shape = TrialShape { channels: 4, time: 64, classes: 2, subjects: 3 };
//! let cpu = Cpu::new()?;
//! let training = EegNet::default().build(shape.batch(8))?;
//! let mut parameters = Parameters::<f32>::new(&training.graph, &[1, 2])?; // two seeds, trained at once
//! let mut step = Step::new(&training.graph, &training.step(Adam::default()), 2, &cpu)?;
//!
//! let trials: Vec<f32> = (0..20 * 4 * 64).map(|i| (i as f32 * 0.37).sin()).collect();
//! let labels: Vec<u32> = (0..20).map(|i| i % 2).collect();
//! let rows: Vec<u32> = (0..16).collect(); // 8 trials for each replica
//! let feeds = [
//!     ("x", Feed::Rows { data: &trials, rows: &rows }),
//!     ("task", Feed::LabelRows { data: &labels, rows: &rows }),
//! ];
//! step.run(&mut parameters, &feeds, &[1e-3, 1e-3], &[true, true])?;
//!
//! let single = EegNet::default().build(shape.batch(1))?;
//! let mut decode = Program::new(&single.graph, Mode::Infer, &[single.logits], 2, &cpu)?;
//! decode.run(&parameters, &[("x", Feed::Shared(&trials[..4 * 64]))])?;
//! assert_eq!(decode.output(&parameters, 0, 0).len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod acon;
pub mod augment;
mod calibration;
pub mod classic;
mod composition;
pub mod cslp_ae;
pub mod csp_lda;
pub mod dann;
mod decoder;
mod deep;
pub mod deepconvnet;
pub mod distillation;
pub mod eegconformer;
pub mod eegnet;
pub mod ensemble;
mod error;
pub mod fbcsp_lda;
pub mod file;
mod head_adaptation;
pub mod layers;
pub mod losses;
pub mod mdm;
mod method;
mod mirror;
mod network;
pub mod norms;
mod probabilities;
pub mod ptsm;
mod random;
pub mod recentring;
pub mod registry;
pub mod sblest;
mod sessions;
pub mod settings;
pub mod shallowconvnet;
pub mod slda_erp;
mod training;
pub mod ts_lr;
pub mod tsmnet;
pub mod xdawn_ts;

pub use calibration::LogitCalibration;
pub use composition::Composition;
pub use decoder::{
    Adaptation, AdaptationGuard, AdaptationWay, AdaptedDecoder, Decoder, DecoderOutput, EnsembleMember,
    EpochRecord, Fit, FitSink, FittedDecoder, Job, NoWatch, OutputClass, Progress, Run, Sensitivity,
    TrainingData, Watch, calibration_split,
};
pub use deep::FittedNetwork;
pub use error::{Error, Result};
pub use head_adaptation::HeadPrior;
pub use method::{Method, MethodBuilder, ModelFile};
pub use mirror::Mirror;
pub use network::{
    Architecture, Batches, Encoder, FittedReadout, Measure, MeasuredStatistic, Network, Pairs, Ramp,
    ReadoutFit, TrialBatch, TrialPart, TrialShape, Trunk,
};
pub use probabilities::{Ties, inverse_temperature, softmax};
pub use training::{LrSchedule, Recipe, RecipeName, Select, SymmetryUse, Training};

//! Signals before they are decoded: recordings and the epochs made from them.
//!
//! A [`Recording`] (samples, channels, events) goes through a [`Pipeline`] (channel pick, reference, filter, resampling, window,
//! baseline, scaling) and becomes [`Trials`]; [`Alignment`] then re-centres each subject's trials. A
//! decoder sees [`Subset`]s of trials, chosen by subject. What a method was allowed to see of the test subject (target access) is a
//! value, [`TargetAccess`], and travels with every score.
//!
//! Signals are in microvolts wherever a unit is not named.
//!
//! ```
//! use ptsm_signal::{Band, Channel, Event, FilterKind, Pipeline, Recording, SubjectId, RecordingId};
//!
//! // Ten seconds of two channels, with one cue after three seconds.
//! let samples = (0..2 * 1600).map(|t| (0.4 * t as f32).sin()).collect();
//! let cue = Event { sample: 480, code: "T1".into(), samples: 0 };
//! let recording = Recording::new(160.0, ["C3", "C4"].map(Channel::named).to_vec(), samples, vec![cue])?;
//!
//! let kind = FilterKind::ZeroPhase { order: 4 };
//! let band = Band { low_hz: Some(8.0), high_hz: Some(30.0), kind };
//! let pipeline = Pipeline { band: Some(band), rate_hz: Some(100.0), ..Pipeline::default() };
//! let who = RecordingId { subject: SubjectId(1), session: 1, run: 1 };
//! let cut = pipeline.epoch(&recording, &[("T1".into(), "left".into())], who)?;
//! assert_eq!((cut.trials.len(), cut.trials.layout().samples), (1, 400));
//! # Ok::<(), ptsm_signal::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod access;
mod alignment;
pub mod covariance;
pub mod eigen;
mod error;
pub mod filter;
#[cfg(test)]
mod golden;
mod lanes;
mod montage;
pub mod nearest;
mod pipeline;
mod recording;
pub mod spd;
mod task;
mod trials;

pub use access::TargetAccess;
pub use alignment::Alignment;
pub use error::{Error, Result};
pub use montage::{Channel, Position, Unit, frontal, mirror_permutation, normalise, position};
pub use pipeline::{
    Band, EpochedRecording, FilterKind, OcularRegression, PIPELINE_KEYS, Pick, Pipeline, PipelineKey,
    RecordingId, Reference, Scaling,
};
pub use recording::{Event, Recording};
pub use task::{Paradigm, Symmetry, TaskDeclaration};
pub use trials::{Layout, SharedSamples, SubjectId, Subset, Trial, Trials, Unlabelled};

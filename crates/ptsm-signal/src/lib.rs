//! Signals before they are decoded: recordings and the trials cut from them.
//!
//! A [`Recording`] (samples, channels, events) goes through a [`Pipeline`] (channel pick, reference, filter, resampling, window,
//! baseline, scaling) and becomes [`Trials`]; [`Alignment`] then moves each person's trials to a common frame. A
//! decoder sees [`Subset`]s of trials, chosen by subject. What a method was allowed to see of the person it decodes is a
//! value, [`TargetAccess`], and travels with every score.
//!
//! Signals are in microvolts wherever a unit is not named.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod access;
mod alignment;
pub mod covariance;
mod error;
pub mod filter;
#[cfg(test)]
mod golden;
mod montage;
mod pipeline;
mod recording;
pub mod spd;
mod trials;

pub use access::TargetAccess;
pub use alignment::Alignment;
pub use error::{Error, Result};
pub use montage::{Channel, Position, Unit, mirror, normalise, position};
pub use pipeline::{Band, Cut, FilterKind, Pick, Pipeline, Reference, Scaling, Who};
pub use recording::{Event, Recording};
pub use trials::{Layout, SubjectId, Subset, Trial, Trials, Unlabelled};

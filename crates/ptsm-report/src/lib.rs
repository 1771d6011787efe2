//! Figures as SVG text and pages as one HTML file.
//!
//! A figure is a plain value ([`ScalpMap`], [`SmallMaps`], [`HeatMap`], [`LineChart`], [`DotPlot`],
//! [`ConditionPlot`], [`ScatterPlot`]) that knows how to draw itself, which numbers it shows and how
//! it can mislead: see [`Drawing`]. A [`Page`] holds figures, [`Table`]s, texts and facts in sections and becomes one HTML
//! file that needs no network and no script. Values that are not finite are drawn as gaps and written as `no value`;
//! nothing here fails.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod colour;
pub mod numbers;
pub mod scale;
pub mod svg;

mod conditions;
mod curve;
mod dots;
mod drawing;
mod field;
mod head;
mod heat;
mod layout;
mod legend;
mod page;
#[cfg(feature = "png")]
mod png;
mod scalp;
mod scatter;
pub mod sections;
mod smallmaps;
mod spline;
mod table;
mod tuning;

pub use conditions::{ConditionPlot, ConditionScores};
pub use curve::{LineChart, Point, ReferenceLine, Series, ShadedSpan};
pub use dots::{ChanceLevel, DotPlot, ModelScores, PointEstimate};
pub use drawing::{Drawing, Figure};
pub use heat::HeatMap;
pub use page::{Fact, Page, Section, SectionPart};
#[cfg(feature = "png")]
pub use png::{PngError, png};
pub use ptsm_eval::{Align, Column, Table};
pub use scalp::{Electrode, ScalpMap};
pub use scatter::{PointGroup, ScatterPlot};
pub use smallmaps::{SmallMap, SmallMaps};
pub use spline::SphericalSpline;
pub use tuning::tuning_figures;

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! draft
pub use ptsm_data as data;
pub use ptsm_decode as decode;
pub use ptsm_engine as engine;
pub use ptsm_eval as eval;
pub use ptsm_explain as explanation;
pub use ptsm_io as io;
pub use ptsm_report as pages;
pub use ptsm_signal as signal;

mod device;
mod evaluate;
mod report;

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use device::{DeviceChoice, OpenedDevice, open_device};
pub use evaluate::{EvaluateRequest, EvaluationReport, evaluate};
pub use report::{ExplainRunRequest, Report, ReportRequest, explain, report};

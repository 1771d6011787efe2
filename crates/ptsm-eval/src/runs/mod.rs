//! Trained decoders in folders: how they are trained, applied, scored, adapted and used to convert trials.

mod adapt;
mod convert;
mod evaluation;
mod file;
mod predict;
mod train;
mod trained;

pub use adapt::{AdaptReport, AdaptRequest, AdaptedFit, adapt};
pub use convert::{Conversion, ConvertRequest, convert};
pub use evaluation::Evaluation;
pub use file::{AdaptedFile, DataFile, DecoderSpec, RunFile, model_name, models, read};
pub use predict::{Prediction, predict};
pub use train::{FitReport, TrainRequest, TrainingReport, train};
pub use trained::TrainedRun;

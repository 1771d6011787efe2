//! Cross-subject EEG decoding: trained on the EEG of some subjects, a decoder decodes that of others, zero-shot.
//!
//! This crate is the library under the program `ptsm`: every command of the program is one call here, and nothing here knows a terminal.
//! It takes recordings (EDF, BDF, GDF, BrainVision, EEGLAB, FIF, MATLAB, BIDS folders, public data sets by name) or arrays, trains PTSM and
//! [its competitors](decode::registry) (EEGNet, DeepConvNet, DANN, ACON, CSLP-AE, TSMNet, CSP + LDA and more), scores them on unseen
//! subjects, adapts them, compares them with statistics that respect subjects, explains what they look at, and writes reports.
//!
//! # Quickstart
//!
//! Fourteen simulated subjects train a decoder, six others are decoded zero-shot. `simulated` may be `physionet-mi`, a BIDS folder, or
//! your own `.npz` file.
//!
//! ```
//! use ptsm::{DataRequest, Env, EvaluateRequest, TrainRequest};
//!
//! # fn main() -> ptsm::Result<()> {
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! let run = folder.path().join("run");
//! let env = Env::new()?;
//! let data = DataRequest::named("simulated");
//! let request = TrainRequest {
//!     data: data.clone().subjects("1-14")?,
//!     model: Some("csp-lda".into()), // or "ptsm", "eegnet", .. : `ptsm::decode::registry`
//!     out: run.clone(),
//!     ..TrainRequest::default()
//! };
//! ptsm::train(&request, &env)?;
//! let scores = ptsm::evaluate(&EvaluateRequest::new(&run, data), &env)?;
//! let summary = &scores.summaries[0];
//! assert_eq!(summary.subjects.len(), 6); // of the twenty, those it was not trained on
//! println!("{:.1} % of trials right", 100.0 * summary.metric("accuracy").expect("a score").mean);
//! # Ok(())
//! # }
//! ```
//!
//! # From data to reports
//!
//! | step | call | gives |
//! | --- | --- | --- |
//! | simulate a cohort with known truth | [`Cohort`] | [`Recording`](signal::Recording)s, or `simulated` as a name of data |
//! | load | [`load`] | [`PreparedData`]: epochs of all subjects, filtered, scaled, aligned |
//! | train | [`train`] | a run folder: models, settings, every epoch's losses |
//! | predict | [`predict`] | class probabilities of each trial |
//! | evaluate | [`evaluate`] | scores of each unseen subject, chance level, spread |
//! | adapt | [`adapt`] | the run fitted to one subject by a few labelled trials |
//! | benchmark | [`benchmark()`] | decoders x folds x seeds, pairwise comparisons, exports |
//! | tune | [`tune`] | settings chosen on a development set that is used for nothing else |
//! | explain | [`explain`] | masks, saliency, sanity checks |
//! | report | [`report()`] | one HTML file, figures, the numbers behind them |
//!
//! All long work takes an [`Env`]: the device, the cache, a [`Cancellation`] that stops it between steps, and [`ProgressSink`] that are told how
//! far it is. What was stopped goes on when it is asked for again. Errors are one type, [`Error`], whose [`hint`](Error::hint) says what to do.
//!
//! # Simulate
//!
//! A cohort whose truth is known: which channels and times carry the task, and in whom it is absent.
//!
//! ```
//! use ptsm::signal::SubjectId;
//! use ptsm::{Cohort, SimulatedTask};
//!
//! let cohort = Cohort { subjects: 3, seed: 7, ..Cohort::of(SimulatedTask::Erp) };
//! let recording = cohort.recording(SubjectId(1), 1, 1)?; // subject, session, run
//! println!("{} channels, {} cues", recording.channels.len(), recording.events.len());
//! assert_eq!(cohort.truth().subjects.len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Load
//!
//! ```
//! use ptsm::{DataRequest, Env};
//!
//! let data = ptsm::load(&DataRequest::named("simulated").subjects("1-2")?, &Env::new()?)?;
//! let layout = data.trials.layout();
//! println!("{} epochs of {} channels at {} Hz", data.trials.len(), layout.channels.len(), layout.rate_hz);
//! assert_eq!(layout.classes, ["left_hand", "right_hand"]);
//! # Ok::<(), ptsm::Error>(())
//! ```
//!
//! # Train, predict, adapt, explain, report
//!
//! A network of one's own size: settings are those of `ptsm models --json`, given as in a configuration file.
//!
//! ```
//! use ptsm::{AdaptRequest, DataRequest, Env, ExplainRunRequest, ReportRequest, SettingChanges, TrainRequest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let (env, run) = (Env::new()?, folder.path().join("run"));
//! let data = DataRequest::named("simulated");
//!
//! // Train on five subjects; some of them are held back as validation subjects.
//! let settings = SettingChanges::read(None, &["training.epochs=2".into()])?.into();
//! let trained = ptsm::train(
//!     &TrainRequest { data: data.clone().subjects("1-5")?, settings, out: run.clone(), ..TrainRequest::default() },
//!     &env,
//! )?;
//! println!("{}, {} parameters", trained.model, trained.parameters);
//!
//! // Probabilities of every trial of an unseen subject.
//! let unseen = data.clone().subjects("6")?;
//! let predicted = ptsm::predict(&run, &unseen, &env)?;
//! assert_eq!(predicted.probabilities.len(), 80);
//!
//! // Few-shot adaptation of the head by five labelled trials of each class.
//! let adapted = ptsm::adapt(
//!     &AdaptRequest { shots: 5, ..AdaptRequest::new(&run, data.clone(), 6, folder.path().join("run6")) },
//!     &env,
//! )?;
//! assert_eq!(adapted.fits.len(), 1);
//!
//! // What the masks let pass, on a page.
//! let explained = ptsm::explain(
//!     &ExplainRunRequest { run: run.clone(), data: data.clone(), sections: vec!["masks".into()], ..Default::default() },
//!     &env,
//! )?;
//! std::fs::write(folder.path().join("masks.html"), explained.page().html())?;
//!
//! // A report of the scores; `sections` names what else there is.
//! let sections = vec!["summary".into(), "subjects".into(), "card".into()];
//! let report = ptsm::report(&ReportRequest { run: Some(run), data, sections, ..Default::default() }, &env)?;
//! assert!(report.figures().iter().any(|(name, _)| name == "accuracy-of-each-subject"));
//! # Ok(())
//! # }
//! ```
//!
//! # Benchmark
//!
//! Decoders x folds x seeds, each fit a file of its own: stopped, it goes on with what is missing. A [`Plan`] is also a TOML file.
//!
//! ```
//! use ptsm::{DataRequest, Env, Plan, PlanOverrides};
//!
//! # fn main() -> ptsm::Result<()> {
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! # let out = folder.path().join("bench");
//! let plan = Plan::of(
//!     None, // or a file, or a preset such as `paper-table-2`
//!     &PlanOverrides {
//!         data: DataRequest::named("simulated").subjects("1-6")?,
//!         models: vec!["csp-lda".into(), "mdm".into()],
//!         protocol: Some("kfold:3".parse()?),
//!         ..PlanOverrides::default()
//!     },
//! )?;
//! let results = ptsm::benchmark(&plan, &out, &Env::new()?)?;
//! for group in results.groups()? {
//!     println!("{}", group.text(&results.plan)); // scores, chance level, comparison with the first decoder
//! }
//! # assert_eq!(results.collected.missing, 0);
//! # Ok(())
//! # }
//! ```
//!
//! # Tune
//!
//! Settings are chosen on a development set, which `benchmark` and `evaluate` then refuse to test.
//!
//! ```
//! use ptsm::{DataRequest, Env, TuneRequest};
//!
//! # fn main() -> ptsm::Result<()> {
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! # let out = folder.path().join("tuned");
//! let data = DataRequest::named("simulated");
//! let request = TuneRequest {
//!     model: Some("csp-lda".into()),
//!     develop: Some("1-6".parse()?),
//!     ..TuneRequest::new(data, &["filters=2,4"], &out)
//! };
//! let best = ptsm::tune(&request, &Env::new()?)?;
//! println!("{:?}", best[0].values);
//! assert!(out.join("best.toml").exists());
//! # Ok(())
//! # }
//! ```
//!
//! # Progress and cancellation
//!
//! ```
//! use std::sync::Arc;
//!
//! use ptsm::{Env, ProgressSink};
//!
//! struct Notes;
//!
//! impl ProgressSink for Notes {
//!     fn note(&self, text: &str) {
//!         println!("{text}");
//!     }
//! }
//!
//! let env = Env::new()?.with_events(Arc::new(Notes)).without_cache();
//! let stop = env.cancellation.clone(); // hand it to a signal handler or another thread
//! stop.cancel();
//! assert!(env.check_cancelled().is_err_and(|error| error.is_cancelled()));
//! # Ok::<(), ptsm::Error>(())
//! ```
//!
//! # Further down
//!
//! Each part is a crate with documentation of its own, re-exported here: [`signal`] (filters, epochs, alignment), [`io`] (file formats),
//! [`data`] (data sets, BIDS, manifests, the cache), [`engine`] (compiled networks), [`decode`] (decoders and training), [`eval`]
//! (protocols, metrics, statistics, plans, workers), [`explanation`] (masks, saliency, sanity checks), [`pages`] (figures, sections, pages).

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub use ptsm_data as data;
pub use ptsm_decode as decode;
pub use ptsm_engine as engine;
pub use ptsm_eval as eval;
pub use ptsm_explain as explanation;
pub use ptsm_io as io;
pub use ptsm_report as pages;
pub use ptsm_signal as signal;

mod decoders;
mod demo;
mod device;
mod doctor;
mod evaluate;
mod export;
mod files;
mod report;
mod verbs;

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use data::simulate::{Cohort, SimulatedTask};
pub use decoders::{DecoderList, list_decoders};
pub use demo::{DemoReport, demo};
pub use device::{DeviceChoice, OpenedDevice, open_device};
pub use doctor::{CacheState, FoundDataSet, GpuState, SystemReport, inspect_system};
pub use eval::runs::{
    AdaptReport, AdaptRequest, Conversion, ConvertRequest, Prediction, TrainRequest, TrainingReport, adapt,
    convert, predict, train,
};
pub use eval::tuning::TuneRequest;
pub use eval::{
    BenchmarkResults, CacheFolder, Cancellation, DataRequest, Env, Error, Plan, PlanOverrides, PreparedData,
    ProgressSink, Result, SettingChanges, SettingsRequest, SourceOnlyRequest, TaskOverride,
};
pub use evaluate::{EvaluateRequest, EvaluationReport, evaluate};
pub use export::{ExportFormat, ExportReport, ExportRequest, export};
pub use files::write_file;
pub use report::{ExplainRunRequest, Report, ReportRequest, explain, report};
pub use verbs::{TunedSettings, benchmark, load, tune};

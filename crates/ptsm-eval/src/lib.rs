//! Scores by subject, their spread and chance; protocols and the benchmark runner.
//!
//! A [`Protocol`] divides subjects into [`Split`]s: whole subjects, none on two sides.
//!
//! [`Scores`] are what one subject's trials say about one decoder: accuracy and its relatives, listed in [`METRICS`]. A
//! [`Record`] is a score with all that is needed to read it (data, model, protocol, target access, seed) and
//! one line of a results file. A [`Summary`] is what the records of one model say together: mean over subjects,
//! spread over subjects and over seeds, interval, and how many subjects are above chance in the metric that is reported. A [`ComparisonMatrix`] is a pairwise comparison of all models.
//!
//! Tuning tries candidates for some settings ([`draw_candidates`], [`search`]) on subjects who are tested in nothing else ([`SearchSetup`]).
//!
//! An undefined number (the AUC where one class never came) is NaN in memory and `null` in files. It is counted and left out
//! of means, never taken for 0.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod benchmark;
mod chance;
mod env;
mod error;
mod evidence;
pub mod feature_tables;
mod fisher;
pub mod fit_tables;
mod folder;
mod folds;
mod input;
pub mod launch;
mod matrix;
mod metrics;
mod normal;
mod null;
mod paired;
pub mod phrases;
pub mod plan;
mod record;
mod reliability;
pub mod results;
pub mod runs;
mod score;
mod scores;
pub mod settings;
mod side;
mod significance;
mod source_only;
mod splits;
mod statistics;
mod summary;
mod table;
pub mod tables;
mod tune;
pub mod tuning;

pub use benchmark::{
    Benchmark, CollectedFit, CollectedResults, DecoderEntry, Division, FeatureFindings, FeatureReader,
    FitFailure, FitItem, FitOutcome, FitScores, FitStatus, FoldFeatureFindings, Observer, Stage, StageTrials,
    TrainingSubjects, ValidationScore, WorkList, WorkMarker,
};
pub use chance::{ALPHA, STRICT_ALPHA, above_chance, chance_level, chance_threshold};
pub use env::{CacheFolder, Cancellation, Env, FitWatch, LazyProgress, ProgressSink, ProgressTask};
pub use error::{Error, ErrorContext, Result};
pub use evidence::mean_threshold;
pub use fisher::fisher_quantile;
pub use folder::{Folder, FolderInUse, LOG, MODELS};
pub use folds::corrected_fold_p;
pub use input::{
    DataRequest, PreparedData, SettingsRequest, SourceOnlyInput, SourceOnlyRequest, SourceOnlySubjects,
    TaskOverride, TrainingSource, load, load_for_decoder, load_training_data, load_with_pipeline,
    load_with_source_only, parse_pairs,
};
pub use matrix::{Comparison, ComparisonMatrix, Contender, DataSetComparison};
pub use metrics::{METRICS, Metric, metric};
pub use null::{auc_threshold, balanced_accuracy_threshold};
pub use paired::PairedDifference;
pub use plan::{Plan, PlanOverrides};
pub use record::{FewShot, Record, read_records, write_records};
pub use reliability::DecisionBins;
pub use results::BenchmarkResults;
pub use runs::{Evaluation, RunFile, TrainedRun};
pub use score::{FewShotCurve, RecordContext, learning_curve, score};
pub use scores::{Scores, positive_class};
pub use settings::SettingChanges;
pub use side::Side;
pub use significance::{combined_effect, combined_p, effect_size, holm, one_sided_p, two_sided_p};
pub use source_only::{SourceOnlyData, SourceOnlyTrials};
pub use splits::{Protocol, Sources, Split, Transfer, Units};
pub use statistics::{Interval, RESAMPLES, bootstrap_interval, deviation, mean, percentile};
pub use summary::{Chance, Spread, StrictTest, SubjectSummary, Summary};
pub use table::{Align, Column, Table, csv_cell, width as text_width};
pub use tune::{
    Budget, Dimension, Rung, SearchSetup, SearchStrategy, SettingValues, TrialScores, TuningTrial,
    best_trial, draw_candidates, rank_trials, search,
};

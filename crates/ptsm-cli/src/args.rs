//! The command line: every command, flag and help text, and nothing else.
//!
//! Longer than 600 lines because it is one table, read from top to bottom.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ptsm::DeviceChoice;
use ptsm::data::SubjectList;
use ptsm::engine::Precision;
use ptsm::eval::{
    DataRequest, Protocol, SearchStrategy, SettingChanges, SettingsRequest, SourceOnlyRequest, TaskOverride,
    Transfer,
};
use ptsm::signal::{Alignment, PIPELINE_KEYS, Paradigm, Symmetry};

#[derive(Parser)]
#[command(
    name = "ptsm",
    version,
    about = "Cross-subject EEG decoding: decodes subjects it was not trained on, without calibration",
    long_about = "Cross-subject EEG decoding: decodes subjects it was not trained on, without calibration.\n\nTrained on the EEG of some subjects, it decodes \
        motor imagery, event-related potentials or auditory attention of unseen subjects (zero-shot), explains its decisions (masks, saliency, sanity \
        checks), and adapts to a subject with a few labelled trials. `ptsm demo` shows all of it in about a minute and needs no data.",
    after_help = "Examples:\n  ptsm demo\n  ptsm train --data simulated --subjects 1-14 --out run\n  ptsm evaluate run --data simulated\n  \
        ptsm adapt run --data simulated --subject 15 --shots 5 --out run15\n  ptsm benchmark --data trials.npz --models ptsm,eegnet,csp-lda --protocol kfold:5 --out bench\n\n\
        Results go to standard output, everything else to standard error. `--json` makes the result one JSON document.\n\
        Exit codes: 0 done, 1 an error with a hint, 2 a command line that is not understood, 130 stopped (`train`, `benchmark`, `tune` and `data get` continue when given again).",
    max_term_width = 110
)]
pub(crate) struct Line {
    // Below the own options of a command, in every help text.
    #[command(flatten, next_help_heading = "General options")]
    pub(crate) general: General,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args)]
pub(crate) struct General {
    /// Write the result as one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No progress and no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Say more on standard error: what is loaded, fitted and compiled; twice for details such as every epoch
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Append a log of the work to this file, in all detail and with times; set by PTSM_LOG it is also kept by worker processes
    #[arg(long, global = true, env = "PTSM_LOG", value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Threads to work with; all cores without it
    #[arg(long, global = true, env = "PTSM_THREADS", value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Where networks are trained
    #[arg(long, global = true, env = "PTSM_DEVICE", value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: DeviceName,
    /// Where trials of recordings are kept between runs, `none` for nowhere; the system's folder for caches without it
    #[arg(long, global = true, env = "PTSM_CACHE", value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
}

/// Where networks are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceName {
    /// A GPU for training where there is one that can be used, else the processor
    Auto,
    /// The processor
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

impl DeviceName {
    /// What is opened. A GPU is worth its start for work that trains, and where it is asked for.
    pub(crate) fn choice(self, trains: bool) -> DeviceChoice {
        match self {
            DeviceName::Cuda => DeviceChoice::Cuda,
            DeviceName::Auto if trains => DeviceChoice::Auto,
            DeviceName::Auto | DeviceName::Cpu => DeviceChoice::Cpu,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate a cohort, train three decoders, decode unseen subjects, adapt to one, write a report: needs no data
    #[command(after_help = "Example:\n  ptsm demo --out my-demo --seed 7")]
    Demo(DemoArgs),
    /// List the decoders: paper, parameters, target access, whether they adapt
    #[command(after_help = "Examples:\n  ptsm models\n  ptsm models --json > defaults.json")]
    Models,
    /// List, show, download, add, check, export or simulate data
    #[command(
        subcommand,
        after_help = "Examples:\n  ptsm data list\n  ptsm data show trials.npz\n  ptsm data pipeline\n  ptsm data get physionet-mi --out eegmmidb --subjects 1-10\n  \
            ptsm data add recordings\n  ptsm data check files:recordings/recordings.toml\n  ptsm data export --data files:recordings/recordings.toml --out epochs.npz\n  ptsm data simulate --out cohort --subjects 30"
    )]
    Data(DataCommand),
    /// Train a decoder on the trials of some subjects
    #[command(after_help = format!("{TRAIN}\n\n{}", pipeline_keys()))]
    Train(TrainArgs),
    /// Decode trials: class probabilities, one line per trial
    #[command(after_help = PREDICT)]
    Predict(PredictArgs),
    /// Score a trained decoder on unseen subjects
    #[command(after_help = EVALUATE)]
    Evaluate(EvaluateArgs),
    /// Explain a trained decoder: masks, saliency, sanity checks, disentanglement, eyes; a page, or one figure
    #[command(after_help = EXPLAIN)]
    Explain(ExplainArgs),
    /// Write a report about a trained decoder, a benchmark or both: one HTML file
    #[command(after_help = REPORT)]
    Report(ReportArgs),
    /// Adapt a trained decoder to one subject with a few labelled trials (few-shot)
    #[command(after_help = ADAPT)]
    Adapt(AdaptArgs),
    /// Compare decoders across subjects: models x folds x seeds, with statistics
    #[command(after_help = format!("{BENCHMARK}\n\n{}", pipeline_keys()))]
    Benchmark(BenchmarkArgs),
    /// Search for settings on development subjects, who are then never tested
    #[command(after_help = format!("{TUNE}\n\n{}", pipeline_keys()))]
    Tune(TuneArgs),
    /// Show how far a benchmark has come: done, running, failed, missing
    #[command(after_help = "Examples:\n  ptsm status bench\n  ptsm status bench --json")]
    Status(StatusArgs),
    /// Make the tables of a benchmark from the fits that are done
    #[command(
        after_help = "Example:\n  ptsm collect bench\n\nWhile the benchmark is at work on this machine, the tables are shown and no file is written."
    )]
    Collect(CollectArgs),
    /// List the benchmarks that come with the program, or show one to copy
    #[command(
        after_help = "Examples:\n  ptsm presets\n  ptsm presets paper-table-2 > mine.toml\n  ptsm benchmark mine.toml --root eegmmidb --out bench"
    )]
    Presets {
        /// Show this one
        name: Option<String>,
    },
    /// Does a part of a benchmark's work
    #[command(hide = true)]
    Work(WorkArgs),
    /// Convert trials of some subjects into another subject's, with a trained `cslp-ae`
    #[command(after_help = CONVERT)]
    Convert(ConvertArgs),
    /// Check this machine: threads, instruction sets, GPU and driver, cache, data sets found
    #[command(after_help = DOCTOR)]
    Doctor {
        /// Also look for data sets in this folder
        #[arg(long, env = "PTSM_ROOT", value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// Write completions for a shell to standard output
    #[command(
        after_help = "Example:\n  ptsm completions bash > ~/.local/share/bash-completion/completions/ptsm"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command
    #[command(after_help = "Example:\n  ptsm man --out ~/.local/share/man/man1")]
    Man {
        /// The folder to write to
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

/// The keys of `[pipeline]`, one line each, from the table that manifests and errors are made from.
fn pipeline_keys() -> String {
    let examples = PIPELINE_KEYS.iter().map(|key| format!("{} = {}", key.name, key.example));
    let examples: Vec<String> = examples.collect();
    format!(
        "Keys of `[pipeline]`, from recordings to epochs:\n  {}\n`ptsm data pipeline` explains them and shows the defaults; as a flag: `--set pipeline.band=[0.5,40]`.",
        examples.join("\n  ")
    )
}

const DOCTOR: &str = "Examples:
  ptsm doctor
  ptsm doctor --root eegmmidb --json

Data sets are looked for in `--root` (or PTSM_ROOT) and where MNE keeps them (MNE_DATA, or `mne_data` in the home folder). \
The exit code is 1 where something will get in the way, such as a cache that cannot be written; a machine without a GPU is none of that.";

const TRAIN: &str = "Examples:
  ptsm train --data simulated --subjects 1-14 --out run
  ptsm train --data trials.npz --model eegnet --seeds 3 --set training.epochs=40 --out run
  ptsm train --data trials.npz --model eegnet --ensemble 5 --out run
  ptsm train --data trials.npz --model eegnet --distil 5 --out run
  ptsm train --data trials.npz --align euclidean --config my.toml --out run
  ptsm train --data trials.npz --subjects 1-14 --model dann --target 15 --out run
  ptsm train --data physionet-mi --root eegmmidb --subjects 1-30 --source-only with=task=execution --out run

Validation subjects are drawn from those given; a subject is never on two sides. The folder holds `run.toml` (everything resolved), `models/`, `log.jsonl`. Stopped or \
killed, the same command continues where it was.

Your own trials: numpy.savez('trials.npz', X=[n,C,T], y=[n], subject=[n]) and, if known, channels=[C] names, rate_hz, start_s, \
session=[n], run=[n], cue_s=[n], classes=[K] names.

A configuration file is TOML: `model`, `data`, `root`, `with = [\"classes=4\"]`, `subjects`, `seed`, `seeds`, `ensemble`, `distil`, `align`, tables `[[source_only]]` (keys as of `--source-only`), `[pipeline]`, `[network]`, `[training]`, `[augment]`. `ptsm tune` writes such files, \
with `tuned_on` for the subjects who are not to be tested. Flags go over the \
environment (PTSM_DATA, PTSM_ROOT, PTSM_SEED, PTSM_THREADS, PTSM_DEVICE, PTSM_PRECISION, PTSM_CACHE; PTSM_MEMORY=8G bounds what reading recordings takes), that over the file, that over defaults; `ptsm models --json` shows all defaults.";

const PREDICT: &str = "Examples:
  ptsm predict run --data trials.npz --subjects 31-40 > predictions.csv
  ptsm predict run --data trials.npz --json

With several seeds in the run, their probabilities are averaged; the members of an ensemble (`train --ensemble`) decode as one. Labels in the data are not read.";

const EVALUATE: &str = "Examples:
  ptsm evaluate run --data simulated
  ptsm evaluate run --data simulated --subjects 15-20 --shots 1,2,5,10,20 --out scores.html

Without `--subjects`, every subject the decoder was not trained on is scored. Training subjects are refused: their scores would mean nothing.";

const EXPLAIN: &str = "Examples:
  ptsm explain run --data simulated --out explain.html
  ptsm explain run --data simulated --figure list
  ptsm explain run --data physionet-mi --root eegmmidb --figure spatial-masks --out masks.svg

Explanations are computed on unseen subjects. A decoder without masks is explained by saliency alone.";

const REPORT: &str = "Examples:
  ptsm report run --data simulated --out report.html
  ptsm report --benchmark bench --out report.html
  ptsm report run --data simulated --shots 1,2,5,10 --benchmark bench --out report.html
  ptsm report run --data simulated --numbers report.json --out report.html
  ptsm report --from report.json --sections subjects,masks --out some.html
  ptsm report --from report.json --figure list

One file without any link to the network, to be sent to a colleague. Sections whose inputs were not given say so. As PDF: open it in a \
browser and print it, or `chromium --headless --print-to-pdf=report.pdf report.html`.

The file of `--numbers` holds what the sections asked for are drawn from, with seven significant digits and without any trial of the data.";

const ADAPT: &str = "Examples:
  ptsm adapt run --data simulated --subject 15 --shots 5 --out run15
  ptsm adapt run --data simulated --subject 15 --shots 5 --how masks --out run15-masks

The first trials of each class in time are used for adaptation, the later ones are scored before and after. The head is adapted by a prior that was chosen on \
validation subjects when the decoder was trained: where they gained nothing, the decoder stays as it was. With `--how masks` or `--how all` it stays so where \
leave-one-out on the calibration trials finds no gain (`--no-guard` keeps the tuned one anyway).";

const BENCHMARK: &str = "Examples:
  ptsm benchmark --data simulated --models ptsm,eegnet,csp-lda --protocol kfold:5 --seeds 3 --out bench
  ptsm benchmark --data trials.npz --models eegnet --protocol loso --align euclidean --out bench
  ptsm benchmark paper-table-2 --root eegmmidb --dry-run --out table-2
  ptsm benchmark mine.toml --jobs 4 --out bench
  ptsm benchmark mine.toml --launcher slurm --jobs 40 --sbatch \"--partition=gpu --gres=gpu:1 --time=2:00:00\" --out /shared/bench

`loso` leaves one subject out at a time, `kfold:5` makes five folds by subject, `fixed:1-70/71-89/90-109` is one split: train, validation, test. \
Validation subjects are drawn from the training subjects, for decoders that use them; the classic ones (all but `sblest`) train on all, unless the split names validation \
subjects itself. What is held back is printed. \
The chance level is tested in the first of `metrics`: accuracy, balanced accuracy or the AUC of two classes; others have no test. Where none is named it is accuracy, or balanced accuracy where \
one class is clearly more frequent. \
`--units s1:s2,all:all` trains on session 1 of some subjects and tests session 2 of others, and also trains and tests on everything; `s1r2` is run 2 of \
session 1. A decoder with transductive target access gets the unlabelled trials of all units that are tested.

A file is TOML: `title`, `about`, `protocol`, `seeds`, `metrics`, `units`, `shots` and `features` as the flags, `models`, `set` (settings of all decoders), tables `[[data]]` (`id`, `root`, \
`with`, `subjects`, `protocol`, `set`), `[[data.source_only]]` (keys as of `--source-only`), `[[variant]]` (`name`, `align`, `source_only`, `set`: every model in every variant), `[[entry]]` (`model`, `name`, `align`, `source_only`, `set`: one decoder in one way); \
`across = true` tests each data set with decoders of every other. Flags go over the file; what a data set or an entry sets itself stays. `ptsm presets paper-table-2` shows one.

What comes of each fit is a file in `items/` as soon as it is there, named by all it depends on. Stopped, killed or changed, the command does what is not \
there yet; a fit that fails is recorded and tried again the next time. `results.jsonl`, tables and exports are made of all of them.

`--launcher slurm` submits an array of jobs and one that collects after it, and returns. Tasks that were killed are submitted again by themselves; given again, the \
command submits what is missing, but not while its jobs are in the queue. All machines see `--out` and this program under the same path; the one that submits needs \
no GPU. A task has as many threads as `--sbatch \"--cpus-per-task=4\"` gives it, else one. `slurm.json` and `logs/` are there until everything is done.";

const TUNE: &str = "Examples:
  ptsm tune --data simulated --develop 1-10 --model ptsm --try training.rate=1e-4,3e-4,1e-3 --out tuned
  ptsm tune --data trials.npz --develop 1-10 --try network.weights.decouple=log:1e-3..1 --try training.batch_trials=4,8 --search random:30 --seeds 2 --out tuned
  ptsm tune --data trials.npz --nested kfold:5 --model csp-lda --try filters=2,4,6 --try align=none,euclidean --out nested
  ptsm benchmark --data trials.npz --subjects 11-40 --models ptsm --config tuned/best.toml --out bench

Values of a key are a list, or a range for random search: `log:1e-4..1e-2`, `lin:0..1`, `int:2..8`. Any setting can be tried, and `pipeline.KEY` \
and `align`; lists of lists are written `[8,8],[16,16]`.

`--develop` names the development set: no other subject is read. Its subjects are divided into folds; each candidate is trained on some of them and \
scored on the others. `best.toml` says on whom it was tuned, and `benchmark` and `evaluate` then refuse to test them. `--nested` searches in \
each fold among its training subjects, divided once more, and scores its test subjects once, with what was chosen without them.

With `--halving 3` all candidates begin with a small part of the epochs (without epochs: of the folds and seeds), and time after time the best \
third goes on with three times as much. The folder gets `best.toml` (nested: `fold-N.toml` and `results.jsonl`), `trials.csv` with every \
trial, and a figure for each key. Stopped or killed, the same command continues.";

const CONVERT: &str = "Examples:
  ptsm train --data trials.npz --subjects 1-20 --model cslp-ae --out run
  ptsm convert run --data trials.npz --subjects 21 --as 22 --out 21-as-22.npz
  ptsm convert run --data trials.npz --as 22 --trials 20 --out all-as-22.npz
  ptsm data show 21-as-22.npz

Each trial keeps its task, its session, run and cue; the subject part is the mean over the other subject's trials (all of them, or the first \
in time with `--trials`), whose labels are not read. Neither need be a training subject. Without `--subjects`, all other subjects are \
converted. The file has the epochs under the number of the subject they are converted into, prepared as the model was \
trained: filtered, resampled and aligned. They are generated, not recorded: scores on them say nothing about subjects.

Only `cslp-ae` converts. With several seeds in the run, the first one does.";

const GET: &str = "Examples:
  ptsm data get physionet-mi --out eegmmidb --subjects 1-10
  ptsm data get kul-aad --out kul --dry-run
  PTSM_MIRROR=http://mirror.example.org/eeg ptsm data get physionet-mi --out eegmmidb

Files under the folder are not downloaded again, in whatever layout they are there. Stopped, killed or cut off, the same command goes on \
where it was; what has arrived of a file is in `NAME.part`. What arrives is checked by the publisher's checksum. Where there is none, \
`.ptsm-lock.json` in the folder keeps that of the first download, and a file that changes is reported.

A mirror stands in place of `https://host` in all addresses; the path stays. Proxies are those of HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.

The exit code is 1 when a file could not be had; all others are there then. `--json` says what came of each.";

const ADD: &str = "Examples:
  ptsm data add recordings
  ptsm data add recordings --out mine.toml
  ptsm data add recordings --label 'rest=*_rest.edf' --label 'task=*_task.edf' --every 2
  ptsm data add recordings --events-from '*_log.csv'
  ptsm data check files:mine.toml
  ptsm train --data files:mine.toml --out run

Every recording below the folder is opened: EDF, BDF, GDF, BrainVision, EEGLAB, FIF, FieldTrip, .cnt of Neuroscan and ANT, and MATLAB \
files that hold a matrix with triggers, onsets or a row of labels, or epochs (three dimensions in any order) with labels, also inside of \
structs and cells. The manifest says whose each is, as far as names tell, and which events there are. It is TOML and meant to be edited:
give classes their names, delete events that begin no trial, set the window. Without `--out` it is `NAME.toml` inside of the folder NAME.

Tables of events beside recordings are used: NAME_events.tsv or .csv, NAME.csv (columns onset, sample or latency; duration; trial_type, label, value,
..), and MNE's NAME-eve.fif and NAME.eve.

In the manifest, MATLAB variables are written as in MATLAB, counted from 1:
  [mat]
  samples = \"EEG.data\"                        # data{1,3}.X, runs(2).y
  axes = [\"trials\", \"channels\", \"time\"]    # epochs, in the order of the dimensions; a matrix needs none
  labels = \"y\"                                # one per epoch
  triggers = \"EEG.data(9,:)\"                  # of a matrix: one number per sample, here its ninth row

A folder in the Brain Imaging Data Structure needs no manifest: `--data bids:DIR`.";

const CHECK: &str = "Examples:
  ptsm data check physionet-mi --root eegmmidb
  ptsm data check bids:DIR --with task=mi --labels
  ptsm data check files:mine.toml --json

Reported are: files that are missing or cannot be read, samples that are not numbers, the same samples under two names, odd amplitudes (a \
typical second below 0.5 or above 1000 uV, or ten times off the others), odd rates, channels that stand still for a tenth of their trials \
or are clipped in a thousandth of their samples, segments of zeros, gaps, windows that do not fit, events of no class, and subjects who lack \
trials of a class.

The exit code is 1 when files are missing or cannot be read, samples are not numbers or stand under two names; all else is worth a look, \
and the exit code is 0.";

const EXPORT: &str = "Examples:
  ptsm data export --data physionet-mi --root eegmmidb --subjects 1-10 --out epochs.npz
  ptsm data export --data files:mine.toml --align euclidean --set pipeline.window_s=[0,2] --out mine-epo.fif
  ptsm data export --data files:mine.toml --run run --out epochs.csv

The whole pipeline is applied: filters, resampling, window, baseline, scaling and alignment; with `--run`, that of a trained decoder.

.npz   arrays for numpy.load: X [epochs, channels, samples], y, subject, session, run, cue_s, channels, rate_hz, start_s, classes, unit (uV; \
       arbitrary where scaled or aligned), paradigm, symmetry, positions, pipeline (JSON: what was done). `--data FILE.npz` gives the same epochs to the \
       bit: nothing is done to them a second time, and another pipeline is refused.
.fif   for mne.read_epochs; name it `..-epo.fif`. Classes are event ids; subject, session, run and cue_s are in `epochs.metadata`. EEG that \
       was not scaled is in volts; what was scaled or aligned has no unit and stands as it is, which is reported.
.csv   one row per epoch and sample: subject, session, run, epoch, label, time_s and a column per channel. Large: about ten bytes a value.

A file that is there is replaced.";

#[derive(Args)]
pub(crate) struct DemoArgs {
    /// The folder for the report and the results
    #[arg(long, value_name = "DIR", default_value = "ptsm-demo", alias = "to")]
    pub(crate) out: PathBuf,
    /// The seed of the cohort and of the decoders
    #[arg(long, env = "PTSM_SEED", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Args, Clone)]
pub(crate) struct SourceArgs {
    /// What to read: a name of `ptsm data list`, a `.npz` file or a folder of them
    #[arg(long, env = "PTSM_DATA", value_name = "ID")]
    pub(crate) data: Option<String>,
    /// Where the data are
    #[arg(long, env = "PTSM_ROOT", value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// A choice about a data set, such as `classes=4`; may be repeated; `ptsm data show ID` has them all
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) with: Vec<String>,
}

#[derive(Args, Clone)]
pub(crate) struct DataArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Only these subjects: numbers and ranges, `1-30,35`
    #[arg(long, value_name = "LIST")]
    pub(crate) subjects: Option<SubjectList>,
}

/// What is declared about the task, over what the data say.
#[derive(Args, Clone, Default)]
pub(crate) struct TaskArgs {
    /// What subjects do: motor-imagery, motor-execution, erp, ssvep, auditory-attention, other
    #[arg(long, value_name = "NAME")]
    pub(crate) paradigm: Option<Paradigm>,
    /// Classes that swap when left and right are exchanged, `left_hand=right_hand`; `invariant` where none changes; `none` for no left-right mirroring. Without it, what the data declare
    #[arg(long, value_name = "A=B,..")]
    pub(crate) symmetry: Option<Symmetry>,
}

impl SourceArgs {
    /// The same for the library: all subjects.
    pub(crate) fn request(&self) -> DataRequest {
        let SourceArgs { data, root, with } = self.clone();
        DataRequest { data, root, with, subjects: None }
    }
}

impl DataArgs {
    /// The same for the library.
    pub(crate) fn request(&self) -> DataRequest {
        DataRequest { subjects: self.subjects.clone(), ..self.source.request() }
    }
}

impl TaskArgs {
    /// The same for the library.
    pub(crate) fn request(&self) -> TaskOverride {
        TaskOverride { paradigm: self.paradigm, symmetry: self.symmetry.clone() }
    }
}

#[derive(Args)]
pub(crate) struct SettingsArgs {
    #[command(flatten)]
    pub(crate) task: TaskArgs,
    /// Source-only trials: trained on where their subject is, never validated or scored. Another task (`with=task=execution`), runs of the study (`units=r12`) or other data (`id=FILE.npz,cohort=other`); keys id, root, with, subjects, units, classes=A=B, cohort=same|other; may be repeated
    #[arg(long, value_name = "KEY=VALUE,..")]
    pub(crate) source_only: Vec<SourceOnlyRequest>,
    /// Settings in a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// One setting, over the file's: `training.epochs=20`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Refuse data in which something is wrong or odd, as `ptsm data check` reports it, instead of warning
    #[arg(long)]
    pub(crate) strict: bool,
    /// The first seed (1 without it)
    #[arg(long, env = "PTSM_SEED", value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How many seeds (1 without it); they train at once
    #[arg(long, value_name = "N")]
    pub(crate) seeds: Option<usize>,
    /// Train an ensemble of so many members for each seed, which decode together (1, a single decoder, without it)
    #[arg(long, value_name = "N")]
    pub(crate) ensemble: Option<usize>,
    /// Distil each network from so many: they are trained first, as an ensemble, and teach one network of the same settings (0, no teacher, without it); their share and temperature with `--set distil.weight=0.5 --set distil.temperature=2`
    #[arg(long, value_name = "N")]
    pub(crate) distil: Option<usize>,
    /// Recentre logits for each subject towards equally frequent classes: by all trials of a session without labels (transductive), or by those so far (`stream`); other frequencies with `--set frequencies=[0.7,0.3]`
    #[arg(long, value_name = "TRIALS")]
    pub(crate) recentre: Option<UnlabelledTrials>,
    /// Adapt batch-norm statistics to each subject without labels: by all trials of a session (transductive), or by those so far (`stream`); how fast is chosen on validation subjects. Networks with batch norms only
    #[arg(long, value_name = "TRIALS")]
    pub(crate) norms: Option<UnlabelledTrials>,
    /// Alignment: re-centre each subject's trials by their mean covariance. Transductive (all their trials, unlabelled), or causal (those so far) with `-stream`
    #[arg(long, value_name = "METHOD")]
    pub(crate) align: Option<Align>,
    /// What a GPU rounds the operands of large products to: not at all, or to tf32 or bf16 for its tensor cores; sums and parameters stay f32
    #[arg(long, env = "PTSM_PRECISION", value_name = "TYPE", default_value = "f32", value_parser = precision())]
    pub(crate) precision: Precision,
}

impl SettingsArgs {
    /// The same for the library; a configuration file is read.
    pub(crate) fn request(&self) -> ptsm::Result<SettingsRequest> {
        Ok(SettingsRequest {
            task: self.task.request(),
            changes: SettingChanges::read(self.config.as_deref(), &self.set)?
                .ensemble(self.ensemble)
                .distil(self.distil)
                .recentring(self.recentre.map(UnlabelledTrials::name))
                .norms(self.norms.map(UnlabelledTrials::name)),
            align: self.align.map(Into::into),
            seed: self.seed,
            seeds: self.seeds,
            source_only: self.source_only.clone(),
        })
    }
}

fn precision() -> impl TypedValueParser<Value = Precision> {
    PossibleValuesParser::new(["f32", "tf32", "bf16"]).try_map(|name| name.parse::<Precision>())
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Align {
    None,
    Euclidean,
    Riemannian,
    EuclideanStream,
    RiemannianStream,
}

impl From<Align> for Alignment {
    fn from(align: Align) -> Alignment {
        match align {
            Align::None => Alignment::None,
            Align::Euclidean => Alignment::Euclidean,
            Align::Riemannian => Alignment::Riemannian,
            Align::EuclideanStream => Alignment::EuclideanStream,
            Align::RiemannianStream => Alignment::RiemannianStream,
        }
    }
}

#[derive(Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The decoder (`ptsm` without it); `ptsm models` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Target subjects, whose unlabelled trials a transductive decoder (`dann`, `ptsm-dann`, `acon`) also trains on: numbers and ranges
    #[arg(long, value_name = "LIST")]
    pub(crate) target: Option<SubjectList>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// The run's folder
    #[arg(long, value_name = "RUN")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct PredictArgs {
    /// A run's folder, made by `train` or `adapt`
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Write the table to this CSV file instead of standard output
    #[arg(long, value_name = "FILE", alias = "csv")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct EvaluateArgs {
    /// A run's folder, made by `train` or `adapt`
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Also adapt to each subject with so many trials per class (few-shot), all scored on the same later trials
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) shots: Vec<usize>,
    /// Also write a report of the scores, with figures
    #[arg(long, value_name = "FILE.html", alias = "page")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// A run's folder, made by `train` or `adapt`
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Also write the masks of every trial as arrays, with the first seed
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) masks: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// What a page is to hold, and where it goes.
#[derive(Args)]
pub(crate) struct PageArgs {
    /// Also train so many decoders on shuffled labels, as a null distribution of masks
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) nulls: usize,
    /// Only this figure, as SVG or PNG by the ending of `--out`; `list` names them all and needs no `--out`
    #[arg(long, value_name = "NAME")]
    pub(crate) figure: Option<String>,
    /// Only these sections
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) sections: Vec<String>,
    /// Also write the numbers behind the report, from which `ptsm report --from` draws it again
    #[arg(long, value_name = "FILE.json")]
    pub(crate) numbers: Option<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE", required_unless_present = "figure")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// A run's folder, made by `train` or `adapt`
    pub(crate) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// A benchmark's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) benchmark: Option<PathBuf>,
    /// Draw the report from the numbers that `--numbers` wrote, without data or decoder
    // Not in conflict with `--data` and `--root`: they may stand in the environment.
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["run", "with", "subjects", "benchmark", "shots", "how", "steps", "rate", "prior", "no_guard", "nulls", "numbers"])]
    pub(crate) from: Option<PathBuf>,
    /// Also adapt to each subject with so many trials per class (few-shot), all scored on the same later trials
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) shots: Vec<usize>,
    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

#[derive(Args)]
pub(crate) struct TuningArgs {
    /// What few-shot adaptation changes: the head, by a prior chosen on source subjects and in milliseconds; the personal masks, as in the PTSM paper; or every parameter
    #[arg(long, value_name = "PART", default_value = "head")]
    pub(crate) how: How,
    /// Training steps of the adaptation of masks or of all
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(crate) steps: usize,
    /// Learning rate of the same
    #[arg(long, default_value_t = 1e-3, value_name = "RATE")]
    pub(crate) rate: f64,
    /// How strongly the same draws parameters back to where they were: this times the rate is the part of the way in a step
    #[arg(long, default_value_t = 30.0, value_name = "STRENGTH")]
    pub(crate) prior: f64,
    /// Keep the adapted masks or parameters even where trials that are left out in turn show no gain
    #[arg(long)]
    pub(crate) no_guard: bool,
}

impl From<&TuningArgs> for ptsm::decode::Adaptation {
    fn from(args: &TuningArgs) -> ptsm::decode::Adaptation {
        ptsm::decode::Adaptation {
            how: args.how.into(),
            steps: args.steps,
            rate: args.rate,
            prior: args.prior,
            guard: !args.no_guard,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum UnlabelledTrials {
    Whole,
    Stream,
}

impl UnlabelledTrials {
    fn name(self) -> &'static str {
        match self {
            UnlabelledTrials::Whole => "whole",
            UnlabelledTrials::Stream => "stream",
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum How {
    Head,
    Masks,
    All,
}

impl From<How> for ptsm::decode::AdaptationWay {
    fn from(how: How) -> ptsm::decode::AdaptationWay {
        match how {
            How::Head => ptsm::decode::AdaptationWay::Head,
            How::Masks => ptsm::decode::AdaptationWay::Masks,
            How::All => ptsm::decode::AdaptationWay::All,
        }
    }
}

#[derive(Args)]
pub(crate) struct AdaptArgs {
    /// A run's folder, made by `train`
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) data: SourceArgs,
    /// The subject
    #[arg(long, value_name = "N")]
    pub(crate) subject: u32,
    /// Labelled trials of each class
    #[arg(long, value_name = "N")]
    pub(crate) shots: usize,
    #[command(flatten)]
    pub(crate) tuning: TuningArgs,
    /// The folder of the adapted run
    #[arg(long, value_name = "RUN2")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct ConvertArgs {
    /// A run's folder, made by `train --model cslp-ae`
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The subject whose trials they are converted into
    #[arg(long = "as", value_name = "N")]
    pub(crate) like: u32,
    /// Use so many trials of that subject, the first in time; all without it
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<usize>,
    /// The `.npz` file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct StatusArgs {
    /// The benchmark's folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// Who starts the processes of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Launcher {
    /// This program, on this machine
    Local,
    /// Slurm, on the machines of a cluster that share the folder of the results
    Slurm,
}

#[derive(Args)]
pub(crate) struct CollectArgs {
    /// The benchmark's folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Submit what is missing to Slurm once more
    #[arg(long, hide = true)]
    pub(crate) resubmit: bool,
}

#[derive(Args)]
pub(crate) struct WorkArgs {
    /// The benchmark's folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Which part of the list of tasks, counted from 0
    #[arg(long, value_name = "N")]
    pub(crate) task: usize,
    /// A folder on this machine for copies of the trials
    #[arg(long, value_name = "DIR")]
    pub(crate) node_cache: Option<PathBuf>,
    /// End when the process that started this one does
    #[arg(long)]
    pub(crate) leashed: bool,
    /// As given to the benchmark
    #[arg(long, env = "PTSM_PRECISION", value_name = "TYPE", default_value = "f32", value_parser = precision())]
    pub(crate) precision: Precision,
}

#[derive(Args)]
pub(crate) struct BenchmarkArgs {
    /// A benchmark in a file, or a preset: `ptsm presets` lists them. Flags go over it
    #[arg(value_name = "FILE")]
    pub(crate) plan: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The decoders, `ptsm,eegnet,csp-lda`; of a file, only these
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required_unless_present = "plan")]
    pub(crate) models: Vec<String>,
    /// How subjects are divided into folds: `loso` (the default), `kfold:5`, `fixed:TRAIN/VALIDATION/TEST`
    #[arg(long, value_name = "PROTOCOL")]
    pub(crate) protocol: Option<Protocol>,
    /// Train on each data set of the file and test on every other, on the channels they share
    #[arg(long)]
    pub(crate) across: bool,
    /// Sessions and runs to train on and to test: `s1:s2,all:s2r1`; everything without it
    #[arg(long = "units", value_name = "TRAIN:TEST", value_delimiter = ',')]
    pub(crate) transfers: Vec<Transfer>,
    /// Also adapt decoders with so many labelled trials of each class (few-shot), and score the later trials
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) shots: Vec<usize>,
    /// What that changes: the head (where nothing is said), the personal masks as in the PTSM paper, or every parameter; decoders without it are scored as they are
    #[arg(long, value_name = "PART")]
    pub(crate) how: Option<How>,
    /// Also probe the features of every fit: the distance of test subjects from training subjects, and whether the subject can be read from them
    #[arg(long)]
    pub(crate) features: bool,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// How many processes work at once: 1 without it, 16 on a cluster. On one machine each has its share of the threads
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Who starts the processes
    #[arg(long, value_name = "LAUNCHER", default_value = "local")]
    pub(crate) launcher: Launcher,
    /// Options for Slurm's `sbatch`: `--sbatch "--partition=gpu --gres=gpu:1 --time=2:00:00"`; may be repeated
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) sbatch: Vec<String>,
    /// A folder on each machine of a cluster for copies of the trials
    #[arg(long, value_name = "DIR")]
    pub(crate) node_cache: Option<PathBuf>,
    /// Show what would be done, how much it is and about how long it takes
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The folder of the results
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The decoder (`ptsm` without it)
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// What to try: `training.rate=1e-4,1e-3`, or a range such as `log:1e-4..1e-2`; may be repeated
    #[arg(long = "try", value_name = "KEY=VALUES")]
    pub(crate) tries: Vec<String>,
    /// Every combination, or so many at random: `grid`, `random:30`
    #[arg(long, value_name = "SEARCH", default_value = "grid", value_parser = choice)]
    pub(crate) search: SearchStrategy,
    /// Keep one candidate in so many after each round; 1 tries all of them in full
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) halving: usize,
    /// The development set: subjects for tuning and for nothing else
    #[arg(long, value_name = "LIST", required_unless_present = "nested", conflicts_with = "nested")]
    pub(crate) develop: Option<SubjectList>,
    /// Nested: search anew in each fold, without its test subjects: `kfold:5`, `loso`
    #[arg(long, value_name = "PROTOCOL")]
    pub(crate) nested: Option<Protocol>,
    /// Inner folds of the development subjects (3 without it)
    #[arg(long, value_name = "N")]
    pub(crate) folds: Option<usize>,
    /// What is compared, such as `balanced_accuracy`, `auc`, `log_loss`
    #[arg(long, value_name = "NAME", default_value = "balanced_accuracy")]
    pub(crate) metric: String,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// The folder of the results
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

fn choice(text: &str) -> Result<SearchStrategy, String> {
    match text.split_once(':') {
        None if text == "grid" => Ok(SearchStrategy::Grid),
        Some(("random", n)) => {
            n.parse().map(SearchStrategy::Random).map_err(|_| format!("`{n}` is no number of candidates"))
        }
        _ => Err("it is `grid` or `random:30`".into()),
    }
}

#[derive(Subcommand)]
pub(crate) enum DataCommand {
    /// List what `--data` understands
    List,
    /// Show what is known of a data set and what it holds: licence, events, choices; subjects, trials, channels
    #[command(
        after_help = "Examples:\n  ptsm data show physionet-mi\n  ptsm data show physionet-mi --root eegmmidb\n  ptsm data show trials.npz"
    )]
    Show {
        /// A name of `ptsm data list`, a `.npz` file or a folder of them
        id: String,
        /// Where the data are
        #[arg(long, env = "PTSM_ROOT", value_name = "DIR")]
        root: Option<PathBuf>,
        /// A choice about a data set, such as `classes=4`; may be repeated
        #[arg(long, value_name = "NAME=VALUE")]
        with: Vec<String>,
    },
    /// Explain every key of `[pipeline]`, how recordings become epochs, with its default or the value for a data set
    #[command(
        after_help = "Examples:\n  ptsm data pipeline\n  ptsm data pipeline physionet-mi --root eegmmidb\n  ptsm data pipeline files:mine.toml --json"
    )]
    Pipeline {
        /// Show the values for this: a name of `ptsm data list`, `files:MANIFEST`
        id: Option<String>,
        /// Where the data are
        #[arg(long, env = "PTSM_ROOT", value_name = "DIR")]
        root: Option<PathBuf>,
        /// A choice about a data set, such as `classes=4`; may be repeated
        #[arg(long, value_name = "NAME=VALUE")]
        with: Vec<String>,
    },
    /// Download a data set: what is there stays, what has begun goes on, what arrives is checked
    #[command(after_help = GET)]
    Get(GetArgs),
    /// List the recordings of a folder in a manifest to edit
    #[command(after_help = format!("{ADD}\n\n{}", pipeline_keys()))]
    Add(AddArgs),
    /// Check recordings: what is missing, damaged, odd or doubled, and how many trials there are
    #[command(after_help = CHECK)]
    Check(CheckArgs),
    /// Write epochs as a decoder sees them, for NumPy, MNE or pandas
    #[command(after_help = EXPORT)]
    Export(ExportArgs),
    /// Simulate a cohort and write its trials, with the ground truth
    #[command(
        after_help = "Example:\n  ptsm data simulate --out cohort --subjects 30 --task erp\n  ptsm train --data cohort --out run\n\nThe folder gets `cohort.toml` (the \
            settings), `truth.json` (which channels and times carry the task) and one `.npz` per subject."
    )]
    Simulate(SimulateArgs),
}

#[derive(Args)]
pub(crate) struct AddArgs {
    /// The folder
    pub(crate) folder: PathBuf,
    /// Where to write the manifest
    #[arg(long, value_name = "FILE", alias = "to")]
    pub(crate) out: Option<PathBuf>,
    /// Write over a manifest that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Recordings that are of one class each: its name, and a pattern of their files, with folders or without, in which `*` stands for any text, `rest=*_rest.edf`; may be repeated
    #[arg(long, value_name = "NAME=PATTERN")]
    pub(crate) label: Vec<String>,
    /// Windows of so many seconds one after the other, in recordings of one class (4 without it) or inside of annotated segments
    #[arg(long, value_name = "SECONDS")]
    pub(crate) every: Option<f64>,
    /// The table of events beside each recording, `*` being its name without the ending: `*_events.csv`; `none` for none. Without it, usual names are looked for
    #[arg(long, value_name = "PATTERN")]
    pub(crate) events_from: Option<String>,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// What to check: a name of `ptsm data list`, `bids:DIR` or `files:MANIFEST`
    pub(crate) id: String,
    /// Where the data are
    #[arg(long, env = "PTSM_ROOT", value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// A choice about the data set, such as `classes=4`; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) with: Vec<String>,
    /// Only these subjects: numbers and ranges, `1-30,35`
    #[arg(long, value_name = "LIST")]
    pub(crate) subjects: Option<SubjectList>,
    /// Also show what subjects are called in the data set, and the files of their recordings
    #[arg(long)]
    pub(crate) labels: bool,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Prepare epochs as this trained decoder expects them: a run's folder, made by `train` or `adapt`
    #[arg(long, value_name = "RUN", conflicts_with_all = ["config", "set", "align", "paradigm", "symmetry"])]
    pub(crate) run: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) task: TaskArgs,
    /// A configuration in a TOML file; of its settings, `[pipeline]` and `align` count
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// One setting of the pipeline, over the file's: `pipeline.window_s=[0,2]`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Align each subject's epochs, as for `train`: transductive, or causal with `-stream`
    #[arg(long, value_name = "METHOD")]
    pub(crate) align: Option<Align>,
    /// The file to write: `.npz`, `.fif` or `.csv`
    #[arg(long, value_name = "FILE", alias = "to")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct GetArgs {
    /// The data set, a name of `ptsm data list`
    pub(crate) id: String,
    /// The folder to download to
    #[arg(long, value_name = "DIR", alias = "to")]
    pub(crate) out: PathBuf,
    /// Only files of these subjects: numbers and ranges, `1-30,35`
    #[arg(long, value_name = "LIST")]
    pub(crate) subjects: Option<SubjectList>,
    /// A choice about the data set, such as `classes=4`; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) with: Vec<String>,
    /// How many files at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) connections: u8,
    /// Only list what would be downloaded
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What to put in place of `https://host` in all addresses
    #[arg(long, env = "PTSM_MIRROR", value_name = "URL")]
    pub(crate) mirror: Option<String>,
}

#[derive(Args)]
pub(crate) struct SimulateArgs {
    /// The folder to write to
    #[arg(long, value_name = "DIR", alias = "to")]
    pub(crate) out: PathBuf,
    /// Filtered epochs, or recordings with a manifest
    #[arg(long, value_enum, default_value_t = Format::Npz)]
    pub(crate) format: Format,
    /// Settings in a TOML file; the flags go over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The task: `imagery`, `erp` or `attention`
    #[arg(long)]
    pub(crate) task: Option<String>,
    /// How many subjects
    #[arg(long, value_name = "N")]
    pub(crate) subjects: Option<u32>,
    /// Sessions of each subject
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<u32>,
    /// Runs of each session
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// Trials of each run
    #[arg(long, value_name = "N")]
    pub(crate) trials: Option<u32>,
    /// Electrodes by name, `C3,Cz,C4`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) channels: Option<Vec<String>>,
    /// Samples per second of the recordings
    #[arg(long, value_name = "HZ")]
    pub(crate) rate: Option<f64>,
    /// How strong the effect is; 1 is the default, 0 none at all
    #[arg(long, value_name = "X")]
    pub(crate) strength: Option<f64>,
    /// The seed of everything
    #[arg(long, env = "PTSM_SEED", value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// What a simulated cohort is written as.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Trials: a `.npz` file per subject
    Npz,
    /// Recordings: an EDF+ file per subject, session and run, and `recordings.toml`
    Edf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Line::command().debug_assert();
    }

    /// A terminal breaks lines where it is narrow; a text that is broken before breaks twice.
    #[test]
    fn help_texts_do_not_break_lines_themselves() {
        fn check(command: &clap::Command) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for (line, next) in text.lines().zip(text.lines().skip(1)) {
                let is_prose = |line: &str| line.starts_with(|c: char| c.is_alphabetic() || c == '`');
                let broken = is_prose(line) && is_prose(next) && !line.ends_with(['.', ':', ';']);
                assert!(!broken, "ptsm {}: broken after {line:?}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&super::Line::command());
    }
}

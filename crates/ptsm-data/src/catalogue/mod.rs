//! Data sets that are known by name, and what a data set is.
//!
//! A data set finds its files under a folder and reads them; all else (choosing subjects, epoching, the cache) is the same for
//! all of them and is in `crate::recordings`. Adding one is a file here and a line in [`DATA_SETS`].

mod bci_iv;
mod channels;
mod disk;
mod kul_aad;
mod matlab;
mod notes;
mod openbmi;
mod options;
mod physionet_mi;
mod refusal;
mod signal;

use std::fmt;
use std::path::{Path, PathBuf};

use ptsm_signal::{Channel, Pipeline, Recording, RecordingId, SubjectId, TaskDeclaration};

pub(crate) use notes::Notes;
pub use options::{DataSetChoice, Options};

use crate::download::RemoteFile;
use crate::error::Result;

/// Every data set that has a name, in the order users see them.
pub const DATA_SETS: &[&dyn DataSet] = &[
    &physionet_mi::PhysionetMi,
    &openbmi::IMAGERY,
    &openbmi::ERP,
    &openbmi::SSVEP,
    &kul_aad::KulAad,
    &bci_iv::A,
    &bci_iv::B,
];

/// The folder the script of `kul-aad` writes files to that have the names of published ones.
pub(crate) const UNPUBLISHED: &str = "preprocessed_data";

/// What should be known of a data set.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct DataSetInfo {
    /// What is typed: `physionet-mi`.
    pub id: String,
    /// What it is, in one line.
    pub title: String,
    /// How many subjects took part; 0 where that shows only when it is read.
    #[serde(rename = "people")]
    pub subject_count: u32,
    /// The terms it is published under.
    pub licence: String,
    /// What to cite, with its DOI.
    pub citation: String,
    /// Where it is published.
    pub home: String,
    /// Event codes and what they mean.
    pub events: Vec<(String, String)>,
    /// Where the default pipeline comes from.
    pub pipeline: String,
    /// What to know before believing a score: confounds, wrong labels.
    pub cautions: Vec<String>,
}

/// The smallest piece of a data set that is read at once: a file, or one variable of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingItem {
    /// Whose it is.
    pub subject: SubjectId,
    /// The session, counted from 1.
    pub session: u32,
    /// The run, where the whole item is one.
    pub run: u32,
    /// All files it is made of, the first being the one opened.
    pub files: Vec<PathBuf>,
    /// Which part of the files, where they hold several items; for messages and the cache.
    pub part: String,
    /// About how many bytes of memory reading it takes.
    pub memory: u64,
}

impl RecordingItem {
    /// The file that is opened.
    pub(crate) fn file(&self) -> &Path {
        self.files.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Its first file and which part of it, for messages.
    pub fn place(&self) -> String {
        let file = self.file().display().to_string();
        if self.part.is_empty() { file } else { format!("{file}, {}", self.part) }
    }
}

/// What of a data set is under a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSetFiles {
    /// What can be read, in the order of subjects, sessions and runs.
    pub items: Vec<RecordingItem>,
    /// Names of the classes, in the order of their labels.
    pub classes: Vec<String>,
    /// Subjects left out on purpose, each with the reason.
    pub excluded: Vec<(SubjectId, String)>,
    /// Files that should be there and are not: whose, and their paths under the folder.
    pub missing: Vec<(SubjectId, PathBuf)>,
    /// Files that are there more than once: whose, and the one that is read.
    pub doubled: Vec<(SubjectId, PathBuf)>,
    /// What the user should know of single recordings.
    pub remarks: Vec<RecordingRemark>,
    /// What else the user should know, whoever is asked for.
    pub notes: Vec<String>,
}

/// What the user should know of one recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingRemark {
    /// Whose it is.
    pub subject: SubjectId,
    /// Which recording, without the name of a file: that may name a person.
    pub place: String,
    /// What it is.
    pub text: String,
}

impl DataSetFiles {
    /// What the user should know when some subjects are asked for: nothing that is only about others.
    pub fn notes_of(&self, is_requested: impl Fn(SubjectId) -> bool) -> Vec<String> {
        let mut notes = self.notes.clone();
        notes.extend(doubled(self.doubled.iter().filter(|(subject, _)| is_requested(*subject))));
        let mut remarks = Notes::default();
        for remark in self.remarks.iter().filter(|remark| is_requested(remark.subject)) {
            remarks.add(&remark.text, &remark.place);
        }
        notes.extend(remarks.lines());
        notes
    }
}

/// Says that files are there more than once.
fn doubled<'a>(files: impl Iterator<Item = &'a (SubjectId, PathBuf)>) -> Option<String> {
    let files: Vec<&PathBuf> = files.map(|(_, path)| path).collect();
    let first = files.first()?.display();
    let count = if files.len() == 1 { "1 file is".into() } else { format!("{} files are", files.len()) };
    Some(format!("{count} there more than once; one of each is read, such as {first}"))
}

/// The code of an event that begins a trial whose class nobody tells.
pub const UNKNOWN: &str = "?";

/// Signal of one subject without a break in who, session and run.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingPart {
    /// The subject, session and run it is of.
    pub id: RecordingId,
    /// The signal.
    pub signal: SignalData,
    /// What the user should know of it.
    pub notes: Vec<String>,
}

/// A continuous signal to be epoched, or epochs.
#[derive(Clone, Debug, PartialEq)]
pub enum SignalData {
    /// A recording. Events that begin a trial are called like their class, or [`UNKNOWN`]; others are not looked at.
    Recording(Recording),
    /// Trials that are epoched already.
    Epochs {
        /// Channels, C of them.
        channels: Vec<Channel>,
        /// Samples per second.
        rate_hz: f64,
        /// The first sample, in seconds after the cue.
        start_s: f64,
        /// Samples T per trial.
        samples: usize,
        /// `[n, C, T]`.
        x: Vec<f32>,
        /// The class of each trial by name, or [`UNKNOWN`]; trials of other names are left out.
        codes: Vec<String>,
    },
}

/// A data set.
pub trait DataSet: Send + Sync + fmt::Debug {
    /// What should be known of it.
    fn about(&self) -> DataSetInfo;

    /// What a user can choose with `--with NAME=VALUE`.
    fn choices(&self) -> &'static [DataSetChoice];

    /// The pipeline that suits it.
    fn pipeline(&self, options: &Options) -> Result<Pipeline>;

    /// What is known of the task: what subjects do, and what mirroring does to all classes the data set can have.
    fn task(&self, options: &Options) -> TaskDeclaration;

    /// Looks for its files under a folder, in every layout users have; reads names, and headers where only they tell classes or
    /// channels, but no samples. Options it cannot work with are refused here.
    fn find(&self, root: &Path, options: &Options) -> Result<DataSetFiles>;

    /// Reads an item. Channels the pipeline does not use may be left out.
    fn read(
        &self,
        item: &RecordingItem,
        options: &Options,
        pipeline: &Pipeline,
    ) -> Result<Vec<RecordingPart>>;

    /// What to download for all its subjects; empty where it cannot be downloaded.
    fn remote(&self, options: &Options) -> Result<Vec<RemoteFile>>;

    /// Subjects it leaves out on purpose, each with the reason, whether or not their files are there.
    fn excluded(&self, _options: &Options) -> Result<Vec<(SubjectId, String)>> {
        Ok(vec![])
    }

    /// The study its subjects took part in, where they have their numbers or labels from: other data sets of the same study have the
    /// same subjects.
    fn study(&self) -> String {
        self.about().id
    }

    /// Whether names of its files may name people: they are told only when somebody asks for them.
    fn names_subjects(&self) -> bool {
        false
    }

    /// What subjects are called in its files, by their numbers; empty where nobody has another name. It is asked for only when a
    /// user wants to find a subject's files.
    fn labels(&self, _options: &Options) -> Result<Vec<(SubjectId, String)>> {
        Ok(vec![])
    }
}

impl<T: DataSet + ?Sized> DataSet for &'static T {
    fn about(&self) -> DataSetInfo {
        (**self).about()
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        (**self).choices()
    }

    fn pipeline(&self, options: &Options) -> Result<Pipeline> {
        (**self).pipeline(options)
    }

    fn task(&self, options: &Options) -> TaskDeclaration {
        (**self).task(options)
    }

    fn find(&self, root: &Path, options: &Options) -> Result<DataSetFiles> {
        (**self).find(root, options)
    }

    fn read(
        &self,
        item: &RecordingItem,
        options: &Options,
        pipeline: &Pipeline,
    ) -> Result<Vec<RecordingPart>> {
        (**self).read(item, options, pipeline)
    }

    fn remote(&self, options: &Options) -> Result<Vec<RemoteFile>> {
        (**self).remote(options)
    }

    fn excluded(&self, options: &Options) -> Result<Vec<(SubjectId, String)>> {
        (**self).excluded(options)
    }

    fn study(&self) -> String {
        (**self).study()
    }

    fn names_subjects(&self) -> bool {
        (**self).names_subjects()
    }

    fn labels(&self, options: &Options) -> Result<Vec<(SubjectId, String)>> {
        (**self).labels(options)
    }
}

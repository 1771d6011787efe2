//! `files:MANIFEST`: recordings listed in a TOML file that a person can read and edit.
//!
//! ```toml
//! title = "Imagined hands"
//! licence = "CC BY 4.0"
//! paradigm = "motor-imagery"    # may be absent; or motor-execution, erp, ssvep, auditory-attention, other
//! symmetry = { left_hand = "right_hand" }   # classes that swap when left and right are exchanged; without it epochs are not mirrored
//!
//! [events]                      # classes, each with the event codes that begin its trials
//! left_hand = ["T1"]
//! right_hand = ["T2"]
//!
//! [pipeline]                    # may be absent; the same keys as in a configuration file: `ptsm data pipeline` explains them
//! band = [0.5, 40]
//! window_s = [0.0, 4.0]
//!
//! [labels]                      # may be absent: recordings that are of one class each, by patterns of `file`, with its folders or without; `*` stands for any text
//! rest = "*_rest.edf"           # without `*` it may stand anywhere in the name; labels that `[events]` does not have are classes
//!
//! [windows]                     # may be absent: epochs one after the other, of recordings with a label and inside of annotated segments
//! length_s = 2.0                # 4 without it, or as long as `window_s`, where there are labels
//! every_s = 2.0                 # from one start to the next; the length without it, so that they do not overlap
//! segment_s = 60.0              # how long segments are whose events state no duration
//!
//! [columns]                     # may be absent: columns of event tables, where they are not called as usual
//! onset = "when"                # seconds; or `sample`, counted from 0, or `latency`, samples counted from 1
//! duration = "how_long"         # seconds
//! label = "what"
//!
//! [rename]                      # may be absent: other names for channels; an electrode's name makes one of them EEG
//! "EEG 1" = "C3"
//!
//! [mat]                         # for MATLAB files; those of FieldTrip need nothing. Places are written as in MATLAB, counted from 1
//! inside = "data{1,3}"          # the struct the others are in, where there is one: `data{1,3}`, `runs(2)`, `EEG.sub`
//! samples = "X"                 # which variable; `a.b` is field `b` of the struct `a`
//! axes = ["trials", "channels", "time"]  # epochs: the dimensions in their order. Inferred where labels and names of channels tell it;
//!                               # "classes" is a dimension of classes called 1, 2, ..; a matrix of a recording needs none
//! labels = "y"                  # of each epoch, or of each of the onsets: numbers, texts, or a table with a one for each class
//! start_s = -0.2                # the first sample of epochs, in seconds after the cue; 0 without it
//! rows = "samples"              # of a matrix, or "channels"; the longer side is time without it
//! triggers = "X(:,9)"           # of a matrix: an event begins where it changes to another number than zero, and is called like it;
//!                               # a row or column of the samples is no channel then
//! onsets = "trial"              # or the sample of each event, counted from 1
//! rate = "fs"                   # a variable or a number
//! channels = ["Fz", "Cz"]       # or the variable that holds the names; `ch1`, `ch2`, .. without it
//! unit = "uV"
//!
//! [[recording]]
//! file = "S001/S001R04.edf"     # from the manifest's folder on
//! subject = 1
//! session = 1                   # 1 without it
//! run = 4                       # counted without it
//! rate_hz = 160.0               # only where the file is wrong
//! unit = "uV"                   # only where the file is wrong: V, mV, uV, nV
//! rename = { "T3" = "T7" }      # besides those for all
//! mat = { samples = "y2" }      # besides those for all; a MATLAB file may be listed once for each of its arrays
//! events = "S001R04_events.tsv" # a table of events in place of the file's own: CSV, TSV, MNE's `-eve.fif` and `.eve`
//! label = "rest"                # or: all of it is of this class
//! ```
//!
//! Columns of event tables are found by usual names: `onset`, `time` (seconds), `sample` (from 0), `latency` (samples from 1, as EEGLAB exports them);
//! `duration`; `trial_type`, `label`, `condition`, `description`, `type`, `value`, `code`, .. Samples of `-eve.fif` and `.eve` count from when the
//! device was started, which is known of FIF files.

pub(super) mod events;
mod pipeline;
pub(super) mod text;
mod windows;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptsm_io::RecordingFile;
use ptsm_io::mat::MatFile;
use ptsm_signal::{Pipeline, SubjectId, TaskDeclaration};

use super::matrix::Variables;
use super::scan::{DataSetScan, PIPELINE, ScanCache};
use crate::catalogue::{
    DataSet, DataSetChoice, DataSetFiles, DataSetInfo, Options, RecordingItem, RecordingPart,
};
use crate::download::RemoteFile;
use crate::error::{Error, Result};
use crate::walk::name;
use text::{Entry, Manifest};

/// Recordings of a manifest.
#[derive(Debug)]
pub(crate) struct Files {
    path: PathBuf,
    manifest: Manifest,
    kept: ScanCache,
}

impl Files {
    /// Reads a manifest.
    pub(crate) fn open(path: &Path) -> Result<Files> {
        let manifest = text::read(path)?;
        // A mistake in the pipeline shows before any recording is opened.
        pipeline::changed(&DataSetScan::default().pipeline(), &manifest.pipeline, path)?;
        Ok(Files { path: path.to_path_buf(), manifest, kept: ScanCache::default() })
    }

    /// Entries whose files are there, as items.
    fn items(&self) -> Vec<RecordingItem> {
        let item = |entry: &Entry| RecordingItem {
            subject: SubjectId(entry.subject),
            session: entry.session,
            run: entry.run,
            files: vec![entry.path.clone(), self.path.clone()],
            part: String::new(),
            memory: 0,
        };
        self.manifest.recordings.iter().filter(|entry| entry.path.is_file()).map(item).collect()
    }

    fn scan(&self, options: &Options) -> Arc<DataSetScan> {
        match self.kept.get(options) {
            Some(scan) => scan,
            None => self.kept.put(options, DataSetScan::new(&self.items(), |item| self.opened(item))),
        }
    }

    /// What the manifest says of a recording.
    fn entry(&self, item: &RecordingItem) -> Result<&Entry> {
        let identity = |entry: &Entry| (SubjectId(entry.subject), entry.session, entry.run);
        let own = |entry: &&Entry| identity(entry) == (item.subject, item.session, item.run);
        self.manifest
            .recordings
            .iter()
            .find(own)
            .ok_or_else(|| refuse(&self.path, format!("does not list {}", item.place()), "list it again"))
    }

    /// A recording with what the manifest says over it.
    fn opened(&self, item: &RecordingItem) -> Result<RecordingFile> {
        let entry = self.entry(item)?;
        let mut file = match &entry.mat {
            Some(variables) => match fieldtrip(&entry.path, variables)? {
                Some(opened) => opened,
                None => variables.open(&entry.path, entry.rate_hz)?,
            },
            None => ptsm_io::open(&entry.path)?,
        };
        entry.rate_hz.iter().for_each(|rate_hz| file.set_rate(*rate_hz));
        if let Some(unit) = &entry.unit {
            file.signals_mut().iter_mut().for_each(|signal| signal.set_unit(unit));
        }
        for (from, to) in &self.manifest.rename {
            if !entry.rename.contains_key(from) && !renamed(&mut file, from, to) {
                file.add_note(format!("there is no channel `{from}` to rename"));
            }
        }
        for (from, to) in &entry.rename {
            if !renamed(&mut file, from, to) {
                let names: Vec<&str> = file.signals().iter().map(|signal| &*signal.name).collect();
                let hint = format!("its channels are {}", names.join(", "));
                return Err(refuse(&entry.path, format!("has no channel `{from}` to rename"), &hint));
            }
        }
        if let Some(table) = &entry.events {
            events::replace(&mut file, table, &self.manifest.columns)?;
            file.add_file(table.clone());
        }
        match (&self.manifest.windows, &entry.label) {
            (Some(windows), Some(label)) => windows.label(&mut file, label),
            (Some(windows), None) if self.manifest.in_segments => {
                windows.segments(&mut file, &self.manifest.classes);
            }
            _ => {}
        }
        Ok(file)
    }
}

/// A recording of FieldTrip, which says itself what its variables are; none where the manifest names a variable that is there.
fn fieldtrip(path: &Path, variables: &Variables) -> Result<Option<RecordingFile>> {
    if let Some(source) = variables.source() {
        let variable = source.split(['.', '{', '(']).next().unwrap_or_default();
        if MatFile::open(path)?.names().iter().any(|known| known == variable) {
            return Ok(None);
        }
    }
    Ok(ptsm_io::fieldtrip::find(path)?)
}

/// Gives a channel another name; tells whether it is there.
fn renamed(file: &mut RecordingFile, from: &str, to: &str) -> bool {
    let signals = file.signals_mut();
    let exact = signals.iter().position(|signal| signal.name == from);
    let found = exact.or_else(|| signals.iter().position(|signal| signal.is_called(from)));
    found.map(|at| signals[at].rename(to)).is_some()
}

fn refuse(path: &Path, message: String, hint: &str) -> Error {
    Error::Content { path: path.to_path_buf(), message, hint: Some(hint.to_string()) }
}

impl DataSet for Files {
    fn about(&self) -> DataSetInfo {
        let title = &self.manifest.title;
        DataSetInfo {
            id: format!("files:{}", name(&self.path)),
            title: if title.is_empty() { "recordings of a manifest".into() } else { title.clone() },
            licence: self.manifest.licence.clone(),
            citation: self.manifest.citation.clone(),
            pipeline: PIPELINE.into(),
            ..DataSetInfo::default()
        }
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        &[]
    }

    fn pipeline(&self, options: &Options) -> Result<Pipeline> {
        let scan = self.scan(options);
        let mut own = scan.pipeline();
        if let Some(windows) = self.manifest.windows.filter(|_| !scan.holds_epochs()) {
            own.window_s = [0.0, windows.length_s];
        }
        pipeline::changed(&own, &self.manifest.pipeline, &self.path)
    }

    fn task(&self, _options: &Options) -> TaskDeclaration {
        self.manifest.task.clone()
    }

    fn find(&self, _root: &Path, options: &Options) -> Result<DataSetFiles> {
        let mut items = self.items();
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let absent = self.manifest.recordings.iter().filter(|entry| !entry.path.is_file());
        let inside = |path: &PathBuf| path.strip_prefix(folder).unwrap_or(path).to_path_buf();
        let missing: Vec<(SubjectId, PathBuf)> =
            absent.map(|entry| (SubjectId(entry.subject), inside(&entry.path))).collect();
        if items.is_empty() {
            let first =
                missing.first().map(|(_, path)| folder.join(path).display().to_string()).unwrap_or_default();
            return Err(refuse(
                &self.path,
                format!("none of its {} recordings is there, {first} is the first", missing.len()),
                "paths start at the manifest's folder; move it there or write it again with `ptsm data add`",
            ));
        }
        let scan = self.scan(options);
        scan.complete(&mut items);
        let classes = &self.manifest.classes;
        let without = classes.absent(scan.codes.keys().map(String::as_str));
        if let Some(class) = without.first().filter(|_| scan.opened > 0) {
            return Err(refuse(
                &self.path,
                format!("`[events]`: no event of any recording stands for class `{class}`"),
                &scan.events(),
            ));
        }
        Ok(DataSetFiles {
            items,
            classes: classes.names().to_vec(),
            missing,
            remarks: scan.remarks.clone(),
            notes: scan.notes.clone(),
            ..DataSetFiles::default()
        })
    }

    fn read(
        &self,
        item: &RecordingItem,
        options: &Options,
        pipeline: &Pipeline,
    ) -> Result<Vec<RecordingPart>> {
        let scan = self.scan(options);
        let file = self.opened(item)?;
        let cut = file.epochs().is_none();
        let mut part = scan.part(file, item, pipeline, Some(&self.manifest.classes))?;
        let windowed = cut && (self.manifest.in_segments || self.entry(item)?.label.is_some());
        let windows = self.manifest.windows.filter(|_| windowed);
        part.notes.extend(windows.and_then(|windows| windows.overlap(pipeline.window_s)));
        Ok(vec![part])
    }

    fn remote(&self, _options: &Options) -> Result<Vec<RemoteFile>> {
        Ok(vec![])
    }

    fn names_subjects(&self) -> bool {
        true
    }
}

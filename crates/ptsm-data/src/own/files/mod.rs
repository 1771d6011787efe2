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
//! [pipeline]                    # may be absent; the same keys as in a configuration file
//! window_s = [0.0, 4.0]
//!
//! [rename]                      # may be absent: other names for channels; an electrode's name makes one of them EEG
//! "EEG 1" = "C3"
//!
//! [mat]                         # for MATLAB files that hold a plain matrix; those of FieldTrip need nothing
//! samples = "y"                 # which variable; `a.b` is field `b` of the struct `a`
//! rows = "samples"              # or "channels"; the longer side is time without it
//! triggers = "trig"             # an event begins where it changes to another number than zero, and is called like it
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
//! mat = { samples = "y2" }      # besides those for all
//! ```

mod pipeline;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptsm_io::Opened;
use ptsm_io::mat::MatFile;
use ptsm_signal::{Pipeline, SubjectId, TaskDeclaration};

use super::matrix::Variables;
use super::sheet::Sheet;
use super::survey::{Kept, PIPELINE, Survey};
use super::walk::name;
use crate::catalogue::{About, Choice, DataSet, Found, Item, Options, Part, Remote};
use crate::error::{Error, Result};
use text::{Entry, Manifest};

/// Recordings of a manifest.
#[derive(Debug)]
pub(crate) struct Files {
    path: PathBuf,
    manifest: Manifest,
    kept: Kept,
}

impl Files {
    /// Reads a manifest.
    pub(crate) fn open(path: &Path) -> Result<Files> {
        let manifest = text::read(path)?;
        // A mistake in the pipeline shows before any recording is opened.
        pipeline::changed(&Survey::default().pipeline(), &manifest.pipeline, path)?;
        Ok(Files { path: path.to_path_buf(), manifest, kept: Kept::default() })
    }

    /// Entries whose files are there, as items.
    fn items(&self) -> Vec<Item> {
        let item = |entry: &Entry| Item {
            subject: SubjectId(entry.subject),
            session: entry.session,
            run: entry.run,
            files: vec![entry.path.clone(), self.path.clone()],
            part: String::new(),
            memory: 0,
        };
        self.manifest.recordings.iter().filter(|entry| entry.path.is_file()).map(item).collect()
    }

    fn survey(&self, options: &Options) -> Arc<Survey> {
        match self.kept.get(options) {
            Some(survey) => survey,
            None => self.kept.put(options, Survey::new(&self.items(), |item| self.sheet(item))),
        }
    }

    /// A recording with what the manifest says over it.
    fn sheet(&self, item: &Item) -> Result<Sheet> {
        let who = |entry: &Entry| (SubjectId(entry.subject), entry.session, entry.run);
        let Some(entry) =
            self.manifest.recordings.iter().find(|e| who(e) == (item.subject, item.session, item.run))
        else {
            return Err(refuse(&self.path, format!("does not list {}", item.place()), "list it again"));
        };
        let mut sheet = match &entry.mat {
            Some(variables) => match fieldtrip(&entry.path, variables)? {
                Some(opened) => Sheet::of(opened),
                None => variables.sheet(&entry.path, entry.rate_hz)?,
            },
            None => Sheet::of(ptsm_io::open(&entry.path)?),
        };
        sheet.rate_hz = entry.rate_hz.unwrap_or(sheet.rate_hz);
        if let Some(unit) = &entry.unit {
            sheet.columns.iter_mut().for_each(|column| column.in_unit(unit));
        }
        for (from, to) in &self.manifest.rename {
            if !entry.rename.contains_key(from) && !renamed(&mut sheet, from, to) {
                sheet.notes.push(format!("there is no channel `{from}` to rename"));
            }
        }
        for (from, to) in &entry.rename {
            if !renamed(&mut sheet, from, to) {
                let names: Vec<&str> = sheet.columns.iter().map(|column| &*column.name).collect();
                let hint = format!("its channels are {}", names.join(", "));
                return Err(refuse(&entry.path, format!("has no channel `{from}` to rename"), &hint));
            }
        }
        Ok(sheet)
    }
}

/// A recording of FieldTrip, which says itself what its variables are; none where the manifest names a variable that is there.
fn fieldtrip(path: &Path, variables: &Variables) -> Result<Option<Opened>> {
    if let Some(samples) = &variables.samples {
        let variable = samples.split('.').next().unwrap_or_default();
        if MatFile::open(path)?.names().iter().any(|known| known == variable) {
            return Ok(None);
        }
    }
    Ok(ptsm_io::fieldtrip::find(path)?)
}

/// Gives a channel another name; tells whether it is there.
fn renamed(sheet: &mut Sheet, from: &str, to: &str) -> bool {
    let exact = sheet.columns.iter().position(|column| column.name == from);
    let found = exact.or_else(|| sheet.columns.iter().position(|column| column.is(from)));
    found.map(|at| sheet.columns[at].rename(to)).is_some()
}

fn refuse(path: &Path, message: String, hint: &str) -> Error {
    Error::Content { path: path.to_path_buf(), message, hint: Some(hint.to_string()) }
}

impl DataSet for Files {
    fn about(&self) -> About {
        let title = &self.manifest.title;
        About {
            id: format!("files:{}", name(&self.path)),
            title: if title.is_empty() { "recordings of a manifest".into() } else { title.clone() },
            licence: self.manifest.licence.clone(),
            citation: self.manifest.citation.clone(),
            pipeline: PIPELINE.into(),
            ..About::default()
        }
    }

    fn choices(&self) -> &'static [Choice] {
        &[]
    }

    fn pipeline(&self, options: &Options) -> Result<Pipeline> {
        pipeline::changed(&self.survey(options).pipeline(), &self.manifest.pipeline, &self.path)
    }

    fn task(&self, _options: &Options) -> TaskDeclaration {
        self.manifest.task.clone()
    }

    fn find(&self, _root: &Path, options: &Options) -> Result<Found> {
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
        let survey = self.survey(options);
        survey.complete(&mut items);
        let classes = &self.manifest.classes;
        let without = classes.absent(survey.codes.keys().map(String::as_str));
        if let Some(class) = without.first().filter(|_| survey.opened > 0) {
            return Err(refuse(
                &self.path,
                format!("`[events]`: no event of any recording stands for class `{class}`"),
                &survey.events(),
            ));
        }
        Ok(Found {
            items,
            classes: classes.names().to_vec(),
            missing,
            remarks: survey.remarks.clone(),
            notes: survey.notes.clone(),
            ..Found::default()
        })
    }

    fn read(&self, item: &Item, options: &Options, pipeline: &Pipeline) -> Result<Vec<Part>> {
        let survey = self.survey(options);
        survey.part(self.sheet(item)?, item, pipeline, Some(&self.manifest.classes)).map(|part| vec![part])
    }

    fn remote(&self, _options: &Options) -> Result<Vec<Remote>> {
        Ok(vec![])
    }

    fn names_people(&self) -> bool {
        true
    }
}

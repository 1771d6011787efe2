//! `bids:DIR`: a folder in the Brain Imaging Data Structure (versions 1.9 and 1.10), read leniently.
//!
//! Recordings are `sub-*/**/eeg/*_eeg.{edf,bdf,vhdr,set}`. Tables beside and above them say what events, channels and electrodes
//! are. Folders of derivatives are passed over. Subjects are numbered; their labels stay here.

mod channels;
mod choose;
mod description;
mod electrodes;
mod entities;
mod events;
mod list;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptsm_io::RecordingFile;
use ptsm_signal::{Pipeline, SubjectId, TaskDeclaration};
use serde_json::{Map, Value};

use super::scan::{DataSetScan, PIPELINE, ScanCache};
use super::signals;
use super::table::TextTable;
use crate::catalogue::{
    DataSet, DataSetChoice, DataSetFiles, DataSetInfo, Options, RecordingItem, RecordingPart,
};
use crate::download::RemoteFile;
use crate::error::{Error, Result};
use crate::walk::name;
use entities::Entities;

/// A BIDS folder.
#[derive(Debug)]
pub(crate) struct Bids {
    id: String,
    root: PathBuf,
    /// What the folder says of itself.
    about: Map<String, Value>,
    kept: ScanCache,
}

impl Bids {
    /// A folder that is there.
    pub(crate) fn open(root: &Path, typed: &str) -> Result<Bids> {
        if !root.is_dir() {
            return Err(Error::Source {
                id: typed.to_string(),
                message: format!("there is no folder {}", root.display()),
                hint: Some("give the folder that holds `dataset_description.json` and `sub-..`; without `--root` it starts at the working folder".into()),
            });
        }
        let whole = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        let description = root.join("dataset_description.json");
        Ok(Bids {
            id: format!("bids:{}", name(&whole)),
            about: description::merged([description.as_path()]),
            root: root.to_path_buf(),
            kept: ScanCache::default(),
        })
    }

    fn scan(&self, options: &Options) -> Result<Arc<DataSetScan>> {
        match self.kept.get(options) {
            Some(scan) => Ok(scan),
            None => {
                let listed = list::list(&self.root, &self.id, options)?;
                let scan = DataSetScan::new(&listed.items, |item| opened(item, options));
                Ok(self.kept.put(options, scan))
            }
        }
    }

    fn says(&self, key: &str) -> String {
        match self.about.get(key) {
            Some(Value::String(text)) => text.trim().to_string(),
            _ => String::new(),
        }
    }
}

impl DataSet for Bids {
    fn about(&self) -> DataSetInfo {
        let title = self.says("Name");
        DataSetInfo {
            id: self.id.clone(),
            title: if title.is_empty() { "a BIDS folder".into() } else { title },
            licence: self.says("License"),
            citation: self.says("HowToAcknowledge"),
            home: self.says("DatasetDOI"),
            pipeline: PIPELINE.into(),
            ..DataSetInfo::default()
        }
    }

    fn choices(&self) -> &'static [DataSetChoice] {
        choose::CHOICES
    }

    fn pipeline(&self, options: &Options) -> Result<Pipeline> {
        Ok(self.scan(options)?.pipeline())
    }

    fn task(&self, _options: &Options) -> TaskDeclaration {
        // Nothing in the structure says it.
        TaskDeclaration::default()
    }

    fn find(&self, _root: &Path, options: &Options) -> Result<DataSetFiles> {
        let listed = list::list(&self.root, &self.id, options)?;
        let given = choose::requested_classes(&self.id, options)?;
        let scan = self.scan(options)?;
        let mut items = listed.items;
        scan.complete(&mut items);
        let mut notes = listed.notes;
        notes.extend(scan.notes.iter().cloned());
        Ok(DataSetFiles {
            items,
            classes: choose::names(&self.id, given.as_ref(), &scan)?,
            missing: listed.missing,
            remarks: scan.remarks.clone(),
            notes,
            ..DataSetFiles::default()
        })
    }

    fn read(
        &self,
        item: &RecordingItem,
        options: &Options,
        pipeline: &Pipeline,
    ) -> Result<Vec<RecordingPart>> {
        let scan = self.scan(options)?;
        let file = opened(item, options)?;
        if options.get("bad") == "refuse" {
            let bad = |&at: &usize| Some(&file.signals()[at]).filter(|c| c.bad).map(|c| c.name.clone());
            // What cannot be chosen is told when it is read.
            let chosen = signals::chosen(&file, pipeline, &scan.common).unwrap_or_default();
            let bad: Vec<String> = chosen.iter().filter_map(bad).collect();
            if !bad.is_empty() {
                return Err(Error::Content {
                    path: item.files.first().cloned().unwrap_or_default(),
                    message: format!("channels are marked as bad: {}", bad.join(", ")),
                    hint: Some("pick other channels in `[pipeline]`, or give `--with bad=keep`".into()),
                });
            }
        }
        let classes = choose::requested_classes(&self.id, options)?;
        scan.part(file, item, pipeline, classes.as_ref()).map(|part| vec![part])
    }

    fn remote(&self, _options: &Options) -> Result<Vec<RemoteFile>> {
        Ok(vec![])
    }

    fn study(&self) -> String {
        // Folders are moved and renamed.
        Some(self.says("Name")).filter(|name| !name.is_empty()).unwrap_or_else(|| self.id.clone())
    }

    fn names_subjects(&self) -> bool {
        true
    }

    fn labels(&self, _options: &Options) -> Result<Vec<(SubjectId, String)>> {
        Ok(list::labels(&self.root))
    }
}

/// Refuses files whose content is elsewhere.
fn present(files: &[PathBuf]) -> Result<()> {
    match files.iter().find(|file| !tree::fetched(file)) {
        None => Ok(()),
        Some(file) => Err(Error::Content {
            path: file.clone(),
            message: "content not fetched".into(),
            hint: Some(tree::FETCH.into()),
        }),
    }
}

/// A recording with what its tables say over it.
fn opened(item: &RecordingItem, options: &Options) -> Result<RecordingFile> {
    let (first, others) = item.files.split_first().expect("a recording is a file");
    let beside = |suffix: &str, extension: &str| -> Vec<&Path> {
        let fits = |path: &&PathBuf| {
            let entities = Entities::parse(&name(path));
            entities.suffix == suffix && entities.extension == extension
        };
        others.iter().filter(fits).map(PathBuf::as_path).collect()
    };
    let table =
        |suffix: &str| beside(suffix, "tsv").first().map(|path| TextTable::read_bids(path)).transpose();
    present(others)?;
    let mut file = ptsm_io::open(first)?;
    present(file.files())?;
    let mut notes = description::apply(&mut file, &description::merged(beside("eeg", "json")));
    if let Some(table) = table("channels")? {
        notes.extend(channels::apply(file.signals_mut(), &table, options.get("mismatch") == "rename"));
    }
    if let Some(table) = table("electrodes")? {
        let system = description::merged(beside("coordsystem", "json"));
        let system = system.get("EEGCoordinateSystem").and_then(Value::as_str).unwrap_or_default();
        notes.extend(electrodes::apply(file.signals_mut(), &table, system));
    }
    if let Some(table) = table("events")? {
        notes.extend(events::replace(&mut file, &table));
    }
    notes.into_iter().for_each(|note| file.add_note(note));
    Ok(file)
}

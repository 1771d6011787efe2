//! Which format a file is in.

use std::path::Path;

use crate::error::{Error, Result};
use crate::recording_file::RecordingFile;
use crate::{brainvision, cnt, edf, eeglab, fieldtrip, fif, gdf};

/// A format of recordings.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// How names of its files end, in lower case, without the dot.
    pub endings: &'static [&'static str],
    open: fn(&Path) -> Result<RecordingFile>,
}

/// Every format of recordings, in the order users see them.
pub const FORMATS: &[Format] = &[
    Format { name: "EDF", endings: &["edf", "rec"], open: edf::open },
    Format { name: "BDF", endings: &["bdf"], open: edf::open },
    Format { name: "GDF", endings: &["gdf"], open: gdf::open },
    Format { name: "BrainVision", endings: &["vhdr", "ahdr"], open: brainvision::open },
    Format { name: "EEGLAB", endings: &["set"], open: eeglab::open },
    Format { name: "FIF", endings: &["fif", "fif.gz"], open: fif::open },
    Format { name: "CNT", endings: &["cnt"], open: cnt::open },
    Format { name: "FieldTrip", endings: &["mat"], open: fieldtrip::open },
];

/// The format a file's name tells; none where it is no recording.
pub fn format_of(path: &Path) -> Option<&'static Format> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    let ends = |ending: &str| {
        let stem = name.strip_suffix(ending).and_then(|start| start.strip_suffix('.'));
        stem.is_some_and(|stem| !stem.is_empty())
    };
    FORMATS.iter().find(|format| format.endings.iter().any(|ending| ends(ending)))
}

/// Opens a recording: reads its header, not its samples.
pub fn open(path: &Path) -> Result<RecordingFile> {
    match format_of(path) {
        Some(format) => (format.open)(path),
        None if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz")) => {
            Err(Error::format(&path.into(), "is compressed").with_hint("unpack it first: gunzip FILE"))
        }
        None => {
            let known: Vec<&str> = FORMATS.iter().flat_map(|format| format.endings).copied().collect();
            Err(Error::format(&path.into(), "is no recording this program knows by its name")
                .with_hint(format!("names of recordings end in .{}", known.join(", ."))))
        }
    }
}

//! One entry: what became of an item, in one file.
//!
//! | bytes | |
//! | --- | --- |
//! | 0-7 | `ptsmtri` and the version of this layout |
//! | 8-23 | when it was written: zeros where it is known to be on the disk, else the name of the system's start |
//! | 24-31 | length H of the header |
//! | 32-39 | length of the samples in bytes |
//! | 40-71 | BLAKE3 of bytes 24-39, 72-103 and the header |
//! | 72-103 | the key |
//! | 104-.. | the header, H bytes of JSON, then zeros up to a multiple of 64 |
//! | ..-end | samples, `f32`, little-endian |

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use blake3::Hash;
use ptsm_io::Bytes;
use ptsm_signal::{Layout, SubjectId, Trial, Trials};
use serde::{Deserialize, Serialize};

use super::super::prepare::EpochedItem;
use crate::error::Result;
use crate::findings::{RecordingMeasures, Sketch};

const MAGIC: &[u8; 8] = b"ptsmtri\x02";
/// Where the mark of when it was written is.
const MARK: usize = 8;
/// Where the header begins.
const HEAD: usize = 104;
/// Samples begin at a multiple of it.
const ALIGNED: usize = 64;
/// On the disk for sure.
const LASTING: [u8; 16] = [0; 16];

/// All but the samples.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// None where the item has no trial.
    layout: Option<Layout>,
    trials: Vec<Info>,
    /// Where the largest value of each trial is.
    places: Vec<u64>,
    sketches: Vec<Sketch>,
    measured: Vec<RecordingMeasures>,
    short: usize,
    unknown: usize,
    bad: usize,
    notes: Vec<String>,
    /// BLAKE3 of the samples, in hexadecimal.
    samples: String,
}

/// A trial: label, subject, session, run, cue.
type Info = (u32, SubjectId, u32, u32, f64);

/// Writes an entry.
pub(super) fn write(path: &Path, key: &Hash, prepared: &EpochedItem) -> Result<()> {
    let signals =
        || prepared.trials.iter().flat_map(|trials| (0..trials.len()).map(|row| trials.signal(row)));
    let mut hasher = blake3::Hasher::new();
    let mut length = 0;
    for signal in signals() {
        let bytes: &[u8] = bytemuck::cast_slice(signal);
        hasher.update(bytes);
        length += bytes.len();
    }
    let info = |t: &Trial| (t.label, t.subject, t.session, t.run, t.cue_s);
    let header = Header {
        layout: prepared.trials.as_ref().map(|trials| trials.layout().clone()),
        trials: prepared.trials.iter().flat_map(|trials| trials.info().iter().map(info)).collect(),
        places: prepared.places.clone(),
        sketches: prepared.sketches.clone(),
        measured: prepared.measured.clone(),
        short: prepared.short,
        unknown: prepared.unknown,
        bad: prepared.bad,
        notes: prepared.notes.clone(),
        samples: hasher.finalize().to_hex().to_string(),
    };
    let fill = |writer: &mut dyn Write, mark: [u8; 16]| {
        let header = serde_json::to_vec(&header).map_err(io::Error::other)?;
        let lengths = lengths(header.len(), length);
        writer.write_all(MAGIC)?;
        writer.write_all(&mark)?;
        writer.write_all(&lengths)?;
        writer.write_all(checksum(&lengths, key, &header).as_bytes())?;
        writer.write_all(key.as_bytes())?;
        writer.write_all(&header)?;
        writer.write_all(&vec![0; samples_at(header.len()) - HEAD - header.len()])?;
        signals().try_for_each(|signal| writer.write_all(bytemuck::cast_slice(signal)))
    };
    match *START {
        Some(start) => ptsm_io::atomic::write_renamed(path, |writer| fill(writer, start))?,
        None => ptsm_io::atomic::write_atomically(path, |writer| fill(writer, LASTING))?,
    }
    Ok(())
}

/// Opens an entry. None where there is none, or one that cannot be trusted. Samples are compared with their checksum where that
/// is asked for, and where the system was started anew since they were written: a power cut may have taken them.
pub(super) fn read(path: &Path, key: &Hash, verify: bool) -> Option<EpochedItem> {
    let bytes = Bytes::open(path).ok()?;
    let (header, at) = header(&bytes, key)?;
    let Header { layout, trials, places, sketches, measured, short, unknown, bad, notes, samples } = header;
    let mark: [u8; 16] = *bytes[MARK..].first_chunk()?;
    let lasting = mark == LASTING;
    if verify || !(lasting || *START == Some(mark)) {
        let whole = blake3::hash(&bytes[at..]);
        if !Hash::from_hex(samples).is_ok_and(|samples| samples == whole) {
            return None;
        }
        if !lasting && *START != Some(mark) {
            // Nothing is lost where this fails: it is compared again the next time.
            make_lasting(path).ok();
        }
    }
    if [places.len(), sketches.len()] != [trials.len(); 2] {
        return None;
    }
    let trial = |(label, subject, session, run, cue_s)| Trial { label, subject, session, run, cue_s };
    let trials = match layout {
        None if trials.is_empty() && bytes.len() == at => None,
        None => return None,
        Some(layout) => {
            let samples = Samples { bytes, at };
            samples.try_cast()?;
            Some(
                Trials::from_shared(layout, Arc::new(samples), trials.into_iter().map(trial).collect())
                    .ok()?,
            )
        }
    };
    Some(EpochedItem { trials, places, sketches, measured, short, unknown, bad, notes })
}

/// The header and where samples begin, if everything fits.
fn header(bytes: &[u8], key: &Hash) -> Option<(Header, usize)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (_, rest) = rest.split_first_chunk::<16>()?;
    let (lengths, rest) = rest.split_first_chunk::<16>()?;
    let (check, rest) = rest.split_first_chunk::<32>()?;
    let (own_key, rest) = rest.split_first_chunk::<32>()?;
    let [header, samples] = *lengths.as_chunks::<8>().0 else { return None };
    let header = rest.get(..usize::try_from(u64::from_le_bytes(header)).ok()?)?;
    let samples = usize::try_from(u64::from_le_bytes(samples)).ok()?;
    let at = samples_at(header.len());
    let fits = *key == *own_key && at.checked_add(samples) == Some(bytes.len());
    if !fits || checksum(lengths, key, header) != *check {
        return None;
    }
    Some((serde_json::from_slice(header).ok()?, at))
}

fn lengths(header: usize, samples: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&(header as u64).to_le_bytes());
    bytes[8..].copy_from_slice(&(samples as u64).to_le_bytes());
    bytes
}

fn checksum(lengths: &[u8; 16], key: &Hash, header: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(lengths).update(key.as_bytes()).update(header);
    hasher.finalize()
}

/// Where samples begin after a header of some length.
fn samples_at(header: usize) -> usize {
    HEAD.saturating_add(header).next_multiple_of(ALIGNED)
}

/// Marks an entry as being on the disk, for it was read from there after a new start.
fn make_lasting(path: &Path) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    file.seek(SeekFrom::Start(MARK as u64))?;
    file.write_all(&LASTING)
}

/// The name that Linux gives to each start of the system.
static START: LazyLock<Option<[u8; 16]>> = LazyLock::new(|| {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let hash = blake3::hash(text.trim().as_bytes());
    (!text.trim().is_empty()).then(|| hash.as_bytes().first_chunk().copied()).flatten()
});

/// Samples of a mapped entry.
struct Samples {
    bytes: Bytes,
    at: usize,
}

impl Samples {
    fn try_cast(&self) -> Option<&[f32]> {
        bytemuck::try_cast_slice(self.bytes.get(self.at..)?).ok()
    }
}

impl AsRef<[f32]> for Samples {
    fn as_ref(&self) -> &[f32] {
        self.try_cast().unwrap_or_default()
    }
}

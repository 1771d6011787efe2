//! The header file: how the samples are stored, and what signals there are.

use super::channels::{self, ScaledSignal};
use super::text::{Entries, Entry, decode};
use crate::error::{Error, Place, Result};
use crate::stored::{Encoding, Number};

/// Longer headers are none: real ones have some kilobytes.
const LONGEST: usize = 4 << 20;

/// How the samples are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SampleEncoding {
    Binary(Encoding),
    Ascii {
        /// `.` or `,`.
        decimal: u8,
        skip_lines: usize,
        skip_columns: usize,
    },
}

/// What the header says.
#[derive(Debug)]
pub(super) struct Head {
    /// The name of the file with the samples, as written.
    pub(super) data_file: Option<String>,
    /// The name of the file with the markers, as written.
    pub(super) marker_file: Option<String>,
    pub(super) written: SampleEncoding,
    /// One signal after the other, instead of one sample after the other.
    pub(super) vectorized: bool,
    /// How many samples each signal has, where the header says it.
    pub(super) points: Option<usize>,
    pub(super) rate_hz: f64,
    /// Their samples are not counted yet.
    pub(super) signals: Vec<ScaledSignal>,
    pub(super) notes: Vec<String>,
}

impl Head {
    pub(super) fn read(place: &Place, bytes: &[u8]) -> Result<Head> {
        if bytes.len() > LONGEST {
            let message = format!("{} bytes are too many for a header of text", bytes.len());
            return Err(Error::format(place, message).with_hint("open the `.vhdr` file, not the samples"));
        }
        let text = decode(bytes);
        let entries = Entries::of(&text);
        if !entries.is("Header") {
            let message = "the first line is not that of a BrainVision header, version 1.0 or 2.0";
            return Err(Error::format(place, message).with_hint("open the `.vhdr` file of the recording"));
        }
        let common = |key| entries.get("Common Infos", key);
        let needed = |key| common(key).ok_or_else(|| missing(place, "Common Infos", key));
        if let Some(domain) =
            common("DataType").filter(|entry| !entry.value.eq_ignore_ascii_case("TIMEDOMAIN"))
        {
            let message = format!("`{}` are no samples in time", domain.value);
            return Err(domain.error(place, message).with_hint("export the recording in the time domain"));
        }
        let rate_hz = 1e6 / needed("SamplingInterval")?.positive(place)?;
        let written = written(place, &entries)?;
        let orientation = needed("DataOrientation")?;
        let vectorized = choice(place, orientation, &["MULTIPLEXED", "VECTORIZED"])? == 1;
        let count = needed("NumberOfChannels")?;
        let mut notes = vec![];
        let signals = channels::read(place, &entries, count, &written, rate_hz, &mut notes)?;
        let points = common("DataPoints").map(|entry| entry.count(place)).transpose()?;
        let name = |key| common(key).map(|entry| entry.value.to_string());
        Ok(Head {
            data_file: name("DataFile"),
            marker_file: name("MarkerFile"),
            written,
            vectorized,
            points,
            rate_hz,
            signals,
            notes,
        })
    }
}

fn written(place: &Place, entries: &Entries) -> Result<SampleEncoding> {
    let ascii = match entries.get("Common Infos", "DataFormat") {
        Some(format) => choice(place, format, &["BINARY", "ASCII"])? == 1,
        None => false,
    };
    if ascii {
        let get = |key| entries.get("ASCII Infos", key);
        let count = |key| get(key).map_or(Ok(0), |entry: Entry| entry.count(place));
        let decimal = match get("DecimalSymbol") {
            Some(entry) if entry.value == "," => b',',
            Some(entry) if entry.value != "." => return Err(entry.error(place, "must be `.` or `,`")),
            _ => b'.',
        };
        return Ok(SampleEncoding::Ascii {
            decimal,
            skip_lines: count("SkipLines")?,
            skip_columns: count("SkipColumns")?,
        });
    }
    let get = |key| entries.get("Binary Infos", key);
    let format = get("BinaryFormat").ok_or_else(|| missing(place, "Binary Infos", "BinaryFormat"))?;
    let numbers = [
        ("INT_16", Number::I16),
        ("UINT_16", Number::U16),
        ("INT_32", Number::I32),
        ("IEEE_FLOAT_32", Number::F32),
        ("IEEE_FLOAT_64", Number::F64),
    ];
    let number = numbers[choice(place, format, &numbers.map(|(name, _)| name))?].1;
    let big_endian = match get("UseBigEndianOrder") {
        Some(order) => choice(place, order, &["NO", "YES"])? == 1,
        None => false,
    };
    Ok(SampleEncoding::Binary(Encoding { number, big_endian }))
}

/// Which of some words a value is.
fn choice(place: &Place, entry: Entry, words: &[&str]) -> Result<usize> {
    words.iter().position(|word| word.eq_ignore_ascii_case(entry.value)).ok_or_else(|| {
        entry
            .error(place, format!("`{}` is unknown", entry.value))
            .with_hint(format!("known are {}", words.join(", ")))
    })
}

fn missing(place: &Place, section: &str, key: &str) -> Error {
    Error::format(place, format!("the line `{key}=` is missing in section [{section}]"))
        .with_hint("add it, or export the recording again")
}

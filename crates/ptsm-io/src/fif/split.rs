//! Recordings that are split into several files, of which each names the next.

use std::path::{Path, PathBuf};

use super::contents::{Contents, Reference};
use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};
use crate::gzip;
use crate::recording_file::SignalHeader;

/// What to do about files that do not go on from one another.
pub(super) const OTHER: &str =
    "a file of another recording has taken its name; load the parts with MNE and save them again";

/// Files of one recording, at most.
const MOST_FILES: usize = 1000;

/// One file of a recording: mostly the only one.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) place: Place,
    pub(super) contents: Contents,
}

impl Piece {
    /// What a file holds, and its bytes, unpacked where they were packed.
    pub(super) fn read(bytes: Bytes, place: &Place) -> Result<(Bytes, Piece)> {
        let bytes = gzip::unpacked(bytes, place)?;
        let contents = Contents::read(&bytes, place)?;
        Ok((bytes, Piece { place: place.clone(), contents }))
    }

    /// Refuses what begins in another file.
    pub(super) fn refuse_previous(&self) -> Result<()> {
        match &self.contents.previous {
            Some(previous) => Err(later(&self.place, &previous.to_string())),
            None => Ok(()),
        }
    }

    /// Checks that this file goes on with the signals of the first one.
    pub(super) fn check(
        &self,
        signals: &[SignalHeader],
        gains: &[f64],
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let Piece { place, contents } = self;
        let refuse = |message: String| Err(Error::format(place, message).with_hint(OTHER));
        let rate_hz = signals.first().map_or(0.0, |signal| signal.rate_hz);
        if contents.rate_hz != rate_hz {
            return refuse(format!("goes on with {} Hz after {rate_hz} Hz", contents.rate_hz));
        }
        let (own, own_gains) = super::signals(contents, &mut vec![]);
        if own.len() != signals.len() {
            return refuse(format!("goes on with {} channels after {}", own.len(), signals.len()));
        }
        let differs = |(a, b): &(&SignalHeader, &SignalHeader)| (&a.name, a.kind) != (&b.name, b.kind);
        if let Some((one, other)) = signals.iter().zip(&own).find(differs) {
            return refuse(format!("goes on with channel `{}` in the place of `{}`", other.name, one.name));
        }
        if let Some(at) = gains.iter().zip(&own_gains).position(|(a, b)| a != b) {
            return refuse(format!("goes on with another scale of channel `{}`", signals[at].name));
        }
        if !contents.closed {
            let name = name(&place.path);
            notes.push(format!("the file `{name}` does not end as it should; it may be incomplete"));
        }
        Ok(())
    }
}

/// All files of a recording whose first one is at `path`, at least one.
pub(super) fn read(path: &Path, notes: &mut Vec<String>) -> Result<(Vec<Bytes>, Vec<Piece>)> {
    let place = Place::from(path);
    let (bytes, piece) = Piece::read(Bytes::open_filled(path)?, &place)?;
    piece.refuse_previous()?;
    refuse_later(path)?;
    let (mut all, mut pieces) = (vec![bytes], vec![piece]);
    while let Some(Piece { place, contents: Contents { next: Some(next), .. } }) = pieces.last() {
        let file = find(&place.path, next, pieces.len(), notes)?;
        if pieces.len() == MOST_FILES || pieces.iter().any(|piece| piece.place.path == file) {
            let message = format!("names {next} as the next part, which comes before it");
            return Err(Error::format(place, message).with_hint(OTHER));
        }
        let (bytes, piece) = Piece::read(Bytes::open_filled(&file)?, &Place::from(&*file))?;
        all.push(bytes);
        pieces.push(piece);
    }
    Ok((all, pieces))
}

/// The file a reference names or, where all were renamed, the one whose name follows from the name of the file before it.
fn find(before: &Path, next: &Reference, number: usize, notes: &mut Vec<String>) -> Result<PathBuf> {
    let named = next.name.as_ref().map(|name| before.with_file_name(name)).filter(|path| path != before);
    if let Some(path) = named.as_ref().filter(|path| path.is_file()) {
        return Ok(path.clone());
    }
    let renamed = following(&name(before), number).map(|name| before.with_file_name(name));
    match renamed.filter(|path| path.is_file()) {
        Some(path) => {
            if named.is_some() {
                let name = name(&path);
                notes.push(format!("the next part the file names is not there; `{name}` is read"));
            }
            Ok(path)
        }
        None => {
            let next = match following(&name(before), number) {
                Some(name) if next.name.is_none() => format!("`{name}`"),
                _ => next.to_string(),
            };
            let message = format!("is one part of a split recording; the next part, {next}, is not there");
            Err(Error::format(&before.into(), message)
                .with_hint("put all parts into one folder, under the names they were saved with"))
        }
    }
}

/// Refuses a later part of trials, which does not say that it is one: the file before it does.
fn refuse_later(path: &Path) -> Result<()> {
    let own = name(path);
    let Some(before) = preceding(&own).map(|name| path.with_file_name(name)).filter(|path| path.is_file())
    else {
        return Ok(());
    };
    // A file that cannot be read says nothing about this one.
    let Ok((_, piece)) = Bytes::open(&before).and_then(|bytes| Piece::read(bytes, &Place::from(&*before)))
    else {
        return Ok(());
    };
    match piece.contents.next {
        Some(Reference { name: Some(next), .. }) if next == own => {
            Err(later(&path.into(), &format!("`{}`", name(&before))))
        }
        _ => Ok(()),
    }
}

fn later(place: &Place, previous: &str) -> Error {
    let message = format!("is a later part of a split recording; the previous part is {previous}");
    Error::format(place, message).with_hint("open the first part: all others are read with it")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of the part with this number, counted from 0, after that of the part before it: `a_raw.fif`, `a_raw-1.fif`, `a_raw-2.fif`,
/// or with numbers from 1 on, `a_split-01_meg.fif`, `a_split-02_meg.fif`.
fn following(before: &str, number: usize) -> Option<String> {
    if let Some((start, _, end)) = numbered(before) {
        return Some(format!("{start}{:02}{end}", number + 1));
    }
    let (stem, ending) = before.split_once('.')?;
    let stem = match stem.rsplit_once('-') {
        Some((stem, digits)) if number > 1 && digits.parse() == Ok(number - 1) => stem,
        _ => stem,
    };
    Some(format!("{stem}-{number}.{ending}"))
}

/// The name of the part before a part of this name; none where the name has no number.
fn preceding(own: &str) -> Option<String> {
    if let Some((start, number, end)) = numbered(own) {
        return (number > 1).then(|| format!("{start}{:02}{end}", number - 1));
    }
    let (stem, ending) = own.split_once('.')?;
    let (stem, digits) = stem.rsplit_once('-')?;
    match digits.parse::<usize>().ok()? {
        0 => None,
        1 => Some(format!("{stem}.{ending}")),
        number => Some(format!("{stem}-{}.{ending}", number - 1)),
    }
}

/// A name of BIDS: what is before and behind the number of the part.
fn numbered(name: &str) -> Option<(&str, usize, &str)> {
    const WORD: &str = "_split-";
    let at = name.find(WORD)? + WORD.len();
    let digits = name[at..].bytes().take_while(u8::is_ascii_digit).count();
    Some((&name[..at], name[at..at + digits].parse().ok()?, &name[at + digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_follow_one_another() {
        for (before, number, next) in [
            ("a_raw.fif", 1, "a_raw-1.fif"),
            ("a_raw-1.fif", 2, "a_raw-2.fif"),
            ("s-2_raw.fif", 1, "s-2_raw-1.fif"),
            ("run-7.fif", 1, "run-7-1.fif"),
            ("a-epo.fif.gz", 1, "a-epo-1.fif.gz"),
            ("a_split-01_meg.fif", 1, "a_split-02_meg.fif"),
            ("a_split-09_meg.fif", 9, "a_split-10_meg.fif"),
        ] {
            assert_eq!(following(before, number).as_deref(), Some(next), "{before}");
        }
        for (own, before) in [
            ("a_raw-1.fif", Some("a_raw.fif")),
            ("a_raw-2.fif", Some("a_raw-1.fif")),
            ("a_split-02_meg.fif", Some("a_split-01_meg.fif")),
            ("a_split-01_meg.fif", None),
            ("a_raw.fif", None),
            ("a-epo.fif", None),
            ("a-0.fif", None),
            ("a", None),
            ("_split-", None),
            ("_split-99999999999999999999.fif", None),
        ] {
            assert_eq!(preceding(own).as_deref(), before, "{own}");
        }
    }
}

//! Lists of events that MNE saves beside recordings: `NAME-eve.fif`, and `NAME.eve` as text.

use std::path::Path;

use super::contents::{EVENT_BLOCK, EVENT_LIST};
use super::tags::{Tag, Tags};
use crate::bytes::Bytes;
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};
use crate::gzip;
use crate::text::read_filled_text;

/// An event of a list. Samples are counted from when the device was started, as [`crate::RecordingFile::first_sample`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedEvent {
    /// Where it is.
    pub sample: i64,
    /// What the trigger channel changes to.
    pub value: i64,
}

/// Whether a file is called like a list of events.
pub fn is_event_list(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let fif = ["-eve.fif", "_eve.fif", "-eve.fif.gz", "_eve.fif.gz", "-eve.lst", ".eve", ".lst"];
    fif.iter().any(|end| name.ends_with(end) && name.len() > end.len())
}

/// Reads a list of events: FIF, packed or not, or text. Changes to 0 are ends of events and left out.
pub fn read_event_list(path: &Path) -> Result<Vec<ListedEvent>> {
    let place = Place::from(path);
    let text = path
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("eve") || end.eq_ignore_ascii_case("lst"));
    let mut events = match text {
        true => lines(&read_filled_text(path)?, &place)?,
        false => tagged(&gzip::unpacked(Bytes::open_filled(path)?, &place)?, &place)?,
    };
    events.retain(|event| event.value != 0);
    Ok(events)
}

fn tagged(bytes: &[u8], place: &Place) -> Result<Vec<ListedEvent>> {
    let mut block = vec![];
    for tag in Tags::of(bytes, place)? {
        let tag: Tag<'_> = tag?;
        match tag.kind {
            104 => block.push(tag.int()?),
            105 => {
                block.pop();
            }
            EVENT_LIST if block.last() == Some(&EVENT_BLOCK) => {
                let numbers = tag.ints()?;
                let (events, []) = numbers.as_chunks::<3>() else {
                    let message = format!("{} numbers are no events of three each", numbers.len());
                    return Err(tag.error(message).with_hint(DAMAGED));
                };
                let event = |[sample, _, value]: &[i32; 3]| ListedEvent {
                    sample: (*sample).into(),
                    value: (*value).into(),
                };
                return Ok(events.iter().map(event).collect());
            }
            _ => {}
        }
    }
    Err(Error::format(place, "holds no list of events").with_hint("save one with `mne.write_events`"))
}

/// Sample, value before and value; an older form has seconds behind the sample.
fn lines(text: &str, place: &Place) -> Result<Vec<ListedEvent>> {
    let mut events = vec![];
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let numbers: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some([]) => {}
            Some([sample, _, value] | [sample, _, _, value]) => {
                events.push(ListedEvent { sample: *sample as i64, value: *value as i64 });
            }
            _ => {
                let message = format!("line {} is no event: sample, value before, value", at + 1);
                return Err(Error::format(place, message).with_hint("save the list with `mne.write_events`"));
            }
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as MNE writes it: an identity, the block, the list as a matrix.
    fn list(numbers: &[i32], of: i32) -> Vec<u8> {
        let mut bytes = vec![];
        let mut tag = |kind: i32, of: i32, data: Vec<u8>| {
            bytes.extend([kind, of, data.len() as i32, 0].map(i32::to_be_bytes).concat());
            bytes.extend(data);
        };
        let be =
            |numbers: &[i32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
        tag(100, 31, vec![0; 20]);
        tag(101, 3, be(&[-1]));
        tag(104, 3, be(&[EVENT_BLOCK]));
        let sizes = if of == 3 { vec![] } else { vec![3, numbers.len() as i32 / 3, 2] };
        tag(EVENT_LIST, of, be(&[numbers, &sizes].concat()));
        tag(105, 3, be(&[EVENT_BLOCK]));
        bytes
    }

    #[test]
    fn lists_of_fif_and_text_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let numbers = [1100, 0, 1, 1150, 1, 0, 1300, 0, 2];
        let expected = [ListedEvent { sample: 1100, value: 1 }, ListedEvent { sample: 1300, value: 2 }];
        for (name, bytes) in [
            ("a-eve.fif", list(&numbers, 0x4000_0000 | 3)),
            ("b-eve.fif", list(&numbers, 3)),
            ("c.eve", b"# by hand\n1100 0 1\n1150 1 0\n\n 1300\t0\t2\n".to_vec()),
            ("d-eve.lst", b"1100 1.1 0 1\n1300 1.3 0 2\n".to_vec()),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert!(is_event_list(&path), "{name}");
            assert_eq!(read_event_list(&path).unwrap(), expected, "{name}");
        }
        assert!(!is_event_list(Path::new("a_raw.fif")) && !is_event_list(Path::new("-eve.fif")));
    }

    #[test]
    fn lists_that_are_none_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes, says) in [
            ("a-eve.fif", list(&[1, 2], 3), "2 numbers are no events"),
            ("b-eve.fif", list(&[], 3)[..56].to_vec(), "no list of events"),
            ("c-eve.fif", b"nonsense".to_vec(), "c-eve.fif"),
            ("d.eve", b"1 0 1\n1 2\n".to_vec(), "line 2 is no event"),
            ("e.eve", b"a b c\n".to_vec(), "line 1 is no event"),
            ("f-eve.fif", vec![], "is empty"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let error = read_event_list(&path).unwrap_err();
            assert!(error.to_string().contains(says), "{name}: {error}");
        }
    }
}

//! The `.evt` file beside a recording: objects of ANT's programs one after the other, each with the name of its class. Their times are
//! dates, which are held against that of the recording and forgotten.

use crate::cursor::Cursor;
use crate::error::{Place, Result};
use crate::limit::MOST;

/// A moment as the files have it: days since the end of 1899, and seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moment {
    pub(super) days: f64,
    pub(super) seconds: f64,
}

impl Moment {
    /// Seconds from another moment to this one.
    pub(super) fn since(self, other: Moment) -> f64 {
        (self.days - other.days) * 86400.0 + (self.seconds - other.seconds)
    }
}

/// What happened at a moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) at: Moment,
    pub(super) duration_s: f64,
    code: i32,
    condition: Option<String>,
    description: Option<String>,
    impedances: bool,
}

impl Event {
    /// Code, condition and description, as far as there are any, with strokes between them.
    pub(super) fn text(&self) -> String {
        if self.impedances && self.is(&self.description, "impedance") {
            return "impedance".into();
        }
        let mut text = self.code.to_string();
        for part in [&self.condition, &self.description].into_iter().flatten() {
            text += &format!("/{part}");
        }
        text
    }

    /// Whether the amplifier was taken off.
    pub(super) fn disconnects(&self) -> bool {
        self.is(&self.condition, "amplifier disconnected")
    }

    /// Whether it came back.
    pub(super) fn reconnects(&self) -> bool {
        self.is(&self.condition, "amplifier reconnected")
    }

    fn is(&self, text: &Option<String>, word: &str) -> bool {
        text.as_ref().is_some_and(|text| text.eq_ignore_ascii_case(word))
    }
}

/// All events, and whether the file could be read to its end. Of classes nobody knows the length of nothing behind can be read.
pub(super) fn read(bytes: &[u8], place: &Place) -> (Vec<Event>, bool) {
    let mut events = vec![];
    let whole = library(bytes, place, &mut events);
    (events, whole.unwrap_or(false))
}

fn library(bytes: &[u8], place: &Place, events: &mut Vec<Event>) -> Result<bool> {
    let mut reader = Reader { cursor: Cursor::new(bytes, place), version: 0 };
    reader.cursor.skip(12)?;
    reader.version = reader.i32()?;
    // Packed and locked files are others.
    if (reader.i32()?, reader.i32()?) != (0, 0)
        || reader.class()?.as_deref() != Some("class dcEventsLibrary_c")
    {
        return Ok(false);
    }
    reader.text()?;
    let count = reader.cursor.u32()? as usize;
    for _ in 0..count {
        if events.len() == MOST {
            return Ok(false);
        }
        let Some(class) = reader.class()? else { continue };
        let Some(mut event) = reader.event()? else { return Ok(false) };
        match &*class {
            "class dcEpochEvent_c" => {
                if reader.version < 33 {
                    reader.cursor.skip(4)?;
                }
            }
            "class dcEventMarker_c" => {
                reader.text()?;
                reader.text()?;
                event.description = reader.text()?;
                if reader.version >= 35 {
                    reader.cursor.skip(if reader.version >= 103 { 5 } else { 2 })?;
                }
            }
            "class dcArtefactEvent_c" => {
                reader.text()?;
                reader.text()?;
                if reader.version >= 174 {
                    event.description = reader.text()?;
                }
            }
            _ => return Ok(false),
        }
        events.push(event);
    }
    Ok(true)
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    version: i32,
}

impl Reader<'_> {
    fn i32(&mut self) -> Result<i32> {
        self.cursor.u32().map(|number| number as i32)
    }

    /// The name of a class; none where there is no object.
    fn class(&mut self) -> Result<Option<String>> {
        match self.i32()? {
            -1 => self.text(),
            _ => Ok(None),
        }
    }

    /// A text behind its length; none where it is empty.
    fn text(&mut self) -> Result<Option<String>> {
        let mut length = u64::from(self.cursor.u8()?);
        if length == 0xff {
            length = self.cursor.u16()?.into();
            if length == 0xffff {
                length = self.cursor.u32()?.into();
                if length == 0xffff_ffff {
                    length = self.cursor.u64()?;
                }
            }
        }
        let text = self.cursor.text(usize::try_from(length).unwrap_or(usize::MAX))?;
        Ok(Some(text).filter(|_| length > 0))
    }

    /// What all events have. None where it is written in a way nobody knows.
    fn event(&mut self) -> Result<Option<Event>> {
        self.cursor.skip(4 + 16)?; // numbers of its own
        self.class()?;
        self.text()?;
        if self.version >= 78 {
            self.text()?;
        }
        self.cursor.skip(4 + 4 + 1)?; // type, state, whether it is an original
        let duration_s = self.cursor.f64()?;
        self.cursor.skip(8)?;
        let at = Moment { days: self.cursor.f64()?, seconds: self.cursor.f64()? };
        let mut event =
            Event { at, duration_s, code: 0, condition: None, description: None, impedances: false };
        if (11..19).contains(&self.version) {
            return Ok(None);
        }
        if self.version >= 19 {
            let count = self.i32()?;
            for _ in 0..count {
                let name = self.text()?.unwrap_or_default();
                let Some(value) = self.value()? else { return Ok(None) };
                self.text()?; // its unit
                match (&*name, value) {
                    ("EventCode", Value::Number(code)) => event.code = code,
                    ("Condition", Value::Text(text)) => event.condition = Some(text),
                    ("Name:", Value::Text(text)) => event.description = Some(text),
                    ("Impedance", Value::List) => event.impedances = true,
                    _ => {}
                }
            }
        }
        Ok(Some(event))
    }

    /// A value of any kind; none of a kind nobody knows the length of.
    fn value(&mut self) -> Result<Option<Value>> {
        const ARRAY: u16 = 0x2000;
        const REFERENCE: u16 = 0x4000;
        Ok(Some(match self.cursor.u16()? {
            0 | 1 => Value::Other,
            2 => self.cursor.skip(2).map(|()| Value::Other)?,
            3 => Value::Number(self.i32()?),
            4 | 19 => self.cursor.skip(4).map(|()| Value::Other)?,
            5 => self.cursor.skip(8).map(|()| Value::Other)?,
            8 => {
                let length = self.cursor.u32()? as usize;
                let units: Vec<u16> = self
                    .cursor
                    .take(length)?
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&unit| u16::from_le_bytes(unit))
                    .collect();
                let text = String::from_utf16_lossy(&units);
                Value::Text(text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_string())
            }
            // A list of single precision, with one number in front of its length.
            kind if kind & (ARRAY | REFERENCE) != 0 => match self.cursor.u16()? {
                0 | 1 => Value::Other,
                4 => {
                    self.cursor.skip(4)?;
                    let count = self.cursor.u32()? as usize;
                    self.cursor.skip(count.saturating_mul(4))?;
                    Value::List
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }
}

/// A value of an event.
enum Value {
    Number(i32),
    Text(String),
    List,
    Other,
}

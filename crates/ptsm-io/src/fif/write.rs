//! Epochs for MNE: what `mne.read_epochs` reads, in one file of tags.

use std::io::{self, Write};
use std::path::Path;

use ptsm_signal::{Channel, Trial, Trials};

use super::tags::{F32, HEAD, I32, ID, MATRIX};
use crate::atomic::write_atomically;
use crate::error::{Error, Place, Result};

/// Numbers of blocks, as FIF has them.
mod block {
    pub(super) const MEASUREMENT: i32 = 100;
    pub(super) const INFO: i32 = 101;
    pub(super) const PROCESSED: i32 = 103;
    pub(super) const CHANNEL: i32 = 113;
    pub(super) const EVENTS: i32 = 361;
    pub(super) const EPOCHS: i32 = 373;
    pub(super) const METADATA: i32 = 3811;
}

/// Numbers of tags, likewise.
mod kind {
    pub(super) const FILE_ID: i32 = 100;
    pub(super) const DIRECTORY: i32 = 101;
    pub(super) const BLOCK_ID: i32 = 103;
    pub(super) const BLOCK_START: i32 = 104;
    pub(super) const BLOCK_END: i32 = 105;
    pub(super) const NOTHING: i32 = 108;
    pub(super) const CHANNELS: i32 = 200;
    pub(super) const RATE: i32 = 201;
    pub(super) const CHANNEL: i32 = 203;
    pub(super) const DESCRIPTION: i32 = 206;
    pub(super) const FIRST_SAMPLE: i32 = 208;
    pub(super) const LAST_SAMPLE: i32 = 209;
    pub(super) const CHANNEL_NAME: i32 = 258;
    pub(super) const EPOCHS: i32 = 302;
    pub(super) const EVENTS: i32 = 3561;
}

/// Types of texts and of descriptions of channels.
const TEXT: u32 = 10;
const CHANNEL_STRUCT: u32 = 30;
/// EEG: the kind of the channel and the type of its coil.
const EEG: i32 = 2;
const EEG_COIL: i32 = 1;
const VOLT: i32 = 107;
const NO_UNIT: i32 = -1;
/// The radius of the head on which MNE puts electrodes whose places nobody measured, in metres.
const RADIUS_M: f64 = 0.095;
/// Letters of a name in the description of a channel.
const NAME: usize = 15;
/// The most bytes of one tag, and with it of a file whose largest tag it is.
const MOST: u64 = i32::MAX as u64;

/// Writes trials as epochs that MNE reads, beside `path`, and renames it. `microvolts` says that the numbers are microvolts: MNE then has
/// volts. Others have no unit and stay as they are.
///
/// Classes are event ids from 1 on. Who, which session and run, the class and the cue's time are the epochs' metadata. MNE wants events at
/// different samples: epochs follow one another there.
pub fn write_epochs(path: &Path, trials: &Trials, microvolts: bool) -> Result<()> {
    let place = Place::from(path);
    let layout = trials.layout();
    let refuse = |message: String, hint: &str| Err(Error::format(&place, message).with_hint(hint));
    if let Some(class) = layout.classes.iter().find(|class| class.contains([';', '\0'])) {
        return refuse(
            format!("class `{class}` cannot be named in a FIF file, where `;` ends a name"),
            "call it something else, or write an `.npz` file",
        );
    }
    let each = layout.channels.len() as u64 * layout.samples as u64;
    let bytes = each.saturating_mul(4 * trials.len() as u64);
    let moments = (trials.len() as u64).saturating_mul(layout.samples as u64);
    if bytes.saturating_add(1024) > MOST || moments > MOST {
        return refuse(
            format!("{bytes} bytes of samples are too many for one FIF file, which holds {MOST}"),
            "write fewer subjects to each file, or an `.npz` file",
        );
    }
    write_atomically(path, |to| Tags { to }.file(trials, microvolts))
}

/// Writes tags one after the other.
struct Tags<'a> {
    to: &'a mut dyn Write,
}

impl Tags<'_> {
    fn file(&mut self, trials: &Trials, microvolts: bool) -> io::Result<()> {
        // Without the time and the machine, the same epochs give the same bytes.
        let identity = [0x0001_0003, 0, 0, 0, 0].map(i32::to_be_bytes);
        self.tag(kind::FILE_ID, ID, identity.as_flattened())?;
        self.int(kind::DIRECTORY, -1)?;
        self.block(block::MEASUREMENT, |tags| {
            tags.tag(kind::BLOCK_ID, ID, identity.as_flattened())?;
            tags.block(block::INFO, |tags| tags.info(trials, microvolts))?;
            tags.block(block::PROCESSED, |tags| tags.block(block::EPOCHS, |tags| tags.epochs(trials)))
        })?;
        self.head(kind::NOTHING, 0, 0, -1)
    }

    fn info(&mut self, trials: &Trials, microvolts: bool) -> io::Result<()> {
        let layout = trials.layout();
        self.int(kind::CHANNELS, layout.channels.len() as i32)?;
        self.tag(kind::RATE, F32, &(layout.rate_hz as f32).to_be_bytes())?;
        for (at, channel) in layout.channels.iter().enumerate() {
            self.tag(kind::CHANNEL, CHANNEL_STRUCT, &described(at, channel, microvolts))?;
        }
        // Names that are too long, or hold other letters, stand once more for themselves; then all of them do.
        let names = layout.channels.iter().enumerate();
        if names.into_iter().all(|(at, channel)| short(at, &channel.name) == channel.name) {
            return Ok(());
        }
        for channel in &layout.channels {
            self.block(block::CHANNEL, |tags| tags.text(kind::CHANNEL_NAME, &channel.name))?;
        }
        Ok(())
    }

    fn epochs(&mut self, trials: &Trials) -> io::Result<()> {
        let layout = trials.layout();
        let (n, samples) = (trials.len() as i32, layout.samples as i32);
        self.block(block::EVENTS, |tags| {
            let event = |(i, trial): (usize, &Trial)| [i as i32 * samples, 0, trial.label as i32 + 1];
            let events: Vec<[i32; 3]> = trials.info().iter().enumerate().map(event).collect();
            let sizes = [3, n, 2].map(i32::to_be_bytes);
            tags.head(kind::EVENTS, MATRIX | I32, 4 * (events.len() * 3 + 3), 0)?;
            events.as_flattened().iter().try_for_each(|number| tags.to.write_all(&number.to_be_bytes()))?;
            tags.to.write_all(sizes.as_flattened())?;
            let ids = layout.classes.iter().enumerate().map(|(i, class)| format!("{class}:{}", i + 1));
            tags.text(kind::DESCRIPTION, &ids.collect::<Vec<_>>().join(";"))
        })?;
        self.block(block::METADATA, |tags| tags.text(kind::DESCRIPTION, &metadata(trials)))?;
        let first = (layout.start_s * layout.rate_hz).round() as i32;
        self.int(kind::FIRST_SAMPLE, first)?;
        self.int(kind::LAST_SAMPLE, first + samples - 1)?;
        let values = trials.len() * layout.channels.len() * layout.samples;
        self.head(kind::EPOCHS, MATRIX | F32, 4 * (values + 4), 0)?;
        for trial in 0..trials.len() {
            trials.signal(trial).iter().try_for_each(|value| self.to.write_all(&value.to_be_bytes()))?;
        }
        let sizes = [samples, layout.channels.len() as i32, n, 3].map(i32::to_be_bytes);
        self.to.write_all(sizes.as_flattened())
    }

    /// What stands before the bytes of a tag. `next` is where the next tag is: 0 for behind this one, -1 for nowhere.
    fn head(&mut self, kind: i32, of: u32, size: usize, next: i32) -> io::Result<()> {
        let head: [[u8; 4]; HEAD / 4] = [kind, of as i32, size as i32, next].map(i32::to_be_bytes);
        self.to.write_all(head.as_flattened())
    }

    fn tag(&mut self, kind: i32, of: u32, bytes: &[u8]) -> io::Result<()> {
        self.head(kind, of, bytes.len(), 0)?;
        self.to.write_all(bytes)
    }

    fn int(&mut self, kind: i32, value: i32) -> io::Result<()> {
        self.tag(kind, I32, &value.to_be_bytes())
    }

    fn text(&mut self, kind: i32, text: &str) -> io::Result<()> {
        self.tag(kind, TEXT, &latin1(text))
    }

    fn block(&mut self, block: i32, fill: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.int(kind::BLOCK_START, block)?;
        fill(self)?;
        self.int(kind::BLOCK_END, block)
    }
}

/// The description of a channel: numbers of its own, kind, range, calibration, coil, place, unit, name.
fn described(at: usize, channel: &Channel, microvolts: bool) -> Vec<u8> {
    let mut bytes = vec![];
    let number = |at: usize| (at as i32 + 1).to_be_bytes();
    let (calibration, unit) = if microvolts { (1e-6f32, VOLT) } else { (1.0, NO_UNIT) };
    bytes.extend([number(at), number(at), EEG.to_be_bytes()].as_flattened());
    bytes.extend([1f32.to_be_bytes(), calibration.to_be_bytes(), EEG_COIL.to_be_bytes()].as_flattened());
    // A place that nobody knows is no number; then the place of the reference, and directions that EEG has none of.
    let place = channel.position.map_or([f64::NAN; 3], |p| [p.x, p.y, p.z].map(|x| x * RADIUS_M));
    let places = place.into_iter().chain([0.0; 9]).map(|x| (x as f32).to_be_bytes());
    places.for_each(|number| bytes.extend(number));
    bytes.extend([unit.to_be_bytes(), 0i32.to_be_bytes()].as_flattened());
    let mut name = short(at, &channel.name).into_bytes();
    name.resize(NAME + 1, 0);
    bytes.extend(name);
    bytes
}

/// A name as a description has room for it, unlike that of any other channel: MNE knows by it whose the long name is.
fn short(at: usize, name: &str) -> String {
    if name.len() <= NAME && name.is_ascii() {
        return name.to_string();
    }
    let number = format!("-{}", at + 1);
    let letters = name.chars().map(|c| if c.is_ascii() { c } else { '?' });
    letters.take(NAME - number.len()).collect::<String>() + &number
}

/// Latin-1; other letters as their numbers, `&#000945;`: six digits, or MNE takes the text as it is.
fn latin1(text: &str) -> Vec<u8> {
    let letter = |c: char| match u8::try_from(u32::from(c)) {
        Ok(byte) => vec![byte],
        Err(_) => format!("&#{:06};", u32::from(c)).into_bytes(),
    };
    text.chars().flat_map(letter).collect()
}

/// A row of a table for every trial, as pandas writes it in JSON.
fn metadata(trials: &Trials) -> String {
    let row = |trial: &Trial| {
        let label = trials.layout().classes.get(trial.label as usize).map_or("", String::as_str);
        format!(
            "{{\"subject\":{},\"session\":{},\"run\":{},\"label\":\"{}\",\"cue_s\":{:?}}}",
            trial.subject.0,
            trial.session,
            trial.run,
            escaped(label),
            trial.cue_s
        )
    };
    format!("[{}]", trials.info().iter().map(row).collect::<Vec<_>>().join(","))
}

/// A text inside of JSON, in ASCII letters alone.
fn escaped(text: &str) -> String {
    let mut units = [0; 2];
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => escaped.extend(['\\', letter]),
            ' '..='~' => escaped.push(letter),
            _ => letter.encode_utf16(&mut units).iter().for_each(|unit| escaped += &format!("\\u{unit:04x}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_in_letters_that_others_read() {
        assert_eq!(latin1("a\u{e9}\u{3b1}"), b"a\xe9&#000945;");
        assert_eq!(escaped("a\"b\\\u{e9}\u{1f600}\n"), "a\\\"b\\\\\\u00e9\\ud83d\\ude00\\u000a");
        assert_eq!(short(0, "15 letters: abc"), "15 letters: abc");
        assert_eq!(short(11, "a long name of a channel"), "a long name -12");
        assert_eq!(short(0, "\u{3b1}1"), "?1-1");
    }
}

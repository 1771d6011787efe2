//! The header: how many samples of how many channels, where they lie and what they mean.

use crate::cursor::{Cursor, DAMAGED};
use crate::error::{Error, Place, Result};
use crate::kind::kind_of;
use crate::recording_file::{SignalHeader, SignalKind};
use crate::records::{Lane, Scale, Value};

/// Bytes of the header of the file, and of that of a channel.
const SETUP: usize = 900;
const CHANNEL: usize = 75;

/// Where things are in the header.
const NEXT_FILE: usize = 12;
const CHANNELS: usize = 370;
const RATE: usize = 376;
const SAMPLES: usize = 864;
const EVENTS: usize = 886;
const BLOCK: usize = 894;

/// Behind the place the header calls the next file a byte is 1 where samples have 32 bits.
const WIDE: usize = 52;

/// What all channels share.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) rate_hz: f64,
    pub(super) channels: Vec<Channel>,
    /// The first byte of the first sample.
    pub(super) start: usize,
    /// How a sample is stored.
    pub(super) value: Value,
    /// Samples of one channel that lie together.
    pub(super) block: usize,
    /// How often all channels come with a block each.
    pub(super) records: usize,
    /// The first byte of the table of events.
    pub(super) events: Option<usize>,
}

/// One channel.
#[derive(Debug)]
pub(super) struct Channel {
    name: String,
    bad: bool,
    /// The stored number that is zero.
    baseline: f64,
    /// Microvolts of one stored number; none where the header says nothing that is possible.
    gain: Option<f64>,
}

impl Head {
    pub(super) fn read(bytes: &[u8], place: &Place, notes: &mut Vec<String>) -> Result<Head> {
        if !bytes.starts_with(b"Version 3") {
            return Err(Error::format(place, "does not begin as a recording of Neuroscan or of ANT does")
                .with_hint("other formats are called .cnt too; export the recording as EDF"));
        }
        let number = |at: usize| -> Result<u32> {
            let mut cursor = Cursor::new(bytes, place);
            cursor.seek(at)?;
            cursor.u32()
        };
        let count = (number(CHANNELS)? & 0xffff) as usize;
        let rate_hz = f64::from(number(RATE)? & 0xffff);
        let start = SETUP + CHANNEL * count;
        if count == 0 || bytes.len() <= start {
            let message =
                format!("{count} channels need a header of {start} bytes, the file has {}", bytes.len());
            return Err(Error::format(&place.at(CHANNELS as u64), message).with_hint(DAMAGED));
        }
        let channels = bytes[SETUP..start].chunks_exact(CHANNEL);
        let channels = channels.map(|bytes| Channel::read(bytes, place)).collect::<Result<Vec<_>>>()?;
        let sizes = Sizes {
            start,
            channels: count,
            samples: number(SAMPLES)? as usize,
            events: number(EVENTS)? as usize,
            next_file: number(NEXT_FILE)? as usize,
        };
        let (value, samples, events) = sizes.find(bytes, place, notes)?;
        let block = number(BLOCK)? as usize;
        let block = if block > 1 { block / value.width() } else { 1 };
        if block == 0 || block > samples {
            let message = format!("blocks of {block} samples do not fit {samples} samples");
            return Err(Error::format(&place.at(BLOCK as u64), message).with_hint(DAMAGED));
        }
        let records = samples / block;
        if !samples.is_multiple_of(block) {
            let rest = samples % block;
            notes.push(format!("the last {rest} samples are no whole block and are left out"));
        }
        Ok(Head { rate_hz, channels, start, value, block, records, events })
    }

    /// Samples of each channel.
    pub(super) fn length(&self) -> usize {
        self.records * self.block
    }

    /// Bytes of one sample of all channels.
    pub(super) fn frame(&self) -> usize {
        self.channels.len() * self.value.width()
    }

    /// Bytes of a block of all channels.
    pub(super) fn record_bytes(&self) -> usize {
        self.frame() * self.block
    }
}

/// What the header says about sizes. None of it can be relied on alone.
struct Sizes {
    start: usize,
    channels: usize,
    /// Samples of each channel; often 0 or wrong.
    samples: usize,
    /// The first byte behind the samples; wrong in files above 2 GB.
    events: usize,
    next_file: usize,
}

impl Sizes {
    /// How samples are stored, how many there are, and where the table of events is.
    fn find(
        &self,
        bytes: &[u8],
        place: &Place,
        notes: &mut Vec<String>,
    ) -> Result<(Value, usize, Option<usize>)> {
        let widths = [Value::I16, Value::I32];
        // Where samples of a kind end, if there are as many as the header says.
        let end = |value: &Value| {
            let frame = self.channels * value.width();
            self.samples.checked_mul(frame).and_then(|size| size.checked_add(self.start))
        };
        let inside = self.events > self.start && self.events <= bytes.len();
        if inside {
            let value = widths.into_iter().find(|value| end(value) == Some(self.events));
            let Some(value) = value.or_else(|| self.flagged(bytes)) else {
                let (samples, size) = (self.samples, self.events - self.start);
                let message = format!(
                    "{samples} samples of {} channels do not take {size} bytes: have they 16 or 32 bits?",
                    self.channels
                );
                return Err(Error::format(&place.at(SAMPLES as u64), message).with_hint(
                    "open it with the program that recorded it and save it again, or export it as EDF",
                ));
            };
            let frame = self.channels * value.width();
            let samples = (self.events - self.start) / frame;
            if samples != self.samples {
                notes.push(format!("the header says {} samples, the file holds {samples}", self.samples));
            }
            return Ok((value, samples, Some(self.events)));
        }
        // The table is elsewhere: behind as many samples as the header says, of one kind or of the other.
        let fits: Vec<Value> = widths
            .into_iter()
            .filter(|value| self.samples > 0 && end(value).is_some_and(|end| end <= bytes.len()))
            .collect();
        let table = |value: &Value| end(value).is_some_and(|end| super::events::is_table(bytes, end));
        let found =
            fits.iter().copied().find(table).or_else(|| self.flagged(bytes).filter(|v| fits.contains(v)));
        match (found, &fits[..]) {
            (Some(value), _) | (None, &[value]) => {
                let at = end(&value).filter(|&at| super::events::is_table(bytes, at));
                if at.is_none() {
                    notes.push("the table of events is not there: the recording has no events".into());
                }
                Ok((value, self.samples, at))
            }
            _ => {
                let message = format!(
                    "events at byte {} and {} samples are not those of a file of {} bytes",
                    self.events,
                    self.samples,
                    bytes.len()
                );
                Err(Error::format(&place.at(EVENTS as u64), message).with_hint(DAMAGED))
            }
        }
    }

    /// What the byte says that only newer programs write.
    fn flagged(&self, bytes: &[u8]) -> Option<Value> {
        let at = Some(self.next_file).filter(|&at| at > self.start)?.checked_add(WIDE)?;
        Some(if bytes.get(at)? == &1 { Value::I32 } else { Value::I16 })
    }
}

/// Names of electrodes at eyes that are known from nowhere else.
const EYES: [&str; 8] = ["VEO", "HEO", "VEOU", "VEOL", "HEOL", "HEOR", "VEO1", "HEO1"];

impl Channel {
    fn read(bytes: &[u8], place: &Place) -> Result<Channel> {
        let mut cursor = Cursor::new(bytes, place);
        let name = cursor.take(10)?;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = crate::cursor::latin1(name);
        cursor.seek(14)?;
        let bad = cursor.u8()? != 0;
        cursor.seek(47)?;
        let baseline = f64::from(cursor.u16()? as i16);
        cursor.seek(59)?;
        let sensitivity = f64::from(cursor.f32()?);
        cursor.seek(71)?;
        let calibration = f64::from(cursor.f32()?);
        // 2048 of a converter of 12 bits are ten volts.
        let gain = sensitivity * calibration / 204.8;
        let gain = Some(gain).filter(|gain| gain.is_normal());
        Ok(Channel { name, bad, baseline, gain })
    }

    fn kind(&self) -> SignalKind {
        if EYES.contains(&&*self.name.to_uppercase()) {
            return SignalKind::Eog;
        }
        match kind_of(&self.name, "uV") {
            // Numbers nobody knows the meaning of are no voltage of an electrode.
            SignalKind::Eeg if self.gain.is_none() => SignalKind::Other,
            kind => kind,
        }
    }

    /// Microvolts of one stored number. Triggers are no voltage.
    fn scale(&self) -> Option<f64> {
        self.gain.filter(|_| self.kind() != SignalKind::Stimulus)
    }

    pub(super) fn signal(&self, head: &Head) -> SignalHeader {
        let range = self.scale().map(|gain| {
            let limit = 2f64.powi(8 * head.value.width() as i32 - 1);
            let [a, b] = [-limit, limit - 1.0].map(|number| (number - self.baseline) * gain);
            [a.min(b), a.max(b)]
        });
        SignalHeader {
            kind: self.kind(),
            bad: self.bad,
            microvolts: self.scale().is_some(),
            unit: if self.scale().is_some() { "uV" } else { "" }.into(),
            range,
            ..SignalHeader::new(&*self.name, head.rate_hz, head.length())
        }
    }

    /// Where its samples lie, as one of all channels.
    pub(super) fn lane(&self, at: usize, head: &Head) -> Lane {
        let scale = match self.scale() {
            Some(gain) => Scale::around(self.baseline, gain),
            None => Scale::plain(1.0),
        };
        Lane { offset: at * head.block * head.value.width(), samples: head.block, value: head.value, scale }
    }
}

/// Says which channels have no scale.
pub(super) fn tell_scales(channels: &[Channel], notes: &mut Vec<String>) {
    let without: Vec<&str> =
        channels.iter().filter(|channel| channel.gain.is_none()).map(|channel| &*channel.name).collect();
    if let Some(first) = without.first() {
        let more = if without.len() > 1 { format!(" and {} more", without.len() - 1) } else { String::new() };
        notes.push(format!("the header gives no scale for `{first}`{more}: samples are the stored numbers"));
    }
}

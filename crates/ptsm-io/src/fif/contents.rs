//! What a file holds, gathered in one walk over its tags. Samples are not looked at; blocks and tags about people are passed over.

use std::collections::HashSet;
use std::fmt;

use super::channel::Channel;
use super::tags::{HEAD, Tag, Tags};
use crate::cursor::DAMAGED;
use crate::error::{Error, Place, Result};

/// The block of events, and the list of them in it.
pub(super) const EVENT_BLOCK: i32 = 361;
pub(super) const EVENT_LIST: i32 = 3561;

/// Blocks, by the numbers FIF gives them.
mod block {
    pub(super) const INFO: i32 = 101;
    pub(super) const RAW: i32 = 102;
    pub(super) const CONTINUOUS: i32 = 112;
    pub(super) const CHANNEL: i32 = 113;
    pub(super) const REFERENCE: i32 = 118;
    pub(super) const SHIELDED: i32 = 119;
    pub(super) const OLD_EPOCHS: i32 = 122;
    pub(super) const BAD: i32 = 359;
    pub(super) const EVENTS: i32 = super::EVENT_BLOCK;
    pub(super) const EPOCHS: i32 = 373;
    pub(super) const ANNOTATIONS: i32 = 3810;
}

/// Tags, likewise.
mod kind {
    pub(super) const BLOCK_START: i32 = 104;
    pub(super) const BLOCK_END: i32 = 105;
    pub(super) const REFERENCE_ROLE: i32 = 115;
    pub(super) const REFERENCE_NUMBER: i32 = 117;
    pub(super) const REFERENCE_NAME: i32 = 118;
    pub(super) const CHANNELS: i32 = 200;
    pub(super) const RATE: i32 = 201;
    pub(super) const CHANNEL: i32 = 203;
    pub(super) const DATE: i32 = 204;
    pub(super) const DESCRIPTION: i32 = 206;
    pub(super) const FIRST_SAMPLE: i32 = 208;
    pub(super) const LAST_SAMPLE: i32 = 209;
    pub(super) const CHANNEL_NAME: i32 = 258;
    pub(super) const BUFFER: i32 = 300;
    pub(super) const SKIP: i32 = 301;
    pub(super) const EPOCHS: i32 = 302;
    pub(super) const SKIP_SAMPLES: i32 = 303;
    pub(super) const NAMES: i32 = 3507;
    pub(super) const EVENTS: i32 = super::EVENT_LIST;
    pub(super) const START: i32 = 3568;
    pub(super) const END: i32 = 3569;
    pub(super) const RAW_RATE: i32 = 3803;
}

/// Blocks lie in one another, real ones no deeper than this.
const DEEPEST: usize = 64;

/// Where samples are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    /// The type of the numbers.
    pub(super) of: u32,
    /// The first byte of them.
    pub(super) at: usize,
    pub(super) size: usize,
}

/// A part of a raw recording.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Samples(Data),
    /// What follows begins at this sample.
    Begin(i32),
    /// A gap as long as so many of the parts behind it.
    SkipParts(usize),
    /// A gap of so many samples.
    SkipSamples(usize),
}

/// What people or programs wrote about moments.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    pub(super) starts_s: Vec<f64>,
    pub(super) ends_s: Vec<f64>,
    pub(super) texts: Vec<String>,
    /// The date their seconds count from, to compare it with that of the recording.
    pub(super) date_s: Option<f64>,
}

/// Everything in a file that matters here.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) channels: Vec<Channel>,
    /// Names that are longer than a channel's description has room for, in the same order; may be empty.
    pub(super) names: Vec<Option<String>>,
    pub(super) rate_hz: f64,
    /// The date of the recording, to compare it with that of annotations. It is not kept.
    pub(super) date_s: Option<f64>,
    pub(super) bad: HashSet<String>,
    pub(super) annotations: Annotations,
    pub(super) raw: Vec<Part>,
    /// Whether the raw data come from a recording with internal active shielding.
    pub(super) shielded: bool,
    pub(super) epochs: Option<Data>,
    /// First and last sample: of raw data since the device was started, of trials after the cue.
    pub(super) first: Option<i32>,
    pub(super) last: Option<i32>,
    /// Sample, value before, value: three numbers for each trial.
    pub(super) events: Vec<i32>,
    /// Names of values, `left:1;right:2`.
    pub(super) values: String,
    /// The rate that events count in.
    pub(super) raw_rate_hz: Option<f64>,
    /// Whether the file ends as it should.
    pub(super) closed: bool,
    /// The file that goes on where this one ends.
    pub(super) next: Option<Reference>,
    /// The file that this one goes on from.
    pub(super) previous: Option<Reference>,
}

impl Contents {
    pub(super) fn read(bytes: &[u8], place: &Place) -> Result<Contents> {
        let mut contents = Contents::default();
        let mut count = None;
        let mut open: Vec<i32> = vec![];
        let mut reference = Reference::default();
        let mut tags = Tags::of(bytes, place)?;
        for tag in tags.by_ref() {
            let tag = tag?;
            match (tag.kind, open.last().copied().unwrap_or_default()) {
                (kind::BLOCK_START, _) => {
                    if open.len() == DEEPEST {
                        return Err(tag.error(format!("more than {DEEPEST} blocks lie in one another")));
                    }
                    open.push(tag.int()?);
                    match open.last() {
                        Some(&block::CHANNEL) => contents.names.push(None),
                        Some(&block::REFERENCE) => reference = Reference::default(),
                        Some(&block::SHIELDED) => contents.shielded = true,
                        _ => {}
                    }
                }
                (kind::BLOCK_END, block) => {
                    if block == block::REFERENCE {
                        contents.refer(std::mem::take(&mut reference));
                    }
                    open.pop();
                }
                (kind::CHANNELS, block::INFO) => count = Some((tag.count()?, tag)),
                (_, block) => contents.take(&tag, block, place, &mut reference)?,
            }
        }
        contents.closed = tags.closed && open.is_empty();
        match count {
            Some((count, tag)) if count != contents.channels.len() => {
                let described = contents.channels.len();
                let message = format!("says {count} channels, the file describes {described}");
                Err(tag.error(message).with_hint(DAMAGED))
            }
            _ if contents.channels.is_empty() => Err(Error::format(place, "describes no channel")
                .with_hint("only recordings (`raw.save`) and trials (`epochs.save`) are read")),
            _ => Ok(contents),
        }
    }

    /// Takes a reference to another file; of several to the next one the first counts. Other roles mean other recordings.
    fn refer(&mut self, reference: Reference) {
        let to = match reference.role {
            1 => &mut self.previous,
            2 => &mut self.next,
            _ => return,
        };
        to.get_or_insert(reference);
    }

    /// Takes a tag that is not about blocks.
    fn take(&mut self, tag: &Tag, block: i32, place: &Place, reference: &mut Reference) -> Result<()> {
        let data = Data { of: tag.of, at: tag.at + HEAD, size: tag.data.len() };
        match block {
            block::INFO => match tag.kind {
                kind::RATE => self.rate_hz = tag.number()?,
                kind::CHANNEL => self.channels.push(Channel::read(tag, place)?),
                kind::DATE => self.date_s = date(tag)?,
                _ => {}
            },
            block::CHANNEL if tag.kind == kind::CHANNEL_NAME => {
                if let Some(name) = self.names.last_mut() {
                    *name = Some(tag.text());
                }
            }
            block::BAD if tag.kind == kind::NAMES => self.bad = tag.list()?.into_iter().collect(),
            block::REFERENCE => match tag.kind {
                kind::REFERENCE_ROLE => reference.role = tag.int()?,
                kind::REFERENCE_NAME => {
                    let text = tag.text();
                    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
                    reference.name = Some(last.to_string()).filter(|name| !name.is_empty());
                }
                kind::REFERENCE_NUMBER => reference.number = Some(tag.int()?),
                _ => {}
            },
            block::ANNOTATIONS => match tag.kind {
                kind::START => self.annotations.starts_s = tag.numbers()?,
                kind::END => self.annotations.ends_s = tag.numbers()?,
                kind::DESCRIPTION => self.annotations.texts = tag.list()?,
                kind::DATE => self.annotations.date_s = date(tag)?,
                _ => {}
            },
            block::EVENTS => match tag.kind {
                kind::EVENTS => self.events = tag.ints()?,
                kind::DESCRIPTION => self.values = tag.text(),
                _ => {}
            },
            block::RAW | block::CONTINUOUS | block::SHIELDED => match tag.kind {
                kind::FIRST_SAMPLE => self.first = Some(tag.int()?),
                kind::BUFFER => self.raw.push(Part::Samples(data)),
                kind::SKIP => self.raw.push(Part::SkipParts(tag.count()?)),
                kind::SKIP_SAMPLES => self.raw.push(Part::SkipSamples(tag.count()?)),
                _ => {}
            },
            block::EPOCHS | block::OLD_EPOCHS => match tag.kind {
                kind::FIRST_SAMPLE => self.first = Some(tag.int()?),
                kind::LAST_SAMPLE => self.last = Some(tag.int()?),
                kind::EPOCHS => self.epochs = Some(data),
                kind::RAW_RATE => self.raw_rate_hz = Some(tag.number()?),
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}

/// Seconds, or seconds and microseconds; none where they are those that stand for no date.
fn date(tag: &Tag) -> Result<Option<f64>> {
    const NONE: f64 = i32::MIN as f64;
    Ok(match tag.numbers()?[..] {
        [seconds] => Some(seconds),
        [0.0, NONE] => None,
        [seconds, microseconds] => Some(seconds + 1e-6 * microseconds),
        _ => None,
    })
}

/// Another file that belongs to this one. Recordings above 2 GB are split.
#[derive(Debug, Default)]
pub(super) struct Reference {
    role: i32,
    /// Without the folder it was written to.
    pub(super) name: Option<String>,
    /// Counted from 0, which is the first file.
    pub(super) number: Option<i32>,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.number) {
            (Some(name), _) => write!(f, "`{name}`"),
            (None, Some(number)) => write!(f, "number {number}"),
            (None, None) => f.write_str("not named"),
        }
    }
}

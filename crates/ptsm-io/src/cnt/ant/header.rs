//! The header, a text: names in brackets, each followed by a line, or by one for each channel.

use crate::cursor::{DAMAGED, latin1};
use crate::error::{Error, Place, Result};
use crate::kind::kind_of;
use crate::recording_file::{SignalHeader, SignalKind};
use crate::unit::voltage;

/// What the header says.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) rate_hz: f64,
    /// Of each channel.
    pub(super) samples: u64,
    pub(super) channels: Vec<Channel>,
}

/// One channel.
#[derive(Debug)]
pub(super) struct Channel {
    name: String,
    unit: String,
    /// One stored number in that unit; none where the header says nothing that is possible.
    scale: Option<f64>,
    kind: SignalKind,
    bad: bool,
}

impl Head {
    pub(super) fn read(bytes: &[u8], place: &Place) -> Result<Head> {
        // What was done to the file may stand behind, with names of people.
        let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
        let mut lines = text.lines().map(str::trim);
        let refuse = |message: String| Err(Error::format(place, message).with_hint(DAMAGED));
        let (mut rate_hz, mut samples, mut count, mut channels) = (None, None, None, vec![]);
        while let Some(line) = lines.next() {
            match line {
                "[Sampling Rate]" => rate_hz = lines.next().and_then(|line| line.parse::<f64>().ok()),
                "[Samples]" => samples = lines.next().and_then(|line| line.parse().ok()),
                "[Channels]" => count = lines.next().and_then(|line| line.parse::<usize>().ok()),
                "[Basic Channel Data]" => {
                    let described = lines.by_ref().filter(|line| !line.starts_with(';'));
                    for line in described.take(count.unwrap_or(0)) {
                        match Channel::read(line) {
                            Some(channel) => channels.push(channel),
                            None => return refuse(format!("`{line}` describes no channel")),
                        }
                    }
                }
                "[History]" => break,
                _ => {}
            }
        }
        let Some(rate_hz) = rate_hz.filter(|rate| rate.is_finite() && *rate > 0.0) else {
            return refuse("the header does not say how many samples a second has".into());
        };
        let (Some(samples), Some(count)) = (samples, count) else {
            return refuse("the header does not say how many samples and channels there are".into());
        };
        if count == 0 || channels.len() != count {
            return refuse(format!("the header says {count} channels and describes {}", channels.len()));
        }
        Ok(Head { rate_hz, samples, channels })
    }
}

impl Channel {
    /// `name scale scale unit`, and what is known besides: `REF:`, `STAT:`, `TYPE:`.
    fn read(line: &str) -> Option<Channel> {
        let mut words = line.split_whitespace();
        let (name, inner, outer, unit) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let scale = inner.parse::<f64>().ok()? * outer.parse::<f64>().ok()?;
        let said = |key: &str| words.clone().find_map(|word| word.strip_prefix(key));
        let kind = match said("TYPE:").unwrap_or_default().to_uppercase().as_str() {
            "EOG" => SignalKind::Eog,
            "EMG" => SignalKind::Emg,
            "ECG" | "EKG" => SignalKind::Ecg,
            _ => kind_of(name, unit),
        };
        let bad = said("STAT:").is_some_and(|status| status.eq_ignore_ascii_case("BAD"));
        // Letters beyond ASCII may be of one byte or of two.
        let bytes: Vec<u8> = name.chars().map(|letter| letter as u32 as u8).collect();
        let name = String::from_utf8(bytes).unwrap_or_else(|error| latin1(error.as_bytes()));
        let scale = Some(scale).filter(|scale| scale.is_normal());
        Some(Channel { name, unit: unit.to_string(), scale, kind, bad })
    }

    /// Whether numbers become microvolts, and what they are multiplied by.
    pub(super) fn gain(&self) -> (bool, f64) {
        match (self.scale, voltage(&self.unit)) {
            (Some(scale), Some((_, factor))) if self.kind != SignalKind::Stimulus => (true, scale * factor),
            (scale, _) => (false, scale.unwrap_or(1.0)),
        }
    }

    pub(super) fn signal(&self, head: &Head) -> SignalHeader {
        let (microvolts, _) = self.gain();
        SignalHeader {
            // Numbers nobody knows the meaning of are no voltage of an electrode.
            kind: if self.kind == SignalKind::Eeg && !microvolts { SignalKind::Other } else { self.kind },
            unit: voltage(&self.unit).map_or(&*self.unit, |(name, _)| name).to_string(),
            microvolts,
            bad: self.bad,
            ..SignalHeader::new(&*self.name, head.rate_hz, 0)
        }
    }
}

/// Says which channels have no scale.
pub(super) fn tell_scales(channels: &[Channel], notes: &mut Vec<String>) {
    let without: Vec<&str> =
        channels.iter().filter(|channel| channel.scale.is_none()).map(|channel| &*channel.name).collect();
    if let Some(first) = without.first() {
        let more = if without.len() > 1 { format!(" and {} more", without.len() - 1) } else { String::new() };
        notes.push(format!("the header gives no scale for `{first}`{more}: samples are the stored numbers"));
    }
}

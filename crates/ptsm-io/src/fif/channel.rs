//! One channel's description: what it is, its unit, its place.

use ptsm_signal::Position;

use super::tags::Tag;
use crate::cursor::{Cursor, latin1};
use crate::error::{Place, Result};
use crate::kind::stated;
use crate::recording_file::{SignalHeader, SignalKind};

/// The bytes of a description.
const SIZE: usize = 96;

/// The unit volt.
const VOLT: i32 = 107;

/// A channel, as the file describes it.
#[derive(Debug)]
pub(super) struct Channel {
    /// Of 15 letters at most; a longer one may come from elsewhere.
    pub(super) name: String,
    kind: i32,
    /// What stored numbers are multiplied by to get the unit: `range` times `cal`.
    scale: f64,
    position: Option<Position>,
    unit: i32,
    /// The power of ten the unit is multiplied by: -6 for micro.
    power: i32,
}

impl Channel {
    pub(super) fn read(tag: &Tag, place: &Place) -> Result<Channel> {
        if tag.data.len() != SIZE {
            return Err(
                tag.error(format!("a channel is described in {SIZE} bytes, not in {}", tag.data.len()))
            );
        }
        let mut cursor = Cursor::new(tag.data, place);
        cursor.skip(8)?; // numbers of its own
        let kind = cursor.i32_be()?;
        let scale = f64::from(cursor.f32_be()?) * f64::from(cursor.f32_be()?);
        cursor.skip(4)?; // the type of the coil
        let mut place = || cursor.f32_be().map(f64::from);
        let position = position(place()?, place()?, place()?);
        cursor.skip(36)?; // the place of the reference, and directions
        let (unit, power) = (cursor.i32_be()?, cursor.i32_be()?);
        let name = cursor.take(16)?;
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = str::from_utf8(name).map_or_else(|_| latin1(name), |name| name.trim().to_string());
        if !(scale.is_finite() && scale != 0.0) {
            return Err(tag.error(format!("channel `{name}` has the impossible scale {scale}")));
        }
        if !(-18..=18).contains(&power) {
            return Err(tag.error(format!("channel `{name}` has a unit of 10 to the power {power}")));
        }
        Ok(Channel { name, kind, scale, position, unit, power })
    }

    /// The signal, its samples not counted, and what stored numbers are multiplied by to get it.
    pub(super) fn signal(&self, name: &str, rate_hz: f64) -> (SignalHeader, f64) {
        let mut signal = SignalHeader::new(name, rate_hz, 0);
        signal.kind = match self.kind {
            2 => stated(SignalKind::Eeg, name),
            3 => SignalKind::Stimulus,
            202 => SignalKind::Eog,
            302 => SignalKind::Emg,
            402 => SignalKind::Ecg,
            _ => SignalKind::Other,
        };
        // Triggers are numbers; that their unit is the volt means nothing.
        signal.microvolts = self.unit == VOLT && signal.kind != SignalKind::Stimulus;
        signal.unit = if signal.kind == SignalKind::Stimulus { String::new() } else { self.unit() };
        signal.position = self.position.filter(|_| signal.kind == SignalKind::Eeg);
        let gain = match signal.kind {
            SignalKind::Stimulus => self.scale,
            _ if signal.microvolts => self.scale * 10f64.powi(self.power + 6),
            // The unit that is told has no prefix.
            _ => self.scale * 10f64.powi(self.power),
        };
        (signal, gain)
    }

    /// The unit's name; voltages with the prefix the file counts in.
    fn unit(&self) -> String {
        match (self.unit, self.power) {
            (VOLT, -9) => "nV",
            (VOLT, -6) => "uV",
            (VOLT, -3) => "mV",
            (VOLT, _) => "V",
            (101, _) => "Hz",
            (110, _) => "S",
            (112, _) => "T",
            (114, _) => "C",
            (117, _) => "V/m2",
            (201, _) => "T/m",
            _ => "",
        }
        .into()
    }
}

/// The direction of a place in metres. The axes are those of this program: right, front, up.
fn position(x: f64, y: f64, z: f64) -> Option<Position> {
    let radius = (x * x + y * y + z * z).sqrt();
    // Places nobody knows are zero or no numbers.
    (radius.is_finite() && radius > 1e-6).then(|| Position { x: x / radius, y: y / radius, z: z / radius })
}

//! One signal of a recording: what the header says of it, and how that is corrected.

use ptsm_signal::{Channel, Position, Unit, normalise};

use crate::kind::SignalKind;
use crate::unit::voltage;

/// One signal, as the header describes it, or as somebody who knows better does.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalHeader {
    /// The name in the file, without blanks around it (`C3..`, `EEG Cz`), or the name it was given since.
    pub name: String,
    /// What it is of.
    pub kind: SignalKind,
    /// What the file counts in: `uV`, `mV`, `Ohm`; empty where it says nothing.
    pub unit: String,
    /// Whether samples come as microvolts. Otherwise they are in the file's own unit.
    pub microvolts: bool,
    /// Samples per second.
    pub rate_hz: f64,
    /// How many there are.
    pub samples: usize,
    /// Where the file says it is, on the unit sphere.
    pub position: Option<Position>,
    /// The smallest and largest value the file can hold, in the unit samples come in: signals that stay there are clipped.
    pub range: Option<[f64; 2]>,
    /// Whether the file marks it as bad.
    pub bad: bool,
    /// What samples are multiplied by, where the file's unit was corrected; 1 otherwise.
    pub factor: f32,
    /// Whether somebody beside the file says what it counts in.
    pub unit_given: bool,
}

impl SignalHeader {
    /// A signal of the scalp in microvolts.
    pub fn new(name: impl Into<String>, rate_hz: f64, samples: usize) -> SignalHeader {
        SignalHeader {
            name: name.into(),
            kind: SignalKind::Eeg,
            unit: "uV".into(),
            microvolts: true,
            rate_hz,
            samples,
            position: None,
            range: None,
            bad: false,
            factor: 1.0,
            unit_given: false,
        }
    }

    /// A signal nobody says anything of but its name: EEG, unless the name is of something else.
    pub fn named(name: impl Into<String>, rate_hz: f64, samples: usize) -> SignalHeader {
        let signal = SignalHeader::new(name, rate_hz, samples);
        let kind = SignalKind::of_name(&signal.name).unwrap_or_default();
        SignalHeader { kind, unit: String::new(), microvolts: false, ..signal }
    }

    /// Whether it is called so, in any spelling.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name.trim() || normalise(&self.name) == normalise(name)
    }

    /// Whether anybody says what it is counted in.
    pub fn unit_is_stated(&self) -> bool {
        self.unit_given || !self.unit.is_empty()
    }

    /// Gives it another name. A name that tells what a signal is of, as `Cz` and `TRIGGER` do, goes over the file's word.
    pub fn rename(&mut self, name: &str) {
        self.name = name.to_string();
        if let Some(kind) = SignalKind::of_name(name) {
            self.set_kind(kind);
        }
    }

    /// Says what it is of, whatever the file says.
    pub fn set_kind(&mut self, kind: SignalKind) {
        // Triggers come as the numbers of the file.
        if self.kind == SignalKind::Stimulus && kind != SignalKind::Stimulus {
            self.set_unit(&self.unit.clone());
        }
        self.kind = kind;
    }

    /// Takes the numbers in the file to be of this voltage, whatever the file says. What is no voltage changes nothing.
    pub fn set_unit(&mut self, unit: &str) {
        let microvolts = |unit: &str| voltage(unit).map(|(_, microvolts)| microvolts);
        let Some(target) = microvolts(unit) else { return };
        let read = if self.microvolts { microvolts(&self.unit).unwrap_or(1.0) } else { 1.0 };
        self.factor = (target / read) as f32;
        (self.microvolts, self.unit_given) = (true, true);
    }

    /// It as a channel of a recording.
    pub fn channel(&self) -> Channel {
        let named = Channel::named(&self.name);
        let unit = if self.microvolts { Unit::Microvolts } else { Unit::Arbitrary };
        // The table's places are of the same sphere for every file; a file's own are for names the table does not know.
        let position = named.position.or(self.position).filter(|_| self.kind == SignalKind::Eeg);
        Channel { unit, position, ..named }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> SignalHeader {
        SignalHeader::named(name, 1.0, 0)
    }

    #[test]
    fn names_that_are_given_tell_what_a_signal_is_of() {
        let mut signal = SignalHeader { unit: "mV".into(), ..named("Label 1") };
        assert_eq!(signal.kind, SignalKind::Stimulus);
        signal.rename("E7");
        assert_eq!((signal.kind, signal.factor), (SignalKind::Stimulus, 1.0));
        signal.rename("C3");
        assert_eq!((signal.kind, signal.factor, signal.microvolts), (SignalKind::Eeg, 1e3, true));
        signal.rename("TRIGGER");
        assert_eq!(signal.kind, SignalKind::Stimulus);
        let mut signal = SignalHeader { kind: SignalKind::Other, ..named("ch1") };
        signal.rename("EEG 1");
        assert_eq!(signal.kind, SignalKind::Eeg);
    }

    #[test]
    fn units_that_lie_are_corrected() {
        let mut signal = named("C3");
        assert!(!signal.unit_is_stated());
        signal.set_unit("Ohm");
        assert!(!signal.unit_is_stated() && !signal.microvolts);
        signal.set_unit("mV");
        assert!(signal.unit_is_stated());
        assert_eq!((signal.factor, signal.microvolts), (1e3, true));
        // The file says millivolts, so samples came as microvolts, but the numbers were volts.
        let mut signal = SignalHeader { unit: "mV".into(), microvolts: true, ..named("C3") };
        signal.set_unit("V");
        assert_eq!(signal.factor, 1e3);
    }
}

//! What the header says of each signal: name, unit, resolution, place on the head.

use std::collections::BTreeMap;

use ptsm_signal::Position;

use super::header::SampleEncoding;
use super::text::{Entries, Entry, unescape};
use crate::error::{Place, Result};
use crate::kind::kind_of;
use crate::recording_file::SignalHeader;
use crate::unit::voltage;

/// A signal and what its numbers are multiplied by.
#[derive(Debug)]
pub(super) struct ScaledSignal {
    pub(super) signal: SignalHeader,
    pub(super) gain: f64,
}

/// All signals, without the number of their samples. `count` is the entry that says how many there are.
pub(super) fn read(
    place: &Place,
    entries: &Entries,
    count: Entry,
    written: &SampleEncoding,
    rate_hz: f64,
    notes: &mut Vec<String>,
) -> Result<Vec<ScaledSignal>> {
    let channels = count.count(place)?;
    if channels == 0 {
        return Err(count.error(place, "a recording has at least one channel"));
    }
    let infos = numbered(entries, "Channel Infos");
    let coordinates = numbered(entries, "Coordinates");
    // What is not described is not believed to be there, however many are claimed.
    if let Some(absent) = (1..=channels).find(|number| !infos.contains_key(number)) {
        let message = format!("says {channels} channels, but [Channel Infos] has no line `Ch{absent}=`");
        return Err(count.error(place, message).with_hint("the header is incomplete; add the line"));
    }
    if infos.len() > channels {
        let more = infos.len() - channels;
        notes
            .push(format!("the header describes {more} more channels than the {channels} it says there are"));
    }
    let mut signals = Vec::with_capacity(channels);
    for (number, info) in infos.range(..=channels) {
        let mut scaled = scaled(place, info, written, rate_hz)?;
        scaled.signal.position = coordinates.get(number).and_then(|entry| position(entry.value));
        signals.push(scaled);
    }
    Ok(signals)
}

/// The entries `Ch1=`, `Ch2=` … of a section by their numbers.
fn numbered<'a>(entries: &Entries<'a>, section: &str) -> BTreeMap<usize, Entry<'a>> {
    let number = |entry: Entry<'a>| {
        let (start, digits) = entry.key.split_at_checked(2)?;
        let number: usize = digits.parse().ok()?;
        (start.eq_ignore_ascii_case("Ch") && number > 0).then_some((number, entry))
    };
    entries.section(section).filter_map(number).collect()
}

/// `name,reference,resolution,unit`.
fn scaled(place: &Place, info: &Entry, written: &SampleEncoding, rate_hz: f64) -> Result<ScaledSignal> {
    let mut fields = info.value.split(',');
    let mut next = || fields.next().unwrap_or_default().trim();
    let (name, _reference, resolution, unit) = (next(), next(), next(), next());
    let resolution: f64 = match resolution {
        "" => 1.0,
        text => text.parse().ok().filter(|r: &f64| r.is_finite() && *r != 0.0).ok_or_else(|| {
            info.error(place, format!("the resolution `{text}` is no number other than zero"))
        })?,
    };
    // Without a unit it is microvolts.
    let (unit, factor) = match voltage(if unit.is_empty() { "uV" } else { unit }) {
        Some((unit, factor)) => (unit, Some(factor)),
        None => (unit, None),
    };
    let mut signal = SignalHeader::new(unescape(name), rate_hz, 0);
    signal.kind = kind_of(&signal.name, unit);
    signal.unit = unit.to_string();
    signal.microvolts = factor.is_some();
    let gain = resolution * factor.unwrap_or(1.0);
    if let SampleEncoding::Binary(encoding) = written {
        signal.range = encoding.range(gain);
    }
    Ok(ScaledSignal { signal, gain })
}

/// `radius,theta,phi`: degrees from the top and from the right ear. Radius 0 is a place nobody knows; others are in millimetres
/// or 1, and only the direction counts.
fn position(text: &str) -> Option<Position> {
    let mut fields = text.split(',').map(|field| field.trim().parse::<f64>().ok().filter(|v| v.is_finite()));
    let (radius, theta, phi) = (fields.next()??, fields.next()??, fields.next()??);
    let (theta, phi) = (theta.to_radians(), phi.to_radians());
    let (x, y, z) = (theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos());
    (radius > 0.0).then_some(Position { x, y, z })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording_file::SignalKind;
    use crate::stored::{Encoding, Number};

    const INT_16: SampleEncoding =
        SampleEncoding::Binary(Encoding { number: Number::I16, big_endian: false });

    fn of(text: &str, notes: &mut Vec<String>) -> Result<Vec<ScaledSignal>> {
        let place = Place::from(std::path::Path::new("a.vhdr"));
        let entries = Entries::of(text);
        let count = entries.get("Common Infos", "NumberOfChannels").unwrap();
        read(&place, &entries, count, &INT_16, 250.0, notes)
    }

    #[test]
    fn fields_may_be_missing_or_mangled() {
        let text = "\n[Common Infos]\nNumberOfChannels=9\n[Channel Infos]\nCh1=Fp1,,0.5,µV\nch2=a\\1b,Cz,0.1,ÂµV\nCH3=C3\n\
                    Ch4=VEOG,,2,mV,more\nCh5=T,,0.01,°C\nCh6=V,,,V\nCh7=N,,,nV\nCh8=ECG,,,\nCh9=a,,-2,μV";
        let mut notes = vec![];
        let signals = of(text, &mut notes).unwrap();
        let seen: Vec<_> = signals
            .iter()
            .map(|s| (&*s.signal.name, s.signal.kind, &*s.signal.unit, s.signal.microvolts, s.gain))
            .collect();
        assert_eq!(
            seen,
            [
                ("Fp1", SignalKind::Eeg, "uV", true, 0.5),
                ("a,b", SignalKind::Eeg, "uV", true, 0.1),
                ("C3", SignalKind::Eeg, "uV", true, 1.0),
                ("VEOG", SignalKind::Eog, "mV", true, 2000.0),
                ("T", SignalKind::Other, "°C", false, 0.01),
                ("V", SignalKind::Eeg, "V", true, 1e6),
                ("N", SignalKind::Eeg, "nV", true, 1e-3),
                ("ECG", SignalKind::Ecg, "uV", true, 1.0),
                ("a", SignalKind::Eeg, "uV", true, -2.0),
            ]
        );
        assert_eq!(signals[0].signal.range, Some([-16384.0, 16383.5]));
        assert_eq!(signals[8].signal.range, Some([-65534.0, 65536.0]));
        assert!(notes.is_empty());
    }

    #[test]
    fn counts_must_fit_the_lines() {
        let text = |count: &str| {
            format!("\n[Common Infos]\nNumberOfChannels={count}\n[Channel Infos]\nCh1=a\nCh2=b")
        };
        let mut notes = vec![];
        let signals = of(&text("1"), &mut notes).unwrap();
        assert_eq!((signals.len(), notes.len()), (1, 1));
        for (count, says) in [
            ("3", "says 3 channels, but [Channel Infos] has no line `Ch3=`"),
            ("1000000000", "no line `Ch3=`"),
            ("18446744073709551615", "no line `Ch3=`"),
            ("18446744073709551616", "no whole number"),
            ("-1", "no whole number"),
            ("0", "at least one channel"),
        ] {
            let error = of(&text(count), &mut vec![]).unwrap_err().to_string();
            assert!(
                error.starts_with("a.vhdr: line 3, `NumberOfChannels`: ") && error.contains(says),
                "{error}"
            );
        }
        for wrong in ["x", "0", "nan", "inf"] {
            let text = text("2").replace("Ch2=b", &format!("Ch2=b,,{wrong},uV"));
            let error = of(&text, &mut vec![]).unwrap_err().to_string();
            assert!(error.contains("line 6, `Ch2`: the resolution"), "{error}");
        }
    }

    #[test]
    fn angles_become_places_on_the_sphere() {
        let near =
            |text, x: f64, y: f64, z: f64| position(text).unwrap().distance(Position { x, y, z }) < 1e-12;
        assert!(near("1,0,0", 0.0, 0.0, 1.0));
        assert!(near("1,90,0", 1.0, 0.0, 0.0));
        assert!(near("1, -90, 0", -1.0, 0.0, 0.0));
        assert!(near("95.5,90,90", 0.0, 1.0, 0.0));
        // Fp1 is in front, to the left.
        let fp1 = position("1,-90,-72").unwrap();
        assert!(fp1.x < -0.3 && fp1.y > 0.9);
        for unknown in ["0,0,0", "0,90,0", "1,90", "", "1,a,0", "1,inf,0", "nan,1,1"] {
            assert_eq!(position(unknown), None, "{unknown}");
        }
    }
}

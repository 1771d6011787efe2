//! Channels: names, kinds and places.

use ptsm_signal::Position;

use super::sizes::Sizes;
use crate::kind::{kind_of, stated};
use crate::mat::Value;
use crate::recording_file::{SignalHeader, SignalKind};

/// Signals as `chanlocs` describes them; names are invented where it does not.
pub(super) fn read(record: &Value, sizes: &Sizes, notes: &mut Vec<String>) -> Vec<SignalHeader> {
    let described = record.field("chanlocs").filter(|places| places.count() > 0);
    // Of descriptions of other channels nobody knows which belong to these.
    let places = described.filter(|places| places.count() == sizes.channels);
    if places.is_none() {
        let what = match described {
            Some(places) => {
                format!("`chanlocs` describes {} channels, not {}", places.count(), sizes.channels)
            }
            None => "the file does not name its channels".into(),
        };
        notes.push(format!("{what}: they are called EEG001 and so on"));
    }
    (0..sizes.channels).map(|i| signal(places, i, sizes)).collect()
}

fn signal(places: Option<&Value>, i: usize, sizes: &Sizes) -> SignalHeader {
    let field = |name: &str| places?.element(i, name);
    let text = |name: &str| field(name).and_then(Value::label).unwrap_or_default();
    let name =
        Some(text("labels")).filter(|name| !name.is_empty()).unwrap_or_else(|| format!("EEG{:03}", i + 1));
    let kind = kind(&text("type"), &name);
    let microvolts = !matches!(kind, SignalKind::Stimulus | SignalKind::Other);
    let number = |name: &str| field(name).and_then(Value::number);
    SignalHeader {
        kind,
        microvolts,
        // The file does not say it: microvolts are what EEGLAB takes numbers for.
        unit: String::new(),
        position: position(number("X"), number("Y"), number("Z")),
        ..SignalHeader::new(name, sizes.rate_hz, sizes.samples())
    }
}

/// What the type says; where it says nothing, what the name does.
fn kind(of: &str, name: &str) -> SignalKind {
    match of.to_uppercase().as_str() {
        "" => kind_of(name, "uV"),
        "EEG" => stated(SignalKind::Eeg, name),
        "EOG" | "HEOG" | "VEOG" => SignalKind::Eog,
        "EMG" => SignalKind::Emg,
        "ECG" | "EKG" => SignalKind::Ecg,
        of => match (SignalKind::of_name(of), SignalKind::of_name(name)) {
            (Some(SignalKind::Stimulus), _) | (_, Some(SignalKind::Stimulus)) => SignalKind::Stimulus,
            // A word nobody knows says nothing against an electrode's name.
            (None, Some(SignalKind::Eeg)) => SignalKind::Eeg,
            _ => SignalKind::Other,
        },
    }
}

/// EEGLAB's X goes to the nose and Y to the left ear; the radius is anything.
fn position(x: Option<f64>, y: Option<f64>, z: Option<f64>) -> Option<Position> {
    let (x, y, z) = (x?, y?, z?);
    let radius = (x * x + y * y + z * z).sqrt();
    let at = Position { x: -y / radius, y: x / radius, z: z / radius };
    (radius.is_finite() && radius > 0.0).then_some(at)
}

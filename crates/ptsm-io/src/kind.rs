//! What a signal is of, as far as its label and unit tell.

use ptsm_signal::position;

use crate::opened::Kind;
use crate::unit::voltage;

/// Words labels begin with, as in the labels EDF+ recommends and those of sleep laboratories.
const WORDS: &[(Kind, &[&str])] = &[
    (Kind::Eog, &["eog", "heog", "veog", "loc", "roc"]),
    (Kind::Emg, &["emg", "chin"]),
    (Kind::Ecg, &["ecg", "ekg"]),
    (Kind::Stimulus, &["status", "sti", "stim", "stimulus", "trigger", "trig", "marker", "event"]),
    (
        Kind::Other,
        &[
            "resp", "temp", "sao2", "spo2", "pulse", "pleth", "flow", "airflow", "snore", "thor", "thorax",
            "abd", "abdomen", "light", "sound", "audio", "gsr", "eda", "hr", "position", "acc", "accel",
            "meg", "mcg", "erg",
        ],
    ),
];

/// Guesses. An electrode counts a voltage, or says nothing of its unit and has the name of an electrode.
pub(crate) fn kind_of(label: &str, unit: &str) -> Kind {
    let label = label.to_lowercase();
    for part in label.split(|c: char| !c.is_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        for (kind, words) in WORDS {
            if words.iter().any(|known| *known == word || *known == part) {
                return *kind;
            }
        }
        // `EOGL` is an eye too; other words must stand alone.
        for (kind, start) in [(Kind::Eog, "eog"), (Kind::Emg, "emg"), (Kind::Ecg, "ecg"), (Kind::Ecg, "ekg")]
        {
            if part.starts_with(start) {
                return kind;
            }
        }
    }
    let named = || label.starts_with("eeg") || position(&label).is_some();
    if voltage(unit).is_some() || unit.is_empty() && named() { Kind::Eeg } else { Kind::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_units_tell_what_a_signal_is_of() {
        for (label, unit, kind) in [
            ("C3..", "uV", Kind::Eeg),
            ("EEG Fpz-Cz", "uV", Kind::Eeg),
            ("EEG-0", "uV", Kind::Eeg),
            ("Tp7.", "uV", Kind::Eeg),
            ("A12", "uV", Kind::Eeg),
            ("Cz", "", Kind::Eeg),
            ("EEG 001", "", Kind::Eeg),
            ("channel 1", "", Kind::Other),
            ("EOG-left", "uV", Kind::Eog),
            ("EOGL", "uV", Kind::Eog),
            ("HEOG", "uV", Kind::Eog),
            ("EOG EOGL", "uV", Kind::Eog),
            ("LOC-A2", "uV", Kind::Eog),
            ("EMG chin", "uV", Kind::Emg),
            ("ECG1", "mV", Kind::Ecg),
            ("EKG", "mV", Kind::Ecg),
            ("Status", "Boolean", Kind::Stimulus),
            ("STI 014", "", Kind::Stimulus),
            ("Event marker", "", Kind::Stimulus),
            ("Resp nasal", "mV", Kind::Other),
            ("Temp rectal", "degC", Kind::Other),
            ("SaO2", "%", Kind::Other),
            ("Cz", "Ohm", Kind::Other),
        ] {
            assert_eq!(kind_of(label, unit), kind, "{label} in {unit}");
        }
    }
}

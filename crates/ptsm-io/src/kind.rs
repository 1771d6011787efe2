//! What a signal is of, as far as its label and unit tell.

use std::fmt;

use ptsm_signal::position;

use crate::unit::voltage;

/// What a signal is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignalKind {
    /// An electrode on the scalp, or a voltage nobody says anything else of.
    #[default]
    Eeg,
    /// Eyes.
    Eog,
    /// Muscles.
    Emg,
    /// The heart.
    Ecg,
    /// Triggers, codes, labels: what the experiment wrote into the recording.
    Stimulus,
    /// Anything else: breath, temperature, sound, a counter of samples.
    Other,
}

impl SignalKind {
    /// What a name alone tells; none where it tells nothing, as `A12` or `channel 1` do. Names of the 10-05 system and names that
    /// begin with `EEG` are electrodes.
    pub fn of_name(name: &str) -> Option<SignalKind> {
        word_of(name).or_else(|| is_electrode(name).then_some(SignalKind::Eeg))
    }
}

impl fmt::Display for SignalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SignalKind::Eeg => "EEG",
            SignalKind::Eog => "EOG",
            SignalKind::Emg => "EMG",
            SignalKind::Ecg => "ECG",
            SignalKind::Stimulus => "trigger",
            SignalKind::Other => "other",
        })
    }
}

/// Words of labels, as in the labels EDF+ recommends, those of sleep laboratories and amplifiers, and those programs of experiments write.
/// Digits behind them do not count.
const WORDS: &[(SignalKind, &str)] = &[
    (SignalKind::Eog, "heo veo loc roc"),
    (SignalKind::Emg, "emg chin"),
    (SignalKind::Ecg, "ecg ekg"),
    (
        SignalKind::Stimulus,
        "status sti mark marks mrk mkr din ttl label labels target targets nontarget code codes class classes condition conditions \
         cue cues trial trials onset onsets response responses button buttons keypress sync synchro photo digital parallel lpt gpio \
         flash feedback",
    ),
    (
        SignalKind::Other,
        "resp temp sao2 spo2 osat pulse pleth ppg bvp flow airflow snore thor thorax abd abdomen light sound audio mic gsr eda hr ibi \
         position acc accx accy accz magx magy magz meg mcg erg aux misc other dc adc analog counter battery clock time times sample \
         samples packet index idx quality cq eq pow validation impedance interpolated unused spare empty bursts suppr",
    ),
];

/// How words begin that are the same with anything behind them: `StimulusCode`, `TRIGGER_IN`, `GYROX`.
const BEGINNINGS: &[(SignalKind, &str)] = &[
    (SignalKind::Emg, "emg"),
    (SignalKind::Ecg, "ecg ekg"),
    (SignalKind::Stimulus, "stim trig trg marker event evt annot photod photoc photos photic"),
    (SignalKind::Other, "gyro accel timestamp batt"),
];

/// Guesses. An electrode counts a voltage, or says nothing of its unit and has the name of an electrode.
pub(crate) fn kind_of(label: &str, unit: &str) -> SignalKind {
    if let Some(kind) = word_of(label) {
        return kind;
    }
    if voltage(unit).is_some() || unit.is_empty() && is_electrode(label) {
        SignalKind::Eeg
    } else {
        SignalKind::Other
    }
}

/// A kind that a file states, unless the name is one of triggers: whoever calls all channels EEG means the others.
pub(crate) fn stated(kind: SignalKind, label: &str) -> SignalKind {
    match (kind, word_of(label)) {
        (SignalKind::Eeg, Some(SignalKind::Stimulus)) => SignalKind::Stimulus,
        _ => kind,
    }
}

/// What the first word tells that tells anything.
fn word_of(label: &str) -> Option<SignalKind> {
    label.split(|c: char| !c.is_alphanumeric()).find_map(|part| {
        let whole = part.to_lowercase();
        // `SaO2` is one word, `StimulusCode` is two.
        kind_of_word(&whole).or_else(|| words(part).find_map(|word| kind_of_word(&word.to_lowercase())))
    })
}

/// What a word in lower case tells.
fn kind_of_word(word: &str) -> Option<SignalKind> {
    // `EOGL` is an eye, and so is `LHEOG`.
    if word.contains("eog") {
        return Some(SignalKind::Eog);
    }
    let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is = |known: &str| known == bare || known == word;
    let listed = |(kind, words): &(SignalKind, &str)| words.split(' ').any(is).then_some(*kind);
    let begun = |(kind, starts): &(SignalKind, &str)| {
        starts.split(' ').any(|start| word.starts_with(start)).then_some(*kind)
    };
    WORDS.iter().find_map(listed).or_else(|| BEGINNINGS.iter().find_map(begun))
}

/// The words of `CamelCase`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let pairs = rest.char_indices().zip(rest.chars().skip(1));
        let end = pairs
            .filter(|((_, before), after)| before.is_lowercase() && after.is_uppercase())
            .map(|((at, before), _)| at + before.len_utf8())
            .next();
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        (!word.is_empty()).then_some(word)
    })
}

/// Whether a name is one of an electrode.
fn is_electrode(name: &str) -> bool {
    name.trim_start().get(..3).is_some_and(|start| start.eq_ignore_ascii_case("eeg"))
        || position(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_units_tell_what_a_signal_is_of() {
        for (label, unit, kind) in [
            ("C3..", "uV", SignalKind::Eeg),
            ("EEG Fpz-Cz", "uV", SignalKind::Eeg),
            ("EEG-0", "uV", SignalKind::Eeg),
            ("Tp7.", "uV", SignalKind::Eeg),
            ("A12", "uV", SignalKind::Eeg),
            ("Cz", "", SignalKind::Eeg),
            ("EEG 001", "", SignalKind::Eeg),
            ("channel 1", "", SignalKind::Other),
            ("EOG-left", "uV", SignalKind::Eog),
            ("EOGL", "uV", SignalKind::Eog),
            ("HEOG", "uV", SignalKind::Eog),
            ("LVEOG", "uV", SignalKind::Eog),
            ("HEO", "uV", SignalKind::Eog),
            ("EOG EOGL", "uV", SignalKind::Eog),
            ("LOC-A2", "uV", SignalKind::Eog),
            ("EMG chin", "uV", SignalKind::Emg),
            ("ECG1", "mV", SignalKind::Ecg),
            ("EKG", "mV", SignalKind::Ecg),
            ("Status", "Boolean", SignalKind::Stimulus),
            ("STI 014", "", SignalKind::Stimulus),
            ("Event marker", "", SignalKind::Stimulus),
            ("Resp nasal", "mV", SignalKind::Other),
            ("Temp rectal", "degC", SignalKind::Other),
            ("SaO2", "%", SignalKind::Other),
            ("Cz", "Ohm", SignalKind::Other),
        ] {
            assert_eq!(kind_of(label, unit), kind, "{label} in {unit}");
        }
    }

    #[test]
    fn channels_of_triggers_in_microvolts_are_no_electrodes() {
        for label in
            "TRG|Markers|Events|StimCode|Label|Target|TTL|DIN1|DIN|Trig1|TRIGGER|STI014|STI101|StimulusCode|\
             StimulusType|STIMCODE|Stim|Code|Codes|Class|Labels|Status|Sync|Photodiode|Photo|PHOTIC-REF|\
             Annotations|Digital|Cue|trial_label|event_id|Trigger(Digital)|Response|TRGR|MRK|NonTarget"
                .split('|')
        {
            assert_eq!(kind_of(label, "uV"), SignalKind::Stimulus, "{label}");
            assert_eq!(stated(SignalKind::Eeg, label), SignalKind::Stimulus, "{label}");
            assert_eq!(SignalKind::of_name(label), Some(SignalKind::Stimulus), "{label}");
        }
        let others = "Counter|COUNTER|Battery|BATTERY_PERCENT|Timestamp|TIME_STAMP_s|Sample counter|GYROX|GyroZ|Aux|\
             AUX2|AccX|ACC_Y|MISC 001|DC01|Analog Channel 0|RAW_CQ|POW_AF3_Theta|CQ_AF3|SampleNumber";
        for label in others.split('|') {
            assert_eq!(kind_of(label, "uV"), SignalKind::Other, "{label}");
        }
    }

    #[test]
    fn electrodes_are_not_swallowed() {
        for name in include_str!("../../ptsm-signal/data/electrode-positions.tsv").lines().skip(1) {
            let name = name.split('\t').next().unwrap();
            for label in
                [name.to_string(), name.to_uppercase(), name.to_lowercase(), format!("EEG {name}-Ref")]
            {
                assert_eq!(kind_of(&label, "uV"), SignalKind::Eeg, "{label}");
                assert_eq!(stated(SignalKind::Eeg, &label), SignalKind::Eeg, "{label}");
            }
            assert_eq!(SignalKind::of_name(name), Some(SignalKind::Eeg), "{name}");
        }
        let others = "FpZ|TP9|TPP9h|M1|M2|A1|A2|T3|EXG1|E129|D32|LA1|RAH3|IO1|SO2|Fpz-Cz|C3-A2|EEG1|EEG T3-LE|ch1|\
             channel 1|CH_08|Nz|FT9|PO10|Ref|Left|V|a,b|Te4|Trans1|Pos2";
        for label in others.split('|') {
            assert_eq!(kind_of(label, "uV"), SignalKind::Eeg, "{label}");
        }
        assert_eq!((SignalKind::of_name("A12"), SignalKind::of_name("channel 1")), (None, None));
    }

    #[test]
    fn words_end_where_capitals_begin() {
        assert_eq!(words("StimulusCode").collect::<Vec<_>>(), ["Stimulus", "Code"]);
        assert_eq!(words("EEGFpZ").collect::<Vec<_>>(), ["EEGFp", "Z"]);
        assert_eq!(words("").count(), 0);
    }
}

//! Which signals of an opened recording are read, and what they become.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_io::{Epochs, RecordingFile, SignalHeader, SignalKind};
use ptsm_signal::{Channel, Pipeline, normalise};

use super::common::CommonChannels;
use crate::catalogue::SignalData;
use crate::error::Result;

/// What to do where no channel counts as EEG.
pub(super) const ELECTRODES: &str = "if some are electrodes, say which: in a manifest `[rename]` with `\"CH1\" = \"C3\"` gives them names of the \
    10-05 system, or `pick = { names = [\"CH1\", \"CH2\"] }` below `[pipeline]` takes them as they are called; in a BIDS folder `type` is \
    `EEG` in `channels.tsv`";

/// What to do where a channel of triggers is picked.
const TRIGGER: &str = "take it out of `pick`: a decoder would read the classes from it. If it is an electrode, give it the name of one with `[rename]` \
    in a manifest, or `type` `EEG` in `channels.tsv` of a BIDS folder";

/// About how many bytes of memory reading its electrodes takes; where none is known, all that may be picked by name.
pub(super) fn memory(file: &RecordingFile) -> u64 {
    file.memory(match file.electrodes().len() {
        0 => file.main().len(),
        electrodes => electrodes,
    })
}

/// Names of electrodes, normalised.
pub(super) fn names(file: &RecordingFile) -> Vec<String> {
    file.electrodes().into_iter().map(|at| normalise(&file.signals()[at].name)).collect()
}

/// From when to when the trials of a file reach that holds trials, in seconds after the cue.
pub(super) fn window_s(file: &RecordingFile) -> Option<[f64; 2]> {
    let window = |epochs: &Epochs| [epochs.start_s, epochs.start_s + epochs.samples as f64 / file.rate_hz()];
    file.epochs().map(window)
}

/// What the user should know where nobody says what electrodes are counted in.
pub(super) fn unstated(file: &RecordingFile) -> Option<&'static str> {
    let electrodes = file.electrodes().into_iter().map(|at| &file.signals()[at]);
    let unstated: Vec<&SignalHeader> = electrodes.filter(|signal| !signal.unit_is_stated()).collect();
    match &unstated[..] {
        [] => None,
        all if all.iter().all(|signal| signal.microvolts) => Some(
            "the file does not say what its EEG is counted in: microvolts are taken; `unit` in a manifest says otherwise",
        ),
        _ => Some(
            "the file does not say what its EEG is counted in: numbers are taken as they are; `unit` in a manifest or `units` in \
             `channels.tsv` says it",
        ),
    }
}

/// The signals a pipeline needs. Where it picks all, those that every recording has, in the order of the first. Channels that are
/// named are taken whatever they are of, but never triggers: they would tell the classes. What does not fit is told with what
/// to do.
pub(super) fn chosen(
    file: &RecordingFile,
    pipeline: &Pipeline,
    common: &CommonChannels,
) -> Result<Vec<usize>, (String, String)> {
    let (signals, electrodes, all) = (file.signals(), file.electrodes(), file.main());
    let none = || (format!("no channel counts as EEG; it has {}", file.kinds()), ELECTRODES.to_string());
    let places = |among: &[usize]| -> BTreeMap<String, usize> {
        among.iter().rev().map(|&at| (normalise(&signals[at].name), at)).collect()
    };
    let Some(named) = pipeline.named_channels(all.iter().map(|&at| &*signals[at].name)) else {
        if electrodes.is_empty() {
            return Err(none());
        }
        let Some(shared) = common.shared() else { return Ok(electrodes) };
        let own = places(&electrodes);
        return Ok(shared.iter().filter_map(|name| own.get(name).copied()).collect());
    };
    let own = places(all);
    let requested: Vec<Option<usize>> =
        named.into_iter().map(|place| place.map(|place| all[place])).collect();
    let trigger = |at: &&usize| signals[**at].kind == SignalKind::Stimulus;
    if let Some(&at) = requested.iter().flatten().find(trigger) {
        let message = format!("channel `{}` is picked and holds triggers, not EEG", signals[at].name);
        return Err((message, TRIGGER.to_string()));
    }
    // Where a name is not there, or is there twice, the pipeline says so, beside all that are.
    match requested.into_iter().collect::<Option<BTreeSet<usize>>>().filter(|_| own.len() == all.len()) {
        Some(requested) => Ok(requested.into_iter().collect()),
        None if electrodes.is_empty() => Err(none()),
        None => Ok(all.to_vec()),
    }
}

/// Reads some signals: a recording, or the trials of a file that holds trials.
pub(super) fn read(file: &RecordingFile, chosen: &[usize]) -> Result<SignalData> {
    let Some(epochs) = file.epochs() else { return Ok(SignalData::Recording(file.recording(Some(chosen))?)) };
    let mut samples = vec![0.0; file.length().saturating_mul(chosen.len())];
    file.read(chosen, 0, &mut samples)?;
    let channels: Vec<Channel> = chosen.iter().map(|&at| file.signals()[at].channel()).collect();
    Ok(SignalData::Epochs {
        channels,
        rate_hz: file.rate_hz(),
        start_s: epochs.start_s,
        samples: epochs.samples,
        x: by_trial(&samples, file.length(), epochs.samples),
        codes: epochs.codes.clone(),
    })
}

/// `[C, n * each]` to `[n, C, each]`.
fn by_trial(samples: &[f32], length: usize, each: usize) -> Vec<f32> {
    let trials = length.checked_div(each).unwrap_or(0);
    let channels = || samples.chunks_exact(length.max(1));
    (0..trials).flat_map(|trial| channels().flat_map(move |c| &c[trial * each..][..each])).copied().collect()
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use ptsm_io::{Annotation, RawHeader, Samples};
    use ptsm_signal::{Pick, Reference};

    use super::*;

    /// Samples `[C, N]`.
    struct Memory(Vec<f32>, usize);

    impl Samples for Memory {
        fn read(&self, signals: &[usize], first: usize, to: &mut [f32]) -> ptsm_io::Result<()> {
            let n = to.len() / signals.len();
            for (&at, to) in signals.iter().zip(to.chunks_exact_mut(n)) {
                to.copy_from_slice(&self.0[at * self.1 + first..][..n]);
            }
            Ok(())
        }
    }

    /// A recording of signals of one length that count up, with events of a sample, a code and a length.
    pub(in super::super) fn made(header: RawHeader, events: &[(usize, &str, usize)]) -> RecordingFile {
        let SignalHeader { rate_hz, samples, .. } = header.signals[0];
        let numbers = (0..header.signals.len() * samples).map(|x| x as f32).collect();
        let annotation = |&(sample, code, lasts): &(usize, &str, usize)| Annotation {
            onset_s: sample as f64 / rate_hz,
            duration_s: lasts as f64 / rate_hz,
            sample: Some(sample),
            text: code.to_string(),
        };
        let header = RawHeader { annotations: events.iter().map(annotation).collect(), ..header };
        RecordingFile::new(&Path::new("a").into(), header, Box::new(Memory(numbers, samples))).unwrap()
    }

    /// Signals nobody says anything of but their names.
    pub(in super::super) fn named(names: &[&str], rate_hz: f64, samples: usize) -> RawHeader {
        let signals = names.iter().map(|name| SignalHeader::named(*name, rate_hz, samples));
        RawHeader { signals: signals.collect(), ..RawHeader::default() }
    }

    #[test]
    fn only_what_is_needed_is_chosen() {
        let file = made(named(&["C3..", "EOG", "Cz", "M1"], 10.0, 4), &[]);
        let choose = |pick, reference| {
            let pipeline = Pipeline { pick, reference, ..Pipeline::default() };
            chosen(&file, &pipeline, &CommonChannels::default()).unwrap()
        };
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(choose(Pick::All, Reference::AsRecorded), [0, 2, 3]);
        assert_eq!(choose(Pick::Names(names(&["c3"])), Reference::Channels(names(&["M1"]))), [0, 3]);
        assert_eq!(choose(Pick::Names(names(&["EOG"])), Reference::Average), [1]);
        assert_eq!(choose(Pick::Names(names(&["Oz"])), Reference::AsRecorded), [0, 1, 2, 3]);
    }

    #[test]
    fn nothing_is_taken_in_the_place_of_electrodes() {
        let mut file = made(named(&["MISC 001", "TRG", "x"], 10.0, 4), &[]);
        file.signals_mut()[2].kind = SignalKind::Other;
        let choose = |pick: &[&str]| {
            let names = pick.iter().map(|name| name.to_string()).collect();
            let pick = if pick.is_empty() { Pick::All } else { Pick::Names(names) };
            chosen(&file, &Pipeline { pick, ..Pipeline::default() }, &CommonChannels::default())
        };
        assert!(file.electrodes().is_empty() && names(&file).is_empty());
        for pick in [&[][..], &["Cz"]] {
            let (error, hint) = choose(pick).unwrap_err();
            assert!(error.contains("`MISC 001` (other), `TRG` (trigger), `x` (other)"), "{error}");
            assert!(hint.contains("[rename]") && hint.contains("channels.tsv"), "{hint}");
        }
        // Those that are named are taken; triggers are not.
        assert_eq!(choose(&["x", "MISC 001"]).unwrap(), [0, 2]);
        let (error, hint) = choose(&["x", "TRG"]).unwrap_err();
        assert!(error.contains("`TRG` is picked and holds triggers") && hint.contains("pick"), "{error}");
        let reference = Reference::Channels(vec!["TRG".into()]);
        let pipeline = Pipeline { pick: Pick::Names(vec!["x".into()]), reference, ..Pipeline::default() };
        assert!(chosen(&file, &pipeline, &CommonChannels::default()).is_err());
    }

    #[test]
    fn trials_of_a_file_are_taken_as_they_are() {
        let epochs = Epochs { samples: 2, start_s: -0.1, codes: vec!["a".into(), "b".into()] };
        let mut file = made(RawHeader { epochs: Some(epochs), ..named(&["C3", "C4"], 10.0, 4) }, &[]);
        file.signals_mut()[1].factor = 10.0;
        let SignalData::Epochs { x, start_s, samples, codes, .. } = read(&file, &[0, 1]).unwrap() else {
            panic!("not epochs");
        };
        assert_eq!(x, [0.0, 1.0, 40.0, 50.0, 2.0, 3.0, 60.0, 70.0]);
        assert_eq!((start_s, samples, codes.len()), (-0.1, 2, 2));
    }
}

//! A manifest as text, with remarks for whoever edits it.

use std::fmt::Write;

use super::super::matrix::{Rows, Variables, written};
use super::super::scan::suited;
use super::super::words::Words;
use super::codes::EventCode;
use super::inference::{NumberingSource, RecordingOwner};
use super::look::InspectedRecording;
use super::matlab::remark;

/// All that goes into a manifest.
pub(super) struct Plan<'a> {
    /// What `files:` is followed by.
    pub(super) manifest: &'a str,
    pub(super) title: &'a str,
    pub(super) recordings: Vec<ManifestEntry<'a>>,
    pub(super) numbering: NumberingSource,
    pub(super) codes: &'a [EventCode],
    /// Seconds between events, typically.
    pub(super) apart_s: Option<f64>,
    /// What cannot be read, and why.
    pub(super) unreadable: &'a [(String, String)],
    /// Labels of whole recordings with patterns of their files, each label once.
    pub(super) labels: &'a [(String, Vec<String>)],
    /// Windows of so many seconds.
    pub(super) every_s: Option<f64>,
}

/// A recording of the manifest.
pub(super) struct ManifestEntry<'a> {
    /// From the manifest's folder on.
    pub(super) file: String,
    pub(super) whose: RecordingOwner,
    pub(super) look: &'a InspectedRecording,
    /// The table of its events, from the manifest's folder on.
    pub(super) events: Option<String>,
}

impl Plan<'_> {
    /// The manifest.
    pub(super) fn text(&self) -> String {
        let mut text = self.head();
        text += &self.labels();
        text += &self.events();
        text += &self.windows();
        text += &self.pipeline();
        text += &self.electrodes();
        let mat = self.common();
        text += &mat.as_ref().map(|mat| self.mat(mat)).unwrap_or_default();
        let numbering = match self.numbering {
            NumberingSource::Numbers => {
                "Subjects, sessions and runs are as the names of files and folders tell them."
            }
            NumberingSource::Labels => {
                "Subjects are counted in the order of their names, which have no number of their own."
            }
            NumberingSource::Folders => "Every folder is taken to be one subject: see that this is so.",
            NumberingSource::Files => {
                "Nothing tells whose a recording is: every file is taken to be of a subject of its own. Give the same `subject` to\n\
                 # all files of one subject: a subject who is trained on and tested under two numbers spoils every score."
            }
        };
        let _ = write!(text, "# {numbering}\n\n");
        self.recordings.iter().for_each(|listed| text += &entry(listed, mat.as_ref()));
        if !self.unreadable.is_empty() {
            text += "# Not read:\n";
            for (file, why) in self.unreadable {
                let _ = writeln!(text, "# {}: {}", plain(file), plain(why));
            }
        }
        text
    }

    fn head(&self) -> String {
        format!(
            "# Recordings found by `ptsm data add`. Edit this file: what follows a `#` is for people only.\n\
             # Then `ptsm data check files:{0}` and `ptsm train --data files:{0} --out run`.\n\n\
             title = {1}\nlicence = \"\"\n\n",
            plain(self.manifest),
            quoted(self.title)
        )
    }

    /// One label per recording.
    fn labels(&self) -> String {
        if self.labels.is_empty() {
            return String::new();
        }
        let mut text = "# The class of whole recordings, by patterns of `file`, with its folders or without, in which `*` stands for any\n\
             # text; `label = \"rest\"` in a `[[recording]]` goes over them.\n[labels]\n"
            .to_string();
        for (name, patterns) in self.labels {
            let patterns: Vec<String> = patterns.iter().map(|pattern| quoted(pattern)).collect();
            let _ = writeln!(text, "{} = [{}]", key(name), patterns.join(", "));
        }
        text + "\n"
    }

    /// Windows one after the other.
    fn windows(&self) -> String {
        let Some(every_s) = self.every_s.or((!self.labels.is_empty()).then_some(4.0)) else {
            return String::new();
        };
        format!(
            "# Windows one after the other: of recordings with one label, else inside of annotated segments. `every_s` sets another distance\n\
             # from one start to the next; windows that overlap are not independent. `segment_s` is for events that state no duration.\n\
             [windows]\nlength_s = {every_s:?}\n#every_s = {every_s:?}\n\n"
        )
    }

    fn events(&self) -> String {
        if self.codes.is_empty() && !self.labels.is_empty() {
            return String::new();
        }
        let mut text = "# Classes, and the event codes that begin their trials. Change the names on the left and delete what is no class;\n\
             # several codes may share a class: left_hand = [\"T1\", \"T3\"]\n[events]\n"
            .to_string();
        let (classes, others): (Vec<&EventCode>, Vec<&EventCode>) =
            self.codes.iter().partition(|code| code.class);
        if self.codes.is_empty() {
            text += "# The recordings have no events. Trials begin at events: without them there is nothing to learn. A table of events is named\n\
                 # by `events = \"FILE.csv\"` in its `[[recording]]`; a recording that is of one class has `label = \"rest\"` there.\n";
        }
        for code in classes {
            text += &self.code(code, "");
        }
        if !others.is_empty() {
            text += "# Other codes: too rare, too many, or known to begin no trial.\n";
        }
        for code in others {
            text += &self.code(code, "# ");
        }
        text + "\n"
    }

    fn code(&self, code: &EventCode, before: &str) -> String {
        let all = self.recordings.len();
        let meaning = if code.meaning.is_empty() { String::new() } else { format!("{}; ", code.meaning) };
        format!(
            "{before}{} = [{}]  # {meaning}{}, in {} of {all} recordings\n",
            key(&code.code),
            quoted(&code.code),
            if code.events == 1 { "once".into() } else { format!("{} times", code.events) },
            code.recordings
        )
    }

    fn pipeline(&self) -> String {
        let looks = || self.recordings.iter().map(|listed| listed.look);
        let epochs = looks().all(|look| look.epochs);
        let slowest_hz = looks().filter_map(|look| look.rate_hz).min_by(f64::total_cmp);
        let window_s = looks().next().and_then(|look| look.window_s).filter(|_| epochs);
        let apart = self.apart_s.map_or_else(String::new, |s| format!(": events are {} s apart", rounded(s)));
        let end = match self.apart_s {
            Some(s) if s < 1.5 => 0.8,
            Some(s) if s < 4.0 => (2.0 * s).floor() / 2.0,
            _ => 4.0,
        };
        let mut text = match epochs {
            true => "# The files hold epochs that are cut already: what follows still applies to them; filters (`notch_hz`, `band`) and another `rate_hz` are\n\
                     # refused. These are the values that apply without a word. Take the `#` before a key away to set it.\n"
                .to_string(),
            false => "# From recordings to epochs, with the values that apply without a word. Take the `#` before a key away to set it.\n".into(),
        };
        text += "[pipeline]\n";
        let windows = self.every_s.is_some() || !self.labels.is_empty();
        if !epochs && !windows {
            text += &format!("window_s = [0.0, {end:?}]  # seconds after the event{apart}\n");
        }
        let usual = suited(slowest_hz, window_s).written();
        let others =
            usual.iter().filter(|(key, _)| (key.on_epochs || !epochs) && (epochs || key.name != "window_s"));
        others.for_each(|(key, value)| text += &key.entry(value, false));
        text + "\n"
    }

    /// Where recordings have no channel that counts as EEG: how to name electrodes.
    fn electrodes(&self) -> String {
        let none =
            self.recordings.iter().find_map(|listed| Some((&listed.file, listed.look.no_eeg.as_ref()?)));
        let Some((file, kinds)) = none else { return String::new() };
        format!(
            "# No channel of {} counts as EEG; it has {}.\n\
             # Give electrodes the names they have in the 10-05 system, or pick channels by their names: `pick = {{ names = [\"CH1\"] }}`\n\
             # below `[pipeline]`. Without either the recording cannot be used.\n[rename]\n# \"CH1\" = \"C3\"\n\n",
            plain(file),
            plain(kinds)
        )
    }

    /// What MATLAB files have in common: what most of them are like, unless another one lacks something of it.
    fn common(&self) -> Option<Variables> {
        let all: Vec<&Variables> =
            self.recordings.iter().filter_map(|listed| listed.look.mat.as_ref()).collect();
        let most = all.iter().max_by_key(|mat| all.iter().filter(|other| other == mat).count())?;
        // Each of several structs is named by its own recording.
        let inside = most.inside.clone().filter(|_| all.iter().all(|mat| mat.inside == most.inside));
        let common = Variables { inside, ..(*most).clone() };
        let keys = |mat: &Variables| settings(mat).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        let has_all = |mat: &&Variables| keys(&common).iter().all(|key| keys(mat).contains(key));
        all.iter().all(has_all).then_some(common)
    }

    fn mat(&self, mat: &Variables) -> String {
        let mut text = "# Which variable of the MATLAB files holds what.\n[mat]\n".to_string();
        for (key, value) in settings(mat) {
            if let Some(axes) = mat.axes.as_ref().filter(|_| key == "axes") {
                text += &remark(axes);
            }
            let looks = self.recordings.iter().flat_map(|listed| &listed.look.doubts);
            let doubt = looks.into_iter().find(|doubt| doubt.key == key && doubt.taken == value);
            let or = doubt.map_or_else(String::new, |doubt| format!("  # {}", plain(&doubt.remark())));
            let _ = writeln!(text, "{key} = {value}{or}");
        }
        if mat.rate.is_none() {
            text += "# rate = 250  # the file does not say how many samples a second has: fill it in\n";
        }
        if mat.axes.is_some() {
            text += "# start_s = 0.0  # the first sample of an epoch, in seconds after the cue\n";
        }
        if mat.triggers.is_none() && mat.onsets.is_none() && mat.labels.is_none() {
            text += "# triggers = \"NAME\"  # a variable with one number per sample, not zero where an event begins\n";
        }
        if let Some(Words::Many(_)) = &mat.channels {
            text += "# Give channels the names they have in the 10-05 system, if those are known: [\"Fz\", \"Cz\"]\n";
        }
        match &mat.unit {
            Some(_) => text.insert_str(
                text.rfind("unit = ").unwrap_or(text.len()),
                "# Judged by the size of the numbers:\n",
            ),
            None => {
                text += "# unit = \"uV\"  # or \"V\", \"mV\": the numbers are as large as in none of them\n"
            }
        }
        text + "\n"
    }
}

fn entry(listed: &ManifestEntry<'_>, common: Option<&Variables>) -> String {
    let ManifestEntry { file, whose, look, events } = listed;
    let seconds = look.rate_hz.map(|rate| look.length as f64 / rate);
    let rate = look.rate_hz.map_or_else(|| "unknown rate".into(), |rate| format!("{rate} Hz"));
    let long = seconds.map_or_else(|| format!("{} samples", look.length), |s| format!("{} s", rounded(s)));
    let RecordingOwner { subject, session, run } = *whose;
    let mut text = format!(
        "[[recording]]  # {} channels, {rate}, {long}\nfile = {}\nsubject = {subject}\nsession = {session}\nrun = {run}\n",
        look.channels.len(),
        quoted(file)
    );
    events.iter().for_each(|events| {
        let _ = writeln!(text, "events = {}", quoted(events));
    });
    if let Some(own) = look.mat.as_ref().filter(|own| Some(*own) != common) {
        let all = common.map(settings).unwrap_or_default();
        let other: Vec<(&str, String)> =
            settings(own).into_iter().filter(|setting| !all.contains(setting)).collect();
        for doubt in look.doubts.iter().filter(|doubt| other.iter().any(|(key, _)| *key == doubt.key)) {
            let _ = writeln!(text, "# `{}` {} {}", doubt.key, plain(&doubt.taken), plain(&doubt.remark()));
        }
        let other: Vec<String> = other.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let _ = writeln!(text, "mat = {{ {} }}", other.join(", "));
    }
    text + "\n"
}

/// What is said, as keys and values of TOML.
fn settings(mat: &Variables) -> Vec<(&'static str, String)> {
    let words = |words: &Words| match words {
        Words::One(word) => quoted(word),
        Words::Many(words) => {
            format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "))
        }
    };
    let rows = mat.rows.map(|rows| if rows == Rows::Samples { "\"samples\"" } else { "\"channels\"" });
    let all = [
        ("inside", mat.inside.as_deref().map(quoted)),
        ("samples", mat.samples.as_deref().map(quoted)),
        ("axes", mat.axes.as_deref().map(written)),
        ("rows", rows.map(str::to_string)),
        ("triggers", mat.triggers.as_deref().map(quoted)),
        ("onsets", mat.onsets.as_deref().map(quoted)),
        ("labels", mat.labels.as_ref().map(words)),
        ("rate", mat.rate.as_ref().map(words)),
        ("channels", mat.channels.as_ref().map(words)),
        ("unit", mat.unit.as_deref().map(quoted)),
    ];
    all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

fn rounded(seconds: f64) -> f64 {
    (100.0 * seconds).round() / 100.0
}

/// A text as TOML writes it.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

/// A key as TOML writes it.
fn key(text: &str) -> String {
    let bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { text.to_string() } else { quoted(text) }
}

/// A text for a remark, which ends with its line.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

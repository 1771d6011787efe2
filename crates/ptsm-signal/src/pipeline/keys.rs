//! The keys of a pipeline as people write them: one table for help, manifests and errors.

use serde_json::{Map, Value, json};

use super::Pipeline;
use crate::error::{Error, Result};
use crate::nearest;

/// A key of a [`Pipeline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PipelineKey {
    /// What is typed.
    pub name: &'static str,
    /// What it sets, in a line.
    pub about: &'static str,
    /// A right value, as TOML.
    pub example: &'static str,
    /// Whether it can be applied to epochs, where there is no continuous recording.
    pub on_epochs: bool,
}

/// Comments are as wide as this.
const WIDTH: usize = 110;

/// Every key, in the order of processing.
pub const PIPELINE_KEYS: &[PipelineKey] = &[
    PipelineKey {
        name: "pick",
        about: "channels to keep, by name and in this order; \"all\" are those that count as EEG, \"frontal\" those near the eyes, by position",
        example: "[\"C3\", \"Cz\", \"C4\"]",
        on_epochs: true,
    },
    PipelineKey {
        name: "reference",
        about: "\"as_recorded\", \"average\" (the mean of the picked channels), or the mean of some channels",
        example: "[\"M1\", \"M2\"]",
        on_epochs: true,
    },
    PipelineKey {
        name: "notch_hz",
        about: "mains frequency to take out, in Hz; or \"none\"",
        example: "50",
        on_epochs: false,
    },
    PipelineKey {
        name: "band",
        about: "pass band in Hz, [low, high], \"none\" for an edge or for both: Butterworth of order 4, zero-phase; another filter is { low_hz = 0.5, high_hz = 40, kind = { causal = { order = 4 } } } or kind = { fir = { taps = 401 } }",
        example: "[0.5, 40]",
        on_epochs: false,
    },
    PipelineKey {
        name: "rate_hz",
        about: "samples per second to resample to; \"none\" keeps those of the recording",
        example: "100",
        on_epochs: false,
    },
    PipelineKey {
        name: "window_s",
        about: "the epoch, in seconds after the event; the end is not included",
        example: "[0.0, 4.0]",
        on_epochs: true,
    },
    PipelineKey {
        name: "baseline_s",
        about: "seconds after the event whose mean is subtracted from each channel; or \"none\"",
        example: "[-0.2, 0.0]",
        on_epochs: true,
    },
    PipelineKey {
        name: "ocular",
        about: "ocular regression: channels whose share in the others is taken off by least squares over a subject's epochs, and which are dropped; \"frontal\" are those near the eyes, by position; or \"none\"",
        example: "[\"Fp1\", \"Fp2\"]",
        on_epochs: true,
    },
    PipelineKey {
        name: "epoch_band",
        about: "pass band in Hz that each epoch is filtered with by itself, edges and all, written as `band`; or \"none\"",
        example: "[7.5, 31]",
        on_epochs: true,
    },
    PipelineKey {
        name: "scaling",
        about: "what an epoch is divided by: \"trial_deviation\" (its own standard deviation), a number of microvolts, or \"none\"",
        example: "\"trial_deviation\"",
        on_epochs: true,
    },
    PipelineKey {
        name: "alignment",
        about: "re-centring of each subject's epochs, without labels, as `--align`: \"none\", \"euclidean\", \"riemannian\", \"euclidean-stream\", \"riemannian-stream\"",
        example: "\"euclidean\"",
        on_epochs: true,
    },
];

impl PipelineKey {
    /// Its value as TOML below lines that say what it is. Whoever takes the `#` before the key away sets it.
    pub fn entry(&self, value: &str, set: bool) -> String {
        let mut text = String::new();
        let mut line = String::from("#");
        for word in self.about.split(' ') {
            if line.len() + 1 + word.len() > WIDTH {
                text += &std::mem::replace(&mut line, "#".into());
                text.push('\n');
            }
            line = line + " " + word;
        }
        let before = if set { "" } else { "#" };
        format!("{text}{line}\n{before}{} = {value}\n", self.name)
    }

    /// An error about its value, with a right one. What is known to help comes first.
    fn wrong(&self, message: &str, help: Option<&str>) -> Error {
        let help = help.map_or_else(String::new, |help| format!("{help}; "));
        let PipelineKey { name, about, example, .. } = self;
        Error::pipeline(format!("`pipeline.{name}`: {message}"))
            .with_hint(format!("{help}write it like `{name} = {example}`; it is {about}"))
    }
}

/// The filter of a band that names none.
fn usual_kind() -> Value {
    json!({ "zero_phase": { "order": 4 } })
}

impl Pipeline {
    /// The same with some settings replaced: a table of keys as in `[pipeline]` of a configuration. Short forms are understood:
    /// `band = [0.5, 40]`, `pick = ["C3"]`, `reference = ["M1"]`, `scaling = 50`. `"none"` takes a filter, a rate or a baseline away. A key
    /// nobody knows and a value that does not fit are errors with a right example.
    pub fn changed(&self, given: &Value) -> Result<Pipeline> {
        let Value::Object(given) = given else {
            return Err(Error::pipeline(format!("`pipeline` is a table of settings, not {given}"))
                .with_hint("write its keys one by one, such as `pipeline.band = [0.5, 40]`"));
        };
        given.iter().try_fold(self.clone(), |pipeline, (name, value)| pipeline.with(name, value))
    }

    fn with(&self, name: &str, value: &Value) -> Result<Pipeline> {
        let Some(key) = PIPELINE_KEYS.iter().find(|key| key.name == name) else {
            return Err(unknown("pipeline", name, PIPELINE_KEYS.iter().map(|key| key.name)));
        };
        let unfit = |error: serde_json::Error| key.wrong(&error.to_string(), None);
        let mut all = serde_json::to_value(self).map_err(unfit)?;
        let meant = suggestion(key, &all[name], value)?;
        all[name] = meant;
        let changed: Pipeline = serde_json::from_value(all).map_err(unfit)?;
        changed.check().map_err(|error| match &error {
            Error::Pipeline { message, hint } => key.wrong(message, hint.as_deref()),
            Error::Data { message, hint, .. } => key.wrong(message, hint.as_deref()),
        })?;
        Ok(changed)
    }

    /// Every key with its value as TOML, in the shortest form.
    pub fn written(&self) -> Vec<(&'static PipelineKey, String)> {
        let all = serde_json::to_value(self).unwrap_or_default();
        PIPELINE_KEYS.iter().map(|key| (key, toml(&short(key.name, &all[key.name])))).collect()
    }
}

/// What a value means: short forms at length, over the value that is there.
fn suggestion(key: &PipelineKey, own: &Value, given: &Value) -> Result<Value> {
    Ok(match (key.name, given) {
        // JSON has no other word for numbers that are none.
        (_, Value::Null) => return Err(key.wrong("is no finite number", None)),
        ("notch_hz" | "band" | "rate_hz" | "baseline_s" | "ocular" | "epoch_band", Value::String(text))
            if text == "none" =>
        {
            Value::Null
        }
        ("pick", Value::Array(_)) => json!({ "names": given }),
        ("reference" | "ocular", Value::Array(_)) => json!({ "channels": given }),
        ("scaling", Value::Number(_)) => json!({ "by": given }),
        ("band" | "epoch_band", Value::Array(edges)) => match &edges[..] {
            [low, high] => band(key, own, [("low_hz", low), ("high_hz", high)])?,
            _ => return Err(key.wrong(&format!("{} numbers are no two edges", edges.len()), None)),
        },
        ("band" | "epoch_band", Value::Object(given)) => {
            band(key, own, given.iter().map(|(k, v)| (k.as_str(), v)))?
        }
        _ => given.clone(),
    })
}

/// A band with some of its settings over those that are there.
fn band<'a>(
    key: &PipelineKey,
    own: &Value,
    given: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> Result<Value> {
    let none = json!({ "low_hz": null, "high_hz": null, "kind": usual_kind() });
    let mut band: Map<String, Value> = own.as_object().or(none.as_object()).cloned().unwrap_or_default();
    for (name, value) in given {
        if !band.contains_key(name) {
            return Err(unknown(&format!("pipeline.{}", key.name), name, band.keys().map(String::as_str)));
        }
        let value = match (name, value) {
            (_, Value::Null) => return Err(key.wrong(&format!("`{name}` is no finite number"), None)),
            ("low_hz" | "high_hz", Value::String(text)) if text == "none" => Value::Null,
            ("kind", Value::String(text)) if ["zero_phase", "causal"].contains(&&**text) => {
                json!({ text.as_str(): { "order": 4 } })
            }
            _ => value.clone(),
        };
        band.insert(name.to_string(), value);
    }
    Ok(Value::Object(band))
}

fn unknown<'a>(table: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.collect();
    let pairs = || known.iter().map(|key| (*key, *key));
    let (nearest, meant) = (nearest::nearest(name, pairs()), nearest::suggestion(name, pairs()));
    let example = nearest.and_then(|near| PIPELINE_KEYS.iter().find(|key| key.name == near));
    let example = example.map_or_else(String::new, |key| format!("write `{} = {}`; ", key.name, key.example));
    Error::pipeline(format!("there is no key `{table}.{name}`"))
        .with_hint(format!("{meant}{example}known here are {}", known.join(", ")))
}

/// The form people write where there is one.
fn short(name: &str, value: &Value) -> Value {
    match (name, value) {
        ("pick", Value::Object(all)) => all.get("names").unwrap_or(value).clone(),
        ("reference" | "ocular", Value::Object(all)) => all.get("channels").unwrap_or(value).clone(),
        ("scaling", Value::Object(all)) => all.get("by").unwrap_or(value).clone(),
        ("band" | "epoch_band", Value::Object(band)) if band.get("kind") == Some(&usual_kind()) => {
            json!([band.get("low_hz"), band.get("high_hz")])
        }
        _ => value.clone(),
    }
}

/// A value on one line of TOML. What is not there is `"none"`.
fn toml(value: &Value) -> String {
    let list = |all: Vec<String>| all.join(", ");
    match value {
        Value::Null => "\"none\"".into(),
        Value::Array(all) => format!("[{}]", list(all.iter().map(toml).collect())),
        Value::Object(all) => {
            format!(
                "{{ {} }}",
                list(all.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect())
            )
        }
        // Texts of JSON are texts of TOML.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alignment::Alignment;
    use crate::pipeline::{Band, FilterKind, OcularRegression, Pick, Reference, Scaling};

    fn zero_phase(low_hz: Option<f64>, high_hz: Option<f64>) -> Option<Band> {
        Some(Band { low_hz, high_hz, kind: FilterKind::ZeroPhase { order: 4 } })
    }

    fn changed(given: Value) -> Result<Pipeline> {
        let own =
            Pipeline { band: zero_phase(Some(0.5), Some(45.0)), rate_hz: Some(100.0), ..Pipeline::default() };
        own.changed(&given)
    }

    #[test]
    fn issue_19_every_key_of_a_pipeline_is_in_the_table() {
        // Keys that are left out of what is written, unless they are set, keep pipelines of earlier versions as they were.
        let default = serde_json::to_value(Pipeline::default()).unwrap();
        assert!(default.get("ocular").is_none() && default.get("epoch_band").is_none());
        let set = Pipeline {
            ocular: Some(OcularRegression::Frontal),
            epoch_band: zero_phase(Some(8.0), None),
            ..Pipeline::default()
        };
        let Value::Object(all) = serde_json::to_value(set).unwrap() else { panic!("no table") };
        let mut known: Vec<&str> = PIPELINE_KEYS.iter().map(|key| key.name).collect();
        known.sort_unstable();
        assert_eq!(all.keys().map(String::as_str).collect::<Vec<_>>(), known);
    }

    #[test]
    fn issue_19_short_forms_are_understood() {
        let default = Pipeline::default();
        assert_eq!(
            default.changed(&json!({ "band": [0.5, 40] })).unwrap().band,
            zero_phase(Some(0.5), Some(40.0))
        );
        assert_eq!(changed(json!({ "band": ["none", 30] })).unwrap().band, zero_phase(None, Some(30.0)));
        assert_eq!(
            changed(json!({ "band": { "high_hz": 20 } })).unwrap().band,
            zero_phase(Some(0.5), Some(20.0))
        );
        // A filter of another kind stays where only the edges are given.
        let causal = json!({ "band": { "low_hz": 8, "kind": { "causal": { "order": 2 } } } });
        let causal = default.changed(&causal).unwrap();
        let kind = FilterKind::Causal { order: 2 };
        assert_eq!(causal.band, Some(Band { low_hz: Some(8.0), high_hz: None, kind }));
        let edges = causal.changed(&json!({ "band": [1, 2] })).unwrap();
        assert_eq!(edges.band.map(|band| band.kind), Some(kind));
        let named = default.changed(&json!({ "band": { "low_hz": 1, "kind": "causal" } })).unwrap();
        assert_eq!(named.band.map(|band| band.kind), Some(FilterKind::Causal { order: 4 }));
        let several = changed(json!({
            "pick": ["C3"], "reference": ["M1"], "scaling": 50, "rate_hz": "none", "band": "none", "alignment": "euclidean",
        }))
        .unwrap();
        assert_eq!(several.pick, Pick::Names(vec!["C3".into()]));
        assert_eq!(several.reference, Reference::Channels(vec!["M1".into()]));
        assert_eq!((several.scaling, several.rate_hz, several.band), (Scaling::By(50.0), None, None));
        assert_eq!(several.alignment, Alignment::Euclidean);
        assert_eq!(several.changed(&json!({ "scaling": "none" })).unwrap().scaling, Scaling::None);
        let eyes =
            changed(json!({ "ocular": "frontal", "pick": "frontal", "epoch_band": [7.5, 31] })).unwrap();
        assert_eq!(
            (eyes.ocular.clone(), eyes.pick.clone()),
            (Some(OcularRegression::Frontal), Pick::Frontal)
        );
        assert_eq!(eyes.epoch_band, zero_phase(Some(7.5), Some(31.0)));
        let named = eyes.changed(&json!({ "ocular": ["Fp1"], "epoch_band": "none" })).unwrap();
        assert_eq!(named.ocular, Some(OcularRegression::Channels(vec!["Fp1".into()])));
        assert_eq!(
            (named.epoch_band, named.changed(&json!({ "ocular": "none" })).unwrap().ocular),
            (None, None)
        );
        let long = json!({ "pick": { "names": ["Cz"] }, "reference": { "channels": ["M2"] }, "scaling": { "by": 2 } });
        assert_eq!(several.changed(&long).unwrap().pick, Pick::Names(vec!["Cz".into()]));
    }

    #[test]
    fn issue_19_errors_show_a_right_example() {
        for (given, says, hints) in [
            (
                json!({ "windw_s": [0, 1] }),
                "no key `pipeline.windw_s`",
                ["is `window_s` meant?", "window_s = [0.0, 4.0]"],
            ),
            (
                json!({ "band": { "hi_hz": 20 } }),
                "no key `pipeline.band.hi_hz`",
                ["is `high_hz` meant?", "low_hz"],
            ),
            (json!({ "band": 3 }), "`pipeline.band`: ", ["band = [0.5, 40]", "pass band"]),
            (json!({ "band": [1, 2, 3] }), "3 numbers are no two edges", ["band = [0.5, 40]", ""]),
            (json!({ "band": [40, 0.5] }), "is empty", ["must be below", "band = [0.5, 40]"]),
            (json!({ "band": ["none", "none"] }), "without edges", ["band = [0.5, 40]", ""]),
            (json!({ "band": { "kind": { "fur": 1 } } }), "`fur`", ["fir = { taps = 401 }", ""]),
            (json!({ "window_s": [1, 0] }), "is not a window", ["before its end", "window_s = [0.0, 4.0]"]),
            (json!({ "window_s": 3 }), "`pipeline.window_s`: invalid type", ["window_s = [0.0, 4.0]", ""]),
            (json!({ "rate_hz": null }), "is no finite number", ["rate_hz = 100", ""]),
            (json!({ "pick": "C3" }), "unknown variant `C3`", ["pick = [\"C3\"", ""]),
            (json!({ "alignment": "sideways" }), "sideways", ["riemannian-stream", ""]),
            (json!(3), "is a table of settings, not 3", ["pipeline.band = [0.5, 40]", ""]),
        ] {
            let error = changed(given.clone()).unwrap_err();
            assert!(error.to_string().contains(says), "{given}: {error}");
            for hint in hints {
                assert!(error.hint().unwrap().contains(hint), "{given}: {:?}", error.hint());
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let causal = Band { low_hz: Some(1.0), high_hz: None, kind: FilterKind::Fir { taps: 401 } };
        for pipeline in [
            Pipeline::default(),
            changed(json!({ "pick": ["a\"b"], "scaling": 50, "baseline_s": [-0.2, 0] })).unwrap(),
            changed(json!({ "pick": "frontal", "ocular": ["Fp1"], "epoch_band": [7.5, 31] })).unwrap(),
            changed(json!({ "ocular": "frontal", "epoch_band": ["none", 31] })).unwrap(),
            Pipeline { band: Some(causal), notch_hz: Some(50.0), ..Pipeline::default() },
        ] {
            let written = pipeline.written();
            assert_eq!(written.len(), PIPELINE_KEYS.len());
            // Values of one line of TOML but tables are values of JSON.
            let read: Map<String, Value> = written
                .iter()
                .filter(|(_, value)| !value.starts_with('{'))
                .map(|(key, value)| (key.name.to_string(), serde_json::from_str(value).unwrap()))
                .collect();
            let own = Pipeline { band: pipeline.band, ..Pipeline::default() };
            assert_eq!(own.changed(&Value::Object(read)).unwrap(), pipeline);
        }
        let entry = PIPELINE_KEYS[3].entry("[8, 30]", false);
        assert!(entry.starts_with("# pass band in Hz") && entry.ends_with("\n#band = [8, 30]\n"), "{entry}");
        assert!(entry.lines().count() > 2 && entry.lines().all(|line| line.len() <= WIDTH), "{entry}");
        assert!(PIPELINE_KEYS[3].entry("[8, 30]", true).ends_with("\nband = [8, 30]\n"));
        let band = |pipeline: &Pipeline| pipeline.written()[3].1.clone();
        assert_eq!(band(&changed(json!({})).unwrap()), "[0.5, 45.0]");
        let low = Pipeline { band: Some(causal), ..Pipeline::default() };
        assert_eq!(band(&low), "{ high_hz = \"none\", kind = { fir = { taps = 401 } }, low_hz = 1.0 }");
    }

    #[test]
    fn examples_are_right() {
        for key in PIPELINE_KEYS {
            let value: Value = serde_json::from_str(key.example).unwrap();
            Pipeline::default().changed(&json!({ key.name: value })).unwrap();
        }
    }
}

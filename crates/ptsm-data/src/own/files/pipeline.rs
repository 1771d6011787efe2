//! `[pipeline]` of a manifest: the same keys as in configuration files, over the pipeline that suits the recordings.

use std::path::Path;

use ptsm_signal::Pipeline;
use serde_json::Value;

use super::text::meant;
use crate::error::{Error, Result};

/// A pipeline with some of its settings replaced. `"none"` takes one away.
pub(super) fn changed(pipeline: &Pipeline, changes: &toml::Table, path: &Path) -> Result<Pipeline> {
    let refuse = |message: String, hint: String| Error::Content {
        path: path.to_path_buf(),
        message,
        hint: Some(hint),
    };
    let unfit = |error: serde_json::Error| {
        refuse(format!("`[pipeline]`: {error}"), "write it as in a configuration file".into())
    };
    let known = serde_json::to_value(pipeline).map_err(unfit)?;
    let given = serde_json::to_value(changes).map_err(unfit)?;
    let merged = over("pipeline", &known, &given).map_err(|(message, hint)| refuse(message, hint))?;
    let changed: Pipeline = serde_json::from_value(merged).map_err(unfit)?;
    changed.check().map_err(|error| {
        refuse(format!("`[pipeline]`: {error}"), error.hint().unwrap_or("mend the setting").to_string())
    })?;
    Ok(changed)
}

/// Changes over what is known, table by table.
fn over(place: &str, known: &Value, given: &Value) -> Result<Value, (String, String)> {
    match (known, given) {
        (Value::Object(known), Value::Object(given)) => {
            let mut merged = known.clone();
            for (key, value) in given {
                let place = format!("{place}.{key}");
                let Some(default) = known.get(key) else {
                    let all: Vec<String> = known.keys().cloned().collect();
                    return Err((format!("there is no key `{place}`"), meant(key, &all)));
                };
                merged.insert(key.clone(), over(&place, default, value)?);
            }
            Ok(Value::Object(merged))
        }
        // The only thing in TOML that JSON has no word for.
        (_, Value::Null) => Err((format!("`{place}` is no finite number"), "give a number".into())),
        // TOML has no null. Where the setting is a text of its own, `none` is one of its values.
        (Value::String(_), _) => Ok(given.clone()),
        (_, Value::String(text)) if text == "none" => Ok(Value::Null),
        _ => Ok(given.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ptsm_signal::{Alignment, Band, FilterKind, Pick, Scaling};

    use super::*;

    fn change(text: &str) -> Result<Pipeline> {
        let kind = FilterKind::ZeroPhase { order: 4 };
        let band = Some(Band { low_hz: Some(0.5), high_hz: Some(45.0), kind });
        let own = Pipeline { band, rate_hz: Some(100.0), ..Pipeline::default() };
        changed(&own, &toml::from_str(text).unwrap(), Path::new("m.toml"))
    }

    #[test]
    fn some_settings_are_replaced() {
        let pipeline = change(
            "window_s = [0.0, 0.8]\nband = { high_hz = 20 }\nrate_hz = \"none\"\npick = { names = [\"Cz\"] }\nscaling = \"none\"\n\
             alignment = \"euclidean\"\n",
        )
        .unwrap();
        assert_eq!((pipeline.window_s, pipeline.rate_hz), ([0.0, 0.8], None));
        assert_eq!(pipeline.band.map(|b| (b.low_hz, b.high_hz)), Some((Some(0.5), Some(20.0))));
        assert_eq!(pipeline.pick, Pick::Names(vec!["Cz".into()]));
        assert_eq!((pipeline.scaling, pipeline.alignment), (Scaling::None, Alignment::Euclidean));
        assert_eq!(change("band = \"none\"").unwrap().band, None);
    }

    #[test]
    fn settings_that_do_not_fit_are_named() {
        for (text, says, hint) in [
            ("windw_s = [0, 1]", "there is no key `pipeline.windw_s`", "is `window_s` meant?"),
            ("band = { hi_hz = 20 }", "there is no key `pipeline.band.hi_hz`", "high_hz"),
            ("window_s = [1, 0]", "is not a window", "before its end"),
            ("rate_hz = nan", "`pipeline.rate_hz` is no finite number", "a number"),
            ("window_s = 3", "`[pipeline]`", "configuration file"),
        ] {
            let error = change(text).unwrap_err();
            let hinted = error.hint().unwrap();
            assert!(error.to_string().contains(says) && hinted.contains(hint), "{error} {hinted}");
        }
    }
}

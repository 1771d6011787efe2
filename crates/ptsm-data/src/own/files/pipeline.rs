//! `[pipeline]` of a manifest: the same keys as in configuration files, over the pipeline that suits the recordings.

use std::path::Path;

use ptsm_signal::Pipeline;

use crate::error::{Error, Result};

/// A pipeline with some of its settings replaced. `"none"` takes one away.
pub(super) fn changed(pipeline: &Pipeline, changes: &toml::Table, path: &Path) -> Result<Pipeline> {
    let refuse = |message: String, hint: &str| Error::Content {
        path: path.to_path_buf(),
        message,
        hint: Some(format!("{hint}; `ptsm data pipeline` explains every key")),
    };
    let given = serde_json::to_value(changes)
        .map_err(|error| refuse(format!("`[pipeline]`: {error}"), "write it as in a configuration file"))?;
    pipeline.changed(&given).map_err(|error| match &error {
        ptsm_signal::Error::Pipeline { message, hint } => {
            refuse(message.clone(), hint.as_deref().unwrap_or("mend the setting"))
        }
        other => refuse(other.to_string(), "mend the setting"),
    })
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
        let edges = |text: &str| change(text).unwrap().band.map(|b| (b.low_hz, b.high_hz, b.kind));
        let kind = FilterKind::ZeroPhase { order: 4 };
        assert_eq!(edges("band = [0.5, 40]"), Some((Some(0.5), Some(40.0), kind)));
    }

    #[test]
    fn settings_that_do_not_fit_are_named() {
        for (text, says, hint) in [
            ("windw_s = [0, 1]", "there is no key `pipeline.windw_s`", "is `window_s` meant?"),
            ("band = { hi_hz = 20 }", "there is no key `pipeline.band.hi_hz`", "high_hz"),
            ("window_s = [1, 0]", "is not a window", "before its end"),
            ("rate_hz = nan", "`pipeline.rate_hz`: is no finite number", "rate_hz = 100"),
            ("window_s = 3", "`pipeline.window_s`: invalid type", "write it like `window_s = [0.0, 4.0]`"),
            ("band = [40, 0.5]", "`pipeline.band`: ", "write it like `band = [0.5, 40]`"),
            ("pick = 3", "`pipeline.pick`: ", "`ptsm data pipeline` explains every key"),
        ] {
            let error = change(text).unwrap_err();
            let hinted = error.hint().unwrap();
            assert!(error.to_string().contains(says) && hinted.contains(hint), "{error} {hinted}");
        }
    }
}

//! `--try KEY=VALUES`, taken apart.

use crate::error::{Error, Result};
use crate::settings::{self, SettingChanges};
use crate::tune::{Dimension, SettingValues};

/// Everything that is tried, in the order in which it was given.
pub(super) fn parse(given: &[String]) -> Result<Vec<Dimension>> {
    given.iter().map(|text| one(text)).collect()
}

fn one(text: &str) -> Result<Dimension> {
    let refuse = |message: &str, hint: &str| Err(Error::request(format!("`--try {text}` {message}"), hint));
    let Some((key, values)) = text.split_once('=') else {
        return refuse("has no `=`", "write `--try training.rate=1e-4,1e-3`");
    };
    let (key, values) = (key.trim(), values.trim());
    if key.is_empty() || key.split('.').any(str::is_empty) {
        return refuse("has no key", "write `--try training.rate=1e-4,1e-3`");
    }
    if !SettingChanges::is_tunable(key) {
        return refuse("names no setting", "settings, `pipeline.KEY` and `align` can be tried");
    }
    let values = match values.split_once(':') {
        Some((kind @ ("log" | "lin" | "int"), ends)) => {
            let Some(range) = range(kind, ends) else {
                return refuse("is no range", "write `log:1e-4..1e-2`, `lin:0..1` or `int:2..8`");
            };
            range
        }
        _ => SettingValues::List(list(key, values)?),
    };
    values.check(key)?;
    Ok(Dimension { key: key.into(), values })
}

fn range(kind: &str, ends: &str) -> Option<SettingValues> {
    let (low, high) = ends.split_once("..")?;
    let (low, high) = (low.trim(), high.trim());
    Some(match kind {
        "log" => SettingValues::Logarithmic(low.parse().ok()?, high.parse().ok()?),
        "lin" => SettingValues::Linear(low.parse().ok()?, high.parse().ok()?),
        _ => SettingValues::Whole(low.parse().ok()?, high.parse().ok()?),
    })
}

/// Values between commas. A comma inside of brackets or quotes is the value's own.
fn list(key: &str, text: &str) -> Result<Vec<serde_json::Value>> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quoted) = (0usize, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim()).collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(Error::request(
            format!("`--try {key}={text}` has an empty value"),
            "write values between commas: `--try training.rate=1e-4,1e-3`",
        ));
    }
    parts.into_iter().map(|part| settings::value(key, part)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_and_ranges_are_understood() {
        let values = |text: &str| one(text).unwrap().values;
        assert_eq!(values("a.b=1,2.5, x"), SettingValues::List(vec![json!(1), json!(2.5), json!("x")]));
        assert_eq!(values("a=[8,8],[16,16]"), SettingValues::List(vec![json!([8, 8]), json!([16, 16])]));
        assert_eq!(values("a=true,none"), SettingValues::List(vec![json!(true), json!("none")]));
        assert_eq!(values("a=log:1e-4..1e-2"), SettingValues::Logarithmic(1e-4, 1e-2));
        assert_eq!(values("a=lin:0..1"), SettingValues::Linear(0.0, 1.0));
        assert_eq!(values("a=int:2..8"), SettingValues::Whole(2, 8));
        assert_eq!(one("align=none,euclidean").unwrap().key, "align");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "",
            "a",
            "=1",
            "a..b=1",
            "a=",
            "a=1,,2",
            "a=log:1",
            "a=int:1..2.5",
            "a=lin:2..1",
            "seed=1,2",
            "model=x",
        ] {
            assert!(one(text).is_err(), "{text}");
        }
    }
}

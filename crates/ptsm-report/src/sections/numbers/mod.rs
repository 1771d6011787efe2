//! What a page is made of as a file, from which it can be drawn again without data or decoder.
//!
//! | key | value |
//! | --- | --- |
//! | `kind` | `ptsm report numbers` |
//! | `format` | `1` |
//! | `version` | of the program that wrote it |
//! | `material` | everything that sections are drawn from |
//!
//! Numbers have seven significant digits. A subject is named by no more than a number: what subjects are recognised by stays in the run's folder.

mod read;
mod rounded;
mod shape;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::read::JsonReader;
use self::rounded::RoundedNumbers;
use super::Material;
use ptsm_eval::{Error, ErrorContext, Result};

const KIND: &str = "ptsm report numbers";
const FORMAT: u64 = 1;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<M> {
    kind: String,
    format: u64,
    version: String,
    material: M,
}

impl Material {
    /// The text of its file.
    pub fn to_numbers(&self) -> Result<Vec<u8>> {
        let document = Document {
            kind: KIND.into(),
            format: FORMAT,
            version: VERSION.into(),
            material: RoundedNumbers(self),
        };
        let mut text =
            serde_json::to_vec(&document).while_doing(|| "the numbers cannot be written down".into())?;
        text.push(b'\n');
        Ok(text)
    }

    /// Reads its file.
    pub fn from_numbers(path: &Path) -> Result<Material> {
        let bytes = std::fs::read(path).map_err(|e| {
            Error::request(
                format!("{} cannot be read: {e}", path.display()),
                "`--numbers FILE.json` of `ptsm report` or `ptsm explain` writes such a file",
            )
        })?;
        let document = understood(&bytes, path)?;
        let again = "write it again with `--numbers`, by the version of this program that is to read it";
        let wrong =
            |what: String| Error::request(format!("{} is not understood: {what}", path.display()), again);
        let made: Document<Material> =
            serde_path_to_error::deserialize(JsonReader(document)).map_err(|e| wrong(e.to_string()))?;
        match shape::wrong(&made.material) {
            Some(what) => Err(wrong(what)),
            None => Ok(made.material),
        }
    }
}

/// The document, if it is one of ours.
fn understood(bytes: &[u8], path: &Path) -> Result<Value> {
    let path = path.display();
    let document: Value = serde_json::from_slice(bytes).map_err(|e| match e.is_eof() {
        true => Error::request(
            format!("{path} is cut short after {} bytes", bytes.len()),
            "copy or write it again",
        ),
        false => Error::request(
            format!("{path} is no JSON document: {e}"),
            "give a file that `--numbers` wrote, or write it again",
        ),
    })?;
    if document.get("kind").and_then(Value::as_str) != Some(KIND) {
        return Err(Error::request(
            format!("{path} does not hold the numbers of a report"),
            "give a file that `--numbers` of `ptsm report` or `ptsm explain` wrote",
        ));
    }
    let said = |key: &str| document.get(key).map_or("none".into(), Value::to_string);
    match document.get("format").and_then(Value::as_u64) {
        Some(FORMAT) => Ok(document),
        Some(newer) if newer > FORMAT => Err(Error::request(
            format!("{path} has format {newer}, and this is ptsm {VERSION}, which knows format {FORMAT}"),
            format!("use ptsm {} or later, which wrote it", said("version").trim_matches('"')),
        )),
        _ => Err(Error::request(
            format!("{path} has the format {}, which there never was", said("format")),
            "write it again with `--numbers`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json")
    }

    #[test]
    fn what_is_read_is_written_again_to_the_byte() {
        let read = Material::from_numbers(&golden()).unwrap();
        assert!(read.to_numbers().unwrap() == std::fs::read(golden()).unwrap());
    }

    /// `--figure` refuses other names before anything is computed.
    #[test]
    fn every_figure_has_a_name_that_its_section_declares() {
        let material = Material::from_numbers(&golden()).unwrap();
        let mut sections = 0;
        for kind in super::super::SECTIONS {
            let page = super::super::build(&material, &[kind], false);
            for (name, _) in super::super::figures(&page) {
                assert!(kind.may_draw(&name), "`{name}` is not among the figures of `{}`", kind.name);
                sections += 1;
            }
        }
        assert!(sections > 30, "{sections}");
    }

    #[test]
    fn numbers_are_rounded_and_none_is_lost() {
        let values =
            [1.0 / 3.0, 123_456_789.0, -0.0, 1.23456789e-20, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let text = serde_json::to_string(&RoundedNumbers(&values)).unwrap();
        assert_eq!(text, r#"[0.3333333,123456800.0,-0.0,1.234568e-20,null,"inf","-inf"]"#);
        let back = Vec::<f64>::deserialize(JsonReader(serde_json::from_str(&text).unwrap())).unwrap();
        assert!(back[4].is_nan() && back[5] == f64::INFINITY && back[6] == f64::NEG_INFINITY);
        let none = Option::<f64>::deserialize(JsonReader(Value::Null)).unwrap();
        assert_eq!(none, None);
    }
}

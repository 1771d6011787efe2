//! Settings of decoders and pipelines, as a TOML file and `key=value` pairs change them: pairs over file over default.

use std::path::Path;

use ptsm_decode::registry::Method;
use ptsm_decode::settings::nearest;
use ptsm_signal::{Alignment, Layout, Pipeline};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorContext, Result};

/// SettingChanges to settings, as a file and `--set` give them.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct SettingChanges(Map<String, Value>);

/// Keys of a configuration file that are not settings of a decoder.
const OUTSIDE: [&str; 12] = [
    "model",
    "data",
    "root",
    "with",
    "subjects",
    "paradigm",
    "symmetry",
    "source_only",
    "seed",
    "seeds",
    "align",
    TUNED_ON,
];
/// The key of what subjects are recognised by on whom settings were tuned: they are not tested.
pub const TUNED_ON: &str = "tuned_on";

impl SettingChanges {
    /// A TOML file, then `key=value` pairs over it.
    pub fn read(file: Option<&Path>, pairs: &[String]) -> Result<SettingChanges> {
        let mut changes = match file {
            None => Map::new(),
            Some(path) => {
                let text = text(path)?;
                let table: toml::Table = toml::from_str(&text).map_err(|e| {
                    Error::request(
                        format!("{} is not TOML: {}", path.display(), e.to_string().trim_end()),
                        "correct that line",
                    )
                })?;
                table
                    .into_iter()
                    .map(|(key, value)| Ok((key.clone(), json(&key, value)?)))
                    .collect::<Result<_>>()?
            }
        };
        for pair in pairs {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(Error::request(
                    format!("`--set {pair}` has no `=`"),
                    "write `--set training.epochs=20`",
                ));
            };
            put(&mut changes, key.trim(), value.trim())?;
        }
        Ok(SettingChanges(changes))
    }

    /// A key of the file that stands outside the decoder's settings.
    pub fn outside<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        let read = serde_json::from_value(value.clone());
        read.map(Some)
            .map_err(|e| Error::request(format!("configuration: `{key}`: {e}"), "see `ptsm train --help`"))
    }

    /// Whether `ptsm tune` can try values of a key: any setting, and how trials are prepared.
    pub fn is_tunable(key: &str) -> bool {
        key == "align" || !OUTSIDE.contains(&key)
    }

    /// The same with one more value under a full key.
    pub fn put(mut self, key: &str, value: Value) -> SettingChanges {
        insert(&mut self.0, key, value);
        self
    }

    /// The same for ensembles of so many members, where a number is given.
    pub fn ensemble(self, members: Option<usize>) -> SettingChanges {
        match members {
            Some(members) => self.put(ptsm_decode::ensemble::KEY, members.into()),
            None => self,
        }
    }

    /// The same for networks that are distilled from so many members, where a number is given; 0 for none.
    pub fn distil(self, members: Option<usize>) -> SettingChanges {
        use ptsm_decode::distillation::KEY;
        match members {
            None => self,
            Some(0) => self.put(KEY, 0.into()),
            // What a file says of its weight and temperature stays.
            Some(members) => self.put(&format!("{KEY}.members"), members.into()),
        }
    }

    /// The same for decoders that are recentred by these trials, where some are named.
    pub fn recentring(self, trials: Option<&str>) -> SettingChanges {
        match trials {
            Some(trials) => self.put(ptsm_decode::recentring::KEY, trials.into()),
            None => self,
        }
    }

    /// The same for decoders whose batch norms are adapted by these trials, where some are named.
    pub fn norms(self, trials: Option<&str>) -> SettingChanges {
        match trials {
            Some(trials) => self.put(ptsm_decode::norms::KEY, trials.into()),
            None => self,
        }
    }

    /// All of it as data.
    pub fn value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// As a configuration file.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(&without_null(&self.value()))
            .while_doing(|| "the settings cannot be written as TOML".into())
    }

    /// The decoder's name and the seeds: those given, else those of the settings, else `ptsm` and one seed.
    pub fn model_and_seeds(
        &self,
        model: Option<&str>,
        seed: Option<u64>,
        seeds: Option<usize>,
    ) -> Result<(String, Vec<u64>)> {
        let name = match model {
            Some(name) => name.to_string(),
            None => self.outside("model")?.unwrap_or_else(|| "ptsm".to_string()),
        };
        let (first, n) = (seed.or(self.outside("seed")?), seeds.or(self.outside("seeds")?));
        Ok((name, self::seeds(first, n)?))
    }

    /// The pipeline with the file's `[pipeline]` over it.
    pub fn pipeline(&self, default: &Pipeline, align: Option<Alignment>) -> Result<Pipeline> {
        let mut pipeline = match self.0.get("pipeline") {
            None => default.clone(),
            Some(given) => default.changed(given).map_err(wrong_pipeline)?,
        };
        if let Some(align) = align {
            pipeline.alignment = align;
        }
        pipeline.check()?;
        Ok(pipeline)
    }

    /// A decoder's settings: its defaults with these changes.
    pub fn settings(&self, method: &Method, layout: &Layout) -> Result<Value> {
        let defaults = method.defaults(layout)?;
        let own: Map<String, Value> = self
            .0
            .iter()
            .filter(|(k, _)| *k != "pipeline" && !OUTSIDE.contains(&k.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let given = absent(&defaults, &Value::Object(own));
        method.settings(layout, &given).map_err(|e| match e {
            ptsm_decode::Error::Key { key, nearest: None, known } if !key.contains('.') => {
                let all = known.iter().map(String::as_str).chain(OUTSIDE).chain(["pipeline"]);
                ptsm_decode::Error::Key { nearest: nearest(&key, all), key, known }.into()
            }
            other => other.into(),
        })
    }

    /// Tables of settings, the later ones over the earlier.
    pub fn layered(tables: &[&toml::Table]) -> Result<SettingChanges> {
        tables.iter().try_fold(SettingChanges::default(), |changes, table| changes.with(table))
    }

    /// The same with a table of settings over it.
    pub fn with(&self, table: &toml::Table) -> Result<SettingChanges> {
        let mut changes = self.clone();
        let Value::Object(given) = json("set", toml::Value::Table(table.clone()))? else {
            return Ok(changes);
        };
        for (key, value) in leaves(&given) {
            if OUTSIDE.contains(&key.as_str()) {
                return Err(Error::request(
                    format!("`set.{key}` is no setting of a decoder"),
                    format!("write `{key}` beside `set`, not in it"),
                ));
            }
            insert(&mut changes.0, &key, value);
        }
        Ok(changes)
    }

    /// Puts these settings over a table's, without what stands outside of a decoder's settings.
    pub fn over(&self, table: &mut toml::Table) -> Result<()> {
        let mut all = SettingChanges::layered(&[table])?;
        for (key, value) in leaves(&self.0).into_iter().filter(|(key, _)| !OUTSIDE.contains(&key.as_str())) {
            insert(&mut all.0, &key, value);
        }
        *table =
            toml::Table::try_from(&all.0).while_doing(|| "the settings cannot be written as TOML".into())?;
        Ok(())
    }

    /// What decides about decoders and their trials, without which data and seeds.
    pub fn of_decoder(&self) -> SettingChanges {
        let kept = |key: &String| key == "align" || !OUTSIDE.contains(&key.as_str());
        SettingChanges(
            self.0.iter().filter(|(key, _)| kept(key)).map(|(k, v)| (k.clone(), v.clone())).collect(),
        )
    }

    /// Whether an error says that a decoder has no such setting, can make no ensemble, cannot be distilled, has no batch norms to adapt, or
    /// is not trained by a recipe.
    pub fn is_unknown_key(error: &Error) -> bool {
        use ptsm_decode::Error::{Key, NoBatchNorms, NoCommonRecipe, NoDistillation, NothingRandom};
        matches!(
            error,
            Error::Decode(
                Key { .. }
                    | NothingRandom { .. }
                    | NoDistillation { .. }
                    | NoBatchNorms { .. }
                    | NoCommonRecipe { .. }
            )
        )
    }

    /// The changes for each of several decoders: a key must fit at least one of them, and those that fit one must also fit together.
    pub fn for_each(&self, methods: &[&'static Method], layout: &Layout) -> Result<Vec<SettingChanges>> {
        let is_of_decoder =
            |key: &str| key != "pipeline" && !key.starts_with("pipeline.") && !OUTSIDE.contains(&key);
        let all: Vec<_> = leaves(&self.0).into_iter().filter(|(key, _)| is_of_decoder(key)).collect();
        let mut own = vec![SettingChanges::default(); methods.len()];
        let mut refused: Vec<Option<Error>> = all.iter().map(|_| None).collect();
        let mut taken = vec![false; all.len()];
        for (changes, method) in own.iter_mut().zip(methods) {
            for (i, (key, value)) in all.iter().enumerate() {
                let mut alone = SettingChanges::default();
                insert(&mut alone.0, key, value.clone());
                // What is wrong with it otherwise may be right beside the others.
                match alone.settings(method, layout) {
                    Err(error) if SettingChanges::is_unknown_key(&error) => {
                        refused[i].get_or_insert(error);
                    }
                    _ => {
                        insert(&mut changes.0, key, value.clone());
                        taken[i] = true;
                    }
                }
            }
        }
        if let Some(error) =
            refused.into_iter().zip(taken).find_map(|(error, taken)| error.filter(|_| !taken))
        {
            return Err(error);
        }
        for (changes, method) in own.iter().zip(methods) {
            changes.settings(method, layout)?;
        }
        Ok(own)
    }
}

/// Every seed is a network of its own in memory.
const MOST_SEEDS: usize = 1000;

/// One seed after the other, from the first (1 without it).
pub fn seeds(first: Option<u64>, n: Option<usize>) -> Result<Vec<u64>> {
    let (first, n) = (first.unwrap_or(1), n.unwrap_or(1));
    if n == 0 {
        return Err(Error::request("no seed means no decoder", "give `--seeds 1` or more"));
    }
    if n > MOST_SEEDS {
        return Err(Error::request(
            format!("{n} seeds are more than can be trained at once"),
            format!("give `--seeds {MOST_SEEDS}` or fewer"),
        ));
    }
    Ok((0..n as u64).map(|i| first.wrapping_add(i)).collect())
}

/// A file of text that a user wrote.
pub fn text(path: &Path) -> Result<String> {
    // What is wrong with the text of a file is told by line; a pipe of a shell can be read only once.
    if path.is_file() {
        return Ok(ptsm_io::read_text(path)?);
    }
    std::fs::read_to_string(path).while_doing(|| format!("{} cannot be read", path.display()))
}

/// TOML has no null: `"none"` means it wherever the default is no text.
fn absent(defaults: &Value, given: &Value) -> Value {
    match (defaults, given) {
        (Value::String(_), _) => given.clone(),
        (_, Value::String(text)) if text == "none" => Value::Null,
        (Value::Object(known), Value::Object(given)) => Value::Object(
            given
                .iter()
                .map(|(k, v)| (k.clone(), known.get(k).map_or_else(|| v.clone(), |d| absent(d, v))))
                .collect(),
        ),
        _ => given.clone(),
    }
}

/// The other way: what a TOML file can hold.
pub fn without_null(value: &Value) -> Value {
    match value {
        Value::Null => Value::String("none".into()),
        Value::Object(all) => Value::Object(all.iter().map(|(k, v)| (k.clone(), without_null(v))).collect()),
        Value::Array(all) => Value::Array(all.iter().map(without_null).collect()),
        other => other.clone(),
    }
}

/// A value of TOML as JSON, which has no NaN and no infinity: they would turn into nothing at all.
fn json(key: &str, value: toml::Value) -> Result<Value> {
    Ok(match value {
        toml::Value::Float(x) if !x.is_finite() => {
            return Err(Error::request(format!("configuration: `{key}` is {x}"), "give a finite number"));
        }
        toml::Value::Float(x) => x.into(),
        toml::Value::Integer(x) => x.into(),
        toml::Value::Boolean(x) => x.into(),
        toml::Value::String(text) => text.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(all) => {
            all.into_iter().map(|value| json(key, value)).collect::<Result<Vec<_>>>()?.into()
        }
        toml::Value::Table(all) => {
            let inner =
                |(name, value): (String, _)| Ok((name.clone(), json(&format!("{key}.{name}"), value)?));
            Value::Object(all.into_iter().map(inner).collect::<Result<_>>()?)
        }
    })
}

/// `key` as TOML where it is, else as text.
fn put(changes: &mut Map<String, Value>, key: &str, value: &str) -> Result<()> {
    if key.is_empty() || key.split('.').any(str::is_empty) {
        return Err(Error::request(
            format!("`--set {key}={value}` has no key"),
            "write `--set training.epochs=20`",
        ));
    }
    insert(changes, key, self::value(key, value)?);
    Ok(())
}

/// A value of TOML, or text where it is none.
pub fn value(key: &str, text: &str) -> Result<Value> {
    let parsed: Result<toml::Table, _> = toml::from_str(&format!("value = {text}"));
    match parsed {
        Ok(table) if table.len() == 1 => json(key, table["value"].clone()),
        _ => Ok(Value::String(text.into())),
    }
}

fn insert(changes: &mut Map<String, Value>, key: &str, value: Value) {
    match key.split_once('.') {
        // An empty table says that a part is wanted with its defaults, and takes nothing away.
        None if value.as_object().is_some_and(Map::is_empty) => {
            let present = changes.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if !present.is_object() {
                *present = value;
            }
        }
        None => {
            changes.insert(key.into(), value);
        }
        Some((table, rest)) => {
            let inner = changes.entry(table).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                // `distil = 5` is short for a table.
                let short = (table == ptsm_decode::distillation::KEY && inner.as_u64() > Some(0))
                    .then(|| ("members".to_string(), inner.take()));
                *inner = Value::Object(short.into_iter().collect());
            }
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

/// Every value that is no table, or an empty one, with its full key.
fn leaves(changes: &Map<String, Value>) -> Vec<(String, Value)> {
    changes
        .iter()
        .flat_map(|(key, value)| match value {
            Value::Object(inner) if !inner.is_empty() => {
                leaves(inner).into_iter().map(|(k, v)| (format!("{key}.{k}"), v)).collect()
            }
            other => vec![(key.clone(), other.clone())],
        })
        .collect()
}

/// A setting of a pipeline that does not fit, with where all of them are explained.
fn wrong_pipeline(error: ptsm_signal::Error) -> Error {
    match error {
        ptsm_signal::Error::Pipeline { message, hint } => Error::request(
            format!("configuration: {message}"),
            format!(
                "{}; `ptsm data pipeline` explains every key",
                hint.unwrap_or("correct the setting".into())
            ),
        ),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use ptsm_decode::registry::find;
    use ptsm_signal::Channel;
    use serde_json::json;

    use super::*;

    fn layout() -> Layout {
        Layout {
            channels: ["C3", "C4"].map(Channel::named).to_vec(),
            samples: 200,
            rate_hz: 100.0,
            start_s: 0.0,
            classes: vec!["left_hand".into(), "right_hand".into()],
            task: Default::default(),
        }
    }

    fn changes(pairs: &[&str]) -> SettingChanges {
        let pairs: Vec<String> = pairs.iter().map(|p| p.to_string()).collect();
        SettingChanges::read(None, &pairs).unwrap()
    }

    #[test]
    fn flags_are_values_of_their_kind() {
        let c = changes(&[
            "training.epochs=3",
            "network.pool=last",
            "training.patience=none",
            "augment.noise=0.1",
        ]);
        let settings = c.settings(find("ptsm").unwrap(), &layout()).unwrap();
        assert_eq!(settings["training"]["epochs"], json!(3));
        assert_eq!(settings["training"]["patience"], json!(null));
        assert_eq!(settings["network"]["pool"], json!("last"));
        assert_eq!(settings["augment"]["noise"], json!(0.1));
        // A text that is a value of its own stays one.
        let c = changes(&["network.masks=none"]);
        assert_eq!(c.settings(find("ptsm").unwrap(), &layout()).unwrap()["network"]["masks"], json!("none"));
    }

    #[test]
    fn issue_19_a_band_is_two_numbers_wherever_it_is_written() {
        let kind = ptsm_signal::FilterKind::ZeroPhase { order: 4 };
        let band = Some(ptsm_signal::Band { low_hz: Some(0.5), high_hz: Some(40.0), kind });
        let own = Pipeline::default();
        let of = |changes: &SettingChanges| changes.pipeline(&own, None).unwrap().band;
        assert_eq!(of(&changes(&["pipeline.band=[0.5,40]"])), band);
        let table: toml::Table = toml::from_str("pipeline.band = [0.5, 40]").unwrap();
        assert_eq!(of(&SettingChanges::layered(&[&table]).unwrap()), band);
        // Flags go over files, also where the file wrote it at length.
        let table: toml::Table = toml::from_str("pipeline.band = { low_hz = 1, high_hz = 2 }").unwrap();
        let mut over = table.clone();
        changes(&["pipeline.band=[0.5,40]"]).over(&mut over).unwrap();
        assert_eq!(of(&SettingChanges::layered(&[&over]).unwrap()), band);
        assert_eq!(of(&changes(&["pipeline.band=none"])), None);
        let error = changes(&["pipeline.band=[40]"]).pipeline(&own, None).unwrap_err();
        assert!(error.to_string().contains("`pipeline.band`: 1 numbers are no two edges"), "{error}");
    }

    #[test]
    fn an_empty_table_asks_for_a_part_with_its_defaults() {
        let of = |tables: &[&str]| {
            let tables: Vec<toml::Table> = tables.iter().map(|t| toml::from_str(t).unwrap()).collect();
            let changes = SettingChanges::layered(&tables.iter().collect::<Vec<_>>()).unwrap();
            changes.settings(find("ptsm").unwrap(), &layout()).unwrap()["network"]["power"].clone()
        };
        let durations = of(&["network.power = {}"]);
        assert!(durations["filters"].as_u64() > Some(0), "{durations}");
        assert_eq!(of(&["network.power = \"none\"", "network.power = {}"]), durations);
        let given = of(&["network.power = { filters = 3 }", "network.power = {}"]);
        assert_eq!(given["filters"], json!(3));
        assert_eq!(changes(&["network.power={}"]).0, changes(&["network={ power={} }"]).0);
    }

    #[test]
    fn several_decoders_share_what_fits() {
        let methods = [find("eegnet").unwrap(), find("csp-lda").unwrap()];
        let c = changes(&["training.epochs=3", "filters=2"]);
        let settings: Vec<Value> = c
            .for_each(&methods, &layout())
            .unwrap()
            .iter()
            .zip(methods)
            .map(|(own, method)| own.settings(method, &layout()).unwrap())
            .collect();
        assert_eq!((&settings[0]["training"]["epochs"], &settings[1]["filters"]), (&json!(3), &json!(2)));
        let error = changes(&["training.epoch=3"]).for_each(&methods, &layout()).unwrap_err();
        assert!(error.to_string().contains("training.epoch"), "{error}");
    }

    #[test]
    fn settings_for_several_decoders_are_judged_together() {
        let of = |given: &[&str], names: &[&str]| {
            let methods: Vec<_> = names.iter().map(|name| find(name).unwrap()).collect();
            let own = changes(given).for_each(&methods, &layout())?;
            own.iter()
                .zip(methods)
                .map(|(own, method)| own.settings(method, &layout()))
                .collect::<Result<Vec<_>>>()
        };
        // Each is possible beside the other only.
        let recentred = of(&["recentring=whole", "frequencies=[0.7,0.3]"], &["eegnet", "csp-lda"]).unwrap();
        assert!(recentred.iter().all(|s| s["frequencies"] == json!([0.7, 0.3])), "{recentred:?}");
        let mirrored = ["training.symmetry=none", "augment.mirror=0.5", "distil=2"];
        let mirrored = of(&mirrored, &["ptsm", "eegnet", "tsmnet"]).unwrap();
        assert!(mirrored[..2].iter().all(|s| s["augment"]["mirror"] == json!(0.5)), "{mirrored:?}");
        assert!(mirrored[..2].iter().all(|s| s["distil"]["members"] == json!(2)), "{mirrored:?}");
        assert!(mirrored[2].get("distil").is_none(), "{mirrored:?}");
        // What contradicts itself is refused, also where another decoder takes only a part of it.
        let error = of(&["ensemble=3", "distil=2"], &["eegnet", "tsmnet"]).unwrap_err().to_string();
        assert!(error.contains("ensemble") && error.contains("distil"), "{error}");
        let error = of(&["norms=whole", "distil=2"], &["eegnet", "acon"]).unwrap_err().to_string();
        assert!(error.contains("norms") && error.contains("distil"), "{error}");
        // A recipe is for networks.
        let settings = of(&["recipe=common"], &["eegnet", "csp-lda"]).unwrap();
        assert_eq!((&settings[0]["recipe"], settings[1].get("recipe")), (&json!("common"), None));
        assert!(of(&["recipe=common"], &["csp-lda"]).is_err());
    }

    #[test]
    fn settings_survive_a_file() {
        let settings = find("ptsm").unwrap().defaults(&layout()).unwrap();
        let text = toml::to_string(&without_null(&settings)).unwrap();
        let read: Map<String, Value> = toml::from_str(&text).unwrap();
        let again = SettingChanges(read).settings(find("ptsm").unwrap(), &layout()).unwrap();
        assert_eq!(again, settings);
    }
}

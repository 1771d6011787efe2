//! The setting that says which recipe a network is trained by.

use serde_json::Value;

use super::Training;
use crate::error::{Error, Result};
use crate::settings::to_value;

/// Which recipe a network is trained by where no key of `training` says otherwise.
///
/// It is a setting of every network of the common trainer, beside `network`, `training` and `augment`; it stands among a decoder's settings
/// only where it is not [`Published`](RecipeName::Published).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecipeName {
    /// That of the decoder's paper, in so far as the decoder does not say how it differs: the decoder's own defaults.
    #[default]
    Published,
    /// The same for all networks: [`Training::default`]. Network and augmentation stay as they are.
    Common,
}

impl RecipeName {
    /// The setting's name.
    pub const KEY: &'static str = "recipe";

    /// What settings ask for.
    pub fn of(settings: &Value) -> Result<RecipeName> {
        match settings.get(RecipeName::KEY).map(|value| (value, value.as_str())) {
            None | Some((_, Some("published"))) => Ok(RecipeName::Published),
            Some((_, Some("common"))) => Ok(RecipeName::Common),
            Some((value, _)) => Err(Error::Configuration(format!(
                "`{}` is {value}; give \"published\" (the decoder's own) or \"common\" (the same for all networks)",
                RecipeName::KEY
            ))),
        }
    }

    /// The same, and the settings without it.
    pub(crate) fn take(mut settings: Value) -> Result<(RecipeName, Value)> {
        let recipe = RecipeName::of(&settings)?;
        settings.as_object_mut().map(|settings| settings.remove(RecipeName::KEY));
        Ok((recipe, settings))
    }

    /// A decoder's defaults with this recipe in place of its own.
    pub(crate) fn over(self, mut defaults: Value) -> Result<Value> {
        if self == RecipeName::Common {
            defaults["training"] = to_value(&Training::default())?;
        }
        Ok(defaults)
    }

    /// Settings with the name of the recipe among them. Those of the published one stay as they are.
    pub(crate) fn noted_in(self, mut settings: Value) -> Value {
        if let (Value::Object(settings), RecipeName::Common) = (&mut settings, self) {
            settings.insert(RecipeName::KEY.into(), "common".into());
        }
        settings
    }
}

//! A network with everything that decides how it is trained.

use std::sync::Arc;

use ptsm_signal::{Layout, Symmetry};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{SymmetryUse, Training};
use crate::augment::Augment;
use crate::error::{Error, Result};
use crate::mirror::Mirror;
use crate::network::Architecture;
use crate::settings::{from_value, to_value};

/// A network, how it is trained, and what is done to its training trials: the settings of a decoder that is trained by gradients.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The network's configuration.
    pub network: Arc<dyn Architecture>,
    /// How it is trained.
    pub training: Training,
    /// Augmentation of its training trials.
    pub augment: Augment,
}

impl Recipe {
    /// The common recipe: [`Training::default`], no augmentation.
    pub fn new(network: impl Architecture + 'static) -> Recipe {
        Recipe { network: Arc::new(network), training: Training::default(), augment: Augment::default() }
    }

    /// As data: `network`, `training`, `augment`.
    pub fn settings(&self) -> Result<Value> {
        Ok(json!({
            "network": self.network.as_settings()?,
            "training": to_value(&self.training)?,
            "augment": to_value(&self.augment.spelled_out())?,
        }))
    }

    /// From data, for networks of one kind.
    pub fn from_settings<N: Architecture + DeserializeOwned + 'static>(
        mut settings: Value,
    ) -> Result<Recipe> {
        if !settings.is_object() {
            return Err(Error::Configuration(format!("settings are a table, got {settings}")));
        }
        let recipe = Recipe {
            network: Arc::new(part::<N>("network", &mut settings)?),
            training: part("training", &mut settings)?,
            augment: part("augment", &mut settings)?,
        };
        recipe.training.check()?;
        recipe.augment.check()?;
        if recipe.training.symmetry != SymmetryUse::None && recipe.augment.strength("mirror") > 0.0 {
            return Err(Error::Configuration(
                "with `training.symmetry` the network sees every trial from both sides already; leave `augment.mirror` at 0, or set `training.symmetry=none` to mirror at random"
                    .into(),
            ));
        }
        if recipe.training.keep_subjects && !recipe.network.may_keep_subjects() {
            return Err(Error::Configuration(format!(
                "`training.keep_subjects`: nothing in `{}` tells the training subjects apart",
                recipe.network.name()
            )));
        }
        Ok(recipe)
    }
}

impl Recipe {
    /// What exchanges the sides of the head in training; none for a network that sees trials as they were recorded.
    pub(crate) fn symmetry_mirror(&self, layout: &Layout) -> Result<Option<Mirror>> {
        let declared = &layout.task.symmetry;
        let fits = match self.training.symmetry {
            SymmetryUse::None => return Ok(None),
            SymmetryUse::Equivariant => *declared != Symmetry::Invariant,
            SymmetryUse::Invariant => !matches!(declared, Symmetry::Swaps(_)),
        };
        if !fits {
            let (asked, other) = match self.training.symmetry {
                SymmetryUse::Invariant => ("that no class changes", "equivariant"),
                _ => ("an exchange of classes", "invariant"),
            };
            return Err(Error::trials(
                format!("the data declare the symmetry `{declared}`, which is not {asked}"),
                format!("set `training.symmetry={other}`, or `training.symmetry=none`"),
            ));
        }
        Mirror::new(layout).map(Some)
    }

    /// What exchanges the sides of the head when it decodes: a network that was trained on mirrored trials looks at both views, too.
    pub(crate) fn decoding_mirror(&self, layout: &Layout) -> Result<Option<Mirror>> {
        if self.augment.strength("mirror") > 0.0 {
            return Mirror::new(layout).map(Some);
        }
        self.symmetry_mirror(layout)
    }
}

/// One of the tables; what does not fit is named with it.
fn part<T: DeserializeOwned>(name: &str, settings: &mut Value) -> Result<T> {
    from_value(settings[name].take()).map_err(|error| match error {
        Error::Configuration(message) => Error::Configuration(format!("[{name}] {message}")),
        other => other,
    })
}

//! What a method's file says about the method: its name, its paper, its capabilities, and how settings become a decoder.
//!
//! A method is a constant of type [`Method`], made by [`Method::network`] (the common trainer trains it), [`Method::classic`] (a closed-form
//! fit, nothing random) or [`Method::own`] (it brings its own fit). All constants are listed in [`registry`](crate::registry::METHODS).

use std::path::Path;

use ptsm_engine::Device;
use ptsm_signal::{Layout, TargetAccess};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::classic::decoder::{Classic, FittedClassic};
use crate::classic::matrices::Matrices;
use crate::composition::Composition;
use crate::decoder::{AdaptationWay, Decoder, FittedDecoder};
use crate::deep::{FittedNetwork, FittedNorms, NormRecipe};
use crate::distillation::{self, Distillation, Distilled};
use crate::ensemble::{self, Ensemble, FittedEnsemble};
use crate::error::{Error, Result};
use crate::network::Architecture;
use crate::norms::{self, NormTrials};
use crate::recentring::{self, FittedRecentred, Recentred, Recentring};
use crate::settings::{adds_parts, from_value, merge, to_value};
use crate::training::{Recipe, RecipeName};

/// Refuses what nobody has thought through: a student whose norms adapt would be taught by teachers whose norms do not.
fn not_both(distillation: &Option<Distillation>, norms: Option<NormTrials>) -> Result<()> {
    match distillation.is_some() && norms.is_some() {
        true => Err(Error::Configuration(
            "`distil` and `norms` are both set, but a distilled network does not adapt its batch norms; leave one of them out"
                .into(),
        )),
        false => Ok(()),
    }
}

/// A decoder by name.
pub struct Method {
    /// What a user types.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The paper.
    pub paper: &'static str,
    /// The paper's DOI; empty where it has none.
    pub doi: &'static str,
    /// In what it differs from the paper, as a few sentences.
    pub differs: &'static str,
    /// What it sees of the test (target) subject, before any alignment.
    pub target_access: TargetAccess,
    /// How a few labelled trials of a subject can adapt it; none where they cannot.
    pub adapts: &'static [AdaptationWay],
    /// Whether it can render trials of one subject as another's.
    pub converts: bool,
    /// Whether its fit depends on the seed.
    pub random: bool,
    /// Whether gradients of its outputs with respect to a trial can be had.
    pub differentiable: bool,
    /// How settings become a decoder.
    pub form: MethodBuilder,
}

/// How settings become a decoder: made by [`Method::network`] or [`Method::own`], or for the classic methods of this crate.
pub struct MethodBuilder(Kind);

enum Kind {
    /// A network that the common trainer trains.
    Network { defaults: fn(&Layout) -> Recipe, read: fn(Value) -> Result<Recipe> },
    /// A method with a fit of its own.
    Own {
        defaults: fn(&Layout) -> Result<Value>,
        build: fn(Value) -> Result<Box<dyn Decoder>>,
        load: fn(&ModelFile<'_>, &Device) -> Result<Box<dyn FittedDecoder>>,
    },
}

/// A model file whose header has been understood.
pub struct ModelFile<'a> {
    /// Where it is; errors name it.
    pub path: &'a Path,
    /// What it holds.
    pub bytes: &'a [u8],
    /// The decoder's settings, all of them.
    pub settings: &'a Value,
    /// The trials it is for.
    pub layout: &'a Layout,
    /// Training subjects it can still tell apart.
    pub known_subjects: usize,
}

impl Method {
    /// A method with nothing said about it yet.
    const fn unnamed(form: MethodBuilder, random: bool, differentiable: bool) -> Method {
        Method {
            name: "",
            about: "",
            paper: "",
            doi: "",
            differs: "",
            target_access: TargetAccess::Nothing,
            adapts: &[],
            converts: false,
            random,
            differentiable,
            form,
        }
    }

    /// A network that the common trainer trains, by its recipe for trials of a layout. To be completed with what there is to say about it:
    /// `Method { name: .., ..Method::network::<N>(..) }`.
    pub const fn network<N: Architecture + DeserializeOwned + 'static>(
        defaults: fn(&Layout) -> Recipe,
    ) -> Method {
        let kind = Kind::Network { defaults, read: Recipe::from_settings::<N> };
        Method {
            adapts: &[AdaptationWay::Head, AdaptationWay::All],
            ..Method::unnamed(MethodBuilder(kind), true, true)
        }
    }

    /// A closed-form fit in which nothing is random.
    pub(crate) const fn classic<C: Classic>() -> Method {
        fn checked<C: Classic>(settings: Value) -> Result<C> {
            let settings = from_value::<C>(settings)?;
            settings.check()?;
            Ok(settings)
        }
        let kind = Kind::Own {
            defaults: |layout| to_value(&C::defaults(layout)),
            build: |settings| Ok(Box::new(checked::<C>(settings)?)),
            load: |file, device| {
                let settings = checked::<C>(file.settings.clone())?;
                let matrices = Matrices::new(file.path, file.bytes);
                Ok(Box::new(FittedClassic::load(&matrices, settings, file.layout, device)?))
            },
        };
        Method::unnamed(MethodBuilder(kind), false, false)
    }

    /// A method with a fit of its own: its settings for a layout, the decoder made of settings, and the fitted decoder from its file.
    pub const fn own(
        defaults: fn(&Layout) -> Result<Value>,
        build: fn(Value) -> Result<Box<dyn Decoder>>,
        load: fn(&ModelFile<'_>, &Device) -> Result<Box<dyn FittedDecoder>>,
    ) -> Method {
        Method::unnamed(MethodBuilder(Kind::Own { defaults, build, load }), true, false)
    }

    /// All settings with the values they have when nobody changes them.
    pub fn defaults(&self, layout: &Layout) -> Result<Value> {
        match &self.form.0 {
            Kind::Network { defaults, .. } => defaults(layout).settings(),
            Kind::Own { defaults, .. } => defaults(layout),
        }
    }

    /// The defaults with some changes laid over them. Every decoder in which something is random also has the setting
    /// [`ensemble`](mod@crate::ensemble), which stands there only where it is more than 1, and every network the setting `recipe`
    /// ([`RecipeName`]), which stands there only where it is not the decoder's own. [`distil`](mod@crate::distillation),
    /// [`recentring`](mod@crate::recentring) and [`norms`](mod@crate::norms) stand there only where they are asked for.
    pub fn settings(&self, layout: &Layout, changes: &Value) -> Result<Value> {
        let (recentring, changes) = recentring::take(changes.clone())?;
        let (norms, changes) = self.norms(changes)?;
        let (members, changes) = self.members(changes)?;
        let (distillation, changes) = self.distillation(changes, members)?;
        not_both(&distillation, norms)?;
        let (recipe, changes) = self.recipe(changes)?;
        let defaults = recipe.over(self.defaults(layout)?)?;
        let mut settings = merge(&defaults, &changes)?;
        if let Kind::Network { read, .. } = &self.form.0
            && (distillation.is_some() || norms.is_some())
        {
            let recipe = read(settings.clone())?;
            if distillation.is_some() {
                self.check_teachable(&recipe)?;
            }
            if norms.is_some() && !NormRecipe::has_norms(&recipe, layout)? {
                return Err(Error::NoBatchNorms { name: self.name.into() });
            }
        }
        if let Kind::Network { read, .. } = &self.form.0
            && adds_parts(&defaults, &changes)
        {
            // All of a part's settings, also those that nobody named: a model file is not to depend on later defaults.
            settings = read(settings)?.settings()?;
        }
        let settings = distillation::with(recipe.noted_in(settings), &distillation)?;
        let settings = norms::with(settings, norms);
        Ok(recentring::with(ensemble::with_size(settings, members), &recentring))
    }

    /// What a decoder with these settings sees of the test (target) subject, before any alignment.
    pub fn target_access_with(&self, settings: &Value) -> Result<TargetAccess> {
        Ok(self.target_access.and(Method::adaptation_access(settings)?))
    }

    /// What the unlabelled adaptation that settings ask for sees of a subject, whatever the decoder.
    pub fn adaptation_access(settings: &Value) -> Result<TargetAccess> {
        let recentring = Recentring::of(settings)?.map_or(TargetAccess::Nothing, |r| r.target_access());
        let norms = NormTrials::of(settings)?.map_or(TargetAccess::Nothing, NormTrials::target_access);
        Ok(recentring.and(norms))
    }

    /// How a few labelled trials of a subject can adapt a decoder with these settings: one that is adapted without labels not at all, one
    /// without personal masks not by those.
    pub fn adaptations(&self, settings: &Value) -> Result<Vec<AdaptationWay>> {
        if Recentring::of(settings)?.is_some() || NormTrials::of(settings)?.is_some() {
            return Ok(vec![]);
        }
        let personal = !matches!(settings["network"]["masks"].as_str(), Some("none" | "common"));
        let can = |way: &AdaptationWay| personal || *way != AdaptationWay::Masks;
        Ok(self.adapts.iter().copied().filter(can).collect())
    }

    /// Whether it can be trained by the common recipe: whether it is a network of the common trainer.
    pub fn takes_common_recipe(&self) -> bool {
        matches!(self.form.0, Kind::Network { .. })
    }

    /// Which recipe settings ask for, and the settings without its name.
    fn recipe(&self, settings: Value) -> Result<(RecipeName, Value)> {
        let (recipe, settings) = RecipeName::take(settings)?;
        match recipe == RecipeName::Common && !self.takes_common_recipe() {
            true => Err(Error::NoCommonRecipe { name: self.name.into() }),
            false => Ok((recipe, settings)),
        }
    }

    /// By which trials settings ask batch norms to be adapted, and the settings without that.
    fn norms(&self, settings: Value) -> Result<(Option<NormTrials>, Value)> {
        let (norms, settings) = norms::take(settings)?;
        match norms.is_some() && !self.takes_common_recipe() {
            true => Err(Error::NoBatchNorms { name: self.name.into() }),
            false => Ok((norms, settings)),
        }
    }

    /// How many members settings ask for, and the settings of each.
    fn members(&self, settings: Value) -> Result<(usize, Value)> {
        let (members, settings) = ensemble::take_size(settings)?;
        match members > 1 && !self.random {
            true => Err(Error::NothingRandom { name: self.name.into(), members }),
            false => Ok((members, settings)),
        }
    }

    /// How settings ask for the decoder to be distilled, and the settings of the network.
    fn distillation(&self, settings: Value, members: usize) -> Result<(Option<Distillation>, Value)> {
        let (distillation, settings) = distillation::take(settings)?;
        if let Some(Distillation { members: teachers, .. }) = distillation {
            if !self.takes_common_recipe() {
                return Err(
                    self.not_distilled("it is no network of the common trainer, which has the loss for it")
                );
            }
            if members > 1 {
                return Err(Error::Configuration(format!(
                    "`ensemble` and `distil` are both set: {members} networks with a teacher of {teachers} members each would be {} trainings for each seed; leave one of them out",
                    members.saturating_mul(teachers + 1)
                )));
            }
        }
        Ok((distillation, settings))
    }

    fn not_distilled(&self, reason: &str) -> Error {
        Error::NoDistillation { name: self.name.into(), reason: reason.into() }
    }

    /// Refuses a network that cannot learn from a teacher.
    fn check_teachable(&self, recipe: &Recipe) -> Result<()> {
        recipe.network.refuses_teacher().map_or(Ok(()), |reason| Err(self.not_distilled(reason)))
    }

    /// How the decoder with these settings is made of fits of another, and the settings of that one.
    pub fn composition(&self, settings: &Value) -> Result<(Composition, Value)> {
        let (recentring, settings) = recentring::take(settings.clone())?;
        let (members, settings) = self.members(settings)?;
        Ok((Composition { members, recentring }, settings))
    }

    /// A decoder from settings that have all keys.
    pub fn build(&self, settings: Value) -> Result<Box<dyn Decoder>> {
        let (recentring, settings) = recentring::take(settings)?;
        let decoder = self.build_members(settings)?;
        Ok(match recentring {
            Some(recentring) => Box::new(Recentred::new(decoder, recentring)),
            None => decoder,
        })
    }

    fn build_members(&self, settings: Value) -> Result<Box<dyn Decoder>> {
        let (members, settings) = self.members(settings)?;
        let (distillation, settings) = self.distillation(settings, members)?;
        let member = self.build_member(settings, distillation)?;
        Ok(if members == 1 { member } else { Box::new(Ensemble::new(member, members)?) })
    }

    fn build_member(&self, settings: Value, distillation: Option<Distillation>) -> Result<Box<dyn Decoder>> {
        let (norms, settings) = self.norms(settings)?;
        let (_, settings) = self.recipe(settings)?;
        let recipe = match &self.form.0 {
            Kind::Network { read, .. } => read(settings)?,
            Kind::Own { build, .. } => return build(settings),
        };
        // Its scores stand beside what the name promises.
        let declared = self.target_access != TargetAccess::Nothing;
        match (recipe.learns_from_target(), declared) {
            (true, false) => {
                return Err(Error::Configuration(format!(
                    "with these settings `{}` would train on unlabelled trials of the test subjects, but its target access is none; leave `network.domains` or `network.target` as it is, or take the transductive form",
                    self.name
                )));
            }
            (false, true) => {
                return Err(Error::Configuration(format!(
                    "with these settings `{}` would see nothing of the test subjects, but its scores would be reported as transductive; take the form with target access none (`ptsm models`)",
                    self.name
                )));
            }
            _ => {}
        }
        Ok(match (distillation, norms) {
            (None, None) => Box::new(recipe),
            (None, Some(trials)) => Box::new(NormRecipe::new(recipe, trials)),
            (Some(distillation), norms) => {
                not_both(&Some(distillation), norms)?;
                self.check_teachable(&recipe)?;
                Box::new(Distilled::new(recipe, distillation))
            }
        })
    }

    /// A fitted decoder from its file.
    pub fn load(&self, file: &ModelFile<'_>, device: &Device) -> Result<Box<dyn FittedDecoder>> {
        let (recentring, settings) = recentring::take(file.settings.clone())?;
        let fitted = self.load_members(&ModelFile { settings: &settings, ..*file }, device)?;
        Ok(match recentring {
            Some(recentring) => Box::new(FittedRecentred::new(fitted.into(), recentring)?),
            None => fitted,
        })
    }

    fn load_members(&self, file: &ModelFile<'_>, device: &Device) -> Result<Box<dyn FittedDecoder>> {
        let (members, settings) = self.members(file.settings.clone())?;
        if members == 1 {
            return self.load_member(file, device);
        }
        let member =
            |bytes: &[u8]| self.load_member(&ModelFile { bytes, settings: &settings, ..*file }, device);
        Ok(Box::new(FittedEnsemble::load(file.path, file.bytes, members, member)?))
    }

    fn load_member(&self, file: &ModelFile<'_>, device: &Device) -> Result<Box<dyn FittedDecoder>> {
        let (norms, settings) = self.norms(file.settings.clone())?;
        match &self.form.0 {
            Kind::Network { read, .. } => {
                // Its teacher is not in the file: it decodes as any network.
                let (_, settings) = distillation::take(settings)?;
                let (_, settings) = self.recipe(settings)?;
                let recipe = read(settings)?;
                let read = (file.path, file.bytes);
                let fitted = FittedNetwork::load(read, recipe, file.layout, file.known_subjects, device)?;
                let Some(trials) = norms else { return Ok(Box::new(fitted)) };
                let adapting = FittedNorms::of_file(fitted, trials)?;
                let lacks =
                    || Error::file(file.path, "does not say how fast its batch norms adapt (`norms`)");
                Ok(Box::new(adapting.ok_or_else(lacks)?))
            }
            Kind::Own { load, .. } => load(file, device),
        }
    }
}

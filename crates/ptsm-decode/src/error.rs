//! What can go wrong between trials and a decoder.

use std::path::PathBuf;

/// Everything this crate refuses to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that no decoder can be built from.
    #[error("configuration: {0}")]
    Configuration(String),
    /// A configuration key nobody knows.
    #[error("configuration: there is no key `{key}`")]
    Key {
        /// Where it stands, `training.epoch`.
        key: String,
        /// The nearest key there is.
        nearest: Option<String>,
        /// All keys at that place.
        known: Vec<String>,
    },
    /// A decoder nobody knows.
    #[error("there is no model `{name}`")]
    Name {
        /// What was asked for.
        name: String,
        /// The nearest name there is.
        nearest: Option<String>,
    },
    /// An ensemble of a decoder that is the same with every seed.
    #[error(
        "nothing in the fit of `{name}` is random: {members} members would be the same decoder {members} times"
    )]
    NothingRandom {
        /// The decoder.
        name: String,
        /// How many members were asked for.
        members: usize,
    },
    /// Distillation of a decoder that cannot learn from a teacher.
    #[error("`{name}` cannot be distilled: {reason}")]
    NoDistillation {
        /// The decoder.
        name: String,
        /// Why.
        reason: String,
    },
    /// The common recipe for a decoder that the common trainer does not train.
    #[error("`{name}` has no common recipe: that is for networks, and this decoder has a fit of its own")]
    NoCommonRecipe {
        /// The decoder.
        name: String,
    },
    /// Batch-norm statistics of a decoder that has none, or that the common trainer does not train.
    #[error(
        "`{name}` has no batch norms that `norms` could adapt: that is for networks of the common trainer that have some"
    )]
    NoBatchNorms {
        /// The decoder.
        name: String,
    },
    /// Trials that cannot be trained on or decoded.
    #[error("{message}")]
    Trials {
        /// What is wrong with them.
        message: String,
        /// One thing to do.
        hint: String,
    },
    /// A shape that does not fit, named by the engine.
    #[error(transparent)]
    Engine(#[from] ptsm_engine::Error),
    /// A signal that does not fit.
    #[error(transparent)]
    Signal(#[from] ptsm_signal::Error),
    /// A file that cannot be read, written or understood.
    #[error("{}: {message}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<&'static str>,
    },
    /// Someone asked to stop. The last checkpoint stands.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// One thing to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Key { nearest: Some(nearest), .. } => Some(format!("did you mean `{nearest}`?")),
            Error::Key { nearest: None, known, .. } => Some(format!("known here: {}", known.join(", "))),
            Error::Name { nearest: Some(nearest), .. } => {
                Some(format!("did you mean `{nearest}`? `ptsm models` lists them all"))
            }
            Error::Name { nearest: None, .. } => Some("`ptsm models` lists them all".into()),
            Error::NothingRandom { .. } => Some(
                "leave `--ensemble` out, or take a decoder that begins with random weights, such as `eegnet`"
                    .into(),
            ),
            Error::NoDistillation { .. } => Some(
                "leave `--distil` out, or take a network such as `ptsm`, `eegnet` or `shallowconvnet`; `--ensemble` is for every decoder in whose fit something is random"
                    .into(),
            ),
            Error::NoCommonRecipe { .. } => Some(
                "leave `recipe` out, or set `recipe=published`; networks such as `eegnet` take `recipe=common`".into(),
            ),
            Error::NoBatchNorms { .. } => Some(
                "leave `--norms` out, or take a network such as `eegnet` or `ptsm`; `--recentre` is for every decoder".into(),
            ),
            Error::Trials { hint, .. } => Some(hint.clone()),
            Error::Signal(e) => e.hint().map(str::to_string),
            Error::File { hint, .. } => hint.map(str::to_string),
            Error::Configuration(_) | Error::Engine(_) | Error::Stopped => None,
        }
    }

    pub(crate) fn trials(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Trials { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn file(path: impl Into<PathBuf>, message: impl Into<String>) -> Error {
        Error::File { path: path.into(), message: message.into(), hint: None }
    }

    pub(crate) fn file_with_hint(
        path: impl Into<PathBuf>,
        message: impl Into<String>,
        hint: &'static str,
    ) -> Error {
        Error::File { path: path.into(), message: message.into(), hint: Some(hint) }
    }
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

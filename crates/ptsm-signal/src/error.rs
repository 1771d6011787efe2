//! What can go wrong with a signal.

/// Everything this crate refuses to do, with what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting no pipeline can work with.
    #[error("pipeline: {message}")]
    Pipeline {
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// Samples, events or labels that do not fit together.
    #[error("{what}: {message}")]
    Data {
        /// Where: a recording, a channel, a trial.
        what: String,
        /// What does not fit.
        message: String,
        /// One thing to do.
        hint: Option<String>,
    },
}

impl Error {
    /// One thing to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Pipeline { hint, .. } | Error::Data { hint, .. } => hint.as_deref(),
        }
    }

    /// A setting that cannot work.
    pub fn pipeline(message: impl Into<String>) -> Error {
        Error::Pipeline { message: message.into(), hint: None }
    }

    /// Data that do not fit.
    pub fn data(what: impl Into<String>, message: impl Into<String>) -> Error {
        Error::Data { what: what.into(), message: message.into(), hint: None }
    }

    /// The same error with one thing to do.
    pub fn with_hint(mut self, text: impl Into<String>) -> Error {
        match &mut self {
            Error::Pipeline { hint, .. } | Error::Data { hint, .. } => *hint = Some(text.into()),
        }
        self
    }
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

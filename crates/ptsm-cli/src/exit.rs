//! Errors as a person reads them, and every exit code there is.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | done; also when the reader of a pipe went away |
//! | 1 | something is wrong; standard error says what, where and what to do |
//! | 2 | the command line is not understood |
//! | 130 | stopped by the user; `train`, `benchmark`, `tune` and `data get` continue when given again |

use std::process::ExitCode;

use crate::output::complain;
use crate::remedy;

/// An error of the program itself, with one thing to do.
#[derive(Debug)]
pub(crate) struct UserError {
    message: String,
    hint: String,
}

impl std::fmt::Display for UserError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UserError {}

/// An error with one thing to do.
pub(crate) fn fail(message: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    UserError { message: message.into(), hint: hint.into() }.into()
}

/// The reader of standard output went away: nothing is wrong, and nothing is left to do.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads")]
pub(crate) struct ClosedPipe;

/// The user stopped it, and what to know then.
#[derive(Debug, thiserror::Error)]
#[error("stopped; {0}")]
pub(crate) struct StoppedByUser(pub(crate) &'static str);

pub(crate) fn with(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    if error.is::<ClosedPipe>() {
        return ExitCode::SUCCESS;
    }
    if let Some(stopped) = error.downcast_ref::<StoppedByUser>() {
        complain(&stopped.to_string());
        return ExitCode::from(130);
    }
    if stopped(&error) {
        complain("stopped; `train` and `benchmark` continue from their last checkpoint when given again");
        return ExitCode::from(130);
    }
    let hint = hint(&error).map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    tracing::error!(target: crate::log::USER_MESSAGES, "{}{hint}", sentence(&error));
    complain(&format!("error: {}{hint}", sentence(&error)));
    ExitCode::FAILURE
}

/// The chain of causes without repetition: a transparent error says the same as its source.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.contains(&cause) {
            said = if said.is_empty() { cause } else { format!("{said}: {cause}") };
        }
    }
    said
}

fn stopped(error: &anyhow::Error) -> bool {
    error.chain().any(|e| {
        matches!(e.downcast_ref(), Some(ptsm::decode::Error::Stopped))
            || matches!(e.downcast_ref(), Some(ptsm::data::Error::Stopped))
            || matches!(e.downcast_ref(), Some(ptsm::eval::Error::Decode(ptsm::decode::Error::Stopped)))
    })
}

/// The first thing to do that any cause knows; else what helps with errors of its kind.
fn hint(error: &anyhow::Error) -> Option<String> {
    let own = |e: &(dyn std::error::Error + 'static)| {
        let own = e.downcast_ref::<UserError>().map(|t| t.hint.clone());
        own.or_else(|| e.downcast_ref::<ptsm::eval::Error>().and_then(ptsm::eval::Error::hint))
            .or_else(|| e.downcast_ref::<ptsm::decode::Error>().and_then(ptsm::decode::Error::hint))
            .or_else(|| e.downcast_ref::<ptsm::data::Error>()?.hint().map(str::to_string))
            .or_else(|| e.downcast_ref::<ptsm::signal::Error>()?.hint().map(str::to_string))
            .or_else(|| e.downcast_ref::<ptsm::io::Error>()?.hint().map(str::to_string))
    };
    error.chain().find_map(own).or_else(|| error.chain().find_map(remedy::of).map(str::to_string))
}

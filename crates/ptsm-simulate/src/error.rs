//! What a simulated cohort refuses.

/// A cohort that cannot be simulated, or a part of it that is not there.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// A number outside of what can be simulated.
    #[error("simulated cohort: `{setting}` is {given}; it must be {expected}")]
    Setting {
        /// Which setting.
        setting: &'static str,
        /// What it is.
        given: String,
        /// What it may be.
        expected: String,
    },
    /// An electrode whose place nobody knows.
    #[error("simulated cohort: channel `{name}` has no known place on the head")]
    UnknownChannel {
        /// Its name.
        name: String,
    },
    /// An electrode named twice.
    #[error("simulated cohort: channel `{name}` is named twice")]
    RepeatedChannel {
        /// Its name.
        name: String,
    },
    /// A subject, session or run the cohort does not have.
    #[error("simulated cohort: there is no {what} {given}; they are numbered 1 to {last}")]
    Missing {
        /// Subject, session or run.
        what: &'static str,
        /// Which was asked for.
        given: u32,
        /// The last there is.
        last: u32,
    },
    /// A recording that would not fit into memory.
    #[error("simulated cohort: one recording takes {gib:.1} GiB of memory; at most {most} GiB are possible")]
    TooLong {
        /// What it takes.
        gib: f64,
        /// What it may take.
        most: f64,
    },
    /// A recording whose parts do not fit.
    #[error("simulated cohort: {0}")]
    Recording(String),
}

impl SimulateError {
    /// One thing to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            SimulateError::UnknownChannel { .. } => Some(
                "use names of the 10-10 system, such as `Fp1`, `F3`, `FC5`, `C3`, `Cz`, `T7`, `CP6`, `P4`, `PO8`, `Oz`"
                    .to_string(),
            ),
            SimulateError::RepeatedChannel { .. } => {
                Some("old and new names of one electrode (`T3`, `T7`) count as the same".to_string())
            }
            SimulateError::TooLong { .. } => {
                Some("lower `trials` and raise `runs` or `sessions` instead, or lower `rate_hz`".to_string())
            }
            SimulateError::Missing { what, .. } => Some(format!("raise the cohort's number of {what}s")),
            SimulateError::Setting { .. } | SimulateError::Recording(_) => None,
        }
    }
}

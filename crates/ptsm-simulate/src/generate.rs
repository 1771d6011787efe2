//! Recordings and truth of a cohort, and what of it cannot be simulated.

use std::collections::HashSet;

use ptsm_signal::{Channel, Layout, Recording, SubjectId, normalise};

use crate::cohort::{Cohort, SimulatedTask};
use crate::error::SimulateError;
use crate::mix::{SOURCES, record};
use crate::schedule::longest_samples;
use crate::truth::{Truth, truth};

/// What one recording may take in memory. Several are made at once, one on each core.
const MOST_GIB: f64 = 2.0;

impl Cohort {
    /// Refuses what cannot be simulated.
    pub fn check(&self) -> Result<(), SimulateError> {
        let least = if self.task == SimulatedTask::Erp { 6 } else { 2 };
        within("subjects", self.subjects, 1, 100_000)?;
        within("sessions", self.sessions, 1, 1000)?;
        within("runs", self.runs, 1, 1000)?;
        within("trials", self.trials, least, 10_000)?;
        within("rate_hz", self.rate_hz, 64.0, 4096.0)?;
        within("strength", self.strength, 0.0, 3.0)?;
        within("absent", self.absent, 0.0, 1.0)?;
        within("variability", self.variability, 0.0, 3.0)?;
        within("background", self.background, 0.0, 10.0)?;
        within("artifacts", self.artifacts, 0.0, 10.0)?;
        within("line_hz", self.line_hz, 1.0, 1000.0)?;
        within("line_uv", self.line_uv, 0.0, 1000.0)?;
        if self.channels.is_empty() {
            let (given, expected) = ("empty".to_string(), "at least one electrode".to_string());
            return Err(SimulateError::Setting { setting: "channels", given, expected });
        }
        self.electrodes()?;
        let mut seen = HashSet::new();
        if let Some(name) = self.channels.iter().find(|name| !seen.insert(normalise(name))) {
            return Err(SimulateError::RepeatedChannel { name: name.clone() });
        }
        // All sources of a recording are in memory at once.
        let gib = longest_samples(self) * (SOURCES + self.channels.len()) as f64 * 4.0 / 1073741824.0;
        if gib > MOST_GIB { Err(SimulateError::TooLong { gib, most: MOST_GIB }) } else { Ok(()) }
    }

    /// One run of one session of one subject, continuous; its events are coded by the names of the classes.
    pub fn recording(&self, subject: SubjectId, session: u32, run: u32) -> Result<Recording, SimulateError> {
        self.check()?;
        for (what, given, last) in [
            ("subject", subject.0, self.subjects),
            ("session", session, self.sessions),
            ("run", run, self.runs),
        ] {
            if given < 1 || given > last {
                return Err(SimulateError::Missing { what, given, last });
            }
        }
        let (samples, events) = record(self, &self.electrodes()?, subject, session, run);
        let channels = self.channels.iter().map(|name| Channel::named(name)).collect();
        Recording::new(self.rate_hz, channels, samples, events)
            .map_err(|error| SimulateError::Recording(error.to_string()))
    }

    /// Where and when the task can be seen, and in whom. Nothing is known of channels without a place.
    pub fn truth(&self) -> Truth {
        truth(self)
    }

    /// The same for epochs of the cohort: for their channels, which may be fewer and in another order, and their samples.
    pub fn truth_in(&self, layout: &Layout) -> Truth {
        truth(self).picked(self, layout)
    }
}

/// Refuses numbers outside of a range, and those that are no numbers.
fn within<T: PartialOrd + std::fmt::Display>(
    setting: &'static str,
    given: T,
    least: T,
    most: T,
) -> Result<(), SimulateError> {
    if given >= least && given <= most {
        return Ok(());
    }
    Err(SimulateError::Setting {
        setting,
        given: given.to_string(),
        expected: format!("from {least} to {most}"),
    })
}

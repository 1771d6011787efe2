//! The table, and its place in the documentation.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use serde::Serialize;

use super::super::machine;
use super::super::page;
use super::super::table::Table;
use super::ReaderResults;
use super::entrant::{Entrant, Programs};
use crate::worker::reading::Cached;

/// Where the table goes in the documentation.
const MARKS: [&str; 2] = ["<!-- reading recordings -->", "<!-- end of reading recordings -->"];
/// Other programs may take this share of the machine without the numbers being doubtful.
const TOLERABLE: f64 = 0.05;

#[derive(Serialize)]
pub(crate) struct Report {
    cpu: String,
    versions: BTreeMap<String, String>,
    files: usize,
    bytes: u64,
    trials: usize,
    rounds: usize,
    /// Share of the machine's processor time that went to other programs.
    others: Option<f64>,
    measured: Vec<ReaderResults>,
}

impl ReaderResults {
    fn best(&self) -> f64 {
        self.turns.iter().map(|turn| turn.ms).fold(f64::INFINITY, f64::min)
    }

    fn median(&self) -> f64 {
        let mut ms: Vec<f64> = self.turns.iter().map(|turn| turn.ms).collect();
        ms.sort_by(f64::total_cmp);
        (ms[(ms.len() - 1) / 2] + ms[ms.len() / 2]) / 2.0
    }

    fn cpu(&self) -> f64 {
        self.turns.iter().map(|turn| turn.cpu_ms).fold(f64::INFINITY, f64::min)
    }

    fn peak(&self) -> f64 {
        self.turns.iter().map(|turn| turn.peak_rss_mib).fold(0.0, f64::max)
    }
}

impl Report {
    pub(crate) fn new(
        programs: &Programs,
        measured: Vec<ReaderResults>,
        others: Option<f64>,
    ) -> Result<Report> {
        let mut versions = programs.python.versions()?;
        versions
            .retain(|name, _| ["python", "mne", "scipy", "numpy", "pyedflib", "joblib"].contains(&&**name));
        versions.insert("rustc".into(), machine::rustc()?);
        let turns = measured.first().map_or(&[][..], |first| &first.turns);
        Ok(Report {
            cpu: machine::cpu(),
            versions,
            files: programs.files.len(),
            bytes: programs.bytes(),
            trials: turns.first().map_or(0, |turn| turn.trials),
            rounds: turns.len(),
            others,
            measured,
        })
    }

    fn of(&self, entrant: Entrant) -> Option<&ReaderResults> {
        self.measured.iter().find(|measured| measured.entrant == entrant)
    }

    /// The fastest way to use MNE.
    fn mne(&self) -> Option<&ReaderResults> {
        let all = self.measured.iter().filter(|m| matches!(m.entrant, Entrant::Mne { .. }));
        all.min_by(|a, b| a.best().total_cmp(&b.best()))
    }

    fn table(&self) -> Table {
        let mut table =
            Table::new(1, &["", "best, ms", "median, ms", "processor, ms", "peak, MiB", "own, MiB"]);
        for side in &self.measured {
            let digits = if side.best() < 100.0 { 1 } else { 0 };
            table.row(vec![
                side.entrant.to_string(),
                format!("{:.digits$}", side.best()),
                format!("{:.digits$}", side.median()),
                format!("{:.0}", side.cpu()),
                format!("{:.0}", side.peak()),
                format!("{:.0}", side.peak() - side.ready.after_import_rss_mib),
            ]);
        }
        table
    }

    /// Each goal and what was measured of it.
    fn goals(&self) -> Vec<String> {
        let ours = |threads, cached| self.of(Entrant::Ptsm { threads, cached });
        let met = |met: bool| if met { "met" } else { "**missed**" };
        let mut all = vec![];
        for cached in [Cached::No, Cached::Empty] {
            if let (Some(ours), Some(scipy)) = (ours(1, cached), self.of(Entrant::Scipy)) {
                let ratio = scipy.best() / ours.best();
                all.push(format!(
                    "at least 4 times SciPy's chain on one thread, {cached}: {ratio:.1} times, {}",
                    met(ratio >= 4.0)
                ));
            }
            if let (Some(ours), Some(mne)) = (ours(2, cached), self.mne()) {
                let ratio = mne.best() / ours.best();
                all.push(format!(
                    "at least 10 times MNE on two cores ({}), {cached}: {ratio:.1} times, {}",
                    mne.entrant,
                    met(ratio >= 10.0)
                ));
            }
            let plain = self.of(Entrant::Mne { jobs: None, by_file: false });
            if let (Some(ours), Some(mne)) = (ours(2, cached), plain) {
                let share = ours.peak() / mne.peak();
                all.push(format!(
                    "peak memory under a fifth of MNE's, {cached}: 1/{:.1}, {}",
                    1.0 / share,
                    met(share < 0.2)
                ));
            }
        }
        if let Some(kept) = ours(2, Cached::Full) {
            let ms = kept.best();
            all.push(format!("the second time under 50 ms: {ms:.1} ms, {}", met(ms < 50.0)));
        }
        all
    }

    /// Puts the tables between the page's marks; what stands around them is written by hand.
    pub(crate) fn write(&self) -> Result<()> {
        page::put(MARKS, &self.to_string())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions: Vec<String> = self.versions.iter().map(|(name, v)| format!("{name} {v}")).collect();
        writeln!(f, "Machine: {}; {}.", self.cpu, versions.join(", "))?;
        writeln!(
            f,
            "{} EDF files, {} MB, {} trials of 64 x 400 samples; {} turns of each side, every turn a process of its own.",
            self.files,
            self.bytes / 1_000_000,
            self.trials,
            self.rounds
        )?;
        if let Some(others) = self.others {
            writeln!(f, "Other programs took {:.0} % of the processors meanwhile.", 100.0 * others)?;
            if others > TOLERABLE {
                writeln!(f, "That is much: wall times are of a busy machine; processor time suffers less.")?;
            }
        }
        writeln!(f, "\n```text\n{}```\n", self.table())?;
        self.goals().iter().try_for_each(|goal| writeln!(f, "- {goal}"))
    }
}

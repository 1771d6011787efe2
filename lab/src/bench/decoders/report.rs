//! The table, and its place in the documentation.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use ptsm_signal::Layout;
use serde::Serialize;

use super::super::machine;
use super::super::page;
use super::super::table::Table;
use super::{FirstFit, Options, Request, TurnTimes};
use crate::python::Python;

/// Where the table goes in the documentation.
const MARKS: [&str; 2] = ["<!-- decoders -->", "<!-- end of decoders -->"];
/// How many times as fast a fit is to be: of networks, and of classic decoders.
const GOALS: [f64; 2] = [3.0, 10.0];

#[derive(Serialize)]
pub(crate) struct Report {
    cpu: String,
    versions: BTreeMap<String, String>,
    about: String,
    /// Share of the machine's processor time that went to other programs.
    pub(crate) others: Option<f64>,
    pub(crate) rows: Vec<Row>,
}

/// One decoder.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) decoder: String,
    pub(crate) deep: bool,
    /// Why peers are missing.
    pub(crate) why: Vec<String>,
    pub(crate) ours: Side,
    pub(crate) theirs: Vec<Side>,
}

/// What one side took.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Side {
    pub(crate) ready: FirstFit,
    fit_ms: Vec<f64>,
    predict_ms: Vec<f64>,
}

impl Side {
    pub(crate) fn new(ready: FirstFit) -> Side {
        Side { ready, fit_ms: vec![], predict_ms: vec![] }
    }

    pub(crate) fn add(&mut self, turn: TurnTimes) {
        self.fit_ms.extend(turn.fit_ms);
        self.predict_ms.extend(turn.predict_ms);
    }
}

fn best(ms: &[f64]) -> f64 {
    ms.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(ms: &[f64]) -> f64 {
    let mut ms = ms.to_vec();
    ms.sort_by(f64::total_cmp);
    if ms.is_empty() { f64::NAN } else { (ms[(ms.len() - 1) / 2] + ms[ms.len() / 2]) / 2.0 }
}

/// The best time, with the median in brackets.
fn times_text(ms: &[f64]) -> String {
    format!("{:.1} [{:.1}]", best(ms), median(ms))
}

impl Row {
    /// How many times as long a peer takes to learn and to decode, at its best against ours.
    fn ratios(&self, theirs: &Side) -> [f64; 2] {
        [
            best(&theirs.fit_ms) / best(&self.ours.fit_ms),
            best(&theirs.predict_ms) / best(&self.ours.predict_ms),
        ]
    }

    /// The least of these over all peers.
    fn least(&self) -> Option<[f64; 2]> {
        let all = self.theirs.iter().map(|theirs| self.ratios(theirs));
        all.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])])
    }

    /// What there is to say about its peers.
    fn remarks(&self) -> Vec<String> {
        let mut all = self.why.clone();
        if let Some(ours) = self.ours.ready.parameters {
            for FirstFit { peer, parameters, .. } in self.theirs.iter().map(|side| &side.ready) {
                if let (Some(peer), Some(n)) = (peer, parameters)
                    && *n != ours
                {
                    all.push(format!("decodes with {ours} parameters, {peer} with {n}"));
                }
            }
        }
        all
    }
}

impl Report {
    pub(crate) fn new(
        classic: &Python,
        networks: Option<&Python>,
        layout: &Layout,
        request: &Request,
        options: &Options,
    ) -> Result<Report> {
        let mut versions = classic.versions()?;
        if let Some(networks) = networks {
            versions.extend(networks.versions()?);
        }
        versions.retain(|name, _| {
            ["python", "numpy", "scipy", "scikit-learn", "pyriemann", "torch"].contains(&&**name)
        });
        versions.insert("rustc".into(), machine::rustc()?);
        let subjects = request.train.len() + request.validation.len() + request.test.len();
        let about = format!(
            "{} threads on each side; {subjects} simulated subjects with {} trials of {} x {} samples each, {} of them for training, {} for validation; {} epochs of each network; {} turns of each side.",
            request.threads,
            super::TRIALS,
            layout.channels.len(),
            layout.samples,
            request.train.len(),
            request.validation.len(),
            options.epochs,
            options.rounds,
        );
        Ok(Report { cpu: machine::cpu(), versions, about, others: None, rows: vec![] })
    }

    fn table(&self) -> Table {
        let header = [
            "decoder",
            "peer",
            "fit: ours",
            "peer's",
            "times",
            "decode: ours",
            "peer's",
            "times",
            "accuracy",
            "peer's",
        ];
        let mut table = Table::new(2, &header);
        let percent = |side: &Side| side.ready.accuracy.map_or("-".into(), |a| format!("{:.1}", 100.0 * a));
        for row in &self.rows {
            let own = [times_text(&row.ours.fit_ms), times_text(&row.ours.predict_ms), percent(&row.ours)];
            let [fit, predict, accuracy] = own.clone();
            if row.theirs.is_empty() {
                let none = || "-".to_string();
                let cells = ["none".into(), fit, none(), none(), predict, none(), none(), accuracy, none()];
                table.row([row.decoder.clone()].into_iter().chain(cells).collect());
            }
            for theirs in &row.theirs {
                let [fit, predict, accuracy] = own.clone();
                let times = row.ratios(theirs).map(|ratio| format!("{ratio:.1}"));
                table.row(vec![
                    row.decoder.clone(),
                    theirs.ready.peer.clone().unwrap_or_default(),
                    fit,
                    times_text(&theirs.fit_ms),
                    times[0].clone(),
                    predict,
                    times_text(&theirs.predict_ms),
                    times[1].clone(),
                    accuracy,
                    percent(theirs),
                ]);
            }
        }
        table
    }

    /// Each goal and what was measured of it.
    fn goals(&self) -> Vec<String> {
        let mut all = vec![];
        for (kind, deep, goal) in [("networks", true, GOALS[0]), ("classic decoders", false, GOALS[1])] {
            let of: Vec<(&str, f64)> = self
                .rows
                .iter()
                .filter(|row| row.deep == deep)
                .filter_map(|row| Some((&*row.decoder, row.least()?[0])))
                .collect();
            let below = of.iter().filter(|(_, ratio)| *ratio < goal);
            let below: Vec<String> = below.map(|(name, ratio)| format!("{name} ({ratio:.1})")).collect();
            let met = match &below[..] {
                [] => "met".into(),
                below => format!("not {}, **missed**", below.join(", ")),
            };
            if let (n @ 1.., reached) = (of.len(), of.len() - below.len()) {
                all.push(format!(
                    "{kind} train at least {goal} times as fast as their peers: {reached} of {n} do, {met}"
                ));
            }
        }
        let slower = self.rows.iter().filter(|row| row.least().is_some_and(|r| r.iter().any(|&r| r < 1.0)));
        let slower: Vec<&str> = slower.map(|row| &*row.decoder).collect();
        let met =
            if slower.is_empty() { "met".into() } else { format!("**missed** by {}", slower.join(", ")) };
        all.push(format!("nothing is slower than its peer: {met}"));
        all
    }

    /// Puts the table between the page's marks; what stands around them is written by hand.
    pub(crate) fn write(&self) -> Result<()> {
        page::put(MARKS, &self.to_string())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions: Vec<String> = self.versions.iter().map(|(name, v)| format!("{name} {v}")).collect();
        writeln!(f, "Machine: {}; {}.", self.cpu, versions.join(", "))?;
        writeln!(f, "{}", self.about)?;
        if let Some(others) = self.others {
            writeln!(
                f,
                "The processors were busy for {:.0} % of the time, this benchmark's share of it included.",
                100.0 * others
            )?;
        }
        writeln!(f, "\n```text\n{}```\n", self.table())?;
        for row in &self.rows {
            for remark in row.remarks() {
                writeln!(f, "- {}: {remark}", row.decoder)?;
            }
        }
        for goal in self.goals() {
            writeln!(f, "- {goal}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(fit: &[f64], predict: &[f64]) -> Side {
        let ready =
            FirstFit { peer: Some("a".into()), why: None, accuracy: Some(0.5), parameters: Some(fit.len()) };
        Side { ready, fit_ms: fit.to_vec(), predict_ms: predict.to_vec() }
    }

    fn row(decoder: &str, deep: bool, theirs: Vec<Side>) -> Row {
        Row { decoder: decoder.into(), deep, why: vec![], ours: side(&[2.0, 1.0, 4.0], &[1.0]), theirs }
    }

    fn report(rows: Vec<Row>) -> Report {
        Report { cpu: "c".into(), versions: BTreeMap::new(), about: "a".into(), others: None, rows }
    }

    #[test]
    fn ratios_are_of_the_best_times_and_goals_name_what_misses_them() {
        let rows = vec![
            row("fast", false, vec![side(&[30.0, 20.0], &[5.0])]),
            row("slow", false, vec![side(&[9.0], &[0.5])]),
            row("alone", false, vec![]),
            row("deep", true, vec![side(&[3.5], &[1.5])]),
        ];
        assert_eq!(rows[0].least(), Some([20.0, 5.0]));
        let report = report(rows);
        let goals = report.goals();
        assert!(
            goals[0].starts_with("networks") && goals[0].contains("1 of 1") && goals[0].ends_with("met"),
            "{goals:?}"
        );
        assert!(goals[1].contains("1 of 2 do, not slow (9.0), **missed**"), "{goals:?}");
        assert!(goals[2].ends_with("**missed** by slow"), "{goals:?}");
        assert!(report.to_string().contains("alone") && times_text(&[3.0, 1.0, 2.0]) == "1.0 [2.0]");
    }

    #[test]
    fn of_two_peers_the_faster_counts_and_both_are_shown() {
        let mut two = row("two", true, vec![side(&[9.0, 9.0, 9.0], &[2.0]), side(&[5.0], &[8.0])]);
        two.why.push("the third is missing".into());
        assert_eq!(two.least(), Some([5.0, 2.0]));
        let report = report(vec![two]);
        let page = report.to_string();
        assert_eq!(page.lines().filter(|line| line.starts_with("two ")).count(), 2, "{page}");
        assert!(page.contains("- two: the third is missing"), "{page}");
        assert_eq!(page.matches("decodes with 3 parameters, a with 1").count(), 1, "{page}");
    }
}

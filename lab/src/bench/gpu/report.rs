//! The tables.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail};

use super::super::table::Table;
use super::goals;
use super::line::{Case, Kernel, Line, Loso, Trainer, Trial, Work};
use super::profile;

/// What the chip reached at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ceilings {
    pub(super) copy_gb_per_s: f64,
    pub(super) float32_tflops: f64,
    pub(super) tf32_tflops: f64,
    pub(super) bf16_tflops: f64,
}

/// All lines, each kind by itself; of two about the same the later counts.
#[derive(Default)]
pub(crate) struct Report {
    /// GPU, processor, seconds until the GPU answered.
    machine: Option<(String, String, f64)>,
    versions: BTreeMap<String, String>,
    pub(super) ceilings: Option<Ceilings>,
    pub(super) cases: Vec<Case>,
    failed: Vec<(Trainer, Work, String)>,
    profiles: Vec<(Work, Vec<Kernel>)>,
    pub(super) losos: Vec<Loso>,
}

impl Report {
    pub(crate) fn new(lines: Vec<Line>) -> Result<Report> {
        let mut all = Report::default();
        for line in lines {
            match line {
                Line::Machine { gpu, cpu, open_s } => all.machine = Some((gpu, cpu, open_s)),
                Line::Versions { versions } => all.versions.extend(versions),
                Line::Ceilings { copy_gb_per_s, float32_tflops, tf32_tflops, bf16_tflops } => {
                    all.ceilings = Some(Ceilings { copy_gb_per_s, float32_tflops, tf32_tflops, bf16_tflops });
                }
                Line::Case(case) => {
                    all.cases.retain(|c| (c.trainer, c.work) != (case.trainer, case.work));
                    all.failed.retain(|(trainer, work, _)| (*trainer, *work) != (case.trainer, case.work));
                    all.cases.push(case);
                }
                Line::Failed { trainer, work, reason } => {
                    // What was measured before stands.
                    if !all.cases.iter().any(|c| (c.trainer, c.work) == (trainer, work)) {
                        all.failed.retain(|(w, of, _)| (*w, *of) != (trainer, work));
                        all.failed.push((trainer, work, reason));
                    }
                }
                Line::Profile { work, kernels } => {
                    all.profiles.retain(|(of, _)| *of != work);
                    all.profiles.push((work, kernels));
                }
                Line::Loso(loso) => {
                    all.losos.retain(|l| l.network != loso.network);
                    all.losos.push(loso);
                }
            }
        }
        all.same_networks()?;
        Ok(all)
    }

    /// Networks of different size would make every ratio void.
    fn same_networks(&self) -> Result<()> {
        for ours in self.of(Trainer::Ours) {
            let same = |c: &&Case| c.work.network == ours.work.network && c.work.trial == ours.work.trial;
            if let Some(other) = self.cases.iter().filter(same).find(|c| c.parameters != ours.parameters) {
                bail!(
                    "not the same network: {} at {} has {} parameters, {} has {}",
                    ours.work.network,
                    ours.work.trial,
                    ours.parameters,
                    other.trainer,
                    other.parameters
                );
            }
        }
        Ok(())
    }

    fn of(&self, trainer: Trainer) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.trainer == trainer)
    }

    pub(super) fn find(&self, trainer: Trainer, work: Work) -> Option<&Case> {
        self.of(trainer).find(|case| case.work == work)
    }

    /// The way of PyTorch's with the most trials per second for this batch, one network after the other.
    pub(super) fn best_peer(&self, of: Work) -> Option<&Case> {
        let same =
            |c: &&Case| c.trainer != Trainer::Ours && c.work == Work { replicas: c.work.replicas, ..of };
        self.cases.iter().filter(same).max_by(|a, b| a.trials_per_s().total_cmp(&b.trials_per_s()))
    }

    /// One network against each way of PyTorch's.
    fn one_network(&self) -> Table {
        let header = [
            "network",
            "trial",
            "batch",
            "ours",
            "eager",
            "graph",
            "compile",
            "compile, graph",
            "eager/ours",
            "graph/ours",
            "least/ours",
        ];
        let mut table = Table::new(2, &header);
        for ours in self.of(Trainer::Ours).filter(|c| c.work.replicas == 1) {
            let others = [Trainer::Eager, Trainer::Graph, Trainer::Compile, Trainer::CompileGraph]
                .map(|trainer| self.find(trainer, ours.work));
            let least = others.iter().flatten().map(|c| c.ms).min_by(f64::total_cmp);
            let ratio = |ms: Option<f64>| ms.map_or("-".into(), |ms| format!("{:.2}x", ms / ours.ms));
            let Work { network, trial, batch, .. } = ours.work;
            let mut row = vec![network.to_string(), trial.to_string(), batch.to_string(), time(ours)];
            row.extend(others.iter().map(|other| other.map_or("-".into(), time)));
            row.extend([others[0].map(|c| c.ms), others[1].map(|c| c.ms), least].map(ratio));
            table.row(row);
        }
        table
    }

    /// Ours with any number of networks, against PyTorch's best.
    fn replicas(&self) -> Table {
        let header = [
            "network",
            "trial",
            "batch",
            "R",
            "ms",
            "k trials/s",
            "PyTorch's best",
            "ratio",
            "MiB",
            "kernels",
            "new, s",
            "known, s",
        ];
        let mut table = Table::new(2, &header);
        for ours in self.of(Trainer::Ours) {
            let Work { network, trial, batch, replicas } = ours.work;
            let best = self.best_peer(ours.work).map(Case::trials_per_s);
            let optional = |value: Option<String>| value.unwrap_or("-".into());
            table.row(vec![
                network.to_string(),
                trial.to_string(),
                batch.to_string(),
                replicas.to_string(),
                time(ours),
                thousands(ours.trials_per_s()),
                optional(best.map(thousands)),
                optional(best.map(|best| format!("{:.1}x", ours.trials_per_s() / best))),
                format!("{:.0}", ours.mib),
                optional(ours.kernels.map(|n| n.to_string())),
                optional(ours.ready_new_s.map(|s| format!("{s:.2}"))),
                format!("{:.2}", ours.ready_s),
            ]);
        }
        table
    }

    /// PyTorch's own cases.
    fn peers(&self) -> Table {
        let mut table =
            Table::new(3, &["network", "trial", "how", "batch", "ms", "k trials/s", "MiB", "ready, s"]);
        for case in self.cases.iter().filter(|c| c.trainer != Trainer::Ours) {
            let Work { network, trial, batch, .. } = case.work;
            table.row(vec![
                network.to_string(),
                trial.to_string(),
                case.trainer.to_string(),
                batch.to_string(),
                time(case),
                thousands(case.trials_per_s()),
                format!("{:.0}", case.mib),
                format!("{:.1}", case.ready_s),
            ]);
        }
        table
    }

    /// What failed; a reason that several numbers of networks share is told once.
    fn not_measured(&self) -> Vec<String> {
        let mut failures: Vec<(String, Vec<String>, &str)> = vec![];
        for (trainer, Work { network, trial, batch, replicas }, reason) in &self.failed {
            let what = format!("{trainer}, {network} {trial}, batch {batch}");
            let replicas = replicas.to_string();
            match failures.iter_mut().find(|(known, _, why)| *known == what && why == reason) {
                Some((_, all, _)) => all.push(replicas),
                None => failures.push((what, vec![replicas], reason)),
            }
        }
        let line = |(what, replicas, reason): &(String, Vec<String>, &str)| {
            format!("{what}, R = {}: {reason}", replicas.join(", "))
        };
        failures.iter().map(line).collect()
    }

    fn about(&self) -> String {
        let mut words = vec![];
        if let Some((gpu, cpu, open_s)) = &self.machine {
            words.push(format!("{gpu}, {cpu}; the GPU answers after {open_s:.2} s"));
        }
        words.extend(self.versions.iter().map(|(name, version)| format!("{name} {version}")));
        let mut text = format!("Machine: {}.\n", words.join(", "));
        if let Some(c) = self.ceilings {
            text += &format!(
                "Measured ceilings: copies {:.0} GB/s (read and written); products {:.1} TFLOP/s in float32, {:.0} in TF32, {:.0} in bfloat16.\n",
                c.copy_gb_per_s, c.float32_tflops, c.tf32_tflops, c.bf16_tflops
            );
        }
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.about())?;
        writeln!(f, "```text\nTRAINING STEP of one network; ms, median [quartiles]\n{}", self.one_network())?;
        writeln!(
            f,
            "R NETWORKS at once; new, known: seconds until the first step is made\n{}",
            self.replicas()
        )?;
        writeln!(f, "PYTORCH\n{}", self.peers())?;
        for (work, kernels) in &self.profiles {
            writeln!(f, "{}", profile::text(work, kernels))?;
        }
        writeln!(f, "```\n")?;
        for loso in &self.losos {
            writeln!(f, "- {}", loso_text(loso))?;
        }
        for line in self.not_measured() {
            writeln!(f, "- not measured: {line}")?;
        }
        writeln!(f)?;
        goals::of(self).iter().try_for_each(|goal| writeln!(f, "- {goal}"))
    }
}

fn loso_text(loso: &Loso) -> String {
    let Loso {
        network, subject_count, trials, trial: Trial { channels, time }, epochs, seconds, scored, ..
    } = loso;
    let mut text = format!(
        "leave-one-subject-out with `ptsm benchmark`, {network}: {subject_count} subjects of {trials} trials, {channels} x {time} samples, \
         {epochs} epochs: {seconds:.1} s"
    );
    if let Some(accuracy) = loso.accuracy {
        text += &format!(", accuracy {:.1} %", 100.0 * accuracy);
    }
    if let Some(reason) = &loso.reason {
        text += &format!("; {scored} of {subject_count} were scored, {}", reason.replace('\n', " "));
    }
    text
}

/// Median and quartiles.
fn time(case: &Case) -> String {
    let [low, high] = case.quartiles_ms;
    let digits = if case.ms < 10.0 { 3 } else { 1 };
    format!("{:.digits$} [{low:.digits$}-{high:.digits$}]", case.ms)
}

fn thousands(trials_per_s: f64) -> String {
    format!("{:.1}", trials_per_s / 1e3)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Made up, so that every goal of `each` is met and none of `last`.
    pub(crate) const LINES: &str = r#"
{"what":"machine","gpu":"Made Up 1","cpu":"Some CPU","open_s":0.31}
{"what":"versions","versions":{"torch":"9.9"}}
{"what":"ceilings","copy_gb_per_s":4000.0,"float32_tflops":50.0,"tf32_tflops":400.0,"bf16_tflops":800.0}
{"what":"failed","who":"ours","network":"ptsm-each","channels":64,"time":400,"batch":64,"replicas":20,"reason":"the first try"}
{"what":"case","who":"ours","network":"ptsm-each","channels":64,"time":400,"batch":64,"replicas":1,"ms":1.0,"quartiles_ms":[0.9,1.1],"steps":100,"parameters":10,"mib":30.0,"ready_s":0.1,"ready_new_s":2.0,"kernels":150}
{"what":"case","who":"ours","network":"ptsm-each","channels":64,"time":400,"batch":64,"replicas":20,"ms":2.0,"quartiles_ms":[1.9,2.1],"steps":100,"parameters":10,"mib":600.0,"ready_s":0.2}
{"what":"case","who":"ours","network":"ptsm-last","channels":64,"time":400,"batch":64,"replicas":1,"ms":2.0,"quartiles_ms":[1.9,2.1],"steps":100,"parameters":10,"mib":30.0,"ready_s":0.7,"ready_new_s":6.0}
{"what":"case","who":"ours","network":"ptsm-last","channels":64,"time":400,"batch":64,"replicas":20,"ms":16.0,"quartiles_ms":[15.9,16.1],"steps":100,"parameters":10,"mib":30.0,"ready_s":0.1}
{"what":"case","who":"eager","network":"ptsm-each","channels":64,"time":400,"batch":64,"replicas":1,"ms":8.0,"quartiles_ms":[7.0,9.0],"steps":100,"parameters":10,"mib":50.0,"ready_s":3.0}
{"what":"case","who":"graph","network":"ptsm-each","channels":64,"time":400,"batch":64,"replicas":1,"ms":2.5,"quartiles_ms":[2.4,2.6],"steps":100,"parameters":10,"mib":50.0,"ready_s":3.0}
{"what":"case","who":"graph","network":"ptsm-each","channels":64,"time":400,"batch":1024,"replicas":1,"ms":16.0,"quartiles_ms":[15.0,17.0],"steps":100,"parameters":10,"mib":900.0,"ready_s":3.0}
{"what":"case","who":"graph","network":"ptsm-last","channels":64,"time":400,"batch":64,"replicas":1,"ms":2.5,"quartiles_ms":[2.4,2.6],"steps":100,"parameters":10,"mib":50.0,"ready_s":3.0}
{"what":"failed","who":"compile","network":"ptsm-each","channels":64,"time":400,"batch":64,"replicas":1,"reason":"no C compiler"}
{"what":"profile","network":"ptsm-each","channels":64,"time":400,"batch":64,"replicas":20,"kernels":[{"name":"conv<1>(a)","kind":"conv1d","us":60.0,"multiply_adds":600000000,"bytes":6000000},{"name":"3 calls: sum fill sum","kind":"several","us":40.0,"multiply_adds":40,"bytes":40000}]}
{"what":"loso","network":"ptsm-each","people":106,"trials":45,"channels":64,"time":400,"epochs":30,"seconds":80.0,"scored":106,"accuracy":0.75}
{"what":"loso","network":"ptsm-last","people":106,"trials":45,"channels":64,"time":400,"epochs":30,"seconds":125.0,"scored":40,"accuracy":0.75,"reason":"it was stopped"}
"#;

    pub(crate) fn lines() -> Vec<Line> {
        LINES.trim().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_case_stands_beside_its_peers() {
        let text = Report::new(lines()).unwrap().to_string();
        let row = |begins: &[&str]| {
            let same = |line: &&str| {
                line.split_whitespace().zip(begins).filter(|(a, b)| a == *b).count() == begins.len()
            };
            text.lines().find(same).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            row(&["ptsm-each", "64x400", "64", "1.000"]),
            "ptsm-each 64x400 64 1.000 [0.900-1.100] 8.000 [7.000-9.000] 2.500 [2.400-2.600] - - 8.00x 2.50x 2.50x"
        );
        // 20 x 64 trials in 2 ms; the best of PyTorch's ways is the large batch: 1024 in 16 ms.
        assert_eq!(
            row(&["ptsm-each", "64x400", "64", "20"]),
            "ptsm-each 64x400 64 20 2.000 [1.900-2.100] 640.0 25.6 25.0x 600 - - 0.20"
        );
        assert!(text.contains("torch 9.9"), "{text}");
        assert!(text.contains("40 of 106 were scored, it was stopped"), "{text}");
    }

    #[test]
    fn what_failed_is_reported_unless_it_went_well_elsewhere() {
        let text = Report::new(lines()).unwrap().to_string();
        assert!(
            text.contains("not measured: torch.compile, ptsm-each 64x400, batch 64, R = 1: no C compiler"),
            "{text}"
        );
        assert!(!text.contains("the first try"), "{text}");
    }

    #[test]
    fn a_shared_reason_is_reported_once() {
        let failed = |replicas| {
            let trial = Trial { channels: 64, time: 400 };
            let work = Work { network: super::super::line::Network::Deepconvnet, trial, batch: 64, replicas };
            Line::Failed { trainer: Trainer::Ours, work, reason: "too short".into() }
        };
        let report = Report::new(vec![failed(1), failed(20)]).unwrap();
        assert_eq!(report.not_measured(), ["ours, deepconvnet 64x400, batch 64, R = 1, 20: too short"]);
    }

    #[test]
    fn networks_of_different_size_are_not_compared() {
        let text = LINES.replacen("\"steps\":100,\"parameters\":10", "\"steps\":100,\"parameters\":11", 1);
        let lines = text.trim().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let error = Report::new(lines).err().unwrap().to_string();
        assert!(error.contains("not the same network: ptsm-each at 64x400 has 11 parameters"), "{error}");
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for line in lines() {
            let text = serde_json::to_string(&line).unwrap();
            let again: Line = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&again).unwrap(), text);
        }
    }
}

//! What training on a GPU is to reach.

use super::line::{Case, Network, Trainer, Trial, Work};
use super::report::Report;

/// The shape that the goals are about.
const TRIAL: Trial = Trial { channels: 64, time: 400 };
const BATCH: usize = 64;

/// Times the captured graph, with one network.
const ONE: f64 = 1.5;
/// Trials per second, and times PyTorch's best way, with twenty.
const TWENTY_TRIALS_PER_S: f64 = 200e3;
const TWENTY: f64 = 8.0;
/// Seconds of leave-one-subject-out, with how many subjects, trials and epochs.
const LOSO_S: f64 = 120.0;
const LOSO: (usize, usize, usize) = (106, 45, 30);
/// Seconds until a new shape is ready, and a known one.
const READY_S: [f64; 2] = [5.0, 0.5];

/// Each goal, what was measured of it, and whether it is met.
pub(super) fn of(report: &Report) -> Vec<String> {
    let mut all = vec![];
    for network in [Network::PtsmEach, Network::PtsmLast] {
        let work = |replicas| Work { network, trial: TRIAL, batch: BATCH, replicas };
        let ours = |replicas| report.find(Trainer::Ours, work(replicas));
        let graph = ours(1).zip(report.find(Trainer::Graph, work(1)));
        all.push(judged(
            format!("{network} {TRIAL}, one network at least {ONE} times the captured graph"),
            graph
                .map(|(ours, graph)| (format!("{:.2} times", graph.ms / ours.ms), graph.ms / ours.ms >= ONE)),
        ));
        all.push(judged(
            format!(
                "{network} {TRIAL}, 20 networks at least {:.0} thousand trials/s",
                TWENTY_TRIALS_PER_S / 1e3
            ),
            ours(20)
                .map(Case::trials_per_s)
                .map(|n| (format!("{:.0} thousand", n / 1e3), n >= TWENTY_TRIALS_PER_S)),
        ));
        all.push(judged(
            format!("{network} {TRIAL}, 20 networks at least {TWENTY} times PyTorch's best way"),
            ours(20).zip(report.best_peer(work(20))).map(|(ours, best)| {
                let ratio = ours.trials_per_s() / best.trials_per_s();
                (format!("{ratio:.1} times ({}, batch {})", best.trainer, best.work.batch), ratio >= TWENTY)
            }),
        ));
        let loso = report.losos.iter().find(|loso| loso.network == network);
        let loso = loso.filter(|loso| (loso.subject_count, loso.trials, loso.epochs) == LOSO);
        all.push(judged(
            format!("{network}, leave-one-subject-out of 106 subjects under {LOSO_S} s"),
            loso.map(|loso| match loso.scored == loso.subject_count {
                true => (format!("{:.1} s", loso.seconds), loso.seconds < LOSO_S),
                false => (format!("not done after {:.1} s", loso.seconds), false),
            }),
        ));
    }
    let ours = || report.cases.iter().filter(|case| case.trainer == Trainer::Ours);
    let new = ours().filter_map(|case| Some((case, case.ready_new_s?)));
    let known = ours().map(|case| (case, case.ready_s));
    all.push(ready("new", new, READY_S[0]));
    all.push(ready("known", known, READY_S[1]));
    all
}

/// About the slowest of all.
fn ready<'a>(what: &str, all: impl Iterator<Item = (&'a Case, f64)>, most_s: f64) -> String {
    let slowest = all.max_by(|(_, a), (_, b)| a.total_cmp(b));
    let measured = slowest.map(|(case, seconds)| {
        let Work { network, trial, replicas, .. } = case.work;
        (format!("at most {seconds:.2} s ({network} {trial}, R = {replicas})"), seconds < most_s)
    });
    judged(format!("a {what} shape ready under {most_s} s"), measured)
}

fn judged(goal: String, measured: Option<(String, bool)>) -> String {
    match measured {
        None => format!("{goal}: not measured"),
        Some((measured, true)) => format!("{goal}: {measured}, met"),
        Some((measured, false)) => format!("{goal}: {measured}, **missed**"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::lines;
    use super::*;

    #[test]
    fn each_pooling_is_judged_by_itself() {
        let goals = of(&Report::new(lines()).unwrap());
        let verdicts: Vec<&str> = goals.iter().map(|goal| goal.split_once(": ").unwrap().1).collect();
        assert_eq!(
            verdicts,
            [
                "2.50 times, met",
                "640 thousand, met",
                "25.0 times (PyTorch, captured graph, batch 64), met",
                "80.0 s, met",
                "1.25 times, **missed**",
                "80 thousand, **missed**",
                "3.1 times (PyTorch, captured graph, batch 64), **missed**",
                "not done after 125.0 s, **missed**",
                "at most 6.00 s (ptsm-last 64x400, R = 1), **missed**",
                "at most 0.70 s (ptsm-last 64x400, R = 1), **missed**",
            ]
        );
    }

    #[test]
    fn fewer_subjects_are_another_goal() {
        let mut report = Report::new(lines()).unwrap();
        report.losos.iter_mut().for_each(|loso| loso.subject_count = 4);
        let loso_goals = of(&report).into_iter().filter(|goal| goal.contains("leave-one-subject-out"));
        assert!(loso_goals.map(|goal| goal.ends_with(": not measured")).eq([true, true]));
    }

    #[test]
    fn nothing_measured_is_nothing_met() {
        let goals = of(&Report::new(vec![]).unwrap());
        assert_eq!(goals.len(), 10);
        assert!(goals.iter().all(|goal| goal.ends_with(": not measured")), "{goals:?}");
    }
}

//! Successive halving: all candidates are tried a little, the better ones more. Jamieson and Talwalkar 2016, arXiv:1502.07943.

use serde_json::{Value, json};

use super::trial::{TrialScores, TuningTrial};
use crate::metrics::Metric;

/// Fewer epochs than these tell nothing about a network.
const FEWEST_EPOCHS: usize = 5;

/// What is cut short where candidates are tried only a little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Epochs of training; of so many at least.
    Epochs(usize),
    /// Fits, folds of the first seed first; of so many.
    Fits(usize),
}

impl Budget {
    /// Epochs where every candidate has such, fits where not.
    pub fn of<'a>(settings: impl Iterator<Item = &'a Value>, fits: usize) -> Budget {
        let epochs: Option<Vec<usize>> = settings.map(epochs).collect();
        match epochs.and_then(|all| all.into_iter().min()) {
            Some(fewest) => Budget::Epochs(fewest),
            None => Budget::Fits(fits),
        }
    }

    /// How often it can be divided.
    fn divisions(self, by: usize) -> usize {
        let (whole, least) = match self {
            Budget::Epochs(epochs) => (epochs, FEWEST_EPOCHS),
            Budget::Fits(fits) => (fits, 1),
        };
        logarithm(whole / least, by)
    }
}

fn epochs(settings: &Value) -> Option<usize> {
    usize::try_from(settings.get("training")?.get("epochs")?.as_u64()?).ok()
}

/// How often a number can be divided before less than one is left.
fn logarithm(mut n: usize, by: usize) -> usize {
    let mut times = 0;
    while by > 1 && n >= by {
        (n, times) = (n / by, times + 1);
    }
    times
}

/// One round of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Its place, counted from 1, among how many.
    pub place: (usize, usize),
    /// How many candidates take part.
    pub candidates: usize,
    /// One part in so many of the whole budget.
    pub part: usize,
    /// What it is a part of.
    pub budget: Budget,
}

impl Rung {
    /// The rounds for so many candidates: each time one in `eta` is kept and has `eta` times the budget, and the last round has all of it.
    pub fn ladder(candidates: usize, eta: usize, budget: Budget) -> Vec<Rung> {
        let divisions = logarithm(candidates, eta).min(budget.divisions(eta));
        let power = |n: usize| (0..n).fold(1usize, |all, _| all.saturating_mul(eta.max(1)));
        let rung = |i: usize| Rung {
            place: (i + 1, divisions + 1),
            candidates: candidates.div_ceil(power(i)),
            part: power(divisions - i),
            budget,
        };
        (0..=divisions).map(rung).collect()
    }

    /// A decoder's settings for this round.
    pub fn settings(&self, settings: &Value) -> Value {
        let mut own = settings.clone();
        if let (Budget::Epochs(_), Some(all)) = (self.budget, epochs(settings)) {
            own["training"]["epochs"] = json!(all.div_ceil(self.part));
        }
        own
    }

    /// Epochs of a decoder in this round; none where they are not what is cut short.
    pub fn epochs(&self, settings: &Value) -> Option<usize> {
        match self.budget {
            Budget::Epochs(_) => epochs(settings).map(|all| all.div_ceil(self.part)),
            Budget::Fits(_) => None,
        }
    }

    /// How many fits are done in this round, where that is what is cut short.
    pub fn fits(&self) -> Option<usize> {
        match self.budget {
            Budget::Epochs(_) => None,
            Budget::Fits(all) => Some(all.div_ceil(self.part)),
        }
    }
}

/// Goes through all rounds. `test` is handed a round and the numbers of those who take part, and answers for each of them. A candidate
/// that could not be tested is out. Trials come in the order in which they were done, of each round by their candidates' numbers.
pub fn search<E>(
    rungs: &[Rung],
    metric: &Metric,
    mut test: impl FnMut(&Rung, &[usize]) -> Result<Vec<TrialScores>, E>,
) -> Result<Vec<TuningTrial>, E> {
    let mut trials = vec![];
    let mut standing: Vec<usize> = (0..rungs.first().map_or(0, |rung| rung.candidates)).collect();
    for rung in rungs {
        standing.truncate(rung.candidates);
        standing.sort_unstable();
        let tested = test(rung, &standing)?;
        let mut own: Vec<TuningTrial> = standing
            .iter()
            .zip(tested)
            .map(|(&candidate, tested)| TuningTrial { candidate, rung: rung.place.0, tested })
            .collect();
        trials.extend(own.iter().cloned());
        own.retain(|trial| trial.mean().is_some());
        own.sort_by(|a, b| a.against(b, metric));
        standing = own.iter().map(|trial| trial.candidate).collect();
    }
    Ok(trials)
}

/// The best of those that came furthest; none where nothing could be tested.
pub fn best_trial<'a>(trials: &'a [TuningTrial], metric: &Metric) -> Option<&'a TuningTrial> {
    rank_trials(trials, metric).into_iter().next()
}

/// Each candidate's last trial, the best first: those who came further before the others.
pub fn rank_trials<'a>(trials: &'a [TuningTrial], metric: &Metric) -> Vec<&'a TuningTrial> {
    let last = |trial: &&TuningTrial| {
        let further = |other: &TuningTrial| other.candidate == trial.candidate && other.rung > trial.rung;
        trial.mean().is_some() && !trials.iter().any(|other| further(other) && other.mean().is_some())
    };
    let mut all: Vec<&TuningTrial> = trials.iter().filter(last).collect();
    all.sort_by(|a, b| b.rung.cmp(&a.rung).then_with(|| a.against(b, metric)));
    all
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::metrics::metric;

    fn scored(score: f64) -> TrialScores {
        TrialScores::Scored(vec![score, score])
    }

    #[test]
    fn each_round_keeps_one_in_three_and_gives_them_three_times_as_much() {
        let rungs = Rung::ladder(30, 3, Budget::Epochs(270));
        let found: Vec<_> = rungs.iter().map(|r| (r.candidates, r.part)).collect();
        assert_eq!(found, [(30, 27), (10, 9), (4, 3), (2, 1)]);
        let settings = json!({"training": {"epochs": 100, "rate": 1}});
        assert_eq!(rungs[0].settings(&settings), json!({"training": {"epochs": 4, "rate": 1}}));
        assert_eq!(rungs[3].settings(&settings), settings);
    }

    #[test]
    fn a_small_budget_or_few_candidates_have_fewer_rounds() {
        let rounds = |n, eta, budget| Rung::ladder(n, eta, budget).len();
        assert_eq!(rounds(30, 3, Budget::Epochs(20)), 2);
        assert_eq!(rounds(30, 3, Budget::Epochs(4)), 1);
        assert_eq!(rounds(2, 3, Budget::Epochs(300)), 1);
        assert_eq!(rounds(30, 1, Budget::Epochs(300)), 1);
        assert_eq!(rounds(30, 3, Budget::Fits(6)), 2);
        assert_eq!(Rung::ladder(9, 3, Budget::Fits(6))[0].fits(), Some(2));
        assert_eq!(rounds(1, 2, Budget::Fits(1)), 1);
    }

    #[test]
    fn the_best_is_found_and_those_that_fail_are_out() {
        let accuracy = metric("accuracy").unwrap();
        let rungs = Rung::ladder(9, 3, Budget::Epochs(90));
        let mut rounds = vec![];
        let trials = search(&rungs, accuracy, |rung, candidates| {
            rounds.push(candidates.to_vec());
            // Candidate 4 looks best early and fails late; 7 gets better with time.
            let test = |&c: &usize| match (c, rung.place.0) {
                (4, 1) => scored(0.9),
                (4, _) => TrialScores::Failed { error: "not finite".into(), hint: None },
                (7, place) => scored(0.6 + 0.1 * place as f64),
                (c, _) => scored(0.5 + 0.01 * c as f64),
            };
            Ok::<_, Infallible>(candidates.iter().map(test).collect())
        })
        .unwrap();
        assert_eq!(rounds, [(0..9).collect::<Vec<_>>(), vec![4, 7, 8], vec![7]]);
        assert_eq!(best_trial(&trials, accuracy).unwrap().candidate, 7);
        assert_eq!(rank_trials(&trials, accuracy)[1].candidate, 8);
        let loss = metric("log_loss").unwrap();
        let trials = search(&rungs[..1], loss, |_, candidates| {
            Ok::<_, Infallible>(candidates.iter().map(|&c| scored(1.0 + c as f64)).collect())
        });
        assert_eq!(best_trial(&trials.unwrap(), loss).unwrap().candidate, 0, "less is better");
    }

    #[test]
    fn equals_are_settled_by_who_came_first() {
        let accuracy = metric("accuracy").unwrap();
        let rungs = Rung::ladder(4, 2, Budget::Fits(4));
        let trials = search(&rungs, accuracy, |_, candidates| {
            Ok::<_, Infallible>(candidates.iter().map(|_| scored(0.5)).collect())
        });
        assert_eq!(best_trial(&trials.unwrap(), accuracy).unwrap().candidate, 0);
    }

    #[test]
    fn budgets_are_epochs_only_where_all_have_them() {
        let (network, classic) = (json!({"training": {"epochs": 60}}), json!({"filters": 4}));
        assert_eq!(Budget::of([&network, &network].into_iter(), 6), Budget::Epochs(60));
        assert_eq!(Budget::of([&classic].into_iter(), 6), Budget::Fits(6));
    }
}

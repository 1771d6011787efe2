//! Which trials make up a batch: as many from each of some domains.

use ptsm_signal::{SubjectId, Subset};
use rand::seq::SliceRandom;

use crate::error::{Error, Result};
use crate::random::{Purpose, stream};

/// A session of a subject.
pub(super) type Domain = (SubjectId, u32);

/// The trials of each domain as places in a subset, domains in order.
pub(super) fn domains(trials: impl Iterator<Item = Domain>) -> Vec<(Domain, Vec<usize>)> {
    let mut all = std::collections::BTreeMap::<Domain, Vec<usize>>::new();
    trials.enumerate().for_each(|(place, domain)| all.entry(domain).or_default().push(place));
    all.into_iter().collect()
}

/// The same where each is to have a mean and a variance of its own: a domain of one trial is refused.
pub(super) fn measurable(trials: impl Iterator<Item = Domain>) -> Result<Vec<(Domain, Vec<usize>)>> {
    let all = domains(trials);
    match all.iter().find(|(_, places)| places.len() < 2) {
        None => Ok(all),
        Some(((subject, session), _)) => Err(Error::trials(
            format!(
                "1 trial of {subject} in session {session} is too few: `tsmnet` needs at least 2 of each session"
            ),
            "leave that subject or that session out, or use `tsmnet-spdmbn`, which does not look at sessions",
        )),
    }
}

/// The domain of every trial.
pub(super) fn of_each<'a>(trials: &'a Subset<'_>) -> impl Iterator<Item = Domain> + 'a {
    trials.info().map(|trial| (trial.subject, trial.session))
}

/// Domains to draw batches from.
pub(super) struct DomainPool {
    /// The trials of each, at least two.
    domains: Vec<Vec<usize>>,
    /// Domains in a batch, and trials of each.
    pub(super) together: usize,
    each: usize,
    /// Batches in an epoch, where all domains can be dealt out.
    pub(super) steps: usize,
}

/// A batch: domains by number, and some trials of each.
pub(super) type Plan = Vec<(usize, Vec<usize>)>;

impl DomainPool {
    /// `together` x `each` in a batch; a domain with fewer trials gives all it has.
    pub(super) fn new(domains: Vec<Vec<usize>>, together: usize, each: usize) -> DomainPool {
        let together = together.min(domains.len());
        let batches: usize = domains.iter().map(|trials| (trials.len() / each).max(1)).sum();
        DomainPool { together, each, steps: batches / together.max(1), domains }
    }

    /// Trials in a batch at most.
    pub(super) fn batch(&self) -> usize {
        let mut sizes: Vec<usize> = self.domains.iter().map(|trials| trials.len().min(self.each)).collect();
        sizes.sort_unstable();
        sizes.iter().rev().take(self.together).sum()
    }

    pub(super) fn domains(&self) -> usize {
        self.domains.len()
    }

    /// All batches of an epoch. Domains are drawn at random among those that have enough trials left; the epoch ends when too few have.
    pub(super) fn epoch(&self, seed: u64, epoch: usize) -> Vec<Plan> {
        let mut rng = stream(seed, Purpose::Batches, epoch, 0);
        let mut left = self.domains.clone();
        left.iter_mut().for_each(|trials| trials.shuffle(&mut rng));
        let share = |domain: usize| self.each.min(self.domains[domain].len());
        let mut plans = vec![];
        loop {
            let mut able: Vec<usize> = (0..left.len()).filter(|&d| left[d].len() >= share(d)).collect();
            if able.len() < self.together || able.is_empty() {
                return plans;
            }
            able.shuffle(&mut rng);
            let mut draw = |&domain: &usize| {
                let rest = left[domain].len() - share(domain);
                (domain, left[domain].split_off(rest))
            };
            plans.push(able[..self.together].iter().map(&mut draw).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(sizes: &[usize], together: usize, each: usize) -> DomainPool {
        let mut first = 0;
        let domain = |&n: &usize| {
            first += n;
            (first - n..first).collect()
        };
        DomainPool::new(sizes.iter().map(domain).collect(), together, each)
    }

    #[test]
    fn a_batch_is_some_trials_of_some_domains() {
        let pool = pool(&[45; 28], 5, 10);
        let plans = pool.epoch(1, 0);
        assert!((18..=22).contains(&plans.len()) && pool.steps == 22, "{}", plans.len());
        let mut seen: Vec<usize> = vec![];
        for plan in &plans {
            assert_eq!(plan.len(), 5);
            for (domain, trials) in plan {
                assert_eq!(trials.len(), 10);
                assert!(trials.iter().all(|trial| trial / 45 == *domain));
                seen.extend(trials);
            }
            let mut domains: Vec<_> = plan.iter().map(|(domain, _)| domain).collect();
            domains.sort_unstable();
            domains.dedup();
            assert_eq!(domains.len(), 5);
        }
        let n = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), n, "no trial is seen twice");
        assert_eq!(plans, pool.epoch(1, 0));
        assert_ne!(plans, pool.epoch(1, 1));
        assert_ne!(plans, pool.epoch(2, 0));
    }

    #[test]
    fn small_domains_give_what_they_have() {
        let pool = pool(&[4, 25], 5, 10);
        assert_eq!((pool.domains(), pool.together), (2, 2));
        let plans = pool.epoch(1, 0);
        assert_eq!(plans.len(), 1);
        let mut sizes: Vec<_> = plans[0].iter().map(|(_, trials)| trials.len()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [4, 10]);
        assert_eq!((pool.steps, pool.batch()), (1, 14));
    }

    #[test]
    fn a_domain_of_one_trial_is_named() {
        let of = |sessions: &[u32]| measurable(sessions.iter().map(|&session| (SubjectId(3), session)));
        assert_eq!(
            of(&[2, 1, 2, 1]).unwrap(),
            [((SubjectId(3), 1), vec![1, 3]), ((SubjectId(3), 2), vec![0, 2])]
        );
        assert!(of(&[]).unwrap().is_empty());
        let error = of(&[1, 1, 2, 4, 4]).unwrap_err();
        assert!(error.to_string().contains("1 trial of S03 in session 2 is too few"), "{error}");
        assert!(error.hint().unwrap().contains("tsmnet-spdmbn"));
    }
}

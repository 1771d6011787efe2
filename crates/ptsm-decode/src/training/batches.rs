//! Which trials make up a batch.

use ptsm_signal::{Subset, Trial};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::network::{Batches, Pairs};
use crate::random::{Purpose, stream};

/// How the batches of one job are drawn.
pub(super) enum BatchSampler {
    /// See [`Batches::Subjects`].
    Subjects(SubjectPool),
    /// See [`Batches::WithTarget`]; the number is that of the target's trials.
    WithTarget(SubjectPool, usize),
    /// See [`Batches::Pairs`].
    Pairs(PairSampler),
}

impl BatchSampler {
    /// For `subjects` x `trials` labelled trials in a batch, and a target of so many trials.
    pub(super) fn new(
        kind: Batches,
        train: &Subset<'_>,
        target: usize,
        (subjects, trials): (usize, usize),
    ) -> BatchSampler {
        let pool = || SubjectPool::new(train, subjects, trials);
        match kind {
            Batches::Subjects => BatchSampler::Subjects(pool()),
            Batches::WithTarget | Batches::WithPseudoTarget => BatchSampler::WithTarget(pool(), target),
            Batches::Pairs { trials } => BatchSampler::Pairs(PairSampler::new(train, trials)),
        }
    }

    /// Batches in an epoch: about as many labelled trials as there are.
    pub(super) fn steps(&self) -> usize {
        match self {
            BatchSampler::Subjects(pool) | BatchSampler::WithTarget(pool, _) => pool.steps,
            BatchSampler::Pairs(paired) => paired.steps,
        }
    }

    /// Trials in a batch that have labels: the first ones.
    pub(super) fn labelled(&self) -> usize {
        match self {
            BatchSampler::Subjects(pool) | BatchSampler::WithTarget(pool, _) => pool.batch(),
            BatchSampler::Pairs(paired) => paired.batch(),
        }
    }

    /// Trials in a batch.
    pub(super) fn batch(&self) -> usize {
        match self {
            BatchSampler::Subjects(_) | BatchSampler::Pairs(_) => self.labelled(),
            BatchSampler::WithTarget(..) => 2 * self.labelled(),
        }
    }

    /// All trials of an epoch, batch after batch, of one seed: labelled ones as rows of the set, others by their place in the target.
    pub(super) fn epoch(&self, seed: u64, epoch: usize) -> Vec<u32> {
        let (pool, target) = match self {
            BatchSampler::Subjects(pool) => return pool.epoch(seed, epoch),
            BatchSampler::Pairs(paired) => return paired.epoch(seed, epoch),
            BatchSampler::WithTarget(pool, target) => (pool, target),
        };
        let labelled = pool.epoch(seed, epoch);
        // A stream of its own: labelled trials are drawn as they would without a target.
        let mut rng = stream(seed, Purpose::Target, epoch, 0);
        let mut deck = ShuffledCycle::new((0..*target as u32).collect(), &mut rng);
        let mut all = Vec::with_capacity(2 * labelled.len());
        for batch in labelled.chunks(pool.batch()) {
            all.extend_from_slice(batch);
            all.extend((0..batch.len()).map(|_| deck.next(&mut rng)));
        }
        all
    }
}

/// As many trials from each of some subjects, classes in turn: the trials of each subject by class, as rows of the set.
pub(super) struct SubjectPool {
    /// `[subject][class][..]`; classes a subject lacks are left out.
    subjects: Vec<Vec<Vec<u32>>>,
    /// Subjects in a batch.
    together: usize,
    /// Trials of each of them in a batch.
    each: usize,
    /// Batches in an epoch: about as many trials as there are.
    steps: usize,
}

impl SubjectPool {
    /// `subjects` x `trials` in a batch; with fewer subjects than that, more trials of each.
    fn new(train: &Subset<'_>, subjects: usize, trials: usize) -> SubjectPool {
        let classes = train.layout().classes.len();
        let by_subject = train.subjects().into_iter().map(|subject| {
            let mut rows = vec![vec![]; classes];
            for (&row, info) in train.rows().iter().zip(train.info()) {
                if info.subject == subject {
                    rows[info.label as usize].push(row as u32);
                }
            }
            rows.retain(|of_class| !of_class.is_empty());
            rows
        });
        let by_subject: Vec<_> = by_subject.collect();
        let together = subjects.min(by_subject.len());
        let each = (subjects * trials).div_ceil(together);
        // No more than there are: a small set is one batch.
        let each = each.min(train.len().div_ceil(together)).max(1);
        let steps = train.len().div_ceil(together * each);
        SubjectPool { subjects: by_subject, together, each, steps }
    }

    /// Trials in a batch.
    fn batch(&self) -> usize {
        self.together * self.each
    }

    /// All rows of an epoch, batch after batch, of one seed.
    fn epoch(&self, seed: u64, epoch: usize) -> Vec<u32> {
        let mut rng = stream(seed, Purpose::Batches, epoch, 0);
        let mut subjects = ShuffledCycle::new((0..self.subjects.len()).collect(), &mut rng);
        let mut trials: Vec<Vec<ShuffledCycle<u32>>> = self
            .subjects
            .iter()
            .map(|classes| classes.iter().map(|rows| ShuffledCycle::new(rows.clone(), &mut rng)).collect())
            .collect();
        let mut turn = vec![0; self.subjects.len()];
        let mut rows = Vec::with_capacity(self.steps * self.batch());
        for _ in 0..self.steps {
            for _ in 0..self.together {
                let subject = subjects.next(&mut rng);
                for _ in 0..self.each {
                    let classes = &mut trials[subject];
                    let class = turn[subject] % classes.len();
                    turn[subject] += 1;
                    rows.push(classes[class].next(&mut rng));
                }
            }
        }
        rows
    }
}

/// The trials of each subject, and those of each class, as rows of the set.
pub(super) struct PairSampler {
    by_subject: Vec<Vec<u32>>,
    by_class: Vec<Vec<u32>>,
    pairs: [Pairs; 2],
    steps: usize,
}

impl PairSampler {
    fn new(train: &Subset<'_>, trials: usize) -> PairSampler {
        let rows = |is_of: &dyn Fn(&Trial) -> bool| -> Vec<u32> {
            let rows = train.rows().iter().zip(train.info());
            rows.filter(|(_, info)| is_of(info)).map(|(&row, _)| row as u32).collect()
        };
        let by_subject: Vec<_> = train.subjects().into_iter().map(|s| rows(&|t| t.subject == s)).collect();
        let classes = train.layout().classes.len() as u32;
        let by_class: Vec<_> = (0..classes).map(|class| rows(&|t| t.label == class)).collect();
        let pairs = [by_subject.len(), by_class.len()].map(|values| Pairs::new(values, trials));
        let mut paired = PairSampler { by_subject, by_class, pairs, steps: 0 };
        paired.steps = train.len().div_ceil(paired.batch());
        paired
    }

    fn batch(&self) -> usize {
        self.pairs.iter().map(|pairs| 2 * pairs.count()).sum()
    }

    /// All rows of an epoch. Every trial of a pair is drawn by itself, so that both may be the same.
    fn epoch(&self, seed: u64, epoch: usize) -> Vec<u32> {
        let mut rng = stream(seed, Purpose::Pairs, epoch, 0);
        let mut rows = Vec::with_capacity(self.steps * self.batch());
        for _ in 0..self.steps {
            for (values, pairs) in [&self.by_subject, &self.by_class].into_iter().zip(self.pairs) {
                for own in (0..2 * pairs.groups).flat_map(|_| values) {
                    rows.push(own[rng.random_range(0..own.len())]);
                }
            }
        }
        rows
    }
}

/// Cards drawn in random order, shuffled again when all have been.
struct ShuffledCycle<T> {
    cards: Vec<T>,
    next: usize,
}

impl<T: Copy> ShuffledCycle<T> {
    fn new(mut cards: Vec<T>, rng: &mut ChaCha8Rng) -> ShuffledCycle<T> {
        cards.shuffle(rng);
        ShuffledCycle { cards, next: 0 }
    }

    fn next(&mut self, rng: &mut ChaCha8Rng) -> T {
        if self.next == self.cards.len() {
            self.cards.shuffle(rng);
            self.next = 0;
        }
        self.next += 1;
        self.cards[self.next - 1]
    }
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, Layout, SubjectId, Trials};

    use super::*;

    fn trials(subjects: u32, each: u32) -> Trials {
        let layout = Layout {
            channels: vec![Channel::named("Cz")],
            samples: 1,
            rate_hz: 1.0,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        let info = (0..subjects * each).map(|i| Trial {
            label: i % 2,
            subject: SubjectId(i / each),
            session: 1,
            run: 1,
            cue_s: f64::from(i),
        });
        Trials::new(layout, vec![0.0; (subjects * each) as usize], info.collect()).unwrap()
    }

    #[test]
    fn batches_are_balanced_over_subjects_and_classes() {
        let trials = trials(20, 40);
        let pool = SubjectPool::new(&trials.all(), 8, 8);
        assert_eq!((pool.batch(), pool.steps), (64, 13));
        let rows = pool.epoch(1, 0);
        assert_eq!(rows.len(), 13 * 64);
        for batch in rows.chunks(64) {
            let info: Vec<_> = batch.iter().map(|&r| trials.info()[r as usize]).collect();
            let mut subjects: Vec<_> = info.iter().map(|t| t.subject).collect();
            subjects.dedup();
            assert_eq!(subjects.len(), 8);
            assert_eq!(info.iter().filter(|t| t.label == 0).count(), 32);
        }
        // Nearly every trial is seen once.
        let mut seen = rows.clone();
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() > 700, "{}", seen.len());
        assert_eq!(rows, pool.epoch(1, 0));
        assert_ne!(rows, pool.epoch(1, 1));
        assert_ne!(rows, pool.epoch(2, 0));
    }

    #[test]
    fn half_a_batch_is_of_the_target_and_the_other_half_is_what_it_was() {
        let trials = trials(20, 40);
        let plain = BatchSampler::new(Batches::Subjects, &trials.all(), 0, (8, 8));
        let sampler = BatchSampler::new(Batches::WithTarget, &trials.all(), 100, (8, 8));
        assert_eq!((sampler.batch(), sampler.labelled(), sampler.steps()), (128, 64, plain.steps()));
        let (all, labelled) = (sampler.epoch(1, 3), plain.epoch(1, 3));
        let mut target = vec![];
        for (batch, own) in all.chunks(128).zip(labelled.chunks(64)) {
            assert_eq!(&batch[..64], own);
            target.extend_from_slice(&batch[64..]);
        }
        assert_eq!(all.len(), 2 * labelled.len());
        // Every trial once before any comes twice.
        let mut first = target[..100].to_vec();
        first.sort_unstable();
        assert_eq!(first, (0..100).collect::<Vec<u32>>());
        assert_ne!(sampler.epoch(1, 4), all);
    }

    #[test]
    fn a_group_of_pairs_has_every_subject_or_every_class_once_on_each_side() {
        let trials = trials(20, 40);
        let sampler = BatchSampler::new(Batches::Pairs { trials: 90 }, &trials.all(), 0, (8, 8));
        // 2 groups of 20 subjects and 22 of 2 classes, twice.
        assert_eq!((sampler.batch(), sampler.steps()), (80 + 88, 5));
        let rows = sampler.epoch(1, 0);
        assert_eq!(rows.len(), 5 * 168);
        for batch in rows.chunks(168) {
            let info = |row: &u32| trials.info()[*row as usize];
            let (subjects, classes) = batch.split_at(80);
            for group in subjects.chunks(20) {
                let ids: Vec<u32> = group.iter().map(|row| info(row).subject.0).collect();
                assert_eq!(ids, (0..20).collect::<Vec<u32>>());
            }
            for group in classes.chunks(2) {
                assert_eq!([info(&group[0]).label, info(&group[1]).label], [0, 1]);
            }
            // Drawn, not counted out: both sides of both kinds differ.
            assert_ne!(subjects[..40], subjects[40..]);
            assert_ne!(classes[..44], classes[44..]);
        }
        assert_eq!(rows, sampler.epoch(1, 0));
        assert_ne!(rows, sampler.epoch(1, 1));
        assert_ne!(rows, sampler.epoch(2, 0));
    }

    #[test]
    fn few_subjects_give_more_trials_each() {
        let small = trials(3, 40);
        let pool = SubjectPool::new(&small.all(), 8, 8);
        assert_eq!((pool.together, pool.each, pool.steps), (3, 22, 2));
        let tiny = trials(2, 4);
        let pool = SubjectPool::new(&tiny.all(), 8, 8);
        assert_eq!((pool.together, pool.each, pool.steps), (2, 4, 1));
    }
}

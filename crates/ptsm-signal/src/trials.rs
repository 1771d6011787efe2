//! Trials: equal windows of signal, each with a class and a subject.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::montage::Channel;
use crate::task::TaskDeclaration;

/// A subject, known by a number and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubjectId(pub u32);

impl fmt::Display for SubjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("S{:02}", self.0))
    }
}

/// Whose a trial is, when it was and what it means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The class, an index into [`Layout::classes`].
    pub label: u32,
    /// The subject.
    pub subject: SubjectId,
    /// The session, counted from 1.
    pub session: u32,
    /// The run inside the session, counted from 1.
    pub run: u32,
    /// When the trial's cue came, in seconds since the run began, gaps not counted.
    pub cue_s: f64,
}

/// What all trials of a set have in common, and what a decoder is made for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Channels, C of them.
    pub channels: Vec<Channel>,
    /// Samples T.
    pub samples: usize,
    /// Samples per second.
    pub rate_hz: f64,
    /// When the first sample is, in seconds after the cue.
    pub start_s: f64,
    /// Names of the classes, K of them.
    pub classes: Vec<String>,
    /// What is declared about the task.
    #[serde(default, skip_serializing_if = "TaskDeclaration::is_undeclared")]
    pub task: TaskDeclaration,
}

impl Layout {
    /// When each sample is, in seconds after the cue.
    pub fn times_s(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.samples).map(|t| self.start_s + t as f64 / self.rate_hz)
    }

    /// Refuses trials that are not like these: other channels, another length, rate, classes, or a start that differs by more
    /// than half a sample. What is declared about the task may differ: a decoder has its own.
    pub fn expect(&self, other: &Layout) -> Result<()> {
        let names = |l: &Layout| l.channels.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
        let (own, given) = (names(self), names(other));
        let differ = |message: String| Err(Error::data("trials", message));
        if own.len() != given.len() {
            return differ(format!("{} channels are needed, these have {}", own.len(), given.len()));
        }
        if let Some(i) = (0..own.len()).find(|&i| own[i] != given[i]) {
            return differ(format!("channel {i} must be `{}`, these have `{}`", own[i], given[i]));
        }
        if self.samples != other.samples {
            return differ(format!("{} samples are needed, these have {}", self.samples, other.samples));
        }
        if (self.rate_hz - other.rate_hz).abs() > 1e-6 * self.rate_hz {
            return differ(format!("{} Hz are needed, these have {} Hz", self.rate_hz, other.rate_hz));
        }
        if (self.start_s - other.start_s).abs() * self.rate_hz > 0.5 {
            let message = format!(
                "they must begin {} s after the cue, these begin {} s after it",
                self.start_s, other.start_s
            );
            return Err(Error::data("trials", message)
                .with_hint("epoch both with the same window after the cue; arrays say where their epochs begin with `start_s`"));
        }
        if self.classes != other.classes {
            return differ(format!("the classes must be {:?}, these have {:?}", self.classes, other.classes));
        }
        Ok(())
    }
}

/// Samples that somebody else holds, such as a mapped file.
pub type SharedSamples = Arc<dyn AsRef<[f32]> + Send + Sync>;

/// Trials of several subjects. Their samples lie in one or several blocks of `[n, C, T]`, so that sets are joined without copying.
#[derive(Clone)]
pub struct Trials {
    layout: Layout,
    blocks: Vec<Block>,
    trials: Vec<Trial>,
}

/// The samples of consecutive trials.
#[derive(Clone)]
struct Block {
    /// The first of them.
    first: usize,
    samples: Samples,
}

#[derive(Clone)]
enum Samples {
    Own(Arc<Vec<f32>>),
    Shared(SharedSamples),
}

impl Samples {
    fn as_slice(&self) -> &[f32] {
        match self {
            Samples::Own(own) => own,
            Samples::Shared(lent) => (**lent).as_ref(),
        }
    }

    /// To change them: a copy where they are lent or shared.
    fn own(&mut self) -> &mut Vec<f32> {
        if let Samples::Shared(lent) = self {
            *self = Samples::Own(Arc::new((**lent).as_ref().to_vec()));
        }
        let Samples::Own(own) = self else { unreachable!("lent samples were copied just now") };
        Arc::make_mut(own)
    }
}

impl Trials {
    /// Checks that the parts fit, that every sample is a number and every label a class.
    ///
    /// # Shapes
    /// `x` is `[n, C, T]`.
    pub fn new(layout: Layout, x: Vec<f32>, trials: Vec<Trial>) -> Result<Trials> {
        check_parts(&layout, x.len(), &trials)?;
        if let Some(i) = not_a_number(&x) {
            let one = layout.channels.len() * layout.samples;
            let (trial, channel, t) = (i / one, i % one / layout.samples, i % layout.samples);
            let (subject, name) = (trials[trial].subject, &layout.channels[channel].name);
            return Err(Error::data(
                format!("trial {trial} ({subject})"),
                format!("channel `{name}`, sample {t} is {}, not a number", x[i]),
            )
            .with_hint("leave such trials out or interpolate the channel before"));
        }
        Ok(Trials::one_block(layout, Samples::Own(Arc::new(x)), trials))
    }

    /// Trials whose samples stay where they are. Whoever lends them has checked that they are numbers; all else is checked here.
    pub fn from_shared(layout: Layout, x: SharedSamples, trials: Vec<Trial>) -> Result<Trials> {
        check_parts(&layout, (*x).as_ref().len(), &trials)?;
        Ok(Trials::one_block(layout, Samples::Shared(x), trials))
    }

    fn one_block(layout: Layout, samples: Samples, trials: Vec<Trial>) -> Trials {
        let blocks = if trials.is_empty() { vec![] } else { vec![Block { first: 0, samples }] };
        Trials { layout, blocks, trials }
    }

    /// What all trials have in common.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Number of trials.
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// A copy of all samples, `[n, C, T]`.
    pub fn to_vec(&self) -> Vec<f32> {
        self.blocks.iter().flat_map(|block| block.samples.as_slice()).copied().collect()
    }

    /// The samples of one trial, `[C, T]`.
    pub fn signal(&self, trial: usize) -> &[f32] {
        let one = self.layout.channels.len() * self.layout.samples;
        let block = &self.blocks[self.block(trial)];
        &block.samples.as_slice()[(trial - block.first) * one..][..one]
    }

    /// The same, to change them. Whoever does keeps them finite. Samples that are lent or shared are copied first.
    pub(crate) fn signal_mut(&mut self, trial: usize) -> &mut [f32] {
        let one = self.layout.channels.len() * self.layout.samples;
        let at = self.block(trial);
        let block = &mut self.blocks[at];
        &mut block.samples.own()[(trial - block.first) * one..][..one]
    }

    /// Which block a trial is in.
    fn block(&self, trial: usize) -> usize {
        self.blocks.partition_point(|block| block.first <= trial) - 1
    }

    /// What is known of each trial.
    pub fn info(&self) -> &[Trial] {
        &self.trials
    }

    /// Everybody in the set.
    pub fn subjects(&self) -> BTreeSet<SubjectId> {
        self.trials.iter().map(|t| t.subject).collect()
    }

    /// Adds trials of the same kind.
    pub fn append(&mut self, more: &Trials) -> Result<()> {
        self.layout.expect(&more.layout)?;
        let first = self.trials.len();
        self.blocks.extend(more.blocks.iter().map(|b| Block { first: first + b.first, ..b.clone() }));
        self.trials.extend_from_slice(&more.trials);
        Ok(())
    }

    /// The same trials with something else declared about their task. A symmetry must be one of their classes.
    pub fn with_task(mut self, task: TaskDeclaration) -> Result<Trials> {
        task.symmetry.permutation(&self.layout.classes)?;
        self.layout.task = task;
        Ok(self)
    }

    /// Every trial.
    pub fn all(&self) -> Subset<'_> {
        Subset { trials: self, rows: (0..self.len()).collect() }
    }

    /// The trials of some subjects.
    pub fn of(&self, subjects: &BTreeSet<SubjectId>) -> Subset<'_> {
        self.all().only(|t| subjects.contains(&t.subject))
    }

    /// The same trials with other labels, one each, as a test of leakage needs. Labels are checked as in [`Trials::new`].
    pub fn relabelled(&self, labels: &[u32]) -> Result<Trials> {
        if labels.len() != self.len() {
            let (given, n) = (labels.len(), self.len());
            return Err(Error::data("trials", format!("{given} labels for {n} trials; one each is needed")));
        }
        let trials: Vec<_> =
            self.trials.iter().zip(labels).map(|(t, &label)| Trial { label, ..*t }).collect();
        check_labels(&self.layout, &trials)?;
        Ok(Trials { trials, ..self.clone() })
    }
}

impl fmt::Debug for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trials")
            .field("layout", &self.layout)
            .field("trials", &self.trials)
            .finish_non_exhaustive()
    }
}

/// Two sets are the same where every trial is, whatever blocks they lie in.
impl PartialEq for Trials {
    fn eq(&self, other: &Trials) -> bool {
        self.layout == other.layout
            && self.trials == other.trials
            && (0..self.len()).all(|row| self.signal(row) == other.signal(row))
    }
}

/// Whether layout, samples and trials fit.
fn check_parts(layout: &Layout, samples: usize, trials: &[Trial]) -> Result<()> {
    let one = layout.channels.len() * layout.samples;
    if one == 0 || layout.classes.is_empty() {
        let (c, t, k) = (layout.channels.len(), layout.samples, layout.classes.len());
        let message = format!("{c} channels, {t} samples and {k} classes make no trial");
        return Err(Error::data("trials", message));
    }
    if !(layout.rate_hz.is_finite() && layout.rate_hz > 0.0 && layout.start_s.is_finite()) {
        let (rate, start) = (layout.rate_hz, layout.start_s);
        return Err(Error::data("trials", format!("a rate of {rate} Hz from {start} s is not possible")));
    }
    if samples != one * trials.len() {
        let n = trials.len();
        return Err(Error::data("trials", format!("{n} trials of {one} samples are not {samples} samples")));
    }
    check_labels(layout, trials)
}

/// The place of the first value that is not a number.
pub(crate) fn not_a_number(x: &[f32]) -> Option<usize> {
    // Whole pieces at once: looking for the place itself goes value by value.
    let bad = |piece: &[f32]| !piece.iter().fold(true, |good, v| good & v.is_finite());
    let piece = x.chunks(PIECE).position(bad)?;
    let first = piece * PIECE;
    x[first..].iter().position(|v| !v.is_finite()).map(|at| first + at)
}

const PIECE: usize = 1024;

fn check_labels(layout: &Layout, trials: &[Trial]) -> Result<()> {
    match trials.iter().position(|t| t.label as usize >= layout.classes.len()) {
        None => Ok(()),
        Some(i) => {
            let (label, k) = (trials[i].label, layout.classes.len());
            Err(Error::data(format!("trial {i}"), format!("has label {label}; there are {k} classes")))
        }
    }
}

/// Some of a set's trials, in a fixed order.
#[derive(Clone, Debug)]
pub struct Subset<'a> {
    trials: &'a Trials,
    rows: Vec<usize>,
}

impl<'a> Subset<'a> {
    /// The set they come from.
    pub fn set(&self) -> &'a Trials {
        self.trials
    }

    /// What all trials have in common.
    pub fn layout(&self) -> &'a Layout {
        &self.trials.layout
    }

    /// Which rows of the set.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Number of trials.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What is known of each trial, in order.
    pub fn info(&self) -> impl ExactSizeIterator<Item = &'a Trial> + '_ {
        self.rows.iter().map(|&r| &self.trials.trials[r])
    }

    /// The class of each trial, in order.
    pub fn labels(&self) -> Vec<u32> {
        self.info().map(|t| t.label).collect()
    }

    /// The samples of each trial, in order.
    pub fn signals(&self) -> impl ExactSizeIterator<Item = &'a [f32]> + '_ {
        self.rows.iter().map(|&r| self.trials.signal(r))
    }

    /// The same trials with other samples, `[n, C, T]`. They are checked as in [`Trials::new`].
    pub fn with_samples(&self, x: Vec<f32>) -> Result<Trials> {
        Trials::new(self.layout().clone(), x, self.info().copied().collect())
    }

    /// Everybody among them.
    pub fn subjects(&self) -> BTreeSet<SubjectId> {
        self.info().map(|t| t.subject).collect()
    }

    /// Trials per class.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.trials.layout.classes.len()];
        self.info().for_each(|t| counts[t.label as usize] += 1);
        counts
    }

    /// Those that meet a condition.
    pub fn only(&self, keep: impl Fn(&Trial) -> bool) -> Subset<'a> {
        let rows = self.rows.iter().copied().filter(|&r| keep(&self.trials.trials[r])).collect();
        Subset { trials: self.trials, rows }
    }

    /// Those at some places of this subset, in the order of the places.
    pub fn at(&self, places: &[usize]) -> Subset<'a> {
        Subset { trials: self.trials, rows: places.iter().map(|&p| self.rows[p]).collect() }
    }

    /// The same trials in time order: session, run, cue.
    pub fn in_time(&self) -> Subset<'a> {
        let mut rows = self.rows.clone();
        let at = |r: usize| &self.trials.trials[r];
        rows.sort_by(|&a, &b| {
            let (a, b) = (at(a), at(b));
            (a.session, a.run).cmp(&(b.session, b.run)).then(a.cue_s.total_cmp(&b.cue_s))
        });
        Subset { trials: self.trials, rows }
    }

    /// The first share of the trials of each subject's session, in time order; at least one of each.
    pub fn first_of_sessions(&self, share: f64) -> Subset<'a> {
        let mut sessions = BTreeMap::<_, Vec<usize>>::new();
        for row in self.in_time().rows {
            let trial = &self.trials.trials[row];
            sessions.entry((trial.subject, trial.session)).or_default().push(row);
        }
        let first = |rows: Vec<usize>| {
            let n = ((share * rows.len() as f64).round() as usize).clamp(1, rows.len());
            rows.into_iter().take(n)
        };
        Subset { trials: self.trials, rows: sessions.into_values().flat_map(first).collect() }
    }

    /// The same trials without their labels.
    pub fn unlabelled(&self) -> Unlabelled<'a> {
        Unlabelled(self.clone())
    }
}

/// Trials whose labels cannot be read: what a method gets of the test subject.
#[derive(Clone, Debug)]
pub struct Unlabelled<'a>(Subset<'a>);

impl<'a> Unlabelled<'a> {
    /// What all trials have in common.
    pub fn layout(&self) -> &'a Layout {
        self.0.layout()
    }

    /// Number of trials.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The samples of each trial, in order.
    pub fn signals(&self) -> impl ExactSizeIterator<Item = &'a [f32]> + '_ {
        self.0.signals()
    }

    /// The same trials as a set of their own, for decoders: every label is that of the first class.
    pub fn without_labels(&self) -> Result<Trials> {
        let x = self.signals().flatten().copied().collect();
        Trials::new(self.layout().clone(), x, self.0.info().map(|t| Trial { label: 0, ..*t }).collect())
    }

    /// Whose each trial is, and of which session, in order.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = (SubjectId, u32)> + '_ {
        self.0.info().map(|trial| (trial.subject, trial.session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(rate_hz: f64, start_s: f64) -> Layout {
        let channels = vec![Channel::named("Cz")];
        Layout {
            channels,
            samples: 2,
            rate_hz,
            start_s,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        }
    }

    #[test]
    fn another_start_is_another_kind_of_trial() {
        let own = layout(100.0, 0.5);
        own.expect(&layout(100.0, 0.504)).unwrap();
        let error = own.expect(&layout(100.0, 0.0)).unwrap_err();
        assert!(error.to_string().contains("begin 0.5 s after the cue, these begin 0 s"), "{error}");
        assert!(error.hint().is_some());
        // Times without a rate are counted in samples.
        layout(1.0, 0.0).expect(&layout(1.0, 0.0)).unwrap();
        assert!(layout(1.0, 0.0).expect(&layout(1.0, 1.0)).is_err());
    }

    #[test]
    fn joined_sets_are_the_same_as_one() {
        let trial = |label| Trial { label, subject: SubjectId(1), session: 1, run: 1, cue_s: 0.0 };
        let set = |x: &[f32]| {
            let trials = (0..x.len() as u32 / 2).map(|i| trial(i % 2)).collect();
            Trials::new(layout(100.0, 0.0), x.to_vec(), trials).unwrap()
        };
        let whole = set(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let lent = Trials::from_shared(
            layout(100.0, 0.0),
            Arc::new(vec![5.0f32, 6.0, 7.0, 8.0]),
            whole.info()[2..].to_vec(),
        );
        let mut joined = set(&[]);
        joined.append(&set(&[1.0, 2.0, 3.0, 4.0])).unwrap();
        joined.append(&lent.unwrap()).unwrap();
        assert_eq!(joined, whole);
        assert_eq!(joined.to_vec(), whole.to_vec());
        // A change stays in one set, also where samples were lent or shared.
        let mut changed = joined.clone();
        changed.signal_mut(3)[1] = 9.0;
        changed.signal_mut(0)[0] = 9.0;
        assert_eq!((joined.signal(3), joined.signal(0)), (&[7.0, 8.0][..], &[1.0, 2.0][..]));
        assert_eq!((changed.signal(3), changed.signal(0)), (&[7.0, 9.0][..], &[9.0, 2.0][..]));
        assert_eq!(changed.signal(2), &[5.0, 6.0]);
    }

    #[test]
    fn a_part_is_the_first_trials_of_every_session() {
        let trial =
            |subject, session, cue_s| Trial { label: 0, subject: SubjectId(subject), session, run: 1, cue_s };
        // Out of order, and one session of a single trial.
        let info = vec![
            trial(2, 1, 5.0),
            trial(1, 1, 3.0),
            trial(1, 2, 0.0),
            trial(1, 1, 1.0),
            trial(2, 1, 4.0),
            trial(1, 1, 2.0),
            trial(1, 1, 4.0),
        ];
        let trials = Trials::new(layout(100.0, 0.0), vec![0.0; 14], info).unwrap();
        assert_eq!(trials.all().first_of_sessions(0.5).rows(), [3, 5, 2, 4]);
        assert_eq!(trials.all().first_of_sessions(1.0).len(), 7);
        let sessions: Vec<_> = trials.all().unlabelled().sessions().collect();
        assert_eq!(sessions[..3], [(SubjectId(2), 1), (SubjectId(1), 1), (SubjectId(1), 2)]);
    }

    #[test]
    fn trials_may_get_other_samples() {
        let trial = |label| Trial { label, subject: SubjectId(1), session: 1, run: 1, cue_s: 0.0 };
        let trials = Trials::new(layout(100.0, 0.0), vec![0.0; 4], vec![trial(0), trial(1)]).unwrap();
        let twice = trials.all().at(&[1, 1, 0]);
        let changed = twice.with_samples(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!((changed.all().labels(), changed.signal(1)), (vec![1, 1, 0], &[3.0, 4.0][..]));
        assert!(twice.with_samples(vec![1.0]).is_err() && twice.with_samples(vec![f32::NAN; 6]).is_err());
    }

    #[test]
    fn every_trial_gets_one_new_label() {
        let trial = Trial { label: 0, subject: SubjectId(1), session: 1, run: 1, cue_s: 0.0 };
        let trials = Trials::new(layout(100.0, 0.0), vec![0.0; 4], vec![trial; 2]).unwrap();
        assert_eq!(trials.relabelled(&[1, 0]).unwrap().all().labels(), [1, 0]);
        for labels in [&[1][..], &[1, 0, 1], &[2, 0]] {
            assert!(trials.relabelled(labels).is_err(), "{labels:?}");
        }
    }
}

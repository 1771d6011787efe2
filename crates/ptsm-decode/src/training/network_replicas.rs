//! Networks as replicas: copies of one program that take their steps at once, as many as the device has room for.

use ptsm_engine::{Device, Feed, Graph, Parameters};
use serde::{Deserialize, Serialize};

use super::checkpoint::{CheckpointFile, Snapshot};
use super::library::Library;
use super::replicas::{Replicas, StepPosition, diverged};
use super::scorer::Scorer;
use super::steps::Steps;
use super::{Recipe, Score, TrainingTask, check_parameters};
use crate::augment::Augmenter;
use crate::decoder::Run;
use crate::error::{Error, Result};
use crate::network::{MeasuredStatistic, Ramp, TEACHER, TrialBatch};
use crate::settings::to_value;

/// More replicas than this gain nothing on the largest GPU.
const MOST_REPLICAS: usize = 128;

/// Where the counts of all optimizers stand in a checkpoint.
const COUNTS: &str = "ptsm.counts";

/// Numbers of steps and runs of one optimizer.
#[derive(Serialize, Deserialize)]
struct Counts {
    steps: u64,
    runs: u32,
}

pub(super) struct NetworkReplicas<'t, 'a> {
    tasks: &'t [TrainingTask<'a>],
    /// Trials in a batch, and how many of them have labels.
    batch: usize,
    labelled: usize,
    /// What each is doing.
    assignments: Vec<Option<Assignment>>,
    augmenter: Option<Augmenter>,
    steps: Steps,
    graph: Graph,
    loss_names: Vec<&'static str>,
    ramps: Vec<(&'static str, Ramp)>,
    measured: Vec<MeasuredStatistic>,
    /// Of every replica: as they are, and the best so far.
    parameters: Parameters<f32>,
    best: Parameters<f32>,
    scorer: Scorer,
    library: Library<'a>,
}

/// The job of a replica.
struct Assignment {
    task: usize,
    /// The trials of the present epoch: rows of the set, or places in the target.
    plan: Vec<u32>,
    /// The target's trials by their numbers in the library.
    target: Vec<u32>,
}

impl<'t, 'a> NetworkReplicas<'t, 'a> {
    /// For some of the tasks, which have one shape, by their numbers.
    pub(super) fn new(
        recipe: &Recipe,
        tasks: &'t [TrainingTask<'a>],
        group: &[usize],
        run: &Run<'_>,
    ) -> Result<NetworkReplicas<'t, 'a>> {
        let first = &tasks[group[0]];
        let (shape, batch, layout) = first.key();
        let mirror = recipe.symmetry_mirror(layout)?;
        let mirror = mirror.as_ref();
        let mut network = recipe.network.build_for_training(TrialBatch { mirror, ..shape.batch(batch) })?;
        if let Some(teacher) = &first.teacher {
            network = network.taught(teacher.loss)?;
        }
        let numbers = network.graph.tensors().iter().map(|t| t.shape.iter().product::<usize>());
        let numbers = numbers.fold(0usize, usize::saturating_add);
        check_parameters(numbers)?;
        let augmenter =
            recipe.augment.is_on().then(|| Augmenter::new(&recipe.augment, layout)).transpose()?;
        let (adam, select) = (recipe.training.adam(), recipe.training.select);
        let mine: Vec<&TrainingTask<'a>> = group.iter().map(|&i| &tasks[i]).collect();
        let library = Library::new(&mine, augmenter.as_ref().and_then(Augmenter::only_mirror))?;
        let replicas = match run.device {
            // One for each thread: they do not wait for each other.
            Device::Cpu(cpu) => cpu.threads().min(group.len()).min(MOST_REPLICAS),
            Device::Cuda(cuda) => {
                let one = Steps::new(&network, adam, 1, run.device)?.bytes()
                    + Scorer::new(&*recipe.network, (shape, mirror), 1, select, run.device)?.bytes()
                    + 2 * numbers * size_of::<f32>();
                let row = library.table.row_length() * size_of::<f32>();
                // Trials that are changed on the way are handed over, step by step.
                let changed = augmenter.as_ref().is_some_and(|a| a.only_mirror().is_none());
                let one = one + if changed { batch * row } else { 0 };
                let free = cuda.memory()?.0.saturating_sub(library.table.len() * row);
                even(group.len(), (free - free / 16) / one)
            }
        };
        let seeds: Vec<u64> = group.iter().take(replicas).map(|&i| tasks[i].job.seed).collect();
        let parameters = Parameters::new(&network.graph, &seeds)?;
        Ok(NetworkReplicas {
            tasks,
            batch,
            labelled: first.sampler.labelled(),
            assignments: (0..replicas).map(|_| None).collect(),
            augmenter,
            steps: Steps::new(&network, adam, replicas, run.device)?,
            loss_names: std::iter::once("total").chain(network.losses.iter().map(|(n, _)| *n)).collect(),
            ramps: network.ramps,
            measured: network.measured,
            best: parameters.clone(),
            parameters,
            scorer: Scorer::new(&*recipe.network, (shape, mirror), replicas, select, run.device)?,
            library,
            graph: network.graph,
        })
    }

    /// All trials of this step after augmentation; labels change with them.
    fn augmented(
        &self,
        augmenter: &Augmenter,
        positions: &[Option<StepPosition>],
        labels: &mut [u32],
    ) -> Vec<f32> {
        let (batch, labelled, one) = (self.batch, self.labelled, self.library.table.row_length());
        let mut x = vec![0.0; positions.len() * batch * one];
        let mut spare = vec![];
        for (r, (own, at)) in self.assignments.iter().zip(positions).enumerate() {
            let (Some(Assignment { task, plan, .. }), Some(at)) = (own, at) else { continue };
            let task = &self.tasks[*task];
            for i in 0..batch {
                let place = at.step * batch + i;
                let own = &mut x[(r * batch + i) * one..][..one];
                let row = plan[place] as usize;
                let (from, label) = if i < labelled {
                    (task.train.set().signal(row), &mut labels[r * labelled + i])
                } else {
                    (task.target[row], &mut 0)
                };
                own.copy_from_slice(from);
                augmenter.apply(own, label, task.job.seed, at.epoch, place, &mut spare);
            }
        }
        x
    }

    /// Waits for the oldest step that is under way and takes down its losses.
    fn collect(&mut self, losses: &mut [Vec<f64>]) -> Result<()> {
        self.steps.finish().map_err(|error| self.named(error))?;
        for (r, sums) in losses.iter_mut().enumerate().filter(|(r, _)| self.assignments[*r].is_some()) {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum += self.steps.loss(&self.parameters, r, i);
            }
        }
        Ok(())
    }

    /// Says which job it is whose gradient is not finite.
    fn named(&self, error: ptsm_engine::Error) -> Error {
        let ptsm_engine::Error::Gradient { replica, step } = error else { return error.into() };
        let Some(Some(own)) = self.assignments.get(replica) else { return error.into() };
        diverged(self.tasks[own.task].job, step)
    }
}

impl Replicas for NetworkReplicas<'_, '_> {
    type Model = Parameters<f32>;

    fn count(&self) -> usize {
        self.assignments.len()
    }

    fn loss_names(&self) -> Vec<&'static str> {
        self.loss_names.clone()
    }

    fn assign(&mut self, replica: usize, job: usize) -> Result<()> {
        let task = &self.tasks[job];
        let mut start = Parameters::new(&self.graph, &[task.job.seed])?;
        for MeasuredStatistic { name, what, of } in &self.measured {
            start.set(0, name, &task.measure(*what, *of))?;
        }
        self.parameters.put(replica, &start, 0)?;
        self.best.put(replica, &start, 0)?;
        self.steps.reset(replica)?;
        let target = task.target.iter().map(|x| self.library.unlabelled(x)).collect::<Result<_>>()?;
        self.assignments[replica] = Some(Assignment { task: job, plan: vec![], target });
        Ok(())
    }

    fn draw_epoch(&mut self, replica: usize, epoch: usize) -> usize {
        let Some(own) = &mut self.assignments[replica] else { return 0 };
        let task = &self.tasks[own.task];
        own.plan = task.sampler.epoch(task.job.seed, epoch);
        task.sampler.steps()
    }

    fn step(&mut self, positions: &[Option<StepPosition>], losses: &mut [Vec<f64>]) -> Result<usize> {
        let (batch, labelled, replicas) = (self.batch, self.labelled, positions.len());
        let (mut numbers, mut labels) = (vec![0u32; replicas * batch], vec![0u32; replicas * labelled]);
        let (mut subjects, mut domains) = (vec![0u32; replicas * batch], vec![0u32; replicas * batch]);
        let (mut rates, mut done) = (vec![0.0; replicas], vec![0.0; replicas]);
        let active: Vec<bool> = positions.iter().map(Option::is_some).collect();
        let only_mirror = self.augmenter.as_ref().filter(|a| a.only_mirror().is_some());
        let mut taught = vec![];
        for (r, (own, at)) in self.assignments.iter().zip(positions).enumerate() {
            let (Some(Assignment { task, plan, target }), Some(at)) = (own, at) else { continue };
            let task = &self.tasks[*task];
            let first = self.library.first(task.train.set())?;
            if task.teacher.is_some() {
                taught.resize(replicas * labelled * task.shape.classes, 0.0);
            }
            for i in 0..batch {
                let (place, to) = (at.step * batch + i, r * batch + i);
                let row = plan[place];
                let of_target = i >= labelled;
                if let (Some(teacher), false) = (&task.teacher, of_target) {
                    let mirrored =
                        self.augmenter.as_ref().filter(|a| a.mirrors(task.job.seed, at.epoch, place));
                    let classes = task.shape.classes;
                    let own = &mut taught[(r * labelled + i) * classes..][..classes];
                    teacher.write(row as usize, mirrored.and_then(Augmenter::mirrored_classes), own);
                }
                let mut number = if of_target { target[row as usize] } else { first + row };
                if only_mirror.is_some_and(|a| a.mirrors(task.job.seed, at.epoch, place)) {
                    number = self.library.image(number);
                }
                numbers[to] = number;
                domains[to] = u32::from(of_target);
                subjects[to] =
                    if of_target { task.shape.subjects as u32 } else { task.subjects[row as usize] };
                if !of_target {
                    labels[r * labelled + i] = self.library.label(number);
                }
            }
            self.steps.set_first_beta(r, at.first_beta)?;
            (rates[r], done[r]) = (at.rate, at.done);
        }
        // Copies only where something is changed beyond an exchange of channels.
        let mut changed = vec![];
        if only_mirror.is_none()
            && let Some(augmenter) = &self.augmenter
        {
            changed = self.augmented(augmenter, positions, &mut labels);
        }
        let ramped = |ramp: &Ramp| done.iter().map(|&part| ramp(part) as f32).collect();
        let ramped: Vec<Vec<f32>> = self.ramps.iter().map(|(_, ramp)| ramped(ramp)).collect();
        while self.steps.in_flight() >= self.steps.max_in_flight() {
            self.collect(losses)?;
        }
        let x = match &changed[..] {
            [] => Feed::Table { table: &self.library.table, rows: &numbers },
            changed => Feed::Each(changed),
        };
        let mut feeds = vec![("x", x), ("task", Feed::Labels(&labels))];
        feeds.extend(self.ramps.iter().zip(&ramped).map(|((name, _), values)| (*name, Feed::Each(values))));
        if !taught.is_empty() {
            feeds.push((TEACHER, Feed::Each(&taught)));
        }
        let asks = |name: &str| self.graph.inputs().iter().any(|input| input.name == name);
        for (name, numbers) in [("subject", &subjects), ("domain", &domains)] {
            if asks(name) {
                feeds.push((name, Feed::Labels(numbers)));
            }
        }
        let started = self.steps.start(&mut self.parameters, &feeds, &rates, &active);
        started.map_err(|error| self.named(error))?;
        Ok(active.iter().filter(|a| **a).count() * batch)
    }

    fn finish(&mut self, losses: &mut [Vec<f64>]) -> Result<()> {
        while self.steps.in_flight() > 0 {
            self.collect(losses)?;
        }
        Ok(())
    }

    fn validate(&mut self, replicas: &[usize]) -> Result<Vec<Score>> {
        let validation = |r: &usize| {
            let own = self.assignments[*r].as_ref()?;
            Some((*r, self.tasks[own.task].job.data.validation()))
        };
        let validation_sets: Vec<_> = replicas.iter().filter_map(validation).collect();
        self.scorer.score(&self.parameters, &self.library, &validation_sets)
    }

    fn keep(&mut self, replica: usize) -> Result<()> {
        Ok(self.best.put(replica, &self.parameters, replica)?)
    }

    fn save(&self, replica: usize) -> Result<Snapshot> {
        let mut snapshot = Snapshot::default();
        for tensor in self.parameters.tensors() {
            for (state, of) in [("now", &self.parameters), ("best", &self.best)] {
                let name = format!("{state}.{}", tensor.name);
                snapshot.put(name, &tensor.shape, of.get(replica, &tensor.name)?);
            }
        }
        let mut counts = vec![];
        for (s, step) in self.steps.checkpoint(replica)?.iter().enumerate() {
            for (i, moments) in step.moments.iter().enumerate() {
                for (which, values) in moments.iter().enumerate() {
                    snapshot.put(moment(s, which, i), &[values.len()], values);
                }
            }
            counts.push(Counts { steps: step.steps, runs: step.runs });
        }
        snapshot.note(COUNTS, to_value(&counts)?);
        Ok(snapshot)
    }

    fn restore(&mut self, replica: usize, from: &CheckpointFile) -> Result<()> {
        let counts: Vec<Counts> = from.note(COUNTS)?;
        let names: Vec<String> = self.parameters.tensors().iter().map(|t| t.name.clone()).collect();
        for name in &names {
            self.parameters.set(replica, name, &from.get::<f32>(&format!("now.{name}"))?)?;
            self.best.set(replica, name, &from.get::<f32>(&format!("best.{name}"))?)?;
        }
        let mut states = self.steps.checkpoint(replica)?;
        if states.len() != counts.len() {
            return Err(from.damaged(format!("it has {} optimizers, not {}", counts.len(), states.len())));
        }
        for (s, (state, counts)) in states.iter_mut().zip(&counts).enumerate() {
            for (i, moments) in state.moments.iter_mut().enumerate() {
                for (which, own) in moments.iter_mut().enumerate() {
                    *own = from.get(&moment(s, which, i))?;
                }
            }
            (state.steps, state.runs) = (counts.steps, counts.runs);
        }
        Ok(self.steps.restore(replica, &states)?)
    }

    fn take(&mut self, replica: usize) -> Result<Parameters<f32>> {
        let own = self.assignments[replica].take();
        let seed = own.map_or(0, |own| self.tasks[own.task].job.seed);
        Ok(self.best.spread(replica, &[seed])?)
    }
}

/// The name of a moment in a checkpoint, by optimizer, kind and tensor.
fn moment(step: usize, which: usize, tensor: usize) -> String {
    format!("moment{which}.{step}.{tensor}")
}

/// Replicas for so many jobs where so many fit: as few rounds as possible, all of them full.
fn even(jobs: usize, fit: usize) -> usize {
    let most = fit.clamp(1, MOST_REPLICAS);
    jobs.div_ceil(jobs.div_ceil(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_filled_in_full_rounds() {
        assert_eq!(even(106, 1000), 106);
        assert_eq!(even(318, 1000), 106);
        assert_eq!(even(15, 4), 4);
        assert_eq!(even(15, 8), 8);
        assert_eq!(even(5, 0), 1);
        assert_eq!(even(1, 50), 1);
    }
}

//! What a teacher says of the trials that networks learn from.

use serde_json::{Value, json};

use crate::decoder::Job;
use crate::error::{Error, Result};
use crate::network::TeacherLoss;

/// Soft targets for some jobs, and how they enter the loss.
pub(crate) struct TeacherTargets {
    /// How they enter the loss, of all jobs.
    pub(crate) loss: TeacherLoss,
    /// Of each job, probabilities `[n, K]` at the temperature: of its training trials as recorded, in their order.
    pub(crate) of_jobs: Vec<Vec<f32>>,
}

/// The soft targets of one job.
pub(super) struct TaskTargets {
    pub(super) loss: TeacherLoss,
    classes: usize,
    /// `[N, K]`, by the trial's row in the set. Rows that are not trained on are never asked for.
    by_row: Vec<f32>,
    /// Differs where targets do.
    fingerprint: u64,
}

impl TaskTargets {
    /// Those of a job, by its number.
    pub(super) fn new(targets: &TeacherTargets, number: usize, job: &Job<'_>) -> Result<TaskTargets> {
        let train = job.data.train();
        let (classes, own) = (train.layout().classes.len(), &targets.of_jobs[number]);
        if own.len() != train.len() * classes {
            return Err(Error::Configuration(format!(
                "the teacher of seed {} says {} numbers of {} training trials of {classes} classes",
                job.seed,
                own.len(),
                train.len()
            )));
        }
        let mut by_row = vec![0.0; train.set().len() * classes];
        for (&row, target) in train.rows().iter().zip(own.chunks_exact(classes)) {
            by_row[row * classes..][..classes].copy_from_slice(target);
        }
        // FNV-1a.
        let next = |hash: u64, x: &f32| (hash ^ u64::from(x.to_bits())).wrapping_mul(0x0100_0000_01b3);
        let fingerprint = own.iter().fold(0xcbf2_9ce4_8422_2325, next);
        Ok(TaskTargets { loss: targets.loss, classes, by_row, fingerprint })
    }

    /// What a checkpoint must agree with.
    pub(super) fn identity(&self) -> Value {
        let TeacherLoss { weight, temperature } = self.loss;
        json!({ "weight": weight, "temperature": temperature, "targets": self.fingerprint })
    }

    /// Writes the target of a trial. Of a mirrored one it is the teacher's for the image, which is the same with the classes exchanged:
    /// whoever was trained on mirrored trials decodes both views.
    pub(super) fn write(&self, row: usize, mirrored_classes: Option<&[u32]>, to: &mut [f32]) {
        let own = &self.by_row[row * self.classes..][..self.classes];
        match mirrored_classes {
            None => to.copy_from_slice(own),
            Some(classes) => classes.iter().zip(own).for_each(|(&class, own)| to[class as usize] = *own),
        }
    }
}

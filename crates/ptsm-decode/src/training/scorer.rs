//! How well networks do on subjects they are not trained on.

use ptsm_engine::{Device, Feed, Mode, Parameters, Program};
use ptsm_signal::Subset;

use super::library::Library;
use super::{INFERENCE_BATCH, Score, Select, Tally};
use crate::error::Result;
use crate::mirror::Mirror;
use crate::network::{Architecture, TrialBatch, TrialShape};
use crate::probabilities::softmax;

/// Scores replicas, each on trials of its own.
pub(super) struct Scorer {
    program: Program<f32>,
    replicas: usize,
    classes: usize,
    select: Select,
}

impl Scorer {
    pub(super) fn new(
        architecture: &dyn Architecture,
        (shape, mirror): (TrialShape, Option<&Mirror>),
        replicas: usize,
        select: Select,
        device: &Device,
    ) -> Result<Scorer> {
        let network = architecture.build(TrialBatch { mirror, ..shape.batch(INFERENCE_BATCH) })?;
        let program = Program::new(&network.graph, Mode::Infer, &[network.logits], replicas, device)?;
        Ok(Scorer { program, replicas, classes: shape.classes, select })
    }

    pub(super) fn bytes(&self) -> usize {
        self.program.bytes()
    }

    /// Scores some replicas, in the order given.
    pub(super) fn score(
        &mut self,
        parameters: &Parameters<f32>,
        library: &Library<'_>,
        sets: &[(usize, &Subset<'_>)],
    ) -> Result<Vec<Score>> {
        let classes = self.classes;
        let mut tallies = vec![Tally::new(classes, self.select); sets.len()];
        let labels: Vec<Vec<u32>> = sets.iter().map(|(_, trials)| trials.labels()).collect();
        let most = sets.iter().map(|(_, trials)| trials.len()).max().unwrap_or(0);
        for from in (0..most).step_by(INFERENCE_BATCH) {
            // Places that nobody asks for show the first trial; nobody looks at what comes of it.
            let mut numbers = vec![0; self.replicas * INFERENCE_BATCH];
            let mut active = vec![false; self.replicas];
            for (r, trials) in sets.iter().filter(|(_, trials)| from < trials.len()) {
                active[*r] = true;
                let first = library.first(trials.set())?;
                let rows = trials.rows()[from..].iter().take(INFERENCE_BATCH);
                let own = &mut numbers[r * INFERENCE_BATCH..][..INFERENCE_BATCH];
                own.iter_mut().zip(rows).for_each(|(number, &row)| *number = first + row as u32);
            }
            let x = Feed::Table { table: &library.table, rows: &numbers };
            self.program.run_some(parameters, &[("x", x)], &active)?;
            for (i, (r, _)) in sets.iter().enumerate().filter(|(_, (r, _))| active[*r]) {
                let logits = self.program.output(parameters, *r, 0);
                for (logits, &label) in logits.chunks(classes).zip(&labels[i][from..]) {
                    tallies[i].add(&softmax(logits), label);
                }
            }
        }
        Ok(tallies.iter().map(Tally::score).collect())
    }
}

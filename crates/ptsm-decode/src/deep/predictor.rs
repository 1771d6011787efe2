//! A network's prediction, compiled: one program for each number of trials that it is asked for at once.
//!
//! Live decoding asks for one trial, everything else for many, so there are two sizes. A program is compiled when it is needed first and
//! kept; who asks while another thread uses it compiles one more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptsm_engine::{Device, Feed, Graph, Id, Mode, Parameters, Program};
use ptsm_signal::Subset;

use crate::error::Result;
use crate::training::{INFERENCE_BATCH, padded, signals};

/// Compiled programs that nobody uses just now, by the number of trials they take. All are of one graph and have the same outputs; whose
/// parameters they are run with is the caller's affair, so that decoders which differ in their numbers alone share them.
#[derive(Clone, Default)]
pub(super) struct Predictor(Arc<Mutex<HashMap<usize, Vec<Program<f32>>>>>);

impl Predictor {
    /// Values of trials, `[n, ..]` each; `build` makes the graph for so many trials and says which of its values.
    pub(super) fn values<const N: usize>(
        &self,
        trials: &Subset<'_>,
        parameters: &Parameters<f32>,
        device: &Device,
        build: impl Fn(usize) -> Result<(Graph, [Id; N])>,
    ) -> Result<[Vec<f32>; N]> {
        let mut all = [const { vec![] }; N];
        for rows in trials.rows().chunks(INFERENCE_BATCH) {
            let (size, padded) = match rows {
                [one] => (1, vec![*one as u32]),
                rows => (INFERENCE_BATCH, padded(rows)),
            };
            self.with_program(size, device, &build, |program| {
                program.run(parameters, &[("x", Feed::Slices(&signals(trials.set(), &padded)))])?;
                for (i, all) in all.iter_mut().enumerate() {
                    let values = program.output(parameters, 0, i);
                    all.extend_from_slice(&values[..values.len() / size * rows.len()]);
                }
                Ok(())
            })?;
        }
        Ok(all)
    }

    /// Lends a program for so many trials, which `build` makes the graph and names the values of where none is idle.
    pub(super) fn with_program<V: AsRef<[Id]>, R>(
        &self,
        size: usize,
        device: &Device,
        build: impl Fn(usize) -> Result<(Graph, V)>,
        act: impl FnOnce(&mut Program<f32>) -> Result<R>,
    ) -> Result<R> {
        let mut program = match self.take(size) {
            Some(program) => program,
            None => {
                let (graph, outputs) = build(size)?;
                Program::new(&graph, Mode::Infer, outputs.as_ref(), 1, device)?
            }
        };
        let result = act(&mut program)?;
        self.idle(|programs| programs.entry(size).or_default().push(program));
        Ok(result)
    }

    fn take(&self, size: usize) -> Option<Program<f32>> {
        self.idle(|programs| programs.get_mut(&size)?.pop())
    }

    /// A thread that panicked left no program here that is half done: it had taken it out.
    fn idle<R>(&self, act: impl FnOnce(&mut HashMap<usize, Vec<Program<f32>>>) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

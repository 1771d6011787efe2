//! Networks as decoders: settings in, trained, applied.

mod convert;
mod few_shot;
mod sensitivity;

use std::collections::HashMap;
use std::path::Path;

use ptsm_engine::{Device, Feed, Id, Mode, Parameters, Program, Tensor};
use ptsm_signal::{Layout, Subset};

use crate::augment::mirror::Mirror;
use crate::decoder::{
    Adaptation, AdaptedDecoder, Decoder, DecoderOutput, FitSink, FittedDecoder, Job, Run, Sensitivity, Watch,
};
use crate::error::{Error, Result};
use crate::network::{Batches, Network};
use crate::probabilities::softmax;
use crate::training::{INFERENCE_BATCH, Recipe, padded, shape, signals, train};

impl Decoder for Recipe {
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        train(self, jobs, run, watch, &mut |job, trained| {
            let train = jobs[job].data.train();
            let layout = train.layout();
            let mirror = (self.augment.strength("mirror") > 0.0).then(|| Mirror::new(layout)).transpose()?;
            let fit = trained.into_fit(|parameters| {
                let network = FittedNetwork {
                    recipe: self.clone(),
                    layout: layout.clone(),
                    subjects: train.subjects().len(),
                    parameters,
                    mirror,
                    device: run.device.clone(),
                };
                let mut fitted = if self.training.keep_subjects { network } else { network.released()? };
                fitted.fit_readout(train)?;
                Ok(fitted)
            })?;
            done(job, fit)
        })
    }

    fn learns_from_target(&self) -> bool {
        self.network.batches() == Batches::WithTarget
    }

    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        let network = self.network.build(shape(layout, 0), 2)?;
        Ok(Some(trainable_numbers(network.graph.tensors())))
    }
}

/// Numbers that training moves.
fn trainable_numbers(tensors: &[Tensor]) -> usize {
    tensors.iter().filter(|t| t.trainable).map(|t| t.shape.iter().product::<usize>()).sum()
}

/// How many rows of a trained tensor become the released one: all subjects' where it has one for each of them, otherwise the tensor is
/// the same. Any other shape is refused.
fn entries_per_subject(released: &Tensor, trained: &[usize], subjects: usize) -> Result<usize> {
    if trained == released.shape {
        return Ok(1);
    }
    match (trained, &released.shape[..]) {
        ([rows, rest @ ..], [1, released @ ..]) if *rows == subjects && rest == released => Ok(subjects),
        _ => Err(Error::Configuration(format!(
            "`{}` is {trained:?} in training and {:?} afterwards; only a row for each of {subjects} subjects may become their mean",
            released.name, released.shape
        ))),
    }
}

/// A trained network.
#[derive(Clone)]
pub struct FittedNetwork {
    recipe: Recipe,
    pub(crate) layout: Layout,
    /// Training subjects it can still tell apart; 0 once released.
    subjects: usize,
    pub(crate) parameters: Parameters<f32>,
    pub(crate) mirror: Option<Mirror>,
    pub(crate) device: Device,
}

impl FittedNetwork {
    /// Reads it back from a file whose header has been understood.
    pub(crate) fn load(
        (path, bytes): (&Path, &[u8]),
        recipe: Recipe,
        layout: &Layout,
        subjects: usize,
        device: &Device,
    ) -> Result<FittedNetwork> {
        let network = recipe.network.build(shape(layout, subjects), 2)?;
        let mirror = (recipe.augment.strength("mirror") > 0.0).then(|| Mirror::new(layout)).transpose()?;
        Ok(FittedNetwork {
            parameters: Parameters::from_bytes(&network.graph, 0, path, bytes)?,
            recipe,
            layout: layout.clone(),
            subjects,
            mirror,
            device: device.clone(),
        })
    }

    /// The same decoder without anything that has one entry per training subject: the subject branch is dropped, a
    /// table of personal biases becomes its mean, which is what unseen subjects get.
    fn released(&self) -> Result<FittedNetwork> {
        let network = self.recipe.network.build(shape(&self.layout, 0), 2)?;
        let mut kept = Parameters::new(&network.graph, &[0])?;
        let released: Vec<_> = kept.tensors().to_vec();
        for tensor in released {
            let trained = self.parameters.tensors().iter().find(|t| t.name == tensor.name);
            let trained = trained.map_or(&[][..], |t| &t.shape);
            let rows = entries_per_subject(&tensor, trained, self.subjects)?;
            let length = tensor.shape.iter().product::<usize>();
            let mut mean = vec![0.0; length];
            for row in self.parameters.get(0, &tensor.name)?.chunks(length) {
                mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / rows as f32);
            }
            kept.set(0, &tensor.name, &mean)?;
        }
        Ok(FittedNetwork { parameters: kept, subjects: 0, ..self.clone() })
    }

    /// Fits the last stage of a network that has one, on the trials it was trained on.
    fn fit_readout(&mut self, train: &Subset<'_>) -> Result<()> {
        let Some(readout) = self.recipe.network.readout() else { return Ok(()) };
        let values = self.intermediate_values(train, &[readout.value])?.and_then(|mut all| all.pop());
        let Some(values) = values else {
            let name = self.recipe.network.name();
            return Err(Error::Configuration(format!(
                "`{name}` reads out `{}`, which it does not have",
                readout.value
            )));
        };
        (readout.fit)(&mut self.parameters, &values, &train.labels(), self.layout.classes.len())
    }

    /// The same network with other numbers.
    pub(crate) fn with(&self, parameters: Parameters<f32>) -> FittedNetwork {
        FittedNetwork { parameters, ..self.clone() }
    }

    /// The network for a batch size.
    pub(crate) fn build(&self, batch: usize) -> Result<Network> {
        self.recipe.network.build(shape(&self.layout, self.subjects), batch)
    }

    /// Some values of the network for each trial, as `[n, ..]` each; of the mirrored trials where `mirrored`.
    fn read(
        &self,
        trials: &Subset<'_>,
        ids: impl Fn(&Network) -> Option<Vec<Id>>,
        mirrored: Option<&Mirror>,
    ) -> Result<Option<Vec<Vec<f32>>>> {
        self.layout.expect(trials.layout())?;
        let network = self.build(INFERENCE_BATCH)?;
        let Some(ids) = ids(&network) else { return Ok(None) };
        let mut program: Program<f32> = Program::new(&network.graph, Mode::Infer, &ids, 1, &self.device)?;
        let mut read = vec![vec![]; ids.len()];
        let mut images = vec![];
        for rows in trials.rows().chunks(INFERENCE_BATCH) {
            let padded = padded(rows);
            let set = trials.set();
            let slices;
            let x = match mirrored {
                None => {
                    slices = signals(set, &padded);
                    Feed::Slices(&slices)
                }
                Some(mirror) => {
                    images.resize(padded.len() * set.signal(0).len(), 0.0);
                    let one = set.signal(0).len();
                    for (image, &row) in images.chunks_exact_mut(one).zip(&padded) {
                        mirror.signal(set.signal(row as usize), image);
                    }
                    Feed::Each(&images)
                }
            };
            program.run(&self.parameters, &[("x", x)])?;
            for (i, read) in read.iter_mut().enumerate() {
                let values = program.output(&self.parameters, 0, i);
                read.extend_from_slice(&values[..values.len() / padded.len() * rows.len()]);
            }
        }
        Ok(Some(read))
    }

    fn view(&self, trials: &Subset<'_>, mirrored: Option<&Mirror>) -> Result<Vec<f32>> {
        let classes = self.layout.classes.len();
        let logits =
            self.read(trials, |network| Some(vec![network.logits]), mirrored)?.unwrap_or_default().concat();
        Ok(logits.chunks(classes).flat_map(softmax).collect())
    }
}

impl FittedDecoder for FittedNetwork {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        let mut p = self.view(trials, None)?;
        if let Some(mirror) = &self.mirror {
            let classes = self.layout.classes.len();
            let image = self.view(trials, Some(mirror))?;
            for (p, image) in p.chunks_mut(classes).zip(image.chunks(classes)) {
                for (class, p) in p.iter_mut().enumerate() {
                    *p = 0.5 * (*p + image[mirror.classes[class] as usize]);
                }
            }
        }
        Ok(p)
    }

    fn parameters(&self) -> usize {
        trainable_numbers(self.parameters.tensors())
    }

    fn known_subjects(&self) -> usize {
        self.subjects
    }

    fn to_bytes(&self, header: HashMap<String, String>) -> Result<Vec<u8>> {
        Ok(self.parameters.to_bytes(0, header)?)
    }

    fn adapt(&self, calibration: &Subset<'_>, adaptation: &Adaptation) -> Result<AdaptedDecoder> {
        self.layout.expect(calibration.layout())?;
        few_shot::adapt(self, calibration, adaptation)
    }

    fn convert(&self, trials: &Subset<'_>, subject: &Subset<'_>) -> Result<Vec<f32>> {
        convert::convert(self, trials, subject)
    }

    fn intermediate_values(&self, trials: &Subset<'_>, names: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
        self.read(trials, |network| names.iter().map(|n| network.value(n)).collect(), None)
    }

    fn sensitivity(&self, trials: &Subset<'_>, of: DecoderOutput) -> Result<Option<Sensitivity>> {
        sensitivity::of_network(self, trials, of).map(Some)
    }

    fn with_random_parameters(&self, seed: u64) -> Result<Option<Box<dyn FittedDecoder>>> {
        let mut randomised = Parameters::new(&self.build(2)?.graph, &[seed])?;
        // Statistics are measured, not learnt.
        for tensor in self.parameters.tensors().iter().filter(|t| !t.trainable) {
            randomised.set(0, &tensor.name, self.parameters.get(0, &tensor.name)?)?;
        }
        Ok(Some(Box::new(self.with(randomised))))
    }
}

#[cfg(test)]
mod tests {
    use ptsm_engine::{Graph, Init};

    use super::*;

    #[test]
    fn only_a_row_for_each_subject_becomes_a_mean() {
        let mut g = Graph::new();
        g.parameter("table", &[1, 3], Init::Constant(0.0)).unwrap();
        let released = &g.tensors()[0];
        let rows = |trained: &[usize]| entries_per_subject(released, trained, 7);
        assert_eq!((rows(&[1, 3]).unwrap(), rows(&[7, 3]).unwrap()), (1, 7));
        for other in [&[6, 3][..], &[7, 6], &[21], &[]] {
            assert!(rows(other).unwrap_err().to_string().contains("`table`"), "{other:?}");
        }
    }
}

//! Networks as decoders: settings in, trained, applied.

use std::collections::HashMap;
use std::path::Path;

use ptsm_engine::{Device, Feed, Id, Mode, Parameters, Program, Tensor};
use ptsm_signal::{Layout, Subset};
use serde_json::{Value, json};

use crate::augment::{Augment, mirror::Mirror};
use crate::convert;
use crate::cslp_ae::{self, CslpAe, Readout};
use crate::decoder::{Decoder, Done, Fit, Fitted, Job, Run, Watch};
use crate::error::{Error, Result};
use crate::few_shot::{self, Adaptation, Adapted};
use crate::network::{Batches, Model, TrialShape};
use crate::sensitivity::{self, Answer, Sensitivity};
use crate::settings::{from_value, to_value};
use crate::training::{INFERENCE_BATCH, Training, padded, signals, softmax, train};

/// A network with everything that decides how it learns.
#[derive(Clone, Debug, PartialEq)]
pub struct Deep {
    /// The network.
    pub model: Model,
    /// How it is trained.
    pub training: Training,
    /// What happens to its training trials.
    pub augment: Augment,
}

impl Deep {
    /// As data: `network`, `training`, `augment`.
    pub fn settings(&self) -> Result<Value> {
        let mut model = to_value(&self.model)?;
        Ok(json!({
            "network": model["config"].take(),
            "training": to_value(&self.training)?,
            "augment": to_value(&self.augment.spelled_out())?,
        }))
    }

    /// From data, for the network of this name.
    pub fn from_settings(network: &str, mut settings: Value) -> Result<Deep> {
        if !settings.is_object() {
            return Err(Error::Configuration(format!("settings are a table, got {settings}")));
        }
        let model = json!({ "name": network, "config": settings["network"].take() });
        let deep = Deep {
            model: from_value(model).map_err(|e| within("network", e))?,
            training: from_value(settings["training"].take()).map_err(|e| within("training", e))?,
            augment: from_value(settings["augment"].take()).map_err(|e| within("augment", e))?,
        };
        deep.training.check()?;
        deep.augment.check()?;
        if deep.training.keep_subjects && matches!(deep.model, Model::Acon(_)) {
            let message = "`training.keep_subjects`: nothing in ACON tells the training subjects apart";
            return Err(Error::Configuration(message.into()));
        }
        Ok(deep)
    }
}

fn within(part: &str, error: Error) -> Error {
    match error {
        Error::Configuration(message) => Error::Configuration(format!("[{part}] {message}")),
        other => other,
    }
}

impl Decoder for Deep {
    fn fit(&self, jobs: &[Job<'_>], run: &Run<'_>, watch: &mut dyn Watch, done: &mut Done<'_>) -> Result<()> {
        train(self, jobs, run, watch, &mut |job, trained| {
            let train = jobs[job].lesson.train();
            let layout = train.layout();
            let mirror = (self.augment.strength("mirror") > 0.0).then(|| Mirror::new(layout)).transpose()?;
            let network = FittedNetwork {
                deep: self.clone(),
                layout: layout.clone(),
                subjects: train.subjects().len(),
                parameters: trained.parameters,
                mirror,
                device: run.device.clone(),
            };
            let mut fitted = if self.training.keep_subjects { network } else { network.released()? };
            fitted.read_out(train)?;
            let fit = Fit {
                fitted: Box::new(fitted),
                seed: jobs[job].seed,
                history: trained.history,
                best_epoch: Some(trained.best_epoch),
            };
            done(job, fit)
        })
    }

    fn learns_from_target(&self) -> bool {
        self.model.batches() == Batches::WithTarget
    }

    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        let network = self.model.build(shape(layout, 0), 2)?;
        Ok(Some(learnt(network.graph.tensors())))
    }
}

/// Numbers that training moves.
fn learnt(tensors: &[Tensor]) -> usize {
    tensors.iter().filter(|t| t.trainable).map(|t| t.shape.iter().product::<usize>()).sum()
}

pub(crate) fn shape(layout: &Layout, subjects: usize) -> TrialShape {
    TrialShape {
        channels: layout.channels.len(),
        time: layout.samples,
        classes: layout.classes.len(),
        subjects,
    }
}

/// A trained network.
#[derive(Clone)]
pub struct FittedNetwork {
    pub(crate) deep: Deep,
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
        path: &Path,
        deep: Deep,
        layout: &Layout,
        subjects: usize,
        device: &Device,
    ) -> Result<FittedNetwork> {
        let network = deep.model.build(shape(layout, subjects), 2)?;
        let mirror = (deep.augment.strength("mirror") > 0.0).then(|| Mirror::new(layout)).transpose()?;
        Ok(FittedNetwork {
            parameters: Parameters::from_file(&network.graph, 0, path)?,
            deep,
            layout: layout.clone(),
            subjects,
            mirror,
            device: device.clone(),
        })
    }

    /// The same decoder without anything that has one entry per training subject: the subject branch is dropped, a
    /// table of personal biases becomes its mean, which is what strangers get.
    fn released(&self) -> Result<FittedNetwork> {
        let network = self.deep.model.build(shape(&self.layout, 0), 2)?;
        let mut kept = Parameters::new(&network.graph, &[0])?;
        let wanted: Vec<_> = kept.tensors().to_vec();
        for tensor in wanted {
            let values = self.parameters.get(0, &tensor.name)?;
            let length = tensor.shape.iter().product::<usize>();
            let rows = (values.len() / length) as f32;
            let mut mean = vec![0.0; length];
            for row in values.chunks(length) {
                mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / rows);
            }
            kept.set(0, &tensor.name, &mean)?;
        }
        Ok(FittedNetwork { parameters: kept, subjects: 0, ..self.clone() })
    }

    /// Lets a network that is no classifier tell classes apart by what its latents say of the people it has learnt from.
    fn read_out(&mut self, train: &Subset<'_>) -> Result<()> {
        let Model::CslpAe(CslpAe { readout: Readout::Logistic, .. }) = self.deep.model else { return Ok(()) };
        let latents = self.inner(train, &["task_latents"])?.and_then(|mut all| all.pop()).unwrap_or_default();
        let classes = self.layout.classes.len();
        cslp_ae::read_out(&mut self.parameters, &latents, &train.labels(), classes)
    }

    /// The same network with other numbers.
    pub(crate) fn with(&self, parameters: Parameters<f32>) -> FittedNetwork {
        FittedNetwork { parameters, ..self.clone() }
    }

    /// The network for a batch size.
    pub(crate) fn build(&self, batch: usize) -> Result<crate::network::Network> {
        self.deep.model.build(shape(&self.layout, self.subjects), batch)
    }

    /// Some values of the network for each trial, as `[n, ..]` each; of the mirrored trials where `mirrored`.
    fn read(
        &self,
        trials: &Subset<'_>,
        ids: impl Fn(&crate::network::Network) -> Option<Vec<Id>>,
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
        let logits = self.read(trials, |network| Some(vec![network.logits]), mirrored)?;
        let logits = logits.and_then(|mut l| l.pop()).unwrap_or_default();
        Ok(logits.chunks(classes).flat_map(softmax).collect())
    }
}

impl Fitted for FittedNetwork {
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
        learnt(self.parameters.tensors())
    }

    fn known_subjects(&self) -> usize {
        self.subjects
    }

    fn save(&self, path: &Path, header: HashMap<String, String>) -> Result<()> {
        Ok(self.parameters.save(0, path, header)?)
    }

    fn adapt(&self, calibration: &Subset<'_>, how: &Adaptation) -> Result<Adapted> {
        self.layout.expect(calibration.layout())?;
        few_shot::adapt(self, calibration, how)
    }

    fn convert(&self, trials: &Subset<'_>, person: &Subset<'_>) -> Result<Vec<f32>> {
        convert::convert(self, trials, person)
    }

    fn inner(&self, trials: &Subset<'_>, names: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
        self.read(trials, |network| names.iter().map(|n| network.value(n)).collect(), None)
    }

    fn sensitivity(&self, trials: &Subset<'_>, of: Answer) -> Result<Option<Sensitivity>> {
        sensitivity::of_network(self, trials, of).map(Some)
    }

    fn redrawn(&self, seed: u64) -> Result<Option<Box<dyn Fitted>>> {
        let mut drawn = Parameters::new(&self.build(2)?.graph, &[seed])?;
        // Statistics are measured, not learnt.
        for tensor in self.parameters.tensors().iter().filter(|t| !t.trainable) {
            drawn.set(0, &tensor.name, self.parameters.get(0, &tensor.name)?)?;
        }
        Ok(Some(Box::new(self.with(drawn))))
    }
}

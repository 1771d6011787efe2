//! Networks whose batch norms are adapted to each session without labels, see [`norms`](crate::norms).

use std::collections::{BTreeMap, HashMap};

use ptsm_engine::{Feed, Graph, Id, Mode, Program};
use ptsm_signal::{Layout, SubjectId, Subset, Unlabelled};

use super::predictor::Predictor;
use super::{FittedNetwork, LogitStages, NORM_PRIOR, fit_networks};
use crate::calibration::LogitCalibration;
use crate::decoder::{
    Adaptation, AdaptedDecoder, Decoder, DecoderOutput, FitSink, FittedDecoder, Job, Run, Sensitivity, Watch,
};
use crate::error::{Error, Result};
use crate::network::Network;
use crate::norms::{NormMoments, NormTrials, SOURCE_TRIALS, balanced_loss, best_way};
use crate::probabilities::softmax;
use crate::sessions::by_session_in_time;
use crate::training::{INFERENCE_BATCH, Recipe, shape, signals};

/// A network that is trained by its recipe, and whose batch norms are adapted afterwards.
pub(crate) struct NormRecipe {
    recipe: Recipe,
    trials: NormTrials,
}

impl NormRecipe {
    pub(crate) fn new(recipe: Recipe, trials: NormTrials) -> NormRecipe {
        NormRecipe { recipe, trials }
    }

    /// Whether a network has batch norms to adapt.
    pub(crate) fn has_norms(recipe: &Recipe, layout: &Layout) -> Result<bool> {
        let network = recipe.network.build(shape(layout, 0).batch(2))?;
        Ok(!network.graph.batch_norms(&[network.logits])?.is_empty())
    }

    fn check(&self, layout: &Layout) -> Result<()> {
        match NormRecipe::has_norms(&self.recipe, layout)? {
            true => Ok(()),
            false => Err(Error::NoBatchNorms { name: self.recipe.network.name().into() }),
        }
    }
}

impl Decoder for NormRecipe {
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        for job in jobs {
            self.check(job.data.train().layout())?;
            let players = job.data.validation().subjects().len();
            if players < 2 {
                return Err(Error::trials(
                    format!(
                        "with `norms={}` at least 2 validation subjects choose how fast batch norms adapt, got {players}",
                        self.trials.name()
                    ),
                    "validation subjects are drawn from those it is trained on: give more subjects, or leave `norms` out",
                ));
            }
        }
        let calibrate = self.recipe.training.calibrate;
        fit_networks((&self.recipe, None), jobs, run, watch, done, |network, validation| {
            FittedNorms::fit(network, self.trials, validation, calibrate)
        })
    }

    fn learns_from_target(&self) -> bool {
        self.recipe.learns_from_target()
    }

    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        self.check(layout)?;
        Decoder::parameters(&self.recipe, layout)
    }
}

/// How much the trial that goes through weighs beside what each norm knows already.
const SHARE: &str = "norms.share";

/// What a norm knows already, `[2, C]`.
fn known(norm: usize) -> String {
    format!("norms.known.{norm}")
}

/// A trained network whose batch norms are adapted to each session.
#[derive(Clone)]
pub(crate) struct FittedNorms {
    network: FittedNetwork,
    trials: NormTrials,
    /// The running statistics of each norm, by name, in the order of the network.
    norms: Vec<String>,
    /// Logits, and the moments of what each norm meets.
    programs: Predictor,
    /// Statistics for the sessions it was adapted to; none in a file.
    sessions: BTreeMap<(SubjectId, u32), Vec<Vec<f32>>>,
}

impl FittedNorms {
    pub(crate) fn new(network: FittedNetwork, trials: NormTrials) -> Result<FittedNorms> {
        let built = network.build(1)?;
        let sites = built.graph.batch_norms(&[built.logits])?;
        let name = |id| built.graph.tensor_name(id).map(str::to_string);
        let norms: Vec<String> = sites.iter().filter_map(|norm| name(norm.running)).collect();
        let shared = (1..norms.len()).find(|&i| norms[..i].contains(&norms[i]));
        if let Some(shared) = shared {
            return Err(Error::Configuration(format!(
                "`{}` normalises two different values: its statistics cannot be adapted to a subject; leave `norms` out",
                norms[shared]
            )));
        }
        if norms.is_empty() {
            return Err(Error::NoBatchNorms { name: network.recipe.network.name().into() });
        }
        Ok(FittedNorms { network, trials, norms, programs: Predictor::default(), sessions: BTreeMap::new() })
    }

    /// The same of a file that has been read; none where it was written without the choice of `n0`.
    pub(crate) fn of_file(network: FittedNetwork, trials: NormTrials) -> Result<Option<FittedNorms>> {
        network.stages.norm_prior.then(|| FittedNorms::new(network, trials)).transpose()
    }

    /// Chooses `n0` on validation subjects, each of whom plays the new one, and calibrates the network as it will be used.
    fn fit(
        network: FittedNetwork,
        trials: NormTrials,
        validation: &Subset<'_>,
        calibrate: bool,
    ) -> Result<FittedNorms> {
        let fitted = FittedNorms::new(network, trials)?;
        let network = &fitted.network;
        let classes = network.layout.classes.len();
        let labels = validation.labels();
        let subjects: Vec<Vec<usize>> = validation
            .subjects()
            .into_iter()
            .map(|subject| {
                let places = validation.info().enumerate().filter(|(_, trial)| trial.subject == subject);
                places.map(|(place, _)| place).collect()
            })
            .collect();
        let mut calibrations = vec![];
        let mut losses = vec![];
        let ways: Vec<f64> = std::iter::once(f64::INFINITY).chain(SOURCE_TRIALS).collect();
        for &source_trials in &ways {
            let logits = fitted.play(validation, source_trials)?;
            let calibration = network.calibration_for(&logits, &labels);
            let loss = |places: &Vec<usize>| {
                let scores =
                    places.iter().flat_map(|&i| calibration.apply(&logits[i * classes..][..classes]));
                let labels: Vec<u32> = places.iter().map(|&i| labels[i]).collect();
                balanced_loss(&scores.collect::<Vec<f64>>(), &labels, classes)
            };
            losses.push(subjects.iter().map(loss).collect::<Vec<f64>>());
            calibrations.push(calibration);
        }
        let best = best_way(&losses);
        let stages = LogitStages { norm_prior: true, ..network.stages };
        let mut chosen = network.with_stages(stages, &[(NORM_PRIOR, &[(1.0 / ways[best]) as f32])])?;
        if calibrate {
            chosen = chosen.with_calibration(&calibrations[best])?;
        }
        FittedNorms::new(chosen, trials)
    }

    /// `n0`: how many trials the source's statistics count as.
    fn source_trials(&self) -> Result<f64> {
        Ok(1.0 / f64::from(self.network.parameters.get(0, NORM_PRIOR)?[0]))
    }

    /// The source's statistics.
    fn source(&self) -> Result<Vec<Vec<f32>>> {
        let of = |name: &String| Ok(self.network.parameters.get(0, name)?.to_vec());
        self.norms.iter().map(of).collect()
    }

    /// Logits of trials, each session adapted to by itself, as if nobody knew the labels.
    fn play(&self, trials: &Subset<'_>, source_trials: f64) -> Result<Vec<f64>> {
        let classes = self.network.layout.classes.len();
        let mut all = vec![0.0; trials.len() * classes];
        for places in by_session_in_time(trials).values() {
            let own = trials.at(places);
            let logits = match self.trials {
                _ if source_trials.is_infinite() => self.network.logits(&own)?,
                NormTrials::Whole => {
                    let statistics = self.session_statistics(&own, source_trials)?;
                    self.adapted(&statistics)?.logits(&own)?
                }
                NormTrials::Stream => self.stream(&own, source_trials)?,
            };
            for (&place, logits) in places.iter().zip(logits.chunks_exact(classes)) {
                let to = &mut all[place * classes..][..classes];
                to.iter_mut().zip(logits).for_each(|(to, &z)| *to = f64::from(z));
            }
        }
        Ok(all)
    }

    /// The network with these statistics.
    fn adapted(&self, statistics: &[Vec<f32>]) -> Result<FittedNetwork> {
        let mut parameters = self.network.parameters.clone();
        let each = self.norms.iter().zip(statistics);
        each.into_iter().try_for_each(|(name, values)| parameters.set(0, name, values))?;
        Ok(self.network.with(parameters))
    }

    /// The network for so many trials, its norms taking what they know and what they meet: some values, then the moments of what each norm
    /// meets.
    fn graph(&self, size: usize, values: impl Fn(&Network) -> Result<Vec<Id>>) -> Result<(Graph, Vec<Id>)> {
        let network = self.network.build(size)?;
        // All norms that decide the logits are adapted, whatever is asked for.
        let mut outputs = vec![network.logits];
        outputs.extend(values(&network)?);
        let mut met = vec![];
        let mut share = None;
        let (graph, mut places) = network.graph.with_norm_statistics(&outputs, |g, norm| {
            if g.tensor_name(norm.running) != self.norms.get(met.len()).map(|name| &**name) {
                return Ok(norm.running);
            }
            let share = match share {
                Some(share) => share,
                None => *share.insert(g.input(SHARE, &[1])?),
            };
            let channels = g.shape(norm.running)[1];
            let own = g.moments(norm.x)?;
            let known = g.input(&known(met.len()), &[2, channels])?;
            met.push(own);
            joined(g, known, own, share)
        })?;
        places.remove(0);
        places.extend(met);
        Ok((graph, places))
    }

    /// Runs such a program: what each norm knows, and how much the trials that go through weigh beside it.
    fn run(
        &self,
        program: &mut Program<f32>,
        trials: &Subset<'_>,
        known_statistics: &[Vec<f32>],
        share: f64,
    ) -> Result<()> {
        let rows: Vec<u32> = trials.rows().iter().map(|&row| row as u32).collect();
        let (slices, share) = (signals(trials.set(), &rows), [share as f32]);
        let names: Vec<String> = (0..self.norms.len()).map(known).collect();
        let mut feeds = vec![("x", Feed::Slices(&slices)), (SHARE, Feed::Each(&share))];
        feeds.extend(names.iter().zip(known_statistics).map(|(name, v)| (&**name, Feed::Each(&v[..]))));
        Ok(program.run(&self.network.parameters, &feeds)?)
    }

    /// The statistics for all trials of a session: norm after norm, each meeting what those before it make once they are adapted.
    fn session_statistics(&self, trials: &Subset<'_>, source_trials: f64) -> Result<Vec<Vec<f32>>> {
        let mut statistics = self.source()?;
        let build = |size| self.graph(size, |network| Ok(vec![network.logits]));
        // No trial may count twice: what does not fill a batch goes by itself.
        let full = trials.len() / INFERENCE_BATCH * INFERENCE_BATCH;
        let batches = (0..full).step_by(INFERENCE_BATCH).map(|i| (i, INFERENCE_BATCH));
        let batches: Vec<_> = batches.chain((full..trials.len()).map(|i| (i, 1))).collect();
        for norm in 0..self.norms.len() {
            let mut joined = NormMoments::new(&statistics[norm], source_trials);
            for &(from, size) in &batches {
                let part = trials.at(&(from..from + size).collect::<Vec<_>>());
                self.programs.with_program(size, &self.network.device, build, |program| {
                    self.run(program, &part, &statistics, 0.0)?;
                    let met = program.output(&self.network.parameters, 0, 1 + norm);
                    joined.add(&NormMoments::new(met, size as f64));
                    Ok(())
                })?;
            }
            statistics[norm] = joined.values();
        }
        Ok(statistics)
    }

    /// Logits of a session's trials in time order, each by what the norms have met so far.
    fn stream(&self, trials: &Subset<'_>, source_trials: f64) -> Result<Vec<f32>> {
        let build = |size| self.graph(size, |network| Ok(vec![network.logits]));
        self.programs.with_program(1, &self.network.device, build, |program| {
            Ok(self.stream_by(program, 1, trials, source_trials)?.remove(0))
        })
    }

    /// The first values of a program for single trials, in time order.
    fn stream_by(
        &self,
        program: &mut Program<f32>,
        values: usize,
        trials: &Subset<'_>,
        source_trials: f64,
    ) -> Result<Vec<Vec<f32>>> {
        let source = self.source()?;
        let mut joined: Vec<NormMoments> =
            source.iter().map(|values| NormMoments::new(values, source_trials)).collect();
        let mut all = vec![vec![]; values];
        for place in 0..trials.len() {
            let known: Vec<Vec<f32>> = joined.iter().map(NormMoments::values).collect();
            self.run(program, &trials.at(&[place]), &known, 1.0 / (joined[0].trials + 1.0))?;
            let output = |i: usize| program.output(&self.network.parameters, 0, i);
            all.iter_mut().enumerate().for_each(|(i, all)| all.extend_from_slice(output(i)));
            for (norm, joined) in joined.iter_mut().enumerate() {
                joined.add(&NormMoments::new(output(values + norm), 1.0));
            }
        }
        Ok(all)
    }

    /// What is computed of each session's trials, in time order, in the order of all trials: one `[n, ..]` for each value.
    fn each_session(
        &self,
        trials: &Subset<'_>,
        mut of: impl FnMut((SubjectId, u32), &Subset<'_>) -> Result<Option<Vec<Vec<f32>>>>,
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let mut all: Vec<Vec<f32>> = vec![];
        for (session, places) in by_session_in_time(trials) {
            let Some(own) = of(session, &trials.at(&places))? else { return Ok(None) };
            all.resize(own.len(), vec![]);
            for (all, own) in all.iter_mut().zip(&own) {
                let width = own.len() / places.len();
                all.resize(trials.len() * width, 0.0);
                for (&place, values) in places.iter().zip(own.chunks_exact(width.max(1))) {
                    all[place * width..][..width].copy_from_slice(values);
                }
            }
        }
        Ok(Some(all))
    }

    /// The network for a session it was adapted to.
    fn of_session(&self, session: (SubjectId, u32)) -> Result<FittedNetwork> {
        let Some(statistics) = self.sessions.get(&session) else {
            let (subject, session) = session;
            return Err(Error::trials(
                format!("the decoder's batch norms have not been adapted to {subject} in session {session}"),
                "adapt it to the unlabelled trials of a session before it decodes any of them; `norms=stream` needs none",
            ));
        };
        self.adapted(statistics)
    }
}

/// The moments of what is known and of what is met, which weighs a share of both.
fn joined(g: &mut Graph, known: Id, met: Id, share: Id) -> ptsm_engine::Result<Id> {
    let distance = g.sub(met, known)?;
    let moved = g.mul(distance, share)?;
    let moved = g.add(known, moved)?;
    let [mean, variance] = [0, 1].map(|row| g.slice(moved, 0, row, 1));
    let between = g.slice(distance, 0, 0, 1)?;
    let between = g.mul(between, between)?;
    let square = g.mul(share, share)?;
    let rest = g.sub(share, square)?;
    let between = g.mul(between, rest)?;
    let variance = g.add(variance?, between)?;
    g.concat(mean?, variance, 0)
}

impl FittedDecoder for FittedNorms {
    fn layout(&self) -> &Layout {
        self.network.layout()
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        self.layout().expect(trials.layout())?;
        let source_trials = self.source_trials()?;
        if source_trials.is_infinite() {
            return self.network.probabilities(trials);
        }
        let logits = self.each_session(trials, |session, own| {
            Ok(Some(vec![match self.trials {
                NormTrials::Whole => self.of_session(session)?.logits(own)?,
                NormTrials::Stream => self.stream(own, source_trials)?,
            }]))
        })?;
        let logits = logits.unwrap_or_default().concat();
        Ok(logits.chunks(self.layout().classes.len()).flat_map(softmax).collect())
    }

    fn adapt_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<Option<Box<dyn FittedDecoder>>> {
        if self.trials == NormTrials::Stream {
            return Ok(None);
        }
        let source_trials = self.source_trials()?;
        let mut adapted = self.clone();
        if source_trials.is_finite() {
            let trials = subjects.without_labels()?;
            let all = trials.all();
            self.layout().expect(all.layout())?;
            for (session, places) in by_session_in_time(&all) {
                let statistics = self.session_statistics(&all.at(&places), source_trials)?;
                adapted.sessions.insert(session, statistics);
            }
        }
        Ok(Some(Box::new(adapted)))
    }

    fn calibration(&self) -> Option<LogitCalibration> {
        self.network.calibration()
    }

    fn norm_prior(&self) -> Option<f64> {
        self.source_trials().ok()
    }

    fn parameters(&self) -> usize {
        FittedDecoder::parameters(&self.network)
    }

    fn known_subjects(&self) -> usize {
        self.network.known_subjects()
    }

    /// Statistics of sessions it was adapted to stay out of the file.
    fn to_bytes(&self, header: HashMap<String, String>) -> Result<Vec<u8>> {
        self.network.to_bytes(header)
    }

    fn adapt(&self, _: &Subset<'_>, _: &Adaptation) -> Result<AdaptedDecoder> {
        Err(Error::Configuration(
            "a decoder whose batch norms are adapted without labels is not adapted by some; train without `norms` for few-shot adaptation"
                .into(),
        ))
    }

    fn intermediate_values(&self, trials: &Subset<'_>, names: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
        self.layout().expect(trials.layout())?;
        let source_trials = self.source_trials()?;
        if source_trials.is_infinite() || trials.is_empty() {
            return self.network.intermediate_values(trials, names);
        }
        let network = self.network.build(1)?;
        if names.iter().any(|name| network.value(name).is_none()) {
            return Ok(None);
        }
        match self.trials {
            NormTrials::Whole => self.each_session(trials, |session, own| {
                self.of_session(session)?.intermediate_values(own, names)
            }),
            NormTrials::Stream => {
                let ids =
                    |network: &Network| Ok(names.iter().filter_map(|name| network.value(name)).collect());
                let (graph, outputs) = self.graph(1, ids)?;
                let mut program = Program::new(&graph, Mode::Infer, &outputs, 1, &self.network.device)?;
                self.each_session(trials, |_, own| {
                    self.stream_by(&mut program, names.len(), own, source_trials).map(Some)
                })
            }
        }
    }

    /// With the statistics of each session as they are; none of a stream, in which a trial is a part of what normalises it.
    fn sensitivity(&self, trials: &Subset<'_>, of: DecoderOutput) -> Result<Option<Sensitivity>> {
        if self.source_trials()?.is_infinite() {
            return self.network.sensitivity(trials, of);
        }
        if self.trials == NormTrials::Stream {
            return Ok(None);
        }
        let both = self.each_session(trials, |session, own| {
            let sensitivity = self.of_session(session)?.sensitivity(own, of)?;
            Ok(sensitivity.map(|Sensitivity { answers, gradient }| vec![answers, gradient]))
        })?;
        let Some(both) = both else { return Ok(None) };
        let mut both = both.into_iter();
        Ok(Some(Sensitivity {
            answers: both.next().unwrap_or_default(),
            gradient: both.next().unwrap_or_default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use ptsm_engine::{Cpu, Parameters};
    use ptsm_signal::{Channel, Trial, Trials};

    use super::*;
    use crate::deep::Predictors;
    use crate::eegnet::EegNet;

    /// EEGNet as it begins, with three norms, and a session of more trials than a batch, far from the statistics it begins with.
    fn beginning() -> (FittedNorms, Trials) {
        let layout = Layout {
            channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(),
            samples: 64,
            rate_hz: 64.0,
            start_s: 0.0,
            classes: vec!["a".into(), "b".into()],
            task: Default::default(),
        };
        let trial =
            |i: u32| Trial { label: i % 2, subject: SubjectId(1), session: 1, run: 1, cue_s: f64::from(i) };
        let x = (0..37 * 3 * 64).map(|i| 4.0 + 3.0 * (i as f32 * 0.61).sin() * (i as f32 * 0.003).cos());
        let trials = Trials::new(layout.clone(), x.collect(), (0..37).map(trial).collect()).unwrap();
        let recipe = Recipe::new(EegNet::default());
        let graph = recipe.network.build(shape(&layout, 0).batch(2)).unwrap().graph;
        let network = FittedNetwork {
            parameters: Parameters::new(&graph, &[1]).unwrap(),
            recipe,
            layout,
            subjects: 0,
            mirror: None,
            stages: LogitStages::default(),
            device: (&Cpu::new().unwrap()).into(),
            predictors: Predictors::default(),
        };
        (FittedNorms::new(network, NormTrials::Whole).unwrap(), trials)
    }

    /// What every norm meets once all are adapted is what it was adapted to.
    #[test]
    fn norms_are_adapted_in_the_order_of_the_network() {
        let (fitted, trials) = beginning();
        assert_eq!(fitted.norms.len(), 3);
        let statistics = fitted.session_statistics(&trials.all(), 20.0).unwrap();
        let source = fitted.source().unwrap();
        let mut joined: Vec<NormMoments> = source.iter().map(|v| NormMoments::new(v, 20.0)).collect();
        let (graph, outputs) = fitted.graph(1, |network| Ok(vec![network.logits])).unwrap();
        let network = &fitted.network;
        let mut program = Program::new(&graph, Mode::Infer, &outputs, 1, &network.device).unwrap();
        for place in 0..trials.len() {
            fitted.run(&mut program, &trials.all().at(&[place]), &statistics, 0.0).unwrap();
            for (norm, joined) in joined.iter_mut().enumerate() {
                let met = program.output(&network.parameters, 0, 1 + norm);
                joined.add(&NormMoments::new(met, 1.0));
            }
        }
        for (norm, (joined, statistics)) in joined.iter().zip(&statistics).enumerate() {
            assert_ne!(*statistics, source[norm]);
            for (a, b) in joined.values().iter().zip(statistics) {
                assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "norm {norm}: {a} {b}");
            }
        }
    }

    /// The first trial of a stream is a session of one trial; what the graph joins is what is joined here.
    #[test]
    fn a_stream_begins_as_a_session_of_one_trial() {
        let (fitted, trials) = beginning();
        let streamed = fitted.stream(&trials.all(), 5.0).unwrap();
        let first = trials.all().at(&[0]);
        let statistics = fitted.session_statistics(&first, 5.0).unwrap();
        let logits = fitted.adapted(&statistics).unwrap().logits(&first).unwrap();
        for (a, b) in streamed.iter().zip(&logits) {
            assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{streamed:?} {logits:?}");
        }
    }
}

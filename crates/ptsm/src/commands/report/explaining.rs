//! What the page's sections about a decoder are made of: everything that is computed, with progress, and only what is asked for.

use std::collections::BTreeSet;

use indicatif::ProgressBar;
use ptsm_decode::csp_lda::CspLda;
use ptsm_decode::registry::find;
use ptsm_decode::xdawn_ts::XdawnTs;
use ptsm_decode::{Answer, Class, Fitted, Lesson, Run};
use ptsm_explain::{
    Agreement, Axis, Compared, Features, Fill, How, Masks, Occlusion, Picture, Predicted, Probe, Question,
    Randomised, Ranking, Region, Relevance, Shuffles, Split, Trying, Way, agreement, agreement_in_time,
    attribution, csp_relevance, difference, distance, embedding, favours, identified, masks, occlusion,
    probe, region, shared, shuffled_labels, stability, tried, xdawn_relevance,
};
use ptsm_signal::{SubjectId, Subset};

use super::super::Session;
use super::super::evaluate::Asked;
use crate::exit::told;
use crate::progress::{self, Live};
use crate::report::{self, Apart, Believed, Kind, Looked, Rests, Tested, Trusted};

/// Trials that attributions and deletion tests look at, over all people; more take minutes and say the same.
const TRIALS: usize = 240;
/// Of them, those that are looked at with every seed and with drawn parameters.
const FEW_TRIALS: usize = 60;
/// Random orders of deletion tests.
const ORDERS: usize = 10;
/// Draws of nulls.
const DRAWS: usize = 1000;
/// Draws where each is a fit.
const FITS: usize = 200;
/// Points of a picture.
const POINTS: usize = 600;
/// Any number will do, as long as the same run gives the same page.
const SEED: u64 = 2024;

/// What was computed; none of what no section asked for.
#[derive(Default)]
pub(super) struct Explanation {
    pub(super) looked: Option<Looked>,
    pub(super) rests: Option<Rests>,
    pub(super) believed: Option<Believed>,
    pub(super) apart: Option<Apart>,
    pub(super) trusted: Option<Trusted>,
}

/// What is to be explained.
pub(super) struct Explaining<'a> {
    pub(super) asked: &'a Asked,
    /// People it has not learnt from.
    pub(super) people: &'a Subset<'a>,
    /// Decoders to train on shuffled labels.
    pub(super) nulls: usize,
    pub(super) session: &'a Session,
    pub(super) kinds: &'a [&'static Kind],
}

/// An explanation by channels and by times.
type Look = [Vec<f64>; 2];

impl Explaining<'_> {
    pub(super) fn run(&self) -> anyhow::Result<Explanation> {
        let wants = |name: &str| self.kinds.iter().any(|kind| kind.name == name);
        let (masks, rests, believed) = (wants("masks"), wants("attribution"), wants("validity"));
        let mut found = Explanation::default();
        let few = some(self.people, TRIALS);
        if masks || believed {
            let nulls = if masks { self.null_masks()? } else { vec![] };
            found.looked = Some(Looked { nulls, ..self.asked.looked(self.people)? });
        }
        let bar = progress::counting(self.session.output, "explaining", 14);
        if rests || believed {
            found.rests = Some(self.rests(&few)?);
            self.step(&bar)?;
        }
        if believed {
            found.believed = Some(self.believed(&found, &few, &bar)?);
        }
        if wants("subspaces") {
            found.apart = self.apart()?;
            self.step(&bar)?;
        }
        if wants("calibration") {
            found.trusted = Some(self.trusted()?);
        }
        bar.finish_and_clear();
        Ok(found)
    }

    fn step(&self, bar: &ProgressBar) -> anyhow::Result<()> {
        bar.inc(1);
        if self.session.stop.asked() {
            return Err(ptsm_decode::Error::Stopped.into());
        }
        Ok(())
    }

    fn first(&self) -> &dyn Fitted {
        &*self.asked.trained.decoders[0].1
    }

    /// The people it learnt from, and those it was stopped by, as far as they are among these data.
    fn known(&self) -> [Subset<'_>; 2] {
        let input = &self.asked.input;
        let seen = self.asked.run.seen(input);
        let validation: BTreeSet<SubjectId> =
            seen.intersection(&self.asked.run.data.validation).copied().collect();
        let learnt = seen.difference(&validation).copied().collect();
        [input.trials.of(&learnt), input.trials.of(&validation)]
    }

    /// Masks of decoders that learnt from the same people with their labels shuffled, each person's among themselves.
    fn null_masks(&self) -> anyhow::Result<Vec<Vec<Masks>>> {
        let mut found = vec![];
        if self.nulls == 0 {
            return Ok(found);
        }
        let [learnt, validation] = self.known();
        if learnt.is_empty() || validation.is_empty() {
            return Err(told(
                "the people this decoder learnt from are not among these data, so that it cannot be trained on their shuffled labels",
                "give the data it was trained with, or leave `--nulls` out",
            ));
        }
        let card = &self.asked.trained.card;
        let decoder = find(&card.decoder)?.build(card.settings.clone())?;
        let trials = &self.asked.input.trials;
        for i in 0..self.nulls as u64 {
            let shuffled = trials.relabelled(&shuffled_labels(&trials.all(), SEED + i))?;
            let lesson = Lesson::new(shuffled.of(&learnt.subjects()), shuffled.of(&validation.subjects()))?;
            let run = Run { device: &self.session.device, identity: &self.asked.input.fingerprint };
            let mut live = Live::new(self.session.output, &self.session.stop, "shuffled labels");
            let fits = decoder.fit_seeds(&lesson, &[SEED + i], &run, &mut live)?;
            found.push(masks(&*fits[0].fitted, self.people)?);
        }
        Ok(found)
    }

    fn relevance(
        &self,
        fitted: &dyn Fitted,
        trials: &Subset<'_>,
    ) -> anyhow::Result<(&'static str, Relevance)> {
        let by_gradient = attribution(fitted, trials, Answer::LogProbability(Class::Own), &How::default())?;
        Ok(match by_gradient {
            Some(relevance) => ("integrated gradients", relevance),
            None => {
                let window_samples = ((trials.layout().rate_hz / 10.0).round() as usize).max(1);
                ("occlusion", occlusion(fitted, trials, &Occlusion { window_samples, fill: Fill::Zero })?)
            }
        })
    }

    /// What the first decoder's answers rest on.
    fn rests(&self, few: &Subset<'_>) -> anyhow::Result<Rests> {
        let (how, relevance) = self.relevance(self.first(), few)?;
        let labels = few.labels();
        let class = |(label, name): (u32, &String)| {
            let rows = relevance.signed_space.iter().zip(&labels).filter(|(_, own)| **own == label);
            let rows: Vec<Vec<f64>> = rows.map(|(row, _)| row.clone()).collect();
            (!rows.is_empty()).then(|| (name.clone(), mean_of(&rows)))
        };
        let mut missed: Vec<f64> = relevance
            .residual
            .iter()
            .zip(&relevance.signed_space)
            .map(|(residual, row)| (residual / (row.iter().sum::<f64>() + residual)).abs())
            .collect();
        missed.sort_by(f64::total_cmp);
        Ok(Rests {
            how,
            people: relevance.by_person(how, few),
            signed: (0..).zip(&few.layout().classes).filter_map(class).collect(),
            residual: missed.get(missed.len() / 2).copied().unwrap_or(f64::NAN),
            trials: few.len(),
        })
    }

    /// Puts the masks and the attribution to every test.
    fn believed(&self, found: &Explanation, few: &Subset<'_>, bar: &ProgressBar) -> anyhow::Result<Believed> {
        let known = self.textbook();
        self.step(bar)?;
        let (parts, halves) = parts(self.people);
        let fewer = some(self.people, FEW_TRIALS);
        let mut believed = Believed { tested: vec![], trials: few.len(), parts, identified: None };
        if let Some(looked) = &found.looked {
            let in_parts = [masks(self.first(), &halves[0])?, masks(self.first(), &halves[1])?];
            let of = |all: &[Masks], kind: &str| all.iter().find(|mask| mask.kind == kind).map(look);
            for mask in &looked.all {
                let kind = mask.kind;
                let seeds: Vec<Look> = looked.seeds.iter().filter_map(|all| of(all, kind)).collect();
                let two: Vec<Look> = in_parts.iter().filter_map(|all| of(all, kind)).collect();
                let drawn = self.drawn(&|fitted| Ok(of(&masks(fitted, &fewer)?, kind)))?;
                // What is decoded is what the fused masks let pass.
                let ranked = (kind == "fused").then_some(mask);
                believed.tested.extend(self.tests(
                    &format!("{kind} mask"),
                    mask,
                    [&seeds, &drawn, &two],
                    &known,
                    ranked.map(|mask| (mask, few)),
                    bar,
                )?);
            }
            let personal = |all: &[Masks]| {
                all.iter().find(|mask| mask.kind == "personal").map(|mask| mask.space.concat())
            };
            let channels = self.people.layout().channels.len();
            if let [Some(one), Some(other)] = [personal(&in_parts[0]), personal(&in_parts[1])]
                && one.len() == other.len()
                && one.len() > 2 * channels
            {
                let [one, other] = [Features::new(&one, channels)?, Features::new(&other, channels)?];
                believed.identified = Some(identified(&one, &other, Shuffles { draws: DRAWS, seed: SEED })?);
            }
        }
        if let Some(rests) = &found.rests {
            let by = |fitted: &dyn Fitted, trials: &Subset<'_>| -> anyhow::Result<Look> {
                let (how, relevance) = self.relevance(fitted, trials)?;
                Ok(look(&relevance.by_person(how, trials)))
            };
            let decoders = &self.asked.trained.decoders;
            let seeds = decoders
                .iter()
                .map(|(_, fitted)| by(&**fitted, &fewer))
                .collect::<anyhow::Result<Vec<_>>>()?;
            self.step(bar)?;
            let drawn = self.drawn(&|fitted| by(fitted, &fewer).map(Some))?;
            self.step(bar)?;
            let two = halves.iter().map(|half| by(self.first(), &some(half, FEW_TRIALS)));
            let two = two.collect::<anyhow::Result<Vec<_>>>()?;
            self.step(bar)?;
            let ranked = Some((&rests.people, few));
            believed.tested.extend(self.tests(
                rests.how,
                &rests.people,
                [&seeds, &drawn, &two],
                &known,
                ranked,
                bar,
            )?);
        }
        Ok(believed)
    }

    /// Explanations of each decoder with its parameters drawn anew; none where it has nothing to draw.
    fn drawn(
        &self,
        explain: &dyn Fn(&dyn Fitted) -> anyhow::Result<Option<Look>>,
    ) -> anyhow::Result<Vec<Look>> {
        let mut all = vec![];
        for (i, (_, fitted)) in self.asked.trained.decoders.iter().enumerate() {
            if let Some(other) = fitted.redrawn(SEED + i as u64)? {
                all.extend(explain(&*other)?);
            }
        }
        Ok(all)
    }

    /// All tests of one explanation, by channels and by times.
    fn tests(
        &self,
        name: &str,
        mask: &Masks,
        [seeds, drawn, two]: [&[Look]; 3],
        known: &[Vec<(String, Vec<f64>)>; 2],
        ranked: Option<(&Masks, &Subset<'_>)>,
        bar: &ProgressBar,
    ) -> anyhow::Result<Vec<Tested>> {
        let truth = self.asked.input.truth.as_ref();
        let layout = self.people.layout();
        let truth = truth.map(|truth| [truth.task_channels(), truth.task_times(layout)]);
        let mut all = vec![];
        for (i, (axis, what)) in
            [(Axis::Channels, "channels"), (Axis::Times, "times")].into_iter().enumerate()
        {
            let values = &look(mask)[i];
            let agree = |known: &[f64]| -> Agreement {
                match axis {
                    Axis::Channels => agreement(values, known, &layout.channels, DRAWS, SEED),
                    Axis::Times => agreement_in_time(values, known, DRAWS, SEED),
                }
            };
            let rows =
                |looks: &[Look]| -> Vec<Vec<f64>> { looks.iter().map(|look| look[i].clone()).collect() };
            let removed = match ranked {
                None => None,
                Some((mask, trials)) => {
                    let ranking = Ranking::of(mask, axis);
                    let run = |way| -> anyhow::Result<_> {
                        let how = Trying { orders: ORDERS, ..Trying::new(axis, way) };
                        let found = tried(self.first(), trials, &ranking, &how)?;
                        self.step(bar)?;
                        Ok(found)
                    };
                    Some([run(Way::Deletion)?, run(Way::Insertion)?])
                }
            };
            all.push(Tested {
                name: format!("{name}, {what}"),
                known: known[i].iter().map(|(name, known)| (name.clone(), agree(known))).collect(),
                removed,
                randomised: (!drawn.is_empty()).then(|| Randomised::new(&rows(seeds), &rows(drawn))),
                seeds: (seeds.len() > 1).then(|| stability(&transposed(&rows(seeds)))).transpose()?,
                parts: (two.len() > 1).then(|| stability(&transposed(&rows(two)))).transpose()?,
                truth: truth.as_ref().map(|truth| favours(values, &truth[i])),
            });
        }
        Ok(all)
    }

    /// What is known of these people's trials without the decoder, by channels and by times.
    fn textbook(&self) -> [Vec<(String, Vec<f64>)>; 2] {
        let layout = self.people.layout();
        let (mut space, mut time) = (vec![], vec![]);
        let (csp, xdawn, channels) = (CspLda::default(), XdawnTs::default(), layout.channels.len());
        let csp = CspLda { filters: csp.filters.min(channels), ..csp };
        let xdawn = XdawnTs { filters: xdawn.filters.min(channels), ..xdawn };
        let mut add = |name: &str, found: ptsm_eval::Result<Vec<f64>>| match found {
            Ok(values) => space.push((name.to_string(), values)),
            Err(error) => self.session.output.note(format!("note: {name} are left out: {error}")),
        };
        add("CSP patterns, 8-30 Hz", csp_relevance(self.people, &csp));
        add("xDAWN patterns", xdawn_relevance(self.people, &xdawn));
        for (name, compared) in [("signal", Compared::Signal), ("power", Compared::Power)] {
            match difference(self.people, compared) {
                Ok(found) => {
                    space.push((format!("difference of classes in {name}, r\u{b2}"), found.space()));
                    time.push((format!("difference of classes in {name}, r\u{b2}"), found.time()));
                }
                Err(error) => {
                    self.session.output.note(format!("note: differences in {name} are left out: {error}"))
                }
            }
        }
        let is_event = layout.classes.iter().any(|class| class.to_lowercase().contains("target"));
        let (name, place) = match is_event {
            true => ("nearness to Pz", Region::Parietal),
            false => ("nearness to C3, Cz, C4", Region::Central),
        };
        let near = region(&layout.channels, place);
        if near.iter().any(|v| v.is_finite()) {
            space.push((name.into(), near));
        }
        [space, time]
    }

    /// What can be read out of the features of the first decoder; none of one without.
    fn apart(&self) -> anyhow::Result<Option<Apart>> {
        let people = self.people.in_time();
        let of = |trials: &Subset<'_>, names: &[&str]| -> anyhow::Result<Option<Features>> {
            for name in names {
                if let Some(values) = self.first().inner(trials, &[name])?.and_then(|mut all| all.pop()) {
                    return Ok(Some(Features::new(&values, values.len() / trials.len())?));
                }
            }
            Ok(None)
        };
        const TASK: [&str; 3] = ["task_features", "features", "task_latents"];
        let Some(task) = of(&people, &TASK)? else { return Ok(None) };
        let subject = of(&people, &["subject_features", "subject_latents"])?;
        let who: Vec<u32> = people.info().map(|t| t.subject.0).collect();
        let labels = people.labels();
        let mut tested: Vec<u32> = people.subjects().iter().map(|s| s.0).collect();
        tested = tested.into_iter().step_by(2).collect();
        let (by_person, by_time) = (Split::by_group(&who, &tested), Split::by_time(&who, 0.5));
        let shuffles = Shuffles { draws: FITS, seed: SEED };
        let several = people.subjects().len() > 1;
        let mut asked = vec![];
        let sets = [
            ("task features", Some(&task), [true, false]),
            ("subject features", subject.as_ref(), [false, true]),
        ];
        for (name, features, [class, person]) in sets {
            let Some(features) = features.filter(|_| several) else { continue };
            let ask = |labels: &[u32], blocks: &[u32], split: &Split| -> anyhow::Result<_> {
                let question = Question { features, labels, groups: &who, blocks };
                Ok([
                    probe(&question, split, Probe::Linear, shuffles)?,
                    probe(&question, split, Probe::Nonlinear, shuffles)?,
                ])
            };
            let found = ask(&labels, &who, &by_person)?;
            asked.push(report::Asked { what: "the class", of: name, wanted: class, found });
            let found = ask(&who, &labels, &by_time)?;
            asked.push(report::Asked { what: "the person", of: name, wanted: person, found });
        }
        let [learnt, _] = self.known();
        let distance = if learnt.subjects().len() > 1 && several {
            let source = of(&learnt, &TASK)?;
            let groups: Vec<u32> = learnt.info().map(|t| t.subject.0).collect();
            let sizes = [learnt.subjects().len(), people.subjects().len()];
            match source {
                Some(source) => {
                    Some((distance((&source, &groups), (&task, &who), 5, FITS / 10, SEED)?, sizes))
                }
                None => None,
            }
        } else {
            None
        };
        let picture = embedding(&task, Picture::Neighbours, POINTS)?;
        let classes = &people.layout().classes;
        Ok(Some(Apart {
            asked,
            distance,
            shared: subject.as_ref().map(|subject| shared(&task, subject, &who, shuffles)).transpose()?,
            classes: picture.trials.iter().map(|&i| classes[labels[i] as usize].clone()).collect(),
            people: picture.trials.iter().map(|&i| SubjectId(who[i]).to_string()).collect(),
            picture,
            kept: subject.is_some(),
        }))
    }

    /// The probabilities of everybody with every seed, and the temperature of the validation people.
    fn trusted(&self) -> anyhow::Result<Trusted> {
        let predicted = |people: &Subset<'_>| -> anyhow::Result<Predicted> {
            let (mut probabilities, mut labels) = (vec![], vec![]);
            for (_, fitted) in &self.asked.trained.decoders {
                let access = find(&self.asked.trained.card.decoder)?.target_access;
                let met = fitted.introduced(people, access)?;
                probabilities.extend(met.as_deref().unwrap_or(&**fitted).probabilities(people)?);
                labels.extend(people.labels());
            }
            Ok(Predicted::new(&probabilities, &labels, people.layout().classes.len())?)
        };
        let [_, validation] = self.known();
        let temperature = match validation.is_empty() {
            true => None,
            false => Some((predicted(&validation)?.temperature(), validation.subjects().len())),
        };
        Ok(Trusted { scored: predicted(self.people)?, temperature })
    }
}

fn look(mask: &Masks) -> Look {
    [mask.space_mean(), mask.time_mean()]
}

fn mean_of(rows: &[Vec<f64>]) -> Vec<f64> {
    let column = |i: usize| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64;
    (0..rows.first().map_or(0, Vec::len)).map(column).collect()
}

fn transposed(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let length = rows.first().map_or(0, Vec::len);
    (0..length).map(|i| rows.iter().map(|row| row[i]).collect()).collect()
}

/// About so many trials: the first ones of each class of each person, as many of each, where there are as many.
fn some<'a>(people: &Subset<'a>, most: usize) -> Subset<'a> {
    let groups = people.subjects().len() * people.layout().classes.len();
    let each = (most / groups.max(1)).max(1);
    let mut taken = std::collections::BTreeMap::<(SubjectId, u32), usize>::new();
    let mut places = vec![];
    for (i, trial) in people.info().enumerate() {
        let n = taken.entry((trial.subject, trial.label)).or_default();
        if *n < each {
            *n += 1;
            places.push(i);
        }
    }
    people.at(&places)
}

/// Two parts of everybody's recordings: the first two sessions, else the first and the last run, else both halves.
fn parts<'a>(people: &Subset<'a>) -> (&'static str, [Subset<'a>; 2]) {
    let subjects = people.subjects();
    let ends = |of: fn(&ptsm_signal::Trial) -> u32| {
        let ends = |subject: &SubjectId| {
            let own = people.info().filter(|t| t.subject == *subject).map(of);
            let own: BTreeSet<u32> = own.collect();
            Some((*subject, [*own.first()?, *own.last()?])).filter(|(_, [first, last])| first != last)
        };
        let found: std::collections::BTreeMap<SubjectId, [u32; 2]> =
            subjects.iter().filter_map(ends).collect();
        (found.len() == subjects.len()).then(|| {
            [0, 1].map(|end| people.only(|t| found.get(&t.subject).is_some_and(|ends| ends[end] == of(t))))
        })
    };
    if let Some(two) = ends(|t| t.session) {
        return ("sessions", two);
    }
    if let Some(two) = ends(|t| t.run) {
        return ("runs", two);
    }
    let who: Vec<u32> = people.info().map(|t| t.subject.0).collect();
    let halves = Split::by_time(&who, 0.5);
    ("halves", [people.at(&halves.train), people.at(&halves.test)])
}

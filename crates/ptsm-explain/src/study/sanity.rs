//! Puts masks and attributions to every test.

use std::collections::{BTreeMap, BTreeSet};

use ptsm_decode::FittedDecoder;
use ptsm_decode::csp_lda::CspLda;
use ptsm_decode::xdawn_ts::XdawnTs;
use ptsm_eval::Result;
use ptsm_signal::{SubjectId, Subset};

use super::{Explanation, SEED, Steps, Study, some};
use crate::agreement::{Agreement, agreement, agreement_in_time};
use crate::deletion::{DeletionDirection, DeletionSettings, RankedAxis, Ranking, run_deletion_test};
use crate::features::{Features, TrialSplit};
use crate::findings::{SanityCheck, SanityChecks};
use crate::masks::{Masks, masks};
use crate::patterns::{ContrastQuantity, Region, csp_relevance, difference, region, xdawn_relevance};
use crate::probes::PermutationSettings;
use crate::randomised::ParameterRandomisation;
use crate::ranks::truth_auc;
use crate::reliability::{identify_subjects, stability};

/// Trials that are explained with every seed and with randomised parameters.
const FEW_TRIALS: usize = 60;
/// Random orders of deletion tests.
const ORDERS: usize = 10;
/// Draws of nulls.
const DRAWS: usize = 1000;

/// An explanation by channels and by times.
type Profiles = [Vec<f64>; 2];

impl Study<'_> {
    /// Puts the masks and the attribution to every test.
    pub(super) fn sanity_checks(
        &self,
        found: &Explanation,
        few: &Subset<'_>,
        steps: &mut Steps,
    ) -> Result<SanityChecks> {
        let known = self.textbook();
        steps.next()?;
        let (parts, halves) = parts(self.subjects);
        let fewer = some(self.subjects, FEW_TRIALS);
        let mut checks =
            SanityChecks { tested: vec![], trials: few.len(), parts: parts.into(), identified: None };
        if let Some(findings) = &found.masks {
            let in_parts = [masks(self.first(), &halves[0])?, masks(self.first(), &halves[1])?];
            let of = |all: &[Masks], kind: &str| all.iter().find(|mask| mask.kind == kind).map(look);
            for mask in &findings.all {
                let kind = mask.kind.as_str();
                let seeds: Vec<Profiles> = findings.seeds.iter().filter_map(|all| of(all, kind)).collect();
                let two: Vec<Profiles> = in_parts.iter().filter_map(|all| of(all, kind)).collect();
                let randomised =
                    self.with_random_parameters(&|fitted| Ok(of(&masks(fitted, &fewer)?, kind)))?;
                // What is decoded is what the fused masks let pass: those of the decoder that is tested, not the mean over seeds.
                let own = findings.seeds[0].iter().find(|mask| mask.kind == kind);
                let ranked = own.filter(|_| kind == "fused");
                checks.tested.extend(self.tests(
                    &format!("{kind} mask"),
                    mask,
                    [&seeds, &randomised, &two],
                    &known,
                    ranked.map(|mask| (mask, few)),
                    steps,
                )?);
            }
            let personal = |all: &[Masks]| {
                all.iter().find(|mask| mask.kind == "personal").map(|mask| mask.space.concat())
            };
            let channels = self.subjects.layout().channels.len();
            if let [Some(one), Some(other)] = [personal(&in_parts[0]), personal(&in_parts[1])]
                && one.len() == other.len()
                && one.len() > 2 * channels
            {
                let [one, other] = [Features::new(&one, channels)?, Features::new(&other, channels)?];
                checks.identified =
                    Some(identify_subjects(&one, &other, PermutationSettings { draws: DRAWS, seed: SEED })?);
            }
        }
        if let Some(saliency) = &found.saliency {
            let by = |fitted: &dyn FittedDecoder, trials: &Subset<'_>| -> Result<Profiles> {
                let (method, relevance) = self.relevance(fitted, trials)?;
                Ok(look(&relevance.by_subject(method, trials)))
            };
            let seeds = self.decoders.iter().map(|decoder| by(decoder.get(), &fewer));
            let seeds = seeds.collect::<Result<Vec<_>>>()?;
            steps.next()?;
            let randomised = self.with_random_parameters(&|fitted| by(fitted, &fewer).map(Some))?;
            steps.next()?;
            let two = halves.iter().map(|half| by(self.first(), &some(half, FEW_TRIALS)));
            let two = two.collect::<Result<Vec<_>>>()?;
            steps.next()?;
            let ranked = Some((&saliency.by_subject, few));
            checks.tested.extend(self.tests(
                &saliency.method,
                &saliency.by_subject,
                [&seeds, &randomised, &two],
                &known,
                ranked,
                steps,
            )?);
        }
        Ok(checks)
    }

    /// Explanations of each decoder with randomised parameters; none where it has nothing to randomise.
    fn with_random_parameters(
        &self,
        explain: &dyn Fn(&dyn FittedDecoder) -> Result<Option<Profiles>>,
    ) -> Result<Vec<Profiles>> {
        let mut all = vec![];
        for (i, decoder) in self.decoders.iter().enumerate() {
            if let Some(other) = decoder.get().with_random_parameters(SEED + i as u64)? {
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
        [seeds, randomised, two]: [&[Profiles]; 3],
        known: &[Vec<(String, Vec<f64>)>; 2],
        ranked: Option<(&Masks, &Subset<'_>)>,
        steps: &mut Steps,
    ) -> Result<Vec<SanityCheck>> {
        let truth = self.evaluation.data.truth.as_ref();
        let layout = self.subjects.layout();
        let truth = truth.map(|truth| [truth.task_channels(), truth.task_times(layout)]);
        let mut all = vec![];
        for (i, (axis, what)) in
            [(RankedAxis::Channels, "channels"), (RankedAxis::Times, "times")].into_iter().enumerate()
        {
            let values = &look(mask)[i];
            let agree = |known: &[f64]| -> Agreement {
                match axis {
                    RankedAxis::Channels => agreement(values, known, &layout.channels, DRAWS, SEED),
                    RankedAxis::Times => agreement_in_time(values, known, DRAWS, SEED),
                }
            };
            let rows =
                |looks: &[Profiles]| -> Vec<Vec<f64>> { looks.iter().map(|look| look[i].clone()).collect() };
            let removed = match ranked {
                None => None,
                Some((mask, trials)) => {
                    let ranking = Ranking::of(mask, axis);
                    let mut run = |direction| -> Result<_> {
                        let settings =
                            DeletionSettings { orders: ORDERS, ..DeletionSettings::new(axis, direction) };
                        let found = run_deletion_test(self.first(), trials, &ranking, &settings)?;
                        steps.next()?;
                        Ok(found)
                    };
                    Some([run(DeletionDirection::Deletion)?, run(DeletionDirection::Insertion)?])
                }
            };
            all.push(SanityCheck {
                name: format!("{name}, {what}"),
                known: known[i].iter().map(|(name, known)| (name.clone(), agree(known))).collect(),
                removed,
                randomised: (!randomised.is_empty())
                    .then(|| ParameterRandomisation::new(&rows(seeds), &rows(randomised))),
                seeds: (seeds.len() > 1).then(|| stability(&transposed(&rows(seeds)))).transpose()?,
                parts: (two.len() > 1).then(|| stability(&transposed(&rows(two)))).transpose()?,
                truth: truth.as_ref().map(|truth| truth_auc(values, &truth[i])),
            });
        }
        Ok(all)
    }

    /// What is known of these subjects' trials without the decoder, by channels and by times.
    fn textbook(&self) -> [Vec<(String, Vec<f64>)>; 2] {
        let layout = self.subjects.layout();
        let (mut space, mut time) = (vec![], vec![]);
        let (csp, xdawn, channels) = (CspLda::default(), XdawnTs::default(), layout.channels.len());
        let csp = CspLda { filters: csp.filters.min(channels), ..csp };
        let xdawn = XdawnTs { filters: xdawn.filters.min(channels), ..xdawn };
        let mut add = |name: &str, found: Result<Vec<f64>>| match found {
            Ok(values) => space.push((name.to_string(), values)),
            Err(error) => self.env.note(format!("note: {name} are left out: {error}")),
        };
        add("CSP patterns, 8-30 Hz", csp_relevance(self.subjects, &csp));
        add("xDAWN patterns", xdawn_relevance(self.subjects, &xdawn));
        for (name, compared) in [("signal", ContrastQuantity::Signal), ("power", ContrastQuantity::Power)] {
            match difference(self.subjects, compared) {
                Ok(found) => {
                    space.push((format!("difference of classes in {name}, r\u{b2}"), found.space()));
                    time.push((format!("difference of classes in {name}, r\u{b2}"), found.time()));
                }
                Err(error) => self.env.note(format!("note: differences in {name} are left out: {error}")),
            }
        }
        // Names of classes do not tell where to look: a `target` may flicker.
        if let Some(place) = Region::of(self.evaluation.run.card.layout.task.paradigm) {
            let near = region(&layout.channels, place);
            if near.iter().any(|v| v.is_finite()) {
                space.push((format!("nearness to {}", place.electrodes().join(", ")), near));
            }
        }
        [space, time]
    }
}

fn look(mask: &Masks) -> Profiles {
    [mask.space_mean(), mask.time_mean()]
}

fn transposed(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let length = rows.first().map_or(0, Vec::len);
    (0..length).map(|i| rows.iter().map(|row| row[i]).collect()).collect()
}

/// Two parts of each subject's recordings: the first and the last session, else the first and the last run, else both halves.
fn parts<'a>(trials: &Subset<'a>) -> (&'static str, [Subset<'a>; 2]) {
    let subjects = trials.subjects();
    let ends = |of: fn(&ptsm_signal::Trial) -> u32| {
        let ends = |subject: &SubjectId| {
            let own = trials.info().filter(|t| t.subject == *subject).map(of);
            let own: BTreeSet<u32> = own.collect();
            Some((*subject, [*own.first()?, *own.last()?])).filter(|(_, [first, last])| first != last)
        };
        let found: BTreeMap<SubjectId, [u32; 2]> = subjects.iter().filter_map(ends).collect();
        (found.len() == subjects.len()).then(|| {
            [0, 1].map(|end| trials.only(|t| found.get(&t.subject).is_some_and(|ends| ends[end] == of(t))))
        })
    };
    if let Some(two) = ends(|t| t.session) {
        return ("sessions", two);
    }
    if let Some(two) = ends(|t| t.run) {
        return ("runs", two);
    }
    let subjects: Vec<u32> = trials.info().map(|t| t.subject.0).collect();
    let halves = TrialSplit::by_time(&subjects, 0.5);
    ("halves", [trials.at(&halves.train), trials.at(&halves.test)])
}

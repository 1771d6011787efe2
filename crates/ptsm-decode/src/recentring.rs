//! Recentring of a decoder's logits for each subject, without labels: offsets under which the subject's classes are as frequent as declared.
//!
//! A decoder's decisions are often shifted for a new subject, each in a direction of their own: accuracy is low although the classes are told
//! apart. Where it is known how frequent the classes are, unlabelled trials show the shift: `p(x)` becomes `softmax(z(x) - c)`, `z` being the
//! decoder's log-probabilities, and `c` solves
//!
//! ```text
//! sum over trials of softmax(z - c) = n pi + c / s^2
//! ```
//!
//! with the declared frequencies `pi` (equal ones by default) and a prior `c ~ N(0, s^2)`, which few trials do not outweigh. Saerens et al. 2002
//! (doi:10.1162/089976602753284446) solve the same equation for the other unknown: there the decoder is right and the frequencies are sought.
//! **It assumes that the declared frequencies are those of the trials**; where they are not, it does harm.
//!
//! The setting `recentring` of every decoder is `"whole"`, by all trials of a session (transductive), or `"stream"`, by those up to and
//! including each; `frequencies` are one number for each class.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use ptsm_signal::{Layout, SubjectId, Subset, TargetAccess, Unlabelled};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::calibration::LogitCalibration;
use crate::decoder::{Decoder, DecoderOutput, Fit, FitSink, FittedDecoder, Job, Run, Sensitivity, Watch};
use crate::error::{Error, Result};
use crate::probabilities::{log_sum_exp, softmax};
use crate::sessions::{by_session, by_session_in_time};

/// The setting that says which trials are recentred by.
pub const KEY: &str = "recentring";
/// The setting that says how frequent the classes are.
pub const FREQUENCIES: &str = "frequencies";

/// Which trials of a session are recentred by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecentringTrials {
    /// All of them.
    Whole,
    /// Those up to and including each.
    Stream,
}

/// How logits are recentred.
#[derive(Clone, Debug, PartialEq)]
pub struct Recentring {
    /// By which trials.
    pub trials: RecentringTrials,
    /// How frequent the classes are, in their order; equal without it.
    pub frequencies: Option<Vec<f64>>,
}

impl Recentring {
    /// What settings say; none of a decoder that is not recentred.
    pub fn of(settings: &Value) -> Result<Option<Recentring>> {
        let wrong = |message: String| Err(Error::Configuration(message));
        let frequencies: Option<Vec<f64>> = match settings.get(FREQUENCIES) {
            None | Some(Value::Null) => None,
            Some(value) => match serde_json::from_value::<Vec<f64>>(value.clone()) {
                Ok(all) if !all.is_empty() && all.iter().all(|&f| f > 0.0 && f < 1.0) => Some(all),
                _ => {
                    return wrong(format!(
                        "`{FREQUENCIES}` is {value}; give the share of each class between 0 and 1, such as [0.7, 0.3]"
                    ));
                }
            },
        };
        if let Some(all) = &frequencies
            && (all.iter().sum::<f64>() - 1.0).abs() > 1e-6
        {
            return wrong(format!("`{FREQUENCIES}` are {all:?}, which do not add up to 1"));
        }
        let trials = match settings.get(KEY) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text == "none" => None,
            Some(value) => match serde_json::from_value(value.clone()) {
                Ok(trials) => Some(trials),
                Err(_) => {
                    return wrong(format!(
                        "`{KEY}` is {value}; it is \"whole\" (all trials of a session), \"stream\" (those so far) or \"none\""
                    ));
                }
            },
        };
        match (trials, &frequencies) {
            (None, Some(_)) => wrong(format!("`{FREQUENCIES}` are for `{KEY}`, which is not set")),
            (None, None) => Ok(None),
            (Some(trials), _) => Ok(Some(Recentring { trials, frequencies })),
        }
    }

    /// What it sees of a subject.
    pub fn target_access(&self) -> TargetAccess {
        match self.trials {
            RecentringTrials::Whole => TargetAccess::WHOLE,
            RecentringTrials::Stream => TargetAccess::Stream,
        }
    }

    fn frequencies(&self, classes: usize) -> Result<Vec<f64>> {
        match &self.frequencies {
            None => Ok(vec![1.0 / classes as f64; classes]),
            Some(all) if all.len() == classes => Ok(all.clone()),
            Some(all) => Err(Error::Configuration(format!(
                "`{FREQUENCIES}` has {} numbers, and there are {classes} classes",
                all.len()
            ))),
        }
    }
}

/// The same, and the settings of the decoder that is recentred.
pub(crate) fn take(mut settings: Value) -> Result<(Option<Recentring>, Value)> {
    let recentring = Recentring::of(&settings)?;
    if let Some(settings) = settings.as_object_mut() {
        settings.remove(KEY);
        settings.remove(FREQUENCIES);
    }
    Ok((recentring, settings))
}

/// Settings of a decoder as those of a recentred one.
pub(crate) fn with(mut settings: Value, recentring: &Option<Recentring>) -> Value {
    if let (Value::Object(settings), Some(recentring)) = (&mut settings, recentring) {
        let text = match recentring.trials {
            RecentringTrials::Whole => "whole",
            RecentringTrials::Stream => "stream",
        };
        settings.insert(KEY.into(), text.into());
        if let Some(frequencies) = &recentring.frequencies {
            settings.insert(FREQUENCIES.into(), frequencies.clone().into());
        }
    }
    settings
}

/// Standard deviation of offsets over subjects, of log-probabilities.
const SPREAD: f64 = 1.5;
/// Steps of Newton's method that are never needed.
const MOST_STEPS: usize = 50;

/// The offsets of some trials' log-probabilities `[n, K]`, beginning with a guess.
fn offsets(logits: &[f64], frequencies: &[f64], guess: &[f64]) -> Vec<f64> {
    let classes = frequencies.len();
    let n = (logits.len() / classes) as f64;
    let value = |c: &DVector<f64>| {
        let each = logits.chunks_exact(classes).map(|z| {
            let shifted: Vec<f64> = z.iter().zip(c.iter()).map(|(z, c)| z - c).collect();
            log_sum_exp(&shifted)
        });
        let declared: f64 = frequencies.iter().zip(c.iter()).map(|(pi, c)| pi * c).sum();
        each.sum::<f64>() + n * declared + 0.5 * c.norm_squared() / SPREAD.powi(2)
    };
    let mut at = DVector::from_column_slice(guess);
    let mut least = value(&at);
    for _ in 0..MOST_STEPS {
        let mut slope = &at / SPREAD.powi(2) + DVector::from_column_slice(frequencies) * n;
        let mut curvature = DMatrix::identity(classes, classes) / SPREAD.powi(2);
        for z in logits.chunks_exact(classes) {
            let p = softmax(&z.iter().zip(at.iter()).map(|(z, c)| z - c).collect::<Vec<f64>>());
            for k in 0..classes {
                slope[k] -= p[k];
                curvature[(k, k)] += p[k];
                for l in 0..classes {
                    curvature[(k, l)] -= p[k] * p[l];
                }
            }
        }
        let Some(step) = curvature.cholesky().map(|c| c.solve(&slope)) else { break };
        let (mut part, mut next) = (1.0, None);
        while part > 1e-8 && next.is_none() {
            let tried = &at - &step * part;
            let of_tried = value(&tried);
            if of_tried < least {
                next = Some((tried, of_tried));
            }
            part *= 0.5;
        }
        let Some((tried, of_tried)) = next else { break };
        let gained = least - of_tried;
        (at, least) = (tried, of_tried);
        if gained < 1e-12 {
            break;
        }
    }
    at.iter().copied().collect()
}

/// A decoder whose logits are recentred when it has been fitted.
pub(crate) struct Recentred {
    inner: Box<dyn Decoder>,
    recentring: Recentring,
}

impl Recentred {
    pub(crate) fn new(inner: Box<dyn Decoder>, recentring: Recentring) -> Recentred {
        Recentred { inner, recentring }
    }
}

impl Decoder for Recentred {
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        self.inner.fit(jobs, run, watch, &mut |job, fit| done(job, recentred(fit, &self.recentring)?))
    }

    fn learns_from_target(&self) -> bool {
        self.inner.learns_from_target()
    }

    fn uses_validation(&self) -> bool {
        self.inner.uses_validation()
    }

    fn check_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<()> {
        self.inner.check_unlabelled(subjects)
    }

    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        self.recentring.frequencies(layout.classes.len())?;
        self.inner.parameters(layout)
    }
}

/// The same fit with recentred logits.
pub(crate) fn recentred(fit: Fit, recentring: &Recentring) -> Result<Fit> {
    let fitted = FittedRecentred::new(fit.fitted, recentring.clone())?;
    Ok(Fit { fitted: Arc::new(fitted), ..fit })
}

/// A fitted decoder whose logits are recentred.
#[derive(Clone)]
pub(crate) struct FittedRecentred {
    inner: Arc<dyn FittedDecoder>,
    recentring: Recentring,
    frequencies: Vec<f64>,
    /// Of the sessions it was adapted to; none in a file.
    sessions: BTreeMap<(SubjectId, u32), Vec<f64>>,
}

impl FittedRecentred {
    pub(crate) fn new(inner: Arc<dyn FittedDecoder>, recentring: Recentring) -> Result<FittedRecentred> {
        let frequencies = recentring.frequencies(inner.layout().classes.len())?;
        Ok(FittedRecentred { inner, recentring, frequencies, sessions: BTreeMap::new() })
    }

    /// Log-probabilities of the decoder that is recentred, `[n, K]`.
    fn logits(inner: &dyn FittedDecoder, trials: &Subset<'_>) -> Result<Vec<f64>> {
        let p = inner.probabilities(trials)?;
        Ok(p.into_iter().map(|p| f64::from(p.max(f32::MIN_POSITIVE)).ln()).collect())
    }
}

impl FittedDecoder for FittedRecentred {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn probabilities(&self, trials: &Subset<'_>) -> Result<Vec<f32>> {
        let classes = self.frequencies.len();
        let logits = FittedRecentred::logits(&*self.inner, trials)?;
        let mut all = vec![0.0; logits.len()];
        let mut write = |place: usize, offsets: &[f64]| {
            let own = &logits[place * classes..(place + 1) * classes];
            let shifted: Vec<f64> = own.iter().zip(offsets).map(|(z, c)| z - c).collect();
            let to = &mut all[place * classes..(place + 1) * classes];
            to.iter_mut().zip(softmax(&shifted)).for_each(|(to, p)| *to = p as f32);
        };
        for (session, places) in by_session_in_time(trials) {
            match self.recentring.trials {
                RecentringTrials::Whole => {
                    let Some(offsets) = self.sessions.get(&session) else {
                        let (subject, session) = session;
                        return Err(Error::trials(
                            format!("the decoder has not been recentred for {subject} in session {session}"),
                            "adapt it to the unlabelled trials of a session before it decodes any of them; `recentring=stream` needs none",
                        ));
                    };
                    places.iter().for_each(|&place| write(place, offsets));
                }
                RecentringTrials::Stream => {
                    let mut so_far = vec![];
                    let mut found = vec![0.0; classes];
                    for place in places {
                        so_far.extend_from_slice(&logits[place * classes..(place + 1) * classes]);
                        found = offsets(&so_far, &self.frequencies, &found);
                        write(place, &found);
                    }
                }
            }
        }
        Ok(all)
    }

    fn adapt_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<Option<Box<dyn FittedDecoder>>> {
        let adapted = self.inner.adapt_unlabelled(subjects)?;
        let inner: Arc<dyn FittedDecoder> = match adapted {
            Some(adapted) => adapted.into(),
            None if self.recentring.trials == RecentringTrials::Stream => return Ok(None),
            None => self.inner.clone(),
        };
        let mut sessions = self.sessions.clone();
        if self.recentring.trials == RecentringTrials::Whole {
            let classes = self.frequencies.len();
            let trials = subjects.without_labels()?;
            let logits = FittedRecentred::logits(&*inner, &trials.all())?;
            for (session, places) in by_session(subjects.sessions()) {
                let own = |&place: &usize| logits[place * classes..(place + 1) * classes].iter().copied();
                let own: Vec<f64> = places.iter().flat_map(own).collect();
                sessions.insert(session, offsets(&own, &self.frequencies, &vec![0.0; classes]));
            }
        }
        Ok(Some(Box::new(FittedRecentred { inner, sessions, ..self.clone() })))
    }

    fn calibration(&self) -> Option<LogitCalibration> {
        self.inner.calibration()
    }

    fn parameters(&self) -> usize {
        self.inner.parameters()
    }

    fn known_subjects(&self) -> usize {
        self.inner.known_subjects()
    }

    /// Offsets of sessions it was adapted to stay out of the file.
    fn to_bytes(&self, header: HashMap<String, String>) -> Result<Vec<u8>> {
        self.inner.to_bytes(header)
    }

    fn adapt(
        &self,
        _: &Subset<'_>,
        _: &crate::decoder::Adaptation,
    ) -> Result<crate::decoder::AdaptedDecoder> {
        Err(Error::Configuration(
            "a recentred decoder learns its offsets without labels and is not adapted by some; train without `recentring` for few-shot adaptation"
                .into(),
        ))
    }

    fn convert(&self, trials: &Subset<'_>, like: &Subset<'_>) -> Result<Vec<f32>> {
        self.inner.convert(trials, like)
    }

    fn intermediate_values(&self, trials: &Subset<'_>, names: &[&str]) -> Result<Option<Vec<Vec<f32>>>> {
        self.inner.intermediate_values(trials, names)
    }

    /// Of the decoder before its logits are moved by what other trials say.
    fn sensitivity(&self, trials: &Subset<'_>, of: DecoderOutput) -> Result<Option<Sensitivity>> {
        self.inner.sensitivity(trials, of)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn classes_become_as_frequent_as_declared() {
        let logits: Vec<f64> = (0..60)
            .flat_map(|i| {
                let z = 0.1 * f64::from(i) - 1.0;
                [z, -z, 0.3 * z * z]
            })
            .collect();
        for frequencies in [[1.0 / 3.0; 3], [0.6, 0.3, 0.1]] {
            let found = offsets(&logits, &frequencies, &[0.0; 3]);
            let mut mean = [0.0; 3];
            for z in logits.chunks(3) {
                let p = softmax(&z.iter().zip(&found).map(|(z, c)| z - c).collect::<Vec<f64>>());
                mean.iter_mut().zip(p).for_each(|(m, p)| *m += p);
            }
            for ((sum, pi), c) in mean.iter().zip(frequencies).zip(&found) {
                assert!((sum - 60.0 * pi - c / SPREAD.powi(2)).abs() < 1e-5, "{mean:?} {found:?}");
            }
        }
    }

    #[test]
    fn one_trial_does_not_change_a_decision() {
        for z in [0.3, 2.0, 8.0] {
            let found = offsets(&[z, -z], &[0.5, 0.5], &[0.0; 2]);
            assert!(z - found[0] > -z - found[1], "{z}: {found:?}");
        }
    }

    #[test]
    fn settings_are_read_and_refused() {
        let of = |settings: Value| Recentring::of(&settings).map_err(|e| e.to_string());
        assert_eq!(of(json!({})).unwrap(), None);
        assert_eq!(of(json!({ "recentring": "none" })).unwrap(), None);
        let stream = of(json!({ "recentring": "stream", "frequencies": [0.7, 0.3] })).unwrap().unwrap();
        assert_eq!(stream.target_access(), TargetAccess::Stream);
        assert_eq!(
            with(json!({ "a": 1 }), &Some(stream)),
            json!({ "a": 1, "recentring": "stream", "frequencies": [0.7, 0.3] })
        );
        for (settings, said) in [
            (json!({ "recentring": "all" }), "\"whole\""),
            (json!({ "frequencies": [0.5, 0.5] }), "`recentring`, which is not set"),
            (json!({ "recentring": "whole", "frequencies": [0.5, 0.6] }), "add up to 1"),
            (json!({ "recentring": "whole", "frequencies": [1.0, 0.0] }), "share of each class"),
            (json!({ "recentring": "whole", "frequencies": "half" }), "share of each class"),
        ] {
            let error = of(settings.clone()).unwrap_err();
            assert!(error.contains(said), "{settings}: {error}");
        }
    }
}

//! Alignment (re-centring): each subject's trials are transformed by their own trials, without labels, to an identity mean covariance.

use std::collections::BTreeMap;

use nalgebra::DMatrix;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::access::TargetAccess;
use crate::covariance::second_moment;
use crate::error::{Error, Result};
use crate::spd;
use crate::trials::{SubjectId, Trials};

/// Alignment (re-centring, whitening) of each subject's trials by their own unlabelled trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alignment {
    /// Not at all.
    #[default]
    None,
    /// `R^-1/2 x`, R being the subject's mean of `x x^T / T` per session (He and Wu 2020).
    Euclidean,
    /// The same with the Karcher mean (Zanini et al. 2018).
    Riemannian,
    /// Euclidean, each trial with the mean over the subject's trials of the session up to and including it.
    #[serde(rename = "euclidean-stream")]
    EuclideanStream,
    /// Riemannian, each trial with the mean up to and including it, which moves `1/n` of the way to the n-th trial (Ho et al. 2013).
    #[serde(rename = "riemannian-stream")]
    RiemannianStream,
}

impl Alignment {
    /// Alignment looks at all trials of a subject, or at those so far, without labels.
    pub fn target_access(self) -> TargetAccess {
        match self {
            Alignment::None => TargetAccess::Nothing,
            Alignment::Euclidean | Alignment::Riemannian => TargetAccess::WHOLE,
            Alignment::EuclideanStream | Alignment::RiemannianStream => TargetAccess::Stream,
        }
    }

    /// Aligns every subject's trials, each session on its own. Labels are not read. The trials change only if all could be
    /// aligned.
    pub fn apply(self, trials: &mut Trials) -> Result<()> {
        let domains: Vec<_> = domains(trials).into_iter().collect();
        let all = domains.par_iter().map(|((subject, session), rows)| {
            self.frames(trials, rows).map_err(|error| within(error, *subject, *session))
        });
        let all = all.collect::<Result<Vec<_>>>()?;
        for ((_, rows), frames) in domains.iter().zip(all) {
            // One frame for all of them, or each its own.
            rows.iter()
                .zip(frames.iter().cycle())
                .for_each(|(&row, frame)| transform(frame, trials.signal_mut(row)));
        }
        Ok(())
    }

    /// The whitening matrices of one subject's trials in the order of time: none, one for all, or one for each.
    fn frames(self, trials: &Trials, rows: &[usize]) -> Result<Vec<DMatrix<f64>>> {
        let channels = trials.layout().channels.len();
        let moments = || rows.iter().map(|&r| second_moment(trials.signal(r), channels));
        let whole = |mean: fn(&[DMatrix<f64>]) -> Result<DMatrix<f64>>| {
            Ok(vec![spd::inverse_sqrt(&mean(&without_reference(moments().collect()))?)?])
        };
        // A later trial must not change what is done to an earlier one: each is looked at alone.
        let stream = |mean: MeanUpdate| {
            let mut so_far: Option<DMatrix<f64>> = None;
            let mut frames = Vec::with_capacity(rows.len());
            for (i, moment) in moments().enumerate() {
                let moment = without_reference(vec![moment]).remove(0);
                let next = match so_far {
                    None => moment,
                    Some(before) => mean(before, &moment, i + 1)?,
                };
                frames.push(spd::inverse_sqrt(&next)?);
                so_far = Some(next);
            }
            Ok(frames)
        };
        match self {
            Alignment::None => Ok(vec![]),
            Alignment::Euclidean => whole(spd::mean_euclid),
            Alignment::Riemannian => whole(spd::karcher_mean),
            Alignment::EuclideanStream => stream(|before, own, n| Ok(&before + (own - &before) / n as f64)),
            Alignment::RiemannianStream => {
                stream(|before, own, n| spd::geodesic(&before, own, 1.0 / n as f64))
            }
        }
    }
}

/// The mean of n matrices from that of those before, the n-th and n.
type MeanUpdate = fn(DMatrix<f64>, &DMatrix<f64>, usize) -> Result<DMatrix<f64>>;

/// An average reference takes away what all channels have in common, and one rank with it. That direction is given a power here, the
/// mean one of the others: no trial has anything in it, so whatever a frame does there changes nothing.
fn without_reference(mut moments: Vec<DMatrix<f64>>) -> Vec<DMatrix<f64>> {
    let referenced = |m: &DMatrix<f64>| m.sum() <= COMMON * m.trace();
    if moments.iter().all(referenced) {
        for moment in &mut moments {
            let channels = moment.nrows() as f64;
            let power = moment.trace() / (channels - 1.0).max(1.0);
            moment.add_scalar_mut(power / channels);
        }
    }
    moments
}

/// The share of the power that all channels may have in common where it was taken away: the rounding of single precision.
const COMMON: f64 = 1e-9;

/// The trials of each subject and session, in the order of time.
fn domains(trials: &Trials) -> BTreeMap<(SubjectId, u32), Vec<usize>> {
    let mut domains = BTreeMap::<_, Vec<usize>>::new();
    let info = trials.info();
    for (row, trial) in info.iter().enumerate() {
        domains.entry((trial.subject, trial.session)).or_default().push(row);
    }
    for rows in domains.values_mut() {
        rows.sort_by(|&a, &b| (info[a].run.cmp(&info[b].run)).then(info[a].cue_s.total_cmp(&info[b].cue_s)));
    }
    domains
}

/// `signal <- frame signal`, the signal being `[C, T]`.
fn transform(frame: &DMatrix<f64>, signal: &mut [f32]) {
    let channels = frame.nrows();
    let samples = signal.len() / channels;
    // One channel is a column here, so that the product with the symmetric frame is taken from the right.
    let columns = DMatrix::from_iterator(samples, channels, signal.iter().map(|&s| f64::from(s)));
    for (to, from) in signal.iter_mut().zip((columns * frame).iter()) {
        *to = *from as f32;
    }
}

/// Says whose trials could not be aligned.
fn within(error: Error, subject: SubjectId, session: u32) -> Error {
    let failure = Error::data(format!("alignment of {subject}, session {session}"), error.to_string());
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{close, train};
    use crate::montage::Channel;
    use crate::trials::{Layout, Trial};

    /// The golden trials as a set; `domain` gives subject and session of each.
    fn set(domain: impl Fn(usize) -> (u32, u32), gain: impl Fn(usize) -> f64) -> Trials {
        let layout = Layout {
            channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(),
            samples: 60,
            rate_hz: 100.0,
            start_s: 0.0,
            classes: vec!["left".into(), "right".into()],
            task: Default::default(),
        };
        let golden = train();
        let x = golden.iter().enumerate().flat_map(|(m, t)| t.iter().map(move |&v| (m, v)));
        let x = x.map(|(m, v)| (gain(m) * v) as f32).collect();
        let info = |m: usize| {
            let (subject, session) = domain(m);
            Trial { label: m as u32 % 2, subject: SubjectId(subject), session, run: 1, cue_s: m as f64 }
        };
        Trials::new(layout, x, (0..golden.len()).map(info).collect()).unwrap()
    }

    fn moments(trials: &Trials, rows: &[usize]) -> Vec<DMatrix<f64>> {
        rows.iter().map(|&r| second_moment(trials.signal(r), 3)).collect()
    }

    #[test]
    fn euclidean_alignment_is_as_the_golden_numbers_say() {
        let golden: Vec<_> = train().iter().map(|x| second_moment(x, 3)).collect();
        let reference = spd::mean_euclid(&golden).unwrap();
        close(reference.diagonal().as_slice(), &[0.90544963559, 0.84484607912, 0.67341203382], 1e-11);
        close(
            &[reference[(0, 1)], reference[(0, 2)], reference[(1, 2)]],
            &[0.00523184149, -0.03687939289, 0.00423665317],
            1e-11,
        );
        let frame = spd::inverse_sqrt(&reference).unwrap();
        let trial = train().remove(0);
        let first = [0, 1, 2].map(|t| (0..3).map(|c| frame[(0, c)] * trial[c * 60 + t]).sum::<f64>());
        close(&first, &[1.46552903311, 1.45274945835, 1.35777657148], 1e-10);

        let mut trials = set(|_| (1, 1), |_| 1.0);
        Alignment::Euclidean.apply(&mut trials).unwrap();
        let aligned = [0, 1, 2].map(|t| f64::from(trials.signal(0)[t]));
        close(&aligned, &first, 2e-7); // trials are held in single precision
    }

    #[test]
    fn every_subject_has_mean_covariance_one_session_by_session() {
        // Two subjects, one of them with two sessions, with different gains.
        let domain = |m: usize| [(1, 1), (2, 1), (2, 2)][m / 4];
        let mut trials = set(domain, |m| [1.0, 30.0, 0.2][m / 4]);
        let mut other = trials.clone();
        Alignment::Euclidean.apply(&mut trials).unwrap();
        Alignment::Riemannian.apply(&mut other).unwrap();
        for rows in [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]] {
            let identity = DMatrix::<f64>::identity(3, 3);
            let mean = spd::mean_euclid(&moments(&trials, &rows)).unwrap();
            close(mean.as_slice(), identity.as_slice(), 1e-6);
            let mean = spd::karcher_mean(&moments(&other, &rows)).unwrap();
            close(mean.as_slice(), identity.as_slice(), 1e-6);
        }
    }

    #[test]
    fn twice_is_once_and_labels_are_not_read() {
        for alignment in [Alignment::None, Alignment::Euclidean, Alignment::Riemannian] {
            let mut once = set(|m| (m as u32 / 6, 1), |_| 12.0);
            let mut other = once.relabelled(&[0; 12]).unwrap();
            alignment.apply(&mut once).unwrap();
            alignment.apply(&mut other).unwrap();
            assert_eq!(once.to_vec(), other.to_vec());
            let mut twice = once.clone();
            alignment.apply(&mut twice).unwrap();
            let wide = |t: &Trials| t.to_vec().iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            close(&wide(&twice), &wide(&once), 1e-5 * 3.0);
        }
    }

    #[test]
    fn an_average_reference_is_aligned_in_what_it_leaves() {
        let mut trials = set(|_| (1, 1), |_| 20.0);
        for row in 0..12 {
            let signal = trials.signal_mut(row);
            for t in 0..60 {
                let mean = (signal[t] + signal[60 + t] + signal[120 + t]) / 3.0;
                [0, 60, 120].iter().for_each(|at| signal[at + t] -= mean);
            }
        }
        let rows: Vec<usize> = (0..12).collect();
        // All but the common direction has a power of 1.
        let expected = DMatrix::<f64>::identity(3, 3).add_scalar(-1.0 / 3.0);
        let mut other = trials.clone();
        Alignment::Euclidean.apply(&mut trials).unwrap();
        let mean = spd::mean_euclid(&moments(&trials, &rows)).unwrap();
        close(mean.as_slice(), expected.as_slice(), 1e-6);
        Alignment::Riemannian.apply(&mut other).unwrap();
        let mean = spd::karcher_mean(&without_reference(moments(&other, &rows))).unwrap();
        // The added direction has the mean power of the others in each trial, so it is near 1 and not 1.
        let apart = DMatrix::from_fn(3, 2, |i, j| [[1.0, 0.5], [-1.0, 0.5], [0.0, -1.0]][i][j]);
        let inside = apart.transpose() * mean * &apart;
        close(inside.as_slice(), &[2.0, 0.0, 0.0, 1.5], 1e-5);
    }

    const STREAMS: [Alignment; 2] = [Alignment::EuclideanStream, Alignment::RiemannianStream];

    #[test]
    fn later_trials_never_change_earlier_ones() {
        for alignment in STREAMS {
            assert_eq!(alignment.target_access(), TargetAccess::Stream);
            let mut plain = set(|_| (1, 1), |_| 1.0);
            let mut other = set(|_| (1, 1), |m| if m < 7 { 1.0 } else { 50.0 + m as f64 });
            alignment.apply(&mut plain).unwrap();
            alignment.apply(&mut other).unwrap();
            for row in 0..7 {
                assert_eq!(plain.signal(row), other.signal(row), "{alignment:?} {row}");
            }
            assert_ne!(plain.signal(7), other.signal(7));
        }
    }

    /// Trial n with the mean of the trials up to n, whatever order they come in.
    #[test]
    fn a_stream_is_the_mean_so_far() {
        let plain = set(|_| (1, 1), |m| 1.0 + m as f64);
        let order: Vec<usize> = (0..12).rev().collect();
        let info: Vec<Trial> = order.iter().map(|&m| plain.info()[m]).collect();
        let x = order.iter().flat_map(|&m| plain.signal(m).to_vec()).collect();
        let mut turned = Trials::new(plain.layout().clone(), x, info).unwrap();
        Alignment::EuclideanStream.apply(&mut turned).unwrap();
        for n in 0..12 {
            let so_far = moments(&plain, &(0..=n).collect::<Vec<_>>());
            let frame = spd::inverse_sqrt(&spd::mean_euclid(&so_far).unwrap()).unwrap();
            let mut own = plain.signal(n).to_vec();
            transform(&frame, &mut own);
            let wide = |x: &[f32]| x.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            close(&wide(turned.signal(11 - n)), &wide(&own), 1e-6);
        }
    }

    #[test]
    fn a_stream_ends_at_the_whole() {
        let plain = set(|_| (1, 1), |_| 1.0);
        let (mut whole, mut stream) = (plain.clone(), plain.clone());
        Alignment::Euclidean.apply(&mut whole).unwrap();
        Alignment::EuclideanStream.apply(&mut stream).unwrap();
        let wide = |x: &[f32]| x.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        close(&wide(stream.signal(11)), &wide(whole.signal(11)), 1e-6);
        // Of two the way's middle is their Karcher mean; of many the way comes near it.
        let all = moments(&plain, &(0..12).collect::<Vec<_>>());
        let two = spd::karcher_mean(&all[..2]).unwrap();
        close(spd::geodesic(&all[0], &all[1], 0.5).unwrap().as_slice(), two.as_slice(), 1e-9);
        let far = |times: usize| {
            let mut mean = all[0].clone();
            for n in 2..=12 * times {
                mean = spd::geodesic(&mean, &all[(n - 1) % 12], 1.0 / n as f64).unwrap();
            }
            spd::distance(&mean, &spd::karcher_mean(&all).unwrap()).unwrap()
        };
        assert!(far(1) < 0.1 && far(20) < 0.1 * far(1), "{} {}", far(1), far(20));
    }

    #[test]
    fn an_average_reference_can_be_streamed() {
        let mut trials = set(|_| (1, 1), |_| 20.0);
        for row in 0..12 {
            let signal = trials.signal_mut(row);
            for t in 0..60 {
                let mean = (signal[t] + signal[60 + t] + signal[120 + t]) / 3.0;
                [0, 60, 120].iter().for_each(|at| signal[at + t] -= mean);
            }
        }
        for alignment in STREAMS {
            let mut own = trials.clone();
            alignment.apply(&mut own).unwrap();
            assert!(own.to_vec().iter().all(|v| v.is_finite() && v.abs() < 20.0), "{alignment:?}");
        }
    }

    #[test]
    fn lost_rank_says_whose_and_leaves_all_as_it_was() {
        let mut trials = set(|m| (m as u32 / 6 + 1, 1), |_| 1.0);
        for row in 6..12 {
            let signal = trials.signal_mut(row);
            signal.copy_within(0..60, 60); // two channels alike
        }
        let before = trials.clone();
        for alignment in [Alignment::Euclidean, Alignment::Riemannian].into_iter().chain(STREAMS) {
            let error = alignment.apply(&mut trials).unwrap_err();
            assert!(
                error.to_string().contains("S02, session 1") && error.to_string().contains("rank 2 of 3")
            );
            assert!(error.hint().unwrap().contains("average reference"));
            assert_eq!(trials, before);
        }
    }
}

//! Whether a mask agrees with what is known, and how surprising that is.

use ptsm_signal::{Channel, Position};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::ranks::rank_correlation;

/// How well two rankings agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// Spearman's rank correlation; not a number where a side is constant.
    pub rank_correlation: f64,
    /// How likely chance agrees as well: the share, itself counted, of null maps that agree at least as much. Not a number where the correlation is not.
    pub p: f64,
    /// Rank correlations of the null maps. Not written: a thousand of them say no more than `p`.
    #[serde(skip)]
    pub null: Vec<f64>,
}

/// Agreement of two maps over channels. Channels in which either is not a number are left out.
///
/// Neighbouring channels resemble each other, so that shuffled ones would make any smooth map surprising. The null turns the head at random instead
/// and gives each channel the value of the electrode that comes nearest (Alexander-Bloch et al. 2018, doi:10.1016/j.neuroimage.2018.05.070): neighbours stay
/// neighbours. Where a channel has no place, channels are shuffled.
pub fn agreement(values: &[f64], known: &[f64], channels: &[Channel], times: usize, seed: u64) -> Agreement {
    let rows = values.iter().zip(known).zip(channels).filter(|((v, k), _)| !v.is_nan() && !k.is_nan());
    let (mut own, mut other, mut places) = (vec![], vec![], vec![]);
    for ((v, k), channel) in rows {
        own.push(*v);
        other.push(*k);
        places.push(channel.position);
    }
    let places: Option<Vec<Position>> = places.into_iter().collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    against(&own, &other, times, &mut |map| match &places {
        Some(places) => {
            let turned = rotate_head(places, &mut rng);
            turned.iter().map(|&from| map[from]).collect()
        }
        None => {
            let mut map = map.to_vec();
            map.shuffle(&mut rng);
            map
        }
    })
}

/// Agreement of two courses over time. The null moves one of them in time, what leaves at the end coming in at the beginning: neighbours stay
/// neighbours.
pub fn agreement_in_time(values: &[f64], known: &[f64], times: usize, seed: u64) -> Agreement {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    against(values, known, times, &mut |course| {
        let mut course = course.to_vec();
        if course.len() > 1 {
            let by = rng.random_range(1..course.len());
            course.rotate_right(by);
        }
        course
    })
}

fn against(own: &[f64], known: &[f64], times: usize, null: &mut dyn FnMut(&[f64]) -> Vec<f64>) -> Agreement {
    let found = rank_correlation(own, known);
    // A null map may be constant: it agrees with nothing.
    let mut agrees = || Some(rank_correlation(&null(own), known)).filter(|r| !r.is_nan()).unwrap_or(0.0);
    let null: Vec<f64> = (0..times).map(|_| agrees()).collect();
    let as_well = null.iter().filter(|r| **r >= found - 1e-12).count();
    let p = if found.is_nan() { f64::NAN } else { (1 + as_well) as f64 / (1 + times) as f64 };
    Agreement { rank_correlation: found, p, null }
}

/// For each channel the one that comes nearest to it when the head is turned at random.
pub fn rotate_head(places: &[Position], rng: &mut ChaCha8Rng) -> Vec<usize> {
    let [a, b] = [0, 1].map(|_| direction(rng));
    // Gram and Schmidt; two random directions are never the same.
    let along = dot(a, b);
    let b = unit([0, 1, 2].map(|i| b[i] - along * a[i]));
    let c = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let turn = |p: &Position| {
        let p = [p.x, p.y, p.z];
        Position { x: dot(a, p), y: dot(b, p), z: dot(c, p) }
    };
    let moved: Vec<Position> = places.iter().map(turn).collect();
    let nearest = |p: &Position| {
        let distance = |i: &usize| moved[*i].distance(*p);
        (0..moved.len()).min_by(|i, j| distance(i).total_cmp(&distance(j))).unwrap_or(0)
    };
    places.iter().map(nearest).collect()
}

/// Every direction is as likely.
fn direction(rng: &mut ChaCha8Rng) -> [f64; 3] {
    unit([0, 1, 2].map(|_| StandardNormal.sample(rng)))
}

fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = dot(v, v).sqrt();
    v.map(|x| x / length)
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::{Region, region};

    fn cap() -> Vec<Channel> {
        let names =
            "Fp1 Fp2 F7 F3 Fz F4 F8 FC5 FC1 FC2 FC6 T7 C3 Cz C4 T8 CP5 CP1 CP2 CP6 P7 P3 Pz P4 P8 O1 Oz O2";
        names.split(' ').map(Channel::named).collect()
    }

    #[test]
    fn a_map_agrees_with_itself_and_not_with_another() {
        let cap = cap();
        let [central, parietal] = [Region::Central, Region::Parietal].map(|r| region(&cap, r));
        let same = agreement(&central, &central, &cap, 200, 1);
        assert!((same.rank_correlation - 1.0).abs() < 1e-12 && same.p < 0.02, "{}", same.p);
        assert_eq!(same, agreement(&central, &central, &cap, 200, 1));
        let frontal: Vec<f64> = cap.iter().map(|c| c.position.unwrap().y).collect();
        assert!(agreement(&parietal, &frontal, &cap, 200, 1).p > 0.5);
        assert!(agreement(&vec![1.0; cap.len()], &central, &cap, 10, 1).p.is_nan());
    }

    #[test]
    fn smooth_maps_surprise_less_than_shuffled_channels_say() {
        let cap = cap();
        let along = |f: fn(Position) -> f64| cap.iter().map(|c| f(c.position.unwrap())).collect::<Vec<_>>();
        let (left, askew) = (along(|p| p.x), along(|p| p.x + 1.2 * p.y));
        let turned = agreement(&askew, &left, &cap, 400, 1);
        let nowhere: Vec<Channel> = cap.iter().map(|c| Channel { position: None, ..c.clone() }).collect();
        let shuffled = agreement(&askew, &left, &nowhere, 400, 1);
        assert_eq!(turned.rank_correlation, shuffled.rank_correlation);
        assert!(shuffled.p < 0.01 && turned.p > 0.1, "{} {}", shuffled.p, turned.p);
    }

    #[test]
    fn channels_without_a_number_are_left_out() {
        let cap = cap();
        let mut central = region(&cap, Region::Central);
        central[3] = f64::NAN;
        assert!((agreement(&central, &central, &cap, 10, 1).rank_correlation - 1.0).abs() < 1e-12);
    }

    #[test]
    fn courses_are_moved_in_time() {
        let bump =
            |at: f64| (0..100).map(|t| (-((f64::from(t) - at) / 8.0).powi(2)).exp()).collect::<Vec<_>>();
        let near = agreement_in_time(&bump(42.0), &bump(40.0), 200, 1);
        let far = agreement_in_time(&bump(90.0), &bump(40.0), 200, 1);
        assert!(near.p < 0.1 && far.p > 0.5, "{} {}", near.p, far.p);
    }
}

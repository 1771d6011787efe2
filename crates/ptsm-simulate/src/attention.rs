//! Listening to one of two talkers: the auditory cortices follow both envelopes, each cortex mainly that of the opposite
//! side, and the attended talker more than the other; parietal alpha is weaker opposite to the attended side.
//!
//! The envelopes themselves are not part of the recording, so a decoder has to do with how strongly each side follows.

use crate::activity::{Activity, TaskSite};
use crate::anatomy::Site;
use crate::noise::wander;
use crate::random::{Purpose, Streams, attended, normal};
use crate::schedule::CueSchedule;

/// How strongly the auditory cortex follows the talker of the other side, as a deviation in nAm.
const TRACKING_NAM: f64 = 12.0;
/// How strongly the cortex of a talker's own side follows, against the opposite one.
const SAME_SIDE: f64 = 0.55;
/// How much more an attended talker is followed, and an ignored one less, at effect 1.
const ATTENDED: f64 = 0.28;
/// How much parietal alpha changes, up on the attended side and down on the other, at effect 1.
const ALPHA: f64 = 0.16;
/// Share of trials in which neither talker is attended.
const LAPSES: f64 = 0.12;
/// When attention has settled, in seconds after the cue.
const SETTLED_S: f64 = 0.5;
const SETTLING_S: f64 = 0.12;
const END_S: f64 = 5.0;

/// The auditory cortices follow the attended talker of the other side; parietal alpha is weaker on the other side.
pub(crate) fn carriers() -> [TaskSite; 4] {
    // (1 + h)^2 - (1 - h)^2 = 4 h; what follows from the same side goes the other way.
    let follow = TRACKING_NAM.powi(2) * 4.0 * ATTENDED * (1.0 - SAME_SIDE.powi(2));
    let lean = |site: Site| site.rhythm_nam().powi(2) * 4.0 * ALPHA;
    [
        TaskSite { site: Site::AuditoryLeft, difference: follow },
        TaskSite { site: Site::AuditoryRight, difference: -follow },
        TaskSite { site: Site::ParietalAlphaLeft, difference: -lean(Site::ParietalAlphaLeft) },
        TaskSite { site: Site::ParietalAlphaRight, difference: lean(Site::ParietalAlphaRight) },
    ]
}

/// How much of attention is there, 0 to 1, at a time after the cue.
pub(crate) fn profile(time_s: f64) -> f64 {
    let rise = |at: f64| 1.0 / (1.0 + (-(time_s - at) / SETTLING_S).exp());
    rise(SETTLED_S) * (1.0 - rise(END_S))
}

/// A talker's envelope: phrases and syllables, squashed to be positive and bursty.
fn envelope(length: usize, rate_hz: f64, streams: &Streams, talker: usize) -> Vec<f32> {
    let random = &mut streams.stream(Purpose::Task, 1 + talker);
    let phrases = wander(length, rate_hz, 0.4, random);
    let syllables = wander(length, rate_hz, 0.05, random);
    phrases.iter().zip(&syllables).map(|(p, s)| (0.6 * p + 0.8 * s).exp()).collect()
}

/// What the cortex makes of an envelope: P1, N1 and P2, at 50, 100 and 190 ms; with mean 0 and deviation 1.
fn response(envelope: &[f32], rate_hz: f64) -> Vec<f32> {
    let taps: Vec<f32> = (0..(0.3 * rate_hz) as usize)
        .map(|t| {
            let at = |peak: f64, width: f64| (-0.5 * ((t as f64 / rate_hz - peak) / width).powi(2)).exp();
            (0.5 * at(0.05, 0.012) - at(0.10, 0.02) + 0.8 * at(0.19, 0.03)) as f32
        })
        .collect();
    let mut response: Vec<f32> = (0..envelope.len())
        .map(|t| taps.iter().zip(envelope[..=t].iter().rev()).map(|(tap, value)| tap * value).sum())
        .collect();
    let length = response.len() as f32;
    let mean = response.iter().sum::<f32>() / length;
    let deviation = (response.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / length).sqrt();
    response.iter_mut().for_each(|v| *v = (*v - mean) / deviation);
    response
}

/// Lets the auditory cortices follow and parietal alpha lean.
pub(crate) fn act(
    activity: &mut Activity,
    schedule: &CueSchedule,
    rate_hz: f64,
    effect: f64,
    streams: &Streams,
) {
    let random = &mut streams.stream(Purpose::Task, 0);
    let length = schedule.length;
    // +1 while the left talker is attended, -1 while the right one is, 0 between trials.
    let mut side = vec![0.0_f32; length];
    for cue in &schedule.cues {
        let trial = (1.0 + 0.4 * normal(random)).clamp(0.0, 2.0) * attended(random, LAPSES);
        let sign = if cue.class == 0 { trial } else { -trial };
        let window = ((END_S + 1.0) * rate_hz) as usize;
        for (t, value) in side[cue.sample..].iter_mut().take(window).enumerate() {
            *value += (sign * profile(t as f64 / rate_hz)) as f32;
        }
    }
    let effect = effect as f32;
    for talker in 0..2 {
        let followed = response(&envelope(length, rate_hz, streams, talker), rate_hz);
        let sign = if talker == 0 { 1.0 } else { -1.0 };
        for site in [Site::AuditoryLeft, Site::AuditoryRight] {
            let opposite = (talker == 0) == (site == Site::AuditoryRight);
            let weight = (TRACKING_NAM * if opposite { 1.0 } else { SAME_SIDE }) as f32;
            let course = activity.evoked(site);
            for ((value, followed), side) in course.iter_mut().zip(&followed).zip(&side) {
                let attention = 1.0 + ATTENDED as f32 * effect * sign * side;
                *value += weight * attention.max(0.0) * followed;
            }
        }
    }
    for (site, sign) in [(Site::ParietalAlphaLeft, 1.0), (Site::ParietalAlphaRight, -1.0)] {
        for (value, side) in activity.gain(site).iter_mut().zip(&side) {
            *value *= (1.0 + ALPHA as f32 * effect * sign * side).max(0.1);
        }
    }
}

//! Listening to one of two talkers: the auditory cortices follow both envelopes, each cortex mainly that of the opposite
//! side, and the attended talker more than the other; parietal alpha is weaker opposite to the attended side.
//!
//! The envelopes themselves are not part of the recording, so a decoder has to do with how strongly each side follows.

use rand::RngExt;

use super::anatomy::Site;
use super::mix::Activity;
use super::noise::wander;
use super::random::{Purpose, Streams, normal};
use super::schedule::Schedule;

/// How strongly the auditory cortex follows, in nAm per deviation of the envelope.
const TRACKING: f64 = 120.0;
/// How strongly the cortex of a talker's own side follows, against the opposite one.
const SAME_SIDE: f64 = 0.55;
/// How much less an ignored talker is followed at effect 1.
const IGNORED: f64 = 0.50;
/// How much parietal alpha changes, up on the attended side and down on the other, at effect 1.
const ALPHA: f64 = 0.22;
/// When attention has settled, in seconds after the cue.
const SETTLED_S: f64 = 0.5;
const SETTLING_S: f64 = 0.12;
const END_S: f64 = 5.0;

/// Where the task is: sites with how much their power depends on the class, in nAm squared. Plus is more for the second
/// class, the right talker.
pub(super) const SITES: [(Site, f64); 4] = [
    (Site::AuditoryLeft, 1.0),
    (Site::AuditoryRight, -1.0),
    (Site::ParietalAlphaLeft, -1.0),
    (Site::ParietalAlphaRight, 1.0),
];

/// How much of attention is there, 0 to 1, at a time after the cue.
pub(super) fn profile(time_s: f64) -> f64 {
    let rise = |at: f64| 1.0 / (1.0 + (-(time_s - at) / SETTLING_S).exp());
    rise(SETTLED_S) * (1.0 - rise(END_S))
}

/// A talker's envelope: slow wander through syllables, squashed to be positive and bursty, around 0 with deviation 1.
fn envelope(length: usize, rate_hz: f64, streams: &Streams, talker: usize) -> Vec<f32> {
    let random = &mut streams.stream(Purpose::Task, 10 + talker);
    let phrase = wander(length, rate_hz, 0.4, random);
    let syllable = wander(length, rate_hz, 0.05, random);
    let raw: Vec<f32> = phrase.iter().zip(&syllable).map(|(p, s)| (0.6 * p + 0.8 * s).exp()).collect();
    let mean = raw.iter().sum::<f32>() / length as f32;
    let variance = raw.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / length as f32;
    raw.iter().map(|v| (v - mean) / variance.sqrt()).collect()
}

/// What the cortex makes of an envelope: P1, N1 and P2, at 50, 100 and 190 ms.
fn response(envelope: &[f32], rate_hz: f64) -> Vec<f32> {
    let taps: Vec<f32> = (0..(0.3 * rate_hz) as usize)
        .map(|t| {
            let at = |peak: f64, width: f64| (-0.5 * ((t as f64 / rate_hz - peak) / width).powi(2)).exp();
            (0.5 * at(0.05, 0.012) - at(0.10, 0.02) + 0.8 * at(0.19, 0.03)) as f32
        })
        .collect();
    let norm = taps.iter().map(|v| v.abs()).sum::<f32>();
    (0..envelope.len())
        .map(|t| {
            taps.iter().zip(envelope[..=t].iter().rev()).map(|(tap, value)| tap * value).sum::<f32>() / norm
        })
        .collect()
}

/// Lets the auditory cortices follow and parietal alpha lean.
pub(super) fn act(
    activity: &mut Activity,
    schedule: &Schedule,
    rate_hz: f64,
    effect: f64,
    streams: &Streams,
) {
    let random = &mut streams.stream(Purpose::Task, 0);
    let length = schedule.length;
    // +1 while the left talker is attended, -1 while the right one is, 0 between trials.
    let mut side = vec![0.0_f32; length];
    for cue in &schedule.cues {
        let trial =
            (1.0 + 0.4 * normal(random)).clamp(0.0, 2.0) * if random.random_bool(0.05) { 0.0 } else { 1.0 };
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
            let weight = (TRACKING * if opposite { 1.0 } else { SAME_SIDE }) as f32;
            let course = activity.evoked(site);
            for ((value, followed), side) in course.iter_mut().zip(&followed).zip(&side) {
                // Halfway between attended and ignored while nobody is attended.
                let attention = 1.0 + 0.5 * IGNORED as f32 * effect * sign * side;
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

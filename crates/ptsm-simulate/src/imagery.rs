//! Imagined hand movement: mu and beta over the hand areas weaken, more so on the side opposite to the hand.
//!
//! Both sides weaken somewhat whatever the hand (there is no class in that); the side opposite to the hand weakens further, by
//! the subject's effect times a factor of the trial's own, since nobody imagines equally well each time. What a decoder can
//! know is thus in band power, never in phase.

use crate::activity::{Activity, TaskSite};
use crate::anatomy::Site;
use crate::random::{Purpose, Streams, attended, normal};
use crate::schedule::CueSchedule;

/// How much both sides weaken, as a share of amplitude.
const COMMON: f64 = 0.15;
/// How much further the side opposite to the hand weakens in an average subject, mu and beta.
const MU_DEPTH: f64 = 0.38;
const BETA_DEPTH: f64 = 0.30;
/// Each site, the class of the opposite hand, and how much further it weakens with that hand.
const HANDS: [(Site, usize, f64); 4] = [
    (Site::HandMuLeft, 1, MU_DEPTH),
    (Site::HandMuRight, 0, MU_DEPTH),
    (Site::HandBetaLeft, 1, BETA_DEPTH),
    (Site::HandBetaRight, 0, BETA_DEPTH),
];
/// Share of trials in which nothing is imagined. It keeps every decoder from being right always.
const LAPSES: f64 = 0.12;
/// No rhythm falls below this share.
const FLOOR: f64 = 0.08;
/// When, in seconds after the cue, weakening is half there and half gone, and how gradually both go.
const BEGIN_S: f64 = 0.55;
const END_S: f64 = 3.6;
const BEGIN_WIDTH_S: f64 = 0.10;
const END_WIDTH_S: f64 = 0.15;

/// The hand areas; the rhythm's power falls with the opposite hand.
pub(crate) fn carriers() -> [TaskSite; 4] {
    HANDS.map(|(site, hand, depth)| {
        let power = site.rhythm_nam().powi(2) * ((1.0 - COMMON).powi(2) - (1.0 - COMMON - depth).powi(2));
        TaskSite { site, difference: if hand == 1 { -power } else { power } }
    })
}

/// How much of the weakening is there, 0 to 1, at a time after the cue.
pub(crate) fn profile(time_s: f64) -> f64 {
    let rise = |at: f64, width: f64| 1.0 / (1.0 + (-(time_s - at) / width).exp());
    rise(BEGIN_S, BEGIN_WIDTH_S) * (1.0 - rise(END_S, END_WIDTH_S))
}

/// Weakens the hand areas' rhythms trial by trial.
pub(crate) fn act(
    activity: &mut Activity,
    schedule: &CueSchedule,
    rate_hz: f64,
    effect: f64,
    streams: &Streams,
) {
    let random = &mut streams.stream(Purpose::Task, 0);
    let shape: Vec<f64> = (0..(4.6 * rate_hz) as usize).map(|t| profile(t as f64 / rate_hz)).collect();
    for cue in &schedule.cues {
        let common = COMMON * (1.0 + 0.3 * normal(random));
        let trial = (1.0 + 0.45 * normal(random)).clamp(0.0, 2.0) * attended(random, LAPSES);
        for (site, hand, depth) in HANDS {
            let own = if cue.class == hand { depth * effect * trial } else { 0.0 };
            let gain = activity.gain(site);
            for (value, shape) in gain[cue.sample..].iter_mut().zip(&shape) {
                *value *= (1.0 - shape * (common + own)).max(FLOOR) as f32;
            }
        }
    }
}

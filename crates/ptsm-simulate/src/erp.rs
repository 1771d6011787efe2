//! Evoked responses: every stimulus has an N1 and a P2, a target a P300 besides. Stimuli come every 0.2 to 0.3 s, so
//! responses overlap. Latency and height vary with subject and trial.

use crate::activity::{Activity, TaskSite};
use crate::anatomy::Site;
use crate::random::{Purpose, Streams, attended, factor, normal};
use crate::schedule::CueSchedule;
use crate::subject::SimulatedSubject;

/// When the P300 is highest in an average subject, and how wide it is, in seconds.
const P3_S: f64 = 0.37;
const P3_WIDTH_S: f64 = 0.075;
/// How much latencies vary from trial to trial.
const JITTER_S: f64 = 0.03;
/// Share of targets that are missed.
const LAPSES: f64 = 0.08;

/// Where the P300 is: sites with heights in nAm at effect 1.
const P3: [(Site, f64); 3] =
    [(Site::ParietalP3, 33.0), (Site::TemporalP3Left, 13.0), (Site::TemporalP3Right, 13.0)];

/// N1 and P2 of every stimulus: site, height in nAm, latency, width.
const COMMON: [(Site, f64, f64, f64); 6] = [
    (Site::VisualLeft, -14.0, 0.16, 0.025),
    (Site::VisualRight, -15.0, 0.16, 0.025),
    (Site::VisualLeft, 9.0, 0.23, 0.035),
    (Site::VisualRight, 9.0, 0.23, 0.035),
    (Site::OccipitalAlphaLeft, 9.0, 0.10, 0.018),
    (Site::OccipitalAlphaRight, 9.0, 0.10, 0.018),
];

/// The sites of the P300.
pub(crate) fn carriers() -> [TaskSite; 3] {
    P3.map(|(site, difference)| TaskSite { site, difference })
}

/// How much of the P300 is there, 0 to 1, at a time after the stimulus, in somebody this late.
pub(crate) fn profile(time_s: f64, delay_s: f64) -> f64 {
    bump(time_s, P3_S + delay_s, P3_WIDTH_S)
}

/// When the P300 is highest in a subject.
pub(crate) fn latency_s(subject: &SimulatedSubject) -> f64 {
    P3_S + subject.delay_s
}

fn bump(time_s: f64, at_s: f64, width_s: f64) -> f64 {
    // Rises faster than it falls, as responses do.
    let width = if time_s < at_s { width_s } else { 1.4 * width_s };
    (-0.5 * ((time_s - at_s) / width).powi(2)).exp()
}

/// Adds the responses to all stimuli of a run.
pub(crate) fn act(
    activity: &mut Activity,
    schedule: &CueSchedule,
    rate_hz: f64,
    effect: f64,
    subject: &SimulatedSubject,
    streams: &Streams,
) {
    let random = &mut streams.stream(Purpose::Task, 0);
    let window = rate_hz.ceil() as usize;
    for cue in &schedule.cues {
        let early = 0.3 * (subject.delay_s + JITTER_S * normal(random));
        let height = factor(random, 0.25);
        let late = JITTER_S * normal(random);
        let target_height = factor(random, 0.3) * attended(random, LAPSES);
        for (site, moment, at_s, width_s) in COMMON {
            let scale = moment * height;
            add(activity, site, cue.sample, window, |t| {
                scale * bump(t as f64 / rate_hz, at_s + early, width_s)
            });
        }
        if cue.class == 1 {
            for (site, moment) in P3 {
                let scale = moment * effect * target_height;
                add(activity, site, cue.sample, window, |t| {
                    scale * profile(t as f64 / rate_hz, subject.delay_s + late)
                });
            }
        }
    }
}

fn add(activity: &mut Activity, site: Site, from: usize, window: usize, course: impl Fn(usize) -> f64) {
    for (t, value) in activity.evoked(site)[from..].iter_mut().take(window).enumerate() {
        *value += course(t) as f32;
    }
}

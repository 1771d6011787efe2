//! What is not brain: blinks and eye movements, muscles, mains, drifting and popping electrodes, amplifier noise.

use nalgebra::Vector3;
use rand::RngExt;

use crate::activity::BrainSource;
use crate::cohort::Cohort;
use crate::noise::wander;
use crate::random::{Purpose, Streams, factor, normal, poisson_times};
use crate::subject::{SimulatedSession, SimulatedSubject};

/// Where the eyes are, in head radii: in front of the brain and below it.
const EYES: [[f64; 3]; 2] = [[-0.34, 1.02, -0.32], [0.34, 1.02, -0.32]];
/// How large an eye is.
const EYE_SIZE: f64 = 0.2;
/// Where the lids' part of the eyes' dipoles points while they close.
const LIDS: [f64; 3] = [0.0, 0.25, 1.0];
/// Muscles near the cap: temples, jaws and neck.
const MUSCLES: [[f64; 3]; 6] = [
    [-0.86, 0.42, -0.28],
    [0.86, 0.42, -0.28],
    [-0.98, -0.05, -0.20],
    [0.98, -0.05, -0.20],
    [-0.50, -0.80, -0.33],
    [0.50, -0.80, -0.33],
];
/// How far muscles are felt, in head radii.
const MUSCLE_REACH: f64 = 0.40;
/// Amplifier and electrode noise in microvolts.
const SENSOR_UV: f64 = 0.8;
/// Slow drift of an electrode in microvolts, and its time.
const DRIFT_UV: f64 = 12.0;
const DRIFT_S: f64 = 8.0;
const DRIFT_RATE_HZ: f64 = 8.0;

/// Blinks, movements of the eyes, and each muscle.
pub(crate) const SOURCES: usize = 2 + MUSCLES.len();

/// Eyes and muscles, as sources with their places on the scalp.
pub(crate) fn sources(
    cohort: &Cohort,
    subject_model: &SimulatedSubject,
    session: &SimulatedSession,
    streams: &Streams,
    length: usize,
) -> Vec<BrainSource> {
    if cohort.artifacts == 0.0 {
        return Vec::new();
    }
    // Microvolts at the forehead, where blinks are measured.
    let unit = eye_potential(LIDS.into(), &Vector3::new(-0.29, 0.96, -0.06));
    let topography = |direction: Vector3<f64>| -> Vec<f32> {
        session.electrodes.iter().map(|e| (eye_potential(direction, e) / unit) as f32).collect()
    };
    let mut all = vec![
        BrainSource {
            topography: topography(LIDS.into()),
            course: blinks(cohort, subject_model, streams, length),
        },
        BrainSource { topography: topography(Vector3::x()), course: saccades(cohort, streams, length) },
    ];
    for (m, &muscle) in MUSCLES.iter().enumerate() {
        let topography = session
            .electrodes
            .iter()
            .map(|e| (-0.5 * ((e - Vector3::from(muscle)).norm() / MUSCLE_REACH).powi(2)).exp() as f32)
            .collect();
        all.push(BrainSource {
            topography,
            course: muscle_course(cohort, subject_model, streams, length, m),
        });
    }
    all
}

/// The potential of two eyes whose dipoles point somewhere, up to a factor. The eyes lie outside of the head's spheres, so
/// theirs is the field in a wide conductor; it is flattened near the eye, which is no point.
fn eye_potential(direction: Vector3<f64>, place: &Vector3<f64>) -> f64 {
    EYES.iter()
        .map(|&eye| {
            let apart = place - Vector3::from(eye);
            direction.dot(&apart) / (apart.norm_squared() + EYE_SIZE * EYE_SIZE).powf(1.5)
        })
        .sum()
}

/// The lid goes down within 0.1 s and comes up within 0.3 s.
fn blinks(cohort: &Cohort, subject_model: &SimulatedSubject, streams: &Streams, length: usize) -> Vec<f32> {
    let random = &mut streams.stream(Purpose::Artifact, 0);
    let rate = cohort.rate_hz;
    let mut course = vec![0.0; length];
    let mut open_s = 0.0;
    for at_s in poisson_times(random, subject_model.blinks_hz * cohort.artifacts, length as f64 / rate) {
        let height = subject_model.blink_uv * factor(random, 0.2);
        let rise_s = 0.10 * factor(random, 0.15);
        // No blink while the lid is still coming up.
        if at_s < open_s {
            continue;
        }
        open_s = at_s + 0.5;
        for (t, value) in course[(at_s * rate) as usize..].iter_mut().take((0.7 * rate) as usize).enumerate()
        {
            let phase = t as f64 / rate / rise_s;
            *value += (height * (phase * (1.0 - phase).exp()).powi(3)) as f32;
        }
    }
    course
}

/// Jumps of the eyes to the side and back again.
fn saccades(cohort: &Cohort, streams: &Streams, length: usize) -> Vec<f32> {
    let random = &mut streams.stream(Purpose::Artifact, 1);
    let rate = cohort.rate_hz;
    let mut course = vec![0.0; length];
    for at_s in poisson_times(random, 0.10 * cohort.artifacts, length as f64 / rate) {
        let height = 25.0 * normal(random);
        let lasts_s = random.random_range(0.15..0.6);
        for value in course[(at_s * rate) as usize..].iter_mut().take((lasts_s * rate) as usize) {
            *value += height as f32;
        }
    }
    // An eye takes some 30 ms to turn.
    let keep = (-1.0 / (0.012 * rate)).exp() as f32;
    let mut state = 0.0;
    for value in &mut course {
        state = keep * state + (1.0 - keep) * *value;
        *value = state;
    }
    course
}

/// White noise without what lies below 20 Hz: a little always, much in bursts.
fn muscle_course(
    cohort: &Cohort,
    subject_model: &SimulatedSubject,
    streams: &Streams,
    length: usize,
    muscle: usize,
) -> Vec<f32> {
    let random = &mut streams.stream(Purpose::Artifact, 2 + muscle);
    let rate = cohort.rate_hz;
    let tone = cohort.artifacts.min(1.0) * factor(random, 0.5);
    let mut envelope = vec![tone; length];
    for at_s in poisson_times(random, subject_model.bursts_hz * cohort.artifacts, length as f64 / rate) {
        let height = 15.0 * factor(random, 0.5);
        let lasts_s = random.random_range(0.3..1.5);
        let samples = (lasts_s * rate) as usize;
        for (t, value) in envelope[(at_s * rate) as usize..].iter_mut().take(samples).enumerate() {
            *value += height * (std::f64::consts::PI * t as f64 / samples as f64).sin();
        }
    }
    let keep = (-std::f64::consts::TAU * 20.0 / rate).exp();
    let (mut low, mut lower) = (0.0, 0.0);
    envelope
        .iter()
        .map(|envelope| {
            let white = normal(random);
            low = keep * low + (1.0 - keep) * white;
            let high = white - low;
            lower = keep * lower + (1.0 - keep) * high;
            (envelope * (high - lower)) as f32
        })
        .collect()
}

/// What each electrode adds of its own.
pub(crate) fn electrode(
    cohort: &Cohort,
    session: &SimulatedSession,
    streams: &Streams,
    channel: usize,
    samples: &mut [f32],
) {
    let random = &mut streams.stream(Purpose::Sensor, channel);
    let rate = cohort.rate_hz;
    let impedance = session.impedances[channel];
    let line = (cohort.line_uv * impedance * factor(random, 0.3)) as f32;
    let phase = random.random_range(0.0..std::f64::consts::TAU);
    let sensor = (SENSOR_UV * impedance.sqrt()) as f32;
    let length = samples.len();
    for value in samples.iter_mut() {
        *value += sensor * normal(random) as f32;
    }
    // Amplifiers keep out what lies above half their rate.
    if line > 0.0 && cohort.line_hz < 0.5 * rate {
        let (sine, cosine) = (std::f64::consts::TAU * cohort.line_hz / rate).sin_cos();
        let (mut im, mut re) = phase.sin_cos();
        for value in samples.iter_mut() {
            *value += line * re as f32;
            (re, im) = (cosine * re - sine * im, cosine * im + sine * re);
        }
    }
    if cohort.artifacts > 0.0 {
        let drift = (DRIFT_UV * impedance * cohort.artifacts.min(1.0)) as f32;
        // Drawn a few times a second and joined by lines: it is that slow.
        let every = (rate / DRIFT_RATE_HZ).round() as usize;
        let knots = wander(length / every + 2, DRIFT_RATE_HZ, DRIFT_S, random);
        for (segment, ends) in samples.chunks_mut(every).zip(knots.windows(2)) {
            for (t, value) in segment.iter_mut().enumerate() {
                *value += drift * (ends[0] + (ends[1] - ends[0]) * t as f32 / every as f32);
            }
        }
        // A loose electrode jumps and creeps back.
        let per_second = 0.002 * impedance * cohort.artifacts;
        for at_s in poisson_times(random, per_second, length as f64 / rate) {
            let height = 60.0 * normal(random);
            let keep = (-1.0 / (0.6 * rate)).exp();
            let mut left = height;
            for value in &mut samples[(at_s * rate) as usize..] {
                *value += left as f32;
                left *= keep;
                if left.abs() < 0.01 {
                    break;
                }
            }
        }
    }
}

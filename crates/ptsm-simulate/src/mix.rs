//! From what the cortex does to what the electrodes see.

use nalgebra::Vector3;
use ptsm_signal::{Event, SubjectId};

use crate::activity::{Activity, BrainSource, TaskSite};
use crate::anatomy::Site;
use crate::cohort::{Cohort, SimulatedTask};
use crate::head::{Dipole, Head};
use crate::noise::{ColouredNoise, rhythm};
use crate::random::{Purpose, Streams};
use crate::schedule::CueSchedule;
use crate::subject::{BACKGROUND_DIPOLES, SimulatedSession, SimulatedSubject};
use crate::{artifact, attention, erp, imagery};

/// The background's dipoles in nAm.
const BACKGROUND_NAM: f64 = 20.0;

/// Sources of one recording, at most.
pub(crate) const SOURCES: usize = artifact::SOURCES + Site::ALL.len() + BACKGROUND_DIPOLES;

/// The sites that carry a task.
pub(crate) fn carriers(task: SimulatedTask) -> Vec<TaskSite> {
    match task {
        SimulatedTask::Imagery => imagery::carriers().to_vec(),
        SimulatedTask::Erp => erp::carriers().to_vec(),
        SimulatedTask::Attention => attention::carriers().to_vec(),
    }
}

/// How a dipole appears at electrodes.
pub(crate) fn leadfield(head: &Head, dipole: &Dipole, electrodes: &[Vector3<f64>]) -> Vec<f64> {
    electrodes.iter().map(|e| head.potential(dipole, e)).collect()
}

/// One run: samples `[C, N]` in microvolts, and events.
pub(crate) fn record(
    cohort: &Cohort,
    nominal: &[Vector3<f64>],
    SubjectId(subject): SubjectId,
    session: u32,
    run: u32,
) -> (Vec<f32>, Vec<Event>) {
    let head = Head::adult();
    let streams = Streams { seed: cohort.seed, subject, session, run };
    let subject_model = SimulatedSubject::new(cohort, subject, &head);
    let state = SimulatedSession::new(cohort, &subject_model, nominal, subject, session);
    let schedule = CueSchedule::new(cohort, &streams);
    let length = schedule.length;
    let rate = cohort.rate_hz;

    let mut activity = Activity::new(length);
    let effect = subject_model.effect * state.effect;
    match cohort.task {
        SimulatedTask::Imagery => imagery::act(&mut activity, &schedule, rate, effect, &streams),
        SimulatedTask::Erp => erp::act(&mut activity, &schedule, rate, effect, &subject_model, &streams),
        SimulatedTask::Attention => attention::act(&mut activity, &schedule, rate, effect, &streams),
    }

    let of_task: Vec<Site> = carriers(cohort.task).iter().map(|c| c.site).collect();
    let mut sources = artifact::sources(cohort, &subject_model, &state, &streams, length);
    let appear = |dipole: &Dipole| -> Vec<f32> {
        leadfield(&head, dipole, &state.electrodes).into_iter().map(|v| v as f32).collect()
    };
    for site in Site::ALL {
        let s = site as usize;
        let mut course = vec![0.0; length];
        if let Some(kind) = site.rhythm() {
            let (moment, bandwidth) = (site.rhythm_nam(), kind.bandwidth_hz());
            // What carries the task does not grow with the background.
            let others = if of_task.contains(&site) { 1.0 } else { cohort.background };
            let scale = (moment * others) as f32;
            let random = &mut streams.stream(Purpose::Rhythm, s);
            course = rhythm(length, rate, subject_model.frequency_hz(kind), bandwidth, random);
            course.iter_mut().for_each(|v| *v *= scale);
            if let Some(gain) = &activity.gains[s] {
                course.iter_mut().zip(gain).for_each(|(v, g)| *v *= g);
            }
        }
        if let Some(evoked) = &activity.evoked[s] {
            course.iter_mut().zip(evoked).for_each(|(v, e)| *v += e);
        }
        let amplitude = (subject_model.amplitudes[s] * state.amplitudes[s]) as f32;
        let topography = appear(&subject_model.sites[s]).into_iter().map(|v| amplitude * v).collect();
        sources.push(BrainSource { topography, course });
    }
    let coloured = ColouredNoise::new(rate, subject_model.exponent);
    let scale = (BACKGROUND_NAM * subject_model.background * cohort.background) as f32;
    for (d, dipole) in subject_model.scattered.iter().enumerate() {
        let topography = appear(dipole).into_iter().map(|v| scale * v).collect();
        let course = coloured.draw(length, &mut streams.stream(Purpose::Background, d));
        sources.push(BrainSource { topography, course });
    }

    let mut samples = mix(&sources, nominal.len(), length);
    for (c, channel) in samples.chunks_exact_mut(length).enumerate() {
        let gain = state.gains[c] as f32;
        channel.iter_mut().for_each(|v| *v *= gain);
        artifact::electrode(cohort, &state, &streams, c, channel);
    }
    let classes = cohort.task.classes();
    let [_, trial_s] = cohort.window_s();
    let lasts = (trial_s * rate) as usize;
    let events = schedule
        .cues
        .iter()
        .map(|cue| Event { sample: cue.sample, code: classes[cue.class].to_string(), samples: lasts })
        .collect();
    (samples, events)
}

/// The sum of all sources at each electrode. By hand and not by a library's product, whose rounding depends on the
/// processor.
fn mix(sources: &[BrainSource], channels: usize, length: usize) -> Vec<f32> {
    /// Samples at once, so that courses stay in the cache.
    const BLOCK: usize = 256;
    let mut samples = vec![0.0; channels * length];
    for start in (0..length).step_by(BLOCK) {
        let end = (start + BLOCK).min(length);
        for (c, row) in samples.chunks_exact_mut(length).enumerate() {
            let row = &mut row[start..end];
            let mut four = sources.chunks_exact(4);
            for s in four.by_ref() {
                let [a, b, d, e] = [0, 1, 2, 3].map(|i| s[i].topography[c]);
                let courses = s[0].course[start..end]
                    .iter()
                    .zip(&s[1].course[start..end])
                    .zip(&s[2].course[start..end])
                    .zip(&s[3].course[start..end]);
                for (value, (((w, x), y), z)) in row.iter_mut().zip(courses) {
                    *value += a * w + b * x + (d * y + e * z);
                }
            }
            for s in four.remainder() {
                for (value, x) in row.iter_mut().zip(&s.course[start..end]) {
                    *value += s.topography[c] * x;
                }
            }
        }
    }
    samples
}

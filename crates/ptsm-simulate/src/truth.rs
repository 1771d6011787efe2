//! What is known because it was made: where, when and in whom the task can be seen.

use nalgebra::Vector3;
use ptsm_signal::{Layout, Position, SubjectId, normalise, position};
use serde::{Deserialize, Serialize};

use crate::activity::TaskSite;
use crate::anatomy::Site;
use crate::cohort::{Cohort, SimulatedTask};
use crate::head::{Dipole, Head};
use crate::mix::{carriers, leadfield};
use crate::subject::SimulatedSubject;
use crate::{attention, erp, imagery};

/// Where, when and in whom the task can be seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// For each channel, how much the classes differ there in an average head, as a share of the largest of the whole cap: of
    /// power for `Imagery` and `Attention`, of potential for `Erp`. All zero where the cohort's strength is.
    pub channels: Vec<f64>,
    /// From when to when, in seconds after the cue, at least half of the effect is there in an average subject; looked for in the
    /// default pipeline's window.
    pub window_s: [f64; 2],
    /// For each sample of a trial (of the default pipeline's window, or of the trials this is the truth of), how much of the
    /// effect is there, 0 to 1.
    pub times: Vec<f64>,
    /// Dipoles that carry the task, in an average head.
    pub sources: Vec<SourceTruth>,
    /// Each subject.
    pub subjects: Vec<SubjectTruth>,
}

/// One dipole that carries the task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceTruth {
    /// Where, and what it does.
    pub name: String,
    /// Its place, in head radii.
    pub position: Position,
    /// Its direction, of length 1.
    pub direction: Position,
    /// How much it differs between the classes where the effect is 1, plus where the second class has more: power in nAm^2
    /// for `Imagery` and `Attention`, moment in nAm for `Erp`.
    pub difference: f64,
}

/// One subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectTruth {
    /// Who.
    pub subject: SubjectId,
    /// Size of the effect: 0 where it is absent, below 0 where it goes the wrong way.
    pub strength: f64,
    /// Whether the effect is absent.
    pub absent: bool,
    /// Peak of the rhythm that carries the task; none for `Erp`.
    pub frequency_hz: Option<f64>,
    /// When the response to a target is highest; only for `Erp`.
    pub latency_s: Option<f64>,
    /// As [`Truth::channels`], through this subject's own dipoles.
    pub channels: Vec<f64>,
}

impl Truth {
    /// Whether each channel carries the task: the classes differ there by at least half of what they differ at the channel of
    /// the cap where they differ most.
    pub fn task_channels(&self) -> Vec<bool> {
        self.channels.iter().map(|&share| share >= 0.5).collect()
    }

    /// Whether each sample of trials lies inside [`Truth::window_s`].
    pub fn task_times(&self, layout: &Layout) -> Vec<bool> {
        let [from, to] = self.window_s;
        layout.times_s().map(|t| (from..to).contains(&t)).collect()
    }

    /// For some of the cohort's channels, in another order perhaps, and other samples.
    pub(crate) fn picked(mut self, cohort: &Cohort, layout: &Layout) -> Truth {
        let cap: Vec<String> = cohort.channels.iter().map(|name| normalise(name)).collect();
        let places: Vec<Option<usize>> =
            layout.channels.iter().map(|channel| cap.iter().position(|name| *name == channel.name)).collect();
        // Nothing is known of a channel the cap does not have.
        let pick = |values: &[f64]| places.iter().map(|place| place.map_or(0.0, |p| values[p])).collect();
        self.channels = pick(&self.channels);
        for subject in &mut self.subjects {
            subject.channels = pick(&subject.channels);
        }
        self.times = layout.times_s().map(|t| profile(cohort.task, t)).collect();
        self
    }
}

pub(crate) fn truth(cohort: &Cohort) -> Truth {
    let head = Head::adult();
    let electrodes: Vec<Option<Vector3<f64>>> = cohort
        .channels
        .iter()
        .map(|name| position(name).map(|p| Vector3::new(p.x, p.y, p.z).normalize()))
        .collect();
    let average = Site::ALL.map(Site::dipole);
    let channels = if cohort.strength > 0.0 {
        map(cohort.task, &head, &average, &[1.0; Site::ALL.len()], &electrodes)
    } else {
        vec![0.0; electrodes.len()]
    };
    let subjects = (1..=cohort.subjects)
        .map(|subject| {
            let subject_model = SimulatedSubject::new(cohort, subject, &head);
            let own = map(cohort.task, &head, &subject_model.sites, &subject_model.amplitudes, &electrodes);
            let (frequency_hz, latency_s) = match cohort.task {
                SimulatedTask::Imagery => (Some(subject_model.mu_hz), None),
                SimulatedTask::Erp => (None, Some(erp::latency_s(&subject_model))),
                SimulatedTask::Attention => (Some(subject_model.alpha_hz), None),
            };
            SubjectTruth {
                subject: SubjectId(subject),
                strength: subject_model.effect,
                absent: subject_model.absent,
                frequency_hz,
                latency_s,
                channels: if subject_model.effect == 0.0 { vec![0.0; own.len()] } else { own },
            }
        })
        .collect();
    let profile = |t: f64| profile(cohort.task, t);
    let [start_s, end_s] = cohort.window_s();
    let samples = ((end_s - start_s) * cohort.rate_hz).round() as usize;
    let milliseconds = (1000.0 * (end_s - start_s)) as usize;
    let strong: Vec<f64> =
        (0..=milliseconds).map(|ms| start_s + ms as f64 / 1000.0).filter(|&t| profile(t) >= 0.5).collect();
    let window_s = [strong.first().copied().unwrap_or(start_s), strong.last().copied().unwrap_or(end_s)];
    Truth {
        channels,
        window_s,
        times: (0..samples).map(|t| profile(start_s + t as f64 / cohort.rate_hz)).collect(),
        sources: carriers(cohort.task).into_iter().map(source).collect(),
        subjects,
    }
}

/// How much of the effect is there, 0 to 1, at a time after the cue.
fn profile(task: SimulatedTask, time_s: f64) -> f64 {
    match task {
        SimulatedTask::Imagery => imagery::profile(time_s),
        SimulatedTask::Erp => erp::profile(time_s, 0.0),
        SimulatedTask::Attention => attention::profile(time_s),
    }
}

fn source(TaskSite { site, difference }: TaskSite) -> SourceTruth {
    let Dipole { place, moment } = site.dipole();
    let at = |v: Vector3<f64>| Position { x: v.x, y: v.y, z: v.z };
    SourceTruth { name: site.name().to_string(), position: at(place), direction: at(moment), difference }
}

/// How much the classes differ at each electrode, as a share of the largest.
fn map(
    task: SimulatedTask,
    head: &Head,
    dipoles: &[Dipole],
    amplitudes: &[f64],
    electrodes: &[Option<Vector3<f64>>],
) -> Vec<f64> {
    let known: Vec<Vector3<f64>> = electrodes.iter().map(|e| e.unwrap_or_else(Vector3::z)).collect();
    let mut difference = vec![0.0; known.len()];
    for carrier in carriers(task) {
        let site = carrier.site as usize;
        let field = leadfield(head, &dipoles[site], &known);
        for (sum, v) in difference.iter_mut().zip(field) {
            *sum += match task {
                SimulatedTask::Erp => carrier.difference * amplitudes[site] * v,
                SimulatedTask::Imagery | SimulatedTask::Attention => {
                    carrier.difference * (amplitudes[site] * v).powi(2)
                }
            };
        }
    }
    let known = |(d, e): (&f64, &Option<Vector3<f64>>)| if e.is_some() { d.abs() } else { 0.0 };
    let sizes: Vec<f64> = difference.iter().zip(electrodes).map(known).collect();
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    sizes.iter().map(|s| if largest > 0.0 { s / largest } else { 0.0 }).collect()
}

//! Distillation: one network that learns what an ensemble of its kind says (Hinton et al. 2015,
//! <https://doi.org/10.48550/arXiv.1503.02531>).
//!
//! The teacher is the [ensemble](mod@crate::ensemble) of `members` networks of the same settings, trained and calibrated on the same training
//! and validation subjects. What it says of every training trial, at a temperature, is a soft target; it has learnt these trials' labels and
//! is more certain of them than of others, which the temperature takes back in part. The student is one network whose cross-entropy against
//! the labels becomes
//!
//! ```text
//! (1 - w) CE(label, p) + w tau^2 CE(q_tau, p_tau)      q_tau = softmax(z_teacher / tau), p_tau = softmax(z / tau)
//! ```
//!
//! with `w` the `weight` and `tau` the `temperature`; its other losses stay. Validation subjects choose its epoch by their labels and calibrate
//! it, as any network. Its model file is that of a single network: the teacher is not kept.
//!
//! Mirrored trials (`augment.mirror`) have the teacher's target of the image, which is that of the trial with the classes exchanged: a
//! network trained on mirrored trials decodes both views. Other augmentations leave targets as they are, as they leave labels.
//!
//! Every network of the common trainer whose loss of the classes is that of its logits has the setting `distil`, a number of members or a table;
//! it stands among the settings only where it is set. The defaults are 5 members, after which ensembles gain little (Lakshminarayanan et al.
//! 2017), both losses weighing the same, and a temperature of 2, the low end of what Hinton et al. use: calibrated probabilities of two to four
//! classes are soft already. Nothing of it was chosen by scores of test subjects.
//!
//! Training costs that of `members + 1` networks, decoding that of one. The members continue from checkpoints as an ensemble's do, the
//! student from its own, which belongs to these targets.

use std::path::{Path, PathBuf};

use ptsm_signal::{Layout, Subset, Unlabelled};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decoder::{Decoder, FitSink, FittedDecoder, Job, Progress, Run, Watch};
use crate::ensemble::{self, Ensemble};
use crate::error::{Error, Result};
use crate::network::TeacherLoss;
use crate::probabilities::softmax;
use crate::settings::{from_value, to_value};
use crate::training::{Recipe, TeacherTargets};

/// The setting that says how it is distilled.
pub const KEY: &str = "distil";
/// Every member is a network of its own in memory.
const MOST_MEMBERS: usize = 1000;
/// A teacher at a higher temperature says next to nothing.
const MOST_TEMPERATURE: f64 = 100.0;

/// How a network is distilled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Distillation {
    /// Networks in the ensemble that teaches.
    pub members: usize,
    /// Share of the teacher in the loss; the rest is that of the labels.
    pub weight: f64,
    /// What the logits of both are divided by where they are compared.
    pub temperature: f64,
}

impl Default for Distillation {
    fn default() -> Distillation {
        Distillation { members: 5, weight: 0.5, temperature: 2.0 }
    }
}

impl Distillation {
    /// What settings say; none of a network that learns from labels alone.
    pub fn of(settings: &Value) -> Result<Option<Distillation>> {
        let wrong = |message: String| Err(Error::Configuration(message));
        let form = "give the number of members (`distil = 5`; 0 for none) or a table (`distil = { members = 5, weight = 0.5, temperature = 2.0 }`)";
        let found = match settings.get(KEY) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if text == "none" => return Ok(None),
            Some(table @ Value::Object(_)) => {
                from_value::<Distillation>(table.clone()).map_err(|e| match e {
                    Error::Configuration(message) => {
                        Error::Configuration(format!("[{KEY}] {message}; {form}"))
                    }
                    other => other,
                })?
            }
            Some(value) => match value.as_u64().map(usize::try_from) {
                Some(Ok(0)) => return Ok(None),
                Some(Ok(members)) => Distillation { members, ..Distillation::default() },
                _ => return wrong(format!("`{KEY}` is {value}; {form}")),
            },
        };
        let Distillation { members, weight, temperature } = found;
        if !(1..=MOST_MEMBERS).contains(&members) {
            return wrong(format!("`{KEY}.members` must be from 1 to {MOST_MEMBERS}, got {members}"));
        }
        if !(weight > 0.0 && weight <= 1.0) {
            return wrong(format!(
                "`{KEY}.weight` must be above 0 and at most 1 (the teacher alone), got {weight}; without a teacher, leave `{KEY}` out"
            ));
        }
        if !(temperature > 0.0 && temperature <= MOST_TEMPERATURE) {
            return wrong(format!(
                "`{KEY}.temperature` must be above 0 and at most {MOST_TEMPERATURE}, got {temperature}"
            ));
        }
        Ok(Some(found))
    }

    /// How the teacher enters the loss.
    fn loss(self) -> TeacherLoss {
        TeacherLoss { weight: self.weight, temperature: self.temperature }
    }
}

/// The same, and the settings of the network without it.
pub(crate) fn take(mut settings: Value) -> Result<(Option<Distillation>, Value)> {
    let distillation = Distillation::of(&settings)?;
    settings.as_object_mut().map(|settings| settings.remove(KEY));
    Ok((distillation, settings))
}

/// Settings of a network as those of a distilled one, in full. Those of one that is not stay as they are.
pub(crate) fn with(mut settings: Value, distillation: &Option<Distillation>) -> Result<Value> {
    if let (Value::Object(settings), Some(distillation)) = (&mut settings, distillation) {
        settings.insert(KEY.into(), to_value(distillation)?);
    }
    Ok(settings)
}

/// The files that a job with these settings and this [checkpoint](Job::checkpoint) continues from: of a distilled network those of the
/// teacher's members and its own, of any other decoder what [`ensemble::checkpoints`] says.
pub fn checkpoints(checkpoint: &Path, settings: &Value) -> Vec<PathBuf> {
    let Ok(Some(Distillation { members, .. })) = Distillation::of(settings) else {
        return ensemble::checkpoints(checkpoint, settings);
    };
    let members = (0..members).map(|i| ensemble::member_checkpoint(checkpoint, i));
    members.chain([checkpoint.to_path_buf()]).collect()
}

/// A network that is taught by an ensemble of its kind.
pub(crate) struct Distilled {
    recipe: Recipe,
    distillation: Distillation,
}

impl Distilled {
    pub(crate) fn new(recipe: Recipe, distillation: Distillation) -> Distilled {
        Distilled { recipe, distillation }
    }

    /// What a teacher says of trials as recorded, at the temperature, `[n, K]`.
    fn targets(&self, teacher: &dyn FittedDecoder, trials: &Subset<'_>) -> Result<Vec<f32>> {
        let p = teacher.probabilities(trials)?;
        Ok(softened(&p, trials.layout().classes.len(), self.distillation.temperature))
    }
}

/// Probabilities `[n, K]` at a temperature.
fn softened(p: &[f32], classes: usize, temperature: f64) -> Vec<f32> {
    // One that is 0 but for rounding keeps a logarithm.
    let scaled = |p: &f32| f64::from(p.max(f32::MIN_POSITIVE)).ln() / temperature;
    let row = |row: &[f32]| softmax(&row.iter().map(scaled).collect::<Vec<f64>>());
    p.chunks(classes).flat_map(row).map(|p| p as f32).collect()
}

impl Decoder for Distilled {
    /// The teachers of all jobs learn at once, then all students do.
    fn fit(
        &self,
        jobs: &[Job<'_>],
        run: &Run<'_>,
        watch: &mut dyn Watch,
        done: &mut FitSink<'_>,
    ) -> Result<()> {
        let members = self.distillation.members;
        let teacher = Ensemble::new(Box::new(self.recipe.clone()), members)?;
        let mut of_jobs: Vec<Vec<f32>> = vec![vec![]; jobs.len()];
        let mut watch = DistillationWatch { inner: watch, members, students: false };
        teacher.fit(jobs, run, &mut watch, &mut |job, fit| {
            of_jobs[job] = self.targets(&*fit.fitted, jobs[job].data.train())?;
            Ok(())
        })?;
        watch.students = true;
        let targets = TeacherTargets { loss: self.distillation.loss(), of_jobs };
        self.recipe.fit_taught(Some(&targets), jobs, run, &mut watch, done)
    }

    fn learns_from_target(&self) -> bool {
        self.recipe.learns_from_target()
    }

    fn uses_validation(&self) -> bool {
        self.recipe.uses_validation()
    }

    fn check_unlabelled(&self, subjects: &Unlabelled<'_>) -> Result<()> {
        self.recipe.check_unlabelled(subjects)
    }

    fn parameters(&self, layout: &Layout) -> Result<Option<usize>> {
        self.recipe.parameters(layout)
    }
}

/// Tells one watcher of the teachers and of the students after them as of one piece of work. Epochs of teachers, who are not kept, are not told:
/// their curves would stand beside the student's under its seed.
struct DistillationWatch<'w> {
    inner: &'w mut dyn Watch,
    members: usize,
    /// Whether the students learn.
    students: bool,
}

impl Watch for DistillationWatch<'_> {
    fn progress(&mut self, p: &Progress<'_>) {
        // All networks of a job take as many steps.
        let (share, before) = if self.students { (1, self.members) } else { (self.members, 0) };
        let (steps, jobs) = (p.steps / share, p.jobs.1 / share);
        self.inner.progress(&Progress {
            step: p.step + steps * before,
            steps: steps * (self.members + 1),
            jobs: (p.jobs.0 + jobs * before, jobs * (self.members + 1)),
            ended: if self.students { p.ended } else { &[] },
            ..*p
        });
    }

    fn stop(&self) -> bool {
        self.inner.stop()
    }
}

#[cfg(test)]
mod tests {
    use ptsm_engine::Cpu;
    use ptsm_signal::{Channel, Paradigm, SubjectId, TaskDeclaration, Trial, Trials};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use serde_json::json;

    use super::*;
    use crate::augment::Augment;
    use crate::dann::{Dann, Domains};
    use crate::decoder::{Fit, NoWatch, TrainingData};
    use crate::eegnet::EegNet;
    use crate::layers::linear;
    use crate::network::{Architecture, Network, TrialBatch};
    use crate::ptsm::Ptsm;
    use crate::training::{Select, Training};

    #[test]
    fn settings_are_read_in_short_and_in_full() {
        let of = |value: Value| Distillation::of(&json!({ KEY: value }));
        assert_eq!(Distillation::of(&json!({})).unwrap(), None);
        for none in [json!(0), json!("none"), Value::Null] {
            assert_eq!(of(none).unwrap(), None);
        }
        let short = of(json!(3)).unwrap();
        assert_eq!(short, Some(Distillation { members: 3, ..Distillation::default() }));
        let full = of(json!({ "members": 3, "weight": 0.25, "temperature": 4.0 })).unwrap();
        assert_eq!(full, Some(Distillation { members: 3, weight: 0.25, temperature: 4.0 }));
        assert_eq!(of(json!({ "weight": 1.0 })).unwrap().unwrap().members, 5);
        // In full among the settings, and read back as what it was.
        let written = with(json!({ "a": 1 }), &short).unwrap();
        assert_eq!(written, json!({ "a": 1, "distil": { "members": 3, "weight": 0.5, "temperature": 2.0 } }));
        assert_eq!(take(written).unwrap(), (short, json!({ "a": 1 })));
        assert_eq!(with(json!({ "a": 1 }), &None).unwrap(), json!({ "a": 1 }));
        for (wrong, said) in [
            (json!(-1), "0 for none"),
            (json!(2.5), "0 for none"),
            (json!(true), "0 for none"),
            (json!(1001), "`distil.members` must be from 1 to 1000"),
            (json!({ "members": 0 }), "`distil.members` must be from 1"),
            (json!({ "weight": 0.0 }), "`distil.weight` must be above 0"),
            (json!({ "weight": 1.5 }), "at most 1"),
            (json!({ "temperature": 0.0 }), "`distil.temperature` must be above 0"),
            (json!({ "temperature": 1e9 }), "at most 100"),
            (json!({ "member": 3 }), "[distil]"),
        ] {
            let error = of(wrong.clone()).unwrap_err().to_string();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_temperature_softens_and_keeps_the_order() {
        let soft = softened(&[0.8, 0.2, 1.0, 0.0], 2, 2.0);
        // Square roots of 0.8 and 0.2, as shares.
        assert!((soft[0] - 2.0 / 3.0).abs() < 1e-6 && (soft[1] - 1.0 / 3.0).abs() < 1e-6, "{soft:?}");
        assert!(soft[2] > 0.999 && soft[3] >= 0.0 && soft.iter().all(|p| p.is_finite()));
        assert_eq!(softened(&[0.25, 0.75], 2, 1.0), [0.25, 0.75]);
    }

    /// Trials of two sides of the head, louder on one of them; labels say nothing of it.
    fn trials() -> Trials {
        let layout = Layout {
            channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(),
            samples: 64,
            rate_hz: 64.0,
            start_s: 0.0,
            classes: vec!["left_hand".into(), "right_hand".into()],
            task: TaskDeclaration::of(Paradigm::MotorImagery).swapping("left_hand", "right_hand"),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut x, mut info) = (vec![], vec![]);
        for i in 0..160 {
            for channel in 0..3 {
                let loud = if side(i) == 2 - channel { 2.0 } else { 0.5 };
                let phase: f32 = rng.random_range(0.0..6.0);
                x.extend(
                    (0..64).map(|t| loud * (1.1 * t as f32 + phase).sin() + rng.random_range(-0.3..0.3f32)),
                );
            }
            let subject = SubjectId(i as u32 / 20);
            info.push(Trial { label: i as u32 % 2, subject, session: 1, run: 1, cue_s: i as f64 });
        }
        Trials::new(layout, x, info).unwrap()
    }

    /// 2 for trials that are louder on the left, 0 on the right, in an order that has nothing to do with labels.
    fn side(trial: usize) -> usize {
        2 * (trial / 2 % 2)
    }

    /// Log power of each channel, and a linear classifier.
    #[derive(Clone, Debug, Serialize)]
    struct Loudness;

    impl Architecture for Loudness {
        fn name(&self) -> &'static str {
            "loudness"
        }

        fn build(&self, trials: TrialBatch<'_>) -> Result<Network> {
            let (mut g, x) = trials.graph()?;
            let labels = g.labels("task", &[trials.size], trials.shape.classes)?;
            let power = g.square(x)?;
            let power = g.mean_axes(power, &[2])?;
            let features = g.ln(power)?;
            let logits = linear(&mut g, "head", features, trials.shape.classes)?;
            Network::classifier(trials, g, logits, labels, 0.0)
        }
    }

    /// Fits a small network with what some teacher says of each training trial.
    fn taught(
        network: impl Architecture + 'static,
        (epochs, mirror): (usize, f64),
        loss: TeacherLoss,
        says: Option<&dyn Fn(usize) -> [f32; 2]>,
    ) -> (Vec<f32>, Fit) {
        let trials = trials();
        let of = |ids: std::ops::Range<u32>| trials.all().only(|t| ids.contains(&t.subject.0));
        let data = TrainingData::new(of(0..6), of(6..8)).unwrap().with_target(of(7..8).unlabelled());
        let cpu = Cpu::new().unwrap();
        let run = Run { device: &(&cpu).into(), identity: "made up" };
        let training = Training {
            epochs,
            rate: 1e-2,
            select: Select::Last,
            calibrate: false,
            clip: None,
            ..Training::default()
        };
        let augment = if mirror > 0.0 { Augment::only("mirror", mirror) } else { Augment::default() };
        let recipe = Recipe { training, augment, ..Recipe::new(network) };
        let jobs = [Job { data: &data, seed: 3, checkpoint: None }];
        let of_jobs = says.map(|says| vec![data.train().rows().iter().flat_map(|&row| says(row)).collect()]);
        let targets = of_jobs.map(|of_jobs| TeacherTargets { loss, of_jobs });
        let mut fits = vec![];
        let mut done = |_: usize, fit: Fit| {
            fits.push(fit);
            Ok(())
        };
        recipe.fit_taught(targets.as_ref(), &jobs, &run, &mut NoWatch, &mut done).unwrap();
        let fit = fits.remove(0);
        (fit.fitted.probabilities(data.train()).unwrap(), fit)
    }

    /// A teacher of its own opinion: that the loud side decides, with so much certainty.
    fn opinion(row: usize) -> [f32; 2] {
        if side(row) == 2 { [0.8, 0.2] } else { [0.2, 0.8] }
    }

    #[test]
    fn a_student_says_what_its_teacher_says_and_others_do_not() {
        let loss = TeacherLoss { weight: 1.0, temperature: 1.0 };
        let off = |p: &[f32]| -> f32 {
            let each = p.chunks(2).enumerate().map(|(row, p)| (p[0] - opinion(row)[0]).abs());
            each.sum::<f32>() / (p.len() / 2) as f32
        };
        let (plain, _) = taught(Loudness, (120, 0.0), loss, None);
        // Mirrored trials have the exchanged target; with that of the trial itself, nothing could be learnt from either.
        for mirror in [0.0, 0.5] {
            let (own, _) = taught(Loudness, (120, mirror), loss, Some(&opinion));
            assert!(off(&own) < 0.1 && off(&plain) > 0.2, "{mirror}: {} {}", off(&own), off(&plain));
        }
        // Half of it pulls half of the way, wherever the labels pull.
        let half = TeacherLoss { weight: 0.5, ..loss };
        let (half, _) = taught(Loudness, (120, 0.0), half, Some(&opinion));
        assert!(off(&half) < off(&plain), "{} {}", off(&half), off(&plain));
    }

    /// A teacher who knows the labels and nothing else teaches what they do, whatever its weight: every target stands beside its own trial,
    /// and every other loss stays.
    #[test]
    fn a_teacher_of_labels_is_no_teacher() {
        let labels = |row: usize| if row.is_multiple_of(2) { [1.0, 0.0] } else { [0.0, 1.0] };
        let same = |name: &str, plain: Fit, own: Fit| {
            for (plain, own) in plain.history.iter().zip(&own.history) {
                for (loss, value) in &plain.losses {
                    let other = own.losses.iter().find(|(name, _)| name == loss).unwrap().1;
                    assert!(
                        (value - other).abs() < 2e-3 * value.abs().max(1.0),
                        "{name} {loss}: {value} {other}"
                    );
                }
            }
        };
        let loss = TeacherLoss { weight: 0.7, temperature: 1.0 };
        let ptsm = |routed: bool| Ptsm {
            encoder: vec![8, 8],
            pooled: 4,
            shared: [16, 8],
            features: 8,
            head: 8,
            routed,
            ..Ptsm::default()
        };
        macro_rules! check {
            ($network:expr) => {{
                let network = $network;
                let name = format!("{network:?}");
                let (_, plain) = taught(network.clone(), (2, 0.0), loss, None);
                let (_, own) = taught(network, (2, 0.0), loss, Some(&labels));
                same(&name, plain, own);
            }};
        }
        check!(EegNet::default());
        check!(ptsm(false));
        check!(ptsm(true));
        check!(Dann::on(EegNet::default(), Domains::Uda));
        check!(Dann::on(EegNet::default(), Domains::Subject));
    }

    /// What a watcher is told of 2 jobs with 3 members each, of 10 steps for each network.
    #[test]
    fn progress_is_that_of_teachers_and_students() {
        #[derive(Default)]
        struct Told(Vec<(usize, usize, (usize, usize))>);
        impl Watch for Told {
            fn progress(&mut self, p: &Progress<'_>) {
                self.0.push((p.step, p.steps, p.jobs));
            }
        }
        let of = |step, steps, jobs| Progress {
            step,
            steps,
            epoch: 0,
            epochs: 5,
            jobs,
            trials_per_second: 1.0,
            ended: &[],
        };
        let mut told = Told::default();
        let mut watch = DistillationWatch { inner: &mut told, members: 3, students: false };
        watch.progress(&of(6, 60, (1, 6)));
        watch.students = true;
        watch.progress(&of(2, 20, (0, 2)));
        watch.progress(&of(20, 20, (2, 2)));
        assert_eq!(told.0, [(6, 80, (1, 8)), (62, 80, (6, 8)), (80, 80, (8, 8))]);
    }
}

//! The eye test of hand-made subjects, of whom it is known which electrodes carry the class.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ptsm_data::arrays::write_trials;
use ptsm_eval::runs::{TrainRequest, train};
use ptsm_eval::{DataRequest, Env, Evaluation, SettingsRequest, Summary};
use ptsm_explain::{ExplainRequest, Explanation, EyeCondition, EyeFindings, explain};
use ptsm_signal::{Alignment, Channel, Layout, SubjectId, Trial, Trials};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use tempfile::TempDir;

const CHANNELS: [&str; 14] =
    ["Fp1", "Fp2", "AF7", "AF8", "F3", "F4", "FC1", "FC2", "C3", "Cz", "C4", "P3", "Pz", "P4"];
const FRONTAL: [&str; 4] = ["Fp1", "Fp2", "AF7", "AF8"];
const SUBJECTS: u32 = 14;
const TRIALS: usize = 30;
const SAMPLES: usize = 64;

/// How strongly the class, as a slow potential, is in each channel: above 0 for the first class.
type Carriers = &'static [(&'static str, f32)];

/// Eyes that follow the cue, at a distance that leaves nothing in the other channels.
const EYES: Carriers = &[("AF7", 0.7), ("AF8", -0.7), ("Fp1", 0.35), ("Fp2", -0.35)];
/// The same eyes, which other channels see too, as they do in a head.
const SPREAD_EYES: Carriers = &[
    ("AF7", 3.0),
    ("AF8", -3.0),
    ("Fp1", 2.0),
    ("Fp2", -2.0),
    ("F3", 0.7),
    ("F4", -0.7),
    ("FC1", 0.4),
    ("FC2", -0.4),
];
/// Hand areas.
const HANDS: Carriers = &[("C3", -0.8), ("C4", 0.8)];

fn trials(channels: &[&str], carriers: Carriers) -> Trials {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut normal = move || -> f32 { StandardNormal.sample(&mut random) };
    let layout = Layout {
        channels: channels.iter().map(|name| Channel::named(name)).collect(),
        samples: SAMPLES,
        rate_hz: 64.0,
        start_s: 0.0,
        classes: vec!["left".into(), "right".into()],
        task: Default::default(),
    };
    let (mut x, mut info) = (vec![], vec![]);
    for subject in 1..=SUBJECTS {
        for i in 0..TRIALS {
            let label = (i % 2) as u32;
            let sign = if label == 0 { 1.0 } else { -1.0 };
            // Sizes differ from trial to trial, as those of looks and movements do.
            let size = 1.0 + 0.2 * normal();
            for name in channels {
                let weight =
                    carriers.iter().find(|(other, _)| other == name).map_or(0.0, |(_, weight)| *weight);
                let course = |t: usize| (std::f32::consts::PI * t as f32 / SAMPLES as f32).sin();
                x.extend((0..SAMPLES).map(|t| 10.0 * (sign * size * weight * course(t) + 2.0 * normal())));
            }
            let subject = SubjectId(subject);
            info.push(Trial { label, subject, session: 1, run: 1, cue_s: 5.0 * i as f64 });
        }
    }
    Trials::new(layout, x, info).unwrap()
}

/// A decoder trained on the first ten subjects, of which no channel is kept from it.
struct Trained {
    folder: TempDir,
    data: PathBuf,
    env: Env,
}

impl Trained {
    fn on(trials: &Trials, model: &str, align: Option<Alignment>) -> Trained {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("all.npz");
        write_trials(&data, trials).unwrap();
        let env = Env::new().unwrap().without_cache();
        let request = TrainRequest {
            data: named(&data).subjects("1-10").unwrap(),
            model: Some(model.into()),
            settings: SettingsRequest { align, ..SettingsRequest::default() },
            out: folder.path().join("run"),
            ..TrainRequest::default()
        };
        train(&request, &env).unwrap();
        Trained { folder, data, env }
    }

    fn explain(&self, data: &Path) -> Explanation {
        let evaluation = Evaluation::load(&self.folder.path().join("run"), &named(data), &self.env).unwrap();
        let scored = evaluation.select_subjects(None).unwrap();
        let request = ExplainRequest { eyes: true, ..ExplainRequest::default() };
        explain(&evaluation, &scored, &request, &self.env).unwrap()
    }
}

fn named(path: &Path) -> DataRequest {
    DataRequest::named(path.to_str().unwrap())
}

fn tested(carriers: Carriers) -> EyeFindings {
    let trained = Trained::on(&trials(&CHANNELS, carriers), "slda-erp", None);
    let found = trained.explain(&trained.data);
    assert_eq!(found.failed, []);
    found.eyes.unwrap()
}

static OF_EYES: LazyLock<EyeFindings> = LazyLock::new(|| tested(EYES));
static OF_HANDS: LazyLock<EyeFindings> = LazyLock::new(|| tested(HANDS));

fn mean(summary: &Summary) -> f64 {
    summary.metric(summary.chance.metric().name).unwrap().mean
}

fn under(found: &EyeFindings, condition: EyeCondition) -> f64 {
    mean(found.scores_of(condition).unwrap())
}

#[test]
fn a_decoder_of_eyes_is_exposed() {
    let found = &*OF_EYES;
    assert_eq!((&found.frontal[..], found.channels, found.unplaced), (&FRONTAL.map(String::from)[..], 14, 0));
    assert_eq!((&found.unscored, &found.missing), (&vec![], &vec![]));
    let whole = under(found, EyeCondition::AsTheyAre);
    assert!(whole > 0.9, "{whole}");
    for gone in [EyeCondition::Regressed, EyeCondition::WithoutFrontal] {
        let left = under(found, gone);
        assert!((0.38..0.62).contains(&left), "{gone:?}: {left}");
    }
    assert!(under(found, EyeCondition::OnlyFrontal) > 0.9);
    // What is lost is of these channels, not of any four.
    for others in [EyeCondition::WithoutOthers, EyeCondition::RegressedOnOthers] {
        let left = under(found, others);
        assert!(left > 0.9, "{others:?}: {left}");
    }
    let more = found.difference(EyeCondition::Regressed, EyeCondition::RegressedOnOthers).unwrap();
    assert!(more.difference < -0.3, "{more:?}");
    let differences = found.differences();
    let (_, lost) = differences.iter().find(|(c, _)| *c == EyeCondition::Regressed).unwrap();
    assert_eq!((differences.len(), lost.subject_count), (5, 4));
    assert!(lost.difference < -0.3 && lost.interval.unwrap().high < -0.2, "{lost:?}");
    // Potentials tell the side; of covariances a look to the left is one to the right.
    let [potentials, covariances] = &found.frontal_decoders[..] else {
        panic!("{:?}", found.frontal_decoders)
    };
    assert_eq!((potentials.summary.model.as_str(), potentials.training_subjects), ("slda-erp", 10));
    assert!(mean(&potentials.summary) > 0.9, "{}", mean(&potentials.summary));
    assert!(mean(&covariances.summary) < 0.65, "{}", mean(&covariances.summary));
    let saliency = found.saliency.as_ref().unwrap();
    assert_eq!((saliency.method.as_str(), saliency.shares.len()), ("occlusion", 4));
    assert!(saliency.shares.iter().all(|share| *share > 0.6), "{saliency:?}");
    assert!((found.share_of_channels() - 4.0 / 14.0).abs() < 1e-12);
}

#[test]
fn a_decoder_of_hands_passes() {
    let found = &*OF_HANDS;
    let whole = under(found, EyeCondition::AsTheyAre);
    assert!(whole > 0.9, "{whole}");
    for gone in [EyeCondition::Regressed, EyeCondition::WithoutFrontal] {
        let left = under(found, gone);
        assert!((whole - left).abs() < 0.05, "{gone:?}: {whole} {left}");
    }
    let alone = under(found, EyeCondition::OnlyFrontal);
    assert!((0.38..0.62).contains(&alone), "{alone}");
    for decoder in &found.frontal_decoders {
        let alone = mean(&decoder.summary);
        assert!((0.38..0.62).contains(&alone), "{}: {alone}", decoder.summary.model);
    }
    let saliency = found.saliency.as_ref().unwrap();
    assert!(saliency.shares.iter().all(|share| *share < 0.2), "{saliency:?}");
}

/// What eyes leave in channels that are not frontal stays there when the frontal ones are emptied; the regression takes it off.
#[test]
fn regression_takes_off_what_removal_leaves() {
    let trained = Trained::on(&trials(&CHANNELS, SPREAD_EYES), "slda-erp", None);
    let evaluation =
        Evaluation::load(&trained.folder.path().join("run"), &named(&trained.data), &trained.env).unwrap();
    let scored = evaluation.select_subjects(None).unwrap();
    let request = ExplainRequest { eyes: true, ..ExplainRequest::default() };
    let found = explain(&evaluation, &scored, &request, &trained.env).unwrap().eyes.unwrap();
    let [removed, regressed] =
        [EyeCondition::WithoutFrontal, EyeCondition::Regressed].map(|c| under(&found, c));
    assert!(removed > 0.7 && regressed < removed - 0.1, "{removed} {regressed}");
    // The regression looks at the subject's epochs, without labels.
    let access = found.scores_of(EyeCondition::Regressed).unwrap().target_access;
    assert_eq!(access, ptsm_signal::TargetAccess::WHOLE);
    assert_eq!(found.scores_of(EyeCondition::AsTheyAre).unwrap().target_access, Default::default());
    // On the epochs as they are, the scores are those of the report.
    let report = Summary::of(&evaluation.records(&scored).unwrap()).unwrap();
    assert_eq!(mean(&report[0]), under(&found, EyeCondition::AsTheyAre));
}

#[test]
fn what_is_missing_is_said() {
    // Training subjects are not among the data: all else is tested.
    let all = trials(&CHANNELS, EYES);
    let trained = Trained::on(&all, "slda-erp", None);
    let unseen = trained.folder.path().join("unseen.npz");
    let some = all.all().only(|t| t.subject.0 > 10);
    let samples = some.signals().flatten().copied().collect();
    write_trials(&unseen, &some.with_samples(samples).unwrap()).unwrap();
    let found = trained.explain(&unseen).eyes.unwrap();
    assert_eq!((found.frontal_decoders.len(), found.scores.len()), (0, 6));
    assert!(found.missing[0].contains("training subjects of this run are not among these data"));

    // A decoder that refuses empty channels is tested with whole ones, and all else without it.
    let trained = Trained::on(&all, "sblest", None);
    let found = trained.explain(&trained.data);
    let eyes = found.eyes.unwrap();
    assert_eq!((eyes.scores.len(), eyes.frontal_decoders.len()), (1, 2), "{:?}", found.failed);
    assert!(
        eyes.unscored.len() == 5 && eyes.unscored.iter().all(|(_, why)| why.contains("rank")),
        "{:?}",
        eyes.unscored
    );
    assert!(eyes.saliency.is_none() && eyes.missing[0].contains("saliency"), "{:?}", eyes.missing);

    // Aligned epochs have no frontal channels.
    let trained = Trained::on(&all, "slda-erp", Some(Alignment::Euclidean));
    let found = trained.explain(&trained.data);
    assert!(found.eyes.is_none());
    let [(section, why)] = &found.failed[..] else { panic!("{:?}", found.failed) };
    assert!(*section == "eyes" && why.contains("aligned (whitened)"), "{why}");

    // No frontal electrode, with and without positions.
    let why = |channels: &[&str]| {
        let trained = Trained::on(&trials(channels, HANDS), "slda-erp", None);
        trained.explain(&trained.data).failed.remove(0).1
    };
    let away = why(&["C3", "Cz", "C4", "Pz"]);
    assert!(away.contains("none of these 4 channels is there"), "{away}");
    let unplaced = why(&["C3", "C4", "ch1", "ch2"]);
    assert!(unplaced.contains("2 of them have no known position"), "{unplaced}");
}

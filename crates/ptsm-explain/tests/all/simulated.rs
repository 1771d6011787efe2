//! Explanations of decoders of simulated subjects, of whom it is known where and when the task can be seen.

use std::sync::LazyLock;

use ptsm_data::Source;
use ptsm_data::simulate::{Cohort, SimulatedTask, Truth};
use ptsm_decode::csp_lda::CspLda;
use ptsm_decode::registry::find;
use ptsm_decode::xdawn_ts::XdawnTs;
use ptsm_decode::{DecoderOutput, Fit, FittedDecoder, NoWatch, OutputClass, Run, TrainingData};
use ptsm_engine::Cpu;
use ptsm_explain::{
    AttributionMethod, ContrastQuantity, DeletionDirection, DeletionSettings, Fill, Occlusion, RankedAxis,
    Ranking, RelevanceMap, agreement, attribution, csp_relevance, difference, maps, occlusion,
    randomise_parameters, read_features, run_deletion_test, truth_auc, xdawn_relevance,
};
use ptsm_signal::{SubjectId, Subset, Trials};
use serde_json::json;

/// Eight subjects with a strong effect, and what is true of them. The last two are decoded.
static COHORT: LazyLock<(Trials, Truth)> = LazyLock::new(|| {
    let channels =
        ["F3", "Fz", "F4", "C3", "C1", "Cz", "C2", "C4", "CP5", "CP6", "P3", "Pz", "P4", "O1", "O2"];
    let cohort = Cohort {
        subjects: 8,
        sessions: 1,
        runs: 1,
        trials: 40,
        channels: channels.map(String::from).to_vec(),
        rate_hz: 64.0,
        strength: 3.0,
        absent: 0.0,
        artifacts: 0.0,
        variability: 0.3,
        background: 0.5,
        ..Cohort::default()
    };
    let source = Source::Simulated { cohort: Box::new(cohort.clone()), note: None };
    let trials = source.load(None, None).unwrap().trials;
    let truth = cohort.truth_in(trials.layout());
    (trials, truth)
});

fn unseen() -> Subset<'static> {
    COHORT.0.all().only(|t| t.subject.0 >= 7)
}

fn fit(name: &str, seeds: &[u64]) -> Vec<Fit> {
    let part = |from, to| COHORT.0.all().only(move |t| (from..=to).contains(&t.subject.0));
    let data = TrainingData::new(part(1, 5), part(6, 6)).unwrap();
    let method = find(name).unwrap();
    let training = json!({
        "calibrate": false, "epochs": 80, "patience": null, "select": "last", "rate": 3e-3, "batch_subjects": 5, "batch_trials": 4,
    });
    let changes =
        if name == "csp-lda" { json!({}) } else { json!({ "recipe": "common", "training": training }) };
    let decoder = method.build(method.settings(COHORT.0.layout(), &changes).unwrap()).unwrap();
    let cpu = Cpu::new().unwrap();
    let run = Run { device: &(&cpu).into(), identity: "simulated" };
    decoder.fit_seeds(&data, seeds, &run, &mut NoWatch).unwrap()
}

static EEGNET: LazyLock<Vec<Fit>> = LazyLock::new(|| fit("eegnet", &[1, 2]));
static CSP: LazyLock<Vec<Fit>> = LazyLock::new(|| fit("csp-lda", &[1]));

const OWN: DecoderOutput = DecoderOutput::LogProbability(OutputClass::Own);

#[test]
fn explanations_favour_what_is_true() {
    let (subjects, truth) = (unseen(), &COHORT.1);
    let smooth = AttributionMethod::Smooth { copies: 8, noise: 0.3, seed: 1 };
    for method in [AttributionMethod::TimesInput, AttributionMethod::default(), smooth] {
        let found = attribution(&*EEGNET[0].fitted, &subjects, OWN, &method).unwrap().unwrap();
        let mean = found.by_subject("gradient", &subjects);
        assert_eq!(mean.subjects, [SubjectId(7), SubjectId(8)]);
        let favour = truth_auc(&mean.space_mean(), &truth.task_channels());
        assert!(favour > 0.8, "{method:?}: {favour}");
    }
    for fitted in [&EEGNET[0].fitted, &CSP[0].fitted] {
        let settings = Occlusion { window_samples: 32, fill: Fill::Zero };
        let found = occlusion(&**fitted, &subjects, &settings).unwrap();
        let signed: Vec<f64> =
            (0..truth.channels.len()).map(|c| found.signed_space.iter().map(|row| row[c]).sum()).collect();
        let favour = truth_auc(&signed, &truth.task_channels());
        assert!(favour > 0.8, "occlusion: {favour}");
    }
    // Classic decoders have no gradient and say so.
    assert!(attribution(&*CSP[0].fitted, &subjects, OWN, &AttributionMethod::TimesInput).unwrap().is_none());
}

/// Subjects whose signals are four times as large are far from the training subjects; subjects like them are not.
#[test]
fn features_tell_subjects_apart_whose_signals_are_scaled() {
    use ptsm_eval::FeatureFindings;
    let train = COHORT.0.all().only(|t| t.subject.0 <= 5);
    let louder = |factor: f32| {
        let samples = unseen().signals().flatten().map(|v| factor * v).collect();
        Trials::new(COHORT.0.layout().clone(), samples, unseen().info().copied().collect()).unwrap()
    };
    let probed = |subjects: &Trials| match read_features(&*EEGNET[0].fitted, &train, &subjects.all()).unwrap()
    {
        FeatureFindings::Measured { distance, exchanged, p, subject_accuracy, subject_chance } => {
            assert!(
                exchanged.is_some()
                    && p.is_some()
                    && subject_accuracy.is_some()
                    && subject_chance == Some(0.5)
            );
            distance
        }
        FeatureFindings::NotMeasured { why } => panic!("{why}"),
    };
    let (alike, apart) = (probed(&louder(1.0)), probed(&louder(4.0)));
    assert!(apart > 1.0 && apart > alike + 0.5, "{alike} {apart}");
    // One subject has one run: nothing to divide. Classic decoders have no features.
    let one = unseen().only(|t| t.subject.0 == 8);
    let not =
        |fitted: &dyn FittedDecoder, subjects: &Subset<'_>| match read_features(fitted, &train, subjects)
            .unwrap()
        {
            FeatureFindings::NotMeasured { why } => why,
            made => panic!("{made:?}"),
        };
    assert!(not(&*EEGNET[0].fitted, &one).contains("one side has 1"));
    assert!(not(&*CSP[0].fitted, &unseen()).contains("no features"));
}

#[test]
fn integrated_gradients_add_up_to_the_answer() {
    let subjects = unseen().at(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let of = DecoderOutput::Logit(OutputClass::Number(0));
    let residual = |steps| {
        let method = AttributionMethod::Integrated { steps };
        let found = attribution(&*EEGNET[0].fitted, &subjects, of, &method).unwrap().unwrap();
        found.residual.iter().map(|r| r.abs()).fold(0.0, f64::max)
    };
    let (coarse, fine) = (residual(2), residual(32));
    assert!(fine < 1e-3 && coarse > 2.0 * fine, "{coarse} {fine}");
}

#[test]
fn batches_and_seeds_decide_nothing_else() {
    let subjects = unseen();
    let method = |seed| AttributionMethod::Smooth { copies: 3, noise: 0.2, seed };
    let all = |subjects: &Subset<'_>, method: &AttributionMethod| {
        let mut all: Vec<RelevanceMap> = vec![];
        assert!(maps(&*EEGNET[0].fitted, subjects, OWN, method, &mut |map| all.push(map)).unwrap());
        all.into_iter().map(|m| m.values).collect::<Vec<_>>()
    };
    let (whole, first) = (all(&subjects, &method(1)), all(&subjects.at(&[0, 1]), &method(1)));
    assert_eq!((whole.len(), &whole[..2]), (subjects.len(), &first[..]));
    assert_ne!(all(&subjects.at(&[0]), &method(2))[0], first[0]);
    for wrong in [
        AttributionMethod::Integrated { steps: 0 },
        AttributionMethod::Smooth { copies: 1, noise: f64::NAN, seed: 1 },
    ] {
        assert!(attribution(&*EEGNET[0].fitted, &subjects, OWN, &wrong).is_err());
    }
}

#[test]
fn a_true_ranking_loses_more_than_random_ones() {
    let (subjects, truth) = (unseen(), &COHORT.1);
    for fitted in [&EEGNET[0].fitted, &CSP[0].fitted] {
        for direction in [DeletionDirection::Deletion, DeletionDirection::Insertion] {
            let shares = match direction {
                DeletionDirection::Deletion => vec![0.0, 0.07, 0.14, 0.2, 0.3],
                DeletionDirection::Insertion => vec![0.0, 0.07, 0.14, 0.3, 0.5, 1.0],
            };
            let settings = DeletionSettings {
                shares,
                orders: 12,
                ..DeletionSettings::new(RankedAxis::Channels, direction)
            };
            let ranking = Ranking::Same(truth.channels.clone());
            let found = run_deletion_test(&**fitted, &subjects, &ranking, &settings).unwrap();
            let areas = found.balanced_accuracy;
            let sign = if direction == DeletionDirection::Deletion { 1.0 } else { -1.0 };
            assert!(
                areas.between > 0.05 && sign * (areas.random - areas.highest) > 0.05,
                "{direction:?}: {areas:?}"
            );
            assert!(areas.p < 0.4, "{direction:?}: {areas:?}");
            // What is whole is the same whatever goes first.
            let whole = if direction == DeletionDirection::Deletion { 0 } else { 5 };
            assert_eq!(found.highest.log_loss[whole], found.random[3].log_loss[whole]);
            let against: Vec<f64> = truth.channels.iter().map(|c| -c).collect();
            // The same seed gives the same orders.
            let few = DeletionSettings { orders: 2, ..settings };
            let wrong = run_deletion_test(&**fitted, &subjects, &Ranking::Same(against), &few).unwrap();
            assert!(wrong.balanced_accuracy.between < 0.0, "{direction:?}: {wrong:?}");
            assert_eq!(wrong.random, found.random[..2]);
        }
    }
    // Random orders of times are the ranking itself, moved along the trial.
    let times: Vec<f64> = (0..256).map(|t| f64::from(u8::from(t < 128))).collect();
    let settings = DeletionSettings {
        shares: vec![0.0, 0.5, 1.0],
        orders: 6,
        ..DeletionSettings::new(RankedAxis::Times, DeletionDirection::Deletion)
    };
    let found = run_deletion_test(&*CSP[0].fitted, &subjects, &Ranking::Same(times), &settings).unwrap();
    let halves: Vec<f64> = found.random.iter().map(|course| course.log_loss[1]).collect();
    assert!(halves.iter().any(|loss| *loss != halves[0]), "{halves:?}");
    let short = run_deletion_test(
        &*CSP[0].fitted,
        &subjects,
        &Ranking::Same(vec![1.0]),
        &DeletionSettings::new(RankedAxis::Times, DeletionDirection::Deletion),
    );
    assert!(short.unwrap_err().to_string().contains("S07 needs 256"));
}

#[test]
fn explanations_with_randomised_parameters_look_different() {
    let subjects = unseen();
    let look = |fitted: &dyn FittedDecoder| {
        let found = attribution(fitted, &subjects, OWN, &AttributionMethod::TimesInput)?;
        Ok(found.map(|r| r.by_subject("gradient", &subjects)).map(|m| [m.space_mean(), m.time_mean()]))
    };
    let fits: Vec<&dyn FittedDecoder> = EEGNET.iter().map(|fit| &*fit.fitted).collect();
    let [space, _] = randomise_parameters(&fits, 50, &look).unwrap().unwrap();
    assert_eq!((space.trained.len(), space.randomised.len()), (1, 4));
    assert!(space.trained_mean() > space.randomised_mean(), "{space:?}");
    assert!(randomise_parameters(&[&*CSP[0].fitted], 50, &look).unwrap().is_none());
}

#[test]
fn times_are_ranked_in_each_subject() {
    let subjects = unseen();
    let found =
        attribution(&*EEGNET[0].fitted, &subjects, OWN, &AttributionMethod::TimesInput).unwrap().unwrap();
    let ranking = Ranking::of(&found.by_subject("gradient", &subjects), RankedAxis::Times);
    let settings = DeletionSettings {
        orders: 4,
        shares: vec![0.0, 0.2, 0.4],
        ..DeletionSettings::new(RankedAxis::Times, DeletionDirection::Deletion)
    };
    let found = run_deletion_test(&*EEGNET[0].fitted, &subjects, &ranking, &settings).unwrap();
    assert!(found.log_loss.between > 0.0, "{:?}", found.log_loss);
    let nobody = Ranking::Each(Default::default());
    assert!(run_deletion_test(&*EEGNET[0].fitted, &subjects, &nobody, &settings).is_err());
}

/// The classic methods find in the trials what was put there.
#[test]
fn patterns_are_where_and_when_the_truth_is() {
    let (trials, truth) = &*COHORT;
    let all = trials.all();
    let settings = CspLda { filters: 2, ..CspLda::default() };
    let csp = csp_relevance(&all, &settings).unwrap();
    assert_eq!(truth_auc(&csp, &truth.task_channels()), 1.0);
    let agrees = agreement(&csp, &truth.channels, &trials.layout().channels, 200, 1);
    assert!(agrees.rank_correlation > 0.5 && agrees.p < 0.1, "{} {}", agrees.rank_correlation, agrees.p);
    let times = difference(&all, ContrastQuantity::Power).unwrap().time();
    let favour = truth_auc(&times, &truth.task_times(trials.layout()));
    assert!(favour > 0.7, "{favour}");

    let cohort =
        Cohort { subjects: 3, sessions: 1, runs: 1, artifacts: 0.0, ..Cohort::of(SimulatedTask::Erp) };
    let source = Source::Simulated { cohort: Box::new(cohort.clone()), note: None };
    let trials = source.load(None, None).unwrap().trials;
    let truth = cohort.truth_in(trials.layout());
    let found = difference(&trials.all(), ContrastQuantity::Signal).unwrap();
    assert!(truth_auc(&found.time(), &truth.task_times(trials.layout())) > 0.8);
    assert!(truth_auc(&found.space(), &truth.task_channels()) > 0.8);
    let xdawn = xdawn_relevance(&trials.all(), &XdawnTs { filters: 1, ..XdawnTs::default() }).unwrap();
    let favour = truth_auc(&xdawn, &truth.task_channels());
    assert!(favour > 0.7, "{favour}");
}

//! Unlabelled adaptation of batch-norm statistics.

use ptsm_decode::file::{self, ModelCard};
use ptsm_decode::norms::NormTrials;
use ptsm_decode::registry::{METHODS, find};
use ptsm_decode::{Adaptation, Fit, FittedDecoder, NoWatch};
use ptsm_engine::Cpu;
use ptsm_signal::{Subset, TargetAccess, Trials};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::fitting::*;

/// Subjects whose channels are louder or softer, each by a factor of the subject's own, and whose noise is as different.
fn gains(n: u32, each: u32, spread: f32, seed: u64) -> Trials {
    let trials = cohort(n, each, 0.3, seed);
    let mut rng = ChaCha8Rng::seed_from_u64(seed + 1);
    let gains: Vec<f32> = (0..n * 7).map(|_| rng.random_range(-spread..spread).exp()).collect();
    let mut x = trials.to_vec();
    for (signal, info) in x.chunks_exact_mut(7 * 128).zip(trials.info()) {
        let subject = info.subject.0 as usize - 1;
        for (channel, signal) in signal.chunks_exact_mut(128).enumerate() {
            signal.iter_mut().for_each(|v| *v *= gains[subject * 7 + channel]);
        }
    }
    Trials::new(trials.layout().clone(), x, trials.info().to_vec()).unwrap()
}

fn trained(model: &str, trials: &Trials, epochs: usize, more: Value) -> Fit {
    let method = find(model).unwrap();
    let mut changes = changes(method, epochs);
    changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fit_with(&changes, method, trials, set(1..=7), &[1], None, &mut NoWatch).unwrap().remove(0)
}

fn whole(fitted: &dyn FittedDecoder, trials: &Subset<'_>) -> Box<dyn FittedDecoder> {
    fitted.with_target_access(trials, TargetAccess::WHOLE).unwrap().unwrap()
}

fn near(a: &[f32], b: &[f32], by: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= by)
}

/// Networks with batch norms take the setting with its target access, all others refuse it by name.
#[test]
fn every_network_with_batch_norms_takes_the_setting() {
    let layout = cohort(1, 2, 0.0, 1).layout().clone();
    let mut takes = 0;
    for method in METHODS {
        let with = |trials: &str| {
            let mut changes = case(method)["small"].take();
            changes["norms"] = trials.into();
            method.settings(&layout, &changes)
        };
        assert_eq!(with("none").unwrap().get("norms"), None);
        let settings = match with("whole") {
            Ok(settings) => settings,
            Err(error) => {
                assert!(error.to_string().contains("no batch norms"), "{}: {error}", method.name);
                assert!(error.hint().unwrap().contains("--norms"));
                assert!(!method.takes_common_recipe() || method.name == "cslp-ae", "{}", method.name);
                continue;
            }
        };
        takes += 1;
        assert_eq!(NormTrials::of(&settings).unwrap(), Some(NormTrials::Whole));
        assert!(method.adaptations(&settings).unwrap().is_empty());
        assert_eq!(method.target_access_with(&settings).unwrap(), TargetAccess::WHOLE);
        let decoder = method.build(settings).unwrap();
        assert!(decoder.parameters(&layout).unwrap().is_some_and(|n| n > 0));
        let stream = method.target_access_with(&with("stream").unwrap()).unwrap();
        let own = method.target_access;
        assert_eq!(stream, if own == TargetAccess::Nothing { TargetAccess::Stream } else { own });
    }
    assert!(takes >= 14, "{takes}");
}

/// With one norm, whose input depends on no other, the last trial of a stream is normalised by the same moments as all of them.
#[test]
fn a_stream_ends_where_the_whole_session_is_and_sees_nothing_that_is_to_come() {
    let trials = gains(12, 45, 0.6, 3);
    let own = trials.of(&set([10]));
    let stream = trained("shallowconvnet", &trials, 20, json!({ "norms": "stream" })).fitted;
    let all = trained("shallowconvnet", &trials, 20, json!({ "norms": "whole" })).fitted;
    assert!(stream.norm_prior().unwrap().is_finite() && stream.norm_prior() == all.norm_prior());
    assert!(stream.with_target_access(&own, TargetAccess::Stream).unwrap().is_none());
    let p = stream.probabilities(&own).unwrap();
    let first: Vec<usize> = (0..20).collect();
    assert_eq!(stream.probabilities(&own.at(&first)).unwrap(), p[..40]);
    let back: Vec<usize> = (0..own.len()).rev().collect();
    let of_back = stream.probabilities(&own.at(&back)).unwrap();
    assert_eq!(of_back.chunks(2).rev().flatten().copied().collect::<Vec<f32>>(), p);
    // Calibration differs, since the validation subjects were adapted in another way: compared are logits up to a line.
    let adapted = whole(&*all, &own);
    let of_whole = adapted.probabilities(&own).unwrap();
    let line = |p: &[f32], fitted: &dyn FittedDecoder| {
        let c = fitted.calibration().unwrap();
        f64::from(p[88].ln() - p[89].ln()) * c.temperature + c.offsets[0] - c.offsets[1]
    };
    let (a, b) = (line(&p, &*stream), line(&of_whole, &*all));
    assert!((a - b).abs() < 1e-3 * a.abs().max(1.0), "{a} {b}");
    // Values inside are those that decode.
    let features = |fitted: &dyn FittedDecoder, trials: &Subset<'_>| {
        fitted.intermediate_values(trials, &["features"]).unwrap().unwrap().remove(0)
    };
    let (of_stream, of_whole) = (features(&*stream, &own), features(&*adapted, &own));
    let last = of_stream.len() / 45 * 44;
    assert!(near(&of_stream[last..], &of_whole[last..], 1e-3));
    assert!(!near(&of_stream[..last], &of_whole[..last], 1e-2));
}

/// Several norms: the same whatever the order and the batches, for one subject or several at once, from a file, in an ensemble and recentred.
#[test]
fn sessions_are_adapted_by_themselves_and_files_keep_the_choice() {
    let trials = gains(12, 40, 0.6, 4);
    let more = json!({ "norms": "whole", "ensemble": 2, "recentring": "whole" });
    let method = find("eegnet").unwrap();
    let fit = trained("eegnet", &trials, 12, more.clone());
    // The first member is the single decoder of the same seed.
    let single = trained("eegnet", &trials, 12, json!({ "norms": "whole" })).fitted;
    assert!(single.norm_prior().unwrap().is_finite());
    let (one, other) = (trials.of(&set([10])), trials.of(&set([11])));
    let both = trials.of(&set([10, 11]));
    let adapted = whole(&*fit.fitted, &both);
    let p = adapted.probabilities(&both).unwrap();
    let alone = [&one, &other].map(|own| whole(&*fit.fitted, own).probabilities(own).unwrap()).concat();
    assert_eq!(p, alone);
    assert!(near(&adapted.probabilities(&both.at(&[7])).unwrap(), &p[14..16], 1e-4));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("adapting");
    let mut changes = changes(method, 12);
    changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let settings = method.settings(trials.layout(), &changes).unwrap();
    file::save(&path, &*fit.fitted, &ModelCard { settings, ..card(method, &trials, 12) }).unwrap();
    let (read, _) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
    assert_eq!(whole(&*read, &both).probabilities(&both).unwrap(), p);
    assert!(fit.fitted.adapt(&one, &Adaptation::default()).is_err());
    // A file that was written without the choice does not pass for one that has it.
    let plain = trained("eegnet", &trials, 2, json!({}));
    let settings = json!({ "norms": "whole" });
    changes.as_object_mut().unwrap().retain(|key, _| key != "ensemble" && key != "recentring");
    changes.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let settings = method.settings(trials.layout(), &changes).unwrap();
    file::save(&path, &*plain.fitted, &ModelCard { settings, ..card(method, &trials, 2) }).unwrap();
    let error = file::load(&path, &(&Cpu::new().unwrap()).into()).err().unwrap();
    assert!(error.to_string().contains("`norms`"), "{error}");
}

/// A session seen in the mirror is adapted to as the session itself: the decoder stays equivariant.
#[test]
fn both_views_are_adapted_to() {
    let trials = gains(12, 40, 0.6, 5);
    let symmetric = json!({ "training": { "epochs": 12, "rate": 3e-3, "symmetry": "equivariant" } });
    let mirror = ptsm_decode::Mirror::new(trials.layout()).unwrap();
    for norms in ["whole", "stream"] {
        let mut more = symmetric.clone();
        more["norms"] = norms.into();
        let fitted = trained("eegnet", &trials, 12, more).fitted;
        assert!(fitted.norm_prior().unwrap().is_finite(), "{norms}");
        let own = trials.of(&set([10]));
        let mut images = vec![];
        for signal in own.signals() {
            let mut image = vec![0.0; signal.len()];
            mirror.signal(signal, &mut image);
            images.extend(image);
        }
        let images = own.with_samples(images).unwrap();
        let decoded = |trials: &Subset<'_>| match norms {
            "whole" => whole(&*fitted, trials).probabilities(trials).unwrap(),
            _ => fitted.probabilities(trials).unwrap(),
        };
        let exchanged: Vec<f32> = decoded(&images.all()).chunks(2).flat_map(|p| [p[1], p[0]]).collect();
        assert!(near(&decoded(&own), &exchanged, 1e-4), "{norms}");
    }
}

#[test]
fn whoever_was_not_adapted_to_is_not_decoded_and_one_validation_subject_chooses_nothing() {
    let trials = gains(12, 40, 0.6, 3);
    let fitted = trained("shallowconvnet", &trials, 20, json!({ "norms": "whole" })).fitted;
    let error = fitted.probabilities(&trials.of(&set([11]))).unwrap_err();
    assert!(error.to_string().contains("S11 in session 1"), "{error}");
    let error = fitted.adapt(&trials.of(&set([11])), &Adaptation::default()).err().unwrap();
    assert!(error.to_string().contains("`norms`"), "{error}");
    let adapted = whole(&*fitted, &trials.of(&set([10])));
    assert!(adapted.probabilities(&trials.of(&set([11]))).is_err());
    let own = trials.of(&set([10]));
    let p = adapted.probabilities(&own).unwrap();
    let of = ptsm_decode::DecoderOutput::LogProbability(ptsm_decode::OutputClass::Number(1));
    let sensitivity = adapted.sensitivity(&own, of).unwrap().unwrap();
    let answers: Vec<f32> = p.chunks(2).map(|p| p[1].ln()).collect();
    assert!(near(&sensitivity.answers, &answers, 1e-3));

    let method = find("shallowconvnet").unwrap();
    let mut changes = changes(method, 2);
    changes["norms"] = json!("stream");
    // Only one of the two validation subjects is there.
    let fewer = trials.all().only(|trial| trial.subject.0 != 9);
    let fewer = fewer.with_samples(fewer.signals().flatten().copied().collect()).unwrap();
    let error = fit_with(&changes, method, &fewer, set(1..=7), &[1], None, &mut NoWatch).err().unwrap();
    assert!(error.to_string().contains("at least 2 validation subjects"), "{error}");
}

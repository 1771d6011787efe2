//! Adaptation to subjects, with a few labels and with none: what is stored, what may be seen, what is refused. Whom it helps is in
//! `known_differences`.

use std::sync::Arc;

use ptsm_decode::file::{self, ModelCard};
use ptsm_decode::recentring::Recentring;
use ptsm_decode::registry::{METHODS, find};
use ptsm_decode::{Adaptation, AdaptationWay, FittedDecoder, NoWatch, calibration_split};
use ptsm_engine::Cpu;
use ptsm_signal::{TargetAccess, Trials};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::fitting::*;

const EACH: u32 = 60;

/// Subjects whose classes are told by the rhythms over both hand areas alone. One side of the head is louder, in each subject by an amount of
/// their own: decisions are shifted.
fn subjects(n: u32, seed: u64) -> Trials {
    let trials = cohort(n, EACH, 0.3, seed);
    let mut x = trials.to_vec();
    let mut rng = ChaCha8Rng::seed_from_u64(seed + 1);
    let sides: Vec<f32> =
        (0..n).map(|i| if i % 2 == 0 { 0.3 } else { -0.3 } * rng.random_range(0.7..1.3)).collect();
    for (signal, info) in x.chunks_exact_mut(7 * 128).zip(trials.info()) {
        let side = sides[info.subject.0 as usize - 1];
        // The wave in the middle tells the classes, too.
        signal[128..256].iter_mut().for_each(|v| *v = rng.random_range(-1.0..1.0f32));
        signal[..128].iter_mut().for_each(|v| *v *= 1.0 + side);
        signal[256..384].iter_mut().for_each(|v| *v *= 1.0 - side);
    }
    Trials::new(trials.layout().clone(), x, trials.info().to_vec()).unwrap()
}

fn trained(model: &str, trials: &Trials, more: Value) -> Arc<dyn FittedDecoder> {
    let method = find(model).unwrap();
    let mut changes = changes(method, 25);
    changes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut fits = fit_with(&changes, method, trials, set(1..=7), &[1], None, &mut NoWatch).unwrap();
    fits.remove(0).fitted
}

/// What is adapted decodes the same when it is read back, one trial at a time, and is not adapted again.
#[test]
fn an_adapted_head_is_a_part_of_the_decoder() {
    let trials = subjects(12, 5);
    let fitted = trained("shallowconvnet", &trials, json!({}));
    let (first, later) = calibration_split(&trials.of(&set([10])), 10).unwrap();
    let adapted = fitted.adapt(&first, &Adaptation::default()).unwrap();
    assert!(adapted.guard.is_none() && adapted.trials == 20);
    let p = adapted.fitted.probabilities(&later).unwrap();
    assert_ne!(p, fitted.probabilities(&later).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("adapted");
    let method = find("shallowconvnet").unwrap();
    file::save(&path, &*adapted.fitted, &card(method, &trials, 25)).unwrap();
    let (read, _) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
    assert_eq!(read.probabilities(&later).unwrap(), p);
    assert_eq!(read.probabilities(&later.at(&[3])).unwrap(), p[6..8]);
    assert!(read.adapt(&first, &Adaptation::default()).is_err());
    // Another subject's head is another one, though both share what is compiled.
    let (other, _) = calibration_split(&trials.of(&set([11])), 10).unwrap();
    let other = fitted.adapt(&other, &Adaptation::default()).unwrap();
    assert_ne!(other.fitted.probabilities(&later).unwrap(), p);
    assert_eq!(adapted.fitted.probabilities(&later).unwrap(), p);
}

/// Without a prior, adaptation of everything moves away from where it began; a strong prior keeps it.
#[test]
fn a_prior_keeps_what_is_tuned_near_its_source() {
    let trials = subjects(12, 6);
    let fitted = trained("shallowconvnet", &trials, json!({}));
    let (first, later) = calibration_split(&trials.of(&set([10])), 5).unwrap();
    let before = fitted.probabilities(&later).unwrap();
    let moved = |prior: f64| {
        let how = Adaptation { how: AdaptationWay::All, prior, guard: false, ..Adaptation::default() };
        let after = fitted.adapt(&first, &how).unwrap().fitted.probabilities(&later).unwrap();
        before.iter().zip(&after).map(|(b, a)| f64::from((b - a).abs())).sum::<f64>()
    };
    let (free, kept) = (moved(0.0), moved(900.0));
    assert!(free > 3.0 * kept && kept > 0.0, "{free} {kept}");
    for prior in [-1.0, 1000.0, f64::NAN] {
        let how = Adaptation { how: AdaptationWay::All, prior, ..Adaptation::default() };
        assert!(fitted.adapt(&first, &how).is_err(), "{prior}");
    }
}

/// As a stream, what is said of a trial does not depend on later ones; and both forms are what their settings say when they are read back.
#[test]
fn a_stream_sees_nothing_that_is_to_come() {
    let trials = subjects(12, 9);
    let own = trials.of(&set([10]));
    let fitted = trained("shallowconvnet", &trials, json!({ "recentring": "stream" }));
    let p = fitted.probabilities(&own).unwrap();
    let first: Vec<usize> = (0..20).collect();
    assert_eq!(fitted.probabilities(&own.at(&first)).unwrap(), p[..40]);
    // In whatever order they are asked for.
    let back: Vec<usize> = (0..own.len()).rev().collect();
    let of_back = fitted.probabilities(&own.at(&back)).unwrap();
    assert_eq!(of_back.chunks(2).rev().flatten().copied().collect::<Vec<f32>>(), p);

    let whole = trained("shallowconvnet", &trials, json!({ "recentring": "whole", "ensemble": 2 }));
    let error = whole.probabilities(&own).unwrap_err();
    assert!(error.to_string().contains("recentred for S10"), "{error}");
    assert!(whole.adapt(&own, &Adaptation::default()).is_err());
    let method = find("shallowconvnet").unwrap();
    let mut changes = changes(method, 25);
    changes["recentring"] = json!("whole");
    changes["ensemble"] = json!(2);
    let settings = method.settings(trials.layout(), &changes).unwrap();
    assert_eq!(method.target_access_with(&settings).unwrap(), TargetAccess::WHOLE);
    assert!(method.adaptations(&settings).unwrap().is_empty());
    // Masks are adapted only where there are personal ones.
    let ptsm = find("ptsm").unwrap();
    for (masks, adapted) in [("both", true), ("personal", true), ("common", false), ("none", false)] {
        let changes = json!({ "network": { "masks": masks } });
        let ways = ptsm.adaptations(&ptsm.settings(trials.layout(), &changes).unwrap()).unwrap();
        assert_eq!(ways.contains(&AdaptationWay::Masks), adapted, "{masks}");
        assert!(ways.contains(&AdaptationWay::Head) && ways.contains(&AdaptationWay::All), "{masks}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recentred");
    file::save(&path, &*whole, &ModelCard { settings, ..card(method, &trials, 25) }).unwrap();
    let (read, _) = file::load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
    let of = |fitted: &dyn FittedDecoder| {
        let adapted = fitted.with_target_access(&own, TargetAccess::WHOLE).unwrap().unwrap();
        adapted.probabilities(&own).unwrap()
    };
    assert_eq!(of(&*read), of(&*whole));
}

/// Every decoder has the setting, with its target access.
#[test]
fn every_decoder_can_be_recentred() {
    let layout = cohort(1, 2, 0.0, 1).layout().clone();
    for method in METHODS {
        let with = |trials: &str| method.settings(&layout, &json!({ "recentring": trials })).unwrap();
        let whole = with("whole");
        assert!(method.build(whole.clone()).is_ok(), "{}", method.name);
        assert_eq!(method.target_access_with(&whole).unwrap(), TargetAccess::WHOLE);
        let stream = method.target_access_with(&with("stream")).unwrap();
        let own = method.target_access;
        assert_eq!(stream, if own == TargetAccess::Nothing { TargetAccess::Stream } else { own });
        assert_eq!(with("none"), method.settings(&layout, &json!({})).unwrap());
        let three = json!({ "recentring": "whole", "frequencies": [0.2, 0.3, 0.5] });
        let settings = method.settings(&layout, &three).unwrap();
        assert!(Recentring::of(&settings).unwrap().is_some());
        assert!(method.build(settings).unwrap().parameters(&layout).is_err(), "{}", method.name);
    }
}

//! Hemispheric symmetry built into networks: a mirrored trial gets the logits of the trial with its classes exchanged.

use ptsm_decode::dann::{Dann, Domains};
use ptsm_decode::deepconvnet::DeepConvNet;
use ptsm_decode::eegconformer::EegConformer;
use ptsm_decode::eegnet::EegNet;
use ptsm_decode::ptsm::{PoolPlacement, PowerBranch, PowerJoin, Ptsm};
use ptsm_decode::registry::{METHODS, Method, find};
use ptsm_decode::shallowconvnet::ShallowConvNet;
use ptsm_decode::{
    Adaptation, AdaptationWay, Architecture, Mirror, NoWatch, TrialBatch, TrialShape, calibration_split,
};
use ptsm_engine::{Cpu, Feed, Mode, Parameters, Program};
use ptsm_signal::{Subset, Symmetry, Trials};
use serde_json::{Value, json};

use super::common::golden_ptsm;
use super::fitting::*;

/// The same trials with the sides of the head exchanged, and their classes as declared.
fn mirrored(trials: &Trials) -> Trials {
    let mirror = Mirror::new(trials.layout()).unwrap();
    let mut x = vec![0.0; trials.to_vec().len()];
    let one = trials.signal(0).len();
    for (i, image) in x.chunks_exact_mut(one).enumerate() {
        mirror.signal(trials.signal(i), image);
    }
    let classes = trials.layout().task.symmetry.permutation(&trials.layout().classes).unwrap().unwrap();
    let info = trials.info().iter().map(|t| ptsm_signal::Trial { label: classes[t.label as usize], ..*t });
    Trials::new(trials.layout().clone(), x, info.collect()).unwrap()
}

fn networks() -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(|method| !settings(method)["training"]["symmetry"].is_null())
}

fn equivariant(method: &Method, epochs: usize) -> Value {
    let mut changes = changes(method, epochs);
    changes["training"]["symmetry"] = json!("equivariant");
    changes["training"]["calibrate"] = json!(false);
    changes["augment"] = json!({ "mirror": 0.0 });
    changes
}

#[test]
fn mirroring_a_trial_exchanges_its_probabilities_and_nothing_else() {
    assert!(networks().count() >= 14);
    // Two classes are exchanged, two stay.
    let trials = cohort_of(4, 10, 12, 0.5, 3);
    let images = mirrored(&trials);
    for method in networks() {
        let fits = fit_with(&equivariant(method, 12), method, &trials, set(1..=7), &[1], None, &mut NoWatch)
            .unwrap();
        let fitted = &fits[0].fitted;
        let of = |trials: &Trials| fitted.probabilities(&trials.of(&set([10]))).unwrap();
        let (p, q) = (of(&trials), of(&images));
        for (p, q) in p.chunks(4).zip(q.chunks(4)) {
            for (a, b) in [p[1], p[0], p[2], p[3]].iter().zip(q) {
                assert!((a - b).abs() < 1e-5, "{}: {p:?} {q:?}", method.name);
            }
        }
        assert!(p.chunks(4).any(|p| (p[0] - p[1]).abs() > 1e-3), "{} says nothing", method.name);
        let all = equivariant(method, 2);
        let count = |symmetry: &str| {
            let (training, augment) = (json!({ "symmetry": symmetry }), all["augment"].clone());
            let mut changes = json!({ "training": training, "augment": augment });
            if all["network"].is_object() {
                changes["network"] = all["network"].clone();
            }
            let decoder = method.build(method.settings(trials.layout(), &changes).unwrap()).unwrap();
            decoder.parameters(trials.layout()).unwrap().unwrap()
        };
        assert_eq!(count("none"), count("equivariant"), "{}", method.name);
    }
}

/// In training mode too, where batch norm sees both views of every trial; dropout is off, which differs from view to view.
#[test]
fn it_holds_in_training_mode_for_random_parameters() {
    let trials = cohort_of(4, 1, 8, 0.5, 3);
    let mirror = Mirror::new(trials.layout()).unwrap();
    let shape = TrialShape { channels: 7, time: 128, classes: 4, subjects: 0 };
    let conformer = EegConformer {
        dropout: 0.0,
        last_dropout: 0.0,
        kernel: 9,
        pool: 20,
        stride: 5,
        ..EegConformer::default()
    };
    let deep = DeepConvNet { kernel: 5, pool: 2, dropout: 0.0, ..DeepConvNet::default() };
    let eegnet = EegNet { dropout: 0.0, ..EegNet::default() };
    let power =
        |joins| PowerBranch { filters: 4, kernel: 9, window: 20, stride: 5, joins, ..PowerBranch::default() };
    let ptsm = Ptsm { pool_lengths: None, ..golden_ptsm(PoolPlacement::Each) };
    let models: [Box<dyn Architecture>; 9] = [
        Box::new(Ptsm { power: Some(power(PowerJoin::Shared)), ..ptsm.clone() }),
        Box::new(Ptsm { power: Some(power(PowerJoin::Logits)), ..ptsm.clone() }),
        Box::new(ptsm),
        Box::new(eegnet.clone()),
        Box::new(deep.clone()),
        Box::new(DeepConvNet { crop: Some(100), ..deep }),
        Box::new(ShallowConvNet {
            dropout: 0.0,
            kernel: 9,
            pool: 20,
            stride: 5,
            ..ShallowConvNet::default()
        }),
        Box::new(conformer),
        Box::new(Dann::on(eegnet, Domains::Subject)),
    ];
    for model in models {
        let network = model.build(TrialBatch { mirror: Some(&mirror), ..shape.batch(8) }).unwrap();
        let parameters = Parameters::<f64>::new(&network.graph, &[7]).unwrap();
        for mode in [Mode::Train, Mode::Infer] {
            let mut program =
                Program::<f64>::new(&network.graph, mode, &[network.logits], 1, &Cpu::new().unwrap())
                    .unwrap();
            let mut logits = |trials: &Trials| {
                let x: Vec<f64> = trials.to_vec().iter().map(|&v| f64::from(v)).collect();
                program.run(&parameters, &[("x", Feed::Each(&x))]).unwrap();
                program.output(&parameters, 0, 0).to_vec()
            };
            let (own, image) = (logits(&trials), logits(&mirrored(&trials)));
            for (f, g) in own.chunks(4).zip(image.chunks(4)) {
                let exchanged = [f[1], f[0], f[2], f[3]];
                let off = exchanged.iter().zip(g).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-10, "{} in {mode:?}: {f:?} {g:?}", model.name());
            }
            assert!(own.chunks(4).any(|f| (f[0] - f[1]).abs() > 1e-6), "{}", model.name());
        }
    }
}

/// Who was shown effects on one side of the head alone decodes them on the other side as well.
#[test]
fn what_is_learnt_on_one_side_holds_on_the_other() {
    let trials = cohort(12, 24, 0.7, 5);
    let images = mirrored(&trials);
    let method = find("shallowconvnet").unwrap();
    let right = |fitted: &dyn ptsm_decode::FittedDecoder, trials: &Subset<'_>| {
        let p = fitted.probabilities(trials).unwrap();
        p.chunks(2).zip(trials.labels()).filter(|(p, l)| (p[1] > p[0]) == (*l == 1)).count()
    };
    let fitted =
        fit_with(&equivariant(method, 20), method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap();
    let of = |trials: &Trials| right(&*fitted[0].fitted, &trials.of(&set(10..=12)));
    assert_eq!(of(&trials), of(&images));
    assert!(of(&trials) > 60, "{} of 72", of(&trials));
}

/// Calibration keeps the symmetry: classes that are exchanged share an offset.
#[test]
fn a_calibrated_network_is_as_equivariant() {
    let trials = cohort_of(4, 10, 12, 0.5, 3);
    let images = mirrored(&trials);
    let method = find("shallowconvnet").unwrap();
    let mut changes = equivariant(method, 15);
    changes["training"]["calibrate"] = json!(true);
    let fits = fit_with(&changes, method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap();
    let found = fits[0].fitted.calibration().unwrap();
    assert!((found.offsets[0] - found.offsets[1]).abs() < 1e-5 && found.temperature != 1.0, "{found:?}");
    let of = |trials: &Trials| fits[0].fitted.probabilities(&trials.of(&set([10]))).unwrap();
    for (p, q) in of(&trials).chunks(4).zip(of(&images).chunks(4)) {
        for (a, b) in [p[1], p[0], p[2], p[3]].iter().zip(q) {
            assert!((a - b).abs() < 1e-5, "{p:?} {q:?}");
        }
    }
}

/// Masks are those of the trial as it was recorded; tuning them keeps the symmetry.
#[test]
fn masks_are_of_the_trial_as_recorded() {
    let trials = cohort(10, 12, 0.5, 3);
    let images = mirrored(&trials);
    let method = find("ptsm").unwrap();
    let fits =
        fit_with(&equivariant(method, 2), method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap();
    let subject = trials.of(&set([10]));
    let mask = |trials: &Trials| {
        let values = fits[0].fitted.intermediate_values(&trials.of(&set([10])), &["mask.time"]).unwrap();
        values.unwrap().remove(0)
    };
    let (own, of_images) = (mask(&trials), mask(&images));
    assert_eq!(own.len(), subject.len() * 128);
    assert_ne!(own, of_images);
    // A mirrored trial's mask is that of its second view: mirrored twice it is the trial.
    assert_eq!(mask(&mirrored(&images)), own);
    let adaptation =
        Adaptation { how: AdaptationWay::Masks, steps: 5, guard: false, ..Adaptation::default() };
    let (shots, rest) = calibration_split(&subject, 2).unwrap();
    let tuned = fits[0].fitted.adapt(&shots, &adaptation).unwrap().fitted;
    let image_of = |rows: &Subset<'_>| images.all().at(rows.rows());
    let (p, q) = (tuned.probabilities(&rest).unwrap(), tuned.probabilities(&image_of(&rest)).unwrap());
    for (p, q) in p.chunks(2).zip(q.chunks(2)) {
        assert!((p[0] - q[1]).abs() < 1e-5, "{p:?} {q:?}");
    }
}

#[test]
fn what_the_data_do_not_declare_is_refused() {
    let trials = cohort(10, 4, 0.5, 3);
    let method = find("eegnet").unwrap();
    let with = |symmetry: Symmetry, changes: Value| {
        let mut layout = trials.layout().clone();
        layout.task.symmetry = symmetry;
        let trials = Trials::new(layout, trials.to_vec(), trials.info().to_vec()).unwrap();
        let mut all = super::fitting::changes(method, 1);
        all["training"]["symmetry"] = changes["symmetry"].clone();
        all["augment"] = json!({ "mirror": changes["mirror"].as_f64().unwrap_or(0.0) });
        fit_with(&all, method, &trials, set(1..=7), &[1], None, &mut NoWatch)
            .map(|_| ())
            .map_err(|e| format!("{e} {}", e.hint().unwrap_or_default()))
    };
    let hands = || trials.layout().task.symmetry.clone();
    assert!(with(hands(), json!({ "symmetry": "equivariant" })).is_ok());
    assert!(with(Symmetry::Invariant, json!({ "symmetry": "invariant" })).is_ok());
    let refused = with(Symmetry::Undeclared, json!({ "symmetry": "equivariant" })).unwrap_err();
    assert!(refused.contains("--symmetry"), "{refused}");
    let refused = with(Symmetry::Invariant, json!({ "symmetry": "equivariant" })).unwrap_err();
    assert!(refused.contains("symmetry=invariant"), "{refused}");
    let refused = with(hands(), json!({ "symmetry": "invariant" })).unwrap_err();
    assert!(refused.contains("symmetry=equivariant"), "{refused}");
    let refused = with(hands(), json!({ "symmetry": "equivariant", "mirror": 0.5 })).unwrap_err();
    assert!(refused.contains("augment.mirror"), "{refused}");
    let refused = with(hands(), json!({ "symmetry": "both" })).unwrap_err();
    assert!(refused.contains("equivariant") && refused.contains("both"), "{refused}");
}

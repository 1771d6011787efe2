//! Attribution against Captum's numbers for the same EEGNet (`golden/captum.json`, made by `cargo lab golden`). Captum works in double
//! precision here, networks in single: what differs is rounding, 2e-5 of the largest number of a kind.

use std::path::Path;

use ptsm_decode::file::{self, ModelCard, Provenance};
use ptsm_decode::registry::find;
use ptsm_decode::{DecoderOutput, FittedDecoder, NoWatch, OutputClass, Run, TrainingData};
use ptsm_engine::Cpu;
use ptsm_explain::{AttributionMethod, Fill, Occlusion, maps, occlusion};
use ptsm_signal::{Channel, Layout, Pipeline, SubjectId, Trial, Trials};
use serde_json::{Value, json};

/// Two trials as the specification's golden inputs are, of class 1, and others to learn from.
fn trials() -> Trials {
    let layout = Layout {
        channels: ["C3", "Cz", "C4", "Pz"].map(Channel::named).to_vec(),
        samples: 64,
        rate_hz: 128.0,
        start_s: 0.0,
        classes: ["a", "b", "c"].map(String::from).to_vec(),
        task: Default::default(),
    };
    let (mut x, mut info) = (vec![], vec![]);
    for b in 0..8u32 {
        for c in 0..4 {
            let (b, c) = (f64::from(b), f64::from(c));
            let at = |t: f64| (0.05 * t * (c + 1.0) + 0.3 * b).sin() + 0.5 * (0.11 * t + c + 0.2 * b).cos();
            x.extend((1..=64).map(|t| at(f64::from(t)) as f32));
        }
        let label = if b < 2 { 1 } else { b % 3 };
        info.push(Trial { label, subject: SubjectId(1), session: 1, run: 1, cue_s: f64::from(b) });
    }
    Trials::new(layout, x, info).unwrap()
}

/// `middle + size * sin(0.13 (i + 1) + 0.9 k)`
fn fill(n: usize, k: u32, middle: f64, size: f64) -> Vec<f32> {
    (0..n).map(|i| (middle + size * (0.13 * (i as f64 + 1.0) + 0.9 * f64::from(k)).sin()) as f32).collect()
}

/// What the script fills, tensor by tensor.
fn filled(name: &str, n: usize) -> Vec<f32> {
    let weights = ["temporal.weight", "spatial.weight", "depthwise.weight", "pointwise.weight"];
    let weights = weights.into_iter().chain(["classifier.weight", "classifier.bias"]);
    if let Some((k, _)) = (1..).zip(weights).find(|(_, w)| *w == name) {
        return fill(n, k, 0.0, 0.3);
    }
    let (norm, part) = name.split_once('.').unwrap();
    let first = match norm {
        "temporal_norm" => 7,
        "spatial_norm" => 11,
        "separable_norm" => 15,
        other => panic!("nobody fills {other}"),
    };
    match part {
        "scale" => fill(n, first, 1.0, 0.2),
        "shift" => fill(n, first + 1, 0.0, 0.1),
        _ => [fill(n / 2, first + 2, 0.0, 0.1), fill(n / 2, first + 3, 1.0, 0.5)].concat(),
    }
}

/// Puts the filled numbers into a model file.
fn refill(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..start]).unwrap();
    for (name, tensor) in header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__") {
        let [from, to] = [0, 1].map(|i| start + tensor["data_offsets"][i].as_u64().unwrap() as usize);
        let values = filled(name, (to - from) / 4);
        bytes[from..to].copy_from_slice(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    }
    std::fs::write(path, bytes).unwrap();
}

/// An EEGNet with the filled numbers.
fn eegnet(trials: &Trials) -> Box<dyn FittedDecoder> {
    let method = find("eegnet").unwrap();
    let settings = method
        .settings(
            trials.layout(),
            &json!({ "training": { "epochs": 1, "patience": null, "select": "last" } }),
        )
        .unwrap();
    let decoder = method.build(settings.clone()).unwrap();
    let data = TrainingData::new(trials.all(), trials.all().at(&[])).unwrap();
    let cpu = Cpu::new().unwrap();
    let run = Run { device: &(&cpu).into(), identity: "captum" };
    let fits = decoder.fit_seeds(&data, &[1], &run, &mut NoWatch).unwrap();
    let card = ModelCard {
        decoder: method.name.into(),
        settings,
        layout: trials.layout().clone(),
        pipeline: Pipeline::default(),
        target_access: method.target_access,
        provenance: Provenance::default(),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("eegnet.safetensors");
    file::save(&path, &*fits[0].fitted, &card).unwrap();
    refill(&path);
    file::load(&path, &(&cpu).into()).unwrap().0
}

#[track_caller]
fn close(golden: &Value, name: &str, got: &[f64]) {
    let expected: Vec<f64> = golden[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(got.len(), expected.len(), "{name}");
    let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let off = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest;
    assert!(off < 2e-5, "{name} is off by {off:.1e} of {largest}");
}

#[test]
fn attribution_is_what_captum_finds() {
    let golden: Value = serde_json::from_str(include_str!("../golden/captum.json")).unwrap();
    let trials = trials();
    let fitted = eegnet(&trials);
    let two = trials.all().at(&[0, 1]);
    let wide = |v: Vec<f32>| v.into_iter().map(f64::from).collect::<Vec<_>>();
    let (logit, log) =
        (DecoderOutput::Logit(OutputClass::Number(1)), DecoderOutput::LogProbability(OutputClass::Own));
    let all: Vec<_> = (0..3)
        .map(|k| fitted.sensitivity(&two, DecoderOutput::Logit(OutputClass::Number(k))).unwrap().unwrap())
        .collect();
    let logits: Vec<f32> =
        (0..2).flat_map(|i| all.iter().map(move |sensitivity| sensitivity.answers[i])).collect();
    close(&golden, "logits", &wide(logits));
    close(&golden, "gradient", &wide(all[1].gradient.clone()));
    let sensitivity = fitted.sensitivity(&two, log).unwrap().unwrap();
    close(&golden, "gradient_of_log_probability", &wide(sensitivity.gradient));
    let map = |of, method: &AttributionMethod| {
        let mut values = vec![];
        assert!(maps(&*fitted, &two, of, method, &mut |map| values.extend(map.values)).unwrap());
        values
    };
    close(&golden, "times_input", &map(logit, &AttributionMethod::TimesInput));
    close(&golden, "integrated", &map(logit, &AttributionMethod::Integrated { steps: 16 }));
    close(&golden, "integrated_log_probability", &map(log, &AttributionMethod::Integrated { steps: 16 }));
    let lost = occlusion(&*fitted, &two, &Occlusion { window_samples: 16, fill: Fill::Zero }).unwrap();
    close(&golden, "channels", &lost.signed_space.concat());
    let windows: Vec<f64> = lost.signed_time.iter().flatten().step_by(16).copied().collect();
    close(&golden, "windows", &windows);
}

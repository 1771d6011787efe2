//! Every decoder a user can name, in the order users see them. A new one is its file and its line here.

use crate::error::{Error, Result};
pub use crate::method::Method;
use crate::settings::nearest;
use crate::{
    acon, cslp_ae, csp_lda, dann, deepconvnet, eegconformer, eegnet, fbcsp_lda, mdm, ptsm, sblest,
    shallowconvnet, slda_erp, ts_lr, tsmnet, xdawn_ts,
};

/// Every decoder.
pub const METHODS: &[Method] = &[
    ptsm::PTSM,
    ptsm::PTSM_PAPER,
    eegnet::EEGNET,
    deepconvnet::DEEPCONVNET,
    deepconvnet::DEEPCONVNET_SHORT,
    deepconvnet::DEEPCONVNET_CROPPED,
    deepconvnet::DEEPCONVNET_ZHANG,
    shallowconvnet::SHALLOWCONVNET,
    eegconformer::EEGCONFORMER,
    dann::DANN,
    dann::DANN_SUBJECT,
    dann::PTSM_DANN,
    dann::PTSM_DANN_SUBJECT,
    acon::ACON,
    acon::ACON_PSEUDO,
    tsmnet::TSMNET,
    tsmnet::TSMNET_SPDMBN,
    cslp_ae::CSLP_AE,
    csp_lda::CSP_LDA,
    fbcsp_lda::FBCSP_LDA,
    mdm::MDM,
    ts_lr::TS_LR,
    xdawn_ts::XDAWN_TS,
    slda_erp::SLDA_ERP,
    sblest::SBLEST,
];

/// A decoder by name; a mistyped one names the nearest.
pub fn find(name: &str) -> Result<&'static Method> {
    METHODS.iter().find(|m| m.name == name).ok_or_else(|| Error::Name {
        name: name.into(),
        nearest: nearest(name, METHODS.iter().map(|m| m.name)),
    })
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, Layout};
    use serde_json::{Value, json};

    use super::*;

    fn layout(samples: usize, rate_hz: f64) -> Layout {
        Layout {
            channels: vec![Channel::named("C3"), Channel::named("C4")],
            samples,
            rate_hz,
            start_s: 0.0,
            classes: vec!["left_hand".into(), "right_hand".into()],
            task: Default::default(),
        }
    }

    #[test]
    fn networks_follow_the_sampling_rate() {
        let network = |name: &str, samples, rate_hz| {
            find(name).unwrap().defaults(&layout(samples, rate_hz)).unwrap()["network"].clone()
        };
        for name in ["shallowconvnet", "eegconformer"] {
            for (samples, rate_hz, kernel, pool, stride) in
                [(1000, 250.0, 25, 75, 15), (512, 128.0, 13, 35, 7), (200, 1.0, 25, 75, 15)]
            {
                let n = network(name, samples, rate_hz);
                assert_eq!(
                    [&n["kernel"], &n["pool"], &n["stride"]],
                    [kernel, pool, stride],
                    "{name} {rate_hz}"
                );
            }
        }
        // Two seconds of four, the half of less, never less than the blocks can take.
        assert_eq!(network("deepconvnet-cropped", 1000, 250.0)["crop"], 500);
        assert_eq!(network("deepconvnet-cropped", 950, 250.0)["crop"], 475);
        assert_eq!(network("deepconvnet-cropped", 640, 160.0)["crop"], 441);
        assert_eq!(network("deepconvnet-cropped", 521, 250.0)["crop"], 441);
        // Whatever the trials, a name is one architecture.
        for (samples, rate_hz) in [(1000, 250.0), (440, 250.0), (256, 128.0)] {
            for name in ["deepconvnet", "deepconvnet-cropped", "deepconvnet-zhang"] {
                let n = network(name, samples, rate_hz);
                assert_eq!([&n["kernel"], &n["pool"]], [10, 3], "{name} {samples}");
            }
            let short = network("deepconvnet-short", samples, rate_hz);
            assert_eq!(
                [&short["kernel"], &short["pool"], &short["crop"]],
                [&json!(5), &json!(2), &Value::Null]
            );
        }
        assert_eq!(network("deepconvnet", 1000, 250.0)["crop"], Value::Null);
        // The specification's at 128 and 250 Hz; elsewhere kernels of half and an eighth of a second.
        for (rate_hz, kernel, separable, pools) in [
            (128.0, 64, 16, [4, 8]),
            (250.0, 125, 32, [8, 16]),
            (256.0, 128, 32, [8, 16]),
            (160.0, 80, 20, [4, 8]),
            (100.0, 50, 13, [4, 8]),
        ] {
            for n in [network("eegnet", 1000, rate_hz), network("dann", 1000, rate_hz)["encoder"].clone()] {
                assert_eq!([&n["kernel"], &n["separable_kernel"]], [kernel, separable], "{rate_hz}");
                assert_eq!(n["pools"], json!(pools), "{rate_hz}");
            }
        }
    }

    #[test]
    fn networks_are_trained_as_published() {
        let training =
            |name: &str| find(name).unwrap().defaults(&layout(1000, 250.0)).unwrap()["training"].clone();
        for (name, epochs, patience, select) in [
            ("eegnet", 500, json!(75), "loss"),
            ("deepconvnet-short", 500, json!(75), "loss"),
            ("deepconvnet", 1600, json!(80), "accuracy"),
            ("deepconvnet-cropped", 1600, json!(80), "accuracy"),
            ("shallowconvnet", 1600, json!(80), "accuracy"),
            ("eegconformer", 150, json!(40), "accuracy"),
            ("acon", 50, Value::Null, "accuracy"),
            ("tsmnet", 50, Value::Null, "loss"),
        ] {
            let t = training(name);
            let said = (&t["epochs"], &t["patience"], &t["select"]);
            assert_eq!(said, (&json!(epochs), &patience, &json!(select)), "{name}");
        }
        for name in [
            "eegnet",
            "deepconvnet-short",
            "deepconvnet",
            "deepconvnet-cropped",
            "shallowconvnet",
            "eegconformer",
        ] {
            let t = training(name);
            let said = [&t["weight_decay"], &t["clip"], &t["course"]];
            assert_eq!(said, [&json!(0.0), &Value::Null, &json!("constant")], "{name}");
        }
    }

    #[test]
    fn the_recipe_of_zhang_et_al_is_what_they_did() {
        let settings = find("deepconvnet-zhang").unwrap().defaults(&layout(1000, 250.0)).unwrap();
        let training = &settings["training"];
        // A step takes 1 - rate * decay of the weights: at the first rate, 5e-4 of them.
        let (rate, decay) = (training["rate"].as_f64().unwrap(), training["weight_decay"].as_f64().unwrap());
        assert!((rate * decay - 5e-4).abs() < 1e-12 && training["decoupled_decay"] == true);
        let batch = training["batch_subjects"].as_u64().unwrap() * training["batch_trials"].as_u64().unwrap();
        assert_eq!((batch, &training["epochs"], &training["select"]), (16, &json!(200), &json!("loss")));
        let network = &settings["network"];
        assert_eq!([&network["max_norm"], &network["head_norm"], &network["crop"]], [&Value::Null; 3]);
        assert_eq!((&network["kernel"], &network["pool"]), (&json!(10), &json!(3)));
    }
}

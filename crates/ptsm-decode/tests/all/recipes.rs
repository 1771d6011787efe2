//! The setting `recipe`: a decoder's own, or the same for all networks.

use crate::fitting::{changes, cohort, fit_with, set};
use ptsm_decode::file::{ModelCard, load, save};
use ptsm_decode::registry::{METHODS, find};
use ptsm_decode::{Error, NoWatch, RecipeName, Training};
use ptsm_engine::Cpu;
use serde_json::{Value, json};

fn merged(mut to: Value, from: &Value) -> Value {
    match (&mut to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                let own = to.remove(key).unwrap_or_default();
                to.insert(key.clone(), merged(own, value));
            }
        }
        (to, from) => *to = from.clone(),
    }
    to
}

#[test]
fn every_network_can_be_trained_by_the_common_recipe() {
    let trials = cohort(1, 2, 0.4, 2);
    let common = serde_json::to_value(Training::default()).unwrap();
    for method in METHODS {
        let of = |changes: Value| method.settings(trials.layout(), &changes);
        let own = method.defaults(trials.layout()).unwrap();
        // The decoder's own recipe is what there is without the setting.
        assert_eq!(of(json!({ "recipe": "published" })).unwrap(), own);
        let settings = match of(json!({ "recipe": "common" })) {
            Ok(settings) => settings,
            Err(error) => {
                assert!(!method.takes_common_recipe(), "{}", method.name);
                assert!(matches!(&error, Error::NoCommonRecipe { .. }), "{error}");
                assert!(
                    error.to_string().contains(method.name) && error.hint().unwrap().contains("published")
                );
                // Nor are settings that say so taken by themselves.
                let all = merged(own, &json!({ "recipe": "common" }));
                assert!(matches!(method.build(all).err(), Some(Error::NoCommonRecipe { .. })));
                continue;
            }
        };
        assert!(method.takes_common_recipe() && RecipeName::of(&settings).unwrap() == RecipeName::Common);
        assert_eq!(settings["training"], common, "{}", method.name);
        assert_eq!((&settings["network"], &settings["augment"]), (&own["network"], &own["augment"]));
        // Keys go over the recipe, whichever it is.
        let longer = of(json!({ "recipe": "common", "training": { "epochs": 7 } })).unwrap();
        assert_eq!(longer["training"], merged(common.clone(), &json!({ "epochs": 7 })));
        // All settings of a decoder are settings of the same decoder.
        assert_eq!(of(settings.clone()).unwrap(), settings);
        method.build(settings).unwrap();
        for wrong in [json!("commn"), json!(1), Value::Null] {
            let error = of(json!({ "recipe": wrong })).unwrap_err().to_string();
            assert!(error.contains("`recipe`") && error.contains("\"common\""), "{error}");
        }
    }
    let classic = find("csp-lda").unwrap();
    assert!(!classic.takes_common_recipe() && !find("tsmnet").unwrap().takes_common_recipe());
}

/// The name is told by the file, and what is trained is what its keys say.
#[test]
fn a_file_names_the_common_recipe() {
    let trials = cohort(10, 8, 0.4, 2);
    let method = find("eegnet").unwrap();
    let named = merged(changes(method, 2), &json!({ "recipe": "common" }));
    let mut spelled_out = serde_json::to_value(Training::default()).unwrap();
    spelled_out = merged(spelled_out, &named["training"]);
    let fits = |changes: &Value| {
        fit_with(changes, method, &trials, set(1..=7), &[1], None, &mut NoWatch).unwrap().remove(0).fitted
    };
    let (by_name, by_keys) = (fits(&named), fits(&json!({ "training": spelled_out })));
    let own = fits(&changes(method, 2));
    let bytes = |fitted: &dyn ptsm_decode::FittedDecoder| fitted.to_bytes(Default::default()).unwrap();
    assert_eq!(bytes(&*by_name), bytes(&*by_keys));
    assert_ne!(bytes(&*by_name), bytes(&*own));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("common.safetensors");
    let card = ModelCard {
        settings: method.settings(trials.layout(), &named).unwrap(),
        ..crate::fitting::card(method, &trials, 2)
    };
    save(&path, &*by_name, &card).unwrap();
    let (loaded, said) = load(&path, &(&Cpu::new().unwrap()).into()).unwrap();
    assert_eq!((&said.settings["recipe"], &said), (&json!("common"), &card));
    assert_eq!(loaded.probabilities(&trials.all()).unwrap(), by_name.probabilities(&trials.all()).unwrap());
}

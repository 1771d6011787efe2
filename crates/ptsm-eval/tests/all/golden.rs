//! Scores, spread and chance against scikit-learn and SciPy (`lab/python/metrics_golden.py`; versions in the file).

use ptsm_eval::{METRICS, Scores, chance_threshold, deviation, mean};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/metrics.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Counts are exact and logarithms good to the last bits; only the order of summation differs.
fn close(got: f64, expected: f64) -> bool {
    (got - expected).abs() <= 1e-12 * expected.abs().max(1.0)
}

#[test]
fn scores_are_those_of_scikit_learn() {
    for case in golden()["scores"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let size = |key: &str| case[key].as_u64().unwrap() as usize;
        let labels: Vec<u32> = numbers(&case["labels"]).iter().map(|&l| l as u32).collect();
        let probabilities: Vec<f32> = numbers(&case["probabilities"]).iter().map(|&p| p as f32).collect();
        let scores = Scores::of(&labels, &probabilities, size("classes"), size("positive")).unwrap();
        assert_eq!(scores.n, size("n"));
        assert_eq!(serde_json::to_value(&scores.confusion).unwrap(), case["confusion"], "{name}");
        let expected = case["scores"].as_object().unwrap();
        assert_eq!(expected.len(), METRICS.len());
        for metric in METRICS {
            let got = (metric.get)(&scores);
            match expected[metric.name].as_f64() {
                Some(value) => assert!(close(got, value), "{name}, {}: {got}, not {value}", metric.name),
                None => assert!(got.is_nan(), "{name}, {}: {got}, not undefined", metric.name),
            }
        }
    }
}

#[test]
fn mean_and_deviation_are_those_of_numpy() {
    let spread = &golden()["spread"];
    let values = numbers(&spread["values"]);
    assert!(close(mean(&values), spread["mean"].as_f64().unwrap()));
    assert!(close(deviation(&values).unwrap(), spread["deviation"].as_f64().unwrap()));
}

#[test]
fn thresholds_are_those_of_scipy() {
    let golden = golden();
    let rows = golden["chance"].as_array().unwrap();
    assert!(rows.len() > 100);
    for row in rows {
        let [n, classes, alpha, expected] = numbers(row).try_into().unwrap();
        let threshold = chance_threshold(n as usize, 1.0 / classes, alpha);
        assert!(close(threshold * n, expected), "{n} trials, {classes} classes, {alpha}: {}", threshold * n);
    }
}

//! The spherical spline against numbers of NumPy and SciPy.
#![allow(clippy::unwrap_used)]

use ptsm_report::SphericalSpline;
use serde_json::Value;

#[test]
fn agrees_with_scipy() {
    let golden: Value = serde_json::from_str(include_str!("golden/spline.json")).unwrap();
    let list = |key: &str| golden[key].as_array().unwrap().clone();
    let place = |name: &Value| ptsm_signal::position(name.as_str().unwrap()).unwrap();
    let points: Vec<_> = list("names")
        .iter()
        .map(place)
        .zip(list("values").iter().map(|value| value.as_f64().unwrap()))
        .collect();
    let spline = SphericalSpline::fit(&points).unwrap();
    for (name, expected) in list("asked").iter().zip(list("expected")) {
        // The system's condition is about 1e6, so ten digits are left of sixteen.
        let difference = spline.at(place(name)) - expected.as_f64().unwrap();
        assert!(difference.abs() < 1e-9, "{name}: {difference}");
    }
}

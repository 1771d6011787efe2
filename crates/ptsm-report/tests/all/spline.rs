//! The spherical spline against numbers of NumPy and SciPy, and scalp maps against those of MNE.

use ptsm_report::SphericalSpline;
use serde_json::Value;

#[test]
fn agrees_with_scipy() {
    let golden: Value = serde_json::from_str(include_str!("../golden/spline.json")).unwrap();
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

/// The place on the sphere that a point of a map shows: the distance from the middle is the angle from the top, 1 at the equator.
fn shown(x: f64, y: f64) -> ptsm_signal::Position {
    let radius = x.hypot(y);
    let (sine, cosine) = (radius * std::f64::consts::FRAC_PI_2).sin_cos();
    let part = if radius > 0.0 { sine / radius } else { 0.0 };
    ptsm_signal::Position { x: part * x, y: part * y, z: cosine }
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(x, y)| of(x - a, y - b)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// MNE interpolates in the plane and this crate on the sphere, so they differ between electrodes, but show the same map.
#[test]
fn maps_look_like_those_of_mne() {
    let golden: Value = serde_json::from_str(include_str!("../golden/topomap.json")).unwrap();
    let numbers = |list: &Value| -> Vec<f64> {
        list.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let electrodes: Vec<_> = golden["names"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| ptsm_signal::position(name.as_str().unwrap()).unwrap())
        .collect();
    let places: Vec<Vec<f64>> = golden["places"].as_array().unwrap().iter().map(numbers).collect();
    assert!(places.len() > 500);
    for (name, case) in golden["cases"].as_object().unwrap() {
        let points: Vec<_> = electrodes.iter().copied().zip(numbers(&case["values"])).collect();
        let spline = SphericalSpline::of_scalp(&points).unwrap();
        let pairs: Vec<(f64, f64)> = places
            .iter()
            .zip(numbers(&case["field"]))
            .map(|(place, theirs)| (spline.at(shown(place[0], place[1])), theirs))
            .collect();
        let alike = correlation(&pairs);
        eprintln!("{name}: {alike:.5} at {} places", pairs.len());
        assert!(alike > 0.99, "{name}: {alike}");
    }
}

//! Filters against the numbers SciPy gave; `lab/python/signal_golden.py` makes them.
#![allow(clippy::unwrap_used)]

use ptsm_signal::filter::{
    CausalFilter, FilterStart, Pass, Resampler, Sections, WindowFunction, butterworth, fir, firwin, notch,
    zero_phase,
};
use serde_json::Value;

/// Both sides work in double precision and in the same order; what differs is rounding.
const TOLERANCE: f64 = 1e-10;

fn golden(part: &str) -> Vec<Value> {
    let text = include_str!("golden/scipy.json");
    let all: Value = serde_json::from_str(text).unwrap();
    all[part].as_array().unwrap().clone()
}

/// The wave the script filters.
fn wave(length: usize) -> Vec<f64> {
    let value = |t: f64| {
        40.0 + 0.05 * t
            + 30.0 * (0.37 * t).sin()
            + 12.0 * (1.31 * t + 0.4).cos()
            + 8.0 * (0.0021 * t * t).sin()
    };
    (0..length).map(|t| value(t as f64)).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn count(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn pass(row: &Value) -> Pass {
    match (row["low"].as_f64(), row["high"].as_f64()) {
        (None, Some(high)) => Pass::Low(high),
        (Some(low), None) => Pass::High(low),
        (Some(low), Some(high)) => Pass::Band(low, high),
        (None, None) => unreachable!("the script gives an edge to every filter"),
    }
}

/// Compares every `stride`th value, relative to the scale of the signal.
#[track_caller]
fn same(got: &[f64], want: &Value, stride: usize, scale: f64) {
    let (got, want): (Vec<_>, _) = (got.iter().step_by(stride).collect(), numbers(want));
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(&want).enumerate() {
        assert!((*g - w).abs() <= TOLERANCE * scale, "value {i}: {g} is not {w}");
    }
}

/// Holds a recursive filter's coefficients to its row.
fn coefficients(sections: &Sections, row: &Value) {
    let rows = row["sos"].as_array().unwrap();
    assert_eq!(sections.as_slice().len(), rows.len());
    for (section, want) in sections.as_slice().iter().zip(rows) {
        let ([b0, b1, b2], [a1, a2]) = (section.b, section.a);
        same(&[b0, b1, b2, 1.0, a1, a2], want, 1, 1.0);
        // The first section carries the gain, which can be small.
        let largest = numbers(want)[..3].iter().fold(0f64, |m, b| m.max(b.abs()));
        same(&section.b, &want.as_array().unwrap()[..3].into(), 1, largest);
    }
    let steady = row["steady"].as_array().unwrap();
    for (state, want) in sections.steady_state().iter().zip(steady) {
        let largest = numbers(want).iter().fold(1f64, |m, z| m.max(z.abs()));
        same(state, want, 1, largest);
    }
}

/// Holds what a recursive filter makes of the wave to its row.
fn outputs(sections: &Sections, row: &Value) {
    let (x, stride) = (wave(count(&row["length"])), count(&row["stride"]));
    let scale = x.iter().fold(0f64, |m, v| m.max(v.abs()));
    for (start, want) in [(FilterStart::Zero, "causal"), (FilterStart::FirstSample, "causal_from_first")] {
        let mut out = x.clone();
        CausalFilter::new(sections.clone(), 1, start).filter(&mut out).unwrap();
        same(&out, &row[want], stride, scale);
    }
    same(&zero_phase(sections, &x).unwrap(), &row["zero_phase"], stride, scale);

    let least = count(&row["shortest"]["length"]);
    same(&zero_phase(sections, &wave(least)).unwrap(), &row["shortest"]["zero_phase"], 1, scale);
    let error = zero_phase(sections, &wave(least - 1)).unwrap_err();
    assert!(error.to_string().contains(&format!("at least {least}")), "{error}");
}

#[test]
fn butterworth_filters_are_scipys() {
    for row in golden("butterworth") {
        let sections = butterworth(count(&row["order"]), pass(&row), number(&row["rate"])).unwrap();
        coefficients(&sections, &row);
        outputs(&sections, &row);
    }
    // Here the sections may stand in another order; together they are the same filter.
    for row in golden("symmetric") {
        let sections = butterworth(count(&row["order"]), pass(&row), number(&row["rate"])).unwrap();
        outputs(&sections, &row);
    }
}

#[test]
fn notches_are_scipys() {
    for row in golden("notch") {
        let [frequency, quality, rate] = ["frequency", "quality", "rate"].map(|k| number(&row[k]));
        let sections = notch(frequency, quality, rate).unwrap();
        coefficients(&sections, &row);
        outputs(&sections, &row);
    }
}

#[test]
fn windowed_sincs_are_scipys() {
    for row in golden("firwin") {
        let window = row["beta"].as_f64().map_or(WindowFunction::Hamming, WindowFunction::Kaiser);
        let filter = firwin(count(&row["taps"]), pass(&row), window, number(&row["rate"])).unwrap();
        same(&filter, &row["filter"], 1, filter.iter().fold(0f64, |m, h| m.max(h.abs())));
        if !row["out"].is_null() {
            let out = fir(&filter, &wave(count(&row["length"]))).unwrap();
            same(&out, &row["out"], count(&row["stride"]), 100.0);
        }
    }
}

#[test]
fn resampling_is_scipys() {
    for row in golden("resample") {
        let resampler = Resampler::between(number(&row["from"]), number(&row["to"])).unwrap();
        assert_eq!(resampler.ratio(), (count(&row["up"]), count(&row["down"])));
        let out = resampler.apply(&wave(count(&row["length"])));
        assert_eq!(out.len(), count(&row["out_length"]));
        same(&out, &row["out"], count(&row["stride"]), 100.0);
    }
}

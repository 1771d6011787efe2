//! Butterworth filters as second-order sections, step by step as `scipy.signal.butter(output="sos")` makes them.

use std::f64::consts::PI;

use nalgebra::Complex;

use super::{Pass, SecondOrderSection, Sections};
use crate::error::{Error, Result};

/// Largest order of the low-pass prototype: beyond it sections say less than rounding.
pub(crate) const LARGEST_ORDER: usize = 16;

/// A Butterworth filter. `order` is that of the low-pass prototype: a band-pass has twice as many poles, as in SciPy.
///
/// Sections are SciPy's, in its order. Of a band that is symmetric about a quarter of the rate rounding decides the order, there as here;
/// the filter is the same.
pub fn butterworth(order: usize, pass: Pass, rate_hz: f64) -> Result<Sections> {
    if !(1..=LARGEST_ORDER).contains(&order) {
        return Err(Error::pipeline(format!(
            "a filter of order {order} is not possible, orders go from 1 to {LARGEST_ORDER}"
        )));
    }
    let prototype = (0..order).map(|i| {
        // The middle pole of an odd order is exactly real.
        let m = 2.0 * i as f64 + 1.0 - order as f64;
        -Complex::new(0.0, PI * m / (2.0 * order as f64)).exp()
    });
    // The bilinear transform bends frequencies; the edges are bent the other way before.
    let warp = |edge: f64| 4.0 * (PI * edge / 2.0).tan();
    let degree = order as i32;
    let (zeros, poles, gain): (Vec<f64>, Vec<_>, f64) = match pass.normalised(rate_hz)? {
        Pass::Low(edge) => {
            let edge = warp(edge);
            (vec![-1.0; order], prototype.map(|p| p * edge).collect(), edge.powi(degree))
        }
        Pass::High(edge) => {
            let edge = warp(edge);
            let gain = 1.0 / product(prototype.clone().map(|p| -p)).re;
            (vec![1.0; order], prototype.map(|p| p.inv() * edge).collect(), gain)
        }
        Pass::Band(low, high) => {
            let (low, high) = (warp(low), warp(high));
            let (width, centre) = (high - low, (low * high).sqrt());
            let split = |p: Complex<f64>, sign: f64| {
                let p = p * (width / 2.0);
                p + (p * p - centre * centre).sqrt() * sign
            };
            let poles = prototype.clone().map(|p| split(p, 1.0)).chain(prototype.map(|p| split(p, -1.0)));
            let zeros = [vec![1.0; order], vec![-1.0; order]].concat();
            (zeros, poles.collect(), width.powi(degree))
        }
    };
    // Bilinear transform: of the zeros above those at 1 were at 0 and those at -1 at infinity.
    let at_zero = zeros.iter().filter(|&&z| z == 1.0).count() as i32;
    let gain = gain * (Complex::from(4f64.powi(at_zero)) / product(poles.iter().map(|p| 4.0 - p))).re;
    let poles = poles.iter().map(|p| (p + 4.0) / (-p + 4.0)).collect();
    Ok(pair(zeros, poles, gain))
}

fn product(factors: impl Iterator<Item = Complex<f64>>) -> Complex<f64> {
    factors.fold(Complex::from(1.0), |all, factor| all * factor)
}

/// SciPy's `zpk2sos` for real zeros: poles nearest the unit circle come last, each with the zeros nearest to it.
fn pair(mut zeros: Vec<f64>, poles: Vec<Complex<f64>>, gain: f64) -> Sections {
    let is_real = |p: &Complex<f64>| p.im.abs() <= 100.0 * f64::EPSILON * p.norm();
    // One of each conjugate pair, and the real poles.
    let mut real: Vec<f64> = poles.iter().filter(|p| is_real(p)).map(|p| p.re).collect();
    let mut upper: Vec<_> = poles.into_iter().filter(|p| !is_real(p) && p.im > 0.0).collect();
    if !zeros.len().is_multiple_of(2) {
        zeros.push(0.0);
        real.push(0.0);
    }
    let from_circle = |p: f64| (1.0 - p.abs()).abs();
    let mut sections = Vec::with_capacity(zeros.len() / 2);
    while !zeros.is_empty() {
        let complex = least(&upper, |p| from_circle(p.norm()));
        let single = least(&real, |&p| from_circle(p));
        let complex_first = match (complex, single) {
            (Some((_, c)), Some((_, s))) => c <= s,
            (complex, _) => complex.is_some(),
        };
        let (first, a) = if complex_first {
            let pole = take(&mut upper, complex);
            (pole, [-2.0 * pole.re, pole.norm_sqr()])
        } else {
            let one = take(&mut real, single);
            let next = least(&real, |&p| from_circle(p));
            let two = take(&mut real, next);
            (Complex::from(one), [-(one + two), one * two])
        };
        let mut nearest = || {
            let at = least(&zeros, |&z| (first - z).norm());
            take(&mut zeros, at)
        };
        let (one, two) = (nearest(), nearest());
        sections.push(SecondOrderSection { b: [1.0, -(one + two), one * two], a });
    }
    sections.reverse();
    if let Some(first) = sections.first_mut() {
        first.b = first.b.map(|b| b * gain);
    }
    Sections(sections)
}

/// Place and key of the item with the least key, the first of several.
fn least<T>(items: &[T], key: impl Fn(&T) -> f64) -> Option<(usize, f64)> {
    items.iter().map(key).enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Takes the item at a place found by [`least`]; the default where there was none.
fn take<T: Default>(items: &mut Vec<T>, found: Option<(usize, f64)>) -> T {
    found.map(|(at, _)| items.swap_remove(at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_filters_are_refused() {
        for order in [0, LARGEST_ORDER + 1, usize::MAX] {
            assert!(butterworth(order, Pass::Low(10.0), 100.0).is_err());
        }
        for pass in [Pass::Low(50.0), Pass::High(0.0), Pass::Low(f64::NAN), Pass::Band(8.0, 60.0)] {
            let error = butterworth(4, pass, 100.0).unwrap_err();
            assert!(error.to_string().contains("50 Hz") && error.hint().is_some(), "{error}");
        }
        assert!(butterworth(4, Pass::Band(30.0, 8.0), 100.0).is_err());
        assert!(butterworth(4, Pass::Low(10.0), f64::NAN).is_err());
    }
}

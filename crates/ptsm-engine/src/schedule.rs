//! Learning rates over time.

use std::f64::consts::PI;

/// A learning rate as a function of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The highest rate.
    pub rate: f64,
    /// Steps over which the rate rises linearly to it.
    pub warm_up: u64,
    /// What follows.
    pub shape: RateShape,
}

/// What a rate does after its warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateShape {
    /// Stays.
    Constant,
    /// Falls as half a cosine to `least` at step `steps`, counted with the warm-up, and stays there.
    Cosine {
        /// Steps in all.
        steps: u64,
        /// The rate at the end.
        least: f64,
    },
    /// Falls as `1 / (1 + 10 p)^0.75`, where p is the part of `steps` that is done: Ganin et al. 2016.
    Inverse {
        /// Steps in all.
        steps: u64,
    },
}

impl Schedule {
    /// The same rate for ever.
    pub fn constant(rate: f64) -> Schedule {
        Schedule { rate, warm_up: 0, shape: RateShape::Constant }
    }

    /// Half a cosine to zero.
    pub fn cosine(rate: f64, steps: u64) -> Schedule {
        Schedule { rate, warm_up: 0, shape: RateShape::Cosine { steps, least: 0.0 } }
    }

    /// The same, after a linear rise.
    pub fn after_warm_up(self, warm_up: u64) -> Schedule {
        Schedule { warm_up, ..self }
    }

    /// The rate of a step, counted from 0.
    pub fn at(&self, step: u64) -> f64 {
        if step < self.warm_up {
            return self.rate * (step + 1) as f64 / self.warm_up as f64;
        }
        match self.shape {
            RateShape::Constant => self.rate,
            RateShape::Cosine { steps, least } => {
                let span = steps.saturating_sub(self.warm_up).max(1) as f64;
                let part = ((step - self.warm_up) as f64 / span).min(1.0);
                least + (self.rate - least) * 0.5 * (1.0 + (PI * part).cos())
            }
            RateShape::Inverse { steps } => {
                let part = (step as f64 / steps.max(1) as f64).min(1.0);
                self.rate / (1.0 + 10.0 * part).powf(0.75)
            }
        }
    }
}

/// The one-cycle policy of Smith and Topin (2018) in PyTorch's form, from its highest rate on: the rate stays for half of the steps and
/// then falls as half a cosine, while Adam's first beta falls and rises again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneCycle {
    /// The rate of the first half.
    pub rate: f64,
    /// The rate at the end.
    pub least: f64,
    /// The first beta at both ends, and in the middle.
    pub betas: (f64, f64),
    /// Steps in all.
    pub steps: u64,
}

impl OneCycle {
    /// The rate and the first beta of a step, counted from 0.
    pub fn at(&self, step: u64) -> (f64, f64) {
        let cosine = |from: f64, to: f64, part: f64| to + (from - to) * 0.5 * (1.0 + (PI * part).cos());
        let (middle, last) = (0.5 * self.steps as f64 - 1.0, self.steps as f64 - 1.0);
        let (ends, least) = self.betas;
        let step = (step as f64).min(last);
        if step <= middle {
            return (self.rate, cosine(ends, least, step / middle.max(1.0)));
        }
        let part = (step - middle) / (last - middle);
        (cosine(self.rate, self.least, part), cosine(least, ends, part))
    }
}

#[cfg(test)]
mod tests {
    use super::{OneCycle, RateShape, Schedule};

    /// Numbers of PyTorch's `OneCycleLR`.
    #[test]
    fn one_cycle_is_pytorchs() {
        let cycle = OneCycle { rate: 1e-4, least: 1e-5, betas: (0.95, 0.85), steps: 100 };
        for (step, rate, beta) in [
            (25, 1e-4, 0.8983974211),
            (50, 9.991120278e-5, 0.8500986636),
            (75, 5.217442662e-5, 0.9031395260),
            (99, 1e-5, 0.95),
        ] {
            let (r, b) = cycle.at(step);
            assert!((r - rate).abs() < 1e-13 && (b - beta).abs() < 1e-10, "{step}: {r} {b}");
        }
        assert_eq!(cycle.at(0), (1e-4, 0.95));
        for steps in [1, 2, 3] {
            let cycle = OneCycle { steps, ..cycle };
            for step in 0..4 {
                let (rate, beta) = cycle.at(step);
                assert!((1e-5..=1e-4).contains(&rate) && (0.85..=0.95).contains(&beta), "{steps} {step}");
            }
        }
    }

    #[test]
    fn rises_then_falls() {
        let s = Schedule::cosine(1.0, 110).after_warm_up(10);
        assert!((s.at(0) - 0.1).abs() < 1e-15 && (s.at(9) - 1.0).abs() < 1e-15);
        assert!((s.at(10) - 1.0).abs() < 1e-15 && (s.at(60) - 0.5).abs() < 1e-15);
        assert!(s.at(110).abs() < 1e-15 && s.at(10_000).abs() < 1e-15);
        assert_eq!(Schedule::constant(0.3).at(7), 0.3);
    }

    #[test]
    fn falls_as_ganin_et_al_let_it() {
        let s = Schedule { rate: 0.01, warm_up: 0, shape: RateShape::Inverse { steps: 10 } };
        for (step, rate) in [(0, 0.01), (1, 0.005946035575), (5, 0.002608474300), (10, 0.001655600261)] {
            assert!((s.at(step) - rate).abs() < 1e-12, "{step}: {}", s.at(step));
        }
    }
}

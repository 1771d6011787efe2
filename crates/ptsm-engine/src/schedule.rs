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
    pub shape: Shape,
}

/// What a rate does after its warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
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
        Schedule { rate, warm_up: 0, shape: Shape::Constant }
    }

    /// Half a cosine to zero.
    pub fn cosine(rate: f64, steps: u64) -> Schedule {
        Schedule { rate, warm_up: 0, shape: Shape::Cosine { steps, least: 0.0 } }
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
            Shape::Constant => self.rate,
            Shape::Cosine { steps, least } => {
                let span = steps.saturating_sub(self.warm_up).max(1) as f64;
                let part = ((step - self.warm_up) as f64 / span).min(1.0);
                least + (self.rate - least) * 0.5 * (1.0 + (PI * part).cos())
            }
            Shape::Inverse { steps } => {
                let part = (step as f64 / steps.max(1) as f64).min(1.0);
                self.rate / (1.0 + 10.0 * part).powf(0.75)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Schedule, Shape};

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
        let s = Schedule { rate: 0.01, warm_up: 0, shape: Shape::Inverse { steps: 10 } };
        for (step, rate) in [(0, 0.01), (1, 0.005946035575), (5, 0.002608474300), (10, 0.001655600261)] {
            assert!((s.at(step) - rate).abs() < 1e-12, "{step}: {}", s.at(step));
        }
    }
}

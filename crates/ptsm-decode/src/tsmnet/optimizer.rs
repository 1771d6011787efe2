//! Adam, on flat space and on the matrices with orthonormal columns.

use nalgebra::DMatrix;

use super::weights::{BIMAP, Sizes, Weights};

const BETAS: [f64; 2] = [0.9, 0.999];
const SMALL: f64 = 1e-8;

/// Adam's moments. On the curved space the second one is a single number, kept in every entry.
#[derive(Clone)]
pub(super) struct Adam {
    pub(super) first: Weights,
    pub(super) second: Weights,
    pub(super) steps: u64,
}

impl Adam {
    pub(super) fn new(sizes: &Sizes) -> Adam {
        Adam { first: Weights::zeros(sizes), second: Weights::zeros(sizes), steps: 0 }
    }

    /// One step. Decay is added to gradients, but not to that of the orthonormal matrix.
    pub(super) fn step(&mut self, weights: &mut Weights, gradient: &Weights, rate: f64, decay: f64) {
        self.steps += 1;
        let [first, second] = BETAS.map(|beta| 1.0 - beta.powf(self.steps as f64));
        for i in 0..weights.0.len() {
            let (m, q) = (&mut self.first.0[i], &mut self.second.0[i]);
            if i == BIMAP {
                turn(&mut weights.0[i], &gradient.0[i], m, q, rate, [first, second]);
                continue;
            }
            let entries =
                weights.0[i].iter_mut().zip(gradient.0[i].iter()).zip(m.iter_mut().zip(q.iter_mut()));
            for ((w, g), (m, q)) in entries {
                let g = g + decay * *w;
                *m = BETAS[0] * *m + (1.0 - BETAS[0]) * g;
                *q = BETAS[1] * *q + (1.0 - BETAS[1]) * g * g;
                *w -= rate * (*m / first) / ((*q / second).sqrt() + SMALL);
            }
        }
    }
}

/// A step on the Stiefel manifold with its canonical metric (as geoopt does it): the gradient as a tangent vector, one second moment for
/// all of it, a Cayley step that keeps the columns orthonormal, and the first moment carried along.
fn turn(
    w: &mut DMatrix<f64>,
    gradient: &DMatrix<f64>,
    m: &mut DMatrix<f64>,
    q: &mut DMatrix<f64>,
    rate: f64,
    [first, second]: [f64; 2],
) {
    let tangent = gradient - &*w * gradient.transpose() * &*w;
    let length = tangent.norm_squared() - 0.5 * (w.transpose() * &tangent).norm_squared();
    *m = &*m * BETAS[0] + &tangent * (1.0 - BETAS[0]);
    let scalar = BETAS[1] * q[0] + (1.0 - BETAS[1]) * length;
    q.fill(scalar);
    let step = &*m * (-rate / first / ((scalar / second).sqrt() + SMALL));
    let half = (&step * w.transpose() - &*w * step.transpose()) * 0.5;
    let one = DMatrix::identity(w.nrows(), w.nrows());
    // One plus a skew matrix is never singular.
    let Some(inverse) = (&one - &half).try_inverse() else { return };
    let turn = inverse * (one + half);
    *w = &turn * &*w;
    *m = turn * &*m;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tsmnet::golden::{close, matrix};
    use crate::tsmnet::weights::orthonormal;

    #[test]
    fn cayley_steps_are_as_specified() {
        let start = matrix(3, 2, 1, 1.0) + DMatrix::identity(3, 2);
        let mut w = orthonormal(&start).unwrap();
        let rows = |w: &DMatrix<f64>| w.transpose().as_slice().to_vec();
        close(
            &rows(&w),
            &[0.9424599351, -0.05769245019, -0.04513636867, 0.9540217338, 0.3312581757, 0.2941328146],
            1e-9,
        );
        let gradient = matrix(3, 2, 2, 1.0);
        let (mut m, mut q) = (DMatrix::zeros(3, 2), DMatrix::zeros(3, 2));
        let after = [
            [0.942279655, -0.0753295948, -0.02774200545, 0.9534482216, 0.3336756402, 0.2919964739],
            [0.9415435041, -0.09341580663, -0.009812862665, 0.9527747024, 0.3367484784, 0.2889530301],
        ];
        for (step, after) in after.iter().enumerate() {
            let correct = BETAS.map(|beta| 1.0 - beta.powf(step as f64 + 1.0));
            turn(&mut w, &gradient, &mut m, &mut q, 0.01, correct);
            close(&rows(&w), after, 1e-9);
            assert!((w.transpose() * &w - DMatrix::identity(2, 2)).amax() < 2e-15);
        }
    }

    #[test]
    fn the_rest_is_adam_with_decay() {
        let sizes =
            Sizes { channels: 2, samples: 9, classes: 2, filters: 1, kernel: 3, outputs: 3, subspace: 2 };
        let mut weights = Weights::zeros(&sizes);
        weights.0[BIMAP] = DMatrix::identity(3, 2);
        weights.0[0].fill(2.0);
        let mut gradient = Weights::zeros(&sizes);
        gradient.0[0].fill(-0.1);
        let mut adam = Adam::new(&sizes);
        // The first step has the size of the rate, whatever the gradient; decay turns its sign here.
        adam.step(&mut weights, &gradient, 0.01, 0.1);
        close(weights.0[0].as_slice(), &[1.99; 3], 1e-6);
        assert_eq!(weights.0[BIMAP], DMatrix::identity(3, 2));
    }
}

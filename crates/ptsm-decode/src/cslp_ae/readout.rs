//! Logistic regression on the task latents, laid into the network's head.

use nalgebra::DMatrix;
use ptsm_engine::Parameters;

use crate::classic::{Logistic, Regularisation};
use crate::error::Result;

/// Classes count equally, as they do in the pairs from which the latents were learnt.
const REGULARISATION: Regularisation =
    Regularisation { inverse_penalty: 1.0, balanced: true, tolerance: 1e-5 };

/// Learns classes from latents `[n, F]` and makes the network's linear head say the same.
pub(super) fn fit(
    parameters: &mut Parameters<f32>,
    latents: &[f32],
    labels: &[u32],
    classes: usize,
) -> Result<()> {
    let features = latents.len() / labels.len().max(1);
    let mut x = DMatrix::from_row_iterator(labels.len(), features, latents.iter().map(|v| f64::from(*v)));
    let n = labels.len() as f64;
    let mut standard = vec![];
    for mut column in x.column_iter_mut() {
        let mean = column.sum() / n;
        column.add_scalar_mut(-mean);
        let deviation = (column.norm_squared() / n).sqrt();
        let deviation = if deviation > 0.0 { deviation } else { 1.0 };
        column /= deviation;
        standard.push((mean, deviation));
    }
    let found = Logistic::fit(&x, labels, classes, REGULARISATION)?;
    // Standardised and weighed is weighed otherwise and shifted. Of two classes the first has no weights.
    let first = classes - found.weights.nrows();
    let mut weights = vec![0.0f32; classes * features];
    let mut biases = vec![0.0f32; classes];
    for (row, of_class) in found.weights.row_iter().enumerate() {
        let mut bias = found.biases[row];
        for (j, (weight, (mean, deviation))) in of_class.iter().zip(&standard).enumerate() {
            weights[(first + row) * features + j] = (weight / deviation) as f32;
            bias -= weight * mean / deviation;
        }
        biases[first + row] = bias as f32;
    }
    parameters.set(0, "task_head.linear.weight", &weights)?;
    parameters.set(0, "task_head.linear.bias", &biases)?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ptsm_engine::{Graph, Init};

    use super::*;

    /// Two classes that are each other's mirror image part in the middle, also where one is five times as frequent.
    #[test]
    fn a_rare_class_is_not_given_up() {
        let mut g = Graph::new();
        g.parameter("task_head.linear.weight", &[2, 1], Init::Constant(0.0)).unwrap();
        g.parameter("task_head.linear.bias", &[2], Init::Constant(0.0)).unwrap();
        let mut parameters = Parameters::<f32>::new(&g, &[0]).unwrap();
        let (mut latents, mut labels) = (vec![], vec![]);
        for value in [-2.0f32, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0] {
            latents.extend([value; 5]);
            labels.extend([0; 5]);
            latents.push(-value);
            labels.push(1);
        }
        fit(&mut parameters, &latents, &labels, 2).unwrap();
        let weight = parameters.get(0, "task_head.linear.weight").unwrap();
        let bias = parameters.get(0, "task_head.linear.bias").unwrap();
        assert!(weight[1] - weight[0] > 0.5, "{weight:?}");
        assert!((bias[1] - bias[0]).abs() < 1e-3, "{bias:?}");
    }
}

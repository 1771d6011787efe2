//! Mean cross-entropy of logits against class labels, with label smoothing, and against probabilities.
//!
//! With smoothing s the target is `1 - s` on the label plus `s / K` everywhere (PyTorch's rule).

use super::{Backward, Call, Operation, operands};
use crate::codegen::{Emit, Precision, number};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;

/// `(logits [B, K], labels [B]) -> scalar`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropy {
    smoothing: f64,
}

/// `(logits, labels, grad scalar) -> [B, K]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropyGrad {
    smoothing: f64,
}

impl Graph {
    /// Mean cross-entropy.
    ///
    /// # Shapes
    /// logits `[B, K]`, labels `[B]` -> scalar
    pub fn cross_entropy(&mut self, logits: Id, labels: Id, smoothing: f64) -> Result<Id> {
        if !(0.0..1.0).contains(&smoothing) {
            let message = format!("label smoothing must be in 0..1, got {smoothing}");
            return Err(self.misfit("cross_entropy", message));
        }
        self.check_labels("cross_entropy", logits, labels)?;
        self.apply(CrossEntropy { smoothing }, &[logits, labels])
    }

    /// Mean cross-entropy against probabilities, such as those of a teacher: rows that add up to 1.
    ///
    /// # Shapes
    /// logits `[B, K]`, targets `[B, K]` -> scalar
    pub fn soft_cross_entropy(&mut self, logits: Id, targets: Id) -> Result<Id> {
        let (z, q) = (self.shape(logits), self.shape(targets));
        if z.len() != 2 || z != q {
            let message = format!("wants logits [B, K] and targets [B, K], got {z:?} and {q:?}");
            return Err(self.misfit("soft_cross_entropy", message));
        }
        let classes = z[1];
        // ln sum exp z - sum_k q_k z_k: the first term is what the cross-entropy against the first class everywhere lacks of its logit.
        let none = self.sum_axes(targets, &[1])?;
        let none = self.scale(none, 0.0)?;
        let of_first = self.apply(CrossEntropy { smoothing: 0.0 }, &[logits, none])?;
        let first = self.slice(logits, 1, 0, 1)?;
        let first = self.mean(first)?;
        let log_sum = self.add(of_first, first)?;
        let own = self.mul(targets, logits)?;
        let own = self.mean(own)?;
        let own = self.scale(own, classes as f64)?;
        self.sub(log_sum, own)
    }

    /// Labels used as indices must be declared as labels, and with as many classes as there are places.
    fn check_labels(&self, operation: &'static str, logits: Id, labels: Id) -> Result<()> {
        self.check(labels)?;
        let (declared, shape) = (self.label_classes(labels), self.shape(logits));
        match (declared, shape.last()) {
            (Some(classes), Some(&k)) if classes <= k => Ok(()),
            (Some(classes), _) => {
                Err(self
                    .misfit(operation, format!("logits {shape:?} do not fit labels of {classes} classes")))
            }
            (None, _) => {
                Err(self.misfit(operation, "the labels must be an input declared with `labels`".into()))
            }
        }
    }
}

impl Operation for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [logits, labels] = operands(inputs)?;
        if logits.len() != 2 || labels != &logits[..1] {
            return Err(format!("wants logits [B, K] and labels [B], got {logits:?} and {labels:?}"));
        }
        Ok(vec![])
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let op = CrossEntropyGrad { smoothing: self.smoothing };
        Ok(vec![Some(at.graph.apply(op, &[at.inputs[0], at.inputs[1], at.grad])?), None])
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        inputs[0][1]
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let k = call.shapes[0][1];
        let (on, off) = (T::of(1.0 - self.smoothing), T::of(self.smoothing / k as f64));
        let mut sum = T::ZERO;
        for (logits, label) in call.inputs[0].chunks_exact(k).zip(call.inputs[1]) {
            call.work.copy_from_slice(logits);
            let log_sum = super::softmax::softmax_row(call.work);
            sum += on * (log_sum - logits[label.wide() as usize]);
            if self.smoothing > 0.0 {
                sum += logits.iter().fold(T::ZERO, |s, &x| s + (log_sum - x)) * off;
            }
        }
        call.out[0] = sum * T::of(1.0 / call.shapes[0][0] as f64);
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], output: &[usize], _: Precision) -> usize {
        inputs[0][0] + output.len()
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [rows, k] = *at.shapes[0] else { return };
        let (operands, smoothing) = (at.arguments(), number(self.smoothing));
        at.block(format!("cross_entropy(at, {operands}, {}, {}, {rows}, {k}, {smoothing})", at.out, at.work));
    }
}

impl Operation for CrossEntropyGrad {
    fn name(&self) -> &'static str {
        "cross_entropy gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [logits, _, _] = operands(inputs)?;
        Ok(logits.to_vec())
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let k = call.shape[1];
        let factor = call.inputs[2][0] * T::of(1.0 / call.shape[0] as f64);
        let (on, off) = (T::of(1.0 - self.smoothing), T::of(self.smoothing / k as f64));
        call.out.copy_from_slice(call.inputs[0]);
        for (row, label) in call.out.chunks_exact_mut(k).zip(call.inputs[1]) {
            super::softmax::softmax_row(row);
            row[label.wide() as usize] -= on;
            row.iter_mut().for_each(|x| *x = (*x - off) * factor);
        }
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [rows, k] = *at.shape else { return };
        let (operands, smoothing) = (at.arguments(), number(self.smoothing));
        let call = format!("cross_entropy_grad(at, {operands}, {}, {rows}, {k}, {smoothing})", at.out);
        at.each(32 * rows, rows * k * 4, call);
    }
}

//! Supervised NT-Xent: unit vectors z, similarities `S_ij = z_i . z_j / tau`; for each anchor with at least one
//! other sample of its label, minus the mean over those of `S_ip - ln sum_{a != i} exp S_ia`; the mean over such
//! anchors, 0 if there is none.

use super::{Backward, Call, Operation, operands};
use crate::codegen::{Emit, Precision, number};
use crate::error::Result;
use crate::graph::{Graph, Id};
use crate::kernels::Real;
use crate::kernels::rows::RowSum;

/// `(features [B, N], labels [B]) -> scalar`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NtXent {
    temperature: f64,
}

/// `(features, labels, grad scalar) -> [B, N]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NtXentGrad {
    temperature: f64,
}

impl Graph {
    /// Supervised contrastive loss on rows.
    ///
    /// # Shapes
    /// features `[B, N]`, labels `[B]` -> scalar
    pub fn nt_xent(&mut self, features: Id, labels: Id, temperature: f64) -> Result<Id> {
        if temperature.is_nan() || temperature <= 0.0 {
            return Err(self.misfit("nt_xent", format!("the temperature must be above 0, got {temperature}")));
        }
        self.apply(NtXent { temperature }, &[features, labels])
    }
}

/// Norms below this count as this, so that a zero row has a finite gradient.
const LEAST_NORM: f64 = 1e-12;

/// Unit rows, their norms and, row by row, the softmax over the other samples.
struct Similarities<'a, T> {
    unit: &'a mut [T],
    norm: &'a mut [T],
    share: &'a mut [T],
    log_sum: &'a mut [T],
}

fn workspace(features: &[usize]) -> usize {
    let (b, n) = (features[0], features[1]);
    b * n + b + b * b + b
}

impl<'a, T: Real> Similarities<'a, T> {
    /// Fills `share[i, j]` with `exp(S_ij) / sum_{a != i} exp(S_ia)`, 0 on the diagonal, keeping `S` nowhere.
    fn new(
        work: &'a mut [T],
        features: &[T],
        b: usize,
        n: usize,
        temperature: f64,
        isa: crate::kernels::Isa,
    ) -> Self {
        let (unit, rest) = work.split_at_mut(b * n);
        let (norm, rest) = rest.split_at_mut(b);
        let (share, log_sum) = rest.split_at_mut(b * b);
        for ((unit, row), norm) in unit.chunks_exact_mut(n).zip(features.chunks_exact(n)).zip(norm.iter_mut())
        {
            *norm = RowSum::Dot(row, row).on(isa).sqrt().larger(T::of(LEAST_NORM));
            unit.iter_mut().zip(row).for_each(|(u, &x)| *u = x / *norm);
        }
        share.fill(T::ZERO);
        crate::kernels::product::DotProducts {
            a: unit,
            lda: n,
            a_item: 0,
            outputs: b,
            b: unit,
            ldb: 0,
            b_item: 0,
            rows: 1,
            taps: b,
            step: n,
            length: n,
            items: 1,
            out: share,
            ld_out: b,
        }
        .run(isa);
        let inverse = T::of(1.0 / temperature);
        for (i, row) in share.chunks_exact_mut(b).enumerate() {
            row.iter_mut().for_each(|s| *s *= inverse);
            // The anchor itself is left out of its own sum: far below every other similarity.
            row[i] = -T::of(1e30);
            log_sum[i] = super::softmax::softmax_row(row);
            row[i] = T::ZERO;
        }
        Similarities { unit, norm, share, log_sum }
    }
}

/// Other samples with the anchor's label.
fn positives<T: Real>(labels: &[T], i: usize) -> impl Iterator<Item = usize> + '_ {
    labels.iter().enumerate().filter(move |(j, l)| *j != i && **l == labels[i]).map(|(j, _)| j)
}

fn anchors<T: Real>(labels: &[T]) -> usize {
    (0..labels.len()).filter(|&i| positives(labels, i).next().is_some()).count()
}

impl Operation for NtXent {
    fn name(&self) -> &'static str {
        "nt_xent"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [features, labels] = operands(inputs)?;
        if features.len() != 2 || labels != &features[..1] || features[0] < 2 {
            return Err(format!(
                "wants features [B, N] and labels [B] with B of at least 2, got {features:?} and {labels:?}"
            ));
        }
        Ok(vec![])
    }

    fn gradient(&self, at: Backward<'_>) -> Result<Vec<Option<Id>>> {
        let op = NtXentGrad { temperature: self.temperature };
        Ok(vec![Some(at.graph.apply(op, &[at.inputs[0], at.inputs[1], at.grad])?), None])
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        workspace(inputs[0])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [b, n] = *call.shapes[0] else { return };
        let (labels, isa) = (call.inputs[1], call.cpu.isa);
        let s = Similarities::new(call.work, call.inputs[0], b, n, self.temperature, isa);
        let inverse = T::of(1.0 / self.temperature);
        let mut total = T::ZERO;
        for i in 0..b {
            let (mut sum, mut count) = (T::ZERO, 0.0);
            for j in positives(labels, i) {
                let similarity = RowSum::Dot(&s.unit[i * n..][..n], &s.unit[j * n..][..n]).on(isa) * inverse;
                sum += s.log_sum[i] - similarity;
                count += 1.0;
            }
            if count > 0.0 {
                total += sum * T::of(1.0 / count);
            }
        }
        let anchors = anchors(labels);
        call.out[0] = if anchors == 0 { T::ZERO } else { total * T::of(1.0 / anchors as f64) };
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], output: &[usize], _: Precision) -> usize {
        workspace(inputs[0]) + inputs[0][0] + output.len()
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [b, n] = *at.shapes[0] else { return };
        let (operands, inverse) = (at.arguments(), number(1.0 / self.temperature));
        at.block(format!("nt_xent(at, {operands}, {}, {}, {b}, {n}, {inverse})", at.out, at.work));
    }
}

impl Operation for NtXentGrad {
    fn name(&self) -> &'static str {
        "nt_xent gradient"
    }

    fn shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, String> {
        let [features, _, _] = operands(inputs)?;
        Ok(features.to_vec())
    }

    fn workspace(&self, inputs: &[&[usize]], _: &[usize]) -> usize {
        workspace(inputs[0])
    }

    fn run<T: Real>(&self, call: Call<'_, T>) {
        let [b, n] = *call.shape else { return };
        let (labels, isa) = (call.inputs[1], call.cpu.isa);
        let s = Similarities::new(call.work, call.inputs[0], b, n, self.temperature, isa);
        let anchors = anchors(labels);
        if anchors == 0 {
            return call.out.fill(T::ZERO);
        }
        let factor = call.inputs[2][0] * T::of(1.0 / (anchors as f64 * self.temperature));
        // dL/dS_ij, the loss being linear in S except for the log-sum.
        for i in 0..b {
            let count = positives(labels, i).count();
            let row = &mut s.share[i * b..][..b];
            if count == 0 {
                row.fill(T::ZERO);
                continue;
            }
            for j in positives(labels, i) {
                row[j] -= T::of(1.0 / count as f64);
            }
            row.iter_mut().for_each(|x| *x *= factor);
        }
        // dL/dz_i = sum_j (G_ij + G_ji) z_j, then through the normalisation.
        for (i, out) in call.out.chunks_exact_mut(n).enumerate() {
            out.fill(T::ZERO);
            for j in 0..b {
                let weight = s.share[i * b + j] + s.share[j * b + i];
                let other = &s.unit[j * n..][..n];
                out.iter_mut().zip(other).for_each(|(o, &z)| *o += weight * z);
            }
            let unit = &s.unit[i * n..][..n];
            let along = RowSum::Dot(out, unit).on(isa);
            out.iter_mut().zip(unit).for_each(|(o, &u)| *o = (*o - along * u) / s.norm[i]);
        }
    }

    fn cuda_workspace(&self, inputs: &[&[usize]], output: &[usize], _: Precision) -> usize {
        workspace(inputs[0]) + inputs[0][0] + output.len()
    }

    fn cuda(&self, at: &mut Emit<'_>) {
        let [b, n] = *at.shape else { return };
        let (operands, inverse) = (at.arguments(), number(1.0 / self.temperature));
        at.block(format!("nt_xent_grad(at, {operands}, {}, {}, {b}, {n}, {inverse})", at.out, at.work));
    }
}

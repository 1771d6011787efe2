//! QL steps of several matrices at once. Each rotation needs the one before, a square root and a quotient away; eight matrices wait for
//! theirs together.

use std::array::from_fn;

use nalgebra::DMatrix;

use super::versions;
use super::{Eigen, STEPS, Work};
use crate::lanes::{Isa, LANES, Lanes};

/// Tridiagonal matrices beside each other, with the rows that the present step of each is about: from `first` to `last`, or none.
pub(crate) struct TridiagonalBatch {
    diagonal: Vec<Lanes>,
    beside: Vec<Lanes>,
    first: [usize; LANES],
    last: [usize; LANES],
    /// Cosine and sine of the rotation of row i and the next.
    turns: Vec<[Lanes; 2]>,
    /// Whether a matrix fell apart within a step, which is left to the form for one matrix.
    apart: bool,
}

/// As [`super::symmetric`], of up to eight matrices of one size. Nothing where that is not what they are, or one of them is for the form for
/// one matrix.
pub(super) fn several(matrices: &[DMatrix<f64>], isa: Isa) -> Option<Vec<Eigen>> {
    let size = matrices.first()?.nrows();
    if !(2..=LANES).contains(&matrices.len()) || size < 2 || matrices.iter().any(|m| m.nrows() != size) {
        return None;
    }
    let mut works = matrices.iter().map(|matrix| Work::new(matrix, isa)).collect::<Option<Vec<_>>>()?;
    works.iter_mut().for_each(Work::reduce);
    let lane = |of: fn(&Work) -> &[f64], i: usize| from_fn(|l| works.get(l).map_or(0.0, |work| of(work)[i]));
    let mut all = TridiagonalBatch {
        diagonal: (0..size).map(|i| lane(|work| &work.diagonal, i)).collect(),
        beside: (0..size).map(|i| lane(|work| &work.beside, i)).collect(),
        first: from_fn(|l| if l < matrices.len() { 0 } else { size }),
        last: [size; LANES],
        turns: vec![[[0.0; LANES]; 2]; size],
        apart: false,
    };
    let mut steps = [0; LANES];
    let mut logs = vec![RotationLog::default(); works.len()];
    while all.next(&mut steps, size)? {
        versions::sweep(isa, &mut all);
        if all.apart {
            return None;
        }
        logs.iter_mut().enumerate().for_each(|(l, log)| log.add(&all, l));
    }
    // The vectors come last and one matrix after the other: those of eight are more than fits near the processor.
    let one = |((l, work), log): ((usize, &mut Work), RotationLog)| {
        work.diagonal.iter_mut().zip(&all.diagonal).for_each(|(to, from)| *to = from[l]);
        let mut vectors = work.unfold();
        let mut rest = &log.turns[..];
        for (last, count) in log.steps {
            let (own, after) = rest.split_at(count);
            versions::rotate(isa, &mut vectors, work.stride, last, own);
            rest = after;
        }
        work.sorted(&vectors)
    };
    Some(works.iter_mut().enumerate().zip(logs).map(one).collect())
}

/// All rotations of one matrix.
#[derive(Clone, Default)]
struct RotationLog {
    turns: Vec<[f64; 2]>,
    /// The last row of each step, and how many rotations it has.
    steps: Vec<(usize, usize)>,
}

impl RotationLog {
    fn add(&mut self, all: &TridiagonalBatch, l: usize) {
        let (first, last) = (all.first[l], all.last[l]);
        if first < last {
            self.turns.extend(all.turns[first..last].iter().rev().map(|turn| turn.map(|lanes| lanes[l])));
            self.steps.push((last, last - first));
        }
    }
}

impl TridiagonalBatch {
    /// Finds the rows of the next step of every matrix; false where all are diagonal, nothing where one takes too many.
    fn next(&mut self, steps: &mut [usize; LANES], size: usize) -> Option<bool> {
        for (l, steps) in steps.iter_mut().enumerate() {
            while self.first[l] < size {
                let first = self.first[l];
                let end = (first..size - 1).find(|&m| self.splits(m, l)).unwrap_or(size - 1);
                if end > first {
                    self.last[l] = end;
                    *steps += 1;
                    break;
                }
                self.first[l] += 1;
                *steps = 0;
            }
            if self.first[l] >= size {
                self.last[l] = size;
            }
        }
        if steps.iter().any(|&steps| steps > STEPS) {
            return None;
        }
        Some(self.first.iter().any(|&first| first < size))
    }

    /// As [`Work::splits`].
    fn splits(&self, m: usize, l: usize) -> bool {
        let (size, next, beside) = (self.diagonal[m][l], self.diagonal[m + 1][l], self.beside[m][l]);
        beside.abs() <= f64::EPSILON * (size * next).abs().sqrt().max(0.5)
    }
}

/// One implicit QL step of every matrix, as [`Work::step`] does it.
#[inline(always)]
pub(crate) fn sweep(all: &mut TridiagonalBatch) {
    let TridiagonalBatch { diagonal: d, beside: e, first, last, turns, apart } = all;
    let busy = |l: &usize| first[*l] < last[*l];
    let top = (0..LANES).filter(busy).map(|l| first[l]).min().unwrap_or(0);
    let bottom = (0..LANES).filter(busy).map(|l| last[l]).max().unwrap_or(0);
    let (from, to): (Lanes, Lanes) = (first.map(|v| v as f64), last.map(|v| v as f64));
    let mut g: Lanes = from_fn(|l| if busy(&l) { shift(d, e, first[l], last[l], l) } else { 0.0 });
    let (mut sine, mut cosine, mut moved) = ([1.0; LANES], [1.0; LANES], [0.0; LANES]);
    let mut zeros = [0.0; LANES];
    for i in (top..bottom).rev() {
        let at = i as f64;
        let active: [bool; LANES] = from_fn(|l| (from[l] <= at) & (at < to[l]));
        let choose =
            |new: &Lanes, old: &Lanes| -> Lanes { from_fn(|l| if active[l] { new[l] } else { old[l] }) };
        let (here, own, next) = (e[i], d[i], d[i + 1]);
        let f: Lanes = from_fn(|l| sine[l] * here[l]);
        let b: Lanes = from_fn(|l| cosine[l] * here[l]);
        let r: Lanes = from_fn(|l| (f[l] * f[l] + g[l] * g[l]).sqrt());
        zeros = from_fn(|l| if active[l] & (r[l] == 0.0) { 1.0 } else { zeros[l] });
        let inverse: Lanes = from_fn(|l| 1.0 / r[l]);
        let s: Lanes = from_fn(|l| f[l] * inverse[l]);
        let c: Lanes = from_fn(|l| g[l] * inverse[l]);
        let reached: Lanes = from_fn(|l| next[l] - moved[l]);
        let across: Lanes = from_fn(|l| (own[l] - reached[l]) * s[l] + 2.0 * c[l] * b[l]);
        let more: Lanes = from_fn(|l| s[l] * across[l]);
        e[i + 1] = choose(&r, &e[i + 1]);
        d[i + 1] = choose(&from_fn(|l| reached[l] + more[l]), &next);
        g = choose(&from_fn(|l| c[l] * across[l] - b[l]), &g);
        sine = choose(&s, &sine);
        cosine = choose(&c, &cosine);
        moved = choose(&more, &moved);
        turns[i] = [c, s];
    }
    for l in (0..LANES).filter(busy) {
        d[first[l]][l] -= moved[l];
        e[first[l]][l] = g[l];
        e[last[l]][l] = 0.0;
    }
    *apart = zeros.iter().any(|&zero| zero != 0.0);
}

/// Where a step begins: the last entry less Wilkinson's shift.
#[inline(always)]
fn shift(d: &[Lanes], e: &[Lanes], first: usize, last: usize, l: usize) -> f64 {
    let half = (d[first + 1][l] - d[first][l]) / (2.0 * e[first][l]);
    let root = half.hypot(1.0);
    d[last][l] - d[first][l] + e[first][l] / (half + root.copysign(half))
}

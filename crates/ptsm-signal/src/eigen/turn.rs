//! The rotations of one QL step.

/// Rows that are turned together: enough that no rotation waits for the one before.
const WIDE: usize = 32;
const NARROW: usize = 8;

/// Rotates pairs of columns: first `last` with the one before it, then that one with its own, and so on. A column is read and written once.
#[inline(always)]
pub(crate) fn rotate(columns: &mut [f64], stride: usize, last: usize, turns: &[[f64; 2]]) {
    let mut row = 0;
    while row + WIDE <= stride {
        some::<WIDE>(columns, stride, last, row, turns);
        row += WIDE;
    }
    while row < stride {
        some::<NARROW>(columns, stride, last, row, turns);
        row += NARROW;
    }
}

/// The same of `N` rows.
#[inline(always)]
fn some<const N: usize>(columns: &mut [f64], stride: usize, last: usize, row: usize, turns: &[[f64; 2]]) {
    let at = |column: usize| column * stride + row;
    let mut carried = [0.0; N];
    carried.copy_from_slice(&columns[at(last)..][..N]);
    for (i, [cosine, sine]) in turns.iter().enumerate() {
        let column = last - i;
        let mut own = [0.0; N];
        own.copy_from_slice(&columns[at(column - 1)..][..N]);
        let done = &mut columns[at(column)..][..N];
        for l in 0..N {
            done[l] = sine * own[l] + cosine * carried[l];
            carried[l] = cosine * own[l] - sine * carried[l];
        }
    }
    columns[at(last - turns.len())..][..N].copy_from_slice(&carried);
}

//! Numbers as files store them, and how they become samples of one signal after the other.

/// How one number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    I16,
    U16,
    I32,
    F32,
    F64,
}

/// How the numbers of a file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) number: Number,
    pub(crate) big_endian: bool,
}

/// Rows that are turned at once: few enough that all signals of them stay in the cache.
const BLOCK: usize = 64;

/// Calls a generic function with the decoder of an encoding.
macro_rules! with_decoder {
    ($encoding:expr, $call:ident($($argument:expr),*)) => {
        match ($encoding.number, $encoding.big_endian) {
            (Number::I16, false) => $call($($argument),*, |b| f64::from(i16::from_le_bytes(b))),
            (Number::I16, true) => $call($($argument),*, |b| f64::from(i16::from_be_bytes(b))),
            (Number::U16, false) => $call($($argument),*, |b| f64::from(u16::from_le_bytes(b))),
            (Number::U16, true) => $call($($argument),*, |b| f64::from(u16::from_be_bytes(b))),
            (Number::I32, false) => $call($($argument),*, |b| f64::from(i32::from_le_bytes(b))),
            (Number::I32, true) => $call($($argument),*, |b| f64::from(i32::from_be_bytes(b))),
            (Number::F32, false) => $call($($argument),*, |b| f64::from(f32::from_le_bytes(b))),
            (Number::F32, true) => $call($($argument),*, |b| f64::from(f32::from_be_bytes(b))),
            (Number::F64, false) => $call($($argument),*, f64::from_le_bytes),
            (Number::F64, true) => $call($($argument),*, f64::from_be_bytes),
        }
    };
}

impl Encoding {
    /// Bytes of one number.
    pub(crate) fn bytes(self) -> usize {
        match self.number {
            Number::I16 | Number::U16 => 2,
            Number::I32 | Number::F32 => 4,
            Number::F64 => 8,
        }
    }

    /// The smallest and largest value a whole number can have, times a gain.
    pub(crate) fn range(self, gain: f64) -> Option<[f64; 2]> {
        let (low, high) = match self.number {
            Number::I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
            Number::U16 => (f64::from(u16::MIN), f64::from(u16::MAX)),
            Number::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Number::F32 | Number::F64 => return None,
        };
        let (a, b) = (low * gain, high * gain);
        Some([a.min(b), a.max(b)])
    }

    /// Numbers that lie one after the other, times a gain. Stops where either side ends.
    pub(crate) fn series(self, bytes: &[u8], gain: f64, to: &mut [f32]) {
        with_decoder!(self, series(bytes, gain, to));
    }

    /// Some columns of a table that is stored row by row, each times its gain.
    ///
    /// # Shapes
    /// `bytes` holds whole rows of `width` numbers. `to` is `[columns, n]`; the rows go to its samples from `at` on, which must have
    /// room for them.
    pub(crate) fn columns(
        self,
        bytes: &[u8],
        width: usize,
        columns: &[(usize, f64)],
        to: &mut [f32],
        at: usize,
    ) {
        with_decoder!(self, turn(bytes, width, columns, to, at));
    }
}

fn series<const N: usize>(bytes: &[u8], gain: f64, to: &mut [f32], decode: impl Fn([u8; N]) -> f64) {
    for (value, cell) in to.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *value = (decode(*cell) * gain) as f32;
    }
}

/// Gathering a column first and decoding it afterwards lets the compiler use vectors for the second, larger part.
fn turn<const N: usize>(
    bytes: &[u8],
    width: usize,
    columns: &[(usize, f64)],
    to: &mut [f32],
    at: usize,
    decode: impl Fn([u8; N]) -> f64,
) {
    let cells = bytes.as_chunks::<N>().0;
    let n = to.len() / columns.len();
    let mut column = [[0; N]; BLOCK];
    for (block, rows) in cells.chunks(BLOCK * width).enumerate() {
        let count = rows.len() / width;
        for (&(place, gain), signal) in columns.iter().zip(to.chunks_exact_mut(n)) {
            for (cell, row) in column.iter_mut().zip(rows.chunks_exact(width)) {
                *cell = row[place];
            }
            let values = &mut signal[at + block * BLOCK..][..count];
            for (value, cell) in values.iter_mut().zip(&column) {
                *value = (decode(*cell) * gain) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(number: Number, big_endian: bool, values: &[i16]) -> Vec<u8> {
        let bytes = |&v: &i16| {
            let mut bytes = match number {
                Number::I16 | Number::U16 => v.to_le_bytes().to_vec(),
                Number::I32 => i32::from(v).to_le_bytes().to_vec(),
                Number::F32 => f32::from(v).to_le_bytes().to_vec(),
                Number::F64 => f64::from(v).to_le_bytes().to_vec(),
            };
            if big_endian {
                bytes.reverse();
            }
            bytes
        };
        values.iter().flat_map(bytes).collect()
    }

    #[test]
    fn columns_equal_what_a_plain_loop_takes_out() {
        let (width, rows) = (5, 2 * BLOCK + 3);
        let values: Vec<i16> = (0..width * rows).map(|i| (i * 31 % 1000) as i16).collect();
        for number in [Number::I16, Number::U16, Number::I32, Number::F32, Number::F64] {
            for big_endian in [false, true] {
                let encoding = Encoding { number, big_endian };
                let bytes = encoded(number, big_endian, &values);
                assert_eq!(bytes.len(), values.len() * encoding.bytes());
                let columns = [(4, 0.5), (0, -2.0)];
                let n = rows + 7;
                let mut to = vec![9.0; 2 * n];
                encoding.columns(&bytes, width, &columns, &mut to, 3);
                for (k, (column, gain)) in columns.into_iter().enumerate() {
                    for row in 0..rows {
                        let value = f64::from(values[row * width + column]) * gain;
                        assert_eq!(to[k * n + 3 + row], value as f32);
                    }
                    assert_eq!(to[k * n..][..3], [9.0; 3]);
                    assert_eq!(to[k * n + 3 + rows..][..4], [9.0; 4]);
                }
                let mut to = vec![0.0; 10];
                encoding.series(&bytes, 3.0, &mut to);
                assert!((0..10).all(|i| to[i] == 3.0 * f32::from(values[i])));
            }
        }
    }

    #[test]
    fn ranges_are_those_of_whole_numbers() {
        let range = |number, gain| Encoding { number, big_endian: false }.range(gain);
        assert_eq!(range(Number::I16, 0.5), Some([-16384.0, 16383.5]));
        assert_eq!(range(Number::U16, -1.0), Some([-65535.0, 0.0]));
        assert_eq!(range(Number::I32, 1.0), Some([-2147483648.0, 2147483647.0]));
        assert_eq!(range(Number::F32, 1.0), None);
    }
}

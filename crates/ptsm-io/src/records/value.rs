//! How one sample is stored.

/// A kind of stored number, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    I8,
    U8,
    I16,
    U16,
    I24,
    U24,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// Work on stored numbers, made once for each kind of them.
pub(crate) trait Job {
    fn run<const WIDTH: usize>(self, read: impl Fn([u8; WIDTH]) -> f64 + Copy);
}

impl Value {
    /// Bytes of one.
    pub(crate) fn width(self) -> usize {
        match self {
            Value::I8 | Value::U8 => 1,
            Value::I16 | Value::U16 => 2,
            Value::I24 | Value::U24 => 3,
            Value::I32 | Value::U32 | Value::F32 => 4,
            Value::I64 | Value::U64 | Value::F64 => 8,
        }
    }

    /// Whether it is a whole number.
    pub(crate) fn whole(self) -> bool {
        !matches!(self, Value::F32 | Value::F64)
    }

    /// Does the work with this kind's way of reading.
    pub(crate) fn with(self, job: impl Job) {
        match self {
            Value::I8 => job.run(|b| f64::from(i8::from_le_bytes(b))),
            Value::U8 => job.run(|b| f64::from(u8::from_le_bytes(b))),
            Value::I16 => job.run(|b| f64::from(i16::from_le_bytes(b))),
            Value::U16 => job.run(|b| f64::from(u16::from_le_bytes(b))),
            Value::I24 => job.run(|b| f64::from(i24(b))),
            Value::U24 => job.run(|[a, b, c]| f64::from(u32::from_le_bytes([a, b, c, 0]))),
            Value::I32 => job.run(|b| f64::from(i32::from_le_bytes(b))),
            Value::U32 => job.run(|b| f64::from(u32::from_le_bytes(b))),
            Value::I64 => job.run(|b| i64::from_le_bytes(b) as f64),
            Value::U64 => job.run(|b| u64::from_le_bytes(b) as f64),
            Value::F32 => job.run(|b| f64::from(f32::from_le_bytes(b))),
            Value::F64 => job.run(f64::from_le_bytes),
        }
    }
}

/// 24 bits with a sign: put at the top, then moved down with the sign.
pub(crate) fn i24([a, b, c]: [u8; 3]) -> i32 {
    i32::from_le_bytes([0, a, b, c]) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    struct All<'a>(&'a [u8], &'a mut Vec<f64>);

    impl Job for All<'_> {
        fn run<const WIDTH: usize>(self, read: impl Fn([u8; WIDTH]) -> f64 + Copy) {
            self.1.extend(self.0.as_chunks().0.iter().map(|&bytes| read(bytes)));
        }
    }

    #[test]
    fn every_kind_is_read_with_its_sign() {
        for (value, bytes, expected) in [
            (Value::I8, &[0x80, 0x7f][..], &[-128.0, 127.0][..]),
            (Value::U8, &[0x80], &[128.0]),
            (Value::I16, &[0, 0x80, 0xff, 0x7f], &[-32768.0, 32767.0]),
            (Value::U16, &[0, 0x80], &[32768.0]),
            (Value::I24, &[0, 0, 0x80, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff], &[-8388608.0, 8388607.0, -1.0]),
            (Value::U24, &[0, 0, 0x80], &[8388608.0]),
            (Value::I32, &[0, 0, 0, 0x80], &[-2147483648.0]),
            (Value::U32, &[0, 0, 0, 0x80], &[2147483648.0]),
            (Value::I64, &(-5_i64).to_le_bytes(), &[-5.0]),
            (Value::U64, &(1_u64 << 63).to_le_bytes(), &[9223372036854775808.0]),
            (Value::F32, &0.5_f32.to_le_bytes(), &[0.5]),
            (Value::F64, &(-0.1_f64).to_le_bytes(), &[-0.1]),
        ] {
            let mut read = vec![];
            value.with(All(bytes, &mut read));
            assert_eq!(read, expected, "{value:?}");
            assert_eq!(bytes.len(), value.width() * expected.len());
        }
    }
}

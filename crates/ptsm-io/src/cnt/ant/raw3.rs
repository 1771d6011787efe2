//! How samples are packed. One channel of a block is its first sample and, for each other one, how far it is from what was foretold: from
//! the sample before it, from the line through the two before it, or from the sample before it and the step of the channel before it.
//! Most of these differences have few bits; a larger one is announced by the smallest number that fits into these, and follows.

/// What a difference is from. The fourth bit of the method says that numbers have 32 bits.
const COPY: u8 = 0;
const TIME: u8 = 1;
const TIME2: u8 = 2;
const CHANNEL: u8 = 3;

/// Unpacks one channel, as many samples as there is room for. `before` is the channel before it in the same block, of the same length.
/// Gives back how many bytes it took; none where they are too few or make no sense.
pub(super) fn unpack(bytes: &[u8], before: &[i32], to: &mut [i32]) -> Option<usize> {
    let method = bytes.first()? >> 4;
    let wide = method & 8 != 0;
    if to.is_empty() {
        return None;
    }
    let method = method & 7;
    if method == COPY {
        let width = if wide { 4 } else { 2 };
        let stored = bytes.get(1..)?.get(..to.len().checked_mul(width)?)?;
        for (to, number) in to.iter_mut().zip(stored.chunks_exact(width)) {
            *to = match *number {
                [a, b] => i32::from(i16::from_be_bytes([a, b])),
                [a, b, c, d] => i32::from_be_bytes([a, b, c, d]),
                _ => return None,
            };
        }
        return Some(1 + stored.len());
    }
    let mut bits = Bits { bytes, at: 4 };
    // Of four bits, 16 is written as 0.
    let mut size = |of: u32| bits.unsigned(of).map(|n| if n == 0 && !wide { 16 } else { n });
    let (few, many) = if wide { (size(6)?, size(6)?) } else { (size(4)?, size(4)?) };
    if !(1..=32).contains(&few) || !(1..=32).contains(&many) {
        return None;
    }
    let exception = -1 << (few - 1);
    to[0] = bits.signed(if wide { 32 } else { 16 })?;
    for i in 1..to.len() {
        let mut difference = bits.signed(few)?;
        if difference == exception && few != many {
            difference = bits.signed(many)?;
        }
        let last = to[i - 1];
        let predicted = match method {
            TIME => last,
            TIME2 if i == 1 => last,
            TIME2 => last.wrapping_mul(2).wrapping_sub(to[i - 2]),
            CHANNEL => last.wrapping_add(before[i]).wrapping_sub(before[i - 1]),
            _ => return None,
        };
        to[i] = predicted.wrapping_add(difference);
    }
    Some(bits.at.div_ceil(8))
}

/// Bits from the highest of the first byte on.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    /// A number of at most 32 bits.
    fn unsigned(&mut self, count: u32) -> Option<u32> {
        let first = self.at / 8;
        let end = self.at + count as usize;
        let mut all = 0_u64;
        for byte in self.bytes.get(first..end.div_ceil(8))? {
            all = all << 8 | u64::from(*byte);
        }
        all >>= end.next_multiple_of(8) - end;
        self.at = end;
        Some((all & ((1 << count) - 1)) as u32)
    }

    /// The same with a sign.
    fn signed(&mut self, count: u32) -> Option<i32> {
        let number = self.unsigned(count)?;
        Some((number << (32 - count)) as i32 >> (32 - count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes bits.
    #[derive(Default)]
    struct Writer(Vec<bool>);

    impl Writer {
        fn put(mut self, number: i64, bits: u32) -> Writer {
            self.0.extend((0..bits).rev().map(|bit| number >> bit & 1 == 1));
            self
        }

        fn bytes(&self) -> Vec<u8> {
            let byte =
                |bits: &[bool]| bits.iter().enumerate().map(|(i, &bit)| u8::from(bit) << (7 - i)).sum();
            self.0.chunks(8).map(byte).collect()
        }
    }

    fn unpacked(bytes: &[u8], before: &[i32], count: usize) -> Option<(Vec<i32>, usize)> {
        let mut to = vec![0; count];
        let took = unpack(bytes, before, &mut to)?;
        Some((to, took))
    }

    #[test]
    fn differences_are_from_what_was_predicted() {
        let narrow = |method: i64, few: i64, many: i64| {
            Writer::default().put(method, 4).put(few % 16, 4).put(many % 16, 4).put(-100, 16)
        };
        let before = [5, 7, 4, 10];
        let file = narrow(1, 3, 3).put(1, 3).put(-4, 3).put(3, 3);
        assert_eq!(unpacked(&file.bytes(), &before, 4), Some((vec![-100, -99, -103, -100], 5)));
        let file = narrow(2, 3, 3).put(1, 3).put(-4, 3).put(3, 3);
        assert_eq!(unpacked(&file.bytes(), &before, 4), Some((vec![-100, -99, -102, -102], 5)));
        let file = narrow(3, 3, 3).put(1, 3).put(-4, 3).put(3, 3);
        assert_eq!(unpacked(&file.bytes(), &before, 4), Some((vec![-100, -97, -104, -95], 5)));
        // A difference too large for three bits is announced by the smallest number of three.
        let file = narrow(1, 3, 16).put(1, 3).put(-4, 3).put(30000, 16).put(3, 3);
        assert_eq!(unpacked(&file.bytes(), &before, 4), Some((vec![-100, -99, 29901, 29904], 7)));
        let wide = Writer::default().put(9, 4).put(20, 6).put(32, 6).put(1 << 30, 32);
        let file = wide.put(-1, 20).put(-(1 << 19), 20).put(-(1 << 31), 32);
        let expected = vec![1 << 30, (1 << 30) - 1, ((1_i64 << 30) - 1 - (1 << 31)) as i32];
        assert_eq!(unpacked(&file.bytes(), &before, 3), Some((expected, 15)));
        let file = Writer::default().put(0, 8).put(-2, 16).put(300, 16);
        assert_eq!(unpacked(&file.bytes(), &before, 2), Some((vec![-2, 300], 5)));
        let file = Writer::default().put(8, 4).put(0, 4).put(-70000, 32);
        assert_eq!(unpacked(&file.bytes(), &before, 1), Some((vec![-70000], 5)));
    }

    #[test]
    fn what_makes_no_sense_is_nothing() {
        for bytes in [
            &[][..],
            &[0x10],
            &[0x13, 0x30, 0, 0],
            &[0x53, 0x30, 0, 0, 0, 0, 0],
            &[0x90, 0x03, 0, 0, 0, 0, 0],
            &[0x9f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0],
        ] {
            assert_eq!(unpacked(bytes, &[0; 4], 4), None, "{bytes:?}");
        }
    }
}

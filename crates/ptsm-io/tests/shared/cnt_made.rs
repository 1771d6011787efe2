//! Recordings of Neuroscan made by hand.

#![allow(dead_code, unreachable_pub)] // each test uses some of it

/// A recording of two channels, `C3` and `VEO`, at 100 Hz.
pub struct File {
    /// Stored numbers of both channels, sample by sample.
    pub numbers: Vec<[i32; 2]>,
    /// Bytes of a number.
    pub width: usize,
    /// Samples of one channel that lie together.
    pub block: usize,
    /// The type of the table of events.
    pub table: u8,
    /// Place, trigger, key and pad: what the table says.
    pub events: Vec<(u32, u16, u8, u8)>,
    /// How many samples the header says.
    pub samples: i32,
    /// Where the header says the table is; without one, where it is.
    pub place: Option<i32>,
    /// What follows the table.
    pub tail: Vec<u8>,
    /// Where the header says the next file is.
    pub next: i32,
}

/// The first byte of the first sample.
pub const START: usize = 900 + 2 * 75;

impl File {
    pub fn new(width: usize, numbers: &[[i32; 2]]) -> File {
        File {
            numbers: numbers.to_vec(),
            width,
            block: 0,
            table: 2,
            events: vec![],
            samples: numbers.len() as i32,
            place: None,
            tail: vec![],
            next: 0,
        }
    }

    /// The byte an event says that is at a sample.
    pub fn byte(&self, sample: u32) -> u32 {
        START as u32 + (sample + 1) * 2 * self.width as u32
    }

    /// The first byte of the table of events.
    pub fn end(&self) -> usize {
        START + self.numbers.len() * 2 * self.width
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; 900];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, b"Version 3.0");
        put(121, b"Secret");
        put(12, &self.next.to_le_bytes());
        put(370, &2u16.to_le_bytes());
        put(376, &100u16.to_le_bytes());
        put(864, &self.samples.to_le_bytes());
        put(886, &self.place.unwrap_or(self.end() as i32).to_le_bytes());
        put(894, &((self.block * self.width) as i32).to_le_bytes());
        for (name, baseline, sensitivity) in [("C3", 10i16, 204.8f32), ("VEO", -5, 409.6)] {
            let mut channel = vec![0; 75];
            channel[..name.len()].copy_from_slice(name.as_bytes());
            channel[14] = u8::from(name == "VEO");
            channel[47..49].copy_from_slice(&baseline.to_le_bytes());
            channel[59..63].copy_from_slice(&sensitivity.to_le_bytes());
            channel[71..75].copy_from_slice(&0.5f32.to_le_bytes());
            bytes.extend(channel);
        }
        for block in self.numbers.chunks(self.block.max(1)) {
            for channel in 0..2 {
                bytes
                    .extend(block.iter().flat_map(|pair| pair[channel].to_le_bytes()[..self.width].to_vec()));
            }
        }
        let each = if self.table == 1 { 8 } else { 19 };
        bytes.push(self.table);
        bytes.extend(((self.events.len() * each) as i32).to_le_bytes());
        bytes.extend([0; 4]);
        for (place, trigger, key, pad) in &self.events {
            let event = [&trigger.to_le_bytes()[..], &[*key, *pad], &place.to_le_bytes()].concat();
            bytes.extend(&event);
            bytes.extend(vec![0; each - event.len()]);
        }
        bytes.extend(&self.tail);
        bytes
    }
}

//! GDF files made by hand.

#![allow(dead_code, unreachable_pub)] // each test uses some of it

/// One signal of a made file.
#[derive(Clone)]
pub struct MadeSignal {
    pub label: &'static str,
    /// The text, and the code version 2 has for it.
    pub unit: (&'static str, u16),
    /// Physical minimum, maximum, digital minimum, maximum.
    pub limits: [f64; 4],
    pub kind: u32,
    /// Samples per record.
    pub samples: u32,
    /// Bytes of each record.
    pub records: Vec<Vec<u8>>,
}

/// A signal in microvolts, one count each.
pub fn counts(label: &'static str, records: &[&[i16]]) -> MadeSignal {
    MadeSignal {
        label,
        unit: ("uV", 4275),
        limits: [-32768.0, 32767.0, -32768.0, 32767.0],
        kind: 3,
        samples: records[0].len() as u32,
        records: records.iter().map(|r| r.iter().flat_map(|v| v.to_le_bytes()).collect()).collect(),
    }
}

/// A whole file.
pub struct File {
    /// `1.25`
    pub version: &'static str,
    pub records: i64,
    pub duration: [u8; 8],
    pub signals: Vec<MadeSignal>,
    /// Bytes between header and records, in blocks of 256.
    pub tags: usize,
    /// What follows the records.
    pub events: Vec<u8>,
}

/// A duration as a fraction.
pub fn fraction(above: u32, below: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&above.to_le_bytes());
    bytes[4..].copy_from_slice(&below.to_le_bytes());
    bytes
}

/// One event: position counted from 1, type, channel, duration.
pub type Row = (u32, u16, u16, u32);

/// A table of events in the layout of a version.
pub fn table(version: &str, mode: u8, rate_hz: f32, rows: &[Row]) -> Vec<u8> {
    let n = (rows.len() as u32).to_le_bytes();
    let mut bytes = vec![mode];
    if version < "1.94" {
        bytes.extend(&(rate_hz as u32).to_le_bytes()[..3]);
        bytes.extend(n);
    } else {
        bytes.extend(&n[..3]);
        bytes.extend(rate_hz.to_le_bytes());
    }
    bytes.extend(rows.iter().flat_map(|row| row.0.to_le_bytes()));
    bytes.extend(rows.iter().flat_map(|row| row.1.to_le_bytes()));
    if mode & 2 != 0 {
        bytes.extend(rows.iter().flat_map(|row| row.2.to_le_bytes()));
        bytes.extend(rows.iter().flat_map(|row| row.3.to_le_bytes()));
    }
    if mode & 4 != 0 {
        bytes.extend(vec![0x77; 8 * rows.len()]);
    }
    bytes
}

impl File {
    pub fn new(version: &'static str, signals: Vec<MadeSignal>) -> File {
        let records = signals[0].records.len() as i64;
        File { version, records, duration: fraction(1, 1), signals, tags: 0, events: vec![] }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let second = self.version >= "1.90";
        let n = self.signals.len();
        let pad = |text: &str, length: usize| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(length, 0);
            bytes
        };
        let mut bytes = format!("GDF {}", self.version).into_bytes();
        bytes.extend(pad("Haagse_Harry 1951", 176));
        let length = 256 * (1 + n + self.tags);
        if second {
            bytes.extend(((length / 256) as u16).to_le_bytes());
            bytes.resize(236, 0);
        } else {
            bytes.extend((length as i64).to_le_bytes());
            bytes.resize(236, 0);
        }
        bytes.extend(self.records.to_le_bytes());
        bytes.extend(self.duration);
        bytes.extend((n as u32).to_le_bytes());
        let mut each = |field: &dyn Fn(&MadeSignal) -> Vec<u8>| {
            self.signals.iter().for_each(|signal| bytes.extend(field(signal)));
        };
        each(&|s| pad(s.label, 16));
        each(&|_| pad("AgAgCl", 80));
        each(&|s| pad(s.unit.0, if second { 6 } else { 8 }));
        if second {
            each(&|s| s.unit.1.to_le_bytes().to_vec());
        }
        for which in 0..4 {
            if second || which < 2 {
                each(&|s| s.limits[which].to_le_bytes().to_vec());
            } else {
                each(&|s| (s.limits[which] as i64).to_le_bytes().to_vec());
            }
        }
        each(&|_| vec![0; 80]);
        each(&|s| s.samples.to_le_bytes().to_vec());
        each(&|s| s.kind.to_le_bytes().to_vec());
        each(&|_| vec![0; 32]);
        bytes.extend(vec![0xaa; 256 * self.tags]);
        for record in 0..self.signals[0].records.len() {
            self.signals.iter().for_each(|signal| bytes.extend(&signal.records[record]));
        }
        bytes.extend(&self.events);
        bytes
    }
}

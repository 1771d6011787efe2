//! EDF and BDF files made by hand.

#![allow(dead_code, unreachable_pub)] // each test uses some of it

/// One signal of a made file.
#[derive(Clone)]
pub struct MadeSignal {
    pub label: &'static str,
    pub unit: &'static [u8],
    /// Physical minimum, maximum, digital minimum, maximum.
    pub limits: [&'static str; 4],
    /// Bytes of each record.
    pub records: Vec<Vec<u8>>,
}

/// A signal in microvolts, one count each.
pub fn counts(label: &'static str, records: &[&[i16]]) -> MadeSignal {
    let records = records.iter().map(|r| r.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    MadeSignal { label, unit: b"uV", limits: ["-32768", "32767", "-32768", "32767"], records }
}

/// The same with 24 bits.
pub fn counts24(label: &'static str, records: &[&[i32]]) -> MadeSignal {
    let records =
        records.iter().map(|r| r.iter().flat_map(|v| v.to_le_bytes()[..3].to_vec()).collect()).collect();
    MadeSignal { label, unit: b"uV", limits: ["-8388608", "8388607", "-8388608", "8388607"], records }
}

/// Texts: a block for each record, filled with zeros.
pub fn texts(label: &'static str, length: usize, blocks: &[&[u8]]) -> MadeSignal {
    let fill = |block: &&[u8]| {
        assert!(block.len() <= length);
        [*block, &vec![0; length - block.len()]].concat()
    };
    MadeSignal {
        label,
        unit: b"",
        limits: ["-1", "1", "-32768", "32767"],
        records: blocks.iter().map(fill).collect(),
    }
}

/// A whole file.
pub struct File {
    pub bdf: bool,
    pub variant: &'static str,
    pub records: String,
    pub duration: &'static str,
    pub signals: Vec<MadeSignal>,
}

impl File {
    pub fn edf(variant: &'static str, signals: Vec<MadeSignal>) -> File {
        let records = signals[0].records.len().to_string();
        File { bdf: false, variant, records, duration: "1", signals }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let pad = |text: &[u8], length: usize| [text, &vec![b' '; length - text.len()]].concat();
        let width = if self.bdf { 3 } else { 2 };
        let n = self.signals.len();
        let mut bytes = pad(if self.bdf { b"\xffBIOSEMI" } else { b"0" }, 8);
        bytes.extend(pad(b"MCH-0234567 F 02-MAY-1951 Haagse_Harry", 80));
        bytes.extend(pad(b"Startdate 02-MAR-2002 EMG561 BK/JOP Sony. MNC R", 80));
        bytes.extend(b"02.03.0217.05.07");
        bytes.extend(pad((256 * (1 + n)).to_string().as_bytes(), 8));
        bytes.extend(pad(self.variant.as_bytes(), 44));
        bytes.extend(pad(self.records.as_bytes(), 8));
        bytes.extend(pad(self.duration.as_bytes(), 8));
        bytes.extend(pad(n.to_string().as_bytes(), 4));
        let mut each = |field: &dyn Fn(&MadeSignal) -> Vec<u8>, length: usize| {
            self.signals.iter().for_each(|signal| bytes.extend(pad(&field(signal), length)));
        };
        each(&|s| s.label.as_bytes().to_vec(), 16);
        each(&|_| b"AgAgCl".to_vec(), 80);
        each(&|s| s.unit.to_vec(), 8);
        for which in 0..4 {
            each(&|s| s.limits[which].as_bytes().to_vec(), 8);
        }
        each(&|_| b"HP:0.1Hz".to_vec(), 80);
        each(&|s| (s.records[0].len() / width).to_string().into_bytes(), 8);
        each(&|_| vec![], 32);
        for record in 0..self.signals[0].records.len() {
            self.signals.iter().for_each(|signal| bytes.extend(&signal.records[record]));
        }
        bytes
    }
}

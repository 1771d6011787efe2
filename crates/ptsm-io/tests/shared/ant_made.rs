//! Recordings of ANT made by hand, with samples that are not packed.

#![allow(dead_code, unreachable_pub)] // each test uses some of it

/// A recording at 100 Hz.
pub struct File {
    /// Sizes of 64 bits.
    pub wide: bool,
    /// The text of the header; without one it fits the numbers.
    pub header: Option<String>,
    /// Stored numbers of each channel.
    pub numbers: Vec<Vec<i32>>,
    /// Samples of a block.
    pub each: usize,
    /// Which channel comes when.
    pub order: Vec<u16>,
    pub events: Vec<(u64, &'static str)>,
}

impl File {
    pub fn new(wide: bool, numbers: &[&[i32]]) -> File {
        let numbers: Vec<Vec<i32>> = numbers.iter().map(|channel| channel.to_vec()).collect();
        let order = (0..numbers.len() as u16).rev().collect();
        File { wide, header: None, numbers, each: 2, order, events: vec![] }
    }

    fn size(&self, size: usize) -> Vec<u8> {
        if self.wide { (size as u64).to_le_bytes().to_vec() } else { (size as u32).to_le_bytes().to_vec() }
    }

    pub fn chunk(&self, name: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = [name.as_bytes(), &self.size(data.len()), data].concat();
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        bytes
    }

    pub fn text(&self) -> String {
        let (samples, channels) = (self.numbers[0].len(), self.numbers.len());
        let lines: String =
            ["C3 0.5 2.0 uV REF:CPz", "Status 1 1 uV", "EOG 1e-3 1.0 mV REF:CPz STAT:BAD TYPE:EOG"]
                .iter()
                .cycle()
                .take(channels)
                .map(|line| format!("{line}\n"))
                .collect();
        format!(
            "[File Version]\n4.1\n[Sampling Rate]\n100.0\n[Samples]\n{samples}\n[Channels]\n{channels}\n\
             [Basic Channel Data]\n;label calibration factor\n{lines}[History]\nSecret\nEOH\n"
        )
    }

    pub fn bytes(&self) -> Vec<u8> {
        let (mut data, mut starts) = (vec![], self.size(self.each));
        for begin in (0..self.numbers[0].len()).step_by(self.each) {
            starts.extend(self.size(data.len()));
            for &channel in &self.order {
                let Some(numbers) = self.numbers.get(usize::from(channel)) else { continue };
                data.push(0x80);
                data.extend(numbers.iter().skip(begin).take(self.each).flat_map(|x| x.to_be_bytes()));
            }
        }
        let order: Vec<u8> = self.order.iter().flat_map(|channel| channel.to_le_bytes()).collect();
        let raw = [self.chunk("chan", &order), self.chunk("data", &data), self.chunk("ep  ", &starts)];
        let mut events = vec![];
        for (sample, code) in &self.events {
            events.extend(self.size(*sample as usize));
            let mut code = code.as_bytes().to_vec();
            code.resize(8, 0);
            events.extend(code);
        }
        let header = self.header.clone().unwrap_or_else(|| self.text());
        let all = [
            b"CNT ".to_vec(),
            self.chunk("eeph", header.as_bytes()),
            self.chunk("LIST", &[b"raw3".to_vec(), raw.concat()].concat()),
            self.chunk("evt ", &events),
            self.chunk("info", b"Secret"),
        ];
        self.chunk(if self.wide { "RF64" } else { "RIFF" }, &all.concat())
    }
}

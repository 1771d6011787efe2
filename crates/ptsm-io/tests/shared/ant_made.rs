//! Recordings of ANT made by hand, with samples that are not packed.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test uses some of it

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
    /// What is said about the recording.
    pub info: Vec<u8>,
}

impl File {
    pub fn new(wide: bool, numbers: &[&[i32]]) -> File {
        let numbers: Vec<Vec<i32>> = numbers.iter().map(|channel| channel.to_vec()).collect();
        let order = (0..numbers.len() as u16).rev().collect();
        File { wide, header: None, numbers, each: 2, order, events: vec![], info: b"Secret".to_vec() }
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
            self.chunk("info", &self.info),
        ];
        self.chunk(if self.wide { "RF64" } else { "RIFF" }, &all.concat())
    }
}

/// A file of events, of a version.
pub struct Events {
    pub version: i32,
    items: Vec<Vec<u8>>,
}

/// A text behind its length.
fn text(text: &str) -> Vec<u8> {
    [&[text.len() as u8], text.as_bytes()].concat()
}

fn class(name: &str) -> Vec<u8> {
    [(-1i32).to_le_bytes().to_vec(), text(name)].concat()
}

/// A whole number as a value of an event.
pub fn number(value: i32) -> Vec<u8> {
    [3u16.to_le_bytes().to_vec(), value.to_le_bytes().to_vec()].concat()
}

/// A text as a value of an event.
pub fn wide(value: &str) -> Vec<u8> {
    let units: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
    [8u16.to_le_bytes().to_vec(), (units.len() as u32).to_le_bytes().to_vec(), units].concat()
}

/// A list of two numbers as a value of an event.
pub fn list() -> Vec<u8> {
    let numbers = [0f32.to_le_bytes(), 2u32.to_le_bytes(), 1f32.to_le_bytes(), 2f32.to_le_bytes()].concat();
    [0x2004u16.to_le_bytes().to_vec(), 4u16.to_le_bytes().to_vec(), numbers].concat()
}

impl Events {
    pub fn new(version: i32) -> Events {
        Events { version, items: vec![] }
    }

    /// An event some seconds after the first of January 2023, with values.
    pub fn add(
        &mut self,
        kind: &str,
        seconds: f64,
        duration_s: f64,
        values: &[(&str, Vec<u8>)],
    ) -> &mut Vec<u8> {
        let mut item = [class(kind), vec![1; 20], class("class dcX_c"), text("name")].concat();
        if self.version >= 78 {
            item.extend(text("visible"));
        }
        item.extend([0; 9]);
        item.extend([duration_s, 0.0, 44927.0, seconds].iter().flat_map(|x| x.to_le_bytes()));
        item.extend((values.len() as u32).to_le_bytes());
        for (name, value) in values {
            item.extend([text(name), value.clone(), text("unit")].concat());
        }
        self.items.push(item);
        self.items.last_mut().unwrap()
    }

    /// An epoch.
    pub fn epoch(&mut self, seconds: f64, values: &[(&str, Vec<u8>)]) {
        let old = self.version < 33;
        let item = self.add("class dcEpochEvent_c", seconds, 0.5, values);
        item.extend(if old { vec![0; 4] } else { vec![] });
    }

    /// A marker with a description.
    pub fn marker(&mut self, seconds: f64, description: &str) {
        let more = match self.version {
            ..35 => 0,
            35..103 => 2,
            _ => 5,
        };
        let item = self.add("class dcEventMarker_c", seconds, 0.0, &[]);
        item.extend([text("C3"), text("CPz"), text(description), vec![0; more]].concat());
    }

    pub fn bytes(&self) -> Vec<u8> {
        let head = [0, 0, 0, self.version, 0, 0].map(i32::to_le_bytes).concat();
        let count = (self.items.len() as u32).to_le_bytes().to_vec();
        [head, class("class dcEventsLibrary_c"), text("library"), count, self.items.concat()].concat()
    }
}

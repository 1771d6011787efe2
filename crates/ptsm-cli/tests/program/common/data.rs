//! Small data that can be learnt in a second, and all the ways to spoil them.

use std::path::Path;

use ptsm::io::npy::{Array, Data};
use ptsm::io::npz::{self, Compression};

/// Numbers in 0..1 that look random and are the same everywhere (splitmix64).
pub(crate) fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The arrays of a `.npz` file, by name.
#[derive(Clone)]
pub(crate) struct Arrays(Vec<(String, Array)>);

impl Arrays {
    /// The same with another array, or one more.
    pub(crate) fn with(mut self, name: &str, array: Array) -> Arrays {
        match self.0.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = array,
            None => self.0.push((name.into(), array)),
        }
        self
    }

    /// The same without an array.
    pub(crate) fn without(mut self, name: &str) -> Arrays {
        self.0.retain(|(n, _)| n != name);
        self
    }

    pub(crate) fn get(&self, name: &str) -> &Array {
        &self.0.iter().find(|(n, _)| n == name).unwrap().1
    }

    /// The same with one value of `X` replaced.
    pub(crate) fn with_sample(self, at: usize, value: f32) -> Arrays {
        let x = self.get("X").clone();
        let shape = x.shape().to_vec();
        let Data::F32(mut values) = x.into_data() else { panic!("X is f32") };
        values[at] = value;
        self.with("X", Array::new(shape, values).unwrap())
    }

    /// The same with only the first channels and samples.
    pub(crate) fn cut(self, channels: usize, samples: usize) -> Arrays {
        let x = self.get("X").clone();
        let &[n, c, t] = x.shape() else { panic!("X has three dimensions") };
        let Data::F32(values) = x.into_data() else { panic!("X is f32") };
        let mut kept = vec![];
        for (row, signal) in values.chunks(t).enumerate() {
            if row % c < channels {
                kept.extend_from_slice(&signal[..samples]);
            }
        }
        let names: Vec<String> = CHANNELS[..channels].iter().map(|n| n.to_string()).collect();
        self.with("X", Array::new(vec![n, channels, samples], kept).unwrap())
            .with("channels", Array::vector(names))
    }

    pub(crate) fn write(&self, path: &Path) {
        let members: Vec<(&str, &Array)> =
            self.0.iter().map(|(name, array)| (name.as_str(), array)).collect();
        npz::write(path, &members, Compression::Stored).unwrap();
    }
}

const CHANNELS: [&str; 5] = ["C3", "Cz", "C4", "P3", "P4"];

/// Subjects whose rhythm over one hand area is weaker than over the other, one way for each class.
pub(crate) fn cohort(subjects: usize, each: usize, effect: f64) -> Arrays {
    cohort_of_seed(1, subjects, each, effect)
}

/// The same of another seed: other subjects.
pub(crate) fn cohort_of_seed(seed: u64, subjects: usize, each: usize, effect: f64) -> Arrays {
    let mut random = random(seed);
    let n = subjects * each;
    let mut x = vec![];
    for trial in 0..n {
        for channel in 0..CHANNELS.len() {
            let amplitude = match (channel, trial % 2) {
                (0, 0) | (2, 1) => 1.0 + effect,
                (0, 1) | (2, 0) => 1.0 - effect,
                _ => 1.0,
            };
            let phase = std::f64::consts::TAU * random();
            x.extend(
                (0..128)
                    .map(|t| (amplitude * (1.1 * t as f64 + phase).sin() + 1.6 * (random() - 0.5)) as f32),
            );
        }
    }
    let numbers = |of: fn(usize, usize) -> usize| {
        Array::vector((0..n).map(|i| of(i, each) as u32).collect::<Vec<u32>>())
    };
    Arrays(vec![
        ("X".into(), Array::new(vec![n, CHANNELS.len(), 128], x).unwrap()),
        ("y".into(), numbers(|i, _| i % 2)),
        ("subject".into(), numbers(|i, each| i / each + 1)),
        ("channels".into(), Array::vector(CHANNELS.map(String::from).to_vec())),
        ("rate_hz".into(), Array::scalar(64.0)),
    ])
}

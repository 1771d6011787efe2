//! Memory for samples of several channels side by side.

/// Samples of L channels, beginning on a cache line: a vector across two lines takes twice the time.
#[derive(Default)]
pub(crate) struct Rows<const L: usize> {
    values: Vec<f64>,
    samples: usize,
}

/// Bytes of a cache line.
const LINE: usize = 64;

impl<const L: usize> Rows<L> {
    /// Makes room for so many samples; what is in them has no meaning.
    pub(crate) fn resize(&mut self, samples: usize) {
        let values = samples * L + LINE / size_of::<f64>();
        if values > self.values.len() {
            // New memory comes with zeros from the system; room that grows would be filled with them.
            self.values = vec![0.0; values];
        }
        self.samples = samples;
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [[f64; L]] {
        let skip = self.values.as_ptr().align_offset(LINE).min(LINE / size_of::<f64>());
        self.values[skip..][..self.samples * L].as_chunks_mut().0
    }
}

//! Cascades of second-order sections.

/// One second-order section, `(b0 + b1 z^-1 + b2 z^-2) / (1 + a1 z^-1 + a2 z^-2)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Section {
    /// `b0, b1, b2`.
    pub b: [f64; 3],
    /// `a1, a2`.
    pub a: [f64; 2],
}

/// The memory of one section: direct form II, transposed.
pub(super) type State = [f64; 2];

impl Section {
    /// The state in which a constant input of 1 gives a constant output (SciPy's `lfilter_zi`).
    fn steady_state(&self) -> State {
        let ([b0, b1, b2], [a1, a2]) = (self.b, self.a);
        let (first, second) = (b1 - a1 * b0, b2 - a2 * b0);
        // (1 + a1) z0 - z1 = first and a2 z0 + z1 = second.
        let z0 = (first + second) / (1.0 + a1 + a2);
        [z0, second - a2 * z0]
    }

    /// Gain at frequency 0.
    fn gain(&self) -> f64 {
        self.b.iter().sum::<f64>() / (1.0 + self.a[0] + self.a[1])
    }
}

/// Sections that a signal passes one after the other, in SciPy's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sections(pub(super) Vec<Section>);

impl Sections {
    /// The sections in order.
    pub fn as_slice(&self) -> &[Section] {
        &self.0
    }

    /// The state of each section in which a constant input of 1 gives a constant output (SciPy's `sosfilt_zi`).
    pub fn steady_state(&self) -> Vec<[f64; 2]> {
        let mut scale = 1.0;
        let mut states = Vec::with_capacity(self.0.len());
        for section in &self.0 {
            states.push(section.steady_state().map(|z| scale * z));
            scale *= section.gain();
        }
        states
    }

    /// Filters in place and carries the state on. The result does not depend on how a signal is cut into pieces.
    pub(super) fn run(&self, signal: &mut [f64], state: &mut [State]) {
        // Four sections at once: one section waits for its own last output most of the time.
        let (fours, rest) = self.0.as_chunks::<4>();
        let (four_states, rest_states) = state.as_chunks_mut::<4>();
        for (sections, state) in fours.iter().zip(four_states) {
            cascade(sections, state, signal);
        }
        for (section, state) in rest.iter().zip(rest_states) {
            cascade(&[*section], std::array::from_mut(state), signal);
        }
    }
}

fn cascade<const N: usize>(sections: &[Section; N], state: &mut [State; N], signal: &mut [f64]) {
    let mut memory = *state;
    for sample in signal {
        let mut x = *sample;
        for (Section { b, a }, z) in sections.iter().zip(&mut memory) {
            let y = b[0] * x + z[0];
            z[0] = b[1] * x - a[0] * y + z[1];
            z[1] = b[2] * x - a[1] * y;
            x = y;
        }
        *sample = x;
    }
    *state = memory;
}

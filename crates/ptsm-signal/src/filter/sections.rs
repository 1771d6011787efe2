//! Cascades of second-order sections.

use std::array::from_fn;

/// One second-order section, `(b0 + b1 z^-1 + b2 z^-2) / (1 + a1 z^-1 + a2 z^-2)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondOrderSection {
    /// `b0, b1, b2`.
    pub b: [f64; 3],
    /// `a1, a2`.
    pub a: [f64; 2],
}

/// The memory of one section for L channels: direct form II, transposed.
pub(super) type State<const L: usize> = [[f64; L]; 2];

/// Which way a filter runs over a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// In time.
    Forwards,
    /// Against it.
    Backwards,
}

impl SecondOrderSection {
    /// The state in which a constant input of 1 gives a constant output (SciPy's `lfilter_zi`).
    fn steady_state(&self) -> [f64; 2] {
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
pub struct Sections(pub(super) Vec<SecondOrderSection>);

impl Sections {
    /// The sections in order.
    pub fn as_slice(&self) -> &[SecondOrderSection] {
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

    /// The state of each section in which some channels stay at a constant level each.
    pub(super) fn settled<const L: usize>(&self, level: &[f64; L]) -> Vec<State<L>> {
        self.steady_state().iter().map(|z| z.map(|z| level.map(|level| z * level))).collect()
    }

    /// Filters some channels in place, from the first sample on or from the last one back, and carries the state on. The result
    /// does not depend on how a signal is cut into pieces.
    #[inline(always)]
    pub(super) fn run<const L: usize>(
        &self,
        signal: &mut [[f64; L]],
        state: &mut [State<L>],
        direction: Direction,
    ) {
        // Four sections at once: one section waits for its own last output most of the time.
        let (fours, rest) = self.0.as_chunks::<4>();
        let (four_states, rest_states) = state.as_chunks_mut::<4>();
        for (sections, state) in fours.iter().zip(four_states) {
            cascade(sections, state, signal, direction);
        }
        some::<1, L>(rest, rest_states, signal, direction);
        some::<2, L>(rest, rest_states, signal, direction);
        some::<3, L>(rest, rest_states, signal, direction);
    }
}

/// Runs sections that are N.
#[inline(always)]
fn some<const N: usize, const L: usize>(
    sections: &[SecondOrderSection],
    state: &mut [State<L>],
    signal: &mut [[f64; L]],
    direction: Direction,
) {
    if let (Ok(sections), Ok(state)) = (sections.try_into(), state.try_into()) {
        cascade::<N, L>(sections, state, signal, direction);
    }
}

#[inline(always)]
fn cascade<const N: usize, const L: usize>(
    sections: &[SecondOrderSection; N],
    state: &mut [State<L>; N],
    signal: &mut [[f64; L]],
    direction: Direction,
) {
    match direction {
        Direction::Forwards => steps(sections, state, signal.iter_mut()),
        Direction::Backwards => steps(sections, state, signal.iter_mut().rev()),
    }
}

#[inline(always)]
fn steps<'a, const N: usize, const L: usize>(
    sections: &[SecondOrderSection; N],
    state: &mut [State<L>; N],
    signal: impl Iterator<Item = &'a mut [f64; L]>,
) {
    let mut memory = *state;
    for sample in signal {
        let mut x = *sample;
        for (SecondOrderSection { b, a }, [z0, z1]) in sections.iter().zip(&mut memory) {
            let y: [f64; L] = from_fn(|l| b[0] * x[l] + z0[l]);
            *z0 = from_fn(|l| b[1] * x[l] - a[0] * y[l] + z1[l]);
            *z1 = from_fn(|l| b[2] * x[l] - a[1] * y[l]);
            x = y;
        }
        *sample = x;
    }
    *state = memory;
}

//! Gradients of a decoder's output with respect to its input: what is asked for and what comes of it.

/// A number that a decoder says of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecoderOutput {
    /// The natural logarithm of the probability of a class.
    LogProbability(OutputClass),
    /// What a network says of a class before that becomes a probability; of one that also decodes the mirrored trial, the mean of both.
    Logit(OutputClass),
}

impl DecoderOutput {
    /// Of which class.
    pub fn class(self) -> OutputClass {
        match self {
            DecoderOutput::LogProbability(class) | DecoderOutput::Logit(class) => class,
        }
    }
}

/// A class, as an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputClass {
    /// Each trial's own.
    Own,
    /// The same for all trials, by its place in [`Layout::classes`](ptsm_signal::Layout::classes).
    Number(usize),
}

/// An answer to each trial, and its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The answers, `[n]`.
    pub answers: Vec<f32>,
    /// The gradient with respect to the trials as the decoder gets them, `[n, C, T]`: whatever it does to them inside is part of it. The
    /// network is applied, not trained: running statistics, no dropout. Its unit is one over that of the trials.
    pub gradient: Vec<f32>,
}

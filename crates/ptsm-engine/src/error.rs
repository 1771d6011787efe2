//! What can go wrong, with the place and both sides of every mismatch.

use std::path::PathBuf;

/// Everything the engine refuses to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Operands that do not fit an operation.
    #[error("{operation}{}: {message}", place(.scope))]
    Shape {
        /// The operation, as a user names it.
        operation: &'static str,
        /// The part of the network being built, e.g. `encoder.0`.
        scope: String,
        /// What does not fit, with both shapes.
        message: String,
    },
    /// A value handed to a program does not fit its declaration.
    #[error("input `{name}`: {message}")]
    Input {
        /// The declared name.
        name: String,
        /// What does not fit.
        message: String,
    },
    /// A parameter or statistic that is missing, doubled or of another shape.
    #[error("tensor `{name}`: {message}")]
    Tensor {
        /// The tensor's name.
        name: String,
        /// What does not fit.
        message: String,
    },
    /// A program that cannot be compiled, run or trained as asked for.
    #[error("program: {0}")]
    Program(String),
    /// A step that would have made parameters infinite; they were kept.
    #[error(
        "program: the gradient of replica {replica} is not finite at step {step}; its parameters were kept. A smaller learning rate or input scale may help"
    )]
    Gradient {
        /// Which replica.
        replica: usize,
        /// Which of its steps, counted from 1.
        step: u64,
    },
    /// A GPU that is not there, or cannot do what it is asked for.
    #[error("gpu: {0}")]
    Device(String),
    /// A file that could not be read, written or understood.
    #[error("{}: {message}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong and what to do.
        message: String,
    },
}

fn place(scope: &str) -> String {
    if scope.is_empty() { String::new() } else { format!(" in `{scope}`") }
}

/// The engine's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

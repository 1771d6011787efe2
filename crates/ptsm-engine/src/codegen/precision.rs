//! How exactly a GPU multiplies.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The type that operands of large products and convolutions are rounded to on a GPU. Sums, values, gradients and parameters are float32
/// whatever it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Not rounded.
    #[default]
    F32,
    /// 11 significant bits, on tensor cores.
    Tf32,
    /// 8 significant bits, on tensor cores.
    Bf16,
}

/// An operand of tensor cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Operand {
    /// What the kernels call it.
    pub(crate) name: &'static str,
    /// Numbers in a word of 32 bits.
    pub(crate) numbers: usize,
}

impl Precision {
    /// Its name, for what is written down; none for f32, which is meant where nothing is said.
    pub fn noted(self) -> Option<String> {
        (self != Precision::F32).then(|| self.to_string())
    }

    /// The operand of tensor cores; none where they are not used.
    pub(crate) fn operand(self) -> Option<Operand> {
        match self {
            Precision::F32 => None,
            Precision::Tf32 => Some(Operand { name: "Tf32", numbers: 1 }),
            Precision::Bf16 => Some(Operand { name: "Bf16", numbers: 2 }),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F32 => "f32",
            Precision::Tf32 => "tf32",
            Precision::Bf16 => "bf16",
        })
    }
}

impl FromStr for Precision {
    type Err = Error;

    fn from_str(name: &str) -> Result<Precision, Error> {
        let all = [Precision::F32, Precision::Tf32, Precision::Bf16];
        let found = all.into_iter().find(|p| p.to_string() == name);
        found.ok_or_else(|| Error::Device(format!("there is no precision `{name}`; f32, tf32 and bf16 are")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for precision in [Precision::F32, Precision::Tf32, Precision::Bf16] {
            assert_eq!(precision.to_string().parse::<Precision>().ok(), Some(precision));
        }
        assert!("fp16".parse::<Precision>().is_err());
    }
}

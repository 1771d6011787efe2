//! How fast statistics follow the batches, epoch by epoch.

use serde::{Deserialize, Serialize};

/// Epochs at the end through which momenta stay where they are.
const CONSTANT_EPOCHS: usize = 10;

/// How fast statistics follow the batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Momentum {
    /// From all the way in the first epoch to the share of a domain's trials in a batch; statistics for decoding from a share of
    /// 0.15 to 0.03.
    #[default]
    Scheduled,
    /// The same as the authors' program does it, which by a slip gives 0.85 to 0.97 to the statistics for decoding.
    Published,
    /// Always this share.
    Constant(f64),
}

/// The numbers of a schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub(super) momentum: Momentum,
    /// The share of a domain's trials in what its statistics are for: 1/5, or 1/10 for global ones.
    pub(super) share: f64,
    /// What statistics for decoding keep in the first epoch: 0.85, or 0.35 for global ones.
    pub(super) kept: f64,
    pub(super) epochs: usize,
}

impl Schedule {
    /// For training and for decoding, in an epoch counted from 1.
    pub(super) fn at(&self, epoch: usize) -> [f64; 2] {
        if let Momentum::Constant(share) = self.momentum {
            return [share; 2];
        }
        // With fewer epochs than are constant there is one of each kind.
        let falling = self.epochs.saturating_sub(CONSTANT_EPOCHS).max(2);
        let left = falling.saturating_sub(epoch) as f64 / (falling - 1) as f64;
        let kept = self.kept.powf(self.share * (1.0 - left) + left);
        let later = if self.momentum == Momentum::Published { kept } else { 1.0 - kept };
        [1.0 + self.share - self.share.powf(left), later]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tsmnet::golden::close;

    #[test]
    fn momenta_are_as_specified() {
        let schedule = Schedule { momentum: Momentum::Scheduled, share: 0.2, kept: 0.85, epochs: 50 };
        let at = |epochs: &[usize], which: usize| -> Vec<f64> {
            epochs.iter().map(|&epoch| schedule.at(epoch)[which]).collect()
        };
        let expected = [1.0, 0.9915738034, 0.9100448907, 0.7619195789, 0.2, 0.2];
        close(&at(&[1, 2, 10, 20, 40, 50], 0), &expected, 1e-9);
        assert_eq!(schedule.at(1)[0], 1.0);
        let kept = [0.85, 0.9055813023, 0.968018785];
        close(&at(&[1, 20, 40], 1), &kept.map(|kept| 1.0 - kept), 1e-9);
        let published = Schedule { momentum: Momentum::Published, ..schedule };
        close(&[1, 20, 40].map(|epoch| published.at(epoch)[1]), &kept, 1e-9);
        assert_eq!(published.at(20)[0], schedule.at(20)[0]);
        assert_eq!(Schedule { momentum: Momentum::Constant(0.1), ..schedule }.at(7), [0.1; 2]);
        let short = Schedule { epochs: 4, ..schedule };
        close(&[1, 2, 4].map(|epoch| short.at(epoch)[0]), &[1.0, 0.2, 0.2], 1e-12);
    }
}

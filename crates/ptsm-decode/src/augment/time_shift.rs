//! The trial a little earlier or later.

use rand::RngExt;

use super::Augmentation;

pub(super) const AUGMENTATION: Augmentation = Augmentation {
    name: "time_shift",
    about: "largest shift of a trial in time, in seconds, either way; its edge is repeated to fill the gap",
    most: 10.0,
    apply: |trial, strength, rng| {
        let most = (strength * trial.rate_hz).round().min(trial.samples as f64 - 1.0) as i64;
        let shift = rng.random_range(-most..=most);
        let by = shift.unsigned_abs() as usize;
        for row in trial.x.chunks_exact_mut(trial.samples) {
            let end = row.len() - 1;
            if shift > 0 {
                let edge = row[0];
                row.copy_within(..=end - by, by);
                row[..by].fill(edge);
            } else {
                let edge = row[end];
                row.copy_within(by.., 0);
                row[end + 1 - by..].fill(edge);
            }
        }
    },
};

//! How long nothing has moved.

use std::time::{Duration, Instant};

/// How often it is looked whether something moved: looking takes programs of Slurm.
const LOOK: Duration = Duration::from_secs(5);

/// When something last moved.
pub(super) struct StallTimer<T> {
    last: Option<T>,
    moved: Instant,
    looked: Instant,
}

impl<T: PartialEq> StallTimer<T> {
    /// Begins to look.
    pub(super) fn new(now: Instant) -> StallTimer<T> {
        StallTimer { last: None, moved: now, looked: now }
    }

    /// How long nothing has moved. `state` changes when something does; it is asked now and then.
    pub(super) fn since(&mut self, now: Instant, state: impl FnOnce() -> T) -> Duration {
        if now - self.looked >= LOOK {
            self.looked = now;
            let state = Some(state());
            if self.last != state {
                self.last = state;
                self.moved = now;
            }
        }
        now - self.moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_begins_anew_with_every_move() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut still = StallTimer::new(start);
        let mut looks = 0;
        let mut since = |seconds: u64, state: u32| {
            still.since(at(seconds), || {
                looks += 1;
                state
            })
        };
        assert_eq!(since(1, 0).as_secs(), 1, "too early to look");
        assert_eq!(since(10, 1).as_secs(), 0, "the first look");
        assert_eq!(since(100, 1).as_secs(), 90, "nothing has moved");
        assert_eq!(since(200, 2).as_secs(), 0, "something has");
        assert_eq!(since(201, 3).as_secs(), 1);
        assert_eq!(since(300, 2).as_secs(), 100);
        assert_eq!(looks, 4);
    }
}

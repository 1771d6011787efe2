//! How much memory recordings may take while trials are cut from them.

use std::fs;
use std::ops::Range;

/// Taken where the system does not tell what is free.
const UNKNOWN: u64 = 2 << 30;

/// Half of what is free.
pub(crate) fn usual_bound() -> u64 {
    available().unwrap_or(UNKNOWN) / 2
}

/// Divides work into parts that follow one another; all of one part may be in memory at once. A part needs no more than `bound`
/// bytes or is a single piece of work.
pub(crate) fn parts(needs: &[u64], bound: u64) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = vec![];
    let mut taken = 0u64;
    for (i, &need) in needs.iter().enumerate() {
        let more = taken.saturating_add(need);
        match all.last_mut() {
            Some(part) if more <= bound => (part.end, taken) = (i + 1, more),
            _ => {
                all.push(i..i + 1);
                taken = need;
            }
        }
    }
    all
}

/// Bytes that are free: of the machine, and of the control group this process is in.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    });
    let number =
        |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let group = number("memory.max").map(|most| {
        // What only caches files is given back when it is needed.
        most.saturating_sub(number("memory.current").unwrap_or(0).saturating_sub(cached().unwrap_or(0)))
    });
    [machine, group].into_iter().flatten().min()
}

/// Bytes of the control group that cache files.
fn cached() -> Option<u64> {
    let text = fs::read_to_string("/sys/fs/cgroup/memory.stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("file ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_below_the_bound_or_are_one_piece() {
        assert_eq!(parts(&[], 10), []);
        assert_eq!(parts(&[4, 4, 4], 12), vec![0..3; 1]);
        assert_eq!(parts(&[4, 4, 4], 11), [0..2, 2..3]);
        assert_eq!(parts(&[4, 40, 4, 4], 10), [0..1, 1..2, 2..4]);
        assert_eq!(parts(&[0, 0, u64::MAX, u64::MAX], 0), [0..2, 2..3, 3..4]);
    }
}

//! How much of the machine went to others while workers were measured.
//!
//! A comparison on a busy machine is not a fair one: a framework whose threads wait for each other at every operation loses
//! far more to another process than one that shares out larger pieces. So it is measured and said.

use std::fs;

/// Processor time, in the kernel's ticks, since the machine and the processes started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessorTime {
    /// Of all processors: anyone's work, and what the host took away.
    busy: u64,
    /// Of all processors, idle time too.
    all: u64,
    /// Of the processes asked for.
    own: u64,
}

impl ProcessorTime {
    /// Nothing where the system does not tell.
    pub(crate) fn now(processes: impl IntoIterator<Item = u32>) -> Option<ProcessorTime> {
        let (busy, all) = machine(&fs::read_to_string("/proc/stat").ok()?)?;
        let own =
            processes.into_iter().map(|id| process(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?));
        Some(ProcessorTime { busy, all, own: own.sum::<Option<u64>>()? })
    }

    /// The others' share of the machine between two moments.
    pub(crate) fn others_since(self, before: ProcessorTime) -> f64 {
        let busy = self.busy.saturating_sub(before.busy);
        let others = busy.saturating_sub(self.own.saturating_sub(before.own));
        others as f64 / self.all.saturating_sub(before.all).max(1) as f64
    }
}

impl ProcessorTime {
    /// The same where the processes in question have ended, by the processor time they told.
    pub(crate) fn others_beside(self, before: ProcessorTime, own_ms: f64) -> f64 {
        // Ticks are hundredths of a second.
        let own = ProcessorTime { own: before.own + (own_ms / 10.0) as u64, ..self };
        own.others_since(before)
    }
}

/// `cpu  user nice system idle iowait irq softirq steal ..`: busy and all; guests are part of user.
fn machine(stat: &str) -> Option<(u64, u64)> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8).map(str::parse);
    let numbers = numbers.collect::<Result<Vec<u64>, _>>().ok()?;
    let [user, nice, system, idle, wait, interrupts, soft, stolen] = numbers[..] else { return None };
    let busy = user + nice + system + interrupts + soft + stolen;
    Some((busy, busy + idle + wait))
}

/// User and system time, fields 14 and 15; the name before them may hold anything.
fn process(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_understood() {
        assert_eq!(machine("cpu  10 1 5 100 2 3 4 7 9 9\ncpu0 1 1 1"), Some((30, 132)));
        assert_eq!(machine("cpu  10 1"), None);
        assert_eq!(process("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 40 2 0 0"), Some(42));
        assert_eq!(process("7 (a"), None);
    }

    #[test]
    fn own_work_is_not_the_others() {
        let before = ProcessorTime { busy: 100, all: 1000, own: 10 };
        let after = ProcessorTime { busy: 180, all: 1100, own: 60 };
        assert_eq!(after.others_since(before), 0.3);
    }
}

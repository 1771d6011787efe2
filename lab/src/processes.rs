//! What Linux says of a process.

/// The name of a process and how long processors have worked for it, in ticks of the kernel, of which a second has 100; none where it is
/// not there, or the system does not say.
pub(crate) fn computed(process: &str) -> Option<(String, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in brackets and may hold anything, brackets too.
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let numbers: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| numbers.get(at)?.parse::<u64>().ok();
    Some((name.to_string(), ticks(11)? + ticks(12)?))
}

//! Where a step spends its time: kernels by kind, and the dearest ones.

use super::super::table::Table;
use super::line::{Kernel, Work};

/// Kernels that are named one by one.
const DEAREST: usize = 10;
/// Letters of a kernel's call that are shown.
const LETTERS: usize = 90;

/// Some kernels together.
#[derive(Default)]
struct Sum {
    kernels: usize,
    us: f64,
    multiply_adds: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, kernel: &Kernel) {
        self.kernels += 1;
        self.us += kernel.us;
        self.multiply_adds += kernel.multiply_adds;
        self.bytes += kernel.bytes;
    }

    /// Microseconds, share of a whole, TFLOP/s, GB/s.
    fn cells(&self, whole_us: f64) -> [String; 4] {
        [
            format!("{:.1}", self.us),
            format!("{:.1}%", 100.0 * self.us / whole_us),
            format!("{:.2}", 2.0 * self.multiply_adds as f64 / self.us / 1e6),
            format!("{:.0}", self.bytes as f64 / self.us / 1e3),
        ]
    }
}

/// What an operation is counted among.
fn group(kind: &str) -> &str {
    match kind {
        "several" => "small operations in one block",
        "conv1d" | "conv1d input gradient" | "conv1d weight gradient" | "matmul" | "optimizer" => kind,
        "running statistics" => "normalisation",
        _ if kind.starts_with("batch_norm") || kind.starts_with("layer_norm") => "normalisation",
        "input" | "output" => "taking trials in, telling losses",
        _ => "other operations",
    }
}

/// Both tables.
pub(super) fn text(work: &Work, kernels: &[Kernel]) -> String {
    let Work { network, trial, replicas, .. } = work;
    let whole_us: f64 = kernels.iter().map(|k| k.us).sum();
    let mut groups: Vec<(&str, Sum)> = vec![];
    for kernel in kernels {
        let name = group(&kernel.kind);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => sum.add(kernel),
            None => {
                let mut sum = Sum::default();
                sum.add(kernel);
                groups.push((name, sum));
            }
        }
    }
    groups.sort_by(|(_, a), (_, b)| b.us.total_cmp(&a.us));
    let mut by_kind = Table::new(1, &["kind", "kernels", "us", "share", "TFLOP/s", "GB/s"]);
    for (name, sum) in &groups {
        let mut row = vec![name.to_string(), sum.kernels.to_string()];
        row.extend(sum.cells(whole_us));
        by_kind.row(row);
    }
    let mut dearest: Vec<&Kernel> = kernels.iter().collect();
    dearest.sort_by(|a, b| b.us.total_cmp(&a.us));
    let mut by_kernel = Table::new(1, &["kernel", "us", "share", "TFLOP/s", "GB/s"]);
    for kernel in dearest.into_iter().take(DEAREST) {
        let mut sum = Sum::default();
        sum.add(kernel);
        let mut row = vec![kernel.name.chars().take(LETTERS).collect()];
        row.extend(sum.cells(whole_us));
        by_kernel.row(row);
    }
    format!(
        "KERNELS of {network} {trial}, R = {replicas}, each by itself, {:.3} ms in all; work and bytes are the least an operation needs\n\
         {by_kind}\n{by_kernel}",
        whole_us / 1e3
    )
}

#[cfg(test)]
mod tests {
    use super::super::line::Line;
    use super::super::report::tests::lines;
    use super::*;

    #[test]
    fn kernels_are_summed_by_kind() {
        let found = lines().into_iter().find_map(|line| match line {
            Line::Profile { work, kernels } => Some((work, kernels)),
            _ => None,
        });
        let (work, kernels) = found.unwrap();
        let twice: Vec<Kernel> = kernels.iter().chain(&kernels).cloned().collect();
        let text = text(&work, &twice);
        let row = |begins: &str| {
            let line = text.lines().find(|line| line.starts_with(begins)).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        // 600 million multiply-adds in 60 us are 20 TFLOP/s, 6 MB are 100 GB/s.
        assert_eq!(row("conv1d "), "conv1d 2 120.0 60.0% 20.00 100");
        assert_eq!(row("small"), "small operations in one block 2 80.0 40.0% 0.00 1");
        assert_eq!(row("conv<1>"), "conv<1>(a) 60.0 30.0% 20.00 100");
    }
}

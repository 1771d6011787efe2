//! A benchmark as a page shows it.

use ptsm_eval::{BenchmarkResults, ComparisonMatrix, Error, FoldFeatureFindings, Result, Summary, Table};
use serde::{Deserialize, Serialize};

/// What a page shows of a benchmark.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkMaterial {
    /// What stands above it.
    pub title: String,
    /// What a reader should know.
    pub about: Vec<String>,
    /// The metric of the comparisons.
    pub metric: String,
    /// Results that may stand in one table each.
    pub groups: Vec<BenchmarkGroup>,
    /// What each is about, and the pairwise comparison of the decoders.
    pub matrices: Vec<(String, ComparisonMatrix)>,
    /// What features of every fold tell about subjects; empty where no features were probed.
    pub readings: Vec<FoldFeatureFindings>,
}

/// Results that may stand in one table.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkGroup {
    /// What is the same for all rows.
    pub title: String,
    /// One for each decoder.
    pub summaries: Vec<Summary>,
    /// Tables by name.
    pub tables: Vec<(String, Table)>,
}

impl BenchmarkMaterial {
    /// What is done so far of a benchmark.
    pub fn of(results: BenchmarkResults) -> Result<BenchmarkMaterial> {
        if results.collected.records.is_empty() {
            return Err(Error::request(
                format!("nothing is done yet in {}", results.folder.display()),
                "give the benchmark again; it does what is missing",
            ));
        }
        let mut about = results.about();
        let open = results.collected.missing + results.collected.failures.len();
        if open > 0 {
            about.push(format!("{open} of {} fits failed or are missing.", results.fits()));
        }
        let groups = results.groups()?;
        let matrices = results.pairwise(&groups)?.into_iter().map(|one| (one.of, one.matrix)).collect();
        let plan = &results.plan;
        let group = |group: ptsm_eval::results::ResultGroup| BenchmarkGroup {
            title: group.title(),
            tables: group.tables(plan).into_iter().map(|(name, table)| (name.into(), table)).collect(),
            summaries: group.summaries,
        };
        Ok(BenchmarkMaterial {
            title: results.title().to_string(),
            about,
            metric: plan.compared().first().map_or("accuracy", |metric| metric.name).into(),
            groups: groups.into_iter().map(group).collect(),
            matrices,
            readings: results.collected.readings,
        })
    }
}

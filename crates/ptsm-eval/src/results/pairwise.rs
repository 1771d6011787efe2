//! Pairwise comparison: every decoder against every other, over all data sets that were divided and tested alike.

use serde::Serialize;

use super::groups::ResultGroup;
use crate::chance::ALPHA;
use crate::error::Result;
use crate::matrix::{ComparisonMatrix, Contender};
use crate::plan::Plan;
use crate::table::{Column, Table};

/// A matrix, and what it is about.
#[derive(Serialize)]
pub struct PairwiseComparison {
    /// The data and protocol of the results.
    pub of: String,
    /// Every decoder against every other.
    pub matrix: ComparisonMatrix,
}

/// The matrices, by the metric of the comparisons. Data sets that occur once each stand in one matrix; where one occurs twice, as when it is
/// tested by decoders of several others, each group has its own, for its subjects would count twice.
pub(super) fn of(groups: &[ResultGroup], plan: &Plan) -> Result<Vec<PairwiseComparison>> {
    let Some(metric) = plan.compared().first().copied() else { return Ok(vec![]) };
    let mut sets: Vec<Vec<&ResultGroup>> = vec![];
    for group in groups {
        let joins =
            |set: &&mut Vec<&ResultGroup>| set[0].is_like(group) && set.iter().all(|g| g.data != group.data);
        match sets.iter_mut().find(joins) {
            Some(set) => set.push(group),
            None => sets.push(vec![group]),
        }
    }
    let mut all = vec![];
    for set in sets {
        let of = set.iter().map(|group| group.title()).collect::<Vec<_>>().join("; ");
        let named: Vec<_> = set.iter().flat_map(|group| group.named()).collect();
        let matrix = ComparisonMatrix::of(&named, metric)?;
        if matrix.models.len() > 1 {
            all.push(PairwiseComparison { of, matrix });
        }
    }
    Ok(all)
}

impl PairwiseComparison {
    /// A row for each decoder, a column for each: `+` where the row's is better, `-` where it is worse, a dot where nothing is shown.
    pub fn table(&self) -> Table {
        let models = &self.matrix.models;
        let cell = |row: usize, column: usize| {
            let shown = |a, b| self.matrix.beats(a, b, ALPHA);
            match (row == column, shown(row, column), shown(column, row)) {
                (true, _, _) => "",
                (_, None, _) | (_, _, None) => "?",
                (_, Some(true), _) => "+",
                (_, _, Some(true)) => "-",
                _ => ".",
            }
        };
        let mut columns = vec![Column::number("no."), Column::text("model")];
        columns.extend((1..=models.len()).map(|n| Column::text(n.to_string())));
        let row = |(i, model): (usize, &Contender)| {
            let mut cells = vec![(i + 1).to_string(), model.model.clone()];
            cells.extend((0..models.len()).map(|j| cell(i, j).to_string()));
            cells
        };
        Table {
            columns,
            rows: models.iter().enumerate().map(row).collect(),
            note: format!(
                "Pairwise comparison by {}: {}. `+`: the row's model is significantly better than the column's, `-`: significantly worse, a dot: neither (p < {ALPHA}, one-sided tests as in MOABB, combined over data sets by Stouffer's method, Holm's correction over all pairs).",
                self.matrix.metric, self.of
            ),
        }
    }
}

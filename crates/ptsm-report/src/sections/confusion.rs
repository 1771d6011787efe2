//! Confusion matrix: how many trials of each class were decoded as each class.

use crate::{Figure, HeatMap, SectionPart};

use super::{Material, NO_RUN, SectionContent};

/// More would fill the page.
const MOST: usize = 6;

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(layout) = &m.layout else { return SectionContent::missing(NO_RUN) };
    let mut models: Vec<String> = vec![];
    for record in &m.records {
        if !models.contains(&record.model) {
            models.push(record.model.clone());
        }
    }
    if models.is_empty() {
        return SectionContent::missing(NO_RUN);
    }
    let k = layout.classes.len();
    let map = |model: &String| {
        let mut counts = vec![vec![0.0; k]; k];
        for record in m.records.iter().filter(|r| r.model == *model && r.adapt.is_none()) {
            for (sums, row) in counts.iter_mut().zip(&record.scores.confusion) {
                sums.iter_mut().zip(row).for_each(|(sum, n)| *sum += *n as f64);
            }
        }
        let title = format!("Confusion matrix of {model}");
        SectionPart::Figure(Figure::new(HeatMap::confusion(title, layout.classes.clone(), &counts)))
    };
    SectionContent::new(
        "The confusion matrix shows how many trials of each class were decoded as each class, over all test subjects and all seeds; a trial is counted once for each seed.",
        models.iter().take(MOST).map(map).collect(),
    )
}

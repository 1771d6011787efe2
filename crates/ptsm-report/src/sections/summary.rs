//! The numbers to read first.

use crate::{Fact, SectionPart};
use ptsm_eval::STRICT_ALPHA;

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases::{self, percent};

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(first) = m.summaries.first() else { return SectionContent::missing(NO_RUN) };
    let fact = |label: &str, value: String, note: String| Fact { label: label.into(), value, note };
    let mut facts = vec![];
    // The metric that the chance level is of.
    let leading = first.chance.metric();
    for s in &m.summaries {
        let Some(accuracy) = s.metric(leading.name) else { continue };
        let interval = accuracy.interval.map_or_else(String::new, |i| {
            format!("95 % interval {} to {} over subjects", percent(i.low), percent(i.high))
        });
        facts.push(fact(
            &phrases::display_name(s, &m.summaries),
            format!("{} %", percent(accuracy.mean)),
            interval,
        ));
    }
    // Subjects seen and subjects not seen may have other numbers of trials.
    let mut levels: Vec<(f64, usize)> = vec![];
    for s in &m.summaries {
        let (Some(level), Some(needed)) = (s.chance.level, s.chance.strict()) else { continue };
        let n = s.chance.pooled_n;
        if levels.contains(&(level, n)) {
            continue;
        }
        levels.push((level, n));
        let together = match leading.name {
            "accuracy" => format!("for all {n} trials together"),
            _ => format!("for the mean over {}", phrases::subject_count(s.subjects.len())),
        };
        facts.push(fact(
            &if levels.len() > 1 {
                format!("Chance level, {}", phrases::display_name(s, &m.summaries))
            } else {
                "Chance level".into()
            },
            format!("{} %", percent(level)),
            format!("{} % is needed at p < {STRICT_ALPHA} {together}", percent(needed.threshold)),
        ));
    }
    let mut seen: Vec<String> = m.summaries.iter().map(|s| s.target_access.to_string()).collect();
    seen.dedup();
    facts.push(fact(
        "Target access",
        seen.join("; "),
        format!("{}, {}", first.protocol, phrases::count(first.seeds, "seed")),
    ));
    let mut said = phrases::metric_label(leading);
    said[..1].make_ascii_uppercase();
    SectionContent::new(
        format!(
            "{said} on test subjects, none of whom the decoders were trained on: the mean over subjects of the mean over seeds."
        ),
        vec![
            SectionPart::Facts(facts),
            SectionPart::Table("All scores".into(), ptsm_eval::tables::summaries(&m.summaries)),
        ],
    )
}

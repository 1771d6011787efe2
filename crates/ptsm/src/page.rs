//! The page about a run: one HTML file, sections for what there is.

use ptsm_data::simulate::Truth;
use ptsm_decode::EpochRecord;
use ptsm_eval::{Summary, chance_threshold};
use ptsm_explain::{Masks, favours};
use ptsm_report::colour::Ramp;
use ptsm_report::scale::Axis;
use ptsm_report::svg::standalone;
use ptsm_report::{
    Chance, Curve, Dots, Electrode, Estimate, Fact, Figure, Page, Part, Point, Reference, ScalpMap, Scores,
    Section, Series, Window,
};
use ptsm_signal::Layout;

use crate::words::{self, percent};

/// What a page is made of. What is empty gets no section.
pub(crate) struct Material<'a> {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) notice: String,
    /// The trials.
    pub(crate) layout: &'a Layout,
    /// One per model, the one the page is about first.
    pub(crate) summaries: &'a [Summary],
    /// One per number of shots.
    pub(crate) few: &'a [Summary],
    /// Whether those kept the decoder as it was where leave-one-out found no gain.
    pub(crate) few_guarded: bool,
    /// What adapting one person gave.
    pub(crate) adapted: Option<String>,
    /// Epochs of each model.
    pub(crate) histories: &'a [(String, Vec<EpochRecord>)],
    /// Masks, the mean over seeds.
    pub(crate) masks: &'a [Masks],
    /// What is known because it was made.
    pub(crate) truth: Option<&'a Truth>,
    pub(crate) footer: String,
}

pub(crate) fn build(m: &Material<'_>) -> Page {
    let mut sections = vec![];
    if !m.summaries.is_empty() {
        sections.push(in_short(m));
        sections.push(people(m));
    }
    sections.extend(few_shot(m));
    sections.extend(learning(m));
    if !m.masks.is_empty() {
        sections.push(masks(m));
    }
    Page {
        title: m.title.clone(),
        subtitle: m.subtitle.clone(),
        notice: m.notice.clone(),
        sections,
        footer: m.footer.clone(),
    }
}

/// Every figure of a page as a file of its own: its title as a name, and the drawing.
pub(crate) fn figures(page: &Page) -> Vec<(String, String)> {
    let parts = page.sections.iter().flat_map(|s| &s.parts);
    let figures = parts.filter_map(|p| if let Part::Figure(f) = p { Some(f) } else { None });
    let name = |title: &str| {
        title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-").replace("--", "-")
    };
    figures.map(|f| (name(f.drawing.title()), standalone(&f.drawing.svg("figure")))).collect()
}

fn section(heading: &str, lead: impl Into<String>, parts: Vec<Part>) -> Section {
    Section { heading: heading.into(), lead: lead.into(), parts }
}

fn in_short(m: &Material<'_>) -> Section {
    let fact = |label: &str, value: String, note: String| Fact { label: label.into(), value, note };
    let mut facts = vec![];
    for s in m.summaries {
        let Some(accuracy) = s.metric("accuracy") else { continue };
        let interval = accuracy.interval.map_or_else(String::new, |i| {
            format!("95 % interval {} to {} over people", percent(i.low), percent(i.high))
        });
        facts.push(fact(&words::called(s, m.summaries), format!("{} %", percent(accuracy.mean)), interval));
    }
    let first = &m.summaries[0];
    facts.push(fact(
        "Chance",
        format!("{} %", percent(first.chance.level)),
        format!(
            "{} % is needed at p < 0.001 for all {} trials together",
            percent(chance_threshold(first.chance.pooled_n, first.chance.level, 0.001)),
            first.chance.pooled_n
        ),
    ));
    let mut seen: Vec<String> = m.summaries.iter().map(|s| s.target_access.to_string()).collect();
    seen.dedup();
    facts.push(fact(
        "Seen of the new people",
        seen.join("; "),
        format!("{}, {}", first.protocol, words::count(first.seeds, "seed")),
    ));
    section(
        "In short",
        "Accuracy in people the decoders were not trained on, the mean over people of the mean over seeds.",
        vec![Part::Facts(facts), Part::Table("All scores".into(), words::summaries(m.summaries))],
    )
}

fn people(m: &Material<'_>) -> Section {
    let models = m.summaries.iter().map(|s| {
        let subjects = s
            .subjects
            .iter()
            .map(|p| (p.subject.to_string(), p.scores.get("accuracy").copied().unwrap_or(f64::NAN)));
        let mean = s
            .metric("accuracy")
            .map(|a| Estimate { value: a.mean, interval: a.interval.map(|i| [i.low, i.high]) });
        Scores {
            name: words::called(s, m.summaries),
            subjects: subjects.collect(),
            mean,
            ..Scores::default()
        }
    });
    let first = &m.summaries[0];
    // One line for everybody; people with fewer trials need more.
    let threshold = first.subjects.iter().map(|p| p.chance_threshold).fold(f64::NAN, f64::max);
    let dots = Dots {
        title: "Accuracy of each person".into(),
        axis: Axis::percent("accuracy"),
        models: models.collect(),
        chance: Some(Chance { level: first.chance.level, threshold: Some(threshold) }),
    };
    section(
        "Each person",
        "People differ far more than decoders do: look at the rows before the means.",
        vec![Part::Figure(Figure::new(dots))],
    )
}

fn few_shot(m: &Material<'_>) -> Option<Section> {
    let mut points: Vec<(usize, &Summary)> = m.few.iter().filter_map(|s| Some((s.adapt?.shots, s))).collect();
    if points.is_empty() {
        return None;
    }
    points.sort_by_key(|(shots, _)| *shots);
    let aside = points[0].1.adapt.map_or(0, |a| a.set_aside);
    let level = points[0].1.chance.level;
    let series = Series {
        name: points[0].1.model.clone(),
        points: points
            .iter()
            .filter_map(|(shots, s)| {
                let a = s.metric("accuracy")?;
                Some(Point { x: *shots as f64, y: a.mean, band: a.interval.map(|i| [i.low, i.high]) })
            })
            .collect(),
    };
    let curve = Curve {
        title: "Accuracy after a few labelled trials".into(),
        x: Axis::new("labelled trials of each class"),
        y: Axis::percent("accuracy"),
        series: vec![series],
        levels: vec![Reference { at: level, label: "chance".into() }],
        ..Curve::default()
    };
    let mut parts = vec![Part::Figure(Figure::new(curve))];
    parts.extend(m.adapted.clone().map(Part::Text));
    Some(section(
        "A few trials of one's own",
        format!(
            "The personal masks are tuned on the first trials of each class; the first {aside} of each class are never scored, so that \
             every point is about the same later trials. The band is the 95 % interval over people.{}",
            if m.few_guarded {
                ""
            } else {
                " Every tuned decoder is shown, also those the guard would have refused."
            }
        ),
        parts,
    ))
}

fn learning(m: &Material<'_>) -> Option<Section> {
    let series = m.histories.iter().filter_map(|(name, history)| {
        let last = history.iter().map(|e| e.epoch).max()?;
        let points = (1..=last).filter_map(|epoch| {
            let of = history.iter().filter(|e| e.epoch == epoch).filter_map(|e| e.validation_accuracy);
            let all: Vec<f64> = of.collect();
            let mean = ptsm_eval::mean(&all);
            let low = all.iter().copied().fold(f64::INFINITY, f64::min);
            let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (!all.is_empty()).then_some(Point {
                x: epoch as f64,
                y: mean,
                band: (all.len() > 1).then_some([low, high]),
            })
        });
        Some(Series { name: name.clone(), points: points.collect() })
    });
    let series: Vec<Series> = series.collect();
    if series.iter().all(|s| s.points.is_empty()) {
        return None;
    }
    let level = 1.0 / m.layout.classes.len() as f64;
    let curve = Curve {
        title: "Validation accuracy while learning".into(),
        x: Axis::new("epoch"),
        y: Axis::percent("balanced accuracy"),
        series,
        levels: vec![Reference { at: level, label: "chance".into() }],
        ..Curve::default()
    };
    Some(section(
        "How they learnt",
        "Accuracy on validation people, who are neither trained on nor scored; the epoch to keep was chosen by it. The band spans the \
         seeds, fewer towards the end as they stop.",
        vec![Part::Figure(Figure::new(curve))],
    ))
}

fn masks(m: &Material<'_>) -> Section {
    let mut parts = vec![];
    let task = m.truth.map(Truth::task_channels);
    // One scale for all maps, or a flat mask would look like a strong one.
    let all = m.masks.iter().flat_map(Masks::space_mean);
    let range = all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)]);
    for mask in m.masks {
        let mean = mask.space_mean();
        let electrodes = m.layout.channels.iter().enumerate().filter_map(|(i, channel)| {
            Some(Electrode {
                name: channel.name.clone(),
                position: channel.position?,
                value: mean.get(i).copied().unwrap_or(f64::NAN),
                ringed: task.as_ref().is_some_and(|t| t.get(i) == Some(&true)),
            })
        });
        let electrodes: Vec<Electrode> = electrodes.collect();
        if electrodes.is_empty() {
            continue;
        }
        parts.push(Part::Figure(Figure::new(ScalpMap {
            title: format!("Spatial mask, {}", mask.kind),
            electrodes,
            range: Some(range),
            unit: "mask, 0 to 1".into(),
            ramp: Ramp::Sequential,
            ring_meaning: "at least half of the largest true effect".into(),
        })));
    }
    let times: Vec<f64> = m.layout.times_s().collect();
    let series = m.masks.iter().map(|mask| {
        let mean = mask.time_mean();
        let points = times.iter().zip(&mean).enumerate().map(|(i, (&x, &y))| {
            let all: Vec<f64> = mask.time.iter().map(|row| row[i]).collect();
            let spread = ptsm_eval::deviation(&all);
            Point { x, y, band: spread.map(|s| [y - s, y + s]) }
        });
        Series { name: mask.kind.into(), points: points.collect() }
    });
    let truth_window = m.truth.map(|t| Window {
        from: t.window_s[0],
        to: t.window_s[1].min(times.last().copied().unwrap_or(f64::MAX)),
        label: "true effect".into(),
    });
    parts.push(Part::Figure(Figure::new(Curve {
        title: "Temporal mask".into(),
        x: Axis::new("time after the cue (s)"),
        y: Axis::new("mask, 0 to 1"),
        series: series.collect(),
        windows: truth_window.into_iter().collect(),
        ..Curve::default()
    })));
    if let (Some(truth), Some(task)) = (m.truth, &task) {
        parts.push(Part::Text(verdict(m, truth, task)));
    }
    section(
        "What it looked at",
        "The masks PTSM lays over each trial, the mean over trials and people who were not trained on. A mask shows what the network let \
         pass, not what was there.",
        parts,
    )
}

/// How well the masks agree with what is known, in words.
fn verdict(m: &Material<'_>, truth: &Truth, task: &[bool]) -> String {
    let inside = truth.task_times(m.layout);
    let each: Vec<String> = m
        .masks
        .iter()
        .map(|mask| {
            let space = favours(&mask.space_mean(), task);
            let time = favours(&mask.time_mean(), &inside);
            format!("{}: channels {space:.2}, times {time:.2}", mask.kind)
        })
        .collect();
    format!(
        "Against the truth of the simulation: how likely a channel (a time) that carries the task has a higher mask than one that does \
         not, 0.5 being no better than chance. {}.",
        each.join("; ")
    )
}

/// The mean over decoders of the same masks.
pub(crate) fn mean_over_seeds(all: Vec<Vec<Masks>>) -> Vec<Masks> {
    let n = all.len() as f64;
    let mut all = all.into_iter();
    let Some(mut sum) = all.next() else { return vec![] };
    for other in all {
        for (sum, other) in sum.iter_mut().zip(other) {
            for (sum, other) in [(&mut sum.space, other.space), (&mut sum.time, other.time)] {
                for (sum, other) in sum.iter_mut().flatten().zip(other.iter().flatten()) {
                    *sum += other;
                }
            }
        }
    }
    for mask in &mut sum {
        mask.space.iter_mut().chain(&mut mask.time).flatten().for_each(|v| *v /= n);
    }
    sum
}

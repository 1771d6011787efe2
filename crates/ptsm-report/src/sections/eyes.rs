//! The eye test: how much of the accuracy may be the eyes.

use crate::scale::Axis;
use crate::{Column, ConditionPlot, ConditionScores, Figure, PointEstimate, SectionPart, Table};
use ptsm_eval::{Interval, Metric, PairedDifference, RESAMPLES, Summary, bootstrap_interval, mean};
use ptsm_explain::{EyeCondition, EyeFindings, FrontalDecoder, FrontalSaliency};
use ptsm_signal::SubjectId;

use super::{Material, NO_RUN, SectionContent};
use ptsm_eval::phrases::{self, percent};

/// Above this, a high-pass takes away where eyes rest and leaves how they move.
const SLOW_HZ: f64 = 0.1;
/// Slow eye movements last longer.
const SHORT_S: f64 = 1.0;

pub(super) fn build(m: &Material) -> SectionContent {
    let Some(found) = &m.eyes else { return SectionContent::missing(NO_RUN) };
    let Some(whole) = found.scores_of(EyeCondition::AsTheyAre) else {
        return SectionContent::missing("The eye test has no scores of the epochs as they are.");
    };
    let metric = whole.chance.metric();
    let differences = found.differences();
    let mut parts = vec![
        SectionPart::Figure(Figure::new(figure(found, whole, metric))),
        SectionPart::Table("What the decoder loses".into(), losses(found, &differences, metric)),
    ];
    if !found.frontal_decoders.is_empty() {
        let alone = frontal_decoders(&found.frontal_decoders, metric);
        parts.push(SectionPart::Table("What frontal channels tell by themselves".into(), alone));
    }
    parts.push(SectionPart::Table("Eyes in each subject".into(), subjects(found, whole, metric)));
    parts.extend(readings(found, &differences, metric).into_iter().map(SectionPart::Text));
    SectionContent::new(
        format!(
            "Eyes that follow a cue tell where it was, and frontal channels ({}; {} of {}) are the ones they reach most. The decoder, which is not \
             retrained, gets the epochs of the test subjects without what frontal channels see, or with nothing else; classic decoders are trained on \
             frontal channels alone. Frontal channels also see the frontal brain, so that no number here is of the eyes only.",
            found.frontal.join(", "),
            found.frontal.len(),
            phrases::count(found.channels, "channel")
        ),
        parts,
    )
}

/// The mean of a summary and its interval.
fn estimate(summary: &Summary, metric: &Metric) -> PointEstimate {
    match summary.metric(metric.name) {
        Some(found) => PointEstimate { value: found.mean, interval: found.interval.map(|i| [i.low, i.high]) },
        None => PointEstimate { value: f64::NAN, interval: None },
    }
}

/// The score of a subject; not a number where there is none.
fn of_subject(summary: &Summary, subject: SubjectId, metric: &Metric) -> f64 {
    let own = summary.subjects.iter().find(|own| own.subject == subject);
    own.and_then(|own| own.scores.get(metric.name).copied()).unwrap_or(f64::NAN)
}

fn figure(found: &EyeFindings, whole: &Summary, metric: &Metric) -> ConditionPlot {
    let subjects: Vec<SubjectId> = whole.subjects.iter().map(|own| own.subject).collect();
    let row = |name: String, summary: &Summary, group: usize| ConditionScores {
        name,
        subjects: subjects.iter().map(|subject| of_subject(summary, *subject, metric)).collect(),
        mean: Some(estimate(summary, metric)),
        group,
    };
    let own = found.scores.iter().map(|own| row(own.condition.label().into(), &own.summary, 0));
    let alone = &found.frontal_decoders;
    let alone = alone.iter().map(|alone| row(format!("{}, frontal", alone.summary.model), &alone.summary, 1));
    let said = phrases::metric_label(metric);
    let mut title = said.clone();
    title[..1].make_ascii_uppercase();
    let mut groups = vec![whole.model.clone()];
    groups.extend((!found.frontal_decoders.is_empty()).then(|| "trained on frontal channels".into()));
    ConditionPlot {
        title: format!("{title} with and without frontal channels"),
        axis: Axis::percent(said),
        rows: own.chain(alone).collect(),
        groups,
        chance: whole.chance.level,
    }
}

fn percent_interval(interval: Option<Interval>) -> String {
    interval.map_or("-".into(), |i| format!("{} to {}", percent(i.low), percent(i.high)))
}

/// A difference of shares, in percentage points.
fn points(value: f64) -> String {
    // What rounding left of zero has no sign.
    match 100.0 * value {
        value if !value.is_finite() => "-".into(),
        value if value.abs() < 0.05 => "0.0".into(),
        value => format!("{value:+.1}"),
    }
}

fn points_interval(interval: Option<Interval>) -> String {
    interval.map_or("-".into(), |i| format!("{} to {}", points(i.low), points(i.high)))
}

fn losses(found: &EyeFindings, differences: &[(EyeCondition, PairedDifference)], metric: &Metric) -> Table {
    let row = |own: &ptsm_explain::EyeScores| {
        let difference = differences.iter().find(|(condition, _)| *condition == own.condition);
        let said = |of: &dyn Fn(&PairedDifference) -> String| {
            difference.map_or("-".into(), |(_, difference)| of(difference))
        };
        vec![
            own.condition.label().into(),
            own.summary.target_access.to_string(),
            percent(estimate(&own.summary, metric).value),
            percent_interval(own.summary.metric(metric.name).and_then(|found| found.interval)),
            said(&|d| points(d.difference)),
            said(&|d| points_interval(d.interval)),
            said(&|d| format!("{:.3}", d.p_holm)),
        ]
    };
    Table {
        columns: vec![
            Column::text("epochs of test subjects"),
            Column::text("target access"),
            Column::number(format!("{} %", phrases::metric_label(metric))),
            Column::text("95 % interval"),
            Column::number("difference, points"),
            Column::text("95 % interval of it"),
            Column::number("p"),
        ],
        rows: found.scores.iter().map(row).collect(),
        note: "Differences are within subjects, against the epochs as they are; intervals are over subjects, and p is two-sided with Holm's correction \
               for these rows. Ocular regression takes off each channel what the frontal ones explain of it, over the epochs of a subject and session, \
               without labels; the frontal channels are empty afterwards. Empty channels are zero. `Others` are as many channels that are not frontal, drawn at \
               random, and the mean over several draws: what regressing on channels, or emptying them, costs whatever they see. The epochs are those that the decoder gets, so \
               that their scaling is not done again."
            .into(),
    }
}

fn frontal_decoders(decoders: &[FrontalDecoder], metric: &Metric) -> Table {
    let row = |own: &FrontalDecoder| {
        let summary = &own.summary;
        let tested = summary.subjects.iter().filter(|subject| subject.above_chance.is_some()).count();
        vec![
            summary.model.clone(),
            own.sees.clone(),
            own.training_subjects.to_string(),
            percent(estimate(summary, metric).value),
            percent_interval(summary.metric(metric.name).and_then(|found| found.interval)),
            summary.chance.level.map_or("-".into(), percent),
            summary.chance.above.map_or("-".into(), |above| format!("{above} of {tested}")),
            percent(summary.metric("auc").map_or(f64::NAN, |found| found.mean)),
        ]
    };
    Table {
        columns: vec![
            Column::text("decoder"),
            Column::text("sees"),
            Column::number("training subjects"),
            Column::number(format!("{} %", phrases::metric_label(metric))),
            Column::text("95 % interval"),
            Column::number("chance level %"),
            Column::text("subjects above chance"),
            Column::number("AUC %"),
        ],
        rows: decoders.iter().map(row).collect(),
        note: "Fitted in seconds to the frontal channels of the run's training subjects, with as many trials of each class, and tested on the frontal \
               channels of the test subjects. A look to the left and one to the right differ in the sign of potentials and not in covariances, which \
               see blinks, muscles and rhythms instead."
            .into(),
    }
}

fn subjects(found: &EyeFindings, whole: &Summary, metric: &Metric) -> Table {
    let said = phrases::metric_label(metric);
    let share = |saliency: &FrontalSaliency, subject: SubjectId| {
        let own = saliency.subjects.iter().position(|own| *own == subject);
        own.map_or(f64::NAN, |own| saliency.shares[own])
    };
    let row = |subject: SubjectId| {
        let mut row = vec![subject.to_string()];
        let own = found.scores.iter().map(|own| &own.summary);
        let all = own.chain(found.frontal_decoders.iter().map(|own| &own.summary));
        row.extend(all.map(|summary| percent(of_subject(summary, subject, metric))));
        row.extend(found.saliency.iter().map(|saliency| percent(share(saliency, subject))));
        row
    };
    let mut columns = vec![Column::text("subject")];
    let own = found.scores.iter().map(|own| own.condition.label().to_string());
    let alone = found.frontal_decoders.iter().map(|own| format!("{}, frontal", own.summary.model));
    columns.extend(own.chain(alone).map(|name| Column::number(format!("{name} %"))));
    columns.extend(found.saliency.iter().map(|_| Column::number("saliency on frontal channels %")));
    Table {
        columns,
        rows: whole.subjects.iter().map(|own| row(own.subject)).collect(),
        note: format!("{}{} under each condition.", said[..1].to_uppercase(), &said[1..]),
    }
}

/// What the numbers say and what they do not, a paragraph each.
fn readings(
    found: &EyeFindings,
    differences: &[(EyeCondition, PairedDifference)],
    metric: &'static Metric,
) -> Vec<String> {
    let said = phrases::metric_label(metric);
    let mut all = vec![];
    let regressed = differences.iter().find(|(condition, _)| *condition == EyeCondition::Regressed);
    all.extend(regressed.map(|(_, regressed)| after_regression(found, regressed, &said)));
    all.extend(against_others(found, &said));
    all.extend(found.frontal_decoders.iter().map(|own| alone(own, metric)));
    if let Some(saliency) = &found.saliency {
        all.push(on_frontal(found, saliency));
    }
    all.extend(found.unscored.iter().map(|(condition, why)| {
        format!("The condition `{}` is not scored: {}.", condition.label(), why.trim_end_matches('.'))
    }));
    all.extend(found.missing.iter().cloned());
    all.extend(limits(found));
    all
}

/// What a drop, a rise or neither after ocular regression says.
fn after_regression(found: &EyeFindings, own: &PairedDifference, said: &str) -> String {
    let Some(ends) = own.interval else {
        return format!(
            "After ocular regression the {said} differs by {} points. One subject tells nothing of others: the test needs several.",
            points(own.difference)
        );
    };
    let begin = format!("After ocular regression the {said} differs by {}", points_with(own));
    if ends.low > 0.0 {
        return format!(
            "{begin}: it rises, and nothing speaks for a contribution of the eyes. The regression then takes off what disturbs the decoder."
        );
    }
    if ends.high >= 0.0 {
        return format!(
            "{begin}: no drop can be told from chance. That is no proof that eyes contribute nothing: the interval says how large a drop these subjects \
             leave possible, and what frontal channels do not see linearly stays in the others."
        );
    }
    let bound = "This is an upper bound of what eyes contribute, since the regression also takes off what the frontal brain and other regions have in \
                 common with frontal channels, and a decoder that is not retrained loses by the change itself.";
    match found.difference(EyeCondition::Regressed, EyeCondition::RegressedOnOthers) {
        Some(more) if more.interval.is_some_and(|ends| ends.high < 0.0) => format!(
            "{begin}: it falls, and differs by {} from that after the same regression on as many other channels. {bound}",
            points_with(&more)
        ),
        Some(more) => format!(
            "{begin}: it falls, but differs by {} from that after the same regression on as many other channels: no more than regressing and emptying \
             channels costs wherever they are. So this decoder cannot be judged by the loss, which says nothing of eyes in particular; what frontal \
             channels tell by themselves says more.",
            points_with(&more)
        ),
        None => format!("{begin}: it falls. {bound}"),
    }
}

/// `-24.3 points (-36.0 to -12.2)`
fn points_with(difference: &PairedDifference) -> String {
    format!("{} points ({})", points(difference.difference), points_interval(difference.interval))
}

/// Frontal channels against as many others.
fn against_others(found: &EyeFindings, said: &str) -> Option<String> {
    let difference = found.difference(EyeCondition::WithoutFrontal, EyeCondition::WithoutOthers)?;
    let verdict = match difference.interval? {
        ends if ends.high < 0.0 => "the decoder depends more on the frontal channels than on others",
        ends if ends.low > 0.0 => "the decoder depends less on the frontal channels than on others",
        _ => "no difference can be told from chance",
    };
    Some(format!(
        "Without the frontal channels the {said} differs by {} from that without as many others: {verdict}. What eyes leave in channels that are not \
         frontal is still there.",
        points_with(&difference)
    ))
}

fn alone(own: &FrontalDecoder, metric: &Metric) -> String {
    let found = estimate(&own.summary, metric);
    let level = own.summary.chance.level.unwrap_or(f64::NAN);
    let verdict = match found.interval {
        Some([low, _]) if low > level => {
            "above the chance level: frontal channels tell the classes apart by themselves, be it by eyes, muscles or the frontal brain"
        }
        Some(_) => {
            "not above the chance level: this decoder finds nothing there, which a better one, or more training subjects, may"
        }
        None => "of one subject, which tells nothing of others",
    };
    let ends = found.interval.map_or(String::new(), |[low, high]| {
        format!(", 95 % interval {} to {}", percent(low), percent(high))
    });
    format!(
        "From frontal channels alone, {} ({}) reaches {} %{ends} (chance level {} %), {verdict}.",
        own.summary.model,
        own.sees,
        percent(found.value),
        percent(level)
    )
}

fn on_frontal(found: &EyeFindings, saliency: &FrontalSaliency) -> String {
    let shares: Vec<f64> = saliency.shares.iter().copied().filter(|share| share.is_finite()).collect();
    let ends = bootstrap_interval(&shares, 0.95, RESAMPLES, 1).map_or(String::new(), |i| {
        format!(", 95 % interval {} to {} over subjects", percent(i.low), percent(i.high))
    });
    format!(
        "Frontal channels are {} % of the channels and hold {} % of the saliency ({}{ends}). Saliency is also high where a channel serves to take noise off \
         others, as frontal ones do where eyes disturb.",
        percent(found.share_of_channels()),
        percent(mean(&shares)),
        saliency.method
    )
}

/// What these data leave untested.
fn limits(found: &EyeFindings) -> Option<String> {
    let mut limits: Vec<String> = vec![];
    if found.average_reference {
        limits.push(
            "The reference is the average of all channels: a part of what eyes leave in frontal channels is, with the other sign, in every channel, where \
             emptying the frontal ones leaves it."
                .into(),
        );
    }
    if let Some(low_hz) = found.low_hz.filter(|low_hz| *low_hz > SLOW_HZ) {
        limits.push(format!(
            "The pipeline takes out what is below {low_hz} Hz, and with it where eyes rest: what is left of them are blinks, fast movements and muscles."
        ));
    }
    if found.epoch_s < SHORT_S {
        limits.push(format!(
            "Epochs of {:.2} s are shorter than slow eye movements, which are cut off and look like a slope.",
            found.epoch_s
        ));
    }
    if found.unplaced > 0 {
        limits.push(format!(
            "{} without a known position, electrooculogram channels among them, cannot be told to be frontal and stay as they are in all conditions but \
             the last.",
            phrases::count(found.unplaced, "channel")
        ));
    }
    (!limits.is_empty()).then(|| limits.join(" "))
}

#[cfg(test)]
mod tests {
    use ptsm_eval::{Record, RecordContext, Scores};
    use ptsm_explain::EyeScores;
    use ptsm_signal::TargetAccess;

    use super::*;

    /// Scores of three subjects, of whom so many of 20 trials are decoded right.
    fn summary(model: &str, variant: &str, right: [usize; 3]) -> Summary {
        let context = RecordContext::trained_on_others("made", model, TargetAccess::Nothing, 1);
        let record = |(subject, right): (u32, usize)| {
            let labels: Vec<u32> = (0..20).map(|i| i % 2).collect();
            let p = labels
                .iter()
                .enumerate()
                .map(|(i, label)| if (*label == 0) == (i < right) { 0.8 } else { 0.2 });
            let p: Vec<f32> = p.flat_map(|p: f32| [p, 1.0 - p]).collect();
            Record {
                data: context.data.clone(),
                model: context.model.clone(),
                variant: Some(variant.into()),
                protocol: context.protocol.clone(),
                trained_on: None,
                tested: None,
                target_access: context.target_access,
                subject: SubjectId(subject),
                session: None,
                fold: 0,
                seed: 1,
                precision: None,
                adapt: None,
                positive_class: None,
                scores: Scores::of(&labels, &p, 2, 1).unwrap(),
            }
        };
        let records: Vec<Record> = (1..=3).zip(right).map(record).collect();
        Summary::of(&records).unwrap().remove(0)
    }

    fn findings(regressed: [usize; 3], others: [usize; 3]) -> EyeFindings {
        let scores = [
            (EyeCondition::AsTheyAre, [16, 18, 20]),
            (EyeCondition::Regressed, regressed),
            (EyeCondition::RegressedOnOthers, others),
            (EyeCondition::WithoutFrontal, [10, 11, 12]),
            (EyeCondition::WithoutOthers, [16, 17, 20]),
        ];
        let scores = scores.map(|(condition, right)| EyeScores {
            condition,
            summary: summary("eegnet", condition.label(), right),
        });
        EyeFindings {
            frontal: vec!["AF7".into(), "AF8".into()],
            channels: 8,
            unplaced: 1,
            scores: scores.into(),
            unscored: vec![(EyeCondition::OnlyFrontal, "no signal".into())],
            frontal_decoders: vec![FrontalDecoder {
                sees: "potentials".into(),
                training_subjects: 9,
                summary: summary("slda-erp", "frontal", [17, 18, 16]),
            }],
            missing: vec!["ts-lr was not.".into()],
            saliency: Some(FrontalSaliency {
                method: "occlusion".into(),
                subjects: (1..=3).map(SubjectId).collect(),
                shares: vec![0.5, 0.6, f64::NAN],
            }),
            average_reference: true,
            low_hz: Some(0.5),
            epoch_s: 0.8,
        }
    }

    fn material(eyes: EyeFindings) -> Material {
        Material { eyes: Some(eyes), sections: vec!["eyes".into()], ..Material::default() }
    }

    fn parts(eyes: EyeFindings) -> (Vec<Table>, String) {
        let SectionContent::Made { parts, .. } = build(&material(eyes)) else {
            panic!("the section is not made")
        };
        let (mut tables, mut texts) = (vec![], vec![]);
        for part in parts {
            match part {
                SectionPart::Table(_, table) => tables.push(table),
                SectionPart::Text(text) => texts.push(text),
                SectionPart::Figure(figure) => tables.push(figure.drawing.table()),
                _ => panic!("another part"),
            }
        }
        (tables, texts.join("\n"))
    }

    #[test]
    fn differences_are_within_subjects_and_the_drop_is_told_as_an_upper_bound() {
        let (tables, text) = parts(findings([11, 12, 12], [16, 17, 18]));
        let [figure, losses, alone, subjects] = &tables[..] else { panic!("{} tables", tables.len()) };
        // 18 of 20 on average; 11.67 after the regression, 5, 6 and 8 trials fewer.
        assert_eq!(figure.rows[1][..2], ["after ocular regression", "0.5833"]);
        assert_eq!(figure.rows[5][0], "slda-erp, frontal");
        assert_eq!(losses.rows[0][2..7], ["90.0", "80.0 to 100.0", "-", "-", "-"]);
        assert_eq!(losses.rows[1][2], "58.3");
        assert_eq!(losses.rows[1][4..6], ["-31.7", "-40.0 to -25.0"]);
        assert_eq!(alone.rows[0][2..4], ["9", "85.0"]);
        assert_eq!(subjects.rows[0], ["S01", "80.0", "55.0", "80.0", "50.0", "80.0", "85.0", "50.0"]);
        assert_eq!(subjects.rows[2][7], "-");
        for said in [
            "After ocular regression the accuracy differs by -31.7 points (-40.0 to -25.0): it falls",
            "differs by -26.7 points (-30.0 to -25.0) from that after the same regression on as many other channels. This is an upper bound",
            "the decoder depends more on the frontal channels than on others",
            "reaches 85.0 %, 95 % interval 80.0 to 90.0 (chance level 50.0 %), above the chance level",
            "25.0 % of the channels and hold 55.0 % of the saliency",
            "`only frontal channels` is not scored: no signal.",
            "ts-lr was not.",
            "average of all channels",
            "below 0.5 Hz",
            "0.80 s are shorter",
            "1 channel without a known position",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    /// A decoder that cannot do with empty channels falls whichever they are.
    #[test]
    fn a_drop_that_others_cost_too_is_not_of_the_eyes() {
        let (_, text) = parts(findings([11, 12, 12], [11, 12, 11]));
        assert!(text.contains("it falls, but differs by +1.7 points (0.0 to +5.0)"), "{text}");
        assert!(text.contains("says nothing of eyes in particular"), "{text}");
    }

    #[test]
    fn no_drop_is_no_proof_and_one_subject_no_inference() {
        let (_, text) = parts(findings([17, 18, 19], [16, 17, 18]));
        assert!(text.contains("no drop can be told from chance. That is no proof"), "{text}");
        let (_, text) = parts(findings([18, 19, 20], [16, 17, 18]));
        assert!(!text.contains("it falls"), "{text}");
        let mut one = findings([11, 12, 12], [16, 17, 18]);
        for summary in one.scores.iter_mut().map(|scores| &mut scores.summary) {
            summary.subjects.truncate(1);
        }
        let (_, text) = parts(one);
        assert!(text.contains("One subject tells nothing of others"), "{text}");
    }

    /// What is not a number, as a share of no saliency, survives too.
    #[test]
    fn the_numbers_file_keeps_the_eye_test() {
        let path = std::env::temp_dir().join(format!("ptsm-eye-test-{}.json", std::process::id()));
        let read = |material: &Material| {
            std::fs::write(&path, material.to_numbers().unwrap()).unwrap();
            Material::from_numbers(&path)
        };
        let eyes = super::super::chosen(&["eyes".into()], true).unwrap();
        let page = |material: &Material| super::super::build(material, &eyes, true).html();
        let own = material(findings([11, 12, 12], [16, 17, 18]));
        let back = read(&own).unwrap();
        assert!(page(&own).contains("Accuracy with and without frontal channels"));
        assert_eq!(page(&back), page(&own));
        assert_eq!(back.to_numbers().unwrap(), own.to_numbers().unwrap());
        let mut uneven = findings([11, 12, 12], [16, 17, 18]);
        uneven.saliency.as_mut().unwrap().shares.pop();
        let error = read(&material(uneven)).err().unwrap();
        assert!(error.to_string().contains("saliency of other subjects"), "{error}");
        // A file of before has no such key.
        let before = read(&Material::default()).unwrap();
        assert!(before.eyes.is_none() && !std::fs::read_to_string(&path).unwrap().contains("\"eyes\""));
        std::fs::remove_file(&path).unwrap();
    }
}

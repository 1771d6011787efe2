//! `cargo lab results --claims`: what the paper says of masks and features, measured on unseen subjects.
//!
//! Forty subjects of PhysioNet are test subjects once each, ten at a time. For each ten a decoder is trained on the other thirty, `ptsm report`
//! explains it, and what it found stands in `target/results/claims/MODEL-SUBJECTS.json`, which may have been made on another machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ptsm_eval::{deviation, mean};
use ptsm_explain::{Binning, LabelledProbabilities, Masks, rank_correlation};
use serde_json::Value;

use crate::shell::{relative, stream, target};

/// Training subjects and test subjects.
const DIVISIONS: [[&str; 2]; 4] =
    [["11-40", "1-10"], ["1-10,21-40", "11-20"], ["1-20,31-40", "21-30"], ["1-30", "31-40"]];
/// Decoders with what else they are trained and explained with.
const MODELS: [[&str; 3]; 2] =
    [["ptsm", "--set training.keep_subjects=true", "--nulls 2"], ["eegnet", "", ""]];
/// Explanations that are put to the deletion test.
const RANKED: [&str; 4] = [
    "fused mask, channels",
    "fused mask, times",
    "integrated gradients, channels",
    "integrated gradients, times",
];
const SECTIONS: &str = "summary,subjects,calibration,masks,saliency,sanity-checks,disentanglement,failures";

/// One line of the table: what it is, and what each file says.
struct Measure {
    what: String,
    of: MeasureFn,
}

/// How a number is written.
type NumberFormat = fn(f64) -> String;

/// What a file says; none where it is silent.
type MeasureFn = Box<dyn Fn(&Value) -> Option<Measurement>>;

impl Measure {
    /// Whether only PTSM has it: masks, and features of the subject.
    fn is_of_ptsm(&self) -> bool {
        self.what.contains("mask") || self.what.contains("subject features")
    }
}

/// A number to take the mean of, its text among others of its kind, and what stands beside it.
struct Measurement {
    number: f64,
    number_format: NumberFormat,
    beside: String,
}

/// Trains and explains what is missing.
pub(crate) fn make(data: &Path) -> Result<()> {
    fs::create_dir_all(folder())?;
    for [model, training, explaining] in MODELS {
        for [known, unseen] in DIVISIONS {
            let numbers = file(model, unseen);
            if numbers.is_file() {
                continue;
            }
            let run = folder().join(format!("{model}-{unseen}"));
            let place = |line: String, rest: &[(&str, &Path)]| {
                let mut command = Command::new(target().join("release/ptsm"));
                command.args(line.split_whitespace()).arg("--root").arg(data);
                rest.iter().for_each(|(flag, path)| {
                    command.arg(flag).arg(path);
                });
                command
            };
            stream(&mut place(train(model, known, training), &[("--out", &run)]))?;
            let page = run.with_extension("html");
            let mut report = place(report(unseen, explaining), &[("--numbers", &numbers), ("--out", &page)]);
            stream(report.arg(&run))?;
        }
    }
    Ok(())
}

fn train(model: &str, known: &str, more: &str) -> String {
    format!(
        "train --data physionet-mi --with pipeline=broadband --subjects {known} --model {model} --set augment.mirror=0.0 --set training.symmetry=none {more} --seeds 3"
    )
}

fn report(unseen: &str, more: &str) -> String {
    format!("report --data physionet-mi --subjects {unseen} --sections {SECTIONS} {more}")
}

fn folder() -> PathBuf {
    target().join("results/claims")
}

fn file(model: &str, unseen: &str) -> PathBuf {
    folder().join(format!("{model}-{unseen}.json"))
}

/// The tables of what was made.
pub(crate) fn page() -> Result<String> {
    let mut page = String::new();
    for [model, training, explaining] in MODELS {
        let read = |[_, unseen]: [&str; 2]| -> Result<Value> {
            let path = file(model, unseen);
            let cannot = || format!("{} cannot be read", relative(&path));
            let text = fs::read(&path).with_context(cannot)?;
            let document: Value = serde_json::from_slice(&text).with_context(cannot)?;
            ensure!(
                document["kind"] == "ptsm report numbers" && document["format"] == 1,
                "{} holds no numbers of a report, or of another format",
                relative(&path)
            );
            Ok(document["material"].clone())
        };
        let all = DIVISIONS.into_iter().map(read).collect::<Result<Vec<_>>>()?;
        let heads = DIVISIONS.map(|[_, unseen]| format!("subjects {unseen}")).join(" | ");
        page +=
            &format!("\n### {model}\n\n| measured | {heads} | mean (SD) |\n| --- |{}\n", " ---: |".repeat(5));
        for measure in measures().into_iter().filter(|measure| model == "ptsm" || !measure.is_of_ptsm()) {
            let found: Option<Vec<Measurement>> = all.iter().map(|m| (measure.of)(m)).collect();
            let found = found.with_context(|| format!("{model}: no number for `{}`", measure.what))?;
            let number_format = found[0].number_format;
            let numbers: Vec<f64> = found.iter().map(|one| one.number).collect();
            let cells: Vec<String> =
                found.iter().map(|one| format!("{}{}", number_format(one.number), one.beside)).collect();
            let cells = cells.join(" | ");
            let spread = deviation(&numbers).map_or("-".into(), number_format);
            let spread = spread.trim_start_matches('+');
            page +=
                &format!("| {} | {cells} | {} ({spread}) |\n", measure.what, number_format(mean(&numbers)));
        }
        let [known, unseen] = DIVISIONS[3];
        let line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        page += &format!(
            "\n```\nptsm {} --root DATA --out {model}-{unseen}\nptsm {} --root DATA {model}-{unseen} --numbers {model}-{unseen}.json --out {model}-{unseen}.html\n```\n",
            line(train(model, known, training)),
            line(report(unseen, explaining)),
        );
    }
    Ok(page)
}

fn percent(value: f64) -> String {
    format!("{:.1}", 100.0 * value)
}

fn signed(value: f64) -> String {
    format!("{value:+.2}")
}

fn points(value: f64) -> String {
    format!("{:+.1}", 100.0 * value)
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    value.pointer(path).filter(|found| !found.is_null())
}

fn number(value: &Value, path: &str) -> Option<f64> {
    at(value, path)?.as_f64()
}

/// One explanation's tests.
fn tested<'a>(m: &'a Value, name: &str) -> Option<&'a Value> {
    at(m, "/believed/tested")?.as_array()?.iter().find(|one| one["name"] == name)
}

/// Mean masks of a kind over subjects, by channels or by times.
fn mask(all: &Value, kind: &str, times: bool) -> Option<Vec<f64>> {
    let all: Vec<Masks> = serde_json::from_value(all.clone()).ok()?;
    let own = all.into_iter().find(|mask| mask.kind == kind)?;
    Some(if times { own.time_mean() } else { own.space_mean() })
}

/// How alike a mask is to the same of decoders trained on shuffled labels.
fn shuffled(m: &Value, kind: &str, times: bool) -> Option<f64> {
    let own = mask(at(m, "/looked/all")?, kind, times)?;
    let nulls = at(m, "/looked/nulls")?.as_array()?;
    let alike = |null: &Value| Some(rank_correlation(&own, &mask(null, kind, times)?));
    let found: Vec<f64> = nulls.iter().filter_map(alike).collect();
    (!found.is_empty()).then(|| mean(&found))
}

/// A probe's answer, the linear one's. Files of earlier versions call the subject a person.
fn probed<'a>(m: &'a Value, what: &str, of: &str) -> Option<&'a Value> {
    let probes = at(m, "/apart/asked")?.as_array()?.iter();
    let is_of = |one: &&Value| one["what"] == what || (what == "the subject" && one["what"] == "the person");
    probes.filter(|one| is_of(one) && one["of"] == of).find_map(|one| at(one, "/found/0"))
}

/// The error of probabilities as they are, or at the temperature of the validation subjects.
fn calibration(m: &Value, scaled: bool) -> Option<f64> {
    let scored: LabelledProbabilities = serde_json::from_value(at(m, "/trusted/scored")?.clone()).ok()?;
    let scored = if scaled { scored.at(number(m, "/trusted/temperature/0")?) } else { scored };
    Some(scored.calibration(Binning::EqualMass(10)).expected_error)
}

/// Rank correlation of accuracy with the share of power in the lowest band.
fn slow(m: &Value) -> Option<f64> {
    let subjects = at(m, "/summaries/0/subjects")?.as_array()?;
    let mut both = [vec![], vec![]];
    for signals in at(m, "/signals")?.as_array()? {
        let own = subjects.iter().find(|subject| subject["subject"] == signals["subject"])?;
        both[0].push(number(own, "/scores/accuracy")?);
        both[1].push(number(signals, "/shares/0")?);
    }
    Some(rank_correlation(&both[0], &both[1]))
}

fn measures() -> Vec<Measure> {
    let mut all: Vec<Measure> = vec![];
    let mut add = |what: String, of: MeasureFn| all.push(Measure { what, of });
    fn plain(number: f64, number_format: NumberFormat) -> Measurement {
        Measurement { number, number_format, beside: String::new() }
    }
    add(
        "accuracy %".into(),
        Box::new(|m| {
            let metrics = at(m, "/summaries/0/metrics")?.as_array()?;
            let own = metrics.iter().find(|one| one["metric"] == "accuracy")?;
            Some(plain(number(own, "/mean")?, percent))
        }),
    );
    add("calibration error, points".into(), Box::new(|m| Some(plain(calibration(m, false)?, percent))));
    add(
        "the same after temperature scaling by the validation subjects".into(),
        Box::new(|m| {
            let temperature = number(m, "/trusted/temperature/0")?;
            Some(Measurement {
                beside: format!(" (T {temperature:.1})"),
                ..plain(calibration(m, true)?, percent)
            })
        }),
    );
    for name in RANKED {
        for (test, test_name) in [(0, "deletion"), (1, "insertion")] {
            let by: [(&str, &str, NumberFormat); 2] = [
                (
                    "balanced_accuracy",
                    "how much more the highest ranked matters than the lowest, points",
                    points,
                ),
                ("log_loss", "the same by log loss", signed),
            ];
            for (measure, what, number_format) in by {
                add(
                    format!("{name}: {test_name}, {what}"),
                    Box::new(move |m| {
                        let areas = at(tested(m, name)?, &format!("/removed/{test}/{measure}"))?;
                        let p = number(areas, "/p")?;
                        let beside = format!(" (p {p:.3})");
                        Some(Measurement { beside, ..plain(number(areas, "/between")?, number_format) })
                    }),
                );
            }
        }
    }
    for name in RANKED {
        let both = ["difference of classes in signal", "difference of classes in power"];
        let of_channels = ["CSP patterns", "xDAWN patterns", "nearness to C3, Cz, C4"];
        let known = both.into_iter().chain(of_channels.into_iter().filter(|_| name.ends_with("channels")));
        for known in known {
            add(
                format!("{name}: rank correlation with {known}"),
                Box::new(move |m| {
                    let list = tested(m, name)?["known"].as_array()?;
                    let own =
                        list.iter().find(|one| one[0].as_str().is_some_and(|own| own.starts_with(known)))?;
                    let p = number(&own[1], "/p")?;
                    Some(Measurement {
                        beside: format!(" (p {p:.3})"),
                        ..plain(number(&own[1], "/rank_correlation")?, signed)
                    })
                }),
            );
        }
    }
    for (times, what) in [(false, "channels"), (true, "times")] {
        for kind in ["common", "personal", "fused"] {
            add(
                format!("{kind} mask, {what}: rank correlation with that of shuffled labels"),
                Box::new(move |m| Some(plain(shuffled(m, kind, times)?, signed))),
            );
        }
    }
    for name in ["common mask", "personal mask", "fused mask", "integrated gradients"] {
        for what in ["channels", "times"] {
            let full = format!("{name}, {what}");
            let same = full.clone();
            add(
                format!(
                    "{full}: rank correlation with another seed (beside it after parameter randomisation)"
                ),
                Box::new(move |m| {
                    let found = at(tested(m, &same)?, "/randomised")?;
                    let of = |key: &str| -> Option<f64> {
                        let list: Vec<f64> =
                            found[key].as_array()?.iter().filter_map(Value::as_f64).collect();
                        (!list.is_empty()).then(|| mean(&list))
                    };
                    Some(Measurement {
                        beside: format!(" ({})", signed(of("drawn")?)),
                        ..plain(of("trained")?, signed)
                    })
                }),
            );
            add(
                format!("{full}: intraclass correlation over seeds (beside it over two runs)"),
                Box::new(move |m| {
                    let own = tested(m, &full)?;
                    let runs = number(own, "/parts/absolute/value")?;
                    Some(Measurement {
                        beside: format!(" ({})", signed(runs)),
                        ..plain(number(own, "/seeds/absolute/value")?, signed)
                    })
                }),
            );
        }
    }
    add(
        "subjects recognised by their personal spatial mask from one run to another %".into(),
        Box::new(|m| {
            let p = number(m, "/believed/identified/p")?;
            Some(Measurement {
                beside: format!(" (p {p:.3})"),
                ..plain(number(m, "/believed/identified/accuracy")?, percent)
            })
        }),
    );
    for (what, of) in [
        ("the subject", "task features"),
        ("the subject", "subject features"),
        ("the class", "task features"),
        ("the class", "subject features"),
    ] {
        add(
            format!("probe of {what} in the {of} %"),
            Box::new(move |m| {
                let found = probed(m, what, of)?;
                let [low, high] = ["low", "high"].map(|end| number(found, &format!("/interval/{end}")));
                let beside = format!(" ({} to {})", percent(low?), percent(high?));
                Some(Measurement { beside, ..plain(number(found, "/balanced_accuracy")?, percent) })
            }),
        );
    }
    add(
        "largest canonical correlation of task and subject features (beside it the 95 % quantile of random pairs)".into(),
        Box::new(|m| {
            let chance = number(m, "/apart/shared/canonical/by_chance/0")?;
            Some(Measurement { beside: format!(" ({chance:.2})"), ..plain(number(m, "/apart/shared/canonical/values/0")?, signed) })
        }),
    );
    add(
        "proxy A-distance from training subjects (beside it between any two such groups)".into(),
        Box::new(|m| {
            let draws: Vec<f64> =
                at(m, "/apart/distance/0/draws")?.as_array()?.iter().filter_map(Value::as_f64).collect();
            let p = number(m, "/apart/distance/0/p")?;
            Some(Measurement {
                beside: format!(" ({}, p {p:.3})", signed(mean(&draws))),
                ..plain(number(m, "/apart/distance/0/value")?, signed)
            })
        }),
    );
    add(
        "rank correlation of accuracy with the share of power at 1-4 Hz".into(),
        Box::new(|m| Some(plain(slow(m)?, signed))),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that is spelled otherwise would leave a line out.
    #[test]
    fn a_report_has_every_number() {
        let text = include_str!("../../crates/ptsm-report/tests/golden/report.json");
        let document: Value = serde_json::from_str(text).unwrap();
        let silent = measures().into_iter().filter(|measure| (measure.of)(&document["material"]).is_none());
        assert_eq!(silent.map(|measure| measure.what).collect::<Vec<_>>(), [""; 0]);
        let subjects = calibration(&document["material"], false).unwrap();
        assert!((0.0..0.5).contains(&subjects), "{subjects}");
    }
}

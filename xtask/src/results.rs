//! `cargo xtask results`: decoders on real recordings, written to `docs/results.md`.
//!
//! Every row is a `ptsm benchmark` that a user can type; the page says how. Folders under `target/results` are continued, so that a
//! second run only collects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::shell::{cargo, relative, root, stream, target, unpacked};

#[derive(Args)]
pub(crate) struct Options {
    /// Folder with the recordings, as `../shared/data/unpack DIR` leaves them.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Seeds of every fit.
    #[arg(long, default_value_t = 3)]
    seeds: usize,
}

/// One run of `ptsm benchmark`.
struct Row {
    /// The columns that tell it from the others.
    cells: Vec<&'static str>,
    /// What is typed, `DATA` being the folder of recordings.
    arguments: String,
}

/// A table and what stands above it.
struct Section {
    title: &'static str,
    columns: &'static [&'static str],
    metrics: &'static [(&'static str, &'static str)],
    /// Classes are as frequent as each other, so that accuracy can be held against guessing.
    balanced: bool,
    rows: Vec<Row>,
}

fn sections(seeds: usize) -> Vec<Section> {
    let mut physionet = vec![];
    for input in ["broadband", "motor"] {
        for align in ["none", "euclidean"] {
            for (mirror, share) in [("no", "0.0"), ("yes", "0.5")] {
                physionet.push(Row {
                    cells: vec![input, align, mirror],
                    arguments: format!(
                        "--data physionet-mi --root DATA --with pipeline={input} --align {align} --set augment.mirror={share} --models ptsm,eegnet --protocol kfold:5 --seeds {seeds}"
                    ),
                });
            }
        }
    }
    // The motor pipeline narrows channels, band and reference at once; this tells the channels from the rest.
    physionet.push(Row {
        cells: vec!["motor broadband", "none", "no"],
        arguments: format!(
            "--data physionet-mi --root DATA --with pipeline=motor --set pipeline.reference=as_recorded --set pipeline.band.low_hz=0.5 --set pipeline.band.high_hz=45.0 --align none --set augment.mirror=0.0 --models ptsm,eegnet --protocol kfold:5 --seeds {seeds}"
        ),
    });
    let p300 = ["none", "euclidean"].map(|align| Row {
        cells: vec![align],
        arguments: format!(
            "--data files:p300-8ch.toml --root DATA/p300-8ch --align {align} --models ptsm,eegnet --protocol loso --seeds {seeds}"
        ),
    });
    let accuracy: &[(&str, &str)] = &[("accuracy", "accuracy %"), ("auc", "AUC %")];
    let targets: &[(&str, &str)] = &[("auc", "AUC %"), ("balanced_accuracy", "balanced accuracy %")];
    vec![
        Section {
            title: "PhysioNet motor imagery: left against right fist",
            columns: &["input", "alignment", "mirror"],
            metrics: accuracy,
            balanced: true,
            rows: physionet,
        },
        Section {
            title: "P300 speller, eight channels: target against other flashes",
            columns: &["alignment"],
            metrics: targets,
            balanced: false,
            rows: p300.into(),
        },
    ]
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let data = match &options.data {
        Some(data) => data.clone(),
        None => {
            let data = unpacked()?.context(
                "the recordings are not here; `--data DIR` says where they are: DIR/physionet-mi/S001/S001R04.edf, DIR/p300-8ch/*.mat",
            )?;
            fs::copy(root().join("docs/p300-8ch.toml"), data.join("p300-8ch/p300-8ch.toml"))
                .context("docs/p300-8ch.toml cannot be copied beside the recordings")?;
            data
        }
    };
    if !data.join("p300-8ch/p300-8ch.toml").is_file() {
        bail!("{}: copy docs/p300-8ch.toml there", data.join("p300-8ch").display());
    }
    stream(&mut cargo(["build", "--release", "--locked", "-p", "ptsm"]))?;
    let mut page = String::new();
    for section in sections(options.seeds) {
        let results: Vec<(&Row, Value)> = section
            .rows
            .iter()
            .map(|row| Ok((row, measured(row, &data, options.seeds)?)))
            .collect::<Result<_>>()?;
        page += &format!("\n## {}\n\n", section.title);
        if let Some((_, json)) = results.first() {
            page += &format!("{}\n\n", protocol(json, section.balanced)?);
        }
        let heads: Vec<&str> = section.columns.iter().copied().chain(["model"]).collect();
        let numbers =
            section.metrics.iter().flat_map(|(_, name)| [*name, "SD people", "SD seeds", "95 % interval"]);
        let above = section.balanced.then_some("people above chance");
        let heads: Vec<&str> =
            heads.into_iter().chain(numbers).chain(above).chain(["seen of the person"]).collect();
        page += &format!("| {} |\n|{}\n", heads.join(" | "), " --- |".repeat(heads.len()));
        for (row, json) in &results {
            for summary in json["summary"].as_array().context("a result without a summary")? {
                page += &line(row, summary, section.metrics, section.balanced)?;
            }
        }
        page += "\n```\n";
        for row in &section.rows {
            page += &format!("ptsm benchmark {} --out {}\n", row.arguments, folder_name(row, options.seeds));
        }
        page += "```\n";
    }
    write(&page)
}

/// The folder of a run: what tells it from the others.
fn folder_name(row: &Row, seeds: usize) -> String {
    let data = if row.arguments.contains("p300") { "p300-8ch" } else { "physionet-mi" };
    let cells: Vec<String> = row
        .cells
        .iter()
        .map(|cell| match *cell {
            "no" => "mirror-0.0".into(),
            "yes" => "mirror-0.5".into(),
            other => other.replace(' ', "-"),
        })
        .collect();
    format!("{data}-{}-seeds-{seeds}", cells.join("-"))
}

/// Runs a row, or continues it, and gives what `--json` tells.
fn measured(row: &Row, data: &Path, seeds: usize) -> Result<Value> {
    let folder = target().join("results").join(folder_name(row, seeds));
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", relative(&folder)))?;
    let data = data.to_str().context("the folder of recordings has no name in UTF-8")?;
    println!("{}", relative(&folder));
    let out = Command::new(target().join("release/ptsm"))
        .arg("benchmark")
        .args(row.arguments.split_whitespace().map(|word| word.replace("DATA", data)))
        .arg("--json")
        .arg("--out")
        .arg(&folder)
        .output()
        .context("ptsm cannot be started")?;
    if !out.status.success() {
        bail!("{}: {}", relative(&folder), String::from_utf8_lossy(&out.stderr));
    }
    serde_json::from_slice(&out.stdout).context("ptsm's result is no JSON")
}

/// Who was scored and what guessing reaches.
fn protocol(json: &Value, balanced: bool) -> Result<String> {
    let summary = &json["summary"][0];
    let people = summary["subjects"].as_array().map_or(0, Vec::len);
    let chance = &summary["chance"];
    let [level, threshold] = ["level", "pooled_threshold"].map(|key| chance[key].as_f64().map(|x| 100.0 * x));
    let (Some(name), Some(level), Some(threshold)) = (summary["protocol"].as_str(), level, threshold) else {
        bail!("a summary without protocol or chance: {summary}");
    };
    let guessing = if balanced {
        format!("Guessing: {level:.1} %; {threshold:.1} % on all trials together at p < {}.", chance["alpha"])
    } else {
        format!("Guessing: 50 %. Accuracy says little here: {level:.1} % by always naming the larger class.")
    };
    let (trials, seeds) = (&chance["pooled_n"], &summary["seeds"]);
    Ok(format!("`{name}`, {people} people, {trials} trials, {seeds} seeds. {guessing}"))
}

fn line(row: &Row, summary: &Value, metrics: &[(&str, &str)], balanced: bool) -> Result<String> {
    let percent = |value: &Value| value.as_f64().map_or("-".into(), |x| format!("{:.1}", 100.0 * x));
    let mut cells: Vec<String> = row.cells.iter().map(|cell| cell.to_string()).collect();
    cells.push(summary["model"].as_str().unwrap_or("?").to_string());
    for (name, _) in metrics {
        let all = summary["metrics"].as_array().context("a summary without metrics")?;
        let spread =
            all.iter().find(|m| m["metric"] == *name).with_context(|| format!("no metric `{name}`"))?;
        cells.extend(["mean", "sd_subjects", "sd_seeds"].map(|key| percent(&spread[key])));
        let interval = &spread["interval"];
        cells.push(format!("{} to {}", percent(&interval["low"]), percent(&interval["high"])));
    }
    let people = summary["subjects"].as_array().map_or(0, Vec::len);
    if balanced {
        cells.push(format!("{} of {people}", summary["chance"]["above"]));
    }
    cells.push(seen(&summary["target_access"]));
    Ok(format!("| {} |\n", cells.join(" | ")))
}

/// What was seen of the scored person, in words.
fn seen(access: &Value) -> String {
    match access.as_str() {
        Some("nothing") => "nothing".into(),
        _ if access.to_string().contains("unlabelled") => "all trials, unlabelled".into(),
        _ => access.to_string(),
    }
}

/// Puts the tables between the page's marks; what stands around them is written by hand.
fn write(tables: &str) -> Result<()> {
    let path = root().join("docs/results.md");
    let text = fs::read_to_string(&path).context("docs/results.md cannot be read")?;
    const MARKS: [&str; 2] = ["<!-- tables -->", "<!-- end of tables -->"];
    let (Some((head, rest)), true) = (text.split_once(MARKS[0]), text.contains(MARKS[1])) else {
        bail!("docs/results.md has no `{}` and `{}`", MARKS[0], MARKS[1]);
    };
    let tail = rest.split_once(MARKS[1]).map_or("", |(_, tail)| tail);
    fs::write(&path, format!("{head}{}\n{tables}\n{}{tail}", MARKS[0], MARKS[1]))
        .context("docs/results.md cannot be written")
}

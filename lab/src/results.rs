//! `cargo lab results`: decoders on real recordings, written to `docs/results.md`.
//!
//! Every row is a `ptsm benchmark` that a user can type; the page says how. Folders under `target/results` are continued, so that a
//! second run only collects; they may have been made on another machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use ptsm_decode::registry::METHODS;
use ptsm_eval::{Summary, read_records};
use serde_json::Value;

use crate::claims;
use crate::recordings;
use crate::shell::{cargo, relative, root, stream, target};

#[derive(Args)]
pub(crate) struct Options {
    /// Folder with the recordings, as `../shared/data/unpack DIR` leaves them.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Seeds of every fit.
    #[arg(long, default_value_t = 3)]
    seeds: usize,
    /// Every decoder there is, plain, mirrored and aligned, as `benchmarks/physionet-mi.toml` and `p300-8ch.toml` say, instead of two of them
    /// under several conditions.
    #[arg(long)]
    decoders: bool,
    /// PTSM without each of its parts, as `benchmarks/*-ablations.toml` say.
    #[arg(long, conflicts_with = "decoders")]
    ablations: bool,
    /// What features know of subjects in every fold, as `benchmarks/physionet-mi-features.toml` says.
    #[arg(long, conflicts_with_all = ["decoders", "ablations"])]
    features: bool,
    /// What the paper says of masks and features, in four divisions of PhysioNet's subjects.
    #[arg(long, conflicts_with_all = ["decoders", "ablations", "features"])]
    claims: bool,
    /// Eighty subjects of PhysioNet in two tracks, as `benchmarks/physionet-mi-80*.toml` say.
    #[arg(long, conflicts_with_all = ["decoders", "ablations", "features", "claims"])]
    eighty: bool,
    /// Nothing is trained: the page is made of what is there.
    #[arg(long)]
    collect: bool,
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
    /// Classes are as frequent as each other, so that accuracy can be compared with the chance level.
    balanced: bool,
    rows: Vec<Row>,
}

/// Where tables stand in the page: those of conditions, of all decoders, of PTSM without its parts, of features, of claims, and of eighty
/// subjects.
const MARKS: [[&str; 2]; 6] = [
    ["<!-- tables -->", "<!-- end of tables -->"],
    ["<!-- every decoder -->", "<!-- end of every decoder -->"],
    ["<!-- ablations -->", "<!-- end of ablations -->"],
    ["<!-- features -->", "<!-- end of features -->"],
    ["<!-- claims -->", "<!-- end of claims -->"],
    ["<!-- eighty subjects -->", "<!-- end of eighty subjects -->"],
];

/// Plans in `benchmarks`, and where their recordings are.
type Plans = &'static [(&'static str, &'static str)];
const DECODERS: Plans = &[("physionet-mi", ""), ("p300-8ch", "p300-8ch")];
const FEATURES: Plans = &[("physionet-mi-features", "")];
const EIGHTY: Plans = &[
    ("physionet-mi-80", ""),
    ("physionet-mi-80-same", ""),
    ("physionet-mi-80-own-input", ""),
    ("physionet-mi-80-ablations", ""),
];
const ABLATIONS: Plans = &[("physionet-mi-ablations", ""), ("p300-8ch-ablations", "p300-8ch")];

/// More columns make a table that nobody reads.
const MOST_COLUMNS: usize = 30;

const ACCURACY: &[(&str, &str)] = &[("accuracy", "accuracy %"), ("auc", "AUC %")];
const TARGETS: &[(&str, &str)] = &[("auc", "AUC %"), ("balanced_accuracy", "balanced accuracy %")];

fn sections(seeds: usize) -> Vec<Section> {
    let mut physionet = vec![];
    for input in ["broadband", "motor"] {
        for align in ["none", "euclidean"] {
            for (mirror, share) in [("no", "0.0"), ("yes", "0.5")] {
                physionet.push(Row {
                    cells: vec![input, align, mirror],
                    arguments: format!(
                        "--data physionet-mi --root DATA --with pipeline={input} --align {align} --set augment.mirror={share} --set training.symmetry=none --models ptsm,eegnet --protocol kfold:5 --seeds {seeds}"
                    ),
                });
            }
        }
    }
    // The motor pipeline narrows channels, band and reference at once; this tells the channels from the rest.
    physionet.push(Row {
        cells: vec!["motor broadband", "none", "no"],
        arguments: format!(
            "--data physionet-mi --root DATA --with pipeline=motor --set pipeline.reference=as_recorded --set pipeline.band.low_hz=0.5 --set pipeline.band.high_hz=45.0 --align none --set augment.mirror=0.0 --set training.symmetry=none --models ptsm,eegnet --protocol kfold:5 --seeds {seeds}"
        ),
    });
    let p300 = ["none", "euclidean"].map(|align| Row {
        cells: vec![align],
        arguments: format!(
            "--data files:p300-8ch.toml --root DATA/p300-8ch --align {align} --models ptsm,eegnet --protocol loso --seeds {seeds}"
        ),
    });
    vec![
        Section {
            title: "PhysioNet motor imagery: left against right fist",
            columns: &["input", "alignment", "mirror"],
            metrics: ACCURACY,
            balanced: true,
            rows: physionet,
        },
        Section {
            title: "P300 speller, eight channels: target against other flashes",
            columns: &["alignment"],
            metrics: TARGETS,
            balanced: false,
            rows: p300.into(),
        },
    ]
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let data = if options.collect { PathBuf::new() } else { recordings(options)? };
    if !options.collect {
        stream(&mut cargo(["build", "--release", "--locked", "-p", "ptsm-cli"]))?;
    }
    if options.decoders {
        return plans(DECODERS, MARKS[1], &data, options.collect);
    }
    if options.ablations {
        return plans(ABLATIONS, MARKS[2], &data, options.collect);
    }
    if options.features {
        return plans(FEATURES, MARKS[3], &data, options.collect);
    }
    if options.eighty {
        if !options.collect {
            join_eighty(&data)?;
        }
        return plans(EIGHTY, MARKS[5], &data, options.collect);
    }
    if options.claims {
        if !options.collect {
            claims::make(&data)?;
        }
        return write(&claims::page()?, MARKS[4]);
    }
    let mut page = String::new();
    for section in sections(options.seeds) {
        let results: Vec<(&Row, Value)> = section
            .rows
            .iter()
            .map(|row| Ok((row, measured(row, &data, options)?)))
            .collect::<Result<_>>()?;
        page += &format!("\n## {}\n\n", section.title);
        if let Some((_, json)) = results.first() {
            page += &format!("{}\n\n", protocol(json, section.balanced)?);
        }
        let heads: Vec<&str> = section.columns.iter().copied().chain(["model"]).collect();
        let numbers = section
            .metrics
            .iter()
            .flat_map(|(_, name)| [*name, "SD over subjects", "SD over seeds", "95 % interval"]);
        let above = section.balanced.then_some("subjects above chance");
        let heads: Vec<&str> =
            heads.into_iter().chain(numbers).chain(above).chain(["target access"]).collect();
        page += &format!("| {} |\n|{}\n", heads.join(" | "), " --- |".repeat(heads.len()));
        for (row, json) in &results {
            for summary in json["summary"].as_array().context("a result without a summary")? {
                page += &line(row, summary, &section)?;
            }
        }
        page += "\n```\n";
        for row in &section.rows {
            page += &format!("ptsm benchmark {} --out {}\n", row.arguments, folder_name(row, options.seeds));
        }
        page += "```\n";
    }
    write(&page, MARKS[0])
}

/// Runs the plans, or continues them, and puts their tables into the page.
fn plans(plans: Plans, marks: [&str; 2], data: &Path, collect: bool) -> Result<()> {
    let mut page = String::new();
    for (name, place) in plans {
        let folder = target().join("results").join(name);
        let mut command = Command::new(target().join("release/ptsm"));
        if collect {
            command.arg("collect").arg(&folder);
        } else {
            let plan = root().join("benchmarks").join(format!("{name}.toml"));
            command.arg("benchmark").arg(plan).arg("--root").arg(data.join(place)).arg("--out").arg(&folder);
        }
        stream(command.stdout(std::process::Stdio::null()))?;
        let file = folder.join("tables.md");
        let tables =
            fs::read_to_string(&file).with_context(|| format!("{} cannot be read", relative(&file)))?;
        // One level below the page's own headings; the data's name stands in the title.
        let tables = without_wide(&tables);
        let lines = tables.lines().filter(|line| !line.starts_with("## "));
        let lines: Vec<String> =
            lines.map(|line| line.replacen("# ", "## ", usize::from(line.starts_with('#')))).collect();
        let from = if place.is_empty() { "DATA".to_string() } else { format!("DATA/{place}") };
        page += &format!(
            "\n{}\n\n```\nptsm benchmark benchmarks/{name}.toml --root {from} --out {name}\n```\n",
            lines.join("\n").trim()
        );
    }
    write(&page, marks)
}

/// Without tables of too many columns and the notes below them, which stand in the folder.
fn without_wide(tables: &str) -> String {
    let wide = |part: &str| part.lines().next().unwrap_or_default().matches('|').count() > MOST_COLUMNS;
    let parts: Vec<&str> = tables.split("\n\n").collect();
    let kept = parts.iter().enumerate().filter(|(i, part)| !wide(part) && (*i == 0 || !wide(parts[i - 1])));
    kept.map(|(_, part)| *part).collect::<Vec<_>>().join("\n\n")
}

/// Where the recordings are, with the manifest that their publishers do not have.
fn recordings(options: &Options) -> Result<PathBuf> {
    let data = match &options.data {
        Some(data) => data.clone(),
        None => {
            let data = recordings::unpacked()?.context(
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
    Ok(data)
}

/// Makes `eighty.npz` of the recordings of forty subjects and the epochs of forty more, where it is not there.
fn join_eighty(data: &Path) -> Result<()> {
    let (joined, half) = (data.join("eighty.npz"), data.join("S001-S040.npz"));
    if joined.is_file() {
        return Ok(());
    }
    let export = "data export --data physionet-mi --with pipeline=broadband --subjects 1-40 --set pipeline.scaling=none";
    let mut export_command = Command::new(target().join("release/ptsm"));
    export_command
        .args(export.split(' '))
        .arg("--root")
        .arg(data.join("physionet-mi"))
        .arg("--out")
        .arg(&half);
    stream(&mut export_command)?;
    let mut join = Command::new("python3");
    join.arg(root().join("lab/python/eighty_subjects.py")).arg(&half);
    join.arg(data.join("physionet-mi-trials/S041-S080.npz")).arg("--out").arg(&joined);
    stream(&mut join)
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
fn measured(row: &Row, data: &Path, options: &Options) -> Result<Value> {
    let folder = target().join("results").join(folder_name(row, options.seeds));
    if options.collect {
        return collected(&folder);
    }
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

/// What the records of a folder say, in the form of `ptsm benchmark --json` and the order of the registry.
fn collected(folder: &Path) -> Result<Value> {
    let records = read_records(&folder.join("results.jsonl"))?;
    let mut summaries = Summary::of(&records)?;
    summaries.sort_by_key(|s| METHODS.iter().position(|m| m.name == s.model));
    let first = summaries.first().filter(|s| s.model == "ptsm").context("`ptsm` was not measured")?;
    for summary in &summaries {
        let same = (summary.subjects.len(), summary.records) == (first.subjects.len(), first.records);
        if !same || summary.seeds != first.seeds {
            bail!(
                "{}: {} is not done; run it again, or take its records out",
                relative(folder),
                summary.model
            );
        }
    }
    Ok(serde_json::json!({ "summary": summaries }))
}

/// The protocol, the subjects and the chance level.
fn protocol(json: &Value, balanced: bool) -> Result<String> {
    let summary = &json["summary"][0];
    let subjects = summary["subjects"].as_array().map_or(0, Vec::len);
    let chance = &summary["chance"];
    let [level, threshold] = ["level", "pooled_threshold"].map(|key| chance[key].as_f64().map(|x| 100.0 * x));
    let (Some(name), Some(level), Some(threshold)) = (summary["protocol"].as_str(), level, threshold) else {
        bail!("a summary without protocol or chance: {summary}");
    };
    let level_note = if balanced {
        format!(
            "Chance level: {level:.1} %; {threshold:.1} % on all trials together at p < {}.",
            chance["alpha"]
        )
    } else {
        let metric = chance["metric"].as_str().unwrap_or("accuracy").replace('_', " ");
        format!(
            "Chance level of {metric}: {level:.1} %; {threshold:.1} % at p < {}. Accuracy says little here: one class is far more frequent.",
            chance["alpha"]
        )
    };
    let (trials, seeds) = (&chance["pooled_n"], &summary["seeds"]);
    Ok(format!("`{name}`, {subjects} subjects, {trials} trials, {seeds} seeds. {level_note}"))
}

fn line(row: &Row, summary: &Value, section: &Section) -> Result<String> {
    let percent = |value: &Value| value.as_f64().map_or("-".into(), |x| format!("{:.1}", 100.0 * x));
    let mut cells: Vec<String> = row.cells.iter().map(|cell| cell.to_string()).collect();
    cells.push(summary["model"].as_str().unwrap_or("?").to_string());
    for (name, _) in section.metrics {
        let all = summary["metrics"].as_array().context("a summary without metrics")?;
        let spread =
            all.iter().find(|m| m["metric"] == *name).with_context(|| format!("no metric `{name}`"))?;
        cells.extend(["mean", "sd_subjects", "sd_seeds"].map(|key| percent(&spread[key])));
        let interval = &spread["interval"];
        cells.push(format!("{} to {}", percent(&interval["low"]), percent(&interval["high"])));
    }
    let subjects = summary["subjects"].as_array().map_or(0, Vec::len);
    if section.balanced {
        cells.push(format!("{} of {subjects}", summary["chance"]["above"]));
    }
    cells.push(target_access(&summary["target_access"]));
    Ok(format!("| {} |\n", cells.join(" | ")))
}

/// The target access, in words.
fn target_access(access: &Value) -> String {
    match access.as_str() {
        Some("nothing") => "none".into(),
        _ if access.to_string().contains("unlabelled") => "transductive".into(),
        _ => access.to_string(),
    }
}

/// Puts the tables between the page's marks; what stands around them is written by hand.
fn write(tables: &str, marks: [&str; 2]) -> Result<()> {
    let path = root().join("docs/results.md");
    let text = fs::read_to_string(&path).context("docs/results.md cannot be read")?;
    let (Some((head, rest)), true) = (text.split_once(marks[0]), text.contains(marks[1])) else {
        bail!("docs/results.md has no `{}` and `{}`", marks[0], marks[1]);
    };
    let tail = rest.split_once(marks[1]).map_or("", |(_, tail)| tail);
    fs::write(&path, format!("{head}{}\n{tables}\n{}{tail}", marks[0], marks[1]))
        .context("docs/results.md cannot be written")
}

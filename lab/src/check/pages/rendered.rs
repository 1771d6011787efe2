//! Pages whose pictures are committed: one of every figure, one of every section, and one that says what it lacks.
//!
//! Sections are drawn from stored numbers, so that the picture is the same on every processor; `--fixture` renews them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::check::built;
use crate::shell::{self, stream};

/// The numbers of a small report with every section.
const NUMBERS: &str = "crates/ptsm-report/tests/golden/report.json";
/// Subjects of that report: few and with few trials, or it would take minutes and be large.
const COHORT: &str = "subjects = 9\ntrials = 24\nstrength = 2.0\n";
/// What makes it.
const LINES: [&str; 3] = [
    "train --data simulated --root . --subjects 1-6 --seeds 2 --set training.epochs=20 --set training.keep_subjects=true --out run",
    "benchmark --data simulated --root . --models eegnet,csp-lda,ts-lr --set training.epochs=12 --protocol kfold:3 --seeds 2 --features --out bench",
    "report run --data simulated --root . --shots 1,2,4 --benchmark bench --nulls 1 --numbers report.json --out report.html",
];
/// The numbers are committed.
const MOST_NUMBERS: u64 = 600_000;
/// A report is one file that can be sent.
const MOST_BYTES: u64 = 5_000_000;

/// A page to look at.
pub(super) struct RenderedPage {
    page: PathBuf,
    /// Where its pictures are, and of which sections; of all where none is named.
    pictures: Option<(PathBuf, &'static str)>,
}

impl RenderedPage {
    /// A page without committed pictures.
    pub(super) fn without_pictures(page: PathBuf) -> RenderedPage {
        RenderedPage { page, pictures: None }
    }

    /// As the script takes it: `PAGE`, `PAGE=FOLDER` or `PAGE=FOLDER=SECTIONS`.
    pub(super) fn spelled(&self) -> String {
        let mut text = self.page.display().to_string();
        if let Some((folder, sections)) = &self.pictures {
            text += &format!("={}", folder.display());
            if !sections.is_empty() {
                text += &format!("={sections}");
            }
        }
        text
    }
}

/// Draws them into a folder; with `fixture` from new numbers.
pub(super) fn all(folder: &Path, fixture: bool) -> Result<Vec<RenderedPage>> {
    let figures = folder.join("figures.html");
    // Built with the features of the whole workspace, as the tests are, so that little is compiled for it.
    stream(&mut shell::cargo(["build", "--quiet", "--locked", "--workspace", "--example", "page"]))?;
    stream(Command::new(shell::target().join("debug/examples/page")).arg(&figures))?;
    let ptsm = built::ptsm()?;
    let numbers = shell::root().join(NUMBERS);
    if fixture {
        renew(&ptsm, &numbers)?;
    }
    let report = folder.join("report.html");
    draw(&ptsm, &numbers, &report)?;
    let bytes = fs::metadata(&report)?.len();
    ensure!(bytes < MOST_BYTES, "a report of {bytes} bytes is too large to be sent to a colleague");
    let (less, lacking) = (folder.join("lacking.json"), folder.join("lacking.html"));
    fs::write(&less, without_much(&numbers)?)?;
    draw(&ptsm, &less, &lacking)?;
    let pictures = |crate_name: &str, name: &str| shell::root().join("crates").join(crate_name).join(name);
    Ok(vec![
        // Whole heads, many subjects: no section of the small report has them.
        RenderedPage {
            page: figures,
            pictures: Some((pictures("ptsm-report", "tests/pictures"), "masks,scores-of-each-subject")),
        },
        RenderedPage { page: report, pictures: Some((pictures("ptsm-report", "tests/pictures/report"), "")) },
        RenderedPage {
            page: lacking,
            pictures: Some((pictures("ptsm-report", "tests/pictures/lacking"), "missing-sections")),
        },
    ])
}

fn draw(ptsm: &Path, numbers: &Path, page: &Path) -> Result<()> {
    let mut command = Command::new(ptsm);
    command.args(["report", "--device", "cpu", "--quiet", "--from"]).arg(numbers).arg("--out").arg(page);
    stream(command.stdout(Stdio::null()))
}

/// Makes the committed numbers anew, of a simulated cohort.
fn renew(ptsm: &Path, numbers: &Path) -> Result<()> {
    let folder = shell::target().join("report");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("cohort.toml"), COHORT)?;
    for line in LINES {
        let mut command = Command::new(ptsm);
        command.args(line.split(' ')).arg("-q").current_dir(&folder).stdout(Stdio::null());
        stream(&mut command)?;
    }
    let made = folder.join("report.json");
    let bytes = fs::metadata(&made)?.len();
    ensure!(bytes < MOST_NUMBERS, "numbers of {bytes} bytes are too large to be committed");
    fs::copy(&made, numbers).with_context(|| format!("{NUMBERS} cannot be written"))?;
    Ok(())
}

/// The same numbers as if a decoder without masks and features had been scored, and nothing else been given.
fn without_much(numbers: &Path) -> Result<String> {
    let text = fs::read_to_string(numbers).with_context(|| format!("{NUMBERS} cannot be read"))?;
    let mut document: Value = serde_json::from_str(&text)?;
    let material = document.get_mut("material").context("the numbers of a report have no material")?;
    for (key, value) in [
        ("compared", Value::Null),
        ("looked", Value::Null),
        ("apart", Value::Null),
        ("few", json!([])),
        ("histories", json!([])),
    ] {
        material[key] = value;
    }
    Ok(document.to_string())
}

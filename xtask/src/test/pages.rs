//! The report's pages in a real browser: pictures, accessibility, what can be clicked, nothing on the console.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::built;
use crate::shell::{self, capture, stream};

/// Browsers that can be driven, by their programs' names.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// What drives them, in `xtask/pages`.
const SCRIPTS: [&str; 4] = ["package.json", "look.mjs", "acts.mjs", "pictures.mjs"];

/// People of the report: few and with few trials, or it would take minutes.
const COHORT: &str = "subjects = 9\ntrials = 24\n";
/// A report is one file that can be sent.
const MOST_BYTES: u64 = 5_000_000;

/// Looks at all pages; `write` renews the committed pictures.
pub(super) fn check(write: bool) -> Result<()> {
    let folder = shell::target().join("pages");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", shell::relative(&folder)))?;
    packages(&folder)?;
    let browser = browser(&folder)?;
    let report = shell::root().join("crates/ptsm-report");
    let mut look = Command::new("node");
    look.current_dir(&folder).arg("look.mjs").arg(browser).arg(report.join("fonts"));
    look.arg(report.join("tests/pictures")).arg(if write { "write" } else { "compare" });
    look.args(made(&folder)?);
    stream(&mut look).with_context(|| {
        "a page is not as it was or not as it should be; where it should look as it does now, renew the pictures with \
         `cargo xtask test pages --write` and look at them"
    })
}

/// The pages to look at: the one with every figure, whose pictures are committed, and pages that other steps have left.
fn made(folder: &Path) -> Result<Vec<PathBuf>> {
    let figures = folder.join("figures.html");
    let mut example =
        shell::cargo(["run", "--quiet", "--locked", "-p", "ptsm-report", "--example", "page", "--"]);
    stream(example.arg(&figures))?;
    let demo = shell::target().join("demo/demo.html");
    let report = report()?;
    Ok([figures, report].into_iter().chain(Some(demo).filter(|page| page.exists())).collect())
}

/// A whole report of the program about people who do not exist: every section has its inputs.
fn report() -> Result<PathBuf> {
    let ptsm = built::ptsm()?;
    let folder = shell::target().join("report");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("cohort.toml"), COHORT)?;
    for line in [
        "train --data simulated --root . --subjects 1-6 --seeds 2 --set training.epochs=6 --set training.keep_subjects=true --out run",
        "benchmark --data simulated --root . --models csp-lda,mdm,ts-lr --protocol kfold:3 --out bench",
        "report run --data simulated --root . --shots 1,2,4 --benchmark bench --nulls 1 --out report.html",
    ] {
        let mut command = Command::new(&ptsm);
        command.args(line.split(' ')).arg("-q").current_dir(&folder).stdout(Stdio::null());
        stream(&mut command)?;
    }
    let page = folder.join("report.html");
    let bytes = fs::metadata(&page)?.len();
    ensure!(bytes < MOST_BYTES, "a report of {bytes} bytes is too large to be sent to a colleague");
    Ok(page)
}

/// Copies what drives the browser and installs its packages, once for each list of them.
fn packages(folder: &Path) -> Result<()> {
    let scripts = shell::root().join("xtask/pages");
    let wanted = fs::read_to_string(scripts.join("package.json")).context("there is no list of packages")?;
    let stamp = folder.join("packages.stamp");
    for name in SCRIPTS {
        fs::copy(scripts.join(name), folder.join(name))
            .with_context(|| format!("{name} cannot be copied"))?;
    }
    if fs::read_to_string(&stamp).is_ok_and(|recorded| recorded == wanted) {
        return Ok(());
    }
    ensure!(
        found("node").is_some() && found("npm").is_some(),
        "install Node.js 20 or later with npm, reachable as `node` and `npm`"
    );
    eprintln!("installing the packages that drive a browser (once; about 15 MiB of disk)");
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]);
    stream(npm.current_dir(folder).stdout(Stdio::from(std::io::stderr()))).context(
        "the packages in xtask/pages/package.json could not be installed; npm needs a reachable registry, or one named in its own \
         configuration",
    )?;
    fs::write(&stamp, wanted).with_context(|| format!("{} cannot be written", shell::relative(&stamp)))
}

/// A browser: the machine's own, else Playwright's, else the distribution's.
fn browser(folder: &Path) -> Result<PathBuf> {
    let own = folder.join("browser");
    if let Some(browser) = BROWSERS.into_iter().find_map(found).or_else(|| downloaded(&own)) {
        return Ok(browser);
    }
    eprintln!("installing a browser (once; about 300 MiB of disk)");
    let mut playwright = Command::new("npx");
    playwright.args(["playwright-core", "install", "chromium-headless-shell"]).current_dir(folder);
    playwright.env("PLAYWRIGHT_BROWSERS_PATH", &own);
    let first = capture(&mut playwright).err();
    if let Some(browser) = downloaded(&own) {
        return Ok(browser);
    }
    let second = match found("apt-get") {
        Some(_) => distribution().err(),
        None => Some(anyhow::anyhow!("there is no apt-get")),
    };
    if let Some(browser) = BROWSERS.into_iter().find_map(found) {
        return Ok(browser);
    }
    for error in [first, second].into_iter().flatten() {
        eprintln!("{error:#}");
    }
    bail!(
        "there is no browser and none could be installed; install Chromium, on Debian with `apt-get install chromium` as root, \
         or let `npx playwright install --with-deps chromium` reach its servers"
    )
}

fn distribution() -> Result<()> {
    let apt = || {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        apt
    };
    let install = || capture(apt().args(["install", "-y", "--no-install-recommends", "chromium"]));
    // Images often come without the lists of packages.
    if install().is_err() {
        capture(apt().arg("update"))?;
        install()?;
    }
    Ok(())
}

/// The browser that Playwright has put into a folder.
fn downloaded(folder: &Path) -> Option<PathBuf> {
    let inside =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let programs = ["headless_shell", "chrome-headless-shell", "chrome"];
    inside(folder.to_path_buf()).flat_map(inside).flat_map(inside).find(|file| {
        file.is_file() && file.file_name().is_some_and(|name| programs.iter().any(|program| name == *program))
    })
}

fn found(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

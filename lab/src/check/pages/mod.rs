//! The report's pages in a real browser: pictures, accessibility, what can be clicked, nothing on the console.

mod rendered;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use self::rendered::RenderedPage;
use crate::shell::{self, capture, stream};

/// Browsers that can be driven, by their programs' names.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// What drives them, in `lab/pages`.
const SCRIPTS: [&str; 4] = ["package.json", "look.mjs", "acts.mjs", "pictures.mjs"];

/// Looks at all pages; `write` renews the committed pictures, `fixture` the numbers most of them are drawn from.
pub(super) fn check(write: bool, fixture: bool) -> Result<()> {
    let folder = shell::target().join("pages");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", shell::relative(&folder)))?;
    packages(&folder)?;
    let browser = browser(&folder)?;
    let mut pages = rendered::all(&folder, fixture)?;
    let demo = shell::target().join("demo/demo.html");
    if demo.exists() {
        pages.push(RenderedPage::without_pictures(demo));
    }
    let mut look = Command::new("node");
    look.current_dir(&folder).arg("look.mjs").arg(browser);
    look.arg(shell::root().join("crates/ptsm-report/fonts")).arg(if write { "write" } else { "compare" });
    look.args(pages.iter().map(RenderedPage::spelled));
    stream(&mut look).with_context(|| {
        "a page is not as it was or not as it should be; where it should look as it does now, renew the pictures with \
         `cargo xtask test pages --write` and look at them"
    })
}

/// Copies what drives the browser and installs its packages, once for each list of them.
fn packages(folder: &Path) -> Result<()> {
    let scripts = shell::root().join("lab/pages");
    let list = fs::read_to_string(scripts.join("package.json")).context("there is no list of packages")?;
    let stamp = folder.join("packages.stamp");
    for name in SCRIPTS {
        fs::copy(scripts.join(name), folder.join(name))
            .with_context(|| format!("{name} cannot be copied"))?;
    }
    if fs::read_to_string(&stamp).is_ok_and(|recorded| recorded == list) {
        return Ok(());
    }
    ensure!(
        find_program("node").is_some() && find_program("npm").is_some(),
        "install Node.js 20 or later with npm, reachable as `node` and `npm`"
    );
    eprintln!("installing the packages that drive a browser (once; about 15 MiB of disk)");
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]);
    stream(npm.current_dir(folder).stdout(Stdio::from(std::io::stderr()))).context(
        "the packages in lab/pages/package.json could not be installed; npm needs a reachable registry, or one named in its own \
         configuration",
    )?;
    fs::write(&stamp, list).with_context(|| format!("{} cannot be written", shell::relative(&stamp)))
}

/// A browser: the machine's own, else Playwright's, else the distribution's.
fn browser(folder: &Path) -> Result<PathBuf> {
    let own = folder.join("browser");
    if let Some(browser) = BROWSERS.into_iter().find_map(find_program).or_else(|| downloaded(&own)) {
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
    let second = match find_program("apt-get") {
        Some(_) => distribution().err(),
        None => Some(anyhow::anyhow!("there is no apt-get")),
    };
    if let Some(browser) = BROWSERS.into_iter().find_map(find_program) {
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

fn find_program(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

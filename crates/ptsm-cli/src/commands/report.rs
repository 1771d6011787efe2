//! `ptsm report` and `ptsm explain`: one HTML file, or one figure of it.

use std::path::Path;

use ptsm::pages::sections;
use ptsm::{ExplainRunRequest, Report, ReportRequest};
use serde_json::json;

use super::Session;
use crate::args::{ExplainArgs, PageArgs, ReportArgs};
use crate::exit::fail;
use crate::output;

/// Pixels to a unit of a figure, which is 440 units wide: enough for print.
const PNG_SCALE: f32 = 4.0;

/// In place of a figure: only the names of all figures are told.
const LIST: &str = "list";

pub(super) fn explain(args: &ExplainArgs, session: &Session) -> anyhow::Result<()> {
    check(&args.page, true, None)?;
    let request = ExplainRunRequest {
        run: args.run.clone(),
        data: args.data.request(),
        sections: args.page.sections.clone(),
        nulls: args.page.nulls,
        masks: args.masks.clone(),
    };
    deliver(&ptsm::explain(&request, &session.env)?, &args.page, session)
}

pub(super) fn run(args: &ReportArgs, session: &Session) -> anyhow::Result<()> {
    check(&args.page, false, args.from.as_deref())?;
    let report = match &args.from {
        Some(path) => Report::from_numbers(path, &args.page.sections)?,
        None => {
            let request = ReportRequest {
                run: args.run.clone(),
                data: args.data.request(),
                benchmark: args.benchmark.clone(),
                sections: args.page.sections.clone(),
                shots: args.shots.clone(),
                adaptation: (&args.tuning).into(),
                nulls: args.page.nulls,
            };
            ptsm::report(&request, &session.env)?
        }
    };
    deliver(&report, &args.page, session)
}

/// Refuses sections and figures that there are not, and places that cannot be written to, before anything is computed.
fn check(args: &PageArgs, only_explaining: bool, from: Option<&Path>) -> anyhow::Result<()> {
    let sections = sections::chosen(&args.sections, only_explaining)?;
    let figure = args.figure.as_deref().filter(|figure| *figure != LIST);
    figure.map_or(Ok(()), |figure| sections::check_figure(figure, &sections))?;
    match (&args.out, figure) {
        (None, Some(figure)) => {
            return Err(fail(
                format!("no file is named for the figure `{figure}`"),
                format!("give `--out {figure}.svg` or `--out {figure}.png`"),
            ));
        }
        (None, None) => {}
        (Some(out), figure) => is_page(out, figure.is_some(), &[from, args.numbers.as_deref()])?,
    }
    args.numbers.as_ref().map_or(Ok(()), |numbers| is_place(numbers, "report.json"))
}

/// Whether the page, or a figure, can stand there beside other files that it must not replace.
fn is_page(out: &Path, figure: bool, others: &[Option<&Path>]) -> anyhow::Result<()> {
    let ending = out.extension().and_then(|ending| ending.to_str());
    if figure && !matches!(ending, Some("svg" | "png")) {
        return Err(fail(
            format!("{} is neither an SVG nor a PNG file", out.display()),
            "end the name of `--out` in `.svg` or `.png`",
        ));
    }
    if others.contains(&Some(out)) {
        return Err(fail(
            format!("{} would hold the page and its numbers", out.display()),
            "name two files, such as `report.html` and `report.json`",
        ));
    }
    is_place(out, "report.html")
}

/// Whether a file can stand there.
fn is_place(path: &Path, example: &str) -> anyhow::Result<()> {
    if path.is_dir() {
        return Err(fail(
            format!("{} is a folder", path.display()),
            format!("name a file in it, such as `{example}`"),
        ));
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(fail(
            format!("{} cannot be written: {} is no folder", path.display(), folder.display()),
            "make the folder, or name another",
        )),
        _ => Ok(()),
    }
}

/// Writes the numbers where they are wanted, and the page or one of its figures.
fn deliver(report: &Report, args: &PageArgs, session: &Session) -> anyhow::Result<()> {
    if let Some(path) = &args.numbers {
        output::write(path, &report.numbers()?)?;
        session.output.note(format!("numbers: {}", path.display()));
    }
    if args.figure.as_deref() == Some(LIST) {
        let figures = report.figures();
        let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
        return session.output.result(format!("{}\n", names.join("\n")), &json!({ "figures": names }));
    }
    let Some(out) = args.out.as_deref() else {
        return Err(fail("no file is named for the page", "give `--out report.html`"));
    };
    let Some(requested) = &args.figure else {
        let page = report.page();
        let html = page.html();
        output::write(out, html.as_bytes())?;
        let sections: Vec<&str> = page.sections.iter().map(|section| section.heading.as_str()).collect();
        let text = format!("page: {} ({} KB, {})\n", out.display(), html.len() / 1000, sections.join("; "));
        return session
            .output
            .result(text, &json!({ "page": out, "bytes": html.len(), "sections": sections }));
    };
    let figures = report.figures();
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    let Some((_, svg)) = figures.iter().find(|(name, _)| name == requested) else {
        return Err(fail(
            format!("there is no figure `{requested}`"),
            format!("figures are {}", names.join(", ")),
        ));
    };
    let bytes = match out.extension().is_some_and(|ending| ending == "png") {
        true => ptsm::pages::png(svg, PNG_SCALE)?,
        false => svg.clone().into_bytes(),
    };
    output::write(out, &bytes)?;
    session.output.result(format!("figure: {}\n", out.display()), &json!({ "figure": out }))
}

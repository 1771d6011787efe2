//! `ptsm report` and `ptsm explain`: one HTML file, or one figure of it.

mod arrays;
mod explaining;

use std::path::Path;

use ptsm_data::catalogue::DATA_SETS;
use ptsm_decode::Adaptation;
use ptsm_eval::Summary;
use serde_json::json;

use self::explaining::{Explaining, Explanation};
use super::evaluate::Asked;
use super::{Compared, Session};
use crate::args::{DataArgs, ExplainArgs, PageArgs, ReportArgs};
use crate::exit::told;
use crate::output;
use crate::report::{self, Adapted, Kind, Made, Material};

/// Pixels to a unit of a figure, which is 440 units wide: enough for print.
const PNG_SCALE: f32 = 4.0;

/// In place of a figure: only the names of all figures are told.
const LIST: &str = "list";

pub(super) fn explain(args: &ExplainArgs, session: &Session) -> anyhow::Result<()> {
    let kinds = report::chosen(&args.page.sections, true)?;
    check(&args.page, None)?;
    let asked = everybody(&args.run, &args.data, session)?;
    let people = asked.chosen(args.data.subjects.as_ref())?;
    if let Some(path) = &args.masks {
        arrays::write(&*asked.trained.decoders[0].1, &people, path)?;
        session.output.note(format!("masks of every trial: {}", path.display()));
    }
    let found = Explaining::new(&asked, &people, args.page.nulls, &kinds, session)?.run()?;
    let material = Material {
        sections: report::names(&kinds),
        made: Some(made(&asked)),
        footer: footer("explain", &asked),
        ..explained(found, asked.material(&people))
    };
    deliver(&material, &kinds, &args.page, session)
}

/// A run with all trials of the data: those it learnt from are needed too.
fn everybody(run: &Path, data: &DataArgs, session: &Session) -> anyhow::Result<Asked> {
    Asked::load(run, &DataArgs { subjects: None, ..data.clone() }, session)
}

fn explained(found: Explanation, material: Material) -> Material {
    Material {
        looked: found.looked,
        rests: found.rests,
        believed: found.believed,
        apart: found.apart,
        trusted: found.trusted,
        failed: found.failed,
        ..material
    }
}

fn made(asked: &Asked) -> Made {
    let (_, first) = &asked.trained.decoders[0];
    Made {
        seeds: asked.run.seeds.clone(),
        adapted: asked.run.adapted.as_ref().map(|of| Adapted { subject: of.subject, shots: of.shots }),
        card: asked.trained.card.clone(),
        parameters: first.parameters(),
        known_subjects: first.known_subjects(),
        licence: licence(&asked.run.data.name),
    }
}

pub(super) fn run(args: &ReportArgs, session: &Session) -> anyhow::Result<()> {
    let kinds = report::chosen(&args.page.sections, false)?;
    check(&args.page, args.from.as_deref())?;
    if let Some(path) = &args.from {
        let material = Material::from_numbers(path)?;
        let kinds = match args.page.sections.is_empty() {
            true => kinds.into_iter().filter(|kind| material.keeps(kind)).collect(),
            false => kinds,
        };
        return deliver(&material, &kinds, &args.page, session);
    }
    let compared = args.benchmark.as_deref().map(Compared::read).transpose()?;
    let material = match (&args.run, compared) {
        (Some(run), compared) => about_run(run, args, compared, &kinds, session)?,
        (None, Some(compared)) => Material {
            sections: report::names(&kinds),
            title: compared.title.clone(),
            subtitle: "Decoders on people they have never met".into(),
            footer: format!("ptsm {} report", env!("CARGO_PKG_VERSION")),
            compared: Some(compared),
            ..Material::default()
        },
        (None, None) => {
            return Err(told(
                "there is nothing to report about",
                "give a run's folder with `--data`, or `--benchmark DIR`, or both, or `--from FILE.json`",
            ));
        }
    };
    deliver(&material, &kinds, &args.page, session)
}

fn about_run(
    run: &Path,
    args: &ReportArgs,
    compared: Option<Compared>,
    kinds: &[&'static Kind],
    session: &Session,
) -> anyhow::Result<Material> {
    let asked = everybody(run, &args.data, session)?;
    let people = asked.chosen(args.data.subjects.as_ref())?;
    let shots = asked.shots(run, &args.shots, &people)?;
    let records = asked.records(&people)?;
    let curve = asked.curve(&people, &shots, &Adaptation::from(&args.tuning), session)?;
    let found = Explaining::new(&asked, &people, args.page.nulls, kinds, session)?.run()?;
    Ok(Material {
        sections: report::names(kinds),
        summaries: Summary::of(&records)?,
        records,
        few: Summary::of(&curve)?,
        few_guarded: !args.tuning.no_guard,
        histories: asked.histories(run),
        signals: ptsm_explain::signals(&people),
        compared,
        made: Some(made(&asked)),
        footer: footer("report", &asked),
        ..explained(found, asked.material(&people))
    })
}

fn footer(command: &str, asked: &Asked) -> String {
    format!("ptsm {} {command}; data {}", env!("CARGO_PKG_VERSION"), asked.input.fingerprint)
}

/// The terms the data it learnt from are published under, where this program knows them.
fn licence(data: &str) -> Option<String> {
    let set = DATA_SETS.iter().map(|set| set.about()).find(|about| about.id == data)?;
    Some(set.licence.clone())
}

/// Refuses places that cannot be written to before anything is computed.
fn check(args: &PageArgs, from: Option<&Path>) -> anyhow::Result<()> {
    let figure = args.figure.as_deref().filter(|figure| *figure != LIST);
    match (&args.out, figure) {
        (None, Some(figure)) => {
            return Err(told(
                format!("nobody says where the figure `{figure}` goes"),
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
        return Err(told(
            format!("{} is neither an SVG nor a PNG file", out.display()),
            "end the name of `--out` in `.svg` or `.png`",
        ));
    }
    if others.contains(&Some(out)) {
        return Err(told(
            format!("{} would hold the page and its numbers", out.display()),
            "name two files, such as `report.html` and `report.json`",
        ));
    }
    is_place(out, "report.html")
}

/// Whether a file can stand there.
fn is_place(path: &Path, example: &str) -> anyhow::Result<()> {
    if path.is_dir() {
        return Err(told(
            format!("{} is a folder", path.display()),
            format!("name a file in it, such as `{example}`"),
        ));
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(told(
            format!("{} cannot be written: {} is no folder", path.display(), folder.display()),
            "make the folder, or name another",
        )),
        _ => Ok(()),
    }
}

/// Writes the numbers where they are wanted, and the page or one of its figures.
fn deliver(
    material: &Material,
    kinds: &[&'static Kind],
    args: &PageArgs,
    session: &Session,
) -> anyhow::Result<()> {
    if let Some(path) = &args.numbers {
        output::write(path, &material.to_numbers()?)?;
        session.output.note(format!("numbers: {}", path.display()));
    }
    let page = report::build(material, kinds, true);
    if args.figure.as_deref() == Some(LIST) {
        let figures = report::figures(&page);
        let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
        return session.output.result(format!("{}\n", names.join("\n")), &json!({ "figures": names }));
    }
    let Some(out) = args.out.as_deref() else {
        return Err(told("nobody says where the page goes", "give `--out report.html`"));
    };
    let Some(wanted) = &args.figure else {
        let html = page.html();
        output::write(out, html.as_bytes())?;
        let sections: Vec<&str> = page.sections.iter().map(|section| section.heading.as_str()).collect();
        let text = format!("page: {} ({} KB, {})\n", out.display(), html.len() / 1000, sections.join("; "));
        return session
            .output
            .result(text, &json!({ "page": out, "bytes": html.len(), "sections": sections }));
    };
    let figures = report::figures(&page);
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    let Some((_, svg)) = figures.iter().find(|(name, _)| name == wanted) else {
        return Err(told(
            format!("there is no figure `{wanted}`"),
            format!("figures are {}", names.join(", ")),
        ));
    };
    let bytes = match out.extension().is_some_and(|ending| ending == "png") {
        true => ptsm_report::png(svg, PNG_SCALE)?,
        false => svg.clone().into_bytes(),
    };
    output::write(out, &bytes)?;
    session.output.result(format!("figure: {}\n", out.display()), &json!({ "figure": out }))
}

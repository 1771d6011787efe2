//! The page about a decoder, a benchmark or both: one HTML file. Its sections are a registry; a section whose inputs are not there says
//! what is missing.

mod attribution;
mod calibration;
mod card;
mod compared;
mod confusion;
mod draw;
mod few_shot;
mod learning;
mod masks;
mod numbers;
mod people;
mod short;
mod signals;
mod subspaces;
mod validity;

use ptsm_data::simulate::Truth;
use ptsm_decode::EpochRecord;
use ptsm_decode::file::Card;
use ptsm_eval::{Record, Summary};
use ptsm_explain::Signals;
use ptsm_report::svg::standalone;
use ptsm_report::{Page, Part, Section};
use ptsm_signal::{Layout, SubjectId};
use serde::{Deserialize, Serialize};

use crate::commands::Compared;
use crate::exit::told;

pub(crate) use attribution::Rests;
pub(crate) use calibration::Trusted;
pub(crate) use masks::{Looked, mean_over_seeds};
pub(crate) use subspaces::{Apart, Asked};
pub(crate) use validity::{Believed, Tested};

/// A section of the page.
pub(crate) struct Kind {
    /// What `--sections` calls it.
    pub(crate) name: &'static str,
    heading: &'static str,
    /// Whether `ptsm explain` shows it: what a decoder looked at, and whether to believe it.
    explains: bool,
    build: fn(&Material) -> Built,
}

/// What came of a section.
enum Built {
    Made {
        /// One sentence on what it shows and how to read it.
        lead: String,
        parts: Vec<Part>,
    },
    /// What is missing and how to get it.
    Missing(String),
}

impl Built {
    fn new(lead: impl Into<String>, parts: Vec<Part>) -> Built {
        Built::Made { lead: lead.into(), parts }
    }

    fn missing(why: impl Into<String>) -> Built {
        Built::Missing(why.into())
    }
}

/// All sections, in the order of the page.
pub(crate) const SECTIONS: &[Kind] = &[
    Kind { name: "short", heading: "In short", explains: false, build: short::build },
    Kind { name: "people", heading: "Each person", explains: false, build: people::build },
    Kind { name: "confusion", heading: "What is taken for what", explains: false, build: confusion::build },
    Kind {
        name: "calibration",
        heading: "Are probabilities true?",
        explains: false,
        build: calibration::build,
    },
    Kind { name: "few-shot", heading: "A few trials of one's own", explains: false, build: few_shot::build },
    Kind { name: "compared", heading: "Who beats whom", explains: false, build: compared::build },
    Kind { name: "learning", heading: "How they learnt", explains: false, build: learning::build },
    Kind { name: "masks", heading: "What it looked at", explains: true, build: masks::build },
    Kind {
        name: "attribution",
        heading: "What its answers rest on",
        explains: true,
        build: attribution::build,
    },
    Kind { name: "validity", heading: "Whether to believe it", explains: true, build: validity::build },
    Kind {
        name: "subspaces",
        heading: "Is the task apart from the person?",
        explains: true,
        build: subspaces::build,
    },
    Kind { name: "signals", heading: "Who fails, and their signals", explains: false, build: signals::build },
    Kind { name: "card", heading: "Model card", explains: false, build: card::build },
];

/// The sections a user named, or all that fit the command.
pub(crate) fn chosen(names: &[String], only_explaining: bool) -> anyhow::Result<Vec<&'static Kind>> {
    let all = || SECTIONS.iter().filter(|kind| kind.explains || !only_explaining);
    if names.is_empty() {
        return Ok(all().collect());
    }
    let find = |name: &String| {
        all().find(|kind| kind.name == name).ok_or_else(|| {
            let known: Vec<&str> = all().map(|kind| kind.name).collect();
            told(format!("there is no section `{name}`"), format!("sections are {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

/// What sections are called on the command line.
pub(crate) fn names(kinds: &[&Kind]) -> Vec<String> {
    kinds.iter().map(|kind| kind.name.to_string()).collect()
}

/// Where a decoder comes from.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Made {
    /// One for each decoder.
    pub(crate) seeds: Vec<u64>,
    /// Whom it was adapted to; none where it was not.
    pub(crate) adapted: Option<Adapted>,
    pub(crate) card: Card,
    /// Numbers it has learnt.
    pub(crate) parameters: usize,
    /// Training subjects it can still tell apart.
    pub(crate) known_subjects: usize,
    /// The licence of the data, where it is known.
    pub(crate) licence: Option<String>,
}

/// Whom a decoder was adapted to.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adapted {
    pub(crate) subject: SubjectId,
    /// Labelled trials of each class.
    pub(crate) shots: usize,
}

/// What a page is made of.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Material {
    /// Sections that were asked for: what others are made of was not looked for. Empty where all were.
    pub(crate) sections: Vec<String>,
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) notice: String,
    pub(crate) footer: String,
    /// The trials.
    pub(crate) layout: Option<Layout>,
    /// Each person's scores.
    pub(crate) records: Vec<Record>,
    /// One per model, the one the page is about first.
    pub(crate) summaries: Vec<Summary>,
    /// One per number of shots.
    pub(crate) few: Vec<Summary>,
    /// Whether those kept the decoder as it was where leave-one-out found no gain.
    pub(crate) few_guarded: bool,
    /// What adapting one person gave.
    pub(crate) adapted: Option<String>,
    /// Epochs of each model.
    pub(crate) histories: Vec<(String, Vec<EpochRecord>)>,
    /// The masks.
    pub(crate) looked: Option<Looked>,
    /// What answers rest on.
    pub(crate) rests: Option<Rests>,
    /// Whether masks and attributions are true.
    pub(crate) believed: Option<Believed>,
    /// Whether features of task and person are apart.
    pub(crate) apart: Option<Apart>,
    /// The probabilities.
    pub(crate) trusted: Option<Trusted>,
    /// Sections that could not be made, and why.
    pub(crate) failed: Vec<(String, String)>,
    /// What is known because it was made.
    pub(crate) truth: Option<Truth>,
    /// What the scored people's signals look like.
    pub(crate) signals: Vec<Signals>,
    pub(crate) compared: Option<Compared>,
    pub(crate) made: Option<Made>,
}

impl Material {
    /// Whether what a section is made of was looked for.
    pub(crate) fn keeps(&self, kind: &Kind) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|section| section == kind.name)
    }
}

/// Why a section about a decoder is not there.
const NO_RUN: &str =
    "This page is about no trained decoder. Give a run's folder, made by `ptsm train`, and `--data`.";

/// The page. Where `tells`, its last section says which others are not there, and why.
pub(crate) fn build(m: &Material, kinds: &[&Kind], tells: bool) -> Page {
    let mut sections = vec![];
    let mut missing: Vec<(String, Vec<&str>)> = vec![];
    for kind in kinds {
        let built = match m.keeps(kind) {
            true => (kind.build)(m),
            false => Built::missing("It is not among the sections whose numbers were kept."),
        };
        match built {
            Built::Made { lead, parts } => {
                sections.push(Section { heading: kind.heading.into(), lead, parts });
            }
            Built::Missing(why) => {
                let failed = m.failed.iter().find(|(section, _)| section == kind.name);
                let why = failed.map_or(why, |(_, reason)| reason.clone());
                match missing.iter_mut().find(|(other, _)| *other == why) {
                    Some((_, headings)) => headings.push(kind.heading),
                    None => missing.push((why, vec![kind.heading])),
                }
            }
        }
    }
    if tells && !missing.is_empty() {
        let part = |(why, headings): &(String, Vec<&str>)| {
            let names = headings.join("; ");
            let end = if names.ends_with('?') { "" } else { "." };
            Part::Absent(format!("{names}{end} {why}"))
        };
        sections.push(Section {
            heading: "What is not here".into(),
            lead: "Sections that lack what they are made of.".into(),
            parts: missing.iter().map(part).collect(),
        });
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
    figures.map(|f| (file_name(f.drawing.title()), standalone(&f.drawing.svg("figure")))).collect()
}

/// A title as the name of a file.
fn file_name(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

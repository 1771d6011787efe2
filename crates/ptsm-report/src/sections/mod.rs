//! The page about a decoder, a benchmark or both: one HTML file. Its sections are a registry; a section whose inputs are not there says
//! what is missing.

mod attribution;
mod benchmark;
mod calibration;
mod card;
mod compared;
mod confusion;
mod draw;
mod features;
mod few_shot;
mod learning;
mod masks;
mod numbers;
mod short;
mod signals;
mod subjects;
mod subspaces;
mod validity;

use crate::svg::standalone;
use crate::{Page, Section, SectionPart};
use ptsm_data::simulate::Truth;
use ptsm_decode::EpochRecord;
use ptsm_decode::file::ModelCard;
use ptsm_eval::{Record, Summary};
use ptsm_explain::{
    Disentanglement, ExplainRequest, Explanation, MaskFindings, ProbabilityFindings, Saliency, SanityChecks,
    Signals,
};
use ptsm_signal::{Layout, SubjectId};
use serde::{Deserialize, Serialize};

use ptsm_eval::{Error, Result};

pub use benchmark::{BenchmarkGroup, BenchmarkMaterial};

/// A section of the page.
pub struct SectionKind {
    /// What `--sections` calls it.
    pub name: &'static str,
    heading: &'static str,
    /// Whether `ptsm explain` shows it: what a decoder looked at, and whether to believe it.
    explains: bool,
    build: fn(&Material) -> SectionContent,
}

/// What came of a section.
enum SectionContent {
    Made {
        /// One sentence on what it shows and how to read it.
        lead: String,
        parts: Vec<SectionPart>,
    },
    /// What is missing and how to get it.
    Missing(String),
}

impl SectionContent {
    fn new(lead: impl Into<String>, parts: Vec<SectionPart>) -> SectionContent {
        SectionContent::Made { lead: lead.into(), parts }
    }

    fn missing(why: impl Into<String>) -> SectionContent {
        SectionContent::Missing(why.into())
    }
}

/// All sections, in the order of the page.
pub const SECTIONS: &[SectionKind] = &[
    SectionKind { name: "short", heading: "In short", explains: false, build: short::build },
    SectionKind { name: "people", heading: "Each person", explains: false, build: subjects::build },
    SectionKind {
        name: "confusion",
        heading: "What is taken for what",
        explains: false,
        build: confusion::build,
    },
    SectionKind {
        name: "calibration",
        heading: "Are probabilities true?",
        explains: false,
        build: calibration::build,
    },
    SectionKind {
        name: "few-shot",
        heading: "A few trials of one's own",
        explains: false,
        build: few_shot::build,
    },
    SectionKind { name: "compared", heading: "Who beats whom", explains: false, build: compared::build },
    SectionKind { name: "learning", heading: "How they learnt", explains: false, build: learning::build },
    SectionKind { name: "masks", heading: "What it looked at", explains: true, build: masks::build },
    SectionKind {
        name: "attribution",
        heading: "What its answers rest on",
        explains: true,
        build: attribution::build,
    },
    SectionKind {
        name: "validity",
        heading: "Whether to believe it",
        explains: true,
        build: validity::build,
    },
    SectionKind {
        name: "subspaces",
        heading: "Is the task apart from the person?",
        explains: true,
        build: subspaces::build,
    },
    SectionKind {
        name: "signals",
        heading: "Who fails, and their signals",
        explains: false,
        build: signals::build,
    },
    SectionKind { name: "card", heading: "Model card", explains: false, build: card::build },
];

/// The sections a user named, or all that fit the command.
pub fn chosen(names: &[String], only_explaining: bool) -> Result<Vec<&'static SectionKind>> {
    let all = || SECTIONS.iter().filter(|kind| kind.explains || !only_explaining);
    if names.is_empty() {
        return Ok(all().collect());
    }
    let find = |name: &String| {
        all().find(|kind| kind.name == name).ok_or_else(|| {
            let known: Vec<&str> = all().map(|kind| kind.name).collect();
            Error::request(
                format!("there is no section `{name}`"),
                format!("sections are {}", known.join(", ")),
            )
        })
    };
    names.iter().map(find).collect()
}

/// What sections are called on the command line.
pub fn names(kinds: &[&SectionKind]) -> Vec<String> {
    kinds.iter().map(|kind| kind.name.to_string()).collect()
}

/// What has to be computed for some sections, with so many decoders of shuffled labels as a null of masks.
pub fn explain_request(kinds: &[&SectionKind], nulls: usize) -> ExplainRequest {
    let wants = |name: &str| kinds.iter().any(|kind| kind.name == name);
    ExplainRequest {
        masks: wants("masks"),
        saliency: wants("attribution"),
        sanity_checks: wants("validity"),
        disentanglement: wants("subspaces"),
        calibration: wants("calibration"),
        nulls,
    }
}

/// Where a decoder comes from.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoderOrigin {
    /// One for each decoder.
    pub seeds: Vec<u64>,
    /// Whom it was adapted to; none where it was not.
    pub adapted: Option<AdaptedTo>,
    /// The model card.
    pub card: ModelCard,
    /// Numbers it has learnt.
    pub parameters: usize,
    /// Training subjects it can still tell apart.
    pub known_subjects: usize,
    /// The licence of the data, where it is known.
    pub licence: Option<String>,
}

/// Whom a decoder was adapted to.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptedTo {
    /// The subject.
    pub subject: SubjectId,
    /// Labelled trials of each class.
    pub shots: usize,
}

/// What a page is made of.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Material {
    /// Sections that were asked for: what others are made of was not looked for. Empty where all were.
    pub sections: Vec<String>,
    /// What stands above the page.
    pub title: String,
    /// One sentence under the title.
    pub subtitle: String,
    /// What a reader must know first; empty for nothing.
    pub notice: String,
    /// What the page was made by and from.
    pub footer: String,
    /// The trials.
    pub layout: Option<Layout>,
    /// Each person's scores.
    pub records: Vec<Record>,
    /// One per model, the one the page is about first.
    pub summaries: Vec<Summary>,
    /// One per number of shots.
    pub few: Vec<Summary>,
    /// Whether those kept the decoder as it was where leave-one-out found no gain.
    pub few_guarded: bool,
    /// What adapting one person gave.
    pub adapted: Option<String>,
    /// Epochs of each model.
    pub histories: Vec<(String, Vec<EpochRecord>)>,
    /// The masks.
    pub looked: Option<MaskFindings>,
    /// Saliency.
    pub rests: Option<Saliency>,
    /// Whether masks and attributions are true.
    pub believed: Option<SanityChecks>,
    /// Whether features of task and person are apart.
    pub apart: Option<Disentanglement>,
    /// The probabilities.
    pub trusted: Option<ProbabilityFindings>,
    /// Sections that could not be made, and why.
    pub failed: Vec<(String, String)>,
    /// What is known because it was made.
    pub truth: Option<Truth>,
    /// What the scored people's signals look like.
    pub signals: Vec<Signals>,
    /// A benchmark.
    pub compared: Option<BenchmarkMaterial>,
    /// Where the decoder comes from.
    pub made: Option<DecoderOrigin>,
}

impl Material {
    /// The same with what explaining the decoder found.
    pub fn explained(self, found: Explanation) -> Material {
        Material {
            looked: found.masks,
            rests: found.saliency,
            believed: found.sanity_checks,
            apart: found.disentanglement,
            trusted: found.calibration,
            failed: found.failed.into_iter().map(|(section, why)| (section.into(), why)).collect(),
            ..self
        }
    }

    /// Whether what a section is made of was looked for.
    pub fn keeps(&self, kind: &SectionKind) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|section| section == kind.name)
    }
}

/// Why a section about a decoder is not there.
const NO_RUN: &str =
    "This page is about no trained decoder. Give a run's folder, made by `ptsm train`, and `--data`.";

/// The page. Where `tells`, its last section says which others are not there, and why.
pub fn build(m: &Material, kinds: &[&SectionKind], tells: bool) -> Page {
    let mut sections = vec![];
    let mut missing: Vec<(String, Vec<&str>)> = vec![];
    for kind in kinds {
        let built = match m.keeps(kind) {
            true => (kind.build)(m),
            false => SectionContent::missing("It is not among the sections whose numbers were kept."),
        };
        match built {
            SectionContent::Made { lead, parts } => {
                sections.push(Section { heading: kind.heading.into(), lead, parts });
            }
            SectionContent::Missing(why) => {
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
            SectionPart::Absent(format!("{names}{end} {why}"))
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
pub fn figures(page: &Page) -> Vec<(String, String)> {
    let parts = page.sections.iter().flat_map(|s| &s.parts);
    let figures = parts.filter_map(|p| if let SectionPart::Figure(f) = p { Some(f) } else { None });
    figures.map(|f| (file_name(f.drawing.title()), standalone(&f.drawing.svg("figure")))).collect()
}

/// A title as the name of a file.
fn file_name(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

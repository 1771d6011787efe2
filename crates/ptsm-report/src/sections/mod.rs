//! The page about a decoder, a benchmark or both: one HTML file. Its sections are a registry; a section whose inputs are not there says
//! what is missing.

mod benchmark;
mod calibration;
mod card;
mod confusion;
mod disentanglement;
mod draw;
mod eyes;
mod failures;
mod features;
mod few_shot;
mod masks;
mod numbers;
mod pairwise;
mod saliency;
mod sanity_checks;
mod subjects;
mod summary;
mod training;

use crate::svg::standalone;
use crate::{Page, Section, SectionPart};
use ptsm_data::simulate::Truth;
use ptsm_decode::file::ModelCard;
use ptsm_decode::{AdaptationWay, EpochRecord};
use ptsm_eval::{METRICS, Record, Summary, phrases};
use ptsm_explain::{
    Disentanglement, ExplainRequest, Explanation, EyeFindings, MaskFindings, ProbabilityFindings, Saliency,
    SanityChecks, Signals,
};
use ptsm_signal::{Layout, SubjectId};
use serde::{Deserialize, Serialize};

use ptsm_eval::{Error, Result};

pub use benchmark::{BenchmarkGroup, BenchmarkMaterial};

/// A section of the page.
pub struct SectionKind {
    /// What `--sections` calls it.
    pub name: &'static str,
    /// What earlier versions called it: still understood, on the command line and in files of numbers.
    earlier_name: &'static str,
    heading: &'static str,
    /// Names of its figures, as `--figure` has them; `METRIC` stands for each metric, `*` for what depends on the data.
    figures: &'static [&'static str],
    /// Whether `ptsm explain` shows it: masks, saliency, their sanity checks, disentanglement, and the eye test.
    explains: bool,
    build: fn(&Material) -> SectionContent,
}

impl SectionKind {
    /// Whether a name is this section's, now or in earlier versions.
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.earlier_name == name
    }

    /// Whether the section may draw a figure of this name, given the right data.
    pub fn may_draw(&self, figure: &str) -> bool {
        let of_metrics = |(start, end): (&str, &str)| {
            let names = METRICS.iter().map(|metric| file_name(&phrases::metric_label(metric)));
            names.map(|metric| format!("{start}{metric}{end}")).any(|name| name == figure)
        };
        let is_drawn = |pattern: &&str| match (pattern.split_once("METRIC"), pattern.split_once('*')) {
            (Some(around), _) => of_metrics(around),
            (_, Some((start, end))) => {
                figure.len() > start.len() + end.len() && figure.starts_with(start) && figure.ends_with(end)
            }
            _ => *pattern == figure,
        };
        self.figures.iter().any(is_drawn)
    }
}

/// Refuses the name of a figure that no section can draw, before anything is computed.
pub fn check_figure(figure: &str, kinds: &[&SectionKind]) -> Result<()> {
    if kinds.iter().any(|kind| kind.may_draw(figure)) {
        return Ok(());
    }
    let known: Vec<&str> = kinds.iter().flat_map(|kind| kind.figures).copied().collect();
    Err(Error::request(
        format!("there is no figure `{figure}`"),
        format!(
            "figures are {} (`METRIC`: such as `accuracy`; `*`: depends on the data); `--figure list` names those of these data",
            known.join(", ")
        ),
    ))
}

/// The content of a section.
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
    SectionKind {
        name: "summary",
        earlier_name: "short",
        heading: "Summary",
        figures: &[],
        explains: false,
        build: summary::build,
    },
    SectionKind {
        name: "subjects",
        earlier_name: "people",
        heading: "Scores of each subject",
        figures: &["METRIC-of-each-subject"],
        explains: false,
        build: subjects::build,
    },
    SectionKind {
        name: "confusion",
        earlier_name: "confusion",
        heading: "Confusion matrix",
        figures: &["confusion-matrix-of-*"],
        explains: false,
        build: confusion::build,
    },
    SectionKind {
        name: "calibration",
        earlier_name: "calibration",
        heading: "Calibration",
        figures: &["reliability-diagram"],
        explains: false,
        build: calibration::build,
    },
    SectionKind {
        name: "few-shot",
        earlier_name: "few-shot",
        heading: "Few-shot adaptation",
        figures: &["few-shot-adaptation-METRIC"],
        explains: false,
        build: few_shot::build,
    },
    SectionKind {
        name: "pairwise",
        earlier_name: "compared",
        heading: "Pairwise comparison",
        figures: &[
            "pairwise-comparison",
            "pairwise-comparison-*",
            "scores-by-subject-and-decoder",
            "scores-by-subject-and-decoder-*",
        ],
        explains: false,
        build: pairwise::build,
    },
    SectionKind {
        name: "training",
        earlier_name: "learning",
        heading: "Training curves",
        figures: &["validation-accuracy-by-epoch", "losses-of-*"],
        explains: false,
        build: training::build,
    },
    SectionKind {
        name: "masks",
        earlier_name: "masks",
        heading: "Masks",
        figures: &[
            "spatial-masks",
            "spatial-masks-of-each-class",
            "spatial-mask-of-each-subject-common",
            "spatial-mask-of-each-subject-personal",
            "spatial-mask-of-each-subject-fused",
            "temporal-masks",
            "temporal-mask-common",
            "temporal-mask-personal",
            "temporal-mask-fused",
        ],
        explains: true,
        build: masks::build,
    },
    SectionKind {
        name: "saliency",
        earlier_name: "attribution",
        heading: "Saliency",
        figures: &[
            "channel-saliency",
            "channel-saliency-by-class",
            "channel-saliency-of-each-subject",
            "temporal-saliency",
        ],
        explains: true,
        build: saliency::build,
    },
    SectionKind {
        name: "sanity-checks",
        earlier_name: "validity",
        heading: "Sanity checks",
        figures: &["deletion-*-channels", "deletion-*-times", "insertion-*-channels", "insertion-*-times"],
        explains: true,
        build: sanity_checks::build,
    },
    SectionKind {
        name: "disentanglement",
        earlier_name: "subspaces",
        heading: "Disentanglement",
        figures: &[
            "embedding-by-class",
            "embedding-by-subject",
            "shared-spectrum-of-task-and-subject-features",
            "distance-of-test-subjects-from-training-subjects-every-fold",
        ],
        explains: true,
        build: disentanglement::build,
    },
    SectionKind {
        name: "eyes",
        earlier_name: "eyes",
        heading: "Eyes",
        figures: &["METRIC-with-and-without-frontal-channels"],
        explains: true,
        build: eyes::build,
    },
    SectionKind {
        name: "failures",
        earlier_name: "signals",
        heading: "Failure analysis",
        figures: &["band-power-of-each-subject"],
        explains: false,
        build: failures::build,
    },
    SectionKind {
        name: "card",
        earlier_name: "card",
        heading: "Model card",
        figures: &[],
        explains: false,
        build: card::build,
    },
];

/// The sections a user named, or all that fit the command.
pub fn chosen(names: &[String], only_explaining: bool) -> Result<Vec<&'static SectionKind>> {
    let all = || SECTIONS.iter().filter(|kind| kind.explains || !only_explaining);
    if names.is_empty() {
        return Ok(all().collect());
    }
    let find = |name: &String| {
        all().find(|kind| kind.is_named(name)).ok_or_else(|| {
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
        saliency: wants("saliency"),
        sanity_checks: wants("sanity-checks"),
        disentanglement: wants("disentanglement"),
        calibration: wants("calibration"),
        eyes: wants("eyes"),
        nulls,
    }
}

/// Where a decoder comes from.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoderOrigin {
    /// One for each decoder.
    pub seeds: Vec<u64>,
    /// The subject it was adapted to; none where it was not adapted.
    pub adapted: Option<AdaptedTo>,
    /// The model card.
    pub card: ModelCard,
    /// Its number of parameters.
    pub parameters: usize,
    /// Training subjects it can still tell apart.
    pub known_subjects: usize,
    /// The licence of the data, where it is known.
    pub licence: Option<String>,
}

/// The subject a decoder was adapted to.
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
    /// Each subject's scores.
    pub records: Vec<Record>,
    /// One per model, the one the page is about first.
    pub summaries: Vec<Summary>,
    /// One per number of shots.
    pub few: Vec<Summary>,
    /// Whether those kept the decoder as it was where leave-one-out found no gain.
    pub few_guarded: bool,
    /// What of the decoder was adapted; none in numbers of versions that adapted masks alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few_how: Option<AdaptationWay>,
    /// What adapting to one subject gave.
    pub adapted: Option<String>,
    /// Epochs of each model.
    pub histories: Vec<(String, Vec<EpochRecord>)>,
    /// The masks.
    #[serde(rename = "looked")]
    pub masks: Option<MaskFindings>,
    /// Saliency.
    #[serde(rename = "rests")]
    pub saliency: Option<Saliency>,
    /// Sanity checks of masks and saliency.
    #[serde(rename = "believed")]
    pub sanity_checks: Option<SanityChecks>,
    /// Whether features of task and subject are disentangled.
    #[serde(rename = "apart")]
    pub disentanglement: Option<Disentanglement>,
    /// The probabilities.
    #[serde(rename = "trusted")]
    pub calibration: Option<ProbabilityFindings>,
    /// How much of the accuracy may be of the eyes; none in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eyes: Option<EyeFindings>,
    /// Sections that could not be made, and why.
    pub failed: Vec<(String, String)>,
    /// What is known because it was made.
    pub truth: Option<Truth>,
    /// What the test subjects' signals look like.
    pub signals: Vec<Signals>,
    /// A benchmark.
    #[serde(rename = "compared")]
    pub benchmark: Option<BenchmarkMaterial>,
    /// Where the decoder comes from.
    #[serde(rename = "made")]
    pub origin: Option<DecoderOrigin>,
}

impl Material {
    /// Whether the decoder is an ensemble, which has no values inside of its own.
    fn is_ensemble(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| phrases::ensemble(&origin.card.settings).is_some())
    }

    /// The same with what explaining the decoder found.
    pub fn explained(self, found: Explanation) -> Material {
        Material {
            masks: found.masks,
            saliency: found.saliency,
            sanity_checks: found.sanity_checks,
            disentanglement: found.disentanglement,
            calibration: found.calibration,
            eyes: found.eyes,
            failed: found.failed.into_iter().map(|(section, why)| (section.into(), why)).collect(),
            ..self
        }
    }

    /// Whether what a section is made of was looked for.
    pub fn keeps(&self, kind: &SectionKind) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|section| kind.is_named(section))
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
            false => SectionContent::missing("The file of numbers does not hold this section."),
        };
        match built {
            SectionContent::Made { lead, parts } => {
                sections.push(Section { heading: kind.heading.into(), lead, parts });
            }
            SectionContent::Missing(why) => {
                let failed = m.failed.iter().find(|(section, _)| kind.is_named(section));
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
            heading: "Missing sections".into(),
            lead: "These sections could not be made, for want of their inputs.".into(),
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

//! Pages about a trained decoder, a benchmark or both.

use std::path::{Path, PathBuf};

use ptsm_data::catalogue::DATA_SETS;
use ptsm_decode::Adaptation;
use ptsm_eval::{BenchmarkResults, DataRequest, Env, Error, Evaluation, Result, Summary, phrases};
use ptsm_explain::write_masks;
use ptsm_report::Page;
use ptsm_report::sections::{
    self, AdaptedTo, BenchmarkMaterial, DecoderOrigin, Material, SectionKind, explain_request,
};
use ptsm_signal::Subset;

/// What is explained about a run.
#[derive(Clone, Debug, Default)]
pub struct ExplainRunRequest {
    /// The run's folder.
    pub run: PathBuf,
    /// The data, and of its subjects those that are looked at; without subjects, all it was not trained on.
    pub data: DataRequest,
    /// Sections by name; all that explain without any.
    pub sections: Vec<String>,
    /// Decoders to train on shuffled labels, as a null of the masks.
    pub nulls: usize,
    /// Where to write the masks of every trial, as `.npz`.
    pub masks: Option<PathBuf>,
}

/// What is reported.
#[derive(Clone, Debug, Default)]
pub struct ReportRequest {
    /// The run's folder.
    pub run: Option<PathBuf>,
    /// The data of the run.
    pub data: DataRequest,
    /// The folder of a benchmark.
    pub benchmark: Option<PathBuf>,
    /// Sections by name; all without any.
    pub sections: Vec<String>,
    /// Labelled trials of each class for few-shot adaptation.
    pub shots: Vec<usize>,
    /// How few-shot adaptation is done.
    pub adaptation: Adaptation,
    /// Decoders to train on shuffled labels, as a null of the masks.
    pub nulls: usize,
}

/// Everything a page is made of, and which sections it has.
pub struct Report {
    /// The numbers.
    pub material: Material,
    /// The sections.
    pub sections: Vec<&'static SectionKind>,
}

impl Report {
    /// Reads what [`Report::numbers`] wrote. Without names, the sections are those whose numbers were kept.
    pub fn from_numbers(path: &Path, names: &[String]) -> Result<Report> {
        let chosen = sections::chosen(names, false)?;
        let material = Material::from_numbers(path)?;
        let sections = match names.is_empty() {
            true => chosen.into_iter().filter(|kind| material.keeps(kind)).collect(),
            false => chosen,
        };
        Ok(Report { material, sections })
    }

    /// The page. Sections that lack what they are made of are named at its end, with the reason.
    pub fn page(&self) -> Page {
        sections::build(&self.material, &self.sections, true)
    }

    /// Every figure by name, as SVG.
    pub fn figures(&self) -> Vec<(String, String)> {
        sections::figures(&self.page())
    }

    /// The numbers as a JSON file, from which the page is drawn again without data or decoder.
    pub fn numbers(&self) -> Result<Vec<u8>> {
        self.material.to_numbers()
    }
}

/// Explains what a run's decoders look at, on subjects they were not trained on, with sanity checks.
pub fn explain(request: &ExplainRunRequest, env: &Env) -> Result<Report> {
    let sections = sections::chosen(&request.sections, true)?;
    let evaluation = load_all_subjects(&request.run, &request.data, env)?;
    let scored = evaluation.select_subjects(request.data.subjects.as_ref())?;
    if let Some(path) = &request.masks {
        write_masks(&evaluation, &scored, path)?;
        env.note(format!("masks of every trial: {}", path.display()));
    }
    let explanations = explain_request(&sections, request.nulls);
    let found = ptsm_explain::explain(&evaluation, &scored, &explanations, env)?;
    let material = Material {
        sections: sections::names(&sections),
        origin: Some(origin(&evaluation)),
        footer: footer("explain", &evaluation),
        ..about(&evaluation, &scored).explained(found)
    };
    Ok(Report { material, sections })
}

/// Reports about a run on data, a benchmark, or both.
pub fn report(request: &ReportRequest, env: &Env) -> Result<Report> {
    let sections = sections::chosen(&request.sections, false)?;
    let benchmark = request.benchmark.as_deref().map(BenchmarkResults::read).transpose()?;
    let benchmark = benchmark.map(BenchmarkMaterial::of).transpose()?;
    let material = match (&request.run, benchmark) {
        (Some(run), benchmark) => about_run(run, request, benchmark, &sections, env)?,
        (None, Some(benchmark)) => Material {
            sections: sections::names(&sections),
            title: benchmark.title.clone(),
            subtitle: "Cross-subject scores of decoders on unseen subjects".into(),
            footer: format!("ptsm {} report", crate::VERSION),
            benchmark: Some(benchmark),
            ..Material::default()
        },
        (None, None) => {
            return Err(Error::request(
                "there is nothing to report about",
                "give a run's folder with `--data`, or `--benchmark DIR`, or both, or `--from FILE.json`",
            ));
        }
    };
    Ok(Report { material, sections })
}

fn about_run(
    run: &Path,
    request: &ReportRequest,
    benchmark: Option<BenchmarkMaterial>,
    kinds: &[&'static SectionKind],
    env: &Env,
) -> Result<Material> {
    let evaluation = load_all_subjects(run, &request.data, env)?;
    let scored = evaluation.select_subjects(request.data.subjects.as_ref())?;
    let shots = evaluation.shots(&request.shots, request.adaptation.how, &scored)?;
    let records = evaluation.records(&scored)?;
    let curve = evaluation.curve(&scored, &shots, &request.adaptation, env)?;
    let explanations = explain_request(kinds, request.nulls);
    let found = ptsm_explain::explain(&evaluation, &scored, &explanations, env)?;
    Ok(Material {
        sections: sections::names(kinds),
        summaries: Summary::of(&records)?,
        records,
        few: Summary::of(&curve)?,
        few_guarded: request.adaptation.guard,
        few_how: Some(request.adaptation.how),
        histories: evaluation.run.histories(env)?,
        signals: ptsm_explain::signals(&scored),
        benchmark,
        origin: Some(origin(&evaluation)),
        footer: footer("report", &evaluation),
        ..about(&evaluation, &scored).explained(found)
    })
}

/// A run with all trials of the data: those of the training subjects are needed too.
fn load_all_subjects(run: &Path, data: &DataRequest, env: &Env) -> Result<Evaluation> {
    Evaluation::load(run, &DataRequest { subjects: None, ..data.clone() }, env)
}

fn footer(command: &str, evaluation: &Evaluation) -> String {
    format!("ptsm {} {command}; data {}", crate::VERSION, evaluation.data.fingerprint)
}

/// What a page says about a run on some subjects, without any number.
pub(crate) fn about(evaluation: &Evaluation, scored: &Subset<'_>) -> Material {
    let card = &evaluation.run.card;
    Material {
        title: format!("{} on {}", card.decoder, evaluation.data.name),
        subtitle: match &evaluation.run.file.adapted {
            None => format!(
                "Trained on {}, scored on {} whose labels the decoder has not seen",
                phrases::subject_count(card.provenance.subjects),
                phrases::subject_count(scored.subjects().len())
            ),
            Some(adapted) => format!(
                "Adapted to {} by {} of each class, scored on later ones",
                adapted.subject,
                phrases::count(adapted.shots, "labelled trial")
            ),
        },
        notice: match evaluation.data.truth {
            Some(_) => "These subjects are simulated.".into(),
            None => String::new(),
        },
        layout: Some(card.layout.clone()),
        truth: evaluation.data.truth.clone(),
        ..Material::default()
    }
}

fn origin(evaluation: &Evaluation) -> DecoderOrigin {
    let run = &evaluation.run;
    let (_, first) = &run.decoders[0];
    DecoderOrigin {
        seeds: run.file.seeds.clone(),
        adapted: run.file.adapted.as_ref().map(|of| AdaptedTo { subject: of.subject, shots: of.shots }),
        card: run.card.clone(),
        parameters: first.parameters(),
        known_subjects: first.known_subjects(),
        licence: licence(&run.file.data.name),
    }
}

/// The licence of the training data, where it is known.
fn licence(data: &str) -> Option<String> {
    let set = DATA_SETS.iter().map(|set| set.about()).find(|about| about.id == data)?;
    Some(set.licence.clone())
}

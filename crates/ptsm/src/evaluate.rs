//! Scores of a trained decoder on subjects it was not trained on.

use std::path::PathBuf;

use ptsm_decode::Adaptation;
use ptsm_eval::{DataRequest, Env, Evaluation, Record, Result, Summary};
use ptsm_explain::mask_findings;
use ptsm_report::sections::Material;
use ptsm_signal::Subset;

use crate::report::about;

/// Which run is scored on which subjects.
#[derive(Clone, Debug)]
pub struct EvaluateRequest {
    /// The run's folder.
    pub run: PathBuf,
    /// The data; without subjects, all the decoder was not trained on.
    pub data: DataRequest,
    /// Labelled trials of each class for few-shot adaptation; none for zero-shot scores alone.
    pub shots: Vec<usize>,
    /// How few-shot adaptation is done.
    pub adaptation: Adaptation,
    /// Whether to collect what a page about the scores is made of.
    pub page: bool,
}

impl EvaluateRequest {
    /// Zero-shot scores of a run on all unseen subjects of some data.
    pub fn new(run: impl Into<PathBuf>, data: DataRequest) -> EvaluateRequest {
        EvaluateRequest {
            run: run.into(),
            data,
            shots: vec![],
            adaptation: Adaptation::default(),
            page: false,
        }
    }
}

/// The scores.
pub struct EvaluationReport {
    /// One for each subject and seed.
    pub records: Vec<Record>,
    /// What they say together.
    pub summaries: Vec<Summary>,
    /// Scores after few-shot adaptation.
    pub few_shot_records: Vec<Record>,
    /// What those say together.
    pub few_shot: Vec<Summary>,
    /// What a page is made of, where it was asked for.
    pub material: Option<Material>,
}

/// Scores a run on subjects it was not trained on; training subjects are refused when they are named.
pub fn evaluate(request: &EvaluateRequest, env: &Env) -> Result<EvaluationReport> {
    let evaluation = Evaluation::load(&request.run, &request.data, env)?;
    let scored = evaluation.scored_subjects(request.data.subjects.is_some())?;
    let shots = evaluation.shots(&request.shots, request.adaptation.how, &scored)?;
    let records = evaluation.records(&scored)?;
    let curve = evaluation.curve(&scored, &shots, &request.adaptation, env)?;
    let mut report = EvaluationReport {
        summaries: Summary::of(&records)?,
        records,
        few_shot: Summary::of(&curve)?,
        few_shot_records: curve,
        material: None,
    };
    if request.page {
        report.material = Some(material(request, &evaluation, &scored, &report, env)?);
    }
    Ok(report)
}

fn material(
    request: &EvaluateRequest,
    evaluation: &Evaluation,
    scored: &Subset<'_>,
    report: &EvaluationReport,
    env: &Env,
) -> Result<Material> {
    Ok(Material {
        records: report.records.clone(),
        summaries: report.summaries.clone(),
        few: report.few_shot.clone(),
        few_guarded: request.adaptation.guard,
        few_how: Some(request.adaptation.how),
        histories: evaluation.run.histories(env)?,
        masks: Some(mask_findings(evaluation, scored)?),
        signals: ptsm_explain::signals(scored),
        footer: format!("ptsm {} evaluate; data {}", crate::VERSION, evaluation.data.fingerprint),
        ..about(evaluation, scored)
    })
}

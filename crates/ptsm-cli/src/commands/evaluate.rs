//! `ptsm evaluate`

use ptsm::eval::tables;
use ptsm::pages::sections;
use ptsm::{EvaluateRequest, evaluate};
use serde_json::json;

use super::Session;
use crate::args::EvaluateArgs;
use crate::at_chance;
use crate::output;

pub(super) fn run(args: &EvaluateArgs, session: &Session) -> anyhow::Result<()> {
    let request = EvaluateRequest {
        run: args.run.clone(),
        data: args.data.request(),
        shots: args.shots.clone(),
        adaptation: (&args.tuning).into(),
        page: args.out.is_some(),
    };
    let report = evaluate(&request, &session.env)?;
    if let (Some(path), Some(material)) = (&args.out, &report.material) {
        let page = sections::build(material, &sections::chosen(&[], false)?, false);
        output::write(path, page.html().as_bytes())?;
        session.output.note(format!("page: {}", path.display()));
    }
    let (summaries, few) = (&report.summaries, &report.few_shot);
    let mut text = format!(
        "{}\n{}",
        summaries.iter().map(tables::by_subject).map(|t| t.to_string()).collect::<String>(),
        tables::summaries(summaries)
    );
    if !few.is_empty() {
        text += &format!("\n{}", tables::summaries(few));
    }
    session.output.result(
        text,
        &json!({
            "records": report.records, "summary": summaries,
            "few_shot": { "records": report.few_shot_records, "summary": few },
            "at_chance": at_chance::of_decoders(summaries),
        }),
    )?;
    at_chance::warn_of_decoders(summaries, session.output);
    Ok(())
}

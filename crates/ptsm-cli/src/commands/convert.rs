//! `ptsm convert`

use ptsm::eval::runs::{ConvertRequest, convert};
use serde_json::json;

use super::Session;
use crate::args::ConvertArgs;

pub(super) fn run(args: &ConvertArgs, session: &Session) -> anyhow::Result<()> {
    let made = convert(
        &ConvertRequest {
            run: args.run.clone(),
            data: args.data.request(),
            like: args.like,
            trials: args.trials,
            out: args.out.clone(),
        },
        &session.env,
    )?;
    let subjects: Vec<String> = made.subjects.iter().map(ToString::to_string).collect();
    let text = format!(
        "{} trials of {} converted to {}, who is known by {} trials: {}\n",
        made.trials.len(),
        subjects.join(", "),
        made.like,
        made.known_by,
        args.out.display()
    );
    let json = json!({
        "file": args.out,
        "model": made.model,
        "seed": made.seed,
        "data": made.data,
        "subjects": made.subjects,
        "as": made.like,
        "person_trials": made.known_by,
        "trials": made.trials.len(),
        "classes": made.trials.layout().classes,
        "class_counts": made.trials.all().class_counts(),
    });
    session.output.result(text, &json)
}

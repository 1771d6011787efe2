//! `ptsm predict`

use ptsm::eval::csv_cell;
use ptsm::eval::runs::predict;
use serde_json::json;

use super::Session;
use crate::args::PredictArgs;
use crate::output;

pub(super) fn run(args: &PredictArgs, session: &Session) -> anyhow::Result<()> {
    let found = predict(&args.run, &args.data.request(), &session.env)?;
    let classes = &found.classes;
    let names: Vec<String> = classes.iter().map(|class| csv_cell(class)).collect();
    let mut csv = format!("subject,session,run,cue_s,predicted,{}\n", names.join(","));
    let mut documents = vec![];
    for (i, (info, p)) in found.trials.iter().zip(&found.probabilities).enumerate() {
        let best = found.class(i);
        let shown: Vec<String> = p.iter().map(|p| format!("{p:.6}")).collect();
        let (subject, session, run, cue) = (info.subject, info.session, info.run, info.cue_s);
        csv += &format!("{subject},{session},{run},{cue},{},{}\n", names[best], shown.join(","));
        documents.push(json!({
            "subject": subject, "session": session, "run": run, "cue_s": cue, "predicted": classes[best], "probabilities": p,
        }));
    }
    let json = json!({
        "model": found.model,
        "data": found.data,
        "target_access": found.target_access,
        "classes": classes,
        "ensemble": found.ensemble,
        "seeds": found.seeds,
        "trials": documents,
    });
    if let Some(path) = &args.out {
        output::write(path, csv.as_bytes())?;
        let text = format!("{} trials decoded, {}\n", found.trials.len(), path.display());
        return session.output.result(text, &json);
    }
    session.output.result(csv, &json)
}

//! `ptsm predict`

use ptsm_decode::registry::find;
use ptsm_signal::TargetAccess;
use serde_json::json;

use super::{Session, Trained};
use crate::args::PredictArgs;
use crate::folder;
use crate::input::for_model;
use crate::output;

pub(super) fn run(args: &PredictArgs, session: &Session) -> anyhow::Result<()> {
    let trained = Trained::load(&args.run, &session.device)?;
    let run = folder::read(&args.run)?;
    let input = for_model(&args.data, &run.data, &trained.card, false, session)?;
    let trials = input.trials.all();
    let classes = &trained.card.layout.classes;
    let mut mean = vec![0.0; trials.len() * classes.len()];
    let shown = find(&trained.card.decoder)?.target_access;
    for (_, fitted) in &trained.decoders {
        let share = 1.0 / trained.decoders.len() as f32;
        let met = fitted.with_target_access(&trials, shown)?;
        let fitted = met.as_ref().unwrap_or(fitted);
        mean.iter_mut().zip(fitted.probabilities(&trials)?).for_each(|(m, p)| *m += share * p);
    }
    let mut csv = format!("subject,session,run,cue_s,predicted,{}\n", quoted(classes).join(","));
    let mut documents = vec![];
    for (info, p) in trials.info().zip(mean.chunks(classes.len())) {
        let best = (1..p.len()).fold(0, |best, i| if p[i] > p[best] { i } else { best });
        let shown: Vec<String> = p.iter().map(|p| format!("{p:.6}")).collect();
        let (subject, session, run, cue) = (info.subject, info.session, info.run, info.cue_s);
        csv += &format!("{subject},{session},{run},{cue},{},{}\n", quoted(classes)[best], shown.join(","));
        documents.push(json!({
            "subject": subject, "session": session, "run": run, "cue_s": cue, "predicted": classes[best], "probabilities": p,
        }));
    }
    // Of all of them together, the most that was seen of anybody.
    let access = run.access(&trained.card, &input, &trials);
    let access = access.iter().map(|(access, _)| *access).reduce(TargetAccess::and);
    let json = json!({
        "model": trained.card.decoder,
        "data": input.name,
        "target_access": access.unwrap_or(trained.card.target_access),
        "classes": classes,
        "seeds": trained.decoders.iter().map(|(seed, _)| seed).collect::<Vec<_>>(),
        "trials": documents,
    });
    if let Some(path) = &args.csv {
        output::write(path, csv.as_bytes())?;
        let text = format!("{} trials decoded, {}\n", trials.len(), path.display());
        return session.output.result(text, &json);
    }
    session.output.result(csv, &json)
}

/// Names as CSV cells.
fn quoted(names: &[String]) -> Vec<String> {
    let quote = |name: &String| match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.clone(),
    };
    names.iter().map(quote).collect()
}

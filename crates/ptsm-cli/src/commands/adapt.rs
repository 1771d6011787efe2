//! `ptsm adapt`

use ptsm::eval::phrases::percent;
use ptsm::eval::runs::{AdaptRequest, adapt};
use serde_json::json;

use super::Session;
use crate::args::{AdaptArgs, How};

pub(super) fn run(args: &AdaptArgs, session: &Session) -> anyhow::Result<()> {
    let request = AdaptRequest {
        run: args.run.clone(),
        data: args.data.request(),
        subject: args.subject,
        shots: args.shots,
        adaptation: (&args.tuning).into(),
        out: args.out.clone(),
    };
    let report = adapt(&request, &session.env)?;
    let mut text = String::new();
    let mut documents = vec![];
    for fit in &report.fits {
        let verdict = match fit.guard {
            None if args.tuning.how == How::Head => {
                "head adapted by the prior chosen on source subjects".to_string()
            }
            None => "adapted, without a guard".to_string(),
            Some(g) => format!(
                "{} labelled trials left out in turn: {} % before adaptation, {} % adapted; {}",
                fit.calibration_trials,
                percent(g.before_accuracy),
                percent(g.tuned_accuracy),
                if g.kept { "the adapted decoder is kept" } else { "no gain, the decoder stays as it was" }
            ),
        };
        text += &format!(
            "seed {}: {verdict}\n        {} later trials: {} % before, {} % after\n",
            fit.seed,
            fit.before.scores.n,
            percent(fit.before.scores.accuracy),
            percent(fit.after.scores.accuracy)
        );
        documents.push(json!({
            "seed": fit.seed,
            "model": fit.model,
            "calibration_trials": fit.calibration_trials,
            "guard": fit.guard,
            "before": fit.before,
            "after": fit.after,
        }));
    }
    session.output.result(
        text,
        &json!({
            "run": args.out, "subject": args.subject, "shots": args.shots,
            "target_access": report.target_access, "fits": documents,
        }),
    )
}

//! `ptsm adapt`

use ptsm_data::SubjectList;
use ptsm_decode::file::{self, Card};
use ptsm_decode::{Adaptation, calibration};
use ptsm_eval::{Context, learning_curve};
use ptsm_signal::{SubjectId, TargetAccess};
use serde_json::json;

use super::{Session, Trained};
use crate::args::{AdaptArgs, DataArgs};
use crate::exit::told;
use crate::folder::{self, AdaptedFile, Folder, MODELS, model_name};
use crate::input::for_model;
use crate::words::percent;

pub(super) fn run(args: &AdaptArgs, session: &Session) -> anyhow::Result<()> {
    let run = folder::read(&args.run)?;
    let trained = Trained::load(&args.run, &session.device)?;
    let subjects: SubjectList = args.subject.to_string().parse()?;
    let data = DataArgs { source: args.data.clone(), subjects: Some(subjects) };
    let input = for_model(&data, &run.data, &trained.card, true, session)?;
    let person = input.trials.all();
    if args.shots == 0 {
        return Err(told("`--shots 0` leaves nothing to adapt to", "give at least 1"));
    }
    super::adapts(&trained.card)?;
    let id = SubjectId(args.subject);
    if run.seen(&input).contains(&id) {
        return Err(told(
            format!("the decoder was {} on {id}; scores before and after would mean nothing", run.made()),
            "name a person it has never met",
        ));
    }
    if let Some(before) = &run.adapted {
        return Err(told(
            format!("{} is adapted to {} already", args.run.display(), before.subject),
            "adapt the run it was made from",
        ));
    }
    let (_, later) = calibration(&person, args.shots)?;
    if later.is_empty() {
        return Err(told(
            format!("{} shots take all trials; none is left to score", args.shots),
            "ask for fewer shots",
        ));
    }
    let how = Adaptation::from(&args.tuning);
    let seen = TargetAccess::Labelled { per_class: args.shots, unlabelled: 0.0 };
    let access = trained.card.target_access.and(seen);
    let mut adapted_run = run.clone();
    adapted_run.command = "adapt".into();
    adapted_run.adapted = Some(AdaptedFile {
        subject: id,
        person: input.people.get(&id).map(|person| person.trials.clone()).unwrap_or_default(),
        shots: args.shots,
        how: how.clone(),
    });
    let folder = Folder::open(&args.out, &adapted_run)?;
    folder.inner(MODELS)?;
    let mut text = String::new();
    let mut documents = vec![];
    for (seed, fitted) in &trained.decoders {
        if session.stop.asked() {
            return Err(ptsm_decode::Error::Stopped.into());
        }
        let context = Context {
            data: input.name.clone(),
            model: trained.card.decoder.clone(),
            protocol: "trained on others".into(),
            variant: None,
            learnt: None,
            tested: None,
            target_access: trained.card.target_access,
            shown: TargetAccess::Nothing,
            fold: 0,
            seed: *seed,
            precision: run.precision.clone(),
        };
        let curve = learning_curve(&**fitted, &person, &[args.shots], &how, &context)?;
        let [before, after] = &curve.records[..] else {
            return Err(told("tuning gave no score", "report this"));
        };
        let (_, adapted) = &curve.adapted[0];
        let card = Card { target_access: access, ..trained.card.clone() };
        file::save(&folder.join(&model_name(*seed)), &*adapted.fitted, &card)?;
        let verdict = match adapted.guard {
            None => "tuned, without a guard".to_string(),
            Some(g) => format!(
                "leave-one-out on the {} calibration trials: {} % as it was, {} % tuned; {}",
                adapted.trials,
                percent(g.before_accuracy),
                percent(g.tuned_accuracy),
                if g.kept { "the tuned decoder is kept" } else { "no gain, the decoder stays as it was" }
            ),
        };
        text += &format!(
            "seed {seed}: {verdict}\n        {} later trials: {} % before, {} % after\n",
            before.scores.n,
            percent(before.scores.accuracy),
            percent(after.scores.accuracy)
        );
        documents.push(json!({
            "seed": seed,
            "model": args.out.join(model_name(*seed)),
            "calibration_trials": adapted.trials,
            "guard": adapted.guard,
            "before": before,
            "after": after,
        }));
    }
    session.output.result(
        text,
        &json!({ "run": args.out, "subject": args.subject, "shots": args.shots, "target_access": access, "fits": documents }),
    )
}

//! `ptsm convert`

use std::collections::BTreeSet;

use ptsm_data::SubjectList;
use ptsm_data::arrays::write_made_trials;
use ptsm_decode::registry::find;
use ptsm_signal::{SubjectId, Trial, Trials};
use serde_json::json;

use super::{Session, Trained};
use crate::args::{ConvertArgs, DataArgs};
use crate::exit::told;
use crate::folder;
use crate::input::for_model;

pub(super) fn run(args: &ConvertArgs, session: &Session) -> anyhow::Result<()> {
    let run = folder::read(&args.run)?;
    let trained = Trained::load(&args.run, &session.device)?;
    let decoder = &trained.card.decoder;
    if !find(decoder)?.converts {
        return Err(told(
            format!("`{decoder}` decodes trials and cannot make them"),
            "train with `--model cslp-ae`, which can",
        ));
    }
    if args.trials == Some(0) {
        return Err(told("`--trials 0` leaves nothing to know the person by", "give at least 1"));
    }
    let other = SubjectId(args.like);
    let subjects = args.data.subjects.as_ref().map(|list| list.union(&SubjectList::from_iter([other])));
    let data = DataArgs { subjects, ..args.data.clone() };
    let input = for_model(&data, &run.data, &trained.card, true, session)?;
    let present = input.trials.subjects();
    if !present.contains(&other) {
        // Named as any other person who is not there.
        input.choose(&SubjectList::from_iter([other]))?;
    }
    let wanted: BTreeSet<SubjectId> = match &args.data.subjects {
        None => present.iter().copied().filter(|&subject| subject != other).collect(),
        Some(list) => input.choose(list)?,
    };
    let from = input.trials.of(&wanted);
    if from.is_empty() {
        return Err(told(
            format!("there is nobody but {other} to convert from"),
            "name people with `--subjects`; a person as themselves is a reconstruction",
        ));
    }
    let person = input.trials.of(&BTreeSet::from([other])).in_time();
    let known: Vec<usize> = (0..person.len().min(args.trials.unwrap_or(usize::MAX))).collect();
    let person = person.at(&known);
    let (seed, fitted) = &trained.decoders[0];
    if trained.decoders.len() > 1 {
        session.output.note(format!("note: the run has several seeds; seed {seed} converts"));
    }
    let converted = fitted.convert(&from, &person)?;
    let info: Vec<Trial> = from.info().map(|trial| Trial { subject: other, ..*trial }).collect();
    let trials = Trials::new(from.layout().clone(), converted, info)?;
    // Whoever learns from the file has learnt from all of them.
    let people = wanted.iter().chain([&other]).filter_map(|subject| input.people.get(subject));
    let made_from = people.flat_map(|person| person.hashes.iter().cloned()).collect();
    write_made_trials(&args.out, &trials, &made_from)?;
    let who: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    let text = format!(
        "{} trials of {} as {other}, known by {} trials: {}\n",
        trials.len(),
        who.join(", "),
        person.len(),
        args.out.display()
    );
    let json = json!({
        "file": args.out,
        "model": decoder,
        "seed": seed,
        "data": input.name,
        "subjects": wanted,
        "as": other,
        "person_trials": person.len(),
        "trials": trials.len(),
        "classes": trials.layout().classes,
        "class_counts": trials.all().class_counts(),
    });
    session.output.result(text, &json)
}

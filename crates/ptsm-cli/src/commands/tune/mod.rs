//! `ptsm tune`: settings tried on people who are tested in nothing else.

mod figures;
mod results;
mod tries;
mod workshop;

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_eval::{ALPHA, Budget, Division, Metric, Rung, candidates, mean_threshold};
use ptsm_eval::{Protocol, Split};
use ptsm_signal::{Alignment, SubjectId};
use serde_json::json;

use super::Session;
use super::train::wanted;
use crate::args::TuneArgs;
use crate::config::{Changes, TUNED_ON, without_null};
use crate::exit::told;
use crate::folder::Folder;
use crate::input::given;
use crate::words::people;
use results::{Found, Tested};
use workshop::Workshop;

/// Groups that people are divided into, where nobody says how many.
const FOLDS: usize = 3;
/// With fewer nobody is left to learn from, to stop by or to be kept out.
const FEWEST: usize = 3;

pub(super) fn run(args: &TuneArgs, session: &Session) -> anyhow::Result<()> {
    let metric = metric(&args.metric)?;
    if args.halving == 0 {
        return Err(told(
            "`--halving 0` keeps nobody",
            "give 3 to keep one in three, or 1 to try all in full",
        ));
    }
    let space = tries::parse(&args.tries)?;
    let mut changes = Changes::read(args.settings.config.as_deref(), &args.settings.set)?;
    if let Some(align) = args.settings.align {
        changes = changes.put("align", serde_json::to_value(Alignment::from(align))?);
    }
    let (method, seeds) = wanted(args.model.as_deref(), &args.settings, &changes)?;
    let chosen = candidates(&space, args.search, seeds[0])?;
    let mut data = given(&args.data, &changes)?;
    if let Some(develop) = &args.develop {
        if args.data.subjects.is_some() {
            return Err(told(
                "`--subjects` and `--develop` both say who takes part",
                "leave `--subjects` out: nobody but the development set is read",
            ));
        }
        // Nobody else is even read.
        data.subjects = Some(develop.clone());
    }
    let mut workshop = Workshop::new(args, session, method, &changes, data, space, chosen, &seeds)?;
    let everybody: BTreeSet<SubjectId> = workshop.people().keys().copied().collect();
    let before: BTreeSet<String> = changes.outside(TUNED_ON)?.unwrap_or_default();
    let folds = workshop.searches(args, &everybody, &before)?;

    let asked = json!({
        "version": env!("CARGO_PKG_VERSION"), "model": method.name, "data": workshop.data_name(), "tried": args.tries,
        "search": results::called(args.search), "halving": args.halving, "metric": metric.name, "seeds": seeds,
        "nested": args.nested.as_ref().map(|p| p.to_string()), "develop": args.develop.as_ref().map(|d| d.to_string()),
        "given": changes.value(),
    });
    let folder = Folder::open_tuning(&args.out, &toml::to_string(&without_null(&asked))?)?;
    forget(&args.out);
    let mut found = vec![];
    for fold in folds {
        let budget = Budget::of(workshop.settings(), fold.k * seeds.len());
        let rungs = Rung::ladder(workshop.candidates(), args.halving, budget);
        if let Some(split) = &fold.split {
            let (all, tested) = (everybody.len(), split.1.test_subjects().len());
            session.output.note(format!("fold {}: tuned on {}", split.0, people(all - tested)));
        }
        let trials = workshop.search(&fold.division, &rungs, metric)?;
        let Some(best) = ptsm_eval::best(&trials, metric).cloned() else {
            return Err(results::nothing(&trials));
        };
        let tested = match &fold.split {
            None => None,
            Some((number, split)) => {
                let protocol = workshop.nested.clone().unwrap_or(Protocol::LeaveOneOut);
                let records = workshop.tested(best.candidate, protocol, *number)?;
                Some(Tested { fold: *number, people: split.test_subjects().clone(), records })
            }
        };
        let trials_by_class = workshop.trials_by_class(best.candidate, &fold.people)?;
        found.push(Found {
            // The best of many is above what one alone exceeds by chance (Bonferroni).
            needed: mean_threshold(metric, &trials_by_class, ALPHA / workshop.candidates() as f64),
            people: fold.people,
            protocol: fold.division.name(),
            rungs,
            trials,
            best,
            tested,
        });
    }
    let result =
        results::Results { args, workshop: &workshop, metric, seeds: &seeds, before: &before, found };
    result.write(&args.out)?;
    drop(folder);
    result.show(session)
}

/// One search: among whom, and who is tested afterwards.
struct Search {
    division: Division,
    people: BTreeSet<SubjectId>,
    k: usize,
    /// The number of the fold and its division, in nested searches.
    split: Option<(usize, Split)>,
}

impl Workshop<'_> {
    /// Who is tuned on: the development set, or the people to learn from of each fold.
    fn searches(
        &self,
        args: &TuneArgs,
        everybody: &BTreeSet<SubjectId>,
        before: &BTreeSet<String>,
    ) -> anyhow::Result<Vec<Search>> {
        let folds = |n: usize| args.folds.unwrap_or(FOLDS.min(n));
        let Some(protocol) = &self.nested else {
            let n = everybody.len();
            if n < FEWEST {
                return Err(told(
                    format!("a development set of {} is too small", people(n)),
                    format!("name at least {FEWEST} with `--develop`"),
                ));
            }
            let k = folds(n);
            let protocol = Protocol::Folds { k };
            protocol.splits(everybody, self.seeds[0])?;
            let division = Division::Within(protocol);
            return Ok(vec![Search { division, people: everybody.clone(), k, split: None }]);
        };
        let splits = protocol.splits(everybody, self.seeds[0])?;
        let search = |(fold, split): (usize, Split)| {
            let sources = split.sources();
            let own = sources.train_subjects() | sources.validation_subjects();
            if own.len() < FEWEST {
                return Err(told(
                    format!("`{protocol}` leaves {} to tune on", people(own.len())),
                    format!("at least {FEWEST} are needed in each fold"),
                ));
            }
            let known = |subject: &&SubjectId| self.people().get(subject).is_some_and(|p| p.is_among(before));
            if let Some(known) = split.test_subjects().iter().find(known) {
                return Err(told(
                    format!("the settings that are given were tuned on {known}, who would be tested"),
                    "leave such people out with `--subjects`, or begin without that configuration",
                ));
            }
            let k = folds(own.len());
            let inner = Protocol::Folds { k };
            inner.splits(&own, self.seeds[0])?;
            let division = Division::inside(sources, inner);
            Ok(Search { division, people: own, k, split: Some((fold, split)) })
        };
        splits.into_iter().enumerate().map(search).collect()
    }
}

fn metric(name: &str) -> anyhow::Result<&'static Metric> {
    ptsm_eval::metric(name).ok_or_else(|| {
        let known: Vec<&str> = ptsm_eval::METRICS.iter().map(|m| m.name).collect();
        told(format!("there is no metric `{name}`"), format!("metrics are {}", known.join(", ")))
    })
}

/// Takes away what an earlier search found in this folder: what is there is always of one search.
fn forget(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let fold = name.starts_with("fold-") && name.ends_with(".toml");
        let figure = name.starts_with("trials-") && name.ends_with(".svg");
        if fold || figure || name == "trials.csv" || name == "best.toml" || name == "results.jsonl" {
            // One that stays is written over or does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

//! A search for settings on subjects who are tested in nothing else, from a request to files in a folder.

mod candidates;
mod results;
mod tries;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::splits::Protocol;
use crate::splits::Split;
use ptsm_data::SubjectList;
use ptsm_decode::registry::find;
use ptsm_signal::SubjectId;
use serde_json::json;

use crate::benchmark::Division;
use crate::chance::ALPHA;
use crate::env::Env;
use crate::error::{Error, ErrorContext, Result};
use crate::evidence::mean_threshold;
use crate::folder::Folder;
use crate::input::{DataRequest, SettingsRequest};
use crate::metrics::{METRICS, Metric};
use crate::phrases::subject_count;
use crate::settings::{TUNED_ON, without_null};
use crate::tune::{self, Budget, Rung, SearchStrategy};

pub use candidates::{Candidate, CandidateSet};
pub use results::{NestedTest, SearchResult, TuningResults, text};

/// What is searched for, among whom, and how.
#[derive(Clone, Debug)]
pub struct TuneRequest {
    /// The data, and of nested searches the subjects.
    pub data: DataRequest,
    /// What all candidates share: settings, alignment where it is not searched for, seeds.
    pub settings: SettingsRequest,
    /// The decoder; `ptsm` without it.
    pub model: Option<String>,
    /// What is tried: `training.rate=1e-4,1e-3`, or a range such as `training.rate=log:1e-4..1e-2`.
    pub tries: Vec<String>,
    /// Every combination, or so many at random.
    pub search: SearchStrategy,
    /// One candidate in so many is kept after each round.
    pub halving: usize,
    /// The development set.
    pub develop: Option<SubjectList>,
    /// How subjects are divided in nested searches.
    pub nested: Option<Protocol>,
    /// Groups that the subjects tuned on are divided into.
    pub folds: Option<usize>,
    /// The name of what is compared.
    pub metric: String,
    /// The folder of the results.
    pub out: PathBuf,
}

impl TuneRequest {
    /// Every combination of some values, by balanced accuracy, one candidate in three kept after each round.
    pub fn new(data: DataRequest, tries: &[&str], out: impl Into<PathBuf>) -> TuneRequest {
        TuneRequest {
            data,
            settings: SettingsRequest::default(),
            model: None,
            tries: tries.iter().map(ToString::to_string).collect(),
            search: SearchStrategy::Grid,
            halving: 3,
            develop: None,
            nested: None,
            folds: None,
            metric: "balanced_accuracy".into(),
            out: out.into(),
        }
    }
}

/// Groups that subjects are divided into, where nobody says how many.
const FOLDS: usize = 3;
/// With fewer there are no training, validation or held-out subjects left.
const FEWEST: usize = 3;

/// Searches, writes what was found into the folder, and hands it to `then` together with the candidates.
pub fn search<T>(
    args: &TuneRequest,
    env: &Env,
    then: impl FnOnce(&TuningResults<'_>) -> Result<T>,
) -> Result<T> {
    let metric = metric(&args.metric)?;
    if args.halving == 0 {
        return Err(Error::request(
            "`--halving 0` keeps no candidate",
            "give 3 to keep one in three, or 1 to try all in full",
        ));
    }
    let space = tries::parse(&args.tries)?;
    let mut changes = args.settings.changes.clone();
    if let Some(align) = args.settings.align {
        changes = changes.put("align", json!(align));
    }
    let (model, seeds) =
        changes.model_and_seeds(args.model.as_deref(), args.settings.seed, args.settings.seeds)?;
    let method = find(&model)?;
    let chosen = tune::draw_candidates(&space, args.search, seeds[0])?;
    let mut data = args.data.or(&changes)?;
    if let Some(develop) = &args.develop {
        if args.data.subjects.is_some() {
            return Err(Error::request(
                "`--subjects` and `--develop` both say who takes part",
                "leave `--subjects` out: only the development set is read",
            ));
        }
        // Nobody else is even read.
        data.subjects = Some(develop.clone());
    }
    let mut set = CandidateSet::new(args, env, method, &changes, data, space, chosen, &seeds)?;
    let everybody: BTreeSet<SubjectId> = set.identities().keys().copied().collect();
    let before: BTreeSet<String> = changes.outside(TUNED_ON)?.unwrap_or_default();
    let folds = set.searches(args, &everybody, &before)?;

    let mut request = json!({
        "version": env!("CARGO_PKG_VERSION"), "model": method.name, "data": set.data_name(), "tried": args.tries,
        "search": results::display_name(args.search), "halving": args.halving, "metric": metric.name, "seeds": seeds,
        "nested": args.nested.as_ref().map(|p| p.to_string()), "develop": args.develop.as_ref().map(|d| d.to_string()),
        "given": changes.value(),
    });
    if !args.settings.source_only.is_empty() {
        request["source_only"] = json!(args.settings.source_only);
    }
    let folder = {
        let request = toml::to_string(&without_null(&request))
            .while_doing(|| "the search cannot be written as TOML".into())?;
        Folder::open_tuning(&args.out, &request)?
    };
    folder.lock_note().into_iter().for_each(|note| env.note_once(note));
    forget(&args.out);
    let mut found = vec![];
    for fold in folds {
        let budget = Budget::of(set.settings(), fold.k * seeds.len());
        let rungs = Rung::ladder(set.count(), args.halving, budget);
        if let Some(split) = &fold.split {
            let (all, tested) = (everybody.len(), split.1.test_subjects().len());
            env.note(format!("fold {}: tuned on {}", split.0, subject_count(all - tested)));
        }
        let trials = set.search(&fold.division, &rungs, metric)?;
        let Some(best) = tune::best_trial(&trials, metric).cloned() else {
            return Err(results::nothing(&trials));
        };
        let tested = match &fold.split {
            None => None,
            Some((number, split)) => {
                let protocol = set.nested.clone().unwrap_or(Protocol::LeaveOneOut);
                let records = set.tested(best.candidate, protocol, *number)?;
                Some(NestedTest { fold: *number, subjects: split.test_subjects().clone(), records })
            }
        };
        let trials_by_class = set.trials_by_class(best.candidate, &fold.subjects)?;
        found.push(SearchResult {
            // The best of many is above what one alone exceeds by chance (Bonferroni).
            needed: mean_threshold(metric, &trials_by_class, ALPHA / set.count() as f64),
            subjects: fold.subjects,
            protocol: fold.division.name(),
            rungs,
            trials,
            best,
            tested,
        });
    }
    let result = TuningResults { args, candidates: &set, metric, seeds: &seeds, before: &before, found };
    result.write(&args.out)?;
    let made = then(&result)?;
    drop(folder);
    Ok(made)
}

/// One search: among whom, and who is tested afterwards.
struct Search {
    division: Division,
    subjects: BTreeSet<SubjectId>,
    k: usize,
    /// The number of the fold and its division, in nested searches.
    split: Option<(usize, Split)>,
}

impl CandidateSet<'_> {
    /// Who is tuned on: the development set, or the source subjects of each fold.
    fn searches(
        &self,
        args: &TuneRequest,
        everybody: &BTreeSet<SubjectId>,
        before: &BTreeSet<String>,
    ) -> Result<Vec<Search>> {
        let folds = |n: usize| args.folds.unwrap_or(FOLDS.min(n));
        let Some(protocol) = &self.nested else {
            let n = everybody.len();
            if n < FEWEST {
                return Err(Error::request(
                    format!("a development set of {} is too small", subject_count(n)),
                    format!("name at least {FEWEST} with `--develop`"),
                ));
            }
            let k = folds(n);
            let protocol = Protocol::Folds { k };
            protocol.splits(everybody, self.seeds[0])?;
            let division = Division::Within(protocol);
            return Ok(vec![Search { division, subjects: everybody.clone(), k, split: None }]);
        };
        let splits = protocol.splits(everybody, self.seeds[0])?;
        let search = |(fold, split): (usize, Split)| {
            let sources = split.sources();
            let own = sources.train_subjects() | sources.validation_subjects();
            if own.len() < FEWEST {
                return Err(Error::request(
                    format!("`{protocol}` leaves {} to tune on", subject_count(own.len())),
                    format!("at least {FEWEST} are needed in each fold"),
                ));
            }
            let known =
                |subject: &&SubjectId| self.identities().get(subject).is_some_and(|p| p.is_among(before));
            if let Some(known) = split.test_subjects().iter().find(known) {
                return Err(Error::request(
                    format!("the given settings were tuned on {known}, which would be a test subject"),
                    "leave such subjects out with `--subjects`, or begin without that configuration",
                ));
            }
            let k = folds(own.len());
            let inner = Protocol::Folds { k };
            inner.splits(&own, self.seeds[0])?;
            let division = Division::inside(sources, inner);
            Ok(Search { division, subjects: own, k, split: Some((fold, split)) })
        };
        splits.into_iter().enumerate().map(search).collect()
    }
}

fn metric(name: &str) -> Result<&'static Metric> {
    crate::metrics::metric(name).ok_or_else(|| {
        let known: Vec<&str> = METRICS.iter().map(|m| m.name).collect();
        Error::request(format!("there is no metric `{name}`"), format!("metrics are {}", known.join(", ")))
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

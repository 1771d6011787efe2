//! What would be done, and about how long it would take.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use ptsm_decode::{Progress, Watch};

use super::work::Work;
use crate::benchmark::{Benchmark, DecoderEntry, FeatureReader, FitItem, Observer};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::phrases::duration;
use crate::plan::PreparedStage;
use crate::table::{Column, Table};

/// How long a decoder is tried, at most, to see how fast it learns.
const TRIAL: Duration = Duration::from_secs(5);

/// What a benchmark would take.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Decoder by decoder.
    pub entries: Vec<EntryEstimate>,
    /// All of them; none where one is not known.
    pub total: Option<Duration>,
}

impl Estimate {
    /// A row for each decoder, for so many processes.
    pub fn table(&self, jobs: usize) -> Table {
        let time = |time: Option<Duration>, unknown: &str| time.map_or(unknown.into(), duration);
        let rows = self.entries.iter().map(|one| {
            vec![
                one.entry.display_name(),
                one.data.clone(),
                one.protocol.clone(),
                one.fits.to_string(),
                one.left.to_string(),
                time(one.time, "not known"),
            ]
        });
        Table {
            columns: vec![
                Column::text("model"),
                Column::text("data"),
                Column::text("protocol"),
                Column::number("fits"),
                Column::number("left"),
                Column::text("time"),
            ],
            rows: rows.collect(),
            note: format!(
                "Nothing was written. About {} in all with {}, to the last epoch of every fit: a few steps of one fit each were timed. Early stopping makes it shorter, fits that train together on a GPU much shorter.",
                time(self.total, "a time that is not known"),
                if jobs == 1 { "one process".into() } else { format!("{jobs} processes") },
            ),
        }
    }
}

/// What one decoder of a benchmark would take.
#[derive(Clone, Debug)]
pub struct EntryEstimate {
    /// The decoder.
    pub entry: DecoderEntry,
    /// The data.
    pub data: String,
    /// How subjects are divided.
    pub protocol: String,
    /// All its fits.
    pub fits: usize,
    /// Those that are not done.
    pub left: usize,
    /// How long those would take; none where it tells nothing while it works.
    pub time: Option<Duration>,
}

pub(super) fn of(
    work: &mut Work<'_>,
    folder: &Path,
    jobs: usize,
    reader: &FeatureReader,
    env: &Env,
) -> Result<Estimate> {
    let mut entries = vec![];
    let mut total = Some(Duration::ZERO);
    for stage in 0..work.stages.len() {
        let ready = work.prepare(stage, env)?;
        let left = work.left(stage, folder);
        let mut of_stage = BTreeMap::new();
        for shared in ready.stage.shared_fits()? {
            // What the first of them are made of, the others need not fit again.
            let mut known = BTreeSet::new();
            let new = |item: &FitItem, known: &mut BTreeSet<_>| {
                let fits = shared.seeds(item).into_iter();
                fits.filter(|&seed| known.insert((item.trained_on.clone(), item.fold, seed))).count()
            };
            let own = left.iter().filter(|item| shared.has(item));
            let one = match own.min_by_key(|item| shared.seeds(item).len()) {
                None => Some(Duration::ZERO),
                Some(least) => measure(&ready, least, reader, env)?
                    .map(|time| time.div_f64(shared.seeds(least).len() as f64)),
            };
            for &i in shared.compositions.keys() {
                let own: Vec<&&FitItem> = left.iter().filter(|item| item.entry == i).collect();
                let fits: usize = own.iter().map(|item| new(item, &mut known)).sum();
                let time = one.map(|one| one.mul_f64(fits as f64 / jobs as f64));
                of_stage.insert(i, (own.len(), time));
            }
        }
        for (i, (left, time)) in of_stage {
            total = total.zip(time).map(|(a, b)| a + b);
            entries.push(EntryEstimate {
                entry: ready.stage.entries[i].clone(),
                data: ready.stage.data.clone(),
                protocol: ready.stage.division.name(),
                fits: work.list.stages[stage].1.iter().filter(|item| item.entry == i).count(),
                left,
                time,
            });
        }
    }
    Ok(Estimate { entries, total })
}

/// What trying a decoder told.
struct StepTiming {
    began: Instant,
    /// When the first step ended: preparations are over then.
    first: Option<Instant>,
    /// Steps done since then, and steps of all fits together.
    steps: (usize, usize),
    /// Steps done by then.
    before: usize,
    over: bool,
}

impl Watch for StepTiming {
    fn progress(&mut self, p: &Progress<'_>) {
        match self.first {
            None => (self.first, self.before) = (Some(Instant::now()), p.step),
            Some(first) => {
                // Members of an ensemble make theirs at once.
                self.steps.0 = p.step.saturating_sub(self.before);
                self.over = first.elapsed() > TRIAL / 5 && self.steps.0 >= 3 || first.elapsed() > TRIAL;
            }
        }
        self.steps.1 = p.steps;
    }

    fn stop(&self) -> bool {
        self.over
    }
}

impl Observer for StepTiming {
    fn begins(&mut self, _: &str, _: usize, _: (usize, usize)) {}
}

/// About how long one fit takes: timed whole where it is short, by its steps where not. None where it tells nothing while it works.
fn measure(
    ready: &PreparedStage,
    item: &FitItem,
    reader: &FeatureReader,
    env: &Env,
) -> Result<Option<Duration>> {
    let nowhere = std::env::temp_dir().join(format!("ptsm-estimate-{}", std::process::id()));
    let mut watch = StepTiming { began: Instant::now(), first: None, steps: (0, 0), before: 0, over: false };
    let benchmark = Benchmark {
        stage: &ready.stage,
        sets: ready.sets(),
        device: &env.device,
        folder: &nowhere,
        ask: Some(reader),
    };
    let done = benchmark.run(&|other| other.key == item.key, &mut watch);
    let failed = item.outcome(&nowhere).is_some() && !item.is_scored(&nowhere);
    let _ = std::fs::remove_dir_all(&nowhere);
    match (done, watch.first) {
        (Ok(()), _) if failed => Ok(None),
        (Ok(()), _) => Ok(Some(watch.began.elapsed())),
        (Err(Error::Decode(ptsm_decode::Error::Stopped)), Some(first)) if watch.steps.0 > 0 => {
            let each = first.elapsed() / watch.steps.0 as u32;
            Ok(Some(each * watch.steps.1 as u32 + (first - watch.began)))
        }
        (Err(error), _) => Err(error),
    }
}

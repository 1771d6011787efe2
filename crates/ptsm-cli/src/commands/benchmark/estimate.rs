//! `--dry-run`: what would be done, and about how long it would take.

use std::time::{Duration, Instant};

use ptsm_decode::{Progress, Watch};
use ptsm_eval::{Benchmark, Item, Observer};
use ptsm_report::{Column, Table};
use serde_json::json;

use super::Work;
use crate::args::BenchmarkArgs;
use crate::commands::Session;
use crate::words;

/// How long a decoder is tried, at most, to see how fast it learns.
const TRIAL: Duration = Duration::from_secs(5);

/// What trying a decoder told.
struct Measured {
    began: Instant,
    /// When the first step ended: preparations are over then.
    first: Option<Instant>,
    /// Steps done since then, and steps of all fits together.
    steps: (usize, usize),
    over: bool,
}

impl Watch for Measured {
    fn progress(&mut self, p: &Progress<'_>) {
        match self.first {
            None => self.first = Some(Instant::now()),
            Some(first) => {
                self.steps.0 += 1;
                self.over = first.elapsed() > TRIAL / 5 && self.steps.0 >= 3 || first.elapsed() > TRIAL;
            }
        }
        self.steps.1 = p.steps;
    }

    fn stop(&self) -> bool {
        self.over
    }
}

impl Observer for Measured {
    fn begins(&mut self, _: &str, _: usize, _: (usize, usize)) {}
}

pub(super) fn show(work: &mut Work<'_>, args: &BenchmarkArgs, session: &Session) -> anyhow::Result<()> {
    let jobs = args.jobs.unwrap_or(1);
    let mut rows = vec![];
    let mut told = vec![];
    let mut total = Some(Duration::ZERO);
    for stage in 0..work.stages.len() {
        let ready = work.ready(stage, session)?;
        let left = work.left(stage, &args.out);
        for (i, entry) in ready.stage.entries.iter().enumerate() {
            let all = work.list.stages[stage].1.iter().filter(|item| item.entry == i).count();
            let own: Vec<&&Item> = left.iter().filter(|item| item.entry == i).collect();
            let time = match own.first() {
                None => Some(Duration::ZERO),
                Some(first) => {
                    measure(&ready, first, session)?.map(|one| one.mul_f64(own.len() as f64 / jobs as f64))
                }
            };
            total = total.zip(time).map(|(a, b)| a + b);
            rows.push(vec![
                entry.called(),
                ready.stage.data.clone(),
                ready.stage.people.name(),
                all.to_string(),
                own.len().to_string(),
                time.map_or("not known".into(), words::duration),
            ]);
            told.push(json!({
                "model": entry.model, "variant": entry.variant, "data": ready.stage.data,
                "protocol": ready.stage.people.name(), "fits": all, "left": own.len(),
                "seconds": time.map(|t| t.as_secs_f64()),
            }));
        }
    }
    let table = Table {
        columns: vec![
            Column::text("model"),
            Column::text("data"),
            Column::text("protocol"),
            Column::number("fits"),
            Column::number("left"),
            Column::text("time"),
        ],
        rows,
        note: format!(
            "Nothing was written. About {} in all with {}, to the last epoch of every fit: a few steps of one fit each were timed. Early stopping makes it shorter, fits that train together on a GPU much shorter.",
            total.map_or("a time that is not known".into(), words::duration),
            if jobs == 1 { "one process".into() } else { format!("{jobs} processes") },
        ),
    };
    let document = json!({ "entries": told, "seconds": total.map(|t| t.as_secs_f64()) });
    session.output.result(table, &document)
}

/// About how long one fit takes: timed whole where it is short, by its steps where not. None where it tells nothing while it works.
fn measure(ready: &crate::plan::Ready, item: &Item, session: &Session) -> anyhow::Result<Option<Duration>> {
    let nowhere = std::env::temp_dir().join(format!("ptsm-estimate-{}", std::process::id()));
    let mut watch = Measured { began: Instant::now(), first: None, steps: (0, 0), over: false };
    let benchmark = Benchmark {
        stage: &ready.stage,
        sets: ready.sets(),
        device: &session.device,
        folder: &nowhere,
        ask: Some(&ptsm_explain::reading),
    };
    let done = benchmark.run(&|other| other.key == item.key, &mut watch);
    let failed = item.outcome(&nowhere).is_some() && !item.is_scored(&nowhere);
    let _ = std::fs::remove_dir_all(&nowhere);
    match (done, watch.first) {
        (Ok(()), _) if failed => Ok(None),
        (Ok(()), _) => Ok(Some(watch.began.elapsed())),
        (Err(ptsm_eval::Error::Decode(ptsm_decode::Error::Stopped)), Some(first)) if watch.steps.0 > 0 => {
            let each = first.elapsed() / watch.steps.0 as u32;
            Ok(Some(each * watch.steps.1 as u32 + (first - watch.began)))
        }
        (Err(error), _) => Err(error.into()),
    }
}

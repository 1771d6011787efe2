//! `ptsm benchmark`

use std::collections::BTreeSet;

use ptsm_decode::registry::find;
use ptsm_eval::{Benchmark, Entry, Paired, Summary};
use serde_json::json;

use super::Session;
use super::train::seeds;
use crate::args::BenchmarkArgs;
use crate::config::{Changes, without_null};
use crate::exit::told;
use crate::folder::{DataFile, Folder, ModelFile, RunFile};
use crate::input::to_learn;
use crate::output;
use crate::progress::{Live, LiveBenchmark};
use crate::words;

pub(super) fn run(args: &BenchmarkArgs, session: &Session) -> anyhow::Result<()> {
    let changes = Changes::read(args.settings.config.as_deref(), &args.settings.set)?;
    let methods = args.models.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = (1..methods.len()).find(|&i| methods[..i].iter().any(|m| m.name == methods[i].name))
    {
        return Err(told(format!("`{}` is named twice", methods[twice].name), "name each model once"));
    }
    if let Some(model) = changes.outside::<String>("model")?
        && !args.models.contains(&model)
    {
        return Err(told(
            format!("the settings are for `{model}`, which does not take part"),
            "name it in `--models`, or leave `model` out of the settings",
        ));
    }
    let seeds = seeds(&args.settings, &changes)?;
    let input = to_learn(&args.data, args.settings.align.map(Into::into), &changes, session)?;
    let settings = changes.for_each(&methods, input.trials.layout())?;
    let mut entries = vec![];
    let mut models = vec![];
    for (method, settings) in methods.into_iter().zip(settings) {
        // Settings that cannot work are refused before the first fit.
        method.build(settings.clone())?;
        models.push(ModelFile { name: method.name.into(), settings: without_null(&settings) });
        entries.push(Entry { method, settings });
    }
    let subjects = input.trials.subjects();
    args.protocol.splits(&subjects, seeds[0])?;
    let file = RunFile {
        version: env!("CARGO_PKG_VERSION").into(),
        command: "benchmark".into(),
        seeds: seeds.clone(),
        protocol: args.protocol.to_string(),
        precision: session.device.precision().noted(),
        data: DataFile {
            name: input.name.clone(),
            with: input.with.clone(),
            fingerprint: input.fingerprint.clone(),
            align: input.pipeline.alignment,
            subjects,
            validation: [].into(),
            who: input.people.values().flat_map(|person| person.hashes.clone()).collect(),
            target: BTreeSet::new(),
            target_who: BTreeSet::new(),
        },
        adapted: None,
        models,
        pipeline: without_null(&serde_json::to_value(&input.pipeline)?),
    };
    let folder = Folder::open(&args.out, &file)?;
    let benchmark = Benchmark {
        data: &input.name,
        trials: &input.trials,
        trials_access: input.access(),
        fingerprint: &input.fingerprint,
        protocol: &args.protocol,
        entries: &entries,
        seeds: &seeds,
        device: &session.device,
        folder: &args.out,
    };
    let records = {
        let live = Live::new(session.output, &session.stop, "benchmark");
        benchmark.run(&mut LiveBenchmark { live })?
    };
    let mut summaries = Summary::of(&records)?;
    // In the order they were asked for.
    summaries.sort_by_key(|s| args.models.iter().position(|m| *m == s.model));
    let table = words::summaries(&summaries);
    output::write(&folder.join("summary.csv"), table.to_csv().as_bytes())?;
    let [balanced, accuracy, auc] =
        ["balanced_accuracy", "accuracy", "auc"].map(|metric| Paired::against_first(&summaries, metric));
    let mut text = table.to_string();
    if !balanced.is_empty() {
        text += &format!("\n{}", words::comparisons(&balanced));
    }
    let comparisons = [balanced, accuracy, auc].concat();
    let told = json!({
        "folder": args.out, "records": records, "summary": summaries, "comparisons": comparisons,
    });
    session.output.result(text, &told)
}

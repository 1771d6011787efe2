//! `ptsm demo`

use std::time::Instant;

use anyhow::Context as _;
use ptsm::eval::phrases::duration;
use ptsm::eval::tables::summaries as table_of;
use ptsm::eval::write_records;
use ptsm::pages::sections;
use serde_json::json;

use super::Session;
use crate::args::DemoArgs;
use crate::at_chance;
use crate::output;

pub(super) fn run(args: &DemoArgs, session: &Session) -> anyhow::Result<()> {
    let start = Instant::now();
    std::fs::create_dir_all(&args.out).with_context(|| format!("{} cannot be made", args.out.display()))?;
    let report = ptsm::demo(args.seed, &session.env)?;
    let page = sections::build(&report.material, &sections::chosen(&[], false)?, false);
    let html = args.out.join("demo.html");
    output::write(&html, page.html().as_bytes())?;
    for (name, svg) in sections::figures(&page) {
        output::write(&args.out.join(format!("{name}.svg")), svg.as_bytes())?;
    }
    let results = args.out.join("results.jsonl");
    write_records(&results, &[report.records, report.few_shot_records].concat())?;
    let text = format!(
        "{}\n{}\n\npage: {}\nall scores: {}\ntook {}\n",
        table_of(&report.summaries),
        report.adapted,
        html.display(),
        results.display(),
        duration(start.elapsed())
    );
    session.output.result(
        text,
        &json!({
            "page": html,
            "results": results,
            "summary": report.summaries,
            "few_shot": report.few_shot,
            "at_chance": at_chance::of_decoders(&report.summaries),
            "seconds": start.elapsed().as_secs_f64(),
        }),
    )?;
    at_chance::warn_of_decoders(&report.summaries, session.output);
    Ok(())
}

//! `ptsm data pipeline`

use std::path::Path;

use ptsm::data::Source;
use ptsm::signal::Pipeline;
use serde_json::json;

use crate::commands::Session;
use ptsm::eval::parse_pairs;

pub(super) fn run(
    id: Option<&str>,
    root: Option<&Path>,
    with: &[String],
    session: &Session,
) -> anyhow::Result<()> {
    let (pipeline, of) = match id {
        None => (Pipeline::default(), "where a data set says nothing else".to_string()),
        Some(id) => (Source::parse_with(id, root, &parse_pairs(with)?)?.pipeline()?, format!("of {id}")),
    };
    let mut text = format!(
        "# Values {of}. In a manifest and in a configuration file this table is `[pipeline]`, in a plan `set.pipeline` of\n\
         # `[[data]]`, as a flag `--set pipeline.band=[0.5,40]`. They are applied in this order.\n[pipeline]\n"
    );
    let mut keys = vec![];
    for (key, value) in pipeline.written() {
        text += &format!("\n{}", key.entry(&value, true));
        keys.push(json!({ "key": key, "value": value }));
    }
    session.output.result(text, &json!({ "pipeline": pipeline, "keys": keys }))
}

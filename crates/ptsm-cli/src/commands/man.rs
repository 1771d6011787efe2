//! `ptsm man`

use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use serde_json::json;

use super::Session;
use crate::args::Line;
use crate::output;

pub(super) fn run(out: &Path, session: &Session) -> anyhow::Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("{} cannot be made", out.display()))?;
    let line = Line::command().disable_help_subcommand(true);
    let mut line = line.mut_subcommand("data", |data| data.disable_help_subcommand(true));
    line.build();
    let mut names = vec![];
    write(&line, "ptsm", out, &mut names)?;
    let text = format!("{} manual pages: {}\n", names.len(), out.display());
    session.output.result(text, &json!({ "folder": out, "files": names }))
}

/// The page of a command, and those of the commands below it.
fn write(command: &Command, name: &str, out: &Path, names: &mut Vec<String>) -> anyhow::Result<()> {
    let mut page = vec![];
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let file = format!("{name}.1");
    output::write(&out.join(&file), &page)?;
    names.push(file);
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(below, &format!("{name}-{}", below.get_name()), out, names)?;
    }
    Ok(())
}
